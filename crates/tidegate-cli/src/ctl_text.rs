//! The answers of a running bridge as text.

use crate::log;
use std::fmt::Write;
use tidegate_control::Answer;
use tidegate_control::protocol::{
    Amount, Applied, ClassStatus, Classes, DelayQuantiles, DirectionApplied, DirectionFlows, DirectionStatus, FlowStatus, Flows, Met,
    Offered, Promised, Queues, Reservation, Reserved, RuleStatus, Rules, Status, Why,
};
use tidegate_report::{format_rate, format_time};

/// An answer as text.
pub fn shown(answer: &Answer) -> String {
    let text = match answer {
        Answer::Status(status) => status_text(status),
        Answer::Classes(classes) => classes_text(classes),
        Answer::Queues(queues) => queues_text(queues),
        Answer::Flows(flows) => flows_text(flows),
        Answer::Rules(rules) => rules_text(rules),
        Answer::Reserved(reserved) => reserved_text(reserved),
        Answer::Applied(applied) => applied_text(applied),
        Answer::Renewed => "renewed".to_owned(),
        Answer::Confirmed => "confirmed: the change stays".to_owned(),
        Answer::Why(why) => why_text(why),
        _ => "an answer that this version does not know; --json shows it".to_owned(),
    };
    text.trim_end().to_owned()
}

fn status_text(status: &Status) -> String {
    let mut text = format!("tidegate {}, up {}, {}\n", status.program, format_time(status.uptime_s), log::printable(&status.file));
    let _infallible = match status.changes {
        0 => writeln!(text, "no changes so far"),
        changes => writeln!(text, "{changes} changes so far"),
    };
    if let Some(left) = status.to_confirm_s {
        let _infallible = writeln!(text, "the latest change is taken back in {} unless `ctl confirm` comes", format_time(left));
    }
    if status.take_overs > 0 {
        let _infallible =
            writeln!(text, "this process carries packets since {}, after {} take-overs", format_time(status.carries_s), status.take_overs);
    }
    status.sockets.iter().for_each(|sockets| _ = writeln!(text, "{}", log::printable(sockets)));
    status.warnings.iter().for_each(|warning| _ = writeln!(text, "{}", log::printable(warning)));
    status.edits.iter().for_each(|edit| _ = writeln!(text, "differs from the file: {}", log::printable(edit)));
    for Reservation { name, promise, left_s } in &status.reservations {
        let left = left_s.map_or(String::new(), |left| format!(", for {} unless renewed", format_time(left)));
        let _infallible = writeln!(text, "reservation {}: {}{left}", log::printable(name), promised(promise));
    }
    for direction in &status.directions {
        let DirectionStatus { from, to, policy, rate_bps, classes, receiving, sending, .. } = direction;
        let _infallible = writeln!(text, "\n{from} -> {to}: policy `{policy}`, {}, {classes} classes", format_rate(*rate_bps as f64));
        for (name, up) in [(from, receiving), (to, sending)].into_iter().filter(|(_, up)| !**up) {
            let _infallible = writeln!(text, "  {name} is down (up: {up})");
        }
        let mut rows = vec![
            ("received", direction.received),
            ("delivered", direction.delivered),
            ("queued", direction.queued),
            ("in flight", direction.in_flight),
        ];
        rows.extend(direction.dropped.iter().map(|(reason, amount)| (reason.as_str(), *amount)));
        let (kept, dropped) = rows.split_at(4);
        kept.iter().for_each(|(name, amount)| line(&mut text, name, *amount));
        dropped.iter().for_each(|(name, amount)| line(&mut text, &format!("dropped: {name}"), *amount));
        if direction.ecn_marked > 0 {
            let _infallible = writeln!(text, "  {:<28} {:>12} packets", "marked (CE)", direction.ecn_marked);
        }
        if direction.lost_in_kernel > 0 {
            let _infallible = writeln!(text, "  {:<28} {:>12} frames, in no other figure", "lost in the kernel", direction.lost_in_kernel);
        }
    }
    let clients = &status.clients;
    let _infallible = writeln!(
        text,
        "\nclients: {} now, {} connections, {} requests answered, {} refused; closed: {} for too many, {} over a limit, {} idle",
        clients.connected, clients.accepted, clients.answered, clients.refused, clients.too_many, clients.over_limit, clients.idle
    );
    let pages = &status.pages;
    let _infallible = writeln!(
        text,
        "pages: {} served, {} refused; closed: {} for too many, {} over a limit, {} broken off",
        pages.served, pages.refused, pages.too_many, pages.over_limit, pages.broken
    );
    text
}

fn line(text: &mut String, name: &str, Amount { packets, bytes }: Amount) {
    let _infallible = writeln!(text, "  {name:<28} {packets:>12} packets {bytes:>15} bytes");
}

