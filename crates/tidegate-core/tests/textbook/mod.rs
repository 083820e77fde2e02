//! Policers as their sources write them, slowly and in exact rational arithmetic, for comparison.
//!
//! Amounts of data are counted in units of 1 / (8 * 10^12) byte: a rate of one bit per second is one unit per picosecond, and everything
//! is a whole number.

use tidegate_core::packet::Colour::{self, Green, Red, Yellow};
use tidegate_core::policer::{Conformance, Contract, Verdict, Violation};
use tidegate_core::registry::PolicerKind;
use tidegate_core::units::Rate;

const TICKS_PER_BYTE: u128 = 8_000_000_000_000;

fn bps(rate: Rate) -> u128 {
    u128::from(rate.bits_per_second())
}

/// The policer of a contract.
pub struct Textbook {
    contract: Contract,
    model: Model,
}

enum Model {
    Gcra(VirtualScheduling),
    Gfr(FrameBucket),
    GfrTm41 { peak: VirtualScheduling, minimum: FrameBucket, tags: bool, longest: u128 },
    Dual { definition: Conformance, peak: VirtualScheduling, sustained: Option<VirtualScheduling> },
    SrTcm { last: u64, c: Tokens, e: Tokens },
    TrTcm2698 { last: u64, c: Tokens, p: Tokens },
    TrTcm4115 { last: u64, c: Tokens, e: Tokens },
}

/// Where a packet stands, by the meter of its contract.
enum Finding {
    Conforming,
    Coloured(Colour),
    Violating,
}

impl Textbook {
    /// Starts at instant 0.
    pub fn new(kind: PolicerKind, contract: &Contract) -> Textbook {
        let tolerance = contract.delay_variation_tolerance.unwrap_or_default().picoseconds();
        let beyond_first = u128::from(contract.burst.unwrap_or(contract.longest_packet) - contract.longest_packet);
        let tokens = |rate: Rate, bytes: Option<u32>| Tokens::full(bps(rate), u128::from(bytes.unwrap()) * TICKS_PER_BYTE);
        let model = match kind {
            PolicerKind::Gcra => {
                let rate = bps(contract.rate);
                Model::Gcra(VirtualScheduling::new(rate, 1, beyond_first * TICKS_PER_BYTE + u128::from(tolerance) * rate))
            }
            PolicerKind::DualGcra => {
                let definition = contract.conformance.unwrap();
                let peak_rate = bps(contract.peak_rate.unwrap_or(contract.rate));
                let peak = VirtualScheduling::new(peak_rate, 1, u128::from(tolerance) * peak_rate);
                let sustained = definition.has_sustained_rate().then(|| {
                    // BT = (MBS - first) * (1/SCR - 1/PCR), with the denominator SCR * PCR taken out.
                    let rate = bps(contract.rate);
                    let burst_tolerance = beyond_first * TICKS_PER_BYTE * (peak_rate - rate);
                    VirtualScheduling::new(rate, peak_rate, burst_tolerance + u128::from(tolerance) * rate * peak_rate)
                });
                Model::Dual { definition, peak, sustained }
            }
            PolicerKind::Gfr => Model::Gfr(FrameBucket::new(contract, 2)),
            PolicerKind::GfrTm41 => {
                let peak_rate = bps(contract.peak_rate.unwrap());
                Model::GfrTm41 {
                    peak: VirtualScheduling::new(peak_rate, 1, u128::from(tolerance) * peak_rate),
                    minimum: FrameBucket::new(contract, 1),
                    tags: contract.conformance != Some(Conformance::Gfr1),
                    longest: u128::from(contract.longest_packet) * TICKS_PER_BYTE,
                }
            }
            PolicerKind::SrTcm => {
                Model::SrTcm { last: 0, c: tokens(contract.rate, contract.burst), e: tokens(contract.rate, contract.excess_burst) }
            }
            PolicerKind::TrTcm2698 => Model::TrTcm2698 {
                last: 0,
                c: tokens(contract.rate, contract.burst),
                p: tokens(contract.peak_rate.unwrap(), contract.peak_burst),
            },
            PolicerKind::TrTcm4115 => Model::TrTcm4115 {
                last: 0,
                c: tokens(contract.rate, contract.burst),
                e: tokens(contract.excess_rate.unwrap(), contract.excess_burst),
            },
        };
        Textbook { contract: *contract, model }
    }

    /// The verdict on a packet `now` picoseconds after the start.
    pub fn police(&mut self, now: u64, length: u32, colour: Colour) -> Verdict {
        let finding = self.find(now, u128::from(length) * TICKS_PER_BYTE, colour);
        let usual = if let Model::Gfr(_) = self.model { Violation::Mark(Yellow) } else { Violation::Discard };
        match (finding, self.contract.violation.unwrap_or(usual)) {
            (Finding::Conforming, _) => Verdict::Conform,
            (Finding::Coloured(found), _) if found == colour => Verdict::Conform,
            (Finding::Coloured(found), _) => Verdict::Mark(found),
            (Finding::Violating, Violation::Discard) => Verdict::Discard,
            (Finding::Violating, Violation::Mark(mark)) if mark > colour => Verdict::Mark(mark),
            (Finding::Violating, Violation::Mark(_)) => Verdict::Conform,
        }
    }

