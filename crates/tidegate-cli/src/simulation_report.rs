//! From the outcome of a simulation to the run that a report shows: flows end to end, ports with their classes.

use std::sync::Arc;
use tidegate_atm::adapter::CellRecord;
use tidegate_core::admission::{Offer, Shortage};
use tidegate_core::packet::DropReason;
use tidegate_core::port::Volume;
use tidegate_core::units::{Duration, Rate};
use tidegate_report::{
    CallResult, CellResult, ClassPause, ClassResult, CompletionResult, DelaySummary, Distribution, DistributionKind, DropCount, Estimate,
    FailureResult, FlowResult, PortResult, RefusalCount, ReplicationRow, RoundResult, RowScope, Run, Series, SeriesKind, SojournSummary,
    TaggingResult, TcpResult, TransferSummary, WorkloadResult,
};
use tidegate_scenario::units::{print_duration, print_rate, print_size};
use tidegate_sim::statistics::outcome::{CallOutcome, ClassOutcome, PauseOutcome};
use tidegate_sim::statistics::{
    DelayOutcome, Dropped, FlowStatistics, PauseStatistics, PortStatistics, QUANTILES, SizeOutcome, TaggedOutcome, TcpOutcome,
    WorkloadOutcome, WorkloadStatistics,
};
use tidegate_sim::{FailureOutcome, FailureStatistics, FlowOutcome, Outcome, PortOutcome};
use tidegate_statistics::Histogram;

/// The run called `name` with everything the outcome holds, without the distributions of flows unless `has_distributions`; promises are for the caller to judge.
/// Of a large network each figure is kept once: the series, the delays of flows and what each replication measured are moved out of the outcome.
pub fn run_of(name: &str, outcome: &mut Outcome, has_distributions: bool) -> Run {
    let mut run = Run::new(name);
    let times: Arc<[f64]> = outcome.sample_times_s().into();
    let series = |kind, name: &str, values: &mut Vec<f64>| {
        let values = std::mem::take(values);
        (!values.is_empty()).then(|| Series { kind, name: name.into(), times_s: times.clone(), values })
    };
    run.tcp_fairness = outcome.tcp_fairness().as_ref().map(estimate);
    run.calls = outcome.calls.iter().map(|calls| call_result(calls, outcome)).collect();
    run.failures = outcome.failures.iter().map(failure_result).collect();
    run.workloads = outcome.workloads.iter().map(workload_result).collect();
    run.replications = replication_rows(outcome);
    let Outcome { flows, ports, replications, .. } = outcome;
    replications.clear();
    for flow in flows {
        run.flows.push(flow_result(flow, ports));
        run.series.extend(series(SeriesKind::Throughput, &flow.name, &mut flow.throughput_over_time_bps));
        let windows = flow.tcp.as_mut().map(|tcp| &mut tcp.cwnd_over_time_bytes);
        run.series.extend(windows.and_then(|windows| series(SeriesKind::Cwnd, &flow.name, windows)));
        if let Some(delay) = flow.delay.take().filter(|_| has_distributions) {
            run.distributions.extend(tails(&flow.name, delay.histogram.tail(), delay.jitter.tail()));
        }
    }
    for port in ports {
        run.ports.push(port_result(port));
        run.series.extend(series(SeriesKind::Occupancy, &port.name, &mut port.occupancy_over_time_bytes));
        for class in &mut port.classes {
            let name = format!("{} / {}", port.name, class.name);
            run.series.extend(series(SeriesKind::Occupancy, &name, &mut class.occupancy_over_time_bytes));
        }
        for (reason, values) in &mut port.drops_over_time {
            run.series.extend(series(SeriesKind::Drops, &format!("{} / {reason}", port.name), values));
        }
    }
    run
}

fn workload_result(workload: &WorkloadOutcome) -> WorkloadResult {
    let sizes = |sizes: &SizeOutcome| CompletionResult {
        above_bytes: sizes.bytes.0,
        up_to_bytes: sizes.bytes.1,
        connections: sizes.connections,
        time_s: estimate(&sizes.time_s),
        time_quantiles_s: sizes.time_quantiles_s.each_ref().map(estimate),
        slowdown: estimate(&sizes.slowdown),
        slowdown_quantiles: sizes.slowdown_quantiles.each_ref().map(estimate),
    };
    WorkloadResult {
        name: workload.name.clone(),
        arrivals: workload.arrivals,
        refused: workload.refused,
        unfinished: workload.unfinished,
        without_path: workload.without_path,
        offered_bps: estimate(&workload.offered_bps),
        most_at_once: workload.most_at_once,
        all: workload.all.as_ref().map(sizes),
        sizes: workload.sizes.iter().map(sizes).collect(),
        rounds: workload.rounds.as_ref().map(|rounds| RoundResult {
            arrivals: rounds.arrivals,
            refused: rounds.refused,
            unfinished: rounds.unfinished,
            overlapping: rounds.overlapping,
            time_s: rounds.time_s.as_ref().map(estimate),
            time_quantiles_s: rounds.time_quantiles_s.each_ref().map(estimate),
        }),
    }
}

