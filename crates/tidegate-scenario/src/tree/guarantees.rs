//! Computes what each member of the tree is guaranteed while it is backlogged, from the link down.
//!
//! A node makes each child an offer: a rate, and the latency after which it holds. A shape passes on the part that its burst keeps. A policer
//! that discards caps it. Whatever is not proven is no guarantee; the reason is kept.
//!
//! * A scheduler that shares by weights or rates gives each child its part of the node's service. The latencies are those of Stiliadis and
//!   Varma, "Latency-Rate Servers", IEEE/ACM ToN 6(5), 1998.
//! * A work-conserving scheduler gives a child what its neighbours leave, if all of them are limited. Strict priority gives what those above
//!   and beside leave.
//! * A shaped child waits for its turn and for its contract. A burst makes up for a latency of `t` at a rate of `r` if
//!   `burst - longest frame + rate * tolerance >= r t`.
//! * A dual bucket does not make up for a late burst: each loses its lateness beyond the tolerance. Let an offer be `R` after `t`,
//!   `r = min(R, rate)`, and `b = burst - longest frame`, the least bytes of a burst. A burst and its pause last at most `b / r + d`, where
//!   `d = t + longest frame (1 / max(R, rate) - 1 / link) - tolerance`, or 0 if that is negative. So `b / (b / r + d)` is kept.

use super::members::{Choice, Member, Starvation, Tree, slot};
use crate::contract::Bursts;
use crate::guarantee::{Ceiling, Guarantee, LeastRate, Service};
use crate::slots::Slots;
use crate::units::{print_size, print_time};
use std::collections::BTreeMap;
use tidegate_core::dwcs::Early;
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::Stamping;
use tidegate_core::shaper::{Bucket, ShapingContract};

/// The service of a member and the reason why it is not more, or the reason why there is none.
pub(super) type Passed = Result<(Service, Option<String>), String>;

/// The service of a child before its own shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub rate: LeastRate,
    /// Seconds after the child becomes backlogged until the rate holds; infinite if unknown.
    pub latency: f64,
    /// Seconds that a packet of the child may wait on top of its own time at the rate.
    pub wait: f64,
    /// The node's rate, if everything that the child waits for is limited and takes no more than its part of the time.
    pub whole: Option<LeastRate>,
}

/// The most that several members send together.
#[derive(Clone, Debug, Default)]
struct Sum {
    rate: u64,
    burst: f64,
    /// The first two that nothing limits.
    unlimited: Vec<usize>,
    /// The number of members that are limited on arrival only.
    on_arrival: usize,
}

impl Sum {
    fn add(&mut self, position: usize, ceiling: Option<&Ceiling>) {
        match ceiling {
            Some(ceiling) => {
                self.rate = self.rate.saturating_add(ceiling.rate);
                self.burst += ceiling.burst;
                self.on_arrival += usize::from(!ceiling.at_service);
            }
            None if self.unlimited.len() < 2 => self.unlimited.push(position),
            None => {}
        }
    }

    /// The most that all but the member at `position` send, or the first of them that is unlimited.
    fn without(&self, position: usize, own: Option<&Ceiling>) -> Result<Ceiling, usize> {
        if let Some(&other) = self.unlimited.iter().find(|&&other| other != position) {
            return Err(other);
        }
        let (rate, burst, on_arrival) = own.map_or((0, 0.0, 0), |own| (own.rate, own.burst, usize::from(!own.at_service)));
        Ok(Ceiling {
            rate: self.rate.saturating_sub(rate),
            burst: (self.burst - burst).max(0.0),
            at_service: self.on_arrival == on_arrival,
        })
    }
}

/// The guarantee of each queue of a class whose queues share `slots`.
pub(super) fn of_queue(rate: Option<LeastRate>, slots: Option<&Slots>) -> Guarantee {
    let Some(rate) = rate else { return Guarantee::None("the class has none".to_owned()) };
    match window_of(slots, 0, Service { rate, latency: 0.0 }) {
        Ok(offer) => Guarantee::Rate(offer.rate),
        Err(reason) => Guarantee::None(reason),
    }
}

/// Why literal stamps guarantee nothing.
pub(super) const LITERAL: &str = "with literal stamps a class that is served late loses its lateness";

