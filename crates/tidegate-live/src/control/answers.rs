//! What is answered about classes.

use std::sync::Arc;
use tidegate_core::packet::DropReason;
use tidegate_core::port::Volume;
use tidegate_statistics::{ClassCourse, ClassRecord, Delays, RecentDelays};

/// What happened to a class until it was asked.
#[derive(Clone, Debug)]
pub struct ClassVolumes {
    /// Its name.
    pub name: Arc<str>,
    /// Everything offered.
    pub offered: Volume,
    /// Everything sent.
    pub sent: Volume,
    /// Everything whose colour the policer changed.
    pub marked: Volume,
    /// Everything that its AQM marked.
    pub ecn_marked: Volume,
    /// Everything dropped, in the order of [`DropReason::ALL`].
    pub dropped: [Volume; DropReason::ALL.len()],
}

/// The delays of a class until it was asked, from arrival to the last bit sent.
#[derive(Clone, Debug, Default)]
pub struct ClassDelays {
    /// Since the start.
    pub all: Delays,
    /// Of the last second and the last minute, if it has sent.
    pub recent: Option<Box<RecentDelays>>,
}

impl ClassDelays {
    pub(super) fn of(record: &ClassRecord, second: u64) -> ClassDelays {
        let recent = record.recent.clone().map(|mut recent| {
            recent.advance(second);
            recent
        });
        ClassDelays { all: record.delays.clone(), recent }
    }
}

impl ClassVolumes {
    pub(super) fn of(record: &ClassRecord) -> ClassVolumes {
        let ClassCourse { offered, sent, marked, ce_marked, dropped, .. } = &**record;
        ClassVolumes {
            name: record.name.clone(),
            offered: *offered,
            sent: *sent,
            marked: *marked,
            ecn_marked: *ce_marked,
            dropped: *dropped,
        }
    }

    /// Adds what another worker knows of the class.
    pub(super) fn add(&mut self, other: ClassVolumes) {
        let ClassVolumes { offered, sent, marked, ecn_marked, dropped, .. } = other;
        self.offered += offered;
        self.sent += sent;
        self.marked += marked;
        self.ecn_marked += ecn_marked;
        self.dropped.iter_mut().zip(dropped).for_each(|(sum, dropped)| *sum += dropped);
    }

    /// What is queued.
    pub fn queued(&self) -> Volume {
        self.offered - self.sent - self.dropped.into_iter().sum()
    }
}
