//! Frames over lines that lose and damage cells: every delivered frame was sent, and every loss is detected.

use proptest::prelude::*;
use tidegate_atm::aal5::{cells, segment};
use tidegate_atm::cell::{CELL, Cell, Header, Interface, PAYLOAD, PayloadType};
use tidegate_atm::reassembly::{Damage, Delivery, Reassembler};

fn cells_of(frame: &[u8]) -> Vec<Cell> {
    segment(Header { vci: 42, ..Header::default() }, Interface::User, 7, frame).unwrap().collect()
}

/// The results of a receiver of frames of up to `longest` bytes.
fn receive(longest: u16, cells: &[Cell]) -> Vec<Result<Vec<u8>, Damage>> {
    let mut reassembler = Reassembler::new(longest);
    let arrived = cells.iter().filter_map(|cell| {
        let header = Header::parse(cell.header_bytes(), Interface::User);
        reassembler.push(&header, cell.payload()).map(|result| {
            result.map(|frame| {
                assert_eq!(frame.user_to_user, 7);
                frame.payload.to_vec()
            })
        })
    });
    arrived.collect()
}

fn frame() -> impl Strategy<Value = Vec<u8>> {
    // Around the boundaries of cells, where the trailer needs another cell.
    let length = prop_oneof![1usize..200, (1usize..8, 0usize..20).prop_map(|(cells, before)| cells * 48 - before)];
    length.prop_flat_map(|length| prop::collection::vec(any::<u8>(), length))
}

proptest! {
    #[test]
    fn frames_survive_the_way_through_cells(frames in prop::collection::vec(frame(), 1..6)) {
        let line: Vec<Cell> = frames.iter().flat_map(|frame| cells_of(frame)).collect();
        prop_assert_eq!(line.len(), frames.iter().map(|frame| cells(frame.len())).sum::<usize>());
        let expected: Vec<_> = frames.into_iter().map(Ok).collect();
        prop_assert_eq!(receive(400, &line), expected);
    }

    /// A lost cell costs its frame, or two frames if it was the last cell of the first. All others arrive, and no frame that was not sent.
    #[test]
    fn any_single_lost_cell_is_detected(frames in prop::collection::vec(frame(), 3), place: prop::sample::Index) {
        let line: Vec<(usize, Cell)> =
            frames.iter().enumerate().flat_map(|(number, frame)| cells_of(frame).into_iter().map(move |cell| (number, cell))).collect();
        let lost = place.index(line.len());
        let hit = line[lost].0;
        let was_last = line.get(lost + 1).is_none_or(|next| next.0 != hit);
        let was_alone = cells(frames[hit].len()) == 1;
        let rest: Vec<Cell> = line.iter().enumerate().filter(|&(at, _)| at != lost).map(|(_, &(_, cell))| cell).collect();
        let arrived = receive(400, &rest);
        let intact: Vec<Vec<u8>> = arrived.iter().flatten().cloned().collect();
        let survives = |number: usize| number != hit && !(was_last && !was_alone && number == hit + 1);
        let expected: Vec<Vec<u8>> = (0..3).filter(|&number| survives(number)).map(|number| frames[number].clone()).collect();
        prop_assert_eq!(intact, expected);
        // A frame of one lost cell is not reported, and neither is a last frame that never ends.
        let reported = arrived.iter().filter(|result| result.is_err()).count();
        prop_assert_eq!(reported, usize::from(!(was_alone || was_last && hit == 2)));
    }

    /// The CRC detects every error within 32 bits of a cell's payload.
    #[test]
    fn any_damage_within_32_bits_is_detected(frame in frame(), place: prop::sample::Index, bit in 0usize..353, error in 1u32..) {
        let mut line = cells_of(&frame);
        let hit = place.index(line.len());
        let mut bytes = *line[hit].bytes();
        for offset in (0..32).filter(|offset| error >> offset & 1 == 1) {
            let bit = 8 * (CELL - PAYLOAD) + bit + offset;
            if bit < 8 * CELL {
                bytes[bit / 8] ^= 0x80 >> (bit % 8);
            }
        }
        let is_damaged = bytes != *line[hit].bytes();
        line[hit] = Cell::from_bytes(bytes);
        let arrived = receive(400, &line);
        prop_assert_eq!(arrived.len(), 1);
        prop_assert_eq!(arrived[0].is_err(), is_damaged);
    }

    #[test]
    fn two_cells_in_the_wrong_order_are_detected(frame in prop::collection::vec(any::<u8>(), 150..300), at in 0usize..2) {
        let mut line = cells_of(&frame);
        let differ = line[at].payload() != line[at + 1].payload();
        line.swap(at, at + 1);
        prop_assert_eq!(receive(400, &line)[0].is_err(), differ);
    }
}

