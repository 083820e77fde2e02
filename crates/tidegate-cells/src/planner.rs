//! The fast cell scheduler: plans a window of slots at a time, class by class, with one machine word as the calendar of the slots.
//!
//! **Law.** The laws of [`CellScheduler`], and the order of [`Conflict::Priority`](crate::conflict::Conflict::Priority): within a class the
//! earliest planned time first. With a window of one slot the schedule is that of [`crate::heap::HeapScheduler`], slot by slot. With a longer
//! one it is the same if events from outside come between windows, and if classes do not share their grants. An event within a window can
//! only take free slots of it, so its cells are at most a window later.
//!
//! **Source.** The cycle of Schiller and Gunningberg, section 3; planning by windows is this project's.
//!
//! **State.** Per connection one cache line that a cell touches, 18 bytes that it does not, 6 for a PDU, and one or two words in the logs of
//! a [`SlotWheel`]. Each class has a wheel in its own time; all share the logs' chunks. From 65,536 connections on, that is at most 128 bytes
//! each. A kilobyte for the window.
//!
//! **Cost.** O(1) per cell, whatever the number of connections: the connection's line, which is prefetched, and the ready list.
//! Planning a window of one class before the next keeps one ready list in the cache at a time.
//!
//! **RTL twin.** None yet; the calendar is a 64-bit priority encoder.
//!
//! **Deviations.** A connection is shaped and its transfers are requested when its cell is planned, up to a window before the cell leaves. A
//! planned cell may still be on its way to the adapter; an underrun is counted on arrival, if it arrives after its slot. Slots that the
//! environment takes away hold the planner's clock, so that planned cells keep their distance. Slots that were planned for a removed
//! connection stay empty. Where a class has a minimum share, slots are planned one by one.

use crate::calendar::levels::{Entry, Pool};
use crate::calendar::wheel::SlotWheel;
use crate::connection::Connection;
use crate::connections::Connections;
use crate::connections::departure::Departure;
use crate::contract::CellContract;
use crate::scheduler::{Adapter, CellError, CellScheduler, CellSetup, Counts};
use crate::shaping::{Place, State};
use crate::time::{slot_from, start_of};
use alloc::boxed::Box;
use class_plan::{ClassPlan, FreeSlots, WINDOW, Window, plan_cell};
use tidegate_core::serial::is_before;
use tidegate_core::sharing::{CLASSES, RateScaling, Sharing};

mod class_plan;

/// The planning scheduler.
///
/// ```
/// use tidegate_cells::{CellContract, CellScheduler, CellSetup, Planner, RateScaling, Ticks};
/// let setup = CellSetup { connections: 2, pdus: 2, transfer: None };
/// let mut scheduler: Planner = Planner::new(&setup, RateScaling::strict());
/// let every = |slots| CellContract::constant(Ticks::slots(slots));
/// let (a, b) = (scheduler.add(&every(2)).unwrap(), scheduler.add(&every(3)).unwrap());
/// scheduler.post(a, 3, 0, &mut ()).unwrap();
/// scheduler.post(b, 2, 0, &mut ()).unwrap();
/// let sent: Vec<_> = (0..6).map(|slot| scheduler.send(slot, &mut ())).collect();
/// assert_eq!(sent, [Some(a), Some(b), Some(a), Some(b), Some(a), None]);
/// ```
#[derive(Clone, Debug)]
pub struct Planner<S = RateScaling> {
    connections: Connections<S>,
    /// One per class that any connection has been in.
    lists: [Option<Box<SlotWheel>>; CLASSES],
    pool: Pool,
    /// The first slot of the window in the environment's count, if no slot has been taken away since.
    start: u64,
    /// The length of the window; 0 before the first.
    length: u32,
    longest: u32,
    /// The first slot of the window that has not passed.
    open: u64,
    /// A bit per slot of the window that is or was taken.
    taken: u64,
    /// The value of `open` at the last accounting: since then a cell has left in every slot.
    accounted: u64,
    /// A bit per slot from `accounted` on in which a cell leaves: all taken ones, except those of removed connections.
    planned: u64,
    /// A bit per slot from `open` on in which a cell leaves that ends no PDU and whose buffer no connection waits for.
    plain: u64,
    /// A bit per slot of the window in which the last cell of a PDU leaves.
    last: u64,
    window: Window,
}

