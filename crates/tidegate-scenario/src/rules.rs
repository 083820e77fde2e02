//! Builds the classifier from the rules of classes.

use crate::diagnostic::Diagnostic;
use crate::document::{ClassTable, RuleTable};
use crate::header;
use crate::tree::Leaf;
use crate::value::{At, Block};
use std::net::IpAddr;
use tidegate_core::classifier::{ClassRules, Classifier, ClassifierError, CodePoints, PortRange, Prefix, Rule, RuleProblem, Spread};

/// The seed of the hash that spreads packets over queues. It is fixed, so the same file gives the same results.
const HASH_SEED: u64 = 0x7469_6465_6761_7465;

/// Builds the classifier of the classes of a tree, which may have one that is added.
pub(crate) fn classifier(tables: &[Block<ClassTable>], leaves: &[Leaf], findings: &mut Vec<Diagnostic>) -> Option<Classifier> {
    let rules = |class: usize| tables.get(class).and_then(|table| table.rules.as_ref());
    let name = |class: usize| &leaves[class].given.name;
    let of_class = |(class, leaf): (usize, &Leaf)| {
        let rules = rules(class).map_or(Vec::new(), |rules| rules.value.iter().map(|rule| convert(rule)).collect());
        ClassRules { name: leaf.given.name.clone(), queues: leaf.queues, rules }
    };
    let error = match Classifier::of(leaves.iter().enumerate().map(of_class), HASH_SEED) {
        Ok(classifier) => return Some(spread(classifier, tables)),
        Err(error) => error,
    };
    let place = |class: usize, rule: usize| rules(class).and_then(|rules| rules.value.get(rule));
    findings.push(match error {
        ClassifierError::Rule { class, rule, problem } => {
            let table = place(class, rule)?;
            Diagnostic::error(at_fault(table, problem), format!("a rule of class `{}`: {problem}", name(class)))
        }
        ClassifierError::Shadowed { class, rule, by_class, by_rule } => {
            let (Some(table), Some(earlier)) = (place(class, rule), place(by_class, by_rule)) else { return None };
            let only = rules(class).is_some_and(|rules| rules.value.len() == 1);
            let problem = if only && class != by_class {
                format!("class `{}` can never be served: whatever it matches, class `{}` takes first", name(class), name(by_class))
            } else {
                format!(
                    "this rule of class `{}` can never match: an earlier rule of class `{}` takes all of it",
                    name(class),
                    name(by_class)
                )
            };
            let finding = table.error(problem).context(earlier.span.clone(), "this rule comes first");
            finding.help("put the more specific rule first, or remove the one that never matches")
        }
        other => Diagnostic::error(tables.first()?.span.clone(), other.to_string()),
    });
    None
}

/// The same with each class spread over its queues as its table says. What does not fit has been reported.
fn spread(mut classifier: Classifier, tables: &[Block<ClassTable>]) -> Classifier {
    for (class, table) in tables.iter().enumerate().filter(|(_, table)| table.spread() != Spread::Flow) {
        if classifier.set_spread(class, table.spread()).is_err() {
            unreachable!("classes by code point have two queues");
        }
    }
    classifier
}

/// The rule in the core's form.
fn convert(table: &RuleTable) -> Rule {
    fn number<const MIN: u64, const MAX: u64, T: TryFrom<u64>>(at: &Option<Box<At<crate::value::Whole<MIN, MAX>>>>) -> Option<T> {
        at.as_ref().and_then(|at| T::try_from(at.value.0).ok())
    }
    Rule {
        ethernet_type: table.ethernet_type.as_ref().map(|at| at.value.0),
        vlan: number(&table.vlan),
        vlan_priority: number(&table.vlan_priority),
        mpls_label: number(&table.mpls_label),
        mpls_traffic_class: number(&table.mpls_traffic_class),
        source: table.source.as_ref().map(|at| prefix(at.value)),
        destination: table.destination.as_ref().map(|at| prefix(at.value)),
        dscp: table.dscp.as_ref().map(|at| CodePoints::one(at.value.0)),
        ecn: table.ecn.as_ref().map(|at| at.value.0),
        protocol: table.protocol.as_ref().map(|at| at.value.0),
        source_port: table.source_port.as_ref().map(|at| ports(at.value)),
        destination_port: table.destination_port.as_ref().map(|at| ports(at.value)),
        fragment: table.fragment.as_ref().map(|at| at.value),
        length: table.length.as_ref().map(|at| at.value),
        source_mac: table.source_mac.as_ref().map(|at| at.value),
        destination_mac: table.destination_mac.as_ref().map(|at| at.value),
        inner_vlan: number(&table.inner_vlan),
        flow_label: number(&table.flow_label),
        tcp_flags: table.tcp_flags.as_ref().map(|at| at.value),
        not: table.not.iter().flat_map(|rules| rules.value.iter().map(|rule| convert(rule))).collect(),
    }
}

fn prefix(prefix: header::Prefix) -> Prefix {
    match prefix.address {
        IpAddr::V4(address) => Prefix::V4 { address: address.to_bits(), length: prefix.length },
        IpAddr::V6(address) => Prefix::V6 { address: address.to_bits(), length: prefix.length },
    }
}

fn ports(range: header::PortRange) -> PortRange {
    PortRange { first: range.first, last: range.last }
}

fn at_fault(table: &Block<RuleTable>, problem: RuleProblem) -> crate::diagnostic::Span {
    let found = match problem {
        RuleProblem::MixedVersions => table.destination.as_ref().map(|at| at.span.clone()),
        RuleProblem::ProtocolWithoutPorts | RuleProblem::FlagsWithoutTcp => table.protocol.as_ref().map(|at| at.span.clone()),
        RuleProblem::FlowLabelOfV4 => table.flow_label.as_ref().map(|at| at.span.clone()),
        RuleProblem::NestedException | RuleProblem::NothingLeft => table.not.as_ref().map(|block| block.span.clone()),
        _ => None,
    };
    // The rule itself, or one of its exceptions.
    found.or_else(|| table.not.as_ref().map(|block| block.span.clone())).unwrap_or(table.span.clone())
}

/// Reports rules without conditions and lists without rules.
pub(crate) fn judge_presence(tables: &[Block<ClassTable>], findings: &mut Vec<Diagnostic>) {
    for (index, table) in tables.iter().enumerate() {
        let is_last = index + 1 == tables.len();
        match &table.rules {
            None if !is_last => {
                let problem = format!(
                    "class `{}` has no `match` and is not the last: it would take every packet left, and `{}` would never be served",
                    table.name.0,
                    tables[index + 1].name.0
                );
                findings.push(table.name.error(problem).help("give it rules, or move it to the end"));
            }
            Some(rules) if rules.value.is_empty() => {
                let problem = format!("class `{}` can never be served: its `match` is empty", table.name.0);
                let help = if is_last {
                    "leave `match` out to take whatever no other class takes"
                } else {
                    "list the packets that belong to it, like match = [{ dscp = \"ef\" }]"
                };
                findings.push(rules.error(problem).help(help));
            }
            Some(rules) => {
                for rule in rules.value.iter().filter(|rule| convert(rule) == Rule::default()) {
                    let finding = rule.error("a rule without conditions matches every packet");
                    findings.push(finding.help("give it a condition, or leave `match` out of the last class to take whatever is left"));
                }
                for not in rules.value.iter().filter_map(|rule| rule.not.as_ref()).filter(|not| not.value.is_empty()) {
                    findings.push(not.error("`not` has no rule, so it takes nothing out").help("give it a rule, or leave it out"));
                }
            }
            None => {}
        }
    }
}
