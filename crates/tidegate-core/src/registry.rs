//! Every algorithm by name: one list per role, from which follow the enum the ports use, the names in files, the index of the
//! documentation and the conformance suite.
//!
//! To add an algorithm: write its file, add its line here, and add its page under `docs/disciplines/`.

use crate::buffer::{Admission, Arrival, BufferError, BufferField, BufferManager, BufferParameters, BufferPolicy, Change};
use crate::packet::{Colour, Flow, Head, Part};
use crate::policer::{Contract, ContractError, ContractField, Enforcement, Policer, Verdict};
use crate::queue::Occupancy;
use crate::scheduler::{BuildError, Decision, Discipline, FlowParameters, Parameter, Scheduler, Setup, Task};
use crate::units::Time;
use alloc::boxed::Box;

macro_rules! schedulers {
    (registered { $($variant:ident = $type:ty;)* } composed { $($(#[$doc:meta])* $composite:ident = $composite_type:ty;)* }) => {
        /// Any registered scheduler, or one composed of registered ones.
        // The tag stands in a word of its own, which makes a `match` one load. Ports and nodes are few and their schedulers' tables are
        // elsewhere, so a large variant costs nothing, and a box would cost a load per call.
        #[derive(Clone, Debug)]
        #[repr(u32)]
        #[allow(missing_docs, clippy::large_enum_variant)]
        pub enum AnyScheduler { $($variant($type),)* $($(#[$doc])* $composite($composite_type),)* }

        /// The registered schedulers by name.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[allow(missing_docs)]
        pub enum SchedulerKind { $($variant,)* }

        impl SchedulerKind {
            /// Every registered scheduler, in the order of the list.
            pub const ALL: &'static [SchedulerKind] = &[$(SchedulerKind::$variant,)*];

            /// The name used in files.
            pub const fn name(self) -> &'static str {
                match self { $(SchedulerKind::$variant => <$type as Discipline>::NAME,)* }
            }

            /// One sentence: what it promises.
            pub const fn summary(self) -> &'static str {
                match self { $(SchedulerKind::$variant => <$type as Discipline>::SUMMARY,)* }
            }

            /// The parameters it cannot do without.
            pub const fn requires(self) -> &'static [Parameter] {
                match self { $(SchedulerKind::$variant => <$type as Discipline>::REQUIRES,)* }
            }

            /// The parameters it uses if they are given.
            pub const fn accepts(self) -> &'static [Parameter] {
                match self { $(SchedulerKind::$variant => <$type as Discipline>::ACCEPTS,)* }
            }

            /// True if it never waits while a flow is backlogged.
            pub const fn is_work_conserving(self) -> bool {
                match self { $(SchedulerKind::$variant => <$type as Discipline>::WORK_CONSERVING,)* }
            }

            /// True if it keeps the flows' contracts ([`FlowParameters::shape`]) itself, and needs no shaper around it.
            pub const fn shapes(self) -> bool {
                match self { $(SchedulerKind::$variant => <$type as Discipline>::SHAPES,)* }
            }

            /// Builds it for `flows.len()` flows.
            ///
            /// # Errors
            /// [`BuildError`] for a missing required parameter, or one out of range.
            pub fn build(self, setup: &Setup, flows: &[FlowParameters]) -> Result<AnyScheduler, BuildError> {
                self.check_required(flows)?;
                match self { $(SchedulerKind::$variant => <$type as Discipline>::build(setup, flows).map(AnyScheduler::$variant),)* }
            }
        }

        impl Scheduler for AnyScheduler {
            fn start(&mut self, now: Time) {
                match self {
                    $(AnyScheduler::$variant(s) => s.start(now),)*
                    $(AnyScheduler::$composite(s) => s.start(now),)*
                }
            }
            #[inline]
            fn activate(&mut self, now: Time, flow: Flow, head: Head) {
                match self {
                    $(AnyScheduler::$variant(s) => outlined::activate(s, now, flow, head),)*
                    $(AnyScheduler::$composite(s) => outlined::activate(&mut **s, now, flow, head),)*
                }
            }
            #[inline]
            fn select(&mut self, now: Time) -> Decision {
                match self {
                    $(AnyScheduler::$variant(s) => outlined::select(s, now),)*
                    $(AnyScheduler::$composite(s) => outlined::select(&mut **s, now),)*
                }
            }
            #[inline]
            fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
                match self {
                    $(AnyScheduler::$variant(s) => outlined::served(s, now, flow, next),)*
                    $(AnyScheduler::$composite(s) => outlined::served(&mut **s, now, flow, next),)*
                }
            }
            #[inline]
            fn lost(&mut self, now: Time, flow: Flow, next: Option<Head>) {
                match self {
                    $(AnyScheduler::$variant(s) => outlined::lost(s, now, flow, next),)*
                    $(AnyScheduler::$composite(s) => outlined::lost(&mut **s, now, flow, next),)*
                }
            }
            #[inline]
            fn served_and_suspended(&mut self, now: Time, flow: Flow, next: Head) {
                match self {
                    $(AnyScheduler::$variant(s) => outlined::served_and_suspended(s, now, flow, next),)*
                    $(AnyScheduler::$composite(s) => outlined::served_and_suspended(&mut **s, now, flow, next),)*
                }
            }
            #[inline]
            fn suspend(&mut self, now: Time, flow: Flow) {
                match self {
                    $(AnyScheduler::$variant(s) => outlined::suspend(s, now, flow),)*
                    $(AnyScheduler::$composite(s) => outlined::suspend(&mut **s, now, flow),)*
                }
            }
            #[inline]
            fn resume(&mut self, now: Time, flow: Flow, head: Head) {
                match self {
                    $(AnyScheduler::$variant(s) => outlined::resume(s, now, flow, head),)*
                    $(AnyScheduler::$composite(s) => outlined::resume(&mut **s, now, flow, head),)*
                }
            }
            #[inline]
            fn prefetch_hint(&mut self) -> Option<Flow> {
                match self {
                    $(AnyScheduler::$variant(s) => outlined::prefetch_hint(s),)*
                    $(AnyScheduler::$composite(s) => outlined::prefetch_hint(&mut **s),)*
                }
            }
            #[inline]
            fn prefetch(&self, flow: Flow) {
                match self {
                    $(AnyScheduler::$variant(s) => s.prefetch(flow),)*
                    $(AnyScheduler::$composite(s) => s.prefetch(flow),)*
                }
            }
            #[inline]
            fn drive<T: Task>(&mut self, task: T) -> T::Output {
                match self {
                    $(AnyScheduler::$variant(s) => outlined::drive(s, task),)*
                    $(AnyScheduler::$composite(s) => outlined::drive(&mut **s, task),)*
                }
            }
            fn refresh(&mut self, now: Time) {
                match self {
                    $(AnyScheduler::$variant(s) => s.refresh(now),)*
                    $(AnyScheduler::$composite(s) => s.refresh(now),)*
                }
            }
        }
    };
}

/// One function per scheduler and call. Were they all inlined into the `match`, every call would pay for saving the registers that the
/// most complicated scheduler needs; like this the `match` is a jump.
mod outlined {
    use super::{Decision, Flow, Head, Scheduler, Task, Time};

    #[inline(never)]
    pub(super) fn activate<S: Scheduler>(scheduler: &mut S, now: Time, flow: Flow, head: Head) {
        scheduler.activate(now, flow, head);
    }

    #[inline(never)]
    pub(super) fn select<S: Scheduler>(scheduler: &mut S, now: Time) -> Decision {
        scheduler.select(now)
    }

    #[inline(never)]
    pub(super) fn served<S: Scheduler>(scheduler: &mut S, now: Time, flow: Flow, next: Option<Head>) {
        scheduler.served(now, flow, next);
    }

    #[inline(never)]
    pub(super) fn lost<S: Scheduler>(scheduler: &mut S, now: Time, flow: Flow, next: Option<Head>) {
        scheduler.lost(now, flow, next);
    }

    #[inline(never)]
    pub(super) fn served_and_suspended<S: Scheduler>(scheduler: &mut S, now: Time, flow: Flow, next: Head) {
        scheduler.served_and_suspended(now, flow, next);
    }

    #[inline(never)]
    pub(super) fn suspend<S: Scheduler>(scheduler: &mut S, now: Time, flow: Flow) {
        scheduler.suspend(now, flow);
    }

    #[inline(never)]
    pub(super) fn resume<S: Scheduler>(scheduler: &mut S, now: Time, flow: Flow, head: Head) {
        scheduler.resume(now, flow, head);
    }

    #[inline(never)]
    pub(super) fn drive<S: Scheduler, T: Task>(scheduler: &mut S, task: T) -> T::Output {
        scheduler.drive(task)
    }

    #[inline(never)]
    pub(super) fn prefetch_hint<S: Scheduler>(scheduler: &mut S) -> Option<Flow> {
        scheduler.prefetch_hint()
    }
}

schedulers! {
    registered {
        Fifo = crate::scheduler::Fifo;
        StrictPriority = crate::scheduler::StrictPriority;
        WeightedRoundRobin = crate::scheduler::WeightedRoundRobin;
        DeficitRoundRobin = crate::scheduler::DeficitRoundRobin;
        Wf2qPlus = crate::scheduler::Wf2qPlus;
        QuickFair = crate::scheduler::QuickFair;
        SelfClocked = crate::scheduler::SelfClocked;
        VirtualClock = crate::scheduler::VirtualClock;
        EarliestDeadlineFirst = crate::scheduler::EarliestDeadlineFirst;
        Dwcs = crate::scheduler::Dwcs;
        RateControlled = crate::scheduler::RateControlled;
    }
    composed {
        /// A tree of schedulers, built by [`crate::scheduler::Hierarchy::build`].
        Hierarchy = Box<crate::scheduler::Hierarchy>;
        /// A scheduler whose flows keep contracts of their own, built by [`crate::shaper::Shaped::new`].
        Shaped = Box<crate::shaper::Shaped<AnyScheduler>>;
    }
}

impl SchedulerKind {
    /// The scheduler of this name.
    pub fn from_name(name: &str) -> Option<SchedulerKind> {
        SchedulerKind::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    fn check_required(self, flows: &[FlowParameters]) -> Result<(), BuildError> {
        for (index, given) in flows.iter().enumerate() {
            for &parameter in self.requires() {
                if !given.has(parameter) {
                    let flow = Some(Flow(index as u32));
                    return Err(BuildError { flow, parameter, problem: "this scheduler needs it for every flow" });
                }
            }
        }
        Ok(())
    }
}

macro_rules! policers {
    ($($variant:ident = $type:ty;)*) => {
        /// Any registered policer.
        #[derive(Clone, Debug)]
        #[allow(missing_docs)]
        pub enum AnyPolicer { $($variant($type),)* }

        /// The registered policers by name.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[allow(missing_docs)]
        pub enum PolicerKind { $($variant,)* }

        impl PolicerKind {
            /// Every registered policer, in the order of the list.
            pub const ALL: &'static [PolicerKind] = &[$(PolicerKind::$variant,)*];

            /// The name used in files.
            pub const fn name(self) -> &'static str {
                match self { $(PolicerKind::$variant => <$type as Enforcement>::NAME,)* }
            }

            /// One sentence: what it enforces.
            pub const fn summary(self) -> &'static str {
                match self { $(PolicerKind::$variant => <$type as Enforcement>::SUMMARY,)* }
            }

            /// The fields of a contract it cannot do without.
            pub const fn requires(self) -> &'static [ContractField] {
                match self { $(PolicerKind::$variant => <$type as Enforcement>::REQUIRES,)* }
            }

            /// The further fields it uses if they are given, besides [`ContractField::LongestPacket`] and [`ContractField::Violation`],
            /// which all use.
            pub const fn accepts(self) -> &'static [ContractField] {
                match self { $(PolicerKind::$variant => <$type as Enforcement>::ACCEPTS,)* }
            }

            /// Builds it; a port starts it.
            ///
            /// # Errors
            /// [`ContractError`] for a missing required field, one that this policer does not use, or one out of range.
            pub fn build(self, contract: &Contract) -> Result<AnyPolicer, ContractError> {
                contract.check(self.requires(), self.accepts())?;
                match self { $(PolicerKind::$variant => <$type as Enforcement>::build(contract).map(AnyPolicer::$variant),)* }
            }
        }

        impl Policer for AnyPolicer {
            fn start(&mut self, now: Time) {
                match self { $(AnyPolicer::$variant(p) => p.start(now),)* }
            }
            #[inline]
            fn police(&mut self, now: Time, length: u32, colour: Colour) -> Verdict {
                match self { $(AnyPolicer::$variant(p) => p.police(now, length, colour),)* }
            }
            #[inline]
            fn police_part(&mut self, now: Time, length: u32, colour: Colour, part: Part) -> Verdict {
                match self { $(AnyPolicer::$variant(p) => p.police_part(now, length, colour, part),)* }
            }
            fn refresh(&mut self, now: Time) {
                match self { $(AnyPolicer::$variant(p) => p.refresh(now),)* }
            }
        }
    };
}

