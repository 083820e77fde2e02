//! Checks a report before anything is made of it: conservation at every port and class, finite numbers in their
//! ranges, columns of equal length, unique names.

use std::collections::HashSet;
use std::fmt::Display;
use std::hash::Hash;

use crate::error::ReportError;
use crate::model::{DelaySummary, Distribution, DropCount, Estimate, FlowResult, PortResult, Report, Run, Series, TaggingResult, Volume};
use crate::workload::WorkloadResult;

impl Report {
    /// Checks what every writer of this crate relies on.
    ///
    /// At each port and each class `offered = sent + dropped + queued`, in packets and in bytes. A flow is not held to
    /// that law: its packets may have entered before the end of the warm-up and left after it. Numbers are finite and
    /// in range, times and delays never decrease, and no two runs, flows, ports, classes or series share a name.
    ///
    /// # Errors
    /// The first contradiction found, with the run, the port or flow, and the quantity.
    pub fn validate(&self) -> Result<(), ReportError> {
        let at = format!("report `{}`", self.title);
        non_negative(&at, "duration_s", self.duration_s)?;
        non_negative(&at, "warm_up_s", self.warm_up_s)?;
        if self.warm_up_s > self.duration_s {
            return Err(out_of_range(&at, "warm_up_s", self.warm_up_s, "at most duration_s"));
        }
        if self.replications == 0 {
            return Err(out_of_range(&at, "replications", 0.0, "at least 1"));
        }
        unique(&at, "run", self.runs.iter().map(|run| run.name.as_str()))?;
        self.runs.iter().try_for_each(check_run)
    }
}

fn check_run(run: &Run) -> Result<(), ReportError> {
    let at = format!("run `{}`", run.name);
    unique(&at, "flow", run.flows.iter().map(|flow| flow.name.as_str()))?;
    unique(&at, "port", run.ports.iter().map(|port| port.name.as_str()))?;
    unique(&at, "series", run.series.iter().map(|series| format!("{}: {}", series.kind.name(), series.name)))?;
    unique(&at, "distribution", run.distributions.iter().map(|one| format!("{}: {}", one.kind.name(), one.flow)))?;
    unique(&at, "calls", run.calls.iter().map(|calls| calls.name.as_str()))?;
    for calls in &run.calls {
        let at = format!("{at}, calls `{}`", calls.name);
        calls.blocking.map_or(Ok(()), |blocking| estimate(&at, "blocking", blocking))?;
        at_most_one(&at, "blocking", calls.blocking.map_or(0.0, |blocking| blocking.mean))?;
        estimate(&at, "mean_held", calls.mean_held)?;
    }
    unique(&at, "workload", run.workloads.iter().map(|workload| workload.name.as_str()))?;
    run.workloads.iter().try_for_each(|workload| check_workload(&at, workload))?;
    run.flows.iter().try_for_each(|flow| check_flow(&at, flow))?;
    run.ports.iter().try_for_each(|port| check_port(&at, port))?;
    run.series.iter().try_for_each(|series| check_series(&at, series))?;
    run.distributions.iter().try_for_each(|distribution| check_distribution(&at, distribution))
}

fn check_workload(at: &str, workload: &WorkloadResult) -> Result<(), ReportError> {
    let at = format!("{at}, workload `{}`", workload.name);
    estimate(&at, "offered_bps", workload.offered_bps)?;
    for row in workload.all.iter().chain(&workload.sizes) {
        estimate(&at, "time_s", row.time_s)?;
        estimate(&at, "slowdown", row.slowdown)?;
        row.time_quantiles_s.into_iter().try_for_each(|quantile| estimate(&at, "time_quantiles_s", quantile))?;
        row.slowdown_quantiles.into_iter().try_for_each(|quantile| estimate(&at, "slowdown_quantiles", quantile))?;
    }
    workload.rounds.and_then(|rounds| rounds.time_s).map_or(Ok(()), |time| estimate(&at, "rounds", time))
}

