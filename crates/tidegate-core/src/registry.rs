//! Every algorithm by name: one list per role. From it follow the enum that ports use, the names in files, the index of the documentation
//! and the conformance suite.
//!
//! To add an algorithm: write its file, add its line here, and add its page under `docs/disciplines/`.

mod outlined;

use crate::algorithm::Algorithm;
use crate::aqm::{Aqm, AqmError, AqmField, AqmParameters, AqmSetup, AqmState, Judgement, QueueManagement};
use crate::buffer::{
    Admission, Arrival, BufferError, BufferField, BufferManager, BufferParameters, Buffering, Change, FlowShare, Partitioned,
};
use crate::classifier::FlowKey;
use crate::contract_state::ContractState;
use crate::packet::{Colour, DropReason, Flow, Head, Packet, Part};
use crate::policer::{Contract, ContractError, ContractField, Policer, Policing, Verdict};
use crate::queue::{Backlog, Marked};
use crate::random::SplitMix64;
use crate::scheduler::{
    BuildError, Decision, DeficitTree, FlowParameters, Hierarchy, HierarchyError, Kept, LeafSpec, Member, NodeSpec, Parameter, Scheduler,
    Scheduling, Setup, Task, activate_in_order, adopt_tokens,
};
use crate::shaper::ShapingContract;
use crate::units::Time;
use alloc::boxed::Box;
use alloc::vec::Vec;
use outlined::Outlined;

crate::registry! { $
    /// The registered schedulers by name.
    pub kind SchedulerKind by Algorithm<Scheduling>;
    /// Any registered scheduler, or one composed of registered ones.
    // The tag takes a word of its own, which makes a `match` one load. Those of more than 300 bytes are boxed.
    #[repr(u32)]
    #[allow(clippy::large_enum_variant)]
    pub any AnyScheduler;
    match_scheduler {
        Fifo = crate::scheduler::Fifo, boxed;
        StrictPriority = crate::scheduler::StrictPriority;
        WeightedRoundRobin = crate::scheduler::WeightedRoundRobin;
        DeficitRoundRobin = crate::scheduler::DeficitRoundRobin;
        Wf2qPlus = crate::scheduler::Wf2qPlus, boxed;
        QuickFair = crate::scheduler::QuickFair;
        SelfClocked = crate::scheduler::SelfClocked, boxed;
        VirtualClock = crate::scheduler::VirtualClock, boxed;
        ShapedVirtualClock = crate::scheduler::ShapedVirtualClock, boxed;
        IntegratedServices = crate::scheduler::IntegratedServices, boxed;
        EarliestDeadlineFirst = crate::scheduler::EarliestDeadlineFirst, boxed;
        Dwcs = crate::scheduler::Dwcs;
        RateControlled = crate::scheduler::RateControlled, boxed;
        SparseRoundRobin = crate::scheduler::SparseRoundRobin;
        HostRoundRobin = crate::scheduler::HostRoundRobin, boxed;
        DualQueue = crate::scheduler::DualQueue, boxed;
    }
    unnamed {
        /// A tree of schedulers, built by [`crate::scheduler::Hierarchy::build`].
        Hierarchy = Box<crate::scheduler::Hierarchy<AnyScheduler>>;
        /// A tree of deficit, weighted and sparse round robin, built by [`crate::scheduler::DeficitTree::build`].
        DeficitTree = Box<crate::scheduler::DeficitTree>;
        /// A scheduler whose flows keep contracts of their own, built by [`crate::shaper::Shaped::new`].
        Shaped = Box<crate::shaper::Shaped<AnyScheduler>>;
    }
}

