//! A folder of results: written beside its place under a temporary name, and put there as a whole.
//!
//! An empty folder is replaced, and one that holds only results of this program. Any other is refused, and so is the current folder, which may be a
//! shell's. Where the file system can exchange two names in one step, there is no instant without a folder.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::columnar::{self, Column};
use crate::error::{OutputError, ReportError, shown};
use crate::html::report_html;
use crate::json::summary_json;
use crate::model::Report;
use crate::output::{PREFIX, folder_of};
use crate::parquet_tables;
use crate::unfinished;

/// The file by which a folder of results is known.
const SUMMARY: &str = "summary.json";

/// What every `summary.json` of this program holds.
const MARK: &str = "\"tidegate_version\"";

/// Writes `summary.json`, the Parquet tables and `report.html` into `folder` and puts it in place.
///
/// Returns the paths of the files in the order they were written, the page last.
///
/// # Errors
/// What [`Report::validate`] finds, before anything is written; [`ReportError::Output`], [`ReportError::Io`] or [`ReportError::Parquet`] if
/// the file system refuses. What was there before is then still there.
pub fn write_all(report: &Report, mut folder: OutputFolder) -> Result<Vec<PathBuf>, ReportError> {
    report.validate()?;
    folder.write(SUMMARY, summary_json(report).as_bytes())?;
    for (name, columns) in parquet_tables::TABLES {
        folder.write_table(name, &columns(report))?;
    }
    folder.write("report.html", report_html(report).as_bytes())?;
    Ok(folder.finish()?)
}

/// A folder of results that is being written. Without [`OutputFolder::finish`] its place stays what it was.
#[derive(Debug)]
pub struct OutputFolder {
    /// As it was given.
    asked: PathBuf,
    /// Where it goes, links followed.
    place: PathBuf,
    unfinished: PathBuf,
    names: Vec<&'static str>,
}

impl OutputFolder {
    /// A folder of results for `path`, which need not exist; nor need the folders above it.
    ///
    /// # Errors
    /// Something else is there, or the system refuses.
    pub fn create(path: &Path) -> Result<OutputFolder, OutputError> {
        let refused = |error: io::Error| OutputError::system(path, "written", &error);
        let replaced = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Some(metadata),
            Ok(_) => return Err(OutputError::refused(path, "is no folder; name another")),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(refused(error)),
            Err(_) if fs::symlink_metadata(path).is_ok() => {
                return Err(OutputError::refused(path, "is a symbolic link that leads nowhere; name its target"));
            }
            Err(_) => None,
        };
        let place = if replaced.is_some() {
            let place = fs::canonicalize(path).map_err(refused)?;
            judge(path, &place)?;
            place
        } else {
            let above = folder_of(path);
            fs::create_dir_all(&above).map_err(refused)?;
            let name = path.file_name().ok_or_else(|| OutputError::refused(path, "is no name of a folder; name one"))?;
            fs::canonicalize(above).map_err(refused)?.join(name)
        };
        let above = folder_of(&place);
        let fresh = fs::Permissions::from_mode(0o777);
        let make = || tempfile::Builder::new().prefix(PREFIX).permissions(fresh).tempdir_in(&above).map(tempfile::TempDir::keep);
        let unfinished = unfinished::create(make, PathBuf::as_path).map_err(refused)?;
        let folder = OutputFolder { asked: path.to_owned(), place, unfinished, names: Vec::new() };
        if let Some(metadata) = replaced {
            // Only root may give a folder away.
            let _owner_kept = chown(&folder.unfinished, Some(metadata.uid()), Some(metadata.gid()));
            fs::set_permissions(&folder.unfinished, metadata.permissions()).map_err(refused)?;
        }
        Ok(folder)
    }

    /// The path as it was given.
    pub fn path(&self) -> &Path {
        &self.asked
    }

    /// Where to write a file called `name` that belongs in the folder.
    pub fn place_for(&mut self, name: &'static str) -> PathBuf {
        self.names.push(name);
        self.unfinished.join(name)
    }

    /// Checks that the folder can still be put in place, for a process that has given up rights since.
    ///
    /// # Errors
    /// Nothing can be written beside it.
    pub fn check(&self) -> Result<(), OutputError> {
        let trial = |folder: &Path| tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder);
        let checked = trial(&folder_of(&self.place)).and_then(|_| trial(&self.unfinished)).map(drop);
        checked.map_err(|error| OutputError::system(&self.asked, "written", &error))
    }

    pub(crate) fn write(&mut self, name: &'static str, bytes: &[u8]) -> Result<(), ReportError> {
        let path = self.place_for(name);
        File::create_new(&path).and_then(|mut file| file.write_all(bytes)).map_err(io_error("write", &self.asked.join(name)))
    }

    pub(crate) fn write_table(&mut self, name: &'static str, columns: &[Column<'_>]) -> Result<(), ReportError> {
        let (path, shown) = (self.place_for(name), self.asked.join(name));
        let sink = File::create_new(path).map_err(io_error("create", &shown))?;
        let sink = columnar::write(columns, BufWriter::new(sink)).map_err(|source| ReportError::Parquet { path: shown.clone(), source })?;
        sink.into_inner().map_err(|error| io_error("write", &shown)(error.into_error()))?;
        Ok(())
    }

    /// Puts the folder in place, and removes the one that it replaces. Returns the paths of its files.
    ///
    /// # Errors
    /// The system refuses, or what is there is no folder of results any more. The results are then kept where they were written, and the
    /// message says where that is.
    pub fn finish(mut self) -> Result<Vec<PathBuf>, OutputError> {
        let put = |unfinished: &Path| {
            if !self.place.exists() {
                return fs::rename(unfinished, &self.place);
            }
            judge(&self.asked, &self.place).map_err(io::Error::other)?;
            exchange(unfinished, &self.place)?;
            // The results are in place; what is left of the old ones does not make them worse.
            let _remains = fs::remove_dir_all(unfinished);
            Ok(())
        };
        unfinished::settle(&self.unfinished, || put(&self.unfinished)).map_err(|error| {
            let kept = std::mem::take(&mut self.unfinished);
            let _only_forgotten = unfinished::settle(&kept, || Ok(()));
            OutputError::refused(&self.asked, format!("cannot be replaced: {error}; the results are in {}", shown(&kept)))
        })?;
        Ok(self.names.iter().map(|name| self.asked.join(name)).collect())
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        if !self.unfinished.as_os_str().is_empty() {
            unfinished::discard(&self.unfinished);
        }
    }
}

