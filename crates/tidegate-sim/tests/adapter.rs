//! Links that an ATM adapter feeds: when frames leave, what the loss of a cell costs, and that cells contend as cells behind it.

mod networks;

use networks::{flow, link, one_link, port, random_loss, rate};
use tidegate_atm::adapter::{AdapterSetup, CellRecord, Encapsulation};
use tidegate_cells::{CLASSES, CellContract, CellRate, Conflict, Mode, Prefetch, SLOT, Sustained, Ticks, TransferSetup};
use tidegate_core::port::PortSetup;
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::FlowParameters;
use tidegate_core::units::{Duration, Overhead};
use tidegate_sim::source::{Cbr, Greedy};
use tidegate_sim::{Control, Experiment, Link, Network, Outcome, Source, run};

/// The time of a cell at this rate is 848 ns.
const RATE: u64 = 500_000_000;
const SLOT_TIME: f64 = 848e-9;

fn constant(interval: u64, class: u8) -> CellContract {
    CellContract { class, ..CellContract::constant(Ticks::slots(interval)) }
}

fn adapter(contracts: Vec<CellContract>) -> AdapterSetup {
    AdapterSetup {
        contracts,
        conflict: Conflict::Priority,
        minimum_shares: [CellRate::ZERO; CLASSES],
        transfer: None,
        encapsulation: Encapsulation::VcMultiplexed,
    }
}

fn frames(classes: usize) -> PortSetup {
    PortSetup { overhead: Overhead::Aal5, ..port(RATE, SchedulerKind::Fifo, &vec![FlowParameters::default(); classes], 1000) }
}

/// A frame every millisecond.
fn cbr(length: u32) -> Source {
    Source::Cbr(Cbr { rate: rate(u64::from(length) * 8000), length, random_phase: false })
}

fn on_one_link(setup: AdapterSetup, sources: &[Source]) -> Network {
    let flows = sources.iter().enumerate().map(|(class, source)| flow(&format!("{class}"), source.clone(), class as u8, &[0])).collect();
    let mut network = one_link(frames(sources.len()), flows);
    network.links[0].adapter = Some(setup);
    network
}

fn play(network: &Network, milliseconds: u64) -> Outcome {
    let experiment = Experiment { duration: Duration::from_milliseconds(milliseconds), ..Experiment::default() };
    run(network, &experiment, &Control::default()).unwrap()
}

fn mean_delay(outcome: &Outcome, flow: usize) -> f64 {
    outcome.flows[flow].delay.as_ref().unwrap().mean_s.mean
}

fn cells(outcome: &Outcome, class: usize) -> CellRecord {
    outcome.ports[0].classes[class].cells.unwrap()
}

#[test]
fn a_frame_takes_its_cells_at_the_peak_rate() {
    // 1072 bytes and the trailer are 22.5 cells; with a cell every 10 slots the last of 23 starts 220 slots after the first.
    let outcome = play(&on_one_link(adapter(vec![constant(10, 0)]), &[cbr(1072)]), 100);
    let delay = mean_delay(&outcome, 0);
    let expected = 221.0 * SLOT_TIME;
    // The first slot begins up to a slot after the frame has come.
    assert!(delay >= expected - 1e-12 && delay <= expected + SLOT_TIME, "{delay} instead of {expected}");
    let record = cells(&outcome, 0);
    assert_eq!((record.sent, record.nonconforming, record.cdvt_exceeded), (23 * outcome.flows[0].delivered.packets, 0, 0));
    let busy = outcome.ports[0].utilisation.mean;
    assert!((busy - record.sent as f64 * SLOT_TIME / 0.1).abs() < 1e-9, "{busy}");
}

#[test]
fn llc_snap_adds_a_cell_where_the_frame_just_fits() {
    let of =
        |encapsulation| cells(&play(&on_one_link(AdapterSetup { encapsulation, ..adapter(vec![constant(10, 0)]) }, &[cbr(1096)]), 100), 0);
    let (plain, llc) = (of(Encapsulation::VcMultiplexed), of(Encapsulation::LlcSnap));
    assert_eq!((plain.sent % 23, llc.sent % 24, plain.sent / 23), (0, 0, llc.sent / 24));
}

