//! The threads of one direction: they are opened, started and run here.

use crate::clock::{self, Woken};
use crate::config::Options;
use crate::control::{Answering, Line, StandStill};
use crate::counters::DirectionCounters;
use crate::direction::Direction;
use crate::direction_loop::{DirectionLoop, DirectionOptions, DirectionReport, MAINTENANCE_INTERVAL, Next, RETRY_INTERVAL};
use crate::end_system::{self, EndSystemDirection, Parts};
use crate::endpoint::{Endpoint, Tagging};
use crate::error::LiveError;
use crate::examination;
use crate::heartbeat::Pulse;
use crate::ingress::Checksums;
use crate::interface::InterfaceState;
use crate::io::{Receive, Transmit};
use crate::locks::lock;
use crate::packet::{FanoutGroup, ReceiveRing, SendSocket};
use crate::pool::FramePool;
use crate::port_change::{ChangeBuilder, PortChange};
use crate::take_over::{Inherited, PATIENCE};
use crate::watch::StageObserver;
use crate::workers::{self, Worker, ring};
use crate::xdp::{Held, XdpEnds, XdpReceiver, XdpTransmitter};
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;
use tidegate_core::buffer::BufferManager;
use tidegate_core::exchange::{WorkerMeter, Workers};
use tidegate_core::port::PortSetup;
use tidegate_core::units::{Duration, Time};
use tidegate_link::Link;

/// How often a thread is alive at least, if a guardian watches it.
const BEAT_INTERVAL: Duration = Duration::from_milliseconds(5);

/// A direction before its threads have been started.
// There are two of them, and each is moved once.
#[allow(clippy::large_enum_variant)]
pub(crate) enum PreparedDirection<O> {
    OneThread(Direction<ReceiveRing, SendSocket, O>, Option<ChangeBuilder>),
    Xdp(Direction<XdpReceiver, XdpTransmitter, O>, Option<ChangeBuilder>),
    ThreeThreads(Parts<ReceiveRing, SendSocket, O>),
}

