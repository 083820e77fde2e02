//! `cargo xtask tidy`: the rules of layout and style that neither the compiler nor clippy knows.
//!
//! Every check is a function that returns a list of findings. A finding names a file and a line, says what is wrong, and what would be right.

use crate::Failure;
use crate::cargo::{metadata, root};
use files::{files_under, has_extension, read, rust_sources};
use finding::Finding;
use source::Source;
use std::path::Path;

mod arrows;
mod circles;
mod dead_files;
mod dialect;
mod disciplines;
pub mod files;
pub mod finding;
mod hardware;
mod headers;
mod layout;
mod prose;
mod repeats;
mod source;
mod unfinished;

/// Runs every check on the repository.
///
/// # Errors
/// [`Failure::Check`] with the number of findings, which have been printed.
pub fn run() -> Result<(), Failure> {
    let root = root();
    let metadata = metadata()?;
    let files = files_under(&root, Path::new("")).map_err(|error| Failure::Environment(format!("cannot read the tree: {error}")))?;
    let sources = rust_sources(&root, &files)?;

    let mut findings = Vec::new();
    findings.extend(arrows::check(&metadata, &root));
    findings.extend(headers::check(&sources));
    let roots = dead_files::crate_roots(&metadata, &root);
    let tree = dead_files::Tree::new(&sources, &roots);
    findings.extend(tree.check(&sources));
    findings.extend(dead_files::check_linked(&root, &files)?);
    findings.extend(hardware::check(&root, &files)?);
    findings.extend(layout::check(&root, &files)?);
    findings.extend(dialect::check(&sources, &tree));
    findings.extend(unfinished::check(&root, &files, &sources)?);
    findings.extend(disciplines::check(&root));
    findings.extend(circles::check(&sources, &roots, &tree));
    findings.extend(repeats::check(&sources, &tree));
    findings.extend(prose::check(&root, &files, &sources)?);

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
