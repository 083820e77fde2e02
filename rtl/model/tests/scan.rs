//! The device beside the scan of 64 bits, decision by decision, in every architecture.

use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::VecDeque;
use std::ops::Range;
use tidegate_core::dwcs::{CLAMP, Choice, Dwcs, Early, Missed, Order, Rules, Scan, Standing, Stream, Window};
use tidegate_core::packet::Flow;
use tidegate_rtl_model::{Architecture, Clock, Device, Routing, Size, Update};

const RULES: Rules = Rules { missed: Missed::Complete, early: Early::Clamp };

/// The scan and the base architecture with the streams of a published mixture.
struct Mixture {
    scan: Scan,
    device: Device,
    served: [u64; 4],
}

impl Mixture {
    fn new(streams: [Stream; 4]) -> Mixture {
        let scan = Scan::new(RULES, Order::default(), &streams).unwrap();
        let device = Device::new(Architecture::base(Size::Four), Clock::Outside, 0, &streams).unwrap();
        Mixture { scan, device, served: [0; 4] }
    }

    fn activate(&mut self, now: u64, streams: Range<u32>) {
        for stream in streams.map(Flow) {
            self.scan.activate(now, stream, 0);
            self.device.activate(now, stream, 0);
        }
    }

    /// Slots of one tick; packet n of every active stream arrives at time n.
    fn run(&mut self, slots: Range<u64>) {
        for slot in slots {
            let choice = self.scan.select(slot);
            assert_eq!(self.device.select(slot), choice, "slot {slot}");
            let Choice::Serve(stream) = choice else { panic!("a stream is backlogged") };
            self.served[stream.index()] += 1;
            let next = Some(self.served[stream.index()]);
            self.scan.served(stream, slot + 1, next);
            self.device.served(stream, slot + 1, next);
        }
    }
}

fn windowed(x: u32, y: u32) -> Stream {
    Stream::windowed(Window::new(x, y), 1)
}

#[test]
fn the_published_mixtures_are_those_of_the_scan() {
    let urgent = |first, window| Stream { first_deadline: Some(first), ..Stream::windowed(window, 4) };
    let mut deadlines = Mixture::new([4, 3, 2, 1].map(|first| urgent(first, Window::NONE)));
    deadlines.activate(0, 0..4);
    deadlines.run(0..63_996);
    assert_eq!(deadlines.served, [15_999; 4]);

    for (penalty, served) in [(0, [31_905, 15_953, 15_952, 190]), (1, [31_906, 15_953, 15_953, 188])] {
        let streams = [(2, 4), (3, 4), (3, 4), (0, 255)].map(|(x, y)| Stream { penalty, ..windowed(x, y) });
        let mut priority = Mixture::new(streams);
        priority.activate(0, 0..3);
        priority.run(0..63_810);
        priority.activate(63_810, 3..4);
        priority.run(63_810..64_000);
        assert_eq!(priority.served, served, "penalty {penalty}");
    }

    for (window, served) in [(Window::TIGHTEST, [19_113, 9556, 14_335, 14_335]), (Window::NONE, [19_113, 14_334, 9557, 14_335])] {
        let mut shares = Mixture::new([windowed(2, 3), windowed(5, 6), urgent(2, window), urgent(1, window)]);
        shares.activate(0, 0..4);
        shares.run(0..57_339);
        assert_eq!(shares.served, served);
    }
}

/// Every architecture that takes this many streams.
fn architectures(streams: usize) -> Vec<Architecture> {
    let mut all = Vec::new();
    for size in Size::ALL {
        for routing in [Routing::Lattice, Routing::Exact, Routing::Winner] {
            for update in [Update::InTurn, Update::Ahead] {
                let tiles = streams.div_ceil(size.ports());
                if tiles <= size.ports() && (tiles == 1 || routing != Routing::Exact) {
                    all.push(Architecture { size, routing, update });
                }
            }
        }
    }
    all
}

/// The scan and devices of all architectures, asked and told the same.
struct Lockstep {
    scan: Scan,
    devices: Vec<Device>,
    streams: Vec<Stream>,
    backlog: Vec<VecDeque<u64>>,
    /// The time of the next decision.
    now: u64,
    /// The time of the last call.
    told: u64,
}

impl Lockstep {
    fn new(streams: &[Stream], start: u64) -> Lockstep {
        let device = |architecture| Device::new(architecture, Clock::Outside, start, streams).unwrap();
        Lockstep {
            scan: Scan::new(RULES, Order::default(), streams).unwrap(),
            devices: architectures(streams.len()).into_iter().map(device).collect(),
            streams: streams.into(),
            backlog: vec![VecDeque::new(); streams.len()],
            now: start,
            told: start,
        }
    }

    fn each(&mut self, mut call: impl FnMut(&mut dyn Dwcs)) {
        call(&mut self.scan);
        self.devices.iter_mut().for_each(|device| call(device));
    }

    /// A packet arrives, `early` ticks before the end of the service under way.
    fn arrive(&mut self, stream: usize, early: u64) {
        let now = self.now.saturating_sub(early).max(self.told);
        self.told = now;
        self.backlog[stream].push_back(now);
        if self.backlog[stream].len() == 1 {
            self.each(|engine| engine.activate(now, Flow(stream as u32), now));
        }
    }

