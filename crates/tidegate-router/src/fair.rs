//! WF2Q+ over what was used, among sessions whose work is known only afterwards.
//!
//! **Law.** Of the sessions that are ready, one whose start is at most the virtual time is chosen, with the least finish by the expected
//! amount. It is then charged what it used; the virtual time advances by the same amount.
//!
//! **Source.** Bennett and Zhang, "Hierarchical packet fair queueing algorithms", IEEE/ACM ToN 5(5), 1997; charged afterwards as in Qie et
//! al., SIGMETRICS 2001.
//!
//! **State.** Two stamps of 16 bytes per session.
//!
//! **Cost.** A choice and a charge look at every session.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** A session becomes ready when the next choice is made, not when its work comes.

/// Fractional bits of a stamp: the rounding of an inverse weight costs a session at most one part in a million.
const FRACTION: u32 = 20;

#[derive(Clone, Debug)]
struct Session {
    start: u128,
    finish: u128,
    /// The sum of all weights over this one's, in units of 2^-20.
    inverse: u128,
    is_ready: bool,
}

/// Fair shares among sessions.
#[derive(Clone, Debug)]
pub(crate) struct Fair {
    sessions: Vec<Session>,
    virtual_time: u128,
}

impl Fair {
    /// Sessions with these weights, each above 0.
    pub(crate) fn new(weights: &[f64]) -> Fair {
        let total: f64 = weights.iter().sum();
        let inverse = |weight: &f64| (total / weight * f64::from(1 << FRACTION) + 0.5) as u128;
        let session = |weight| Session { start: 0, finish: 0, inverse: inverse(weight), is_ready: false };
        Fair { sessions: weights.iter().map(session).collect(), virtual_time: 0 }
    }

    /// A session has work; nothing changes if it was ready.
    #[inline]
    pub(crate) fn ready(&mut self, session: usize) {
        let session = &mut self.sessions[session];
        if !session.is_ready {
            session.is_ready = true;
            session.start = session.finish.max(self.virtual_time);
        }
    }

    /// Chooses among the ready sessions by the amount that each is expected to use. Of equal ones the first wins.
    pub(crate) fn choose(&mut self, expected: impl Fn(usize) -> u64) -> Option<usize> {
        let ready = || self.sessions.iter().enumerate().filter(|(_, session)| session.is_ready);
        let earliest = ready().map(|(_, session)| session.start).min()?;
        let virtual_time = self.virtual_time.max(earliest);
        let finish = |index: usize, session: &Session| session.start + u128::from(expected(index)) * session.inverse;
        let eligible = ready().filter(|(_, session)| session.start <= virtual_time);
        let chosen = eligible.min_by_key(|&(index, session)| finish(index, session)).map(|(index, _)| index);
        self.virtual_time = virtual_time;
        chosen
    }

    /// A session used an amount, and has more work or not.
    #[inline]
    pub(crate) fn charge(&mut self, session: usize, used: u64, is_ready: bool) {
        self.virtual_time += u128::from(used) << FRACTION;
        let session = &mut self.sessions[session];
        session.finish = session.start + u128::from(used) * session.inverse;
        session.start = session.finish;
        session.is_ready = is_ready;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sessions chosen in turn, where all are always ready and use 10 at a time.
    fn chosen(weights: &[f64], times: usize) -> Vec<usize> {
        let mut fair = Fair::new(weights);
        let mut order = Vec::new();
        for _ in 0..times {
            (0..weights.len()).for_each(|session| fair.ready(session));
            let session = fair.choose(|_| 10).unwrap();
            fair.charge(session, 10, true);
            order.push(session);
        }
        order
    }

    #[test]
    fn weights_interleave() {
        assert_eq!(chosen(&[2.0, 1.0, 1.0], 8), [0, 1, 0, 2, 0, 1, 0, 2]);
        assert_eq!(chosen(&[1.0, 1.0, 1.0], 6), [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn a_session_that_pauses_saves_nothing() {
        let mut fair = Fair::new(&[1.0, 1.0]);
        for _ in 0..10 {
            fair.ready(0);
            assert_eq!(fair.choose(|_| 10), Some(0));
            fair.charge(0, 10, false);
        }
        fair.ready(0);
        fair.ready(1);
        let first = fair.choose(|_| 10).unwrap();
        fair.charge(first, 10, true);
        let second = fair.choose(|_| 10).unwrap();
        assert_ne!(first, second);
        assert_eq!(Fair::new(&[1.0]).choose(|_| 1), None);
    }
}
