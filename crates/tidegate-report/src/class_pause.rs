//! Priority flow control: how the node at the far end of a link paused a class of the port that feeds it.

use serde::Serialize;

/// How a class was paused.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct ClassPause {
    /// How often.
    pub count: u64,
    /// The share of the measured time in which it was paused, 0 to 1: the mean of the replications.
    pub share: f64,
    /// Half width of its confidence interval.
    pub share_half_width: Option<f64>,
    /// The longest pause, in seconds.
    pub longest_s: f64,
    /// The most bytes that the node at the far end held of what came over the link in this class.
    pub held_max_bytes: u64,
    /// The replications in which it was paused at the end.
    pub paused_at_end: u32,
    /// Of these, the replications in which it was part of a deadlock: paused for packets that wait for another class of it.
    pub deadlocked: u32,
}

impl ClassPause {
    /// How it ended, in a word.
    pub(crate) fn end(&self) -> &'static str {
        match (self.paused_at_end, self.deadlocked) {
            (0, _) => "not paused",
            (_, 0) => "paused",
            _ => "deadlock",
        }
    }
}

/// The sentence about ports with a deadlock; `None` without any.
pub(crate) fn deadlock(ports: &[&str]) -> Option<String> {
    let more = if ports.len() > 8 { " ..." } else { "" };
    let names = ports.iter().take(8).copied().collect::<Vec<_>>().join(", ");
    let sentence = format!("Deadlock: each of these ports is paused for packets that wait for another of them, for ever: {names}{more}");
    (!ports.is_empty()).then_some(sentence)
}
