//! Which crate may use which: the arrows of ARCHITECTURE.md, checked against every manifest.

use super::Finding;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The table of crates is the first block of code in it.
const ARCHITECTURE: &str = include_str!("../../../ARCHITECTURE.md");

/// One crate and the crates of ours that it may use, in its tests too.
struct Rule {
    package: &'static str,
    may_use: Vec<String>,
    /// False if it may use no other package at all outside its tests.
    third_party: bool,
}

/// A rule for each line of the table: "name   what it is -> what it may use", or no arrow.
fn rules() -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for line in ARCHITECTURE.split("```").nth(1).unwrap_or_default().lines() {
        let Some((package, rest)) = line.split_once(' ').filter(|(package, _)| !package.is_empty()) else { continue };
        let may_use = match rest.rsplit_once("-> ").map(|(_, used)| used) {
            None | Some("nothing of ours") => Vec::new(),
            Some("all of the above") => rules.iter().map(|rule| rule.package.to_owned()).collect(),
            Some(names) => names.split(", ").map(|name| format!("tidegate-{name}")).collect(),
        };
        rules.push(Rule { package, may_use, third_party: !rest.trim_start().starts_with("no_std") });
    }
    rules
}

/// Compares every package of the workspace with its rule.
pub fn check(metadata: &Value, root: &Path) -> Vec<Finding> {
    let (rules, mut findings) = (rules(), Vec::new());
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let manifest = PathBuf::from(package["manifest_path"].as_str().unwrap_or_default());
        let text = std::fs::read_to_string(&manifest).unwrap_or_default();
        let shown = manifest.strip_prefix(root).unwrap_or(&manifest);
        let Some(rule) = rules.iter().find(|rule| rule.package == name) else {
            let problem = format!("the crate \"{name}\" has no rule about what it may use");
            findings.push(Finding::new(shown, 1, problem, "add its arrows to ARCHITECTURE.md"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let used = dependency["name"].as_str().unwrap_or_default();
            let is_for_tests = dependency["kind"] == "dev";
            if let Some(remedy) = objection(&rules, rule, used, is_for_tests) {
                let line = line_of_dependency(&text, used);
                findings.push(Finding::new(shown, line, format!("{name} uses {used}"), remedy));
            }
        }
    }
    findings
}

/// Why `rule` forbids the dependency; `None` if it does not.
fn objection(rules: &[Rule], rule: &Rule, used: &str, is_for_tests: bool) -> Option<String> {
    let is_ours = rules.iter().any(|other| other.package == used);
    if is_ours && !rule.may_use.iter().any(|name| name == used) {
        let allowed = if rule.may_use.is_empty() { "no other crate of ours".to_owned() } else { rule.may_use.join(", ") };
        return Some(format!("it may use {allowed}"));
    }
    if !is_ours && !rule.third_party && !is_for_tests {
        return Some("it may use no other package; one for its tests belongs under [dev-dependencies]".to_owned());
    }
    None
}

fn line_of_dependency(manifest: &str, used: &str) -> usize {
    let names_it = |line: &str| {
        let line = line.trim_start();
        let opens_table = line.starts_with('[') && line.trim_end().ends_with(&format!(".{used}]"));
        opens_table || line.strip_prefix(used).is_some_and(|rest| rest.trim_start().starts_with(['=', '.']))
    };
    manifest.lines().position(names_it).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn findings(package: &str, dependencies: Value) -> Vec<String> {
        let metadata = json!({ "packages": [{ "name": package, "manifest_path": "/r/x/Cargo.toml", "dependencies": dependencies }] });
        check(&metadata, Path::new("/r")).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn a_forbidden_arrow_is_found() {
        let found = findings("tidegate-sim", json!([{ "name": "tidegate-live", "kind": null }, { "name": "tidegate-core", "kind": null }]));
        assert_eq!(
            found,
            [
                "x/Cargo.toml:1: tidegate-sim uses tidegate-live; it may use tidegate-core, tidegate-cells, tidegate-atm, tidegate-link, tidegate-statistics"
            ]
        );
    }

    #[test]
    fn an_arrow_of_tests_counts_too() {
        assert_eq!(findings("tidegate-sim", json!([{ "name": "tidegate-live", "kind": "dev" }])).len(), 1);
    }

    #[test]
    fn the_core_depends_on_nothing_but_may_test_with_others() {
        assert_eq!(findings("tidegate-core", json!([{ "name": "libm", "kind": null }])).len(), 1);
        assert_eq!(findings("tidegate-core", json!([{ "name": "cc", "kind": "build" }])).len(), 1);
        assert_eq!(findings("tidegate-core", json!([{ "name": "proptest", "kind": "dev" }])).len(), 0);
    }

    #[test]
    fn a_crate_without_a_rule_is_found() {
        assert_eq!(findings("tidegate-new", json!([])).len(), 1);
    }

    #[test]
    fn the_line_of_a_dependency_is_its_own() {
        let manifest =
            "[dependencies]\ntidegate-core-x = \"1\"\ntidegate-core = { workspace = true }\n[dependencies.toml]\nversion = \"1\"\n";
        assert_eq!(line_of_dependency(manifest, "tidegate-core"), 3);
        assert_eq!(line_of_dependency(manifest, "toml"), 4);
    }
}
