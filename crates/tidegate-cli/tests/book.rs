//! The pages of the book show what the command prints: every block of a page that begins with `$ ` is run, and its output compared.
//!
//! A line `` `name`: `` before a block writes the block to a file, ``At the end of `name`:`` appends it. `...` as the last line of a block
//! stands for the rest of the output. `TIDEGATE_BLESS=1` writes the output into the pages instead of comparing it.
//!
//! The pages of the tutorial share a folder, in the order of the summary; every other page has a folder of its own.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

/// What is printed by a command line of the shell that runs in `folder`: standard output, then standard error.
fn output(folder: &Path, line: &str) -> String {
    let programs = Path::new(env!("CARGO_BIN_EXE_tidegate")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh").args(["-c", line]).current_dir(folder).env("PATH", path).output().expect("sh starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    text.trim_end().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// The block of a page with its output as it is now; `...` keeps its place.
fn renewed(folder: &Path, block: &[&str]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = block;
    while let Some((command, shown)) = rest.split_first() {
        let end = shown.iter().position(|line| line.starts_with("$ ")).unwrap_or(shown.len());
        let printed = output(folder, command.strip_prefix("$ ").expect("a block of commands begins with one"));
        lines.push((*command).to_owned());
        if shown[..end].last() == Some(&"...") {
            lines.extend(printed.lines().take(end - 1).chain(["..."]).map(str::to_owned));
        } else {
            lines.extend(printed.lines().map(str::to_owned));
        }
        rest = &shown[end..];
    }
    lines
}

/// Performs the steps of a page in `folder` and returns the page with its output as it is now.
fn performed(folder: &Path, page: &str) -> String {
    let mut now: Vec<String> = Vec::new();
    let mut before = "";
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        now.push(line.to_owned());
        if let Some(language) = line.strip_prefix("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            if language == "console" {
                now.extend(renewed(folder, &block));
            } else {
                let text = block.join("\n") + "\n";
                if let Some(name) = before.strip_prefix("At the end of `").and_then(|rest| rest.strip_suffix("`:")) {
                    let path = folder.join(name);
                    fs::write(&path, fs::read_to_string(&path).unwrap() + "\n" + &text).unwrap();
                } else if let Some(name) = before.strip_prefix('`').and_then(|rest| rest.strip_suffix("`:")) {
                    fs::write(folder.join(name), text).unwrap();
                }
                now.extend(block.iter().map(|line| (*line).to_owned()));
            }
            now.push("```".to_owned());
            before = "";
        } else if !line.is_empty() {
            before = line;
        }
    }
    now.join("\n") + "\n"
}

/// The pages that show commands, in the order of the summary.
fn pages() -> Vec<PathBuf> {
    let summary = fs::read_to_string(project().join("docs/SUMMARY.md")).unwrap();
    let links = summary.lines().filter_map(|line| line.split_once("](")?.1.strip_suffix(')').map(PathBuf::from));
    links.filter(|page| fs::read_to_string(project().join("docs").join(page)).is_ok_and(|text| text.contains("```console"))).collect()
}

#[test]
fn the_book_shows_what_the_command_prints() {
    let base = std::env::temp_dir().join(format!("tidegate-book-{}", std::process::id()));
    let mut folders: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    let pages = pages();
    assert!(pages.len() > 5, "{pages:?}");
    let mut stale = Vec::new();
    for page in &pages {
        let key = if page.starts_with("tutorial") { Path::new("tutorial") } else { page };
        let folder = folders.entry(key.to_path_buf()).or_insert_with(|| {
            let folder = base.join(key.with_extension(""));
            fs::create_dir_all(&folder).unwrap();
            symlink(project().join("scenarios"), folder.join("scenarios")).unwrap();
            folder
        });
        let path = project().join("docs").join(page);
        let shown = fs::read_to_string(&path).unwrap();
        let now = performed(folder, &shown);
        if now != shown {
            if std::env::var_os("TIDEGATE_BLESS").is_some() {
                fs::write(&path, now).unwrap();
            } else {
                let differs = shown.lines().zip(now.lines()).find(|(old, new)| old != new);
                stale.push(format!("docs/{}: shown and printed differ: {differs:?}", page.display()));
            }
        }
    }
    fs::remove_dir_all(&base).unwrap();
    assert!(stale.is_empty(), "{}\nrun TIDEGATE_BLESS=1 cargo test -p tidegate-cli --test book", stale.join("\n"));
}
