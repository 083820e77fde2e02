//! The theorems that the schedulers ordered by time and by key promise, on random traffic that tries to break them.

mod heap;
mod link;

use heap::Heap;
use link::{Arrival, Departure, in_order, run};
use proptest::prelude::*;
use tidegate_core::packet::Flow;
use tidegate_core::ready::{ReadyList, Wheel};
use tidegate_core::scheduler::{EarliestDeadlineFirst, FlowParameters, Parameter, QuickFair, SelfClocked, Setup, VirtualClock, Wf2qPlus};
use tidegate_core::units::{Duration, Rate};

const PICOSECONDS_PER_SECOND: u128 = 1_000_000_000_000;

/// A flow of a random experiment.
#[derive(Clone, Debug)]
struct Spec {
    /// Bits per second.
    rate: u64,
    /// Bytes.
    longest: u32,
    /// Bytes, at least `longest`.
    burst: u32,
}

impl Spec {
    /// A time in units in which one byte takes a whole number: picoseconds times bits per second.
    fn work(bytes: u32) -> u128 {
        u128::from(bytes) * 8 * PICOSECONDS_PER_SECOND
    }
}

/// What is fixed about an experiment.
#[derive(Clone, Debug)]
struct Experiment {
    link: Rate,
    flows: Vec<Spec>,
}

impl Experiment {
    fn longest(&self) -> u32 {
        self.flows.iter().map(|flow| flow.longest).max().unwrap_or(1)
    }

    fn setup(&self) -> Setup {
        Setup::new(self.link, self.longest())
    }

    /// The time of this many bytes on the link, rounded up.
    fn link_time(&self, bytes: u32) -> u64 {
        (Spec::work(bytes)).div_ceil(u128::from(self.link.bits_per_second())) as u64
    }

    /// What the rounding of the link's and the flows' rates may add up to by the end of a run.
    fn rounding(&self, departures: &[Departure]) -> u64 {
        let end = departures.iter().map(|sent| sent.finish).max().unwrap_or(0);
        2 * departures.len() as u64 + (end >> 30)
    }

    fn parameters(&self, give: impl Fn(&Spec) -> FlowParameters) -> Vec<FlowParameters> {
        self.flows.iter().map(give).collect()
    }
}

/// Flows whose rates sum up to at most the link's: exactly to it, or less.
fn experiments() -> impl Strategy<Value = Experiment> {
    let flow = (1u64..100, 64u32..=1500, 0u32..=4000);
    (prop_oneof![Just(10_000_000u64), Just(1_000_000_000), 1_000_000u64..50_000_000_000], prop::collection::vec(flow, 2..9), 60u64..=100)
        .prop_map(|(link, flows, load)| {
            let sum: u64 = flows.iter().map(|flow| flow.0).sum();
            let flows = flows.into_iter().map(|(share, longest, more)| Spec {
                rate: (u128::from(link) * u128::from(share) * u128::from(load) / u128::from(sum) / 100) as u64,
                longest,
                burst: longest + more,
            });
            Experiment { link: Rate::new(link).unwrap(), flows: flows.collect() }
        })
        .prop_filter("rates are at least 1 kbit/s", |experiment| experiment.flows.iter().all(|flow| flow.rate >= 1000))
}

/// How a flow behaves for a while.
#[derive(Clone, Copy, Debug)]
enum Mood {
    /// It sends as early as its token bucket allows.
    Greedy,
    /// It sends as early as its token bucket allows after a pause of this many of its packet times.
    Pausing(u8),
    /// It ignores its token bucket and sends this many packets at once.
    Flooding(u8),
}

/// Packets of one flow: length in 1/256 of the longest, and the mood.
type Script = Vec<(u8, Mood)>;

fn scripts(conforming: bool) -> impl Strategy<Value = Script> {
    let mood = prop_oneof![
        6 => Just(Mood::Greedy),
        2 => (0u8..8).prop_map(Mood::Pausing),
        u32::from(!conforming) * 2 => (1u8..20).prop_map(Mood::Flooding),
    ];
    prop::collection::vec((prop_oneof![Just(255u8), Just(0), any::<u8>()], mood), 1..40)
}

