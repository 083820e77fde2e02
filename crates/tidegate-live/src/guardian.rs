//! The guardian of a bridge: it carries the frames when the bridge is gone or does not answer, so that a failed bridge is a cable and not a gap.
//!
//! A guardian is a process of its own with sockets of its own. These are open from the start and cost nothing while they are not needed: the kernel
//! gives them no frames. It cuts, shapes and drops nothing; super-frames pass whole.
//!
//! | what happens | what the guardian does |
//! |---|---|
//! | the process of the bridge has ended without having been told to | carries both directions of all pairs, until another bridge asks for them |
//! | a thread of a direction has not been alive for 25 ms, and the guardian has | carries that direction, until the thread is alive again |
//! | the same for 2 s, or 0.5 s with AF_XDP sockets, which leave the guardian no frame while they exist | says so, and the caller ends the bridge ([`Look::is_stuck`]) |
//! | the guardian was stopped as well (a suspended machine) | waits 25 ms from its own return |
//!
//! A thread that comes back asks for its frames, leaves out those that the guardian has carried, and goes on. What arrived between its last breath and the
//! take-over has waited in its ring, and leaves then, late. A frame that arrives at the very instant of a handover may pass twice or
//! be lost; no other is lost that the ring can hold.

use crate::clock::{self, Woken};
use crate::endpoint::{Endpoint, Tagging};
use crate::error::LiveError;
use crate::heartbeat::{Heartbeat, NOTHING, Pulse};
use crate::interface::ControlSocket;
use crate::io::{Place, Receive, SendError, Transmit};
use crate::offload::VIRTIO_HEADER;
use crate::packet::{ReceiveRing, SendSocket};
use std::io;
use std::ops::RangeInclusive;
use tidegate_core::port::Volume;
use tidegate_core::units::{Duration, Time};

/// How often a guardian looks.
const LOOK: Duration = Duration::from_milliseconds(2);

/// A thread that has not been alive for this long hangs. Threads are alive every 5 ms (`direction_thread`).
const HANG: Duration = Duration::from_milliseconds(25);

/// A thread that hangs for this long does not come back.
const STUCK: Duration = Duration::from_seconds(2);

/// The same where the guardian gets no frame before. A port stops for less than this where 100,000 subscribers change.
const EXCLUSIVE: Duration = Duration::from_milliseconds(500);

/// A guardian that has not looked for this long was stopped itself.
const STOPPED: Duration = Duration::from_milliseconds(10);

/// The real-time priority of a guardian: one above that of a bridge's threads by default.
const PRIORITY: i32 = 11;

/// How often the sockets are looked after, as an interface may go and come back.
const MAINTENANCE: Duration = Duration::from_milliseconds(50);

/// The frames in a direction's ring.
const SLOTS: usize = 2048;

/// The most frames per system call.
const BATCH: usize = 32;

/// The wait before another attempt to send frames for which the kernel has no room.
const RETRY: Duration = Duration::from_microseconds(50);

/// The number of such attempts. Then the frame is lost.
const ATTEMPTS: u32 = 20;

/// The sockets of all directions of a bridge, and the page that it shares.
pub struct Guardian {
    heartbeat: Heartbeat,
    directions: Vec<Guarded>,
    looked: Time,
    /// From when on the silence of a thread counts.
    counts_from: Time,
    maintained: Time,
    was_watched: bool,
}

/// What a look has found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Look {
    /// The directions that the guardian carries from now on, as "A -> B".
    pub taken_over: Vec<String>,
    /// Those that the bridge carries again, and what the guardian carried and lost of them.
    pub given_back: Vec<(String, Carried)>,
    /// A thread does not come back.
    pub is_stuck: bool,
}

/// What a guardian has carried of a direction since it took over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Carried {
    /// Frames passed on; a super-frame counts once.
    pub sent: Volume,
    /// Frames that the kernel did not take.
    pub lost: Volume,
}

struct Guarded {
    name: String,
    pulse: Pulse,
    receiver: ReceiveRing,
    transmitter: SendSocket,
    /// What has been carried since the take-over, if this guardian carries.
    carried: Option<Carried>,
    /// When the first and the latest frame that were carried arrived.
    span: RangeInclusive<u64>,
    /// Frames behind their virtio-net headers, of which the first `filled` are to be sent.
    batch: Vec<Vec<u8>>,
}

impl Guardian {
    /// Opens sockets for both directions of these pairs of interfaces, in the order of the bridge's pairs.
    ///
    /// # Errors
    /// [`LiveError`] if an interface is unknown or the kernel refuses a socket.
    pub fn open(pairs: &[[String; 2]], heartbeat: Heartbeat) -> Result<Guardian, LiveError> {
        let control =
            |name: &str| ControlSocket::new().map_err(|cause| LiveError::system("opening a socket to ask for the state of", name, cause));
        let mut directions = Vec::new();
        for [a, b] in pairs {
            let ends = [Endpoint::new(a)?, Endpoint::new(b)?];
            for [from, to] in [[&ends[0], &ends[1]], [&ends[1], &ends[0]]] {
                let control = control(&from.name)?;
                let (incoming, outgoing) = (control.ethernet_state(&from.name)?, control.ethernet_state(&to.name)?);
                let tagging = Tagging { incoming: from.vlan, outgoing: to.vlan };
                directions.push(Guarded {
                    name: format!("{} -> {}", from.shown, to.shown),
                    pulse: heartbeat.pulse(directions.len()),
                    receiver: ReceiveRing::open_asleep(&from.name, incoming.index, incoming.mtu, SLOTS, tagging)?,
                    transmitter: SendSocket::open(&to.name, outgoing.index)?,
                    carried: None,
                    span: NOTHING,
                    batch: vec![Vec::new(); BATCH],
                });
            }
        }
        let now = clock::now();
        Ok(Guardian { heartbeat, directions, looked: now, counts_from: now, maintained: now, was_watched: false })
    }

