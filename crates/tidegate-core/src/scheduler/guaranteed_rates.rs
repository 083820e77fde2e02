//! The guaranteed rates of flows that share a link, and their sums, for disciplines that give every flow its rate or its weight's share.
//!
//! A flow's guaranteed rate is its `rate`; flows without one share what the others leave in proportion to their `weight`, 1 unless given. Their
//! rates follow from the sums, which any flow may change. So the rates have a version: a scheduler takes the rate of a flow anew when it stamps
//! a head and finds that the version has changed.

use super::least::Least;
use super::{BuildError, FlowParameters, Parameter, Setup, weight_of};
use crate::packet::Flow;
use crate::units::{Duration, Rate, SERIAL_HORIZON, TimePerByte};

/// The guaranteed rates by place.
#[derive(Clone, Debug)]
pub(super) struct GuaranteedRates {
    link: Rate,
    longest_packet: u32,
    /// The most that the longest packet may take at any of the rates, and what is wrong otherwise.
    most: (Duration, &'static str),
    /// In bits per second; [`NO_RATE`] without one.
    rates: Least<u64>,
    /// [`NO_WEIGHT`] without one.
    weights: Least<u64>,
    reserved: u64,
    weight_sum: u64,
    version: u32,
    slowest: Duration,
}

const NO_RATE: u64 = u64::MAX;
const NO_WEIGHT: u64 = u64::MAX;

/// The version of a rate that has to be taken anew.
pub(super) const STALE: u32 = 0;

/// Versions are even: schedulers keep a flag in the lowest bit.
const STEP: u32 = 2;

impl GuaranteedRates {
    /// Of these flows and vacant places. At each rate a packet takes at most [`SERIAL_HORIZON`].
    pub(super) fn new(setup: &Setup, flows: &[FlowParameters]) -> Result<GuaranteedRates, BuildError> {
        let most = (SERIAL_HORIZON, "the longest packet takes more than 26 days at this flow's rate: raise the rate");
        GuaranteedRates::within(setup, flows, most)
    }

