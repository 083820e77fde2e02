//! What the Parquet tables hold; the unit of a column is in its name.
//!
//! | file | one row per |
//! |---|---|
//! | `flows.parquet` | run and flow |
//! | `ports.parquet` | run and port |
//! | `classes.parquet` | run, port and class |
//! | `series.parquet` | run, kind, name and time |
//! | `distributions.parquet` | run, kind (delay or jitter), flow and value |
//! | `drops.parquet` | run, port, `scope`, name and reason |
//! | `replications.parquet` | run, replication, `scope` (flow, port or workload) and name |
//! | `workloads.parquet` | run, workload and `scope`: all connections, those of a size, or rounds |
//!
//! In `drops.parquet` the same packets appear up to three times, once per `scope`: `port`, `class` and `flow`. Filter
//! on one of them before adding up.

use crate::bound::{BoundResult, PacketResult};
use crate::class_pause::ClassPause;
use crate::columnar::{Column, Values};
use crate::grid::total;
use crate::metrics::METRICS;
use crate::model::{CellResult, DelaySummary, DropCount, FlowResult, ReplicationRow, Report, Run, TaggingResult, TcpResult, Volume};
use crate::queue_management::SojournSummary;
use crate::workload_views;

/// What makes the columns of a table.
pub type Columns = for<'a> fn(&'a Report) -> Vec<Column<'a>>;

/// The file names with what makes their columns, in the order in which they are written.
pub const TABLES: [(&str, Columns); 8] = [
    ("flows.parquet", flows),
    ("ports.parquet", ports),
    ("classes.parquet", classes),
    ("series.parquet", series),
    ("distributions.parquet", distributions),
    ("drops.parquet", drops),
    ("replications.parquet", replications),
    ("workloads.parquet", workload_views::columns),
];

fn flows(report: &Report) -> Vec<Column<'_>> {
    let rows = with_run(report, |run| &run.flows);
    let flows: Vec<_> = rows.iter().map(|(_, flow)| *flow).collect();
    let delay =
        |figure: fn(&DelaySummary) -> f64| Values::OptionalNumber(flows.iter().map(|flow| flow.delay.as_ref().map(figure)).collect());
    let half_width = |figure: fn(&DelaySummary) -> Option<f64>| {
        Values::OptionalNumber(flows.iter().map(|flow| flow.delay.as_ref().and_then(figure)).collect())
    };
    let kept = rows.iter().map(|(run, flow)| {
        run.promises.iter().filter(|promise| promise.flow == flow.name).map(|promise| promise.kept).reduce(|all, kept| all && kept)
    });
    let mut columns = vec![
        run_column(&rows),
        column("flow", Values::Text(flows.iter().map(|flow| flow.name.as_str()).collect())),
        column("class", Values::OptionalText(flows.iter().map(|flow| flow.class.as_deref()).collect())),
        column("port", Values::OptionalText(flows.iter().map(|flow| flow.port.as_deref()).collect())),
    ];
    columns.extend(volumes(flows.iter().map(|flow| (flow.offered, flow.sent, &flow.drops[..], flow.queued))));
    columns.extend([
        column("throughput_bps", Values::Number(flows.iter().map(|flow| flow.throughput_bps.mean).collect())),
        column("throughput_half_width_bps", Values::OptionalNumber(flows.iter().map(|flow| flow.throughput_bps.half_width).collect())),
        column("loss", Values::Number(flows.iter().map(|flow| flow.loss.mean).collect())),
        column("loss_half_width", Values::OptionalNumber(flows.iter().map(|flow| flow.loss.half_width).collect())),
        column("delay_mean_s", delay(|delay| delay.mean_s.mean)),
        column("delay_mean_half_width_s", half_width(|delay| delay.mean_s.half_width)),
        column("delay_p50_s", delay(|delay| delay.p50_s)),
        column("delay_p99_s", delay(|delay| delay.p99_s)),
        column("delay_p999_s", delay(|delay| delay.p999_s)),
        column("delay_p50_half_width_s", half_width(|delay| delay.p50_half_width_s)),
        column("delay_p99_half_width_s", half_width(|delay| delay.p99_half_width_s)),
        column("delay_p999_half_width_s", half_width(|delay| delay.p999_half_width_s)),
        column("delay_max_s", delay(|delay| delay.max_s)),
        column("jitter_s", delay(|delay| delay.jitter_s.mean)),
        column("jitter_half_width_s", half_width(|delay| delay.jitter_s.half_width)),
        column("jitter_p99_s", delay(|delay| delay.jitter_p99_s)),
        column("jitter_max_s", delay(|delay| delay.jitter_max_s)),
        column("promises_kept", Values::OptionalFlag(kept.collect())),
    ]);
    columns.extend(bounds(&flows));
    columns.extend(connections(&flows));
    columns.extend(colours(&flows));
    columns
}

