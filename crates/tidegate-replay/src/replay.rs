//! A capture through a port in virtual time, and along the link behind it.
//!
//! The port's clock is the capture's: packets arrive at their timestamps and leave when the policy lets them, however long that takes to compute.
//! The link delays and may lose them. A silence of years is crossed in steps that the port's wrapping clock can follow.

use crate::arrivals::{Account, Arrival, Arrivals};
use crate::capture::{CaptureReader, Interface, Record};
use crate::writer::CaptureWriter;
use std::cmp::Reverse;
use std::io::{self, BufRead, Write};
use tidegate_atm::adapter::CellRecord;
use tidegate_atm::cell::CELL;
use tidegate_core::packet::{Colour, Ecn, Packet, Part};
use tidegate_core::port::{Counters, Switched, Transmission, Volume};
use tidegate_core::units::{Duration, SERIAL_HORIZON, Time};
use tidegate_link::{DelayLine, Disturbed, InFlight, Link};
use tidegate_statistics::PortRecorder;
use tidegate_wire::{AckFilter, PureAck, mark, rewrite};

mod error;
mod port;
mod segments;
mod watcher;

pub use error::ReplayError;
use port::ReplayPort;
pub use port::{PortChange, ReplaySetup};
pub use watcher::Frame;
use watcher::{LOST, Underway, Watcher};

/// The outcome of a replay.
#[derive(Debug)]
pub struct Replayed {
    /// Everything that happened, per class.
    pub recorder: PortRecorder,
    /// The port's own counters; its queue is empty at the end.
    pub counters: Counters,
    /// What has happened to the cells of each class, if the port is that of an ATM adapter; empty if not.
    pub cells: Vec<CellRecord>,
    /// Packets that the port sent and the link lost.
    pub lost: Volume,
    /// Packets that came later than the delay of the link, copies included.
    pub late: Volume,
    /// Copies of packets that the link passed twice.
    pub duplicated: Volume,
    /// Packets that left as they came although the policy sets code points, because they have no field for any of these.
    pub without_fields: u64,
    /// Frames that the capture holds only a part of, and whose cells have zeros for the rest; counted if cells are written.
    pub padded: u64,
    /// What was read, and what was left out.
    pub account: Account,
    /// What each change of the policy did, and when; those after the last packet was sent did not take place.
    pub changes: Vec<(Duration, Switched)>,
    /// From the first arrival to the last bit sent by the port, in seconds.
    pub seconds: f64,
}

/// Where the results of a replay go.
pub struct Outputs<'o, W: Write, X: Write> {
    /// What comes to the end of the link.
    pub sent: &'o mut CaptureWriter<W>,
    /// What does not.
    pub dropped: &'o mut CaptureWriter<X>,
    /// The cells that come to the end of the link, if the port is that of an ATM adapter and they are wanted.
    pub cells: Option<&'o mut CaptureWriter<W>>,
}

impl<'o, W: Write, X: Write> Outputs<'o, W, X> {
    /// The frames alone.
    pub fn frames(sent: &'o mut CaptureWriter<W>, dropped: &'o mut CaptureWriter<X>) -> Outputs<'o, W, X> {
        Outputs { sent, dropped, cells: None }
    }
}

