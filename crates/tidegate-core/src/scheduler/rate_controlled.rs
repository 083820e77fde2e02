//! Rate-controlled service: every flow is shaped to its own contract, and released packets leave first in, first out within their priority.
//! An overloaded link is shared in proportion to the contracts.
//!
//! **Law.**
//! 1. Every flow's packets are accepted without exception by a policer of its contract.
//! 2. While the link keeps up, packets of one priority leave in the order of their release: when the contract allows them, or at their arrival
//!    if that is later. Ties break by the order in which they became heads.
//! 3. When flows of one priority are released faster than the link takes them, each gets a part of the rest of the link. The parts are in
//!    proportion to the rates of the contracts, for any duration, as far as a contract tolerates to wait for others' packets. Afterwards no flow
//!    catches up beyond its contract. (An overload of more than 256 times is shared as one of 256 times.)
//! 4. A priority waits only for packets of higher ones, for the guarantees of lower ones, and for the packet being transmitted. Let guaranteed
//!    rates `g` sum up to at most the link's. A priority whose flows would send at `g` or more then gets at least `g`, whatever flows of
//!    higher priorities do.
//! 5. A flow changes at once, by the law of [`Allowance::change`]. A head that its contract allows already keeps its release. A head of another
//!    priority than before goes behind those that were released there. Laws 1 and 2 go on holding for the other flows. Parts and guarantees are
//!    those of the flows of the moment.
//!
//! **Source.** Zhang and Ferrari, "Rate-controlled service disciplines", Journal of High Speed Networks 3(4), 1994 (rate-controlled static
//! priority). The requirements on overload are those of Schiller and Gunningberg, "Feasibility of a software-based ATM cell-level scheduler
//! with advanced shaping", section 4.5.
//!
//! **State.** One cache line per flow (64 bytes), 16 bytes for its rates and 24 for what it claims; a ready list and 24 bytes per priority;
//! 32 bytes per guarantee. A scheduler with vacant places has the lists of all 8 priorities.
//!
//! **Cost.** One insertion and one removal of a ready list per packet, and two multiplications. Each decision looks at the first flow of every
//! priority and at every guarantee; a guaranteed packet costs one more multiplication. If the contracts together exceed the link, a flow that
//! comes or goes costs an addition. In an overload a packet costs one more multiplication (two with several priorities), and the packet after
//! such a change two divisions per priority. With a flow without a contract above one with a contract, each packet costs two multiplications.
//! A change of a flow costs eight divisions, and a step per flow if it brings a new priority.
//!
//! **RTL twin.** None yet.
//!
//! **Deviations.** Packets are held back per flow, in the port's queues. One list per priority, of flows by the release of their heads, is both
//! the calendar of the shaper and the queue behind it. Sharing is [`RateScaling`], as for cells. While the backlogged flows of a priority ask
//! for more than it is granted, the intervals of each are stretched in the same proportion. A flow asks for its peak rate during a burst and
//! for its sustained rate afterwards, or for nothing while a dual bucket fills. One without a peak rate bursts unshared. The share is counted on a
//! clock beside those of the contract, which forgets lateness of more than [`CATCH_UP_PACKETS`] packets. A flow with nothing queued asks for nothing. So while a higher priority
//! sends intermittently, lower ones are granted slightly more than it leaves. Guarantees have clocks of their own. Proportions have a clock per
//! priority, on which its shares are counted. The clock stops while the priority gets less than its grant, and catches up when the priority could
//! send more.

use super::{BuildError, Decision, FlowParameters, Kept, PREFETCH_DISTANCE, Parameter, Scheduler, Scheduling, Setup};
use crate::algorithm::Algorithm;
use crate::contract_state::ContractState;
use crate::packet::{Flow, Head};
use crate::prefetch::prefetch_in;
use crate::ready::{ReadyList, Wheel};
use crate::shaper::{Allowance, refused};
use crate::sharing::{CLASSES, CellRate, RateScaling, Sharing, Stretch};
use crate::units::{Duration, Rate, SERIAL_HORIZON, Time, TimePerByte};
use alloc::vec::Vec;
use clock::{Clock, Guarantee};
use totals::{Claim, Totals};

mod change;
mod clock;
mod totals;

/// The lateness up to which a flow catches up, in times of the longest packet; more if its contract tolerates more.
const CATCH_UP_PACKETS: u64 = 64;

