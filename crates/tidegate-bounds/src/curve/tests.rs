//! Curves against slow exact arithmetic: distances, convolution, output, and the laws of their algebra.

use super::*;
use crate::aggregate::Aggregate;
use proptest::prelude::*;

const SECOND: Picoseconds = PICOBITS;

type Exact = BigRational;

fn exact(number: i128) -> Exact {
    Exact::from_integer(number.into())
}

fn arrivals() -> impl Strategy<Value = Arrival> {
    proptest::collection::vec((0u64..9, 1u64..9), 1..4)
        .prop_map(|buckets| Arrival::new(buckets.into_iter().map(|(burst, rate)| TokenBucket::of_bits(burst, rate))))
}

fn services() -> impl Strategy<Value = Service> {
    proptest::collection::vec((1u64..20, 0i128..5), 1..4)
        .prop_map(|pieces| Service::new(pieces.into_iter().map(|(rate, latency)| RateLatency { rate, latency: latency * SECOND })).unwrap())
}

fn at(arrival: &Arrival, t: &Exact) -> Exact {
    arrival.buckets().iter().map(|bucket| exact(bucket.burst) + exact(bucket.rate.into()) * t).min().unwrap()
}

fn inverse(service: &Service, work: &Exact) -> Exact {
    service.pieces().iter().map(|piece| work / exact(piece.rate.into()) + exact(piece.latency)).min().unwrap()
}

fn served(service: &Service, t: &Exact) -> Exact {
    let pieces = service.pieces().iter().map(|piece| exact(piece.rate.into()) * (t - exact(piece.latency)));
    pieces.max().unwrap().max(exact(0))
}

/// Every instant at which a distance can be largest: the crossings of all pairs of buckets, and of buckets with bends of the service.
fn candidates(arrival: &Arrival, service: &Service) -> Vec<Exact> {
    let mut times = vec![exact(0)];
    for one in arrival.buckets() {
        for two in arrival.buckets().iter().filter(|two| two.rate < one.rate && two.burst > one.burst) {
            times.push(Exact::new((two.burst - one.burst).into(), (one.rate - two.rate).into()));
        }
        for pair in service.pieces().windows(2) {
            let (_, per, served) = bend(pair[0], pair[1]).unwrap();
            let reached = Exact::new((served - one.burst * per).into(), (per * i128::from(one.rate)).into());
            times.push(reached.max(exact(0)));
        }
    }
    times
}

#[test]
fn the_worked_examples_of_two_curves() {
    let sum = |buckets: &[(u64, u64)]| {
        Aggregate::of([&Arrival::new(buckets.iter().map(|&(burst, rate)| TokenBucket::of_bits(burst, rate)))]).unwrap()
    };
    let server = Service::rate_latency(200, SECOND / 100);
    let flow = sum(&[(10, 100)]);
    assert_eq!(flow.backlog_bits(&server), Ok(11));
    assert_eq!(flow.delay(&server), Ok(3 * SECOND / 50));
    assert_eq!(Arrival::token_bucket(10, 100).deconvolved(&server).unwrap(), Arrival::token_bucket(11, 100));
    assert_eq!(flow.delay(&server.then(&server).unwrap()), Ok(7 * SECOND / 100));
    // 13/200 s: RFC 2212 with M 1, b 10, p 1000, r 100 through 200 after 20 ms.
    assert_eq!(sum(&[(1, 1_000), (10, 100)]).delay(&Service::rate_latency(200, SECOND / 50)), Ok(13 * SECOND / 200));
    // A flow without a burst still waits for the latency.
    assert_eq!(sum(&[(0, 9)]).delay(&Service::rate_latency(18, SECOND)), Ok(SECOND));
    assert_eq!(sum(&[(1, 9)]).delay(&Service::link(8)), Err(NoBound::Overloaded { offered: 9, served: 8 }));
    assert_eq!(sum(&[(16, 8)]).delay(&Service::link(8)), Ok(2 * SECOND));
}

#[test]
fn buckets_that_are_never_the_least_are_dropped() {
    let buckets = |list: &[(u64, u64)]| list.iter().map(|&(burst, rate)| TokenBucket::of_bits(burst, rate)).collect::<Vec<_>>();
    // The middle one touches the kink of its neighbours only.
    assert_eq!(Arrival::new(buckets(&[(0, 4), (4, 2), (2, 3), (9, 2), (1, 5)])).buckets(), buckets(&[(0, 4), (4, 2)]));
    let many: Vec<TokenBucket> = (0..20).map(|k| TokenBucket::of_bits(k * k, 100 - 2 * k)).collect();
    let curve = Arrival::new(many.clone());
    assert_eq!((curve.buckets().len(), curve.buckets()[0], curve.sustained()), (MOST_BUCKETS, many[0], many[19]));
}

