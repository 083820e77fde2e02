//! What is to be bridged, and how.

use crate::ingress::Checksums;
use tidegate_core::port::PortSetup;
use tidegate_core::units::Duration;
use tidegate_link::Link;

/// Two interfaces, and the policy and the link of each direction.
#[derive(Clone, Debug)]
pub struct LiveConfig {
    /// The names of interface A and interface B.
    pub interfaces: [String; 2],
    /// The port for what comes in on A and goes out on B, then the port for the way back.
    pub setups: [PortSetup; 2],
    /// What lies behind either port. Their losses are independent, also if they have one seed.
    pub links: [Link; 2],
    /// Everything that has a default.
    pub options: Options,
}

impl LiveConfig {
    /// A bridge between `a` and `b` with the default options, behind whose ports nothing is delayed or lost.
    pub fn new(a: &str, b: &str, a_to_b: PortSetup, b_to_a: PortSetup) -> LiveConfig {
        LiveConfig {
            interfaces: [a.to_owned(), b.to_owned()],
            setups: [a_to_b, b_to_a],
            links: [Link::default(); 2],
            options: Options::default(),
        }
    }
}

/// How frames and time are treated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// How much link time a port may make up for after its thread was woken late: what it sends at once is at most this much of its
    /// rate. Zero spaces packets by at least their time on the link and loses the rate that late wake-ups cost.
    pub catch_up: Duration,
    /// For how long queues are emptied, at the policy's rate, after the stop.
    pub drain: Duration,
    /// How long before an instant a thread stops sleeping and watches the clock instead. More than zero costs up to a core per
    /// direction.
    pub spin: Duration,
    /// Unfinished checksums are passed on to the outgoing interface or completed in software.
    pub checksums: Checksums,
    /// The number of frames that the kernel may hold for us per direction before it drops. The memory for them is limited to 32 MB,
    /// so it is fewer on interfaces with long frames.
    pub ring: u32,
    /// Frames in memory per direction beyond what the port may queue: those on the way in and out.
    pub spare_frames: u32,
    /// The real-time priority (1 to 99) to ask for; `None` stays with ordinary scheduling.
    pub real_time_priority: Option<u8>,
    /// Every direction is an end system: receiving, deciding and transmitting have a thread each, with a ring per flow between the first and
    /// the last.
    pub end_system: bool,
    /// DirectionLoop packets even if another process already does on one of the interfaces.
    pub force: bool,
    /// The core on which decisions are made, if they have threads of their own; any if `None`.
    pub decision_core: Option<usize>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            catch_up: Duration::from_milliseconds(2),
            drain: Duration::from_seconds(1),
            spin: Duration::ZERO,
            checksums: Checksums::PassOn,
            ring: 4096,
            spare_frames: 512,
            real_time_priority: Some(10),
            end_system: false,
            force: false,
            decision_core: None,
        }
    }
}