/// The lateness from which the clock of a priority stops, in times of the longest packet.
const OVERLOAD_LATENESS_PACKETS: u64 = 2;

/// Rate-controlled static priority with proportional sharing.
///
/// ```
/// use tidegate_core::packet::{Colour, Flow, Head};
/// use tidegate_core::scheduler::{Decision, FlowParameters, RateControlled, Scheduler, Setup};
/// use tidegate_core::shaper::ShapingContract;
/// use tidegate_core::units::{Rate, Time};
/// let setup = Setup::new(Rate::new(10_000_000).unwrap(), 1250);
/// let shape = Some(ShapingContract::new(Rate::new(1_000_000).unwrap(), 1250, 1250));
/// let mut scheduler: RateControlled = setup.build(&[FlowParameters { shape, ..Default::default() }]).unwrap();
/// let head = |number| Head { length: 1250, number, arrival: Time::ZERO, colour: Colour::Green };
/// scheduler.activate(Time::ZERO, Flow(0), head(0));
/// assert_eq!(scheduler.select(Time::ZERO), Decision::Serve(Flow(0)));
/// scheduler.served(Time::ZERO, Flow(0), Some(head(1)));
/// assert_eq!(scheduler.select(Time::ZERO), Decision::WaitUntil(Time::from_nanoseconds(10_000_000)));
/// ```
#[derive(Clone, Debug)]
pub struct RateControlled<R = Wheel> {
    flows: Vec<Stream>,
    /// The rate that each flow asks for in each [`Demand`].
    rates: Vec<[CellRate; 2]>,
    /// Flows by the release of their heads, for each priority in use, highest first.
    releases: Vec<R>,
    demands: Demands,
    /// Of the priorities that have one, highest first.
    guarantees: Vec<Guarantee>,
    /// Of each priority. The clock of a single priority never stops.
    clocks: [Clock; CLASSES],
    has_clocks: bool,
    /// True if a flow may get less than its contract says.
    has_shares: bool,
    per_byte: TimePerByte,
    slack: Duration,
    /// The time of [`OVERLOAD_LATENESS_PACKETS`] of the longest packets.
    late: Duration,
    /// The priority of the flow named last.
    latest: usize,
    /// What each flow claims of the link.
    claims: Vec<Claim>,
    totals: Totals,
    /// Empty lists for priorities that come into use.
    spare: Vec<R>,
    rate: Rate,
    longest_packet: u32,
}

/// The state of one flow.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Stream {
    allowance: Allowance,
    /// When its share of an overloaded link allows the head to leave, on the clock of its priority.
    share: Time,
    /// Length of the head, or [`IDLE`], or [`VACANT`].
    length: u32,
    /// The rank of its priority.
    level: u8,
    demand: Demand,
}

/// Stands in [`Stream::length`] for a flow that is not backlogged. Packets are shorter than 2^30 bytes.
const IDLE: u32 = u32::MAX;

/// Stands in [`Stream::length`] for a place without a flow.
const VACANT: u32 = u32::MAX - 1;

const _: () = assert!(size_of::<Stream>() == 64, "one cache line per flow");

/// The rate that a flow asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Demand {
    Peak,
    Sustained,
    Nothing,
}

impl Stream {
    /// Files the flow by the release of its head.
    #[inline(always)]
    fn file(&mut self, releases: &mut impl ReadyList, held: Duration, flow: Flow, head: Head) {
        self.length = head.length;
        let release = self.allowance.release().later(self.share + held).later(head.arrival);
        releases.insert(flow, release.picoseconds());
    }

    /// What it asks for while it has something to send.
    #[inline]
    fn demand(&self, now: Time) -> Demand {
        match self.allowance.is_bursting() {
            false => Demand::Sustained,
            true if self.allowance.is_refilling(now) => Demand::Nothing,
            true => Demand::Peak,
        }
    }
}

/// What all flows ask for together, and what they are granted.
#[derive(Clone, Debug)]
struct Demands {
    sharing: RateScaling,
    /// The guarantees that it shares by.
    minimum: [CellRate; CLASSES],
    sum: u64,
    /// True if all flows together may ask for more than the link.
    may_exceed_link: bool,
}

