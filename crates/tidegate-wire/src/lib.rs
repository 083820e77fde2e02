//! Frames: header parsing, remarks, checksums and segmentation.
//!
//! [`parse`] turns the bytes of a frame into the [`Header`](tidegate_core::classifier::Header) that a classifier looks at. IP
//! headers are read by `etherparse`. [`headers`] goes the other way. [`rewrite`] carries out the remarks of a port, [`mark`] the marks of its AQMs. [`AckFilter`] finds acknowledgements
//! that say nothing new.

mod ack;
mod build;
pub mod checksum;
mod ecn;
mod found;
mod join;
mod link;
mod network;
mod parse;
mod remark;
pub mod segment;

pub use ack::{AckFilter, PureAck};
pub use build::headers;
pub use ecn::{ecn, mark, markable};
pub use found::Places;
pub use join::Joined;
pub use link::LinkType;
pub use parse::{locate, parse};
pub use remark::rewrite;
