//! The cell scheduler of the paper on binary heaps, exact for every conflict policy and sharing rule: the oracle of the planner.
//!
//! **Law.** The laws of [`CellScheduler`], and in every slot the choice of [`Conflict`], to the tick.
//!
//! **Source.** Schiller and Gunningberg, sections 3 (the cycle), 4.1 (conflicts) and 4.2 (the ready list).
//!
//! **State.** 8 bytes per connection for the ready list (slot and number), 8 for the order of insertion, 82 for the connection. With
//! [`Conflict::Tolerance`] and [`Conflict::Priority`] 32 more for every connection that was due at the same time as others, allocated when needed.
//!
//! **Cost.** O(log n) per cell: one removal and one insertion, or two of each where a second heap orders those that are due.
//!
//! **RTL twin.** None yet.
//!
//! **Deviations.** A heap ordered by slot does not order several cells that are due. Under [`Conflict::Lazy`] and [`Conflict::NextFree`]
//! one heap is enough, as in the paper: cells of one slot compare by planned time and order of insertion. The other two policies move
//! connections that are due to a second heap, one per class. If the clock of a class fell behind after an entry was made, the entry is
//! filed again when it comes up. A removed connection leaves the heap when its slot comes, and its number is then free.

pub(crate) mod binary_heap;

use crate::conflict::{Bookings, Conflict};
use crate::connection::Connection;
use crate::connections::Connections;
use crate::connections::departure::{Booked, Departure};
use crate::contract::CellContract;
use crate::heap::binary_heap::{BinaryHeap, Work};
use crate::scheduler::{Adapter, CellError, CellScheduler, CellSetup, Counts};
use crate::shaping::{Place, State};
use crate::time::{slot_from, start_of};
use alloc::vec;
use alloc::vec::Vec;
use tidegate_core::serial::is_before;
use tidegate_core::sharing::{CLASSES, RateScaling, Sharing};

#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Modulo 2^32, compared serially.
    slot: u32,
    connection: u32,
}

const _: () = assert!(size_of::<Waiting>() == 8, "512 kB for 64k connections");

/// An entry of the heap of connections that are due.
#[derive(Clone, Copy, Debug)]
struct Due {
    key: u64,
    planned: u64,
    insertion: u64,
    connection: u32,
}

/// The reference scheduler.
///
/// ```
/// use tidegate_cells::{CellContract, CellScheduler, CellSetup, Conflict, HeapScheduler, RateScaling, Ticks};
/// let setup = CellSetup { connections: 2, pdus: 2, transfer: None };
/// let mut scheduler = HeapScheduler::new(&setup, Conflict::Lazy, RateScaling::strict());
/// let every = |slots| CellContract::constant(Ticks::slots(slots));
/// let (a, b) = (scheduler.add(&every(2)).unwrap(), scheduler.add(&every(3)).unwrap());
/// scheduler.post(a, 3, 0, &mut ()).unwrap();
/// scheduler.post(b, 2, 0, &mut ()).unwrap();
/// let sent: Vec<_> = (0..6).map(|slot| scheduler.send(slot, &mut ())).collect();
/// assert_eq!(sent, [Some(a), Some(b), Some(a), Some(b), Some(a), None]);
/// ```
#[derive(Clone, Debug)]
pub struct HeapScheduler<S = RateScaling> {
    connections: Connections<S>,
    conflict: Conflict,
    waiting: BinaryHeap<Waiting>,
    due: Vec<BinaryHeap<Due>>,
    /// The count of insertions when each connection was last put on the ready list.
    inserted: Vec<u64>,
    insertions: u64,
    bookings: Bookings,
    work: Work,
}

impl<S: Sharing> HeapScheduler<S> {
    /// A scheduler without connections.
    pub fn new(setup: &CellSetup, conflict: Conflict, sharing: S) -> HeapScheduler<S> {
        let connections = Connections::new(setup, sharing);
        let limit = connections.limit();
        let is_split = matches!(conflict, Conflict::Tolerance | Conflict::Priority);
        HeapScheduler {
            waiting: BinaryHeap::with_capacity(limit),
            due: (0..if is_split { CLASSES } else { 0 }).map(|_| BinaryHeap::with_capacity(0)).collect(),
            inserted: vec![0; limit],
            insertions: 0,
            bookings: Bookings::default(),
            work: Work::default(),
            connections,
            conflict,
        }
    }

