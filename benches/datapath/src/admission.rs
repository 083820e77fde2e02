//! Cost of admission control: a request over five hops, and the release of the flow that it admitted.
//!
//! Every link carries all the other flows. One round releases random flows and asks for new ones, each with a contract of its own.
//!
//! | flows | what |
//! |---|---|
//! | `guaranteed` | guaranteed service with a target of delay |
//! | `controlled-load` | controlled load: every change finds the level of adaptive rate allocation anew |
//! | `mixed` | half of each |
//! | `refused` | mixed, and the request asks for more than the last hop has: refused, with offers |

use crate::flows::Random;
use crate::{Benchmark, Rounds};
use tidegate_core::admission::{AdmissionControl, Answer, FlowSpec, LinkSettings, PathAdmission, Service, Target, TrafficSpec};
use tidegate_core::units::{Duration, Rate, Time};

/// Requests in one round; few in the tests.
const ROUND: u64 = if cfg!(any(test, debug_assertions)) { 1 << 8 } else { 1 << 14 };

/// Requests after which the measured load is taken anew; no flow sends, so it is 0.
const MEASURED: u64 = 256;

const NAMES: [&str; 4] = ["guaranteed", "controlled-load", "mixed", "refused"];

const PATH: [u32; 5] = [0, 1, 2, 3, 4];

/// Every kind of flows.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter()
}

/// Admits this many flows to five links.
///
/// # Errors
/// An unknown name, or more flows than the links carry.
pub fn set_up(name: &str, flows: u32) -> Result<Benchmark, String> {
    if !NAMES.contains(&name) {
        return Err(format!("no admission is called \"{name}\"; there are {}", NAMES.join(", ")));
    }
    let link =
        LinkSettings { guaranteed_flows: flows + 1, controlled_load_flows: flows + 1, ..LinkSettings::new(Rate::MAX, 12_336, 1 << 40) };
    let network = PathAdmission::new(&[link; PATH.len()], flows as usize + 1, PATH.len()).map_err(|(_, error)| error.to_string())?;
    let mut signalling = Signalling { network, random: Random::new(), next: 0, flows };
    for _ in 0..flows {
        signalling.admit(name)?;
    }
    let kind = name.to_owned();
    let round: Rounds = Box::new(move || signalling.round(&kind));
    Ok(Benchmark { operation: format!("admission-{name}"), flows, facts: String::new(), round })
}

struct Signalling {
    network: PathAdmission,
    random: Random,
    /// The number of the next flow, before [`name`].
    next: u64,
    flows: u32,
}

impl Signalling {
    fn round(&mut self, kind: &str) -> u64 {
        for _ in 0..ROUND {
            if kind == "refused" {
                let spec = self.spec(kind);
                let refused = FlowSpec { target: Some(Target::Rate(Rate::MAX.bits_per_second())), kind: Service::Guaranteed, ..spec };
                assert!(matches!(self.network.request(&refused), Ok(Answer::Refused(_))), "it asks for the whole link");
                self.next += 1;
            } else {
                let oldest = name(self.next - u64::from(self.flows));
                assert!(self.network.release(oldest), "it was admitted");
                self.admit(kind).expect("the flow takes the place of another");
            }
        }
        ROUND
    }

    fn admit(&mut self, kind: &str) -> Result<(), String> {
        let spec = self.spec(kind);
        self.next += 1;
        if self.next.is_multiple_of(MEASURED) {
            let now = Time::from_nanoseconds(1_000_000 * (self.next / MEASURED));
            PATH.iter().for_each(|&port| self.network.link_mut(port).expect("it is of the path").advance(now));
        }
        match self.network.request(&spec) {
            Ok(Answer::Admitted(_)) => Ok(()),
            Ok(Answer::Refused(refused)) => Err(refused.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn spec(&mut self, kind: &str) -> FlowSpec<'static> {
        let rate = |kilobits: u32| Rate::new(u64::from(kilobits) * 1000).expect("it is in range");
        // Together at most 90 % of 400 Gbit/s with 10,000 flows, and less each with more.
        let most = (200_000_000 / self.flows).clamp(1, 20_000);
        let sustained = 1 + self.random.below(most);
        let traffic = TrafficSpec::new(
            12_000,
            24_000 + u64::from(self.random.below(96_000)),
            rate(sustained),
            rate(sustained + self.random.below(most)),
        );
        let is_guaranteed = kind == "guaranteed" || kind != "controlled-load" && self.next.is_multiple_of(2);
        FlowSpec {
            id: name(self.next),
            path: &PATH,
            alternatives: &[],
            traffic: traffic.expect("the peak is above the rate, and the burst above a packet"),
            target: is_guaranteed.then_some(Target::Delay(Duration::from_seconds(3600))),
            kind: if is_guaranteed { Service::Guaranteed } else { Service::ControlledLoad },
        }
    }
}

/// A number of a flow that says nothing of its place: the product with an odd constant is one-to-one.
fn name(flow: u64) -> u64 {
    flow.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
