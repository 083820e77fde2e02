//! What a running `tidegate live` answers on its control socket, and how it changes its policy.

mod reserve;
mod show;
mod succession;

use crate::changes::what_was_done;
use crate::live_captures::Captures;
use crate::live_reservations::Reservations;
use crate::log;
use crate::supervision;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tidegate_control::http::PageTally;
use tidegate_control::protocol::{Add, Amount, Applied, Apply, DirectionApplied, DirectionStatus, How, QueuesMoved, Remove, Status};
use tidegate_control::{Answer, ErrorKind, Refusal, Request, Tally};
use tidegate_core::port::{Amendment, PortSetup, Volume};
use tidegate_live::{Control, ControlError, PortChanged};
use tidegate_report::{ChangeDone, ChangeResult};
use tidegate_scenario::explain::{self, Difference};
use tidegate_scenario::{FileSet, Policy, Scenario, edit, parse_policies, read_policies};

/// The longest time for which a change may wait to be confirmed.
const LONGEST_CONFIRMATION: f64 = 24.0 * 3600.0;

/// How often the time to confirm is looked at, and hang-ups.
const LOOK: Duration = Duration::from_millis(100);

/// A file as it was applied.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name, its text, and the texts that it names.
    pub files: FileSet,
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

pub(crate) struct State {
    running: Running,
    /// What ran before the latest change.
    before: Option<Running>,
    /// When that comes back unless the latest change is confirmed.
    deadline: Option<Instant>,
    changes: u64,
    take_overs: u64,
    carries_since: Instant,
    history: Vec<ChangeResult>,
    reservations: Reservations,
}

/// How a port comes to another policy.
enum Step {
    /// With other parameters for some classes.
    Amend(Amendment),
    /// As a whole.
    Switch(Box<PortSetup>),
}

