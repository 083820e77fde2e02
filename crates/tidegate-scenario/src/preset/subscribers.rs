//! `kind = "subscribers"`: an access network. Each subscriber is a class with FQ-CoDel, shaped to its plan, and the link is shared in proportion to the plans.
//!
//! With `tins` a subscriber is a group of that kind, and each of its tins a class. A site is a group of its subscribers, shaped to its own rates.
//! Below a link with `drr` groups share by it, too, so that the whole tree has its faster form. Below any other they share by WF2Q+.
//!
//! Packets of no subscriber are in the class `others`, which has a hundredth of the plans. All share one buffer, of which a queue has at most what its
//! plan sends in four intervals of CoDel.

use super::classes::{class_named, fair, here, insert, scheduler, takes_the_rest};
use super::size::{FAIR_BUFFER, longest_frame, size};
use super::tins::Tin;
use crate::choice::SchedulerName;
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{ClassTable, Direction, GroupTable, PolicyTable, RuleTable, ShapeTable, SiteTable, SubscriberTable};
use crate::header::Prefix;
use crate::policy::overhead;
use crate::rows::RowEdits;
use crate::simulation::report_duplicates;
use crate::texts::Lists;
use crate::units::Limit;
use crate::value::{At, Block, Bytes, Name, Whole};
use bought::{Bought, Offers};
use std::collections::HashSet;
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::Parameter;
use tidegate_core::units::Rate;

mod bought;
pub mod list;

/// The most queues of a class, with which each of 20 flows at once has one to itself with 93 %, and the fewest.
const QUEUES: (u64, u64) = (256, 8);
/// The most queues that all classes are given, from 4,096 to 131,072 subscribers.
const QUEUES_OF_ALL: u64 = 1 << 20;
/// The burst of a shape in longest frames: enough to wait for its turn under WF2Q+ and to catch up.
const BURST: u64 = 4;
/// The class of packets that are no subscriber's.
const OTHERS: &str = "others";
/// The part of all weights that it has.
const OTHERS_PART: u64 = 100;

/// Writes what the file leaves open.
pub fn write(name: &str, table: &mut PolicyTable, at: &Span, lists: &mut Lists<'_>, findings: &mut Vec<Diagnostic>) {
    let Some(direction) = Direction::of(name) else {
        let finding = Diagnostic::error(at.clone(), format!("policy `{name}` has one direction, and subscribers have two"));
        findings.push(finding.help("give the policy `down` and `up`, like down = \"10 Gbit/s\", in place of `rate`"));
        return;
    };
    let before = findings.len();
    let mut subscribers = std::mem::take(&mut table.subscriber);
    if let Some(list) = &table.subscribers {
        match lists.read(&list.0) {
            Ok((text, base)) => {
                let edits = RowEdits::of(name.rsplit_once('.').map_or(name, |(policy, _)| policy), lists.edits);
                subscribers.extend(list::read(&text, base, &edits, findings));
                edits.report_others(&list.0, || list::names(&text), findings);
            }
            Err(problem) => {
                findings.push(list.error(problem).help("names are relative to the folder of the file that is read first"));
            }
        }
    }
    if subscribers.is_empty() && findings.len() == before {
        let finding = Diagnostic::error(at.clone(), format!("policy `{name}` has no subscriber"));
        let help =
            "add [[policy.NAME.subscriber]], with a name, addresses and the rates of the plan, or a list: subscribers = \"FILE.csv\"";
        findings.push(finding.help(help));
    }
    report_duplicates(table.plan.iter().map(|plan| &plan.name), "plan", findings);
    report_duplicates(table.site.iter().map(|site| &site.name), "site", findings);
    report_duplicates(subscribers.iter().map(|subscriber| &subscriber.name), "subscriber", findings);
    let (plans, sites) = (std::mem::take(&mut table.plan), std::mem::take(&mut table.site));
    let offers = Offers::new(&plans, &sites);
    let mut bought = Vec::with_capacity(subscribers.len());
    for subscriber in &subscribers {
        match offers.of(subscriber, direction) {
            Ok(found) => bought.push(found),
            Err(finding) => findings.push(finding),
        }
    }
    if findings.len() > before {
        return;
    }
    Writer::new(table, direction, subscribers.len(), at).write(&subscribers, &bought, &sites);
    fair(table, at);
}

