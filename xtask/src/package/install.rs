//! The Debian package, installed into a folder and run from there between network namespaces, with the user and the rights of its unit.

use super::system_calls;
use crate::cargo::{output, succeed};
use crate::environment;
use crate::failure::Failure;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What has to be in the package.
const FILES: &[&str] = &[
    "usr/bin/tidegate",
    "usr/lib/systemd/system/tidegate@.service",
    "usr/lib/sysusers.d/tidegate.conf",
    "usr/share/man/man1/tidegate.1.gz",
    "usr/share/man/man1/tidegate-live.1.gz",
    "usr/share/bash-completion/completions/tidegate",
    "usr/share/zsh/vendor-completions/_tidegate",
    "usr/share/fish/vendor_completions.d/tidegate.fish",
    "usr/share/doc/tidegate/examples/home-gateway.toml",
    "etc/tidegate/home.conf",
    "etc/tidegate/home.toml",
];

/// Installs `tidegate.deb` of this folder somewhere else, runs its bridge and removes it again.
///
/// # Errors
/// [`Failure::Check`] if a file is missing or the bridge does not carry packets; [`Failure::Environment`] if this user cannot try it.
pub fn try_it(folder: &Path) -> Result<(), Failure> {
    environment::require(&[
        ("ip", "iproute2"),
        ("ping", "iputils-ping"),
        ("setpriv", "util-linux"),
        ("systemd-sysusers", "systemd"),
        ("strace", "strace"),
    ])?;
    let package = folder.join("tidegate.deb");
    // Where the user of the package can look.
    let root = PathBuf::from(format!("/var/tmp/tidegate-package-{}", std::process::id()));
    let outcome = install_and_run(&root, &package);
    let _stays = fs::remove_dir_all(&root);
    outcome
}

fn install_and_run(root: &Path, package: &Path) -> Result<(), Failure> {
    let written = |error| Failure::Environment(format!("{}: {error}", root.display()));
    fs::create_dir_all(root.join("var/lib/dpkg/updates")).map_err(written)?;
    fs::create_dir_all(root.join("var/lib/dpkg/info")).map_err(written)?;
    fs::write(root.join("var/lib/dpkg/status"), "").map_err(written)?;
    // The libraries that it depends on are those of this machine.
    dpkg(root, &["--force-depends", "--install"], package)?;
    let missing: Vec<&&str> = FILES.iter().filter(|name| !root.join(name).is_file()).collect();
    if !missing.is_empty() {
        return Err(Failure::Check(format!("the package lacks {missing:?}")));
    }
    let owners = fs::read_to_string(root.join("etc/passwd")).map_err(written)?;
    let owner = owners.lines().find_map(|line| line.strip_prefix("tidegate:")?.split(':').nth(1)).map(str::to_owned);
    let owner = owner.ok_or_else(|| Failure::Check("the package made no user".to_owned()))?;
    carry(root, &owner)?;
    dpkg(root, &["--purge"], Path::new("tidegate"))?;
    let left: Vec<&&str> = FILES.iter().filter(|name| root.join(name).exists()).collect();
    if left.is_empty() { Ok(()) } else { Err(Failure::Check(format!("the package leaves {left:?} behind"))) }
}

fn dpkg(root: &Path, action: &[&str], what: &Path) -> Result<(), Failure> {
    let mut command = Command::new("dpkg");
    succeed(command.arg(format!("--root={}", root.display())).arg("--force-script-chrootless").args(action).arg(what))
}

/// Three namespaces in a row, which are deleted when this is dropped.
struct Namespaces(Vec<String>);

