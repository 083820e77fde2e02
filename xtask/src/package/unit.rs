//! The unit file, as systemd reads it: no error, and an exposure below a limit.

use crate::cargo::root;
use crate::environment;
use crate::failure::Failure;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Ten times the most exposure that `systemd-analyze security` may find, out of 100.
const MOST_EXPOSURE: &str = "25";

const UNIT: &str = "tidegate@.service";

/// Checks the unit in a root folder of its own, where a file stands in for the command.
///
/// # Errors
/// [`Failure::Check`] with what systemd says.
pub fn check() -> Result<(), Failure> {
    environment::require(&[("systemd-analyze", "systemd")])?;
    let folder = root().join("target/package/unit");
    let _was_not_there = fs::remove_dir_all(&folder);
    lay_out(&folder).map_err(|error| Failure::Environment(format!("{}: {error}", folder.display())))?;
    let said = systemd_analyze(&["verify", "--man=no", "--recursive-errors=no", "--root"], &folder, &["tidegate@home.service"])?;
    if !said.trim().is_empty() {
        return Err(Failure::Check(format!("systemd-analyze verify: {said}")));
    }
    let arguments = ["security", "--offline=true", "--no-pager", "--threshold", MOST_EXPOSURE, "--root"];
    let said = systemd_analyze(&arguments, &folder, &[UNIT])?;
    println!("{}", said.lines().last().unwrap_or_default());
    Ok(())
}

fn lay_out(folder: &Path) -> std::io::Result<()> {
    let units = folder.join("usr/lib/systemd/system");
    fs::create_dir_all(&units)?;
    fs::create_dir_all(folder.join("usr/bin"))?;
    fs::copy(root().join("packaging").join(UNIT), units.join(UNIT))?;
    let command = folder.join("usr/bin/tidegate");
    fs::write(&command, "")?;
    fs::set_permissions(&command, fs::Permissions::from_mode(0o755))?;
    // What every unit depends on, and nothing more.
    for target in ["sysinit", "basic", "shutdown", "network", "multi-user"] {
        fs::write(units.join(format!("{target}.target")), format!("[Unit]\nDescription={target}\n"))?;
    }
    Ok(())
}

/// What systemd-analyze writes, if it ends with 0.
fn systemd_analyze(arguments: &[&str], root: &Path, units: &[&str]) -> Result<String, Failure> {
    let mut command = Command::new("systemd-analyze");
    command.args(arguments).arg(root).args(units);
    let ended = command.output().map_err(|error| Failure::Environment(format!("cannot start systemd-analyze: {error}")))?;
    let said = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
    if ended.status.success() { Ok(said) } else { Err(Failure::Check(format!("systemd-analyze {}: {said}", arguments[0]))) }
}
