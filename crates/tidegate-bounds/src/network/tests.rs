//! Networks with published values: of the DISCO calculator, and of panco's tandems and rings.

use super::*;
use crate::curve::{Service, TokenBucket};
use crate::quantity::{NoBound, PICOBITS, Picoseconds, up};

/// One second in ps.
const SECOND: Picoseconds = PICOBITS;

/// True if an integer bound is the exact fraction of a second, rounded up by at most some picoseconds.
fn is(bound: Picoseconds, (number, per): (i128, i128)) -> bool {
    let exact = up(number * SECOND, per);
    (exact..exact + 400).contains(&bound)
}

/// Servers `(rate, latency in s)` and flows `(burst, rate, path)` in bit and s.
fn fluid(servers: &[(u64, i128)], flows: &[(u64, u64, &[usize])]) -> Network {
    Network {
        servers: servers.iter().map(|&(rate, latency)| Server::fluid(Service::rate_latency(rate, latency * SECOND))).collect(),
        flows: flows.iter().map(|&(burst, rate, path)| Flow::fluid(burst, rate, path.to_vec())).collect(),
    }
}

/// Bounds of a flow by TFA with and without the group rule, SFA and PMOO for any order, SFA for first in first out, and PLP.
fn all(network: &Network, flow: usize) -> [Picoseconds; 6] {
    let total = total_flow(network, Rules::ALL).unwrap();
    let separated = separated_flow(network, &total, true).unwrap();
    let by_jitter = total_flow(network, Rules { group: false, line: true }).unwrap();
    [
        total.delay(network, flow).unwrap(),
        by_jitter.delay(network, flow).unwrap(),
        separated_blind(network, &total, flow).unwrap(),
        pay_multiplexing_once(network, &total, flow).unwrap(),
        separated_flow(network, &total, false).unwrap()[flow].clone().unwrap(),
        tandem(network, &total, &separated, flow).unwrap(),
    ]
}

fn check(name: &str, network: &Network, flow: usize, expected: [(i128, i128); 6]) {
    let found = all(network, flow);
    for (method, (bound, exact)) in found.into_iter().zip(expected).enumerate() {
        assert!(is(bound, exact), "{name}, flow {flow}, method {method}: {bound}, not {exact:?} s");
    }
}

#[test]
fn in_any_order_all_that_came_has_left_when_nothing_waits() {
    // 10 bit at 2 bit/s and 20 bit at 3 bit/s share 10 bit/s after 1 s, beside 5 bit of others: 45 bit at the 5 bit/s that are left.
    let port = Service::rate_latency(10, SECOND);
    let serving = Serving::AnyOrder { port: port.clone(), servers: vec![0, 1], lower: 5 };
    let server = Server { serving, ..Server::fluid(port) };
    let network = Network { servers: vec![server.clone(), server], flows: vec![Flow::fluid(10, 2, vec![0]), Flow::fluid(20, 3, vec![1])] };
    let total = total_flow(&network, Rules::ALL).unwrap();
    assert_eq!(total.delays, [9 * SECOND; 2]);
    // What came within 9 s: 28 and 47 bit.
    assert_eq!(total.backlogs, [28, 47]);
    assert!(tandem(&network, &total, &[], 0).is_err() && separated_flow(&network, &total, true).unwrap()[0].is_err());
    let network = Network { flows: vec![Flow::fluid(10, 2, vec![0]), Flow::fluid(20, 8, vec![1])], ..network };
    assert_eq!(total_flow(&network, Rules::ALL).unwrap_err(), NoBound::Overloaded { offered: 10, served: 10 });
}

