//! The crates as a registry would have them: packed, and installed from what was packed.
//!
//! A file that a crate needs from outside of its folder is missed here, as is a version of a crate of ours.

use crate::cargo::{cargo, metadata, succeed};
use crate::failure::Failure;
use crate::package::files::{made, not_written, runs};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Packs every crate that may be published, unpacks all below `folder/crates`, and installs the command from there.
///
/// # Errors
/// [`Failure::Check`] if a crate cannot be packed, or the command cannot be built from packed ones or does not run.
pub fn install(folder: &Path) -> Result<(), Failure> {
    let folder = folder.join("crates");
    let unpacked = folder.join("unpacked");
    // A crate that is gone must not stay.
    let _was_not_there = fs::remove_dir_all(&unpacked);
    made(&unpacked)?;
    let metadata = metadata()?;
    let packages = metadata["packages"].as_array().expect("a list of packages");
    let name = |package: &serde_json::Value| package["name"].as_str().expect("a name").to_owned();
    let (private, public): (Vec<_>, Vec<_>) = packages.iter().partition(|package| package["publish"].as_array().is_some_and(Vec::is_empty));
    let mut pack = cargo();
    // The packed crates are built below, all at once.
    pack.args(["package", "--workspace", "--no-verify", "--allow-dirty", "--quiet", "--target-dir"]).arg(&folder);
    for package in private {
        pack.args(["--exclude", &name(package)]);
    }
    succeed(&mut pack)?;
    let mut install = cargo();
    install.args(["install", "--debug", "--quiet"]);
    for package in public {
        let name = name(package);
        let packed = format!("{name}-{}", package["version"].as_str().expect("a version"));
        if name == "tidegate-cli" {
            install.arg("--path").arg(unpacked.join(&packed));
        }
        let archive = folder.join("package").join(format!("{packed}.crate"));
        succeed(Command::new("tar").arg("xzf").arg(archive).arg("-C").arg(&unpacked))?;
        // No registry has them, so each is found where it was unpacked.
        install.arg("--config").arg(format!("patch.crates-io.{name}.path={:?}", unpacked.join(packed)));
    }
    // The workspace around this folder is none of theirs.
    let manifest = unpacked.join("Cargo.toml");
    fs::write(&manifest, "[workspace]\nmembers = [\"tidegate-*\"]\nresolver = \"3\"\n").map_err(|error| not_written(&manifest, &error))?;
    let installed = folder.join("installed");
    succeed(install.arg("--root").arg(&installed).arg("--target-dir").arg(folder.join("build")))?;
    runs(&installed.join("bin/tidegate"))
}
