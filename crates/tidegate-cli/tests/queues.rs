//! What reports say of queues: marks of congestion, drops by class, how long packets were queued, and AQMs that never saw a queue.

use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const SCENARIO: &str = r#"
[simulation]
duration = "5 s"
warm_up = "1 s"
[[variant]]
name = "codel"
[[variant]]
name = "idle"
set = { "policy.down.rate" = "1 Gbit/s", "link.up.delay" = "200 ms" }
[[variant]]
name = "link marks"
set = { "link.down.policy" = "plain" }

[policy.down]
rate = "10 Mbit/s"
scheduler = "strict-priority"
[[policy.down.class]]
name = "voice"
match = [{ dscp = "ef" }]
priority = 1
aqm = "codel"
[[policy.down.class]]
name = "rest"
priority = 2
aqm = { kind = "codel", target = "4 ms" }
[policy.plain]
rate = "10 Mbit/s"
[policy.up]
rate = "1 Gbit/s"

[[link]]
name = "down"
from = "provider"
to = "home"
policy = "down"
delay = "5 ms"
mark_above = "1 MB"
[[link]]
name = "up"
from = "home"
to = "provider"
policy = "up"
delay = "5 ms"

[[flow]]
name = "download"
path = ["down"]
source = { kind = "tcp", ecn = "classic", receive_window = "200 kB" }
[[flow]]
name = "call"
path = ["down"]
header = { dscp = "ef" }
source = { kind = "cbr", rate = "100 kbit/s", packet = "250 B" }
"#;

fn tidegate(folder: &TempDir, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_tidegate")).args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn number(json: &serde_json::Value, place: &str) -> f64 {
    json.pointer(place).and_then(serde_json::Value::as_f64).unwrap_or_else(|| panic!("{place} in {json}"))
}

#[test]
fn a_run_shows_marks_and_sojourn_and_which_aqms_were_idle() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("queues.toml"), SCENARIO).unwrap();
    let run = |more: &[&str]| tidegate(&folder, &[&["run", "queues.toml"], more].concat());
    let json: serde_json::Value = serde_json::from_str(&run(&["--json"])).unwrap();
    let port = |variant: usize| &json["runs"][variant]["ports"][0];
    let [voice, rest] = [0, 1].map(|class| &port(0)["classes"][class]);
    assert_eq!((&rest["aqm"]["kind"], &rest["aqm"]["saw_no_queue"]), (&"codel".into(), &false.into()));
    // An ECN-capable sender alone keeps the link busy at the target of 4 ms, without a drop.
    let marked = number(rest, "/ce_marked/packets");
    assert!(marked > 10.0 && rest["drops"].as_array().unwrap().is_empty(), "{rest}");
    assert_eq!(number(port(0), "/ce_marked/packets"), marked);
    let [p50, p99, max] = ["/sojourn/p50_s", "/sojourn/p99_s", "/sojourn/max_s"].map(|place| number(rest, place));
    assert!(1e-3 < p50 && p50 < p99 && p99 <= max && p50 < 20e-3, "{rest}");
    // The call waits for at most a packet of the other class, so its AQM has nothing to do.
    assert_eq!(voice["aqm"]["saw_no_queue"], true, "{voice}");
    // At 1 Gbit/s the window of the connection, 200 kB in 205 ms, is its bottleneck.
    assert!((0..2).all(|class| port(1)["classes"][class]["aqm"]["saw_no_queue"] == true), "{}", port(1));
    // Without an AQM the window stays in the queue, below the threshold of the link.
    assert!(port(2)["classes"][0].get("aqm").is_none() && number(port(2), "/classes/0/ce_marked/packets") == 0.0);
    assert!(number(port(2), "/classes/0/sojourn/p50_s") > 0.03);

    let text = run(&[]);
    let idle = "The AQMs of classes `voice` and `rest` at port `down` never saw a queue: their packets waited at most ";
    assert!(text.contains(idle) && text.contains("The AQM of class `voice` at port `down` never saw a queue"), "{text}");
    // The link marks above 50 kB: as many packets are counted as senders reduce by, or more.
    let json: serde_json::Value =
        serde_json::from_str(&run(&["--json", "--variant", "link marks", "--set", "link.down.mark_above=50 kB"])).unwrap();
    let run = &json["runs"][0];
    assert!(number(run, "/ports/0/classes/0/ce_marked/packets") >= number(run, "/flows/0/tcp/marks"), "{run}");
    assert!(number(run, "/flows/0/tcp/marks") > 3.0, "{run}");
}

/// UDP over IPv4 over Ethernet with this code point, 1000 bytes each millisecond.
fn capture(packets: u32, ecn: u8) -> Vec<u8> {
    let mut file = Vec::new();
    let words: [u32; 6] = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65535, 1];
    words.iter().for_each(|word| file.extend(word.to_le_bytes()));
    for number in 0..packets {
        [number / 1000, number % 1000 * 1000, 1000, 1000].iter().for_each(|word| file.extend(word.to_le_bytes()));
        let mut frame = vec![2; 12];
        frame.extend([8, 0, 0x45, ecn, 3, 0xda, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 9, 0, 9, 3, 0xc6, 0, 0]);
        frame.resize(1000, 0);
        file.extend(frame);
    }
    file
}

#[test]
fn a_replay_counts_as_many_marks_as_it_writes() {
    let folder = TempDir::new().unwrap();
    let policy = r#"
[policy.p]
rate = "4 Mbit/s"
[[policy.p.class]]
name = "all"
aqm = { kind = "step", mark_above = "10 kB" }
buffer = { limit = "50 kB" }
"#;
    fs::write(folder.path().join("policy.toml"), policy).unwrap();
    for (ecn, is_capable) in [(2, true), (0, false)] {
        fs::write(folder.path().join("in.pcap"), capture(300, ecn)).unwrap();
        let arguments = ["replay", "policy.toml", "in.pcap", "--sent", "sent.pcapng", "--dropped", "dropped.pcapng", "--json"];
        let json: serde_json::Value = serde_json::from_str(&tidegate(&folder, &arguments)).unwrap();
        let class = &json["runs"][0]["ports"][0]["classes"][0];
        let in_file = |name: &str| {
            let bytes = fs::read(Path::new(folder.path()).join(name)).unwrap();
            bytes.windows(4).filter(|window| *window == [8, 0, 0x45, 3]).count() as f64
        };
        let marked = number(class, "/ce_marked/packets");
        assert_eq!(marked, in_file("sent.pcapng") + in_file("dropped.pcapng"), "{class}");
        assert_eq!(marked > 50.0, is_capable);
        assert_eq!(class["aqm"]["saw_no_queue"], false);
        // 50 kB at 4 Mbit/s.
        assert!((0.09..0.101).contains(&number(class, "/sojourn/max_s")), "{class}");
    }
}

#[test]
fn a_check_warns_of_a_long_queue_of_tcp_without_an_aqm() {
    let folder = TempDir::new().unwrap();
    let check = |limit: &str| {
        let policy = format!("[policy.p]\nrate = \"10 Mbit/s\"\nbuffer = {{ limit = \"{limit}\" }}\n");
        fs::write(folder.path().join("policy.toml"), policy).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_tidegate")).args(["check", "policy.toml"]).current_dir(&folder).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let warning = check("250 kB");
    assert!(warning.starts_with("warning: class `default` of policy `p` carries TCP (web traffic) without an AQM"), "{warning}");
    assert!(warning.contains("may hold 200 ms (250 kB at 10 Mbit/s)") && warning.contains("add aqm = \"fq-codel\""), "{warning}");
    assert_eq!(check("125 kB"), "");
}
