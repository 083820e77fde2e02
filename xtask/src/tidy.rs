//! `cargo xtask tidy`: the rules of layout and style that neither the compiler nor clippy knows.
//!
//! Every check is a function from what it looks at to a list of findings; each finding names a file and a line, says what is wrong and
//! what would be right.

use crate::Failure;
use crate::cargo::{metadata, root};
use source::Source;
use std::fmt;
use std::path::{Path, PathBuf};

mod arrows;
mod dead_files;
mod dialect;
mod disciplines;
mod hardware;
mod headers;
mod layout;
mod source;
mod unfinished;

/// Something that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Path relative to the repository's root.
    pub path: PathBuf,
    /// Line from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
    /// What would be right.
    pub remedy: String,
}

impl Finding {
    fn new(path: impl AsRef<Path>, line: usize, problem: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { path: path.as_ref().to_path_buf(), line, problem: problem.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.path.display(), self.line, self.problem, self.remedy)
    }
}

/// The folders that hold our Rust.
const RUST_FOLDERS: &[&str] = &["crates", "xtask", "fuzz", "benches"];

/// Folders that hold what was built or written by a run.
const PRODUCTS: &[&str] = &["target", "out", ".git", "artifacts", "coverage"];

/// Runs every check on the repository.
///
/// # Errors
/// [`Failure::Check`] with the number of findings, which have been printed.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    if let Some(argument) = arguments.first() {
        return Err(Failure::Usage(format!("tidy takes no options, not \"{argument}\"")));
    }
    let root = root();
    let metadata = metadata()?;
    let files = files_under(&root, Path::new("")).map_err(|error| Failure::Environment(format!("cannot read the tree: {error}")))?;
    let sources = rust_sources(&root, &files)?;

    let mut findings = Vec::new();
    findings.extend(arrows::check(&metadata, &root));
    findings.extend(headers::check(&sources));
    let tree = dead_files::Tree::new(&sources, &dead_files::crate_roots(&metadata, &root));
    findings.extend(tree.check(&sources));
    findings.extend(dead_files::check_linked(&root, &files)?);
    findings.extend(hardware::check(&root, &files)?);
    findings.extend(layout::check(&root, &files)?);
    findings.extend(dialect::check(&sources, &tree));
    findings.extend(unfinished::check(&root, &files, &sources)?);
    findings.extend(disciplines::check(&root));

    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("tidy: {} files, {} of them Rust: nothing to report", files.len(), sources.len());
            Ok(())
        }
        number => Err(Failure::Check(format!("tidy: {number} findings"))),
    }
}

/// Every file of the repository, relative to its root, products left out, in a fixed order.
fn files_under(root: &Path, folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            if !PRODUCTS.iter().any(|product| entry.file_name() == *product) {
                files.extend(files_under(root, &path)?);
            }
        } else {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn rust_sources(root: &Path, files: &[PathBuf]) -> Result<Vec<Source>, Failure> {
    let is_ours = |path: &&PathBuf| has_extension(path, "rs") && RUST_FOLDERS.iter().any(|folder| path.starts_with(folder));
    files.iter().filter(is_ours).map(|path| Ok(Source::new(path, &read(root, path)?))).collect()
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// Reads a text file of the repository.
fn read(root: &Path, path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(root.join(path)).map_err(|error| Failure::Environment(format!("cannot read {}: {error}", path.display())))
}
