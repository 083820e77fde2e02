//! Builds the buffer of a policy: its limits, and the keys that only some buffer managers accept.

use crate::diagnostic::{Diagnostic, Severity, Span, alternatives, suggest};
use crate::document::{BufferTable, ClassTable};
use crate::partition::{Buffer, BufferSpec, Buffers, Owner, Partition};
use crate::policy::Resolution;
use crate::tree::Tree;
use crate::units::{Limit, Ratio, print_limit, print_size, print_time};
use crate::value::{At, Block, Name, Packets};
use std::iter::{repeat_n, successors};
use tidegate_core::buffer::{BufferField, BufferParameters, FlowLimit, Guarantee, Override, Reserve, Scaling};
use tidegate_core::packet::Flow;
use tidegate_core::registry::{BufferKind, PartitionSpec};
use tidegate_core::units::{PICOSECONDS_PER_SECOND, Rate};

/// The most packets a port may be told to hold.
const MOST_PACKETS: u64 = 16_777_216;
/// The default packet limit of a port whose buffer is limited in bytes.
const USUAL_PACKETS: u64 = 1_000_000;
/// The shortest frame on Ethernet.
const SHORTEST_FRAME: u64 = 64;
/// The size of a buffer that says none: the time in which its node sends it, in milliseconds, and the least number of longest frames.
const USUAL_BUFFER: (u64, u64) = (100, 16);

