//! The packets of the experiment: their length, their headers, and the code points that carry the marks.

use tidegate_core::classifier::{Header, Network as Layer, Transport};
use tidegate_core::scheduler::ServiceClass;
use tidegate_core::units::Rate;

/// Bytes of a packet: 1 kbit.
pub const PACKET: u32 = 125;

pub fn mbps(rate: f64) -> Rate {
    Rate::new((rate * 1e6).round() as u64).expect("rates of this experiment are those of links")
}

/// The code points of the services: AF4 for guaranteed flows, AF3 for controlled load, whose drop precedence is the mark; 0 for the rest.
pub fn dscp(service: ServiceClass, marked: bool) -> u8 {
    let precedence = if marked { 0b100 } else { 0b010 };
    match service {
        ServiceClass::Guaranteed => 4 << 3 | precedence,
        ServiceClass::ControlledLoad => 3 << 3 | precedence,
        ServiceClass::BestEffort => 0,
    }
}

/// The header of the packets of a flow: its source address tells it apart.
pub fn header(flow: usize, service: ServiceClass, marked: bool) -> Header {
    let transport = Transport { dscp: dscp(service, marked), protocol: 17, fragment: false, ports: Some((1, 2)), ..Transport::default() };
    let network = Layer::V4 { source: address(flow), destination: 1, transport };
    Header { network, ethernet_type: 0x800, ..Header::default() }
}

pub fn address(flow: usize) -> u32 {
    0x0A00_0000 + flow as u32
}
