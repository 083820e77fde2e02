//! The output port of an integrated services node: guaranteed service and controlled load in shaped virtual clocks, and below them in turns
//! what is out of profile and best effort.
//!
//! When the link is free:
//! 1. of the guaranteed heads that are eligible, the one with the smallest virtual finish leaves unmarked; 2. else of those of controlled load;
//! 3. else a weighted round robin chooses between two deficit round robins: heads that are not eligible yet leave marked, and best effort
//!    leaves as it came.
//!
//! **Law**: flow `i` has the rate `r_i`, the tolerance `tau_i` and the longest packet `L_i`; `C` is the link's rate and `L` the longest
//! packet. The rates of both classes sum up to at most `C`.
//! 1. A guaranteed packet in profile has left the link by its virtual finish plus `L / C`, whatever any other flow sends.
//! 2. In any time `t` heads of at most `L_i + r_i (t + tau_i)` of a flow become eligible. So in a time that begins while no guaranteed head is
//!    eligible, guaranteed service leaves controlled load all but `sum (L_i + r_i tau_i) + t sum r_i`.
//! 3. A packet leaves marked only if it leaves in step 3. The packets of a flow leave in order: it has one queue.
//! 4. With both weights above 0 the link is never idle while a flow is backlogged.
//! 5. While both sides of step 3 wait, they send packets in the proportion of their weights, smoothly.
//!
//! **Source**: Wu, Hou, Zhang, Chao and Hamada, "A per-flow based node architecture for integrated services packet networks", figures 1 and
//! 2, equation 1. The deficit round robin is that of Shreedhar and Varghese, IEEE/ACM ToN 4(3), 1996.
//!
//! **State**: 80 bytes per flow, and 44 in the queues of the [`Calendar`]; 40 more for the profile if marks follow it.
//!
//! **Cost**: O(1) amortised, and O(log e) with e heads eligible. No division.
//!
//! **RTL twin**: none yet.
//!
//! **Deviations**: a packet out of profile is not charged ([`OutOfProfile::Refund`]); charged as in the paper, a flow that used idle capacity
//! starves afterwards. Heads keep their lateness ([`Stamping::Keep`](super::Stamping::Keep)). A head that was pushed out gives its virtual start
//! to the next; the paper is silent on it. A flow whose turn was interrupted, because its head became eligible or was pushed out, loses the rest
//! of the turn. Ties leave in the order of flows.

use super::eligible_heads::Stamp;
use super::shaped_clock::{Reservation, ShapedClock};
use super::{
    BuildError, Calendar, Decision, EligibleList, FlowParameters, IntServOptions, Kept, Marks, OutOfProfile, Parameter, Scheduler,
    Scheduling, ServiceClass, Setup,
};
use crate::algorithm::Algorithm;
use crate::packet::{Colour, Flow, Head};
use crate::prefetch::prefetch_in;
use crate::units::{SERIAL_HORIZON, Time};
use alloc::vec;
use alloc::vec::Vec;
use profile::Bucket;
use turns::{Ring, Turns};

mod profile;
#[cfg(test)]
mod tests;
mod turns;

/// A port for integrated services.
///
/// A flow of controlled load sends at twice its rate on an idle link: every second packet leaves marked.
///
/// ```
/// use tidegate_core::packet::{Colour, Flow, Head};
/// use tidegate_core::scheduler::{Decision, FlowParameters, IntegratedServices, Scheduler, ServiceClass, Setup};
/// use tidegate_core::units::{Rate, Time};
/// let setup = Setup::new(Rate::new(10_000_000).unwrap(), 1500);
/// let class = Some(ServiceClass::ControlledLoad);
/// let flow = FlowParameters { class, rate: Some(Rate::new(1_000_000).unwrap()), ..FlowParameters::default() };
/// let mut port: IntegratedServices = setup.build(&[flow]).unwrap();
/// for (number, colour) in [Colour::Green, Colour::Yellow, Colour::Green].into_iter().enumerate() {
///     let now = Time::from_nanoseconds(500_000 * number as u64);
///     port.activate(now, Flow(0), Head { length: 125, number: number as u32, arrival: now, colour: Colour::Green });
///     assert_eq!(port.select(now), Decision::ServeAs(Flow(0), colour));
///     port.served(now, Flow(0), None);
/// }
/// ```
#[derive(Clone, Debug)]
pub struct IntegratedServices<E = Calendar> {
    setup: Setup,
    clocks: Vec<ShapedClock>,
    /// The heads of guaranteed service and controlled load.
    heads: E,
    turns: Turns,
    /// The flows of both classes whose head was not eligible when it was filed.
    out_of_profile: Ring,
    best_effort: Ring,
    /// The credit of packets out of profile, less than the sum of both weights.
    credit: u32,
    selected: Selected,
    /// The declared traffic of all flows, if marks follow it.
    profiles: Vec<Bucket>,
}

