//! A report with real-looking figures: voice, video and bulk on a 10 Mbit/s uplink, once with strict priority and once
//! through a single queue. The figures come from a few lines of queueing below, so that they hang together.

use std::collections::VecDeque;
use std::sync::OnceLock;

use tidegate_report::{
    AqmResult, BoundResult, ClassResult, DelaySummary, Distribution, DistributionKind, DropCount, Estimate, FlowResult, PacketResult,
    PortResult, PromiseResult, Report, Run, Series, SeriesKind, SojournSummary, Volume, World, format_rate, format_ratio, format_time,
};

const FLOWS: [&str; 3] = ["voice", "video", "bulk"];
const CLASSES: [&str; 3] = ["real time", "streaming", "best effort"];
const RATE_BPS: f64 = 10e6;
const DURATION_S: f64 = 30.0;
const SAMPLE_STEP_S: f64 = 0.1;
const REPLICATIONS: u64 = 4;
/// Student t for 95 % and three degrees of freedom.
const STUDENT_T: f64 = 3.182;

/// The sample, the same on every call.
pub fn sample_report() -> Report {
    static SAMPLE: OnceLock<Report> = OnceLock::new();
    SAMPLE.get_or_init(made).clone()
}

fn made() -> Report {
    let mut report = Report::new("Voice, video and bulk on an access link", World::Simulation, "quickstart.toml");
    report.seed = Some(1);
    report.replications = REPLICATIONS as u32;
    report.duration_s = DURATION_S;
    report.notes.push("Delays are one-way, from the source to the far end of the uplink.".into());
    report.runs.push(run("with the policy", true));
    report.runs.push(run("without the policy", false));
    report
}

#[derive(Clone, Copy)]
struct Packet {
    arrival_s: f64,
    bytes: u64,
    flow: usize,
}

/// What one replication leaves behind, per flow.
#[derive(Default, Clone)]
struct Outcome {
    offered: Volume,
    dropped: Volume,
    queued: Volume,
    delays_s: Vec<f64>,
    sent: Volume,
    bits_per_step: Vec<f64>,
    queue_per_step: Vec<f64>,
}

fn run(name: &str, policy: bool) -> Run {
    let replications: Vec<[Outcome; 3]> = (0..REPLICATIONS).map(|seed| replicate(seed + 1, policy)).collect();
    let mut run = Run::new(name);
    run.flows = (0..3).map(|flow| flow_result(flow, &replications)).collect();
    run.ports = vec![port_result(&replications)];
    for (flow, name) in FLOWS.iter().enumerate() {
        let values = replications[0][flow].bits_per_step.iter().map(|bits| bits / SAMPLE_STEP_S);
        run.series.push(series(SeriesKind::Throughput, name, values));
    }
    let totals =
        (0..replications[0][0].queue_per_step.len()).map(|step| (0..3).map(|flow| replications[0][flow].queue_per_step[step]).sum::<f64>());
    run.series.push(series(SeriesKind::Occupancy, "uplink", totals));
    for (class, name) in CLASSES.iter().enumerate() {
        let values = replications[0][class].queue_per_step.iter().copied();
        run.series.push(series(SeriesKind::Occupancy, &format!("uplink / {name}"), values));
    }
    for (flow, name) in FLOWS.iter().enumerate() {
        let kinds =
            [(DistributionKind::Delay, sorted_delays(flow, &replications)), (DistributionKind::Jitter, sorted_jitter(flow, &replications))];
        for (kind, values_s) in kinds {
            let packets = values_s.len() as f64;
            let ccdf = (0..values_s.len()).map(|index| (packets - 1.0 - index as f64) / packets).collect();
            run.distributions.push(Distribution { kind, flow: (*name).into(), values_s, ccdf });
        }
    }
    run.promises = promises(&run.flows);
    run
}

