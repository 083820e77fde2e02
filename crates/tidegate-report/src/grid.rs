//! The tables of a report as text cells, laid out once for the terminal and for the page.

use std::cmp::Reverse;

use crate::model::{CellResult, ClassResult, DropCount, Estimate, FlowResult, PortResult, PromiseResult, Report, Run, Volume};
use crate::quantity::{self, NO_BREAK_SPACE, Shown, rate_estimate, ratio_estimate, time_estimate};

/// The text of an empty cell.
pub(crate) const NOTHING: &str = "–";

/// A table: a title, columns, and rows with one cell per column.
pub(crate) struct Grid {
    pub(crate) title: &'static str,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// Rows that were left out because the table would have become too long.
    pub(crate) left_out: usize,
}

/// Head and alignment of a column.
pub(crate) struct Column {
    pub(crate) head: String,
    pub(crate) numeric: bool,
    pub(crate) place: Place,
}

/// Where there is room for a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Everywhere.
    Always,
    /// Not on a terminal so narrow that the table would not fit.
    UnlessNarrow,
    /// On the page only.
    Page,
}

/// One cell: its text and what it says about a promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// Half width of the figure's interval, less prominent than the figure.
    pub(crate) half_width: Option<String>,
    pub(crate) tone: Tone,
}

/// Whether a cell reports on a promise or a gate, and which way it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Kept,
    Broken,
    Passed,
    NotReproduced,
    Failed,
}

impl Cell {
    fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), half_width: None, tone: Tone::Plain }
    }

    fn estimate(shown: Shown) -> Self {
        Self { half_width: shown.half_width, ..Self::plain(shown.mean) }
    }

    fn outcome(text: String, kept: bool) -> Self {
        Self { tone: if kept { Tone::Kept } else { Tone::Broken }, ..Self::plain(text) }
    }

    fn nothing() -> Self {
        Self::plain(NOTHING)
    }
}

/// The promises of all runs, variants side by side; `None` if nothing was promised.
pub(crate) fn promises(report: &Report) -> Option<Grid> {
    let mut asked: Vec<(&str, &str)> = Vec::new();
    for promise in report.runs.iter().flat_map(|run| &run.promises) {
        let key = (promise.flow.as_str(), promise.promise.as_str());
        if !asked.contains(&key) {
            asked.push(key);
        }
    }
    if asked.is_empty() {
        return None;
    }
    // A flow's promises stay together even if only a later run makes one of them.
    let mut flows: Vec<&str> = Vec::new();
    for (flow, _) in &asked {
        if !flows.contains(flow) {
            flows.push(flow);
        }
    }
    asked.sort_by_key(|(flow, _)| flows.iter().position(|name| name == flow));
    let mut columns = vec![text_column("flow"), text_column("promise")];
    columns.extend(report.runs.iter().map(|run| text_column(&run.name)));
    let rows = asked
        .into_iter()
        .map(|(flow, promise)| {
            let mut row = vec![Cell::plain(flow), Cell::plain(promise)];
            row.extend(report.runs.iter().map(|run| outcome(run, flow, promise)));
            row
        })
        .collect();
    Some(Grid { title: "promises", columns, rows, left_out: 0 })
}

fn outcome(run: &Run, flow: &str, promise: &str) -> Cell {
    run.promises.iter().find(|result| result.flow == flow && result.promise == promise).map_or_else(Cell::nothing, |result| {
        // A measured value is short and stays on one line.
        let measured = result.measured.replace(' ', &NO_BREAK_SPACE.to_string());
        Cell::outcome(measured, result.kept)
    })
}

/// The flows of a run, at most `limit` of them; `None` if it has none.
pub(crate) fn flows(run: &Run, limit: usize) -> Option<Grid> {
    if run.flows.is_empty() {
        return None;
    }
    let with_class = run.flows.iter().any(|flow| flow.class.is_some());
    let mut columns = vec![text_column("flow")];
    if with_class {
        columns.push(unless_narrow(text_column("class")));
    }
    columns.extend([
        detail_column("offered packets"),
        detail_column("delivered packets"),
        detail_column("delivered bytes"),
        number_column("throughput"),
        number_column("loss"),
        number_column("mean delay"),
        detail_column("p50"),
        number_column("p99"),
        detail_column("p99.9"),
        unless_narrow(number_column("max")),
        number_column("jitter"),
    ]);
    if !run.promises.is_empty() {
        columns.push(text_column("promises"));
    }
    let chosen = prominent_flows(run, limit);
    let rows = chosen.iter().map(|&index| flow_row(run, &run.flows[index], with_class)).collect();
    Some(Grid { title: "flows", columns, rows, left_out: run.flows.len() - chosen.len() })
}

