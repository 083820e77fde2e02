//! The port at which packets wait: an AQM over one queue, over a queue per flow, or over a classic and a low-latency queue.

use tidegate_core::aqm::{AqmParameters, AqmSetup};
use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier, Header, Network as Layer, Spread, Transport};
use tidegate_core::port::PortSetup;
use tidegate_core::registry::{AqmKind, BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Overhead, Rate};

/// The longest frame in bytes, by which AQMs know small queues.
pub const LONGEST: u32 = 1514;

/// How flows share the bottleneck.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// One queue, first in, first out.
    One,
    /// A queue per flow, sparse round robin, and push-out from the fattest.
    PerFlow,
    /// A classic and a low-latency queue under the coupled scheduler.
    Dual,
}

/// What manages the queue of a bottleneck.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Discipline {
    /// What tables and charts call it.
    pub name: &'static str,
    pub aqm: Option<(AqmKind, AqmParameters)>,
    pub sharing: Sharing,
    /// The most packets that may wait.
    pub packets: u32,
}

/// The queues of a class with a queue per flow.
const QUEUES: u32 = 1024;

impl Discipline {
    /// One queue under an AQM with the parameters that it has unless they are given.
    pub fn one(name: &'static str, kind: AqmKind) -> Discipline {
        Discipline { name, aqm: Some((kind, AqmParameters::default())), sharing: Sharing::One, packets: 1000 }
    }

    /// One queue of this many packets, and no AQM.
    pub fn tail_drop(name: &'static str, packets: u32) -> Discipline {
        Discipline { name, aqm: None, sharing: Sharing::One, packets }
    }

    /// A queue per flow, each under an AQM of its own.
    pub fn per_flow(name: &'static str, kind: AqmKind) -> Discipline {
        Discipline { sharing: Sharing::PerFlow, packets: 10_240, ..Discipline::one(name, kind) }
    }

    /// DualPI2.
    pub fn dual_pi2() -> Discipline {
        Discipline { sharing: Sharing::Dual, packets: 10_000, ..Discipline::one("dualpi2", AqmKind::DualPi2) }
    }

    /// The same with other parameters.
    #[must_use]
    pub fn with(self, parameters: AqmParameters) -> Discipline {
        Discipline { aqm: self.aqm.map(|(kind, _)| (kind, parameters)), ..self }
    }

    /// The same under another name.
    #[must_use]
    pub fn named(self, name: &'static str) -> Discipline {
        Discipline { name, ..self }
    }

    /// The port of a link of this rate.
    pub fn port(&self, rate: Rate) -> PortSetup {
        let flows = self.queues() as usize;
        let setup = AqmSetup { flows, rate, longest_frame: LONGEST };
        let build = |(kind, parameters): &(AqmKind, AqmParameters)| kind.build(&setup, parameters).expect("parameters in range");
        let (buffer, scheduler) = match self.sharing {
            Sharing::One => (BufferKind::TailDrop, SchedulerKind::Fifo),
            Sharing::PerFlow => (BufferKind::FattestFlow, SchedulerKind::SparseRoundRobin),
            Sharing::Dual => (BufferKind::TailDrop, SchedulerKind::DualQueue),
        };
        let limits = BufferParameters { flows, packets: Some(self.packets), ..BufferParameters::default() };
        let shares = vec![FlowParameters::default(); flows];
        PortSetup {
            rate,
            overhead: Overhead::None,
            classifier: self.classifier(),
            policers: vec![None],
            aqms: vec![self.aqm.as_ref().map(build)],
            seed: 0,
            buffer: buffer.build(&limits).expect("a limit in packets"),
            scheduler: scheduler.build(&Setup::new(rate, LONGEST), &shares).expect("no parameters"),
            packet_limit: self.packets,
            longest_frame: LONGEST,
            remarks: Default::default(),
        }
    }

    fn queues(&self) -> u32 {
        match self.sharing {
            Sharing::One => 1,
            Sharing::PerFlow => QUEUES,
            Sharing::Dual => 2,
        }
    }

    fn classifier(&self) -> Classifier {
        let class = ClassRules { name: "all".into(), queues: self.queues(), rules: vec![] };
        let mut classifier = Classifier::new(vec![class], 1).expect("one class");
        if self.sharing == Sharing::Dual {
            classifier.set_spread(0, Spread::CodePoint).expect("two queues");
        }
        classifier
    }

    /// Headers of this number of flows, each in a queue of its own where there is one per flow.
    pub fn headers(&self, flows: usize) -> Vec<Header> {
        let classifier = self.classifier();
        let mut taken = Vec::new();
        let is_alone = |header: &Header| {
            let queue = classifier.classify(header);
            let is_free = self.sharing != Sharing::PerFlow || !taken.contains(&queue);
            taken.push(queue);
            is_free
        };
        (1..u16::MAX).map(header).filter(is_alone).take(flows).collect()
    }
}

/// The header of a flow from this port.
fn header(port: u16) -> Header {
    let transport = Transport { dscp: 0, protocol: 6, fragment: false, ports: Some((port, 1)), ..Transport::default() };
    let network = Layer::V4 { source: 1, destination: 2, transport };
    Header { network, ethernet_type: 0x800, ..Header::default() }
}