impl Demands {
    /// A flow asks for another rate from now on.
    #[inline]
    fn ask(&mut self, stream: &mut Stream, rates: &[[CellRate; 2]], flow: Flow, demand: Demand) {
        if self.may_exceed_link && stream.demand != demand {
            let rates = &rates[flow.index()];
            let rate = |demand| rates.get(demand as usize).copied().unwrap_or(CellRate::ZERO);
            let (from, to) = (rate(stream.demand), rate(demand));
            stream.demand = demand;
            self.sum = self.sum - from.0 + to.0;
            self.sharing.demand_changed(usize::from(stream.level), from, to);
        }
    }
}

/// The list of the priority of this rank. In most nodes all flows are of one.
#[inline(always)]
fn of_level<R>(releases: &mut [R], level: usize) -> &mut R {
    match releases {
        [releases] => releases,
        releases => &mut releases[level],
    }
}

// The work for links that may be overloaded, and for flows that stay backlogged, is in calls: other packets do not pay for its registers.
impl<R: ReadyList> RateControlled<R> {
    /// After a packet of a flow has been charged: updates what the flow asks for, and the instant at which its share allows the next.
    #[inline(never)]
    fn share(&mut self, now: Time, flow: Flow, goes_on: bool) {
        let stream = &mut self.flows[flow.index()];
        let demand = if goes_on { stream.demand(now) } else { Demand::Nothing };
        self.demands.ask(stream, &self.rates, flow, demand);
        // The clock of the share is behind those of the contract unless it is stretched or has stopped.
        if self.demands.sum > CellRate::LINK.0 || self.has_clocks {
            let stretch = self.demands.sharing.stretch(self.latest);
            let oldest = self.clocks[self.latest % CLASSES].at(now) - self.slack.max(stream.allowance.tolerance());
            let spacing = stretch.ceil_of(stream.allowance.spacing(stream.length).picoseconds());
            stream.share = stream.share.later(oldest) + Duration::from_picoseconds(spacing);
            if stream.allowance.is_refilling(now) {
                // The burst after a pause begins its share anew, as after an idle time.
                stream.share = stream.share.later(self.clocks[self.latest % CLASSES].at(stream.allowance.release()));
            }
        }
    }

    /// Files a flow by the release of a head behind one that has gone.
    #[inline(never)]
    fn file_next(&mut self, flow: Flow, head: Head) {
        let stream = &mut self.flows[flow.index()];
        let level = usize::from(stream.level);
        stream.file(&mut self.releases[level], self.clocks[level % CLASSES].held, flow, head);
    }

    /// Updates the clock of a priority whose first packet, if any, has been waiting until now, and leaves if `is_sent`.
    #[inline(never)]
    fn keep_clock(&mut self, now: Time, level: usize, is_sent: bool) {
        let clock = &mut self.clocks[level % CLASSES];
        let Some((release, flow)) = self.releases[level].first() else { return };
        let filed = Time::from_picoseconds(release);
        let release = filed.earlier(now);
        clock.hold(now, release, self.late);
        if is_sent {
            let stream = &self.flows[flow.index()];
            if filed.is_after(now) {
                clock.catch_up(now, stream.share);
            }
            let time = self.per_byte.floor(stream.length).picoseconds();
            let is_stretched = self.demands.sharing.stretch(level) != Stretch::NONE;
            let time = if is_stretched { self.demands.sharing.pace(level).ceil_of(time) } else { time };
            clock.sent(now, release, Duration::from_picoseconds(time), self.slack);
        }
    }

    /// Updates what a flow that was idle asks for, and files it.
    #[inline(never)]
    fn ask_and_file(&mut self, now: Time, flow: Flow, head: Head) {
        if self.has_clocks {
            self.keep_clock(now, usize::from(self.flows[flow.index()].level), false);
        }
        let stream = &mut self.flows[flow.index()];
        let demand = stream.demand(now);
        self.demands.ask(stream, &self.rates, flow, demand);
        self.file_first(now, flow, head);
    }

    /// Files a flow that has been idle.
    #[inline(always)]
    fn file_first(&mut self, now: Time, flow: Flow, head: Head) {
        let stream = &mut self.flows[flow.index()];
        let level = usize::from(stream.level);
        let clock = &self.clocks[level % CLASSES];
        // What it did not use while it had nothing to send is lost.
        stream.share = stream.share.later(clock.at(now));
        stream.file(of_level(&mut self.releases, level), clock.held, flow, head);
    }

