//! The parameters of a TCP connection.

use super::application::{Application, Transfers};
use super::congestion::CongestionKind;
use super::ecn::EcnMode;
use super::growth::Growth;
use super::idle::AfterIdle;
use super::recovery::RecoveryKind;
use super::segment::Message;
use super::timer::{TimerKind, TimerSettings};
use crate::fault::Fault;
use crate::id::LinkId;
use crate::source::role::TrafficSource;
use crate::time::LONGEST_DURATION;
use tidegate_core::packet::LONGEST_FRAME;
use tidegate_core::units::Duration;

/// The most segments that a window may hold.
const MAX_SEGMENTS: u64 = 1 << 20;

/// A TCP connection.
#[derive(Clone, PartialEq, Debug)]
pub struct Tcp {
    /// The links that acknowledgements take, from where the flow's path ends to where it starts. At least one.
    pub reverse_path: Vec<LinkId>,
    /// Decides how far the window goes up and down.
    pub congestion: CongestionKind,
    /// Decides when a segment is lost, and what is sent then.
    pub recovery: RecoveryKind,
    /// Decides how long to wait for an acknowledgement.
    pub timer: TimerSettings,
    /// Bytes of data in a segment: the maximum segment size.
    pub segment: u32,
    /// Bytes that headers add to every segment and acknowledgement, as the links count them.
    pub headers: u32,
    /// The congestion window of a fresh connection, in segments, at least 1.
    pub initial_window: u32,
    /// The receiver's window in bytes; at least a segment.
    pub window: u64,
    /// Whether the window may exceed 65,535 bytes (RFC 7323); it is then a multiple of the scale.
    pub window_scale: bool,
    /// How long an acknowledgement may wait for a second segment; `None`: every segment is acknowledged at once.
    pub delayed_ack: Option<Duration>,
    /// Whether delayed acknowledgements slow the growth of the window.
    pub growth: Growth,
    /// How much of the window is kept after a silence.
    pub after_idle: AfterIdle,
    /// Whether each of the first two duplicate acknowledgements releases a new segment (RFC 3042).
    pub limited_transmit: bool,
    /// Whether segments that a timeout sends again are kept from starting a fast retransmit (RFC 6582, section 4.1).
    pub avoid_multiple_fast_retransmits: bool,
    /// What a loss halves: false for RFC 5681's FlightSize, all that has not been acknowledged in order; true for RFC 6675's pipe, as in
    /// ns-3, which leaves the window some two segments smaller.
    pub halves_pipe: bool,
    /// Whether recoveries that bound what is in flight reduce it in proportion to what is delivered (RFC 9937), rather than stop until as much
    /// has left the network. Without effect on other recoveries, and on congestion controls that measure.
    pub prr: bool,
    /// Whether the first slow start ends where round trips grow (RFC 9406). It needs a recovery that measures every round trip.
    pub hystart: bool,
    /// Whether a segment is sent early where acknowledgements stop (RFC 8985, section 7), with recoveries that learn of every transmission.
    pub tail_loss_probe: bool,
    /// Whether acknowledgements report segments that come twice (RFC 2883), with recoveries that learn of every transmission.
    pub dsack: bool,
    /// Whether a connection begins with a packet in each direction before any data.
    pub handshake: bool,
    /// Whether the network may mark segments in place of a loss, and how marks are echoed.
    pub ecn: EcnMode,
    /// Whether `prague` reduces its window as CUBIC does where the queue that marks seems to be a classic one. Without effect on others.
    pub classic_fallback: bool,
    /// The longest random delay of the start, which keeps several connections out of step.
    pub start_within: Duration,
    /// The least time from the decision to send a segment to its arrival at the first port.
    pub processing: Duration,
    /// The longest random addition to it, drawn for each segment. Segments stay in order.
    pub jitter: Duration,
    /// Decides how much is sent, and when.
    pub application: Application,
}

impl Tcp {
    /// What senders do today: CUBIC with HyStart++, losses found by times of transmission and tail loss probes, proportional rate reduction,
    /// Linux's timer, delayed acknowledgements, an initial window of ten segments of 1460 bytes, 54 bytes of Ethernet, IP and TCP headers, a receiver's window of 1 MiB, and an endless transfer.
    pub fn modern(reverse_path: Vec<LinkId>) -> Tcp {
        Tcp {
            reverse_path,
            congestion: CongestionKind::Cubic,
            recovery: RecoveryKind::USUAL,
            timer: TimerSettings::default_for(TimerKind::Linux),
            segment: 1460,
            headers: 54,
            initial_window: 10,
            window: 1 << 20,
            window_scale: true,
            delayed_ack: Some(Duration::from_milliseconds(40)),
            growth: Growth::Rfc5681,
            after_idle: AfterIdle::Linux,
            limited_transmit: true,
            avoid_multiple_fast_retransmits: true,
            halves_pipe: false,
            prr: true,
            hystart: true,
            tail_loss_probe: true,
            dsack: true,
            handshake: true,
            ecn: EcnMode::Off,
            classic_fallback: false,
            start_within: Duration::ZERO,
            processing: Duration::ZERO,
            jitter: Duration::ZERO,
            application: Application::Endless,
        }
    }

    /// Whether [`Tcp::prr`] has an effect with this recovery and congestion control.
    pub fn allows_prr(&self) -> bool {
        self.recovery.is_bounded() && !self.congestion.measures()
    }

