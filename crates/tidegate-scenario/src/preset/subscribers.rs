//! `kind = "subscribers"`: an access network. Each subscriber is a class with FQ-CoDel, shaped to its plan, and the link is shared in proportion to the plans.
//!
//! With `tins` a subscriber is a group of that kind, and each of its tins a class.
//!
//! Packets of no subscriber are in the class `others`, which has a hundredth of the plans. All share one buffer, of which a queue has at most what its
//! plan sends in four intervals of CoDel.

use super::classes::{class_named, fair, here, insert, scheduler, takes_the_rest};
use super::size::{FAIR_BUFFER, longest_frame, size};
use super::tins::Tin;
use crate::choice::SchedulerName;
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{ClassTable, Direction, GroupTable, PolicyTable, RuleTable, ShapeTable, SubscriberTable};
use crate::header::Prefix;
use crate::policy::overhead;
use crate::units::Limit;
use crate::value::{At, Block, Bytes, Name, Whole};
use std::collections::HashSet;
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::Parameter;
use tidegate_core::units::Rate;

/// The most queues of a class, with which each of 20 flows at once has one to itself with 93 %, and the fewest.
const QUEUES: (u64, u64) = (256, 16);
/// The most queues that all classes are given, from 4,096 subscribers on.
const QUEUES_OF_ALL: u64 = 1 << 20;
/// The burst of a shape in longest frames: enough to wait for its turn under WF2Q+ and to catch up.
const BURST: u64 = 4;
/// The class of packets that are no subscriber's.
const OTHERS: &str = "others";
/// The part of all weights that it has.
const OTHERS_PART: u64 = 100;

/// Writes what the file leaves open.
pub fn write(name: &str, table: &mut PolicyTable, at: &Span, findings: &mut Vec<Diagnostic>) {
    let Some(direction) = Direction::of(name) else {
        let finding = Diagnostic::error(at.clone(), format!("policy `{name}` has one direction, and subscribers have two"));
        findings.push(finding.help("give the policy `down` and `up`, like down = \"10 Gbit/s\", in place of `rate`"));
        return;
    };
    let subscribers = std::mem::take(&mut table.subscriber);
    if subscribers.is_empty() {
        let finding = Diagnostic::error(at.clone(), format!("policy `{name}` has no subscriber"));
        findings.push(finding.help("add [[policy.NAME.subscriber]], with a name, addresses and the rates of the plan"));
        return;
    }
    let takes_weights = scheduler(table, subscribers.len() + 1, at).accepts().contains(&Parameter::Weight);
    let longest_frame = longest_frame(table);
    // Mistakes in the overhead are reported where the policy is built.
    let wire = overhead(table, &mut Vec::new()).wire_length(u32::try_from(longest_frame).unwrap_or(u32::MAX / 64));
    let burst = u64::from(wire) * BURST;
    let classes = table.class.iter().map(|class| class.name.value.clone());
    let written: HashSet<Name> = classes.chain(table.group.iter().map(|group| group.name.value.clone())).collect();
    let queues = (QUEUES_OF_ALL / subscribers.len() as u64).clamp(QUEUES.1, QUEUES.0);
    let queues = 1 << queues.ilog2();
    let mut weights = 0u64;
    for subscriber in &subscribers {
        let plan = if direction == Direction::Down { &subscriber.down } else { &subscriber.up };
        let weight = takes_weights.then(|| plan.value.bits_per_second().div_ceil(1000));
        let member = Member { subscriber, direction, plan, burst, queues, weight, limit: size(plan.value, longest_frame, FAIR_BUFFER) };
        match &table.tins {
            None => member.class(&mut table.class, &written, at),
            Some(tins) => {
                let takes_weights = member.group(&mut table.group, &written, at);
                for tin in Tin::all(tins.value) {
                    member.tin(tin, takes_weights, &mut table.class, &written, at);
                }
            }
        }
        weights = weights.saturating_add(weight.unwrap_or(0));
    }
    if !takes_the_rest(&table.class) {
        let others = class_named(&mut table.class, here(Name(OTHERS.to_owned()), at));
        if takes_weights && others.rate.is_none() {
            others.weight.get_or_insert(here(Whole((weights / OTHERS_PART).clamp(1, u64::from(u32::MAX))), at));
        }
    }
    fair(table, at);
}

