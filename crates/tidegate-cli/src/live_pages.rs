//! The pages of a running `tidegate live`: metrics for Prometheus, and a page to watch it.

use crate::live_service::Service;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tidegate_control::http::Page;
use tidegate_control::protocol::{Amount, AskedClasses, ClassStatus, Classes, DirectionStatus, Status};
use tidegate_control::{Answer, Refusal, Request};

/// How long a page is given out again before it is made anew.
const FRESH: Duration = Duration::from_millis(250);

/// The flows of a direction that the page shows.
const FLOWS: usize = 10;

/// The page to watch.
const WATCH: &str = include_str!("live_pages/watch.html");

/// The pages of one bridge.
pub struct Pages<'a> {
    service: &'a Service,
    /// The most classes of a direction that metrics show.
    classes: usize,
    made: Mutex<BTreeMap<&'static str, (Instant, Vec<u8>)>>,
}

impl<'a> Pages<'a> {
    /// Pages of a service that show this many classes of a direction: those that sent most in the last second.
    pub fn new(service: &'a Service, classes: usize) -> Pages<'a> {
        Pages { service, classes, made: Mutex::default() }
    }

    /// The page of a path.
    pub fn page(&self, path: &str) -> Option<Page> {
        let json = "application/json";
        match path {
            "/" => Some(Page { content_type: "text/html; charset=utf-8", content: WATCH.as_bytes().to_vec() }),
            "/metrics" => self.made("/metrics", "application/openmetrics-text; version=1.0.0; charset=utf-8", || self.metrics()),
            "/status" => self.made("/status", json, || self.asked(Request::Status)),
            "/flows" => self.made("/flows", json, || self.asked(Request::Flows(AskedClasses { names: None, most: Some(FLOWS) }))),
            "/classes" => self.made("/classes", json, || self.asked(self.of_classes())),
            _ => None,
        }
    }

    fn of_classes(&self) -> Request {
        Request::Classes(AskedClasses { names: None, most: Some(self.classes) })
    }

    /// A page that is made at most every [`FRESH`], however often it is asked for.
    fn made(&self, path: &'static str, content_type: &'static str, make: impl FnOnce() -> Option<Vec<u8>>) -> Option<Page> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let known = made.get(path).filter(|(at, _)| at.elapsed() < FRESH).map(|(_, content)| content.clone());
        let content = match known {
            Some(content) => content,
            None => {
                let content = make()?;
                made.insert(path, (Instant::now(), content.clone()));
                content
            }
        };
        Some(Page { content_type, content })
    }

    fn asked(&self, request: Request) -> Option<Vec<u8>> {
        serde_json::to_vec(&self.service.answer(request).ok()?).ok()
    }

    fn metrics(&self) -> Option<Vec<u8>> {
        let (status, classes) = self.state().ok()?;
        let mut text = String::new();
        encode(&mut text, &registry(&status, &classes)).ok()?;
        Some(text.into_bytes())
    }

    fn state(&self) -> Result<(Status, Classes), Refusal> {
        let wrong = || Refusal::new(tidegate_control::ErrorKind::Defect, "another answer than was asked for");
        let Answer::Status(status) = self.service.answer(Request::Status)? else { return Err(wrong()) };
        let Answer::Classes(classes) = self.service.answer(self.of_classes())? else { return Err(wrong()) };
        Ok((status, classes))
    }
}

