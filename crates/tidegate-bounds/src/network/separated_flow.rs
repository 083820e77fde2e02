//! Separated flow analysis (SFA) for first-in first-out servers: what the others leave at each hop, put in a row.
//!
//! **Law.** A flow is delayed by at most `sum (T_h + b_h / R_h) + b / min (R_h - r_h)`, where `b_h` and `r_h` are of the other flows at hop h. The
//! residual `(R - r, T + b / R)` is one of the theta family, and the burst of the flow itself counts in the bursts of the others.
//!
//! **Source.** R. Cruz, "SCED+: efficient management of quality of service guarantees", INFOCOM 1998; Le Boudec and Thiran, *Network Calculus*,
//! 2001, proposition 6.2.1.
//!
//! **Cost.** A few divisions per flow and hop.

use super::layout::Layout;
use super::model::Network;
use super::total_flow::TotalFlow;
use crate::aggregate::delay;
use crate::curve::{RateLatency, Service};
use crate::quantity::{NoBound, Picobits, Picoseconds, as_bound, plus, times, up};

/// What all flows bring to a server.
#[derive(Clone, Copy)]
struct Load {
    burst: Picobits,
    rate: i128,
    /// The piece of its service with the smallest residual latency.
    piece: RateLatency,
}

/// The bound for each flow, propagation included. With `limit`, bursts are also at most those of the total flow analysis; a network with a cycle
/// needs it.
///
/// # Errors
/// For the network: a cycle without `limit`. For a flow: a server on its path without a curve or with too little rate, and out of range.
pub fn separated_flow(network: &Network, total: &TotalFlow, limit: bool) -> Result<Vec<Result<Picoseconds, NoBound>>, NoBound> {
    let layout = Layout::new(network);
    let all: Vec<usize> = (0..network.servers.len()).collect();
    let (order, is_cyclic) = match &layout.order {
        Some(order) => (order, false),
        None if limit => (&all, true),
        None => return Err(NoBound::Because("bursts in a cycle need a limit")),
    };
    let jitter_burst = |flow: usize, hop: usize| network.flows[flow].arrival.sustained().at(total.jitters[flow][hop]);
    // The bursts before each hop.
    let mut bursts: Vec<Vec<Picobits>> = Vec::with_capacity(network.flows.len());
    for (number, flow) in network.flows.iter().enumerate() {
        let own = (0..flow.path.len()).map(|hop| if hop == 0 || is_cyclic { jitter_burst(number, hop) } else { Ok(0) });
        bursts.push(own.collect::<Result<_, _>>()?);
    }
    let mut loads: Vec<Option<Load>> = vec![None; network.servers.len()];
    for &server in order {
        let here = layout.into[server].iter().flat_map(|&edge| &layout.edges[edge].flows);
        let (mut burst, mut rate) = (0, 0);
        for &(flow, hop) in here.clone() {
            burst = plus(burst, bursts[flow][hop])?;
            rate += i128::from(network.flows[flow].arrival.rate());
        }
        loads[server] =
            total.services[server].as_ref().and_then(|service| piece(service, burst, rate)).map(|piece| Load { burst, rate, piece });
        if is_cyclic {
            continue;
        }
        for &(flow, hop) in here {
            let Some(next) = bursts[flow].get(hop + 1) else { continue };
            debug_assert_eq!(*next, 0);
            let by_jitter = jitter_burst(flow, hop + 1)?;
            let own = bursts[flow][hop];
            let by_residual = loads[server].map(|load| {
                let wait = residual_latency(network, &load, server, own);
                plus(own, times(network.flows[flow].arrival.rate().into(), wait)?)
            });
            bursts[flow][hop + 1] = match by_residual {
                Some(residual) if limit => residual?.min(by_jitter),
                Some(residual) => residual?,
                None => by_jitter,
            };
        }
    }
    let of_flow = |(number, flow): (usize, &super::model::Flow)| {
        let (mut latency, mut rate) = (0, u64::MAX);
        for (hop, &server) in flow.path.iter().enumerate() {
            let load = loads[server].ok_or(NoBound::Because("a server on its path has no curve, or no rate left"))?;
            let is_last = hop + 1 == flow.path.len();
            let packets = if is_last { network.servers[server].packetiser } else { 0 };
            latency += residual_latency(network, &load, server, bursts[number][hop]) - packets;
            let left = i128::from(load.piece.rate) - (load.rate - i128::from(flow.arrival.rate()));
            rate = rate.min(u64::try_from(left).unwrap_or(0));
        }
        if rate == 0 {
            return Err(NoBound::Because("the others leave no rate"));
        }
        as_bound(delay(&flow.arrival, &Service::rate_latency(rate, latency))? + flow.propagation)
    };
    Ok(network.flows.iter().enumerate().map(of_flow).collect())
}

/// The latency of what the others leave a flow of this burst, for what leaves in whole packets.
fn residual_latency(network: &Network, load: &Load, server: usize, own: Picobits) -> Picoseconds {
    load.piece.latency + network.servers[server].packetiser + up(load.burst - own, load.piece.rate.into())
}

/// Of the pieces that carry this rate, the one with the smallest residual latency.
pub(super) fn piece(service: &Service, burst: Picobits, rate: i128) -> Option<RateLatency> {
    let carries = service.pieces().iter().filter(|piece| i128::from(piece.rate) >= rate);
    carries.min_by_key(|piece| piece.latency + up(burst, piece.rate.into())).copied()
}
