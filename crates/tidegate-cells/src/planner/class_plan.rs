//! Plans the cells of one class in the free slots of a window.

use crate::calendar::levels::{Entry, Pool};
use crate::calendar::wheel::SlotWheel;
use crate::connections::Connections;
use crate::connections::departure::{Booked, Departure};
use crate::scheduler::Adapter;
use crate::time::start_of;
use tidegate_core::sharing::{SLOT, Sharing};

/// The most slots in a window: the bits of a word.
pub(super) const WINDOW: u32 = u64::BITS;

/// The cell that leaves in each slot of a window.
pub(super) type Window = [Departure; WINDOW as usize];

/// The slots of a window that are free, on the clock of a class.
pub(super) struct FreeSlots {
    /// A bit per slot that is free.
    pub(super) free: u64,
    /// The last slot that was free at first. What is due by then finds a slot, as long as this one is free.
    last: u32,
    /// The first slot of the window on the scheduler's clock.
    start: u64,
    /// How far the clock of the class is behind the scheduler's.
    delay: u64,
    /// The last instant, on the clock of the class, that is due in the slot before the window.
    before: u64,
}

impl FreeSlots {
    /// Those of `free`, a bit per slot, in the window that begins with slot `start`; `None` if there is none.
    pub(super) fn new(free: u64, start: u64) -> Option<FreeSlots> {
        Some(FreeSlots { free, last: free.checked_ilog2()?, start, delay: 0, before: 0 })
    }

    /// The clock of the class is this far behind. Returns the start of the last slot on it.
    #[inline(always)]
    fn set_delay(&mut self, delay: u64) -> u64 {
        let clock = start_of(self.start).wrapping_sub(delay);
        (self.delay, self.before) = (delay, clock.wrapping_sub(SLOT - 1));
        clock.wrapping_add(start_of(u64::from(self.last)))
    }

    /// True if whatever is due by the last slot finds a slot.
    #[inline(always)]
    fn has_last(&self) -> bool {
        self.free >> self.last & 1 == 1
    }

    /// The first free slot at or after an instant, and how late a cell is that is due then.
    #[inline(always)]
    fn slot_of(&self, key: u64) -> (u32, u64) {
        let due = key.wrapping_sub(self.before);
        // Instants before the window are due in its first slot.
        let from = ((due & !((due as i64 >> 63) as u64)) >> 16) as u32;
        let at = from + (self.free >> from | 1 << self.last).trailing_zeros();
        (at, start_of(u64::from(at)).wrapping_add(SLOT - 1).wrapping_sub(due))
    }

    /// A cell leaves in this slot.
    #[inline(always)]
    fn book(&mut self, at: u32, window: &mut Window, departure: Departure) {
        window[at as usize % WINDOW as usize] = departure;
        self.free &= !(1 << at);
    }
}

/// One class while its cells are planned.
pub(super) struct ClassPlan<'a, S> {
    pub(super) class: usize,
    pub(super) connections: &'a mut Connections<S>,
    pub(super) list: &'a mut SlotWheel,
    pub(super) pool: &'a mut Pool,
    pub(super) window: &'a mut Window,
    pub(super) slots: FreeSlots,
}

