//! Builds TCP connections.

use crate::choice::Holding as HoldingName;
use crate::diagnostic::Diagnostic;
use crate::document::SourceTable;
use crate::units::{plural, print_size};
use crate::value::{At, Bytes};
use tidegate_core::units::Duration;
use tidegate_sim::Holding;
use tidegate_sim::tcp::{Application, CongestionKind, RecoveryKind, Tcp, TimerSettings, TransferSize, Transfers};

/// The connection of a judged table, without its reverse path.
pub(crate) fn tcp(table: &SourceTable, findings: &mut Vec<Diagnostic>) -> Option<Tcp> {
    let mut tcp = Tcp::modern(Vec::new());
    let flag = |at: &Option<At<bool>>, usual| at.as_ref().map_or(usual, |at| at.value);
    let time = |at: &Option<At<Duration>>, usual| at.as_ref().map_or(usual, |at| at.value);
    tcp.congestion = table.congestion.as_ref().map_or(tcp.congestion, |at| at.value.0);
    tcp.recovery = table.recovery.as_ref().map_or(RecoveryKind::USUAL, |at| at.value.0);
    let timer = TimerSettings::default_for(table.timer.as_ref().map_or(tcp.timer.kind, |at| at.value.0));
    tcp.timer = TimerSettings {
        granularity: time(&table.granularity, timer.granularity),
        minimum: time(&table.minimum_timeout, timer.minimum),
        maximum: time(&table.maximum_timeout, timer.maximum),
        initial: time(&table.initial_timeout, timer.initial),
        ..timer
    };
    tcp.segment = bytes(&table.segment, tcp.segment);
    tcp.headers = bytes(&table.headers, tcp.headers);
    tcp.initial_window = table.initial_window.as_ref().map_or(tcp.initial_window, |at| at.value.0 as u32);
    tcp.window = table.receive_window.as_ref().map_or(tcp.window, |at| at.value.0);
    tcp.window_scale = flag(&table.window_scale, tcp.window_scale);
    if let Some(at) = &table.delayed_ack {
        tcp.delayed_ack = (at.value > Duration::ZERO).then_some(at.value);
    }
    tcp.growth = table.growth.as_ref().map_or(tcp.growth, |at| at.value.0);
    tcp.after_idle = table.after_idle.as_ref().map_or(tcp.after_idle, |at| at.value.0);
    tcp.limited_transmit = flag(&table.limited_transmit, tcp.limited_transmit);
    tcp.halves_pipe = flag(&table.halve_pipe, tcp.halves_pipe);
    switches(table, &mut tcp, findings);
    tcp.handshake = flag(&table.handshake, tcp.handshake);
    tcp.ecn = table.ecn.as_ref().map_or(tcp.congestion.default_ecn(), |at| at.value.0);
    tcp.start_within = time(&table.start_within, tcp.start_within);
    tcp.processing = time(&table.processing, tcp.processing);
    tcp.jitter = time(&table.jitter, tcp.jitter);
    tcp.application = application(table, findings)?;
    Some(tcp)
}

/// The switches of congestion control and recovery, where they have an effect.
fn switches(table: &SourceTable, tcp: &mut Tcp, findings: &mut Vec<Diagnostic>) {
    // RFC 9438 recommends it for CUBIC; Linux has it for no other.
    tcp.hystart &= tcp.congestion == CongestionKind::Cubic;
    let (prr, hystart, probe) = (tcp.allows_prr(), tcp.allows_hystart(), tcp.allows_tail_loss_probe());
    let (dsack, fallback) = (tcp.allows_dsack(), tcp.allows_classic_fallback());
    let with = format!("congestion = \"{}\" and recovery = \"{}\"", tcp.congestion.name(), tcp.recovery.name());
    for (key, at, is_effective, usual, needs) in [
        ("prr", &table.prr, prr, &mut tcp.prr, "recovery = \"rack\" or \"sack\", and a congestion control that does not measure"),
        ("hystart", &table.hystart, hystart, &mut tcp.hystart, "recovery = \"rack\", and a congestion control that does not measure"),
        ("tail_loss_probe", &table.tail_loss_probe, probe, &mut tcp.tail_loss_probe, "recovery = \"rack\""),
        ("dsack", &table.dsack, dsack, &mut tcp.dsack, "recovery = \"rack\""),
        ("classic_fallback", &table.classic_fallback, fallback, &mut tcp.classic_fallback, "congestion = \"prague\""),
    ] {
        let is_wanted = at.as_ref().map_or(*usual, |at| at.value);
        *usual = is_wanted && is_effective;
        if let Some(at) = at.as_ref().filter(|_| is_wanted && !is_effective) {
            findings.push(at.error(format!("`{key}` has no effect with {with}")).help(format!("it needs {needs}; or remove it")));
        }
    }
}

