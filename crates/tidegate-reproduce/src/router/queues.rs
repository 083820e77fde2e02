//! Beyond the thesis: the receive queues of one interface share a PCI Express link, under round robin and under the guard.

use super::trials::{Case, Extent, by_point, constant, figure_of_bus, kept, mean, mean_delay, quantile, run_all};
use crate::figure::{Figure, Gate, Table};
use tidegate_core::units::{Duration, Rate};
use tidegate_router::{Bus, BusGuard, Machine, Nic, Overheads, PcieLink, RouterOutcome, Trial};

const LENGTHS: [u32; 3] = [128, 512, 1514];

/// The guard's period in microseconds.
const PERIOD: u64 = 20;

/// Eight lanes of generation 3: 57.9 Gbit/s of transaction-layer packets.
const LINK: PcieLink =
    PcieLink { generation: 3, lanes: 8, max_payload: 256, max_read_request: 512, descriptor_batch: 32, write_back: 8, interrupts: false };

fn machine(is_guarded: bool) -> Machine {
    let rate = Rate::new(100_000_000_000).expect("100 Gbit/s is in range");
    let nic = Nic { receive_fifo: 512_000, ring: 1 << 16, channels: 3, ..Nic::ethernet(rate) };
    let guard = BusGuard {
        period: Duration::from_microseconds(PERIOD),
        efficiency: 1.0,
        cost: Duration::from_nanoseconds(100),
        cost_per_flow: Duration::from_nanoseconds(50),
        ..BusGuard::FORWARDING
    };
    Machine {
        clock_hz: 3_000_000_000,
        bus: Bus::Pcie(LINK),
        nics: vec![nic],
        overheads: Overheads::default(),
        noise: Vec::new(),
        guard: is_guarded.then_some(guard),
        ..Machine::system_two()
    }
}

/// Round robin, then the guard: three queues load the link to 0.3 each, and the one of long frames to 0.9.
pub fn points(extent: Extent, progress: &dyn Fn(f64)) -> Vec<Vec<RouterOutcome>> {
    let flow = |(index, &length): (usize, &u32)| {
        let load = if index == 2 { 0.9 } else { 0.3 };
        let packets = load * LINK.bits_per_second() / 8.0 / LINK.reception(length).to_host;
        constant(&format!("queue {}", index + 1), packets, length, 0, None)
    };
    let flows: Vec<_> = LENGTHS.iter().enumerate().map(flow).collect();
    let milliseconds = Duration::from_milliseconds;
    let case = |is_guarded, seed| Case {
        machine: machine(is_guarded),
        flows: flows.clone(),
        trial: Trial { warm_up: milliseconds(5), tail: milliseconds(2), ..Trial::new(milliseconds(extent.milliseconds / 10), seed) },
    };
    let cases: Vec<Case> =
        [false, true].into_iter().flat_map(|is_guarded| (1..=extent.seeds).map(move |seed| case(is_guarded, seed))).collect();
    by_point(run_all(&cases, progress), extent.seeds)
}

/// Round robin starves short frames, the guard does not.
pub fn gates(points: &[Vec<RouterOutcome>]) -> Vec<Gate> {
    let [robin, guard] = points else { return Vec::new() };
    let of = |of: &dyn Fn(&RouterOutcome, usize) -> f64| [0, 1].map(|flow| mean(guard, |outcome| of(outcome, flow))).to_vec();
    let delays = of(&|outcome, flow| quantile(outcome, flow, 0.99) / PERIOD as f64);
    vec![
        Gate::at_most("queues, round robin: short frames kept", "of the packets", mean(robin, |outcome| kept(outcome, 0)), 0.45),
        Gate::all_at_least("queues, guard: conforming queues keep", "of their packets", of(&kept), 0.98),
        Gate::between("queues, guard: 99 % quantile of conforming queues", "periods", delays, None, Some(vec![2.2; 2])),
        Gate::at_least("queues, guard: link to the host busy", "of the time", mean(guard, |outcome| outcome.bus[0]), 0.97),
    ]
}

/// Three receive queues of an interface of 100 Gbit/s.
pub fn receive_queues(progress: &dyn Fn(f64)) -> Figure {
    let source = "not in the thesis";
    let mut figure = figure_of_bus("receive-queues", "Three receive queues of one interface share a PCI Express link", source);
    figure.note(&[
        "The interface has 100 Gbit/s, the link 57.9 Gbit/s of transaction-layer packets (generation 3, 8 lanes). Its direct memory access takes the \
         queues' frames in turn.",
        "Queues of frames of 128 and 512 bytes load the link to 0.3 each, one of 1514 bytes to 0.9. The guard's period is 20 us; FIFOs hold 512 kB.",
        "The host takes every frame at once. Means of three seeds of 20 ms.",
    ]);
    let points = points(Extent::FULL, progress);
    figure.gates = gates(&points);
    let row = |(name, outcomes): (&str, &Vec<RouterOutcome>)| {
        let cell = |flow: usize| {
            let kept = 100.0 * mean(outcomes, |outcome| kept(outcome, flow));
            let (delay, late) =
                (mean(outcomes, |outcome| mean_delay(outcome, flow)), mean(outcomes, |outcome| quantile(outcome, flow, 0.99)));
            format!("{kept:.1} {delay:.1} {late:.1}")
        };
        vec![name.to_owned(), cell(0), cell(1), cell(2), format!("{:.3}", mean(outcomes, |outcome| outcome.bus[0]))]
    };
    let rows = ["round robin", "guard"].into_iter().zip(&points).map(row).collect();
    figure.tables.push(Table::new("Receive queues", &["link", "128 B: kept %, mean us, p99 us", "512 B", "1514 B", "busy"], rows));
    figure
}
