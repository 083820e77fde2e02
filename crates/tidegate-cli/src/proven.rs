//! What is proven of flows before a run, beside what the run measured.
//!
//! The simulation knows no bounds, and the proof no packets: they meet here. A packet that took longer than is proven is exit code 4.

use crate::log;
use std::collections::HashMap;
use std::process::ExitCode;
use tidegate_report::{BoundResult, ClassBound, ClassResult, FlowBound, PacketResult, Report, Reproduction, Run, format_count};
use tidegate_scenario::bounds::bounded_by;
use tidegate_scenario::proof::Proof;
use tidegate_scenario::simulation::FlowGroup;
use tidegate_sim::{LinkId, LongestDelay, Outcome};

/// The exit code of a run with a packet that took longer than is proven.
pub const EXCEEDED: u8 = 4;

/// In debug builds this variable halves all bounds of scenarios, so that a test has a packet that is later than is proven.
const HALVED: &str = "TIDEGATE_HALVED_BOUNDS";

/// Packets that are told one by one.
const TOLD: usize = 10;

/// Writes beside each flow of `run` what is proven of it, and the packet of `outcome` with the largest delay.
pub fn compare(run: &mut Run, groups: &[FlowGroup], proof: &Proof, outcome: &Outcome) {
    let divisor = if cfg!(debug_assertions) && std::env::var_os(HALVED).is_some() { 2 } else { 1 };
    for ((flow, proven), measured) in run.flows.iter_mut().zip(&proof.flows).zip(&outcome.flows) {
        let bound = match proven {
            Ok(proven) => {
                u64::try_from(proven.bound.delay / divisor).map(|delay| (delay, bounded_by(proven))).map_err(|_| "out of range".into())
            }
            Err(reason) => Err(reason.clone()),
        };
        let bound = bound.as_ref().map(|(delay, by)| (*delay, by.as_str())).map_err(Clone::clone);
        flow.bound = Some(BoundResult::new(bound, measured.longest.map(packet)));
    }
    for group in groups.iter().filter(|group| group.count > 1) {
        run.flows[group.first..group.first + group.count].iter_mut().for_each(|flow| flow.group = Some(group.name.clone()));
    }
}

/// Writes beside the classes of the ports of `run` the bounds on their delays, in ps by link and class, and their largest delays.
pub fn compare_classes(run: &mut Run, bounds: &HashMap<(LinkId, usize), i128>, outcome: &Outcome) {
    for (&(link, class), &bound) in bounds {
        let (Ok(bound), Some(port), Some(measured)) = (u64::try_from(bound), run.ports.get_mut(link.0), outcome.ports.get(link.0)) else {
            continue;
        };
        if let (Some(own), Some(measured)) = (port.classes.get_mut(class), measured.classes.get(class)) {
            let longest = measured.delays.maximum().map(|seconds| (seconds * 1e12).round() as u64);
            own.bound = Some(ClassBound::new(bound, longest));
        }
    }
}

fn packet((replication, longest): (u32, LongestDelay)) -> PacketResult {
    let LongestDelay { number, created, delay } = longest;
    PacketResult { replication, number, came_ps: created, left_ps: created + delay, delay_ps: delay }
}

/// Notes in `report` which packets took longer than is proven. Every variant counts: a proof that does not hold is of no use in any of them.
///
/// Returns the notes: none if all bounds held.
pub fn note_excesses(report: &mut Report) -> Vec<String> {
    let several = report.runs.len() > 1;
    let mut all = Vec::new();
    for run in &report.runs {
        let of_flows = run.flows.iter().filter_map(|flow| excess(&flow.name, flow.bound.as_ref()?));
        let classes = run.ports.iter().flat_map(|port| port.classes.iter().map(move |class| (port, class)));
        let of_classes = classes.filter_map(|(port, class)| excess_of_class(&port.name, class));
        let named = |sentence: String| if several { format!("{}: {sentence}", run.name) } else { sentence };
        all.extend(of_flows.chain(of_classes).map(named));
    }
    let notes = first(all);
    report.notes.extend(notes.iter().cloned());
    notes
}

/// The same for the figures of experiments, which keep their notes.
pub fn excesses_of(reproduction: &Reproduction) -> Vec<String> {
    let mut all = Vec::new();
    for experiment in &reproduction.experiments {
        for figure in &experiment.figures {
            for FlowBound { run, flow, bound, .. } in &figure.bounds {
                let place = [experiment.id.as_str(), figure.id].join("/");
                let place = if run.is_empty() { place } else { format!("{place}, {run}") };
                all.extend(excess(flow, bound).map(|sentence| format!("{place}: {sentence}")));
            }
        }
    }
    first(all)
}

/// The first of these sentences, and one for the rest.
fn first(mut all: Vec<String>) -> Vec<String> {
    let more = all.len().saturating_sub(TOLD);
    all.truncate(TOLD);
    if more > 0 {
        all.push(format!("Packets of {} more flows took longer than is proven.", format_count(more as u64)));
    }
    all
}

/// Tells of packets of a `subject` ("file") that took longer than is proven, after the results; the exit code.
pub fn tell(notes: &[String], subject: &str) -> ExitCode {
    notes.iter().for_each(|note| log::line(&format!("error: {note}")));
    log::line(&format!(
        "error: a proof and a measurement of the same {subject} contradict each other. Suspect in this order: tolerances of policers and shapers, the \
         classification of the flow, the calculation of the bound, the simulation. Please report it with the {subject}.",
    ));
    ExitCode::from(EXCEEDED)
}

/// The packet of a flow that took longer than is proven, as a sentence; `None` if the bound held.
fn excess(flow: &str, bound: &BoundResult) -> Option<String> {
    let BoundResult { held: Some(false), delay_ps: Some(bound), method: Some(method), longest: Some(packet), .. } = bound else {
        return None;
    };
    let PacketResult { replication, number, came_ps, left_ps, delay_ps } = packet;
    Some(format!(
        "flow `{flow}`: packet {number} of replication {replication} came at {} and left at {}: it took {}, and at most {} is proven ({method}).",
        exact(*came_ps),
        exact(*left_ps),
        exact(*delay_ps),
        exact(*bound)
    ))
}

/// That a packet of a class took longer at a port than is proven; `None` if the bound held.
fn excess_of_class(port: &str, class: &ClassResult) -> Option<String> {
    let ClassBound { delay_ps, longest_ps: Some(longest), held: false, .. } = class.bound? else { return None };
    let (name, longest, bound) = (&class.name, exact(longest), exact(delay_ps));
    Some(format!("class `{name}` at link `{port}`: a packet took {longest} there, and at most {bound} is proven."))
}

/// A time to the picosecond, in seconds.
fn exact(picoseconds: u64) -> String {
    let digits = format!("{}.{:012}", picoseconds / 1_000_000_000_000, picoseconds % 1_000_000_000_000);
    format!("{} s", digits.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests;
