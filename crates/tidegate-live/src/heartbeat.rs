//! The page of memory through which a bridge and its guardian see each other.
//!
//! Every direction has a line in it: the instant at which its thread was last alive, and who carries its frames.
//!
//! ```text
//! Bridge --(the guardian takes over)--> Guardian --(the thread is alive)--> AskedBack --(the guardian has stopped)--> Bridge
//! ```
#![allow(unsafe_code)]

use crate::locks::lock;
use crate::memory::SharedPages;
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tidegate_core::units::Time;

/// The bytes of the page.
const PAGE: usize = 4096;

/// The bytes of a line in it.
const LINE: usize = 64;

/// The first word of the page. It changes with the meaning of the page.
const VERSION: u64 = 0x7469_6465_6761_7401;

/// The longest that a thread waits for its guardian to stop. A guardian that is gone does not answer.
const HANDOVER_LIMIT: Duration = Duration::from_secs(1);

/// Words of the first line.
const VERSION_AT: usize = 0;
const READY_AT: usize = 1;
const ENDING_AT: usize = 2;
const EXCLUSIVE_AT: usize = 3;

/// Words of a direction's line.
const ALIVE_AT: usize = 0;
const CARRIER_AT: usize = 1;
const FROM_AT: usize = 2;
const UNTIL_AT: usize = 3;

/// A span without arrivals.
#[allow(clippy::reversed_empty_ranges)]
pub(crate) const NOTHING: RangeInclusive<u64> = 1..=0;

/// The bridge carries.
const BRIDGE: u64 = 0;
/// The guardian carries.
const GUARDIAN: u64 = 1;
/// The guardian carries, and the bridge waits for it to stop.
const ASKED_BACK: u64 = 2;

/// A page shared by a bridge and its guardian.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    page: Arc<SharedPages>,
    descriptor: Arc<OwnedFd>,
}

impl Heartbeat {
    /// The most directions of a page.
    pub const DIRECTIONS: usize = PAGE / LINE - 1;

