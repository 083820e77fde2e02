//! The connections of one scheduler: contracts, PDU lists, cells on the adapter. Both schedulers use it; each has its own order.
//!
//! A connection is two records. A cell touches a [`Line`], one cache line. A [`Record`] is touched when a PDU ends, a transfer starts or
//! arrives, or a state changes.

pub(crate) mod departure;
mod line;
mod pdus;
mod record;

use crate::connection::{Connection, MOST_CONNECTIONS};
use crate::connections::departure::{Booked, Departure, Last};
use crate::connections::line::Line;
use crate::connections::pdus::PduPool;
use crate::connections::record::Record;
use crate::contract::CellContract;
use crate::scheduler::{Adapter, CellError, CellSetup, Counts, LONGEST_PDU};
use crate::shaping::{Place, Shaping, State};
use crate::time::start_of;
use crate::transfer::{MOST_AHEAD, NONE, Transfers};
use alloc::vec::Vec;
use tidegate_core::prefetch::{prefetch, prefetch_in};
use tidegate_core::serial::is_before;
use tidegate_core::sharing::{CellRate, Sharing};

#[derive(Clone, Debug)]
pub(crate) struct Connections<S> {
    pub(crate) lines: Vec<Line>,
    records: Vec<Record>,
    limit: u32,
    /// The first free number, linked through [`Record::after`].
    vacant: u32,
    pdus: PduPool,
    transfers: Option<Transfers>,
    /// 1 where cells on the adapter are counted, 0 without transfers.
    counted: u16,
    /// [`Transfers::low`]; 0 without transfers.
    low: u64,
    /// How many slots the clock of the scheduler is behind the environment's, in whose slots `now` is given.
    pub(crate) held: u64,
    pub(crate) sharing: S,
    pub(crate) counts: Counts,
}

impl<S: Sharing> Connections<S> {
    #[cfg(test)]
    pub(crate) const BYTES: usize = size_of::<Line>() + size_of::<Record>() + PduPool::BYTES;

    pub(crate) fn new(setup: &CellSetup, sharing: S) -> Connections<S> {
        let limit = setup.connections.min(MOST_CONNECTIONS);
        Connections {
            lines: Vec::with_capacity(limit as usize),
            records: Vec::with_capacity(limit as usize),
            limit,
            vacant: NONE,
            pdus: PduPool::new(setup.pdus),
            counted: u16::from(setup.transfer.is_some()),
            low: setup.transfer.map_or(0, |transfer| Transfers::new(transfer).low),
            transfers: setup.transfer.map(Transfers::new),
            held: 0,
            sharing,
            counts: Counts::default(),
        }
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit as usize
    }

    pub(crate) fn add(&mut self, contract: &CellContract) -> Result<Connection, CellError> {
        contract.check()?;
        let index = if self.vacant != NONE {
            let index = self.vacant;
            self.vacant = self.records[index as usize].after();
            index
        } else if (self.lines.len() as u32) < self.limit {
            self.lines.push(Line::new(contract));
            self.records.push(Record::new());
            self.lines.len() as u32 - 1
        } else {
            return Err(CellError::TableFull);
        };
        let line = &mut self.lines[index as usize];
        line.shaping = Shaping::new(contract);
        line.resident = 1 - self.counted;
        self.records[index as usize] = Record::new();
        Ok(Connection { index, generation: line.generation })
    }

    pub(crate) fn find(&self, connection: Connection) -> Result<usize, CellError> {
        match self.lines.get(connection.index()) {
            Some(line) if line.generation == connection.generation && !matches!(line.shaping.place, Place::Vacant | Place::Dead) => {
                Ok(connection.index())
            }
            _ => Err(CellError::NoSuchConnection),
        }
    }

    #[inline]
    pub(crate) fn connection(&self, index: usize) -> Connection {
        Connection { index: index as u32, generation: self.lines[index].generation }
    }

    #[inline]
    pub(crate) fn class(&self, index: usize) -> usize {
        usize::from(self.lines[index].shaping.class)
    }

    /// When the next cell may leave, on the scheduler's clock.
    #[inline]
    pub(crate) fn due(&self, index: usize) -> u64 {
        self.lines[index].shaping.next().wrapping_add(self.sharing.delay(self.class(index)))
    }

