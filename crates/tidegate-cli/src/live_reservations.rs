//! Reservations at a running port: admission by RFC 2212, and the class that keeps what was promised.

use std::time::{Duration, Instant};
use tidegate_control::protocol::{HeldReservation, Offered, Promised, Reservation, Reserve, Reserved};
use tidegate_core::admission::{
    AdmissionControl, Answer, Constraint, Demand, FlowSpec, LinkSettings, Offer, PathAdmission, Refused, Service, Target, TrafficSpec,
};
use tidegate_core::registry::SchedulerKind;
use tidegate_core::units::{Duration as Time, Rate};
use tidegate_report::{format_rate, format_time};
use tidegate_scenario::Policy;

/// A buffer that a policy may have in all, in bits: memory limits it before.
const BUFFER: u64 = 1 << 40;
/// The name of the request among the flows of its port.
const NEWCOMER: u64 = u64::MAX;

/// The reservations of a bridge.
#[derive(Default)]
pub struct Reservations(Vec<Held>);

struct Held {
    name: String,
    promise: Promised,
    /// The edit that adds its class.
    edit: String,
    lease: Option<Lease>,
}

#[derive(Clone, Copy)]
struct Lease {
    time: Duration,
    until: Instant,
}

impl Reservations {
    /// Notes a reservation that holds from now on.
    pub fn hold(&mut self, asked: &Reserve, promise: Promised, edit: String) {
        let time = asked.lease_s.map(Duration::from_secs_f64);
        let lease = time.map(|time| Lease { time, until: Instant::now() + time });
        self.0.push(Held { name: asked.name.clone(), promise, edit, lease });
    }

    /// True if there is a reservation of this name.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|held| held.name == name)
    }

    /// Begins the lease of a reservation anew; false if there is none of this name.
    pub fn renew(&mut self, name: &str) -> bool {
        let Some(held) = self.0.iter_mut().find(|held| held.name == name) else { return false };
        if let Some(lease) = &mut held.lease {
            lease.until = Instant::now() + lease.time;
        }
        true
    }

    /// The name of a reservation whose lease is over.
    pub fn over(&self) -> Option<String> {
        let is_over = |held: &&Held| held.lease.is_some_and(|lease| lease.until <= Instant::now());
        self.0.iter().find(is_over).map(|held| held.name.clone())
    }

    /// The changes of another file with those that keep the reservations.
    pub fn carried(&self, mut set: Vec<String>) -> Vec<String> {
        set.extend(self.0.iter().map(|held| held.edit.clone()));
        set
    }

    /// Forgets reservations whose classes are gone.
    pub fn keep(&mut self, policies: &[Policy]) {
        let is_there = |held: &Held| policies.iter().flat_map(|policy| policy.classes.iter()).any(|class| class.name == held.name);
        self.0.retain(is_there);
    }

    /// All of them, for a process that takes over.
    pub fn held(&self) -> Vec<HeldReservation> {
        let held = |Held { name, promise, edit, lease }: &Held| {
            let lease_s =
                lease.map(|Lease { time, until }| [time, until.saturating_duration_since(Instant::now())].map(|time| time.as_secs_f64()));
            HeldReservation { name: name.clone(), promise: *promise, edit: edit.clone(), lease_s }
        };
        self.0.iter().map(held).collect()
    }

    /// Goes on with those of another process.
    pub fn take_over(&mut self, held: &[HeldReservation]) {
        let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
        self.0 = held
            .iter()
            .map(|HeldReservation { name, promise, edit, lease_s }| {
                let lease = lease_s.map(|[time, left]| Lease { time: seconds(time), until: Instant::now() + seconds(left) });
                Held { name: name.clone(), promise: *promise, edit: edit.clone(), lease }
            })
            .collect();
    }

    /// All of them.
    pub fn all(&self) -> Vec<Reservation> {
        let shown = |held: &Held| Reservation {
            name: held.name.clone(),
            promise: held.promise,
            left_s: held.lease.map(|lease| lease.until.saturating_duration_since(Instant::now()).as_secs_f64()),
        };
        self.0.iter().map(shown).collect()
    }
}

