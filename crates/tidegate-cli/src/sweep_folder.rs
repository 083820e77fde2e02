//! The folder of a sweep: one table per point, and the points that are still missing.

use std::io;
use std::path::{Path, PathBuf};

/// The folder of the points within that of the sweep.
pub const POINTS: &str = "points";

/// The table of a point, from 1, in the folder of a sweep. It has this name only once it is complete.
pub fn part(folder: &Path, point: usize) -> PathBuf {
    folder.join(POINTS).join(format!("point-{point:05}.parquet"))
}

/// The tables of all points that are there, in their order.
pub fn parts(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let is_part =
        |name: &str| name.strip_prefix("point-").and_then(|rest| rest.strip_suffix(".parquet")).is_some_and(|n| n.parse::<u32>().is_ok());
    let mut parts = Vec::new();
    for entry in std::fs::read_dir(folder.join(POINTS))? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(is_part) {
            parts.push(entry.path());
        }
    }
    parts.sort();
    Ok(parts)
}
