//! What is printed of a proof that is written by hand: names, roundings, promises, buffers, and what is cut.

use super::*;
use crate::proof::{ProvenFlow, ProvenQueue};
use crate::scenario::parse_str;
use tidegate_bounds::curve::Arrival;
use tidegate_bounds::end_to_end::Bound;
use tidegate_bounds::quantity::NoBound;

const TWO_LINKS: &str = r#"
[simulation]
duration = "1 s"
[policy.p]
rate = "10 Mbit/s"
scheduler = "strict-priority"
buffer = { manager = "tail-drop", limit = "20 kB" }
[[policy.p.class]]
name = "voice"
match = [{ dscp = "ef" }]
priority = 0
limit = "4 packets"
[[policy.p.class]]
name = "rest"
priority = 1
[[link]]
name = "up"
from = "a"
to = "b"
policy = "p"
delay = "1 ms"
[[link]]
name = "down"
from = "b"
to = "c"
policy = "p"
delay = "2 ms"
[[flow]]
name = "call"
count = 3
from = "a"
to = "c"
source = { kind = "cbr", rate = "64 kbit/s", packet = "200 B" }
header = { dscp = "ef" }
promise = { delay = "12 ms" }
[[flow]]
name = "web"
from = "a"
to = "b"
source = { kind = "poisson", rate = "1 Mbit/s", packet = "500 B" }
promise = { delay = "30 ms" }
"#;

fn bound(delay: i128, method: Method, queues: usize) -> Bound {
    let separated = Ok(delay + 1_000_000_000);
    let all = [Ok(delay), separated, Err(NoBound::Because("the curve is not strict")), Err(NoBound::OutOfRange)];
    Bound { delay, method, all, jitter: 4_000_000_001, backlogs: vec![1_608; queues], output: Arrival::token_bucket(2_401, 64_000) }
}

/// `call-3` differs from the other calls, and nothing is proven of `web`.
fn proof() -> Proof {
    let calls = [10_000_100_001, 10_000_100_001, 12_000_000_001];
    let call = |delay| Ok(ProvenFlow { bound: bound(delay, Method::TotalFlow, 2), queues: vec![0, 2], limited: Vec::new() });
    let flows = calls.into_iter().map(call).chain([Err("source `poisson` is not limited".to_owned())]).collect();
    let limited = "source `poisson` is not limited";
    let queue = |link, class, delay: Result<i128, &str>, backlog: Result<u64, &str>| ProvenQueue {
        link: LinkId(link),
        class,
        queue: 0,
        delay: delay.map_err(str::to_owned),
        backlog: backlog.map_err(str::to_owned),
        is_limited: false,
    };
    let queues =
        vec![queue(0, 0, Ok(2_345_678_901), Ok(4_800)), queue(0, 1, Err(limited), Err(limited)), queue(1, 0, Ok(3_000_000_000), Ok(6_401))];
    Proof { flows, queues, is_by_all_methods: true }
}

fn report<'s>(scenario: &'s Scenario, question: Question) -> Report<'s> {
    Report { scenario, question, proofs: vec![Some(proof())] }
}

fn all() -> Question {
    Question { detail: Detail::All, ..Question::default() }
}

#[test]
fn equal_flows_share_a_row_and_bounds_are_rounded_up() {
    let scenario = parse_str("s.toml", TWO_LINKS).unwrap();
    let text = report(&scenario, all()).text();
    for row in [
        "call: 2 of 3  up, down  10.01 ms       TFA++  4.001 ms        301 B      12 ms: proven",
        "call: 1 of 3  up, down  12.01 ms       TFA++  4.001 ms        301 B      12 ms: not proven",
        "web           up        no bound: source `poisson` is not limited (30 ms promised)",
        "* it holds while every source keeps to the file",
    ] {
        assert!(text.contains(row), "{row}\n{text}");
    }
}

