//! `kind = "intserv"`: the node of integrated services of Wu, Hou, Zhang, Chao and Hamada as an ordinary policy.
//!
//! The published rules lose packets of conforming flows. The reading `repaired`, the default, adds a tolerance of `L/r + Lmax/C` to each class, where L and
//! Lmax are the longest frame. It divides the partition of guaranteed service among its classes in proportion to their rates.

use super::size::{longest_frame, size};
use crate::choice::{BufferName, NodeReading, SchedulerName};
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{BufferTable, ClassTable, ColourSetTable, PolicyTable, RuleTable, SetTable};
use crate::header::{DSCP_NAMES, Dscp, DscpChange};
use crate::policy::overhead;
use crate::units::{Limit, Ratio, print_rate, print_size};
use crate::value::{At, Block, Bytes, Given, Name, Named};
use tidegate_core::buffer::BufferField;
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::ServiceClass;
use tidegate_core::units::{Duration, PICOSECONDS_PER_SECOND, Rate};

/// A service with a partition: the partition's name, the manager of its buffer, and the AF class whose code points carry marks.
struct Reserved {
    service: ServiceClass,
    partition: &'static str,
    manager: BufferKind,
    assured: u8,
}

const RESERVED: [Reserved; 2] = [
    Reserved { service: ServiceClass::Guaranteed, partition: "guaranteed", manager: BufferKind::SelectivePushout, assured: 4 },
    Reserved { service: ServiceClass::ControlledLoad, partition: "controlled-load", manager: BufferKind::SelectivePushoutPlus, assured: 3 },
];

/// The drop precedences of a class of assured forwarding (RFC 2597).
const PRECEDENCES: std::ops::RangeInclusive<u8> = 1..=3;

/// The default size of a partition: the time in which the link sends it, in milliseconds, and the least number of longest frames.
const PARTITION: (u64, u64) = (50, 32);
/// The default size of the buffer of best effort, likewise.
const BEST_EFFORT: (u64, u64) = (100, 64);

/// A policy with the preset.
pub struct Node<'a> {
    pub name: &'a str,
    pub table: &'a mut PolicyTable,
    /// The place of `kind`, which is that of all that the preset writes.
    pub at: Span,
    pub reading: NodeReading,
    pub utilisation: Ratio,
    pub findings: &'a mut Vec<Diagnostic>,
}

