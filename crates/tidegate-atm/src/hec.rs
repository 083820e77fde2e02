//! Header error control: the fifth byte of a cell, and what a receiver does if it does not fit the other four.
//!
//! **Law.** Detection mode discovers every error of one or two bits. Correction mode corrects an error of one bit, and then discards the next
//! damaged header, because errors come in bursts.
//! **Source.** ITU-T I.432.1, section 4.3: CRC with x^8 + x^2 + x + 1, with 0x55 added.
//! **State.** One bit per receiver; a table of 256 bytes.
//! **Cost.** Four table look-ups per header.
//! **RTL twin.** None.
//! **Deviations.** None. Cell delineation is part of the physical layer.

use crc::{CRC_8_I_432_1, Crc, Table};

const CRC: Crc<u8, Table<1>> = Crc::<u8, Table<1>>::new(&CRC_8_I_432_1);

/// The header error control of a header's first four bytes.
///
/// ```
/// // The header of an unassigned cell, I.361.
/// assert_eq!(tidegate_atm::hec::of([0, 0, 0, 0]), 0x55);
/// assert_eq!(tidegate_atm::hec::of([0, 0, 0, 1]), 0x52);
/// ```
pub const fn of(header: [u8; 4]) -> u8 {
    CRC.checksum(&header)
}

/// For each syndrome the wrong bit of the header, counted from the first on the line; [`NO_SINGLE_BIT`] if several are wrong.
const SINGLE_BIT: [u8; 256] = {
    let mut table = [NO_SINGLE_BIT; 256];
    let mut bit = 0;
    while bit < 40 {
        let error = (1u64 << (39 - bit)).to_be_bytes();
        let [_, _, _, a, b, c, d, last] = error;
        table[(of([a, b, c, d]) ^ of([0; 4]) ^ last) as usize] = bit;
        bit += 1;
    }
    table
};

/// The entry of [`SINGLE_BIT`] for errors of more than one bit.
const NO_SINGLE_BIT: u8 = u8::MAX;

/// The result of checking a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reception {
    /// The check found no error.
    Valid([u8; 5]),
    /// One bit was wrong; this is the corrected header.
    Corrected([u8; 5]),
    /// The header is damaged, and the cell is discarded.
    Discarded,
}

/// A receiver. It starts in correction mode, leaves it after any error, and returns to it after a valid header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeaderCheck {
    corrects: bool,
    is_correcting: bool,
}

impl Default for HeaderCheck {
    /// A receiver that corrects.
    fn default() -> HeaderCheck {
        HeaderCheck { corrects: true, is_correcting: true }
    }
}

impl HeaderCheck {
    /// A receiver that never corrects. On links with burst errors (scramblers, line codes) a corrected header is probably wrong.
    pub const fn detecting() -> HeaderCheck {
        HeaderCheck { corrects: false, is_correcting: false }
    }

    /// Checks the five bytes of a header.
    pub const fn receive(&mut self, header: &[u8; 5]) -> Reception {
        let [a, b, c, d, hec] = *header;
        let syndrome = of([a, b, c, d]) ^ hec;
        let was_correcting = self.is_correcting;
        self.is_correcting = self.corrects && syndrome == 0;
        if syndrome == 0 {
            return Reception::Valid(*header);
        }
        let bit = SINGLE_BIT[syndrome as usize];
        if !was_correcting || bit == NO_SINGLE_BIT {
            return Reception::Discarded;
        }
        let mut corrected = *header;
        corrected[bit as usize / 8] ^= 0x80 >> (bit % 8);
        Reception::Corrected(corrected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn with_hec(header: [u8; 4]) -> [u8; 5] {
        let [a, b, c, d] = header;
        [a, b, c, d, of(header)]
    }

    fn flip(mut header: [u8; 5], bit: usize) -> [u8; 5] {
        header[bit / 8] ^= 0x80 >> (bit % 8);
        header
    }

    proptest! {
        #[test]
        fn one_bit_is_corrected_and_two_never_pass_unnoticed(header: [u8; 4], first in 0usize..40, second in 0usize..40) {
            let sent = with_hec(header);
            prop_assert_eq!(HeaderCheck::default().receive(&sent), Reception::Valid(sent));
            let damaged = flip(sent, first);
            prop_assert_eq!(HeaderCheck::default().receive(&damaged), Reception::Corrected(sent));
            prop_assert_eq!(HeaderCheck::detecting().receive(&damaged), Reception::Discarded);
            if first != second {
                prop_assert_eq!(HeaderCheck::detecting().receive(&flip(damaged, second)), Reception::Discarded);
                prop_assert_eq!(HeaderCheck::default().receive(&flip(damaged, second)), Reception::Discarded);
            }
        }
    }

    #[test]
    fn after_an_error_only_valid_headers_pass_until_one_has() {
        let sent = with_hec([0x12, 0x34, 0x56, 0x78]);
        let mut check = HeaderCheck::default();
        assert_eq!(check.receive(&flip(sent, 3)), Reception::Corrected(sent));
        assert_eq!(check.receive(&flip(sent, 3)), Reception::Discarded);
        assert_eq!(check.receive(&flip(sent, 17)), Reception::Discarded);
        assert_eq!(check.receive(&sent), Reception::Valid(sent));
        assert_eq!(check.receive(&flip(sent, 39)), Reception::Corrected(sent));
    }
}
