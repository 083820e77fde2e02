//! The start, the ticks and the end of a bridge.

use crate::clock;
use crate::config::{Io, LiveConfig};
use crate::control::Control;
use crate::counters::DirectionCounters;
use crate::direction_loop::DirectionReport;
use crate::direction_thread::{self, DirectionThread, PreparedDirection};
use crate::endpoint::Endpoint;
use crate::error::LiveError;
use crate::interface::ControlSocket;
use crate::interface_lock::{self, InterfaceLock};
use crate::interface_warnings;
use crate::io_mode::{self, Opened};
use crate::live_outcome::{DirectionOutcome, LiveOutcome, Tick};
use crate::locks::lock;
use crate::memory;
use crate::take_over::InheritedPair;
use crate::watch::StageObserver;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tidegate_core::port::PortSetup;
use tidegate_core::units::{Overhead, PICOSECONDS_PER_SECOND, Rate};

/// Carries packets between the two interfaces until `stop` is set, and then until the queues are empty or the drain time is over. `on_tick`
/// is called on this thread: as soon as packets are carried, and then once a second.
///
/// The interfaces are those of the calling thread's network namespace.
///
/// # Errors
/// [`LiveError`] if the bridge cannot start. A running bridge survives whatever happens to its interfaces.
pub fn run(config: LiveConfig, stop: &AtomicBool, on_tick: impl FnMut(&Tick)) -> Result<LiveOutcome, LiveError> {
    run_observed(config, stop, on_tick, [(), ()]).map(|(outcome, _)| outcome)
}

