//! The tables of a report as text cells, laid out once for the terminal and for the page.

mod columns;

pub(crate) use columns::{Cell, Columns, Grid, NOTHING, Place, Tone, count, detail_column, number_column, text_column};

use std::cmp::Reverse;

use crate::bound::{BoundResult, FlowBound};
use crate::bounded_flows::{BoundedFlows, bounded_flows};
use crate::class_pause::{ClassPause, deadlock};
use crate::failure::FailureResult;
use crate::idle_aqms::idle_aqms;
use crate::model::{
    CallResult, CellResult, ClassResult, DelaySummary, DropCount, Estimate, FlowResult, PortResult, PromiseResult, RefusalCount, Report,
    Run, TaggingResult, TcpResult, TransferSummary, Volume,
};
use crate::quantity::{self, NO_BREAK_SPACE, rate_estimate, ratio_estimate, time_estimate};
use crate::queue_management::SojournSummary;
use columns::{bytes, quantile, time, unless_narrow};

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
    Some(Grid::new("promises", columns, rows))
}

fn outcome(run: &Run, flow: &str, promise: &str) -> Cell {
    run.promises.iter().find(|result| result.flow == flow && result.promise == promise).map_or_else(Cell::nothing, |result| {
        // A measured value is short and stays on one line.
        let measured = result.measured.replace(' ', &NO_BREAK_SPACE.to_string());
        Cell::outcome(measured, result.kept)
    })
}

/// The tables of a run but for those of workloads, with at most `limit` flows each.
pub(crate) fn of_run(run: &Run, limit: usize) -> impl Iterator<Item = Grid> {
    let (flows, connections, colours) = (flows(run, limit), connections(run, limit), colours(run, limit));
    let bounds = bounds(run, limit);
    let tables = [
        flows,
        bounds,
        calls(run),
        refusals(run),
        failures(run),
        connections,
        colours,
        ports(run, limit),
        classes(run, limit),
        cells(run, limit),
        pauses(run, limit),
        drops(run, limit),
    ];
    tables.into_iter().flatten()
}

/// The flows of a run, at most `limit` of them; `None` if it has none.
fn flows(run: &Run, limit: usize) -> Option<Grid> {
    let delay = |cell: fn(&DelaySummary) -> Cell| move |flow: &&FlowResult| flow.delay.as_ref().map_or_else(Cell::nothing, cell);
    let mut columns = Columns::<&FlowResult>::new("flow", |flow| &flow.name);
    if run.flows.iter().any(|flow| flow.class.is_some()) {
        let class = |flow: &&FlowResult| Cell::plain(flow.class.as_deref().unwrap_or(NOTHING));
        columns.add(unless_narrow(text_column("class")), class);
    }
    columns.add(detail_column("offered packets"), |flow| count(flow.offered.packets));
    columns.add(detail_column("delivered packets"), |flow| count(flow.sent.packets));
    columns.add(detail_column("delivered bytes"), |flow| bytes(flow.sent.bytes as f64));
    columns.add(number_column("throughput"), |flow| Cell::estimate(rate_estimate(flow.throughput_bps)));
    columns.add(number_column("loss"), |flow| Cell::estimate(ratio_estimate(flow.loss)));
    columns.add(number_column("mean delay"), delay(|delay| Cell::estimate(time_estimate(delay.mean_s))));
    columns.add(detail_column("p50"), delay(|delay| quantile(delay.p50_s, delay.p50_half_width_s)));
    columns.add(number_column("p99"), delay(|delay| quantile(delay.p99_s, delay.p99_half_width_s)));
    columns.add(detail_column("p99.9"), delay(|delay| quantile(delay.p999_s, delay.p999_half_width_s)));
    columns.add(unless_narrow(number_column("max")), delay(|delay| time(delay.max_s)));
    columns.add(number_column("jitter"), delay(|delay| Cell::estimate(time_estimate(delay.jitter_s))));
    if !run.promises.is_empty() {
        columns.add(text_column("promises"), |flow| promise_mark(run, flow));
    }
    let chosen = prominent_flows(run, limit);
    columns.grid("flows", run.flows.len() - chosen.len(), chosen.iter().map(|&index| &run.flows[index]))
}