#[test]
fn values_of_the_disco_calculator() {
    let whole = |n: i128| (n, 1);
    let (ten, twenty) = ((10, 10), (20, 20));
    let f = |path: &'static [usize]| (25, 5, path);
    check("one server", &fluid(&[ten], &[f(&[0]); 2]), 0, [whole(15), whole(15), whole(30), whole(30), (35, 2), whole(15)]);
    check("two servers", &fluid(&[ten; 2], &[f(&[0, 1]); 2]), 0, [whole(40), whole(45), whole(65), whole(50), (145, 4), whole(25)]);
    let short: (u64, u64, &[usize]) = (10, 2, &[0, 1]);
    let four = fluid(&[ten; 2], &[short; 4]);
    check("four flows", &four, 0, [whole(36), (196, 5), (165, 2), whole(60), (363, 10), whole(24)]);
    let three = fluid(&[twenty; 3], &[f(&[0, 1, 2]); 2]);
    check("three servers", &three, 0, [(195, 2), (855, 8), (320, 3), (250, 3), (15_875, 192), (125, 2)]);
    let last = fluid(&[twenty; 2], &[f(&[0, 1]), f(&[1])]);
    check("one joins", &last, 0, [(195, 4), (785, 16), whole(50), whole(50), (515, 12), (685, 16)]);
    let [total, _, _, once, ..] = all(&last, 1);
    assert!(is(total, (55, 2)) && is(once, (110, 3)));
    let one = fluid(&[ten, (6, 6)], &[f(&[0, 1])]);
    check("one flow", &one, 0, [whole(31), (397, 12), (121, 6), (121, 6), (121, 6), (121, 6)]);
    let middle = fluid(&[twenty; 4], &[f(&[0, 1, 2, 3]), f(&[1, 2])]);
    check("four servers", &middle, 0, [(4_055, 32), (17_245, 128), whole(105), (290, 3), (4_355, 48), (1_325, 16)]);
    let [total, _, _, once, ..] = all(&middle, 1);
    assert!(is(total, whole(65)) && is(once, (190, 3)));
    let mixed = fluid(&[twenty; 3], &[f(&[0, 1]), f(&[2]), f(&[0, 1, 2])]);
    check("three flows", &mixed, 0, [whole(55), (225, 4), whole(65), (170, 3), (2_375, 48), (85, 2)]);
    let [total, _, _, once, ..] = all(&mixed, 2);
    assert!(is(total, (2_875, 32)) && is(once, whole(85)));
    let tree = fluid(&[twenty; 3], &[f(&[0, 2]), f(&[1, 2])]);
    check("tree", &tree, 0, [(215, 4), (435, 8), (170, 3), (170, 3), (575, 12), (575, 12)]);
    let large = fluid(&[twenty; 7], &[f(&[1, 2, 5, 6]), f(&[0, 1, 2, 5, 6]), f(&[3, 4, 5, 6])]);
    check("large tree", &large, 0, [(395, 2), (35_575, 128), (1_735, 6), (355, 2), (47_395, 256), (855, 8)]);
    let [total, _, _, once, ..] = all(&large, 2);
    assert!(is(total, whole(180)) && is(once, (355, 2)));
}

/// panco's interleaved tandem: one flow through all servers, one more over each pair of neighbours. In 30 Mbit/s and 3000 bit in place of
/// 10 Mbit/s and 1000 bit, so that the rates are whole numbers.
fn tandem_of_panco(servers: usize) -> Network {
    let line = Some(TokenBucket { burst: 0, rate: 30_000_000 });
    let server = Server { line, ..Server::fluid(Service::rate_latency(30_000_000, SECOND / 1_000)) };
    let mut flows = vec![Flow::fluid(3_000, 8_000_000, (0..servers).collect())];
    flows.extend((0..servers - 1).map(|first| Flow::fluid(3_000, 8_000_000, vec![first, first + 1])));
    Network { servers: vec![server; servers], flows }
}

/// A bound in units of 10 ns, rounded.
fn in_ten_ns(bound: Picoseconds) -> i128 {
    (bound + 5_000) / 10_000
}

#[test]
fn tandems_of_panco() {
    let expected = [
        (2, 220_000, 220_000, 262_970),
        (4, 565_867, 554_895, 621_553),
        (6, 1_046_696, 1_002_767, 1_037_262),
        (8, 1_710_691, 1_587_759, 1_528_241),
        (10, 2_627_554, 2_351_083, 2_108_064),
    ];
    for (servers, by_line, by_group, separated) in expected {
        let network = tandem_of_panco(servers);
        let line = total_flow(&network, Rules { group: false, line: true }).unwrap();
        let group = total_flow(&network, Rules::ALL).unwrap();
        assert_eq!(in_ten_ns(line.delay(&network, 0).unwrap()), by_line, "{servers} servers by line");
        assert_eq!(in_ten_ns(group.delay(&network, 0).unwrap()), by_group, "{servers} servers by group");
        let flows = separated_flow(&network, &line, false).unwrap();
        assert_eq!(in_ten_ns(flows[0].clone().unwrap()), separated, "{servers} servers separated");
        // Bursts that are limited by another bound never loosen the result.
        let limited = separated_flow(&network, &group, true).unwrap();
        assert!(limited.iter().zip(&flows).all(|(one, two)| one.as_ref().unwrap() <= two.as_ref().unwrap()));
    }
}

