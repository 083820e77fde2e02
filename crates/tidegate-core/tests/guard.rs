//! The guard of the bus: the oracles of its specification, its laws, how long a flow within its share waits, and comparison with exact fractions.

mod slow_guard;

use proptest::prelude::*;
use slow_guard::{Fraction, RoundRobinBus, Slow, fill};
use tidegate_core::guard::{
    Activity, ActivityError, Claim, Guard, GuardError, GuardSettings, GuardedFlow, MOST_BYTES, Ratio, UNITS_PER_BYTE, Vacancies,
    WaterFilling,
};
use tidegate_core::random::SplitMix64;

const PLENTY: u32 = 1_000_000;

fn guard(weights: &[u32], frames: &[u32], capacity: u64, clamp: Option<u32>) -> Guard {
    let flows: Vec<GuardedFlow> = weights.iter().zip(frames).map(|(&weight, &frame)| GuardedFlow { weight, frame }).collect();
    let clamp = clamp.map(|numerator| Ratio { numerator, denominator: 1 });
    Guard::new(&GuardSettings { clamp, ..GuardSettings::new(capacity) }, &flows).unwrap()
}

fn answer(vacancies: Vacancies) -> Option<Vec<u32>> {
    match vacancies {
        Vacancies::Open => None,
        Vacancies::Limited(vacancies) => Some(vacancies.to_vec()),
    }
}

fn filled(claims: &[(u32, i64, i64)], capacity: i64) -> Vec<i64> {
    let claims: Vec<Claim> = claims.iter().map(|&(weight, most, credit)| Claim { weight, most, credit }).collect();
    let mut grants = vec![0; claims.len()];
    WaterFilling::new(claims.len()).fill(&claims, capacity, &mut grants);
    grants
}

#[test]
fn water_is_filled_to_one_level() {
    // In halves of a unit, because one of them has 2.5.
    let halves = |claims: [(u32, i64, i64); 3]| {
        filled(&claims.map(|(weight, most, credit)| (weight, 2 * most, 2 * credit)), 12)
            .iter()
            .map(|&grant| grant as f64 / 2.0)
            .collect::<Vec<_>>()
    };
    assert_eq!(halves([(1, 6, 0), (1, 6, 0), (1, 6, 0)]), [2.0, 2.0, 2.0]);
    assert_eq!(halves([(1, 1, 0), (1, 6, 0), (1, 6, 0)]), [1.0, 2.5, 2.5]);
    assert_eq!(halves([(1, 1, 0), (1, 1, 0), (1, 1, 0)]), [1.0, 1.0, 1.0]);
    assert_eq!(halves([(2, 0, 0), (1, 9, 0), (1, 2, 0)]), [0.0, 4.0, 2.0]);
    assert_eq!(halves([(1, 6, 5), (1, 6, 0), (1, 6, 0)]), [0.0, 3.0, 3.0]);
}

/// Three flows of equal weight and frames of one byte on a bus of six bytes per period. One line per period: frames moved, waiting, credit, and
/// vacancies for the next.
fn periods(mut guard: Guard, arrivals: &[[u32; 3]], room: impl Fn(usize) -> [u32; 3]) -> Vec<[String; 4]> {
    let mut bus = RoundRobinBus { begins_anew: true, ..RoundRobinBus::new(&[1; 3], 6) };
    let mut vacancies = vec![99; 3];
    let words = |numbers: &[i64]| numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(" ");
    let mut lines = Vec::new();
    for (number, arrivals) in arrivals.iter().enumerate() {
        let usable: Vec<u32> = vacancies.iter().zip(room(number)).map(|(&vacancy, room)| room.min(vacancy)).collect();
        let moved = bus.period(number as u64, arrivals, &usable);
        let next = room(number + 1);
        let activity: Vec<Activity> =
            (0..3).map(|flow| Activity { accepted: u64::from(arrivals[flow]), moved: u64::from(moved[flow]), room: next[flow] }).collect();
        let answered = answer(guard.activate(&activity).unwrap());
        let written = answered.as_ref().map_or("open".to_owned(), |vacancies| vacancies.iter().map(u32::to_string).collect());
        vacancies = answered.unwrap_or(vec![99; 3]);
        let waiting: Vec<i64> = (0..3).map(|flow| guard.waiting(flow).unwrap() as i64).collect();
        let credit: Vec<i64> = (0..3).map(|flow| guard.credit(flow).unwrap() / UNITS_PER_BYTE).collect();
        assert!((0..3).all(|flow| guard.credit(flow).unwrap() % UNITS_PER_BYTE == 0));
        lines.push([moved.iter().map(u32::to_string).collect(), words(&waiting), words(&credit), written]);
    }
    lines
}

