//! The text files that a scenario or policy file names: fragments, lists of subscribers, traces of rates. Each is read once.
//!
//! Names are relative to the folder of the file. Through the control socket of a bridge the client sends the texts, and nothing is read.

use crate::diagnostic::Sources;
use crate::rows::RowEdit;
use crate::text::matches_pattern;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest text file that is read, in bytes.
const LONGEST: u64 = 64_000_000;

/// The texts beside one file.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    origin: Origin,
    /// By name.
    read: BTreeMap<String, Result<Arc<str>, String>>,
}

#[derive(Debug, Default)]
enum Origin {
    /// There are none, because the text is not that of a file.
    #[default]
    Nowhere,
    /// A folder.
    Folder(PathBuf),
    /// These, by name.
    Given(BTreeMap<String, Arc<str>>),
}

impl Texts {
    /// Texts beside the file at `path`.
    pub fn beside(path: &Path) -> Texts {
        Texts { origin: Origin::Folder(path.parent().unwrap_or(Path::new("")).to_owned()), ..Texts::default() }
    }

    /// These texts, by name.
    pub fn given(texts: BTreeMap<String, Arc<str>>) -> Texts {
        Texts { origin: Origin::Given(texts), ..Texts::default() }
    }

    /// The folder that names are relative to, if files are read.
    pub fn folder(&self) -> Option<&Path> {
        match &self.origin {
            Origin::Folder(folder) => Some(folder),
            _ => None,
        }
    }

    /// The text of this name; `what` it is, for messages.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub fn text(&mut self, what: &str, name: &str) -> Result<Arc<str>, String> {
        if let Some(known) = self.read.get(name) {
            return known.clone();
        }
        let text = match &self.origin {
            Origin::Nowhere => Err(format!("the {what} {name} is looked for beside the file, and this text has no file")),
            Origin::Folder(folder) => {
                read(&folder.join(name)).map_err(|problem| format!("the {what} {} {problem}", folder.join(name).display()))
            }
            Origin::Given(texts) => texts.get(name).cloned().ok_or_else(|| format!("the {what} {name} was not sent with the file")),
        };
        self.read.insert(name.to_owned(), text.clone());
        text
    }

    /// The names that match a pattern, in order. Its last part may have `*` for any characters; the folder before is as written.
    ///
    /// # Errors
    /// The reason why the folder cannot be read.
    pub fn matching(&self, pattern: &str) -> Result<Vec<String>, String> {
        let (folder, last) = pattern.rsplit_once('/').map_or(("", pattern), |(folder, last)| (folder, last));
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut names = match &self.origin {
            Origin::Nowhere => return Err(format!("{pattern} is looked for beside the file, and this text has no file")),
            Origin::Folder(directory) => {
                let directory = directory.join(folder);
                let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { &directory };
                let unreadable = |error: std::io::Error| format!("the folder {} cannot be read: {error}", directory.display());
                let mut names = Vec::new();
                for entry in fs::read_dir(directory).map_err(unreadable)? {
                    names.extend(entry.map_err(unreadable)?.file_name().into_string());
                }
                names
            }
            Origin::Given(texts) => {
                texts.keys().filter_map(|name| name.strip_prefix(&prefix)).filter(|name| !name.contains('/')).map(str::to_owned).collect()
            }
        };
        names.retain(|name| !name.starts_with('.') && matches_pattern(last, name));
        names.sort_unstable();
        Ok(names.into_iter().map(|name| prefix.clone() + &name).collect())
    }

    /// The names of the texts that were read.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.read.keys()
    }

    /// The texts that were read, by name.
    pub fn texts(&self) -> BTreeMap<String, Arc<str>> {
        self.read.iter().filter_map(|(name, text)| Some((name.clone(), text.clone().ok()?))).collect()
    }
}

fn read(path: &Path) -> Result<Arc<str>, String> {
    let unopened = |error: std::io::Error| format!("cannot be opened: {error}");
    if !fs::metadata(path).map_err(unopened)?.is_file() {
        return Err("is no file".to_owned());
    }
    let mut text = String::new();
    let file = fs::File::open(path).map_err(unopened)?;
    match file.take(LONGEST + 1).read_to_string(&mut text).map_err(|error| format!("cannot be read: {error}"))? as u64 {
        0..=LONGEST => Ok(text.into()),
        _ => Err("is longer than 64 MB".to_owned()),
    }
}

/// The texts of lists, where they are among all sources, and the changes of their rows.
pub(crate) struct Lists<'a> {
    pub texts: &'a mut Texts,
    pub sources: &'a mut Sources,
    /// The folder of the file, as it was given.
    pub folder: &'a Path,
    pub edits: &'a [RowEdit<'a>],
}

impl Lists<'_> {
    /// The text of a list, and where it begins in all sources.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub(crate) fn read(&mut self, name: &str) -> Result<(Arc<str>, usize), String> {
        let text = self.texts.text("list of subscribers", name)?;
        let base = self.sources.add_once(&self.folder.join(name).display().to_string(), &text);
        Ok((text, base))
    }
}
