//! A queue behind a shape whose burst need not outlast the wait for a turn, or whose dual bucket pauses: what remains without any burst.
//!
//! **Law.** By the strict curve before the shape, a packet that its contract allows starts within `W`. Let one of `L` bits start at `t`, and lateness up to `C`
//! be tolerated. The bucket is full again by `m' = max(m, t - C) + L / rho`, and no bucket holds the next packet back for longer. So it may start by
//! `u' = max(a', u + (W - C)+ + L / rho)`, where `a'` is its arrival, and `u` the same instant of the packet before. That is a guaranteed rate of
//! `L / (L / rho + (W - C)+)` for packets of `L` bits or more.

use super::described::{Described, Place};
use super::members::{Below, Members};
use tidegate_bounds::curve::Service;
use tidegate_bounds::network::{Server, Serving};
use tidegate_bounds::quantity::{NoBound, Picoseconds, bits, down, up};
use tidegate_bounds::service::{Row, row};

/// The server of a leaf right behind a shape.
pub(super) fn server(members: &Members<'_>, described: &Described, rows: &[Vec<Row>], leaf: usize) -> Option<Result<Server, NoBound>> {
    let place = described.places[leaf];
    described.tree.nodes[place.node].branches[place.child].shape?;
    // A peak rate is a shape of its own before it.
    let Place { node, child } = match (described.of[place.node], described.above[place.node]) {
        (None, Some(above)) => above,
        _ => place,
    };
    let member = members.below[described.of[node]?][child];
    let strict = described.strict(members, rows, node).and_then(|parent| row(&described.tree.nodes[node].node, &parent, child).strict);
    Some(strict.and_then(|curve| without_burst(members, member, members.longest_of_leaf(leaf), &curve)))
}

/// What a shape that is served by this strict curve lets through at least.
fn without_burst(members: &Members<'_>, member: Below, longest: u64, curve: &Service) -> Result<Server, NoBound> {
    let contract = members.shape(member).ok_or(NoBound::OutOfRange)?;
    let rate = members.kept(contract.rate, member);
    let shortest = bits(8 * u64::from(members.shortest(member)));
    // It starts before it leaves, by its own transmission.
    let leaves = curve.time_for(bits(longest))?;
    let starts = leaves - (down(bits(longest), members.traffic.rate.into()) - 1).max(0);
    let late = (starts - Picoseconds::from(contract.tolerance.picoseconds())).max(0);
    let kept = down(shortest, up(shortest, rate.into()) + late);
    let kept = u64::try_from(kept).map_err(|_| NoBound::OutOfRange)?;
    if kept == 0 {
        return Err(NoBound::Because("its shape waits for too long"));
    }
    let latency = (leaves - down(shortest, kept.into())).max(0);
    let serving = Serving::Fixed(Service::rate_latency(kept, latency));
    Ok(Server { serving, is_strict: false, line: None, longest, packetiser: up(bits(longest), kept.into()) })
}