#[test]
fn a_burst_is_followed_by_tokens_or_by_a_pause() {
    let sustained = Sustained { interval: Ticks::slots(20), maximum_burst_size: 10 };
    let delay = |mode| mean_delay(&play(&on_one_link(adapter(vec![CellContract { mode, ..constant(2, 0) }]), &[cbr(1072)]), 100), 0);
    // SLB: ten cells in 18 slots, and 13 more with 20 slots each, the first of which is due after BT = 9 * 18 slots are used up.
    let single = delay(Mode::SingleBucket(sustained));
    // DLB: bursts start 200 slots apart; the third cell of the third burst is the last.
    let dual = delay(Mode::DualBucket(sustained));
    let expected = [18.0 + 13.0 * 20.0 + 1.0, 400.0 + 4.0 + 1.0].map(|slots| slots * SLOT_TIME);
    assert!((single - expected[0]).abs() <= SLOT_TIME && (dual - expected[1]).abs() <= SLOT_TIME, "{single}, {dual}: {expected:?}");
}

#[test]
fn the_loss_of_a_cell_loses_the_frame() {
    let loss = 0.01;
    let mut network =
        on_one_link(adapter(vec![constant(1, 0)]), &[Source::Cbr(Cbr { rate: rate(400_000_000), length: 1072, random_phase: false })]);
    network.links[0].impairment.loss = random_loss(loss);
    let outcome = play(&network, 1000);
    let lost = outcome.flows[0].loss.mean;
    let expected = 1.0 - (1.0 - loss).powi(23);
    assert!((lost - expected).abs() < 0.01, "{lost} instead of {expected}");
}

#[test]
fn a_minimum_share_keeps_a_low_priority_alive() {
    let greedy = Source::Greedy(Greedy { length: 1072, window: 10 });
    let shared = |share: u64| {
        let mut setup = adapter(vec![constant(1, 0), constant(2, 1)]);
        setup.minimum_shares[1] = CellRate::floor_of_ratio(share, 100).unwrap();
        let outcome = play(&on_one_link(setup, &[greedy.clone(), greedy.clone()]), 200);
        let sent = [0, 1].map(|class| cells(&outcome, class).sent as f64);
        sent[1] / (sent[0] + sent[1])
    };
    assert!(shared(0) < 0.01);
    let share = shared(20);
    assert!((share - 0.2).abs() < 0.005, "{share}");
}

#[test]
fn a_slow_bus_underruns_and_a_fast_one_does_not() {
    let underruns = |prefetch| {
        let transfer = TransferSetup { prefetch, access_latency: 30, cell_time: Ticks(SLOT / 4), burst: 8, buffer: 100 };
        let setup = AdapterSetup { transfer: Some(transfer), ..adapter(vec![constant(10, 0)]) };
        let outcome = play(&on_one_link(setup, &[cbr(1072)]), 200);
        let record = cells(&outcome, 0);
        assert!(record.transfers >= 3 * outcome.flows[0].delivered.packets && record.nonconforming == 0);
        record.underruns
    };
    assert_eq!(underruns(Prefetch::JustInTime), 0);
    assert!(underruns(Prefetch::Demand) > 100);
}

#[test]
fn cells_go_on_one_by_one_to_a_port_of_cells() {
    // The port behind sends each cell a slot later: of the whole frame, only the last cell's time is added, and the link's delay.
    let propagation = Duration::from_milliseconds(1);
    let mut behind = port(RATE, SchedulerKind::Fifo, &[FlowParameters::default()], 100);
    behind.longest_frame = 53;
    let links = vec![
        Link { adapter: Some(adapter(vec![constant(10, 0)])), ..link("adapter", 0, 1, propagation, frames(1)) },
        Link { cells: true, ..link("switch", 1, 2, propagation, behind) },
    ];
    let network = Network {
        nodes: (0..3).map(|node| node.to_string()).collect(),
        links,
        flows: vec![flow("flow", cbr(1072), 0, &[0, 1])],
        ..Network::default()
    };
    let outcome = play(&network, 100);
    let (delay, expected) = (mean_delay(&outcome, 0), 2e-3 + 222.0 * SLOT_TIME);
    assert!(delay >= expected - 1e-12 && delay <= expected + SLOT_TIME, "{delay} instead of {expected}");
    assert_eq!(outcome.flows[0].loss.mean, 0.0);
}

#[test]
fn what_the_scheduler_cannot_keep_is_refused() {
    let mut network = on_one_link(adapter(vec![constant(10, 0)]), &[cbr(1072)]);
    network.links[0].port.overhead = Overhead::None;
    assert_eq!(network.check().unwrap_err().key, "adapter");
    let mut setup = adapter(vec![constant(10, 0)]);
    setup.minimum_shares = [CellRate(CellRate::LINK.0 / 2); CLASSES];
    assert_eq!(on_one_link(setup, &[cbr(1072)]).check().unwrap_err().key, "adapter");
}
