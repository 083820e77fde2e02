//! A bridge that goes on in another process, without a gap that is felt and without the loss of a packet.
//!
//! ```text
//! new process: reads its policy, builds ports and memory ----------------- restores --- may start? --- carries
//! old process: carries ............................ stands still, snapshot -------------- ends
//! ```
//!
//! The directions of the old process stand still at one instant, between two packets ([`Control::stand_still`](crate::Control::stand_still)). Its receive
//! rings, whose memory is the kernel's, go to the new process with the frames in them: what arrives meanwhile waits there. The new process opens what it
//! sends with. Interface locks go along. The clock is that of the machine, so instants keep their meaning.
//!
//! **Law.** At most one process carries at every instant. The old one goes on if the new one fails, or is silent for [`PATIENCE`], before it has asked
//! to start. It ends once it has said yes, and the new one starts when it has heard that. Received = delivered + dropped + queued + in flight holds over both lives.
//!
//! What does not go along, and begins anew: the turns of schedulers, AQMs, delay histograms, the heaviest flows, random losses of an emulated link,
//! captures. AF_XDP sockets and end systems are not handed over: there the old process empties its queues first.

use crate::clock;
use crate::error::LiveError;
use crate::snapshot::{self, Section, SnapshotError};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tidegate_core::units::Time;

/// How long directions stand still for a successor that says nothing.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// What becomes of directions that stand still: one decision for all.
#[derive(Debug)]
pub(crate) struct Verdict(AtomicU8);

/// Verdict: none yet.
const OPEN: u8 = 0;
/// Verdict: they carry packets again.
const GOES_ON: u8 = 1;
/// Verdict: the successor carries.
const ENDS: u8 = 2;

impl Verdict {
    pub(crate) fn new() -> Arc<Verdict> {
        Arc::new(Verdict(AtomicU8::new(OPEN)))
    }

    fn decide(&self, outcome: u8) -> bool {
        let decided = self.0.compare_exchange(OPEN, outcome, Ordering::AcqRel, Ordering::Acquire);
        decided.map_or_else(|present| present == outcome, |_| true)
    }

    /// The directions go on, unless they end.
    pub(crate) fn go_on(&self) {
        self.decide(GOES_ON);
    }

    /// True if they end; false if they go on; `None` if that is open.
    pub(crate) fn ends(&self) -> Option<bool> {
        match self.0.load(Ordering::Acquire) {
            OPEN => None,
            present => Some(present == ENDS),
        }
    }
}

/// What a direction shows that stands still.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) bytes: Vec<u8>,
    /// The socket of its receive ring, if the interface is there.
    pub(crate) ring: Option<OwnedFd>,
}

/// The directions of a bridge that stand still. They go on when this is dropped.
#[derive(Debug)]
pub struct Standing {
    /// Since when.
    pub(crate) since: Time,
    pub(crate) verdict: Arc<Verdict>,
    pub(crate) directions: Vec<Shown>,
    /// The locks of each pair.
    pub(crate) locks: Vec<Vec<OwnedFd>>,
}

impl Standing {
    /// The snapshot in memory that is sealed.
    ///
    /// # Errors
    /// There is no memory.
    pub fn snapshot(&mut self) -> io::Result<OwnedFd> {
        let mut directions: Vec<Vec<u8>> = self.directions.iter_mut().map(|shown| std::mem::take(&mut shown.bytes)).collect();
        // In front: how many descriptors belong to each direction, and then to each pair.
        let rings = self.directions.iter().map(|shown| shown.ring.iter().len());
        directions.insert(0, rings.chain(self.locks.iter().map(Vec::len)).map(|count| count as u8).collect());
        snapshot::seal(&directions)
    }

    /// For how long, so far.
    pub fn stood(&self) -> Duration {
        Duration::from_nanos(clock::now().since(self.since).picoseconds() / 1000)
    }

    /// The descriptors that go with it, in this order.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let rings = self.directions.iter().filter_map(|shown| shown.ring.as_ref());
        rings.chain(self.locks.iter().flatten()).map(AsFd::as_fd).collect()
    }

    /// The directions end, because the successor carries. False if they already go on: then the successor may not.
    #[must_use]
    pub fn end(&self) -> bool {
        self.verdict.decide(ENDS)
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        self.verdict.go_on();
    }
}