/// What is proven of the flows of a run beside what was measured, equal flows together, in at most `limit` rows; `None` if nothing is.
fn bounds(run: &Run, limit: usize) -> Option<Grid> {
    let (left_out, rows) = bounded_flows(run, limit);
    let names: Vec<String> = rows.iter().map(BoundedFlows::name).collect();
    let rows: Vec<(&str, &BoundResult)> = names.iter().map(String::as_str).zip(rows.iter().map(|flows| flows.bound)).collect();
    let mut columns = Columns::new("flow", |row: &(&str, &BoundResult)| row.0);
    columns.add_bounds(&rows, |row| row.1);
    columns.grid("bounds", left_out, rows)
}

/// The bounds of an experiment's flows; `None` if it has none.
pub(crate) fn flow_bounds(flows: &[FlowBound]) -> Option<Grid> {
    let rows: Vec<&FlowBound> = flows.iter().collect();
    let flow = |row: &&FlowBound| {
        let FlowBound { flow, count, .. } = row;
        Cell::plain(if *count > 1 { format!("{flow} (worst of {count})") } else { flow.clone() })
    };
    let mut columns = if rows.iter().any(|row| !row.run.is_empty()) {
        let mut columns = Columns::new("run", |row: &&FlowBound| &row.run);
        columns.add(text_column("flow"), flow);
        columns
    } else {
        let mut columns = Columns(Vec::new());
        columns.add(text_column("flow"), flow);
        columns
    };
    columns.add_bounds(&rows, |row| &row.bound);
    columns.grid("bounds", 0, rows)
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

/// The flows of a run that have `part`, at most `limit` of all, and the number of those that are left out.
fn chosen<T>(run: &Run, limit: usize, part: fn(&FlowResult) -> Option<T>) -> (usize, Vec<(&str, T)>) {
    let all = run.flows.iter().filter(|flow| part(flow).is_some()).count();
    let with_part = |index: usize| Some((run.flows[index].name.as_str(), part(&run.flows[index])?));
    let rows: Vec<_> = prominent_flows(run, limit).into_iter().filter_map(with_part).collect();
    (all - rows.len(), rows)
}

/// The TCP connections of a run, at most `limit` of them; `None` if it has none.
fn connections(run: &Run, limit: usize) -> Option<Grid> {
    let has = |what: fn(TcpResult) -> bool| run.flows.iter().any(|flow| flow.tcp.is_some_and(what));
    let (left_out, rows) = chosen(run, limit, |flow| flow.tcp);
    let mut columns = Columns::<(&str, TcpResult)>::new("TCP connection", |(name, _)| name);
    columns.add(number_column("goodput"), |(_, tcp)| Cell::estimate(rate_estimate(tcp.goodput_bps)));
    columns.add(unless_narrow(number_column("segments")), |(_, tcp)| count(tcp.segments));
    columns.add(number_column("sent again"), |(_, tcp)| count(tcp.retransmissions));
    columns.add(number_column("timeouts"), |(_, tcp)| count(tcp.timeouts));
    columns.add(number_column("recoveries"), |(_, tcp)| count(tcp.recoveries));
    columns.add(number_column("round trip"), |(_, tcp)| {
        tcp.round_trip_s.map_or_else(Cell::nothing, |time| Cell::estimate(time_estimate(time)))
    });
    columns.add(number_column("mean window"), |(_, tcp)| tcp.cwnd_bytes.map_or_else(Cell::nothing, |window| bytes(window.mean)));
    if has(|tcp| tcp.marks > 0) {
        columns.add(number_column("reductions by marks"), |(_, tcp)| count(tcp.marks));
    }
    if has(|tcp| tcp.transfers.is_some()) {
        let of = |cell: fn(TransferSummary) -> Cell| move |(_, tcp): &(&str, TcpResult)| tcp.transfers.map_or_else(Cell::nothing, cell);
        columns.add(number_column("transfers"), of(|transfers| count(transfers.count)));
        columns.add(number_column("mean time"), of(|transfers| time(transfers.mean_s)));
        columns.add(detail_column("p50"), of(|transfers| time(transfers.p50_s)));
        columns.add(number_column("p99"), of(|transfers| time(transfers.p99_s)));
    }
    columns.grid("TCP connections", left_out, rows)
}

/// The flows of a run whose senders tag, at most `limit` of them; `None` if it has none.
fn colours(run: &Run, limit: usize) -> Option<Grid> {
    let (left_out, rows) = chosen(run, limit, |flow| flow.tagging);
    let mut columns = Columns::<(&str, TaggingResult)>::new("sender that tags", |(name, _)| name);
    columns.add(number_column("untagged throughput"), |(_, tagging)| Cell::estimate(rate_estimate(tagging.untagged_bps)));
    columns.add(number_column("untagged packets"), |(_, tagging)| count(tagging.untagged_offered.packets));
    columns.add(number_column("delivered"), |(_, tagging)| count(tagging.untagged_sent.packets));
    columns.add(number_column("tagged packets"), |(_, tagging)| count(tagging.tagged_offered.packets));
    columns.add(number_column("delivered"), |(_, tagging)| count(tagging.tagged_sent.packets));
    columns.grid("senders that tag", left_out, rows)
}

/// The calls of a run; `None` if nothing asks for admission.
fn calls(run: &Run) -> Option<Grid> {
    let mut columns = Columns::<&CallResult>::new("calls", |calls| &calls.name);
    columns.add(number_column("requests"), |calls| count(calls.requests));
    columns.add(number_column("admitted"), |calls| count(calls.admitted));
    columns.add(number_column("no place"), |calls| count(calls.without_place));
    columns.add(text_column("refused"), |calls| {
        let refused =
            calls.refused.iter().map(|refused| format!("{} at {}: {}", quantity::count(refused.requests), refused.port, refused.reason));
        let refused: Vec<String> = refused.collect();
        if refused.is_empty() { Cell::nothing() } else { Cell::plain(refused.join(", ")) }
    });
    columns.add(number_column("blocking"), |calls| {
        calls.blocking.map_or_else(Cell::nothing, |blocking| Cell::estimate(ratio_estimate(blocking)))
    });
    columns.add(number_column("mean held"), |calls| Cell::plain(format!("{:.2}", calls.mean_held.mean)));
    if run.calls.iter().any(|calls| calls.promised_delay_s.is_some()) {
        columns.add(number_column("promised"), |calls| calls.promised_delay_s.map_or_else(Cell::nothing, time));
        columns.add(number_column("longest delay"), |calls| calls.longest_delay_s.map_or_else(Cell::nothing, time));
    }
    columns.grid("calls", 0, &run.calls)
}

/// What failures of links took; `None` without any.
fn failures(run: &Run) -> Option<Grid> {
    let mut columns = Columns::<&FailureResult>::new("failure", |failure| &failure.name);
    columns.add(number_column("from"), |failure| time(failure.at_s));
    columns.add(number_column("until"), |failure| failure.until_s.map_or_else(Cell::nothing, time));
    columns.add(number_column("lost in queues"), |failure| count(failure.queued.packets));
    columns.add(number_column("on links"), |failure| count(failure.on_link.packets));
    columns.add(number_column("arriving"), |failure| count(failure.arrived.packets));
    columns.grid("failures of links (packets, warm-up included)", 0, &run.failures)
}

/// What the first refused request of each kind was short of, where admission knows classes; `None` without one.
fn refusals(run: &Run) -> Option<Grid> {
    let all = run.calls.iter().flat_map(|calls| calls.refused.iter().map(move |refused| (calls, refused)));
    let rows: Vec<(&CallResult, &RefusalCount)> = all.filter(|(_, refused)| refused.class.is_some()).collect();
    let mut columns = Columns::<&(&CallResult, &RefusalCount)>::new("refused calls", |(calls, _)| &calls.name);
    columns.add(text_column("port"), |(_, refused)| Cell::plain(refused.port.clone()));
    columns.add(text_column("class"), |(_, refused)| refused.class.clone().map_or_else(Cell::nothing, Cell::plain));
    columns.add(text_column("short of"), |(_, refused)| Cell::plain(refused.reason.clone()));
    columns.add(number_column("requests"), |(_, refused)| count(refused.requests));
    columns.add(number_column("the first needs"), |(_, refused)| amount(refused.needs, refused.unit));
    columns.add(number_column("has"), |(_, refused)| amount(refused.has, refused.unit));
    columns.add(text_column("would admit"), |(_, refused)| {
        if refused.offers.is_empty() { Cell::nothing() } else { Cell::plain(refused.offers.join(", or ")) }
    });
    columns.grid("refused calls", 0, &rows)
}

/// A rate, a buffer or a time by its unit.
fn amount(number: u64, unit: &str) -> Cell {
    match unit {
        "ps" => time(number as f64 / 1e12),
        "bit/s" => Cell::plain(quantity::rate(number as f64)),
        _ => Cell::plain(quantity::bytes(number as f64 / 8.0)),
    }
}

/// The ports of a run; `None` if it has none.
fn ports(run: &Run, limit: usize) -> Option<Grid> {
    let mut columns = Columns::<&PortResult>::new("port", |port| &port.name);
    columns.add(number_column("rate"), |port| Cell::plain(quantity::rate(port.rate_bps as f64)));
    columns.add_volumes(|port| [port.offered, port.sent, total(&port.drops), port.queued]);
    columns.add(number_column("utilisation"), |port| Cell::estimate(ratio_estimate(port.utilisation)));
    columns.add(unless_narrow(number_column("mean queue")), |port| bytes(port.occupancy_mean_bytes));
    columns.add(number_column("max queue"), |port| bytes(port.occupancy_max_bytes as f64));
    let (left_out, rows) = greatest(run.ports.iter().collect(), limit, |port| (port.utilisation.mean * 1e9) as u64);
    columns.grid("ports", left_out, rows)
}

/// A class and its port.
type Owned<'a> = (&'a PortResult, &'a ClassResult);

/// The classes of all ports.
fn of_classes(run: &Run) -> impl Iterator<Item = Owned<'_>> {
    run.ports.iter().flat_map(|port| port.classes.iter().map(move |class| (port, class)))
}

