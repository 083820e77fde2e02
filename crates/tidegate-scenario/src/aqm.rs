//! Builds the AQMs of a policy's classes from their keys.

use crate::choice::{AqmChoice, AqmName};
use crate::diagnostic::{Diagnostic, Span, alternatives};
use crate::document::{AqmTable, PolicyTable, RedCurveTable, RedCurvesTable};
use crate::tree::Tree;
use crate::units::Ratio;
use crate::value::{At, Block, Gain, Or};
use tidegate_core::aqm::{self, AqmField, AqmParameters, AqmSetup, Probability, RedCurve};
use tidegate_core::registry::{AnyAqm, AqmKind};
use tidegate_core::units::Rate;

/// The AQM of a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueManagement {
    /// The algorithm.
    pub kind: AqmKind,
    /// What the file says of it.
    pub parameters: AqmParameters,
    /// The rate for which its target was chosen.
    pub rate: Rate,
}

impl Or<AqmName, AqmTable> {
    /// The name that was given.
    pub(crate) fn choice(&self) -> AqmChoice {
        match self {
            Or::Value(name) => name.0,
            Or::Table(table) => table.kind.value.0,
        }
    }
}

/// An AQM, and what is said of it.
pub(crate) type Managed = (QueueManagement, AnyAqm);

/// The AQM of each class of a tree.
pub(crate) fn aqms(table: &PolicyTable, tree: &Tree, longest_frame: u32, findings: &mut Vec<Diagnostic>) -> Vec<Option<Managed>> {
    let mut aqms: Vec<Option<Managed>> = Vec::with_capacity(tree.classes.len());
    for (index, (class, leaf)) in table.class.iter().zip(&tree.classes).enumerate() {
        let built = class.aqm.as_ref().and_then(|key| {
            if let Some(cells) = &table.cells {
                let problem = "`aqm` has no effect on a port of cells: cells carry no ECN, and its buffer manager decides by frames";
                let finding = key.error(problem).context(cells.span.clone(), "the cells");
                findings.push(finding.help("remove it, or choose a buffer manager that discards frames early"));
                return None;
            }
            let setup = AqmSetup { flows: leaf.queues as usize, rate: tree.rate_of_class(index), longest_frame };
            build(key, &setup).map_err(|finding| findings.push(finding)).ok()
        });
        aqms.push(built);
    }
    aqms.resize_with(tree.classes.len(), || None);
    aqms
}

fn build(key: &Block<Or<AqmName, AqmTable>>, setup: &AqmSetup) -> Result<Managed, Diagnostic> {
    let (AqmChoice::Alone(kind) | AqmChoice::FairQueueing(kind)) = key.value.choice();
    let mut parameters = AqmParameters::default();
    if let Or::Table(table) = &key.value {
        parameters = read(table)?;
        let is_used = |kind: AqmKind, field: &AqmField| kind.requires().contains(field) || kind.accepts().contains(field);
        if let Some(&field) = AqmField::ALL.iter().find(|field| parameters.has(**field) && !is_used(kind, field)) {
            let users: Vec<&str> = AqmKind::ALL.iter().filter(|&&kind| is_used(kind, &field)).map(|kind| kind.name()).collect();
            let span = place(table, field).unwrap_or(key.span.clone());
            let finding = Diagnostic::error(span, format!("`{}` is not used by {}", field.name(), kind.name()));
            return Err(finding.help(format!("remove it, or choose {}", alternatives(users))));
        }
    }
    match kind.build(setup, &parameters) {
        Ok(aqm) => Ok((QueueManagement { kind, parameters, rate: setup.rate }, aqm)),
        Err(error) => {
            let span = if let Or::Table(table) = &key.value { place(table, error.field) } else { None };
            Err(Diagnostic::error(span.unwrap_or(key.span.clone()), format!("{}: {error}", kind.name())))
        }
    }
}

fn value<T: Copy>(at: &Option<At<T>>) -> Option<T> {
    at.as_ref().map(|at| at.value)
}

