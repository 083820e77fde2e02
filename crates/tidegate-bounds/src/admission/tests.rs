//! Terms of guaranteed service. The laws of admission are in `tests/admission.rs`.

use super::*;
use crate::curve::Service;
use crate::service::{Child, Node};
use tidegate_core::admission::TrafficSpec;
use tidegate_core::registry::SchedulerKind;
use tidegate_core::units::{Duration, Rate};

#[test]
fn terms_of_guaranteed_service_per_scheduler() {
    let children = vec![Child { rate: 1_500_000, quantum: 1_000, ..Child::new(1_000) }; 6];
    let terms = |kind| error_terms(&Node::new(kind, 10_000_000, children.clone()), &Service::link(10_000_000), 0, 1_000);
    let expect = |bits: u64, us: u64| tidegate_core::admission::ErrorTerms {
        rate_dependent: bits,
        rate_independent: Duration::from_microseconds(us),
    };
    assert_eq!(terms(SchedulerKind::Wf2qPlus), Ok(expect(1_000, 100)));
    assert_eq!(terms(SchedulerKind::SelfClocked), Ok(expect(1_000, 500)));
    assert_eq!(terms(SchedulerKind::WeightedRoundRobin), Ok(expect(0, 600)));
    assert!(terms(SchedulerKind::EarliestDeadlineFirst).is_err());
    // Four hops of fair queueing: 10 ms need 1,908,996 bit/s of a flow that may send its 15 kbit at the link's rate.
    let rate = |rate: u64| Rate::new(rate).unwrap();
    let traffic = TrafficSpec::new(1_000, 15_000, rate(1_500_000), rate(10_000_000)).unwrap();
    let hop = terms(SchedulerKind::Wf2qPlus).unwrap();
    let path = (0..4).fold(tidegate_core::admission::ErrorTerms::default(), |sum, _| sum.plus(hop));
    assert_eq!(path.rate_needed(&traffic, Duration::from_milliseconds(10)), Some(1_908_996));
}
