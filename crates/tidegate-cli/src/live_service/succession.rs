//! What a service hands over to the process that takes over, and how that goes on.

use super::{Service, State, lock};
use std::net::SocketAddr;
use std::sync::MutexGuard;
use std::time::{Duration, Instant};
use tidegate_control::protocol::{Apply, How, Offer};
use tidegate_live::Standing;
use tidegate_scenario::FileSet;

impl Service {
    /// What runs, for a process that takes over.
    ///
    /// # Errors
    /// A change waits to be confirmed.
    pub fn offer(&self, metrics: Option<SocketAddr>) -> Result<Offer, String> {
        let state = lock(&self.state);
        if state.deadline.is_some() {
            return Err("a change waits to be confirmed: confirm it, or take it back".to_owned());
        }
        let source = &state.running.source;
        let FileSet { name, text, files } = &source.files;
        let files = files.iter().map(|(name, text)| (name.clone(), text.to_string())).collect();
        Ok(Offer {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            snapshot: 0,
            obstacle: None,
            file: Apply { name: name.clone(), text: text.to_string(), files, set: source.set.clone(), how: How::default() },
            policies: state.running.policies.iter().map(|policy| policy.name.clone()).collect(),
            pairs: self.pairs.clone(),
            reservations: state.reservations.held(),
            metrics: metrics.map(|address| address.to_string()),
            watchdog_s: None,
            uptime_s: self.started.elapsed().as_secs_f64(),
            changes: state.changes,
            take_overs: state.take_overs,
        })
    }

    /// Why the sockets that carry frames cannot be handed over.
    pub fn obstacle(&self) -> Option<String> {
        self.control
            .modes()
            .into_iter()
            .find(|mode| mode.contains("AF_XDP"))
            .map(|mode| format!("sockets of this kind are not handed over ({mode})"))
    }

    /// All directions stand still, and no change comes while the guard is held.
    ///
    /// # Errors
    /// The policy has changed since the offer, or the directions cannot be handed over.
    pub fn stand_still(&self, changes: u64) -> Result<(Standing, MutexGuard<'_, State>), String> {
        let state = lock(&self.state);
        if state.changes != changes || state.deadline.is_some() {
            return Err("the policy has changed meanwhile: ask again".to_owned());
        }
        let standing = self.control.stand_still().map_err(|error| error.to_string())?;
        Ok((standing, state))
    }

    /// Goes on where the service of another process was.
    #[must_use]
    pub fn following(mut self, offer: &Offer) -> Service {
        let before = Duration::try_from_secs_f64(offer.uptime_s).unwrap_or_default();
        self.started = self.started.checked_sub(before).unwrap_or(self.started);
        let mut state = lock(&self.state);
        state.changes = offer.changes;
        state.take_overs = offer.take_overs + 1;
        state.reservations.take_over(&offer.reservations);
        drop(state);
        self
    }

    /// This process carries from now on. If its own file is another one than that which runs, it is applied as at a hang-up.
    pub fn carries(&self) {
        let mut state = lock(&self.state);
        state.carries_since = Instant::now();
        drop(state);
        self.apply_anew("take-over", true);
    }
}