fn column(lines: &[[String; 4]], column: usize) -> Vec<&str> {
    lines.iter().map(|line| line[column].as_str()).collect()
}

const BURSTS: [[u32; 3]; 13] = {
    let mut arrivals = [[0; 3]; 13];
    (arrivals[0], arrivals[6], arrivals[7]) = ([2, 2, 2], [2, 2, 2], [2, 2, 2]);
    (arrivals[1], arrivals[2], arrivals[3]) = ([2, 2, 8], [2, 2, 8], [2, 2, 8]);
    (arrivals[4], arrivals[5]) = ([0, 2, 8], [0, 0, 8]);
    arrivals
};

#[test]
fn a_burst_of_one_flow_does_not_take_the_shares_of_the_others() {
    let moved = ["222", "222", "006", "222", "222", "024", "006", "222", "222", "006", "006", "006", "000"];
    let waiting =
        ["0 0 0", "0 0 6", "2 2 8", "2 2 14", "0 2 20", "0 0 24", "2 2 20", "2 2 20", "0 0 18", "0 0 12", "0 0 6", "0 0 0", "0 0 0"];
    let vacancies = ["222", "006", "222", "222", "024", "006", "222", "222", "006", "006", "006", "222", "open"];
    for clamp in [None, Some(1)] {
        let lines = periods(guard(&[1; 3], &[1; 3], 6, clamp), &BURSTS, |_| [PLENTY; 3]);
        assert_eq!(column(&lines, 0), moved);
        assert_eq!(column(&lines, 1), waiting);
        assert_eq!(column(&lines, 3), vacancies);
    }
    let unlimited = periods(guard(&[1; 3], &[1; 3], 6, None), &BURSTS, |_| [PLENTY; 3]);
    let expected =
        ["0 0 0", "0 0 0", "-2 -2 4", "-2 -2 4", "0 -2 2", "0 0 0", "-2 -2 4", "-2 -2 4", "0 0 0", "0 0 0", "0 0 0", "0 0 0", "0 0 0"];
    assert_eq!(column(&unlimited, 2), expected);
    let limited = periods(guard(&[1; 3], &[1; 3], 6, Some(1)), &BURSTS, |_| [PLENTY; 3]);
    let third: Vec<&str> = column(&limited, 2)[2..12].iter().map(|credit| credit.split(' ').next_back().unwrap()).collect();
    assert_eq!(third, ["2", "2", "0", "-2", "2", "2", "-2", "-2", "-2", "0"]);
}

#[test]
fn parts_of_a_frame_are_carried() {
    let mut guard = guard(&[1; 3], &[100, 600, 1500], 6000, Some(1));
    let mut seen = Vec::new();
    for period in 0..9 {
        // The counters move as under GPS, so that there is nothing to counterbalance.
        let activity = [Activity { accepted: 6000, moved: if period == 0 { 0 } else { 2000 }, room: PLENTY }; 3];
        seen.push(<[u32; 3]>::try_from(answer(guard.activate(&activity).unwrap()).unwrap()).unwrap());
    }
    assert_eq!(seen, [[20, 3, 1], [20, 3, 1], [20, 4, 2]].repeat(3));
    let bytes = |[a, b, c]: [u32; 3]| 100 * a + 600 * b + 1500 * c;
    assert_eq!([bytes(seen[0]), bytes(seen[1]), bytes(seen[2])], [5300, 5300, 7400]);
}

/// The third flow has no room in five periods.
fn blocked(number: usize) -> [u32; 3] {
    [PLENTY, PLENTY, if (2..7).contains(&number) { 0 } else { PLENTY }]
}

