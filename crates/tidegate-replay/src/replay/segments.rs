//! The cells of a replayed frame: LLC/SNAP header, AAL5 trailer, and the header of the connection.
//!
//! Each queue is a virtual channel: its class is the virtual path, and its number within the class counts virtual channels from the first that is not
//! reserved. Cells of marked frames have cell loss priority 1.

use super::error::ReplayError;
use super::watcher::Frame;
use crate::capture::Interface;
use std::borrow::Cow;
use std::collections::HashMap;
use std::vec::IntoIter;
use tidegate_atm::aal5;
use tidegate_atm::adapter::Encapsulation;
use tidegate_atm::cell::{Cell, Header, Interface as Side};
use tidegate_atm::llc_snap::{self, Protocol};
use tidegate_core::classifier::Classifier;
use tidegate_core::packet::{Flow, Packet};
use tidegate_core::remark::Remark;
use tidegate_wire::{LinkType, rewrite};

/// Virtual channels below this are reserved (I.361).
const FIRST_CHANNEL: u32 = 32;
const MOST_PATHS: usize = 1 << 8;
const MOST_CHANNELS: u32 = (1 << 16) - FIRST_CHANNEL;

/// Makes cells of frames.
pub(super) struct Segments {
    encapsulation: Encapsulation,
    /// By interface of the capture.
    links: Vec<LinkType>,
    /// By queue: the cells of the frame that is being sent.
    left: HashMap<u32, IntoIter<Cell>>,
    padded: u64,
}

impl Segments {
    pub(super) fn new(encapsulation: Encapsulation, classifier: &Classifier) -> Result<Segments, ReplayError> {
        let problem = |problem| Err(ReplayError::Cells(problem));
        let classes = classifier.classes();
        if classes.len() > MOST_PATHS {
            return problem(format!("the policy has {} classes, and a cell's header has {MOST_PATHS} virtual paths", classes.len()));
        }
        if let Some(class) = classes.iter().find(|class| class.queues > MOST_CHANNELS) {
            let queues = class.queues;
            return problem(format!("class {} has {queues} queues, and a virtual path has {MOST_CHANNELS} channels", class.name));
        }
        Ok(Segments { encapsulation, links: Vec::new(), left: HashMap::new(), padded: 0 })
    }

    /// Prepares for frames of this interface of the capture.
    pub(super) fn expect(&mut self, number: usize, interface: &Interface) -> Result<(), ReplayError> {
        if self.encapsulation == Encapsulation::LlcSnap && interface.link != LinkType::Ip {
            return Err(ReplayError::Cells(format!(
                "interface {number} of the capture has frames of link type {}, and `encapsulation = \"llc-snap\"` names routed IP packets (link type \
                 101): use \"vc-multiplexed\"",
                interface.link_type
            )));
        }
        if self.links.len() <= number {
            self.links.resize(number + 1, interface.link);
        }
        self.links[number] = interface.link;
        Ok(())
    }

    /// The frames of which the capture held only a part; zeros stand for the rest.
    pub(super) fn padded(&self) -> u64 {
        self.padded
    }

    /// The next cell of `packet`, which is the oldest of its queue.
    pub(super) fn next_cell(&mut self, packet: &Packet<Box<Frame>>, remark: Remark, classifier: &Classifier) -> Cell {
        let queue = packet.flow;
        if let Some(cell) = self.left.get_mut(&queue.0).and_then(Iterator::next) {
            return cell;
        }
        let mut cells = self.cells_of(packet, remark, classifier).into_iter();
        let first = cells.next().expect("a frame has at least one cell");
        self.left.insert(queue.0, cells);
        first
    }

    fn cells_of(&mut self, packet: &Packet<Box<Frame>>, remark: Remark, classifier: &Classifier) -> Vec<Cell> {
        let record = &packet.payload.record;
        let mut data = record.data.clone();
        rewrite(self.links[record.interface], &mut data, remark);
        self.padded += u64::from(data.len() < record.length as usize);
        data.resize(record.length as usize, 0);
        let content = match self.encapsulation {
            Encapsulation::VcMultiplexed => Cow::Borrowed(&data),
            Encapsulation::LlcSnap => {
                let kind = if data.first().is_some_and(|first| first >> 4 == 6) { 0x86dd } else { 0x0800 };
                Cow::Owned(llc_snap::encapsulate(Protocol::EtherType(kind), &data))
            }
        };
        let header = connection(packet.flow, classifier).coloured(packet.colour);
        let cells = aal5::segment(header, Side::User, 0, &content);
        cells.expect("the policy's longest frame and the number of queues are within what AAL5 and a cell's header carry").collect()
    }
}

/// The header of a queue's cells.
fn connection(queue: Flow, classifier: &Classifier) -> Header {
    let class = classifier.class_of(queue);
    let channel = FIRST_CHANNEL + (queue.0 - classifier.classes()[class].first_flow.0);
    Header { vpi: class as u16, vci: channel as u16, ..Header::default() }
}
