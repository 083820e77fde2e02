//! Records the stages that packets pass in a direction: for fits and validations of a model of it.
//!
//! A stamp is the processor's time-stamp counter where that runs at one rate in every state, else the machine's clock. The kernel's instant of
//! arrival is on another clock. All are mapped to one after the run, by readings of the clocks taken at every maintenance. Memory is allocated and
//! touched before the run; a packet beyond it is counted and not recorded. No call waits.
#![allow(unsafe_code)]

use crate::clock;
use crate::watch::{Frame, StageObserver, TakenIn};
use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use tidegate_core::observer::Observer;
use tidegate_core::packet::Packet;
use tidegate_core::queue::Occupancy;
use tidegate_core::units::Time;
use tidegate_statistics::{StageRecord, StageTrace};

/// The most by which the clock of arrivals may move against the machine's clock, in nanoseconds.
const MOST_MOVED: u64 = 10_000;

/// Readings of the clocks that are kept: 54 minutes of maintenance. After that the last one is replaced.
const MOST_READINGS: usize = 1 << 16;

/// Stamps that are taken to learn what a stamp costs.
const EMPTY_STAMPS: usize = 10_000;

/// Instants are nanoseconds from this long before the first reading of the clocks, so that none is 0.
const LEAD: i128 = 1_000_000_000;

static USES_COUNTER: AtomicBool = AtomicBool::new(false);

/// Ticks of the time-stamp counter, or nanoseconds of the machine's clock.
#[inline]
fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    if USES_COUNTER.load(Ordering::Relaxed) {
        let mut processor = 0;
        // SAFETY: the flag is set only if the processor has this instruction. It writes to its argument only.
        return unsafe { std::arch::x86_64::__rdtscp(&mut processor) };
    }
    clock::now().picoseconds() / 1000
}

/// True if the time-stamp counter can be read, and runs at one rate in every state.
fn has_counter() -> bool {
    let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = flags.lines().find_map(|line| line.strip_prefix("flags")).unwrap_or_default();
    cfg!(target_arch = "x86_64")
        && ["rdtscp", "constant_tsc", "nonstop_tsc"].iter().all(|flag| flags.split_whitespace().any(|word| word == *flag))
}

fn nanoseconds(clock: ClockId) -> i128 {
    let at = clock_gettime(clock);
    i128::from(at.tv_sec) * 1_000_000_000 + i128::from(at.tv_nsec)
}

/// All clocks at one instant.
#[derive(Clone, Copy, Debug)]
struct Reading {
    ticks: u64,
    /// Nanoseconds of the machine's clock.
    machine: i128,
    /// What the clock of arrivals is ahead of it.
    ahead: i128,
    /// The nanoseconds that the reading took.
    width: i128,
}

impl Reading {
    fn take() -> Reading {
        let before = nanoseconds(ClockId::Monotonic);
        let ticks = ticks();
        let arrivals = nanoseconds(ClockId::Realtime);
        let after = nanoseconds(ClockId::Monotonic);
        let machine = i128::midpoint(before, after);
        Reading { ticks, machine, ahead: arrivals - machine, width: after - before }
    }
}

/// Processor time in the kernel's units: stolen by a hypervisor, and in all.
fn processor_time() -> [u64; 2] {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    let times: Vec<u64> = line.split_whitespace().skip(1).map_while(|word| word.parse().ok()).take(8).collect();
    [times.get(7).copied().unwrap_or(0), times.iter().sum()]
}

/// Why there is no recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProbeError {
    /// The clock of arrivals was set during the run: by how many nanoseconds.
    ClockMoved(u64),
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProbeError::ClockMoved(nanoseconds) = self;
        write!(
            f,
            "the clock that stamps arrivals moved by {} us during the run: keep it from being set, and record again",
            nanoseconds / 1000
        )
    }
}

impl std::error::Error for ProbeError {}

/// An observer that records the stages of packets. Instants are ticks until the run is over, those of arrival nanoseconds.
#[derive(Debug)]
pub struct Probe {
    records: Vec<StageRecord>,
    /// The records that are in use: packet numbers below.
    used: usize,
    lost: u64,
    /// The packet in each slot.
    slots: Vec<u64>,
    /// The thread woke, and no packet was read since.
    wake: u64,
    readings: Vec<Reading>,
    empty_cost: u64,
    processor_time: [u64; 2],
}

