//! Writes the whole folder: every file under a temporary name first, then all of them renamed into place.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::columnar;
use crate::error::ReportError;
use crate::html::report_html;
use crate::json::summary_json;
use crate::model::Report;
use crate::parquet_tables;

/// Writes `summary.json`, the Parquet tables and `report.html` into `directory`, which is made if it is missing.
///
/// Files of the same names are replaced, others are left alone. Nothing is renamed before everything is written, and
/// temporary files are removed after a failure, so no half-written file is ever left under its final name.
///
/// Returns the paths of the files in the order they were written, the page last.
///
/// # Errors
/// What [`Report::validate`] finds, before anything is written; [`ReportError::Io`] or [`ReportError::Parquet`] with
/// the path if the file system refuses.
pub fn write_all(report: &Report, directory: &Path) -> Result<Vec<PathBuf>, ReportError> {
    report.validate()?;
    fs::create_dir_all(directory).map_err(io_error("create the directory", directory))?;
    let mut files = TemporaryFiles::new(directory);
    files.write("summary.json", summary_json(report).as_bytes())?;
    for (name, columns) in parquet_tables::tables(report) {
        let path = files.temporary(name);
        let sink = File::create(&path).map_err(io_error("create", &path))?;
        let sink = columnar::write(&columns, BufWriter::new(sink))
            .map_err(|source| ReportError::Parquet { path: directory.join(name), source })?;
        sink.into_inner().map_err(|error| io_error("write", &path)(error.into_error()))?;
    }
    files.write("report.html", report_html(report).as_bytes())?;
    files.rename_all()
}

/// Files under temporary names, which are removed when this is dropped unless they were renamed.
pub(crate) struct TemporaryFiles<'a> {
    directory: &'a Path,
    names: Vec<&'static str>,
}

impl<'a> TemporaryFiles<'a> {
    pub(crate) fn new(directory: &'a Path) -> Self {
        Self { directory, names: Vec::new() }
    }

    /// The temporary path of `name`, which from now on is cleaned up. The process id keeps two commands that write to
    /// one directory apart.
    pub(crate) fn temporary(&mut self, name: &'static str) -> PathBuf {
        self.names.push(name);
        self.path_of(name)
    }

    fn path_of(&self, name: &str) -> PathBuf {
        self.directory.join(format!(".{name}.{}.part", std::process::id()))
    }

    pub(crate) fn write(&mut self, name: &'static str, bytes: &[u8]) -> Result<(), ReportError> {
        let path = self.temporary(name);
        File::create(&path).and_then(|mut file| file.write_all(bytes)).map_err(io_error("write", &path))
    }

    pub(crate) fn rename_all(mut self) -> Result<Vec<PathBuf>, ReportError> {
        let mut paths = Vec::new();
        for name in &self.names {
            let path = self.directory.join(name);
            fs::rename(self.path_of(name), &path).map_err(io_error("rename into", &path))?;
            paths.push(path);
        }
        self.names.clear();
        Ok(paths)
    }
}

impl Drop for TemporaryFiles<'_> {
    fn drop(&mut self) {
        for name in &self.names {
            // The file may never have been made; the error that led here is the one worth telling.
            let _ = fs::remove_file(self.path_of(name));
        }
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

    /// A new directory, removed at the end of the test.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("tidegate-report-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn names(&self, below: &str) -> Vec<String> {
            let mut names: Vec<String> =
                fs::read_dir(self.0.join(below)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_folder_holds_all_files_and_no_temporary_one() {
        let scratch = Scratch::new("all");
        let directory = scratch.0.join("new/deeper");
        let paths = write_all(&sample_report(), &directory).unwrap();
        assert_eq!(
            scratch.names("new/deeper"),
            [
                "classes.parquet",
                "distributions.parquet",
                "drops.parquet",
                "flows.parquet",
                "ports.parquet",
                "report.html",
                "series.parquet",
                "summary.json"
            ]
        );
        assert_eq!(paths.len(), 8);
        assert!(paths.iter().all(|path| path.metadata().unwrap().len() > 0));
    }

    #[test]
    fn the_same_report_gives_the_same_files() {
        let scratch = Scratch::new("same");
        let read = |paths: &[PathBuf]| -> Vec<Vec<u8>> { paths.iter().map(|path| fs::read(path).unwrap()).collect() };
        let report = sample_report();
        let first = read(&write_all(&report, &scratch.0.join("a")).unwrap());
        let second = read(&write_all(&report, &scratch.0.join("b")).unwrap());
        assert!(first == second);
    }

    #[test]
    fn writing_twice_replaces_and_leaves_other_files_alone() {
        let scratch = Scratch::new("twice");
        fs::write(scratch.0.join("mine.txt"), "mine").unwrap();
        let mut report = sample_report();
        write_all(&report, &scratch.0).unwrap();
        report.title = "another title".into();
        write_all(&report, &scratch.0).unwrap();
        assert!(fs::read_to_string(scratch.0.join("summary.json")).unwrap().contains("another title"));
        assert_eq!(fs::read_to_string(scratch.0.join("mine.txt")).unwrap(), "mine");
        assert_eq!(scratch.names("").len(), 9);
    }

    #[test]
    fn a_contradiction_stops_before_anything_is_written() {
        let scratch = Scratch::new("contradiction");
        let mut report = sample_report();
        report.runs[0].ports[0].offered.packets += 1;
        let error = write_all(&report, &scratch.0.join("out")).unwrap_err();
        assert!(matches!(error, ReportError::Unbalanced { ref port, .. } if port == "uplink"), "{error}");
        assert!(scratch.names("").is_empty());
    }

    #[test]
    fn a_failure_leaves_no_temporary_file() {
        let scratch = Scratch::new("failure");
        // A directory stands where the page belongs: the rename onto it fails.
        fs::create_dir(scratch.0.join("report.html")).unwrap();
        let error = write_all(&sample_report(), &scratch.0).unwrap_err();
        assert!(error.to_string().contains("report.html"), "{error}");
        assert!(scratch.names("").iter().all(|name| !name.ends_with(".part")));
    }

    #[test]
    fn a_file_in_place_of_the_directory_is_named() {
        let scratch = Scratch::new("file");
        let path = scratch.0.join("out");
        fs::write(&path, "").unwrap();
        let error = write_all(&sample_report(), &path).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("cannot create the directory"), "{message}");
        assert!(message.contains(&path.display().to_string()), "{message}");
    }
}