/// The arrivals of one flow from `start` on. Without flooding they keep within its token bucket, in exact arithmetic.
fn play(spec: &Spec, flow: usize, start: u64, script: &Script) -> Vec<Arrival> {
    let (rate, burst) = (u128::from(spec.rate), Spec::work(spec.burst));
    let (mut now, mut level) = (start, 0u128);
    let mut arrivals = Vec::new();
    for &(fraction, mood) in script {
        let length = (u64::from(spec.longest) * (u64::from(fraction) + 1) / 256).max(1) as u32;
        let copies = match mood {
            Mood::Flooding(copies) => copies,
            _ => 1,
        };
        if let Mood::Pausing(packets) = mood {
            let pause = u64::from(packets) * (Spec::work(spec.longest) / rate) as u64;
            level = level.saturating_sub(u128::from(pause) * rate);
            now += pause;
        }
        for _ in 0..copies {
            if !matches!(mood, Mood::Flooding(_)) {
                let wait = (level + Spec::work(length)).saturating_sub(burst).div_ceil(rate);
                level = level.saturating_sub(wait * rate);
                now += wait as u64;
                level += Spec::work(length);
            }
            arrivals.push(Arrival { time: now, flow, length });
        }
    }
    arrivals
}

fn traffic(experiment: &Experiment, scripts: &[(u16, Script)]) -> Vec<Arrival> {
    let longest = experiment.link_time(experiment.longest());
    let each = experiment.flows.iter().zip(scripts).enumerate();
    in_order(each.flat_map(|(flow, (spec, (start, script)))| play(spec, flow, u64::from(*start) * longest / 1000, script)).collect())
}

/// An experiment with a script for each of its flows; the first `conforming` keep within their token buckets.
fn trials(conforming: usize) -> impl Strategy<Value = (Experiment, Vec<(u16, Script)>)> {
    experiments().prop_flat_map(move |experiment| {
        let scripts: Vec<_> = (0..experiment.flows.len()).map(|flow| (0u16..3000, scripts(flow < conforming))).collect();
        (Just(experiment), scripts)
    })
}

/// The instants, times the flow's rate, by which a server of the flow's own rate for the flow alone would have finished each of its
/// packets, in their order: the fluid server that a guaranteed rate is measured against.
fn fluid_finishes(spec: &Spec, packets: &[&Departure]) -> Vec<u128> {
    let mut finish = 0;
    let one = |packet: &&Departure| {
        finish = finish.max(u128::from(packet.arrival) * u128::from(spec.rate)) + Spec::work(packet.length);
        finish
    };
    packets.iter().map(one).collect()
}

fn of_flow(departures: &[Departure], flow: usize) -> Vec<&Departure> {
    departures.iter().filter(|sent| sent.flow == flow).collect()
}

/// Every packet leaves by its flow's fluid finish plus the longest packet's time plus `slack`, whatever the other flows do; and a flow
/// that keeps within its token bucket is delayed by at most `burst / rate` plus the same.
fn check_guaranteed_rates(experiment: &Experiment, departures: &[Departure], conforming: usize, slack: u64) -> Result<(), TestCaseError> {
    check_rates_but_for(&|_| experiment.link_time(experiment.longest()) + slack, experiment, departures, conforming)
}

/// The same with another time in place of the longest packet's, for each flow.
fn check_rates_but_for(
    blocking: &dyn Fn(usize) -> u64,
    experiment: &Experiment,
    departures: &[Departure],
    conforming: usize,
) -> Result<(), TestCaseError> {
    for (flow, spec) in experiment.flows.iter().enumerate() {
        let packets = of_flow(departures, flow);
        let blocking = blocking(flow);
        for (packet, fluid) in packets.iter().zip(fluid_finishes(spec, &packets)) {
            let rate = u128::from(spec.rate);
            prop_assert!(u128::from(packet.finish - blocking.min(packet.finish)) * rate <= fluid, "{packet:?} after {} ps", fluid / rate);
            if flow < conforming {
                let bound = Spec::work(spec.burst).div_ceil(rate) as u64 + blocking;
                prop_assert!(packet.finish - packet.arrival <= bound, "{packet:?} was delayed by more than {bound} ps");
            }
        }
    }
    Ok(())
}

