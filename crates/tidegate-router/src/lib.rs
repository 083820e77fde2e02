//! A PC as a router: processor, bus, rings and kernel as a network of queues.
//!
//! A [`Machine`] describes the hardware and the forwarding path of its kernel. Frames arrive from the simulator's sources and cross a
//! receive FIFO, a bus, a ring of descriptors, the processor, and the same way out. Each flow is one class of customers.
//!
//! | module | holds |
//! |---|---|
//! | [`machine`] | what describes a machine and its flows |
//! | [`presets`] | two PCs of 2002 |
//! | [`outcome`] | one trial, and what it measured |
#![warn(missing_docs)]

pub mod machine;
pub mod outcome;
pub mod presets;

pub use machine::{
    Arbiter, Bus, BusGuard, Distribution, Feedback, Kernel, Level, Machine, MemorySystem, Nic, Noise, NoiseArrivals, Overheads, Pci,
    PcieLink, RouterFlow, Stage, Variation, Wake, Work,
};
pub use outcome::{Account, Batches, CoreUse, Fidelity, FlowOutcome, GuardUse, Loss, Losses, RouterOutcome, Trial};
