//! Senders that shape: a contract to which a sending host delays its own packets. A packet counts as sent when it leaves the host.
//!
//! **Law.** A policer of the same contract accepts every packet, and none waits longer than the contract and the packets before it demand. The
//! host holds any number of packets.

use super::role::{Emission, Generator};
use crate::fault::Fault;
use crate::random::Stream;
use crate::time::NEVER;
use tidegate_core::shaper::{Allowance, ShapingContract};
use tidegate_core::units::{Overhead, Time};

/// A source whose packets wait in the host.
pub(crate) struct SenderShaper {
    source: Box<dyn Generator>,
    allowance: Allowance,
    overhead: Overhead,
    /// When the source emits the packet that leaves next.
    emitted: u64,
}

/// Checks a sender's contract.
///
/// # Errors
/// The [`Fault`] that keeps it from being kept.
pub(crate) fn check(contract: &ShapingContract) -> Result<(), Fault> {
    contract.allowance().map(|_| ()).map_err(|error| Fault::new("shape", error.to_string(), "a contract that can be kept"))
}

impl SenderShaper {
    /// Shapes the packets of `source`, with their lengths on a link of this overhead. The contract has been checked.
    pub(crate) fn new(source: Box<dyn Generator>, contract: &ShapingContract, overhead: Overhead) -> SenderShaper {
        SenderShaper { source, allowance: contract.allowance().unwrap_or(Allowance::UNLIMITED), overhead, emitted: NEVER }
    }
}

impl Generator for SenderShaper {
    fn first(&mut self, start: u64, stream: &mut Stream) -> u64 {
        self.allowance.start(Time::from_picoseconds(start));
        self.emitted = self.source.first(start, stream);
        self.emitted
    }

    fn emit(&mut self, now: u64, stream: &mut Stream) -> Emission {
        let emission = self.source.emit(self.emitted, stream);
        self.allowance.charge(Time::from_picoseconds(now), self.overhead.wire_length(emission.length));
        self.emitted = emission.next;
        let next = if emission.next == NEVER { NEVER } else { emission.next.max(self.allowance.release().picoseconds()) };
        Emission { next, ..emission }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Holding;
    use crate::source::{OnOff, Remainder, Source};
    use proptest::prelude::*;
    use tidegate_core::packet::Colour;
    use tidegate_core::policer::{Policer, Verdict};
    use tidegate_core::registry::PolicerKind;
    use tidegate_core::units::{Duration, Rate};

    proptest! {
        /// What leaves conforms, nothing is lost or early, and a contract wider than the source delays nothing.
        #[test]
        fn a_policer_of_the_contract_accepts_all(seed in 1u64..1000, burst in 1u32..20, rate in 800u64..2000) {
            let milliseconds = |mean| Holding::Exponential { mean: Duration::from_milliseconds(mean) };
            let peak = Rate::new(1_500_000).unwrap();
            let source = OnOff { peak, length: 125, on: milliseconds(2), off: milliseconds(2), remainder: Remainder::Carried };
            let source = Source::OnOff(source);
            let contract = ShapingContract::new(Rate::new(rate * 1000).unwrap(), burst * 125, 125);
            let mut policer = PolicerKind::Gcra.build(&contract.policed()).unwrap();
            policer.start(Time::ZERO);
            let (mut plain, mut streams) = (source.start(&[].into()).unwrap(), [0; 2].map(|_| Stream::new(seed, 0, "flow")));
            let mut shaped = SenderShaper::new(source.start(&[].into()).unwrap(), &contract, Overhead::None);
            let (mut emitted, mut leaves) = (plain.first(0, &mut streams[0]), shaped.first(0, &mut streams[1]));
            for _ in 0..500 {
                prop_assert!(leaves >= emitted);
                // At the peak rate itself both round their intervals, and may differ by a picosecond.
                prop_assert!(rate <= 1500 || leaves == emitted);
                prop_assert_eq!(policer.police(Time::from_picoseconds(leaves), 125, Colour::Green), Verdict::Conform);
                emitted = plain.emit(emitted, &mut streams[0]).next;
                leaves = shaped.emit(leaves, &mut streams[1]).next;
            }
        }
    }
}
