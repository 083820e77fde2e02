//! Admission to one link: the tests, the sums, and the rates of controlled load.
//!
//! A signalling protocol reserves hop by hop with [`Link::reserve`] and [`Link::release`]; [`super::PathAdmission`] is made of the same steps.
//!
//! **Law**: a flow is admitted only if `sum R + nu + new <= mu C` and `sum R + sum rho + new <= C`. A guaranteed flow needs its buffer beside
//! those of the others. [`Link::release`] restores all sums exactly.
//!
//! **Source**: RFC 2212 for guaranteed service; Jamin et al. 1997 for controlled load; reconstructed from Wu, Hou, Zhang, Chao, Hamada.
//!
//! **State**: 44 to 52 bytes per guaranteed flow; 92 more per flow of controlled load.
//!
//! **Cost**: a test is O(1), and touches no flow; [`Link::reserve`] and [`Link::release`] are O(log n) in the flows of controlled load.
//!
//! **RTL twin**: none.
//!
//! **Deviations**: the second inequality of the law is ours. It keeps every flow of controlled load at its sustained rate.

use super::adaptive_rate::AdaptiveRates;
use super::answer::{Constraint, Shortage};
use super::flow_spec::{MAX_BURST_BITS, TrafficSpec};
use super::flow_table::FlowTable;
use super::guaranteed::ErrorTerms;
use super::measurement::{LoadMeasurement, PeakBucket};
use crate::units::{Duration, PICOSECONDS_PER_SECOND, Rate, Time};
use core::fmt;

/// What a link admits to. [`LinkSettings::new`] has the defaults of the paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkSettings {
    /// `C`.
    pub capacity: Rate,
    /// `Lmax`: the longest packet of any flow on the link, best effort included, in bits.
    pub longest_packet: u64,
    /// The buffer of guaranteed service, in bits.
    pub buffer: u64,
    /// `mu`: the part of the capacity that admission gives away, in millionths; 900,000 by default.
    pub utilisation: u32,
    /// Propagation and processing behind the port, which the bound on a delay includes; 0 by default.
    pub latency: Duration,
    /// `S`: how long a sample of the load is; 100 kbit at the capacity by default.
    pub sample: Duration,
    /// `T/S`: the samples of a window; 10 by default.
    pub samples: u32,
    /// The largest number of guaranteed flows.
    pub guaranteed_flows: u32,
    /// The largest number of flows of controlled load.
    pub controlled_load_flows: u32,
}

/// The least sample by default, in bits at the capacity.
const SAMPLE_BITS: u64 = 100_000;

/// Millionths in one.
const MILLION: u64 = 1_000_000;

impl LinkSettings {
    /// A link of this capacity with the defaults, for up to 1024 flows of either service.
    ///
    /// `longest_packet` and `buffer`, that of guaranteed service, are in bits.
    pub const fn new(capacity: Rate, longest_packet: u64, buffer: u64) -> LinkSettings {
        let sample = (SAMPLE_BITS as u128 * PICOSECONDS_PER_SECOND as u128).div_ceil(capacity.bits_per_second() as u128);
        LinkSettings {
            capacity,
            longest_packet,
            buffer,
            utilisation: 900_000,
            latency: Duration::ZERO,
            sample: Duration::from_picoseconds(sample as u64),
            samples: 10,
            guaranteed_flows: 1024,
            controlled_load_flows: 1024,
        }
    }
}

/// Why settings have no meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SettingsError {
    /// The target utilisation is 0 or above 1.
    Utilisation,
    /// The longest packet has no bits, or more than 2^33.
    LongestPacket,
    /// A sample takes no time, or more than an hour.
    Sample,
    /// A window has no samples, or more than 1000.
    Samples,
    /// A table holds 2^28 flows or more.
    Flows,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SettingsError::Utilisation => "the target utilisation is above 0 and at most 1",
            SettingsError::LongestPacket => "the longest packet has 1 to 2^33 bits",
            SettingsError::Sample => "a sample of the load takes at least 1 ps and at most an hour",
            SettingsError::Samples => "a window has 1 to 1000 samples",
            SettingsError::Flows => "a table holds fewer than 2^28 flows",
        })
    }
}

impl core::error::Error for SettingsError {}

/// What a flow asks of one link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Demand {
    /// Guaranteed service.
    Guaranteed {
        /// `R`, in bit/s.
        rate: u64,
        /// In bits.
        buffer: u64,
    },
    /// Controlled load.
    ControlledLoad(TrafficSpec),
}

/// Why a link does not reserve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReserveError {
    /// The link refuses.
    Short(Shortage),
    /// The link has a flow of this name already.
    FlowExists,
    /// The table of flows is full.
    TooManyFlows,
}

