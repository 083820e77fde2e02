//! Dynamic Window-Constrained Scheduling of packets: of every y deadlines of a flow at most x may be missed.
//!
//! **Law**: the flow with the earliest deadline goes first, and among equal deadlines the one whose window tolerates least
//! ([`crate::dwcs`]). If `sum((1 - x/y) / period) <= 1` over all flows and all periods are equal, no flow misses more than x of any y
//! deadlines. Flows that are always backlogged and whose windows fill the link exactly share it as `1 - x/y`. A changed request holds from the
//! flow's next head on, with a new window; the head keeps its deadline. So does a fair share that follows from changes of other flows.
//!
//! **Source**: West and Poellabauer, RTSS 2000; West, Zhang, Schwan and Poellabauer, IEEE Transactions on Computers 53(6), 2004.
//!
//! **State**: that of the engine, and 16 bytes per flow if shares are counted in bytes.
//!
//! **Cost**: one decision of the engine per packet, or per slot if shares are counted in bytes. A fair share costs a few divisions at its first
//! head after a change. A change of a window or a deadline costs a step per flow if there are fair shares.
//!
//! **RTL twin**: ShareStreams.
//!
//! **Deviations**: the papers count time in packets served. Here a tick is a slot, the longest packet's time on the link. Every packet served
//! (or slot's worth of bytes) takes one tick, and while the link is idle ticks pass as time does. With shares in packets a tick never lasts
//! longer than a slot, so a deadline promised in time is kept in time; but flows of long packets are favoured. [`Shares::Bytes`] gives the winner
//! of a slot the slot's bytes and charges an overdraft to its next slot. Shares are then exact in bytes, and all ticks together last longer than
//! their slots by less than one packet per flow. Heads are told apart by age while fewer than 2^31 packets have come between them.

use super::moves::Moves;
use super::{BuildError, Decision, FlowParameters, Kept, Parameter, Scheduler, Scheduling, Setup, Shares};
use crate::algorithm::Algorithm;
use crate::dwcs::{Allotment, Changing, Choice, Engine, Request, StreamError};
use crate::packet::{Flow, Head};
use crate::prefetch::prefetch_in;
use crate::units::{Duration, SERIAL_HORIZON, Time};
use alloc::vec::Vec;

/// Dynamic Window-Constrained Scheduling.
///
/// ```
/// use tidegate_core::dwcs::{Request, Service, Window};
/// use tidegate_core::packet::{Colour, Flow, Head};
/// use tidegate_core::scheduler::{Decision, Dwcs, FlowParameters, Scheduler, Setup};
/// use tidegate_core::units::{Rate, Time};
/// let setup = Setup::new(Rate::new(10_000_000).unwrap(), 1500);
/// let window = |x, y| FlowParameters { service: Some(Request::of(Service::Window(Window::new(x, y)))), ..FlowParameters::default() };
/// let mut dwcs: Dwcs = setup.build(&[window(3, 4), window(1, 2)]).unwrap();
/// let head = |number| Head { length: 1500, number, arrival: Time::ZERO, colour: Colour::Green };
/// dwcs.activate(Time::ZERO, Flow(0), head(0));
/// dwcs.activate(Time::ZERO, Flow(1), head(1));
/// assert_eq!(dwcs.select(Time::ZERO), Decision::Serve(Flow(1)));
/// ```
#[derive(Clone, Debug)]
pub struct Dwcs<E = Engine> {
    engine: E,
    allotment: Allotment,
    /// By flow, the version of the allotment that the engine has.
    versions: Vec<u32>,
    clock: SlotClock,
    /// The highest number of any packet seen, unwrapped.
    newest: u64,
    /// The length of every backlogged flow's head and the bytes it may still send; empty if shares are in packets.
    balances: Vec<Balance>,
    /// The bytes of a slot.
    slot: i64,
    /// The flow whose slot has been begun and not ended.
    holder: Option<Flow>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Balance {
    /// On the wire.
    head: u32,
    /// Bytes of its slot left to send; negative if its last packet was longer than what was left.
    bytes: i64,
}

/// Counts slots: one for each that is served, and as many as fit into the time that the link is idle.
#[derive(Clone, Copy, Debug)]
struct SlotClock {
    tick: u64,
    /// When the tick began, or will begin.
    since: Time,
    slot: Duration,
}

impl SlotClock {
    #[inline]
    fn advance(&mut self, now: Time) -> u64 {
        if !now.is_before(self.since + self.slot) {
            let passed = now.since(self.since).picoseconds() / self.slot.picoseconds();
            self.tick += passed;
            self.since += Duration::from_picoseconds(passed * self.slot.picoseconds());
        }
        self.tick
    }

