//! The end system of section 5.2: producers of frames, an engine that is the device model, and a playout, in virtual time.
//!
//! All parts are those of [`tidegate_endsystem`]. First the producers write every frame, and the arrival times cross the bus. Then the
//! Transmission Engine takes winners and plays their frames out.

use super::workload::{CLOCK, Run, Workload, name, windows};
use crate::figure::Curve;
use std::collections::VecDeque;
use tidegate_core::packet::Colour;
use tidegate_core::units::{Duration, Overhead, Rate, Time};
use tidegate_endsystem::{Account, Descriptor, EndSystem, Grain, Next, Pace, QueueManager, Setup, Slots};
use tidegate_rtl_model::{Architecture, Clock, Device, Size};
use tidegate_sim::random::Stream;

/// Frames of each stream.
pub(super) const FRAMES: u64 = 64_000;

/// Each producer pauses once, after this many frames.
pub(super) const BURST: u64 = 4000;

/// The time to write a frame and its time stamp, in microseconds.
pub(super) const WRITING: f64 = 4.0;

/// The bus, in bytes per microsecond: the paper measured 60 Mbyte/s.
const BUS: f64 = 60.0;

/// The bytes of an arrival time on the bus.
const ARRIVAL: f64 = 2.0;
/// The bytes of a winner's number on the bus.
const WINNER: f64 = 1.0;

/// The number of winners that the Transmission Engine takes at once.
const BATCH: u32 = 1024;

/// The playout, in bit/s: the sum of the paper's four bandwidths, 378.2 Mbyte/s.
const PLAYOUT: u64 = 3_025_600_000;

/// The windows of the four streams.
pub(super) const WINDOWS: [(u32, u32); 4] = [(7, 8), (14, 16), (6, 8), (4, 8)];

/// The exponent of the engine's ticks per unit of an arrival time: all 256,000 decisions then take less than 2^15 units.
const GRAIN: u32 = 3;

/// Frames per unit of the arrival time, so that heads of different streams are less than 2^15 ticks apart.
const FRAMES_PER_ARRIVAL: u64 = 32;

/// The number of decisions while all streams are backlogged: until the fourth has sent all of its frames.
pub(super) const BACKLOGGED: u64 = 2 * FRAMES;

/// The seed of the frame sizes.
const SEED: u64 = 12;

/// How the producers share their processor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Production {
    /// The pause of each producer after [`BURST`] frames, in microseconds.
    pub(super) pause: f64,
    /// The frames that a producer writes before the processor turns to the next one.
    pub(super) turn: u64,
}

/// One frame that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    stream: usize,
    bytes: f64,
    /// Microseconds from the start of the producers to the end of writing, and to the start and the end of the transmission.
    written: f64,
    start: f64,
    end: f64,
}

/// The winners without an end system around them: of the device, and of the engines that have to take the same decisions.
pub(super) fn decisions(progress: &dyn Fn(f64)) -> Run {
    let backlogged = Workload::backlogged(windows(WINDOWS), 4 * FRAMES);
    Run::new(&Workload { packets: FRAMES, packets_per_arrival: FRAMES_PER_ARRIVAL, ..backlogged }, progress)
}

/// A run of the end system.
pub(super) struct Host {
    /// All frames in the order of transmission.
    sent: Vec<Sent>,
    /// When the Transmission Engine begins to play frames out, in microseconds.
    opens: f64,
    /// The account of the frames.
    pub(super) account: Account,
}

