//! Flows that change, come and go while others are queued, and a scheduler that takes over from another.

use super::totals::{self, Claim, shift};
use super::{BuildError, CLASSES, CellRate, Clock, Demand, Demands, FlowParameters, Guarantee, IDLE, Kept, RateControlled, Stream, VACANT};
use crate::packet::Flow;
use crate::ready::ReadyList;
use crate::shaper::{Allowance, refused};
use crate::sharing::{RateScaling, Sharing};
use crate::units::Time;
use alloc::vec;

impl<R: ReadyList> RateControlled<R> {
    pub(super) fn change_flow(&mut self, now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        let index = flow.index();
        let mut allowance = Allowance::at(now, parameters.shape.as_ref()).map_err(|error| refused(flow, &error))?;
        let (claim, asked) = totals::claim(parameters, self.rate, self.flows.len());
        let (is_new, level) = (self.flows[index].length == VACANT, usize::from(self.flows[index].level));
        let mut totals = self.totals;
        if !is_new {
            totals.remove(level, &self.claims[index], &self.rates[index]);
        }
        let (to, moved) = totals.level_of(parameters.priority.unwrap_or(0)).map_err(|error| BuildError { flow: Some(flow), ..error })?;
        let is_first = totals.is_empty(to);
        totals.add(to, &claim, &asked);
        totals.check(self.rate)?;
        self.totals = totals;
        if let Some(from) = moved {
            self.move_level(from, to);
        }
        // The priority may have been in use before.
        if is_first && (is_new || usize::from(self.flows[index].level) != to) {
            self.clocks[to] = Clock { next: now, ..Clock::default() };
        }
        let clock = &self.clocks[to];
        if is_new {
            let share = clock.at(now);
            self.flows[index] = Stream { allowance, share, length: IDLE, level: to as u8, demand: Demand::Nothing };
        } else {
            let old = self.flows[index];
            allowance.adopt(now, &old.allowance);
            let has_moved = usize::from(old.level) != to;
            let stream = &mut self.flows[index];
            if (has_moved || asked != self.rates[index]) && old.demand != Demand::Nothing {
                self.demands.ask(stream, &self.rates, flow, Demand::Nothing);
            }
            (stream.allowance, stream.level) = (allowance, to as u8);
            stream.share = stream.share + self.clocks[usize::from(old.level)].held - clock.held;
            if old.length != IDLE {
                // A head that is due keeps its release among flows of its priority.
                let is_later = old.allowance.release().is_after(now) && allowance.release() != old.allowance.release();
                if has_moved || is_later {
                    let due = allowance.release().later(stream.share + clock.held).later(now);
                    self.releases[usize::from(old.level)].remove(flow);
                    self.releases[to].insert(flow, due.picoseconds());
                }
            }
        }
        (self.claims[index], self.rates[index]) = (claim, asked);
        self.follow_totals(now);
        let stream = &mut self.flows[index];
        if stream.length != IDLE && stream.demand == Demand::Nothing {
            let demand = stream.demand(now);
            self.demands.ask(stream, &self.rates, flow, demand);
        }
        Ok(())
    }

    pub(super) fn remove_flow(&mut self, now: Time, flow: Flow) {
        let stream = &mut self.flows[flow.index()];
        debug_assert_eq!(stream.length, IDLE, "flow {} leaves, but it is backlogged", flow.0);
        stream.length = VACANT;
        self.totals.remove(usize::from(stream.level), &self.claims[flow.index()], &self.rates[flow.index()]);
        (self.claims[flow.index()], self.rates[flow.index()]) = (Claim::default(), [CellRate::ZERO; 2]);
        self.follow_totals(now);
    }

    /// The level `from`, which is empty or not there yet, becomes the level `to`.
    fn move_level(&mut self, from: usize, to: usize) {
        if from == self.releases.len() {
            let list = self.spare.pop().unwrap_or_else(|| R::new(self.flows.len()));
            self.releases.push(list);
        }
        shift(&mut self.releases, from, to);
        shift(&mut self.clocks, from, to);
        let place = |level: usize| {
            if level == from { to } else { level + usize::from((to..from).contains(&level)) - usize::from((from..=to).contains(&level)) }
        };
        for stream in &mut self.flows {
            stream.level = place(usize::from(stream.level)) as u8;
        }
        // One of a level without flows is of no rate.
        self.guarantees.retain(|guarantee| usize::from(guarantee.level) != from);
        for guarantee in &mut self.guarantees {
            guarantee.level = place(usize::from(guarantee.level)) as u8;
        }
        self.latest = place(self.latest);
        let mut demand: [CellRate; CLASSES] = core::array::from_fn(|level| self.demands.sharing.demand(level));
        shift(&mut demand, from, to);
        self.demands.share_anew(self.totals.minimum, demand);
    }

