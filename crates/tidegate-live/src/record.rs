//! What is known of a direction: the record of its port, its heaviest flows, and a capture if one runs.

use crate::talkers::TalkerTable;
use crate::tap::Tap;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use tidegate_core::classifier::{Classifier, Header, Rule};
use tidegate_core::exchange::WorkerMeter;
use tidegate_core::packet::{DropReason, Flow};
use tidegate_core::units::Time;
use tidegate_statistics::PortRecorder;

#[derive(Debug)]
pub(crate) struct DirectionRecord {
    pub(crate) port: PortRecorder,
    pub(crate) talkers: TalkerTable,
    pub(crate) tap: Option<Box<Tap>>,
    /// The packets for which each rule of the present policy was the first that matched; last those that no rule matched.
    pub(crate) hits: Vec<u64>,
    /// What a worker reports to the others.
    pub(crate) meter: Option<Box<WorkerMeter>>,
}

/// Which rules of a policy continue rules of the one before it: the same rule of a class of the same name.
#[derive(Debug)]
pub(crate) struct CarriedRules {
    /// Room for the counts.
    hits: Vec<u64>,
    /// By rule, the number of the rule that it was.
    before: Vec<Option<u32>>,
}

impl CarriedRules {
    pub(crate) fn new(before: &Classifier, after: &Classifier) -> CarriedRules {
        fn hash(rule: &Rule) -> u64 {
            let mut hasher = DefaultHasher::new();
            rule.hash(&mut hasher);
            hasher.finish()
        }
        fn named(classifier: &Classifier) -> impl Iterator<Item = ((&str, u64), Rule)> {
            classifier.rules().map(|(class, rule)| ((&*classifier.classes()[class].name, hash(&rule)), rule))
        }
        // By the hash of the rule: the rules themselves would take much more.
        let known: HashMap<(&str, u64), u32> = named(before).map(|(key, _)| key).zip(0..).collect();
        let same = |(key, rule)| known.get(&key).copied().filter(|&number| before.rule(number as usize) == Some(rule));
        let before: Vec<Option<u32>> = named(after).map(same).collect();
        CarriedRules { hits: vec![0; before.len() + 1], before }
    }
}

impl DirectionRecord {
    /// The record of a direction whose port starts at `now` with this classifier.
    pub(crate) fn new(now: Time, classifier: &Classifier) -> DirectionRecord {
        let port = PortRecorder::new(now, classifier).with_recent_delays();
        let hits = vec![0; classifier.rules().count() + 1];
        DirectionRecord { port, talkers: TalkerTable::new(now), tap: None, hits, meter: None }
    }

    /// A packet of `flow` has come, which this rule names.
    #[inline]
    pub(crate) fn came(&mut self, header: &Header, (flow, rule): (Flow, Option<u32>), length: u32) {
        let none = self.hits.len() - 1;
        self.hits[rule.map_or(none, |rule| rule as usize)] += 1;
        self.talkers.add(header, self.port.class_of(flow), length);
    }

    /// A packet leaves, or is dropped.
    #[inline]
    pub(crate) fn tapped(&mut self, now: Time, flow: Flow, length: u32, dropped: Option<DropReason>, bytes: &[u8]) {
        if let Some(tap) = &mut self.tap {
            tap.copy(now, self.port.class_of(flow), length, dropped, bytes);
        }
    }

    /// The rules of the present policy were these of the one before. Returns the old counts.
    pub(crate) fn carry_hits(&mut self, rules: CarriedRules) -> Vec<u64> {
        let CarriedRules { mut hits, before } = rules;
        let (Some(last), Some(old)) = (hits.last_mut(), self.hits.last()) else { return hits };
        *last = *old;
        for (hits, before) in hits.iter_mut().zip(&before) {
            *hits = before.map_or(0, |rule| self.hits[rule as usize]);
        }
        std::mem::replace(&mut self.hits, hits)
    }

    /// Brings it to `now`: the record covers idle time, too.
    pub(crate) fn maintain(&mut self, now: Time) {
        self.port.advance(now);
        self.talkers.advance(now);
    }
}
