//! Remarks on queues of TCP traffic that are long and have no active queue management (AQM).
//!
//! TCP raises its rate until a packet is dropped or marked, so without an AQM it fills the queue, and every packet of the class waits that long.

use crate::partition::Buffer;
use crate::policy::Policy;
use crate::scenario::{Scenario, Variant};
use crate::units::{Limit, print_rate, print_size, print_time};
use std::iter::successors;
use tidegate_core::buffer::Alpha;
use tidegate_core::classifier::{Header, Network, Transport};
use tidegate_core::packet::Colour;
use tidegate_core::registry::BufferKind;
use tidegate_core::units::{PICOSECONDS_PER_SECOND, Rate};
use tidegate_sim::Source;

/// The longest queue without a remark, in picoseconds: a round-trip time of the longest usual paths.
const ACCEPTED: u128 = PICOSECONDS_PER_SECOND as u128 / 10;
/// The port of HTTPS, and one that clients use.
const PORTS: (u16, u16) = (443, 50_000);

/// One sentence for each class of TCP traffic whose queue may hold more than 100 ms of its rate, and that has no AQM.
///
/// In a scenario these are the classes of its TCP flows; in a policy file the class of web traffic without marks.
pub fn warnings(scenario: &Scenario) -> Vec<String> {
    let mut all = Vec::new();
    for variant in &scenario.variants {
        for warning in of_variant(variant) {
            if !all.contains(&warning) {
                all.push(warning);
            }
        }
    }
    all
}

fn of_variant(variant: &Variant) -> Vec<String> {
    // Each class once: the first flow that uses it is named.
    let mut seen: Vec<(*const Policy, usize)> = Vec::new();
    let mut found = Vec::new();
    let mut look = |policy: &Policy, class: usize, traffic: String| {
        if !seen.contains(&(std::ptr::from_ref(policy), class)) {
            seen.push((policy, class));
            found.extend(warning(policy, class, &traffic));
        }
    };
    let Some(simulation) = &variant.simulation else {
        for policy in &variant.policies {
            for ports in [PORTS, (PORTS.1, PORTS.0)] {
                look(policy, class_of(policy, &web(ports)), "web traffic".to_owned());
            }
        }
        return found;
    };
    for group in &simulation.groups {
        let flow = &simulation.network.flows[group.first];
        if !matches!(flow.source, Source::Tcp(_)) {
            continue;
        }
        let mut header = flow.header;
        for &link in &flow.path {
            let policy = simulation.policy(link, &variant.policies);
            let class = class_of(policy, &header);
            look(policy, class, format!("flow `{}`", group.name));
            header = policy.remarks().of(class, Colour::Green).of(header);
        }
    }
    found
}

/// A full packet of a connection with a web server.
fn web((source_port, destination_port): (u16, u16)) -> Header {
    let transport = Transport {
        protocol: Transport::TCP,
        ports: Some((source_port, destination_port)),
        tcp_flags: Some(Transport::ACK),
        ..Transport::default()
    };
    Header { length: 1514, ethernet_type: 0x0800, network: Network::V4 { source: 0, destination: 0, transport }, ..Header::default() }
}

fn class_of(policy: &Policy, header: &Header) -> usize {
    let classifier = policy.classifier();
    classifier.class_of(classifier.classify(header))
}

/// The warning about one class, if there is reason for one.
fn warning(policy: &Policy, class: usize, traffic: &str) -> Option<String> {
    let of = &policy.classes[class];
    if of.aqm.is_some() || policy.adapter.is_some() {
        return None;
    }
    let rate = rate_of(policy, class);
    let (buffer, packets) = policy.buffer_of(of.partition);
    let bytes = [Some(one_queue(buffer, policy.longest_frame)), Some(in_bytes(Limit::Packets(packets.into()), policy.longest_frame))];
    let own = of.limit.map(|limit| in_bytes(limit, policy.longest_frame));
    let bytes = bytes.into_iter().chain([own]).flatten().min()?;
    let time = u128::from(bytes) * 8 * u128::from(PICOSECONDS_PER_SECOND) / u128::from(rate.bits_per_second());
    (time > ACCEPTED).then(|| {
        format!(
            "class `{}` of policy `{}` carries TCP ({traffic}) without an AQM, and its queue may hold {} ({} at {}): TCP fills it, and every packet of the \
             class waits that long\n  add aqm = \"fq-codel\" to the class, or give it a limit of {} or less",
            of.name,
            policy.name,
            print_time(time),
            print_size(bytes),
            print_rate(rate),
            print_size(rate.bits_per_second() / 80)
        )
    })
}