/// What is proven of the flows' delays, and the packet with the largest one.
fn bounds<'a>(flows: &[&'a FlowResult]) -> [Column<'a>; 9] {
    let bounds = || flows.iter().map(|flow| flow.bound.as_ref());
    let number = |figure: fn(&BoundResult) -> Option<f64>| Values::OptionalNumber(bounds().map(|bound| bound.and_then(figure)).collect());
    let text = |words: fn(&BoundResult) -> Option<&str>| Values::OptionalText(bounds().map(|bound| bound.and_then(words)).collect());
    let packet = |figure: fn(&PacketResult) -> f64| {
        Values::OptionalNumber(bounds().map(|bound| bound.and_then(|bound| bound.longest.as_ref()).map(figure)).collect())
    };
    [
        column("bound_s", number(|bound| bound.delay_ps.map(in_seconds))),
        column("bound_method", text(|bound| bound.method.as_deref())),
        column("bound_missing_because", text(|bound| bound.reason.as_deref())),
        column("bound_ratio", number(|bound| bound.ratio)),
        column("bound_held", Values::OptionalFlag(bounds().map(|bound| bound.and_then(|bound| bound.held)).collect())),
        column("longest_delay_s", packet(|packet| in_seconds(packet.delay_ps))),
        column("longest_came_s", packet(|packet| in_seconds(packet.came_ps))),
        column("longest_packet", packet(|packet| packet.number as f64)),
        column("longest_replication", packet(|packet| packet.replication.into())),
    ]
}

fn in_seconds(picoseconds: u64) -> f64 {
    picoseconds as f64 / 1e12
}

/// What only TCP connections have.
fn connections<'a>(flows: &[&'a FlowResult]) -> [Column<'a>; 14] {
    let number = |figure: fn(&TcpResult) -> Option<f64>| {
        Values::OptionalNumber(flows.iter().map(|flow| flow.tcp.as_ref().and_then(figure)).collect())
    };
    [
        column("goodput_bps", number(|tcp| Some(tcp.goodput_bps.mean))),
        column("goodput_half_width_bps", number(|tcp| tcp.goodput_bps.half_width)),
        column("segments", number(|tcp| Some(tcp.segments as f64))),
        column("retransmissions", number(|tcp| Some(tcp.retransmissions as f64))),
        column("timeouts", number(|tcp| Some(tcp.timeouts as f64))),
        column("recoveries", number(|tcp| Some(tcp.recoveries as f64))),
        column("mark_reductions", number(|tcp| Some(tcp.marks as f64))),
        column("round_trip_s", number(|tcp| tcp.round_trip_s.map(|time| time.mean))),
        column("cwnd_bytes", number(|tcp| tcp.cwnd_bytes.map(|window| window.mean))),
        column("transfers", number(|tcp| tcp.transfers.map(|transfers| transfers.count as f64))),
        column("transfer_mean_s", number(|tcp| tcp.transfers.map(|transfers| transfers.mean_s))),
        column("transfer_p50_s", number(|tcp| tcp.transfers.map(|transfers| transfers.p50_s))),
        column("transfer_p99_s", number(|tcp| tcp.transfers.map(|transfers| transfers.p99_s))),
        column("transfer_max_s", number(|tcp| tcp.transfers.map(|transfers| transfers.max_s))),
    ]
}

/// What only flows have whose senders tag.
fn colours<'a>(flows: &[&'a FlowResult]) -> [Column<'a>; 10] {
    let number = |figure: fn(&TaggingResult) -> Option<f64>| {
        Values::OptionalNumber(flows.iter().map(|flow| flow.tagging.as_ref().and_then(figure)).collect())
    };
    [
        column("untagged_offered_packets", number(|tagging| Some(tagging.untagged_offered.packets as f64))),
        column("untagged_offered_bytes", number(|tagging| Some(tagging.untagged_offered.bytes as f64))),
        column("untagged_sent_packets", number(|tagging| Some(tagging.untagged_sent.packets as f64))),
        column("untagged_sent_bytes", number(|tagging| Some(tagging.untagged_sent.bytes as f64))),
        column("tagged_offered_packets", number(|tagging| Some(tagging.tagged_offered.packets as f64))),
        column("tagged_offered_bytes", number(|tagging| Some(tagging.tagged_offered.bytes as f64))),
        column("tagged_sent_packets", number(|tagging| Some(tagging.tagged_sent.packets as f64))),
        column("tagged_sent_bytes", number(|tagging| Some(tagging.tagged_sent.bytes as f64))),
        column("untagged_bps", number(|tagging| Some(tagging.untagged_bps.mean))),
        column("untagged_half_width_bps", number(|tagging| tagging.untagged_bps.half_width)),
    ]
}

