//! What a running `tidegate live` answers on its control socket, and how it changes its policy.

use crate::changes::what_was_done;
use crate::log;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tidegate_control::http::PageTally;
use tidegate_control::protocol::{
    Amount, Applied, Apply, AskedClasses, AskedWhy, ClassStatus, Classes, DelayQuantiles, DirectionApplied, DirectionClasses,
    DirectionStatus, How, Met, QueuesMoved, Status, Why,
};
use tidegate_control::{Answer, ErrorKind, Refusal, Request, Tally};
use tidegate_core::classifier::{Header, Network, Transport};
use tidegate_core::packet::DropReason;
use tidegate_core::port::Volume;
use tidegate_live::{ClassVolumes, Control, ControlError};
use tidegate_report::{ChangeDone, ChangeResult};
use tidegate_scenario::explain::{self, Difference};
use tidegate_scenario::{Policy, Scenario, parse_policies};
use tidegate_statistics::Delays;
use tidegate_wire::{LinkType, parse};

/// The longest time for which a change may wait to be confirmed.
const LONGEST_CONFIRMATION: f64 = 24.0 * 3600.0;

/// How often the time to confirm is looked at, and hang-ups.
const LOOK: Duration = Duration::from_millis(100);

/// A file as it was applied.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name, for messages.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Values that differ from the text.
    pub set: Vec<String>,
}

/// The policies that run, and what they came from.
#[derive(Clone)]
struct Running {
    source: Source,
    /// By direction.
    policies: Vec<Policy>,
}

struct State {
    running: Running,
    /// What ran before the latest change.
    before: Option<Running>,
    /// When that comes back unless the latest change is confirmed.
    deadline: Option<Instant>,
    changes: u64,
    history: Vec<ChangeResult>,
}

/// The service of one bridge.
pub struct Service {
    control: Control,
    /// The pairs of interfaces. Each has two directions: there, and back.
    pairs: Vec<[String; 2]>,
    /// The file that a hang-up applies anew, with the values of the command.
    file: (PathBuf, Vec<String>),
    started: Instant,
    state: Mutex<State>,
    samples: Mutex<[Sample; 2]>,
    /// What clients did.
    pub tally: Arc<Tally>,
    /// What became of requests for pages.
    pub pages: PageTally,
}

/// What classes had sent at an instant, by direction.
#[derive(Clone)]
struct Sample {
    at: Instant,
    sent: Vec<Vec<u64>>,
}

impl Service {
    /// A service of the pairs behind `control`, which run these policies, two per pair.
    pub fn new(control: Control, pairs: Vec<[String; 2]>, file: (PathBuf, Vec<String>), source: Source, policies: Vec<Policy>) -> Service {
        let now = Instant::now();
        let sample = Sample { at: now, sent: vec![Vec::new(); policies.len()] };
        let running = Running { source, policies };
        Service {
            control,
            pairs,
            file,
            started: now,
            state: Mutex::new(State { running, before: None, deadline: None, changes: 0, history: Vec::new() }),
            samples: Mutex::new([sample.clone(), sample]),
            tally: Arc::default(),
            pages: PageTally::default(),
        }
    }

    /// The changes so far, for the report.
    pub fn history(&self) -> Vec<ChangeResult> {
        lock(&self.state).history.clone()
    }

    /// Answers a request.
    pub fn answer(&self, request: Request) -> Result<Answer, Refusal> {
        match request {
            Request::Status => self.status().map(Answer::Status),
            Request::Classes(asked) => self.classes(&asked).map(Answer::Classes),
            Request::Apply(Apply { name, text, set, how }) => self.apply(Source { name, text, set }, how).map(Answer::Applied),
            Request::Set(set) => {
                let source = lock(&self.state).running.source.clone();
                self.apply(with_values(source, &set.values), set.how).map(Answer::Applied)
            }
            Request::Confirm => {
                let mut state = lock(&self.state);
                state.deadline.take().ok_or_else(|| bad("error: no change waits to be confirmed"))?;
                log::line("change confirmed");
                Ok(Answer::Confirmed)
            }
            Request::Rollback => self.roll_back("asked for").map(Answer::Applied),
            Request::Why(asked) => self.why(&asked).map(Answer::Why),
            _ => Err(bad("error: this version does not know the request")),
        }
    }

