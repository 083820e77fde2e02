//! The bus between network interfaces and memory: which agent is next.
//!
//! **Law.** A transfer that has begun ends. The bus is never idle while an agent is ready.
//!
//! **Source.** PCI Local Bus Specification 2.2, section 3.4 (arbitration), with the overhead of a grant as a parameter.

use crate::bus_timing::{Grant, Timing};
use crate::fair::Fair;
use crate::machine::{self, Arbiter, Pci};
use crate::nic::Nic;
use crate::packet::Packet;
use crate::ready_set::ReadySet;
use tidegate_core::fault;

/// What transfers frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Agent {
    /// A receive channel, to memory.
    Receive { nic: u32, channel: u32 },
    /// A core's transmitter, from memory.
    Transmit { nic: u32, core: u32 },
}

impl Agent {
    #[inline]
    fn is_receiver(self) -> bool {
        matches!(self, Agent::Receive { .. })
    }

    fn is_ready(self, nics: &[Nic]) -> bool {
        match self {
            Agent::Receive { nic, channel } => nics[nic as usize].channels[channel as usize].is_ready(),
            Agent::Transmit { nic, core } => nics[nic as usize].transmitters[core as usize].is_ready(),
        }
    }

    fn begin(self, nics: &mut [Nic]) -> Packet {
        match self {
            Agent::Receive { nic, channel } => nics[nic as usize].channels[channel as usize].begin(),
            Agent::Transmit { nic, core } => nics[nic as usize].transmitters[core as usize].begin(),
        }
    }

    /// The frame that is next.
    fn head(self, nics: &[Nic]) -> Option<Packet> {
        match self {
            Agent::Receive { nic, channel } => nics[nic as usize].channels[channel as usize].fifo.front().copied(),
            Agent::Transmit { nic, core } => nics[nic as usize].transmitters[core as usize].ring.front().copied(),
        }
    }
}

#[derive(Clone, Debug)]
struct AgentState {
    agent: Agent,
    /// The frame whose transfer has begun, and the bytes of it that are left.
    current: Option<Packet>,
    left: u32,
}

/// One direction of the bus, or both: it carries one transfer at a time.
#[derive(Clone, Debug)]
struct Lane {
    ready: ReadySet,
    last: usize,
    serving: Option<(usize, Grant)>,
    /// When the grant and what was added aside are over.
    free_at: u64,
    busy: u64,
}

impl Lane {
    /// Takes a time from `now` on, behind what was taken before.
    #[inline]
    fn occupy(&mut self, now: u64, time: u64) {
        self.free_at = self.free_at.max(now) + time;
        self.busy += time;
    }
}

/// What WF2Q+ knows of the next frame of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Candidate {
    agent: usize,
    time: u64,
    /// The choice it was last valid for.
    choice: u64,
}

/// WF2Q+ among flows.
#[derive(Clone, Debug)]
struct FairArbiter {
    fair: Fair,
    candidates: Vec<Candidate>,
    choice: u64,
}

impl FairArbiter {
    /// The agent that has the next frame of the flow that is next. Of several agents with frames of one flow the first serves it.
    fn choose(&mut self, ready: impl Iterator<Item = (usize, usize, u64)>) -> Option<usize> {
        self.choice += 1;
        for (agent, flow, time) in ready {
            if self.candidates[flow].choice != self.choice {
                self.candidates[flow] = Candidate { agent, time, choice: self.choice };
                self.fair.ready(flow);
            }
        }
        let flow = self.fair.choose(|flow| self.candidates[flow].time)?;
        Some(self.candidates[flow].agent)
    }
}

/// The bus.
#[derive(Clone, Debug)]
pub(crate) struct Bus {
    timing: Timing,
    lanes: Vec<Lane>,
    agents: Vec<AgentState>,
    fair: Option<FairArbiter>,
}

