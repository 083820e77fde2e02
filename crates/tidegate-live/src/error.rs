//! The errors of a bridge.

use std::{fmt, io};

/// Why a bridge cannot start. Every message says what is missing and how to get it.
#[derive(Debug)]
pub enum LiveError {
    /// Both interfaces are the same.
    SameInterface {
        /// Its name.
        name: String,
    },
    /// There is no interface of this name.
    UnknownInterface {
        /// The name asked for.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// The interface does not carry Ethernet frames.
    NotEthernet {
        /// Its name.
        name: String,
        /// Its hardware type: a number of `linux/if_arp.h`.
        hardware_type: u16,
    },
    /// Another process carries packets on the interface.
    InUse {
        /// The interface's name.
        name: String,
        /// Its process number, if the kernel tells.
        process: Option<u32>,
    },
    /// The process may not open packet sockets.
    NotPermitted {
        /// What the kernel refused.
        doing: &'static str,
    },
    /// The frames that the policy may hold do not fit into memory.
    Memory {
        /// The direction, as "A -> B".
        direction: String,
        /// The bytes asked for.
        bytes: u128,
        /// What the kernel said.
        cause: io::Error,
    },
    /// An end system cannot run a policy that pushes packets out of queues, because a ring is emptied at its head only.
    PushOut {
        /// The direction, as "A -> B".
        direction: String,
    },
    /// Another call was refused.
    System {
        /// What was being done.
        doing: &'static str,
        /// The interface.
        interface: String,
        /// What the kernel said.
        cause: io::Error,
    },
}

impl LiveError {
    /// The exit code of a command that ends with this error: 2 for a mistake in the request, 3 for something that the machine lacks.
    pub fn exit_code(&self) -> u8 {
        match self {
            LiveError::SameInterface { .. }
            | LiveError::UnknownInterface { .. }
            | LiveError::NotEthernet { .. }
            | LiveError::PushOut { .. } => 2,
            LiveError::InUse { .. } | LiveError::NotPermitted { .. } | LiveError::Memory { .. } | LiveError::System { .. } => 3,
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

impl fmt::Display for LiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LiveError::SameInterface { name } => {
                write!(f, "both sides of the bridge are the interface `{name}`: name two different ones")
            }
            LiveError::UnknownInterface { name, known } if known.is_empty() => {
                write!(f, "there is no interface `{name}`, nor any other in this network namespace")
            }
            LiveError::UnknownInterface { name, known } => {
                write!(f, "there is no interface `{name}` in this network namespace; there are: {}", known.join(", "))
            }
            LiveError::NotEthernet { name, hardware_type } => write!(
                f,
                "the interface `{name}` does not carry Ethernet frames (hardware type {hardware_type}): use an Ethernet, veth or TAP \
                 interface"
            ),
            LiveError::InUse { name, process } => {
                let process = process.map_or("another process".to_owned(), |number| format!("process {number}"));
                write!(
                    f,
                    "{process} already carries packets on `{name}`, and every packet would pass twice: stop it, or carry packets beside it \
                     with --force"
                )
            }
            LiveError::NotPermitted { doing } => write!(
                f,
                "not permitted: {doing}. Carrying packets needs the capabilities CAP_NET_RAW and CAP_NET_ADMIN (and CAP_SYS_NICE for \
                 precise timing): run as root, or grant them once with \
                 `sudo setcap cap_net_raw,cap_net_admin,cap_sys_nice+ep \"$(command -v tidegate)\"`"
            ),
            LiveError::PushOut { direction } => write!(
                f,
                "{direction}: the policy's buffer manager pushes packets out of their queues, but the rings of an end system are emptied at \
                 their heads only: use another manager (`tail-drop`, `dynamic-threshold`), or carry packets without the end system"
            ),
            LiveError::Memory { direction, bytes, cause } => write!(
                f,
                "no memory for the frames of {direction}: {bytes} bytes ({cause}). Lower the policy's packet_limit, longest_frame or \
                 the delay of its link"
            ),
            LiveError::System { doing, interface, cause } => match cause.raw_os_error() {
                Some(libc::EAFNOSUPPORT) => {
                    write!(f, "this kernel has no packet sockets (CONFIG_PACKET): load the module with `modprobe af_packet`")
                }
                Some(libc::ENOPROTOOPT) => write!(
                    f,
                    "this kernel's packet sockets are too old for {doing} on `{interface}` ({cause}): Linux 4.20 or later is needed"
                ),
                _ => write!(f, "{doing} on `{interface}` failed: {cause}"),
            },
        }
    }
}

impl std::error::Error for LiveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            LiveError::Memory { cause, .. } | LiveError::System { cause, .. } => Some(cause),
            _ => None,
        }
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