proptest! {
    #[test]
    fn the_delay_is_the_largest_horizontal_distance(arrival in arrivals(), other in arrivals(), service in services()) {
        let found = Aggregate::of([&arrival]).unwrap().delay(&service);
        if arrival.rate() > service.rate() {
            prop_assert!(found.is_err());
        } else {
            let distances = candidates(&arrival, &service).into_iter().map(|t| inverse(&service, &at(&arrival, &t)) - t);
            let exact = distances.max().unwrap().max(exact(0)).ceil().to_integer();
            prop_assert_eq!(found.unwrap(), i128::try_from(exact).unwrap());
        }
        // The sum of two curves, as one curve, has the same delay.
        let both = Aggregate::of([&arrival, &other]).unwrap();
        prop_assert_eq!(both.delay(&service), Aggregate::of([&both.as_arrival().unwrap()]).unwrap().delay(&service));
    }

    #[test]
    fn the_backlog_is_the_largest_vertical_distance(arrival in arrivals(), service in services()) {
        prop_assume!(arrival.rate() <= service.rate());
        let mut times = candidates(&arrival, &service);
        times.push(exact(service.latency()));
        times.extend(service.pieces().windows(2).map(|pair| { let (n, d, _) = bend(pair[0], pair[1]).unwrap(); Exact::new(n.into(), d.into()) }));
        let most = times.iter().map(|t| at(&arrival, t) - served(&service, t)).max().unwrap().ceil().to_integer();
        prop_assert_eq!(Aggregate::of([&arrival]).unwrap().backlog(&service).unwrap(), i128::try_from(most).unwrap());
    }

    /// On a grid of eighths the infimum over both parts is the convolution, up to the rounding of its latencies.
    #[test]
    fn two_servers_in_a_row_are_their_convolution(one in services(), two in services(), next in services()) {
        let both = one.then(&two).unwrap();
        prop_assert_eq!(&both, &two.then(&one).unwrap());
        for eighth in [1, 3, 7, 20, 33, 48, 71] {
            let t = exact(eighth * SECOND / 8);
            let split = |part: i128| served(&one, &exact(part * SECOND / 8)) + served(&two, &exact((eighth - part) * SECOND / 8));
            let grid = (0..=eighth).map(split).min().unwrap();
            prop_assert!(served(&both, &t) <= grid);
        }
        // Associative, up to 1 ps per rounding.
        let (left, right) = (both.then(&next).unwrap(), one.then(&two.then(&next).unwrap()).unwrap());
        prop_assert_eq!(left.rate(), right.rate());
        for second in [1, 2, 5, 11, 30] {
            let t = exact(second * SECOND);
            let apart = served(&left, &t) - served(&right, &t);
            prop_assert!(apart.clone() <= exact(60) && apart >= exact(-60));
        }
    }

    #[test]
    fn the_lesser_curve_is_the_lesser_one_everywhere(one in arrivals(), two in arrivals()) {
        let least = one.min(&two);
        for third in 0..60 {
            let t = third * SECOND / 3;
            prop_assert_eq!(least.at(t).unwrap(), one.at(t).unwrap().min(two.at(t).unwrap()));
        }
    }

    #[test]
    fn a_bucket_on_a_line_is_the_lesser_of_both(burst in 0u64..9, rate in 1u64..9, other in 0u64..9, fast in 1u64..9, service in services()) {
        let (bucket, line) = (TokenBucket::of_bits(burst, rate), TokenBucket::of_bits(other, fast));
        let mut sum = Aggregate::default();
        sum.add_on_line(bucket, Some(line)).unwrap();
        let both = Aggregate::of([&Arrival::new([bucket, line])]).unwrap();
        prop_assert_eq!(sum.as_arrival().unwrap(), both.as_arrival().unwrap());
        prop_assert_eq!(sum.delay(&service), both.delay(&service));
    }

    /// What leaves a server keeps its deconvolution: it is at least the arrivals of any window less what must have been served.
    #[test]
    fn the_output_curve_covers_every_window(arrival in arrivals(), service in services()) {
        prop_assume!(arrival.rate() <= service.rate());
        let output = arrival.deconvolved(&service).unwrap();
        for (later, window) in (0..24).step_by(3).flat_map(|later| (0..24).step_by(3).map(move |window| (later, window))) {
            let (u, t) = (exact(later * SECOND / 2), exact(window * SECOND / 2));
            let least = at(&arrival, &(&u + &t)) - served(&service, &u);
            // A bucket that is faster than the server is dropped, and then the curve is the looser one.
            prop_assert!(at(&output, &t) >= least || arrival.peak() > service.rate());
        }
        prop_assert!(output.sustained().burst >= arrival.sustained().burst);
    }

    #[test]
    fn more_traffic_waits_longer_and_more_service_less(arrival in arrivals(), more in arrivals(), service in services(), rate in 1u64..9, burst in 0u64..9) {
        prop_assume!(arrival.rate() + more.rate() + rate <= service.rate());
        let alone = Aggregate::of([&arrival]).unwrap();
        let both = Aggregate::of([&arrival, &more]).unwrap();
        prop_assert!(alone.delay(&service).unwrap() <= both.delay(&service).unwrap());
        prop_assert!(alone.backlog(&service).unwrap() <= both.backlog(&service).unwrap());
        let left = service.beside(&[TokenBucket::of_bits(burst, rate)], 0).unwrap();
        prop_assert!(alone.delay(&service).unwrap() <= alone.delay(&left).unwrap());
        for second in 0..30 {
            let t = exact(second * SECOND);
            let rest = (served(&service, &t) - exact(PICOBITS * i128::from(burst + rate * second as u64))).max(exact(0));
            prop_assert!(served(&left, &t) <= rest);
        }
    }
}