/// How members of one priority are served: under strict priority, and under rate-controlled service.
const TURNS: &str = "it takes turns packet by packet with others of its priority, whose packets may be longer";
const RELEASES: &str = "those of one priority leave in the order in which they are released";

impl Tree {
    /// Computes the most that each group and class sends. To be called once, before guarantees.
    pub(super) fn limit(&mut self) {
        let of_shape = |shape: &Option<ShapingContract>| {
            shape.map(|shape| {
                let rate = shape.rate.bits_per_second();
                let late = shape.tolerance.picoseconds() as f64 / 1e12 * rate as f64 / 8.0;
                Ceiling { rate, burst: f64::from(Bursts::of_shape(&shape).depth) + late, at_service: true }
            })
        };
        let lower = |a: Option<Ceiling>, b: Option<Ceiling>| match (a, b) {
            (Some(a), Some(b)) => Some(if b.rate < a.rate { b } else { a }),
            (a, b) => a.or(b),
        };
        self.class_ceilings = self.classes.iter().map(|class| lower(of_shape(&class.given.shape), class.admits)).collect();
        self.group_ceilings = vec![None; self.groups.len()];
        self.held_groups = vec![false; self.groups.len()];
        for &group in self.order.iter().rev() {
            let mut sum = Sum::default();
            for (position, &child) in self.children[slot(Some(group))].iter().enumerate() {
                sum.add(position, self.ceiling(child));
            }
            let together =
                sum.unlimited.is_empty().then_some(Ceiling { rate: sum.rate, burst: sum.burst, at_service: sum.on_arrival == 0 });
            self.group_ceilings[group] = lower(of_shape(&self.groups[group].0.shape), together);
            let holds = self.waits_for_periods(Some(group)) || self.children[slot(Some(group))].iter().any(|&child| self.is_held(child));
            self.held_groups[group] = holds || self.groups[group].0.shape.is_some();
        }
    }

    /// True if the scheduler of a node holds packets until their period or their virtual start begins.
    fn waits_for_periods(&self, node: Option<usize>) -> bool {
        let Choice { kind, options, .. } = self.scheduler(node);
        match kind {
            SchedulerKind::Dwcs => options.dwcs.rules.early == Early::Hold,
            SchedulerKind::IntegratedServices => options.intserv.out_of_profile_weight == 0,
            kind => *kind == SchedulerKind::ShapedVirtualClock,
        }
    }

    /// True if the scheduler above a member may find it suspended: backlogged, and not to be served yet.
    fn is_held(&self, member: Member) -> bool {
        match member {
            Member::Group(group) => self.held_groups[group],
            Member::Class(class) => self.classes[class].given.shape.is_some(),
        }
    }

    fn ceiling(&self, member: Member) -> Option<&Ceiling> {
        match member {
            Member::Group(group) => self.group_ceilings[group].as_ref(),
            Member::Class(class) => self.class_ceilings[class].as_ref(),
        }
    }

    /// The guarantee of each child of `node`, in order, and the rate that the child shares if it is a group without a `rate`.
    pub(super) fn guaranteed(&mut self, node: Option<usize>) -> Vec<(Passed, Option<LeastRate>)> {
        let children = self.children[slot(node)].clone();
        // The rates that groups share are needed even without a guarantee.
        let shared = LeastRate::whole(self.shared[slot(node)].value.bits_per_second());
        let service = self.services[slot(node)].unwrap_or(Service { rate: shared, latency: f64::INFINITY });
        let kind = self.effective_kind(node);
        let offers = match kind {
            SchedulerKind::StrictPriority => self.offers_by_priority(service, &children),
            SchedulerKind::RateControlled => self.offers_by_contract(node, service, &children),
            kind => self.offers_by_share(node, kind, service, &children),
        };
        let best = children.iter().zip(offers).enumerate().map(|(position, (&child, offers))| {
            let (passed, rate) = self.best(kind, child, offers);
            let none = self.services[slot(node)].is_none().then(|| Err(format!("{} above it has none", self.name(node))));
            (none.unwrap_or(passed), rate.or_else(|| self.requested(node, position, shared)))
        });
        best.collect()
    }

    /// The rate that a child of a node under `dwcs` requests.
    fn requested(&self, node: Option<usize>, position: usize, shared: LeastRate) -> Option<LeastRate> {
        let part = self.slots[slot(node)].as_ref()?.streams[position].least_service()?;
        shared.part(part.ticks, part.of)
    }

