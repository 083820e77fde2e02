//! How long bounds take: a thousand flows over ten hops by TFA++ and SFA, a program of ten servers with its proof, and requests for admission.
//!
//! `cargo run --release -p tidegate-bounds --example speed`

use std::time::Instant;
use tidegate_bounds::admission::{Budgets, Discipline, PortSettings, Request};
use tidegate_bounds::curve::{Service, TokenBucket};
use tidegate_bounds::end_to_end::EndToEnd;
use tidegate_bounds::network::{Flow, Network, Rules, Server, separated_flow, tandem, total_flow};

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

/// A flow of the less or the more urgent class.
fn request(id: u64, path: &[u32], class: u16, burst: u64, rate: u64) -> Request<'_> {
    Request { id, path, class, burst, rate, longest: 12_336, shortest: 512, target: 1 << 50, propagation: 0 }
}

/// Requests over five of 40 ports beside ten thousand flows, and a million flows at one port.
fn admission() {
    let port = |gbps: u64, ms: [i128; 2]| PortSettings {
        rate: gbps * 1_000_000_000,
        longest: 12_336,
        discipline: Discipline::StrictPriority,
        budgets: ms.map(|ms| ms * 1_000_000_000).to_vec(),
        buffer: 1 << 50,
    };
    let mut lots = Lots(1);
    let mut network = Budgets::new(vec![port(100, [20, 100]); 40]);
    let draw = |lots: &mut Lots| {
        let first = lots.below(36) as u32;
        ([0, 1, 2, 3, 4].map(|hop| first + hop), lots.below(2) as u16, 12_336 + lots.below(48_000), 100_000 + lots.below(6_000_000))
    };
    for id in 0..10_000 {
        let (path, class, burst, rate) = draw(&mut lots);
        let _ = network.request(&request(id, &path, class, burst, rate));
    }
    let (flows, begin) = (network.flows(), Instant::now());
    let (mut admitted, mut refused) = (0u32, 0u32);
    for id in 10_000..110_000 {
        let (path, class, burst, rate) = draw(&mut lots);
        match network.request(&request(id, &path, class, burst, rate)) {
            Ok(_) => {
                admitted += 1;
                network.release(id);
            }
            Err(_) => refused += 1,
        }
    }
    let each = begin.elapsed() / 100_000;
    println!("a request over 5 hops beside {flows} flows: {each:.1?} ({admitted} admitted and released, {refused} refused)");
    let (large, begin) = (request(1 << 40, &[0, 1, 2, 3, 4], 0, 1 << 33, 1_000_000), Instant::now());
    let offers = network.offers(&large, &[]);
    println!("the offers of a refusal: {:.1?}, {offers:?}", begin.elapsed());
    let mut one = Budgets::new(vec![port(400, [1_000, 100_000])]);
    let before = resident();
    let begin = Instant::now();
    (0..1_000_000).for_each(|id| drop(one.request(&request(id, &[0], 1, 12_336, 300_000))));
    println!("{} flows at one port: {:.1?}, {} MB", one.flows(), begin.elapsed(), (resident() - before) / 1_000_000);
}

/// The memory of this process in bytes, on Linux.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4_096
}
