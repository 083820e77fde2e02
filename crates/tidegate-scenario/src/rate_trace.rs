//! The rate of a step, and traces of the rate of a link: text files, one line each.
//!
//! * `rates`: an instant in seconds and a rate in bits per second, which holds until the next line. A rate of 0 is an outage.
//! * `mahimahi`: an instant in milliseconds at which one packet of the greatest length may leave; several lines of one instant are several packets.
//!
//! An opportunity of a mahimahi trace becomes a millisecond that ends at its instant and carries that many bytes. So at every instant of the
//! trace the link has carried as much as the trace allows, and what no packet uses is lost as it is there.

use crate::units::{self, pattern};
use crate::value::{Leaf, Scalar, expect_text};
use serde_json::{Value, json};
use tidegate_core::port::{RateStep, VaryingRate};
use tidegate_core::units::{Duration, Rate};

/// How a trace is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TraceFormat {
    /// Seconds and bits per second.
    #[default]
    Rates,
    /// Milliseconds of delivery opportunities.
    Mahimahi,
}

/// A rate, or 0 for an outage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepRate(pub Option<Rate>);

impl Leaf for StepRate {
    const NAME: &'static str = "rate or outage";
    fn schema() -> Value {
        json!({ "type": "string", "pattern": pattern::RATE })
    }
    fn read(scalar: &Scalar<'_>) -> Result<StepRate, String> {
        let text = expect_text(scalar, "a rate in quotes, like \"5 Mbit/s\"")?;
        let number = text.trim().split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
        let is_zero = !number.is_empty() && number.bytes().all(|byte| matches!(byte, b'0' | b'.'));
        // The unit of an outage is judged with another number.
        let judged = if is_zero { text.replacen(number, "1000", 1) } else { text.to_owned() };
        units::rate(&judged).map(|rate| StepRate((!is_zero).then_some(rate)))
    }
}

/// The most steps of a trace.
const MOST_STEPS: usize = 1_000_000;

/// The bits per second of one byte per millisecond.
const BYTE_PER_MILLISECOND: u64 = 8_000;

/// The lines of a trace that say something, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).map(|(number, line)| (number, line.trim())).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Steps of a trace of rates, in the order of the file.
///
/// # Errors
/// The line, and what is wrong with it.
pub(crate) fn rates(text: &str) -> Result<Vec<RateStep>, String> {
    let mut steps: Vec<RateStep> = Vec::new();
    for (number, line) in lines(text) {
        let fields: Vec<&str> = line.split([',', ' ', '\t']).filter(|field| !field.is_empty()).collect();
        let [seconds, bits] = fields[..] else {
            return Err(format!("line {number}: expected seconds and bits per second, like 1.5 3000000, not {line:?}"));
        };
        let at = units::duration(&format!("{seconds} s")).map_err(|problem| format!("line {number}: {problem}"))?;
        let whole: u64 = bits.parse().map_err(|_| format!("line {number}: expected a whole number of bits per second, not {bits:?}"))?;
        let rate = match whole {
            0 => None,
            whole => Some(Rate::new(whole).map_err(|_| format!("line {number}: the rate {whole} is outside 1 kbit/s to 400 Gbit/s"))?),
        };
        if let Some(last) = steps.last().filter(|last| at < last.at + VaryingRate::SHORTEST_STEP) {
            let last = units::print_duration(last.at);
            return Err(format!("line {number}: {seconds} s is less than 10 us after the line before, which is at {last}"));
        }
        if at > VaryingRate::LONGEST {
            return Err(format!("line {number}: {seconds} s is beyond the 26 days that a link can be followed"));
        }
        match steps.last() {
            Some(last) if last.rate == rate => {}
            _ => steps.push(RateStep { at, rate }),
        }
        if steps.len() > MOST_STEPS {
            return Err(format!("line {number}: a trace has at most {MOST_STEPS} steps"));
        }
    }
    if steps.is_empty() { Err("it has no line with a rate".to_owned()) } else { Ok(steps) }
}

