//! Reservations and captures of a running bridge.

use super::{Service, Source, bad, lock, not_now};
use crate::live_reservations::decide;
use crate::log;
use std::collections::BTreeSet;
use tidegate_control::Refusal;
use tidegate_control::protocol::{Applied, AskedCapture, AskedCaptured, CaptureStarted, CapturedPackets, How, Reserve, Reserved};
use tidegate_scenario::edit;

/// The least and the longest lease.
const LEASES: std::ops::RangeInclusive<f64> = 1.0..=86_400.0;

impl Service {
    /// Answers a request for a reservation, and makes it if it is admitted.
    pub(super) fn reserve(&self, asked: &Reserve) -> Result<Reserved, Refusal> {
        if asked.lease_s.is_some_and(|lease| !LEASES.contains(&lease)) {
            return Err(bad("error: a lease is from 1 s to 24 h"));
        }
        if asked.delay_s.is_some_and(|delay| !(1e-9..=3600.0).contains(&delay)) {
            return Err(bad("error: a bound on the delay is from 1 ns to 1 h"));
        }
        // Requests are decided one after the other.
        let _deciding = lock(&self.deciding);
        let state = lock(&self.state);
        let (source, policies) = (state.running.source.clone(), state.running.policies.clone());
        if state.reservations.has(&asked.name) {
            return Err(bad(format!("error: there is a reservation `{}`: release it first", asked.name)));
        }
        drop(state);
        let policy = match &asked.policy {
            None if policies.iter().all(|policy| policy.name == policies[0].name) => &policies[0],
            None => {
                let names: BTreeSet<String> = policies.iter().map(|policy| format!("`{}`", policy.name)).collect();
                let names: Vec<String> = names.into_iter().collect();
                return Err(bad(format!("error: the directions have different policies: name {}", names.join(" or "))));
            }
            Some(name) => {
                let found = policies.iter().find(|policy| policy.name == *name);
                found.ok_or_else(|| bad(format!("error: no direction has the policy `{name}`")))?
            }
        };
        let (reserved, table) = decide(policy, asked).map_err(|problem| bad(format!("error: {problem}")))?;
        let (Some(promise), Some(table)) = (reserved.promise, table) else { return Ok(reserved) };
        // Its rules are tried before all others.
        let edit = edit::adding(&source.files, &source.set, Some(&policy.name), ("class", &table), Some("1"));
        let edit = edit.map_err(|problem| bad(format!("error: {problem}")))?;
        let set = edit::with(source.set.clone(), &edit);
        let source = Source { set, ..source };
        // The policy that results has to guarantee the rate, as far as the policer lets packets come.
        let scenario = tidegate_scenario::parse_policies(&source.files, &source.set).map_err(|problems| bad(problems.render(false)))?;
        let class =
            scenario.policy(Some(&policy.name)).ok().and_then(|policy| policy.classes.iter().find(|class| class.name == asked.name));
        if let Some(class) = class
            && class.guarantee.rate().is_none_or(|rate| rate.floor() < promise.rate_bps.min(asked.rate_bps))
        {
            let refused = Some(format!("the policy would not guarantee the rate: {}", class.guarantee));
            return Ok(Reserved { promise: None, refused, ..reserved });
        }
        if asked.dry_run {
            return Ok(reserved);
        }
        self.apply(source, How::default())?;
        lock(&self.state).reservations.hold(asked, promise, edit);
        Ok(reserved)
    }

    /// Begins the lease of a reservation anew.
    pub(super) fn renew(&self, name: &str) -> Result<(), Refusal> {
        lock(&self.state).reservations.renew(name).then_some(()).ok_or_else(|| no_reservation(name))
    }

    /// Ends a reservation.
    pub(super) fn release(&self, name: &str) -> Result<Applied, Refusal> {
        let _deciding = lock(&self.deciding);
        if !lock(&self.state).reservations.has(name) {
            return Err(no_reservation(name));
        }
        self.edit(How::default(), |source| {
            let edits = source.set.iter().filter_map(|edit| edit.split_once(".class")).map(|(policy, _)| policy);
            let policies = edits.filter_map(|policy| policy.strip_prefix("policy."));
            let mut found = policies.filter_map(|policy| edit::removing(&source.files, &source.set, Some(policy), name).ok());
            found.next().ok_or_else(|| format!("the class `{name}` is gone"))
        })
    }

    /// Ends reservations whose lease is over.
    pub(super) fn end_leases(&self) {
        let over = lock(&self.state).reservations.over();
        if let Some(name) = over {
            match self.release(&name) {
                Ok(_) => log::line(&format!("reservation {}: its lease is over", log::printable(&name))),
                Err(refusal) => log::line(&format!("reservation {} cannot be released: {}", log::printable(&name), refusal.text)),
            }
        }
    }

    /// Starts a capture.
    pub(super) fn capture(&self, asked: &AskedCapture) -> Result<CaptureStarted, Refusal> {
        lock(&self.captures).start(&self.control, asked, self.directions().map(|index| self.way(index)).collect())
    }

    /// The packets of a capture.
    pub(super) fn captured(&self, asked: AskedCaptured) -> Result<CapturedPackets, Refusal> {
        lock(&self.captures).take(asked)
    }
}

fn no_reservation(name: &str) -> Refusal {
    not_now(format!("there is no reservation `{name}`\n  `ctl status` lists them"))
}