impl Node<'_> {
    /// Writes what the file leaves open.
    pub fn write(&mut self) {
        let before = self.findings.len();
        self.judge_keys();
        self.judge_utilisation();
        if self.findings.len() > before {
            return;
        }
        self.table.scheduler = Some(self.here(SchedulerName(SchedulerKind::IntegratedServices)));
        let mut partitions = Named::default();
        let mut given = std::mem::take(&mut self.table.partition).0;
        for reserved in &RESERVED {
            let position = given.iter().position(|(name, _)| name.0 == reserved.partition);
            let own = position.map(|position| given.remove(position));
            let members: Vec<usize> = (0..self.table.class.len()).filter(|&class| self.service(class) == reserved.service).collect();
            if members.is_empty() {
                continue;
            }
            let (name, mut block) = own.unwrap_or_else(|| {
                (self.here(Name(reserved.partition.to_owned())), Block { value: BufferTable::default(), span: self.at.clone() })
            });
            self.fill(&mut block, reserved.manager, PARTITION);
            if reserved.service == ServiceClass::Guaranteed && self.reading == NodeReading::Repaired {
                self.reserve(&block, &members);
            }
            let mut is_used = false;
            for &class in &members {
                is_used |= self.class(class, reserved);
            }
            if is_used {
                partitions.0.push((name, block));
            }
        }
        partitions.0.extend(given);
        self.table.partition = partitions;
        // What no rule matches goes to best effort. A buffer of the file that nothing uses is reported where buffers are judged.
        let classes = &self.table.class;
        let has_rest = classes.last().is_none_or(|class| class.rules.is_some());
        let is_shared = has_rest || classes.iter().any(|class| class.partition.is_none() && class.buffer.is_none());
        if is_shared || self.table.buffer.is_some() {
            let mut buffer = self.table.buffer.take().unwrap_or(Block { value: BufferTable::default(), span: self.at.clone() });
            self.fill(&mut buffer, BufferKind::DynamicThreshold, BEST_EFFORT);
            self.table.buffer = Some(buffer);
        }
    }

    fn here<T>(&self, value: T) -> At<T> {
        At { value, span: self.at.clone() }
    }

    fn service(&self, class: usize) -> ServiceClass {
        self.table.class[class].service_class.as_ref().map_or(ServiceClass::default(), |at| at.value.0)
    }

    fn error(&mut self, span: Span, problem: String, help: impl Into<String>) {
        self.findings.push(Diagnostic::error(span, problem).context(self.at.clone(), "the preset").help(help));
    }

    /// Reports keys that contradict the preset.
    fn judge_keys(&mut self) {
        let table = &*self.table;
        let other = table.scheduler.as_ref().filter(|at| at.value.0 != SchedulerKind::IntegratedServices);
        let contradictions = [
            ("scheduler", other.map(|at| at.span.clone()), "remove it"),
            ("cells", table.cells.place(), "remove it"),
            ("group", table.group.first().map(|group| group.span.clone()), "the node has no tree: write a policy without `kind` for one"),
        ];
        for (key, span, help) in contradictions {
            if let Some(span) = span {
                self.error(span, format!("`{key}` of policy `{}` contradicts its preset", self.name), format!("{help}, or remove `kind`"));
            }
        }
        for class in 0..self.table.class.len() {
            let class = &self.table.class[class];
            let (name, at) = (&class.name.0, class.name.span.clone());
            if class.places.is_some() && class.service_class.as_ref().is_none_or(|at| at.value.0 == ServiceClass::BestEffort) {
                let problem = format!("`{name}` has places for calls and lacks the service whose partition they are in");
                self.error(at, problem, "add service_class = \"guaranteed\" or \"controlled-load\"");
            } else if let (Some(_), Some(rate)) = (&class.places, &class.rate) {
                let problem = format!("`rate` has no effect: each call in the places of `{name}` has a rate of its own");
                self.error(rate.span.clone(), problem, "remove it, or remove `places`");
            } else if let Some(code) = self.code_point_without_marks(class) {
                let written =
                    DSCP_NAMES.iter().find(|known| known.1 == code.value.0).map_or(code.value.0.to_string(), |known| known.0.into());
                let problem = format!("packets of `{name}` with the code point `{written}` cannot carry the marks of the node");
                let help = "match assured forwarding, like af41, or addresses; or say with `set` how packets leave";
                self.error(code.span.clone(), problem, help);
            }
        }
    }

    /// The first code point of a reserved class without `set` in which marks have no place.
    fn code_point_without_marks(&self, class: &ClassTable) -> Option<At<Dscp>> {
        let is_reserved = class.service_class.as_ref().is_some_and(|at| at.value.0 != ServiceClass::BestEffort);
        let codes = class.rules.iter().flat_map(|rules| &rules.value).filter_map(|rule| rule.dscp.as_ref());
        codes.filter(|_| is_reserved && class.set.is_none()).find(|code| assured(code.value).is_none()).cloned()
    }

    /// Reports classes that reserve more than the utilisation allows. More than the link has is reported where the tree is built.
    fn judge_utilisation(&mut self) {
        let rate = self.table.rate.value;
        let most = (u128::from(rate.bits_per_second()) * u128::from(self.utilisation.billionths()) / 1_000_000_000) as u64;
        let reserved = (0..self.table.class.len()).filter(|&class| self.service(class) != ServiceClass::BestEffort);
        let rates: Vec<At<Rate>> = reserved.filter_map(|class| self.table.class[class].rate.clone()).collect();
        let sum = rates.iter().fold(0u64, |sum, rate| sum.saturating_add(rate.value.bits_per_second()));
        if let (Some(last), true, Ok(total)) = (rates.last(), sum > most && sum <= rate.bits_per_second(), Rate::new(sum)) {
            let most = Rate::new(most).map_or_else(|_| "nothing".to_owned(), print_rate);
            let problem = format!("the classes reserve {}, and the node gives away {most}", print_rate(total));
            let at = self.table.utilisation.place().unwrap_or(self.at.clone());
            let finding = last.error(problem).context(at, "the utilisation is 90 % unless given");
            self.findings.push(finding.help("lower the rates, or raise `utilisation`"));
        }
    }

    fn longest_frame(&self) -> u64 {
        longest_frame(self.table)
    }

    /// The default size of a buffer.
    fn size(&self, least: (u64, u64)) -> u64 {
        size(self.table.rate.value, self.longest_frame(), least)
    }

    /// Adds the manager and the size that a buffer lacks.
    fn fill(&self, block: &mut Block<BufferTable>, manager: BufferKind, size: (u64, u64)) {
        block.value.manager.get_or_insert(self.here(BufferName(manager)));
        block.value.limit.get_or_insert(self.here(Limit::Bytes(self.size(size))));
    }

    /// Divides the partition of guaranteed service among its classes: what no class has reserved itself, in proportion to the rates.
    fn reserve(&mut self, block: &Block<BufferTable>, members: &[usize]) {
        let takes = |class: &ClassTable| is_in(class, RESERVED[0].partition) && class.places.is_none();
        let accepts = block.value.manager.as_ref().is_some_and(|manager| manager.value.0.accepts().contains(&BufferField::Reserve));
        let Some(limit) = block.value.limit.clone().filter(|_| accepts) else { return };
        let queues = |class: &ClassTable| class.queues.as_ref().map_or(1, |at| at.value.0);
        let (mut taken, mut rates, mut open) = (0u64, 0u128, Vec::new());
        for &member in members.iter().filter(|&&member| takes(&self.table.class[member])) {
            let class = &self.table.class[member];
            match (&class.reserve, &class.rate) {
                (Some(reserve), _) => taken = taken.saturating_add(reserve.value.0.saturating_mul(queues(class))),
                (None, Some(rate)) => {
                    rates += u128::from(rate.value.bits_per_second());
                    open.push((member, rate.clone(), queues(class)));
                }
                // It is reported where the tree is judged.
                (None, None) => {}
            }
        }
        if open.is_empty() {
            return;
        }
        let Limit::Bytes(bytes) = limit.value else {
            let problem = "a partition of packets cannot be divided among classes, whose reserves are bytes".to_owned();
            self.error(limit.span, problem, "write its limit in bytes, like \"60 kB\", or a `reserve` for each class");
            return;
        };
        let left = bytes.saturating_sub(taken);
        for (member, rate, queues) in open {
            let share = u128::from(left) * u128::from(rate.value.bits_per_second()) / rates / u128::from(queues);
            // No queue holds more than 4 GiB in any case.
            let share = share.min(u128::from(u32::MAX)) as u64;
            let name = &self.table.class[member].name.0;
            if share < self.longest_frame() {
                let problem = format!(
                    "the part of {} in the buffer of guaranteed service is {}, less than the longest frame of {}",
                    if queues == 1 { format!("`{name}`") } else { format!("each queue of `{name}`") },
                    print_size(share),
                    print_size(self.longest_frame())
                );
                self.error(
                    rate.span,
                    problem,
                    "raise the limit of partition `guaranteed`, lower `longest_frame`, or give the class a `reserve`",
                );
                return;
            }
            self.table.class[member].value.reserve = Some(Box::new(self.here(Bytes(share))));
        }
    }

    /// Adds to a class what it lacks. Returns true if it is in the partition of its service.
    fn class(&mut self, member: usize, reserved: &Reserved) -> bool {
        let tolerance = self.table.class[member].rate.as_ref().map(|rate| self.tolerance(rate.value));
        let (at, reading) = (self.at.clone(), self.reading);
        let class = &mut self.table.class[member].value;
        let rules = class.rules.iter_mut().flat_map(|rules| &mut rules.value);
        let has_code_points = rules.filter(|rule| rule.dscp.is_some()).count() > 0;
        if let Some(rules) = &mut class.rules {
            take_marked(&mut rules.value);
        }
        if class.set.is_none() {
            class.set = Some(Box::new(Block { value: marks(has_code_points, reserved.assured, &at), span: at.clone() }));
        }
        let is_in = is_in(class, reserved.partition);
        if is_in {
            class.partition = Some(At { value: Name(reserved.partition.to_owned()), span: at.clone() });
        }
        if class.places.is_some() {
            // The service of a call is that which it is admitted to.
            class.service_class = None;
        } else if let (NodeReading::Repaired, Some(tolerance)) = (reading, tolerance) {
            class.tolerance.get_or_insert(At { value: tolerance, span: at });
        }
        is_in
    }

    /// What one link before may move packets of a class with this rate forward: `L/r + Lmax/C`, rounded up.
    fn tolerance(&self, rate: Rate) -> Duration {
        // Mistakes in the overhead are reported where the policy is built.
        let wire = overhead(self.table, &mut Vec::new()).wire_length(u32::try_from(self.longest_frame()).unwrap_or(u32::MAX / 64));
        let time = |rate: Rate| (u128::from(wire) * 8 * u128::from(PICOSECONDS_PER_SECOND)).div_ceil(rate.bits_per_second().into());
        Duration::from_picoseconds(u64::try_from(time(rate) + time(self.table.rate.value)).unwrap_or(u64::MAX))
    }
}

