//! What only some buffer managers take: who uses it, and what it comes to for a buffer of a given size.

use crate::diagnostic::{Diagnostic, Span, alternatives};
use crate::document::{BufferTable, ClassTable};
use crate::units::Ratio;
use crate::value::{At, Block};
use tidegate_core::buffer::{BufferField, Guarantee, Scaling};
use tidegate_core::packet::Flow;
use tidegate_core::registry::BufferKind;

/// Where a parameter is given in the table of the buffer.
pub(crate) fn special(table: &BufferTable, field: BufferField) -> Option<Span> {
    fn span<T>(value: &Option<At<T>>) -> Option<Span> {
        value.as_ref().map(|value| value.span.clone())
    }
    match field {
        BufferField::Limit => span(&table.limit),
        BufferField::Alpha => span(&table.alpha),
        BufferField::Threshold => span(&table.threshold),
        BufferField::TaggedThreshold => span(&table.tagged_threshold),
        BufferField::Scaling => span(&table.scaling),
        BufferField::Reading => span(&table.reading),
        BufferField::Flows | BufferField::FlowLimit | BufferField::Overrides | BufferField::Guarantees => None,
    }
}

/// Reports what is given for the buffer and not used by its manager.
pub(crate) fn judge_special(kind: BufferKind, table: &BufferTable, findings: &mut Vec<Diagnostic>) {
    for &field in BufferField::SPECIAL.iter().filter(|field| !kind.accepts().contains(field)) {
        if let Some(span) = special(table, field) {
            findings.push(unused(kind, field, span));
        }
    }
}

fn unused(kind: BufferKind, field: BufferField, span: Span) -> Diagnostic {
    let users: Vec<&str> = BufferKind::ALL.iter().filter(|kind| kind.accepts().contains(&field)).map(|kind| kind.name()).collect();
    let finding = Diagnostic::error(span, format!("`{}` is not used by {}", field.name(), kind.name()));
    match users.as_slice() {
        [only] => finding.help(format!("remove it, or set manager = \"{only}\"")),
        _ => finding.help(format!("remove it, or choose the manager {}", alternatives(users))),
    }
}

/// The threshold, the threshold for tagged frames and the scaling, as far as they are given and used.
pub(crate) fn parts(table: Option<&BufferTable>, kind: BufferKind) -> [Option<Ratio>; 3] {
    let Some(table) = table else { return [None; 3] };
    [
        (&table.threshold, BufferField::Threshold),
        (&table.tagged_threshold, BufferField::TaggedThreshold),
        (&table.scaling, BufferField::Scaling),
    ]
    .map(|(given, field)| given.as_ref().map(|at| at.value).filter(|_| kind.accepts().contains(&field)))
}

/// A part of a buffer, rounded down: frames are never let in beyond it.
pub(crate) fn part_of(size: u64, ratio: Ratio) -> u64 {
    (u128::from(size) * u128::from(ratio.billionths()) / 1_000_000_000) as u64
}

/// The scaling as the fraction that the core compares with.
pub(crate) fn scaling(ratio: Ratio, table: Option<&Block<BufferTable>>, findings: &mut Vec<Diagnostic>) -> Option<Scaling> {
    let billionths = ratio.billionths();
    if billionths.is_multiple_of(1000) {
        return Scaling::new((billionths / 1000) as u32, 1_000_000);
    }
    let span = table.and_then(|block| special(&block.value, BufferField::Scaling)).unwrap_or_default();
    findings.push(Diagnostic::error(span, "`scaling` has more than four decimals").help("write at most four, like \"66.6667 %\""));
    None
}

/// The minimum rates of the classes' queues, in the order of the queues. What is wrong with them is reported where it is written.
pub(crate) fn guarantees(classes: &[Block<ClassTable>], kind: BufferKind, findings: &mut Vec<Diagnostic>) -> Vec<Guarantee> {
    let is_used = kind.accepts().contains(&BufferField::Guarantees);
    let mut first = 0;
    let mut guarantees = Vec::new();
    for class in classes {
        let queues = class.queues.as_ref().map_or(1, |at| at.value.0 as u32);
        match &class.minimum_rate {
            Some(at) if is_used => guarantees.push(Guarantee { first_flow: Flow(first), flows: queues, rate: at.value }),
            Some(at) => findings.push(unused(kind, BufferField::Guarantees, at.span.clone())),
            None => {}
        }
        first += queues;
    }
    guarantees
}
