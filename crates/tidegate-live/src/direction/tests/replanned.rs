//! Several workers that take another policy over at one instant, some of them late.

use super::workers::{Member, datagram, finished, named, plan, step, team_of};
use super::*;
use crate::port_change::{PortChanged, PreparedChange};
use crate::workers::plans;
use std::sync::mpsc::{Receiver, channel};

/// The policy of these classes, each with its number and its weight, at this rate.
fn policy(classes: &[(u8, u32)], megabits: u64) -> PortSetup {
    named(classes, Rate::new(megabits * 1_000_000).unwrap(), SchedulerKind::DeficitRoundRobin, 2000)
}

/// Asks all workers to take these classes over at an instant; `worker_of` says to which worker the class of a number belongs.
fn ask(team: &mut [Member], at: Time, classes: &[(u8, u32)], megabits: u64, worker_of: &[u32]) -> Vec<Receiver<Replaced>> {
    let setup = policy(classes, megabits);
    let weights: Vec<u32> = classes.iter().map(|(_, weight)| *weight).collect();
    let workers: Vec<u32> = classes.iter().map(|(class, _)| worker_of[usize::from(*class)]).collect();
    let workers = tidegate_core::exchange::Workers { count: team.len() as u32, ..plan(&weights, &workers) };
    let plans = plans(at, &workers, (setup.rate, setup.overhead), LONGEST_FRAME + 24).unwrap();
    let ask = |(worker, plan): (&mut Member, _)| {
        let recorded: Vec<String> = worker.record.port.classes().iter().map(|class| class.name.to_string()).collect();
        let change = PreparedChange::new(worker.classifier(), worker.switches(), setup.clone());
        let change = change.expecting(recorded.iter().map(String::as_str)).planned(plan);
        let (reply, answer) = channel();
        DirectionLoop::change(worker, Asked::Switch(Box::new(change)), reply);
        answer
    };
    team.iter_mut().zip(plans).map(ask).collect()
}

fn outcome(answers: &[Receiver<Replaced>]) -> PortChanged {
    answers.iter().map(|answer| answer.try_recv().unwrap().outcome.unwrap()).reduce(PortChanged::with_another_worker).unwrap()
}

/// The bytes that each of these classes has sent so far.
fn sent(team: &[Member], classes: &[u8]) -> Vec<u64> {
    let of = |class: &u8| {
        let name = format!("c{class}");
        let records = team.iter().flat_map(|worker| worker.record.port.classes());
        records.filter(|record| *record.name == name).map(|record| record.sent.bytes).sum()
    };
    classes.iter().map(of).collect()
}

/// Keeps these classes backlogged for this many steps of 20 us, and returns what each has sent. Frames come to the second worker.
fn keep_backlogged(team: &mut [Member], classes: &[u8], worker_of: &[u32], now: &mut Time, steps: u32) -> Vec<u64> {
    let before = sent(team, classes);
    for _ in 0..steps {
        for &class in classes {
            let worker = worker_of[usize::from(class)] as usize;
            let found = team[worker]
                .port
                .classifier()
                .classes()
                .iter()
                .find(|known| *known.name == format!("c{class}"))
                .map(|known| known.first_flow);
            let Some(flow) = found else { continue };
            let missing = 6u32.saturating_sub(team[worker].port.occupancy().flow_packets(flow));
            team[1].receiver.frames.extend((0..missing).map(|_| datagram(class, 0, 0, 1200)));
        }
        step(team, *now, true);
        *now += Duration::from_microseconds(20);
    }
    sent(team, classes).iter().zip(before).map(|(after, before)| after - before).collect()
}

fn assert_shares(bytes: &[u64], weights: &[u32], megabits: u64, seconds: f64) {
    let carried = megabits as f64 * 1e6 / 8.0 * seconds * 1200.0 / 1224.0;
    let all: u64 = bytes.iter().sum();
    assert!((all as f64 - carried).abs() < carried / 100.0, "{all} of {carried} bytes");
    let whole: u32 = weights.iter().sum();
    for (bytes, &weight) in bytes.iter().zip(weights) {
        let fair = carried * f64::from(weight) / f64::from(whole);
        assert!((*bytes as f64 - fair).abs() < fair / 100.0 + 4.0 * 1224.0, "{bytes} of {fair} bytes with weight {weight}");
    }
}