    /// The first flow of a priority, and when it may leave: when it is released, or if that is still to come, and due to its share, and the
    /// clock has lost time, as soon as the clock can be there.
    #[inline]
    fn first_of(&self, now: Time, level: usize) -> Option<(Time, Flow)> {
        let (release, flow) = self.releases[level].first()?;
        let (release, clock) = (Time::from_picoseconds(release), &self.clocks[level % CLASSES]);
        if clock.lost == Duration::ZERO || !release.is_after(now) {
            return Some((release, flow));
        }
        let stream = &self.flows[flow.index()];
        let share = stream.share + clock.held - clock.lost;
        Some((stream.allowance.release().later(share).earlier(release), flow))
    }

    /// The first flow of the highest priority that is owed a packet, if it may leave.
    #[inline(never)]
    fn claim(&mut self, now: Time) -> Option<Flow> {
        for guarantee in self.guarantees.iter().filter(|guarantee| !guarantee.owed.is_after(now)) {
            let level = usize::from(guarantee.level);
            if let Some((_, flow)) = self.first_of(now, level).filter(|(release, _)| !release.is_after(now)) {
                self.latest = level;
                return Some(flow);
            }
        }
        None
    }

    /// A packet of the priority named last leaves.
    #[inline(never)]
    fn note_guarantee(&mut self, now: Time, length: u32) {
        let level = self.latest as u8;
        self.guarantees.iter_mut().filter(|guarantee| guarantee.level == level).for_each(|own| own.sent(now, length));
    }
}

impl<R: ReadyList> Scheduler for RateControlled<R> {
    const SHAPES: bool = true;

    fn start(&mut self, now: Time) {
        for stream in &mut self.flows {
            stream.allowance.start(now);
            stream.share = now;
        }
        for guarantee in &mut self.guarantees {
            guarantee.owed = now;
        }
        self.clocks = [Clock { next: now, ..Clock::default() }; CLASSES];
    }

    #[inline]
    fn activate(&mut self, now: Time, flow: Flow, head: Head) {
        if self.has_shares {
            return self.ask_and_file(now, flow, head);
        }
        self.file_first(now, flow, head);
    }

    #[inline]
    fn select(&mut self, now: Time) -> Decision {
        // In most nodes all flows are of one priority.
        if let [releases] = &self.releases[..] {
            let Some((release, flow)) = releases.first() else { return Decision::Idle };
            let release = Time::from_picoseconds(release);
            return if release.is_after(now) { Decision::WaitUntil(release) } else { Decision::Serve(flow) };
        }
        if !self.guarantees.is_empty()
            && let Some(flow) = self.claim(now)
        {
            return Decision::Serve(flow);
        }
        let mut earliest = Decision::Idle;
        for level in 0..self.releases.len() {
            let Some((release, flow)) = self.first_of(now, level) else { continue };
            if !release.is_after(now) {
                self.latest = level;
                return Decision::Serve(flow);
            }
            if !matches!(earliest, Decision::WaitUntil(time) if !release.is_before(time)) {
                earliest = Decision::WaitUntil(release);
            }
        }
        earliest
    }

    #[inline(always)]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        if self.has_clocks {
            self.keep_clock(now, self.latest, true);
        }
        let stream = &mut self.flows[flow.index()];
        of_level(&mut self.releases, self.latest).drop_first();
        stream.allowance.charge(now, stream.length);
        if !self.guarantees.is_empty() {
            let length = stream.length;
            self.note_guarantee(now, length);
        }
        if self.has_shares {
            self.share(now, flow, next.is_some());
        }
        match next {
            Some(head) => self.file_next(flow, head),
            None => self.flows[flow.index()].length = IDLE,
        }
    }

    #[inline]
    fn lost(&mut self, _now: Time, flow: Flow, next: Option<Head>) {
        let stream = &mut self.flows[flow.index()];
        let releases = &mut self.releases[usize::from(stream.level)];
        releases.remove(flow);
        match next {
            Some(head) => self.file_next(flow, head),
            None => {
                stream.length = IDLE;
                self.demands.ask(stream, &self.rates, flow, Demand::Nothing);
            }
        }
    }

    fn change(&mut self, now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        self.change_flow(now, flow, parameters)
    }

    fn forget(&mut self, now: Time, flow: Flow) {
        self.remove_flow(now, flow);
    }

    fn adopt(&mut self, now: Time, old: &mut Self, kept: &[Kept]) {
        self.take_over(now, old, kept);
    }

    #[inline]
    fn prefetch_hint(&mut self) -> Option<Flow> {
        let hint = if let [releases] = &self.releases[..] { releases } else { &self.releases[self.latest] }.ahead(PREFETCH_DISTANCE)?;
        self.prefetch(hint);
        Some(hint)
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        prefetch_in(&self.flows, flow.index());
        if self.demands.may_exceed_link {
            prefetch_in(&self.rates, flow.index());
        }
    }

    fn visit_contracts(&mut self, state: &mut dyn ContractState) {
        self.flows.iter_mut().for_each(|stream| stream.allowance.visit_state(state));
    }

    fn refresh(&mut self, now: Time) {
        let oldest = now - SERIAL_HORIZON;
        for releases in &mut self.releases {
            releases.raise(oldest.picoseconds());
        }
        for stream in &mut self.flows {
            stream.allowance.refresh(now);
            stream.share = stream.share.later(self.clocks[usize::from(stream.level) % CLASSES].at(oldest));
        }
        for clock in &mut self.clocks {
            clock.next = clock.next.later(oldest);
        }
        for guarantee in &mut self.guarantees {
            guarantee.owed = guarantee.owed.later(oldest);
        }
    }
}

