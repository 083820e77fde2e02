//! The configuration of a bridge.

use crate::control::Control;
use crate::heartbeat::Heartbeat;
use crate::ingress::Checksums;
use crate::port_change::PortChange;
use crate::take_over::TakeOver;
use crate::workers::by_class;
use tidegate_core::exchange::Workers;
use tidegate_core::port::PortSetup;
use tidegate_core::units::Duration;
use tidegate_link::Link;
use tidegate_wire::AckFilter;

/// Two interfaces, and the policy and the link of each direction.
#[derive(Clone, Debug)]
pub struct LiveConfig {
    /// Interface A and interface B: names such as `eth1`, or `eth1:100` for VLAN 100 of it, whose frames come and leave with a tag.
    pub interfaces: [String; 2],
    /// The port for what comes in on A and goes out on B, then the port for the way back.
    pub setups: [PortSetup; 2],
    /// The link behind each port. Losses are independent even with one seed.
    pub links: [Link; 2],
    /// The policies that follow at each port, in the order of their instants; not with [`Options::end_system`].
    pub changes: [Vec<PortChange>; 2],
    /// The workers of each direction; `None` for one. [`LiveConfig::with_workers`] sets it, and `control` to match.
    pub workers: [Option<Workers>; 2],
    /// Where other threads ask and change the bridge.
    pub control: Control,
    /// The page of the guardian that watches the bridge, and the number of this pair of interfaces in it. Not with [`Options::end_system`].
    pub heartbeat: Option<(Heartbeat, usize)>,
    /// What this bridge takes over from another process, and the number of this pair in it. Then the policies are those that run there.
    pub take_over: Option<(TakeOver, usize)>,
    /// Options that have a default.
    pub options: Options,
}

impl LiveConfig {
    /// A bridge between `a` and `b` with default options, and links without delay and loss.
    pub fn new(a: &str, b: &str, a_to_b: PortSetup, b_to_a: PortSetup) -> LiveConfig {
        LiveConfig {
            interfaces: [a.to_owned(), b.to_owned()],
            setups: [a_to_b, b_to_a],
            links: [Link::default(), Link::default()],
            changes: [Vec::new(), Vec::new()],
            workers: [None, None],
            control: Control::default(),
            heartbeat: None,
            take_over: None,
            options: Options::default(),
        }
    }

    /// With several workers in a direction, or both. Not with [`Options::end_system`], nor with changes, a link whose rate varies, or what is taken over.
    /// AF_XDP needs a queue of each interface for every worker.
    #[must_use]
    pub fn with_workers(self, workers: [Option<Workers>; 2]) -> LiveConfig {
        let control = Control::of_workers([0, 1].map(|number| {
            let workers = workers[number].as_ref()?;
            Some((workers.count as usize, by_class(workers, &self.setups[number].classifier)))
        }));
        LiveConfig { workers, control, ..self }
    }
}

/// How frames come from interfaces and go to them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Io {
    /// Packet sockets, which every interface has.
    #[default]
    Packet,
    /// AF_XDP sockets in native mode; packet sockets, with a warning, where these cannot be had.
    Xdp,
    /// AF_XDP where both interfaces are network cards that have it in their drivers, packet sockets elsewhere.
    Auto,
}

/// How frames and time are treated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// How frames come and go; `end_system` has packet sockets.
    pub io: Io,
    /// The link time that a port may make up for after its thread woke late: the longest burst is this much of its rate. With zero, packets
    /// keep at least their transmission time apart, and late wake-ups cost rate.
    pub catch_up: Duration,
    /// The longest time for which queues are emptied, at the policy's rate, after the stop.
    pub drain: Duration,
    /// How long before an instant a thread stops sleeping and watches the clock, and for how long after the latest frame it watches for the next.
    /// Above zero this costs up to a core per direction.
    pub spin: Duration,
    /// Whether unfinished checksums are passed on to the outgoing interface or completed in software.
    pub checksums: Checksums,
    /// Which queued acknowledgements of TCP are dropped when a later one joins them; not with `end_system`.
    pub ack_filter: Option<AckFilter>,
    /// The capacity of a direction's receive ring in frames, above which the kernel drops. Its memory is limited to 32 MB, so interfaces with
    /// long frames get fewer.
    pub ring: u32,
    /// The most packets that a direction takes in before it sends what is due, at least 1. Fewer shorten the wait of packets that may
    /// leave, more cost less per packet.
    pub batch: u32,
    /// Frame slots per direction above the port's packet limit, for frames on the way in and out.
    pub spare_frames: u32,
    /// The packets that each port may hold at least, so that later policies have room: memory for them is set aside at the start.
    pub packets: u32,
    /// The longest frame for which there are slots, in bytes, unless that of the policy is longer.
    pub longest_frame: u32,
    /// The real-time priority to ask for, 1 to 99; `None` keeps ordinary scheduling.
    pub real_time_priority: Option<u8>,
    /// Receiving, deciding and transmitting have a thread each, with a ring per flow between receiving and transmitting.
    pub end_system: bool,
    /// DirectionLoop packets even if another process already does on one of the interfaces.
    pub force: bool,
    /// With `end_system`: the core for decisions; `None` for any.
    pub decision_core: Option<usize>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            io: Io::Packet,
            catch_up: Duration::from_milliseconds(2),
            drain: Duration::from_seconds(1),
            spin: Duration::ZERO,
            checksums: Checksums::PassOn,
            ack_filter: None,
            ring: 4096,
            batch: 128,
            spare_frames: 512,
            packets: 0,
            longest_frame: 0,
            real_time_priority: Some(10),
            end_system: false,
            force: false,
            decision_core: None,
        }
    }
}
