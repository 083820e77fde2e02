//! The AQMs of a port: one or none per class, and the random numbers that they draw.

use crate::aqm::{Aqm, AqmState, Judgement};
use crate::buffer::Arrival;
use crate::classifier::{Class, Classifier};
use crate::packet::{Flow, Packet};
use crate::queue::{Numbering, Occupancy, Queues, Subset};
use crate::random::SplitMix64;
use crate::registry::AnyAqm;
use crate::scheduler::Kept;
use crate::units::Time;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The AQMs of a port by class. An engine that decides apart from the packets' port has them as well, and judges departures in its place.
#[derive(Clone, Debug)]
pub struct ClassAqms {
    /// By class; empty if no class has one.
    classes: Vec<Option<ClassAqm>>,
    /// The class of each flow; empty if there is one class.
    class_of: Arc<[u32]>,
    draws: SplitMix64,
    judges_arrivals: bool,
    judges_departures: bool,
    /// True if every packet that joins or leaves a queue counts, not only the first and the last: several classes are counted apart.
    counts: bool,
    hears_departures: bool,
    /// True if drops of a class count as served.
    charges_drops: bool,
    /// True if a class has more than [`CACHED_QUEUES`].
    is_large: bool,
    /// What was said elsewhere of the next packet whose turn comes, if departures are judged elsewhere.
    judged: Option<Judgement>,
}

/// The AQM of one class.
#[derive(Clone, Debug)]
struct ClassAqm {
    aqm: AnyAqm,
    /// The first flow of the class.
    first: u32,
    /// The number of flows of the class.
    flows: u32,
    /// What the class has queued, if there are others.
    packets: u32,
    bytes: u64,
    is_alone: bool,
    /// Twice the bytes of drops that may still count as served; `None` if drops do not.
    credit: Option<u32>,
}

/// The most that drops may count as served before packets are sent again, doubled: 64 KiB.
const MOST_CREDIT: u32 = 2 << 16;

/// The number of queues up to which a state of each stays in the cache without being fetched.
const CACHED_QUEUES: u32 = 4096;

/// The first flow of a class, at which the numbers of its AQM begin.
struct From(u32);

impl Numbering for From {
    #[inline]
    fn of(&self, flow: Flow) -> Flow {
        Flow(self.0 + flow.0)
    }
}

impl ClassAqm {
    /// That of a class, which is the only one of the port if `is_alone`, and has nothing queued.
    fn new(aqm: AnyAqm, class: &Class, is_alone: bool) -> ClassAqm {
        let credit = aqm.charges_drops().then_some(MOST_CREDIT);
        ClassAqm { aqm, first: class.first_flow.0, flows: class.queues, packets: 0, bytes: 0, is_alone, credit }
    }

    /// As much that drops may count as served as `old` has left, if they do under both.
    fn keep_credit(&mut self, old: &ClassAqm) {
        if let (Some(credit), Some(left)) = (&mut self.credit, old.credit) {
            *credit = left;
        }
    }

    #[inline]
    fn split<'a>(&'a mut self, port: &'a Occupancy) -> (&'a mut AnyAqm, Subset<'a, From>) {
        let view = self.view(port);
        (&mut self.aqm, view)
    }

    #[inline]
    fn view<'a>(&self, port: &'a Occupancy) -> Subset<'a, From> {
        let (packets, bytes) = if self.is_alone { (port.packets(), port.bytes()) } else { (self.packets, self.bytes) };
        Subset { packets, bytes, numbering: From(self.first), port }
    }

    #[inline]
    const fn local(&self, flow: Flow) -> Flow {
        Flow(flow.0 - self.first)
    }
}

impl ClassAqms {
    /// The AQMs of the classifier's classes, in their order; an empty list if no class has one. `seed` is that of the random numbers.
    ///
    /// # Panics
    /// If `aqms` is not empty and does not hold one entry per class.
    pub fn new(now: Time, aqms: Vec<Option<AnyAqm>>, seed: u64, classifier: &Classifier) -> ClassAqms {
        let mut set = ClassAqms {
            classes: Vec::new(),
            class_of: Arc::default(),
            draws: SplitMix64::new(seed),
            judges_arrivals: aqms.iter().flatten().any(Aqm::judges_arrivals),
            judges_departures: aqms.iter().flatten().any(Aqm::judges_departures),
            counts: aqms.len() > 1 && aqms.iter().any(Option::is_some),
            hears_departures: aqms.iter().flatten().any(Aqm::hears_departures),
            charges_drops: aqms.iter().flatten().any(Aqm::charges_drops),
            is_large: aqms.iter().zip(classifier.classes()).any(|(aqm, class)| aqm.is_some() && class.queues > CACHED_QUEUES),
            judged: None,
        };
        if aqms.iter().all(Option::is_none) {
            return set;
        }
        assert_eq!(aqms.len(), classifier.classes().len(), "one AQM entry per class");
        set.classes.reserve_exact(aqms.len());
        for (aqm, class) in aqms.into_iter().zip(classifier.classes()) {
            set.classes.push(aqm.map(|mut aqm| {
                aqm.start(now);
                ClassAqm::new(aqm, class, classifier.classes().len() == 1)
            }));
        }
        if set.classes.len() > 1 {
            set.class_of = classifier.classes_of_flows();
        }
        set
    }

