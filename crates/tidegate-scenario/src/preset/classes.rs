//! What presets write into policies with several classes.

use super::size::{FAIR_BUFFER, longest_frame, size};
use crate::choice::{AqmName, BufferName, SchedulerName};
use crate::diagnostic::Span;
use crate::document::{AqmTable, BufferTable, ClassTable, PolicyTable};
use crate::units::Limit;
use crate::value::{At, Block, Name, Or, Packets};
use tidegate_core::registry::{BufferKind, SchedulerKind};

/// The bytes of the buffer for which memory for one packet is set aside: a third of the longest frame of Ethernet.
const BYTES_PER_PACKET: u64 = 512;
/// The fewest and the most packets for which memory is set aside.
const PACKETS: (u64, u64) = (1024, 1_000_000);

/// The scheduler of the policy, which is WF2Q+ if it names none and has several classes or a group.
pub fn scheduler(table: &mut PolicyTable, classes: usize, at: &Span) -> SchedulerKind {
    if classes.max(table.class.len()) > 1 || !table.group.is_empty() {
        table.scheduler.get_or_insert(here(SchedulerName(SchedulerKind::Wf2qPlus), at));
    }
    table.scheduler.as_ref().map_or(SchedulerKind::Fifo, |scheduler| scheduler.value.0)
}

/// Gives all classes FQ-CoDel, and one buffer to those without one of their own.
pub fn fair(table: &mut PolicyTable, at: &Span) {
    for class in &mut table.class {
        let name = match &table.ingress {
            None => Or::Value(AqmName::default()),
            ingress => {
                Or::Table(Box::new(AqmTable { kind: here(AqmName::default(), at), ingress: ingress.clone(), ..AqmTable::default() }))
            }
        };
        class.value.aqm.get_or_insert(Block { value: name, span: at.clone() });
    }
    if table.class.iter().all(|class| class.buffer.is_some() || class.partition.is_some()) {
        return;
    }
    let limit = Limit::Bytes(size(table.rate.value, longest_frame(table), FAIR_BUFFER));
    let buffer = table.buffer.get_or_insert(Block { value: BufferTable::default(), span: at.clone() });
    let manager = buffer.value.manager.get_or_insert(here(BufferName(BufferKind::FattestFlow), at)).value.0;
    let limit = buffer.value.limit.get_or_insert(here(limit, at)).value;
    if let (Limit::Bytes(bytes), BufferKind::FattestFlow) = (limit, manager) {
        table.packet_limit.get_or_insert(here(Packets((bytes / BYTES_PER_PACKET).clamp(PACKETS.0, PACKETS.1)), at));
    }
}

/// The class of this name, or a new one before that which takes what no rule matches.
pub fn class_named(classes: &mut Vec<Block<ClassTable>>, name: At<Name>) -> &mut ClassTable {
    let place = classes.iter().position(|class| class.name.value == name.value);
    let place = place.unwrap_or_else(|| insert(classes, name));
    &mut classes[place].value
}

/// Adds a class, before that which takes what no rule matches. Returns its place.
pub fn insert(classes: &mut Vec<Block<ClassTable>>, name: At<Name>) -> usize {
    let place = classes.len() - usize::from(takes_the_rest(classes));
    classes.insert(place, Block { span: name.span.clone(), value: ClassTable { name, ..ClassTable::default() } });
    place
}

/// True if the last class takes what no rule matches.
pub fn takes_the_rest(classes: &[Block<ClassTable>]) -> bool {
    classes.last().is_some_and(|class| class.rules.is_none())
}

/// A value that the preset writes.
pub fn here<T>(value: T, at: &Span) -> At<T> {
    At { value, span: at.clone() }
}
