//! Policies that several workers take over while they run: classes stay where they are.

use proptest::prelude::*;
use std::collections::BTreeMap;
use tidegate_scenario::{Policy, parse_str};

fn policy(text: &str) -> Policy {
    let scenario = parse_str("test", text).unwrap_or_else(|problems| panic!("{}", problems.render(false)));
    scenario.policy(None).unwrap().clone()
}

/// A policy of two workers with these lines, and classes by destination port: name, weight, group.
fn of(lines: &str, classes: &[(&str, u32, Option<&str>)]) -> Policy {
    let class = |(port, (name, weight, group)): (usize, &(&str, u32, Option<&str>))| {
        let parent = group.map_or(String::new(), |group| format!(", parent = \"{group}\""));
        format!("{{ name = \"{name}\", match = [{{ destination_port = {} }}], weight = {weight}{parent} }}", 1000 + port)
    };
    let classes: Vec<String> = classes.iter().enumerate().map(class).chain(["{ name = \"rest\", weight = 1 }".to_owned()]).collect();
    policy(&format!("[policy.p]\nrate = \"1 Gbit/s\"\nscheduler = \"drr\"\nworkers = 2\n{lines}\nclass = [{}]\n", classes.join(", ")))
}

/// The worker of each class, by name.
fn workers(policy: &Policy) -> BTreeMap<String, u32> {
    let worker = |(index, class): (usize, &tidegate_scenario::policy::Class)| (class.name.clone(), policy.worker_of_class(index).unwrap());
    policy.classes.iter().enumerate().map(worker).collect()
}

#[test]
fn classes_stay_where_other_weights_would_put_them_elsewhere() {
    let before = of("", &[("north", 4, None), ("south", 2, None), ("guests", 1, None)]);
    let fresh = of("", &[("north", 4, None), ("south", 5, None), ("guests", 1, None)]);
    assert_ne!(workers(&before)["north"], workers(&fresh)["north"]);
    let after = fresh.following(&before).unwrap();
    assert_eq!(workers(&after), workers(&before));
    let plan = after.workers.as_ref().unwrap();
    let weights: Vec<u32> = plan.parts.iter().map(|part| part.weight).collect();
    assert_eq!(weights, [4, 5, 1, 1], "the weights are the new ones");
}

#[test]
fn new_classes_come_to_the_worker_that_has_least_and_others_may_go() {
    let before = of("", &[("north", 4, None), ("south", 2, None), ("guests", 1, None)]);
    assert_eq!(workers(&before)["south"], workers(&before)["rest"]);
    // The second worker has 1 of 7 without `south` and `guests`.
    let after = of("", &[("new", 2, None), ("north", 4, None)]).following(&before).unwrap();
    let (old, new) = (workers(&before), workers(&after));
    assert_eq!((new["north"], new["rest"], new["new"]), (old["north"], old["rest"], old["rest"]));
    // It comes back as a new one.
    let again = of("", &[("north", 4, None), ("south", 2, None)]).following(&after).unwrap();
    assert_eq!(workers(&again)["south"], old["south"]);
}

const SITE: &str = "group = [{ name = \"site\", scheduler = \"drr\", weight = 6, shape = { rate = \"600 Mbit/s\", burst = \"100 kB\" } }]";

#[test]
fn a_group_on_all_workers_stays_there_and_one_of_a_worker_stays_with_it() {
    let classes = [("a", 1, Some("site")), ("b", 1, Some("site")), ("c", 4, None)];
    let before = of(SITE, &classes);
    assert_eq!(before.workers.as_ref().unwrap().nodes.len(), 2);
    // Too small to be divided at the start.
    let small = SITE.replace("weight = 6", "weight = 1").replace("600", "100");
    let many: Vec<(&str, u32, Option<&str>)> = classes.into_iter().chain([("d", 20, None)]).collect();
    assert_eq!(of(&small, &many).workers.as_ref().unwrap().nodes.len(), 1);
    let after = of(&small, &many).following(&before).unwrap();
    let plan = after.workers.as_ref().unwrap();
    assert_eq!((plan.nodes.len(), plan.nodes[1].weight), (2, 1));
    assert_eq!(plan.nodes[1].shape.unwrap().rate.bits_per_second(), 100_000_000);
    // The other way round: the group belongs to one worker, and goes on so.
    let alone = of(&small, &many);
    let grown = of(SITE, &many).following(&alone).unwrap();
    assert_eq!((grown.workers.as_ref().unwrap().nodes.len(), workers(&grown)), (1, workers(&alone)));
}

