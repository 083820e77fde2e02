//! Prints what is proven of flows: a row for the equal flows of a table, and one line each for the description of the file.

use super::proven::{Buffers, Outcome, Proven, by, is_proven, judged, key, promised, whole};
use super::rows::write_rows;
use crate::proof::{MOST_PATHS, unbounded};
use crate::simulation::FlowGroup;
use crate::units::{print_data, print_duration, print_time};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::fmt::Write;
use tidegate_bounds::end_to_end::Method;

/// Flows of one table for which the same is proven.
pub(super) struct Equal<'s> {
    pub group: &'s FlowGroup,
    pub outcome: Outcome,
    /// Indices of the network's flows.
    pub flows: Vec<usize>,
}

impl Equal<'_> {
    /// The name of the table, and how many of its flows these are.
    pub fn name(&self) -> String {
        let FlowGroup { name, count, .. } = self.group;
        match self.flows.len() {
            1 if *count == 1 => name.clone(),
            all if all == *count => format!("{name} x {all}"),
            part => format!("{name}: {part} of {count}"),
        }
    }

    /// The promised delay, and whether it is proven.
    fn promise(&self) -> String {
        match (promised(self.group), &self.outcome) {
            (None, _) => String::new(),
            (Some(promised), Outcome::Bound { delay, .. }) => judged(promised, *delay),
            (Some(promised), Outcome::None(_)) => format!("{}: not proven", print_duration(promised)),
        }
    }
}

/// The flows that are asked for, those of a table together for which the same is proven.
pub(super) fn equals<'s>(proven: &Proven<'s>) -> Vec<Equal<'s>> {
    let mut rows = Vec::new();
    for (group, flows) in proven.groups() {
        let mut row_of: HashMap<Outcome, usize> = HashMap::new();
        for flow in flows {
            let outcome = proven.outcome(flow);
            let row = *row_of.entry(outcome.clone()).or_insert_with(|| {
                rows.push(Equal { group, outcome, flows: Vec::new() });
                rows.len() - 1
            });
            rows[row].flows.push(flow);
        }
    }
    rows
}

/// The table of flows.
pub(super) fn write_flows(text: &mut String, proven: &Proven<'_>) {
    if let Some(workload) = proven.simulation.network.workloads.first() {
        let _infallible = writeln!(text, "\nworkloads\n    no bound: {}", unbounded(workload));
    }
    let all = equals(proven);
    if all.is_empty() && !proven.simulation.network.workloads.is_empty() {
        return;
    }
    let has_promises = all.iter().any(|row| promised(row.group).is_some());
    let mut heads = vec!["flow", "path", "delay at most", "by", "jitter at most", "burst out"];
    heads.extend(has_promises.then_some("promised"));
    let mut rows: Vec<Vec<String>> = vec![heads.into_iter().map(str::to_owned).collect()];
    for row in &all[..proven.question.detail.of(all.len())] {
        let mut cells = vec![row.name(), proven.path(row.flows[0])];
        match &row.outcome {
            Outcome::Bound { delay, method, jitter, burst, buffers } => {
                cells.extend([print_time(whole(*delay).into()), by(*method, *buffers)]);
                cells.extend([print_time(whole(*jitter).into()), print_data(*burst)]);
                cells.extend(has_promises.then(|| row.promise()));
            }
            Outcome::None(reason) => {
                let promise = promised(row.group).map_or(String::new(), |promised| format!(" ({} promised)", print_duration(promised)));
                cells.push(format!("no bound: {reason}{promise}"));
            }
        }
        rows.push(cells);
    }
    text.push_str("\nflows\n");
    write_rows(text, &rows);
    *text += &proven.question.detail.rest(all.len(), "rows");
    if all.iter().any(|row| matches!(row.outcome, Outcome::Bound { .. })) {
        write_assumptions(text);
    }
    if all.iter().any(|row| matches!(row.outcome, Outcome::Bound { buffers: Buffers::Somewhere | Buffers::Everywhere, .. })) {
        let _infallible = writeln!(text, "    * {FULL_BUFFER}");
    }
    if !proven.proof.is_by_all_methods && proven.question.method.is_none() {
        let _infallible = writeln!(
            text,
            "    * more than {MOST_PATHS} paths: by TFA++ and SFA; `--flow` uses all methods for its flows, `--method` for all"
        );
    }
}

