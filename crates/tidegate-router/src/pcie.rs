//! A PCI Express link in transaction-layer packets: its rate, and the bytes of a frame each way.
//!
//! **Source.** Neugebauer et al., "Understanding PCIe performance for end host networking", SIGCOMM 2018, doi 10.1145/3230543.3230560, and their
//! model; PCI Express Base Specification 3.0, section 3.5.2.1, for the interval of acknowledgements.
//!
//! Their model of a simple interface sets the bytes of the descriptor read where it means to add them; here they are added.

use crate::machine::PcieLink;

/// Bytes of a write request beyond its data: framing, sequence number, 64-bit header, check sequence.
const WRITE: f64 = 24.0;
/// Bytes of a read request.
const READ: f64 = 24.0;
/// Bytes of a completion beyond its data.
const COMPLETION: f64 = 20.0;
/// Bytes of a descriptor.
const DESCRIPTOR: f64 = 16.0;
/// Bytes of a doorbell, an interrupt or a register.
const REGISTER: f64 = 4.0;
/// Bytes of a link-layer packet: an acknowledgement or an update of flow control.
const LINK_PACKET: f64 = 8.0;
/// Bytes of an ordered set that keeps clocks together, and symbols between two of them.
const SKIP: (f64, f64) = (4.0, 1538.0);

/// Bytes on the link each way.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkBytes {
    /// To the host: data received, requests for data to send, descriptors written back.
    pub to_host: f64,
    /// From the host: data to send, descriptors, doorbells.
    pub from_host: f64,
}

impl PcieLink {
    /// Bits per second of the lanes after the line code: 8/10 in generations 1 and 2, 128/130 from the third on.
    pub fn raw_bits_per_second(&self) -> f64 {
        let (transfers, code) = match self.generation {
            1 => (2.5e9, 0.8),
            2 => (5e9, 0.8),
            generation => (8e9 * f64::from(1 << (generation.min(5) - 3)), 128.0 / 130.0),
        };
        transfers * f64::from(self.lanes) * code
    }

    /// Bits per second that are left to transaction-layer packets.
    pub fn bits_per_second(&self) -> f64 {
        let interval = self.acknowledgement_interval();
        self.raw_bits_per_second() * (1.0 - 2.0 * LINK_PACKET / interval - SKIP.0 / SKIP.1)
    }

    /// Symbols from one acknowledgement to the next, rounded down; updates of flow control come as often.
    fn acknowledgement_interval(&self) -> f64 {
        let factor = match (self.max_payload, self.lanes) {
            (..512, ..=4) => 1.4,
            (..512, ..=8) => 2.5,
            (..512, _) => 3.0,
            (_, ..=8) => 1.0,
            _ => 2.0,
        };
        let delay = match self.generation {
            1 => 19.0,
            2 => 70.0,
            _ => 115.0,
        };
        libm::floor(f64::from(self.max_payload + 28) * factor / f64::from(self.lanes) + delay)
    }

    /// What the reception of a frame takes.
    pub fn reception(&self, length: u32) -> LinkBytes {
        let data = f64::from(length.div_ceil(self.max_payload)) * WRITE + f64::from(length);
        LinkBytes { to_host: data + self.write_back() + self.device_to_host(), from_host: self.host_to_device() }
    }

    /// What the transmission of a frame takes.
    pub fn transmission(&self, length: u32) -> LinkBytes {
        let requests = f64::from(length.div_ceil(self.max_read_request)) * READ;
        let data = f64::from(length.div_ceil(self.max_payload)) * COMPLETION + f64::from(length);
        // A device that writes each descriptor back on its own reports transmissions by its head pointer.
        let write_back = if self.write_back > 1 { self.write_back() } else { 0.0 };
        LinkBytes { to_host: requests + write_back + self.device_to_host(), from_host: data + self.host_to_device() }
    }

    /// Descriptors written back, per packet.
    fn write_back(&self) -> f64 {
        let batch = f64::from(self.write_back);
        (DESCRIPTOR * batch + WRITE) / batch
    }

    /// The request for descriptors, the interrupt and the answer to the driver's read of the head pointer, per packet.
    fn device_to_host(&self) -> f64 {
        let interrupt = if self.interrupts { REGISTER + WRITE + REGISTER + COMPLETION } else { 0.0 };
        (READ + interrupt) / f64::from(self.descriptor_batch)
    }

    /// The doorbell, the descriptors and the read of the head pointer, per packet.
    fn host_to_device(&self) -> f64 {
        let batch = self.descriptor_batch;
        let descriptors = DESCRIPTOR * f64::from(batch) + COMPLETION * f64::from((DESCRIPTOR as u32 * batch).div_ceil(self.max_payload));
        let head = if self.interrupts { READ } else { 0.0 };
        (REGISTER + WRITE + descriptors + head) / f64::from(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Generation 3, 8 lanes, payloads of 256 and requests of 512 bytes.
    fn link(descriptor_batch: u32, write_back: u32, interrupts: bool) -> PcieLink {
        PcieLink { generation: 3, lanes: 8, max_payload: 256, max_read_request: 512, descriptor_batch, write_back, interrupts }
    }

    /// B8.
    #[test]
    fn rates_and_bytes_of_generation_3() {
        let simple = link(1, 1, true);
        assert!((simple.raw_bits_per_second() / 1e9 - 63.02).abs() < 0.005);
        assert!((simple.bits_per_second() / 1e9 - 57.88).abs() < 0.005, "{}", simple.bits_per_second());
        for (link, bytes) in [(simple, [304.0, 496.0, 1926.0]), (link(32, 8, false), [151.5, 343.5, 1773.5])] {
            for (length, expected) in [64, 256, 1518].into_iter().zip(bytes) {
                let (received, sent) = (link.reception(length), link.transmission(length));
                let most = (received.to_host + sent.to_host).max(received.from_host + sent.from_host);
                assert_eq!(most, expected, "{length}");
            }
        }
    }
}
