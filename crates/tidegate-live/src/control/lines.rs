//! The lines on which requests come to the workers of a direction.

use super::answers::{ClassDelays, ClassVolumes};
use crate::class_queues::ClassQueues;
use crate::counters::DirectionCounters;
use crate::error::ControlError;
use crate::locks::lock;
use crate::port_change::{Asked, Needs, PortChanged, PreparedChange, Replaced};
use crate::take_over::{Shown, Verdict};
use crate::talkers::Talkers;
use crate::tap::Tap;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use tidegate_core::classifier::Classifier;
use tidegate_core::units::Time;

/// The policy of a direction as far as it is known here: its classifier, and how often the port had been switched to it.
pub(super) type Known = (Classifier, u32);

/// The requests to one direction.
#[derive(Debug, Default)]
pub(crate) struct Line {
    pub(super) is_waiting: AtomicBool,
    queue: Mutex<Queue>,
    pub(super) known: Mutex<Option<Known>>,
}

#[derive(Debug, Default)]
struct Queue {
    requests: VecDeque<Request>,
    /// No direction answers any more.
    is_closed: bool,
}

#[derive(Debug)]
pub(super) enum Request {
    Counters(Sender<DirectionCounters>),
    /// What classes have sent, and those that have been copied.
    Sent(Vec<u64>, Sender<Vec<u64>>),
    /// The classes, and those that have been copied.
    Classes(Vec<ClassVolumes>, Sender<Vec<ClassVolumes>>),
    /// The delays of some classes, and those that have been copied.
    Delays(Vec<usize>, Vec<ClassDelays>, Sender<Vec<ClassDelays>>),
    /// The queues of some classes, and those that have been looked at; the last may not be complete.
    Queues(Vec<usize>, Vec<ClassQueues>, Sender<Vec<ClassQueues>>),
    /// How often each rule matched.
    Hits(Sender<Vec<u64>>),
    /// The flows that send most.
    Talkers(Sender<Arc<Talkers>>),
    /// A capture begins. A refusal brings its end back, so that memory is not freed beside packets.
    Capture(Box<Tap>, Sender<Result<(), (ControlError, Box<Tap>)>>),
    /// It ends.
    EndCapture(Sender<Option<Box<Tap>>>),
    /// How often the port has been switched.
    Switches(Sender<u32>),
    Classifier(Sender<Classifier>),
    Fits(Needs, Sender<Result<(), ControlError>>),
    Change(Asked, Sender<Replaced>),
    StandStill(StandStill),
}

/// A direction is to stand still at an instant, to show what a successor needs, and to wait for the verdict.
#[derive(Debug)]
pub(crate) struct StandStill {
    pub(crate) at: Time,
    pub(crate) reply: Sender<Option<Shown>>,
    pub(crate) verdict: Arc<Verdict>,
}

/// The lines to the workers of one direction.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    pub(super) workers: Vec<Arc<Line>>,
    /// By class, as it is recorded: its worker, if there are several.
    pub(super) by_class: Arc<Mutex<Vec<u32>>>,
}

impl Default for Lines {
    /// The line to one worker.
    fn default() -> Lines {
        Lines { workers: vec![Arc::default()], by_class: Arc::default() }
    }
}

impl Lines {
    /// Asks all workers at once.
    pub(super) fn ask_all<T>(&self, request: impl Fn(Sender<T>) -> Request) -> Result<Vec<T>, ControlError> {
        let mut answers = Vec::with_capacity(self.workers.len());
        for line in &self.workers {
            let (reply, answer) = channel();
            line.ask(request(reply))?;
            answers.push(answer);
        }
        answers.iter().map(received).collect()
    }

    /// Asks all workers, each of which has other classes, and adds up what they answer for each.
    pub(super) fn sum<T>(&self, request: impl Fn(Sender<Vec<T>>) -> Request, add: impl Fn(&mut T, T)) -> Result<Vec<T>, ControlError> {
        let mut answers = self.ask_all(request)?.into_iter();
        let mut sums = answers.next().unwrap_or_default();
        for answer in answers {
            sums.iter_mut().zip(answer).for_each(|(sum, part)| add(sum, part));
        }
        Ok(sums)
    }

    /// The workers of classes from now on, by name; those that the policy does not have any more stay. `recorded` are all of them.
    pub(super) fn assign<'a>(&self, recorded: impl Iterator<Item = &'a str>, workers: &HashMap<&str, u32>) {
        let mut by_class = lock(&self.by_class);
        let worker = |(class, name): (usize, &str)| workers.get(name).copied().or_else(|| by_class.get(class).copied()).unwrap_or(0);
        let assigned = recorded.enumerate().map(worker).collect();
        *by_class = assigned;
    }

    /// Brings each worker its change, and waits for all.
    pub(super) fn change(&self, changes: Vec<PreparedChange>) -> Result<PortChanged, ControlError> {
        let mut answers = Vec::with_capacity(changes.len());
        for (line, change) in self.workers.iter().zip(changes) {
            let (reply, answer) = channel();
            line.ask(Request::Change(Asked::Switch(Box::new(change)), reply))?;
            answers.push(answer);
        }
        let outcomes: Vec<_> = answers.iter().map(|answer| received(answer).and_then(|replaced| replaced.outcome)).collect();
        let all = outcomes.into_iter().collect::<Result<Vec<PortChanged>, _>>()?;
        all.into_iter().reduce(PortChanged::with_another_worker).ok_or(ControlError::Ended)
    }

    /// The line to the only worker.
    pub(super) fn only(&self) -> Result<&Line, ControlError> {
        if self.workers.len() == 1 { Ok(&self.workers[0]) } else { Err(ControlError::Workers) }
    }

    /// The line to the worker that has a class.
    pub(super) fn of_class(&self, class: usize) -> &Line {
        &self.workers[lock(&self.by_class).get(class).map_or(0, |&worker| worker as usize)]
    }
}

/// The answer to a request.
pub(super) fn received<T>(answer: &Receiver<T>) -> Result<T, ControlError> {
    answer.recv().map_err(|_| ControlError::Ended)
}

impl Line {
    pub(super) fn ask(&self, request: Request) -> Result<(), ControlError> {
        let mut queue = lock(&self.queue);
        if queue.is_closed {
            return Err(ControlError::Ended);
        }
        queue.requests.push_back(request);
        self.is_waiting.store(true, Ordering::Release);
        Ok(())
    }

    /// The next request. Does not wait for another thread that brings one.
    pub(super) fn next(&self) -> Option<Request> {
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
