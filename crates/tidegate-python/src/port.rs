//! A port that Python drives packet by packet.

use crate::error::refused;
use crate::instants::{instant, seconds};
use crate::python_scheduler::{Failed, PythonScheduler};
use crate::scenario::Scenario;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::cell::RefCell;
use tidegate_core::classifier::{FlowKey, Header};
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, LONGEST_FRAME, Packet, Part};
use tidegate_core::port::{self, PortSetup, Volume};
use tidegate_core::queue::Occupancy;
use tidegate_core::units::Time;
use tidegate_wire::{LinkType, markable, parse};

/// What the world attached to a packet.
type Payload = Py<PyAny>;

/// A port with its own scheduler, or with one of Python.
enum AnyPort {
    Built(Box<port::Port<Payload>>),
    Taught(Box<port::Port<Payload, PythonScheduler>>),
}

/// Evaluates an expression with the port bound to a name, whatever its scheduler.
macro_rules! with_port {
    ($any:expr, $port:ident => $expression:expr) => {
        match $any {
            AnyPort::Built($port) => $expression,
            AnyPort::Taught($port) => $expression,
        }
    };
}

/// An output port.
#[pyclass(module = "tidegate._tidegate")]
pub struct Port {
    port: AnyPort,
    /// The class and the number within it, of each queue.
    queues: Vec<(Py<PyString>, u32)>,
    /// The instant of the last call.
    clock: Time,
    /// When it has to be advanced next.
    next: Option<Time>,
    /// Where a scheduler of Python leaves its exception.
    failed: Failed,
}

#[pymethods]
impl Port {
    /// A port of a policy of the scenario, empty at 0 s.
    #[new]
    #[pyo3(signature = (scenario, policy, scheduler))]
    fn new(py: Python<'_>, scenario: &Scenario, policy: Option<&str>, scheduler: Option<Py<PyAny>>) -> PyResult<Port> {
        let chosen = scenario.checked().policy(policy).map_err(|problem| refused(py, format!("error: {problem}")))?;
        if chosen.adapter.is_some() {
            return Err(refused(py, format!("error: policy {} sends cells; a port of Python sends packets", chosen.name)));
        }
        let setup = chosen.setup();
        let classes = setup.classifier.classes().iter();
        let queues: Vec<(Py<PyString>, u32)> = classes
            .flat_map(|class| {
                let name = PyString::new(py, &class.name).unbind();
                (0..class.queues).map(move |queue| (name.clone_ref(py), queue))
            })
            .collect();
        let failed = Failed::default();
        let port = match scheduler {
            None => AnyPort::Built(Box::new(port::Port::new(Time::ZERO, setup))),
            Some(scheduler) => {
                let named: Vec<(&Py<PyString>, u32)> = queues.iter().map(|(class, queue)| (class, *queue)).collect();
                scheduler.call_method1(py, "begin", (named,))?;
                let taught = PythonScheduler::new(scheduler, queues.len(), failed.clone());
                AnyPort::Taught(Box::new(port::Port::new(Time::ZERO, with_scheduler(setup, taught))))
            }
        };
        Ok(Port { port, queues, clock: Time::ZERO, next: None, failed })
    }

    /// The class and the number within it, of each queue.
    #[getter]
    fn queues(&self, py: Python<'_>) -> Vec<(Py<PyString>, u32)> {
        self.queues.iter().map(|(class, queue)| (class.clone_ref(py), *queue)).collect()
    }

    /// When it has to be advanced next, in seconds; None if nothing is queued.
    #[getter]
    fn next_s(&self) -> Option<f64> {
        self.next.map(seconds)
    }

    /// The number of packets and of bytes in a queue.
    fn backlog(&self, queue: u32) -> PyResult<(u32, u32)> {
        let flow = self.flow(queue)?;
        Ok(with_port!(&self.port, port => (port.occupancy().flow_packets(flow), port.occupancy().flow_bytes(flow))))
    }

