//! Programs on the path, and the Debian packages that bring them.

use crate::cargo::{output, root, succeed};
use crate::failure::Failure;
use std::path::PathBuf;
use std::process::Command;

/// Installs Debian packages.
///
/// # Errors
/// [`Failure::Environment`] saying what to install, where this cannot.
pub fn install(packages: &[&str]) -> Result<(), Failure> {
    let advice = format!("install the Debian packages (or your system's equivalents): apt-get install {}", packages.join(" "));
    if !is_in("apt-get", &search_path()) {
        return Err(Failure::Environment(format!("this machine has no apt-get; {advice}")));
    }
    if output(Command::new("id").arg("-u"))?.trim() != "0" {
        return Err(Failure::Environment(format!("not running as root, so nothing was installed; {advice}")));
    }
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").args(arguments);
        succeed(&mut command).map_err(|_| Failure::Environment(format!("apt-get failed; {advice}")))
    };
    apt(&["update", "-q"])?;
    apt(&[&["install", "-q", "-y", "--no-install-recommends"], packages].concat())
}

/// True if the program can be started and ends with 0.
pub fn starts(command: &mut Command) -> bool {
    command.current_dir(root()).output().is_ok_and(|output| output.status.success())
}

/// True if one of these directories has the program.
pub fn is_in(program: &str, path: &[PathBuf]) -> bool {
    path.iter().any(|directory| directory.join(program).is_file())
}

/// The directories of `PATH`, and those of the superuser's programs, which a user's path often leaves out.
pub fn search_path() -> Vec<PathBuf> {
    let mut directories: Vec<PathBuf> = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    directories.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    directories
}
