//! Which files the repository has, and what they hold.

use super::source::Source;
use crate::failure::Failure;
use std::path::{Path, PathBuf};

/// The folders that hold our Rust.
const RUST_FOLDERS: &[&str] = &["crates", "xtask", "fuzz", "benches", "rtl"];

/// Folders that hold what was built or written by a run.
const PRODUCTS: &[&str] = &["target", "book", "out", ".git", "artifacts", "coverage"];

/// Every file of the repository, relative to its root, products left out, in a fixed order.
pub fn files_under(root: &Path, folder: &Path) -> std::io::Result<Vec<PathBuf>> {
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

pub fn rust_sources(root: &Path, files: &[PathBuf]) -> Result<Vec<Source>, Failure> {
    let is_ours = |path: &&PathBuf| has_extension(path, "rs") && RUST_FOLDERS.iter().any(|folder| path.starts_with(folder));
    files.iter().filter(is_ours).map(|path| Ok(Source::new(path, &read(root, path)?))).collect()
}

pub fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// Reads a text file of the repository.
///
/// # Errors
/// [`Failure::Environment`] if it cannot be read.
pub fn read(root: &Path, path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(root.join(path)).map_err(Failure::cannot("read", &path))
}