impl Host {
    pub(super) fn new(production: Production) -> Host {
        let mut system = open();
        let written = production.written();
        let mut lengths: Vec<Stream> = (0..4).map(|stream| Stream::new(SEED, 0, &name(stream))).collect();
        for (stream, producer) in system.producers.iter_mut().enumerate() {
            let flow = producer.streams().next().expect("each producer has its stream");
            for (number, &instant) in (0..).zip(&written[stream]) {
                let length = 64 + lengths[stream].below(1500 - 64 + 1) as u32;
                let arrival = Time::from_picoseconds((number / FRAMES_PER_ARRIVAL) << GRAIN);
                producer.offer(flow, arrival, length, Colour::Green, instant).expect("a ring holds all frames of its stream");
            }
        }
        let last = written.iter().flatten().copied().fold(0.0, f64::max);
        let transferred = 4.0 * FRAMES as f64 * ARRIVAL / BUS;
        let opens = last + transferred + decided_after(BATCH.into()) + f64::from(BATCH) * WINNER / BUS;
        let sent = play_out(&mut system, opens);
        Host { sent, opens, account: system.account() }
    }

    /// The number of winners that differ from the decisions of the device alone.
    pub(super) fn differing(&self, run: &Run) -> f64 {
        let same = self.sent.iter().zip(&run.winners).filter(|(frame, winner)| frame.stream == **winner).count();
        (run.winners.len().max(self.sent.len()) - same) as f64
    }

    /// For each stream, Mbyte/s since the playout opened, at every millisecond while all are backlogged.
    pub(super) fn accrued(&self) -> Vec<Curve> {
        let end = self.sent[BACKLOGGED as usize - 1].end;
        let instants: Vec<f64> = (1..).map(|millisecond| f64::from(millisecond) * 1000.0).take_while(|at| self.opens + at < end).collect();
        self.bytes_at(&instants, |bytes, at| bytes.before(self.opens + at) / at)
    }

    /// For each stream, Mbyte/s in windows of 10 ms until all frames are sent.
    pub(super) fn windowed(&self) -> Vec<Curve> {
        const WINDOW: f64 = 10_000.0;
        let end = self.sent[self.sent.len() - 1].end;
        let starts: Vec<f64> = (0..).map(|window| f64::from(window) * WINDOW).take_while(|at| self.opens + at + WINDOW < end).collect();
        self.bytes_at(&starts, |bytes, at| bytes.between(self.opens + at, self.opens + at + WINDOW) / WINDOW)
    }

    /// For each stream, `rate` of its count of bytes at each of the `instants`, in microseconds since the playout opened.
    fn bytes_at(&self, instants: &[f64], rate: impl Fn(&Curve, f64) -> f64) -> Vec<Curve> {
        let mut counts: Vec<Curve> = (0..4).map(|stream| Curve::new(name(stream))).collect();
        for frame in &self.sent {
            let before = counts[frame.stream].y.last().copied().unwrap_or(0.0);
            counts[frame.stream].push(frame.end, before + frame.bytes);
        }
        let curve = |bytes: &Curve| {
            let mut curve = Curve::new(bytes.name.clone());
            instants.iter().for_each(|&at| curve.push(at / 1000.0, rate(bytes, at)));
            curve
        };
        counts.iter().map(curve).collect()
    }

    /// For each stream, the waiting time of its frames in milliseconds, by number from 1.
    pub(super) fn delays(&self) -> Vec<Curve> {
        let mut curves: Vec<Curve> = (0..4).map(|stream| Curve::new(name(stream))).collect();
        for frame in &self.sent {
            let number = curves[frame.stream].x.len() + 1;
            curves[frame.stream].push(number as f64, (frame.start - frame.written) / 1000.0);
        }
        curves
    }
}

/// An end system of four producers with a stream each. A frame is the instant at which it was written.
fn open() -> EndSystem<f64, Slots<Device>> {
    let mut queues = QueueManager::default();
    for (index, stream) in windows(WINDOWS).into_iter().enumerate() {
        if index > 0 {
            queues.next_producer();
        }
        queues.admit(Descriptor::new(stream).frames(FRAMES as u32)).expect("rings of 64,000 frames are admitted");
    }
    let setup = Setup {
        pace: Pace::Decisions { rate: Some(Rate::new(PLAYOUT).expect("the rate is in range")) },
        grain: Grain::new(GRAIN).expect("the exponent is in range"),
        overhead: Overhead::None,
        batch: BATCH,
        winners: BATCH,
        catch_up: Duration::ZERO,
        ..Setup::decisions()
    };
    let device = |streams: Vec<_>| Device::new(Architecture::base(Size::Four), Clock::Decisions, 0, &streams).map(Slots::new);
    queues.open(&setup, device).expect("the figure's streams fit into the registers")
}

