//! Frames: header parsing, checksums and segmentation.
//!
//! [`parse`] turns the bytes of a frame into the [`Header`](tidegate_core::classifier::Header) that a classifier looks at. IP
//! headers are read by `etherparse`.

pub mod checksum;
mod parse;
pub mod segment;

pub use parse::{LinkType, Places, locate, parse};
