//! The rows of [`super::row`], one method for each scheduler. `share * (W - x)` is [`Service::share`].

use super::parameters::{Child, Node, Row};
use crate::aggregate::{Aggregate, delay};
use crate::curve::{Arrival, RateLatency, Service, TokenBucket};
use crate::quantity::{NoBound, Picobits, Picoseconds, as_bound, bits, plus, times, up};
use tidegate_core::scheduler::ServiceClass;

/// One child of one node.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) node: &'a Node,
    pub(super) parent: &'a Service,
    pub(super) index: usize,
}

/// Why virtual clocks have no strict curve.
const PUNISHED: NoBound = NoBound::Because("a flow that used idle capacity may be starved for as long as it ran ahead");

impl<'a> Rows<'a> {
    fn own(&self) -> &'a Child {
        &self.node.children[self.index]
    }

    fn others(&self) -> impl Iterator<Item = &'a Child> {
        let index = self.index;
        self.node.children.iter().enumerate().filter(move |&(at, _)| at != index).map(|(_, child)| child)
    }

    /// The longest packets of all others, one each.
    fn one_of_each(&self) -> Picobits {
        self.others().map(|child| bits(child.longest)).sum()
    }

    /// A sum of curves, or why one of them is unknown.
    fn sum<'c>(children: impl Iterator<Item = &'c Child>) -> Result<Aggregate, NoBound> {
        let mut sum = Aggregate::default();
        for child in children {
            sum.add(child.arrival.as_ref().map_err(NoBound::clone)?)?;
        }
        Ok(sum)
    }

    /// The service that remains beside traffic of these children and `lower` of other work.
    fn beside<'c>(&self, parent: &Service, children: impl Iterator<Item = &'c Child>, lower: Picobits) -> Result<Service, NoBound> {
        let sum = Rows::sum(children)?;
        if sum.is_empty() { parent.beside(&[], lower) } else { parent.beside(sum.as_arrival()?.buckets(), lower) }
    }

    /// All share one queue: the delay of the sum, and the service beside the others that the theta family gives at its best latency.
    pub(super) fn fifo(&self) -> Row {
        let delay = Rows::sum(self.node.children.iter()).and_then(|sum| sum.delay(self.parent));
        let beside = || {
            let others = Rows::sum(self.others())?;
            let TokenBucket { burst, rate } =
                if others.is_empty() { TokenBucket { burst: 0, rate: 0 } } else { others.as_arrival()?.sustained() };
            // [beta(t) - alpha(t - theta)]+ for t > theta, with theta = T + b/R.
            let pieces = self.parent.pieces().iter().filter(|piece| piece.rate > rate);
            let mut left = pieces.map(|piece| Service::rate_latency(piece.rate - rate, piece.latency + up(burst, piece.rate.into())));
            left.next_back().ok_or(NoBound::Overloaded { offered: rate.into(), served: self.parent.rate() })
        };
        let because = NoBound::Because("in one queue with others it is served in the order of arrival, not in every interval");
        Row { guaranteed: beside(), strict: Err(because), delay: Some(delay) }
    }

    /// What higher priorities, equal ones and one packet of lower priority leave. Equal priorities also take turns packet by packet.
    pub(super) fn strict_priority(&self) -> Row {
        let own = self.own();
        let lower = self.others().filter(|child| child.priority > own.priority).map(|child| bits(child.longest)).max().unwrap_or(0);
        let above = || self.others().filter(|child| child.priority < own.priority);
        let equal: Vec<&Child> = self.others().filter(|child| child.priority == own.priority).collect();
        let blind = self.beside(self.parent, above().chain(equal.iter().copied()), lower);
        let turns = || {
            let left = self.beside(self.parent, above(), lower)?;
            if equal.is_empty() {
                return Ok(left);
            }
            // With turns of one packet the curve covers a sibling that comes back behind its own packet.
            turns(&left, own.shortest.into(), equal.iter().map(|child| u128::from(child.longest)).sum(), 0)
        };
        let turns = turns();
        let guaranteed = match (blind, turns.clone()) {
            // Both hold from the instant on at which the child becomes backlogged.
            (Ok(one), Ok(two)) => Service::new(one.pieces().iter().chain(two.pieces()).copied()),
            (one, two) => two.or(one),
        };
        // Equals may have been served late at any instant, and then send their bursts again: only turns hold in every interval.
        let strict = turns;
        let sharper = || -> Result<Picoseconds, NoBound> {
            // Once started, the last packet is not interrupted: b - L waits for the rest, and L takes its own time.
            let left = self.beside(self.parent, above().chain(equal.iter().copied()), lower)?;
            let TokenBucket { burst, rate } = own.arrival.clone()?.sustained();
            let bounds = left.pieces().iter().filter(|piece| piece.rate >= rate).map(|piece| {
                let start = piece.latency + up((burst - bits(own.shortest)).max(0), piece.rate.into());
                Ok(start + self.parent.time_for(bits(own.shortest))? - self.parent.latency())
            });
            let least = bounds.collect::<Result<Vec<_>, NoBound>>()?.into_iter().min();
            as_bound(least.ok_or(NoBound::Overloaded { offered: rate.into(), served: left.rate() })?)
        };
        Row { guaranteed, strict, delay: Some(sharper()) }
    }

    /// Shares in packets, so in bits `q / (q + Q)` with `q` the least bits of an own turn and `Q` the most of all others. A sibling
    /// whose queue is empty when its packet starts may be back with a new turn before this child comes: one packet more.
    pub(super) fn weighted_round_robin(&self) -> Row {
        let turn = |child: &Child| u128::from(child.weight) * u128::from(child.longest) * if child.resumes { 2 } else { 1 };
        let (own, others) = (self.own(), self.others().map(turn).sum());
        Row::both(turns(self.parent, u128::from(own.weight) * u128::from(own.shortest), others, longest_of(self.others())))
    }

    /// `Q_i / F` after `(F - Q_i)(1 + L_i / Q_i)` and a packet of each other; and, as deficits stay below a packet, `(Q_i - L_i) / (F - L_i)` after
    /// one turn of each other. A sibling that comes back behind its own packet, as under [`Rows::weighted_round_robin`], comes without a deficit.
    pub(super) fn deficit_round_robin(&self) -> Row {
        let own = self.own();
        let (quantum, longest) = (u128::from(own.quantum), u128::from(own.longest));
        let others: u128 = self.others().map(|child| u128::from(child.quantum) + u128::from(child.has_fraction)).sum();
        // A child that resumes after a suspension has saved up one turn at most.
        let saved: Picobits = self.others().filter(|child| child.resumes).map(|child| bits(child.quantum)).sum();
        if quantum == 0 {
            return Row::none(NoBound::Because("it has no quantum"));
        }
        let curve = || {
            let round = i128::try_from(others * (quantum + longest)).map_err(|_| NoBound::OutOfRange)?;
            let work = up(times(round, bits(1))?, quantum as i128) + self.one_of_each() + saved;
            let mut pieces = self.parent.share((quantum, quantum + others), work)?.pieces().to_vec();
            if quantum > longest {
                let work = plus(bits(1) * others as i128, self.one_of_each() + saved)?;
                pieces.extend_from_slice(self.parent.share((quantum - longest, quantum + others - longest), work)?.pieces());
            }
            Service::new(pieces)
        };
        Row::both(curve())
    }

    /// The fair share `r / R` after `guaranteed` bits of work; strictly after `strict`.
    fn fair(&self, guaranteed: Picobits, strict: Result<Picobits, NoBound>) -> Row {
        let share = (u128::from(self.own().rate), u128::from(self.node.rate));
        let reserved: u128 = self.node.children.iter().map(|child| u128::from(child.rate)).sum();
        if reserved > share.1 {
            return Row::none(NoBound::Because("the rates of the children exceed that of the node"));
        }
        if share.0 == 0 {
            return Row::none(NoBound::Because("it has no guaranteed rate"));
        }
        let of = |work: Picobits| self.parent.share(share, work);
        Row { guaranteed: of(guaranteed), strict: strict.and_then(of), delay: None }
    }

    /// `work` divided by the share `r / R`, rounded up.
    fn at_share(&self, work: Picobits) -> Picobits {
        up(work * i128::from(self.node.rate), i128::from(self.own().rate.max(1)))
    }

    /// Virtual time has to follow the work while a packet is sent, as it does in the product: added at the start of service, no bound holds.
    pub(super) fn wf2q_plus(&self) -> Row {
        let (longest, own) = (bits(self.node.longest), bits(self.own().longest));
        self.fair(longest, Ok(self.at_share(2 * own) + longest - 2 * own))
    }

    pub(super) fn self_clocked(&self) -> Row {
        let own = bits(self.own().longest);
        self.fair(self.one_of_each(), Ok(self.one_of_each() + self.at_share(2 * own) - 2 * own))
    }

    /// Three slots of at least the longest packet's time at the rate, and two packets of the link.
    pub(super) fn quick_fair(&self) -> Row {
        let own = self.own();
        let slot = quick_fair_slot(self.node.longest, own.rate);
        let work = slot.and_then(|slot| times(3 * slot, self.node.rate.into())).map(|slots| slots + 2 * bits(self.node.longest));
        match work {
            Ok(work) => self.fair(work, Ok(work + self.at_share(bits(own.longest)))),
            Err(reason) => Row::none(reason),
        }
    }

    /// Clocks run in time and not by work, so that only a service of all rates together keeps up with them.
    pub(super) fn virtual_clock(&self) -> Row {
        let (rate, longest) = (self.own().rate, bits(self.node.longest));
        let reserved: u128 = self.node.children.iter().map(|child| u128::from(child.rate)).sum();
        if rate == 0 {
            return Row::none(NoBound::Because("it has no guaranteed rate"));
        }
        let pieces = self.parent.pieces().iter().filter(|piece| reserved <= piece.rate.into());
        let clock = Service::new(pieces.map(|piece| RateLatency { rate, latency: piece.latency + up(longest, piece.rate.into()) }));
        let guaranteed = clock.map_err(|_| NoBound::Because("the rates of the children exceed what the node is sure to serve"));
        Row { guaranteed, strict: Err(PUNISHED), delay: None }
    }

    /// A clock that is never ahead by more than the tolerance and a packet, so that a curve holds in every interval. The head was not due
    /// before the packet in front of it was, which had begun: the work is late by these two, and by the part of the packet in transmission.
    pub(super) fn shaped_virtual_clock(&self) -> Row {
        if self.node.is_literal {
            return Row::none(NoBound::Because("with literal stamps a flow that is served late loses its lateness"));
        }
        let (row, own) = (self.virtual_clock(), self.own());
        let ahead = 2 * bits(own.longest) + bits(own.early);
        let strict = row.guaranteed.clone().map(|curve| curve.later(up(ahead, own.rate.max(1).into())));
        Row { strict, ..row }
    }

    /// Guaranteed service as a virtual clock. Of it at most `sum (L + early) + t sum r` is in profile in any `t`, whatever arrives: controlled load
    /// has a virtual clock in the rest.
    pub(super) fn integrated_services(&self) -> Row {
        let own = self.own();
        if self.node.is_literal {
            return self.shaped_virtual_clock();
        }
        if self.node.charges_early {
            return Row::none(NoBound::Because(
                "a packet that leaves early is charged, so a flow that used idle capacity starves afterwards",
            ));
        }
        let guaranteed = || self.node.children.iter().filter(|child| child.class == ServiceClass::Guaranteed);
        match own.class {
            ServiceClass::Guaranteed => self.virtual_clock(),
            ServiceClass::ControlledLoad => {
                let burst = guaranteed().map(|child| bits(child.longest) + bits(child.early)).sum();
                let rate: u64 = guaranteed().map(|child| child.rate).sum();
                let lower = self.others().filter(|child| child.class != ServiceClass::Guaranteed).map(|child| child.longest).max();
                let left = self.parent.beside(&[TokenBucket { burst, rate }], bits(lower.unwrap_or(0)));
                let clock = left.and_then(|left| {
                    let all = self.node.children.iter().filter(|child| child.class == ServiceClass::ControlledLoad);
                    let (reserved, longest) = all.fold((0, 0), |(sum, most), child| (sum + child.rate, most.max(child.longest)));
                    let pieces = left.pieces().iter().filter(|piece| reserved <= piece.rate && own.rate > 0);
                    let latency = |piece: &RateLatency| piece.latency + up(bits(longest), piece.rate.into());
                    let clock = Service::new(pieces.map(|piece| RateLatency { rate: own.rate, latency: latency(piece) }));
                    clock.map_err(|_| NoBound::Because("guaranteed service leaves less than the rates of controlled load"))
                });
                Row { guaranteed: clock, strict: Err(PUNISHED), delay: None }
            }
            ServiceClass::BestEffort => Row::none(NoBound::Because("best effort has what packets out of profile leave")),
        }
    }

    /// `d_i` and the largest lateness, which may be negative: the work that is due by `t`, one packet that is due later, less `t`.
    /// It holds for deadlines that cannot all be met, too.
    pub(super) fn earliest_deadline_first(&self) -> Row {
        let due = self.node.children.iter().map(|child| {
            let delay = child.delay.ok_or(NoBound::Because("a class without a delay"))?;
            Ok((delay, child.arrival.clone()?, child.longest))
        });
        let bound = due.collect::<Result<Vec<_>, NoBound>>().and_then(|due| lateness(&due, self.parent, self.index));
        let because = NoBound::Because("earliest deadline first reserves no rate");
        Row { guaranteed: Err(because.clone()), strict: Err(because), delay: Some(bound) }
    }

    /// `(y - x) / y` of the slots after `2 x + 1`, if all windows are kept.
    pub(super) fn dwcs(&self) -> Row {
        let windows = self.node.windows;
        let Some((tolerated, deadlines)) = self.own().window else {
            return Row::none(NoBound::Because("a window has no losses and deadlines here: static priority reserves nothing"));
        };
        if !windows.is_kept {
            return Row::none(NoBound::Because("not all windows are kept"));
        }
        if tolerated >= deadlines {
            return Row::none(NoBound::Because("its window tolerates every loss"));
        }
        let overdrawn = if windows.overdraws { self.node.children.len() as i128 } else { 0 };
        let slots = 2 * i128::from(tolerated) + 1 + overdrawn;
        let curve = times(slots, bits(windows.slot));
        Row::both(curve.and_then(|work| self.parent.share(((deadlines - tolerated).into(), deadlines.into()), work)))
    }

    /// Its own shaper, and then first in first out among the contracts of its priority, below those of higher ones.
    pub(super) fn rate_controlled(&self) -> Row {
        let own = self.own();
        let lower = self.node.children.iter().filter(|child| child.priority > own.priority).map(|child| bits(child.longest)).max();
        let bound = || {
            let contract = |child: &Child| child.contract.clone().ok_or(NoBound::Because("a class without a contract"));
            let (mut above, mut equal) = (Aggregate::default(), Aggregate::default());
            for child in self.node.children.iter().filter(|child| child.priority <= own.priority) {
                if child.priority < own.priority { above.add(&contract(child)?)? } else { equal.add(&contract(child)?)? }
            }
            let buckets = if above.is_empty() { Vec::new() } else { above.as_arrival()?.buckets().to_vec() };
            let left = self.parent.beside(&buckets, lower.unwrap_or(0))?;
            let released = equal.delay(&left)?;
            let held = shaping_delay(&own.arrival.clone()?, &contract(own)?)?;
            as_bound(plus(released, held)?)
        };
        let because = NoBound::Because("the contracts share what is left in proportion, and in the order of release");
        Row { guaranteed: Err(because.clone()), strict: Err(because), delay: Some(bound()) }
    }
}

