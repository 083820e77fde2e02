//! What an exchange computes: demands from the leaves upwards, and grants from the link downwards.

use super::filling::{Participant, UNLIMITED, collect, demand, level};
use super::node::{CORRECTION_INTERVALS, Node, Place};
use super::units::{BYTE, FRACTION};
use super::workers::FLOOR_PARTS;
use super::{AVERAGE_SHIFT, BOUNDED_SHIFT, Exchange, Report};
use crate::units::{Duration, Rate};

impl Exchange {
    /// Takes over what was sent, and averages what members need that are not always backlogged.
    pub(super) fn note_reports(&mut self, elapsed: Duration, reports: &[Report]) {
        let (time, nodes) = (u128::from(elapsed.picoseconds().max(1)), self.nodes.len());
        self.nodes.iter_mut().for_each(|node| node.sent = 0);
        for number in (0..self.nodes.len()).rev() {
            let (mut sent, mut is_standing) = (0, false);
            for (place, report) in self.places[number * self.workers..].iter_mut().zip(reports_of(number, reports, nodes)) {
                place.note(report, time);
                sent += report.sent;
                is_standing |= report.standing_weight > 0;
            }
            let is_standing = is_standing || (number + 1..self.nodes.len()).any(|below| self.stands_below(number, below));
            let node = &mut self.nodes[number];
            node.sent += sent;
            node.find_budget(elapsed, self.interval);
            if !is_standing {
                node.service = None;
            }
            node.is_standing = is_standing;
            if number > 0 {
                let (sent, above) = (node.sent, node.above);
                self.nodes[above].sent += sent;
            }
        }
    }

    /// True if the node `below` is a child of `node` that competes, and something below it is standing.
    fn stands_below(&self, node: usize, below: usize) -> bool {
        let below = &self.nodes[below];
        below.above == node && below.is_standing && !below.is_bounded
    }

    /// Adds what all that is standing was sent per weight, and subtracts the mean over those below one node.
    pub(super) fn note_service(&mut self, reports: &[Report]) {
        let nodes = self.nodes.len();
        for number in 0..self.nodes.len() {
            let (mut sum, mut weights) = (0, 0);
            for (place, report) in self.places[number * self.workers..].iter_mut().zip(reports_of(number, reports, nodes)) {
                let weight = i128::from(report.standing_weight);
                if let (Some(service), 1..) = (&mut place.service, weight) {
                    *service += i128::from(report.service);
                    sum += *service * weight;
                    weights += weight;
                }
            }
            for below in number + 1..self.nodes.len() {
                let stands = self.stands_below(number, below);
                let Node { service: Some(service), weight, sent, .. } = &mut self.nodes[below] else { continue };
                if stands {
                    *service += (i128::from(*sent) << FRACTION) / i128::from(*weight);
                    sum += *service * i128::from(*weight);
                    weights += i128::from(*weight);
                }
            }
            let mean = if weights > 0 { sum / weights } else { 0 };
            for (place, report) in self.places[number * self.workers..].iter_mut().zip(reports_of(number, reports, nodes)) {
                // Members that begin to stay backlogged have no claim from before.
                place.service = (report.standing_weight > 0).then(|| place.service.map_or(0, |service| service - mean));
            }
            for below in number + 1..self.nodes.len() {
                let stands = self.stands_below(number, below);
                let below = &mut self.nodes[below];
                if below.above == number {
                    below.service = stands.then(|| below.service.map_or(0, |service| service - mean));
                }
            }
        }
    }

    /// Those that share the rate of a node: for each worker its competing, bounded and passing members, and then the spanning nodes below.
    fn gather(&mut self, number: usize, reports: &[Report]) {
        let nodes = self.nodes.len();
        let mut participants = core::mem::take(&mut self.participants);
        participants.clear();
        for (place, report) in self.places[number * self.workers..].iter().zip(reports_of(number, reports, nodes)) {
            place.of(report).into_iter().for_each(|Participant { weight, limit }| collect(&mut participants, weight, limit));
        }
        for below in self.nodes[number + 1..].iter().filter(|below| below.above == number) {
            collect(&mut participants, below.weight, below.demand);
        }
        self.participants = participants;
    }

    /// Finds the rate that each node needs.
    pub(super) fn find_demands(&mut self, reports: &[Report]) {
        for number in (1..self.nodes.len()).rev() {
            self.gather(number, reports);
            self.nodes[number].demand = demand(&self.participants).min(self.nodes[number].budget);
        }
    }

