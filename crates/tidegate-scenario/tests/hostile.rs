//! Files that are large or written in bad faith: they are answered in time, and nothing in them reaches a terminal raw.

use std::fmt::Write;
use std::time::{Duration, Instant};
use tidegate_scenario::summary::{Detail, summary};
use tidegate_scenario::{Problems, parse_str};

const HEAD: &str = r#"
[simulation]
duration = "1 s"
[policy.p]
rate = "10 Mbit/s"
[[link]]
name = "up"
from = "a"
to = "b"
policy = "p"
"#;

const FLOW: &str = r#"
[[flow]]
name = "f"
from = "a"
to = "b"
source = SOURCE
"#;

/// Refused within this time, also by a build without optimisation on a busy machine. What is quadratic takes minutes.
const PATIENCE: Duration = Duration::from_secs(20);

fn refusal(text: &str) -> Problems {
    let started = Instant::now();
    let problems = parse_str("hostile.toml", text).expect_err("it is refused");
    problems.render(false);
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
    problems
}

fn with_source(source: &str) -> String {
    format!("{HEAD}{}", FLOW.replace("SOURCE", source))
}

#[test]
fn of_many_errors_the_first_twenty_are_drawn_and_all_are_counted() {
    let mut text = HEAD.to_owned() + "[policy.q]\nrate = \"1 Mbit/s\"\n";
    for number in 0..20_000 {
        let _ = writeln!(text, "bad{number} = 1");
    }
    let drawn = refusal(&text).render(false);
    assert_eq!(drawn.matches("unknown key `bad").count(), 20);
    assert!(drawn.ends_with("20000 errors in all; the first 20 are shown\n"), "{drawn}");
    assert!(drawn.contains("--> hostile.toml:13:1"), "lines are counted from the beginning of the file: {drawn}");
}

#[test]
fn ten_thousand_variants_are_read_and_errors_in_them_are_told_once() {
    let mut text = with_source(r#"{ kind = "cbr", rate = "1 Mbit/s", packet = "100 B" }"#);
    let plain = text.clone();
    for number in 0..2_000 {
        let _ = writeln!(text, "[[variant]]\nname = \"v{number}\"\nset = {{ \"policy.p.rate\" = \"{} Mbit/s\" }}", 1 + number % 100);
    }
    let started = Instant::now();
    let scenario = parse_str("many.toml", &text).unwrap();
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
    assert_eq!(scenario.variants.len(), 2_000);
    let short = summary(&scenario, Detail::First);
    assert!(short.contains("1980 more variants: 2000 in all"), "{short}");
    assert!(short.matches("variant `").count() == 20 && summary(&scenario, Detail::All).matches("variant `").count() == 2_000);
    refusal(&text.replace("policy.p.rate", "policy.p.rat"));
    let many = plain + &"[[variant]]\nname = \"v\"\n".repeat(10_001);
    assert!(refusal(&many).to_string().contains("10001 variants"));
}

#[test]
fn titles_and_descriptions_have_limits() {
    let with = |key: &str, text: &str| parse_str("t.toml", &format!("{key} = \"{text}\"\n[policy.p]\nrate = \"1 Mbit/s\"\n"));
    assert!(with("title", &"x".repeat(200)).is_ok() && with("description", &"x".repeat(4000)).is_ok());
    assert!(with("title", &"x".repeat(201)).unwrap_err().to_string().contains("201 characters"));
    assert!(with("description", &"x".repeat(1_000_000)).unwrap_err().to_string().contains("1000000 characters"));
    assert!(with("description", "two\\nlines").is_ok() && with("title", "two\\nlines").is_err());
}

#[test]
fn control_characters_are_refused_and_never_drawn() {
    let files = [
        "title = \"\\u001b[2J\"".to_owned(),
        "description = \"\\u009b2J\"".to_owned(),
        "description = \"\u{9b}2J\"".to_owned(),
        format!("{HEAD}[policy.q]\nrate = \"\\u001b[2J\""),
        format!("{HEAD}[policy.q]\nrate = \"1 Mbit/s\"\nscheduler = \"\u{9b}2J\\u001b\""),
        format!("{HEAD}[policy.\"\\u001bx\"]\nrate = \"1 Mbit/s\""),
        format!("{HEAD}\"\\u001bx\" = 1"),
        "title = \"\u{1b}[2J\"".to_owned(),
        "title = \"\u{202e}2J\"".to_owned(),
        format!("{HEAD}[policy.\"\u{2067}x\"]\nrate = \"1 Mbit/s\""),
    ];
    for text in files {
        let drawn = refusal(&text).render(false);
        let reverses = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        assert!(drawn.chars().all(|c| (!c.is_control() || c == '\n') && !reverses(c)), "{drawn:?}");
    }
}

#[test]
fn what_could_not_be_simulated_is_refused_with_the_reason() {
    for (source, wanted) in [
        (r#"{ kind = "frames", interval = "1 ps", packet = "1400 B", sizes = ["60 kB"] }"#, "400 Gbit/s"),
        (r#"{ kind = "cbr", interval = "1 ps", packet = "100 B" }"#, "400 Gbit/s"),
        (r#"{ kind = "on-off", peak = "1 Mbit/s", packet = "100 B", on = "1 ps", off = "1 ps" }"#, "events"),
        (r#"{ kind = "frames", interval = "1 ps", packet = "1400 B", sizes = ["0 B", "1 B"] }"#, "400 Gbit/s"),
    ] {
        let text = refusal(&with_source(source)).to_string();
        assert!(text.contains(wanted), "{source}: {text}");
    }
    parse_str("t.toml", &with_source(r#"{ kind = "on-off", peak = "1 Mbit/s", packet = "100 B", on = "1 us", off = "1 us" }"#)).unwrap();
}
