//! A server that streams many files at contracted rates, reading every chunk from its file just in time.
//!
//! The scheduler of ATM cells does all of it. Its "cell" is a chunk of 1200 bytes here, and its slot the time of a chunk at 96 Mbit/s. It
//! decides which stream sends next and when, and when the next chunks must be read. A reader thread plays the host memory
//! and its bus. Memory never exceeds the budget of buffers, for files of any size.
//!
//! ```sh
//! cargo run --release -p tidegate-reproduce --example paced_server              # 40 files of its own making, 5 seconds
//! cargo run --release -p tidegate-reproduce --example paced_server -- FILE...   # files of yours, at rates in turn
//! cargo run --release -p tidegate-reproduce --example paced_server -- --to 192.0.2.7:9000 FILE...   # over UDP
//! ```
//!
//! Without `--to` chunks go through a local socket pair to a receiver that measures the rates and checks the data.

use std::collections::VecDeque;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tidegate_cells::{
    Adapter, CellContract, CellScheduler, CellSetup, Conflict, Connection, HeapScheduler, Prefetch, RateScaling, SLOT, Ticks, TransferSetup,
};
use tidegate_core::units::Rate;

/// Bytes of a file in one datagram.
const CHUNK: usize = 1200;

/// The rate of the link, in bit/s of chunks, and the time of one chunk on it.
const LINK: u64 = 96_000_000;
const SLOT_TIME: Duration = Duration::from_nanos(CHUNK as u64 * 8 * 1_000_000_000 / LINK);

/// The contracted rates of the streams, in turn, in bit/s.
const RATES: [u64; 4] = [500_000, 1_000_000, 2_000_000, 4_000_000];

/// Chunks that are posted at a time, and how many such pieces of a stream are posted and not yet sent.
const PIECE: u64 = 64;
const PIECES_AHEAD: usize = 2;

/// The time to fetch chunks, in slots: 10 ms.
const ACCESS_LATENCY: u32 = 100;
/// The most chunks of one fetch.
const BURST: u32 = 4;

/// A datagram's head: the stream, and the number of the chunk within it.
const HEAD: usize = 12;

/// The stream of the datagram that ends everything.
const END: u32 = u32::MAX;

/// One file and its contract.
#[derive(Clone, Debug)]
struct Stream {
    file: PathBuf,
    bytes: u64,
    rate: u64,
}

impl Stream {
    fn chunks(&self) -> u64 {
        self.bytes.div_ceil(CHUNK as u64)
    }
}

/// Where datagrams go: sends one.
type Link<'a> = &'a dyn Fn(&[u8]) -> io::Result<usize>;

/// The adapter of the scheduler: passes requests to the reader and counts buffers.
struct ChunkAdapter {
    requests: Sender<(usize, u32)>,
    /// Chunk buffers that are filled or about to be.
    in_use: usize,
    peak: usize,
    underruns: Vec<u64>,
    /// Streams that have sent a piece.
    done: Vec<Connection>,
}

impl Adapter for ChunkAdapter {
    fn transfer_requested(&mut self, _now: u64, connection: Connection, cells: u32) {
        self.in_use += cells as usize;
        self.peak = self.peak.max(self.in_use);
        // If the reader is gone, its error is on the way.
        let _reader_gone = self.requests.send((connection.index(), cells));
    }

    fn cell_sent(&mut self, _now: u64, _connection: Connection, _late: Ticks) {
        self.in_use -= 1;
    }

    fn underrun(&mut self, _now: u64, connection: Connection) {
        self.underruns[connection.index()] += 1;
    }

    fn pdu_done(&mut self, _now: u64, connection: Connection) {
        self.done.push(connection);
    }
}

/// The totals of a run.
#[derive(Debug)]
struct Served {
    /// The most chunk buffers in use at one time.
    peak: usize,
    underruns: Vec<u64>,
    transfers: u64,
}

/// The chunks of a transfer.
type Arrival = io::Result<(usize, Vec<Vec<u8>>)>;

