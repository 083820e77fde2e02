//! Builds the sources of traffic.

use crate::choice::{Holding as HoldingName, SourceKind};
use crate::diagnostic::{Diagnostic, Span, alternatives};
use crate::document::SourceTable;
use crate::promise::about;
use crate::units::{plural, print_duration, print_rate, print_size};
use crate::value::{At, Block, Bytes};
use std::sync::Arc;
use tidegate_core::units::{Duration, MAX_BYTES, Overhead, PICOSECONDS_PER_SECOND, Rate};
use tidegate_sim::source::{Capture, Cbr, FrameTrace, Greedy, OnOff, Poisson};
use tidegate_sim::{CapturePacket, Holding, LengthDistribution, Remainder, Source};

/// Reads the capture of this name, up to damage if the second argument is true; an error is the reason.
pub(crate) type ReadCapture<'a> = dyn FnMut(&str, bool) -> Result<Arc<[CapturePacket]>, String> + 'a;

/// The default number of packets that a greedy source keeps queued.
const USUAL_WINDOW: u32 = 10;

/// Builds the source of a flow. `None` if it reports an error.
pub(crate) fn source(table: &Block<SourceTable>, capture: &mut ReadCapture<'_>, findings: &mut Vec<Diagnostic>) -> Option<Source> {
    let before = findings.len();
    judge_keys(table, findings);
    if findings.len() > before {
        return None;
    }
    let built = build(table, capture, findings)?;
    if findings.len() > before {
        return None;
    }
    if let Err(fault) = built.check() {
        let span = span_of(table, fault.key).unwrap_or(table.span.clone());
        findings.push(Diagnostic::error(span, format!("the source: {}", fault.problem)).help(format!("expected {}", fault.expected)));
        return None;
    }
    Some(built)
}