/// The longest packet of these children.
fn longest_of<'c>(children: impl Iterator<Item = &'c Child>) -> u64 {
    children.map(|child| child.longest).max().unwrap_or(0)
}

/// The share of turns of at least `own` bits among turns of at most `others` bits, after these and a packet of `first` bits.
fn turns(parent: &Service, own: u128, others: u128, first: u64) -> Result<Service, NoBound> {
    if own == 0 {
        return Err(NoBound::Because("its packets may be of any length, and so its turns"));
    }
    let work = i128::try_from(others + u128::from(first)).map_err(|_| NoBound::OutOfRange)?;
    parent.share((own, own + others), times(bits(1), work)?)
}

/// The slot of quick fair queueing: the longest packet's time at the rate, rounded up to a power of two.
pub(super) fn quick_fair_slot(longest: u64, rate: u64) -> Result<Picoseconds, NoBound> {
    if rate == 0 {
        return Err(NoBound::Because("it has no guaranteed rate"));
    }
    let time = up(bits(longest), rate.into()).max(1);
    let slot = u64::try_from(time).ok().and_then(u64::checked_next_power_of_two).ok_or(NoBound::OutOfRange)?;
    Ok(slot.into())
}

/// How long a shaper with this contract delays traffic: the distance of the arrivals from the contract, which serves at its rate once its
/// tokens are gone.
///
/// # Errors
/// [`NoBound::Overloaded`] if more comes in the long run than the contract grants, and out of range.
pub fn shaping_delay(arrival: &Arrival, contract: &Arrival) -> Result<Picoseconds, NoBound> {
    // b_in - b at the rate, for each bucket of the contract as a server that has b at once.
    let mut longest = 0;
    for bucket in contract.buckets() {
        if bucket.rate == 0 {
            return Err(NoBound::Overloaded { offered: arrival.rate().into(), served: 0 });
        }
        let less = |own: &TokenBucket| TokenBucket { burst: (own.burst - bucket.burst).max(0), ..*own };
        let excess = Arrival::new(arrival.buckets().iter().map(less));
        longest = longest.max(delay(&excess, &Service::link(bucket.rate))?);
    }
    as_bound(longest)
}

