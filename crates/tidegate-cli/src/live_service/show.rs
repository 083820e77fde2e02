//! What a running bridge shows: classes, queues, flows, rules, and what a packet meets.

use super::{Sample, Service, amount, bad, lock, refused};
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};
use tidegate_control::Refusal;
use tidegate_control::protocol::{
    Amount, AskedClasses, AskedWhy, ClassStatus, Classes, DelayQuantiles, DirectionClasses, DirectionFlows, DirectionQueues,
    DirectionRules, FlowStatus, Flows, Met, QueueStatus, Queues, RuleStatus, Rules, Why,
};
use tidegate_core::classifier::{Header, Network, Transport};
use tidegate_core::packet::DropReason;
use tidegate_core::units::Duration as Time;
use tidegate_live::{ClassDelays, ClassVolumes};
use tidegate_scenario::policy::{Class, Policy};
use tidegate_scenario::{explain, matches_pattern};
use tidegate_statistics::{Delays, RecentDelays, Window};
use tidegate_wire::{LinkType, parse};

impl Service {
    /// Keeps what classes have sent, once a second.
    pub(super) fn sample(&self) {
        const INTERVAL: Duration = Duration::from_secs(1);
        if lock(&self.samples)[1].at.elapsed() < INTERVAL {
            return;
        }
        let sent = |index| self.control.sent_bytes(index);
        if let Ok(sent) = self.directions().map(sent).collect() {
            let mut samples = lock(&self.samples);
            samples.swap(0, 1);
            samples[1] = Sample { at: Instant::now(), sent };
        }
    }

    /// What classes got.
    pub(super) fn classes(&self, asked: &AskedClasses) -> Result<Classes, Refusal> {
        let [older, newer] = lock(&self.samples).clone();
        let sample = if newer.at.elapsed() < Duration::from_millis(500) { older } else { newer };
        let mut directions = Vec::new();
        let mut over = 0.0;
        for index in self.directions() {
            let now = Instant::now();
            let classes = self.control.classes(index).map_err(refused)?;
            over = (now - sample.at).as_secs_f64().max(1e-3);
            let rate = |(index_of_class, class): (usize, &ClassVolumes)| {
                let before = sample.sent[index].get(index_of_class).copied().unwrap_or(0);
                class.sent.bytes.saturating_sub(before) as f64 * 8.0 / over
            };
            let mut chosen: Vec<(usize, f64)> = classes
                .iter()
                .enumerate()
                .filter(|(_, class)| wanted(asked, &class.name))
                .map(|(number, class)| (number, rate((number, class))))
                .collect();
            let left_out = chosen.len().saturating_sub(asked.most.unwrap_or(usize::MAX));
            if left_out > 0 {
                chosen.sort_by(|one, other| other.1.total_cmp(&one.1));
                chosen.truncate(chosen.len() - left_out);
            }
            let delays = self.control.delays(index, chosen.iter().map(|(number, _)| *number).collect()).map_err(refused)?;
            let state = lock(&self.state);
            let policy = &state.running.policies[index];
            let present: HashMap<&str, usize> = policy.classes.iter().map(|class| &*class.name).zip(0..).collect();
            let status = |((number, rate_bps), delays): (&(usize, f64), &ClassDelays)| {
                let class = &classes[*number];
                let place = present.get(&*class.name);
                ClassStatus {
                    name: class.name.to_string(),
                    present: place.is_some(),
                    rate_bps: *rate_bps,
                    offered: amount(class.offered),
                    sent: amount(class.sent),
                    queued: amount(class.queued()),
                    dropped: dropped(class),
                    recoloured: amount(class.marked),
                    ecn_marked: class.ecn_marked.packets,
                    groups: place.map_or_else(Vec::new, |&place| groups(policy, &policy.classes[place])),
                    delay: quantiles(&delays.all),
                    delay_second: recent(delays, Window::Second),
                    delay_minute: recent(delays, Window::Minute),
                    guarantee: place
                        .map_or_else(|| "the policy has it no more".to_owned(), |&place| policy.classes[place].guarantee.to_string()),
                }
            };
            let [from, to] = self.way(index);
            directions.push(DirectionClasses { from, to, classes: chosen.iter().zip(&delays).map(status).collect(), left_out });
        }
        Ok(Classes { rates_over_s: over, directions })
    }