/// The tails of a flow's delays and of its jitter.
pub fn tails(flow: &str, delays: (Vec<f64>, Vec<f64>), jitter: (Vec<f64>, Vec<f64>)) -> [Distribution; 2] {
    let tails = [(DistributionKind::Delay, delays), (DistributionKind::Jitter, jitter)];
    tails.map(|(kind, (values_s, ccdf))| Distribution { kind, flow: flow.into(), values_s, ccdf })
}

/// What each replication measured by itself: its flows, then its ports and workloads.
fn replication_rows(outcome: &Outcome) -> Vec<ReplicationRow> {
    let span = outcome.measured.picoseconds() as f64 / 1e12;
    let mut rows = Vec::new();
    for (index, replication) in outcome.replications.iter().enumerate() {
        let number = index as u32 + 1;
        rows.extend(outcome.flows.iter().zip(&replication.flows).map(|(named, flow)| flow_row(number, &named.name, flow, span)));
        rows.extend(outcome.ports.iter().zip(&replication.ports).map(|(named, port)| port_row(number, &named.name, port, span)));
        let workloads = outcome.workloads.iter().zip(&replication.workloads);
        rows.extend(workloads.map(|(named, workload)| workload_row(number, &named.name, workload, span)));
    }
    rows
}

fn flow_row(replication: u32, name: &str, flow: &FlowStatistics, span: f64) -> ReplicationRow {
    let delays = &flow.delays;
    let quantiles = QUANTILES.map(|part| delays.quantile(part));
    ReplicationRow {
        replication,
        name: name.into(),
        volumes: [flow.offered, flow.delivered, flow.lost(), flow.in_network].map(volume),
        throughput_bps: flow.delivered.bytes as f64 * 8.0 / span,
        loss: flow.loss(),
        delay_s: delays.mean().and_then(|mean| Some([mean, quantiles[0]?, quantiles[1]?, quantiles[2]?, delays.maximum()?])),
        jitter_s: flow.jitter.mean(),
        goodput_bps: flow.tcp.as_ref().map(|tcp| tcp.delivered as f64 * 8.0 / span),
        segments: flow.tcp.as_ref().map(|tcp| [tcp.segments, tcp.retransmissions, tcp.timeouts, tcp.recoveries]),
        ..ReplicationRow::default()
    }
}

fn port_row(replication: u32, name: &str, port: &PortStatistics, span: f64) -> ReplicationRow {
    let dropped: Volume = port.dropped.into_iter().sum();
    ReplicationRow {
        replication,
        scope: RowScope::Port,
        name: name.into(),
        volumes: [port.offered, port.sent, dropped, port.queued].map(volume),
        throughput_bps: port.sent.bytes as f64 * 8.0 / span,
        loss: (port.offered.packets > 0).then(|| dropped.packets as f64 / port.offered.packets as f64),
        port: Some((port.utilisation, port.occupancy_mean_bytes, port.occupancy_max_bytes)),
        pauses: pauses_of(&port.pauses),
        ..ReplicationRow::default()
    }
}

/// How long all classes of a port were paused, in seconds, and how often; `None` if none can be.
fn pauses_of(classes: &[PauseStatistics]) -> Option<(f64, u64)> {
    let sum = |figure: fn(&PauseStatistics) -> u64| classes.iter().map(figure).sum::<u64>();
    (!classes.is_empty()).then(|| (sum(|class| class.time) as f64 / 1e12, sum(|class| class.pauses)))
}

fn workload_row(replication: u32, name: &str, workload: &WorkloadStatistics, span: f64) -> ReplicationRow {
    let all = workload.all();
    let figures = || Some([all.times.mean()?, all.times.quantile(0.99)?, all.mean_slowdown()?, all.slowdown(0.99)?]);
    ReplicationRow {
        replication,
        scope: RowScope::Workload,
        name: name.into(),
        throughput_bps: workload.bytes as f64 * 8.0 / span,
        completions: figures(),
        ..ReplicationRow::default()
    }
}

