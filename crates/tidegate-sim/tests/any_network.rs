//! Whatever the network, the books balance, time goes on and everything that was measured is consistent.

mod networks;
mod traced;

use networks::any::any_network;
use proptest::prelude::*;
use tidegate_core::units::Duration;
use tidegate_sim::{Control, Experiment, Origin, Outcome, Step, run};
use traced::{Steps, counts, lives};

fn check(outcome: &Outcome) {
    for port in &outcome.ports {
        let dropped: u64 = port.dropped.iter().map(|volume| volume.packets).sum();
        assert_eq!(port.offered.packets, port.sent.packets + dropped + port.queued.packets, "{}", port.name);
        let classes = |of: fn(&tidegate_sim::ClassOutcome) -> u64| port.classes.iter().map(of).sum::<u64>();
        assert_eq!(classes(|class| class.offered.bytes), port.offered.bytes);
        assert_eq!(classes(|class| class.sent.bytes), port.sent.bytes);
        assert_eq!(classes(|class| class.queued.bytes), port.queued.bytes);
        let (mean, greatest) = (port.occupancy_mean_bytes.mean, port.occupancy_max_bytes as f64);
        assert!(mean <= greatest * (1.0 + 1e-12), "{mean} {greatest}");
        assert!((0.0..=1.0).contains(&port.utilisation.mean), "{:?}", port.utilisation);
        for class in &port.classes {
            assert_eq!((class.delays.count(), class.sojourns.count()), (class.sent.packets, class.sent.packets));
            assert!(class.sojourns.maximum() <= class.delays.maximum());
            assert!(class.occupancy_max_bytes <= port.occupancy_max_bytes);
            assert!(class.cells.is_none_or(|cells| cells.nonconforming == 0 && cells.sent >= class.sent.packets), "{:?}", class.cells);
        }
    }
    for flow in &outcome.flows {
        assert!((0.0..=1.0).contains(&flow.loss.mean), "{:?}", flow.loss);
        let Some(delay) = &flow.delay else {
            assert_eq!(flow.delivered.packets, 0);
            continue;
        };
        assert_eq!(delay.histogram.count(), flow.delivered.packets);
        let quantiles = [0.0, 0.5, 0.99, 1.0].map(|part| delay.histogram.quantile(part).unwrap());
        assert!(quantiles.is_sorted() && delay.histogram.maximum() == Some(quantiles[3]), "{quantiles:?}");
        let (delays, shares) = delay.histogram.tail();
        assert!(delays.is_sorted() && shares.is_sorted_by(|a, b| a >= b) && shares.first() == Some(&1.0) && shares.last() == Some(&0.0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_books_balance(network in any_network(), warm_up in 0u64..400, seed: u64) {
        let experiment = Experiment {
            duration: Duration::from_milliseconds(500),
            warm_up: Duration::from_milliseconds(warm_up),
            seed,
            replications: 2,
            sample_interval: Some(Duration::from_milliseconds(70)),
            flow_series: true,
        };
        // A port or a flow whose books do not balance is an error already.
        let outcome = run(&network, &experiment, &Control::default()).unwrap();
        check(&outcome);
        prop_assert_eq!(outcome.sample_times_s().len(), 7);
    }

    /// A trace changes nothing, and counts what the ports and the sinks count.
    #[test]
    fn a_trace_has_what_happens(mut network in any_network(), seed: u64) {
        for link in &mut network.links {
            (link.cells, link.adapter) = (false, None);
        }
        let experiment = Experiment { duration: Duration::from_milliseconds(500), warm_up: Duration::ZERO, seed, ..Experiment::default() };
        let steps = Steps::default();
        let traced = run(&network, &experiment, &Control { tracer: Some(&steps), ..Control::default() }).unwrap();
        let plain = run(&network, &experiment, &Control::default()).unwrap();
        prop_assert_eq!(format!("{:?}", (&traced.flows, &traced.ports)), format!("{:?}", (&plain.flows, &plain.ports)));
        let steps = steps.0.into_inner().unwrap();
        counts(&traced, &steps)?;
        for event in &steps {
            let Origin::Flow(flow) = event.origin else { unreachable!("{event:?}: there is no workload") };
            prop_assert!(event.link.is_none_or(|link| event.is_answer || network.flows[flow].path.contains(&link)), "{:?}", event);
            if event.step == Step::Delivered && !event.is_answer {
                let longest = traced.flows[flow].longest.map(|(_, longest)| longest.delay);
                prop_assert!(Some(event.at.since(event.created).picoseconds()) <= longest, "{:?}", event);
            }
        }
        lives(&steps)?;
    }
}