/// As [`run`], with an observer of each direction's port, from A to B and from B to A. Observers run on the packets' threads, so they delay
/// packets by the time they take.
///
/// # Errors
/// As [`run`].
pub fn run_observed<O: StageObserver + Send>(
    config: LiveConfig,
    stop: &AtomicBool,
    mut on_tick: impl FnMut(&Tick),
    observers: [O; 2],
) -> Result<(LiveOutcome, [O; 2]), LiveError> {
    let LiveConfig {
        interfaces: [a, b],
        setups: [a_to_b, b_to_a],
        links: [link_there, link_back],
        changes: [change_there, change_back],
        control: requests,
        heartbeat,
        take_over,
        options,
    } = config;
    let _answering = requests.until_the_end();
    let control = ControlSocket::new().map_err(|cause| LiveError::system("opening a socket to ask for the state of", &a, cause))?;
    let [end_a, end_b] = [Endpoint::new(&a)?, Endpoint::new(&b)?];
    let [state_a, state_b] = [control.ethernet_state(&end_a.name)?, control.ethernet_state(&end_b.name)?];
    if (state_a.index, end_a.vlan) == (state_b.index, end_b.vlan) {
        return Err(LiveError::SameInterface { name: a });
    }
    let labels = [DirectionLabel::new(&a, &b, &a_to_b), DirectionLabel::new(&b, &a, &b_to_a)];
    let notices = Mutex::new(Vec::new());
    // Held until no packets are carried any more.
    let mut locks = Vec::new();
    for (endpoint, state) in [(&end_a, &state_a), (&end_b, &state_b)].into_iter().filter(|_| take_over.is_none()) {
        match InterfaceLock::take(endpoint, state.index, end_a.vlan.is_some() || end_b.vlan.is_some()) {
            Ok(lock) => locks.extend(lock.into_descriptors()),
            Err(error) if options.force => lock(&notices).push(format!("warning: {error} (it was given)")),
            Err(error) => return Err(error),
        }
    }
    let checked = [(end_a.name.as_str(), a_to_b.longest_frame), (end_b.name.as_str(), b_to_a.longest_frame)];
    let mut watched = Watched { control: &control, pair: checked, requests: &requests, known: Vec::new() };
    lock(&notices).extend(interface_warnings::outages(&control, [&end_a.name, &end_b.name]));
    watched.check(&notices);

    let held = [
        direction_thread::held(&a_to_b, &change_there, &link_there, options),
        direction_thread::held(&b_to_a, &change_back, &link_back, options),
    ];
    let Opened { ends: [ends_there, ends_back], mode, warning } =
        io_mode::open(&control, [&end_a, &end_b], [&state_a, &state_b], held, options);
    lock(&notices).extend(warning);
    if let (Some((heartbeat, _)), [Some(_), _] | [_, Some(_)]) = (&heartbeat, [&ends_there, &ends_back]) {
        heartbeat.exclusive();
    }
    let mode = format!("{a} and {b}: {mode}");
    // Packet sockets are the default, which needs no mention.
    if options.io != Io::Packet {
        lock(&notices).push(mode.clone());
    }
    requests.set_mode(mode);
    let takes_over = take_over.is_some();
    let before = take_over.as_ref().map_or(Duration::ZERO, |(take_over, _)| take_over.before());

    let (began, now) = (Instant::now(), clock::now());
    let pulse = |number| heartbeat.as_ref().map(|(heartbeat, pair)| heartbeat.pulse(2 * pair + number));
    let [observer_a, observer_b] = observers;
    let (from, to, [in_a, in_b]) = ([&end_a, &end_b], [&end_b, &end_a], [&state_a, &state_b]);
    let mut there = PreparedDirection::open(
        now,
        ends_there,
        from,
        [in_a, in_b],
        (a_to_b, change_there),
        (link_there, 0, pulse(0), takes_over),
        options,
        observer_a,
    )?;
    let link_back = (link_back, 1, pulse(1), takes_over);
    let mut back = PreparedDirection::open(now, ends_back, to, [in_b, in_a], (b_to_a, change_back), link_back, options, observer_b)?;
    if let Some((take_over, pair)) = take_over {
        let InheritedPair { directions: [to_b, to_a], locks: inherited } = take_over.prepared(pair)?;
        thread::scope(|scope| {
            let other = scope.spawn(|| back.take_over(to_a));
            let one = there.take_over(to_b);
            one.and(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })?;
        locks = inherited;
        take_over.restored()?;
        interface_lock::renew(&locks);
    }
    requests.keep_locks(locks);

    memory::give_back_unused();
    let counters = [Mutex::new(there.counters()), Mutex::new(back.counters())];
    let pulses = [pulse(0), pulse(1)];
    let (there, back) = thread::scope(|scope| {
        let start = |prepared, number: usize| {
            let DirectionLabel { from, to, .. } = &labels[number];
            let line = requests.line(number);
            let pulse = pulses[number].as_ref();
            let thread = DirectionThread { from, to, stop, options, counters: &counters[number], notices: &notices, line, pulse };
            thread.start(scope, prepared, number).map_err(|cause| LiveError::system("starting a thread for", from, cause))
        };
        let there = start(there, 0)?;
        let back = start(back, 1).inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
        tick_until_ended(began, &counters, &notices, &mut on_tick, &mut watched, || {
            // A direction ends by the stop flag or a panic; after a panic the other one must not go on alone.
            if there.is_finished() || back.is_finished() {
                stop.store(true, Ordering::Relaxed);
            }
            there.is_finished() && back.is_finished()
        });
        // A panic in a direction is a defect, which continues in the caller.
        let join = |thread: thread::ScopedJoinHandle<_>| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok::<_, LiveError>((join(there), join(back)))
    })?;

    let elapsed = before + began.elapsed();
    let [to_b, to_a] = labels;
    let (there, observer_a) = to_b.outcome(there, elapsed);
    let (back, observer_b) = to_a.outcome(back, elapsed);
    let notices = notices.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((LiveOutcome { directions: [there, back], elapsed, notices }, [observer_a, observer_b]))
}

/// The interfaces of a bridge, looked at once a second.
struct Watched<'a> {
    control: &'a ControlSocket,
    /// Each interface with the longest frame of the policy for what comes in on it.
    pair: [(&'a str, u32); 2],
    requests: &'a Control,
    /// The warnings about settings that held when they were last looked at.
    known: Vec<String>,
}

impl Watched<'_> {
    /// Publishes the warnings that hold. One about settings that is new becomes a notice; the directions notice outages themselves.
    fn check(&mut self, notices: &Mutex<Vec<String>>) {
        let settings = interface_warnings::settings(self.control, self.pair);
        lock(notices).extend(settings.iter().filter(|warning| !self.known.contains(warning)).cloned());
        let outages = interface_warnings::outages(self.control, self.pair.map(|(name, _)| name));
        self.requests.warn(outages.into_iter().chain(settings.iter().cloned()).collect());
        self.known = settings;
    }
}

/// The constants of a direction that its outcome repeats.
#[derive(Debug)]
struct DirectionLabel {
    from: String,
    to: String,
    rate: Rate,
    overhead: Overhead,
}

impl DirectionLabel {
    fn new(from: &str, to: &str, setup: &PortSetup) -> DirectionLabel {
        DirectionLabel { from: from.to_owned(), to: to.to_owned(), rate: setup.rate, overhead: setup.overhead }
    }

    fn outcome<O>(self, report: DirectionReport<O>, elapsed: Duration) -> (DirectionOutcome, O) {
        let DirectionLabel { from, to, rate, overhead } = self;
        let DirectionReport { counters, recorder: record, lateness, busy, observer, engine, changes } = report;
        // A transmission that has started counts in full, even if it ends after the bridge.
        let utilisation = (busy as f64 / PICOSECONDS_PER_SECOND as f64 / elapsed.as_secs_f64().max(1e-9)).min(1.0);
        (DirectionOutcome { from, to, rate, overhead, counters, record, lateness, utilisation, engine, changes }, observer)
    }
}

/// Calls `on_tick` once a second until both directions have ended.
fn tick_until_ended(
    began: Instant,
    counters: &[Mutex<DirectionCounters>; 2],
    notices: &Mutex<Vec<String>>,
    on_tick: &mut impl FnMut(&Tick),
    watched: &mut Watched<'_>,
    ended: impl Fn() -> bool,
) {
    const CHECK_INTERVAL: Duration = Duration::from_millis(10);

    let (mut reported, mut next) = (0, Duration::ZERO);
    loop {
        let elapsed = began.elapsed();
        if elapsed >= next {
            next += Duration::from_secs(1);
            watched.check(notices);
            let current = counters.each_ref().map(|counters| *lock(counters));
            let fresh: Vec<String> = lock(notices)[reported..].to_vec();
            reported += fresh.len();
            on_tick(&Tick { elapsed, directions: &current, notices: &fresh });
        }
        if ended() {
            return;
        }
        thread::sleep(CHECK_INTERVAL);
    }
}
