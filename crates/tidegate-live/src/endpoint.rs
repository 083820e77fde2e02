//! One side of a bridge: an interface, or one VLAN of it.

use crate::error::LiveError;

/// The length of a VLAN tag in bytes.
pub(crate) const TAG_LENGTH: usize = 4;

/// An interface as a user names it: `eth1`, or `eth1:100` for VLAN 100 of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Endpoint {
    /// As it is named in messages.
    pub(crate) shown: String,
    /// The name of the interface.
    pub(crate) name: String,
    /// The VLAN whose frames it takes and gives, from 1 to 4094; all frames without.
    pub(crate) vlan: Option<u16>,
}

impl Endpoint {
    /// Reads an interface and its VLAN. No interface has a colon in its name.
    ///
    /// # Errors
    /// [`LiveError::BadVlan`].
    pub(crate) fn new(shown: &str) -> Result<Endpoint, LiveError> {
        let (name, vlan) = match shown.split_once(':') {
            None => (shown, None),
            Some((name, number)) => {
                let vlan = number.parse().ok().filter(|vlan| (1..4095).contains(vlan));
                (name, Some(vlan.ok_or_else(|| LiveError::BadVlan { name: shown.to_owned() })?))
            }
        };
        Ok(Endpoint { shown: shown.to_owned(), name: name.to_owned(), vlan })
    }
}

/// How frames change their tag on the way from one endpoint to another. What leaves has the priority and the drop eligibility with which it came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tagging {
    /// The VLAN on whose frames it is about. Without, and with `outgoing`, it is about frames without a tag.
    pub(crate) incoming: Option<u16>,
    /// The VLAN in which they leave; without a tag if there is none.
    pub(crate) outgoing: Option<u16>,
}

impl Tagging {
    /// Which frames are taken in: nothing if all are, `Some(None)` if those without a tag are.
    pub(crate) fn filter(self) -> Option<Option<u16>> {
        match (self.incoming, self.outgoing) {
            (None, None) => None,
            (incoming, _) => Some(incoming),
        }
    }

    /// The outer tag with which a frame leaves that came with this one.
    #[inline]
    pub(crate) fn leaving(self, tag: Option<[u8; TAG_LENGTH]>) -> Option<[u8; TAG_LENGTH]> {
        match (self.incoming, self.outgoing) {
            (None, None) => tag,
            (Some(_), None) => None,
            (_, Some(vlan)) => {
                let [high, low, control, _] = tag.unwrap_or([0x81, 0, 0, 0]);
                let [upper, lower] = vlan.to_be_bytes();
                Some([high, low, control & 0xf0 | upper, lower])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vlan_is_read_after_a_colon() {
        let read = |text: &str| Endpoint::new(text).map(|endpoint| (endpoint.name, endpoint.vlan)).ok();
        assert_eq!(read("eth1"), Some(("eth1".to_owned(), None)));
        assert_eq!(read("eth1:100"), Some(("eth1".to_owned(), Some(100))));
        assert_eq!(read("eth1.5:4094"), Some(("eth1.5".to_owned(), Some(4094))));
        for wrong in ["eth1:", "eth1:0", "eth1:4095", "eth1:-1", "eth1:a", "eth1:1:2", "eth1:65636"] {
            assert!(matches!(Endpoint::new(wrong), Err(LiveError::BadVlan { .. })), "{wrong}");
        }
    }

    #[test]
    fn a_tag_keeps_its_kind_and_priority_and_gets_another_vlan() {
        let tagging = |incoming, outgoing| Tagging { incoming, outgoing };
        let came = Some([0x88, 0xa8, 0xb0, 100]);
        assert_eq!(tagging(None, None).leaving(came), came);
        assert_eq!(tagging(Some(100), Some(0x234)).leaving(came), Some([0x88, 0xa8, 0xb2, 0x34]));
        assert_eq!(tagging(Some(100), None).leaving(came), None);
        assert_eq!(tagging(None, Some(7)).leaving(None), Some([0x81, 0, 0, 7]));
        assert_eq!(tagging(None, None).filter(), None);
        assert_eq!(tagging(Some(100), None).filter(), Some(Some(100)));
        assert_eq!(tagging(None, Some(7)).filter(), Some(None));
    }
}