    /// The best of several offers, after the child's shape and policer.
    fn best(&self, kind: SchedulerKind, child: Member, offers: Vec<Result<Offer, String>>) -> (Passed, Option<LeastRate>) {
        let shape = self.given(child).shape;
        let admitted = if let Member::Class(class) = child { self.classes[class].admits.as_ref() } else { None };
        let unshaped = offers.iter().filter_map(|offer| offer.as_ref().ok()).map(|offer| offer.rate).max();
        let nominal = match (unshaped, shape) {
            (Some(rate), Some(shape)) => Some(rate.min(LeastRate::whole(shape.rate.bits_per_second()))),
            (rate, _) => rate,
        };
        let (mut reasons, mut too_small): (Vec<String>, Option<String>) = (Vec::new(), None);
        let mut best: Option<Service> = None;
        for offer in offers {
            let (service, burst) = match (offer, &shape) {
                (Err(reason), _) => {
                    if !reasons.contains(&reason) {
                        reasons.push(reason);
                    }
                    continue;
                }
                (Ok(offer), None) => (Some(Service { rate: offer.rate, latency: offer.latency }), None),
                (Ok(_), Some(shape)) if kind == SchedulerKind::RateControlled && pauses(shape) => {
                    (None, Some("its dual bucket cannot make good what rate-controlled delays in an overload".to_owned()))
                }
                (Ok(offer), Some(shape)) => self.through(offer, shape, kind.name()),
            };
            too_small = too_small.or(burst);
            if let Some(service) = service
                && best.is_none_or(|best| (service.rate, -service.latency) > (best.rate, -best.latency))
            {
                best = Some(service);
            }
        }
        let passed = match best {
            None => Err(too_small.unwrap_or_else(|| reasons.join(", and "))),
            Some(service) => {
                let rate = admitted.map_or(service.rate, |admitted| service.rate.min(LeastRate::whole(admitted.rate)));
                let is_less = nominal.is_some_and(|nominal| service.rate < nominal) && rate == service.rate;
                Ok((Service { rate, ..service }, too_small.filter(|_| is_less)))
            }
        };
        (passed, nominal)
    }

    /// The scheduler that the node is built with.
    fn effective_kind(&self, node: Option<usize>) -> SchedulerKind {
        if node.is_none() && self.is_flat() { self.flat_kind() } else { self.scheduler(node).kind }
    }

    /// Offers by shares, and beside limited neighbours.
    fn offers_by_share(
        &self,
        node: Option<usize>,
        kind: SchedulerKind,
        service: Service,
        children: &[Member],
    ) -> Vec<Vec<Result<Offer, String>>> {
        let mut all = Sum::default();
        for (position, &child) in children.iter().enumerate() {
            all.add(position, self.ceiling(child));
        }
        let waits = self.waits_for_periods(node);
        let shares = self.shares(node, kind, service, children);
        let offers = children.iter().zip(shares).enumerate().map(|(position, (&child, share))| {
            let left = all.without(position, self.ceiling(child)).map_err(|other| self.nothing_limits(children[other]));
            let left = left.and_then(|others| self.left_beside(service, others, children.len() > 1));
            if waits { vec![share] } else { vec![share, left] }
        });
        offers.collect()
    }

    /// The offer that limited `others` leave of a node's service.
    fn left_beside(&self, service: Service, others: Ceiling, has_others: bool) -> Result<Offer, String> {
        let Some(rate) = service.rate.beside(others.rate) else {
            return Err(format!("the others may take all of the {}", service.rate));
        };
        let longest = if has_others { self.bits_of_longest() } else { 0.0 };
        Ok(self.left(service, rate, others.burst, longest, others.at_service))
    }

    /// The offer of a rate that is left beside bursts of this many bytes and one packet of this many bits.
    fn left(&self, service: Service, rate: LeastRate, bursts: f64, longest: f64, is_known: bool) -> Offer {
        let latency = if is_known { service.latency + (bursts * 8.0 + longest) / rate.bits_per_second() } else { f64::INFINITY };
        Offer { rate, latency, wait: service.latency + longest / service.rate.bits_per_second(), whole: Some(service.rate) }
    }

