//! The link behind a port: its propagation delay, its random losses, its rates if they vary, and what comes late or twice.
//!
//! A [`Link`] has a delay and losses, and a [`DelayLine`] carries packets along it. Rates that vary are for the port. Neither reads a clock: the caller passes the
//! time, so a replay loses the same packets as live interfaces do.
//!
//! ```
//! use tidegate_core::units::{Duration, Time};
//! use tidegate_link::{DelayLine, Link};
//! let link = Link { delay: Duration::from_milliseconds(15), ..Link::default() };
//! let mut line = DelayLine::new(&link, 0, 100);
//! let sent = Time::ZERO + Duration::from_microseconds(7);
//! line.enter(sent, "a packet").unwrap();
//! let packet = line.leave().unwrap();
//! assert_eq!((packet.packet, packet.due, packet.is_lost), ("a packet", sent + link.delay, false));
//! ```
#![warn(missing_docs)]

mod delay_line;
mod disturbance;
mod link;
mod loss;

pub use delay_line::{DelayLine, Full, InFlight};
pub use disturbance::{Disturbance, DisturbanceStream, Disturbed};
pub use link::{Extent, Link};
pub use loss::{GilbertElliott, Loss, LossModel, LossStream};
