//! `docs/scenario-reference.md`, `docs/machine-reference.md` and the schemas say the same.
//!
//! The tables of the references are made from the schemas. After a change that is meant, `TIDEGATE_BLESS=1 cargo test -p tidegate-scenario`
//! writes them anew; the text around them is written by hand.

use serde_json::Value;
use std::fmt::Write;
use tidegate_scenario::{Problems, machine, parse_str, schema};

/// A page of reference, and what it describes.
struct Reference {
    path: &'static str,
    schema: &'static Value,
    /// The sections in the order of the page: heading and the name of the table in the schema.
    sections: &'static [(&'static str, &'static str)],
    /// Tables that another page describes.
    elsewhere: &'static [&'static str],
    /// What the first line of an example holds.
    mark: &'static str,
    examples: usize,
    load: fn(&str) -> Result<(), Problems>,
}

fn references() -> [Reference; 2] {
    [
        Reference {
            path: "../../docs/scenario-reference.md",
            schema: schema(),
            sections: SECTIONS,
            elsewhere: &[],
            mark: "[policy.",
            examples: 3,
            load: |text| parse_str("reference", text).map(drop),
        },
        Reference {
            path: "../../docs/machine-reference.md",
            schema: machine::schema(),
            sections: MACHINE_SECTIONS,
            elsewhere: &["SourceTable", "MixTable"],
            mark: "[machine]",
            examples: 1,
            load: |text| machine::parse_str("reference", text).map(drop),
        },
    ]
}

const BEGIN: &str = "<!-- The tables from here on are made from the schema. -->\n";
const END: &str = "<!-- End of the tables. -->\n";

const SECTIONS: &[(&str, &str)] = &[
    ("Top level", ""),
    ("`[policy.NAME]`", "PolicyTable"),
    ("`buffer` of a policy, a class or a group", "BufferTable"),
    ("`link` of a policy", "PolicyLinkTable"),
    ("`gilbert_elliott` of a link", "GilbertElliottTable"),
    ("`rates` of a link", "RatesTable"),
    ("`steps` of `rates`", "RateStepTable"),
    ("`reorder` of a link", "ReorderTable"),
    ("`cells` of a policy", "CellsTable"),
    ("`transfer` of `cells`", "TransferTable"),
    ("`[[policy.NAME.class]]`", "ClassTable"),
    ("`match` of a class", "RuleTable"),
    ("`[[policy.NAME.subscriber]]`", "SubscriberTable"),
    ("`[[policy.NAME.plan]]`", "PlanTable"),
    ("`[[policy.NAME.site]]`", "SiteTable"),
    ("`[[policy.NAME.group]]`", "GroupTable"),
    ("`dwcs` of a policy or a group", "DwcsTable"),
    ("`intserv` of a policy or a group", "IntServTable"),
    ("`profile` of a class or a group", "ProfileTable"),
    ("`aqm` of a class", "AqmTable"),
    ("`curve` of `aqm`", "RedCurveTable"),
    ("`curves` and `marking_curves` of `aqm`", "RedCurvesTable"),
    ("`police` of a class, `tag` of a flow", "PoliceTable"),
    ("`set` of a class", "SetTable"),
    ("`green`, `yellow` and `red` of `set`", "ColourSetTable"),
    ("`shape` of a class or a group", "ShapeTable"),
    ("`contract` of a class", "CellContractTable"),
    ("`promise` of a class or a flow", "PromiseTable"),
    ("`[simulation]`", "SimulationTable"),
    ("`[[variant]]`", "VariantTable"),
    ("`[[change]]`", "ChangeTable"),
    ("`[topology.NAME]`", "TopologyTable"),
    ("`access`, `fabric` and `core` of a topology", "TierTable"),
    ("`[[link]]`", "LinkTable"),
    ("`admission` of a link", "AdmissionTable"),
    ("`pause` of a link", "PauseTable"),
    ("`[[flow]]`", "FlowTable"),
    ("`calls` of a flow", "CallsTable"),
    ("`source` of a flow", "SourceTable"),
    ("`packet_mix` of a source", "MixTable"),
    ("`header` of a flow", "HeaderTable"),
    ("`[[workload]]`", "WorkloadTable"),
    ("`[[failure]]`", "FailureTable"),
    ("`[sweep]`", "SweepTable"),
];