policers! {
    Gcra = crate::policer::VirtualScheduling;
    DualGcra = crate::policer::DualGcra;
    SrTcm = crate::policer::SrTcm;
    TrTcm2698 = crate::policer::TrTcm2698;
    TrTcm4115 = crate::policer::TrTcm4115;
    Gfr = crate::policer::Gfr;
    GfrTm41 = crate::policer::GfrTm41;
}

impl PolicerKind {
    /// The policer of this name.
    pub fn from_name(name: &str) -> Option<PolicerKind> {
        PolicerKind::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

macro_rules! buffer_managers {
    ($($variant:ident = $type:ty;)*) => {
        /// Any registered buffer manager.
        #[derive(Clone, Debug)]
        #[allow(missing_docs)]
        pub enum AnyBufferManager { $($variant($type),)* }

        /// The registered buffer managers by name.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[allow(missing_docs)]
        pub enum BufferKind { $($variant,)* }

        impl BufferKind {
            /// Every registered buffer manager, in the order of the list.
            pub const ALL: &'static [BufferKind] = &[$(BufferKind::$variant,)*];

            /// The name used in files.
            pub const fn name(self) -> &'static str {
                match self { $(BufferKind::$variant => <$type as BufferPolicy>::NAME,)* }
            }

            /// One sentence: who may stay.
            pub const fn summary(self) -> &'static str {
                match self { $(BufferKind::$variant => <$type as BufferPolicy>::SUMMARY,)* }
            }

            /// The parameters it uses besides limits.
            pub const fn accepts(self) -> &'static [BufferField] {
                match self { $(BufferKind::$variant => <$type as BufferPolicy>::ACCEPTS,)* }
            }

            /// Builds it for an empty buffer.
            ///
            /// # Errors
            /// [`BufferError`] for a parameter that is missing, out of range, or not used by this manager.
            pub fn build(self, parameters: &BufferParameters) -> Result<AnyBufferManager, BufferError> {
                parameters.check(self.accepts())?;
                match self { $(BufferKind::$variant => <$type as BufferPolicy>::build(parameters).map(AnyBufferManager::$variant),)* }
            }
        }

