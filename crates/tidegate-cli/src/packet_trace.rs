//! `tidegate run --trace`: every step of every packet as a table, or the packets of one link as a capture.

use crate::failure::Failure;
use clap::Args;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use tidegate_core::classifier::{Classifier, Header, Network as NetworkLayer, Transport};
use tidegate_core::packet::{Ecn, Flow};
use tidegate_core::units::Duration;
use tidegate_replay::{CaptureWriter, Interface};
use tidegate_report::{OutputFile, PacketStep, PacketTrace, Places};
use tidegate_scenario::Simulation;
use tidegate_scenario::diagnostic::closest;
use tidegate_scenario::units::{duration, print_duration};
use tidegate_sim::{LinkId, NetworkChange, Origin, Source, Step, TraceEvent, TracedConnection, Tracer, reversed};
use tidegate_wire::{LinkType, headers};

/// What `tidegate run` takes about traces.
#[derive(Args)]
pub struct Options {
    /// Write every step of every packet of the first replication as a table (NAME.parquet), or the packets of one link as a capture (NAME.pcapng)
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Trace only packets of this flow, of all flows of this table, or of the connections of this workload; may be repeated
    #[arg(long = "trace-flow", value_name = "NAME", requires = "trace")]
    flows: Vec<String>,
    /// Trace only steps at this link; may be repeated. A capture is of one link
    #[arg(long = "trace-link", value_name = "NAME", requires = "trace")]
    links: Vec<String>,
    /// Trace only what happens from this instant on, such as 2 s
    #[arg(long = "trace-from", value_name = "TIME", requires = "trace", value_parser = duration)]
    from: Option<Duration>,
    /// Trace only what happens before this instant
    #[arg(long = "trace-to", value_name = "TIME", requires = "trace", value_parser = duration)]
    to: Option<Duration>,
}

/// The two kinds of files.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Table,
    Capture,
}

impl Options {
    /// The file, noted among the outputs, if one is asked for.
    pub fn file(&self, places: &mut Places) -> Result<Option<&Path>, Failure> {
        let Some(path) = self.trace.as_deref() else { return Ok(None) };
        self.kind(path)?;
        if let (Some(from), Some(to)) = (self.from, self.to)
            && from >= to
        {
            let (from, to) = (print_duration(from), print_duration(to));
            return Err(Failure::BadInput(format!("error: --trace-from {from} is not before --trace-to {to}: nothing lies between them")));
        }
        places.output("--trace", path)?;
        Ok(Some(path))
    }

    fn kind(&self, path: &Path) -> Result<Kind, Failure> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("parquet") => Ok(Kind::Table),
            Some("pcapng") => Ok(Kind::Capture),
            _ => Err(Failure::BadInput(format!(
                "error: --trace {}: its name says what it is: NAME.parquet for a table of steps, NAME.pcapng for a capture of one link",
                path.display()
            ))),
        }
    }

    /// Begins the file, once it is known what is simulated. `has_failed` becomes true if it cannot be written.
    pub fn begin<'a>(
        &self,
        path: &Path,
        simulation: &'a Simulation,
        changes: &'a [NetworkChange],
        has_failed: &'a AtomicBool,
    ) -> Result<TraceFile<'a>, Failure> {
        let network = &simulation.network;
        let mut flows = vec![self.flows.is_empty(); network.flows.len()];
        let mut workloads = vec![self.flows.is_empty(); network.workloads.len()];
        for name in &self.flows {
            let group = simulation.groups.iter().find(|group| &group.name == name).map(|group| group.first..group.first + group.count);
            let single = || network.flows.iter().position(|flow| &flow.name == name).map(|flow| flow..flow + 1);
            let workload = network.workloads.iter().position(|workload| &workload.name == name);
            workload.into_iter().for_each(|workload| workloads[workload] = true);
            match group.or_else(single) {
                Some(range) => flows[range].fill(true),
                None if workload.is_some() => {}
                None => {
                    let of_tables = simulation.groups.iter().map(|group| &*group.name);
                    let of_workloads = network.workloads.iter().map(|workload| &*workload.name);
                    let known = of_tables.chain(of_workloads).chain(network.flows.iter().map(|flow| &*flow.name));
                    return Err(unknown("--trace-flow", "flow or workload", name, known));
                }
            }
        }
        let mut links = vec![self.links.is_empty(); network.links.len()];
        for name in &self.links {
            let known = || network.links.iter().map(|link| link.name.as_str());
            let link =
                network.links.iter().position(|link| &link.name == name).ok_or_else(|| unknown("--trace-link", "link", name, known()))?;
            links[link] = true;
        }
        let carries_cells = |link: usize| network.links[link].cells || network.links[link].adapter.is_some();
        if let Some(link) = (0..links.len()).find(|&link| links[link] && carries_cells(link)) {
            let name = &network.links[link].name;
            let others: Vec<_> =
                (0..links.len()).filter(|&link| !carries_cells(link)).map(|link| network.links[link].name.as_str()).collect();
            let advice = if others.is_empty() { String::new() } else { format!("; name others with --trace-link: {}", others.join(", ")) };
            return Err(Failure::BadInput(format!("error: --trace: link {name} carries cells, of which there is no trace{advice}")));
        }
        let file = BufWriter::new(OutputFile::create(path)?);
        let failed = |error: &dyn std::fmt::Display| not_written(path, error);
        let sink = match self.kind(path)? {
            Kind::Table => Sink::Table(PacketTrace::new(file).map_err(|error| failed(&error))?),
            Kind::Capture => {
                let chosen: Vec<usize> = (0..links.len()).filter(|&link| links[link]).collect();
                let [link] = chosen[..] else {
                    let names: Vec<_> = network.links.iter().map(|link| link.name.as_str()).collect();
                    return Err(Failure::BadInput(format!(
                        "error: --trace: a capture is of one link; --trace-link is one of {}",
                        names.join(", ")
                    )));
                };
                let name = network.links[link].name.clone();
                let comment = format!("What left over {name} in the simulation, and what its port dropped.");
                let writer = CaptureWriter::new(file, &comment).map_err(|error| failed(&error))?;
                Sink::Capture(writer, [Interface { name: Some(name), link_type: 1, link: LinkType::Ethernet }])
            }
        };
        Ok(TraceFile {
            path: path.to_owned(),
            simulation,
            changes,
            flows,
            workloads,
            links,
            from: self.from.unwrap_or(Duration::ZERO),
            to: self.to.unwrap_or(Duration::MAX),
            sink: Mutex::new((sink, Ok(0))),
            has_failed,
        })
    }
}

