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

#[test]
fn a_link_of_workers_has_one_rate() {
    let rates = "rates = { steps = [{ at = \"500 ms\", rate = \"500 Mbit/s\" }] }\n";
    let text = file(2, "8 MB", &[flow(1, GREEDY)]).replacen("policy = \"uplink\"\n", &format!("policy = \"uplink\"\n{rates}"), 1);
    let refused = parse_text("test", &text, &[]).map(|_| ()).unwrap_err().render(false);
    assert!(refused.contains("several workers share no cells, no admitted calls and no varying rate"), "{refused}");
}
