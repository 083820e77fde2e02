//! Defective policers, each of which breaks one law: they check the conformance suite.

use tidegate_core::packet::Colour;
use tidegate_core::policer::{Contract, Policer, Verdict};
use tidegate_core::units::Time;

/// What is wrong with a [`Defective`] GCRA.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Defect {
    /// None: the skeleton itself is sound.
    None,
    /// A packet outside the contract is charged all the same.
    ChargesViolations,
    /// The instant at which a packet just conforms does not.
    RefusesTheBoundary,
    /// The picosecond before does.
    AcceptsBeforeTheBoundary,
    /// Instants are compared as numbers.
    ForgetsTheWrap,
    /// A refresh empties the bucket.
    RefreshesToEmpty,
    /// Every 1000th packet of all policers passes.
    Remembers,
    /// A long silence is saved up.
    SavesUp,
    /// A policer that adopts another starts with a full bucket.
    AdoptsNothing,
}

#[derive(Clone)]
pub struct Defective {
    defect: Defect,
    per_byte: u64,
    limit: u64,
    arrival: u64,
}

impl Defective {
    /// For contracts whose byte takes a whole number of picoseconds.
    pub fn new(defect: Defect, contract: &Contract) -> Option<Defective> {
        let per_byte = contract.rate.time_per_byte().ceil(1).picoseconds();
        let is_whole = per_byte * contract.rate.bits_per_second() == 8_000_000_000_000;
        let beyond = u64::from(contract.burst.unwrap_or(contract.longest_packet) - contract.longest_packet);
        let limit = beyond * per_byte + contract.delay_variation_tolerance.unwrap_or_default().picoseconds();
        is_whole.then_some(Defective { defect, per_byte, limit, arrival: 0 })
    }
}

static PACKETS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

impl Policer for Defective {
    fn start(&mut self, now: Time) {
        self.arrival = now.picoseconds();
    }

    fn police(&mut self, now: Time, length: u32, _colour: Colour) -> Verdict {
        let now = now.picoseconds();
        let ahead = self.arrival.wrapping_sub(now) as i64;
        let limit = self.limit as i64;
        let weight = u64::from(length) * self.per_byte;
        let mut conforms = match self.defect {
            Defect::RefusesTheBoundary => ahead < limit,
            Defect::AcceptsBeforeTheBoundary => ahead <= limit + 1,
            Defect::ForgetsTheWrap => self.arrival <= now.saturating_add(self.limit),
            _ => ahead <= limit,
        };
        if self.defect == Defect::Remembers {
            conforms |= PACKETS.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 1000 == 999;
        }
        if conforms || self.defect == Defect::ChargesViolations {
            let from = if ahead > 0 || self.defect == Defect::SavesUp { self.arrival } else { now };
            self.arrival = from.wrapping_add(weight);
        }
        if conforms { Verdict::Conform } else { Verdict::Discard }
    }

    fn adopt(&mut self, _now: Time, old: &Defective, _longest: u32) {
        if self.defect != Defect::AdoptsNothing {
            self.arrival = old.arrival;
        }
    }

    fn refresh(&mut self, now: Time) {
        if (self.arrival.wrapping_sub(now.picoseconds()) as i64) < 0 || self.defect == Defect::RefreshesToEmpty {
            self.start(now);
        }
    }
}

/// Two GCRAs that know nothing of each other: the first is charged for what the second refuses.
#[derive(Clone)]
pub struct Uncoordinated {
    pub peak: Defective,
    pub sustained: Defective,
}

impl Policer for Uncoordinated {
    fn start(&mut self, now: Time) {
        self.peak.start(now);
        self.sustained.start(now);
    }

    fn police(&mut self, now: Time, length: u32, colour: Colour) -> Verdict {
        match self.peak.police(now, length, colour) {
            Verdict::Conform => self.sustained.police(now, length, colour),
            other => other,
        }
    }

    fn refresh(&mut self, now: Time) {
        self.peak.refresh(now);
        self.sustained.refresh(now);
    }

    fn adopt(&mut self, now: Time, old: &Uncoordinated, longest: u32) {
        self.peak.adopt(now, &old.peak, longest);
        self.sustained.adopt(now, &old.sustained, longest);
    }
}