    /// Offers by the shares of the scheduler alone.
    fn shares(&self, node: Option<usize>, kind: SchedulerKind, service: Service, children: &[Member]) -> Vec<Result<Offer, String>> {
        let weight = |child: Member| self.given(child).weight.as_ref().map_or(1, |weight| weight.value);
        let weights: u128 = children.iter().map(|&child| u128::from(weight(child))).sum();
        let whole = service.rate.bits_per_second();
        let longest = self.bits_of_longest();
        let too_little = || "its share is less than 2^-48 bit/s".to_owned();
        let each = |offer: &dyn Fn(usize, Member) -> Result<Offer, String>| {
            children.iter().enumerate().map(|(position, &child)| offer(position, child)).collect::<Vec<_>>()
        };
        match kind {
            SchedulerKind::DeficitRoundRobin => {
                let least = children.iter().map(|&child| weight(child)).min().unwrap_or(1);
                let quantum = |child: Member| longest * f64::from(weight(child)) / f64::from(least);
                let round = longest * weights as f64 / f64::from(least);
                // A child that resumes after a suspension may have saved up a turn.
                let saved = |child: Member| if self.is_held(child) { quantum(child) } else { 0.0 };
                let all_saved: f64 = children.iter().map(|&child| saved(child)).sum();
                each(&|_, child| {
                    let rate = service.rate.part(weight(child).into(), weights).ok_or_else(too_little)?;
                    let latency = service.latency + (3.0 * round - 2.0 * quantum(child) + all_saved - saved(child)) / whole;
                    Ok(Offer { rate, latency, wait: f64::INFINITY, whole: None })
                })
            }
            SchedulerKind::Wf2qPlus | SchedulerKind::QuickFair | SchedulerKind::SelfClocked => {
                let shared = self.shared[slot(node)].value.bits_per_second();
                let rates = self.rates_of(node, children);
                each(&|position, _| {
                    let rate = service.rate.part(rates[position], shared.into()).ok_or_else(too_little)?;
                    let (own, any) = (longest / rate.bits_per_second(), longest / whole);
                    let (latency, wait) = match kind {
                        SchedulerKind::Wf2qPlus => (own + any, any),
                        SchedulerKind::QuickFair => (6.0 * own + 2.0 * any, f64::INFINITY),
                        _ => (own + any * children.len() as f64, any * children.len() as f64),
                    };
                    Ok(Offer { rate, latency: service.latency + latency, wait: service.latency + wait, whole: None })
                })
            }
            SchedulerKind::VirtualClock | SchedulerKind::ShapedVirtualClock => {
                let rates: Vec<u64> =
                    children.iter().map(|&child| self.given(child).rate.as_ref().map_or(0, |rate| rate.value.bits_per_second())).collect();
                let sum = rates.iter().fold(0u64, |sum, rate| sum.saturating_add(*rate));
                let is_literal =
                    kind == SchedulerKind::ShapedVirtualClock && self.scheduler(node).options.intserv.stamp == Stamping::Literal;
                each(&|position, _| match service.rate >= LeastRate::whole(sum) {
                    _ if is_literal => Err(LITERAL.to_owned()),
                    true => {
                        let (rate, wait) = (LeastRate::whole(rates[position]), service.latency + longest / whole);
                        // A flow whose clock has run ahead may be starved later, so no latency holds. No shaped clock runs ahead.
                        let is_shaped = kind == SchedulerKind::ShapedVirtualClock;
                        let latency = if is_shaped { wait + longest / rate.bits_per_second() } else { f64::INFINITY };
                        Ok(Offer { rate, latency, wait, whole: None })
                    }
                    false => {
                        Err(format!("the rates below {} add up to more than the {} that it is guaranteed", self.name(node), service.rate))
                    }
                })
            }
            SchedulerKind::IntegratedServices => self.offers_by_service(node, service, children),
            SchedulerKind::Dwcs => {
                let slots = self.slots[slot(node)].as_ref();
                each(&|position, _| window_of(slots, position, service))
            }
            SchedulerKind::WeightedRoundRobin => {
                each(&|_, child| Err(format!("wrr shares packets, not bytes: {} of {weights} packets are its own", weight(child))))
            }
            SchedulerKind::EarliestDeadlineFirst => each(&|_, _| Err("edf serves by deadlines, not by rates".to_owned())),
            SchedulerKind::DualQueue => each(&|_, _| Err("dual-queue serves by the lead of its low-latency side".to_owned())),
            SchedulerKind::SparseRoundRobin => each(&|_, _| Err("queues that have just become backlogged go first".to_owned())),
            _ => each(&|_, _| Err(format!("{} serves in the order of arrival", kind.name()))),
        }
    }

