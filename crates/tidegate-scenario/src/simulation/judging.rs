//! Reports what a flow asks for and cannot have: times, lengths of packets, promises.

use super::Building;
use crate::diagnostic::{Diagnostic, Span};
use crate::document::FlowTable;
use crate::promise::{FrameRate, Promise, judge_promised_rate};
use crate::source::longest_packet;
use crate::units::{print_duration, print_rate, print_size};
use crate::value::At;
use tidegate_core::units::{Duration, Rate};
use tidegate_sim::time::LONGEST_DURATION;
use tidegate_sim::{Link, Source};

impl Building<'_> {
    pub(super) fn judge_times(&mut self, table: &FlowTable, start: Duration) {
        if let (true, Some(at)) = (start > LONGEST_DURATION, &table.start) {
            self.findings.push(at.error("a start after 26 days cannot be simulated"));
        }
        if let Some(stop) = table.stop.as_ref().filter(|stop| stop.value <= start) {
            let finding = stop.error(format!("flow `{}` would stop before it starts", table.name.0));
            let finding = match &table.start {
                Some(start) => finding.context(start.span.clone(), "it starts here"),
                None => finding,
            };
            self.findings.push(finding.help("write a later `stop`, or remove it"));
        }
    }

    /// Reports packets that the first port would always drop.
    pub(super) fn judge_packets(&mut self, table: &FlowTable, source: &Source, path: &[&Link]) {
        let Some((longest, span)) = longest_packet(source, &table.source) else { return };
        self.judge_length(longest, span, path);
    }

    /// Reports packets of a length that a port of a path would always drop.
    pub(super) fn judge_length(&mut self, longest: u32, span: Span, path: &[&Link]) {
        let short = path.iter().find(|link| !link.cells && link.port.longest_frame < longest);
        if let Some(link) = short {
            let limit = print_size(u64::from(link.port.longest_frame));
            let problem =
                format!("packets of {} are longer than the {limit} that link `{}` accepts", print_size(u64::from(longest)), link.name);
            self.findings.push(Diagnostic::error(span, problem).help("make the packets shorter, or raise the policy's `longest_frame`"));
        }
    }

    pub(super) fn judge_promise(&mut self, table: &FlowTable, promise: Option<Promise>, source: &Source, path: &[&Link]) {
        let (Some(promise), Some(block)) = (promise, &table.promise) else { return };
        if let (Some(rate), Some(at)) = (promise.rate, &block.rate) {
            if let Some(slowest) = path.iter().min_by_key(|link| link.port.rate) {
                let table = self.file.link.iter().find(|table| table.name.0 == slowest.name);
                let span =
                    table.map_or(at.span.clone(), |table| table.rate.as_ref().map_or(table.name.span.clone(), |rate| rate.span.clone()));
                let frames = FrameRate { overhead: slowest.port.overhead, longest_frame: slowest.port.longest_frame };
                let link = At { value: slowest.port.rate, span };
                judge_promised_rate(rate, at, &link, "the rate of the link", frames, self.findings);
            }
            if let Some(mean) = source.mean_bits_per_second().filter(|mean| *mean < rate.bits_per_second() as f64 * 0.999) {
                let sends = Rate::new(mean.round() as u64).map_or_else(|_| format!("{mean:.0} bit/s"), print_rate);
                let finding = at.error(format!("flow `{}` is promised more than it sends, {sends} on average", table.name.0));
                self.findings.push(finding.context(table.source.span.clone(), "its source").help("promise less, or send more"));
            }
        }
        let propagation: u64 = path.iter().map(|link| link.propagation.picoseconds()).sum();
        if let (Some(delay), Some(at)) = (promise.delay, &block.delay)
            && delay.picoseconds() < propagation
        {
            let problem = format!("the links of the path alone take {}", print_duration(Duration::from_picoseconds(propagation)));
            self.findings.push(at.error(problem).help("promise a longer delay, or shorten the links"));
        }
    }
}