/// Refuses to replace a folder that is not one of ours.
fn judge(asked: &Path, place: &Path) -> Result<(), OutputError> {
    let refused = |error: io::Error| OutputError::system(asked, "read", &error);
    let advice = "name a new folder, or one that holds nothing but results of tidegate";
    if std::env::current_dir().is_ok_and(|current| current.starts_with(place)) {
        return Err(OutputError::refused(asked, "is the current folder or one above it, and would be replaced as a whole; name another"));
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(place).map_err(refused)? {
        let entry = entry.map_err(refused)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_file = entry.file_type().map_err(refused)?.is_file();
        let known = [SUMMARY, "report.html", "sent.pcapng", "dropped.pcapng"].contains(&name.as_str()) || name.ends_with(".parquet");
        if !(is_file && known) {
            let problem = format!("would be replaced as a whole, and holds {}; {advice}", shown(Path::new(&name)));
            return Err(OutputError::refused(asked, problem));
        }
        names.push(name);
    }
    let is_ours = || fs::read(place.join(SUMMARY)).is_ok_and(|text| text.windows(MARK.len()).any(|part| part == MARK.as_bytes()));
    if names.is_empty() || is_ours() {
        return Ok(());
    }
    let problem = format!("would be replaced as a whole, and has no {SUMMARY} of tidegate; {advice}");
    Err(OutputError::refused(asked, problem))
}

/// Exchanges two folders: in one step where the file system can.
fn exchange(new: &Path, old: &Path) -> io::Result<()> {
    match renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            let mut aside = new.as_os_str().to_owned();
            aside.push("-old");
            fs::rename(old, &aside)?;
            fs::rename(new, old).inspect_err(|_| {
                let _back = fs::rename(&aside, old);
            })?;
            fs::rename(&aside, new)
        }
        exchanged => Ok(exchanged?),
    }
}

