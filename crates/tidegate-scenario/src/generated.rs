//! What a file states briefly: loops, both directions of a duplex link in one table, and topologies.
//!
//! What is written here is links like those of the file, in the file's tree, before `--set` and variants change them: names of generated links are keys
//! like any others. Every value keeps the place of the one that it comes from, so that errors point at the line which said it.

use crate::diagnostic::Diagnostic;
use crate::loops::{self, FOR};
use crate::overrides::Override;
use crate::texts::Texts;
use crate::topology;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// What is behind the name of a duplex link in that of its other direction.
const BACK: &str = "-back";
/// The key of links that have two directions.
const DUPLEX: &str = "duplex";

/// True if a change sets a value of one link, flow or workload by its name, which may be generated, and not how many there are: such
/// changes are made when they have been written out.
pub(crate) fn comes_later(change: &Override<'_>) -> bool {
    let path = change.path(usize::MAX);
    // A name with a hole is that of the table which a loop repeats.
    let says_how_many = path.contains(&DUPLEX) || path.contains(&FOR) || path.get(1).is_some_and(|name| name.contains('{'));
    change.sets() && path.len() >= 3 && matches!(path[0], "link" | "flow" | "workload") && !says_how_many
}

/// Writes the generated links of a tree out.
pub(crate) fn expand(root: &mut DeTable<'_>, texts: &mut Texts, findings: &mut Vec<Diagnostic>) {
    loops::expand(root, findings);
    topology::expand(root, texts, findings);
    let is_duplex = |link: &Spanned<DeValue<'_>>| {
        let duplex = link.get_ref().as_table().and_then(|link| link.get(DUPLEX));
        duplex.is_some_and(|duplex| matches!(duplex.get_ref(), DeValue::Boolean(_)))
    };
    let Some(DeValue::Array(links)) = root.get_mut("link").map(Spanned::get_mut) else { return };
    if !links.iter().any(is_duplex) {
        return;
    }
    for link in std::mem::replace(links, DeArray::new()) {
        if !is_duplex(&link) {
            links.push(link);
            continue;
        }
        let span = link.span();
        let DeValue::Table(mut table) = link.into_inner() else { continue };
        let is_true = table.remove(DUPLEX).is_some_and(|duplex| matches!(duplex.get_ref(), DeValue::Boolean(true)));
        let back = is_true.then(|| other_direction(&table));
        links.push(Spanned::new(span.clone(), DeValue::Table(table)));
        back.into_iter().for_each(|back| links.push(Spanned::new(span.clone(), DeValue::Table(back))));
    }
}

/// The link from the end of a link to its start.
fn other_direction<'i>(link: &DeTable<'i>) -> DeTable<'i> {
    let mut back = link.clone();
    if let Some(DeValue::String(name)) = back.get_mut("name").map(Spanned::get_mut) {
        *name = format!("{name}{BACK}").into();
    }
    let ends = [back.remove_entry("from"), back.remove_entry("to")];
    for (name, entry) in ["to", "from"].into_iter().zip(ends) {
        if let Some((key, value)) = entry {
            back.insert(Spanned::new(key.span(), name.into()), value);
        }
    }
    back
}
