//! Reads a flow that asks to be admitted: one flow as a `[[flow]]` table is written, or with its declared `traffic` in place of a source.
//!
//! Declared traffic is a contract. The flow becomes a source that nothing limits behind a sender that shapes to the contract, so that the
//! contract alone bounds it.

use crate::diagnostic::{Diagnostic, Span};
use crate::overrides::shift;
use crate::schema::schema_of;
use crate::structure;
use crate::value::{At, Bytes};
use schemars::JsonSchema;
use serde_json::Value;
use std::sync::OnceLock;
use tidegate_core::units::Rate;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The traffic that a flow declares: a token bucket, in bytes on the wire of the first link of its path.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "it is read from the tree, and stands here for the schema")]
struct TrafficTable {
    /// The rate that is not exceeded in the long run.
    rate: At<Rate>,
    /// The most bytes that come ahead of that rate after a silence.
    burst: At<Bytes>,
    /// The rate at which a burst comes.
    peak: Option<At<Rate>>,
    /// The size of every packet, as a frame without overhead.
    packet: At<Bytes>,
}

/// The keys of `traffic`, and those of the flow that they become.
const TRAFFIC_KEYS: [(&str, &[&str]); 4] =
    [("rate", &["source.rate", "shape.rate"]), ("burst", &["shape.burst"]), ("peak", &["shape.peak_rate"]), ("packet", &["source.packet"])];

fn traffic_schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(schema_of::<TrafficTable>)
}

/// The flow of a text whose places begin at `base`. `None` if it reports an error.
pub(crate) fn added_flow<'i>(text: &'i str, base: usize, findings: &mut Vec<Diagnostic>) -> Option<Spanned<DeValue<'i>>> {
    let root = match DeTable::parse(text) {
        Ok(root) => root.into_inner(),
        Err(error) => {
            let span = error.span().unwrap_or(0..0);
            let problem = format!("this is not TOML: {}", error.message().trim_end());
            findings.push(Diagnostic::error(span.start + base..span.end + base, problem));
            return None;
        }
    };
    let flow = match root.get("flow").cloned() {
        None => Spanned::new(0..0, DeValue::Table(root)),
        Some(flow) => {
            if let Some((key, _)) = root.iter().find(|(key, _)| key.get_ref().as_ref() != "flow") {
                let span = key.span().start + base..key.span().end + base;
                let finding = Diagnostic::error(span, format!("`{}` is not part of a flow", key.get_ref()));
                findings.push(finding.help("the file of a flow has one [[flow]] and nothing else"));
                return None;
            }
            match flow.get_ref() {
                DeValue::Array(flows) if flows.len() == 1 => flows[0].clone(),
                DeValue::Array(flows) => {
                    let at = flows.get(1).map_or(flow.span(), Spanned::span);
                    let finding = Diagnostic::error(at.start + base..at.end + base, format!("the file has {} flows", flows.len()));
                    findings.push(finding.help("ask for one at a time; with `count` it stands for several equal ones"));
                    return None;
                }
                _ => flow,
            }
        }
    };
    let mut flow = shift(flow, base);
    let span = flow.span();
    let DeValue::Table(table) = flow.get_mut() else {
        let finding = Diagnostic::error(span, "`flow` is not a table");
        findings.push(finding.help("write [[flow]] and its keys below it"));
        return None;
    };
    let promised = table.get("promise").and_then(|promise| promise.get_ref().get("delay"));
    if promised.is_none() {
        let at = table.get("promise").or_else(|| table.get("name")).map_or(span.clone(), Spanned::span);
        let finding = Diagnostic::error(at, "the flow asks for no delay, and delays are what admission proves");
        findings.push(finding.help("add promise = { delay = \"20 ms\" }"));
        return None;
    }
    if table.contains_key("traffic") {
        declare(table, span, findings)?;
    }
    Some(flow)
}

/// The name of the flow in this text, if it declares its traffic.
pub(crate) fn declaring(text: &str) -> Option<String> {
    let root = DeTable::parse(text).ok()?.into_inner();
    let flow = match root.get("flow") {
        Some(flow) => flow.get_ref().get(0).unwrap_or(flow).get_ref().as_table()?,
        None => &root,
    };
    flow.get("traffic")?;
    Some(flow.get("name")?.get_ref().as_str()?.to_owned())
}

/// Overrides with those of the declared `traffic` of this flow as what it becomes.
pub(crate) fn as_contract(overrides: &[String], flow: &str) -> Vec<String> {
    let prefix = format!("flow.{flow}.traffic.");
    let become_contract = |change: &String| {
        let found = change.trim_start().strip_prefix(&prefix).and_then(|rest| {
            let (key, value) = rest.split_once('=')?;
            let (_, becomes) = TRAFFIC_KEYS.iter().find(|known| known.0 == key.trim())?;
            Some(becomes.iter().map(|key| format!("flow.{flow}.{key}={value}")).collect())
        });
        found.unwrap_or_else(|| vec![change.clone()])
    };
    overrides.iter().flat_map(become_contract).collect()
}

/// Replaces the declared traffic by a source and a shaping sender.
fn declare(table: &mut DeTable<'_>, span: Span, findings: &mut Vec<Diagnostic>) -> Option<()> {
    for other in ["source", "shape"] {
        if let Some((key, _)) = table.get_key_value(other) {
            let finding = Diagnostic::error(key.span(), format!("the flow has both `{other}` and `traffic`"));
            let traffic = table.get("traffic").map_or(span, Spanned::span);
            findings.push(finding.context(traffic, "declared here").help("keep one of them"));
            return None;
        }
    }
    let traffic = table.remove("traffic")?;
    let before = findings.len();
    let place = traffic.span();
    let DeValue::Table(keys) = traffic.into_inner() else {
        let finding = Diagnostic::error(place, "`traffic` is not a table");
        findings.push(finding.help("write traffic = { rate = \"1 Mbit/s\", burst = \"15 kB\", packet = \"1000 B\" }"));
        return None;
    };
    structure::judge_below(&keys, place.clone(), traffic_schema(), "traffic", findings);
    if findings.len() > before {
        return None;
    }
    let text = |key: &'static str| Spanned::new(place.clone(), key.into());
    let mut source = DeTable::new();
    source.insert(text("kind"), Spanned::new(place.clone(), DeValue::String("poisson".into())));
    let mut shape = DeTable::new();
    // What is declared is exact: the sender's clock adds nothing to it.
    shape.insert(text("delay_variation_tolerance"), Spanned::new(place.clone(), DeValue::String("0 s".into())));
    for (key, becomes) in TRAFFIC_KEYS {
        let Some((written, value)) = keys.get_key_value(key) else { continue };
        for (part, name) in becomes.iter().filter_map(|key| key.split_once('.')) {
            let name = Spanned::new(written.span(), name.into());
            if part == "source" {
                source.insert(name, value.clone())
            } else {
                shape.insert(name, value.clone())
            };
        }
    }
    table.insert(text("source"), Spanned::new(place.clone(), DeValue::Table(source)));
    table.insert(text("shape"), Spanned::new(place.clone(), DeValue::Table(shape)));
    Some(())
}

/// Adds a flow behind those of the file.
pub(crate) fn add<'i>(root: &mut DeTable<'i>, flow: Spanned<DeValue<'i>>) {
    if let Some(DeValue::Array(flows)) = root.get_mut("flow").map(Spanned::get_mut) {
        flows.push(flow);
    } else if !root.contains_key("flow") {
        let span = flow.span();
        root.insert(Spanned::new(span.clone(), "flow".into()), Spanned::new(span, DeValue::Array([flow].into_iter().collect())));
    }
}
