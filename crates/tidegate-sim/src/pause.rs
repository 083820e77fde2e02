//! Priority flow control: a node that holds too many packets of a class asks the port before it to pause that class.
//!
//! A node counts, for each class of each link that leads to it, the bytes that came over the link in this class and wait in the node's ports.
//! Above [`Pause::above`](crate::network::Pause::above) it sends a pause frame back. At [`Pause::below`](crate::network::Pause::below) or less it sends one
//! that ends the pause. The frame waits for the packet under way on the link back, goes before all others, and has effect when it has arrived. The port
//! that hears of a pause finishes its packet under way, and starts no other of the class.
//!
//! **Headroom.** It is what may still come after the limit is crossed ([`headroom`]). That is the packet that crosses it, what leaves the port until the
//! frame has arrived there, and the packet under way then. `L` is the longest packet and `T` its time on the link. `T'` is that of the longest packet on the link back,
//! `F` that of a pause frame there, and `p`, `p'` are the propagation delays:
//!
//! ```text
//! headroom = 2 L + (p + p' + T' + F) L / T
//! ```
//!
//! **Source.** IEEE 802.1Q-2022, clause 36 and annex N (buffer requirements); the terms here are those of this model, which has no delay in interfaces.

use crate::error::{Problem, Subject};
use crate::id::{LinkId, NodeId};
use crate::network::{Link, Network, Pause};
use crate::route::{BACK, ENDPOINT, Routes};
use crate::source::Source;
use crate::workload::classes::waiting as waiting_of_workloads;
use crate::workload::reach::Reach;
use std::collections::{HashMap, HashSet};
use tidegate_core::units::{Duration, Overhead};

/// The most classes of a link that can be paused: Ethernet has eight priorities.
pub const MOST_CLASSES: usize = 8;

/// A pause frame: 64 bytes with its frame check sequence.
const FRAME: u32 = 64;

/// By pause, the link on which its frames travel: of the links in the other direction, the one with the same place among those between its nodes.
/// `None` where there is none.
pub fn links_back(network: &Network) -> Vec<Option<LinkId>> {
    let mut between: HashMap<(NodeId, NodeId), Vec<usize>> = HashMap::new();
    for (index, link) in network.links.iter().enumerate() {
        between.entry((link.from, link.to)).or_default().push(index);
    }
    let back = |pause: &Pause| {
        let link = network.links.get(pause.link.0)?;
        let place = between.get(&(link.from, link.to))?.iter().position(|&index| index == pause.link.0)?;
        let back = between.get(&(link.to, link.from))?;
        back.get(place).or(back.first()).map(|&index| LinkId(index))
    };
    network.pauses.iter().map(back).collect()
}

/// The time of a pause frame on a link.
pub fn frame_time(back: &Link) -> Duration {
    back.port.rate.time_per_byte().ceil(wire_length(back.port.overhead))
}

fn wire_length(overhead: Overhead) -> u32 {
    // Frames are counted without their frame check sequence of four bytes where the overhead is Ethernet's.
    overhead.wire_length(FRAME - 4).max(FRAME)
}

/// The bytes of one class that may come over a link after its pause has been decided, the packet that decides it included.
pub fn headroom(link: &Link, back: &Link) -> u64 {
    let time = |link: &Link| link.port.rate.time_per_byte().ceil(link.port.overhead.wire_length(link.port.longest_frame));
    let longest = u128::from(link.port.longest_frame);
    let delays = [link.propagation, back.propagation, time(back), frame_time(back)];
    let delay: u128 = delays.iter().map(|delay| u128::from(delay.picoseconds())).sum();
    let follows = (delay * longest).div_ceil(u128::from(time(link).picoseconds().max(1)));
    u64::try_from(2 * longest + follows).unwrap_or(u64::MAX)
}

/// Packets that may wait in a class of a port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Waiting {
    /// The link of the port.
    pub port: LinkId,
    /// The class that they wait in.
    pub class: usize,
    /// The pause that counts them, by its place in [`Network::pauses`], and the class in which they came.
    pub counted: Option<(usize, usize)>,
}

