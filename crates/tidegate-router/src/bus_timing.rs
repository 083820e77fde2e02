//! How long transfers take, on a shared bus and on a link with two directions.
//!
//! **Law.** The *bus bytes* of a received frame are the bytes that could have been moved in its time: with them the capacity is exact for every mixture
//! of lengths.
//!
//! A transfer over PCI Express takes the time of its bytes in the direction of its data. What it takes the other way (requests, doorbells, descriptors)
//! delays the transfers of that direction by as much. Latency of the link itself is not modelled.

use crate::machine::{Bus, Pci, PcieLink};
use crate::pcie::LinkBytes;

/// One grant: bytes of the frame, and times in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Grant {
    pub bytes: u32,
    pub time: u64,
    /// The time that it takes in the other direction.
    pub aside: u64,
}

/// The timing of any bus.
#[derive(Clone, Debug)]
pub(crate) enum Timing {
    Pci(Pci),
    Pcie { link: PcieLink, bytes_per_second: f64 },
}

impl Timing {
    pub(crate) fn new(bus: &Bus) -> Timing {
        match bus {
            Bus::Pci(pci) => Timing::Pci(pci.clone()),
            Bus::Pcie(link) => Timing::Pcie { link: link.clone(), bytes_per_second: link.bits_per_second() / 8.0 },
        }
    }

    /// The directions that carry a transfer each: 1 or 2.
    pub(crate) fn lanes(&self) -> usize {
        match self {
            Timing::Pci(_) => 1,
            Timing::Pcie { .. } => 2,
        }
    }

    /// The next grant of a frame of which `left` bytes are left.
    #[inline]
    pub(crate) fn grant(&self, is_reception: bool, left: u32) -> Grant {
        match self {
            Timing::Pci(pci) => {
                let bytes = left.min(pci.burst.unwrap_or(u32::MAX));
                Grant { bytes, time: clock_time(pci, clocks(pci, bytes)), aside: 0 }
            }
            Timing::Pcie { .. } => self.whole(is_reception, left),
        }
    }

    /// All grants of a frame as one.
    #[inline]
    pub(crate) fn whole(&self, is_reception: bool, length: u32) -> Grant {
        match self {
            Timing::Pci(pci) => Grant { bytes: length, time: clock_time(pci, frame_clocks(pci, length)), aside: 0 },
            Timing::Pcie { link, bytes_per_second } => {
                let time = |bytes: f64| (bytes * 1e12 / bytes_per_second + 0.5) as u64;
                let (with, against) = if is_reception {
                    let LinkBytes { to_host, from_host } = link.reception(length);
                    (to_host, from_host)
                } else {
                    let LinkBytes { to_host, from_host } = link.transmission(length);
                    (from_host, to_host)
                };
                Grant { bytes: length, time: time(with), aside: time(against) }
            }
        }
    }

    /// The bus bytes of a received frame, rounded up.
    #[inline]
    pub(crate) fn bytes(&self, length: u32) -> u64 {
        match self {
            Timing::Pci(pci) => frame_clocks(pci, length) * u64::from(pci.width),
            Timing::Pcie { link, .. } => libm::ceil(link.reception(length).to_host) as u64,
        }
    }

    /// The bus bytes that reception can move in a time, rounded down.
    pub(crate) fn capacity(&self, picoseconds: u64) -> u64 {
        match self {
            Timing::Pci(pci) => {
                let bytes_per_second = u128::from(pci.clock_hz) * u128::from(pci.width);
                (bytes_per_second * u128::from(picoseconds) / 1_000_000_000_000) as u64
            }
            Timing::Pcie { bytes_per_second, .. } => (bytes_per_second * picoseconds as f64 / 1e12) as u64,
        }
    }
}

fn clocks(pci: &Pci, bytes: u32) -> u64 {
    u64::from(pci.overhead) + u64::from(bytes.div_ceil(pci.width))
}

/// The clocks of a whole frame, in grants of at most a burst.
#[inline]
fn frame_clocks(pci: &Pci, length: u32) -> u64 {
    let Some(burst) = pci.burst else { return clocks(pci, length) };
    let (full, rest) = (u64::from(length / burst), length % burst);
    full * clocks(pci, burst) + if rest > 0 { clocks(pci, rest) } else { 0 }
}

/// The time of a number of clocks, to the nearest picosecond.
#[inline]
fn clock_time(pci: &Pci, clocks: u64) -> u64 {
    (clocks * 1_000_000_000_000 + pci.clock_hz / 2) / pci.clock_hz
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B2.
    #[test]
    fn clocks_of_pci() {
        let timing = Timing::Pci(Pci::PCI_32_33);
        assert_eq!([1500, 64].map(|length| timing.grant(true, length).time), [11_606_061, 727_273]);
        // 129.2 and 88.0 MB/s.
        assert_eq!([1500, 64].map(|length| timing.bytes(length)), [383 * 4, 24 * 4]);
        assert_eq!(timing.capacity(1_000_000_000_000), 132_000_000);
    }

    #[test]
    fn bursts_pay_for_every_grant() {
        let pci = Pci { burst: Some(256), ..Pci::PCI_32_33 };
        let timing = Timing::Pci(pci.clone());
        assert_eq!(frame_clocks(&pci, 1514), 6 * 8 + 379);
        assert_eq!(timing.grant(true, 1514), Grant { bytes: 256, time: clock_time(&pci, 72), aside: 0 });
        let mut left = 1514;
        let mut time = 0;
        while left > 0 {
            let grant = timing.grant(false, left);
            left -= grant.bytes;
            time += grant.time;
        }
        assert!(time.abs_diff(timing.whole(false, 1514).time) <= 6);
    }

    #[test]
    fn pcie_takes_both_directions() {
        let link = PcieLink {
            generation: 3,
            lanes: 8,
            max_payload: 256,
            max_read_request: 512,
            descriptor_batch: 32,
            write_back: 8,
            interrupts: false,
        };
        let timing = Timing::new(&Bus::Pcie(link));
        let (receive, send) = (timing.grant(true, 64), timing.grant(false, 64));
        // 151.5 bytes to the host at 57.88 Gbit/s: 20.94 ns.
        assert!((receive.time + send.aside).abs_diff(20_940) < 10, "{receive:?} {send:?}");
    }
}
