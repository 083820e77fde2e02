//! The detail in which classes are recorded.

use super::*;
use tidegate_core::classifier::{ClassRules, Rule};
use tidegate_core::packet::{Ecn, Part};

fn recorder(classes: u32) -> PortRecorder {
    let rule = |class: u32| Rule { mpls_label: Some(class), ..Rule::default() };
    let class = |class: u32| ClassRules { name: format!("class {class}"), queues: 1, rules: vec![rule(class)] };
    let classifier = Classifier::new((0..classes).map(class).collect(), 0).expect("labels differ");
    PortRecorder::new(Time::ZERO, &classifier).with_recent_delays()
}

/// A packet of a class comes at `at` and is sent after a wait.
fn pass(recorder: &mut PortRecorder, class: u32, at: Time, wait: Duration) {
    let packet =
        Packet { flow: Flow(class), length: 100, arrival: at, colour: Colour::Green, part: Part::Whole, ecn: Ecn::NotEct, payload: () };
    let sent = at + wait;
    recorder.offered(at, &packet);
    recorder.sent(sent, &packet, sent + Duration::from_microseconds(1), &Occupancy::new(1));
}

#[test]
fn a_class_without_packets_is_small_and_counts_nothing() {
    assert_eq!(size_of::<ClassRecord>(), 24);
    let mut recorder = recorder(3);
    pass(&mut recorder, 1, Time::ZERO, Duration::from_milliseconds(2));
    let counts: Vec<u64> = recorder.classes().iter().map(|class| class.sent.packets).collect();
    assert_eq!(counts, [0, 1, 0]);
    let [silent, active] = [0, 1].map(|class| &recorder.classes()[class]);
    assert!(
        silent.recent.is_none()
            && silent.delays.count() == 0
            && silent.queued() == Volume::default()
            && silent.sent_bytes.points().is_empty()
    );
    assert!(active.recent.is_some() && active.delays.count() == 1 && active.sojourns.count() == 1 && active.queued() == Volume::default());
}

#[test]
fn the_first_classes_are_recorded_in_detail_and_the_others_within_bounds() {
    let many = DETAILED_CLASSES as u32 * 2 + 1;
    let mut recorder = recorder(many);
    let mut at = Time::ZERO;
    // Those of the highest numbers come first.
    for round in 1..=40 {
        for class in (0..many).rev().step_by(if round == 1 { 1 } else { 64 }) {
            pass(&mut recorder, class, at, Duration::from_milliseconds(round));
        }
        at += Duration::from_milliseconds(100);
        assert_eq!(recorder.coarse_classes(), DETAILED_CLASSES + 1);
    }
    let bins = |class: &ClassRecord| class.sent_bytes.points().len();
    let last = many as usize - 1;
    for (place, class) in (0..=last).rev().map(|number| &recorder.classes()[number]).enumerate().step_by(64) {
        assert_eq!((class.sent.packets, class.delays.count()), (40, 40));
        assert_eq!(class.sent_bytes.points().iter().map(|(_, bytes)| bytes).sum::<f64>(), 4000.0);
        let (median, most) = (class.delays.quantile_seconds(0.5).unwrap(), class.delays.maximum_seconds().unwrap());
        let error = if place < DETAILED_CLASSES { 1.0 / 128.0 } else { 1.0 / 16.0 };
        assert!(
            (0.020001..0.020001 * (1.0 + error) + 1e-6).contains(&median) && (most - 0.040001).abs() < 1e-9,
            "{place}: {median} {most}"
        );
        let most_bins = match place {
            0..1024 => 2048,
            1024..2048 => 1024,
            2048..4096 => 512,
            4096..8192 => 256,
            _ => 128,
        };
        assert!(bins(class) <= most_bins && bins(class) > most_bins / 4, "{place}: {}", bins(class));
    }
}

#[test]
fn records_of_two_ports_with_other_classes_are_one_record() {
    let (mut one, mut other, mut both) = (recorder(3), recorder(3), recorder(3));
    for (class, at, wait) in [(0, 0, 2), (2, 1, 5), (0, 3, 4), (1, 9, 1)] {
        let (at, wait) = (Time::ZERO + Duration::from_milliseconds(at), Duration::from_milliseconds(wait));
        pass(if class == 0 { &mut one } else { &mut other }, class, at, wait);
        pass(&mut both, class, at, wait);
    }
    one.merge(other);
    for (merged, single) in one.classes().iter().zip(both.classes()) {
        assert_eq!((merged.offered, merged.sent, merged.queued()), (single.offered, single.sent, single.queued()));
        assert_eq!((merged.delays.count(), merged.delays.maximum_seconds()), (single.delays.count(), single.delays.maximum_seconds()));
        assert_eq!(merged.sent_bytes.points(), single.sent_bytes.points());
    }
    assert_eq!((one.busy_seconds(), one.elapsed()), (both.busy_seconds(), both.elapsed()));
    one.set_busy(u128::from(PICOSECONDS_PER_SECOND));
    assert_eq!(one.busy_seconds(), 1.0);
}