impl<R: ReadyList> Algorithm<Scheduling> for RateControlled<R> {
    const NAME: &'static str = "rate-controlled";
    const SUMMARY: &'static str = "every flow is shaped to its contract; overload is shared in proportion to the contracts, by priorities";
    const ACCEPTS: &'static [Parameter] = &[Parameter::Priority, Parameter::Rate];

    fn build((setup, flows): (&Setup, &[FlowParameters])) -> Result<Self, BuildError> {
        let priority = |given: &FlowParameters| given.priority.unwrap_or(0);
        let mut ranks: Vec<u32> = flows.iter().map(priority).collect();
        ranks.sort_unstable();
        ranks.dedup();
        if let Some(&beyond) = ranks.get(CLASSES) {
            let flow = flows.iter().position(|given| priority(given) == beyond).map(|index| Flow(index as u32));
            return Err(BuildError { flow, ..totals::TOO_MANY_PRIORITIES });
        }
        // A scheduler without flows has one list, too.
        ranks.resize(ranks.len().max(1), 0);
        let (places, levels) = (setup.places(flows), ranks.len());
        let mut totals = Totals::new(&ranks);
        let (mut streams, mut rates, mut claims) = (Vec::with_capacity(places), Vec::with_capacity(places), Vec::with_capacity(places));
        for (index, given) in flows.iter().enumerate() {
            let level = ranks.partition_point(|&rank| rank < priority(given));
            let contract = given.shape.as_ref();
            let allowance = Allowance::at(Time::ZERO, contract).map_err(|error| refused(Flow(index as u32), &error))?;
            let (claim, asked) = totals::claim(given, setup.rate, places);
            totals.add(level, &claim, &asked);
            totals.check(setup.rate)?;
            streams.push(Stream { allowance, share: Time::ZERO, length: IDLE, level: level as u8, demand: Demand::Nothing });
            rates.push(asked);
            claims.push(claim);
        }
        let vacant = Stream { allowance: Allowance::UNLIMITED, share: Time::ZERO, length: VACANT, level: 0, demand: Demand::Nothing };
        streams.resize(places, vacant);
        rates.resize(places, [CellRate::ZERO; 2]);
        claims.resize(places, Claim::default());
        let mut releases = Vec::with_capacity(CLASSES);
        releases.extend(ranks.iter().map(|_| R::new(places)));
        let spare = if places > flows.len() { CLASSES - levels } else { 0 };
        let longest = setup.rate.time_per_byte().ceil(setup.longest_packet).picoseconds();
        let mut scheduler = RateControlled {
            flows: streams,
            rates,
            releases,
            demands: Demands { sharing: RateScaling::strict(), minimum: [CellRate::ZERO; CLASSES], sum: 0, may_exceed_link: false },
            guarantees: Vec::with_capacity(CLASSES),
            clocks: [Clock::default(); CLASSES],
            has_clocks: false,
            has_shares: false,
            per_byte: setup.rate.time_per_byte(),
            slack: Duration::from_picoseconds(CATCH_UP_PACKETS * longest),
            late: Duration::from_picoseconds(OVERLOAD_LATENESS_PACKETS * longest),
            latest: 0,
            claims,
            totals,
            spare: (0..spare).map(|_| R::new(places)).collect(),
            rate: setup.rate,
            longest_packet: setup.longest_packet,
        };
        scheduler.follow_totals(Time::ZERO);
        Ok(scheduler)
    }
}