#[test]
fn queues_and_buffers_say_whether_they_may_overflow() {
    let scenario = parse_str("s.toml", TWO_LINKS).unwrap();
    let text = report(&scenario, all()).text();
    // Three packets of 200 B fit a limit of four; 801 B may be five.
    for row in [
        "up    voice  2.346 ms       600 B          4 packets: never exceeded",
        "up    rest   no bound: source `poisson` is not limited",
        "down  voice  3 ms           801 B          4 packets: may be exceeded",
        "up    shared  20 kB  may overflow: no bound is known for class `rest`",
        "down  shared  20 kB  never overflows: holds at most 801 B",
    ] {
        assert!(text.contains(row), "{row}\n{text}");
    }
    let json = report(&scenario, all()).json();
    let buffers = &json["variants"][0]["buffers"];
    assert_eq!((&buffers[0]["may_overflow"], &buffers[1]["may_overflow"]), (&json!(true), &json!(false)), "{buffers}");
    assert_eq!(buffers[1]["holds_at_most_packets"], 4, "the limit of the class counts where it is less");
    assert_eq!(json["variants"][0]["queues"][2]["limit_may_be_exceeded"], true);
}

#[test]
fn what_only_a_full_buffer_bounds_says_so() {
    let scenario = parse_str("s.toml", TWO_LINKS).unwrap();
    let mut proof = proof();
    (proof.queues[1].delay, proof.queues[1].backlog, proof.queues[1].is_limited) = (Ok(16_000_000_000), Ok(164_000), true);
    proof.flows[3] = Ok(ProvenFlow { bound: bound(17_000_000_000, Method::TotalFlow, 1), queues: vec![1], limited: vec![0] });
    let question = Question { flow: Some("web".to_owned()), ..all() };
    let report = |question| Report { scenario: &scenario, question, proofs: vec![Some(proof.clone())] };
    let (text, detail) = (report(all()).text(), report(question).text());
    for row in [
        "web           up        17 ms          buffer  4.001 ms        301 B      30 ms: proven",
        "up    rest   16 ms (buffer)  20.5 kB",
        "up    shared  20 kB  may overflow: nothing else limits class `rest`",
        "others may be dropped",
    ] {
        assert!(text.contains(row), "{row}\n{text}");
    }
    assert!(detail.contains("delay at most 17 ms, by buffer") && !detail.contains("PMOO"), "{detail}");
}

#[test]
fn queues_of_one_order_count_in_every_buffer_that_they_use() {
    let text = TWO_LINKS
        .replace("scheduler = \"strict-priority\"", "scheduler = \"fifo\"")
        .replace("priority = 0\n", "buffer = { manager = \"tail-drop\", limit = \"10 packets\" }\n");
    let scenario = parse_str("s.toml", &text.replace("priority = 1\n", "")).unwrap();
    let mut proof = proof();
    proof.queues.remove(1);
    for flow in proof.flows.iter_mut().flatten() {
        flow.queues = vec![0, 1];
    }
    let text = Report { scenario: &scenario, question: all(), proofs: vec![Some(proof)] }.text();
    // 600 B are up to three packets of 200 B; 801 B up to five.
    for row in [
        "up    voice, rest  2.346 ms       600 B          4 packets: never exceeded",
        "up    class `voice`  10 packets  never overflows: holds at most 3 packets",
        "up    shared         20 kB       never overflows: holds at most 600 B",
        "down  voice, rest  3 ms           801 B          4 packets: may be exceeded",
        "down  class `voice`  10 packets  never overflows: holds at most 5 packets",
    ] {
        assert!(text.contains(row), "{row}\n{text}");
    }
}