fn with_rate(spec: &Spec) -> FlowParameters {
    FlowParameters { rate: Some(Rate::new(spec.rate).unwrap()), ..FlowParameters::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2 * ProptestConfig::default().cases))]

    #[test]
    fn virtual_clock_guarantees_rates((experiment, scripts) in trials(2)) {
        let arrivals = traffic(&experiment, &scripts);
        let flows = experiment.parameters(with_rate);
        fn go<R: ReadyList>(experiment: &Experiment, flows: &[FlowParameters], arrivals: &[Arrival]) -> Vec<Departure> {
            let mut scheduler: VirtualClock<R> = experiment.setup().build(flows).unwrap();
            run(&mut scheduler, experiment.link, flows.len(), arrivals)
        }
        let exact = go::<Heap>(&experiment, &flows, &arrivals);
        check_guaranteed_rates(&experiment, &exact, 2, experiment.rounding(&exact))?;
        prop_assert_eq!(go::<Wheel>(&experiment, &flows, &arrivals), exact);
    }

    #[test]
    fn wf2q_plus_guarantees_rates((experiment, scripts) in trials(2)) {
        let arrivals = traffic(&experiment, &scripts);
        let flows = experiment.parameters(with_rate);
        let exact = run_wf2q_plus::<Heap>(&experiment, &flows, &arrivals);
        check_guaranteed_rates(&experiment, &exact, 2, experiment.rounding(&exact))?;
        prop_assert_eq!(run_wf2q_plus::<Wheel>(&experiment, &flows, &arrivals), exact);
    }

    #[test]
    fn scfq_guarantees_rates((experiment, scripts) in trials(2)) {
        let arrivals = traffic(&experiment, &scripts);
        let exact = run_scfq::<Heap>(&experiment, &arrivals);
        let slack = experiment.rounding(&exact);
        let others = |flow| {
            let longest = experiment.flows.iter().enumerate().filter(|&(other, _)| other != flow);
            longest.map(|(_, spec)| experiment.link_time(spec.longest)).sum::<u64>() + slack
        };
        check_rates_but_for(&others, &experiment, &exact, 2)?;
        prop_assert_eq!(run_scfq::<Wheel>(&experiment, &arrivals), exact);
    }

    #[test]
    fn scfq_shares_fairly_between_any_two_flows(experiment in experiments(), fractions in prop::collection::vec(any::<u8>(), 200)) {
        let mut arrivals = Vec::new();
        for (number, fraction) in fractions.iter().cycle().take(1600).enumerate() {
            let flow = number % experiment.flows.len();
            let length = (u64::from(experiment.flows[flow].longest) * (u64::from(*fraction) + 1) / 256).max(1) as u32;
            arrivals.push(Arrival { time: 0, flow, length });
        }
        let departures = run_scfq::<Wheel>(&experiment, &arrivals);
        for (one, first) in experiment.flows.iter().enumerate() {
            for (other, second) in experiment.flows.iter().enumerate().skip(one + 1) {
                // The lead of one flow over another, times both rates: over any interval it changes by at most one packet of each.
                let last = |flow| departures.iter().rposition(|sent| sent.flow == flow).unwrap();
                let (mut lead, mut least, mut most) = (0i128, 0, 0);
                for sent in &departures[..last(one).min(last(other))] {
                    let work = Spec::work(sent.length) as i128;
                    if sent.flow == one {
                        lead += work * i128::from(second.rate);
                    } else if sent.flow == other {
                        lead -= work * i128::from(first.rate);
                    }
                    (least, most) = (least.min(lead), most.max(lead));
                }
                let bound = |spec: &Spec, rate| Spec::work(spec.longest) as i128 * i128::from(rate);
                let slack = i128::from(experiment.rounding(&departures)) * i128::from(first.rate) * i128::from(second.rate);
                prop_assert!(most - least <= bound(first, second.rate) + bound(second, first.rate) + slack);
            }
        }
    }

    #[test]
    fn earliest_deadline_first_meets_feasible_deadlines((experiment, scripts) in trials(usize::MAX), ranks in any::<u64>()) {
        let arrivals = traffic(&experiment, &scripts);
        let delays = tightest_delays(&experiment, ranks);
        let mut flows = Vec::new();
        for &delay in &delays {
            flows.push(FlowParameters { delay: Some(Duration::from_picoseconds(delay)), ..FlowParameters::default() });
        }
        fn go<R: ReadyList>(experiment: &Experiment, flows: &[FlowParameters], arrivals: &[Arrival]) -> Vec<Departure> {
            let mut scheduler: EarliestDeadlineFirst<R> = experiment.setup().build(flows).unwrap();
            run(&mut scheduler, experiment.link, flows.len(), arrivals)
        }
        let blocking = experiment.link_time(experiment.longest());
        let exact = go::<Heap>(&experiment, &flows, &arrivals);
        let slack = experiment.rounding(&exact);
        for packet in &exact {
            let deadline = packet.arrival + delays[packet.flow];
            prop_assert!(packet.finish <= deadline + blocking + slack, "{packet:?} finished {} ps late", packet.finish - deadline);
        }
        prop_assert_eq!(go::<Wheel>(&experiment, &flows, &arrivals), exact);
    }

    #[test]
    fn wf2q_plus_is_worst_case_fair((experiment, scripts) in trials(0)) {
        let arrivals = traffic(&experiment, &scripts);
        let flows = experiment.parameters(with_rate);
        let exact = run_wf2q_plus::<Heap>(&experiment, &flows, &arrivals);
        let slack = experiment.rounding(&exact);
        let blocking = |flow: usize| experiment.link_time(experiment.longest() - experiment.flows[flow].longest) + slack;
        let index = |flow: usize, spec: &Spec| Spec::work(spec.longest) + u128::from(spec.rate) * u128::from(blocking(flow));
        check_worst_case_fairness(&index, &experiment, &exact)?;
        prop_assert_eq!(run_wf2q_plus::<Wheel>(&experiment, &flows, &arrivals), exact);
    }

    #[test]
    fn quick_fair_guarantees_rates((experiment, scripts) in trials(2)) {
        let departures = run_quick_fair(&experiment, &traffic(&experiment, &scripts));
        check_rates_but_for(&|flow| behind_in_slots(&experiment, flow) + experiment.rounding(&departures), &experiment, &departures, 2)?;
    }

    #[test]
    fn quick_fair_is_nearly_worst_case_fair((experiment, scripts) in trials(0)) {
        let departures = run_quick_fair(&experiment, &traffic(&experiment, &scripts));
        let slack = experiment.rounding(&departures);
        let index = |flow, spec: &Spec| u128::from(spec.rate) * u128::from(behind_in_slots(&experiment, flow) + slack);
        check_worst_case_fairness(&index, &experiment, &departures)?;
    }
}

