//! `cargo xtask book`: builds the documentation as a book, and checks the links of the book and of every other document.
//!
//! `docs/` holds the pages, `docs/SUMMARY.md` their order. mdBook leaves out a page that is not in the summary, so a missing one is a finding.
//! The book is built beside `docs/`, so that a link to a file outside the book resolves alike from the source and from the built page.
//!
//! Two lists are checked against the manifests: ARCHITECTURE.md says what every dependency is for, the README of a crate which crates it uses.

use crate::cargo::{metadata, root, succeed};
use crate::environment;
use crate::failure::Failure;
use crate::tidy::files::{files_under, has_extension, read};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// The folder that the book is built into, as `docs/book.toml` names it.
const BOOK: &str = "book";

/// Builds the book and checks every link.
///
/// # Errors
/// [`Failure::Check`] with the number of broken links, which have been printed; [`Failure::Environment`] if mdBook cannot be built.
pub fn run() -> Result<(), Failure> {
    let root = root();
    let book = root.join(BOOK);
    if book.exists() {
        fs::remove_dir_all(&book).map_err(Failure::cannot("read or replace", &book))?;
    }
    let mut command = Command::new(environment::mdbook()?);
    succeed(command.current_dir(&root).env("MDBOOK_LOG", "warn").args(["build", "docs"]))?;

    let documents = documents(&root, Path::new(""), "md")?;
    let summary = read(&root, Path::new("docs/SUMMARY.md"))?;
    let metadata = metadata()?;
    let mut findings = unexplained(&metadata, &read(&root, Path::new("ARCHITECTURE.md"))?);
    findings.extend(untold(&metadata, &root));
    for path in &documents {
        if let Ok(page) = path.strip_prefix("docs") {
            if page != Path::new("SUMMARY.md") && !summary.contains(&format!("({})", page.display())) {
                findings.push(format!("{}: the page is not in docs/SUMMARY.md; add it there, or the book lacks it", path.display()));
            }
        } else {
            findings.extend(broken(path, &markdown_links(&read(&root, path)?), |target| exists(&root, target)));
        }
    }
    findings.extend(broken_in_book(&root)?);
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("book: {} documents without a broken link; open {}", documents.len(), book.join("index.html").display());
            Ok(())
        }
        number => Err(Failure::Check(format!("book: {number} findings"))),
    }
}

/// Broken links of the built pages, fragments included.
fn broken_in_book(root: &Path) -> Result<Vec<String>, Failure> {
    let mut texts = BTreeMap::new();
    for path in documents(root, Path::new(BOOK), "html")? {
        let text = read(root, &path)?;
        texts.insert(path, text);
    }
    let anchors: BTreeMap<&PathBuf, BTreeSet<&str>> = texts.iter().map(|(path, text)| (path, attributes(text, "id").collect())).collect();
    let resolves = |target: &Target| match (anchors.get(&target.path), &target.fragment) {
        (Some(anchors), Some(fragment)) => fragment.is_empty() || anchors.contains(fragment.as_str()),
        _ => exists(root, target),
    };
    // The sidebar's own page has no content beside the links that every page has.
    let pages = texts.iter().filter(|(path, _)| !path.ends_with("toc.html"));
    Ok(pages
        .flat_map(|(path, text)| {
            let links: Vec<&str> = attributes(text, "href").chain(attributes(text, "src")).collect();
            broken(path, &links, resolves)
        })
        .collect())
}

/// Where a relative link leads.
struct Target {
    /// Relative to the repository's root.
    path: PathBuf,
    fragment: Option<String>,
}

/// A message for every relative link of the document for which `resolves` is false.
fn broken(document: &Path, links: &[&str], resolves: impl Fn(&Target) -> bool) -> Vec<String> {
    let relative = links.iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:") && !link.starts_with("data:"));
    let bad = relative.filter(|link| !target(document, link).is_some_and(|target| resolves(&target)));
    bad.map(|link| format!("{}: the link \"{link}\" leads nowhere; correct or remove it", document.display())).collect()
}

/// The target of a link in a document; `None` if it leaves the repository.
fn target(document: &Path, link: &str) -> Option<Target> {
    let (path, fragment) = match link.split_once('#') {
        Some((path, fragment)) => (path, Some(fragment.to_owned())),
        None => (link, None),
    };
    if path.is_empty() {
        return Some(Target { path: document.to_path_buf(), fragment });
    }
    let mut plain = document.parent()?.to_path_buf();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir if !plain.pop() => return None,
            Component::ParentDir | Component::CurDir => {}
            other => plain.push(other),
        }
    }
    Some(Target { path: plain, fragment })
}

fn exists(root: &Path, target: &Target) -> bool {
    root.join(&target.path).exists()
}

