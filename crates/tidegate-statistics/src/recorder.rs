//! The recorder of one port.

use crate::{Delays, Histogram, RecentDelays, Timeline};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};
use tidegate_core::classifier::Classifier;
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Flow, Packet};
use tidegate_core::port::Volume;
use tidegate_core::queue::Occupancy;
use tidegate_core::units::{Duration, PICOSECONDS_PER_SECOND, Time};

/// Bins of a time line start at a millisecond and widen with the run.
const FIRST_BIN: u64 = PICOSECONDS_PER_SECOND / 1000;

/// The classes that are recorded in full detail: the first that packets come for. Each takes up to 40 kB.
const DETAILED_CLASSES: usize = 4096;
/// The classes whose time line has all its bins, and the fewest bins.
const LONG_TIMELINES: usize = 1024;
const FEWEST_BINS: usize = 64;

/// What happened to one class of a port. It takes 24 bytes until the first packet comes.
#[derive(Clone, Debug)]
pub struct ClassRecord {
    /// The operator's name for it.
    pub name: Arc<str>,
    course: Option<Box<ClassCourse>>,
}

/// What happened to a class that packets have come for.
#[derive(Clone, Debug)]
pub struct ClassCourse {
    /// Everything offered.
    pub offered: Volume,
    /// Everything sent.
    pub sent: Volume,
    /// Everything whose colour the policer changed.
    pub marked: Volume,
    /// Everything whose ECN code point the class's AQM changed to CE.
    pub ce_marked: Volume,
    /// Everything dropped, in the order of [`DropReason::ALL`].
    pub dropped: [Volume; DropReason::ALL.len()],
    /// From arrival to the last bit sent.
    pub delays: Delays,
    /// The same of the last second and the last minute, once a packet was sent, if the recorder keeps them.
    pub recent: Option<Box<RecentDelays>>,
    /// From arrival to the first bit sent: how long packets that were sent had been queued.
    pub sojourns: Histogram,
    /// Bytes sent over time.
    pub sent_bytes: Timeline,
    is_coarse: bool,
}

/// The course of a class for which no packet has come.
static NOTHING: LazyLock<ClassCourse> = LazyLock::new(|| ClassCourse::new(0));

impl Deref for ClassRecord {
    type Target = ClassCourse;

    fn deref(&self) -> &ClassCourse {
        self.course.as_deref().unwrap_or(&NOTHING)
    }
}

impl ClassRecord {
    fn new(name: Arc<str>) -> ClassRecord {
        ClassRecord { name, course: None }
    }

    /// The course, which begins if it has not; `active` counts the classes that have one.
    #[inline]
    fn course(&mut self, active: &mut usize) -> &mut ClassCourse {
        self.course.get_or_insert_with(|| {
            *active += 1;
            Box::new(ClassCourse::new(*active - 1))
        })
    }
}

impl ClassCourse {
    /// That of a class for which packets come when this many others have one.
    #[cold]
    fn new(others: usize) -> ClassCourse {
        let is_coarse = others >= DETAILED_CLASSES;
        // Half as many bins for each doubling of the classes.
        let doublings = (others / LONG_TIMELINES).checked_ilog2().map_or(0, |log| log + 1);
        let bins = (Timeline::BINS >> doublings.min(usize::BITS - 1)).max(FEWEST_BINS);
        ClassCourse {
            offered: Volume::default(),
            sent: Volume::default(),
            marked: Volume::default(),
            ce_marked: Volume::default(),
            dropped: Default::default(),
            delays: if is_coarse { Delays::coarse() } else { Delays::default() },
            recent: None,
            sojourns: if is_coarse { Histogram::coarse() } else { Histogram::default() },
            sent_bytes: Timeline::sum(FIRST_BIN).with_bins(bins),
            is_coarse,
        }
    }

    /// Adds what happened to the class at another port.
    fn merge(&mut self, other: ClassCourse) {
        let ClassCourse { offered, sent, marked, ce_marked, dropped, delays, sojourns, sent_bytes, .. } = other;
        self.offered += offered;
        self.sent += sent;
        self.marked += marked;
        self.ce_marked += ce_marked;
        self.dropped.iter_mut().zip(dropped).for_each(|(sum, dropped)| *sum += dropped);
        self.delays.merge(&delays);
        self.sojourns.merge(&sojourns);
        self.sent_bytes.plus(sent_bytes);
    }