impl Probe {
    /// A probe with memory for this many packets; none for an end of the bridge that is not recorded.
    pub fn new(packets: usize) -> Probe {
        USES_COUNTER.store(has_counter(), Ordering::Relaxed);
        // Not zero, so that the pages are there before the first packet.
        let unused = StageRecord { number: u64::MAX, ..StageRecord::default() };
        let mut costs: Vec<u64> = if packets == 0 { Vec::new() } else { (0..EMPTY_STAMPS).map(|_| ticks().abs_diff(ticks())).collect() };
        costs.sort_unstable();
        let mut readings = Vec::new();
        if packets > 0 {
            readings.reserve_exact(MOST_READINGS);
            readings.push(Reading::take());
        }
        Probe {
            records: vec![unused; packets],
            used: 0,
            lost: 0,
            slots: Vec::new(),
            wake: 0,
            readings,
            empty_cost: costs.get(costs.len() / 2).copied().unwrap_or(0),
            processor_time: processor_time(),
        }
    }

    fn record(&mut self, number: u64) -> Option<&mut StageRecord> {
        self.records[..self.used].get_mut(usize::try_from(number).ok()?)
    }

    fn read_clocks(&mut self) {
        let reading = Reading::take();
        if self.readings.len() < MOST_READINGS {
            self.readings.push(reading);
        } else if let Some(last) = self.readings.last_mut() {
            *last = reading;
        }
    }

    /// The recording, after the run. Instants are nanoseconds.
    ///
    /// # Errors
    /// [`ProbeError`] if the clocks cannot be brought together.
    pub fn finish(mut self) -> Result<StageTrace, ProbeError> {
        self.read_clocks();
        keep_narrower_half(&mut self.readings);
        let ahead = self.readings.iter().map(|reading| reading.ahead);
        let (least, most) = (ahead.clone().min().unwrap_or(0), ahead.max().unwrap_or(0));
        let moved = u64::try_from(most - least).unwrap_or(u64::MAX);
        if moved > MOST_MOVED {
            return Err(ProbeError::ClockMoved(moved));
        }
        let (first, ahead, scale) = (self.readings[0], i128::midpoint(least, most), scale(&self.readings));
        let of_ticks = |ticks: u64| {
            let since = (ticks.wrapping_sub(first.ticks) as i64) as f64 * scale;
            if ticks == 0 { 0 } else { (LEAD + since.round() as i128).max(1) as u64 }
        };
        let of_arrival = |at: u64| if at == 0 { 0 } else { (i128::from(at) - ahead - first.machine + LEAD).max(1) as u64 };
        self.records.truncate(self.used);
        for record in &mut self.records {
            record.arrived = of_arrival(record.arrived);
            for instant in [&mut record.wake, &mut record.read, &mut record.offered, &mut record.started, &mut record.handed] {
                *instant = of_ticks(*instant);
            }
        }
        let [stolen, total] = processor_time();
        let (stolen, total) = (stolen.saturating_sub(self.processor_time[0]), total.saturating_sub(self.processor_time[1]));
        Ok(StageTrace {
            ticks_per_second: 1_000_000_000,
            empty_cost: (self.empty_cost as f64 * scale).round() as u64,
            lost: self.lost,
            steal: 1_000_000 * stolen / total.max(1),
            records: self.records,
        })
    }
}

/// Keeps the readings that took at most as long as the middle one, at least two of several: one that was interrupted says little.
fn keep_narrower_half(readings: &mut Vec<Reading>) {
    let mut widths: Vec<i128> = readings.iter().map(|reading| reading.width).collect();
    widths.sort_unstable();
    let middle = widths.get(widths.len() / 2).copied().unwrap_or(0);
    readings.retain(|reading| reading.width <= middle);
}

/// Nanoseconds per tick, by least squares.
fn scale(readings: &[Reading]) -> f64 {
    let Some(first) = readings.first() else { return 1.0 };
    let points: Vec<[f64; 2]> =
        readings.iter().map(|reading| [reading.ticks.wrapping_sub(first.ticks) as f64, (reading.machine - first.machine) as f64]).collect();
    let mean = |axis: usize| points.iter().map(|point| point[axis]).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(0), mean(1));
    let product = |axis: usize| points.iter().map(|point| (point[0] - x) * (point[axis] - [x, y][axis])).sum::<f64>();
    if product(0) > 0.0 { product(1) / product(0) } else { 1.0 }
}

impl Observer<Frame> for Probe {
    #[inline]
    fn sent(&mut self, _now: Time, packet: &Packet<Frame>, _finish: Time, _occupancy: &Occupancy) {
        if let Some(record) = self.record(packet.payload.number()) {
            record.started = ticks();
        }
    }
}

