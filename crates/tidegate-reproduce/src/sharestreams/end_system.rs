//! Figures 12 and 13: an end system, from the producers of frames over the device to the playout, in virtual time.

use super::{CLOCK, Run, Workload, beside, name, windows};
use crate::figure::{Axis, Chart, Curve, Figure, Gate, Panel, Table, numbers};
use std::collections::VecDeque;
use tidegate_core::dwcs::device::{Architecture, Size};
use tidegate_sim::random::Stream;

/// Frames of each stream.
const FRAMES: u64 = 64_000;

/// After so many frames each producer pauses once.
const BURST: u64 = 4000;

/// The pause, in microseconds. The paper asks for 1 ms and speaks of several; a sleep that short took 10 to 20 ms on its machine.
const PAUSE: f64 = 20_000.0;

/// What writing a frame and its time stamp takes, in microseconds.
const WRITING: f64 = 4.0;

/// The frames that a producer writes before the processor turns to the next one.
const TURN: u64 = 250;

/// What crosses the bus, in bytes per microsecond: the paper's measured 60 Mbyte/s.
const BUS: f64 = 60.0;

/// The bytes of an arrival time and of a winner's number on the bus.
const ARRIVAL: f64 = 2.0;
const WINNER: f64 = 1.0;

/// Winners that the transmission engine pulls at once.
const BATCH: usize = 1024;

/// The playout, in bytes per microsecond: the sum of the paper's four bandwidths.
const PLAYOUT: f64 = 47.15 + 47.15 + 95.3 + 188.6;

/// The windows of the four streams.
const WINDOWS: [(u32, u32); 4] = [(7, 8), (14, 16), (6, 8), (4, 8)];

/// What the paper prints, in Mbyte/s.
const PUBLISHED: [f64; 4] = [47.15, 47.15, 95.3, 188.6];

/// How many frames come per unit of the 16-bit arrival time, so that the whole run is less than 2^15 units long.
const FRAMES_PER_ARRIVAL: u64 = 4;

/// The decisions in which all streams are backlogged: until the fourth has sent all of its frames.
const BACKLOGGED: u64 = 2 * FRAMES;

const SEED: u64 = 12;

/// One frame that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    stream: usize,
    bytes: f64,
    /// Microseconds since the producers started: when it was written, when its transmission began and when it ended.
    written: f64,
    start: f64,
    end: f64,
}

/// A run of the end system.
struct EndSystem {
    run: Run,
    /// All frames in the order of transmission.
    sent: Vec<Sent>,
    /// When the transmission engine begins to pull winners.
    opens: f64,
}

impl EndSystem {
    fn new(progress: &dyn Fn(f64)) -> EndSystem {
        let workload =
            Workload { packets: FRAMES, packets_per_arrival: FRAMES_PER_ARRIVAL, ..Workload::backlogged(windows(WINDOWS), 4 * FRAMES) };
        let run = Run::new(&workload, progress);
        let written = produce();
        let last = written.iter().flatten().copied().fold(0.0, f64::max);
        let opens = last + 4.0 * FRAMES as f64 * ARRIVAL / BUS;
        let mut lengths: Vec<Stream> = (0..4).map(|stream| Stream::new(SEED, 0, &name(stream))).collect();
        let mut numbers = [0; 4];
        let (mut idle, mut pulled, mut played) = (opens, opens, opens);
        let mut sent = Vec::with_capacity(run.winners.len());
        for (batch, winners) in run.winners.chunks(BATCH).enumerate() {
            // One batch is pulled while the one before it is played out.
            let decided = opens + decided_after((batch * BATCH + winners.len()) as u64);
            pulled = decided.max(pulled).max(played) + winners.len() as f64 * WINNER / BUS;
            played = idle.max(pulled);
            idle = played;
            for &stream in winners {
                let bytes = 64.0 + lengths[stream].below(1500 - 64 + 1) as f64;
                let (start, end) = (idle, idle + bytes / PLAYOUT);
                sent.push(Sent { stream, bytes, written: written[stream][numbers[stream]], start, end });
                numbers[stream] += 1;
                idle = end;
            }
        }
        EndSystem { run, sent, opens }
    }

    /// For each stream, Mbyte/s since the playout opened, at every millisecond while all are backlogged.
    fn accrued(&self) -> Vec<Curve> {
        let end = self.sent[BACKLOGGED as usize - 1].end;
        let instants: Vec<f64> = (1..).map(|millisecond| f64::from(millisecond) * 1000.0).take_while(|at| self.opens + at < end).collect();
        let bytes = self.bytes();
        let curve = |bytes: &Curve| {
            let mut curve = Curve::new(bytes.name.clone());
            instants.iter().for_each(|at| curve.push(at / 1000.0, bytes.before(self.opens + at) / at));
            curve
        };
        bytes.iter().map(curve).collect()
    }

