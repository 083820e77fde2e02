//! `--set key=value` and the changes of variants.

use proptest::prelude::*;
use tidegate_core::units::Duration;
use tidegate_scenario::{Problems, Scenario, load, parse_str};

const QUICKSTART: &str = "../../scenarios/quickstart.toml";

fn quickstart(overrides: &[&str]) -> Result<Scenario, Problems> {
    let overrides: Vec<String> = overrides.iter().map(|&change| change.to_owned()).collect();
    load(QUICKSTART.as_ref(), &overrides)
}

#[test]
fn values_are_set_with_and_without_quotes() {
    for written in ["policy.fair.rate=\"5 Mbit/s\"", "policy.fair.rate=5 Mbit/s", " policy.fair.rate = '5Mbit/s'"] {
        let error = quickstart(&[written]).unwrap_err().to_string();
        assert!(error.contains("add up to 6 Mbit/s, more than its 5 Mbit/s"), "{written}: {error}");
        assert!(error.contains("--> ../../scenarios/quickstart.toml:") && error.contains("::: --set:1:"), "both places are shown: {error}");
        let scenario = quickstart(&[written, "policy.fair.class.video.rate=3 Mbit/s"]).unwrap();
        assert_eq!(scenario.policy(Some("fair")).unwrap().rate.bits_per_second(), 5_000_000);
        assert_eq!(scenario.policy(Some("fair")).unwrap().classes[1].guarantee.rate().unwrap().floor(), 3_000_000);
    }
}

#[test]
fn numbers_booleans_lists_and_tables_are_toml() {
    let scenario = quickstart(&[
        "simulation.replications=2",
        "simulation.seed = 7",
        "flow.call.source.random_phase=false",
        "flow.camera.source.sizes=[\"20 kB\"]",
        "policy.plain.buffer={ manager = \"dynamic-threshold\", limit = \"100 packets\", alpha = 2 }",
    ])
    .unwrap();
    let simulation = scenario.variants[0].simulation.as_ref().unwrap();
    assert_eq!((simulation.experiment.replications, simulation.experiment.seed), (2, 7));
    assert_eq!(simulation.network.flows[4].source.mean_bits_per_second(), Some(4e6));
    assert_eq!(scenario.policy(Some("plain")).unwrap().buffer.kind.name(), "dynamic-threshold");
}

#[test]
fn a_key_that_is_not_there_yet_is_added_below_a_table_that_is() {
    let scenario =
        quickstart(&["policy.plain.longest_frame=9018 B", "flow.backup.promise.loss=50 %", "link.uplink.rate=20 Mbit/s"]).unwrap();
    assert_eq!(scenario.policy(Some("plain")).unwrap().longest_frame, 9018);
    let simulation = scenario.variants[0].simulation.as_ref().unwrap();
    assert!(simulation.groups[2].promise.unwrap().loss.is_some());
    assert_eq!(simulation.network.links[0].port.rate.bits_per_second(), 20_000_000);
}

#[test]
fn the_command_line_comes_after_the_variants() {
    let scenario = quickstart(&["link.uplink.policy=plain", "simulation.duration=5 s"]).unwrap();
    for variant in &scenario.variants {
        let simulation = variant.simulation.as_ref().unwrap();
        assert_eq!(variant.policies[simulation.policy_of_link[0]].name, "plain", "{}", variant.name);
        assert_eq!(simulation.experiment.duration, Duration::from_seconds(5));
    }
}

#[test]
fn variants_change_what_they_name_and_nothing_else() {
    let text = |set: &str| {
        format!(
            "[simulation]\nduration = \"1 s\"\n[[variant]]\nname = \"base\"\n[[variant]]\nname = \"other\"\n{set}\n\
             [policy.p]\nrate = \"1 Mbit/s\"\nbuffer = {{ manager = \"dynamic-threshold\", limit = \"50 packets\", alpha = 2 }}\n\
             [[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\npolicy = \"p\"\n\
             [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\nsource = {{ kind = \"greedy\", packet = \"100 B\" }}\n"
        )
    };
    let buffers = |set: &str| {
        let scenario = parse_str("two.toml", &text(set)).unwrap_or_else(|problems| panic!("{problems}"));
        let of = |variant: usize| scenario.variants[variant].policies[0].buffer;
        (of(0), of(1))
    };
    // A dotted key, quoted or not, changes one value; a quoted key that names a table replaces it.
    for set in [
        "set = { \"policy.p.buffer.alpha\" = 4 }",
        "set.policy.p.buffer.alpha = 4",
        "set = { policy = { p = { buffer = { alpha = 4 } } } }",
    ] {
        let (base, other) = buffers(set);
        assert_eq!((base.alpha.unwrap().exponent(), other.alpha.unwrap().exponent()), (1, 2), "{set}");
        assert_eq!(base.limit, other.limit, "{set}");
    }
    let (base, other) = buffers("set = { \"policy.p.buffer\" = { manager = \"tail-drop\" } }");
    assert_ne!(base.limit, other.limit);
    assert_eq!(other.alpha, None);
}

#[test]
fn policies_are_found_by_name_or_because_there_is_one() {
    let scenario = quickstart(&[]).unwrap();
    assert_eq!(scenario.policy(Some("plain")).unwrap().name, "plain");
    assert!(scenario.policy(None).unwrap_err().ends_with("has several policies; name one of `fair` or `plain`"));
    assert!(scenario.policy(Some("fiar")).unwrap_err().ends_with("has no policy `fiar`; did you mean `fair`?"));
}

#[test]
fn captures_are_for_files() {
    let text = std::fs::read_to_string("../../scenarios/capture-driven.toml").unwrap();
    assert!(parse_str("text", &text).unwrap_err().to_string().contains("this text has no file"));
}

fn sources() -> Vec<String> {
    let folders = ["../../scenarios", "../../scenarios/policies", "tests/errors"];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    let mut texts: Vec<_> = entries.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect();
    texts.sort();
    texts.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3 * ProptestConfig::default().cases))]

    /// Good and bad files with a part exchanged, cut out or doubled.
    #[test]
    fn no_text_panics(file: prop::sample::Index, from: prop::sample::Index, length in 0usize..40, put in "\\PC{0,12}", to: prop::sample::Index) {
        let texts = sources();
        let mut letters: Vec<char> = texts[file.index(texts.len())].chars().collect();
        let start = from.index(letters.len());
        let taken: Vec<char> = letters.splice(start..(start + length).min(letters.len()), put.chars()).collect();
        if length % 3 == 0 {
            let at = to.index(letters.len() + 1);
            letters.splice(at..at, taken);
        }
        let text: String = letters.into_iter().collect();
        if let Err(problems) = parse_str("mutated.toml", &text) {
            prop_assert!(!problems.render(false).is_empty());
        }
    }

    #[test]
    fn no_override_panics(key in "(policy|link|flow|simulation|variant|title|x)(\\.(fair|class|voice|uplink|call|rate|source|1|))*", value in "\\PC{0,16}") {
        let _ = quickstart(&[&format!("{key}={value}")]);
    }
}
