//! Links that several workers share, simulated beside one worker that has all of the link.

use tidegate_scenario::{Scenario, Simulation, parse_str, parse_text};
use tidegate_sim::{Control, Outcome, run};

/// Sixteen classes of equal weight: those with odd numbers belong to worker 1, the others to worker 2.
fn policy(workers: u32, limit: &str) -> String {
    format!(
        "[policy.uplink]\nrate = \"1 Gbit/s\"\nscheduler = \"drr\"\nworkers = {workers}\nbuffer = {{ limit = \"{limit}\" }}\n\
         [[policy.uplink.class]]\nfor = {{ i = \"1..16\" }}\nname = \"c{{i}}\"\nmatch = [{{ destination_port = \"{{5000+i}}\" }}]\nweight = 1\n\
         [policy.fast]\nrate = \"10 Gbit/s\"\n"
    )
}

const LINKS: &str = "[[link]]\nname = \"uplink\"\nfrom = \"a\"\nto = \"b\"\npolicy = \"uplink\"\ndelay = \"1 ms\"\n\
                     [[link]]\nname = \"back\"\nfrom = \"b\"\nto = \"a\"\npolicy = \"fast\"\ndelay = \"1 ms\"\n";

fn flow(class: u32, source: &str) -> String {
    format!(
        "[[flow]]\nname = \"f{class}\"\nfrom = \"a\"\nto = \"b\"\nsource = {{ {source} }}\nheader = {{ destination_port = {} }}\n",
        5000 + class
    )
}

const GREEDY: &str = "kind = \"greedy\", packet = \"1500 B\", window = \"60 packets\"";

fn file(workers: u32, limit: &str, flows: &[String]) -> String {
    format!("[simulation]\nduration = \"1 s\"\nwarm_up = \"200 ms\"\n{}{LINKS}{}", policy(workers, limit), flows.concat())
}

fn simulation(text: &str) -> Simulation {
    let mut scenario: Scenario = parse_str("test", text).unwrap_or_else(|problems| panic!("{}", problems.render(false)));
    scenario.variants.remove(0).simulation.unwrap()
}

/// Conservation is checked by every run.
fn outcome(simulation: &Simulation) -> Outcome {
    run(&simulation.network, &simulation.experiment, &Control::default()).unwrap()
}

fn throughputs(workers: u32, flows: &[String]) -> Vec<f64> {
    let outcome = outcome(&simulation(&file(workers, "8 MB", flows)));
    outcome.flows.iter().map(|flow| flow.throughput_bps.mean).collect()
}

/// The greatest relative difference of two runs.
fn difference(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| (one - other).abs() / other).fold(0.0, f64::max)
}

#[test]
fn ten_backlogged_classes_of_which_one_worker_has_eight_get_what_one_worker_gives_them() {
    let flows: Vec<String> = (1..=15).step_by(2).chain([2, 4]).map(|class| flow(class, GREEDY)).collect();
    let (two, one) = (throughputs(2, &flows), throughputs(1, &flows));
    assert!(difference(&two, &one) < 0.005, "{two:?} {one:?}");
    assert!(one.iter().sum::<f64>() > 0.999e9, "the link is full");
    // As many workers as five, of which two have three of these classes.
    assert!(difference(&throughputs(5, &flows), &one) < 0.005);
}

#[test]
fn load_below_the_fair_share_passes_and_the_rest_is_shared() {
    let light = "kind = \"cbr\", rate = \"40 Mbit/s\", packet = \"700 B\"";
    let heavy = [1, 3, 5, 2].map(|class| flow(class, GREEDY));
    let flows: Vec<String> = heavy.into_iter().chain([7, 9, 4].map(|class| flow(class, light))).collect();
    let (two, one) = (throughputs(2, &flows), throughputs(1, &flows));
    assert!(difference(&two, &one) < 0.005, "{two:?} {one:?}");
}

#[test]
fn tcp_shares_the_link_as_with_one_worker() {
    let flows: Vec<String> = [1, 3, 5, 2].map(|class| flow(class, "kind = \"tcp\"")).into();
    let (two, one) = (throughputs(2, &flows), throughputs(1, &flows));
    // Windows move on their own account, too: the sum is the link's payload in both runs, the shares are equal within 2 %.
    assert!(difference(&two, &one) < 0.02, "{two:?} {one:?}");
}