impl<S: Sharing> Planner<S> {
    /// A scheduler without connections, with windows of 64 slots.
    pub fn new(setup: &CellSetup, sharing: S) -> Planner<S> {
        Planner::with_window(setup, WINDOW, sharing)
    }

    /// The same with windows of this many slots, clamped to 1 to 64.
    pub fn with_window(setup: &CellSetup, slots: u32, sharing: S) -> Planner<S> {
        Planner {
            connections: Connections::new(setup, sharing),
            lists: [const { None }; CLASSES],
            pool: Pool::new(),
            start: 0,
            length: 0,
            longest: slots.clamp(1, WINDOW),
            open: 0,
            taken: 0,
            accounted: 0,
            planned: 0,
            plain: 0,
            last: 0,
            window: [Departure::default(); WINDOW as usize],
        }
    }

    /// Cells on the adapter, cells under way, and free buffers. O(n).
    pub fn buffers(&self) -> (u64, u64, u64) {
        let left = self.unaccounted();
        self.connections.buffers(self.planned.count_ones() - left, left)
    }

    /// The limit on the next cell of a connection that is not planned yet; `None` if it is inactive.
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

    fn open_class(&mut self, contract: &CellContract) {
        let class = usize::from(contract.class);
        if self.lists[class].is_none() {
            let limit = self.connections.limit();
            self.lists[class] = Some(Box::new(SlotWheel::new(limit)));
            self.pool.reserve(SlotWheel::chunks(limit, self.lists.iter().flatten().count()));
        }
    }

    fn list(&mut self, index: usize) {
        let (class, key) = (self.connections.class(index), self.connections.lines[index].shaping.next());
        if let Some(list) = &mut self.lists[class] {
            list.add(&mut self.pool, Entry::new(key, self.connections.connection(index)));
        }
    }

    /// Takes a connection off the ready list of a class; sweeps a list if there are too many tombstones.
    fn unlist(&mut self, class: usize) {
        let Planner { connections, lists, pool, .. } = self;
        if let Some(list) = &mut lists[class] {
            list.remove();
        }
        let tombstones: usize = lists.iter().flatten().map(|list| list.tombstones()).sum();
        if tombstones <= SlotWheel::most_tombstones(connections.limit()) {
            return;
        }
        let lists = (0..).zip(lists).filter_map(|(class, list)| Some((class, list.as_deref_mut()?)));
        if let Some((class, list)) = lists.max_by(|(_, list), (_, other)| list.compare_worth(other)) {
            list.sweep(pool, |entry| connections.is_listed(entry.connection(), class, entry.key));
        }
    }

    /// Puts a connection on the ready list of its class, and plans it if its time is within the window.
    fn insert(&mut self, index: usize, now: u64, adapter: &mut impl Adapter) {
        self.list(index);
        if self.offset(now) < u64::from(self.length) {
            self.plan(now, adapter);
        }
    }

    /// The place in the window of the environment's slot `now`; may be after the end of the window.
    #[inline]
    fn offset(&self, now: u64) -> u64 {
        now.wrapping_sub(self.start)
    }

    /// Fills the free slots of the window with cells that are due in it.
    fn plan(&mut self, now: u64, adapter: &mut impl Adapter) {
        if (0..CLASSES).any(|class| self.lists[class].is_some() && self.connections.sharing.owed(class).is_some()) {
            return self.plan_slot_by_slot(now, adapter);
        }
        for class in 0..CLASSES {
            if self.lists[class].is_some() {
                self.plan_class(class, now, adapter);
            }
        }
    }

