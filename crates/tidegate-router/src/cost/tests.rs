//! Tests of [`super`].

use super::*;
use crate::machine::Stage;
use tidegate_core::units::Duration;

fn packet(length: u32, draw: u32, woken: bool) -> Packet {
    Packet { arrived: 0, flow: 0, length, draw, woken }
}

fn costs(machine: &Machine) -> Costs {
    Costs::new(machine, &mut Stream::new(1, 0, "costs"))
}

#[test]
fn the_path_costs_what_the_spec_adds_up_to() {
    for (clock, microseconds) in [(233_000_000, 13.27), (1_000_000_000, 4.55)] {
        let machine = Machine { variation: Variation::None, ..Machine::pc_2002(clock) };
        let total = costs(&machine).stages(&packet(512, 0, false), 0..7);
        assert!((total as f64 / 1e6 - microseconds).abs() < 0.01, "{total}");
    }
}

#[test]
fn every_term_counts() {
    let mut machine = Machine { variation: Variation::None, routes: 1024, memory_scale: 2.0, ..Machine::pc_2002(1_000_000_000) };
    machine.stages = vec![Stage {
        per_byte: Duration::from_picoseconds(250),
        per_route_bit: Duration::from_nanoseconds(3),
        cycles: 100.0,
        memory: Duration::from_nanoseconds(20),
        ..machine.stages[0].clone()
    }];
    // 100 ns + 2 * 20 ns + 1000 * 0.25 ns + 10 * 3 ns.
    assert_eq!(costs(&machine).stage(&packet(1000, 7, false), 0), 420_000);
}

#[test]
fn rows_are_correlated_unless_columns_are_drawn_one_by_one() {
    for (independent, expected) in [(false, 0.69), (true, 0.0)] {
        let machine = Machine { variation: Variation::Lognormal { common: 0.15, own: 0.10, independent }, ..Machine::system_one() };
        let costs = costs(&machine);
        let mut stream = Stream::new(2, 0, "draws");
        let pairs: Vec<(f64, f64)> = (0..20_000)
            .map(|_| packet(512, stream.below(1 << 32) as u32, false))
            .map(|packet| (costs.stage(&packet, 0) as f64, costs.stage(&packet, 4) as f64))
            .collect();
        let mean = |pick: fn(&(f64, f64)) -> f64| pairs.iter().map(pick).sum::<f64>() / pairs.len() as f64;
        let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
        let moment = |f: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(f).sum::<f64>();
        let covariance = moment(&|pair| (pair.0 - x) * (pair.1 - y));
        let correlation = covariance / (moment(&|pair| (pair.0 - x).powi(2)) * moment(&|pair| (pair.1 - y).powi(2))).sqrt();
        assert!((correlation - expected).abs() < 0.03, "{correlation}");
        let exact = (500.0 / 233.0 + 0.6) * 1e6;
        assert!((x / exact - 1.0).abs() < 0.005, "{x} {exact}");
    }
}

#[test]
fn measured_rows_go_by_state() {
    let variation = Variation::Rows { woken: vec![vec![2.0; 7]].into(), batched: vec![vec![1.0; 7], vec![1.5; 7]].into() };
    let machine = Machine { variation, ..Machine::pc_2002(1_000_000_000) };
    let costs = costs(&machine);
    let cost = |draw, woken| costs.stage(&packet(512, draw, woken), 0);
    assert_eq!([cost(0, true), cost(0, false), cost(u32::MAX, false)], [2_200_000, 1_100_000, 1_650_000]);
}
