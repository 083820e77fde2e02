//! Builds the contracts of policers, of tagging senders and of shapers from their tables.

use crate::diagnostic::{Diagnostic, Span, alternatives};
use crate::document::{PoliceTable, ShapeTable};
use crate::units::{print_rate, print_size, print_time};
use crate::value::{At, Block, Bytes};
use tidegate_core::packet::Colour;
use tidegate_core::policer::{Conformance, Contract, ContractError, ContractField, Violation};
use tidegate_core::registry::{AnyPolicer, PolicerKind};
use tidegate_core::shaper::{Bucket, ShapingContract};
use tidegate_core::units::{Duration, MAX_BYTES, PICOSECONDS_PER_SECOND, Rate};
use tidegate_sim::Tagging;

/// The properties of a port that contracts depend on.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    /// The rate of the link.
    pub rate: Rate,
    /// The longest frame with its overhead, of the port or of the sender.
    pub longest: u32,
}

/// A policer and the contract it was built from.
#[derive(Clone, Debug)]
pub struct Policing {
    /// The algorithm.
    pub kind: PolicerKind,
    /// What it enforces.
    pub contract: Contract,
    /// Ready for use.
    pub policer: AnyPolicer,
}

impl Policing {
    /// Its burst in both measures, if it has one.
    pub(crate) fn bursts(&self) -> Option<Bursts> {
        let Contract { rate, peak_rate, longest_packet, .. } = self.contract;
        let burst = self.contract.burst?;
        Some(match self.kind {
            PolicerKind::DualGcra => Bursts::of(burst, rate, peak_rate, longest_packet),
            kind if counts_frames(kind) => Bursts { depth: burst, maximum: Some(burst) },
            _ => Bursts { depth: burst, maximum: None },
        })
    }

    /// True if it may change the colour of packets.
    pub fn marks(&self) -> bool {
        let Contract { violation, conformance, .. } = self.contract;
        if let Some(Violation::Mark(_)) = violation {
            return true;
        }
        match self.kind {
            PolicerKind::SrTcm | PolicerKind::TrTcm2698 | PolicerKind::TrTcm4115 => true,
            PolicerKind::Gfr => violation.is_none(),
            PolicerKind::GfrTm41 => conformance != Some(Conformance::Gfr1),
            _ => matches!(conformance, Some(Conformance::Vbr3 | Conformance::Ubr2)),
        }
    }
}

/// Builds the policer of a class.
pub(crate) fn police(table: &Block<PoliceTable>, wire: &Wire, findings: &mut Vec<Diagnostic>) -> Option<Policing> {
    let contract = contract(table, wire, findings)?;
    build(table, contract, wire, findings).map(|policer| Policing { kind: table.policer.value.0, contract, policer })
}

/// Builds the contract by which a sender tags its own packets.
pub(crate) fn tag(table: &Block<PoliceTable>, wire: &Wire, findings: &mut Vec<Diagnostic>) -> Option<Tagging> {
    let contract = contract(table, wire, findings)?;
    if let Some(at) = table.violation.as_ref().filter(|at| at.value.0 == Violation::Discard) {
        let finding = at.error("a sender marks what is beyond its contract, and discards nothing");
        findings.push(finding.help("write violation = \"yellow\" or \"red\", or remove it; a class of a policy can discard"));
        return None;
    }
    let contract = Contract { violation: contract.violation.or(Some(Violation::Mark(Colour::Yellow))), ..contract };
    build(table, contract, wire, findings).map(|_| Tagging { policer: table.policer.value.0, contract })
}

