//! What each member of the tree is guaranteed while it is backlogged, from the link down.
//!
//! Rates and curves are the rows of `tidegate-bounds`, for the parts of which the port is built. A scheduler that never idles also leaves a member what limited
//! neighbours do not take. A shape keeps a part of that, and a policer that discards caps it. What is not proven is no guarantee; the reason is kept.
//!
//! A group whose curve does not hold in every interval has a rate, and its members have none.

use super::ceilings::Sum;
use super::kept::{Kept, Lack, Offer, Shaped, UNKNOWN, pauses};
use super::members::{Member, Tree, slot};
use crate::guarantee::{Ceiling, Guarantee, LeastRate};
use crate::proof::{Members, Traffic};
use tidegate_bounds::curve::{RateLatency, Service, TokenBucket};
use tidegate_bounds::quantity::{NoBound, bits};
use tidegate_bounds::service::{KnownRows, Node, Row, row};
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::ServiceClass;

/// How members of one priority are served: under strict priority, and under rate-controlled service.
const TURNS: &str = "it takes turns packet by packet with others of its priority, whose packets may be longer";
const RELEASES: &str = "those of one priority leave in the order in which they are released";

/// What is found of one member.
struct Found {
    member: Member,
    guarantee: Guarantee,
    /// The rate that the scheduler above offers, at most that of the shape.
    offered: Option<u64>,
    /// The curve for members below, or why these have none.
    curve: Result<Service, String>,
    /// What its shape lacks to pass on all of that.
    lack: Option<Lack>,
}

impl Tree {
    /// Computes the guarantees of all classes and groups. To be called once, after rates are shared.
    pub(super) fn guarantee(&mut self) {
        let parts = self.parts_of_classes();
        let arrival = |class: usize, _| self.classes[class].admits.clone().ok_or(NoBound::Because("nothing limits it"));
        let rate = self.rate.value.bits_per_second();
        let traffic = Traffic { arrival: &arrival, ..Traffic::unknown(rate) };
        let members = Members::of(&parts, &traffic);
        let mut curves = vec![Err(String::new()); self.groups.len() + 1];
        curves[0] = Ok(Service::link(rate));
        let mut all = Vec::with_capacity(self.groups.len() + self.classes.len());
        // The nodes of the parts: the link, and every group after the one above it.
        for (number, &member) in parts.members.iter().enumerate() {
            let node = match member {
                Some(Member::Group(group)) => Some(group),
                _ => None,
            };
            let children: Vec<Member> = members.children(number).iter().map(|&child| parts.member(child)).collect();
            let below = Below { tree: self, members: &members, number, node, children: &children };
            for mut found in below.all(&curves[slot(node)]) {
                // Only what is below a group needs its curve.
                if let (Member::Group(group), curve) = (found.member, std::mem::replace(&mut found.curve, Err(String::new()))) {
                    curves[slot(Some(group))] = curve;
                }
                all.push(found);
            }
        }
        for Found { member, guarantee, offered, lack, .. } in all {
            self.lacks.extend(lack.map(|lack| (member, lack)));
            match member {
                Member::Class(class) => self.class_guarantees[class] = guarantee,
                Member::Group(group) => {
                    self.group_guarantees[group] = guarantee;
                    self.group_offers[group] = offered.map(LeastRate::whole);
                }
            }
        }
    }
}

/// The children of one node.
struct Below<'a> {
    tree: &'a Tree,
    members: &'a Members<'a>,
    /// The node, in the parts and in the tree.
    number: usize,
    node: Option<usize>,
    /// In the order of the parts.
    children: &'a [Member],
}

/// What a member is offered, or why there is nothing.
type Offered = Result<Offer, String>;

