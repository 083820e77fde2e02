//! Connections of workloads, and the same as flows of a network.
#![allow(dead_code)]

use crate::networks::{header, link, port};
use std::sync::Mutex;
use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier, Network as Layer};
use tidegate_core::port::PortSetup;
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Duration, Overhead, Time};
use tidegate_sim::rerouting::reroutes;
use tidegate_sim::routing::flow_hash;
use tidegate_sim::tcp::{Application, Tcp, TransferSize, Transfers};
use tidegate_sim::workload::Sizes;
use tidegate_sim::{
    Completion, CompletionSink, Control, Experiment, FlowSpec, Link, Network, NetworkChange, NodeId, Outcome, Pattern, Rhythm, RoutedPath,
    Source, Workload, reversed, run_with_changes,
};

/// Keeps every completion.
#[derive(Default)]
pub struct Kept(pub Mutex<Vec<Completion>>);

impl CompletionSink for Kept {
    fn complete(&self, completion: &Completion) {
        self.0.lock().unwrap().push(*completion);
    }
}

pub fn transfers(bytes: u64, request: Option<u32>) -> Application {
    Application::Transfers(Transfers { size: TransferSize::Fixed(bytes), count: Some(1), think: None, request, reconnects: false })
}

pub fn tcp() -> Tcp {
    Tcp { application: transfers(1, None), ..Tcp::modern(Vec::new()) }
}

pub fn workload(name: &str, pattern: Pattern, rhythm: Rhythm, sizes: Sizes) -> Workload {
    let mut header = header(0);
    if let Layer::V4 { transport, .. } = &mut header.network {
        transport.protocol = 6;
    }
    let (places, start, stop) = (10_000, Duration::ZERO, None);
    Workload { name: name.into(), pattern, rhythm, sizes, tcp: tcp(), header, places, start, stop, equal_paths: Default::default() }
}

/// A port with deep buffers and, with `queues`, deficit round robin among queues by hash.
pub fn deep(bits_per_second: u64, queues: u32) -> PortSetup {
    deep_for(1514, bits_per_second, queues)
}

/// The same for frames of up to this length, which is the quantum.
pub fn deep_for(longest_frame: u32, bits_per_second: u64, queues: u32) -> PortSetup {
    let scheduler = if queues > 1 { SchedulerKind::DeficitRoundRobin } else { SchedulerKind::Fifo };
    let flows = vec![FlowParameters::default(); queues as usize];
    let mut setup = port(bits_per_second, SchedulerKind::Fifo, &[FlowParameters::default()], 100_000);
    setup.longest_frame = longest_frame;
    setup.overhead = Overhead::ETHERNET;
    let class = ClassRules { name: "all".into(), queues, rules: Vec::new() };
    setup.classifier = Classifier::new(vec![class], 1).unwrap();
    setup.scheduler = scheduler.build(&Setup::new(setup.rate, setup.longest_frame), &flows).unwrap();
    setup.policers = vec![None; queues as usize];
    let limits = BufferParameters { flows: queues as usize, ..Default::default() };
    setup.buffer = BufferKind::TailDrop.build(&limits).unwrap();
    setup
}

/// Hosts around a switch, which is the last node, with a link there and one back for each; rates and delays differ.
pub fn star(rates: &[u64], queues: u32) -> Network {
    let switch = rates.len();
    let both = rates.iter().enumerate().flat_map(|(host, &rate)| {
        let delay = Duration::from_nanoseconds(1_000 + 377 * host as u64);
        [
            link(&format!("up {host}"), host, switch, delay, deep(rate, 1)),
            link(&format!("down {host}"), switch, host, delay, deep(rate, queues)),
        ]
    });
    let links: Vec<Link> = both.collect();
    Network { nodes: (0..=switch).map(|node| node.to_string()).collect(), links, ..Network::default() }
}

pub fn hosts(network: &Network) -> Vec<NodeId> {
    (0..network.nodes.len() - 1).map(NodeId).collect()
}

pub fn random(network: &Network) -> Pattern {
    Pattern::Random { from: hosts(network), to: hosts(network) }
}

/// The outcome of one replication, and the connections that were complete.
pub fn play(network: &Network, milliseconds: u64, seed: u64) -> (Outcome, Vec<Completion>) {
    play_with_changes(network, &[], milliseconds, seed)
}

/// The same with ports that change.
pub fn play_with_changes(network: &Network, changes: &[NetworkChange], milliseconds: u64, seed: u64) -> (Outcome, Vec<Completion>) {
    let kept = Kept::default();
    let experiment = Experiment { duration: Duration::from_milliseconds(milliseconds), seed, ..Experiment::default() };
    let control = Control { completions: Some(&kept), ..Control::default() };
    let outcome = run_with_changes(network, changes, &experiment, &control).unwrap();
    (outcome, kept.0.into_inner().unwrap())
}

/// How long these connections take as flows of a network, until the last byte of each has arrived, in seconds.
pub fn as_flows(
    network: &Network,
    changes: &[NetworkChange],
    milliseconds: u64,
    seed: u64,
    connections: &[Completion],
) -> Vec<Option<f64>> {
    let outcome = play_as_flows(network, changes, milliseconds, seed, connections);
    outcome.flows.iter().map(|flow| flow.tcp.as_ref().unwrap().completions.mean()).collect()
}

/// The outcome with these connections as flows, by name and by what they draw. The connections of a workload are in the order of their arrival.
pub fn play_as_flows(network: &Network, changes: &[NetworkChange], milliseconds: u64, seed: u64, connections: &[Completion]) -> Outcome {
    let mut flows = Network { workloads: Vec::new(), ..network.clone() };
    let graph = network.graph();
    let mut numbers = vec![0u64; network.workloads.len()];
    let mut routed = Vec::new();
    for (index, connection) in connections.iter().enumerate() {
        let workload = &network.workloads[connection.workload];
        let number = numbers[connection.workload];
        numbers[connection.workload] += 1;
        let mut header = workload.header;
        if let Layer::V4 { source, destination, transport } = &mut header.network {
            let address = |node: NodeId| 0x0a80_0001 + node.0 as u32;
            (*source, *destination) = (address(connection.from), address(connection.to));
            transport.ports = transport.ports.map(|(_, to)| (49_152 + (number % 16_384) as u16, to));
        }
        let [paths, back] = [(header, connection.from, connection.to, false), (reversed(&header), connection.to, connection.from, true)]
            .map(|(header, from, to, is_back)| {
                let choice = workload.equal_paths.choice(flow_hash(&workload.name, &header));
                let paths = graph.toward(to, |_| true).choices(&graph, from, choice);
                routed.push(RoutedPath { flow: index, is_back, choice, paths: paths.clone() });
                paths
            });
        let request = if let Application::Transfers(transfers) = &workload.tcp.application { transfers.request } else { None };
        let tcp = Tcp { reverse_path: back[0].clone(), application: transfers(connection.bytes, request), ..workload.tcp.clone() };
        flows.flows.push(FlowSpec {
            name: format!("workload {} {number}", workload.name),
            source: Source::Tcp(Box::new(tcp)),
            header,
            path: paths[0].clone(),
            start: connection.began.since(Time::ZERO),
            stop: None,
            tagging: None,
            shaping: None,
        });
    }
    flows.reroutes = reroutes(&flows, &routed);
    let experiment = Experiment { duration: Duration::from_milliseconds(milliseconds), seed, ..Experiment::default() };
    run_with_changes(&flows, changes, &experiment, &Control::default()).unwrap()
}