    /// True if a class has an AQM.
    #[inline]
    pub(super) fn are_used(&self) -> bool {
        !self.classes.is_empty()
    }

    /// True if it matters that a packet has joined a queue.
    #[inline]
    pub(super) fn hear_join(&self, is_first: bool) -> bool {
        self.counts || is_first && self.are_used()
    }

    /// True if it matters that a packet has left a queue, where a class has an AQM.
    #[inline]
    pub(super) fn hear_departure(&self, is_last: bool) -> bool {
        self.counts || is_last || self.hears_departures
    }

    /// True if an AQM has something to say of arrivals.
    #[inline]
    pub(super) fn judge_arrivals(&self) -> bool {
        self.judges_arrivals
    }

    /// From now on departures are judged elsewhere, and the next one as said.
    pub(super) fn judge_next(&mut self, judgement: Judgement) {
        self.judged = Some(judgement);
    }

    /// True if an AQM has something to say of packets whose turn comes.
    #[inline]
    pub fn judge_departures(&self) -> bool {
        self.judges_departures
    }

    /// The AQM of the class of `flow`, and the random numbers.
    #[inline]
    fn of(&mut self, flow: Flow) -> Option<(&mut ClassAqm, &mut SplitMix64)> {
        let class = self.class_of.get(flow.index()).map_or(0, |&class| class as usize);
        Some((self.classes.get_mut(class)?.as_mut()?, &mut self.draws))
    }

    /// As [`Aqm::prefetch`], if a class has more state than stays in the cache.
    #[inline]
    pub(super) fn prefetch(&self, flow: Flow) {
        if self.is_large {
            let class = self.class_of.get(flow.index()).map_or(0, |&class| class as usize);
            if let Some(Some(class)) = self.classes.get(class) {
                class.aqm.prefetch(class.local(flow));
            }
        }
    }

    /// As [`Aqm::admit`].
    #[inline]
    pub(super) fn admit(&mut self, arrival: &Arrival, port: &Occupancy) -> Judgement {
        let Some((class, draws)) = self.of(arrival.flow) else { return Judgement::Pass };
        let flow = class.local(arrival.flow);
        let (aqm, view) = class.split(port);
        aqm.admit(&Arrival { flow, ..*arrival }, &view, draws)
    }

    /// As [`Aqm::depart`], of the oldest packet of `flow`.
    #[inline]
    pub fn depart(&mut self, now: Time, flow: Flow, port: &Occupancy) -> Judgement {
        if let Some(judgement) = self.judged {
            return judgement;
        }
        let Some((class, draws)) = self.of(flow) else { return Judgement::Pass };
        let Some(head) = port.oldest(flow) else { return Judgement::Pass };
        let head = Packet { flow: class.local(flow), ..head };
        let (aqm, view) = class.split(port);
        aqm.depart(now, &head, &view, draws)
    }

    /// A packet of this length has joined the queue of `flow`, as [`Aqm::joined`].
    #[inline]
    pub fn joined(&mut self, now: Time, flow: Flow, length: u32, port: &Occupancy) {
        if let Some((class, _)) = self.of(flow) {
            if !class.is_alone {
                class.packets += 1;
                class.bytes += u64::from(length);
            }
            let local = class.local(flow);
            let (aqm, view) = class.split(port);
            aqm.joined(now, local, &view);
        }
    }

    /// A packet of this length has left the queue of `flow`.
    #[inline]
    pub fn left(&mut self, now: Time, flow: Flow, length: u32, port: &Occupancy) {
        if let Some((class, _)) = self.of(flow) {
            if !class.is_alone {
                class.packets -= 1;
                class.bytes -= u64::from(length);
            }
            let local = class.local(flow);
            let (aqm, view) = class.split(port);
            aqm.left(now, local, &view);
        }
    }

    /// A packet of this length is sent from the queue of `flow`: with ingress accounting half as many bytes of drops may count as served.
    #[inline]
    pub fn sent(&mut self, flow: Flow, length: u32) {
        if self.charges_drops
            && let Some(credit) = self.of(flow).and_then(|(class, _)| class.credit.as_mut())
        {
            *credit = credit.saturating_add(length).min(MOST_CREDIT);
        }
    }

