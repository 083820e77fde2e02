//! The traffic manager as a pure function of packets and time.
//!
//! A [`port::Port`] takes a packet through five steps, each a role with one verb:
//!
//! ```text
//! classify -> police (mark, discard) -> admit (accept, refuse, push out) -> queue -> select -> remark -> transmit
//! ```
//!
//! Nothing here reads a clock, a socket or a source of randomness. Time and seeds are arguments, decisions are return values, and every change of state can be
//! observed. The same port therefore runs in the simulator, in a replay and on live interfaces.
//!
//! | module | holds |
//! |---|---|
//! | [`units`] | time, durations, rates and their fixed-point form, lengths on the wire |
//! | [`packet`] | packets, flows, colours, reasons for a drop |
//! | [`classifier`] | packet headers and the rules that name a packet's flow |
//! | [`contract_state`] | the state of contracts as numbers, for a port that goes on in another process |
//! | [`policer`] | is this packet within its contract |
//! | [`buffer`] | may this packet stay |
//! | [`scheduler`] | whose packet is next, and not before when |
//! | [`shaper`] | schedulers that delay to keep a contract |
//! | [`sharing`] | how an overloaded link is shared among priority classes |
//! | [`admission`] | may this flow come in, and what is it promised |
//! | [`guard`] | how a bus that is not divided fairly is shared among receive channels |
//! | [`exchange`] | how workers share one link |
//! | [`dwcs`] | Dynamic Window-Constrained Scheduling: the engines that decide |
//! | [`ready`] | flows in the order of a key |
//! | [`queue`] | per-flow queues and their occupancy |
//! | [`port`] | the path of a packet through all of them, with its conservation law |
//! | [`observer`] | observers of a port |
//! | [`algorithm`] | what algorithms state about themselves, and the macro that lists them |
//! | [`mod@registry`] | every algorithm by name |
//! | [`serial`] | comparisons on a wrapping axis |
//! | [`random`] | a generator for algorithms that draw lots |
//! | [`prefetch`] | cache hints |
//! | `mutants` | seeded faults, in no build that is shipped |
#![no_std]
#![warn(missing_docs)]

extern crate alloc;

#[doc(hidden)]
pub use alloc::boxed::Box as Boxed;

#[macro_use]
#[doc(hidden)]
pub mod mutants;
#[macro_use]
pub mod algorithm;

pub mod admission;
pub mod aqm;
pub mod buffer;
pub mod classifier;
pub mod contract_state;
pub mod dwcs;
pub mod exchange;
pub mod guard;
pub mod observer;
pub mod packet;
pub mod policer;
pub mod port;
pub mod prefetch;
pub mod queue;
pub mod random;
pub mod ready;
pub mod registry;
pub mod remark;
pub mod scheduler;
pub mod serial;
pub mod shaper;
pub mod sharing;
pub mod units;
