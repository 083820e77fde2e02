//! TCP: senders and receivers, with four exchangeable roles.
//!
//! A `Sender` and a `Receiver` are machines without clock or network: the simulation drives them with packets and timers, tests drive them with
//! transcripts. The roles are independent of each other:
//!
//! | role | decides | list |
//! |---|---|---|
//! | `congestion` | how far the window goes up and down | [`CongestionKind`] |
//! | `recovery` | when a segment is lost, and what is sent then | [`RecoveryKind`] |
//! | `timer` | how long to wait for an acknowledgement | [`TimerKind`] |
//! | `application` | how much to send, and when | [`Application`] |
//!
//! **Scope.** Data goes one way; acknowledgements come back as packets of their own. A connection begins with a handshake or exists from its
//! start; it is never closed. There is no Nagle algorithm and there are no timestamps; the receiver's window is constant.

/// Calls on whichever algorithm of a role is in use: those that read it, and those that change it.
macro_rules! forward {
    (
        $any:ident by $matcher:ident;
        $(read $read:ident($($read_name:ident: $read_type:ty),*) -> $read_result:ty;)*
        $(change $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*
    ) => {
        impl $any {
            $(#[inline]
            pub(crate) fn $read(&self, $($read_name: $read_type),*) -> $read_result {
                $matcher!(self, algorithm => algorithm.$read($($read_name),*))
            })*
            $(#[inline]
            pub(crate) fn $name(&mut self, $($argument: $type),*) -> $result {
                $matcher!(self, algorithm => algorithm.$name($($argument),*))
            })*
        }
    };
}

pub(crate) mod application;
pub(crate) mod congestion;

pub(crate) mod counts;
pub(crate) mod delivery;
pub(crate) mod ecn;
pub(crate) mod flight;
pub(crate) mod growth;
pub(crate) mod hystart;
pub(crate) mod idle;
pub(crate) mod probe;
pub(crate) mod prr;
pub(crate) mod receiver;
pub(crate) mod receiving_end;
pub(crate) mod recovery;
pub(crate) mod scoreboard;
pub(crate) mod segment;
pub(crate) mod sender;
pub(crate) mod sending_end;
pub(crate) mod settings;
pub(crate) mod timer;
#[cfg(test)]
mod transcripts;

pub use application::{Application, TransferSize, Transfers};
pub use congestion::CongestionKind;
pub use ecn::EcnMode;
pub use growth::Growth;
pub use idle::AfterIdle;
pub use recovery::RecoveryKind;
pub use settings::Tcp;
pub use timer::{TimerKind, TimerSettings};
