//! Questions and changes that other threads bring to a running bridge.
//!
//! A direction looks for requests whenever its thread goes around, at least 20 times a second, and answers a few classes at a time: packets wait for no
//! reader. New policies are built by the thread that asks, and what is left of the old one is freed there.

use crate::counters::DirectionCounters;
use crate::direction_loop::DirectionLoop;
use crate::error::ControlError;
use crate::locks::lock;
use crate::port_change::{Needs, PortChanged, PreparedChange, Replaced};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use tidegate_core::classifier::Classifier;
use tidegate_core::packet::DropReason;
use tidegate_core::port::{PortSetup, Volume};
use tidegate_statistics::{ClassRecord, Delays};

/// Classes whose volumes are copied at a time, and those whose delays are.
const VOLUMES_AT_A_TIME: usize = 128;
const DELAYS_AT_A_TIME: usize = 16;

/// The line to a running bridge, or to several, for any number of threads. Directions are numbered: those of the first pair of interfaces are 0 from A to B
/// and 1 back, those of the second 2 and 3.
#[derive(Clone, Debug)]
pub struct Control {
    lines: Vec<Arc<Line>>,
    /// The warnings that hold, of each pair.
    warnings: Vec<Arc<Mutex<Vec<String>>>>,
}

impl Default for Control {
    /// The line to one pair.
    fn default() -> Control {
        Control { lines: vec![Arc::default(), Arc::default()], warnings: vec![Arc::default()] }
    }
}

/// The policy of a direction as far as it is known here: its classifier, and how often the port had been switched to it.
type Known = (Classifier, u32);

/// The requests to one direction.
#[derive(Debug, Default)]
pub(crate) struct Line {
    is_waiting: AtomicBool,
    queue: Mutex<Queue>,
    known: Mutex<Option<Known>>,
}

#[derive(Debug, Default)]
struct Queue {
    requests: VecDeque<Request>,
    /// No direction answers any more.
    is_closed: bool,
}

#[derive(Debug)]
enum Request {
    Counters(Sender<DirectionCounters>),
    /// The classes, and those that have been copied.
    Classes(Vec<ClassVolumes>, Sender<Vec<ClassVolumes>>),
    /// The delays of some classes, and those that have been copied.
    Delays(Vec<usize>, Vec<Delays>, Sender<Vec<Delays>>),
    /// How often the port has been switched.
    Switches(Sender<u32>),
    Classifier(Sender<Classifier>),
    Fits(Needs, Sender<Result<(), ControlError>>),
    Change(PreparedChange, Sender<Replaced>),
}

/// What happened to a class until it was asked.
#[derive(Clone, Debug)]
pub struct ClassVolumes {
    /// Its name.
    pub name: String,
    /// Everything offered.
    pub offered: Volume,
    /// Everything sent.
    pub sent: Volume,
    /// Everything whose colour the policer changed.
    pub marked: Volume,
    /// Everything dropped, in the order of [`DropReason::ALL`].
    pub dropped: [Volume; DropReason::ALL.len()],
}

impl ClassVolumes {
    fn of(record: &ClassRecord) -> ClassVolumes {
        let ClassRecord { name, offered, sent, marked, dropped, .. } = record;
        ClassVolumes { name: name.clone(), offered: *offered, sent: *sent, marked: *marked, dropped: *dropped }
    }

    /// What is queued.
    pub fn queued(&self) -> Volume {
        self.offered - self.sent - self.dropped.into_iter().sum()
    }
}