    /// True if a packet of this length, which the AQM drops at its turn, counts as served. It does so while such drops have at most a third of the
    /// service, so that packets that no drop deters are not all dropped.
    #[inline]
    pub fn charge_drop(&mut self, flow: Flow, length: u32) -> bool {
        if !self.charges_drops || fault!(IngressDropsAreFree) {
            return false;
        }
        let Some(credit) = self.of(flow).and_then(|(class, _)| class.credit.as_mut()) else { return false };
        match credit.checked_sub(length.saturating_mul(2)) {
            Some(left) => *credit = left,
            None => return fault!(IngressWithoutLimit),
        }
        true
    }

    /// As [`Aqm::pushed_out`].
    pub(super) fn pushed_out(&mut self, now: Time, flow: Flow) {
        if let Some((class, _)) = self.of(flow) {
            let local = class.local(flow);
            class.aqm.pushed_out(now, local);
        }
    }

    /// As [`Aqm::refused`].
    pub(super) fn refused(&mut self, now: Time, flow: Flow) {
        if let Some((class, _)) = self.of(flow) {
            let local = class.local(flow);
            class.aqm.refused(now, local);
        }
    }

    /// As [`Aqm::forget`].
    pub(super) fn forget(&mut self, flow: Flow) {
        if let Some((class, _)) = self.of(flow) {
            let local = class.local(flow);
            class.aqm.forget(local);
        }
    }

    /// As [`Aqm::state`]; `None` if the class has no AQM.
    pub(super) fn state(&self, now: Time, flow: Flow, port: &Occupancy) -> Option<AqmState> {
        let class = self.class_of.get(flow.index()).map_or(0, |&class| class as usize);
        let class = self.classes.get(class)?.as_ref()?;
        Some(class.aqm.state(now, class.local(flow), &class.view(port)))
    }

    /// As [`Aqm::refresh`].
    pub fn refresh(&mut self, now: Time) {
        self.classes.iter_mut().flatten().for_each(|class| class.aqm.refresh(now));
    }

    /// Continues where `old` was: its random numbers, and the AQM of each class that continues. `classes` names the old class of each new one. The
    /// port holds what it held there of the flows in `kept`, which come in the order of their new places.
    pub(super) fn adopt(&mut self, now: Time, old: &ClassAqms, classes: &[Option<usize>], kept: &[Kept], port: &Occupancy) {
        if old.are_used() {
            self.draws = old.draws.clone();
        }
        // Classes come in the order of their places, as the flows do.
        let (mut rest, mut stay) = (kept, Vec::new());
        for (class, from) in self.classes.iter_mut().zip(classes) {
            let Some(class) = class else { continue };
            class.aqm.start(now);
            let mut split = |place: u32| {
                let before = rest.iter().position(|flow| flow.to.0 >= place).unwrap_or(rest.len());
                let (before, after) = rest.split_at(before);
                rest = after;
                before
            };
            split(class.first);
            let of_class = split(class.first + class.flows);
            for Kept { to, .. } in of_class {
                class.packets += port.flow_packets(*to);
                class.bytes += u64::from(port.flow_bytes(*to));
            }
            let Some(old) = from.and_then(|from| old.classes.get(from)?.as_ref()) else { continue };
            class.keep_credit(old);
            if old.aqm.is_fresh() {
                continue;
            }
            stay.clear();
            stay.extend(of_class.iter().map(|flow| Kept { from: old.local(flow.from), to: class.local(flow.to), head: flow.head }));
            class.aqm.adopt(now, &old.aqm, &stay);
        }
    }

    /// Puts another AQM, or none, in the place of that of one class, whose number and flows `place` names. Returns the one that was there. `queues` are
    /// those of the port. Some class has an AQM.
    pub(super) fn replace<P>(
        &mut self,
        now: Time,
        (index, of): (usize, &Class),
        aqm: Option<AnyAqm>,
        queues: &Queues<P>,
    ) -> Option<AnyAqm> {
        let old = self.classes[index].take();
        if let Some(mut aqm) = aqm {
            self.judges_arrivals |= aqm.judges_arrivals();
            self.judges_departures |= aqm.judges_departures();
            self.hears_departures |= aqm.hears_departures();
            self.charges_drops |= aqm.charges_drops();
            self.is_large |= of.queues > CACHED_QUEUES;
            aqm.start(now);
            let mut class = ClassAqm::new(aqm, of, self.classes.len() == 1);
            let flows = || (of.first_flow.0..of.first_flow.0 + of.queues).map(Flow);
            class.packets = flows().map(|flow| queues.occupancy().flow_packets(flow)).sum();
            class.bytes = flows().map(|flow| u64::from(queues.occupancy().flow_bytes(flow))).sum();
            if let Some(old) = &old {
                class.keep_credit(old);
                let stay: Vec<Kept> =
                    flows().map(|flow| Kept { from: class.local(flow), to: class.local(flow), head: queues.head(flow) }).collect();
                class.aqm.adopt(now, &old.aqm, &stay);
            }
            self.classes[index] = Some(class);
        }
        old.map(|old| old.aqm)
    }
}
