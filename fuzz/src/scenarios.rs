//! Target: scenario and policy files. What is accepted can be summed up and makes ports; what is refused is explained.

use tidegate_core::port::Port;
use tidegate_core::units::Time;
use tidegate_scenario::summary::{Detail, summary};
use tidegate_scenario::{Scenario, parse_str};

/// Ports larger than this are not made: memory would be all that is tested.
const MOST_PACKETS: u32 = 100_000;

/// Reads one file; true if it is accepted.
pub fn run(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input);
    match parse_str("fuzz.toml", &text) {
        Ok(scenario) => {
            check_accepted(&scenario);
            true
        }
        Err(problems) => {
            let explained = problems.to_string();
            assert!(explained.contains("error"), "refused without an error: {explained}");
            false
        }
    }
}

fn check_accepted(scenario: &Scenario) {
    assert!(!summary(scenario, Detail::All).is_empty());
    assert!(!scenario.variants.is_empty());
    if let Some(warnings) = &scenario.warnings {
        assert!(!warnings.to_string().is_empty());
    }
    for policy in scenario.variants.iter().flat_map(|variant| &variant.policies) {
        let setup = policy.setup();
        assert!(setup.policers.is_empty() || setup.policers.len() == setup.classifier.classes().len());
        if policy.packet_limit <= MOST_PACKETS {
            let port: Port<()> = Port::new(Time::ZERO, setup);
            assert_eq!(port.check(), Ok(()));
        }
    }
}
