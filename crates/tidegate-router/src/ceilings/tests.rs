//! Ceilings with numbers that can be worked out by hand.

use super::*;
use crate::machine::{BusGuard, Nic, Noise, Overheads, Pci, PcieLink};
use tidegate_core::units::Rate;
use tidegate_sim::Source;
use tidegate_sim::source::Cbr;

fn flow(length: u32, input: usize, output: Option<usize>) -> RouterFlow {
    let rate = Rate::new(u64::from(length) * 8 * 1000).unwrap();
    RouterFlow::new("flow", Source::Cbr(Cbr { rate, length, random_phase: true }), input, output)
}

/// Four cores of 1 GHz that poll in batches of 50: 900 cycles per packet and 100 for its reclaim, 500 ns per turn at each of two devices.
fn machine() -> Machine {
    let work = |cycles| Work { cycles, memory: Duration::ZERO };
    let stage = Stage { cycles: 900.0, memory: Duration::ZERO, level: Level::Thread, ..Machine::system_one().stages[6].clone() };
    let nic = Nic { ring: 100, receive_fifo: 6400, channels: 4, ..Nic::ethernet(Rate::new(10_000_000_000).unwrap()) };
    Machine {
        cores: 4,
        kernel: Kernel::Polling { quota: Some(50), gated: true, feedback: None, wake: Wake::Busy },
        overheads: Overheads { reclaim: work(100.0), poll: work(500.0), ..Overheads::default() },
        stages: vec![stage],
        variation: Variation::None,
        noise: Vec::new(),
        nics: vec![nic.clone(), nic],
        ..Machine::pc_2002(1_000_000_000)
    }
}

fn ceiling(machine: &Machine, flows: &[RouterFlow], resource: Resource) -> f64 {
    let all = Ceilings::new(machine, flows).unwrap().all(0.999);
    all.iter().find(|ceiling| ceiling.resource == resource).unwrap().packets_per_second
}

fn assert_near(measured: f64, expected: f64) {
    assert!((measured / expected - 1.0).abs() < 1e-6, "{measured}, expected {expected}");
}

#[test]
fn the_processor_counts_cores_batches_and_imbalance() {
    let flows = vec![flow(64, 0, Some(1)); 4];
    // 1 us per packet and 1 us for each batch of 50.
    assert_near(ceiling(&machine(), &flows, Resource::Processor), 4.0 / 1.02e-6);
    let uneven = Machine { imbalance: 1.25, ..machine() };
    assert_near(ceiling(&uneven, &flows, Resource::Processor), 4.0 / 1.02e-6 / 1.25);
    // A single flow has one channel, and its core does all the work.
    assert_near(ceiling(&uneven, &flows[..1], Resource::Processor), 1.0 / 1.02e-6);
    // Frames that end in memory take no time of it.
    assert_eq!(ceiling(&machine(), &vec![flow(64, 0, None); 4], Resource::Processor), f64::INFINITY);
    let half = [flow(64, 0, Some(1)), flow(64, 0, None), flow(64, 0, Some(1)), flow(64, 0, None)];
    assert_near(ceiling(&machine(), &half, Resource::Processor), 2.0 * 2.0 / 1.02e-6);
}

#[test]
fn noise_and_the_guard_take_their_part_of_the_processor() {
    let noise = Noise {
        arrivals: NoiseArrivals::Poisson(Duration::from_milliseconds(1)),
        cost: Distribution::Exponential { least: Duration::from_microseconds(30), beyond: Duration::from_microseconds(70) },
        core: 0,
    };
    let guard = BusGuard { cost: Duration::from_microseconds(12), cost_per_flow: Duration::from_microseconds(2), ..BusGuard::FORWARDING };
    let flows = vec![flow(64, 0, Some(1)); 4];
    let noisy = Machine { noise: vec![noise], ..machine() };
    assert_near(ceiling(&noisy, &flows, Resource::Processor), 3.9 / 1.02e-6);
    // 20 us in each 200 us, on one of four cores.
    let guarded = Machine { guard: Some(guard), ..machine() };
    assert_near(ceiling(&guarded, &flows, Resource::Processor), 3.9 / 1.02e-6);
}

