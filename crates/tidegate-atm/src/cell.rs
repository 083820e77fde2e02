//! A cell: four bytes of header, a check byte, and 48 bytes of payload.
//!
//! **Law.** A built header parses to the same fields.
//! **Source.** ITU-T I.361.
//! **State.** None.
//! **Cost.** Shifts and masks; the check is in [`crate::hec`].
//! **RTL twin.** None.
//! **Deviations.** None.

use crate::hec;
use thiserror::Error;
use tidegate_core::packet::Colour;

/// Bytes of a cell.
pub const CELL: usize = 53;
/// Bytes of a cell's payload.
pub const PAYLOAD: usize = 48;

/// The side of the network, which decides the first byte of the header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Interface {
    /// Between user and network (UNI): four bits of flow control, eight of virtual path.
    #[default]
    User,
    /// Between networks (NNI): twelve bits of virtual path.
    Network,
}

/// The payload type: three bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PayloadType(u8);

impl PayloadType {
    /// User data that does not end a frame.
    pub const DATA: PayloadType = PayloadType(0b000);
    /// User data that ends a frame of AAL5 (EOM).
    pub const END_OF_FRAME: PayloadType = PayloadType(0b001);

    /// The type with these three bits; `None` if there are more.
    pub const fn new(bits: u8) -> Option<PayloadType> {
        if bits < 8 { Some(PayloadType(bits)) } else { None }
    }

    /// The three bits.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// True for user data, false for operation, maintenance and resource management.
    pub const fn is_user_data(self) -> bool {
        self.0 & 0b100 == 0
    }

    /// True if the cell ends a frame of AAL5: ATM-user-to-ATM-user indication 1.
    pub const fn ends_frame(self) -> bool {
        self.0 & 0b101 == 0b001
    }

    /// True if a switch on the way was congested (EFCI).
    pub const fn is_congested(self) -> bool {
        self.0 & 0b110 == 0b010
    }
}

/// The fields of a header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Header {
    /// Generic flow control: four bits, 0 between networks.
    pub gfc: u8,
    /// Virtual path identifier: eight bits at the user's side, twelve between networks.
    pub vpi: u16,
    /// Virtual channel identifier.
    pub vci: u16,
    /// What the payload is.
    pub payload_type: PayloadType,
    /// Cell loss priority (CLP): true for tagged cells, which are dropped first.
    pub loss_priority: bool,
}

/// A field of a [`Header`] that does not fit in its bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum HeaderError {
    /// Generic flow control above 15, or not 0 between networks.
    #[error("flow control {0}: 0 to 15 at the user's side, 0 between networks")]
    FlowControl(u8),
    /// A virtual path above 255 at the user's side, or above 4095 between networks.
    #[error("virtual path {0}: 0 to 255 at the user's side, 0 to 4095 between networks")]
    VirtualPath(u16),
}

impl Header {
    /// The fields of five bytes that have passed [`hec::HeaderCheck`].
    pub const fn parse(bytes: [u8; 5], interface: Interface) -> Header {
        let word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let (gfc, vpi) = match interface {
            Interface::User => ((word >> 28) as u8, (word >> 20) as u16 & 0xFF),
            Interface::Network => (0, (word >> 20) as u16),
        };
        let payload_type = PayloadType((word >> 1) as u8 & 0b111);
        Header { gfc, vpi, vci: (word >> 4) as u16, payload_type, loss_priority: word & 1 == 1 }
    }

    /// The five bytes, with the check.
    ///
    /// # Errors
    /// [`HeaderError`] names the field that does not fit.
    pub const fn bytes(&self, interface: Interface) -> Result<[u8; 5], HeaderError> {
        let (most_gfc, most_vpi) = match interface {
            Interface::User => (0xF, 0xFF),
            Interface::Network => (0, 0xFFF),
        };
        if self.gfc > most_gfc {
            return Err(HeaderError::FlowControl(self.gfc));
        }
        if self.vpi > most_vpi {
            return Err(HeaderError::VirtualPath(self.vpi));
        }
        let word = (self.gfc as u32) << 28
            | (self.vpi as u32) << 20
            | (self.vci as u32) << 4
            | (self.payload_type.bits() as u32) << 1
            | self.loss_priority as u32;
        let four = word.to_be_bytes();
        Ok([four[0], four[1], four[2], four[3], hec::of(four)])
    }