    /// For each stream, Mbyte/s in windows of 10 ms until all frames are sent.
    fn windowed(&self) -> Vec<Curve> {
        const WINDOW: f64 = 10_000.0;
        let end = self.sent[self.sent.len() - 1].end;
        let starts: Vec<f64> = (0..).map(|window| f64::from(window) * WINDOW).take_while(|at| self.opens + at + WINDOW < end).collect();
        let bytes = self.bytes();
        let curve = |bytes: &Curve| {
            let mut curve = Curve::new(bytes.name.clone());
            let rate = |at: f64| bytes.between(self.opens + at, self.opens + at + WINDOW) / WINDOW;
            starts.iter().for_each(|&at| curve.push(at / 1000.0, rate(at)));
            curve
        };
        bytes.iter().map(curve).collect()
    }

    /// For each stream a curve that counts the bytes sent.
    fn bytes(&self) -> Vec<Curve> {
        let mut curves: Vec<Curve> = (0..4).map(|stream| Curve::new(name(stream))).collect();
        for frame in &self.sent {
            let before = curves[frame.stream].y.last().copied().unwrap_or(0.0);
            curves[frame.stream].push(frame.end, before + frame.bytes);
        }
        curves
    }

    /// For each stream, how long each of its frames waits, in milliseconds, by number from 1.
    fn delays(&self) -> Vec<Curve> {
        let mut curves: Vec<Curve> = (0..4).map(|stream| Curve::new(name(stream))).collect();
        for frame in &self.sent {
            let number = curves[frame.stream].x.len() + 1;
            curves[frame.stream].push(number as f64, (frame.start - frame.written) / 1000.0);
        }
        curves
    }
}

/// How long after its start the device has made so many decisions, in microseconds.
fn decided_after(decisions: u64) -> f64 {
    let timeline = Architecture::base(Size::Four).timeline(4);
    timeline.schedule(decisions - 1).end as f64 / (CLOCK as f64 / 1e6)
}

/// When each frame of each stream is written. One processor serves the four producers in turn; who pauses leaves it to the others.
fn produce() -> Vec<Vec<f64>> {
    let mut written = vec![Vec::new(); 4];
    let mut turns: VecDeque<(usize, f64)> = (0..4).map(|stream| (stream, 0.0)).collect();
    let mut now = 0.0;
    while let Some((stream, ready)) = turns.pop_front() {
        // Whoever sleeps is passed over, unless all of them do.
        if ready > now && turns.iter().any(|&(_, other)| other < ready) {
            turns.push_back((stream, ready));
            continue;
        }
        now = f64::max(now, ready);
        let frames: &mut Vec<f64> = &mut written[stream];
        for _ in 0..TURN.min(FRAMES - frames.len() as u64) {
            now += WRITING;
            frames.push(now);
        }
        match frames.len() as u64 {
            FRAMES => {}
            BURST => turns.push_back((stream, now + PAUSE)),
            _ => turns.push_back((stream, now)),
        }
    }
    written
}

/// The parameters that are ours, a sentence each.
fn parameters() -> Vec<String> {
    vec![
        "The paper gives windows, frame sizes, numbers of frames, the pause, the bus and the clock. Ours: sizes uniform from 64 to 1500 bytes \
         from a seeded generator; a producer takes 4 us for a frame, and the one processor turns to the next producer after 250 frames; the \
         pause lasts 20 ms, because a sleep of 1 ms lasted at least one tick of 10 ms on Linux 2.4."
            .into(),
        "All arrival times cross the bus at 60 Mbyte/s before the first winner is pulled; the device decides every three cycles at 23 MHz; \
         winners are pulled 1024 at a time while those before are played out. The playout is as fast as the paper's four bandwidths \
         together, 378.2 Mbyte/s: the sum is given, the split is what is reproduced."
            .into(),
        "Arrival times count four frames per unit, so that 16 bits order all of them.".into(),
        beside(),
    ]
}

