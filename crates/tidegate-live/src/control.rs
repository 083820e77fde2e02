//! Questions and changes that other threads bring to a running bridge.
//!
//! A direction looks for requests whenever its thread goes around, at least 20 times a second, and answers a few classes at a time: packets wait for no
//! reader. New policies are built by the thread that asks, and what is left of the old one is freed there.

mod answers;
mod lines;

pub use answers::{ClassDelays, ClassVolumes};
pub(crate) use lines::{Line, StandStill};

use crate::class_queues::ClassQueues;
use crate::clock;
use crate::counters::DirectionCounters;
use crate::direction_loop::DirectionLoop;
use crate::error::ControlError;
use crate::locks::lock;
use crate::port_change::{Amending, Asked, Needs, PortChanged, PreparedChange};
use crate::take_over::{Standing, Verdict};
use crate::talkers::Talkers;
use crate::tap::{self, Capture};
use crate::workers::{by_class, plans};
use lines::{Lines, Request, received};
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use tidegate_core::exchange::Workers;
use tidegate_core::port::{Amendment, PortSetup};
use tidegate_core::units::{Duration, Time};
use tidegate_statistics::ClassRecord;

/// Classes whose sent bytes are copied at a time, those whose volumes are, those whose delays are, and queues that are looked at.
const SENT_AT_A_TIME: usize = 1024;
const VOLUMES_AT_A_TIME: usize = 128;
const DELAYS_AT_A_TIME: usize = 16;
const QUEUES_AT_A_TIME: u32 = 512;

/// The line to a running bridge, or to several, for any number of threads. Directions are numbered: those of the first pair of interfaces are 0 from A to B
/// and 1 back, those of the second 2 and 3.
#[derive(Clone, Debug)]
pub struct Control {
    lines: Vec<Lines>,
    /// The warnings that hold, of each pair.
    warnings: Vec<Arc<Mutex<Vec<String>>>>,
    /// The sockets of each pair, once they are open.
    modes: Vec<Arc<Mutex<Option<String>>>>,
    /// The interface locks of each pair, while it carries.
    locks: Vec<Arc<Mutex<Vec<OwnedFd>>>>,
}

impl Default for Control {
    /// The line to one pair.
    fn default() -> Control {
        Control {
            lines: vec![Lines::default(), Lines::default()],
            warnings: vec![Arc::default()],
            modes: vec![Arc::default()],
            locks: vec![Arc::default()],
        }
    }
}

/// The time for all directions to hear of it: each looks at least every 50 ms.
const NOTICE: Duration = Duration::from_milliseconds(60);

impl Control {
    /// The line to one pair whose directions have this many workers, and this worker for each class.
    pub(crate) fn of_workers(directions: [Option<(usize, Vec<u32>)>; 2]) -> Control {
        let lines = |workers: Option<(usize, Vec<u32>)>| match workers {
            None => Lines::default(),
            Some((count, by_class)) => {
                Lines { workers: (0..count).map(|_| Arc::default()).collect(), by_class: Arc::new(Mutex::new(by_class)) }
            }
        };
        Control { lines: directions.into_iter().map(lines).collect(), ..Control::default() }
    }