    /// The start of the environment's slot `now` on the clock of the connection's class.
    #[inline]
    fn instant(&self, index: usize, now: u64) -> u64 {
        start_of(now.wrapping_sub(self.held)).wrapping_sub(self.sharing.delay(self.class(index)))
    }

    fn rate(&self, index: usize) -> CellRate {
        self.lines[index].shaping.rate(self.lines[index].shaping.state())
    }

    fn withdraw_demand(&mut self, index: usize) {
        let (class, rate) = (self.class(index), self.rate(index));
        self.sharing.demand_changed(class, rate, CellRate::ZERO);
    }

    fn declare_demand(&mut self, index: usize) {
        let (class, rate) = (self.class(index), self.rate(index));
        self.sharing.demand_changed(class, CellRate::ZERO, rate);
    }

    /// True if a connection's rate counts as demand: from the arrival of its first cell until its last one is sent.
    fn is_active(&self, index: usize) -> bool {
        matches!(self.lines[index].shaping.place, Place::Listed | Place::Starved)
    }

    pub(crate) fn change(&mut self, connection: Connection, contract: &CellContract) -> Result<(), CellError> {
        let index = self.find(connection)?;
        contract.check()?;
        let is_active = self.is_active(index);
        if is_active {
            self.withdraw_demand(index);
        }
        self.lines[index].uncount_plain(self.counted);
        let (from, to) = (self.class(index), usize::from(contract.class));
        self.lines[index].shaping.change(contract);
        if from != to {
            let behind = self.sharing.delay(from).wrapping_sub(self.sharing.delay(to));
            self.lines[index].shaping.shift(behind);
        }
        if is_active {
            self.declare_demand(index);
        }
        Ok(())
    }

    /// Takes a connection out. True if the ready list has an entry of it: its number stays in use until [`Connections::release`].
    pub(crate) fn remove(&mut self, index: usize, now: u64, adapter: &mut impl Adapter) -> bool {
        if self.is_active(index) {
            self.withdraw_demand(index);
        }
        while self.records[index].has_pdu() {
            self.drop_oldest_pdu(index);
        }
        self.leave_queue(index);
        self.lines[index].uncount_plain(self.counted);
        let line = &mut self.lines[index];
        let is_listed = line.shaping.place == Place::Listed;
        let resident = u32::from(core::mem::take(&mut line.resident));
        let outstanding = u32::from(core::mem::take(&mut self.records[index].outstanding));
        line.unsent = 0;
        line.generation = line.generation.wrapping_add(1);
        line.shaping.place = Place::Dead;
        if let Some(transfers) = &mut self.transfers {
            transfers.orphaned += outstanding;
            transfers.free += resident;
            self.serve_queue(now, adapter);
        }
        is_listed
    }

    /// Frees the number of a removed connection of which no list has an entry.
    pub(crate) fn release(&mut self, index: usize) {
        self.lines[index].shaping.place = Place::Vacant;
        self.records[index].set_after(self.vacant);
        self.vacant = index as u32;
    }

    /// True if the connection must be put on the ready list now.
    pub(crate) fn post(&mut self, connection: Connection, cells: u32, now: u64, adapter: &mut impl Adapter) -> Result<bool, CellError> {
        let index = self.find(connection)?;
        if cells == 0 || cells > LONGEST_PDU {
            return Err(CellError::PduLength(cells));
        }
        let record = &mut self.records[index];
        let pdu = self.pdus.append(record.newest_pdu, cells as u16).ok_or(CellError::TooManyPdus)?;
        if !record.has_pdu() {
            self.lines[index].unsent = cells as u16;
        }
        record.newest_pdu = pdu;
        if record.transfer_pdu == NONE {
            record.transfer_pdu = pdu;
            record.unrequested = cells as u16;
        }
        let instant = self.instant(index, now);
        let shaping = &mut self.lines[index].shaping;
        match shaping.place {
            Place::Fresh => shaping.start(instant),
            Place::Inactive => {}
            _ => {
                self.fetch(index, now, adapter);
                return Ok(false);
            }
        }
        if self.transfers.is_some() {
            shaping.place = Place::Starting;
            self.fetch(index, now, adapter);
            Ok(false)
        } else {
            self.activate(index, now);
            Ok(true)
        }
    }

