//! The bounds of each node of a scheduling tree: guaranteed rates, and the slots of `dwcs`.

use crate::guarantee::{Guarantee, LeastRate};
use crate::units::{print_slots, print_time};
use tidegate_core::dwcs::{Feasibility, LeastService, Request, Service, Stream, Utilisation, Verdict, Window};
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::{DwcsOptions, Shares};
use tidegate_core::units::{Duration, Rate};

/// The bounds of a node of the scheduling tree and of its children.
#[derive(Clone, Debug)]
pub struct NodeBounds {
    /// The link, a group, or a class whose queues it serves.
    pub name: String,
    /// The scheduler of the node.
    pub scheduler: SchedulerKind,
    /// The rate that is shared.
    pub rate: Rate,
    /// The guaranteed part of that rate; all of it for the link.
    pub guaranteed: Option<LeastRate>,
    /// True for the link itself. The service of any other node depends on the nodes above it.
    pub is_link: bool,
    /// The streams that `dwcs` derives from the requests.
    pub slots: Option<Slots>,
    /// The classes and groups directly below, in the order of the streams of `slots`.
    pub members: Vec<MemberBounds>,
}

/// The service that a class or a group gets from the node above.
#[derive(Clone, Debug)]
pub struct MemberBounds {
    /// The name of the class or group.
    pub name: String,
    /// The request to `dwcs`.
    pub request: Option<Request>,
    /// The guarantee while it is backlogged.
    pub guarantee: Guarantee,
}

/// The streams of a node under `dwcs`.
#[derive(Clone, Debug)]
pub struct Slots {
    /// The time of a slot.
    pub slot: Duration,
    /// The options of the node.
    pub options: DwcsOptions,
    /// One stream per child.
    pub streams: Vec<Stream>,
    /// The slots that all streams need, and the verdict.
    pub feasibility: Feasibility,
}

impl Slots {
    pub(crate) fn new(slot: Duration, options: DwcsOptions, streams: Vec<Stream>) -> Slots {
        Slots { slot, options, feasibility: Feasibility::of(&streams), streams }
    }

    /// Succeeds if every stream gets the rate of its window, whatever the others send.
    ///
    /// # Errors
    /// The reason why no rate is guaranteed.
    pub(crate) fn keeps_rates(&self) -> Result<(), &'static str> {
        match self.feasibility.verdict {
            _ if self.feasibility.has_priority => Err("a static priority goes first"),
            Verdict::Kept if self.options.shares == Shares::Bytes => Ok(()),
            Verdict::Kept => Err("its share is one of packets, not of bytes"),
            Verdict::KeptIfAligned => Err("windows are kept only while the deadlines of all coincide"),
            Verdict::NotProven => Err("windows of different periods can be violated"),
            Verdict::Overloaded => Err("more slots are needed than there are"),
        }
    }

    /// True if windows are kept under the conditions of the verdict.
    fn keeps_windows(&self) -> bool {
        matches!(self.feasibility.verdict, Verdict::Kept | Verdict::KeptIfAligned)
    }

    /// The most slots from one service of a stream to its next, if that is known.
    pub fn longest_gap(&self, stream: &Stream) -> Option<u128> {
        match self.feasibility.verdict {
            Verdict::Kept | Verdict::KeptIfAligned => stream.longest_gap(),
            Verdict::NotProven => None,
            Verdict::Overloaded => stream.longest_gap_in_overload(&self.streams),
        }
    }

    /// The longest time that `slots` slots take on the link, in picoseconds. If shares are in bytes, each stream may overdraw one slot by less
    /// than a packet. So each stream served in between adds less than one slot.
    pub fn time(&self, slots: u128) -> u128 {
        let overdrawn = match self.options.shares {
            Shares::Packets => 0,
            Shares::Bytes => slots.min(self.streams.len() as u128),
        };
        (slots + overdrawn).saturating_mul(self.slot.picoseconds().into())
    }

    /// The least service of a stream, if its window is kept.
    pub(crate) fn least_service(&self, stream: &Stream) -> Option<LeastService> {
        stream.least_service().filter(|_| self.keeps_windows())
    }

    /// The verdict in a few words.
    pub(crate) fn verdict_in_short(&self) -> &'static str {
        match self.feasibility.verdict {
            Verdict::Kept => "windows are kept",
            Verdict::KeptIfAligned => "windows are kept while deadlines coincide",
            Verdict::NotProven => "not proven, as periods differ",
            Verdict::Overloaded => "windows are violated",
        }
    }

    /// The verdict in one sentence.
    pub fn verdict(&self) -> &'static str {
        match self.feasibility.verdict {
            Verdict::Kept => "every window is kept, whenever packets come",
            Verdict::KeptIfAligned => {
                "every window is kept while the deadlines of all coincide: if all become backlogged together and stay so"
            }
            Verdict::NotProven => "nothing is proven: the slots suffice, but periods differ, and then windows can be violated all the same",
            Verdict::Overloaded => "windows are violated: more slots are needed than there are",
        }
    }
}

/// A request as files write it: `window 1 of 4`.
pub(crate) fn print_service(request: &Request) -> String {
    match request.service {
        Service::Window(Window { tolerated, deadlines }) => format!("window {tolerated} of {deadlines}"),
        Service::EarliestDeadline => "edf".to_owned(),
        Service::StaticPriority(rank) => format!("static-priority {rank}"),
        Service::FairShare(weight) => format!("fair-share {weight}"),
    }
}

/// A request's period in slots and in time, if it has one.
pub(crate) fn print_period(request: &Request, slot: Duration) -> Option<String> {
    let has_period = matches!(request.service, Service::Window(_) | Service::EarliestDeadline);
    has_period.then(|| {
        let time = u128::from(request.period) * u128::from(slot.picoseconds());
        format!("{} ({})", print_slots(request.period.into()), print_time(time))
    })
}

/// A part of the slots, as a fraction if it is short: `5/4 (125 %)`.
pub(crate) fn print_part(part: Utilisation) -> String {
    let percent = format!("{:.2}", as_number(part) * 100.0);
    let percent = percent.trim_end_matches('0').trim_end_matches('.');
    let is_short = (2..=100_000).contains(&part.denominator());
    if is_short { format!("{part} ({percent} %)") } else { format!("{percent} %") }
}

pub(crate) fn as_number(part: Utilisation) -> f64 {
    part.numerator() as f64 / part.denominator() as f64
}
