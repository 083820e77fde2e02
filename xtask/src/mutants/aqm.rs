//! Faults of active queue management. Everything that is named has to catch the fault, not one of it.

use super::mutant::Catcher::{Gate, Tests};
use super::mutant::Mutant;

/// The figures of the gates.
const RULES: &str = "aqm/rules";
const TEN: &str = "aqm/ten-connections";
const CALL: &str = "aqm/call";
const DUAL: &str = "aqm/dualpi2";

pub const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "red-marks-above-max",
        fault: "RED marks beyond its upper threshold in place of dropping",
        catchers: &[Gate(RULES, "red"), Tests("lib", "aqm::red"), Tests("red", "packets_that_can")],
    },
    Mutant {
        name: "adaptive-red-never-adapts",
        fault: "adaptive RED keeps its first curve",
        catchers: &[Tests("lib", "aqm::red::adaptive"), Gate(TEN, "adaptive-red")],
    },
    Mutant {
        name: "dualpi2-without-square",
        fault: "DualPI2 does not square the probability of classic packets",
        catchers: &[Gate(RULES, "D5, dualpi2: two floods"), Gate(DUAL, "five and five"), Tests("lib", "aqm::dual_pi2")],
    },
    Mutant {
        name: "dualpi2-uncoupled",
        fault: "DualPI2 marks low-latency packets by the step alone",
        catchers: &[Gate(RULES, "D5, dualpi2: two floods"), Gate(DUAL, "five and five"), Tests("lib", "aqm::dual_pi2")],
    },
    Mutant {
        name: "dual-queue-is-strict",
        fault: "the low-latency side always goes first",
        catchers: &[Gate(RULES, "D5, dualpi2: classic traffic"), Tests("lib", "scheduler::dual_queue")],
    },
    Mutant {
        name: "hosts-share-by-flows",
        fault: "a host gets a share for each of its flows",
        catchers: &[Tests("lib", "scheduler::host_round_robin")],
    },
    Mutant {
        name: "aqm-asked-twice",
        fault: "an AQM judges a packet twice when its turn comes",
        catchers: &[Gate(RULES, "C3"), Tests("conformance_aqm", "a_port_asks")],
    },
    Mutant {
        name: "aqm-drops-are-charged",
        fault: "a packet that an AQM drops counts as served",
        catchers: &[Gate(RULES, "fq-codel: share of a flood that is dropped"), Tests("conformance_aqm", "a_port_asks")],
    },
    Mutant {
        name: "ingress-drops-are-free",
        fault: "with ingress accounting a drop costs nothing",
        catchers: &[Tests("ingress", ""), Tests("conformance_aqm", "a_port_asks")],
    },
    Mutant {
        name: "ingress-drops-leave-the-link-free",
        fault: "with ingress accounting a drop takes no time on the link",
        catchers: &[Tests("ingress", "the_service"), Tests("conformance_aqm", "a_port_asks")],
    },
    Mutant {
        name: "ingress-without-limit",
        fault: "with ingress accounting drops may take the whole service",
        catchers: &[Tests("ingress", "of_a_flood")],
    },
    Mutant {
        name: "aqm-misses-push-outs",
        fault: "an AQM does not hear of packets that are pushed out",
        catchers: &[Gate(RULES, "cobalt, fq-codel: early drops"), Tests("conformance_aqm", "a_port_asks")],
    },
    Mutant {
        name: "aqm-counts-marks-from-upstream",
        fault: "a packet that was marked upstream is counted as marked here",
        catchers: &[Gate(RULES, "step"), Tests("conformance_aqm", "a_port_asks")],
    },
    Mutant {
        name: "codel-counts-the-head",
        fault: "CoDel counts the head among what waits behind it",
        catchers: &[Gate(RULES, "C5"), Tests("codel", "")],
    },
    Mutant {
        name: "codel-starts-afresh",
        fault: "CoDel begins every spell of drops with a count of 1",
        catchers: &[Gate(RULES, "C6"), Tests("codel", "a_second_burst")],
    },
    Mutant {
        name: "codel-marks-without-limit",
        fault: "CoDel marks packets however long they waited",
        catchers: &[Gate(RULES, "C8"), Tests("codel", "senders")],
    },
    Mutant {
        name: "codel-without-interval",
        fault: "CoDel drops as soon as a packet has waited for the target",
        catchers: &[Gate(RULES, "C3"), Gate(TEN, "codel: mean"), Tests("codel", "")],
    },
    Mutant {
        name: "cobalt-forgets-its-count",
        fault: "COBALT's count does not decay: one short delay ends it",
        catchers: &[Gate(RULES, "cobalt: drops of ten bursts"), Tests("lib", "aqm::cobalt")],
    },
    Mutant {
        name: "cobalt-without-blue",
        fault: "COBALT's BLUE does not hear of overflows",
        catchers: &[Gate(RULES, "cobalt, fq-codel: early drops"), Tests("lib", "aqm::cobalt")],
    },
    Mutant {
        name: "pie-unscaled",
        fault: "PIE does not scale its changes down while the probability is small",
        catchers: &[Gate(RULES, "P6"), Tests("pie", "")],
    },
    Mutant { name: "pie-without-burst", fault: "PIE lets no burst pass", catchers: &[Gate(RULES, "P6"), Tests("pie", "")] },
    Mutant {
        name: "pie-ignores-the-trend",
        fault: "PIE looks at the delay, not at how it changes",
        catchers: &[Gate(RULES, "P6"), Tests("lib", "aqm::pie")],
    },
    Mutant {
        name: "pie-updates-once",
        fault: "PIE makes one update however many are due",
        catchers: &[Gate(RULES, "pie: time without a drop"), Tests("lib", "aqm::pie")],
    },
    Mutant {
        name: "step-includes-the-arrival",
        fault: "a step counts the arriving packet",
        catchers: &[Gate(RULES, "step"), Tests("step", "")],
    },
    Mutant {
        name: "sparse-flows-go-last",
        fault: "a flow that becomes backlogged waits behind all others",
        catchers: &[Gate(RULES, "F4"), Gate(CALL, "a queue per flow: 99 %"), Tests("lib", "scheduler::sparse_round_robin")],
    },
    Mutant {
        name: "sparse-flows-skip-the-old-list",
        fault: "a sparse flow that runs empty is new again at once",
        catchers: &[Gate(RULES, "fq-codel: share of a flow that runs empty"), Tests("lib", "scheduler::sparse_round_robin")],
    },
    Mutant {
        name: "fattest-flow-without-batch",
        fault: "the fattest flow loses one packet at a time",
        catchers: &[Gate(RULES, "F2"), Tests("lib", "buffer::fattest_flow"), Tests("fq_codel", "")],
    },
];
