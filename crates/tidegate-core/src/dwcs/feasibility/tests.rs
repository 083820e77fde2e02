//! The theorem and its bounds on random sets, and sets beyond them that violate.

use super::*;
use crate::dwcs::{Choice, Dwcs, Early, Missed, Order, Request, Rules, Scan, Service, Window, resolve};
use crate::packet::Flow;
use alloc::vec::Vec;
use proptest::prelude::*;

/// Reproducible numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn window(&mut self, longest: u64) -> Window {
        let deadlines = 1 + self.below(longest);
        Window::new(self.below(deadlines) as u32, deadlines as u32)
    }

    /// Up to `most` streams of periods drawn by `period`, as many of them as the link can serve.
    fn feasible(&mut self, most: u64, mut period: impl FnMut(&mut Random) -> u64) -> Vec<Stream> {
        let mut streams = Vec::new();
        for _ in 0..2 + self.below(most - 1) {
            let stream = Stream::windowed(self.window(12), period(self));
            streams.push(stream);
            if !Feasibility::of(&streams).utilisation.fits() {
                streams.pop();
            }
        }
        streams
    }
}

const RULES: Rules = Rules { missed: Missed::Complete, early: Early::Allow };

/// The ticks at which each stream was served, and the violations; `is_on` says which streams are backlogged.
fn run(rules: Rules, streams: &[Stream], ticks: u64, mut is_on: impl FnMut(usize, u64) -> bool) -> (Vec<Vec<u64>>, u64) {
    let mut engine = Scan::new(rules, Order::default(), streams).unwrap();
    let mut on = alloc::vec![false; streams.len()];
    let mut served = alloc::vec![Vec::new(); streams.len()];
    for tick in 0..ticks {
        for (index, was_on) in on.iter_mut().enumerate() {
            let (flow, is_on) = (Flow(index as u32), is_on(index, tick));
            if is_on && !*was_on {
                engine.activate(tick, flow, tick);
            } else if *was_on && !is_on {
                engine.lost(flow, None);
            }
            *was_on = is_on;
        }
        if let Choice::Serve(flow) = engine.select(tick) {
            served[flow.index()].push(tick);
            engine.served(flow, tick + 1, Some(tick + 1));
        }
    }
    engine.select(ticks);
    let violations = (0..streams.len() as u32).map(|index| engine.standing(Flow(index)).tally.violations).sum();
    (served, violations)
}

fn longest_gap(served: &[u64]) -> u128 {
    served.windows(2).map(|pair| u128::from(pair[1] - pair[0])).max().unwrap_or(0)
}

/// Fewest services in any of the windows that follow each other from tick 0 on.
fn least_service(served: &[u64], of: u128, ticks: u64) -> usize {
    let of = of as u64;
    (0..ticks / of).map(|window| served.iter().filter(|&&tick| tick / of == window).count()).min().unwrap_or(usize::MAX)
}

#[test]
fn ten_thousand_feasible_sets_keep_their_windows_and_bounds() {
    let mut random = Random(7);
    let (mut tight, mut beyond_the_published) = (0, 0);
    for set in 0..10_000 {
        let period = [1, 1, 2, 3, 5][random.below(5) as usize];
        let streams = random.feasible(8, |_| period);
        let missed = if set % 4 == 0 { Missed::Start } else { Missed::Complete };
        let (served, violations) = run(Rules { missed, ..RULES }, &streams, 240, |_, _| true);
        assert_eq!(violations, 0, "{streams:?}");
        for (stream, served) in streams.iter().zip(&served) {
            let (bound, gap) = (stream.longest_gap().unwrap(), longest_gap(served));
            assert!(gap <= bound, "{gap} exceeds {bound}: {stream:?} among {streams:?}");
            tight += u32::from(gap == bound);
            beyond_the_published += u32::from(gap > u128::from(stream.window.tolerated + 1) * u128::from(period));
            if missed == Missed::Complete {
                let least = stream.least_service().unwrap();
                assert!(least_service(served, least.of, 240) as u64 >= least.ticks, "{stream:?} among {streams:?}");
            }
        }
    }
    assert!(tight > 100, "the bound is attained, here {tight} times");
    assert!(beyond_the_published > 100, "the published bound is exceeded, here {beyond_the_published} times");
}

#[test]
fn with_periods_of_one_tick_streams_may_come_and_go() {
    let mut random = Random(11);
    for _ in 0..2000 {
        let streams = random.feasible(8, |_| 1);
        let phases: Vec<(u64, u64)> = streams.iter().map(|_| (1 + random.below(40), 1 + random.below(15))).collect();
        let is_on = |index: usize, tick: u64| (tick + 3 * index as u64) % (phases[index].0 + phases[index].1) < phases[index].0;
        let (_, violations) = run(RULES, &streams, 200, is_on);
        assert_eq!((Feasibility::of(&streams).verdict, violations), (Verdict::Kept, 0), "{streams:?} {phases:?}");
    }
}

