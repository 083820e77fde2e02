//! The end of a replication: its statistics, and the books of all ports, flows and connections held against each other.

use super::{LinkState, Simulation};
use crate::error::SimulationError;
use crate::network::Network;
use crate::statistics::tcp::BackMeter;
use crate::statistics::{ClassStatistics, PortStatistics, Replication, TcpStatistics, sum};
use crate::tcp::connection::Connection;
use tidegate_core::port::{Counters, Port, Volume};

impl LinkState {
    /// The books of the port: what has become of everything, and what is queued.
    pub(super) fn books(&self) -> (Counters, Volume) {
        fn of<P>(port: &Port<P>) -> (Counters, Volume) {
            let queued = Volume { packets: u64::from(port.occupancy().packets()), bytes: port.occupancy().bytes() };
            (*port.counters(), queued)
        }
        if let Some(adapter) = &self.rest.adapter {
            return adapter.books();
        }
        match (&self.lane, &self.rest.cells, &self.rest.port) {
            (Some(lane), _, _) => lane.books(),
            (_, Some(cells), _) => of(cells.port()),
            (_, _, Some(port)) => of(port),
            _ => unreachable!("a link has a port"),
        }
    }
}

impl Simulation<'_> {
    pub(super) fn finish(mut self) -> Result<Replication, SimulationError> {
        for link in &mut self.links {
            link.bring_up(self.end);
            // What waits on a lane has been sent along its link already.
            self.packet_hops -= link.lane.as_ref().map_or(0, |lane| lane.books().1.packets);
        }
        self.check_conservation()?;
        let Simulation { network, replication, end, links, flows, connections, flow_of, backs, .. } = self;
        let mut flow_statistics = Vec::with_capacity(flows.len());
        for (meter, flow) in flows.into_iter().zip(&network.flows) {
            let (emitted, accounted) = (meter.emitted, meter.gone());
            let Some(statistics) = meter.finish(end, &flow.path) else {
                let place = format!("flow {}", flow.name);
                return Err(SimulationError::NotConserved { replication, place, emitted, accounted });
            };
            flow_statistics.push(statistics);
        }
        for ((connection, back), flow) in connections.into_iter().zip(&backs.meters).zip(flow_of) {
            flow_statistics[flow as usize].tcp = Some(Box::new(TcpStatistics::of(connection.finish(end), back)));
        }
        let ports = links.into_iter().map(|link| {
            let (counters, queued) = link.books();
            let cells = link.rest.adapter.as_ref().map_or_else(Vec::new, |adapter| adapter.records());
            PortStatistics { cells, ..link.rest.meter.finish(end, &counters, queued) }
        });
        let ports = ports.collect();
        let replication = Replication { flows: flow_statistics, ports, events: self.event_count, packet_hops: self.packet_hops };
        check_classes(network, &replication, self.replication)?;
        Ok(replication)
    }

    /// What sources emitted was delivered, was dropped, is queued, is on a link or is on the way to a sink; the ports' own books say
    /// which, not those of the flows.
    fn check_conservation(&self) -> Result<(), SimulationError> {
        let mut accounted = self.towards_sinks;
        for (state, link) in self.links.iter().zip(&self.network.links) {
            let (counters, queued) = state.books();
            if let Err(figures) = counters.check(queued) {
                return Err(SimulationError::Unbalanced {
                    replication: self.replication,
                    link: link.name.clone(),
                    figures: Box::new(figures),
                });
            }
            // What waits on a lane is on its way already; what was dropped of packets that contend as cells is in `lost`.
            accounted = match (&state.lane, &state.rest.cells) {
                (None, Some(cells)) => sum(accounted, cells.inside),
                (None, None) => sum(accounted, queued),
                (Some(_), _) => accounted,
            };
            if state.rest.cells.is_none() {
                accounted = counters.dropped.iter().fold(accounted, |all, &part| sum(all, part));
            }
            self.flights.on(state.flying).for_each(|packet| accounted.add(packet.length));
            accounted = sum(accounted, state.rest.lost);
        }
        self.check_connections()?;
        accounted = self.flows.iter().fold(accounted, |all, flow| sum(all, flow.delivered()));
        accounted = self.backs.meters.iter().fold(accounted, |all, back| sum(all, back.delivered));
        let emitted = self.flows.iter().fold(Volume::default(), |all, flow| sum(all, flow.emitted));
        let emitted = self.backs.meters.iter().fold(emitted, |all, back| sum(all, back.emitted));
        if accounted == emitted {
            return Ok(());
        }
        Err(SimulationError::NotConserved { replication: self.replication, place: "the network".into(), emitted, accounted })
    }

    fn check_connections(&self) -> Result<(), SimulationError> {
        for ((connection, back), &flow) in self.connections.iter().zip(&self.backs.meters).zip(&self.flow_of) {
            if let Err((emitted, accounted)) = check_connection(connection, self.flows[flow as usize].emitted, back) {
                let place = format!("connection {}", self.network.flows[flow as usize].name);
                return Err(SimulationError::NotConserved { replication: self.replication, place, emitted, accounted });
            }
        }
        Ok(())
    }
}

