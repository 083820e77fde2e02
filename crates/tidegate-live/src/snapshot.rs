//! The snapshot by which a running bridge goes on in another process: bytes in memory that both see and neither can change any more.
//!
//! | bytes | hold |
//! |---|---|
//! | 8 | `TGATE-TO` |
//! | 4 | the version of the format, [`VERSION`] |
//! | 4 | the number of directions |
//! | 8 | the checksum of what follows |
//! | for each direction 8 and n | the number of bytes, and these |
//!
//! Numbers are little-endian. Texts and lists begin with their length in 4 bytes. `direction/continuation.rs` says what a direction writes.

use crate::memory::SealedBytes;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::ops::{Deref, Range};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use thiserror::Error;
use tidegate_core::port::Volume;

/// The version of the format. It grows with every change of what is written, or of what that means.
pub const VERSION: u32 = 2;

const MAGIC: [u8; 8] = *b"TGATE-TO";

/// Why a snapshot cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum SnapshotError {
    /// It is no snapshot, or was damaged.
    #[error("the snapshot is damaged: {0}")]
    Damaged(&'static str),
    /// Another version has written it.
    #[error("the snapshot has version {0}, and this program reads version {VERSION}")]
    Version(u32),
    /// It is not about this bridge.
    #[error("the snapshot does not suit this bridge: {0}")]
    Other(String),
}

/// Writes numbers and texts.
#[derive(Debug, Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn byte(&mut self, number: u8) {
        self.0.push(number);
    }

    pub(crate) fn short(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(crate) fn long(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(crate) fn volume(&mut self, volume: Volume) {
        self.long(volume.packets);
        self.long(volume.bytes);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.short(bytes.len() as u32);
        self.0.extend_from_slice(bytes);
    }
}

/// Reads what a [`Writer`] has written. Every call may find that it ends too early.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], SnapshotError> {
        let (first, rest) = self.0.split_first_chunk().ok_or(SnapshotError::Damaged("it ends too early"))?;
        self.0 = rest;
        Ok(*first)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, SnapshotError> {
        self.take().map(u8::from_le_bytes)
    }

    pub(crate) fn short(&mut self) -> Result<u32, SnapshotError> {
        self.take().map(u32::from_le_bytes)
    }

    pub(crate) fn long(&mut self) -> Result<u64, SnapshotError> {
        self.take().map(u64::from_le_bytes)
    }

    pub(crate) fn volume(&mut self) -> Result<Volume, SnapshotError> {
        let (packets, bytes) = (self.long()?, self.long()?);
        // No counter of a running bridge comes near, and sums of them stay numbers.
        if packets.max(bytes) >> 56 > 0 {
            return Err(SnapshotError::Damaged("a counter is too large"));
        }
        Ok(Volume { packets, bytes })
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], SnapshotError> {
        let length = self.short()? as usize;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(SnapshotError::Damaged("it ends too early"))?;
        self.0 = rest;
        Ok(bytes)
    }

    /// The length of a list, whose elements have at least this many bytes.
    pub(crate) fn count(&mut self, least: usize) -> Result<usize, SnapshotError> {
        let count = self.short()? as usize;
        if count.saturating_mul(least) > self.0.len() { Err(SnapshotError::Damaged("a list is too long")) } else { Ok(count) }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.is_empty()
    }
}

/// Puts what these directions wrote into memory that is sealed against changes.
///
/// # Errors
/// There is no memory, or the kernel has none of this kind.
pub(crate) fn seal(directions: &[Vec<u8>]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("tidegate-snapshot", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
    let mut sum = Checksum::new();
    for bytes in directions {
        sum.add(&(bytes.len() as u64).to_le_bytes());
        sum.add(bytes);
    }
    let mut header = Writer(MAGIC.to_vec());
    header.short(VERSION);
    header.short(directions.len() as u32);
    header.long(sum.finish());
    file.write_all(&header.0)?;
    for bytes in directions {
        file.write_all(&(bytes.len() as u64).to_le_bytes())?;
        file.write_all(bytes)?;
    }
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(file.into())
}

/// What one direction wrote, in the memory of the snapshot.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    memory: Arc<SealedBytes>,
    place: Range<usize>,
}