/// Sends all streams over the link with at most `buffers` chunks in memory.
fn serve(streams: &[Stream], buffers: u32, link: Link<'_>) -> io::Result<Served> {
    let cell_time = Ticks(SLOT / 10);
    let transfer =
        TransferSetup { prefetch: Prefetch::JustInTime, access_latency: ACCESS_LATENCY, cell_time, burst: BURST, buffer: buffers };
    let count = streams.len() as u32;
    let setup = CellSetup { connections: count, pdus: count * PIECES_AHEAD as u32, transfer: Some(transfer) };
    let mut scheduler: HeapScheduler = HeapScheduler::new(&setup, Conflict::Lazy, RateScaling::strict());
    let (requests, requested) = mpsc::channel();
    let (arrived, arrivals) = mpsc::channel();
    let files = streams.iter().map(|stream| File::open(&stream.file)).collect::<io::Result<Vec<File>>>()?;
    let reader = thread::spawn(move || read(files, &requested, &arrived));
    let mut adapter = ChunkAdapter { requests, in_use: 0, peak: 0, underruns: vec![0; streams.len()], done: Vec::new() };

    let mut unposted: Vec<u64> = streams.iter().map(Stream::chunks).collect();
    let mut unsent: u64 = unposted.iter().sum();
    let mut chunks: Vec<VecDeque<Vec<u8>>> = vec![VecDeque::new(); streams.len()];
    let mut numbers = vec![0u64; streams.len()];
    let mut connections = Vec::new();
    for stream in streams {
        let connection = scheduler.add(&CellContract::constant(interval(stream.rate)?)).map_err(io::Error::other)?;
        connections.push(connection);
        adapter.done.extend([connection; PIECES_AHEAD]);
    }

    let started = Instant::now();
    let mut slot = 0;
    while unsent > 0 {
        for connection in std::mem::take(&mut adapter.done) {
            let unposted = &mut unposted[connection.index()];
            let cells = PIECE.min(*unposted);
            if cells > 0 {
                *unposted -= cells;
                scheduler.post(connection, cells as u32, slot, &mut adapter).map_err(io::Error::other)?;
            }
        }
        let next = scheduler.next_slot(slot);
        if let Some((stream, more)) = next_arrival(&arrivals, next.map(|next| started + SLOT_TIME * next as u32))? {
            // A slot that is overdue is not skipped: the link makes up for the time the server slept too long.
            let reached = (started.elapsed().as_nanos() / SLOT_TIME.as_nanos()) as u64;
            slot = slot.max(reached.min(next.unwrap_or(reached)));
            let cells = more.len() as u32;
            chunks[stream].extend(more);
            scheduler.arrived(connections[stream], cells, slot, &mut adapter);
            continue;
        }
        slot = slot.max(next.unwrap_or(slot));
        if let Some(connection) = scheduler.send(slot, &mut adapter) {
            let stream = connection.index();
            let chunk = chunks[stream].pop_front().ok_or_else(|| io::Error::other("a chunk was sent before it arrived"))?;
            link(&[&(stream as u32).to_be_bytes()[..], &numbers[stream].to_be_bytes(), &chunk].concat())?;
            numbers[stream] += 1;
            unsent -= 1;
        }
        slot += 1;
    }
    let transfers = scheduler.counts().transfers;
    let ChunkAdapter { requests, peak, underruns, .. } = adapter;
    drop(requests);
    reader.join().map_err(|_| io::Error::other("the reader ended badly"))?;
    Ok(Served { peak, underruns, transfers })
}

/// The interval between the chunks of a stream, in slots of the link.
fn interval(rate: u64) -> io::Result<Ticks> {
    let checked = |rate| Rate::new(rate).map_err(|_| io::Error::other(format!("a stream of {rate} bit/s is out of range")));
    Ok(Ticks::ceil_of_rate(checked(rate)?, checked(LINK)?))
}

/// The next transfer that is complete; `None` once it is `until`.
fn next_arrival(arrivals: &Receiver<Arrival>, until: Option<Instant>) -> io::Result<Option<(usize, Vec<Vec<u8>>)>> {
    let arrival = match until {
        Some(until) => arrivals.recv_timeout(until.saturating_duration_since(Instant::now())),
        None => arrivals.recv().map_err(|_| RecvTimeoutError::Disconnected),
    };
    match arrival {
        Ok(arrival) => arrival.map(Some),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("the reader is gone")),
    }
}

