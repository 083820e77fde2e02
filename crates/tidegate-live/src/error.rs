//! The errors of a bridge.

use std::io;
use thiserror::Error;
use tidegate_core::exchange::ExchangeError;
use tidegate_core::port::AmendError;

/// Why a bridge cannot start. Every message says what is missing and how to get it.
#[derive(Debug, Error)]
pub enum LiveError {
    /// Both interfaces are the same.
    #[error("both sides of the bridge are the interface `{name}`: name two different ones")]
    SameInterface {
        /// Its name.
        name: String,
    },
    /// What follows the colon is no VLAN.
    #[error("`{name}`: a VLAN of an interface is a number from 1 to 4094 after a colon, such as eth1:100")]
    BadVlan {
        /// The interface and its VLAN, as they were named.
        name: String,
    },
    /// There is no interface of this name.
    #[error("{}", unknown(name, known))]
    UnknownInterface {
        /// The name asked for.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// The interface does not carry Ethernet frames.
    #[error(
        "the interface `{name}` does not carry Ethernet frames (hardware type {hardware_type}): use an Ethernet, veth or TAP interface"
    )]
    NotEthernet {
        /// Its name.
        name: String,
        /// Its hardware type: a number of `linux/if_arp.h`.
        hardware_type: u16,
    },
    /// The process that carries packets was to be followed, and was not.
    #[error("nothing was taken over: {0}")]
    TakeOver(String),
    /// Another process carries packets on the interface.
    #[error(
        "{} already carries packets on `{name}`, and every packet would pass twice: stop it, or carry packets beside it with --force",
        process.map_or("another process".to_owned(), |number| format!("process {number}"))
    )]
    InUse {
        /// The interface's name.
        name: String,
        /// Its process number, if the kernel tells.
        process: Option<u32>,
    },
    /// The process may not open packet sockets.
    #[error(
        "not permitted: {doing}. Carrying packets needs the capabilities CAP_NET_RAW and CAP_NET_ADMIN (and CAP_SYS_NICE for precise \
         timing): run as root, or grant them once with `sudo setcap cap_net_raw,cap_net_admin,cap_sys_nice+ep \"$(command -v tidegate)\"`"
    )]
    NotPermitted {
        /// What the kernel refused.
        doing: &'static str,
    },
    /// The frames that the policy may hold do not fit into memory.
    #[error(
        "no memory for the frames of {direction}: {bytes} bytes ({cause}). Lower the policy's packet_limit, longest_frame or the delay of \
         its link"
    )]
    Memory {
        /// The direction, as "A -> B".
        direction: String,
        /// The bytes asked for.
        bytes: u128,
        /// What the kernel said.
        #[source]
        cause: io::Error,
    },
    /// An end system cannot run a policy that pushes packets out of queues, because a ring is emptied at its head only.
    #[error(
        "{direction}: the policy's buffer manager pushes packets out of their queues, but the rings of an end system are emptied at their \
         heads only: use another manager (`tail-drop`, `dynamic-threshold`), or carry packets without the end system"
    )]
    PushOut {
        /// The direction, as "A -> B".
        direction: String,
    },
    /// An end system cannot run a link whose rate varies, because its engine decides ahead of the link.
    #[error(
        "{direction}: the rate of the link varies, and the engine of an end system decides ahead at one rate: remove `rates` from the policy's \
         link, or carry packets without the end system"
    )]
    VaryingRate {
        /// The direction, as "A -> B".
        direction: String,
    },
    /// The link cannot be divided among workers.
    #[error("{direction}: {cause}")]
    Workers {
        /// The direction, as "A -> B".
        direction: String,
        /// Why not.
        #[source]
        cause: ExchangeError,
    },
    /// Several workers cannot do this.
    #[error("{direction}: several workers carry packets as they come, {why}")]
    OneWorker {
        /// The direction, as "A -> B".
        direction: String,
        /// What needs one worker, and what would be right.
        why: &'static str,
    },
    /// Another call was refused.
    #[error("{}", failed(doing, interface, cause))]
    System {
        /// What was being done.
        doing: &'static str,
        /// The interface.
        interface: String,
        /// What the kernel said.
        #[source]
        cause: io::Error,
    },
}

