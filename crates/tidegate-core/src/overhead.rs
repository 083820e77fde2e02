//! What a frame takes on the wire beyond its own bytes.
//!
//! The link, shapers, policers and schedulers all count what [`Overhead::wire_length`] says, in every world.

/// What a link adds to every frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Overhead {
    /// Nothing: rates count frames as they are.
    #[default]
    None,
    /// A fixed number of bytes per frame.
    PerPacket {
        /// What is added.
        bytes: u16,
        /// The least that a frame takes, with what is added: Linux's `mpu` (minimum packet unit).
        minimum: u16,
    },
    /// Frames are carried as AAL5 over ATM: an 8-byte trailer, padding to whole cells, 53 bytes per 48 of payload.
    Aal5,
}

impl Overhead {
    /// Ethernet as captured, without the frame check sequence: 24 bytes for preamble (8), frame check sequence (4) and inter-frame gap
    /// (12). A frame of less than 60 bytes is padded to 60 (IEEE 802.3, 4.2.3.3), so that none takes less than 84 bytes.
    ///
    /// ```
    /// use tidegate_core::port::Overhead;
    /// assert_eq!(Overhead::ETHERNET.wire_length(1514), 1538);
    /// assert_eq!(Overhead::ETHERNET.wire_length(54), 84);
    /// ```
    pub const ETHERNET: Overhead = Overhead::PerPacket { bytes: 24, minimum: 84 };

    /// This many bytes per frame, whatever its length.
    pub const fn per_packet(bytes: u16) -> Overhead {
        Overhead::PerPacket { bytes, minimum: 0 }
    }

    /// The bytes that a frame of `length` bytes takes on the wire.
    #[inline]
    pub const fn wire_length(self, length: u32) -> u32 {
        match self {
            Overhead::None => length,
            Overhead::PerPacket { bytes, minimum } => {
                let (length, minimum) = (length + bytes as u32, minimum as u32);
                if length < minimum { minimum } else { length }
            }
            Overhead::Aal5 => (length + 8).div_ceil(48) * 53,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_frames_take_their_padding_on_ethernet_and_nowhere_else() {
        let lengths = |overhead: Overhead| [0, 54, 59, 60, 61, 1514].map(|length| overhead.wire_length(length));
        assert_eq!(lengths(Overhead::ETHERNET), [84, 84, 84, 84, 85, 1538]);
        assert_eq!(lengths(Overhead::per_packet(24)), [24, 78, 83, 84, 85, 1538]);
        assert_eq!(lengths(Overhead::PerPacket { bytes: 0, minimum: 60 }), [60, 60, 60, 60, 61, 1514]);
        assert_eq!(lengths(Overhead::None), [0, 54, 59, 60, 61, 1514]);
        assert_eq!(lengths(Overhead::Aal5), [53, 106, 106, 106, 106, 32 * 53]);
    }
}
