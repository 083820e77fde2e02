//! How much a connection carries, and when: one endless transfer, or one finite transfer after another.

use crate::fault::Fault;
use crate::holding::Holding;
use crate::random::Stream;
use crate::time::{LONGEST_DURATION, random_span};

/// How much a connection carries, and when.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Application {
    /// There is always more to send.
    #[default]
    Endless,
    /// Finite transfers, each of which begins some time after the one before is complete.
    Transfers(Transfers),
}

/// Finite transfers: a single one, requests and their responses, or pages of the web.
#[derive(Clone, PartialEq, Debug)]
pub struct Transfers {
    /// How long they are.
    pub size: TransferSize,
    /// How many; `None` for no end.
    pub count: Option<u64>,
    /// The time from one to the next. With requests, the receiving end waits, from the last byte to the next request. Without, the sending end
    /// waits, from the last acknowledgement to the first byte.
    pub think: Option<Holding>,
    /// The length in bytes of the receiving end's request for each transfer; `None`: the sending end begins by itself. A lost request is
    /// repeated after one second, two, four, and so on.
    pub request: Option<u32>,
    /// True if every transfer has a new connection with a fresh window; false if one connection carries them all.
    pub reconnects: bool,
}

/// The length of transfers, in bytes of data.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TransferSize {
    /// All the same.
    Fixed(u64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Pareto with this mean and shape, which is above 1.
    Pareto {
        /// The mean.
        mean: f64,
        /// The exponent.
        shape: f64,
    },
}

impl TransferSize {
    /// Draws one, at least 1 byte and at most 2^50.
    pub(crate) fn draw(self, stream: &mut Stream) -> u64 {
        const MOST: f64 = (1u64 << 50) as f64;
        let bytes = match self {
            TransferSize::Fixed(bytes) => return bytes,
            TransferSize::Exponential(mean) => mean * stream.exponential(),
            // Pareto is exponential on a logarithmic scale.
            TransferSize::Pareto { mean, shape } => mean * (shape - 1.0) / shape * libm::exp(stream.exponential() / shape),
        };
        (bytes + 0.5).clamp(1.0, MOST) as u64
    }

    /// The mean in bytes.
    pub fn mean(self) -> f64 {
        match self {
            TransferSize::Fixed(bytes) => bytes as f64,
            TransferSize::Exponential(mean) | TransferSize::Pareto { mean, .. } => mean,
        }
    }
}

impl Application {
    pub(super) fn check(&self, longest_request: u32) -> Result<(), Fault> {
        let Application::Transfers(transfers) = self else { return Ok(()) };
        let mean = transfers.size.mean();
        if !(1.0..=1e15).contains(&mean) {
            return Err(Fault::new("transfer", format!("{mean} bytes"), "1 byte to 1 PB"));
        }
        if let TransferSize::Pareto { shape, .. } = transfers.size
            && !(shape > 1.0 && shape.is_finite())
        {
            return Err(Fault::new("transfer_shape", format!("{shape}"), "a number above 1: at 1 or less there is no mean"));
        }
        if transfers.count == Some(0) {
            return Err(Fault::new("transfers", "0", "at least 1"));
        }
        if let Some(think) = &transfers.think {
            think.check("think")?;
            if think.mean() > LONGEST_DURATION {
                return Err(Fault::new("think", "more than 26 days", "a time that can be simulated"));
            }
        }
        match transfers.request {
            Some(bytes) if bytes == 0 || bytes > longest_request => {
                Err(Fault::new("request", format!("{bytes} bytes"), format!("1 to {longest_request} bytes: it is one packet")))
            }
            _ => Ok(()),
        }
    }
}

impl Transfers {
    /// How long to think, in picoseconds.
    pub(super) fn pause(&self, stream: &mut Stream) -> u64 {
        self.think.as_ref().map_or(0, |think| think.draw(stream))
    }
}

/// A draw from 0 to `most` picoseconds, both included.
pub(super) fn up_to(most: u64, stream: &mut Stream) -> u64 {
    if most == 0 { 0 } else { random_span(most as f64, stream.uniform()).min(most) }
}
