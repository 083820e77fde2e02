//! What figures have in common: rows of results, and why nothing is proven of their flows.

use super::network::Results;
use crate::figure::{Figure, Table};
use crate::proven::row;
use tidegate_bounds::quantity::NoBound;
use tidegate_bounds::source::Unlimited;

/// A figure without content, of TCP connections.
pub fn figure(id: &'static str, title: &str, source: &'static str) -> Figure {
    unproven(id, title, source, "TCP", Unlimited::Tcp.reason())
}

/// A figure without content, of floods.
pub fn figure_of_floods(id: &'static str, title: &str, source: &'static str) -> Figure {
    unproven(id, title, source, "every flood", NoBound::Because("more comes than the link carries"))
}

fn unproven(id: &'static str, title: &str, source: &'static str, flow: &str, reason: NoBound) -> Figure {
    let mut figure = Figure::new(id, title, source);
    figure.bounds.push(row(flow.to_owned(), &Err(reason), None));
    figure
}

/// A row per run: how well the link was used, how long packets waited, and what connections got.
pub fn table(title: &str, results: &[Results]) -> Table {
    let head = ["queue", "senders", "used", "delay p50 (ms)", "p95", "p99", "mean", "marks", "early drops", "others", "Mbit/s"];
    let row = |result: &Results| {
        let mut cells = vec![result.case.discipline.name.to_owned(), senders(result), format!("{:.3}", result.utilisation)];
        cells.extend([0.5, 0.95, 0.99].map(|part| format!("{:.2}", result.delay(part))));
        cells.push(format!("{:.2}", result.mean_delay()));
        cells.extend([result.marked, result.early, result.full].map(|packets| packets.to_string()));
        cells.push(rates(result));
        cells
    };
    Table::new(title, &head, results.iter().map(row).collect())
}

/// The connections by kind, such as "5 prague, 5 cubic".
fn senders(result: &Results) -> String {
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for sender in &result.case.senders {
        let name = sender.congestion.name();
        match kinds.last_mut() {
            Some((kind, count)) if *kind == name => *count += 1,
            _ => kinds.push((name, 1)),
        }
    }
    kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ")
}

/// The rates of up to four connections, or the least and the most.
fn rates(result: &Results) -> String {
    let rates = result.rates();
    if rates.len() <= 4 {
        return rates.iter().map(|rate| format!("{rate:.2}")).collect::<Vec<_>>().join(" ");
    }
    let (least, most) = rates.iter().fold((f64::MAX, 0.0_f64), |(least, most), &rate| (least.min(rate), most.max(rate)));
    format!("{least:.2} to {most:.2}")
}