    /// The same for one class, whose order nothing can change.
    fn plan_class(&mut self, class: usize, now: u64, adapter: &mut impl Adapter) {
        let start = self.start.wrapping_sub(self.connections.held);
        let free = self.not_passed(!self.taken) & !0 >> (WINDOW - self.length);
        let Planner { connections, lists, pool, window, last, .. } = self;
        let (Some(list), Some(slots)) = (lists[class].as_deref_mut(), FreeSlots::new(free, start)) else { return };
        let mut plan = ClassPlan { class, connections, list, pool, window, slots };
        plan.run(last, now, adapter);
        let taken = free & !plan.slots.free;
        self.taken |= taken;
        self.planned |= taken >> self.open;
    }

    /// The same where a class may be owed a slot.
    fn plan_slot_by_slot(&mut self, now: u64, adapter: &mut impl Adapter) {
        for at in self.open as u32..self.length {
            while self.taken & 1 << at == 0 {
                let slot = self.start.wrapping_sub(self.connections.held).wrapping_add(u64::from(at));
                let mut is_due = [false; CLASSES];
                for (class, is_due) in is_due.iter_mut().enumerate() {
                    *is_due = self.is_due(class, slot);
                }
                let owed = |class: usize| self.connections.sharing.owed(class).is_some_and(|owed| !is_before(start_of(slot), owed));
                let first = (0..CLASSES).find(|&class| is_due[class] && owed(class)).or_else(|| is_due.iter().position(|&is_due| is_due));
                let Some(class) = first else { break };
                let Planner { connections, lists, pool, window, .. } = self;
                let Some(list) = lists[class].as_deref_mut() else { break };
                let Some(entry) = list.take(pool, |_| (), |_| ()) else { break };
                if list.has_tombstones() && !connections.is_listed(entry.connection(), class, entry.key) {
                    list.tombstone_taken();
                } else if plan_cell(connections, list, pool, class, entry, slot, &mut window[at as usize], now, adapter) {
                    self.taken |= 1 << at;
                    self.planned |= 1 << at >> self.open;
                    self.last |= u64::from(self.window[at as usize].ends_pdu()) << at;
                }
            }
        }
    }

    /// True if the first connection of a class is due in a slot; its list is open for it then.
    fn is_due(&mut self, class: usize, slot: u64) -> bool {
        let Some(list) = self.lists[class].as_deref_mut() else { return false };
        list.open(start_of(slot).wrapping_sub(self.connections.sharing.delay(class)));
        list.is_due(&mut self.pool)
    }

    /// Holds the planner's clock if slots have passed that were planned and not offered.
    #[inline]
    fn hold(&mut self, now: u64) {
        let missed = self.offset(now).min(u64::from(self.length));
        let first = u64::from(self.not_passed(self.taken).trailing_zeros());
        if first < missed {
            let missed = self.offset(now) - first;
            self.connections.held += missed;
            self.start = self.start.wrapping_add(missed);
        }
    }

    /// Advances to slot `now`, which is not the next one, has no cell, or is after the window: then a new window begins. Returns the place of
    /// the slot; `None` if no cell leaves in it.
    fn enter_slot(&mut self, now: u64, adapter: &mut impl Adapter) -> Option<u64> {
        self.hold(now);
        let mut at = self.offset(now);
        if at >= u64::from(self.length) {
            self.start = now;
            self.length = self.longest;
            (self.open, self.accounted, self.taken, self.planned, self.last) = (0, 0, 0, 0, 0);
            self.plan(now, adapter);
            at = 0;
        }
        // A slot that has been offered already gets no second cell.
        self.planned >>= at.checked_sub(self.open)?;
        self.open = at;
        if self.planned & 1 == 1 {
            return Some(at);
        }
        self.open += 1;
        self.planned >>= 1;
        None
    }

