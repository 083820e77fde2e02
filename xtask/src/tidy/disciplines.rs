//! Every registered algorithm has a page under `docs/disciplines/`, and every page an algorithm.

use super::Finding;
use std::path::{Path, PathBuf};
use tidegate_core::registry::{AqmKind, BufferKind, PolicerKind, SchedulerKind};

const PAGES: &str = "docs/disciplines";
const REGISTRY: &str = "crates/tidegate-core/src/registry.rs";

/// Compares the registry with the folder of pages.
pub fn check(root: &Path) -> Vec<Finding> {
    let schedulers = SchedulerKind::ALL.iter().map(|kind| (kind.name(), "match_scheduler"));
    let policers = PolicerKind::ALL.iter().map(|kind| (kind.name(), "match_policer"));
    let buffer_managers = BufferKind::ALL.iter().map(|kind| (kind.name(), "match_buffer_manager"));
    let aqms = AqmKind::ALL.iter().map(|kind| (kind.name(), "match_aqm"));
    let registry = std::fs::read_to_string(root.join(REGISTRY)).unwrap_or_default();
    let registered = schedulers.chain(policers).chain(buffer_managers).chain(aqms);
    let names: Vec<(&str, usize)> = registered.map(|(name, list)| (name, line_of_list(&registry, list))).collect();
    let pages: Vec<PathBuf> =
        std::fs::read_dir(root.join(PAGES)).into_iter().flatten().flatten().map(|entry| Path::new(PAGES).join(entry.file_name())).collect();
    compare(&names, &pages)
}

fn compare(names: &[(&str, usize)], pages: &[PathBuf]) -> Vec<Finding> {
    // A plus sign in a file name would have to be escaped in every link.
    let page_of = |name: &str| Path::new(PAGES).join(format!("{}.md", name.replace('+', "-plus")));
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

fn line_of_list(registry: &str, list: &str) -> usize {
    registry.lines().position(|line| line.trim_start().starts_with(&format!("{list} {{"))).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_and_a_superfluous_page_are_found() {
        let names = [("drr", 7), ("fifo", 7), ("wf2q+", 7)];
        let pages = ["fifo.md", "old.md", "README.md", "wf2q-plus.md"].map(|page| Path::new(PAGES).join(page));
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
    fn the_line_of_a_list_is_where_it_is_filled() {
        let registry = "crate::registry! { $\n    pub any AnyPolicer;\n\n    match_policer {\n        Gcra(policer::Gcra),\n    }\n}\n";
        assert_eq!(line_of_list(registry, "match_policer"), 4);
    }
}
