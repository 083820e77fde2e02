//! Warnings about interfaces that would spoil what a bridge does, at the start and while packets are carried.

use crate::interface::{self, ControlSocket, InterfaceState};

/// The bytes of a frame beyond its MTU: an Ethernet header and one VLAN tag.
const FRAME_HEADER: u32 = 18;

/// The warnings about interfaces that carry no packets at present.
pub(crate) fn outages<const N: usize>(control: &ControlSocket, names: [&str; N]) -> Vec<String> {
    let outage = |name: &str| match control.state(name) {
        Ok(InterfaceState { up: false, .. }) => {
            Some(format!("warning: {name} is down; packets flow once it is up: `ip link set {name} up`"))
        }
        Ok(InterfaceState { carrier: false, .. }) => {
            Some(format!("warning: {name} is not connected; packets flow once its other end is up"))
        }
        Ok(_) => None,
        Err(cause) => Some(format!("warning: {name} is gone ({cause}); packets flow once there is an interface of this name")),
    };
    let mut outages: Vec<String> = names.into_iter().filter_map(outage).collect();
    outages.dedup();
    outages
}

/// The warnings about how interfaces are set up, those of one on both sides once. Each comes with the longest frame of the policy for what it takes in.
pub(crate) fn settings(control: &ControlSocket, pair: [(&str, u32); 2]) -> Vec<String> {
    let states = pair.map(|(name, _)| control.state(name));
    let known = pair.iter().zip(&states).filter_map(|(interface, state)| Some((interface, state.as_ref().ok()?)));
    let mut warnings: Vec<String> =
        known.flat_map(|((name, longest_frame), state)| of_interface(control, name, state, *longest_frame)).collect();
    warnings.dedup();
    if let [Ok(a), Ok(b)] = &states {
        warnings.extend(mtu_mismatch(pair.map(|(name, _)| name), [a.mtu, b.mtu]));
    }
    warnings
}

/// The warnings about how one interface is set up.
pub(crate) fn of_interface(control: &ControlSocket, name: &str, state: &InterfaceState, longest_frame: u32) -> Vec<String> {
    let mut warnings = Vec::new();
    let longest_received = state.mtu.saturating_add(FRAME_HEADER);
    if longest_received > longest_frame {
        warnings.push(format!(
            "warning: {name} takes packets of {} bytes (MTU), but the policy drops frames longer than {longest_frame} bytes as oversize: set \
             longest_frame to at least {longest_received}",
            state.mtu
        ));
    }
    if control.joins_packets(name) {
        warnings.push(format!(
            "warning: {name} joins packets in hardware (LRO), and they cannot be separated again: switch it off with `ethtool -K {name} lro off`"
        ));
    }
    if interface::has_address(name) {
        warnings.push(format!(
            "warning: {name} has an address of this host, so the host itself replies as well: remove it with `ip addr flush dev {name}`"
        ));
    }
    if let Some(master) = interface::master(name, state.index) {
        warnings.push(format!(
            "warning: {name} is a port of {master}, which carries the same frames past the policy: take it out with `ip link set {name} nomaster`"
        ));
    }
    warnings
}

/// The warning about different MTUs: a frame that fits into one interface may not fit into the other.
pub(crate) fn mtu_mismatch([a, b]: [&str; 2], [mtu_a, mtu_b]: [u32; 2]) -> Option<String> {
    (mtu_a != mtu_b).then(|| {
        let (small, large) = if mtu_a < mtu_b { (a, b) } else { (b, a) };
        format!(
            "warning: {a} has an MTU of {mtu_a} bytes and {b} one of {mtu_b}, so longer packets from {large} are dropped at {small}: make them \
             equal with `ip link set {small} mtu {}`",
            mtu_a.max(mtu_b)
        )
    })
}