        impl BufferManager for AnyBufferManager {
            #[inline]
            fn admit(&mut self, arrival: &Arrival, occupancy: &Occupancy) -> Admission {
                match self { $(AnyBufferManager::$variant(b) => b.admit(arrival, occupancy),)* }
            }
            #[inline]
            fn changed(&mut self, change: Change, occupancy: &Occupancy) {
                match self { $(AnyBufferManager::$variant(b) => b.changed(change, occupancy),)* }
            }
        }
    };
}

buffer_managers! {
    TailDrop = crate::buffer::TailDrop;
    DynamicThreshold = crate::buffer::DynamicThreshold;
    LongestQueuePushOut = crate::buffer::LongestQueuePushOut;
    PartialPacketDiscard = crate::buffer::PartialPacketDiscard;
    EarlyPacketDiscard = crate::buffer::EarlyPacketDiscard;
    TagSensitive = crate::buffer::TagSensitive;
    SelectiveDrop = crate::buffer::SelectiveDrop;
    FairBufferAllocation = crate::buffer::FairBufferAllocation;
    WeightedBufferAllocation = crate::buffer::WeightedBufferAllocation;
}

impl BufferKind {
    /// The buffer manager of this name.
    pub fn from_name(name: &str) -> Option<BufferKind> {
        BufferKind::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}
