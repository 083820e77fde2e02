//! The golden model of the RTL: ShareStreams with the registers of hardware, 16 bits of time and 8 of a window, cycle by cycle.
//!
//! The lockstep bench in `rtl/tb` compares the hardware with [`Device`], register by register and cycle by cycle. It is also an engine of
//! [`tidegate_core::dwcs`], on which the published experiments run.
//!
//! | item | holds |
//! |---|---|
//! | [`Device`], [`Clock`] | the control unit with everything it drives, and what moves its clock |
//! | [`Architecture`], [`Timeline`] | what is built, and which cycle does what |
//! | [`Cadence`] | several packets from one decision, and relaxed updates |
//! | [`Attributes`] | the word on the network, and the decision block |
//! | [`Network`] | the recirculating shuffle-exchange, the order it delivers, tiles |

#![no_std]

extern crate alloc;

mod block;
mod cadence;
mod decision;
mod device;
mod network;
mod timeline;

pub use cadence::Cadence;
pub use decision::{Attributes, deadline_precedes, precedes};
pub use device::{Clock, Device, MOST_STREAMS};
pub use network::{Network, Routing, Size};
pub use timeline::{Architecture, Timeline, Update};
