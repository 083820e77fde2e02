//! Texts with holes: `"{rate}"`, `"leaf-{i}"`, `"10.0.{(i-1)/8}.0/24"`. Templates and loops fill them.
//!
//! A hole is the name of a value, or arithmetic on whole numbers: `+`, `-`, `*`, `/` (rounded down), `%` and brackets. A text that is one hole becomes the
//! value as it is; elsewhere the value is put into the text.

use crate::diagnostic::{Diagnostic, Span};
use crate::structure::scalar;
use crate::value::Scalar;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, OnceLock, PoisonError};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Fills the holes of one tree.
pub(crate) struct Filler<'a, 'i> {
    /// What has the holes, for messages.
    pub owner: String,
    /// Where it is used.
    pub used_at: Span,
    /// How a value is given to a hole of this name.
    pub remedy: fn(&str) -> String,
    pub values: &'a DeTable<'i>,
    /// The holes that have been filled.
    pub used: BTreeSet<String>,
}

impl<'i> Filler<'_, 'i> {
    pub(crate) fn table(&mut self, table: &DeTable<'i>) -> Result<DeTable<'i>, Diagnostic> {
        let mut filled = DeTable::new();
        for (key, value) in table {
            filled.insert(key.clone(), self.value(value)?);
        }
        Ok(filled)
    }

    pub(crate) fn value(&mut self, value: &Spanned<DeValue<'i>>) -> Result<Spanned<DeValue<'i>>, Diagnostic> {
        let filled = match value.get_ref() {
            DeValue::Table(table) => DeValue::Table(self.table(table)?),
            DeValue::Array(array) => DeValue::Array(array.iter().map(|element| self.value(element)).collect::<Result<_, _>>()?),
            DeValue::String(text) if text.contains(['{', '}']) => return self.text(text, value.span()),
            single => single.clone(),
        };
        Ok(Spanned::new(value.span(), filled))
    }

    /// The text with its holes filled; the value itself, if the text is one hole.
    fn text(&mut self, text: &str, span: Span) -> Result<Spanned<DeValue<'i>>, Diagnostic> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let Some((hole, behind)) = rest[at..].strip_prefix('{').and_then(|behind| behind.split_once('}')) else {
                let finding = Diagnostic::error(span, format!("{}: a hole is a name in braces, like {{rate}}", self.owner));
                return Err(finding.help("close it, or remove the brace"));
            };
            let value = self.hole(hole, &span)?;
            if hole.len() + 2 == text.len() {
                return Ok(value);
            }
            filled += &rest[..at];
            match scalar(value.get_ref()) {
                Scalar::Text(text) => filled += &text,
                single @ (Scalar::Integer(_) | Scalar::Decimal(_)) => filled += &single.to_string(),
                other => {
                    let problem = format!("`{hole}` is put into a text, and is text or a number, not {other}");
                    return Err(Diagnostic::error(value.span(), problem).context(span, "the text"));
                }
            }
            rest = behind;
        }
        filled += rest;
        Ok(Spanned::new(span, DeValue::String(filled.into())))
    }

    /// The value of a hole.
    fn hole(&mut self, hole: &str, span: &Span) -> Result<Spanned<DeValue<'i>>, Diagnostic> {
        if let Some(value) = self.values.get(hole) {
            self.used.insert(hole.to_owned());
            return Ok(value.clone());
        }
        if !hole.contains(['+', '*', '/', '%', '('])
            && !hole.chars().any(|c| c == '-' && self.values.get(hole.split('-').next().unwrap_or("").trim()).is_some())
        {
            let finding = Diagnostic::error(self.used_at.clone(), format!("{} has a hole `{{{hole}}}` without a value", self.owner));
            return Err(finding.context(span.clone(), "the hole").help((self.remedy)(hole)));
        }
        let mut expression = Expression { rest: hole, depth: 0, variable: |name: &str| self.number(name) };
        let found = expression.sum().and_then(|value| if expression.rest.trim().is_empty() { Ok(value) } else { Err(expression.unread()) });
        let value = found.map_err(|problem| {
            let finding = Diagnostic::error(span.clone(), format!("{}: `{{{hole}}}`: {problem}", self.owner));
            finding.help("write arithmetic on whole numbers, like {i+1} or {(i-1)/4}").context(self.used_at.clone(), "used here")
        })?;
        let names = hole.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| self.values.contains_key(*name));
        let names: Vec<String> = names.map(str::to_owned).collect();
        self.used.extend(names);
        Ok(number(value, span.clone()))
    }

    /// The whole number of this name.
    fn number(&self, name: &str) -> Result<i64, String> {
        match self.values.get(name).map(|value| scalar(value.get_ref())) {
            Some(Scalar::Integer(value)) => i64::try_from(value).map_err(|_| format!("`{name}` is beyond 64 bits")),
            Some(_) => Err(format!("`{name}` is no whole number")),
            None => Err(format!("there is no value `{name}`")),
        }
    }
}

/// A whole number as a value of a tree.
pub(crate) fn number<'i>(value: i64, span: Span) -> Spanned<DeValue<'i>> {
    // A tree can only borrow the digits of a number, so each number is kept once.
    static DIGITS: OnceLock<Mutex<HashMap<i64, &'static str>>> = OnceLock::new();
    let mut digits = DIGITS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    let text: &'static str = digits.entry(value).or_insert_with(|| Box::leak(value.to_string().into_boxed_str()));
    let parsed = DeValue::parse(text).map_or_else(|_| DeValue::String(text.into()), Spanned::into_inner);
    Spanned::new(span, parsed)
}

/// The most brackets in each other.
const DEEPEST: usize = 16;

/// Arithmetic that is being read.
struct Expression<'t, F> {
    rest: &'t str,
    depth: usize,
    variable: F,
}

impl<F: Fn(&str) -> Result<i64, String>> Expression<'_, F> {
    fn sum(&mut self) -> Result<i64, String> {
        let mut value = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            let next = self.product()?;
            let result = if sign == '+' { value.checked_add(next) } else { value.checked_sub(next) };
            value = result.ok_or("a result beyond 64 bits")?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<i64, String> {
        let mut value = self.single()?;
        while let Some(sign) = self.take(&['*', '/', '%']) {
            let next = self.single()?;
            let result = match sign {
                '*' => value.checked_mul(next),
                _ if next == 0 => return Err("a division by 0".to_owned()),
                '/' => value.checked_sub(value.rem_euclid(next)).and_then(|whole| whole.checked_div(next)),
                _ => value.checked_rem_euclid(next),
            };
            value = result.ok_or("a result beyond 64 bits")?;
        }
        Ok(value)
    }

    fn single(&mut self) -> Result<i64, String> {
        if self.take(&['(']).is_some() {
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err(format!("more than {DEEPEST} brackets in each other"));
            }
            let value = self.sum()?;
            self.depth -= 1;
            return self.take(&[')']).map(|_| value).ok_or_else(|| "a bracket is not closed".to_owned());
        }
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.is_empty() {
            return Err(self.unread());
        }
        self.rest = rest;
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return word.parse().map_err(|_| format!("`{word}` is no whole number"));
        }
        (self.variable)(word)
    }

    /// The next character, if it is one of these.
    fn take(&mut self, signs: &[char]) -> Option<char> {
        let rest = self.rest.trim_start();
        let sign = rest.chars().next().filter(|sign| signs.contains(sign))?;
        self.rest = &rest[sign.len_utf8()..];
        Some(sign)
    }

    fn unread(&self) -> String {
        if self.rest.trim().is_empty() { "it ends too early".to_owned() } else { format!("`{}` is not understood", self.rest.trim()) }
    }
}