fn ports(report: &Report) -> Vec<Column<'_>> {
    let rows = with_run(report, |run| &run.ports);
    let ports: Vec<_> = rows.iter().map(|(_, port)| *port).collect();
    let mut columns = vec![
        run_column(&rows),
        column("port", Values::Text(ports.iter().map(|port| port.name.as_str()).collect())),
        column("rate_bps", Values::Count(ports.iter().map(|port| port.rate_bps).collect())),
    ];
    columns.extend(volumes(ports.iter().map(|port| (port.offered, port.sent, &port.drops[..], port.queued))));
    columns.extend([
        column("utilisation", Values::Number(ports.iter().map(|port| port.utilisation.mean).collect())),
        column("utilisation_half_width", Values::OptionalNumber(ports.iter().map(|port| port.utilisation.half_width).collect())),
        column("occupancy_mean_bytes", Values::Number(ports.iter().map(|port| port.occupancy_mean_bytes).collect())),
        column("occupancy_max_bytes", Values::Count(ports.iter().map(|port| port.occupancy_max_bytes).collect())),
        column("ce_marked_packets", Values::Count(ports.iter().map(|port| port.ce_marked.packets).collect())),
        column("ce_marked_bytes", Values::Count(ports.iter().map(|port| port.ce_marked.bytes).collect())),
    ]);
    columns
}

fn classes(report: &Report) -> Vec<Column<'_>> {
    let rows: Vec<_> = with_run(report, |run| &run.ports)
        .into_iter()
        .flat_map(|(run, port)| port.classes.iter().map(move |class| (run, (port, class))))
        .collect();
    let mut columns = vec![
        run_column(&rows),
        column("port", Values::Text(rows.iter().map(|(_, (port, _))| port.name.as_str()).collect())),
        column("class", Values::Text(rows.iter().map(|(_, (_, class))| class.name.as_str()).collect())),
    ];
    columns.extend(volumes(rows.iter().map(|(_, (_, class))| (class.offered, class.sent, &class.drops[..], class.queued))));
    columns.extend([
        column("marked_packets", Values::Count(rows.iter().map(|(_, (_, class))| class.marked.packets).collect())),
        column("marked_bytes", Values::Count(rows.iter().map(|(_, (_, class))| class.marked.bytes).collect())),
        column("ce_marked_packets", Values::Count(rows.iter().map(|(_, (_, class))| class.ce_marked.packets).collect())),
        column("ce_marked_bytes", Values::Count(rows.iter().map(|(_, (_, class))| class.ce_marked.bytes).collect())),
    ]);
    let sojourn =
        |figure: fn(SojournSummary) -> f64| Values::OptionalNumber(rows.iter().map(|(_, (_, class))| class.sojourn.map(figure)).collect());
    columns.extend([
        column("sojourn_mean_s", sojourn(|sojourn| sojourn.mean_s)),
        column("sojourn_p50_s", sojourn(|sojourn| sojourn.p50_s)),
        column("sojourn_p99_s", sojourn(|sojourn| sojourn.p99_s)),
        column("sojourn_max_s", sojourn(|sojourn| sojourn.max_s)),
        column("aqm", Values::OptionalText(rows.iter().map(|(_, (_, class))| class.aqm.as_ref().map(|aqm| aqm.kind.as_str())).collect())),
    ]);
    let cells = |figure: fn(CellResult) -> u64| {
        Values::OptionalNumber(rows.iter().map(|(_, (_, class))| class.cells.map(|cells| figure(cells) as f64)).collect())
    };
    columns.extend([
        column("cells_sent", cells(|cells| cells.sent)),
        column("cells_cdvt_exceeded", cells(|cells| cells.cdvt_exceeded)),
        column("cells_nonconforming", cells(|cells| cells.nonconforming)),
        column("underruns", cells(|cells| cells.underruns)),
        column("transfers_from_host", cells(|cells| cells.transfers)),
    ]);
    let pause =
        |figure: fn(ClassPause) -> f64| Values::OptionalNumber(rows.iter().map(|(_, (_, class))| class.pause.map(figure)).collect());
    let half_width = rows.iter().map(|(_, (_, class))| class.pause.and_then(|pause| pause.share_half_width));
    columns.extend([
        column("pauses", pause(|pause| pause.count as f64)),
        column("paused_share", pause(|pause| pause.share)),
        column("paused_share_half_width", Values::OptionalNumber(half_width.collect())),
        column("paused_longest_s", pause(|pause| pause.longest_s)),
        column("held_behind_max_bytes", pause(|pause| pause.held_max_bytes as f64)),
        column("paused_at_end_replications", pause(|pause| f64::from(pause.paused_at_end))),
        column("deadlocked_replications", pause(|pause| f64::from(pause.deadlocked))),
    ]);
    columns
}

