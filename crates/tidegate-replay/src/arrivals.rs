//! A capture as the arrivals of a port, and the account of what was left out of them or changed.
//!
//! One rule for every world: packets arrive in the order of the file. A packet whose stamp is before that of an earlier packet arrives at the latest stamp
//! before it. Records of length 0 are no packets.

use crate::capture::{CaptureError, CaptureReader, Ending, Interface, Oddities, Record};
use std::collections::BTreeMap;
use std::io::BufRead;
use tidegate_core::classifier::{Header, Network};
use tidegate_wire::{LinkType, parse};

/// One packet that arrives.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// When, in nanoseconds since 1970; never before the arrival before it.
    pub nanoseconds: i64,
    /// Its number in the capture, from 0.
    pub number: u64,
    /// What rules see of it.
    pub header: Header,
    /// The captured packet, with its own stamp.
    pub record: Record,
}

/// The arrivals that a capture holds, one after the other.
pub struct Arrivals<'c, R: BufRead, T> {
    capture: &'c mut CaptureReader<R>,
    takes: T,
    latest: Option<i64>,
    account: Account,
}

impl<'c, R: BufRead, T: Fn(usize, &Interface) -> bool> Arrivals<'c, R, T> {
    /// The packets of those interfaces of the capture that `takes` accepts.
    pub fn new(capture: &'c mut CaptureReader<R>, takes: T) -> Arrivals<'c, R, T> {
        Arrivals { capture, takes, latest: None, account: Account::default() }
    }

    /// The interfaces met so far.
    pub fn interfaces(&self) -> &[Interface] {
        self.capture.interfaces()
    }

    /// The next packet, or `None` at the end. `progress` sees every record.
    ///
    /// # Errors
    /// [`CaptureError`] if the capture cannot be read on.
    pub fn next(&mut self, progress: &mut impl FnMut(&Record)) -> Result<Option<Arrival>, CaptureError> {
        while let Some(record) = self.capture.next_record()? {
            progress(&record);
            let account = &mut self.account;
            let number = account.records;
            account.records += 1;
            let interface = &self.capture.interfaces()[record.interface];
            if !(self.takes)(record.interface, interface) {
                account.other_interfaces += 1;
                continue;
            }
            if record.length == 0 {
                account.empty += 1;
                continue;
            }
            // The capture may hold a part of the packet.
            let header = Header { length: record.length, ..parse(interface.link, &record.data) };
            if matches!(header.network, Network::Other) {
                *account.unseen.entry((interface.link_type, header.ethernet_type)).or_default() += 1;
            }
            let latest = self.latest.map_or(record.nanoseconds, |latest| latest.max(record.nanoseconds));
            self.latest = Some(latest);
            account.disorder.add(latest.abs_diff(record.nanoseconds));
            return Ok(Some(Arrival { nanoseconds: latest, number, header, record }));
        }
        Ok(None)
    }

    /// What was left out or changed so far.
    pub fn account(&self) -> Account {
        let ending = self.capture.ending().cloned().unwrap_or_default();
        Account { ending, oddities: self.capture.oddities(), ..self.account.clone() }
    }
}

/// Time stamps that ran backwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Disorder {
    /// Packets whose stamp is before that of an earlier packet; they arrive at the later instant.
    pub packets: u64,
    /// The largest step backwards, in nanoseconds.
    pub largest_nanoseconds: u64,
}

impl Disorder {
    fn add(&mut self, step: u64) {
        self.packets += u64::from(step > 0);
        self.largest_nanoseconds = self.largest_nanoseconds.max(step);
    }
}

/// What was read of a capture, what was left out, and what rules could not look into.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Account {
    /// Records that hold a packet, of all interfaces and lengths.
    pub records: u64,
    /// Packets of interfaces that were not chosen.
    pub other_interfaces: u64,
    /// Records of length 0 among the chosen interfaces.
    pub empty: u64,
    /// Stamps that ran backwards.
    pub disorder: Disorder,
    /// Packets in which rules see no IP header, by link type and Ethernet type.
    pub unseen: BTreeMap<(u32, u16), u64>,
    /// How the file ended.
    pub ending: Ending,
    /// What was passed over in reading.
    pub oddities: Oddities,
}

