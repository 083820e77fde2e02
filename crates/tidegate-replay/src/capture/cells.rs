//! Captures of ATM cells: how a file says that it holds them, and their frames.
//!
//! No link type of pcapng holds single cells. A file of cells uses link type 147, which is left to users, with the 53 bytes of a cell as a packet. The
//! interface's description says so and names the link type of the frames. Such an interface is read as one of that link type. Its packets are the
//! frames that AAL5 reassembles, each at the instant of its last cell.

use super::framed::Oddities;
use std::collections::BTreeMap;
use tidegate_atm::adapter::{Encapsulation, LONGEST_FRAME};
use tidegate_atm::cell::{CELL, Cell, Header, Interface};
use tidegate_atm::hec::{HeaderCheck, Reception};
use tidegate_atm::llc_snap;
use tidegate_atm::reassembly::Reassembler;

/// The link type of files of cells: the first of those left to users.
pub(crate) const CELL_LINK_TYPE: u32 = 147;
/// The most cells of unfinished frames that are kept, of all connections: 200 MB.
const MOST_PENDING: usize = 1 << 22;

const BEFORE: &str = "ATM cells of 53 bytes; AAL5 frames of link type ";
const BEHIND_LLC_SNAP: &str = " behind LLC/SNAP";

/// What the cells of an interface carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Carried {
    pub(crate) link_type: u32,
    pub(crate) encapsulation: Encapsulation,
}

impl Carried {
    /// The description of an interface whose cells carry this.
    pub(crate) fn description(self) -> String {
        let behind = if self.encapsulation == Encapsulation::LlcSnap { BEHIND_LLC_SNAP } else { "" };
        format!("{BEFORE}{}{behind}", self.link_type)
    }

    /// What the cells of an interface carry by its description; `None` if it holds no cells.
    pub(super) fn described(description: &[u8]) -> Option<Carried> {
        let text = std::str::from_utf8(description).ok()?.trim_end_matches('\0').strip_prefix(BEFORE)?;
        let (number, encapsulation) = match text.strip_suffix(BEHIND_LLC_SNAP) {
            Some(number) => (number, Encapsulation::LlcSnap),
            None => (text, Encapsulation::VcMultiplexed),
        };
        let link_type = number.parse::<u16>().ok()?;
        Some(Carried { link_type: link_type.into(), encapsulation })
    }
}

#[derive(Default)]
pub(super) struct Frames {
    interfaces: BTreeMap<usize, (Encapsulation, HeaderCheck)>,
    /// By interface, virtual path and virtual channel: frames that have begun.
    begun: BTreeMap<(usize, u16, u16), Reassembler>,
    pending: usize,
}

impl Frames {
    /// The packets of this interface are cells.
    pub(super) fn expect(&mut self, interface: usize, encapsulation: Encapsulation) {
        self.interfaces.insert(interface, (encapsulation, HeaderCheck::default()));
    }

    pub(super) fn are_from(&self, interface: usize) -> bool {
        self.interfaces.contains_key(&interface)
    }

    /// The frames that have begun and not ended.
    pub(super) fn unfinished(&self) -> u64 {
        self.begun.len() as u64
    }

    /// Takes in a cell, and answers the frame that ends with it.
    pub(super) fn push(&mut self, interface: usize, cell: &[u8], oddities: &mut Oddities) -> Result<Option<Vec<u8>>, String> {
        let Some((encapsulation, check)) = self.interfaces.get_mut(&interface) else { return Ok(None) };
        let Ok(cell) = <[u8; CELL]>::try_from(cell).map(Cell::from_bytes) else {
            oddities.damaged_cells += 1;
            return Ok(None);
        };
        let (Reception::Valid(header) | Reception::Corrected(header)) = check.receive(&cell.header_bytes()) else {
            oddities.damaged_cells += 1;
            return Ok(None);
        };
        let header = Header::parse(header, Interface::User);
        // Virtual channel 0 of path 0 is that of idle and unassigned cells (I.361).
        if !header.payload_type.is_user_data() || (header.vpi, header.vci) == (0, 0) {
            oddities.other_cells += 1;
            return Ok(None);
        }
        let connection = (interface, header.vpi, header.vci);
        let reassembler = self.begun.entry(connection).or_insert_with(|| Reassembler::new(LONGEST_FRAME as u16));
        let before = reassembler.pending_cells();
        let frame = match reassembler.push(&header, cell.payload()) {
            None => {
                self.pending += reassembler.pending_cells() - before;
                if self.pending > MOST_PENDING {
                    return Err(format!("more than {MOST_PENDING} cells of frames that have not ended"));
                }
                return Ok(None);
            }
            Some(Ok(frame)) => match encapsulation {
                Encapsulation::VcMultiplexed => Some(frame.payload.to_vec()),
                Encapsulation::LlcSnap => llc_snap::decapsulate(frame.payload).map(|(_, packet)| packet.to_vec()),
            },
            Some(Err(_)) => None,
        };
        self.pending -= before;
        self.begun.remove(&connection);
        oddities.broken_frames += u64::from(frame.is_none());
        Ok(frame)
    }
}