impl<S: Sharing> ClassPlan<'_, S> {
    /// Gives free slots to connections that are due until no slot is left, or no connection. `last` gets a bit for each slot in which the
    /// last cell of a PDU leaves.
    #[inline(always)]
    pub(super) fn run(&mut self, last: &mut u64, now: u64, adapter: &mut impl Adapter) {
        let has_tombstones = self.list.has_tombstones();
        self.follow_clock();
        while self.slots.has_last() {
            if self.is_clock_held() {
                self.follow_clock();
            }
            if !has_tombstones && self.connections.sharing.stretch(self.class).is_none() {
                if let Some(entry) = self.book_steady_run() {
                    self.list.insert(self.pool, entry);
                    continue;
                }
                if !self.slots.has_last() || self.is_clock_held() {
                    continue;
                }
            }
            let ClassPlan { connections, list, pool, .. } = self;
            let Some(entry) = list.take(pool, |index| connections.fetch_line(index), |index| connections.fetch_record(index)) else {
                break;
            };
            if has_tombstones && !connections.is_listed(entry.connection(), self.class, entry.key) {
                list.tombstone_taken();
            } else if !self.book_plain(entry) {
                *last |= self.book_any(entry, now, adapter);
            }
        }
    }

    /// True if the clock of the class has stood still since it was last looked at.
    #[inline(always)]
    fn is_clock_held(&self) -> bool {
        self.connections.sharing.delay(self.class) != self.slots.delay
    }

    /// Opens the list for what is due by the last slot, by the clock of the class.
    #[inline(always)]
    fn follow_clock(&mut self) {
        self.list.open(self.slots.set_delay(self.connections.sharing.delay(self.class)));
    }

    /// Books cells of steady connections, one after the other, each followed by another one of its connection. Returns an entry that has to
    /// be inserted in the list.
    #[inline(always)]
    fn book_steady_run(&mut self) -> Option<Entry> {
        let ClassPlan { class, connections, list, pool, window, slots } = self;
        list.take_run(
            pool,
            *connections,
            |connections, index| connections.fetch_line(index),
            |connections, index| connections.fetch_record(index),
            |connections, entry| {
                if !slots.has_last() {
                    return None;
                }
                let (at, late) = slots.slot_of(entry.key);
                let next = connections.book_steady(entry.connection().index(), *class, entry.key, late)?;
                slots.book(at, window, Departure::new(entry.payload, late));
                Some(next)
            },
        )
    }

    /// Books a plain cell of the connection of an entry, and the following ones while they come before all others, as they often do in a
    /// class of few connections. False if the cell is not plain.
    #[inline(always)]
    fn book_plain(&mut self, entry: Entry) -> bool {
        let index = entry.connection().index();
        let (at, late) = self.slots.slot_of(entry.key);
        let Some(mut next) = self.connections.book_plain(index, self.class, entry.key, late) else { return false };
        self.slots.book(at, self.window, Departure::new(entry.payload, late));
        let is_stretched = !self.connections.sharing.stretch(self.class).is_none();
        let is_held = self.is_clock_held();
        while self.list.goes_first(next) && self.slots.has_last() && !is_stretched && !is_held {
            let (at, late) = self.slots.slot_of(next);
            let Some(after) = self.connections.book_steady(index, self.class, next, late) else { break };
            self.slots.book(at, self.window, Departure::new(entry.payload, late));
            next = after;
        }
        self.list.insert(self.pool, Entry { key: next, ..entry });
        true
    }

    /// Books a cell of the connection of an entry, if one is on the adapter. Returns the bit of its slot if it ends a PDU.
    #[inline(always)]
    fn book_any(&mut self, entry: Entry, now: u64, adapter: &mut impl Adapter) -> u64 {
        let ClassPlan { class, connections, list, pool, window, slots } = self;
        let (at, _) = slots.slot_of(entry.key);
        let departure = &mut window[at as usize % WINDOW as usize];
        if !plan_cell(connections, list, pool, *class, entry, slots.start.wrapping_add(u64::from(at)), departure, now, adapter) {
            return 0;
        }
        slots.free &= !(1 << at);
        u64::from(departure.ends_pdu()) << at
    }
}

/// Books a slot for a cell of a connection that was taken out of the list of its class. False if none is on the adapter.
#[inline(never)]
#[allow(clippy::too_many_arguments)]
pub(super) fn plan_cell<S: Sharing>(
    connections: &mut Connections<S>,
    list: &mut SlotWheel,
    pool: &mut Pool,
    class: usize,
    entry: Entry,
    slot: u64,
    departure: &mut Departure,
    now: u64,
    adapter: &mut impl Adapter,
) -> bool {
    let index = entry.connection().index();
    if !connections.is_ready(index) {
        list.dropped();
        return false;
    }
    let Booked { late, next, is_low, is_last } = connections.book(index, class, slot);
    *departure = Departure::new(entry.payload, late);
    let is_over = is_last && departure.end(connections.finish_pdu(index));
    if is_low {
        connections.fetch(index, now, adapter);
    }
    if is_over {
        list.dropped();
    } else {
        list.insert(pool, Entry { key: next, ..entry });
    }
    true
}
