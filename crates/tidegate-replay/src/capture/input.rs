//! The bytes of a capture, decompressed if need be, and how far they have been read.
//!
//! gzip and zstd are decompressed as a stream: a small file that holds terabytes of zeros costs time, never memory.

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::error::Error;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

/// The first bytes of a gzip file (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The first bytes of a zstd file (RFC 8878).
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The bytes that tell formats apart.
pub(super) const START: usize = 32;
/// After damage at most this many bytes are read to count them.
const COUNT_LIMIT: u64 = 1 << 32;

/// A source of bytes whose beginning has been read already and comes first again.
type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

enum Body<R: BufRead> {
    Plain(Whole<R>),
    Gzip(Box<Whole<BufReader<MultiGzDecoder<Whole<R>>>>>),
    Zstd(Box<Whole<BufReader<ZstdFrames<Whole<R>>>>>),
}

/// The uncompressed bytes of a capture.
pub(super) struct Input<R: BufRead> {
    body: Body<R>,
    position: u64,
}

impl<R: BufRead> Input<R> {
    /// Looks at the first bytes and decompresses what they announce; returns the first uncompressed bytes as well, [`START`] at most.
    pub(super) fn new(mut raw: R) -> io::Result<(Input<R>, Vec<u8>)> {
        let start = beginning(&mut raw)?;
        let whole = |start: &Vec<u8>, raw| Cursor::new(start.clone()).chain(raw);
        let (body, start) = if start.starts_with(&GZIP) {
            let mut inner = BufReader::with_capacity(1 << 17, MultiGzDecoder::new(whole(&start, raw)));
            let start = beginning(&mut inner)?;
            (Body::Gzip(Box::new(Cursor::new(start.clone()).chain(inner))), start)
        } else if start.starts_with(&ZSTD) {
            let mut inner = BufReader::with_capacity(1 << 17, ZstdFrames::new(whole(&start, raw)));
            let start = beginning(&mut inner)?;
            (Body::Zstd(Box::new(Cursor::new(start.clone()).chain(inner))), start)
        } else {
            (Body::Plain(whole(&start, raw)), start)
        };
        Ok((Input { body, position: 0 }, start))
    }

    fn reader(&mut self) -> &mut dyn BufRead {
        match &mut self.body {
            Body::Plain(body) => body,
            Body::Gzip(body) => body,
            Body::Zstd(body) => body,
        }
    }

    /// How many uncompressed bytes have been read.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Fills `bytes` as far as the input reaches; returns how far that is.
    pub(super) fn fill(&mut self, bytes: &mut [u8]) -> Result<usize, ReadError> {
        let mut filled = 0;
        while filled < bytes.len() {
            match self.reader().read(&mut bytes[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_end(&error) => break,
                Err(error) => return Err(self.failed(error)),
            }
        }
        self.position += filled as u64;
        Ok(filled)
    }

    /// Reads `length` bytes, or as many as there are. Memory grows with what is read, not with what was announced.
    pub(super) fn take(&mut self, length: usize) -> Result<Vec<u8>, ReadError> {
        const STEP: usize = 1 << 18;
        let mut bytes = Vec::new();
        while bytes.len() < length {
            let before = bytes.len();
            bytes.resize(length.min(before + STEP), 0);
            let filled = self.fill(&mut bytes[before..])?;
            bytes.truncate(before + filled);
            if filled == 0 {
                break;
            }
        }
        Ok(bytes)
    }

    /// Reads on to the end, to count what is left; gives up at an error or after 4 GiB.
    pub(super) fn drain(&mut self) {
        let mut left = COUNT_LIMIT;
        while left > 0 {
            let Ok(bytes) = self.reader().fill_buf() else { return };
            let length = bytes.len();
            if length == 0 {
                return;
            }
            self.reader().consume(length);
            self.position += length as u64;
            left = left.saturating_sub(length as u64);
        }
    }

    /// An error of the file is the file system's; one of a decompressor tells that the data are damaged.
    fn failed(&self, error: io::Error) -> ReadError {
        match self.body {
            Body::Plain(_) => ReadError::Io(error),
            _ => ReadError::Compression(format!("the compressed data make no sense: {error}")),
        }
    }
}

/// Why no more bytes come.
pub(super) enum ReadError {
    Io(io::Error),
    Compression(String),
}

/// The first [`START`] bytes, or fewer if there are no more.
fn beginning(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::with_capacity(START);
    match input.take(START as u64).read_to_end(&mut start) {
        Err(error) if !is_end(&error) => Err(error),
        _ => Ok(start),
    }
}

/// True if a decompressor wanted more bytes than there were.
fn is_end(error: &io::Error) -> bool {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return true;
    }
    let mut cause = error.get_ref().map(|inner| inner as &dyn Error);
    while let Some(error) = cause {
        if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::UnexpectedEof) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// The frames of a zstd file, one after the other.
struct ZstdFrames<R: BufRead> {
    source: R,
    decoder: FrameDecoder,
    is_open: bool,
}

impl<R: BufRead> ZstdFrames<R> {
    fn new(source: R) -> ZstdFrames<R> {
        ZstdFrames { source, decoder: FrameDecoder::new(), is_open: false }
    }

    /// Begins the next frame and passes over those that hold no data; false at the end.
    fn open(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    io::copy(&mut (&mut self.source).take(u64::from(length)), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_open && !self.open()? {
                return Ok(0);
            }
            self.is_open = true;
            let read = 'frame: {
                while self.decoder.can_collect() == 0 {
                    if self.decoder.is_finished() {
                        break 'frame 0;
                    }
                    let strategy = BlockDecodingStrategy::UptoBlocks(1);
                    self.decoder.decode_blocks(&mut self.source, strategy).map_err(io::Error::other)?;
                }
                self.decoder.read(bytes)?
            };
            if read > 0 || bytes.is_empty() {
                return Ok(read);
            }
            let (told, computed) = (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
            if told.is_some() && told != computed {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a checksum is wrong"));
            }
            self.is_open = false;
        }
    }
}