fn run_quick_fair(experiment: &Experiment, arrivals: &[Arrival]) -> Vec<Departure> {
    let flows = experiment.parameters(with_rate);
    let mut scheduler = experiment.setup().build::<QuickFair>(&flows).unwrap();
    run(&mut scheduler, experiment.link, flows.len(), arrivals)
}

/// How far QFQ may leave a flow behind its fluid server, in picoseconds: three slots and two of the longest packets.
fn behind_in_slots(experiment: &Experiment, flow: usize) -> u64 {
    let longest = experiment.longest();
    let slot = Rate::new(experiment.flows[flow].rate).unwrap().time_per_byte().ceil(longest).picoseconds().next_power_of_two();
    3 * slot + 2 * experiment.link_time(longest)
}

fn run_scfq<R: ReadyList>(experiment: &Experiment, arrivals: &[Arrival]) -> Vec<Departure> {
    let flows = experiment.parameters(with_rate);
    let mut scheduler: SelfClocked<R> = experiment.setup().build(&flows).unwrap();
    run(&mut scheduler, experiment.link, flows.len(), arrivals)
}

fn run_wf2q_plus<R: ReadyList>(experiment: &Experiment, flows: &[FlowParameters], arrivals: &[Arrival]) -> Vec<Departure> {
    let mut scheduler: Wf2qPlus<R> = experiment.setup().build(flows).unwrap();
    run(&mut scheduler, experiment.link, flows.len(), arrivals)
}