    fn find(&mut self, now: u64, size: u128, colour: Colour) -> Finding {
        // A colour-blind meter assumes that packets are uncoloured, that is green.
        let precolour = if self.contract.colour_aware == Some(true) { colour } else { Green };
        match &mut self.model {
            Model::Gcra(gcra) => {
                if gcra.passes(now) {
                    gcra.commit(now, size);
                    Finding::Conforming
                } else {
                    Finding::Violating
                }
            }
            Model::Dual { definition, peak, sustained } => {
                let clp0 = colour == Green;
                let in_peak = peak.passes(now);
                let in_sustained = sustained.as_ref().is_some_and(|gcra| gcra.passes(now));
                let (commit_peak, commit_sustained, finding) = match (*definition, clp0, in_peak, in_sustained) {
                    (_, _, false, _) => (false, false, Finding::Violating),
                    (Conformance::Cbr1 | Conformance::Ubr1, ..) => (true, false, Finding::Conforming),
                    (Conformance::Ubr2, true, ..) => (true, false, Finding::Coloured(Yellow)),
                    (Conformance::Ubr2, false, ..) => (true, false, Finding::Conforming),
                    (Conformance::Vbr1, _, _, true) => (true, true, Finding::Conforming),
                    (Conformance::Vbr1, _, _, false) => (false, false, Finding::Violating),
                    (Conformance::Vbr2 | Conformance::Vbr3, false, ..) => (true, false, Finding::Conforming),
                    (Conformance::Vbr2 | Conformance::Vbr3, true, _, true) => (true, true, Finding::Conforming),
                    (Conformance::Vbr2, true, _, false) => (false, false, Finding::Violating),
                    (Conformance::Vbr3, true, _, false) => (true, false, Finding::Coloured(Yellow)),
                    (Conformance::Gfr1 | Conformance::Gfr2, ..) => unreachable!("no definition of this policer"),
                };
                if commit_peak {
                    peak.commit(now, size);
                }
                if let Some(gcra) = sustained.as_mut().filter(|_| commit_sustained) {
                    gcra.commit(now, size);
                }
                finding
            }
            Model::Gfr(bucket) => {
                if colour == Green && bucket.takes(now, size) {
                    Finding::Conforming
                } else {
                    Finding::Violating
                }
            }
            Model::GfrTm41 { peak, minimum, tags, longest } => {
                if size > *longest || !peak.passes(now) {
                    return Finding::Violating;
                }
                peak.commit(now, size);
                let is_eligible = colour == Green && minimum.takes(now, size);
                if !is_eligible && *tags && colour == Green { Finding::Coloured(Yellow) } else { Finding::Conforming }
            }
            Model::SrTcm { last, c, e } => {
                // The tokens of the elapsed time fill C, and then E.
                let new = c.rate * u128::from(now - *last);
                *last = now;
                let to_c = new.min(c.size - c.count);
                c.count += to_c;
                e.count = e.size.min(e.count + (new - to_c));
                if precolour == Green && c.count >= size {
                    c.count -= size;
                    Finding::Coloured(Green)
                } else if precolour != Red && e.count >= size {
                    e.count -= size;
                    Finding::Coloured(Yellow)
                } else {
                    Finding::Violating
                }
            }
            Model::TrTcm2698 { last, c, p } => {
                c.fill(now - *last);
                p.fill(now - *last);
                *last = now;
                if precolour == Red || p.count < size {
                    Finding::Violating
                } else if precolour == Yellow || c.count < size {
                    p.count -= size;
                    Finding::Coloured(Yellow)
                } else {
                    p.count -= size;
                    c.count -= size;
                    Finding::Coloured(Green)
                }
            }
            Model::TrTcm4115 { last, c, e } => {
                c.fill(now - *last);
                e.fill(now - *last);
                *last = now;
                if precolour == Green && c.count > size {
                    c.count -= size;
                    Finding::Coloured(Green)
                } else if precolour != Red && e.count > size {
                    e.count -= size;
                    Finding::Coloured(Yellow)
                } else {
                    Finding::Violating
                }
            }
        }
    }
}

/// GCRA by its theoretical arrival time, multiplied by the rate and a further common denominator so that it is a whole number.
struct VirtualScheduling {
    denominator: u128,
    /// Units of data per unit of time, in the same denominator.
    per_size: u128,
    limit: u128,
    arrival: u128,
}

impl VirtualScheduling {
    fn new(rate: u128, further: u128, limit: u128) -> VirtualScheduling {
        VirtualScheduling { denominator: rate * further, per_size: further, limit, arrival: 0 }
    }

    fn passes(&self, now: u64) -> bool {
        u128::from(now) * self.denominator + self.limit >= self.arrival
    }

    fn commit(&mut self, now: u64, size: u128) {
        self.arrival = self.arrival.max(u128::from(now) * self.denominator) + size * self.per_size;
    }
}

