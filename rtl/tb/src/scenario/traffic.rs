//! Random traffic, biased to rare states: ties, the limits of the registers, streams that run empty and come back.
//!
//! The clock jumps, the host keeps decisions waiting, and in pauses streams are loaded anew.

use super::stop::{begin, done, stop};
use crate::bench::{Bench, Drive};
use crate::mismatch::Checked;
use crate::random::Random;
use crate::setup::{Done, Failure, Setup};
use tidegate_core::dwcs::{CLAMP, Stream, Window};

/// Contracts and traffic of every kind.
pub fn random(setup: &Setup, seed: u64, decisions: u64) -> Result<Done, Failure> {
    runs(setup, seed, decisions, false)
}

/// Overload: all ask for every slot and miss at once.
pub fn adversarial(setup: &Setup, seed: u64, decisions: u64) -> Result<Done, Failure> {
    runs(setup, seed, decisions, true)
}

/// Runs with a design of their own each, so that a failure is repeated by the seed of its run.
fn runs(setup: &Setup, seed: u64, decisions: u64, overload: bool) -> Result<Done, Failure> {
    let mut total = Done::default();
    let mut seed = seed;
    while total.decisions < decisions {
        let mut bench = begin(setup, seed)?;
        let mut random = Random::new(seed);
        for episode in 0..1 + random.below(4) {
            let is_new = episode == 0 || random.once_in(3);
            if is_new {
                bench.reset();
            }
            // After a reset no stream has a packet, so none has to be loaded.
            let fewer = is_new && random.once_in(4);
            let streams = if fewer { 1 + random.below(setup.streams as u64) as usize } else { setup.streams };
            Episode::new(&bench, streams, &mut random, overload).run(&mut bench, &mut random).map_err(Failure::of(seed))?;
        }
        total.add(done(&bench));
        // Short, because people type seeds.
        seed = Random::new(seed).bits() >> 32;
    }
    Ok(total)
}

/// How contracts are drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Character {
    /// Small numbers, so that every rule of precedence decides.
    Ties,
    /// Wide windows and the same deadlines, so that fractions of large numbers decide.
    Fractions,
    /// A deadline in every slot.
    Overload,
    /// The widest of everything.
    Limits,
    /// Static priority by the published forms.
    Priority,
}

/// How the clock moves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// By one with every winner.
    Decisions,
    /// By a fixed number of ticks.
    Steps(u64),
    /// By up to this many ticks.
    Jumps(u64),
}

/// How packets come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Load {
    /// Always one behind the head.
    Saturated,
    /// One for any stream in this many cycles.
    Rare(u64),
    /// Many at once, then none for up to this many cycles.
    Bursts(u64),
}

struct Episode {
    streams: usize,
    characters: Vec<Character>,
    /// Ticks between deadlines where ties are wanted.
    period: u64,
    /// All droppable, none, or as it comes.
    droppable: Option<bool>,
    pace: Pace,
    load: Load,
    /// The host takes a decision once in `patience` cycles; 1: always.
    patience: u64,
    /// A pause once in `pauses` cycles; 0: none.
    pauses: u64,
    decisions: u64,
    cycles: u64,
    /// The arrival of the next packet. It is within 2^15 of all other packets, and of the clock in a pipelined engine; otherwise any time.
    arrival: u64,
    /// One more than the most ticks between two arrivals.
    spread: u64,
    start: u64,
}

/// The most packets behind a head.
const DEPTH: usize = 6;

/// Ages of packets differ by less.
const AGES: u64 = 1 << 15;