/// Whenever a flow is backlogged from t1 to t2, when one of its packets departs, it gets at least `rate * (t2 - t1)` less its `index`, in
/// units of [`Spec::work`]: it is never made to wait for having been served early.
fn check_worst_case_fairness(
    index: &dyn Fn(usize, &Spec) -> u128,
    experiment: &Experiment,
    departures: &[Departure],
) -> Result<(), TestCaseError> {
    for (flow, spec) in experiment.flows.iter().enumerate() {
        let rate = i128::from(spec.rate);
        let index = index(flow, spec) as i128;
        // The lead is the work received less the work due; `highest` is its maximum so far in this backlogged period.
        let (mut received, mut highest, mut end) = (0i128, i128::MIN, 0);
        for packet in of_flow(departures, flow) {
            if packet.arrival >= end {
                highest = received - rate * i128::from(packet.arrival);
            }
            received += Spec::work(packet.length) as i128;
            end = packet.finish;
            let lead = received - rate * i128::from(end);
            prop_assert!(
                lead >= highest - index,
                "{packet:?} of a flow that is {} ps behind, more than {}",
                (highest - lead) / rate,
                index / rate
            );
            highest = highest.max(lead);
        }
    }
    Ok(())
}

/// For each flow the shortest delay that is feasible after those of the flows before it, in an order drawn from `ranks`: with `t` the delay
/// of the last flow so far, `sum over flows of (burst + rate * (t - delay)) = capacity * t`.
fn tightest_delays(experiment: &Experiment, ranks: u64) -> Vec<u64> {
    let mut order: Vec<usize> = (0..experiment.flows.len()).collect();
    order.sort_by_key(|&flow| (ranks >> (flow * 8)) & 0xff);
    let mut delays = vec![0; order.len()];
    // The sums of rates, and of bursts less rate times delay, over the flows placed so far.
    let (mut rates, mut bursts, mut shortest) = (0i128, 0i128, 0i128);
    for flow in order {
        let spec = &experiment.flows[flow];
        bursts += Spec::work(spec.burst) as i128;
        let left = i128::from(experiment.link.bits_per_second()) - rates;
        let delay = shortest.max((bursts + left - 1) / left);
        bursts -= i128::from(spec.rate) * delay;
        rates += i128::from(spec.rate);
        delays[flow] = delay as u64;
        shortest = delay;
    }
    delays
}

/// Greedy flows with packets of their own length, all queued from time 0 on, `bytes` of each.
fn saturated(lengths: &[u32], bytes: u32) -> Vec<Arrival> {
    let of_flow = |(flow, &length)| (0..bytes / length).map(move |_| Arrival { time: 0, flow, length });
    lengths.iter().enumerate().flat_map(of_flow).collect()
}

#[test]
fn wf2q_plus_shares_in_proportion_to_weights() {
    let weights = [1u32, 2, 3, 10];
    let lengths = [1500, 64, 700, 1500];
    let flows = weights.map(|weight| FlowParameters { weight: Some(weight), ..FlowParameters::default() });
    let link = Rate::new(100_000_000).unwrap();
    let mut scheduler: Wf2qPlus = Setup::new(link, 1500).build(&flows).unwrap();
    let departures = run(&mut scheduler, link, 4, &saturated(&lengths, 20_000_000));
    // While all are backlogged: the flow of the largest weight is done first.
    let end = departures.iter().rposition(|sent| sent.flow == 3).unwrap();
    let total: u64 = departures[..end].iter().map(|sent| u64::from(sent.length)).sum();
    for (flow, weight) in weights.into_iter().enumerate() {
        let got: u64 = departures[..end].iter().filter(|sent| sent.flow == flow).map(|sent| u64::from(sent.length)).sum();
        let due = total * u64::from(weight) / 16;
        assert!(got.abs_diff(due) <= 2 * 1500, "flow {flow} got {got} bytes instead of {due}");
    }
}

/// Bennett and Zhang's queue holds a packet until it has left: a flow is not idle while its last packet is being sent.
#[test]
fn wf2q_plus_keeps_the_claim_of_a_flow_whose_last_packet_is_being_sent() {
    let flows = [4, 4, 2].map(|mbps| FlowParameters { rate: Some(Rate::new(mbps * 1_000_000).unwrap()), ..FlowParameters::default() });
    let link = Rate::new(10_000_000).unwrap();
    let mut scheduler: Wf2qPlus = Setup::new(link, 1500).build(&flows).unwrap();
    // Flow 0 waits for the packet of flow 1, 1.2 ms, and is behind virtual time when its own is sent, from 1.2 to 1.28 ms. Its second one comes
    // meanwhile, as does one of flow 2 that a fluid server would have finished at 1.24 + 0.04 ms.
    let arrival = |microseconds: u64, flow, length| Arrival { time: microseconds * 1_000_000, flow, length };
    let arrivals = [arrival(0, 1, 1500), arrival(1, 0, 100), arrival(1240, 2, 10), arrival(1240, 0, 100)];
    let departures = run(&mut scheduler, link, 3, &arrivals);
    assert_eq!(departures.iter().map(|sent| sent.flow).collect::<Vec<_>>(), [1, 0, 0, 2]);
}

