//! The cell scheduler of an ATM link: shaped connections, slot by slot, and the transfers from host memory that feed them.
//!
//! A [`CellScheduler`] runs one cycle per cell slot. The environment (a simulator, an adapter) reports PDUs posted and cells arrived; the
//! scheduler reports its decisions to an [`Adapter`].
//!
//! | item | holds |
//! |---|---|
//! | [`CellContract`] | peak and sustained rate of one connection, in ticks |
//! | [`Shaping`] | when the next cell of one connection may leave |
//! | [`Conflict`] | the order of connections that are due |
//! | [`RateScaling`] | how an overloaded link is shared, within a class and among classes |
//! | [`Transfers`] | when cells are fetched from the host, and how many |
//! | [`HeapScheduler`] | the scheduler of the paper, on binary heaps: the oracle |
//! | [`Planner`] | the fast scheduler, which plans windows of slots |
#![no_std]
#![warn(missing_docs)]

extern crate alloc;

mod calendar;
mod conflict;
mod connection;
mod connections;
mod contract;
mod heap;
mod planner;
mod scheduler;
mod shaping;
#[cfg(test)]
mod tests;
mod time;
mod transfer;

pub use conflict::Conflict;
pub use connection::{Connection, MOST_CONNECTIONS};
pub use contract::{CellContract, CellContractError, CellContractField, Mode, Sustained};
pub use heap::HeapScheduler;
pub use heap::binary_heap::Work;
pub use planner::Planner;
pub use scheduler::{Adapter, CellError, CellScheduler, CellSetup, Counts, LONGEST_PDU, SetupError, aal5_cells};
pub use shaping::{CATCH_UP, Shaping, State};
pub use tidegate_core::sharing::{CLASSES, CellRate, LONGEST_INTERVAL, NoSharing, RateScaling, SLOT, SharesError, Sharing, Stretch};
pub use time::Ticks;
pub use transfer::{Prefetch, TransferSetup, Transfers};