type Labels = Vec<(&'static str, String)>;
type Counts = Family<Labels, Counter>;
type Values = Family<Labels, Gauge<f64, AtomicU64>>;

/// All metrics of a bridge at one moment.
fn registry(status: &Status, classes: &Classes) -> Registry {
    let mut registry = Registry::with_prefix("tidegate");
    let uptime = Gauge::<f64, AtomicU64>::default();
    uptime.set(status.uptime_s);
    registry.register("uptime_seconds", "Time since the start", uptime);
    let changes = Counter::<u64>::default();
    changes.inc_by(status.changes);
    registry.register("changes", "Changes of the policy", changes);
    let warnings = Gauge::<f64, AtomicU64>::default();
    warnings.set(status.warnings.len() as f64);
    registry.register("interface_warnings", "Warnings about interfaces that hold at present; the state has their text", warnings);
    clients(&mut registry, status);
    let mut metrics = Metrics::new(&mut registry);
    status.directions.iter().for_each(|direction| metrics.direction(direction));
    for direction in &classes.directions {
        let way = format!("{} > {}", direction.from, direction.to);
        metrics.left_out.get_or_create(&vec![("direction", way.clone())]).set(direction.left_out as f64);
        direction.classes.iter().for_each(|class| metrics.class(&way, class));
    }
    registry
}

/// What clients asked, and which limits they reached.
fn clients(registry: &mut Registry, Status { clients, pages, .. }: &Status) {
    let (requests, closed) = (Counts::default(), Counts::default());
    for (server, result, count) in [
        ("control", "answered", clients.answered),
        ("control", "refused", clients.refused),
        ("pages", "answered", pages.served),
        ("pages", "refused", pages.refused),
    ] {
        requests.get_or_create(&vec![("server", server.to_owned()), ("result", result.to_owned())]).inc_by(count);
    }
    for (server, reason, count) in [
        ("control", "too-many", clients.too_many),
        ("control", "over-limit", clients.over_limit),
        ("control", "idle", clients.idle),
        ("pages", "too-many", pages.too_many),
        ("pages", "over-limit", pages.over_limit),
        ("pages", "broken-off", pages.broken),
    ] {
        closed.get_or_create(&vec![("server", server.to_owned()), ("reason", reason.to_owned())]).inc_by(count);
    }
    registry.register("client_requests", "Requests of clients, answered and refused", requests);
    registry.register("client_connections_closed", "Connections of clients that were closed because of a limit, by reason", closed);
}

/// The families of metrics.
struct Metrics {
    packets: Counts,
    bytes: Counts,
    dropped: Counts,
    marked: Counts,
    lost: Counts,
    held: Values,
    rate: Values,
    up: Values,
    class_packets: Counts,
    class_bytes: Counts,
    class_dropped: Counts,
    class_queued: Values,
    class_marked: Counts,
    delay: Values,
    left_out: Values,
}

impl Metrics {
    fn new(registry: &mut Registry) -> Metrics {
        let mut counts = |name: &str, help: &str| {
            let family = Counts::default();
            registry.register(name, help, family.clone());
            family
        };
        let packets = counts("packets", "Packets of a direction, received and delivered");
        let bytes = counts("bytes", "Bytes of these packets");
        let dropped = counts("dropped_packets", "Packets dropped in a direction, by reason");
        let marked = counts("ecn_marked_packets", "Packets marked CE by active queue management");
        let lost = counts("kernel_lost_frames", "Frames that the kernel lost before they were read, in no other metric");
        let class_packets = counts("class_packets", "Packets of a class, offered and sent");
        let class_bytes = counts("class_bytes", "Bytes of these packets");
        let class_dropped = counts("class_dropped_packets", "Packets of a class dropped, by reason");
        let class_marked = counts("class_ecn_marked_packets", "Packets of a class marked CE by active queue management");
        let mut values = |name: &str, help: &str| {
            let family = Values::default();
            registry.register(name, help, family.clone());
            family
        };
        Metrics {
            packets,
            bytes,
            dropped,
            marked,
            lost,
            class_packets,
            class_bytes,
            class_dropped,
            class_marked,
            held: values("held_packets", "Packets in the queues, and on the link or waiting for the kernel"),
            rate: values("rate_bits_per_second", "The rate of the policy"),
            up: values("interface_up", "1 if the interface is up and connected"),
            class_queued: values("class_queued_packets", "Packets of a class in its queues"),
            delay: values(
                "class_delay_seconds",
                "Delays of a class from arrival to the last bit sent, by window: the latest second, the last 60 to 70 s, and since the start; quantile 1 is the largest",
            ),
            left_out: values("classes_left_out", "Classes that are in no metric, because they sent less than those that are"),
        }
    }

    fn direction(&mut self, direction: &DirectionStatus) {
        let DirectionStatus { from, to, received, delivered, queued, in_flight, .. } = direction;
        let labels = |key: &'static str, value: &str| -> Labels { vec![("direction", format!("{from} > {to}")), (key, value.to_owned())] };
        for (stage, Amount { packets, bytes }) in [("received", received), ("delivered", delivered)] {
            self.packets.get_or_create(&labels("stage", stage)).inc_by(*packets);
            self.bytes.get_or_create(&labels("stage", stage)).inc_by(*bytes);
        }
        for (stage, amount) in [("queued", queued), ("in-flight", in_flight)] {
            self.held.get_or_create(&labels("stage", stage)).set(amount.packets as f64);
        }
        for (reason, amount) in &direction.dropped {
            self.dropped.get_or_create(&labels("reason", reason)).inc_by(amount.packets);
        }
        let way = vec![("direction", format!("{from} > {to}"))];
        self.marked.get_or_create(&way).inc_by(direction.ecn_marked);
        self.lost.get_or_create(&way).inc_by(direction.lost_in_kernel);
        self.rate.get_or_create(&way).set(direction.rate_bps as f64);
        for (interface, up) in [(from, direction.receiving), (to, direction.sending)] {
            self.up.get_or_create(&vec![("interface", interface.clone())]).set(f64::from(u8::from(up)));
        }
    }

    fn class(&mut self, way: &str, class: &ClassStatus) {
        let labels = |key: &'static str, value: &str| -> Labels {
            vec![("direction", way.to_owned()), ("class", class.name.clone()), (key, value.to_owned())]
        };
        for (stage, Amount { packets, bytes }) in [("offered", class.offered), ("sent", class.sent)] {
            self.class_packets.get_or_create(&labels("stage", stage)).inc_by(packets);
            self.class_bytes.get_or_create(&labels("stage", stage)).inc_by(bytes);
        }
        for (reason, amount) in &class.dropped {
            self.class_dropped.get_or_create(&labels("reason", reason)).inc_by(amount.packets);
        }
        self.class_queued
            .get_or_create(&vec![("direction", way.to_owned()), ("class", class.name.clone())])
            .set(class.queued.packets as f64);
        for (window, delay) in [("second", class.delay_second), ("minute", class.delay_minute), ("start", class.delay)] {
            for (quantile, value) in delay.iter().flat_map(|delay| [("0.5", delay.p50_s), ("0.99", delay.p99_s), ("1", delay.max_s)]) {
                let mut labels = labels("quantile", quantile);
                labels.push(("window", window.to_owned()));
                self.delay.get_or_create(&labels).set(value);
            }
        }
        self.class_marked.get_or_create(&vec![("direction", way.to_owned()), ("class", class.name.clone())]).inc_by(class.ecn_marked);
    }
}