fn series(report: &Report) -> Vec<Column<'_>> {
    let rows = with_run(report, |run| &run.series).into_iter();
    points(["name", "time_s", "value"], rows.map(|(run, one)| ([&run.name, one.kind.name(), &one.name], &one.times_s[..], &one.values[..])))
}

fn distributions(report: &Report) -> Vec<Column<'_>> {
    let rows = with_run(report, |run| &run.distributions).into_iter();
    points(["flow", "value_s", "ccdf"], rows.map(|(run, one)| ([&run.name, one.kind.name(), &one.flow], &one.values_s[..], &one.ccdf[..])))
}

/// One row per point of every curve: its run, kind and name, and both coordinates.
fn points<'a>([name, x, y]: [&'static str; 3], curves: impl Iterator<Item = ([&'a str; 3], &'a [f64], &'a [f64])>) -> Vec<Column<'a>> {
    let (mut texts, mut xs, mut ys) = ([const { Vec::new() }; 3], Vec::new(), Vec::new());
    for (keys, x, y) in curves {
        for (texts, key) in texts.iter_mut().zip(keys) {
            texts.extend(std::iter::repeat_n(key, y.len()));
        }
        xs.extend_from_slice(x);
        ys.extend_from_slice(y);
    }
    let mut columns: Vec<Column> =
        ["run", "kind", name].into_iter().zip(texts).map(|(name, text)| column(name, Values::Text(text))).collect();
    columns.extend([column(x, Values::Number(xs)), column(y, Values::Number(ys))]);
    columns
}

fn drops(report: &Report) -> Vec<Column<'_>> {
    /// Scope, name within the scope, and the drops.
    type Scoped<'a> = (&'static str, Option<&'a str>, &'a DropCount);
    let mut rows: Vec<(&Run, Scoped)> = Vec::new();
    for run in &report.runs {
        for port in &run.ports {
            rows.extend(port.drops.iter().map(|drop| (run, ("port", None, drop))));
            for class in &port.classes {
                let name = Some(class.name.as_str());
                rows.extend(class.drops.iter().map(|drop| (run, ("class", name, drop))));
            }
        }
        for flow in &run.flows {
            let name = Some(flow.name.as_str());
            rows.extend(flow.drops.iter().map(|drop| (run, ("flow", name, drop))));
        }
    }
    vec![
        run_column(&rows),
        column("port", Values::Text(rows.iter().map(|(_, (_, _, drop))| drop.port.as_str()).collect())),
        column("scope", Values::Text(rows.iter().map(|(_, (scope, _, _))| *scope).collect())),
        column("name", Values::OptionalText(rows.iter().map(|(_, (_, name, _))| *name).collect())),
        column("reason", Values::Text(rows.iter().map(|(_, (_, _, drop))| drop.reason.as_str()).collect())),
        column("packets", Values::Count(rows.iter().map(|(_, (_, _, drop))| drop.volume.packets).collect())),
        column("bytes", Values::Count(rows.iter().map(|(_, (_, _, drop))| drop.volume.bytes).collect())),
    ]
}

