//! `live --take-over`: a process takes over from another one that carries packets, over its control socket.
//!
//! The new process reads its own file first, then asks, and builds the policies that run; it carries them on, and then applies its own file as a hang-up
//! does. Where the old process has another version of snapshots, or sockets that cannot be handed over, it empties its queues and ends; the new one
//! then starts as usual. Every step is in the log of both.

use crate::failure::Failure;
use crate::live_pairs::Pair;
use crate::live_service::Service;
use crate::log;
use crate::supervision;
use rustix::process::{geteuid, getppid, getuid};
use serde_json::from_str;
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tidegate_control::client::write_line as say;
use tidegate_control::descriptors::{Peer, receive_descriptors, send_descriptors};
use tidegate_control::http::PageServer;
use tidegate_control::protocol::{Offer, Step, TakeOver as Asked};
use tidegate_control::{Answer, Answered, ErrorKind as RefusalKind, Refusal, Request, Server};
use tidegate_live::{Inheritance, PATIENCE, SNAPSHOT_VERSION, TakeOver};
use tidegate_scenario::{FileSet, Scenario, parse_policies};

/// How long the old process waits for the new one to build its policies.
const BUILDING: Duration = Duration::from_secs(600);

/// How long either process waits for an answer.
const ANSWER: Duration = Duration::from_secs(20);

/// How long the new process waits for the end of one that empties its queues.
const DRAINING: Duration = Duration::from_secs(120);

/// How often a side that waits looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// The old process, which waits for this one to build what it needs.
pub struct Predecessor {
    stream: BufReader<UnixStream>,
    /// Its number.
    process: u32,
    pub offer: Offer,
    /// What this process has built.
    pub progress: TakeOver,
}