#[test]
fn weights_and_the_rate_of_the_link_change_under_load() {
    let worker_of = [0, 0, 0, 1, 1];
    let first = policy(&[(0, 1), (1, 1), (2, 1), (3, 1)], 100);
    let mut team = team_of(&first, &plan(&[1; 4], &worker_of[..4]), 2000);
    let mut now = Time::ZERO;
    keep_backlogged(&mut team, &[0, 1, 2, 3], &worker_of, &mut now, 2000);
    let bytes = keep_backlogged(&mut team, &[0, 1, 2, 3], &worker_of, &mut now, 10_000);
    assert_shares(&bytes, &[1, 1, 1, 1], 100, 0.2);
    // Another class comes first, so that all flows have other numbers.
    let answers = ask(&mut team, now + Duration::from_microseconds(50), &[(4, 2), (0, 3), (1, 1), (2, 1), (3, 5)], 60, &worker_of);
    keep_backlogged(&mut team, &[0, 1, 2, 3], &worker_of, &mut now, 10);
    let changed = outcome(&answers);
    assert_eq!((changed.switched.classes_kept, changed.switched.classes_added), (4, 1));
    assert!(changed.switched.kept.packets >= 20 && changed.switched.dropped.packets == 0, "{changed:?}");
    assert_eq!(changed.late, Duration::from_microseconds(10));
    keep_backlogged(&mut team, &[0, 1, 2, 3, 4], &worker_of, &mut now, 2000);
    let bytes = keep_backlogged(&mut team, &[0, 1, 2, 3, 4], &worker_of, &mut now, 10_000);
    assert_shares(&bytes, &[3, 1, 1, 5, 2], 60, 0.2);
    // The time of transmissions counts at the rate of their time.
    let report = finished(team, now);
    let busy = report.busy as f64 / (now.since(Time::ZERO).picoseconds() as f64);
    assert!((0.985..=1.005).contains(&busy), "the link was busy for {busy} of the time");
    assert_eq!(report.counters.check(), Ok(()));
}

#[test]
fn a_worker_that_is_late_classifies_anew_what_the_others_have_passed_on() {
    let worker_of = [0, 0, 1, 1];
    let first = policy(&[(0, 1), (1, 1), (2, 1)], 100);
    let mut team = team_of(&first, &plan(&[1; 3], &worker_of[..3]), 2000);
    step(&mut team, at(0), true);
    // The class that comes first shifts the flows; the second worker is away at the instant.
    let answers = ask(&mut team, at(100), &[(3, 1), (0, 1), (1, 1), (2, 1)], 100, &worker_of);
    team[0].receiver.frames.extend((0..3).map(|number| datagram(2, 0, number, 600)));
    team[0].poll(at(90), true);
    team[0].receiver.frames.extend((3..6).map(|number| datagram(2, 0, number, 600)));
    team[0].poll(at(110), true);
    assert_eq!((team[0].switches(), team[1].switches()), (1, 0));
    // It takes packets of both policies before it changes.
    team[1].poll(at(99), true);
    assert_eq!(team[1].port.counters().offered.packets, 6);
    step(&mut team, at(5000), true);
    assert_eq!(team[1].switches(), 1);
    team[0].receiver.frames.extend((6..9).map(|number| datagram(2, 0, number, 600)));
    step(&mut team, at(6000), true);
    step(&mut team, at(9000), true);
    assert_eq!(team[1].transmitter.sent, (0..9).map(|number| (2, 0, number)).collect::<Vec<_>>());
    assert_eq!(sent(&team, &[0, 1, 2, 3]), [0, 0, 9 * 600, 0]);
    assert!(outcome(&answers).late >= Duration::from_microseconds(4900));
    assert_eq!(finished(team, at(9000)).counters.check(), Ok(()));
}

