//! Traffic contracts as an operator states them: rates, bursts, tolerances, and what becomes of a packet that violates them.

use super::Verdict;
use crate::algorithm::{FieldError, Role};
use crate::packet::Colour;
use crate::units::{Duration, Rate, TimePerByte};

/// What a policer enforces. A policer names the fields it requires and those it accepts; lengths are on the wire throughout.
///
/// ```
/// use tidegate_core::policer::Contract;
/// use tidegate_core::registry::PolicerKind;
/// use tidegate_core::units::Rate;
///
/// let mut contract = Contract::new(Rate::new(1_000_000).unwrap(), 1518);
/// contract.burst = Some(15_000);
/// assert!(PolicerKind::Gcra.build(&contract).is_ok());
///
/// contract.burst = Some(1_000);
/// let error = PolicerKind::Gcra.build(&contract).unwrap_err();
/// assert_eq!(error.to_string(), "burst: must hold at least the longest packet, which could otherwise never conform");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contract {
    /// The committed (sustained) rate: CIR, SCR; for a contract without a second rate, the rate.
    pub rate: Rate,
    /// The longest packet of the stream, in bytes on the wire, at least 1 (53 for ATM cells). A port drops longer ones. A policer can weigh
    /// packets of up to this length, and of up to 128 KiB in any case.
    pub longest_packet: u32,
    /// The peak rate: PIR, PCR.
    pub peak_rate: Option<Rate>,
    /// The rate in excess of the committed one: EIR.
    pub excess_rate: Option<Rate>,
    /// The committed burst in bytes: CBS; for a GCRA the maximum burst size (MBS) in bytes, the packet that starts it included.
    pub burst: Option<u32>,
    /// The excess burst in bytes: EBS.
    pub excess_burst: Option<u32>,
    /// The peak burst in bytes: PBS.
    pub peak_burst: Option<u32>,
    /// The longest frame in bytes, for streams whose packets are parts of frames: MFS.
    pub maximum_frame: Option<u32>,
    /// How much earlier than its ideal time a packet may come because of jitter upstream: CDVT, at most 37 minutes.
    pub delay_variation_tolerance: Option<Duration>,
    /// The ATM conformance definition.
    pub conformance: Option<Conformance>,
    /// True if the colour of arriving packets counts; a colour-blind marker assumes green.
    pub colour_aware: Option<bool>,
    /// What becomes of packets outside the contract.
    pub violation: Option<Violation>,
}

impl Contract {
    /// A contract of nothing but a rate. `longest_packet` is in bytes on the wire.
    pub const fn new(rate: Rate, longest_packet: u32) -> Contract {
        Contract {
            rate,
            longest_packet,
            peak_rate: None,
            excess_rate: None,
            burst: None,
            excess_burst: None,
            peak_burst: None,
            maximum_frame: None,
            delay_variation_tolerance: None,
            conformance: None,
            colour_aware: None,
            violation: None,
        }
    }

    /// True if `field` is given.
    pub const fn has(&self, field: ContractField) -> bool {
        match field {
            ContractField::Rate | ContractField::LongestPacket => true,
            ContractField::PeakRate => self.peak_rate.is_some(),
            ContractField::ExcessRate => self.excess_rate.is_some(),
            ContractField::Burst => self.burst.is_some(),
            ContractField::ExcessBurst => self.excess_burst.is_some(),
            ContractField::PeakBurst => self.peak_burst.is_some(),
            ContractField::MaximumFrame => self.maximum_frame.is_some(),
            ContractField::DelayVariationTolerance => self.delay_variation_tolerance.is_some(),
            ContractField::Conformance => self.conformance.is_some(),
            ContractField::ColourAware => self.colour_aware.is_some(),
            ContractField::Violation => self.violation.is_some(),
        }
    }

    /// Checks what does not depend on the policer, and that the fields given are those it uses.
    pub(crate) fn check(&self, required: &[ContractField], accepted: &[ContractField]) -> Result<(), ContractError> {
        if let Some(&field) = required.iter().find(|&&field| !self.has(field)) {
            return Err(field.wrong("this policer needs it"));
        }
        for &field in ContractField::ALL {
            let known = matches!(field, ContractField::Rate | ContractField::LongestPacket | ContractField::Violation);
            if self.has(field) && !known && !required.contains(&field) && !accepted.contains(&field) {
                return Err(field.wrong("this policer does not use it"));
            }
        }
        let bursts = [
            (ContractField::LongestPacket, Some(self.longest_packet)),
            (ContractField::Burst, self.burst),
            (ContractField::ExcessBurst, self.excess_burst),
            (ContractField::PeakBurst, self.peak_burst),
            (ContractField::MaximumFrame, self.maximum_frame),
        ];
        for (field, bytes) in bursts {
            if bytes.is_some_and(|bytes| bytes > MAX_WEIGHED) {
                return Err(field.wrong("must be less than 2^29 bytes"));
            }
        }
        if self.longest_packet == 0 {
            return Err(ContractField::LongestPacket.wrong("must be at least one byte"));
        }
        if self.violation == Some(Violation::Mark(Colour::Green)) {
            return Err(ContractField::Violation.wrong("green means within the contract: mark yellow or red, or discard"));
        }
        Ok(())
    }

    /// The burst in bytes beyond the packet that starts it: `burst` less the longest packet, and nothing if no burst is given.
    pub(super) fn burst_beyond_first_packet(&self) -> Result<u32, ContractError> {
        match self.burst {
            None => Ok(0),
            Some(burst) => burst.checked_sub(self.longest_packet).ok_or(ContractField::Burst.wrong(TOO_SMALL)),
        }
    }