/// The flow's class is that of its bottleneck: the slowest of the ports that have classes worth naming, the first among equals.
fn flow_result(flow: &FlowOutcome, ports: &[PortOutcome]) -> FlowResult {
    // What finds no path is lost at the first link of the first one.
    let first = flow.classes.first().filter(|_| flow.unrouted.packets > 0).map(|(link, _)| link);
    let named = flow.classes.iter().map(|&(link, class)| (&ports[link.0], class));
    let named = named.filter(|(port, _)| port.classes.len() > 1).min_by_key(|(port, _)| port.rate_bps);
    FlowResult {
        name: flow.name.clone(),
        group: None,
        class: named.map(|(port, class)| port.classes[class].name.clone()),
        port: named.map(|(port, _)| port.name.clone()),
        offered: volume(flow.offered),
        sent: volume(flow.delivered),
        queued: volume(flow.in_network),
        drops: flow
            .drops
            .iter()
            .map(|(link, reason, lost)| DropCount::new(&ports[link.0].name, reason.name(), volume(*lost)))
            .chain(flow.lost_on_links.iter().map(|(link, lost)| DropCount::new(&ports[link.0].name, "lost-on-link", volume(*lost))))
            .chain(first.map(|link| DropCount::new(&ports[link.0].name, "no-path", volume(flow.unrouted))))
            .collect(),
        throughput_bps: estimate(&flow.throughput_bps),
        loss: estimate(&flow.loss),
        delay: flow.delay.as_ref().and_then(delay_summary),
        bound: None,
        tcp: flow.tcp.as_ref().map(tcp_result),
        tagging: flow.tagged.as_ref().map(tagging_result),
    }
}

fn failure_result(failure: &FailureOutcome) -> FailureResult {
    let FailureStatistics { queued, on_link, arrived } = failure.lost;
    let seconds = |at: Duration| at.picoseconds() as f64 / 1e12;
    FailureResult {
        name: failure.name.clone(),
        at_s: seconds(failure.at),
        until_s: failure.until.map(seconds),
        queued: volume(queued),
        on_link: volume(on_link),
        arrived: volume(arrived),
    }
}

fn call_result(calls: &CallOutcome, outcome: &Outcome) -> CallResult {
    let refused = calls.refused.iter().map(|refused| {
        let Shortage { constraint, have, need } = refused.first.shortage();
        let port = &outcome.ports[refused.link.0];
        RefusalCount {
            port: port.name.clone(),
            class: refused.class.map(|class| port.classes[class].name.clone()),
            reason: constraint.to_string(),
            requests: refused.requests,
            needs: need,
            has: have,
            unit: constraint.unit(),
            offers: refused.first.offers.iter().map(|offer| offered(offer, &calls.alternatives)).collect(),
        }
    });
    CallResult {
        name: calls.name.clone(),
        requests: calls.requests,
        admitted: calls.admitted,
        refused: refused.collect(),
        without_place: calls.without_place,
        blocking: (calls.requests > 0).then(|| estimate(&calls.blocking)),
        mean_held: estimate(&calls.mean_held),
        promised_delay_s: calls.promised_delay.map(|delay| delay.picoseconds() as f64 / 1e12),
        longest_delay_s: calls.promised_delay.and(calls.longest_delay_s),
    }
}

/// A rate as files write it.
fn rate_of(bits_per_second: u64) -> String {
    Rate::new(bits_per_second).map_or_else(|_| format!("{bits_per_second} bit/s"), print_rate)
}

/// What a refusal offers. Values are rounded down, and a delay up, so that what is printed is admitted too.
fn offered(offer: Offer, alternatives: &[String]) -> String {
    match offer {
        Offer::Delay(delay) => format!("a delay of {}", print_duration(delay)),
        Offer::Burst(bits) => format!("a burst of {}", print_size(bits / 8)),
        Offer::Rate(rate) => format!("a reserve of {}", rate_of(rate)),
        Offer::Sustained(rate) => format!("a rate of {}", rate_of(rate)),
        Offer::Path(index) => alternatives.get(usize::from(index)).cloned().unwrap_or_else(|| offer.to_string()),
        _ => offer.to_string(),
    }
}

fn tagging_result(outcome: &TaggedOutcome) -> TaggingResult {
    TaggingResult {
        untagged_offered: volume(outcome.untagged.offered),
        untagged_sent: volume(outcome.untagged.delivered),
        tagged_offered: volume(outcome.tagged.offered),
        tagged_sent: volume(outcome.tagged.delivered),
        untagged_bps: estimate(&outcome.untagged_bps),
    }
}