    /// One line to several pairs of interfaces.
    pub fn joined<'a>(pairs: impl IntoIterator<Item = &'a Control>) -> Control {
        let mut joined = Control { lines: Vec::new(), warnings: Vec::new(), modes: Vec::new(), locks: Vec::new() };
        for Control { lines, warnings, modes, locks } in pairs {
            joined.lines.extend(lines.iter().cloned());
            joined.warnings.extend(warnings.iter().cloned());
            joined.modes.extend(modes.iter().cloned());
            joined.locks.extend(locks.iter().cloned());
        }
        joined
    }

    /// What is wrong with interfaces at present.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.iter().flat_map(|warnings| lock(warnings).clone()).collect()
    }

    /// The sockets that carry the frames of each pair of interfaces, by name, once they are open.
    pub fn modes(&self) -> Vec<String> {
        self.modes.iter().filter_map(|mode| lock(mode).clone()).collect()
    }

    pub(crate) fn set_mode(&self, mode: String) {
        if let Some(present) = self.modes.first() {
            *lock(present) = Some(mode);
        }
    }

    /// Publishes what is wrong with the interfaces of a pair.
    pub(crate) fn warn(&self, warnings: Vec<String>) {
        if let Some(present) = self.warnings.first() {
            *lock(present) = warnings;
        }
    }

    /// The counters of a direction.
    ///
    /// # Errors
    /// [`ControlError::Ended`].
    pub fn counters(&self, direction: usize) -> Result<DirectionCounters, ControlError> {
        let mut counters = self.lines[direction].ask_all(Request::Counters)?;
        // One worker answers for itself.
        Ok(if let [one] = counters[..] { one } else { DirectionCounters::of_workers(counters.drain(..)) })
    }

    /// All classes of a direction, in the order of the policy at the start; those that came later follow, and those that are gone stay. Each class is
    /// exact by itself; the last is looked at a little later than the first.
    ///
    /// # Errors
    /// [`ControlError::Ended`].
    pub fn classes(&self, direction: usize) -> Result<Vec<ClassVolumes>, ControlError> {
        self.lines[direction].sum(|reply| Request::Classes(Vec::new(), reply), ClassVolumes::add)
    }

    /// The bytes that each class of a direction has sent, in the order of [`Control::classes`].
    ///
    /// # Errors
    /// [`ControlError::Ended`].
    pub fn sent_bytes(&self, direction: usize) -> Result<Vec<u64>, ControlError> {
        self.lines[direction].sum(|reply| Request::Sent(Vec::new(), reply), |sum, sent| *sum += sent)
    }

    /// The delays of classes for these indices of [`Control::classes`].
    ///
    /// # Errors
    /// [`ControlError::Ended`].
    pub fn delays(&self, direction: usize, classes: Vec<usize>) -> Result<Vec<ClassDelays>, ControlError> {
        let request = |reply| Request::Delays(classes.clone(), Vec::with_capacity(classes.len()), reply);
        // Only the worker of a class has delays of it.
        let choose = |known: &mut ClassDelays, delays: ClassDelays| {
            if delays.all.count() > known.all.count() {
                *known = delays;
            }
        };
        self.lines[direction].sum(request, choose)
    }

    /// Whether a direction has the memory for another policy, so that [`Control::change`] fails only if the bridge ends or another change comes between.
    ///
    /// # Errors
    /// As [`Control::change`].
    pub fn can_change(&self, direction: usize, setup: &PortSetup) -> Result<(), ControlError> {
        let needs = Needs { packets: setup.packet_limit, longest_frame: setup.longest_frame };
        self.lines[direction].ask_all(|reply| Request::Fits(needs, reply))?.into_iter().collect()
    }

    /// The queues of classes, which are numbered as in the present policy.
    ///
    /// # Errors
    /// [`ControlError::Ended`].
    pub fn queues(&self, direction: usize, classes: Vec<usize>) -> Result<Vec<ClassQueues>, ControlError> {
        let request = |reply| Request::Queues(classes.clone(), Vec::with_capacity(classes.len()), reply);
        // Those of a class are empty but for its worker.
        let choose = |known: &mut ClassQueues, queues: ClassQueues| {
            if queues.backlogged > 0 {
                *known = queues;
            }
        };
        self.lines[direction].sum(request, choose)
    }

    /// The packets for which each rule of the present policy was the first that matched, in the order of the rules; last those that no rule matched.
    ///
    /// # Errors
    /// [`ControlError::Ended`].
    pub fn hits(&self, direction: usize) -> Result<Vec<u64>, ControlError> {
        self.lines[direction].sum(Request::Hits, |sum, hits| *sum += hits)
    }

    /// The flows that sent most in the latest five seconds that are complete.
    ///
    /// # Errors
    /// [`ControlError::Ended`].
    pub fn talkers(&self, direction: usize) -> Result<Arc<Talkers>, ControlError> {
        let mut talkers = self.lines[direction].ask_all(Request::Talkers)?;
        Ok(if talkers.len() == 1 { talkers.swap_remove(0) } else { Arc::new(Talkers::of_workers(&talkers)) })
    }

    /// Copies the packets of a class, by its index in [`Control::classes`], until the capture is dropped: the first `longest` bytes of each.
    ///
    /// # Errors
    /// [`ControlError::Ended`]; [`ControlError::Captured`] if another capture of the direction runs; [`ControlError::Elsewhere`] in an end system.
    pub fn capture(&self, direction: usize, class: usize, longest: u32) -> Result<Capture, ControlError> {
        let (tap, copies) = tap::open(class as u32, longest);
        let (reply, answer) = channel();
        self.lines[direction].of_class(class).ask(Request::Capture(Box::new(tap), reply))?;
        received(&answer)?.map_err(|(error, _)| error)?;
        let control = self.clone();
        Ok(Capture::new(copies, move || control.end_capture(direction, class)))
    }

    /// Ends the capture of a class of a direction, and frees its memory on this thread.
    fn end_capture(&self, direction: usize, class: usize) {
        let (reply, answer) = channel();
        if self.lines[direction].of_class(class).ask(Request::EndCapture(reply)).is_ok() {
            drop(received(&answer));
        }
    }

    /// Gives a direction another policy, at once; with several workers, all of them at one instant. The policy's tables are built on this thread. Changes of
    /// [`LiveConfig`](crate::LiveConfig) that are still to come are cancelled. `workers` says which worker has what then, if there are several: classes that
    /// stay keep theirs.
    ///
    /// # Errors
    /// [`ControlError`]; the old policy then stays as it was.
    pub fn change(&self, direction: usize, setup: PortSetup, workers: Option<&Workers>) -> Result<PortChanged, ControlError> {
        let lines = &self.lines[direction];
        let count = lines.workers.len();
        let (flows, link) = (setup.classifier.flows(), (setup.rate, setup.overhead));
        let longest = setup.overhead.wire_length(setup.longest_frame);
        if workers.map_or(1, |workers| workers.count as usize) != count || workers.is_some_and(|workers| workers.part_of.len() != flows) {
            return Err(ControlError::Workers);
        }
        let line = &lines.workers[0];
        let mut known = lock(&line.known);
        let (reply, answer) = channel();
        line.ask(Request::Switches(reply))?;
        let switches = received(&answer)?;
        let classifier = match known.take().filter(|(_, known)| *known == switches) {
            Some((classifier, _)) => classifier,
            None => {
                let (reply, answer) = channel();
                line.ask(Request::Classifier(reply))?;
                received(&answer)?
            }
        };
        let after = setup.classifier.clone();
        let recorded = self.classes(direction)?;
        let prepare = |setup| PreparedChange::new(&classifier, switches, setup).expecting(recorded.iter().map(|class| &*class.name));
        let changes: Vec<PreparedChange> = std::iter::repeat_n(setup, count).map(prepare).collect();
        let changes = match workers {
            None => changes,
            Some(workers) => {
                let plans = plans(clock::now() + NOTICE, workers, link, longest).map_err(ControlError::Exchange)?;
                changes.into_iter().zip(plans).map(|(change, plan)| change.planned(plan)).collect()
            }
        };
        let outcome = lines.change(changes);
        if let (Ok(_), Some(workers)) = (&outcome, workers) {
            let names = after.classes().iter().map(|class| &*class.name);
            let by_name = names.zip(by_class(workers, &after)).collect();
            lines.assign(self.classes(direction)?.iter().map(|class| &*class.name), &by_name);
        }
        *known = Some(if outcome.is_ok() { (after, switches.wrapping_add(1)) } else { (classifier, switches) });
        outcome
    }

    /// Gives some classes of a direction's policy other parameters: as [`Control::change`], but in parts of less than a millisecond between which packets pass.
    ///
    /// # Errors
    /// [`ControlError`]. After [`ControlError::Amendment`] a part of it may hold; a change to the whole policy brings the rest.
    pub fn amend(&self, direction: usize, amendment: Amendment) -> Result<PortChanged, ControlError> {
        let line = self.lines[direction].only()?;
        let _one_at_a_time = lock(&line.known);
        let (reply, answer) = channel();
        line.ask(Request::Change(Asked::Amend(Box::new(Amending::new(amendment))), reply))?;
        received(&answer)?.outcome
    }

    /// Keeps what locks the interfaces of a pair.
    pub(crate) fn keep_locks(&self, locks: Vec<OwnedFd>) {
        if let Some(present) = self.locks.first() {
            *lock(present) = locks;
        }
    }

    /// All directions stand still at one instant, between two packets, and show what a successor in another process needs.
    ///
    /// # Errors
    /// [`ControlError::NotHandedOver`], [`ControlError::Ended`]; all directions then go on.
    pub fn stand_still(&self) -> Result<Standing, ControlError> {
        let (verdict, at) = (Verdict::new(), clock::now() + NOTICE);
        let mut standing = Standing { since: at, verdict: verdict.clone(), directions: Vec::new(), locks: Vec::new() };
        let mut answers = Vec::new();
        for lines in &self.lines {
            let line = lines.only().map_err(|_| ControlError::NotHandedOver)?;
            let (reply, answer) = channel();
            line.ask(Request::StandStill(StandStill { at, reply, verdict: verdict.clone() }))?;
            answers.push(answer);
        }
        for answer in answers {
            standing.directions.push(received(&answer)?.ok_or(ControlError::NotHandedOver)?);
        }
        for locks in &self.locks {
            let copies = lock(locks).iter().map(OwnedFd::try_clone).collect::<Result<Vec<_>, _>>();
            standing.locks.push(copies.map_err(|_| ControlError::NotHandedOver)?);
        }
        Ok(standing)
    }

    /// Answers no request once this is dropped, whatever ends the bridge.
    pub(crate) fn until_the_end(&self) -> UntilTheEnd<'_> {
        UntilTheEnd(self)
    }

    /// The requests to a worker of a direction.
    pub(crate) fn line(&self, direction: usize, worker: usize) -> &Line {
        &self.lines[direction].workers[worker]
    }
}

