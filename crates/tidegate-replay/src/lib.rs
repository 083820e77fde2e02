//! Capture files, and the replay of a capture through a port in virtual time.
//!
//! [`CaptureReader`] reads pcap and pcapng into [`Record`]s. [`Arrivals`] puts them in order and counts what is left out. [`CaptureWriter`] writes
//! pcapng. [`replay`] runs a capture through a [`Port`](tidegate_core::port::Port) and writes two: what was sent, at its new instants, and what was
//! dropped, with the reason.
//!
//! With a cell scheduler in its setup ([`ReplaySetup`]) every frame leaves as AAL5 cells, which can be written too ([`Outputs`]). A capture of
//! such cells is read as the frames in them.

mod arrivals;
mod capture;
mod replay;
mod writer;

pub use arrivals::{Account, Arrival, Arrivals, Disorder};
pub use capture::{CaptureError, CaptureReader, Ending, Interface, Oddities, Record};
pub use replay::{Frame, Outputs, PortChange, ReplayError, ReplaySetup, Replayed, replay};
pub use writer::CaptureWriter;
