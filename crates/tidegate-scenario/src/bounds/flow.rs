//! Prints all that is proven of one flow: what each method gives, and what happens hop by hop.

use super::flows::{Equal, FULL_BUFFER, equals, write_assumptions};
use super::proven::{Buffers, Outcome, Proven, buffers, by, judged, promised, whole};
use super::queues::Overflow;
use super::rows::write_rows;
use crate::proof::ProvenFlow;
use crate::units::{print_data, print_duration, print_rate, print_time};
use std::fmt::Write;
use tidegate_bounds::end_to_end::Method;
use tidegate_core::units::{Duration, Rate};

/// The most names of flows that share a heading.
const MOST_NAMES: usize = 8;

/// The flows that are asked for, in detail: those together for which the same is proven.
pub(super) fn write_detail(text: &mut String, proven: &Proven<'_>) {
    let overflows = Overflow::of(proven);
    let all = equals(proven);
    for row in &all[..proven.question.detail.of(all.len())] {
        write_row(text, proven, row, &overflows);
    }
    *text += &proven.question.detail.rest(all.len(), "rows");
}

fn write_row(text: &mut String, proven: &Proven<'_>, row: &Equal<'_>, overflows: &[Overflow]) {
    let first = row.flows[0];
    let flow = &proven.simulation.network.flows[first];
    let path: Vec<&str> = flow.path.iter().map(|&link| proven.link(link)).collect();
    let mut names = String::new();
    if row.flows.len() < row.group.count {
        let shown: Vec<&str> = row.flows.iter().take(MOST_NAMES).map(|&flow| proven.simulation.network.flows[flow].name.as_str()).collect();
        let more = row.flows.len() - shown.len();
        names = format!(" ({}{})", shown.join(", "), if more > 0 { format!(" and {more} more") } else { String::new() });
    }
    let _infallible = write!(text, "\nflow {}{names} over {}: ", row.name(), path.join(", "));
    match (&row.outcome, &proven.proof.flows[first]) {
        (Outcome::Bound { delay, method, buffers, .. }, Ok(of_flow)) => {
            let _infallible = writeln!(text, "delay at most {}, by {}", print_time(whole(*delay).into()), by(*method, *buffers));
            if let Some(promised) = promised(row.group) {
                let _infallible = writeln!(text, "    promised {}", judged(promised, *delay));
            }
            write_bound(text, proven, of_flow, overflows);
            let propagation: u64 = flow.path.iter().map(|link| proven.simulation.network.links[link.0].propagation.picoseconds()).sum();
            let propagation = print_duration(Duration::from_picoseconds(propagation));
            let _infallible = writeln!(
                text,
                "    * {propagation} of it is propagation; delays at hops are for that hop alone, and need not add up to the bound"
            );
            write_assumptions(text);
            if *buffers != Buffers::Nowhere {
                let _infallible = writeln!(text, "    * {FULL_BUFFER}");
            }
        }
        (Outcome::None(reason), of_flow) => {
            let promise = promised(row.group).map_or(String::new(), |promised| format!(" ({} promised)", print_duration(promised)));
            let _infallible = writeln!(text, "no bound: {reason}{promise}");
            if let Ok(of_flow) = of_flow {
                write_bound(text, proven, of_flow, overflows);
            }
        }
        (Outcome::Bound { .. }, Err(_)) => {}
    }
}

fn write_bound(text: &mut String, proven: &Proven<'_>, of_flow: &ProvenFlow, overflows: &[Overflow]) {
    let output = &of_flow.bound.output;
    let rate = Rate::new(output.rate()).map_or_else(|_| format!("{} bit/s", output.rate()), print_rate);
    let (jitter, burst) = (print_time(whole(of_flow.bound.jitter).into()), print_data(output.burst_bits()));
    let _infallible = writeln!(text, "    jitter at most {jitter}; leaves with bursts of up to {burst}, in the long run at {rate}");
    if buffers(of_flow) != Buffers::Everywhere {
        let found = of_flow.bound.all.iter().zip(Method::ALL).map(|(found, method)| {
            let found = found.as_ref().map_or_else(|reason| format!("none: {reason}"), |&delay| print_time(whole(delay).into()));
            vec![method.name().to_owned(), found]
        });
        let heads = ["method", "delay at most"].map(str::to_owned).to_vec();
        write_rows(text, &std::iter::once(heads).chain(found).collect::<Vec<_>>());
    }
    let mut rows =
        vec![["hop", "link", "class", "delay at most", "of it in the queue", "in the queue", "buffer"].map(str::to_owned).to_vec()];
    for (hop, (&index, &backlog)) in of_flow.queues.iter().zip(&of_flow.bound.backlogs).enumerate() {
        let queue = &proven.proof.queues[index];
        let by_buffer = if of_flow.limited.contains(&hop) { " (buffer)" } else { "" };
        let delay = queue.delay.as_ref().map_or_else(|_| "-".to_owned(), |&delay| print_time(whole(delay).into()) + by_buffer);
        let waiting = queue.backlog.as_ref().map_or_else(|_| "-".to_owned(), |&bits| print_data(bits));
        let link = proven.link(queue.link).to_owned();
        rows.push(vec![(hop + 1).to_string(), link, proven.place(queue), delay, print_data(backlog), waiting, overflows[index].in_words()]);
    }
    write_rows(text, &rows);
}
