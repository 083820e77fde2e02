//! Instants in Python: seconds from 0 to a million.
//!
//! A number is rounded to the nearest picosecond. An instant of a port becomes the least number that is not before it, so a call at that number finds
//! everything done that was due.

use pyo3::PyResult;
use pyo3::exceptions::PyValueError;
use tidegate_core::units::Time;

/// The latest instant, in seconds: numbers are then at most 0.12 ns apart.
const LATEST_S: f64 = 1e6;

/// The instant closest to this number of seconds.
pub fn instant(now_s: f64) -> PyResult<Time> {
    if (0.0..=LATEST_S).contains(&now_s) {
        return Ok(Time::from_picoseconds((now_s * 1e12).round() as u64));
    }
    Err(PyValueError::new_err(format!("an instant is {now_s} s; it is from 0 to {LATEST_S} s")))
}

/// The least number of seconds that is not before this instant.
pub fn seconds(instant: Time) -> f64 {
    let picoseconds = instant.picoseconds();
    let mut seconds = picoseconds as f64 / 1e12;
    while ((seconds * 1e12).round() as u64) < picoseconds {
        seconds = seconds.next_up();
    }
    seconds
}