    /// True if the connection must be put on the ready list now.
    pub(crate) fn arrived(&mut self, connection: Connection, cells: u32, now: u64, adapter: &mut impl Adapter) -> bool {
        let Ok(index) = self.find(connection) else {
            if let Some(transfers) = &mut self.transfers {
                let cells = cells.min(transfers.orphaned);
                transfers.orphaned -= cells;
                transfers.free += cells;
                self.serve_queue(now, adapter);
            }
            return false;
        };
        let line = &mut self.lines[index];
        let outstanding = &mut self.records[index].outstanding;
        debug_assert!(cells <= u32::from(*outstanding), "only what was requested can arrive");
        let cells = cells.min(u32::from(*outstanding)) as u16;
        *outstanding -= cells;
        line.resident += cells;
        self.count_plain(index);
        let line = &mut self.lines[index];
        match line.shaping.place {
            _ if !line.is_ready() => false,
            Place::Starting => {
                self.activate(index, now);
                true
            }
            Place::Starved => {
                line.shaping.place = Place::Listed;
                let instant = self.instant(index, now);
                self.lines[index].shaping.put_off(instant);
                true
            }
            _ => false,
        }
    }

    /// The first cell of an inactive connection is on the adapter.
    fn activate(&mut self, index: usize, now: u64) {
        let instant = self.instant(index, now);
        let shaping = &mut self.lines[index].shaping;
        shaping.place = Place::Listed;
        shaping.on_data(instant);
        self.declare_demand(index);
    }

    pub(crate) fn count_underrun(&mut self, index: usize, now: u64, adapter: &mut impl Adapter) {
        self.counts.underruns += 1;
        adapter.underrun(now, self.connection(index));
    }

    /// True if a cell of the connection is on the adapter; otherwise the connection waits for one.
    #[inline]
    pub(crate) fn is_ready(&mut self, index: usize) -> bool {
        let line = &mut self.lines[index];
        let is_ready = line.is_ready();
        if !is_ready {
            line.shaping.place = Place::Starved;
        }
        is_ready
    }

    /// Books slot `now` of the scheduler's clock for a cell of a ready connection of the class, and shapes the connection.
    pub(crate) fn book(&mut self, index: usize, class: usize, now: u64) -> Booked {
        let planned = self.lines[index].shaping.next();
        let late = start_of(now).wrapping_sub(planned).wrapping_sub(self.sharing.delay(class));
        if let Some(next) = self.book_plain(index, class, planned, late) {
            return Booked { late, next, is_low: false, is_last: false };
        }
        let Connections { lines, sharing, counts, .. } = self;
        let next = lines[index].shape(class, planned, late, sharing, counts);
        let (is_low, is_last) = self.take_cell(index);
        Booked { late, next, is_low, is_last }
    }

    /// The same for a plain cell that was planned for `planned` and leaves this late. Returns when the next one may leave; `None` if the cell
    /// is not plain.
    #[inline(always)]
    pub(crate) fn book_plain(&mut self, index: usize, class: usize, planned: u64, late: u64) -> Option<u64> {
        let Connections { lines, sharing, counts, .. } = self;
        let line = &mut lines[index];
        line.plain = line.plain.checked_sub(1)?;
        Some(line.shape(class, planned, late, sharing, counts))
    }

    /// The same while the class is not stretched, for a steady connection; `None` if it is not steady.
    #[inline(always)]
    pub(crate) fn book_steady(&mut self, index: usize, class: usize, planned: u64, late: u64) -> Option<u64> {
        let Connections { lines, sharing, counts, .. } = self;
        let line = &mut lines[index];
        let plain = line.plain.checked_sub(1)?;
        let next = line.shape_steady(class, planned, late, sharing, counts)?;
        line.plain = plain;
        Some(next)
    }

    /// Counts a cell that has been booked and is not plain. Returns whether a transfer may be due, and whether the cell ends a PDU.
    #[cold]
    fn take_cell(&mut self, index: usize) -> (bool, bool) {
        let line = &mut self.lines[index];
        line.unsent -= 1;
        line.resident -= self.counted;
        let is_last = line.unsent == 0;
        let shortest = line.shaping.shortest();
        let is_low = u64::from(self.ahead(index)) * shortest < self.low;
        if !is_low && !is_last {
            self.count_plain(index);
        }
        (is_low, is_last)
    }