/// Ends a control.
pub(crate) struct UntilTheEnd<'a>(&'a Control);

impl Drop for UntilTheEnd<'_> {
    fn drop(&mut self) {
        self.0.lines.iter().flat_map(|lines| &lines.workers).for_each(|line| line.close());
        self.0.keep_locks(Vec::new());
    }
}

/// Answers the requests to one direction, on its thread.
pub(crate) struct Answering<'a> {
    line: &'a Line,
    current: Option<Request>,
    stand_still: Option<StandStill>,
}

impl<'a> Answering<'a> {
    pub(crate) fn new(line: &'a Line) -> Answering<'a> {
        Answering { line, current: None, stand_still: None }
    }

    /// True if there are requests. One load, so that a direction can look as often as it likes.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        self.line.is_waiting.load(Ordering::Relaxed) || self.current.is_some()
    }

    /// When the direction is to stand still, if it is.
    #[inline]
    pub(crate) fn stands_still_at(&self) -> Option<Time> {
        self.stand_still.as_ref().map(|order| order.at)
    }

    /// The order to stand still, if it is due.
    #[inline]
    pub(crate) fn stand_still(&mut self, now: Time) -> Option<StandStill> {
        self.stand_still.take_if(|order| !now.is_before(order.at))
    }

    /// Answers a part of the next request. A thread that no longer waits has no use for the answer.
    #[cold]
    pub(crate) fn answer<O>(&mut self, direction: &mut impl DirectionLoop<O>, now: Time) {
        match self.current.take().or_else(|| self.line.next()) {
            None => {}
            Some(Request::Counters(reply)) => drop(reply.send(direction.counters())),
            Some(Request::Sent(mut copied, reply)) => {
                let records = direction.record().port.classes();
                if copy(records, &mut copied, SENT_AT_A_TIME, |record| record.sent.bytes) {
                    drop(reply.send(copied));
                } else {
                    self.current = Some(Request::Sent(copied, reply));
                }
            }
            Some(Request::Classes(mut copied, reply)) => {
                let records = direction.record().port.classes();
                if copy(records, &mut copied, VOLUMES_AT_A_TIME, ClassVolumes::of) {
                    drop(reply.send(copied));
                } else {
                    self.current = Some(Request::Classes(copied, reply));
                }
            }
            Some(Request::Delays(classes, mut copied, reply)) => {
                let port = &direction.record().port;
                let (records, second) = (port.classes(), port.second());
                let next = classes[copied.len()..].iter().take(DELAYS_AT_A_TIME);
                copied.extend(
                    next.map(|&class| records.get(class).map_or_else(ClassDelays::default, |record| ClassDelays::of(record, second))),
                );
                if copied.len() == classes.len() {
                    drop(reply.send(copied));
                } else {
                    self.current = Some(Request::Delays(classes, copied, reply));
                }
            }
            Some(Request::Queues(classes, mut looked_at, reply)) => {
                if self.look(direction, now, &classes, &mut looked_at) {
                    drop(reply.send(looked_at));
                } else {
                    self.current = Some(Request::Queues(classes, looked_at, reply));
                }
            }
            Some(Request::Hits(reply)) => drop(reply.send(direction.record().hits.clone())),
            Some(Request::Talkers(reply)) => drop(reply.send(direction.record().talkers.latest(now))),
            Some(Request::Capture(mut tap, reply)) => {
                let keeps_bytes = direction.keeps_bytes();
                let present = &mut direction.record().tap;
                drop(reply.send(match present {
                    _ if !keeps_bytes => Err((ControlError::Elsewhere, tap)),
                    Some(_) => Err((ControlError::Captured, tap)),
                    None => {
                        tap.begin(now);
                        *present = Some(tap);
                        Ok(())
                    }
                }));
            }
            Some(Request::EndCapture(reply)) => drop(reply.send(direction.record().tap.take())),
            Some(Request::Switches(reply)) => drop(reply.send(direction.switches())),
            Some(Request::Classifier(reply)) => drop(reply.send(direction.classifier().clone())),
            Some(Request::Fits(needs, reply)) => drop(reply.send(direction.fits(needs))),
            Some(Request::Change(change, reply)) => direction.change(change, reply),
            Some(Request::StandStill(order)) => self.stand_still = Some(order),
        }
    }
}

