//! Cost of a cell: the whole cycle of the cell scheduler. Pick, transmit, shape with two leaky buckets, put back in order, and decide on a
//! transfer from host memory.
//!
//! All connections have something to send all the time, and their sustained rates are 98 % of the link together; each sends its burst and
//! then at its sustained rate. They start one by one and not before there is room for the burst, so that the link is never overloaded.
//! `random` contracts have rates over three decades, the others are identical. In `overload` the sustained rates are one and a half times
//! the link. Transfers are of 32 cells at most, just in time, and complete in the next slot.

use crate::flows::Random;
use crate::{Benchmark, Rounds};
use rtrb::{Consumer, Producer, RingBuffer};
use std::sync::Barrier;
use std::time::Instant;
use tidegate_cells::{
    Adapter, CLASSES, CellContract, CellRate, CellScheduler, CellSetup, Conflict, Connection, HeapScheduler, LONGEST_PDU, Mode, Planner,
    Prefetch, RateScaling, SLOT, Sustained, Ticks, TransferSetup,
};

/// Cells in one round; few in the tests.
const ROUND_CELLS: u64 = if cfg!(any(test, debug_assertions)) { 1 << 14 } else { 1 << 20 };

/// The bursts of a million connections may take some rounds more than are run before.
const MOST_ROUNDS: u32 = 64;

/// The schedulers and contracts that are measured.
const NAMES: [&str; 6] = ["planner/identical", "planner/random", "planner/8-classes", "planner/overload", "heap/identical", "heap/random"];

/// Every scheduler with either kind of contracts.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter()
}

/// Builds the named scheduler for `connections` connections and lets every one of them send a few cells.
///
/// # Errors
/// An unknown name, or contracts that the scheduler refuses.
pub fn set_up(name: &str, connections: u32) -> Result<Benchmark, String> {
    let round: Rounds = match split(name)? {
        ("planner", contracts) => {
            let mut link = Link::new(Planner::<RateScaling>::new(&setup(connections), RateScaling::strict()), connections, contracts)?;
            link.calm(contracts, Planner::sharing)?;
            Box::new(move || link.run(ROUND_CELLS, |_| ()))
        }
        (_, contracts) => {
            let mut link = Link::new(heap(connections), connections, contracts)?;
            link.calm(contracts, HeapScheduler::sharing)?;
            Box::new(move || link.run(ROUND_CELLS, |_| ()))
        }
    };
    Ok(Benchmark { operation: format!("cells-{name}"), flows: connections, facts: String::new(), round })
}

/// The times of `cells` cells, in nanoseconds, less the cost of reading the clock, in increasing order: what was done in an empty slot
/// counts for the next cell.
///
/// # Errors
/// As [`set_up`].
pub fn times(name: &str, connections: u32, cells: u64) -> Result<Vec<u32>, String> {
    let mut times = Vec::with_capacity(cells as usize);
    let mut readings: Vec<u32> = (0..10_001).map(|_| Instant::now().elapsed().as_nanos() as u32).collect();
    readings.sort_unstable();
    let reading = readings[readings.len() / 2];
    let mut note = |nanoseconds: u64| times.push((nanoseconds as u32).saturating_sub(reading));
    match split(name)? {
        ("planner", contracts) => {
            let planner = Planner::<RateScaling>::new(&setup(connections), RateScaling::strict());
            Link::new(planner, connections, contracts)?.run(cells, &mut note);
        }
        (_, contracts) => {
            Link::new(heap(connections), connections, contracts)?.run(cells, &mut note);
        }
    }
    times.sort_unstable();
    Ok(times)
}

/// What it costs to run a planner of n connections beside its cells, in nanoseconds each.
#[derive(Clone, Copy, Debug)]
pub struct Upkeep {
    /// Adding a connection.
    pub add: f64,
    /// Giving a connection that has cells to send another contract.
    pub change: f64,
    /// Removing such a connection and adding it anew.
    pub replace: f64,
    /// A slot in which nothing is due.
    pub idle: f64,
}

