//! What the parts of a divided network tell each other between two windows of time: packets that cross, and how long nothing happens.
//!
//! **Method.** Conservative synchronisation in windows (Nicol, The cost of conservative synchronization in parallel discrete event simulations, 1993).
//! Nothing that a part does after the earliest event of all reaches another part within the lookahead. So every part plays that long by itself, posts
//! what crosses, and waits for the others at a barrier.
//!
//! Mail and instants are kept twice, for even and odd windows: a part may post for the next window while another reads that of the present one. It
//! cannot be two windows ahead, for the barrier of the next comes between.

use super::packet::InFlight;
use crate::tcp::receiving_end::Transfer;
use crate::tcp::segment::Message;
use crate::time::NEVER;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How often a thread looks whether the others have come before it sleeps: some ten microseconds.
const SPINS: u32 = 4000;

/// What crosses from one part to another in a window.
#[derive(Default)]
pub(super) struct Mail {
    /// Packets, each with its link; those of a link in their order.
    pub packets: Vec<(u32, InFlight)>,
    /// The messages of those packets that have one, in the same order.
    pub messages: Vec<Message>,
    /// Transfers that begin, each with the number of its connection.
    pub transfers: Vec<(u32, Transfer)>,
    /// The earliest arrival of a packet.
    pub earliest: u64,
}

impl Mail {
    pub(super) fn clear(&mut self) {
        self.packets.clear();
        self.messages.clear();
        self.transfers.clear();
        self.earliest = NEVER;
    }
}

/// Another part has failed, or was cancelled.
#[derive(Debug)]
pub(super) struct Closed;

pub(super) struct Exchange {
    parts: usize,
    /// By parity, sender and receiver.
    mail: [Vec<Mutex<Mail>>; 2],
    /// By parity and part, the next event that it knows of, or has caused elsewhere.
    next: [Vec<AtomicU64>; 2],
    barrier: Barrier,
}

impl Exchange {
    pub(super) fn new(parts: usize) -> Exchange {
        let mail = || (0..parts * parts).map(|_| Mutex::new(Mail { earliest: NEVER, ..Mail::default() })).collect();
        let next = || (0..parts).map(|_| AtomicU64::new(NEVER)).collect();
        Exchange { parts, mail: [mail(), mail()], next: [next(), next()], barrier: Barrier::new(parts) }
    }

    /// Posts what a part has for each other one, whose next event is at `next`, and waits until all have. `out` is empty afterwards. Returns the
    /// earliest event of all parts.
    ///
    /// # Errors
    /// [`Closed`].
    pub(super) fn post(&self, part: usize, window: u64, mut next: u64, out: &mut [Mail]) -> Result<u64, Closed> {
        let parity = (window & 1) as usize;
        for (to, mail) in out.iter_mut().enumerate().filter(|(to, _)| *to != part) {
            next = next.min(mail.earliest);
            std::mem::swap(mail, &mut lock(&self.mail[parity][part * self.parts + to]));
            mail.clear();
        }
        self.next[parity][part].store(next, Ordering::Release);
        self.barrier.wait()?;
        Ok(self.next[parity].iter().map(|next| next.load(Ordering::Acquire)).min().unwrap_or(NEVER))
    }

    /// What the others have posted to a part in this window, in the order of their numbers.
    pub(super) fn take(&self, part: usize, window: u64) -> impl Iterator<Item = MutexGuard<'_, Mail>> {
        let parity = (window & 1) as usize;
        (0..self.parts).filter(move |from| *from != part).map(move |from| lock(&self.mail[parity][from * self.parts + part]))
    }

    /// Lets no part wait any more.
    pub(super) fn close(&self) {
        self.barrier.close();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere ends this part, too.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where all parts wait for each other: first awake, then asleep.
struct Barrier {
    parts: usize,
    arrived: AtomicUsize,
    /// The number of times that all have arrived.
    round: AtomicUsize,
    is_closed: AtomicBool,
    sleepers: Mutex<()>,
    awake: Condvar,
}

impl Barrier {
    fn new(parts: usize) -> Barrier {
        Barrier {
            parts,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            is_closed: AtomicBool::new(false),
            sleepers: Mutex::new(()),
            awake: Condvar::new(),
        }
    }

    fn wait(&self) -> Result<(), Closed> {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parts {
            self.arrived.store(0, Ordering::Relaxed);
            let guard = lock(&self.sleepers);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            drop(guard);
            self.awake.notify_all();
            return Ok(());
        }
        let is_over = || self.round.load(Ordering::Acquire) != round || self.is_closed.load(Ordering::Acquire);
        for _ in 0..SPINS {
            if is_over() {
                break;
            }
            std::hint::spin_loop();
        }
        let mut guard = lock(&self.sleepers);
        while !is_over() {
            guard = self.awake.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        if self.round.load(Ordering::Acquire) == round { Err(Closed) } else { Ok(()) }
    }

    fn close(&self) {
        let guard = lock(&self.sleepers);
        self.is_closed.store(true, Ordering::Release);
        drop(guard);
        self.awake.notify_all();
    }
}

#[cfg(test)]
mod tests;