fn unknown<'a>(option: &str, what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Failure {
    let advice = match closest(name, known.clone()) {
        Some(other) => format!("did you mean `{other}`?"),
        None => format!("there are {}", known.take(20).collect::<Vec<_>>().join(", ")),
    };
    Failure::BadInput(format!("error: {option}: there is no {what} `{name}`; {advice}"))
}

fn not_written(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Environment(format!("error: {} cannot be written: {error}", path.display()))
}

type Output = BufWriter<OutputFile>;

// There is one.
#[allow(clippy::large_enum_variant)]
enum Sink<'a> {
    Table(PacketTrace<'a, Output>),
    Capture(CaptureWriter<Output>, [Interface; 1]),
}

/// A trace that is being written.
pub struct TraceFile<'a> {
    path: PathBuf,
    simulation: &'a Simulation,
    changes: &'a [NetworkChange],
    /// By flow, by workload and by link, whether it is traced.
    flows: Vec<bool>,
    workloads: Vec<bool>,
    links: Vec<bool>,
    from: Duration,
    to: Duration,
    /// The file, and how many steps it has, or why it has no more.
    sink: Mutex<(Sink<'a>, io::Result<u64>)>,
    /// Becomes true if the file cannot be written: the simulation is to end.
    has_failed: &'a AtomicBool,
}

impl<'a> TraceFile<'a> {
    /// Ends the file. Returns it, which is not in its place yet, and what the report says of it.
    pub fn end(self) -> Result<(OutputFile, String), Failure> {
        let failed = |error: io::Error| not_written(&self.path, &error);
        let (sink, steps) = self.sink.into_inner().unwrap_or_else(PoisonError::into_inner);
        let steps = steps.map_err(failed)?;
        let (output, what) = match sink {
            Sink::Table(table) => (table.finish().map_err(failed)?, "steps of packets"),
            Sink::Capture(capture, _) => (capture.finish().map_err(failed)?, "packets"),
        };
        let file = output.into_inner().map_err(|error| failed(error.into_error()))?;
        Ok((file, format!("Trace: {steps} {what} of the first replication, warm-up included, are in {}.", self.path.display())))
    }

