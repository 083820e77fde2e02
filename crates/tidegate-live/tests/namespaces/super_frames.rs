//! TCP super-frames: the port sees their segments, and those that it releases together leave as one again.

use super::policy;
use super::raw::RawSocket;
use super::topology::{Place, Topology};
use super::{between, eventually};
use std::time::Duration;
use tidegate_wire::checksum;

const SIZE: usize = 1000;

/// A TCP super-frame over IPv4 with this payload, behind a virtio-net header that asks for checksums and segments of [`SIZE`] bytes.
fn super_frame(payload: &[u8]) -> Vec<u8> {
    const NEEDS_CHECKSUM: u8 = 1;
    const TCP_OVER_IPV4: u8 = 1;
    let mut message = vec![NEEDS_CHECKSUM, TCP_OVER_IPV4];
    for field in [54, SIZE as u16, 34, 16] {
        message.extend(field.to_ne_bytes());
    }
    let mut frame = vec![0x02, 0, 0, 0, 0, 9, 0x02, 0, 0, 0, 0, 8, 0x08, 0x00, 0x45, 0];
    frame.extend((40 + payload.len() as u16).to_be_bytes());
    frame.extend([0, 7, 0x40, 0, 64, 6, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2]);
    let header = !checksum::sum(&frame[14..34]);
    frame[24..26].copy_from_slice(&header.to_be_bytes());
    frame.extend([0x0f, 0xa0, 0x13, 0x88, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    let partial = checksum::pseudo_header(&frame[26..34], 6, 20 + payload.len() as u32);
    frame[50..52].copy_from_slice(&partial.to_be_bytes());
    message.extend(frame);
    message.extend(payload);
    message
}

/// Sends a super-frame of 20 segments through a policy of this rate, and returns the lengths of the payloads that arrive.
fn arriving(bits_per_second: u64) -> Vec<usize> {
    let topology = Topology::new();
    let bridge = topology.bridge(between(policy::plain(bits_per_second)));
    let payload: Vec<u8> = (0..19 * SIZE + 300).map(|n| (n / 3) as u8).collect();
    let receiver = topology.call(Place::Host2, || RawSocket::open("tgd", false));
    let message = super_frame(&payload);
    topology.call(Place::Host1, move || RawSocket::open("tga", true).send(&message));
    eventually("the segments", Duration::from_secs(20), || bridge.state()[0].delivered.packets >= 20);
    let seen = receiver.see(20, Duration::from_millis(300), |frame| frame.bytes[..6] == [2, 0, 0, 0, 0, 9]);
    let arrived: Vec<u8> = seen.iter().flat_map(|frame| frame.bytes[54..].to_vec()).collect();
    assert_eq!(arrived, payload);
    for (number, frame) in seen.iter().enumerate() {
        let bytes = &frame.bytes;
        assert_eq!(checksum::sum(&bytes[14..34]), 0xffff, "frame {number}");
        assert_eq!(usize::from(u16::from_be_bytes([bytes[16], bytes[17]])), bytes.len() - 14, "frame {number}");
        // What is joined is cut later, and completed then.
        let sum = checksum::pseudo_header(&bytes[26..34], 6, (bytes.len() - 34) as u32);
        let is_partial = u16::from_be_bytes([bytes[50], bytes[51]]) == sum;
        assert!(is_partial || checksum::add(sum, checksum::sum(&bytes[34..])) == 0xffff, "frame {number}");
    }
    let counters = bridge.finish().directions[0].counters;
    assert_eq!((counters.super_frames, counters.dropped().count()), (1, 0), "{counters:?}");
    seen.iter().map(|frame| frame.bytes.len() - 54).collect()
}

#[test]
fn segments_leave_one_by_one_at_a_low_rate() {
    // 2 ms for each, which is the time that a thread may make up for.
    let lengths = arriving(4_000_000);
    assert_eq!(lengths.len(), 20, "{lengths:?}");
}

#[test]
fn segments_leave_together_at_a_high_rate() {
    let lengths = arriving(40_000_000_000);
    println!("{lengths:?}");
    assert!(lengths.len() < 20, "{lengths:?}");
}
