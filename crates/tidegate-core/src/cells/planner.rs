//! The fast cell scheduler: plans a window of slots at a time, class by class, with one machine word as the calendar of the slots.
//!
//! **Law.** The laws of [`CellScheduler`], and the order of [`Conflict::Priority`](super::Conflict::Priority): within a class the earliest
//! planned time first. With a window of one slot the schedule is that of [`super::HeapScheduler`], slot by slot, whatever happens; with a
//! longer one it is the same if what comes from outside comes between windows, and if classes do not share their grants. What comes within a
//! window takes free slots of it, so it is at most a window later.
//!
//! **Source.** The cycle of Schiller and Gunningberg, section 3; planning by windows is this project's.
//!
//! **State.** One cache line per connection that a cell touches, 40 bytes that it does not, and what the ready list takes: 24 bytes for a
//! [`Wheel`]. A ready list per class in use, in the class's time; 2 kB for the window.
//!
//! **Cost.** O(1) amortised per cell with a [`Wheel`], whatever the number of connections: the connection's line, which was fetched ahead,
//! and the ready list. Planning a window of one class before the next keeps one ready list in the cache at a time.
//!
//! **RTL twin.** None yet; the calendar is a 64-bit priority encoder.
//!
//! **Deviations.** A connection is shaped and its transfers are requested when its cell is planned, up to a window before the cell leaves.
//! Nothing is missing yet when a planned cell is not on the adapter: if it arrives by its slot it is as good as planned, and only otherwise
//! the underrun is counted, on arrival. Slots that the environment takes away hold the planner's own clock, so that whatever is planned
//! keeps its distance. Slots that were planned for a removed connection stay empty. Where a class has a guarantee in class time, slots are planned one by one.

use super::connections::{Connections, Departure};
use super::shaping::Place;
use super::{
    Adapter, CLASSES, CellContract, CellError, CellScheduler, CellSetup, Connection, Counts, RateScaling, Sharing, State, slot_from,
    start_of,
};
use crate::packet::Flow;
use crate::prefetch::prefetch;
use crate::ready::{ReadyList, Wheel, is_before};

/// The most slots in a window: the bits of a word.
const WINDOW: u32 = u64::BITS;

/// How many places ahead of its turn a connection's line is fetched.
const AHEAD: usize = 8;

/// The planning scheduler.
///
/// ```
/// use tidegate_core::cells::{CellContract, CellScheduler, CellSetup, Planner, RateScaling, Ticks};
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
pub struct Planner<S = RateScaling, R = Wheel> {
    connections: Connections<S>,
    /// One per class that any connection has been in.
    lists: [Option<R>; CLASSES],
    /// The first slot of the window on the planner's clock.
    start: u64,
    /// The length of the window; 0 before the first.
    length: u32,
    longest: u32,
    /// The first slot of the window that may still be planned.
    open: u32,
    /// A bit per slot of the window that is taken and has not passed.
    taken: u64,
    window: [Option<Departure>; WINDOW as usize],
}

impl<S: Sharing, R: ReadyList> Planner<S, R> {
    /// A scheduler without connections, with windows of 64 slots.
    pub fn new(setup: &CellSetup, sharing: S) -> Planner<S, R> {
        Planner::with_window(setup, WINDOW, sharing)
    }

    /// The same with windows of so many slots, 1 to 64; what is outside counts as the end of the range.
    pub fn with_window(setup: &CellSetup, slots: u32, sharing: S) -> Planner<S, R> {
        Planner {
            connections: Connections::new(setup, sharing),
            lists: [const { None }; CLASSES],
            start: 0,
            length: 0,
            longest: slots.clamp(1, WINDOW),
            open: 0,
            taken: 0,
            window: [None; WINDOW as usize],
        }
    }

    /// Cells on the adapter, cells under way, and free buffers. O(n).
    pub fn buffers(&self) -> (u64, u64, u64) {
        self.connections.buffers()
    }

