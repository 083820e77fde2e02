//! Files that nothing reaches: Rust files outside every module tree, documents and scenarios that nothing names.

use super::source::is_for_tests;
use super::{Failure, Finding, Source, has_extension, read};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprLit, Item, Lit, Meta, MetaNameValue};

/// The module trees of all crates: which files are reached, and which of them only by tests.
pub struct Tree {
    /// For each reached file, true if every way to it is for tests only.
    reached: BTreeMap<PathBuf, bool>,
    missing: Vec<Finding>,
}

/// The root files of every target of the workspace, and whether the target is a test.
pub fn crate_roots(metadata: &Value, root: &Path) -> Vec<(PathBuf, bool)> {
    let mut roots = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        for target in package["targets"].as_array().into_iter().flatten() {
            let path = Path::new(target["src_path"].as_str().unwrap_or_default());
            let is_test = target["kind"].as_array().into_iter().flatten().any(|kind| kind == "test" || kind == "bench");
            roots.push((path.strip_prefix(root).unwrap_or(path).to_path_buf(), is_test));
        }
    }
    roots
}

impl Tree {
    /// Follows every `mod name;` from the roots.
    pub fn new(sources: &[Source], roots: &[(PathBuf, bool)]) -> Tree {
        let by_path: BTreeMap<&Path, &Source> = sources.iter().map(|source| (source.path.as_path(), source)).collect();
        let mut tree = Tree { reached: BTreeMap::new(), missing: Vec::new() };
        for (path, is_test) in roots {
            tree.follow(&by_path, path, true, *is_test);
        }
        tree
    }

    /// True if the file is compiled for tests only.
    pub fn is_test(&self, path: &Path) -> bool {
        self.reached.get(path).copied().unwrap_or(false)
    }

    /// The files that no root reaches, and the modules that name no file.
    pub fn check(&self, sources: &[Source]) -> Vec<Finding> {
        let dead = sources.iter().filter(|source| !self.reached.contains_key(&source.path)).map(|source| {
            Finding::new(&source.path, 1, "no crate reaches this file", "declare it with `mod` where it belongs, or delete it")
        });
        let missing = self.missing.iter().map(|finding| Finding::new(&finding.path, finding.line, &finding.problem, &finding.remedy));
        dead.chain(missing).collect()
    }

    fn follow(&mut self, by_path: &BTreeMap<&Path, &Source>, path: &Path, is_root: bool, is_test: bool) {
        match self.reached.get(path) {
            // A file already known to ship, or known as a test and reached by one again: nothing new.
            Some(false) => return,
            Some(true) if is_test => return,
            _ => {}
        }
        self.reached.insert(path.to_path_buf(), is_test);
        let Some(source) = by_path.get(path) else { return };
        let parent = path.parent().unwrap_or(Path::new(""));
        let owns_folder = is_root || path.file_name().is_some_and(|name| name == "mod.rs");
        let folder = if owns_folder { parent.to_path_buf() } else { parent.join(path.file_stem().unwrap_or_default()) };
        for module in source.tree.iter().flat_map(|tree| modules(&tree.items, &[], false)) {
            let inside = module.inside.iter().fold(folder.clone(), |folder, name| folder.join(name));
            let candidates = match &module.path {
                Some(given) => vec![without_dots(&parent.join(given))],
                None => vec![inside.join(format!("{}.rs", module.name)), inside.join(&module.name).join("mod.rs")],
            };
            match candidates.iter().find(|candidate| by_path.contains_key(candidate.as_path())) {
                Some(found) => self.follow(by_path, found, false, is_test || module.is_test),
                None => self.missing.push(Finding::new(
                    path,
                    module.line,
                    format!("the module \"{}\" has no file", module.name),
                    format!("expected {}", candidates[0].display()),
                )),
            }
        }
    }
}

/// The path with every `folder/..` taken out.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

/// One `mod name;`.
struct Module {
    name: String,
    line: usize,
    /// The inline modules around it.
    inside: Vec<String>,
    /// What `#[path = "..."]` gives.
    path: Option<PathBuf>,
    is_test: bool,
}

/// Collects every `mod name;` among these items, which are `inside` of inline modules.
fn modules(items: &[Item], inside: &[String], is_test: bool) -> Vec<Module> {
    let mut found = Vec::new();
    for item in items {
        let Item::Mod(module) = item else { continue };
        let (name, is_test) = (module.ident.to_string(), is_test || is_for_tests(&module.attrs));
        match &module.content {
            Some((_, items)) => found.extend(modules(items, &[inside, &[name]].concat(), is_test)),
            None => {
                let (line, path) = (module.span().start().line, given_path(&module.attrs));
                found.push(Module { name, line, inside: inside.to_vec(), path, is_test });
            }
        }
    }
    found
}