    /// Takes samples, takes back what was not confirmed, and applies the file anew at a hang-up, until `is_over`.
    pub fn keep(&self, hang_ups: &AtomicU64, is_over: impl Fn() -> bool) {
        let mut seen = hang_ups.load(Ordering::Relaxed);
        while !is_over() {
            std::thread::sleep(LOOK);
            let due = lock(&self.state).deadline.is_some_and(|deadline| deadline <= Instant::now());
            if due && let Err(refusal) = self.roll_back("not confirmed in time") {
                log::line(&format!("the change was not confirmed, and could not be taken back: {}", refusal.text));
            }
            let now = hang_ups.load(Ordering::Relaxed);
            if std::mem::replace(&mut seen, now) != now {
                self.apply_anew();
            }
            self.sample();
        }
    }

    fn apply_anew(&self) {
        let (path, set) = &self.file;
        let source = match std::fs::read_to_string(path) {
            Ok(text) => Source { name: path.display().to_string(), text, set: set.clone() },
            Err(error) => return log::line(&format!("SIGHUP: {}: cannot be read ({error}); nothing was changed", path.display())),
        };
        match self.apply(source, How::default()) {
            Ok(applied) => log::line(&format!("SIGHUP: {}", in_one_line(&applied))),
            Err(refusal) => log::line(&format!("SIGHUP: nothing was changed: {}", refusal.text)),
        }
    }

    fn apply(&self, source: Source, how: How) -> Result<Applied, Refusal> {
        if how.confirm_s.is_some_and(|seconds| !(1.0..=LONGEST_CONFIRMATION).contains(&seconds)) {
            return Err(bad("error: the time to confirm is from 1 s to 24 h"));
        }
        let scenario = parse_policies(&source.name, &source.text, &source.set).map_err(|problems| bad(problems.render(false)))?;
        let warnings = scenario.warnings.as_ref().map(|warnings| warnings.render(false));
        let mut state = lock(&self.state);
        let policies = self.chosen(&scenario, &state.running)?;
        let mut applied = self.differences(&state.running.policies, &policies);
        applied.warnings = warnings;
        applied.dry_run = how.dry_run;
        if how.dry_run {
            return Ok(applied);
        }
        let what = source.set.last().filter(|_| source.text == state.running.source.text);
        let what = what.map_or_else(|| format!("apply {}", source.name), |value| format!("set {value}"));
        self.switch(&mut state, Running { source, policies }, &mut applied, what)?;
        state.deadline = how.confirm_s.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
        applied.to_confirm_s = how.confirm_s;
        log::line(&in_one_line(&applied));
        Ok(applied)
    }

    fn roll_back(&self, why: &str) -> Result<Applied, Refusal> {
        let mut state = lock(&self.state);
        let Some(before) = state.before.clone() else { return Err(bad("error: there is no earlier state to go back to")) };
        state.deadline = None;
        let follow = |index: usize| before.policies[index].clone().following(&state.running.policies[index]).map_err(not_now);
        let policies = self.directions().map(follow).collect::<Result<Vec<_>, _>>()?;
        let mut applied = self.differences(&state.running.policies, &policies);
        self.switch(&mut state, Running { source: before.source, policies }, &mut applied, format!("rollback, {why}"))?;
        // A rollback is not taken back by another: that would be the change again.
        state.before = None;
        log::line(&format!("change taken back ({why}): {}", in_one_line(&applied)));
        Ok(applied)
    }

    /// The policies of a file for all directions, as those that run go on.
    fn chosen(&self, scenario: &Scenario, running: &Running) -> Result<Vec<Policy>, Refusal> {
        if !scenario.variants[0].changes.is_empty() {
            return Err(bad(
                "error: `[[change]]` counts from the start of a bridge\n  write the new values in the policies, and apply them when they are to hold",
            ));
        }
        let one = |index: usize| {
            // That of the same name, or that of this way of the only one.
            let only = scenario.directions(None).map_or_else(|| scenario.policy(None), |[down, up]| Ok([up, down][index % 2]));
            let policy = scenario.policy(Some(&running.policies[index].name)).or_else(|problem| only.map_err(|_| problem));
            let policy = policy.map_err(|problem| bad(format!("error: {problem}")))?;
            policy.clone().following(&running.policies[index]).map_err(not_now)
        };
        self.directions().map(one).collect()
    }

