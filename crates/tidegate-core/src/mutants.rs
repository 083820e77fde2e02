//! Seeded faults, one of which is chosen when a program starts: `cargo xtask reproduce-mutants` sees that a gate or a test catches each of them.
//!
//! They exist only under `--cfg tidegate_mutants`, which nothing that is shipped is compiled with. Without it `fault!` is the constant `false`, and
//! the compiler removes what depends on it. With it the environment variable `TIDEGATE_MUTANT` names the fault; without the variable there is none.

/// True if the fault of this name was chosen. For the crates of this workspace only.
#[doc(hidden)]
#[macro_export]
macro_rules! fault {
    ($name:ident) => {{
        #[cfg(tidegate_mutants)]
        {
            $crate::mutants::is_chosen($crate::mutants::Fault::$name)
        }
        #[cfg(not(tidegate_mutants))]
        {
            false
        }
    }};
}

#[cfg(tidegate_mutants)]
extern crate std;

/// The faults, each with the name that the environment variable takes.
#[cfg(tidegate_mutants)]
macro_rules! faults {
    ($($fault:ident = $name:literal,)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Fault {
            $(#[doc = $name] $fault,)*
        }

        fn of_name(name: &str) -> Option<Fault> {
            match name {
                $($name => Some(Fault::$fault),)*
                _ => None,
            }
        }
    };
}

#[cfg(tidegate_mutants)]
faults! {
    FgcraNeverTags = "fgcra-never-tags",
    FgcraFullTolerance = "fgcra-full-tolerance",
    FgcraTagsLastCells = "fgcra-tags-last-cells",
    GcraChargesViolations = "gcra-charges-violations",
    SrTcmColourBlind = "sr-tcm-colour-blind",
    WbaIgnoresTags = "wba-ignores-tags",
    WbaEqualWeights = "wba-equal-weights",
    WbaWithoutThirdTest = "wba-without-third-test",
    SelectiveDropOtherZ = "selective-drop-other-z",
    FramesLoseTheirEnds = "frames-lose-their-ends",
    DynamicThresholdDoubled = "dynamic-threshold-doubled",
    DynamicThresholdHalved = "dynamic-threshold-halved",
    DynamicThresholdTailDrops = "dynamic-threshold-tail-drops",
    SelectivePushoutLowestFlow = "selective-pushout-lowest-flow",
    SelectivePushoutInTurn = "selective-pushout-in-turn",
    SelectivePushoutLongest = "selective-pushout-longest",
    SelectivePushoutUnmarkedFirst = "selective-pushout-unmarked-first",
    SelectivePushoutTailDrops = "selective-pushout-tail-drops",
    SelectivePushoutForMarked = "selective-pushout-for-marked",
    SelectivePushoutPlusTailDrops = "selective-pushout-plus-tail-drops",
    SelectivePushoutPlusWithoutLongest = "selective-pushout-plus-without-longest",
    SelectivePushoutPlusIsDynamicThreshold = "selective-pushout-plus-is-dynamic-threshold",
    SelectivePushoutPlusFixed = "selective-pushout-plus-fixed",
    SelectivePushoutPlusIgnoresArrivals = "selective-pushout-plus-ignores-arrivals",
    SelectivePushoutPlusIgnoresDepartures = "selective-pushout-plus-ignores-departures",
    SelectivePushoutPlusFromTail = "selective-pushout-plus-from-tail",
    PushOutOfTheWrongQueue = "push-out-of-the-wrong-queue",
    RedMarksAboveMax = "red-marks-above-max",
    DualPi2WithoutSquare = "dualpi2-without-square",
    DualPi2Uncoupled = "dualpi2-uncoupled",
    HostsShareByFlows = "hosts-share-by-flows",
    DualQueueIsStrict = "dual-queue-is-strict",
    FattestFlowWithoutBatch = "fattest-flow-without-batch",
    ScfqForgetsItsClock = "scfq-forgets-its-clock",
    Wf2qPlusAddsWorkAtTheStart = "wf2q-plus-adds-work-at-the-start",
    DrrKeepsDeficits = "drr-keeps-deficits",
    SparseFlowsSkipTheOldList = "sparse-flows-skip-the-old-list",
    SparseFlowsGoLast = "sparse-flows-go-last",
    PriorityWithoutTurns = "priority-without-turns",
    DwcsZeroWindowsReversed = "dwcs-zero-windows-reversed",
    SwitchForgetsTokens = "switch-forgets-tokens",
    SwitchReordersMoved = "switch-reorders-moved",
    CellsWithoutStretch = "cells-without-stretch",
    CacAlwaysYes = "cac-always-yes",
    CacAlwaysNo = "cac-always-no",
    CacIgnoresLoad = "cac-ignores-load",
    CacSumsPeaks = "cac-sums-peaks",
    CacFullUtilisation = "cac-full-utilisation",
    CacLeaksUpstream = "cac-leaks-upstream",
    BudgetsReleasedAtOnce = "budgets-released-at-once",
    ArcNever = "arc-never",
    ArcOnlyOnControlledLoad = "arc-only-on-controlled-load",
    ArcOnUtilisation = "arc-on-utilisation",
    SvcLiteral = "svc-literal",
    SvcWithoutShaping = "svc-without-shaping",
    SvcKeepsStampOfPushedOut = "svc-keeps-stamp-of-pushed-out",
    SvcVirtualTime = "svc-virtual-time",
    IntservCharges = "intserv-charges",
    IntservWithoutMarks = "intserv-without-marks",
    IntservKeepsMarks = "intserv-keeps-marks",
    IntservSwapsWeights = "intserv-swaps-weights",
    IntservIgnoresWeights = "intserv-ignores-weights",
    IntservSavesCredit = "intserv-saves-credit",
    IntservControlledLoadFirst = "intserv-controlled-load-first",
    OnOffStartsAfresh = "on-off-starts-afresh",
    RouterSoftFirst = "router-soft-first",
    RouterNoiseLast = "router-noise-last",
    RouterRestartsWork = "router-restarts-work",
    RouterDrawsColumns = "router-draws-columns",
    RouterNeverMasks = "router-never-masks",
    RouterWithoutQuota = "router-without-quota",
    RouterWithoutFeedback = "router-without-feedback",
    RouterWithoutGate = "router-without-gate",
    RouterIgnoresWeights = "router-ignores-weights",
    RouterIgnoresBatch = "router-ignores-batch",
    RouterServesLastAgain = "router-serves-last-again",
    RouterReturnsDescriptors = "router-returns-descriptors",
    RouterGivesWholeBus = "router-gives-whole-bus",
    RouterActivatesLate = "router-activates-late",
    AqmAskedTwice = "aqm-asked-twice",
    AqmDropsAreCharged = "aqm-drops-are-charged",
    IngressDropsAreFree = "ingress-drops-are-free",
    IngressDropsLeaveTheLinkFree = "ingress-drops-leave-the-link-free",
    IngressWithoutLimit = "ingress-without-limit",
    AqmMissesPushOuts = "aqm-misses-push-outs",
    AqmCountsMarksFromUpstream = "aqm-counts-marks-from-upstream",
    AdaptiveRedNeverAdapts = "adaptive-red-never-adapts",
    CodelCountsTheHead = "codel-counts-the-head",
    CodelStartsAfresh = "codel-starts-afresh",
    CodelMarksWithoutLimit = "codel-marks-without-limit",
    CodelWithoutInterval = "codel-without-interval",
    CobaltForgetsItsCount = "cobalt-forgets-its-count",
    CobaltWithoutBlue = "cobalt-without-blue",
    PieUnscaled = "pie-unscaled",
    PieWithoutBurst = "pie-without-burst",
    PieUpdatesOnce = "pie-updates-once",
    PieIgnoresTheTrend = "pie-ignores-the-trend",
    StepIncludesTheArrival = "step-includes-the-arrival",
    GuardIgnoresRoom = "guard-ignores-room",
    GuardWithoutClamp = "guard-without-clamp",
    GuardRemembersCredit = "guard-remembers-credit",
    GuardWithoutCounterbalance = "guard-without-counterbalance",
    GuardForgetsResidues = "guard-forgets-residues",
    GuardWastesSpare = "guard-wastes-spare",
    GuardIgnoresWeights = "guard-ignores-weights",
}

/// True if the environment names this fault.
///
/// # Panics
/// If it names one that does not exist.
#[cfg(tidegate_mutants)]
#[inline]
pub fn is_chosen(fault: Fault) -> bool {
    static CHOSEN: std::sync::OnceLock<Option<Fault>> = std::sync::OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| {
        let name = std::env::var("TIDEGATE_MUTANT").ok()?;
        Some(of_name(&name).unwrap_or_else(|| panic!("there is no seeded fault \"{name}\"")))
    });
    *chosen == Some(fault)
}
