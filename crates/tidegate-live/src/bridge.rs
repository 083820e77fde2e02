//! Start, ticks and end of a bridge, and the loop that its two threads run.

use crate::clock::{self, Woken};
use crate::config::{LiveConfig, Options};
use crate::counters::DirectionCounters;
use crate::direction::{Carry, Direction, Next, Remains, Treatment};
use crate::end_system::{self, EngineRecord, Parts, Split};
use crate::error::LiveError;
use crate::interface::{self, Facts, Inquiry};
use crate::interface_lock::InterfaceLock;
use crate::packet::{ReceiveRing, SendSocket};
use crate::pool::FramePool;
use crate::watch::Frame;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use std::{io, thread};
use tidegate_core::observer::Observer;
use tidegate_core::port::{PortSetup, Volume};
use tidegate_core::registry::AnyBufferManager;
use tidegate_core::units::{Duration, Overhead, PICOSECONDS_PER_SECOND, Rate, Time};
use tidegate_link::Link;
use tidegate_statistics::{ClassRecord, Delays, PortRecorder};

/// How often a direction looks after its interfaces, publishes its counters and looks at the stop flag.
pub(crate) const CHORES: Duration = Duration::from_milliseconds(50);

/// How long a direction waits before it tries again when the kernel has no room or an error to tell.
pub(crate) const RETRY: Duration = Duration::from_microseconds(50);

/// The state of a direction at a tick.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DirectionState {
    /// Its counters.
    pub counters: DirectionCounters,
    /// Per class of the policy, in its order: what was sent by the port, what it dropped, what it holds.
    pub classes: Vec<ClassState>,
}

/// The state of a class at a tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassState {
    /// Everything offered.
    pub offered: Volume,
    /// Everything sent.
    pub sent: Volume,
    /// Everything dropped.
    pub dropped: Volume,
    /// Everything whose colour the policer changed.
    pub marked: Volume,
}

/// What a running bridge tells once a second, and once as soon as it runs.
#[derive(Clone, Copy, Debug)]
pub struct Tick<'a> {
    /// The time since the bridge was started.
    pub elapsed: std::time::Duration,
    /// From A to B, from B to A. The counters are at most a twentieth of a second old.
    pub directions: &'a [DirectionState; 2],
    /// What an operator should know, since the last tick.
    pub notices: &'a [String],
}

/// What has become of everything that a bridge received.
#[derive(Clone, Debug)]
pub struct LiveOutcome {
    /// From A to B, from B to A.
    pub directions: [DirectionOutcome; 2],
    /// How long the bridge ran, the draining included.
    pub elapsed: std::time::Duration,
    /// Everything that an operator was told.
    pub notices: Vec<String>,
}

/// What has become of one direction.
#[derive(Clone, Debug)]
pub struct DirectionOutcome {
    /// The incoming interface.
    pub from: String,
    /// The outgoing interface.
    pub to: String,
    /// The port's rate.
    pub rate: Rate,
    /// What the port adds to every frame.
    pub overhead: Overhead,
    /// The final counters.
    pub counters: DirectionCounters,
    /// Per class: volumes, delays in the port, and all of it over time.
    pub record: PortRecorder,
    /// How long after its instant a packet was given to the kernel: what the machine adds to the port's delays.
    pub lateness: Delays,
    /// The share of the time for which the link was transmitting, 0 to 1.
    pub utilisation: f64,
    /// What the decision engine did, if it had a thread of its own ([`Options::end_system`]).
    pub engine: Option<EngineRecord>,
}

/// Carries packets between the two interfaces until `stop` is set, and then until the queues are empty or the time for draining them
/// is up. `on_tick` is called on this thread: as soon as packets are carried, and once a second from then on.
///
/// The interfaces are those of the calling thread's network namespace.
///
/// # Errors
/// [`LiveError`] if the bridge cannot start. Once it runs, it survives what happens to its interfaces.
pub fn run(config: LiveConfig, stop: &AtomicBool, on_tick: impl FnMut(&Tick)) -> Result<LiveOutcome, LiveError> {
    run_observed(config, stop, on_tick, [(), ()]).map(|(outcome, _)| outcome)
}