fn classes_text(classes: &Classes) -> String {
    let mut text = String::new();
    for direction in &classes.directions {
        let _infallible = writeln!(text, "{} -> {} (rates over {})", direction.from, direction.to, format_time(classes.rates_over_s));
        let width = direction.classes.iter().map(|class| class.name.chars().count()).max().unwrap_or(0).max(5);
        let _infallible = writeln!(
            text,
            "  {:<width$} {:>13} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}  guaranteed",
            "class", "rate", "sent", "dropped", "queued", "p50 1 s", "p99 1 s", "p99 60 s", "p99 all", "max all"
        );
        for class in &direction.classes {
            let ClassStatus { name, rate_bps, sent, queued, dropped, guarantee, .. } = class;
            let dropped: u64 = dropped.values().map(|amount| amount.packets).sum();
            let of = |delay: Option<DelayQuantiles>, value: fn(&DelayQuantiles) -> f64| {
                delay.as_ref().map_or("-".to_owned(), |delay| format_time(value(delay)))
            };
            let (second, minute, all) = (class.delay_second, class.delay_minute, class.delay);
            let [p50, p99, minute] = [of(second, |d| d.p50_s), of(second, |d| d.p99_s), of(minute, |d| d.p99_s)];
            let [all, max] = [of(all, |d| d.p99_s), of(all, |d| d.max_s)];
            let _infallible = writeln!(
                text,
                "  {:<width$} {:>13} {:>10} {dropped:>10} {:>9} {p50:>9} {p99:>9} {minute:>9} {all:>9} {max:>9}  {guarantee}",
                log::printable(name),
                format_rate(*rate_bps),
                sent.packets,
                queued.packets
            );
        }
        more(&mut text, direction.left_out, "with lower rates");
    }
    text
}

fn queues_text(queues: &Queues) -> String {
    let mut text = String::new();
    for direction in &queues.directions {
        let _infallible = writeln!(text, "{} -> {}", direction.from, direction.to);
        let width = direction.classes.iter().map(|class| class.class.chars().count()).max().unwrap_or(0).max(5);
        let _infallible = writeln!(
            text,
            "  {:<width$} {:>15} {:>9} {:>11} {:>9} {:>11} {:>9} {:>9} {:>9}  {:<12}  limits",
            "class", "queues", "packets", "bytes", "longest", "its bytes", "oldest", "marked", "AQM drops", "AQM now"
        );
        for class in &direction.classes {
            let oldest = class.oldest_s.map_or("-".to_owned(), format_time);
            let now = match (class.probability, class.signalling) {
                (Some(probability), 0) => format!("p = {:.3} %", probability * 100.0),
                (_, 0) => "-".to_owned(),
                (_, signalling) => format!("in {signalling} queues"),
            };
            let used = format!("{} of {}", class.backlogged, class.queues);
            let _infallible = writeln!(
                text,
                "  {:<width$} {used:>15} {:>9} {:>11} {:>9} {:>11} {oldest:>9} {:>9} {:>9}  {now:<12}  {}",
                log::printable(&class.class),
                class.packets,
                class.bytes,
                class.longest_packets,
                class.longest_bytes,
                class.ecn_marked,
                class.congestion_dropped,
                log::printable(&class.limits)
            );
        }
        more(&mut text, direction.left_out, "with fewer bytes");
    }
    text
}

fn flows_text(flows: &Flows) -> String {
    let mut text = String::new();
    for direction in &flows.directions {
        let DirectionFlows { from, to, over_s, bytes, error_bytes, flows } = direction;
        let _infallible = writeln!(
            text,
            "{from} -> {to}: {bytes} bytes in {}; a flow that is not counted here sent at most {error_bytes} of them",
            format_time(*over_s)
        );
        let names: Vec<String> = flows.iter().map(flow_name).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(4);
        let _infallible = writeln!(text, "  {:<width$} {:>13} {:>13} {:>13}  class", "flow", "rate", "bytes", "or less by");
        for (name, flow) in names.iter().zip(flows) {
            let FlowStatus { bytes, error_bytes, rate_bps, class, .. } = flow;
            let rate = format_rate(*rate_bps);
            let _infallible = writeln!(text, "  {name:<width$} {rate:>13} {bytes:>13} {error_bytes:>13}  {}", log::printable(class));
        }
        text.push('\n');
    }
    text
}

fn flow_name(flow: &FlowStatus) -> String {
    let (Some(source), Some(destination), Some(protocol)) = (&flow.source, &flow.destination, flow.protocol) else {
        return format!("Ethernet type {:#06x}", flow.ethernet_type.unwrap_or(0));
    };
    let end = |address: &str, port: Option<u16>| match port {
        Some(port) if address.contains(':') => format!("[{address}]:{port}"),
        Some(port) => format!("{address}:{port}"),
        None => address.to_owned(),
    };
    let protocol = match protocol {
        1 => "icmp".to_owned(),
        6 => "tcp".to_owned(),
        17 => "udp".to_owned(),
        58 => "icmpv6".to_owned(),
        other => format!("protocol {other}"),
    };
    format!("{protocol} {} > {}", end(source, flow.source_port), end(destination, flow.destination_port))
}

