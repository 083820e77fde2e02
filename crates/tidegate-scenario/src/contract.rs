//! Contracts of policers, of senders that tag and of shapers, from what a file says.

use crate::bounds::print_time;
use crate::diagnostic::{Diagnostic, Span, alternatives};
use crate::document::{PoliceTable, ShapeTable};
use crate::tree::Ceiling;
use crate::units::{print_rate, print_size};
use crate::value::{At, Block, Bytes};
use tidegate_core::packet::Colour;
use tidegate_core::policer::{Conformance, Contract, ContractError, ContractField, Violation};
use tidegate_core::registry::{AnyPolicer, PolicerKind};
use tidegate_core::shaper::ShapingContract;
use tidegate_core::units::{Duration, MAX_BYTES, PICOSECONDS_PER_SECOND, Rate};
use tidegate_sim::Tagging;

/// What contracts need to know of the port.
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
    /// The most that it lets pass, whatever comes; `None` if it marks and lets everything pass.
    pub(crate) fn ceiling(&self) -> Option<Ceiling> {
        let Contract { rate, peak_rate, excess_rate, conformance, delay_variation_tolerance, .. } = self.contract;
        let usual = if self.kind == PolicerKind::Gfr { Violation::Mark(Colour::Yellow) } else { Violation::Discard };
        if self.contract.violation.unwrap_or(usual) != Violation::Discard {
            return None;
        }
        let rate = rate.bits_per_second();
        let higher = |other: Option<Rate>| other.map_or(rate, |other| rate.max(other.bits_per_second()));
        let rate = match (self.kind, conformance) {
            (PolicerKind::Gcra | PolicerKind::SrTcm, _) | (PolicerKind::DualGcra, Some(Conformance::Vbr1)) => rate,
            (PolicerKind::TrTcm4115, _) => excess_rate.map_or(rate, |excess| rate.saturating_add(excess.bits_per_second())),
            // What exceeds the sustained rate is marked; only the peak rate discards.
            (PolicerKind::DualGcra | PolicerKind::TrTcm2698 | PolicerKind::Gfr | PolicerKind::GfrTm41, _) => higher(peak_rate),
        };
        let Contract { burst, excess_burst, peak_burst, maximum_frame, longest_packet, .. } = self.contract;
        let bursts = [burst, excess_burst, peak_burst, maximum_frame, Some(longest_packet)].into_iter().flatten();
        let tolerance = delay_variation_tolerance.map_or(0.0, |tolerance| tolerance.picoseconds() as f64 / 1e12 * rate as f64 / 8.0);
        Some(Ceiling { rate, burst: bursts.map(f64::from).sum::<f64>() + tolerance, at_service: false })
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

/// Builds the contract to which a sender holds its own packets.
pub(crate) fn tag(table: &Block<PoliceTable>, wire: &Wire, findings: &mut Vec<Diagnostic>) -> Option<Tagging> {
    let contract = contract(table, wire, findings)?;
    if let Some(at) = table.violation.as_ref().filter(|at| at.value.0 == Violation::Discard) {
        let finding = Diagnostic::error(at.span.clone(), "a sender marks what is beyond its contract, and discards nothing");
        findings.push(finding.help("write violation = \"yellow\" or \"red\", or remove it; a class of a policy can discard"));
        return None;
    }
    let contract = Contract { violation: contract.violation.or(Some(Violation::Mark(Colour::Yellow))), ..contract };
    build(table, contract, wire, findings).map(|_| Tagging { policer: table.policer.value.0, contract })
}

/// The contract of a table, if it has what its policer needs and nothing else.
fn contract(table: &Block<PoliceTable>, wire: &Wire, findings: &mut Vec<Diagnostic>) -> Option<Contract> {
    let kind = table.policer.value.0;
    let mut is_complete = true;
    for &field in ContractField::ALL {
        let used = kind.requires().contains(&field) || kind.accepts().contains(&field);
        let always = matches!(field, ContractField::Rate | ContractField::LongestPacket | ContractField::Violation);
        match given(table, field) {
            Some(span) if !used && !always => {
                let finding = Diagnostic::error(span, format!("`{}` is not used by policer {}", field.name(), kind.name()));
                findings.push(finding.context(table.policer.span.clone(), "chosen here").help(uses(kind)));
                is_complete = false;
            }
            None if kind.requires().contains(&field) => {
                let finding = Diagnostic::error(table.policer.span.clone(), format!("policer {} needs `{}`", kind.name(), field.name()));
                findings.push(finding.help(uses(kind)));
                is_complete = false;
            }
            _ => {}
        }
    }
    remark_on_burst(&table.burst, table.rate.value, findings);
    let contract = Contract {
        peak_rate: value(&table.peak_rate),
        excess_rate: value(&table.excess_rate),
        burst: bytes(&table.burst, findings),
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
    built.map_err(|error| findings.push(refused(&error, given(table, error.field).unwrap_or(table.span.clone()), wire))).ok()
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
        ContractField::Burst => span(&table.burst),
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
    let names = |fields: &[ContractField]| alternatives(fields.iter().map(|field| field.name())).replace(" or ", " and ");
    match kind.accepts() {
        [] => format!("{} needs {}", kind.name(), names(kind.requires())),
        accepts => format!("{} needs {} and may have {}", kind.name(), names(kind.requires()), names(accepts)),
    }
}

/// Builds the contract that a class or a group is shaped to.
pub(crate) fn shape(table: &Block<ShapeTable>, wire: &Wire, findings: &mut Vec<Diagnostic>) -> Option<ShapingContract> {
    let contract = ShapingContract {
        rate: table.rate.value,
        burst: bytes(&table.burst, findings).unwrap_or(wire.longest),
        longest_packet: wire.longest,
        peak: value(&table.peak_rate),
        tolerance: value(&table.delay_variation_tolerance).unwrap_or_else(|| default_tolerance(wire)),
    };
    remark_on_burst(&table.burst, table.rate.value, findings);
    if table.rate.value > wire.rate {
        let problem = format!("shaping to {} does nothing on a link of {}", print_rate(table.rate.value), print_rate(wire.rate));
        findings.push(Diagnostic::warning(table.rate.span.clone(), problem));
    }
    match contract.allowance() {
        Ok(_) => Some(contract),
        Err(error) => {
            let at = match error.field {
                ContractField::Burst => table.burst.as_ref().map(|burst| burst.span.clone()),
                ContractField::PeakRate => table.peak_rate.as_ref().map(|peak| peak.span.clone()),
                ContractField::DelayVariationTolerance => table.delay_variation_tolerance.as_ref().map(|tolerance| tolerance.span.clone()),
                _ => None,
            };
            findings.push(refused(&error, at.unwrap_or(table.span.clone()), wire));
            None
        }
    }
}

/// A burst that is as much as the rate lets through in this many seconds is remarked on.
const LONG_BURST: u64 = 10;

/// Remarks on a burst beside which the rate hardly counts.
fn remark_on_burst(burst: &Option<At<Bytes>>, rate: Rate, findings: &mut Vec<Diagnostic>) {
    let Some(at) = burst else { return };
    let time = u128::from(at.value.0) * 8 * u128::from(PICOSECONDS_PER_SECOND) / u128::from(rate.bits_per_second());
    if time > u128::from(LONG_BURST * PICOSECONDS_PER_SECOND) {
        let problem = format!("a burst of {} is what {} lets through in {}", print_size(at.value.0), print_rate(rate), print_time(time));
        let finding = Diagnostic::warning(at.span.clone(), problem);
        findings.push(finding.help("so much may pass at once, at the rate of the link, after every pause: write a smaller burst"));
    }
}

/// A stream whose packets sometimes wait for one other packet on the link still gets its rate.
fn default_tolerance(wire: &Wire) -> Duration {
    wire.rate.time_per_byte().ceil(wire.longest)
}

fn refused(error: &ContractError, span: Span, wire: &Wire) -> Diagnostic {
    let finding = Diagnostic::error(span, format!("`{}` {}", error.field.name(), error.problem));
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
        findings.push(Diagnostic::error(value.span.clone(), "a burst is less than 2^30 bytes (1073.741824 MB)"));
    }
    Some(value.value.0.min(u64::from(MAX_BYTES)) as u32)
}
