//! What all streams of an end system share: time, link, and the limits of transfers.

use crate::arrival::Grain;
use tidegate_core::units::{Duration, Overhead, Rate};

/// What the engine's time is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// One tick, a picosecond of [`Time`](tidegate_core::units::Time), per decision, as on the line card of the paper. The engine decides
    /// ahead as far as the ring of winners has room. The Transmission Engine spaces frames if there is a rate.
    Decisions {
        /// The link's rate; without one, frames leave as fast as they are taken.
        rate: Option<Rate>,
    },
    /// The machine's time. The engine knows when the link becomes free and decides for that instant.
    RealTime {
        /// The link's rate.
        rate: Rate,
    },
}

/// What all streams of an end system share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setup {
    /// What the engine's time is.
    pub pace: Pace,
    /// The unit of arrival offsets.
    pub grain: Grain,
    /// What the link adds to every frame.
    pub overhead: Overhead,
    /// A pull starts when the engine knows fewer arrivals of a stream than this, at least 2: the scheduler must know the frame behind a
    /// head before it serves the head.
    pub low_mark: u32,
    /// The most arrivals, and the most winners, per transfer, at least 1.
    pub batch: u32,
    /// The capacity of the ring of winners, at least 1.
    pub winners: u32,
    /// In real time: how long before its instant a decision may be made. More hides the time it takes to wake a thread, but a packet that
    /// arrives in between misses the decision.
    pub ahead: Duration,
    /// The link time that a part may make up for after it woke late: the longest burst is this much of the rate.
    pub catch_up: Duration,
}

impl Setup {
    /// One tick per decision, as fast as winners are taken.
    pub const fn decisions() -> Setup {
        Setup {
            pace: Pace::Decisions { rate: None },
            grain: Grain::TICK,
            overhead: Overhead::None,
            low_mark: 16,
            batch: 256,
            winners: 256,
            ahead: Duration::ZERO,
            catch_up: Duration::from_milliseconds(2),
        }
    }

    /// The machine's time and a link of this rate.
    pub const fn real_time(rate: Rate, overhead: Overhead) -> Setup {
        Setup { pace: Pace::RealTime { rate }, grain: Grain::MICROSECOND, overhead, ..Setup::decisions() }
    }
}
