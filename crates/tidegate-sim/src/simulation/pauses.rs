//! What nodes hold and have paused: [`crate::pause`] has the rules.

use super::link::{LinkPort, LinkState, PortKind};
use super::pausable_port::PausablePort;
use crate::id::LinkId;
use crate::network::{Network, Pause};
use crate::pause::{Holders, frame_time, links_back};
use crate::route::slots::Paths;
use crate::statistics::port::PauseStatistics;
use crate::time::NEVER;
use std::collections::{HashMap, HashSet, VecDeque};
use tidegate_core::packet::Flow;

/// What nodes hold, and what they have paused.
pub(super) struct Pauses {
    pub accounts: Vec<Account>,
    pub pausers: Vec<Pauser>,
    /// The accounts that have changed since the last look.
    pub touched: Vec<usize>,
}

/// One class of one link that its far end may pause.
#[derive(Clone, Copy)]
pub(super) struct Account {
    /// The index of its pause.
    pub pause: usize,
    /// The class of the link's port.
    pub class: usize,
    /// The bytes that the node at the far end holds, and the most it has held since the warm-up.
    pub held: u64,
    pub greatest: u64,
    /// The last frame for it asked for a pause.
    pub is_asked: bool,
    /// Since when its class has been paused, at the port; [`NEVER`] if it is not.
    pub since: u64,
    /// How often it was paused since the warm-up, for how long in all, and for how long at most.
    pub pauses: u64,
    pub time: u64,
    pub longest: u64,
}

/// The far end of a link.
pub(super) struct Pauser {
    pub link: usize,
    pub back: usize,
    pub above: u64,
    pub below: u64,
    /// How long a pause frame takes on the link back.
    pub frame_time: u64,
    /// The frames on their way, in the order in which they arrive.
    pub frames: VecDeque<Frame>,
}

pub(super) struct Frame {
    pub arrives: u64,
    pub account: usize,
    pub pauses: bool,
}

impl Pauser {
    /// True if it pauses the port of this link, or sends its frames over it.
    pub(super) fn takes(&self, link: usize) -> bool {
        self.link == link || self.back == link
    }

    /// True if both directions work.
    pub(super) fn works(&self, links: &[LinkState]) -> bool {
        !links[self.link].is_down() && !links[self.back].is_down()
    }
}

impl Account {
    /// Its class is paused at `now`, or is not any more.
    pub(super) fn set(&mut self, now: u64, is_paused: bool) {
        if is_paused && self.since == NEVER {
            (self.since, self.pauses) = (now, self.pauses + 1);
        } else if !is_paused && self.since != NEVER {
            self.count_until(now);
            self.since = NEVER;
        }
    }

    /// Counts the pause that lasts.
    fn count_until(&mut self, now: u64) {
        if self.since != NEVER {
            self.time += now - self.since;
            self.longest = self.longest.max(now - self.since);
        }
    }
}

impl Pauses {
    pub(super) fn new(network: &Network, holders: &Holders) -> Pauses {
        let account = |&(pause, class): &(u32, usize)| {
            let pause = pause as usize;
            Account { pause, class, held: 0, greatest: 0, is_asked: false, since: NEVER, pauses: 0, time: 0, longest: 0 }
        };
        let pauser = |(pause, back): (&Pause, Option<LinkId>)| {
            // A network that has been checked has a link back.
            let back = back.unwrap_or(pause.link);
            let frame_time = frame_time(&network.links[back.0]).picoseconds();
            Pauser { link: pause.link.0, back: back.0, above: pause.above, below: pause.below, frame_time, frames: VecDeque::new() }
        };
        Pauses {
            accounts: holders.accounts.iter().map(account).collect(),
            pausers: network.pauses.iter().zip(links_back(network)).map(pauser).collect(),
            touched: Vec::new(),
        }
    }

    /// A packet that counts in this account comes to wait.
    #[inline]
    pub(super) fn hold(&mut self, account: Option<usize>, length: u32) {
        let Some(number) = account else { return };
        let account = &mut self.accounts[number];
        account.held += u64::from(length);
        self.touched.push(number);
    }

    /// A packet waits no more.
    #[inline]
    pub(super) fn let_go(&mut self, account: Option<usize>, length: u32) {
        let Some(number) = account else { return };
        self.accounts[number].held -= u64::from(length);
        self.touched.push(number);
    }

