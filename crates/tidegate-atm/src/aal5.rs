//! The ATM adaptation layer 5: a frame becomes a whole number of cells. The last one is marked, and ends with the frame's length and a CRC.
//!
//! **Law.** A frame of n bytes takes `ceil((n + 8) / 48)` cells; its cells, in order and undamaged, reassemble to it.
//! **Source.** ITU-T I.363.5, common part: payload, pad, UU (1), CPI (1), length (2), CRC-32 (4); x^32 + ... + 1 as in 0x04C11DB7, most
//! significant bit first, preset to ones, complemented.
//! **State.** While segmenting: a position and a running CRC.
//! **Cost.** Per cell one CRC of 48 bytes, sixteen bytes per step.
//! **RTL twin.** None.
//! **Deviations.** None. An empty frame is an abort in the source: it is sent, and the receiver delivers nothing.

use crate::cell::{Cell, Header, HeaderError, Interface, PAYLOAD, PayloadType};
use crc::{CRC_32_BZIP2, Crc, Digest, Table};
use thiserror::Error;
use tidegate_core::packet::Part;

/// Bytes of the trailer.
pub const TRAILER: usize = 8;
/// The longest frame, in bytes.
pub const LONGEST_FRAME: usize = u16::MAX as usize;

// The catalogue calls this polynomial by its best-known use.
pub(crate) const CRC: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_BZIP2);
pub(crate) static CHECK: Crc<u32, Table<16>> = CRC;

/// The number of cells of a frame of `bytes`.
///
/// ```
/// use tidegate_atm::aal5::cells;
/// assert_eq!([0, 1, 40, 41, 1072, 1500, 5000, 9180].map(cells), [1, 1, 1, 2, 23, 32, 105, 192]);
/// ```
pub const fn cells(bytes: usize) -> usize {
    (bytes + TRAILER).div_ceil(PAYLOAD)
}

/// The position of cell `number`, from 0, in a frame of `bytes`.
pub const fn part(bytes: usize, number: usize) -> Part {
    Part::of(number == 0, number + 1 == cells(bytes))
}

/// Why a frame cannot be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum SegmentationError {
    /// It is longer than [`LONGEST_FRAME`].
    #[error("a frame of {0} bytes: AAL5 carries at most {LONGEST_FRAME}")]
    TooLong(usize),
    /// A field of its header does not fit.
    #[error(transparent)]
    Header(#[from] HeaderError),
}

/// Cuts a frame into cells with this header, apart from the payload type. `user_to_user` is carried unchanged.
///
/// # Errors
/// [`SegmentationError`] if the frame or the header is out of range.
pub fn segment(header: Header, interface: Interface, user_to_user: u8, frame: &[u8]) -> Result<Segmentation<'_>, SegmentationError> {
    let Ok(length) = u16::try_from(frame.len()) else { return Err(SegmentationError::TooLong(frame.len())) };
    header.bytes(interface)?;
    Ok(Segmentation { header, interface, user_to_user, frame, length, left: cells(frame.len()), digest: CHECK.digest() })
}

/// The cells of a frame, in order.
#[derive(Clone)]
pub struct Segmentation<'a> {
    header: Header,
    interface: Interface,
    user_to_user: u8,
    /// The bytes that have not been sent.
    frame: &'a [u8],
    length: u16,
    left: usize,
    digest: Digest<'static, u32, Table<16>>,
}

impl Iterator for Segmentation<'_> {
    type Item = Cell;

    fn next(&mut self) -> Option<Cell> {
        self.left = self.left.checked_sub(1)?;
        let (now, later) = self.frame.split_at(self.frame.len().min(PAYLOAD));
        self.frame = later;
        let mut payload = [0; PAYLOAD];
        payload[..now.len()].copy_from_slice(now);
        let mut payload_type = PayloadType::DATA;
        if self.left == 0 {
            payload_type = PayloadType::END_OF_FRAME;
            let [high, low] = self.length.to_be_bytes();
            payload[PAYLOAD - TRAILER..PAYLOAD - 4].copy_from_slice(&[self.user_to_user, 0, high, low]);
            self.digest.update(&payload[..PAYLOAD - 4]);
            let crc = self.digest.clone().finalize();
            payload[PAYLOAD - 4..].copy_from_slice(&crc.to_be_bytes());
        } else {
            self.digest.update(&payload);
        }
        // `segment` has checked the header.
        Cell::new(&Header { payload_type, ..self.header }, self.interface, &payload).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Segmentation<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_core::units::Overhead;

    #[test]
    fn crc_of_known_frames() {
        let counting: Vec<u8> = (1..=40).collect();
        for (frame, crc) in [(vec![0; 40], 0x864D_7F99u32), (vec![0xFF; 40], 0xC55E_457A), (counting, 0xBF67_1ED0)] {
            let cells: Vec<Cell> = segment(Header::default(), Interface::User, 0, &frame).unwrap().collect();
            assert_eq!(cells.len(), 1);
            assert_eq!(cells[0].payload()[44..], crc.to_be_bytes());
        }
    }

    #[test]
    fn the_core_counts_the_same_cells_on_the_wire() {
        for bytes in 0..5000 {
            assert_eq!(Overhead::Aal5.wire_length(bytes) as usize, cells(bytes as usize) * crate::cell::CELL);
        }
    }

    #[test]
    fn a_tcp_segment_of_1024_bytes_with_llc_snap_takes_23_cells() {
        let frame = 1024 + 20 + 20 + crate::llc_snap::ROUTED;
        assert_eq!(cells(frame), 23);
        let parts: Vec<Part> = (0..23).map(|number| part(frame, number)).collect();
        assert_eq!((parts[0], parts[22]), (Part::First, Part::Last));
        assert!(parts[1..22].iter().all(|&part| part == Part::Middle));
        assert_eq!(part(40, 0), Part::Whole);
    }

    #[test]
    fn only_the_last_cell_ends_the_frame_and_the_rest_of_the_header_stays() {
        let header = Header { vpi: 3, vci: 77, loss_priority: true, ..Header::default() };
        let segmentation = segment(header, Interface::User, 9, &[1; 100]).unwrap();
        assert_eq!(segmentation.len(), 3);
        let headers: Vec<Header> = segmentation.map(|cell| Header::parse(cell.header_bytes(), Interface::User)).collect();
        let ends: Vec<bool> = headers.iter().map(|header| header.payload_type.ends_frame()).collect();
        assert_eq!(ends, [false, false, true]);
        assert!(headers.iter().all(|found| Header { payload_type: PayloadType::DATA, ..*found } == header));
    }

    #[test]
    fn frames_and_headers_out_of_range_are_refused() {
        let result = segment(Header::default(), Interface::User, 0, &[0; 65536]);
        assert!(matches!(result, Err(SegmentationError::TooLong(65536))));
        let header = Header { vpi: 999, ..Header::default() };
        assert!(matches!(segment(header, Interface::User, 0, &[]), Err(SegmentationError::Header(HeaderError::VirtualPath(999)))));
    }
}
