//! Lists of subscribers, their plans and sites: the same as subscribers that are written out, and errors that name file, line and column.

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write;
use tidegate_core::classifier::{Header, Network, Transport};
use tidegate_core::registry::AnyScheduler;
use tidegate_scenario::explain::met;
use tidegate_scenario::summary::{Detail, summary};
use tidegate_scenario::{FileSet, Problems, Scenario, parse_policies};

const FILE: &str = r#"
[policy.isp]
kind = "subscribers"
down = "1 Gbit/s"
up = "500 Mbit/s"
overhead = "ethernet"
subscribers = "list.csv"
plan = [
    { name = "gold", down = "100 Mbit/s", up = "20 Mbit/s" },
    { name = "iron", down = "10 Mbit/s", up = "2 Mbit/s" },
]
site = [{ name = "tower", down = "150 Mbit/s", up = "40 Mbit/s" }]
"#;

const LIST: &str = "\u{feff}id,site,addresses,plan,down,up\r\n\
    # The first customers.\r\n\
    anna,,10.1.0.0/16 2001:db8:1::/48,gold,,\r\n\
    \r\n\
    \"ben, senior\",tower,10.2.0.1,iron,,\r\n\
    \"cleo\",\"tower\", 10.3.0.1-10.3.0.6 ,,5 Mbit/s,\"1 Mbit/s\"\r\n";

const WRITTEN: &str = r#"
subscriber = [
    { name = "anna", addresses = ["10.1.0.0/16", "2001:db8:1::/48"], down = "100 Mbit/s", up = "20 Mbit/s" },
    { name = "ben, senior", addresses = ["10.2.0.1"], plan = "iron", site = "tower" },
    { name = "cleo", addresses = ["10.3.0.1", "10.3.0.2/31", "10.3.0.4/31", "10.3.0.6"], site = "tower", down = "5 Mbit/s", up = "1 Mbit/s" },
]
"#;

fn read(text: &str, list: &str) -> Result<Scenario, Problems> {
    let files = BTreeMap::from([("list.csv".to_owned(), list.into())]);
    parse_policies(&FileSet { name: "/etc/isp.toml".to_owned(), text: text.into(), files }, &[])
}

fn described(scenario: &Scenario) -> String {
    summary(scenario, Detail::All)
}

fn refused(text: &str, list: &str) -> String {
    read(text, list).map(drop).expect_err("a mistake").to_string()
}

#[test]
fn a_list_is_the_subscribers_that_could_have_been_written() {
    let listed = read(FILE, LIST).unwrap();
    let written = read(&FILE.replace("subscribers = \"list.csv\"", WRITTEN), "").unwrap();
    assert_eq!(described(&listed), described(&written));
    let setups =
        |scenario: &Scenario| scenario.variants[0].policies.iter().map(|policy| format!("{:?}", policy.setup())).collect::<Vec<_>>();
    assert!(setups(&listed) == setups(&written));
    // Line ends of Unix, and no mark of the byte order.
    assert_eq!(described(&read(FILE, &LIST.replace(['\r', '\u{feff}'], "")).unwrap()), described(&listed));
}

/// Deficit round robin at the link is that of sites and tins, too, and the tree has its faster form.
#[test]
fn deficit_round_robin_is_that_of_all_nodes() {
    for given in ["", "tins = \"diffserv3\"\n"] {
        let ours = FILE.replace("overhead", &format!("{given}overhead"));
        let trees = |text: &str| {
            let scenario = read(text, LIST).unwrap();
            let text = described(&scenario);
            let of = |policy: &tidegate_scenario::Policy| policy.setup().scheduler;
            (scenario.variants[0].policies.iter().map(of).collect::<Vec<_>>(), text)
        };
        let (general, text) = trees(&ours);
        assert!(general.iter().all(|tree| matches!(tree, AnyScheduler::Hierarchy(_))), "{text}");
        let (fast, text) = trees(&ours.replace("overhead", "scheduler = \"drr\"\noverhead"));
        assert!(fast.iter().all(|tree| matches!(tree, AnyScheduler::DeficitTree(_))), "{text}");
        assert!(text.contains("tower: drr") && !text.contains("wf2q+"), "{text}");
    }
}

