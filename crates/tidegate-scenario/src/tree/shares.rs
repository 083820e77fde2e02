//! The rates that groups share where the file gives none: their part of the rate of the node above, whether it is guaranteed or not.

use super::ceilings::Sum;
use super::members::{Choice, Member, Starvation, Tree, slot};
use crate::value::At;
use std::collections::BTreeMap;
use tidegate_core::dwcs::Early;
use tidegate_core::registry::SchedulerKind;
use tidegate_core::units::Rate;

impl Tree {
    /// Computes the rates that the groups below `node` share, and the parts of classes.
    pub(super) fn share(&mut self, node: Option<usize>) {
        if self.scheduler(node).kind == SchedulerKind::Dwcs {
            self.request_slots(node);
        }
        let above = self.shared[slot(node)].clone();
        let parts = self.parts_of_rate(node);
        for (position, part) in parts.into_iter().enumerate() {
            let child = self.children[slot(node)][position];
            let shape = self.given(child).shape.map(|shape| shape.rate);
            let part = part.map(|part| shape.map_or(part, |shape| part.min(shape.bits_per_second())));
            match child {
                Member::Class(class) => {
                    let admitted = self.classes[class].admits.as_ref().map_or(u64::MAX, |admits| admits.rate());
                    self.class_shares[class] = part.and_then(|part| Rate::new(part.min(admitted)).ok());
                }
                Member::Group(group) => {
                    let given = &self.groups[group].0;
                    let span = given.weight.as_ref().map_or(above.span.clone(), |weight| weight.span.clone());
                    // A scheduler shares at least 1 kbit/s, even without a guarantee.
                    let most = shape.map_or(above.value, |shape| shape.min(above.value));
                    let inherited = part.map_or(most, |part| Rate::new(part).unwrap_or(Rate::MIN));
                    self.shared[slot(Some(group))] = given.rate.clone().unwrap_or(At { value: inherited, span });
                }
            }
        }
    }

    /// The part of the rate of `node` that each child has: its share, or what limited neighbours leave, if that is more.
    fn parts_of_rate(&mut self, node: Option<usize>) -> Vec<Option<u64>> {
        let children = self.children[slot(node)].clone();
        let kind = self.effective_kind(node);
        if kind == SchedulerKind::StrictPriority || kind == SchedulerKind::RateControlled && node.is_none() {
            return self.parts_by_priority(node, &children, kind);
        }
        let shared = self.shared[slot(node)].value.bits_per_second();
        let shares = self.shares(node, kind, &children);
        let all = Sum::of(self, &children, 0..children.len());
        let never_idles = !self.waits_for_periods(node) && kind != SchedulerKind::RateControlled;
        let parts = children.iter().zip(shares).enumerate().map(|(position, (&child, share))| {
            let others = all.without(position, self.ceiling(child)).ok().filter(|_| never_idles);
            let left = others.and_then(|others| shared.checked_sub(others.most.rate)).filter(|&left| left > 0);
            share.max(left)
        });
        parts.collect()
    }