/// True if the class uses this partition: it names it, or neither names one nor has a buffer.
fn is_in(class: &ClassTable, partition: &str) -> bool {
    class.buffer.is_none() && class.partition.as_ref().is_none_or(|at| at.value.0 == partition)
}

/// The class of assured forwarding of a code point.
fn assured(Dscp(code): Dscp) -> Option<u8> {
    ((1..=4).contains(&(code >> 3)) && code & 1 == 0 && PRECEDENCES.contains(&(code >> 1 & 3))).then_some(code >> 3)
}

/// Adds to each rule for a code point of assured forwarding those for its other drop precedences: the same packets with marks.
fn take_marked(rules: &mut Vec<Block<RuleTable>>) {
    let mut more: Vec<Block<RuleTable>> = Vec::new();
    for rule in rules.iter() {
        let Some((code, class)) = rule.dscp.as_ref().and_then(|code| Some((code, assured(code.value)?))) else { continue };
        for precedence in PRECEDENCES {
            let mut marked = rule.clone();
            marked.value.dscp = Some(At { value: Dscp(class << 3 | precedence << 1), span: code.span.clone() });
            if !rules.iter().chain(&more).any(|other| fields(other) == fields(&marked)) {
                more.push(marked);
            }
        }
    }
    rules.extend(more);
}

