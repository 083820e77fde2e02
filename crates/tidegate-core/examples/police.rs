//! A policer alone: which packets of a burst are within a contract? `cargo run -p tidegate-core --example police`.
//!
//! The contract is 1 Mbit/s with bursts of 3000 bytes. Packets of 1000 bytes come every 2 ms, at four times the rate.
//! `tests/examples.rs` holds the output.

use tidegate_core::packet::Colour;
use tidegate_core::policer::{Contract, Policer, Verdict, Violation};
use tidegate_core::registry::PolicerKind;
use tidegate_core::units::{Rate, Time};

/// Polices the packets and returns the verdicts.
pub fn run() -> String {
    let rate = Rate::new(1_000_000).expect("1 Mbit/s is within the range of rates");
    let contract = Contract {
        burst: Some(3000),
        // Mark what is outside the contract; without this line it is discarded.
        violation: Some(Violation::Mark(Colour::Red)),
        ..Contract::new(rate, 1000)
    };
    let mut policer = PolicerKind::Gcra.build(&contract).expect("a rate and a burst are all that a GCRA needs");
    policer.start(Time::ZERO);

    let mut lines = String::new();
    for packet in 0..10 {
        let milliseconds = 2 * packet;
        let verdict = policer.police(Time::from_nanoseconds(milliseconds * 1_000_000), 1000, Colour::Green);
        let said = match verdict {
            Verdict::Conform => "conforms",
            Verdict::Mark(_) => "is marked red",
            Verdict::Discard => "is discarded",
        };
        lines += &format!("{milliseconds:>3} ms  packet {packet} {said}\n");
    }
    lines
}

#[allow(dead_code, reason = "the test calls `run`")]
fn main() {
    print!("{}", run());
}
