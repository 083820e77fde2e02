//! What a refused flow could have instead. Every offer was tried by the same proof before it is made.

use super::desk::{Desk, Trial, picoseconds};
use crate::header::DSCP_NAMES;
use crate::units::{print_duration, print_rate, print_size, print_time};
use serde_json::{Value, json};
use std::collections::HashSet;
use tidegate_core::classifier::{Header, Network};
use tidegate_core::units::{Duration, Rate};
use tidegate_sim::source::{Cbr, OnOff};
use tidegate_sim::{FlowSpec, LinkId, Source};

/// The most packets in the burst of a contract that is offered.
const MOST_PACKETS: u64 = 1024;

/// Values of the flow under which it is admitted, all else being as it asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offer {
    /// What it changes: "smallest delay", "largest rate", "largest burst", "another class".
    pub what: &'static str,
    /// The keys of the flow and their values as they are written: `promise.delay` and `"12 ms"`.
    pub set: Vec<(String, String)>,
    /// A remark: the classes that the flow reaches.
    pub remark: Option<String>,
    /// The bound on its delay then, in picoseconds.
    pub bound: u128,
}

impl Offer {
    /// The keys as they are written in the file of the flow.
    pub(super) fn text(&self) -> String {
        let set: Vec<String> = self.set.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let remark = self.remark.as_ref().map_or_else(String::new, |remark| format!(" ({remark})"));
        set.join(", ") + &remark
    }

    pub(super) fn json(&self) -> Value {
        let set: serde_json::Map<String, Value> =
            self.set.iter().map(|(key, value)| (key.clone(), value.trim_matches('"').into())).collect();
        json!({ "what": self.what, "set": set, "remark": self.remark, "delay_ps": picoseconds(self.bound) })
    }
}

/// Everything that is admitted of: a longer delay, a lower rate, a smaller burst, another class.
pub(super) fn offers(desk: &mut Desk, refused: &Trial) -> Vec<Offer> {
    let Some(simulation) = &refused.variant.simulation else { return Vec::new() };
    let Some(flow) = simulation.groups.last().and_then(|group| simulation.network.flows.get(group.first)) else { return Vec::new() };
    let mut asking = Asking { desk, name: refused.name(), refused, flow };
    let mut offers: Vec<Offer> = asking.smallest_delay().into_iter().collect();
    let (rate, burst) = (asking.largest_rate(), asking.largest_burst());
    let less = if rate.is_none() && burst.is_none() { asking.less_of_both() } else { None };
    offers.extend([rate, burst, less].into_iter().flatten());
    offers.extend(asking.other_classes());
    offers
}

struct Asking<'a> {
    desk: &'a mut Desk,
    name: &'a str,
    refused: &'a Trial,
    flow: &'a FlowSpec,
}