/// As [`run`], with an observer of each direction's port, from A to B and from B to A. Observers run on the packets' threads: they
/// delay packets by the time they take.
///
/// # Errors
/// As [`run`].
pub fn run_observed<O: Observer<Frame> + Send>(
    config: LiveConfig,
    stop: &AtomicBool,
    mut on_tick: impl FnMut(&Tick),
    observers: [O; 2],
) -> Result<(LiveOutcome, [O; 2]), LiveError> {
    let LiveConfig { interfaces: [a, b], setups: [a_to_b, b_to_a], links, options } = config;
    let inquiry = Inquiry::new().map_err(|cause| LiveError::system("opening a socket to ask for the state of", &a, cause))?;
    let facts = [inquiry.of_user(&a)?, inquiry.of_user(&b)?];
    if facts[0].index == facts[1].index {
        return Err(LiveError::SameInterface { name: a });
    }
    let shares = [describe(&a, &b, &a_to_b), describe(&b, &a, &b_to_a)];
    let notices = Mutex::new(Vec::new());
    // Held until packets are carried no more.
    let mut _locks = Vec::new();
    for (name, facts) in [&a, &b].into_iter().zip(&facts) {
        match InterfaceLock::take(name, facts.index) {
            Ok(lock) => _locks.push(lock),
            Err(error) if options.force => lock(&notices).push(format!("warning: {error} (it was given)")),
            Err(error) => return Err(error),
        }
    }
    for ((name, fact), setup) in [&a, &b].into_iter().zip(&facts).zip([&a_to_b, &b_to_a]) {
        lock(&notices).extend(doubts(&inquiry, name, fact, setup.longest_frame));
    }

    let (began, started) = (Instant::now(), clock::now());
    let [watch_a, watch_b] = observers;
    let there = prepare(started, [&a, &b], [&facts[0], &facts[1]], a_to_b, (links[0], 0), options, watch_a)?;
    let back = prepare(started, [&b, &a], [&facts[1], &facts[0]], b_to_a, (links[1], 1), options, watch_b)?;

    let states = [Mutex::new(there.state()), Mutex::new(back.state())];
    let (there, back) = thread::scope(|scope| {
        let start = |prepared, at: usize| {
            let thread = Thread { name: &shares[at], stop, options, state: &states[at], notices: &notices };
            thread.start(scope, prepared, at).map_err(|cause| LiveError::system("starting a thread for", &shares[at].from, cause))
        };
        let there = start(there, 0)?;
        let back = start(back, 1).inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
        tell(began, &states, &notices, &mut on_tick, &inquiry, [&a, &b], || {
            // Only a stop ends a direction, or a panic: then the other must not carry on alone.
            if there.is_finished() || back.is_finished() {
                stop.store(true, Ordering::Relaxed);
            }
            there.is_finished() && back.is_finished()
        });
        // A panic in a direction is a defect: it goes on in the caller.
        let join = |thread: thread::ScopedJoinHandle<_>| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok::<_, LiveError>((join(there), join(back)))
    })?;

    let elapsed = began.elapsed();
    let [to_b, to_a] = shares;
    let (there, watch_a) = outcome(to_b, there, elapsed);
    let (back, watch_b) = outcome(to_a, back, elapsed);
    let notices = notices.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((LiveOutcome { directions: [there, back], elapsed, notices }, [watch_a, watch_b]))
}

/// What is said about a direction whatever happens to it.
#[derive(Debug)]
struct Share {
    from: String,
    to: String,
    rate: Rate,
    overhead: Overhead,
}

fn describe(from: &str, to: &str, setup: &PortSetup) -> Share {
    Share { from: from.to_owned(), to: to.to_owned(), rate: setup.rate, overhead: setup.overhead }
}

/// Opens both ends of a direction.
fn prepare<O: Observer<Frame>>(
    now: Time,
    [from, to]: [&str; 2],
    [incoming, outgoing]: [&Facts; 2],
    setup: PortSetup,
    (link, number): (Link, u64),
    options: Options,
    observer: O,
) -> Result<Prepared<O>, LiveError> {
    if options.end_system && matches!(setup.buffer, AnyBufferManager::LongestQueuePushOut(_)) {
        return Err(LiveError::PushOut { direction: format!("{from} -> {to}") });
    }
    let receiver = ReceiveRing::open(from, incoming.index, incoming.mtu, options.ring as usize)?;
    let transmitter = SendSocket::open(to, outgoing.index)?;
    let longest = setup.longest_frame;
    let on_link = u32::try_from(link.extent(setup.rate, setup.overhead, longest).packets).unwrap_or(u32::MAX);
    let slots = setup.packet_limit.saturating_add(on_link).saturating_add(options.spare_frames);
    let Options { checksums, catch_up, spin, .. } = options;
    let treatment = Treatment { checksums, catch_up, spin, slots, link, number };
    let connected = [incoming, outgoing].map(|facts| facts.up && facts.carrier);
    let prepared = if options.end_system {
        end_system::open(now, setup, treatment, receiver, transmitter, connected, observer).map(Prepared::Split)
    } else {
        Direction::new(now, setup, treatment, receiver, transmitter, connected, observer).map(Prepared::Whole)
    };
    prepared.map_err(|cause| LiveError::Memory { direction: format!("{from} -> {to}"), bytes: FramePool::size(slots, longest), cause })
}

