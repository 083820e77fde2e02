//! A file of fragments, templates and lists is the file that a user could have written as one.

use std::collections::BTreeMap;
use tidegate_scenario::summary::{Detail, summary};
use tidegate_scenario::{FileSet, Problems, Scenario, parse_policies, parse_str};

fn read(text: &str, files: &[(&str, &str)]) -> Result<Scenario, Problems> {
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).into())).collect();
    parse_policies(&FileSet { name: "/etc/all.toml".to_owned(), text: text.into(), files }, &[])
}

fn ports(scenario: &Scenario) -> (String, Vec<String>) {
    let policies = &scenario.variants[0].policies;
    let text = summary(scenario, Detail::All);
    let text = text.split_once('\n').map_or(String::new(), |(_, rest)| rest.to_owned());
    (text, policies.iter().map(|policy| format!("{:?}", policy.setup())).collect())
}

fn same(one: &Scenario, other: &Scenario) {
    let (one, other) = (ports(one), ports(other));
    assert_eq!(one.0, other.0);
    assert!(one.1 == other.1);
}

fn refused(text: &str, files: &[(&str, &str)]) -> String {
    let found = read(text, files).map(drop).expect_err("a mistake").to_string();
    assert_eq!(found.matches("error:").count(), 1, "{found}");
    found
}

const ALL: &str = r#"
include = ["rates.toml", "sites/*.toml"]
[policy.access]
scheduler = "drr"
[[policy.access.class]]
name = "voice"
match = [{ dscp = "ef" }]
weight = 3
[[policy.access.class]]
name = "rest"
weight = 1
"#;
const RATES: &str = "[policy.access]\nrate = \"10 Mbit/s\"\n";
const NORTH: &str = "[[policy.access.class]]\nname = \"north\"\nmatch = [{ source = \"10.1.0.0/16\" }]\nweight = 2\n";
const SOUTH: &str = "[[policy.access.class]]\nname = \"south\"\nmatch = [{ source = \"10.2.0.0/16\" }]\nweight = 2\n";
const FILES: [(&str, &str); 4] =
    [("rates.toml", RATES), ("sites/north.toml", NORTH), ("sites/south.toml", SOUTH), ("sites/notes.txt", "no TOML")];

#[test]
fn fragments_add_tables_and_elements() {
    let written = format!(
        "{}{NORTH}{SOUTH}[[policy.access.class]]\nname = \"rest\"\nweight = 1\n",
        ALL.replace("include = [\"rates.toml\", \"sites/*.toml\"]", "")
            .replace("drr\"", "drr\"\nrate = \"10 Mbit/s\"")
            .replace("[[policy.access.class]]\nname = \"rest\"\nweight = 1\n", "")
    );
    same(&read(ALL, &FILES).unwrap(), &parse_str("all.toml", &written).unwrap());
    // A fragment may include others.
    let nested = ALL.replace("\"rates.toml\", ", "");
    let north = format!("include = [\"rates.toml\"]\n{NORTH}");
    let files = [("rates.toml", RATES), ("sites/north.toml", &north), ("sites/south.toml", SOUTH)];
    same(&read(&nested, &files).unwrap(), &read(ALL, &FILES).unwrap());
    // A folder may be empty.
    assert!(read(ALL, &FILES[..1]).is_ok());
}

#[test]
fn mistakes_in_fragments_name_their_files() {
    let twice = ALL.replace("scheduler", "rate = \"9 Mbit/s\"\nscheduler");
    let found = refused(&twice, &FILES);
    assert!(found.contains("`policy.access.rate` is there twice") && found.contains("first written here"), "{found}");
    assert!(found.contains("--> /etc/rates.toml:2:1") && found.contains("/etc/all.toml:4:1"), "{found}");

    let misspelt = [("rates.toml", RATES), ("sites/north.toml", &NORTH.replace("weight", "wieght"))];
    let found = refused(ALL, &misspelt);
    assert!(found.contains("unknown key `wieght`") && found.contains("--> /etc/sites/north.toml:4:1"), "{found}");

    let broken = [("rates.toml", RATES), ("sites/north.toml", "[[policy")];
    let found = refused(ALL, &broken);
    assert!(found.contains("this is not TOML") && found.contains("--> /etc/sites/north.toml:1:"), "{found}");

    let named = [("rates.toml", RATES), ("sites/north.toml", NORTH), ("sites/south.toml", &SOUTH.replace("south", "north"))];
    let found = refused(ALL, &named);
    assert!(found.contains("`north` is already the name of a class"), "{found}");
    assert!(found.contains("--> /etc/sites/south.toml:2:8") && found.contains("/etc/sites/north.toml:2:8"), "{found}");
}