fn flow_row(run: &Run, flow: &FlowResult, with_class: bool) -> Vec<Cell> {
    let mut row = vec![Cell::plain(&flow.name)];
    if with_class {
        row.push(Cell::plain(flow.class.as_deref().unwrap_or(NOTHING)));
    }
    row.extend([
        Cell::plain(quantity::count(flow.offered.packets)),
        Cell::plain(quantity::count(flow.sent.packets)),
        Cell::plain(quantity::bytes(flow.sent.bytes as f64)),
        Cell::estimate(rate_estimate(flow.throughput_bps)),
        Cell::estimate(ratio_estimate(flow.loss)),
    ]);
    match flow.delay {
        None => row.extend(std::iter::repeat_n(Cell::nothing(), 6)),
        Some(delay) => row.extend([
            Cell::estimate(time_estimate(delay.mean_s)),
            quantile(delay.p50_s, delay.p50_half_width_s),
            quantile(delay.p99_s, delay.p99_half_width_s),
            quantile(delay.p999_s, delay.p999_half_width_s),
            time(delay.max_s),
            Cell::estimate(time_estimate(delay.jitter_s)),
        ]),
    }
    if !run.promises.is_empty() {
        row.push(promise_mark(run, flow));
    }
    row
}

fn time(seconds: f64) -> Cell {
    quantile(seconds, None)
}

fn quantile(seconds: f64, half_width: Option<f64>) -> Cell {
    Cell::estimate(time_estimate(Estimate { mean: seconds, half_width }))
}

fn promise_mark(run: &Run, flow: &FlowResult) -> Cell {
    let results: Vec<&PromiseResult> = run.promises.iter().filter(|result| result.flow == flow.name).collect();
    let broken = results.iter().filter(|result| !result.kept).count();
    if results.is_empty() {
        return Cell::nothing();
    }
    let text = if broken > 0 && broken < results.len() {
        format!("{broken}{NO_BREAK_SPACE}of{NO_BREAK_SPACE}{}", results.len())
    } else {
        String::new()
    };
    Cell::outcome(text, broken == 0)
}

/// The positions of at most `limit` flows in the order of the scenario: flows with broken promises are kept first,
/// then flows with promises, then the largest.
pub(crate) fn prominent_flows(run: &Run, limit: usize) -> Vec<usize> {
    let rank = |flow: &FlowResult| {
        let mut results = run.promises.iter().filter(|result| result.flow == flow.name).peekable();
        let promised = results.peek().is_some();
        (results.any(|result| !result.kept), promised, flow.offered.bytes)
    };
    let mut chosen: Vec<usize> = (0..run.flows.len()).collect();
    if chosen.len() > limit {
        chosen.sort_by_cached_key(|&index| Reverse(rank(&run.flows[index])));
        chosen.truncate(limit);
        chosen.sort_unstable();
    }
    chosen
}

/// The TCP connections of a run, at most `limit` of them; `None` if it has none.
pub(crate) fn connections(run: &Run, limit: usize) -> Option<Grid> {
    let all = run.flows.iter().filter(|flow| flow.tcp.is_some()).count();
    let with_transfers = run.flows.iter().any(|flow| flow.tcp.is_some_and(|tcp| tcp.transfers.is_some()));
    let with_marks = run.flows.iter().any(|flow| flow.tcp.is_some_and(|tcp| tcp.marks > 0));
    let mut columns = vec![
        text_column("TCP connection"),
        number_column("goodput"),
        unless_narrow(number_column("segments")),
        number_column("sent again"),
        number_column("timeouts"),
        number_column("recoveries"),
        number_column("round trip"),
        number_column("mean window"),
    ];
    if with_marks {
        columns.push(number_column("reductions by marks"));
    }
    if with_transfers {
        columns.extend([number_column("transfers"), number_column("mean time"), detail_column("p50"), number_column("p99")]);
    }
    let row = |flow: &FlowResult| {
        let tcp = flow.tcp?;
        let mut row = vec![
            Cell::plain(&flow.name),
            Cell::estimate(rate_estimate(tcp.goodput_bps)),
            Cell::plain(quantity::count(tcp.segments)),
            Cell::plain(quantity::count(tcp.retransmissions)),
            Cell::plain(quantity::count(tcp.timeouts)),
            Cell::plain(quantity::count(tcp.recoveries)),
            tcp.round_trip_s.map_or_else(Cell::nothing, |time| Cell::estimate(time_estimate(time))),
            tcp.cwnd_bytes.map_or_else(Cell::nothing, |window| Cell::plain(quantity::bytes(window.mean))),
        ];
        if with_marks {
            row.push(Cell::plain(quantity::count(tcp.marks)));
        }
        match tcp.transfers.filter(|_| with_transfers) {
            Some(transfers) => row.extend([
                Cell::plain(quantity::count(transfers.count)),
                time(transfers.mean_s),
                time(transfers.p50_s),
                time(transfers.p99_s),
            ]),
            None if with_transfers => row.extend(std::iter::repeat_n(Cell::nothing(), 4)),
            None => {}
        }
        Some(row)
    };
    let rows: Vec<Vec<Cell>> = prominent_flows(run, limit).into_iter().filter_map(|index| row(&run.flows[index])).collect();
    let left_out = all - rows.len();
    (all > 0).then_some(Grid { title: "TCP connections", columns, rows, left_out })
}

