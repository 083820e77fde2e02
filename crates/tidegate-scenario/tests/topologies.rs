//! Networks that files state briefly: duplex links, topologies, flows between many nodes, and paths of equal weight.

use std::collections::{BTreeMap, BTreeSet};
use tidegate_scenario::{Scenario, Simulation, parse_str, parse_text};
use tidegate_sim::{NodeId, Source};

const POLICY: &str =
    "[policy.p]\nrate = \"1 Gbit/s\"\nbuffer = { manager = \"tail-drop\", limit = \"100 kB\" }\n[[policy.p.class]]\nname = \"all\"\n";

fn file(rest: &str) -> String {
    format!("[simulation]\nduration = \"1 s\"\n{POLICY}{rest}")
}

fn flow(keys: &str) -> String {
    format!("[[flow]]\nname = \"f\"\n{keys}\nsource = {{ kind = \"greedy\", packet = \"1000 B\" }}\n")
}

fn load(rest: &str, overrides: &[&str]) -> Scenario {
    let overrides: Vec<String> = overrides.iter().map(|&change| change.to_owned()).collect();
    parse_text("test", &file(rest), &overrides).unwrap_or_else(|problems| panic!("{}", problems.render(false)))
}

fn simulation(rest: &str) -> Simulation {
    load(rest, &[]).variants.remove(0).simulation.unwrap()
}

fn refusal(rest: &str) -> String {
    parse_str("test", &file(rest)).map(|_| ()).unwrap_err().render(false)
}

/// By link name: its start and its end.
fn ends(simulation: &Simulation) -> BTreeMap<String, (String, String)> {
    let network = &simulation.network;
    let node = |node: NodeId| network.nodes[node.0].clone();
    network.links.iter().map(|link| (link.name.clone(), (node(link.from), node(link.to)))).collect()
}

fn path(simulation: &Simulation, flow: usize) -> Vec<String> {
    simulation.network.flows[flow].path.iter().map(|link| simulation.network.links[link.0].name.clone()).collect()
}

const DUPLEX: &str = "[[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\npolicy = \"p\"\ndelay = \"1 ms\"\nduplex = true\n";

#[test]
fn a_duplex_link_is_two_links_with_predictable_names() {
    let text = format!("{DUPLEX}{}", flow("from = \"b\"\nto = \"a\""));
    let simulation = simulation(&text);
    let expected = [("l", ("a", "b")), ("l-back", ("b", "a"))].map(|(name, (from, to))| (name.into(), (from.into(), to.into())));
    assert_eq!(ends(&simulation), BTreeMap::from(expected));
    assert_eq!(path(&simulation, 0), ["l-back"]);
    assert!(simulation.network.links.iter().all(|link| link.propagation.picoseconds() == 1_000_000_000));
}

#[test]
fn either_direction_of_a_duplex_link_is_set_by_its_name() {
    let text = format!("{DUPLEX}{}", flow("from = \"a\"\nto = \"b\""));
    let delays = |overrides: &[&str]| {
        let simulation = load(&text, overrides).variants.remove(0).simulation.unwrap();
        simulation.network.links.iter().map(|link| link.propagation.picoseconds() / 1_000_000_000).collect::<Vec<_>>()
    };
    assert_eq!(delays(&["link.l-back.delay=5 ms"]), [1, 5]);
    assert_eq!(delays(&["link.l.delay=5 ms"]), [5, 1]);
    let parsed = parse_text("test", &file(&text), &["link.l.duplex=false".to_owned(), "link.l-back.delay=5 ms".to_owned()]);
    let problem = parsed.map(|_| ()).unwrap_err().render(false);
    assert!(problem.contains("there is no `l-back`"), "{problem}");
}