/// What may wait where, in order and without repetition, in a network that has been checked.
pub fn waiting(network: &Network) -> Vec<Waiting> {
    let routes = Routes::of(network);
    let Ok(holders) = Holders::of(network, &routes) else { return Vec::new() };
    let mut all = Vec::new();
    for (cursor, hop) in (0..).zip(&routes.hops).filter(|(_, hop)| hop.link < ENDPOINT) {
        let counted = holders.account(cursor).map(|account| (holders.accounts[account].0 as usize, holders.accounts[account].1));
        let classifier = &network.links[hop.link as usize].port.classifier;
        all.extend(routes.ways(cursor, false).into_iter().map(|(_, queue)| Waiting {
            port: LinkId(hop.link as usize),
            class: classifier.class_of(queue),
            counted,
        }));
    }
    if !network.workloads.is_empty()
        && let Ok(reach) = Reach::of(network)
    {
        all.extend(waiting_of_workloads(network, &network.workloads, &reach).into_iter().map(|((port, class), came)| {
            let account = came.map_or(Holders::UNCOUNTED, |(link, class)| holders.behind(link.0, class));
            let counted = Holders::number(account).map(|account| (holders.accounts[account].0 as usize, holders.accounts[account].1));
            Waiting { port, class, counted }
        }));
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Links and classes that may pause each other in a circle: packets of each may wait in the next. While all of them are paused, none is released.
/// `None` if there is no circle, and so no deadlock.
pub fn circle(network: &Network, waiting: &[Waiting]) -> Option<Vec<(LinkId, usize)>> {
    let paused: HashSet<(LinkId, usize)> =
        network.pauses.iter().flat_map(|pause| pause.classes.iter().map(|&class| (pause.link, class))).collect();
    let mut next: HashMap<(LinkId, usize), Vec<(LinkId, usize)>> = HashMap::new();
    for Waiting { port, class, counted } in waiting {
        let Some((pause, came)) = *counted else { continue };
        if paused.contains(&(*port, *class)) {
            next.entry((network.pauses[pause].link, came)).or_default().push((*port, *class));
        }
    }
    // What has no next is in no circle, and neither is what leads only there.
    loop {
        let ends: Vec<(LinkId, usize)> = next.iter().filter(|(_, next)| next.is_empty()).map(|(&place, _)| place).collect();
        ends.iter().for_each(|place| drop(next.remove(place)));
        let before: usize = next.values().map(Vec::len).sum();
        let places: HashSet<(LinkId, usize)> = next.keys().copied().collect();
        next.values_mut().for_each(|next| next.retain(|place| places.contains(place)));
        if ends.is_empty() && before == next.values().map(Vec::len).sum::<usize>() {
            break;
        }
    }
    let mut way = vec![*next.keys().min()?];
    loop {
        let following = *next.get(way.last()?)?.iter().min()?;
        if let Some(first) = way.iter().position(|&place| place == following) {
            return Some(way.split_off(first));
        }
        way.push(following);
    }
}

impl Network {
    /// Checks what priority flow control relies on.
    pub(crate) fn check_pauses(&self) -> Result<(), Problem> {
        let mut seen = vec![false; self.links.len()];
        for (pause, back) in self.pauses.iter().zip(links_back(self)) {
            let index = pause.link.0;
            let Some(link) = self.links.get(index) else {
                let (problem, expected) = (format!("link {index} does not exist"), format!("a link below {}", self.links.len()));
                return Err(Problem { subject: Subject::Experiment, name: "pauses".into(), key: "pause", problem, expected });
            };
            let refuse = |problem: String, expected: &str| Err(refused(self, pause.link, problem, expected));
            if std::mem::replace(&mut seen[index], true) {
                return refuse("it is paused twice".into(), "one pause per link");
            }
            if pause.below > pause.above {
                return refuse("it would be released above the limit at which it is paused".into(), "`below` of at most `above`");
            }
            let classes = link.port.classifier.classes().len();
            if pause.classes.is_empty() || pause.classes.len() > MOST_CLASSES || pause.classes.iter().any(|&class| class >= classes) {
                return refuse(format!("it pauses {} classes", pause.classes.len()), "1 to 8 classes of its port");
            }
            if back.is_none() {
                let nodes = format!("no link leads back from {} to {}", self.nodes[link.to.0], self.nodes[link.from.0]);
                return refuse(format!("{nodes}, and pause frames need one"), "a link in each direction (`duplex = true`)");
            }
            if !self.workloads.is_empty() && (link.port.classifier.reads_ecn() || !link.port.classifier.length_steps().is_empty()) {
                let problem = "packets of a workload's connection may come in several of its classes by their lengths or code points of congestion notification";
                return refuse(problem.into(), "one class for all packets of a header where some are paused");
            }
            if link.impairment.disturbance.is_some() {
                return refuse("its packets come late or twice".into(), "a link that keeps the order of packets");
            }
        }
        let is_involved = self.pausable();
        for (index, link) in self.links.iter().enumerate().filter(|(index, _)| is_involved[*index]) {
            let problem = if link.cells || link.adapter.is_some() {
                "it carries cells"
            } else if link.workers.is_some() {
                "several workers share it"
            } else if link.impairment.rates.is_some() {
                "its rate varies"
            } else if link.admission.is_some() || !self.calls.is_empty() {
                "flows come and go by calls"
            } else {
                continue;
            };
            let problem = format!("{problem}, and it feeds or leaves a node that pauses others");
            return Err(refused(self, LinkId(index), problem, "a port for packets at one rate, without calls"));
        }
        if self.pauses.is_empty() { Ok(()) } else { Holders::of(self, &Routes::of(self)).map(drop) }
    }

    /// By link, true if its port can be paused, carries pause frames, or holds what is counted.
    pub fn pausable(&self) -> Vec<bool> {
        let mut is_involved = vec![false; self.links.len()];
        let mut counts = vec![false; self.nodes.len()];
        for (pause, back) in self.pauses.iter().zip(links_back(self)) {
            [Some(pause.link), back].into_iter().flatten().for_each(|link| is_involved[link.0] = true);
            counts[self.links[pause.link.0].to.0] = true;
        }
        for (link, is_involved) in self.links.iter().zip(&mut is_involved) {
            *is_involved |= counts[link.from.0];
        }
        is_involved
    }
}

fn refused(network: &Network, link: LinkId, problem: String, expected: &str) -> Problem {
    let name = network.links[link.0].name.clone();
    Problem { subject: Subject::Link(link.0), name, key: "pause", problem, expected: expected.into() }
}

/// Which packets count where: each class that a link's far end may pause has an account.
#[derive(Clone, Debug)]
pub(crate) struct Holders {
    /// By hop, the account of the packets that wait there, or [`Holders::UNCOUNTED`].
    account_of: Vec<u32>,
    /// By account: the index of its pause, and the class of the link's port.
    pub accounts: Vec<(u32, usize)>,
    /// By link and class of its port, the account of what comes over the link in the class.
    of_class: HashMap<(usize, usize), u32>,
}

impl Holders {
    /// The account of packets that are not counted.
    pub(crate) const UNCOUNTED: u32 = u32::MAX;

    /// The accounts of a network and its paths.
    ///
    /// # Errors
    /// [`Problem`] if packets of one path come in several classes of a link that pauses some: then a node cannot tell which.
    pub(crate) fn of(network: &Network, routes: &Routes) -> Result<Holders, Problem> {
        let mut accounts = Vec::new();
        let mut of_class: HashMap<(usize, usize), u32> = HashMap::new();
        for (number, pause) in network.pauses.iter().enumerate() {
            for &class in &pause.classes {
                of_class.insert((pause.link.0, class), accounts.len() as u32);
                accounts.push((number as u32, class));
            }
        }
        let mut pauses = vec![false; network.links.len()];
        network.pauses.iter().for_each(|pause| pauses[pause.link.0] = true);
        // Before the path to a hop is known, its account is not.
        let mut known: Vec<Option<u32>> = vec![None; routes.hops.len()];
        for (cursor, hop) in routes.hops.iter().enumerate().filter(|(_, hop)| hop.link < ENDPOINT && pauses[hop.link as usize]) {
            let link = &network.links[hop.link as usize];
            for (next, queue) in routes.ways(cursor as u32, link.rewrites()) {
                let class = link.port.classifier.class_of(queue);
                let account = of_class.get(&(hop.link as usize, class)).copied().unwrap_or(Holders::UNCOUNTED);
                let before = known[next as usize].replace(account);
                if before.is_some_and(|before| before != account) {
                    let flow = (hop.flow & BACK == 0).then_some(hop.flow as usize).or_else(|| {
                        let connections = network.flows.iter().enumerate().filter(|(_, flow)| matches!(flow.source, Source::Tcp(_)));
                        connections.map(|(index, _)| index).nth((hop.flow & !BACK) as usize)
                    });
                    let flow = flow.map_or_else(String::new, |flow| network.flows[flow].name.clone());
                    let problem = format!(
                        "packets of flow `{flow}` come in several of its classes by their lengths, code points of congestion notification or colours"
                    );
                    return Err(refused(
                        network,
                        LinkId(hop.link as usize),
                        problem,
                        "one class for all packets of a header where some are paused",
                    ));
                }
            }
        }
        let account_of = known.into_iter().map(|account| account.unwrap_or(Holders::UNCOUNTED)).collect();
        Ok(Holders { account_of, accounts, of_class })
    }

    /// The account of packets that wait at a hop; `None` if none counts them.
    #[inline]
    pub(crate) fn account(&self, cursor: u32) -> Option<usize> {
        Holders::number(self.account_of[cursor as usize])
    }

    /// An account, unless it is [`Holders::UNCOUNTED`].
    #[inline]
    pub(crate) fn number(account: u32) -> Option<usize> {
        (account != Holders::UNCOUNTED).then_some(account as usize)
    }

    /// The account of what comes over a link in a class of its port.
    pub(crate) fn behind(&self, link: usize, class: usize) -> u32 {
        self.of_class.get(&(link, class)).copied().unwrap_or(Holders::UNCOUNTED)
    }
}
