//! A list of subscribers: it travels with the policy file through the control socket, and a hang-up reads it again.

use crate::command::{Live, pings_pass};
use crate::control::{refused, said, told};
use crate::topology::Topology;
use std::fmt::Write;
use std::fs;

const POLICY: &str = r#"
include = ["plans.toml"]
[policy.isp]
kind = "subscribers"
down = "1 Gbit/s"
up = "1 Gbit/s"
subscribers = "list.csv"
"#;
const PLANS: &str = "[[policy.isp.plan]]\nname = \"plan\"\ndown = \"50 Mbit/s\"\nup = \"10 Mbit/s\"\n";

fn list(subscribers: u32) -> String {
    let mut list = "id,addresses,plan\n".to_owned();
    for number in 0..subscribers {
        let _infallible = writeln!(list, "house {number},10.77.{}.{},plan", number / 250, number % 250);
    }
    list
}

#[test]
fn a_list_is_sent_with_the_file_and_read_again_at_a_hang_up() {
    let [folder, elsewhere] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [socket, policy, subscribers] = ["control", "isp.toml", "list.csv"].map(|name| folder.path().join(name));
    fs::write(&policy, POLICY).unwrap();
    fs::write(&subscribers, list(300)).unwrap();
    fs::write(folder.path().join("plans.toml"), PLANS).unwrap();
    let topology = Topology::new();
    let mut live = Live::start_policy(&topology, &policy, &format!("--in tgb --out tgc --control {}", socket.display()));
    pings_pass(&topology);
    let classes = |changed: &serde_json::Value, key: &str| changed["applied"]["directions"][0][key].as_array().unwrap().len();
    assert_eq!(told(&socket, &["status"])["status"]["directions"][0]["classes"], 301);

    // The bridge knows nothing of this folder.
    let other = elsewhere.path().join("isp.toml");
    fs::write(&other, POLICY).unwrap();
    fs::write(elsewhere.path().join("list.csv"), list(310)).unwrap();
    let message = refused(&socket, 2, &["apply", other.to_str().unwrap()]);
    assert!(message.contains("plans.toml cannot be opened") && message.contains("isp.toml:2:12"), "{message}");
    fs::write(elsewhere.path().join("plans.toml"), PLANS.replace("10 Mbit/s", "12 Mbit/s")).unwrap();
    let applied = told(&socket, &["apply", other.to_str().unwrap()]);
    // The class of what is no subscriber's has a hundredth of the plans, and changes with them.
    assert_eq!((classes(&applied, "added"), classes(&applied, "changed")), (10, 301), "{applied}");
    // Values are set in what was sent.
    let set = told(&socket, &["set", "policy.isp.plan.plan.up=\"20 Mbit/s\""]);
    assert_eq!(classes(&set, "changed"), 311, "{set}");
    pings_pass(&topology);

    // Single rows are changed, removed and added beside the list, which stays as it is.
    let classes_of = || told(&socket, &["status"])["status"]["directions"][0]["classes"].as_u64();
    let changed = told(
        &socket,
        &[
            "set",
            "policy.isp.subscriber.house 7.plan=\"\"",
            "policy.isp.subscriber.house 7.down=30 Mbit/s",
            "policy.isp.subscriber.house 7.up=3 Mbit/s",
        ],
    );
    assert_eq!(classes(&changed, "removed"), 0, "{changed}");
    let why = |address: &str| said(&socket, &["why", address]);
    assert!(why("10.77.0.7").contains("3 Mbit/s") && !why("10.77.0.8").contains(" 3 Mbit/s"), "{}", why("10.77.0.7"));
    assert!(refused(&socket, 2, &["remove", "hause 9"]).contains("did you mean `house 9`?"));
    let message = refused(&socket, 2, &["set", "policy.isp.subscriber.hause 9.up=3 Mbit/s"]);
    assert!(
        message.contains("no subscriber `hause 9` in the file or in list.csv") && message.contains("did you mean `house 9`?"),
        "{message}"
    );
    let before = classes_of();
    let removed = told(&socket, &["remove", "house 9"]);
    assert_eq!(removed["applied"]["directions"][0]["removed"], serde_json::json!(["house 9"]), "{removed}");
    assert!(why("10.77.0.9").contains("class `others`"));
    told(&socket, &["add", "subscriber", "{ name = \"house 9\", addresses = [\"10.77.0.9\", \"10.99.0.0/16\"], plan = \"plan\" }"]);
    assert!(why("10.99.1.2").contains("class `house 9`"));
    assert_eq!(classes_of(), before);
    let status = said(&socket, &["status"]);
    for edit in ["subscriber.house 7.up=3 Mbit/s", "subscriber-=house 9", "subscriber+={ name = \"house 9\""] {
        assert!(status.contains(&format!("differs from the file: policy.isp.{edit}")), "{edit}: {status}");
    }
    assert_eq!(fs::read_to_string(&subscribers).unwrap(), list(300), "no file is written");
    pings_pass(&topology);

    fs::write(&subscribers, list(299)).unwrap();
    live.signal(libc::SIGHUP);
    live.log_until("SIGHUP: tgb -> tgc: 0 classes added, 11 removed, 300 changed");
    fs::write(&subscribers, list(299) + "house 0,10.1.0.1,plan\n").unwrap();
    live.signal(libc::SIGHUP);
    live.log_until("another subscriber is named `house 0` already");
    pings_pass(&topology);
    assert_eq!(told(&socket, &["status"])["status"]["directions"][0]["classes"], 300);
    live.signal(libc::SIGTERM);
    assert_eq!(live.wait().code, Some(0));
}
