//! Builds the AQMs of a policy's classes from their keys.

use crate::choice::{AqmChoice, AqmName};
use crate::diagnostic::{Diagnostic, Span, alternatives};
use crate::document::AqmTable;
use crate::policy::Resolution;
use crate::tree::Tree;
use crate::value::{At, Block, Or};
use std::iter::successors;
use tidegate_core::aqm::{AqmField, AqmParameters, AqmSetup};
use tidegate_core::registry::{AnyAqm, AqmKind};
use tidegate_core::units::Rate;

/// The AQM of a class.
#[derive(Clone, Debug)]
pub struct QueueManagement {
    /// The algorithm.
    pub kind: AqmKind,
    /// What the file says of it.
    pub parameters: AqmParameters,
    /// The rate for which its target was chosen.
    pub rate: Rate,
    /// Ready for use.
    pub aqm: AnyAqm,
}

/// The key of a class: a name, or a table.
pub(crate) type AqmKey = Block<Or<AqmName, AqmTable>>;

impl Or<AqmName, AqmTable> {
    /// The name that was given.
    pub(crate) fn name(&self) -> AqmName {
        match self {
            Or::Value(name) => *name,
            Or::Table(table) => table.kind.value,
        }
    }
}

impl Resolution<'_> {
    /// The AQM of each class of the file.
    pub fn aqms(&mut self, tree: &Tree) -> Vec<Option<QueueManagement>> {
        let table = self.table;
        let mut aqms: Vec<Option<QueueManagement>> = Vec::new();
        for (index, class) in table.class.iter().enumerate() {
            let built = class.aqm.as_ref().and_then(|key| {
                if let Some(cells) = &table.cells {
                    let problem =
                        "`aqm` has no effect on a port of cells: cells carry no ECN, and frames are dropped by its buffer manager";
                    let finding = key.error(problem).context(cells.span.clone(), "the cells");
                    self.findings.push(finding.help("remove it, or choose a buffer manager that discards frames early"));
                    return None;
                }
                let flows = tree.classes[index].queues as usize;
                let setup = AqmSetup { flows, rate: self.serving_rate(tree, index), longest_frame: self.longest_frame as u32 };
                build(key, &setup).map_err(|finding| self.findings.push(finding)).ok()
            });
            aqms.push(built);
        }
        aqms.resize_with(tree.classes.len(), || None);
        aqms
    }

    /// The rate of the innermost shape that a class is below, or that of the link.
    fn serving_rate(&self, tree: &Tree, class: usize) -> Rate {
        let given = &tree.classes[class].given;
        let above = successors(given.parent, |&group| tree.groups[group].0.parent).map(|group| &tree.groups[group].0);
        std::iter::once(given).chain(above).find_map(|given| Some(given.shape.as_ref()?.rate)).unwrap_or(self.rate.value)
    }
}

fn build(key: &AqmKey, setup: &AqmSetup) -> Result<QueueManagement, Diagnostic> {
    let (AqmChoice::Alone(kind) | AqmChoice::FairQueueing(kind)) = key.value.name().0;
    let mut parameters = AqmParameters::default();
    if let Or::Table(table) = &key.value {
        let AqmTable { kind: _, target, interval, ecn, mark_limit } = table;
        parameters = AqmParameters { target: value(target), interval: value(interval), ecn: value(ecn), mark_limit: value(mark_limit) };
        let is_used = |field: &AqmField| kind.requires().contains(field) || kind.accepts().contains(field);
        if let Some(&field) = AqmField::ALL.iter().find(|field| parameters.has(**field) && !is_used(field)) {
            let users = AqmKind::ALL.iter().filter(|kind| kind.requires().contains(&field) || kind.accepts().contains(&field));
            let users: Vec<&str> = users.map(|kind| kind.name()).collect();
            let span = place(table, field).unwrap_or(key.span.clone());
            let finding = Diagnostic::error(span, format!("`{}` is not used by {}", field.name(), kind.name()));
            return Err(finding.help(format!("remove it, or choose {}", alternatives(users))));
        }
    }
    match kind.build(setup, &parameters) {
        Ok(aqm) => Ok(QueueManagement { kind, parameters, rate: setup.rate, aqm }),
        Err(error) => {
            let span = if let Or::Table(table) = &key.value { place(table, error.field) } else { None };
            Err(Diagnostic::error(span.unwrap_or(key.span.clone()), format!("{}: {error}", kind.name())))
        }
    }
}

fn value<T: Clone>(at: &Option<At<T>>) -> Option<T> {
    at.as_ref().map(|at| at.value.clone())
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
    }
}
