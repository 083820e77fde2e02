//! Section 4: the order that the recirculating network delivers behind the winner.

use crate::figure::{Axis, Chart, Curve, Figure, Gate, Panel, Table};
use crate::prose;
use tidegate_rtl_model::{Attributes, Network, Routing, Size};
use tidegate_sim::random::Stream;

/// Random orders of 16 and 32 streams.
const SAMPLES: u32 = 20_000;

/// The seed of the random orders.
const SEED: u64 = 4;

/// The number of outputs that are plotted, from the first.
const PLOTTED: usize = 8;

/// Counts over many orders of the streams.
struct Census {
    size: Size,
    orders: u64,
    /// The number of orders in which the first 1, 2, ... outputs are right.
    right: Vec<u64>,
    /// The same with exact routing.
    exactly_right: Vec<u64>,
}

impl Census {
    fn new(size: Size) -> Census {
        let ports = size.ports();
        let mut census = Census { size, orders: 0, right: vec![0; ports], exactly_right: vec![0; ports] };
        let mut networks = [Routing::Lattice, Routing::Exact].map(|routing| Network::new(size, routing));
        let mut count = |ranks: &[u16]| {
            let stream = |&rank: &u16| Attributes { valid: true, deadline: rank, id: rank as u8, ..Attributes::NONE };
            let streams: Vec<Attributes> = ranks.iter().map(stream).collect();
            census.orders += 1;
            for (network, right) in networks.iter_mut().zip([&mut census.right, &mut census.exactly_right]) {
                network.decide(&streams);
                let places = network.order().zip(0..).zip(right);
                places.take_while(|((stream, place), _)| stream.deadline == *place).for_each(|(_, right)| *right += 1);
            }
        };
        let mut ranks: Vec<u16> = (0..ports as u16).collect();
        match size {
            Size::Four | Size::Eight => permutations(&mut ranks, 0, &mut count),
            Size::Sixteen | Size::ThirtyTwo => {
                let mut random = Stream::new(SEED, 0, "orders");
                for _ in 0..SAMPLES {
                    (1..ports).for_each(|last| ranks.swap(last, random.below(last as u64 + 1) as usize));
                    count(&ranks);
                }
            }
        }
        census
    }

    /// The part of the orders in which the first `outputs` are right.
    fn share(&self, outputs: usize) -> f64 {
        self.right[outputs - 1] as f64 / self.orders as f64
    }
}

/// Calls `visit` with every order of `items`.
fn permutations(items: &mut [u16], fixed: usize, visit: &mut impl FnMut(&[u16])) {
    if fixed + 1 >= items.len() {
        return visit(items);
    }
    for index in fixed..items.len() {
        items.swap(fixed, index);
        permutations(items, fixed + 1, visit);
        items.swap(fixed, index);
    }
}

pub(super) fn run(progress: &dyn Fn(f64)) -> Figure {
    let censuses = Size::ALL.map(|size| {
        let census = Census::new(size);
        progress(f64::from(size.bits() - 1) / 4.0);
        census
    });
    let mut figure = prose::figure(prose::SHARESTREAMS, "sorted-list");
    let each = |of: &dyn Fn(&Census) -> f64| censuses.iter().map(of).collect::<Vec<f64>>();
    let second = Size::ALL.map(|size| 100.0 * (size.ports() / 2) as f64 / (size.ports() - 1) as f64);
    figure.gates = vec![
        Gate::exactly("the first output is the winner, N = 4, 8, 16, 32", "%", each(&|census| 100.0 * census.share(1)), &[100.0; 4]),
        Gate::exactly("orders of 4 that come out sorted, of 24", "orders", vec![censuses[0].right[3] as f64], &[16.0]),
        Gate::exactly("orders of 8 that come out sorted, of 40,320", "orders", vec![censuses[1].right[7] as f64], &[1024.0]),
        Gate::within("the second output is the second, N = 4, 8, 16, 32", "%", each(&|census| 100.0 * census.share(2)), &second, 1.5),
        Gate::exactly(
            "exact routing: orders that come out sorted",
            "%",
            each(&|census| 100.0 * census.exactly_right[census.size.ports() - 1] as f64 / census.orders as f64),
            &[100.0; 4],
        ),
    ];
    let curve = |census: &Census| {
        let mut curve = Curve::new(format!("{} streams", census.size.ports()));
        (1..=census.size.ports().min(PLOTTED)).for_each(|outputs| curve.push(outputs as f64, 100.0 * census.share(outputs)));
        curve
    };
    figure.charts.push(Chart::new(
        "right",
        "How often the first outputs are the right ones",
        Axis::linear("outputs, from the first"),
        Axis::linear("of all orders (%)"),
        vec![Panel { name: "base architecture".into(), curves: censuses.iter().map(curve).collect() }],
    ));
    let head = ["streams", "cycles", "sorted", "second right", "expected", "cycles for the exact order"];
    let row = |(census, second): (&Census, f64)| {
        let percent = |share: f64| format!("{:.2} %", 100.0 * share);
        vec![
            census.size.ports().to_string(),
            Routing::Lattice.cycles(census.size).to_string(),
            percent(census.share(census.size.ports())),
            percent(census.share(2)),
            format!("{second:.2} %"),
            Routing::Exact.cycles(census.size).to_string(),
        ]
    };
    figure.tables.push(Table::new("Sorted lists", &head, censuses.iter().zip(second).map(row).collect()));
    figure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_visited_once() {
        let mut seen = std::collections::HashSet::new();
        permutations(&mut [0, 1, 2, 3, 4], 0, &mut |order| assert!(seen.insert(order.to_vec())));
        assert_eq!(seen.len(), 120);
    }
}