/// What a direction takes over.
#[derive(Debug)]
pub(crate) struct Inherited {
    pub(crate) bytes: Section,
    pub(crate) ring: Option<OwnedFd>,
}

/// What a pair of interfaces takes over.
#[derive(Debug)]
pub(crate) struct InheritedPair {
    pub(crate) directions: [Inherited; 2],
    /// Held for as long as packets are carried.
    pub(crate) locks: Vec<OwnedFd>,
}

/// What a bridge takes over.
#[derive(Debug)]
pub struct Inheritance(Vec<InheritedPair>);

impl Inheritance {
    /// Reads what [`Standing::snapshot`] and [`Standing::descriptors`] have given.
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn read(memory: OwnedFd, descriptors: Vec<OwnedFd>) -> Result<Inheritance, SnapshotError> {
        const UNEVEN: SnapshotError = SnapshotError::Damaged("descriptors are missing");
        let mut directions = snapshot::unseal(memory)?.into_iter();
        let counts = directions.next().ok_or(UNEVEN)?;
        let directions: Vec<Section> = directions.collect();
        let pairs = directions.len() / 2;
        if directions.len() != 2 * pairs || counts.len() != 3 * pairs {
            return Err(UNEVEN);
        }
        if counts.iter().map(|&count| usize::from(count)).sum::<usize>() != descriptors.len() {
            return Err(UNEVEN);
        }
        let mut left = descriptors.into_iter();
        let mut of = |count: &u8| left.by_ref().take(usize::from(*count)).collect::<Vec<OwnedFd>>();
        let (of_directions, of_pairs) = counts.split_at(2 * pairs);
        let rings: Vec<Option<OwnedFd>> = of_directions.iter().map(|count| of(count).pop()).collect();
        let mut directions = directions.into_iter().zip(rings).map(|(bytes, ring)| Inherited { bytes, ring });
        let pair = |count: &u8| {
            let directions = [directions.next().ok_or(UNEVEN)?, directions.next().ok_or(UNEVEN)?];
            Ok(InheritedPair { directions, locks: of(count) })
        };
        of_pairs.iter().map(pair).collect::<Result<_, _>>().map(Inheritance)
    }
}

