//! Several workers carry one direction, each a thread with a port, frames and sockets of its own.
//!
//! ```text
//! interface -> kernel (hash of the flow) -> worker 1: classify --> port -> interface
//!                                     \          rings |  ^
//!                                      \-> worker 2: classify --> port -> interface
//! ```
//!
//! The kernel spreads frames over the workers' sockets by a hash of their flow. The worker that receives a packet classifies it. A class belongs to one
//! worker, and its packets go to that worker through a ring ([`ring`]). Every worker sends at the rate that [`Exchange`](tidegate_core::exchange::Exchange)
//! grants it ([`rates`]).
//!
//! **Law.** Packets of a flow that belong to one class leave in the order in which they came: one worker receives them, one ring carries them, and one
//! port queues them. Of each worker, received + passed in = delivered + dropped + queued + in flight + passed on. At the end all that was passed on was
//! passed in, or is in a ring.
//!
//! Another policy takes over at one instant, which all workers are told before ([`Plan`]). Its classes stay with their workers. A packet that was classified
//! by the other policy is classified anew where it is taken.

mod joined;
mod plan;
mod rates;
pub(crate) mod ring;
mod waker;

pub(crate) use joined::joined;
pub(crate) use plan::{Plan, plans};

use crate::error::LiveError;
use crate::pool::FramePool;
use rates::Rates;
use ring::{Incoming, Outgoing, Passed};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tidegate_core::classifier::Classifier;
use tidegate_core::exchange::{Limits, WorkerMeter, Workers};
use tidegate_core::packet::Flow;
use tidegate_core::port::{Port, PortSetup, Volume};
use tidegate_core::units::{PICOSECONDS_PER_SECOND, Time};
use waker::Waker;

/// The worker of each class of a classifier.
pub(crate) fn by_class(workers: &Workers, classifier: &Classifier) -> Vec<u32> {
    let classes = classifier.classes().iter().map(|class| class.first_flow.index());
    classes.map(|flow| if flow < workers.part_of.len() { workers.worker_of(flow) } else { 0 }).collect()
}

/// What the workers of a direction share.
#[derive(Debug)]
struct Team {
    wakers: Vec<Waker>,
    /// The workers that still receive, and may pass packets on.
    receiving: AtomicUsize,
}

/// One worker of a direction, beside its port, frames and sockets.
#[derive(Debug)]
pub(crate) struct Worker {
    number: usize,
    team: Arc<Team>,
    rates: Arc<Rates>,
    by_flow: Arc<[u32]>,
    /// By worker; `None` for itself.
    outgoing: Vec<Option<Outgoing>>,
    incoming: Vec<Incoming>,
    pub(crate) volume: Passed,
    /// What keeps its port to the rates that it is granted.
    limits: Limits,
    /// The number of the exchange that it follows.
    exchange: u64,
    next_report: Time,
    /// The packets offered, sent and queued at the last report.
    reported: [u64; 3],
    /// The bytes on the wire that it has sent at the present rate of the link, and the time that the link took for those before, in picoseconds.
    sent: u64,
    busy_before: u128,
    is_receiving: bool,
    may_wait: bool,
}

/// Makes the workers of a direction, whose setup is that of every worker.
///
/// # Errors
/// [`LiveError`] if the link cannot be divided, or the kernel refuses a descriptor.
pub(crate) fn open(now: Time, workers: &Workers, setup: &PortSetup, direction: &str) -> Result<Vec<Worker>, LiveError> {
    let count = workers.count as usize;
    let longest = setup.overhead.wire_length(setup.longest_frame);
    let checked = workers.check(setup.rate, setup.classifier.flows()).and_then(|()| Rates::new(now, workers, setup.rate, longest));
    let (rates, limits) = checked.map_err(|cause| LiveError::Workers { direction: direction.to_owned(), cause })?;
    let wakers = (0..count).map(|_| Waker::new()).collect::<Result<Vec<_>, _>>();
    let wakers = wakers.map_err(|cause| LiveError::system("opening an event descriptor for", direction, cause))?;
    let team = Arc::new(Team { wakers, receiving: AtomicUsize::new(count) });
    let (rates, by_flow) = (Arc::new(rates), by_flow(workers));
    let mut outgoing: Vec<Vec<Option<Outgoing>>> = (0..count).map(|_| Vec::new()).collect();
    let mut incoming: Vec<Vec<Incoming>> = (0..count).map(|_| Vec::new()).collect();
    for (from, outgoing) in outgoing.iter_mut().enumerate() {
        for (to, incoming) in incoming.iter_mut().enumerate() {
            let ends = (from != to).then(ring::open);
            let (out, into) = ends.unzip();
            outgoing.push(out);
            incoming.extend(into);
        }
    }
    let ends = outgoing.into_iter().zip(incoming).zip(limits);
    let worker = |(number, ((outgoing, incoming), limits))| Worker {
        number,
        team: team.clone(),
        rates: rates.clone(),
        by_flow: by_flow.clone(),
        outgoing,
        incoming,
        volume: Passed::default(),
        limits,
        exchange: 0,
        next_report: now,
        reported: [0; 3],
        sent: 0,
        busy_before: 0,
        is_receiving: true,
        may_wait: false,
    };
    Ok(ends.enumerate().map(worker).collect())
}