fn check_flow(at: &str, flow: &FlowResult) -> Result<(), ReportError> {
    let at = format!("{at}, flow `{}`", flow.name);
    estimate(&at, "throughput_bps", flow.throughput_bps)?;
    estimate(&at, "loss", flow.loss)?;
    at_most_one(&at, "loss", flow.loss.mean)?;
    if let Some(tcp) = &flow.tcp {
        estimate(&at, "goodput_bps", tcp.goodput_bps)?;
        tcp.round_trip_s.map_or(Ok(()), |time| estimate(&at, "round_trip_s", time))?;
        tcp.cwnd_bytes.map_or(Ok(()), |window| estimate(&at, "cwnd_bytes", window))?;
    }
    if let Some(TaggingResult { untagged_offered, untagged_sent, tagged_offered, tagged_sent, untagged_bps }) = flow.tagging {
        estimate(&at, "untagged_bps", untagged_bps)?;
        colours(&at, "offered", flow.offered, untagged_offered, tagged_offered)?;
        colours(&at, "sent", flow.sent, untagged_sent, tagged_sent)?;
    }
    if let Some(bound) = &flow.bound {
        bound.ratio.map_or(Ok(()), |ratio| non_negative(&at, "ratio", ratio))?;
    }
    let Some(delay) = flow.delay else { return Ok(()) };
    let DelaySummary { mean_s, p50_s, p99_s, p999_s, max_s, jitter_s, jitter_p99_s, jitter_max_s, .. } = delay;
    estimate(&at, "mean_s", mean_s)?;
    estimate(&at, "jitter_s", jitter_s)?;
    let quantiles = [("p50_s", p50_s), ("p99_s", p99_s), ("p999_s", p999_s), ("max_s", max_s)];
    let of_jitter = [("jitter_p99_s", jitter_p99_s), ("jitter_max_s", jitter_max_s)];
    let half_widths = [
        ("p50_half_width_s", delay.p50_half_width_s),
        ("p99_half_width_s", delay.p99_half_width_s),
        ("p999_half_width_s", delay.p999_half_width_s),
    ];
    let half_widths = half_widths.into_iter().filter_map(|(quantity, value)| Some((quantity, value?)));
    for (quantity, value) in quantiles.into_iter().chain(of_jitter).chain(half_widths) {
        non_negative(&at, quantity, value)?;
    }
    Ok(())
}

fn colours(at: &str, what: &str, all: Volume, untagged: Volume, tagged: Volume) -> Result<(), ReportError> {
    adds_up(at, what, all, "tagged and untagged together are", untagged.checked_add(tagged))
}

fn adds_up(at: &str, what: &str, whole: Volume, parts: &str, sum: Option<Volume>) -> Result<(), ReportError> {
    if sum == Some(whole) {
        return Ok(());
    }
    let sum =
        sum.map_or("beyond the range of a 64-bit counter".to_owned(), |sum| format!("{} packets and {} bytes", sum.packets, sum.bytes));
    contradiction(at, format!("{what} {} packets and {} bytes, but {parts} {sum}", whole.packets, whole.bytes))
}

fn check_port(at: &str, port: &PortResult) -> Result<(), ReportError> {
    let at = format!("{at}, port `{}`", port.name);
    estimate(&at, "utilisation", port.utilisation)?;
    non_negative(&at, "occupancy_mean_bytes", port.occupancy_mean_bytes)?;
    conserved(&at, port.offered, [port.sent, port.queued], &port.drops)?;
    unique(&at, "class", port.classes.iter().map(|class| class.name.as_str()))?;
    port.classes
        .iter()
        .try_for_each(|class| conserved(&format!("{at}, class `{}`", class.name), class.offered, [class.sent, class.queued], &class.drops))
}

fn conserved(at: &str, offered: Volume, sent_and_queued: [Volume; 2], drops: &[DropCount]) -> Result<(), ReportError> {
    let mut parts = sent_and_queued.into_iter().chain(drops.iter().map(|drop| drop.volume));
    adds_up(at, "offered", offered, "sent, dropped and queued together are", parts.try_fold(Volume::default(), Volume::checked_add))
}

fn check_series(at: &str, series: &Series) -> Result<(), ReportError> {
    let at = format!("{at}, {} of `{}`", series.kind.name(), series.name);
    same_length(&at, &series.times_s, &series.values)?;
    ordered(&at, "times_s", &series.times_s)?;
    series.values.iter().try_for_each(|&value| non_negative(&at, "value", value))
}

fn check_distribution(at: &str, distribution: &Distribution) -> Result<(), ReportError> {
    let at = format!("{at}, {} distribution of `{}`", distribution.kind.name(), distribution.flow);
    same_length(&at, &distribution.values_s, &distribution.ccdf)?;
    ordered(&at, "values_s", &distribution.values_s)?;
    for &share in &distribution.ccdf {
        non_negative(&at, "ccdf", share)?;
        at_most_one(&at, "ccdf", share)?;
    }
    in_order(&format!("{at}, ccdf"), &distribution.ccdf, |before, share| share <= before)
}

fn ordered(at: &str, quantity: &str, values: &[f64]) -> Result<(), ReportError> {
    values.iter().try_for_each(|&value| non_negative(at, quantity, value))?;
    in_order(&format!("{at}, {quantity}"), values, |before, value| value >= before)
}

/// Checks that each value may follow the one before.
pub(crate) fn in_order(place: &str, values: &[f64], follows: fn(f64, f64) -> bool) -> Result<(), ReportError> {
    match values.windows(2).position(|pair| !follows(pair[0], pair[1])) {
        Some(before) => contradiction(place, format!("value {} is out of order", before + 1)),
        None => Ok(()),
    }
}

pub(crate) fn same_length<A, B>(at: &str, first: &[A], second: &[B]) -> Result<(), ReportError> {
    if first.len() == second.len() {
        return Ok(());
    }
    contradiction(at, format!("{} and {} values, expected equally many", first.len(), second.len()))
}