/// Measures [`Upkeep`] with connections that all wait for a far slot.
///
/// # Errors
/// Contracts that the scheduler refuses.
pub fn upkeep(connections: u32) -> Result<Upkeep, String> {
    let slots = 1 << 20;
    let contract = CellContract::constant(Ticks::slots(slots * 4));
    let mut planner = Planner::<RateScaling>::new(&CellSetup { transfer: None, ..setup(connections) }, RateScaling::strict());
    let mut names = Vec::with_capacity(connections as usize);
    let started = Instant::now();
    for _ in 0..connections {
        names.push(planner.add(&contract).map_err(|error| error.to_string())?);
    }
    let add = each(started, u64::from(connections));
    // One cell each, and then a long wait.
    for name in &names {
        planner.post(*name, 2, 0, &mut ()).map_err(|error| error.to_string())?;
    }
    let sent = (0..u64::from(connections)).filter(|&slot| planner.send(slot, &mut ()).is_some()).count();
    assert_eq!(sent, connections as usize, "every connection sends its first cell");
    let now = u64::from(connections);
    let order = Random::new().shuffled(connections);
    let some = &order[..order.len().min(1 << 16)];
    let started = Instant::now();
    for &at in some {
        planner.change(names[at as usize], &contract, now).map_err(|error| error.to_string())?;
    }
    let change = each(started, some.len() as u64);
    let started = Instant::now();
    for &at in some {
        planner.remove(names[at as usize], now, &mut ()).map_err(|error| error.to_string())?;
        names[at as usize] = planner.add(&contract).map_err(|error| error.to_string())?;
    }
    let replace = each(started, some.len() as u64);
    let started = Instant::now();
    let sent = (now..now + slots).filter(|&slot| planner.send(slot, &mut ()).is_some()).count();
    let idle = each(started, slots);
    assert_eq!(sent, 0, "nothing is due");
    Ok(Upkeep { add, change, replace, idle })
}

/// Nanoseconds per cell of a link whose slots are dealt out in turn to `shards` planners, one thread each, with an equal part of the
/// connections. `merged`: the cells are put back into one order, slot by slot, by the thread of the first shard.
///
/// # Errors
/// Contracts that the scheduler refuses.
pub fn shards(shards: u32, connections: u32, merged: bool) -> Result<f64, String> {
    let barrier = Barrier::new(shards as usize);
    let part = connections.div_ceil(shards);
    let shard = |mut own: Option<Producer<Window>>, mut others: Vec<Consumer<Window>>| -> Result<f64, String> {
        let mut link = Link::new(Planner::<RateScaling>::new(&setup(part), RateScaling::strict()), part, "random")?;
        let mut order = vec![0; WINDOW * (1 + others.len())];
        barrier.wait();
        let started = Instant::now();
        for _ in 0..ROUND_CELLS / WINDOW as u64 {
            let mut window = [0; WINDOW];
            for place in &mut window {
                *place = link.next_cell();
            }
            if !merged {
                std::hint::black_box(&window);
            } else if let Some(own) = &mut own {
                // Who has run so far ahead looks at the other's counter seldom, because that disturbs the other.
                if own.is_full() {
                    wait_while(|| own.slots() < AHEAD / 2, || own.is_abandoned())?;
                }
                own.push(window).map_err(|error| error.to_string())?;
            } else {
                // The first shard's slot, then the same of the others.
                let step = 1 + others.len();
                order.iter_mut().step_by(step).zip(&window).for_each(|(place, cell)| *place = *cell);
                for (at, other) in others.iter_mut().enumerate() {
                    wait_while(|| other.is_empty(), || other.is_abandoned())?;
                    let window = other.pop().map_err(|error| error.to_string())?;
                    order.iter_mut().skip(1 + at).step_by(step).zip(&window).for_each(|(place, cell)| *place = *cell);
                }
                std::hint::black_box(&order);
            }
        }
        Ok(each(started, ROUND_CELLS))
    };
    std::thread::scope(|scope| {
        let mut rings = Vec::new();
        let mut threads = Vec::new();
        for _ in 1..shards {
            let (producer, consumer) = RingBuffer::new(AHEAD);
            rings.push(consumer);
            let producer = merged.then_some(producer);
            threads.push(scope.spawn(move || shard(producer, Vec::new())));
        }
        let mut slowest: f64 = shard(None, if merged { rings } else { Vec::new() })?;
        for thread in threads {
            slowest = slowest.max(thread.join().map_err(|_| "a shard has panicked".to_owned())??);
        }
        Ok(slowest / f64::from(shards))
    })
}

