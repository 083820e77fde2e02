//! Builds the AQMs of a policy's classes from their keys.

use crate::choice::{AqmChoice, AqmName};
use crate::diagnostic::{Diagnostic, Span, alternatives};
use crate::document::{AqmTable, PolicyTable, RedCurveTable, RedCurvesTable};
use crate::tree::Tree;
use crate::units::Ratio;
use crate::value::{At, Block, Gain, Or};
use std::collections::VecDeque;
use std::sync::Arc;
use tidegate_core::aqm::{self, AqmError, AqmField, AqmParameters, AqmSetup, Probability, RedCurve};
use tidegate_core::registry::{AnyAqm, AqmKind};
use tidegate_core::units::Rate;

/// The AQM of a class.
#[derive(Clone, PartialEq, Debug)]
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

impl QueueManagement {
    /// Builds it for a class of this number of queues.
    pub(crate) fn build(&self, queues: u32, longest_frame: u32) -> Result<AnyAqm, AqmError> {
        self.kind.build(&AqmSetup { flows: queues as usize, rate: self.rate, longest_frame }, &self.parameters)
    }
}

/// The AQM of each class of a tree.
pub(crate) fn aqms(
    table: &PolicyTable,
    tree: &Tree,
    longest_frame: u32,
    findings: &mut Vec<Diagnostic>,
) -> Vec<Option<Arc<QueueManagement>>> {
    let mut aqms: Vec<Option<Arc<QueueManagement>>> = Vec::with_capacity(tree.classes.len());
    let mut known = Known::default();
    for (index, (class, leaf)) in table.class.iter().zip(&tree.classes).enumerate() {
        let built = class.aqm.as_ref().and_then(|key| {
            if let Some(cells) = &table.cells {
                let problem = "`aqm` has no effect on a port of cells: cells carry no ECN, and its buffer manager decides by frames";
                let finding = key.error(problem).context(cells.span.clone(), "the cells");
                findings.push(finding.help("remove it, or choose a buffer manager that discards frames early"));
                return None;
            }
            let built = known.judge(key, tree.rate_of_class(index), leaf.queues, longest_frame);
            built.map_err(|finding| findings.push(finding)).ok()
        });
        aqms.push(built);
    }
    aqms.resize_with(tree.classes.len(), || None);
    aqms
}

/// The AQMs of the latest classes: those of thousands of subscribers are a few, and classes share them.
#[derive(Default)]
struct Known(VecDeque<(u32, Arc<QueueManagement>)>);

impl Known {
    /// The number of AQMs that are compared with the next.
    const MOST: usize = 16;

    /// The AQM of a key for classes of this rate and number of queues.
    fn judge(
        &mut self,
        key: &Block<Or<AqmName, AqmTable>>,
        rate: Rate,
        queues: u32,
        longest_frame: u32,
    ) -> Result<Arc<QueueManagement>, Diagnostic> {
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
        let managed = QueueManagement { kind, parameters, rate };
        if let Some((_, known)) = self.0.iter().find(|(of, known)| *of == queues && **known == managed) {
            return Ok(known.clone());
        }
        if let Err(error) = managed.build(queues, longest_frame) {
            let span = if let Or::Table(table) = &key.value { place(table, error.field) } else { None };
            return Err(Diagnostic::error(span.unwrap_or(key.span.clone()), format!("{}: {error}", kind.name())));
        }
        let managed = Arc::new(managed);
        self.0.truncate(Known::MOST - 1);
        self.0.push_front((queues, managed.clone()));
        Ok(managed)
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
