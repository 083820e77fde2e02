//! Cost of one verdict: packets of random flows, every flow with a contract of its own, the outcomes mixed.
//!
//! Every policer is measured twice: `plain` asks one after the other, `prefetch` polices bursts and fetches the state of the next one
//! meanwhile.

use crate::flows::Random;
use crate::{BURST, Benchmark, PACKET_BYTES, PICOSECONDS_PER_PACKET};
use std::hint::black_box;
use tidegate_core::packet::Colour;
use tidegate_core::policer::{Conformance, Contract, ContractField, Policer, Query, Verdict, police_burst_ahead};
use tidegate_core::registry::{AnyPolicer, PolicerKind};
use tidegate_core::units::{Duration, PICOSECONDS_PER_SECOND, Rate, Time};

/// Packets in one round, as in `benches/peers/meter.c`; few in the tests.
const ROUND_PACKETS: usize = if cfg!(any(test, debug_assertions)) { 1 << 14 } else { 1 << 22 };

/// How the state of a policer is reached.
const ACCESSES: [&str; 2] = ["plain", "prefetch"];

/// Every registered policer with either access.
pub fn names() -> impl Iterator<Item = String> {
    PolicerKind::ALL.iter().flat_map(|kind| ACCESSES.map(|access| format!("{}/{access}", kind.name())))
}

/// Builds the named policer for every flow and runs until the mix of colours is steady.
///
/// # Errors
/// An unknown name, or a contract that the policer refuses.
pub fn set_up(name: &str, flows: u32) -> Result<Benchmark, String> {
    let known = name.split_once('/').and_then(|(kind, access)| Some((PolicerKind::from_name(kind)?, access)));
    let Some((kind, access)) = known.filter(|(_, access)| ACCESSES.contains(access)) else {
        return Err(format!("there is no policer \"{name}\"; there are {}", names().collect::<Vec<_>>().join(", ")));
    };
    let mut random = Random::new();
    let order: Vec<u32> = (0..ROUND_PACKETS).map(|_| random.below(flows)).collect();
    let built: Result<Vec<AnyPolicer>, String> =
        (0..flows).map(|_| kind.build(&draw(kind, flows, &mut random)).map_err(|error| error.to_string())).collect();
    let built = built?;
    let prefetched = access == "prefetch";
    // What users of one kind of policer have is a table of that kind, not of the enum over all kinds.
    macro_rules! run_one_of {
        ($($kind:ident)*) => {
            match kind {
                $(PolicerKind::$kind => {
                    let only = built.into_iter().filter_map(|any| if let AnyPolicer::$kind(policer) = any { Some(policer) } else { None });
                    run(name, order, prefetched, only.collect())
                })*
            }
        };
    }
    Ok(run_one_of!(Gcra DualGcra SrTcm TrTcm2698 TrTcm4115 Gfr GfrTm41))
}

/// Draws what `benches/peers/meter.c` draws: the committed rate is 30 to 60 % of what the flow sends, the peak rate 10 to 25 % of it
/// more, the bursts a few packets. Only the fields that the policer knows are given.
fn draw(kind: PolicerKind, flows: u32, random: &mut Random) -> Contract {
    let offered = u64::from(PACKET_BYTES) * 8 * PICOSECONDS_PER_SECOND / PICOSECONDS_PER_PACKET / u64::from(flows);
    let committed = offered * u64::from(3000 + random.below(3001)) / 10_000;
    let excess = offered * u64::from(1000 + random.below(1501)) / 10_000;
    let rate = |bits_per_second| Rate::new(bits_per_second).expect("the share of a flow is a supported rate");
    let least_burst = if flows < BURST as u32 { 2 * BURST as u32 } else { 2 };
    let mut burst = || PACKET_BYTES * (least_burst + random.below(8));
    let (committed_burst, peak_burst) = (burst(), burst());
    let peak = rate(committed + excess);
    let uses = |field| kind.requires().contains(&field) || kind.accepts().contains(&field);
    let mut contract = Contract::new(rate(committed), PACKET_BYTES);
    contract.burst = uses(ContractField::Burst).then_some(committed_burst);
    contract.peak_rate = uses(ContractField::PeakRate).then_some(peak);
    contract.excess_rate = uses(ContractField::ExcessRate).then_some(rate(excess));
    contract.peak_burst = uses(ContractField::PeakBurst).then_some(peak_burst);
    contract.excess_burst = uses(ContractField::ExcessBurst).then_some(peak_burst);
    if uses(ContractField::Conformance) {
        contract.conformance = Some(if kind == PolicerKind::GfrTm41 { Conformance::Gfr2 } else { Conformance::Vbr3 });
        // The tolerance of the peak rate plays the part of the peak burst.
        contract.delay_variation_tolerance = Some(Duration::from_picoseconds(peak.time_per_byte().floor(peak_burst).picoseconds()));
    }
    contract
}

fn run<P: Policer + 'static>(name: &str, order: Vec<u32>, prefetched: bool, mut policers: Vec<P>) -> Benchmark {
    let flows = policers.len() as u32;
    let mut now = Time::from_picoseconds(PICOSECONDS_PER_SECOND);
    policers.iter_mut().for_each(|policer| policer.start(now));
    // This burst and the next one, by turns. As in the peer's program nothing but the flow differs from packet to packet.
    let [mut batch, mut next] = [[Query { policer: 0, length: PACKET_BYTES, colour: Colour::Green }; BURST]; 2];
    name_policers(&mut next, &order);
    let mut verdicts = [Verdict::Discard; BURST];
    // The verdicts of every burst are handed over as a caller would have them; only `look` counts them as well.
    let mut round = move |look: bool| {
        let mut seen = [0u32; 4];
        for (number, burst) in order.chunks_exact(BURST).enumerate() {
            now += Duration::from_picoseconds(BURST as u64 * PICOSECONDS_PER_PACKET);
            if prefetched {
                let (batch, next) = if number % 2 == 0 { (&mut next, &mut batch) } else { (&mut batch, &mut next) };
                name_policers(next, &order[(number + 1) * BURST % ROUND_PACKETS..]);
                police_burst_ahead(now, batch, next, &mut policers, &mut verdicts);
            } else {
                for (verdict, &flow) in verdicts.iter_mut().zip(burst) {
                    *verdict = policers[flow as usize].police(now, PACKET_BYTES, Colour::Green);
                }
            }
            black_box(&verdicts);
            if look {
                verdicts.iter().for_each(|&verdict| seen[outcome(verdict)] += 1);
            }
        }
        seen
    };
    // Buckets begin full, which colours the first packets of every flow green: eight per flow, and then one round to look at.
    for _ in 0..(8 * u64::from(flows)).div_ceil(ROUND_PACKETS as u64) {
        round(false);
    }
    let [green, yellow, red, discard] = round(true).map(|count| f64::from(count) / ROUND_PACKETS as f64);
    Benchmark {
        operation: format!("police-{name}"),
        flows,
        facts: format!(",bytes={},green={green:.3},yellow={yellow:.3},red={red:.3},discard={discard:.3}", size_of::<P>()),
        round: Box::new(move || {
            round(false);
            ROUND_PACKETS as u64
        }),
    }
}

/// Makes the queries those of the flows next in order.
fn name_policers(queries: &mut [Query; BURST], order: &[u32]) {
    for (query, &flow) in queries.iter_mut().zip(order) {
        query.policer = flow;
    }
}

fn outcome(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Conform => 0,
        Verdict::Mark(colour) => colour as usize,
        Verdict::Discard => 3,
    }
}