/// What each replication measured by itself. The columns are named as those of the means over all of them.
pub(crate) fn replications(report: &Report) -> Vec<Column<'_>> {
    let rows = with_run(report, |run| &run.replications);
    let of: Vec<&ReplicationRow> = rows.iter().map(|(_, row)| *row).collect();
    let mut columns = vec![
        run_column(&rows),
        column("replication", Values::Count(of.iter().map(|row| row.replication.into()).collect())),
        // The same for all replications, whose number makes their random streams differ.
        column("seed", Values::Count(vec![report.seed.unwrap_or(0); of.len()])),
        column("scope", Values::Text(of.iter().map(|row| row.scope.name()).collect())),
        column("name", Values::Text(of.iter().map(|row| row.name.as_str()).collect())),
    ];
    columns.extend(counted(of.iter().map(|row| row.volumes).collect()));
    let figures: Vec<_> = of.iter().map(|row| row.figures()).collect();
    columns.extend(METRICS.iter().enumerate().map(|(index, metric)| {
        // Throughput is always there.
        let throughput = || Values::Number(of.iter().map(|row| row.throughput_bps).collect());
        column(metric, if index == 0 { throughput() } else { Values::OptionalNumber(figures.iter().map(|row| row[index]).collect()) })
    }));
    columns
}

fn volumes<'a, 'b>(rows: impl Iterator<Item = (Volume, Volume, &'b [DropCount], Volume)>) -> Vec<Column<'a>> {
    counted(rows.map(|(offered, sent, drops, queued)| [offered, sent, total(drops), queued]).collect())
}

fn counted<'a>(rows: Vec<[Volume; 4]>) -> Vec<Column<'a>> {
    const NAMES: [(&str, &str); 4] = [
        ("offered_packets", "offered_bytes"),
        ("sent_packets", "sent_bytes"),
        ("dropped_packets", "dropped_bytes"),
        ("queued_packets", "queued_bytes"),
    ];
    NAMES
        .into_iter()
        .enumerate()
        .flat_map(|(index, (packets, bytes))| {
            [
                column(packets, Values::Count(rows.iter().map(|row| row[index].packets).collect())),
                column(bytes, Values::Count(rows.iter().map(|row| row[index].bytes).collect())),
            ]
        })
        .collect()
}

fn with_run<T>(report: &Report, list: fn(&Run) -> &Vec<T>) -> Vec<(&Run, &T)> {
    report.runs.iter().flat_map(|run| list(run).iter().map(move |item| (run, item))).collect()
}

fn run_column<'a, T>(rows: &[(&'a Run, T)]) -> Column<'a> {
    column("run", Values::Text(rows.iter().map(|(run, _)| run.name.as_str()).collect()))
}

