//! The start, the ticks and the end of a bridge.

use crate::clock;
use crate::config::{Io, LiveConfig};
use crate::control::Control;
use crate::counters::DirectionCounters;
use crate::direction_loop::DirectionReport;
use crate::direction_thread::{self, DirectionConfig, DirectionThread, PreparedDirection};
use crate::endpoint::Endpoint;
use crate::error::LiveError;
use crate::heartbeat::Pulse;
use crate::interface::ControlSocket;
use crate::interface_lock::{self, InterfaceLock};
use crate::interface_warnings;
use crate::io_mode::{self, Opened};
use crate::live_outcome::{DirectionOutcome, LiveOutcome, Tick};
use crate::locks::lock;
use crate::memory;
use crate::take_over::InheritedPair;
use crate::watch::StageObserver;
use crate::workers;
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
        workers: [workers_there, workers_back],
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
        direction_thread::held(&a_to_b, &change_there, &link_there, (options, workers_there.as_ref())),
        direction_thread::held(&b_to_a, &change_back, &link_back, (options, workers_back.as_ref())),
    ];
    let Opened { ends: [ends_there, ends_back], mode, warning } =
        io_mode::open(&control, [&end_a, &end_b], [&state_a, &state_b], held, options);
    lock(&notices).extend(warning);
    if let Some((heartbeat, _)) = heartbeat.as_ref().filter(|_| !ends_there.is_empty()) {
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
    let pulses = [&workers_there, &workers_back].map(|workers| workers.as_ref().map(|workers| workers.count as usize));
    let pulses =
        [0, 1].map(|number| pulses_of(heartbeat.as_ref().map(|(heartbeat, pair)| heartbeat.pulse(2 * pair + number)), pulses[number]));
    let [observer_a, observer_b] = observers;
    let there = DirectionConfig {
        endpoints: [&end_a, &end_b],
        states: [&state_a, &state_b],
        ends: ends_there,
        setup: a_to_b,
        changes: change_there,
        link: link_there,
        number: 0,
        workers: workers_there,
        pulses: pulses[0].clone(),
        takes_over,
        options,
    };
    let back = DirectionConfig {
        endpoints: [&end_b, &end_a],
        states: [&state_b, &state_a],
        ends: ends_back,
        setup: b_to_a,
        changes: change_back,
        link: link_back,
        number: 1,
        workers: workers_back,
        pulses: pulses[1].clone(),
        takes_over,
        options,
    };
    let mut there = PreparedDirection::open(now, there, observer_a)?;
    let mut back = PreparedDirection::open(now, back, observer_b)?;
    // While no packet waits for it.
    memory::give_back_unused();
    if let Some((take_over, pair)) = take_over {
        let InheritedPair { directions: [to_b, to_a], locks: inherited } = take_over.prepared(pair)?;
        thread::scope(|scope| {
            let other = scope.spawn(|| back[0].take_over(to_a));
            let one = there[0].take_over(to_b);
            one.and(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })?;
        locks = inherited;
        take_over.restored()?;
        interface_lock::renew(&locks);
    }
    requests.keep_locks(locks);

    let counters = [&there, &back].map(|workers| workers.iter().map(|worker| Mutex::new(worker.counters())).collect::<Vec<_>>());
    let (there, back) = thread::scope(|scope| {
        let start = |prepared: Vec<PreparedDirection<O>>, number: usize| {
            let DirectionLabel { from, to, .. } = &labels[number];
            let has_several = prepared.len() > 1;
            let started = prepared.into_iter().enumerate().map(|(worker, prepared)| {
                let (line, pulse) = (requests.line(number, worker), pulses[number][worker].as_ref());
                let (counters, worker) = (&counters[number][worker], has_several.then_some(worker));
                let thread = DirectionThread { from, to, stop, options, counters, notices: &notices, line, pulse, worker };
                thread.start(scope, prepared, number).map_err(|cause| LiveError::system("starting a thread for", from, cause))
            });
            started.collect::<Result<Vec<_>, _>>().inspect_err(|_| stop.store(true, Ordering::Relaxed))
        };
        let there = start(there, 0)?;
        let back = start(back, 1)?;
        let threads = || there.iter().chain(&back);
        tick_until_ended(began, &counters, &notices, &mut on_tick, &mut watched, || {
            // A direction ends by the stop flag or a panic; after a panic the other one must not go on alone.
            if threads().any(thread::ScopedJoinHandle::is_finished) {
                stop.store(true, Ordering::Relaxed);
            }
            threads().all(thread::ScopedJoinHandle::is_finished)
        });
        // A panic in a direction is a defect, which continues in the caller.
        let join = |thread: thread::ScopedJoinHandle<_>| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let join_all = |threads: Vec<_>| threads.into_iter().map(join).collect::<Vec<_>>();
        Ok::<_, LiveError>((join_all(there), join_all(back)))
    })?;

    let elapsed = before + began.elapsed();
    let [to_b, to_a] = labels;
    let (there, observer_a) = to_b.outcome(there, elapsed);
    let (back, observer_b) = to_a.outcome(back, elapsed);
    let notices = notices.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((LiveOutcome { directions: [there, back], elapsed, notices }, [observer_a, observer_b]))
}

/// What a guardian watches, for each worker of a direction.
fn pulses_of(pulse: Option<Pulse>, workers: Option<usize>) -> Vec<Option<Pulse>> {
    match (pulse, workers) {
        (None, workers) => vec![None; workers.unwrap_or(1)],
        (Some(pulse), None) => vec![Some(pulse)],
        (Some(pulse), Some(workers)) => pulse.of_workers(workers).into_iter().map(Some).collect(),
    }
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

    fn outcome<O>(self, workers: Vec<DirectionReport<O>>, elapsed: Duration) -> (DirectionOutcome, O) {
        let DirectionLabel { from, to, rate, overhead } = self;
        let Some(report) = workers::joined(workers) else { unreachable!("a direction has a worker") };
        let DirectionReport { counters, recorder: record, lateness, busy, observer, engine, changes, .. } = report;
        // A transmission that has started counts in full, even if it ends after the bridge.
        let utilisation = (busy as f64 / PICOSECONDS_PER_SECOND as f64 / elapsed.as_secs_f64().max(1e-9)).min(1.0);
        (DirectionOutcome { from, to, rate, overhead, counters, record, lateness, utilisation, engine, changes }, observer)
    }
}

/// Calls `on_tick` once a second until both directions have ended.
fn tick_until_ended(
    began: Instant,
    counters: &[Vec<Mutex<DirectionCounters>>; 2],
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
            let current = counters.each_ref().map(|workers| match &workers[..] {
                [one] => *lock(one),
                several => DirectionCounters::of_workers(several.iter().map(|counters| *lock(counters))),
            });
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