#[test]
fn fragments_that_go_round_are_refused() {
    let found = refused("include = [\"all.toml\"]", &[]);
    assert!(found.contains("all.toml includes itself"), "{found}");
    let rates = format!("include = [\"all.toml\"]\n{RATES}");
    let found = refused(ALL, &[("rates.toml", &rates)]);
    assert!(found.contains("all.toml includes itself") && found.contains("--> /etc/rates.toml:1:12"), "{found}");
    let found = refused(&ALL.replace("\"rates.toml\"", "\"rates.toml\", \"rates.toml\""), &FILES);
    assert!(found.contains("rates.toml is included twice") && found.contains("first included here"), "{found}");
    let found = refused(ALL, &[]);
    assert!(found.contains("the fragment rates.toml was not sent with the file"), "{found}");

    let texts: Vec<(String, String)> =
        (1..=9).map(|number| (format!("{number}.toml"), format!("include = [\"{}.toml\"]\n", number + 1))).collect();
    let files: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let found = refused("include = [\"1.toml\"]\n[policy.p]\nrate = \"1 Mbit/s\"\n", &files);
    assert!(found.contains("9.toml is included beyond the limit of 8 fragments that include each other"), "{found}");
    let found = refused("include = \"1.toml\"\n[policy.p]\nrate = \"1 Mbit/s\"\n", &files);
    assert!(found.contains("include: expected a list"), "{found}");
    assert!(
        parse_str("alone", "include = [\"1.toml\"]\n[policy.p]\nrate = \"1 Mbit/s\"\n")
            .unwrap_err()
            .to_string()
            .contains("this text has no file")
    );
}

const TEMPLATES: &str = r#"
[template.site]
scheduler = "strict-priority"
shape = { rate = "{rate}", burst = "20 kB" }
[template.voice]
match = [{ source = "{net}", dscp = "ef" }]
priority = 0
queues = "{queues}"
[template.data]
match = [{ source = "{net}" }]
priority = 1

[policy.access]
rate = "100 Mbit/s"
scheduler = "drr"
[[policy.access.group]]
name = "north"
use = "site"
with = { rate = "10 Mbit/s" }
[[policy.access.group]]
name = "south"
use = "site"
with = { rate = "20 Mbit/s" }
shape = { burst = "30 kB" }
[[policy.access.class]]
name = "north voice"
parent = "north"
use = "voice"
with = { net = "10.1.0.0/16", queues = 4 }
[[policy.access.class]]
name = "north data"
parent = "north"
use = "data"
with = { net = "10.1.0.0/16" }
[[policy.access.class]]
name = "south data"
parent = "south"
use = "data"
with = { net = "10.2.0.0/16" }
priority = 5
"#;

const FILLED: &str = r#"
[policy.access]
rate = "100 Mbit/s"
scheduler = "drr"
group = [
    { name = "north", scheduler = "strict-priority", shape = { rate = "10 Mbit/s", burst = "20 kB" } },
    { name = "south", scheduler = "strict-priority", shape = { rate = "20 Mbit/s", burst = "30 kB" } },
]
class = [
    { name = "north voice", parent = "north", match = [{ source = "10.1.0.0/16", dscp = "ef" }], priority = 0, queues = 4 },
    { name = "north data", parent = "north", match = [{ source = "10.1.0.0/16" }], priority = 1 },
    { name = "south data", parent = "south", match = [{ source = "10.2.0.0/16" }], priority = 5 },
]
"#;

#[test]
fn templates_are_filled() {
    same(&read(TEMPLATES, &[]).unwrap(), &read(FILLED, &[]).unwrap());
    // A value inside of a text.
    let inside = TEMPLATES
        .replace("source = \"{net}\"", "source = \"10.{net}.0.0/16\"")
        .replace("\"10.1.0.0/16\"", "1")
        .replace("\"10.2.0.0/16\"", "2");
    same(&read(&inside, &[]).unwrap(), &read(FILLED, &[]).unwrap());
    // Templates in a fragment, and values of the command line.
    let (templates, policy) = TEMPLATES.split_at(TEMPLATES.find("[policy.access]").unwrap());
    let files = FileSet {
        name: "all.toml".to_owned(),
        text: format!("include = [\"t.toml\"]\n{policy}").into(),
        files: BTreeMap::from([("t.toml".to_owned(), templates.into())]),
    };
    let set = [
        "policy.access.group.north.with.rate=\"20 Mbit/s\"",
        "policy.access.group.south.with.rate=\"20 Mbit/s\"",
        "template.site.shape.burst=\"9 kB\"",
    ];
    let scenario = parse_policies(&files, &set.map(str::to_owned)).unwrap();
    let text = summary(&scenario, Detail::All);
    assert!(
        text.matches("shaped to 20 Mbit/s").count() == 2 && text.contains("bursts of 9 kB") && text.contains("bursts of 30 kB"),
        "{text}"
    );
}