impl fmt::Display for ReserveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReserveError::Short(shortage) => shortage.fmt(f),
            ReserveError::FlowExists => f.write_str("the link has a flow of this name: release it first"),
            ReserveError::TooManyFlows => f.write_str("the flow table of the link is full"),
        }
    }
}

impl core::error::Error for ReserveError {}

/// What a link holds for a flow.
#[derive(Clone, Copy, Debug)]
enum Reservation {
    Guaranteed { rate: u64, buffer: u64 },
    ControlledLoad { node: u32 },
}

/// The sums over the flows of a link.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    /// Guaranteed flows.
    pub guaranteed_flows: u32,
    /// Flows of controlled load.
    pub controlled_load_flows: u32,
    /// `sum R` of guaranteed service, in bit/s.
    pub rate: u64,
    /// The buffer reserved for guaranteed service, in bits.
    pub buffer: u64,
    /// `sum rho` of controlled load, in bit/s.
    pub sustained: u64,
    /// `sum p` of controlled load, in bit/s.
    pub peak: u64,
}

/// One link: what it has given away, and what it measures.
///
/// ```
/// use tidegate_core::admission::{Demand, Link, LinkSettings, TrafficSpec};
/// use tidegate_core::units::Rate;
///
/// // Four guaranteed flows of 1.5 Mbit/s on 10 Mbit/s leave 4 Mbit/s to controlled load.
/// let mut link = Link::new(LinkSettings::new(Rate::new(10_000_000).unwrap(), 1_000, 500_000)).unwrap();
/// for id in 0..4 {
///     link.reserve(id, Demand::Guaranteed { rate: 1_500_000, buffer: 15_000 }).unwrap();
/// }
/// let mbps = |tenths: u64| Rate::new(tenths * 100_000).unwrap();
/// let traffic = TrafficSpec::new(1_000, 20_000, mbps(10), mbps(15)).unwrap();
/// link.reserve(4, Demand::ControlledLoad(traffic)).unwrap();
/// link.reserve(5, Demand::ControlledLoad(traffic)).unwrap();
/// assert_eq!(link.rate_of(5), Some(1_500_000));
/// // A third would need 6.0 + 2 * 1.5 + 1.5 = 10.5 of the 9 Mbit/s that admission gives away, until measurement finds less.
/// assert!(link.reserve(6, Demand::ControlledLoad(traffic)).is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Link {
    settings: LinkSettings,
    /// `mu C`, in bit/s, rounded down.
    admissible: u64,
    /// `Lmax/C`, rounded up.
    packet_time: Duration,
    flows: FlowTable<Reservation>,
    totals: Totals,
    rates: AdaptiveRates,
    load: LoadMeasurement,
    now: Time,
}

impl Link {
    /// A link without flows.
    ///
    /// # Errors
    /// Settings that have no meaning.
    pub fn new(settings: LinkSettings) -> Result<Link, SettingsError> {
        let LinkSettings { capacity, longest_packet, utilisation, sample, samples, .. } = settings;
        let flows = u64::from(settings.guaranteed_flows) + u64::from(settings.controlled_load_flows);
        let error = match () {
            () if utilisation == 0 || u64::from(utilisation) > MILLION => SettingsError::Utilisation,
            () if longest_packet == 0 || longest_packet > MAX_BURST_BITS => SettingsError::LongestPacket,
            () if sample == Duration::ZERO || sample > Duration::from_seconds(3600) => SettingsError::Sample,
            () if samples == 0 || samples > 1000 => SettingsError::Samples,
            () if flows >= 1 << 28 => SettingsError::Flows,
            () => {
                let capacity = capacity.bits_per_second();
                let used = if fault!(CacFullUtilisation) { MILLION } else { u64::from(utilisation) };
                return Ok(Link {
                    settings,
                    admissible: (u128::from(capacity) * u128::from(used) / u128::from(MILLION)) as u64,
                    packet_time: time_of(longest_packet, capacity),
                    flows: FlowTable::new(flows as usize),
                    totals: Totals::default(),
                    rates: AdaptiveRates::new(settings.controlled_load_flows as usize),
                    load: LoadMeasurement::new(sample, samples),
                    now: Time::ZERO,
                });
            }
        };
        Err(error)
    }

    /// What the link was made with.
    pub const fn settings(&self) -> &LinkSettings {
        &self.settings
    }

    /// The sums over all flows.
    pub const fn totals(&self) -> Totals {
        self.totals
    }

    /// The measured load `nu` of controlled load, in bit/s, rounded up.
    pub fn measured_load(&self) -> u64 {
        self.load.load()
    }

