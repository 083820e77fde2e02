//! Classes by code points: those of CAKE, with its weights.

use super::classes::here;
use crate::choice::TinsName;
use crate::diagnostic::Span;
use crate::document::RuleTable;
use crate::header::Dscp;
use crate::value::Block;

/// A class by code points.
pub struct Tin {
    pub name: &'static str,
    pub weight: u64,
    /// Empty for the class that takes what no rule matches.
    pub code_points: &'static [u8],
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

impl Tin {
    /// The tins of this name; the last takes what no rule matches.
    pub fn all(name: TinsName) -> &'static [Tin] {
        match name {
            TinsName::DiffServ3 => &DIFFSERV3,
            TinsName::DiffServ4 => &DIFFSERV4,
        }
    }

    /// A rule for each of its code points, with the conditions of `rule` as well; the rule alone if it has none.
    pub fn rules(&self, rule: &RuleTable, at: &Span) -> Vec<Block<RuleTable>> {
        let with = |dscp| Block { value: RuleTable { dscp, ..rule.clone() }, span: at.clone() };
        if self.code_points.is_empty() {
            return vec![with(None)];
        }
        self.code_points.iter().map(|&code| with(Some(here(Dscp(code), at)))).collect()
    }
}