#[test]
fn held_back_streams_keep_their_windows_too() {
    let mut random = Random(13);
    for _ in 0..1000 {
        let period = 1 + random.below(5);
        let streams = random.feasible(8, |_| period);
        assert_eq!(run(Rules { early: Early::Hold, ..RULES }, &streams, 200, |_, _| true).1, 0, "{streams:?}");
    }
}

/// Each is the least sum found among random sets.
#[test]
fn without_a_guarantee_windows_are_violated() {
    let stream = |x, y, period, first| Stream { first_deadline: Some(first), ..Stream::windowed(Window::new(x, y), period) };
    let unequal = [stream(4, 5, 1, 1), stream(3, 5, 6, 6), stream(1, 3, 6, 6)];
    assert_eq!(Feasibility::of(&unequal).verdict, Verdict::NotProven);
    assert!(run(RULES, &unequal, 200, |_, _| true).1 > 0);
    let staggered = [stream(2, 6, 3, 4), stream(5, 8, 3, 4), stream(2, 3, 3, 3), stream(4, 5, 3, 3)];
    assert_eq!(
        Feasibility::of(&staggered),
        Feasibility { utilisation: Utilisation::new(21, 40), verdict: Verdict::KeptIfAligned, has_priority: false }
    );
    assert!(run(RULES, &staggered, 200, |_, _| true).1 > 0);
    let aligned = staggered.map(|stream| Stream { first_deadline: None, ..stream });
    assert_eq!(run(RULES, &aligned, 2000, |_, _| true).1, 0);
}

#[test]
fn random_sets_of_unequal_periods_violate_although_they_fit() {
    let mut random = Random(19);
    let (mut sets, mut violating) = (0, 0);
    for _ in 0..2000 {
        let streams = random.feasible(3, |random| 1 + random.below(6));
        if Feasibility::of(&streams).verdict == Verdict::NotProven {
            sets += 1;
            violating += u32::from(run(RULES, &streams, 200, |_, _| true).1 > 0);
        }
    }
    assert!(violating > 30, "{violating} of {sets}");
}

#[test]
fn shares_that_fill_the_link_beside_windows_keep_them() {
    let mut random = Random(23);
    for _ in 0..1000 {
        let windows = random.feasible(5, |_| 1);
        let mut requests: Vec<Request> = windows.iter().map(|stream| Request::of(Service::Window(stream.window))).collect();
        requests.extend((0..1 + random.below(3)).map(|_| share(1 + random.below(5) as u32)));
        let Ok(streams) = resolve(&requests) else { continue };
        assert_eq!(Feasibility::of(&streams).utilisation, Utilisation::new(1, 1));
        assert_eq!(run(RULES, &streams, 400, |_, _| true).1, 0, "{streams:?}");
    }
}

#[test]
fn overload_violates_and_still_has_a_bound() {
    let mut random = Random(17);
    let mut closest = 0;
    for _ in 0..2000 {
        let period = 1 + random.below(3);
        let streams: Vec<Stream> = (0..2 + random.below(5)).map(|_| Stream::windowed(random.window(8), period)).collect();
        let feasibility = Feasibility::of(&streams);
        if feasibility.verdict != Verdict::Overloaded {
            continue;
        }
        let (served, violations) = run(RULES, &streams, 1500, |_, _| true);
        assert!(violations > 0, "{streams:?}");
        for (stream, served) in streams.iter().zip(&served) {
            let bound = stream.longest_gap_in_overload(&streams).unwrap();
            let gap = longest_gap(served).max(u128::from(1500 - served.last().copied().unwrap_or(0)));
            assert!(gap <= bound, "{gap} exceeds {bound}: {stream:?} among {streams:?}");
            closest = closest.max(gap * 100 / bound);
        }
    }
    assert!(closest > 60, "the bound is not far off: {closest} % at most");
    let without_penalty = Stream { penalty: 0, ..Stream::windowed(Window::new(1, 2), 1) };
    assert_eq!(without_penalty.longest_gap_in_overload(&[without_penalty; 3]), None);
}

#[test]
fn streams_of_static_priority_reserve_nothing() {
    let streams = [Stream::static_priority(0), Stream::without_deadline(Window::new(1, 2)), Stream::windowed(Window::new(1, 4), 2)];
    let feasibility = Feasibility::of(&streams);
    assert_eq!(feasibility, Feasibility { utilisation: Utilisation::new(3, 8), verdict: Verdict::KeptIfAligned, has_priority: true });
    assert_eq!([0, 1, 2].map(|index: usize| streams[index].longest_gap()), [None, None, Some(7)]);
    assert_eq!(Stream::windowed(Window::new(3, 3), 1).least_service(), None);
    assert_eq!(Stream::windowed(Window::NONE, 4).least_service(), Some(LeastService { ticks: 1, of: 4 }));
    assert!(!Feasibility::of(&streams[1..]).has_priority);
}