    /// Everything dropped, whatever the reason.
    pub fn dropped_in_all(&self) -> Volume {
        self.dropped.into_iter().sum()
    }

    /// What is still queued.
    pub fn queued(&self) -> Volume {
        self.offered - self.sent - self.dropped_in_all()
    }

    /// The delays of a packet that was sent in this second.
    fn record_recent(&mut self, second: u64, delay: Duration) {
        let is_coarse = self.is_coarse;
        let recent = self.recent.get_or_insert_with(|| Box::new(if is_coarse { RecentDelays::coarse() } else { RecentDelays::default() }));
        recent.record(second, delay);
    }
}

/// The classes of the policy that a port switches to, as its recorder numbers them. They can be prepared away from the packets.
#[derive(Debug)]
pub struct ExpectedClasses {
    /// The number of classes that the recorder has.
    known: usize,
    added: Vec<ClassRecord>,
    class_of: Arc<[u32]>,
}

impl ExpectedClasses {
    /// The classes of `classifier`, for a recorder that has classes of these names, in its order.
    pub fn new<'a>(names: impl Iterator<Item = &'a str>, classifier: &Classifier) -> ExpectedClasses {
        let numbers: HashMap<&str, u32> = names.zip(0..).collect();
        let known = numbers.len();
        let mut added = Vec::new();
        let mut number = |name: &Arc<str>| {
            numbers.get(&**name).copied().unwrap_or_else(|| {
                added.push(ClassRecord::new(name.clone()));
                (known + added.len() - 1) as u32
            })
        };
        let of_class: Vec<u32> = classifier.classes().iter().map(|class| number(&class.name)).collect();
        let classes_of_flows = classifier.classes_of_flows();
        // Without changes the numbers are those of the policy, whose table serves both.
        let is_same = of_class.iter().zip(0..).all(|(&number, index)| number == index);
        let class_of = if is_same { classes_of_flows } else { classes_of_flows.iter().map(|&class| of_class[class as usize]).collect() };
        ExpectedClasses { known, added, class_of }
    }

    /// The names of those that the recorder has not had before.
    pub fn added(&self) -> impl Iterator<Item = &str> {
        self.added.iter().map(|class| &*class.name)
    }
}

/// Records what happens at one port, per class. An observer: it never influences the port.
#[derive(Clone, Debug)]
pub struct PortRecorder {
    class_of: Arc<[u32]>,
    /// The classes of the flows of the policy that comes next, while the port switches to it.
    next_class_of: Arc<[u32]>,
    classes: Vec<ClassRecord>,
    /// The number of classes that packets have come for.
    active: usize,
    drops: [Timeline; DropReason::ALL.len()],
    occupancy: Timeline,
    occupancy_integral: f64,
    occupancy_maximum: u64,
    occupancy_now: u64,
    busy: u128,
    clock: Time,
    elapsed: u128,
    keeps_recent: bool,
    /// The number of whole seconds that have been recorded, and the end of the current one in picoseconds.
    second: u64,
    next_second: u128,
}

impl PortRecorder {
    /// A recorder for the port with this classifier, whose record starts at `start`.
    pub fn new(start: Time, classifier: &Classifier) -> PortRecorder {
        let mut recorder = PortRecorder {
            class_of: Arc::default(),
            next_class_of: Arc::default(),
            classes: Vec::new(),
            active: 0,
            drops: std::array::from_fn(|_| Timeline::sum(FIRST_BIN)),
            occupancy: Timeline::maximum(FIRST_BIN),
            occupancy_integral: 0.0,
            occupancy_maximum: 0,
            occupancy_now: 0,
            busy: 0,
            clock: start,
            elapsed: 0,
            keeps_recent: false,
            second: 0,
            next_second: u128::from(PICOSECONDS_PER_SECOND),
        };
        recorder.expect(classifier);
        recorder.switched();
        recorder
    }

    /// Keeps the delays of the last second and minute of each class, too.
    #[must_use]
    pub fn with_recent_delays(mut self) -> PortRecorder {
        self.keeps_recent = true;
        self
    }