/// What a direction needs to be opened.
pub(crate) struct DirectionConfig<'a> {
    pub(crate) endpoints: [&'a Endpoint; 2],
    /// The incoming and the outgoing interface.
    pub(crate) states: [&'a InterfaceState; 2],
    /// AF_XDP sockets that are open, for each worker; packet sockets are opened without.
    pub(crate) ends: Vec<XdpEnds>,
    pub(crate) setup: PortSetup,
    pub(crate) changes: Vec<PortChange>,
    pub(crate) link: Link,
    /// The number of the direction, from 0.
    pub(crate) number: u64,
    pub(crate) workers: Option<Workers>,
    /// What a guardian watches, for each worker.
    pub(crate) pulses: Vec<Option<Pulse>>,
    pub(crate) takes_over: bool,
    pub(crate) options: Options,
}

impl<O: StageObserver> PreparedDirection<O> {
    /// Opens both ends of a direction, unless they are open: one for each worker.
    pub(crate) fn open(now: Time, mut config: DirectionConfig<'_>, observer: O) -> Result<Vec<PreparedDirection<O>>, LiveError> {
        let mut ends = std::mem::take(&mut config.ends).into_iter();
        let DirectionConfig { endpoints: [from, _], setup, changes, link, workers, pulses, takes_over, options, .. } = &config;
        let direction = || config.shown();
        if options.end_system && setup.buffer.pushes_out() {
            return Err(LiveError::PushOut { direction: direction() });
        }
        if options.end_system && link.rates.is_some() {
            return Err(LiveError::VaryingRate { direction: direction() });
        }
        let Some(workers) = workers else {
            let pulse = pulses.first().cloned().flatten();
            return Ok(vec![config.open_one(now, (None, ends.next()), pulse, observer)?]);
        };
        let obstacles = [
            (options.end_system, "and an end system decides in one thread: leave out --end-system or the policy's `workers`"),
            (!changes.is_empty(), "and a policy that changes has one worker: leave out [[change]] or the policy's `workers`"),
            (link.rates.is_some(), "and a link whose rate varies has one: leave out `rates` of the link or the policy's `workers`"),
            (*takes_over, "and take nothing over: leave out --take-over or the policy's `workers`"),
            (
                observer.for_another_worker().is_none(),
                "and a recording follows packets through one: leave out --probe or the policy's `workers`",
            ),
        ];
        if let Some((_, why)) = obstacles.into_iter().find(|(is_so, _)| *is_so) {
            return Err(LiveError::OneWorker { direction: direction(), why });
        }
        let group = FanoutGroup::default();
        let others = (1..workers.count).filter_map(|_| observer.for_another_worker()).collect::<Vec<O>>();
        let observers = std::iter::once(observer).chain(others);
        let mut opened = Vec::new();
        for ((worker, pulse), observer) in workers::open(now, workers, setup, &direction())?.into_iter().zip(pulses.clone()).zip(observers)
        {
            let part = Part { meter: workers::meter(workers, setup), group: group.clone(), worker };
            opened.push(config.for_worker().open_one(now, (Some(part), ends.next()), pulse, observer)?);
        }
        for prepared in &opened {
            if let PreparedDirection::OneThread(direction, _) = prepared {
                direction.let_in().map_err(|cause| LiveError::system("letting frames in from", &from.shown, cause))?;
            }
        }
        Ok(opened)
    }

    /// Goes on where another process stood.
    pub(crate) fn take_over(&mut self, inherited: Inherited) -> Result<(), LiveError> {
        match self {
            PreparedDirection::OneThread(direction, _) => {
                direction.take_over(clock::now(), inherited).map_err(|error| LiveError::TakeOver(error.to_string()))
            }
            _ => Err(LiveError::TakeOver("only packet sockets can be taken over, and no end system".to_owned())),
        }
    }

    pub(crate) fn counters(&self) -> DirectionCounters {
        match self {
            PreparedDirection::OneThread(direction, _) => direction.counters(),
            PreparedDirection::Xdp(direction, _) => direction.counters(),
            PreparedDirection::ThreeThreads(parts) => parts.intake.counters(),
        }
    }
}

/// What makes a direction one of several workers.
struct Part {
    worker: Worker,
    meter: WorkerMeter,
    group: FanoutGroup,
}

impl DirectionConfig<'_> {
    /// The direction, as "A -> B".
    fn shown(&self) -> String {
        let [from, to] = self.endpoints;
        format!("{} -> {}", from.shown, to.shown)
    }

    /// The same for another worker.
    fn for_worker(&self) -> Self {
        let DirectionConfig { endpoints, states, ref setup, ref link, number, takes_over, options, .. } = *self;
        let (setup, link) = (setup.clone(), link.clone());
        DirectionConfig {
            endpoints,
            states,
            ends: Vec::new(),
            setup,
            changes: Vec::new(),
            link,
            number,
            workers: None,
            pulses: Vec::new(),
            takes_over,
            options,
        }
    }

    /// Opens a direction of one worker, or one of several. `ends` are its AF_XDP sockets; packet sockets are opened without.
    fn open_one<O: StageObserver>(
        self,
        now: Time,
        (part, ends): (Option<Part>, Option<XdpEnds>),
        pulse: Option<Pulse>,
        observer: O,
    ) -> Result<PreparedDirection<O>, LiveError> {
        let shown = self.shown();
        let DirectionConfig {
            endpoints: [from, to], states: [incoming, outgoing], setup, changes, link, number, takes_over, options, ..
        } = self;
        let tagging = Tagging { incoming: from.vlan, outgoing: to.vlan };
        let Held { slots, longest, .. } = held(&setup, &changes, &link, (options, None));
        let room = packets_of_port(&setup, &changes, options);
        let Options { ack_filter, batch, catch_up, spin, .. } = options;
        let checksums = if ends.as_ref().is_some_and(|ends| !ends.checksums) { Checksums::Complete } else { options.checksums };
        let others = part.as_ref().map_or(0, |part| part.worker.others());
        // Losses of workers are independent, too.
        let number = number + 2 * part.as_ref().map_or(0, |part| part.worker.number() as u64);
        let slots = ends.as_ref().map_or(slots.saturating_add(ring::CAPACITY as u32 * others), |ends| ends.pool.slots());
        let direction_options = DirectionOptions { checksums, ack_filter, batch, catch_up, spin, slots, room, link, number };
        let connected = [incoming, outgoing].map(|state| state.up && state.carrier);
        if let Some(XdpEnds { receiver, transmitter, pool, .. }) = ends {
            let mut direction = Direction::new(now, setup, direction_options, receiver, transmitter, connected, pool, observer);
            if let Some(Part { worker, meter, .. }) = part {
                direction.work(now, worker, meter);
            }
            let builder = direction.follow(now, changes);
            return Ok(PreparedDirection::Xdp(direction, builder));
        }
        let capacity = options.ring as usize;
        let (name, index, mtu) = (&from.name, incoming.index, incoming.mtu);
        let mut receiver = match &part {
            _ if takes_over => ReceiveRing::closed(name, capacity, tagging)?,
            Some(Part { group, .. }) => ReceiveRing::open_in(group.clone(), name, index, mtu, capacity, tagging)?,
            None => ReceiveRing::open(name, index, mtu, capacity, tagging)?,
        };
        receiver.guarded(pulse);
        let transmitter = SendSocket::open(&to.name, outgoing.index)?;
        let prepared = if options.end_system {
            end_system::open(now, setup, direction_options, receiver, transmitter, connected, observer).map(PreparedDirection::ThreeThreads)
        } else {
            FramePool::new(slots, longest).map(|pool| {
                let mut direction = Direction::new(now, setup, direction_options, receiver, transmitter, connected, pool, observer);
                direction.ends = [from.shown.clone(), to.shown.clone()];
                if let Some(Part { worker, meter, .. }) = part {
                    direction.work(now, worker, meter);
                }
                let builder = direction.follow(now, changes);
                PreparedDirection::OneThread(direction, builder)
            })
        };
        prepared.map_err(|cause| LiveError::Memory { direction: shown, bytes: FramePool::size(slots, longest), cause })
    }
}