impl Resolution<'_> {
    pub fn class_limit(&mut self, class: &ClassTable) -> Option<Limit> {
        let limit = class.limit.as_ref()?;
        let what = format!("each queue of class `{}`", class.name.0);
        self.judge_limit(limit, &what, u64::from(u32::MAX));
        Some(limit.value)
    }

    /// Reports a limit that keeps out every packet, or the longest ones.
    fn judge_limit(&mut self, limit: &At<Limit>, what: &str, most_bytes: u64) {
        let longest = self.longest_frame;
        let finding = |problem: String| limit.error(problem);
        match limit.value {
            Limit::Packets(0) | Limit::Bytes(0) => {
                self.findings.push(finding(format!("{what} could hold nothing")).help("write a limit of at least one packet"));
            }
            Limit::Bytes(bytes) if bytes < longest => {
                let problem = format!(
                    "{what} holds {}, less than the longest frame of {}, which would always be dropped",
                    print_size(bytes),
                    print_size(longest)
                );
                let finding = finding(problem);
                self.findings.push(match &self.table.longest_frame {
                    Some(at) => finding.context(at.span.clone(), "the longest frame").help("raise the limit, or lower `longest_frame`"),
                    None => finding.help("raise the limit, or set `longest_frame` (1518 B unless given)"),
                });
            }
            Limit::Bytes(bytes) if bytes > most_bytes => {
                self.findings.push(finding(format!("{what} is limited to less than {} in any case", print_size(most_bytes + 1))));
            }
            Limit::Packets(packets) if packets > MOST_PACKETS => {
                self.findings
                    .push(finding(format!("{what} could hold {packets} packets")).help(format!("at most {MOST_PACKETS} are possible")));
            }
            _ => {}
        }
    }

    /// All buffers of the policy, and their manager.
    pub fn buffers(&mut self, tree: &Tree, limits: &[Option<Limit>]) -> Buffers {
        let table = self.table;
        let mut partition_of_group = vec![None; table.group.len()];
        let link = self.rate.value;
        let mut owners: Vec<(String, Owner, &Block<BufferTable>, Rate)> = Vec::new();
        owners.extend(table.partition.0.iter().map(|(name, block)| (format!("partition `{}`", name.0), Owner::Policy, block, link)));
        for (index, group) in table.group.iter().enumerate() {
            if let Some(block) = group.buffer.as_deref() {
                partition_of_group[index] = Some(owners.len());
                owners.push((format!("group `{}`", group.name.0), Owner::Group(index), block, tree.rate_of_node(Some(index))));
            }
        }
        let mut partition_of = Vec::new();
        for (index, class) in tree.classes.iter().enumerate() {
            let own = table.class.get(index).and_then(|class| class.buffer.as_deref());
            let named = table.class.get(index).and_then(|class| class.partition.as_ref());
            partition_of.push(match (own, named) {
                (own, Some(named)) => self.named_partition(named, own),
                (Some(block), None) => {
                    owners.push((format!("class `{}`", class.given.name), Owner::Class, block, tree.rate_of_class(index)));
                    Some(owners.len() - 1)
                }
                (None, None) => {
                    let above = successors(class.given.parent, |&group| tree.groups[group].0.parent);
                    above.into_iter().find_map(|group| partition_of_group[group])
                }
            });
        }
        let members = |part: Option<usize>| -> Vec<usize> {
            partition_of.iter().enumerate().filter(|(_, of)| **of == part).map(|(class, _)| class).collect()
        };
        let mut partitions = Vec::new();
        let mut managers = Vec::new();
        let mut total = 0u64;
        let is_shared = partition_of.contains(&None);
        let (shared, packets) = self.buffer(table.buffer.as_ref(), "the buffer", table.packet_limit.as_ref(), self.rate.value);
        if is_shared {
            total += u64::from(packets);
            managers.push(self.buffer_manager(table.buffer.as_ref(), &shared, packets, tree, limits, &members(None)));
        } else {
            let spans =
                [table.buffer.as_ref().map(|at| ("buffer", &at.span)), table.packet_limit.as_ref().map(|at| ("packet_limit", &at.span))];
            for (key, span) in spans.into_iter().flatten() {
                let finding = Diagnostic::error(span.clone(), format!("`{key}` has no effect: every class is in a partition"));
                self.findings.push(finding.help("remove it"));
            }
        }
        for (number, (name, owner, block, rate)) in owners.into_iter().enumerate() {
            let members = members(Some(number));
            if members.is_empty() {
                self.findings.push(match owner {
                    Owner::Policy => {
                        block.error(format!("{name} has no effect: no class is in it")).help("remove it, or name it in a class")
                    }
                    _ => block
                        .error("`buffer` has no effect: no class is left that uses it")
                        .help("remove it, or the buffers of the classes and groups below"),
                });
            }
            let (buffer, packets) = self.buffer(Some(block), &format!("the buffer of {name}"), None, rate);
            total += u64::from(packets);
            managers.push(self.buffer_manager(Some(block), &buffer, packets, tree, limits, &members));
            partitions.push(Partition { name, owner, buffer, packets });
        }
        if total > MOST_PACKETS {
            let finding = Diagnostic::error(table.span.clone(), format!("the buffers of policy could hold {total} packets in all"));
            self.findings.push(finding.help(format!("at most {MOST_PACKETS} are possible: lower their limits")));
        }
        let manager = managers.into_iter().collect::<Option<Vec<_>>>().and_then(|specs| {
            if partitions.is_empty() {
                return Some(BufferSpec { specs, partition_of: None });
            }
            // The shared buffer, if there is one, is the first.
            let places = tree.classes.iter().zip(&partition_of).flat_map(|(class, part)| {
                let number = part.map_or(0, |part| part as u32 + u32::from(is_shared));
                repeat_n(Some(number), class.queues as usize)
            });
            let spec = BufferSpec { specs, partition_of: Some(places.collect()) };
            match spec.build() {
                Ok(_) => Some(spec),
                Err((_, error)) => {
                    self.findings.push(Diagnostic::error(table.span.clone(), format!("the buffers: {error}")));
                    None
                }
            }
        });
        Buffers { shared, partitions, partition_of, packet_limit: total.min(MOST_PACKETS) as u32, manager }
    }

    /// The index of the partition of the policy that a class names. `own` is its other buffer, which is an error.
    fn named_partition(&mut self, named: &At<Name>, own: Option<&Block<BufferTable>>) -> Option<usize> {
        if let Some(own) = own {
            let finding = named.error("a class is in one buffer, its own or a partition of the policy");
            self.findings.push(finding.context(own.span.clone(), "its own buffer").help("remove `partition` or `buffer`"));
        }
        let known = &self.table.partition.0;
        let found = known.iter().position(|(name, _)| name.value == named.value);
        if found.is_none() {
            let finding = named.error(format!("there is no partition `{}`", named.0));
            self.findings.push(match known.len() {
                0 => finding.help(format!("add one to the policy, like partition = {{ {} = {{ limit = \"60 kB\" }} }}", named.0)),
                _ => suggest(finding, &named.0, known.iter().map(|(name, _)| name.0.as_str()), "partitions of this policy"),
            });
        }
        found
    }

    /// A buffer and the most packets it can hold. `packet_limit` is that of the policy's own buffer, `rate` that of the node it belongs to.
    fn buffer(&mut self, block: Option<&Block<BufferTable>>, what: &str, packet_limit: Option<&At<Packets>>, rate: Rate) -> (Buffer, u32) {
        let table = block.map(|block| &block.value);
        let kind = table.and_then(|table| table.manager.as_ref()).map_or(BufferKind::TailDrop, |at| at.value.0);
        let written = table.and_then(|table: &BufferTable| table.limit.as_ref());
        if let Some(limit) = written {
            self.judge_limit(limit, what, (1 << 47) - 1);
        }
        let limit = match (written, packet_limit) {
            (Some(at), _) => at.value,
            (None, Some(at)) => Limit::Packets(at.value.0),
            (None, None) => Limit::Bytes(sent_within(rate, self.longest_frame, USUAL_BUFFER)),
        };
        if let Some(table) = table {
            judge_special(kind, table, self.findings);
        }
        let takes_alpha = kind.accepts().contains(&BufferField::Alpha);
        let alpha = table.and_then(|table| table.alpha.as_ref()).map(|at| at.value.0).filter(|_| takes_alpha);
        let [threshold, tagged_threshold, scaling] = parts(table, kind);
        let reading = table.and_then(|table| table.reading.as_ref()).map(|at| at.value.0);
        let usual = match limit {
            Limit::Packets(packets) => packets,
            Limit::Bytes(bytes) => (bytes / SHORTEST_FRAME).clamp(1, USUAL_PACKETS),
        };
        let packets = match packet_limit {
            None => usual,
            Some(at) => {
                self.judge_limit(&At { value: Limit::Packets(at.value.0), span: at.span.clone() }, "the port", u64::MAX);
                if let (Limit::Packets(wanted), Some(written)) = (limit, written)
                    && at.value.0 < wanted
                {
                    let problem = format!("the port holds at most {} packets, fewer than the buffer's {}", at.value.0, print_limit(limit));
                    let finding = at.error(problem).context(written.span.clone(), "the buffer's limit");
                    self.findings.push(finding.help("remove `packet_limit`: the buffer's limit is enough"));
                }
                // The smaller of the two holds.
                match (limit, written) {
                    (Limit::Packets(packets), Some(written)) if at.value.0 > packets => {
                        let problem = format!("`packet_limit` has no effect: the buffer holds at most {}", print_limit(limit));
                        let finding = at.warning(problem).context(written.span.clone(), "the buffer's limit");
                        self.findings.push(finding.help("remove `packet_limit`, or raise the buffer's limit"));
                        packets
                    }
                    _ => at.value.0,
                }
            }
        };
        if let Some(written) = written {
            let most = packets.saturating_mul(self.longest_frame);
            let bytes = if let Limit::Bytes(bytes) = limit { bytes.min(most) } else { most };
            remark_on_buffer(bytes, self.rate.value, written, self.findings);
        }
        let departure_updating = table.and_then(|table| table.departure_updating.as_ref()).map(|at| at.value);
        let seed = table.and_then(|table| table.seed.as_ref()).map(|at| at.value.0);
        let batch = table.and_then(|table| table.batch.as_ref()).map(|at| at.value.0 as u32);
        (
            Buffer { kind, limit, alpha, threshold, tagged_threshold, scaling, reading, departure_updating, seed, batch },
            packets.min(MOST_PACKETS) as u32,
        )
    }

    /// The manager of the buffer that `members` use, indices of classes, and the number of their queues. `None` if an error was reported.
    fn buffer_manager(
        &mut self,
        block: Option<&Block<BufferTable>>,
        buffer: &Buffer,
        packets: u32,
        tree: &Tree,
        limits: &[Option<Limit>],
        members: &[usize],
    ) -> Option<PartitionSpec> {
        let mut first = 0;
        let mut parameters = BufferParameters::default();
        for &class in members {
            let (range, queues) = (Flow(first), tree.classes[class].queues);
            if let Some(limit) = limits.get(class).copied().flatten() {
                let limit = flow_limit(limit);
                // Thousands of classes have a dozen plans.
                match parameters.overrides.last_mut() {
                    Some(last) if last.limit == limit && last.first_flow.0 + last.flows == first => last.flows += queues,
                    _ => parameters.overrides.push(Override { first_flow: range, flows: queues, limit }),
                }
            }
            if let Some(table) = self.table.class.get(class) {
                self.shares(table, buffer, (range, queues), &mut parameters);
            }
            first += queues;
        }
        let bytes = if let Limit::Bytes(bytes) = buffer.limit { Some(bytes) } else { None };
        let size = bytes.unwrap_or(packets.into());
        let scaling = buffer.scaling.and_then(|ratio| scaling(ratio, block, self.findings));
        let parameters = BufferParameters {
            flows: first as usize,
            packets: Some(packets),
            bytes,
            alpha: buffer.alpha,
            threshold: buffer.threshold.map(|ratio| part_of(size, ratio)),
            tagged_threshold: buffer.tagged_threshold.map(|ratio| part_of(size, ratio)),
            scaling,
            capacity: Some(self.rate.value),
            reading: buffer.reading,
            departure_updating: buffer.departure_updating,
            seed: buffer.seed,
            batch: buffer.batch,
            ..parameters
        };
        match buffer.kind.build(&parameters) {
            Ok(_) => Some(PartitionSpec { kind: buffer.kind, parameters }),
            Err(error) => {
                // A limit of zero has been reported already.
                let span = block.map_or(self.table.span.clone(), |block| block.span.clone());
                let span = block.and_then(|block| special(&block.value, error.field)).unwrap_or(span);
                let classes = members.iter().filter_map(|&class| self.table.class.get(class));
                let rate = classes.filter_map(|class| class.minimum_rate.as_ref()).next_back();
                let span = rate.filter(|_| error.field == BufferField::Guarantees).map_or(span, |at| at.span.clone());
                if !self.findings.iter().any(|finding| finding.severity == Severity::Error) {
                    self.findings.push(Diagnostic::error(span, format!("the buffer: {error}")));
                }
                None
            }
        }
    }

    /// Adds the minimum rate and the reserve of a class, whose queues are these. Errors point at the key.
    fn shares(&mut self, class: &ClassTable, buffer: &Buffer, (first_flow, flows): (Flow, u32), parameters: &mut BufferParameters) {
        let kind = buffer.kind;
        match &class.minimum_rate {
            Some(at) if !kind.accepts().contains(&BufferField::Guarantees) => {
                self.findings.push(unused(kind, BufferField::Guarantees, at.span.clone()));
            }
            Some(at) => parameters.guarantees.push(Guarantee { first_flow, flows, rate: at.value }),
            None => {}
        }
        match &class.reserve {
            Some(at) if !kind.accepts().contains(&BufferField::Reserve) => {
                self.findings.push(unused(kind, BufferField::Reserve, at.span.clone()));
            }
            Some(at) if matches!(buffer.limit, Limit::Bytes(limit) if at.value.0 > limit) => {
                let problem = format!("the reserve of {} is more than the buffer, {}", print_size(at.value.0), print_limit(buffer.limit));
                self.findings.push(at.error(problem).help("lower it, or raise the limit of the buffer"));
            }
            Some(at) => match u32::try_from(at.value.0) {
                Ok(bytes) => parameters.reserves.push(Reserve { first_flow, flows, bytes }),
                Err(_) => self.findings.push(at.error(format!("a queue holds less than {} in any case", print_size(1 << 32)))),
            },
            None => {}
        }
    }
}