/// Runs `capture` through a port made from `setup`, and what it sends along `link`.
///
/// Every packet of an interface that `takes` accepts is offered at its timestamp with its length on the wire and the colour of its code
/// point ([`Colour::of`]). What leaves is written to `sent` with the instant at which its last bit comes to the end of the link as timestamp,
/// the code points that the policy sets, and a comment if a policer changed its colour; what is dropped goes to `dropped` at the instant of the drop, with the reason, and what the
/// link loses at the instant at which its transmission started. Cells
/// are written like what leaves, each with the instant of its own last bit. After the last packet the queue drains. `progress` is called for every packet, taken or not.
///
/// # Errors
/// [`ReplayError`] if the capture is damaged, a result cannot be written, or cells are wanted of a port or of frames that do not make any.
pub fn replay<R: BufRead, W: Write, X: Write>(
    setup: impl Into<ReplaySetup>,
    link: &Link,
    capture: &mut CaptureReader<R>,
    takes: impl Fn(usize, &Interface) -> bool,
    mut outputs: Outputs<'_, W, X>,
    mut progress: impl FnMut(&Record),
) -> Result<Replayed, ReplayError> {
    let mut arrivals = Arrivals::new(capture, takes);
    let mut next = arrivals.next(&mut progress)?;
    // The port's clock is the capture's, modulo its wrap: what is rounded to a clock's ticks is rounded alike wherever a packet is seen.
    let start = Time::from_nanoseconds(next.as_ref().map_or(0, |first| first.nanoseconds.cast_unsigned()));
    let mut link = link.clone();
    let mut setup = setup.into();
    let mut pending = std::mem::take(&mut setup.changes).into_iter().peekable();
    let ack_filter = setup.ack_filter;
    let mut changes = Vec::new();
    let first = next.as_ref().map_or(0, |first| first.nanoseconds);
    // A change between two nanoseconds takes place at the later one, before what arrives then.
    let due = |change: &PortChange| first.saturating_add_unsigned(change.after.picoseconds().div_ceil(1000));
    let mut port = ReplayPort::new(start, setup, &mut link);
    if let Some(cells) = &mut outputs.cells {
        cells.hold_cells(port.write_cells(link.delay)?);
    }
    let recorder = PortRecorder::new(start, port.classifier());
    let mut watcher = Watcher {
        recorder,
        drops: Vec::new(),
        // In virtual time a packet leaves the line as soon as it has entered, unless it is late and may be overtaken.
        line: DelayLine::without_limit(&link, 0),
        lost: Volume::default(),
        late: Volume::default(),
        duplicated: Volume::default(),
        without_fields: 0,
        joined: None,
        cells: Vec::new(),
    };
    let mut clock = Clock { now: start, nanoseconds: None };
    let mut leaving = Vec::new();
    let mut last_bit = 0;

    while let Some(Arrival { nanoseconds, number, header, record }) = next {
        loop {
            let change = pending.next_if(|change| due(change) <= nanoseconds);
            let until = change.as_ref().map_or(nanoseconds, due);
            loop {
                let arrived = clock.step_towards(until);
                port.advance(clock.now, &mut watcher, |transmission| leaving.push(transmission));
                watcher.recorder.advance(clock.now);
                last_bit = write_out(&clock, &port, &mut leaving, &mut watcher, arrivals.interfaces(), &mut outputs)?.max(last_bit);
                if arrived {
                    break;
                }
            }
            let Some(change) = change else { break };
            changes.push((change.after, port.switch(clock.now, change.setup, arrivals.interfaces(), &mut watcher)));
        }
        port.expect(record.interface, &arrivals.interfaces()[record.interface])?;
        let colour = Colour::of(&header);
        let flow = port.classifier().classify(&header);
        let length = record.length;
        let ecn = port.ecn(&header);
        let link_type = arrivals.interfaces()[record.interface].link;
        let filtering =
            ack_filter.filter(|_| AckFilter::may_filter(length)).and_then(|filter| Some((filter, PureAck::read(link_type, &record.data)?)));
        watcher.joined = None;
        let frame = Box::new(Frame { number, record, colour });
        let key = port.classifier().key(&header, flow);
        port.offer(Packet { flow, length, arrival: clock.now, colour, part: Part::Whole, ecn, payload: frame }, key, &mut watcher);
        if let Some(((filter, newest), flow)) = filtering.zip(watcher.joined) {
            port.filter_acks(clock.now, flow, (filter, &newest), arrivals.interfaces(), &mut watcher);
        }
        last_bit = write_out(&clock, &port, &mut leaving, &mut watcher, arrivals.interfaces(), &mut outputs)?.max(last_bit);
        next = arrivals.next(&mut progress)?;
    }
    // A wait may be long where a class is shaped to very little; step through it as through any other silence.
    while let Some(wake) = port.advance(clock.now, &mut watcher, |transmission| leaving.push(transmission)) {
        last_bit = write_out(&clock, &port, &mut leaving, &mut watcher, arrivals.interfaces(), &mut outputs)?.max(last_bit);
        let wake = wake.earlier(clock.now + SERIAL_HORIZON);
        let Some(change) = pending.next_if(|change| due(change) <= clock.nanoseconds_of(wake)) else {
            clock.move_to(wake);
            continue;
        };
        clock.step_towards(due(&change));
        port.advance(clock.now, &mut watcher, |transmission| leaving.push(transmission));
        changes.push((change.after, port.switch(clock.now, change.setup, arrivals.interfaces(), &mut watcher)));
    }
    last_bit = write_out(&clock, &port, &mut leaving, &mut watcher, arrivals.interfaces(), &mut outputs)?.max(last_bit);
    while let Some(underway) = watcher.line.leave() {
        write_arrived(&clock, underway, &mut watcher, arrivals.interfaces(), &mut outputs)?;
    }
    write_dropped(&clock, &mut watcher, arrivals.interfaces(), &mut outputs)?;
    port.check().map_err(ReplayError::Unbalanced)?;
    Ok(Replayed {
        counters: *port.counters(),
        cells: port.records(),
        padded: port.padded(),
        seconds: (watcher.recorder.elapsed() as f64 / 1e12).max(last_bit as f64 / 1e12),
        changes,
        lost: watcher.lost,
        late: watcher.late,
        duplicated: watcher.duplicated,
        recorder: watcher.recorder,
        without_fields: watcher.without_fields,
        account: arrivals.account(),
    })
}