    /// Whether [`Tcp::hystart`] has an effect with this recovery and congestion control.
    pub fn allows_hystart(&self) -> bool {
        self.recovery.tracks() && !self.congestion.measures()
    }

    /// Whether [`Tcp::tail_loss_probe`] has an effect with this recovery.
    pub fn allows_tail_loss_probe(&self) -> bool {
        self.recovery.tracks()
    }

    /// Whether [`Tcp::dsack`] has an effect with this recovery.
    pub fn allows_dsack(&self) -> bool {
        self.recovery.tracks()
    }

    /// Whether [`Tcp::classic_fallback`] has an effect with this congestion control.
    pub fn allows_classic_fallback(&self) -> bool {
        self.congestion == CongestionKind::Prague
    }

    /// The length of a full segment's frame in bytes.
    pub fn frame(&self) -> u32 {
        self.segment + self.headers
    }

    /// True if segments reach the first port at the instant of their decision.
    pub(crate) fn is_instant(&self) -> bool {
        self.processing == Duration::ZERO && self.jitter == Duration::ZERO
    }

    /// The length in bytes of a packet on the reverse path.
    #[inline]
    pub(crate) fn length_of(&self, message: &Message) -> u32 {
        match (message, &self.application) {
            (Message::Ack(ack), _) => self.headers + ack.option_bytes(),
            (Message::Open, _) => self.headers,
            (Message::Request(_), Application::Transfers(Transfers { request: Some(bytes), .. })) => *bytes,
            (Message::Request(_), _) => self.headers,
        }
    }

    /// The receiver's window as the 16 bits of the header express it.
    pub(crate) fn receive_window(&self) -> u64 {
        let shift = (0..14).find(|shift| self.window >> shift <= 65_535).unwrap_or(14);
        self.window >> shift << shift
    }
}

impl TrafficSource for Box<Tcp> {
    const NAME: &'static str = "tcp";
    const SUMMARY: &'static str = "the sending end of a TCP connection, whose acknowledgements come back as packets";

    /// Checks the values; the network checks the reverse path.
    fn check(&self) -> Result<(), Fault> {
        if self.segment == 0 || self.segment > 1 << 20 {
            return Err(Fault::new("segment", format!("{} bytes", self.segment), "1 byte to 1 MiB"));
        }
        if self.headers == 0 || self.headers > 1000 {
            return Err(Fault::new("headers", format!("{} bytes", self.headers), "1 to 1000 bytes: an acknowledgement is a packet, too"));
        }
        let (least, most) = (u64::from(self.segment), if self.window_scale { 65_535 << 14 } else { 65_535 });
        if self.window > most && !self.window_scale {
            let problem = format!("{} bytes are more than 16 bits can say", self.window);
            return Err(Fault::new("window", problem, "at most 65535 bytes, or the window scale option"));
        }
        if self.window < least || self.window > most || self.receive_window() < least {
            return Err(Fault::new("window", format!("{} bytes", self.window), format!("a segment ({least} bytes) to {most} bytes")));
        }
        if self.window / least > MAX_SEGMENTS {
            let problem = format!("{} segments", self.window / least);
            return Err(Fault::new("window", problem, format!("at most {MAX_SEGMENTS} segments")));
        }
        if self.initial_window == 0 || self.initial_window > 1000 {
            return Err(Fault::new("initial_window", format!("{} segments", self.initial_window), "1 to 1000 segments"));
        }
        if self.congestion.measures() && !self.recovery.is_selective() {
            let (congestion, recovery) = (self.congestion.name(), self.recovery.name());
            let problem = format!("{recovery} does not tell {congestion} which segments are delivered");
            return Err(Fault::new("recovery", problem, "a recovery with selective acknowledgements"));
        }
        let congestion = self.congestion.name();
        if self.ecn == EcnMode::L4s && !self.congestion.scales() {
            let problem = format!("{congestion} reduces its window by the same share however few segments are marked");
            return Err(Fault::new("ecn", problem, "`accurate`, or a congestion control that scales: dctcp or prague"));
        }
        if self.ecn == EcnMode::Classic && self.congestion.scales() {
            let problem = format!("`classic` does not tell {congestion} how many segments were marked");
            return Err(Fault::new("ecn", problem, "`l4s`, `accurate` or `dctcp`, or `off`"));
        }
        if self.ecn.counts() && !self.recovery.is_selective() {
            let problem = format!("{} cannot tell how many segments a count of marks covers", self.recovery.name());
            return Err(Fault::new("recovery", problem, "a recovery with selective acknowledgements"));
        }
        let timer = &self.timer;
        if timer.granularity == Duration::ZERO || timer.granularity > Duration::from_seconds(60) {
            return Err(Fault::new("granularity", "outside 1 ps to 60 s", "the distance of a clock's ticks"));
        }
        if timer.minimum > timer.maximum || timer.maximum > Duration::from_seconds(3600) || timer.maximum == Duration::ZERO {
            return Err(Fault::new("minimum_timeout", "not between nothing and the greatest timeout", "a time of at most an hour"));
        }
        for (key, time) in [
            ("start_within", self.start_within),
            ("processing", self.processing),
            ("jitter", self.jitter),
            ("delayed_ack", self.delayed_ack.unwrap_or(Duration::ZERO)),
            ("initial_timeout", timer.initial),
        ] {
            if time > LONGEST_DURATION {
                return Err(Fault::new(key, "more than 26 days", "a time that can be simulated"));
            }
        }
        self.application.check(LONGEST_FRAME)
    }
}