/// The contract of a table, if the table has all required keys and no unused one.
fn contract(table: &Block<PoliceTable>, wire: &Wire, findings: &mut Vec<Diagnostic>) -> Option<Contract> {
    let kind = table.policer.value.0;
    let mut is_complete = true;
    for &field in ContractField::ALL {
        let used = is_used(kind, field);
        let always = matches!(field, ContractField::Rate | ContractField::LongestPacket | ContractField::Violation);
        match given(table, field) {
            Some(span) if !used && !always => {
                let name = key(field, &table.maximum_burst);
                let finding = Diagnostic::error(span, format!("`{name}` is not used by policer {}", kind.name()));
                findings.push(finding.context(table.policer.span.clone(), "chosen here").help(uses(kind)));
                is_complete = false;
            }
            None if kind.requires().contains(&field) => {
                findings.push(table.policer.error(format!("policer {} needs `{}`", kind.name(), field.name())).help(uses(kind)));
                is_complete = false;
            }
            _ => {}
        }
    }
    for (key, written) in [("burst", &table.burst), ("maximum_burst", &table.maximum_burst)] {
        if let Some(at) =
            written.as_ref().filter(|_| is_used(kind, ContractField::Burst) && !keys(kind, ContractField::Burst).contains(&key))
        {
            let finding = at.error(format!("`{key}` is not used by policer {}", kind.name()));
            findings.push(finding.context(table.policer.span.clone(), "chosen here").help(uses(kind)));
            is_complete = false;
        }
    }
    let peak = table.peak_rate.as_ref().filter(|_| kind == PolicerKind::DualGcra);
    let burst = burst(&table.burst, &table.maximum_burst, (&table.rate, peak), wire, findings);
    let contract = Contract {
        peak_rate: value(&table.peak_rate),
        excess_rate: value(&table.excess_rate),
        burst: burst.unwrap_or_else(|()| {
            is_complete = false;
            None
        }),
        excess_burst: bytes(&table.excess_burst, findings),
        peak_burst: bytes(&table.peak_burst, findings),
        maximum_frame: bytes(&table.maximum_frame, findings),
        delay_variation_tolerance: value(&table.delay_variation_tolerance),
        conformance: table.conformance.as_ref().map(|name| name.value.0),
        colour_aware: value(&table.colour_aware),
        violation: table.violation.as_ref().map(|name| name.value.0),
        ..Contract::new(table.rate.value, wire.longest)
    };
    is_complete.then_some(contract)
}

fn build(table: &Block<PoliceTable>, contract: Contract, wire: &Wire, findings: &mut Vec<Diagnostic>) -> Option<AnyPolicer> {
    let built = table.policer.value.0.build(&contract);
    let at = |field| given(table, field).unwrap_or(table.span.clone());
    built.map_err(|error| findings.push(refused(&error, key(error.field, &table.maximum_burst), at(error.field), wire))).ok()
}

fn given(table: &PoliceTable, field: ContractField) -> Option<Span> {
    fn span<T>(value: &Option<At<T>>) -> Option<Span> {
        value.as_ref().map(|value| value.span.clone())
    }
    match field {
        ContractField::Rate => Some(table.rate.span.clone()),
        ContractField::LongestPacket => None,
        ContractField::PeakRate => span(&table.peak_rate),
        ContractField::ExcessRate => span(&table.excess_rate),
        ContractField::Burst => span(&table.burst).or(span(&table.maximum_burst)),
        ContractField::ExcessBurst => span(&table.excess_burst),
        ContractField::PeakBurst => span(&table.peak_burst),
        ContractField::MaximumFrame => span(&table.maximum_frame),
        ContractField::DelayVariationTolerance => span(&table.delay_variation_tolerance),
        ContractField::Conformance => span(&table.conformance),
        ContractField::ColourAware => span(&table.colour_aware),
        ContractField::Violation => span(&table.violation),
    }
}

fn uses(kind: PolicerKind) -> String {
    let names = |fields: &[ContractField]| alternatives(fields.iter().flat_map(|&field| keys(kind, field))).replace(" or ", " and ");
    match kind.accepts() {
        [] => format!("{} needs {}", kind.name(), names(kind.requires())),
        accepts => format!("{} needs {} and may have {}", kind.name(), names(kind.requires()), names(accepts)),
    }
}

fn is_used(kind: PolicerKind, field: ContractField) -> bool {
    kind.requires().contains(&field) || kind.accepts().contains(&field)
}

/// True for policers of a minimum rate, whose burst tolerance is defined by the maximum burst size alone.
pub(crate) fn counts_frames(kind: PolicerKind) -> bool {
    matches!(kind, PolicerKind::Gfr | PolicerKind::GfrTm41)
}

/// The keys under which a policer takes a field.
fn keys(kind: PolicerKind, field: ContractField) -> Vec<&'static str> {
    match (field, kind) {
        (ContractField::Burst, PolicerKind::DualGcra) => vec!["burst", "maximum_burst"],
        (ContractField::Burst, kind) if counts_frames(kind) => vec!["maximum_burst"],
        _ => vec![field.name()],
    }
}