/// The step that the last selection took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Selected {
    InProfile,
    OutOfProfile { both_wait: bool },
    BestEffort { both_wait: bool },
}

/// Where a flow is: [`ShapedClock::place`].
mod place {
    /// In no list.
    pub(super) const NOWHERE: u8 = 0;
    /// It has no head, but is still in the list of heads, where its last one was.
    pub(super) const DORMANT: u8 = 1;
    /// Among the heads of the shaped virtual clocks only.
    pub(super) const CLOCKED: u8 = 2;
    /// There and among those out of profile.
    pub(super) const BOTH: u8 = 3;
    /// Among best effort.
    pub(super) const BEST_EFFORT: u8 = 4;
}

#[inline]
fn stamp_of(clock: &ShapedClock) -> Stamp {
    Stamp { eligible: clock.eligible(), finish: clock.finish(), class: clock.head_class as u32 }
}

fn class_of(given: &FlowParameters) -> ServiceClass {
    given.class.unwrap_or_default()
}

/// The bucket of a flow, which best effort has no use for.
fn bucket_of(flow: Flow, given: &FlowParameters) -> Result<Bucket, BuildError> {
    if class_of(given) == ServiceClass::BestEffort { Ok(Bucket::NONE) } else { Bucket::of(flow, given) }
}

impl<E: EligibleList> IntegratedServices<E> {
    #[inline]
    fn options(&self) -> &IntServOptions {
        &self.setup.intserv
    }

    /// The weights of packets out of profile and of best effort.
    #[inline]
    fn weights(&self) -> (u32, u32) {
        let weights = (self.options().out_of_profile_weight, self.options().best_effort_weight);
        if fault!(IntservSwapsWeights) {
            return (weights.1, weights.0);
        }
        if fault!(IntservIgnoresWeights) { (1, 1) } else { weights }
    }

    /// Files the head of a flow that is in no list.
    #[inline]
    fn file(&mut self, now: Time, flow: Flow, head: Head, begins_busy_period: bool) {
        let stamping = self.setup.intserv.stamp;
        let clock = &mut self.clocks[flow.index()];
        clock.is_changed = false;
        if clock.class == ServiceClass::BestEffort {
            (clock.place, clock.head_class, clock.length) = (place::BEST_EFFORT, clock.class, head.length);
            return self.best_effort.join(&mut self.turns, flow);
        }
        let (was_dormant, before) = (clock.place == place::DORMANT, stamp_of(clock));
        clock.stamp(now, head.length, begins_busy_period, stamping);
        clock.place = place::CLOCKED;
        let stamp = stamp_of(clock);
        if !was_dormant {
            self.heads.insert(now, flow, stamp);
        } else if stamp.eligible != before.eligible {
            self.heads.remove(flow, before);
            self.heads.insert(now, flow, stamp);
        }
        self.join_if_early(now, flow);
    }

    /// Lets a flow take turns out of profile if its head, which has just been filed, is not eligible.
    #[inline]
    fn join_if_early(&mut self, now: Time, flow: Flow) {
        let clock = &mut self.clocks[flow.index()];
        if clock.eligible().is_after(now) && self.setup.intserv.out_of_profile_weight > 0 {
            clock.place = place::BOTH;
            self.out_of_profile.join(&mut self.turns, flow);
        }
    }

    /// Takes a flow, whose head was filed under this stamp, out of all lists.
    #[inline]
    fn leave(&mut self, flow: Flow, stamp: Stamp) {
        let place = core::mem::replace(&mut self.clocks[flow.index()].place, place::NOWHERE);
        if place == place::BEST_EFFORT {
            return self.best_effort.leave(&mut self.turns, flow);
        }
        if place == place::BOTH {
            self.out_of_profile.leave(&mut self.turns, flow);
        }
        self.heads.remove(flow, stamp);
    }

