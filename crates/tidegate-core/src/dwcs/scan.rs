//! DWCS as published: every decision looks at every stream.
//!
//! **Law**: the laws of [`super`]; the other engines are compared with this one.
//!
//! **Source**: West and Poellabauer, RTSS 2000, the main loop; West et al., IEEE Transactions on Computers 53(6), 2004.
//!
//! **State**: one record per stream.
//!
//! **Cost**: O(streams) per decision, twice: once to account for missed deadlines, once to find the winner.
//!
//! **RTL twin**: ShareStreams, whose register blocks and decision blocks do these two passes in parallel.
//!
//! **Deviations**: the papers do not say what happens to an idle stream whose deadline has passed. Here its next packet begins a new window,
//! with a deadline one period after the arrival. Streams without packets miss no deadlines.

use crate::dwcs::interface::{Changing, Choice, Dwcs, Saved, Standing, Tally};
use crate::dwcs::rank::Rank;
use crate::dwcs::rules::{CLAMP, Early, NEVER, Order, Rules};
use crate::dwcs::stream::{Stream, StreamError};
use crate::dwcs::tolerance::Tolerance;
use crate::packet::Flow;
use alloc::vec::Vec;

/// The engine as published.
///
/// ```
/// use tidegate_core::dwcs::{Choice, Dwcs, Order, Rules, Scan, Stream, Window};
/// use tidegate_core::packet::Flow;
/// let half = Stream::windowed(Window::new(1, 2), 1);
/// let most = Stream::windowed(Window::new(3, 4), 1);
/// let mut engine = Scan::new(Rules::default(), Order::default(), &[most, half]).unwrap();
/// engine.activate(0, Flow(0), 0);
/// engine.activate(0, Flow(1), 0);
/// assert_eq!(engine.select(0), Choice::Serve(Flow(1))); // 1 of 2 tolerates less than 3 of 4
/// engine.served(Flow(1), 1, Some(1));
/// assert_eq!(engine.select(1), Choice::Serve(Flow(0))); // missed a deadline: now 2 of 3, against 1 of 1
/// ```
#[derive(Clone, Debug)]
pub struct Scan {
    rules: Rules,
    order: Order,
    now: u64,
    streams: Vec<Record>,
}

#[derive(Clone, Debug)]
struct Record {
    stream: Stream,
    /// What it becomes with the next head.
    next: Option<Stream>,
    deadline: u64,
    tolerance: Tolerance,
    /// Of the head; `None` if the stream has no packet.
    arrival: Option<u64>,
    /// The head has missed its deadline and is to be discarded.
    is_late: bool,
    /// The present head began a new window, and nothing has happened since.
    is_fresh: bool,
    tally: Tally,
}

impl Scan {
    /// An engine for these streams, none of them backlogged.
    ///
    /// # Errors
    /// [`StreamError`] names the first stream that cannot be served.
    pub fn new(rules: Rules, order: Order, streams: &[Stream]) -> Result<Scan, StreamError> {
        let mut records = Vec::with_capacity(streams.len());
        for (index, stream) in streams.iter().enumerate() {
            stream.check().map_err(|problem| StreamError { stream: Some(Flow(index as u32)), problem })?;
            let deadline = if stream.period.is_some() { stream.first_deadline.unwrap_or(0) } else { NEVER };
            let tolerance = Tolerance::of(stream.window);
            records.push(Record {
                stream: stream.kept(),
                next: None,
                deadline,
                tolerance,
                arrival: None,
                is_late: false,
                is_fresh: false,
                tally: Tally::default(),
            });
        }
        Ok(Scan { rules, order, now: 0, streams: records })
    }

    /// Accounts for the deadlines missed up to `now`.
    fn sweep(&mut self, now: u64) {
        self.now = now;
        for record in self.streams.iter_mut().filter(|record| record.arrival.is_some()) {
            let Some(period) = record.stream.period else { continue };
            let missed = self.rules.missed.count(record.deadline, period, now);
            if missed > 0 && !record.is_late {
                // One packet is dropped at a time: the next may not have arrived by that deadline.
                let missed = if record.stream.droppable { 1 } else { missed };
                record.miss(missed);
                record.deadline += missed * period;
                record.is_late = record.stream.droppable;
            }
        }
    }
}

impl Record {
    fn miss(&mut self, times: u64) {
        self.is_fresh = false;
        self.tally.missed += times;
        if self.stream.is_fixed {
            return;
        }
        self.tally.violations += self.tolerance.miss(self.stream.window, self.stream.penalty, times);
    }

    /// The head has gone: a change holds from now on.
    fn renew(&mut self) {
        if let Some(stream) = self.next.take() {
            self.stream = stream;
            self.tolerance = Tolerance::of(stream.window);
        }
    }