fn rules_text(rules: &Rules) -> String {
    let mut text = String::new();
    for direction in &rules.directions {
        let _infallible = writeln!(text, "{} -> {}", direction.from, direction.to);
        let width = direction.rules.iter().map(|rule| rule.class.chars().count()).max().unwrap_or(0).max(5);
        let _infallible = writeln!(text, "  {:>12}  {:<width$}  rule", "packets", "class");
        for RuleStatus { class, rule, hits } in &direction.rules {
            let _infallible = writeln!(text, "  {hits:>12}  {:<width$}  {}", log::printable(class), log::printable(rule));
        }
        let _infallible = writeln!(text, "  {:>12}  no rule", direction.unmatched);
        more(&mut text, direction.left_out, "that are tried later");
    }
    text
}

fn more(text: &mut String, left_out: usize, which: &str) {
    if left_out > 0 {
        let _infallible = writeln!(text, "  and {left_out} more {which} (--most N, --all)");
    }
    text.push('\n');
}

fn promised(promise: &Promised) -> String {
    let Promised { rate_bps, delay_s, buffer_bytes } = promise;
    format!("{} with at most {} of delay, and a buffer of {buffer_bytes} bytes", format_rate(*rate_bps as f64), format_time(*delay_s))
}

fn reserved_text(reserved: &Reserved) -> String {
    if let Some(promise) = &reserved.promise {
        return format!("admitted: {}", promised(promise));
    }
    let mut text = format!("refused: {}\n", reserved.refused.as_deref().unwrap_or("no reason is given"));
    for Offered { key, value } in &reserved.offers {
        let _infallible = match key.as_str() {
            "delay_s" => writeln!(text, "  would be admitted with --delay \"{}\"", exact_time(*value)),
            "rate_bps" => writeln!(text, "  would be admitted with --rate \"{value} bit/s\""),
            "burst_bytes" => writeln!(text, "  would be admitted with --burst \"{value} B\""),
            key => writeln!(text, "  would be admitted with {key} = {value}"),
        };
    }
    text
}

/// A duration as `--delay` takes it, to the nanosecond, rounded up.
fn exact_time(seconds: f64) -> String {
    format!("{} ns", (seconds * 1e9).ceil())
}

fn applied_text(applied: &Applied) -> String {
    const SHOWN: usize = 20;
    let mut text = if applied.dry_run { "nothing was changed; this would be:\n".to_owned() } else { String::new() };
    for direction in &applied.directions {
        let DirectionApplied { from, to, added, removed, changed, same, queues } = direction;
        let _infallible = writeln!(text, "{from} -> {to}: {same} classes as before");
        for (verb, names) in
            [("added", added), ("removed", removed), ("changed", changed)].into_iter().filter(|(_, names)| !names.is_empty())
        {
            let rest = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
            let names: Vec<_> = names.iter().take(SHOWN).map(|name| log::printable(name)).collect();
            let _infallible = writeln!(text, "  {verb}: {}{rest}", names.join(", "));
        }
        if let Some(queues) = queues {
            let _infallible = writeln!(
                text,
                "  of the queued packets {} stayed, {} moved, {} were dropped; the port stood still for {}",
                queues.kept.packets,
                queues.moved.packets,
                queues.dropped.packets,
                format_time(queues.gap_s)
            );
        }
    }
    if let Some(time) = applied.to_confirm_s {
        let _infallible = writeln!(text, "taken back in {} unless `ctl confirm` comes", format_time(time));
    }
    text
}

fn why_text(why: &Why) -> String {
    let mut text = String::new();
    for Met { from, to, packet, class, rule, queue: [queue, queues], groups, contract, queued, dropped, delay } in &why.packets {
        let _infallible = writeln!(text, "{from} -> {to}: {packet}");
        let rule = rule.as_deref().map_or("no rule matches, and the class takes the rest".to_owned(), |rule| format!("rule {rule}"));
        let _infallible = writeln!(text, "  class `{}`: {rule}", log::printable(class));
        groups.iter().for_each(|group| _ = writeln!(text, "  below {group}"));
        let _infallible = writeln!(text, "  {}", contract.join(", "));
        if *queues > 1 {
            let _infallible = writeln!(text, "  queue {queue} of {queues}");
        }
        let dropped: Vec<String> = dropped.iter().map(|(reason, amount)| format!("{} {reason}", amount.packets)).collect();
        let dropped = if dropped.is_empty() { "none".to_owned() } else { dropped.join(", ") };
        let delay = delay.map_or_else(
            || "no packet sent yet".to_owned(),
            |DelayQuantiles { p50_s, p99_s, max_s }| {
                format!(
                    "delays {} in the median, {} at the 99th percentile, {} at most",
                    format_time(p50_s),
                    format_time(p99_s),
                    format_time(max_s)
                )
            },
        );
        let _infallible = writeln!(text, "  waiting now: {} packets; dropped: {dropped}; {delay}\n", queued.packets);
    }
    text
}