#[test]
fn the_wire_limits_by_interface_and_direction() {
    let line = 10e9 / (84.0 * 8.0);
    assert_near(ceiling(&machine(), &[flow(64, 0, Some(1))], Resource::Wire), line);
    // Two flows from different interfaces meet at the output.
    assert_near(ceiling(&machine(), &[flow(64, 0, Some(1)), flow(64, 1, Some(1))], Resource::Wire), line);
    // They pass in opposite directions.
    assert_near(ceiling(&machine(), &[flow(64, 0, Some(1)), flow(64, 1, Some(0))], Resource::Wire), 2.0 * line);
}

/// B2 and B8.
#[test]
fn the_bus_is_exact() {
    let pci = Machine { bus: Bus::Pci(Pci::PCI_32_33), ..machine() };
    assert!((ceiling(&pci, &[flow(1500, 0, Some(1))], Resource::Bus) - 43.1e3).abs() < 50.0);
    assert!((ceiling(&pci, &[flow(512, 0, Some(1))], Resource::Bus) - 121.3e3).abs() < 50.0);
    let link = PcieLink {
        generation: 3,
        lanes: 8,
        max_payload: 256,
        max_read_request: 512,
        descriptor_batch: 32,
        write_back: 8,
        interrupts: false,
    };
    let pcie = Machine { bus: Bus::Pcie(link), ..machine() };
    for (length, millions) in [(64, 47.8), (256, 21.1), (1518, 4.08)] {
        let measured = ceiling(&pcie, &[flow(length, 0, Some(1))], Resource::Bus) / 1e6;
        assert!((measured / millions - 1.0).abs() < 2e-3, "{length}: {measured}");
    }
}

#[test]
fn memory_counts_transfers_copies_and_misses() {
    let memory = MemorySystem { bandwidth: 10e9, ddio: 0.5, copies: 1.0, missed_lines: 2.0 };
    let machine = Machine { memory: Some(memory), ..machine() };
    let flows = [flow(1000, 0, Some(1))];
    assert_near(ceiling(&machine, &flows, Resource::Memory), 10e9 / (1000.0 * (2.0 * 0.5 + 2.0) + 128.0));
    assert_near(Ceilings::new(&machine, &flows).unwrap().memory_use(1e6).unwrap(), 0.3128);
}

#[test]
fn a_ring_survives_what_it_can_hold() {
    let noise = Noise {
        arrivals: NoiseArrivals::Periodic(Duration::from_milliseconds(100)),
        cost: Distribution::Constant(Duration::from_microseconds(149)),
        core: 0,
    };
    let machine = Machine { noise: vec![noise], ..machine() };
    let flows = vec![flow(64, 0, Some(1)); 4];
    // A round takes 51 us; a ring has 100 descriptors and its FIFO holds 100 frames; each channel has a quarter of the packets.
    assert_near(ceiling(&machine, &flows, Resource::Ring), 4.0 * 200.0 / 200e-6);
    let pause = Ceilings::new(&machine, &flows).unwrap().survives(4e6);
    assert_near(pause.ring, 100.0 / 1e6 - 51e-6);
    assert_near(pause.with_fifo, 200.0 / 1e6 - 51e-6);
}

#[test]
fn the_least_ceiling_is_the_bottleneck() {
    let least = |machine: Machine| Ceilings::new(&machine, &[flow(512, 0, Some(1))]).unwrap().least().resource;
    assert_eq!(least(Machine::system_one()), Resource::Processor);
    assert_eq!(least(Machine::system_two()), Resource::Bus);
}

#[test]
fn flows_that_offer_nothing_have_no_ceilings() {
    assert!(Ceilings::new(&machine(), &[]).is_none());
}
