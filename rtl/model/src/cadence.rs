//! How often the device orders its streams and looks for missed deadlines: once per packet, or less.
//!
//! **Law.** With one packet per decision and one per update the device is the one without a cadence. With n packets per decision a stream
//! is served at most once per n packets, so its share is at most 1/n.
//!
//! **Source**: Krishnamurthy et al., "ShareStreams", section 4, "Scalability and Decision Time": packets for future packet times from one sorted
//! list, and priority updates that are relaxed.
//!
//! **State**: the streams that the last decision has ordered and that are not yet served, and a count of the packets since the last update.
//!
//! **Cost**: none; per packet the SCHEDULE cycles divided by the packets per decision, and one update cycle divided by the packets per update.
//!
//! **RTL twin**: none.
//!
//! **Deviations**: the paper names both ideas and no rule. Here a winner is always accounted for at once. An omitted update concerns the other
//! streams: their deadlines pass unnoticed until the next update, which misses one deadline, as any update does.

use crate::network::Routing;
use crate::timeline::{Architecture, Update};

/// Packets per decision and per update, at least 1 each.
///
/// ```
/// use tidegate_rtl_model::{Architecture, Cadence, Clock, Device, Routing, Size};
/// use tidegate_core::dwcs::{Choice, Dwcs, Stream, Window};
/// use tidegate_core::packet::Flow;
/// let streams = [(2, 4), (3, 4), (3, 4)].map(|(x, y)| Stream::windowed(Window::new(x, y), 1));
/// let exact = Architecture { routing: Routing::Exact, ..Architecture::base(Size::Four) };
/// let cadence = Cadence { packets_per_decision: 3, ..Cadence::default() };
/// let mut device = Device::new(exact, Clock::Decisions, 0, &streams).unwrap().with_cadence(cadence).unwrap();
/// (0..3).for_each(|stream| device.activate(0, Flow(stream), 0));
/// let mut winners = Vec::new();
/// for arrival in 1..=4 {
///     let Choice::Serve(stream) = device.select(0) else { unreachable!() };
///     device.served(stream, 0, Some(arrival));
///     winners.push(stream.0);
/// }
/// // One list serves every stream once: the proportion 2:1:1 is lost.
/// assert_eq!(winners, [0, 1, 2, 0]);
/// assert_eq!(device.cycles(), 4 + 3 + 4);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cadence {
    /// The streams at the front of one order that are served one after the other, a packet each.
    pub packets_per_decision: u8,
    /// PRIORITY_UPDATE comes after this many packets.
    pub packets_per_update: u8,
}

impl Default for Cadence {
    fn default() -> Cadence {
        Cadence { packets_per_decision: 1, packets_per_update: 1 }
    }
}

impl Cadence {
    /// Checks that a device of this architecture with `streams` streams can keep it.
    ///
    /// # Errors
    /// What prevents it, and what would be right.
    pub fn check(self, architecture: Architecture, streams: usize) -> Result<(), &'static str> {
        let ports = architecture.size.ports();
        if self.packets_per_decision == 0 || self.packets_per_update == 0 {
            return Err("a decision and an update serve at least 1 packet");
        }
        if usize::from(self.packets_per_decision) > ports {
            return Err("a decision orders as many streams as the network has ports, and serves at most one packet of each");
        }
        if self.packets_per_decision > 1 && (architecture.routing == Routing::Winner || streams > ports) {
            return Err("several packets per decision need the losers' order: a network that routes losers, and one tile");
        }
        if self != Cadence::default() && architecture.update == Update::Ahead {
            return Err("register blocks that compute ahead hold the outcome of one packet and need no cycle for it: 1 packet per update");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Clock, Device};
    use crate::network::Size;
    use alloc::vec::Vec;
    use proptest::prelude::*;
    use tidegate_core::dwcs::{Choice, Dwcs, Order, Rank, Stream, Tolerance, Window};
    use tidegate_core::packet::Flow;

    /// The winners of a device whose streams are always backlogged, and its violations.
    fn device(architecture: Architecture, cadence: Cadence, streams: &[Stream], packets: u64) -> (Vec<u32>, u64) {
        let mut device = Device::new(architecture, Clock::Decisions, 0, streams).unwrap().with_cadence(cadence).unwrap();
        (0..streams.len() as u32).for_each(|stream| device.activate(0, Flow(stream), 0));
        let serve = |_| {
            let Choice::Serve(stream) = device.select(0) else { panic!("all streams are backlogged") };
            assert_eq!(device.select(0), Choice::Serve(stream), "a question asked again has the same answer");
            device.served(stream, 0, Some(0));
            stream.0
        };
        let winners = (0..packets).map(serve).collect();
        device.select(0);
        let violations = (0..streams.len() as u32).map(|stream| device.standing(Flow(stream)).tally.violations).sum();
        (winners, violations)
    }