/// The flows of a run whose senders tag, at most `limit` of them; `None` if it has none.
pub(crate) fn colours(run: &Run, limit: usize) -> Option<Grid> {
    let all = run.flows.iter().filter(|flow| flow.tagging.is_some()).count();
    let columns = vec![
        text_column("sender that tags"),
        number_column("untagged throughput"),
        number_column("untagged packets"),
        number_column("delivered"),
        number_column("tagged packets"),
        number_column("delivered"),
    ];
    let row = |flow: &FlowResult| {
        let tagging = flow.tagging?;
        let mut row = vec![Cell::plain(&flow.name), Cell::estimate(rate_estimate(tagging.untagged_bps))];
        let volumes = [tagging.untagged_offered, tagging.untagged_sent, tagging.tagged_offered, tagging.tagged_sent];
        row.extend(volumes.map(|volume| Cell::plain(quantity::count(volume.packets))));
        Some(row)
    };
    let rows: Vec<Vec<Cell>> = prominent_flows(run, limit).into_iter().filter_map(|index| row(&run.flows[index])).collect();
    let left_out = all - rows.len();
    (all > 0).then_some(Grid { title: "senders that tag", columns, rows, left_out })
}

/// The ports of a run; `None` if it has none.
pub(crate) fn ports(run: &Run) -> Option<Grid> {
    if run.ports.is_empty() {
        return None;
    }
    let mut columns = vec![text_column("port"), number_column("rate")];
    columns.extend(volume_columns());
    columns.extend([number_column("utilisation"), unless_narrow(number_column("mean queue")), number_column("max queue")]);
    let rows = run
        .ports
        .iter()
        .map(|port| {
            let mut row = vec![Cell::plain(&port.name), Cell::plain(quantity::rate(port.rate_bps as f64))];
            row.extend(volume_cells(port.offered, port.sent, port.queued, &port.drops));
            row.extend([
                Cell::estimate(ratio_estimate(port.utilisation)),
                Cell::plain(quantity::bytes(port.occupancy_mean_bytes)),
                Cell::plain(quantity::bytes(port.occupancy_max_bytes as f64)),
            ]);
            row
        })
        .collect();
    Some(Grid { title: "ports", columns, rows, left_out: 0 })
}

/// The cells of all classes at the ports of ATM adapters; `None` if there are none.
pub(crate) fn cells(run: &Run) -> Option<Grid> {
    let mut columns = vec![text_column("port"), text_column("class")];
    let names = ["cells sent", "CDVT exceeded", "nonconforming", "underruns", "transfers"];
    columns.extend(names.map(number_column));
    let classes = run.ports.iter().flat_map(|port| port.classes.iter().map(move |class| (port, class)));
    let row = |(port, class): (&PortResult, &ClassResult)| {
        let CellResult { sent, cdvt_exceeded, nonconforming, underruns, transfers } = class.cells?;
        let mut row = vec![Cell::plain(&port.name), Cell::plain(&class.name)];
        row.extend([sent, cdvt_exceeded, nonconforming, underruns, transfers].map(|count| Cell::plain(quantity::count(count))));
        Some(row)
    };
    let rows: Vec<Vec<Cell>> = classes.filter_map(row).collect();
    (!rows.is_empty()).then_some(Grid { title: "cells", columns, rows, left_out: 0 })
}

