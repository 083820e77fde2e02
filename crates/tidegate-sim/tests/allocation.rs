//! Running costs no allocation per packet: twice the time allocates no more than a few tables that still grow.
#![allow(unsafe_code)]

mod networks;

use networks::{flow, link, port, rate};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::num::NonZeroUsize;
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::FlowParameters;
use tidegate_core::units::Duration;
use tidegate_sim::source::{Cbr, FrameTrace, Greedy, OnOff, Poisson};
use tidegate_sim::{Control, Experiment, Holding, LengthDistribution, Network, Remainder, Source, run};

/// The system's allocator, counting what each thread asks for.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is passed on unchanged; counting touches a number of the thread that needs no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Two links in a row with every kind of source that can go on for ever, overloaded so that packets are lost too.
fn network() -> Network {
    let classes = [FlowParameters { weight: Some(1), ..FlowParameters::default() }; 2];
    let ports = || port(10_000_000, SchedulerKind::DeficitRoundRobin, &classes, 50);
    let delay = Duration::from_milliseconds(5);
    let period = Holding::Exponential { mean: Duration::from_milliseconds(2) };
    let on_off = Source::OnOff(OnOff { peak: rate(8_000_000), length: 125, on: period, off: period, remainder: Remainder::Carried });
    let length = LengthDistribution::Empirical([(64, 1.0), (1500, 1.0)].into());
    let video = Source::FrameTrace(FrameTrace {
        frames: [20_000, 5_000].into(),
        interval: Duration::from_milliseconds(40),
        packet_length: 1400,
        random_start: true,
    });
    let flows = vec![
        flow("on-off", on_off, 0, &[0, 1]),
        flow("poisson", Source::Poisson(Poisson { packets_per_second: 1000.0, length }), 1, &[0, 1]),
        flow("video", video, 1, &[1]),
        flow("constant", Source::Cbr(Cbr { rate: rate(1_000_000), length: 200, random_phase: true }), 0, &[0, 1]),
        flow("greedy", Source::Greedy(Greedy { length: 1000, window: 3 }), 1, &[0]),
    ];
    let links = vec![link("1-2", 0, 1, delay, ports()), link("2-3", 1, 2, delay, ports())];
    Network { nodes: vec!["1".into(), "2".into(), "3".into()], links, flows, ..Network::default() }
}

/// Allocations and packet-hops of a run on this thread.
fn measure(seconds: u64) -> (u64, u64) {
    let network = network();
    let experiment = Experiment { duration: Duration::from_seconds(seconds), ..Experiment::default() };
    let control = Control { threads: NonZeroUsize::new(1), ..Control::default() };
    let before = ALLOCATIONS.get();
    let outcome = run(&network, &experiment, &control).unwrap();
    assert!(outcome.flows.iter().any(|flow| !flow.drops.is_empty()));
    (ALLOCATIONS.get() - before, outcome.packet_hops())
}

#[test]
fn nothing_is_allocated_per_packet() {
    let ((short, fewer), (long, more)) = (measure(20), measure(40));
    assert!(more - fewer > 50_000, "{more} {fewer}");
    // Histograms get another power of two when a longer delay than ever before is seen; nothing else grows any more.
    assert!(long - short < 20, "{short} {long}");
}
