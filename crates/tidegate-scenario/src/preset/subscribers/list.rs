//! Lists of subscribers: CSV files (RFC 4180), of which the first line names the columns.
//!
//! Empty lines and lines that begin with `#` are left out. A column may be missing, and so may its value in a line.

use crate::diagnostic::{Diagnostic, Span, suggest};
use crate::document::SubscriberTable;
use crate::header::{Prefix, range};
use crate::rows::{RowEdit, RowEdits, RowVerb};
use crate::structure::scalar;
use crate::value::{At, Block, Leaf, Name, Scalar};
use csv::{Reader, ReaderBuilder, StringRecord};
use std::borrow::Cow;
use tidegate_core::units::Rate;
use toml::Spanned;
use toml::de::DeValue;

/// The most subscribers of a list.
const MOST_SUBSCRIBERS: usize = 1_000_000;
/// The most errors in a list that are reported.
const MOST_ERRORS: usize = 1000;
/// The most bytes of a value.
const LONGEST_VALUE: usize = 4096;

/// The columns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Id,
    Addresses,
    Down,
    Up,
    Plan,
    Site,
}

impl Column {
    const ALL: [Column; 6] = [Column::Id, Column::Addresses, Column::Down, Column::Up, Column::Plan, Column::Site];

    fn name(self) -> &'static str {
        ["id", "addresses", "down", "up", "plan", "site"][self as usize]
    }

    /// The key of a subscriber of a file that has the same meaning.
    fn key(self) -> &'static str {
        if self == Column::Id { "name" } else { self.name() }
    }
}

/// The reader of a list.
fn reader(text: &str) -> Reader<&[u8]> {
    ReaderBuilder::new().has_headers(false).flexible(true).comment(Some(b'#')).from_reader(text.as_bytes())
}

/// The names of the subscribers of a list that has no mistakes.
pub fn names(text: &str) -> Vec<String> {
    let mut records = reader(text).into_records().map_while(Result::ok);
    let place = records.next().and_then(|first| first.iter().position(|name| name.trim() == Column::Id.name()));
    place.map_or_else(Vec::new, |place| records.filter_map(|record| Some(record.get(place)?.trim().to_owned())).collect())
}

/// The subscribers of a list whose text begins at `base` of all sources, with these changes of its rows.
pub fn read(text: &str, base: usize, edits: &RowEdits<'_, '_>, findings: &mut Vec<Diagnostic>) -> Vec<Block<SubscriberTable>> {
    let mut reader = reader(text);
    let mut record = StringRecord::new();
    let first_error = findings.len();
    let mut columns = None;
    let mut subscribers = Vec::new();
    loop {
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                findings.push(Diagnostic::error(base..base, format!("this is no list of subscribers: {error}")));
                break;
            }
        }
        let row = Row::new(text, base, &record, reader.position().byte());
        match &columns {
            None => match columns_of(&row, findings) {
                Some(found) => {
                    columns = Some(found);
                    let lines = text.bytes().filter(|&byte| byte == b'\n').count();
                    subscribers.reserve_exact(lines.min(MOST_SUBSCRIBERS));
                }
                None => return Vec::new(),
            },
            Some(_) if subscribers.len() == MOST_SUBSCRIBERS => {
                let finding = Diagnostic::error(row.span(), format!("the list has more than {MOST_SUBSCRIBERS} subscribers"));
                findings.push(finding.help("divide it among several policies"));
                break;
            }
            Some(columns) => {
                let edits = edits.take(columns.places[Column::Id as usize].and_then(|place| record.get(place)).unwrap_or("").trim());
                match edits.iter().position(|edit| matches!(edit.verb, RowVerb::Remove)) {
                    None => subscribers.extend(subscriber(&row, columns, edits, findings)),
                    Some(removal) => findings.extend(edits.get(removal + 1).map(|later| {
                        let problem = format!("an earlier change has removed the subscriber `{}`", later.name);
                        Diagnostic::error(later.span.clone(), problem).help("add it anew, or leave the removal out")
                    })),
                }
            }
        }
        if findings.len() - first_error >= MOST_ERRORS {
            break;
        }
    }
    if columns.is_none() {
        let finding = Diagnostic::error(base..base, "the list of subscribers is empty");
        findings.push(finding.help("begin with a line that names the columns, such as id,addresses,down,up"));
    }
    subscribers
}

