//! Takes all tombstones out of a wheel at once.

use crate::calendar::levels::{Entry, Pool};
use crate::calendar::overflow_queue::OverflowQueue;
use crate::calendar::run::{LOW, LOWEST};
use crate::calendar::wheel::{BITS, BUCKET, SWEEP_MINIMUM, SlotWheel};
use core::cmp::Ordering;
use tidegate_core::ready::log::Reader;

impl SlotWheel {
    /// Compares the share of tombstones among the entries that a sweep visits. In the list where it is greatest it is at least the share in
    /// all lists together.
    pub(crate) fn compare_worth(&self, other: &SlotWheel) -> Ordering {
        let looks = |list: &SlotWheel| list.listed + list.tombstones + SWEEP_MINIMUM;
        (self.tombstones * looks(other)).cmp(&(other.tombstones * looks(self)))
    }

    /// Rewrites the list with the entries that are no tombstones: those of which `is_there` is true.
    #[cold]
    pub(crate) fn sweep(&mut self, pool: &mut Pool, is_there: impl Fn(Entry) -> bool) {
        let base = self.base;
        let mut gone = 0;
        let mut is_kept = |word: u64| {
            let is_kept = is_there(Entry { key: base | word >> LOW, payload: word & LOWEST });
            gone += usize::from(!is_kept);
            is_kept
        };
        self.run.retain(&mut is_kept);
        self.table.retain(&mut is_kept);
        self.tombstones -= gone;
        let mut from = 0;
        while let Some(at) = self.bitmap.at_or_after(from) {
            from = at + 1;
            let mut log = core::mem::take(&mut self.near[at]);
            self.bitmap.clear(at);
            let ahead = if at < self.base_at { at + self.near.len() - self.base_at } else { at - self.base_at };
            let start = self.base.wrapping_add((ahead as u64) << BITS);
            while let Some((words, count)) = pool.pop(&mut log) {
                for word in &words[..count] {
                    self.keep(Entry { key: start | word >> LOW, payload: word & LOWEST }, &is_there, |wheel, entry| {
                        wheel.file_near(pool, entry);
                    });
                }
            }
        }
        for at in self.levels.places() {
            let mut log = self.levels.detach(at);
            while let Some((words, count)) = pool.pop(&mut log) {
                for entry in Entry::of_words(&words[..count]) {
                    self.keep(entry, &is_there, |wheel, entry| wheel.levels.put_back(pool, at, entry));
                }
            }
        }
        let mut overflow = core::mem::replace(&mut self.overflow, OverflowQueue::new(0));
        while let Some(entry) = overflow.pop(pool) {
            self.keep(entry, &is_there, |wheel, entry| {
                // Its log may have room now. There it stays before those that come later or are still to be moved down.
                if (BUCKET..wheel.span()).contains(&entry.key.wrapping_sub(wheel.base)) {
                    wheel.file_near(pool, entry);
                } else {
                    wheel.overflow.push(pool, entry);
                }
            });
        }
        self.overflow.take_over(overflow);
        self.has_overflow = !self.overflow.is_empty();
        self.update_bounds();
        self.soon = Reader::default();
    }

    fn keep(&mut self, entry: Entry, is_there: impl Fn(Entry) -> bool, put_back: impl FnOnce(&mut SlotWheel, Entry)) {
        if is_there(entry) {
            put_back(self, entry);
        } else {
            self.tombstones -= 1;
        }
    }
}