/// Answers requests one after the other, as one engine on one bus would.
fn read(mut files: Vec<File>, requested: &Receiver<(usize, u32)>, arrived: &Sender<Arrival>) {
    for (stream, cells) in requested {
        let chunks = (0..cells).map(|_| {
            let mut chunk = Vec::with_capacity(CHUNK);
            (&mut files[stream]).take(CHUNK as u64).read_to_end(&mut chunk)?;
            Ok(chunk)
        });
        let answer = chunks.collect::<io::Result<Vec<Vec<u8>>>>().map(|chunks| (stream, chunks));
        let failed = answer.is_err();
        if arrived.send(answer).is_err() || failed {
            return;
        }
    }
}

/// What the receiver saw of one stream.
#[derive(Clone, Debug, Default)]
struct Received {
    bytes: u64,
    chunks: u64,
    /// Chunks that came out of turn.
    disordered: u64,
    digest: DefaultHasher,
    /// When the first chunk came, and the last with what had come by then.
    first: Option<(Instant, u64)>,
    last: Option<(Instant, u64)>,
}

impl Received {
    /// The rate from the first chunk to the last, in bit/s.
    fn rate(&self) -> Option<f64> {
        let ((first, before), (last, bytes)) = (self.first?, self.last?);
        let seconds = last.duration_since(first).as_secs_f64();
        (seconds > 0.0).then(|| (bytes - before) as f64 * 8.0 / seconds)
    }
}

/// Receives until the datagram that ends everything.
fn receive(socket: &UnixDatagram, streams: usize) -> io::Result<Vec<Received>> {
    let mut received = vec![Received::default(); streams];
    let mut datagram = [0; HEAD + CHUNK];
    loop {
        let length = socket.recv(&mut datagram)?;
        let now = Instant::now();
        let (head, chunk) = datagram[..length].split_at(HEAD);
        let (stream, number) = head.split_at(4);
        let stream = u32::from_be_bytes(stream.try_into().map_err(io::Error::other)?);
        let number = u64::from_be_bytes(number.try_into().map_err(io::Error::other)?);
        if stream == END {
            return Ok(received);
        }
        let stream = &mut received[stream as usize];
        stream.disordered += u64::from(number != stream.chunks);
        stream.chunks += 1;
        stream.bytes += chunk.len() as u64;
        stream.digest.write(chunk);
        stream.first.get_or_insert((now, stream.bytes));
        stream.last = Some((now, stream.bytes));
    }
}

/// Serves through a socket pair to a receiver in this process.
fn serve_here(streams: &[Stream], buffers: u32) -> io::Result<(Served, Vec<Received>)> {
    let (here, there) = UnixDatagram::pair()?;
    let count = streams.len();
    let receiver = thread::spawn(move || receive(&there, count));
    let served = serve(streams, buffers, &|datagram| here.send(datagram))?;
    here.send(&[&END.to_be_bytes()[..], &[0; 8]].concat())?;
    let received = receiver.join().map_err(|_| io::Error::other("the receiver ended badly"))??;
    Ok((served, received))
}

/// Files for `seconds` of as many streams, in a folder that goes with the program.
fn library(streams: usize, seconds: f64) -> io::Result<(TempDir, Vec<Stream>)> {
    let folder = TempDir::with_prefix("tidegate-")?;
    let mut made = Vec::new();
    for (number, &rate) in RATES.iter().cycle().take(streams).enumerate() {
        // An odd length, so that the last chunk is a short one; other bytes in every file.
        let bytes = (rate as f64 * seconds / 8.0) as u64 + number as u64;
        let content: Vec<u8> = (0..bytes).map(|at| (at ^ (at >> 8) ^ number as u64) as u8).collect();
        let file = folder.path().join(format!("{number}.bin"));
        std::fs::write(&file, content)?;
        made.push(Stream { file, bytes, rate });
    }
    Ok((folder, made))
}