/// The delay under earliest deadline first of class `index` of `(deadline, arrivals, longest packet)`.
pub(super) fn lateness(due: &[(Picoseconds, Arrival, u64)], parent: &Service, index: usize) -> Result<Picoseconds, NoBound> {
    let own = due[index].0;
    let offered: u128 = due.iter().map(|class| u128::from(class.1.rate())).sum();
    if offered > parent.rate().into() {
        return Err(NoBound::Overloaded { offered, served: parent.rate() });
    }
    // The work due by `t`, and one packet that is due after `other`.
    let work = |t: Picoseconds, other: Picoseconds| -> Result<Picobits, NoBound> {
        let mut work = due.iter().filter(|class| class.0 > other).map(|class| bits(class.2)).max().unwrap_or(0);
        for (deadline, arrival, _) in due.iter().filter(|class| class.0 <= t) {
            work = plus(work, arrival.at(t - deadline)?)?;
        }
        Ok(work)
    };
    // The largest distance is at a deadline or at a kink behind one. A kink is between two whole picoseconds: the work of the later one at the
    // instant of the earlier one is no less.
    let mut demands = Vec::new();
    for (deadline, arrival, _) in due {
        if *deadline >= own {
            demands.push((*deadline, work(*deadline, *deadline)?));
        }
        for pair in arrival.buckets().windows(2) {
            let kink = deadline + (pair[1].burst - pair[0].burst) / i128::from(pair[0].rate - pair[1].rate);
            if kink >= own {
                demands.push((kink, work(kink + 1, kink)?));
            }
        }
    }
    // Each piece of the service is a service by itself.
    let mut latest = Picoseconds::MAX;
    for piece in parent.pieces().iter().filter(|piece| u128::from(piece.rate) >= offered) {
        let lateness = demands.iter().map(|&(t, work)| up(work, piece.rate.into()) + piece.latency - t);
        latest = latest.min(lateness.max().unwrap_or(0));
    }
    as_bound(plus(own, latest)?)
}
