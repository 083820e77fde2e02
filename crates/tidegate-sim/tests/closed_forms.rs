//! The simulator against closed forms of queueing theory, through the real port.
//!
//! Each test checks a 95 % confidence interval over independent replications with fixed seeds. The interval is narrow, and the exact value lies
//! within twice its half width of the mean, which a correct simulator misses less than once in a thousand times. Both bound the error at a few
//! per cent. That is far less than the distance to any model that could be simulated by mistake: each test names the nearest.
//!
//! One byte takes one nanosecond on every link here, so waits in seconds are waits in bytes divided by 10^9.

mod networks;

use networks::{flow, one_link, port};
use tidegate_core::buffer::BufferParameters;
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::FlowParameters;
use tidegate_core::units::Duration;
use tidegate_sim::source::{OnOff, Poisson};
use tidegate_sim::{Control, Estimate, Experiment, Holding, LengthDistribution, Network, Outcome, Remainder, Source, run};

/// One byte per nanosecond.
const RATE: u64 = 8_000_000_000;

/// Beyond what is ever drawn from an exponential distribution.
const LONGEST: u32 = 10_000_000;

/// Packets of these lengths at a load of `load` of the link.
fn poisson(load: f64, length: LengthDistribution) -> Source {
    Source::Poisson(Poisson { packets_per_second: load * 1e9 / length.mean(), length })
}

/// A queue that no packet is ever refused by.
fn queue(load: f64, length: LengthDistribution) -> Network {
    let mut port = port(RATE, SchedulerKind::Fifo, &[FlowParameters::default()], 1 << 16);
    port.longest_frame = LONGEST;
    one_link(port, vec![flow("packets", poisson(load, length), 0, &[0])])
}

fn simulate(network: &Network, packets: f64, mean_length: f64, load: f64, replications: u32) -> Outcome {
    let duration = Duration::from_picoseconds((packets * mean_length / load * 1e3) as u64);
    let warm_up = Duration::from_picoseconds(duration.picoseconds() / 10);
    let experiment = Experiment { duration, warm_up, replications, seed: 1996, sample_interval: None, flow_series: true };
    let outcome = run(network, &experiment, &Control::default()).unwrap();
    assert!(outcome.flows.iter().all(|flow| flow.offered.packets > 0));
    outcome
}

fn assert_estimate(what: &str, estimate: Estimate, exact: f64, relative_width: f64) {
    let half_width = estimate.half_width.unwrap();
    let report = format!("{what}: {:.5} +- {half_width:.5}, exactly {exact:.5}", estimate.mean);
    println!("{report}");
    assert!(half_width < relative_width * exact, "too wide: {report}");
    assert!((estimate.mean - exact).abs() < 2.0 * half_width, "{report}");
}

/// The mean wait of a class in bytes.
fn wait(outcome: &Outcome, class: usize) -> Estimate {
    let wait = outcome.ports[0].classes[class].wait_s.unwrap();
    Estimate { mean: wait.mean * 1e9, half_width: wait.half_width.map(|half_width| half_width * 1e9) }
}

#[test]
fn m_m_1_waits_nine_service_times_at_a_load_of_nine_tenths() {
    // Deterministic service would wait 4.5, and counting the service itself makes 10. Rounding lengths to bytes changes a mean of 10,000
    // by less than 1e-6.
    let length = LengthDistribution::Exponential { mean: 10_000.0 };
    let outcome = simulate(&queue(0.9, length), 300_000.0, 10_000.0, 0.9, 20);
    assert_estimate("M/M/1", wait(&outcome, 0), 90_000.0, 0.03);
    // The link is busy for the share of the load, and the mean number of bytes waiting follows from Little's law: packets that arrive in
    // one mean wait, times their mean length. (In an M/M/1 queue the waiting packets' lengths are independent of the wait.)
    assert_estimate("utilisation", outcome.ports[0].utilisation, 0.9, 0.005);
    assert_estimate("bytes waiting", outcome.ports[0].occupancy_mean_bytes, 0.9 * 90_000.0, 0.03);
}

#[test]
fn m_d_1_waits_half_as_long() {
    let outcome = simulate(&queue(0.9, LengthDistribution::Fixed(10_000)), 300_000.0, 10_000.0, 0.9, 20);
    assert_estimate("M/D/1", wait(&outcome, 0), 45_000.0, 0.03);
    // Delay is wait and transmission: with fixed lengths the difference is exact.
    let delay = outcome.flows[0].delay.as_ref().unwrap().mean_s;
    assert!((delay.mean - outcome.ports[0].classes[0].wait_s.unwrap().mean - 1e-5).abs() < 1e-9);
}