    /// The rates of a fair scheduler, as it computes them itself: reserved rates, and the rest by weight.
    fn rates_of(&self, node: Option<usize>, children: &[Member]) -> Vec<u64> {
        let reserved = |child: Member| self.given(child).rate.as_ref().map(|rate| rate.value.bits_per_second());
        let weight = |child: Member| self.given(child).weight.as_ref().map_or(1, |weight| weight.value);
        let taken = children.iter().filter_map(|&child| reserved(child)).fold(0u64, u64::saturating_add);
        let left = self.shared[slot(node)].value.bits_per_second().saturating_sub(taken);
        let weights: u128 = children.iter().filter(|&&child| reserved(child).is_none()).map(|&child| u128::from(weight(child))).sum();
        let by_weight = |child: Member| (u128::from(left) * u128::from(weight(child)) / weights.max(1)) as u64;
        children.iter().map(|&child| reserved(child).unwrap_or_else(|| by_weight(child))).collect()
    }

    /// Offers under strict priority: what those above and beside leave.
    fn offers_by_priority(&mut self, service: Service, children: &[Member]) -> Vec<Vec<Result<Offer, String>>> {
        let levels = self.levels(children);
        let mut above = Sum::default();
        let mut offers = vec![Vec::new(); children.len()];
        for members in levels.values() {
            let mut level = Sum::default();
            for &position in members {
                level.add(position, self.ceiling(children[position]));
            }
            for &position in members {
                let offer = self.left_by_priority(service, children, (&above, &level), position, TURNS);
                offers[position].push(offer);
            }
            self.note_starvation(children, &above, members);
            members.iter().for_each(|&position| above.add(position, self.ceiling(children[position])));
        }
        offers
    }

    fn left_by_priority(
        &self,
        service: Service,
        children: &[Member],
        (above, level): (&Sum, &Sum),
        position: usize,
        order: &str,
    ) -> Result<Offer, String> {
        let first = above.without(usize::MAX, None).map_err(|other| self.goes_first(children[other]))?;
        let Some(left) = service.rate.beside(first.rate) else {
            return Err(format!("those of higher priority may take all of the {}", service.rate));
        };
        let others = level.without(position, self.ceiling(children[position])).map_err(|other| {
            let limits = self.nothing_limits(children[other]);
            format!("{order}, and {limits}")
        })?;
        let Some(rate) = left.beside(others.rate) else {
            return Err(format!("the others of its priority may take all of the {left} that higher ones leave"));
        };
        let longest = if children.len() > 1 { self.bits_of_longest() } else { 0.0 };
        // The backlog of a higher priority is at most its burst. That of the same priority may be more, unless it is limited at service.
        Ok(self.left(service, rate, first.burst + others.burst, longest, others.at_service))
    }

    /// Offers under rate-controlled service: strict priority, and the guaranteed rates of priorities.
    fn offers_by_contract(&mut self, node: Option<usize>, service: Service, children: &[Member]) -> Vec<Vec<Result<Offer, String>>> {
        if node.is_some() {
            let none = "rate-controlled below a group shares by the clock, whether the group is served or not";
            return children.iter().map(|_| vec![Err(none.to_owned())]).collect();
        }
        let levels = self.levels(children);
        let reserved = |members: &[usize]| {
            let rates = members.iter().filter_map(|&position| self.given(children[position]).rate.as_ref());
            rates.fold(0u64, |sum, rate| sum.saturating_add(rate.value.bits_per_second()))
        };
        let guaranteed: Vec<u64> = levels.values().map(|members| reserved(members)).collect();
        let mut below: u64 = guaranteed.iter().fold(0, |sum, rate| sum.saturating_add(*rate));
        let mut above = Sum::default();
        let mut offers = vec![Vec::new(); children.len()];
        for (members, &own) in levels.values().zip(&guaranteed) {
            below = below.saturating_sub(own);
            let mut level = Sum::default();
            for &position in members {
                level.add(position, self.ceiling(children[position]));
            }
            for &position in members {
                // Guaranteed packets of lower priorities go first as well, a few at once.
                let claims = Ceiling { rate: below, burst: 5.0 * f64::from(self.longest) * levels.len() as f64, at_service: true };
                let mut first = above.clone();
                if below > 0 {
                    first.add(usize::MAX - 1, Some(&claims));
                }
                offers[position].push(self.left_by_priority(service, children, (&first, &level), position, RELEASES));
                if own == 0 {
                    self.note_starvation(children, &above, members);
                } else if members.len() == 1 {
                    let rate = LeastRate::whole(own).min(service.rate);
                    offers[position].push(Ok(Offer { rate, latency: 0.0, wait: 0.0, whole: None }));
                }
            }
            members.iter().for_each(|&position| above.add(position, self.ceiling(children[position])));
        }
        offers
    }

