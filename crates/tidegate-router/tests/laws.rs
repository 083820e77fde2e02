//! Laws that hold for every machine: packets are conserved, the same seed gives the same bytes, functions and levels depart alike.

use proptest::prelude::*;
use std::sync::Arc;
use tidegate_core::units::{Duration, Rate};
use tidegate_router::{
    Arbiter, Bus, BusGuard, Distribution, Feedback, Fidelity, Kernel, Level, Machine, Nic, Pci, PcieLink, RouterFlow, RouterOutcome, Stage,
    Trial, Variation, Wake, run,
};
use tidegate_sim::Holding;
use tidegate_sim::source::{Cbr, LengthDistribution, OnOff, Poisson, Remainder, Source};

fn kernel() -> impl Strategy<Value = Kernel> {
    let wake = prop_oneof![
        Just(Wake::Interrupt),
        Just(Wake::Busy),
        Just(Wake::After(Distribution::Exponential { least: Duration::from_microseconds(3), beyond: Duration::from_microseconds(5) })),
    ];
    let feedback = Feedback { high: 6, low: 2, timeout: Duration::from_milliseconds(1) };
    let polling = (proptest::option::of(1u32..20), any::<bool>(), any::<bool>(), wake)
        .prop_map(move |(quota, gated, feeds, wake)| Kernel::Polling { quota, gated, feedback: feeds.then_some(feedback), wake });
    let shares = (1u32..20, 0.25f64..8.0).prop_map(|(batch, input_weight)| Kernel::Shares {
        batch,
        input_weight,
        estimate: Duration::from_microseconds(5),
    });
    prop_oneof![Just(Kernel::Interrupt), polling, shares]
}

fn source() -> impl Strategy<Value = Source> {
    let rate = |packets: u64| Rate::new(packets * 512 * 8).unwrap();
    let millisecond = Duration::from_milliseconds(1);
    prop_oneof![
        (1_000u64..90_000).prop_map(move |packets| Source::Cbr(Cbr { rate: rate(packets), length: 512, random_phase: true })),
        (1e3f64..9e4, 60u32..1500).prop_map(|(packets_per_second, longest)| Source::Poisson(Poisson {
            packets_per_second,
            length: LengthDistribution::Uniform { shortest: 60, longest },
        })),
        (10_000u64..150_000, 1.1f64..2.0).prop_map(move |(packets, shape)| Source::OnOff(OnOff {
            peak: rate(packets),
            length: 512,
            on: Holding::Pareto { mean: millisecond, shape },
            off: Holding::Exponential { mean: millisecond },
            remainder: Remainder::Carried,
        })),
    ]
}

prop_compose! {
    fn nics()(ring in 1u32..40, fifo in 1600u64..20_000, queue in 0u32..20, transmit in 1u32..20, coalescing in 1u32..12, channels in 1u32..4,
              others in 0usize..3, slow in any::<bool>()) -> Vec<Nic> {
        let rate = Rate::new(if slow { 100_000_000 } else { 1_000_000_000 }).unwrap();
        let nic = Nic { receive_fifo: fifo, ring, transmit_ring: transmit, transmit_queue: queue, coalescing, channels, ..Nic::ethernet(rate) };
        vec![nic; others + 1]
    }
}

prop_compose! {
    fn machine()(kernel in kernel(), nics in nics(), cores in 1u32..3, bus in bus(),
                 guarded in any::<bool>(), user in any::<bool>(), queue in proptest::option::of(1u32..30), clock in 100_000_000u64..2_000_000_000,
                 varies in any::<bool>()) -> Machine {
        let mut machine = Machine::pc_2002(clock);
        machine.stages.iter_mut().for_each(|stage| stage.queue = queue);
        if user {
            let screen = Stage { name: "screen".into(), level: Level::User, ..machine.stages[6].clone() };
            machine.stages.push(screen);
        }
        if !varies {
            let columns = machine.stages.len();
            machine.variation = Variation::Rows { woken: Arc::new([vec![2.0; columns]]), batched: Arc::new([vec![1.0; columns]]) };
        }
        Machine { cores, bus, nics, kernel, guard: guarded.then_some(BusGuard::FORWARDING), ..machine }
    }
}

fn bus() -> impl Strategy<Value = Bus> {
    let pci = (proptest::option::of(16u32..600), any::<bool>()).prop_map(|(burst, fair)| {
        let arbiter = if fair { Arbiter::Wf2qPlus } else { Arbiter::RoundRobin };
        Bus::Pci(Pci { burst, arbiter, ..Pci::PCI_32_33 })
    });
    let link =
        PcieLink { generation: 1, lanes: 1, max_payload: 128, max_read_request: 256, descriptor_batch: 4, write_back: 2, interrupts: true };
    prop_oneof![3 => pci, 1 => Just(Bus::Pcie(link))]
}

