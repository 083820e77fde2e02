//! The stamps of one flow of a shaped virtual clock: when its head may leave (virtual start), and when it is due (virtual finish).
//!
//! Stamps are exact: whole picoseconds, and a remainder that is carried from packet to packet. An instant is compared with the whole
//! picoseconds, so a head is in profile up to one picosecond early.

use super::exact_rate::ExactRate;
use super::{FlowParameters, ServiceClass, Stamping};
use crate::contract_state::ContractState;
use crate::packet::Flow;
use crate::scheduler::{BuildError, Parameter, Setup};
use crate::units::{Duration, Rate, SERIAL_HORIZON, Time};

/// The stamps of one flow, its rate and its tolerance: one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct ShapedClock {
    /// Virtual start of the head, in whole picoseconds.
    start: Time,
    /// Virtual finish of the head, in whole picoseconds. While there is no head: what the next head follows on.
    finish: Time,
    start_remainder: u64,
    finish_remainder: u64,
    rate: ExactRate,
    tolerance: Duration,
    /// Length of the head on the wire.
    pub(super) length: u32,
    /// The service that the next head gets.
    pub(super) class: ServiceClass,
    /// The service that the present head gets.
    pub(super) head_class: ServiceClass,
    /// Where the flow is kept while it is backlogged; up to the scheduler.
    pub(super) place: u8,
    /// The flow's tolerance or class has changed since its head was filed.
    pub(super) is_changed: bool,
}

/// The longest time of a packet, and the longest tolerance: 2^59 ps, more than 6 days.
const LONGEST_SPAN: Duration = Duration::from_picoseconds(SERIAL_HORIZON.picoseconds() / 4);

/// The most by which a stamp runs ahead of the time, 2^61 ps (26 days). Only a flow that is charged for what it sends out of profile gets
/// there.
const MAXIMUM_LEAD: Duration = SERIAL_HORIZON;

/// The rate of a flow that has none: it is never stamped.
const NO_RATE: ExactRate = ExactRate::new(Rate::MIN);

/// What a flow is given, checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reservation {
    rate: ExactRate,
    tolerance: Duration,
    class: ServiceClass,
}

impl Reservation {
    /// The reservation of a flow, and its rate in bits per second; 0 for best effort, which has none.
    pub(super) fn of(setup: &Setup, flow: Flow, given: &FlowParameters, class: ServiceClass) -> Result<(Reservation, u64), BuildError> {
        if class == ServiceClass::BestEffort {
            return Ok((Reservation { rate: NO_RATE, tolerance: Duration::ZERO, class }, 0));
        }
        let wrong = |parameter, problem| BuildError { flow: Some(flow), parameter, problem };
        let rate = given.rate.ok_or(wrong(Parameter::Rate, "a shaped virtual clock needs it for every flow that it serves"))?;
        let tolerance = given.tolerance.unwrap_or(Duration::ZERO);
        let exact = ExactRate::new(rate);
        if exact.time_of(setup.longest_packet).0 >= LONGEST_SPAN.picoseconds() {
            return Err(wrong(Parameter::Rate, "the longest packet takes more than 6 days at this rate: raise the rate"));
        }
        if tolerance > LONGEST_SPAN {
            return Err(wrong(Parameter::Tolerance, "it is longer than 6 days: shorten it"));
        }
        Ok((Reservation { rate: exact, tolerance, class }, rate.bits_per_second()))
    }

    /// The reservations of all flows, whose rates sum up to at most the setup's.
    pub(super) fn of_all(
        setup: &Setup,
        flows: &[FlowParameters],
        class: impl Fn(&FlowParameters) -> ServiceClass,
        mut file: impl FnMut(Reservation),
    ) -> Result<(), BuildError> {
        let mut sum = 0u64;
        for (index, given) in flows.iter().enumerate() {
            let (reservation, rate) = Reservation::of(setup, Flow(index as u32), given, class(given))?;
            sum = sum.saturating_add(rate);
            file(reservation);
        }
        if sum > setup.rate.bits_per_second() {
            let problem = "the flows' rates sum up to more than the rate that is shared: lower them";
            return Err(BuildError { flow: None, parameter: Parameter::Rate, problem });
        }
        Ok(())
    }
}

