//! `kind = "home"`: the gateway of a home, or one direction of it. Every class has `fq-codel`, and all share one buffer.
//!
//! `tins` writes classes by code points: those of CAKE, with its weights. They are ordinary classes: a class of the file that has the name of one is that one,
//! with its own rules if it has any. Rules of other classes of the file come first.

use super::classes::{class_named, fair, here, scheduler, takes_the_rest};
use super::tins::Tin;
use crate::diagnostic::Span;
use crate::document::{ClassTable, PolicyTable, RuleTable};
use crate::value::{Block, Name, Whole};
use tidegate_core::scheduler::Parameter;

/// One class for all.
const ONE: [Tin; 1] = [Tin { name: "all", weight: 1, code_points: &[] }];

/// Writes what the file leaves open.
pub fn write(table: &mut PolicyTable, at: &Span) {
    let tins = table.tins.as_ref().map_or(&ONE[..], |tins| Tin::all(tins.value));
    let takes_weights = scheduler(table, tins.len(), at).accepts().contains(&Parameter::Weight);
    for tin in tins {
        let class = class_of(tin, &mut table.class, at);
        if takes_weights && class.rate.is_none() && tins.len() > 1 {
            class.weight.get_or_insert(here(Whole(tin.weight), at));
        }
    }
    fair(table, at);
}

/// The class of a tin, with rules.
fn class_of<'t>(tin: &Tin, classes: &'t mut Vec<Block<ClassTable>>, at: &Span) -> &'t mut ClassTable {
    if tin.code_points.is_empty() && takes_the_rest(classes) {
        let last = classes.len() - 1;
        return &mut classes[last].value;
    }
    let class = class_named(classes, here(Name(tin.name.to_owned()), at));
    if class.rules.is_none() && !tin.code_points.is_empty() {
        class.rules = Some(Block { value: tin.rules(&RuleTable::default(), at), span: at.clone() });
    }
    class
}