fn promises(flows: &[FlowResult]) -> Vec<PromiseResult> {
    let promise = |flow: usize, promise: &str, measured: String, kept: bool| PromiseResult {
        flow: FLOWS[flow].into(),
        promise: promise.into(),
        measured,
        kept,
    };
    let p99_s = |flow: usize| flows[flow].delay.map_or(0.0, |delay| delay.p99_s);
    vec![
        promise(0, "delay p99 at most 20 ms", format_time(p99_s(0)), p99_s(0) <= 0.02),
        promise(0, "loss at most 0.1 %", format_ratio(flows[0].loss.mean), flows[0].loss.mean <= 0.001),
        promise(1, "delay p99 at most 100 ms", format_time(p99_s(1)), p99_s(1) <= 0.1),
        promise(2, "throughput at least 4 Mbit/s", format_rate(flows[2].throughput_bps.mean), flows[2].throughput_bps.mean >= 4e6),
    ]
}

fn series(kind: SeriesKind, name: &str, values: impl Iterator<Item = f64>) -> Series {
    let values: Vec<f64> = values.collect();
    let times_s = (1..=values.len()).map(|step| step as f64 * SAMPLE_STEP_S).collect();
    Series { kind, name: name.into(), times_s, values }
}

fn flow_result(flow: usize, replications: &[[Outcome; 3]]) -> FlowResult {
    let delays_s = sorted_delays(flow, replications);
    let jitter_s = sorted_jitter(flow, replications);
    let quantile = |share: f64| of_sorted(&delays_s, share);
    let of = |measure: fn(&Outcome) -> f64| {
        let values: Vec<f64> = replications.iter().map(|outcomes| measure(&outcomes[flow])).collect();
        estimate(&values)
    };
    FlowResult {
        name: FLOWS[flow].into(),
        group: None,
        class: Some(CLASSES[flow].into()),
        port: Some("uplink".into()),
        offered: sum(flow, replications, |outcome| outcome.offered),
        sent: sum(flow, replications, |outcome| outcome.sent),
        queued: sum(flow, replications, |outcome| outcome.queued),
        drops: flow_drops(flow, replications),
        throughput_bps: of(|outcome| outcome.sent.bytes as f64 * 8.0 / DURATION_S),
        loss: of(|outcome| outcome.dropped.packets as f64 / outcome.offered.packets as f64),
        delay: Some(DelaySummary {
            mean_s: of(|outcome| outcome.delays_s.iter().sum::<f64>() / outcome.delays_s.len() as f64),
            p50_s: quantile(0.5),
            p99_s: quantile(0.99),
            p999_s: quantile(0.999),
            p50_half_width_s: Some(1e-5),
            p99_half_width_s: Some(2e-5),
            p999_half_width_s: None,
            max_s: quantile(1.0),
            jitter_s: of(|outcome| steps(outcome).sum::<f64>() / (outcome.delays_s.len() - 1) as f64),
            jitter_p99_s: of_sorted(&jitter_s, 0.99),
            jitter_max_s: of_sorted(&jitter_s, 1.0),
        }),
        bound: Some(bound(flow, replications)),
        tcp: None,
        tagging: None,
    }
}

/// Voice and video have bounds, bulk has none.
fn bound(flow: usize, replications: &[[Outcome; 3]]) -> BoundResult {
    let longest = replications.iter().zip(1..).flat_map(|(outcomes, replication)| {
        let packet = move |(&delay_s, number): (&f64, u64)| {
            let delay_ps = (delay_s * 1e12) as u64;
            PacketResult { replication, number, came_ps: 0, left_ps: delay_ps, delay_ps }
        };
        outcomes[flow].delays_s.iter().zip(1..).map(packet)
    });
    let bounded = if flow < 2 { Ok((300_000_000_000, "TFA++")) } else { Err("source `tcp` is not limited".to_owned()) };
    BoundResult::new(bounded, longest.max_by_key(|packet| packet.delay_ps))
}

