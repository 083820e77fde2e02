//! Admission and plans by the proof of whole files: what is answered holds when it is tried, and a little less does not.

use std::fs;
use std::path::{Path, PathBuf};
use tidegate_scenario::admit::{self, Answer, admit};
use tidegate_scenario::plan::{self, Minimise, Request, plan};
use tidegate_scenario::proof::Proof;
use tidegate_scenario::proven::{Claim, claims};
use tidegate_scenario::{Problems, load};

fn office() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().join("scenarios/branch-office.toml")
}

/// Asks for a flow in the file of the branch office.
fn ask(name: &str, flow: &str, overrides: &[&str]) -> Result<Answer, Problems> {
    let path = std::env::temp_dir().join(format!("tidegate-admission-{}-{name}.toml", std::process::id()));
    fs::write(&path, flow).unwrap();
    let overrides: Vec<String> = overrides.iter().map(|&change| change.to_owned()).collect();
    let answer = admit(&office(), &path, &overrides, None);
    fs::remove_file(&path).unwrap();
    answer
}

const CAMERA: &str = "[[flow]]\nname = \"new\"\nfrom = \"branch\"\nto = \"headquarters\"\nheader = { dscp = \"af41\" }\n\
    traffic = { rate = \"1.5 Mbit/s\", burst = \"20 kB\", packet = \"1218 B\" }\npromise = { delay = \"100 ms\" }\n";

/// True if every promise of the file is proven under these overrides; false, too, if the file is not valid with them.
fn all_proven(path: &Path, overrides: &[String]) -> bool {
    let Ok(scenario) = load(path, overrides) else { return false };
    let variant = &scenario.variants[0];
    Proof::of(variant).is_some_and(|proof| claims(variant, &proof).iter().all(Claim::is_proven))
}

#[test]
fn every_promise_of_the_branch_office_is_proven() {
    assert!(all_proven(&office(), &[]));
}

#[test]
fn a_flow_is_admitted_if_nothing_that_was_proven_is_lost() {
    let answer = ask("admitted", &CAMERA.replace("20 kB", "8 kB"), &[]).unwrap();
    assert!(answer.is_admitted(), "{}", admit::text(&answer));
    assert_eq!((answer.others.len(), answer.unproven.len()), (9, 0));
    let proven = answer.proven.as_ref().unwrap();
    let hops: Vec<(&str, &str)> = proven.hops.iter().map(|hop| (hop.link.as_str(), hop.class.as_str())).collect();
    assert_eq!(hops, [("access", "video"), ("core", "video")]);
    let json = admit::json(&answer);
    assert_eq!((&json["admitted"], json["offers"].as_array().unwrap().len()), (&true.into(), 0));
    assert_eq!(json["bound"]["delay_ps"].as_u64().map(u128::from), Some(proven.delay));
}