/// The bridges of a process that takes over, and the thread that talks to the old process: how far they have come.
#[derive(Clone, Debug, Default)]
pub struct TakeOver(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// How long others have carried before.
    before: Duration,
    progress: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Progress {
    /// The pairs that have built all that they need.
    prepared: usize,
    inheritance: Option<Vec<Option<InheritedPair>>>,
    /// The pairs that stand where the old process stood.
    restored: usize,
    carries: bool,
    failed: Option<String>,
}

impl TakeOver {
    /// A take-over of a bridge that has carried for this long.
    pub fn new(before: Duration) -> TakeOver {
        TakeOver(Arc::new(Shared { before, ..Shared::default() }))
    }

    pub(crate) fn before(&self) -> Duration {
        self.0.before
    }

    fn wait_for<T>(&self, limit: Option<Duration>, mut found: impl FnMut(&mut Progress) -> Option<T>) -> Result<T, String> {
        let began = Instant::now();
        let mut progress = self.0.progress.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(failed) = &progress.failed {
                return Err(failed.clone());
            }
            if let Some(found) = found(&mut progress) {
                return Ok(found);
            }
            if limit.is_some_and(|limit| began.elapsed() >= limit) {
                return Err("the new bridge takes too long".to_owned());
            }
            let (next, _) = self.0.changed.wait_timeout(progress, Duration::from_millis(100)).unwrap_or_else(PoisonError::into_inner);
            progress = next;
        }
    }

    fn advance(&self, step: impl FnOnce(&mut Progress)) {
        step(&mut self.0.progress.lock().unwrap_or_else(PoisonError::into_inner));
        self.0.changed.notify_all();
    }

    /// Waits until this number of pairs have built what they need.
    ///
    /// # Errors
    /// Why one of them did not.
    pub fn wait_until_prepared(&self, pairs: usize) -> Result<(), String> {
        self.wait_for(None, |progress| (progress.prepared >= pairs).then_some(()))
    }

    /// Gives the pairs what they take over, and waits until they stand there.
    ///
    /// # Errors
    /// Why one of them does not.
    pub fn give(&self, Inheritance(pairs): Inheritance) -> Result<(), String> {
        let count = pairs.len();
        self.advance(|progress| progress.inheritance = Some(pairs.into_iter().map(Some).collect()));
        self.wait_for(Some(PATIENCE), |progress| (progress.restored >= count).then_some(()))
    }

    /// The pairs carry from now on: the old process has said that it ends.
    pub fn carry(&self) {
        self.advance(|progress| progress.carries = true);
    }

    /// Nothing is taken over; a bridge that carries does not mind.
    pub fn fail(&self, why: &str) {
        self.advance(|progress| {
            progress.failed.get_or_insert_with(|| why.to_owned());
        });
    }

    /// A pair has built what it needs: waits for what it takes over.
    pub(crate) fn prepared(&self, pair: usize) -> Result<InheritedPair, LiveError> {
        self.advance(|progress| progress.prepared += 1);
        let take = |progress: &mut Progress| progress.inheritance.as_mut().and_then(|pairs| pairs.get_mut(pair)?.take());
        self.wait_for(None, take).map_err(LiveError::TakeOver)
    }

    /// A pair stands where the old process stood: waits until it may carry.
    pub(crate) fn restored(&self) -> Result<(), LiveError> {
        self.advance(|progress| progress.restored += 1);
        self.wait_for(None, |progress| progress.carries.then_some(())).map_err(LiveError::TakeOver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::tests::section;

    #[test]
    fn one_decision_holds_for_all_directions() {
        let verdict = Verdict::new();
        assert_eq!(verdict.ends(), None);
        verdict.go_on();
        assert_eq!(verdict.ends(), Some(false));
        let standing = Standing { since: clock::now(), verdict: verdict.clone(), directions: Vec::new(), locks: Vec::new() };
        assert!(!standing.end(), "a successor that comes too late may not carry");
        let standing = Standing { since: clock::now(), verdict: Verdict::new(), directions: Vec::new(), locks: Vec::new() };
        let verdict = standing.verdict.clone();
        assert!(standing.end());
        drop(standing);
        assert_eq!(verdict.ends(), Some(true));
    }

    #[test]
    fn descriptors_come_to_the_direction_and_the_pair_that_gave_them() {
        let descriptor = || OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        let shown = |byte, ring: bool| Shown { bytes: vec![byte], ring: ring.then(descriptor) };
        let locks = vec![vec![descriptor(), descriptor()], Vec::new()];
        let directions = vec![shown(1, true), shown(2, false), shown(3, true), shown(4, true)];
        let mut standing = Standing { since: clock::now(), verdict: Verdict::new(), directions, locks };
        let memory = standing.snapshot().unwrap();
        let sent: Vec<OwnedFd> = standing.descriptors().iter().map(|descriptor| descriptor.try_clone_to_owned().unwrap()).collect();
        assert_eq!(sent.len(), 5);
        let Inheritance(pairs) = Inheritance::read(memory.try_clone().unwrap(), sent).unwrap();
        let found: Vec<_> = pairs.iter().flat_map(|pair| &pair.directions).map(|one| (one.bytes[0], one.ring.is_some())).collect();
        assert_eq!(found, [(1, true), (2, false), (3, true), (4, true)]);
        assert_eq!(pairs.iter().map(|pair| pair.locks.len()).collect::<Vec<_>>(), [2, 0]);
        assert!(Inheritance::read(memory, vec![descriptor()]).is_err(), "descriptors are missing");
    }

    #[test]
    fn pairs_carry_once_all_of_them_stand_there_and_not_if_one_fails() {
        let take_over = TakeOver::default();
        let pair = || InheritedPair { directions: [0, 1].map(|byte| Inherited { bytes: section(&[byte]), ring: None }), locks: Vec::new() };
        std::thread::scope(|scope| {
            let bridges = [0, 1].map(|number| {
                let take_over = &take_over;
                scope.spawn(move || take_over.prepared(number).and_then(|_| take_over.restored()))
            });
            take_over.wait_until_prepared(2).unwrap();
            take_over.give(Inheritance(vec![pair(), pair()])).unwrap();
            take_over.carry();
            bridges.into_iter().for_each(|bridge| bridge.join().unwrap().unwrap());
        });
        let take_over = TakeOver::default();
        take_over.fail("no memory");
        assert_eq!(take_over.wait_until_prepared(1), Err("no memory".to_owned()));
        assert!(take_over.prepared(0).is_err());
    }
}
