//! Scenario and policy files: TOML to typed configuration to ready objects, with errors that point at the line.