#[test]
fn a_weight_turns_flows_away_from_the_path_with_fewer_links() {
    let link = |name: &str, from: &str, to: &str, weight: u32| {
        format!("[[link]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\npolicy = \"p\"\nweight = {weight}\n")
    };
    let links = |weight| [link("ab", "a", "b", 1), link("bc", "b", "c", 1), link("ac", "a", "c", weight)].concat();
    let taken = |weight| path(&simulation(&format!("{}{}", links(weight), flow("from = \"a\"\nto = \"c\""))), 0);
    assert_eq!(taken(1), ["ac"]);
    assert_eq!(taken(3), ["ab", "bc"]);
    // Of the same weight: the one whose links come first.
    assert_eq!(taken(2), ["ab", "bc"]);
}

/// Nodes, hosts, one-way links, and the most links of a shortest path between hosts.
fn shape(topology: &str) -> (usize, usize, usize, u64) {
    let simulation = simulation(&format!("[topology.t]\npolicy = \"p\"\n{topology}\n{}", flow("from = \"t-*\"\npairs = \"random\"")));
    let network = &simulation.network;
    let is_host = |name: &String| ["t-host-", "t-left-", "t-right-"].iter().any(|start| name.starts_with(start));
    let hosts: Vec<NodeId> = (0..network.nodes.len()).filter(|&node| is_host(&network.nodes[node])).map(NodeId).collect();
    let graph = network.graph();
    let tables = hosts.iter().map(|&host| graph.toward(host, |_| true));
    let longest = tables.flat_map(|table| hosts.iter().map(|&host| table.distance(host).unwrap()).collect::<Vec<_>>()).max();
    // A link in each direction, named after its ends.
    let ends = ends(&simulation);
    for (name, (from, to)) in &ends {
        assert_eq!(*name, format!("{from}:{to}"));
        assert!(ends.contains_key(&format!("{to}:{from}")));
    }
    (network.nodes.len(), hosts.len(), network.links.len(), longest.unwrap())
}

#[test]
fn topologies_have_the_nodes_and_links_of_their_definitions() {
    assert_eq!(shape("kind = \"star\"\nhosts = 5"), (6, 5, 10, 2));
    assert_eq!(shape("kind = \"dumbbell\"\nhosts = 3"), (8, 6, 14, 3));
    assert_eq!(shape("kind = \"parking-lot\"\nswitches = 4\nhosts = 2"), (12, 8, 22, 5));
    assert_eq!(shape("kind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts = 3"), (18, 12, 40, 4));
    // k^3/4 hosts, 5k^2/4 switches and 3k^3/4 links in each direction (Al-Fares, Loukissas and Vahdat 2008).
    for k in [2, 4, 6] {
        let (hosts, switches) = (k * k * k / 4, 5 * k * k / 4);
        assert_eq!(shape(&format!("kind = \"fat-tree\"\nk = {k}")), (hosts + switches, hosts, 6 * hosts, 6));
    }
}

#[test]
fn every_switch_of_a_fat_tree_has_k_ports_and_hosts_of_two_pods_have_all_core_switches_between_them() {
    let text = format!("[topology.t]\npolicy = \"p\"\nkind = \"fat-tree\"\nk = 4\n{}", flow("from = \"t-host-*\"\npairs = \"random\""));
    let simulation = simulation(&text);
    let network = &simulation.network;
    for (node, name) in network.nodes.iter().enumerate() {
        let ports = network.links.iter().filter(|link| link.from == NodeId(node)).count();
        assert_eq!(ports, if name.starts_with("t-host-") { 1 } else { 4 }, "{name}");
    }
    let node = |name: &str| NodeId(network.nodes.iter().position(|node| node == name).unwrap());
    let graph = network.graph();
    let paths = graph.toward(node("t-host-16"), |_| true).paths(&graph, node("t-host-1"), 100);
    let cores: BTreeSet<String> = paths.iter().map(|path| network.nodes[network.links[path[2].0].to.0].clone()).collect();
    assert_eq!(cores, BTreeSet::from(["t-core-1", "t-core-2", "t-core-3", "t-core-4"].map(str::to_owned)));
    assert_eq!(paths.len(), 4);
}