    /// What the queues of classes hold.
    pub(super) fn queues(&self, asked: &AskedClasses) -> Result<Queues, Refusal> {
        let mut directions = Vec::new();
        for index in self.directions() {
            let volumes = self.control.classes(index).map_err(refused)?;
            let volumes: HashMap<&str, &ClassVolumes> = volumes.iter().map(|class| (&*class.name, class)).collect();
            // No change comes between, by which classes would have other numbers.
            let state = lock(&self.state);
            let policy = &state.running.policies[index];
            let queued = |place: usize| volumes.get(&*policy.classes[place].name).map_or(0, |class| class.queued().bytes);
            let mut places: Vec<usize> = (0..policy.classes.len()).filter(|&place| wanted(asked, &policy.classes[place].name)).collect();
            places.sort_by_key(|&place| std::cmp::Reverse(queued(place)));
            let left_out = cut(&mut places, asked);
            let queues = self.control.queues(index, places.clone()).map_err(refused)?;
            let classes = places.iter().zip(queues).map(|(&place, queues)| {
                let class = &policy.classes[place];
                let volumes = volumes.get(&*class.name);
                QueueStatus {
                    class: class.name.to_string(),
                    queues: queues.queues,
                    backlogged: queues.backlogged,
                    packets: queues.packets,
                    bytes: queues.bytes,
                    longest_packets: queues.longest_packets,
                    longest_bytes: queues.longest_bytes,
                    oldest_s: queues.oldest.map(seconds),
                    signalling: queues.signalling,
                    probability: queues.probability.map(|probability| probability as f64 / 2f64.powi(32)),
                    ecn_marked: volumes.map_or(0, |class| class.ecn_marked.packets),
                    congestion_dropped: volumes.map_or(0, |class| class.dropped[DropReason::Congestion as usize].packets),
                    limits: explain::queue_limits(policy, class),
                }
            });
            let [from, to] = self.way(index);
            directions.push(DirectionQueues { from, to, classes: classes.collect(), left_out });
        }
        Ok(Queues { directions })
    }

    /// The flows that sent most.
    pub(super) fn flows(&self, asked: &AskedClasses) -> Result<Flows, Refusal> {
        let mut directions = Vec::new();
        for index in self.directions() {
            let talkers = self.control.talkers(index).map_err(refused)?;
            let names = self.control.classes(index).map_err(refused)?;
            let over_s = seconds(talkers.over);
            let mut flows = Vec::new();
            for heavy in talkers.flows.heaviest() {
                let class = names.get(heavy.value as usize).map_or(String::new(), |class| class.name.to_string());
                if !wanted(asked, &class) {
                    continue;
                }
                let addresses = heavy.key.addresses();
                let [source, destination] = [0, 1].map(|end: usize| addresses.map(|both| both[end].to_string()));
                flows.push(FlowStatus {
                    source,
                    destination,
                    protocol: addresses.map(|_| heavy.key.protocol()),
                    source_port: heavy.key.ports().map(|ports| ports.0),
                    destination_port: heavy.key.ports().map(|ports| ports.1),
                    ethernet_type: addresses.is_none().then(|| heavy.key.ethernet_type()),
                    class,
                    bytes: heavy.count,
                    error_bytes: heavy.error,
                    rate_bps: heavy.count as f64 * 8.0 / over_s.max(1e-3),
                });
            }
            cut(&mut flows, asked);
            let [from, to] = self.way(index);
            let (bytes, error_bytes) = (talkers.flows.total(), talkers.flows.error());
            directions.push(DirectionFlows { from, to, over_s, bytes, error_bytes, flows });
        }
        Ok(Flows { directions })
    }

    /// The rules and what they matched.
    pub(super) fn rules(&self, asked: &AskedClasses) -> Result<Rules, Refusal> {
        let mut directions = Vec::new();
        for index in self.directions() {
            let state = lock(&self.state);
            let hits = self.control.hits(index).map_err(refused)?;
            let policy = &state.running.policies[index];
            let status = |((class, rule), hits): ((usize, String), &u64)| RuleStatus {
                class: policy.classes[class].name.to_string(),
                rule,
                hits: *hits,
            };
            let mut rules: Vec<RuleStatus> =
                explain::rules(policy).zip(&hits).map(status).filter(|rule| wanted(asked, &rule.class)).collect();
            let left_out = cut(&mut rules, asked);
            let [from, to] = self.way(index);
            directions.push(DirectionRules { from, to, rules, left_out, unmatched: hits.last().copied().unwrap_or(0) });
        }
        Ok(Rules { directions })
    }

    /// What packets of an address, or a frame, meet.
    pub(super) fn why(&self, asked: &AskedWhy) -> Result<Why, Refusal> {
        let headers = headers(asked)?;
        let policies = lock(&self.state).running.policies.clone();
        let mut packets = Vec::new();
        for (index, policy) in policies.iter().enumerate() {
            let classes = self.control.classes(index).map_err(refused)?;
            for header in &headers {
                let found = explain::met(policy, header);
                let class = &policy.classes[found.class];
                let number = classes.iter().position(|volumes| *volumes.name == *class.name);
                let delays = self.control.delays(index, number.into_iter().collect()).map_err(refused)?;
                let [from, to] = self.way(index);
                packets.push(Met {
                    from,
                    to,
                    packet: explain::print_header(header),
                    class: class.name.to_string(),
                    rule: found.rule,
                    queue: [found.queue, class.queues],
                    groups: found.groups,
                    contract: found.text.split(", ").map(str::to_owned).collect(),
                    queued: number.map_or_else(Amount::default, |number| amount(classes[number].queued())),
                    dropped: number.map_or_else(BTreeMap::new, |number| dropped(&classes[number])),
                    delay: delays.first().and_then(|delays| quantiles(&delays.all)),
                });
            }
        }
        Ok(Why { packets })
    }
}

