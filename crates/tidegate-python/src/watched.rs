//! Long work in a thread of its own, while the caller's thread looks after signals and progress.

use crate::error::{refused, scenario_error};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;
use tidegate_cli::Failure;

/// The time between two looks at signals and progress.
const WATCH_INTERVAL: Duration = Duration::from_millis(50);

/// Does work that tells how far it is, without the GIL. A signal or an exception of `progress` ends the work, and is raised.
pub fn watched<Done: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&(dyn Fn(f64) + Sync), &AtomicBool) -> Result<Done, Failure> + Send,
) -> PyResult<Done> {
    let progress = progress.map(|callable| callable.clone().unbind());
    let (done, cancel) = (AtomicU64::new(0), AtomicBool::new(false));
    let note = |fraction: f64| done.store(fraction.to_bits(), Ordering::Relaxed);
    let outcome = py.detach(|| {
        thread::scope(|scope| {
            let (end, has_ended) = mpsc::channel::<()>();
            let (note, cancel) = (&note, &cancel);
            let worker = scope.spawn(move || {
                // Dropped at the end of the thread, however it ends.
                let _end = end;
                work(note, cancel)
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
            worker.join().map_err(|_| PyRuntimeError::new_err("defect in tidegate, please report it: a thread panicked"))
        })
    })?;
    outcome.map_err(|failure| exception(py, failure))
}

/// A failure as Python raises it.
pub fn exception(py: Python<'_>, failure: Failure) -> PyErr {
    match failure {
        Failure::BadInput(text) => refused(py, text),
        Failure::Findings(problems) => scenario_error(py, &problems),
        Failure::Environment(text) => PyOSError::new_err(text),
        defect @ Failure::Defect(_) => PyRuntimeError::new_err(defect.to_string()),
    }
}