    /// A new page, whose descriptor a process that is started inherits.
    ///
    /// # Errors
    /// The kernel has no memory or no descriptor.
    pub fn new() -> io::Result<Heartbeat> {
        // SAFETY: the name is a string that ends with a zero. No one else owns the descriptor that comes back.
        let descriptor = unsafe {
            let descriptor = libc::memfd_create(c"tidegate-heartbeat".as_ptr(), 0);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(descriptor)
        };
        // SAFETY: the descriptor is open.
        if unsafe { libc::ftruncate(descriptor.as_raw_fd(), PAGE as libc::off_t) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let heartbeat = Heartbeat::mapped(descriptor)?;
        heartbeat.word(0, VERSION_AT).store(VERSION, Ordering::Release);
        Ok(heartbeat)
    }

    /// The page that the process that started this one has made.
    ///
    /// # Errors
    /// The descriptor is not open, or it is no such page.
    pub fn inherited(descriptor: i32) -> io::Result<Heartbeat> {
        // SAFETY: asking for the size and the flags of any number is harmless; the status is plain numbers.
        let size = unsafe {
            let mut status: libc::stat = std::mem::zeroed();
            if libc::fstat(descriptor, &mut status) != 0 || libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) != 0 {
                return Err(io::Error::last_os_error());
            }
            status.st_size
        };
        if size != PAGE as libc::off_t {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: the descriptor is open, and the process that passed it leaves it to this one.
        let heartbeat = Heartbeat::mapped(unsafe { OwnedFd::from_raw_fd(descriptor) })?;
        let version = heartbeat.word(0, VERSION_AT).load(Ordering::Acquire);
        if version == VERSION { Ok(heartbeat) } else { Err(io::ErrorKind::InvalidData.into()) }
    }

    fn mapped(descriptor: OwnedFd) -> io::Result<Heartbeat> {
        let page = SharedPages::of(descriptor.as_fd(), PAGE, 0)?;
        Ok(Heartbeat { page: Arc::new(page), descriptor: Arc::new(descriptor) })
    }

    /// The number of its descriptor, for [`Heartbeat::inherited`].
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Packets are carried: from now on the guardian watches.
    pub fn ready(&self) {
        self.word(0, READY_AT).store(1, Ordering::Release);
    }

    /// The bridge ends because it was told to: the guardian watches no more.
    pub(crate) fn ending(&self) {
        self.word(0, ENDING_AT).store(1, Ordering::Release);
    }

    /// Whether packets have been carried.
    pub fn was_ready(&self) -> bool {
        self.word(0, READY_AT).load(Ordering::Acquire) == 1
    }

    /// Whether packets have been carried, and the bridge has not been told to end.
    pub(crate) fn is_watched(&self) -> bool {
        self.was_ready() && !self.is_ending()
    }

    /// Whether the bridge has been told to end.
    pub(crate) fn is_ending(&self) -> bool {
        self.word(0, ENDING_AT).load(Ordering::Acquire) == 1
    }

    /// The sockets of the bridge leave no frame to others while they exist.
    pub(crate) fn exclusive(&self) {
        self.word(0, EXCLUSIVE_AT).store(1, Ordering::Release);
    }

    /// Whether the sockets of the bridge leave no frame to others.
    pub(crate) fn is_exclusive(&self) -> bool {
        self.word(0, EXCLUSIVE_AT).load(Ordering::Acquire) == 1
    }

    /// Another bridge is started in place of one that is gone.
    pub(crate) fn start_anew(&self) {
        self.word(0, READY_AT).store(0, Ordering::Release);
        self.word(0, ENDING_AT).store(0, Ordering::Release);
        self.word(0, EXCLUSIVE_AT).store(0, Ordering::Release);
    }

    /// The line of a direction.
    pub(crate) fn pulse(&self, direction: usize) -> Pulse {
        assert!(direction < Heartbeat::DIRECTIONS, "direction {direction} of {}", Heartbeat::DIRECTIONS);
        Pulse { heartbeat: self.clone(), line: direction + 1, crew: None }
    }

    fn word(&self, line: usize, word: usize) -> &AtomicU64 {
        let at = self.page.at(line * LINE + word * size_of::<u64>());
        // SAFETY: the address is inside the mapping, which lives as long as `self`, and aligned to 8 bytes. Both processes access it as an atomic
        // number only, for which every value is valid.
        unsafe { AtomicU64::from_ptr(at.cast().as_ptr()) }
    }
}

/// The line of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Pulse {
    heartbeat: Heartbeat,
    line: usize,
    /// The workers of the direction, if it has several, and which of them this is.
    crew: Option<(Arc<Crew>, usize)>,
}

/// The workers of a direction, which is alive as long as all of them are.
#[derive(Debug)]
struct Crew {
    alive: Box<[AtomicU64]>,
    /// How often frames were taken back from the guardian, and how often each worker has heard of it.
    taken_back: AtomicU64,
    heard: Box<[AtomicU64]>,
    /// What the guardian carried before frames were last taken back.
    carried: Mutex<RangeInclusive<u64>>,
}

/// A worker that was alive this long ago is waited for before frames are taken back.
const PRESENT: tidegate_core::units::Duration = tidegate_core::units::Duration::from_milliseconds(20);

impl Pulse {
    /// The direction's thread is alive. If the guardian carries its frames, it is asked to stop, and the span comes back whose arrivals it has carried, in nanoseconds
    /// of CLOCK_REALTIME.
    #[inline]
    pub(crate) fn beat(&self, now: Time) -> Option<RangeInclusive<u64>> {
        if let Some((crew, worker)) = &self.crew {
            return self.beat_with_others(now, crew, *worker);
        }
        self.word(ALIVE_AT).store(now.picoseconds(), Ordering::Relaxed);
        if self.carrier().load(Ordering::Acquire) == BRIDGE { None } else { Some(self.take_back()) }
    }