/// The parameters of the core.
fn read(table: &AqmTable) -> Result<AqmParameters, Diagnostic> {
    let AqmTable { kind: _, target, interval, ecn, mark_limit, mark_above, ce_threshold, ect1_only, .. } = table;
    let AqmTable { update_period, alpha, beta, max_burst, ecn_limit, derandomise, steep, .. } = table;
    Ok(AqmParameters {
        target: value(target),
        interval: value(interval),
        ecn: value(ecn),
        mark_limit: value(mark_limit),
        mark_above: mark_above.as_ref().map(|at| at.value.0),
        ce_threshold: value(ce_threshold),
        ect1_only: value(ect1_only),
        update_period: value(update_period),
        alpha: gain(alpha),
        beta: gain(beta),
        max_burst: value(max_burst),
        ecn_limit: probability(ecn_limit)?,
        derandomise: value(derandomise),
        steep: value(steep),
        curve: curve(&table.curve)?,
        curves: curves(&table.curves)?,
        marking_curves: curves(&table.marking_curves)?,
        averaging: table.averaging.as_ref().map(|at| at.value.0 as u8),
        gentle: value(&table.gentle),
        mark_above_max: value(&table.mark_above_max),
        coupling: table.coupling.as_ref().map(|at| at.value.0 as u32),
        step: value(&table.step),
        ramp: value(&table.ramp),
        delay_on_saturation: value(&table.delay_on_saturation),
        ingress: value(&table.ingress),
    })
}

fn curve(block: &Option<Block<RedCurveTable>>) -> Result<Option<RedCurve>, Diagnostic> {
    let Some(RedCurveTable { min, max, probability: at }) = block.as_ref().map(|block| &block.value) else { return Ok(None) };
    let max_probability = exact(at)?;
    Ok(Some(RedCurve { min: min.value.0, max: max.value.0, max_probability }))
}

/// By colour: green, yellow, red.
fn curves(block: &Option<Block<RedCurvesTable>>) -> Result<[Option<RedCurve>; 3], Diagnostic> {
    let Some(RedCurvesTable { green, yellow, red }) = block.as_ref().map(|block| &block.value) else { return Ok([None; 3]) };
    Ok([curve(green)?, curve(yellow)?, curve(red)?])
}

fn gain(at: &Option<At<Gain>>) -> Option<aqm::Gain> {
    at.as_ref().and_then(|at| aqm::Gain::from_millihertz(at.value.0 as u32))
}

fn probability(at: &Option<At<Ratio>>) -> Result<Option<Probability>, Diagnostic> {
    at.as_ref().map(exact).transpose()
}

fn exact(at: &At<Ratio>) -> Result<Probability, Diagnostic> {
    let billionths = at.value.billionths();
    if !billionths.is_multiple_of(1000) {
        return Err(at.error("a probability has at most four decimals of a percent").help("write it like \"0.0125 %\""));
    }
    Ok(Probability::from_millionths((billionths / 1000) as u32).unwrap_or_default())
}

/// The place of a parameter in its table.
fn place(table: &AqmTable, field: AqmField) -> Option<Span> {
    fn span<T>(value: &Option<At<T>>) -> Option<Span> {
        value.as_ref().map(|value| value.span.clone())
    }
    match field {
        AqmField::Target => span(&table.target),
        AqmField::Interval => span(&table.interval),
        AqmField::Ecn => span(&table.ecn),
        AqmField::MarkLimit => span(&table.mark_limit),
        AqmField::MarkAbove => span(&table.mark_above),
        AqmField::CeThreshold => span(&table.ce_threshold),
        AqmField::Ect1Only => span(&table.ect1_only),
        AqmField::UpdatePeriod => span(&table.update_period),
        AqmField::Alpha => span(&table.alpha),
        AqmField::Beta => span(&table.beta),
        AqmField::MaxBurst => span(&table.max_burst),
        AqmField::EcnLimit => span(&table.ecn_limit),
        AqmField::Derandomise => span(&table.derandomise),
        AqmField::Steep => span(&table.steep),
        AqmField::Curve => table.curve.as_ref().map(|block| block.span.clone()),
        AqmField::Curves => table.curves.as_ref().map(|block| block.span.clone()),
        AqmField::MarkingCurves => table.marking_curves.as_ref().map(|block| block.span.clone()),
        AqmField::Averaging => span(&table.averaging),
        AqmField::Gentle => span(&table.gentle),
        AqmField::MarkAboveMax => span(&table.mark_above_max),
        AqmField::Coupling => span(&table.coupling),
        AqmField::Step => span(&table.step),
        AqmField::Ramp => span(&table.ramp),
        AqmField::DelayOnSaturation => span(&table.delay_on_saturation),
        AqmField::Ingress => span(&table.ingress),
    }
}
