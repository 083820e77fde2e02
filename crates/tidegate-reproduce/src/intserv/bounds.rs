//! What is proven of the flows of the parking lot.
//!
//! At a node a flow has its queue: guaranteed service is a virtual clock, controlled load one in what guaranteed service leaves. The links of hosts
//! carry one flow each. Rates that follow calls bound nothing but guaranteed flows that stay, which go before them.

use super::lot::{Case, GUARANTEED, Mode, PATHS, Role, roles};
use super::node::{self, Member, Options};
use crate::proven::{Proven, of_network};
use tidegate_bounds::curve::Service;
use tidegate_bounds::quantity::NoBound;
use tidegate_bounds::service::{Child, Node, row};
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::{OutOfProfile, ServiceClass, Stamping};
use tidegate_core::units::{Duration, Rate};
use tidegate_sim::LinkId;

/// Why a flow that asks to be admitted has no bound.
const COMES_AND_GOES: NoBound = NoBound::Because("it comes and goes, and rates of the ports change with it");

/// The name and the bound of each flow of a case, in the order of its network.
pub(super) fn of(case: &Case) -> Vec<(String, Proven)> {
    let (network, roles) = (case.network(), roles(&case.load, case.mode));
    let node = |switch: usize| {
        let mut members = case.members(&roles, switch);
        if case.mode != Mode::Static {
            // A call has its rate as long as it holds.
            let guaranteed = members.iter_mut().flatten().filter(|member| member.service == ServiceClass::Guaranteed);
            guaranteed.for_each(|member| member.rate = GUARANTEED);
        }
        described(&members, &case.node)
    };
    let nodes: Vec<Node> = (0..PATHS).map(node).collect();
    let service = |LinkId(link): LinkId, flow: usize| match nodes.get(link) {
        None => Ok(Service::link(network.links[link].port.rate.bits_per_second())),
        Some(node) => row(node, &Service::link(node.rate), flow).guaranteed,
    };
    let proven = of_network(&network, &service);
    let reason = |role: &Role| {
        let asks = case.mode.asks(role.service);
        let is_re_rated = case.mode != Mode::Static && role.service == ServiceClass::ControlledLoad;
        (asks || is_re_rated).then_some(COMES_AND_GOES)
    };
    roles.iter().zip(proven).map(|(role, proven)| (name(role), reason(role).map_or(proven, Err))).collect()
}

/// Such as "guaranteed, path 1".
fn name(role: &Role) -> String {
    let service = match role.service {
        ServiceClass::Guaranteed => "guaranteed",
        ServiceClass::ControlledLoad => "controlled load",
        ServiceClass::BestEffort => "TCP",
    };
    let breaks = if role.rogue { ", breaks its contract" } else { "" };
    format!("{service}, path {}{breaks}", role.path + 1)
}

/// A node as the calculus knows it; a flow that does not pass is a child without a rate.
pub(super) fn described(members: &[Option<Member>], options: &Options) -> Node {
    let packet = 8 * u64::from(options.packet);
    let child = |member: &Option<Member>| {
        let member = member.unwrap_or(Member::best_effort());
        let given = node::parameters(&member, options);
        let rate = given.rate.map_or(0, Rate::bits_per_second);
        let tolerance = given.tolerance.map_or(0, Duration::picoseconds);
        let early = (u128::from(rate) * u128::from(tolerance)).div_ceil(1_000_000_000_000);
        Child { rate, class: member.service, early: u64::try_from(early).unwrap_or(u64::MAX), ..Child::new(packet) }
    };
    let children = members.iter().map(child).collect();
    let mut node = Node::new(SchedulerKind::IntegratedServices, super::packets::mbps(options.link).bits_per_second(), children);
    node.is_literal = options.scheduler.stamp == Stamping::Literal;
    node.charges_early = options.scheduler.out_of_profile == OutOfProfile::Charge;
    node
}