/// The limit of a queue.
pub(crate) fn flow_limit(limit: Limit) -> FlowLimit {
    let at_most = |amount: u64| Some(u32::try_from(amount).unwrap_or(u32::MAX));
    match limit {
        Limit::Packets(packets) => FlowLimit { packets: at_most(packets), bytes: None },
        Limit::Bytes(bytes) => FlowLimit { packets: None, bytes: at_most(bytes) },
    }
}

/// The place of a parameter in the table of the buffer.
fn special(table: &BufferTable, field: BufferField) -> Option<Span> {
    fn span<T>(value: &Option<At<T>>) -> Option<Span> {
        value.as_ref().map(|value| value.span.clone())
    }
    match field {
        BufferField::Limit => span(&table.limit),
        BufferField::Alpha => span(&table.alpha),
        BufferField::Threshold => span(&table.threshold),
        BufferField::TaggedThreshold => span(&table.tagged_threshold),
        BufferField::Scaling => span(&table.scaling),
        BufferField::Reading => span(&table.reading),
        BufferField::DepartureUpdating => span(&table.departure_updating),
        BufferField::Seed => span(&table.seed),
        BufferField::Batch => span(&table.batch),
        BufferField::Reserve | BufferField::Partition => None,
        BufferField::Flows | BufferField::FlowLimit | BufferField::Overrides | BufferField::Guarantees => None,
    }
}