impl Account {
    /// The packets that arrive.
    pub fn packets(&self) -> u64 {
        self.records - self.other_interfaces - self.empty
    }

    /// One sentence for everything that the reader of a result should know of it.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        match &self.ending {
            Ending::Whole => {}
            Ending::Cut { place, unread } => notes.push(format!(
                "The capture ends in the middle of {place}: the last {} of it {} not read. Everything before was.",
                counted(*unread, "byte"),
                if *unread == 1 { "was" } else { "were" }
            )),
            Ending::Damaged { place, problem, unread } => notes.push(format!(
                "The capture is damaged at {place}: {problem}. {} from there on {} not read. Everything before was.",
                counted(*unread, "byte"),
                if *unread == 1 { "was" } else { "were" }
            )),
        }
        let mut add = |count: u64, what: &str, outcome: &str| {
            if count > 0 {
                notes.push(format!("{} {outcome}.", counted(count, what)));
            }
        };
        add(self.other_interfaces, "packet", "of other interfaces left out");
        add(self.empty, "record", "of length 0 left out");
        add(self.oddities.blocks, "block", "of an unknown kind passed over");
        add(self.oddities.options, "block", "had an option that makes no sense; it was ignored");
        add(self.oddities.stamps, "packet", "had a time stamp more than 285 years from 1970; it counts as 285 years");
        add(self.oddities.broken_frames, "frame", "of ATM cells left out, because a cell was lost or damaged");
        add(self.oddities.damaged_cells, "ATM cell", "left out, with a damaged header or another length than 53 bytes");
        add(self.oddities.other_cells, "ATM cell", "without user data left out");
        if self.disorder.packets > 0 {
            notes.push(format!(
                "{} had a time stamp before that of an earlier packet, by up to {}; each arrived at the latest time before it.",
                counted(self.disorder.packets, "packet"),
                duration(self.disorder.largest_nanoseconds)
            ));
        }
        if !self.unseen.is_empty() {
            notes.push(self.unseen_note());
        }
        notes
    }

    fn unseen_note(&self) -> String {
        const NAMED: usize = 6;
        let total: u64 = self.unseen.values().sum();
        let mut kinds: Vec<_> = self.unseen.iter().collect();
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let mut named: Vec<String> =
            kinds.iter().take(NAMED).map(|((link, kind), count)| format!("{count} {}", kind_name(*link, *kind))).collect();
        let others: u64 = kinds.iter().skip(NAMED).map(|(_, count)| **count).sum();
        if others > 0 {
            named.push(format!("{others} of other kinds"));
        }
        format!("No rule could look into {} for an IP header: {}.", counted(total, "packet"), named.join(", "))
    }
}

/// What a packet without a readable IP header is.
fn kind_name(link_type: u32, ethernet_type: u16) -> String {
    let link = match LinkType::from_number(link_type) {
        LinkType::Ethernet => String::new(),
        _ => format!("of link type {link_type}"),
    };
    let kind = match ethernet_type {
        0 => return if link.is_empty() { "of Ethernet, cut off before its type".into() } else { link },
        1..0x0600 => "with an 802.3 length (LLC)".into(),
        0x0800 => "of type 0x0800 (IPv4, cut off or damaged)".into(),
        0x86dd => "of type 0x86dd (IPv6, cut off or damaged)".into(),
        0x0806 => "of type 0x0806 (ARP)".into(),
        0x8847 | 0x8848 => format!("of type {ethernet_type:#06x} (MPLS)"),
        0x8863 | 0x8864 => format!("of type {ethernet_type:#06x} (PPPoE)"),
        0x88cc => "of type 0x88cc (LLDP)".into(),
        0x888e => "of type 0x888e (EAPOL)".into(),
        _ => format!("of type {ethernet_type:#06x}"),
    };
    if link.is_empty() { kind } else { format!("{link} {kind}") }
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn duration(nanoseconds: u64) -> String {
    match nanoseconds {
        0..1_000 => format!("{nanoseconds} ns"),
        1_000..1_000_000 => format!("{} us", nanoseconds as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{} ms", nanoseconds as f64 / 1e6),
        _ => format!("{} s", nanoseconds as f64 / 1e9),
    }
}