impl SchedulerKind {
    /// The parameters it cannot do without.
    pub const fn requires(self) -> &'static [Parameter] {
        match_scheduler!(self, S, any => <S as Algorithm<Scheduling>>::REQUIRES)
    }

    /// The parameters it uses if they are given.
    pub const fn accepts(self) -> &'static [Parameter] {
        match_scheduler!(self, S, any => <S as Algorithm<Scheduling>>::ACCEPTS)
    }

    /// True if it never waits while a flow is backlogged.
    pub const fn is_work_conserving(self) -> bool {
        match_scheduler!(self, S, any => <S as Scheduler>::WORK_CONSERVING)
    }

    /// True if it keeps the flows' contracts ([`FlowParameters::shape`]) itself, and needs no shaper around it.
    pub const fn shapes(self) -> bool {
        match_scheduler!(self, S, any => <S as Scheduler>::SHAPES)
    }

    /// Builds it for `flows.len()` flows.
    ///
    /// # Errors
    /// [`BuildError`] for a missing required parameter, or one out of range.
    pub fn build(self, setup: &Setup, flows: &[FlowParameters]) -> Result<AnyScheduler, BuildError> {
        for (index, given) in flows.iter().enumerate() {
            if let Some(&parameter) = self.requires().iter().find(|&&parameter| !given.has(parameter)) {
                let flow = Some(Flow(index as u32));
                return Err(BuildError { flow, parameter, problem: "this scheduler needs it for every flow" });
            }
        }
        match_scheduler!(self, S, any => S::build((setup, flows)).map(any))
    }
}

impl AnyScheduler {
    /// The parameters and the contract of an inner node of a tree are these from now on. An error changes nothing.
    ///
    /// # Errors
    /// As [`Hierarchy::change_node`](crate::scheduler::Hierarchy::change_node); a scheduler that is no tree has no node.
    pub fn change_node(&mut self, now: Time, node: usize, parameters: &FlowParameters) -> Result<(), HierarchyError> {
        match self {
            AnyScheduler::Hierarchy(tree) => tree.change_node(now, node, parameters, parameters.shape.as_ref()),
            AnyScheduler::DeficitTree(tree) => tree.change_node(now, node, parameters, parameters.shape.as_ref()),
            _ => Err(HierarchyError::Parent(Member::Node(node))),
        }
    }

    /// The contract of an inner node of a tree is this from now on, whose parameters stay. An error changes nothing.
    ///
    /// # Errors
    /// As [`Hierarchy::limit_node`](crate::scheduler::Hierarchy::limit_node); a scheduler that is no tree has no node.
    pub fn limit_node(&mut self, now: Time, node: usize, shape: &ShapingContract) -> Result<(), HierarchyError> {
        match self {
            AnyScheduler::Hierarchy(tree) => tree.limit_node(now, node, shape),
            AnyScheduler::DeficitTree(tree) => tree.limit_node(now, node, shape),
            _ => Err(HierarchyError::Parent(Member::Node(node))),
        }
    }
}

impl AnyScheduler {
    /// A tree of a number of nodes and a number of leaves, each of which a function names: a [`DeficitTree`] if that [suits](DeficitTree::suits),
    /// otherwise a [`Hierarchy`]. Both answer alike.
    ///
    /// # Errors
    /// As [`Hierarchy::build_with`].
    pub fn tree(
        longest_packet: u32,
        (nodes, node): (usize, impl Fn(usize) -> NodeSpec),
        leaves: (usize, impl Fn(usize) -> LeafSpec),
    ) -> Result<AnyScheduler, HierarchyError> {
        if DeficitTree::suits(nodes, &node) {
            DeficitTree::build_with(longest_packet, (nodes, node), leaves).map(|tree| AnyScheduler::DeficitTree(Box::new(tree)))
        } else {
            Hierarchy::build_with(longest_packet, (nodes, node), leaves).map(|tree| AnyScheduler::Hierarchy(Box::new(tree)))
        }
    }

    /// Says anew which node of the tree that it will adopt each node of a tree continues, as [`NodeSpec::was`] does.
    pub fn continue_nodes(&mut self, was: impl Fn(usize) -> Option<usize>) {
        match self {
            AnyScheduler::Hierarchy(tree) => tree.continue_nodes(was),
            AnyScheduler::DeficitTree(tree) => tree.continue_nodes(was),
            _ => {}
        }
    }

