//! Every registered algorithm has a page under `docs/disciplines/`, and every page an algorithm.

use super::Finding;
use std::path::{Path, PathBuf};
use tidegate_core::registry::SchedulerKind;

const PAGES: &str = "docs/disciplines";
const REGISTRY: &str = "crates/tidegate-core/src/registry.rs";

/// The lists of the registry whose entries have no name of their own in files: the page bears the entry's name, in lower case with
/// hyphens.
const UNNAMED_LISTS: &[&str] = &["policers!", "buffer_managers!"];

/// Compares the registry with the folder of pages.
pub fn check(root: &Path) -> Vec<Finding> {
    let registry = std::fs::read_to_string(root.join(REGISTRY)).unwrap_or_default();
    let mut names: Vec<(String, usize)> = Vec::new();
    for kind in SchedulerKind::ALL {
        names.push((kind.name().to_owned(), entries(&registry, "schedulers!").first().map_or(1, |(_, line)| *line)));
    }
    for list in UNNAMED_LISTS {
        names.extend(entries(&registry, list).into_iter().map(|(variant, line)| (hyphenated(&variant), line)));
    }
    let pages: Vec<PathBuf> =
        std::fs::read_dir(root.join(PAGES)).into_iter().flatten().flatten().map(|entry| Path::new(PAGES).join(entry.file_name())).collect();
    compare(&names, &pages)
}

fn compare(names: &[(String, usize)], pages: &[PathBuf]) -> Vec<Finding> {
    let page_of = |name: &str| Path::new(PAGES).join(format!("{name}.md"));
    let mut findings = Vec::new();
    for (name, line) in names {
        let page = page_of(name);
        if !pages.contains(&page) {
            findings.push(Finding::new(REGISTRY, *line, format!("\"{name}\" has no page"), format!("write {}", page.display())));
        }
    }
    // The index of the folder is the one page that belongs to no algorithm.
    for page in pages.iter().filter(|page| page.file_name().is_none_or(|name| name != "README.md")) {
        if !names.iter().any(|(name, _)| *page == page_of(name)) {
            findings.push(Finding::new(
                page,
                1,
                "the page describes nothing that is registered",
                "register the algorithm, or delete the page",
            ));
        }
    }
    findings
}

/// The `Variant = path;` entries of one list, with their lines.
fn entries(registry: &str, list: &str) -> Vec<(String, usize)> {
    let lines = registry.lines().enumerate();
    let inside =
        lines.skip_while(|(_, line)| !line.starts_with(&format!("{list} {{"))).skip(1).take_while(|(_, line)| !line.starts_with('}'));
    inside.filter_map(|(index, line)| Some((line.split_once('=')?.0.trim().to_owned(), index + 1))).collect()
}

/// `DynamicThreshold` as `dynamic-threshold`.
fn hyphenated(variant: &str) -> String {
    let mut name = String::new();
    for character in variant.chars() {
        if character.is_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.extend(character.to_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_and_a_superfluous_page_are_found() {
        let names = [("drr".to_owned(), 7), ("fifo".to_owned(), 8)];
        let pages = ["docs/disciplines/fifo.md", "docs/disciplines/old.md", "docs/disciplines/README.md"].map(PathBuf::from);
        let found: Vec<String> = compare(&names, &pages).iter().map(Finding::to_string).collect();
        assert_eq!(
            found,
            [
                "crates/tidegate-core/src/registry.rs:7: \"drr\" has no page; write docs/disciplines/drr.md",
                "docs/disciplines/old.md:1: the page describes nothing that is registered; register the algorithm, or delete the page",
            ]
        );
    }

    #[test]
    fn entries_are_read_from_their_own_list() {
        let registry = "macro_rules! policers {\n}\n\npolicers! {\n    Gcra = crate::policer::Gcra;\n    DualGcra = crate::policer::DualGcra;\n}\n\nbuffer_managers! {\n    TailDrop = crate::buffer::TailDrop;\n}\n";
        assert_eq!(entries(registry, "policers!"), [("Gcra".to_owned(), 5), ("DualGcra".to_owned(), 6)]);
        assert_eq!(entries(registry, "buffer_managers!"), [("TailDrop".to_owned(), 10)]);
        assert_eq!(hyphenated("DualGcra"), "dual-gcra");
    }
}
