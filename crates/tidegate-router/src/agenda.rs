//! The pending events of a trial, by what they happen to.
//!
//! Slots are numbered so that ties go the documented way: frames that leave, transfers that end, chunks of work that end, timers, frames that
//! arrive, sources.

use tidegate_sim::events::Events;
use tidegate_sim::time::NEVER;

/// What an event happens to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Due {
    /// The frame on the outgoing wire of an interface has left.
    Wire(usize),
    /// The grant on a lane of the bus ends.
    Lane(usize),
    /// The chunk of work on a core ends.
    Core(usize),
    /// Measurement begins or ends.
    Measure,
    /// A source of noise strikes.
    Noise(usize),
    /// The guard's period ends.
    Guard,
    /// The polling thread of a core wakes up.
    Thread(usize),
    /// The feedback of a core times out.
    Feedback(usize),
    /// The frame on the incoming wire of an interface has arrived.
    Incoming(usize),
    /// A source emits.
    Source(usize),
}

/// The numbers of what there is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub nics: usize,
    pub lanes: usize,
    pub cores: usize,
    pub noise: usize,
    pub sources: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    events: Events,
    kinds: Box<[Due]>,
    counts: Counts,
}

impl Agenda {
    /// Nothing is pending.
    pub(crate) fn new(counts: Counts) -> Agenda {
        let Counts { nics, lanes, cores, noise, sources } = counts;
        let mut kinds: Vec<Due> = (0..nics).map(Due::Wire).collect();
        kinds.extend((0..lanes).map(Due::Lane).chain((0..cores).map(Due::Core)));
        kinds.push(Due::Measure);
        kinds.extend((0..noise).map(Due::Noise));
        kinds.push(Due::Guard);
        kinds.extend((0..cores).map(Due::Thread).chain((0..cores).map(Due::Feedback)));
        kinds.extend((0..nics).map(Due::Incoming).chain((0..sources).map(Due::Source)));
        Agenda { events: Events::new(kinds.len()), kinds: kinds.into(), counts }
    }

    /// The next event: its instant, and what it happens to.
    #[inline]
    pub(crate) fn first(&self) -> (u64, Due) {
        let (at, slot) = self.events.first();
        (at, self.kinds[slot])
    }

    /// Replaces the event of something; [`NEVER`] removes it.
    #[inline]
    pub(crate) fn set(&mut self, due: Due, at: u64) {
        self.events.set(self.slot(due), at);
    }

    /// True if something has an event.
    pub(crate) fn is_set(&self, due: Due) -> bool {
        self.at(due) != NEVER
    }

    /// The instant of its event, or [`NEVER`].
    pub(crate) fn at(&self, due: Due) -> u64 {
        self.events.at(self.slot(due))
    }

    #[inline]
    fn slot(&self, due: Due) -> usize {
        let Counts { nics, lanes, cores, noise, .. } = self.counts;
        let measure = nics + lanes + cores;
        let guard = measure + 1 + noise;
        let incoming = guard + 1 + 2 * cores;
        match due {
            Due::Wire(nic) => nic,
            Due::Lane(lane) => nics + lane,
            Due::Core(core) => nics + lanes + core,
            Due::Measure => measure,
            Due::Noise(noise) => measure + 1 + noise,
            Due::Guard => guard,
            Due::Thread(core) => guard + 1 + core,
            Due::Feedback(core) => guard + 1 + cores + core,
            Due::Incoming(nic) => incoming + nic,
            Due::Source(source) => incoming + nics + source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_what_leaves() {
        let mut agenda = Agenda::new(Counts { nics: 2, lanes: 1, cores: 2, noise: 1, sources: 3 });
        let order = [
            Due::Wire(1),
            Due::Lane(0),
            Due::Core(0),
            Due::Core(1),
            Due::Measure,
            Due::Noise(0),
            Due::Guard,
            Due::Thread(1),
            Due::Feedback(0),
            Due::Feedback(1),
            Due::Incoming(0),
            Due::Incoming(1),
            Due::Source(0),
            Due::Source(2),
        ];
        order.iter().rev().for_each(|&due| agenda.set(due, 7));
        for due in order {
            assert_eq!(agenda.first(), (7, due));
            assert!(agenda.is_set(due));
            agenda.set(due, NEVER);
        }
        assert_eq!(agenda.first().0, NEVER);
    }
}
