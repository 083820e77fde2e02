//! Bounds that are no row of two levels, against small models. They are of shapers before a queue, greedy windows beside a flow, full buffers,
//! what guaranteed service leaves to controlled load, and windows of DWCS.

use proptest::prelude::*;
use tidegate_bounds::curve::{Arrival, Service, TokenBucket};
use tidegate_bounds::service::{Child, Node, Windows, behind_limit, beside_windows, row};
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::ServiceClass;

/// Picoseconds per bit of the link, of 10^9 bit/s.
const BIT: i128 = 1_000;

/// Bits per second of the link.
const LINK: u64 = 1_000_000_000;

/// Picoseconds in a second, and picobits in a bit.
const SCALE: i128 = 1_000_000_000_000;

/// A small generator.
struct Lots(u64);

impl Lots {
    fn below(&mut self, n: i128) -> i128 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i128::from(self.0 >> 33) % n
    }

    fn between(&mut self, least: i128, most: i128) -> i128 {
        least + self.below(most - least + 1)
    }
}

/// A bucket of bits that fills at a rate.
struct Bucket {
    tokens: i128,
    full: i128,
    rate: i128,
    last: i128,
}

impl Bucket {
    fn new(burst: i128, rate: i128) -> Bucket {
        Bucket { tokens: burst * SCALE, full: burst * SCALE, rate, last: 0 }
    }

    /// The first instant from `time` on at which this many bits may pass; they do.
    fn pass(&mut self, time: i128, length: i128) -> i128 {
        let mut time = time.max(self.last);
        self.tokens = self.full.min(self.tokens + self.rate * (time - self.last));
        let short = length * SCALE - self.tokens;
        if short > 0 {
            let wait = (short + self.rate - 1) / self.rate;
            time += wait;
            self.tokens = self.full.min(self.tokens + self.rate * wait);
        }
        self.tokens -= length * SCALE;
        self.last = time;
        time
    }
}

/// Packets of one length, as early as their bucket allows, with pauses.
fn packets(lots: &mut Lots, burst: i128, rate: i128, length: i128, until: i128) -> Vec<i128> {
    let mut bucket = Bucket::new(burst, rate);
    let (mut time, mut all) = (lots.below(20_000) * BIT, Vec::new());
    while time < until * BIT {
        time = bucket.pass(time, length);
        all.push(time);
        if lots.below(25) == 0 {
            time += lots.below(3 * burst) * SCALE / rate;
        }
    }
    all
}