    /// What limits the next cell of a connection that is not planned yet; `None` if it is inactive.
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

    /// The ready list of a class, made when the class is first used.
    fn list(&mut self, class: usize) -> &mut R {
        let limit = self.connections.limit();
        self.lists[class].get_or_insert_with(|| R::new(limit))
    }

    /// Puts a connection on the ready list of its class, and plans it if its time lies within the window.
    fn insert(&mut self, index: usize, now: u64, adapter: &mut impl Adapter) {
        let (class, key) = (self.connections.class(index), self.connections.lines[index].shaping.next());
        self.list(class).insert(Flow(index as u32), key);
        if self.offset(now) < u64::from(self.length) {
            self.plan(now, adapter);
        }
    }

    /// The place in the window of the environment's slot `now`; what lies behind the window's end is not in it.
    #[inline]
    fn offset(&self, now: u64) -> u64 {
        now.wrapping_sub(self.connections.held).wrapping_sub(self.start)
    }

    /// Fills what is free of the window with what is due in it.
    fn plan(&mut self, now: u64, adapter: &mut impl Adapter) {
        if (0..CLASSES).any(|class| self.lists[class].is_some() && self.connections.sharing.owed(class).is_some()) {
            return self.plan_slot_by_slot(now, adapter);
        }
        for class in 0..CLASSES {
            while let Some(at) = self.next_free(class, self.open) {
                self.plan_first(class, at, now, adapter);
            }
        }
    }

    /// The same where a class may be owed a slot.
    fn plan_slot_by_slot(&mut self, now: u64, adapter: &mut impl Adapter) {
        for at in self.open..self.length {
            while self.taken & 1 << at == 0 {
                let slot = start_of(self.start + u64::from(at));
                let is_owed = |class| self.connections.sharing.owed(class).is_some_and(|owed| !is_before(slot, owed));
                let mut due = (0..CLASSES).filter(|&class| self.next_free(class, at) == Some(at));
                let Some(class) = due.clone().find(|&class| is_owed(class)).or_else(|| due.next()) else { break };
                self.plan_first(class, at, now, adapter);
            }
        }
    }

    /// The slot of the window, from `open` on, for the first connection of a class: the first that is free when it is due.
    #[inline]
    fn next_free(&self, class: usize, open: u32) -> Option<u32> {
        let (key, _) = self.lists[class].as_ref()?.first()?;
        let due = key.wrapping_add(self.connections.sharing.delay(class)).wrapping_sub(start_of(self.start)) as i64;
        let from = ((due + (super::SLOT as i64 - 1)) >> 16).max(i64::from(open));
        if from >= i64::from(self.length) {
            return None;
        }
        let at = (self.taken | ((1 << from) - 1)).trailing_ones();
        (at < self.length).then_some(at)
    }

    /// Gives a slot of the window to the first connection of a class, if a cell of it is here.
    #[inline]
    fn plan_first(&mut self, class: usize, at: u32, now: u64, adapter: &mut impl Adapter) {
        let Planner { connections, lists, .. } = self;
        let Some(list) = &mut lists[class] else { return };
        let Some((_, flow)) = list.pop_first() else { return };
        let index = flow.index();
        if let Some(soon) = list.ahead(AHEAD) {
            prefetch(&connections.lines[soon.index()]);
        }
        if !connections.is_here(index) {
            return;
        }
        let departure = connections.book(index, self.start + u64::from(at));
        if departure.is_followed() {
            list.insert(flow, connections.lines[index].shaping.next());
        }
        connections.fetch(index, now, adapter);
        self.window[at as usize] = Some(departure);
        self.taken |= 1 << at;
    }

    /// Holds the planner's clock if slots have passed that were planned and not offered.
    #[inline]
    fn hold(&mut self, now: u64) {
        let missed = self.offset(now).min(u64::from(self.length));
        let first = u64::from(self.taken.trailing_zeros());
        if first < missed {
            self.connections.held += self.offset(now) - first;
        }
    }
}

