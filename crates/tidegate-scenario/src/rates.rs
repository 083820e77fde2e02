//! The rates of a link that varies: from its table in a file, or from a trace beside the file.

use crate::diagnostic::Diagnostic;
use crate::document::{File, RatesTable};
use crate::rate_trace::{TraceFormat, mahimahi, rates};
use crate::texts::Texts;
use crate::units::{plural, print_duration, print_rate};
use crate::value::Block;
use tidegate_core::port::{RateStep, RateStepError, VaryingRate};
use tidegate_core::units::{Duration, Rate};

/// The bytes of an opportunity in a mahimahi trace.
const OPPORTUNITY: u64 = 1500;

/// Reads the traces that the tables of a file name, each beside the file.
pub(crate) fn read_traces(file: &mut File, texts: &mut Texts, findings: &mut Vec<Diagnostic>) {
    let of_policies = file.policy.0.iter_mut().filter_map(|(_, policy)| policy.value.link.as_mut()?.value.rates.as_mut());
    let of_links = file.link.iter_mut().filter_map(|link| link.value.rates.as_mut());
    for table in of_policies.chain(of_links) {
        let Some(trace) = &table.value.trace else { continue };
        let format = table.value.format.as_ref().map_or(TraceFormat::default(), |at| at.value.0);
        let opportunity = table.value.opportunity.as_ref().map_or(OPPORTUNITY, |at| at.value.0);
        let steps = texts.text("trace", &trace.0).and_then(|text| {
            let steps = match format {
                TraceFormat::Rates => rates(&text).map(|steps| (steps, None)),
                TraceFormat::Mahimahi => mahimahi(&text, opportunity).map(|(steps, period)| (steps, Some(period))),
            };
            steps.map_err(|problem| format!("the trace {}: {problem}", trace.0))
        });
        match steps {
            Ok(steps) => table.value.read = Some(steps),
            Err(problem) => findings.push(trace.error(problem).help("see the formats of `rates` in the reference")),
        }
    }
}

/// The rates of a link that has `first` until its first step; `None` if the table is at fault, which is reported.
pub(crate) fn varying(table: &Block<RatesTable>, first: Rate, findings: &mut Vec<Diagnostic>) -> Option<VaryingRate> {
    let before = findings.len();
    judge_keys(table, findings);
    if findings.len() > before {
        return None;
    }
    let (mut steps, mut period) = match (&table.steps, &table.read) {
        (Some(steps), None) => (steps.iter().map(|step| RateStep { at: step.at.value, rate: step.rate.value.0 }).collect(), None),
        (None, Some(read)) => read.clone(),
        _ => return None,
    };
    period = table.repeat.as_ref().map(|at| at.value).or(period);
    let has_first = steps.first().is_some_and(|step: &RateStep| step.at > Duration::ZERO);
    if has_first {
        steps.insert(0, RateStep { at: Duration::ZERO, rate: Some(first) });
    }
    let count = steps.len();
    let rates = VaryingRate::new(steps, period);
    rates.map_err(|error| findings.push(fault(table, error, count, usize::from(has_first)))).ok()
}

fn judge_keys(table: &Block<RatesTable>, findings: &mut Vec<Diagnostic>) {
    match (&table.steps, &table.trace) {
        (Some(_), Some(trace)) => findings.push(trace.error("`steps` and `trace` both say what the rates are").help("keep one of them")),
        (None, None) => findings.push(
            table
                .error("`rates` has neither `steps` nor `trace`")
                .help("add steps = [{ at = \"10 s\", rate = \"5 Mbit/s\" }], or the name of a trace"),
        ),
        _ => {}
    }
    let is_mahimahi = table.format.as_ref().is_some_and(|at| at.value.0 == TraceFormat::Mahimahi);
    if let (None, Some(at)) = (&table.trace, &table.format) {
        findings.push(at.error("`format` has no effect without a `trace`").help("remove it"));
    }
    if let (false, Some(at)) = (is_mahimahi, &table.opportunity) {
        findings.push(at.error("`opportunity` has no effect without format = \"mahimahi\"").help("remove it"));
    }
    if let Some(at) = table.opportunity.as_ref().filter(|at| at.value.0 == 0) {
        findings.push(at.error("an opportunity of no byte carries nothing").help("write a size like \"1500 B\""));
    }
    if let (true, Some(at)) = (is_mahimahi, &table.repeat) {
        findings.push(at.error("a mahimahi trace repeats at its last instant").help("remove `repeat`"));
    }
}

/// Why the steps make no link; `shift` is 1 if a step was put before them.
fn fault(table: &Block<RatesTable>, error: RateStepError, count: usize, shift: usize) -> Diagnostic {
    let at_step = |number: usize, problem: &str| {
        let step = table.steps.as_ref().and_then(|steps| steps.get(number.checked_sub(shift)?));
        match (step, &table.repeat) {
            (Some(step), _) => step.at.error(problem.to_owned()),
            (None, Some(repeat)) if number == count => repeat.error(problem.to_owned()),
            _ => table.error(problem.to_owned()),
        }
    };
    match error {
        RateStepError::TooShort(number) => at_step(number, "this comes less than 10 us after the step before")
            .help("write steps in the order of their instants, and a longer `repeat`"),
        RateStepError::TooLong(number) => at_step(number, "a link can be followed for at most 26 days").help("write a shorter time"),
        RateStepError::Down if table.repeat.is_some() => table.error("the link is always down").help("give a step a rate above 0"),
        RateStepError::Down => table.error("the link stays down after its last step").help("end with a rate above 0, or add `repeat`"),
        RateStepError::Start => table.error("`rates` has no step").help("add one, like { at = \"10 s\", rate = \"5 Mbit/s\" }"),
    }
}

/// The same for a port whose longest frame has this many bytes on the wire, and which may send cells; reports what a port cannot follow.
pub(crate) fn judged(
    table: &Block<RatesTable>,
    first: Rate,
    longest: u32,
    sends_cells: bool,
    findings: &mut Vec<Diagnostic>,
) -> Option<VaryingRate> {
    let rates = varying(table, first, findings)?;
    if sends_cells {
        let finding = table.error("the cells of an adapter have slots of one length, and the rate varies");
        findings.push(finding.help("remove `rates`, or `cells`"));
    }
    if rates.longest_transmission(longest) == Duration::MAX {
        let problem = format!("a frame of {longest} B on the wire might take more than 26 days");
        findings.push(table.error(problem).help("raise the rates, or shorten the outages"));
    }
    Some(rates)
}

/// The rates in words.
pub(crate) fn describe(rates: &VaryingRate) -> String {
    let least = rates.least().map_or("outages".to_owned(), print_rate);
    let period = rates.period().map_or(String::new(), |period| format!(", repeated after {}", print_duration(period)));
    format!("rates from {least} to {} in {}{period}", print_rate(rates.greatest()), plural(rates.steps().len(), "step"))
}

/// Why nothing is guaranteed at a link with these rates.
pub(crate) fn unproven(rates: &VaryingRate) -> String {
    let least = rates.least().map_or("has outages".to_owned(), |least| format!("falls to {}", print_rate(least)));
    format!("the rate of the link varies and {least}")
}
