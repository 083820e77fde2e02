//! What is known of the traffic of a port, and the rates that whole picoseconds leave of nominal ones.

use crate::proof::arrivals::Lengths;
use tidegate_bounds::curve::Arrival;
use tidegate_bounds::quantity::NoBound;
use tidegate_core::units::{PICOSECONDS_PER_SECOND, Rate};

/// What is known of the traffic of a port.
pub(crate) struct Traffic<'a> {
    /// The rate of the link in bit/s, as its arithmetic keeps it.
    pub rate: u64,
    /// What comes to a queue of a class.
    pub arrival: &'a dyn Fn(usize, u32) -> Result<Arrival, NoBound>,
    /// The lengths of the frames there; `None` if there are none.
    pub lengths: &'a dyn Fn(usize, u32) -> Option<Lengths>,
    /// The number of a queue that is in use.
    pub number: &'a dyn Fn(usize, u32) -> Option<usize>,
}

impl Traffic<'static> {
    /// Traffic of which nothing is known, on a link of `rate` bit/s.
    pub fn unknown(rate: u64) -> Traffic<'static> {
        Traffic {
            rate,
            arrival: &|_, _| Err(NoBound::Because("nothing limits it")),
            lengths: &|_, _| None,
            number: &|class, queue| Some(class << 32 | queue as usize),
        }
    }
}

/// The rate at which packets of at least `length` bytes leave, if each takes a whole number of picoseconds, rounded up.
pub(crate) fn kept_rate(rate: Rate, length: u32) -> u64 {
    let bits_per_second = rate.bits_per_second();
    if (8 * PICOSECONDS_PER_SECOND).is_multiple_of(bits_per_second) {
        return bits_per_second;
    }
    let length = length.max(1);
    let longest = u128::from(rate.time_per_byte().ceil(length).picoseconds()) + 1;
    (8 * u128::from(length) * u128::from(PICOSECONDS_PER_SECOND) / longest) as u64
}