    /// Derives guarantees and shares from what the flows claim. Demands that are counted once stay counted.
    pub(super) fn follow_totals(&mut self, now: Time) {
        if self.demands.minimum != self.totals.minimum {
            let demand = core::array::from_fn(|level| self.demands.sharing.demand(level));
            self.demands.share_anew(self.totals.minimum, demand);
        }
        let mut owed = [now; CLASSES];
        for guarantee in self.guarantees.drain(..) {
            owed[usize::from(guarantee.level)] = guarantee.owed;
        }
        // A single priority has the whole link.
        let has_priorities = self.totals.has_priorities();
        if has_priorities {
            let guaranteed = self.totals.guaranteed.iter().zip(owed).enumerate();
            self.guarantees.extend(guaranteed.filter_map(|(level, (&rate, owed))| Guarantee::new(level, rate, self.longest_packet, owed)));
        }
        let demands = &mut self.demands;
        demands.may_exceed_link |= self.totals.may_exceed_link();
        self.has_clocks = has_priorities && (self.totals.may_exceed_link() || self.totals.has_open_flow_above());
        self.has_shares = demands.may_exceed_link || self.has_clocks;
    }

    pub(super) fn take_over(&mut self, now: Time, old: &mut RateControlled<R>, kept: &[Kept]) {
        for (level, priority) in self.totals.ranks().iter().enumerate() {
            let Ok(before) = old.totals.ranks().binary_search(priority) else { continue };
            self.clocks[level] = old.clocks[before];
            let owed = old.guarantees.iter().find(|guarantee| usize::from(guarantee.level) == before).map(|guarantee| guarantee.owed);
            if let Some(guarantee) = self.guarantees.iter_mut().find(|guarantee| usize::from(guarantee.level) == level) {
                guarantee.owed = owed.unwrap_or(guarantee.owed);
            }
            if old.latest == before {
                self.latest = level;
            }
        }
        let mut heirs = vec![None; old.flows.len()];
        for &Kept { from, to, head } in kept {
            let (stream, before) = (&mut self.flows[to.index()], &old.flows[from.index()]);
            stream.allowance.adopt(now, &before.allowance);
            let is_tracked = old.demands.may_exceed_link && before.allowance.release() == stream.allowance.release();
            let held = [old.clocks[usize::from(before.level)].held, self.clocks[usize::from(stream.level)].held];
            stream.share = before.share + held[0] - held[1];
            let Some(head) = head else { continue };
            heirs[from.index()] = Some(to);
            stream.length = head.length;
            let demand = if is_tracked { before.demand } else { stream.demand(now) };
            self.demands.ask(stream, &self.rates, to, demand);
        }
        for releases in &mut old.releases {
            // In their order, which also breaks ties.
            while let Some((due, from)) = releases.pop_first() {
                let Some(to) = heirs[from.index()] else { continue };
                let (stream, before) = (&self.flows[to.index()], &old.flows[from.index()].allowance);
                let level = usize::from(stream.level);
                let is_later = before.release().is_after(now) && before.release() != stream.allowance.release();
                let anew = stream.allowance.release().later(stream.share + self.clocks[level].held).later(now);
                self.releases[level].insert(to, if is_later { anew.picoseconds() } else { due });
            }
        }
    }
}

impl Demands {
    /// Shares by these guarantees from now on.
    fn share_anew(&mut self, minimum: [CellRate; CLASSES], demand: [CellRate; CLASSES]) {
        self.minimum = minimum;
        // The guarantees were checked against the link.
        self.sharing = RateScaling::new(minimum).unwrap_or_else(|_| RateScaling::strict());
        for (level, rate) in demand.into_iter().enumerate().filter(|(_, rate)| *rate != CellRate::ZERO) {
            self.sharing.demand_changed(level, CellRate::ZERO, rate);
        }
    }
}