#[test]
fn a_worker_sleeps_no_longer_than_to_the_instant() {
    let mut team = team_of(&policy(&[(0, 1), (1, 1)], 100), &plan(&[1; 2], &[0, 1]), 2000);
    assert_eq!(step(&mut team, at(0), true), [Next::Idle, Next::Idle]);
    let answers = ask(&mut team, at(700), &[(0, 2), (1, 1)], 100, &[0, 1]);
    assert_eq!(step(&mut team, at(10), true), [Next::At(at(700)); 2]);
    step(&mut team, at(700), true);
    assert_eq!(outcome(&answers).late, Duration::ZERO);
    assert_eq!(step(&mut team, at(710), true), [Next::Idle, Next::Idle]);
}

#[test]
fn what_one_worker_takes_alone_is_refused() {
    let mut team = team_of(&policy(&[(0, 1), (1, 1)], 100), &plan(&[1; 2], &[0, 1]), 2000);
    let (reply, answer) = channel();
    let alone = PreparedChange::new(team[0].classifier(), 0, policy(&[(0, 1), (1, 1)], 100));
    DirectionLoop::change(&mut team[0], Asked::Switch(Box::new(alone)), reply);
    assert_eq!(answer.recv().unwrap().outcome, Err(ControlError::Workers));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever changes when, and whichever worker is late: no packet is lost or comes twice, and those of a class that stays keep their order.
    #[test]
    fn packets_pass_changes_once_and_in_order(
        worker_of in prop::collection::vec(0u32..3, 6),
        frames in prop::collection::vec((0u8..6, 0u8..6, 60usize..1500, 0u64..400, 0usize..3), 1..150),
        changes in prop::collection::vec((0usize..150, prop::collection::vec((any::<bool>(), 1u32..6), 6), 20u64..200), 0..4),
        rotation in 0usize..6,
    ) {
        // Classes 0 to 2 are always there.
        let all: Vec<(u8, u32)> = (0..6).map(|class| (class, 1)).collect();
        let first = policy(&all, 100);
        let mut team = team_of(&first, &tidegate_core::exchange::Workers { count: 3, ..plan(&[1; 6], &worker_of) }, 2000);
        let (mut now, mut numbers, mut answers) = (Time::ZERO, [[0u16; 6]; 6], Vec::new());
        for (number, &(class, flow, length, pause, worker)) in frames.iter().enumerate() {
            if let Some((_, asked, megabits)) = changes.iter().find(|(at, ..)| *at == number) {
                let mut classes: Vec<(u8, u32)> = (0..).zip(asked).filter(|(class, (is_there, _))| *class < 3 || *is_there).map(|(class, (_, weight))| (class, *weight)).collect();
                let middle = rotation % classes.len();
                classes.rotate_left(middle);
                // The one before has been made everywhere.
                let until = now + Duration::from_microseconds(500);
                while now.is_before(until) {
                    step(&mut team, now, true);
                    now += Duration::from_microseconds(100);
                }
                answers.push(ask(&mut team, now + Duration::from_microseconds(pause), &classes, *megabits, &worker_of));
            }
            let number = &mut numbers[usize::from(class)][usize::from(flow)];
            team[usize::from(flow) % 3].receiver.frames.push_back(datagram(class, flow, *number, length));
            *number += 1;
            if pause > 300 {
                step(&mut team, now, true);
            } else {
                team[worker].poll(now, true);
            }
            now += Duration::from_microseconds(pause);
        }
        for _ in 0..1500 {
            step(&mut team, now, true);
            now += Duration::from_microseconds(100);
        }
        answers.iter().for_each(|answers| _ = outcome(answers));
        step(&mut team, now, false);
        step(&mut team, now, false);
        let mut seen = [[0u16; 6]; 6];
        for worker in &team {
            for &(class, flow, number) in &worker.transmitter.sent {
                let next = &mut seen[usize::from(class)][usize::from(flow)];
                if class < 3 {
                    prop_assert_eq!(number, *next, "class {} flow {}", class, flow);
                }
                *next += 1;
            }
            prop_assert_eq!(worker.pool.in_use(), 0);
        }
        prop_assert_eq!(seen, numbers);
        let report = finished(team, now);
        prop_assert_eq!(report.counters.check(), Ok(()));
        prop_assert_eq!(report.recorder.classes().iter().map(|class| class.sent.packets).sum::<u64>(), frames.len() as u64);
    }
}
