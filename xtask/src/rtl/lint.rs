//! The linters: Verilator with every warning on, for every module and every set of parameters, and Verible for style.
//!
//! The house rules (one module per file, headers, comments on ports) are in `cargo xtask tidy`.

use super::tools::program;
use super::verilate::{self, at_once};
use crate::Failure;
use crate::cargo::root;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of what is synthesised.
pub const SOURCES: &str = "rtl/src";

/// Values that a parameter is linted with. Of a module with several parameters all combinations are.
struct Parameter {
    module: &'static str,
    name: &'static str,
    values: &'static [&'static str],
}

/// Modules that are not listed are linted with the values that they give their parameters, and as parts of those that are.
const PARAMETERS: &[Parameter] = &[
    Parameter { module: "sharestreams", name: "N", values: STREAMS },
    Parameter { module: "sharestreams", name: "Routing", values: ROUTINGS },
    Parameter { module: "sharestreams", name: "Ahead", values: EITHER },
    Parameter { module: "sharestreams_axis", name: "N", values: STREAMS },
    Parameter { module: "speculative", name: "N", values: STREAMS },
    Parameter { module: "speculative", name: "Observed", values: EITHER },
    Parameter { module: "register_block", name: "Ahead", values: EITHER },
    Parameter { module: "heap", name: "Streams", values: &["4", "1024", "16384"] },
    Parameter { module: "heap", name: "Block", values: EITHER },
    Parameter { module: "tiled", name: "N", values: &["8", "32", "64"] },
    Parameter { module: "tiled", name: "Rounds", values: &["2", "16", "32", "512"] },
    Parameter { module: "tiled", name: "Pipelined", values: &["1"] },
    Parameter { module: "tiled_axis", name: "N", values: &["8", "32"] },
];

const STREAMS: &[&str] = &["4", "8", "16", "32"];
/// Lattice, Exact, Winner.
const ROUTINGS: &[&str] = &["2'd0", "2'd1", "2'd2"];
const EITHER: &[&str] = &["0", "1"];

/// Runs both.
///
/// # Errors
/// [`Failure::Check`] naming what has warnings, which have been printed; [`Failure::Environment`] if a linter cannot be started.
pub fn run() -> Result<(), Failure> {
    let sources = sources()?;
    let texts = verilate::sources()?;
    let verilator = program("verilator-cli")?;
    let modules: Vec<&PathBuf> = sources.iter().filter(|path| !is_package(path)).collect();
    // The large ones have the last names: they come first, so that no core waits at the end.
    let names = modules.iter().rev().map(|path| stem(path));
    let sets: Vec<(String, Vec<String>)> =
        names.flat_map(|name| combinations(&name).into_iter().map(move |set| (name.clone(), set))).collect();
    let outcomes = at_once(&sets, |(name, set)| {
        let mut command = Command::new(&verilator);
        command.current_dir(root()).args(["--lint-only", "-Wall", "--quiet", "-y", SOURCES, "--top-module", name]).args(set);
        let read = verilate::needed(name, &texts).into_iter().map(|file| Path::new(SOURCES).join(format!("{file}.sv")));
        // Packages that nothing of it uses take longer to read than most modules.
        let read = read.filter(|path| is_package(path) || stem(path) == *name);
        passes(command.arg("rtl/lint.vlt").args(read))
    });
    let mut unclean = Vec::new();
    for ((name, set), outcome) in sets.iter().zip(outcomes) {
        if !outcome? {
            unclean.push(format!("{name} {}", set.join(" ")).trim().to_owned());
        }
    }
    println!("verilator: {} sets of parameters of {} modules, {} with warnings", sets.len(), modules.len(), unclean.len());

    let mut style = Command::new(program("verible-verilog-lint")?);
    let has_style = passes(style.current_dir(root()).args(["--rules_config", "rtl/.rules.verible_lint"]).args(&sources))?;
    println!("verible: {} files, {}", sources.len(), if has_style { "none with warnings" } else { "some with warnings" });
    if !has_style {
        unclean.push("style".to_owned());
    }
    if unclean.is_empty() { Ok(()) } else { Err(Failure::Check(format!("warnings: {}", unclean.join(", ")))) }
}

/// The SystemVerilog files of the design relative to the root, packages first, otherwise by name: an order in which they can be read.
///
/// # Errors
/// [`Failure::Environment`] if the folder cannot be read.
pub fn sources() -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error| Failure::Environment(format!("cannot read {SOURCES}: {error}"));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join(SOURCES)).map_err(unreadable)? {
        let path = Path::new(SOURCES).join(entry.map_err(unreadable)?.file_name());
        if path.extension().is_some_and(|extension| extension == "sv") {
            found.push(path);
        }
    }
    found.sort_by_key(|path| (!is_package(path), path.clone()));
    Ok(found)
}

/// True for a file with a package.
pub fn is_package(path: &Path) -> bool {
    stem(path).ends_with("_pkg")
}

/// The name of the module or package in a file.
pub fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Every combination of the values of a module's parameters, as arguments of Verilator.
fn combinations(module: &str) -> Vec<Vec<String>> {
    let mut sets = vec![Vec::new()];
    for parameter in PARAMETERS.iter().filter(|parameter| parameter.module == module) {
        let with = |set: &Vec<String>, value: &&str| [set.as_slice(), &[format!("-G{}={value}", parameter.name)]].concat();
        sets = sets.iter().flat_map(|set| parameter.values.iter().map(move |value| with(set, value))).collect();
    }
    sets
}

/// Runs a linter, and says what it says; true if it ends with 0.
fn passes(command: &mut Command) -> Result<bool, Failure> {
    let output = command.output();
    let output =
        output.map_err(|error| Failure::Environment(format!("cannot start {}: {error}", command.get_program().to_string_lossy())))?;
    print!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Ok(output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_combined() {
        let sets = combinations("sharestreams");
        assert_eq!(sets.len(), 4 * 3 * 2);
        assert!(sets.contains(&["-GN=32", "-GRouting=2'd2", "-GAhead=1"].map(str::to_owned).to_vec()));
        assert_eq!(combinations("decision_block"), [Vec::<String>::new()]);
    }

    #[test]
    fn packages_come_first_and_every_listed_module_exists() {
        let names: Vec<String> = sources().ok().unwrap().iter().map(|path| stem(path)).collect();
        let modules = names.iter().position(|name| !name.ends_with("_pkg")).unwrap();
        assert!(modules > 0 && names[modules..].iter().all(|name| !name.ends_with("_pkg")), "{names:?}");
        for parameter in PARAMETERS {
            assert!(names.iter().any(|name| name == parameter.module), "{}", parameter.module);
        }
    }
}
