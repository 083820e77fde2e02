//! The threshold of delay above which packets are marked, alone or after another AQM has let them pass.

use super::Judgement;
use super::parameters::{AqmError, AqmField, AqmParameters, LONGEST};
use crate::packet::Ecn;
use crate::units::Duration;

/// Which packets are marked at a threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CeThreshold {
    /// Packets that have waited longer.
    above: Duration,
    /// Those with ECT(1) alone.
    ect1_only: bool,
}

impl CeThreshold {
    pub(super) fn of(given: &AqmParameters) -> Result<CeThreshold, AqmError> {
        if given.ce_threshold.is_some_and(|above| above > LONGEST) {
            return Err(AqmField::CeThreshold.wrong("must be at most an hour"));
        }
        if given.ect1_only.is_some() && given.ce_threshold.is_none() && given.mark_above.is_none() {
            return Err(AqmField::Ect1Only.wrong("says which packets a threshold marks, and there is no threshold"));
        }
        Ok(CeThreshold { above: given.ce_threshold.unwrap_or(Duration::MAX), ect1_only: given.ect1_only.unwrap_or(false) })
    }

    /// A mark, if the packet can carry it.
    #[inline]
    pub(super) fn mark(&self, ecn: Ecn) -> Judgement {
        let applies = if self.ect1_only { ecn == Ecn::Ect1 } else { ecn.is_capable() };
        if applies { Judgement::Mark } else { Judgement::Pass }
    }

    /// Judges a packet that has waited for this long.
    #[inline]
    pub(super) fn judge(&self, waited: Duration, ecn: Ecn) -> Judgement {
        if self.is_exceeded(waited) { self.mark(ecn) } else { Judgement::Pass }
    }

    /// True if a packet that has waited for this long is beyond it.
    #[inline]
    pub(super) fn is_exceeded(&self, waited: Duration) -> bool {
        waited > self.above
    }
}