fn tcp_result(tcp: &TcpOutcome) -> TcpResult {
    let transfers = tcp.completions.mean().and_then(|mean_s| {
        let quantile = |part| tcp.completions.quantile(part);
        let (p50_s, p99_s, max_s) = (quantile(0.5)?, quantile(0.99)?, tcp.completions.maximum()?);
        Some(TransferSummary { count: tcp.completions.count(), mean_s, p50_s, p99_s, max_s })
    });
    TcpResult {
        goodput_bps: estimate(&tcp.goodput_bps),
        segments: tcp.segments,
        retransmissions: tcp.retransmissions,
        timeouts: tcp.timeouts,
        recoveries: tcp.recoveries,
        marks: tcp.marks,
        round_trip_s: tcp.round_trip_s.as_ref().map(estimate),
        cwnd_bytes: tcp.cwnd_bytes.as_ref().map(estimate),
        transfers,
    }
}

fn port_result(port: &PortOutcome) -> PortResult {
    PortResult {
        name: port.name.clone(),
        rate_bps: port.rate_bps,
        offered: volume(port.offered),
        sent: volume(port.sent),
        queued: volume(port.queued),
        drops: drops(&port.name, &port.dropped),
        utilisation: estimate(&port.utilisation),
        occupancy_mean_bytes: port.occupancy_mean_bytes.mean,
        occupancy_max_bytes: port.occupancy_max_bytes,
        ce_marked: volume(port.classes.iter().map(|class| class.ce_marked).sum()),
        classes: (0..).zip(&port.classes).map(|(number, class)| class_result(port, number, class)).collect(),
        kernel: None,
    }
}

fn class_result(port: &PortOutcome, number: usize, class: &ClassOutcome) -> ClassResult {
    ClassResult {
        name: class.name.clone(),
        offered: volume(class.offered),
        sent: volume(class.sent),
        queued: volume(class.queued),
        drops: drops(&port.name, &class.dropped),
        marked: volume(class.marked),
        ce_marked: volume(class.ce_marked),
        sojourn: sojourn_summary(&class.sojourns),
        aqm: None,
        cells: class.cells.map(cell_result),
        bound: None,
        pause: port.pauses.iter().find(|pause| pause.class == number).map(class_pause),
    }
}

fn class_pause(pause: &PauseOutcome) -> ClassPause {
    ClassPause {
        count: pause.pauses,
        share: pause.share.mean,
        share_half_width: pause.share.half_width,
        longest_s: pause.longest_s,
        held_max_bytes: pause.greatest_held_bytes,
        paused_at_end: pause.paused_at_end,
        deadlocked: pause.deadlocked,
    }
}

/// What happened to the cells of a class at the port of an ATM adapter.
pub fn cell_result(record: CellRecord) -> CellResult {
    let CellRecord { sent, cdvt_exceeded, nonconforming, underruns, transfers } = record;
    CellResult { sent, cdvt_exceeded, nonconforming, underruns, transfers }
}

fn delay_summary(delay: &DelayOutcome) -> Option<DelaySummary> {
    let [p50_s, p99_s, p999_s] = QUANTILES.map(|part| delay.histogram.quantile(part));
    let [p50_half_width_s, p99_half_width_s, p999_half_width_s] = delay.quantiles_s.map(|quantile| quantile.half_width);
    Some(DelaySummary {
        mean_s: estimate(&delay.mean_s),
        p50_s: p50_s?,
        p99_s: p99_s?,
        p999_s: p999_s?,
        p50_half_width_s,
        p99_half_width_s,
        p999_half_width_s,
        max_s: delay.histogram.maximum()?,
        jitter_s: delay.jitter_s.as_ref().map_or(Estimate::single(0.0), estimate),
        jitter_p99_s: delay.jitter.quantile(0.99).unwrap_or(0.0),
        jitter_max_s: delay.jitter.maximum().unwrap_or(0.0),
    })
}

/// How long packets that were sent had been queued; `None` if none was sent. A histogram does not tell the first nanosecond from 0, which is what
/// most packets wait at an idle port.
pub fn sojourn_summary(sojourns: &Histogram) -> Option<SojournSummary> {
    let quantile = |share| sojourns.quantile(share).map(|seconds| if seconds < 1.1e-9 { 0.0 } else { seconds });
    Some(SojournSummary { mean_s: sojourns.mean()?, p50_s: quantile(0.5)?, p99_s: quantile(0.99)?, max_s: sojourns.maximum()? })
}

fn estimate(estimate: &tidegate_sim::Estimate) -> Estimate {
    Estimate { mean: estimate.mean, half_width: estimate.half_width }
}

/// What a port dropped, by reason.
pub fn drops(port: &str, dropped: &Dropped) -> Vec<DropCount> {
    let counted = DropReason::ALL.iter().zip(dropped).filter(|(_, volume)| volume.packets > 0);
    counted.map(|(reason, &dropped)| DropCount::new(port, reason.name(), volume(dropped))).collect()
}

/// A volume as results have it.
pub fn volume(volume: Volume) -> tidegate_report::Volume {
    tidegate_report::Volume::new(volume.packets, volume.bytes)
}
