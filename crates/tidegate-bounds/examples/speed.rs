//! How long bounds take: a thousand flows over ten hops by TFA++ and SFA, a program of ten servers with its proof, and requests for admission.
//!
//! `cargo run --release -p tidegate-bounds --example speed`

use std::time::Instant;
use tidegate_bounds::admission::{Budgets, ClassSettings, Discipline, PortSettings};
use tidegate_bounds::curve::{Service, TokenBucket};
use tidegate_bounds::end_to_end::EndToEnd;
use tidegate_bounds::network::{Flow, Network, Rules, Server, separated_flow, tandem, total_flow};
use tidegate_core::admission::{AdmissionControl, Answer, FlowSpec, Service as Asked, Target, TrafficSpec};
use tidegate_core::units::{Duration, Rate};

/// A linear congruential generator.
struct Lots(u64);

impl Lots {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// A thousand flows over ten of 60 servers of 10 Gbit/s; without cycles if paths rise.
fn network(rises: bool, load: u64) -> Network {
    let mut lots = Lots(2);
    let paths: Vec<Vec<usize>> = (0..1_000)
        .map(|_| {
            let mut servers: Vec<usize> = (0..60).collect();
            let mut path: Vec<usize> = (0..10).map(|_| servers.swap_remove(lots.below(servers.len() as u64) as usize)).collect();
            if rises {
                path.sort_unstable();
            }
            path
        })
        .collect();
    let mut uses = [0u64; 60];
    paths.iter().flatten().for_each(|&server| uses[server] += 1);
    let rate = 10_000_000_000 * load / 100 / uses.iter().max().unwrap();
    let server = Server::packets(Service::link(10_000_000_000), true, 10_000_000_000, 12_336);
    let flows = paths.into_iter().map(|path| Flow { shortest: 512, ..Flow::fluid(12_000 + lots.below(48_000), rate, path) });
    Network { servers: vec![server; 60], flows: flows.collect() }
}

fn main() {
    for (name, network) in [("without cycles, load 90 %", network(true, 90)), ("with cycles, load 10 %", network(false, 10))] {
        let begin = Instant::now();
        let bounds = EndToEnd::new(&network).expect("the network settles");
        let worst = (0..1_000).filter_map(|flow| bounds.quick(flow).ok()).map(|bound| bound.0).max().unwrap_or(0);
        let (took, rounds) = (begin.elapsed(), bounds.total().rounds);
        println!("1000 flows x 10 hops {name}: {took:.1?}, {rounds} rounds, longest bound {:.3} ms", worst as f64 / 1e9);
    }
    for servers in [4, 10] {
        let line = Some(TokenBucket { burst: 0, rate: 10_000_000 });
        let server = Server { line, ..Server::fluid(Service::rate_latency(10_000_000, 1_000_000_000)) };
        let mut flows = vec![Flow::fluid(1_000, 2_666_667, (0..servers).collect())];
        flows.extend((0..servers - 1).map(|first| Flow::fluid(1_000, 2_666_666, vec![first, first + 1])));
        let network = Network { servers: vec![server; servers], flows };
        let total = total_flow(&network, Rules::ALL).expect("no cycle");
        let separated = separated_flow(&network, &total, true).expect("no cycle");
        let begin = Instant::now();
        let bound = tandem(&network, &total, &separated, 0);
        println!("program of {servers} servers with its proof: {:.1?}, {bound:?} ps", begin.elapsed());
    }
    admission();
}

/// A flow through these queues.
fn request(id: u64, path: &[u32], burst: u64, rate: u64) -> FlowSpec<'_> {
    let rate = Rate::new(rate).expect("a rate");
    let traffic = TrafficSpec::new(12_336, burst, rate, rate).and_then(|traffic| traffic.with_shortest_packet(512));
    let target = Some(Target::Delay(Duration::from_seconds(3600)));
    FlowSpec { id, path, alternatives: &[], traffic: traffic.expect("the burst is a packet"), target, kind: Asked::Guaranteed }
}

/// Requests over five of 40 ports beside ten thousand flows, and a million flows at one port.
fn admission() {
    let port = |gbps: u64, ms: [i128; 2]| PortSettings {
        rate: gbps * 1_000_000_000,
        longest: 12_336,
        discipline: Discipline::StrictPriority,
        classes: ms.map(|ms| ClassSettings { budget: ms * 1_000_000_000, buffer: 0 }).to_vec(),
        buffers: vec![1 << 50],
        latency: 0,
    };
    let mut lots = Lots(1);
    let mut network = Budgets::new(vec![port(100, [20, 100]); 40]);
    let draw = |lots: &mut Lots| {
        let first = 2 * lots.below(36) as u32 + lots.below(2) as u32;
        ([0, 2, 4, 6, 8].map(|hop| first + hop), 12_336 + lots.below(48_000), 100_000 + lots.below(6_000_000))
    };
    for id in 0..10_000 {
        let (path, burst, rate) = draw(&mut lots);
        let _ = network.request(&request(id, &path, burst, rate));
    }
    let (flows, begin) = (network.flows(), Instant::now());
    for id in 10_000..110_000 {
        let (path, burst, rate) = draw(&mut lots);
        if matches!(network.request(&request(id, &path, burst, rate)), Ok(Answer::Admitted(_))) {
            network.release(id);
        }
    }
    println!("a request over 5 hops beside {flows} flows, and the release: {:.1?}", begin.elapsed() / 100_000);
    let large = request(1 << 40, &[0, 2, 4, 6, 8], 1 << 33, 1_000_000);
    let begin = Instant::now();
    let refusal = (0..1_000).map(|_| network.request(&large).map(|answer| format!("{answer:?}").len())).filter(Result::is_ok).count();
    println!("a refusal with its offers: {:.1?}", begin.elapsed() / refusal.max(1) as u32);
    let mut one = Budgets::new(vec![port(400, [1_000, 100_000])]);
    let before = resident();
    let begin = Instant::now();
    (0..1_000_000).for_each(|id| assert!(one.request(&request(id, &[1], 12_336, 300_000)).is_ok()));
    println!("{} flows at one port: {:.1?}, {} MB", one.flows(), begin.elapsed(), (resident() - before) / 1_000_000);
}

/// The memory of this process in bytes, on Linux.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4_096
}
