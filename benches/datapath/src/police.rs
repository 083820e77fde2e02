//! Cost of one verdict: packets of random flows, every flow with a contract of its own, the colours mixed.

use crate::flows::Random;
use crate::{BURST, Benchmark, PACKET_BYTES, PICOSECONDS_PER_PACKET};
use std::hint::black_box;
use tidegate_core::packet::Colour;
use tidegate_core::policer::{Gcra, Policer, Verdict};
use tidegate_core::units::{PICOSECONDS_PER_SECOND, Rate, Time};

/// The policers that are measured.
pub const NAMES: &[&str] = &["gcra"];

/// Packets in one round, as in `benches/peers/meter.c`.
const ROUND_PACKETS: usize = 1 << 22;

/// Builds the named policer for every flow and runs one round to reach the steady mix of colours.
///
/// # Errors
/// An unknown name.
pub fn set_up(name: &str, flows: u32) -> Result<Benchmark, String> {
    match name {
        "gcra" => Ok(run(name, flows, |contract| {
            let increment = contract.committed.time_per_byte();
            Gcra::new(Time::ZERO, increment, increment.floor(contract.committed_burst))
        })),
        _ => Err(format!("there is no policer \"{name}\"; there are {}", NAMES.join(", "))),
    }
}

/// What one flow was promised; rates are kept on the wire, bursts in bytes.
struct Contract {
    committed: Rate,
    committed_burst: u32,
}

/// Draws what `benches/peers/meter.c` draws: the committed rate is 30 to 60 % of what the flow sends, the peak rate 10 to 25 % of it
/// more, the bursts a few packets.
fn draw(flows: u32, random: &mut Random) -> Contract {
    let offered = u64::from(PACKET_BYTES) * 8 * PICOSECONDS_PER_SECOND / PICOSECONDS_PER_PACKET / u64::from(flows);
    let committed = offered * u64::from(3000 + random.below(3001)) / 10_000;
    let least_burst = if flows < BURST as u32 { 2 * BURST as u32 } else { 2 };
    Contract {
        committed: Rate::new(committed).expect("the share of a flow is a supported rate"),
        committed_burst: PACKET_BYTES * (least_burst + random.below(8)),
    }
}

fn run<P: Policer + 'static>(name: &str, flows: u32, build: impl Fn(&Contract) -> P) -> Benchmark {
    let mut random = Random::new();
    let order: Vec<u32> = (0..ROUND_PACKETS).map(|_| random.below(flows)).collect();
    let mut policers: Vec<P> = (0..flows).map(|_| build(&draw(flows, &mut random))).collect();
    let mut now = Time::from_picoseconds(PICOSECONDS_PER_SECOND);
    let mut seen = [0u64; 4];
    let mut round = move || {
        let mut verdicts = [0u64; 4];
        for burst in order.chunks_exact(BURST) {
            now = Time::from_picoseconds(now.picoseconds() + BURST as u64 * PICOSECONDS_PER_PACKET);
            for &flow in burst {
                let verdict = policers[flow as usize].police(now, PACKET_BYTES, Colour::Green);
                verdicts[index(verdict)] += 1;
            }
        }
        black_box(verdicts)
    };
    // Full buckets colour the first round too green; two rounds are enough for a million flows.
    for _ in 0..2 {
        seen = round();
    }
    let share = |count: u64| count as f64 / ROUND_PACKETS as f64;
    Benchmark {
        operation: format!("police-{name}"),
        flows,
        facts: format!(",green={:.3},yellow={:.3},red={:.3},discard={:.3}", share(seen[0]), share(seen[1]), share(seen[2]), share(seen[3])),
        round: Box::new(move || {
            round();
            ROUND_PACKETS as u64
        }),
    }
}

#[inline(always)]
fn index(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Conform => 0,
        Verdict::Mark(colour) => colour as usize,
        Verdict::Discard => 3,
    }
}
