//! What a bridge would lack on this machine, asked without starting one.

use crate::clock;
use crate::endpoint::Endpoint;
use crate::error::LiveError;
use crate::interface::{ControlSocket, InterfaceState};
use crate::interface_lock::InterfaceLock;
use crate::interface_warnings;
use crate::packet;
use crate::xdp;
use rustix::thread::{CapabilitySet, capabilities};
use std::io;

/// The priority that a bridge asks for unless its options say otherwise.
const PRIORITY: i32 = 10;

/// What a bridge would lack. Each sentence says how to mend it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Examination {
    /// Why none can start.
    pub refusals: Vec<String>,
    /// What one would warn of, or do worse than it could.
    pub warnings: Vec<String>,
    /// The sockets that each interface would get, in the order of their names given.
    pub sockets: Vec<InterfaceSockets>,
}

/// The sockets through which a bridge would carry the frames of an interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InterfaceSockets {
    /// The interface, as it was named.
    pub interface: String,
    /// Those that `Io::Xdp` gets, and why, where these are packet sockets. A bridge has AF_XDP on both of its interfaces or on none.
    pub xdp: String,
    /// Those that `Io::Auto` chooses.
    pub auto: String,
}

/// Examines the rights of this process and these interfaces (`eth1`, or `eth1:100` for a VLAN), with the checks that a bridge makes when it starts. `workers` is the
/// most that a direction is to have: 1 without a policy.
pub fn examine(interfaces: &[&str], workers: u32) -> Examination {
    let mut found = Examination::default();
    if let Err(cause) = packet::try_open() {
        found.refusals.push(LiveError::system("opening a packet socket", "any interface", cause).to_string());
    }
    let has = |capability| capabilities(None).is_ok_and(|sets| sets.effective.contains(capability));
    if !has(CapabilitySet::BPF.union(CapabilitySet::IPC_LOCK)) {
        found.warnings.push(
            "warning: CAP_BPF or CAP_IPC_LOCK is lacking, so `live --io xdp` has packet sockets: run as root or grant both".to_owned(),
        );
    }
    if !has(CapabilitySet::NET_ADMIN) {
        found.warnings.push(
            "warning: CAP_NET_ADMIN is lacking, so socket buffers are small, and bursts of super-frames may be lost in the kernel: run as root or \
             grant it"
                .to_owned(),
        );
    }
    // In a thread of its own, which ends with its priority.
    let tried = std::thread::spawn(|| clock::set_real_time_priority(PRIORITY)).join();
    if let Ok(Err(cause)) = tried {
        found.warnings.push(real_time_refused(&cause));
    }
    if let Err(error) = examine_interfaces(interfaces, workers, &mut found) {
        found.refusals.push(error.to_string());
    }
    found
}

fn examine_interfaces(names: &[&str], workers: u32, found: &mut Examination) -> Result<(), LiveError> {
    let Some(first) = names.first() else { return Ok(()) };
    let control = ControlSocket::new().map_err(|cause| LiveError::system("opening a socket to ask for the state of", first, cause))?;
    let mut mtus = Vec::new();
    let is_beside_vlan = names.iter().any(|name| name.contains(':'));
    for name in names {
        match examine_endpoint(&control, name, is_beside_vlan) {
            Ok((endpoint, state)) => {
                let name = endpoint.name.as_str();
                found.warnings.extend(interface_warnings::outages(&control, [name]));
                // What is too long for the policy is known with the policy.
                found.warnings.extend(interface_warnings::of_interface(&control, name, &state, u32::MAX));
                let (sockets, lacks) = sockets(&control, &endpoint, &state, workers);
                found.warnings.extend(lacks);
                found.sockets.push(sockets);
                mtus.push(state.mtu);
            }
            Err(error) => found.refusals.push(error.to_string()),
        }
    }
    if let ([a, b], [mtu_a, mtu_b]) = (names, &mtus[..]) {
        found.warnings.extend(interface_warnings::mtu_mismatch([a, b], [*mtu_a, *mtu_b]));
    }
    Ok(())
}

/// The sockets of an interface, and the warning that its queues are too few for the workers.
fn sockets(control: &ControlSocket, endpoint: &Endpoint, state: &InterfaceState, workers: u32) -> (InterfaceSockets, Option<String>) {
    let packet = |why: String| format!("packet sockets, because {why}");
    let expected = xdp::expected(control, endpoint, state, workers);
    let lacks = match &expected {
        Err((why, Some(cure))) => Some(format!("warning: {why}: {cure}")),
        _ => None,
    };
    let xdp = expected.map_err(|(why, _)| why);
    let auto = match xdp::not_worth_it(control, &[endpoint]) {
        Some(why) if xdp.is_ok() || lacks.is_some() => packet(why),
        _ => xdp.clone().unwrap_or_else(packet),
    };
    (InterfaceSockets { interface: endpoint.shown.clone(), xdp: xdp.unwrap_or_else(packet), auto }, lacks)
}

/// The interface of an endpoint, such as `eth1` or `eth1:100`, if no bridge carries packets on it.
fn examine_endpoint(control: &ControlSocket, shown: &str, is_beside_vlan: bool) -> Result<(Endpoint, InterfaceState), LiveError> {
    let endpoint = Endpoint::new(shown)?;
    let state = control.ethernet_state(&endpoint.name)?;
    InterfaceLock::take(&endpoint, state.index, is_beside_vlan)?;
    Ok((endpoint, state))
}

/// The warning that threads have no real-time priority.
pub(crate) fn real_time_refused(cause: &io::Error) -> String {
    format!(
        "warning: real-time scheduling was refused ({cause}), so packets may leave milliseconds late when the machine is busy: run as root or grant \
         CAP_SYS_NICE"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_that_cannot_be_used_are_refused_by_name() {
        let found = examine(&["tidegate-no-such", "lo"], 1);
        let refused = |text: &str| found.refusals.iter().any(|refusal| refusal.contains(text));
        assert!(refused("there is no interface `tidegate-no-such`") && refused("`lo` does not carry Ethernet frames"), "{found:?}");
    }

    #[test]
    fn rights_that_a_process_lacks_are_found() {
        // In a thread of its own, so that other tests keep their rights.
        let found = std::thread::spawn(|| {
            let none = rustix::thread::CapabilitySets {
                effective: CapabilitySet::empty(),
                permitted: CapabilitySet::empty(),
                inheritable: CapabilitySet::empty(),
            };
            rustix::thread::set_capabilities(None, none).unwrap();
            examine(&[], 1)
        })
        .join()
        .unwrap();
        assert!(found.refusals.iter().any(|refusal| refusal.contains("CAP_NET_RAW") && refusal.contains("setcap")), "{found:?}");
        assert!(found.warnings.iter().any(|warning| warning.contains("CAP_NET_ADMIN")), "{found:?}");
    }
}
