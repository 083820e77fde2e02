//! What can be wrong with an exchange and its workers.

use crate::units::{Duration, Rate};
use core::fmt;

/// Why there can be no exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExchangeError {
    /// Fewer than 2 workers, or more than 256.
    Workers(u32),
    /// The interval is shorter than 10 us or longer than 100 ms.
    Interval(Duration),
    /// The link, or a spanning node with a contract, has less than 100 kbit/s per worker.
    Rate(Rate),
    /// The numbers of the workers do not fit together.
    Inconsistent(Inconsistency),
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExchangeError::Workers(workers) => write!(f, "{workers} workers: 2 to 256 workers can share a link"),
            ExchangeError::Interval(interval) => {
                write!(f, "an interval of {} us: 10 us to 100 ms is right", interval.picoseconds() / 1_000_000)
            }
            ExchangeError::Rate(rate) => {
                write!(f, "{} bit/s: each worker needs a part of at least 100 kbit/s; fewer workers are right", rate.bits_per_second())
            }
            ExchangeError::Inconsistent(what) => what.fmt(f),
        }
    }
}

impl core::error::Error for ExchangeError {}

/// What is wrong in [`Workers`](super::Workers).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inconsistency {
    /// There is no link, or a node is not after the one above it.
    Nodes,
    /// A part is not after the one above it, or not on the worker of that one.
    Parts,
    /// A weight is 0, or a worker has a number that is too great.
    Range,
    /// There is not one part for each flow of the port.
    Flows,
    /// A spanning node has a contract with a peak rate or a dual bucket.
    Contract,
}

impl fmt::Display for Inconsistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Inconsistency::Nodes => "the link is the first spanning node, and every other one comes after the node above it",
            Inconsistency::Parts => "a part comes after the one above it, and is on the same worker",
            Inconsistency::Range => "weights are at least 1, and workers are numbered from 0",
            Inconsistency::Flows => "each flow of the port has a part",
            Inconsistency::Contract => "a node that spans workers has a contract of one rate and a single bucket",
        })
    }
}