/// The columns that name a class and its port.
fn columns_of_classes<'a>() -> Columns<'a, Owned<'a>> {
    let mut columns = Columns::<Owned<'_>>::new("port", |(port, _)| &port.name);
    columns.add(text_column("class"), |(_, class)| Cell::plain(&class.name));
    columns
}

/// The cells of all classes at the ports of ATM adapters; `None` if there are none.
fn cells(run: &Run, limit: usize) -> Option<Grid> {
    let mut columns = columns_of_classes();
    let of =
        |figure: fn(CellResult) -> u64| move |(_, class): &Owned<'_>| class.cells.map_or_else(Cell::nothing, |cells| count(figure(cells)));
    columns.add(number_column("cells sent"), of(|cells| cells.sent));
    columns.add(number_column("CDVT exceeded"), of(|cells| cells.cdvt_exceeded));
    columns.add(number_column("nonconforming"), of(|cells| cells.nonconforming));
    columns.add(number_column("underruns"), of(|cells| cells.underruns));
    columns.add(number_column("transfers"), of(|cells| cells.transfers));
    let rows = of_classes(run).filter(|(_, class)| class.cells.is_some()).collect();
    let (left_out, rows) = greatest(rows, limit, |(_, class)| class.offered.bytes);
    columns.grid("cells", left_out, rows)
}

