//! What is proven of the sources of the paper's network: nothing of TCP, which nothing limits, and of constant sources what a full buffer bounds.
//!
//! A frame of a constant source waits neither on its way to the port nor behind it. Its links carry no other flow, and whole frames leave the port a
//! frame's time apart. In the port a cell that is not lost waits for what the buffer holds.

use super::network::{CELL, CELLS, Case, LINK, Mechanisms, SEGMENT, Sends, mbps};
use crate::proven::Proven;
use tidegate_bounds::curve::Service;
use tidegate_bounds::quantity::{NoBound, Picoseconds, bits, up};
use tidegate_bounds::service::{Child, Node, behind_limit, row};
use tidegate_bounds::source::Unlimited;
use tidegate_core::registry::SchedulerKind;

/// Bits of a cell.
const CELL_BITS: u64 = 8 * CELL as u64;

/// The name and the bound of each source of a case.
pub fn of(case: &Case) -> Vec<(String, Proven)> {
    let of = |(source, sends): (usize, &Sends)| match sends {
        Sends::Endless => ("TCP".to_owned(), Err(Unlimited::Tcp.reason())),
        Sends::Tagged => ("TCP that tags".to_owned(), Err(Unlimited::Tcp.reason())),
        Sends::Short => ("short transfers over TCP".to_owned(), Err(Unlimited::Tcp.reason())),
        Sends::Regardless => {
            let name = format!("constant, {} Mbit/s to keep", case.targets[source]);
            (name, constant(case, source).map(|delay| (delay, "buffer")))
        }
    };
    case.sends.iter().enumerate().map(of).collect()
}

/// The bound of a source that sends at a constant rate: of frames that arrive, with losses possible.
fn constant(case: &Case, source: usize) -> Result<Picoseconds, NoBound> {
    let link = mbps(LINK).bits_per_second();
    // Times of cells and frames are whole picoseconds, rounded up.
    let cell = up(bits(CELL_BITS), link.into());
    let frame = Picoseconds::from(CELLS) * cell;
    let sent = 2.0 * case.targets[source] * f64::from(CELLS * CELL) / f64::from(SEGMENT);
    if sent > LINK {
        return Err(NoBound::Because("it sends more than its own link carries"));
    }
    let held = u64::from(case.cells) + 1;
    let waits = if case.mechanisms.is_some_and(|Mechanisms { queueing, .. }| queueing) {
        let child = |source| Child { rate: case.cell_rate(source).bits_per_second(), ..Child::new(CELL_BITS) };
        let node = Node::new(SchedulerKind::SelfClocked, link, (0..case.targets.len()).map(child).collect());
        // A cell takes up to a picosecond more than at the link's rate.
        behind_limit(&row(&node, &Service::link(link), source).strict, held * CELL_BITS)? + Picoseconds::from(case.cells)
    } else {
        Picoseconds::from(held) * cell
    };
    let propagation = (case.round_trips[source] / 2.0 * 1e9).ceil() as Picoseconds;
    Ok(frame + waits + frame + propagation)
}
