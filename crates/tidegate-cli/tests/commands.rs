//! The command as its user runs it: results, messages and exit codes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

/// `tidegate` in the project's folder.
fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.args(arguments).current_dir(project());
    command
}

fn tidegate(arguments: &[&str]) -> Output {
    command(arguments).output().expect("tidegate starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Standard output of a command that must end with this exit code.
fn expect(code: i32, arguments: &[&str]) -> String {
    let output = tidegate(arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Standard error of a command that must end with this exit code and leave standard output empty.
fn refused(code: i32, arguments: &[&str]) -> String {
    let output = tidegate(arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(text(&output.stdout), "", "{arguments:?}");
    text(&output.stderr)
}

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tidegate-commands-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn file(&self, name: &str, content: &str) -> String {
        fs::write(self.0.join(name), content).unwrap();
        self.path(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn bounds_are_printed_for_people_and_for_programs() {
    let text = expect(0, &["bounds", "scenarios/policies/media-uplink.toml"]);
    for part in ["every window is kept, whenever packets come", "window 1 of 2", "10 Mbit/s", "3 slots (3.701 ms)", "each of 64 queues"] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
    let page = fs::read_to_string(project().join("docs/bounds.md")).unwrap();
    assert!(page.contains(&text), "docs/bounds.md shows something else than\n{text}");
    let json: serde_json::Value = serde_json::from_str(&expect(0, &["bounds", "scenarios/dwcs-mixture.toml", "--json"])).unwrap();
    let ports = json["variants"].as_array().unwrap().iter().map(|variant| &variant["ports"][0]["nodes"][0]);
    let verdicts: Vec<(&str, Option<&str>)> =
        ports.map(|node| (node["scheduler"].as_str().unwrap(), node["dwcs"]["verdict"].as_str())).collect();
    assert_eq!(verdicts, [("dwcs", Some("not_proven")), ("strict-priority", None), ("fifo", None)]);
    let faster = expect(0, &["bounds", "scenarios/policies/media-uplink.toml", "--set", "policy.uplink.rate=40 Mbit/s"]);
    assert!(faster.contains("20 Mbit/s"), "{faster}");
    let message =
        refused(2, &["bounds", "scenarios/policies/media-uplink.toml", "--set", "policy.uplink.class.voice.service=window 0 of 1"]);
    assert!(message.contains("nothing is left to share"), "{message}");
}

#[test]
fn a_flow_is_asked_for_by_name_and_a_method_by_its_own() {
    const FILE: &str = "scenarios/parking-lot.toml";
    let text = expect(0, &["bounds", FILE, "--flow", "path-constant", "--method", "sfa"]);
    assert!(
        text.contains("flow path-constant over a-b, b-c, c-d, d-e: delay at most 11.75 ms, by SFA") && !text.contains("path-greedy"),
        "{text}"
    );
    assert_eq!(
        refused(2, &["bounds", FILE, "--flow", "path-constnt"]),
        "error: scenarios/parking-lot.toml has no flow `path-constnt`; did you mean `path-constant`?\n"
    );
    assert!(refused(2, &["bounds", FILE, "--method", "ludb"]).contains("possible values: tfa, sfa, pmoo, plp"));
    assert!(refused(2, &["bounds", "scenarios/policies/media-uplink.toml", "--flow", "voice"]).contains("is a policy file"));
    let json: serde_json::Value = serde_json::from_str(&expect(0, &["bounds", FILE, "--flow", "local-greedy-ab", "--json"])).unwrap();
    assert_eq!(json["schema"], 3);
    let variant = &json["variants"][0];
    assert_eq!((&variant["flows"][0]["name"], &variant["ports"][0]["link"]), (&"local-greedy-ab".into(), &"a-b".into()));
    assert!(variant["flows"][0]["bound"]["delay_ps"].is_u64() && variant["flows"].as_array().unwrap().len() == 1);
    assert_eq!(variant["ports"].as_array().unwrap().len(), 1, "ports of other links are left out");
}

#[test]
fn quickstart_shows_at_one_glance_what_the_policy_is_good_for() {
    let folder = Folder::new("quickstart");
    let out = folder.path("out");
    let table = expect(0, &["run", "scenarios/quickstart.toml", "--out", &out]);
    let glance: Vec<&str> = table.lines().take(9).filter(|line| line.contains("kept") && line.contains("BROKEN")).collect();
    assert!(glance.len() >= 3, "promises kept with the policy and broken without it, within the first lines:\n{table}");
    for file in [
        "summary.json",
        "report.html",
        "flows.parquet",
        "ports.parquet",
        "classes.parquet",
        "series.parquet",
        "distributions.parquet",
        "drops.parquet",
        "replications.parquet",
        "workloads.parquet",
    ] {
        assert!(fs::metadata(Path::new(&out).join(file)).unwrap().len() > 100, "{file}");
    }
    assert_eq!(fs::read_dir(&out).unwrap().count(), 10, "nothing unfinished is left");
}

#[test]
fn a_flow_is_admitted_or_refused_and_rates_are_planned() {
    let folder = Folder::new("admission");
    let office = "scenarios/branch-office.toml";
    let flow = "[[flow]]\nname = \"new\"\nfrom = \"branch\"\nto = \"headquarters\"\nheader = { dscp = \"af41\" }\n\
        traffic = { rate = \"1.5 Mbit/s\", burst = \"20 kB\", packet = \"1218 B\" }\npromise = { delay = \"100 ms\" }\n";
    let file = folder.file("flow.toml", flow);
    let text = expect(1, &["admit", office, "--flow", &file]);
    assert!(text.contains("flow `new` is refused") && text.contains("traffic.burst = "), "{text}");
    let json: serde_json::Value = serde_json::from_str(&expect(1, &["admit", office, "--flow", &file, "--json"])).unwrap();
    let burst = json["offers"].as_array().unwrap().iter().find_map(|offer| offer["set"]["traffic.burst"].as_str()).unwrap();
    let smaller = format!("flow.new.traffic.burst={burst}");
    assert!(expect(0, &["admit", office, "--flow", &file, "--set", &smaller]).contains("is admitted"));
    let wrong = folder.file("wrong.toml", &flow.replace("20 kB", "20"));
    let message = refused(2, &["admit", office, "--flow", &wrong]);
    assert!(message.contains("wrong.toml:6:42") && message.contains("write a unit"), "{message}");
    assert!(refused(2, &["admit", "scenarios/policies/home-gateway.toml", "--flow", &file]).contains("[simulation]"));
    assert!(refused(2, &["admit", office, "--flow", &file, "--variant", "none"]).contains("has no variant `none`"));

    let key = "policy.access.class.voice.rate";
    let json: serde_json::Value = serde_json::from_str(&expect(0, &["plan", office, "--free", key, "--json"])).unwrap();
    let planned = &json["values"][0];
    assert!(planned["value"].as_u64().unwrap() < 2_000_000 && planned["less_breaks"].as_str().unwrap().contains("`call`"), "{json}");
    assert!(expect(1, &["plan", office, "--free", key, "--set", "flow.call.promise.delay=6 ms"]).contains("no values were found"));
    assert!(refused(2, &["plan", office, "--free", "policy.access.scheduler"]).contains("cannot be planned"));
    expect(0, &["run", office, "--set", &format!("{key}={}", planned["written"].as_str().unwrap())]);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let folder = Folder::new("seeds");
    let run = |name: &str, seed: &str| {
        let out = folder.path(name);
        expect(
            0,
            &[
                "run",
                "scenarios/quickstart.toml",
                "--set",
                "simulation.duration=\"5 s\"",
                "--replications",
                "3",
                "--seed",
                seed,
                "--out",
                &out,
            ],
        );
        let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(&out)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).unwrap()))
            .collect();
        files.sort();
        files
    };
    let first = run("a", "7");
    assert!(first == run("b", "7"));
    assert!(first != run("c", "8"));
}

#[test]
fn the_number_of_threads_changes_no_byte_and_what_keeps_a_run_on_one_is_said() {
    let short = ["--set", "simulation.duration=\"3 ms\"", "--set", "simulation.warm_up=\"1 ms\"", "--json"];
    let with = |threads| tidegate(&[&["run", "scenarios/fat-tree.toml", "--threads", threads][..], &short].concat());
    let (one, two) = (with("1"), with("2"));
    assert_eq!((one.status.code(), two.status.code()), (Some(0), Some(0)), "{}", text(&two.stderr));
    assert!(one.stdout == two.stdout);
    assert!(!text(&two.stderr).contains("warning: --threads"), "{}", text(&two.stderr));
    let many = with("64");
    assert!(one.stdout == many.stdout, "{}", text(&many.stderr));
    let are_too_many = std::thread::available_parallelism().is_ok_and(|processors| processors.get() < 64);
    assert_eq!(text(&many.stderr).contains("note: --threads 64: this machine runs "), are_too_many, "{}", text(&many.stderr));
    let undivided = tidegate(&["run", "scenarios/changing-policy.toml", "--replications", "1", "--threads", "2"]);
    assert!(text(&undivided.stderr).contains("warning: --threads: one thread simulates each replication"), "{}", text(&undivided.stderr));
}

#[test]
fn json_is_complete_and_on_standard_output() {
    let json = expect(0, &["run", "scenarios/quickstart.toml", "--replications", "2", "--json"]);
    for key in ["\"runs\"", "\"flows\"", "\"throughput_bps\"", "\"half_width\"", "\"promises\"", "\"utilisation\"", "\"delay\""] {
        assert!(json.contains(key), "{key}");
    }
    assert!(json.trim_start().starts_with('{') && json.trim_end().ends_with('}'));
    assert!(!json.contains("NaN") && !json.contains("inf"));
}

#[test]
fn what_is_proven_is_beside_what_was_measured() {
    let table = expect(0, &["run", "scenarios/quickstart.toml", "--replications", "2"]);
    let head = table
        .lines()
        .position(|line| line.starts_with("flow ") && line.contains("bound  largest delay  ratio"))
        .expect("a table of bounds");
    let rows: Vec<&str> = table.lines().skip(head + 2).take(3).collect();
    assert!(rows[0].starts_with("call (worst of 4) ") && rows[1].starts_with("camera "), "{table}");
    assert!(rows[2].starts_with("backup ") && rows.iter().all(|row| row.contains(" ms   0.")), "{table}");

    let json = expect(0, &["run", "scenarios/quickstart.toml", "--replications", "2", "--json"]);
    let summary: serde_json::Value = serde_json::from_str(&json).unwrap();
    for flow in summary["runs"].as_array().unwrap().iter().flat_map(|run| run["flows"].as_array().unwrap()) {
        let bound = &flow["bound"];
        let measured = bound["longest"]["delay_ps"].as_u64().unwrap();
        match bound["delay_ps"].as_u64() {
            Some(proven) => assert!(measured <= proven && bound["held"] == true && bound["reason"].is_null(), "{flow}"),
            None => assert!(bound["held"].is_null() && bound["reason"].is_string(), "{flow}"),
        }
        // What is reported leaves the warm-up out.
        assert!(measured as f64 / 1e12 >= flow["delay"]["max_s"].as_f64().unwrap() - 1e-12);
    }
}

/// Only debug builds know the variable.
#[cfg(debug_assertions)]
#[test]
fn a_packet_later_than_is_proven_ends_with_4_after_the_results() {
    let folder = Folder::new("halved");
    let arguments = ["run", "scenarios/quickstart.toml", "--replications", "1", "--out", &folder.path("results")];
    let output = command(&arguments).env("TIDEGATE_HALVED_BOUNDS", "1").output().unwrap();
    let (table, told) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(4), "{table}{told}");
    assert!(table.lines().any(|line| line.starts_with("camera ")), "the results are printed all the same: {table}");
    let packet = told.lines().find(|line| line.contains("flow `camera`: packet ")).unwrap_or_else(|| panic!("{told}"));
    assert!(packet.starts_with("error: ") && packet.contains(" of replication 1 came at ") && packet.contains(" is proven ("), "{packet}");
    let summary: serde_json::Value = serde_json::from_slice(&fs::read(folder.path("results/summary.json")).unwrap()).unwrap();
    assert!(summary["notes"].to_string().contains("flow `camera`: packet "), "{}", summary["notes"]);
}

#[test]
fn what_came_late_and_twice_is_said() {
    let folder = Folder::new("disturbed");
    let text = "[policy.p]\nrate = \"10 Mbit/s\"\n[simulation]\nduration = \"10 s\"\n[[link]]\nname = \"line\"\nfrom = \"a\"\nto = \"b\"\npolicy = \"p\"\n\
        reorder = { share = \"10 %\", by = \"5 ms\" }\nduplicate = \"100 %\"\n[[flow]]\nname = \"f\"\npath = [\"line\"]\n\
        source = { kind = \"cbr\", rate = \"800 kbit/s\", packet = \"100 B\", random_phase = false }\npromise = { delay = \"9 ms\" }\n";
    let output = expect(0, &["run", &folder.file("disturbed.toml", text)]);
    assert!(output.contains("packets came late, and 10000 came twice"), "{output}");
    assert!(expect(0, &["bounds", &folder.path("disturbed.toml")]).contains("packets pass its link late or twice"));
}

/// systemd names the device and the inode of the stream that journald reads.
#[test]
fn lines_for_journald_begin_with_their_priority() {
    let folder = Folder::new("journal");
    let bad = folder.file("bad.toml", "[policy.p]\nrate = 5\n");
    let log_of = |is_journal: bool| {
        let log = fs::File::create(folder.path("log")).unwrap();
        let file = std::os::unix::fs::MetadataExt::ino(&log.metadata().unwrap());
        let device = std::os::unix::fs::MetadataExt::dev(&log.metadata().unwrap());
        let stream = format!("{device}:{}", if is_journal { file } else { file + 1 });
        let ended = command(&["check", &bad]).env("JOURNAL_STREAM", stream).stderr(log).status().unwrap();
        assert_eq!(ended.code(), Some(2));
        fs::read_to_string(folder.path("log")).unwrap()
    };
    let (lines, plain) = (log_of(true), log_of(false));
    assert!(plain.starts_with("error: ") && plain.contains("bad.toml:2:8"), "{plain}");
    assert_eq!(lines, plain.lines().map(|line| format!("<3>{line}\n")).collect::<String>());
}

#[test]
fn a_broken_promise_ends_with_1() {
    let table = expect(1, &["run", "scenarios/quickstart.toml", "--variant", "without the policy"]);
    assert!(table.contains("BROKEN"));
}

#[test]
fn bad_input_ends_with_2_and_names_the_place() {
    let folder = Folder::new("bad");
    let quickstart = fs::read_to_string(project().join("scenarios/quickstart.toml")).unwrap();
    let line_of = |text: &str, wanted: &str| text.lines().position(|line| line.contains(wanted)).unwrap() + 1;

    let bad = quickstart.replacen("rate = \"1 Mbit/s\"", "rate = \"11 Mbit/s\"", 1);
    let file = folder.file("too-much.toml", &bad);
    let error = refused(2, &["run", &file]);
    assert!(error.contains(&format!("too-much.toml:{}:", line_of(&bad, "11 Mbit/s"))), "{error}");
    assert!(error.contains('^'), "{error}");

    let bad = quickstart.replacen("scheduler = \"wf2q+\"", "schedular = \"wf2q+\"", 1);
    let file = folder.file("unknown.toml", &bad);
    for command in [["check"].as_slice(), &["run"], &["replay"]] {
        let mut arguments = command.to_vec();
        arguments.push(&file);
        if command == ["replay"] {
            arguments.push("scenarios/captures/quic-video.pcap");
        }
        let error = refused(2, &arguments);
        assert!(error.contains(&format!("unknown.toml:{}:1", line_of(&bad, "schedular"))), "{error}");
        assert!(error.contains("scheduler"), "it says what would be right: {error}");
    }

    assert!(refused(2, &["run", &folder.path("none.toml")]).contains("none.toml"));
    assert!(refused(2, &["run", "scenarios/policies/home-gateway.toml"]).contains("nothing to simulate"));
    assert!(refused(2, &["run", "scenarios/quickstart.toml", "--variant", "nobody"]).contains("with the policy"));
    assert!(refused(2, &["run", "scenarios/quickstart.toml", "--set", "simulation.duratoin=\"1 s\""]).contains("duration"));
    assert!(refused(2, &["replay", "scenarios/quickstart.toml", "scenarios/captures/quic-video.pcap"]).contains("--policy"));
    let policy = "scenarios/policies/home-gateway.toml";
    assert!(refused(2, &["replay", policy, "README.md"]).contains("not a capture"));
    assert!(refused(2, &["replay", policy, &folder.path("none.pcap")]).contains("none.pcap"));
    let error = refused(2, &["replay", policy, "scenarios/captures/quic-video.pcap", "--interface", "eth7", "--out", &folder.path("o")]);
    assert!(error.contains("eth7"), "{error}");
    assert!(!folder.0.join("o").exists(), "nothing half-written");
    let error = refused(2, &["live", policy, "--in", "no-such-interface", "--out", "lo"]);
    assert!(error.contains("no-such-interface"), "{error}");
}

#[test]
fn a_replay_writes_what_was_sent_and_what_was_dropped() {
    let folder = Folder::new("replay");
    let (sent, dropped) = (folder.path("sent.pcapng"), folder.path("dropped.pcapng"));
    let capture = "scenarios/captures/quic-video.pcap";
    let slow = "policy.uplink.rate=\"1 Mbit/s\"";
    let small = "policy.uplink.buffer.limit=\"20 packets\"";
    // Guarantees above a megabit have to go as well.
    let classes = ["control", "voice", "video"].map(|class| format!("policy.uplink.class.{class}.rate=\"100 kbit/s\""));
    let mut arguments = vec!["replay", "scenarios/policies/home-gateway.toml", capture, "--sent", &sent, "--dropped", &dropped];
    for change in [slow, small].into_iter().chain(classes.iter().map(String::as_str)) {
        arguments.extend(["--set", change]);
    }
    let table = expect(0, &arguments);
    assert!(table.contains("pushed-out"), "{table}");
    let count = |path: &str| {
        let mut reader = tidegate_replay::CaptureReader::new(std::io::BufReader::new(fs::File::open(path).unwrap())).unwrap();
        std::iter::from_fn(|| reader.next_record().unwrap()).count()
    };
    assert_eq!(count(&sent) + count(&dropped), count(&project().join(capture).display().to_string()));
    assert!(count(&dropped) > 0);
    // Every drop carries its reason.
    let comments = text(&fs::read(&dropped).unwrap()).matches("tidegate: dropped, ").count();
    assert_eq!(comments, count(&dropped));
}

#[test]
fn the_registries_can_be_listed_and_the_schema_printed() {
    let list = expect(0, &["disciplines"]);
    for name in ["fifo", "strict-priority", "wrr", "drr", "wf2q+", "virtual-clock", "edf", "gcra", "dual-gcra", "sr-tcm", "tail-drop"] {
        assert!(list.lines().any(|line| line.trim_start().starts_with(name)), "{name}:\n{list}");
    }
    assert!(expect(0, &["schema"]).contains("\"$schema\""));
    assert!(expect(0, &["check", "scenarios/hierarchical-isp.toml"]).contains("Mbit/s"));
}

#[test]
fn every_command_has_a_manual_page_and_completions() {
    let folder = Folder::new("manual");
    expect(0, &["man", &folder.path("man")]);
    let help = expect(0, &["--help"]);
    let listed = help.split("Commands:").nth(1).and_then(|text| text.split("Options:").next()).expect("a list of commands");
    let commands: Vec<&str> = listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")).collect();
    let commands: Vec<&str> = commands.iter().filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect();
    assert!(commands.len() > 12 && commands.contains(&"live"), "{commands:?}");
    let scripts = ["bash", "zsh", "fish"].map(|shell| expect(0, &["completions", shell]));
    for name in &commands {
        let page = fs::read_to_string(folder.path(&format!("man/tidegate-{name}.1"))).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(page.contains(".SH SYNOPSIS") && page.contains(".TH"), "{page}");
        assert!(scripts.iter().all(|script| script.contains(name)), "{name}");
    }
    assert!(fs::read_to_string(folder.path("man/tidegate-ctl-apply.1")).unwrap().contains("confirm"));
    assert!(fs::read_to_string(folder.path("man/tidegate.1")).unwrap().contains("Exit codes"));
    let script = folder.file("tidegate.bash", &scripts[0]);
    let checked = Command::new("bash").args(["-n", &script]).status().expect("bash starts");
    assert!(checked.success());
    assert!(refused(2, &["completions", "tcsh"]).contains("fish"));
    assert!(refused(2, &["man", "Cargo.toml"]).contains("Cargo.toml"));
}

#[test]
fn connections_of_workloads_are_shown_by_size_and_listed() {
    let folder = Folder::new("workloads");
    let list = folder.path("connections.parquet");
    let short = ["run", "scenarios/incast.toml", "--set", "simulation.duration=30 ms", "--completions", &list];
    let both = refused(2, &short);
    assert!(both.contains("--completions: a table of connections is of one variant"), "{both}");
    let one = [&short[..], &["--variant", "8 senders"]].concat();
    let table = expect(0, &one);
    for part in ["mean slowdown", "up to 100 kB", "overlapping", "connections of all replications, warm-up included, are in"] {
        assert!(table.contains(part), "{part}\n{table}");
    }
    assert!(fs::metadata(&list).unwrap().len() > 1000);
    let name = refused(2, &["run", "scenarios/incast.toml", "--variant", "8 senders", "--completions", "Cargo.toml"]);
    assert!(name.contains("NAME.parquet"), "{name}");
    let without = refused(2, &["run", "scenarios/mm1-validation.toml", "--completions", &list]);
    assert!(without.contains("has no [[workload]]") || without.contains("of one variant"), "{without}");
    let axis = "workload.answers.request=100 B,200 B";
    let sweep = ["sweep", "scenarios/incast.toml", "--axis", axis, "--set", "simulation.duration=20 ms", "--out", &folder.path("sweep")];
    assert!(expect(0, &sweep).contains("slowdown_mean"));
    let bounds = expect(0, &["bounds", "scenarios/incast.toml"]);
    assert!(!bounds.contains("SFA"), "{bounds}");
}
