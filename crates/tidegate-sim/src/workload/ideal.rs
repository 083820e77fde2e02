//! How long a connection takes alone on its path.
//!
//! **Law.** No connection is faster over links of constant rate. It is the time from its arrival to the last byte at the receiver. All segments leave the
//! sending host at once, and every link serves them as they come. Headers, overhead, store and forward and propagation count. Opening the connection and
//! asking for the data take their way before. No window, no slow start and no other packet delays anything. If packets take several paths, it is the least time over
//! any of them, and a link that not all of them share delays no segment by another.
//!
//! **Cost.** One step per link of each path: of equal segments only the first and the last matter.

use crate::id::LinkId;
use crate::network::{Link, Network};
use crate::tcp::{Application, Tcp};

/// Picoseconds for this many bytes along the paths of data, the first of both lists; the second has the ways of acknowledgements.
pub(crate) fn completion_time(tcp: &Tcp, network: &Network, [ahead, back]: &[Vec<Vec<LinkId>>; 2], bytes: u64) -> u64 {
    let request = if let Application::Transfers(transfers) = &tcp.application { transfers.request } else { None };
    let processing = tcp.processing.picoseconds();
    let link = |link: &LinkId| &network.links[link.0];
    let one_way = |paths: &[Vec<LinkId>], frame| paths.iter().map(|path| one_way(path.iter().map(link), frame)).min().unwrap_or(0);
    let opening = if tcp.handshake { one_way(ahead, tcp.headers) + one_way(back, tcp.headers) + processing } else { 0 };
    let asking = request.map_or(0, |bytes| one_way(back, bytes));
    let data = ahead.iter().map(|path| {
        let steps = path.iter().map(|step| (link(step), ahead.len() == 1 || ahead.iter().all(|other| other.contains(step))));
        last_byte(tcp, steps, bytes)
    });
    opening + asking + processing + data.min().unwrap_or(0)
}

/// The time of a link for a frame.
fn transmission(link: &Link, frame: u32) -> u64 {
    link.port.rate.time_per_byte().ceil(link.port.overhead.wire_length(frame)).picoseconds()
}

fn one_way<'a>(path: impl Iterator<Item = &'a Link>, frame: u32) -> u64 {
    path.map(|link| transmission(link, frame) + link.propagation.picoseconds()).sum()
}

/// When the last byte arrives of segments that leave together, over links of which those that are shared serve one segment after the other. Over any
/// other link a segment does not wait for those that take other paths.
fn last_byte<'a>(tcp: &Tcp, path: impl Iterator<Item = (&'a Link, bool)>, bytes: u64) -> u64 {
    let segment = u64::from(tcp.segment);
    let (whole, rest) = (bytes / segment, (bytes % segment) as u32);
    // When the first whole segment, and the short one behind the last, reach the next link; the slowest shared link so far spaces whole segments.
    let (mut first, mut slowest, mut short) = (0, 0, 0);
    // Behind a link that is not shared the short segment may be before whole ones.
    let mut overtakes = false;
    let until_last = |first: u64, slowest: u64| if whole > 0 { first + (whole - 1) * slowest } else { 0 };
    for (link, is_shared) in path {
        let (full, brief) = (transmission(link, tcp.frame()), transmission(link, rest + tcp.headers));
        if is_shared {
            slowest = full.max(slowest);
        }
        overtakes |= !is_shared;
        first += full;
        let free = until_last(first, slowest);
        short = if overtakes { short + brief } else { free.max(short) + brief };
        let propagation = link.propagation.picoseconds();
        (first, short) = (first + propagation, short + propagation);
    }
    let whole = until_last(first, slowest);
    if rest > 0 { whole.max(short) } else { whole }
}
