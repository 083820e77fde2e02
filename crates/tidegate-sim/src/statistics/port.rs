//! One port and its classes in one replication.

use super::{Bins, Dropped, Histogram, TimeWeighted};
use std::collections::HashMap;
use tidegate_atm::adapter::CellRecord;
use tidegate_core::classifier::Classifier;
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Flow, Packet};
use tidegate_core::port::{Counters, Volume};
use tidegate_core::queue::Occupancy;
use tidegate_core::units::Time;

/// The measurements of a port in one replication, from the end of the warm-up.
///
/// What was queued when the warm-up ended counts as offered, so that `offered = sent + dropped + queued` holds here too.
#[derive(Clone, PartialEq, Debug)]
pub struct PortStatistics {
    /// What was offered.
    pub offered: Volume,
    /// What was transmitted, counted at the start of transmission.
    pub sent: Volume,
    /// What was dropped.
    pub dropped: Dropped,
    /// What was queued at the end.
    pub queued: Volume,
    /// The share of the time in which the link was transmitting, 0 to 1.
    pub utilisation: f64,
    /// Mean queued bytes over time; the packet in transmission is not queued any more.
    pub occupancy_mean_bytes: f64,
    /// The most bytes ever queued.
    pub occupancy_max_bytes: u64,
    /// Packets dropped in each sample interval from the start of the simulation, by reason; empty for reasons that never occurred.
    pub drops_over_time: [Vec<u64>; DropReason::ALL.len()],
    /// The classes, in the order of the policy.
    pub classes: Vec<ClassStatistics>,
    /// What happened to the cells of each class, if the port is that of an ATM adapter; empty if not.
    pub cells: Vec<CellRecord>,
    /// What came late to the end of the link, so that others could overtake it.
    pub late: Volume,
    /// What came twice to the end of the link; each copy counts as offered at the next port.
    pub duplicated: Volume,
    /// What the far end of the link paused, for each class that it may pause; empty if it pauses none.
    pub pauses: Vec<PauseStatistics>,
}

/// The pauses of one class of a port in one replication, from the end of the warm-up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PauseStatistics {
    /// The class.
    pub class: usize,
    /// How often it was paused; a pause that lasted when the warm-up ended counts.
    pub pauses: u64,
    /// For how long in all, in picoseconds: from when its port heard of a pause until it heard of the end.
    pub time: u64,
    /// The longest pause in picoseconds.
    pub longest: u64,
    /// True if it was paused at the end.
    pub is_paused: bool,
    /// The most bytes of the class that the node at the far end ever held.
    pub greatest_held: u64,
}

/// The measurements of one class of a port in one replication, from the end of the warm-up.
#[derive(Clone, PartialEq, Debug)]
pub struct ClassStatistics {
    /// What was offered, what was queued when the warm-up ended included.
    pub offered: Volume,
    /// What was transmitted.
    pub sent: Volume,
    /// What of that left in another colour than green.
    pub sent_tagged: Volume,
    /// What was dropped.
    pub dropped: Dropped,
    /// What of that was not green.
    pub dropped_tagged: Volume,
    /// What was queued at the end.
    pub queued: Volume,
    /// What the policer gave another colour.
    pub marked: Volume,
    /// What an AQM, or the link's `mark_above`, marked as CE.
    pub ce_marked: Volume,
    /// Queued bytes over time.
    pub occupancy: TimeWeighted,
    /// Times from a packet's arrival at the port to its last bit on the link.
    pub delays: Histogram,
    /// Times from a packet's arrival at the port to the start of its transmission.
    pub sojourns: Histogram,
}

impl ClassStatistics {
    fn new(occupancy: TimeWeighted) -> ClassStatistics {
        ClassStatistics {
            offered: Volume::default(),
            sent: Volume::default(),
            sent_tagged: Volume::default(),
            dropped: Dropped::default(),
            dropped_tagged: Volume::default(),
            queued: Volume::default(),
            marked: Volume::default(),
            ce_marked: Volume::default(),
            occupancy,
            delays: Histogram::default(),
            sojourns: Histogram::default(),
        }
    }
}

/// Measures a port.
#[derive(Clone, Debug)]
pub(crate) struct PortMeter {
    /// The bytes queued at the other workers of the link, while one of several is asked.
    pub(crate) elsewhere: u64,
    backlog: u64,
    greatest_backlog: u64,
    class_of: Vec<u32>,
    /// The classes of the flows of the policy that comes next, while the port switches to it.
    next_class_of: Vec<u32>,
    classes: Vec<ClassStatistics>,
    drops_over_time: [Bins; DropReason::ALL.len()],
    /// Time spent transmitting since the warm-up, and when the last transmission ends.
    busy: u64,
    busy_until: u64,
    /// What the port had counted, and held, when the warm-up ended.
    before: Counters,
    backlog_before: Volume,
    start: u64,
}

