//! The marks of an AQM are in the bytes of the frames that leave.

use super::*;
use tidegate_core::aqm::{AqmParameters, AqmSetup};
use tidegate_core::registry::AqmKind;

/// Keeps the traffic class of every frame that leaves.
#[derive(Default)]
pub(crate) struct TrafficClasses(pub(crate) Vec<u8>);

impl Transmit for TrafficClasses {
    fn send<'a>(&mut self, messages: impl Iterator<Item = &'a [u8]>) -> Result<usize, SendError> {
        let before = self.0.len();
        self.0.extend(messages.map(|message| message[10 + 15]));
        Ok(self.0.len() - before)
    }

    fn maintain(&mut self) -> bool {
        true
    }
}

/// A frame of one millisecond at 10 Mbit/s with an IPv4 header of this traffic class.
pub(crate) fn ipv4(traffic_class: u8) -> (Vec<u8>, Offload) {
    let mut frame = vec![0; 1250 - 24];
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14..34].copy_from_slice(&[0x45, traffic_class, 4, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    (frame, Offload::default())
}

#[test]
fn frames_that_can_be_marked_leave_with_marks_and_others_as_they_came() {
    let setup = setup(9);
    let at_arrival = AqmParameters { mark_above: Some(1), ..AqmParameters::default() };
    let aqm = AqmKind::Step.build(&AqmSetup { flows: 1, rate: setup.rate, longest_frame: LONGEST_FRAME }, &at_arrival).unwrap();
    let setup = PortSetup { aqms: vec![Some(aqm)], ..setup };
    let departures = TrafficClasses::default();
    let (options, pool) = (direction_options(13), FramePool::new(13, LONGEST_FRAME).unwrap());
    let mut direction = Direction::new(Time::ZERO, setup, options, Arrivals::default(), departures, [true; 2], pool, ());
    // The first starts at once, and the second finds an empty queue.
    direction.receiver.frames.extend([0b10, 0b10, 0b10, 0b01, 0b00, 0b11, 0xba].map(ipv4));
    for millisecond in 0..10 {
        direction.poll(at(1000 * millisecond), true);
    }
    assert_eq!(direction.transmitter.0, [0b10, 0b10, 0b11, 0b11, 0b00, 0b11, 0xbb]);
    assert_eq!(direction.port.counters().marked.packets, 3);
}