    /// Tests a demand, and changes nothing.
    ///
    /// # Errors
    /// What is short.
    pub fn test(&self, demand: &Demand) -> Result<(), Shortage> {
        if fault!(CacAlwaysYes) {
            return Ok(());
        }
        let (rate, sustained, buffer) = match demand {
            Demand::Guaranteed { rate, buffer } => (*rate, *rate, *buffer),
            Demand::ControlledLoad(traffic) => (traffic.peak().bits_per_second(), traffic.rate().bits_per_second(), 0),
        };
        let tests = [
            (Constraint::Rate, if fault!(CacAlwaysNo) { 0 } else { self.free_rate() }, rate),
            (Constraint::RateGuarantee, self.free_sustained_rate(), sustained),
            (Constraint::Buffer, self.free_buffer(), buffer),
        ];
        match tests.into_iter().find(|&(_, have, need)| need > have) {
            Some((constraint, have, need)) => Err(Shortage { constraint, have, need }),
            None => Ok(()),
        }
    }

    /// What the target utilisation leaves, in bit/s: `mu C - sum R - nu`, or 0.
    pub fn free_rate(&self) -> u64 {
        let load = match () {
            () if fault!(CacIgnoresLoad) => 0,
            () if fault!(CacSumsPeaks) => self.totals.peak,
            () => self.measured_load(),
        };
        self.admissible.saturating_sub(self.totals.rate).saturating_sub(load)
    }

    /// What is left beside the sustained rates, in bit/s: `C - sum R - sum rho`, or 0.
    pub fn free_sustained_rate(&self) -> u64 {
        let Totals { rate, sustained, .. } = self.totals;
        self.settings.capacity.bits_per_second().saturating_sub(rate).saturating_sub(sustained)
    }

    /// What is left of the buffer of guaranteed service, in bits.
    pub fn free_buffer(&self) -> u64 {
        self.settings.buffer.saturating_sub(self.totals.buffer)
    }

    /// Tests a demand and reserves. An error changes nothing.
    ///
    /// # Errors
    /// What is short; a flow of the same name; a full table.
    pub fn reserve(&mut self, id: u64, demand: Demand) -> Result<(), ReserveError> {
        self.has_room(id, &demand)?;
        self.test(&demand).map_err(ReserveError::Short)?;
        self.enter(id, demand);
        Ok(())
    }

    /// Reserves without the test, for flows that are provisioned and not admitted. The sums may then exceed the capacity; adaptive rate allocation divides
    /// what is left, down to nothing.
    ///
    /// # Errors
    /// A flow of the same name; a full table.
    pub fn provision(&mut self, id: u64, demand: Demand) -> Result<(), ReserveError> {
        self.has_room(id, &demand)?;
        self.enter(id, demand);
        Ok(())
    }

    /// That the tables have room for this flow.
    pub(super) fn has_room(&self, id: u64, demand: &Demand) -> Result<(), ReserveError> {
        if self.flows.get(id).is_some() {
            return Err(ReserveError::FlowExists);
        }
        let has_room = match demand {
            Demand::Guaranteed { .. } => self.totals.guaranteed_flows < self.settings.guaranteed_flows,
            Demand::ControlledLoad(_) => self.totals.controlled_load_flows < self.settings.controlled_load_flows,
        };
        if has_room { Ok(()) } else { Err(ReserveError::TooManyFlows) }
    }

    /// Reserves, after [`Link::has_room`].
    pub(super) fn enter(&mut self, id: u64, demand: Demand) {
        let reservation = match demand {
            Demand::Guaranteed { rate, buffer } => {
                self.totals.guaranteed_flows += 1;
                self.totals.rate += rate;
                self.totals.buffer += buffer;
                Reservation::Guaranteed { rate, buffer }
            }
            Demand::ControlledLoad(traffic) => {
                let (rho, peak) = (traffic.rate().bits_per_second(), traffic.peak().bits_per_second());
                let mut bucket = PeakBucket::new(traffic.peak(), traffic.longest_packet());
                bucket.fill(self.now);
                self.totals.controlled_load_flows += 1;
                self.totals.sustained += rho;
                self.totals.peak += peak;
                self.load.add(peak);
                Reservation::ControlledLoad { node: self.rates.insert(id, rho, peak, bucket) }
            }
        };
        self.flows.insert(id, reservation).expect("the table has room for both services");
        self.rerate(matches!(demand, Demand::ControlledLoad(_)));
    }

    /// Gives back what a flow holds here; false if there is no such flow.
    pub fn release(&mut self, id: u64) -> bool {
        let Some(reservation) = self.flows.remove(id) else { return false };
        match reservation {
            Reservation::Guaranteed { rate, buffer } => {
                self.totals.guaranteed_flows -= 1;
                self.totals.rate -= rate;
                self.totals.buffer -= buffer;
            }
            Reservation::ControlledLoad { node } => {
                let rates = self.rates.rates_of(node);
                self.totals.controlled_load_flows -= 1;
                self.totals.sustained -= rates.rho;
                self.totals.peak -= rates.peak;
                self.rates.remove(node);
            }
        }
        self.rerate(matches!(reservation, Reservation::ControlledLoad { .. }));
        true
    }