    /// The shares of the scheduler alone.
    fn shares(&self, node: Option<usize>, kind: SchedulerKind, children: &[Member]) -> Vec<Option<u64>> {
        let shared = self.shared[slot(node)].value.bits_per_second();
        let weight = |child: Member| self.given(child).weight.as_ref().map_or(1, |weight| weight.value);
        let rate = |child: Member| self.given(child).rate.as_ref().map(|rate| rate.value.bits_per_second());
        match kind {
            SchedulerKind::DeficitRoundRobin => {
                let weights: u128 = children.iter().map(|&child| u128::from(weight(child))).sum();
                let part = |&child: &Member| Some((u128::from(shared) * u128::from(weight(child)) / weights) as u64);
                children.iter().map(part).collect()
            }
            SchedulerKind::Wf2qPlus | SchedulerKind::QuickFair | SchedulerKind::SelfClocked => {
                let reserved = children.iter().filter_map(|&child| rate(child)).fold(0u64, u64::saturating_add);
                let left = u128::from(shared.saturating_sub(reserved));
                let weights: u128 = children.iter().filter(|&&child| rate(child).is_none()).map(|&child| u128::from(weight(child))).sum();
                let part = |&child: &Member| Some(rate(child).unwrap_or_else(|| (left * u128::from(weight(child)) / weights) as u64));
                children.iter().map(part).collect()
            }
            SchedulerKind::VirtualClock | SchedulerKind::ShapedVirtualClock | SchedulerKind::IntegratedServices => {
                children.iter().map(|&child| rate(child)).collect()
            }
            SchedulerKind::Dwcs => {
                let part = |position: usize| {
                    let part = self.slots[slot(node)].as_ref()?.streams[position].least_service()?;
                    Some((u128::from(shared) * u128::from(part.ticks) / part.of) as u64)
                };
                (0..children.len()).map(part).collect()
            }
            _ => vec![None; children.len()],
        }
    }

    /// What those above and beside leave; under rate-controlled service also the reserved rate of a member that is alone in its priority.
    fn parts_by_priority(&mut self, node: Option<usize>, children: &[Member], kind: SchedulerKind) -> Vec<Option<u64>> {
        let shared = self.shared[slot(node)].value.bits_per_second();
        let mut above = Sum::default();
        let mut parts = vec![None; children.len()];
        for members in self.levels(children).values() {
            let level = Sum::of(self, children, members.iter().copied());
            let mut reserved = None;
            for &position in members {
                let first = above.all().ok().and_then(|above| shared.checked_sub(above.most.rate));
                let others = level.without(position, self.ceiling(children[position])).ok();
                let left = first.zip(others).and_then(|(first, others)| first.checked_sub(others.most.rate)).filter(|&left| left > 0);
                let rate = self.given(children[position]).rate.as_ref().filter(|_| kind == SchedulerKind::RateControlled);
                let rate = rate.map(|rate| rate.value.bits_per_second());
                reserved = reserved.max(rate);
                parts[position] = left.max(rate.filter(|_| members.len() == 1));
            }
            if reserved.is_none() {
                self.note_starvation(children, &above, members);
            }
            members.iter().for_each(|&position| above.add(position, self.ceiling(children[position])));
        }
        parts
    }

    fn note_starvation(&mut self, children: &[Member], above: &Sum, members: &[usize]) {
        let (Some(first), Some(&starved)) = (above.unlimited(), members.first()) else { return };
        let starvation = Starvation { first: children[first], starved: children[starved] };
        if self.starvations.last().is_none_or(|last| last.first != starvation.first) {
            self.starvations.push(starvation);
        }
    }

    /// The positions of the children of each priority, highest first.
    pub(super) fn levels(&self, children: &[Member]) -> BTreeMap<u32, Vec<usize>> {
        let mut levels: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (position, &child) in children.iter().enumerate() {
            levels.entry(self.given(child).priority.as_ref().map_or(0, |priority| priority.value)).or_default().push(position);
        }
        levels
    }

    /// The scheduler that the node is built with.
    pub(super) fn effective_kind(&self, node: Option<usize>) -> SchedulerKind {
        if node.is_none() && self.is_flat() { self.flat_kind() } else { self.scheduler(node).kind }
    }

    /// True if the scheduler of a node holds packets until their period or their virtual start begins.
    pub(super) fn waits_for_periods(&self, node: Option<usize>) -> bool {
        let Choice { kind, options, .. } = self.scheduler(node);
        match kind {
            SchedulerKind::Dwcs => options.dwcs.rules.early == Early::Hold,
            SchedulerKind::IntegratedServices => options.intserv.out_of_profile_weight == 0,
            kind => *kind == SchedulerKind::ShapedVirtualClock,
        }
    }
}
