//! `tidegate ctl capture`: packets of a class of a running bridge, into a capture file or as lines of JSON.

use crate::failure::Failure;
use crate::log;
use crate::present::print;
use crate::signals;
use clap::Args;
use serde_json::{Value, json};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tidegate_control::protocol::{AskedCapture, AskedCaptured, CaptureStarted, CapturedPacket, CapturedPackets};
use tidegate_control::{Answer, Request};
use tidegate_replay::{CaptureWriter, Interface};
use tidegate_scenario::units;
use tidegate_wire::LinkType;

/// The time between two questions when there were no packets.
const PAUSE: Duration = Duration::from_millis(100);

/// What `tidegate ctl capture` takes.
#[derive(Args)]
pub struct CaptureArguments {
    /// The class
    class: String,
    /// The file, as pcapng. What was dropped has a comment with the reason. May be left out with --json, which prints a line per packet
    #[arg(long, short, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Stop after this many packets
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Stop after this long, such as "30 s"; Ctrl-C stops as well
    #[arg(long = "for", value_name = "DURATION", value_parser = units::duration)]
    time: Option<tidegate_core::units::Duration>,
    /// At most this many bytes of each packet
    #[arg(long, value_name = "BYTES", default_value_t = 262_144)]
    longest: u32,
}

/// Runs the command; `ask` brings a request to the bridge. With `json` packets are printed, too, and at the end how many there were.
pub fn run(arguments: &CaptureArguments, json: bool, mut ask: impl FnMut(Request) -> Result<Answer, Failure>) -> Result<ExitCode, Failure> {
    if arguments.write.is_none() && !json {
        return Err(Failure::BadInput(
            "error: a capture needs a file\n  give one with --write FILE, or print packets with --json".to_owned(),
        ));
    }
    let wrong = || Failure::Defect("another answer than was asked for".to_owned());
    let stop = signals::requests()?.stop;
    let Answer::Capture(CaptureStarted { capture, directions }) =
        ask(Request::Capture(AskedCapture { class: arguments.class.clone(), longest: arguments.longest }))?
    else {
        return Err(wrong());
    };
    let failed = |error: std::io::Error| Failure::file(arguments.write.as_deref().unwrap_or(Path::new("")), "written", &error);
    let open = |path: &PathBuf| {
        let output = BufWriter::new(File::create(path)?);
        CaptureWriter::new(output, &format!("class {} of a running bridge", arguments.class))
    };
    let mut writer = arguments.write.as_ref().map(open).transpose().map_err(failed)?;
    let interfaces: Vec<Interface> = directions
        .iter()
        .map(|[from, to]| Interface { link_type: 1, link: LinkType::Ethernet, name: Some(format!("{from} > {to}")) })
        .collect();
    let deadline = arguments.time.map(|time| Instant::now() + Duration::from_nanos(time.picoseconds() / 1000));
    let (mut dropped, mut all) = (0, 0);
    let lost = loop {
        let full = |all: u64| arguments.count.is_some_and(|count| all >= count);
        let end = stop.load(Ordering::Relaxed) || full(all) || deadline.is_some_and(|deadline| deadline <= Instant::now());
        let Answer::Captured(CapturedPackets { packets, lost }) = ask(Request::Captured(AskedCaptured { capture, end }))? else {
            return Err(wrong());
        };
        let is_quiet = packets.is_empty();
        for packet in packets {
            if full(all) {
                break;
            }
            if json {
                print(&as_json(&packet, directions.get(packet.direction).ok_or_else(wrong)?).to_string())?;
            }
            if let Some(writer) = &mut writer {
                let bytes = bytes_of(&packet.bytes).ok_or_else(wrong)?;
                let comment = packet.dropped.as_ref().map(|reason| format!("dropped: {reason}"));
                let at = i64::try_from(packet.unix_ns).unwrap_or(i64::MAX);
                writer.write(&interfaces, packet.direction, at, packet.length, &bytes, comment.as_deref()).map_err(failed)?;
            }
            all += 1;
            dropped += u64::from(packet.dropped.is_some());
        }
        if end {
            break lost;
        }
        if is_quiet {
            std::thread::sleep(PAUSE);
        }
    };
    writer.map(CaptureWriter::finish).transpose().map_err(failed)?;
    if json {
        print(&json!({ "captured": { "packets": all, "dropped": dropped, "lost": lost } }).to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    let lost = if lost > 0 { format!("; {lost} more were lost, because they came faster than they were fetched") } else { String::new() };
    log::line(&format!("{all} packets written, {dropped} of them dropped by the bridge{lost}"));
    Ok(ExitCode::SUCCESS)
}

/// A packet in a line.
fn as_json(CapturedPacket { direction: _, unix_ns, length, dropped, bytes }: &CapturedPacket, [from, to]: &[String; 2]) -> Value {
    json!({ "packet": { "from": from, "to": to, "unix_ns": unix_ns, "length": length, "dropped": dropped, "bytes": bytes } })
}

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.as_bytes().chunks(2).map(byte).collect()
}