    /// The next tick begins at `finish`.
    #[inline]
    fn served(&mut self, finish: Time) -> u64 {
        self.tick += 1;
        self.since = finish;
        self.tick
    }

    fn begin(&self, tick: u64) -> Time {
        let ticks = (tick - self.tick).min(SERIAL_HORIZON.picoseconds() / self.slot.picoseconds());
        self.since + Duration::from_picoseconds(ticks * self.slot.picoseconds())
    }
}

impl<E: Changing> Dwcs<E> {
    /// The flow is about to get another head: a change of its share holds from then on.
    #[inline]
    fn renew(&mut self, flow: Flow) {
        if self.versions[flow.index()] != self.allotment.version() {
            self.update(flow);
        }
    }

    /// The engine gets the stream of a flow.
    #[inline(never)]
    fn update(&mut self, flow: Flow) {
        self.versions[flow.index()] = self.allotment.version();
        // The allotment has checked it, and all of its streams have deadlines.
        _ = self.engine.change(flow, &self.allotment.stream(flow));
    }

    /// The age of a head as the engine compares it: the number of its packet, unwrapped.
    #[inline]
    fn age(&mut self, head: &Head) -> u64 {
        let ahead = head.number.wrapping_sub(self.newest as u32) as i32;
        let number = self.newest.wrapping_add_signed(i64::from(ahead));
        self.newest = self.newest.max(number);
        number
    }

    /// Ends the slot of `flow`.
    #[inline]
    fn end_slot(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.holder = None;
        let finish = self.clock.served(now + self.clock.slot);
        let next = next.map(|head| self.age(&head));
        self.renew(flow);
        self.engine.served(flow, finish, next);
    }
}

impl<E: Changing> Scheduler for Dwcs<E> {
    const WORK_CONSERVING: bool = true;

    fn start(&mut self, now: Time) {
        self.clock.since = now;
    }

    #[inline]
    fn activate(&mut self, now: Time, flow: Flow, head: Head) {
        if let Some(balance) = self.balances.get_mut(flow.index()) {
            balance.head = head.length;
        }
        let age = self.age(&head);
        // A slot that has been begun is one tick, however long it lasts.
        let tick = if self.holder.is_some() { self.clock.tick } else { self.clock.advance(now) };
        self.renew(flow);
        self.engine.activate(tick, flow, age);
    }

    #[inline]
    fn select(&mut self, now: Time) -> Decision {
        if let Some(flow) = self.holder {
            return Decision::Serve(flow);
        }
        let tick = self.clock.advance(now);
        match self.engine.select(tick) {
            Choice::Serve(flow) => Decision::Serve(flow),
            Choice::Discard(flow) => Decision::Discard(flow),
            Choice::WaitUntil(tick) => Decision::WaitUntil(self.clock.begin(tick)),
            Choice::Idle => Decision::Idle,
        }
    }

    #[inline]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        let Some(balance) = self.balances.get_mut(flow.index()) else { return self.end_slot(now, flow, next) };
        if self.holder.is_none() {
            balance.bytes += self.slot;
        }
        balance.bytes -= i64::from(balance.head);
        match next {
            Some(head) => {
                balance.head = head.length;
                if balance.bytes > 0 {
                    self.holder = Some(flow);
                    return;
                }
            }
            // What it leaves unused is lost to it; what it owes it keeps owing.
            None => balance.bytes = balance.bytes.min(0),
        }
        self.end_slot(now, flow, next);
    }

