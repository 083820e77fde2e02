//! Seeded faults: small changes to the design, one at a time, each of which the lockstep bench has to catch.

use super::Options;
use super::lockstep::{bench, compare, design};
use super::tiled::{self, Shape};
use super::verilate::{self, Effort, at_once};
use crate::Failure;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

mod edges;
mod events;
mod tiles;

/// One fault.
struct Mutant {
    /// The file below `rtl/src`, without its ending.
    file: &'static str,
    /// What stands there once, and what is put in its place.
    text: &'static str,
    replacement: &'static str,
    /// What is wrong then.
    fault: &'static str,
    /// The engine that it is looked for in, and its number of streams; of the tiled one, of its lanes.
    engine: (&'static str, u32),
}

const BASE: (&str, u32) = ("base", 4);
const AHEAD: (&str, u32) = ("compute-ahead", 4);
const SPECULATIVE: (&str, u32) = ("speculative", 4);
const GROUPED: (&str, u32) = ("speculative", 8);
/// With four rounds.
const TILED: (&str, u32) = ("tiled", 8);
const HEAP: (&str, u32) = ("heap", 16);

const MUTANTS: &[Mutant] = &[
    Mutant {
        file: "dwcs_pkg",
        text: "return (a[14:0] < b[14:0]) ^ a[15] ^ b[15];",
        replacement: "return a < b;",
        fault: "time is compared without its wrap",
        engine: BASE,
    },
    Mutant {
        file: "decision_block",
        text: "16'(second_i.numerator) * 16'(first_i.denominator)",
        replacement: "16'(second_i.numerator) * 16'(second_i.denominator)",
        fault: "a cross product takes the denominator of its own window",
        engine: BASE,
    },
    Mutant {
        file: "decision_block",
        text: "(first_i.denominator > second_i.denominator)",
        replacement: "(first_i.denominator < second_i.denominator)",
        fault: "of two windows without tolerance the shorter one goes first",
        engine: BASE,
    },
    Mutant {
        file: "decision_block",
        text: "first_i.id < second_i.id",
        replacement: "first_i.id > second_i.id",
        fault: "among equals the larger number goes first",
        engine: ("winner-only", 4),
    },
    Mutant {
        file: "decision_block",
        text: "(~first_i.infinite & second_i.infinite)\n",
        replacement: "(1'b0)\n",
        fault: "a deadline that never comes is not later than one that does",
        engine: BASE,
    },
    Mutant {
        file: "window_rules",
        text: "full & ~numerator_zero ? one_tolerated_fewer : window_i.numerator",
        replacement: "window_i.numerator",
        fault: "rule A leaves the numerator as it is, as in 1999",
        engine: BASE,
    },
    Mutant {
        file: "window_rules",
        text: "if (denominator_last | window_i.violation) met_o = fresh;",
        replacement: "if (denominator_last) met_o = fresh;",
        fault: "a violation is never made good",
        engine: BASE,
    },
    Mutant {
        file: "window_rules",
        text: "raised[8] ? 8'hff : raised[7:0]",
        replacement: "raised[7:0]",
        fault: "penalties wrap instead of saturating",
        engine: BASE,
    },
    Mutant {
        file: "window_rules",
        text: "violates_o = tolerance_i.denominator != '0;",
        replacement: "violates_o = 1'b1;",
        fault: "a stream without a window violates it",
        engine: BASE,
    },
    Mutant {
        file: "window_rules",
        text: "end else if (denominator_last) begin\n      missed_o = fresh;",
        replacement: "end else if (1'b0) begin\n      missed_o = fresh;",
        fault: "a window that misses have used up does not begin anew",
        engine: BASE,
    },
    Mutant {
        file: "priority_outcomes",
        text: "(ahead[15] | (ahead == '0))",
        replacement: "ahead[15]",
        fault: "a deadline counts as missed one tick too late",
        engine: BASE,
    },
    Mutant {
        file: "priority_update",
        text: "state_i.valid & ~won_i & outcomes_i.come",
        replacement: "state_i.valid & outcomes_i.come",
        fault: "the winner misses its deadline as well",
        engine: BASE,
    },
    Mutant {
        file: "priority_outcomes",
        text: "2'b01:   stepped = now_i + Latest;",
        replacement: "2'b01:   stepped = deadline_i + 16'(period_i);",
        fault: "deadlines run ahead without bound",
        engine: BASE,
    },
    Mutant {
        file: "priority_update",
        text: "pop_o ? outcomes_i.begun : outcomes_i.now;",
        replacement: "pop_o ? outcomes_i.begun : state_i.deadline;",
        fault: "the deadline of an idle stream is left behind the clock",
        engine: BASE,
    },
    Mutant {
        file: "priority_update",
        text: "else if (~state_i.valid & pop_o & outcomes_i.come) state_o.window = fresh_i;",
        replacement: "",
        fault: "a stream that comes back goes on with its old window",
        engine: BASE,
    },
    Mutant {
        file: "priority_update",
        text: "if (won_i | events_o.dropped | ~state_i.valid) state_o.valid = pop_o;",
        replacement: "if (won_i | ~state_i.valid) state_o.valid = pop_o;",
        fault: "a head that is dropped stays if nothing is behind it",
        engine: BASE,
    },
    Mutant {
        file: "shuffle_exchange",
        text: "assign swapped          = load_i ? ports_i[j] : ports_q[2*j+1];",
        replacement: "assign swapped          = load_i ? ports_i[j] : ports_q[2*j];",
        fault: "a wire of the winners' tree goes to the wrong block",
        engine: ("winner-only", 8),
    },
    Mutant {
        file: "shuffle_exchange",
        text: "assign ports_d[N/2+j]   = swap ? swapped[1] : straight[1];",
        replacement: "assign ports_d[N/2+j]   = straight[1];",
        fault: "a loser is lost and a winner doubled",
        engine: BASE,
    },
    Mutant {
        file: "shuffle_exchange",
        text: "assign swap = compares & (first_wins == turns);",
        replacement: "assign swap = compares & ~first_wins;",
        fault: "no decision block turns, so that the exact order is a lattice",
        engine: ("exact", 8),
    },
    Mutant {
        file: "control_unit",
        text: "outside_i ? time_i : now_q + 16'(served_i);",
        replacement: "outside_i ? time_i : now_q + 16'd1;",
        fault: "the clock counts decisions that find nobody",
        engine: BASE,
    },
    Mutant {
        file: "control_unit",
        text: "update_o    = decided & (~record_i | ready_i);",
        replacement: "update_o    = decided;",
        fault: "decisions are lost if the host is not ready",
        engine: BASE,
    },
    Mutant {
        file: "control_unit",
        text: "schedules & (~last | update_o | ~Ahead);",
        replacement: "schedules;",
        fault: "the network goes on while the host is not ready",
        engine: AHEAD,
    },
    Mutant {
        file: "control_unit",
        text: "assign next_now_o = finish_q;",
        replacement: "assign next_now_o = finish;",
        fault: "the clock is not that for which outcomes were computed",
        engine: AHEAD,
    },
    Mutant {
        file: "register_block",
        text: "assign activate        = activate_q;",
        replacement: "assign activate        = 1'b1;",
        fault: "a packet is taken that was not there when outcomes were computed",
        engine: AHEAD,
    },
    Mutant {
        file: "register_block",
        text: "assign outcomes        = outcomes_q;",
        replacement: "assign outcomes        = outcomes_now;",
        fault: "what becomes of a stream is not what was computed ahead",
        engine: AHEAD,
    },
    Mutant {
        file: "register_block",
        text: "    .won_i,\n    .activate_i(activate),",
        replacement: "    .won_i(1'b0),\n    .activate_i(activate),",
        fault: "the winner is treated as a loser",
        engine: ("compute-ahead-winner-only", 4),
    },
    Mutant {
        file: "register_block",
        text: "counters_q.violations + 16'(events_q.violation)",
        replacement: "counters_q.violations + 16'(events_q.missed)",
        fault: "every miss counts as a violation",
        engine: BASE,
    },
    Mutant {
        file: "register_block",
        text: "assign pop_o        = pop & update_i;",
        replacement: "assign pop_o        = pop;",
        fault: "packets are taken before the update",
        engine: BASE,
    },
    Mutant {
        file: "register_block",
        text: "if (!rst_ni) valid_q <= 1'b0;",
        replacement: "if (!rst_ni) valid_q <= valid_q;",
        fault: "a reset leaves packets behind",
        engine: BASE,
    },
    Mutant {
        file: "sharestreams",
        text: "assign load_ready_o = load & ~enable_i;",
        replacement: "assign load_ready_o = 1'b1;",
        fault: "streams can be loaded while decisions are made",
        engine: BASE,
    },
    Mutant {
        file: "sharestreams",
        text: "else if (update) drops_q <= drop;",
        replacement: "else if (update) drops_q <= drops_q | drop;",
        fault: "drops are reported again",
        engine: BASE,
    },
    Mutant {
        file: "rank_pkg",
        text: "return {12'd0, ~m};",
        replacement: "return {12'd0, m};",
        fault: "of two windows without tolerance the shorter one is worth more",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "direct_choice",
        text: "(&(lost_precedes[i] | (N'(1) << winner))) & ~won_precedes[winner][i];",
        replacement: "(&lost_precedes[i]);",
        fault: "a comparison forgets that the other stream has won",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "champion_group",
        text: "first_q <= (&named_i) ? named_first : other_first;",
        replacement: "first_q <= other_first;",
        fault: "a group names the wrong stream after its champion has won",
        engine: GROUPED,
    },
    Mutant {
        file: "champion_group",
        text: "= first_q[i] ? won_i[i] : lost_i[i];",
        replacement: "= won_i[i];",
        fault: "all of a group go on with the keys of winners",
        engine: GROUPED,
    },
    Mutant {
        file: "speculative_block",
        text: "next_finish_q  <= later_finish_q;",
        replacement: "next_finish_q  <= far_finish_i;",
        fault: "a block's clock is a decision ahead",
        engine: GROUPED,
    },
    Mutant {
        file: "speculative_block",
        text: "assign begins        = missed_ends_q | ~valid_q | ~run_q;",
        replacement: "assign begins        = ~valid_q | ~run_q;",
        fault: "a window that misses have used up does not begin anew",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "speculative_block",
        text: "<= ends ? limits.to_meet : (serves ? m_less : penalised);",
        replacement: "<= serves ? m_less : (ends ? limits.to_meet : penalised);",
        fault: "a window that service has used up does not begin anew",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "speculative_block",
        text: "assign penalised = ~missed_q[7:0];",
        replacement: "assign penalised = ~fraction_q[7:0];",
        fault: "a violation does not make the window longer",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "speculative_block",
        text: "<= steps ? if_steps : if_waits;",
        replacement: "<= serves ? if_steps : if_waits;",
        fault: "after a miss it is not known whether the next deadline has come",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "speculative_block",
        text: "assign misses_named    = champion_i ? behind_valid_q[0] & if_steps.come",
        replacement: "assign misses_named    = champion_i ? if_steps.come",
        fault: "a stream whose last packet was served misses a deadline",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "speculative_block",
        text: "assign lost_behind     = (lost_takes_q ? behind_valid_q[1] : behind_valid_q[0])",
        replacement: "assign lost_behind     = behind_valid_q[0]",
        fault: "a packet is taken twice",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "speculative_block",
        text: "if (takes | ~behind_valid_q[0]) behind_q[0]",
        replacement: "if (~behind_valid_q[0]) behind_q[0]",
        fault: "the packet behind the head does not move up",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "speculative_block",
        text: "valid_q        <= 1'b0;\n      begun_q        <= 1'b0;",
        replacement: "valid_q        <= 1'b1;\n      begun_q        <= 1'b0;",
        fault: "a stream that nobody has loaded may have a packet",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "speculative_block",
        text: "if (begun_q | begun_before_q) begin",
        replacement: "if (begun_q) begin",
        fault: "what the table said of the window before is taken for the one that has begun",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "speculative_block",
        text: "| (lapsed_q & ~comes_back);",
        replacement: ";",
        fault: "a stream without packets forgets that its deadline has come",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "speculative_block",
        text: "asked_q[i] <= ask_i & (aspect_i == 3'(i));",
        replacement: "asked_q[i] <= aspect_i == 3'(i);",
        fault: "a stream answers when others are asked",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "speculative_block",
        text: "ends ? fall_whole[0] : next_fall;",
        replacement: "fall_whole[0];",
        fault: "the same step between logarithms is taken twice",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "speculative_block",
        text: "lost_worth.numerator = stays_q ? numerator_q : missed_numerator_q;",
        replacement: "lost_worth.numerator = numerator_q;",
        fault: "a key does not show that a miss lowers x'",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "speculative_block",
        text: "if (m_zero ? x_two : x_one & m_one) mixed_known = whole_now.fraction;",
        replacement: "if (~m_zero & x_one & m_one) mixed_known = whole_now.fraction;",
        fault: "what a window is worth does not show that the second miss ends it",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "speculative_block",
        text: "won_worth.numerator  = prepared_q.past ? missed_numerator_q : met_numerator_q;",
        replacement: "won_worth.numerator  = met_numerator_q;",
        fault: "a key does not show that late service lowers x'",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "direct_choice",
        text: "lost_there[i] = next_run_i & ~is_idle(lost_i[i]);",
        replacement: "lost_there[i] = ~is_idle(lost_i[i]);",
        fault: "somebody is named when nothing is decided",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "speculative_load",
        text: "assign steps_m   = is_met & ~m_zero_q & ~met_ends_q;",
        replacement: "assign steps_m   = 1'b0;",
        fault: "a window that begins is worth the same after service in time",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "speculative",
        text: "{N{next}} & loaded_q;",
        replacement: "{N{next}};",
        fault: "a LOAD changes what other streams have at hand",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "speculative_block",
        text: "assign comes_back = ~valid_q & rested_q & behind_valid_q[0] & run_q;",
        replacement: "assign comes_back = ~valid_q & behind_valid_q[0] & run_q;",
        fault: "a stream comes back before what it comes back with is there",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "speculative_query",
        text: "aspects_q.flags.lapsed ? now_i : aspects_q.deadline",
        replacement: "aspects_q.deadline",
        fault: "a host is told the deadline with which a stream would come back",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "speculative_pkg",
        text: "droppable ? tally.missed - tally.late : 16'd0",
        replacement: "droppable ? tally.missed : 16'd0",
        fault: "heads that were served late count as dropped",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "speculative",
        text: "fetch_q <= (|ready_q) | run_q;",
        replacement: "fetch_q <= 1'b1;",
        fault: "a packet that comes in the cycle of a LOAD is lost",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "speculative",
        text: "if (enable_q && ran_q) drops_q <= drop;",
        replacement: "if (ran_q) drops_q <= drop;",
        fault: "drops are reported too early after a halt",
        engine: SPECULATIVE,
    },
    Mutant {
        file: "speculative",
        text: "assign room = records < ($clog2(Records) + 1)'(Records / 2);",
        replacement: "assign room = 1'b1;",
        fault: "decisions are lost if the host is slow",
        engine: SPECULATIVE,
    },
];

/// Enough decisions for every fault: they show within a few thousand.
/// Of the tiled engine: tiles, and the decisions that are compared.
const ROUNDS: u32 = 4;
const DECISIONS: u64 = 60_000;

const TRAFFIC: &[&str] = &["--decisions", "100000", "--scenario", "random", "--scenario", "adversarial", "--scenario", "orders"];

/// All faults.
fn all() -> impl Iterator<Item = &'static Mutant> {
    MUTANTS.iter().chain(tiles::MUTANTS).chain(events::MUTANTS).chain(edges::MUTANTS)
}