    /// Fills the vacant place `flow`: below a node of a tree, or in another scheduler, which is like a tree of one node. An error changes nothing.
    ///
    /// # Errors
    /// As [`Hierarchy::fill`].
    pub fn fill(&mut self, now: Time, flow: Flow, leaf: &LeafSpec) -> Result<(), HierarchyError> {
        match self {
            AnyScheduler::Hierarchy(tree) => return tree.fill(now, flow, leaf),
            AnyScheduler::DeficitTree(tree) => return tree.fill(now, flow, leaf),
            _ => {}
        }
        if leaf.parent > 0 {
            return Err(HierarchyError::Parent(Member::Leaf(flow)));
        }
        let parameters = FlowParameters { shape: leaf.shape.or(leaf.parameters.shape), ..leaf.parameters };
        self.change(now, flow, &parameters).map_err(|BuildError { flow, parameter, problem }| HierarchyError::Parameters {
            node: leaf.parent,
            child: flow.map(Member::Leaf),
            parameter,
            problem,
        })
    }
}

impl AnyScheduler {
    /// Takes over from a scheduler of another type. Contracts in trees keep their tokens.
    fn adopt_other(&mut self, now: Time, old: &AnyScheduler, kept: &[Kept]) {
        match (self, old) {
            (AnyScheduler::Hierarchy(tree), AnyScheduler::DeficitTree(old)) => adopt_tokens(&mut **tree, now, &**old, kept),
            (AnyScheduler::DeficitTree(tree), AnyScheduler::Hierarchy(old)) => adopt_tokens(&mut **tree, now, &**old, kept),
            (scheduler, _) => activate_in_order(scheduler, now, kept),
        }
    }
}

impl Scheduler for AnyScheduler {
    fn start(&mut self, now: Time) {
        match_scheduler!(self, s => s.start(now));
    }

    fn assign(&mut self, flow: Flow, key: FlowKey) -> Flow {
        match_scheduler!(self, s => s.assign(flow, key))
    }

    #[inline]
    fn activate(&mut self, now: Time, flow: Flow, head: Head) {
        match_scheduler!(self, s => s.outlined_activate(now, flow, head));
    }

    #[inline]
    fn select(&mut self, now: Time) -> Decision {
        match_scheduler!(self, s => s.outlined_select(now))
    }

    #[inline]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        match_scheduler!(self, s => s.outlined_served(now, flow, next));
    }

    #[inline]
    fn lost(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        match_scheduler!(self, s => s.outlined_lost(now, flow, next));
    }

    #[inline]
    fn served_and_suspended(&mut self, now: Time, flow: Flow, next: Head) {
        match_scheduler!(self, s => s.outlined_served_and_suspended(now, flow, next));
    }

    #[inline]
    fn suspend(&mut self, now: Time, flow: Flow) {
        match_scheduler!(self, s => s.outlined_suspend(now, flow));
    }

    #[inline]
    fn resume(&mut self, now: Time, flow: Flow, head: Head) {
        match_scheduler!(self, s => s.outlined_resume(now, flow, head));
    }

    #[inline]
    fn prefetch_hint(&mut self) -> Option<Flow> {
        match_scheduler!(self, s => s.outlined_prefetch_hint())
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        match_scheduler!(self, s => s.prefetch(flow));
    }

    #[inline]
    fn drive<T: Task>(&mut self, task: T) -> T::Output {
        match_scheduler!(self, s => s.outlined_drive(task))
    }

    fn change(&mut self, now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        match_scheduler!(self, s => s.change(now, flow, parameters))
    }

    fn forget(&mut self, now: Time, flow: Flow) {
        match_scheduler!(self, s => s.forget(now, flow));
    }

    fn adopt(&mut self, now: Time, old: &mut AnyScheduler, kept: &[Kept]) {
        match_scheduler!(&mut *self, &mut *old, s, old => s.adopt(now, old, kept), else self.adopt_other(now, old, kept));
    }

    fn visit_contracts(&mut self, state: &mut dyn ContractState) {
        match_scheduler!(self, s => s.visit_contracts(state));
    }

    fn refresh(&mut self, now: Time) {
        match_scheduler!(self, s => s.refresh(now));
    }
}