    /// Adaptive rate allocation, after a flow came or went.
    fn rerate(&mut self, of_controlled_load: bool) {
        debug_assert!(self.flows.len() > CHECKED_FLOWS || self.recomputed_totals() == self.totals, "the sums are those of the flows");
        if fault!(ArcNever) && self.rates.epoch() > 0 {
            return;
        }
        if fault!(ArcOnlyOnControlledLoad) && !of_controlled_load {
            return;
        }
        let whole = if fault!(ArcOnUtilisation) { self.admissible } else { self.settings.capacity.bits_per_second() };
        // Without flows of controlled load there is no level to find.
        if of_controlled_load || self.totals.controlled_load_flows > 0 {
            self.rates.fill(whole.saturating_sub(self.totals.rate));
        }
    }

    /// The rate that a flow has now, in bit/s: `R`, or its part by adaptive rate allocation, which changes with [`Link::epoch`]. It is 0 if guaranteed service has the whole
    /// link, which only [`Link::provision`] allows.
    pub fn rate_of(&self, id: u64) -> Option<u64> {
        Some(match *self.flows.get(id)? {
            Reservation::Guaranteed { rate, .. } => rate,
            Reservation::ControlledLoad { node } => self.rates.rate(node),
        })
    }

    /// Changes when the rates of controlled load may have changed: a scheduler that keeps a rate computes it anew in another epoch.
    #[inline]
    pub fn epoch(&self) -> u32 {
        self.rates.epoch()
    }

    /// Counts a packet of `bits` that left the link at `now`. Only flows of controlled load count, each up to its peak rate.
    /// Calls come with non-decreasing `now`.
    #[inline]
    pub fn measured(&mut self, id: u64, bits: u32, now: Time) {
        self.advance(now);
        if let Some(&Reservation::ControlledLoad { node }) = self.flows.get(id) {
            self.load.count(bits, now, self.rates.bucket(node));
        }
    }

    /// Ends the samples that are over at `now`. The first call starts the measurement. A test sees the load as of the last call or departure.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        if !self.load.has_started() {
            self.for_buckets(|bucket| bucket.fill(now));
        }
        self.now = now;
        self.load.advance(now);
    }

    /// Moves instants far in the past up to where they still compare correctly; called at least every 2^61 ps (26 days).
    pub fn refresh(&mut self, now: Time) {
        self.advance(now);
        self.for_buckets(|bucket| bucket.refresh(now));
    }

    fn for_buckets(&mut self, change: impl Fn(&mut PeakBucket)) {
        for (_, reservation) in self.flows.iter() {
            if let Reservation::ControlledLoad { node } = *reservation {
                change(self.rates.bucket(node));
            }
        }
    }

    /// The error terms of a flow at this link: `C = M` and `D = Lmax/C`, which hold for shaped virtual clock, virtual clock and WF2Q+.
    pub const fn error_terms(&self, traffic: &TrafficSpec) -> ErrorTerms {
        ErrorTerms { rate_dependent: traffic.longest_packet(), rate_independent: self.packet_time }
    }

    /// The jitter that this link adds to a flow of `rate` bit/s: `M/rate + Lmax/C`.
    pub fn jitter(&self, traffic: &TrafficSpec, rate: u64) -> Duration {
        time_of(traffic.longest_packet(), rate) + self.packet_time
    }

    /// The sums computed from the flows: what [`Link::totals`] has to be.
    pub fn recomputed_totals(&self) -> Totals {
        let mut totals = Totals::default();
        for (_, reservation) in self.flows.iter() {
            match *reservation {
                Reservation::Guaranteed { rate, buffer } => {
                    totals.guaranteed_flows += 1;
                    totals.rate += rate;
                    totals.buffer += buffer;
                }
                Reservation::ControlledLoad { node } => {
                    let rates = self.rates.rates_of(node);
                    totals.controlled_load_flows += 1;
                    totals.sustained += rates.rho;
                    totals.peak += rates.peak;
                }
            }
        }
        totals
    }
}

/// Up to how many flows a build with assertions recomputes the sums at every change.
const CHECKED_FLOWS: usize = 64;

/// The time of `bits` at `rate` bit/s, rounded up.
fn time_of(bits: u64, rate: u64) -> Duration {
    let ps = (u128::from(bits) * u128::from(PICOSECONDS_PER_SECOND)).div_ceil(u128::from(rate));
    Duration::from_picoseconds(ps.try_into().unwrap_or(u64::MAX))
}