    #[inline]
    fn lost(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        if let Some(balance) = self.balances.get_mut(flow.index()) {
            balance.head = next.map_or(0, |head| head.length);
            if self.holder == Some(flow) {
                if next.is_none() {
                    balance.bytes = 0;
                    self.end_slot(now, flow, None);
                }
                return;
            }
        }
        let next = next.map(|head| self.age(&head));
        self.renew(flow);
        self.engine.lost(flow, next);
    }

    #[inline]
    fn prefetch_hint(&mut self) -> Option<Flow> {
        self.engine.soon()
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        prefetch_in(&self.versions, flow.index());
    }

    fn change(&mut self, _now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        self.allotment.change(flow, parameters.service.unwrap_or_default()).map_err(refused)?;
        self.update(flow);
        Ok(())
    }

    fn forget(&mut self, _now: Time, flow: Flow) {
        self.allotment.forget(flow);
        self.engine.forget(flow);
        if let Some(balance) = self.balances.get_mut(flow.index()) {
            *balance = Balance::default();
        }
    }

    fn adopt(&mut self, now: Time, old: &mut Self, kept: &[Kept]) {
        let mut moves = Moves::new(old.versions.len(), kept);
        if let Some(flow) = old.holder.filter(|&flow| moves.to(flow).is_none()) {
            old.lost(now, flow, None);
        } else if let Some(flow) = old.holder.filter(|_| self.balances.is_empty()) {
            let head = kept.iter().find(|kept| kept.from == flow).and_then(|kept| kept.head);
            old.end_slot(now, flow, head);
        }
        (self.newest, self.clock.tick, self.clock.since) = (old.newest, old.clock.tick, old.clock.since);
        // First the flow whose slot has begun: an engine has named it before it hears that the slot is over.
        let (holders, others): (Vec<&Kept>, Vec<&Kept>) = kept.iter().partition(|kept| old.holder == Some(kept.from));
        for kept in holders.into_iter().chain(others) {
            if let Some(balance) = self.balances.get_mut(kept.to.index()) {
                balance.bytes = old.balances.get(kept.from.index()).map_or(0, |before| before.bytes);
                balance.head = kept.head.map_or(0, |head| head.length);
            }
            let saved = old.engine.save(kept.from);
            let head = kept.head.filter(|_| saved.is_backlogged).map(|head| self.age(&head));
            self.engine.restore(self.clock.tick, kept.to, &saved, head);
            if head.is_some() {
                moves.take(kept.from);
            }
            if old.holder == Some(kept.from) {
                self.holder = Some(kept.to);
                self.engine.select(self.clock.tick);
            }
        }
        moves.activate_others(self, now, kept);
    }

    fn refresh(&mut self, now: Time) {
        self.clock.advance(now);
        self.clock.since = self.clock.since.later(now - SERIAL_HORIZON);
    }
}

fn refused(error: StreamError) -> BuildError {
    BuildError { flow: error.stream, parameter: Parameter::Service, problem: error.problem }
}

impl Algorithm<Scheduling> for Dwcs {
    const NAME: &'static str = "dwcs";
    const SUMMARY: &'static str = "of every y deadlines of a flow at most x are missed: deadlines, priorities and fair shares in one";
    const ACCEPTS: &'static [Parameter] = &[Parameter::Service];

    fn build((setup, flows): (&Setup, &[FlowParameters])) -> Result<Self, BuildError> {
        let requests: Vec<Request> = flows.iter().map(|flow| flow.service.unwrap_or_default()).collect();
        let places = setup.places(flows);
        let (allotment, streams) = Allotment::new(places, &requests).map_err(refused)?;
        let options = setup.dwcs;
        let balances = match options.shares {
            Shares::Packets => Vec::new(),
            Shares::Bytes => alloc::vec![Balance::default(); places],
        };
        Ok(Dwcs {
            engine: Engine::new(options.rules, &streams).map_err(refused)?,
            versions: alloc::vec![allotment.version(); places],
            allotment,
            clock: SlotClock { tick: 0, since: Time::ZERO, slot: setup.slot() },
            newest: 0,
            balances,
            slot: i64::from(setup.longest_packet),
            holder: None,
        })
    }
}