    /// Takes the head, and returns the arrival of the next.
    fn take(&mut self, stream: Flow) -> Option<u64> {
        self.backlog[stream.index()].pop_front();
        self.backlog[stream.index()].front().copied()
    }

    fn lose(&mut self, stream: usize) {
        if !self.backlog[stream].is_empty() {
            let stream = Flow(stream as u32);
            let next = self.take(stream);
            self.each(|engine| engine.lost(stream, next));
        }
    }

    /// One decision for a service of this many ticks, with the drops before it. Returns the stream that is served.
    fn decide(&mut self, service: u64) -> Option<Flow> {
        loop {
            let now = self.now;
            self.told = now;
            let choice = self.scan.select(now);
            for device in &mut self.devices {
                assert_eq!(device.select(now), choice, "at {now}: {:?}", device.architecture());
            }
            self.compare();
            match choice {
                Choice::Serve(stream) => {
                    let next = self.take(stream);
                    self.now += service;
                    let finish = self.now;
                    self.each(|engine| engine.served(stream, finish, next));
                    return Some(stream);
                }
                Choice::Discard(stream) => self.lose(stream.index()),
                Choice::Idle => return None,
                Choice::WaitUntil(_) => panic!("no stream is held back"),
            }
        }
    }

    fn compare(&self) {
        for index in 0..self.streams.len() {
            // A deadline that has come while the stream was idle may be anywhere before the clock.
            let idle = self.backlog[index].is_empty();
            let seen = |standing: Standing| Standing { deadline: standing.deadline.max(if idle { self.now } else { 0 }), ..standing };
            let expected = seen(self.scan.standing(Flow(index as u32)));
            for device in &self.devices {
                let found = seen(device.standing(Flow(index as u32)));
                assert_eq!(found, expected, "stream {index} at {}: {:?}", self.now, device.architecture());
            }
        }
    }

    /// Whether 8 bits still hold every denominator.
    fn fits(&self) -> bool {
        (0..self.streams.len()).all(|index| self.scan.standing(Flow(index as u32)).tolerance.denominator < 250)
    }
}

/// Oracle S5.
#[test]
fn fair_shares_across_the_wrap() {
    let streams = [(7, 8), (14, 16), (6, 8), (4, 8)].map(|(x, y)| Stream::windowed(Window::new(x, y), 1));
    let mut scan = Scan::new(RULES, Order::default(), &streams).unwrap();
    let architectures = [Architecture::base, Architecture::winner_only, Architecture::compute_ahead].map(|of| of(Size::Four));
    let mut devices = architectures.map(|architecture| Device::new(architecture, Clock::Outside, 65_500, &streams).unwrap());
    let mut counting = Device::new(architectures[0], Clock::Decisions, 65_500, &streams).unwrap();
    let mut served = [0u64; 4];
    for stream in (0..4).map(Flow) {
        scan.activate(65_500, stream, 65_500);
        devices.iter_mut().for_each(|device| device.activate(65_500, stream, 65_500));
        counting.activate(0, stream, 65_500);
    }
    for now in 65_500..65_500 + 64_000 {
        let choice = scan.select(now);
        let Choice::Serve(stream) = choice else { panic!("all streams are backlogged") };
        served[stream.index()] += 1;
        let next = Some(65_500 + served[stream.index()]);
        assert_eq!(counting.select(0), choice);
        for device in &mut devices {
            assert_eq!(device.select(now), choice);
            assert!((0..4).all(|stream| device.standing(Flow(stream)) == scan.standing(Flow(stream))), "at {now}");
            device.served(stream, now + 1, next);
        }
        assert!((0..4).all(|stream| counting.standing(Flow(stream)) == scan.standing(Flow(stream))), "at {now}");
        counting.served(stream, 0, next);
        scan.served(stream, now + 1, next);
    }
    assert_eq!(served, [8000, 8000, 16_000, 32_000]);
}

/// A stream that is alone runs ahead until its deadline is clamped; the others come and go across several wraps of the clock.
#[test]
fn a_lead_is_clamped_and_idle_streams_come_back() {
    let mut streams = vec![Stream::windowed(Window::new(1, 2), 4); 3];
    streams[2].droppable = true;
    let mut lockstep = Lockstep::new(&streams, 65_000);
    for slot in 0..90_000u64 {
        lockstep.arrive(0, 0);
        for (stream, pause) in [(1, 20_011), (2, 44_003)] {
            if slot % pause == 7 {
                lockstep.arrive(stream, 0);
            }
        }
        lockstep.decide(1);
    }
    assert_eq!(lockstep.scan.standing(Flow(0)).deadline, lockstep.now + CLAMP);
}