/// The key under which the file gives a field.
fn key(field: ContractField, maximum_burst: &Option<At<Bytes>>) -> &'static str {
    if field == ContractField::Burst && maximum_burst.is_some() { "maximum_burst" } else { field.name() }
}

/// The two measures of one burst.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bursts {
    /// The key `burst`: the depth of a token bucket, in bytes.
    pub depth: u32,
    /// The key `maximum_burst`: what passes back to back at the peak rate, if there is one.
    pub maximum: Option<u32>,
}

impl Bursts {
    /// The measures of a contract's burst: the maximum burst size if there is a peak rate, otherwise the depth.
    pub(crate) fn of(burst: u32, rate: Rate, peak: Option<Rate>, longest: u32) -> Bursts {
        let Some(peak) = peak else { return Bursts { depth: burst, maximum: None } };
        let (rate, peak) = (u128::from(rate.bits_per_second()), u128::from(peak.bits_per_second()));
        // Rounded up, as `maximum_of_depth` rounds down: a depth from a file is printed as written.
        let beyond = (u128::from(burst.saturating_sub(longest)) * peak.saturating_sub(rate)).div_ceil(peak);
        Bursts { depth: longest + beyond as u32, maximum: Some(burst) }
    }

    /// The measures of a shape's burst.
    pub(crate) fn of_shape(shape: &ShapingContract) -> Bursts {
        Bursts::of(shape.burst, shape.rate, shape.peak, shape.longest_packet)
    }
}

/// The maximum burst size of a token bucket of this depth, rounded down: the bucket fills while a burst of longest frames leaves at the
/// peak rate. It is the depth if the peak rate is not above the rate, as the burst does not matter then.
fn maximum_of_depth(depth: u32, rate: Rate, peak: Rate, longest: u32) -> u64 {
    let (rate, peak) = (rate.bits_per_second(), peak.bits_per_second());
    match (depth.checked_sub(longest), peak.checked_sub(rate)) {
        (Some(beyond), Some(spare @ 1..)) => {
            let beyond = u128::from(beyond) * u128::from(peak) / u128::from(spare);
            u64::try_from(beyond).unwrap_or(u64::MAX).saturating_add(longest.into())
        }
        _ => depth.into(),
    }
}

/// The burst in a contract's measure, from either key.
fn burst(
    depth: &Option<At<Bytes>>,
    maximum: &Option<At<Bytes>>,
    (rate, peak): (&At<Rate>, Option<&At<Rate>>),
    wire: &Wire,
    findings: &mut Vec<Diagnostic>,
) -> Result<Option<u32>, ()> {
    remark_on_burst(depth, rate.value, findings);
    remark_on_burst(maximum, rate.value, findings);
    if let (Some(depth), Some(maximum)) = (depth, maximum) {
        let finding = maximum.error("`burst` and `maximum_burst` both measure the burst");
        let help = "keep one: `burst` counts what passes ahead of the rate, `maximum_burst` what passes back to back at `peak_rate`";
        findings.push(finding.context(depth.span.clone(), "`burst` is given here").help(help));
        return Err(());
    }
    let (Some(at), Some(peak)) = (depth, peak) else { return Ok(bytes(depth, findings).or_else(|| bytes(maximum, findings))) };
    let Some(bytes) = bytes(depth, findings) else { return Ok(None) };
    let back_to_back = maximum_of_depth(bytes, rate.value, peak.value, wire.longest);
    if back_to_back > u64::from(MOST_BACK_TO_BACK.max(bytes)) {
        let problem = format!(
            "a burst of {} is more than 2^29 bytes back to back at a peak rate of {}",
            print_size(bytes.into()),
            print_rate(peak.value)
        );
        let finding = at.error(problem).context(peak.span.clone(), "so near the rate");
        findings.push(finding.help("write a higher `peak_rate`, a smaller `burst`, or a `maximum_burst` in place of `burst`"));
        return Err(());
    }
    Ok(Some(back_to_back as u32))
}

/// The largest maximum burst size of a policer in bytes.
const MOST_BACK_TO_BACK: u32 = (1 << 29) - 1;