fn windows(requests: &[Request]) -> Vec<(u32, u32)> {
    resolve(requests).unwrap().iter().map(|stream| (stream.window.tolerated, stream.window.deadlines)).collect()
}

fn share(weight: u32) -> Request {
    Request::of(Service::FairShare(weight))
}

#[test]
fn shares_take_what_is_left() {
    // Figure 15: 2:1:1 and a stream of static priority.
    let figure_15 = windows(&[share(2), share(1), share(1), Request::of(Service::StaticPriority(0))]);
    assert_eq!(figure_15[..3], [(1, 2), (3, 4), (3, 4)]);
    // Figure 16: 2:1 beside two deadlines in four slots.
    let urgent = Request { period: 4, ..Request::of(Service::EarliestDeadline) };
    let figure_16 = [share(2), share(1), urgent, urgent];
    assert_eq!(windows(&figure_16), [(2, 3), (5, 6), (0, 255), (0, 255)]);
    assert_eq!(Feasibility::of(&resolve(&figure_16).unwrap()).utilisation, Utilisation::new(1, 1));
    let whole = Request::of(Service::EarliestDeadline);
    let error = resolve(&[whole, share(1)]).unwrap_err();
    assert_eq!((error.stream, error.problem.contains("nothing is left")), (Some(Flow(1)), true));
    assert!(resolve(&[whole, whole]).is_ok(), "resolving does not check feasibility");
    let wrong = Request::of(Service::Window(Window::new(3, 2)));
    assert_eq!(resolve(&[share(1), wrong]).unwrap_err().stream, Some(Flow(1)));
}

#[test]
fn a_million_shares_are_resolved_at_once() {
    let streams = resolve(&alloc::vec![share(1); 1_000_000]).unwrap();
    assert_eq!(streams[999_999].window, Window::new(999_999, 1_000_000));
    assert_eq!(Feasibility::of(&streams).utilisation, Utilisation::new(1, 1));
}

fn any_request() -> impl Strategy<Value = Request> {
    let term = prop_oneof![1u32..20, any::<u32>().prop_map(|term| term.max(1)), Just(u32::MAX)];
    let period = prop_oneof![4u64..40, 1u64 << 20..1 << 48];
    (0u8..4, term, any::<u32>(), period).prop_map(|(kind, y, x, period)| match kind {
        0 | 1 => share(y % 100_000 + 1),
        2 => Request { period, ..Request::of(Service::EarliestDeadline) },
        _ => Request { period, ..Request::of(Service::Window(Window::new(x % y, y))) },
    })
}

proptest! {
    /// Rounded or not, the sum of shares is at most 1, and at least 1 - 1e-8.
    #[test]
    fn shares_are_exact_or_rounded_down(requests in proptest::collection::vec(any_request(), 1..5), weight in 1u32..9) {
        let requests: Vec<Request> = requests.into_iter().chain([share(weight)]).collect();
        let reserved = requests.iter().filter(|request| !matches!(request.service, Service::FairShare(_))).count();
        match resolve(&requests) {
            Err(error) => prop_assert!(reserved >= 4 || error.problem.contains("less than one slot"), "{error}"),
            Ok(streams) => {
                let sum = Feasibility::of(&streams).utilisation;
                prop_assert!(!sum.exceeds_all(), "{sum}");
                let part = sum.numerator() as f64 / sum.denominator() as f64;
                prop_assert!((0.999_999_99..=1.000_000_001).contains(&part), "{part}");
            }
        }
    }

    #[test]
    fn sums_that_do_not_fit_are_rounded_up(terms in proptest::collection::vec((1u128..1 << 80, 0u32..127), 1..40)) {
        let (mut sum, mut expected) = (Utilisation::ZERO, 0.0);
        for (numerator, shift) in terms {
            let denominator = (numerator + (1 << (shift % 80))) | 1;
            sum = sum.plus(Utilisation::new(numerator, denominator));
            expected += numerator as f64 / denominator as f64;
        }
        let upper = sum.numerator() as f64 / sum.denominator() as f64;
        let lower = (sum.numerator() - sum.rounding) as f64 / sum.denominator() as f64;
        prop_assert!(upper >= expected * (1.0 - 1e-12) && lower <= expected * (1.0 + 1e-12) && upper - lower < 1e-15 * 40.0, "{sum}: {expected}");
        prop_assert!(sum.exceeds_all() == (lower > 1.0) || (lower - 1.0).abs() < 1e-9);
    }
}