/// The worker of each flow.
fn by_flow(workers: &Workers) -> Arc<[u32]> {
    (0..workers.part_of.len()).map(|flow| workers.worker_of(flow)).collect()
}

/// The meter of a worker's port.
pub(crate) fn meter(workers: &Workers, setup: &PortSetup) -> WorkerMeter {
    WorkerMeter::new(setup.overhead, setup.rate, workers)
}

impl Worker {
    /// Its number among the workers of the direction.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// The number of the other workers.
    pub(crate) fn others(&self) -> u32 {
        self.incoming.len() as u32
    }

    /// The ring to the worker of a flow, unless it is this one.
    #[inline]
    pub(crate) fn elsewhere(&mut self, flow: Flow) -> Option<(&mut Outgoing, &mut Passed)> {
        let to = self.by_flow[flow.index()] as usize;
        Some((self.outgoing[to].as_mut()?, &mut self.volume))
    }

    /// The rings from other workers.
    pub(crate) fn incoming(&mut self) -> (&mut [Incoming], &mut Passed) {
        (&mut self.incoming, &mut self.volume)
    }

    /// It is awake, and has looked at nothing yet.
    #[inline]
    pub(crate) fn begin(&mut self, pool: &mut FramePool) {
        if std::mem::take(&mut self.may_wait) {
            self.team.wakers[self.number].disarm();
        }
        self.outgoing.iter_mut().flatten().for_each(|ring| ring.collect(pool));
    }

    /// It receives no more, so that it passes nothing on.
    pub(crate) fn stop_receiving(&mut self) {
        if std::mem::take(&mut self.is_receiving) {
            self.wake_others();
            self.team.receiving.fetch_sub(1, Ordering::Release);
        }
    }

    /// True if others may still pass packets on to it.
    pub(crate) fn is_supplied(&self) -> bool {
        self.team.receiving.load(Ordering::Acquire) > usize::from(self.is_receiving)
    }

    /// Wakes the workers that it has passed packets on to.
    #[inline]
    pub(crate) fn wake_others(&mut self) {
        for (ring, waker) in self.outgoing.iter_mut().zip(&self.team.wakers) {
            if ring.as_mut().is_some_and(Outgoing::take_news) {
                waker.wake();
            }
        }
    }

    /// Brings a new port to the rates that it has at first.
    pub(crate) fn begin_rates<P>(&mut self, now: Time, meter: &mut WorkerMeter, port: &mut Port<P>) {
        self.limits.begin(now, port);
        // Not the number of any exchange.
        self.exchange = u64::MAX;
        self.rates.follow(now, self.number, &mut self.exchange, &mut self.limits, meter, port);
    }

    /// Reports if that is due, and brings the port to the rates that are granted. One that `waits` reports, too, if it has news: other packets were
    /// offered, sent or queued.
    #[inline]
    pub(crate) fn follow_rates<P>(&mut self, now: Time, packets: [u64; 3], meter: &mut WorkerMeter, port: &mut Port<P>, waits: bool) {
        let Worker { rates, sent, .. } = self;
        let has_news = waits && self.reported != packets;
        if (has_news || !now.is_before(self.next_report))
            && let Some(next) = rates.report(now, self.number, (meter, sent), waits)
        {
            self.next_report = next;
            self.reported = packets;
        }
        rates.follow(now, self.number, &mut self.exchange, &mut self.limits, meter, port);
    }

    /// When it reports next.
    #[inline]
    pub(crate) fn next_report(&self) -> Time {
        self.next_report
    }

    /// From now on others wake it. False if packets have come in the meantime.
    #[inline]
    pub(crate) fn may_wait(&mut self) -> bool {
        self.may_wait = true;
        self.team.wakers[self.number].arm();
        self.incoming.iter().all(Incoming::is_empty)
    }

    /// The descriptor by which others wake it.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.team.wakers[self.number].descriptor()
    }

    /// It has waited.
    pub(crate) fn woken(&self) {
        self.team.wakers[self.number].settle();
    }

    /// The time that the link, at its whole rate, takes for what it has reported as sent, in picoseconds.
    pub(crate) fn busy(&self) -> u128 {
        self.busy_before + u128::from(self.sent) * 8 * u128::from(PICOSECONDS_PER_SECOND) / u128::from(self.rates.link().bits_per_second())
    }

    /// Counts what is left in the rings to it. No worker passes anything on any more.
    pub(crate) fn left(&mut self) -> Volume {
        self.incoming.iter_mut().map(Incoming::left).sum()
    }
}
