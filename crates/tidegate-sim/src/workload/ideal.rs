//! How long a connection takes alone on its path.
//!
//! **Law.** No connection is faster over links of constant rate. It is the time from its arrival to the last byte at the receiver. All segments leave the
//! sending host at once, and every link serves them as they come. Headers, overhead, store and forward and propagation count. Opening the connection and
//! asking for the data take their way before. No window, no slow start and no other packet delays anything.
//!
//! **Cost.** One step per link of the path: of equal segments only the first and the last matter.

use crate::network::Link;
use crate::tcp::{Application, Tcp};

/// Picoseconds for this many bytes along `path`; `back` is the way of acknowledgements.
pub(crate) fn completion_time(tcp: &Tcp, path: &[&Link], back: &[&Link], bytes: u64) -> u64 {
    let request = if let Application::Transfers(transfers) = &tcp.application { transfers.request } else { None };
    let processing = tcp.processing.picoseconds();
    let there_and_back = || one_way(path, tcp.headers) + one_way(back, tcp.headers) + processing;
    let opening = if tcp.handshake { there_and_back() } else { 0 };
    let asking = request.map_or(0, |bytes| one_way(back, bytes));
    opening + asking + processing + last_byte(tcp, path, bytes)
}

/// The time of a link for a frame.
fn transmission(link: &Link, frame: u32) -> u64 {
    link.port.rate.time_per_byte().ceil(link.port.overhead.wire_length(frame)).picoseconds()
}

fn one_way(path: &[&Link], frame: u32) -> u64 {
    path.iter().map(|link| transmission(link, frame) + link.propagation.picoseconds()).sum()
}

/// When the last byte arrives of segments that leave together.
fn last_byte(tcp: &Tcp, path: &[&Link], bytes: u64) -> u64 {
    let segment = u64::from(tcp.segment);
    let (whole, rest) = (bytes / segment, (bytes % segment) as u32);
    // When the last whole segment, and the short one behind it, reach the next link; the slowest link so far spaces whole segments.
    let (mut first, mut slowest, mut last) = (0, 0, 0);
    for link in path {
        let (full, propagation) = (transmission(link, tcp.frame()), link.propagation.picoseconds());
        let mut free = 0;
        if whole > 0 {
            slowest = full.max(slowest);
            first += full;
            free = first + (whole - 1) * slowest;
            first += propagation;
        }
        if rest > 0 {
            last = free.max(last) + transmission(link, rest + tcp.headers) + propagation;
        } else {
            last = free + propagation;
        }
    }
    last
}
