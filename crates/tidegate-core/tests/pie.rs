//! Oracles of PIE, through a port.

mod aqm;

use aqm::{Log, constant_rate, milliseconds, port, run, tenths};
use tidegate_core::aqm::{AqmParameters, AqmSetup};
use tidegate_core::packet::Ecn;
use tidegate_core::registry::{AnyAqm, AqmKind};
use tidegate_core::units::{Duration, Rate, Time};

fn rate(bits_per_second: u64) -> Rate {
    Rate::new(bits_per_second).unwrap()
}

fn pie(rate: Rate, given: &AqmParameters) -> AnyAqm {
    AqmKind::Pie.build(&AqmSetup { flows: 1, rate, longest_frame: 1514 }, given).unwrap()
}

/// 12.5 Mbit/s of 1250-byte packets.
fn overload() -> impl Iterator<Item = (Time, u32)> {
    constant_rate(Duration::from_microseconds(800), 1250)
}

#[test]
fn drops_under_overload_are_those_of_the_model() {
    let rate = rate(10_000_000);
    let log = run(&mut port(rate, Some(pie(rate, &AqmParameters::default())), 1), overload(), Ecn::NotEct, milliseconds(20_000));
    let first: Vec<_> = log.signals.iter().take(6).map(|signal| (tenths(signal.at), signal.packet)).collect();
    assert_eq!(first, [(3688, 461), (4152, 519), (4360, 545), (4704, 588), (4816, 602), (5088, 636)]);
    assert_eq!(log.signals.len(), 4981);
    let mut waited: Vec<_> = log.sent.iter().filter(|sent| sent.0.is_after(milliseconds(10_000))).map(|sent| sent.2).collect();
    waited.sort();
    let hundredths = |duration: Duration| (duration.picoseconds() + 5_000_000) / 10_000_000;
    assert_eq!(hundredths(waited[waited.len() / 2]), 1520);
    assert_eq!(hundredths(waited[waited.len() * 99 / 100]), 2440);
}

/// The overload for 20 s.
fn seen(link: u64, given: &AqmParameters, ecn: Ecn) -> Log {
    let rate = rate(link);
    run(&mut port(rate, Some(pie(rate, given)), 1), overload(), ecn, milliseconds(20_000))
}

#[test]
fn relations_of_the_literature_hold() {
    let usual = AqmParameters::default();
    let drops = seen(10_000_000, &usual, Ecn::NotEct).signals.len();
    let patient = AqmParameters { target: Some(Duration::from_milliseconds(60)), ..usual.clone() };
    assert!(seen(10_000_000, &patient, Ecn::NotEct).signals.len() < drops, "a higher target drops less");
    assert!(seen(8_000_000, &usual, Ecn::NotEct).signals.len() > drops, "a slower link drops more");
    // 12.5 Mbit/s at 12 Mbit/s needs a probability of about 7 %: below the limit, all signals are marks.
    let forgiving = AqmParameters { ecn_limit: tidegate_core::aqm::Probability::from_millionths(1_000_000), ..usual.clone() };
    let marked = seen(10_000_000, &forgiving, Ecn::Ect0);
    assert!(!marked.signals.is_empty() && marked.signals.iter().all(|signal| !signal.is_drop));
    let limited = seen(10_000_000, &usual, Ecn::Ect0);
    let is_drop: Vec<_> = limited.signals.iter().map(|signal| signal.is_drop).collect();
    assert!(!is_drop[0] && is_drop[is_drop.len() - 1], "marks come first, drops above the limit");
    let ignored = seen(10_000_000, &AqmParameters { ecn: Some(false), ..usual }, Ecn::Ect0);
    assert!(ignored.signals.iter().all(|signal| signal.is_drop));
}