    /// The delay variation tolerance, zero unless given.
    pub(super) fn tolerance(&self) -> Duration {
        self.delay_variation_tolerance.unwrap_or(Duration::ZERO)
    }
}

pub(super) const TOO_SMALL: &str = "must hold at least the longest packet, which could otherwise never conform";

/// The largest number of bytes in a packet or a burst that a policer accepts: 2^29 - 1.
pub(super) const MAX_WEIGHED: u32 = (1 << 29) - 1;

/// The weight of a byte in ticks of 2^-shift ps: [`TimePerByte::mantissa`] and [`TimePerByte::shift`] in 8 bytes. Counting in ticks loses
/// nothing to rounding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Increment(u64);

impl From<TimePerByte> for Increment {
    fn from(rate: TimePerByte) -> Increment {
        Increment(rate.mantissa() | u64::from(rate.shift()) << Increment::SHIFT_POSITION)
    }
}

impl Increment {
    /// The position of the shift; the mantissa is below.
    const SHIFT_POSITION: u32 = 40;

    /// The weight of `length` bytes in ticks: below 2^62.
    #[inline]
    pub(super) const fn weight(self, length: u32) -> u64 {
        debug_assert!(length <= MAX_WEIGHED);
        length as u64 * (self.0 & ((1 << Increment::SHIFT_POSITION) - 1))
    }

    /// A level in ticks of another rate, as the level in ticks of this one that the same bytes fill, rounded down. Less than a tick is forgiven.
    pub(super) fn floor_from(self, other: Increment, level: u64) -> u128 {
        let mantissa = |increment: Increment| u128::from(increment.weight(1));
        u128::from(level) * mantissa(self) / mantissa(other)
    }

    #[inline]
    pub(super) const fn shift(self) -> u32 {
        (self.0 >> Increment::SHIFT_POSITION) as u32
    }
}

/// What becomes of a packet outside its contract.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Violation {
    /// It is dropped.
    #[default]
    Discard,
    /// It passes in this colour, unless its own is worse: marking never improves a packet.
    Mark(Colour),
}

impl Violation {
    /// The verdict on a violating packet that came in `colour`.
    #[inline]
    pub(super) const fn verdict(self, colour: Colour) -> Verdict {
        match self {
            Violation::Discard => Verdict::Discard,
            Violation::Mark(mark) if mark as u8 > colour as u8 => Verdict::Mark(mark),
            Violation::Mark(_) => Verdict::Conform,
        }
    }
}

fields! {
    /// The conformance definitions of the ATM Forum's Traffic Management 4.0, and those of 4.1 for frames. Green stands for CLP = 0, yellow and red for CLP = 1.
    pub enum Conformance {
        /// Constant bit rate: every packet within the peak rate.
        Cbr1 = "cbr.1",
        /// Variable bit rate: every packet within the peak rate and the sustained rate.
        Vbr1 = "vbr.1",
        /// Every packet within the peak rate, green ones also within the sustained rate.
        Vbr2 = "vbr.2",
        /// As VBR.2, but a green packet within the peak rate and above the sustained one is marked yellow instead.
        Vbr3 = "vbr.3",
        /// Unspecified bit rate: every packet within the peak rate, as CBR.1.
        Ubr1 = "ubr.1",
        /// As UBR.1, and every conforming packet is marked yellow.
        Ubr2 = "ubr.2",
        /// Guaranteed frame rate: every packet within the peak rate, in the colour of its frame's first, in a frame that is not too long.
        Gfr1 = "gfr.1",
        /// As GFR.1, and green frames above the minimum rate are marked yellow.
        Gfr2 = "gfr.2",
    }
}

impl Conformance {
    /// The definition of this name.
    pub fn from_name(name: &str) -> Option<Conformance> {
        Conformance::ALL.iter().copied().find(|definition| definition.name() == name)
    }

    /// True if it is about frames.
    pub const fn is_of_frames(self) -> bool {
        matches!(self, Conformance::Gfr1 | Conformance::Gfr2)
    }

    /// True if it tests the sustained rate besides the peak rate.
    pub const fn has_sustained_rate(self) -> bool {
        matches!(self, Conformance::Vbr1 | Conformance::Vbr2 | Conformance::Vbr3)
    }
}

/// The role of policers.
#[derive(Debug)]
pub enum Policing {}

impl Role for Policing {
    type Field = ContractField;
    type Parameters<'a> = &'a Contract;
    type Error = ContractError;
}

/// Why a policer cannot enforce a contract.
pub type ContractError = FieldError<ContractField>;

fields! {
    /// One of the fields of [`Contract`].
    pub enum ContractField {
        /// [`Contract::rate`].
        Rate = "rate",
        /// [`Contract::longest_packet`].
        LongestPacket = "longest_packet",
        /// [`Contract::peak_rate`].
        PeakRate = "peak_rate",
        /// [`Contract::excess_rate`].
        ExcessRate = "excess_rate",
        /// [`Contract::burst`].
        Burst = "burst",
        /// [`Contract::excess_burst`].
        ExcessBurst = "excess_burst",
        /// [`Contract::peak_burst`].
        PeakBurst = "peak_burst",
        /// [`Contract::maximum_frame`].
        MaximumFrame = "maximum_frame",
        /// [`Contract::delay_variation_tolerance`].
        DelayVariationTolerance = "delay_variation_tolerance",
        /// [`Contract::conformance`].
        Conformance = "conformance",
        /// [`Contract::colour_aware`].
        ColourAware = "colour_aware",
        /// [`Contract::violation`].
        Violation = "violation",
    }
}

impl ContractField {
    /// The error that something about this field is wrong.
    pub(crate) const fn wrong(self, problem: &'static str) -> ContractError {
        FieldError { field: self, problem }
    }
}
