//! A bridge as a service: an ordinary user with the capabilities of the unit file, a service manager that is told, a socket for its group.

use crate::command::{Live, pings_pass};
use crate::topology::{Place, Topology};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// A user and a group without any rights: `nobody` and `nogroup` of Debian.
const USER: u32 = 65534;

const UNIT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/tidegate@.service");

/// The capabilities of the unit, as `setpriv` takes them: `+net_raw,+net_admin,...`.
fn capabilities() -> String {
    let unit = fs::read_to_string(UNIT).unwrap();
    let names = |key: &str| unit.lines().find_map(|line| line.strip_prefix(key)).unwrap().to_lowercase();
    assert_eq!(names("AmbientCapabilities="), names("CapabilityBoundingSet="));
    names("AmbientCapabilities=").split_whitespace().map(|name| name.replace("cap_", "+")).collect::<Vec<_>>().join(",")
}

/// The next messages to the service manager until one that contains `text`, which must come within 15 s.
fn told_until(manager: &UnixDatagram, text: &str) -> Vec<String> {
    let mut told = Vec::new();
    let mut buffer = [0; 1024];
    while !told.last().is_some_and(|message: &String| message.contains(text)) {
        let length = manager.recv(&mut buffer).unwrap_or_else(|error| panic!("{error} while {text} is awaited; {told:?}"));
        told.push(String::from_utf8(buffer[..length].to_vec()).unwrap());
    }
    told
}

/// A folder with the command and a policy for a user without rights, a control folder of that user, and the socket of a service manager.
struct Installed {
    folder: tempfile::TempDir,
    manager: UnixDatagram,
}

impl Installed {
    fn new() -> Installed {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        // Where the build is, this user may not look.
        fs::copy(env!("CARGO_BIN_EXE_tidegate"), path("tidegate")).unwrap();
        fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/policies/home.toml"), path("home.toml")).unwrap();
        fs::create_dir(path("run")).unwrap();
        std::os::unix::fs::chown(path("run"), Some(USER), Some(USER)).unwrap();
        let manager = UnixDatagram::bind(path("notify")).unwrap();
        fs::set_permissions(path("notify"), Permissions::from_mode(0o777)).unwrap();
        manager.set_read_timeout(Some(Duration::from_secs(15))).unwrap();
        Installed { folder, manager }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// What gives a command the user and the capabilities of the unit.
    fn rights() -> String {
        let capabilities = capabilities();
        format!(
            "setpriv --reuid {USER} --regid {USER} --clear-groups --bounding-set -all,{capabilities} --inh-caps {capabilities} --ambient-caps {capabilities}"
        )
    }

    /// The bridge, with the options of the unit.
    fn start(&self, topology: &Topology) -> Live {
        let [tidegate, policy, socket] = ["tidegate", "home.toml", "run/control"].map(|name| self.path(name));
        let line = format!(
            "{} {tidegate} live {policy} --in tgb --out tgc --quiet --json --control {socket} --share-control",
            Installed::rights()
        );
        let mut process = topology.process(Place::Middle, &line);
        process.env("NOTIFY_SOCKET", self.path("notify")).env("WATCHDOG_USEC", "600000").stderr(Stdio::piped());
        Live::spawn(&mut process)
    }
}

/// The unit's second command for a reload, run as the service manager runs it: nothing happens until the program is replaced.
#[test]
fn a_reload_lets_the_program_of_an_upgrade_take_over() {
    let installed = Installed::new();
    let topology = Topology::new();
    let live = installed.start(&topology);
    told_until(&installed.manager, "READY=1");
    pings_pass(&topology);
    let unit = fs::read_to_string(UNIT).unwrap();
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecReload=/bin/sh -c '")?.strip_suffix('\'')).expect("a take-over");
    let line = line
        .replace("$$", "$")
        .replace("/usr/bin/tidegate", &installed.path("tidegate"))
        .replace("/etc/tidegate/%i.toml", &installed.path("home.toml"))
        .replace("/run/tidegate/%i/control", &installed.path("run/control"));
    let reload = || {
        let mut process = topology.process(Place::Middle, &Installed::rights());
        process.args(["/bin/sh", "-c", &line]).env("NOTIFY_SOCKET", installed.path("notify"));
        process.env("MAINPID", live.id().to_string()).env("OPTIONS", "--in tgb --out tgc").stderr(Stdio::null());
        assert!(process.status().unwrap().success());
    };
    reload();
    told_until(&installed.manager, "WATCHDOG=1");
    // As a package manager does: the new file takes the name of the old one.
    fs::copy(installed.path("tidegate"), installed.path("tidegate.new")).unwrap();
    fs::rename(installed.path("tidegate.new"), installed.path("tidegate")).unwrap();
    reload();
    let mut told = told_until(&installed.manager, "MAINPID=");
    let process = told.last().unwrap().trim().strip_prefix("MAINPID=").unwrap().to_owned();
    let ended = live.wait();
    assert!(ended.code == Some(0) && ended.log.contains(&format!("process {process} carries packets from here on")), "{ended:?}");
    // It has no watchdog in its environment, and feeds that of the service nevertheless.
    told.extend(told_until(&installed.manager, "WATCHDOG=1"));
    told.extend(told_until(&installed.manager, "WATCHDOG=1"));
    assert!(!told.concat().contains("STOPPING=1"), "{told:?}");
    pings_pass(&topology);
    assert_eq!(fs::read_link(format!("/proc/{process}/exe")).unwrap().display().to_string(), installed.path("tidegate"));
    assert!(std::process::Command::new("kill").arg(&process).status().unwrap().success());
    told_until(&installed.manager, "STOPPING=1");
    crate::eventually("the socket goes with the bridge", Duration::from_secs(15), || !Path::new(&installed.path("run/control")).exists());
}

#[test]
fn a_user_with_the_units_capabilities_carries_packets_and_tells_the_manager() {
    let installed = Installed::new();
    let topology = Topology::new();
    let live = installed.start(&topology);
    let manager = &installed.manager;
    let [tidegate, socket] = ["tidegate", "run/control"].map(|name| installed.path(name));
    assert_eq!(told_until(manager, "READY=1").concat().matches("READY=1").count(), 1);
    let status = fs::read_to_string(format!("/proc/{}/status", live.id())).unwrap();
    assert!(status.contains(&format!("Uid:\t{USER}\t{USER}")) && status.contains("NoNewPrivs:\t1"), "{status}");
    pings_pass(&topology);
    told_until(manager, "WATCHDOG=1");
    told_until(manager, "WATCHDOG=1");

    let control = fs::metadata(&socket).unwrap();
    assert_eq!((control.mode() & 0o777, control.gid()), (0o660, USER));
    let member = topology.within(
        Place::Middle,
        &format!("setpriv --reuid 65533 --regid {USER} --clear-groups --bounding-set -all {tidegate} ctl --control {socket} status"),
    );
    assert!(member.contains("tgb"), "{member}");

    live.signal(libc::SIGHUP);
    let reload = told_until(manager, "RELOADING=1");
    assert!(reload.last().unwrap().contains("MONOTONIC_USEC="), "{reload:?}");
    told_until(manager, "READY=1");
    pings_pass(&topology);
    live.signal(libc::SIGTERM);
    told_until(manager, "STOPPING=1");
    let ended = live.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.log.contains("warning: real-time") && ended.log.contains("SIGHUP: tgb -> tgc: 0 classes added"), "{ended:?}");
    assert!(!Path::new(&socket).exists(), "the socket goes with the bridge");
}