#[test]
fn a_flow_without_room_does_not_starve_the_others() {
    for clamp in [None, Some(1)] {
        let lines = periods(guard(&[1; 3], &[1; 3], 6, clamp), &[[2; 3]; 14], blocked);
        let expected = ["222", "222", "220", "220", "220", "220", "220", "006", "222", "222", "222", "222", "222", "222"];
        assert_eq!(column(&lines, 0), expected);
        let expected = ["222", "220", "220", "220", "220", "220", "006", "222", "222", "222", "222", "222", "222", "222"];
        assert_eq!(column(&lines, 3), expected);
    }
}

/// What the repairs are for: without them the others lose half their share, and all of it afterwards.
#[test]
fn without_the_repairs_a_flow_without_room_starves_the_others() {
    let mut slow = Slow { clamp: None, uses_room: false, rounds: false, ..Slow::new(&[1; 3], &[1; 3], 6) };
    let mut bus = RoundRobinBus { begins_anew: true, ..RoundRobinBus::new(&[1; 3], 6) };
    let (mut vacancies, mut all) = (vec![99; 3], Vec::new());
    for number in 0..9 {
        let usable: Vec<u32> = vacancies.iter().zip(blocked(number)).map(|(&vacancy, room)| room.min(vacancy)).collect();
        let moved = bus.period(number as u64, &[2; 3], &usable);
        let next = blocked(number + 1);
        let activity: Vec<Activity> =
            (0..3).map(|flow| Activity { accepted: 2, moved: u64::from(moved[flow]), room: next[flow] }).collect();
        vacancies = slow.activate(&activity).unwrap_or(vec![99; 3]);
        all.push(moved.iter().map(u32::to_string).collect::<String>());
    }
    assert_eq!(all, ["222", "222", "220", "110", "110", "110", "000", "005", "222"]);
}

/// A guard that is built at the first call: of weights, frames and capacity; then what it answers to each activity.
type Activate<'a> = &'a mut dyn FnMut(&[u32], &[u32], u64, &[Activity]) -> Option<Vec<u32>>;

/// Periods that a packet of the first flow waits at most, at 95 % of its share, while the others send and have room at random.
fn longest_wait(seed: u64, activate: Activate) -> u64 {
    let mut random = SplitMix64::new(seed);
    let mut below = |bound: u64| u64::from(random.below(bound as u32));
    let weights: Vec<u32> = (0..3).map(|_| [1, 1, 2, 3][below(4) as usize]).collect();
    let frames: Vec<u32> = (0..3).map(|_| [100, 600, 1500][below(3) as usize]).collect();
    let capacity = [12_000, 24_000, 48_000][below(3) as usize];
    let sum: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
    let mut bus = RoundRobinBus::new(&frames, capacity);
    let (mut vacancies, mut room, mut credit) = (vec![PLENTY; 3], vec![PLENTY; 3], 0);
    for now in 0..200 {
        // In hundredths of a byte times the sum of the weights.
        credit += 95 * u64::from(weights[0]) * capacity;
        let per_frame = 100 * sum * u64::from(frames[0]);
        let mut arrivals = vec![(credit / per_frame) as u32];
        credit %= per_frame;
        for (queue, &frame) in bus.queues.iter().zip(&frames).skip(1) {
            let burst = if below(3) == 2 { below(3 * capacity / u64::from(frame) / 2 + 1) as u32 } else { 0 };
            let is_full = queue.len() as u64 * u64::from(frame) >= 6 * capacity;
            arrivals.push(if is_full { 0 } else { burst });
        }
        let usable: Vec<u32> = vacancies.iter().zip(&room).map(|(&vacancy, &room)| room.min(vacancy)).collect();
        let moved = bus.period(now, &arrivals, &usable);
        room = vec![PLENTY, [0, 1, 3, PLENTY][below(4) as usize], [0, 1, 3, PLENTY][below(4) as usize]];
        let bytes = |flow: usize, count: u32| u64::from(count) * u64::from(frames[flow]);
        let activity: Vec<Activity> = (0..3)
            .map(|flow| Activity { accepted: bytes(flow, arrivals[flow]), moved: bytes(flow, moved[flow]), room: room[flow] })
            .collect();
        vacancies = activate(&weights, &frames, capacity, &activity).unwrap_or(vec![PLENTY; 3]);
    }
    bus.longest_wait[0]
}

