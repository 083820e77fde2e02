//! Changes of rows of a list of subscribers: `policy.town.subscriber.NAME.up=...` and `policy.town.subscriber-=NAME`, where NAME is in the list and not in the file.
//!
//! The list as a text stays as it is. A row is changed when it is read.

use crate::diagnostic::{Diagnostic, Span, closest};
use std::cell::Cell;
use std::collections::HashMap;
use toml::Spanned;
use toml::de::DeValue;

/// What a change does with a row.
#[derive(Clone, Debug)]
pub(crate) enum RowVerb<'i> {
    /// This key gets this value.
    Set(String, Spanned<DeValue<'i>>),
    /// The row is left out.
    Remove,
}

/// A change of a row.
#[derive(Clone, Debug)]
pub(crate) struct RowEdit<'i> {
    /// The policy, without its direction.
    pub policy: String,
    /// The name of the subscriber.
    pub name: String,
    /// The place of the change.
    pub span: Span,
    pub verb: RowVerb<'i>,
}

/// The changes of the rows of one list, by the name of the subscriber.
#[derive(Default)]
pub(crate) struct RowEdits<'a, 'i>(HashMap<&'a str, (Vec<&'a RowEdit<'i>>, Cell<bool>)>);

impl<'a, 'i> RowEdits<'a, 'i> {
    /// Those of the list of this policy, without its direction.
    pub fn of(policy: &str, edits: &'a [RowEdit<'i>]) -> RowEdits<'a, 'i> {
        let mut by_name = RowEdits::default();
        for edit in edits.iter().filter(|edit| edit.policy == policy) {
            by_name.0.entry(&edit.name).or_default().0.push(edit);
        }
        by_name
    }

    /// Those of this row, in their order.
    pub fn take(&self, name: &str) -> &[&'a RowEdit<'i>] {
        self.0.get(name).map_or(&[], |(edits, is_taken)| {
            is_taken.set(true);
            edits
        })
    }

    /// Reports those of rows that the list does not have. `names` makes the names of all rows.
    pub fn report_others(&self, list: &str, names: impl FnOnce() -> Vec<String>, findings: &mut Vec<Diagnostic>) {
        let others: Vec<_> = self.0.iter().filter(|(_, (_, is_taken))| !is_taken.get()).collect();
        if others.is_empty() {
            return;
        }
        let names = names();
        for (name, (edits, _)) in others {
            let finding = Diagnostic::error(edits[0].span.clone(), format!("there is no subscriber `{name}` in the file or in {list}"));
            findings.push(match closest(name, names.iter().map(String::as_str)) {
                Some(guess) => finding.help(format!("did you mean `{guess}`?")),
                None => finding.help("name one of the file, or one in the column `id` of the list"),
            });
        }
    }
}