/// The keys of each kind: required ones (one of each group), and optional ones.
const fn keys(kind: SourceKind) -> (&'static [&'static [&'static str]], &'static [&'static str]) {
    match kind {
        SourceKind::Cbr => (&[&["rate", "interval"], &["packet"]], &["random_phase"]),
        SourceKind::Poisson => (&[&["rate"], &["packet", "mean_packet", "packet_mix"]], &[]),
        SourceKind::OnOff => (&[&["peak"], &["packet"], &["on"], &["off"]], &["holding", "pareto_shape"]),
        SourceKind::FrameTrace => (&[&["sizes"], &["interval"], &["packet"]], &["random_phase"]),
        SourceKind::Capture => (&[&["file"]], &["until_damage"]),
        SourceKind::Greedy => (&[&["packet"]], &["window"]),
        SourceKind::Tcp => (&[], SourceTable::KEYS),
    }
}

fn span_of(table: &SourceTable, key: &str) -> Option<Span> {
    // Fields of the simulator whose keys in files have other names.
    let key = match key {
        "length" | "packet_length" => "packet",
        "frames" => "sizes",
        "packets" => "file",
        "window" if table.kind.value == SourceKind::Tcp => "receive_window",
        "transfer_shape" => "pareto_shape",
        key => key,
    };
    table.given().into_iter().find(|entry| entry.0 == key).map(|entry| entry.1)
}

fn judge_keys(table: &Block<SourceTable>, findings: &mut Vec<Diagnostic>) {
    let kind = table.kind.value;
    let (needed, optional) = keys(kind);
    let given = table.given();
    for (key, span) in &given {
        if !needed.iter().any(|group| group.contains(key)) && !optional.contains(key) {
            let finding = Diagnostic::error(span.clone(), format!("`{key}` is not used by a {} source", kind.name()));
            let known = needed.iter().flat_map(|group| group.iter()).chain(optional).copied();
            findings.push(
                finding
                    .context(table.kind.span.clone(), "chosen here")
                    .help(format!("it uses {}", alternatives(known).replace(" or ", " and "))),
            );
        }
    }
    for group in needed {
        let present: Vec<&(&str, Span)> = given.iter().filter(|(key, _)| group.contains(key)).collect();
        match present.as_slice() {
            [] => {
                findings.push(table.kind.error(format!("a {} source lacks {}", kind.name(), alternatives(group.iter().copied()))));
            }
            [_] => {}
            [first, second, ..] => {
                let finding = Diagnostic::error(second.1.clone(), format!("`{}` and `{}` say the same thing twice", first.0, second.0));
                findings.push(finding.context(first.1.clone(), "also said here").help("keep one of them"));
            }
        }
    }
}

/// Builds the source from a table that has all required keys.
fn build(table: &SourceTable, capture: &mut ReadCapture<'_>, findings: &mut Vec<Diagnostic>) -> Option<Source> {
    let packet = table.packet.as_ref().and_then(|at| length(at, findings));
    let random_phase = table.random_phase.as_ref().is_none_or(|at| at.value);
    match table.kind.value {
        SourceKind::Cbr => {
            let length = packet?;
            let rate = match (&table.rate, &table.interval) {
                (Some(rate), _) => rate.value,
                (None, Some(interval)) => one_per_interval(length, interval, findings)?,
                (None, None) => return None,
            };
            Some(Source::Cbr(Cbr { rate, length, random_phase }))
        }
        SourceKind::Poisson => {
            let length = lengths(table, packet, findings)?;
            let packets_per_second = table.rate.as_ref()?.value.bits_per_second() as f64 / (8.0 * length.mean());
            Some(Source::Poisson(Poisson { packets_per_second, length }))
        }
        SourceKind::OnOff => {
            let name = table.holding.as_ref().map_or(HoldingName::Exponential, |at| at.value);
            match (&table.pareto_shape, name) {
                (Some(at), HoldingName::Pareto) if at.as_f64() <= 1.0 => {
                    findings.push(at.error("a Pareto shape of 1 or less has no mean").help("write a shape above 1, like 1.5"));
                }
                (None, HoldingName::Pareto) => {
                    let span = table.holding.as_ref().map_or(table.kind.span.clone(), |at| at.span.clone());
                    findings.push(
                        Diagnostic::error(span, "pareto periods need `pareto_shape`").help("add pareto_shape = 1.5, or any number above 1"),
                    );
                }
                (Some(at), _) if name != HoldingName::Pareto => {
                    findings.push(
                        at.error("`pareto_shape` has no effect on periods that are not pareto")
                            .help("set holding = \"pareto\", or remove it"),
                    );
                }
                _ => {}
            }
            let shape = table.pareto_shape.as_ref().map_or(0.0, |at| at.as_f64());
            let holding = |mean: Duration| match name {
                HoldingName::Exponential => Holding::Exponential { mean },
                HoldingName::Pareto => Holding::Pareto { mean, shape },
                HoldingName::Constant => Holding::Constant { time: mean },
            };
            let (on, off) = (holding(table.on.as_ref()?.value), holding(table.off.as_ref()?.value));
            Some(Source::OnOff(OnOff { peak: table.peak.as_ref()?.value, length: packet?, on, off, remainder: Remainder::Carried }))
        }
        SourceKind::FrameTrace => {
            let sizes = table.sizes.as_ref()?;
            let frames: Option<Vec<u32>> = sizes.value.iter().map(|at| frame_size(at, findings)).collect();
            Some(Source::FrameTrace(FrameTrace {
                frames: frames?.into(),
                interval: table.interval.as_ref()?.value,
                packet_length: packet?,
                random_start: random_phase,
            }))
        }
        SourceKind::Capture => {
            let file = table.file.as_ref()?;
            let until_damage = table.until_damage.as_ref().is_some_and(|at| at.value);
            match capture(&file.0, until_damage) {
                Ok(packets) => Some(Source::Capture(Capture { packets })),
                Err(problem) => {
                    findings.push(file.error(problem));
                    None
                }
            }
        }
        SourceKind::Greedy => {
            let window = table.window.as_ref().map_or(USUAL_WINDOW, |at| u32::try_from(at.0).unwrap_or(u32::MAX));
            Some(Source::Greedy(Greedy { length: packet?, window }))
        }
        SourceKind::Tcp => crate::tcp::tcp(table, findings).map(|tcp| Source::Tcp(Box::new(tcp))),
    }
}

fn lengths(table: &SourceTable, packet: Option<u32>, findings: &mut Vec<Diagnostic>) -> Option<LengthDistribution> {
    if let Some(mean) = &table.mean_packet {
        return length(mean, findings).map(|mean| LengthDistribution::Exponential { mean: f64::from(mean) });
    }
    if let Some(mix) = &table.packet_mix {
        if mix.value.is_empty() {
            findings.push(mix.error("the mix is empty").help("list at least one { packet = \"64 B\", weight = 1 }"));
            return None;
        }
        let entries: Option<Vec<(u32, f64)>> =
            mix.value.iter().map(|entry| Some((length(&entry.packet, findings)?, entry.weight.value.0 as f64))).collect();
        return entries.map(|entries| LengthDistribution::Empirical(entries.into()));
    }
    packet.map(LengthDistribution::Fixed)
}

fn length(at: &At<Bytes>, findings: &mut Vec<Diagnostic>) -> Option<u32> {
    match at.value.0 {
        0 => {
            findings.push(at.error("a packet has at least one byte"));
            None
        }
        bytes if bytes > 65_535 => {
            let problem = format!("a packet of {} is longer than any IP packet", print_size(bytes));
            findings.push(at.error(problem).help("at most 65535 B; Ethernet carries 1518 B"));
            None
        }
        bytes => Some(bytes as u32),
    }
}

fn frame_size(at: &At<Bytes>, findings: &mut Vec<Diagnostic>) -> Option<u32> {
    if at.value.0 > u64::from(MAX_BYTES) {
        findings.push(at.error("a video frame has less than 2^30 bytes"));
    }
    u32::try_from(at.value.0).ok()
}

/// The rate of one packet per interval, to the nearest bit per second.
fn one_per_interval(length: u32, interval: &At<Duration>, findings: &mut Vec<Diagnostic>) -> Option<Rate> {
    let picoseconds = u128::from(interval.value.picoseconds());
    let bits = u128::from(length) * 8 * u128::from(PICOSECONDS_PER_SECOND);
    let rate =
        (bits + picoseconds / 2).checked_div(picoseconds).and_then(|bps| u64::try_from(bps).ok()).and_then(|bps| Rate::new(bps).ok());
    if rate.is_none() {
        let problem = format!("a packet of {} in each such interval is outside 1 kbit/s to 400 Gbit/s", print_size(u64::from(length)));
        findings.push(interval.error(problem));
    }
    rate
}

/// The longest packet of the source, and the place of its length. `None` if there is no bound.
pub(crate) fn longest_packet(source: &Source, table: &SourceTable) -> Option<(u32, Span)> {
    let at = |key| span_of(table, key).unwrap_or(table.kind.span.clone());
    match source {
        Source::Cbr(Cbr { length, .. }) | Source::OnOff(OnOff { length, .. }) | Source::Greedy(Greedy { length, .. }) => {
            Some((*length, at("packet")))
        }
        Source::FrameTrace(FrameTrace { packet_length, .. }) => Some((*packet_length, at("packet"))),
        Source::Tcp(tcp) => Some((tcp.frame(), at("segment"))),
        Source::Poisson(Poisson { length: LengthDistribution::Fixed(length), .. }) => Some((*length, at("packet"))),
        Source::Poisson(Poisson { length: LengthDistribution::Empirical(mix), .. }) => {
            mix.iter().map(|entry| entry.0).max().map(|longest| (longest, at("packet_mix")))
        }
        Source::Poisson(_) | Source::Capture(_) => None,
    }
}

/// The mean rate of the source on a link with this overhead, in bit/s; `None` for a source that adapts to the link.
pub(crate) fn wire_rate(source: &Source, overhead: Overhead) -> Option<f64> {
    let mean = source.mean_bits_per_second()?;
    let factor = |length: f64| f64::from(overhead.wire_length(length.round() as u32)) / length;
    Some(match source {
        Source::Cbr(Cbr { length, .. }) | Source::OnOff(OnOff { length, .. }) | Source::Greedy(Greedy { length, .. }) => {
            mean * factor(f64::from(*length))
        }
        Source::Poisson(Poisson { length: LengthDistribution::Empirical(mix), .. }) => {
            let (mut frames, mut wire) = (0.0, 0.0);
            for (length, weight) in mix.iter() {
                frames += f64::from(*length) * weight;
                wire += f64::from(overhead.wire_length(*length)) * weight;
            }
            mean * wire / frames
        }
        Source::Poisson(Poisson { length, .. }) => mean * factor(length.mean()),
        Source::Tcp(tcp) => mean * factor(f64::from(tcp.frame())),
        Source::FrameTrace(FrameTrace { frames, packet_length, .. }) => {
            let (mut bytes, mut wire) = (0u64, 0u64);
            for &frame in frames.iter() {
                let (whole, rest) = (frame / packet_length, frame % packet_length);
                bytes += u64::from(frame);
                wire += u64::from(whole) * u64::from(overhead.wire_length(*packet_length));
                wire += if rest > 0 { u64::from(overhead.wire_length(rest)) } else { 0 };
            }
            mean * wire as f64 / bytes as f64
        }
        Source::Capture(Capture { packets }) => {
            let bytes: u64 = packets.iter().map(|packet| u64::from(packet.length)).sum();
            let wire: u64 = packets.iter().map(|packet| u64::from(overhead.wire_length(packet.length))).sum();
            mean * wire as f64 / bytes as f64
        }
    })
}

/// One line that describes the source.
pub(crate) fn describe(source: &Source) -> String {
    let mean = source.mean_bits_per_second().map_or(String::new(), |mean| format!("{} ", about(mean)));
    let size = |length: u32| print_size(u64::from(length));
    match source {
        Source::Cbr(Cbr { length, .. }) => format!("{mean}constant bit rate in packets of {}", size(*length)),
        Source::Poisson(Poisson { length, .. }) => match length {
            LengthDistribution::Fixed(length) => format!("{mean}Poisson in packets of {}", size(*length)),
            LengthDistribution::Exponential { mean: length } => format!("{mean}Poisson in packets of {length} B on average, exponential"),
            other => format!("{mean}Poisson in packets of {:.0} B on average", other.mean()),
        },
        Source::OnOff(OnOff { peak, length, on, off, .. }) => {
            let tail = if let Holding::Pareto { shape, .. } = on { format!(", Pareto {shape}") } else { String::new() };
            let (on, off) = (print_duration(on.mean()), print_duration(off.mean()));
            format!("{mean}on/off at {} for {on}, silent for {off}{tail}, in packets of {}", print_rate(*peak), size(*length))
        }
        Source::FrameTrace(FrameTrace { frames, interval, packet_length, .. }) => {
            let (sizes, interval) = (plural(frames.len(), "frame size"), print_duration(*interval));
            format!("{mean}video, {sizes} in turn every {interval}, in packets of {}", size(*packet_length))
        }
        Source::Capture(Capture { packets }) => format!("{mean}capture of {}", plural(packets.len(), "packet")),
        Source::Greedy(Greedy { length, window }) => {
            format!("greedy, {} of {} kept queued", plural(*window as usize, "packet"), size(*length))
        }
        Source::Tcp(tcp) => crate::tcp::describe(tcp),
    }
}