/// The port's wrapping clock and the capture's absolute one, kept in step.
struct Clock {
    now: Time,
    /// The capture's time of `now`; `None` before the first packet.
    nanoseconds: Option<i64>,
}

impl Clock {
    /// Moves to the given capture time, or as far towards it as one step may go; true once it is there.
    fn step_towards(&mut self, nanoseconds: i64) -> bool {
        let at = *self.nanoseconds.get_or_insert(nanoseconds);
        let step = nanoseconds.saturating_sub(at).cast_unsigned().min(SERIAL_HORIZON.picoseconds() / 1000);
        self.now += Duration::from_nanoseconds(step);
        let reached = at.saturating_add_unsigned(step);
        self.nanoseconds = Some(reached);
        reached >= nanoseconds
    }

    /// Moves to a later instant of the port's clock; parts of a nanosecond are kept out of the capture's clock by moving up to a whole one.
    fn move_to(&mut self, later: Time) {
        let step = later.since(self.now).picoseconds().div_ceil(1000);
        self.now += Duration::from_nanoseconds(step);
        self.nanoseconds = self.nanoseconds.map(|at| at.saturating_add_unsigned(step));
    }

    /// The capture's time of an instant near `now`, rounded to the nearest nanosecond, halves up: the port's instants are late by less than
    /// a nanosecond where a transmission takes no whole number of picoseconds, and a capture cannot say more.
    fn nanoseconds_of(&self, time: Time) -> i64 {
        let at = self.nanoseconds.unwrap_or(0);
        if time.is_before(self.now) {
            at.saturating_sub_unsigned((self.now.since(time).picoseconds() + 499) / 1000)
        } else {
            at.saturating_add_unsigned((time.since(self.now).picoseconds() + 500) / 1000)
        }
    }
}