/// Figure 12: bandwidth.
pub(super) fn bandwidth(progress: &dyn Fn(f64)) -> Figure {
    let system = EndSystem::new(progress);
    let mut figure = Figure::new("figure-12", "Fair shares 1:1:2:4 of an end system", "Figure 12, section 5.2");
    figure.paper = vec![
        "Four streams of 64,000 frames with windows 7/8, 14/16, 6/8 and 4/8 settle at 47.15, 47.15, 95.3 and 188.6 Mbyte/s: 1:1:2:4."
            .into(),
    ];
    figure.notes = parameters();
    figure.notes.push(
        "Windows divide frames, not bytes: frame shares are exact, byte shares follow as far as the sizes average out. The paper's own numbers \
         deviate from 1:1:2:4 by 1 %. After 128,000 decisions stream 4 has sent all of its frames; what it leaves is not shared by weight."
            .into(),
    );
    let run = &system.run;
    let ideal = [1.0, 1.0, 2.0, 4.0].map(|weight| weight / 8.0);
    let unequal = (1..=BACKLOGGED / 16).map(|round| {
        let counts = run.between(0, 16 * round);
        counts.iter().zip(ideal).map(|(count, share)| (count - share * 16.0 * round as f64).abs()).fold(0.0, f64::max)
    });
    let unequal = unequal.fold(0.0, f64::max);
    let curves = system.accrued();
    let settled: Vec<f64> = curves.iter().filter_map(|curve| curve.y.last().copied()).collect();
    let total: f64 = settled.iter().sum();
    let shares = settled.iter().map(|rate| 100.0 * rate / total).collect();
    figure.gates = vec![
        Gate::exactly("frames in 64,000 decisions", "frames", run.between(0, FRAMES), &numbers([8000, 8000, 16_000, 32_000])),
        Gate::exactly("frames while all are backlogged", "frames", run.between(0, BACKLOGGED), &numbers([16_000, 16_000, 32_000, 64_000])),
        Gate::exactly("farthest from 1:1:2:4 after every 16 decisions", "frames", vec![unequal], &[0.0]),
        Gate::exactly("frames in all", "frames", run.between(0, 4 * FRAMES), &[FRAMES as f64; 4]),
        Gate::near("shares of the bytes", "%", shares, &ideal.map(|share| 100.0 * share), 0.02),
        Gate::near("settled bandwidth, the paper's within 2 %", "Mbyte/s", settled.clone(), &PUBLISHED, 0.02),
        run.same_winners(),
    ];
    let time = Axis::linear("time since the first transmission (ms)");
    let rate = Axis::linear("bandwidth (Mbyte/s)");
    let row = |stream: usize| {
        let [ours, paper] = [settled[stream], PUBLISHED[stream]];
        vec![
            name(stream),
            WINDOWS[stream].0.to_string() + "/" + &WINDOWS[stream].1.to_string(),
            format!("{paper} Mbyte/s"),
            format!("{ours:.2} Mbyte/s"),
            format!("{:.3}", paper / PUBLISHED[0]),
            format!("{:.3}", ours / settled[0]),
        ]
    };
    let head = ["stream", "window", "the paper's", "ours", "the paper's over its first", "ours over our first"];
    let rows = (0..4).map(row).collect();
    figure.tables.push(Table { title: "Settled bandwidth".into(), head: head.map(String::from).into(), rows });
    figure.charts.push(Chart {
        id: "bandwidth",
        title: "Bytes sent over time, while all streams are backlogged".into(),
        x: time,
        y: rate,
        steps: false,
        panels: vec![Panel { name: "since the first transmission".into(), curves }],
    });
    figure.charts.push(Chart {
        id: "windows",
        title: "Bandwidth in windows of 10 ms, until all frames are sent".into(),
        x: time,
        y: rate,
        steps: true,
        panels: vec![Panel { name: "each window by itself".into(), curves: system.windowed() }],
    });
    figure
}