/// The value of a `#[path = "..."]`.
fn given_path(attributes: &[Attribute]) -> Option<PathBuf> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(MetaNameValue { path, value: Expr::Lit(ExprLit { lit: Lit::Str(text), .. }), .. }) if path.is_ident("path") => {
            Some(text.value().into())
        }
        _ => None,
    })
}

/// Documents and scenarios that no document and no test names.
///
/// # Errors
/// [`Failure::Environment`] if a file cannot be read.
pub fn check_linked(root: &Path, files: &[PathBuf]) -> Result<Vec<Finding>, Failure> {
    let mut texts = Vec::new();
    for path in files.iter().filter(|path| has_extension(path, "md") || has_extension(path, "rs")) {
        texts.push((path.clone(), read(root, path)?));
    }
    let watched: Vec<&PathBuf> = files.iter().filter(|path| path.starts_with("docs") || path.starts_with("scenarios")).collect();
    Ok(unlinked(&watched, &texts))
}

fn unlinked(watched: &[&PathBuf], texts: &[(PathBuf, String)]) -> Vec<Finding> {
    let is_named = |path: &Path| {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
        texts.iter().any(|(other, text)| other != path && names_file(text, name))
    };
    let dead = watched.iter().filter(|path| !is_named(path));
    dead.map(|path| Finding::new(path, 1, "no document and no test names this file", "link it from where a reader would look for it"))
        .collect()
}

/// True if `text` holds `name` as a whole file name.
fn names_file(text: &str, name: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '_' || character == '-';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].chars().next_back().is_some_and(is_part) && !text[at + name.len()..].chars().next().is_some_and(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(files: &[(&str, &str)]) -> Vec<Source> {
        files.iter().map(|(path, text)| Source::new(path, text)).collect()
    }

    fn tree(files: &[(&str, &str)]) -> (Tree, Vec<String>) {
        let sources = sources(files);
        let tree = Tree::new(&sources, &[(PathBuf::from("crates/a/src/lib.rs"), false)]);
        let findings = tree.check(&sources).iter().map(Finding::to_string).collect();
        (tree, findings)
    }

    #[test]
    fn a_file_outside_the_module_tree_is_found() {
        let (_, findings) = tree(&[
            ("crates/a/src/lib.rs", "pub mod one;\npub(crate) mod two;\n"),
            ("crates/a/src/one.rs", "mod deep;\n"),
            ("crates/a/src/one/deep.rs", ""),
            ("crates/a/src/two/mod.rs", ""),
            ("crates/a/src/lost.rs", ""),
        ]);
        assert_eq!(findings, ["crates/a/src/lost.rs:1: no crate reaches this file; declare it with `mod` where it belongs, or delete it"]);
    }

    #[test]
    fn a_module_in_a_comment_or_string_reaches_nothing() {
        let (_, findings) = tree(&[("crates/a/src/lib.rs", "// mod one;\n"), ("crates/a/src/one.rs", "")]);
        assert_eq!(findings.len(), 1);
    }

    #[test]
    fn inline_modules_and_given_paths_are_followed() {
        let (_, findings) = tree(&[
            ("crates/a/src/lib.rs", "mod outer {\n    pub mod inner;\n}\n#[path = \"../src/other/name.rs\"]\nmod renamed;\nmod last;\n"),
            ("crates/a/src/outer/inner.rs", ""),
            ("crates/a/src/other/name.rs", ""),
            ("crates/a/src/last.rs", ""),
        ]);
        assert_eq!(findings, [""; 0]);
    }

    #[test]
    fn a_module_without_a_file_is_found() {
        let (_, findings) = tree(&[("crates/a/src/lib.rs", "//! A.\nmod gone;\n")]);
        assert_eq!(findings, ["crates/a/src/lib.rs:2: the module \"gone\" has no file; expected crates/a/src/gone.rs"]);
    }

    #[test]
    fn files_of_tests_are_told_apart() {
        let (tree, _) = tree(&[
            ("crates/a/src/lib.rs", "mod one;\n#[cfg(test)]\nmod checks;\n"),
            ("crates/a/src/one.rs", ""),
            ("crates/a/src/checks.rs", ""),
        ]);
        assert!(!tree.is_test(Path::new("crates/a/src/one.rs")));
        assert!(tree.is_test(Path::new("crates/a/src/checks.rs")));
    }

    #[test]
    fn a_document_that_nothing_names_is_found() {
        let drr = PathBuf::from("docs/drr.md");
        let texts = |text: &str| [(PathBuf::from("README.md"), text.to_owned()), (drr.clone(), "drr.md".to_owned())];
        assert_eq!(unlinked(&[&drr], &texts("see [DRR](docs/drr.md)")), []);
        assert_eq!(unlinked(&[&drr], &texts("see docs/shaped-drr.md")).len(), 1);
    }
}
