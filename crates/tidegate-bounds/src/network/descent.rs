//! Bounds of a network with cycles, improved from their fixed point on.
//!
//! **Law.** What follows from bounds is a bound, in every step. The cycles are cut at an edge each; linear programs bound the jitter of the flows before
//! the cuts, and total flow analysis the rest.
//!
//! **Source.** Derived here. A. Bouillard, Performance Evaluation 153, 2022, solves one joint program, which is tighter.
//!
//! **Cost.** Per step one program for each path up to a cut; up to six steps.

use super::layout::Layout;
use super::model::Network;
use super::tandem::along;
use super::total_flow::{TotalFlow, refined};
use crate::quantity::{NoBound, Picoseconds};
use std::collections::HashMap;

/// Steps at most. The descent ends earlier if a step gains less than a thousandth.
const MOST_STEPS: usize = 6;

/// Programs per step at most; with more paths up to cuts there is no descent.
const MOST_PROGRAMS: usize = 64;

/// The same bounds or smaller ones. Without cycles they are returned as they are.
///
/// # Errors
/// Out of range.
pub fn descended(network: &Network, total: TotalFlow) -> Result<TotalFlow, NoBound> {
    let layout = Layout::new(network);
    if layout.order.is_some() {
        return Ok(total);
    }
    let cuts = cuts(&layout, network.servers.len());
    // The flows before each cut, by the path that leads there.
    let mut before: HashMap<&[usize], Vec<(usize, usize)>> = HashMap::new();
    for (number, flow) in network.flows.iter().enumerate() {
        for hop in (1..flow.path.len()).filter(|&hop| cuts[layout.edge_of[number][hop]]) {
            before.entry(&flow.path[..hop]).or_default().push((number, hop));
        }
    }
    if before.len() > MOST_PROGRAMS {
        return Ok(total);
    }
    let mut paths: Vec<_> = before.into_iter().collect();
    paths.sort_unstable();
    let mut total = total;
    for _ in 0..MOST_STEPS {
        let sum: Picoseconds = total.delays.iter().sum();
        let mut found = Vec::new();
        for (path, flows) in &paths {
            let Ok(bound) = along(network, &layout, &total, &[], path) else { continue };
            for &(flow, hop) in flows {
                let shortest = network.flows[flow].shortest;
                let least: Picoseconds = path.iter().map(|&server| network.servers[server].transmission(shortest)).sum();
                found.push((flow, hop, bound - least));
            }
        }
        for (flow, hop, jitter) in found {
            total.jitters[flow][hop] = total.jitters[flow][hop].min(jitter);
        }
        total = refined(network, &layout, total)?;
        let gained = sum - total.delays.iter().sum::<Picoseconds>();
        if gained * 1_000 <= sum {
            break;
        }
    }
    Ok(total)
}

/// For each edge, true if a search in depth finds that it leads back: without these there is no cycle.
fn cuts(layout: &Layout, servers: usize) -> Vec<bool> {
    let mut out = vec![Vec::new(); servers];
    for (number, edge) in layout.edges.iter().enumerate() {
        if let Some(from) = edge.from {
            out[from].push(number);
        }
    }
    let (mut is_cut, mut seen, mut is_open) = (vec![false; layout.edges.len()], vec![false; servers], vec![false; servers]);
    for start in 0..servers {
        if seen[start] {
            continue;
        }
        (seen[start], is_open[start]) = (true, true);
        let mut stack = vec![(start, 0)];
        while let Some((server, next)) = stack.last_mut() {
            let Some(&edge) = out[*server].get(*next) else {
                is_open[*server] = false;
                stack.pop();
                continue;
            };
            *next += 1;
            let to = layout.edges[edge].to;
            if is_open[to] {
                is_cut[edge] = true;
            } else if !seen[to] {
                (seen[to], is_open[to]) = (true, true);
                stack.push((to, 0));
            }
        }
    }
    is_cut
}