/// Virtual time that counts a packet whole when its service starts gives a packet that comes meanwhile too late a stamp, and breaks law 1.
#[test]
fn wf2q_plus_counts_a_packet_while_it_is_sent() {
    let rates = [2_500, 7_000, 500].map(|kbps| Rate::new(kbps * 1_000).unwrap());
    let flows = rates.map(|rate| FlowParameters { rate: Some(rate), ..FlowParameters::default() });
    let link = Rate::new(10_000_000).unwrap();
    let mut scheduler: Wf2qPlus = Setup::new(link, 1500).build(&flows).unwrap();
    // Flow 1 is served until it is ahead, at 80 us. Then flow 2 sends its long packet, until 1280 us, and the packet of flow 0 comes.
    let arrival = |microseconds: u64, flow, length| Arrival { time: microseconds * 1_000_000, flow, length };
    let mut arrivals = vec![arrival(0, 1, 100); 40];
    arrivals.extend([arrival(0, 2, 1500), arrival(81, 0, 250)]);
    let departures = run(&mut scheduler, link, 3, &arrivals);
    let packet = of_flow(&departures, 0)[0];
    // Its fluid server finishes it at 881 us, and seven packets of flow 1 before, of which the first has left: 1280 + 6 * 80 + 200 us.
    assert_eq!(packet.finish, 1_960_000_000);
    let (own, longest) = (800_000_000, 1_200_000_000);
    assert!(packet.finish - packet.arrival <= own + longest, "stamped late, it leaves at 2840 us");
}

#[test]
fn wf2q_plus_gives_nothing_back_to_flows_that_were_idle() {
    let flows = [FlowParameters::default(); 2];
    let link = Rate::new(100_000_000).unwrap();
    let mut scheduler: Wf2qPlus = Setup::new(link, 1000).build(&flows).unwrap();
    // Flow 0 has the link for itself for 1000 packet times of 80 us, then flow 1 comes with as much.
    let packet = 80_000_000;
    let mut arrivals = saturated(&[1000], 2_000_000);
    arrivals.extend((0..1000).map(|_| Arrival { time: 1000 * packet, flow: 1, length: 1000 }));
    let departures = run(&mut scheduler, link, 2, &arrivals);
    assert!(departures[..1000].iter().all(|sent| sent.flow == 0));
    for window in [2, 10, 100, 1000] {
        let newcomer = departures[1000..1000 + window].iter().filter(|sent| sent.flow == 1).count();
        assert!(newcomer.abs_diff(window / 2) <= 1, "{newcomer} of {window} packets went to the flow that had been idle");
    }
}