impl ShapedClock {
    /// The clock of a vacant place.
    pub(super) const VACANT: ShapedClock = ShapedClock {
        start: Time::ZERO,
        finish: Time::ZERO,
        start_remainder: 0,
        finish_remainder: 0,
        rate: NO_RATE,
        tolerance: Duration::ZERO,
        length: 0,
        class: ServiceClass::BestEffort,
        head_class: ServiceClass::BestEffort,
        place: 0,
        is_changed: false,
    };

    pub(super) fn new(Reservation { rate, tolerance, class }: Reservation) -> ShapedClock {
        ShapedClock { rate, tolerance, class, ..ShapedClock::VACANT }
    }

    /// As if nothing had ever been sent.
    pub(super) fn reset(&mut self, now: Time) {
        (self.start, self.finish, self.start_remainder, self.finish_remainder) = (now, now, 0, 0);
    }

    /// Stamps a head. It begins a busy period if it came to an empty queue.
    #[inline]
    pub(super) fn stamp(&mut self, now: Time, length: u32, begins_busy_period: bool, stamping: Stamping) {
        let restarts = begins_busy_period || stamping == Stamping::Literal || fault!(SvcLiteral);
        let is_late = restarts && self.finish.is_before(now);
        (self.start, self.start_remainder) = if is_late { (now, 0) } else { (self.finish, self.finish_remainder) };
        self.length = length;
        self.head_class = self.class;
        self.find_finish(now);
    }

    #[inline]
    fn find_finish(&mut self, now: Time) {
        let (span, remainder) = self.rate.time_of(self.length);
        let (finish, parts) = (self.start + Duration::from_picoseconds(span), self.start_remainder + remainder);
        let carries = parts >= self.rate.parts();
        let finish = finish + Duration::from_picoseconds(u64::from(carries));
        self.finish = finish.earlier(now + MAXIMUM_LEAD);
        self.finish_remainder = if carries { parts - self.rate.parts() } else { parts };
    }

    /// The head is gone and is not charged: the next one follows on what this one followed on.
    #[inline]
    pub(super) fn refund(&mut self) {
        (self.finish, self.finish_remainder) = (self.start, self.start_remainder);
    }

    /// Shows what the next head of a flow without a head follows on.
    pub(super) fn visit_state(&mut self, state: &mut dyn ContractState) {
        // A head that begins a busy period starts at its arrival then.
        if state.contract(self.finish.is_before(state.resting_at())) {
            state.instant(&mut self.finish);
            state.number(&mut self.finish_remainder, self.rate.parts());
        } else {
            (self.finish, self.finish_remainder) = (self.finish.earlier(state.resting_at()), 0);
        }
    }

    /// The head was pushed out: the next one starts when it did.
    #[inline]
    pub(super) fn replace(&mut self, now: Time, length: u32, stamping: Stamping) {
        self.refund();
        if fault!(SvcKeepsStampOfPushedOut) {
            self.length = length;
            return;
        }
        self.stamp(now, length, false, stamping);
    }

    /// When the head counts as in profile.
    #[inline]
    pub(super) fn eligible(&self) -> Time {
        if fault!(SvcWithoutShaping) {
            return self.start - LONGEST_SPAN;
        }
        self.start - self.tolerance
    }

    /// The virtual finish of the head.
    #[inline]
    pub(super) fn finish(&self) -> Time {
        self.finish
    }

    /// The next head has this reservation; the stamps of the present one stay.
    pub(super) fn change(&mut self, Reservation { rate, tolerance, class }: Reservation) {
        self.start_remainder = self.rate.convert(self.start_remainder, rate);
        self.finish_remainder = self.rate.convert(self.finish_remainder, rate);
        self.is_changed |= (self.tolerance, self.class) != (tolerance, class);
        (self.rate, self.tolerance, self.class) = (rate, tolerance, class);
    }

    /// Continues `old`, whose reservation may differ.
    pub(super) fn continue_from(&mut self, old: &ShapedClock) {
        (self.start, self.finish, self.length, self.head_class) = (old.start, old.finish, old.length, self.class);
        self.start_remainder = old.rate.convert(old.start_remainder, self.rate);
        self.finish_remainder = old.rate.convert(old.finish_remainder, self.rate);
    }

    /// Moves stamps before `oldest` up to it.
    pub(super) fn raise(&mut self, oldest: Time) {
        (self.start, self.finish) = (self.start.later(oldest), self.finish.later(oldest));
    }
}
