//! Reads captures for sources of traffic, and traces of rates, each once per scenario.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_core::classifier::Header;
use tidegate_core::units::Duration;
use tidegate_replay::{Account, Arrivals, CaptureError, CaptureReader};
use tidegate_sim::CapturePacket;
use tidegate_sim::time::LONGEST_DURATION;

/// A capture in memory, and the records left out of it.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub packets: Arc<[CapturePacket]>,
    pub account: Account,
}

/// The captures of one scenario, each read once.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    /// The folder that names are relative to; `None` for a text without a file, which cannot use captures.
    directory: Option<PathBuf>,
    /// True if no capture is opened, and one packet replaces each.
    are_unopened: bool,
    /// By name and `until_damage`.
    read: BTreeMap<(String, bool), Result<Read, String>>,
    /// Text files, by name.
    texts: BTreeMap<String, Result<Arc<str>, String>>,
}

/// The longest text file that is read, in bytes.
const LONGEST_TEXT: u64 = 64_000_000;

impl Captures {
    /// Captures beside the scenario file at `path`.
    pub fn beside(path: &Path) -> Captures {
        Captures { directory: Some(path.parent().unwrap_or(Path::new("")).to_owned()), ..Captures::default() }
    }

    /// Captures beside the scenario file at `path`, which are not opened: one packet replaces each.
    pub fn unopened_beside(path: &Path) -> Captures {
        Captures { are_unopened: true, ..Captures::beside(path) }
    }

    /// The files that were read.
    pub fn files(&self) -> Vec<PathBuf> {
        let names = || self.read.keys().map(|(name, _)| name).chain(self.texts.keys());
        let mut files: Vec<PathBuf> = self.directory.iter().flat_map(|directory| names().map(|name| directory.join(name))).collect();
        files.sort();
        files.dedup();
        files
    }

    /// The packets of the capture of this name, up to damage if `until_damage` is true.
    ///
    /// # Errors
    /// The reason why the capture cannot be read.
    pub fn packets(&mut self, name: &str, until_damage: bool) -> Result<Arc<[CapturePacket]>, String> {
        let Some(directory) = &self.directory else {
            return Err(format!("the capture {name} is looked for beside the scenario file, and this text has no file"));
        };
        let path = directory.join(name);
        let read = self.read.entry((name.to_owned(), until_damage)).or_insert_with(|| {
            if self.are_unopened {
                let packet = CapturePacket { offset: Duration::ZERO, length: 64, header: Header::default() };
                return Ok(Read { packets: [packet].into(), account: Account::default() });
            }
            read(&path, until_damage).map_err(|problem| format!("the capture {} {problem}", path.display()))
        });
        read.clone().map(|read| read.packets)
    }

    /// The text of the trace of this name.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub fn text(&mut self, name: &str) -> Result<Arc<str>, String> {
        let Some(directory) = &self.directory else {
            return Err(format!("the trace {name} is looked for beside the file, and this text has no file"));
        };
        let path = directory.join(name);
        let read = self.texts.entry(name.to_owned()).or_insert_with(|| {
            let mut text = String::new();
            let file = fs::File::open(&path).map_err(|error| format!("the trace {} cannot be opened: {error}", path.display()))?;
            let length = file.take(LONGEST_TEXT + 1).read_to_string(&mut text);
            match length.map_err(|error| format!("the trace {} cannot be read: {error}", path.display()))? as u64 {
                0..=LONGEST_TEXT => Ok(text.into()),
                _ => Err(format!("the trace {} is longer than 64 MB", path.display())),
            }
        });
        read.clone()
    }

    /// The names of the captures that were read, and what was left out of each.
    pub fn accounts(&self) -> Vec<(String, Account)> {
        let account =
            |((name, _), read): (&(String, bool), &Result<Read, String>)| Some((name.clone(), read.as_ref().ok()?.account.clone()));
        self.read.iter().filter_map(account).collect()
    }
}

fn read(path: &Path, until_damage: bool) -> Result<Read, String> {
    let file = fs::File::open(path).map_err(|error| format!("cannot be opened: {error}"))?;
    let unreadable = |error: CaptureError| match error {
        CaptureError::Damaged { .. } => format!("{error}. With until_damage = true in the source, the packets before it are used"),
        error => error.to_string(),
    };
    let reader = CaptureReader::new(BufReader::with_capacity(1 << 18, file));
    let mut reader = reader.map_err(|error| error.to_string())?.until_damage(until_damage);
    let mut arrivals = Arrivals::new(&mut reader, |_, _| true);
    let mut first = None;
    let mut packets = Vec::new();
    while let Some(arrival) = arrivals.next(&mut |_| ()).map_err(unreadable)? {
        let offset = arrival.nanoseconds.abs_diff(*first.get_or_insert(arrival.nanoseconds));
        if offset > LONGEST_DURATION.picoseconds() / 1000 {
            return Err(format!("spans {} days or more, and at most 26 can be simulated", offset / 86_400_000_000_000));
        }
        packets.push(CapturePacket { offset: Duration::from_nanoseconds(offset), length: arrival.record.length, header: arrival.header });
    }
    if packets.is_empty() {
        let notes = arrivals.account().notes();
        return Err(if notes.is_empty() { "holds no packet".into() } else { format!("holds no packet. {}", notes.join(" ")) });
    }
    Ok(Read { packets: packets.into(), account: arrivals.account() })
}
