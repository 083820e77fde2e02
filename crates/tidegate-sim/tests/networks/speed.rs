//! One link of 10 Gbit/s, full of packets of 1500 bytes, on which calls come and go at a high rate.

use super::{flow, link, port, rate};
use tidegate_core::admission::{LinkSettings, Service, Target, TrafficSpec};
use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier, Header, Network as Layer, Prefix, Rule, Transport};
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, ServiceClass, Setup};
use tidegate_core::units::Duration;
use tidegate_sim::source::Cbr;
use tidegate_sim::{Arrivals, Calls, FlowSpec, Network, Source};

/// The rate of the link in bit/s.
pub const LINK: u64 = 10_000_000_000;
const PACKET: u32 = 1500;

/// How often calls come, and what is beside them.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    /// Calls per second, half of them guaranteed and half of controlled load.
    pub calls_per_second: u64,
    /// The mean time that a call holds, in microseconds.
    pub hold: u64,
    /// The flows that calls may use.
    pub places: usize,
    /// Calls of controlled load that hold from the start, and the rate of each in bit/s.
    pub permanent: usize,
    pub permanent_rate: u64,
    /// The best effort beside them, in bit/s.
    pub best_effort: u64,
    /// The rate of each other call, in bit/s.
    pub rate: u64,
}

impl Default for Speed {
    fn default() -> Speed {
        Speed {
            calls_per_second: 100_000,
            hold: 5000,
            places: 2000,
            permanent: 0,
            permanent_rate: 12_000,
            best_effort: 9_400_000_000,
            rate: 1_200_000,
        }
    }
}

fn address(flow: usize) -> u32 {
    0x0A00_0000 + flow as u32
}

impl Speed {
    /// The network. The best effort is the last flow.
    pub fn network(&self) -> Network {
        let calls = self.places + self.permanent;
        let vacant = FlowParameters {
            class: Some(ServiceClass::ControlledLoad),
            rate: Some(rate(1000)),
            tolerance: Some(Duration::ZERO),
            ..FlowParameters::default()
        };
        let best_effort = FlowParameters { class: Some(ServiceClass::BestEffort), ..FlowParameters::default() };
        let mut parameters = vec![vacant; calls];
        parameters.push(best_effort);
        let mut setup = port(LINK, SchedulerKind::IntegratedServices, &parameters[calls..], 10_000);
        setup.scheduler = SchedulerKind::IntegratedServices.build(&Setup::new(rate(LINK), PACKET), &parameters).unwrap();
        let class = |flow: usize| {
            let rule = Rule { source: Some(Prefix::V4 { address: address(flow), length: 32 }), ..Rule::default() };
            ClassRules { name: format!("flow {flow}"), queues: 1, rules: if flow == calls { vec![] } else { vec![rule] } }
        };
        setup.classifier = Classifier::new((0..=calls).map(class).collect(), 1).unwrap();
        setup.policers = vec![None; calls + 1];
        setup.buffer = BufferKind::TailDrop.build(&BufferParameters { flows: calls + 1, ..BufferParameters::default() }).unwrap();
        let mut node = link("node", 0, 1, Duration::ZERO, setup);
        node.admission = Some(LinkSettings::new(rate(LINK), 8 * u64::from(PACKET), 1 << 40));
        let mut network = Network { nodes: vec!["in".into(), "out".into()], links: vec![node], ..Network::default() };
        for index in 0..=calls {
            let (name, bits) = match index {
                _ if index == calls => ("rest".to_owned(), self.best_effort),
                _ if index >= self.places => (format!("permanent {index}"), self.permanent_rate),
                _ => (format!("call {index}"), self.rate),
            };
            let source = Source::Cbr(Cbr { rate: rate(bits), length: PACKET, random_phase: true });
            let transport = Transport { dscp: 0, protocol: 17, fragment: false, ports: Some((1, 2)), ..Transport::default() };
            let layer = Layer::V4 { source: address(index), destination: 1, transport };
            let header = Header { network: layer, ethernet_type: 0x800, ..Header::default() };
            network.flows.push(FlowSpec { header, ..flow(&name, source, 0, &[0]) });
        }
        let interval = Duration::from_picoseconds(2_000_000_000_000 / self.calls_per_second);
        let half = self.places / 2;
        let kinds = [
            ("guaranteed", 0..half, Arrivals::Poisson(interval), Service::Guaranteed, self.rate),
            ("controlled load", half..self.places, Arrivals::Poisson(interval), Service::ControlledLoad, self.rate),
            ("permanent", self.places..calls, Arrivals::Permanent, Service::ControlledLoad, self.permanent_rate),
        ];
        for (name, flows, arrivals, service, bits) in kinds.into_iter().filter(|kind| !kind.1.is_empty()) {
            network.calls.push(Calls {
                name: name.into(),
                flows: flows.collect(),
                arrivals,
                hold: Duration::from_picoseconds(self.hold * 1_000_000),
                traffic: TrafficSpec::new(12_000, 24_000, rate(bits), rate(bits)).unwrap(),
                target: (service == Service::Guaranteed).then_some(Target::Rate(bits)),
                service,
                tolerance: None,
                enforces_reserve: false,
                brokered: None,
            });
        }
        network
    }
}
