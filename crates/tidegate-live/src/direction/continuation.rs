//! A direction that goes on in another process: what it writes when it stands still, and a new one that reads that.
//!
//! | part | holds |
//! |---|---|
//! | ends | the incoming and the outgoing interface |
//! | ring | the form of the receive ring, and the slot that is read next |
//! | counters | volumes, numbers, what is late and came twice, the time of transmissions, the instant up to which all due has been sent |
//! | port | its counters, its clock, the end of its transmission, the words of its contracts that do not rest |
//! | record | the volumes that are not zero, of classes that packets came for; the hits of rules that have any |
//! | packets | in the order in which they came: queue, arrival, colour, part, code point, number, message |
//! | link | the frames on it: due instant, whether lost or late, copies, message |

use super::Direction;
use crate::counters::DirectionCounters;
use crate::direction_loop::DirectionLoop;
use crate::io::{Receive, RingForm, Transmit};
use crate::offload::VIRTIO_HEADER;
use crate::snapshot::{Reader, SnapshotError, Writer};
use crate::take_over::{Inherited, Shown};
use crate::watch::{Frame, StageObserver};
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet, Part};
use tidegate_core::port::{Counters, PortState, Volume};
use tidegate_core::units::{Duration, SERIAL_HORIZON, Time};
use tidegate_wire::{LinkType, parse};

/// The least bytes of a packet.
const PACKET: usize = 27;
/// The volumes of a class, at most 32.
const VOLUMES: usize = 4 + DropReason::ALL.len();
/// The least bytes of a class: its number, the length of its name, and which volumes are given.
const CLASS: usize = 12;
/// The bytes of the hits of a rule.
const HITS: usize = 12;
/// The least bytes of a frame on the link.
const IN_FLIGHT: usize = 15;

/// All volumes of a direction's counters that it keeps itself.
fn volumes(counters: &mut DirectionCounters) -> [&mut Volume; 11] {
    let DirectionCounters { received, refused, delivered, unsent, .. } = counters;
    [
        received,
        &mut refused.no_memory,
        &mut refused.cut_short,
        &mut refused.not_segmentable,
        &mut refused.bad_checksum,
        delivered,
        &mut unsent.lost,
        &mut unsent.interface_down,
        &mut unsent.too_long,
        &mut unsent.no_room,
        &mut unsent.rejected,
    ]
}

/// All numbers of a direction's counters.
fn numbers(counters: &mut DirectionCounters) -> [&mut u64; 8] {
    let DirectionCounters { frames, super_frames, without_fields, unseen, kernel, outages, .. } = counters;
    [frames, super_frames, without_fields, unseen, &mut kernel.received, &mut kernel.dropped, &mut kernel.carried_past, outages]
}

/// All volumes of a port's counters.
fn port_volumes(counters: &mut Counters) -> impl Iterator<Item = &mut Volume> {
    let Counters { offered, sent, dropped, marked } = counters;
    [offered, sent, marked].into_iter().chain(dropped)
}

