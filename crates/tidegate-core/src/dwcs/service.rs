//! What an operator asks for, in the words of the discipline that is wanted, and the streams that give it.

use super::{Stream, StreamError, Window};
use crate::packet::Flow;
use alloc::vec::Vec;

/// The service that one flow is to get.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Service {
    /// At most x of any y deadlines missed.
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
    /// By how much a violation raises the current denominator; `None`: 1, and 0 for static priority and fair shares.
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
/// # Errors
/// [`StreamError`] names the first request that cannot be met.
pub fn resolve(requests: &[Request]) -> Result<Vec<Stream>, StreamError> {
    let weights = requests.iter().map(|request| if let Service::FairShare(weight) = request.service { weight } else { 0 });
    let mut sum = 0u32;
    for (index, (request, weight)) in requests.iter().zip(weights).enumerate() {
        let wrong = |problem| StreamError { stream: Some(Flow(index as u32)), problem };
        if request.service == Service::FairShare(0) {
            return Err(wrong("a weight of 0 would never be served; at least 1 is right"));
        }
        sum = sum.checked_add(weight).ok_or(wrong("the weights sum up to more than 2^32 - 1: divide them by a common factor"))?;
    }
    let stream = |request: &Request| {
        let stream = match request.service {
            Service::Window(window) => Stream::windowed(window, request.period),
            Service::EarliestDeadline => Stream::earliest_deadline(request.period),
            Service::StaticPriority(rank) => Stream::static_priority(rank),
            Service::FairShare(weight) => {
                let divisor = greatest_common_divisor(sum, weight);
                Stream { penalty: 0, ..Stream::windowed(Window::new((sum - weight) / divisor, sum / divisor), 1) }
            }
        };
        Stream { penalty: request.penalty.unwrap_or(stream.penalty), droppable: request.droppable, ..stream }
    };
    Ok(requests.iter().map(stream).collect())
}

const fn greatest_common_divisor(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