/// A direction before its threads have been started.
// There are two of them, and they are moved once.
#[allow(clippy::large_enum_variant)]
enum Prepared<O> {
    /// In one thread.
    Whole(Direction<ReceiveRing, SendSocket, O>),
    /// In three.
    Split(Parts<ReceiveRing, SendSocket, O>),
}

impl<O: Observer<Frame>> Prepared<O> {
    fn state(&self) -> DirectionState {
        match self {
            Prepared::Whole(direction) => state_of(direction.counters(), direction.recorder()),
            Prepared::Split(parts) => state_of(parts.intake.counters(), parts.intake.recorder()),
        }
    }
}

/// What an operator should know about an interface before packets are carried.
fn doubts(inquiry: &Inquiry, name: &str, facts: &Facts, longest_frame: u32) -> Vec<String> {
    let mut doubts = Vec::new();
    if !facts.up {
        doubts.push(format!("{name} is down; packets flow once it is up: `ip link set {name} up`"));
    } else if !facts.carrier {
        doubts.push(format!("{name} is not connected; packets flow once its other end is up"));
    }
    // An Ethernet header and one VLAN tag.
    if facts.mtu.saturating_add(18) > longest_frame {
        doubts.push(format!(
            "{name} takes packets of {} bytes (MTU), but the policy drops frames longer than {longest_frame} bytes as oversize: set \
             longest_frame to at least {}",
            facts.mtu,
            facts.mtu.saturating_add(18)
        ));
    }
    if inquiry.joins_packets(name) {
        doubts.push(format!(
            "{name} joins packets in hardware (LRO) and they cannot be told apart again: switch it off with `ethtool -K {name} lro off`"
        ));
    }
    if interface::has_address(name) {
        doubts.push(format!(
            "{name} has an address of this host, which will answer for itself beside the bridge: remove it with `ip addr flush dev {name}`"
        ));
    }
    if let Some(master) = interface::master(name, facts.index) {
        doubts.push(format!(
            "{name} is a port of {master}, which carries the same frames, past the policy: take it out with `ip link set {name} nomaster`"
        ));
    }
    doubts
}

/// A frame that fits into one interface may not fit into the other.
fn mtu_doubt([a, b]: [&str; 2], [mtu_a, mtu_b]: [u32; 2]) -> Option<String> {
    (mtu_a != mtu_b).then(|| {
        let (small, large) = if mtu_a < mtu_b { (a, b) } else { (b, a) };
        format!(
            "{a} has an MTU of {mtu_a} bytes and {b} one of {mtu_b}: longer packets from {large} are dropped at {small}. Make them equal with \
             `ip link set {small} mtu {}`",
            mtu_a.max(mtu_b)
        )
    })
}

/// Tells the operator what happens, once a second, until both directions have ended.
fn tell(
    began: Instant,
    states: &[Mutex<DirectionState>; 2],
    notices: &Mutex<Vec<String>>,
    on_tick: &mut impl FnMut(&Tick),
    inquiry: &Inquiry,
    names: [&str; 2],
    ended: impl Fn() -> bool,
) {
    const STEP: std::time::Duration = std::time::Duration::from_millis(10);
    let mut current: [DirectionState; 2] = Default::default();
    let (mut told, mut next, mut mtus) = (0, std::time::Duration::ZERO, None);
    loop {
        let elapsed = began.elapsed();
        if elapsed >= next {
            next += std::time::Duration::from_secs(1);
            if let [Ok(a), Ok(b)] = names.map(|name| inquiry.facts(name))
                && mtus.replace([a.mtu, b.mtu]) != Some([a.mtu, b.mtu])
            {
                lock(notices).extend(mtu_doubt(names, [a.mtu, b.mtu]));
            }
            for (current, state) in current.iter_mut().zip(states) {
                current.clone_from(&lock(state));
            }
            let fresh: Vec<String> = lock(notices)[told..].to_vec();
            told += fresh.len();
            on_tick(&Tick { elapsed, directions: &current, notices: &fresh });
        }
        if ended() {
            return;
        }
        thread::sleep(STEP);
    }
}

/// One direction's thread.
#[derive(Clone, Copy)]
struct Thread<'a> {
    name: &'a Share,
    stop: &'a AtomicBool,
    options: Options,
    state: &'a Mutex<DirectionState>,
    notices: &'a Mutex<Vec<String>>,
}

