//! Promises beside proofs that are made up: each constraint with the numbers that a refusal names.

use super::*;
use crate::parse_str;
use tidegate_bounds::curve::Arrival;
use tidegate_bounds::end_to_end::{Bound, Method};
use tidegate_bounds::quantity::NoBound;

/// One link of 10 Mbit/s; `class` are further keys of its class, `flow` those of the flow.
fn variant(policy: &str, class: &str, flow: &str) -> Variant {
    let text = format!(
        "[simulation]\nduration = \"1 s\"\n[policy.p]\nrate = \"10 Mbit/s\"\nscheduler = \"wf2q+\"\n{policy}\n[[policy.p.class]]\nname = \"c\"\n\
         rate = \"6 Mbit/s\"\n{class}\n[[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\npolicy = \"p\"\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
    );
    parse_str("test.toml", &text).unwrap_or_else(|problems| panic!("{problems}")).variants.remove(0)
}

const CONSTANT: &str = "source = { kind = \"cbr\", rate = \"1 Mbit/s\", packet = \"1000 B\" }\n";

/// A bound of this many microseconds, and this many bytes in the queue.
fn proof(microseconds: i128, bytes: u64) -> Proof {
    let delay = microseconds * 1_000_000;
    let no = || Err(NoBound::Because("not asked for"));
    let bound = Bound {
        delay,
        method: Method::TotalFlow,
        all: [Ok(delay), no(), no(), no()],
        jitter: delay,
        backlogs: vec![bytes * 8],
        output: Arrival::token_bucket(8_000, 1_000_000),
    };
    let flow = ProvenFlow { bound, queues: vec![0], limited: Vec::new() };
    let queue = ProvenQueue { link: LinkId(0), class: 0, queue: 0, delay: Ok(delay), backlog: Ok(bytes * 8), is_limited: false };
    Proof { flows: vec![Ok(flow)], queues: vec![queue], is_by_all_methods: true }
}

fn findings(variant: &Variant, proof: &Proof) -> Vec<Result<String, String>> {
    let text = |claim: Claim| claim.finding.map_err(|short| short.to_string());
    claims(variant, proof).into_iter().map(text).collect()
}

#[test]
fn a_delay_is_proven_by_a_bound_that_is_not_above_it() {
    let promised = variant("", "promise = { delay = \"5 ms\" }", &format!("{CONSTANT}promise = {{ delay = \"4 ms\", percentile = 50 }}"));
    assert_eq!(findings(&promised, &proof(4_000, 0)), [Ok("4 ms, TFA++".to_owned()), Ok("4 ms".to_owned())]);
    let short = "link `l`: delay: has 4 ms, would need 4.001 ms".to_owned();
    assert_eq!(findings(&promised, &proof(4_001, 0))[0], Err(short));
    assert!(claims(&promised, &proof(6_000, 0)).iter().all(|claim| !claim.is_proven()));
    let mut nothing = proof(1, 0);
    nothing.flows[0] = Err("source `poisson` is not limited".to_owned());
    nothing.queues[0].delay = Err("source `poisson` is not limited".to_owned());
    assert_eq!(findings(&promised, &nothing), vec![Err("link `l`: source `poisson` is not limited".to_owned()); 2]);
}

#[test]
fn a_loss_is_proven_by_buffers_that_hold_the_backlog() {
    let promise = format!("{CONSTANT}promise = {{ loss = \"1 %\" }}");
    let bytes = variant("buffer = { limit = \"20 kB\" }", "", &promise);
    assert!(findings(&bytes, &proof(1, 20_000))[0].is_ok());
    assert_eq!(findings(&bytes, &proof(1, 20_001))[0], Err("link `l`: buffer: has 20 kB, would need 20.001 kB".to_owned()));
    let packets = variant("buffer = { limit = \"20 packets\" }", "", &promise);
    assert!(findings(&packets, &proof(1, 20_999))[0].is_ok(), "20 packets of 1000 B");
    assert_eq!(findings(&packets, &proof(1, 21_000))[0], Err("link `l`: buffer: has 20 packets, would need 21 packets".to_owned()));
    let memory = variant("packet_limit = \"10 packets\"\nbuffer = { limit = \"200 kB\" }", "", &promise);
    assert_eq!(findings(&memory, &proof(1, 11_000))[0], Err("link `l`: buffer: has 10 packets, would need 11 packets".to_owned()));
    let own = variant("buffer = { limit = \"200 kB\" }", "limit = \"5 kB\"", &promise);
    assert_eq!(findings(&own, &proof(1, 6_000))[0], Err("link `l`: buffer: has 5 kB, would need 6 kB".to_owned()));
}

#[test]
fn no_loss_is_proven_where_packets_can_be_dropped_otherwise() {
    let promise = format!("{CONSTANT}promise = {{ loss = \"1 %\" }}");
    let threshold = variant("buffer = { manager = \"dynamic-threshold\", limit = \"200 kB\" }", "", &promise);
    let police = variant("", "police = { policer = \"gcra\", rate = \"2 Mbit/s\", burst = \"9 kB\" }", &promise);
    let lossy = variant("link = { loss = \"0.1 %\" }", "", &promise);
    for (variant, problem) in [(threshold, "`dynamic-threshold` may refuse"), (police, "policer of class `c`"), (lossy, "at random")] {
        let finding = findings(&variant, &proof(1, 1_000)).remove(0).unwrap_err();
        assert!(finding.contains(problem), "{finding}");
    }
    let mut full = proof(1, 1_000);
    full.queues[0].is_limited = true;
    let finding = findings(&variant("", "", &promise), &full).remove(0).unwrap_err();
    assert!(finding.contains("only the size of the buffer bounds"), "{finding}");
}

