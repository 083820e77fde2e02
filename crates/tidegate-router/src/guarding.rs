//! The guard of the bus in the machine: it reads the counters of the channels every period, and sets their vacancies.

use crate::arrivals::mean_length;
use crate::check::Invalid;
use crate::machine::{BusGuard, RouterFlow};
use crate::node::Node;
use crate::outcome::GuardUse;
use tidegate_core::fault;
use tidegate_core::guard::{Activity, Guard, GuardSettings, GuardedFlow, Ratio, Vacancies};

/// The running guard.
#[derive(Clone, Debug)]
pub(crate) struct Guarding {
    guard: Guard,
    period: u64,
    cost: u64,
    activity: Vec<Activity>,
    usage: GuardUse,
    /// The sum of the largest credits.
    credits: f64,
}

impl Guarding {
    /// A guard for channels in which nothing waits.
    ///
    /// # Errors
    /// A setting that the guard refuses.
    pub(crate) fn new(settings: &BusGuard, flows: &[RouterFlow], node: &Node) -> Result<Guarding, Invalid> {
        let period = settings.period.picoseconds() * if fault!(RouterActivatesLate) { 2 } else { 1 };
        let guarded = |flow: &RouterFlow| {
            let frame = node.bus.timing().bytes((mean_length(&flow.source) + 0.5) as u32);
            GuardedFlow { weight: flow.weight, frame: u32::try_from(frame).unwrap_or(u32::MAX) }
        };
        let of_guard = GuardSettings {
            capacity: node.bus.timing().capacity(period),
            efficiency: ratio(if fault!(RouterGivesWholeBus) { 1.0 } else { settings.efficiency }),
            clamp: settings.clamp.map(|clamp| Ratio { numerator: clamp, denominator: 1 }),
            threshold: ratio(settings.theta),
        };
        let guarded: Vec<GuardedFlow> = flows.iter().map(guarded).collect();
        let guard = Guard::new(&of_guard, &guarded).map_err(|error| Invalid {
            subject: "the guard".to_owned(),
            key: "period",
            problem: error.to_string(),
            expected: "a period in which the bus moves at least one byte".to_owned(),
        })?;
        Ok(Guarding {
            guard,
            period,
            cost: settings.cost.picoseconds() + settings.cost_per_flow.picoseconds() * flows.len() as u64,
            activity: vec![Activity::default(); flows.len()],
            usage: GuardUse::default(),
            credits: 0.0,
        })
    }

    pub(crate) fn period(&self) -> u64 {
        self.period
    }

    /// What the next activation costs the core.
    pub(crate) fn cost(&self) -> u64 {
        if self.guard.is_active() { self.cost } else { self.cost / 2 }
    }

    /// One activation.
    pub(crate) fn activate(&mut self, node: &mut Node) {
        for (way, activity) in node.ways.iter().zip(&mut self.activity) {
            let channel = &mut node.nics[way.input].channels[way.channel];
            let (accepted, moved) = (std::mem::take(&mut channel.accepted), std::mem::take(&mut channel.moved));
            *activity = Activity { accepted, moved, room: channel.free() };
        }
        let vacancies = self.guard.activate(&self.activity).expect("channels move what they accepted");
        node.is_guarded = vacancies != Vacancies::Open;
        for (flow, activity) in self.activity.iter().enumerate() {
            let vacancy = match vacancies {
                Vacancies::Open => activity.room,
                Vacancies::Limited(vacancies) => vacancies[flow],
            };
            node.set_vacancy(flow, vacancy);
        }
        self.measure(node.is_guarded);
    }

    fn measure(&mut self, is_active: bool) {
        let credit = |flow| self.guard.credit(flow).unwrap_or(0).unsigned_abs();
        let largest = (0..self.activity.len()).map(credit).max().unwrap_or(0) as f64 / self.guard.capacity() as f64;
        self.credits += largest;
        self.usage.activations += 1;
        self.usage.idle += u64::from(!is_active);
        self.usage.largest_credit = self.usage.largest_credit.max(largest);
    }

    /// Measurement begins.
    pub(crate) fn restart(&mut self) {
        (self.usage, self.credits) = (GuardUse::default(), 0.0);
    }

    /// What it did since.
    pub(crate) fn usage(&self) -> GuardUse {
        GuardUse { mean_credit: self.credits / self.usage.activations.max(1) as f64, ..self.usage }
    }
}

/// A fraction of 2^20.
fn ratio(value: f64) -> Ratio {
    Ratio { numerator: (value * f64::from(1 << 20) + 0.5) as u32, denominator: 1 << 20 }
}