/// Writes the classes and groups of one direction.
struct Writer<'a> {
    table: &'a mut PolicyTable,
    direction: Direction,
    at: &'a Span,
    longest_frame: u64,
    /// The burst of a shape, in bytes on the wire.
    burst: u64,
    /// The queues of a subscriber.
    queues: u64,
    /// The names of classes and groups that the file itself has.
    written: HashSet<Name>,
    /// True if the scheduler of the link has weights.
    takes_weights: bool,
    /// How the members of a group share, unless the file says.
    group_scheduler: SchedulerKind,
}

impl<'a> Writer<'a> {
    fn new(table: &'a mut PolicyTable, direction: Direction, subscribers: usize, at: &'a Span) -> Writer<'a> {
        let of_link = scheduler(table, subscribers + 1, at);
        let takes_weights = of_link.accepts().contains(&Parameter::Weight);
        let group_scheduler = if of_link == SchedulerKind::DeficitRoundRobin { of_link } else { SchedulerKind::Wf2qPlus };
        let longest_frame = longest_frame(table);
        // Mistakes in the overhead are reported where the policy is built.
        let wire = overhead(table, &mut Vec::new()).wire_length(u32::try_from(longest_frame).unwrap_or(u32::MAX / 64));
        let classes = table.class.iter().map(|class| class.name.value.clone());
        let written = classes.chain(table.group.iter().map(|group| group.name.value.clone())).collect();
        let queues = 1 << (QUEUES_OF_ALL / subscribers as u64).clamp(QUEUES.1, QUEUES.0).ilog2();
        Writer { table, direction, at, longest_frame, burst: u64::from(wire) * BURST, queues, written, takes_weights, group_scheduler }
    }

    fn write(&mut self, subscribers: &[Block<SubscriberTable>], bought: &[Bought<'_>], sites: &[Block<SiteTable>]) {
        let tins = self.table.tins.as_ref().map_or(&[][..], |tins| Tin::all(tins.value));
        self.table.class.reserve_exact(subscribers.len() * tins.len().max(1) + 1);
        self.table.group.reserve_exact(sites.len() + if tins.is_empty() { 0 } else { subscribers.len() });
        let mut weights = 0u64;
        let mut count = |weight: Option<u64>| weights = weights.saturating_add(weight.unwrap_or(0));
        let mut used = vec![false; sites.len()];
        bought.iter().filter_map(|bought| bought.site).for_each(|site| used[site] = true);
        let mut share_by_weight = vec![false; sites.len()];
        for (index, site) in sites.iter().enumerate().filter(|(index, _)| used[*index]) {
            let rate = self.direction.of_two(&site.down, &site.up);
            let node = Node { name: &site.name, rate, parent: None, weight: weight(rate, self.takes_weights) };
            count(node.weight);
            share_by_weight[index] = self.group(&node);
        }
        for (subscriber, Bought { rate, site }) in subscribers.iter().zip(bought) {
            let takes_weights = site.map_or(self.takes_weights, |site| share_by_weight[site]);
            let parent = site.map(|site| &sites[site].name);
            let node = Node { name: &subscriber.name, rate, parent, weight: weight(rate, takes_weights) };
            if parent.is_none() {
                count(node.weight);
            }
            match self.table.tins.as_ref().map(|tins| tins.value) {
                None => self.class(&node, subscriber),
                Some(tins) => {
                    let takes_weights = self.group(&node);
                    Tin::all(tins).iter().for_each(|tin| self.tin(tin, &node, subscriber, takes_weights));
                }
            }
        }
        if !takes_the_rest(&self.table.class) {
            let others = class_named(&mut self.table.class, here(Name(OTHERS.to_owned()), self.at));
            if self.takes_weights && others.rate.is_none() {
                others.weight.get_or_insert(here(Whole((weights / OTHERS_PART).clamp(1, u64::from(u32::MAX))), self.at));
            }
        }
    }

    /// The class of the file of this name, or a new one.
    fn class_of(&mut self, name: At<Name>) -> &mut ClassTable {
        let classes = &mut self.table.class;
        if self.written.contains(&name.value) {
            return class_named(classes, name);
        }
        let place = insert(classes, name);
        &mut classes[place].value
    }

    /// Completes the class of a subscriber.
    fn class(&mut self, node: &Node<'_>, subscriber: &SubscriberTable) {
        let (rules, shape, limit) = (self.rules(subscriber), self.shape(node.rate), self.limit(node));
        let (queues, at) = (self.queues, self.at);
        let class = self.class_of(node.name.clone());
        class.rules.get_or_insert_with(|| Block { value: rules, span: subscriber.addresses.span.clone() });
        class.shape.get_or_insert(shape);
        class.parent = class.parent.take().or(node.parent.cloned());
        if class.rate.is_none() {
            class.weight = class.weight.take().or(node.weight());
        }
        class.queues.get_or_insert(here(Whole(queues), at));
        class.limit.get_or_insert(here(limit, at));
    }

    /// Completes the group of a site, or of a subscriber with tins. Returns true if what is below it has weights.
    fn group(&mut self, node: &Node<'_>) -> bool {
        let (shape, at, name, kind) = (self.shape(node.rate), self.at, node.name, self.group_scheduler);
        let groups = &mut self.table.group;
        let is_written = self.written.contains(&name.value);
        let present = if is_written { groups.iter().position(|group| group.name.value == name.value) } else { None };
        let place = present.unwrap_or_else(|| {
            groups.push(Block { value: GroupTable { name: name.clone(), ..GroupTable::default() }, span: name.span.clone() });
            groups.len() - 1
        });
        let group = &mut groups[place].value;
        let scheduler = group.scheduler.get_or_insert(here(SchedulerName(kind), at)).value.0;
        group.shape.get_or_insert(shape);
        group.parent = group.parent.take().or(node.parent.cloned());
        if group.rate.is_none() {
            group.weight = group.weight.take().or(node.weight());
        }
        scheduler.accepts().contains(&Parameter::Weight)
    }

    /// Completes the class of one of the tins of a subscriber.
    fn tin(&mut self, tin: &Tin, node: &Node<'_>, subscriber: &SubscriberTable, takes_weights: bool) {
        let own = At { value: Name(format!("{} {}", node.name.0, tin.name)), span: node.name.span.clone() };
        let rules = self.rules(subscriber).iter().flat_map(|rule| tin.rules(rule, &rule.span)).collect();
        let (limit, queues, at) = (self.limit(node), (self.queues / 4).max(QUEUES.1), self.at);
        let class = self.class_of(own);
        class.rules.get_or_insert_with(|| Block { value: rules, span: subscriber.addresses.span.clone() });
        class.parent.get_or_insert(node.name.clone());
        if takes_weights && class.rate.is_none() {
            class.weight.get_or_insert(here(Whole(tin.weight), at));
        }
        class.queues.get_or_insert(here(Whole(queues), at));
        class.limit.get_or_insert(here(limit, at));
    }

    /// The most bytes of a queue.
    fn limit(&self, node: &Node<'_>) -> Limit {
        Limit::Bytes(size(node.rate.value, self.longest_frame, FAIR_BUFFER))
    }

    /// The rules of the packets of a subscriber.
    fn rules(&self, subscriber: &SubscriberTable) -> Vec<Block<RuleTable>> {
        let rule = |address: &At<Prefix>| {
            let end = Some(address.clone());
            let value = match self.direction {
                Direction::Down => RuleTable { destination: end, ..RuleTable::default() },
                Direction::Up => RuleTable { source: end, ..RuleTable::default() },
            };
            Block { value, span: address.span.clone() }
        };
        subscriber.addresses.iter().map(rule).collect()
    }

    fn shape(&self, rate: &At<Rate>) -> Block<ShapeTable> {
        let (rate, span) = (rate.clone(), rate.span.clone());
        let burst = Some(here(Bytes(self.burst), &span));
        let value = ShapeTable { rate, burst, maximum_burst: None, peak_rate: None, delay_variation_tolerance: None, bucket: None };
        Block { value, span }
    }
}

/// A subscriber or a site in one direction.
struct Node<'a> {
    name: &'a At<Name>,
    rate: &'a At<Rate>,
    parent: Option<&'a At<Name>>,
    /// Its weight, if the scheduler above has weights.
    weight: Option<u64>,
}

impl Node<'_> {
    fn weight(&self) -> Option<At<Whole<1, { u32::MAX as u64 }>>> {
        Some(At { value: Whole(self.weight?), span: self.rate.span.clone() })
    }
}

/// The weight of a member that is shaped to `rate`, if it has one.
fn weight(rate: &At<Rate>, takes_weights: bool) -> Option<u64> {
    takes_weights.then(|| rate.value.bits_per_second().div_ceil(1000))
}
