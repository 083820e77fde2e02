//! The hash that spreads a class's packets over its queues.
//!
//! The two directions of a flow hash differently. Every bit of the hash depends on a seed, so that traffic from outside cannot be aimed at a
//! queue. Ports count only for packets that are no fragments: addresses and protocol alone place the fragments of a datagram.

use super::header::{Header, Network, Transport};
use super::spread::FlowKey;

/// A seeded hash of flow keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FlowHash {
    keys: [u64; 3],
}

impl FlowHash {
    pub(super) fn new(seed: u64) -> FlowHash {
        // Three unrelated words out of one, by the increment and finaliser of SplitMix64.
        let mut state = seed;
        FlowHash {
            keys: core::array::from_fn(|_| {
                state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                let mut word = state;
                word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
                word ^ (word >> 31)
            }),
        }
    }

    /// A queue from 0 to `queues - 1` for the packet.
    #[inline]
    pub(super) fn spread(&self, header: &Header, queues: u32) -> u32 {
        // The product of the hash's upper half with the number of queues: as even as a remainder, without a division.
        ((u64::from(self.of_flow(header)) * u64::from(queues)) >> 32) as u32
    }

    /// Of addresses, protocol and ports; without IP of the Ethernet type.
    #[inline]
    fn of_flow(&self, header: &Header) -> u32 {
        let hash = match &header.network {
            Network::Other => self.mix(u64::from(header.ethernet_type), 0),
            Network::V4 { source, destination, transport } => {
                self.mix(u64::from(*source) << 32 | u64::from(*destination), FlowHash::rest(transport))
            }
            Network::V6 { source, destination, transport } => {
                let source = self.mix(*source as u64, (source >> 64) as u64);
                let destination = self.mix(*destination as u64 ^ source, (destination >> 64) as u64);
                self.mix(destination, FlowHash::rest(transport))
            }
        };
        (hash >> 32) as u32
    }

    /// The hashes that schedulers assign queues by.
    #[inline]
    pub(super) fn key(&self, header: &Header) -> FlowKey {
        let of = |address: u128| (self.mix(address as u64, (address >> 64) as u64) >> 32) as u32;
        let (source, destination) = match header.network {
            Network::Other => (0, 0),
            Network::V4 { source, destination, .. } => (of(source.into()), of(destination.into())),
            Network::V6 { source, destination, .. } => (of(source), of(destination)),
        };
        FlowKey { flow: self.of_flow(header), source, destination }
    }

    /// The mixing step over `words`, six or more of them, for tables.
    #[inline]
    pub(super) fn of_words<const N: usize>(&self, words: &[u64; N]) -> u64 {
        let first = self.mix(words[0] ^ words[2].rotate_left(32), words[1] ^ words[3].rotate_left(16));
        words[6..].iter().fold(self.mix(first ^ words[4], words[5]), |hash, &word| self.mix(hash, word))
    }

    #[inline]
    fn rest(transport: &Transport) -> u64 {
        let ports = match transport.ports {
            Some((source, destination)) if !transport.fragment => 1 << 32 | u64::from(source) << 16 | u64::from(destination),
            _ => 0,
        };
        u64::from(transport.protocol) << 40 | ports
    }

    /// Two words into one: both halves of a 128-bit product, twice, so that every bit of the input reaches every bit of the output.
    #[inline]
    fn mix(&self, a: u64, b: u64) -> u64 {
        let fold = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            product as u64 ^ (product >> 64) as u64
        };
        let inner = fold(a ^ self.keys[0], b ^ self.keys[1]);
        fold(inner ^ self.keys[2], 0x9E37_79B9_7F4A_7C15 ^ a.wrapping_add(b.rotate_left(32)))
    }
}
