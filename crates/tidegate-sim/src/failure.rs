//! Links that fail and recover, and the paths that flows take from some instants on.
//!
//! While a link is down its port is empty and drops what comes, as [`DropReason::LinkDown`](tidegate_core::packet::DropReason::LinkDown). What is queued,
//! in transmission or on the link at the failure is lost with the same reason.
//!
//! **Routes.** A failure is noticed after its detection time, and so is the recovery: in between routes avoid the link ([`reroutes`](crate::rerouting::reroutes)). An outage that ends
//! before it is detected moves no route. A packet keeps the path that held when it set out.
//!
//! **Which path.** A flow keeps those of its first paths that have no failed link. If none is left, it takes shortest paths over the other links, chosen
//! as the first ones were; when its first paths can be used again, it returns to them. So a failure moves no flow but those that cross it.

use crate::id::LinkId;
use tidegate_core::port::Volume;
use tidegate_core::units::Duration;

/// Links that are down for some time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// What to call it.
    pub name: String,
    /// The links; each fails and recovers at the same instants.
    pub links: Vec<LinkId>,
    /// When they fail, from the start of the simulation.
    pub at: Duration,
    /// When they recover; `None`: never.
    pub until: Option<Duration>,
    /// How long it takes until routes avoid them, and after the recovery until routes use them again.
    pub detection: Duration,
}

/// The packets of a flow, or what comes back to a TCP connection, take other paths from an instant on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reroute {
    /// The instant, from the start of the simulation.
    pub at: Duration,
    /// The flow, by its place in [`Network::flows`](crate::network::Network::flows).
    pub flow: usize,
    /// True for what comes back: acknowledgements and requests.
    pub is_back: bool,
    /// The paths. Each packet takes one of them, each with the same probability. Without a path packets are lost where they set out.
    pub paths: Vec<Vec<LinkId>>,
}

/// What a failure took from all flows in one replication, warm-up included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FailureStatistics {
    /// What was queued at the ports of the links.
    pub queued: Volume,
    /// What was in transmission or on the links.
    pub on_link: Volume,
    /// What came to the ports while the links were down.
    pub arrived: Volume,
}

impl FailureStatistics {
    /// All of it.
    pub fn lost(&self) -> Volume {
        self.queued + self.on_link + self.arrived
    }

    /// The sums of both.
    pub fn plus(self, other: FailureStatistics) -> FailureStatistics {
        FailureStatistics {
            queued: self.queued + other.queued,
            on_link: self.on_link + other.on_link,
            arrived: self.arrived + other.arrived,
        }
    }
}

impl Failure {
    /// From when to when routes avoid its links; `None` if it ends before it is detected.
    pub fn avoided(&self) -> Option<(Duration, Option<Duration>)> {
        let detected = |at: Duration| Duration::from_picoseconds(at.picoseconds().saturating_add(self.detection.picoseconds()));
        let from = detected(self.at);
        match self.until {
            Some(until) if until <= from => None,
            until => Some((from, until.map(detected))),
        }
    }
}