    /// The next head of a flow whose head is gone without being charged: it starts when that one did, and the flow keeps its place and the rest
    /// of its turn.
    #[inline]
    fn inherit(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        let stamping = self.setup.intserv.stamp;
        let clock = &mut self.clocks[flow.index()];
        let is_clocked = clock.place != place::BEST_EFFORT;
        let old = stamp_of(clock);
        match next {
            Some(head) if !clock.is_changed => {
                if is_clocked {
                    clock.replace(now, head.length, stamping);
                    self.heads.replace(flow, old, stamp_of(clock));
                }
                clock.length = head.length;
            }
            _ => {
                if is_clocked {
                    clock.refund();
                }
                self.refile(now, flow, old, next);
            }
        }
    }

    /// A flow has sent its only packet, out of profile. Its next head is likely to be eligible from the same instant on.
    #[inline]
    fn make_dormant(&mut self, flow: Flow) {
        let clock = &mut self.clocks[flow.index()];
        let stamp = stamp_of(clock);
        clock.refund();
        self.out_of_profile.leave(&mut self.turns, flow);
        clock.place = if self.heads.make_dormant(flow, stamp) { place::DORMANT } else { place::NOWHERE };
        if clock.is_changed {
            self.end_dormancy(flow);
        }
    }

    /// Takes a flow that may be dormant out of the list of heads.
    fn end_dormancy(&mut self, flow: Flow) {
        let clock = &mut self.clocks[flow.index()];
        if clock.place == place::DORMANT {
            clock.place = place::NOWHERE;
            let stamp = stamp_of(clock);
            self.heads.remove(flow, stamp);
        }
    }

    /// Takes a flow out of all lists and files its next head, if it has one.
    fn refile(&mut self, now: Time, flow: Flow, old: Stamp, next: Option<Head>) {
        self.leave(flow, old);
        if let Some(head) = next {
            self.file(now, flow, head, false);
        }
    }

    /// The colour of a packet that leaves before its virtual start.
    #[inline]
    fn early_colour(&self, now: Time, flow: Flow) -> Colour {
        let is_declared = match self.profiles.get(flow.index()) {
            Some(bucket) => bucket.covers(now, self.clocks[flow.index()].length),
            None => false,
        };
        if is_declared || fault!(IntservWithoutMarks) { Colour::Green } else { Colour::Yellow }
    }

    /// Accounts for the choice between the two rings.
    #[inline]
    fn settle_credit(&mut self, out_of_profile: bool, both_wait: bool) {
        let (one, other) = self.weights();
        if both_wait {
            self.credit = if out_of_profile { self.credit - other } else { self.credit + one };
        } else if fault!(IntservSavesCredit) && !out_of_profile {
            self.credit = self.credit.saturating_add(one);
        }
    }
}

impl<E: EligibleList> Scheduler for IntegratedServices<E> {
    fn start(&mut self, now: Time) {
        self.clocks.iter_mut().for_each(|clock| clock.reset(now));
        self.profiles.iter_mut().for_each(|bucket| bucket.reset(now));
    }

    #[inline]
    fn activate(&mut self, now: Time, flow: Flow, head: Head) {
        self.file(now, flow, head, true);
    }