crate::registry! { $
    /// The registered policers by name.
    pub kind PolicerKind by Algorithm<Policing>;
    /// Any registered policer.
    pub any AnyPolicer;
    match_policer {
        Gcra = crate::policer::VirtualScheduling;
        DualGcra = crate::policer::DualGcra;
        SrTcm = crate::policer::SrTcm;
        TrTcm2698 = crate::policer::TrTcm2698;
        TrTcm4115 = crate::policer::TrTcm4115;
        Gfr = crate::policer::Gfr;
        GfrTm41 = crate::policer::GfrTm41;
    }
}

impl PolicerKind {
    /// The fields of a contract it cannot do without.
    pub const fn requires(self) -> &'static [ContractField] {
        match_policer!(self, P, any => <P as Algorithm<Policing>>::REQUIRES)
    }

    /// The further fields it uses if they are given, besides [`ContractField::LongestPacket`] and [`ContractField::Violation`], which all use.
    pub const fn accepts(self) -> &'static [ContractField] {
        match_policer!(self, P, any => <P as Algorithm<Policing>>::ACCEPTS)
    }

    /// Builds it; a port starts it.
    ///
    /// # Errors
    /// [`ContractError`] for a missing required field, one that this policer does not use, or one out of range.
    pub fn build(self, contract: &Contract) -> Result<AnyPolicer, ContractError> {
        contract.check(self.requires(), self.accepts())?;
        match_policer!(self, P, any => P::build(contract).map(any))
    }
}

impl Policer for AnyPolicer {
    fn start(&mut self, now: Time) {
        match_policer!(self, p => p.start(now));
    }

    #[inline]
    fn police(&mut self, now: Time, length: u32, colour: Colour) -> Verdict {
        match_policer!(self, p => p.police(now, length, colour))
    }

    #[inline]
    fn police_part(&mut self, now: Time, length: u32, colour: Colour, part: Part) -> Verdict {
        match_policer!(self, p => p.police_part(now, length, colour, part))
    }

    fn adopt(&mut self, now: Time, old: &AnyPolicer, longest: u32) {
        match_policer!(self, old, p, old => p.adopt(now, old, longest), else ());
    }

    fn visit_state(&mut self, state: &mut dyn ContractState) {
        match_policer!(self, p => p.visit_state(state));
    }

    fn refresh(&mut self, now: Time) {
        match_policer!(self, p => p.refresh(now));
    }
}

crate::registry! { $
    /// The registered buffer managers by name.
    pub kind BufferKind by Algorithm<Buffering>;
    /// Any registered buffer manager.
    pub any AnyBufferManager;
    match_buffer_manager {
        TailDrop = crate::buffer::TailDrop;
        DynamicThreshold = crate::buffer::DynamicThreshold;
        LongestQueuePushOut = crate::buffer::LongestQueuePushOut;
        FattestFlow = crate::buffer::FattestFlow;
        SelectivePushout = crate::buffer::SelectivePushout;
        SelectivePushoutPlus = crate::buffer::SelectivePushoutPlus;
        PartialPacketDiscard = crate::buffer::PartialPacketDiscard;
        EarlyPacketDiscard = crate::buffer::EarlyPacketDiscard;
        TagSensitive = crate::buffer::TagSensitive;
        SelectiveDrop = crate::buffer::SelectiveDrop;
        FairBufferAllocation = crate::buffer::FairBufferAllocation;
        WeightedBufferAllocation = crate::buffer::WeightedBufferAllocation;
    }
    unnamed {
        /// A buffer in partitions, built by [`AnyBufferManager::partitioned`].
        Partitioned = Box<crate::buffer::Partitioned<AnyBufferManager>>;
    }
}