#[test]
fn a_flow_within_its_share_waits_for_three_periods_at_most() {
    for seed in 0..1000 {
        let mut built: Option<Guard> = None;
        let wait = longest_wait(seed, &mut |weights, frames, capacity, activity| {
            answer(built.get_or_insert_with(|| guard(weights, frames, capacity, Some(1))).activate(activity).unwrap())
        });
        assert!(wait <= 3, "case {seed}: {wait} periods");
    }
}

/// The gate above can fail: without the first repair it does, with the clamp and without.
#[test]
fn without_credit_for_room_a_flow_within_its_share_waits_longer() {
    let worst = |clamp: Option<i128>| {
        let waits = (0..60).map(|seed| {
            let mut built: Option<Slow> = None;
            longest_wait(seed, &mut |weights, frames, capacity, activity| {
                let slow = built.get_or_insert_with(|| Slow { clamp, uses_room: false, ..Slow::new(weights, frames, capacity) });
                slow.activate(activity)
            })
        });
        waits.max().unwrap()
    };
    let (clamped, unlimited) = (worst(Some(1)), worst(None));
    assert!(clamped > 3, "{clamped} periods");
    assert!(unlimited > 10, "{unlimited} periods");
}

/// A load that leans towards saturation and towards rings without room. Every step is what each flow gets, and which part of its vacancies it uses.
#[derive(Clone, Debug)]
struct Load {
    weights: Vec<u32>,
    frames: Vec<u32>,
    capacity: u64,
    clamp: Option<u32>,
    steps: Vec<Vec<(u64, u8, u32)>>,
}

fn loads() -> impl Strategy<Value = Load> {
    let weight = prop_oneof![4 => 1u32..4, 1 => 1u32..1000];
    let frame = prop_oneof![Just(1u32), Just(100), Just(600), 1u32..2000];
    (1usize..7)
        .prop_flat_map(move |flows| {
            let step = (prop_oneof![2 => Just(0u64), 2 => 0u64..200, 1 => 0u64..20_000], 0u8..=4, prop_oneof![0u32..4, Just(PLENTY)]);
            (
                proptest::collection::vec(weight.clone(), flows),
                proptest::collection::vec(frame.clone(), flows),
                1u64..10_000,
                prop_oneof![3 => Just(Some(1)), 1 => Just(Some(2)), 1 => Just(None)],
                proptest::collection::vec(proptest::collection::vec(step, flows), 1..40),
            )
        })
        .prop_map(|(weights, frames, capacity, clamp, steps)| Load { weights, frames, capacity, clamp, steps })
}