    /// The same for each of `workers` workers of the direction.
    pub(crate) fn of_workers(self, workers: usize) -> Vec<Pulse> {
        let words = || (0..workers).map(|_| AtomicU64::new(0)).collect();
        let crew = Crew { alive: words(), taken_back: AtomicU64::new(0), heard: words(), carried: Mutex::new(NOTHING) };
        let crew = Arc::new(crew);
        (0..workers).map(|worker| Pulse { crew: Some((crew.clone(), worker)), ..self.clone() }).collect()
    }

    /// The direction is as old as the worker that was last alive the longest ago. Frames are taken back when all are alive.
    fn beat_with_others(&self, now: Time, crew: &Crew, worker: usize) -> Option<RangeInclusive<u64>> {
        crew.alive[worker].store(now.picoseconds(), Ordering::Relaxed);
        let times = crew.alive.iter().map(|alive| Time::from_picoseconds(alive.load(Ordering::Relaxed)));
        let oldest = times.fold(now, Time::earlier);
        self.word(ALIVE_AT).store(oldest.picoseconds(), Ordering::Relaxed);
        let is_told = crew.taken_back.load(Ordering::Acquire) != crew.heard[worker].load(Ordering::Relaxed);
        let is_carried = self.carrier().load(Ordering::Acquire) != BRIDGE && now.since(oldest) < PRESENT;
        if !is_told && !is_carried {
            return None;
        }
        let mut carried = lock(&crew.carried);
        if self.carrier().load(Ordering::Acquire) != BRIDGE {
            // Before the frames are the bridge's again, so that no other worker receives what was carried.
            crew.taken_back.fetch_add(1, Ordering::AcqRel);
            *carried = self.take_back();
        }
        crew.heard[worker].store(crew.taken_back.load(Ordering::Acquire), Ordering::Release);
        Some(carried.clone())
    }

    #[cold]
    fn take_back(&self) -> RangeInclusive<u64> {
        let began = Instant::now();
        self.carrier().store(ASKED_BACK, Ordering::Release);
        while self.carrier().load(Ordering::Acquire) != BRIDGE && began.elapsed() < HANDOVER_LIMIT {
            std::thread::sleep(Duration::from_micros(100));
        }
        // Without an answer there is no guardian any more, and nothing has been carried.
        let answered = self.carrier().swap(BRIDGE, Ordering::AcqRel) == BRIDGE;
        if answered { self.word(FROM_AT).load(Ordering::Acquire)..=self.word(UNTIL_AT).load(Ordering::Acquire) } else { NOTHING }
    }

    /// When the thread was last alive.
    pub(crate) fn last(&self) -> Time {
        Time::from_picoseconds(self.word(ALIVE_AT).load(Ordering::Relaxed))
    }

    /// The bridge ends because it was told to.
    pub(crate) fn ending(&self) {
        self.heartbeat.ending();
    }

    /// Whether the guardian carries.
    #[inline]
    pub(crate) fn is_carried(&self) -> bool {
        let is_untold =
            |(crew, worker): &(Arc<Crew>, usize)| crew.taken_back.load(Ordering::Acquire) != crew.heard[*worker].load(Ordering::Relaxed);
        self.carrier().load(Ordering::Acquire) != BRIDGE || self.crew.as_ref().is_some_and(is_untold)
    }

    /// From now on the guardian carries.
    pub(crate) fn taken_over(&self) {
        self.carrier().store(GUARDIAN, Ordering::Release);
    }

    /// Whether the frames are left to the guardian: the direction's thread does not ask for them, and has not taken them without an answer.
    pub(crate) fn is_left(&self) -> bool {
        self.carrier().load(Ordering::Acquire) == GUARDIAN
    }

    /// The guardian has stopped. It carried what arrived in this span, in nanoseconds of CLOCK_REALTIME.
    pub(crate) fn given_back(&self, carried: &RangeInclusive<u64>) {
        self.word(FROM_AT).store(*carried.start(), Ordering::Release);
        self.word(UNTIL_AT).store(*carried.end(), Ordering::Release);
        self.carrier().store(BRIDGE, Ordering::Release);
    }

    fn carrier(&self) -> &AtomicU64 {
        self.word(CARRIER_AT)
    }