/// What bounds rest on.
const ASSUMPTIONS: [&str; 2] = [
    "a bound holds for every packet, from its last bit at the first port to its last bit at the end of the path, propagation included",
    "it holds while every source keeps to the file, and for packets that are not lost",
];

/// One line for the equal flows of each table.
pub(super) fn summarised(proven: &Proven<'_>) -> String {
    let all = equals(proven);
    let mut text = String::new();
    for row in &all[..proven.question.detail.of(all.len())] {
        let promise = if promised(row.group).is_some() { format!("; promised {}", row.promise()) } else { String::new() };
        let _infallible = match &row.outcome {
            Outcome::Bound { delay, method, buffers, .. } => {
                writeln!(text, "  {}: delay at most {} ({}){promise}", row.name(), print_time(whole(*delay).into()), by(*method, *buffers))
            }
            Outcome::None(reason) => writeln!(text, "  {}: no bound: {reason}{promise}", row.name()),
        };
    }
    text + &proven.question.detail.rest(all.len(), "rows")
}

/// What a bound by a buffer rests on.
pub(super) const FULL_BUFFER: &str =
    "`buffer`: a hop that nothing else bounds; packets that leave it have waited for a full buffer at most, and others may be dropped";

/// The lines about what bounds rest on.
pub(super) fn write_assumptions(text: &mut String) {
    for assumption in ASSUMPTIONS {
        let _infallible = writeln!(text, "    * {assumption}");
    }
}

/// The flows that are asked for as JSON, one by one.
pub(super) fn flows_json(proven: &Proven<'_>) -> Vec<Value> {
    let groups = proven.groups().into_iter();
    groups.flat_map(|(group, flows)| flows.map(|flow| flow_json(proven, group, flow)).collect::<Vec<_>>()).collect()
}

fn flow_json(proven: &Proven<'_>, group: &FlowGroup, flow: usize) -> Value {
    let spec = &proven.simulation.network.flows[flow];
    let path: Vec<&str> = spec.path.iter().map(|&link| proven.link(link)).collect();
    let propagation: u64 = spec.path.iter().map(|link| proven.simulation.network.links[link.0].propagation.picoseconds()).sum();
    let outcome = proven.outcome(flow);
    let (bound, because) = match &outcome {
        Outcome::Bound { .. } => (bound_json(proven, flow, &outcome), Value::Null),
        Outcome::None(reason) => (Value::Null, reason.as_str().into()),
    };
    let promised = promised(group);
    let is_proven = promised.map(|promised| matches!(outcome, Outcome::Bound { delay, .. } if is_proven(promised, delay)));
    json!({
        "name": spec.name,
        "table": group.name,
        "path": path,
        "propagation_ps": propagation,
        "promised_delay_ps": promised.map(|promised| promised.picoseconds()),
        "promise_proven": is_proven,
        "bound": bound,
        "no_bound_because": because,
    })
}

fn bound_json(proven: &Proven<'_>, flow: usize, outcome: &Outcome) -> Value {
    let (Outcome::Bound { delay, method, jitter, burst, .. }, Ok(of_flow)) = (outcome, &proven.proof.flows[flow]) else {
        return Value::Null;
    };
    let (mut methods, mut reasons) = (Map::new(), Map::new());
    for (found, method) in of_flow.bound.all.iter().zip(Method::ALL) {
        methods.insert(key(method).to_owned(), found.as_ref().ok().map(|&delay| whole(delay)).into());
        if let Err(reason) = found {
            reasons.insert(key(method).to_owned(), reason.to_string().into());
        }
    }
    let hops = of_flow.queues.iter().zip(&of_flow.bound.backlogs).enumerate().map(|(hop, (&index, &backlog))| {
        let queue = &proven.proof.queues[index];
        let delay = queue.delay.as_ref().ok().map(|&delay| whole(delay));
        json!({
            "link": proven.link(queue.link),
            "class": proven.class(queue).name,
            "queue": queue.queue + 1,
            "delay_ps": delay,
            "backlog_bits": backlog,
            "is_by_buffer": of_flow.limited.contains(&hop),
        })
    });
    json!({
        "delay_ps": whole(*delay),
        "method": key(*method),
        "all_methods": methods,
        "not_by": reasons,
        "jitter_ps": whole(*jitter),
        "burst_out_bits": burst,
        "rate_out_bps": of_flow.bound.output.rate(),
        "hops": hops.collect::<Vec<_>>(),
        "assumptions": ASSUMPTIONS,
    })
}