    /// The same where the longest packet takes at most this long; the other half of `most` says what is wrong otherwise.
    pub(super) fn within(setup: &Setup, flows: &[FlowParameters], most: (Duration, &'static str)) -> Result<GuaranteedRates, BuildError> {
        let places = setup.places(flows);
        let (mut rates, mut weights) = (alloc::vec![NO_RATE; places], alloc::vec![NO_WEIGHT; places]);
        let (mut reserved, mut weight_sum) = (0u64, 0);
        for (index, given) in flows.iter().enumerate() {
            (rates[index], weights[index]) = claim(Flow(index as u32), given)?;
            reserved = reserved.saturating_add(given.rate.map_or(0, Rate::bits_per_second));
            weight_sum += if given.rate.is_none() { weights[index] } else { 0 };
        }
        let mut sums = GuaranteedRates {
            link: setup.rate,
            longest_packet: setup.longest_packet,
            most,
            rates: Least::new(rates),
            weights: Least::new(weights),
            reserved,
            weight_sum,
            version: STEP,
            slowest: Duration::ZERO,
        };
        sums.slowest = sums.check()?;
        Ok(sums)
    }

    /// Even, and another one whenever a rate may have changed that was not given.
    #[inline]
    pub(super) fn version(&self) -> u32 {
        self.version
    }

    /// How long the longest packet takes at the lowest of all rates.
    pub(super) fn slowest(&self) -> Duration {
        self.slowest
    }

    /// The rate of a flow; that of the link for a vacant place.
    // Two divisions for a weight, at the flow's first head after the sums have changed.
    #[inline(never)]
    pub(super) fn time_per_byte(&self, flow: Flow) -> TimePerByte {
        let (rate, weight) = (self.rates.get(flow.index()), self.weights.get(flow.index()));
        let rate = if rate != NO_RATE {
            Rate::new(rate)
        } else if weight != NO_WEIGHT {
            Rate::new(self.share(weight))
        } else {
            Ok(self.link)
        };
        // The checks before have seen that it is in range.
        rate.unwrap_or(Rate::MIN).time_per_byte()
    }

    /// The part of the rest that a weight gets, in bits per second.
    fn share(&self, weight: u64) -> u64 {
        let left = self.link.bits_per_second() - self.reserved;
        (u128::from(left) * u128::from(weight) / u128::from(self.weight_sum)) as u64
    }

    /// The parameters of a flow are these from now on; an error changes nothing. True if the versions begin anew, so that all are [`STALE`].
    pub(super) fn change(&mut self, flow: Flow, given: &FlowParameters) -> Result<bool, BuildError> {
        let claim = claim(flow, given)?;
        let before = (self.rates.get(flow.index()), self.weights.get(flow.index()));
        if claim == before {
            return Ok(false);
        }
        let sums = (self.reserved, self.weight_sum);
        self.replace(flow, claim);
        match self.check() {
            Ok(slowest) => self.slowest = slowest,
            Err(error) => {
                self.replace(flow, before);
                return Err(error);
            }
        }
        Ok(self.renew(sums))
    }

    /// A flow leaves. True if the versions begin anew, so that all are [`STALE`].
    pub(super) fn forget(&mut self, flow: Flow) -> bool {
        let sums = (self.reserved, self.weight_sum);
        self.replace(flow, (NO_RATE, NO_WEIGHT));
        // What remains had less to share before.
        self.slowest = self.check().unwrap_or(self.slowest);
        self.renew(sums)
    }

    fn replace(&mut self, flow: Flow, (rate, weight): (u64, u64)) {
        let place = flow.index();
        let amount = |number: u64| if number == u64::MAX { 0 } else { number };
        self.reserved = (self.reserved - amount(self.rates.get(place))).saturating_add(amount(rate));
        self.weight_sum = self.weight_sum - amount(self.weights.get(place)) + amount(weight);
        self.rates.set(place, rate);
        self.weights.set(place, weight);
    }

    /// Another version, if weights share something else than with these `sums` before.
    fn renew(&mut self, sums: (u64, u64)) -> bool {
        if self.weight_sum == 0 || sums == (self.reserved, self.weight_sum) {
            return false;
        }
        self.version = self.version.wrapping_add(STEP);
        let begins_anew = self.version == STALE;
        if begins_anew {
            self.version = STEP;
        }
        begins_anew
    }

    /// Whether all rates are in range; how long the longest packet takes at the lowest of them.
    fn check(&self) -> Result<Duration, BuildError> {
        if self.reserved > self.link.bits_per_second() {
            let problem = "the flows' rates sum up to more than the rate that is shared: lower them";
            return Err(BuildError { flow: None, parameter: Parameter::Rate, problem });
        }
        let mut slowest = Duration::ZERO;
        let mut add = |place: usize, rate: Rate| {
            let longest = rate.time_per_byte().ceil(self.longest_packet);
            if longest > self.most.0 {
                return Err(BuildError { flow: Some(Flow(place as u32)), parameter: Parameter::Rate, problem: self.most.1 });
            }
            slowest = slowest.max(longest);
            Ok(())
        };
        if let Some((place, weight)) = self.weights.least().filter(|least| least.1 != NO_WEIGHT) {
            let flow = Some(Flow(place as u32));
            let problem = "its share of what the reserved rates leave is below 1 kbit/s: raise it, or lower the reservations";
            add(place, Rate::new(self.share(weight)).map_err(|_| BuildError { flow, parameter: Parameter::Weight, problem })?)?;
        }
        if let Some((place, rate)) = self.rates.least().filter(|least| least.1 != NO_RATE) {
            add(place, Rate::new(rate).unwrap_or(Rate::MIN))?;
        }
        Ok(slowest)
    }
}

/// The rate and the weight of a flow, one of which it has.
fn claim(flow: Flow, given: &FlowParameters) -> Result<(u64, u64), BuildError> {
    let weight = weight_of(flow.index(), given)?;
    if given.rate.is_some() && given.weight.is_some() {
        let problem = "give either a rate or a weight: unused capacity is shared in proportion to the rates";
        return Err(BuildError { flow: Some(flow), parameter: Parameter::Weight, problem });
    }
    Ok(match given.rate {
        Some(rate) => (rate.bits_per_second(), NO_WEIGHT),
        None => (NO_RATE, u64::from(weight)),
    })
}