/// Copies some more of the records; true if all have been copied.
fn copy<T>(records: &[ClassRecord], copied: &mut Vec<T>, most: usize, of: impl FnMut(&ClassRecord) -> T) -> bool {
    let first = copied.len();
    copied.reserve_exact(records.len() - first);
    copied.extend(records[first..].iter().take(most).map(of));
    copied.len() == records.len()
}

impl Answering<'_> {
    /// Looks at some more queues; true if all have been looked at.
    fn look<O>(&self, direction: &impl DirectionLoop<O>, now: Time, classes: &[usize], looked_at: &mut Vec<ClassQueues>) -> bool {
        // The last is the one that is being looked at.
        if looked_at.is_empty() {
            looked_at.push(ClassQueues::default());
        }
        let mut left = QUEUES_AT_A_TIME;
        while let Some(&class) = classes.get(looked_at.len() - 1) {
            if left == 0 {
                return false;
            }
            let last = looked_at.len() - 1;
            let before = looked_at[last].queues;
            if !direction.add_queues(now, class, left, &mut looked_at[last]) {
                return false;
            }
            left = left.saturating_sub((looked_at[last].queues - before).max(1));
            looked_at.push(ClassQueues::default());
        }
        looked_at.pop();
        true
    }
}

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.line.close();
    }
}