#[test]
fn a_refusal_names_what_is_short_and_every_offer_holds() {
    // Its own promise would be proven; that of the other camera would not.
    let answer = ask("refused", CAMERA, &[]).unwrap();
    let text = admit::text(&answer);
    assert!(
        !answer.is_admitted() && text.contains("flow `camera`, delay p99 at most 80 ms: link `access`: delay: has 80 ms, would need"),
        "{text}"
    );
    // Its own delay is too short.
    let short = ask("short", &CAMERA.replace("20 kB", "8 kB"), &["flow.new.promise.delay=50 ms"]).unwrap();
    assert!(short.offers.iter().any(|offer| offer.what == "smallest delay"), "{}", admit::text(&short));
    // More than its class is guaranteed.
    let much = admit::text(&ask("much", CAMERA, &["flow.new.traffic.rate=2.5 Mbit/s"]).unwrap());
    assert!(much.contains("come to class `video` in the long run, and 5 Mbit/s are guaranteed to it"), "{much}");
    let mut tried = 0;
    for (answer, flow) in [(&answer, CAMERA.to_owned()), (&short, CAMERA.replace("20 kB", "8 kB").replace("100 ms", "50 ms"))] {
        for (index, offer) in answer.offers.iter().enumerate() {
            let set: Vec<String> = offer.set.iter().map(|(key, value)| format!("flow.new.{key}={value}")).collect();
            let set: Vec<&str> = set.iter().map(String::as_str).collect();
            let again = ask(&format!("offer-{tried}-{index}"), &flow, &set).unwrap();
            assert!(again.is_admitted() && again.proven.as_ref().unwrap().delay == offer.bound, "{set:?}\n{}", admit::text(&again));
            tried += 1;
        }
    }
    assert!(tried >= 2, "{text}");
    // A byte in a thousand more of the burst is refused.
    let burst = answer.offers.iter().find(|offer| offer.what == "largest burst").unwrap();
    let bytes = tidegate_scenario::units::size(burst.set[0].1.trim_matches('"')).unwrap();
    assert!(!ask("more", CAMERA, &[&format!("flow.new.traffic.burst={} B", bytes + 10)]).unwrap().is_admitted());
}

#[test]
fn mistakes_point_into_the_file_of_the_flow() {
    for (flow, problem, place) in [
        (CAMERA.replace("traffic", "trafic"), "unknown key `trafic`", ".toml:6:1"),
        (CAMERA.replace("burst", "brust"), "traffic lacks `burst`", ".toml:6:11"),
        (CAMERA.replace("20 kB", "20"), "write a unit", ".toml:6:42"),
        (CAMERA.replace("\"20 kB\"", "\"200 B\""), "must hold at least the longest packet", ".toml:6:42"),
        (CAMERA.replace("promise = { delay", "promise = { loss"), "asks for no delay", ".toml:7:11"),
        (CAMERA.replace("headquarters", "hq"), "no link starts or ends at a node `hq`", ".toml:4:6"),
        (CAMERA.replace("\"new\"", "\"camera\""), "another flow is named `camera`", ".toml:2:8"),
        (CAMERA.replace("100 ms", "1 ms"), "the links of the path alone take 5 ms", ".toml:7:21"),
        (format!("{CAMERA}source = {{ kind = \"greedy\", packet = \"1000 B\" }}\n"), "both `source` and `traffic`", ".toml:8:1"),
        (format!("{CAMERA}[[flow]]\nname = \"second\"\n"), "the file has 2 flows", ".toml:8:1"),
        (format!("title = \"no\"\n{CAMERA}"), "`title` is not part of a flow", ".toml:1:1"),
        ("name = ".to_owned(), "this is not TOML", ".toml:1:8"),
    ] {
        let problems = ask("mistake", &flow, &[]).unwrap_err().to_string();
        assert!(
            problems.contains(problem) && problems.contains(place) && problems.contains("tidegate-admission"),
            "{problem} {place}\n{problems}"
        );
    }
}

#[test]
fn a_flow_may_be_written_without_a_header_and_with_a_source() {
    let flow = CAMERA.replace("[[flow]]\n", "").replace(
        "traffic = { rate = \"1.5 Mbit/s\", burst = \"20 kB\", packet = \"1218 B\" }",
        "source = { kind = \"cbr\", rate = \"1 Mbit/s\", packet = \"600 B\" }",
    );
    assert!(ask("plain", &flow, &[]).unwrap().is_admitted());
    let random = flow.replace("cbr", "poisson");
    let answer = ask("random", &random, &[]).unwrap();
    assert!(admit::text(&answer).contains("source `poisson` of flow `new` is not limited"), "{}", admit::text(&answer));
}

