//! Reading and setting ports, and the ports that engines with queues inside have in common.

use crate::design::{Design, PortNumber};
use crate::layout;
use tidegate_core::dwcs::Stream;

/// The ports by name; of a word: valid, ready, and its fields.
pub struct Pins {
    pub rst: PortNumber,
    pub enable: PortNumber,
    pub outside: PortNumber,
    pub time: PortNumber,
    pub load: [PortNumber; 5],
    pub arrival: [PortNumber; 4],
    pub record: [PortNumber; 3],
    pub query: [PortNumber; 3],
    pub status: [PortNumber; 2],
    pub update: PortNumber,
    pub finish: PortNumber,
    pub observed: PortNumber,
}

/// The port of this name.
///
/// # Errors
/// Its name, if the design lacks it.
pub fn named(design: &Design, name: &str) -> Result<PortNumber, String> {
    design.port(name).ok_or_else(|| format!("the design has no port {name}"))
}

impl Pins {
    /// The ports of this design.
    ///
    /// # Errors
    /// The name of one that it lacks.
    pub fn new(design: &Design) -> Result<Pins, String> {
        let port = |name: &str| named(design, name);
        Ok(Pins {
            rst: port("rst_ni")?,
            enable: port("enable_i")?,
            outside: port("outside_i")?,
            time: port("time_i")?,
            load: [port("load_valid_i")?, port("load_ready_o")?, port("load_id_i")?, port("load_deadline_i")?, port("load_contract_i")?],
            arrival: [port("arrival_valid_i")?, port("arrival_ready_o")?, port("arrival_id_i")?, port("arrival_i")?],
            record: [port("record_valid_o")?, port("record_ready_i")?, port("record_o")?],
            query: [port("query_valid_i")?, port("query_ready_o")?, port("query_id_i")?],
            status: [port("status_valid_o")?, port("status_o")?],
            update: port("update_o")?,
            finish: port("finish_o")?,
            observed: port("observed_o")?,
        })
    }

    /// A reset of two cycles, after which the clock is set from outside.
    pub fn reset(&self, design: &mut Design, start: u64) {
        for port in [self.rst, self.enable, self.load[0], self.arrival[0], self.query[0]] {
            set(design, port, 0);
        }
        for _ in 0..2 {
            design.settle();
            design.edge();
        }
        set(design, self.rst, 1);
        set(design, self.outside, 1);
        set(design, self.time, start & 0xffff);
    }

    pub fn offer(&self, design: &mut Design, number: u64, arrival: u64) {
        set(design, self.arrival[0], 1);
        set(design, self.arrival[2], number);
        set(design, self.arrival[3], arrival & 0xffff);
    }

    /// Offers a LOAD.
    pub fn load(&self, design: &mut Design, number: u64, contract: &Stream, now: u64) {
        let deadline = contract.first_deadline.unwrap_or(now) as u16;
        set(design, self.load[0], 1);
        set(design, self.load[2], number);
        set(design, self.load[3], deadline.into());
        set(design, self.load[4], layout::load(0, contract, deadline) & ((1 << 42) - 1));
    }
}

pub fn set(design: &mut Design, port: PortNumber, value: u64) {
    let bytes = value.to_le_bytes();
    let bits = design.bits_mut(port);
    let length = bits.len().min(8);
    bits[..length].copy_from_slice(&bytes[..length]);
}

pub fn get(design: &Design, port: PortNumber) -> u64 {
    design.bits(port).iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// The bit at an output.
pub fn flag(design: &Design, port: PortNumber) -> bool {
    design.bits(port)[0] & 1 == 1
}
