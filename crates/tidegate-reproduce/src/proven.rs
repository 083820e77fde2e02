//! What is proven of the flows of an experiment, beside the largest delays that its runs measured.
//!
//! An experiment builds its network by itself, so it also says what each port guarantees each flow. Here sources become arrival curves, and each flow
//! with a queue of its own at every port gets the least bound of its path. Equal flows share a row: that of the largest ratio.

use tidegate_bounds::curve::{Arrival, Service};
use tidegate_bounds::end_to_end::EndToEnd;
use tidegate_bounds::network::{Flow, Network, Server, Serving};
use tidegate_bounds::quantity::{NoBound, Picoseconds, bits, up};
use tidegate_bounds::source::{self, Pauses, Unlimited};
use tidegate_core::units::Duration;
use tidegate_report::{BoundResult, FlowBound, PacketResult};
use tidegate_sim::source::{Cbr, OnOff};
use tidegate_sim::statistics::{LongestDelay, Replication};
use tidegate_sim::{FlowSpec, LinkId, Source};

/// What is proven of a flow: the bound with the method that gives it, or why there is none.
pub type Proven = Result<(Picoseconds, &'static str), NoBound>;

/// What a flow sends at its first port, in bits of its frames.
///
/// # Errors
/// Why nothing limits it.
pub fn arrival(flow: &FlowSpec) -> Result<Arrival, NoBound> {
    let frame = |length: u32| 8 * u64::from(length);
    let source = match &flow.source {
        // Instants are rounded down, so a packet may be a picosecond early.
        Source::Cbr(Cbr { rate, length, .. }) => Arrival::token_bucket(frame(*length), rate.bits_per_second()).delayed(1),
        // A period of random length may follow on another at once.
        Source::OnOff(OnOff { peak, length, .. }) => source::on_off(frame(*length), peak.bits_per_second(), Pauses::Random)?.delayed(1),
        Source::Capture(capture) => {
            let packets = capture.packets.iter().map(|packet| (packet.offset.picoseconds(), frame(packet.length)));
            source::capture(&packets.collect::<Vec<_>>())
        }
        Source::Tcp(_) => Err(Unlimited::Tcp.reason()),
        Source::Greedy(_) => Err(Unlimited::Greedy.reason()),
        Source::Poisson(_) => Err(Unlimited::Poisson.reason()),
        Source::FrameTrace(_) => Err(Unlimited::Random.reason()),
    };
    let Some(shape) = &flow.shaping else { return source };
    let shaped = source::contract(shape.rate.bits_per_second(), 8 * u64::from(shape.burst.max(shape.longest_packet)), shape.tolerance)?;
    Ok(source.map_or(shaped.clone(), |source| source.min(&shaped)))
}

/// A port in a flow's path, where the flow has a queue of its own.
pub struct Hop {
    /// What the queue is guaranteed.
    pub service: Result<Service, NoBound>,
    /// The rate of the line in bit/s.
    pub line: u64,
    /// The time to the next port.
    pub propagation: Duration,
}

/// The least bound of a flow of this curve, whose packets have at most `longest` and at least `shortest` bits, through these ports.
pub fn along(arrival: Result<Arrival, NoBound>, (shortest, longest): (u64, u64), hops: &[Hop]) -> Proven {
    let server = |hop: &Hop| {
        let service = hop.service.clone()?;
        // Of a guaranteed rate only this is known: packets leave whole, each by its time at the rate.
        let packetiser = up(bits(longest), service.pieces()[0].rate.into());
        let own = Server::packets(service.clone(), false, hop.line, longest);
        Ok(Server { serving: Serving::Fixed(service), packetiser, ..own })
    };
    let flow = Flow {
        arrival: arrival?,
        path: (0..hops.len()).collect(),
        shortest,
        propagation: hops.iter().map(|hop| Picoseconds::from(hop.propagation.picoseconds())).sum(),
    };
    let network = Network { servers: hops.iter().map(server).collect::<Result<_, NoBound>>()?, flows: vec![flow] };
    let bound = EndToEnd::new(&network)?.quick_flow(0)?;
    Ok((bound.delay, bound.method.name()))
}

/// The bounds of the flows of a network, each in a queue of its own at every port; `service` says what it is guaranteed there.
pub fn of_network(network: &tidegate_sim::Network, service: &dyn Fn(LinkId, usize) -> Result<Service, NoBound>) -> Vec<Proven> {
    let of = |(number, flow): (usize, &FlowSpec)| of_flow(network, flow, arrival(flow), &|link| service(link, number));
    network.flows.iter().enumerate().map(of).collect()
}

/// The bound of one of them, which sends what this curve lets pass.
pub fn of_flow(
    network: &tidegate_sim::Network,
    flow: &FlowSpec,
    arrival: Result<Arrival, NoBound>,
    service: &dyn Fn(LinkId) -> Result<Service, NoBound>,
) -> Proven {
    let hop = |&link: &LinkId| {
        let of = &network.links[link.0];
        Hop { service: service(link), line: of.port.rate.bits_per_second(), propagation: of.propagation }
    };
    let hops: Vec<Hop> = flow.path.iter().map(hop).collect();
    along(arrival, lengths(&flow.source), &hops)
}

/// The bits of the shortest and of the longest frame of a source; without bits where nothing limits it.
fn lengths(source: &Source) -> (u64, u64) {
    let (shortest, longest) = match source {
        Source::Cbr(Cbr { length, .. }) | Source::OnOff(OnOff { length, .. }) => (*length, *length),
        Source::Capture(capture) => {
            let lengths = || capture.packets.iter().map(|packet| packet.length);
            (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0))
        }
        _ => (0, 0),
    };
    (8 * u64::from(shortest), 8 * u64::from(longest))
}