#[test]
fn programs_of_panco_with_certificates() {
    let expected =
        [(2, 220_000, 220_000), (4, 462_756, 461_130), (6, 777_335, 767_123), (8, 1_194_945, 1_172_409), (10, 1_684_698, 1_640_750)];
    for (servers, by_line, by_group) in expected {
        let network = tandem_of_panco(servers);
        let line = total_flow(&network, Rules { group: false, line: true }).unwrap();
        let flows = separated_flow(&network, &line, false).unwrap();
        assert_eq!(in_ten_ns(tandem(&network, &line, &flows, 0).unwrap()), by_line, "{servers} servers by line");
        let group = total_flow(&network, Rules::ALL).unwrap();
        assert_eq!(in_ten_ns(tandem(&network, &group, &flows, 0).unwrap()), by_group, "{servers} servers by group");
    }
    let network = tandem_of_panco(4);
    let total = total_flow(&network, Rules { group: false, line: true }).unwrap();
    let flows = separated_flow(&network, &total, false).unwrap();
    let bounds: Vec<i128> = (0..4).map(|flow| in_ten_ns(tandem(&network, &total, &flows, flow).unwrap())).collect();
    assert_eq!(bounds, [462_756, 235_333, 269_279, 269_479]);
    // Without the delays of TFA++ and SFA the program alone is worse than SFA.
    let unknown = TotalFlow { delays: vec![SECOND; 4], ..total };
    assert_eq!(in_ten_ns(tandem(&network, &unknown, &[], 0).unwrap()), 686_268);
}

/// A ring in which every flow passes all servers, each from its own one on.
fn ring(load: u64) -> Network {
    let line = Some(TokenBucket { burst: 0, rate: 10_000_000 });
    let server = Server { line, ..Server::fluid(Service::rate_latency(10_000_000, SECOND / 1_000)) };
    let flow = |first: usize| Flow::fluid(1_000, load * 1_000_000 / 5, (0..5).map(|hop| (first + hop) % 5).collect());
    Network { servers: vec![server; 5], flows: (0..5).map(flow).collect() }
}

#[test]
fn rings_settle_in_whole_picoseconds_or_are_refused() {
    for (load, sum, rounds) in [(5, 7_000_000_000, 13), (7, 11_065_573_775, 29), (8, 22_115_384_620, 65)] {
        let found = total_flow(&ring(load), Rules { group: false, line: true }).unwrap();
        assert_eq!((found.delays.iter().sum::<Picoseconds>(), found.rounds), (sum, rounds), "load {load}");
    }
    match total_flow(&ring(9), Rules::ALL) {
        Err(NoBound::Unsettled { servers, load_percent: 90 }) => assert_eq!(servers, [0, 1, 2, 3, 4]),
        other => panic!("{other:?}"),
    }
    assert_eq!(
        total_flow(&ring(9), Rules::ALL).unwrap_err().to_string(),
        "the cycle through servers [0, 1, 2, 3, 4] does not settle at a load of 90 %"
    );
    // The group rule starts at the certificate, and what follows from bounds is a bound.
    let by_group = total_flow(&ring(8), Rules::ALL).unwrap();
    assert!(by_group.delays.iter().sum::<Picoseconds>() <= 22_115_384_620);
}

#[test]
fn rings_descend_from_their_fixed_point() {
    for (load, most) in [(5, 623_356), (7, 753_102), (8, 901_121)] {
        let network = ring(load);
        let fixed = total_flow(&network, Rules { group: false, line: true }).unwrap();
        let before = in_ten_ns(tandem(&network, &fixed, &[], 0).unwrap());
        let total = descended(&network, fixed.clone()).unwrap();
        let after = in_ten_ns(tandem(&network, &total, &[], 0).unwrap());
        assert!(after <= most && after < before, "load {load}: {before}, then {after}");
        assert!(total.delays.iter().zip(&fixed.delays).all(|(new, old)| new <= old));
    }
    // Without a cycle nothing changes.
    let network = tandem_of_panco(4);
    let total = total_flow(&network, Rules::ALL).unwrap();
    assert_eq!(descended(&network, total.clone()).unwrap(), total);
}
