//! Where the fields of packed structures lie: `rtl/src/dwcs_pkg.sv` read from the lowest bit.

use tidegate_core::dwcs::Stream;
use tidegate_rtl_model::Attributes;

/// Bits of a stream's number.
const ID: usize = 5;

/// Bits of `status_t`.
pub const STATUS: usize = 130;

/// Bits of `step_t` of the tiled engine: popped, droppable, state, missed, violations.
pub const STEP: usize = 2 + 50 + 32;

/// Bits of `attributes_t`.
pub const ATTRIBUTES: usize = 50 + ID;

/// Bits of `load_t`.
pub const LOAD: usize = 58 + ID;

/// Bits of `decision_t`.
pub const DECISION: usize = 64;

/// The size in bytes of a port of `bits` bits, as Verilator stores it: a number of 8, 16, 32 or 64 bits, or an array of 32-bit words.
pub const fn bytes(bits: usize) -> usize {
    match bits {
        0..=8 => 1,
        9..=16 => 2,
        17..=32 => 4,
        33..=64 => 8,
        _ => bits.div_ceil(32) * 4,
    }
}

/// The number in `width` bits (at most 32) from bit `at` on.
pub fn field(bits: &[u8], at: usize, width: usize) -> u32 {
    let mut word = [0; 8];
    let rest = &bits[at / 8..];
    let taken = rest.len().min(8);
    word[..taken].copy_from_slice(&rest[..taken]);
    (u64::from_le_bytes(word) >> (at % 8) & ((1 << width) - 1)) as u32
}

/// The bit at `at`.
pub fn bit(bits: &[u8], at: usize) -> bool {
    bits[at / 8] >> (at % 8) & 1 == 1
}

/// Sets the bit at `at`.
pub fn set_bit(bits: &mut [u8], at: usize, value: bool) {
    let mask = 1 << (at % 8);
    if value { bits[at / 8] |= mask } else { bits[at / 8] &= !mask }
}

/// What a register block shows of its stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Status {
    pub valid: bool,
    pub arrival: u16,
    pub deadline: u16,
    pub violation: bool,
    /// x'.
    pub numerator: u8,
    /// y'.
    pub denominator: u8,
    /// Counters: met, late, missed, violations, dropped.
    pub counters: [u16; 5],
}

impl Status {
    /// Of stream `index`, from `status_o`.
    pub fn decode(bits: &[u8], index: usize) -> Status {
        let from = index * STATUS;
        let counter = |number: usize| field(bits, from + 16 * (4 - number), 16) as u16;
        Status { counters: [counter(0), counter(1), counter(2), counter(3), counter(4)], ..Status::of_state(bits, from + 80) }
    }

    /// Of lane `lane`, from `observed_o` of the tiled engine: a `step_t`, which counts missed deadlines and violations only.
    pub fn of_step(bits: &[u8], lane: usize) -> Status {
        let from = lane * STEP;
        let counter = |at: usize| field(bits, from + at, 16) as u16;
        Status { counters: [0, 0, counter(16), counter(0), 0], ..Status::of_state(bits, from + 32) }
    }

    /// From an answer at an AXI4-Stream, which leaves out the arrival of the head.
    pub fn of_answer(bits: &[u8]) -> Status {
        let mut whole = [0; bytes(STATUS)];
        whole[..bits.len()].copy_from_slice(bits);
        // The valid bit is where the arrival would be.
        let valid = bit(bits, 113);
        set_bit(&mut whole, 113, false);
        Status { valid, ..Status::decode(&whole, 0) }
    }

    /// From a `state_t`, without counters.
    fn of_state(bits: &[u8], from: usize) -> Status {
        Status {
            counters: [0; 5],
            denominator: field(bits, from, 8) as u8,
            numerator: field(bits, from + 8, 8) as u8,
            violation: bit(bits, from + 16),
            deadline: field(bits, from + 17, 16) as u16,
            arrival: field(bits, from + 33, 16) as u16,
            valid: bit(bits, from + 49),
        }
    }
}

/// The word at port `index` of the network, from `home_o`.
pub fn attributes(bits: &[u8], index: usize) -> Attributes {
    let from = index * ATTRIBUTES;
    Attributes {
        id: field(bits, from, ID) as u8,
        arrival: field(bits, from + ID, 16) as u16,
        denominator: field(bits, from + ID + 16, 8) as u8,
        numerator: field(bits, from + ID + 24, 8) as u8,
        deadline: field(bits, from + ID + 32, 16) as u16,
        infinite: bit(bits, from + ID + 48),
        valid: bit(bits, from + ID + 49),
    }
}

/// A decision as the host reads it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// The stream that is served, if any.
    pub winner: Option<u32>,
    pub timestamp: u16,
    /// Streams whose heads were dropped, one bit each.
    pub drops: u32,
}

impl Record {
    /// From `decision_o`.
    pub fn decode(bits: &[u8]) -> Record {
        Record {
            winner: bit(bits, ID).then(|| field(bits, 0, ID)),
            timestamp: field(bits, ID + 1, 16) as u16,
            drops: field(bits, ID + 17, 32),
        }
    }
}

/// The word of a LOAD cycle: the contract of stream `index`, and its first deadline.
pub fn load(index: usize, stream: &Stream, deadline: u16) -> u64 {
    u64::from(stream.penalty as u8)
        | u64::from(stream.window.deadlines as u8) << 8
        | u64::from(stream.window.tolerated as u8) << 16
        | u64::from(stream.is_fixed) << 24
        | stream.period.unwrap_or(0) << 25
        | u64::from(stream.droppable) << 40
        | u64::from(stream.period.is_none()) << 41
        | u64::from(deadline) << 42
        | (index as u64) << 58
}

/// The stream that such a word is for.
pub fn loaded(word: u64) -> usize {
    (word >> 58) as usize & ((1 << ID) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_core::dwcs::Window;

    #[test]
    fn fields_are_read_across_bytes_and_at_the_end() {
        let bits = [0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, 0xa5];
        assert_eq!(field(&bits, 4, 16), 0x4321);
        assert_eq!(field(&bits, 64, 8), 0xa5);
        assert_eq!(field(&bits, 4, 32), 0x8765_4321);
        assert!(bit(&bits, 64) && !bit(&bits, 65));
        let mut one = [0u8; 2];
        set_bit(&mut one, 9, true);
        assert_eq!(one, [0, 2]);
        set_bit(&mut one, 9, false);
        assert_eq!(one, [0, 0]);
    }

    #[test]
    fn a_contract_fills_its_word() {
        let stream = Stream { penalty: 3, droppable: true, ..Stream::windowed(Window::new(2, 5), 1 << 14) };
        let word = load(31, &stream, 0xffff).to_le_bytes();
        assert_eq!([field(&word, 0, 8), field(&word, 8, 8), field(&word, 16, 8), field(&word, 25, 15)], [3, 5, 2, 1 << 14]);
        assert_eq!([bit(&word, 24), bit(&word, 40), bit(&word, 41)], [false, true, false]);
        assert_eq!((field(&word, 42, 16), field(&word, 58, 6)), (0xffff, 31));
        assert_eq!(loaded(u64::from_le_bytes(word)), 31);
    }
}
