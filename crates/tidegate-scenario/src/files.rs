//! A file and the texts that it names, as a client sends them to a running bridge.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A scenario or policy file with every other text that it names: fragments, lists of subscribers, traces of rates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileSet {
    /// Its name, for messages.
    pub name: String,
    /// Its text.
    pub text: Arc<str>,
    /// The other texts, by the name that the file has for them.
    pub files: BTreeMap<String, Arc<str>>,
}