pub(crate) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ReportError {
    let path = path.to_owned();
    move |source| ReportError::Io { action, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample_report;
    use tempfile::TempDir;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn write(report: &Report, path: &Path) -> Result<Vec<PathBuf>, ReportError> {
        write_all(report, OutputFolder::create(path)?)
    }

    #[test]
    fn the_folder_holds_all_files_and_no_temporary_one() {
        let scratch = TempDir::new().unwrap();
        let directory = scratch.path().join("new/deeper");
        let paths = write(&sample_report(), &directory).unwrap();
        assert_eq!(
            names(&directory),
            [
                "classes.parquet",
                "distributions.parquet",
                "drops.parquet",
                "flows.parquet",
                "ports.parquet",
                "replications.parquet",
                "report.html",
                "series.parquet",
                "summary.json",
                "workloads.parquet"
            ]
        );
        assert_eq!(names(&scratch.path().join("new")), ["deeper"]);
        assert_eq!(paths.len(), 10);
        assert!(paths.iter().all(|path| path.metadata().unwrap().len() > 0));
    }

    #[test]
    fn the_same_report_gives_the_same_files() {
        let scratch = TempDir::new().unwrap();
        let read = |paths: &[PathBuf]| -> Vec<Vec<u8>> { paths.iter().map(|path| fs::read(path).unwrap()).collect() };
        let report = sample_report();
        let first = read(&write(&report, &scratch.path().join("a")).unwrap());
        let second = read(&write(&report, &scratch.path().join("b")).unwrap());
        assert!(first == second);
    }

    #[test]
    fn results_are_replaced_as_a_whole() {
        let scratch = TempDir::new().unwrap();
        let out = scratch.path().join("out");
        let mut report = sample_report();
        fs::create_dir(&out).unwrap();
        fs::set_permissions(&out, fs::Permissions::from_mode(0o750)).unwrap();
        write(&report, &out).unwrap();
        fs::write(out.join("sent.pcapng"), "of another command").unwrap();
        report.title = "another title".into();
        write(&report, &out).unwrap();
        assert!(fs::read_to_string(out.join("summary.json")).unwrap().contains("another title"));
        assert_eq!(names(&out).len(), 10, "nothing of before is left");
        assert_eq!(fs::metadata(&out).unwrap().permissions().mode() & 0o777, 0o750);
        assert_eq!(names(scratch.path()), ["out"]);
    }

    #[test]
    fn what_is_not_ours_is_not_replaced() {
        let scratch = TempDir::new().unwrap();
        let refused = |name: &str, wanted: &str| {
            let message = OutputFolder::create(&scratch.path().join(name)).unwrap_err().to_string();
            assert!(message.contains(wanted), "{message}");
        };
        fs::create_dir_all(scratch.path().join("mine/deep")).unwrap();
        refused("mine", "holds deep");
        fs::create_dir(scratch.path().join("other")).unwrap();
        fs::write(scratch.path().join("other/summary.json"), "{}").unwrap();
        refused("other", "no summary.json of tidegate");
        fs::write(scratch.path().join("file"), "").unwrap();
        refused("file", "is no folder");
        refused("file/out", "Not a directory");
        std::os::unix::fs::symlink("nowhere", scratch.path().join("link")).unwrap();
        refused("link", "leads nowhere");
        // It came in while the results were computed.
        let out = scratch.path().join("out");
        write(&sample_report(), &out).unwrap();
        let folder = OutputFolder::create(&out).unwrap();
        fs::write(out.join("notes.txt"), "mine").unwrap();
        let message = write_all(&sample_report(), folder).unwrap_err().to_string();
        assert!(message.contains("holds notes.txt"), "{message}");
        assert!(out.join("notes.txt").exists());
        let kept = PathBuf::from(message.rsplit_once("the results are in ").unwrap().1);
        assert_eq!(names(&kept).len(), 10);
    }

    #[test]
    fn a_failure_leaves_what_was_there_and_nothing_else() {
        let scratch = TempDir::new().unwrap();
        let out = scratch.path().join("out");
        let mut report = sample_report();
        write(&report, &out).unwrap();
        report.runs[0].ports[0].offered.packets += 1;
        let error = write(&report, &out).unwrap_err();
        assert!(error.to_string().contains("port `uplink`: offered"), "{error}");
        assert_eq!(names(&out).len(), 10);
        assert_eq!(names(scratch.path()), ["out"]);
    }
}