    /// The number of whole seconds recorded so far, by which [`ClassCourse::recent`] counts.
    pub fn second(&self) -> u64 {
        self.second
    }

    /// The index of the class of a flow among [`PortRecorder::classes`].
    #[inline]
    pub fn class_of(&self, flow: Flow) -> u32 {
        self.class_of[flow.index()]
    }

    /// Prepares for a switch of the port to a policy with this classifier ([`Port::switch`](tidegate_core::port::Port::switch)). Classes of the same
    /// name continue.
    pub fn expect(&mut self, classifier: &Classifier) {
        let expected = ExpectedClasses::new(self.classes.iter().map(|class| &*class.name), classifier);
        self.expect_classes(expected);
    }

    /// The same with what has been prepared elsewhere. Returns false, and does nothing, if the recorder has got other classes since.
    pub fn expect_classes(&mut self, expected: ExpectedClasses) -> bool {
        let ExpectedClasses { known, mut added, class_of } = expected;
        if known != self.classes.len() {
            return false;
        }
        self.classes.append(&mut added);
        self.next_class_of = class_of;
        true
    }

    /// The port has switched to the policy that was expected.
    pub fn switched(&mut self) {
        self.class_of = std::mem::take(&mut self.next_class_of);
    }

    /// The number of classes that are recorded in less detail, because packets came for 4,096 others before: their quantiles err by up to 6.3 % (25 % those
    /// of the last second and minute), and their time lines have at least 64 bins.
    pub fn coarse_classes(&self) -> usize {
        self.active.saturating_sub(DETAILED_CLASSES)
    }

    /// The record of every class, in the order of the policy; those that came later follow.
    pub fn classes(&self) -> &[ClassRecord] {
        &self.classes
    }

    /// Goes on where another record stood: the class of this name had these volumes, offered, sent, marked, marked CE, and dropped by reason. It is
    /// looked for from `likely` on. Returns its index.
    pub fn continue_class(&mut self, likely: usize, name: &str, volumes: [Volume; 4 + DropReason::ALL.len()]) -> usize {
        let likely = likely.min(self.classes.len());
        let found = |classes: &[ClassRecord]| classes.iter().position(|class| *class.name == *name);
        let at =
            found(&self.classes[likely..]).map(|ahead| likely + ahead).or_else(|| found(&self.classes[..likely])).unwrap_or_else(|| {
                self.classes.push(ClassRecord::new(name.into()));
                self.classes.len() - 1
            });
        let course = self.classes[at].course(&mut self.active);
        [course.offered, course.sent, course.marked, course.ce_marked] = [volumes[0], volumes[1], volumes[2], volumes[3]];
        course.dropped.copy_from_slice(&volumes[4..]);
        at
    }

    /// Adds the record of another port of the same policy on the same link, which has other classes. Occupancies add up: the sum of maxima is the most that
    /// both can have held at once.
    pub fn merge(&mut self, other: PortRecorder) {
        for (class, other) in self.classes.iter_mut().zip(other.classes) {
            let Some(theirs) = other.course else { continue };
            match &mut class.course {
                None => {
                    self.active += 1;
                    class.course = Some(theirs);
                }
                Some(own) => own.merge(*theirs),
            }
        }
        self.drops.iter_mut().zip(other.drops).for_each(|(own, theirs)| own.plus(theirs));
        self.occupancy.plus(other.occupancy);
        self.occupancy_integral += other.occupancy_integral;
        self.occupancy_maximum += other.occupancy_maximum;
        self.occupancy_now += other.occupancy_now;
        self.busy += other.busy;
        self.elapsed = self.elapsed.max(other.elapsed);
    }

    /// The link was transmitting for this long, in picoseconds, whatever was recorded.
    pub fn set_busy(&mut self, busy: u128) {
        self.busy = busy;
    }

    /// Packets dropped over time for a reason.
    pub fn drops(&self, reason: DropReason) -> &Timeline {
        &self.drops[reason as usize]
    }

    /// The largest number of queued bytes over time.
    pub fn occupancy(&self) -> &Timeline {
        &self.occupancy
    }

    /// The largest number of queued bytes.
    pub fn occupancy_maximum(&self) -> u64 {
        self.occupancy_maximum
    }