impl<R: Receive, T: Transmit, O: StageObserver> Direction<R, T, O> {
    /// Writes all that the successor needs. The direction carries nothing until it is told to.
    pub(super) fn show(&mut self, now: Time) -> Option<Shown> {
        self.flush(now);
        let (ring, form) = self.receiver.hand_over()?;
        self.counters.kernel = self.receiver.kernel_counters();
        let mut writer = Writer::default();
        for name in &self.ends {
            writer.bytes(name.as_bytes());
        }
        form.write(&mut writer);
        let mut counters = self.counters;
        volumes(&mut counters).into_iter().for_each(|volume| writer.volume(*volume));
        numbers(&mut counters).into_iter().for_each(|number| writer.long(*number));
        writer.long(counters.forgone.picoseconds());
        let (late, duplicated) = (self.outbox.disturbed().late, self.outbox.disturbed().duplicated);
        [late, duplicated].into_iter().for_each(|volume| writer.volume(volume));
        [self.busy as u64, (self.busy >> 64) as u64].into_iter().for_each(|number| writer.long(number));

        writer.long(self.served_until.picoseconds());
        let PortState { mut counters, clock, busy_until, contracts, contracts_in_all } = self.port.state(now);
        port_volumes(&mut counters).for_each(|volume| writer.volume(*volume));
        writer.long(clock.picoseconds());
        writer.long(busy_until.picoseconds());
        writer.long(contracts_in_all);
        writer.short(contracts.len() as u32);
        contracts.into_iter().for_each(|word| writer.long(word));

        let classes = (0_u32..).zip(self.record.port.classes()).filter(|(_, class)| class.offered.packets > 0);
        let classes: Vec<_> = classes.collect();
        writer.short(classes.len() as u32);
        for (number, class) in classes {
            writer.short(number);
            writer.bytes(class.name.as_bytes());
            let of_class = [class.offered, class.sent, class.marked, class.ce_marked];
            let volumes = || of_class.into_iter().chain(class.dropped);
            let is_some = |volume: &Volume| *volume != Volume::default();
            writer.short(volumes().zip(0..).filter(|(volume, _)| is_some(volume)).map(|(_, bit)| 1 << bit).sum());
            volumes().filter(is_some).for_each(|volume| writer.volume(volume));
        }
        let hits = || (0_u32..).zip(&self.record.hits).filter(|(_, hits)| **hits > 0);
        writer.short(self.record.hits.len() as u32);
        writer.short(hits().count() as u32);
        for (rule, &hits) in hits() {
            writer.short(rule);
            writer.long(hits);
        }

        let flows = (0..self.port.classifier().flows() as u32).map(Flow);
        let queued = self.port.occupancy().packets() as usize;
        let mut packets: Vec<(Packet<()>, Frame)> = Vec::with_capacity(queued);
        for flow in flows {
            if packets.len() == queued {
                break;
            }
            packets.extend(self.port.queued(flow).map(|(packet, frame)| (packet, *frame)));
        }
        packets.sort_by_key(|(_, frame)| frame.number());
        writer.short(packets.len() as u32);
        for (packet, frame) in packets {
            writer.short(packet.flow.0);
            writer.long(packet.arrival.picoseconds());
            writer.byte(packet.colour as u8);
            writer.byte(packet.part as u8);
            writer.byte(packet.ecn as u8);
            writer.long(frame.number());
            writer.bytes(self.pool.message(frame.slot(), packet.length));
        }
        self.outbox.write(&mut writer, |writer, &slot, length| writer.bytes(self.pool.message(slot, length)));
        Some(Shown { bytes: writer.0, ring })
    }

