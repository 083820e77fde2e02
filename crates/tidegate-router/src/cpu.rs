//! One core: four levels of priority, preemptive, resumed where they were left.
//!
//! **Law.** The highest level that has work runs. A level that is preempted keeps what is left of its chunk; the time it ran is counted once.
//!
//! **Cost.** One event per chunk, and one more per preemption.

use crate::packet::Packet;
use std::ops::Range;
use tidegate_core::fault;

/// The number of levels: user, kernel (software interrupt or thread), device interrupts, noise.
pub(crate) const LEVELS: usize = 4;
/// User processes.
pub(crate) const USER: usize = 0;
/// The software interrupt and kernel threads.
pub(crate) const KERNEL: usize = 1;
/// Device interrupts and the guard.
pub(crate) const INTERRUPT: usize = 2;
/// Noise.
pub(crate) const NOISE: usize = 3;

/// What follows when a job is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    /// Nothing.
    Nothing,
    /// The polling thread or the processes run.
    WakeThread,
    /// The packet goes to the protocol queue.
    ToProtocol,
    /// The packet goes to its flow's queue.
    ToFlow,
    /// The packet goes to the user process's queue.
    ToUser,
    /// The packet is output; true if the user process did it.
    Output { by_user: bool },
    /// One descriptor of a transmitter is reclaimed.
    Reclaim { nic: u32 },
    /// The guard is activated.
    Guard,
}

/// Work for a level.
#[derive(Clone, Debug)]
pub(crate) enum Job {
    /// A fixed time.
    Fixed { work: u64, then: Then },
    /// Stages of the path for a packet, and a fixed time after them.
    Path { packet: Packet, stages: Range<usize>, extra: u64, then: Then },
}

/// The chunk that a level runs, or was preempted in.
#[derive(Clone, Debug)]
struct Chunk {
    left: u64,
    job: Job,
}

/// One core.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cpu {
    levels: [Option<Chunk>; LEVELS],
    running: Option<usize>,
    since: u64,
    used: [u64; LEVELS],
}

impl Cpu {
    /// True if the level has a chunk.
    #[inline]
    pub(crate) fn has(&self, level: usize) -> bool {
        self.levels[level].is_some()
    }

    /// Gives a level that has none a chunk: the first `work` of a job.
    #[inline]
    pub(crate) fn load(&mut self, level: usize, work: u64, job: Job) {
        self.levels[level] = Some(Chunk { left: work, job });
    }

    /// Runs a level from `now` on, preempting the one that runs: the instant at which its chunk ends. `None` if it runs already.
    #[inline]
    pub(crate) fn run(&mut self, level: usize, now: u64) -> Option<u64> {
        if self.running == Some(level) {
            return None;
        }
        self.pause(now);
        self.running = Some(level);
        let chunk = self.levels[level].as_ref()?;
        Some(now + chunk.left)
    }

    /// The chunk that runs has ended.
    #[inline]
    pub(crate) fn complete(&mut self, now: u64) -> Option<(usize, Job)> {
        let level = self.running.take()?;
        self.used[level] += now - self.since;
        self.since = now;
        Some((level, self.levels[level].take()?.job))
    }

    fn pause(&mut self, now: u64) {
        if let Some(level) = self.running.take() {
            let ran = now - self.since;
            self.used[level] += ran;
            if let Some(chunk) = &mut self.levels[level] {
                chunk.left -= if fault!(RouterRestartsWork) { 0 } else { ran };
            }
        }
        self.since = now;
    }

    /// The time that each level has run until `now`.
    pub(crate) fn used(&self, now: u64) -> [u64; LEVELS] {
        let mut used = self.used;
        if let Some(level) = self.running {
            used[level] += now - self.since;
        }
        used
    }

    /// Packets in service.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.levels.iter().flatten().filter_map(|chunk| match &chunk.job {
            Job::Path { packet, .. } => Some(packet),
            Job::Fixed { .. } => None,
        })
    }
}
