//! Admission by all bounds of a network: for planning, where each request may cost a pass over all flows.

use super::request::{Constraint, Refused};
use crate::end_to_end::{EndToEnd, Method};
use crate::network::{Flow, Network};
use crate::quantity::{NoBound, Picoseconds};

/// A flow and the delay that it was promised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Promise {
    /// The caller's name of the flow.
    pub id: u64,
    /// The delay, propagation included.
    pub delay: Picoseconds,
}

/// A network of which every flow keeps its promise.
#[derive(Clone, Debug, Default)]
pub struct Exact {
    network: Network,
    /// In the order of the network's flows.
    promises: Vec<Promise>,
}

impl Exact {
    /// Servers without flows.
    pub fn new(network: Network) -> Exact {
        Exact { network: Network { flows: Vec::new(), ..network }, promises: Vec::new() }
    }

    /// The network with the flows that were admitted.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Admits a flow if it and all others keep their promises; returns its bound and the method that gives it.
    ///
    /// # Errors
    /// [`Refused`], with the first promise that would break. The request changes nothing then.
    pub fn request(&mut self, flow: Flow, promise: Promise) -> Result<(Picoseconds, Method), Refused> {
        if self.promises.iter().any(|other| other.id == promise.id) {
            return Err(Refused {
                port: None,
                constraint: Constraint::Meaning("a flow of this name is admitted already: release it first"),
                have: 0,
                need: 0,
            });
        }
        self.network.flows.push(flow);
        self.promises.push(promise);
        let answer = self.check();
        if answer.is_err() {
            self.network.flows.pop();
            self.promises.pop();
        }
        answer
    }

    /// Takes a flow out; false if it was not admitted. The others keep their bounds, or get smaller ones.
    pub fn release(&mut self, id: u64) -> bool {
        let Some(at) = self.promises.iter().position(|promise| promise.id == id) else { return false };
        self.network.flows.remove(at);
        self.promises.remove(at);
        true
    }

    /// The bound of the last flow, if all promises hold.
    fn check(&self) -> Result<(Picoseconds, Method), Refused> {
        let broken =
            |promise: &Promise, need: i128| Refused { port: None, constraint: Constraint::Promise(promise.id), have: promise.delay, need };
        let newest = self.promises.last().ok_or(Refused { port: None, constraint: Constraint::Meaning("no flow"), have: 0, need: 0 })?;
        let unsettled = |reason: NoBound| match reason {
            NoBound::Because(problem) => Refused { port: None, constraint: Constraint::Meaning(problem), have: 0, need: 0 },
            _ => broken(newest, i128::MAX),
        };
        let bounds = EndToEnd::new(&self.network).map_err(unsettled)?;
        let mut last = (0, Method::TotalFlow);
        for (number, promise) in self.promises.iter().enumerate() {
            last = bounds.quick(number).map_err(|_| broken(promise, i128::MAX))?;
            if last.0 > promise.delay {
                // The costly methods decide only where the quick ones do not.
                let least = bounds.flow(number).map_err(|_| broken(promise, last.0))?;
                if least.delay > promise.delay {
                    return Err(broken(promise, least.delay));
                }
                last = (least.delay, least.method);
            }
        }
        Ok(last)
    }
}