/// The class of the file of this name, or a new one. Two subscribers of one name are two classes, which is reported where names are judged.
fn written_or_new<'t>(classes: &'t mut Vec<Block<ClassTable>>, name: At<Name>, written: &HashSet<Name>) -> &'t mut ClassTable {
    if written.contains(&name.value) {
        return class_named(classes, name);
    }
    let place = insert(classes, name);
    &mut classes[place].value
}

/// A subscriber in one direction, and what it is given.
struct Member<'a> {
    subscriber: &'a SubscriberTable,
    direction: Direction,
    plan: &'a At<Rate>,
    burst: u64,
    queues: u64,
    /// Its weight, if the scheduler of the policy has weights.
    weight: Option<u64>,
    /// The most bytes of a queue.
    limit: u64,
}

impl Member<'_> {
    /// Completes its class.
    fn class(&self, classes: &mut Vec<Block<ClassTable>>, written: &HashSet<Name>, at: &Span) {
        let class = written_or_new(classes, self.subscriber.name.clone(), written);
        class.rules.get_or_insert_with(|| Block { value: self.rules(), span: self.subscriber.addresses.span.clone() });
        class.shape.get_or_insert_with(|| self.shape());
        if class.rate.is_none() {
            class.weight = class.weight.take().or(self.weight());
        }
        self.fill(class, self.queues, at);
    }

    /// Completes its group, below which its tins are. Returns true if they have weights.
    fn group(&self, groups: &mut Vec<Block<GroupTable>>, written: &HashSet<Name>, at: &Span) -> bool {
        let name = &self.subscriber.name;
        let is_written = written.contains(&name.value);
        let present = if is_written { groups.iter().position(|group| group.name.value == name.value) } else { None };
        let place = present.unwrap_or_else(|| {
            groups.push(Block { value: GroupTable { name: name.clone(), ..GroupTable::default() }, span: name.span.clone() });
            groups.len() - 1
        });
        let group = &mut groups[place].value;
        let scheduler = group.scheduler.get_or_insert(here(SchedulerName(SchedulerKind::Wf2qPlus), at)).value.0;
        group.shape.get_or_insert_with(|| self.shape());
        if group.rate.is_none() {
            group.weight = group.weight.take().or(self.weight());
        }
        scheduler.accepts().contains(&Parameter::Weight)
    }

    /// Completes the class of one of its tins.
    fn tin(&self, tin: &Tin, takes_weights: bool, classes: &mut Vec<Block<ClassTable>>, written: &HashSet<Name>, at: &Span) {
        let SubscriberTable { name, addresses, .. } = self.subscriber;
        let own = At { value: Name(format!("{} {}", name.0, tin.name)), span: name.span.clone() };
        let class = written_or_new(classes, own, written);
        let rules = || self.rules().iter().flat_map(|rule| tin.rules(rule, &rule.span)).collect();
        class.rules.get_or_insert_with(|| Block { value: rules(), span: addresses.span.clone() });
        class.parent.get_or_insert(name.clone());
        if takes_weights && class.rate.is_none() {
            class.weight.get_or_insert(here(Whole(tin.weight), at));
        }
        self.fill(class, (self.queues / 4).max(QUEUES.1), at);
    }

    fn fill(&self, class: &mut ClassTable, queues: u64, at: &Span) {
        class.queues.get_or_insert(here(Whole(queues), at));
        class.limit.get_or_insert(here(Limit::Bytes(self.limit), at));
    }

    fn weight(&self) -> Option<At<Whole<1, { u32::MAX as u64 }>>> {
        Some(At { value: Whole(self.weight?), span: self.plan.span.clone() })
    }

    /// The rules of its packets.
    fn rules(&self) -> Vec<Block<RuleTable>> {
        let rule = |address: &At<Prefix>| {
            let end = Some(address.clone());
            let value = match self.direction {
                Direction::Down => RuleTable { destination: end, ..RuleTable::default() },
                Direction::Up => RuleTable { source: end, ..RuleTable::default() },
            };
            Block { value, span: address.span.clone() }
        };
        self.subscriber.addresses.iter().map(rule).collect()
    }

    fn shape(&self) -> Block<ShapeTable> {
        let (rate, span) = (self.plan.clone(), self.plan.span.clone());
        let burst = Some(here(Bytes(self.burst), &span));
        let value = ShapeTable { rate, burst, maximum_burst: None, peak_rate: None, delay_variation_tolerance: None, bucket: None };
        Block { value, span }
    }
}