impl StageObserver for Probe {
    #[inline]
    fn stamp() -> u64 {
        ticks()
    }

    fn begin(&mut self, slots: u32) {
        if !self.records.is_empty() {
            self.slots = vec![u64::MAX; slots as usize];
        }
    }

    #[inline]
    fn woken(&mut self) {
        self.wake = ticks();
    }

    #[inline]
    fn taken_in(&mut self, packet: TakenIn) {
        let TakenIn { slot, number, flow, length, arrived, read } = packet;
        if let Some(entry) = slot.and_then(|slot| self.slots.get_mut(slot as usize)) {
            *entry = number;
        }
        let wake = std::mem::take(&mut self.wake);
        match self.records.get_mut(self.used) {
            // Numbers follow each other from 0.
            Some(record) if number == self.used as u64 => {
                let (length, flow) = (u64::from(length), u64::from(flow.0));
                *record = StageRecord { number, length, flow, wake, arrived, read, offered: ticks(), started: 0, handed: 0 };
                self.used += 1;
            }
            _ => self.lost += 1,
        }
    }

    #[inline]
    fn handed(&mut self, slot: u32, at: u64) {
        if let Some(&number) = self.slots.get(slot as usize)
            && let Some(record) = self.record(number)
        {
            record.handed = at;
        }
    }

    fn maintained(&mut self) {
        if !self.readings.is_empty() {
            self.read_clocks();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_core::packet::Flow;

    fn taken(number: u64) -> TakenIn {
        let arrived = nanoseconds(ClockId::Realtime) as u64;
        TakenIn { slot: Some(number as u32 % 2), number, flow: Flow(3), length: 99, arrived, read: Probe::stamp() }
    }

    #[test]
    fn instants_are_on_one_clock_and_in_order() {
        let mut probe = Probe::new(2);
        probe.begin(2);
        for number in 0..3 {
            probe.woken();
            probe.taken_in(taken(number));
            probe.handed(number as u32 % 2, Probe::stamp());
            probe.maintained();
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let trace = probe.finish().unwrap();
        assert_eq!((trace.records.len(), trace.lost, trace.ticks_per_second), (2, 1, 1_000_000_000));
        assert!(trace.empty_cost < 10_000);
        for (number, record) in trace.records.iter().enumerate() {
            assert_eq!((record.number, record.flow, record.length, record.started), (number as u64, 3, 99, 0));
            assert!(record.wake <= record.read && record.read <= record.offered && record.offered <= record.handed, "{record:?}");
            // The same instant on two clocks.
            assert!(record.arrived.abs_diff(record.read) < 1_000_000, "{record:?}");
        }
        let between = trace.records[1].read - trace.records[0].read;
        assert!((2_000_000..1_000_000_000).contains(&between), "{between} ns");
    }

    #[test]
    fn a_probe_without_memory_records_nothing() {
        let mut probe = Probe::new(0);
        probe.begin(2);
        probe.taken_in(taken(0));
        probe.handed(0, 5);
        probe.maintained();
        assert_eq!((probe.used, probe.lost), (0, 1));
    }

    #[test]
    fn a_clock_that_is_set_is_refused() {
        let mut probe = Probe::new(1);
        let mut moved = Reading::take();
        moved.ahead += 20_000;
        probe.readings.push(Reading { width: 0, ..moved });
        probe.readings[0].width = 0;
        assert!(matches!(probe.finish(), Err(ProbeError::ClockMoved(19_000..=21_000))));
    }

    #[test]
    fn one_quick_reading_does_not_stand_for_all() {
        let reading = |width| Reading { ticks: 0, machine: 0, ahead: 0, width };
        let left = |widths: &[i128]| {
            let mut readings: Vec<Reading> = widths.iter().map(|&width| reading(width)).collect();
            keep_narrower_half(&mut readings);
            readings.len()
        };
        assert_eq!([left(&[10, 900]), left(&[10, 900, 800, 9000]), left(&[10]), left(&[])], [2, 3, 1, 0]);
    }

    #[test]
    fn the_scale_of_the_counter_is_found() {
        let reading = |number: u64| Reading { ticks: 7 + 2_500 * number, machine: 50 + 1000 * i128::from(number), ahead: 0, width: 0 };
        assert!((scale(&[reading(0), reading(3), reading(9)]) - 0.4).abs() < 1e-12);
        assert_eq!(scale(&[reading(4)]), 1.0);
    }
}