impl Bus {
    /// The bus of a machine, for these agents and for flows of these weights.
    pub(crate) fn new(bus: &machine::Bus, agents: Vec<Agent>, weights: &[f64]) -> Bus {
        let timing = Timing::new(bus);
        let last = agents.len().saturating_sub(1);
        let lane = Lane { ready: ReadySet::new(agents.len()), last, serving: None, free_at: 0, busy: 0 };
        let fair = || FairArbiter { fair: Fair::new(weights), candidates: vec![Candidate::default(); weights.len()], choice: 0 };
        let state = |agent| AgentState { agent, current: None, left: 0 };
        let is_fair = matches!(bus, machine::Bus::Pci(Pci { arbiter: Arbiter::Wf2qPlus, .. }));
        Bus { lanes: vec![lane; timing.lanes()], timing, agents: agents.into_iter().map(state).collect(), fair: is_fair.then(fair) }
    }

    /// The number of lanes: 1 for a shared bus, 2 for a link with two directions, the first to the host.
    pub(crate) fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// The lane of an agent's data.
    #[inline]
    fn lane_of(&self, agent: Agent) -> usize {
        usize::from(!agent.is_receiver()) % self.lanes.len()
    }

    /// How long transfers take.
    #[inline]
    pub(crate) fn timing(&self) -> &Timing {
        &self.timing
    }

    /// The queue of an agent has changed.
    #[inline]
    pub(crate) fn refresh(&mut self, index: usize, nics: &[Nic]) {
        let state = &self.agents[index];
        let (lane, is_ready) = (self.lane_of(state.agent), state.left > 0 || state.agent.is_ready(nics));
        self.lanes[lane].ready.set(index, is_ready);
    }

    /// Starts the next grant on a lane that is idle: the instant at which it ends.
    #[inline]
    pub(crate) fn start(&mut self, lane: usize, now: u64, nics: &mut [Nic]) -> Option<u64> {
        if self.lanes[lane].serving.is_some() || self.lanes[lane].ready.is_empty() {
            return None;
        }
        let index = self.choose(lane, nics)?;
        let state = &mut self.agents[index];
        if state.left == 0 {
            let packet = state.agent.begin(nics);
            (state.current, state.left) = (Some(packet), packet.length);
        }
        // WF2Q+ chooses per frame.
        let is_reception = state.agent.is_receiver();
        let grant =
            if self.fair.is_some() { self.timing.whole(is_reception, state.left) } else { self.timing.grant(is_reception, state.left) };
        self.refresh(index, nics);
        if grant.aside > 0 {
            self.lanes[1 - lane].occupy(now, grant.aside);
        }
        let resource = &mut self.lanes[lane];
        (resource.last, resource.serving) = (index, Some((index, grant)));
        resource.occupy(now, grant.time);
        Some(resource.free_at)
    }

    fn choose(&mut self, lane: usize, nics: &[Nic]) -> Option<usize> {
        let Bus { timing, lanes, agents, fair } = self;
        let Lane { ready, last, .. } = &lanes[lane];
        let Some(fair) = fair else {
            let is_again = fault!(RouterServesLastAgain) && ready.contains(*last);
            return if is_again { Some(*last) } else { ready.after(*last) };
        };
        let head = |index: usize| {
            let head = agents[index].agent.head(nics)?;
            Some((index, head.flow as usize, timing.whole(agents[index].agent.is_receiver(), head.length).time))
        };
        fair.choose(ready.iter().filter_map(head))
    }

    /// The grant of a lane ends: the frame that it completes, if it does.
    #[inline]
    pub(crate) fn end(&mut self, lane: usize, nics: &[Nic]) -> Option<(Agent, Packet)> {
        let (index, Grant { bytes, time, .. }) = self.lanes[lane].serving.take()?;
        let state = &mut self.agents[index];
        state.left -= bytes;
        let is_complete = state.left == 0;
        let (agent, packet) = (state.agent, state.current?);
        if is_complete {
            state.current = None;
            self.refresh(index, nics);
        }
        if let Some(arbiter) = &mut self.fair {
            let more = |index: usize| self.agents[index].agent.head(nics).is_some_and(|head| head.flow == packet.flow);
            let is_ready = self.lanes[lane].ready.iter().any(more);
            arbiter.fair.charge(packet.flow as usize, time, is_ready);
        }
        is_complete.then_some((agent, packet))
    }

    /// The time that a lane has been busy, with the whole of a grant that has begun.
    pub(crate) fn busy(&self, lane: usize) -> u64 {
        self.lanes[lane].busy
    }

    /// Frames in transfer.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.agents.iter().filter_map(|state| state.current.as_ref())
    }
}
