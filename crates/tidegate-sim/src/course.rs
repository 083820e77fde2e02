//! The course of an experiment: the paths of all packets, and the ports that are exchanged at some instants.

use crate::error::{Problem, Subject};
use crate::id::LinkId;
use crate::network::{Link, Network};
use crate::pause::Holders;
use crate::rerouting::avoided;
use crate::route::Routes;
use crate::workload::classes::check_calls;
use crate::workload::reach::Reach;
use tidegate_core::port::PortSetup;
use tidegate_core::units::Duration;

/// Ports that have another policy from one instant on.
#[derive(Clone, Debug)]
pub struct NetworkChange {
    /// The instant, from the start of the simulation; what happens at the same instant happens afterwards.
    pub at: Duration,
    /// The links whose ports change, and the new ports.
    pub ports: Vec<(LinkId, PortSetup)>,
}

/// Checks whether ports can change like this while a network, which has been checked, is simulated.
///
/// # Errors
/// The first [`Problem`].
pub fn check_changes(network: &Network, changes: &[NetworkChange]) -> Result<(), Problem> {
    Course::of(network, changes).map(drop)
}

/// What is computed before the first replication.
pub(crate) struct Course {
    /// The paths until the first change.
    pub routes: Routes,
    /// The changes, in the order of their instants.
    pub phases: Vec<Phase>,
    /// By link, the classes that it has at any time: those it starts with, then those that come.
    pub classes: Vec<Vec<String>>,
    /// What links and routes do, in the order of their instants.
    pub happenings: Vec<(u64, Happening)>,
    /// The links that connections of workloads avoid from each instant on: by link, true if they do.
    pub avoided: Vec<(Duration, Vec<bool>)>,
    /// The paths of workloads; `None` if there are none.
    pub reach: Option<Reach>,
    /// What is counted for pauses; `None` if no port is paused.
    pub holders: Option<Holders>,
}

/// What happens to links and routes at an instant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Happening {
    /// The links of the failure of this index recover.
    Recovery(usize),
    /// They fail.
    Failure(usize),
    /// Packets of a flow start on the paths of the reroute of this index.
    Reroute(usize),
    /// Connections of workloads avoid the links of this index.
    Avoid(usize),
}

/// Recoveries come before failures of the same instant, so that a link may fail again, and routes come last.
fn happenings(network: &Network, avoided: &[(Duration, Vec<bool>)]) -> Vec<(u64, Happening)> {
    let failures = || network.failures.iter().enumerate();
    let recoveries = failures().filter_map(|(index, failure)| Some((failure.until?.picoseconds(), Happening::Recovery(index))));
    let begun = failures().map(|(index, failure)| (failure.at.picoseconds(), Happening::Failure(index)));
    let reroutes = network.reroutes.iter().enumerate().map(|(index, reroute)| (reroute.at.picoseconds(), Happening::Reroute(index)));
    let avoid = avoided.iter().enumerate().map(|(index, (at, _))| (at.picoseconds(), Happening::Avoid(index)));
    let mut all: Vec<(u64, Happening)> = recoveries.chain(begun).chain(reroutes).chain(avoid).collect();
    all.sort_by_key(|&(at, _)| at);
    all
}

/// What holds from a change on.
pub(crate) struct Phase {
    pub at: u64,
    /// The links whose ports change, with their new ports.
    pub links: Vec<(usize, Link)>,
    pub routes: Routes,
}

impl Course {
    /// The course of a network that has been checked.
    ///
    /// # Errors
    /// [`Problem`] for a change that packets under way cannot follow.
    pub(crate) fn of(network: &Network, changes: &[NetworkChange]) -> Result<Course, Problem> {
        let routes = Routes::of(network);
        let avoided = if network.workloads.is_empty() { Vec::new() } else { avoided(network) };
        let happenings = happenings(network, &avoided);
        let names = |link: &Link| link.port.classifier.classes().iter().map(|class| class.name.to_string()).collect::<Vec<_>>();
        let mut classes: Vec<Vec<String>> = network.links.iter().map(names).collect();
        let mut phases = Vec::new();
        let holders = if network.pauses.is_empty() { None } else { Some(Holders::of(network, &routes)?) };
        let reach = if network.workloads.is_empty() { None } else { Some(Reach::of(network)?) };
        if let Some(reach) = &reach {
            check_calls(network, reach)?;
        }
        if changes.is_empty() {
            return Ok(Course { routes, phases, classes, happenings, avoided, reach, holders });
        }
        if let (true, Some((LinkId(link), _))) = (holders.is_some(), changes[0].ports.first()) {
            return Err(refused(network, *link, "nodes pause ports, and count their packets by class", "classes that stay, or no pauses"));
        }
        if let (false, Some((LinkId(link), _))) = (network.calls.is_empty(), changes[0].ports.first()) {
            return Err(refused(network, *link, "flows come and go by admission, which does not know of the change", "flows that stay"));
        }
        let mut present = network.clone();
        for change in changes {
            for (LinkId(link), port) in &change.ports {
                present.links[*link].port = port.clone();
                for name in names(&present.links[*link]) {
                    if !classes[*link].contains(&name) {
                        classes[*link].push(name);
                    }
                }
                if present.links[*link].workers.is_some() {
                    return Err(refused(&present, *link, "several workers keep the port that they started with", "one worker"));
                }
                if present.links[*link].cells || present.links[*link].adapter.is_some() {
                    return Err(refused(&present, *link, "it carries cells", "a port for packets"));
                }
            }
            present.check()?;
            if let Some(reach) = &reach {
                reach.check(&present)?;
            }
            let next = Routes::of(&present);
            if let (false, Some((LinkId(link), _))) = (next.parts_like(&routes), change.ports.first()) {
                let problem = "other classes set code points or police after the change, and paths behind it would part in other ways";
                return Err(refused(
                    &present,
                    *link,
                    problem,
                    "classes with a policer or `set` that neither come nor go, or no other port behind it",
                ));
            }
            let links = change.ports.iter().map(|(link, _)| (link.0, present.links[link.0].clone())).collect();
            phases.push(Phase { at: change.at.picoseconds(), links, routes: next });
        }
        Ok(Course { routes, phases, classes, happenings, avoided, reach, holders })
    }

    /// True if the port of a link changes at some time.
    pub(crate) fn changes(&self, link: usize) -> bool {
        self.phases.iter().any(|phase| phase.links.iter().any(|(changing, _)| *changing == link))
    }
}

fn refused(network: &Network, link: usize, problem: &str, expected: &str) -> Problem {
    let name = network.links[link].name.clone();
    Problem { subject: Subject::Link(link), name, key: "change", problem: problem.into(), expected: expected.into() }
}