/// Waits for the other thread of a ring, without a system call while it runs.
///
/// # Errors
/// The other thread has ended.
fn wait_while(is_early: impl Fn() -> bool, is_over: impl Fn() -> bool) -> Result<(), String> {
    let mut tries = 0u32;
    while is_early() {
        if is_over() && is_early() {
            return Err("a shard has ended before the others".to_owned());
        }
        tries += 1;
        if tries.is_multiple_of(1 << 6) {
            std::thread::yield_now();
        }
        (0..32).for_each(|_| std::hint::spin_loop());
    }
    Ok(())
}

/// The slots whose cells are handed over at once.
const WINDOW: usize = 64;
type Window = [u32; WINDOW];

/// As many windows as a shard may run ahead.
const AHEAD: usize = 64;

fn each(started: Instant, count: u64) -> f64 {
    started.elapsed().as_secs_f64() * 1e9 / count as f64
}

fn split(name: &str) -> Result<(&str, &str), String> {
    let known = NAMES.contains(&name).then(|| name.split_once('/')).flatten();
    known.ok_or_else(|| format!("no cell scheduler is called \"{name}\"; there are {}", NAMES.join(", ")))
}

fn heap(connections: u32) -> HeapScheduler<RateScaling> {
    HeapScheduler::new(&setup(connections), Conflict::Lazy, RateScaling::strict())
}

fn setup(connections: u32) -> CellSetup {
    let transfer = TransferSetup {
        prefetch: Prefetch::JustInTime,
        access_latency: 1,
        cell_time: Ticks(SLOT / 64),
        burst: 32,
        buffer: connections.saturating_mul(64),
    };
    CellSetup { connections, pdus: 2 * connections, transfer: Some(transfer) }
}

/// A link with its scheduler and a host that always has more to send.
struct Link<S> {
    scheduler: S,
    slot: u64,
    host: Host,
}

/// What the scheduler asked for in the present slot.
#[derive(Default)]
struct Host {
    requested: Vec<(Connection, u32)>,
    done: Vec<Connection>,
}

impl Adapter for Host {
    fn transfer_requested(&mut self, _now: u64, connection: Connection, cells: u32) {
        self.requested.push((connection, cells));
    }

    fn pdu_done(&mut self, _now: u64, connection: Connection) {
        self.done.push(connection);
    }
}

impl<S: CellScheduler> Link<S> {
    fn new(scheduler: S, connections: u32, contracts: &str) -> Result<Link<S>, String> {
        let mut link = Link { scheduler, slot: 0, host: Host { requested: Vec::with_capacity(4096), done: Vec::with_capacity(4096) } };
        let mut random = Random::new();
        // An equal share of what all ask for, times a factor.
        let load = if contracts == "overload" { 1.5 } else { 0.98 };
        let share = f64::from(connections) / load;
        let weights: Vec<f64> = (0..connections)
            .map(|_| if contracts == "random" { 1000_f64.powf(f64::from(random.below(1 << 20)) / f64::from(1 << 20)) } else { 1.0 })
            .collect();
        let mean = weights.iter().map(|weight| 1.0 / weight).sum::<f64>() / f64::from(connections);
        let mut names = Vec::with_capacity(connections as usize);
        for (index, weight) in weights.iter().enumerate() {
            let sustained = Ticks((share * mean * weight * SLOT as f64).ceil().max(SLOT as f64) as u64);
            let contract = CellContract {
                peak_interval: Ticks((sustained.0 / 2).max(SLOT)),
                delay_variation_tolerance: Ticks::slots(4),
                // With a burst tolerance of less than a slot, what one connection sends in nearly every slot would lose rate to rounding.
                mode: Mode::SingleBucket(Sustained { interval: sustained, maximum_burst_size: if connections == 1 { 64 } else { 4 } }),
                class: if contracts == "8-classes" { (index % 8) as u8 } else { 0 },
            };
            names.push((link.scheduler.add(&contract).map_err(|error| format!("connection {index}: {error}"))?, sustained));
        }
        // The slowest first, because their bursts last longest. Beyond its sustained rate a burst takes two cells, which have three times as
        // many slots of what is left of the link.
        let mut order = random.shuffled(connections);
        order.sort_by_key(|&at| core::cmp::Reverse(names[at as usize].1));
        let (mut slot, mut left) = (0.0, 1.0_f64);
        let mut starts = Vec::with_capacity(connections as usize);
        for (name, sustained) in order.into_iter().map(|at| names[at as usize]) {
            starts.push((slot as u64 + u64::from(random.below(share as u32)), name));
            slot += 6.0 / left.max(0.02);
            left -= SLOT as f64 / sustained.0 as f64;
        }
        starts.sort_by_key(|start| start.0);
        for (slot, connection) in starts {
            while link.slot < slot {
                link.step();
            }
            for _ in 0..2 {
                link.scheduler.post(connection, LONGEST_PDU, link.slot, &mut link.host).map_err(|error| error.to_string())?;
            }
        }
        // Every list has reached its length after this.
        link.run(2 * u64::from(connections) + ROUND_CELLS, |_| ());
        Ok(link)
    }

