//! The threads of one direction: they are opened, started and run here.

use crate::clock::{self, Woken};
use crate::config::Options;
use crate::control::{Answering, Line};
use crate::counters::DirectionCounters;
use crate::direction::Direction;
use crate::direction_loop::{DirectionLoop, DirectionOptions, DirectionReport, MAINTENANCE_INTERVAL, Next, RETRY_INTERVAL};
use crate::end_system::{self, EndSystemDirection, Parts};
use crate::endpoint::{Endpoint, Tagging};
use crate::error::LiveError;
use crate::examination;
use crate::interface::InterfaceState;
use crate::locks::lock;
use crate::packet::{ReceiveRing, SendSocket};
use crate::pool::FramePool;
use crate::port_change::{ChangeBuilder, PortChange};
use crate::watch::StageObserver;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use tidegate_core::buffer::BufferManager;
use tidegate_core::port::PortSetup;
use tidegate_core::units::{Duration, Time};
use tidegate_link::Link;

/// A direction before its threads have been started.
// There are two of them, and each is moved once.
#[allow(clippy::large_enum_variant)]
pub(crate) enum PreparedDirection<O> {
    OneThread(Direction<ReceiveRing, SendSocket, O>, Option<ChangeBuilder>),
    ThreeThreads(Parts<ReceiveRing, SendSocket, O>),
}

impl<O: StageObserver> PreparedDirection<O> {
    /// Opens both ends of a direction.
    pub(crate) fn open(
        now: Time,
        [from, to]: [&Endpoint; 2],
        [incoming, outgoing]: [&InterfaceState; 2],
        (setup, changes): (PortSetup, Vec<PortChange>),
        (link, number): (Link, u64),
        options: Options,
        observer: O,
    ) -> Result<PreparedDirection<O>, LiveError> {
        let direction = || format!("{} -> {}", from.shown, to.shown);
        if options.end_system && setup.buffer.pushes_out() {
            return Err(LiveError::PushOut { direction: direction() });
        }
        if options.end_system && link.rates.is_some() {
            return Err(LiveError::VaryingRate { direction: direction() });
        }
        let tagging = Tagging { incoming: from.vlan, outgoing: to.vlan };
        let receiver = ReceiveRing::open(&from.name, incoming.index, incoming.mtu, options.ring as usize, tagging)?;
        let transmitter = SendSocket::open(&to.name, outgoing.index)?;
        let longest = setup.longest_frame;
        let setups = || changes.iter().map(|change| &change.setup).chain([&setup]);
        let on_link = |setup: &PortSetup| u32::try_from(link.extent(setup.rate, setup.overhead, longest).packets).unwrap_or(u32::MAX);
        let (on_link, limit) = (setups().map(on_link).max(), setups().map(|setup| setup.packet_limit).max());
        let room = limit.unwrap_or(0).max(options.packets);
        let slots = room.saturating_add(on_link.unwrap_or(0)).saturating_add(options.spare_frames);
        let Options { checksums, ack_filter, batch, catch_up, spin, .. } = options;
        let direction_options = DirectionOptions { checksums, ack_filter, batch, catch_up, spin, slots, room, link, number };
        let connected = [incoming, outgoing].map(|state| state.up && state.carrier);
        let prepared = if options.end_system {
            end_system::open(now, setup, direction_options, receiver, transmitter, connected, observer).map(PreparedDirection::ThreeThreads)
        } else {
            Direction::new(now, setup, direction_options, receiver, transmitter, connected, observer).map(|mut direction| {
                let builder = direction.follow(now, changes);
                PreparedDirection::OneThread(direction, builder)
            })
        };
        prepared.map_err(|cause| LiveError::Memory { direction: direction(), bytes: FramePool::size(slots, longest), cause })
    }

    pub(crate) fn counters(&self) -> DirectionCounters {
        match self {
            PreparedDirection::OneThread(direction, _) => direction.counters(),
            PreparedDirection::ThreeThreads(parts) => parts.intake.counters(),
        }
    }
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
        // The kernel shows 15 characters.
        let named = |part: &str| thread::Builder::new().name(format!("tidegate-{number}{part}"));
        match prepared {
            PreparedDirection::OneThread(direction, builder) => {
                if let Some(builder) = builder {
                    named("-next").spawn_scoped(scope, move || builder.run())?;
                }
                named("").spawn_scoped(scope, move || {
                    self.set_real_time_priority();
                    self.run(direction)
                })
            }
            PreparedDirection::ThreeThreads(Parts { intake, mut engine, mut outlet }) => {
                let engine = named("-pick").spawn_scoped(scope, move || {
                    self.set_real_time_priority();
                    if let Some(core) = self.options.decision_core
                        && let Err(cause) = clock::stay_on(core)
                    {
                        lock(self.notices)
                            .push(format!("warning: decisions cannot be made on core {core} ({cause}), so they are made on any"));
                    }
                    engine.run()
                })?;
                let outlet = named("-out").spawn_scoped(scope, move || {
                    self.set_real_time_priority();
                    outlet.run(self.options.spin);
                    outlet
                })?;
                named("-in").spawn_scoped(scope, move || {
                    self.set_real_time_priority();
                    self.run(EndSystemDirection { intake, engine, outlet })
                })
            }
        }
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
        let mut deadline = None;
        let mut answering = Some(Answering::new(self.line));
        loop {
            let now = clock::now();
            if !now.is_before(next_maintenance) {
                next_maintenance = now + MAINTENANCE_INTERVAL;
                if deadline.is_none() && self.stop.load(Ordering::Relaxed) {
                    deadline = Some(now + self.options.drain);
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
            let next = direction.poll(now, deadline.is_none());
            if deadline.is_some_and(|deadline| next == Next::Idle || !now.is_before(deadline)) {
                return direction.finish(now);
            }
            let wake = match next {
                Next::Again => continue,
                _ if is_asked => continue,
                Next::At(time) => (time - self.options.spin).earlier(next_maintenance),
                Next::Blocked => now + RETRY_INTERVAL,
                Next::Idle => next_maintenance,
            };
            let wake = deadline.map_or(wake, |deadline| wake.earlier(deadline));
            // The poll took time, so the remaining wait counts from now.
            let left = wake.since(clock::now());
            if left == Duration::ZERO {
                continue;
            }
            let socket = if deadline.is_none() { direction.descriptor() } else { None };
            let woken = clock::wait(socket, left);
            direction.woken();
            if woken == Woken::SocketError {
                let now = clock::now();
                self.maintain(&mut direction, now);
                // A persistent error must not keep the processor busy.
                clock::wait(None, RETRY_INTERVAL);
            }
        }
    }

    fn maintain<O>(&self, direction: &mut impl DirectionLoop<O>, now: Time) {
        if direction.maintain(now) {
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