    /// Goes on where another process stood. This direction is new, and its receiver is closed.
    pub(crate) fn take_over(&mut self, now: Time, inherited: Inherited) -> Result<(), SnapshotError> {
        let Inherited { bytes, ring } = inherited;
        let mut reader = Reader::new(&bytes);
        for name in &self.ends {
            let found = String::from_utf8_lossy(reader.bytes()?);
            if found != *name {
                return Err(SnapshotError::Other(format!("it has the interface {found} in place of {name}")));
            }
        }
        let form = RingForm::read(&mut reader)?;
        let mut counters = self.counters;
        for volume in volumes(&mut counters) {
            *volume = reader.volume()?;
        }
        for number in numbers(&mut counters) {
            *number = reader.long()?;
        }
        counters.forgone = Duration::from_picoseconds(reader.long()?.min(SERIAL_HORIZON.picoseconds()));
        let disturbed = [reader.volume()?, reader.volume()?];
        self.busy = u128::from(reader.long()?) | u128::from(reader.long()?) << 64;

        let served_until = Time::from_picoseconds(reader.long()?);
        let mut state = PortState::default();
        for volume in port_volumes(&mut state.counters) {
            *volume = reader.volume()?;
        }
        state.clock = Time::from_picoseconds(reader.long()?);
        state.busy_until = Time::from_picoseconds(reader.long()?);
        state.contracts_in_all = reader.long()?;
        state.contracts = (0..reader.count(8)?).map(|_| reader.long()).collect::<Result<_, _>>()?;

        // Classes are here as far from each other as there, unless some are gone.
        let (mut number, mut place) = (0, 0);
        for _ in 0..reader.count(CLASS)? {
            let last = std::mem::replace(&mut number, reader.short()? as usize);
            let name = String::from_utf8_lossy(reader.bytes()?);
            let given = reader.short()?;
            let mut all = [Volume::default(); VOLUMES];
            for (_, volume) in all.iter_mut().enumerate().filter(|(bit, _)| given >> bit & 1 > 0) {
                *volume = reader.volume()?;
            }
            place = self.record.port.continue_class(place + number.saturating_sub(last), &name, all);
        }
        if reader.short()? as usize != self.record.hits.len() {
            return Err(SnapshotError::Other("its policy has other rules".to_owned()));
        }
        for _ in 0..reader.count(HITS)? {
            let rule = reader.short()? as usize;
            *self.record.hits.get_mut(rule).ok_or(SnapshotError::Damaged("there is no such rule"))? = reader.long()?;
        }

        let mut packets = Vec::new();
        for _ in 0..reader.count(PACKET)? {
            let flow = Flow(reader.short()?);
            let arrival = Time::from_picoseconds(reader.long()?);
            let colour = match reader.byte()? {
                0 => Colour::Green,
                1 => Colour::Yellow,
                _ => Colour::Red,
            };
            let part = reader.byte()?;
            let part = Part::of(part & 1 > 0, part & 2 > 0);
            let ecn = Ecn::from_bits(reader.byte()?);
            let number = reader.long()?;
            let (slot, length) = self.slot_of(reader.bytes()?)?;
            if flow.index() >= self.port.classifier().flows() {
                return Err(SnapshotError::Other("its policy has other queues".to_owned()));
            }
            let header = parse(LinkType::Ethernet, self.pool.packet(slot, length));
            let key = self.port.classifier().key(&header, flow);
            packets.push((Packet { flow, length, arrival, colour, part, ecn, payload: Frame::new(Some(slot), number) }, key));
        }
        self.port.continue_from(now, &state, packets).map_err(|error| SnapshotError::Other(error.to_string()))?;
        for _ in 0..reader.count(IN_FLIGHT)? {
            let due = Time::from_picoseconds(reader.long()?);
            let [is_lost, is_late, copies] = [reader.byte()?, reader.byte()?, reader.byte()?];
            let (slot, length) = self.slot_of(reader.bytes()?)?;
            if !self.outbox.put_back(due, (is_lost > 0, is_late > 0, copies), length, slot) {
                return Err(SnapshotError::Other("it has more frames on the link".to_owned()));
            }
        }
        if !reader.is_over() {
            return Err(SnapshotError::Damaged("something is left over"));
        }
        self.outbox.continue_disturbed(disturbed);
        (counters.receiving, counters.sending) = (self.counters.receiving, self.counters.sending);
        self.counters = counters;
        self.served_until = served_until.later(now - SERIAL_HORIZON).earlier(now);
        self.counters().check().map_err(|_| SnapshotError::Damaged("its counters do not add up"))?;
        // Last, because frames cannot be given back to a ring.
        self.receiver
            .take_over(ring, form, self.counters.kernel)
            .map_err(|error| SnapshotError::Other(format!("its receive ring: {error}")))
    }

    /// A slot with the frame of this message, and its length.
    fn slot_of(&mut self, message: &[u8]) -> Result<(u32, u32), SnapshotError> {
        let (virtio, frame) = message.split_first_chunk::<VIRTIO_HEADER>().ok_or(SnapshotError::Damaged("a frame is too short"))?;
        let length = frame.len() as u32;
        if length > self.pool.longest() {
            return Err(SnapshotError::Other(format!("a frame of {length} bytes is longer than the slots")));
        }
        let slot = self.pool.take().ok_or_else(|| SnapshotError::Other("it has more frames than there are slots".to_owned()))?;
        self.pool.packet_mut(slot, length).copy_from_slice(frame);
        self.pool.set_virtio(slot, *virtio);
        Ok((slot, length))
    }
}
