//! Puts a file together from the fragments that it includes: `include = ["plans.toml", "sites/*.toml"]`.
//!
//! Tables of one name become one table, and lists follow each other. A value that is there twice is an error, and so is a fragment.

use crate::diagnostic::{Diagnostic, Severity, Sources, Span};
use crate::files::FileSet;
use crate::overrides::shift;
use crate::structure::insert_class;
use crate::texts::Texts;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The longest chain of fragments that include each other.
const DEEPEST: usize = 8;
/// The most fragments of a file.
const MOST: usize = 1000;
/// The key that names fragments.
const INCLUDE: &str = "include";

/// A text that the file includes.
#[derive(Debug)]
pub(crate) struct Fragment {
    text: Arc<str>,
    /// Where it begins in all sources.
    base: usize,
}

/// Reads all fragments of the first of the sources, which is `text` under `name`: each behind those that it includes itself.
pub(crate) fn included(name: &str, text: &str, texts: &mut Texts, sources: &mut Sources, findings: &mut Vec<Diagnostic>) -> Vec<Fragment> {
    let path = Path::new(name);
    let own = path.file_name().map(|own| (own.to_string_lossy().into_owned(), None));
    let mut reader = Reader {
        folder: path.parent().unwrap_or(Path::new("")),
        texts,
        sources,
        findings,
        seen: own.into_iter().collect(),
        fragments: Vec::new(),
    };
    reader.visit(text, 0, 0);
    reader.fragments
}

/// The fragments of a file that was loaded before.
pub(crate) fn of_files(files: &FileSet) -> Vec<Fragment> {
    let mut sources = Sources::default();
    sources.add(&files.name, files.text.clone());
    included(&files.name, &files.text, &mut Texts::given(files.files.clone()), &mut sources, &mut Vec::new())
}

struct Reader<'a> {
    folder: &'a Path,
    texts: &'a mut Texts,
    sources: &'a mut Sources,
    findings: &'a mut Vec<Diagnostic>,
    /// Where each file was included first; the first file was not.
    seen: HashMap<String, Option<Span>>,
    fragments: Vec<Fragment>,
}

impl Reader<'_> {
    /// Reads what a text includes. What is wrong with the text itself is reported where it is merged.
    fn visit(&mut self, text: &str, base: usize, depth: usize) {
        if !text.contains(INCLUDE) {
            return;
        }
        let Ok(root) = DeTable::parse(text) else { return };
        let entries = root.get_ref().get(INCLUDE).and_then(|entries| entries.get_ref().as_array());
        for entry in entries.into_iter().flat_map(|entries| entries.iter()) {
            let Some(pattern) = entry.get_ref().as_str() else { continue };
            let span = entry.span().start + base..entry.span().end + base;
            if !pattern.contains('*') {
                self.include(pattern, span, depth);
                continue;
            }
            match self.texts.matching(pattern) {
                Ok(names) => names.iter().for_each(|name| self.include(name, span.clone(), depth)),
                Err(problem) => {
                    let finding = Diagnostic::error(span, problem);
                    self.findings.push(finding.help("only the last part of a name may have `*`, and the folder has to be there"));
                }
            }
        }
    }

    fn include(&mut self, name: &str, span: Span, depth: usize) {
        if let Some(first) = self.seen.get(name) {
            let finding = match first {
                None => Diagnostic::error(span, format!("{name} includes itself")).help("write a name or a pattern that does not match it"),
                Some(first) => Diagnostic::error(span, format!("{name} is included twice"))
                    .context(first.clone(), "first included here")
                    .help("include it once: it holds for the whole file"),
            };
            return self.findings.push(finding);
        }
        if depth == DEEPEST || self.fragments.len() == MOST {
            let limit = if depth == DEEPEST { format!("{DEEPEST} fragments that include each other") } else { format!("{MOST} fragments") };
            let finding = Diagnostic::error(span, format!("{name} is included beyond the limit of {limit}"));
            return self.findings.push(finding.help("include it from the first file, or put fragments together"));
        }
        self.seen.insert(name.to_owned(), Some(span.clone()));
        match self.texts.text("fragment", name) {
            Ok(text) => {
                let base = self.sources.add(self.folder.join(name).display().to_string(), text.clone());
                self.visit(&text, base, depth + 1);
                self.fragments.push(Fragment { text, base });
            }
            Err(problem) => {
                let finding = Diagnostic::error(span, problem);
                self.findings.push(finding.help("names are relative to the folder of the file that is read first"));
            }
        }
    }
}

/// The tree of a text with its fragments; `None` if one of them is no TOML.
pub(crate) fn merged<'i>(text: &'i str, fragments: &'i [Fragment], findings: &mut Vec<Diagnostic>) -> Option<Spanned<DeTable<'i>>> {
    let before = findings.len();
    let mut root = parse(text, 0, findings)?;
    for fragment in fragments {
        if let Some(tree) = parse(&fragment.text, fragment.base, findings) {
            merge(root.get_mut(), tree.into_inner(), "", findings);
        }
    }
    (!findings[before..].iter().any(|finding| finding.severity == Severity::Error)).then_some(root)
}

fn parse<'i>(text: &'i str, base: usize, findings: &mut Vec<Diagnostic>) -> Option<Spanned<DeTable<'i>>> {
    match DeTable::parse(text) {
        Ok(root) if base == 0 => Some(root),
        Ok(root) => {
            let span = root.span();
            match shift(Spanned::new(span.clone(), DeValue::Table(root.into_inner())), base).into_inner() {
                DeValue::Table(table) => Some(Spanned::new(span.start + base..span.end + base, table)),
                _ => None,
            }
        }
        Err(error) => {
            let span = error.span().unwrap_or(0..0);
            let span = span.start + base..span.end + base;
            findings.push(Diagnostic::error(span, format!("this is not TOML: {}", error.message().trim_end())));
            None
        }
    }
}

/// Adds the values of a fragment to a table.
fn merge<'i>(table: &mut DeTable<'i>, more: DeTable<'i>, path: &str, findings: &mut Vec<Diagnostic>) {
    for (key, value) in more {
        let name = key.get_ref().as_ref();
        let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        let first = table.get_key_value(name).map(|(first, _)| first.span());
        let span = value.span();
        match (table.get_mut(name).map(Spanned::get_mut), value.into_inner()) {
            (None, value) => drop(table.insert(key, Spanned::new(span, value))),
            (Some(DeValue::Table(present)), DeValue::Table(more)) => merge(present, more, &path, findings),
            (Some(DeValue::Array(present)), DeValue::Array(more)) => {
                more.into_iter().for_each(|element| insert_class(present, element, name));
            }
            _ => {
                let finding = Diagnostic::error(key.span(), format!("`{path}` is there twice"));
                let finding = finding.context(first.unwrap_or_default(), "first written here");
                findings.push(finding.help("remove one of them: fragments add tables and elements of lists, and replace nothing"));
            }
        }
    }
}