    #[inline]
    fn select(&mut self, now: Time) -> Decision {
        let (clocks, turns) = (&mut self.clocks, &self.turns);
        let stamp = |flow: Flow, ahead: Option<Flow>| {
            if let Some(ahead) = ahead {
                prefetch_in(clocks, ahead.index());
                turns.prefetch(ahead);
            }
            let clock = &mut clocks[flow.index()];
            if clock.place == place::DORMANT {
                clock.place = place::NOWHERE;
                return None;
            }
            Some(stamp_of(clock))
        };
        if let Some(flow) = self.heads.first(now, stamp) {
            self.selected = Selected::InProfile;
            if fault!(IntservKeepsMarks) {
                return Decision::Serve(flow);
            }
            return Decision::ServeAs(flow, Colour::Green);
        }
        // A ring that is not asked keeps the turn under way.
        let both_wait = !self.out_of_profile.is_empty() && !self.best_effort.is_empty();
        let (_, other) = self.weights();
        if !self.out_of_profile.is_empty()
            && (!both_wait || self.credit >= other)
            && let Some(flow) = self.out_of_profile.settle(&mut self.turns, &self.clocks)
        {
            let clock = &self.clocks[flow.index()];
            // A tolerance that was changed holds from the next head on: this one is filed under the one before.
            debug_assert!(clock.is_changed || clock.eligible().is_after(now), "the shaped virtual clocks missed an eligible head");
            self.selected = Selected::OutOfProfile { both_wait };
            return Decision::ServeAs(flow, self.early_colour(now, flow));
        }
        match self.best_effort.settle(&mut self.turns, &self.clocks) {
            Some(flow) => {
                self.selected = Selected::BestEffort { both_wait };
                Decision::Serve(flow)
            }
            // Every head that waits takes turns, so none is left.
            None if self.setup.intserv.out_of_profile_weight > 0 => Decision::Idle,
            None => self.heads.earliest().map_or(Decision::Idle, Decision::WaitUntil),
        }
    }

    #[inline]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        let selected = self.selected;
        if let (Selected::InProfile | Selected::OutOfProfile { .. }, Some(bucket)) = (selected, self.profiles.get_mut(flow.index())) {
            bucket.charge(now, self.clocks[flow.index()].length);
        }
        match selected {
            Selected::InProfile => {
                let clock = &mut self.clocks[flow.index()];
                if core::mem::replace(&mut clock.place, place::NOWHERE) == place::BOTH {
                    self.out_of_profile.leave(&mut self.turns, flow);
                }
                self.heads.drop_first(flow);
                if let Some(head) = next {
                    self.file(now, flow, head, false);
                }
            }
            Selected::OutOfProfile { both_wait } => {
                self.settle_credit(true, both_wait);
                self.out_of_profile.charge(&mut self.turns, flow, self.clocks[flow.index()].length);
                if self.setup.intserv.out_of_profile == OutOfProfile::Refund && !fault!(IntservCharges) {
                    return if next.is_some() { self.inherit(now, flow, next) } else { self.make_dormant(flow) };
                }
                self.charge_early(now, flow, next);
            }
            Selected::BestEffort { both_wait } => {
                self.settle_credit(false, both_wait);
                self.best_effort.charge(&mut self.turns, flow, self.clocks[flow.index()].length);
                self.inherit(now, flow, next);
            }
        }
    }

    #[inline]
    fn lost(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.inherit(now, flow, next);
    }

    fn change(&mut self, _now: Time, flow: Flow, given: &FlowParameters) -> Result<(), BuildError> {
        let (reservation, _) = Reservation::of(&self.setup, flow, given, class_of(given))?;
        if let Some(bucket) = self.profiles.get_mut(flow.index()) {
            let old = core::mem::replace(bucket, bucket_of(flow, given)?);
            bucket.continue_from(&old);
        }
        self.end_dormancy(flow);
        self.clocks[flow.index()].change(reservation);
        Ok(())
    }

    fn forget(&mut self, now: Time, flow: Flow) {
        self.end_dormancy(flow);
        self.clocks[flow.index()].reset(now);
        if let Some(bucket) = self.profiles.get_mut(flow.index()) {
            bucket.reset(now);
        }
    }

    fn adopt(&mut self, now: Time, old: &mut Self, kept: &[Kept]) {
        let (one, other) = self.weights();
        self.credit = old.credit.min(one + other - 1);
        let mut kept_from = vec![None; old.clocks.len()];
        for item in kept {
            kept_from[item.from.index()] = Some(*item);
            let clock = &mut self.clocks[item.to.index()];
            clock.continue_from(&old.clocks[item.from.index()]);
            if let (Some(bucket), Some(old)) = (self.profiles.get_mut(item.to.index()), old.profiles.get(item.from.index())) {
                bucket.continue_from(old);
            }
        }
        // Rings first, in their order; then what is in no ring.
        let rings = old.out_of_profile.in_order(&old.turns).chain(old.best_effort.in_order(&old.turns));
        let ringless = kept.iter().filter(|item| old.clocks[item.from.index()].place < place::BOTH).map(|item| (item.from, 0));
        for (from, deficit) in rings.chain(ringless) {
            let Some(Kept { to, head: Some(head), .. }) = kept_from[from.index()] else { continue };
            let (was, clock) = (old.clocks[from.index()].place, &mut self.clocks[to.index()]);
            let was_clocked = was == place::CLOCKED || was == place::BOTH;
            if !was_clocked || clock.class == ServiceClass::BestEffort {
                self.file(now, to, head, true);
            } else {
                clock.place = place::CLOCKED;
                let stamp = stamp_of(clock);
                self.heads.insert(now, to, stamp);
                self.join_if_early(now, to);
            }
            if was >= place::BOTH {
                self.turns.set_deficit(to, deficit);
            }
        }
    }

    #[inline]
    fn prefetch_hint(&mut self) -> Option<Flow> {
        if self.selected == Selected::InProfile {
            return self.heads.hint();
        }
        let hint = self.turns.hint();
        prefetch_in(&self.clocks, hint.index());
        Some(hint)
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        prefetch_in(&self.clocks, flow.index());
        self.turns.prefetch(flow);
    }

    fn refresh(&mut self, now: Time) {
        let oldest = now - SERIAL_HORIZON;
        self.clocks.iter_mut().for_each(|clock| clock.raise(oldest));
        self.profiles.iter_mut().for_each(|bucket| bucket.raise(oldest));
        self.heads.raise(oldest);
    }
}

