//! The conformance suite of the policers: every registered policer keeps the laws of its role and agrees with a textbook model in exact
//! rational arithmetic, and defective policers are caught.

mod defective;
mod textbook;

use defective::{Defect, Defective, Uncoordinated};
use textbook::{Textbook, Volume};
use tidegate_core::packet::Colour;
use tidegate_core::policer::{Conformance, Contract, Policer, Query, Verdict, Violation, police_burst, police_burst_ahead};
use tidegate_core::registry::{AnyPolicer, PolicerKind};
use tidegate_core::units::{Duration, Rate, SERIAL_HORIZON, Time};

/// SplitMix64: the tests need variety, not quality.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// A rate that divides 8 * 10^12, so that the time of a byte is a whole number of ticks and every verdict is exact.
    fn exact_rate(&mut self, low: u64, high: u64) -> Rate {
        loop {
            let bps = (1u64 << self.below(16)) * 5u64.pow(self.below(13) as u32);
            if (low..=high).contains(&bps) {
                return Rate::new(bps).unwrap();
            }
        }
    }

    fn colour(&mut self) -> Colour {
        [Colour::Green, Colour::Green, Colour::Yellow, Colour::Red][self.below(4) as usize]
    }
}

/// A random contract that a policer of this kind accepts.
fn contract(kind: PolicerKind, random: &mut Random) -> Contract {
    loop {
        let mut contract = Contract::new(random.exact_rate(1_000, 400_000_000_000), random.between(40, 9_018) as u32);
        let burst = |random: &mut Random| Some(contract.longest_packet + 1 + random.below([1, 100, 40_000][random.0 as usize % 3]) as u32);
        let committed = burst(random);
        let other = burst(random);
        let tolerance = contract.rate.time_per_byte().ceil(random.below(20_000) as u32);
        contract.violation = [None, Some(Violation::Discard), Some(Violation::Mark(Colour::Red))][random.below(3) as usize];
        let faster = random.exact_rate(contract.rate.bits_per_second(), 400_000_000_000);
        match kind {
            PolicerKind::Gcra => {
                contract.burst = committed.filter(|_| random.below(2) == 0);
                contract.delay_variation_tolerance = Some(tolerance).filter(|_| random.below(2) == 0);
            }
            PolicerKind::DualGcra => {
                let definition = Conformance::ALL[random.below(6) as usize];
                contract.conformance = Some(definition);
                contract.delay_variation_tolerance = Some(tolerance).filter(|_| random.below(2) == 0);
                if definition.has_sustained_rate() {
                    contract.peak_rate = Some(faster);
                    contract.burst = committed;
                }
            }
            PolicerKind::Gfr | PolicerKind::GfrTm41 => {
                contract.peak_rate = Some(faster);
                contract.burst = committed.filter(|_| random.below(2) == 0);
                contract.delay_variation_tolerance = Some(tolerance).filter(|_| random.below(2) == 0);
                if kind == PolicerKind::GfrTm41 {
                    contract.conformance = [None, Some(Conformance::Gfr1), Some(Conformance::Gfr2)][random.below(3) as usize];
                }
            }
            PolicerKind::SrTcm => (contract.burst, contract.excess_burst) = (committed, other),
            PolicerKind::TrTcm2698 => {
                (contract.burst, contract.peak_rate, contract.peak_burst) = (committed, Some(faster), other);
            }
            PolicerKind::TrTcm4115 => {
                let rate = random.exact_rate(1_000, 400_000_000_000);
                (contract.burst, contract.excess_rate, contract.excess_burst) = (committed, Some(rate), other);
            }
        }
        if matches!(kind, PolicerKind::SrTcm | PolicerKind::TrTcm2698 | PolicerKind::TrTcm4115) {
            contract.colour_aware = Some(random.below(2) == 0);
        }
        // Rates too far apart for one tick are refused; they are not what these tests are about.
        if kind.build(&contract).is_ok() {
            return contract;
        }
    }
}