impl Asking<'_> {
    /// The bound if the flow is admitted with these keys.
    fn tried(&mut self, set: &[(&str, String)]) -> Option<u128> {
        let changes: Vec<String> = set.iter().map(|(key, value)| format!("flow.{}.{key}={value}", self.name)).collect();
        self.desk.admitted_with(&changes).map(|admission| admission.delay)
    }

    fn smallest_delay(&mut self) -> Option<Offer> {
        let bound = self.refused.proven().ok()?.delay;
        let value = format!("\"{}\"", print_time(bound));
        let bound = self.tried(&[("promise.delay", value.clone())])?;
        Some(Offer { what: "smallest delay", set: vec![("promise.delay".to_owned(), value)], remark: None, bound })
    }

    /// The largest value up to `most`, in steps of `step`, with which the flow is admitted; more of it makes every bound larger.
    fn largest(&mut self, most: u64, step: u64, keys: &dyn Fn(u64) -> Vec<(&'static str, String)>) -> Option<(u64, u128)> {
        let (mut low, mut high) = (0, most / step + 1);
        let mut found = None;
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match self.tried(&keys(middle * step)) {
                Some(bound) => (low, found) = (middle, Some((middle * step, bound))),
                None => high = middle,
            }
        }
        found
    }

    fn largest_rate(&mut self) -> Option<Offer> {
        let (asked, keys, shown): (Rate, &'static [&'static str], &str) = match (&self.flow.shaping, &self.flow.source) {
            (Some(contract), _) if self.desk.declares => (contract.rate, &["source.rate", "shape.rate"], "traffic.rate"),
            (Some(contract), _) => (contract.rate, &["shape.rate"], "shape.rate"),
            (None, Source::Cbr(Cbr { rate, .. })) => (*rate, &["source.rate"], "source.rate"),
            (None, Source::OnOff(OnOff { peak, .. })) => (*peak, &["source.peak"], "source.peak"),
            _ => return None,
        };
        let set = |rate: u64| keys.iter().map(|&key| (key, written_rate(rate))).collect();
        let (most, step) = (asked.bits_per_second(), step(asked.bits_per_second()));
        if let Some((rate, bound)) = self.largest(most, step, &set) {
            return Some(Offer { what: "largest rate", set: vec![(shown.to_owned(), written_rate(rate))], remark: None, bound });
        }
        // Of a source that is written with an interval no rate can be set.
        let (None, Source::Cbr(Cbr { length, .. })) = (&self.flow.shaping, &self.flow.source) else { return None };
        let nanoseconds = |rate: u64| (8_000_000_000 * u64::from(*length)).div_ceil(rate);
        let interval = |rate: u64| format!("\"{}\"", print_duration(Duration::from_picoseconds(1000 * nanoseconds(rate))));
        let (rate, bound) = self.largest(most, step, &|rate| vec![("source.interval", interval(rate))])?;
        Some(Offer { what: "largest rate", set: vec![("source.interval".to_owned(), interval(rate))], remark: None, bound })
    }

    /// The largest part, in percent, of both rate and burst of a contract.
    fn less_of_both(&mut self) -> Option<Offer> {
        let contract = self.flow.shaping?;
        let (rates, table): (&'static [&'static str], &str) =
            if self.desk.declares { (&["source.rate", "shape.rate"], "traffic") } else { (&["shape.rate"], "shape") };
        let part = |percent: u64| (contract.rate.bits_per_second() * percent / 100, u64::from(contract.burst) * percent / 100);
        let set = |percent: u64| {
            let (rate, burst) = part(percent);
            let rates = rates.iter().map(|&key| (key, written_rate(rate)));
            rates.chain([("shape.burst", written_size(burst))]).collect()
        };
        let (percent, bound) = self.largest(100, 1, &set)?;
        let (rate, burst) = part(percent);
        let set = vec![(format!("{table}.rate"), written_rate(rate)), (format!("{table}.burst"), written_size(burst))];
        Some(Offer { what: "less of both", set, remark: Some(format!("{percent} %")), bound })
    }

    fn largest_burst(&mut self) -> Option<Offer> {
        if let Some(contract) = self.flow.shaping {
            let shown = if self.desk.declares { "traffic.burst" } else { "shape.burst" };
            let asked = u64::from(contract.burst);
            let (burst, bound) = self.largest(asked, step(asked), &|burst| vec![("shape.burst", written_size(burst))])?;
            return Some(Offer { what: "largest burst", set: vec![(shown.to_owned(), written_size(burst))], remark: None, bound });
        }
        // Without a contract: the sender shapes to a tenth more than it sends on average, on the wire of its first link.
        let link = &self.refused.variant.simulation.as_ref()?.network.links[self.flow.path.first()?.0];
        let lengths = self.flow.source.lengths();
        let longest = lengths.iter().map(|(length, _)| length.ceil() as u32).max()?;
        let packet = u64::from(link.overhead().wire_length(longest));
        let mean = crate::source::wire_rate(&self.flow.source, link.overhead())? * 1.1;
        let digit = 10f64.powf((mean.log10().floor() - 1.0).max(0.0));
        let rate = Rate::new(((mean / digit).ceil() * digit) as u64).ok()?;
        let rate = format!("\"{}\"", print_rate(rate));
        let set = |burst: u64| vec![("shape.rate", rate.clone()), ("shape.burst", written_size(burst))];
        let (burst, bound) = self.largest(packet * MOST_PACKETS, packet, &set)?;
        let set = set(burst).into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        Some(Offer { what: "shape to", set, remark: Some("the delay counts from the shaper on".to_owned()), bound })
    }

    /// One code point for each other choice of classes along the path.
    fn other_classes(&mut self) -> Vec<Offer> {
        if matches!(self.flow.source, Source::Capture(_)) {
            return Vec::new();
        }
        let mut seen = HashSet::from([self.classes(&self.flow.header)]);
        let named = DSCP_NAMES.iter().map(|&(name, dscp)| (format!("\"{name}\""), dscp));
        let mut offers = Vec::new();
        for (written, dscp) in named.chain((0..64).map(|dscp| (dscp.to_string(), dscp))) {
            let mut header = self.flow.header;
            let (Network::V4 { transport, .. } | Network::V6 { transport, .. }) = &mut header.network else { return offers };
            transport.dscp = dscp;
            let classes = self.classes(&header);
            let remark = self.named(&classes);
            if !seen.insert(classes) {
                continue;
            }
            let mut set = vec![("header.dscp", written)];
            let mut bound = self.tried(&set);
            if bound.is_none() {
                // Perhaps with the delay that this class gives.
                let change = format!("flow.{}.header.dscp={}", self.name, set[0].1);
                let given = self.desk.try_with(&[change]).ok().and_then(|trial| trial.proven().ok());
                if let Some(given) = given {
                    set.push(("promise.delay", format!("\"{}\"", print_time(given.delay))));
                    bound = self.tried(&set);
                }
            }
            if let Some(bound) = bound {
                let set = set.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
                offers.push(Offer { what: "another class", set, remark: Some(remark), bound });
            }
        }
        offers
    }

    /// The class of a header at each port of the path.
    fn classes(&self, header: &Header) -> Vec<(LinkId, usize)> {
        let Some(simulation) = &self.refused.variant.simulation else { return Vec::new() };
        let class = |&link: &LinkId| {
            let classifier = &simulation.network.links[link.0].port.classifier;
            (link, classifier.class_of(classifier.classify(header)))
        };
        self.flow.path.iter().map(class).collect()
    }

    /// The names of classes, each once.
    fn named(&self, classes: &[(LinkId, usize)]) -> String {
        let Some(simulation) = &self.refused.variant.simulation else { return String::new() };
        let mut names: Vec<String> = Vec::new();
        for &(link, class) in classes {
            let name = format!("`{}`", self.refused.variant.policies[simulation.policy_of_link[link.0]].classes[class].name);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        format!("class {}", names.join(", "))
    }
}

/// A rate as it is written in a file. One that no file can have stays what it is, and is refused when it is tried.
fn written_rate(rate: u64) -> String {
    Rate::new(rate).map_or_else(|_| format!("\"{rate} bit/s\""), |rate| format!("\"{}\"", print_rate(rate)))
}

fn written_size(bytes: u64) -> String {
    format!("\"{}\"", print_size(bytes))
}

/// A step that leaves four significant digits.
fn step(value: u64) -> u64 {
    10u64.pow(value.checked_ilog10().unwrap_or(0).saturating_sub(3))
}