    fn note_starvation(&mut self, children: &[Member], above: &Sum, members: &[usize]) {
        let (Some(&first), Some(&starved)) = (above.unlimited.first(), members.first()) else { return };
        let starvation = Starvation { first: children[first], starved: children[starved] };
        if self.starvations.last().is_none_or(|last| last.first != starvation.first) {
            self.starvations.push(starvation);
        }
    }

    /// The children of each priority, highest first.
    fn levels(&self, children: &[Member]) -> BTreeMap<u32, Vec<usize>> {
        let mut levels: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (position, &child) in children.iter().enumerate() {
            levels.entry(self.given(child).priority.as_ref().map_or(0, |priority| priority.value)).or_default().push(position);
        }
        levels
    }

    /// The part of an offer that a shape passes on, and the reason why it is not more. A peak rate is a first shape without a burst.
    fn through(&self, offer: Offer, shape: &ShapingContract, kind: &str) -> (Option<Service>, Option<String>) {
        let tolerance = shape.tolerance.picoseconds() as f64 / 1e12;
        let (first, peak_wanted) = match shape.peak {
            Some(peak) => self.kept(offer, LeastRate::whole(peak.bits_per_second()), tolerance),
            None => (Some(Service { rate: offer.rate, latency: offer.latency }), None),
        };
        let (mut service, mut wanted) = (None, None);
        if let Some(first) = first {
            let spare = excess(shape) * 8.0 / shape.rate.bits_per_second() as f64 + tolerance;
            let offer = Offer { rate: first.rate, latency: first.latency, ..offer };
            if pauses(shape) {
                return self.through_dual(offer, shape, kind);
            }
            let (second, more) = self.kept(offer, LeastRate::whole(shape.rate.bits_per_second()), spare);
            (service, wanted) = (second, more);
        }
        let reason = match (shape.peak, peak_wanted, wanted) {
            (_, None, None) => None,
            _ if offer.latency.is_infinite() => Some(format!("nothing bounds how long it waits for its turn under {kind}")),
            (Some(peak), Some(wanted), _) => {
                let late = (wanted * 8.0 / peak.bits_per_second() as f64 * 1e12).ceil() as u128 + 1;
                Some(format!(
                    "its peak rate makes up for no wait for its turn under {kind}; a delay_variation_tolerance of {} would",
                    print_time(late)
                ))
            }
            (peak, _, Some(wanted)) => {
                let wanted = wanted + f64::from(self.longest) - tolerance * shape.rate.bits_per_second() as f64 / 8.0;
                let would_do = peak.is_none() && wanted.is_finite();
                let rest = if would_do { format!("; {} would do", print_size(wanted.max(0.0).ceil() as u64 + 1)) } else { String::new() };
                let depth = print_size(Bursts::of_shape(shape).depth.into());
                Some(format!("its burst of {depth} is too small to wait for its turn under {kind}{rest}"))
            }
            (None, Some(_), None) => unreachable!("without a peak rate nothing is wanted of it"),
        };
        (service, reason)
    }

