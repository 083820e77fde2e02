//! Captures as sources of traffic.

use std::collections::HashMap;
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_core::units::Duration;
use tidegate_replay::CaptureReader;
use tidegate_sim::CapturePacket;
use tidegate_sim::network::LONGEST;

/// The captures of one scenario, each read once.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    /// Where names are relative to; `None` for a text that is no file, which cannot name one.
    directory: Option<PathBuf>,
    read: HashMap<String, Result<Arc<[CapturePacket]>, String>>,
}

impl Captures {
    /// Captures beside the scenario file at `path`.
    pub fn beside(path: &Path) -> Captures {
        Captures { directory: Some(path.parent().unwrap_or(Path::new("")).to_owned()), read: HashMap::new() }
    }

    /// The files that were read.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> =
            self.directory.iter().flat_map(|directory| self.read.keys().map(|name| directory.join(name))).collect();
        files.sort();
        files
    }

    /// The packets of the capture of this name.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn packets(&mut self, name: &str) -> Result<Arc<[CapturePacket]>, String> {
        let Some(directory) = &self.directory else {
            return Err(format!("the capture {name} is looked for beside the scenario file, and this text has no file"));
        };
        let path = directory.join(name);
        self.read
            .entry(name.to_owned())
            .or_insert_with(|| read(&path).map_err(|problem| format!("the capture {}: {problem}", path.display())))
            .clone()
    }
}

fn read(path: &Path) -> Result<Arc<[CapturePacket]>, String> {
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    let mut reader = CaptureReader::new(BufReader::new(file)).map_err(|error| error.to_string())?;
    let mut records = Vec::new();
    while let Some(record) = reader.next_record().map_err(|error| error.to_string())? {
        let header = tidegate_wire::parse(reader.interfaces()[record.interface].link, &record.data);
        if record.length > 0 {
            records.push((record.nanoseconds, record.length, header));
        }
    }
    let first = records.iter().map(|record| record.0).min().ok_or("it holds no packet")?;
    // Interfaces of one capture are not always written in step.
    records.sort_by_key(|record| record.0);
    let last = records.last().map_or(0, |record| record.0 - first);
    if last > LONGEST.picoseconds() / 1000 {
        return Err(format!("it spans {} days, and at most 26 can be simulated", last / 86_400_000_000_000));
    }
    let packet = |(nanoseconds, length, header)| CapturePacket { offset: Duration::from_nanoseconds(nanoseconds - first), length, header };
    Ok(records.into_iter().map(packet).collect())
}