fn flows(nics: usize) -> impl Strategy<Value = Vec<RouterFlow>> {
    let flow = (source(), 0..nics, proptest::option::weighted(0.9, 0..nics), 1u32..4, 1u32..3, prop_oneof![Just(0.0), Just(0.3)]);
    let named = |(index, (source, input, output, weight, copies, jitter))| RouterFlow {
        weight,
        copies,
        jitter,
        ..RouterFlow::new(format!("flow {index}"), source, input, output)
    };
    proptest::collection::vec(flow, 1..5).prop_map(move |flows| flows.into_iter().enumerate().map(named).collect())
}

fn case() -> impl Strategy<Value = (Machine, Vec<RouterFlow>, u64)> {
    machine().prop_flat_map(|machine| {
        let nics = machine.nics.len();
        (Just(machine), flows(nics), any::<u64>())
    })
}

fn check_conservation(outcome: &RouterOutcome) {
    for flow in &outcome.flows {
        let account = flow.account;
        // `run` asserts that the packets it finds in the machine are those that did not leave.
        assert_eq!(account.arrived, account.left + account.lost + account.held);
        assert!(flow.offered <= account.arrived && flow.lost.total() <= account.lost && flow.forwarded <= account.left);
        assert!(flow.delays.count() + flow.lost.total() <= flow.offered);
    }
    for core in &outcome.cores {
        assert!(core.total() <= 1.0 + 1e-9, "{core:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Debug assertions count every packet after every event.
    #[test]
    fn packets_are_conserved_and_levels_depart_like_functions((machine, flows, seed) in case()) {
        let trial = Trial { warm_up: Duration::from_milliseconds(1), tail: Duration::ZERO, ..Trial::new(Duration::from_milliseconds(6), seed) };
        let function = run(&machine, &flows, &trial).unwrap();
        check_conservation(&function);
        prop_assert_eq!(&run(&machine, &flows, &trial).unwrap(), &function);
        let level = run(&machine, &flows, &Trial { fidelity: Fidelity::Level, ..trial }).unwrap();
        prop_assert_eq!(RouterOutcome { events: 0, ..level }, RouterOutcome { events: 0, ..function });
        let single = run(&machine, &flows, &Trial { fidelity: Fidelity::SingleQueue { entries: true }, ..trial }).unwrap();
        check_conservation(&single);
    }
}

#[test]
fn a_trial_ends_at_its_limit_of_losses() {
    let source = Source::Cbr(Cbr { rate: Rate::new(800_000_000).unwrap(), length: 512, random_phase: true });
    let flows = [RouterFlow::new("flow", source, 0, Some(1))];
    let trial = Trial { stop_at_loss: Some(10), ..Trial::new(Duration::from_seconds(10), 1) };
    let outcome = run(&Machine::system_one(), &flows, &trial).unwrap();
    assert_eq!(outcome.flows[0].lost.total(), 10);
    assert!(outcome.measured < Duration::from_milliseconds(10));
}

#[test]
fn what_cannot_be_simulated_is_named() {
    let source = Source::Poisson(Poisson { packets_per_second: 100.0, length: LengthDistribution::Fixed(64) });
    let flow = RouterFlow::new("flow", source, 0, Some(1));
    let trial = Trial::new(Duration::from_milliseconds(1), 1);
    let problem = |machine: Machine, flow: &RouterFlow| run(&machine, std::slice::from_ref(flow), &trial).unwrap_err().to_string();
    let system = Machine::system_one;
    assert_eq!(problem(system(), &RouterFlow { output: Some(2), ..flow.clone() }), "flow flow: output: 2 is out of range; expected 0 to 1");
    assert_eq!(problem(Machine { cores: 0, ..system() }, &flow), "the machine: cores: 0 is out of range; expected 1 to 65536");
    let mut upwards = system();
    upwards.stages.swap(0, 6);
    let expected = "stage 1 (ether_input): level: Interrupt after Soft; expected a level that is not above the one of the stage before";
    assert_eq!(problem(upwards, &flow), expected);
    assert!(run(&system(), &[flow.clone(), flow.clone()], &trial).unwrap_err().to_string().contains("same name"));
    let greedy = Source::Greedy(tidegate_sim::source::Greedy { length: 100, window: 1 });
    let expected = "flow flow: source: the network would drive it; expected a source that emits by itself";
    assert_eq!(problem(system(), &RouterFlow { source: greedy, ..flow }), expected);
}