impl PortMeter {
    /// A meter for a port that has this number of classes in the course of the simulation, first those of `classifier`.
    pub(crate) fn new(classifier: &Classifier, classes: usize, sample_interval: u64) -> PortMeter {
        let class = ClassStatistics::new(TimeWeighted::new(sample_interval));
        PortMeter {
            elsewhere: 0,
            backlog: 0,
            greatest_backlog: 0,
            class_of: (0..classifier.flows()).map(|flow| classifier.class_of(Flow(flow as u32)) as u32).collect(),
            next_class_of: Vec::new(),
            classes: vec![class; classes],
            drops_over_time: std::array::from_fn(|_| Bins::new(sample_interval)),
            busy: 0,
            busy_until: 0,
            before: Counters::default(),
            backlog_before: Volume::default(),
            start: 0,
        }
    }

    /// Prepares for a switch of the port to a policy with this classifier; `names` are those of all classes that are measured.
    pub(crate) fn expect(&mut self, classifier: &Classifier, names: &[String]) {
        let known: HashMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
        let numbers: Vec<u32> = classifier.classes().iter().map(|class| known[&*class.name]).collect();
        self.next_class_of = (0..classifier.flows() as u32).map(|flow| numbers[classifier.class_of(Flow(flow))]).collect();
    }

    /// The port has switched to the policy that was expected.
    pub(crate) fn switched(&mut self) {
        self.class_of = std::mem::take(&mut self.next_class_of);
    }

    /// A packet that is queued moves to a flow of the next policy. It counts as offered where it moves to.
    pub(crate) fn moved(&mut self, now: u64, from: Flow, to: Flow, length: u32) {
        let volume = Volume { packets: 1, bytes: u64::from(length) };
        let class = self.class(from);
        class.offered = class.offered - volume;
        class.queued.packets -= 1;
        class.occupancy.set(now, class.occupancy.value() - u64::from(length));
        let class = &mut self.classes[self.next_class_of[to.index()] as usize];
        class.offered += volume;
        class.queued.packets += 1;
        class.occupancy.set(now, class.occupancy.value() + u64::from(length));
    }

    #[inline]
    fn class(&mut self, flow: Flow) -> &mut ClassStatistics {
        &mut self.classes[self.class_of[flow.index()] as usize]
    }

    #[inline]
    pub(crate) fn offered(&mut self, flow: Flow, length: u32) {
        self.class(flow).offered.add(length);
    }

    #[inline]
    pub(crate) fn marked(&mut self, flow: Flow, length: u32) {
        self.class(flow).marked.add(length);
    }

    pub(crate) fn ce_marked(&mut self, flow: Flow, length: u32) {
        self.class(flow).ce_marked.add(length);
    }

    #[inline]
    pub(crate) fn queued(&mut self, now: u64, flow: Flow, length: u32) {
        self.backlog += u64::from(length);
        self.greatest_backlog = self.greatest_backlog.max(self.backlog);
        let class = self.class(flow);
        class.queued.packets += 1;
        class.occupancy.set(now, class.occupancy.value() + u64::from(length));
    }

    /// A transmission from `now` to `finish` of a packet that arrived at `arrival`.
    #[inline]
    pub(crate) fn sent(&mut self, now: u64, flow: Flow, length: u32, arrival: u64, finish: u64) {
        self.backlog -= u64::from(length);
        self.busy += finish - now;
        self.busy_until = finish;
        let class = self.class(flow);
        class.sent.add(length);
        class.sojourns.record(now - arrival);
        class.delays.record(finish - arrival);
        class.queued.packets -= 1;
        class.occupancy.set(now, class.occupancy.value() - u64::from(length));
    }

    /// Packets of this length have passed one by one while nothing was queued, each with this transmission time. Reported late, but before
    /// any other change.
    pub(crate) fn passed(&mut self, flow: Flow, length: u32, passed: Volume, time: u64) {
        self.greatest_backlog = self.greatest_backlog.max(u64::from(length));
        self.busy += passed.packets * time;
        let class = self.class(flow);
        class.offered += passed;
        class.sent += passed;
        class.delays.record_times(time, passed.packets);
        class.sojourns.record_times(0, passed.packets);
        class.occupancy.touch(u64::from(length));
    }