impl Namespaces {
    fn new() -> Result<Namespaces, Failure> {
        let names =
            Namespaces(["left", "middle", "right"].map(|place| format!("tidegate-package-{}-{place}", std::process::id())).to_vec());
        let [left, middle, right] = &names.0[..] else { unreachable!("three names") };
        for name in &names.0 {
            ip(&format!("netns add {name}"))?;
        }
        ip(&format!("-n {middle} link add west type veth peer name tp0 netns {left}"))?;
        ip(&format!("-n {middle} link add east type veth peer name tp0 netns {right}"))?;
        for (name, link) in [(left, "tp0"), (middle, "west"), (middle, "east"), (right, "tp0")] {
            ip(&format!("-n {name} link set {link} up"))?;
        }
        ip(&format!("-n {left} addr add 10.78.0.1/24 dev tp0"))?;
        ip(&format!("-n {right} addr add 10.78.0.2/24 dev tp0"))?;
        Ok(names)
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.0 {
            let _was_not_made = Command::new("ip").args(["netns", "del", name]).stderr(Stdio::null()).status();
        }
    }
}

fn ip(line: &str) -> Result<(), Failure> {
    output(Command::new("ip").args(line.split(' '))).map(drop)
}

/// A bridge that is killed when this is dropped.
struct Bridge(Child);

impl Drop for Bridge {
    fn drop(&mut self) {
        let _has_ended = self.0.kill();
        let _was_awaited = self.0.wait();
    }
}

/// Pings pass a bridge with the unit's user, capabilities and options; its control socket answers, it ends when it is told to, and it makes no system call
/// that the unit refuses.
fn carry(root: &Path, owner: &str) -> Result<(), Failure> {
    let written = |error| Failure::Environment(format!("{}: {error}", root.display()));
    let unit = fs::read_to_string(root.join("usr/lib/systemd/system/tidegate@.service")).map_err(written)?;
    let key = |name: &str| unit.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let rights = key("AmbientCapabilities=").to_lowercase().split(' ').map(|name| name.replace("cap_", "+")).collect::<Vec<_>>().join(",");
    let run = root.join("run");
    fs::create_dir_all(&run).map_err(written)?;
    succeed(Command::new("chown").arg(format!("{owner}:{owner}")).arg(&run))?;
    // As systemd would, with the folders of this installation.
    let at = |path: &str| root.join(path).display().to_string();
    let start = key("ExecStart=")
        .replace("/usr/", &at("usr/"))
        .replace("/etc/", &at("etc/"))
        .replace("/run/tidegate/%i", &at("run"))
        .replace("%i", "home")
        .replace("$OPTIONS", "--in west --out east --json");
    let namespaces = Namespaces::new()?;
    let [left, middle, _] = &namespaces.0[..] else { unreachable!("three names") };
    let trace = root.join("trace");
    // With -D the bridge has the process number of the child.
    let line = format!(
        "netns exec {middle} strace -D -f -qq -o {} setpriv --reuid {owner} --regid {owner} --clear-groups --bounding-set -all,{rights} \
         --inh-caps {rights} --ambient-caps {rights} {start}",
        trace.display()
    );
    println!("$ ip {line}");
    let child = Command::new("ip").args(line.split(' ')).stdout(Stdio::null()).spawn();
    let mut bridge = Bridge(child.map_err(|error| Failure::Environment(format!("cannot start ip: {error}")))?);
    let socket = run.join("control");
    let began = Instant::now();
    while !socket.exists() && began.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(50));
    }
    succeed(Command::new("ip").args(["netns", "exec", left, "ping", "-c", "5", "-i", "0.2", "-w", "20", "10.78.0.2"]))?;
    let tidegate = root.join("usr/bin/tidegate");
    let ctl = || {
        let mut command = Command::new(&tidegate);
        command.args(["ctl", "--control"]).arg(&socket);
        command
    };
    succeed(ctl().arg("status"))?;
    succeed(ctl().args(["apply", &at("etc/tidegate/home.toml")]))?;
    succeed(Command::new("kill").args(["-HUP", &bridge.0.id().to_string()]))?;
    thread::sleep(Duration::from_millis(500));
    succeed(Command::new("kill").args(["-TERM", &bridge.0.id().to_string()]))?;
    let status = bridge.0.wait().map_err(|error| Failure::Environment(error.to_string()))?;
    if !status.success() {
        return Err(Failure::Check(format!("the bridge ended with {status}")));
    }
    let trace = fs::read_to_string(&trace).map_err(written)?;
    system_calls::check(&trace, "/usr/bin/tidegate", &unit)
}