/// Steps of a mahimahi trace whose opportunities carry this many bytes, and the period after which it repeats.
///
/// # Errors
/// The line, and what is wrong with it.
pub(crate) fn mahimahi(text: &str, opportunity: u64) -> Result<(Vec<RateStep>, Duration), String> {
    // Instants and the numbers of their opportunities.
    let mut instants: Vec<(u64, u64)> = Vec::new();
    for (number, line) in lines(text) {
        let instant: u64 = line.parse().map_err(|_| format!("line {number}: expected a whole number of milliseconds, not {line:?}"))?;
        if Duration::from_milliseconds(1).picoseconds().checked_mul(instant).is_none_or(|at| at > VaryingRate::LONGEST.picoseconds()) {
            return Err(format!("line {number}: {instant} ms is beyond the 26 days that a link can be followed"));
        }
        match instants.last_mut() {
            Some((last, count)) if *last == instant => *count += 1,
            Some((last, _)) if *last > instant => return Err(format!("line {number}: {instant} ms comes after {last} ms")),
            _ => instants.push((instant, 1)),
        }
        if instants.len() > MOST_STEPS / 2 {
            return Err(format!("line {number}: a trace has at most {} instants", MOST_STEPS / 2));
        }
    }
    let period = instants.last().map_or(0, |last| last.0);
    if period == 0 {
        return Err("it has no opportunity after its start, and so no period".to_owned());
    }
    // The end of one period is the begin of the next.
    if instants[0].0 == 0 {
        let (_, count) = instants.remove(0);
        instants.last_mut().into_iter().for_each(|last| last.1 += count);
    }
    let mut steps = vec![RateStep { at: Duration::ZERO, rate: None }];
    let mut push = |at: u64, rate: Option<Rate>| {
        let at = Duration::from_milliseconds(at);
        if steps.last().is_some_and(|last| last.at == at) {
            steps.pop();
        }
        if steps.last().is_none_or(|last| last.rate != rate) {
            steps.push(RateStep { at, rate });
        }
    };
    for (instant, count) in instants {
        let bits = opportunity.saturating_mul(count).saturating_mul(BYTE_PER_MILLISECOND);
        let rate = Rate::new(bits).map_err(|_| format!("{count} opportunities at {instant} ms make {bits} bit/s, above 400 Gbit/s"))?;
        push(instant - 1, Some(rate));
        if instant < period {
            push(instant, None);
        }
    }
    Ok((steps, Duration::from_milliseconds(period)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(steps: &[RateStep]) -> String {
        let step = |step: &RateStep| {
            format!("{}:{}", step.at.picoseconds() / 1_000_000_000, step.rate.map_or(0, |rate| rate.bits_per_second() / 1_000))
        };
        steps.iter().map(step).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_trace_of_rates_is_read_line_by_line() {
        let steps = rates("# seconds, bits per second\n0, 8000000\n\n0.5 2000000\n1.25\t2000000\n2 0\n3 64000\n").unwrap();
        assert_eq!(shown(&steps), "0:8000 500:2000 2000:0 3000:64");
        for (text, problem) in [
            ("", "it has no line with a rate"),
            ("0 8000000\n1", "line 2: expected seconds and bits per second, like 1.5 3000000, not \"1\""),
            ("0 8e6", "line 1: expected a whole number of bits per second, not \"8e6\""),
            ("0 8", "line 1: the rate 8 is outside 1 kbit/s to 400 Gbit/s"),
            ("1 8000\n0.5 9000", "line 2: 0.5 s is less than 10 us after the line before, which is at 1 s"),
        ] {
            assert_eq!(rates(text).unwrap_err(), problem);
        }
        assert!(rates("-1 8000").unwrap_err().starts_with("line 1: "));
    }

    #[test]
    fn opportunities_end_at_their_instants() {
        let (steps, period) = mahimahi("1\n3\n3\n4\n10\n", 1500).unwrap();
        assert_eq!(shown(&steps), "0:12000 1:0 2:24000 3:12000 4:0 9:12000");
        assert_eq!(period, Duration::from_milliseconds(10));
        // The end of the trace is the begin of the next round.
        let (steps, _) = mahimahi("0\n0\n5\n", 1500).unwrap();
        assert_eq!(shown(&steps), "0:0 4:36000");
        let (steps, _) = mahimahi("1\n2\n3\n", 1500).unwrap();
        assert_eq!(shown(&steps), "0:12000");
        for (text, problem) in [
            ("0\n0\n", "it has no opportunity after its start, and so no period"),
            ("5\n4\n", "line 2: 4 ms comes after 5 ms"),
            ("5\n6.5\n", "line 2: expected a whole number of milliseconds, not \"6.5\""),
        ] {
            assert_eq!(mahimahi(text, 1500).unwrap_err(), problem);
        }
        assert_eq!(
            mahimahi(&"1\n".repeat(40_000), 1500).unwrap_err(),
            "40000 opportunities at 1 ms make 480000000000 bit/s, above 400 Gbit/s"
        );
    }

    fn read(text: &str) -> Result<StepRate, String> {
        StepRate::read(&Scalar::Text(text.into()))
    }

    #[test]
    fn an_outage_is_a_rate_of_zero() {
        assert_eq!(read("0 bit/s"), Ok(StepRate(None)));
        assert_eq!(read("0.0 Mbit/s"), Ok(StepRate(None)));
        assert_eq!(read("0.5 Mbit/s"), Ok(StepRate(Rate::new(500_000).ok())));
        assert!(read("0 Mbits").is_err() && read("1 bit/s").is_err() && read("").is_err());
    }
}