fn column<'a>(name: &'static str, values: Values<'a>) -> Column<'a> {
    Column { name, values }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::*;
    use crate::columnar;
    use crate::model::RowScope;
    use crate::sample::sample_report;

    type Row = BTreeMap<String, Field>;

    fn read(report: &Report, name: &str) -> Vec<Row> {
        let columns = TABLES.iter().find(|(file, _)| *file == name).unwrap().1(report);
        let bytes = columnar::write(&columns, Vec::new()).unwrap();
        SerializedFileReader::new(bytes::Bytes::from(bytes))
            .unwrap()
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().into_columns().into_iter().collect())
            .collect()
    }

    fn text(text: &str) -> Field {
        Field::Str(text.to_owned())
    }

    #[test]
    fn flows_are_read_back_with_their_figures() {
        let mut report = sample_report();
        report.runs[0].flows[1].delay = None;
        report.runs[0].flows[1].class = None;
        let tagged_sent = Volume::new(7, 700);
        report.runs[1].flows[0].tagging = Some(TaggingResult { tagged_sent, ..TaggingResult::default() });
        report.runs[1].promises.retain(|promise| promise.flow != "bulk");
        let rows = read(&report, "flows.parquet");
        assert_eq!(rows.len(), 6);
        let voice = &rows[3];
        let expected = &report.runs[1].flows[0];
        assert_eq!(voice["run"], text("without the policy"));
        assert_eq!(voice["flow"], text("voice"));
        assert_eq!(voice["class"], text("real time"));
        assert_eq!(voice["offered_packets"], Field::ULong(expected.offered.packets));
        assert_eq!(voice["dropped_bytes"], Field::ULong(expected.drops[0].volume.bytes));
        assert_eq!(voice["loss"], Field::Double(expected.loss.mean));
        assert_eq!(voice["delay_p99_s"], Field::Double(expected.delay.unwrap().p99_s));
        assert_eq!(voice["jitter_p99_s"], Field::Double(expected.delay.unwrap().jitter_p99_s));
        assert_eq!(voice["promises_kept"], Field::Bool(false));
        assert_eq!((&voice["tagged_sent_bytes"], &rows[0]["tagged_sent_bytes"]), (&Field::Double(700.0), &Field::Null));
        assert_eq!(rows[0]["promises_kept"], Field::Bool(true));
        assert_eq!(rows[1]["delay_mean_s"], Field::Null);
        assert_eq!(rows[1]["class"], Field::Null);
        assert_eq!(rows[5]["promises_kept"], Field::Null);
    }

    #[test]
    fn every_replication_has_its_row() {
        let mut report = sample_report();
        let volumes = [10, 8, 1, 1].map(|packets| Volume::new(packets, 100 * packets));
        let flow = ReplicationRow { replication: 1, name: "voice".into(), volumes, goodput_bps: Some(5.0), ..ReplicationRow::default() };
        let port =
            ReplicationRow { replication: 2, scope: RowScope::Port, name: "uplink".into(), port: Some((0.5, 7.0, 9)), ..flow.clone() };
        report.seed = Some(7);
        report.runs[1].replications = vec![ReplicationRow { delay_s: Some([1.0, 2.0, 3.0, 4.0, 5.0]), ..flow }, port];
        let rows = read(&report, "replications.parquet");
        assert_eq!(rows.len(), 2);
        assert_eq!((&rows[0]["run"], &rows[0]["scope"], &rows[0]["name"]), (&text("without the policy"), &text("flow"), &text("voice")));
        assert_eq!((&rows[0]["replication"], &rows[1]["replication"]), (&Field::ULong(1), &Field::ULong(2)));
        assert_eq!((&rows[0]["seed"], &rows[1]["dropped_bytes"]), (&Field::ULong(7), &Field::ULong(100)));
        assert_eq!((&rows[0]["delay_p99_s"], &rows[1]["delay_p99_s"]), (&Field::Double(3.0), &Field::Null));
        assert_eq!((&rows[0]["utilisation"], &rows[1]["occupancy_max_bytes"]), (&Field::Null, &Field::Double(9.0)));
    }

    #[test]
    fn ports_and_classes_are_read_back() {
        let report = sample_report();
        let ports = read(&report, "ports.parquet");
        assert_eq!(ports.len(), 2);
        assert_eq!(ports[0]["rate_bps"], Field::ULong(10_000_000));
        assert_eq!(ports[1]["queued_packets"], Field::ULong(report.runs[1].ports[0].queued.packets));
        let classes = read(&report, "classes.parquet");
        assert_eq!(classes.len(), 6);
        assert_eq!(classes[2]["class"], text("best effort"));
        assert_eq!(classes[2]["sent_bytes"], Field::ULong(report.runs[0].ports[0].classes[2].sent.bytes));
    }

    #[test]
    fn series_and_distributions_are_long_tables() {
        let report = sample_report();
        let series = read(&report, "series.parquet");
        let points: usize = report.runs.iter().flat_map(|run| &run.series).map(|series| series.values.len()).sum();
        assert_eq!(series.len(), points);
        assert_eq!(series[5]["kind"], text("throughput"));
        assert_eq!(series[5]["time_s"], Field::Double(report.runs[0].series[0].times_s[5]));
        assert_eq!(series[5]["value"], Field::Double(report.runs[0].series[0].values[5]));
        let tails = read(&report, "distributions.parquet");
        let points: usize = report.runs.iter().flat_map(|run| &run.distributions).map(|tail| tail.ccdf.len()).sum();
        assert_eq!(tails.len(), points);
        assert_eq!((&tails[9]["flow"], &tails[9]["kind"]), (&text("voice"), &text("delay")));
        assert_eq!(tails[9]["ccdf"], Field::Double(report.runs[0].distributions[0].ccdf[9]));
        let jitter = &tails[report.runs[0].distributions[0].ccdf.len() + 9];
        assert_eq!((&jitter["flow"], &jitter["kind"]), (&text("voice"), &text("jitter")));
        assert_eq!(jitter["value_s"], Field::Double(report.runs[0].distributions[1].values_s[9]));
    }

    #[test]
    fn drops_add_up_within_each_scope() {
        let report = sample_report();
        let rows = read(&report, "drops.parquet");
        let packets = |scope: &str| -> u64 {
            rows.iter()
                .filter(|row| row["scope"] == text(scope) && row["run"] == text("without the policy"))
                .map(|row| match row["packets"] {
                    Field::ULong(packets) => packets,
                    ref other => panic!("{other:?} is not a count"),
                })
                .sum()
        };
        let expected = total(&report.runs[1].ports[0].drops).packets;
        assert!(expected > 0);
        assert_eq!(packets("port"), expected);
        assert_eq!(packets("class"), expected);
        assert_eq!(packets("flow"), expected);
    }
}