impl<S: Sharing, R: ReadyList> CellScheduler for Planner<S, R> {
    fn add(&mut self, contract: &CellContract) -> Result<Connection, CellError> {
        let connection = self.connections.add(contract)?;
        self.list(usize::from(contract.class));
        Ok(connection)
    }

    fn change(&mut self, connection: Connection, contract: &CellContract, _now: u64) -> Result<(), CellError> {
        let index = self.connections.find(connection)?;
        let class = self.connections.class(index);
        self.connections.change(connection, contract)?;
        if class != usize::from(contract.class) {
            let was_listed = self.list(class).remove(Flow(index as u32));
            let key = self.connections.lines[index].shaping.next();
            let list = self.list(usize::from(contract.class));
            if was_listed {
                list.insert(Flow(index as u32), key);
            }
        }
        Ok(())
    }

    fn remove(&mut self, connection: Connection, now: u64, adapter: &mut impl Adapter) -> Result<(), CellError> {
        let index = self.connections.find(connection)?;
        let class = self.connections.class(index);
        self.hold(now);
        self.list(class).remove(Flow(index as u32));
        self.connections.remove(index, now, adapter);
        self.connections.release(index);
        // Its slots stay taken: what has been planned for a later one must not be overtaken by what comes after it.
        let mut cells = 0;
        for slot in &mut self.window {
            cells += u32::from(slot.take_if(|departure| departure.connection == connection).is_some());
        }
        self.connections.free_booked(cells, now, adapter);
        Ok(())
    }

    fn post(&mut self, connection: Connection, cells: u32, now: u64, adapter: &mut impl Adapter) -> Result<(), CellError> {
        self.hold(now);
        if self.connections.post(connection, cells, now, adapter)? {
            self.insert(connection.index(), now, adapter);
        }
        Ok(())
    }

    fn arrived(&mut self, connection: Connection, cells: u32, now: u64, adapter: &mut impl Adapter) {
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
    }

    #[inline]
    fn send(&mut self, now: u64, adapter: &mut impl Adapter) -> Option<Connection> {
        self.hold(now);
        let mut at = self.offset(now);
        if at >= u64::from(self.length) {
            (self.start, self.length, self.open, self.taken, at) = (now.wrapping_sub(self.connections.held), self.longest, 0, 0, 0);
            self.plan(now, adapter);
        }
        self.open = at as u32 + 1;
        self.taken &= !(1 << at);
        let mut departure = self.window[at as usize].take()?;
        if !departure.is_followed() && self.window.iter().flatten().any(|later| later.connection == departure.connection) {
            departure.find_followed();
        }
        self.connections.depart(&departure, now, adapter);
        Some(departure.connection)
    }

    fn next_slot(&self, now: u64) -> Option<u64> {
        let held = self.connections.held;
        if self.taken != 0 {
            return Some(now.max(self.start.wrapping_add(u64::from(self.taken.trailing_zeros())).wrapping_add(held)));
        }
        let own = now.wrapping_sub(held);
        let due = |class: usize| {
            let (key, _) = self.lists[class].as_ref()?.first()?;
            Some(now.max(slot_from(key.wrapping_add(self.connections.sharing.delay(class)), own).wrapping_add(held)))
        };
        (0..CLASSES).filter_map(due).min()
    }

    fn counts(&self) -> &Counts {
        &self.connections.counts
    }

    fn refresh(&mut self, now: u64) {
        self.connections.refresh(now);
    }
}

#[cfg(test)]
impl<S: Sharing, R: ReadyList> super::bench::Inspect for Planner<S, R> {
    fn buffers(&self) -> (u64, u64, u64) {
        self.connections.buffers()
    }

    fn is_any_due(&self, now: u64) -> bool {
        self.connections.is_any_due(now)
    }

    fn planned(&self, connection: Connection) -> usize {
        self.window.iter().flatten().filter(|departure| departure.connection == connection).count()
    }
}