/// Engine and Transmission Engine take turns until all frames are sent; the first leaves at `opens`.
fn play_out(system: &mut EndSystem<f64, Slots<Device>>, opens: f64) -> Vec<Sent> {
    let mut sent = Vec::with_capacity(4 * FRAMES as usize);
    let mut now = Time::from_picoseconds((opens * 1e6) as u64);
    while sent.len() < 4 * FRAMES as usize {
        system.engine.poll(now);
        let next = system.transmission.poll(now, |departure| {
            let (bytes, start) = (f64::from(departure.length), departure.at.picoseconds() as f64 / 1e6);
            let end = start + bytes / (PLAYOUT as f64 / 8e6);
            sent.push(Sent { stream: departure.stream.index(), bytes, written: departure.frame, start, end });
        });
        if let Next::At(instant) = next {
            now = instant;
        }
    }
    sent
}

/// The time that the device takes for this many decisions, in microseconds.
fn decided_after(decisions: u64) -> f64 {
    let timeline = Architecture::base(Size::Four).timeline(4);
    timeline.schedule(decisions - 1).end as f64 / (CLOCK as f64 / 1e6)
}

impl Production {
    /// The instants at which the frames of each stream are written. One processor serves the four producers in turn, except those that pause.
    fn written(self) -> Vec<Vec<f64>> {
        let mut written = vec![Vec::new(); 4];
        let mut turns: VecDeque<(usize, f64)> = (0..4).map(|stream| (stream, 0.0)).collect();
        let mut now = 0.0;
        while let Some((stream, ready)) = turns.pop_front() {
            // A producer that pauses is skipped, unless all of them do.
            if ready > now && turns.iter().any(|&(_, other)| other < ready) {
                turns.push_back((stream, ready));
                continue;
            }
            now = f64::max(now, ready);
            let frames: &mut Vec<f64> = &mut written[stream];
            for _ in 0..self.turn.min(FRAMES - frames.len() as u64) {
                now += WRITING;
                frames.push(now);
            }
            match frames.len() as u64 {
                FRAMES => {}
                BURST => turns.push_back((stream, now + self.pause)),
                _ => turns.push_back((stream, now)),
            }
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRODUCTION: Production = Production { pause: 20_000.0, turn: 250 };

    #[test]
    fn producers_write_all_frames_in_turn_and_pause_once() {
        let written = PRODUCTION.written();
        for frames in &written {
            assert_eq!(frames.len() as u64, FRAMES);
            assert!(frames.is_sorted_by(|a, b| a < b));
            let longest = frames.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
            assert_eq!(longest, frames[BURST as usize] - frames[BURST as usize - 1]);
            assert!(longest >= PRODUCTION.pause);
        }
        let mut all: Vec<f64> = written.concat();
        all.sort_by(f64::total_cmp);
        assert!(all.windows(2).all(|pair| pair[1] - pair[0] > WRITING - 1e-6), "one frame at a time");
    }

    #[test]
    fn every_frame_is_sent_after_it_was_written_and_one_at_a_time() {
        let host = Host::new(PRODUCTION);
        assert_eq!(host.sent.len() as u64, 4 * FRAMES);
        assert!(host.sent.iter().all(|frame| frame.written < host.opens && frame.start >= host.opens - 1e-6));
        // Starts are whole picoseconds.
        assert!(host.sent.windows(2).all(|pair| pair[1].start >= pair[0].end - 1e-5 && pair[1].start <= pair[0].end + 1e-5));
        host.account.check().unwrap();
    }
}