/// Figure 13: queueing delay.
pub(super) fn delay(progress: &dyn Fn(f64)) -> Figure {
    let system = EndSystem::new(progress);
    let mut figure = Figure::new("figure-13", "Queueing delay of every frame of an end system", "Figure 13, section 5.2");
    figure.paper = vec![
        "The delay of every frame from its production to its transmission. All four streams zig-zag; the first 4000 frames of each, which come \
         before a pause of several milliseconds, wait longer than the rest."
            .into(),
        "Stream 4 has the least delay across all frames, stream 3 slightly more.".into(),
    ];
    figure.notes = parameters();
    figure.notes.push(
        "Delays fall with the number of the frame because frames are sent only after all of them were written, and then in less time than \
         writing took. The zig-zag comes from the producers taking turns on one processor: within a turn frames are written faster than they \
         are sent later, hardly so for stream 4; between turns the other producers write. Whether the delays of streams 1 and 2 fall or rise \
         in the long run depends on what a frame takes to be written: with ours they stay level until stream 4 has sent all."
            .into(),
    );
    let curves = system.delays();
    let number = |frame: usize| [0, 1, 2, 3].map(|stream: usize| curves[stream].y[frame]);
    let disordered = (0..FRAMES as usize).filter(|&frame| {
        let [first, second, third, fourth] = number(frame);
        !(fourth < third && third < first && third < second)
    });
    let disordered = disordered.count() as f64;
    let mean = |curve: &Curve| curve.y.iter().sum::<f64>() / curve.y.len() as f64;
    let means: Vec<f64> = curves.iter().map(mean).collect();
    let (burst, pause) = (BURST as usize, PAUSE / 1000.0);
    let drop = curves.iter().map(|curve| curve.y[burst - 1] - curve.y[burst]).collect();
    let apart = curves.iter().map(|curve| {
        let (first, rest) = curve.y.split_at(burst);
        first.iter().copied().fold(f64::MAX, f64::min) - rest.iter().copied().fold(f64::MIN, f64::max)
    });
    // From the first to the last frame of a turn, and from there to the next turn.
    let turns = FRAMES as usize / TURN as usize;
    let rise = |curve: &Curve| curve.y.chunks(TURN as usize).map(|turn| turn[turn.len() - 1] - turn[0]).sum::<f64>() / turns as f64;
    let falls = |curve: &Curve| (1..turns).filter(|turn| curve.y[turn * TURN as usize] < curve.y[turn * TURN as usize - 1]).count() as f64;
    figure.gates = vec![
        Gate::exactly("frame numbers at which not 4 < 3 < 1 and 2", "frames", vec![disordered], &[0.0]),
        Gate::near("mean delay of stream 1 over that of stream 2", "", vec![means[0] / means[1]], &[1.0], 0.01),
        Gate::within("frame 4001 waits less than frame 4000 by the pause", "ms", drop, &[pause; 4], 0.1),
        Gate::all_at_least("the first 4000 wait longer than any later frame by", "ms", apart.collect(), 0.0),
        Gate::all_at_least("zig-zag: mean rise within a turn", "ms", curves.iter().map(rise).collect(), 0.0),
        Gate::exactly("zig-zag: turns before which the delay falls", "turns", curves.iter().map(falls).collect(), &[turns as f64 - 1.0; 4]),
        system.run.same_winners(),
    ];
    let start = |curve: &Curve| Curve {
        name: curve.name.clone(),
        x: curve.x[..2 * burst].to_vec(),
        y: curve.y[..2 * burst].iter().map(|delay| delay - curve.y[0]).collect(),
    };
    let start: Vec<Curve> = curves.iter().map(start).collect();
    figure.charts.push(Chart {
        id: "delay",
        title: "Queueing delay by number of the frame".into(),
        x: Axis::linear("frame"),
        y: Axis::linear("queueing delay (ms)"),
        steps: false,
        panels: vec![Panel { name: "all frames".into(), curves }],
    });
    figure.charts.push(Chart {
        id: "first-burst",
        title: "The first burst and the next 4000 frames, less the delay of the first frame".into(),
        x: Axis::linear("frame"),
        y: Axis::linear("change of the delay (ms)"),
        steps: false,
        panels: vec![Panel { name: "first 8000 frames".into(), curves: start }],
    });
    figure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn producers_write_all_frames_in_turn_and_pause_once() {
        let written = produce();
        for frames in &written {
            assert_eq!(frames.len() as u64, FRAMES);
            assert!(frames.is_sorted_by(|a, b| a < b));
            let longest = frames.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
            assert_eq!(longest, frames[BURST as usize] - frames[BURST as usize - 1]);
            assert!(longest >= PAUSE);
        }
        let mut all: Vec<f64> = written.concat();
        all.sort_by(f64::total_cmp);
        assert!(all.windows(2).all(|pair| pair[1] - pair[0] > WRITING - 1e-6), "one frame at a time");
    }

    #[test]
    fn every_frame_is_sent_after_it_was_written_and_one_at_a_time() {
        let system = EndSystem::new(&|_| {});
        assert_eq!(system.sent.len() as u64, 4 * FRAMES);
        assert!(system.sent.iter().all(|frame| frame.written < system.opens && frame.start >= system.opens));
        assert!(system.sent.windows(2).all(|pair| pair[1].start >= pair[0].end));
    }
}
