//! The laws of shapers: every shaped stream passes the policer of its contract, and no packet waits longer than its contract demands.

mod heap;

use heap::Heap;
use proptest::prelude::*;
use std::collections::VecDeque;
use tidegate_core::packet::{Colour, Flow, Head};
use tidegate_core::policer::{Contract, ContractField, Policer, Verdict};
use tidegate_core::ready::Wheel;
use tidegate_core::registry::{AnyPolicer, AnyScheduler, PolicerKind, SchedulerKind};
use tidegate_core::scheduler::{BuildError, Decision, FlowParameters, Scheduler, Setup};
use tidegate_core::shaper::{Allowance, Bucket, Shaped, ShapingContract};
use tidegate_core::units::{Duration, Rate, Time};

const LONGEST: u32 = 1500;

fn contracts() -> impl Strategy<Value = ShapingContract> {
    let burst = prop_oneof![Just(LONGEST), LONGEST..4 * LONGEST, LONGEST..1_000_000];
    let tolerance = prop_oneof![Just(0u64), 0u64..20_000, 0u64..10_000_000].prop_map(Duration::from_nanoseconds);
    let bucket = prop::sample::select(vec![Bucket::Single, Bucket::Dual]);
    (10_000u64..2_000_000_000, burst, prop::option::of(1u64..100), tolerance, bucket).prop_map(|(rate, burst, peak, tolerance, bucket)| {
        ShapingContract {
            rate: Rate::new(rate).unwrap(),
            burst,
            longest_packet: LONGEST,
            peak: peak.map(|factor| Rate::new(rate + rate * factor / 10).unwrap()),
            tolerance,
            bucket,
        }
    })
}

fn policer(contract: &ShapingContract, now: Time) -> AnyPolicer {
    let kind = if contract.peak.is_some() { PolicerKind::DualGcra } else { PolicerKind::Gcra };
    let mut policer = kind.build(&contract.policed()).unwrap();
    policer.start(now);
    policer
}

/// What happens to one flow's queue, or to the clock.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// Packets of one length arrive.
    Arrive { flow: usize, length: u32, packets: u8 },
    /// The head is pushed out.
    LoseHead(usize),
    /// The whole queue is pushed out, from the head on.
    LoseAll(usize),
    /// Time passes, in nanoseconds, and the link sends what it may.
    Pass(u32),
}

fn events(flows: usize) -> impl Strategy<Value = Event> {
    let flow = 0..flows;
    prop_oneof![
        6 => (flow.clone(), prop_oneof![Just(LONGEST), 1..=LONGEST], 1u8..6).prop_map(|(flow, length, packets)| Event::Arrive { flow, length, packets }),
        1 => flow.clone().prop_map(Event::LoseHead),
        1 => flow.prop_map(Event::LoseAll),
        4 => prop_oneof![0u32..2_000, 0u32..1_000_000, 0u32..100_000_000].prop_map(Event::Pass),
    ]
}

/// A shaped scheduler with its queues and a link, and a policer behind every shaped flow.
struct Bench<S> {
    scheduler: S,
    queues: Vec<VecDeque<Head>>,
    policers: Vec<Option<AnyPolicer>>,
    link: Rate,
    now: Time,
    free: Time,
    number: u32,
    sent: usize,
}

impl<S: Scheduler> Bench<S> {
    fn new(mut scheduler: S, contracts: &[Option<ShapingContract>], link: Rate, now: Time) -> Bench<S> {
        scheduler.start(now);
        let policers = contracts.iter().map(|contract| contract.map(|contract| policer(&contract, now))).collect();
        Bench { scheduler, queues: vec![VecDeque::new(); contracts.len()], policers, link, now, free: now, number: 0, sent: 0 }
    }

    fn play(&mut self, event: Event) -> Result<(), TestCaseError> {
        match event {
            Event::Arrive { flow, length, packets } => {
                for _ in 0..packets {
                    let head = Head {
                        length,
                        number: self.number,
                        arrival: self.now,
                        colour: [Colour::Green, Colour::Yellow, Colour::Red][self.number as usize % 3],
                    };
                    self.number += 1;
                    self.queues[flow].push_back(head);
                    if self.queues[flow].len() == 1 {
                        self.scheduler.activate(self.now, Flow(flow as u32), head);
                    }
                }
            }
            Event::LoseHead(flow) => self.lose(flow),
            Event::LoseAll(flow) => (0..self.queues[flow].len()).for_each(|_| self.lose(flow)),
            Event::Pass(nanoseconds) => self.pass(self.now + Duration::from_nanoseconds(u64::from(nanoseconds)))?,
        }
        Ok(())
    }

