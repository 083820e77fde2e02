//! Streams that change, come and go.

use super::record::{Place, Record};
use super::{GroupedDwcs, UNSTAGED};
use crate::dwcs::interface::{Changing, Dwcs, Saved, Tally};
use crate::dwcs::rules::NEVER;
use crate::dwcs::stream::{Stream, StreamError};
use crate::dwcs::tolerance::Tolerance;
use crate::packet::Flow;
use crate::ready::ReadyList;
use core::cmp::Reverse;

impl<R: ReadyList> GroupedDwcs<R> {
    /// The head of a stream that is in no order has gone: the change holds from now on.
    #[inline(never)]
    pub(super) fn renew(&mut self, stream: Flow) {
        let attributes = self.changes[stream.index()];
        self.assign(stream, &attributes);
        let record = &mut self.groups.records[stream.index()];
        record.tolerance = Tolerance::of(record.window);
        record.changes = false;
    }

    /// Writes the attributes into the record.
    fn assign(&mut self, stream: Flow, attributes: &Stream) {
        let period = attributes.period.unwrap_or(NEVER);
        let unused = self.staged_by_period.len() as u32;
        let period_index = *self.periods.entry(period).or_insert(unused);
        if period_index == unused {
            self.staged_by_period.push(UNSTAGED);
        }
        let Stream { window, penalty, droppable, is_fixed, .. } = attributes.kept();
        let record = &mut self.groups.records[stream.index()];
        (record.period, record.period_index, record.window) = (period, period_index, window);
        (record.penalty, record.droppable, record.is_fixed) = (penalty, droppable, is_fixed);
    }

    /// These attributes hold from the next head on.
    fn change_to(&mut self, stream: Flow, attributes: Stream) {
        let record = &mut self.groups.records[stream.index()];
        record.changes = attributes != record.attributes();
        if record.changes {
            self.changes[stream.index()] = attributes;
            if record.place == Place::Idle {
                self.renew(stream);
            }
        }
    }
}

impl<R: ReadyList> Changing for GroupedDwcs<R> {
    fn change(&mut self, stream: Flow, attributes: &Stream) -> Result<(), StreamError> {
        attributes.check_change(stream, self.groups.records[stream.index()].attributes().period)?;
        self.change_to(stream, attributes.kept());
        Ok(())
    }

    fn forget(&mut self, stream: Flow) {
        let record = &mut self.groups.records[stream.index()];
        (record.deadline, record.tolerance, record.is_fresh) = (0, Tolerance::of(record.window), false);
        self.groups.tallies[stream.index()] = Tally::default();
    }

    fn save(&self, stream: Flow) -> Saved {
        let record = &self.groups.records[stream.index()];
        let is_late = record.place == Place::Late;
        let standing = self.standing(stream);
        let is_fresh = record.is_fresh && record.deadline == standing.deadline;
        Saved { attributes: record.attributes(), standing, is_backlogged: record.place != Place::Idle, is_late, is_fresh }
    }

    fn restore(&mut self, now: u64, stream: Flow, saved: &Saved, head: Option<u64>) {
        self.now = self.now.max(now);
        let given = self.groups.records[stream.index()].attributes();
        self.assign(stream, &saved.attributes);
        self.groups.tallies[stream.index()] = saved.standing.tally;
        let record: &mut Record = &mut self.groups.records[stream.index()];
        (record.deadline, record.tolerance) = (saved.standing.deadline, saved.standing.tolerance);
        record.is_fresh = saved.is_fresh;
        if let Some(arrival) = head {
            self.groups.members[stream.index()].key.arrival = arrival;
            if saved.is_late {
                self.groups.records[stream.index()].place = Place::Late;
                self.late.push(Reverse(stream.0));
            } else {
                self.enter(stream.0);
            }
        }
        self.change_to(stream, given);
    }
}
