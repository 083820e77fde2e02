//! The SystemVerilog of the design: one module per file, named like it.
//!
//! A module has a header that names its source and its latency, and a comment on every parameter and port.

use super::{Failure, Finding, has_extension, read};
use std::path::{Path, PathBuf};

/// What is synthesised. Testbenches and properties only need a header.
const DESIGN: &str = "rtl/src";

/// The labels of a module's header. A package computes nothing, and needs none.
const LABELS: &[&str] = &["Source", "Twin", "Latency"];

/// Ports that mean the same everywhere.
const SELF_EVIDENT: &[&str] = &["clk_i", "rst_ni"];

/// Checks every SystemVerilog file.
///
/// # Errors
/// [`Failure::Environment`] if a file cannot be read.
pub fn check(root: &Path, files: &[PathBuf]) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    for path in files.iter().filter(|path| has_extension(path, "sv")) {
        let text = read(root, path)?;
        if !text.starts_with("//") {
            findings.push(Finding::new(path, 1, "the file has no header", "begin it with // and a sentence that says what it holds"));
        } else if path.starts_with(DESIGN) {
            findings.extend(check_design(path, &text));
        }
    }
    Ok(findings)
}

fn check_design(path: &Path, text: &str) -> Vec<Finding> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let units: Vec<(usize, &str, &str)> =
        text.lines().enumerate().filter_map(|(index, line)| unit(line).map(|(k, n)| (index, k, n))).collect();
    let mut findings = Vec::new();
    let Some(&(at, kind, name)) = units.first() else {
        return vec![Finding::new(path, 1, "the file has neither module nor package", "give it one, or delete it")];
    };
    if name != stem {
        findings.push(Finding::new(
            path,
            at + 1,
            format!("the {kind} \"{name}\" is in the file of another"),
            format!("move it to {name}.sv"),
        ));
    }
    for (index, kind, name) in &units[1..] {
        let problem = format!("the {kind} \"{name}\" is the second in this file");
        findings.push(Finding::new(path, index + 1, problem, "a module has a file of its own"));
    }
    let header: String = text.lines().take_while(|line| line.starts_with("//")).flat_map(|line| [line, "\n"]).collect();
    let labels = if kind == "package" { &[] } else { LABELS };
    for label in labels.iter().filter(|label| !header.contains(*label)) {
        findings.push(Finding::new(path, 1, format!("the header has no \"{label}\""), format!("it needs {}", labels.join(", "))));
    }
    findings.extend(uncommented(path, text));
    findings
}

/// The kind and name of what begins on a line.
fn unit(line: &str) -> Option<(&str, &str)> {
    let (kind, rest) = line.split_once(' ')?;
    let name = rest.split(|character: char| !(character.is_alphanumeric() || character == '_')).find(|word| !word.is_empty())?;
    matches!(kind, "module" | "package" | "interface").then_some((kind, name))
}

/// Parameters and ports that no comment covers. One above several speaks for all of them.
fn uncommented(path: &Path, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut covers = false;
    let lines =
        text.lines().enumerate().skip_while(|(_, line)| !line.starts_with("module")).take_while(|(_, line)| !line.starts_with(");"));
    for (index, line) in lines {
        let line = line.trim();
        let is_port = ["input ", "output ", "inout "].iter().any(|direction| line.starts_with(direction));
        let is_parameter = line.starts_with("parameter ");
        let name = || declared(line);
        if (is_parameter || is_port) && !covers && !SELF_EVIDENT.contains(&name()) {
            let what = if is_port { "port" } else { "parameter" };
            findings.push(Finding::new(
                path,
                index + 1,
                format!("the {what} \"{}\" has no comment", name()),
                "say with /// above it what it is",
            ));
        }
        covers = (covers || line.starts_with("///")) && !line.starts_with(") (");
    }
    findings
}

/// The name that a declaration gives: the last word before its value.
fn declared(line: &str) -> &str {
    let declaration = line.split(['=', ',']).next().unwrap_or(line);
    let declaration = declaration.split("//").next().unwrap_or(declaration);
    declaration.split(|character: char| !(character.is_alphanumeric() || character == '_')).rfind(|word| !word.is_empty()).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "\
// A gate.
//
// Source: Boole, 1854. Twin: std::ops::BitAnd.
// Latency: none.

module gate #(
  /// How many.
  parameter int unsigned N = 4
) (
  input  logic         clk_i,
  /// Both of them.
  input  logic [N-1:0] first_i,
  input  logic [N-1:0] second_i,
  /// Their conjunction.
  output logic [N-1:0] both_o
);

  wire input_both = first_i & second_i;

endmodule
";

    fn problems(name: &str, text: &str) -> Vec<String> {
        check_design(&Path::new(DESIGN).join(name), text).into_iter().map(|finding| finding.problem).collect()
    }

    #[test]
    fn a_module_as_it_should_be_is_fine() {
        assert_eq!(problems("gate.sv", GOOD), Vec::<String>::new());
    }

    #[test]
    fn another_name_and_a_second_module_are_found() {
        assert_eq!(problems("door.sv", GOOD), ["the module \"gate\" is in the file of another"]);
        let two = format!("{GOOD}\nmodule other;\nendmodule\n");
        assert_eq!(problems("gate.sv", &two), ["the module \"other\" is the second in this file"]);
        assert_eq!(problems("gate.sv", "// Nothing.\n"), ["the file has neither module nor package"]);
    }

    #[test]
    fn a_header_needs_its_labels() {
        assert_eq!(problems("gate.sv", &GOOD.replace("Latency", "Time")), ["the header has no \"Latency\""]);
        assert_eq!(problems("a_pkg.sv", "// Types.\n\npackage a_pkg;\nendpackage\n"), Vec::<String>::new());
    }

    #[test]
    fn what_has_no_comment_is_found() {
        let without = |comment: &str| problems("gate.sv", &GOOD.replace(&format!("  /// {comment}\n"), ""));
        assert_eq!(without("How many."), ["the parameter \"N\" has no comment"]);
        assert_eq!(without("Both of them."), ["the port \"first_i\" has no comment", "the port \"second_i\" has no comment"]);
    }

    #[test]
    fn a_testbench_needs_a_header_only() {
        let root = std::env::temp_dir().join(format!("tidegate-xtask-hardware-{}", std::process::id()));
        let files = [PathBuf::from("good.sv"), PathBuf::from("bad.sv")];
        std::fs::create_dir_all(&root).unwrap();
        std::fs::write(root.join(&files[0]), "// A bench.\nmodule anything(input a);\nendmodule\n").unwrap();
        std::fs::write(root.join(&files[1]), "module anything(input a);\nendmodule\n").unwrap();
        let found = check(&root, &files).ok().unwrap();
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(found.iter().map(|finding| finding.path.as_path()).collect::<Vec<_>>(), [Path::new("bad.sv")]);
    }
}