/// A site is a group that could have been written, and shares by plans below.
#[test]
fn sites_are_groups() {
    let text = described(&read(FILE, LIST).unwrap());
    assert_eq!(text.matches("tower: wf2q+").count(), 2, "{text}");
    assert!(text.contains("shaped to 150 Mbit/s") && text.contains("shaped to 40 Mbit/s"), "{text}");
    let own = FILE.replace("subscribers =", "group = [{ name = \"tower\", scheduler = \"drr\" }]\nsubscribers =");
    assert_eq!(described(&read(&own, LIST).unwrap()).matches("tower: drr").count(), 2);
    // A site without subscribers would be a group without children.
    let empty = FILE.replace("site = [", "site = [{ name = \"spare\", down = \"1 Mbit/s\", up = \"1 Mbit/s\" }, ");
    assert_eq!(described(&read(&empty, LIST).unwrap()), text);
    let tins = described(&read(&FILE.replace("overhead", "tins = \"diffserv3\"\noverhead"), LIST).unwrap());
    assert_eq!(tins.matches("cleo voice").count(), 2, "{tins}");
}

#[test]
fn packets_find_the_subscribers_of_a_list() {
    let scenario = read(FILE, LIST).unwrap();
    let [down, up] = [0, 1].map(|index| &scenario.variants[0].policies[index]);
    let header = |source, destination| Header {
        ethernet_type: 0x0800,
        network: Network::V4 { source, destination, transport: Transport::default() },
        ..Header::default()
    };
    for (address, name) in [(0x0a01_0203, "anna"), (0x0a02_0001, "ben, senior"), (0x0a03_0006, "cleo"), (0x0a03_0007, "others")] {
        assert_eq!(down.classes[met(down, &header(1, address)).class].name, name);
        assert_eq!(up.classes[met(up, &header(address, 1)).class].name, name);
    }
}

/// Every mistake is one message, with the place in the list or in the file.
#[test]
fn mistakes_have_their_places() {
    let with = |line: &str| format!("id,addresses,plan,down,up,site\nanna,10.1.0.1,gold,,,\n{line}\n");
    for (list, problem, place) in [
        (String::new(), "the list of subscribers is empty", "list.csv:1:1"),
        ("id;addresses;plan\n".to_owned(), "names its columns", "list.csv:1:1"),
        ("id,adresses,plan\n".to_owned(), "unknown column `adresses`", "list.csv:1:4"),
        ("id,addresses,id\n".to_owned(), "the column `id` is there twice", "list.csv:1:14"),
        ("addresses,plan\n".to_owned(), "lacks the column `id`", "list.csv:1:1"),
        (with("ben,10.2.0.1,gold"), "this line has 3 values, and the first line names 6 columns", "list.csv:3:1"),
        (with(",10.2.0.1,gold,,,"), "the subscriber has no `id`", "list.csv:3:1"),
        (with("b.en,10.2.0.1,gold,,,"), "a name cannot contain '.'", "list.csv:3:1"),
        (with("ben,,gold,,,"), "the subscriber has no address", "list.csv:3:1"),
        (with("ben,10.2.0.1 10.2.0.300,gold,,,"), "`10.2.0.300` is not an IPv4 or IPv6 address", "list.csv:3:5"),
        (with("ben,10.2.0.9-10.2.0.1,gold,,,"), "runs backwards; write \"10.2.0.1-10.2.0.9\"", "list.csv:3:5"),
        (with("ben,10.2.0.1-2001:db8::1,gold,,,"), "an end of IPv4 and one of IPv6", "list.csv:3:5"),
        (with("ben,10.2.0.1,goldd,,,"), "there is no plan `goldd`", "list.csv:3:14"),
        (with("ben,10.2.0.1,gold,,,towerr"), "there is no site `towerr`", "list.csv:3:21"),
        (with("ben,10.2.0.1,,10 Mbit,1 Mbit/s,"), "`down`:", "list.csv:3:15"),
        (with("ben,10.2.0.1,,10 Mbit/s,,"), "has `down` and lacks `up`", "list.csv:3:1"),
        (with("ben,10.2.0.1,gold,10 Mbit/s,1 Mbit/s,"), "has a plan, and a rate of its own", "list.csv:3:19"),
        (with("ben,10.2.0.1,,,,"), "subscriber `ben` has no rates", "list.csv:3:1"),
        (with("anna,10.2.0.1,gold,,,"), "another subscriber is named `anna` already", "list.csv:3:1"),
        (with("ben,10.1.0.1,gold,,,"), "class `ben` can never be served", "list.csv:3:5"),
        (with("tower,10.2.0.1,gold,,,tower"), "is already the name of a", "list.csv:3:1"),
        (with(&format!("ben,\"{}", "x".repeat(5000))), "look for a quotation mark that is not closed", "list.csv:3:1"),
    ] {
        let found = refused(FILE, &list);
        assert!(found.contains(problem) && found.contains(&format!("--> /etc/{place}")), "{problem}, {place}\n{found}");
        assert_eq!(found.matches("error:").count(), 1, "{found}");
    }
    for (text, problem) in [
        (FILE.replace("list.csv", "lists.csv"), "the list of subscribers lists.csv was not sent with the file"),
        (FILE.replace("kind = \"subscribers\"", "scheduler = \"fifo\""), "`subscribers` has no effect without kind = \"subscribers\""),
        (FILE.replace("iron", "gold"), "another plan is named `gold` already"),
    ] {
        let found = refused(&text, LIST);
        assert!(found.contains(problem) && found.contains("--> /etc/isp.toml:"), "{found}");
    }
}

