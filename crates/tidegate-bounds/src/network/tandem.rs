//! A linear program of polynomial size (PLP) for the first-in first-out servers of one path, taken as a tandem.
//!
//! **Law.** No trajectory of the network delays a bit of the flow longer than the value of the program, because each satisfies its rows. Server j of n
//! has `n - j + 1` dates. By date u of a server those bits have left that came by date u of the one before.
//!
//! **Source.** A. Bouillard, "Trade-off between accuracy and tractability of network calculus in FIFO networks", Performance Evaluation 153,
//! 2022; the tool panco, whose published values the tests reproduce. Delays of TFA++ and SFA bound the dates; without them it may be worse than SFA.
//!
//! **Deviations.** Flows of the same part of the path that come over the same edge are one set of unknowns. Flows that leave the path and return
//! are new ones with the bursts of TFA++. What comes at one server in order of arrival is the same unknown at the next, so that few are left.
//!
//! **Cost.** With n servers and g groups of flows `n (n + 3) / 2 + g n` unknowns at most; up to 12 servers and 64 groups.

use super::layout::Layout;
use super::model::Network;
use super::program::{Program, Unit};
use super::total_flow::TotalFlow;
use crate::aggregate::Aggregate;
use crate::curve::{Arrival, TokenBucket};
use crate::quantity::{NoBound, Picoseconds, as_bound, times};

/// Servers of a path at most.
pub const MOST_SERVERS: usize = 12;

/// Groups of flows at most.
pub const MOST_GROUPS: usize = 64;

/// Flows of one part of the path.
struct Group {
    first: usize,
    last: usize,
    /// The edge that they come over, if it is not one of the path.
    edge: usize,
    curves: Aggregate,
    /// The least bound by SFA of a flow whose whole path this is.
    separated: Option<Picoseconds>,
    /// The column of its first date.
    column: usize,
}

/// The bound on the delay of a flow, propagation included. `separated` are the bounds of SFA, for each flow; it may be empty.
///
/// # Errors
/// A path or its groups are too many, a server has no curve, the value is not proven, and out of range.
pub fn tandem(
    network: &Network,
    total: &TotalFlow,
    separated: &[Result<Picoseconds, NoBound>],
    flow: usize,
) -> Result<Picoseconds, NoBound> {
    let path = &network.flows[flow].path;
    let layout = Layout::new(network);
    let bound = along(network, &layout, total, separated, path)?;
    as_bound(bound + network.flows[flow].propagation)
}

/// The bound on the delay along a path that some flow takes, or begins with.
pub(super) fn along(
    network: &Network,
    layout: &Layout,
    total: &TotalFlow,
    separated: &[Result<Picoseconds, NoBound>],
    path: &[usize],
) -> Result<Picoseconds, NoBound> {
    if path.len() > MOST_SERVERS {
        return Err(NoBound::Because("the path is too long for a linear program"));
    }
    let solve = |servers: &[usize]| {
        let mut groups = groups(network, layout, total, separated, servers)?;
        if groups.len() > MOST_GROUPS {
            return Err(NoBound::Because("the groups of flows are too many for a linear program"));
        }
        program(network, layout, total, (servers, servers.len() - path.len()), &mut groups)?.bound()
    };
    solve(&extended(network, layout, path)).or_else(|_| solve(path))
}

/// The path, and before it the servers that send the most to it: what limits others there limits them on the path, too.
fn extended(network: &Network, layout: &Layout, path: &[usize]) -> Vec<usize> {
    let mut servers = path.to_vec();
    while servers.len() < MOST_SERVERS {
        let into = layout.into[servers[0]].iter().map(|&edge| &layout.edges[edge]);
        let from = into.filter_map(|edge| Some((edge, edge.from.filter(|from| !servers.contains(from))?)));
        let rate = |flows: &[(usize, usize)]| flows.iter().map(|&(flow, _)| u128::from(network.flows[flow].arrival.rate())).sum::<u128>();
        match from.map(|(edge, from)| (rate(&edge.flows), from)).max() {
            Some((_, from)) => servers.insert(0, from),
            None => break,
        }
    }
    servers
}

/// The parts of the path that flows take.
fn groups(
    network: &Network,
    layout: &Layout,
    total: &TotalFlow,
    separated: &[Result<Picoseconds, NoBound>],
    path: &[usize],
) -> Result<Vec<Group>, NoBound> {
    let mut positions = vec![None; network.servers.len()];
    path.iter().enumerate().for_each(|(position, &server)| positions[server] = Some(position));
    let mut groups: Vec<Group> = Vec::new();
    for (number, flow) in network.flows.iter().enumerate() {
        let mut hop = 0;
        while hop < flow.path.len() {
            let Some(first) = positions[flow.path[hop]] else {
                hop += 1;
                continue;
            };
            let start = hop;
            while flow.path.get(hop + 1).and_then(|&next| positions[next]) == Some(first + hop + 1 - start) {
                hop += 1;
            }
            let last = first + hop - start;
            let edge = layout.edge_of[number][start];
            let curve = flow.arrival.delayed(total.jitters[number][start])?;
            let is_whole = start == 0 && hop + 1 == flow.path.len();
            let own = separated.get(number).and_then(|bound| bound.as_ref().ok()).map(|bound| bound - flow.propagation);
            let own = own.filter(|_| is_whole);
            let at = match groups.iter().position(|group| (group.first, group.last, group.edge) == (first, last, edge)) {
                Some(at) => at,
                None => {
                    groups.push(Group { first, last, edge, curves: Aggregate::default(), separated: None, column: 0 });
                    groups.len() - 1
                }
            };
            groups[at].curves.add(&curve)?;
            groups[at].separated = groups[at].separated.into_iter().chain(own).min();
            hop += 1;
        }
    }
    Ok(groups)
}

