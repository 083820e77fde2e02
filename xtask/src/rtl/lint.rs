//! The linters: Verilator with every warning on, for every module and the designs of the table, and Verible for style.
//!
//! The house rules (one module per file, headers, comments on ports) are in `cargo xtask tidy`.

use super::designs::{PARTS, VARIANTS};
use super::lockstep::{numbers, pairs};
use super::options::Options;
use super::parallel::at_once;
use super::sources::{SOURCES, is_package, needed, sources, stem, texts};
use super::tools::program;
use crate::cargo::root;
use crate::failure::Failure;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Runs both.
///
/// # Errors
/// [`Failure::Check`] naming what has warnings, which have been printed; [`Failure::Environment`] if a linter cannot be started.
pub fn run(options: &Options) -> Result<(), Failure> {
    let sources = sources()?;
    let texts = texts()?;
    let verilator = program("verilator-cli")?;
    let modules: Vec<String> = sources.iter().filter(|path| !is_package(path)).map(|path| stem(path)).collect();
    let sets = sets(&modules, options.deep);
    let outcomes = at_once(&sets, |(name, set)| {
        let mut command = Command::new(&verilator);
        command.current_dir(root()).args(["--lint-only", "-Wall", "--quiet", "-y", SOURCES, "--top-module", name]).args(set);
        let read = needed(name, &texts).into_iter().map(|file| Path::new(SOURCES).join(format!("{file}.sv")));
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

/// A module of the table, and names and values of its parameters.
type Top = (&'static str, Vec<(String, String)>);

/// A module and its parameters, as arguments of Verilator.
type Set = (String, Vec<String>);

/// The sets of parameters of the table's designs that are linted: the smallest of each design, with `deep` all; and every other module once,
/// with the values that it gives its parameters.
fn sets(modules: &[String], deep: bool) -> Vec<Set> {
    let mut tops: BTreeMap<Top, bool> = BTreeMap::new();
    for pair in pairs() {
        let is_smallest = pair.variant.compared.iter().all(|other| other.streams >= pair.size.streams);
        *tops.entry((pair.variant.top, pair.parameters())).or_default() |= is_smallest;
    }
    for variant in VARIANTS {
        for &streams in variant.sizes {
            tops.entry((variant.top, numbers(variant.design(streams).parameters))).or_default();
        }
    }
    for part in PARTS {
        tops.insert((part.top, numbers(part.design().parameters)), true);
    }
    // A number has 32 bits unless it says how many.
    let bits = |name: &str| if name == "Routing" { "2'd" } else { "" };
    let arguments =
        |parameters: &[(String, String)]| parameters.iter().map(|(name, value)| format!("-G{name}={}{value}", bits(name))).collect();
    let listed: Vec<Set> = tops
        .iter()
        .filter(|(_, is_smallest)| deep || **is_smallest)
        .map(|((top, parameters), _)| ((*top).to_owned(), arguments(parameters)))
        .collect();
    let others = modules.iter().filter(|module| tops.keys().all(|(top, _)| top != module)).map(|module| (module.clone(), Vec::new()));
    // The large ones have the last names: they come first, so that no core waits at the end.
    let mut sets: Vec<Set> = listed.into_iter().chain(others).collect();
    sets.sort_by(|a, b| b.cmp(a));
    sets
}

/// Runs a linter and prints its output; true if it ends with 0.
fn passes(command: &mut Command) -> Result<bool, Failure> {
    let output = command.output();
    let output = output.map_err(Failure::cannot("start", command.get_program()))?;
    print!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Ok(output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_is_linted_and_every_size_with_deep() {
        let names: Vec<String> = sources().ok().unwrap().iter().map(|path| stem(path)).collect();
        let first = names.iter().position(|name| !name.ends_with("_pkg")).unwrap();
        let modules = &names[first..];
        assert!(first > 0 && modules.iter().all(|name| !name.ends_with("_pkg")), "{names:?}");
        let by_default = sets(modules, false);
        for module in modules {
            assert!(by_default.iter().any(|(name, _)| name == module), "{module}");
        }
        let deep = sets(modules, true);
        assert!(by_default.iter().all(|set| deep.contains(set)) && deep.len() > by_default.len());
        let largest = ("sharestreams".to_owned(), ["-GN=32", "-GRouting=2'd2", "-GAhead=1"].map(str::to_owned).to_vec());
        assert!(deep.contains(&largest) && !by_default.contains(&largest));
    }
}