/// A line of the list.
struct Row<'a> {
    record: &'a StringRecord,
    /// The text from its first value on.
    text: &'a str,
    /// Its place in all sources.
    start: usize,
}

impl<'a> Row<'a> {
    fn new(list: &'a str, base: usize, record: &'a StringRecord, end: u64) -> Row<'a> {
        let end = usize::try_from(end).map_or(list.len(), |end| end.min(list.len()));
        let mut start = record.position().and_then(|position| usize::try_from(position.byte()).ok()).map_or(end, |start| start.min(end));
        // The position is that of the lines before, which have been left out.
        while let Some(line) = list[start..end].split_inclusive('\n').next() {
            if !(line.starts_with('#') || line.trim_end_matches(['\r', '\n']).is_empty()) {
                break;
            }
            start += line.len();
        }
        if list[start..end].starts_with('\u{feff}') {
            start += '\u{feff}'.len_utf8();
        }
        Row { record, text: list[start..end].trim_end_matches(['\r', '\n']), start: base + start }
    }

    fn span(&self) -> Span {
        self.start..self.start + self.text.lines().next().map_or(0, str::len)
    }

    /// The place of a value.
    fn span_of(&self, value: usize) -> Span {
        let (mut from, mut number, mut is_quoted) = (0, 0, false);
        for (at, byte) in self.text.bytes().enumerate() {
            match byte {
                b'"' => is_quoted = !is_quoted,
                b',' if !is_quoted && number == value => return self.start + from..self.start + at,
                b',' if !is_quoted => (from, number) = (at + 1, number + 1),
                _ => {}
            }
        }
        self.start + from..self.start + self.text.len()
    }
}

/// Where each column is.
struct Columns {
    places: [Option<usize>; Column::ALL.len()],
    count: usize,
}

fn columns_of(row: &Row<'_>, findings: &mut Vec<Diagnostic>) -> Option<Columns> {
    let before = findings.len();
    let mut places = [None; Column::ALL.len()];
    for (place, name) in row.record.iter().enumerate() {
        let name = name.trim();
        let Some(column) = Column::ALL.into_iter().find(|column| column.name() == name) else {
            if row.record.len() == 1 {
                let finding = Diagnostic::error(row.span(), "the first line of a list of subscribers names its columns");
                findings.push(finding.help("separate them by commas, such as id,addresses,down,up"));
                return None;
            }
            let finding = Diagnostic::error(row.span_of(place), format!("unknown column `{}`", &name[..cut(name)]));
            findings.push(suggest(finding, name, Column::ALL.into_iter().map(Column::name), "columns"));
            continue;
        };
        if places[column as usize].replace(place).is_some() {
            let finding = Diagnostic::error(row.span_of(place), format!("the column `{name}` is there twice"));
            findings.push(finding.help("remove one of them"));
        }
    }
    if findings.len() > before {
        // A column that is misspelt is not missing as well.
        return None;
    }
    for column in [Column::Id, Column::Addresses].into_iter().filter(|&column| places[column as usize].is_none()) {
        let finding = Diagnostic::error(row.span(), format!("the list of subscribers lacks the column `{}`", column.name()));
        findings.push(finding.help("`id` names a subscriber, and `addresses` are its addresses or prefixes, separated by spaces"));
    }
    (findings.len() == before).then_some(Columns { places, count: row.record.len() })
}

/// The end of the part of a text that is printed.
fn cut(text: &str) -> usize {
    text.char_indices().nth(64).map_or(text.len(), |(at, _)| at)
}

fn subscriber(row: &Row<'_>, columns: &Columns, edits: &[&RowEdit<'_>], findings: &mut Vec<Diagnostic>) -> Option<Block<SubscriberTable>> {
    if row.record.len() != columns.count {
        let (values, count) = (row.record.len(), columns.count);
        let finding = Diagnostic::error(row.span(), format!("this line has {values} values, and the first line names {count} columns"));
        // A quotation mark that is not closed takes the lines behind it into its value.
        let is_open = row.record.iter().any(|value| value.len() > LONGEST_VALUE || value.contains('\n'));
        let mend = if is_open {
            "look for a quotation mark that is not closed"
        } else {
            "leave a value empty that is not there, and quote one that has a comma"
        };
        findings.push(finding.help(mend));
        return None;
    }
    let before = findings.len();
    let mut changed = [None; Column::ALL.len()];
    for edit in edits {
        let RowVerb::Set(key, value) = &edit.verb else { continue };
        match Column::ALL.into_iter().find(|column| column.key() == key) {
            Some(column) => changed[column as usize] = Some(value),
            None => {
                let finding = Diagnostic::error(edit.span.clone(), format!("a subscriber has no key `{key}`"));
                findings.push(suggest(finding, key, Column::ALL.into_iter().map(Column::key), "keys"));
            }
        }
    }
    let mut values = Values { row, columns, changed, findings };
    let name = values.required(Column::Id);
    let addresses = values.addresses();
    let (down, up) = (values.read::<Rate>(Column::Down), values.read(Column::Up));
    let (plan, site) = (values.read(Column::Plan), values.read(Column::Site));
    let value = SubscriberTable { repeat: Default::default(), name: name?, addresses: addresses?, down, up, plan, site };
    (findings.len() == before).then(|| Block { value, span: row.span() })
}

