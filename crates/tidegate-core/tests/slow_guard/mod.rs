//! The guard of the bus as its steps read, in exact fractions, and a bus with a round robin to try guards on.

use tidegate_core::guard::{Activity, UNITS_PER_BYTE};

/// A fraction in lowest terms, with a positive denominator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fraction {
    pub numerator: i128,
    pub denominator: i128,
}

fn divisor(one: i128, other: i128) -> i128 {
    if other == 0 { one } else { divisor(other, one % other) }
}

impl Fraction {
    pub const ZERO: Fraction = Fraction::whole(0);

    pub const fn whole(numerator: i128) -> Fraction {
        Fraction { numerator, denominator: 1 }
    }

    /// Reduced; the denominator is not 0.
    pub fn new(numerator: i128, denominator: i128) -> Fraction {
        let common = divisor(numerator.abs(), denominator.abs()).max(1) * denominator.signum();
        Fraction { numerator: numerator / common, denominator: denominator / common }
    }

    /// Panics with "overflow" where 128 bits do not suffice; [`Slow::has_space`] looks ahead.
    pub fn plus(self, other: Fraction) -> Fraction {
        let product = |a: i128, b: i128| a.checked_mul(b).expect("overflow");
        let sum = product(self.numerator, other.denominator).checked_add(product(other.numerator, self.denominator));
        Fraction::new(sum.expect("overflow"), product(self.denominator, other.denominator))
    }

    pub fn times(self, other: Fraction) -> Fraction {
        let product = |a: i128, b: i128| a.checked_mul(b).expect("overflow");
        Fraction::new(product(self.numerator, other.numerator), product(self.denominator, other.denominator))
    }

    pub fn minus(self, other: Fraction) -> Fraction {
        self.plus(other.times(Fraction::whole(-1)))
    }

    pub fn over(self, divisor: i128) -> Fraction {
        self.times(Fraction::new(1, divisor))
    }

    pub fn floor(self) -> i128 {
        self.numerator.div_euclid(self.denominator)
    }

    pub fn is_less(self, other: Fraction) -> bool {
        self.minus(other).numerator < 0
    }

    pub fn clip(self, least: Fraction, most: Fraction) -> Fraction {
        let at_most = if most.is_less(self) { most } else { self };
        if at_most.is_less(least) { least } else { at_most }
    }
}

/// Water-filling by trying every corner. With `rounds`, the grants are whole, rounded as the product says it does.
pub fn fill(claims: &[(i128, Fraction, Fraction)], capacity: Fraction, rounds: bool) -> Vec<Fraction> {
    let sum = claims.iter().fold(Fraction::ZERO, |sum, claim| sum.plus(claim.1));
    let target = if capacity.is_less(sum) { capacity } else { sum };
    let at = |level: Fraction| -> Vec<Fraction> {
        let grant = |&(weight, most, credit): &(i128, Fraction, Fraction)| {
            level.times(Fraction::whole(weight)).minus(credit).clip(Fraction::ZERO, most)
        };
        claims.iter().map(grant).collect()
    };
    let total = |level| at(level).into_iter().fold(Fraction::ZERO, Fraction::plus);
    let mut corners: Vec<Fraction> =
        claims.iter().flat_map(|&(weight, most, credit)| [credit.over(weight), credit.plus(most).over(weight)]).collect();
    corners.sort_by(|a, b| a.minus(*b).numerator.cmp(&0));
    let mut before = corners[0];
    let mut level = corners[corners.len() - 1];
    for corner in corners {
        if !total(corner).is_less(target) {
            let rise = total(corner).minus(total(before));
            let part = target.minus(total(before));
            level = corner;
            if rise.numerator > 0 {
                let along = part.times(Fraction::new(rise.denominator, rise.numerator));
                level = before.plus(along.times(corner.minus(before)));
            }
            break;
        }
        before = corner;
    }
    let exact = at(level);
    if !rounds {
        return exact;
    }
    let mut carried = Fraction::ZERO;
    exact
        .into_iter()
        .map(|grant| {
            let whole = Fraction::whole(grant.floor());
            carried = carried.plus(grant.minus(whole));
            let extra = Fraction::whole(carried.floor());
            carried = carried.minus(extra);
            whole.plus(extra)
        })
        .collect()
}

/// The guard as its steps read, in units.
pub struct Slow {
    pub weights: Vec<i128>,
    pub frames: Vec<i128>,
    pub capacity: Fraction,
    /// Shares of the capacity; `None` for no limit.
    pub clamp: Option<i128>,
    /// Repair (a).
    pub uses_room: bool,
    /// The product's rounding.
    pub rounds: bool,
    pub waiting: Vec<i128>,
    pub fluid: Vec<Fraction>,
    pub credit: Vec<Fraction>,
    pub residue: Vec<Fraction>,
    pub is_active: bool,
}

const UNIT: i128 = UNITS_PER_BYTE as i128;

