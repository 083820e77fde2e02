//! A slow model of schedulers with packets, written from their definitions: two levels, where a parent schedules its children's winners.
//! The link sends a bit per 1000 ps.

/// Picoseconds per bit of the link, of 10^9 bit/s.
pub const BIT: i128 = 1_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Fifo,
    Priority,
    WeightedRoundRobin,
    DeficitRoundRobin,
    Wf2qPlus,
    /// The same with virtual time added when service starts, which breaks its bound.
    EarlyWf2qPlus,
    SelfClocked,
    QuickFair,
    VirtualClock,
    Deadline,
}

use Kind::*;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    pub arrival: i128,
    pub length: i128,
}

/// A node with `heads.len()` children.
#[derive(Clone, Debug)]
pub struct Scheduler {
    pub kind: Kind,
    pub rate: i128,
    pub rates: Vec<i128>,
    /// Packets or bits per turn.
    pub turns: Vec<i128>,
    pub delays: Vec<i128>,
    /// Slots of quick fair queueing.
    pub slots: Vec<i128>,
    heads: Vec<Option<Packet>>,
    virtual_time: i128,
    starts: Vec<i128>,
    finishes: Vec<i128>,
    turn: Vec<usize>,
    begun: bool,
    credit: Vec<i128>,
    sending: i128,
    since: i128,
}

impl Scheduler {
    pub fn new(kind: Kind, rate: i128, rates: Vec<i128>, turns: Vec<i128>, delays: Vec<i128>, slots: Vec<i128>) -> Scheduler {
        let n = rates.len();
        Scheduler {
            kind,
            rate,
            rates,
            turns,
            delays,
            slots,
            heads: vec![None; n],
            virtual_time: 0,
            starts: vec![0; n],
            finishes: vec![0; n],
            turn: Vec::new(),
            begun: false,
            credit: vec![0; n],
            sending: 0,
            since: 0,
        }
    }

    pub fn is_busy(&self) -> bool {
        self.heads.iter().any(Option::is_some)
    }

    pub fn head(&self, child: usize) -> Option<Packet> {
        self.heads[child]
    }

    /// The time that `bits` take at `rate`.
    fn time(bits: i128, rate: i128) -> i128 {
        (bits * 1_000_000_000_000 + rate - 1) / rate
    }

    fn is_fair(&self) -> bool {
        matches!(self.kind, Wf2qPlus | EarlyWf2qPlus | QuickFair)
    }

    /// Virtual time follows the work of the packet in transmission.
    fn virtual_now(&self, now: i128) -> i128 {
        self.virtual_time + (now - self.since).min(self.sending)
    }

    pub fn join(&mut self, now: i128, child: usize, head: Packet) {
        self.heads[child] = Some(head);
        let base = match self.kind {
            WeightedRoundRobin | DeficitRoundRobin => return self.turn.push(child),
            VirtualClock => head.arrival,
            Wf2qPlus | QuickFair => self.virtual_now(now),
            EarlyWf2qPlus | SelfClocked => self.virtual_time,
            Fifo | Priority | Deadline => return,
        };
        self.stamp(child, base);
    }

    fn stamp(&mut self, child: usize, base: i128) {
        self.starts[child] = self.finishes[child].max(base);
        self.refinish(child);
    }

    fn refinish(&mut self, child: usize) {
        if let Some(head) = self.heads[child] {
            self.finishes[child] = self.starts[child] + Scheduler::time(head.length, self.rates[child]);
        }
    }

    /// Another winner below, which is not charged yet.
    pub fn replace(&mut self, child: usize, head: Packet) {
        self.heads[child] = Some(head);
        if self.is_fair() || matches!(self.kind, SelfClocked | VirtualClock) {
            self.refinish(child);
        }
    }

    pub fn pick(&mut self, now: i128) -> usize {
        let busy: Vec<usize> = (0..self.heads.len()).filter(|&child| self.heads[child].is_some()).collect();
        let head = |child: usize| self.heads[child].unwrap();
        match self.kind {
            Fifo => *busy.iter().min_by_key(|&&child| head(child).arrival).unwrap(),
            Deadline => *busy.iter().min_by_key(|&&child| head(child).arrival + self.delays[child]).unwrap(),
            Priority => busy[0],
            SelfClocked | VirtualClock => *busy.iter().min_by_key(|&&child| self.finishes[child]).unwrap(),
            Wf2qPlus | EarlyWf2qPlus | QuickFair => {
                let slot = |child: usize, time: i128| time.div_euclid(self.slots[child]) * self.slots[child];
                let start = |child: usize| if self.kind == QuickFair { slot(child, self.starts[child]) } else { self.starts[child] };
                let finish =
                    |child: usize| if self.kind == QuickFair { start(child) + 2 * self.slots[child] } else { self.finishes[child] };
                let virtual_now = if self.kind == EarlyWf2qPlus { self.virtual_time } else { self.virtual_now(now) };
                let first = busy.iter().map(|&child| start(child)).min().unwrap();
                let eligible = busy.iter().filter(|&&child| start(child) <= virtual_now.max(first));
                let picked = *eligible.min_by_key(|&&child| finish(child)).unwrap();
                self.virtual_time += (first - virtual_now).max(0);
                picked
            }
            WeightedRoundRobin | DeficitRoundRobin => loop {
                let child = self.turn[0];
                let drr = self.kind == DeficitRoundRobin;
                if !self.begun {
                    self.credit[child] = self.turns[child] + if drr { self.credit[child] } else { 0 };
                    self.begun = true;
                }
                if self.credit[child] >= if drr { self.heads[child].unwrap().length } else { 1 } {
                    return child;
                }
                self.turn.rotate_left(1);
                self.begun = false;
            },
        }
    }