fn sends(length: i128, burst: i128, rate: i128) -> Child {
    Child { arrival: Ok(Arrival::token_bucket(burst as u64, rate as u64)), rate: rate as u64, ..Child::new(length as u64) }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Each flow through its own shaper, and then in one queue.
    #[test]
    fn rate_control(seed: u64, load in 50i128..100) {
        let lots = &mut Lots(seed);
        let count = lots.between(2, 4);
        let flows: Vec<_> = (0..count).map(|_| {
            let (length, rate) = (lots.between(4, 12) * 1_000, i128::from(LINK) * load / 100 / count);
            let contract = length * lots.between(1, 2);
            (length, contract, contract + length * lots.between(0, 4), rate)
        }).collect();
        let mut released = Vec::new();
        for (number, &(length, contract, burst, rate)) in flows.iter().enumerate() {
            let mut shaper = Bucket::new(contract, rate);
            for time in packets(lots, burst, rate, length, 400_000) {
                released.push((shaper.pass(time, length), number, time, length));
            }
        }
        released.sort_unstable();
        let (mut now, mut worst) = (0, vec![0; flows.len()]);
        for (release, number, time, length) in released {
            now = now.max(release) + length * BIT;
            worst[number] = worst[number].max(now - time);
        }
        let children = flows.iter().map(|&(length, contract, burst, rate)| Child {
            contract: Some(Arrival::token_bucket(contract as u64, rate as u64)),
            ..sends(length, burst, rate)
        });
        let node = Node::new(SchedulerKind::RateControlled, LINK, children.collect());
        for (number, &measured) in worst.iter().enumerate() {
            let bound = row(&node, &Service::link(LINK), number).delay.unwrap().unwrap();
            // The model's shaper rounds each release up to a picosecond.
            prop_assert!(measured <= bound + 1_000, "flow {number}: measured {measured}, bound {bound}");
        }
    }

    /// Greedy sources keep their windows in the queue of a flow that conforms.
    #[test]
    fn greedy_windows(seed: u64, percent in 5i128..60) {
        let lots = &mut Lots(seed);
        let greedy: Vec<(i128, i128)> = (0..lots.between(1, 3)).map(|_| (lots.between(1, 4), lots.between(4, 12) * 1_000)).collect();
        let (burst, rate) = (12_000 * lots.between(1, 3), i128::from(LINK) * percent / 100);
        let own = packets(lots, burst, rate, 12_000, 600_000);
        let mut queue: std::collections::VecDeque<(Option<usize>, i128, i128)> =
            greedy.iter().enumerate().flat_map(|(number, &(window, length))| vec![(Some(number), 0, length); window as usize]).collect();
        let (mut now, mut next, mut worst) = (0, 0, 0);
        while next < own.len() || queue.iter().any(|packet| packet.0.is_none()) {
            while next < own.len() && own[next] <= now {
                queue.push_back((None, own[next], 12_000));
                next += 1;
            }
            let (source, time, length) = queue.pop_front().unwrap();
            // A new packet comes when one begins to be sent.
            if source.is_some() {
                queue.push_back((source, now, length));
            }
            now += length * BIT;
            while next < own.len() && own[next] < now {
                queue.push_back((None, own[next], 12_000));
                next += 1;
            }
            if source.is_none() {
                worst = worst.max(now - time);
            }
        }
        let windows: i128 = greedy.iter().map(|(window, length)| window * length).sum();
        let flow = Arrival::new([TokenBucket::of_bits(burst as u64, rate as u64)]);
        let bound = beside_windows(&flow, windows as u64, 12_000, &Service::link(LINK)).unwrap();
        prop_assert!(worst <= bound, "measured {worst}, bound {bound}");
    }

    /// A class of turns behind a full buffer: what leaves has waited for at most the buffer at the strict curve.
    #[test]
    fn full_buffers(seed: u64) {
        let lots = &mut Lots(seed);
        let lengths: Vec<i128> = (0..lots.between(2, 4)).map(|_| lots.between(4, 12) * 1_000).collect();
        let longest = *lengths.iter().max().unwrap();
        let quanta: Vec<i128> = lengths.iter().map(|_| longest * lots.between(1, 4)).collect();
        let limit = lots.between(longest, 80_000);
        let mut arrivals: Vec<(i128, usize)> = Vec::new();
        for (number, &length) in lengths.iter().enumerate() {
            arrivals.extend(packets(lots, 300_000, 2 * i128::from(LINK), length, 300_000).into_iter().map(|time| (time, number)));
        }
        arrivals.sort_unstable();
        let mut queues = vec![std::collections::VecDeque::new(); lengths.len()];
        let (mut turn, mut begun, mut deficit): (Vec<usize>, bool, Vec<i128>) = (Vec::new(), false, vec![0; lengths.len()]);
        let (mut now, mut next, mut worst) = (0, 0, vec![0; lengths.len()]);
        while next < arrivals.len() || !turn.is_empty() {
            if turn.is_empty() {
                now = now.max(arrivals[next].0);
            }
            while next < arrivals.len() && arrivals[next].0 <= now {
                let (time, number) = arrivals[next];
                next += 1;
                if (queues[number].len() as i128 + 1) * lengths[number] <= limit {
                    if queues[number].is_empty() {
                        turn.push(number);
                    }
                    queues[number].push_back(time);
                }
            }
            let Some(&number) = turn.first() else { continue };
            if !begun {
                (deficit[number], begun) = (deficit[number] + quanta[number], true);
            }
            if deficit[number] < lengths[number] {
                turn.rotate_left(1);
                begun = false;
                continue;
            }
            // The packet in transmission keeps its room until it has left.
            let end = now + lengths[number] * BIT;
            while next < arrivals.len() && arrivals[next].0 < end {
                let (time, number) = arrivals[next];
                next += 1;
                if (queues[number].len() as i128 + 1) * lengths[number] <= limit {
                    if queues[number].is_empty() {
                        turn.push(number);
                    }
                    queues[number].push_back(time);
                }
            }
            now = end;
            deficit[number] -= lengths[number];
            let time = queues[number].pop_front().unwrap();
            worst[number] = worst[number].max(now - time);
            if queues[number].is_empty() {
                deficit[number] = 0;
                turn.remove(0);
                begun = false;
            }
        }
        let children = lengths.iter().zip(&quanta).map(|(&length, &quantum)| Child { quantum: quantum as u64, ..Child::new(length as u64) });
        let node = Node::new(SchedulerKind::DeficitRoundRobin, LINK, children.collect());
        for (number, &measured) in worst.iter().enumerate() {
            let bound = behind_limit(&row(&node, &Service::link(LINK), number).strict, limit as u64).unwrap();
            prop_assert!(measured <= bound, "class {number}: measured {measured}, bound {bound}");
        }
    }

    /// Guaranteed flows flood; controlled load conforms. What is out of profile goes last, and moves no clock.
    #[test]
    fn controlled_load_beside_floods(seed: u64) {
        let lots = &mut Lots(seed);
        let (guaranteed, controlled) = (lots.between(1, 3) as usize, lots.between(1, 3) as usize);
        let count = guaranteed + controlled;
        let weights: Vec<i128> = (0..count).map(|_| lots.between(1, 4)).collect();
        let sum: i128 = weights.iter().sum();
        let flows: Vec<(i128, i128, i128)> = weights.iter().map(|weight| {
            let length = lots.between(4, 12) * 1_000;
            (length, length * lots.between(1, 4), i128::from(LINK) * 98 / 100 * weight / sum)
        }).collect();
        let own = lots.below(count as i128) as usize;
        let mut arrivals: Vec<(i128, usize, i128)> = (0..60).map(|at| (at * 12_000 * BIT, count, 12_000)).collect();
        for (number, &(length, burst, rate)) in flows.iter().enumerate() {
            let floods = number != own && lots.below(3) > 0;
            let (burst, rate, until) = if floods { (20 * burst, 3 * rate, 200_000) } else { (burst, rate, 500_000) };
            arrivals.extend(packets(lots, burst, rate, length, until).into_iter().map(|time| (time, number, length)));
        }
        arrivals.sort_unstable();
        let mut queues = vec![std::collections::VecDeque::new(); count + 1];
        // Virtual finish of the last packet in profile, and start and finish of the head.
        let (mut last, mut start, mut finish) = (vec![0; count], vec![0; count], vec![0; count]);
        let (mut now, mut next, mut worst) = (0, 0, 0);
        while next < arrivals.len() || queues.iter().any(|queue: &std::collections::VecDeque<(i128, i128)>| !queue.is_empty()) {
            if queues.iter().all(std::collections::VecDeque::is_empty) {
                now = now.max(arrivals[next].0);
            }
            let mut until = now + 1;
            for phase in 0..2 {
                while next < arrivals.len() && arrivals[next].0 < until {
                    let (time, number, length) = arrivals[next];
                    next += 1;
                    queues[number].push_back((time, length));
                    if number < count && queues[number].len() == 1 {
                        start[number] = last[number].max(time);
                        finish[number] = start[number] + length * SCALE / flows[number].2 + 1;
                    }
                }
                if phase == 1 {
                    break;
                }
                let eligible = |range: std::ops::Range<usize>| {
                    let ready = range.filter(|&number| !queues[number].is_empty() && start[number] <= now);
                    ready.min_by_key(|&number| finish[number])
                };
                let picked = eligible(0..guaranteed).or_else(|| eligible(guaranteed..count));
                let in_profile = picked.is_some();
                let number = picked.unwrap_or_else(|| {
                    let waiting: Vec<usize> = (0..=count).filter(|&number| !queues[number].is_empty()).collect();
                    waiting[lots.below(waiting.len() as i128) as usize]
                });
                let (time, length) = queues[number][0];
                now += length * BIT;
                until = now;
                if number == own {
                    worst = worst.max(now - time);
                }
                queues[number].pop_front();
                if number < count {
                    if in_profile {
                        last[number] = finish[number];
                    }
                    if let Some(&(time, length)) = queues[number].front() {
                        start[number] = last[number].max(time);
                        finish[number] = start[number] + length * SCALE / flows[number].2 + 1;
                    }
                }
            }
        }
        let class = |number: usize| if number < guaranteed { ServiceClass::Guaranteed } else { ServiceClass::ControlledLoad };
        let mut children: Vec<Child> =
            flows.iter().enumerate().map(|(number, &(length, burst, rate))| Child { class: class(number), ..sends(length, burst, rate) }).collect();
        children.push(Child::new(12_000));
        let node = Node::new(SchedulerKind::IntegratedServices, LINK, children);
        let arrival = node.children[own].arrival.clone().unwrap();
        let bound = row(&node, &Service::link(LINK), own).delay_of(&arrival).unwrap();
        prop_assert!(worst <= bound + 10_000, "measured {worst}, bound {bound}");
    }
}

/// The row of a window is that of its strict latency; the search over DWCS is in the core. Here its arithmetic is checked against slots.
#[test]
fn a_window_is_served_within_its_slots() {
    let node = Node {
        windows: Windows { is_kept: true, slot: 1_000, overdraws: true },
        ..Node::new(SchedulerKind::Dwcs, LINK, vec![Child { window: Some((1, 2)), ..Child::new(1_000) }; 2])
    };
    // Two children overdraw: 2 x + 1 + 2 slots of 1 us.
    let curve = row(&node, &Service::link(LINK), 0).strict.unwrap();
    assert_eq!((curve.rate(), curve.latency()), (LINK / 2, 5 * 1_000 * BIT));
}