impl Deref for Section {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory.bytes()[self.place.clone()]
    }
}

/// The bytes of each direction.
///
/// # Errors
/// [`SnapshotError`]; nothing of it is of use then.
pub(crate) fn unseal(memory: OwnedFd) -> Result<Vec<Section>, SnapshotError> {
    let memory = SealedBytes::of(&memory.into()).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => SnapshotError::Damaged("its memory can still be changed"),
        _ => SnapshotError::Damaged("it cannot be read"),
    })?;
    let places = parts(memory.bytes())?;
    let memory = Arc::new(memory);
    Ok(places.into_iter().map(|place| Section { memory: memory.clone(), place }).collect())
}

/// Where the bytes of each direction are.
fn parts(bytes: &[u8]) -> Result<Vec<Range<usize>>, SnapshotError> {
    let mut reader = Reader::new(bytes);
    if reader.take()? != MAGIC {
        return Err(SnapshotError::Damaged("it does not begin as one"));
    }
    match reader.short()? {
        VERSION => {}
        other => return Err(SnapshotError::Version(other)),
    }
    let (count, expected) = (reader.short()?, reader.long()?);
    let mut sum = Checksum::new();
    let mut directions = Vec::new();
    for _ in 0..count {
        let length = reader.long()?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let (direction, rest) = reader.0.split_at_checked(length).ok_or(SnapshotError::Damaged("it ends too early"))?;
        reader.0 = rest;
        sum.add(&(length as u64).to_le_bytes());
        sum.add(direction);
        let end = bytes.len() - rest.len();
        directions.push(end - length..end);
    }
    if !reader.is_over() || sum.finish() != expected {
        return Err(SnapshotError::Damaged("its checksum is wrong"));
    }
    Ok(directions)
}

/// A checksum of eight bytes at a time, against damage and not against intent: what writes a snapshot has the user of both processes.
struct Checksum(u64);

impl Checksum {
    /// The prime of FNV-1a.
    const PRIME: u64 = 0x0100_0000_01b3;

    fn new() -> Checksum {
        Checksum(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        let last = rest.iter().fold(1_u64, |word, &byte| word << 8 | u64::from(byte));
        for word in words.iter().map(|word| u64::from_le_bytes(*word)).chain([last]) {
            self.0 = (self.0 ^ word).wrapping_mul(Checksum::PRIME).rotate_left(23);
        }
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(directions: &[Vec<u8>]) -> Vec<u8> {
        SealedBytes::of(&seal(directions).unwrap().into()).unwrap().bytes().to_vec()
    }

    #[test]
    fn what_is_sealed_comes_out_and_cannot_be_changed() {
        let directions = [vec![1, 2, 3], Vec::new(), vec![0; 100]];
        let memory = seal(&directions).unwrap();
        assert!(File::from(memory.try_clone().unwrap()).write_all(b"x").is_err());
        let found: Vec<Vec<u8>> = unseal(memory).unwrap().iter().map(|section| section.to_vec()).collect();
        assert_eq!(found, directions);
        let open: OwnedFd = memfd_create("open", MemfdFlags::ALLOW_SEALING).unwrap();
        assert_eq!(unseal(open).unwrap_err(), SnapshotError::Damaged("its memory can still be changed"));
    }

    #[test]
    fn another_version_is_named() {
        let mut bytes = written(&[vec![7]]);
        bytes[8] = 9;
        assert_eq!(parts(&bytes), Err(SnapshotError::Version(9)));
    }

    /// One direction's bytes, as they come out of a snapshot.
    pub(crate) fn section(bytes: &[u8]) -> Section {
        unseal(seal(&[bytes.to_vec()]).unwrap()).unwrap().remove(0)
    }

    proptest! {
        /// One byte that differs, or an end that is missing, is one error.
        #[test]
        fn damage_is_found(
            directions in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..4),
            at in any::<prop::sample::Index>(),
            change in 1_u8..,
            cut in any::<bool>(),
        ) {
            let mut bytes = written(&directions);
            let at = at.index(bytes.len());
            if cut {
                bytes.truncate(at);
            } else {
                bytes[at] ^= change;
            }
            prop_assert!(parts(&bytes).is_err());
        }
    }
}
