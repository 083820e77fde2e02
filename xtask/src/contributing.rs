//! Performs the worked examples of CONTRIBUTING.md on a copy of the crates that they extend. They have to compile and to pass the conformance
//! suites.
//!
//! A block is a file if the line before it names a path in backticks and ends with a colon. A `diff` block begins with `--- path`, and its other
//! lines are context or additions.

use crate::cargo::{cargo, root, succeed, target_directory};
use crate::failure::Failure;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// What a block of the document does to the tree.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Create { path: String, text: String },
    Extend { path: String, lines: Vec<Line> },
}

#[derive(Debug, PartialEq, Eq)]
enum Line {
    Context(String),
    Addition(String),
}

/// The names of the examples' modules, by which their tests are found: a scheduler and a buffer manager in the core, a source in the simulator.
const EXAMPLES: [&str; 3] = ["shortest_packet_first", "square_root", "uniform"];

/// The crates that the examples extend. The last one uses the others.
const EXTENDED: [&str; 3] = ["tidegate-core", "tidegate-sim", "tidegate-scenario"];

/// Copies the crates, applies the steps, and tests the result.
///
/// # Errors
/// [`Failure::Check`] if a step no longer fits the tree, or if the result does not pass.
pub fn run() -> Result<(), Failure> {
    let root = root();
    let target = target_directory()?;
    let copy = target.join("contributing");
    let document = read(&root.join("CONTRIBUTING.md"))?;
    prepare(&root, &copy)?;
    let steps = steps(&document);
    for example in EXAMPLES {
        let is_created = |step: &Step| matches!(step, Step::Create { path, .. } if path.ends_with(&format!("{example}.rs")));
        if !steps.iter().any(is_created) {
            return Err(Failure::Check(format!("CONTRIBUTING.md has no step that makes {example}.rs")));
        }
    }
    for step in &steps {
        apply(step, &copy)?;
    }
    for created in steps.iter().filter_map(|step| if let Step::Create { path, .. } = step { Some(path) } else { None }) {
        if created.ends_with(".rs") {
            succeed(Command::new("rustfmt").args(["--check", "--edition", "2024", created]).current_dir(&copy))?;
        }
    }
    let cargo_in_copy = |arguments: &[&str]| {
        let mut command = cargo();
        // The target directory of the original, where its dependencies are built already. The tests are few: what optimisation takes is more.
        command.current_dir(&copy).args(arguments).env("CARGO_TARGET_DIR", &target).env("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
        succeed(&mut command)
    };
    let [core, sim, scenario] = EXTENDED;
    // With the same packages in all commands nothing is built twice.
    let test = |more: &[&str]| cargo_in_copy(&[&["test", "--quiet", "--package", core, "--package", sim], more].concat());
    test(&["--no-run", "--lib", "--test", "conformance_scheduler", "--test", "conformance_buffer"])?;
    test(&[&["--lib", "--"], &EXAMPLES[..]].concat())?;
    test(&[&["--doc", "--"], &EXAMPLES[..]].concat())?;
    test(&["--test", "conformance_scheduler", "every_scheduler"])?;
    test(&["--test", "conformance_buffer"])?;
    cargo_in_copy(&["clippy", "--quiet", "--package", core, "--package", sim, "--package", scenario, "--", "-D", "warnings"])
}

/// The version of the crates in the copy.
const COPIED: &str = "0.0.0";

/// A line of the manifest that names a crate of ours, with the version of the copy.
fn versioned(line: &str) -> String {
    let key = "version = \"";
    let Some((before, rest)) = line.split_once(key) else { return line.to_owned() };
    let after = rest.split_once('"').map_or("", |(_, after)| after);
    format!("{before}{key}{COPIED}\"{after}")
}

/// Lays out a workspace that holds the extended crates and those that they use.
fn prepare(root: &Path, copy: &Path) -> Result<(), Failure> {
    let crates = copy.join("crates");
    if crates.exists() {
        // What was built stays, the sources begin anew.
        std::fs::remove_dir_all(&crates).map_err(Failure::cannot("remove", &crates))?;
    }
    let mut members = BTreeSet::new();
    for name in EXTENDED {
        add_with_dependencies(root, name, &mut members)?;
    }
    let listed: Vec<String> = members.iter().map(|name| format!("\"crates/{name}\"")).collect();
    let keep_members = |line: &str| match line.split_once(" = ").map(|(key, _)| key) {
        Some("members") => format!("members = [{}]", listed.join(", ")),
        Some("default-members") => String::new(),
        // To Cargo these are other packages than the originals, so that neither are taken for the others.
        Some("version") => format!("version = \"{COPIED}\""),
        Some(name) if name.starts_with("tidegate-") => versioned(line),
        _ => line.to_owned(),
    };
    let manifest: Vec<String> = read(&root.join("Cargo.toml"))?.lines().map(keep_members).collect();
    write(&copy.join("Cargo.toml"), &manifest.join("\n"))?;
    for file in ["Cargo.lock", "rustfmt.toml", "rust-toolchain.toml"] {
        write(&copy.join(file), &read(&root.join(file))?)?;
    }
    members.iter().try_for_each(|name| copy_folder(&root.join("crates").join(name), &crates.join(name)))
}

/// Adds a crate of the workspace and all crates of the workspace that it depends on, in its tests too.
fn add_with_dependencies(root: &Path, name: &str, members: &mut BTreeSet<String>) -> Result<(), Failure> {
    if members.insert(name.to_owned()) {
        let manifest = read(&root.join("crates").join(name).join("Cargo.toml"))?;
        for line in manifest.lines().filter(|line| line.starts_with("tidegate-")) {
            let dependency = line.split([' ', '=', '.']).next().unwrap_or_default();
            add_with_dependencies(root, dependency, members)?;
        }
    }
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(to).map_err(Failure::cannot("make", to))?;
    for entry in std::fs::read_dir(from).map_err(Failure::cannot("read", from))? {
        let path = entry.map_err(Failure::cannot("read", from))?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_folder(&path, &target)?;
        } else {
            std::fs::copy(&path, &target).map_err(Failure::cannot("copy", &path))?;
        }
    }
    Ok(())
}