fn port_result(replications: &[[Outcome; 3]]) -> PortResult {
    let all = |volume: fn(&Outcome) -> Volume| {
        (0..3).fold(Volume::default(), |total, flow| total.saturating_add(sum(flow, replications, volume)))
    };
    let busy: Vec<f64> = replications
        .iter()
        .map(|outcomes| outcomes.iter().map(|outcome| outcome.sent.bytes as f64 * 8.0).sum::<f64>())
        .map(|bits| bits / RATE_BPS / DURATION_S)
        .collect();
    let queue: Vec<f64> = (0..replications[0][0].queue_per_step.len())
        .map(|step| (0..3).map(|flow| replications[0][flow].queue_per_step[step]).sum())
        .collect();
    PortResult {
        name: "uplink".into(),
        rate_bps: RATE_BPS as u64,
        offered: all(|outcome| outcome.offered),
        sent: all(|outcome| outcome.sent),
        queued: all(|outcome| outcome.queued),
        drops: vec![DropCount::new("uplink", "queue full", all(|outcome| outcome.dropped))],
        utilisation: estimate(&busy),
        occupancy_mean_bytes: queue.iter().sum::<f64>() / queue.len() as f64,
        occupancy_max_bytes: queue.iter().copied().fold(0.0, f64::max) as u64,
        ce_marked: Volume::default(),
        kernel: None,
        classes: (0..3)
            .map(|class| ClassResult {
                cells: None,
                bound: None,
                pause: None,
                name: CLASSES[class].into(),
                offered: sum(class, replications, |outcome| outcome.offered),
                sent: sum(class, replications, |outcome| outcome.sent),
                queued: sum(class, replications, |outcome| outcome.queued),
                drops: flow_drops(class, replications),
                marked: Volume::default(),
                ce_marked: Volume::default(),
                sojourn: sojourn(class, replications),
                aqm: (class == 2).then(|| AqmResult { kind: "codel".into(), saw_no_queue: false }),
            })
            .collect(),
    }
}

/// In the sample the link takes no time.
fn sojourn(flow: usize, replications: &[[Outcome; 3]]) -> Option<SojournSummary> {
    let delays_s = sorted_delays(flow, replications);
    let (mean_s, max_s) = (delays_s.iter().sum::<f64>() / delays_s.len() as f64, *delays_s.last()?);
    Some(SojournSummary { mean_s, p50_s: of_sorted(&delays_s, 0.5), p99_s: of_sorted(&delays_s, 0.99), max_s })
}

fn flow_drops(flow: usize, replications: &[[Outcome; 3]]) -> Vec<DropCount> {
    let dropped = sum(flow, replications, |outcome| outcome.dropped);
    if dropped.is_empty() {
        return Vec::new();
    }
    vec![DropCount::new("uplink", "queue full", dropped)]
}

fn sum(flow: usize, replications: &[[Outcome; 3]], volume: fn(&Outcome) -> Volume) -> Volume {
    replications.iter().fold(Volume::default(), |total, outcomes| total.saturating_add(volume(&outcomes[flow])))
}

fn sorted_delays(flow: usize, replications: &[[Outcome; 3]]) -> Vec<f64> {
    let mut delays_s: Vec<f64> = replications.iter().flat_map(|outcomes| outcomes[flow].delays_s.iter().copied()).collect();
    delays_s.sort_by(f64::total_cmp);
    delays_s
}

/// The value that a share of these, which rise, does not exceed.
fn of_sorted(values: &[f64], share: f64) -> f64 {
    values[((values.len() - 1) as f64 * share) as usize]
}

fn sorted_jitter(flow: usize, replications: &[[Outcome; 3]]) -> Vec<f64> {
    let mut jitter_s: Vec<f64> = replications.iter().flat_map(|outcomes| steps(&outcomes[flow])).collect();
    jitter_s.sort_by(f64::total_cmp);
    jitter_s
}

/// By how much the delay of each packet differs from that of the one before.
fn steps(outcome: &Outcome) -> impl Iterator<Item = f64> {
    outcome.delays_s.windows(2).map(|pair| (pair[1] - pair[0]).abs())
}

fn estimate(values: &[f64]) -> Estimate {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    Estimate::with_half_width(mean, STUDENT_T * (variance / count).sqrt())
}

