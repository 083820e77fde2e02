//! Error messages, word for word: every `errors/*.toml` and, as a machine file, every `machines/*.toml` is refused with the text beside it.
//!
//! Lines that begin with `#! --set` are overrides. After a change that is meant, `TIDEGATE_BLESS=1 cargo test -p tidegate-scenario` writes
//! the texts anew; read the difference before keeping it.

use std::fs;
use std::path::{Path, PathBuf};

fn files() -> Vec<PathBuf> {
    let folders = ["tests/errors", "tests/machines"].into_iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut files: Vec<PathBuf> = folders.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files
}

fn refusal(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let overrides: Vec<String> = text.lines().filter_map(|line| line.strip_prefix("#! --set ")).map(str::to_owned).collect();
    let loaded = if path.starts_with("tests/machines") {
        tidegate_scenario::machine::load(path, &overrides).map(drop)
    } else {
        tidegate_scenario::load(path, &overrides).map(drop)
    };
    match loaded {
        Ok(()) => "accepted".to_owned(),
        Err(problems) => problems.render(false),
    }
}

#[test]
fn every_bad_file_is_refused_in_these_words() {
    let bless = std::env::var_os("TIDEGATE_BLESS").is_some();
    let mut wrong = Vec::new();
    let files = files();
    assert!(files.len() >= 25, "the bad files are found");
    for path in files {
        let (found, expected_path) = (refusal(&path), path.with_extension("txt"));
        assert_ne!(found, "accepted", "{} is accepted", path.display());
        if bless {
            fs::write(&expected_path, &found).unwrap();
        }
        let expected = fs::read_to_string(&expected_path).unwrap_or_default();
        if found != expected {
            wrong.push(format!("{}\n--- expected\n{expected}\n--- found\n{found}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Without a place, a reader has to search; without a way out, to guess.
#[test]
fn every_refusal_names_file_line_and_column() {
    for path in files() {
        let text = refusal(&path);
        // A machine file may name another, which is then the place.
        let is_elsewhere = path.starts_with("tests/machines") && text.contains("--> tests/machines/");
        let place = text.contains(&format!("--> {}:", path.display())) || text.contains("--> --set:") || is_elsewhere;
        assert!(place, "{}:\n{text}", path.display());
        assert!(text.contains('^'), "{}:\n{text}", path.display());
        assert!(!text.contains('\u{1b}'), "plain text has no colour");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let problems = tidegate_scenario::load(Path::new("tests/errors/no-such-file.toml"), &[]).unwrap_err();
    assert!(problems.to_string().starts_with("error: cannot read tests/errors/no-such-file.toml: "), "{problems}");
}

#[test]
fn colour_is_given_when_asked_for() {
    let problems = tidegate_scenario::load(Path::new("tests/errors/unknown-key.toml"), &[]).unwrap_err();
    assert!(problems.render(true).contains('\u{1b}'));
}