/// Where periods are shorter than services the device falls behind the scan, but neither stops nor leaves its range.
#[test]
fn services_that_are_too_long_leave_deadlines_in_range() {
    for service in [2, 1000, 16_384, 16_385, 70_000, 1 << 40] {
        for update in [Update::InTurn, Update::Ahead] {
            let mut streams = vec![Stream::windowed(Window::new(1, 2), 1); 6];
            streams[4] = Stream::without_deadline(Window::new(1, 2));
            streams[5].period = Some(CLAMP);
            let architecture = Architecture { update, ..Architecture::base(Size::Four) };
            let mut device = Device::new(architecture, Clock::Outside, 3, &streams).unwrap();
            (0..6).for_each(|stream| device.activate(3, Flow(stream), 0));
            let mut now = 3u64;
            for arrival in 1..300 {
                let Choice::Serve(stream) = device.select(now) else { panic!("all streams are backlogged") };
                for stream in (0..6).filter(|&stream| stream != 4) {
                    let deadline = device.standing(Flow(stream)).deadline;
                    assert!(deadline + CLAMP > now && deadline <= now + CLAMP, "{deadline} at {now}");
                }
                now += service;
                device.served(stream, now, Some(arrival));
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Action {
    Arrive {
        stream: Index,
        packets: u8,
        early: u64,
    },
    Decide(u8),
    /// A head is taken away.
    Lose(Index),
    /// Everything is served; then this many ticks pass without a packet.
    Rest(u64),
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        4 => (any::<Index>(), 1u8..12, 0u64..4).prop_map(|(stream, packets, early)| Action::Arrive { stream, packets, early }),
        4 => (1u8..20).prop_map(Action::Decide),
        1 => any::<Index>().prop_map(Action::Lose),
        1 => prop_oneof![0u64..5, Just(16_384), Just(16_385), 30_000u64..40_000, 60_000u64..140_000].prop_map(Action::Rest),
    ];
    proptest::collection::vec(action, 1..40)
}

/// Streams with frequent ties, so that every rule of precedence decides, and some at the limits of the registers.
fn streams(service: u64) -> impl Strategy<Value = Vec<Stream>> {
    let period = prop_oneof![
        4 => (service..service + 3).prop_map(Some),
        1 => prop_oneof![Just(CLAMP - 1), Just(CLAMP)].prop_map(Some),
        1 => Just(None),
    ];
    let window = (0u32..4, 0u32..4).prop_map(|(x, more)| Window::new(x, x + more));
    let stream = (window, period, 0u32..3, any::<bool>(), 0u8..8, proptest::option::of(0u64..CLAMP)).prop_map(
        |(window, period, penalty, droppable, fixed, first_deadline)| {
            let Some(period) = period else { return Stream::without_deadline(window) };
            let stream = Stream { first_deadline, penalty, droppable, ..Stream::windowed(window, period) };
            if fixed == 0 { Stream { is_fixed: true, window: Window::new(0, window.deadlines), ..stream } } else { stream }
        },
    );
    proptest::collection::vec(stream, 1..10)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2 * ProptestConfig::default().cases))]

    #[test]
    fn every_architecture_keeps_step_with_the_scan(
        (service, streams) in (1u64..4).prop_flat_map(|service| (Just(service), streams(service))),
        start in prop_oneof![Just(0u64), 65_500u64..65_536, 32_700u64..32_800],
        actions in actions(),
    ) {
        let mut streams = streams;
        for stream in &mut streams {
            stream.first_deadline = stream.first_deadline.map(|deadline| start + deadline);
        }
        let mut lockstep = Lockstep::new(&streams, start);
        'run: for action in actions {
            match action {
                Action::Arrive { stream, packets, early } => (0..packets).for_each(|_| lockstep.arrive(stream.index(streams.len()), early)),
                Action::Decide(decisions) => {
                    for _ in 0..decisions {
                        if lockstep.decide(service).is_none() {
                            break;
                        }
                        if !lockstep.fits() {
                            break 'run;
                        }
                    }
                }
                Action::Lose(stream) => lockstep.lose(stream.index(streams.len())),
                Action::Rest(ticks) => {
                    while lockstep.decide(service).is_some() {
                        if !lockstep.fits() {
                            break 'run;
                        }
                    }
                    lockstep.now += ticks;
                    lockstep.told = lockstep.now;
                }
            }
        }
    }

    /// Adversarial: all streams ask for every slot, arrive in bursts that leave the others idle, and drop what is late.
    #[test]
    fn overload_keeps_step_too(
        windows in proptest::collection::vec((0u32..3, 0u32..3, any::<bool>()), 4..9),
        bursts in proptest::collection::vec(proptest::collection::vec(0u8..30, 9), 1..6),
    ) {
        let stream = |&(x, more, droppable): &(u32, u32, bool)| Stream { droppable, ..Stream::windowed(Window::new(x, x + more), 1) };
        let streams: Vec<Stream> = windows.iter().map(stream).collect();
        let mut lockstep = Lockstep::new(&streams, 65_530);
        'run: for burst in bursts {
            for (stream, &packets) in burst.iter().enumerate().take(streams.len()) {
                (0..packets).for_each(|_| lockstep.arrive(stream, 0));
            }
            for _ in 0..60 {
                if lockstep.decide(1).is_none() {
                    break;
                }
                if !lockstep.fits() {
                    break 'run;
                }
            }
        }
    }
}
