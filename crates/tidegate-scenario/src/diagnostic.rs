//! Draws errors and warnings: what is wrong with a file, where, and what would be right.
//!
//! A [`Diagnostic`] points into [`Sources`]: the scenario file and, behind it, each override of the command line. They are laid end to end,
//! so one range of bytes names both the source and the place in it.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The most findings of either severity that are drawn.
const DRAWN: usize = 20;

/// The most bytes of a source line that are shown.
const LINE: usize = 2000;

/// A range of bytes over all [`Sources`].
pub type Span = Range<usize>;

/// The severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file can be used, but something in it is probably not meant.
    Warning,
}

/// One finding.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// What is wrong, in one sentence without a full stop.
    pub problem: String,
    /// The place; `None` for a file that cannot be read at all.
    pub span: Option<Span>,
    /// A remark under the marked place; may be empty.
    pub label: String,
    /// A second place that belongs to the finding, with a remark under it.
    pub context: Option<Box<(Span, String)>>,
    /// What would be right.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(span: Span, problem: impl Into<String>) -> Diagnostic {
        let problem = problem.into();
        Diagnostic { severity: Severity::Error, problem, span: Some(span), label: String::new(), context: None, help: None }
    }

    /// A warning at `span`.
    pub fn warning(span: Span, problem: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(span, problem) }
    }

    /// Adds a remark under the marked place.
    pub fn label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = label.into();
        self
    }

    /// Adds a second place.
    pub fn context(mut self, span: Span, label: impl Into<String>) -> Diagnostic {
        self.context = Some(Box::new((span, label.into())));
        self
    }

    /// Adds what would be right.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }
}

/// The texts that spans point into.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sources(Vec<Source>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Source {
    name: String,
    text: Arc<str>,
    base: usize,
}

impl Sources {
    /// Adds a text and returns the offset at which its spans start.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> usize {
        // One byte stays free behind every text, so a span at its end belongs to it.
        let base = self.0.last().map_or(0, |last| last.base + last.text.len() + 1);
        self.0.push(Source { name: name.into(), text: text.into(), base });
        base
    }

    /// The same, for a text that may have been added before.
    pub(crate) fn add_once(&mut self, name: &str, text: &Arc<str>) -> usize {
        let known = self.0.iter().find(|source| source.name == name && Arc::ptr_eq(&source.text, text));
        known.map(|source| source.base).unwrap_or_else(|| self.add(name, text.clone()))
    }

    /// Name, line and column (both from 1, the column in characters) of where a span begins.
    pub fn position(&self, span: &Span) -> Option<(&str, usize, usize)> {
        let (source, local) = self.locate(span)?;
        let before = &source.text[..local.start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Some((&source.name, before.matches('\n').count() + 1, before[line_start..].chars().count() + 1))
    }

    fn locate(&self, span: &Span) -> Option<(&Source, Span)> {
        let source = self.0.iter().rev().find(|source| source.base <= span.start)?;
        let inside = |offset: usize| {
            let mut at = (offset - source.base).min(source.text.len());
            while !source.text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let start = inside(span.start);
        Some((source, start..inside(span.end.max(span.start)).max(start)))
    }
}

/// Everything found wrong with a file, ready to be shown. Its `Display` and `Debug` are the same plain text.
#[derive(Clone, PartialEq, Eq)]
pub struct Problems {
    /// The findings, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts that findings point into.
    pub sources: Arc<Sources>,
}

impl Problems {
    /// A file that cannot be read at all.
    pub(crate) fn of_file(problem: String) -> Problems {
        let diagnostic = Diagnostic { severity: Severity::Error, problem, span: None, label: String::new(), context: None, help: None };
        Problems { diagnostics: vec![diagnostic], sources: Arc::default() }
    }

    /// True if a file could not be read at all.
    pub(crate) fn is_unreadable(&self) -> bool {
        matches!(self.diagnostics.as_slice(), [only] if only.span.is_none())
    }

    /// Draws the first twenty errors and the first twenty warnings, and counts the others. A finding is drawn with problem, file, line, column,
    /// the line with the place marked, and what would be right. Control characters are escaped.
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let mut seen = [0, 0];
        let mut drawn = Vec::new();
        for diagnostic in &self.diagnostics {
            let seen = &mut seen[usize::from(diagnostic.severity == Severity::Warning)];
            *seen += 1;
            if *seen <= DRAWN {
                drawn.push(self.draw(diagnostic, &renderer));
            }
        }
        for (seen, what) in seen.into_iter().zip(["errors", "warnings"]).filter(|(seen, _)| *seen > DRAWN) {
            drawn.push(format!("{seen} {what} in all; the first {DRAWN} are shown"));
        }
        drawn.join("\n\n") + "\n"
    }

    fn draw(&self, diagnostic: &Diagnostic, renderer: &Renderer) -> String {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let [problem, label] = [&diagnostic.problem, &diagnostic.label].map(|text| printable(text));
        let title = level.primary_title(problem.as_ref());
        let located = diagnostic.span.as_ref().and_then(|span| self.sources.locate(span));
        let mut group = match located {
            None => Group::with_title(title),
            Some((source, local)) => {
                let second = diagnostic.context.as_deref().and_then(|(span, label)| Some((self.sources.locate(span)?, printable(label))));
                let same = second.as_ref().filter(|((other, _), _)| other.base == source.base).map(|((_, local), _)| local.clone());
                let excerpt = Excerpt::of(source, &local, same.as_ref());
                let mut primary = AnnotationKind::Primary.span(excerpt.inside(&local));
                if !label.is_empty() {
                    primary = primary.label(label);
                }
                let mut snippet = excerpt.snippet(source).annotation(primary);
                let mut elsewhere = None;
                if let Some(((other, local), label)) = second {
                    let annotated = |excerpt: &Excerpt| AnnotationKind::Context.span(excerpt.inside(&local)).label(label.clone());
                    if other.base == source.base {
                        snippet = snippet.annotation(annotated(&excerpt));
                    } else {
                        let excerpt = Excerpt::of(other, &local, None);
                        elsewhere = Some(excerpt.snippet(other).annotation(annotated(&excerpt)));
                    }
                }
                title.elements([Some(snippet), elsewhere].into_iter().flatten())
            }
        };
        if let Some(help) = &diagnostic.help {
            group = group.element(Level::HELP.message(printable(help).into_owned()));
        }
        renderer.render(&[group])
    }
}

