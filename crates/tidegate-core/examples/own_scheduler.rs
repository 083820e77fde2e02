//! A scheduler of your own in a port: the flow with the longest head goes first. `cargo run -p tidegate-core --example own_scheduler`.
//!
//! A port takes any type that keeps the laws of `Scheduler`. To add one to the product, by name, see CONTRIBUTING.md.
//! `tests/examples.rs` holds the output.

use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier};
use tidegate_core::packet::{Colour, Flow, Head};
use tidegate_core::port::{Port, PortSetup};
use tidegate_core::ready::{ReadyList, Wheel};
use tidegate_core::registry::{AnyBufferManager, BufferKind};
use tidegate_core::scheduler::{BuildError, Decision, FlowParameters, Scheduler};
use tidegate_core::units::{Overhead, Rate, Time};

/// The longest head goes first; of equal ones, the one that became head first.
struct LongestFirst {
    /// Flows in the order of their key. The ready list breaks ties by insertion.
    heads: Wheel,
}

impl Scheduler for LongestFirst {
    fn activate(&mut self, _now: Time, flow: Flow, head: Head) {
        self.heads.insert(flow, u64::from(u32::MAX - head.length));
    }

    fn select(&mut self, _now: Time) -> Decision {
        self.heads.first().map_or(Decision::Idle, |(_, flow)| Decision::Serve(flow))
    }

    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.lost(now, flow, next);
    }

    // A scheduler that counts service would charge in `served` and not here.
    fn lost(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.heads.remove(flow);
        if let Some(head) = next {
            self.activate(now, flow, head);
        }
    }

    // Flows have no parameters here, and nothing is kept of one without packets.
    fn change(&mut self, _now: Time, _flow: Flow, _parameters: &FlowParameters) -> Result<(), BuildError> {
        Ok(())
    }

    fn forget(&mut self, _now: Time, _flow: Flow) {}
}

/// Drives the port and returns the order of service.
pub fn run() -> String {
    const FLOWS: u32 = 3;
    let all = ClassRules { name: "all".into(), queues: FLOWS, rules: vec![] };
    let buffer = BufferParameters { flows: FLOWS as usize, packets: Some(16), ..BufferParameters::default() };
    let setup = PortSetup {
        rate: Rate::new(1_000_000).expect("1 Mbit/s is within the range of rates"),
        overhead: Overhead::None,
        classifier: Classifier::new(vec![all], 0).expect("the last class needs no rule"),
        aqms: Vec::new(),
        seed: 0,
        policers: vec![None],
        buffer: BufferKind::TailDrop.build(&buffer).expect("the limits are valid"),
        scheduler: LongestFirst { heads: Wheel::new(FLOWS as usize) },
        packet_limit: 16,
        longest_frame: 1500,
        remarks: Default::default(),
    };
    let mut port: Port<(), LongestFirst, AnyBufferManager> = Port::new(Time::ZERO, setup);

    for (flow, length) in [(0, 100), (1, 700), (2, 1500), (0, 1200), (1, 700)] {
        port.offer(Time::ZERO, Flow(flow), length, Colour::Green, (), &mut ());
    }
    let mut lines = String::new();
    port.advance(Time::from_nanoseconds(1_000_000_000), &mut (), |transmission| {
        let packet = transmission.packet;
        lines += &format!("{:>6} us  flow {} sends {} bytes\n", transmission.start.picoseconds() / 1_000_000, packet.flow.0, packet.length);
    });
    lines
}

#[allow(dead_code, reason = "the test calls `run`")]
fn main() {
    print!("{}", run());
}