impl Load {
    /// Calls `check` with the guard, the activity of each period, and the answer.
    fn run(&self, mut check: impl FnMut(&Guard, &[Activity], Option<&[u32]>) -> Result<(), TestCaseError>) -> Result<(), TestCaseError> {
        let mut guard = guard(&self.weights, &self.frames, self.capacity, self.clamp);
        let mut waiting = vec![0u64; self.weights.len()];
        let mut vacancies: Option<Vec<u32>> = None;
        for step in &self.steps {
            let mut activity = Vec::new();
            for (flow, &(accepted, quarters, room)) in step.iter().enumerate() {
                let usable = vacancies.as_ref().map_or(u64::MAX, |vacancies| u64::from(vacancies[flow]) * u64::from(self.frames[flow]));
                let moved = (waiting[flow] + accepted).min(usable.min(1 << 40) * u64::from(quarters) / 4);
                waiting[flow] = waiting[flow] + accepted - moved;
                activity.push(Activity { accepted, moved, room });
            }
            vacancies = answer(guard.activate(&activity).unwrap());
            for (flow, &waiting) in waiting.iter().enumerate() {
                prop_assert_eq!(guard.waiting(flow), Some(waiting));
            }
            check(&guard, &activity, vacancies.as_deref())?;
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn the_laws_hold(load in loads()) {
        let sum: u64 = load.weights.iter().map(|&weight| u64::from(weight)).sum();
        load.run(|guard, activity, vacancies| {
            let Some(vacancies) = vacancies else { return Ok(()) };
            let granted: u64 = vacancies.iter().zip(&load.frames).map(|(&vacancy, &frame)| u64::from(vacancy) * u64::from(frame)).sum();
            let frames: u64 = load.frames.iter().map(|&frame| u64::from(frame)).sum();
            prop_assert!(granted < load.capacity + frames, "{granted} bytes granted");
            for (flow, &weight) in load.weights.iter().enumerate() {
                prop_assert!(vacancies[flow] <= activity[flow].room);
                if let Some(clamp) = load.clamp {
                    let credit = i128::from(guard.credit(flow).unwrap());
                    let bound = i128::from(clamp) * i128::from(weight) * i128::from(load.capacity) * i128::from(UNITS_PER_BYTE);
                    prop_assert!(credit.abs() * i128::from(sum) <= bound, "flow {flow}: credit {credit}");
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn it_decides_as_exact_fractions_with_its_rounding(load in loads()) {
        let mut slow = Slow { clamp: load.clamp.map(i128::from), ..Slow::new(&load.weights, &load.frames, load.capacity) };
        load.run(|guard, activity, vacancies| {
            let expected = slow.activate(activity);
            prop_assert_eq!(vacancies, expected.as_deref());
            for flow in 0..load.weights.len() {
                prop_assert_eq!(Fraction::whole(i128::from(guard.credit(flow).unwrap())), slow.credit[flow]);
            }
            Ok(())
        })?;
    }

    /// Rounding costs a flow a unit, 2^-16 byte, in each of the two divisions of a period: over all of them it moves a boundary between frames at
    /// most once. The comparison ends where the denominators of the fractions outgrow 128 bits.
    #[test]
    fn its_rounding_moves_a_frame_at_most(load in loads()) {
        let mut slow = Slow { clamp: load.clamp.map(i128::from), rounds: false, ..Slow::new(&load.weights, &load.frames, load.capacity) };
        let mut ahead = vec![0i64; load.weights.len()];
        let (mut periods, mut is_over) = (0, false);
        load.run(|guard, activity, vacancies| {
            is_over |= !slow.has_space();
            if is_over {
                return Ok(());
            }
            periods += 1;
            let expected = slow.activate(activity);
            prop_assert_eq!(vacancies.is_some(), expected.is_some());
            for flow in 0..load.weights.len() {
                let difference = Fraction::whole(i128::from(guard.credit(flow).unwrap())).minus(slow.credit[flow]);
                prop_assert!(difference.floor().abs() <= 4 * periods, "flow {flow}: credit differs by {difference:?} after {periods} periods");
                if let (Some(vacancies), Some(expected)) = (vacancies, &expected) {
                    let is_cut = activity[flow].room < PLENTY;
                    ahead[flow] += i64::from(vacancies[flow]) - i64::from(expected[flow]);
                    prop_assert!(is_cut || ahead[flow].abs() <= 1, "flow {flow} is ahead by {} frames", ahead[flow]);
                }
                if activity[flow].room < PLENTY || vacancies.is_none() {
                    // A frame at the boundary may have been cut by the room.
                    ahead[flow] = 0;
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn water_filling_is_exact_in_the_sum_and_within_a_unit_in_each(
        claims in proptest::collection::vec((1u32..6, 0i64..100, -60i64..60), 1..9),
        capacity in 0i64..500,
    ) {
        let grants = filled(&claims, capacity);
        let exact: Vec<_> = claims.iter().map(|&(weight, most, credit)| {
            (i128::from(weight), Fraction::whole(i128::from(most)), Fraction::whole(i128::from(credit)))
        }).collect();
        let sum: i64 = claims.iter().map(|claim| claim.1).sum();
        prop_assert_eq!(grants.iter().sum::<i64>(), capacity.min(sum));
        for (grant, exact) in grants.iter().zip(fill(&exact, Fraction::whole(i128::from(capacity)), false)) {
            let difference = Fraction::whole(i128::from(*grant)).minus(exact);
            prop_assert!(difference.is_less(Fraction::whole(1)) && Fraction::whole(-1).is_less(difference));
        }
        let rounded: Vec<i64> = fill(&exact, Fraction::whole(i128::from(capacity)), true).iter().map(|grant| grant.numerator as i64).collect();
        prop_assert_eq!(grants, rounded);
    }

    /// The largest values that are allowed.
    #[test]
    fn nothing_overflows(extremes in proptest::collection::vec((any::<bool>(), any::<bool>(), any::<bool>()), 1..20)) {
        let flows = [(u32::MAX - 1, u32::MAX), (1, 1)].map(|(weight, frame)| GuardedFlow { weight, frame });
        let settings = GuardSettings { clamp: None, ..GuardSettings::new(MOST_BYTES) };
        let mut guard = Guard::new(&settings, &flows).unwrap();
        for (which, moves, has_room) in extremes {
            let waiting = [0, 1].map(|flow| guard.waiting(flow).unwrap());
            let accepted = if which { [MOST_BYTES - waiting[0] - waiting[1], 0] } else { [0, MOST_BYTES - waiting[0] - waiting[1]] };
            let room = if has_room { u32::MAX } else { 0 };
            let activity = [0, 1].map(|flow| Activity { accepted: accepted[flow], moved: if moves { waiting[flow] } else { 0 }, room });
            prop_assert!(guard.activate(&activity).is_ok());
        }
    }
}

#[test]
fn impossible_counters_change_nothing() {
    let mut one = guard(&[1, 1], &[100, 100], 1000, Some(1));
    let mut other = one.clone();
    let good = [Activity { accepted: 5000, moved: 100, room: 9 }; 2];
    assert!(one.activate(&good).is_ok() && other.activate(&good).is_ok());
    assert_eq!(one.activate(&good[..1]), Err(ActivityError::Count));
    assert_eq!(one.activate(&[good[0], Activity { accepted: 0, moved: 4901, room: 0 }]), Err(ActivityError::Moved { flow: 1 }));
    let most = Activity { accepted: MOST_BYTES, moved: 0, room: 0 };
    assert_eq!(one.activate(&[good[0], most]), Err(ActivityError::Accepted { flow: 1 }));
    assert_eq!(one.activate(&[Activity { accepted: u64::MAX, ..most }, most]), Err(ActivityError::Accepted { flow: 0 }));
    assert_eq!(one.activate(&good), other.activate(&good));
}

#[test]
fn a_guard_that_cannot_be_is_refused() {
    let flow = GuardedFlow { weight: 1, frame: 100 };
    let settings = GuardSettings::new(1000);
    let refused = |settings: GuardSettings, flows: &[GuardedFlow]| Guard::new(&settings, flows).err();
    assert_eq!(refused(GuardSettings::new(0), &[flow]), Some(GuardError::Capacity));
    assert_eq!(refused(GuardSettings::new(u64::MAX), &[flow]), Some(GuardError::Capacity));
    let nothing = Ratio { numerator: 1, denominator: 0 };
    assert_eq!(refused(GuardSettings { threshold: nothing, ..settings }, &[flow]), Some(GuardError::Denominator));
    assert_eq!(refused(settings, &[flow, GuardedFlow { weight: 0, ..flow }]), Some(GuardError::Weight { flow: 1 }));
    assert_eq!(refused(settings, &[flow, GuardedFlow { weight: u32::MAX, ..flow }]), Some(GuardError::Weight { flow: 1 }));
    assert_eq!(refused(settings, &[GuardedFlow { frame: 0, ..flow }]), Some(GuardError::Frame { flow: 0 }));
}

#[test]
fn efficiency_and_threshold_count() {
    let flows = [GuardedFlow { weight: 1, frame: 100 }; 2];
    let half = GuardSettings { efficiency: Ratio::HALF, threshold: Ratio::HALF, ..GuardSettings::new(2000) };
    let mut guard = Guard::new(&half, &flows).unwrap();
    assert_eq!(guard.capacity(), 1000 * UNITS_PER_BYTE);
    let moved = |bytes| [Activity { accepted: bytes, moved: bytes, room: 9 }; 2];
    assert_eq!(guard.activate(&moved(249)), Ok(Vacancies::Open));
    assert_eq!(guard.activate(&moved(250)), Ok(Vacancies::Limited(&[5, 5])));
    assert_eq!(guard.activate(&moved(249)), Ok(Vacancies::Open));
    guard.set_frame(0, 50).unwrap();
    assert_eq!(guard.activate(&moved(250)), Ok(Vacancies::Limited(&[9, 5])));
    assert_eq!(guard.set_frame(0, 0), Err(GuardError::Frame { flow: 0 }));
}