    fn ahead(&self, index: usize) -> u32 {
        let line = &self.lines[index];
        u32::from(line.resident(self.counted)) + u32::from(self.records[index].outstanding)
    }

    fn count_plain(&mut self, index: usize) {
        self.lines[index].count_plain(self.records[index].outstanding, self.counted, self.low);
    }

    /// All cells of the oldest PDU are booked.
    #[cold]
    #[inline(never)]
    pub(crate) fn finish_pdu(&mut self, index: usize) -> Last {
        self.drop_oldest_pdu(index);
        if self.records[index].has_pdu() {
            self.count_plain(index);
            return Last::Pdu;
        }
        self.withdraw_demand(index);
        self.lines[index].shaping.place = Place::Inactive;
        Last::Queue
    }

    /// A cell leaves in slot `now`, for which it was booked.
    #[inline]
    pub(crate) fn depart(&mut self, departure: &Departure, now: u64, adapter: &mut impl Adapter) {
        let connection = departure.connection();
        self.counts.sent += 1;
        adapter.cell_sent(now, connection, departure.late());
        if departure.ends_pdu() {
            adapter.pdu_done(now, connection);
            // A PDU may have been posted since this cell was planned.
            if !departure.is_followed() && !self.records[connection.index()].has_pdu() {
                adapter.queue_empty(now, connection);
            }
        }
        if self.transfers.is_some() {
            self.free_booked(1, now, adapter);
        }
    }

    /// This many cells have left while no connection waited for a buffer.
    pub(crate) fn count_departed(&mut self, cells: u32) {
        self.counts.sent += u64::from(cells);
        if let Some(transfers) = &mut self.transfers {
            transfers.free += cells;
        }
    }

    pub(crate) fn has_queue(&self) -> bool {
        self.transfers.as_ref().is_some_and(|transfers| transfers.first != NONE)
    }

    /// Frees the buffers of this many booked cells: they have left, or their connection has been removed.
    #[inline]
    pub(crate) fn free_booked(&mut self, cells: u32, now: u64, adapter: &mut impl Adapter) {
        if let Some(transfers) = &mut self.transfers {
            transfers.free += cells;
            if transfers.first != NONE {
                self.serve_queue(now, adapter);
            }
        }
    }

    /// Requests the transfers that are due now.
    #[cold]
    #[inline(never)]
    pub(crate) fn fetch(&mut self, index: usize, now: u64, adapter: &mut impl Adapter) {
        let (due, stretch) = (self.due(index), self.sharing.stretch(self.class(index)));
        let spacing = self.lines[index].shaping.spacing(stretch);
        loop {
            let ahead = self.ahead(index);
            let Some(transfers) = &mut self.transfers else { return };
            if !transfers.is_time(ahead, spacing, due) {
                return;
            }
            let record = &self.records[index];
            let wanted = transfers.burst().min(u32::from(record.unrequested)).min(MOST_AHEAD - ahead);
            if wanted == 0 || record.neighbours().is_some() {
                return;
            }
            if transfers.free == 0 {
                self.counts.deferred += 1;
                self.join_queue(index);
                return;
            }
            let cells = wanted.min(transfers.free);
            self.request(index, cells, now, adapter);
        }
    }

    fn request(&mut self, index: usize, cells: u32, now: u64, adapter: &mut impl Adapter) {
        let Some(transfers) = &mut self.transfers else { return };
        transfers.free -= cells;
        let record = &mut self.records[index];
        record.unrequested -= cells as u16;
        record.outstanding += cells as u16;
        if record.unrequested == 0 {
            record.transfer_pdu = self.pdus.after(record.transfer_pdu, record.newest_pdu);
            record.unrequested = self.pdus.cells(record.transfer_pdu);
        }
        self.counts.transfers += 1;
        adapter.transfer_requested(now, self.connection(index), cells);
    }

    /// Gives free buffers to waiting connections, first come, first served.
    #[inline(never)]
    fn serve_queue(&mut self, now: u64, adapter: &mut impl Adapter) {
        while let Some(transfers) = &self.transfers {
            let (free, burst) = (transfers.free, transfers.burst());
            let index = transfers.first as usize;
            if transfers.first == NONE || free == 0 {
                return;
            }
            self.leave_queue(index);
            let cells = burst.min(u32::from(self.records[index].unrequested)).min(MOST_AHEAD - self.ahead(index)).min(free);
            if cells > 0 {
                self.request(index, cells, now, adapter);
            }
        }
    }