    /// Gives the calling thread a real-time priority above that of the bridge's threads, which may be what keeps others from running.
    ///
    /// # Errors
    /// The kernel refuses it (it needs CAP_SYS_NICE).
    pub fn come_first() -> io::Result<()> {
        clock::set_real_time_priority(PRIORITY)
    }

    /// The bridge is gone: carries all directions until another one asks for them.
    pub fn take_over(&mut self) {
        for direction in self.directions.iter_mut().filter(|direction| direction.carried.is_none()) {
            direction.take_over();
        }
    }

    /// Looks at the bridge and carries what there is to carry, for about 2 ms.
    pub fn look(&mut self) -> Look {
        let mut look = Look::default();
        let now = clock::now();
        if now.since(self.looked) > STOPPED {
            self.counts_from = now;
        }
        self.looked = now;
        let is_watched = self.heartbeat.is_watched();
        if is_watched && !self.was_watched {
            self.counts_from = now;
        }
        self.was_watched = is_watched;
        if now.since(self.maintained) >= MAINTENANCE {
            self.maintained = now;
            self.directions.iter_mut().for_each(Guarded::maintain);
        }
        for direction in &mut self.directions {
            let last = direction.pulse.last().later(self.counts_from);
            let silent = if is_watched { now.since(last) } else { Duration::ZERO };
            look.is_stuck |= silent >= if self.heartbeat.is_exclusive() { EXCLUSIVE } else { STUCK };
            if direction.carried.is_none() && silent >= HANG && !self.heartbeat.is_exclusive() {
                look.taken_over.push(direction.take_over());
            } else if direction.carried.is_some() && !direction.pulse.is_left() {
                look.given_back.extend(direction.give_back());
            }
        }
        let end = now + LOOK;
        loop {
            let mut any = false;
            for direction in self.directions.iter_mut().filter(|direction| direction.carried.is_some()) {
                any |= direction.carry();
            }
            let left = end.since(clock::now());
            if left == Duration::ZERO {
                return look;
            }
            if !any {
                self.wait(left);
            }
        }
    }

    /// Forgets what it knew of a bridge that is gone, before another one is started.
    pub fn expect_another(&mut self) {
        self.heartbeat.start_anew();
    }

    /// Waits for a frame to carry, or for this long.
    fn wait(&self, time: Duration) {
        let mut carrying = self.directions.iter().filter(|direction| direction.carried.is_some());
        match (carrying.next(), carrying.next()) {
            (None, _) => drop(clock::wait([None, None], time)),
            (Some(one), None) => {
                if clock::wait([one.receiver.descriptor(), None], time) == Woken::SocketError {
                    clock::wait([None, None], RETRY);
                }
            }
            // Several: as often as a frame may wait.
            _ => drop(clock::wait([None, None], time.min(Duration::from_microseconds(100)))),
        }
    }
}

impl Guarded {
    fn take_over(&mut self) -> String {
        self.pulse.taken_over();
        // An interface that is down has no frames; `maintain` opens it again when it comes back.
        let _is_down: io::Result<()> = self.receiver.wake(true);
        self.carried = Some(Carried::default());
        self.span = NOTHING;
        self.name.clone()
    }

    /// Stops, carries what came before, and says so.
    fn give_back(&mut self) -> Option<(String, Carried)> {
        self.receiver.close();
        while self.carry() {}
        self.pulse.given_back(&self.span);
        // The kernel takes some time for this.
        let _is_down: io::Result<()> = self.receiver.wake(false);
        // Came while the ring was emptied, and the bridge has it as well.
        while self.receiver.receive_frame(|_| ()) {}
        self.carried.take().map(|carried| (self.name.clone(), carried))
    }

    /// Passes on up to a batch of frames; true if there were any.
    fn carry(&mut self) -> bool {
        let Guarded { receiver, transmitter, carried: Some(carried), span, batch, .. } = self else { return false };
        let mut filled = 0;
        while filled < BATCH {
            let Some(arrived) = receiver.next_arrival() else { break };
            let message = &mut batch[filled];
            message.clear();
            receiver.receive_frame(|received| {
                if let Place::Outside(bytes) = received.place {
                    message.extend_from_slice(&received.virtio);
                    message.extend_from_slice(bytes);
                }
            });
            *span = if span.is_empty() { arrived..=arrived } else { arrived.min(*span.start())..=arrived.max(*span.end()) };
            // The kernel may have had no memory for a super-frame behind its mark.
            filled += usize::from(!message.is_empty());
        }
        let (mut sent, mut attempts) = (0, 0);
        while sent < filled {
            match transmitter.send(batch[sent..filled].iter().map(Vec::as_slice)) {
                Ok(taken) => {
                    batch[sent..sent + taken].iter().for_each(|message| carried.sent.add(length(message)));
                    (sent, attempts) = (sent + taken, 0);
                }
                Err(SendError::Busy) if attempts < ATTEMPTS => {
                    attempts += 1;
                    clock::wait([None, None], RETRY);
                }
                Err(_) => {
                    carried.lost.add(length(&batch[sent]));
                    (sent, attempts) = (sent + 1, 0);
                }
            }
        }
        filled > 0
    }

    fn maintain(&mut self) {
        self.receiver.maintain();
        self.transmitter.maintain();
    }
}

fn length(message: &[u8]) -> u32 {
    (message.len() - VIRTIO_HEADER) as u32
}