#[test]
fn tiers_have_their_own_rates_and_generated_links_are_set_by_name() {
    let text = format!(
        "[topology.t]\npolicy = \"p\"\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts = 1\ndelay = \"1 us\"\nfabric = {{ rate = \"4 Gbit/s\", delay = \"3 us\" }}\n{}",
        flow("from = \"t-host-1\"\nto = \"t-host-2\"")
    );
    let set = ["link.t-spine-1:t-leaf-2.rate=2 Gbit/s", "topology.t.access.rate=3 Gbit/s"];
    let simulation = load(&text, &set).variants.remove(0).simulation.unwrap();
    let of = |name: &str| {
        let link = simulation.network.links.iter().find(|link| link.name == name).unwrap();
        (link.port.rate.bits_per_second() / 1_000_000_000, link.propagation.picoseconds() / 1_000_000)
    };
    assert_eq!(of("t-host-1:t-leaf-1"), (3, 1));
    assert_eq!(of("t-leaf-1:t-spine-1"), (4, 3));
    assert_eq!(of("t-spine-1:t-leaf-2"), (2, 3));
}

/// The names of the nodes where each flow starts and ends, and where its acknowledgements do.
fn pairs(keys: &str) -> Vec<(String, String)> {
    let text = format!(
        "[topology.t]\npolicy = \"p\"\nkind = \"fat-tree\"\nk = 4\n[[flow]]\nname = \"f\"\n{keys}\nsource = {{ kind = \"tcp\" }}\n"
    );
    let simulation = simulation(&text);
    let network = &simulation.network;
    let ends = |path: &[tidegate_sim::LinkId]| {
        let (first, last) = (&network.links[path[0].0], &network.links[path[path.len() - 1].0]);
        (network.nodes[first.from.0].clone(), network.nodes[last.to.0].clone())
    };
    let of = |flow: &tidegate_sim::FlowSpec| {
        let (from, to) = ends(&flow.path);
        let Source::Tcp(tcp) = &flow.source else { panic!("not tcp") };
        assert_eq!(ends(&tcp.reverse_path), (to.clone(), from.clone()));
        (from, to)
    };
    network.flows.iter().map(of).collect()
}

#[test]
fn pairs_are_what_they_are_called() {
    let all: BTreeSet<String> = (1..=16).map(|host| format!("t-host-{host}")).collect();
    let permutation = pairs("from = \"t-host-*\"\npairs = \"permutation\"");
    assert_eq!(permutation.len(), 16);
    assert_eq!(permutation.iter().map(|pair| pair.0.clone()).collect::<BTreeSet<_>>(), all);
    assert_eq!(permutation.iter().map(|pair| pair.1.clone()).collect::<BTreeSet<_>>(), all);
    assert!(permutation.iter().all(|(from, to)| from != to));
    let random = pairs("from = \"t-host-*\"\npairs = \"random\"\ncount = 500");
    assert_eq!(random.len(), 500);
    assert!(random.iter().all(|(from, to)| from != to && all.contains(from) && all.contains(to)));
    assert_eq!(random.iter().map(|pair| pair.1.clone()).collect::<BTreeSet<_>>(), all);
    assert_eq!(random, pairs("from = \"t-host-*\"\npairs = \"random\"\ncount = 500"));
    let to_one = pairs("from = \"t-host-*\"\nto = \"t-host-3\"\npairs = \"all-to-one\"\ncount = 30");
    assert!(to_one.iter().all(|(from, to)| from != to && to == "t-host-3"));
    assert_eq!((to_one.len(), &to_one[0]), (30, &to_one[15]));
}

