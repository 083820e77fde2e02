//! Priority flow control of files: what `check` tells of headroom and room, and what it warns of.

use tidegate_scenario::summary::{Detail, summary};
use tidegate_scenario::{load, parse_str};

const SCENARIO: &str = "../../scenarios/pfc.toml";

/// The text of `check` of the scenario with these changes, warnings first.
fn checked(changes: &[&str]) -> String {
    let changes: Vec<String> = changes.iter().map(|change| (*change).to_owned()).collect();
    tidegate_scenario::summary::check(SCENARIO.as_ref(), &changes).unwrap_or_else(|problems| panic!("{}", problems.render(false)))
}

#[test]
fn check_tells_limits_headroom_and_room() {
    let text = checked(&[]);
    assert!(!text.contains("warning"), "{text}");
    // 2 x 1518 B, and in 500 ns + 500 ns + 1538 B + 84 B of the link back 1518 B per 1538 B.
    let headroom =
        "dc-host-6:dc-leaf-2 and 14 links like it: `storage`, `other` paused above 60 kB, goes on at 40 kB; headroom 5868 B each";
    assert!(text.contains(headroom), "{text}");
    assert!(text.contains("room for 131.736 kB without loss: class `storage` at port `dc-leaf-1:dc-host-1`"), "{text}");
}

#[test]
fn a_buffer_without_the_room_is_warned_of() {
    let limited = checked(&["policy.switch.class.storage.limit=\"130 kB\""]);
    let problem =
        "packets of class `storage` may be lost at port `dc-leaf-1:dc-host-1`: its limit is 130 kB, and pauses let up to 131.736 kB wait";
    assert!(limited.contains(problem), "{limited}");
    let shared = checked(&["policy.switch.buffer.limit=\"190 kB\""]);
    assert!(shared.contains("`dc-leaf-2:dc-spine-2`: the buffer is 190 kB, and up to 197.604 kB may wait"), "{shared}");
}

/// A ring of `switches`, around which each flow takes two links.
fn ring(flows: u32) -> String {
    format!(
        r#"
[simulation]
duration = "1 ms"

[policy.port]
rate = "1 Gbit/s"

[[policy.port.class]]
name = "all"

[[link]]
for = {{ i = "0..2" }}
name = "ring {{i}}"
from = "s{{i}}"
to = "s{{(i+1)%3}}"
policy = "port"
duplex = true
pause = {{ above = "20 kB" }}

[[flow]]
for = {{ i = "1..{flows}" }}
name = "around {{i}}"
path = ["ring {{i-1}}", "ring {{i%3}}"]
source = {{ kind = "greedy", packet = "1000 B" }}
"#
    )
}

#[test]
fn a_circle_of_pauses_is_warned_of() {
    let warnings = |flows| {
        let scenario = parse_str("ring.toml", &ring(flows)).unwrap_or_else(|problems| panic!("{}", problems.render(false)));
        scenario.warnings.map_or_else(String::new, |warnings| warnings.render(false))
    };
    let circle = "pauses may deadlock: packets over each of these links wait for the next: ring 0, ring 1, ring 2";
    assert!(warnings(3).contains(circle), "{}", warnings(3));
    assert!(!warnings(2).contains("deadlock"), "{}", warnings(2));
}

#[test]
fn nothing_is_proven_where_pauses_stop_ports() {
    let scenario = load(SCENARIO.as_ref(), &[]).unwrap_or_else(|problems| panic!("{}", problems.render(false)));
    let text = summary(&scenario, Detail::All);
    assert!(text.contains("pauses stop it, or ports before it"), "{text}");
}