fn estimate(at: &str, quantity: &str, estimate: Estimate) -> Result<(), ReportError> {
    non_negative(at, quantity, estimate.mean)?;
    match estimate.half_width {
        Some(half_width) => non_negative(at, quantity, half_width),
        None => Ok(()),
    }
}

fn non_negative(at: &str, quantity: &str, value: f64) -> Result<(), ReportError> {
    if value.is_finite() && value >= 0.0 { Ok(()) } else { Err(out_of_range(at, quantity, value, "a finite number, 0 or more")) }
}

fn at_most_one(at: &str, quantity: &str, value: f64) -> Result<(), ReportError> {
    if value <= 1.0 { Ok(()) } else { Err(out_of_range(at, quantity, value, "a ratio from 0 to 1")) }
}

fn out_of_range(at: &str, quantity: &str, value: f64, expected: &str) -> ReportError {
    ReportError::Contradiction { place: format!("{at}, {quantity}"), problem: format!("{value} found, {expected} expected") }
}

pub(crate) fn contradiction(place: &str, problem: String) -> Result<(), ReportError> {
    Err(ReportError::Contradiction { place: place.to_owned(), problem })
}

pub(crate) fn unique<N: Eq + Hash + Display>(at: &str, kind: &str, names: impl Iterator<Item = N>) -> Result<(), ReportError> {
    let mut seen = HashSet::new();
    for name in names {
        if let Some(name) = seen.replace(name) {
            return contradiction(&format!("{at}, {kind}"), format!("the name `{name}` stands for two things"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample_report;

    fn refused(change: impl FnOnce(&mut Report)) -> String {
        let mut report = sample_report();
        change(&mut report);
        report.validate().unwrap_err().to_string()
    }

    #[test]
    fn the_sample_is_accepted() {
        sample_report().validate().unwrap();
    }

    #[test]
    fn a_lost_packet_is_noticed_with_its_port() {
        let message = refused(|report| report.runs[0].ports[0].sent.packets -= 1);
        assert!(message.contains("run `with the policy`, port `uplink`: offered"), "{message}");
    }

    #[test]
    fn a_lost_byte_is_noticed_with_its_class() {
        let message = refused(|report| report.runs[1].ports[0].classes[0].offered.bytes += 1);
        assert!(message.contains("class `"), "{message}");
    }

    #[test]
    fn a_sum_beyond_64_bits_is_not_taken_for_balanced() {
        let message = refused(|report| {
            report.runs[0].ports[0].queued = Volume::new(u64::MAX, 0);
        });
        assert!(message.contains("beyond the range"), "{message}");
    }

    #[test]
    fn a_packet_without_a_colour_is_noticed() {
        let tagged = |flow: &mut FlowResult| {
            let (untagged_offered, untagged_sent) = (flow.offered, flow.sent);
            flow.tagging = Some(TaggingResult { untagged_offered, untagged_sent, ..TaggingResult::default() });
        };
        let mut report = sample_report();
        tagged(&mut report.runs[0].flows[0]);
        report.validate().unwrap();
        let message = refused(|report| {
            tagged(&mut report.runs[0].flows[0]);
            report.runs[0].flows[0].tagging.as_mut().unwrap().untagged_sent.packets -= 1;
        });
        assert!(message.contains("flow `voice`: sent ") && message.contains("tagged and untagged together are"), "{message}");
    }

    #[test]
    fn numbers_that_json_cannot_hold_are_refused() {
        for value in [f64::NAN, f64::INFINITY, -1.0] {
            let message = refused(|report| report.runs[0].flows[0].loss.mean = value);
            assert!(message.contains("flow `voice`, loss"), "{message}");
            let message = refused(|report| report.runs[0].series[0].values[3] = value);
            assert!(message.contains("throughput of `voice`"), "{message}");
        }
        assert!(refused(|report| report.duration_s = f64::NAN).contains("duration_s"));
        assert!(refused(|report| report.warm_up_s = 1e9).contains("at most duration_s"));
        assert!(refused(|report| report.replications = 0).contains("at least 1"));
    }

    #[test]
    fn ratios_beyond_one_are_refused() {
        assert!(refused(|report| report.runs[0].flows[0].loss.mean = 1.01).contains("0 to 1"));
    }

    #[test]
    fn columns_must_match_and_be_in_order() {
        let message = refused(|report| {
            report.runs[0].series[0].values.pop();
        });
        assert!(message.contains("equally many"), "{message}");
        let message = refused(|report| report.runs[0].distributions[0].values_s.reverse());
        assert!(message.contains("values_s: value"), "{message}");
        let message = refused(|report| report.runs[0].distributions[0].ccdf.reverse());
        assert!(message.contains("ccdf: value"), "{message}");
    }

    #[test]
    fn names_are_unique() {
        let message = refused(|report| {
            let name = report.runs[0].name.clone();
            report.runs[1].name = name;
        });
        assert!(message.contains("stands for two things"), "{message}");
        let message = refused(|report| {
            let twin = report.runs[0].series[0].clone();
            report.runs[0].series.push(twin);
        });
        assert!(message.contains("throughput: voice"), "{message}");
    }
}
