//! A simulation in threads of its own, while the caller's thread looks after signals and progress.

use crate::error::refused;
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;
use tidegate_cli::Failure;
use tidegate_report::Report;

/// The time between two looks at signals and progress.
const WATCH_INTERVAL: Duration = Duration::from_millis(50);

/// Simulates every variant without the GIL. A signal or an exception of `progress` ends the simulation, and is raised.
pub fn run(
    py: Python<'_>,
    scenario: &tidegate_scenario::Scenario,
    seed: Option<u64>,
    replications: Option<u32>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Report> {
    let progress = progress.map(|callable| callable.clone().unbind());
    let (done, cancel) = (AtomicU64::new(0), AtomicBool::new(false));
    let note = |fraction: f64| done.store(fraction.to_bits(), Ordering::Relaxed);
    let outcome = py.detach(|| {
        thread::scope(|scope| {
            let (end, has_ended) = mpsc::channel::<()>();
            let simulation = scope.spawn(|| {
                // Dropped at the end of the thread, however it ends.
                let _end = end;
                tidegate_cli::simulate(scenario, seed, replications, &note, &cancel)
            });
            let mut told = 0;
            let mut watch = || {
                Python::attach(|py| {
                    py.check_signals()?;
                    let now = done.load(Ordering::Relaxed);
                    if let Some(progress) = progress.as_ref().filter(|_| now != told) {
                        told = now;
                        progress.call1(py, (f64::from_bits(now),))?;
                    }
                    Ok::<(), PyErr>(())
                })
            };
            while has_ended.recv_timeout(WATCH_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if let Err(raised) = watch() {
                    cancel.store(true, Ordering::Relaxed);
                    return Err(raised);
                }
            }
            watch()?;
            simulation.join().map_err(|_| PyRuntimeError::new_err("defect in tidegate, please report it: the simulation panicked"))
        })
    })?;
    outcome.map_err(|failure| match failure {
        Failure::BadInput(text) | Failure::Findings(text) => refused(py, text),
        Failure::Environment(text) => PyOSError::new_err(text),
        defect => PyRuntimeError::new_err(defect.to_string()),
    })
}