/// One partition of a buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartitionSpec {
    /// Its manager.
    pub kind: BufferKind,
    /// What that is built from: as many flows as the partition has places, and a limit in packets. Flows have the partition's numbers.
    pub parameters: BufferParameters,
}

impl AnyBufferManager {
    /// A buffer in partitions; `partition_of` is as in [`Partitioned::new`].
    ///
    /// # Errors
    /// The partition whose parameters are wrong, as in [`BufferKind::build`], or `None` for what is wrong with `partition_of`.
    pub fn partitioned(specs: &[PartitionSpec], partition_of: &[Option<u32>]) -> Result<AnyBufferManager, (Option<usize>, BufferError)> {
        let mut managers = Vec::with_capacity(specs.len());
        for (number, PartitionSpec { kind, parameters }) in specs.iter().enumerate() {
            if parameters.packets.is_none() {
                let problem =
                    "a partition needs it in packets: otherwise it could fill the memory of the port, and others would share the loss";
                return Err((Some(number), BufferError { field: BufferField::Limit, problem }));
            }
            managers.push((kind.build(parameters).map_err(|error| (Some(number), error))?, parameters.flows));
        }
        let buffer = Partitioned::new(managers, partition_of).map_err(|error| (None, error))?;
        Ok(AnyBufferManager::Partitioned(Box::new(buffer)))
    }
}

impl BufferKind {
    /// The parameters it uses besides limits.
    pub const fn accepts(self) -> &'static [BufferField] {
        match_buffer_manager!(self, B, any => <B as Algorithm<Buffering>>::ACCEPTS)
    }

    /// Why it drops packets, besides limits.
    pub const fn drop_reasons(self) -> &'static [DropReason] {
        match_buffer_manager!(self, B, any => <B as BufferManager>::DROP_REASONS)
    }

    /// Builds it for an empty buffer.
    ///
    /// # Errors
    /// [`BufferError`] for a parameter that is missing, out of range, or not used by this manager.
    pub fn build(self, parameters: &BufferParameters) -> Result<AnyBufferManager, BufferError> {
        parameters.check(self.accepts())?;
        match_buffer_manager!(self, B, any => B::build(parameters).map(any))
    }
}

impl BufferManager for AnyBufferManager {
    fn needs_marked_lists(&self) -> bool {
        match_buffer_manager!(self, b => b.needs_marked_lists())
    }

    fn pushes_out(&self) -> bool {
        match_buffer_manager!(self, b => b.pushes_out())
    }

    #[inline]
    fn admit<O: Backlog>(&mut self, arrival: &Arrival, backlog: &O) -> Admission {
        match_buffer_manager!(self, b => b.admit(arrival, backlog))
    }

    #[inline]
    fn changed<O: Backlog>(&mut self, change: Change, backlog: &O) {
        match_buffer_manager!(self, b => b.changed(change, backlog));
    }

    fn change<O: Backlog>(&mut self, flow: Flow, share: &FlowShare, backlog: &O) -> Result<(), BufferError> {
        match_buffer_manager!(self, b => b.change(flow, share, backlog))
    }

    fn partition_of(&self, flow: Flow) -> u32 {
        match_buffer_manager!(self, b => b.partition_of(flow))
    }

    fn forget(&mut self, flow: Flow) {
        match_buffer_manager!(self, b => b.forget(flow));
    }

    fn restore<O: Backlog>(&mut self, flow: Flow, marked: Marked, backlog: &O) {
        match_buffer_manager!(self, b => b.restore(flow, marked, backlog));
    }

    fn adopt(&mut self, old: &AnyBufferManager, kept: &[Kept]) {
        match_buffer_manager!(self, old, b, old => b.adopt(old, kept), else ());
    }
}