/// Drops of one worker leave what waits at the others alone, so the figures of the classes and of the port agree.
#[test]
fn full_buffers_of_both_workers_are_counted_for_their_own_classes() {
    let burst = "kind = \"cbr\", rate = \"400 Mbit/s\", packet = \"1000 B\"";
    let flows: Vec<String> = [1, 3, 2, 4].map(|class| flow(class, burst)).into();
    let outcome = outcome(&simulation(&file(2, "60 kB", &flows)));
    let port = &outcome.ports[0];
    let dropped = |class: usize| port.classes[class].dropped.iter().map(|dropped| dropped.packets).sum::<u64>();
    assert!([0, 1, 2, 3].into_iter().all(|class| dropped(class) > 1000), "all of them lose");
    assert!(port.utilisation.mean > 0.999 && port.utilisation.mean <= 1.0, "{}", port.utilisation.mean);
    // Each worker's port has the whole buffer.
    assert!(port.occupancy_max_bytes > 60_000 && port.occupancy_max_bytes <= 120_000, "{}", port.occupancy_max_bytes);
}

/// Two sites with contracts, each with ten subscribers, of which one worker has those with odd numbers, and a class of everything else.
fn sites(workers: u32) -> String {
    let site = |name: &str, weight: u32, rate: u32, first: u32| {
        format!(
            "[[policy.uplink.group]]\nname = \"{name}\"\nscheduler = \"drr\"\nweight = {weight}\nshape = {{ rate = \"{rate} Mbit/s\", burst = \"30 kB\" }}\n\
             [[policy.uplink.class]]\nfor = {{ i = \"1..10\" }}\nname = \"{name} {{i}}\"\nparent = \"{name}\"\nweight = 1\n\
             match = [{{ destination_port = \"{{{first}+i}}\" }}]\nshape = {{ rate = \"120 Mbit/s\", burst = \"20 kB\" }}\n"
        )
    };
    format!(
        "[simulation]\nduration = \"1 s\"\nwarm_up = \"200 ms\"\n\
         [policy.uplink]\nrate = \"800 Mbit/s\"\nscheduler = \"drr\"\nworkers = {workers}\nbuffer = {{ limit = \"8 MB\" }}\n{}{}\
         [[policy.uplink.class]]\nname = \"rest\"\nweight = 1\n[policy.fast]\nrate = \"10 Gbit/s\"\n{LINKS}",
        site("north", 5, 400, 5000),
        site("south", 4, 400, 6000)
    )
}

/// What flows to these ports get of the two sites.
fn throughputs_of_sites(workers: u32, ports: &[u32], source: &str) -> Vec<f64> {
    let flows: Vec<String> = ports.iter().map(|port| flow(port - 5000, source)).collect();
    let outcome = outcome(&simulation(&(sites(workers) + &flows.concat())));
    outcome.flows.iter().map(|flow| flow.throughput_bps.mean).collect()
}

#[test]
fn subscribers_of_sites_on_several_workers_get_what_one_worker_gives_them() {
    // Four of five subscribers of each site are on one worker; another flow is in the class of everything else.
    let ports = [5001, 5003, 5005, 5007, 5002, 6001, 6003, 6005, 6007, 6002, 7000];
    let (two, one) = (throughputs_of_sites(2, &ports, GREEDY), throughputs_of_sites(1, &ports, GREEDY));
    assert!(difference(&two, &one) < 0.005, "{two:?} {one:?}");
    assert!(difference(&throughputs_of_sites(3, &ports, GREEDY), &one) < 0.005);
    let (north, all) = (one[..5].iter().sum::<f64>(), one.iter().sum::<f64>());
    assert!((0.99e6 * 399.0..1.001e6 * 400.0).contains(&north) && all > 0.999e6 * 800.0, "the first site's contract binds: {one:?}");
    // Where the contracts of subscribers bind, the rest of the link is for everything else.
    let ports = [5001, 5003, 5002, 6001, 6002, 7000];
    let (two, one) = (throughputs_of_sites(2, &ports, GREEDY), throughputs_of_sites(1, &ports, GREEDY));
    assert!(difference(&two, &one) < 0.005, "{two:?} {one:?}");
}