/// The names of the groups above a class, from the link down.
fn groups(policy: &Policy, class: &Class) -> Vec<String> {
    let mut names = Vec::new();
    let mut above = class.parent;
    while let Some(group) = above {
        names.push(policy.groups[group].name.clone());
        above = policy.groups[group].parent;
    }
    names.reverse();
    names
}

/// True if a class is asked for.
fn wanted(asked: &AskedClasses, name: &str) -> bool {
    asked.names.as_deref().is_none_or(|pattern| matches_pattern(pattern, name))
}

/// Cuts a list as asked, and says how many were left out.
fn cut<T>(list: &mut Vec<T>, asked: &AskedClasses) -> usize {
    let left_out = list.len().saturating_sub(asked.most.unwrap_or(usize::MAX));
    list.truncate(list.len() - left_out);
    left_out
}

fn seconds(time: Time) -> f64 {
    time.picoseconds() as f64 / 1e12
}

fn quantiles(delays: &Delays) -> Option<DelayQuantiles> {
    Some(DelayQuantiles { p50_s: delays.quantile_seconds(0.5)?, p99_s: delays.quantile_seconds(0.99)?, max_s: delays.maximum_seconds()? })
}

fn recent(delays: &ClassDelays, window: Window) -> Option<DelayQuantiles> {
    let recent: &RecentDelays = delays.recent.as_deref()?;
    let quantile = |part| recent.quantile_seconds(window, part);
    Some(DelayQuantiles { p50_s: quantile(0.5)?, p99_s: quantile(0.99)?, max_s: recent.maximum_seconds(window)? })
}

fn dropped(class: &ClassVolumes) -> BTreeMap<String, Amount> {
    let by_reason = DropReason::ALL.iter().zip(class.dropped).filter(|(_, volume)| volume.packets > 0);
    by_reason.map(|(reason, volume)| (reason.name().to_owned(), amount(volume))).collect()
}

/// The length of Ethernet's longest frame without a tag, in bytes.
const LONGEST_USUAL_FRAME: u32 = 1514;

/// The headers that are asked about.
fn headers(asked: &AskedWhy) -> Result<Vec<Header>, Refusal> {
    if let Some(frame) = &asked.frame {
        let digits: String = frame.chars().filter(|character| !character.is_whitespace() && *character != ':').collect();
        let byte = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
        let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
        let bytes = bytes.filter(|bytes| digits.len().is_multiple_of(2) && bytes.len() >= 14);
        let bytes =
            bytes.ok_or_else(|| bad("error: a frame is at least 14 bytes, two hexadecimal digits each, from its Ethernet header on"))?;
        return Ok(vec![parse(LinkType::Ethernet, &bytes)]);
    }
    let Some(address) = &asked.address else { return Err(bad("error: ask about an address or a frame")) };
    let address: std::net::IpAddr =
        address.parse().map_err(|_| bad(format!("error: `{address}` is no IP address, such as 10.0.0.7 or 2001:db8::7")))?;
    let transport = |ports: (u16, u16)| {
        let protocol = asked.protocol.unwrap_or(6);
        let dscp = asked.dscp.unwrap_or(0) & 63;
        let ports = Transport::has_ports(protocol).then_some(ports);
        let tcp_flags = (protocol == Transport::TCP).then_some(Transport::ACK);
        Transport { dscp, protocol, ports, tcp_flags, ..Transport::default() }
    };
    let other = asked.port.unwrap_or(0);
    let length = asked.length.unwrap_or(LONGEST_USUAL_FRAME);
    let (sent, got) = (transport((0, other)), transport((other, 0)));
    Ok(match address {
        std::net::IpAddr::V4(address) => {
            let address = address.to_bits();
            let header = |source, destination, transport| Header {
                length,
                ethernet_type: 0x0800,
                network: Network::V4 { source, destination, transport },
                ..Header::default()
            };
            vec![header(address, 0, sent), header(0, address, got)]
        }
        std::net::IpAddr::V6(address) => {
            let address = address.to_bits();
            let header = |source, destination, transport| Header {
                length,
                ethernet_type: 0x86dd,
                network: Network::V6 { source, destination, transport },
                ..Header::default()
            };
            vec![header(address, 0, sent), header(0, address, got)]
        }
    })
}