/// The most bytes that one queue can have in a buffer.
fn one_queue(buffer: &Buffer, longest_frame: u32) -> u64 {
    let size = in_bytes(buffer.limit, longest_frame);
    if buffer.kind != BufferKind::DynamicThreshold {
        return size;
    }
    // A queue alone grows to alpha times what it leaves free; alpha is 1 unless given.
    match buffer.alpha.map_or(0, Alpha::exponent) {
        exponent if exponent >= 0 => size - size / ((1 << exponent) + 1),
        exponent => size / ((1 << -exponent) + 1),
    }
}

fn in_bytes(limit: Limit, longest_frame: u32) -> u64 {
    match limit {
        Limit::Bytes(bytes) => bytes,
        Limit::Packets(packets) => packets.saturating_mul(longest_frame.into()),
    }
}

/// The rate of the innermost shape above the queues of a class, or of the link.
fn rate_of(policy: &Policy, class: usize) -> Rate {
    let of = &policy.classes[class];
    let groups = successors(of.parent, |&group| policy.groups[group].parent).map(|group| policy.groups[group].shape);
    std::iter::once(of.shape).chain(groups).flatten().next().map_or(policy.rate, |shape| shape.rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::parse_str;

    fn of(text: &str) -> Vec<String> {
        warnings(&parse_str("p.toml", text).unwrap())
    }

    #[test]
    fn long_queues_of_web_traffic_are_told_from_short_and_managed_ones() {
        let policy = |buffer: &str, class: &str| {
            format!(
                "[policy.p]\nrate = \"8 Mbit/s\"\n{buffer}\n[[policy.p.class]]\nname = \"voice\"\nmatch = [{{ dscp = \"ef\" }}]\n[[policy.p.class]]\nname = \"rest\"\n{class}\n"
            )
        };
        assert!(of(&policy("", "")).is_empty(), "the default is 100 ms");
        let long = of(&policy("buffer = { limit = \"1 MB\" }", ""));
        assert_eq!(long.len(), 1);
        let words = "class `rest` of policy `p` carries TCP (web traffic) without an AQM, and its queue may hold 1 s (1 MB at 8 Mbit/s)";
        assert!(long[0].starts_with(words) && long[0].ends_with("a limit of 100 kB or less"), "{long:?}");
        assert!(of(&policy("buffer = { limit = \"1 MB\" }", "aqm = \"codel\"")).is_empty());
        assert!(of(&policy("buffer = { limit = \"1 MB\" }", "limit = \"50 kB\"")).is_empty());
        assert_eq!(of(&policy("buffer = { limit = \"1 MB\" }", "limit = \"120 kB\"")).len(), 1);
        // Alone a queue gets half of the buffer.
        let threshold = |size: &str| policy(&format!("buffer = {{ manager = \"dynamic-threshold\", limit = \"{size}\" }}"), "");
        assert_eq!((of(&threshold("200 kB")).len(), of(&threshold("202 kB")).len()), (0, 1));
        // 100 ms of the link are a second of a class that is shaped to a tenth.
        let shaped = of(&policy("", "shape = { rate = \"800 kbit/s\" }"));
        assert!(shaped[0].contains("may hold 1 s (100 kB at 800 kbit/s)"), "{shaped:?}");
        assert!(
            of(&policy("", "shape = { rate = \"800 kbit/s\" }\nbuffer = {}")).iter().all(|warning| warning.contains("242.9 ms")),
            "16 frames"
        );
    }

    #[test]
    fn a_scenario_is_judged_by_its_flows() {
        let file = |source: &str, header: &str| {
            format!(
                "[simulation]\nduration = \"1 s\"\n[policy.p]\nrate = \"8 Mbit/s\"\nbuffer = {{ limit = \"1 MB\" }}\n\
                 [[policy.p.class]]\nname = \"video\"\nmatch = [{{ dscp = \"af41\" }}]\n\
                 [[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\npolicy = \"p\"\n[[link]]\nname = \"back\"\nfrom = \"b\"\nto = \"a\"\npolicy = \"p\"\n\
                 [[flow]]\nname = \"f\"\npath = [\"l\"]\nheader = {{ {header} }}\nsource = {{ {source} }}\n"
            )
        };
        let tcp = of(&file("kind = \"tcp\"", "dscp = \"af41\""));
        assert!(tcp[0].starts_with("class `video` of policy `p` carries TCP (flow `f`)") && tcp.len() == 1, "{tcp:?}");
        assert!(of(&file("kind = \"tcp\"", "dscp = 0"))[0].starts_with("class `default`"));
        assert!(of(&file("kind = \"cbr\", rate = \"1 Mbit/s\", packet = \"1 kB\"", "dscp = 0")).is_empty());
    }
}