/// The packets that the port of a direction may hold, now or after a change.
fn packets_of_port(setup: &PortSetup, changes: &[PortChange], options: Options) -> u32 {
    let setups = changes.iter().map(|change| &change.setup).chain([setup]);
    setups.map(|setup| setup.packet_limit).max().unwrap_or(0).max(options.packets)
}

/// The frames that each worker of a direction holds: those in its port, on its link, and on the way in and out.
pub(crate) fn held(setup: &PortSetup, changes: &[PortChange], link: &Link, (options, workers): (Options, Option<&Workers>)) -> Held {
    let workers = workers.map_or(1, |workers| workers.count);
    let longest = setup.longest_frame.max(options.longest_frame);
    let setups = changes.iter().map(|change| &change.setup).chain([setup]);
    let on_link = |setup: &PortSetup| u32::try_from(link.extent(setup.rate, setup.overhead, longest).packets).unwrap_or(u32::MAX);
    let on_link = setups.map(on_link).max().unwrap_or(0);
    Held { slots: packets_of_port(setup, changes, options).saturating_add(on_link).saturating_add(options.spare_frames), longest, workers }
}

/// A thread of a direction. The kernel shows 15 characters.
fn named(number: usize, part: &str) -> thread::Builder {
    thread::Builder::new().name(format!("tidegate-{number}{part}"))
}