/// The classes that were paused; `None` if none was.
fn pauses(run: &Run, limit: usize) -> Option<Grid> {
    let mut columns = columns_of_classes();
    let of = |cell: fn(ClassPause) -> Cell| move |(_, class): &Owned<'_>| class.pause.map_or_else(Cell::nothing, cell);
    columns.add(number_column("pauses"), of(|pause| count(pause.count)));
    columns.add(
        number_column("time paused"),
        of(|pause| Cell::estimate(ratio_estimate(Estimate { mean: pause.share, half_width: pause.share_half_width }))),
    );
    columns.add(number_column("longest"), of(|pause| time(pause.longest_s)));
    columns.add(unless_narrow(number_column("most held behind")), of(|pause| bytes(pause.held_max_bytes as f64)));
    columns.add(text_column("at the end"), of(|pause| Cell::plain(pause.end())));
    let rows: Vec<Owned<'_>> = of_classes(run).filter(|(_, class)| class.pause.is_some_and(|pause| pause.count > 0)).collect();
    let locked = |class: &ClassResult| class.pause.is_some_and(|pause| pause.deadlocked > 0);
    let locked: Vec<&str> = rows.iter().filter(|(_, class)| locked(class)).map(|(port, _)| port.name.as_str()).collect();
    let (left_out, rows) = greatest(rows, limit, |(_, class)| class.pause.map_or(0, |pause| (pause.share * 1e9) as u64));
    Some(Grid { remarks: deadlock(&locked).into_iter().collect(), ..columns.grid("pauses", left_out, rows)? })
}

