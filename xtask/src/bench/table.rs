//! The measurements as a table for people or as JSON for programs.

use super::contest::Measurement;
use serde_json::{Value, json};
use std::fmt::Write;

/// A table per group and load: every contestant, and for ours the ratio to the fastest variant of the peer.
pub fn text(measurements: &[Measurement]) -> String {
    let mut text = String::new();
    let mut rest = measurements;
    while let Some(first) = rest.first() {
        let length = rest.iter().take_while(|other| (other.group.as_str(), other.load) == (first.group.as_str(), first.load)).count();
        let (section, tail) = rest.split_at(length);
        rest = tail;
        let unit = match first.group.as_str() {
            "police" => "verdict",
            "change" => "flow that changes, or class for which a transition blocks the port",
            "guard" => "activation",
            "cells" => "cell, the whole cycle; rte_sched: per packet, enqueue + dequeue",
            _ => "packet, enqueue + dequeue",
        };
        let _ = writeln!(text, "\n{}, {} (ns per {unit})", first.group, first.load.text());
        let is_aqm = first.group == "aqm";
        let (compared, memory) = if is_aqm { ("over FIFO", "B per queue") } else { ("peer/ours", "huge pages") };
        let _ = writeln!(text, "  {:<32} {:>8}  {:<17} {compared:>9} {memory:>11} {:>11}", "", "median", "(least-most)", "allocations");
        let reference = reference(section);
        for measurement in section {
            let columns = if is_aqm { beside_fifo(measurement, section) } else { beside_peer(measurement, reference) };
            text.push_str(&row(measurement, &columns));
        }
        if is_aqm {
            text.push_str(AQM_NOTE);
        } else if let Some(peer) = reference {
            let _ = writeln!(text, "  peer/ours: against {}", peer.name);
        }
    }
    text
}

/// The peer that ours is compared with: its fastest variant, even where that keeps no contract per flow as ours do.
fn reference(section: &[Measurement]) -> Option<&Measurement> {
    let peers = section.iter().filter(|other| !other.is_ours && other.median().is_some());
    peers.min_by(|a, b| a.median().unwrap_or(f64::MAX).total_cmp(&b.median().unwrap_or(f64::MAX)))
}

/// The peers' queue without an AQM.
pub const RING: &str = "ring";

/// What the columns of AQMs mean.
const AQM_NOTE: &str = "  over FIFO: against the same port, or the peers' ring, without an AQM
  B per queue: what the AQM keeps; fq-codel: with its scheduler and buffer manager
";

/// The ratio to the peer, and the memory on huge pages.
fn beside_peer(measurement: &Measurement, reference: Option<&Measurement>) -> [String; 2] {
    let ratio = |median: f64| reference.and_then(Measurement::median).map_or("-".to_owned(), |peer| format!("{:.2}", peer / median));
    let ratio = measurement.median().filter(|_| measurement.is_ours).map_or(String::new(), ratio);
    [ratio, format!("{} MiB", measurement.huge_kibibytes() / 1024)]
}

/// What an AQM costs more than none, and its bytes per queue.
fn beside_fifo(measurement: &Measurement, section: &[Measurement]) -> [String; 2] {
    let is_fifo = |other: &&Measurement| other.is_ours == measurement.is_ours && ["aqm/none", RING].contains(&other.name.as_str());
    let fifo = section.iter().find(is_fifo).filter(|fifo| fifo.name != measurement.name);
    let more = fifo.and_then(|fifo| Some(format!("{:+.1}", measurement.median()? - fifo.median()?)));
    [more.unwrap_or("-".to_owned()), measurement.fact("state_bytes=").unwrap_or("-").to_owned()]
}

fn row(measurement: &Measurement, [compared, memory]: &[String; 2]) -> String {
    let side = if measurement.is_ours { "tidegate" } else { "dpdk" };
    let name = format!("{side} {}", measurement.name);
    let Some(median) = measurement.median() else {
        return format!("  {name:<32} {:>8}  {}\n", "n/a", measurement.note);
    };
    let range = format!("({:.1}-{:.1})", measurement.rounds[0], measurement.rounds[measurement.rounds.len() - 1]);
    let allocations = if measurement.is_ours { measurement.allocations.to_string() } else { String::new() };
    let line = format!("  {name:<32} {median:>8.1}  {range:<17} {compared:>9} {memory:>11} {allocations:>11}");
    format!("{}\n", line.trim_end())
}

/// The measurements with every round.
pub fn json(measurements: &[Measurement]) -> String {
    let rows: Vec<Value> = measurements
        .iter()
        .map(|m| {
            json!({
                "group": m.group, "name": m.name, "side": if m.is_ours { "tidegate" } else { "dpdk" }, "flows": m.load.flows, "backlog": m.load.backlog,
                "median_ns_per_packet": m.median(), "rounds_ns_per_packet": m.rounds, "huge_pages_kib": m.huge_kibibytes(),
                "allocations": if m.is_ours { json!(m.allocations) } else { Value::Null }, "note": m.note,
            })
        })
        .collect();
    format!("{:#}", Value::Array(rows))
}

#[cfg(test)]
mod tests {
    use super::super::load::Load;
    use super::*;

    fn measurement(name: &str, is_ours: bool, rounds: &[f64]) -> Measurement {
        let note = if rounds.is_empty() { "n/a: no memory".to_owned() } else { "ready,huge_kib=2048".to_owned() };
        let rounds = rounds.to_vec();
        Measurement {
            group: "police".to_owned(),
            name: name.to_owned(),
            is_ours,
            load: Load { flows: 8, backlog: 1 },
            rounds,
            allocations: 0,
            note,
        }
    }

    #[test]
    fn ours_is_compared_with_the_fastest_peer() {
        let measured = [
            measurement("gcra", true, &[2.0, 4.0, 5.0]),
            measurement("rte_meter own plain", false, &[9.0]),
            measurement("rte_meter own prefetch", false, &[8.0]),
        ];
        let text = text(&measured);
        assert!(text.contains("peer/ours: against rte_meter own prefetch"), "{text}");
        let row = text.lines().find(|line| line.contains("tidegate gcra")).unwrap();
        assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["tidegate", "gcra", "4.0", "(2.0-5.0)", "2.00", "2", "MiB", "0"]);
    }

    #[test]
    fn an_aqm_is_compared_with_the_same_queue_without_one() {
        let of = |name, is_ours, rounds: &[f64]| Measurement {
            group: "aqm".to_owned(),
            note: "ready,huge_kib=0,state_bytes=32.0".to_owned(),
            ..measurement(name, is_ours, rounds)
        };
        let measured =
            [of("aqm/none", true, &[40.0]), of("aqm/codel", true, &[52.5]), of(RING, false, &[8.0]), of("ring, rte_pie", false, &[20.0])];
        let text = text(&measured);
        let row = |name: &str| text.lines().find(|line| line.contains(name)).unwrap().split_whitespace().collect::<Vec<_>>();
        assert_eq!(row("aqm/codel"), ["tidegate", "aqm/codel", "52.5", "(52.5-52.5)", "+12.5", "32.0", "0"]);
        assert_eq!(row("rte_pie")[5..], ["+12.0", "32.0"]);
        assert_eq!(row("aqm/none")[4], "-");
    }

    #[test]
    fn a_peer_that_is_missing_is_shown_as_such() {
        let measured = [measurement("drr", true, &[2.0]), measurement("rte_sched", false, &[])];
        let text = text(&measured);
        assert!(text.contains("n/a  n/a: no memory") && text.contains("   -   "), "{text}");
        assert!(json(&measured).contains("\"median_ns_per_packet\": null"));
    }
}