/// A list that is wrong in every line costs no more than the first thousand errors.
#[test]
fn hostile_lists_are_answered() {
    let mut list = "id,addresses,down,up\n".to_owned();
    for number in 0..50_000 {
        let _ = writeln!(list, "n{number},10.0.0.1,fast,slow");
    }
    let found = refused(FILE, &list);
    assert!(found.contains("errors in all; the first 20 are shown") && found.len() < 20_000, "{found}");
    for list in [
        "\"",
        "\u{1b}[2J,addresses\n",
        "id,addresses\n\u{1b}[2J,10.0.0.1\n",
        "id,addresses,plan\n\"\n",
        "\r",
        "#\n#\n",
        "id,addresses\na,\"\"\"\"\n",
    ] {
        let found = refused(FILE, list);
        assert!(found.chars().all(|c| !c.is_control() || c == '\n'), "{found:?}");
    }
}

proptest! {
    /// Whatever a list holds, it is read or refused.
    #[test]
    fn any_list_is_answered(list in "(id|addresses|plan|down|up|site|[a-z0-9,\"\n\r #.:/-]|10\\.0\\.0\\.[0-9]|gold|5 Mbit/s){0,200}", with_head in any::<bool>()) {
        let list = if with_head { format!("id,addresses,plan\n{list}") } else { list };
        let _answered = read(FILE, &list).map_err(|problems| problems.to_string());
    }

    /// The prefixes of a range hold its addresses and no others.
    #[test]
    fn ranges_hold_their_addresses(first in 0u32..400, length in 0u32..300, probe in 0u32..800) {
        let base = 0x0a00_ff00u32;
        let address = |offset: u32| std::net::Ipv4Addr::from(base + offset);
        let list = format!("id,addresses,plan\nanna,{}-{},gold\n", address(first), address(first + length));
        let scenario = read(FILE, &list).unwrap();
        let down = &scenario.variants[0].policies[0];
        let transport = Transport::default();
        let header = Header { ethernet_type: 0x0800, network: Network::V4 { source: 1, destination: base + probe, transport }, ..Header::default() };
        let is_inside = (first..=first + length).contains(&probe);
        prop_assert_eq!(down.classes[met(down, &header).class].name == "anna", is_inside);
        prop_assert!(down.classes[0].rules <= 2 * 9);
    }
}