/// Reports keys of the buffer that its manager does not use.
fn judge_special(kind: BufferKind, table: &BufferTable, findings: &mut Vec<Diagnostic>) {
    for &field in BufferField::SPECIAL.iter().filter(|field| !kind.accepts().contains(field)) {
        if let Some(span) = special(table, field) {
            findings.push(unused(kind, field, span));
        }
    }
}

fn unused(kind: BufferKind, field: BufferField, span: Span) -> Diagnostic {
    let users: Vec<&str> = BufferKind::ALL.iter().filter(|kind| kind.accepts().contains(&field)).map(|kind| kind.name()).collect();
    let finding = Diagnostic::error(span, format!("`{}` is not used by {}", field.name(), kind.name()));
    match users.as_slice() {
        [only] => finding.help(format!("remove it, or set manager = \"{only}\"")),
        _ => finding.help(format!("remove it, or choose the manager {}", alternatives(users))),
    }
}

/// Threshold, threshold for tagged frames and scaling; `None` if not given or not used.
fn parts(table: Option<&BufferTable>, kind: BufferKind) -> [Option<Ratio>; 3] {
    let Some(table) = table else { return [None; 3] };
    [
        (&table.threshold, BufferField::Threshold),
        (&table.tagged_threshold, BufferField::TaggedThreshold),
        (&table.scaling, BufferField::Scaling),
    ]
    .map(|(given, field)| given.as_ref().map(|at| at.value).filter(|_| kind.accepts().contains(&field)))
}

