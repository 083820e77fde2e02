//! The fuzz targets of Tidegate: one per parser, each a plain function that must not panic whatever bytes it is given.
//!
//! `cargo xtask test` runs the functions on a fixed number of mutated inputs (`src/main.rs`). The tests below run them on the kept corpus, and
//! libFuzzer as targets (`fuzz_targets/`).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

mod captures;
mod control;
mod graphs;
mod http;
pub mod mutation;
mod packets;
mod scenarios;

/// One parser under test.
pub struct Target {
    /// Its name, which is also that of its corpus and its libFuzzer program.
    pub name: &'static str,
    /// A folder whose files begin the corpus, besides its own; relative to the repository's root.
    pub also: Option<&'static str>,
    /// The longest input worth trying, in bytes.
    pub longest: usize,
    /// Feeds one input to the parser; true if the parser accepted it. Panics if a promise of the parser is broken.
    pub run: fn(&[u8]) -> bool,
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "packets", also: None, longest: 2048, run: packets::run },
    Target { name: "captures", also: None, longest: 4096, run: captures::run },
    Target { name: "scenarios", also: Some("scenarios"), longest: 8192, run: scenarios::run },
    Target { name: "graphs", also: Some("scenarios/graphs"), longest: 8192, run: graphs::run },
    Target { name: "control", also: None, longest: 4096, run: control::run },
    Target { name: "http", also: None, longest: 9216, run: http::run },
];

/// The target of this name.
///
/// # Panics
/// If there is none: the libFuzzer programs name targets that exist.
pub fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).expect("a registered target")
}

impl Target {
    /// The kept inputs, in the order of their names.
    ///
    /// # Errors
    /// If the corpus cannot be read.
    pub fn corpus(&self) -> io::Result<Vec<Vec<u8>>> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut paths = files_in(&here.join("corpus").join(self.name))?;
        if let Some(folder) = self.also {
            paths.extend(files_in(&here.join("..").join(folder))?);
        }
        let inputs = paths.iter().map(fs::read).collect::<io::Result<Vec<_>>>()?;
        Ok(inputs.into_iter().filter(|input| input.len() <= self.longest).collect())
    }
}

fn files_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    let mut files: Vec<PathBuf> = entries.into_iter().filter(|path| path.is_file()).collect();
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_accepts_some_of_its_corpus_and_survives_all_of_it() {
        for target in TARGETS {
            let corpus = target.corpus().unwrap();
            assert!(corpus.len() >= 5, "{} keeps too few inputs", target.name);
            let accepted = corpus.iter().filter(|input| (target.run)(input)).count();
            assert!(accepted >= 3, "{} accepts only {accepted} of its {} kept inputs", target.name, corpus.len());
            assert!(accepted < corpus.len(), "{} keeps no input that must be refused", target.name);
        }
    }
}