/// The classes of all ports of a run; `None` if there are none.
pub(crate) fn classes(run: &Run) -> Option<Grid> {
    let mut columns = vec![text_column("port"), text_column("class")];
    columns.extend(volume_columns());
    columns.push(number_column("marked"));
    let rows: Vec<Vec<Cell>> = run
        .ports
        .iter()
        .flat_map(|port| port.classes.iter().map(move |class| (port, class)))
        .map(|(port, class)| {
            let mut row = vec![Cell::plain(&port.name), Cell::plain(&class.name)];
            row.extend(volume_cells(class.offered, class.sent, class.queued, &class.drops));
            row.push(Cell::plain(quantity::count(class.marked.packets)));
            row
        })
        .collect();
    (!rows.is_empty()).then_some(Grid { title: "classes", columns, rows, left_out: 0 })
}

fn volume_columns() -> [Column; 7] {
    [
        number_column("offered"),
        detail_column("offered bytes"),
        number_column("sent"),
        detail_column("sent bytes"),
        number_column("dropped"),
        detail_column("dropped bytes"),
        number_column("queued"),
    ]
}

fn volume_cells(offered: Volume, sent: Volume, queued: Volume, drops: &[DropCount]) -> [Cell; 7] {
    let dropped = total(drops);
    [
        Cell::plain(quantity::count(offered.packets)),
        Cell::plain(quantity::bytes(offered.bytes as f64)),
        Cell::plain(quantity::count(sent.packets)),
        Cell::plain(quantity::bytes(sent.bytes as f64)),
        Cell::plain(quantity::count(dropped.packets)),
        Cell::plain(quantity::bytes(dropped.bytes as f64)),
        Cell::plain(quantity::count(queued.packets)),
    ]
}

/// What the ports dropped, by reason; without ports, what the flows lost. `None` if nothing was dropped.
pub(crate) fn drops(run: &Run) -> Option<Grid> {
    let reasons = drops_by_reason(run);
    if reasons.is_empty() {
        return None;
    }
    let columns = vec![
        text_column("port"),
        text_column("drop reason"),
        number_column("packets"),
        number_column("bytes"),
        number_column("share of offered"),
    ];
    let rows = reasons
        .into_iter()
        .map(|drop| {
            let offered = run.ports.iter().find(|port| port.name == drop.port).map_or(0, |port| port.offered.packets);
            let share = if offered > 0 { quantity::ratio(drop.volume.packets as f64 / offered as f64) } else { NOTHING.to_owned() };
            vec![
                Cell::plain(&drop.port),
                Cell::plain(&drop.reason),
                Cell::plain(quantity::count(drop.volume.packets)),
                Cell::plain(quantity::bytes(drop.volume.bytes as f64)),
                Cell::plain(share),
            ]
        })
        .collect();
    Some(Grid { title: "drops", columns, rows, left_out: 0 })
}

/// Drops of a run per port and reason in the order of first mention, without the empty ones.
pub(crate) fn drops_by_reason(run: &Run) -> Vec<DropCount> {
    let of_ports = run.ports.iter().flat_map(|port| &port.drops);
    let of_flows = run.flows.iter().flat_map(|flow| &flow.drops);
    if run.ports.is_empty() { merged(of_flows) } else { merged(of_ports) }
}

fn merged<'a>(drops: impl Iterator<Item = &'a DropCount>) -> Vec<DropCount> {
    let mut reasons: Vec<DropCount> = Vec::new();
    for drop in drops.filter(|drop| !drop.volume.is_empty()) {
        match reasons.iter_mut().find(|known| known.port == drop.port && known.reason == drop.reason) {
            Some(known) => known.volume = known.volume.saturating_add(drop.volume),
            None => reasons.push(drop.clone()),
        }
    }
    reasons
}

/// All drops together.
pub(crate) fn total(drops: &[DropCount]) -> Volume {
    drops.iter().fold(Volume::default(), |sum, drop| sum.saturating_add(drop.volume))
}

fn text_column(head: &str) -> Column {
    Column { head: head.to_owned(), numeric: false, place: Place::Always }
}

fn number_column(head: &str) -> Column {
    Column { numeric: true, ..text_column(head) }
}

fn unless_narrow(column: Column) -> Column {
    Column { place: Place::UnlessNarrow, ..column }
}

