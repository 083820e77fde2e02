//! The files that a running bridge can reach, and no others (Landlock).
//!
//! | path | right |
//! |---|---|
//! | the folder of the policy file, `/proc`, `/sys` | read, for SIGHUP and the state of interfaces |
//! | the folder in which `--report` makes its own | read, write, make, remove |
//! | the folder of the control socket | remove, for the socket at the end |
//!
//! Files that are open already stay so. TCP ports can neither be bound nor connected to; that of `--metrics` is bound before. Nothing can be executed.

use crate::log;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr,
    RulesetError, RulesetStatus,
};
use std::fs::File;
use std::path::{Path, PathBuf};
use tidegate_scenario::FileSet;

/// The newest set of rights that is asked for. An older kernel is asked for those that it knows.
const RIGHTS: ABI = ABI::V6;

/// What the command line asks for.
pub struct Paths<'a> {
    /// The policy file.
    pub policy: &'a Path,
    /// The folder of results.
    pub report: Option<&'a Path>,
    /// The control socket.
    pub control: Option<&'a Path>,
}

/// Confines the calling thread, and those that it starts afterwards. Returns a warning if the kernel does not do all of it.
pub fn confine(paths: &Paths<'_>) -> Option<String> {
    let left = match restrict(paths) {
        Ok(RulesetStatus::FullyEnforced) => return None,
        Ok(RulesetStatus::PartiallyEnforced) => "this kernel knows only some of the rights".to_owned(),
        Ok(RulesetStatus::NotEnforced) => "this kernel has no Landlock, or it is not switched on (`lsm=` on its command line)".to_owned(),
        Err(error) => error.to_string(),
    };
    Some(format!("warning: the files that this process can reach are limited by their permissions alone: {left}"))
}

/// Warnings about files that this process cannot read again now: a hang-up will change nothing.
pub fn closed(files: &FileSet) -> Vec<String> {
    let file = Path::new(&files.name);
    let folder = file.parent().unwrap_or(Path::new(""));
    let all = std::iter::once(file.to_owned()).chain(files.files.keys().map(|name| folder.join(name)));
    let warning = |path: PathBuf| {
        let error = File::open(&path).err()?;
        let path = log::printable(&path.display().to_string()).into_owned();
        Some(format!(
            "warning: {path} cannot be read again ({error}), so SIGHUP will change nothing: put it, and not a link to it, below the folder of the policy file, \
             readable for this user; `ctl apply` sends the files and needs none of this"
        ))
    };
    all.filter_map(warning).collect()
}

fn restrict(paths: &Paths<'_>) -> Result<RulesetStatus, RulesetError> {
    let read = AccessFs::from_read(RIGHTS) & !AccessFs::Execute;
    let ruleset = Ruleset::default().handle_access(AccessFs::from_all(RIGHTS))?.handle_access(AccessNet::from_all(RIGHTS))?.create()?;
    let ruleset = allow(ruleset, Some(folder(paths.policy)), read)?;
    let ruleset = allow(ruleset, Some(Path::new("/proc")), read)?;
    let ruleset = allow(ruleset, Some(Path::new("/sys")), read)?;
    let ruleset = allow(ruleset, paths.report.map(folder), AccessFs::from_all(RIGHTS) & !AccessFs::Execute)?;
    let ruleset = allow(ruleset, paths.control.map(folder), AccessFs::RemoveFile.into())?;
    Ok(ruleset.restrict_self()?.ruleset)
}

/// A path that cannot be opened needs no right.
fn allow(ruleset: RulesetCreated, path: Option<&Path>, rights: BitFlags<AccessFs>) -> Result<RulesetCreated, RulesetError> {
    match path.and_then(|path| PathFd::new(path).ok()) {
        Some(descriptor) => ruleset.add_rule(PathBeneath::new(descriptor, rights)),
        None => Ok(ruleset),
    }
}

/// The folder that has the file of this path.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::net::TcpListener;
    use std::process::Command;

    #[test]
    fn files_that_a_hang_up_cannot_read_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let etc = folder.path().join("etc");
        fs::create_dir(&etc).unwrap();
        let policy = etc.join("policy.toml");
        for path in [&policy, &etc.join("inside.csv"), &folder.path().join("beside.csv")] {
            fs::write(path, "text").unwrap();
        }
        std::os::unix::fs::symlink("../beside.csv", etc.join("link.csv")).unwrap();
        let names = ["inside.csv", "link.csv", "../beside.csv"];
        let files = names.map(|name| (name.to_owned(), "text".into())).into();
        let files = FileSet { name: policy.display().to_string(), text: "text".into(), files };
        std::thread::spawn(move || {
            rustix::thread::set_no_new_privs(true).unwrap();
            assert_eq!(closed(&files), [""; 0], "without confinement");
            assert_eq!(confine(&Paths { policy: &policy, report: None, control: None }), None);
            let warnings = closed(&files);
            assert_eq!(warnings.len(), 2, "{warnings:?}");
            assert!(warnings[0].contains("../beside.csv cannot be read again") && warnings[1].contains("link.csv"), "{warnings:?}");
        })
        .join()
        .unwrap();
    }

    #[test]
    fn only_the_named_folders_can_be_reached() {
        let folder = tempfile::tempdir().unwrap();
        let [etc, results, run, other] = ["etc", "results", "run", "other"].map(|name| {
            let path = folder.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("file"), "text").unwrap();
            path
        });
        // In a thread of its own, so that other tests keep their rights.
        std::thread::spawn(move || {
            rustix::thread::set_no_new_privs(true).unwrap();
            let (policy, report, control) = (etc.join("policy.toml"), results.join("new"), run.join("socket"));
            let paths = Paths { policy: &policy, report: Some(&report), control: Some(&control) };
            assert_eq!(confine(&paths), None, "the tests need a kernel with Landlock (Linux 6.12)");
            let reached = |name: &Path| (fs::read(name.join("file")).is_ok(), fs::write(name.join("made"), "").is_ok());
            assert_eq!(reached(&etc), (true, false));
            assert_eq!(reached(&results), (true, true));
            assert_eq!(reached(&run), (false, false));
            assert_eq!(reached(&other), (false, false));
            assert!(fs::remove_file(run.join("file")).is_ok() && fs::remove_file(etc.join("file")).is_err());
            assert!(fs::rename(results.join("made"), results.join("renamed")).is_ok());
            assert!(fs::read("/proc/self/status").is_ok() && fs::read_dir("/sys/class/net").is_ok());
            assert!(TcpListener::bind("127.0.0.1:0").is_err() && Command::new("/bin/true").status().is_err());
        })
        .join()
        .unwrap();
    }
}