#[test]
fn a_flow_is_told_hop_by_hop_with_all_methods() {
    let scenario = parse_str("s.toml", TWO_LINKS).unwrap();
    let question = Question { flow: Some("call".to_owned()), ..all() };
    let text = report(&scenario, question).text();
    for part in [
        "flow call: 2 of 3 (call-1, call-2) over up, down: delay at most 10.01 ms, by TFA++",
        "flow call: 1 of 3 (call-3) over up, down: delay at most 12.01 ms, by TFA++",
        "promised 12 ms: not proven",
        "leaves with bursts of up to 301 B, in the long run at 64 kbit/s",
        "PMOO    none: the curve is not strict",
        "1    up    voice  2.346 ms       201 B               600 B         may overflow",
        "2    down  voice  3 ms           201 B               801 B         its limit may be exceeded",
        "3 ms of it is propagation",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("web") && !text.contains("guaranteed"), "{text}");
    let one = report(&scenario, Question { flow: Some("call-3".to_owned()), ..all() }).text();
    assert!(one.contains("(call-3)") && !one.contains("call-1"), "{one}");
}

#[test]
fn a_method_is_asked_for_by_name() {
    let scenario = parse_str("s.toml", TWO_LINKS).unwrap();
    let by = |method| report(&scenario, Question { method: Some(method), ..all() }).text();
    assert!(by(Method::SeparatedFlow).contains("11.01 ms       SFA"), "{}", by(Method::SeparatedFlow));
    assert!(by(Method::PayMultiplexingOnce).contains("no bound: PMOO: the curve is not strict (12 ms promised)"));
    let json = report(&scenario, Question { method: Some(Method::SeparatedFlow), flow: Some("call-1".to_owned()), ..all() }).json();
    let flow = &json["variants"][0]["flows"][0];
    assert_eq!((&json["schema"], &flow["name"], &flow["table"]), (&json!(3), &json!("call-1"), &json!("call")));
    assert_eq!((&flow["bound"]["delay_ps"], &flow["bound"]["method"]), (&json!(11_000_100_001u64), &json!("sfa")));
    assert_eq!(flow["bound"]["all_methods"], json!({ "tfa": 10_000_100_001u64, "sfa": 11_000_100_001u64, "pmoo": null, "plp": null }));
    assert_eq!(flow["bound"]["not_by"]["pmoo"], "the curve is not strict");
    assert_eq!(flow["bound"]["hops"][1]["delay_ps"], 3_000_000_000u64);
    assert_eq!(flow["promise_proven"], true);
}

#[test]
fn long_tables_are_cut() {
    let many: String = (0..150)
        .map(|n| format!("[[flow]]\nname = \"f{n}\"\npath = [\"up\"]\nsource = {{ kind = \"greedy\", packet = \"100 B\" }}\n"))
        .collect();
    let scenario = parse_str("s.toml", &(TWO_LINKS.to_owned() + &many)).unwrap();
    let shown = |detail| {
        let mut proof = proof();
        proof.flows.extend((0..150).map(|_| Err("source `greedy` is not limited".to_owned())));
        Report { scenario: &scenario, question: Question { detail, ..Question::default() }, proofs: vec![Some(proof)] }.text()
    };
    assert!(shown(Detail::First).contains("... and 133 more rows: 153 in all; --all prints them"), "{}", shown(Detail::First));
    assert_eq!(shown(Detail::All).matches("`greedy` is not limited").count(), 150);
}

#[test]
fn questions_about_flows_that_are_not_there_are_refused() {
    let scenario = parse_str("s.toml", TWO_LINKS).unwrap();
    let refused = |scenario, flow: &str| {
        let question = Question { flow: Some(flow.to_owned()), ..Question::default() };
        Report::of(scenario, question, &|_| {}).map(|_| ()).unwrap_err()
    };
    assert_eq!(refused(&scenario, "cal"), "s.toml has no flow `cal`; did you mean `call`?");
    assert_eq!(refused(&scenario, "video-uplink"), "s.toml has no flow `video-uplink`; its flows are `call` and `web`");
    let policy = parse_str("p.toml", "[policy.p]\nrate = \"1 Mbit/s\"\n").unwrap();
    assert!(refused(&policy, "call").contains("is a policy file"));
    assert!(Report::of(&policy, Question { method: Some(Method::Program), ..Question::default() }, &|_| {}).is_err());
}