    /// Goes on until the last bursts are over: overload is measured where the name says so, and nowhere else.
    fn calm(&mut self, contracts: &str, sharing: impl Fn(&S) -> &RateScaling) -> Result<(), String> {
        let demand = |link: &Link<S>| (0..CLASSES).map(|class| sharing(&link.scheduler).demand(class).0).sum::<u64>();
        for _ in 0..MOST_ROUNDS {
            if contracts == "overload" || demand(self) <= CellRate::LINK.0 {
                return Ok(());
            }
            self.run(ROUND_CELLS, |_| ());
        }
        Err(format!("the link is overloaded by {contracts} contracts: {} of {}", demand(self), CellRate::LINK.0))
    }

    /// The connection that sends the next cell.
    #[inline]
    fn next_cell(&mut self) -> u32 {
        loop {
            if let Some(connection) = self.step() {
                return connection.index() as u32;
            }
        }
    }

    /// One slot, and who sent a cell in it.
    #[inline]
    fn step(&mut self) -> Option<Connection> {
        if !self.host.requested.is_empty() || !self.host.done.is_empty() {
            self.serve();
        }
        let sent = self.scheduler.send(self.slot, &mut self.host);
        self.slot += 1;
        sent
    }

    /// What the scheduler asked for in the slot before is there.
    #[inline(never)]
    fn serve(&mut self) {
        while let Some((connection, cells)) = self.host.requested.pop() {
            self.scheduler.arrived(connection, cells, self.slot, &mut self.host);
        }
        while let Some(connection) = self.host.done.pop() {
            self.scheduler.post(connection, LONGEST_PDU, self.slot, &mut self.host).expect("there is room for every PDU");
        }
    }

    /// Sends this many cells, and passes the time from each to the next to `note`; returns the number.
    fn run(&mut self, cells: u64, mut note: impl FnMut(u64)) -> u64 {
        let is_timed = !is_nothing(&note);
        for _ in 0..cells {
            let started = is_timed.then(Instant::now);
            self.next_cell();
            if let Some(started) = started {
                note(started.elapsed().as_nanos() as u64);
            }
        }
        cells
    }
}

/// True for a closure that captures nothing: one that notes nothing.
fn is_nothing<T>(_: &T) -> bool {
    size_of::<T>() == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_cells_are_timed_and_upkeep_is_measured() {
        let times = times("planner/random", 100, 1000).unwrap();
        assert!(times.len() == 1000 && times.is_sorted());
        let upkeep = upkeep(1000).unwrap();
        assert!([upkeep.add, upkeep.change, upkeep.replace, upkeep.idle].iter().all(|&nanoseconds| nanoseconds > 0.0));
        assert!(set_up("planner/none", 1).is_err());
        assert!([false, true].iter().all(|&merged| shards(2, 1000, merged).unwrap() > 0.0));
    }
}