/// What the threads of a direction share with the thread that started them.
#[derive(Clone, Copy)]
pub(crate) struct DirectionThread<'a> {
    pub(crate) from: &'a str,
    pub(crate) to: &'a str,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) options: Options,
    pub(crate) counters: &'a Mutex<DirectionCounters>,
    pub(crate) notices: &'a Mutex<Vec<String>>,
    pub(crate) line: &'a Line,
    /// What a guardian watches; for a direction in one thread.
    pub(crate) pulse: Option<&'a Pulse>,
    /// Which of several workers it is; the first says what happens to the interfaces.
    pub(crate) worker: Option<usize>,
}

impl<'a> DirectionThread<'a> {
    /// Starts the threads of a direction, one or three. The thread returned ends last.
    pub(crate) fn start<'scope, O: StageObserver + Send + 'scope>(
        self,
        scope: &'scope thread::Scope<'scope, '_>,
        prepared: PreparedDirection<O>,
        number: usize,
    ) -> io::Result<thread::ScopedJoinHandle<'scope, DirectionReport<O>>>
    where
        'a: 'scope,
    {
        match prepared {
            PreparedDirection::OneThread(direction, builder) => self.start_one(scope, direction, builder, number),
            PreparedDirection::Xdp(direction, builder) => self.start_one(scope, direction, builder, number),
            PreparedDirection::ThreeThreads(Parts { intake, mut engine, mut outlet }) => {
                let engine = named(number, "-pick").spawn_scoped(scope, move || {
                    self.set_real_time_priority();
                    if let Some(core) = self.options.decision_core
                        && let Err(cause) = clock::stay_on(core)
                    {
                        lock(self.notices)
                            .push(format!("warning: decisions cannot be made on core {core} ({cause}), so they are made on any"));
                    }
                    engine.run()
                })?;
                let outlet = named(number, "-out").spawn_scoped(scope, move || {
                    self.set_real_time_priority();
                    outlet.run(self.options.spin);
                    outlet
                })?;
                named(number, "-in").spawn_scoped(scope, move || {
                    self.set_real_time_priority();
                    self.run(EndSystemDirection { intake, engine, outlet })
                })
            }
        }
    }

