//! Oracles of CoDel: through a port, when it drops and marks, and beside the machine of its RFC.

mod aqm;

use aqm::slow_port::SlowPort;
use aqm::{Event, Signal, constant_rate, milliseconds, port, rounded, run};
use std::collections::VecDeque;
use tidegate_core::aqm::{AqmParameters, AqmSetup, AqmState};
use tidegate_core::buffer::BufferParameters;
use tidegate_core::packet::{Colour, Ecn, Flow, Packet, Part};
use tidegate_core::random::SplitMix64;
use tidegate_core::registry::{AnyAqm, AqmKind, BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Duration, Rate, Time};

fn codel(rate: Rate, given: &AqmParameters) -> AnyAqm {
    AqmKind::CoDel.build(&AqmSetup { flows: 1, rate, longest_frame: 1514 }, given).unwrap()
}

fn short(signals: &[Signal]) -> Vec<(u64, u32)> {
    signals.iter().take(10).map(|signal| (rounded(signal.at), signal.packet)).collect()
}

/// 12.5 Mbit/s of 1250-byte packets at a link of 10 Mbit/s.
fn overload() -> impl Iterator<Item = (tidegate_core::units::Time, u32)> {
    constant_rate(Duration::from_microseconds(800), 1250)
}

#[test]
fn drops_under_overload_are_those_of_the_model() {
    let rate = Rate::new(10_000_000).unwrap();
    let mut port = port(rate, Some(codel(rate, &AqmParameters::default())), 0);
    let log = run(&mut port, overload(), Ecn::NotEct, milliseconds(2000));
    let expected = [(125, 125), (225, 226), (296, 298), (354, 357), (404, 408), (449, 454), (489, 495), (527, 534), (563, 571), (596, 605)];
    assert_eq!(short(&log.signals), expected);
    assert_eq!(log.signals.len(), 102);
    assert_eq!(port.counters().marked.packets, 0);
    let state = AqmState { is_signalling: true, probability: None };
    assert_eq!(port.aqm_state(milliseconds(2000), Flow(0)), Some(state), "the spell of dropping lasts as long as the overload");
}

#[test]
fn marks_under_overload_are_those_of_the_model() {
    let rate = Rate::new(10_000_000).unwrap();
    let unlimited = AqmParameters { mark_limit: Some(Duration::from_seconds(3600)), ..AqmParameters::default() };
    let mut port = port(rate, Some(codel(rate, &unlimited)), 0);
    let log = run(&mut port, overload(), Ecn::Ect0, milliseconds(2000));
    assert_eq!(short(&log.signals)[..5], [(125, 125), (225, 225), (296, 296), (354, 354), (404, 404)]);
    assert!(log.signals.iter().all(|signal| !signal.is_drop));
    assert_eq!((log.signals.len(), port.counters().marked.packets), (102, 102));
}

/// Signals of the overload for 10 s, with all packets ECN-capable: marks, drops, and how long the last of them had waited in milliseconds.
fn unresponsive(mark_limit: Duration) -> (usize, usize, u64) {
    let rate = Rate::new(10_000_000).unwrap();
    let given = AqmParameters { mark_limit: Some(mark_limit), ..AqmParameters::default() };
    let log = run(&mut port(rate, Some(codel(rate, &given)), 0), overload(), Ecn::Ect0, milliseconds(10_000));
    let drops = log.signals.iter().filter(|signal| signal.is_drop).count();
    (log.signals.len() - drops, drops, log.signals.last().unwrap().waited.picoseconds() / 1_000_000_000)
}

#[test]
fn senders_that_ignore_marks_fill_the_queue_unless_marks_have_a_limit() {
    assert_eq!(unresponsive(Duration::from_seconds(3600)), (2511, 0, 2000));
    assert_eq!(unresponsive(Duration::from_milliseconds(100)), (136, 2375, 100));
}

#[test]
fn a_slow_link_with_a_packet_now_and_then_drops_none() {
    let rate = Rate::new(128_000).unwrap();
    let given = AqmParameters {
        target: Some(Duration::from_milliseconds(5)),
        interval: Some(Duration::from_milliseconds(100)),
        ..AqmParameters::default()
    };
    let arrivals = constant_rate(Duration::from_milliseconds(90), 1500);
    let log = run(&mut port(rate, Some(codel(rate, &given)), 0), arrivals, Ecn::NotEct, milliseconds(4000));
    assert_eq!(log.signals, []);
    let longest = log.sent.iter().map(|sent| sent.2).max().unwrap();
    assert_eq!(longest.picoseconds(), 157_500_000_000);
}

#[test]
fn a_second_burst_continues_near_the_frequency_of_the_first() {
    let rate = Rate::new(10_000_000).unwrap();
    let burst = |start| (0..400).map(move |packet| (milliseconds(start) + Duration::from_microseconds(100 * packet), 1250));
    let arrivals = burst(0).chain(burst(1200));
    let log = run(&mut port(rate, Some(codel(rate, &AqmParameters::default())), 0), arrivals, Ecn::NotEct, milliseconds(4000));
    let at: Vec<u64> = log.signals.iter().map(|signal| rounded(signal.at)).collect();
    assert_eq!(at, [106, 206, 277, 335, 385, 1306, 1356, 1401, 1442, 1480, 1515, 1549, 1580]);
}

/// One queue, from which packets are taken at any instant.
fn queue(aqm: AnyAqm) -> SlowPort<AnyAqm> {
    let scheduler = SchedulerKind::Fifo.build(&Setup::new(Rate::MAX, 1514), &[FlowParameters::default()]).unwrap();
    let buffer = BufferKind::TailDrop.build(&BufferParameters { flows: 1, ..BufferParameters::default() }).unwrap();
    SlowPort::new(Time::ZERO, vec![Some(aqm)], 1, scheduler, buffer, Rate::MAX)
}