    /// The same from the rules as they are written, with a sort.
    fn textbook(cadence: Cadence, streams: &[Stream], packets: u64) -> (Vec<u32>, u64) {
        let mut records: Vec<(u64, Tolerance)> = streams.iter().map(|stream| (1, Tolerance::of(stream.window))).collect();
        let (mut winners, mut violations, mut order) = (Vec::new(), 0, Vec::new());
        for packet in 0..packets {
            if packet % u64::from(cadence.packets_per_decision) == 0 {
                let rank = |(stream, (deadline, tolerance)): (u32, &(u64, Tolerance))| Rank {
                    deadline: *deadline,
                    tolerance: *tolerance,
                    arrival: 0,
                    stream,
                };
                let mut ranks: Vec<Rank> = (0..).zip(&records).map(rank).collect();
                ranks.sort_by(|a, b| a.compare(b, Order::DeadlineFirst));
                order = ranks.iter().map(|rank| rank.stream).collect();
            }
            let winner = order[(packet % u64::from(cadence.packets_per_decision)) as usize] as usize;
            winners.push(winner as u32);
            let finish = packet + 1;
            let period = |stream: usize| streams[stream].period.unwrap();
            let (deadline, tolerance) = &mut records[winner];
            if *deadline < finish {
                violations += tolerance.miss(streams[winner].window, streams[winner].penalty, 1);
            } else {
                tolerance.serve(streams[winner].window);
            }
            *deadline = (*deadline + period(winner)).max(finish);
            if finish % u64::from(cadence.packets_per_update) == 0 {
                for (stream, (deadline, tolerance)) in records.iter_mut().enumerate() {
                    if stream != winner && *deadline <= finish {
                        violations += tolerance.miss(streams[stream].window, streams[stream].penalty, 1);
                        *deadline += period(stream);
                    }
                    *deadline = (*deadline).max(finish);
                }
            }
        }
        (winners, violations)
    }

    const EXACT: Architecture = Architecture { routing: Routing::Exact, update: Update::InTurn, size: Size::Four };

    proptest! {
        #[test]
        fn a_cadence_does_what_is_written(
            windows in prop::collection::vec((0u32..6, 1u32..6, 1u64..6), 4), packets_per_decision in 1u8..=4, packets_per_update in 1u8..=5,
        ) {
            let stream = |(x, more, period)| Stream { first_deadline: Some(1), ..Stream::windowed(Window::new(x, x + more), period) };
            let streams: Vec<Stream> = windows.into_iter().map(stream).collect();
            let cadence = Cadence { packets_per_decision, packets_per_update };
            prop_assert_eq!(device(EXACT, cadence, &streams, 200), textbook(cadence, &streams, 200));
        }
    }

    #[test]
    fn a_relaxed_device_notices_that_time_passes_while_it_serves_nothing() {
        let cadence = Cadence { packets_per_update: 8, ..Cadence::default() };
        let streams = [Stream::windowed(Window::new(1, 2), 4); 2];
        let mut device = Device::new(EXACT, Clock::Outside, 0, &streams).unwrap().with_cadence(cadence).unwrap();
        (0..2).for_each(|stream| device.activate(0, Flow(stream), 0));
        assert_eq!(device.select(0), Choice::Serve(Flow(0)));
        device.served(Flow(0), 1, None);
        assert_eq!(device.select(1), Choice::Serve(Flow(1)));
        assert_eq!(device.standing(Flow(1)).tally.missed, 0);
        assert_eq!(device.select(20_000), Choice::Serve(Flow(1)));
        assert_eq!(device.standing(Flow(1)).tally.missed, 1);
    }

    #[test]
    fn what_a_device_cannot_keep_is_refused() {
        let cadence = |packets_per_decision, packets_per_update| Cadence { packets_per_decision, packets_per_update };
        let base = Architecture::base(Size::Four);
        assert!(cadence(4, 9).check(base, 4).is_ok());
        for (cadence, architecture, streams, word) in [
            (cadence(0, 1), base, 4, "at least 1"),
            (cadence(1, 0), base, 4, "at least 1"),
            (cadence(5, 1), base, 4, "ports"),
            (cadence(2, 1), base, 5, "one tile"),
            (cadence(2, 1), Architecture::winner_only(Size::Four), 4, "routes losers"),
            (cadence(1, 2), Architecture::compute_ahead(Size::Four), 4, "compute ahead"),
        ] {
            assert!(cadence.check(architecture, streams).unwrap_err().contains(word), "{cadence:?}");
        }
    }
}