#[test]
fn reservations_beyond_the_link_and_shares_below_the_least_rate_are_refused() {
    let mbps = |mbps: u64| FlowParameters { rate: Some(Rate::new(mbps * 1_000_000).unwrap()), ..FlowParameters::default() };
    let weight = |weight| FlowParameters { weight: Some(weight), ..FlowParameters::default() };
    let setup = Setup::new(Rate::new(10_000_000).unwrap(), 1500);
    let wf2q = |flows: &[FlowParameters]| setup.build::<Wf2qPlus>(flows).err().map(|error| (error.flow, error.parameter));
    assert_eq!(wf2q(&[mbps(4), mbps(6)]), None);
    assert_eq!(wf2q(&[mbps(4), weight(1), weight(7)]), None);
    assert_eq!(wf2q(&[mbps(4), mbps(7)]), Some((None, Parameter::Rate)));
    assert_eq!(wf2q(&[mbps(4), mbps(6), weight(1)]), Some((Some(Flow(2)), Parameter::Weight)), "nothing is left for it");
    assert_eq!(wf2q(&[weight(1), weight(100_000)]), Some((Some(Flow(0)), Parameter::Weight)), "below 1 kbit/s");
    assert_eq!(wf2q(&[weight(1), weight(0)]), Some((Some(Flow(1)), Parameter::Weight)));
    assert_eq!(wf2q(&[FlowParameters { weight: Some(2), ..mbps(4) }]), Some((Some(Flow(0)), Parameter::Weight)), "either, not both");
    let clock = |flows: &[FlowParameters]| setup.build::<VirtualClock>(flows).err().map(|error| (error.flow, error.parameter));
    assert_eq!(clock(&[mbps(4), mbps(6)]), None);
    assert_eq!(clock(&[mbps(4), mbps(7)]), Some((None, Parameter::Rate)));
    assert_eq!(clock(&[mbps(4), weight(1)]), Some((Some(Flow(1)), Parameter::Rate)));
    let late = FlowParameters { delay: Some(Duration::MAX), ..FlowParameters::default() };
    let edf = setup.build::<EarliestDeadlineFirst>(&[late]).err().map(|error| (error.flow, error.parameter));
    assert_eq!(edf, Some((Some(Flow(0)), Parameter::Delay)));
}

#[test]
fn the_virtual_clock_makes_a_flow_pay_for_what_it_took_beyond_its_rate() {
    let rate = Rate::new(50_000_000).unwrap();
    let flows = [FlowParameters { rate: Some(rate), ..FlowParameters::default() }; 2];
    let link = Rate::new(100_000_000).unwrap();
    let mut scheduler: VirtualClock = Setup::new(link, 1000).build(&flows).unwrap();
    let packet = 80_000_000;
    let mut arrivals = saturated(&[1000], 2_000_000);
    arrivals.extend((0..1000).map(|_| Arrival { time: 1000 * packet, flow: 1, length: 1000 }));
    let departures = run(&mut scheduler, link, 2, &arrivals);
    // 1000 packets at twice the rate put the clock 1000 packet times ahead: 500 of flow 1's packets at half the link each.
    // (the packet chosen at the very instant of the arrival was still flow 0's).
    let repaid = departures[1001..].iter().take_while(|sent| sent.flow == 1).count();
    assert!((499..=501).contains(&repaid), "{repaid} packets of the flow that was idle went first");
}

#[test]
fn a_slow_flow_alone_on_a_fast_link_wears_out_neither_clock() {
    // 1500 bytes take 12 s at 1 kbit/s: half a million packets would carry either virtual axis around its 64 bits.
    let slow = FlowParameters { rate: Some(Rate::MIN), ..FlowParameters::default() };
    let fast = FlowParameters { rate: Some(Rate::new(100_000_000_000).unwrap()), ..FlowParameters::default() };
    let setup = Setup::new(Rate::MAX, 1500);
    let packet = 30_000;
    let mut arrivals: Vec<Arrival> = (0..2_000_000).map(|_| Arrival { time: 0, flow: 0, length: 1500 }).collect();
    // The other flow keeps within its rate, a quarter of the link, with pauses in which the slow one drives virtual time.
    let bursts: Vec<Arrival> = (1..100).map(|burst| Arrival { time: burst * 19_777 * packet, flow: 1, length: 1500 }).collect();
    arrivals.extend(&bursts);
    let mut clock: VirtualClock = setup.build(&[slow, fast]).unwrap();
    let mut wf2q: Wf2qPlus = setup.build(&[slow, fast]).unwrap();
    let mut qfq = setup.build::<QuickFair>(&[slow, fast]).unwrap();
    // In four packets' time a fluid server would have finished it, and a slot of the fast flow is 2^17 ps.
    let (clock, wf2q, qfq) =
        (run(&mut clock, Rate::MAX, 2, &arrivals), run(&mut wf2q, Rate::MAX, 2, &arrivals), run(&mut qfq, Rate::MAX, 2, &arrivals));
    for (departures, behind) in [(clock, 2 * packet), (wf2q, 2 * packet), (qfq, 2 * packet + (3 << 17))] {
        for packet_of_fast in of_flow(&departures, 1) {
            let delay = packet_of_fast.finish - packet_of_fast.arrival;
            assert!(delay <= 4 * packet + behind, "{packet_of_fast:?} was delayed by {delay} ps");
        }
    }
}