fn steps(document: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut named = None;
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            if language == "diff" {
                steps.extend(diff(&block));
            } else if let Some(path) = named.take() {
                steps.push(Step::Create { path, text: block.join("\n") + "\n" });
            }
        } else if !line.trim().is_empty() {
            named = line.strip_prefix('`').and_then(|rest| rest.strip_suffix("`:")).map(str::to_owned);
        }
    }
    steps
}

fn diff(block: &[&str]) -> Option<Step> {
    let (first, rest) = block.split_first()?;
    let line = |line: &&str| match line.strip_prefix('+') {
        Some(added) => Line::Addition(added.to_owned()),
        None => Line::Context(line.strip_prefix(' ').unwrap_or(line).to_owned()),
    };
    Some(Step::Extend { path: first.strip_prefix("--- ")?.to_owned(), lines: rest.iter().map(line).collect() })
}

fn apply(step: &Step, copy: &Path) -> Result<(), Failure> {
    match step {
        Step::Create { path, text } => write(&copy.join(path), text),
        Step::Extend { path, lines } => {
            let text = read(&copy.join(path))?;
            let extended = extend(&text, lines)
                .ok_or_else(|| Failure::Check(format!("CONTRIBUTING.md: the lines it shows of {path} are not in that file any more")))?;
            write(&copy.join(path), &extended)
        }
    }
}

/// Finds the context as consecutive lines and puts the additions among them.
fn extend(text: &str, lines: &[Line]) -> Option<String> {
    let context: Vec<&str> =
        lines.iter().filter_map(|line| if let Line::Context(text) = line { Some(text.as_str()) } else { None }).collect();
    let existing: Vec<&str> = text.lines().collect();
    let at = existing.windows(context.len()).position(|window| window == context)?;
    let replaced = lines.iter().map(|line| match line {
        Line::Context(text) | Line::Addition(text) => text.as_str(),
    });
    let all: Vec<&str> = existing[..at].iter().copied().chain(replaced).chain(existing[at + context.len()..].iter().copied()).collect();
    Some(all.join("\n") + "\n")
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(Failure::cannot("read", path))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).map_err(Failure::cannot("make", folder))?;
    std::fs::write(path, text).map_err(Failure::cannot("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "Text.\n\n`a/new.rs`:\n\n```rust\nfn a() {}\n```\n\n```sh\nnot a step\n```\n\n```diff\n--- a/lib.rs\n mod b;\n+mod new;\n mod z;\n```\n";

    #[test]
    fn steps_are_read_from_the_document() {
        let steps = steps(DOCUMENT);
        assert_eq!(steps[0], Step::Create { path: "a/new.rs".to_owned(), text: "fn a() {}\n".to_owned() });
        let Step::Extend { path, lines } = &steps[1] else { panic!("{steps:?}") };
        assert_eq!((path.as_str(), lines.len(), steps.len()), ("a/lib.rs", 3, 2));
        assert_eq!(lines[1], Line::Addition("mod new;".to_owned()));
    }

    #[test]
    fn additions_go_where_the_context_is() {
        let Some(Step::Extend { lines, .. }) = steps(DOCUMENT).pop() else { panic!("no diff") };
        assert_eq!(extend("mod a;\nmod b;\nmod z;\n", &lines).as_deref(), Some("mod a;\nmod b;\nmod new;\nmod z;\n"));
        assert_eq!(extend("mod b;\nmod c;\nmod z;\n", &lines), None);
    }
}