/// The lines of a source that are drawn: a large file is not copied for every finding in it.
struct Excerpt {
    text: String,
    start: usize,
    line: usize,
}

impl Excerpt {
    /// The lines from the first place to the last; of a very long line, the part around the place.
    fn of(source: &Source, local: &Span, second: Option<&Span>) -> Excerpt {
        let text: &str = &source.text;
        let (from, to) = second.map_or((local.start, local.end), |second| (local.start.min(second.start), local.end.max(second.end)));
        let begin = text[..from].rfind('\n').map_or(0, |newline| newline + 1);
        let end = text[to..].find('\n').map_or(text.len(), |newline| to + newline);
        let near = |mut at: usize| {
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let start = if from - begin > LINE { near(from - LINE) } else { begin };
        let end = if end - to > LINE { near(to + LINE) } else { end };
        Excerpt { text: harmless(&text[start..end]), start, line: text[..start].matches('\n').count() + 1 }
    }

    fn inside(&self, local: &Span) -> Span {
        let at = |offset: usize| offset.saturating_sub(self.start).min(self.text.len());
        at(local.start)..at(local.end)
    }

    fn snippet(&self, source: &Source) -> Snippet<'static, annotate_snippets::Annotation<'static>> {
        Snippet::source(self.text.clone()).line_start(self.line).path(printable(&source.name).into_owned())
    }
}

/// The text with control characters escaped, except line feeds and tabs.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_harmless) {
        return text.into();
    }
    let escaped = |c: char| if is_harmless(c) { c.to_string() } else { c.escape_unicode().to_string() };
    text.chars().map(escaped).collect::<String>().into()
}

/// The text with control characters replaced by others of the same length in bytes, so that places stay valid.
fn harmless(text: &str) -> String {
    text.chars()
        .map(|c| {
            if is_harmless(c) || c == '\r' {
                c
            } else if c.len_utf8() == 1 {
                '?'
            } else {
                '\u{bf}'
            }
        })
        .collect()
}

fn is_harmless(c: char) -> bool {
    !is_control(c) || matches!(c, '\n' | '\t')
}

/// True for a control character, and for one that changes the direction of the text around it.
pub(crate) fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl fmt::Debug for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Problems {}

/// The candidate that `written` is a slip of, if there is one: the closest, if it is close enough.
pub fn closest<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let written = written.to_lowercase().replace('-', "_");
    candidates
        .into_iter()
        .map(|candidate| (distance(&written, &candidate.to_lowercase().replace('-', "_")), candidate))
        .filter(|&(distance, candidate)| distance <= most_slips(candidate.chars().count().max(written.chars().count())))
        .min_by_key(|found| found.0)
        .map(|found| found.1)
}

/// The most slips in a word of this length. With more it is another word: `source_mac` is no `source`.
fn most_slips(length: usize) -> usize {
    match length {
        0..=2 => 0,
        3..=5 => 1,
        6..=11 => 2,
        _ => 3,
    }
}

/// Adds the name that was probably meant, or all of them.
pub(crate) fn suggest<'a>(finding: Diagnostic, written: &str, names: impl Iterator<Item = &'a str>, what: &str) -> Diagnostic {
    let names: Vec<&str> = names.collect();
    match closest(written, names.iter().copied()) {
        Some(name) => finding.help(format!("did you mean `{name}`?")),
        None => finding.help(format!("{what}: {}", alternatives(names).replace(" or ", " and "))),
    }
}

/// "`a`, `b` or `c`".
pub fn alternatives<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => "nothing".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

/// The edit distance of two words, with swaps of neighbours (Damerau and Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    // Names have at most 64 characters; anything longer is no misspelling.
    if a.len() > 64 || b.len() > 64 {
        return usize::MAX;
    }
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests;