fn attributes<'a>(html: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let before = format!(" {name}=\"");
    let starts: Vec<usize> = html.match_indices(&before).map(|(at, _)| at + before.len()).collect();
    starts.into_iter().filter_map(|start| html[start..].split('"').next())
}

/// The targets of inline links in Markdown, blocks of code left out.
fn markdown_links(text: &str) -> Vec<&str> {
    let mut links = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if !in_code {
            links.extend(line.match_indices("](").filter_map(|(at, _)| line[at + 2..].split(')').next()));
        }
    }
    links
}

/// The files below a folder with this extension, relative to the root.
fn documents(root: &Path, folder: &Path, extension: &str) -> Result<Vec<PathBuf>, Failure> {
    let mut found = files_under(root, folder).map_err(Failure::cannot("read or replace", &root.join(folder)))?;
    found.retain(|path| has_extension(path, extension));
    Ok(found)
}

/// A message for every dependency from a registry that the document does not name in backticks.
fn unexplained(metadata: &Value, document: &str) -> Vec<String> {
    let names: BTreeSet<&str> = list(metadata, "packages").flat_map(|package| dependencies(package, false)).collect();
    let unnamed = names.iter().filter(|name| !document.contains(&format!("`{name}`")));
    unnamed.map(|name| format!("ARCHITECTURE.md: the dependency {name} is not explained; say in its table what it is for")).collect()
}

/// A message for every crate whose README is missing, or leaves out a crate of ours that it uses.
fn untold(metadata: &Value, root: &Path) -> Vec<String> {
    let mut findings = Vec::new();
    for package in list(metadata, "packages") {
        let folder = Path::new(package["manifest_path"].as_str().unwrap_or_default()).parent().unwrap_or(root);
        let Ok(folder) = folder.strip_prefix(root) else { continue };
        if folder.starts_with("crates") {
            match read(root, &folder.join("README.md")) {
                Err(_) => {
                    findings.push(format!("{}: there is no README.md; say what the crate holds and where to begin", folder.display()))
                }
                Ok(text) => findings.extend(
                    dependencies(package, true)
                        .filter(|name| !text.contains(&format!("`{name}`")))
                        .map(|name| format!("{}/README.md: it does not say that the crate may use {name}; add it", folder.display())),
                ),
            }
        }
    }
    findings
}

/// The names of what a package depends on: the crates of the workspace outside tests, or all packages from a registry.
fn dependencies(package: &Value, ours: bool) -> impl Iterator<Item = &str> {
    let is_wanted = move |dependency: &&Value| dependency["source"].is_null() == ours && !(ours && dependency["kind"] == "dev");
    list(package, "dependencies").filter(is_wanted).filter_map(|dependency| dependency["name"].as_str())
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn broken_of(document: &str, links: &[&str], known: &[&str]) -> usize {
        broken(Path::new(document), links, |target| known.iter().any(|path| target.path == Path::new(path))).len()
    }

    #[test]
    fn a_relative_link_is_resolved_from_its_document() {
        let known = ["book/a.html", "scenarios/b.toml"];
        assert_eq!(broken_of("book/x/y.html", &["../a.html", "../../scenarios/b.toml", "https://example.org/a"], &known), 0);
        assert_eq!(broken_of("book/x/y.html", &["a.html", "../../../b.toml"], &known), 2);
    }

    #[test]
    fn a_fragment_alone_leads_into_the_same_document() {
        let target = target(Path::new("book/a.html"), "#part").unwrap();
        assert_eq!((target.path.to_str(), target.fragment.as_deref()), (Some("book/a.html"), Some("part")));
    }

    #[test]
    fn a_dependency_without_a_line_is_found() {
        let registry = "registry+https://github.com/rust-lang/crates.io-index";
        let dependencies =
            json!([{ "name": "toml", "source": registry }, { "name": "crc", "source": registry }, { "name": "ours", "source": null }]);
        let metadata = json!({ "packages": [{ "dependencies": dependencies }] });
        let found = unexplained(&metadata, "| `toml` | files |");
        assert_eq!(found, ["ARCHITECTURE.md: the dependency crc is not explained; say in its table what it is for"]);
    }

    #[test]
    fn links_in_code_are_no_links() {
        assert_eq!(markdown_links("[a](b.md) and [c](d.md#e)\n```\n[f](g.md)\n```\n![h](i.png)\n"), ["b.md", "d.md#e", "i.png"]);
    }

    #[test]
    fn attributes_are_found_by_their_whole_name() {
        assert_eq!(attributes("<a href=\"x\" data-href=\"y\" id=\"z\">", "href").collect::<Vec<_>>(), ["x"]);
    }
}
