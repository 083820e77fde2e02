//! Work on all cores.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs `job` on every item, as many at a time as there are cores, and gives the answers in order.
pub fn at_once<Item: Sync, Answer: Send>(items: &[Item], job: impl Fn(&Item) -> Answer + Sync) -> Vec<Answer> {
    let next = AtomicUsize::new(0);
    let answers = Mutex::new(Vec::new());
    let work = || {
        while let Some((number, item)) = items.iter().enumerate().nth(next.fetch_add(1, Ordering::Relaxed)) {
            let answer = job(item);
            answers.lock().expect("no job panics").push((number, answer));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut answers = answers.into_inner().expect("no job panics");
    answers.sort_by_key(|(number, _)| *number);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_the_order_of_the_questions() {
        let items: Vec<u32> = (0..50).collect();
        assert_eq!(at_once(&items, |item| item * 2), items.iter().map(|item| item * 2).collect::<Vec<_>>());
    }
}