    /// A part of a packet that is not the last is transmitted from `now` to `finish`.
    pub(crate) fn sent_part(&mut self, now: u64, finish: u64) {
        self.busy += finish - now;
        self.busy_until = finish;
    }

    /// The transmission under way, or the latest, ends at this instant.
    pub(crate) fn transmits_until(&mut self, time: u64) {
        self.busy_until = time;
    }

    /// A drop. `backlog` is what the port holds after it, in bytes; it changes if the packet was queued.
    pub(crate) fn dropped(&mut self, now: u64, flow: Flow, length: u32, colour: Colour, reason: DropReason, backlog: u64) {
        let was_queued = backlog != self.backlog;
        self.backlog = backlog;
        self.drops_over_time[reason as usize].add(now, 1);
        let class = self.class(flow);
        class.dropped[reason as usize].add(length);
        if colour != Colour::Green {
            class.dropped_tagged.add(length);
        }
        if was_queued {
            class.queued.packets -= 1;
            class.occupancy.set(now, class.occupancy.value() - u64::from(length));
        }
    }

    /// The end of the warm-up.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    pub(crate) fn restart(&mut self, now: u64, counters: &Counters, backlog: Volume) {
        self.start = now;
        self.before = *counters;
        self.backlog_before = backlog;
        self.busy = self.busy_until.saturating_sub(now);
        self.greatest_backlog = self.backlog;
        for class in &mut self.classes {
            class.occupancy.restart(now);
            let queued = Volume { bytes: class.occupancy.value(), ..class.queued };
            *class = ClassStatistics { offered: queued, queued, ..ClassStatistics::new(class.occupancy.clone()) };
        }
    }

    pub(crate) fn finish(mut self, end: u64, counters: &Counters, queued: Volume) -> PortStatistics {
        for class in &mut self.classes {
            class.queued.bytes = class.occupancy.value();
            class.occupancy.finish(end);
        }
        let busy = self.busy - self.busy_until.saturating_sub(end);
        let span = end - self.start;
        PortStatistics {
            offered: counters.offered - self.before.offered + self.backlog_before,
            sent: counters.sent - self.before.sent,
            dropped: std::array::from_fn(|reason| counters.dropped[reason] - self.before.dropped[reason]),
            queued,
            utilisation: if span == 0 { 0.0 } else { busy as f64 / span as f64 },
            occupancy_mean_bytes: self.classes.iter().map(|class| class.occupancy.mean()).sum(),
            occupancy_max_bytes: self.greatest_backlog,
            drops_over_time: std::array::from_fn(|reason| {
                let bins = &mut self.drops_over_time[reason];
                if counters.dropped[reason].packets == 0 { Vec::new() } else { std::mem::take(bins).finish(end) }
            }),
            classes: self.classes,
            cells: Vec::new(),
            late: Volume::default(),
            duplicated: Volume::default(),
            pauses: Vec::new(),
        }
    }
}

/// Counts what happens at a port, or with its cells.
impl<P> Observer<P> for PortMeter {
    fn moved(&mut self, now: Time, packet: &Packet<P>, to: Flow) {
        self.moved(now.picoseconds(), packet.flow, to, packet.length);
    }

    #[inline]
    fn offered(&mut self, _now: Time, packet: &Packet<P>) {
        self.offered(packet.flow, packet.length);
    }

    #[inline]
    fn marked(&mut self, _now: Time, packet: &Packet<P>, _from: Colour) {
        self.marked(packet.flow, packet.length);
    }

    fn congestion_marked(&mut self, _now: Time, packet: &Packet<P>) {
        self.ce_marked(packet.flow, packet.length);
    }

    #[inline]
    fn queued(&mut self, now: Time, packet: &Packet<()>, _occupancy: &Occupancy) {
        self.queued(now.picoseconds(), packet.flow, packet.length);
    }

    fn dropped(&mut self, now: Time, packet: Packet<P>, reason: DropReason, occupancy: &Occupancy) {
        self.dropped(now.picoseconds(), packet.flow, packet.length, packet.colour, reason, self.elsewhere + occupancy.bytes());
    }

    #[inline]
    fn sent(&mut self, now: Time, packet: &Packet<P>, finish: Time, _occupancy: &Occupancy) {
        if packet.colour != Colour::Green {
            self.class(packet.flow).sent_tagged.add(packet.length);
        }
        self.sent(now.picoseconds(), packet.flow, packet.length, packet.arrival.picoseconds(), finish.picoseconds());
    }
}