impl Step {
    fn new(before: &Policy, after: &Policy) -> Step {
        // Several workers change as a whole, at one instant.
        let amendment = if after.workers.is_some() { None } else { after.amendment(before) };
        amendment.map_or_else(|| Step::Switch(Box::new(after.setup())), Step::Amend)
    }
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
    captures: Mutex<Captures>,
    /// Held while a reservation is decided or ends.
    deciding: Mutex<()>,
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
            state: Mutex::new(State {
                running,
                before: None,
                deadline: None,
                changes: 0,
                take_overs: 0,
                carries_since: now,
                history: Vec::new(),
                reservations: Reservations::default(),
            }),
            samples: Mutex::new([sample.clone(), sample]),
            captures: Mutex::default(),
            deciding: Mutex::default(),
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
            Request::Queues(asked) => self.queues(&asked).map(Answer::Queues),
            Request::Flows(asked) => self.flows(&asked).map(Answer::Flows),
            Request::Rules(asked) => self.rules(&asked).map(Answer::Rules),
            Request::Apply(Apply { name, text, files, set, how }) => {
                let set = lock(&self.state).reservations.carried(set);
                let files = files.into_iter().map(|(name, text)| (name, text.into())).collect();
                self.apply(Source { files: FileSet { name, text: text.into(), files }, set }, how).map(Answer::Applied)
            }
            Request::Set(set) => {
                let source = lock(&self.state).running.source.clone();
                let values = set.values.iter().fold(source.set.clone(), |values, value| edit::with(values, value));
                self.apply(Source { set: values, ..source }, set.how).map(Answer::Applied)
            }
            Request::Add(Add { kind, table, policy, before, how }) => self
                .edit(how, |source| edit::adding(&source.files, &source.set, policy.as_deref(), (&kind, &table), before.as_deref()))
                .map(Answer::Applied),
            Request::Remove(Remove { name, policy, how }) => {
                self.edit(how, |source| edit::removing(&source.files, &source.set, policy.as_deref(), &name)).map(Answer::Applied)
            }
            Request::Confirm => {
                let mut state = lock(&self.state);
                state.deadline.take().ok_or_else(|| bad("error: no change waits to be confirmed"))?;
                log::line("change confirmed");
                Ok(Answer::Confirmed)
            }
            Request::Rollback => self.roll_back("asked for").map(Answer::Applied),
            Request::Why(asked) => self.why(&asked).map(Answer::Why),
            Request::Reserve(asked) => self.reserve(&asked).map(Answer::Reserved),
            Request::Renew(asked) => self.renew(&asked.name).map(|()| Answer::Renewed),
            Request::Release(asked) => self.release(&asked.name).map(Answer::Applied),
            Request::Capture(asked) => self.capture(&asked).map(Answer::Capture),
            Request::Captured(asked) => self.captured(asked).map(Answer::Captured),
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
                supervision::reloading();
                self.apply_anew("SIGHUP", false);
                supervision::ready();
            }
            self.sample();
            self.end_leases();
            lock(&self.captures).end_idle();
        }
    }

    /// Applies the file anew, for this reason. If only another one is of interest, not one whose text runs, perhaps with edits.
    fn apply_anew(&self, why: &str, only_another: bool) {
        let (path, set) = &self.file;
        let set = lock(&self.state).reservations.carried(set.clone());
        let read = read_policies(path, &set).map_err(|problems| bad(problems.render(false)));
        let is_same = |files: &FileSet| {
            let Source { files: running, set: values } = &lock(&self.state).running.source;
            (&running.text, &running.files) == (&files.text, &files.files) && set.iter().all(|value| values.contains(value))
        };
        if only_another && read.as_ref().is_ok_and(|(_, files)| is_same(files)) {
            return;
        }
        match read.and_then(|(scenario, files)| self.apply_read(&scenario, Source { files, set }, How::default())) {
            Ok(applied) => log::line(&format!("{why}: {}", in_one_line(&applied))),
            Err(refusal) => log::line(&format!("{why}: nothing was changed: {}", refusal.text)),
        }
    }

    /// Applies the present file with one edit more.
    fn edit(&self, how: How, edit: impl FnOnce(&Source) -> Result<String, String>) -> Result<Applied, Refusal> {
        let source = lock(&self.state).running.source.clone();
        let edit = edit(&source).map_err(|problem| bad(format!("error: {problem}")))?;
        let set = edit::with(source.set.clone(), &edit);
        self.apply(Source { set, ..source }, how)
    }

    fn apply(&self, source: Source, how: How) -> Result<Applied, Refusal> {
        if how.confirm_s.is_some_and(|seconds| !(1.0..=LONGEST_CONFIRMATION).contains(&seconds)) {
            return Err(bad("error: the time to confirm is from 1 s to 24 h"));
        }
        let scenario = parse_policies(&source.files, &source.set).map_err(|problems| bad(problems.render(false)))?;
        self.apply_read(&scenario, source, how)
    }

    /// Applies what has been read from a source.
    fn apply_read(&self, scenario: &Scenario, source: Source, how: How) -> Result<Applied, Refusal> {
        let warnings = scenario.warnings.as_ref().map(|warnings| warnings.render(false));
        let mut state = lock(&self.state);
        let policies = self.chosen(scenario, &state.running)?;
        let mut applied = self.differences(&state.running.policies, &policies);
        applied.warnings = warnings;
        applied.dry_run = how.dry_run;
        if how.dry_run {
            return Ok(applied);
        }
        let what = what_changed(&state.running.source, &source);
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
        let steps: Vec<Step> = state.running.policies.iter().zip(&next.policies).map(|(before, after)| Step::new(before, after)).collect();
        for (index, step) in steps.iter().enumerate() {
            if let Step::Switch(setup) = step {
                self.control.can_change(index, setup).map_err(refused)?;
            }
        }
        let mut history = Vec::new();
        for (index, step) in steps.into_iter().enumerate() {
            match self.take(index, step, &next.policies[index]) {
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
                        self.control.change(index, back.setup(), back.workers.as_deref()).map_err(refused)?;
                    }
                    return Err(refused(error));
                }
            }
        }
        state.changes += 1;
        state.history.extend(history);
        state.before = Some(std::mem::replace(&mut state.running, next));
        let State { reservations, running, .. } = state;
        reservations.keep(&running.policies);
        Ok(())
    }

    /// Takes a direction the step to `policy`.
    fn take(&self, index: usize, step: Step, policy: &Policy) -> Result<PortChanged, ControlError> {
        match step {
            Step::Switch(setup) => self.control.change(index, *setup, policy.workers.as_deref()),
            Step::Amend(amendment) => match self.control.amend(index, amendment) {
                Err(ControlError::Amendment(_)) => self.control.change(index, policy.setup(), policy.workers.as_deref()),
                outcome => outcome,
            },
        }
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
                queued: amount(counters.waiting()),
                in_flight: amount(counters.in_flight),
                dropped: counters.dropped().map(|(reason, volume)| (reason.to_owned(), amount(volume))).collect(),
                ecn_marked: counters.port.marked.packets,
                lost_in_kernel: counters.kernel.dropped,
            });
        }
        Ok(Status {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            uptime_s: self.started.elapsed().as_secs_f64(),
            carries_s: state.carries_since.elapsed().as_secs_f64(),
            take_overs: state.take_overs,
            file: state.running.source.files.name.clone(),
            edits: state.running.source.set.clone(),
            reservations: state.reservations.all(),
            directions,
            changes: state.changes,
            to_confirm_s: state.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()).as_secs_f64()),
            warnings: self.control.warnings(),
            sockets: self.control.modes(),
            clients: self.tally.counts(),
            pages: self.pages.counts(),
        })
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

/// What is new in a source, in words of its edits.
fn what_changed(before: &Source, after: &Source) -> String {
    if after.files != before.files {
        return format!("apply {}", after.files.name);
    }
    let new = |edits: &[String], known: &[String]| edits.iter().find(|edit| !known.contains(edit)).cloned();
    match (new(&after.set, &before.set), new(&before.set, &after.set)) {
        (Some(edit), _) => format!("set {edit}"),
        (None, Some(edit)) => format!("without {edit}"),
        (None, None) => format!("apply {}", after.files.name),
    }
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