impl<E: EligibleList> IntegratedServices<E> {
    /// The head of `flow`, which was sent before its virtual start, is charged like any other: the next starts later, and the flow keeps its
    /// place and the rest of its turn.
    fn charge_early(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        let stamping = self.setup.intserv.stamp;
        let clock = &mut self.clocks[flow.index()];
        let old = stamp_of(clock);
        match next {
            Some(head) if clock.class != ServiceClass::BestEffort => {
                clock.stamp(now, head.length, false, stamping);
                clock.is_changed = false;
                let stamp = stamp_of(clock);
                self.heads.remove(flow, old);
                self.heads.insert(now, flow, stamp);
            }
            _ => self.refile(now, flow, old, next),
        }
    }
}

impl<E: EligibleList> Algorithm<Scheduling> for IntegratedServices<E> {
    const NAME: &'static str = "intserv";
    const SUMMARY: &'static str = "guaranteed service, controlled load and best effort; a flow gets its rate, and more only marked";
    const ACCEPTS: &'static [Parameter] = &[Parameter::Class, Parameter::Rate, Parameter::Tolerance, Parameter::Profile];

    fn build((setup, flows): (&Setup, &[FlowParameters])) -> Result<Self, BuildError> {
        let wrong = |problem| BuildError { flow: None, parameter: Parameter::Weight, problem };
        if setup.intserv.best_effort_weight == 0 {
            return Err(wrong("with a weight of 0 best effort would never be served beside packets out of profile; at least 1 is right"));
        }
        let weights = [setup.intserv.best_effort_weight, setup.intserv.out_of_profile_weight];
        if weights.iter().any(|&weight| weight > MAXIMUM_WEIGHT) {
            return Err(wrong("a weight of the round robin is at most 2^30"));
        }
        let places = setup.places(flows);
        let mut clocks = Vec::with_capacity(places);
        Reservation::of_all(setup, flows, class_of, |reservation| clocks.push(ShapedClock::new(reservation)))?;
        clocks.extend(vec![ShapedClock::VACANT; places - flows.len()]);
        let mut profiles = Vec::new();
        if setup.intserv.marks == Marks::Profile {
            for (index, given) in flows.iter().enumerate() {
                profiles.push(bucket_of(Flow(index as u32), given)?);
            }
            profiles.resize(places, Bucket::NONE);
        }
        Ok(IntegratedServices {
            setup: *setup,
            clocks,
            heads: E::new(places),
            turns: Turns::new(places, setup.longest_packet.max(1)),
            out_of_profile: Ring::EMPTY,
            best_effort: Ring::EMPTY,
            credit: 0,
            selected: Selected::InProfile,
            profiles,
        })
    }
}

/// The largest weight of the round robin.
const MAXIMUM_WEIGHT: u32 = 1 << 30;
