//! A port that is amended sends the same packets at the same instants as one that switches to the whole policy, whose slower way is the model.

use tidegate_core::classifier::{Classifier, Header, Network, Transport};
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet, Part};
use tidegate_core::port::{Port, Transition};
use tidegate_core::queue::Occupancy;
use tidegate_core::random::SplitMix64;
use tidegate_core::units::{Duration, Time};
use tidegate_scenario::{FileSet, Policy, parse_policies};

/// A file, and lists of values that it may get: each makes another policy of the same classes.
struct Case {
    text: &'static str,
    edits: &'static [&'static [&'static str]],
}

const SUBSCRIBERS: &str = r#"
[policy.isp]
kind = "subscribers"
down = "100 Mbit/s"
up = "50 Mbit/s"
plan = [
    { name = "gold", down = "20 Mbit/s", up = "4 Mbit/s" },
    { name = "iron", down = "5 Mbit/s", up = "1 Mbit/s" },
]
subscriber = [
    { name = "a", addresses = ["10.0.0.0/29"], plan = "gold" },
    { name = "b", addresses = ["10.0.0.8/30"], plan = "iron" },
    { name = "c", addresses = ["10.0.0.12"], down = "8 Mbit/s", up = "1 Mbit/s" },
    { name = "d", addresses = ["10.0.0.13"], plan = "gold" },
]
"#;

const CASES: [(&str, Case); 6] = [
    ("subscribers", Case { text: SUBSCRIBERS, edits: SUBSCRIBER_EDITS }),
    ("subscribers under DRR", Case { text: UNDER_DRR, edits: SUBSCRIBER_EDITS }),
    ("tins", Case { text: TINS, edits: SUBSCRIBER_EDITS }),
    ("trees", Case { text: TREE, edits: TREE_EDITS }),
    ("flows", Case { text: FLAT, edits: FLAT_EDITS }),
    ("priorities", Case { text: PRIORITIES, edits: &[&["policy.p.class.a.priority=4"], &["policy.p.class.b.priority=1"]] }),
];

const SUBSCRIBER_EDITS: &[&[&str]] = &[
    &["policy.isp.subscriber.c.down=\"2 Mbit/s\""],
    &["policy.isp.plan.gold.down=\"30 Mbit/s\"", "policy.isp.subscriber.c.down=\"1 Mbit/s\""],
    &["policy.isp.plan.iron.down=\"9 Mbit/s\""],
];

const UNDER_DRR: &str = r#"
[policy.isp]
kind = "subscribers"
scheduler = "drr"
down = "100 Mbit/s"
up = "50 Mbit/s"
plan = [
    { name = "gold", down = "20 Mbit/s", up = "4 Mbit/s" },
    { name = "iron", down = "5 Mbit/s", up = "1 Mbit/s" },
]
subscriber = [
    { name = "a", addresses = ["10.0.0.0/29"], plan = "gold" },
    { name = "b", addresses = ["10.0.0.8/30"], plan = "iron" },
    { name = "c", addresses = ["10.0.0.12"], down = "8 Mbit/s", up = "1 Mbit/s" },
    { name = "d", addresses = ["10.0.0.13"], plan = "gold" },
]
"#;

const TINS: &str = r#"
[policy.isp]
kind = "subscribers"
tins = "diffserv3"
down = "100 Mbit/s"
up = "50 Mbit/s"
plan = [
    { name = "gold", down = "20 Mbit/s", up = "4 Mbit/s" },
    { name = "iron", down = "5 Mbit/s", up = "1 Mbit/s" },
]
group = [{ name = "a", scheduler = "drr" }, { name = "b", scheduler = "drr" }, { name = "c", scheduler = "drr" }, { name = "d", scheduler = "drr" }]
subscriber = [
    { name = "a", addresses = ["10.0.0.0/29"], plan = "gold" },
    { name = "b", addresses = ["10.0.0.8/30"], plan = "iron" },
    { name = "c", addresses = ["10.0.0.12"], down = "8 Mbit/s", up = "1 Mbit/s" },
    { name = "d", addresses = ["10.0.0.13"], plan = "gold" },
]
"#;

/// Policers, AQMs, partitions and code points, below groups with contracts.
const TREE: &str = r#"
[policy.p]
rate = "20 Mbit/s"
scheduler = "drr"
buffer = { limit = "200 kB" }
partition = { own = { limit = "50 kB" } }
group = [
    { name = "g", scheduler = "wrr", weight = 3, shape = { rate = "8 Mbit/s", burst = "20 kB" } },
    { name = "h", parent = "g", scheduler = "drr", weight = 2 },
]
class = [
    { name = "a", parent = "g", match = [{ destination = "10.0.0.0/30" }], weight = 2, limit = "30 kB", police = { policer = "gcra", rate = "3 Mbit/s", burst = "10 kB" } },
    { name = "b", parent = "h", match = [{ destination = "10.0.0.4/30" }], weight = 1, partition = "own", shape = { rate = "2 Mbit/s", burst = "5 kB" } },
    { name = "c", parent = "h", match = [{ destination = "10.0.0.8/31" }], weight = 5, queues = 4, aqm = "codel", partition = "own", shape = { rate = "1200 kbit/s", burst = "4 kB" } },
    { name = "d", match = [{ destination = "10.0.0.10/31" }], weight = 1, queues = 3, aqm = { kind = "pie", target = "5 ms" }, shape = { rate = "1 Mbit/s", burst = "4 kB" } },
    { name = "e", weight = 2, set = { dscp = "af11" } },
]
"#;

const TREE_EDITS: &[&[&str]] = &[
    &["policy.p.group.g.weight=7", "policy.p.class.a.weight=5", "policy.p.class.e.weight=9"],
    &["policy.p.group.g.shape.rate=\"3 Mbit/s\"", "policy.p.class.b.shape.rate=\"900 kbit/s\"", "policy.p.class.e.set.dscp=\"ef\""],
    &["policy.p.class.a.police.rate=\"1 Mbit/s\"", "policy.p.class.a.limit=\"8 kB\""],
    &["policy.p.class.c.aqm=\"pie\"", "policy.p.class.d.aqm.target=\"2 ms\"", "policy.p.class.b.limit=\"6 kB\""],
    &[
        "policy.p.class.c.shape.rate=\"700 kbit/s\"",
        "policy.p.class.e.shape.rate=\"2 Mbit/s\"",
        "policy.p.class.e.shape.burst=\"4 kB\"",
        "policy.p.class.a.aqm=\"codel\"",
    ],
];

const FLAT: &str = r#"
[policy.p]
rate = "20 Mbit/s"
scheduler = "wf2q+"
class = [
    { name = "a", match = [{ destination = "10.0.0.0/30" }], rate = "2 Mbit/s" },
    { name = "b", match = [{ destination = "10.0.0.4/30" }], rate = "8 Mbit/s", shape = { rate = "9 Mbit/s", burst = "9 kB" } },
    { name = "c", match = [{ destination = "10.0.0.8/31" }], weight = 5 },
    { name = "d", weight = 2 },
]
"#;

const FLAT_EDITS: &[&[&str]] = &[
    // One gives up what another takes: all of the link is reserved on both sides.
    &["policy.p.class.a.rate=\"11 Mbit/s\"", "policy.p.class.b.rate=\"6 Mbit/s\""],
    &["policy.p.class.b.shape.rate=\"8.5 Mbit/s\"", "policy.p.class.c.weight=1"],
    &["policy.p.class.c.shape.rate=\"1 Mbit/s\"", "policy.p.class.c.shape.burst=\"4 kB\""],
];

/// No two have the same priority: a switch and an amendment may order those differently whose priority becomes the same.
const PRIORITIES: &str = r#"
[policy.p]
rate = "20 Mbit/s"
scheduler = "strict-priority"
class = [
    { name = "a", match = [{ destination = "10.0.0.0/29" }], priority = 0, queues = 2, aqm = "codel", shape = { rate = "6 Mbit/s", burst = "9 kB" } },
    { name = "b", match = [{ destination = "10.0.0.8/30" }], priority = 3, shape = { rate = "9 Mbit/s", burst = "4 kB" } },
    { name = "c", priority = 2 },
]
"#;

fn policy(text: &str, edits: &[&str]) -> Policy {
    let edits: Vec<String> = edits.iter().map(|&edit| edit.to_owned()).collect();
    let files = FileSet { name: "p.toml".to_owned(), text: text.into(), files: Default::default() };
    let scenario = parse_policies(&files, &edits).unwrap_or_else(|problems| panic!("{edits:?}: {problems}"));
    scenario.variants[0].policies[0].clone()
}

/// What leaves a port, and what does not.
#[derive(Default)]
struct Seen {
    sent: Vec<(u32, Time, Time, Ecn)>,
    dropped: Vec<(u32, DropReason)>,
}

impl Observer<u32> for Seen {
    fn dropped(&mut self, _now: Time, packet: Packet<u32>, reason: DropReason, _occupancy: &Occupancy) {
        self.dropped.push((packet.payload, reason));
    }
}

/// A port and what has been seen of it.
struct World {
    port: Port<u32>,
    seen: Seen,
}

impl World {
    fn advance(&mut self, now: Time) {
        let mut sent = Vec::new();
        self.port
            .advance(now, &mut self.seen, |sending| sent.push((sending.packet.payload, sending.start, sending.finish, sending.packet.ecn)));
        self.seen.sent.extend(sent);
    }