#[test]
fn with_push_out_an_equal_part_of_the_buffer_is_safe_beside_a_flood() {
    let flood =
        "[[flow]]\nname = \"flood\"\nfrom = \"a\"\nto = \"b\"\nheader = { dscp = 8 }\nsource = { kind = \"greedy\", packet = \"1000 B\" }";
    let second = "match = [{ dscp = \"default\" }]\n[[policy.p.class]]\nname = \"flood\"";
    let of = |manager: &str| {
        let buffer = format!("longest_frame = \"1000 B\"\nbuffer = {{ manager = \"{manager}\", limit = \"20 kB\" }}");
        variant(&buffer, second, &format!("{CONSTANT}promise = {{ loss = \"0 %\" }}\n{flood}"))
    };
    let beside = |bytes: u64| {
        let mut proof = proof(1, bytes);
        let reason = || "source `greedy` is not limited".to_owned();
        proof.flows.push(Err(reason()));
        proof.queues.push(ProvenQueue { class: 1, delay: Err(reason()), backlog: Err(reason()), ..proof.queues[0].clone() });
        proof
    };
    assert!(findings(&of("longest-queue-push-out"), &beside(9_000))[0].is_ok(), "9 kB and a frame are half of 20 kB");
    assert!(findings(&of("longest-queue-push-out"), &beside(9_001))[0].is_err());
    let finding = findings(&of("tail-drop"), &beside(9_000)).remove(0).unwrap_err();
    assert_eq!(finding, "link `l`: class `flood` may fill the buffer: source `greedy` is not limited");
}

#[test]
fn a_rate_is_proven_by_the_guarantee_or_by_what_is_sent() {
    let sent = variant("", "promise = { rate = \"7 Mbit/s\" }", &format!("{CONSTANT}promise = {{ rate = \"1 Mbit/s\" }}"));
    let found = findings(&sent, &proof(1, 1_000));
    assert_eq!(found[0], Ok("1 Mbit/s are sent, and none of them is lost".to_owned()));
    assert!(found[1].is_ok(), "alone at the port, the class is guaranteed all of it: {found:?}");
    let other = "match = [{ dscp = \"default\" }]\n[[policy.p.class]]\nname = \"other\"\nrate = \"4 Mbit/s\"";
    let greedy = "source = { kind = \"greedy\", packet = \"1000 B\" }\n";
    let own = |rate: &str| variant("", other, &format!("{greedy}promise = {{ rate = \"{rate}\" }}"));
    assert!(findings(&own("6 Mbit/s"), &proof(1, 1_000))[0].is_ok());
    let finding = findings(&own("6.5 Mbit/s"), &proof(1, 1_000)).remove(0).unwrap_err();
    assert_eq!(finding, "link `l`: guaranteed rate: has 6 Mbit/s, would need 6.5 Mbit/s");
    let overhead = variant("overhead = \"ethernet\"", other, &format!("{greedy}promise = {{ rate = \"5.9 Mbit/s\" }}"));
    assert!(findings(&overhead, &proof(1, 1_000))[0].is_err(), "6 Mbit/s on the wire are 5.88 Mbit/s of these frames");
}

#[test]
fn code_points_that_are_set_on_the_way_leave_the_class_unknown() {
    let text = "[simulation]\nduration = \"1 s\"\n[policy.first]\nrate = \"10 Mbit/s\"\n[[policy.first.class]]\nname = \"c\"\nset = { dscp = \"ef\" }\n\
        [policy.second]\nrate = \"10 Mbit/s\"\n[[policy.second.class]]\nname = \"voice\"\nmatch = [{ dscp = \"ef\" }]\nlimit = \"2 packets\"\n\
        promise = { loss = \"0 %\" }\n[[policy.second.class]]\nname = \"rest\"\n\
        [[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\npolicy = \"first\"\n[[link]]\nname = \"m\"\nfrom = \"b\"\nto = \"c\"\npolicy = \"second\"\n\
        [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"c\"\npromise = { loss = \"0 %\" }\n";
    let variant = parse_str("test.toml", &format!("{text}{CONSTANT}")).unwrap_or_else(|problems| panic!("{problems}")).variants.remove(0);
    let mut proof = proof(1, 9_000);
    proof.queues.push(ProvenQueue { link: LinkId(1), ..proof.queues[0].clone() });
    if let Ok(flow) = &mut proof.flows[0] {
        flow.queues = vec![0, 1];
    }
    let found = findings(&variant, &proof);
    assert!(found[0].as_ref().unwrap_err().contains("code points are set on the way"), "{found:?}");
    assert_eq!(found[1], Err("link `m`: buffer: has 2 packets, would need 9 packets".to_owned()), "the packets come as `ef`");
}