    /// Starts a direction in one thread, and a thread that builds the policies that follow.
    fn start_one<'scope, R, T, O>(
        self,
        scope: &'scope thread::Scope<'scope, '_>,
        direction: Direction<R, T, O>,
        builder: Option<ChangeBuilder>,
        number: usize,
    ) -> io::Result<thread::ScopedJoinHandle<'scope, DirectionReport<O>>>
    where
        R: Receive + Send + 'scope,
        T: Transmit + Send + 'scope,
        O: StageObserver + Send + 'scope,
        'a: 'scope,
    {
        if let Some(builder) = builder {
            named(number, "-next").spawn_scoped(scope, move || builder.run())?;
        }
        let part = self.worker.map_or(String::new(), |worker| format!(".{worker}"));
        named(number, &part).spawn_scoped(scope, move || {
            self.set_real_time_priority();
            self.run(direction)
        })
    }

    fn set_real_time_priority(&self) {
        if let Some(priority) = self.options.real_time_priority
            && let Err(cause) = clock::set_real_time_priority(i32::from(priority))
        {
            let notice = examination::real_time_refused(&cause);
            let mut notices = lock(self.notices);
            if !notices.contains(&notice) {
                notices.push(notice);
            }
        }
    }

    /// Polls a direction until it has stopped and drained, or the drain time is over.
    fn run<O>(self, mut direction: impl DirectionLoop<O>) -> DirectionReport<O> {
        let mut next_maintenance = clock::now();
        let mut watch_until = next_maintenance;
        let mut deadline = None;
        let mut answering = Some(Answering::new(self.line));
        loop {
            let now = clock::now();
            if let Some(carried) = self.pulse.and_then(|pulse| pulse.beat(now)) {
                direction.skip(carried);
            }
            if !now.is_before(next_maintenance) {
                next_maintenance = now + MAINTENANCE_INTERVAL;
                if deadline.is_none() && self.stop.load(Ordering::Relaxed) {
                    deadline = Some(now + self.options.drain);
                    self.pulse.into_iter().for_each(Pulse::ending);
                    answering = None;
                }
                self.maintain(&mut direction, now);
                if direction.has_failed() {
                    return direction.finish(now);
                }
            }
            let asked = answering.as_mut().filter(|answering| answering.is_asked());
            let is_asked = asked.is_some();
            if let Some(answering) = asked {
                answering.answer(&mut direction, now);
            }
            if let Some(order) = answering.as_mut().and_then(|answering| answering.stand_still(now)) {
                if self.stand_still(&mut direction, now, order) {
                    self.pulse.into_iter().for_each(Pulse::ending);
                    drop(answering);
                    return direction.finish(clock::now());
                }
                continue;
            }
            let next = direction.poll(now, deadline.is_none());
            if deadline.is_some_and(|deadline| next == Next::Idle || !now.is_before(deadline)) {
                return direction.finish(now);
            }
            let wake = match next {
                Next::Again => {
                    watch_until = now + self.options.spin;
                    continue;
                }
                _ if is_asked => continue,
                Next::At(_) | Next::Idle if now.is_before(watch_until) && deadline.is_none() => continue,
                Next::At(time) => (time - self.options.spin).earlier(next_maintenance),
                Next::Blocked => now + RETRY_INTERVAL,
                Next::Idle => next_maintenance,
            };
            let wake = deadline.map_or(wake, |deadline| wake.earlier(deadline));
            let wake = answering.as_ref().and_then(Answering::stands_still_at).map_or(wake, |at| wake.earlier(at));
            let wake = if self.pulse.is_some() { wake.earlier(now + BEAT_INTERVAL) } else { wake };
            // The poll took time, so the remaining wait counts from now.
            let left = wake.since(clock::now());
            if left == Duration::ZERO {
                continue;
            }
            let socket = if deadline.is_none() { direction.descriptor() } else { None };
            let woken = clock::wait([socket, direction.waker()], left);
            direction.woken();
            if woken == Woken::SocketError {
                let now = clock::now();
                self.maintain(&mut direction, now);
                // A persistent error must not keep the processor busy.
                clock::wait([None, None], RETRY_INTERVAL);
            }
        }
    }

    /// Stands still between two packets until a successor carries, or does not. True if it does.
    #[cold]
    fn stand_still<O>(&self, direction: &mut impl DirectionLoop<O>, now: Time, order: StandStill) -> bool {
        let StandStill { reply, verdict, .. } = order;
        let shown = direction.stand_still(now);
        if shown.is_none() || reply.send(shown).is_err() {
            verdict.go_on();
        }
        let began = Instant::now();
        loop {
            if let Some(ends) = verdict.ends() {
                return ends;
            }
            if began.elapsed() >= PATIENCE {
                verdict.go_on();
            }
            // The guardian must not carry what the successor is about to.
            if let Some(carried) = self.pulse.and_then(|pulse| pulse.beat(clock::now())) {
                direction.skip(carried);
            }
            clock::wait([None, None], Duration::from_microseconds(100));
        }
    }

    fn maintain<O>(&self, direction: &mut impl DirectionLoop<O>, now: Time) {
        if direction.maintain(now) && self.worker.unwrap_or(0) == 0 {
            let counters = direction.counters();
            let state = |up| if up { "connected" } else { "down" };
            let DirectionThread { from, to, .. } = self;
            lock(self.notices).push(format!(
                "{from} -> {to}: {from} is {}, {to} is {}",
                state(counters.receiving),
                state(counters.sending)
            ));
        }
        // Never waits for a reader: the next attempt follows within a maintenance interval.
        if let Ok(mut counters) = self.counters.try_lock() {
            *counters = direction.counters();
        }
    }
}