impl Episode {
    fn new(bench: &Bench, streams: usize, random: &mut Random, overload: bool) -> Episode {
        let all = [Character::Ties, Character::Ties, Character::Fractions, Character::Overload, Character::Limits, Character::Priority];
        let one = if overload { Character::Overload } else { random.pick(&all) };
        let mix = !overload && random.once_in(2);
        let characters = if mix { all.to_vec() } else { vec![one] };
        let pace = match random.below(if overload { 4 } else { 7 }) {
            0..3 => Pace::Decisions,
            3 => Pace::Steps(random.below(4)),
            4 => Pace::Jumps(4),
            5 => Pace::Jumps(CLAMP),
            _ => Pace::Steps(random.pick(&[CLAMP, CLAMP - 1, 1000])),
        };
        let load = match random.below(4) {
            0 | 1 => Load::Saturated,
            2 => Load::Rare(1 + random.below(12)),
            _ => Load::Bursts(1 + random.below(200)),
        };
        let near = |random: &mut Random| random.pick(&[0, 0x7fff, 0xffff, 0xff00]) + random.below(64);
        // Runs long enough for penalties to saturate and for leads to be clamped, and many short ones.
        let decisions = random.pick(&[1, 20, 100, 100, 500, 500, 2000, 5000]);
        Episode {
            streams,
            characters,
            period: match pace {
                Pace::Steps(step) if step > 0 => (step + random.below(3)).min(CLAMP),
                _ => 1 + random.below(3),
            },
            droppable: random.pick(&[None, None, Some(true), Some(false)]),
            pace,
            load,
            patience: random.pick(&[1, 1, 1, 1, 1, 2, 3, 40]),
            pauses: random.pick(&[0, 0, 50, 500]),
            decisions,
            cycles: bench.cycles() + 40 * decisions,
            arrival: (1 << 16) + near(random),
            spread: random.pick(&[1, 2, 2, 3, 2000]),
            // Arrivals may be earlier.
            start: (1 << 16) + near(random),
        }
    }

    /// The contract of a stream, with the clock at `now`.
    fn contract(&self, random: &mut Random, now: u64) -> Stream {
        let small = |random: &mut Random| {
            let x = random.below(3) as u32;
            Window::new(x, x + random.below(3) as u32)
        };
        let mut stream = match random.pick(&self.characters) {
            Character::Ties => Stream::windowed(small(random), (self.period + random.below(2)).clamp(1, CLAMP)),
            Character::Fractions => {
                let y = random.below(256);
                Stream::windowed(Window::new(random.below(y + 1) as u32, y as u32), self.period)
            }
            Character::Overload => {
                let window = if random.once_in(2) { Window::new(1, 2) } else { small(random) };
                Stream::windowed(window, 1)
            }
            Character::Limits => {
                let y = random.pick(&[0, 1, 128, 254, 255]);
                let x = if random.once_in(3) { y } else { random.below(u64::from(y) + 1) as u32 };
                Stream::windowed(Window::new(x, y), random.pick(&[CLAMP, CLAMP - 1, CLAMP / 2, 1]))
            }
            Character::Priority => match random.below(3) {
                0 => Stream::without_deadline(small(random)),
                1 => Stream { is_fixed: true, ..Stream::windowed(Window::new(0, 250 + random.below(6) as u32), self.period) },
                _ => Stream::windowed(Window::new(0, 0), self.period),
            },
        };
        stream.penalty = random.pick(&[0, 1, 1, 2, 3, 100, 255]);
        stream.droppable = self.droppable.unwrap_or(random.once_in(3));
        stream.first_deadline = Some(now + random.pick(&[0, 1, 1, 2, self.period, self.period, CLAMP]).min(CLAMP));
        stream
    }