#[test]
fn tcp_below_sites_shares_as_with_one_worker() {
    let ports = [5001, 5003, 5005, 5002, 6001, 6003, 6002];
    let (two, one) = (throughputs_of_sites(2, &ports, "kind = \"tcp\""), throughputs_of_sites(1, &ports, "kind = \"tcp\""));
    assert!(difference(&two, &one) < 0.03, "{two:?} {one:?}");
}

/// The operator's preset: the link and its sites are on all workers, and each subscriber is on one.
#[test]
fn the_preset_of_subscribers_spans_sites_and_keeps_their_contracts() {
    let text = |workers: u32| {
        let subscriber = |(site, name): (&str, u32)| {
            let address = if site == "north" { 1 } else { 2 };
            format!(
                "[[policy.isp.subscriber]]\nname = \"{site} {name}\"\naddresses = [\"10.{address}.0.{name}\"]\nsite = \"{site}\"\ndown = \"100 Mbit/s\"\nup = \"20 Mbit/s\"\n"
            )
        };
        let subscribers = ["north", "south"].into_iter().flat_map(|site| (1..=6).map(move |name| (site, name)));
        let flow = |[site, name]: [u32; 2]| {
            format!(
                "[[flow]]\nname = \"{site} {name}\"\nfrom = \"a\"\nto = \"b\"\nsource = {{ {GREEDY} }}\n\
                 header = {{ destination = \"10.{site}.0.{name}\", destination_port = 80 }}\n"
            )
        };
        let flows = [[1, 1], [1, 3], [1, 5], [1, 2], [2, 1], [2, 3], [2, 2]].map(flow).concat();
        format!(
            "[simulation]\nduration = \"1 s\"\nwarm_up = \"200 ms\"\n\
             [policy.isp]\nkind = \"subscribers\"\ndown = \"1 Gbit/s\"\nup = \"100 Mbit/s\"\nscheduler = \"drr\"\nworkers = {workers}\n\
             [[policy.isp.site]]\nname = \"north\"\ndown = \"250 Mbit/s\"\nup = \"50 Mbit/s\"\n\
             [[policy.isp.site]]\nname = \"south\"\ndown = \"400 Mbit/s\"\nup = \"80 Mbit/s\"\n{}[policy.fast]\nrate = \"10 Gbit/s\"\n{}{flows}",
            subscribers.map(subscriber).collect::<String>(),
            LINKS.replace("policy = \"uplink\"", "policy = \"isp.down\"")
        )
    };
    let checked = parse_str("test", &text(2)).unwrap_or_else(|problems| panic!("{}", problems.render(false)));
    let workers = checked.variants[0].policies.iter().find_map(|policy| policy.workers.clone()).expect("the policy has workers");
    assert_eq!(workers.nodes.len(), 3, "the link and two sites");
    let policy = checked.variants[0].policies.iter().find(|policy| policy.workers.is_some()).expect("the policy has workers");
    assert!(policy.groups.iter().all(|group| group.guarantee.rate().is_none()), "nothing is guaranteed to a group either");
    assert!((0..2).all(|worker| workers.parts.iter().filter(|part| part.worker == worker).count() >= 6), "{workers:?}");
    let throughputs =
        |workers: u32| -> Vec<f64> { outcome(&simulation(&text(workers))).flows.iter().map(|flow| flow.throughput_bps.mean).collect() };
    let (two, one) = (throughputs(2), throughputs(1));
    assert!(difference(&two, &one) < 0.005, "{two:?} {one:?}");
    let north: f64 = one[..4].iter().sum();
    assert!((225e6..251e6).contains(&north), "the contract of the first site binds: {one:?}");
}

#[test]
fn a_link_of_workers_has_one_rate() {
    let rates = "rates = { steps = [{ at = \"500 ms\", rate = \"500 Mbit/s\" }] }\n";
    let text = file(2, "8 MB", &[flow(1, GREEDY)]).replacen("policy = \"uplink\"\n", &format!("policy = \"uplink\"\n{rates}"), 1);
    let refused = parse_text("test", &text, &[]).map(|_| ()).unwrap_err().render(false);
    assert!(refused.contains("several workers share no cells, no admitted calls and no varying rate"), "{refused}");
}
