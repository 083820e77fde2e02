//! The files of a command: no output may be an input, another output, or lie in a folder that is replaced as a whole.
//!
//! Files are told apart by device and inode, so a second path to a file (a link, symbolic or hard, another spelling) is the same file. A file
//! that does not exist yet is told apart by its folder and its name. Character devices are left out: two outputs may go to one of them.

use crate::error::{OutputError, shown};
use crate::output::folder_of;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The files of a command, to be named before work begins: inputs, then the folder of results, then single outputs.
#[derive(Debug, Default)]
pub struct Places {
    files: Vec<Known>,
    /// The folder of results, and where it is.
    folder: Option<(PathBuf, PathBuf)>,
}

#[derive(Debug)]
struct Known {
    what: String,
    path: PathBuf,
    identity: Identity,
}

#[derive(Debug, PartialEq, Eq)]
enum Identity {
    There { device: u64, inode: u64 },
    NotYet { device: u64, inode: u64, name: OsString },
}

impl Places {
    /// Notes that `path` is read. `what` names it in messages, like "the capture". A file that cannot be found is left to its reader.
    pub fn input(&mut self, what: &str, path: &Path) {
        if let Some(identity) = identity(path) {
            self.files.push(Known { what: what.to_owned(), path: path.to_owned(), identity });
        }
    }

    /// Notes that `path` is written. `what` names it in messages, like "--sent".
    ///
    /// # Errors
    /// It is an input or another output, or lies in the folder of results.
    pub fn output(&mut self, what: &str, path: &Path) -> Result<(), OutputError> {
        let Some(identity) = identity(path) else { return Ok(()) };
        if let Some(known) = self.files.iter().find(|known| known.identity == identity) {
            let other = if known.path == path { String::new() } else { format!(" ({})", shown(&known.path)) };
            return Err(OutputError::refused(path, format!("{what} and {}{other} are the same file; name another", known.what)));
        }
        if let Some((folder, place)) = &self.folder
            && lies_in(path, place)
        {
            let problem = format!("{what} lies in {}, which is replaced as a whole; leave it out, or name a file elsewhere", shown(folder));
            return Err(OutputError::refused(path, problem));
        }
        self.files.push(Known { what: what.to_owned(), path: path.to_owned(), identity });
        Ok(())
    }

    /// Notes that the folder `path` is replaced as a whole.
    ///
    /// # Errors
    /// An input lies in it.
    pub fn folder(&mut self, path: &Path) -> Result<(), OutputError> {
        let Ok(place) = fs::canonicalize(path) else { return Ok(()) };
        let inside = fs::read_dir(&place).into_iter().flatten().flatten();
        let inside: Vec<Identity> = inside.filter_map(|entry| identity(&entry.path())).collect();
        if let Some(known) = self.files.iter().find(|known| inside.contains(&known.identity) || lies_in(&known.path, &place)) {
            let problem =
                format!("would be replaced as a whole, and {} ({}) lies in it; name another folder", known.what, shown(&known.path));
            return Err(OutputError::refused(path, problem));
        }
        self.folder = Some((path.to_owned(), place));
        Ok(())
    }
}

fn lies_in(path: &Path, folder: &Path) -> bool {
    fs::canonicalize(folder_of(path)).is_ok_and(|place| place.starts_with(folder))
}

/// `None` for a character device, and for a path whose folder does not exist.
fn identity(path: &Path) -> Option<Identity> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.file_type().is_char_device() => None,
        Ok(metadata) => Some(Identity::There { device: metadata.dev(), inode: metadata.ino() }),
        Err(_) => {
            let folder = fs::metadata(folder_of(path)).ok()?;
            Some(Identity::NotYet { device: folder.dev(), inode: folder.ino(), name: path.file_name()?.to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    #[test]
    fn an_output_is_no_input_by_any_path() {
        let folder = TempDir::new().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("capture"), "x").unwrap();
        fs::hard_link(at("capture"), at("hard")).unwrap();
        symlink("capture", at("soft")).unwrap();
        fs::create_dir(at("deep")).unwrap();
        let mut places = Places::default();
        places.input("the capture", &at("capture"));
        for same in ["capture", "hard", "soft", "deep/../capture"] {
            let error = places.output("--sent", &at(same)).unwrap_err().to_string();
            assert!(error.contains("--sent and the capture") && error.contains("are the same file"), "{error}");
        }
        places.output("--sent", &at("new")).unwrap();
        let error = places.output("--dropped", &at("deep/../new")).unwrap_err().to_string();
        assert!(error.contains("--dropped and --sent"), "{error}");
        places.output("--dropped", &at("other")).unwrap();
    }

    #[test]
    fn a_folder_that_is_replaced_holds_no_input_and_no_other_output() {
        let folder = TempDir::new().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("out")).unwrap();
        fs::write(at("out/sent.pcapng"), "x").unwrap();
        fs::hard_link(at("out/sent.pcapng"), at("hard")).unwrap();
        for input in ["out/sent.pcapng", "hard"] {
            let mut places = Places::default();
            places.input("the capture", &at(input));
            let error = places.folder(&at("out")).unwrap_err().to_string();
            assert!(error.contains("the capture") && error.contains("replaced as a whole"), "{error}");
        }
        let mut places = Places::default();
        places.folder(&at("out")).unwrap();
        assert!(places.output("--sent", &at("out/x")).unwrap_err().to_string().contains("lies in"));
        places.output("--sent", &at("x")).unwrap();
    }
}
