//! Oracles of COBALT, through a port.

mod aqm;

use aqm::{constant_rate, milliseconds, port, rounded, run};
use tidegate_core::aqm::{AqmParameters, AqmSetup};
use tidegate_core::packet::Ecn;
use tidegate_core::registry::AqmKind;
use tidegate_core::units::{Duration, Rate};

#[test]
fn drops_under_overload_are_those_of_the_model() {
    let rate = Rate::new(10_000_000).unwrap();
    let setup = AqmSetup { flows: 1, rate, longest_frame: 1514 };
    for (ecn, is_drop) in [(Ecn::NotEct, true), (Ecn::Ect0, false)] {
        let mut port = port(rate, Some(AqmKind::Cobalt.build(&setup, &AqmParameters::default()).unwrap()), 1);
        let log = run(&mut port, constant_rate(Duration::from_microseconds(800), 1250), ecn, milliseconds(2000));
        assert!(log.signals.iter().all(|signal| signal.is_drop == is_drop));
        if is_drop {
            let first: Vec<_> = log.signals.iter().take(5).map(|signal| (rounded(signal.at), signal.packet)).collect();
            assert_eq!(first, [(126, 126), (197, 198), (255, 257), (305, 308), (350, 354)]);
            assert_eq!(log.signals.len(), 111);
        }
    }
}