/// The values of a line.
struct Values<'a> {
    row: &'a Row<'a>,
    columns: &'a Columns,
    /// The values that differ from the row, by column.
    changed: [Option<&'a Spanned<DeValue<'a>>>; Column::ALL.len()],
    findings: &'a mut Vec<Diagnostic>,
}

impl<'a> Values<'a> {
    /// The value in a column, if there is one, and its place.
    fn text(&mut self, column: Column) -> Option<(&'a str, Span)> {
        let place = self.columns.places[column as usize]?;
        let text = self.row.record.get(place)?.trim();
        if text.len() > LONGEST_VALUE {
            let problem = format!("the value of `{}` has {} bytes, and at most {LONGEST_VALUE} are read", column.name(), text.len());
            self.findings.push(Diagnostic::error(self.row.span(), problem).help("look for a quotation mark that is not closed"));
            return None;
        }
        (!text.is_empty()).then(|| (text, self.row.span_of(place)))
    }

    fn read<T: Leaf>(&mut self, column: Column) -> Option<At<T>> {
        let (scalar, span) = match self.changed[column as usize] {
            Some(value) => (scalar(value.get_ref()), value.span()),
            None => self.text(column).map(|(text, span)| (Scalar::Text(text.into()), span))?,
        };
        if matches!(&scalar, Scalar::Text(text) if text.is_empty()) {
            return None;
        }
        match T::read(&scalar) {
            Ok(value) => Some(At { value, span }),
            Err(problem) => {
                self.findings.push(Diagnostic::error(span, format!("`{}`: {problem}", column.name())));
                None
            }
        }
    }

    fn required(&mut self, column: Column) -> Option<At<Name>> {
        let before = self.findings.len();
        let value = self.read(column);
        if value.is_none() && self.findings.len() == before {
            self.findings.push(Diagnostic::error(self.row.span(), format!("the subscriber has no `{}`", column.name())));
        }
        value
    }

    fn addresses(&mut self) -> Option<Block<Vec<At<Prefix>>>> {
        let before = self.findings.len();
        let written = match self.changed[Column::Addresses as usize] {
            Some(value) => Some((words(value.get_ref()), value.span())),
            None => self.text(Column::Addresses).map(|(text, span)| (Cow::Borrowed(text), span)),
        };
        let Some((text, span)) = written.filter(|(text, _)| !text.is_empty()) else {
            if self.findings.len() == before {
                self.findings.push(Diagnostic::error(self.row.span(), "the subscriber has no address"));
            }
            return None;
        };
        let mut value = Vec::new();
        let mut problems = Vec::new();
        for word in text.split_whitespace() {
            let single = || Prefix::read(&Scalar::Text(word.into())).map(|prefix| vec![prefix]);
            match range(word).unwrap_or_else(single) {
                Ok(prefixes) => value.extend(prefixes.into_iter().map(|value| At { value, span: span.clone() })),
                Err(problem) => problems.push(Diagnostic::error(span.clone(), format!("`addresses`: {problem}"))),
            }
        }
        self.findings.append(&mut problems);
        (self.findings.len() == before).then_some(Block { value, span })
    }
}

/// The words of a text, or the texts of a list.
fn words<'a>(value: &'a DeValue<'_>) -> Cow<'a, str> {
    match value {
        DeValue::Array(values) => values.iter().map(|value| words(value.get_ref())).collect::<Vec<_>>().join(" ").into(),
        other => match scalar(other) {
            Scalar::Text(text) => text,
            other => other.to_string().into(),
        },
    }
}