/// Saturates; the simulator refuses values out of range.
fn bytes(at: &Option<At<Bytes>>, usual: u32) -> u32 {
    at.as_ref().map_or(usual, |at| u32::try_from(at.value.0).unwrap_or(u32::MAX))
}

fn application(table: &SourceTable, findings: &mut Vec<Diagnostic>) -> Option<Application> {
    let Some(transfer) = &table.transfer else {
        const OF_TRANSFERS: &str = "transfer_sizes transfers think holding pareto_shape request reconnect";
        let orphans = table.given().into_iter().filter(|(key, _)| OF_TRANSFERS.split(' ').any(|of| of == *key));
        let mut orphans = orphans.peekable();
        if orphans.peek().is_none() {
            return Some(Application::Endless);
        }
        for (key, span) in orphans {
            let finding = Diagnostic::error(span, format!("`{key}` has no effect on a connection that always has more to send"));
            findings.push(finding.help("add `transfer`, the size of a transfer, or remove it"));
        }
        return None;
    };
    let shape = shape(table, findings)?;
    let mean = transfer.value.0 as f64;
    let size = match table.transfer_sizes.as_ref().map_or(HoldingName::Constant, |at| at.value) {
        HoldingName::Constant => TransferSize::Fixed(transfer.value.0),
        HoldingName::Exponential => TransferSize::Exponential(mean),
        HoldingName::Pareto => TransferSize::Pareto { mean, shape },
    };
    let think = table.think.as_ref().map(|at| at.value).filter(|&think| think > Duration::ZERO);
    let think = think.map(|mean| match table.holding.as_ref().map_or(HoldingName::Exponential, |at| at.value) {
        HoldingName::Constant => Holding::Constant { time: mean },
        HoldingName::Exponential => Holding::Exponential { mean },
        HoldingName::Pareto => Holding::Pareto { mean, shape },
    });
    let usual = if table.think.is_some() { None } else { Some(1) };
    Some(Application::Transfers(Transfers {
        size,
        count: table.transfers.as_ref().map_or(usual, |at| Some(at.value.0)),
        think,
        request: table.request.as_ref().map(|at| u32::try_from(at.value.0).unwrap_or(u32::MAX)),
        reconnects: table.reconnect.as_ref().is_some_and(|at| at.value),
    }))
}

/// The Pareto exponent; 0 if no distribution is Pareto.
fn shape(table: &SourceTable, findings: &mut Vec<Diagnostic>) -> Option<f64> {
    let pareto = [&table.transfer_sizes, &table.holding].into_iter().flatten().find(|at| at.value == HoldingName::Pareto);
    match (pareto, &table.pareto_shape) {
        (Some(at), None) => {
            findings.push(at.error("a Pareto distribution needs `pareto_shape`").help("add pareto_shape = 1.5, or any number above 1"));
            None
        }
        (Some(_), Some(shape)) if shape.as_f64() <= 1.0 => {
            findings.push(shape.error("a Pareto shape of 1 or less has no mean").help("write a shape above 1, like 1.5"));
            None
        }
        (None, Some(shape)) => {
            let finding = shape.error("`pareto_shape` has no effect where nothing is pareto");
            findings.push(finding.help("set transfer_sizes = \"pareto\" or holding = \"pareto\", or remove it"));
            None
        }
        (_, shape) => Some(shape.as_ref().map_or(0.0, |shape| shape.as_f64())),
    }
}

/// One line that describes the connection.
pub(crate) fn describe(tcp: &Tcp) -> String {
    let size = |bytes: u64| print_size(bytes);
    let data = match &tcp.application {
        Application::Endless => "always more to send".to_owned(),
        Application::Transfers(transfers) => {
            let many = transfers.count.map_or("transfers".to_owned(), |count| plural(count as usize, "transfer"));
            let asked = if transfers.request.is_some() { ", each on request" } else { "" };
            format!("{many} of {}{asked}", size(transfers.size.mean() as u64))
        }
    };
    let (congestion, recovery) = (tcp.congestion.name(), tcp.recovery.name());
    format!("TCP, {congestion} and {recovery}, window {} in segments of {}, {data}", size(tcp.window), size(u64::from(tcp.segment)))
}