#[test]
fn no_planned_value_can_be_lowered_alone() {
    let free = ["policy.access.class.voice.rate", "policy.access.class.video.rate"].map(str::to_owned);
    let request = Request { path: &office(), overrides: &[], free: &free, minimise: Minimise::Sum, variant: None };
    let answer = plan(&request).unwrap();
    let found = answer.plan.as_ref().unwrap_or_else(|_| panic!("{}", plan::text(&answer)));
    let values: Vec<u64> = found.values.iter().map(|planned| planned.value).collect();
    let written = |values: &[u64]| -> Vec<String> { free.iter().zip(values).map(|(key, value)| format!("{key}={value} bit/s")).collect() };
    assert!(all_proven(&office(), &written(&values)), "{}", plan::text(&answer));
    assert!(values.iter().sum::<u64>() < 7_000_000 && found.sum() == Some(values.iter().sum()));
    for (index, planned) in found.values.iter().enumerate() {
        assert!(planned.step <= planned.value / 100, "three digits");
        let mut less = values.clone();
        less[index] -= planned.step;
        assert!(!all_proven(&office(), &written(&less)), "{less:?}");
    }
    assert_eq!(plan::json(&answer)["values"][0]["value"], values[0]);
}

#[test]
fn the_least_common_factor_is_found_from_values_that_are_too_small() {
    let free = ["policy.access.class.voice.rate", "policy.access.class.video.rate"].map(str::to_owned);
    let overrides = ["policy.access.class.voice.rate=1.5 Mbit/s", "policy.access.class.video.rate=2.6 Mbit/s"].map(str::to_owned);
    assert!(!all_proven(&office(), &overrides));
    let request = Request { path: &office(), overrides: &overrides, free: &free, minimise: Minimise::Factor, variant: None };
    let answer = plan(&request).unwrap();
    let found = answer.plan.as_ref().unwrap_or_else(|_| panic!("{}", plan::text(&answer)));
    let factor = found.factor.unwrap();
    assert!((1_300..1_600).contains(&factor), "{factor}");
    assert!(found.claims.iter().all(Claim::is_proven) && found.values.iter().any(|planned| planned.alone < Some(planned.value)));
}

#[test]
fn a_promise_that_no_value_keeps_is_named() {
    let free = ["policy.access.class.voice.rate".to_owned()];
    let of = |overrides: &[String]| plan(&Request { path: &office(), overrides, free: &free, minimise: Minimise::Sum, variant: None });
    let answer = of(&["flow.call.promise.delay=6 ms".to_owned()]).unwrap();
    let text = plan::text(&answer);
    assert!(
        answer.plan.is_err() && text.contains("flow `call` (each of 8), delay p99 at most 6 ms: link `access`: delay: has 6 ms"),
        "{text}"
    );
    assert!(text.contains("the guarantees below the link add up to"), "{text}");
    let random = of(&["flow.camera.source={ kind = \"poisson\", rate = \"1 Mbit/s\", packet = \"1000 B\" }".to_owned()]).unwrap();
    assert!(plan::text(&random).contains("source `poisson` of flow `camera` is not limited"), "{}", plan::text(&random));
}

#[test]
fn keys_that_cannot_be_planned_are_refused() {
    let refused = |free: &[&str], minimise| {
        let free: Vec<String> = free.iter().map(|&key| key.to_owned()).collect();
        plan(&Request { path: &office(), overrides: &[], free: &free, minimise, variant: None }).unwrap_err().to_string()
    };
    for (free, problem) in [
        (&["policy.access.class.voice.wight"][..], "there is no single value"),
        (&["policy.access.class.voise.rate"], "did you mean `voice`?"),
        (&["policy.acces.rate"], "there is no `acces` in `policy`; did you mean `access`?"),
        (&["policy.access.scheduler"], "cannot be planned"),
        (&["policy.access.class.voice.limit"], "has no value in the file"),
        (&["policy.access.rate", "policy.access.rate"], "named twice"),
        (&["policy.access.rate", "link.access.delay"], "count in different units"),
    ] {
        let problems = refused(free, Minimise::Sum);
        assert!(problems.contains(problem), "{problem}\n{problems}");
    }
}