#[test]
fn many_flows_have_curves_if_they_are_asked_for() {
    let text = |count: u32| {
        let topology = "[topology.t]\npolicy = \"p\"\nkind = \"star\"\nhosts = 3\n";
        format!("{topology}{}", flow(&format!("from = \"t-host-1\"\nto = \"t-host-2\"\ncount = {count}")))
    };
    let note = |count, overrides: &[&str]| load(&text(count), overrides).variants.remove(0).simulation.unwrap().note_of_curves();
    assert_eq!(note(10_000, &[]), None);
    assert!(note(10_001, &[]).unwrap().contains("of 10001 flows"));
    assert_eq!(note(10_001, &["simulation.sample=\"10 ms\""]), None);
}

#[test]
fn flows_of_one_table_are_spread_over_equal_paths_unless_the_first_is_asked_for() {
    let text = |equal: &str| {
        let text = file(&format!(
            "[topology.t]\npolicy = \"p\"\nkind = \"leaf-spine\"\nleaves = 2\nspines = 4\nhosts = 1\n{}",
            flow("from = \"t-host-1\"\nto = \"t-host-2\"\ncount = 400")
        ));
        text.replace("duration = \"1 s\"\n", &format!("duration = \"1 s\"\n{equal}\n"))
    };
    let spines = |equal: &str| {
        let mut scenario = parse_str("test", &text(equal)).unwrap();
        let warned = scenario.warnings.as_ref().is_some_and(|warnings| warnings.render(false).contains("of the same weight"));
        let simulation = scenario.variants.remove(0).simulation.unwrap();
        let mut counts = BTreeMap::new();
        (0..400).for_each(|flow| *counts.entry(path(&simulation, flow)[1].clone()).or_insert(0) += 1);
        // What the links carry is the sum over the paths that were taken.
        let offered: usize = simulation.offered().iter().map(|load| load.1).sum();
        assert_eq!(offered, 400 * 4);
        (counts.into_values().collect::<Vec<_>>(), warned)
    };
    let (spread, warned) = spines("");
    // 100 on average, with a standard deviation of 8.7.
    assert!(spread.len() == 4 && spread.iter().all(|count| (57..144).contains(count)) && !warned, "{spread:?}");
    assert_eq!(spines("equal_paths = \"first\""), (vec![400], true));
}

#[test]
fn what_cannot_be_generated_is_refused_with_its_line() {
    let topology = |keys: &str| refusal(&format!("[topology.t]\npolicy = \"p\"\n{keys}\n{}", flow("from = \"t-*\"\npairs = \"random\"")));
    for (keys, problem, line) in [
        ("kind = \"fat-tree\"", "a fat-tree needs `k`", "test:8:"),
        ("kind = \"fat-tree\"\nk = 5", "an even number of ports", "test:11:"),
        ("kind = \"star\"\nhosts = 4\nk = 4", "a star has no `k`", "test:12:"),
        ("kind = \"star\"\nhosts = 4\ncore = { rate = \"1 Gbit/s\" }", "a star has no tier `core`", "test:12:"),
        ("kind = \"leaf-spine\"\nleaves = 10000\nspines = 10000\nhosts = 100000", "would have 2200000000 links", "test:8:"),
        ("kind = \"star\"\nhosts = 4000000000", "4000000000", "test:11:"),
        ("kind = \"ring\"", "ring", "test:10:"),
    ] {
        let found = topology(keys);
        assert!(found.contains(problem) && found.contains(line), "{keys}: {found}");
    }
    let star = "[topology.t]\npolicy = \"p\"\nkind = \"star\"\nhosts = 4\n";
    for (keys, problem) in [
        ("from = \"x-*\"\npairs = \"random\"", "no node matches `x-*`"),
        ("from = \"t-host-1\"\npairs = \"random\"", "another node than it starts"),
        ("from = \"t-host-*\"\nto = \"t-host-1\"\npairs = \"permutation\"", "no permutation fits"),
        ("from = \"t-host-*\"\npairs = \"all-to-one\"", "`to` names 4 nodes"),
        ("pairs = \"random\"", "lacks `from`"),
        ("from = \"t-*\"\npairs = \"random\"\npath = [\"a\"]", "`path` is for flows of one path"),
    ] {
        let found = refusal(&format!("{star}{}", flow(keys)));
        assert!(found.contains(problem) && found.contains("test:"), "{keys}: {found}");
    }
}