    /// The time-weighted mean number of queued bytes.
    pub fn occupancy_mean(&self) -> f64 {
        if self.elapsed == 0 { 0.0 } else { self.occupancy_integral / self.elapsed as f64 }
    }

    /// How long the link was transmitting, in seconds.
    pub fn busy_seconds(&self) -> f64 {
        self.busy as f64 / PICOSECONDS_PER_SECOND as f64
    }

    /// The time recorded so far, in picoseconds. Unlike [`Time`] it does not wrap.
    pub fn elapsed(&self) -> u128 {
        self.elapsed
    }

    /// Advances the record to `now`: during silences longer than the time axis, and at the end of a run.
    pub fn advance(&mut self, now: Time) {
        let step = now.since(self.clock).picoseconds();
        self.occupancy_integral += self.occupancy_now as f64 * step as f64;
        if self.occupancy_now > 0 {
            self.occupancy.fill(self.elapsed, self.elapsed + u128::from(step), self.occupancy_now as f64);
        }
        self.elapsed += u128::from(step);
        self.clock = self.clock.later(now);
        if self.elapsed >= self.next_second {
            self.count_seconds();
        }
    }

    #[cold]
    fn count_seconds(&mut self) {
        let second = self.elapsed / u128::from(PICOSECONDS_PER_SECOND);
        self.second = second as u64;
        self.next_second = (second + 1) * u128::from(PICOSECONDS_PER_SECOND);
    }

    /// The link transmits part of a packet for this long: a cell that is not the last of its frame.
    pub fn transmitting(&mut self, time: Duration) {
        self.busy += u128::from(time.picoseconds());
    }

    fn occupancy_changed(&mut self, occupancy: &Occupancy) {
        self.occupancy_now = occupancy.bytes();
        self.occupancy.add(self.elapsed, self.occupancy_now as f64);
        self.occupancy_maximum = self.occupancy_maximum.max(self.occupancy_now);
    }

    #[inline]
    fn class<P>(&mut self, packet: &Packet<P>) -> &mut ClassCourse {
        self.classes[self.class_of[packet.flow.index()] as usize].course(&mut self.active)
    }
}

impl<P> Observer<P> for PortRecorder {
    fn offered(&mut self, now: Time, packet: &Packet<P>) {
        self.advance(now);
        self.class(packet).offered.add(packet.length);
    }

    fn marked(&mut self, _now: Time, packet: &Packet<P>, _from: Colour) {
        self.class(packet).marked.add(packet.length);
    }

    fn congestion_marked(&mut self, _now: Time, packet: &Packet<P>) {
        self.class(packet).ce_marked.add(packet.length);
    }

    fn queued(&mut self, _now: Time, _packet: &Packet<()>, occupancy: &Occupancy) {
        self.occupancy_changed(occupancy);
    }

    fn moved(&mut self, _now: Time, packet: &Packet<P>, to: Flow) {
        // What moves counts as offered where it moves to.
        let volume = Volume { packets: 1, bytes: u64::from(packet.length) };
        let from = self.class(packet);
        from.offered = from.offered - volume;
        self.classes[self.next_class_of[to.index()] as usize].course(&mut self.active).offered += volume;
    }

    fn dropped(&mut self, now: Time, packet: Packet<P>, reason: DropReason, occupancy: &Occupancy) {
        self.advance(now);
        self.class(&packet).dropped[reason as usize].add(packet.length);
        self.drops[reason as usize].add(self.elapsed, 1.0);
        self.occupancy_changed(occupancy);
    }

    fn sent(&mut self, now: Time, packet: &Packet<P>, finish: Time, occupancy: &Occupancy) {
        self.advance(now);
        self.occupancy_changed(occupancy);
        let transmission = u128::from(finish.since(now).picoseconds());
        self.busy += transmission;
        let elapsed = self.elapsed + transmission;
        let second = self.keeps_recent.then_some(self.second);
        let class = self.class(packet);
        class.sent.add(packet.length);
        if let Some(second) = second {
            class.record_recent(second, finish.since(packet.arrival));
        }
        class.delays.record(finish.since(packet.arrival));
        class.sojourns.record(now.since(packet.arrival).picoseconds());
        class.sent_bytes.add(elapsed, f64::from(packet.length));
    }
}

#[cfg(test)]
mod tests;