    fn lose(&mut self, flow: usize) {
        if self.queues[flow].pop_front().is_some() {
            self.scheduler.lost(self.now, Flow(flow as u32), self.queues[flow].front().copied());
        }
    }

    /// Sends all that may start up to `until`.
    fn pass(&mut self, until: Time) -> Result<(), TestCaseError> {
        let mut at = self.now.later(self.free);
        while !at.is_after(until) {
            match self.scheduler.select(at) {
                Decision::Serve(flow) | Decision::ServeAs(flow, _) => {
                    let Some(sent) = self.queues[flow.index()].pop_front() else { panic!("{flow:?} is not backlogged") };
                    if let Some(policer) = &mut self.policers[flow.index()] {
                        let verdict = policer.police(at, sent.length, Colour::Green);
                        prop_assert_eq!(verdict, Verdict::Conform, "{:?} at {:?}: {:?}", flow, at, sent);
                    }
                    self.scheduler.served(at, flow, self.queues[flow.index()].front().copied());
                    self.free = at + self.link.time_per_byte().ceil(sent.length);
                    self.sent += 1;
                    at = self.free;
                }
                Decision::WaitUntil(time) => {
                    prop_assert!(time.is_after(at));
                    prop_assert_eq!(self.scheduler.select(at), Decision::WaitUntil(time), "asking twice changes nothing");
                    at = time;
                }
                Decision::Idle => {
                    prop_assert!(self.queues.iter().all(VecDeque::is_empty), "idle while something is queued");
                    break;
                }
                Decision::Discard(flow) => panic!("{flow:?} is late, and none of these schedulers drops"),
            }
        }
        self.now = until;
        Ok(())
    }
}

const FLOWS: usize = 4;

fn inner(kind: SchedulerKind, link: Rate) -> AnyScheduler {
    let parameters = FlowParameters {
        rate: Some(Rate::new(link.bits_per_second() / FLOWS as u64).unwrap()),
        delay: Some(Duration::from_milliseconds(5)),
        priority: Some(0),
        ..FlowParameters::default()
    };
    kind.build(&Setup::new(link, LONGEST), &[parameters; FLOWS]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2 * ProptestConfig::default().cases))]

    #[test]
    fn every_shaped_stream_passes_its_policer(
        given in prop::collection::vec(contracts(), FLOWS - 1),
        link in 1_000_000u64..4_000_000_000,
        start in prop_oneof![Just(0u64), (0u64..1_000_000_000_000).prop_map(|before| before.wrapping_neg()), any::<u64>()],
        kind in prop::sample::select(vec![SchedulerKind::Fifo, SchedulerKind::DeficitRoundRobin, SchedulerKind::VirtualClock]),
        script in prop::collection::vec(events(FLOWS), 1..200),
    ) {
        // The last flow is unshaped and takes what link time it can get.
        let contracts: Vec<_> = given.into_iter().map(Some).chain([None]).collect();
        let (link, start) = (Rate::new(link).unwrap(), Time::from_picoseconds(start));
        let wheel: Shaped<_, Wheel> = Shaped::new(inner(kind, link), &contracts).unwrap();
        let heap: Shaped<_, Heap> = Shaped::new(inner(kind, link), &contracts).unwrap();
        let (mut wheel, mut heap) = (Bench::new(wheel, &contracts, link, start), Bench::new(heap, &contracts, link, start));
        for &event in &script {
            wheel.play(event)?;
            heap.play(event)?;
        }
        for bench in [&mut wheel.queues, &mut heap.queues] {
            prop_assert!(bench.iter().map(VecDeque::len).sum::<usize>() < 2000);
        }
        // Everything leaves in the end, still conforming.
        wheel.pass(wheel.now + Duration::from_seconds(1_000_000))?;
        heap.pass(heap.now + Duration::from_seconds(1_000_000))?;
        prop_assert!(wheel.queues.iter().chain(&heap.queues).all(VecDeque::is_empty));
    }

    /// A flow that has the link for itself leaves at the very instant at which its contract allows.
    #[test]
    fn nothing_is_early_and_nothing_is_late(
        contract in contracts(),
        start in any::<u64>(),
        packets in prop::collection::vec((1..=LONGEST, 0u64..2_000_000_000), 1..100),
    ) {
        let mut shaped = shaped_fifo(&[Some(contract)]);
        let mut ideal = contract.allowance().unwrap();
        let mut now = Time::from_picoseconds(start);
        shaped.start(now);
        ideal.start(now);
        for (number, (length, pause)) in packets.into_iter().enumerate() {
            now += Duration::from_picoseconds(pause);
            shaped.activate(now, Flow(0), Head { length, number: number as u32, arrival: now, colour: Colour::Green });
            let due = ideal.release().later(now);
            if let Decision::WaitUntil(time) = shaped.select(now) {
                now = time;
            }
            prop_assert_eq!(shaped.select(now), Decision::Serve(Flow(0)));
            prop_assert_eq!(now, due);
            shaped.served(now, Flow(0), None);
            ideal.charge(now, length);
        }
    }
}

