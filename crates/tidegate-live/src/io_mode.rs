//! Which sockets carry the frames of a bridge: those asked for, or packet sockets where these cannot be had.

use crate::config::{Io, Options};
use crate::endpoint::Endpoint;
use crate::interface::{ControlSocket, InterfaceState};
use crate::xdp::{self, Held, XdpEnds, XdpPair};

/// The sockets of a bridge.
pub(crate) struct Opened {
    /// AF_XDP sockets for the directions from the first interface and from the second, for each worker; packet sockets are still to be opened without.
    pub(crate) ends: [Vec<XdpEnds>; 2],
    /// What they are, for users.
    pub(crate) mode: String,
    /// Why they are not those that were asked for, or what these lack.
    pub(crate) warning: Option<String>,
}

/// Opens the sockets that the options ask for. `held` is about the directions from the first interface and from the second.
pub(crate) fn open(
    control: &ControlSocket,
    endpoints: [&Endpoint; 2],
    states: [&InterfaceState; 2],
    held: [Held; 2],
    options: Options,
) -> Opened {
    let of_workers = [0, 1].map(|from| {
        let (from, to, workers) = (&endpoints[from].shown, &endpoints[1 - from].shown, held[from].workers);
        if workers > 1 { format!("; from {from} to {to} a group of {workers} sockets, one per worker") } else { String::new() }
    });
    let packet = |mode: String, warning| Opened { ends: Default::default(), mode: mode + &of_workers.concat(), warning };
    let obstacle = match options.io {
        Io::Packet => return packet("packet sockets".to_owned(), None),
        _ if options.end_system => Some("an end system has packet sockets".to_owned()),
        Io::Auto => xdp::not_worth_it(control, &endpoints),
        Io::Xdp => None,
    };
    let opened = obstacle.map_or_else(|| xdp::open(control, endpoints, states, held, options.ring), Err);
    match opened {
        Ok(XdpPair { directions, mode }) => {
            let stripping: Vec<&str> =
                endpoints.into_iter().map(|endpoint| endpoint.name.as_str()).filter(|name| control.strips_tags(name)).collect();
            Opened { ends: directions, mode, warning: tags_lost(&stripping) }
        }
        Err(why) if options.io == Io::Auto => packet(format!("packet sockets, because {why}"), None),
        Err(why) => packet("packet sockets".to_owned(), Some(format!("warning: AF_XDP was asked for, and packet sockets are used: {why}"))),
    }
}

/// The warning that these interfaces keep VLAN tags where AF_XDP does not see them.
fn tags_lost(names: &[&str]) -> Option<String> {
    let cures: Vec<String> = names.iter().map(|name| format!("`ethtool -K {name} rxvlan off`")).collect();
    (!names.is_empty()).then(|| format!(
        "warning: {} may keep VLAN tags beside frames, where AF_XDP does not see them, so frames with tags would leave without: {} (with veth, `txvlan off` at \
         the other end)",
        names.join(" and "),
        cures.join(" and ")
    ))
}