    /// The classes of a link's port at an instant.
    fn classifier(&self, link: LinkId, at: Duration) -> &'a Classifier {
        let of_change =
            |change: &'a NetworkChange| change.ports.iter().find(|(changed, _)| *changed == link).map(|(_, port)| &port.classifier);
        let changed = self.changes.iter().take_while(|change| change.at <= at).filter_map(of_change).last();
        changed.unwrap_or(&self.simulation.network.links[link.0].port.classifier)
    }

    fn row(&self, event: &TraceEvent, at: Duration) -> PacketStep<'a> {
        let network = &self.simulation.network;
        let (name, reason, backlog, finish) = match event.step {
            Step::Offered => ("offered", None, None, None),
            Step::Coloured => ("coloured", None, None, None),
            Step::Marked => ("marked", None, None, None),
            Step::Queued { backlog } => ("queued", None, Some(backlog), None),
            Step::Dropped(reason) => ("dropped", Some(reason.name()), None, None),
            Step::Started { finish, backlog } => ("started", None, Some(backlog), Some(finish.picoseconds())),
            Step::Lost => ("lost", None, None, None),
            Step::Copied => ("copied", None, None, None),
            Step::Delivered => ("delivered", None, None, None),
        };
        let class = |(link, queue): (LinkId, Flow)| {
            let classifier = self.classifier(link, at);
            classifier.classes().get(classifier.class_of(queue)).map(|class| &*class.name)
        };
        PacketStep {
            time_ps: event.at.picoseconds(),
            event: name,
            packet: event.packet,
            flow: self.name(event.origin),
            connection: if let Origin::Connection(connection) = event.origin { Some(connection.number) } else { None },
            is_answer: event.is_answer,
            link: event.link.map(|link| network.links[link.0].name.as_str()),
            class: event.link.zip(event.queue).and_then(class),
            queue: event.queue.map(|queue| queue.0),
            bytes: event.length,
            colour: event.colour.name(),
            ecn: match event.ecn {
                Ecn::NotEct => "not-ect",
                Ecn::Ect0 => "ect0",
                Ecn::Ect1 => "ect1",
                Ecn::Ce => "ce",
            },
            reason,
            backlog_bytes: backlog,
            finish_ps: finish,
            created_ps: event.created.picoseconds(),
        }
    }

    /// The name of a flow or of a workload.
    fn name(&self, origin: Origin) -> &'a str {
        let network = &self.simulation.network;
        match origin {
            Origin::Flow(flow) => &network.flows[flow].name,
            Origin::Connection(TracedConnection { workload, .. }) => &network.workloads[workload].name,
        }
    }

    fn is_wanted(&self, origin: Origin) -> bool {
        match origin {
            Origin::Flow(flow) => self.flows[flow],
            Origin::Connection(TracedConnection { workload, .. }) => self.workloads[workload],
        }
    }

    /// The headers of the packet, with addresses of their own where a flow has none.
    fn frame(&self, event: &TraceEvent) -> Vec<u8> {
        let network = &self.simulation.network;
        let (ahead, number, is_tcp) = match event.origin {
            Origin::Flow(flow) => {
                let spec = &network.flows[flow];
                (spec.header, flow as u32, matches!(spec.source, Source::Tcp(_)))
            }
            Origin::Connection(TracedConnection { workload, number, from, to }) => {
                (network.workloads[workload].header_of(number, from, to), number as u32, true)
            }
        };
        let mut header = if event.is_answer { reversed(&ahead) } else { ahead };
        if header.network == NetworkLayer::Other && header.ethernet_type == 0 {
            let protocol = if is_tcp { 6 } else { 17 };
            let (ends, ports) =
                ([0x0a00_0000 | number & 0x7f_ffff, 0x0a80_0000 | number & 0x7f_ffff], (49_152 + (number % 16_384) as u16, 9));
            let ([source, destination], ports) = if event.is_answer { ([ends[1], ends[0]], (ports.1, ports.0)) } else { (ends, ports) };
            header.network =
                NetworkLayer::V4 { source, destination, transport: Transport { protocol, ports: Some(ports), ..Transport::default() } };
        }
        headers(&Header { length: event.length, network: header.network.with_ecn(event.ecn), ..header })
    }
}

impl Tracer for TraceFile<'_> {
    fn step(&self, event: &TraceEvent) {
        let at = event.at.since(tidegate_core::units::Time::ZERO);
        let is_wanted = self.is_wanted(event.origin) && event.link.is_none_or(|link| self.links[link.0]) && at >= self.from && at < self.to;
        if !is_wanted {
            return;
        }
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        let (sink, steps) = &mut *sink;
        let Ok(count) = steps else { return };
        let written = match sink {
            Sink::Table(table) => table.add(self.row(event, at)),
            Sink::Capture(capture, interfaces) => {
                let dropped = match event.step {
                    Step::Started { .. } => None,
                    Step::Dropped(reason) => Some(format!("dropped: {reason}")),
                    _ => return,
                };
                // Ports of connections come again, and two workloads may have the same.
                let comment = match event.origin {
                    Origin::Flow(_) => dropped,
                    Origin::Connection(TracedConnection { number, .. }) => {
                        let connection = format!("{} {number}", self.name(event.origin));
                        Some(dropped.map_or(connection.clone(), |dropped| format!("{connection}, {dropped}")))
                    }
                };
                let mut bytes = self.frame(event);
                bytes.truncate(event.length as usize);
                let nanoseconds = (event.at.picoseconds() / 1000) as i64;
                capture.write(interfaces, 0, nanoseconds, event.length, &bytes, comment.as_deref())
            }
        };
        match written {
            Ok(()) => *count += 1,
            Err(error) => {
                *steps = Err(error);
                self.has_failed.store(true, Ordering::Relaxed);
            }
        }
    }
}
