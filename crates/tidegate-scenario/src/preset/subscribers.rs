//! `kind = "subscribers"`: an access network. Each subscriber is a class with FQ-CoDel, shaped to its plan, and the link is shared in proportion to the plans.
//!
//! Packets of no subscriber are in the class `others`, which has a hundredth of the plans. All share one buffer, of which a queue has at most what its
//! plan sends in four intervals of CoDel.

use super::classes::{class_named, fair, here, insert, scheduler, takes_the_rest};
use super::size::{FAIR_BUFFER, longest_frame, size};
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Direction, PolicyTable, RuleTable, ShapeTable, SubscriberTable};
use crate::header::Prefix;
use crate::policy::overhead;
use crate::units::Limit;
use crate::value::{At, Block, Bytes, Name, Whole};
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
    let written: Vec<Name> = table.class.iter().map(|class| class.name.value.clone()).collect();
    let queues = (QUEUES_OF_ALL / subscribers.len() as u64).clamp(QUEUES.1, QUEUES.0);
    let queues = 1 << queues.ilog2();
    let mut weights = 0u64;
    for subscriber in &subscribers {
        let plan = if direction == Direction::Down { &subscriber.down } else { &subscriber.up };
        // Two subscribers of one name are two classes, which is reported where names are judged.
        let class = if written.contains(&subscriber.name) {
            class_named(&mut table.class, subscriber.name.clone())
        } else {
            let place = insert(&mut table.class, subscriber.name.clone());
            &mut table.class[place].value
        };
        class.rules.get_or_insert_with(|| rules(subscriber, direction));
        class.shape.get_or_insert(Block { value: shape(plan, burst), span: plan.span.clone() });
        class.queues.get_or_insert(here(Whole(queues), at));
        class.limit.get_or_insert(here(Limit::Bytes(size(plan.value, longest_frame, FAIR_BUFFER)), at));
        if takes_weights && class.rate.is_none() {
            let weight = plan.value.bits_per_second().div_ceil(1000);
            class.weight.get_or_insert(At { value: Whole(weight), span: plan.span.clone() });
            weights = weights.saturating_add(weight);
        }
    }
    if !takes_the_rest(&table.class) {
        let others = class_named(&mut table.class, here(Name(OTHERS.to_owned()), at));
        if takes_weights && others.rate.is_none() {
            others.weight.get_or_insert(here(Whole((weights / OTHERS_PART).clamp(1, u64::from(u32::MAX))), at));
        }
    }
    fair(table, at);
}

/// The rules of a subscriber's packets.
fn rules(subscriber: &SubscriberTable, direction: Direction) -> Block<Vec<Block<RuleTable>>> {
    let rule = |address: &At<Prefix>| {
        let end = Some(address.clone());
        let value = match direction {
            Direction::Down => RuleTable { destination: end, ..RuleTable::default() },
            Direction::Up => RuleTable { source: end, ..RuleTable::default() },
        };
        Block { value, span: address.span.clone() }
    };
    Block { value: subscriber.addresses.iter().map(rule).collect(), span: subscriber.addresses.span.clone() }
}

fn shape(plan: &At<Rate>, burst: u64) -> ShapeTable {
    let burst = Some(here(Bytes(burst), &plan.span));
    ShapeTable { rate: plan.clone(), burst, maximum_burst: None, peak_rate: None, delay_variation_tolerance: None, bucket: None }
}