crate::registry! { $
    /// The registered AQMs by name.
    pub kind AqmKind by Algorithm<QueueManagement>;
    /// Any registered AQM.
    // Each class has one, so those of more than 32 bytes are boxed.
    pub any AnyAqm;
    match_aqm {
        CoDel = crate::aqm::CoDel;
        Red = crate::aqm::Red, boxed;
        AdaptiveRed = crate::aqm::AdaptiveRed, boxed;
        WeightedRed = crate::aqm::WeightedRed, boxed;
        DualPi2 = crate::aqm::DualPi2, boxed;
        Cobalt = crate::aqm::Cobalt, boxed;
        Pie = crate::aqm::Pie, boxed;
        Step = crate::aqm::Step;
    }
}

impl AqmKind {
    /// The parameters it cannot do without.
    pub const fn requires(self) -> &'static [AqmField] {
        match_aqm!(self, A, any => <A as Algorithm<QueueManagement>>::REQUIRES)
    }

    /// The further parameters it uses if they are given.
    pub const fn accepts(self) -> &'static [AqmField] {
        match_aqm!(self, A, any => <A as Algorithm<QueueManagement>>::ACCEPTS)
    }

    /// Builds it for empty queues.
    ///
    /// # Errors
    /// [`AqmError`] for a parameter that is missing, out of range, or not used by this AQM.
    pub fn build(self, setup: &AqmSetup, parameters: &AqmParameters) -> Result<AnyAqm, AqmError> {
        parameters.check(self.requires(), self.accepts())?;
        match_aqm!(self, A, any => A::build((setup, parameters)).map(any))
    }
}

impl Aqm for AnyAqm {
    fn start(&mut self, now: Time) {
        match_aqm!(self, a => a.start(now));
    }

    fn judges_arrivals(&self) -> bool {
        match_aqm!(self, a => a.judges_arrivals())
    }

    fn judges_departures(&self) -> bool {
        match_aqm!(self, a => a.judges_departures())
    }

    fn charges_drops(&self) -> bool {
        match_aqm!(self, a => a.charges_drops())
    }

    fn is_fresh(&self) -> bool {
        match_aqm!(self, a => a.is_fresh())
    }

    #[inline]
    fn admit<B: Backlog>(&mut self, arrival: &Arrival, backlog: &B, draws: &mut SplitMix64) -> Judgement {
        match_aqm!(self, a => a.admit(arrival, backlog, draws))
    }

    #[inline]
    fn depart<B: Backlog>(&mut self, now: Time, head: &Packet<()>, backlog: &B, draws: &mut SplitMix64) -> Judgement {
        match_aqm!(self, a => a.depart(now, head, backlog, draws))
    }

    fn hears_departures(&self) -> bool {
        match_aqm!(self, a => a.hears_departures())
    }

    #[inline]
    fn joined<B: Backlog>(&mut self, now: Time, flow: Flow, backlog: &B) {
        match_aqm!(self, a => a.joined(now, flow, backlog));
    }

    #[inline]
    fn left<B: Backlog>(&mut self, now: Time, flow: Flow, backlog: &B) {
        match_aqm!(self, a => a.left(now, flow, backlog));
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        match_aqm!(self, a => a.prefetch(flow));
    }

    fn pushed_out(&mut self, now: Time, flow: Flow) {
        match_aqm!(self, a => a.pushed_out(now, flow));
    }

    fn refused(&mut self, now: Time, flow: Flow) {
        match_aqm!(self, a => a.refused(now, flow));
    }

    fn forget(&mut self, flow: Flow) {
        match_aqm!(self, a => a.forget(flow));
    }

    fn state<B: Backlog>(&self, now: Time, flow: Flow, backlog: &B) -> AqmState {
        match_aqm!(self, a => a.state(now, flow, backlog))
    }

    fn adopt(&mut self, now: Time, old: &AnyAqm, kept: &[Kept]) {
        match_aqm!(self, old, a, old => a.adopt(now, old, kept), else ());
    }

    fn refresh(&mut self, now: Time) {
        match_aqm!(self, a => a.refresh(now));
    }
}