    /// Takes in a packet for a queue, after everything that is due, and returns what left the port meanwhile.
    #[expect(clippy::too_many_arguments, reason = "Python has named arguments")]
    fn offer(
        &mut self,
        py: Python<'_>,
        now_s: f64,
        queue: u32,
        length_bytes: u32,
        colour: &str,
        ecn: &str,
        payload: Payload,
    ) -> PyResult<Vec<Departure>> {
        let flow = self.flow(queue)?;
        let colour = Colour::ALL.iter().copied().find(|known| known.name() == colour);
        let colour = colour.ok_or_else(|| PyValueError::new_err("colour is \"green\", \"yellow\" or \"red\""))?;
        let ecn = ECN.iter().find(|(name, _)| *name == ecn).map(|(_, ecn)| *ecn);
        let ecn = ecn.ok_or_else(|| PyValueError::new_err("ecn is \"not-ect\", \"ect0\", \"ect1\" or \"ce\""))?;
        self.take(py, now_s, Offered { flow, length: length_bytes, colour, ecn, key: None }, payload)
    }

    /// Takes in an Ethernet frame, which its headers bring into a queue, as `offer` does.
    fn offer_frame(&mut self, py: Python<'_>, now_s: f64, frame: &[u8], payload: Payload) -> PyResult<Vec<Departure>> {
        let header = parse(LinkType::Ethernet, frame);
        let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        let offered = with_port!(&self.port, port => {
            let flow = port.classifier().classify(&header);
            let ecn = if port.has_aqm() { markable(&header) } else { Ecn::NotEct };
            Offered { flow, length, colour: Colour::of(&header), ecn, key: port.classifier().key(&header, flow) }
        });
        self.take(py, now_s, offered, payload)
    }

    /// The queue of an Ethernet frame.
    fn classify(&self, frame: &[u8]) -> u32 {
        let header: Header = parse(LinkType::Ethernet, frame);
        with_port!(&self.port, port => port.classifier().classify(&header).0)
    }

    /// Starts every transmission that is due, and returns what left.
    fn advance(&mut self, py: Python<'_>, now_s: f64) -> PyResult<Vec<Departure>> {
        let now = self.instant(now_s)?;
        let left = RefCell::new(Vec::new());
        self.advance_to(py, now, &left)?;
        Ok(left.into_inner())
    }

    /// What has become of everything offered so far.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        with_port!(&self.port, port => {
            port.check().map_err(|error| PyRuntimeError::new_err(format!("defect in tidegate, please report it: {error}")))?;
            let (counters, occupancy) = (port.counters(), port.occupancy());
            let counts = PyDict::new(py);
            for (name, volume) in [
                ("offered", counters.offered),
                ("sent", counters.sent),
                ("dropped", counters.dropped.into_iter().sum()),
                ("queued", Volume { packets: u64::from(occupancy.packets()), bytes: occupancy.bytes() }),
                ("marked", counters.marked),
            ] {
                counts.set_item(format!("{name}_packets"), volume.packets)?;
                counts.set_item(format!("{name}_bytes"), volume.bytes)?;
            }
            Ok(counts)
        })
    }
}

/// A packet that is offered, without its payload.
struct Offered {
    flow: Flow,
    length: u32,
    colour: Colour,
    ecn: Ecn,
    key: Option<FlowKey>,
}

impl Port {
    fn flow(&self, queue: u32) -> PyResult<Flow> {
        if (queue as usize) < self.queues.len() {
            return Ok(Flow(queue));
        }
        Err(PyValueError::new_err(format!("there is no queue {queue}; the port has {}", self.queues.len())))
    }

    /// The instant of a call.
    fn instant(&self, now_s: f64) -> PyResult<Time> {
        self.failed.judge()?;
        let now = instant(now_s)?;
        if now.is_before(self.clock) {
            let before = seconds(self.clock);
            return Err(PyValueError::new_err(format!("now_s is {now_s}, before the call at {before}; a port's time never goes back")));
        }
        Ok(now)
    }

    fn take(&mut self, py: Python<'_>, now_s: f64, offered: Offered, payload: Payload) -> PyResult<Vec<Departure>> {
        let now = self.instant(now_s)?;
        let Offered { flow, length, colour, ecn, key } = offered;
        if length == 0 || length > LONGEST_FRAME {
            return Err(PyValueError::new_err(format!("the length is {length} bytes; it is from 1 to {LONGEST_FRAME}")));
        }
        let left = RefCell::new(Vec::new());
        self.advance_to(py, now, &left)?;
        let packet = Packet { flow, length, arrival: now, colour, part: Part::Whole, ecn, payload };
        let mut drops = Drops { py, queues: &self.queues, left: &left };
        with_port!(&mut self.port, port => {
            port.offer_keyed(packet, key, &mut drops);
            self.next = (port.occupancy().packets() > 0).then(|| port.busy_until(now).unwrap_or(now));
        });
        self.failed.raise()?;
        Ok(left.into_inner())
    }