impl Predecessor {
    /// The process that listens at `path`; `None` if there is none, or if it has emptied its queues and ended. `obstacle` says why it has to.
    pub fn ask(path: &Path, obstacle: Option<&str>) -> Result<Option<Predecessor>, Failure> {
        let stream = match UnixStream::connect(path) {
            Ok(stream) => stream,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
                log::line(&format!(
                    "--take-over: no process listens at {}: this one starts as usual",
                    log::printable(&path.display().to_string())
                ));
                return Ok(None);
            }
            Err(error) => return Err(Failure::file(path, "used as a control socket", &error)),
        };
        let failed = |what: &dyn std::fmt::Display| {
            Failure::Environment(format!("error: --take-over: {}: {what}", log::printable(&path.display().to_string())))
        };
        let Peer { process, user } = Peer::of(&stream).map_err(|error| failed(&error))?;
        // What comes from there is carried with the rights of this process.
        if user != 0 && user != geteuid().as_raw() {
            return Err(failed(&format!("the process there belongs to user {user}\n  start this one as the same user")));
        }
        stream.set_read_timeout(Some(ANSWER)).and_then(|()| stream.set_write_timeout(Some(ANSWER))).map_err(|error| failed(&error))?;
        let mut stream = BufReader::new(stream);
        // The process that the service manager started: a guardian, if there is one.
        let own = if crate::fail_open::is_guarded() {
            getppid().map_or(0, |parent| parent.as_raw_nonzero().get() as u32)
        } else {
            std::process::id()
        };
        let request = Request::TakeOver(Asked { snapshot: SNAPSHOT_VERSION, process: own });
        say(stream.get_mut(), &tidegate_control::Asked::new(request)).map_err(|error| failed(&error))?;
        let mut line = String::new();
        stream.read_line(&mut line).map_err(|error| failed(&error))?;
        let offer = match from_str(&line) {
            Ok(Answered { answer: Some(Answer::TakeOver(offer)), .. }) => *offer,
            Ok(Answered { error: Some(Refusal { text, .. }), .. }) => return Err(failed(&text.trim_start_matches("error: "))),
            _ => return Err(failed(&"the process there has a version that hands nothing over\n  stop it, and start this one")),
        };
        let version = format!("it writes snapshots of version {}, and this one reads version {SNAPSHOT_VERSION}", offer.snapshot);
        let obstacle = if offer.snapshot == SNAPSHOT_VERSION { offer.obstacle.as_deref().or(obstacle) } else { Some(version.as_str()) };
        if let Some(obstacle) = obstacle {
            log::line(&format!("--take-over: process {process} empties its queues first and ends, because {obstacle}"));
            say(stream.get_mut(), &Step::Drain).map_err(|error| failed(&error))?;
            wait_for_the_end(process).map_err(|problem| failed(&problem))?;
            return Ok(None);
        }
        let before = Duration::try_from_secs_f64(offer.uptime_s).unwrap_or_default();
        Ok(Some(Predecessor { stream, process, offer, progress: TakeOver::new(before) }))
    }

    /// The policies that it runs.
    pub fn scenario(&self) -> Result<Scenario, Failure> {
        let problem = |text: &str| Failure::Environment(format!("error: --take-over: the policies that run cannot be read:\n{text}"));
        let scenario = parse_policies(&self.files(), &self.offer.file.set).map_err(|problems| problem(&problems.render(false)))?;
        if self.offer.policies.len() != 2 * self.offer.pairs.len() {
            return Err(problem("their names are missing"));
        }
        Ok(scenario)
    }

    /// The file that it runs.
    pub fn files(&self) -> FileSet {
        let file = &self.offer.file;
        let files = file.files.iter().map(|(name, text)| (name.clone(), text.as_str().into())).collect();
        FileSet { name: file.name.clone(), text: file.text.as_str().into(), files }
    }

    /// The pairs as it runs them. Those of this process have the same interfaces.
    pub fn pairs<'a>(&self, running: &'a Scenario, own: &[Pair<'_>]) -> Result<Vec<Pair<'a>>, Failure> {
        if !own.iter().map(|pair| &pair.interfaces).eq(&self.offer.pairs) {
            let names: Vec<String> = self.offer.pairs.iter().map(|pair| pair.join(" and ")).collect();
            return Err(Failure::BadInput(format!(
                "error: --take-over: the process that runs joins other interfaces: {}\n  name these, in this order",
                names.join(", ")
            )));
        }
        if own.iter().any(|pair| pair.changes.iter().any(|changes| !changes.is_empty())) {
            return Err(Failure::BadInput(
                "error: --take-over: `[[change]]` counts from the start of a bridge, and this one goes on\n  write the new values in the policies".to_owned(),
            ));
        }
        let pair = |(interfaces, names): (&[String; 2], &[String])| {
            let policy = |name: &String| {
                let found = running.policy(Some(name));
                found.map_err(|problem| Failure::Environment(format!("error: --take-over: the policies that run: {problem}")))
            };
            Ok(Pair {
                interfaces: interfaces.clone(),
                policies: [policy(&names[0])?, policy(&names[1])?],
                changes: [Vec::new(), Vec::new()],
            })
        };
        self.offer.pairs.iter().zip(self.offer.policies.chunks(2)).map(pair).collect()
    }

    /// True if it serves metrics at this address.
    pub fn serves(&self, address: SocketAddr) -> bool {
        self.offer.metrics.as_ref().is_some_and(|metrics| *metrics == address.to_string())
    }

    /// Takes over once this number of pairs is prepared. Returns the control socket, and that of metrics if it has one.
    ///
    /// # Errors
    /// Why not: the old process then goes on.
    pub fn take_over(&mut self, pairs: usize, stop: &AtomicBool) -> Result<(OwnedFd, Option<OwnedFd>), String> {
        let outcome = self.taken_over(pairs, stop);
        if let Err(why) = &outcome {
            self.progress.fail(why);
        }
        outcome
    }

    fn taken_over(&mut self, pairs: usize, stop: &AtomicBool) -> Result<(OwnedFd, Option<OwnedFd>), String> {
        self.progress.wait_until_prepared(pairs)?;
        if stop.load(Ordering::Relaxed) {
            return Err("this process was told to stop".to_owned());
        }
        let text = |error: io::Error| format!("the process that runs does not hand over: {error}");
        let stream = self.stream.get_mut();
        // The old process ends the connection if this one takes too long.
        stream.set_read_timeout(Some(ANSWER)).map_err(text)?;
        say(stream, &Step::Now).map_err(text)?;
        let mut descriptors = receive_descriptors(stream).map_err(text)?;
        let fixed = 2 + usize::from(self.offer.metrics.is_some());
        if descriptors.len() < fixed {
            return Err("the process that runs has handed over too little".to_owned());
        }
        let rest = descriptors.split_off(fixed);
        let mut fixed = descriptors.into_iter();
        let (Some(snapshot), Some(control), metrics) = (fixed.next(), fixed.next(), fixed.next()) else { unreachable!("counted before") };
        let inheritance = Inheritance::read(snapshot, rest).map_err(|error| error.to_string())?;
        self.progress.give(inheritance)?;
        say(self.stream.get_mut(), &Step::Carry).map_err(text)?;
        match heard(&mut self.stream) {
            Ok(Step::Yours) => {}
            Ok(_) => return Err("the process that runs says something else".to_owned()),
            Err(error) => return Err(text(error)),
        }
        self.progress.carry();
        log::line(&format!("packets are carried on from process {}", self.process));
        Ok((control, metrics))
    }
}

