//! Senders that tag: a contract that a sending host applies to its own packets. Packets beyond it set out marked; none is discarded.
//!
//! A host tags to choose what is lost first: a network that drops tagged packets before all others then leaves it the packets that it wants to
//! arrive (R. Goyal and others, "Design issues for providing minimum rate guarantees to the ATM unspecified bit rate service", 1998, section 3.2).

use crate::fault::Fault;
use tidegate_core::packet::Colour;
use tidegate_core::policer::{Contract, Policer, Verdict, Violation};
use tidegate_core::registry::{AnyPolicer, PolicerKind};
use tidegate_core::units::{Overhead, Time};

/// What a sending host leaves untagged. Rates and bursts count packets as the first link of the path carries them, with its
/// [overhead](crate::network::Link::overhead), at the instants at which they leave the host.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tagging {
    /// What judges the packets.
    pub policer: PolicerKind,
    /// The contract. Packets beyond it become yellow unless it says otherwise.
    pub contract: Contract,
}

impl Tagging {
    fn build(&self) -> Result<AnyPolicer, Fault> {
        let violation = self.contract.violation.unwrap_or(Violation::Mark(Colour::Yellow));
        if violation == Violation::Discard {
            return Err(Fault::new("violation", "a sender tags what is beyond its contract and discards nothing", "yellow or red"));
        }
        let built = self.policer.build(&Contract { violation: Some(violation), ..self.contract });
        built.map_err(|error| Fault::new(error.field.name(), error.problem, format!("a contract of policer {}", self.policer.name())))
    }

    /// Checks the contract.
    ///
    /// # Errors
    /// The [`Fault`] that keeps its policer from being built.
    pub fn check(&self) -> Result<(), Fault> {
        self.build().map(|_| ())
    }
}

/// Decides the colour in which the packets of one sender set out.
#[derive(Clone, Debug)]
pub(crate) struct Tagger(Option<Box<(AnyPolicer, Overhead)>>);

impl Tagger {
    /// The tagger of a sender before a link with this overhead. Without a contract every packet keeps the colour of its header.
    pub(crate) fn new(tagging: Option<&Tagging>, overhead: Overhead) -> Tagger {
        let policer = tagging.and_then(|tagging| tagging.build().ok());
        Tagger(policer.map(|policer| Box::new((policer, overhead))))
    }

    /// The colour in which a packet of this length leaves the host now, if that of its header is `colour`.
    #[inline]
    pub(crate) fn colour(&mut self, now: u64, length: u32, colour: Colour) -> Colour {
        let Some(tagger) = &mut self.0 else { return colour };
        let (policer, overhead) = &mut **tagger;
        match policer.police(Time::from_picoseconds(now), overhead.wire_length(length), colour) {
            Verdict::Mark(colour) => colour,
            _ => colour,
        }
    }
}

#[cfg(test)]
mod tests;
