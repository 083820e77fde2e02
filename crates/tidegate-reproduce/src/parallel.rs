//! Runs of an experiment, several at once: their order and results do not depend on the number of threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The outcomes of all cases in their order. Calls `progress` with the part that is done.
pub fn run_all<C: Sync, R: Clone + Send>(cases: &[C], run: impl Fn(&C) -> R + Sync, progress: &dyn Fn(f64)) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(cases.len().max(1));
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<R>>> = Mutex::new(vec![None; cases.len()]);
    let work = || {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let result = run(cases.get(index)?);
        results.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(result);
        Some(())
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| while work().is_some() {});
        }
        // This thread tells of the progress.
        while work().is_some() {
            progress(next.load(Ordering::Relaxed).min(cases.len()) as f64 / cases.len() as f64);
        }
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}
