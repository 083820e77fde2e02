//! Acknowledgements that wait behind each other.

use super::*;
use tidegate_wire::AckFilter;

/// A pure acknowledgement of the connection with this source port, with its name in the byte after the Ethernet header, which an IPv4 header lacks.
fn ack(port: u8, number: u8) -> (Vec<u8>, Offload) {
    let mut frame = vec![0; 12];
    frame.extend([0x08, 0x00, 0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend([0, port, 0, 80, 0, 0, 0, 1, 0, 0, 0, number, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    (frame, Offload::default())
}

/// Keeps source port and acknowledgement of every frame that leaves.
#[derive(Default)]
struct Numbers(Vec<(u8, u8)>);

impl Transmit for Numbers {
    fn send<'a>(&mut self, messages: impl Iterator<Item = &'a [u8]>) -> Result<usize, SendError> {
        let before = self.0.len();
        self.0.extend(messages.map(|message| (message[10 + 35], message[10 + 45])));
        Ok(self.0.len() - before)
    }

    fn maintain(&mut self) -> bool {
        true
    }
}

#[test]
fn the_newest_acknowledgements_of_a_connection_leave() {
    let cases = [
        (None, vec![(1, 1), (1, 2), (2, 9), (1, 3), (1, 4), (1, 4), (2, 8), (1, 5)]),
        (Some(AckFilter::Conservative), vec![(1, 1), (2, 9), (1, 4), (1, 4), (2, 8), (1, 5)]),
        (Some(AckFilter::Aggressive), vec![(1, 1), (2, 9), (1, 4), (2, 8), (1, 5)]),
    ];
    for (ack_filter, expected) in cases {
        let options = DirectionOptions { ack_filter, ..direction_options(24) };
        let pool = FramePool::new(24, LONGEST_FRAME).unwrap();
        let mut direction = Direction::new(Time::ZERO, setup(20), options, Arrivals::default(), Numbers::default(), [true; 2], pool, ());
        // The first starts at once, so it has left its queue.
        direction
            .receiver
            .frames
            .extend([(1, 1), (1, 2), (2, 9), (1, 3), (1, 4), (1, 4), (2, 8), (1, 5)].map(|(port, number)| ack(port, number)));
        for millisecond in 0..4 {
            direction.poll(at(1000 * millisecond), true);
            let counters = direction.counters();
            assert_eq!(counters.check(), Ok(()));
            assert_eq!(u64::from(direction.pool.in_use()), counters.queued.packets + counters.in_flight.packets);
        }
        assert_eq!(direction.transmitter.0, expected, "{ack_filter:?}");
        let filtered = direction.port.counters().dropped[DropReason::AckFiltered as usize].packets;
        assert_eq!(filtered as usize, 8 - expected.len());
    }
}
