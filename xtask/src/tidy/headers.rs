//! Every file says at its top what it is; an algorithm's file says what it promises, whence it comes and what it costs.

use super::{Finding, Source};
use std::path::Path;

/// The folders of `tidegate-core` in which a file is an algorithm.
const ALGORITHM_FOLDERS: &[&str] = &["policer", "buffer", "ready", "scheduler", "shaper"];

/// The labels of an algorithm's header, in order.
const LABELS: &[&str] = &["Law", "Source", "State", "Cost", "RTL twin", "Deviations"];

/// Files in those folders that several algorithms share and that are none themselves.
const SHARED_PARTS: &[&str] = &[
    "buffer/limits.rs",
    "policer/burst.rs",
    "policer/contract.rs",
    "policer/twin_buckets.rs",
    "ready/bitmap.rs",
    "scheduler/active_list.rs",
    "scheduler/backlog.rs",
    "shaper/allowance.rs",
];

/// Checks the first lines of every file.
pub fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        if !source.text.starts_with("//!") {
            findings.push(Finding::new(
                &source.path,
                1,
                "the file has no header",
                "begin it with //! and a sentence that says what it holds",
            ));
        } else if is_algorithm(&source.path) {
            findings.extend(missing_labels(source));
        }
    }
    findings
}

fn is_algorithm(path: &Path) -> bool {
    let Ok(inside) = path.strip_prefix("crates/tidegate-core/src") else { return false };
    let in_folder = ALGORITHM_FOLDERS.iter().any(|folder| inside.starts_with(folder));
    let is_part = inside.components().count() > 2 || SHARED_PARTS.iter().any(|part| inside == Path::new(part));
    in_folder && !is_part && inside.file_stem().is_some_and(|stem| stem != "tests")
}

fn missing_labels(source: &Source) -> Vec<Finding> {
    let header: Vec<&str> = source.text.lines().take_while(|line| line.starts_with("//!")).collect();
    let mut findings = Vec::new();
    let mut missing = Vec::new();
    let mut last = 0;
    for label in LABELS {
        let spellings = [format!("**{label}.**"), format!("**{label}:**"), format!("**{label}**."), format!("**{label}**:")];
        match header.iter().position(|line| spellings.iter().any(|spelling| line.contains(spelling.as_str()))) {
            None => missing.push(format!("**{label}.**")),
            Some(index) if index < last => {
                let problem = format!("\"**{label}.**\" comes too early in the header");
                findings.push(Finding::new(&source.path, index + 1, problem, format!("the order is {}", LABELS.join(", "))));
            }
            Some(index) => last = index,
        }
    }
    if !missing.is_empty() {
        let problem = format!("the header of this algorithm has no {}", missing.join(" "));
        findings.push(Finding::new(&source.path, 1, problem, format!("give it, in this order: {}", LABELS.join(", "))));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: &str = "//! Serves.\n//!\n//! **Law.** a\n//! **Source.** b\n//! **State.** c\n//! **Cost.** d\n//! **RTL twin.** none\n//! **Deviations.** none\nfn a() {}\n";

    fn problems(path: &str, text: &str) -> Vec<String> {
        check(&[Source::new(path, text)]).iter().map(|finding| finding.problem.clone()).collect()
    }

    #[test]
    fn a_file_without_a_header_is_found() {
        assert_eq!(problems("crates/x/src/a.rs", "use std::fmt;\n"), ["the file has no header"]);
        assert_eq!(problems("crates/x/src/a.rs", "//! Things.\n"), [""; 0]);
    }

    #[test]
    fn an_algorithm_needs_every_label() {
        let path = "crates/tidegate-core/src/scheduler/drr.rs";
        assert_eq!(problems(path, FULL), [""; 0]);
        assert_eq!(problems(path, &FULL.replace("//! **Cost.** d\n", "")), ["the header of this algorithm has no **Cost.**"]);
        let none = problems(path, "//! Serves.\n");
        assert_eq!(none, ["the header of this algorithm has no **Law.** **Source.** **State.** **Cost.** **RTL twin.** **Deviations.**"]);
    }

    #[test]
    fn labels_in_another_order_are_found() {
        let swapped = FULL.replace("**Law.**", "**X.**").replace("**Source.**", "**Law.**").replace("**X.**", "**Source.**");
        assert_eq!(problems("crates/tidegate-core/src/policer/gcra.rs", &swapped), ["\"**Source.**\" comes too early in the header"]);
    }

    #[test]
    fn a_label_outside_the_header_does_not_count() {
        let moved = FULL.replace("//! **Cost.** d\n", "") + "//! **Cost.** d\n";
        assert_eq!(problems("crates/tidegate-core/src/ready/heap.rs", &moved).len(), 1);
    }

    #[test]
    fn every_shared_part_that_is_listed_exists() {
        let source = crate::cargo::root().join("crates/tidegate-core/src");
        let gone: Vec<_> = SHARED_PARTS.iter().filter(|part| !source.join(part).is_file()).collect();
        assert!(gone.is_empty(), "delete from the list: {gone:?}");
    }

    #[test]
    fn the_trait_files_of_the_roles_are_no_algorithms() {
        assert_eq!(problems("crates/tidegate-core/src/policer.rs", "//! The role.\n"), [""; 0]);
    }
}