    fn advance_to(&mut self, py: Python<'_>, now: Time, left: &RefCell<Vec<Departure>>) -> PyResult<()> {
        let queues = &self.queues;
        let mut drops = Drops { py, queues, left };
        let sent = |sent: port::Transmission<Payload>| {
            let departure = Departure::new(py, queues, sent.packet, sent.start);
            left.borrow_mut().push(Departure { finish_s: Some(seconds(sent.finish)), ..departure });
        };
        self.clock = now;
        self.next = with_port!(&mut self.port, port => {
            let next = port.advance(now, &mut drops, sent);
            next.filter(|_| port.occupancy().packets() > 0)
        });
        self.failed.raise()
    }
}

/// Notes what is dropped.
struct Drops<'a, 'py> {
    py: Python<'py>,
    queues: &'a [(Py<PyString>, u32)],
    left: &'a RefCell<Vec<Departure>>,
}

impl Observer<Payload> for Drops<'_, '_> {
    fn dropped(&mut self, now: Time, packet: Packet<Payload>, reason: DropReason, _: &Occupancy) {
        let departure = Departure::new(self.py, self.queues, packet, now);
        self.left.borrow_mut().push(Departure { reason: Some(reason.name()), ..departure });
    }
}

/// A packet that has left a port.
#[pyclass(frozen, get_all, module = "tidegate._tidegate")]
pub struct Departure {
    /// The name of its class.
    packet_class: Py<PyString>,
    /// The number of its queue within the class, from 0.
    queue: u32,
    /// The length of the frame in bytes, without the overhead of the link.
    length_bytes: u32,
    /// Its colour when it left: "green", "yellow" or "red".
    colour: &'static str,
    /// Its code point when it left: "not-ect", "ect0", "ect1" or "ce".
    ecn: &'static str,
    /// When it was offered, in seconds.
    arrival_s: f64,
    /// When its transmission started or it was dropped, in seconds.
    at_s: f64,
    /// When its last bit leaves, in seconds; None if it was dropped.
    finish_s: Option<f64>,
    /// Why it was dropped, such as "flow-limit", "policed" or "congestion"; None if it was sent.
    reason: Option<&'static str>,
    /// The object that it was offered with.
    payload: Payload,
}

impl Departure {
    fn new(py: Python<'_>, queues: &[(Py<PyString>, u32)], packet: Packet<Payload>, at: Time) -> Departure {
        let Packet { flow, length, arrival, colour, ecn, payload, .. } = packet;
        let (class, queue) = &queues[flow.index()];
        Departure {
            packet_class: class.clone_ref(py),
            queue: *queue,
            length_bytes: length,
            colour: colour.name(),
            ecn: ECN.iter().find(|(_, known)| *known == ecn).map_or("", |(name, _)| name),
            arrival_s: seconds(arrival),
            at_s: seconds(at),
            finish_s: None,
            reason: None,
            payload,
        }
    }
}

#[pymethods]
impl Departure {
    fn __repr__(&self) -> String {
        let (class, length) = (self.packet_class.to_string(), self.length_bytes);
        match (self.finish_s, self.reason) {
            (Some(finish), _) => format!("<tidegate.Departure of {length} B of {class}, sent from {} s to {finish} s>", self.at_s),
            (_, reason) => {
                format!("<tidegate.Departure of {length} B of {class}, dropped at {} s: {}>", self.at_s, reason.unwrap_or_default())
            }
        }
    }
}

/// Code points of congestion notification by name.
const ECN: [(&str, Ecn); 4] = [("not-ect", Ecn::NotEct), ("ect0", Ecn::Ect0), ("ect1", Ecn::Ect1), ("ce", Ecn::Ce)];

/// The same parts with another scheduler.
fn with_scheduler<S>(setup: PortSetup, scheduler: S) -> PortSetup<S> {
    let PortSetup { rate, overhead, classifier, policers, aqms, seed, buffer, scheduler: _, packet_limit, longest_frame, remarks } = setup;
    PortSetup { rate, overhead, classifier, policers, aqms, seed, buffer, scheduler, packet_limit, longest_frame, remarks }
}
