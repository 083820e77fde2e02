//! From the record of one port, in a replay or on live interfaces, to the run that a report shows.
//!
//! A replay or a live run has no flows end to end. A class of the policy takes the place of a flow, and its delay is the time in the port.

use crate::simulation_report::{drops, sojourn_summary, tails, volume};
use tidegate_core::packet::DropReason;
use tidegate_core::port::Volume;
use tidegate_core::units::Rate;
use tidegate_report::{ClassResult, DelaySummary, Estimate, FlowResult, PortResult, PromiseResult, Run, Series, SeriesKind};
use tidegate_scenario::policy::Class;
use tidegate_scenario::promise::{Judgement, Measured, Promise};
use tidegate_statistics::{ClassRecord, Delays, PortRecorder, Timeline};

/// The classes of a port up to which all are in the report, also those for which nothing came: the author of their rules should know.
const ALL_CLASSES: usize = 1000;

/// Adds what happened at the port called `name` to a run, and returns notes about it. `seconds` is the length of the run.
///
/// With `prefix`, classes are called "port / class", for runs of more than one port.
pub fn add_port(run: &mut Run, name: &str, prefix: bool, rate: Rate, recorder: &PortRecorder, seconds: f64) -> Vec<String> {
    let is_whole = recorder.classes().len() <= ALL_CLASSES;
    let mut left_out = 0;
    let mut sum = PortResult {
        name: name.into(),
        rate_bps: rate.bits_per_second(),
        offered: Default::default(),
        sent: Default::default(),
        queued: Default::default(),
        drops: Vec::new(),
        utilisation: Estimate::single(if seconds > 0.0 { (recorder.busy_seconds() / seconds).min(1.0) } else { 0.0 }),
        occupancy_mean_bytes: recorder.occupancy_mean(),
        occupancy_max_bytes: recorder.occupancy_maximum(),
        ce_marked: volume(recorder.classes().iter().map(|class| class.ce_marked).sum()),
        classes: Vec::new(),
        kernel: None,
    };
    let mut dropped = [Volume::default(); DropReason::ALL.len()];
    for class in recorder.classes() {
        if !is_whole && class.offered.packets == 0 {
            left_out += 1;
            continue;
        }
        let flow = if prefix { format!("{name} / {}", class.name) } else { class.name.to_string() };
        for (sum, volume) in dropped.iter_mut().zip(&class.dropped) {
            *sum += *volume;
        }
        sum.offered = sum.offered.saturating_add(volume(class.offered));
        sum.sent = sum.sent.saturating_add(volume(class.sent));
        sum.queued = sum.queued.saturating_add(volume(class.queued()));
        sum.classes.push(ClassResult {
            name: class.name.to_string(),
            offered: volume(class.offered),
            sent: volume(class.sent),
            queued: volume(class.queued()),
            drops: drops(name, &class.dropped),
            marked: volume(class.marked),
            ce_marked: volume(class.ce_marked),
            sojourn: sojourn_summary(&class.sojourns),
            aqm: None,
            cells: None,
            bound: None,
            pause: None,
        });
        run.flows.push(flow_result(&flow, name, class, seconds));
        run.series.push(series(SeriesKind::Throughput, &flow, &class.sent_bytes, 8.0));
        run.distributions.extend(tails(&flow, class.delays.tail(), class.delays.jitter().tail()));
    }
    sum.drops = drops(name, &dropped);
    run.ports.push(sum);
    let occupancy: (Vec<f64>, Vec<f64>) = recorder.occupancy().points().into_iter().unzip();
    run.series.push(Series { kind: SeriesKind::Occupancy, name: name.into(), times_s: occupancy.0.into(), values: occupancy.1 });
    for reason in DropReason::ALL.iter().copied().filter(|&reason| dropped[reason as usize].packets > 0) {
        let label = if prefix { format!("{name} / {reason}") } else { reason.to_string() };
        run.series.push(series(SeriesKind::Drops, &label, recorder.drops(reason), 1.0));
    }
    let mut notes = Vec::new();
    if left_out > 0 {
        notes.push(format!("{name}: no packet came for {left_out} of {} classes, which are left out.", recorder.classes().len()));
    }
    match recorder.coarse_classes() {
        0 => {}
        coarse => notes.push(format!(
            "{name}: {coarse} classes were recorded in less detail, because packets came for 4096 others before: their quantiles are at most 6.3 % \
             too high, and their curves have 64 to 256 points."
        )),
    }
    notes
}

/// Compares every class to which something was offered with its promises. `prefix` is put before its name.
pub fn judge_classes(run: &mut Run, classes: &[Class], records: &[ClassRecord], prefix: &str, seconds: f64) {
    for (class, record) in classes.iter().zip(records).filter(|(_, record)| record.offered.packets > 0) {
        let Some(promise) = &class.promise else { continue };
        let measured = Measured {
            delay_quantile_s: &|part| record.delays.quantile_seconds(part),
            loss: Some(record.dropped_in_all().packets as f64 / record.offered.packets as f64),
            rate_bps: record.sent.bytes as f64 * 8.0 / seconds.max(1e-12),
        };
        run.promises.extend(judged(&format!("{prefix}{}", class.name), promise, &measured));
    }
}

/// One row of the report for every value that is promised to `name`.
pub fn judged(name: &str, promise: &Promise, measured: &Measured<'_>) -> Vec<PromiseResult> {
    let row = |Judgement { promise, measured, kept }| PromiseResult { flow: name.into(), promise, measured, kept };
    promise.judge(measured).into_iter().map(row).collect()
}

fn flow_result(name: &str, port: &str, class: &ClassRecord, seconds: f64) -> FlowResult {
    let lost = class.dropped_in_all().packets;
    FlowResult {
        name: name.into(),
        group: None,
        class: Some(class.name.to_string()),
        port: Some(port.into()),
        offered: volume(class.offered),
        sent: volume(class.sent),
        queued: volume(class.queued()),
        drops: drops(port, &class.dropped),
        throughput_bps: Estimate::single(if seconds > 0.0 { class.sent.bytes as f64 * 8.0 / seconds } else { 0.0 }),
        loss: Estimate::single(if class.offered.packets > 0 { lost as f64 / class.offered.packets as f64 } else { 0.0 }),
        delay: delay_summary(&class.delays),
        bound: None,
        tcp: None,
        tagging: None,
    }
}

fn delay_summary(delays: &Delays) -> Option<DelaySummary> {
    Some(DelaySummary {
        mean_s: Estimate::single(delays.mean_seconds()?),
        p50_s: delays.quantile_seconds(0.5)?,
        p99_s: delays.quantile_seconds(0.99)?,
        p999_s: delays.quantile_seconds(0.999)?,
        p50_half_width_s: None,
        p99_half_width_s: None,
        p999_half_width_s: None,
        max_s: delays.maximum_seconds()?,
        jitter_s: Estimate::single(delays.jitter().mean().unwrap_or(0.0)),
        jitter_p99_s: delays.jitter().quantile(0.99).unwrap_or(0.0),
        jitter_max_s: delays.jitter().maximum().unwrap_or(0.0),
    })
}

/// A time line as a rate per second, each bin at its end as the report expects, times `scale`.
fn series(kind: SeriesKind, name: &str, line: &Timeline, scale: f64) -> Series {
    let width = line.width_seconds();
    let (times_s, values): (Vec<f64>, Vec<f64>) =
        line.points().into_iter().map(|(start, sum)| (start + width, sum * scale / width)).unzip();
    Series { kind, name: name.into(), times_s: times_s.into(), values }
}
