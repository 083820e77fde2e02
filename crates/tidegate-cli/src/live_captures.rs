//! The capture of a bridge that runs: copies of the packets of one class, which a client fetches.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tidegate_control::protocol::{AskedCapture, AskedCaptured, CaptureStarted, CapturedPacket, CapturedPackets};
use tidegate_control::{ErrorKind, Refusal};
use tidegate_live::{Capture, Captured, Control};

/// A capture that no client asks for ends after this time.
const IDLE: Duration = Duration::from_secs(10);
/// The most bytes of packets in one answer.
const BYTES_OF_AN_ANSWER: usize = 1 << 20;

/// The capture of a bridge. There is one at a time.
#[derive(Default)]
pub struct Captures {
    started: u64,
    running: Option<Running>,
}

struct Running {
    number: u64,
    /// By direction that has the class.
    captures: Vec<(u64, Capture)>,
    asked: Instant,
}

impl Captures {
    /// Starts a capture. `ways` are the interfaces of the directions.
    pub fn start(&mut self, control: &Control, asked: &AskedCapture, ways: Vec<[String; 2]>) -> Result<CaptureStarted, Refusal> {
        self.end_idle();
        if self.running.is_some() {
            return Err(Refusal::new(ErrorKind::NotNow, "error: another capture runs: end it first"));
        }
        let not_now = |problem: String| Refusal::new(ErrorKind::NotNow, format!("error: {problem}"));
        let (mut captures, mut directions) = (Vec::new(), Vec::new());
        for (index, way) in ways.into_iter().enumerate() {
            let classes = control.classes(index).map_err(|error| not_now(error.to_string()))?;
            let Some(class) = classes.iter().position(|class| *class.name == *asked.class) else { continue };
            let began = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
            let capture = control.capture(index, class, asked.longest).map_err(|error| not_now(error.to_string()))?;
            captures.push((began, capture));
            directions.push(way);
        }
        if captures.is_empty() {
            let text = format!("error: there is no class `{}`\n  `ctl show classes` lists them", asked.class);
            return Err(Refusal::new(ErrorKind::BadInput, text));
        }
        self.started += 1;
        self.running = Some(Running { number: self.started, captures, asked: Instant::now() });
        Ok(CaptureStarted { capture: self.started, directions })
    }

    /// What has been copied since it was last asked for.
    pub fn take(&mut self, asked: AskedCaptured) -> Result<CapturedPackets, Refusal> {
        let running = self.running.as_mut().filter(|running| running.number == asked.capture);
        let running = running.ok_or_else(|| Refusal::new(ErrorKind::NotNow, format!("error: capture {} runs no longer", asked.capture)))?;
        running.asked = Instant::now();
        let (mut packets, mut bytes) = (Vec::new(), 0);
        for (direction, (began, capture)) in running.captures.iter_mut().enumerate() {
            while bytes < BYTES_OF_AN_ANSWER
                && let Some(packet) = capture.next_packet()
            {
                bytes += packet.bytes.len() + 64;
                packets.push(copied(direction, *began, &packet));
            }
        }
        let lost = running.captures.iter().map(|(_, capture)| capture.lost()).sum();
        if asked.end {
            self.running = None;
        }
        Ok(CapturedPackets { packets, lost })
    }

    /// Ends a capture that no client asks for.
    pub fn end_idle(&mut self) {
        self.running.take_if(|running| running.asked.elapsed() > IDLE);
    }
}

fn copied(direction: usize, began: u64, packet: &Captured) -> CapturedPacket {
    use std::fmt::Write;
    let mut bytes = String::with_capacity(2 * packet.bytes.len());
    packet.bytes.iter().for_each(|byte| _ = write!(bytes, "{byte:02x}"));
    CapturedPacket {
        direction,
        unix_ns: began + packet.at.picoseconds() / 1000,
        length: packet.length,
        dropped: packet.dropped.map(|reason| reason.name().to_owned()),
        bytes,
    }
}