    /// The work of the heaps so far.
    pub fn work(&self) -> Work {
        self.work
    }

    /// Cells on the adapter, cells under way, and free buffers. O(n).
    pub fn buffers(&self) -> (u64, u64, u64) {
        self.connections.buffers(0, 0)
    }

    /// What limits the next cell of a connection; `None` if it is inactive.
    ///
    /// # Errors
    /// [`CellError::NoSuchConnection`].
    pub fn state(&self, connection: Connection) -> Result<Option<State>, CellError> {
        self.connections.state(connection)
    }

    /// The sharing rule.
    pub fn sharing(&self) -> &S {
        &self.connections.sharing
    }

    /// Puts a connection on the ready list for its planned time, or for slot `now` if that has passed.
    fn insert(&mut self, index: usize, now: u64) {
        self.inserted[index] = self.insertions;
        self.insertions += 1;
        self.file(index, now);
    }

    /// The same for a connection that keeps its order among ties.
    fn file(&mut self, index: usize, now: u64) {
        let slot = slot_from(self.connections.due(index), now);
        let slot = match self.conflict {
            Conflict::NextFree => self.bookings.book(slot.max(now)),
            _ => slot,
        };
        let entry = Waiting { slot: slot as u32, connection: index as u32 };
        let HeapScheduler { waiting, connections, inserted, work, .. } = self;
        waiting.push(entry, work, |a, b, work| leaves_before(connections, inserted, a, b, work));
    }

    /// Takes the first connection off the ready list if its slot has come.
    #[inline]
    fn pop_waiting(&mut self, now: u64) -> Option<usize> {
        let first = self.waiting.first()?;
        if (now as u32).wrapping_sub(first.slot) as i32 >= 0 {
            let HeapScheduler { waiting, connections, inserted, work, .. } = self;
            let entry = waiting.pop(work, |a, b, work| leaves_before(connections, inserted, a, b, work))?;
            return Some(entry.connection as usize);
        }
        None
    }

    /// True if a connection that comes up still exists and is still due. Otherwise it is filed again, or its number is released.
    fn is_due(&mut self, index: usize, now: u64) -> bool {
        if self.connections.lines[index].shaping.place == Place::Dead {
            self.connections.release(index);
            return false;
        }
        if is_before(start_of(now), self.connections.due(index)) {
            self.file(index, now);
            return false;
        }
        true
    }

    /// The next connection that is due, under a policy that needs one heap.
    fn next_of_one(&mut self, now: u64) -> Option<usize> {
        loop {
            let slot = self.waiting.first()?.slot;
            let index = self.pop_waiting(now)?;
            if !self.is_due(index, now) {
                continue;
            }
            // The clock of the class may have fallen behind since: the entry is too early, but due.
            let due = slot_from(self.connections.due(index), now) as u32;
            if self.conflict == Conflict::Lazy && due.wrapping_sub(slot) as i32 > 0 {
                self.file(index, now);
                continue;
            }
            return Some(index);
        }
    }

    /// The next connection that is due, under a policy that needs two.
    fn next_of_two(&mut self, now: u64) -> Option<usize> {
        while let Some(index) = self.pop_waiting(now) {
            if !self.is_due(index, now) {
                continue;
            }
            let shaping = &self.connections.lines[index].shaping;
            let planned = shaping.next();
            let key = if self.conflict == Conflict::Tolerance { planned.wrapping_add(shaping.tolerance().0) } else { planned };
            let entry = Due { key, planned, insertion: self.inserted[index], connection: index as u32 };
            self.due[usize::from(shaping.class)].push(entry, &mut self.work, |a, b, _| goes_before(a, b));
        }
        loop {
            let class = self.first_class(now)?;
            let entry = self.due[class].pop(&mut self.work, |a, b, _| goes_before(a, b))?;
            let index = entry.connection as usize;
            if self.is_due(index, now) {
                return Some(index);
            }
        }
    }

    fn first_class(&self, now: u64) -> Option<usize> {
        let sharing = &self.connections.sharing;
        let mut occupied = (0..CLASSES).filter(|&class| self.due[class].first().is_some());
        if let Some(owed) = occupied.clone().find(|&class| sharing.owed(class).is_some_and(|owed| !is_before(start_of(now), owed))) {
            return Some(owed);
        }
        if self.conflict == Conflict::Priority {
            return occupied.next();
        }
        // Keys are on the clocks of their classes; they are compared in real time.
        let real = |class: usize| {
            let delay = sharing.delay(class);
            self.due[class].first().map(|due| Due { key: due.key.wrapping_add(delay), planned: due.planned.wrapping_add(delay), ..*due })
        };
        occupied.reduce(|best, class| match (real(best), real(class)) {
            (Some(first), Some(other)) if goes_before(&other, &first) => class,
            _ => best,
        })
    }
}