    fn differences(&self, before: &[Policy], after: &[Policy]) -> Applied {
        let direction = |index: usize| {
            let Difference { added, removed, changed, same } = explain::difference(&before[index], &after[index]);
            let [from, to] = self.way(index);
            DirectionApplied { from, to, added, removed, changed, same, queues: None }
        };
        Applied { dry_run: false, directions: self.directions().map(direction).collect(), warnings: None, to_confirm_s: None }
    }

    /// Switches all ports, or none.
    fn switch(&self, state: &mut State, next: Running, applied: &mut Applied, what: String) -> Result<(), Refusal> {
        let setups: Vec<_> = next.policies.iter().map(Policy::setup).collect();
        self.directions().try_for_each(|index| self.control.can_change(index, &setups[index])).map_err(refused)?;
        let mut history = Vec::new();
        for (index, setup) in setups.into_iter().enumerate() {
            match self.control.change(index, setup) {
                Ok(changed) => {
                    let ChangeDone { kept, moved, dropped, .. } = what_was_done(changed.switched);
                    let amount = |volume: tidegate_report::Volume| Amount { packets: volume.packets, bytes: volume.bytes };
                    applied.directions[index].queues = Some(QueuesMoved {
                        kept: amount(kept),
                        moved: amount(moved),
                        dropped: amount(dropped),
                        gap_s: changed.gap.as_secs_f64(),
                    });
                    let [from, to] = self.way(index);
                    let done = ChangeDone { gap_s: Some(changed.gap.as_secs_f64()), ..what_was_done(changed.switched) };
                    history.push(ChangeResult {
                        at_s: self.started.elapsed().as_secs_f64(),
                        what: vec![what.clone()],
                        port: Some(format!("{from} > {to}")),
                        done: Some(done),
                    });
                }
                Err(error) => {
                    for index in 0..index {
                        let back = state.running.policies[index].clone().following(&next.policies[index]).map_err(not_now)?;
                        self.control.change(index, back.setup()).map_err(refused)?;
                    }
                    return Err(refused(error));
                }
            }
        }
        state.changes += 1;
        state.history.extend(history);
        state.before = Some(std::mem::replace(&mut state.running, next));
        Ok(())
    }

