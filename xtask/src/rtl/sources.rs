//! The SystemVerilog of the design: its files, their texts, and which of them a module needs.

use crate::cargo::root;
use crate::failure::Failure;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The folder of what is synthesised.
pub const SOURCES: &str = "rtl/src";

/// The SystemVerilog files of the design relative to the root, packages first, otherwise by name: an order in which they can be read.
///
/// # Errors
/// [`Failure::Environment`] if the folder cannot be read.
pub fn sources() -> Result<Vec<PathBuf>, Failure> {
    let unreadable = Failure::cannot("read", SOURCES);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join(SOURCES)).map_err(&unreadable)? {
        let path = Path::new(SOURCES).join(entry.map_err(&unreadable)?.file_name());
        if path.extension().is_some_and(|extension| extension == "sv") {
            found.push(path);
        }
    }
    found.sort_by_key(|path| (!is_package(path), path.clone()));
    Ok(found)
}

pub fn is_package(path: &Path) -> bool {
    stem(path).ends_with("_pkg")
}

/// The name of the module or package in a file.
pub fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The texts of the files below `rtl/src`, by their names without ending.
///
/// # Errors
/// [`Failure::Environment`] if a file cannot be read.
pub fn texts() -> Result<BTreeMap<String, String>, Failure> {
    let mut texts = BTreeMap::new();
    for path in sources()? {
        let text = std::fs::read_to_string(root().join(&path)).map_err(Failure::cannot("read", &path))?;
        texts.insert(stem(&path), text);
    }
    Ok(texts)
}

/// The files that `top` is made of, packages first: those whose names it says outside comments, and so on.
pub fn needed<'a>(top: &str, sources: &'a BTreeMap<String, String>) -> Vec<&'a str> {
    let words = |text: &'a str| -> BTreeSet<&'a str> {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        lines.flat_map(|line| line.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))).collect()
    };
    let mut found: Vec<&str> = sources.keys().map(String::as_str).filter(|name| *name == top).collect();
    let mut next = 0;
    while let Some(&name) = found.get(next) {
        next += 1;
        let words = words(&sources[name]);
        for other in sources.keys().map(String::as_str) {
            if !found.contains(&other) && words.contains(other) {
                found.push(other);
            }
        }
    }
    found.sort_by_key(|name| (!is_package(Path::new(&format!("{name}.sv"))), *name));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_design_needs_what_it_names() {
        let text = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let sources = BTreeMap::from([
            text("a_pkg", ""),
            text("b", "// not d\n  import a_pkg::*;\n c u_c();"),
            text("c", "b2"),
            text("d", "b"),
            text("z_top", "b u_b ();"),
        ]);
        assert_eq!(needed("z_top", &sources), ["a_pkg", "b", "c", "z_top"]);
        assert_eq!(needed("none", &sources), [""; 0]);
    }
}