/// The decision on a request, and the table of its class if it is admitted.
///
/// # Errors
/// One message: the port gives no rates, or the request has no meaning.
pub fn decide(policy: &Policy, asked: &Reserve) -> Result<(Reserved, Option<String>), String> {
    let scheduler = policy.scheduler;
    if !matches!(scheduler, SchedulerKind::Wf2qPlus | SchedulerKind::VirtualClock | SchedulerKind::IntegratedServices) {
        return Err(format!(
            "policy `{}` has the scheduler `{}`, of which no bound on the delay of a reserved rate is known here\n  reservations need `wf2q+`, \
             `virtual-clock` or `intserv` at the link",
            policy.name,
            scheduler.name()
        ));
    }
    let longest = u64::from(policy.overhead.wire_length(policy.longest_frame)) * 8;
    let sustained = Rate::new(asked.rate_bps).map_err(|error| error.to_string())?;
    if asked.burst_bytes < longest / 8 {
        let (burst, longest) = (asked.burst_bytes, longest / 8);
        return Err(format!("a burst of {burst} bytes holds no frame\n  the longest of the port has {longest} bytes on the wire"));
    }
    // A burst may come at any rate.
    let traffic =
        TrafficSpec::new(longest, asked.burst_bytes.saturating_mul(8), sustained, Rate::MAX).map_err(|error| error.to_string())?;
    let delay = asked.delay_s.map(|seconds| Time::from_picoseconds((seconds * 1e12) as u64));
    let target = delay.map_or(Target::Rate(asked.rate_bps), Target::Delay);
    let spec = FlowSpec { id: NEWCOMER, path: &[0], alternatives: &[], traffic, target: Some(target), kind: Service::Guaranteed };
    let settings = LinkSettings { guaranteed_flows: 1 << 20, ..LinkSettings::new(policy.rate, longest, BUFFER) };
    let mut port = PathAdmission::new(&[settings], 1, 1).map_err(|(_, error)| error.to_string())?;
    if let Some(link) = port.link_mut(0) {
        for (id, rate) in (0..).zip(reserved_rates(policy)) {
            link.provision(id, Demand::Guaranteed { rate, buffer: 0 }).map_err(|error| error.to_string())?;
        }
    }
    let answer = port.request(&spec).map_err(|error| error.to_string())?;
    let nothing = Reserved { name: asked.name.clone(), promise: None, refused: None, offers: Vec::new() };
    Ok(match answer {
        Answer::Admitted(admitted) => {
            let (Some(hop), Some(delay)) = (admitted.hops.first(), admitted.delay) else {
                return Err("the port promises no delay".to_owned());
            };
            // Whole frames are queued, without overhead; one more may be in transmission.
            let buffer_bytes = hop.buffer.div_ceil(8).max(2 * u64::from(policy.longest_frame));
            let promise = Promised { rate_bps: hop.rate, delay_s: delay.picoseconds() as f64 / 1e12, buffer_bytes };
            let table = table(asked, promise, scheduler);
            (Reserved { promise: Some(promise), ..nothing }, Some(table))
        }
        Answer::Refused(refused) => {
            let mut offers: Vec<Offered> = refused.offers.iter().filter_map(offered).collect();
            offers.extend(rate_offered(&mut port, &spec, &refused));
            (Reserved { refused: Some(short(&refused)), offers, ..nothing }, None)
        }
    })
}

/// The rate that is free, if a request for a rate would be admitted with it.
fn rate_offered(port: &mut PathAdmission, spec: &FlowSpec<'_>, refused: &Refused) -> Option<Offered> {
    let (Some(Target::Rate(_)), Constraint::Rate | Constraint::RateGuarantee) = (spec.target, refused.constraint) else { return None };
    let (traffic, rate) = (spec.traffic, Rate::new(refused.have).ok()?);
    let traffic = TrafficSpec::new(traffic.longest_packet(), traffic.burst(), rate, traffic.peak()).ok()?;
    let spec = FlowSpec { traffic, target: Some(Target::Rate(refused.have)), ..*spec };
    matches!(port.request(&spec), Ok(Answer::Admitted(_))).then(|| Offered { key: "rate_bps".to_owned(), value: refused.have as f64 })
}

/// The rates that classes and groups directly below the link have reserved.
fn reserved_rates(policy: &Policy) -> impl Iterator<Item = u64> {
    let classes = policy.classes.iter().filter(|class| class.parent.is_none()).map(|class| &*class.parameters);
    let groups = policy.groups.iter().filter(|group| group.parent.is_none()).map(|group| &group.parameters);
    classes.chain(groups).filter_map(|parameters| parameters.rate).map(Rate::bits_per_second)
}

/// The class of a reservation: its packets, its rate, its contract and its buffer.
fn table(asked: &Reserve, promise: Promised, scheduler: SchedulerKind) -> String {
    let name = serde_json::Value::from(asked.name.as_str());
    let service = if scheduler == SchedulerKind::IntegratedServices { ", service_class = \"guaranteed\"" } else { "" };
    let (rate, burst) = (asked.rate_bps, asked.burst_bytes);
    let police = format!("{{ policer = \"gcra\", rate = \"{rate} bit/s\", burst = \"{burst} B\" }}");
    format!(
        "{{ name = {name}, match = [{}], rate = \"{} bit/s\", police = {police}, buffer = {{ limit = \"{} B\" }}{service} }}",
        asked.rule.trim(),
        promise.rate_bps,
        promise.buffer_bytes
    )
}

/// What is short, in units that people read.
fn short(refused: &Refused) -> String {
    let seconds = |picoseconds: u64| format_time(picoseconds as f64 / 1e12);
    let (have, need) = (refused.have, refused.need);
    match refused.constraint {
        Constraint::Rate | Constraint::RateGuarantee => {
            format!(
                "the rate that can be reserved is short: {} is needed, and {} is free",
                format_rate(need as f64),
                format_rate(have as f64)
            )
        }
        Constraint::Buffer => format!("the buffer is short: {} bytes are needed, and {} are free", need / 8, have / 8),
        Constraint::Target => format!("no rate is enough for a delay of {}: {} pass at any rate", seconds(have), seconds(need)),
        other => format!("{other} is short: {need} is needed, and there is {have} ({})", other.unit()),
    }
}

fn offered(offer: Offer) -> Option<Offered> {
    let (key, value) = match offer {
        Offer::Delay(delay) => ("delay_s", delay.picoseconds() as f64 / 1e12),
        Offer::Rate(rate) | Offer::Sustained(rate) => ("rate_bps", rate as f64),
        Offer::Burst(bits) => ("burst_bytes", (bits / 8) as f64),
        _ => return None,
    };
    Some(Offered { key: key.to_owned(), value })
}