/// A part of a buffer, rounded down so that no frame is admitted beyond it.
fn part_of(size: u64, ratio: Ratio) -> u64 {
    (u128::from(size) * u128::from(ratio.billionths()) / 1_000_000_000) as u64
}

/// The scaling as a fraction of the core.
fn scaling(ratio: Ratio, table: Option<&Block<BufferTable>>, findings: &mut Vec<Diagnostic>) -> Option<Scaling> {
    let billionths = ratio.billionths();
    if billionths.is_multiple_of(1000) {
        return Scaling::new((billionths / 1000) as u32, 1_000_000);
    }
    let span = table.and_then(|block| special(&block.value, BufferField::Scaling)).unwrap_or_default();
    findings.push(Diagnostic::error(span, "`scaling` has more than four decimals").help("write at most four, like \"66.6667 %\""));
    None
}

/// What `rate` sends in some milliseconds, at least a number of longest frames.
pub(crate) fn sent_within(rate: Rate, longest_frame: u64, (milliseconds, frames): (u64, u64)) -> u64 {
    let bytes = u128::from(rate.bits_per_second()) * u128::from(milliseconds) / 8000;
    (bytes as u64).max(frames.saturating_mul(longest_frame))
}

/// Three minutes in picoseconds. A buffer that takes longer to empty gets a warning.
const LONG_BUFFER: u128 = 180 * PICOSECONDS_PER_SECOND as u128;

/// Warns of a buffer of this many bytes that takes minutes to empty. `written` is its limit.
fn remark_on_buffer(bytes: u64, rate: Rate, written: &At<Limit>, findings: &mut Vec<Diagnostic>) {
    let time = u128::from(bytes) * 8 * u128::from(PICOSECONDS_PER_SECOND) / u128::from(rate.bits_per_second());
    if time > LONG_BUFFER {
        let finding = written.warning(format!("the buffer holds as much as the link sends in {}", print_time(time)));
        findings
            .push(finding.help("packets that wait for so long are of no use: write a smaller limit, like buffer = { limit = \"100 kB\" }"));
    }
}
