//! Writes a sample report into a directory and shows it on the terminal: `cargo run --example sample -- DIR`.

use std::path::PathBuf;
use std::process::ExitCode;

use tidegate_report::{OutputFolder, TerminalOptions, terminal, write_all};

#[path = "../tests/sample/mod.rs"]
mod sample;

fn main() -> ExitCode {
    let Some(directory) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: sample DIR");
        return ExitCode::from(2);
    };
    let report = sample::sample_report();
    print!("{}", terminal(&report, TerminalOptions::default()));
    match OutputFolder::create(&directory).map_err(Into::into).and_then(|folder| write_all(&report, folder)) {
        Ok(paths) => {
            for path in paths {
                println!("{}", path.display());
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