/// Seeds every fault and runs the bench.
///
/// # Errors
/// [`Failure::Check`] naming the faults that were not caught, or whose text is not in the design any more.
pub fn run(options: &Options) -> Result<(), Failure> {
    let bench = bench()?;
    let sources = verilate::sources()?;
    // All texts first: a fault that cannot be seeded is found at once.
    let mutated = all().map(|mutant| mutant.seed(&sources)).collect::<Result<Vec<_>, _>>()?;
    let is_asked_for = |mutant: &Mutant| options.designs.is_empty() || options.designs.contains(&mutant.design());
    let jobs: Vec<(usize, &Mutant)> = all().enumerate().filter(|(_, mutant)| is_asked_for(mutant)).collect();
    let caught = at_once(&jobs, |(number, mutant)| mutant.caught_by(&bench, *number, &mutated[*number]));
    let mut missed = Vec::new();
    println!("{:<18}{:<72}{:<28}caught by", "file", "fault", "engine");
    for ((_, mutant), check) in jobs.iter().zip(caught) {
        let (check, seconds) = check?;
        let engine = mutant.design();
        println!("{:<18}{:<72}{engine:<28}{:<13}{seconds:.1} s", mutant.file, mutant.fault, check.as_deref().unwrap_or("NOTHING"));
        if check.is_none() {
            missed.push(mutant.fault);
        }
    }
    println!("{} of {} faults caught", jobs.len() - missed.len(), jobs.len());
    if missed.is_empty() { Ok(()) } else { Err(Failure::Check(format!("not caught: {}", missed.join("; ")))) }
}