/// The order of the ready list: by slot, within a slot by planned time, then by insertion.
#[inline]
fn leaves_before<S: Sharing>(connections: &Connections<S>, inserted: &[u64], a: &Waiting, b: &Waiting, work: &mut Work) -> bool {
    if a.slot != b.slot {
        return (a.slot.wrapping_sub(b.slot) as i32) < 0;
    }
    work.ties += 1;
    let (a, b) = (a.connection as usize, b.connection as usize);
    let (due_a, due_b) = (connections.due(a), connections.due(b));
    if due_a == due_b { inserted[a] < inserted[b] } else { is_before(due_a, due_b) }
}

/// The order of connections that are due.
#[inline]
fn goes_before(a: &Due, b: &Due) -> bool {
    if a.key != b.key {
        is_before(a.key, b.key)
    } else if a.planned != b.planned {
        is_before(a.planned, b.planned)
    } else {
        a.insertion < b.insertion
    }
}

impl<S: Sharing> CellScheduler for HeapScheduler<S> {
    fn add(&mut self, contract: &CellContract) -> Result<Connection, CellError> {
        self.connections.add(contract)
    }

    fn change(&mut self, connection: Connection, contract: &CellContract, _now: u64) -> Result<(), CellError> {
        self.connections.change(connection, contract)
    }

    fn remove(&mut self, connection: Connection, now: u64, adapter: &mut impl Adapter) -> Result<(), CellError> {
        let index = self.connections.find(connection)?;
        if !self.connections.remove(index, now, adapter) {
            self.connections.release(index);
        }
        Ok(())
    }

    fn post(&mut self, connection: Connection, cells: u32, now: u64, adapter: &mut impl Adapter) -> Result<(), CellError> {
        if self.connections.post(connection, cells, now, adapter)? {
            self.insert(connection.index(), now);
        }
        Ok(())
    }

    fn arrived(&mut self, connection: Connection, cells: u32, now: u64, adapter: &mut impl Adapter) {
        if self.connections.arrived(connection, cells, now, adapter) {
            self.insert(connection.index(), now);
        }
    }

    fn send(&mut self, now: u64, adapter: &mut impl Adapter) -> Option<Connection> {
        self.bookings.forget_before(now);
        loop {
            let index = match self.conflict {
                Conflict::Lazy | Conflict::NextFree => self.next_of_one(now)?,
                Conflict::Tolerance | Conflict::Priority => self.next_of_two(now)?,
            };
            let (connection, class) = (self.connections.connection(index), self.connections.class(index));
            if !self.connections.is_ready(index) {
                self.connections.count_underrun(index, now, adapter);
                continue;
            }
            let Booked { late, is_low, is_last, .. } = self.connections.book(index, class, now);
            let mut departure = Departure::new(connection.pack(), late);
            if is_last {
                departure.end(self.connections.finish_pdu(index));
            }
            self.connections.depart(&departure, now, adapter);
            if is_low {
                self.connections.fetch(index, now, adapter);
            }
            if departure.is_followed() {
                self.insert(index, now + 1);
            }
            return Some(departure.connection());
        }
    }

    fn next_slot(&self, now: u64) -> Option<u64> {
        if self.due.iter().any(|due| due.first().is_some()) {
            return Some(now);
        }
        let ahead = self.waiting.first()?.slot.wrapping_sub(now as u32) as i32;
        Some(now + ahead.max(0) as u64)
    }

    fn counts(&self) -> Counts {
        self.connections.counts
    }

    fn refresh(&mut self, now: u64) {
        self.connections.refresh(now);
    }
}

#[cfg(test)]
impl<S: Sharing> crate::tests::harness::Inspect for HeapScheduler<S> {
    fn buffers(&self) -> (u64, u64, u64) {
        self.connections.buffers(0, 0)
    }

    fn is_any_due(&self, now: u64) -> bool {
        self.connections.is_any_due(now)
    }

    fn planned(&self, _: Connection) -> usize {
        0
    }
}