/// The values of a rule without their places.
fn fields(rule: &RuleTable) -> String {
    let RuleTable { dscp, ecn, protocol, source, destination, source_port, destination_port, fragment, vlan, vlan_priority, .. } = rule;
    let RuleTable { ethernet_type, mpls_label, mpls_traffic_class, length, inner_vlan, source_mac, destination_mac, .. } = rule;
    let RuleTable { flow_label, tcp_flags, not, .. } = rule;
    fn value<T: std::fmt::Debug>(at: &Option<At<T>>) -> String {
        format!("{:?};", at.as_ref().map(|at| &at.value))
    }
    fn rare<T: std::fmt::Debug>(at: &Option<Box<At<T>>>) -> String {
        format!("{:?};", at.as_ref().map(|at| &at.value))
    }
    let ends = value(source) + &value(destination) + &rare(source_port) + &rare(destination_port) + &rare(protocol);
    let frame = rare(vlan) + &rare(vlan_priority) + &rare(ethernet_type) + &rare(mpls_label) + &rare(mpls_traffic_class);
    let frame = frame + &rare(length) + &rare(inner_vlan) + &rare(source_mac) + &rare(destination_mac);
    let exceptions: String = not.iter().flat_map(|rules| rules.value.iter().map(|rule| format!("not({})", fields(rule)))).collect();
    value(dscp) + &rare(ecn) + &ends + &rare(fragment) + &frame + &rare(flow_label) + &rare(tcp_flags) + &exceptions
}

/// Carries marks in code points: within the packet's own class of assured forwarding, or within that of the service.
fn marks(has_code_points: bool, assured: u8, at: &Span) -> SetTable {
    let here = |value| Some(At { value, span: at.clone() });
    if has_code_points {
        return SetTable { dscp: here(DscpChange::ByColour), ..SetTable::default() };
    }
    let code = |precedence: u8| here(DscpChange::To(Dscp(assured << 3 | precedence << 1)));
    let colour =
        |precedence: u8| Some(Block { value: ColourSetTable { dscp: code(precedence), ..ColourSetTable::default() }, span: at.clone() });
    SetTable { dscp: code(1), yellow: colour(2), red: colour(3), ..SetTable::default() }
}