fn streams_of(files: &[String]) -> io::Result<Vec<Stream>> {
    let stream = |(file, &rate): (&String, &u64)| {
        let bytes = std::fs::metadata(file).map_err(|error| io::Error::new(error.kind(), format!("{file}: {error}")))?.len();
        Ok(Stream { file: Path::new(file).to_owned(), bytes, rate })
    };
    files.iter().zip(RATES.iter().cycle()).map(stream).collect()
}

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> io::Result<()> {
    let (to, files) = match arguments {
        [option, address, files @ ..] if option == "--to" => {
            let wrong = |_| io::Error::other(format!("--to {address}: an address and a port are right, such as 192.0.2.7:9000"));
            (Some(address.parse::<SocketAddr>().map_err(wrong)?), files)
        }
        files => (None, files),
    };
    let (_library, streams) = if files.is_empty() {
        let (library, streams) = library(40, 5.0)?;
        (Some(library), streams)
    } else {
        (None, streams_of(files)?)
    };
    let asked: u64 = streams.iter().map(|stream| stream.rate).sum();
    if asked > LINK {
        return Err(io::Error::other(format!("{} streams ask for {asked} bit/s; the link has {LINK}", streams.len())));
    }
    let buffers = streams.len() as u32 * 2 * BURST;
    println!(
        "{} streams ask for {:.1} of {:.1} Mbit/s; {buffers} chunk buffers ({:.0} kB) for files of {:.1} MB",
        streams.len(),
        asked as f64 / 1e6,
        LINK as f64 / 1e6,
        f64::from(buffers) * CHUNK as f64 / 1e3,
        streams.iter().map(|stream| stream.bytes).sum::<u64>() as f64 / 1e6
    );
    let (served, received) = match to {
        None => serve_here(&streams, buffers).map(|(served, received)| (served, Some(received)))?,
        Some(address) => {
            let socket = UdpSocket::bind(if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" })?;
            socket.connect(address)?;
            (serve(&streams, buffers, &|datagram| socket.send(datagram))?, None)
        }
    };
    println!("\n{:>6}  {:>14}  {:>14}  {:>8}  {:>9}", "stream", "contract", "achieved", "of it", "underruns");
    for (number, stream) in streams.iter().enumerate() {
        let achieved = received.as_ref().and_then(|received| received[number].rate());
        let (rate, share) = match achieved {
            Some(rate) => (format!("{:.4} Mbit/s", rate / 1e6), format!("{:.2} %", 100.0 * rate / stream.rate as f64)),
            None => ("–".into(), "–".into()),
        };
        println!("{number:>6}  {:>7.4} Mbit/s  {rate:>14}  {share:>8}  {:>9}", stream.rate as f64 / 1e6, served.underruns[number]);
    }
    println!(
        "\n{} transfers, {} underruns; peak memory {:.0} kB in {} of {buffers} chunk buffers",
        served.transfers,
        served.underruns.iter().sum::<u64>(),
        (served.peak * CHUNK) as f64 / 1e3,
        served.peak
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_arrives_whole_within_the_budget() {
        let (_library, streams) = library(8, 0.2).unwrap();
        // Fewer buffers than the streams would like, so that some wait for others.
        for buffers in [6, 64] {
            let (served, received) = serve_here(&streams, buffers).unwrap();
            assert!(served.peak <= buffers as usize, "{} of {buffers}", served.peak);
            for (stream, received) in streams.iter().zip(&received) {
                let content = std::fs::read(&stream.file).unwrap();
                assert_eq!((received.bytes, received.disordered), (content.len() as u64, 0));
                let mut digest = DefaultHasher::new();
                digest.write(&content);
                assert_eq!(received.digest.finish(), digest.finish());
            }
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = run(&["/no/such/file".into()]).unwrap_err().to_string();
        assert!(error.contains("/no/such/file"), "{error}");
        assert!(run(&["--to".into(), "nowhere".into()]).unwrap_err().to_string().contains("nowhere"));
    }
}