const MACHINE_SECTIONS: &[(&str, &str)] = &[
    ("Top level", ""),
    ("`[machine]`", "MachineTable"),
    ("`[machine.bus]`", "BusTable"),
    ("`[[machine.nic]]`", "NicTable"),
    ("`[machine.kernel]`", "KernelTable"),
    ("`feedback` of a kernel", "FeedbackTable"),
    ("`[machine.overheads]`", "OverheadsTable"),
    ("Each of the overheads", "WorkTable"),
    ("`[[machine.stage]]`", "StageTable"),
    ("`[machine.variation]`", "VariationTable"),
    ("`[[machine.noise]]`", "NoiseTable"),
    ("`cost` of noise, `wake` of a kernel", "DistributionTable"),
    ("`[machine.guard]`", "GuardTable"),
    ("`[[flow]]`", "MachineFlowTable"),
    ("`[question]`", "QuestionTable"),
    ("`[question.promise]`", "MachinePromiseTable"),
];

fn section<'a>(schema: &'a Value, name: &str) -> &'a Value {
    if name.is_empty() { schema } else { &schema["$defs"][name] }
}

fn tables(reference: &Reference) -> String {
    let schema = reference.schema;
    let mut text = String::new();
    let mut explained = Vec::new();
    for (heading, name) in reference.sections {
        let table = section(schema, name);
        let _ = write!(text, "\n## {heading}\n\n{}\n\n", paragraph(table, schema));
        text += "| key | value | default | example | meaning |\n|---|---|---|---|---|\n";
        let required: Vec<&str> = table["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let (first, rest): (Vec<_>, Vec<_>) =
            sorted(&table["properties"]).into_iter().partition(|(key, _)| required.contains(&key.as_str()));
        let mut meanings = String::new();
        for (key, property) in first.into_iter().chain(rest) {
            let default = match (required.contains(&key.as_str()), &property["default"]) {
                (true, _) => "**required**".to_owned(),
                (false, Value::Null) => "none".to_owned(),
                (false, Value::String(sentence)) => cell(sentence),
                (false, value) => format!("`{}`", cell(&as_toml(value))),
            };
            let example = format!("`{key} = {}`", cell(&example(property)));
            let _ =
                writeln!(text, "| `{key}` | {} | {default} | {example} | {} |", cell(&kind(property)), cell(&paragraph(property, schema)));
            // What a value means is said where it first occurs.
            let kind = property["x-value"].to_string();
            let is_new = !explained.contains(&kind);
            explained.push(kind);
            for (name, meaning) in sorted(&property["x-meanings"]).into_iter().filter(|_| is_new) {
                let _ = writeln!(meanings, "| `{key} = \"{name}\"` | {} |", cell(meaning.as_str().unwrap()));
            }
        }
        if !meanings.is_empty() {
            let _ = write!(text, "\n| value | meaning |\n|---|---|\n{meanings}");
        }
    }
    text + "\n"
}

/// The entries of an object in the order of their names, whatever order the library keeps them in.
fn sorted(object: &Value) -> Vec<(&String, &Value)> {
    let mut entries: Vec<(&String, &Value)> = object.as_object().into_iter().flatten().collect();
    entries.sort_by_key(|entry| entry.0);
    entries
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn paragraph(described: &Value, schema: &Value) -> String {
    let own = described["description"].as_str();
    let resolved = described["$ref"].as_str().map(|reference| &section(schema, reference.rsplit('/').next().unwrap())["description"]);
    own.or(resolved.and_then(Value::as_str)).expect("every key has a description").replace('\n', " ")
}

/// What may be written: the value's name, with its range.
fn kind(property: &Value) -> String {
    let name = property["x-value"].as_str();
    let range = match (&property["minimum"], &property["maximum"]) {
        (Value::Number(least), Value::Number(most)) => format!(", {least} to {most}"),
        _ => String::new(),
    };
    let alternative = property["anyOf"].as_array().into_iter().flatten().find_map(|option| option["x-value"].as_str());
    if let (None, Some(value)) = (name, alternative) {
        return format!("{value} or table");
    }
    match (name, property["type"].as_str()) {
        (Some(name), _) => format!("{name}{range}"),
        (None, Some("array")) => {
            format!("list of {}", property["items"]["x-value"].as_str().map_or("tables".to_owned(), |name| format!("{name}s")))
        }
        _ => "table".to_owned(),
    }
}

fn example(property: &Value) -> String {
    if let Some(example) = property["examples"].get(0) {
        return as_toml(example);
    }
    if let Some((name, _)) = sorted(&property["x-meanings"]).first() {
        return format!("\"{name}\"");
    }
    let usual = match property["x-value"].as_str() {
        Some("rate") => "\"5 Mbit/s\"",
        Some("duration") => "\"5 ms\"",
        Some("size") => "\"3 kB\"",
        Some("number of packets") => "\"500 packets\"",
        Some("size or number of packets") => "\"100 packets\"",
        Some("name") => "\"office\"",
        Some("text") => "\"...\"",
        Some("code point") => "\"af41\"",
        Some("protocol") => "\"tcp\"",
        Some("address or prefix") => "\"10.1.2.3\"",
        Some("true or false") => "true",
        Some("integer") => "3",
        Some("number") => "1.5",
        Some("number from 0" | "part") => "0.5",
        Some("frequency") => "\"3 GHz\"",
        Some(other) => panic!("an example for {other} is missing"),
        None if property["type"] == "array" => "[ ... ]",
        None => "{ ... }",
    };
    usual.to_owned()
}

fn as_toml(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(as_toml).collect::<Vec<_>>().join(", ")),
        Value::Object(_) => {
            let quoted = |key: &str| if key.contains('.') { format!("\"{key}\"") } else { key.to_owned() };
            let entries: Vec<String> =
                sorted(value).into_iter().map(|(key, value)| format!("{} = {}", quoted(key), as_toml(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        scalar => scalar.to_string(),
    }
}

impl Reference {
    fn text(&self) -> String {
        std::fs::read_to_string(self.path).unwrap()
    }
}

#[test]
fn the_tables_are_those_of_the_schema() {
    for reference in references() {
        let text = reference.text();
        let (before, rest) = text.split_once(BEGIN).expect("the mark before the tables");
        let (found, after) = rest.split_once(END).expect("the mark after the tables");
        let expected = tables(&reference);
        if std::env::var_os("TIDEGATE_BLESS").is_some() {
            std::fs::write(reference.path, format!("{before}{BEGIN}{expected}{END}{after}")).unwrap();
        } else {
            assert!(found == expected, "{} is out of date; run TIDEGATE_BLESS=1 cargo test -p tidegate-scenario", reference.path);
        }
    }
}

#[test]
fn every_table_of_the_schema_has_a_section() {
    for reference in references() {
        for name in reference.schema["$defs"].as_object().unwrap().keys().filter(|name| !reference.elsewhere.contains(&name.as_str())) {
            assert!(reference.sections.iter().any(|section| section.1 == name), "{name} has no section");
        }
    }
}

/// The hand-written parts are examples too: every block of TOML with a policy or a machine is a file that loads.
#[test]
fn the_examples_of_the_text_load() {
    for reference in references() {
        let text = reference.text();
        let mut loaded = 0;
        for block in text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            if block.contains(reference.mark) {
                (reference.load)(block).unwrap_or_else(|problems| panic!("{block}\n{problems}"));
                loaded += 1;
            }
        }
        assert!(loaded >= reference.examples, "{}", reference.path);
    }
}