impl LiveError {
    /// The exit code of a command that ends with this error: 2 for a mistake in the request, 3 for something that the machine lacks.
    pub fn exit_code(&self) -> u8 {
        match self {
            LiveError::SameInterface { .. }
            | LiveError::BadVlan { .. }
            | LiveError::UnknownInterface { .. }
            | LiveError::NotEthernet { .. }
            | LiveError::PushOut { .. }
            | LiveError::Workers { .. }
            | LiveError::OneWorker { .. }
            | LiveError::VaryingRate { .. } => 2,
            LiveError::TakeOver(_)
            | LiveError::InUse { .. }
            | LiveError::NotPermitted { .. }
            | LiveError::Memory { .. }
            | LiveError::System { .. } => 3,
        }
    }

    /// The error for a call that the kernel refused.
    pub(crate) fn system(doing: &'static str, interface: &str, cause: io::Error) -> LiveError {
        match cause.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => LiveError::NotPermitted { doing },
            _ => LiveError::System { doing, interface: interface.to_owned(), cause },
        }
    }
}

fn unknown(name: &str, known: &[String]) -> String {
    if known.is_empty() {
        return format!("there is no interface `{name}`, nor any other in this network namespace");
    }
    format!("there is no interface `{name}` in this network namespace; there are: {}", known.join(", "))
}

fn failed(doing: &str, interface: &str, cause: &io::Error) -> String {
    match cause.raw_os_error() {
        Some(libc::EAFNOSUPPORT) => {
            "this kernel has no packet sockets (CONFIG_PACKET): load the module with `modprobe af_packet`".to_owned()
        }
        Some(libc::ENOPROTOOPT) => {
            format!("this kernel's packet sockets are too old for {doing} on `{interface}` ({cause}): Linux 4.20 or later is needed")
        }
        _ => format!("{doing} on `{interface}` failed: {cause}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_for_lack_of_rights_names_the_capabilities() {
        let error = LiveError::system("opening a packet socket", "eth0", io::Error::from_raw_os_error(libc::EPERM));
        assert_eq!(error.exit_code(), 3);
        let message = error.to_string();
        assert!(message.contains("CAP_NET_RAW") && message.contains("setcap") && message.contains("opening a packet socket"), "{message}");
    }

    #[test]
    fn a_wrong_name_is_bad_input_and_the_right_names_are_listed() {
        let error = LiveError::UnknownInterface { name: "eht0".into(), known: vec!["lo".into(), "eth0".into()] };
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().ends_with("there are: lo, eth0"), "{error}");
    }
}

/// Why a running bridge did not do what it was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ControlError {
    /// It has ended, or is emptying its queues at the end.
    #[error("the bridge is stopping")]
    Ended,
    /// A direction of three threads cannot follow.
    #[error("an end system cannot change its policy while it runs: start it again without --end-system")]
    EndSystem,
    /// One capture of a direction runs at a time.
    #[error("another capture of this direction runs: end it first")]
    Captured,
    /// In a direction of three threads another thread has the bytes of packets.
    #[error("an end system cannot copy packets: start it again without --end-system")]
    Elsewhere,
    /// Several workers take another policy over as a whole, with a plan for as many.
    #[error("a direction keeps the number of its workers while it runs, and several take another policy over as a whole")]
    Workers,
    /// The link cannot be divided so among workers.
    #[error("{0}")]
    Exchange(ExchangeError),
    /// AF_XDP sockets, end systems and several workers are not handed over.
    #[error("sockets of this kind cannot be handed over")]
    NotHandedOver,
    /// Another change took place while this one was prepared.
    #[error("another change took place at the same moment: ask again")]
    Overtaken,
    /// Only a change of the whole policy brings this.
    #[error("{0}")]
    Amendment(AmendError),
    /// Memory for frames is set aside at the start.
    #[error("the new policy may hold {needed} packets, and there is memory for {room}: lower packet_limit, or start with a greater one")]
    Memory {
        /// The packets that the new policy may hold.
        needed: u32,
        /// The packets for which there is memory.
        room: u32,
    },
    /// The new policy accepts longer frames than there are slots for.
    #[error("frames of {needed} bytes do not fit into memory set aside for {room}: a longer longest_frame needs a new start")]
    LongerFrames {
        /// The new longest frame, in bytes.
        needed: u32,
        /// The longest frame at the start, in bytes.
        room: u32,
    },
}