/// The program of a path, on which the examined flow enters at `start`.
fn program(
    network: &Network,
    layout: &Layout,
    total: &TotalFlow,
    (path, start): (&[usize], usize),
    groups: &mut [Group],
) -> Result<Program, NoBound> {
    let n = path.len();
    let mut program = Program::default();
    // Dates of all servers; the single one behind the last is the origin of time.
    let dates: Vec<Vec<usize>> = (0..n).map(|server| (0..=n - server).map(|_| program.column(Unit::Time)).collect()).collect();
    let date = |server: usize, date: usize| dates.get(server).map(|dates| dates[date]);
    program.least = dates[start][0];
    for group in groups.iter_mut() {
        group.column = program.columns.len();
        (0..=n - group.first).for_each(|_| {
            program.column(Unit::Data);
        });
    }
    let time = |terms: [(Option<usize>, i128); 2]| terms.into_iter().filter_map(|(column, factor)| Some((column?, factor)));
    for (server, &number) in path.iter().enumerate() {
        for at in 0..n - server {
            program.row(Unit::Time, time([(date(server, at + 1), 1), (date(server, at), -1)]), 0);
            program.row(Unit::Time, time([(date(server, at), 1), (date(server + 1, at), -1)]), 0);
            program.row(Unit::Time, time([(date(server + 1, at), 1), (date(server, at), -1)]), total.delays[number]);
        }
    }
    for group in groups.iter() {
        (0..n - group.first).for_each(|at| program.row(Unit::Data, [(group.column + at + 1, 1), (group.column + at, -1)], 0));
        let curve: Arrival = group.curves.as_arrival()?;
        for bucket in curve.buckets() {
            windows(&mut program, &[group], group.first, n, bucket, &dates[group.first]);
        }
        for at in 0..n - group.last {
            if let Some(bound) = group.separated {
                program.row(Unit::Time, time([(date(group.last + 1, at), 1), (date(group.first, at), -1)]), bound);
            }
        }
    }
    for (server, &number) in path.iter().enumerate() {
        let here: Vec<&Group> = groups.iter().filter(|group| group.first <= server && group.last >= server).collect();
        let service = total.services[number].as_ref().ok_or(NoBound::Because("a server on its path has no curve"))?;
        let packets = if server + 1 == n { 0 } else { network.servers[number].packetiser };
        let last = n - server;
        let served = || here.iter().flat_map(|group| [(group.column + last, 1), (group.column + last - 1, -1)]);
        for piece in service.pieces() {
            let rate = i128::from(piece.rate);
            let elapsed = time([(date(server + 1, last - 1), rate), (date(server, last), -rate)]);
            program.row(Unit::Data, served().chain(elapsed), times(rate, piece.latency + packets)?);
        }
        program.row(Unit::Data, served(), 0);
        if server + 1 < n
            && let Some(line) = &network.servers[number].line
        {
            let next: Vec<&Group> = here.into_iter().filter(|group| group.last > server).collect();
            windows(&mut program, &next, server + 1, n, line, &dates[server + 1]);
        }
    }
    // Flows that join over one edge from elsewhere share its line.
    for (number, edge) in layout.edges.iter().enumerate() {
        let line = edge.from.and_then(|from| network.servers[from].line.as_ref());
        let joining: Vec<&Group> = groups.iter().filter(|group| group.edge == number).collect();
        if let (Some(line), Some(first)) = (line, joining.first().map(|group| group.first)) {
            windows(&mut program, &joining, first, n, line, &dates[first]);
        }
    }
    Ok(program)
}

/// What some groups bring to a server between any two of its dates keeps to a bucket.
fn windows(program: &mut Program, groups: &[&Group], server: usize, n: usize, bucket: &TokenBucket, dates: &[usize]) {
    if groups.is_empty() {
        return;
    }
    let rate = i128::from(bucket.rate);
    for later in 0..n - server {
        for earlier in later + 1..=n - server {
            let data = groups.iter().flat_map(|group| [(group.column + later, 1), (group.column + earlier, -1)]);
            program.row(Unit::Data, data.chain([(dates[later], -rate), (dates[earlier], rate)]), bucket.burst);
        }
    }
}
