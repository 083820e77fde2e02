//! Policies for the namespace tests.

use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier, PortRange, Rule};
use tidegate_core::port::PortSetup;
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::shaper::ShapingContract;
use tidegate_core::units::{Duration, Overhead, Rate};

/// An Ethernet header, a VLAN tag and the usual MTU.
pub const LONGEST_FRAME: u32 = 1518;

/// A FIFO with a buffer of 50 ms.
pub fn plain(bits_per_second: u64) -> PortSetup {
    build(bits_per_second, "fifo", vec![("all", Vec::new(), weight(1))], LONGEST_FRAME)
}

/// As [`plain`], for another longest frame.
pub fn for_frames_of(longest_frame: u32, bits_per_second: u64) -> PortSetup {
    build(bits_per_second, "fifo", vec![("all", Vec::new(), weight(1))], longest_frame)
}

/// Two classes by TCP or UDP port, first `one` with weight 3, then `other` with weight 1, and a default class with weight 1.
pub fn shared(bits_per_second: u64, scheduler: &str, one: u16, other: u16) -> PortSetup {
    let classes = vec![("three", of_port(one), weight(3)), ("one", of_port(other), weight(1)), ("rest", Vec::new(), weight(1))];
    build(bits_per_second, scheduler, classes, LONGEST_FRAME)
}

/// Two classes by TCP or UDP port with contracts for four thirds and two thirds of the link, and a default class without one, of lower priority.
pub fn contracts(bits_per_second: u64, one: u16, other: u16) -> PortSetup {
    let longest = Overhead::ETHERNET.wire_length(LONGEST_FRAME);
    let contract = |thirds: u64| {
        let rate = Rate::new(bits_per_second * thirds / 3).expect("a rate in range");
        let tolerance = Duration::from_milliseconds(20);
        let shape = ShapingContract { tolerance, ..ShapingContract::new(rate, longest, longest) };
        FlowParameters { shape: Some(shape), ..FlowParameters::default() }
    };
    let rest = FlowParameters { priority: Some(1), ..FlowParameters::default() };
    let classes = vec![("four thirds", of_port(one), contract(4)), ("two thirds", of_port(other), contract(2)), ("rest", Vec::new(), rest)];
    build(bits_per_second, "rate-controlled", classes, LONGEST_FRAME)
}

fn of_port(port: u16) -> Vec<Rule> {
    vec![Rule { destination_port: Some(PortRange::one(port)), ..Rule::default() }]
}

fn weight(weight: u32) -> FlowParameters {
    FlowParameters { weight: Some(weight), ..FlowParameters::default() }
}

/// A class for this VLAN identifier, and one for everything else.
pub fn by_vlan(bits_per_second: u64, vlan: u16) -> PortSetup {
    let tagged = vec![Rule { vlan: Some(vlan), ..Rule::default() }];
    build(bits_per_second, "fifo", vec![("tagged", tagged, weight(1)), ("rest", Vec::new(), weight(1))], LONGEST_FRAME)
}

fn build(bits_per_second: u64, scheduler: &str, classes: Vec<(&str, Vec<Rule>, FlowParameters)>, longest_frame: u32) -> PortSetup {
    let rate = Rate::new(bits_per_second).expect("a rate in range");
    let flows: Vec<FlowParameters> = classes.iter().map(|(_, _, parameters)| *parameters).collect();
    let rules = classes.into_iter().map(|(name, rules, _)| ClassRules { name: name.into(), queues: 1, rules }).collect();
    // Each class may hold a twentieth of a second of the whole link, and at least thirty full frames.
    let bytes = (bits_per_second / 160).max(30 * u64::from(longest_frame)) * flows.len() as u64;
    let buffer = BufferParameters {
        flows: flows.len(),
        bytes: Some(bytes),
        flow: tidegate_core::buffer::FlowLimit { packets: None, bytes: Some((bytes / flows.len() as u64) as u32) },
        ..BufferParameters::default()
    };
    let overhead = Overhead::ETHERNET;
    PortSetup {
        rate,
        overhead,
        classifier: Classifier::new(rules, 1).expect("the classes are right"),
        policers: vec![None; flows.len()],
        aqms: Vec::new(),
        seed: 0,
        buffer: BufferKind::TailDrop.build(&buffer).expect("the limits are right"),
        scheduler: SchedulerKind::from_name(scheduler)
            .expect("a registered scheduler")
            .build(&Setup::new(rate, overhead.wire_length(longest_frame)), &flows)
            .expect("the parameters are right"),
        packet_limit: 10_000,
        longest_frame,
        remarks: Default::default(),
    }
}