/// Sends the packets of one seed through the uplink: by priority with a queue per class, or through one queue.
fn replicate(seed: u64, policy: bool) -> [Outcome; 3] {
    let mut outcomes: [Outcome; 3] = Default::default();
    let mut queues: [VecDeque<Packet>; 3] = Default::default();
    let limits: [u64; 3] = if policy { [20_000, 100_000, 150_000] } else { [270_000; 3] };
    let queue_of = |flow: usize| if policy { flow } else { 0 };
    let mut now = 0.0_f64;
    let mut next_sample = SAMPLE_STEP_S;
    let arrivals = arrivals(seed);
    let mut waiting = arrivals.iter().copied().peekable();
    loop {
        while let Some(packet) = waiting.next_if(|packet| packet.arrival_s <= now) {
            let outcome = &mut outcomes[packet.flow];
            outcome.offered = outcome.offered.saturating_add(Volume::new(1, packet.bytes));
            let queue = &mut queues[queue_of(packet.flow)];
            let backlog: u64 = queue.iter().map(|queued| queued.bytes).sum();
            if backlog + packet.bytes > limits[queue_of(packet.flow)] {
                outcome.dropped = outcome.dropped.saturating_add(Volume::new(1, packet.bytes));
            } else {
                queue.push_back(packet);
            }
        }
        while next_sample <= now.min(DURATION_S) + 1e-9 {
            sample(&mut outcomes, &queues);
            next_sample += SAMPLE_STEP_S;
        }
        if now >= DURATION_S {
            break;
        }
        match queues.iter_mut().find_map(VecDeque::pop_front) {
            Some(packet) => {
                now += packet.bytes as f64 * 8.0 / RATE_BPS;
                let outcome = &mut outcomes[packet.flow];
                outcome.sent = outcome.sent.saturating_add(Volume::new(1, packet.bytes));
                outcome.delays_s.push(now - packet.arrival_s + 0.0005);
                let step = (now / SAMPLE_STEP_S) as usize;
                outcome.bits_per_step.resize(outcome.bits_per_step.len().max(step + 1), 0.0);
                outcome.bits_per_step[step] += packet.bytes as f64 * 8.0;
            }
            None => now = waiting.peek().map_or(DURATION_S, |packet| packet.arrival_s),
        }
    }
    for packet in queues.iter().flatten() {
        let outcome = &mut outcomes[packet.flow];
        outcome.queued = outcome.queued.saturating_add(Volume::new(1, packet.bytes));
    }
    let steps = (DURATION_S / SAMPLE_STEP_S).round() as usize;
    for outcome in &mut outcomes {
        outcome.bits_per_step.resize(steps, 0.0);
    }
    outcomes
}

fn sample(outcomes: &mut [Outcome; 3], queues: &[VecDeque<Packet>; 3]) {
    for (flow, outcome) in outcomes.iter_mut().enumerate() {
        let bytes: u64 = queues.iter().flatten().filter(|packet| packet.flow == flow).map(|packet| packet.bytes).sum();
        outcome.queue_per_step.push(bytes as f64);
    }
}

/// Ten voice calls, one video with frames of varying size, and bulk that comes in bursts faster than the link.
fn arrivals(seed: u64) -> Vec<Packet> {
    let mut random = Random(seed);
    let mut packets = Vec::new();
    let mut push = |arrival_s: f64, bytes: u64, flow: usize| {
        if arrival_s < DURATION_S {
            packets.push(Packet { arrival_s, bytes, flow });
        }
    };
    for _ in 0..10 {
        let offset = random.next() * 0.02;
        for index in 0..1500 {
            push(offset + f64::from(index) * 0.02, 200, 0);
        }
    }
    for frame in 0..750 {
        let packets = 4 + (random.next() * 12.0) as u32 + if frame % 25 == 0 { 20 } else { 0 };
        for index in 0..packets {
            push(f64::from(frame) * 0.04 + f64::from(index) * 0.0002, 1240, 1);
        }
    }
    let mut now = 1.0;
    while now < DURATION_S {
        let end = now + random.exponential(2.0);
        while now < end {
            now += random.exponential(0.00098);
            push(now, 1500, 2);
        }
        now += random.exponential(1.0);
    }
    packets.sort_by(|a, b| a.arrival_s.total_cmp(&b.arrival_s));
    packets
}

/// SplitMix64 (Steele, Lea and Flood, 2014): small, and good enough for a sample.
struct Random(u64);

impl Random {
    /// From 0 to just below 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.next()).ln()
    }
}
