//! The code points of explicit congestion notification.

/// A packet's code point (RFC 3168, section 5): the two low bits of the traffic class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub(crate) enum Ecn {
    /// Its transport does not react to marks.
    #[default]
    NotEct = 0,
    /// ECN-capable, and a sender of L4S if the network has it (RFC 9331).
    Ect1 = 1,
    /// ECN-capable, with the response of RFC 3168.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// The code point in the two low bits of a traffic class; the bits above are not looked at.
    #[inline]
    pub(crate) const fn from_bits(bits: u8) -> Ecn {
        match bits & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// The two bits.
    #[inline]
    pub(crate) const fn bits(self) -> u8 {
        self as u8
    }
}