    /// [`CellScheduler::send`] in a slot that needs more than sending a cell.
    #[inline(never)]
    fn send_with_accounting(&mut self, now: u64, adapter: &mut impl Adapter) -> Option<Connection> {
        self.account();
        let sent = self.enter_slot(now, adapter).map(|at| {
            (self.open, self.accounted) = (at + 1, at + 1);
            self.planned >>= 1;
            let mut departure = self.window[at as usize % WINDOW as usize];
            if !departure.is_followed() && self.planned_for(departure.connection()) != 0 {
                departure.set_followed();
            }
            self.connections.depart(&departure, now, adapter);
            departure.connection()
        });
        self.accounted = self.open;
        self.update_plain();
        sent
    }

    /// The number of cells that have left since the last accounting.
    const fn unaccounted(&self) -> u32 {
        (self.open - self.accounted) as u32
    }

    fn account(&mut self) {
        self.connections.count_departed(self.unaccounted());
        self.planned = self.planned.checked_shr(self.unaccounted()).unwrap_or(0);
        self.accounted = self.open;
    }

    /// Updates `plain`, the slots that need no more than sending a cell. All cells that have left are accounted for.
    fn update_plain(&mut self) {
        let last = self.last.checked_shr(self.open as u32).unwrap_or(0);
        self.plain = if self.connections.has_queue() { 0 } else { self.planned & !last };
    }

    const fn not_passed(&self, slots: u64) -> u64 {
        if self.open < WINDOW as u64 { slots & !0 << self.open } else { 0 }
    }

    /// The slots from `open` on in which a cell of the connection leaves.
    fn planned_for(&self, connection: Connection) -> u64 {
        let planned = self.planned.checked_shr(self.unaccounted()).unwrap_or(0);
        let departure = |ahead: u32| self.window[(self.open as usize + ahead as usize) % WINDOW as usize];
        let is_own = |&ahead: &u32| planned >> ahead & 1 == 1 && departure(ahead).connection() == connection;
        (0..WINDOW).filter(is_own).fold(0, |own, ahead| own | 1 << ahead)
    }
}

impl<S: Sharing> CellScheduler for Planner<S> {
    fn add(&mut self, contract: &CellContract) -> Result<Connection, CellError> {
        let connection = self.connections.add(contract)?;
        self.open_class(contract);
        Ok(connection)
    }

    fn change(&mut self, connection: Connection, contract: &CellContract, _now: u64) -> Result<(), CellError> {
        let index = self.connections.find(connection)?;
        let class = self.connections.class(index);
        self.connections.change(connection, contract)?;
        self.open_class(contract);
        if class != usize::from(contract.class) && self.connections.lines[index].shaping.place == Place::Listed {
            self.unlist(class);
            self.list(index);
        }
        Ok(())
    }

    fn remove(&mut self, connection: Connection, now: u64, adapter: &mut impl Adapter) -> Result<(), CellError> {
        let index = self.connections.find(connection)?;
        let class = self.connections.class(index);
        self.account();
        self.hold(now);
        if self.connections.remove(index, now, adapter) {
            self.unlist(class);
        }
        self.connections.release(index);
        // Its slots stay taken: a cell planned for a later slot must not be overtaken by one that comes after it.
        let own = self.planned_for(connection);
        self.planned &= !own;
        self.connections.free_booked(own.count_ones(), now, adapter);
        self.update_plain();
        Ok(())
    }

    #[inline(never)]
    fn post(&mut self, connection: Connection, cells: u32, now: u64, adapter: &mut impl Adapter) -> Result<(), CellError> {
        self.account();
        self.hold(now);
        if self.connections.post(connection, cells, now, adapter)? {
            self.insert(connection.index(), now, adapter);
        }
        self.update_plain();
        Ok(())
    }

    #[inline(never)]
    fn arrived(&mut self, connection: Connection, cells: u32, now: u64, adapter: &mut impl Adapter) {
        self.account();
        self.hold(now);
        if let Ok(index) = self.connections.find(connection)
            && self.connections.lines[index].shaping.place == Place::Starved
            && self.connections.is_late(index, now)
        {
            self.connections.count_underrun(index, now, adapter);
        }
        if self.connections.arrived(connection, cells, now, adapter) {
            self.insert(connection.index(), now, adapter);
        }
        self.update_plain();
    }

