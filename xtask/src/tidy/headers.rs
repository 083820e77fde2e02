//! Every file says at its top what it is; an algorithm's file says what it promises, whence it comes and what it costs.

use super::{Finding, Source};

/// The folders in which a file is an algorithm: those of `tidegate-core`, and the cell scheduler.
const ALGORITHM_FOLDERS: &[&str] = &[
    "tidegate-core/src/policer",
    "tidegate-core/src/buffer",
    "tidegate-core/src/ready",
    "tidegate-core/src/scheduler",
    "tidegate-core/src/shaper",
    "tidegate-core/src/sharing",
    "tidegate-core/src/dwcs",
    "tidegate-cells/src",
];

/// The labels of an algorithm's header, in order.
const LABELS: &[&str] = &["Law", "Source", "State", "Cost", "RTL twin", "Deviations"];

/// The traits of the roles. A file there that implements none of them is a part that algorithms share.
const ROLES: &[&str] = &["Policer", "BufferManager", "ReadyList", "Scheduler", "CellScheduler", "Sharing"];

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
        } else if is_algorithm(source) {
            findings.extend(missing_labels(source));
        }
    }
    findings
}

fn is_algorithm(source: &Source) -> bool {
    let Ok(inside) = source.path.strip_prefix("crates") else { return false };
    let implements = |line: &str| line.starts_with("impl") && ROLES.iter().any(|role| line.contains(&format!(" {role} for ")));
    ALGORITHM_FOLDERS.iter().any(|folder| inside.starts_with(folder)) && source.shipped_lines().any(|(_, line)| implements(line))
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

    const FULL: &str = "//! Serves.\n//!\n//! **Law.** a\n//! **Source.** b\n//! **State.** c\n//! **Cost.** d\n//! **RTL twin.** none\n//! **Deviations.** none\nimpl Scheduler for A {}\n";

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
        let none = problems(path, "//! Serves.\nimpl Scheduler for A {}\n");
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
    fn what_plays_no_role_is_no_algorithm() {
        assert_eq!(problems("crates/tidegate-core/src/policer.rs", "//! The role.\nimpl Policer for X {}\n"), [""; 0]);
        let part = "//! A part.\nfn a() {}\n#[cfg(test)]\nmod tests {\nimpl Scheduler for X {}\n}\n";
        assert_eq!(problems("crates/tidegate-core/src/scheduler/part.rs", part), [""; 0]);
        assert_eq!(problems("crates/tidegate-core/src/scheduler/part.rs", "//! A.\nimpl<S: Scheduler> Scheduler for X<S> {}\n").len(), 1);
    }
}