    /// These attributes hold from the next head on.
    fn change(&mut self, attributes: Stream) {
        self.next = Some(attributes).filter(|attributes| *attributes != self.stream);
        if self.arrival.is_none() {
            self.renew();
        }
    }

    /// The first instant at which it may be served.
    fn eligible(&self, early: Early) -> u64 {
        match (early, self.stream.period) {
            (Early::Hold, Some(period)) => self.deadline.saturating_sub(period),
            _ => 0,
        }
    }
}

impl Dwcs for Scan {
    fn activate(&mut self, now: u64, stream: Flow, arrival: u64) {
        let record = &mut self.streams[stream.index()];
        record.arrival = Some(arrival);
        if let Some(period) = record.stream.period
            && record.deadline <= now
        {
            record.deadline = now + period;
            record.tolerance = Tolerance::of(record.stream.window);
            record.is_fresh = true;
        }
    }

    fn select(&mut self, now: u64) -> Choice {
        self.sweep(now);
        let (mut best, mut earliest): (Option<Rank>, Option<u64>) = (None, None);
        for (index, record) in self.streams.iter().enumerate() {
            let Some(arrival) = record.arrival else { continue };
            if record.is_late {
                return Choice::Discard(Flow(index as u32));
            }
            let eligible = record.eligible(self.rules.early);
            if eligible > now {
                earliest = Some(earliest.map_or(eligible, |earliest| earliest.min(eligible)));
                continue;
            }
            let rank = Rank { deadline: record.deadline, tolerance: record.tolerance, arrival, stream: index as u32 };
            if best.is_none_or(|best| rank.compare(&best, self.order).is_lt()) {
                best = Some(rank);
            }
        }
        match (best, earliest) {
            (Some(rank), _) => Choice::Serve(Flow(rank.stream)),
            (None, Some(instant)) => Choice::WaitUntil(instant),
            (None, None) => Choice::Idle,
        }
    }

    fn served(&mut self, stream: Flow, finish: u64, next: Option<u64>) {
        let (rules, start) = (self.rules, self.now);
        let record = &mut self.streams[stream.index()];
        record.arrival = next;
        record.is_fresh = false;
        if record.stream.period.is_none() {
            record.tally.met += 1;
            return;
        }
        if rules.missed.is_late(record.deadline, start, finish) {
            record.tally.late += 1;
            record.miss(1);
        } else {
            record.tally.met += 1;
            if !record.stream.is_fixed {
                record.tolerance.serve(record.stream.window);
            }
        }
        record.renew();
        record.deadline += record.stream.period.unwrap_or_default();
        if rules.early == Early::Clamp {
            record.deadline = record.deadline.min(finish + CLAMP);
        }
    }

    fn lost(&mut self, stream: Flow, next: Option<u64>) {
        let record = &mut self.streams[stream.index()];
        record.arrival = next;
        if record.is_late {
            record.is_late = false;
            record.tally.dropped += 1;
        }
        if next.is_none() && record.is_fresh {
            record.is_fresh = false;
            record.deadline = 0;
        }
        record.renew();
    }

    fn standing(&self, stream: Flow) -> Standing {
        let record = &self.streams[stream.index()];
        Standing { deadline: record.deadline, tolerance: record.tolerance, tally: record.tally }
    }
}

impl Changing for Scan {
    fn change(&mut self, stream: Flow, attributes: &Stream) -> Result<(), StreamError> {
        let record = &mut self.streams[stream.index()];
        attributes.check_change(stream, record.stream.period)?;
        record.change(attributes.kept());
        Ok(())
    }

    fn forget(&mut self, stream: Flow) {
        let record = &mut self.streams[stream.index()];
        (record.deadline, record.tolerance, record.tally) = (0, Tolerance::of(record.stream.window), Tally::default());
        record.is_fresh = false;
    }

    fn save(&self, stream: Flow) -> Saved {
        let &Record { stream: attributes, arrival, is_late, is_fresh, .. } = &self.streams[stream.index()];
        Saved { attributes, standing: self.standing(stream), is_backlogged: arrival.is_some(), is_late, is_fresh }
    }

    fn restore(&mut self, now: u64, stream: Flow, saved: &Saved, head: Option<u64>) {
        self.now = self.now.max(now);
        let Saved { attributes, standing: Standing { deadline, tolerance, tally }, is_late, is_fresh, .. } = *saved;
        let record = &mut self.streams[stream.index()];
        let given = record.stream;
        let is_late = is_late && head.is_some();
        *record = Record { stream: attributes, next: None, deadline, tolerance, arrival: head, is_late, is_fresh, tally };
        record.change(given);
    }
}