    /// The part of an offer that a dual bucket passes on behind its peak rate, and the reason why it is not more.
    fn through_dual(&self, offer: Offer, shape: &ShapingContract, kind: &str) -> (Option<Service>, Option<String>) {
        let rate = LeastRate::whole(shape.rate.bits_per_second());
        let least = offer.rate.min(rate);
        let link = self.rate.value.bits_per_second() as f64;
        let longest = self.bits_of_longest();
        let own = longest / offer.rate.max(rate).bits_per_second() - longest / link;
        let tolerance = shape.tolerance.picoseconds() as f64 / 1e12;
        let lost = offer.latency + own.max(0.0) - tolerance * (1.0 + 1e-9);
        // Children of a group also wait during its pauses, for which no latency is computed.
        let service = |rate| Service { rate, latency: f64::INFINITY };
        if lost <= 0.0 {
            return (Some(service(least)), None);
        }
        let burst = f64::from(shape.burst - shape.longest_packet) * 8.0;
        let time = burst / least.bits_per_second();
        let part = (time / (time + lost) * (1u64 << 39) as f64).floor() as u64;
        let kept = least.part(part, 1 << 39).map(service);
        let because = if lost.is_finite() { "each burst may start late" } else { "nothing bounds how late each burst starts" };
        (kept, Some(format!("its dual bucket is full while it waits for its turn under {kind}, and {because}")))
    }

    /// The part of an offer that a shape to `rate` keeps if it makes up for `spare` seconds. If that is not all: the bytes by which a burst has to
    /// exceed the longest frame to keep everything, or infinity.
    fn kept(&self, offer: Offer, rate: LeastRate, spare: f64) -> (Option<Service>, Option<f64>) {
        let least = offer.rate.min(rate);
        let needed = offer.latency * least.bits_per_second() / rate.bits_per_second();
        // A tolerance of one longest frame, rounded to picoseconds, may be slightly too short.
        let spare = spare * (1.0 + 1e-9);
        if needed <= spare {
            let latency = offer.latency + spare + self.bits_of_longest() / rate.bits_per_second();
            return (Some(Service { rate: least, latency }), None);
        }
        let kept = match offer.whole {
            _ if offer.wait > spare => None,
            Some(whole) => Some(rate.scaled_by(offer.rate, whole).min(least)),
            None => Some(offer.rate.in_turn_with(rate)),
        };
        let kept = kept.filter(|kept| kept.bits_per_second() > 0.0).map(|rate| Service { rate, latency: f64::INFINITY });
        (kept, Some(needed * rate.bits_per_second() / 8.0))
    }

    pub(super) fn bits_of_longest(&self) -> f64 {
        f64::from(self.longest) * 8.0
    }

    fn nothing_limits(&self, other: Member) -> String {
        let given = self.given(other);
        let (role, marks) = match other {
            Member::Group(_) => ("group", false),
            Member::Class(class) => ("class", self.classes[class].marks),
        };
        match marks {
            true => format!("the policer of {role} `{}` marks and discards nothing", given.name),
            false => format!("nothing limits {role} `{}`", given.name),
        }
    }

    fn goes_first(&self, other: Member) -> String {
        let (role, marks) = match other {
            Member::Group(_) => ("group", false),
            Member::Class(class) => ("class", self.classes[class].marks),
        };
        let limit = if marks { "its policer marks and discards nothing" } else { "nothing limits it" };
        format!("{role} `{}` goes first, and {limit}", self.given(other).name)
    }
}

/// True if the shape pauses after a burst until its bucket is full.
fn pauses(shape: &ShapingContract) -> bool {
    shape.bucket == Bucket::Dual && shape.burst > shape.longest_packet
}

/// The bytes by which a burst exceeds one longest frame, less those that the peak rate admits meanwhile.
fn excess(shape: &ShapingContract) -> f64 {
    let beyond = f64::from(shape.burst.saturating_sub(shape.longest_packet));
    shape.peak.map_or(beyond, |peak| beyond * (1.0 - shape.rate.bits_per_second() as f64 / peak.bits_per_second() as f64))
}

/// The offer of a child's window: its part of the slots of the node.
fn window_of(slots: Option<&Slots>, position: usize, service: Service) -> Result<Offer, String> {
    let slots = slots.ok_or("its request cannot be met")?;
    let stream = &slots.streams[position];
    if stream.is_fixed {
        return Err("its static priority reserves nothing".to_owned());
    }
    slots.keeps_rates()?;
    let part = stream.least_service().ok_or("its window tolerates every loss")?;
    let rate = service.rate.part(part.ticks, part.of).ok_or("its share is less than 2^-48 bit/s")?;
    let gap = slots.longest_gap(stream).map_or(f64::INFINITY, |gap| slots.time(2 * gap) as f64 / 1e12);
    Ok(Offer { rate, latency: service.latency + gap, wait: f64::INFINITY, whole: None })
}
