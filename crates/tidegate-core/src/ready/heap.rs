//! PLACEHOLDER to be replaced by the ready-list author: indexed binary heap, exact keys.

use super::ReadyList;
use crate::packet::Flow;
use alloc::vec::Vec;

/// An indexed binary heap.
#[derive(Clone, Debug)]
pub struct Heap {
    entries: Vec<(u64, u64, u32)>,
    position: Vec<u32>,
    inserted: u64,
}

const ABSENT: u32 = u32::MAX;

impl Heap {
    /// An empty list for flows below `flows`.
    pub fn new(flows: usize) -> Heap {
        Heap { entries: Vec::with_capacity(flows), position: alloc::vec![ABSENT; flows], inserted: 0 }
    }

    fn before(a: &(u64, u64, u32), b: &(u64, u64, u32)) -> bool {
        let d = a.0.wrapping_sub(b.0) as i64;
        d < 0 || (d == 0 && a.1 < b.1)
    }

    fn swap(&mut self, i: usize, j: usize) {
        self.entries.swap(i, j);
        self.position[self.entries[i].2 as usize] = i as u32;
        self.position[self.entries[j].2 as usize] = j as u32;
    }

    fn up(&mut self, mut i: usize) {
        while i > 0 && Heap::before(&self.entries[i], &self.entries[(i - 1) / 2]) {
            self.swap(i, (i - 1) / 2);
            i = (i - 1) / 2;
        }
    }

    fn down(&mut self, mut i: usize) {
        loop {
            let mut least = i;
            for child in [2 * i + 1, 2 * i + 2] {
                if child < self.entries.len() && Heap::before(&self.entries[child], &self.entries[least]) {
                    least = child;
                }
            }
            if least == i {
                return;
            }
            self.swap(i, least);
            i = least;
        }
    }
}

impl ReadyList for Heap {
    fn insert(&mut self, flow: Flow, key: u64) {
        debug_assert_eq!(self.position[flow.index()], ABSENT);
        self.position[flow.index()] = self.entries.len() as u32;
        self.entries.push((key, self.inserted, flow.0));
        self.inserted += 1;
        self.up(self.entries.len() - 1);
    }

    fn remove(&mut self, flow: Flow) -> bool {
        let at = self.position[flow.index()];
        if at == ABSENT {
            return false;
        }
        let last = self.entries.len() - 1;
        self.swap(at as usize, last);
        self.entries.pop();
        self.position[flow.index()] = ABSENT;
        if (at as usize) < last {
            self.up(at as usize);
            self.down(at as usize);
        }
        true
    }

    fn first(&mut self) -> Option<(u64, Flow)> {
        self.entries.first().map(|e| (e.0, Flow(e.2)))
    }

    fn len(&self) -> usize {
        self.entries.len()
    }
}