    /// The warm-up ends.
    pub(super) fn restart(&mut self, now: u64) {
        for account in &mut self.accounts {
            let is_paused = account.since != NEVER;
            (account.greatest, account.pauses, account.time, account.longest) = (account.held, u64::from(is_paused), 0, 0);
            if is_paused {
                account.since = now;
            }
        }
    }

    /// By link, what its far end has paused.
    pub(super) fn finish(mut self, end: u64, links: usize) -> Vec<Vec<PauseStatistics>> {
        let mut of_link = vec![Vec::new(); links];
        for account in &mut self.accounts {
            account.count_until(end);
            let Account { pause, class, greatest, since, pauses, time, longest, .. } = *account;
            let statistics = PauseStatistics { class, pauses, time, longest, is_paused: since != NEVER, greatest_held: greatest };
            of_link[self.pausers[pause].link].push(statistics);
        }
        of_link
    }

    /// What each account holds in each class of the ports behind it, counted from the packets: by account, then link and class.
    fn counted(&self, links: &[LinkState], routes: &Paths) -> HashMap<(usize, usize, usize), u64> {
        let mut held = HashMap::new();
        for (link, state) in links.iter().enumerate() {
            let LinkPort::Driven(driven) = &state.port else { continue };
            let PortKind::Pausable(PausablePort { port, .. }) = &driven.kind else { continue };
            for flow in (0..port.classifier().flows() as u32).map(Flow) {
                for (packet, meta) in port.queued(flow) {
                    if let Some(account) = routes.account(meta.cursor) {
                        *held.entry((account, link, port.classifier().class_of(flow))).or_insert(0) += u64::from(packet.length);
                    }
                }
            }
        }
        held
    }

    /// The first account whose count differs from the packets that wait: its link, the count, and what waits.
    pub(super) fn miscounted(&self, links: &[LinkState], routes: &Paths) -> Option<(usize, u64, u64)> {
        let mut waits = vec![0; self.accounts.len()];
        self.counted(links, routes).into_iter().for_each(|((account, ..), bytes)| waits[account] += bytes);
        let differs = self.accounts.iter().zip(waits).find(|(account, waits)| account.held != *waits);
        differs.map(|(account, waits)| (self.pausers[account.pause].link, account.held, waits))
    }

    /// The links and classes of a deadlock: each is paused because of packets that wait for another of them, so none is ever released.
    /// Of all sets of paused classes of which this is true it is the greatest. In the order of a cycle if there is one, which begins with the first link.
    pub(super) fn deadlock(&self, links: &[LinkState], routes: &Paths) -> Vec<(usize, usize)> {
        let is_paused = |account: &Account| account.is_asked && self.pausers[account.pause].works(links);
        let mut stuck: HashSet<usize> = (0..self.accounts.len()).filter(|&account| is_paused(&self.accounts[account])).collect();
        let place = |account: &Account| (self.pausers[account.pause].link, account.class);
        let by_place: HashMap<(usize, usize), usize> =
            self.accounts.iter().enumerate().map(|(number, account)| (place(account), number)).collect();
        if stuck.is_empty() {
            return Vec::new();
        }
        // By account, what of it waits in paused classes: the account of the class, and the bytes.
        let mut waits: Vec<Vec<(usize, u64)>> = vec![Vec::new(); self.accounts.len()];
        for ((account, link, class), bytes) in self.counted(links, routes) {
            if let Some(&other) = by_place.get(&(link, class)) {
                waits[account].push((other, bytes));
            }
        }
        let waits_for = |stuck: &HashSet<usize>, number: usize| {
            waits[number].iter().copied().filter(|(other, _)| stuck.contains(other)).collect::<Vec<_>>()
        };
        loop {
            let is_released = |&number: &usize| {
                let stays: u64 = waits_for(&stuck, number).iter().map(|(_, bytes)| bytes).sum();
                stays <= self.pausers[self.accounts[number].pause].below
            };
            let released: Vec<usize> = stuck.iter().copied().filter(is_released).collect();
            if released.is_empty() {
                break;
            }
            released.iter().for_each(|number| {
                stuck.remove(number);
            });
        }
        // From the first on, each waits for the next; what leads back to one that was seen closes the cycle.
        let mut way: Vec<usize> = stuck.iter().copied().min().into_iter().collect();
        while let Some(&last) = way.last() {
            let Some((next, _)) = waits_for(&stuck, last).into_iter().min() else { break };
            if let Some(first) = way.iter().position(|&seen| seen == next) {
                way.drain(..first);
                break;
            }
            way.push(next);
        }
        way.into_iter().map(|number| place(&self.accounts[number])).collect()
    }
}