    fn join_queue(&mut self, index: usize) {
        let Some(transfers) = &mut self.transfers else { return };
        let last = transfers.last;
        if last == NONE {
            transfers.first = index as u32;
        } else {
            self.records[last as usize].set_after(index as u32);
        }
        transfers.last = index as u32;
        self.records[index].join(last, NONE);
    }

    fn leave_queue(&mut self, index: usize) {
        let Some(transfers) = &mut self.transfers else { return };
        let Some((before, after)) = self.records[index].neighbours() else { return };
        self.records[index].leave();
        if before == NONE {
            transfers.first = after;
        } else {
            self.records[before as usize].set_after(after);
        }
        if after == NONE {
            transfers.last = before;
        } else {
            self.records[after as usize].set_before(before);
        }
    }

    fn drop_oldest_pdu(&mut self, index: usize) {
        let record = &mut self.records[index];
        let oldest = self.pdus.drop_oldest(record.newest_pdu);
        if oldest == NONE {
            record.newest_pdu = NONE;
        }
        self.lines[index].unsent = self.pdus.cells(oldest);
    }

    /// Cells on the adapter, with `booked` ones; cells under way, also to removed connections; and free buffers, with those of cells that
    /// have `left` and are not counted yet.
    pub(crate) fn buffers(&self, booked: u32, left: u32) -> (u64, u64, u64) {
        let Some(transfers) = &self.transfers else { return (0, 0, 0) };
        let resident: u64 = self.lines.iter().map(|line| u64::from(line.resident(1))).sum();
        let outstanding: u64 = self.records.iter().map(|record| u64::from(record.outstanding)).sum();
        (resident + u64::from(booked), outstanding + u64::from(transfers.orphaned), u64::from(transfers.free + left))
    }

    /// True if the ready list of a class has this connection for this instant.
    #[inline]
    pub(crate) fn is_listed(&self, connection: Connection, class: usize, planned: u64) -> bool {
        self.lines.get(connection.index()).is_some_and(|line| {
            let Line { shaping, generation, .. } = line;
            shaping.next() == planned
                && *generation == connection.generation
                && usize::from(shaping.class) == class
                && shaping.place == Place::Listed
        })
    }

    /// Prefetches the state of a connection that is due soon.
    #[inline]
    pub(crate) fn fetch_line(&self, index: usize) {
        prefetch_in(&self.lines, index);
    }

    /// Prefetches the rest of the state of a connection that comes after a few others, if its next cell needs it.
    #[inline]
    pub(crate) fn fetch_record(&self, index: usize) {
        if self.lines.get(index).is_some_and(|line| line.plain == 0) {
            prefetch(&self.records[index]);
        }
    }

    /// True if the time planned for a connection's next cell has passed.
    pub(crate) fn is_late(&self, index: usize, now: u64) -> bool {
        is_before(self.lines[index].shaping.next(), self.instant(index, now))
    }

    /// True if a cell that is on the adapter may leave at `now`.
    #[cfg(test)]
    pub(crate) fn is_any_due(&self, now: u64) -> bool {
        (0..self.lines.len()).any(|index| {
            let line = &self.lines[index];
            let is_here = line.shaping.place == Place::Listed && line.is_ready();
            is_here && !is_before(self.instant(index, now), line.shaping.next())
        })
    }

    /// The limit on the next cell of a connection; `None` if it is inactive.
    pub(crate) fn state(&self, connection: Connection) -> Result<Option<State>, CellError> {
        let index = self.find(connection)?;
        Ok(self.is_active(index).then(|| self.lines[index].shaping.state()))
    }

    /// Pulls instants of connections that have nothing to send up to where they still compare correctly.
    pub(crate) fn refresh(&mut self, now: u64) {
        let now = start_of(now.wrapping_sub(self.held));
        self.sharing.refresh(now);
        let oldest = now.wrapping_sub(1 << 61);
        for line in &mut self.lines {
            let delay = self.sharing.delay(usize::from(line.shaping.class));
            if !matches!(line.shaping.place, Place::Listed | Place::Dead) {
                line.shaping.refresh(oldest.wrapping_sub(delay));
            }
        }
    }
}
