//! Cost per packet, cell, decision and change of the policers, buffers, schedulers and the classifier of `tidegate-core`: what is measured, without the clock.
//!
//! `cargo xtask bench` measures it beside DPDK, `tidegate bench` by itself.

mod flows;

pub mod admission;
pub mod aqm;
pub mod buffer;
pub mod cells;
pub mod change;
pub mod classify;
pub mod dwcs;
pub mod guard;
pub mod huge_pages;
pub mod police;
pub mod schedule;
mod subscriber_changes;
pub mod subscribers;
mod transition;

/// Packets that share one reading of the clock, and the burst of every enqueue and dequeue.
const BURST: usize = 32;

/// Length of every packet, in bytes.
const PACKET_BYTES: u32 = 64;

/// Time between two packets, in picoseconds: time is virtual, so the decisions are the same on every machine.
const PICOSECONDS_PER_PACKET: u64 = 10_000;

/// Performs one round and returns how many packets were in it. A round of none prepares the next, and is not measured.
pub type Rounds = Box<dyn FnMut() -> u64>;

/// A benchmark that has been set up.
pub struct Benchmark {
    /// Group and name, as in `schedule-drr`.
    pub operation: String,
    /// The number of flows or connections.
    pub flows: u32,
    /// Facts for the `ready` line, such as the mix of colours.
    pub facts: String,
    /// Performs some packets and returns how many.
    pub round: Rounds,
}