impl Control {
    /// One line to several pairs of interfaces.
    pub fn joined<'a>(pairs: impl IntoIterator<Item = &'a Control>) -> Control {
        let mut joined = Control { lines: Vec::new(), warnings: Vec::new() };
        for Control { lines, warnings } in pairs {
            joined.lines.extend(lines.iter().cloned());
            joined.warnings.extend(warnings.iter().cloned());
        }
        joined
    }

    /// What is wrong with interfaces at present.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.iter().flat_map(|warnings| lock(warnings).clone()).collect()
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
        let (reply, answer) = channel();
        self.lines[direction].ask(Request::Counters(reply))?;
        received(&answer)
    }

    /// All classes of a direction, in the order of the policy at the start; those that came later follow, and those that are gone stay. Each class is
    /// exact by itself; the last is looked at a little later than the first.
    ///
    /// # Errors
    /// [`ControlError::Ended`].
    pub fn classes(&self, direction: usize) -> Result<Vec<ClassVolumes>, ControlError> {
        let (reply, answer) = channel();
        self.lines[direction].ask(Request::Classes(Vec::new(), reply))?;
        received(&answer)
    }

    /// The delays of classes from arrival to the last bit sent, since the start, for these indices of [`Control::classes`].
    ///
    /// # Errors
    /// [`ControlError::Ended`].
    pub fn delays(&self, direction: usize, classes: Vec<usize>) -> Result<Vec<Delays>, ControlError> {
        let (reply, answer) = channel();
        let copied = Vec::with_capacity(classes.len());
        self.lines[direction].ask(Request::Delays(classes, copied, reply))?;
        received(&answer)
    }

    /// Whether a direction has the memory for another policy, so that [`Control::change`] fails only if the bridge ends or another change comes between.
    ///
    /// # Errors
    /// As [`Control::change`].
    pub fn can_change(&self, direction: usize, setup: &PortSetup) -> Result<(), ControlError> {
        let needs = Needs { packets: setup.packet_limit, longest_frame: setup.longest_frame };
        let (reply, answer) = channel();
        self.lines[direction].ask(Request::Fits(needs, reply))?;
        received(&answer)?
    }

    /// Gives a direction another policy, at once. The policy's tables are built on this thread. Changes of [`LiveConfig`](crate::LiveConfig) that are
    /// still to come are cancelled.
    ///
    /// # Errors
    /// [`ControlError`]; the old policy then stays as it was.
    pub fn change(&self, direction: usize, setup: PortSetup) -> Result<PortChanged, ControlError> {
        let line = &self.lines[direction];
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
        let change = PreparedChange::new(&classifier, switches, setup);
        let (reply, answer) = channel();
        line.ask(Request::Change(change, reply))?;
        let outcome = received(&answer)?.outcome;
        *known = Some(if outcome.is_ok() { (after, switches.wrapping_add(1)) } else { (classifier, switches) });
        outcome
    }

    /// Answers no request once this is dropped, whatever ends the bridge.
    pub(crate) fn until_the_end(&self) -> UntilTheEnd<'_> {
        UntilTheEnd(self)
    }

    /// The requests to a direction.
    pub(crate) fn line(&self, direction: usize) -> &Line {
        &self.lines[direction]
    }
}

/// Ends a control.
pub(crate) struct UntilTheEnd<'a>(&'a Control);

impl Drop for UntilTheEnd<'_> {
    fn drop(&mut self) {
        self.0.lines.iter().for_each(|line| line.close());
    }
}

fn received<T>(answer: &Receiver<T>) -> Result<T, ControlError> {
    answer.recv().map_err(|_| ControlError::Ended)
}

impl Line {
    fn ask(&self, request: Request) -> Result<(), ControlError> {
        let mut queue = lock(&self.queue);
        if queue.is_closed {
            return Err(ControlError::Ended);
        }
        queue.requests.push_back(request);
        self.is_waiting.store(true, Ordering::Release);
        Ok(())
    }

    /// The next request. Does not wait for another thread that brings one.
    fn next(&self) -> Option<Request> {
        let mut queue = self.queue.try_lock().ok()?;
        let request = queue.requests.pop_front();
        self.is_waiting.store(!queue.requests.is_empty(), Ordering::Release);
        request
    }

    /// Answers no request any more; threads that wait are told.
    pub(crate) fn close(&self) {
        let mut queue = lock(&self.queue);
        queue.is_closed = true;
        queue.requests.clear();
    }
}

/// Answers the requests to one direction, on its thread.
pub(crate) struct Answering<'a> {
    line: &'a Line,
    current: Option<Request>,
}

impl<'a> Answering<'a> {
    pub(crate) fn new(line: &'a Line) -> Answering<'a> {
        Answering { line, current: None }
    }

    /// True if there are requests. One load, so that a direction can look as often as it likes.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        self.line.is_waiting.load(Ordering::Relaxed) || self.current.is_some()
    }

    /// Answers a part of the next request. A thread that no longer waits has no use for the answer.
    #[cold]
    pub(crate) fn answer<O>(&mut self, direction: &mut impl DirectionLoop<O>) {
        match self.current.take().or_else(|| self.line.next()) {
            None => {}
            Some(Request::Counters(reply)) => drop(reply.send(direction.counters())),
            Some(Request::Classes(mut copied, reply)) => {
                let records = direction.recorder().classes();
                let first = copied.len();
                copied.reserve_exact(records.len() - first);
                copied.extend(records[first..].iter().take(VOLUMES_AT_A_TIME).map(ClassVolumes::of));
                if copied.len() == records.len() {
                    drop(reply.send(copied));
                } else {
                    self.current = Some(Request::Classes(copied, reply));
                }
            }
            Some(Request::Delays(classes, mut copied, reply)) => {
                let records = direction.recorder().classes();
                let next = classes[copied.len()..].iter().take(DELAYS_AT_A_TIME);
                copied.extend(next.map(|&class| records.get(class).map_or_else(Delays::default, |record| record.delays.clone())));
                if copied.len() == classes.len() {
                    drop(reply.send(copied));
                } else {
                    self.current = Some(Request::Delays(classes, copied, reply));
                }
            }
            Some(Request::Switches(reply)) => drop(reply.send(direction.switches())),
            Some(Request::Classifier(reply)) => drop(reply.send(direction.classifier().clone())),
            Some(Request::Fits(needs, reply)) => drop(reply.send(direction.fits(needs))),
            Some(Request::Change(change, reply)) => direction.change(change, reply),
        }
    }
}

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.line.close();
    }
}
