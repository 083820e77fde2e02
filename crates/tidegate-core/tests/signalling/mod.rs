//! Requests and teardowns at random times, and the formulae of blocking that they must obey.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tidegate_core::admission::{AdmissionControl, Answer, Demand, FlowSpec, LinkSettings, PathAdmission, Service, Target, TrafficSpec};
use tidegate_core::units::Rate;

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// An exponential random number of this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }
}

/// Events in the order of their times; equal times in the order of insertion.
#[derive(Default)]
pub struct Events<E> {
    /// A non-negative time is ordered like its bits.
    heap: BinaryHeap<Reverse<(u64, u64, E)>>,
    inserted: u64,
}

impl<E: Ord> Events<E> {
    pub fn new() -> Events<E> {
        Events { heap: BinaryHeap::new(), inserted: 0 }
    }

    pub fn insert(&mut self, at: f64, event: E) {
        self.inserted += 1;
        self.heap.push(Reverse((at.to_bits(), self.inserted, event)));
    }

    pub fn pop(&mut self) -> Option<(f64, E)> {
        self.heap.pop().map(|Reverse((at, _, event))| (f64::from_bits(at), event))
    }
}

/// How a flow is set up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signalling {
    /// Hop by hop: reserve at each, and release those upstream after a refusal.
    HopByHop,
    /// The whole path at once.
    AtOnce,
}

/// The blocking of each of the four paths. Path `k` enters at port `k`, and all leave through port 3. Each link gives away 9 of 10 Mbit/s.
pub fn blocking(rates: [u64; 4], interval: f64, requests: u64, seed: u64, signalling: Signalling) -> [f64; 4] {
    let link = LinkSettings {
        guaranteed_flows: 16,
        controlled_load_flows: 0,
        ..LinkSettings::new(Rate::new(10_000_000).unwrap(), 1_000, 500_000)
    };
    let mut network = PathAdmission::new(&[link; 4], 64, 4).unwrap();
    let path: [u32; 4] = [0, 1, 2, 3];
    let mut random = Random(seed);
    let mut events = Events::new();
    (0..4).for_each(|entry| events.insert(random.exponential(interval), Event::Request(entry)));
    let (mut requested, mut refused, mut count) = ([0u64; 4], [0u64; 4], 0);
    while let Some((now, event)) = events.pop() {
        match event {
            Event::Request(entry) if count < requests => {
                count += 1;
                requested[entry] += 1;
                let rate = Rate::new(rates[entry]).unwrap();
                let traffic = TrafficSpec::new(1_000, 15_000, rate, rate).unwrap();
                let target = Some(Target::Rate(rates[entry]));
                let spec = FlowSpec { id: count, path: &path[entry..], alternatives: &[], traffic, target, kind: Service::Guaranteed };
                if set_up(&mut network, &spec, signalling) {
                    events.insert(now + random.exponential(100.0), Event::Teardown { id: count, entry });
                } else {
                    refused[entry] += 1;
                }
                events.insert(now + random.exponential(interval), Event::Request(entry));
            }
            Event::Request(_) => {}
            Event::Teardown { id, entry } => match signalling {
                Signalling::AtOnce => assert!(network.release(id)),
                Signalling::HopByHop => {
                    path[entry..].iter().for_each(|&port| assert!(network.link_mut(port).unwrap().release(id)));
                }
            },
        }
    }
    for port in path {
        let totals = network.link(port).unwrap().totals();
        assert_eq!(totals, Default::default(), "after the last teardown port {port} holds nothing");
    }
    std::array::from_fn(|entry| refused[entry] as f64 / requested[entry] as f64)
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Request(usize),
    Teardown { id: u64, entry: usize },
}

/// True if the flow is admitted.
fn set_up(network: &mut PathAdmission, spec: &FlowSpec<'_>, signalling: Signalling) -> bool {
    if signalling == Signalling::AtOnce {
        return matches!(network.request(spec).unwrap(), Answer::Admitted(_));
    }
    let Answer::Admitted(admitted) = network.allocate(spec).unwrap() else { return false };
    let hops = admitted.hops.to_vec();
    for (index, hop) in hops.iter().enumerate() {
        if network.link_mut(hop.port).unwrap().reserve(spec.id, Demand::at(spec, hop)).is_err() {
            network.abandon(spec.id, &spec.path[..index]);
            return false;
        }
    }
    true
}

/// Erlang's formula B: the blocking of `circuits` under an offered load in erlang.
pub fn erlang_b(circuits: u32, load: f64) -> f64 {
    (1..=circuits).fold(1.0, |blocking, n| load * blocking / (f64::from(n) + load * blocking))
}

/// The recursion of Kaufman and Roberts: the blocking of each class, of which a call takes `size` of `units` at `load` erlang.
pub fn kaufman_roberts(units: usize, classes: &[(usize, f64)]) -> Vec<f64> {
    let mut states = vec![1.0];
    for n in 1..=units {
        let from = |&(size, load): &(usize, f64)| if n >= size { load * size as f64 * states[n - size] } else { 0.0 };
        states.push(classes.iter().map(from).sum::<f64>() / n as f64);
    }
    let sum: f64 = states.iter().sum();
    classes.iter().map(|&(size, _)| states[units + 1 - size..].iter().sum::<f64>() / sum).collect()
}
