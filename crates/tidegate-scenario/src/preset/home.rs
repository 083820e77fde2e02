//! `kind = "home"`: the gateway of a home, or one direction of it. Every class has `fq-codel`, and all share one buffer.
//!
//! `tins` writes classes by code points: those of CAKE, with its weights. They are ordinary classes: a class of the file that has the name of one is that one,
//! with its own rules if it has any. Rules of other classes of the file come first.

use super::classes::{class_named, fair, here, scheduler, takes_the_rest};
use crate::choice::TinsName;
use crate::diagnostic::Span;
use crate::document::{ClassTable, PolicyTable, RuleTable};
use crate::header::Dscp;
use crate::value::{Block, Name, Whole};
use tidegate_core::scheduler::Parameter;

/// A class by code points.
struct Tin {
    name: &'static str,
    weight: u64,
    /// Empty for the class that takes what no rule matches.
    code_points: &'static [u8],
}

/// The class that takes what no rule matches.
const BEST_EFFORT: Tin = Tin { name: "best-effort", weight: 16, code_points: &[] };
/// CS1 and LE.
const BULK: Tin = Tin { name: "bulk", weight: 1, code_points: &[8, 1] };

const DIFFSERV3: [Tin; 3] = [Tin { name: "voice", weight: 4, code_points: &[56, 48, 46, 44] }, BULK, BEST_EFFORT];
const DIFFSERV4: [Tin; 4] = [
    Tin { name: "voice", weight: 4, code_points: &[56, 48, 46, 44, 40, 32] },
    Tin { name: "video", weight: 8, code_points: &[34, 36, 38, 26, 28, 30, 24, 18, 20, 22, 16] },
    BULK,
    BEST_EFFORT,
];

/// Writes what the file leaves open.
pub fn write(table: &mut PolicyTable, at: &Span) {
    let tins: &[Tin] = match &table.tins {
        None => &[Tin { name: "all", ..BEST_EFFORT }],
        Some(tins) if tins.value == TinsName::DiffServ3 => &DIFFSERV3,
        Some(_) => &DIFFSERV4,
    };
    let takes_weights = scheduler(table, tins.len(), at).accepts().contains(&Parameter::Weight);
    for tin in tins {
        let class = tin.class(&mut table.class, at);
        if takes_weights && class.rate.is_none() && tins.len() > 1 {
            class.weight.get_or_insert(here(Whole(tin.weight), at));
        }
    }
    fair(table, at);
}

impl Tin {
    /// Its class, with rules.
    fn class<'t>(&self, classes: &'t mut Vec<Block<ClassTable>>, at: &Span) -> &'t mut ClassTable {
        if self.code_points.is_empty() && takes_the_rest(classes) {
            let last = classes.len() - 1;
            return &mut classes[last].value;
        }
        let class = class_named(classes, here(Name(self.name.to_owned()), at));
        let rule = |&code| Block { value: RuleTable { dscp: Some(here(Dscp(code), at)), ..RuleTable::default() }, span: at.clone() };
        if class.rules.is_none() && !self.code_points.is_empty() {
            class.rules = Some(Block { value: self.code_points.iter().map(rule).collect(), span: at.clone() });
        }
        class
    }
}