/// The rows of flows with these names and bounds beside the largest delays of one replication. Flows of one name share a row.
pub fn beside(flows: &[(String, Proven)], replication: u32, run: &Replication) -> Vec<FlowBound> {
    beside_delays(flows, replication, run.flows.iter().map(|flow| flow.longest))
}

/// The same with the packets themselves.
pub fn beside_delays(flows: &[(String, Proven)], replication: u32, delays: impl Iterator<Item = Option<LongestDelay>>) -> Vec<FlowBound> {
    let mut rows = Vec::new();
    for ((name, proven), longest) in flows.iter().zip(delays) {
        let packet = |LongestDelay { number, created, delay }| PacketResult {
            replication,
            number,
            came_ps: created,
            left_ps: created + delay,
            delay_ps: delay,
        };
        add(&mut rows, row(name.clone(), proven, longest.map(packet)));
    }
    rows
}

/// The row of one flow of a name.
pub fn row(flow: String, proven: &Proven, longest: Option<PacketResult>) -> FlowBound {
    let bound = match proven {
        Ok((delay, method)) => u64::try_from(*delay).map(|delay| (delay, *method)).map_err(|_| NoBound::OutOfRange.to_string()),
        Err(reason) => Err(reason.to_string()),
    };
    FlowBound { run: String::new(), flow, count: 1, bound: BoundResult::new(bound, longest) }
}

/// Adds a row for one flow: flows of one name share the row with the largest ratio or, if they have no bound, the largest delay.
fn add(rows: &mut Vec<FlowBound>, new: FlowBound) {
    match rows.iter_mut().find(|row| is_alike(row, &new)) {
        None => rows.push(new),
        Some(row) => {
            let count = row.count + new.count;
            if is_worse(&new, row) {
                *row = new;
            }
            row.count = count;
        }
    }
}

/// True if two rows are about flows of one run and name that have bounds, or none for the same reason.
fn is_alike(one: &FlowBound, other: &FlowBound) -> bool {
    one.run == other.run && one.flow == other.flow && one.bound.reason == other.bound.reason
}