#[test]
fn what_cannot_stay_is_refused_with_the_reason() {
    let classes = [("a", 1, Some("site")), ("b", 1, Some("site")), ("c", 4, None)];
    let before = of(SITE, &classes);
    let refused = |after: Policy| after.following(&before).map(|_| ()).unwrap_err();
    let strict = SITE.replace("\"drr\"", "\"strict-priority\"");
    let without_weights = [("a", 1, Some("site")), ("b", 1, Some("site")), ("c", 4, None)];
    let strict = policy(&format!(
        "[policy.p]\nrate = \"1 Gbit/s\"\nscheduler = \"drr\"\nworkers = 2\n{strict}\nclass = [{}]\n",
        "{ name = \"a\", parent = \"site\", match = [{ destination_port = 1000 }], priority = 1 }, { name = \"b\", parent = \"site\", match = [{ \
             destination_port = 1001 }], priority = 2 }, { name = \"c\", match = [{ destination_port = 1002 }], weight = 4 }, { name = \"rest\" }"
    ));
    assert!(refused(strict).contains("group `site` is on all workers, which needs a scheduler that divides bytes by weight (drr"));

    let three = policy(&format!(
        "[policy.p]\nrate = \"1 Gbit/s\"\nscheduler = \"drr\"\nworkers = 3\nclass = [{}]\n",
        "{ name = \"a\", match = [{ dscp = 1 }] }, { name = \"b\", match = [{ dscp = 2 }] }, { name = \"c\" }"
    ));
    assert!(refused(three).contains("`workers` and `exchange_every` cannot change while the port runs\n  start with the new policy"));
    let one = policy("[policy.p]\nrate = \"1 Gbit/s\"\nscheduler = \"drr\"\n");
    assert!(refused(one).contains("the number of `workers` cannot change while the port runs"));
    // A group of one worker, and a class of the other that is put below it.
    let small = SITE.replace("weight = 6", "weight = 1").replace("600", "100");
    let many = |last: Option<&'static str>| {
        let all: Vec<(&str, u32, Option<&str>)> = without_weights.into_iter().chain([("d", 20, None), ("e", 1, last)]).collect();
        of(&small, &all)
    };
    let alone = many(None);
    let site = workers(&alone)["a"];
    assert_eq!(workers(&alone)["d"], 1 - site);
    let all: Vec<(&str, u32, Option<&str>)> = without_weights.into_iter().chain([("d", 20, Some("site")), ("e", 1, None)]).collect();
    let moved = of(&small, &all).following(&alone).map(|_| ()).unwrap_err();
    let known = workers(&alone);
    assert_eq!(known["a"], known["b"]);
    let text = format!("class `d` belongs to worker {}, and below its group it would belong to worker {}", known["d"] + 1, site + 1);
    assert!(moved.contains(&text), "{moved}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever follows whatever: classes that were there keep their workers, and the division is sound.
    #[test]
    fn classes_keep_their_workers(
        series in prop::collection::vec((prop::collection::vec(0u32..6, 8), 1u32..20, any::<bool>()), 2..6),
        count in 2u32..4,
    ) {
        let file = |(weights, group, has_shape): &(Vec<u32>, u32, bool)| {
            let shape = if *has_shape { ", shape = { rate = \"200 Mbit/s\", burst = \"100 kB\" }" } else { "" };
            let group = format!("group = [{{ name = \"g\", scheduler = \"drr\", weight = {group}{shape} }}]");
            // The first is always there, so that the group has a class; three that follow, so that every worker has one.
            let is_there = |number: usize, weight: u32| weight > 0 || number == 0 || number > 4;
            let class = |(number, &weight): (usize, &u32)| {
                let parent = if number < 4 { ", parent = \"g\"" } else { "" };
                is_there(number, weight).then(|| format!("{{ name = \"c{number}\", match = [{{ destination_port = {} }}], weight = {}{parent} }}", 1000 + number, weight.max(1)))
            };
            let classes: Vec<String> = weights.iter().enumerate().filter_map(class).chain(["{ name = \"rest\", weight = 1 }".to_owned()]).collect();
            policy(&format!("[policy.p]\nrate = \"1 Gbit/s\"\nscheduler = \"drr\"\nworkers = {count}\n{group}\nclass = [{}]\n", classes.join(", ")))
        };
        let mut running = file(&series[0]);
        for next in &series[1..] {
            let next = file(next).following(&running).unwrap();
            let (old, new) = (workers(&running), workers(&next));
            for (class, worker) in &old {
                prop_assert!(new.get(class).is_none_or(|now| now == worker), "{} of worker {}: {:?}", class, worker, new);
            }
            let plan = next.workers.as_ref().unwrap();
            prop_assert_eq!(plan.check(next.rate, plan.part_of.len()), Ok(()));
            let is_on_all = |policy: &Policy| policy.workers.as_ref().unwrap().nodes.len() == 2;
            prop_assert_eq!(is_on_all(&running), is_on_all(&next));
            running = next;
        }
    }
}