fn shaped_fifo(contracts: &[Option<ShapingContract>]) -> Shaped<AnyScheduler> {
    let setup = Setup::new(Rate::MAX, LONGEST);
    let fifo = SchedulerKind::Fifo.build(&setup, &vec![FlowParameters::default(); contracts.len()]).unwrap();
    Shaped::new(fifo, contracts).unwrap()
}

const SLOT: Duration = Duration::from_microseconds(1);

/// The rate of one 53-byte cell in this many tenths of a slot.
fn one_cell_in(tenths: u64) -> Rate {
    Rate::new(53 * 8 * 10_000_000 / tenths).unwrap()
}

/// In which slots `cells` cells leave, as early as the contract allows and at the start of a slot.
fn slots(contract: &ShapingContract, cells: usize) -> Vec<u64> {
    let mut allowance = contract.allowance().unwrap();
    allowance.start(Time::ZERO);
    let mut one = || {
        // The rates are rounded to bits per second and to picoseconds: a few hundred of those are no slot.
        let due = allowance.release().since(Time::ZERO).picoseconds().saturating_sub(500);
        let slot = due.div_ceil(SLOT.picoseconds());
        allowance.charge(Time::ZERO + Duration::from_picoseconds(slot * SLOT.picoseconds()), 53);
        slot
    };
    (0..cells).map(|_| one()).collect()
}

#[test]
fn a_burst_leaves_at_the_peak_rate_and_then_the_sustained_rate_holds() {
    let contract = ShapingContract { peak: Some(one_cell_in(20)), ..ShapingContract::new(one_cell_in(100), 5 * 53, 53) };
    assert_eq!(slots(&contract, 10), [0, 2, 4, 6, 8, 18, 28, 38, 48, 58]);
}

#[test]
fn the_tolerance_keeps_the_rate_where_slots_make_every_other_cell_late() {
    let mut contract = ShapingContract::new(one_cell_in(45), 53, 53);
    assert_eq!(slots(&contract, 5), [0, 5, 10, 15, 20], "a tenth of the rate is lost without tolerance");
    contract.tolerance = SLOT;
    assert_eq!(slots(&contract, 7), [0, 5, 9, 14, 18, 23, 27]);
}

/// When the last of 10,000 packets of 1200 us leaves by a contract without a burst, if the link is asked every `tick` only.
fn after_10_000_packets(tolerance: Duration, tick: Duration) -> Time {
    let contract = ShapingContract { tolerance, ..ShapingContract::new(Rate::new(10_000_000).unwrap(), LONGEST, LONGEST) };
    let mut shaped = shaped_fifo(&[Some(contract)]);
    let mut now = Time::ZERO;
    let head = |number| Head { length: LONGEST, number, arrival: Time::ZERO, colour: Colour::Green };
    shaped.activate(now, Flow(0), head(0));
    for number in 1..=10_000 {
        if let Decision::WaitUntil(time) = shaped.select(now) {
            let ticks = time.picoseconds().div_ceil(tick.picoseconds());
            now = Time::from_picoseconds(ticks * tick.picoseconds());
        }
        assert_eq!(shaped.select(now), Decision::Serve(Flow(0)));
        shaped.served(now, Flow(0), Some(head(number)));
    }
    now
}

#[test]
fn the_rate_is_kept_in_the_long_run() {
    let ideal = Time::from_nanoseconds(9_999 * 1_200_000);
    assert_eq!(after_10_000_packets(Duration::ZERO, Duration::from_picoseconds(1)), ideal);
    // Up to 7 us late each time, without tolerance for good.
    let tick = Duration::from_microseconds(7);
    assert_eq!(after_10_000_packets(Duration::ZERO, tick), Time::from_nanoseconds(9_999 * 1_204_000));
    let last = after_10_000_packets(tick, tick);
    assert!(!last.is_before(ideal) && last.since(ideal) < tick, "{last:?} instead of {ideal:?}");
}