impl<'a> Thread<'a> {
    /// Starts what carries a direction's packets: a thread, or three.
    fn start<'scope, O: Observer<Frame> + Send + 'scope>(
        self,
        scope: &'scope thread::Scope<'scope, '_>,
        prepared: Prepared<O>,
        number: usize,
    ) -> io::Result<thread::ScopedJoinHandle<'scope, Remains<O>>>
    where
        'a: 'scope,
    {
        // The kernel shows 15 characters.
        let named = |part: &str| thread::Builder::new().name(format!("tidegate-{number}{part}"));
        match prepared {
            Prepared::Whole(direction) => named("").spawn_scoped(scope, move || {
                self.be_precise();
                self.carry(direction)
            }),
            Prepared::Split(Parts { intake, mut engine, mut outlet }) => {
                let engine = named("-pick").spawn_scoped(scope, move || {
                    self.be_precise();
                    if let Some(core) = self.options.decision_core
                        && let Err(cause) = clock::stay_on(core)
                    {
                        lock(self.notices).push(format!("decisions cannot be made on core {core} ({cause}); they are made on any"));
                    }
                    engine.run()
                })?;
                let outlet = named("-out").spawn_scoped(scope, move || {
                    self.be_precise();
                    outlet.run(self.options.spin);
                    outlet
                })?;
                named("-in").spawn_scoped(scope, move || {
                    self.be_precise();
                    self.carry(Split { intake, engine, outlet })
                })
            }
        }
    }

    fn be_precise(&self) {
        if let Some(priority) = self.options.real_time_priority
            && let Err(cause) = clock::be_precise(i32::from(priority))
        {
            let notice = format!(
                "real-time scheduling was refused ({cause}): packets may leave milliseconds late when the machine is busy. Run as root or \
                 grant CAP_SYS_NICE"
            );
            let mut notices = lock(self.notices);
            if !notices.contains(&notice) {
                notices.push(notice);
            }
        }
    }

    fn carry<O>(self, mut direction: impl Carry<O>) -> Remains<O> {
        let mut chores = clock::now();
        let mut deadline = None;
        loop {
            let now = clock::now();
            if !now.is_before(chores) {
                chores = now + CHORES;
                if deadline.is_none() && self.stop.load(Ordering::Relaxed) {
                    deadline = Some(now + self.options.drain);
                }
                self.attend(&mut direction, now);
                if direction.is_broken() {
                    return direction.finish(now);
                }
            }
            let next = direction.turn(now, deadline.is_none());
            if deadline.is_some_and(|deadline| next == Next::Idle || !now.is_before(deadline)) {
                return direction.finish(now);
            }
            let wake = match next {
                Next::Again => continue,
                Next::At(time) => (time - self.options.spin).earlier(chores),
                Next::Blocked => now + RETRY,
                Next::Idle => chores,
            };
            let wake = deadline.map_or(wake, |deadline| wake.earlier(deadline));
            // The turn took its time: what is left to wait counts from now.
            let left = wake.since(clock::now());
            if left == Duration::ZERO {
                continue;
            }
            let socket = if deadline.is_none() { direction.descriptor() } else { None };
            if clock::wait(socket, left) == Woken::SocketError {
                let now = clock::now();
                self.attend(&mut direction, now);
                // An error that does not go away must not keep the processor busy.
                clock::wait(None, RETRY);
            }
        }
    }

    fn attend<O>(&self, direction: &mut impl Carry<O>, now: Time) {
        if direction.attend(now) {
            let counters = direction.counters();
            let state = |up| if up { "connected" } else { "down" };
            let Share { from, to, .. } = self.name;
            lock(self.notices).push(format!(
                "{from} -> {to}: {from} is {}, {to} is {}",
                state(counters.receiving),
                state(counters.sending)
            ));
        }
        // Without waiting: whoever reads it may be slow, and the next chance comes soon.
        if let Ok(mut state) = self.state.try_lock() {
            state.counters = direction.counters();
            for (class, record) in state.classes.iter_mut().zip(direction.recorder().classes()) {
                *class = class_state(record);
            }
        }
    }
}

fn state_of(counters: DirectionCounters, recorder: &PortRecorder) -> DirectionState {
    DirectionState { counters, classes: recorder.classes().iter().map(class_state).collect() }
}

fn class_state(record: &ClassRecord) -> ClassState {
    ClassState { offered: record.offered, sent: record.sent, dropped: record.dropped_in_all(), marked: record.marked }
}

fn outcome<O>(share: Share, remains: Remains<O>, elapsed: std::time::Duration) -> (DirectionOutcome, O) {
    let Share { from, to, rate, overhead } = share;
    let Remains { counters, recorder: record, lateness, busy, observer, engine } = remains;
    // A transmission that started counts in full, also if it ends after the end.
    let utilisation = (busy as f64 / PICOSECONDS_PER_SECOND as f64 / elapsed.as_secs_f64().max(1e-9)).min(1.0);
    (DirectionOutcome { from, to, rate, overhead, counters, record, lateness, utilisation, engine }, observer)
}

/// Nothing is left half-done under these locks, so a panic elsewhere is no reason to stop.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