    /// Shares the rate of every node among those below it.
    pub(super) fn share(&mut self, reports: &[Report]) {
        let (workers, nodes) = (self.workers as u128, self.nodes.len());
        let floor_of = |rate: u128| rate / u128::from(FLOOR_PARTS) / workers;
        // The floors come first: they are 1 % of the rate.
        let rate = u128::from(self.nodes[0].rate.map_or(0, Rate::bits_per_second));
        let floor = floor_of(rate);
        self.nodes[0].supply = self.nodes[0].budget.saturating_sub(floor * workers);
        self.nodes[0].share = rate;
        for number in 0..self.nodes.len() {
            self.gather(number, reports);
            let supply = self.nodes[number].supply;
            // Corrections come and go. Who is held back by a contract is judged by the shares without them.
            let steady = level(self.nodes[number].share, &self.participants);
            let level = level(supply, &self.participants);
            let time = self.nodes[number].correction_time(self.interval, self.longest_packet);
            let corrected = |fair: u128, weight: u64, service: Option<i128>| {
                let lag = service.map_or(0, |service| -service);
                let rate = ((i128::from(weight) * lag) >> FRACTION) * BYTE / time;
                fair.saturating_add_signed(rate.clamp(-(fair as i128), fair as i128))
            };
            let (mut sum, mut competing) = (0, 0);
            for (place, report) in self.places[number * self.workers..].iter_mut().zip(reports_of(number, reports, nodes)) {
                let participants = place.of(report);
                let fair = participants.iter().map(|participant| participant.share(level)).sum();
                place.grant = corrected(fair, report.standing_weight, place.service);
                place.competing = participants.iter().filter(|participant| participant.competes(level)).map(|each| each.weight).sum();
                sum += place.grant;
                competing += u128::from(place.competing);
            }
            for below in self.nodes[number + 1..].iter_mut().filter(|below| below.above == number) {
                let wanted = Participant { weight: below.weight, limit: below.demand };
                let fair = wanted.share(level);
                below.share = wanted.share(steady);
                below.is_bounded = !wanted.competes(level);
                below.supply = corrected(fair, below.weight, below.service).min(below.budget);
                sum += below.supply;
                competing += if below.is_bounded { 0 } else { u128::from(below.weight) };
            }
            // What corrections take from some, and give to no other, goes to all that compete, by weight.
            let left = supply.saturating_sub(sum);
            let more = |weight: u64| left * u128::from(weight) / competing.max(1);
            for place in &mut self.places[number * self.workers..][..self.workers] {
                let part = more(place.competing);
                place.grant += part;
                sum += part;
            }
            for below in self.nodes[number + 1..].iter_mut().filter(|below| below.above == number && !below.is_bounded) {
                let part = more(below.weight).min(below.budget.saturating_sub(below.supply));
                below.supply += part;
                sum += part;
            }
            // Corrections that were cut must not exceed the supply.
            if sum > supply {
                let cut = |grant: &mut u128| *grant = *grant * supply / sum;
                self.places[number * self.workers..][..self.workers].iter_mut().for_each(|place| cut(&mut place.grant));
                self.nodes[number + 1..].iter_mut().filter(|below| below.above == number).for_each(|below| cut(&mut below.supply));
            }
            // What is left over when demand is low goes to all workers alike.
            let surplus = supply.saturating_sub(sum) / workers;
            let above = &self.nodes[self.nodes[number].above];
            let (unused, spare_above) = (above.unused + above.surplus, above.spare + above.surplus);
            let node = &mut self.nodes[number];
            node.level = steady;
            node.surplus = surplus;
            if number == 0 {
                node.spare = floor;
            } else {
                // A floor of another's size would distort the shares of a small node.
                node.unused = unused;
                node.spare = (floor_of(supply) + unused).min(node.budget.saturating_sub(supply) / workers).min(spare_above);
            }
        }
    }

    /// Grants each worker at each node what those below it have there.
    pub(super) fn grant(&mut self) {
        for number in (0..self.nodes.len()).rev() {
            let (surplus, spare) = (self.nodes[number].surplus, self.nodes[number].spare);
            for worker in 0..self.workers {
                let below = (number + 1..self.nodes.len()).filter(|&below| self.nodes[below].above == number);
                let below: u128 = below.map(|below| self.places[below * self.workers + worker].total).sum();
                let place = &mut self.places[number * self.workers + worker];
                place.total = place.grant + below + surplus;
                self.granted[worker * self.nodes.len() + number] = rate_of(place.total + spare);
            }
        }
    }
}

/// The reports of the members directly below a node, by worker; there are `nodes` of each worker.
fn reports_of(node: usize, reports: &[Report], nodes: usize) -> impl Iterator<Item = &Report> {
    reports.iter().skip(node).step_by(nodes)
}

impl Place {
    /// Averages the bytes of members that are not always backlogged, in an interval of `time` picoseconds.
    fn note(&mut self, report: &Report, time: u128) {
        let average = |sum: &mut u64, bytes: u64, shift: u32| {
            *sum += bytes;
            let average = *sum >> shift;
            *sum -= average;
            u128::from(average) * BYTE as u128 / time
        };
        let faded = |weight: u64| weight - weight.div_ceil(CORRECTION_INTERVALS);
        self.passing_rate = average(&mut self.passing, report.passing_bytes, AVERAGE_SHIFT);
        self.passing_weight = report.passing_weight.max(faded(self.passing_weight));
        // Packets are lumps: the greater of a short average and what contracts allow would be too much.
        self.bounded_rate = average(&mut self.bounded, report.bounded_bytes, BOUNDED_SHIFT).max(report.bounded_rate.into());
        self.bounded_weight = report.bounded_weight.max(faded(self.bounded_weight));
    }

    /// Its competing, bounded and passing members, as they share the rate of the node.
    fn of(&self, report: &Report) -> [Participant; 3] {
        [
            Participant { weight: report.backlogged_weight, limit: UNLIMITED },
            Participant { weight: self.bounded_weight, limit: self.bounded_rate },
            Participant { weight: self.passing_weight, limit: self.passing_rate },
        ]
    }
}

/// The rate in bit/s; what is out of range is brought to the nearest bound.
fn rate_of(bits_per_second: u128) -> Rate {
    let bounded = bits_per_second.clamp(Rate::MIN.bits_per_second().into(), Rate::MAX.bits_per_second().into());
    Rate::new(bounded as u64).unwrap_or(Rate::MIN)
}