/// Notes what the scheduler inside is told.
#[derive(Default)]
struct Notebook {
    queue: VecDeque<Flow>,
    calls: Vec<(&'static str, Flow, Option<Head>)>,
}

impl Scheduler for Notebook {
    fn activate(&mut self, _now: Time, flow: Flow, head: Head) {
        self.queue.push_back(flow);
        self.calls.push(("activate", flow, Some(head)));
    }
    fn select(&mut self, _now: Time) -> Decision {
        self.queue.front().map_or(Decision::Idle, |&flow| Decision::Serve(flow))
    }
    fn served(&mut self, _now: Time, flow: Flow, next: Option<Head>) {
        self.queue.retain(|&other| other != flow);
        self.queue.extend(next.map(|_| flow));
        self.calls.push(("served", flow, next));
    }
    fn lost(&mut self, _now: Time, flow: Flow, next: Option<Head>) {
        if next.is_none() {
            self.queue.retain(|&other| other != flow);
        }
        self.calls.push(("lost", flow, next));
    }
    fn change(&mut self, _now: Time, _flow: Flow, _parameters: &FlowParameters) -> Result<(), BuildError> {
        Ok(())
    }
    fn forget(&mut self, _now: Time, _flow: Flow) {}
}

#[test]
fn the_scheduler_inside_sees_a_flow_while_its_head_may_leave() {
    // 12 Mbit/s: a millisecond per packet, two at once (and a byte, because times are rounded against the stream).
    let contract = ShapingContract::new(Rate::new(12_000_000).unwrap(), 2 * LONGEST + 1, LONGEST);
    let contracts = [Some(contract), None];
    let mut shaped: Shaped<_> = Shaped::new(Notebook::default(), &contracts).unwrap();
    let head = |number, colour| Head { length: LONGEST, number, arrival: Time::from_picoseconds(u64::from(number)), colour };
    let [first, second, third, fourth] =
        [(0, Colour::Green), (1, Colour::Yellow), (2, Colour::Red), (3, Colour::Yellow)].map(|of| head(of.0, of.1));
    let now = Time::from_nanoseconds(5_000_000);
    let byte = Rate::new(12_000_000).unwrap().time_per_byte();
    let later = now + byte.ceil(LONGEST) + byte.ceil(LONGEST) - byte.floor(LONGEST + 1);
    shaped.start(now);
    shaped.activate(now, Flow(0), first);
    shaped.served(now, Flow(0), Some(second));
    shaped.served(now, Flow(0), Some(third)); // must wait: withdrawn
    assert_eq!(shaped.select(now), Decision::WaitUntil(later));
    shaped.activate(now, Flow(1), fourth); // unshaped: passes
    shaped.lost(now, Flow(0), Some(fourth)); // lost while waiting: the scheduler inside is not told
    assert_eq!(shaped.select(now), Decision::Serve(Flow(1)));
    shaped.lost(now, Flow(1), None);
    assert_eq!(shaped.select(later), Decision::Serve(Flow(0)));
    shaped.lost(later, Flow(0), Some(third)); // lost while it may leave: its successor may as well
    shaped.lost(later, Flow(0), None);
    assert_eq!(shaped.select(later), Decision::Idle);
    let told = [
        ("activate", Flow(0), Some(first)),
        ("served", Flow(0), Some(second)),
        ("served", Flow(0), None),
        ("activate", Flow(1), Some(fourth)),
        ("lost", Flow(1), None),
        ("activate", Flow(0), Some(fourth)),
        ("lost", Flow(0), Some(third)),
        ("lost", Flow(0), None),
    ];
    assert_eq!(shaped.inner().calls, told);
}

#[test]
fn a_flow_that_loses_its_head_while_it_waits_keeps_its_place() {
    let contract = ShapingContract::new(Rate::new(12_000_000).unwrap(), LONGEST, LONGEST);
    let mut shaped: Shaped<_> = Shaped::new(Notebook::default(), &[Some(contract); 3]).unwrap();
    let head = |number| Head { length: LONGEST, number, arrival: Time::ZERO, colour: Colour::Green };
    for flow in 0..3 {
        shaped.activate(Time::ZERO, Flow(flow), head(flow));
    }
    for flow in 0..3 {
        assert_eq!(shaped.select(Time::ZERO), Decision::Serve(Flow(flow)));
        shaped.served(Time::ZERO, Flow(flow), Some(head(flow + 3)));
    }
    shaped.lost(Time::ZERO, Flow(0), Some(head(6)));
    let Decision::WaitUntil(due) = shaped.select(Time::ZERO) else { panic!("all three wait") };
    assert_eq!(shaped.select(due), Decision::Serve(Flow(0)), "all three are due at once, and it was there first");
}

#[test]
fn bad_contracts_are_refused_by_field() {
    let good = ShapingContract::new(Rate::new(1_000_000).unwrap(), LONGEST, LONGEST);
    let field = |contract: ShapingContract| contract.allowance().unwrap_err().field;
    assert!(good.allowance().is_ok());
    assert_eq!(field(ShapingContract { burst: LONGEST - 1, ..good }), ContractField::Burst);
    assert_eq!(field(ShapingContract { burst: 1 << 30, ..good }), ContractField::Burst);
    assert_eq!(field(ShapingContract { longest_packet: 0, ..good }), ContractField::LongestPacket);
    assert_eq!(field(ShapingContract { peak: Some(Rate::new(999_999).unwrap()), ..good }), ContractField::PeakRate);
    assert_eq!(field(ShapingContract { tolerance: Duration::MAX, ..good }), ContractField::DelayVariationTolerance);
    assert_eq!(field(ShapingContract { rate: Rate::MIN, burst: (1 << 30) - 1, ..good }), ContractField::Burst);
    let inner = Notebook::default();
    let error = Shaped::<_, Wheel>::new(inner, &[None, Some(ShapingContract { burst: 1, ..good })]).err().unwrap();
    assert_eq!((error.0, error.1.field), (Flow(1), ContractField::Burst));
}

#[test]
fn an_allowance_without_contract_never_waits_and_a_refresh_changes_no_release() {
    let mut unlimited = Allowance::UNLIMITED;
    unlimited.start(Time::ZERO);
    let month = Duration::from_seconds(30 * 24 * 3600);
    let mut limited = ShapingContract::new(Rate::MIN, 2 * LONGEST, LONGEST).allowance().unwrap();
    limited.start(Time::ZERO);
    let mut now = Time::ZERO;
    for _ in 0..24 {
        for _ in 0..3 {
            assert!(!unlimited.release().is_after(now));
            unlimited.charge(now, LONGEST);
        }
        // After a silence of a month, the burst is there again: two packets at once, the third after 12 s.
        assert!(!limited.release().is_after(now));
        limited.charge(now, LONGEST);
        assert!(!limited.release().is_after(now + Duration::from_picoseconds(1)));
        limited.charge(now, LONGEST);
        assert!(limited.release().since(now).saturating_sub(Duration::from_seconds(12)) <= Duration::from_picoseconds(10));
        for _ in 0..2 {
            now += Duration::from_picoseconds(month.picoseconds() / 2);
            limited.refresh(now);
            unlimited.refresh(now);
        }
    }
}

/// How many bytes of a backlogged stream leave back to back, at the rate of a link of 10 Mbit/s.
fn back_to_back(contract: &ShapingContract) -> u32 {
    let packet = Rate::new(10_000_000).unwrap().time_per_byte().ceil(LONGEST);
    let (mut allowance, mut now, mut bytes) = (contract.allowance().unwrap(), Time::ZERO, 0);
    while !allowance.release().is_after(now) {
        allowance.charge(now, LONGEST);
        now += packet;
        bytes += LONGEST;
    }
    bytes
}

#[test]
fn a_burst_is_a_bucket_that_fills_meanwhile_and_with_a_peak_rate_the_maximum_burst_size() {
    let contract = ShapingContract::new(Rate::new(5_000_000).unwrap(), 15_000, LONGEST);
    assert_eq!(back_to_back(&contract), 28_500);
    let with_peak = ShapingContract { peak: Some(Rate::new(10_000_000).unwrap()), ..contract };
    assert_eq!(back_to_back(&with_peak), 15_000);
}

#[test]
fn the_burst_of_a_gcra_counts_in_longest_packets_and_a_token_bucket_in_bytes() {
    let mut contract = Contract::new(Rate::new(1_000_000).unwrap(), 1518);
    contract.burst = Some(3036);
    let passing = |kind: PolicerKind, contract: &Contract, length| {
        let mut policer = kind.build(contract).unwrap();
        policer.start(Time::ZERO);
        (0..20).filter(|_| policer.police(Time::ZERO, length, Colour::Green) == Verdict::Conform).count()
    };
    let bucket = Contract { excess_burst: Some(0), ..contract };
    let lengths = [1518, 500];
    assert_eq!(lengths.map(|length| passing(PolicerKind::Gcra, &contract, length)), [2, 4]);
    assert_eq!(lengths.map(|length| passing(PolicerKind::SrTcm, &bucket, length)), [2, 6]);
}
