//! Cost of a decision by Dynamic Window-Constrained Scheduling: find the winner, serve it, and account for every deadline that is missed.
//!
//! All streams are backlogged all the time and every service takes one tick.
//!
//! | streams | ask for |
//! |---|---|
//! | `shares` | equal shares: all deadlines fall together, and all streams but one miss theirs in every slot |
//! | `weights` | shares of random weights from 1 to 1000; the same, with as many paces as weights |
//! | `overload` | random windows of up to 255 deadlines, one in every slot: all streams are in violation nearly all the time |
//! | `windows` | random windows of up to 16 deadlines with periods over three decades, together 95 % of the link |
//! | `deadlines` | no window, periods over three decades, together 95 % of the link: plain earliest deadline first |

use crate::flows::Random;
use crate::{Benchmark, Rounds};
use tidegate_core::dwcs::{Choice, Dwcs, Engine, Order, Request, Rules, Scan, Service, Stream, Window, resolve};
use tidegate_core::packet::{Colour, Flow, Head};
use tidegate_core::scheduler::{Decision, EarliestDeadlineFirst, FlowParameters, Scheduler, Setup};
use tidegate_core::units::{Duration, Rate, Time};

/// Decisions in one round; few in the tests.
const ROUND: u64 = if cfg!(any(test, debug_assertions)) { 1 << 12 } else { 1 << 19 };

/// Streams looked at in one round of the engine that scans.
const SCANNED: u64 = if cfg!(any(test, debug_assertions)) { 1 << 16 } else { 1 << 24 };

const NAMES: [&str; 11] = [
    "engine/shares",
    "scan/shares",
    "engine/weights",
    "scan/weights",
    "engine/overload",
    "scan/overload",
    "engine/windows",
    "scan/windows",
    "engine/deadlines",
    "scan/deadlines",
    "edf-wheel/deadlines",
];

/// Every engine with every kind of streams, and earliest deadline first on the timing wheel.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter()
}

/// Builds the named engine for this many streams.
///
/// # Errors
/// An unknown name, or streams that the engine refuses.
pub fn set_up(name: &str, streams: u32) -> Result<Benchmark, String> {
    let known = NAMES.contains(&name).then(|| name.split_once('/')).flatten();
    let (engine, kind) = known.ok_or_else(|| format!("no decision is called \"{name}\"; there are {}", NAMES.join(", ")))?;
    let drawn = draw(kind, streams)?;
    let round: Rounds = match engine {
        "engine" => {
            let engine = Engine::new(Rules::default(), &drawn).map_err(|error| error.to_string())?;
            let mut line = Line::new(engine, streams);
            line.run(2 * u64::from(streams));
            Box::new(move || line.run(ROUND))
        }
        "scan" => {
            let engine = Scan::new(Rules::default(), Order::default(), &drawn).map_err(|error| error.to_string())?;
            let mut line = Line::new(engine, streams);
            let decisions = (SCANNED / u64::from(streams)).clamp(4, ROUND);
            line.run(decisions);
            Box::new(move || line.run(decisions))
        }
        _ => {
            let mut line = Wheel::new(&drawn)?;
            line.run(2 * u64::from(streams));
            Box::new(move || line.run(ROUND))
        }
    };
    Ok(Benchmark { operation: format!("dwcs-{name}"), flows: streams, facts: String::new(), round })
}

fn draw(kind: &str, streams: u32) -> Result<Vec<Stream>, String> {
    let mut random = Random::new();
    let shares = |weights: Vec<u32>| {
        let requests: Vec<Request> = weights.into_iter().map(|weight| Request::of(Service::FairShare(weight))).collect();
        resolve(&requests).map_err(|error| error.to_string())
    };
    match kind {
        "shares" => shares(vec![1; streams as usize]),
        "weights" => shares((0..streams).map(|_| 1 + random.below(1000)).collect()),
        "overload" => Ok((0..streams)
            .map(|_| {
                let deadlines = 2 + random.below(254);
                Stream::windowed(Window::new(random.below(deadlines), deadlines), 1)
            })
            .collect()),
        _ => {
            let windows = (0..streams).map(|_| match kind {
                "windows" => {
                    let deadlines = 2 + random.below(15);
                    Window::new(random.below(deadlines), deadlines)
                }
                _ => Window::NONE,
            });
            let windows: Vec<Window> = windows.collect();
            let share = |window: &Window| match window.deadlines {
                0 => 1.0,
                deadlines => 1.0 - f64::from(window.tolerated) / f64::from(deadlines),
            };
            let periods: Vec<f64> = windows.iter().map(|_| 10f64.powf(f64::from(random.below(3000)) / 1000.0)).collect();
            let load: f64 = windows.iter().zip(&periods).map(|(window, period)| share(window) / period).sum();
            let stream = |(window, period): (&Window, &f64)| Stream::windowed(*window, (period * load / 0.95).ceil() as u64);
            Ok(windows.iter().zip(&periods).map(stream).collect())
        }
    }
}

/// A link in front of which all streams wait.
struct Line<E> {
    engine: E,
    slot: u64,
}

impl<E: Dwcs> Line<E> {
    fn new(mut engine: E, streams: u32) -> Line<E> {
        for stream in Random::new().shuffled(streams) {
            engine.activate(0, Flow(stream), 0);
        }
        Line { engine, slot: 0 }
    }

    fn run(&mut self, decisions: u64) -> u64 {
        for _ in 0..decisions {
            let Choice::Serve(stream) = self.engine.select(self.slot) else { unreachable!("all streams are backlogged") };
            self.slot += 1;
            self.engine.served(stream, self.slot, Some(self.slot));
        }
        decisions
    }
}

/// The same with the scheduler that knows deadlines only.
struct Wheel {
    scheduler: EarliestDeadlineFirst,
    slot: u64,
}

/// The length of a slot, at the rate of the bench.
const SLOT: Duration = Duration::from_nanoseconds(1000);

impl Wheel {
    fn new(streams: &[Stream]) -> Result<Wheel, String> {
        let within = |stream: &Stream| FlowParameters {
            delay: Some(Duration::from_picoseconds(stream.period.unwrap_or(1) * SLOT.picoseconds())),
            ..FlowParameters::default()
        };
        let flows: Vec<FlowParameters> = streams.iter().map(within).collect();
        let setup = Setup::new(Rate::MAX, 64);
        let mut wheel = Wheel { scheduler: setup.build(&flows).map_err(|error| error.to_string())?, slot: 0 };
        for stream in Random::new().shuffled(flows.len() as u32) {
            wheel.scheduler.activate(Time::ZERO, Flow(stream), wheel.head());
        }
        Ok(wheel)
    }

    fn head(&self) -> Head {
        let arrival = Time::from_picoseconds(self.slot * SLOT.picoseconds());
        Head { length: 64, number: self.slot as u32, arrival, colour: Colour::Green }
    }

    fn run(&mut self, decisions: u64) -> u64 {
        for _ in 0..decisions {
            let now = Time::from_picoseconds(self.slot * SLOT.picoseconds());
            let Decision::Serve(flow) = self.scheduler.select(now) else { unreachable!("all flows are backlogged") };
            self.slot += 1;
            let next = self.head();
            self.scheduler.served(now, flow, Some(next));
        }
        decisions
    }
}
