//! The end of a replication: the counts of ports, flows and connections have to agree.

use super::connections::Connections;
use super::data_plane::DataPlane;
use super::link::{LinkPort, LinkState, PortKind};
use crate::error::SimulationError;
use crate::network::Network;
use crate::statistics::flow::FlowMeter;
use crate::statistics::tcp::AckMeter;
use crate::statistics::{ClassStatistics, Replication};
use tidegate_core::port::Volume;

/// What does not add up: a name, what went in, and what is accounted for.
type Mismatch = (String, Volume, Volume);

/// What was delivered, was dropped, is queued, is on a link or is on the way to a sink, in one part of a network. The ports say which, not the flows.
pub(super) fn accounted(plane: &DataPlane, network: &Network, replication: u32) -> Result<Volume, SimulationError> {
    let mut accounted = plane.flows.towards_sinks + plane.flows.unrouted;
    for (state, link) in plane.links.iter().zip(&network.links) {
        let (counters, queued) = state.accounts();
        if let Err(figures) = counters.check(queued) {
            return Err(SimulationError::Unbalanced { replication, link: link.name.clone(), figures: Box::new(figures) });
        }
        accounted += held_or_lost(state);
        plane.flights.on(state.flying).for_each(|in_flight| accounted.add(in_flight.packet().length));
    }
    if let Some((link, held, waits)) = plane.pauses.as_ref().and_then(|pauses| pauses.miscounted(&plane.links, &plane.flows.routes)) {
        let [emitted, accounted] = [held, waits].map(|bytes| Volume { packets: 0, bytes });
        let place = format!("what is counted behind link {}", network.links[link].name);
        return Err(SimulationError::NotConserved { replication, place, emitted, accounted });
    }
    let late = plane.late_links.iter().flat_map(|(_, flying)| plane.flights.on(*flying));
    late.for_each(|in_flight| accounted.add(in_flight.packet().length));
    Ok(accounted)
}

/// Checks that what sources emitted is [`accounted`] for.
pub(super) fn check(
    mut accounted: Volume,
    meters: &[FlowMeter],
    (reverse, pooled): (&[AckMeter], &[AckMeter]),
    connections: &Connections,
    network: &Network,
    replication: u32,
) -> Result<(), SimulationError> {
    let not_conserved = |(place, emitted, accounted)| SimulationError::NotConserved { replication, place, emitted, accounted };
    check_connections(meters, (reverse, pooled), connections, network).map_err(not_conserved)?;
    // The reverse paths of workloads are among those of connections; their data is not.
    let ways = || reverse.iter().chain(pooled);
    accounted += meters.iter().map(|flow| flow.delivered()).chain(ways().map(|meter| meter.delivered)).sum();
    let of_flows = meters.iter().map(|flow| flow.emitted + flow.duplicated());
    let emitted: Volume = of_flows.chain(ways().map(|meter| meter.emitted + meter.duplicated)).sum();
    if accounted == emitted { Ok(()) } else { Err(not_conserved(("the network".into(), emitted, accounted))) }
}

/// The packets that a port holds, and those that it has dropped or the link has lost.
fn held_or_lost(state: &LinkState) -> Volume {
    let (counters, queued) = state.accounts();
    let dropped = || counters.dropped.into_iter().sum::<Volume>();
    match &state.port {
        // What waits at a FIFO is on its way already.
        LinkPort::Fifo(_) => dropped(),
        LinkPort::Driven(port) => match &port.kind {
            // The port counts cells; `lost` counts the packets of which one was dropped.
            PortKind::Cells(cells) => cells.inside + port.lost,
            PortKind::Workers(workers) => queued + dropped() + port.lost + workers.under_way(),
            PortKind::Elsewhere => Volume::default(),
            PortKind::Packets { .. } | PortKind::Adapter(_) | PortKind::Pausable(_) => queued + dropped() + port.lost,
        },
    }
}

/// Checks that the ends of every connection agree with each other and with the network.
fn check_connections(
    meters: &[FlowMeter],
    (reverse, pooled): (&[AckMeter], &[AckMeter]),
    connections: &Connections,
    network: &Network,
) -> Result<(), Mismatch> {
    let slots = std::iter::repeat_n(None, connections.first_pooled).chain(pooled.iter().enumerate().map(Some));
    for ((tcp, back), slot) in connections.sending.iter().zip(reverse).zip(slots) {
        let place = || match slot {
            None => format!("connection {}", network.flows[tcp.flow].name),
            Some((slot, _)) => format!("a connection of workload {}", connections.workloads.name_of(slot)),
        };
        let (sent, emitted) = match slot {
            None => (tcp.end.sent(), meters[tcp.flow].emitted),
            Some((slot, data)) if data.under_way().is_some() => (connections.workloads.sent(slot, &tcp.end), data.emitted),
            Some((_, data)) => (data.delivered + data.lost, data.emitted + data.duplicated),
        };
        if sent != emitted {
            return Err((place(), sent, emitted));
        }
        let AckMeter { emitted, duplicated, delivered, lost } = *back;
        if back.under_way().is_none() {
            return Err((place(), emitted + duplicated, delivered + lost));
        }
    }
    Ok(())
}

/// Checks that every class keeps the port's law.
pub(super) fn check_classes(
    network: &Network,
    names: &[Vec<String>],
    statistics: &Replication,
    replication: u32,
) -> Result<(), SimulationError> {
    for ((link, names), port) in network.links.iter().zip(names).zip(&statistics.ports) {
        for (class, ClassStatistics { offered, sent, dropped, queued, .. }) in names.iter().zip(&port.classes) {
            let accounted = *sent + *queued + dropped.iter().copied().sum();
            if accounted != *offered {
                let place = format!("class {class} at link {}", link.name);
                return Err(SimulationError::NotConserved { replication, place, emitted: *offered, accounted });
            }
        }
    }
    Ok(())
}