fn detail_column(head: &str) -> Column {
    Column { place: Place::Page, ..number_column(head) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{TaggingResult, TcpResult, TransferSummary};
    use crate::sample::sample_report;

    #[test]
    fn every_row_has_a_cell_for_every_column() {
        let report = sample_report();
        let mut grids = vec![promises(&report).unwrap()];
        for run in &report.runs {
            grids.extend([flows(run, 50), ports(run), classes(run), drops(run)].into_iter().flatten());
        }
        assert!(grids.len() >= 8);
        for grid in grids {
            assert!(!grid.rows.is_empty(), "{}", grid.title);
            for row in &grid.rows {
                assert_eq!(row.len(), grid.columns.len(), "{}", grid.title);
            }
        }
    }

    #[test]
    fn connections_have_a_table_of_their_own() {
        let mut run = sample_report().runs.remove(0);
        assert!(connections(&run, 9).is_none());
        let tcp = TcpResult {
            goodput_bps: Estimate::single(1e6),
            segments: 1000,
            retransmissions: 10,
            timeouts: 1,
            recoveries: 3,
            marks: 0,
            round_trip_s: Some(Estimate::single(0.03)),
            cwnd_bytes: None,
            transfers: None,
        };
        run.flows[0].tcp = Some(tcp);
        let grid = connections(&run, 9).unwrap();
        assert_eq!((grid.rows.len(), grid.left_out), (1, 0));
        assert_eq!(grid.rows[0].len(), grid.columns.len());
        assert_eq!(grid.rows[0][3].text, "10");
        let transfers = TransferSummary { count: 5, mean_s: 0.1, p50_s: 0.1, p99_s: 0.2, max_s: 0.2 };
        run.flows[1].tcp = Some(TcpResult { transfers: Some(transfers), marks: 2, ..tcp });
        let grid = connections(&run, 9).unwrap();
        assert!(grid.rows.iter().all(|row| row.len() == grid.columns.len()));
    }

    #[test]
    fn senders_that_tag_have_a_table_of_their_own() {
        let mut run = sample_report().runs.remove(0);
        assert!(colours(&run, 9).is_none());
        let volume = |packets| Volume::new(packets, 0);
        let (untagged_offered, untagged_sent, tagged_offered, tagged_sent) = (volume(10), volume(9), volume(8), volume(3));
        let untagged_bps = Estimate::single(2e6);
        run.flows[1].tagging = Some(TaggingResult { untagged_offered, untagged_sent, tagged_offered, tagged_sent, untagged_bps });
        let grid = colours(&run, 9).unwrap();
        let texts: Vec<&str> = grid.rows[0].iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!((texts.len(), &texts[2..], grid.left_out), (grid.columns.len(), &["10", "9", "8", "3"][..], 0));
    }

    #[test]
    fn a_promise_that_only_one_variant_makes_leaves_the_other_blank() {
        let mut report = sample_report();
        report.runs[1].promises.remove(0);
        report.runs[1].promises.push(PromiseResult {
            flow: "voice".into(),
            promise: "delay max at most 1 s".into(),
            measured: "0.3 s".into(),
            kept: true,
        });
        let grid = promises(&report).unwrap();
        assert_eq!(grid.rows[0][3], Cell::nothing());
        let added = grid.rows.iter().position(|row| row[1].text == "delay max at most 1 s").unwrap();
        assert_eq!(grid.rows[added][2], Cell::nothing());
        assert_eq!(grid.rows[added - 1][0].text, "voice");
        assert_eq!(grid.rows[added + 1][0].text, "video");
    }

    #[test]
    fn a_long_table_keeps_broken_promises_then_promises_then_size() {
        let mut run = Run::new("run");
        let template = sample_report().runs[0].flows[0].clone();
        for (index, bytes) in [10, 40, 30, 20].into_iter().enumerate() {
            let mut flow = template.clone();
            flow.name = format!("flow {index}");
            flow.offered.bytes = bytes;
            run.flows.push(flow);
        }
        for (flow, kept) in [("flow 0", false), ("flow 3", true)] {
            run.promises.push(PromiseResult { flow: flow.into(), promise: String::new(), measured: String::new(), kept });
        }
        assert_eq!(prominent_flows(&run, 1), [0]);
        assert_eq!(prominent_flows(&run, 2), [0, 3]);
        assert_eq!(prominent_flows(&run, 3), [0, 1, 3]);
        assert_eq!(prominent_flows(&run, 4), [0, 1, 2, 3]);
        assert_eq!(flows(&run, 3).unwrap().left_out, 1);
    }

    #[test]
    fn drops_of_one_port_and_reason_are_added_up() {
        let mut run = sample_report().runs.remove(0);
        run.ports.clear();
        for flow in &mut run.flows {
            flow.drops = vec![DropCount::new("uplink", "queue full", Volume::new(2, 100))];
        }
        let flows = run.flows.len() as u64;
        let expected = DropCount::new("uplink", "queue full", Volume::new(2 * flows, 100 * flows));
        assert_eq!(drops_by_reason(&run), [expected]);
    }
}
