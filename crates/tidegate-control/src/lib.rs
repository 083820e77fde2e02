//! The control socket of a running bridge: questions and changes as lines of JSON.
//!
//! A client connects to a Unix socket and sends one request per line; every request gets one answer on one line, in order. [`Asked`] and [`Answered`]
//! are the lines. A line carries the version of the protocol, and a server refuses versions that it does not speak.
//!
//! ```text
//! {"version":1,"request":"status"}
//! {"version":1,"answer":{"status":{"uptime_s":12.5,...}}}
//! {"version":1,"request":{"set":{"values":["policy.access.rate=\"5 Mbit/s\""]}}}
//! {"version":1,"error":{"kind":"bad-input","text":"error: ..."}}
//! ```
//!
//! **Law.** No client delays another or ends the server: connections, the length of lines and the time for each are limited, and every limit is counted.
//!
//! | module | holds |
//! |---|---|
//! | [`protocol`] | requests, answers, errors |
//! | [`server`] | accepts connections, reads lines within limits, asks a handler |
//! | [`http`] | pages over HTTP, within limits |
//! | [`client`] | one connection of a client |
//! | [`descriptors`] | descriptors that go from one process to another |
//! | `writing` | an answer to a client which may read slowly |
#![warn(missing_docs)]
#![cfg(unix)]

pub mod client;
#[cfg(target_os = "linux")]
pub mod descriptors;
pub mod http;
pub mod protocol;
pub mod server;
mod writing;

pub use client::{Client, ClientError};
pub use protocol::{Answer, Answered, Asked, ErrorKind, Refusal, Request, VERSION};
pub use server::{Limits, Server, Tally};
