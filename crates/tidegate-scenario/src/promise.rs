//! Promises to classes and flows, and whether the measured values keep them.

use crate::diagnostic::Diagnostic;
use crate::document::PromiseTable;
use crate::guarantee::LeastRate;
use crate::units::{Ratio, print_duration, print_rate, print_ratio};
use crate::value::{At, Block, Percentile};
use tidegate_core::units::{Duration, Overhead, Rate};

/// A promise. Every given value must be kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Promise {
    /// The delay at the percentile.
    pub delay: Option<Duration>,
    /// The percentile of packets that `delay` refers to.
    pub percentile: Percentile,
    /// The largest share of packets lost, for whatever reason.
    pub loss: Option<Ratio>,
    /// The least rate delivered, in frames without overhead.
    pub rate: Option<Rate>,
}

/// The measured values of a class or a flow.
pub struct Measured<'a> {
    /// The delay in seconds that the given share of packets (0 to 1) stays within; `None` if no packet was delivered.
    pub delay_quantile_s: &'a dyn Fn(f64) -> Option<f64>,
    /// The share of packets lost, 0 to 1; `None` if no packet was offered.
    pub loss: Option<f64>,
    /// The rate delivered in bit/s, in frames without overhead.
    pub rate_bps: f64,
}

/// One value of a promise beside the measured one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judgement {
    /// The promise: `delay p99 at most 20 ms`.
    pub promise: String,
    /// The measured value: `12.4 ms`.
    pub measured: String,
    /// True if it was kept.
    pub kept: bool,
}

impl Promise {
    /// Reads the table.
    pub(crate) fn resolve(table: &Block<PromiseTable>, findings: &mut Vec<Diagnostic>) -> Promise {
        if let (None, Some(percentile)) = (&table.delay, &table.percentile) {
            let finding = percentile.error("`percentile` promises nothing without `delay`");
            findings.push(finding.help("add the delay that this percentile of packets is to stay within"));
        } else if table.delay.is_none() && table.loss.is_none() && table.rate.is_none() {
            findings.push(table.error("this promise is empty").help("promise at least one of `delay`, `loss` and `rate`, or remove it"));
        }
        Promise {
            delay: table.delay.as_ref().map(|delay| delay.value),
            percentile: table.percentile.as_ref().map_or(Percentile::NINETY_NINE, |percentile| percentile.value),
            loss: table.loss.as_ref().map(|loss| loss.value),
            rate: table.rate.as_ref().map(|rate| rate.value),
        }
    }

    /// One text per promised value, in the order of [`Promise::judge`].
    pub fn texts(&self) -> Vec<String> {
        let delay = self.delay.map(|delay| format!("delay p{} at most {}", self.percentile, print_duration(delay)));
        let loss = self.loss.map(|loss| format!("loss at most {}", print_ratio(loss)));
        let rate = self.rate.map(|rate| format!("rate at least {}", print_rate(rate)));
        [delay, loss, rate].into_iter().flatten().collect()
    }

    /// Compares every value with the measured one. Without a measured value the promise is broken.
    pub fn judge(&self, measured: &Measured<'_>) -> Vec<Judgement> {
        let delay = self.delay.map(|promised| match (measured.delay_quantile_s)(self.percentile.quantile()) {
            Some(seconds) => (seconds <= promised.picoseconds() as f64 / 1e12, scaled(seconds, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "us")])),
            None => (false, "no packet was delivered".to_owned()),
        });
        let loss = self.loss.map(|promised| match measured.loss {
            Some(loss) => (loss <= promised.as_f64(), scaled(loss * 100.0, &[(1.0, "%")])),
            None => (false, "no packet was offered".to_owned()),
        });
        let rate = self.rate.map(|promised| {
            let bps = measured.rate_bps;
            (bps >= promised.bits_per_second() as f64, about(bps))
        });
        let results = [delay, loss, rate].into_iter().flatten();
        self.texts().into_iter().zip(results).map(|(promise, (kept, measured))| Judgement { promise, measured, kept }).collect()
    }
}

/// Converts rates on the wire to rates of frames without overhead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameRate {
    pub overhead: Overhead,
    pub longest_frame: u32,
}

impl FrameRate {
    /// The highest rate of frames at a rate on the wire.
    fn most(self, rate: Rate) -> u64 {
        let (frame, wire) = match self.overhead {
            // A cell carries 48 of its 53 bytes, whatever the length of the frame.
            Overhead::Aal5 => (48, 53),
            _ => (self.longest_frame.into(), self.overhead.wire_length(self.longest_frame).into()),
        };
        (u128::from(rate.bits_per_second()) * frame / u128::max(wire, 1)) as u64
    }
}

/// Reports a promised rate of frames above what `wire` can carry; `what` names that rate. True if it can be carried.
pub(crate) fn judge_promised_rate(
    promised: Rate,
    at: &At<Rate>,
    wire: &At<Rate>,
    what: &str,
    frames: FrameRate,
    findings: &mut Vec<Diagnostic>,
) -> bool {
    let most = frames.most(wire.value);
    if promised.bits_per_second() <= most {
        return true;
    }
    let problem = match promised > wire.value {
        true => format!("the promised rate is above {what}"),
        false => {
            let most = LeastRate::whole(most);
            format!("the promised rate, in frames without overhead, is above the {most} that {what} carries of them at most")
        }
    };
    findings.push(at.error(problem).context(wire.span.clone(), what).help(format!("promise less, or raise {what}")));
    false
}

/// A rate in bit/s with four significant digits.
pub(crate) fn about(bps: f64) -> String {
    scaled(bps, &[(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")])
}

/// A number with four significant digits, in the first unit that is not above it, or else in the last.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let last = units[units.len() - 1];
    let (factor, unit) = units.iter().copied().find(|unit| value >= unit.0).unwrap_or(last);
    let number = value / factor;
    let decimals = if number >= 1000.0 { 0 } else { 3 - number.max(1.0).log10().floor() as usize };
    let text = format!("{number:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    // A small loss must not print as 0.
    if text == "0" && value > 0.0 { format!("{number:.2e} {unit}") } else { format!("{text} {unit}") }
}

#[cfg(test)]
mod tests;
