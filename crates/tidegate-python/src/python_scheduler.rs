//! A scheduler that is written in Python, for a port that Python drives.
//!
//! What it raises, and an answer that breaks a law of schedulers, is kept until the port's call is over. The port raises it then, and refuses every
//! call after it.

use crate::instants::{instant, seconds};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};
use tidegate_core::packet::{Flow, Head};
use tidegate_core::scheduler::{BuildError, Decision, FlowParameters, Parameter, Scheduler};
use tidegate_core::units::Time;

/// The exception of a scheduler that has failed. Clones share it.
#[derive(Clone, Default)]
pub struct Failed(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    raised: Option<PyErr>,
    has_failed: bool,
}

impl Failed {
    /// Raises the exception of the call that is over.
    pub fn raise(&self) -> PyResult<()> {
        self.state(|state| state.raised.take()).map_or(Ok(()), Err)
    }

    /// Refuses a call after a failure.
    pub fn judge(&self) -> PyResult<()> {
        if self.state(|state| state.has_failed) {
            return Err(PyRuntimeError::new_err("the scheduler of this port has failed before; make another port"));
        }
        Ok(())
    }

    fn fail(&self, error: PyErr) {
        self.state(|state| {
            state.has_failed = true;
            state.raised.get_or_insert(error);
        });
    }

    fn state<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What a scheduler knows of the packet at the head of a queue.
#[pyclass(frozen, get_all, module = "tidegate._tidegate", name = "Head")]
pub struct PythonHead {
    /// Its length on the wire in bytes, with the overhead of the link.
    length_bytes: u32,
    /// When it was offered, in seconds.
    arrival_s: f64,
    /// Its colour: "green", "yellow" or "red".
    colour: &'static str,
    /// Its number among all packets that were queued at the port, modulo 2^32.
    number: u32,
}

impl PythonHead {
    fn new(head: Head) -> PythonHead {
        let Head { length, number, arrival, colour } = head;
        PythonHead { length_bytes: length, arrival_s: seconds(arrival), colour: colour.name(), number }
    }
}

#[pymethods]
impl PythonHead {
    fn __repr__(&self) -> String {
        format!("<tidegate.Head of {} B, arrived at {} s>", self.length_bytes, self.arrival_s)
    }
}

/// The answer of a scheduler: nothing may leave before an instant.
#[pyclass(frozen, get_all, module = "tidegate._tidegate")]
pub struct Wait {
    /// The instant, in seconds.
    until_s: f64,
}

#[pymethods]
impl Wait {
    #[new]
    fn new(until_s: f64) -> PyResult<Wait> {
        instant(until_s).map(|_| Wait { until_s })
    }

    fn __repr__(&self) -> String {
        format!("tidegate.Wait({})", self.until_s)
    }
}

/// An object of Python that decides the order of service.
pub struct PythonScheduler {
    object: Py<PyAny>,
    /// By flow: whether it is backlogged.
    backlogged: Vec<bool>,
    /// The number of flows that are.
    count: usize,
    failed: Failed,
}

impl PythonScheduler {
    /// A scheduler of this number of flows, none of them backlogged.
    pub fn new(object: Py<PyAny>, flows: usize, failed: Failed) -> PythonScheduler {
        PythonScheduler { object, backlogged: vec![false; flows], count: 0, failed }
    }

    /// Calls a method that returns nothing.
    fn tell(&self, name: &str, now: Time, flow: Flow, head: Option<Head>) {
        if self.failed.judge().is_err() {
            return;
        }
        let told = Python::attach(|py| self.object.call_method1(py, name, (seconds(now), flow.0, head.map(PythonHead::new))));
        if let Err(error) = told {
            self.failed.fail(error);
        }
    }

    fn set(&mut self, flow: Flow, is_backlogged: bool) {
        let before = std::mem::replace(&mut self.backlogged[flow.index()], is_backlogged);
        self.count = self.count + usize::from(is_backlogged) - usize::from(before);
    }

    /// Asks for a decision while a queue is backlogged, and checks the laws that the port relies on.
    fn ask(&self, now: Time) -> PyResult<Decision> {
        Python::attach(|py| {
            let answer = self.object.call_method1(py, "select", (seconds(now),))?.into_bound(py);
            if answer.is_none() {
                return Err(PyValueError::new_err(format!(
                    "select({}) returned None while {} queues hold packets; name one of them, or return Wait with an instant",
                    seconds(now),
                    self.count
                )));
            }
            if let Ok(wait) = answer.cast::<Wait>() {
                let until = instant(wait.get().until_s)?;
                return if until.is_after(now) {
                    Ok(Decision::WaitUntil(until))
                } else {
                    let (until_s, now_s) = (wait.get().until_s, seconds(now));
                    Err(PyValueError::new_err(format!("select({now_s}) returned Wait({until_s}); the instant has to be after now_s")))
                };
            }
            let named = answer.extract::<u32>().map_err(|_| {
                let what = answer.repr().map_or_else(|_| "an object".to_owned(), |text| text.to_string());
                PyTypeError::new_err(format!("select returned {what}; it returns the number of a queue, Wait or None"))
            })?;
            if self.backlogged.get(named as usize).copied().unwrap_or(false) {
                return Ok(Decision::Serve(Flow(named)));
            }
            Err(PyValueError::new_err(format!("select({}) named queue {named}, which holds no packet", seconds(now))))
        })
    }
}

impl Scheduler for PythonScheduler {
    fn activate(&mut self, now: Time, flow: Flow, head: Head) {
        self.set(flow, true);
        self.tell("activate", now, flow, Some(head));
    }

    fn select(&mut self, now: Time) -> Decision {
        if self.count == 0 || self.failed.judge().is_err() {
            return Decision::Idle;
        }
        self.ask(now).unwrap_or_else(|error| {
            self.failed.fail(error);
            Decision::Idle
        })
    }

    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.set(flow, next.is_some());
        self.tell("served", now, flow, next);
    }

    fn lost(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.set(flow, next.is_some());
        self.tell("lost", now, flow, next);
    }

    fn change(&mut self, _: Time, flow: Flow, _: &FlowParameters) -> Result<(), BuildError> {
        Err(BuildError { flow: Some(flow), parameter: Parameter::Weight, problem: "a scheduler of Python has its own parameters" })
    }

    fn forget(&mut self, _: Time, _: Flow) {}
}