    fn status(&self) -> Result<Status, Refusal> {
        let counters: Vec<_> = self.directions().map(|index| self.control.counters(index)).collect();
        let state = lock(&self.state);
        let mut directions = Vec::new();
        for (index, counters) in counters.into_iter().enumerate() {
            let counters = counters.map_err(refused)?;
            let policy = &state.running.policies[index];
            let [from, to] = self.way(index);
            directions.push(DirectionStatus {
                from,
                to,
                policy: policy.name.clone(),
                rate_bps: policy.rate.bits_per_second(),
                classes: policy.classes.len(),
                receiving: counters.receiving,
                sending: counters.sending,
                received: amount(counters.received),
                delivered: amount(counters.delivered),
                queued: amount(counters.queued),
                in_flight: amount(counters.in_flight),
                dropped: counters.dropped().map(|(reason, volume)| (reason.to_owned(), amount(volume))).collect(),
                ecn_marked: counters.port.marked.packets,
                lost_in_kernel: counters.kernel.dropped,
            });
        }
        Ok(Status {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            uptime_s: self.started.elapsed().as_secs_f64(),
            file: state.running.source.name.clone(),
            directions,
            changes: state.changes,
            to_confirm_s: state.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()).as_secs_f64()),
            warnings: self.control.warnings(),
            clients: self.tally.counts(),
            pages: self.pages.counts(),
        })
    }

    /// Keeps what classes have sent, once a second.
    fn sample(&self) {
        const INTERVAL: Duration = Duration::from_secs(1);
        if lock(&self.samples)[1].at.elapsed() < INTERVAL {
            return;
        }
        let sent = |index| self.control.classes(index).map(|classes| classes.iter().map(|class| class.sent.bytes).collect());
        if let Ok(sent) = self.directions().map(sent).collect() {
            let mut samples = lock(&self.samples);
            samples.swap(0, 1);
            samples[1] = Sample { at: Instant::now(), sent };
        }
    }

    fn classes(&self, asked: &AskedClasses) -> Result<Classes, Refusal> {
        let [older, newer] = lock(&self.samples).clone();
        let sample = if newer.at.elapsed() < Duration::from_millis(500) { older } else { newer };
        let mut directions = Vec::new();
        let mut over = 0.0;
        for index in self.directions() {
            let now = Instant::now();
            let classes = self.control.classes(index).map_err(refused)?;
            over = (now - sample.at).as_secs_f64().max(1e-3);
            let rate = |(index_of_class, class): (usize, &ClassVolumes)| {
                let before = sample.sent[index].get(index_of_class).copied().unwrap_or(0);
                class.sent.bytes.saturating_sub(before) as f64 * 8.0 / over
            };
            let wanted = |class: &ClassVolumes| asked.names.as_deref().is_none_or(|pattern| matches(pattern, &class.name));
            let mut chosen: Vec<(usize, f64)> = classes
                .iter()
                .enumerate()
                .filter(|(_, class)| wanted(class))
                .map(|(number, class)| (number, rate((number, class))))
                .collect();
            let most = asked.most.unwrap_or(usize::MAX);
            let left_out = chosen.len().saturating_sub(most);
            if left_out > 0 {
                chosen.sort_by(|one, other| other.1.total_cmp(&one.1));
                chosen.truncate(most);
            }
            let delays = self.control.delays(index, chosen.iter().map(|(number, _)| *number).collect()).map_err(refused)?;
            let state = lock(&self.state);
            let policy = &state.running.policies[index];
            let present: HashMap<&str, usize> = policy.classes.iter().map(|class| class.name.as_str()).zip(0..).collect();
            let status = |((number, rate_bps), delays): (&(usize, f64), &Delays)| {
                let class = &classes[*number];
                let place = present.get(class.name.as_str());
                ClassStatus {
                    name: class.name.clone(),
                    present: place.is_some(),
                    rate_bps: *rate_bps,
                    offered: amount(class.offered),
                    sent: amount(class.sent),
                    queued: amount(class.queued()),
                    dropped: dropped(class),
                    recoloured: amount(class.marked),
                    delay: quantiles(delays),
                    guarantee: place
                        .map_or_else(|| "the policy has it no more".to_owned(), |&place| policy.classes[place].guarantee.to_string()),
                }
            };
            let [from, to] = self.way(index);
            directions.push(DirectionClasses { from, to, classes: chosen.iter().zip(&delays).map(status).collect(), left_out });
        }
        Ok(Classes { rates_over_s: over, directions })
    }

    fn why(&self, asked: &AskedWhy) -> Result<Why, Refusal> {
        let headers = headers(asked)?;
        let policies = lock(&self.state).running.policies.clone();
        let mut packets = Vec::new();
        for (index, policy) in policies.iter().enumerate() {
            let classes = self.control.classes(index).map_err(refused)?;
            for header in &headers {
                let found = explain::met(policy, header);
                let class = &policy.classes[found.class];
                let number = classes.iter().position(|volumes| volumes.name == class.name);
                let delays = self.control.delays(index, number.into_iter().collect()).map_err(refused)?;
                let [from, to] = self.way(index);
                packets.push(Met {
                    from,
                    to,
                    packet: explain::print_header(header),
                    class: class.name.clone(),
                    rule: found.rule,
                    queue: [found.queue, class.queues],
                    groups: found.groups,
                    contract: found.text.split(", ").map(str::to_owned).collect(),
                    queued: number.map_or_else(Amount::default, |number| amount(classes[number].queued())),
                    dropped: number.map_or_else(BTreeMap::new, |number| dropped(&classes[number])),
                    delay: delays.first().and_then(quantiles),
                });
            }
        }
        Ok(Why { packets })
    }

    /// The numbers of all directions.
    fn directions(&self) -> Range<usize> {
        0..2 * self.pairs.len()
    }

    /// The interfaces of a direction: incoming, outgoing.
    fn way(&self, direction: usize) -> [String; 2] {
        let [inside, outside] = self.pairs[direction / 2].clone();
        if direction.is_multiple_of(2) { [inside, outside] } else { [outside, inside] }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn bad(text: impl Into<String>) -> Refusal {
    Refusal::new(ErrorKind::BadInput, text)
}

fn not_now(problem: String) -> Refusal {
    Refusal::new(ErrorKind::NotNow, format!("error: {problem}"))
}

fn refused(error: ControlError) -> Refusal {
    not_now(error.to_string())
}

fn amount(volume: Volume) -> Amount {
    Amount { packets: volume.packets, bytes: volume.bytes }
}

fn dropped(class: &ClassVolumes) -> BTreeMap<String, Amount> {
    let by_reason = DropReason::ALL.iter().zip(class.dropped).filter(|(_, volume)| volume.packets > 0);
    by_reason.map(|(reason, volume)| (reason.name().to_owned(), amount(volume))).collect()
}

fn quantiles(delays: &Delays) -> Option<DelayQuantiles> {
    Some(DelayQuantiles { p50_s: delays.quantile_seconds(0.5)?, p99_s: delays.quantile_seconds(0.99)?, max_s: delays.maximum_seconds()? })
}

/// The source with these values; a value replaces an earlier one of the same key.
fn with_values(mut source: Source, values: &[String]) -> Source {
    let key = |value: &str| value.split('=').next().unwrap_or_default().trim().to_owned();
    for value in values {
        source.set.retain(|earlier| key(earlier) != key(value));
        source.set.push(value.clone());
    }
    source
}

/// True if a name matches a pattern in which `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// The headers that are asked about.
fn headers(asked: &AskedWhy) -> Result<Vec<Header>, Refusal> {
    if let Some(frame) = &asked.frame {
        let digits: String = frame.chars().filter(|character| !character.is_whitespace() && *character != ':').collect();
        let byte = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
        let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
        let bytes = bytes.filter(|bytes| digits.len().is_multiple_of(2) && bytes.len() >= 14);
        let bytes =
            bytes.ok_or_else(|| bad("error: a frame is at least 14 bytes, two hexadecimal digits each, from its Ethernet header on"))?;
        return Ok(vec![parse(LinkType::Ethernet, &bytes)]);
    }
    let Some(address) = &asked.address else { return Err(bad("error: ask about an address or a frame")) };
    let address: std::net::IpAddr =
        address.parse().map_err(|_| bad(format!("error: `{address}` is no IP address, such as 10.0.0.7 or 2001:db8::7")))?;
    let transport = |ports: (u16, u16)| {
        let protocol = asked.protocol.unwrap_or(6);
        let dscp = asked.dscp.unwrap_or(0) & 63;
        let ports = matches!(protocol, 6 | 17 | 33 | 132 | 136).then_some(ports);
        Transport { dscp, protocol, ports, ..Transport::default() }
    };
    let other = asked.port.unwrap_or(0);
    let (sent, got) = (transport((0, other)), transport((other, 0)));
    Ok(match address {
        std::net::IpAddr::V4(address) => {
            let address = address.to_bits();
            let header = |source, destination, transport| Header {
                ethernet_type: 0x0800,
                network: Network::V4 { source, destination, transport },
                ..Header::default()
            };
            vec![header(address, 0, sent), header(0, address, got)]
        }
        std::net::IpAddr::V6(address) => {
            let address = address.to_bits();
            let header = |source, destination, transport| Header {
                ethernet_type: 0x86dd,
                network: Network::V6 { source, destination, transport },
                ..Header::default()
            };
            vec![header(address, 0, sent), header(0, address, got)]
        }
    })
}

/// A change in one line, for the log.
fn in_one_line(applied: &Applied) -> String {
    let direction = |direction: &DirectionApplied| {
        let DirectionApplied { from, to, added, removed, changed, queues, .. } = direction;
        let queues = queues.map_or(String::new(), |queues| {
            format!(
                "; {} packets stayed, {} moved, {} were dropped, {:.3} ms",
                queues.kept.packets,
                queues.moved.packets,
                queues.dropped.packets,
                queues.gap_s * 1e3
            )
        });
        format!("{from} -> {to}: {} classes added, {} removed, {} changed{queues}", added.len(), removed.len(), changed.len())
    };
    applied.directions.iter().map(direction).collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, is) in [
            ("*", "", true),
            ("a*", "ab", true),
            ("a*", "ba", false),
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*a", "a", false),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "acb", false),
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, name), is, "{pattern} {name}");
        }
    }
}