#[test]
fn m_d_1_k_loses_what_the_embedded_chain_says() {
    // K counts the packet in service: solving the chain embedded at departures for a load of 0.9 gives these values for K = 5, 10 and 20
    // (and 4.72e-2, 1.32e-2 and 1.50e-3 for one place more). A port takes a packet out of its queue when its transmission starts, so a
    // system of K places is a buffer of K - 1.
    for (places, loss, packets, width) in [(5, 6.436e-2, 1e5, 0.02), (10, 1.663e-2, 1e5, 0.04), (20, 1.853e-3, 4e5, 0.08)] {
        let mut network = queue(0.9, LengthDistribution::Fixed(1_000));
        let buffer = BufferParameters { flows: 1, packets: Some(places - 1), ..BufferParameters::default() };
        network.links[0].port.buffer = BufferKind::TailDrop.build(&buffer).unwrap();
        let outcome = simulate(&network, packets, 1_000.0, 0.9, 20);
        assert_estimate(&format!("M/D/1/{places}"), outcome.flows[0].loss, loss, width);
        assert_eq!(outcome.ports[0].occupancy_max_bytes, u64::from(places - 1) * 1000);
    }
}

#[test]
fn m_g_1_follows_pollaczek_and_khinchine() {
    // load * E[S^2] / (2 E[S] (1 - load)). Fixed lengths of the same mean would wait 3700, exponential ones 7400.
    let lengths = [(500, 0.7), (5_000, 0.3)];
    let (mean, square) = (1_850.0, 0.7 * 500.0 * 500.0 + 0.3 * 5_000.0 * 5_000.0);
    let outcome = simulate(&queue(0.8, LengthDistribution::Empirical(lengths.into())), 200_000.0, mean, 0.8, 20);
    assert_estimate("M/G/1", wait(&outcome, 0), 0.8 * square / (2.0 * mean * 0.2), 0.03);
}

#[test]
fn priorities_wait_as_cobham_says() {
    // The residual service W0 is the sum of load * E[S^2] / (2 E[S]): 30 + 150 + 300 bytes. Class k waits
    // W0 / ((1 - load above k) (1 - load up to k)). First in, first out, all would wait 4800; with preemption the first class would wait 43.
    let classes: Vec<_> = (0..3).map(|priority| FlowParameters { priority: Some(priority), ..FlowParameters::default() }).collect();
    let mut port = port(RATE, SchedulerKind::StrictPriority, &classes, 1 << 16);
    port.longest_frame = LONGEST;
    let flows = vec![
        flow("first", poisson(0.3, LengthDistribution::Fixed(200)), 0, &[0]),
        flow("second", poisson(0.3, LengthDistribution::Fixed(1_000)), 1, &[0]),
        flow("third", poisson(0.3, LengthDistribution::Exponential { mean: 1_000.0 }), 2, &[0]),
    ];
    let outcome = simulate(&one_link(port, flows), 150_000.0, 1_000.0, 0.9, 20);
    assert_estimate("first class", wait(&outcome, 0), 480.0 / 0.7, 0.01);
    assert_estimate("second class", wait(&outcome, 1), 480.0 / (0.7 * 0.4), 0.02);
    assert_estimate("third class", wait(&outcome, 2), 480.0 / (0.4 * 0.1), 0.05);
}

#[test]
fn an_on_off_source_sends_at_its_mean_rate() {
    // 1.5 Mbit/s peak, 2 ms on and off, 1 kbit packets. With on periods completed to whole packets N = 1 / (1 - exp(-1/3)) packets leave per
    // cycle of N * 2/3 ms + 2 ms: 810.6 per second. With the remainder carried it is 750, rounded down 632, rounded up and overlapping 882.
    let holding = Holding::Exponential { mean: Duration::from_milliseconds(2) };
    for (remainder, exact) in [(Remainder::Completed, 810.6e3), (Remainder::Carried, 750e3)] {
        let source = Source::OnOff(OnOff { peak: networks::rate(1_500_000), length: 125, on: holding, off: holding, remainder });
        let network = one_link(networks::fifo(10_000_000, 10), vec![flow("on-off", source, 0, &[0])]);
        let experiment = Experiment { duration: Duration::from_seconds(100), replications: 20, ..Experiment::default() };
        let outcome = run(&network, &experiment, &Control::default()).unwrap();
        assert_estimate("on/off", outcome.flows[0].throughput_bps, exact, 0.005);
    }
}