fn packet(number: u32, at: Time, length: u32) -> Packet<u32> {
    Packet { flow: Flow(0), length, arrival: at, colour: Colour::Green, part: Part::Whole, ecn: Ecn::NotEct, payload: number }
}

/// The numbers of the packets that were dropped.
fn dropped(port: &SlowPort<AnyAqm>) -> Vec<u32> {
    let number = |event: &Event| if let Event::Dropped(_, number, _) = event { Some(*number) } else { None };
    port.events.0.iter().filter_map(number).collect()
}

/// Takes packets until one is sent, and returns its number.
fn next_sent(port: &mut SlowPort<AnyAqm>, now: Time) -> Option<u32> {
    while !port.is_empty() {
        if let Some(packet) = port.take(now, Flow(0)) {
            return Some(packet.payload);
        }
    }
    None
}

#[test]
fn packets_are_dropped_as_in_the_fifth_test_of_ns3() {
    let setup = AqmSetup { flows: 1, rate: Rate::new(10_000_000).unwrap(), longest_frame: 1500 };
    let mut port = queue(AqmKind::CoDel.build(&setup, &AqmParameters::default()).unwrap());
    (0..20).for_each(|number| port.offer(packet(number, Time::ZERO, 1000)));
    let sent: Vec<_> = [10, 210, 210, 420].iter().filter_map(|&at| next_sent(&mut port, milliseconds(at))).collect();
    assert_eq!((sent, dropped(&port)), (vec![0, 2, 3, 6], vec![1, 4, 5]));
}

/// The machine of RFC 8289, sections 5.4 to 5.6, as written there: a dequeue with a loop inside. Drops only.
struct Textbook {
    target: u64,
    interval: u64,
    mtu: u64,
    queue: VecDeque<(u32, u64, u64)>,
    first_above_time: u64,
    drop_next: f64,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl Textbook {
    /// The next packet, and whether it may be dropped.
    fn take(&mut self, now: u64) -> (Option<u32>, bool) {
        let Some((number, arrival, _)) = self.queue.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        let behind: u64 = self.queue.iter().map(|packet| packet.2).sum();
        let mut ok_to_drop = false;
        if now - arrival < self.target || behind <= self.mtu {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + self.interval;
        } else {
            ok_to_drop = now >= self.first_above_time;
        }
        (Some(number), ok_to_drop)
    }

    fn after(&self, instant: f64) -> f64 {
        instant + self.interval as f64 / f64::from(self.count).sqrt()
    }

    fn dequeue(&mut self, now: u64, drops: &mut Vec<u32>) -> Option<u32> {
        let (mut packet, ok_to_drop) = self.take(now);
        let instant = now as f64;
        if self.dropping {
            self.dropping = ok_to_drop;
            while self.dropping && instant >= self.drop_next {
                drops.extend(packet);
                self.count += 1;
                let (next, ok_to_drop) = self.take(now);
                packet = next;
                self.dropping = ok_to_drop;
                if ok_to_drop {
                    self.drop_next = self.after(self.drop_next);
                }
            }
        } else if ok_to_drop {
            drops.extend(packet);
            packet = self.take(now).0;
            self.dropping = true;
            let delta = self.count.wrapping_sub(self.last_count) as i32;
            self.count = if delta > 1 && instant - self.drop_next < 16.0 * self.interval as f64 { delta as u32 } else { 1 };
            self.drop_next = self.after(instant);
            self.last_count = self.count;
        }
        packet
    }
}

#[test]
fn one_decision_per_packet_drops_what_the_loop_of_the_rfc_drops() {
    let mut compared = 0;
    for seed in 0..300 {
        let mut random = SplitMix64::new(seed);
        let setup = AqmSetup { flows: 1, rate: Rate::MAX, longest_frame: 300 };
        let given = AqmParameters {
            target: Some(Duration::from_microseconds(50)),
            interval: Some(Duration::from_microseconds(1000)),
            ..AqmParameters::default()
        };
        let mut port = queue(AqmKind::CoDel.build(&setup, &given).unwrap());
        let (target, interval) = (50_000_000, 1_000_000_000);
        let mut textbook = Textbook {
            target,
            interval,
            mtu: 300,
            queue: VecDeque::new(),
            first_above_time: 0,
            drop_next: 0.0,
            count: 0,
            last_count: 0,
            dropping: false,
        };
        let (mut now, mut number, mut drops) = (1_000_000, 0, Vec::new());
        for step in 0..1500 {
            let gap = if random.below(100) < 3 { 5000 } else { [1, 5, 20, 60, 300][random.below(5) as usize] };
            now += gap * 1_000_000 + u64::from(random.below(1000));
            let is_busy = step / 250 % 3 > 0;
            for _ in 0..if is_busy { [0, 1, 1, 2, 4][random.below(5) as usize] } else { [0, 0, 1][random.below(3) as usize] } {
                let length = 100 * (1 + random.below(3));
                port.offer(packet(number, Time::from_picoseconds(now), length));
                textbook.queue.push_back((number, now, length.into()));
                number += 1;
            }
            let sent = next_sent(&mut port, Time::from_picoseconds(now));
            assert_eq!(sent, textbook.dequeue(now, &mut drops), "seed {seed}, step {step}");
        }
        assert_eq!(dropped(&port), drops, "seed {seed}");
        compared += drops.len();
    }
    assert!(compared > 20_000, "{compared} drops were compared");
}