    #[inline]
    fn send(&mut self, now: u64, adapter: &mut impl Adapter) -> Option<Connection> {
        let at = self.offset(now);
        // After the end of a window no cell is planned.
        if at != self.open || self.plain & 1 == 0 {
            return self.send_with_accounting(now, adapter);
        }
        self.open = at + 1;
        self.plain >>= 1;
        let departure = &self.window[at as usize % WINDOW as usize];
        adapter.cell_sent(now, departure.connection(), departure.late());
        Some(departure.connection())
    }

    fn next_slot(&self, now: u64) -> Option<u64> {
        let held = self.connections.held;
        let taken = self.not_passed(self.taken);
        if taken != 0 {
            return Some(now.max(self.start.wrapping_add(u64::from(taken.trailing_zeros()))));
        }
        let own = now.wrapping_sub(held);
        let due = |class: usize| {
            let key = self.lists[class].as_ref()?.earliest()?;
            Some(now.max(slot_from(key.wrapping_add(self.connections.sharing.delay(class)), own).wrapping_add(held)))
        };
        (0..CLASSES).filter_map(due).min()
    }

    fn counts(&self) -> Counts {
        let counts = self.connections.counts;
        Counts { sent: counts.sent + u64::from(self.unaccounted()), ..counts }
    }

    fn refresh(&mut self, now: u64) {
        self.connections.refresh(now);
    }
}

#[cfg(test)]
impl<S: Sharing> crate::tests::harness::Inspect for Planner<S> {
    fn buffers(&self) -> (u64, u64, u64) {
        self.buffers()
    }

    fn is_any_due(&self, now: u64) -> bool {
        self.connections.is_any_due(now)
    }

    fn planned(&self, connection: Connection) -> usize {
        self.planned_for(connection).count_ones() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Ticks;
    use alloc::vec::Vec;
    use tidegate_core::sharing::NoSharing;

    #[test]
    fn a_connection_with_a_pdu_takes_128_bytes_at_most_in_any_number_of_classes() {
        for connections in [1 << 16, 65_537, 65_568, 100_000, 131_071, 1 << 18, 1_000_000, 1 << 20, 1 << 22] {
            for classes in 1..=CLASSES {
                let bytes = size_of::<Planner>() + Connections::<RateScaling>::BYTES * connections + SlotWheel::bytes(connections, classes);
                assert!(bytes <= 128 * connections, "{} bytes for {connections} in {classes} classes", bytes / connections);
            }
        }
    }

    /// An overload in which thousands are due at once, late, and change their class: nothing outgrows what was reserved.
    #[test]
    fn nothing_is_allocated_after_building() {
        let setup = CellSetup { connections: 3000, pdus: 6000, transfer: None };
        let mut planner: Planner<NoSharing> = Planner::new(&setup, NoSharing);
        let contract = |index: u64, class: u8| {
            let (every, tolerance) = (1 + index % 3, 1000 * (index % 2) + 1);
            CellContract { delay_variation_tolerance: Ticks::slots(tolerance), class, ..CellContract::constant(Ticks::slots(every)) }
        };
        let names: Vec<Connection> = (0..3000).map(|index| planner.add(&contract(index, index as u8 % 3)).unwrap()).collect();
        let capacities = |planner: &Planner<NoSharing>| {
            let lists = planner.lists.iter().flatten().map(|list| list.capacity()).collect::<Vec<_>>();
            (planner.pool.capacity(), lists)
        };
        let built = capacities(&planner);
        for round in 0..200 {
            let now = round * 100;
            for (index, &name) in (0..).zip(&names) {
                // Full queues are good as well.
                let _ = planner.post(name, 10, now, &mut ());
                if (index + round) % 7 == 0 {
                    planner.change(name, &contract(index, (index + round) as u8 % 3), now).unwrap();
                }
            }
            for slot in now..now + 100 {
                planner.send(slot, &mut ());
            }
        }
        assert_eq!(capacities(&planner), built);
    }
}
