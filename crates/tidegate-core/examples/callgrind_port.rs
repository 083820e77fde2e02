//! Callgrind subject.
use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier};
use tidegate_core::packet::{Colour, Flow};
use tidegate_core::port::{Port, PortSetup};
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Duration, Overhead, Rate, Time};

fn main() {
    let kind = std::env::args().nth(1).unwrap();
    let rate = Rate::new(1_000_000_000).unwrap();
    let flows = [FlowParameters::default(); 64];
    let classifier = Classifier::new(vec![ClassRules { name: "all".into(), queues: 64, rules: vec![] }], 0).unwrap();
    let parameters = BufferParameters { flows: 64, packets: Some(500), bytes: Some(300_000), ..BufferParameters::default() };
    let mut port: Port<u64> = Port::new(
        Time::ZERO,
        PortSetup {
            rate,
            overhead: Overhead::None,
            classifier,
            policers: vec![None],
            buffer: BufferKind::from_name(&kind).unwrap().build(&parameters).unwrap(),
            scheduler: SchedulerKind::DeficitRoundRobin.build(&Setup::new(rate, 1500), &flows).unwrap(),
            packet_limit: 500,
            longest_frame: 1500,
            remarks: Default::default(),
        },
    );
    let mut now = Time::ZERO;
    let mut word: u64 = 1;
    for number in 0..1_000_000u64 {
        word = word.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let flow = Flow((word >> 58) as u32);
        port.offer(now, flow, 1000, Colour::Green, number, &mut ());
        now += Duration::from_picoseconds(7_900_000 + (word >> 40 & 0x3FFFF));
        port.advance(now, &mut (), |_| {});
    }
    println!("{:?}", port.counters().sent);
}
