//! The line that a running bridge prints once a second.

use crate::log;
use std::time::Duration;
use tidegate_live::{DirectionCounters, Tick};
use tidegate_report::format_rate;

/// Prints rates and drops of both ways once a second; on a terminal the line replaces the one before. Several pairs are summed up.
pub struct Ticker<'a> {
    quiet: bool,
    in_place: bool,
    /// The names of the policies.
    names: Vec<&'a str>,
    previous: Option<(Duration, [Sums; 2])>,
    /// The latest counters of each pair.
    present: Vec<[Sums; 2]>,
}

/// What the line shows of one way, over all pairs.
#[derive(Clone, Copy, Default)]
struct Sums {
    bytes: u64,
    dropped: u64,
    queued: u64,
    in_flight: u64,
    lost: u64,
}

impl From<&DirectionCounters> for Sums {
    fn from(counters: &DirectionCounters) -> Sums {
        let DirectionCounters { delivered, in_flight, kernel, .. } = counters;
        let dropped = counters.dropped().map(|(_, volume)| volume.packets).sum();
        Sums { bytes: delivered.bytes, dropped, queued: counters.waiting().packets, in_flight: in_flight.packets, lost: kernel.dropped }
    }
}

impl Sums {
    fn plus(self, more: &Sums) -> Sums {
        Sums {
            bytes: self.bytes + more.bytes,
            dropped: self.dropped + more.dropped,
            queued: self.queued + more.queued,
            in_flight: self.in_flight + more.in_flight,
            lost: self.lost + more.lost,
        }
    }
}

impl<'a> Ticker<'a> {
    /// For this many pairs, whose policies have these names.
    pub fn new(pairs: usize, names: Vec<&'a str>, quiet: bool, in_place: bool) -> Ticker<'a> {
        Ticker { quiet, in_place, names, previous: None, present: vec![[Sums::default(); 2]; pairs] }
    }

    /// Prints what is new of the pair of this number, and the line with the first.
    pub fn show(&mut self, number: usize, tick: &Tick<'_>) {
        let clear = if self.in_place && self.previous.is_some() { "\r\x1b[2K" } else { "" };
        for notice in tick.notices {
            log::styled(&format!("{clear}{}\n", log::printable(notice)));
        }
        self.present[number] = tick.directions.each_ref().map(Sums::from);
        if self.quiet || number > 0 {
            return;
        }
        let sum = |way: usize| self.present.iter().fold(Sums::default(), |sum, pair| sum.plus(&pair[way]));
        let present = [sum(0), sum(1)];
        let Some((before, states)) = self.previous.replace((tick.elapsed, present)) else {
            log::line(&format!("carrying packets through {}; stop with Ctrl-C", self.names.join(" and ")));
            return;
        };
        let seconds = (tick.elapsed - before).as_secs_f64().max(1e-9);
        let half = |arrow: &str, now: &Sums, then: &Sums| {
            let rate = format_rate(now.bytes.saturating_sub(then.bytes) as f64 * 8.0 / seconds);
            let (drops, lost) = (now.dropped.saturating_sub(then.dropped), now.lost.saturating_sub(then.lost));
            let lost = if lost > 0 { format!(", {lost} lost in the kernel") } else { String::new() };
            format!("{arrow} {rate:>12}, {drops} dropped, {} queued, {} in flight{lost}", now.queued, now.in_flight)
        };
        let line =
            format!("{:>6} s  {}   {}", tick.elapsed.as_secs(), half("->", &present[0], &states[0]), half("<-", &present[1], &states[1]));
        if self.in_place { log::styled(&format!("{clear}{line}")) } else { log::line(&line) }
    }

    /// Ends the line.
    pub fn end(&self) {
        if self.in_place && self.previous.is_some() && !self.quiet {
            log::styled("\n");
        }
    }
}