#[test]
fn a_graph_of_a_file_has_the_delays_of_its_places_and_the_rates_of_its_edges() {
    let mut scenario =
        tidegate_scenario::load("../../scenarios/wan.toml".as_ref(), &[]).unwrap_or_else(|problems| panic!("{}", problems.render(false)));
    let simulation = scenario.variants.remove(0).simulation.unwrap();
    assert_eq!((simulation.network.nodes.len(), simulation.network.links.len()), (4, 8));
    let of = |name: &str| simulation.network.links.iter().find(|link| link.name == name).unwrap();
    for name in ["wan-Vienna:wan-Paris", "wan-Paris:wan-Vienna"] {
        // 1034 km along the great circle, and 5 us for each.
        let microseconds = of(name).propagation.picoseconds() / 1_000_000;
        assert!((5160..5185).contains(&microseconds), "{microseconds}");
        assert_eq!(of(name).port.rate.bits_per_second(), 100_000_000);
    }
    // An edge without a speed has the rate of the policy.
    assert_eq!(of("wan-Paris:wan-Madrid").port.rate.bits_per_second(), 20_000_000);
}

#[test]
fn a_bad_graph_is_refused_with_its_line() {
    let folder = std::env::temp_dir().join(format!("tidegate-graphs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let of_edge = |attribute: &str, value: &str| {
        format!(
            "<graphml><key id=\"k\" attr.name=\"{attribute}\"/><graph>\n<node id=\"a\"/><node id=\"b\"/>\n<edge source=\"a\" target=\"b\"><data key=\"k\">{value}</data></edge></graph></graphml>"
        )
    };
    let edges = [("rate", "fast"), ("delay", "5"), ("weight", "0"), ("weight", "2.5"), ("LinkSpeedRaw", "0")];
    let found: Vec<String> = [
        "<graphml><graph>\n<node id=\"a\"/>\n<edge source=\"a\" target=\"b\"/></graph></graphml>",
        "<graphml><graph>\n<node id=\"a\"/>\n</grap></graphml>",
        "<graphml><graph/></graphml>",
        "<graphml><graph>\n<node/></graph></graphml>",
        "<graphml><graph><node id=\"a\"/>\n<node id=\"b\"/><edge source=\"a\" target=\"b\">",
    ]
    .map(str::to_owned)
    .into_iter()
    .chain(edges.iter().map(|(attribute, value)| of_edge(attribute, value)))
    .map(|graph| {
        std::fs::write(folder.join("g.graphml"), graph).unwrap();
        let text = file("[topology.t]\nkind = \"graphml\"\nfile = \"g.graphml\"\npolicy = \"p\"\n[[flow]]\nname = \"f\"\nfrom = \"t-*\"\npairs = \"random\"\nsource = { kind = \"tcp\" }\n");
        std::fs::write(folder.join("s.toml"), text).unwrap();
        tidegate_scenario::load(&folder.join("s.toml"), &[]).map(|_| ()).unwrap_err().render(false)
    })
    .collect();
    std::fs::remove_dir_all(&folder).unwrap();
    let expected = [
        "line 3: an edge names the node `b`",
        "line 3: this is not XML",
        "there is no graph with an edge",
        "line 2: a tag lacks the attribute `id`",
        "line 2: the file ends before all its elements do",
        "line 3: `rate` is \"fast\": expected a rate",
        "line 3: `delay` is \"5\": ",
        "line 3: `weight` is 0, and a whole number",
        "line 3: `weight` is 2.5, and a whole number",
        "line 3: `linkspeedraw`: a rate of zero",
    ];
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.contains(expected), "{expected}: {found}");
        assert_eq!(found.matches("error: ").count(), 1, "{found}");
    }
}