impl Below<'_> {
    fn kind(&self) -> SchedulerKind {
        self.tree.effective_kind(self.node)
    }

    fn all(&self, above: &Result<Service, String>) -> Vec<Found> {
        let curve = match above {
            Ok(curve) => curve,
            Err(reason) => {
                let reason = if reason.is_empty() { format!("{} above it has none", self.tree.name(self.node)) } else { reason.clone() };
                let none = |&member: &Member| Found {
                    member,
                    guarantee: Guarantee::None(reason.clone()),
                    offered: None,
                    curve: Err(String::new()),
                    lack: None,
                };
                return self.children.iter().map(none).collect();
            }
        };
        let by_priority =
            || self.children.iter().zip(self.by_priority(curve)).map(|(&member, offers)| self.found(member, offers)).collect();
        match self.kind() {
            SchedulerKind::StrictPriority => by_priority(),
            SchedulerKind::RateControlled if self.node.is_some() => {
                let none = "rate-controlled below a group shares by the clock, whether the group is served or not";
                self.children.iter().map(|&member| self.found(member, vec![Err(none.to_owned())])).collect()
            }
            SchedulerKind::RateControlled => by_priority(),
            _ => self.by_share(curve),
        }
    }

    /// The shares of the scheduler, and what limited neighbours leave.
    fn by_share(&self, curve: &Service) -> Vec<Found> {
        let node = self.members.node_of(self.number);
        let all = Sum::of(self.tree, self.children, 0..self.children.len());
        let waits = self.tree.waits_for_periods(self.node);
        let mut known = KnownRows::default();
        let of_child = |(position, &child): (usize, &Member)| {
            let row = || known.row(&node, position, || row(&node, curve, position));
            let share = self.share(&node, row, position);
            if waits {
                return self.found(child, vec![share]);
            }
            let left = all.without(position, self.tree.ceiling(child));
            let left = left.map_err(|other| self.tree.nothing_limits(self.children[other]));
            self.found(child, vec![share, left.and_then(|others| self.left_beside(curve, others, &print_others(curve)))])
        };
        self.children.iter().enumerate().map(of_child).collect()
    }

    /// What the row of a child offers.
    fn share(&self, node: &Node, row: impl FnOnce() -> Row, position: usize) -> Offered {
        let kind = self.kind();
        let given = self.tree.given(self.children[position]);
        let fixed = match kind {
            SchedulerKind::Fifo => Some("fifo serves in the order of arrival"),
            SchedulerKind::EarliestDeadlineFirst => Some("edf serves by deadlines, not by rates"),
            SchedulerKind::IntegratedServices if matches!(self.children[position], Member::Class(class) if self.tree.classes[class].places) => {
                Some("each call gets what admission gives it")
            }
            SchedulerKind::IntegratedServices if given.class.as_ref().is_none_or(|class| class.value == ServiceClass::BestEffort) => {
                Some("best effort gets what the other services leave")
            }
            SchedulerKind::Dwcs => self.lost_windows(position),
            _ => None,
        };
        if let Some(reason) = fixed {
            return Err(reason.to_owned());
        }
        let row = row();
        let rate = |curve: &Result<Service, NoBound>| curve.as_ref().map_or(0, Service::rate);
        let least = match (&row.guaranteed, &row.strict) {
            (Err(reason), Err(_)) if is_below_a_bit(reason) => return Err("its share is less than 1 bit/s".to_owned()),
            (Err(reason), Err(_)) => return Err(reason.to_string()),
            (guaranteed, strict) => rate(guaranteed).max(rate(strict)),
        };
        let guaranteed = row.guaranteed.as_ref().ok().filter(|_| row.guaranteed != row.strict).map(last);
        let remark = (kind == SchedulerKind::WeightedRoundRobin).then(|| {
            let weights: u64 = node.children.iter().map(|child| child.weight).sum();
            let own = given.weight.as_ref().map_or(1, |weight| weight.value);
            let factor = self.tree.common_factors[slot(self.node)];
            format!("wrr shares packets, not bytes: {} of {} packets are its own", own, weights * u64::from(factor))
        });
        Ok(Offer { rate: least, strict: row.strict.ok(), guaranteed, beside: None, remark })
    }

    /// Why a window guarantees no rate.
    fn lost_windows(&self, position: usize) -> Option<&'static str> {
        let Some(slots) = &self.tree.slots[slot(self.node)] else { return Some("its request cannot be met") };
        let place = self.tree.children[slot(self.node)].iter().position(|&child| child == self.children[position])?;
        let stream = &slots.streams[place];
        if stream.is_fixed {
            return Some("its static priority reserves nothing");
        }
        slots.keeps_rates().err().or_else(|| stream.least_service().is_none().then_some("its window tolerates every loss"))
    }

    /// The offer that limited `others` leave of a node's service, and the reason why they may leave nothing.
    fn left_beside(&self, curve: &Service, others: Ceiling, nothing: &str) -> Offered {
        let lower = if self.children.len() > 1 { bits(self.members.longest()) } else { 0 };
        let left = curve.beside(&[others.most], lower).map_err(|_| nothing.to_owned())?;
        let beside = Some((curve.clone(), others.most.rate));
        // What is limited on arrival may wait and leave together, after a time that is not computed.
        let strict = if others.at_service { left.clone() } else { Service::rate_latency(left.rate(), UNKNOWN) };
        Ok(Offer { rate: left.rate(), strict: Some(strict), guaranteed: None, beside, remark: None })
    }

    /// What those above and beside leave. Under rate-controlled service, reserved rates of lower priorities go first, too, and a member that is alone in
    /// its priority has its own.
    fn by_priority(&self, curve: &Service) -> Vec<Vec<Offered>> {
        let (tree, is_controlled) = (self.tree, self.kind() == SchedulerKind::RateControlled);
        let node = self.members.node_of(self.number);
        let levels = tree.levels(self.children);
        let reserved = |members: &[usize]| {
            let rates = members.iter().filter_map(|&position| tree.given(self.children[position]).rate.as_ref());
            rates.fold(0u64, |sum, rate| sum.saturating_add(rate.value.bits_per_second()))
        };
        let of_level: Vec<u64> = levels.values().map(|members| if is_controlled { reserved(members) } else { 0 }).collect();
        let mut below = of_level.iter().fold(0u64, |sum, rate| sum.saturating_add(*rate));
        let mut above = Sum::default();
        let mut offers = vec![Vec::new(); self.children.len()];
        for (members, &own) in levels.values().zip(&of_level) {
            below = below.saturating_sub(own);
            let level = Sum::of(tree, self.children, members.iter().copied());
            let mut first = above.clone();
            if below > 0 {
                // A few packets at once.
                let burst = 5 * bits(self.members.longest()) * levels.len() as i128;
                let most = TokenBucket { burst, rate: below };
                first.add(usize::MAX, Some(&Ceiling { most, at_service: true }));
            }
            for &position in members {
                let turns = (!is_controlled && members.len() > 1).then(|| row(&node, curve, position).strict);
                offers[position].push(self.left_by_priority(curve, (&first, &level), position, turns, is_controlled));
                if own > 0 && members.len() == 1 {
                    let rate = own.min(curve.rate());
                    let strict = Some(Service::rate_latency(rate, 0));
                    offers[position].push(Ok(Offer { rate, strict, guaranteed: None, beside: None, remark: None }));
                }
            }
            members.iter().for_each(|&position| above.add(position, tree.ceiling(self.children[position])));
        }
        offers
    }

    fn left_by_priority(
        &self,
        curve: &Service,
        (above, level): (&Sum, &Sum),
        position: usize,
        turns: Option<Result<Service, NoBound>>,
        is_controlled: bool,
    ) -> Offered {
        let whole = LeastRate::whole(curve.rate());
        let first = above.all().map_err(|other| self.tree.goes_first(self.children[other]))?;
        let Some(left) = curve.rate().checked_sub(first.most.rate).filter(|&left| left > 0) else {
            return Err(format!("those of higher priority may take all of the {whole}"));
        };
        let beside = match level.without(position, self.tree.ceiling(self.children[position])) {
            // The backlog of a higher priority is at most its burst. That of the same priority may be more, unless it is limited at service.
            Ok(others) => {
                let all = Ceiling { at_service: others.at_service, ..first.beside(others) };
                let nothing = format!("the others of its priority may take all of the {} that higher ones leave", LeastRate::whole(left));
                self.left_beside(curve, all, &nothing)
            }
            Err(other) => {
                let order = if is_controlled { RELEASES } else { TURNS };
                Err(format!("{order}, and {}", self.tree.nothing_limits(self.children[other])))
            }
        };
        match (beside, turns) {
            (Ok(offer), Some(Ok(curve))) if curve.rate() > offer.rate => {
                Ok(Offer { rate: curve.rate(), strict: Some(curve), beside: None, ..offer })
            }
            (Err(reason), Some(Ok(curve))) => {
                Ok(Offer { rate: curve.rate(), strict: Some(curve), guaranteed: None, beside: None, remark: Some(reason) })
            }
            (beside, _) => beside,
        }
    }

    /// The best of several offers, behind the member's shape and policer.
    fn found(&self, member: Member, offers: Vec<Offered>) -> Found {
        let kind = self.kind();
        let shape = self.tree.given(member).shape;
        let admitted = match member {
            Member::Class(class) => self.tree.classes[class].admits.as_ref().map(|admits| admits.rate()),
            Member::Group(_) => None,
        };
        let offered = offers.iter().filter_map(|offer| offer.as_ref().ok()).map(|offer| offer.rate).max();
        let offered = offered.map(|rate| shape.map_or(rate, |shape| rate.min(shape.rate.bits_per_second())));
        let (mut reasons, mut because, mut lack): (Vec<String>, Option<String>, Option<Lack>) = (Vec::new(), None, None);
        let mut best: Option<(Kept, Option<String>)> = None;
        for offer in offers {
            let offer = match offer {
                Ok(offer) => offer,
                Err(reason) => {
                    if !reasons.contains(&reason) {
                        reasons.push(reason);
                    }
                    continue;
                }
            };
            let remark = offer.remark.clone();
            let (kept, less) = match &shape {
                None => (Some(Kept { rate: offer.rate, strict: offer.strict }), None),
                Some(shape) if kind == SchedulerKind::RateControlled && pauses(shape) => {
                    (None, Some("its dual bucket cannot make good what rate-controlled delays in an overload".to_owned()))
                }
                Some(contract) => {
                    let shaped = Shaped { contract, longest: self.members.longest(), link: self.tree.rate.value.bits_per_second() };
                    let (kept, less) = shaped.keep(&offer);
                    lack = lack.or(less.filter(|_| kind != SchedulerKind::RateControlled));
                    (kept, less.map(|less| less.because(contract, kind.name()) + &less.remedy(contract)))
                }
            };
            because = because.or(less);
            if let Some(kept) = kept
                && best.as_ref().is_none_or(|(best, _)| is_better(&kept, best))
            {
                best = Some((kept, remark));
            }
        }
        let Some((kept, remark)) = best else {
            let reason = because.unwrap_or_else(|| reasons.join(", and "));
            return Found { member, guarantee: Guarantee::None(reason), offered, curve: Err(String::new()), lack };
        };
        let rate = admitted.map_or(kept.rate, |admitted| kept.rate.min(admitted));
        let is_less = rate == kept.rate && offered.is_some_and(|offered| kept.rate < offered);
        let remark = remark.filter(|_| rate == kept.rate && shape.is_none_or(|shape| rate < shape.rate.bits_per_second()));
        let guarantee = match because.filter(|_| is_less).or(remark) {
            Some(reason) => Guarantee::Less(LeastRate::whole(rate), reason),
            None => Guarantee::Rate(LeastRate::whole(rate)),
        };
        let curve = kept.strict.ok_or_else(|| match kind {
            SchedulerKind::VirtualClock => NoBound::Punished(kind.name()).to_string(),
            _ => format!("`{}` above serves the group at its rate from the start of a backlog, not in every interval", kind.name()),
        });
        Found { member, guarantee, offered, curve, lack: lack.filter(|_| is_less) }
    }
}

/// That others may take all of a curve.
fn print_others(curve: &Service) -> String {
    format!("the others may take all of the {}", LeastRate::whole(curve.rate()))
}

/// True if a row has no curve because its rate rounds down to nothing.
fn is_below_a_bit(reason: &NoBound) -> bool {
    Service::new(None::<RateLatency>).is_err_and(|none| none == *reason)
}

/// The piece of the highest rate.
fn last(curve: &Service) -> RateLatency {
    curve.pieces()[curve.pieces().len() - 1]
}

/// Of two, the higher rate, or else less latency.
fn is_better(one: &Kept, two: &Kept) -> bool {
    let latency = |kept: &Kept| kept.strict.as_ref().map_or(UNKNOWN + 1, Service::latency);
    (one.rate, -latency(one)) > (two.rate, -latency(two))
}
