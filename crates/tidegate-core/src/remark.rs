//! Remarks: the code points that packets are given on the wire, by class and colour.
//!
//! A remark is the step between select and transmit. The core says what a packet gets; the world that holds its bytes rewrites them
//! (`tidegate-wire`), and a simulation rewrites the header that later ports see. A port without remarks reads no header.
//!
//! The code points are those of RFC 2474. Drop precedence within a class of assured forwarding is that of RFC 2597, section 6. Priority code
//! point and drop eligible indicator are those of IEEE 802.1Q, 6.9.3.

use crate::classifier::{Header, Network};
use crate::packet::Colour;
use alloc::vec::Vec;

/// What becomes of a differentiated services code point.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CodePoint {
    /// It stays.
    #[default]
    Keep,
    /// It becomes this one, 0 to 63.
    Set(u8),
    /// AFxy gets the drop precedence of this colour and keeps its class x; any other stays.
    DropPrecedence(Colour),
}

impl CodePoint {
    /// What `dscp` becomes.
    ///
    /// ```
    /// use tidegate_core::packet::Colour;
    /// use tidegate_core::remark::CodePoint;
    /// let (af11, af13, ef) = (10, 14, 46);
    /// assert_eq!(CodePoint::DropPrecedence(Colour::Red).of(af11), af13);
    /// assert_eq!(CodePoint::DropPrecedence(Colour::Red).of(ef), ef);
    /// ```
    #[inline]
    pub const fn of(self, dscp: u8) -> u8 {
        match self {
            CodePoint::Keep => dscp,
            CodePoint::Set(other) => other,
            CodePoint::DropPrecedence(colour) => match (dscp >> 3, dscp & 0b111) {
                (class @ 1..=4, 0b010 | 0b100 | 0b110) => class << 3 | (colour as u8 + 1) << 1,
                _ => dscp,
            },
        }
    }
}

/// What a packet is given on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Remark {
    /// What becomes of the code point of its IP header, if it has one.
    pub dscp: CodePoint,
    /// The priority code point of its outermost VLAN tag, 0 to 7, if it has one; `None` keeps it.
    pub pcp: Option<u8>,
    /// The drop eligible indicator of that tag; `None` keeps it.
    pub dei: Option<bool>,
}

impl Remark {
    /// Every packet stays as it is.
    pub const KEEP: Remark = Remark { dscp: CodePoint::Keep, pcp: None, dei: None };

    /// The header that later ports see. Drop eligibility is not part of it.
    pub const fn of(self, mut header: Header) -> Header {
        match &mut header.network {
            Network::V4 { transport, .. } | Network::V6 { transport, .. } => transport.dscp = self.dscp.of(transport.dscp),
            Network::Other => {}
        }
        if let (Some(priority), Some(pcp)) = (&mut header.vlan_priority, self.pcp) {
            *priority = pcp;
        }
        header
    }
}

/// The remarks of a port: one per class and colour, or none at all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Remarks {
    /// Empty if every packet stays as it is.
    classes: Vec<[Remark; Remarks::COLOURS]>,
}

impl Remarks {
    /// Green, yellow and red, in the order of their discriminants.
    pub const COLOURS: usize = 3;

    /// Remarks by class, in the order of the classifier's, and by colour.
    pub fn new(classes: Vec<[Remark; Remarks::COLOURS]>) -> Remarks {
        let changes_nothing = classes.iter().flatten().all(|&remark| remark == Remark::KEEP);
        Remarks { classes: if changes_nothing { Vec::new() } else { classes } }
    }

    /// True if every packet stays as it is.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// What packets of this class are given, by colour.
    pub fn of_class(&self, class: usize) -> [Remark; Remarks::COLOURS] {
        self.classes.get(class).copied().unwrap_or_default()
    }

    /// What a packet of this class is given if it leaves in this colour.
    #[inline]
    pub fn of(&self, class: usize, colour: Colour) -> Remark {
        self.classes.get(class).map_or(Remark::KEEP, |colours| colours[colour as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifier::Transport;

    const COLOURS: [Colour; 3] = [Colour::Green, Colour::Yellow, Colour::Red];

    fn header(dscp: u8) -> Header {
        let transport = Transport { dscp, ..Transport::default() };
        let network = Network::V4 { source: 1, destination: 2, transport };
        Header { vlan: Some(7), vlan_priority: Some(3), network, ..Header::default() }
    }

    #[test]
    fn a_drop_precedence_comes_back_as_its_colour_and_keeps_its_class() {
        for dscp in 0..64 {
            let is_assured = (1..=4).contains(&(dscp >> 3)) && matches!(dscp & 7, 2 | 4 | 6);
            for colour in COLOURS {
                let after = CodePoint::DropPrecedence(colour).of(dscp);
                if is_assured {
                    assert_eq!((after >> 3, Colour::of(&header(after))), (dscp >> 3, colour), "{dscp}");
                } else {
                    assert_eq!(after, dscp);
                }
            }
        }
        // AF41 to AF43 are 34, 36 and 38.
        assert_eq!(COLOURS.map(|colour| CodePoint::DropPrecedence(colour).of(36)), [34, 36, 38]);
    }

    #[test]
    fn only_what_a_packet_has_is_rewritten() {
        let remark = Remark { dscp: CodePoint::Set(46), pcp: Some(5), dei: Some(true) };
        let after = remark.of(header(0));
        assert_eq!((after.vlan_priority, after.network.transport().map(|transport| transport.dscp)), (Some(5), Some(46)));
        assert_eq!(remark.of(Header::default()), Header::default());
        assert_eq!(Remark::KEEP.of(header(11)), header(11));
    }

    #[test]
    fn remarks_are_found_by_class_and_colour() {
        let red = Remark { pcp: Some(1), ..Remark::KEEP };
        let remarks = Remarks::new(alloc::vec![[Remark::KEEP; 3], [Remark::KEEP, Remark::KEEP, red]]);
        assert_eq!(
            (remarks.of(1, Colour::Red), remarks.of(1, Colour::Yellow), remarks.of(0, Colour::Red)),
            (red, Remark::KEEP, Remark::KEEP)
        );
        // A class that is added behind the others has none.
        assert_eq!(remarks.of(2, Colour::Red), Remark::KEEP);
        assert!(!remarks.is_empty() && Remarks::new(alloc::vec![[Remark::KEEP; 3]]).is_empty());
    }
}