/// Writes what has left and what was dropped since the last call; returns the elapsed picoseconds of the last bit sent.
fn write_out<W: Write, X: Write>(
    clock: &Clock,
    port: &ReplayPort,
    leaving: &mut Vec<Transmission<Box<Frame>>>,
    watcher: &mut Watcher,
    interfaces: &[Interface],
    outputs: &mut Outputs<'_, W, X>,
) -> io::Result<u128> {
    if let Some(cells) = &mut outputs.cells {
        for (due, interface, cell) in watcher.cells.drain(..) {
            cells.write(interfaces, interface, clock.nanoseconds_of(due), CELL as u32, cell.bytes(), None)?;
        }
    }
    let mut last_bit = 0;
    for transmission in leaving.drain(..) {
        let recorded = watcher.recorder.elapsed();
        last_bit = recorded + u128::from(transmission.finish.since(clock.now).picoseconds());
        let (finish, length) = (transmission.finish, transmission.packet.length);
        // A late packet may be written after a change of the policy.
        let remark = port.remark(transmission.packet.flow, transmission.packet.colour);
        let Ok(Disturbed { is_late, is_twice }) = watcher.line.enter(finish, Underway { transmission, remark }) else {
            unreachable!("the line has no limit")
        };
        if is_twice {
            watcher.duplicated.add(length);
        }
        if is_late {
            (0..=u32::from(is_twice)).for_each(|_| watcher.late.add(length));
        }
        while let Some(underway) = watcher.line.leave_settled(finish) {
            write_arrived(clock, underway, watcher, interfaces, outputs)?;
        }
    }
    while let Some(underway) = watcher.line.leave_settled(clock.now) {
        write_arrived(clock, underway, watcher, interfaces, outputs)?;
    }
    write_dropped(clock, watcher, interfaces, outputs)?;
    Ok(last_bit)
}

/// Writes a packet that has come to the end of the link, or counts it as lost there.
fn write_arrived<W: Write, X: Write>(
    clock: &Clock,
    InFlight { due, packet: Underway { transmission, remark }, is_lost, copies }: InFlight<Underway>,
    watcher: &mut Watcher,
    interfaces: &[Interface],
    outputs: &mut Outputs<'_, W, X>,
) -> io::Result<()> {
    let Transmission { mut packet, start, finish } = transmission;
    if is_lost {
        watcher.lost.add(packet.length);
        watcher.drops.push((start, packet, LOST));
        return Ok(());
    }
    let frame = &mut packet.payload;
    let link_type = interfaces[frame.record.interface].link;
    if !rewrite(link_type, &mut frame.record.data, remark) {
        watcher.without_fields += 1;
    }
    if packet.ecn == Ecn::Ce {
        mark(link_type, &mut frame.record.data);
    }
    let frame = &packet.payload;
    let comment = (packet.colour != frame.colour)
        .then(|| format!("tidegate: marked {}, was {}; waited {}", packet.colour.name(), frame.colour.name(), wait(&packet, finish)));
    let at = clock.nanoseconds_of(due);
    for _ in 0..copies {
        outputs.sent.write(interfaces, frame.record.interface, at, packet.length, &frame.record.data, comment.as_deref())?;
    }
    Ok(())
}

/// Writes what was dropped since the last call.
fn write_dropped<W: Write, X: Write>(
    clock: &Clock,
    watcher: &mut Watcher,
    interfaces: &[Interface],
    outputs: &mut Outputs<'_, W, X>,
) -> io::Result<()> {
    // The oldest first: what the link lost started at some instant between the port's drops.
    watcher.drops.sort_by_key(|(time, ..)| Reverse(clock.now.since(*time)));
    for (time, packet, reason) in watcher.drops.drain(..) {
        let frame = &packet.payload;
        let comment = format!("tidegate: dropped, {reason}; waited {}", wait(&packet, time));
        let at = clock.nanoseconds_of(time);
        outputs.dropped.write(interfaces, frame.record.interface, at, packet.length, &frame.record.data, Some(&comment))?;
    }
    Ok(())
}

fn wait<P>(packet: &Packet<P>, until: Time) -> String {
    format!("{:.3} ms", until.since(packet.arrival).picoseconds() as f64 / 1e9)
}