/// The bucket of a minimum rate: level X in units of data times the peak rate times the divisor, for BT has a denominator of them.
struct FrameBucket {
    scale: u128,
    rate: u128,
    limit: u128,
    level: u128,
    last: u64,
}

impl FrameBucket {
    /// Its limit is BT / divisor + CDVT.
    fn new(contract: &Contract, divisor: u128) -> FrameBucket {
        let (rate, peak_rate) = (bps(contract.rate), bps(contract.peak_rate.unwrap()));
        let burst = contract.burst.unwrap_or(2 * contract.longest_packet);
        let beyond_first = u128::from(burst - contract.longest_packet) * TICKS_PER_BYTE;
        let tolerance = u128::from(contract.delay_variation_tolerance.unwrap_or_default().picoseconds());
        let scale = peak_rate * divisor;
        // As data at the minimum rate: BT * MCR = (MBS - first) * (1 - MCR / PCR).
        let limit = beyond_first * (peak_rate - rate) + tolerance * rate * scale;
        FrameBucket { scale, rate, limit, level: 0, last: 0 }
    }

    fn takes(&mut self, now: u64, size: u128) -> bool {
        let level = self.level.saturating_sub(u128::from(now - self.last) * self.rate * self.scale);
        let is_taken = level <= self.limit;
        if is_taken {
            (self.level, self.last) = (level + size * self.scale, now);
        }
        is_taken
    }
}

/// A token bucket.
struct Tokens {
    rate: u128,
    size: u128,
    count: u128,
}

impl Tokens {
    fn full(rate: u128, size: u128) -> Tokens {
        Tokens { rate, size, count: size }
    }

    fn fill(&mut self, elapsed: u64) {
        self.count = self.size.min(self.count + self.rate * u128::from(elapsed));
    }
}

/// A promise that in every interval of t picoseconds packets of certain colours hold at most `burst + rate * t`.
///
/// Checked for all intervals at once: the promise holds exactly if a bucket of that size and rate never overflows.
pub struct Volume {
    colours: &'static [Colour],
    bucket: Tokens,
    last: u64,
}

/// More passed than was promised.
#[derive(Debug)]
pub struct Exceeded;

impl Volume {
    /// What the contract promises of the packets that pass, by the colour they pass in.
    pub fn promised(kind: PolicerKind, contract: &Contract) -> Vec<Volume> {
        let tolerance = u128::from(contract.delay_variation_tolerance.unwrap_or_default().picoseconds());
        let promise = |colours: &'static [Colour], rate: Rate, bytes: u32| Volume {
            colours,
            bucket: Tokens::full(bps(rate), u128::from(bytes) * TICKS_PER_BYTE + tolerance * bps(rate)),
            last: 0,
        };
        let all: &[Colour] = &[Green, Yellow, Red];
        let burst = contract.burst.unwrap_or(contract.longest_packet);
        match kind {
            PolicerKind::Gcra => vec![promise(all, contract.rate, burst)],
            PolicerKind::DualGcra => {
                let definition = contract.conformance.unwrap();
                let mut promises = vec![promise(all, contract.peak_rate.unwrap_or(contract.rate), contract.longest_packet)];
                if definition.has_sustained_rate() {
                    let tested: &[Colour] = if definition == Conformance::Vbr1 { all } else { &[Green] };
                    promises.push(promise(tested, contract.rate, burst));
                }
                promises
            }
            // Half the tolerance lets less pass than the whole burst.
            PolicerKind::Gfr => vec![promise(&[Green], contract.rate, contract.burst.unwrap_or(2 * contract.longest_packet))],
            PolicerKind::GfrTm41 => {
                let mut promises = vec![promise(all, contract.peak_rate.unwrap(), contract.longest_packet)];
                if contract.conformance != Some(Conformance::Gfr1) {
                    promises.push(promise(&[Green], contract.rate, contract.burst.unwrap_or(2 * contract.longest_packet)));
                }
                promises
            }
            PolicerKind::SrTcm => {
                let both = burst + contract.excess_burst.unwrap();
                vec![promise(&[Green], contract.rate, burst), promise(&[Green, Yellow], contract.rate, both)]
            }
            PolicerKind::TrTcm2698 => {
                let peak = promise(&[Green, Yellow], contract.peak_rate.unwrap(), contract.peak_burst.unwrap());
                vec![promise(&[Green], contract.rate, burst), peak]
            }
            PolicerKind::TrTcm4115 => {
                let excess = promise(&[Yellow], contract.excess_rate.unwrap(), contract.excess_burst.unwrap());
                vec![promise(&[Green], contract.rate, burst), excess]
            }
        }
    }

    /// A packet passes `now` picoseconds after the start, in this colour.
    pub fn add(&mut self, now: u64, length: u32, colour: Colour) -> Result<(), Exceeded> {
        if !self.colours.contains(&colour) {
            return Ok(());
        }
        self.bucket.fill(now - self.last);
        self.last = now;
        self.bucket.count = self.bucket.count.checked_sub(u128::from(length) * TICKS_PER_BYTE).ok_or(Exceeded)?;
        Ok(())
    }
}