/// The rows of another replication of the same flows join those of the ones before.
pub fn join(rows: &mut Vec<FlowBound>, more: Vec<FlowBound>) {
    for new in more {
        match rows.iter_mut().find(|row| is_alike(row, &new)) {
            None => rows.push(new),
            Some(row) if is_worse(&new, row) => *row = new,
            Some(_) => {}
        }
    }
}

/// True if the packet of `one` comes closer to its bound, or exceeds it by more; without bounds, if it was later.
fn is_worse(one: &FlowBound, other: &FlowBound) -> bool {
    let parts = |row: &FlowBound| {
        let measured = u128::from(row.bound.longest.map_or(0, |packet| packet.delay_ps));
        (measured, u128::from(row.bound.delay_ps.unwrap_or(1)))
    };
    let ((one, of_one), (other, of_other)) = (parts(one), parts(other));
    one * of_other > other * of_one
}

/// The same rows under the name of their run.
pub fn named<'a>(run: &'a str, rows: &'a [FlowBound]) -> impl Iterator<Item = FlowBound> + 'a {
    rows.iter().map(move |row| FlowBound { run: run.to_owned(), ..row.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(of: &[(&str, Result<i128, &'static str>, u64)]) -> Vec<FlowBound> {
        let mut rows = Vec::new();
        for &(name, bound, delay_ps) in of {
            let packet = PacketResult { replication: 1, number: 1, came_ps: 0, left_ps: delay_ps, delay_ps };
            let proven = bound.map(|delay| (delay, "SFA")).map_err(NoBound::Because);
            add(&mut rows, row(name.to_owned(), &proven, Some(packet)));
        }
        rows
    }

    fn seen(rows: &[FlowBound]) -> Vec<(&str, usize, Option<u64>, u64)> {
        rows.iter().map(|row| (row.flow.as_str(), row.count, row.bound.delay_ps, row.bound.longest.unwrap().delay_ps)).collect()
    }

    #[test]
    fn the_flow_that_comes_closest_to_its_bound_stands_for_its_name() {
        let mut first =
            rows(&[("a", Ok(100), 50), ("a", Ok(10), 6), ("b", Err("a reason"), 5), ("b", Err("a reason"), 9), ("a", Err("none"), 1)]);
        assert_eq!(seen(&first), [("a", 2, Some(10), 6), ("b", 2, None, 9), ("a", 1, None, 1)]);
        join(&mut first, rows(&[("a", Ok(100), 99), ("a", Ok(10), 1), ("b", Err("a reason"), 3), ("b", Err("a reason"), 3)]));
        assert_eq!(seen(&first), [("a", 2, Some(100), 99), ("b", 2, None, 9), ("a", 1, None, 1)]);
        // An excess is never hidden behind a flow that keeps its bound.
        join(&mut first, rows(&[("a", Ok(7), 8), ("a", Ok(100), 100)]));
        assert_eq!((seen(&first)[0], first[0].bound.held), (("a", 2, Some(7), 8), Some(false)));
        assert!(named("run", &first).all(|row| row.run == "run"));
    }

    #[test]
    fn a_flow_alone_takes_its_burst_once() {
        // 10 packets of 1 kbit at 1 Mbit/s through two ports of 2 Mbit/s after 1 ms, on lines of 10 Mbit/s, and 1 ms of cable each.
        let (ms, mbps) = (1_000_000_000, 1_000_000);
        let hop = || Hop { service: Ok(Service::rate_latency(2 * mbps, ms)), line: 10 * mbps, propagation: Duration::from_milliseconds(1) };
        let (bound, method) = along(Ok(Arrival::token_bucket(10_000, mbps)), (1_000, 1_000), &[hop(), hop()]).unwrap();
        // 5 ms for the burst, twice 1 ms of latency and of cable, and 0.5 ms because packets leave the first port whole.
        assert_eq!((bound, method), (9 * ms + ms / 2, "SFA"));
        let reason = along(Ok(Arrival::token_bucket(1, 3 * mbps)), (1, 1), &[hop()]).unwrap_err().to_string();
        assert!(reason.starts_with("overloaded"), "{reason}");
    }
}