/// The next instant at which a packet like this one is judged differently from now, within about a burst's time.
fn turning_point<P: Policer + Clone>(policer: &P, now: Time, length: u32, colour: Colour, contract: &Contract) -> Option<Duration> {
    let verdict = |after: u64| policer.clone().police(now + Duration::from_picoseconds(after), length, colour);
    let here = verdict(0);
    let (mut low, mut high) = (0, contract.rate.time_per_byte().ceil(contract.longest_packet).picoseconds() * 2);
    if verdict(high) == here {
        return None;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if verdict(middle) == here {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(Duration::from_picoseconds(high))
}

/// Holds a policer, just built from `contract`, against the laws and its textbook on a random stream of packets.
fn check<P: Policer + Clone>(fresh: &P, kind: PolicerKind, contract: &Contract, seed: u64) -> Result<(), String> {
    check_laws(fresh, kind, contract, seed, Some(Textbook::new(kind, contract)))
}

/// The same, with a textbook only if one is given.
fn check_laws<P: Policer + Clone>(
    fresh: &P,
    kind: PolicerKind,
    contract: &Contract,
    seed: u64,
    mut textbook: Option<Textbook>,
) -> Result<(), String> {
    let mut random = Random(seed);
    let origin = Time::from_picoseconds(random.next());
    // The shifted stream crosses the end of the time axis.
    let until_wrap = contract.rate.time_per_byte().ceil(random.below(20 * u64::from(contract.longest_packet)) as u32);
    let shift = (Time::ZERO - until_wrap).picoseconds().wrapping_sub(origin.picoseconds());
    let shift = Duration::from_picoseconds(shift);
    let mut subject = fresh.clone();
    subject.start(origin);
    let mut again = fresh.clone();
    again.start(origin);
    let mut refreshed = subject.clone();
    let mut spared = subject.clone();
    let mut successor = subject.clone();
    let mut shifted = fresh.clone();
    shifted.start(origin + shift);
    let mut volumes = Volume::promised(kind, contract);
    let mut now = origin;
    for packet in 0..200 {
        let length = random.between(1, u64::from(contract.longest_packet)) as u32;
        let colour = random.colour();
        let before = now;
        now += match random.below(6) {
            0 | 1 => Duration::ZERO,
            2 => contract.rate.time_per_byte().ceil(random.below(3 * u64::from(contract.longest_packet)) as u32),
            3 => Duration::from_picoseconds(random.below(1_000_000)),
            // Where a verdict turns, or a picosecond before: there the smallest error shows.
            kind => match turning_point(&subject, now, length, colour, contract) {
                Some(turn) => Duration::from_picoseconds(turn.picoseconds() - (kind - 4)),
                None => Duration::ZERO,
            },
        };
        let verdict = subject.police(now, length, colour);
        let fail = |law: &str| Err(format!("packet {packet}: {law}: {verdict:?} for {length} bytes, {colour:?}, under {contract:?}"));

        if again.police(now, length, colour) != verdict {
            return fail("the verdict depends on more than the earlier calls");
        }
        if random.below(3) == 0 {
            refreshed.refresh(before + Duration::from_picoseconds(random.below(now.since(before).picoseconds() + 1)));
        }
        if refreshed.police(now, length, colour) != verdict {
            return fail("a refresh changed the verdict");
        }
        if random.below(3) == 0 {
            let old = std::mem::replace(&mut successor, fresh.clone());
            let at = before + Duration::from_picoseconds(random.below(now.since(before).picoseconds() + 1));
            successor.start(at);
            successor.adopt(at, &old, contract.longest_packet);
        }
        if successor.police(now, length, colour) != verdict {
            return fail("a policer that adopted another of the same contract does not continue it");
        }
        if shifted.police(now + shift, length, colour) != verdict {
            return fail("the verdict depends on where the time axis begins");
        }
        if verdict == Verdict::Mark(colour) {
            return fail("a packet was marked in its own colour");
        }
        // Packets outside the contract must leave no trace: one policer forgets that it ever saw them.
        let is_outside = verdict == Verdict::Discard || verdict == Verdict::Mark(Colour::Red);
        let untouched = spared.clone();
        if spared.police(now, length, colour) != verdict {
            return fail("an earlier packet outside the contract took something");
        }
        if is_outside {
            spared = untouched;
        }
        let elapsed = now.since(origin).picoseconds();
        let expected = textbook.as_mut().map_or(verdict, |textbook| textbook.police(elapsed, length, colour));
        if verdict != expected {
            return fail(&format!("the textbook says {expected:?}"));
        }
        if let Some(passed) = verdict.passes(colour).filter(|_| contract.violation != Some(Violation::Mark(Colour::Red))) {
            for volume in &mut volumes {
                if volume.add(elapsed, length, passed).is_err() {
                    return fail("more passed than the contract allows");
                }
            }
        }
    }
    check_silence(fresh, subject, now, &mut random, contract)
}

/// After a silence as long as a policer has to remember, it is as new.
fn check_silence<P: Policer + Clone>(fresh: &P, mut old: P, now: Time, random: &mut Random, contract: &Contract) -> Result<(), String> {
    let mut now = now;
    for _ in 0..random.between(1, 9) {
        now += SERIAL_HORIZON;
        old.refresh(now);
    }
    let mut new = fresh.clone();
    new.start(now);
    for _ in 0..50 {
        let (length, colour) = (random.between(1, u64::from(contract.longest_packet)) as u32, random.colour());
        if old.police(now, length, colour) != new.police(now, length, colour) {
            return Err(format!("a long silence was not forgotten under {contract:?}"));
        }
        now += contract.rate.time_per_byte().ceil(random.below(2000) as u32);
    }
    Ok(())
}

/// A source that sends each packet of the greatest length as soon as it passes unmarked gets the rate of the contract, however long it
/// sends.
fn check_greed<P: Policer + Clone>(fresh: &P, contract: &Contract) -> Result<(), String> {
    let mut policer = fresh.clone();
    policer.start(Time::ZERO);
    let length = contract.longest_packet;
    // Under UBR.2 whatever conforms is marked.
    let unmarked = if contract.conformance == Some(Conformance::Ubr2) { Verdict::Mark(Colour::Yellow) } else { Verdict::Conform };
    let (mut now, mut bytes) = (Time::ZERO, 0u128);
    // What a burst lends is paid back first: only then do the last 2^-31 show.
    for _ in 0..3_000 {
        let passes = |after: u64| policer.clone().police(now + Duration::from_picoseconds(after), length, Colour::Green) == unmarked;
        let (mut low, mut high) = (0, contract.rate.time_per_byte().ceil(length).picoseconds() * 2);
        while low < high {
            let middle = low + (high - low) / 2;
            if passes(middle) { high = middle } else { low = middle + 1 }
        }
        now += Duration::from_picoseconds(low);
        if policer.police(now, length, Colour::Green) != unmarked {
            return Err(format!("a packet never conforms under {contract:?}"));
        }
        bytes += u128::from(length);
    }
    let (sent, due) = (bytes * 8_000_000_000_000, u128::from(contract.rate.bits_per_second()) * u128::from(now.picoseconds()));
    // A picosecond for the time axis, 2^-31 for the rate.
    if sent + (due >> 31) + u128::from(contract.rate.bits_per_second()) < due {
        return Err(format!("{sent} of {due} passed under {contract:?}"));
    }
    Ok(())
}

const SEEDS: u64 = 150;

fn registered(kind: PolicerKind, seed: u64) -> (AnyPolicer, Contract) {
    let contract = contract(kind, &mut Random(seed));
    (kind.build(&contract).unwrap(), contract)
}

#[test]
fn every_policer_keeps_the_laws_and_follows_its_textbook() {
    for &kind in PolicerKind::ALL {
        for seed in 0..SEEDS {
            let (policer, contract) = registered(kind, seed);
            check(&policer, kind, &contract, seed).unwrap_or_else(|broken| panic!("{}: {broken}", kind.name()));
        }
    }
}

#[test]
fn rates_that_are_no_whole_number_of_ticks_are_never_exceeded_and_hardly_missed() {
    for &kind in PolicerKind::ALL {
        for seed in 0..60 {
            let mut random = Random(seed);
            let mut contract = contract(kind, &mut random);
            contract.violation = None;
            let odd = |rate: Rate, random: &mut Random| {
                Rate::new((rate.bits_per_second() + random.below(rate.bits_per_second() / 3)).clamp(1_000, 400_000_000_000)).unwrap()
            };
            contract.rate = odd(contract.rate, &mut random);
            contract.peak_rate = contract.peak_rate.map(|rate| odd(rate, &mut random).max(contract.rate));
            contract.excess_rate = contract.excess_rate.map(|rate| odd(rate, &mut random));
            let Ok(mut policer) = kind.build(&contract) else { continue };
            check_greed(&policer, &contract).unwrap_or_else(|broken| panic!("{}: {broken}", kind.name()));
            let mut volumes = Volume::promised(kind, &contract);
            let mut now = Time::ZERO;
            policer.start(now);
            for _ in 0..500 {
                let (length, colour) = (random.between(1, u64::from(contract.longest_packet)) as u32, random.colour());
                let turn = turning_point(&policer, now, length, colour, &contract);
                now += turn.filter(|_| random.below(2) == 0).unwrap_or(Duration::ZERO);
                if let Some(passed) = policer.police(now, length, colour).passes(colour) {
                    for volume in &mut volumes {
                        volume.add(now.picoseconds(), length, passed).unwrap();
                    }
                }
            }
        }
    }
}

/// The contract with all its rates halved: what its buckets hold in bytes is the same.
fn halved(contract: &Contract) -> Option<Contract> {
    let half = |rate: Rate| Rate::new(rate.bits_per_second() / 2).ok();
    let optional = |rate: Option<Rate>| rate.map_or(Some(None), |rate| half(rate).map(Some));
    let (peak_rate, excess_rate) = (optional(contract.peak_rate)?, optional(contract.excess_rate)?);
    Some(Contract { rate: half(contract.rate)?, peak_rate, excess_rate, ..*contract })
}

#[test]
fn a_contract_whose_rates_change_to_and_fro_never_gives_more_than_the_larger() {
    let mut packets_after_a_change = 0;
    for &kind in PolicerKind::ALL {
        for seed in 0..SEEDS {
            let mut random = Random(seed);
            let mut contract = contract(kind, &mut random);
            (contract.delay_variation_tolerance, contract.violation) = (None, None);
            let (Some(slow), Ok(mut policer)) = (halved(&contract), kind.build(&contract)) else { continue };
            let Ok(mut other) = kind.build(&slow) else { continue };
            let mut volumes = Volume::promised(kind, &contract);
            let mut now = Time::ZERO;
            for _ in 0..200 {
                if random.below(4) == 0 {
                    other.start(now);
                    other.adopt(now, &policer, contract.longest_packet);
                    std::mem::swap(&mut other, &mut policer);
                }
                let (length, colour) = (random.between(1, u64::from(contract.longest_packet)) as u32, random.colour());
                if let Some(passed) = policer.police(now, length, colour).passes(colour) {
                    packets_after_a_change += 1;
                    for volume in &mut volumes {
                        volume.add(now.picoseconds(), length, passed).unwrap_or_else(|_| panic!("{}: {contract:?}", kind.name()));
                    }
                }
                now += contract.rate.time_per_byte().ceil(random.below(2 * u64::from(contract.longest_packet)) as u32);
            }
        }
    }
    assert!(packets_after_a_change > 10_000);
}

#[test]
fn a_burst_is_policed_like_its_packets_one_by_one() {
    for &kind in PolicerKind::ALL {
        for seed in 0..40 {
            let mut random = Random(seed);
            let contracts: Vec<_> = (0..20).map(|_| contract(kind, &mut random)).collect();
            let mut together: Vec<_> = contracts.iter().map(|contract| kind.build(contract).unwrap()).collect();
            let mut one_by_one = together.clone();
            let mut now = Time::ZERO;
            for _ in 0..30 {
                let batch: Vec<_> = (0..random.below(40))
                    .map(|_| {
                        let policer = random.below(20) as u32;
                        let length = random.between(1, u64::from(contracts[policer as usize].longest_packet)) as u32;
                        Query { policer, length, colour: random.colour() }
                    })
                    .collect();
                let next: Vec<_> = (0..random.below(40)).map(|_| Query { policer: random.below(30) as u32, ..Query::default() }).collect();
                let mut verdicts = vec![Verdict::Conform; batch.len() + 3];
                if random.below(2) == 0 {
                    police_burst(now, &batch, &mut together, &mut verdicts);
                } else {
                    // What comes next is a hint, even if it names policers that do not exist.
                    police_burst_ahead(now, &batch, &next, &mut together, &mut verdicts);
                }
                for (query, verdict) in batch.iter().zip(&verdicts) {
                    assert_eq!(one_by_one[query.policer as usize].police(now, query.length, query.colour), *verdict);
                }
                assert_eq!(verdicts[batch.len()..], [Verdict::Conform; 3], "nothing is written beyond the burst");
                let scale = random.between(1, 40);
                now += Duration::from_picoseconds(random.below(1 << scale));
            }
        }
    }
}

#[test]
fn contracts_are_checked_field_by_field() {
    use tidegate_core::policer::ContractField;
    for &kind in PolicerKind::ALL {
        let complete = contract(kind, &mut Random(7));
        for &field in ContractField::ALL {
            let mut without = complete;
            let mut with = complete;
            match field {
                ContractField::Rate | ContractField::LongestPacket | ContractField::Violation => continue,
                ContractField::PeakRate => (without.peak_rate, with.peak_rate) = (None, Some(Rate::MAX)),
                ContractField::ExcessRate => (without.excess_rate, with.excess_rate) = (None, Some(Rate::MAX)),
                ContractField::Burst => (without.burst, with.burst) = (None, Some(1 << 20)),
                ContractField::ExcessBurst => (without.excess_burst, with.excess_burst) = (None, Some(1 << 20)),
                ContractField::MaximumFrame => (without.maximum_frame, with.maximum_frame) = (None, Some(1 << 20)),
                ContractField::PeakBurst => (without.peak_burst, with.peak_burst) = (None, Some(1 << 20)),
                ContractField::DelayVariationTolerance => {
                    (without.delay_variation_tolerance, with.delay_variation_tolerance) = (None, Some(Duration::from_microseconds(1)));
                }
                ContractField::Conformance => (without.conformance, with.conformance) = (None, Some(Conformance::Vbr1)),
                ContractField::ColourAware => (without.colour_aware, with.colour_aware) = (None, Some(true)),
            }
            if kind.requires().contains(&field) {
                assert_eq!(kind.build(&without).unwrap_err().field, field, "{}", kind.name());
            } else if !kind.accepts().contains(&field) {
                assert_eq!(kind.build(&with).unwrap_err().field, field, "{}", kind.name());
            }
        }
        let field = |change: &dyn Fn(&mut Contract)| {
            let mut contract = complete;
            change(&mut contract);
            kind.build(&contract).unwrap_err().field
        };
        assert_eq!(field(&|contract| contract.longest_packet = 0), ContractField::LongestPacket);
        assert_eq!(field(&|contract| contract.longest_packet = 1 << 29), ContractField::LongestPacket);
        assert_eq!(field(&|contract| contract.violation = Some(Violation::Mark(Colour::Green))), ContractField::Violation);
        assert_eq!(PolicerKind::from_name(kind.name()), Some(kind));
    }
    assert_eq!(PolicerKind::from_name("leaky"), None);
}

/// Contracts that a [`Defective`] can be built for, with discard as the fate of violating packets.
fn plain_contracts(kind: PolicerKind) -> impl Iterator<Item = (u64, Contract)> {
    (0..400).filter_map(move |seed| {
        let (_, mut contract) = registered(kind, seed);
        contract.violation = None;
        Defective::new(Defect::None, &contract).map(|_| (seed, contract))
    })
}

#[test]
fn defective_policers_are_caught() {
    use Defect::*;
    let broken = |defect, with_textbook: bool| {
        let kind = PolicerKind::Gcra;
        plain_contracts(kind).filter_map(move |(seed, contract)| {
            let textbook = with_textbook.then(|| Textbook::new(kind, &contract));
            check_laws(&Defective::new(defect, &contract).unwrap(), kind, &contract, seed, textbook).err()
        })
    };
    assert!(plain_contracts(PolicerKind::Gcra).count() > 50);
    assert_eq!(broken(None, true).next(), Option::None, "the skeleton itself has to pass, or catching its variants means nothing");
    // Each is caught by the law made for it, without help from the textbook where the laws suffice.
    for (defect, law, with_textbook) in [
        (ChargesViolations, "took something", false),
        (AcceptsBeforeTheBoundary, "contract allows", false),
        (ForgetsTheWrap, "time axis", false),
        (RefreshesToEmpty, "refresh", false),
        (Remembers, "earlier calls", false),
        (SavesUp, "contract allows", false),
        (AdoptsNothing, "continue", false),
        (RefusesTheBoundary, "textbook", true),
    ] {
        assert!(broken(defect, with_textbook).any(|broken| broken.contains(law)), "{defect:?} was never caught by '{law}'");
    }
}

#[test]
fn an_uncoordinated_update_is_caught() {
    let mut cases = 0;
    let mut caught = 0;
    for (seed, mut contract) in plain_contracts(PolicerKind::DualGcra) {
        if contract.conformance != Some(Conformance::Vbr1) {
            continue;
        }
        contract.burst = Some(contract.longest_packet);
        let mut peak = contract;
        (peak.rate, peak.burst) = (contract.peak_rate.unwrap(), None);
        let Some(peak) = Defective::new(Defect::None, &peak) else { continue };
        let sustained = Defective::new(Defect::None, &contract).unwrap();
        cases += 1;
        match check_laws(&Uncoordinated { peak, sustained }, PolicerKind::DualGcra, &contract, seed, None) {
            Err(broken) if broken.contains("took something") => caught += 1,
            _ => {}
        }
    }
    assert!(cases > 10 && caught > 0, "{caught} of {cases}");
}
