//! Target: graphs in GraphML, as a topology of a file reads them. What is refused is explained with the line of the graph.

use std::sync::Arc;
use tidegate_scenario::{FileSet, parse_policies};

/// A file whose network is the graph.
const FILE: &str = r#"
[simulation]
duration = "1 ms"

[policy.port]
rate = "1 Gbit/s"

[[policy.port.class]]
name = "all"

[topology.graph]
kind = "graphml"
file = "graph.graphml"
policy = "port"

[[flow]]
name = "flow"
from = "graph-*"
pairs = "random"
count = 3
source = { kind = "greedy", packet = "1000 B" }
"#;

/// Reads one graph; true if a network is made of it.
pub fn run(input: &[u8]) -> bool {
    let graph: Arc<str> = String::from_utf8_lossy(input).into();
    let files = [("graph.graphml".to_owned(), graph)].into();
    match parse_policies(&FileSet { name: "fuzz.toml".into(), text: FILE.into(), files }, &[]) {
        Ok(scenario) => {
            assert_eq!(scenario.variants.len(), 1);
            true
        }
        Err(problems) => {
            let explained = problems.to_string();
            assert!(explained.contains("error"), "refused without an error: {explained}");
            false
        }
    }
}