/// The ends of every connection agree with each other and with the network's books.
fn check_connection(connection: &Connection, emitted: Volume, back: &BackMeter) -> Result<(), (Volume, Volume)> {
    let sent = connection.sent();
    if sent != emitted {
        return Err((sent, emitted));
    }
    back.under_way().map(|_| ()).ok_or((back.emitted, sum(back.delivered, back.lost)))
}

/// Every class keeps the port's law.
fn check_classes(network: &Network, statistics: &Replication, replication: u32) -> Result<(), SimulationError> {
    for (link, port) in network.links.iter().zip(&statistics.ports) {
        for (class, ClassStatistics { offered, sent, dropped, queued, .. }) in link.port.classifier.classes().iter().zip(&port.classes) {
            let accounted = dropped.iter().fold(sum(*sent, *queued), |all, &part| sum(all, part));
            if accounted != *offered {
                let place = format!("class {} at link {}", class.name, link.name);
                return Err(SimulationError::NotConserved { replication, place, emitted: *offered, accounted });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use crate::id::{LinkId, NodeId};
    use crate::network::{FlowSpec, Impairment, Link};
    use crate::route::Routes;
    use crate::source::{Cbr, Source};
    use tidegate_core::buffer::BufferParameters;
    use tidegate_core::classifier::{ClassRules, Classifier, Header};
    use tidegate_core::port::PortSetup;
    use tidegate_core::registry::{BufferKind, SchedulerKind};
    use tidegate_core::scheduler::{FlowParameters, Setup};
    use tidegate_core::units::{Duration, Overhead, Rate};

    /// A link that loses a fifth of what it is offered.
    fn overloaded() -> Network {
        let rate = Rate::new(1_000_000).unwrap();
        let port = PortSetup {
            rate,
            overhead: Overhead::None,
            classifier: Classifier::new(vec![ClassRules { name: "all".into(), queues: 1, rules: vec![] }], 1).unwrap(),
            policers: vec![None],
            buffer: BufferKind::TailDrop.build(&BufferParameters { flows: 1, ..BufferParameters::default() }).unwrap(),
            scheduler: SchedulerKind::Fifo.build(&Setup::new(rate, 125), &[FlowParameters::default()]).unwrap(),
            packet_limit: 4,
            longest_frame: 125,
            remarks: Default::default(),
        };
        let propagation = Duration::from_milliseconds(3);
        let link = |name: &str, from, to| Link {
            name: name.into(),
            from: NodeId(from),
            to: NodeId(to),
            propagation,
            port: port.clone(),
            impairment: Impairment::default(),
            cells: false,
            adapter: None,
        };
        let source = Source::Cbr(Cbr { rate: Rate::new(1_250_000).unwrap(), length: 125, random_phase: false });
        let (header, path, start) = (Header::default(), vec![LinkId(0), LinkId(1)], Duration::ZERO);
        let flow = FlowSpec { name: "flow".into(), source, header, path, start, stop: None, tagging: None };
        Network { nodes: vec!["a".into(), "b".into(), "c".into()], links: vec![link("ab", 0, 1), link("bc", 1, 2)], flows: vec![flow] }
    }

    /// The error of a replication of 100 ms that is tampered with after half of it.
    fn tampered(tamper: impl FnOnce(&mut Simulation)) -> Option<SimulationError> {
        let network = overloaded();
        let routes = Routes::of(&network);
        let experiment = Experiment { duration: Duration::from_milliseconds(100), ..Experiment::default() };
        let mut simulation = Simulation::new(&network, &experiment, &routes, 0);
        simulation.run_until(simulation.end / 2, &mut |_| true).unwrap();
        tamper(&mut simulation);
        simulation.run_until(simulation.end, &mut |_| true).unwrap();
        simulation.finish().err()
    }

    #[test]
    fn a_packet_that_gets_lost_or_is_invented_is_noticed() {
        assert_eq!(tampered(|_| ()), None);
        let network = |error| matches!(error, Some(SimulationError::NotConserved { place, .. }) if place == "the network");
        assert!(network(tampered(|simulation| assert!(simulation.flights.pop(&mut simulation.links[0].flying).is_some()))));
        assert!(network(tampered(|simulation| {
            let flying = &mut simulation.links[0].flying;
            let twin = *simulation.flights.on(*flying).last().unwrap();
            simulation.flights.push(flying, twin);
        })));
        assert!(network(tampered(|simulation| simulation.flows[0].emitted.bytes += 1)));
        // A packet that one port counts for a class and another forgets.
        let class = tampered(|simulation| simulation.links[1].rest.meter.offered(tidegate_core::packet::Flow(0), 125));
        assert!(matches!(class, Some(SimulationError::NotConserved { place, .. }) if place == "class all at link bc"));
    }
}