proptest! {
    /// Counting cells gives the frames that reassembly gives.
    #[test]
    fn counting_cells_tells_which_frames_are_delivered(
        sizes in prop::collection::vec(1usize..200, 1..20), losses in prop::collection::vec(prop::bool::weighted(0.3), 100),
    ) {
        let (mut delivery, mut reassembler, mut losses) = (Delivery::default(), Reassembler::new(65_535), losses.into_iter().cycle());
        for (number, size) in sizes.into_iter().enumerate() {
            let line = cells_of(&vec![number as u8; size]);
            for (at, cell) in line.iter().enumerate() {
                let is_lost = losses.next().unwrap();
                let header = Header::parse(cell.header_bytes(), Interface::User);
                let arrives = !is_lost && matches!(reassembler.push(&header, cell.payload()), Some(Ok(_)));
                prop_assert_eq!(delivery.send(at == 0, at + 1 == line.len(), is_lost), arrives);
            }
        }
    }
}

#[test]
fn a_lost_last_cell_merges_two_frames_and_costs_both() {
    let mut line = cells_of(&[1; 100]);
    line.pop();
    line.extend(cells_of(&[2; 100]));
    line.extend(cells_of(&[3; 100]));
    let arrived = receive(1000, &line);
    assert_eq!(arrived, [Err(Damage::Checksum), Ok(vec![3; 100])]);
}

#[test]
fn memory_is_bounded_and_the_next_frame_arrives_after_one_that_was_too_long() {
    let mut reassembler = Reassembler::new(40);
    let data = Header { payload_type: PayloadType::DATA, ..Header::default() };
    for _ in 0..100_000 {
        assert_eq!(reassembler.push(&data, &[0; PAYLOAD]), None);
    }
    assert_eq!(reassembler.pending_cells(), 2);
    let mut line = cells_of(&[5; 41]);
    line.extend(cells_of(&[6; 40]));
    assert_eq!(receive(40, &line), [Err(Damage::TooLong), Ok(vec![6; 40])]);
}

#[test]
fn a_length_that_does_not_fit_is_detected_although_the_crc_is_right() {
    // A frame of zeros whose trailer claims 41 bytes in one cell, with the CRC that goes with it.
    let mut payload = [0; PAYLOAD];
    payload[43] = 41;
    let crc = crc::Crc::<u32>::new(&crc::CRC_32_BZIP2).checksum(&payload[..44]);
    payload[44..].copy_from_slice(&crc.to_be_bytes());
    let end = Header { payload_type: PayloadType::END_OF_FRAME, ..Header::default() };
    assert_eq!(Reassembler::new(400).push(&end, &payload), Some(Err(Damage::Length { bytes: 41, cells: 1 })));
}

#[test]
fn aborted_and_discarded_frames_are_not_delivered() {
    assert_eq!(receive(400, &cells_of(&[])), [Err(Damage::Aborted)]);
    let mut reassembler = Reassembler::new(400);
    let tagged = Header { loss_priority: true, ..Header::default() };
    assert_eq!(reassembler.push(&tagged, &[9; PAYLOAD]), None);
    // Cells of operation and maintenance are ignored.
    let oam = Header { payload_type: PayloadType::new(5).unwrap(), ..Header::default() };
    assert_eq!(reassembler.push(&oam, &[9; PAYLOAD]), None);
    assert_eq!(reassembler.pending_cells(), 1);
    reassembler.reset();
    let line = cells_of(&[4; 60]);
    let arrived = line.iter().map(|cell| {
        let header = Header::parse(cell.header_bytes(), Interface::User);
        reassembler.push(&header, cell.payload()).map(|frame| frame.map(|frame| (frame.payload.to_vec(), frame.loss_priority)))
    });
    assert_eq!(arrived.collect::<Vec<_>>(), [None, Some(Ok((vec![4; 60], false)))]);
}

#[test]
fn a_frame_is_tagged_if_any_of_its_cells_is_and_congested_if_the_last_one_is() {
    let mut reassembler = Reassembler::new(400);
    let line = cells_of(&[4; 60]);
    let mut headers: Vec<Header> = line.iter().map(|cell| Header::parse(cell.header_bytes(), Interface::User)).collect();
    headers[0].loss_priority = true;
    headers[1].payload_type = PayloadType::new(0b011).unwrap();
    assert_eq!(reassembler.push(&headers[0], line[0].payload()), None);
    let frame = reassembler.push(&headers[1], line[1].payload()).unwrap().unwrap();
    assert_eq!((frame.loss_priority, frame.is_congested), (true, true));
}