    pub fn start(&mut self, now: i128, child: usize) {
        let length = Scheduler::time(self.heads[child].unwrap().length, self.rate);
        match self.kind {
            Wf2qPlus | QuickFair => {
                self.virtual_time += self.sending;
                (self.since, self.sending) = (now, length);
            }
            EarlyWf2qPlus => self.virtual_time += length,
            SelfClocked => self.virtual_time = self.finishes[child],
            WeightedRoundRobin => {
                // A turn ends when its last packet starts: what becomes backlogged now comes behind the next one.
                self.credit[child] -= 1;
                if self.credit[child] == 0 {
                    self.turn.rotate_left(1);
                    self.begun = false;
                }
            }
            _ => {}
        }
    }

    pub fn done(&mut self, _now: i128, child: usize, next: Option<Packet>) {
        let length = self.heads[child].unwrap().length;
        self.heads[child] = next;
        if self.kind == DeficitRoundRobin {
            self.credit[child] -= length;
        }
        if matches!(self.kind, WeightedRoundRobin | DeficitRoundRobin) && next.is_none() {
            self.credit[child] = 0;
            let place = self.turn.iter().position(|&other| other == child).unwrap();
            self.turn.remove(place);
            self.begun &= place > 0;
        }
        if let Some(next) = next {
            match self.kind {
                VirtualClock => self.stamp(child, next.arrival),
                SelfClocked => self.stamp(child, self.finishes[child]),
                _ if self.is_fair() => self.stamp(child, self.finishes[child]),
                _ => {}
            }
        }
    }
}

/// A packet on its way to a child's queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Arriving {
    pub time: i128,
    pub group: usize,
    pub queue: usize,
    pub length: i128,
}

/// Runs two levels until all packets have left. Returns the largest delay of each queue of each group.
pub fn run(top: &mut Scheduler, groups: &mut [Scheduler], arrivals: &[Arriving]) -> Vec<Vec<i128>> {
    let mut worst: Vec<Vec<i128>> = groups.iter().map(|group| vec![0; group.rates.len()]).collect();
    let mut queues: Vec<Vec<std::collections::VecDeque<Packet>>> =
        groups.iter().map(|group| vec![std::collections::VecDeque::new(); group.rates.len()]).collect();
    let (mut now, mut next) = (0, 0);
    let arrive = |top: &mut Scheduler, groups: &mut [Scheduler], queues: &mut [Vec<std::collections::VecDeque<Packet>>], at: Arriving| {
        let packet = Packet { arrival: at.time, length: at.length };
        let queue = &mut queues[at.group][at.queue];
        queue.push_back(packet);
        if queue.len() == 1 {
            let was_idle = !groups[at.group].is_busy();
            groups[at.group].join(at.time, at.queue, packet);
            if was_idle {
                top.join(at.time, at.group, packet);
            }
        }
    };
    while next < arrivals.len() || top.is_busy() {
        if !top.is_busy() {
            now = now.max(arrivals[next].time);
        }
        while next < arrivals.len() && arrivals[next].time <= now {
            arrive(top, groups, &mut queues, arrivals[next]);
            next += 1;
        }
        for (number, group) in groups.iter_mut().enumerate() {
            if group.is_busy() {
                let winner = group.pick(now);
                top.replace(number, group.head(winner).unwrap());
            }
        }
        let number = top.pick(now);
        let queue = groups[number].pick(now);
        let packet = queues[number][queue][0];
        top.start(now, number);
        groups[number].start(now, queue);
        let end = now + packet.length * BIT;
        while next < arrivals.len() && arrivals[next].time < end {
            arrive(top, groups, &mut queues, arrivals[next]);
            next += 1;
        }
        now = end;
        worst[number][queue] = worst[number][queue].max(now - packet.arrival);
        queues[number][queue].pop_front();
        groups[number].done(now, queue, queues[number][queue].front().copied());
        let head = if groups[number].is_busy() {
            let winner = groups[number].pick(now);
            groups[number].head(winner)
        } else {
            None
        };
        top.done(now, number, head);
    }
    worst
}
