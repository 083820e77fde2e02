//! Faults of active queue management.

use super::mutant::Catcher::Tests;
use super::mutant::Mutant;

pub const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "red-marks-above-max",
        fault: "RED marks beyond its upper threshold in place of dropping",
        catchers: &[Tests("lib", "aqm::red")],
    },
    Mutant {
        name: "dualpi2-without-square",
        fault: "DualPI2 does not square the probability of classic packets",
        catchers: &[Tests("lib", "aqm::dual_pi2"), Tests("dual_pi2", "")],
    },
    Mutant {
        name: "dual-queue-is-strict",
        fault: "the low-latency side always goes first",
        catchers: &[Tests("lib", "scheduler::dual_queue"), Tests("dual_pi2", "")],
    },
    Mutant {
        name: "aqm-asked-twice",
        fault: "an AQM judges a packet twice when its turn comes",
        catchers: &[Tests("conformance_aqm", "a_port_asks"), Tests("codel", "")],
    },
    Mutant {
        name: "aqm-drops-are-charged",
        fault: "a packet that an AQM drops counts as served",
        catchers: &[Tests("conformance_aqm", "a_port_asks")],
    },
    Mutant {
        name: "aqm-misses-push-outs",
        fault: "an AQM does not hear of packets that are pushed out",
        catchers: &[Tests("conformance_aqm", "a_port_asks")],
    },
    Mutant {
        name: "aqm-counts-marks-from-upstream",
        fault: "a packet that was marked upstream is counted as marked here",
        catchers: &[Tests("conformance_aqm", "a_port_asks"), Tests("step", "")],
    },
    Mutant { name: "codel-counts-the-head", fault: "CoDel counts the head among what waits behind it", catchers: &[Tests("codel", "")] },
    Mutant {
        name: "codel-starts-afresh",
        fault: "CoDel begins every spell of drops with a count of 1",
        catchers: &[Tests("codel", "a_second_burst"), Tests("codel", "")],
    },
    Mutant {
        name: "codel-marks-without-limit",
        fault: "CoDel marks packets however long they waited",
        catchers: &[Tests("codel", "senders")],
    },
    Mutant {
        name: "cobalt-forgets-its-count",
        fault: "COBALT's count does not decay: one short delay ends it",
        catchers: &[Tests("lib", "aqm::cobalt")],
    },
    Mutant { name: "cobalt-without-blue", fault: "COBALT's BLUE does not hear of overflows", catchers: &[Tests("lib", "aqm::cobalt")] },
    Mutant {
        name: "pie-unscaled",
        fault: "PIE does not scale its changes down while the probability is small",
        catchers: &[Tests("pie", "")],
    },
    Mutant { name: "pie-without-burst", fault: "PIE lets no burst pass", catchers: &[Tests("pie", "")] },
    Mutant { name: "pie-updates-once", fault: "PIE makes one update however many are due", catchers: &[Tests("lib", "aqm::pie")] },
    Mutant { name: "step-includes-the-arrival", fault: "a step counts the arriving packet", catchers: &[Tests("step", "")] },
];