#[test]
fn mistakes_with_templates_have_their_places() {
    for (from, to, problem, place) in [
        (
            "use = \"site\"\nwith = { rate = \"10 Mbit/s\" }",
            "use = \"site\"",
            "template `site` has a hole `{rate}` without a value",
            "all.toml:18:7",
        ),
        (
            "{ rate = \"10 Mbit/s\" }",
            "{ rate = \"10 Mbit/s\", burst = \"1 kB\" }",
            "template `site` has no hole `{burst}`",
            "all.toml:19:30",
        ),
        ("use = \"data\"", "use = \"date\"", "there is no template `date`", "all.toml:33:7"),
        ("use = \"data\"\n", "", "`with` has no effect without `use`", "all.toml:33:8"),
        ("\"{net}\" }", "\"{net\" }", "a hole is a name in braces", "all.toml:10:21"),
        ("{ rate = \"10 Mbit/s\" }", "{ rate = \"10 Mbits\" }", "policy.access.group.north.shape.rate", "all.toml:19:17"),
        ("{ net = \"10.1.0.0/16\" }", "{ net = \"10.1.0.1/16\" }", "has bits set beyond its prefix", "all.toml:34:16"),
        ("priority = 1\n", "priority = 1\nuse = \"voice\"\n", "template `data` uses another template", "all.toml:12:1"),
    ] {
        let text = TEMPLATES.replacen(from, to, 1);
        let found = read(&text, &[]).map(drop).expect_err(problem).to_string();
        assert!(found.contains(problem) && found.contains(&format!("--> /etc/{place}")), "{problem}, {place}\n{found}");
    }
}

#[test]
fn lists_in_rules_match_any_of_their_values() {
    let rule =
        r#"{ source = ["10.0.0.0/30", "10.0.0.8-10.0.0.10"], protocol = "tcp", destination_port = [80, "8000-8080"], dscp = ["ef", 0] }"#;
    let mut rules = Vec::new();
    for source in ["10.0.0.0/30", "10.0.0.8/31", "10.0.0.10"] {
        for ports in ["80", "\"8000-8080\""] {
            for dscp in ["\"ef\"", "0"] {
                rules.push(format!("{{ source = \"{source}\", protocol = \"tcp\", destination_port = {ports}, dscp = {dscp} }}"));
            }
        }
    }
    let file = |rules: &str| format!("[policy.p]\nrate = \"1 Mbit/s\"\nclass = [{{ name = \"a\", match = [{rules}, {{ vlan = 5 }}] }}]\n");
    same(&read(&file(rule), &[]).unwrap(), &read(&file(&rules.join(", ")), &[]).unwrap());
    // Exceptions are rules of their own: none of them is to match.
    let except = r#"{ protocol = "udp", not = [{ source = ["10.0.0.0/31", "10.0.0.2"], vlan = 1 }] }"#;
    let written = r#"{ protocol = "udp", not = [{ source = "10.0.0.0/31", vlan = 1 }, { source = "10.0.0.2", vlan = 1 }] }"#;
    same(&read(&file(except), &[]).unwrap(), &read(&file(written), &[]).unwrap());
    for (rule, problem) in [
        ("{ dscp = [] }", "an empty list of `dscp` matches no packet"),
        ("{ dscp = [\"ef\", \"eff\"] }", "`eff` is not a DSCP"),
        ("{ source = \"10.0.0.9-10.0.0.1\" }", "runs backwards"),
        ("{ source = [\"10.0.0.0/8\", \"10.1.0.0/16\"] }", "this rule of class `a` can never match"),
        ("{ vlan = [[1]] }", "not a list"),
    ] {
        let found = refused(&file(rule), &[]);
        assert!(found.contains(problem), "{rule}\n{found}");
    }
    let ports: Vec<String> = (0..70).map(|port| (2 * port).to_string()).collect();
    let many = format!("{{ protocol = \"udp\", source_port = [{0}], destination_port = [{0}] }}", ports.join(", "));
    assert!(refused(&file(&many), &[]).contains("make 4900 rules, and at most 4096 are possible"));
}
