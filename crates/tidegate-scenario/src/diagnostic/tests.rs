//! Problems are drawn with their place.

use super::*;

fn problems(diagnostic: impl Fn(usize, usize) -> Diagnostic) -> String {
    let mut sources = Sources::default();
    let file = sources.add("a.toml", "title = \"é\"\nrate = 3\n");
    let set = sources.add("--set", "rate=4");
    Problems { diagnostics: vec![diagnostic(file, set)], sources: Arc::new(sources) }.render(false)
}

#[test]
fn the_place_is_marked_in_the_file_and_in_an_override() {
    let text = problems(|file, _| Diagnostic::error(file + 20..file + 21, "no unit").label("here").help("write one"));
    assert_eq!(text, "error: no unit\n --> a.toml:2:8\n  |\n2 | rate = 3\n  |        ^ here\n  |\n  = help: write one\n", "{text}");
    let text = problems(|_, set| Diagnostic::error(set + 5..set + 6, "no unit"));
    assert!(text.contains("--> --set:1:6") && text.contains("rate=4"), "{text}");
}

#[test]
fn a_span_beyond_the_text_does_no_harm() {
    assert!(problems(|_, set| Diagnostic::error(set + 100..set + 200, "far")).contains("far"));
    // Inside the two bytes of "é".
    assert!(problems(|file, _| Diagnostic::error(file + 10..file + 10, "inside a letter")).contains("inside"));
}

#[test]
fn positions_count_lines_and_characters_from_one() {
    let mut sources = Sources::default();
    sources.add("a", "x\né = 1");
    assert_eq!(sources.position(&(2..3)), Some(("a", 2, 1)));
    assert_eq!(sources.position(&(5..6)), Some(("a", 2, 3)));
}

#[test]
fn slips_are_recognised_and_other_words_are_not() {
    let keys = ["weight", "priority", "rate", "strict-priority"];
    assert_eq!(closest("wieght", keys), Some("weight"));
    assert_eq!(closest("Rate", keys), Some("rate"));
    assert_eq!(closest("strict_priority", keys), Some("strict-priority"));
    assert_eq!(closest("burst", keys), None);
    for (written, meant) in [("rat", Some("rate")), ("rates", Some("rate")), ("priorty", Some("priority")), ("up", None), ("prio", None)] {
        assert_eq!(closest(written, keys), meant, "{written}");
    }
    assert_eq!(closest("source_mac", ["source", "source_port", "destination"]), None);
    assert_eq!(closest("destnation_prot", ["source_port", "destination_port", "destination"]), Some("destination_port"));
    assert_eq!(alternatives(keys), "`weight`, `priority`, `rate` or `strict-priority`");
}
