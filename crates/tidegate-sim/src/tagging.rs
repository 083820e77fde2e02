//! Senders that tag: a contract to which a sending host holds its own packets. What is beyond it sets out marked, and nothing is discarded.
//!
//! A host tags to choose what is lost first: the network that drops tagged packets before all others then leaves it those that it wants to arrive
//! (R. Goyal and others, "Design issues for providing minimum rate guarantees to the ATM unspecified bit rate service", 1998, section 3.2).

use crate::fault::Fault;
use tidegate_core::packet::Colour;
use tidegate_core::policer::{Contract, Policer, Verdict, Violation};
use tidegate_core::registry::{AnyPolicer, PolicerKind};
use tidegate_core::units::{Overhead, Time};

/// What a sending host leaves untagged. Rates and bursts count packets as the first link of the path carries them, with its
/// [overhead](Link::overhead), at the instants at which they leave the host.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tagging {
    /// Who judges the packets.
    pub policer: PolicerKind,
    /// What they are held to. Unless it says otherwise, what is beyond it becomes yellow.
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

/// Who says in which colour the packets of one sender set out.
#[derive(Clone, Debug)]
pub(crate) struct Tagger(Option<Box<(AnyPolicer, Overhead)>>);

impl Tagger {
    /// Those of a sender before this link. Without a contract every packet keeps the colour of its header.
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
mod tests {
    use super::*;
    use tidegate_core::units::{Duration, Rate};

    /// One packet of 1219 bytes on the wire in 10 ms, two at once.
    fn tagging(policer: PolicerKind) -> Tagging {
        let contract = Contract { burst: Some(2 * 1219), ..Contract::new(Rate::new(975_200).unwrap(), 1219) };
        Tagging { policer, contract }
    }

    #[test]
    fn a_sender_counts_what_its_packets_take_on_the_wire_and_marks_yellow() {
        let mut tagger = Tagger(Some(Box::new((tagging(PolicerKind::Gcra).build().unwrap(), Overhead::Aal5))));
        let mut at = |milliseconds: u64, length| {
            let now = Duration::from_milliseconds(milliseconds).picoseconds();
            tagger.colour(now, length, Colour::Green)
        };
        let (green, yellow) = (Colour::Green, Colour::Yellow);
        // 1072 bytes are 23 cells; two of them may come at once.
        assert_eq!([at(0, 1072), at(0, 1072), at(0, 1072), at(9, 1072), at(11, 1072)], [green, green, yellow, yellow, green]);
        // What has a worse colour already keeps it.
        assert_eq!(tagger.colour(Duration::from_seconds(1).picoseconds(), 1072, Colour::Red), Colour::Red);
    }

    #[test]
    fn what_is_no_contract_of_a_sender_is_refused() {
        let refused = |change: &dyn Fn(&mut Tagging)| {
            let mut tagging = tagging(PolicerKind::Gcra);
            assert_eq!(tagging.check(), Ok(()));
            change(&mut tagging);
            tagging.check().unwrap_err().key
        };
        assert_eq!(refused(&|tagging| tagging.contract.violation = Some(Violation::Discard)), "violation");
        assert_eq!(refused(&|tagging| tagging.contract.burst = Some(1000)), "burst");
        assert_eq!(refused(&|tagging| tagging.contract.peak_burst = Some(5000)), "peak_burst");
        assert_eq!(refused(&|tagging| tagging.policer = PolicerKind::Gfr), "peak_rate");
    }
}
