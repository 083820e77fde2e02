//! What an operator asks for, and the streams that give it.

use crate::dwcs::feasibility::{Utilisation, greatest_common_divisor};
use crate::dwcs::stream::{Stream, StreamError, Window};
use crate::packet::Flow;
use alloc::vec::Vec;

/// The service of one flow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Service {
    /// At most x of y consecutive deadlines are missed.
    Window(Window),
    /// Earliest deadline first; no deadline may be missed.
    EarliestDeadline,
    /// Static priority before all other kinds of service; rank 0 is the highest.
    StaticPriority(u32),
    /// A share, in proportion to this weight, of what windows and deadlines leave over.
    FairShare(u32),
}

/// What an operator may say about one flow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// The service.
    pub service: Service,
    /// Slots between two deadlines, at least 1. Static priority and fair shares have 1.
    pub period: u64,
    /// What a violation adds to the current denominator. `None` means 1, and 0 for static priority and fair shares.
    pub penalty: Option<u32>,
    /// True if packets that miss their deadlines are dropped.
    pub droppable: bool,
}

impl Request {
    /// A service with a deadline in every slot; late packets stay.
    pub const fn of(service: Service) -> Request {
        Request { service, period: 1, penalty: None, droppable: false }
    }
}

impl Default for Request {
    /// A fair share of weight 1.
    fn default() -> Request {
        Request::of(Service::FairShare(1))
    }
}

/// The streams that give every flow the service it asks for.
///
/// Fair shares divide what windows and deadlines leave over, `1 - U`, in proportion to their weights. A share of weight w, of weights
/// that sum up to S, becomes a window with `1 - x/y = (1 - U) w / S` in lowest terms. If the terms exceed 32 bits, the share is rounded
/// down by less than 2^-31, so that the sum stays feasible.
///
/// # Errors
/// [`StreamError`] names the first request that cannot be met.
pub fn resolve(requests: &[Request]) -> Result<Vec<Stream>, StreamError> {
    let wrong = |index: usize, problem| StreamError { stream: Some(Flow(index as u32)), problem };
    let (mut weights, mut reserved) = (0u32, Utilisation::ZERO);
    for (index, request) in requests.iter().enumerate() {
        match request.service {
            Service::FairShare(0) => return Err(wrong(index, "a weight of 0 would never be served; at least 1 is right")),
            Service::FairShare(weight) => {
                let sum = weights.checked_add(weight);
                weights = sum.ok_or(wrong(index, "the weights sum up to more than 2^32 - 1: divide them by a common factor"))?;
            }
            _ => {
                let stream = request.stream(Window::NONE);
                stream.check().map_err(|problem| wrong(index, problem))?;
                reserved = reserved.plus(stream.utilisation());
            }
        }
    }
    let mut last = (0, Window::NONE);
    let mut streams = Vec::with_capacity(requests.len());
    for (index, request) in requests.iter().enumerate() {
        if let Service::FairShare(weight) = request.service
            && weight != last.0
        {
            let left =
                reserved.complement().ok_or(wrong(index, "windows and deadlines take all slots, so that nothing is left to share"))?;
            let problem = "its share is less than one slot in 2^32: give it more weight, or the others less";
            last = (weight, window_of_share(left, weight, weights).ok_or(wrong(index, problem))?);
        }
        streams.push(request.stream(last.1));
    }
    Ok(streams)
}

impl Request {
    /// The stream that gives this service; `share` is the window of a fair share.
    pub(super) fn stream(&self, share: Window) -> Stream {
        let stream = match self.service {
            Service::Window(window) => Stream::windowed(window, self.period),
            Service::EarliestDeadline => Stream::earliest_deadline(self.period),
            Service::StaticPriority(rank) => Stream::static_priority(rank),
            Service::FairShare(_) => Stream { penalty: 0, ..Stream::windowed(share, 1) },
        };
        Stream { penalty: self.penalty.unwrap_or(stream.penalty), droppable: self.droppable, ..stream }
    }
}

/// The window, one deadline per slot, of the share `left * weight / weights`, rounded down if necessary; `None` if that is 0.
pub(super) fn window_of_share((numerator, denominator): (u128, u128), weight: u32, weights: u32) -> Option<Window> {
    // Shortened to 62 bits, so that no product overflows.
    let excess = (128 - denominator.leading_zeros()).saturating_sub(62);
    let round_up = u128::from(excess > 0);
    let (part, whole) = ((numerator >> excess) * u128::from(weight), ((denominator >> excess) + round_up) * u128::from(weights));
    let divisor = greatest_common_divisor(part, whole);
    let (mut part, mut whole) = (part / divisor, whole / divisor);
    if whole > u128::from(u32::MAX) {
        part = part * u128::from(u32::MAX) / whole;
        let divisor = greatest_common_divisor(part, u32::MAX.into());
        (part, whole) = (part / divisor, u128::from(u32::MAX) / divisor);
    }
    (part > 0).then(|| Window::new((whole - part) as u32, whole as u32))
}