/// Builds the contract that a class or a group is shaped to.
pub(crate) fn shape(table: &Block<ShapeTable>, wire: &Wire, findings: &mut Vec<Diagnostic>) -> Option<ShapingContract> {
    if let (Some(at), None) = (&table.maximum_burst, &table.peak_rate) {
        let finding = at.error("`maximum_burst` needs `peak_rate`, at which it is counted");
        findings.push(finding.help("write `peak_rate` too, or `burst`, which counts what leaves ahead of the rate"));
        return None;
    }
    let burst = burst(&table.burst, &table.maximum_burst, (&table.rate, table.peak_rate.as_ref()), wire, findings).ok()?;
    let contract = ShapingContract {
        rate: table.rate.value,
        burst: burst.unwrap_or(wire.longest),
        longest_packet: wire.longest,
        peak: value(&table.peak_rate),
        tolerance: value(&table.delay_variation_tolerance).unwrap_or_else(|| default_tolerance(wire)),
        bucket: table.bucket.as_ref().map_or(Bucket::Single, |at| at.value.0),
    };
    if let (Some(at), true) = (&table.bucket, contract.bucket == Bucket::Dual && contract.burst == contract.longest_packet) {
        let finding = at.warning("a dual bucket makes no difference to a burst of one longest frame");
        findings.push(finding.help("write a larger `burst`, after which it pauses until the bucket is full again"));
    }
    if table.rate.value > wire.rate {
        let problem = format!("shaping to {} does nothing on a link of {}", print_rate(table.rate.value), print_rate(wire.rate));
        findings.push(table.rate.warning(problem));
    }
    match contract.allowance() {
        Ok(_) => Some(contract),
        Err(error) => {
            let at = match error.field {
                ContractField::Burst => table.burst.as_ref().or(table.maximum_burst.as_ref()).map(|burst| burst.span.clone()),
                ContractField::PeakRate => table.peak_rate.as_ref().map(|peak| peak.span.clone()),
                ContractField::DelayVariationTolerance => table.delay_variation_tolerance.as_ref().map(|tolerance| tolerance.span.clone()),
                _ => None,
            };
            findings.push(refused(&error, key(error.field, &table.maximum_burst), at.unwrap_or(table.span.clone()), wire));
            None
        }
    }
}

/// Bursts of more than this many seconds at the rate get a warning.
const LONG_BURST: u64 = 10;

/// Warns of a burst that takes longer than [`LONG_BURST`] at the rate.
fn remark_on_burst(burst: &Option<At<Bytes>>, rate: Rate, findings: &mut Vec<Diagnostic>) {
    let Some(at) = burst else { return };
    let time = u128::from(at.value.0) * 8 * u128::from(PICOSECONDS_PER_SECOND) / u128::from(rate.bits_per_second());
    if time > u128::from(LONG_BURST * PICOSECONDS_PER_SECOND) {
        let problem = format!("a burst of {} is what {} lets through in {}", print_size(at.value.0), print_rate(rate), print_time(time));
        let finding = at.warning(problem);
        findings.push(finding.help("that much may pass at once, at the rate of the link, after every pause: write a smaller burst"));
    }
}

/// The time of one longest frame: a packet may wait for one other packet without losing rate.
fn default_tolerance(wire: &Wire) -> Duration {
    wire.rate.time_per_byte().ceil(wire.longest)
}

fn refused(error: &ContractError, key: &str, span: Span, wire: &Wire) -> Diagnostic {
    let finding = Diagnostic::error(span, format!("`{key}` {}", error.problem));
    match error.field {
        ContractField::Burst | ContractField::ExcessBurst | ContractField::PeakBurst | ContractField::MaximumFrame => {
            finding.help(format!("the longest frame takes {} on the wire, overhead included", print_size(u64::from(wire.longest))))
        }
        _ => finding,
    }
}

fn value<T: Copy>(value: &Option<At<T>>) -> Option<T> {
    value.as_ref().map(|value| value.value)
}

fn bytes(value: &Option<At<Bytes>>, findings: &mut Vec<Diagnostic>) -> Option<u32> {
    let value = value.as_ref()?;
    if value.value.0 > u64::from(MAX_BYTES) {
        findings.push(value.error("a burst is less than 2^30 bytes (1073.741824 MB)"));
    }
    Some(value.value.0.min(u64::from(MAX_BYTES)) as u32)
}