    fn word(&self, word: usize) -> &AtomicU64 {
        self.heartbeat.word(self.line, word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanoseconds: u64) -> Time {
        Time::from_nanoseconds(nanoseconds)
    }

    #[test]
    fn frames_come_back_when_the_guardian_has_stopped() {
        let heartbeat = Heartbeat::new().unwrap();
        let (bridge, guardian) = (heartbeat.pulse(3), heartbeat.pulse(3));
        assert_eq!((bridge.beat(at(5)), guardian.last()), (None, at(5)));
        guardian.taken_over();
        assert!(guardian.is_left());
        let bridge = std::thread::spawn(move || bridge.beat(at(7)));
        while guardian.is_left() {
            std::thread::yield_now();
        }
        guardian.given_back(&(90..=99));
        assert_eq!(bridge.join().unwrap(), Some(90..=99));
        assert_eq!((heartbeat.pulse(3).beat(at(8)), heartbeat.pulse(2).last()), (None, at(0)), "lines are apart");
    }

    #[test]
    fn workers_are_alive_together_and_each_hears_what_was_carried() {
        let heartbeat = Heartbeat::new().unwrap();
        let guardian = heartbeat.pulse(0);
        let pulses = heartbeat.pulse(0).of_workers(2);
        let at = |milliseconds| Time::ZERO + tidegate_core::units::Duration::from_milliseconds(milliseconds);
        assert_eq!((pulses[0].beat(at(100)), pulses[1].beat(at(101)), guardian.last()), (None, None, at(100)));
        assert_eq!((pulses[1].beat(at(150)), guardian.last()), (None, at(100)), "the first hangs");
        guardian.taken_over();
        assert_eq!(pulses[1].beat(at(151)), None, "frames stay with the guardian while the first hangs");
        assert!(pulses[0].is_carried() && pulses[1].is_carried());
        let mut both = pulses.into_iter();
        let (first, second) = (both.next().unwrap(), both.next().unwrap());
        let theirs = first.clone();
        let thread = std::thread::spawn(move || theirs.beat(at(152)));
        while guardian.is_left() {
            std::thread::yield_now();
        }
        guardian.given_back(&(90..=99));
        assert_eq!(thread.join().unwrap(), Some(90..=99));
        assert!(!first.is_carried() && second.is_carried(), "the second has not heard yet");
        assert_eq!((second.beat(at(153)), second.beat(at(154)), first.beat(at(155))), (Some(90..=99), None, None));
        assert!(!second.is_carried());
    }

    #[test]
    fn a_guardian_that_is_gone_does_not_stop_a_bridge() {
        let pulse = Heartbeat::new().unwrap().pulse(0);
        pulse.taken_over();
        assert_eq!(pulse.beat(at(1)), Some(NOTHING));
        assert_eq!(pulse.beat(at(2)), None);
    }

    #[test]
    fn a_bridge_is_watched_from_its_start_to_its_end() {
        let heartbeat = Heartbeat::new().unwrap();
        assert!(!heartbeat.is_watched());
        heartbeat.ready();
        assert!(heartbeat.is_watched());
        heartbeat.ending();
        heartbeat.exclusive();
        assert!(!heartbeat.is_watched() && heartbeat.is_ending() && heartbeat.is_exclusive());
        heartbeat.start_anew();
        assert!(!heartbeat.is_watched() && !heartbeat.is_ending() && !heartbeat.is_exclusive());
    }

    #[test]
    fn only_a_page_of_this_kind_is_inherited() {
        let heartbeat = Heartbeat::new().unwrap();
        heartbeat.ready();
        let copy = heartbeat.descriptor().try_clone_to_owned().unwrap();
        let number = std::os::fd::IntoRawFd::into_raw_fd(copy);
        assert!(Heartbeat::inherited(number).unwrap().is_watched());
        assert!(Heartbeat::inherited(1 << 20).is_err());
        let file = tempfile();
        assert!(Heartbeat::inherited(file).is_err());
    }

    /// The descriptor of an empty file.
    fn tempfile() -> i32 {
        // SAFETY: the name ends with a zero.
        unsafe { libc::memfd_create(c"empty".as_ptr(), 0) }
    }
}
