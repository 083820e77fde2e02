//! Reads captures for sources of traffic, each once per scenario.

use crate::texts::Texts;
use std::collections::BTreeMap;
use std::fs;
use std::io::BufReader;
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

/// The captures and the texts of one scenario, each read once.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    /// Text files, which have the folder of the captures.
    pub texts: Texts,
    /// True if no capture is opened, and one packet replaces each.
    are_unopened: bool,
    /// By name and `until_damage`.
    read: BTreeMap<(String, bool), Result<Read, String>>,
}

impl Captures {
    /// Captures beside the scenario file at `path`.
    pub fn beside(path: &Path) -> Captures {
        Captures { texts: Texts::beside(path), ..Captures::default() }
    }

    /// Captures beside the scenario file at `path`, which are not opened: one packet replaces each.
    pub fn unopened_beside(path: &Path) -> Captures {
        Captures { are_unopened: true, ..Captures::beside(path) }
    }

    /// Captures that are not opened, and these texts.
    pub fn unopened_with(texts: Texts) -> Captures {
        Captures { are_unopened: true, texts, ..Captures::default() }
    }

    /// The files that were read.
    pub fn files(&self) -> Vec<PathBuf> {
        let names = || self.read.keys().map(|(name, _)| name).chain(self.texts.names());
        let mut files: Vec<PathBuf> = self.texts.folder().into_iter().flat_map(|folder| names().map(|name| folder.join(name))).collect();
        files.sort();
        files.dedup();
        files
    }

    /// The packets of the capture of this name, up to damage if `until_damage` is true.
    ///
    /// # Errors
    /// The reason why the capture cannot be read.
    pub fn packets(&mut self, name: &str, until_damage: bool) -> Result<Arc<[CapturePacket]>, String> {
        let folder = self.texts.folder();
        let path = folder.map(|folder| folder.join(name));
        let read = self.read.entry((name.to_owned(), until_damage)).or_insert_with(|| {
            if self.are_unopened {
                let packet = CapturePacket { offset: Duration::ZERO, length: 64, header: Header::default() };
                return Ok(Read { packets: [packet].into(), account: Account::default() });
            }
            let Some(path) = path else {
                return Err(format!("the capture {name} is looked for beside the scenario file, and this text has no file"));
            };
            read(&path, until_damage).map_err(|problem| format!("the capture {} {problem}", path.display()))
        });
        read.clone().map(|read| read.packets)
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