/// The classes of all ports of a run; `None` if there are none.
fn classes(run: &Run, limit: usize) -> Option<Grid> {
    let mut columns = columns_of_classes();
    columns.add_volumes(|(_, class)| [class.offered, class.sent, total(&class.drops), class.queued]);
    if of_classes(run).any(|(_, class)| !class.marked.is_empty()) {
        columns.add(number_column("colour changed"), |(_, class)| count(class.marked.packets));
    }
    if of_classes(run).any(|(_, class)| class.aqm.is_some() || !class.ce_marked.is_empty()) {
        columns.add(number_column("CE marks"), |(_, class)| count(class.ce_marked.packets));
    }
    let sojourn = |figure: fn(SojournSummary) -> f64| {
        move |(_, class): &Owned<'_>| class.sojourn.map_or_else(Cell::nothing, |sojourn| time(figure(sojourn)))
    };
    columns.add(detail_column("sojourn mean"), sojourn(|sojourn| sojourn.mean_s));
    columns.add(number_column("sojourn p50"), sojourn(|sojourn| sojourn.p50_s));
    columns.add(number_column("sojourn p99"), sojourn(|sojourn| sojourn.p99_s));
    columns.add(unless_narrow(number_column("sojourn max")), sojourn(|sojourn| sojourn.max_s));
    let remarks = idle_aqms(&run.ports);
    let (left_out, rows) = greatest(of_classes(run).collect(), limit, |(_, class)| class.offered.bytes);
    Some(Grid { remarks, ..columns.grid("classes", left_out, rows)? })
}

/// What was dropped for one reason: the port, its class if the port has several, the drops, and the packets offered there.
struct DropRow<'a> {
    port: &'a str,
    class: Option<&'a str>,
    drops: DropCount,
    offered: u64,
}

/// What the ports dropped, by class and reason; without ports, what the flows lost. `None` if nothing was dropped.
fn drops(run: &Run, limit: usize) -> Option<Grid> {
    let has_classes = run.ports.iter().any(|port| port.classes.len() > 1);
    let mut rows: Vec<DropRow> = Vec::new();
    for port in &run.ports {
        if port.classes.len() > 1 {
            rows.extend(port.classes.iter().flat_map(|class| of_reasons(&port.name, Some(&class.name), &class.drops, class.offered)));
        } else {
            rows.extend(of_reasons(&port.name, None, &port.drops, port.offered));
        }
    }
    let lost = if run.ports.is_empty() { drops_by_reason(run) } else { Vec::new() };
    rows.extend(lost.iter().map(|drop| DropRow { port: &drop.port, class: None, drops: drop.clone(), offered: 0 }));
    let mut columns = Columns::<DropRow>::new("port", |row| row.port);
    if has_classes {
        columns.add(text_column("class"), |row| row.class.map_or_else(Cell::nothing, Cell::plain));
    }
    columns.add(text_column("drop reason"), |row| Cell::plain(&row.drops.reason));
    columns.add(number_column("packets"), |row| count(row.drops.volume.packets));
    columns.add(number_column("bytes"), |row| bytes(row.drops.volume.bytes as f64));
    columns.add(number_column("share of offered"), |row| match row.offered {
        0 => Cell::nothing(),
        offered => Cell::plain(quantity::ratio(row.drops.volume.packets as f64 / offered as f64)),
    });
    let (left_out, rows) = greatest(rows, limit, |row| row.drops.volume.bytes);
    columns.grid("drops", left_out, rows)
}

/// The rows of the greatest rank, at most `limit` of them, in their order, and the number of those that are left out.
fn greatest<T>(rows: Vec<T>, limit: usize, rank: impl Fn(&T) -> u64) -> (usize, Vec<T>) {
    let left_out = rows.len().saturating_sub(limit);
    if left_out == 0 {
        return (0, rows);
    }
    let mut chosen: Vec<(usize, T)> = rows.into_iter().enumerate().collect();
    chosen.sort_by_key(|(_, row)| Reverse(rank(row)));
    chosen.truncate(limit);
    chosen.sort_unstable_by_key(|(place, _)| *place);
    (left_out, chosen.into_iter().map(|(_, row)| row).collect())
}

/// The drops of a port, or of one of its classes, without the empty ones.
fn of_reasons<'a>(port: &'a str, class: Option<&'a str>, drops: &'a [DropCount], offered: Volume) -> impl Iterator<Item = DropRow<'a>> {
    let row = move |drops| DropRow { port, class, drops, offered: offered.packets };
    merged(drops.iter()).into_iter().map(row)
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

#[cfg(test)]
mod tests;