    /// The drop precedence of the cell: green for CLP = 0, yellow for 1.
    pub const fn colour(&self) -> Colour {
        if self.loss_priority { Colour::Yellow } else { Colour::Green }
    }

    /// The same header with the cell loss priority of a colour: 0 for green, 1 for yellow and red.
    pub const fn coloured(self, colour: Colour) -> Header {
        Header { loss_priority: !matches!(colour, Colour::Green), ..self }
    }
}

/// The bytes of a cell on the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell([u8; CELL]);

impl Cell {
    /// A cell of header and payload.
    ///
    /// # Errors
    /// As [`Header::bytes`].
    pub fn new(header: &Header, interface: Interface, payload: &[u8; PAYLOAD]) -> Result<Cell, HeaderError> {
        let mut bytes = [0; CELL];
        bytes[..CELL - PAYLOAD].copy_from_slice(&header.bytes(interface)?);
        bytes[CELL - PAYLOAD..].copy_from_slice(payload);
        Ok(Cell(bytes))
    }

    /// A received cell.
    pub const fn from_bytes(bytes: [u8; CELL]) -> Cell {
        Cell(bytes)
    }

    /// All bytes.
    pub const fn bytes(&self) -> &[u8; CELL] {
        &self.0
    }

    /// The five bytes of the header, unchecked.
    pub const fn header_bytes(&self) -> [u8; 5] {
        let [a, b, c, d, e, ..] = self.0;
        [a, b, c, d, e]
    }

    /// The payload.
    pub fn payload(&self) -> &[u8; PAYLOAD] {
        self.0.last_chunk().expect("a cell is longer than its payload")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_built_header_parses_to_its_fields(gfc in 0u8..16, vpi in 0u16..4096, vci: u16, payload_type in 0u8..8, loss_priority: bool, user: bool) {
            let payload_type = PayloadType::new(payload_type).unwrap();
            let (interface, gfc, vpi) = if user { (Interface::User, gfc, vpi & 0xFF) } else { (Interface::Network, 0, vpi) };
            let header = Header { gfc, vpi, vci, payload_type, loss_priority };
            let cell = Cell::new(&header, interface, &[7; PAYLOAD]).unwrap();
            prop_assert_eq!(Header::parse(cell.header_bytes(), interface), header);
            prop_assert_eq!(cell.payload(), &[7; PAYLOAD]);
            prop_assert_eq!(Cell::from_bytes(*cell.bytes()), cell);
            prop_assert_eq!(header.coloured(header.colour()), header);
        }
    }

    #[test]
    fn fields_that_do_not_fit_are_refused() {
        let header = Header { vpi: 256, ..Header::default() };
        assert_eq!(header.bytes(Interface::User), Err(HeaderError::VirtualPath(256)));
        assert!(header.bytes(Interface::Network).is_ok());
        assert_eq!(Header { vpi: 4096, ..header }.bytes(Interface::Network), Err(HeaderError::VirtualPath(4096)));
        assert_eq!(Header { gfc: 16, ..Header::default() }.bytes(Interface::User), Err(HeaderError::FlowControl(16)));
        assert_eq!(Header { gfc: 1, ..Header::default() }.bytes(Interface::Network), Err(HeaderError::FlowControl(1)));
        assert_eq!(PayloadType::new(8), None);
    }

    #[test]
    fn payload_types_have_their_meanings() {
        let types = |says: fn(PayloadType) -> bool| (0..8).filter(|&bits| says(PayloadType(bits))).collect::<Vec<u8>>();
        assert_eq!(types(PayloadType::is_user_data), [0, 1, 2, 3]);
        assert_eq!(types(PayloadType::ends_frame), [1, 3]);
        assert_eq!(types(PayloadType::is_congested), [2, 3]);
    }

    #[test]
    fn the_idle_cell_has_its_well_known_header() {
        // I.432.1: 00 00 00 01 with HEC 0101 0010.
        let header = Header { loss_priority: true, ..Header::default() };
        assert_eq!(header.bytes(Interface::User), Ok([0, 0, 0, 1, 0b0101_0010]));
    }
}