impl Mutant {
    /// The design that it is looked for in, such as `base-4`.
    fn design(&self) -> String {
        format!("{}-{}", self.engine.0, self.engine.1)
    }

    /// The sources with the fault.
    fn seed(&self, sources: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Failure> {
        let stale = |problem: &str| {
            Failure::Check(format!(
                "rtl/src/{}.sv: the fault \"{}\" replaces \"{}\", which {problem}; adapt xtask/src/rtl/mutants.rs",
                self.file, self.fault, self.text
            ))
        };
        let text = sources.get(self.file).ok_or_else(|| stale("is in a file that does not exist"))?;
        match text.matches(self.text).count() {
            0 => Err(stale("is not there")),
            1 => {
                let mut mutated = sources.clone();
                mutated.insert(self.file.to_owned(), text.replace(self.text, self.replacement));
                Ok(mutated)
            }
            _ => Err(stale("is there more than once")),
        }
    }

    /// The check that finds the fault, if any does, and the seconds that it took.
    fn caught_by(&self, bench: &Path, number: usize, sources: &BTreeMap<String, String>) -> Result<(Option<String>, f64), Failure> {
        let begun = Instant::now();
        let (name, (engine, streams)) = (format!("mutants/{number}"), self.engine);
        let check = if let Some(check) = edges::caught_by(&bench.with_file_name("edges"), &self.design(), &name, sources) {
            check?
        } else if self.engine == TILED {
            let library = verilate::library(&tiled::design(&name, Shape::new(streams, ROUNDS), sources, Effort::Least))?;
            let (is_equal, said) = tiled::compare(&bench.with_file_name("tiled"), &library, streams, ROUNDS, DECISIONS)?;
            // "seed 1: cycle 5, ...": the check is what follows.
            (!is_equal).then(|| said.split([':', ',']).nth(2).unwrap_or(&said).trim().to_owned())
        } else if self.engine == HEAP {
            events::caught_by(&bench.with_file_name("heap"), &name, sources)?
        } else {
            let library = verilate::library(&design(&name, engine, streams, sources, Effort::Least)?)?;
            compare(bench, &library, engine, streams, TRAFFIC)?.failed.map(|(check, _)| check)
        };
        Ok((check, begun.elapsed().as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_can_be_seeded() {
        let sources = verilate::sources().ok().unwrap();
        for mutant in all() {
            let mutated = mutant.seed(&sources).ok().unwrap();
            assert_ne!(mutated[mutant.file], sources[mutant.file], "{}", mutant.fault);
        }
    }

    #[test]
    fn a_text_that_is_gone_or_ambiguous_is_refused() {
        let mutant = Mutant { file: "a", text: "x", replacement: "y", fault: "", engine: BASE };
        let sources = |text: &str| BTreeMap::from([("a".to_owned(), text.to_owned())]);
        assert_eq!(mutant.seed(&sources("x;")).ok().unwrap()["a"], "y;");
        for text in ["", "x x"] {
            assert!(matches!(mutant.seed(&sources(text)), Err(Failure::Check(_))), "{text}");
        }
    }
}