    fn run(mut self, bench: &mut Bench, random: &mut Random) -> Checked<()> {
        let contracts: Vec<Stream> = (0..self.streams).map(|_| self.contract(random, self.start)).collect();
        let mut order: Vec<usize> = (0..self.streams).collect();
        random.shuffle(&mut order);
        order.push(random.below(self.streams as u64) as usize);
        bench.load(self.start, &contracts, &order)?;

        let (mut time, mut target) = (self.start, self.start);
        let first = bench.decisions();
        let mut enable = false;
        let mut burst = 0;
        while bench.decisions() - first < self.decisions && bench.cycles() < self.cycles {
            self.arrive(bench, random, &mut burst);
            if bench.is_loading() && !enable {
                if random.once_in(8) {
                    let index = random.below(self.streams as u64) as usize;
                    let contract = self.contract(random, bench.told());
                    let drive = self.drive(random, false, time);
                    // In a pipelined engine a LOAD that sets the clock is one of all streams.
                    bench.reload(index, contract, Drive { outside: drive.outside && !bench.timing().is_pipelined(), ..drive })?;
                }
                enable = random.once_in(3);
            } else if self.pauses > 0 && random.once_in(self.pauses) {
                enable = false;
            } else if !enable {
                // Sometimes it goes on before the decision is over.
                enable = random.once_in(6);
            }
            let mut drive = self.drive(random, enable, time);
            let decides = enable && !bench.is_loading();
            // A word on the load port means nothing while decisions are made.
            drive.load = (decides && random.once_in(4)).then(|| random.bits() >> 1);
            if bench.cycle(drive)?.is_some() {
                target = self.target(random, bench).max(time);
            }
            // The clock of a pipelined engine follows the time from the first decision on.
            if bench.timing().is_pipelined() && bench.is_loading() {
                target = time;
            }
            if time < target && !random.once_in(3) {
                time += if random.once_in(3) { 1 + random.below(target - time) } else { target - time };
            }
        }
        let outside = self.pace != Pace::Decisions;
        stop(bench, outside, time)?;
        bench.conserve()
    }

    fn drive(&self, random: &mut Random, enable: bool, time: u64) -> Drive {
        let outside = self.pace != Pace::Decisions;
        let time = if outside { time } else { random.bits() & 0xffff };
        Drive { enable, outside, time, ready: self.patience == 1 || random.once_in(self.patience), load: None }
    }

    /// The clock that the next update should have.
    fn target(&self, random: &mut Random, bench: &Bench) -> u64 {
        let target = bench.told()
            + match self.pace {
                Pace::Decisions => 0,
                Pace::Steps(step) => step,
                Pace::Jumps(most) => random.below(most + 1),
            };
        match bench.oldest() {
            // A pipelined engine takes ages from its clock.
            Some(oldest) if bench.timing().is_pipelined() => target.min(oldest + AGES - 1),
            _ => target,
        }
    }

    /// The packets that come in one cycle.
    fn arrive(&mut self, bench: &mut Bench, random: &mut Random, burst: &mut u64) {
        match self.load {
            Load::Saturated => {
                for stream in 0..self.streams {
                    if bench.queued(stream) == 0 {
                        self.packet(bench, random, stream);
                    }
                }
            }
            Load::Rare(cycles) => {
                if random.once_in(cycles) {
                    let stream = random.below(self.streams as u64) as usize;
                    self.packet(bench, random, stream);
                }
            }
            Load::Bursts(pause) => {
                if *burst == 0 {
                    *burst = 1 + random.below(pause);
                    for _ in 0..1 + random.below(4 * self.streams as u64) {
                        let stream = random.below(self.streams as u64) as usize;
                        self.packet(bench, random, stream);
                    }
                }
                *burst -= 1;
            }
        }
    }

    fn packet(&mut self, bench: &mut Bench, random: &mut Random, stream: usize) {
        if bench.queued(stream) == DEPTH {
            return;
        }
        let arrival = self.arrival + random.below(self.spread);
        self.arrival = if bench.timing().is_pipelined() {
            // Neither in the future nor so old that its age can overflow within an episode.
            arrival.clamp(bench.told() - AGES / 2, bench.told())
        } else {
            arrival.min(bench.oldest().map_or(u64::MAX, |oldest| oldest + AGES - 1))
        };
        bench.arrive(stream, self.arrival);
    }
}