/// Waits until a process that empties its queues is gone: its sockets and locks are free then.
fn wait_for_the_end(process: u32) -> Result<(), String> {
    let began = Instant::now();
    // A process that has ended may still have to be waited for by the one that started it.
    let is_there = || {
        let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        status.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
    };
    while is_there() {
        if began.elapsed() > DRAINING {
            return Err(format!("process {process} has not ended within {} s", DRAINING.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// What a process has that may be followed by another.
pub struct HandingOver<'a> {
    pub service: &'a Service,
    pub server: &'a Server,
    pub pages: Option<&'a PageServer>,
    /// That of the service.
    pub watchdog: Option<Duration>,
    /// Why it can only empty its queues.
    pub obstacle: Option<String>,
    /// Set to end it.
    pub stop: &'a AtomicBool,
    /// Set once it has ended.
    pub finished: &'a AtomicBool,
    /// Set once another process carries.
    pub is_followed: &'a AtomicBool,
    /// One process at a time.
    pub is_busy: &'a AtomicBool,
}

impl HandingOver<'_> {
    /// Talks to a process that takes over, until it has or has not.
    pub fn talk(&self, asked: Asked, stream: UnixStream) {
        let mut stream = BufReader::new(stream);
        let outcome = self.authorised(stream.get_ref()).and_then(|peer| {
            if self.is_busy.swap(true, Ordering::AcqRel) {
                return Err("another process takes over at this moment".to_owned());
            }
            let outcome = self.hand_over(asked, peer, &mut stream);
            self.is_busy.store(false, Ordering::Release);
            outcome
        });
        if let Err(why) = outcome {
            log::line(&format!("take-over: {why}: packets are carried on here"));
            let refusal: Result<Answer, Refusal> = Err(Refusal::new(RefusalKind::NotNow, format!("error: {why}")));
            let _gone = say(stream.get_mut(), &Answered::from(refusal));
        }
    }

    /// The user of this process and root may take over: the snapshot has packets, and the sockets receive all.
    fn authorised(&self, stream: &UnixStream) -> Result<Peer, String> {
        let peer = Peer::of(stream).map_err(|error| format!("it is not known who asks: {error}"))?;
        let own = [getuid(), geteuid()].map(|user| user.as_raw());
        if peer.user == 0 || own.contains(&peer.user) {
            Ok(peer)
        } else {
            Err(format!("user {} may not take over: only the user of this process and root may", peer.user))
        }
    }

    fn hand_over(&self, asked: Asked, peer: Peer, stream: &mut BufReader<UnixStream>) -> Result<(), String> {
        let Peer { process, .. } = peer;
        let text = |error: io::Error| format!("process {process} was to take over, and is gone: {error}");
        let mut offer = self.service.offer(self.pages.and_then(|pages| pages.address().ok()))?;
        offer.obstacle = self.obstacle.clone().or_else(|| self.service.obstacle());
        offer.snapshot = SNAPSHOT_VERSION;
        offer.watchdog_s = self.watchdog.map(|limit| limit.as_secs_f64());
        let changes = offer.changes;
        stream.get_ref().set_nonblocking(false).and_then(|()| stream.get_ref().set_write_timeout(Some(ANSWER))).map_err(text)?;
        say(stream.get_mut(), &Answered::from(Ok(Answer::TakeOver(Box::new(offer))))).map_err(text)?;
        stream.get_ref().set_read_timeout(Some(LOOK)).map_err(text)?;
        let began = Instant::now();
        let step = loop {
            match heard(stream) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if self.stop.load(Ordering::Relaxed) || began.elapsed() > BUILDING {
                        return Err(format!("process {process} was to take over, and is too late"));
                    }
                }
                step => break step.map_err(text)?,
            }
        };
        match step {
            Step::Drain => {
                let why = if asked.snapshot == SNAPSHOT_VERSION {
                    String::new()
                } else {
                    format!(", which reads snapshots of version {} and not {SNAPSHOT_VERSION}", asked.snapshot)
                };
                log::line(&format!("the queues are emptied, and this process ends: process {process} starts then{why}"));
                supervision::followed_by(asked.process);
                self.is_followed.store(true, Ordering::Relaxed);
                self.stop.store(true, Ordering::Relaxed);
                while !self.finished.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Ok(())
            }
            Step::Now => {
                stream.get_ref().set_read_timeout(Some(PATIENCE)).map_err(text)?;
                let (mut standing, _no_changes) = self.service.stand_still(changes)?;
                let snapshot = standing.snapshot().map_err(|error| format!("the snapshot cannot be written: {error}"))?;
                let mut descriptors = vec![snapshot.as_fd(), self.server.descriptor()];
                descriptors.extend(self.pages.map(PageServer::descriptor));
                descriptors.extend(standing.descriptors());
                send_descriptors(stream.get_ref(), &descriptors).map_err(text)?;
                match heard(stream) {
                    Ok(Step::Carry) => {}
                    Ok(_) => return Err(format!("process {process} says something else")),
                    Err(error) => return Err(text(error)),
                }
                if !standing.end() {
                    return Err(format!("process {process} is too late"));
                }
                // From here on there is no way back.
                self.server.leave();
                self.is_followed.store(true, Ordering::Relaxed);
                let told = say(stream.get_mut(), &Step::Yours);
                let stood = standing.stood();
                supervision::followed_by(asked.process);
                self.stop.store(true, Ordering::Relaxed);
                let told = told.map_or_else(|error| format!(", but did not hear of it: {error}"), |()| String::new());
                log::line(&format!(
                    "process {process} carries packets from here on{told}; the queues went along, and stood still for {:.1} ms",
                    stood.as_secs_f64() * 1e3
                ));
                Ok(())
            }
            _ => Err(format!("process {process} says something else")),
        }
    }
}

fn heard(stream: &mut BufReader<UnixStream>) -> io::Result<Step> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(from_str(&line)?)
}