    fn offer(&mut self, now: Time, number: u32, header: &Header, length: u32) {
        let flow = self.port.classifier().classify(header);
        let packet = Packet { flow, length, arrival: now, colour: Colour::Green, part: Part::Whole, ecn: Ecn::Ect0, payload: number };
        let key = self.port.classifier().key(header, flow);
        self.port.offer_keyed(packet, key, &mut self.seen);
    }
}

fn header(draws: &mut SplitMix64) -> Header {
    let ports = Some((draws.below(7) as u16, 80));
    let dscp = [0, 46, 8][draws.below(3) as usize];
    let transport = Transport { dscp, protocol: 17, fragment: false, ports, ..Transport::default() };
    Header {
        ethernet_type: 0x0800,
        network: Network::V4 { source: 1, destination: 0x0a00_0000 + draws.below(16), transport },
        ..Header::default()
    }
}

/// Plays random traffic and changes to two ports, one of which is amended. Returns what was seen and the number of amendments.
fn play(text: &str, edits: &[&[&str]], seed: u64) -> ([Seen; 2], usize) {
    let mut policies: Vec<Policy> = std::iter::once(&[][..]).chain(edits.iter().copied()).map(|edits| policy(text, edits)).collect();
    let mut draws = SplitMix64::new(seed);
    let mut now = Time::from_picoseconds(draws.next_word());
    let mut running = policies[0].clone();
    let [mut amended, mut switched] = [(); 2].map(|()| World { port: Port::new(now, running.setup()), seen: Seen::default() });
    let mut amendments = 0;
    // Traffic comes in bursts, with pauses in which queues run empty.
    for number in 0..4000 {
        let pause = if draws.below(400) == 0 { 300_000 } else { u64::from(draws.below(700)) };
        now += Duration::from_microseconds(pause);
        [&mut amended, &mut switched].into_iter().for_each(|world| world.advance(now));
        let (header, length) = (header(&mut draws), 64 + draws.below(1400));
        amended.offer(now, number, &header, length);
        switched.offer(now, number, &header, length);
        if draws.below(40) == 0 {
            [&mut amended, &mut switched].into_iter().for_each(|world| world.advance(now));
            let place = draws.below(policies.len() as u32) as usize;
            let next = policies[place].clone().following(&running).unwrap();
            let mut amendment =
                next.amendment(&running).unwrap_or_else(|| panic!("{:?} is no amendment", place.checked_sub(1).map(|edit| edits[edit])));
            amended.port.amend(now, &mut amendment).unwrap();
            amendments += usize::from(!amendment.members.is_empty());
            let transition = Transition::prepare(&switched.port, next.setup());
            let classifier: Classifier = transition.classifier().clone();
            let stays = |packet: &Packet<()>, _: &u32| Some(packet.flow);
            assert_eq!(classifier.flows(), switched.port.classifier().flows());
            let (done, _) = switched.port.switch(now, transition, stays, &mut switched.seen);
            assert_eq!((done.moved.packets, done.dropped.packets), (0, 0));
            running = next;
            policies[place] = running.clone();
        }
    }
    now += Duration::from_seconds(60);
    [&mut amended, &mut switched].into_iter().for_each(|world| world.advance(now));
    assert_eq!((amended.port.occupancy().packets(), amended.port.counters()), (0, switched.port.counters()));
    for flow in (0..amended.port.classifier().flows() as u32).map(Flow) {
        assert_eq!(amended.port.remark(flow, Colour::Green), switched.port.remark(flow, Colour::Green));
    }
    ([amended.seen, switched.seen], amendments)
}

#[test]
fn an_amended_port_goes_on_as_one_that_switches() {
    for (name, Case { text, edits }) in CASES {
        for seed in 0..6 {
            let ([amended, switched], amendments) = play(text, edits, seed);
            assert!(amendments > 10 && amended.sent.len() > 1000, "{name}, seed {seed}: {amendments}, {}", amended.sent.len());
            let differs = amended.sent.iter().zip(&switched.sent).find(|(one, other)| one != other);
            assert_eq!(differs, None, "{name}, seed {seed}");
            assert_eq!(amended.dropped, switched.dropped, "{name}, seed {seed}");
        }
    }
}

#[test]
fn what_is_more_than_parameters_is_no_amendment() {
    let before = policy(TREE, &[]);
    for edit in [
        "policy.p.rate=\"21 Mbit/s\"",
        "policy.p.scheduler=\"wrr\"",
        "policy.p.buffer.limit=\"150 kB\"",
        "policy.p.class.c.queues=5",
        "policy.p.class.c.parent=\"g\"",
        "policy.p.class.a.match=[{ destination = \"10.0.0.0/31\" }]",
        "policy.p.overhead=\"ethernet\"",
        "policy.p.group.h.scheduler=\"wrr\"",
        "policy.p.longest_frame=\"1600 B\"",
    ] {
        assert!(policy(TREE, &[edit]).amendment(&before).is_none(), "{edit}");
    }
    let same = policy(TREE, &[]).amendment(&before).unwrap();
    assert!(
        same.members.is_empty() && same.shares.is_empty() && same.policers.is_empty() && same.aqms.is_empty() && same.remarks.is_none()
    );
    // Only what changes is named: one subscriber of four, and the class of the rest, which has a hundredth of the plans.
    let before = policy(SUBSCRIBERS, &[]);
    let after = policy(SUBSCRIBERS, &["policy.isp.subscriber.c.down=\"2 Mbit/s\""]);
    let amendment = after.amendment(&before).unwrap();
    let queues = before.classes[2].queues as usize;
    assert_eq!((amendment.members.len(), amendment.shares.len(), amendment.aqms.len()), (2, queues, 1));
}
