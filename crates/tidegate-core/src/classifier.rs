//! The classifier's role: which flow does a packet belong to? It never changes a packet.
//!
//! Rules are tried in order and the first that matches names the class; the last class is the default and takes what no rule matched,
//! so every packet has a class. A class has one queue or many; with many, packets are spread over them by a hash of their flow key, so
//! that packets of one transport flow share a queue and stay in order.

use crate::packet::Flow;
use alloc::string::String;
use alloc::vec::Vec;

/// The fields of a frame that rules look at. Filled in by whoever parses frames, once per packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Header {
    /// The Ethernet type of what the frame carries, after any VLAN tags (0x8847 for MPLS); below 0x600 for IEEE 802.3 lengths.
    pub ethernet_type: u16,
    /// VLAN identifier of the outermost tag.
    pub vlan: Option<u16>,
    /// Priority code point of the outermost VLAN tag, 0 to 7.
    pub vlan_priority: Option<u8>,
    /// Outermost MPLS label.
    pub mpls_label: Option<u32>,
    /// Traffic class bits of the outermost MPLS label, 0 to 7.
    pub mpls_traffic_class: Option<u8>,
    /// The network layer.
    pub network: Network,
}

/// The network layer of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Network {
    /// Not IP, or too damaged to tell.
    #[default]
    Other,
    /// IPv4.
    V4 {
        /// Source address.
        source: u32,
        /// Destination address.
        destination: u32,
        /// What the two versions share.
        transport: Transport,
    },
    /// IPv6.
    V6 {
        /// Source address.
        source: u128,
        /// Destination address.
        destination: u128,
        /// What the two versions share.
        transport: Transport,
    },
}

impl Network {
    /// What the two IP versions share; `None` if this is not IP.
    pub const fn transport(&self) -> Option<&Transport> {
        match self {
            Network::Other => None,
            Network::V4 { transport, .. } | Network::V6 { transport, .. } => Some(transport),
        }
    }
}

/// What the two IP versions have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Transport {
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// Protocol number of the transport layer, past any IPv6 extension headers.
    pub protocol: u8,
    /// True for every fragment of a fragmented datagram, the first included.
    pub fragment: bool,
    /// Source and destination port of TCP, UDP, SCTP, UDP-Lite and DCCP; `None` where the frame holds none (later fragments, other protocols).
    pub ports: Option<(u16, u16)>,
}

/// One class of a port: a name and its queues.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Class {
    /// The operator's name for it.
    pub name: String,
    /// Its first queue; a class's queues are numbered consecutively.
    pub first_flow: Flow,
    /// The number of its queues, at least 1.
    pub queues: u32,
}

/// PLACEHOLDER, to be completed by the classifier author: rules. What is public here stays.
#[derive(Clone, Debug)]
pub struct Classifier {
    classes: Vec<Class>,
    class_of: Vec<u32>,
}

impl Classifier {
    /// Every class, in the order of the policy; the last is the default.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// The number of flows (queues) over all classes.
    pub fn flows(&self) -> usize {
        self.class_of.len()
    }

    /// The index of the class that a flow belongs to.
    #[inline]
    pub fn class_of(&self, flow: Flow) -> usize {
        self.class_of[flow.index()] as usize
    }

    /// The flow of a packet.
    #[inline]
    pub fn classify(&self, header: &Header) -> Flow {
        let _ = header;
        Flow(self.class_of.len() as u32 - 1)
    }
}
