//! The requests of all flows, and the streams that follow from them while flows come, change and go.
//!
//! Fair shares divide what windows and deadlines leave over, so each follows from the requests of all flows. The shares have a version: a
//! scheduler takes the stream of a flow anew when it gets a head and finds that the version has changed.

use crate::dwcs::feasibility::Utilisation;
use crate::dwcs::service::{Request, Service, resolve, window_of_share};
use crate::dwcs::stream::{Stream, StreamError, Window};
use crate::packet::Flow;
use alloc::vec::Vec;

/// What every flow has asked for, and gets.
#[derive(Clone, Debug)]
pub(crate) struct Allotment {
    /// By place; `None` in a vacant one.
    requests: Vec<Option<Request>>,
    /// The sum of the weights of all fair shares.
    weights: u64,
    /// What windows and deadlines leave over, as a fraction; up to date while there are fair shares.
    left: (u128, u128),
    version: u32,
}

impl Allotment {
    /// Of these requests and vacant places, with the streams of all places.
    pub(crate) fn new(places: usize, requests: &[Request]) -> Result<(Allotment, Vec<Stream>), StreamError> {
        let mut streams = resolve(requests)?;
        streams.resize(places, Stream::earliest_deadline(1));
        let mut given: Vec<Option<Request>> = requests.iter().copied().map(Some).collect();
        given.resize(places, None);
        let weights = requests.iter().filter_map(weight).map(u64::from).sum();
        let mut allotment = Allotment { requests: given, weights, left: (1, 1), version: 0 };
        allotment.left = allotment.unreserved().unwrap_or(allotment.left);
        Ok((allotment, streams))
    }

    /// Changes with any fair share.
    #[inline]
    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    /// The stream of a flow.
    pub(crate) fn stream(&self, flow: Flow) -> Stream {
        let Some(request) = self.requests[flow.index()] else { return Stream::earliest_deadline(1) };
        let share = weight(&request).and_then(|weight| self.share(weight));
        request.stream(share.unwrap_or(Window::NONE))
    }

    fn share(&self, weight: u32) -> Option<Window> {
        window_of_share(self.left, weight, self.weights as u32)
    }

    /// A flow asks for this from now on; an error changes nothing. A step per flow if windows or deadlines change what is left for fair shares.
    pub(crate) fn change(&mut self, flow: Flow, request: Request) -> Result<(), StreamError> {
        let before = self.requests[flow.index()];
        if before == Some(request) {
            return Ok(());
        }
        let (left, weights) = (self.left, self.weights);
        match self.replace(flow, Some(request)) {
            Ok(()) => Ok(()),
            Err(error) => {
                self.requests[flow.index()] = before;
                (self.left, self.weights) = (left, weights);
                Err(error)
            }
        }
    }

    /// A flow leaves.
    pub(crate) fn forget(&mut self, flow: Flow) {
        // What remains had less to share before.
        _ = self.replace(flow, None);
    }

    fn replace(&mut self, flow: Flow, request: Option<Request>) -> Result<(), StreamError> {
        let wrong = |stream, problem| StreamError { stream, problem };
        let before = core::mem::replace(&mut self.requests[flow.index()], request);
        let sums = (self.left, self.weights);
        let weight_in = |request: Option<Request>| u64::from(request.as_ref().and_then(weight).unwrap_or(0));
        self.weights = self.weights - weight_in(before) + weight_in(request);
        if let Some(request) = request {
            if request.service == Service::FairShare(0) {
                return Err(wrong(Some(flow), "a weight of 0 would never be served; at least 1 is right"));
            }
            if weight(&request).is_none() {
                request.stream(Window::NONE).check().map_err(|problem| wrong(Some(flow), problem))?;
            }
        }
        if self.weights == 0 {
            return Ok(());
        }
        if self.weights > u64::from(u32::MAX) {
            return Err(wrong(Some(flow), "the weights sum up to more than 2^32 - 1: divide them by a common factor"));
        }
        let reserves = |request: Option<Request>| request.is_some_and(|request| weight(&request).is_none());
        if sums.1 == 0 || reserves(before) || reserves(request) {
            let problem = "windows and deadlines take all slots, so that nothing is left to share";
            self.left = self.unreserved().ok_or(wrong(Some(flow), problem))?;
        }
        if sums == (self.left, self.weights) {
            return Ok(());
        }
        if self.share(1).is_none() {
            let problem = "its share is less than one slot in 2^32: give it more weight, or the others less";
            let weights = self.requests.iter().zip(0..).filter_map(|(request, place)| Some((weight(request.as_ref()?)?, place)));
            if let Some((_, place)) = weights.min().filter(|&(least, _)| self.share(least).is_none()) {
                return Err(wrong(Some(Flow(place)), problem));
            }
        }
        self.version = self.version.wrapping_add(1);
        Ok(())
    }

    /// The part of all slots that windows and deadlines leave over; `None` if there is none.
    fn unreserved(&self) -> Option<(u128, u128)> {
        let reserving = self.requests.iter().flatten().filter(|request| weight(request).is_none());
        reserving.fold(Utilisation::ZERO, |sum, request| sum.plus(request.stream(Window::NONE).utilisation())).complement()
    }
}

/// The weight of a request for a fair share.
fn weight(request: &Request) -> Option<u32> {
    match request.service {
        Service::FairShare(weight) => Some(weight),
        _ => None,
    }
}