impl Slow {
    pub fn new(weights: &[u32], frames: &[u32], capacity: u64) -> Slow {
        let zeros = vec![Fraction::ZERO; weights.len()];
        Slow {
            weights: weights.iter().map(|&weight| i128::from(weight)).collect(),
            frames: frames.iter().map(|&frame| i128::from(frame)).collect(),
            capacity: Fraction::whole(i128::from(capacity) * UNIT),
            clamp: Some(1),
            uses_room: true,
            rounds: true,
            waiting: vec![0; weights.len()],
            fluid: zeros.clone(),
            credit: zeros.clone(),
            residue: zeros,
            is_active: false,
        }
    }

    /// True while the denominators leave space for another period.
    pub fn has_space(&self) -> bool {
        self.fluid.iter().chain(&self.residue).all(|fraction| fraction.denominator < 1 << 12)
    }

    pub fn activate(&mut self, activity: &[Activity]) -> Option<Vec<u32>> {
        let flows = 0..self.weights.len();
        let units = |bytes: i128| Fraction::whole(bytes * UNIT);
        if self.is_active {
            let claims: Vec<_> = flows
                .clone()
                .map(|i| (self.weights[i], self.fluid[i].plus(units(i128::from(activity[i].accepted))), Fraction::ZERO))
                .collect();
            let served = fill(&claims, self.capacity, self.rounds);
            flows.clone().for_each(|i| self.fluid[i] = claims[i].1.minus(served[i]));
        }
        let mut moved = 0;
        for i in flows.clone() {
            self.waiting[i] += i128::from(activity[i].accepted) - i128::from(activity[i].moved);
            moved += i128::from(activity[i].moved);
        }
        let zeros = vec![Fraction::ZERO; self.weights.len()];
        if self.waiting.iter().all(|&waiting| waiting == 0) && units(moved).is_less(self.capacity) {
            self.is_active = false;
            (self.fluid, self.credit, self.residue) = (zeros.clone(), zeros.clone(), zeros);
            return None;
        }
        let sum: i128 = self.weights.iter().sum();
        let mut claims = Vec::new();
        for i in flows.clone() {
            let waiting = units(self.waiting[i]);
            let room = units(i128::from(activity[i].room) * self.frames[i]);
            let most = if self.uses_room && room.is_less(waiting) { room } else { waiting };
            if !self.is_active || most.is_less(waiting) {
                self.fluid[i] = waiting;
            }
            self.credit[i] = self.fluid[i].minus(waiting);
            if let Some(clamp) = self.clamp {
                let bound = self.capacity.times(Fraction::new(clamp * self.weights[i], sum));
                let bound = if self.rounds { Fraction::whole(bound.floor()) } else { bound };
                self.credit[i] = self.credit[i].clip(Fraction::ZERO.minus(bound), bound);
                self.fluid[i] = waiting.plus(self.credit[i]).clip(Fraction::ZERO, Fraction::whole(1 << 80));
            }
            claims.push((self.weights[i], most, self.credit[i]));
        }
        self.is_active = true;
        let grants = fill(&claims, self.capacity, self.rounds);
        let spare = self.capacity.minus(grants.iter().fold(Fraction::ZERO, |sum, grant| sum.plus(*grant)));
        let vacancies = flows.map(|i| {
            let share = spare.times(Fraction::new(self.weights[i], sum));
            let granted = grants[i].plus(share).plus(self.residue[i]);
            let frame = self.frames[i] * UNIT;
            let frames = granted.over(frame).floor();
            self.residue[i] = granted.minus(Fraction::whole(frames * frame));
            frames.min(i128::from(activity[i].room)) as u32
        });
        Some(vacancies.collect())
    }
}

/// A bus that moves whole frames of the channels in turn: up to `capacity` bytes in a period, and as many of each as it has vacancies.
pub struct RoundRobinBus {
    pub frames: Vec<u32>,
    pub capacity: u64,
    /// The periods in which the waiting frames of each channel came.
    pub queues: Vec<std::collections::VecDeque<u64>>,
    /// Whether a period begins with the first channel or where the last one ended.
    pub begins_anew: bool,
    pub next: usize,
    pub longest_wait: Vec<u64>,
}

impl RoundRobinBus {
    pub fn new(frames: &[u32], capacity: u64) -> RoundRobinBus {
        let queues = vec![std::collections::VecDeque::new(); frames.len()];
        RoundRobinBus { frames: frames.to_vec(), capacity, queues, begins_anew: false, next: 0, longest_wait: vec![0; frames.len()] }
    }

    /// One period; returns the frames moved of each.
    pub fn period(&mut self, now: u64, arrivals: &[u32], vacancies: &[u32]) -> Vec<u32> {
        let count = self.frames.len();
        for (queue, &arrivals) in self.queues.iter_mut().zip(arrivals) {
            queue.extend(std::iter::repeat_n(now, arrivals as usize));
        }
        if self.begins_anew {
            self.next = 0;
        }
        let (mut moved, mut left, mut idle) = (vec![0; count], self.capacity, 0);
        while idle < count {
            let at = self.next;
            self.next = (at + 1) % count;
            idle += 1;
            let length = u64::from(self.frames[at]);
            if moved[at] < vacancies[at]
                && length <= left
                && let Some(came) = self.queues[at].pop_front()
            {
                self.longest_wait[at] = self.longest_wait[at].max(now - came);
                (moved[at], left, idle) = (moved[at] + 1, left - length, 0);
            }
        }
        moved
    }
}
