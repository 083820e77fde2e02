//! A reproduction as text for a terminal: all figures at one glance, then each with its gates.

use super::Reproduction;
use crate::figure::{Figure, Gate, Verdict};
use crate::grid::{Cell, Grid, Tone, flow_bounds, text_column};
use crate::plain::{plain, unbroken, wrapped};
use crate::quantity::NO_BREAK_SPACE;
use crate::table::{TerminalOptions, heading, render};

/// The reproduction as text that ends with a line feed. Without colour it holds no escape sequence.
pub fn reproduction_terminal(reproduction: &Reproduction, options: TerminalOptions) -> String {
    let mut text = render(&glance(reproduction), options);
    for experiment in &reproduction.experiments {
        text.push_str(&format!("\n{}", heading(&format!("{}: {}", experiment.id, experiment.title), options)));
        text.push_str(&wrapped(&experiment.source, options.width));
        for figure in &experiment.figures {
            text.push_str(&format!("\n{}", heading(&format!("{}: {} ({})", figure.id, figure.title, figure.source), options)));
            figure.paper.iter().for_each(|sentence| text.push_str(&wrapped(&format!("paper: {sentence}"), options.width)));
            if !figure.gates.is_empty() {
                text.push_str(&format!("\n{}", render(&gates(figure), options)));
            }
            departures(figure).for_each(|sentence| text.push_str(&wrapped(&sentence, options.width)));
            if let Some(bounds) = flow_bounds(&figure.bounds) {
                text.push_str(&format!("\n{BOUNDS}\n{}", render(&bounds, options)));
            }
            for table in &figure.tables {
                text.push_str(&format!("\n{}\n{}", table.title, render(&plain(table), options)));
            }
            figure.notes.iter().for_each(|note| text.push_str(&wrapped(&format!("note: {note}"), options.width)));
        }
    }
    text.push_str(&format!("\n{}\n", reproduction.tally()));
    text.replace(NO_BREAK_SPACE, " ")
}

/// The title of the table of bounds.
pub(super) const BOUNDS: &str = "What is proven of delays, and the largest ones";

/// Such as "all 12 gates hold".
pub(super) fn verdict(figure: &Figure) -> String {
    let count = |verdict| figure.gates.iter().filter(|gate| gate.verdict() == verdict).count();
    match (figure.gates.len(), count(Verdict::Failed), count(Verdict::NotReproduced)) {
        (0, ..) => "nothing to hold".to_owned(),
        (1, 0, 0) => "its one gate holds".to_owned(),
        (total, 0, 0) => format!("all {total} gates hold"),
        (total, 0, missed) => format!("{missed} of {total} numbers are not the paper's"),
        (total, failed, _) => format!("{failed} of {total} gates fail"),
    }
}

/// A sentence for each number that is not the paper's: both, and why.
pub(super) fn departures(figure: &Figure) -> impl Iterator<Item = String> {
    figure.gates.iter().filter_map(|gate| {
        let published = gate.departure.as_ref()?;
        let paper = band(gate.unit, published.low.as_ref(), published.high.as_ref());
        Some(format!("not reproduced: {}: the paper has {paper}, ours is {}. {}", gate.name, list(&gate.measured), published.why))
    })
}

/// One row per figure.
pub(super) fn glance(reproduction: &Reproduction) -> Grid {
    let columns = ["experiment", "figure", "shows", "verdict"].map(text_column).into();
    let rows = reproduction.figures().map(|(experiment, figure)| {
        let verdict = unbroken(&verdict(figure));
        vec![Cell::plain(&experiment.id), Cell::plain(figure.id), Cell::plain(&figure.title), outcome(verdict, figure.verdict())]
    });
    Grid::new("figures", columns, rows.collect())
}

/// One row per gate.
pub(super) fn gates(figure: &Figure) -> Grid {
    let columns = ["gate", "ours", "band", "verdict"].map(text_column).into();
    let row = |gate: &Gate| {
        let band = band(gate.unit, gate.low.as_ref(), gate.high.as_ref());
        vec![Cell::plain(&gate.name), Cell::plain(list(&gate.measured)), Cell::plain(band), outcome(String::new(), gate.verdict())]
    };
    Grid::new("gates", columns, figure.gates.iter().map(row).collect())
}

/// The band with its unit: "10 20 30 cells", "at most 5 slots", "9 20 ± 1 cells", "47 94 Mbyte/s ± 2 %".
fn band(unit: &str, low: Option<&Vec<f64>>, high: Option<&Vec<f64>>) -> String {
    let numbers = match (low, high) {
        (None, None) => "anything".to_owned(),
        (Some(low), None) => format!("at least {}", limits(low)),
        (None, Some(high)) => format!("at most {}", limits(high)),
        (Some(low), Some(high)) => {
            let halves: Vec<f64> = low.iter().zip(high).map(|(low, high)| (high - low) / 2.0).collect();
            let tolerance = halves.first().copied().unwrap_or(0.0);
            let centres: Vec<f64> = low.iter().zip(high).map(|(low, high)| (low + high) / 2.0).collect();
            if halves.iter().any(|half| (half - tolerance).abs() > 1e-9) {
                match common_fraction(&halves, &centres) {
                    Some(fraction) => {
                        return format!(
                            "{}{NO_BREAK_SPACE}{} ±{NO_BREAK_SPACE}{}{NO_BREAK_SPACE}%",
                            list(&centres),
                            unit,
                            number(100.0 * fraction)
                        );
                    }
                    None => format!("{} to {}", list(low), list(high)),
                }
            } else if tolerance == 0.0 {
                list(low)
            } else {
                format!("{} ±{NO_BREAK_SPACE}{}", list(&centres), number(tolerance))
            }
        }
    };
    if unit.is_empty() { numbers } else { format!("{numbers}{NO_BREAK_SPACE}{unit}") }
}

/// The fraction of each of `centres` that `halves` are, if it is the same for all.
fn common_fraction(halves: &[f64], centres: &[f64]) -> Option<f64> {
    let mut fractions = halves.iter().zip(centres).map(|(half, centre)| half / centre.abs());
    let first = fractions.next()?;
    (first.is_finite() && fractions.all(|fraction| (fraction - first).abs() < 1e-9)).then_some(first)
}

/// One limit if it is the same for all.
fn limits(numbers: &[f64]) -> String {
    match numbers {
        [first, rest @ ..] if rest.iter().all(|limit| limit == first) => number(*first),
        _ => list(numbers),
    }
}

fn list(numbers: &[f64]) -> String {
    numbers.iter().map(|&value| number(value)).collect::<Vec<_>>().join(" ")
}

/// Whole numbers in full, others with four significant digits.
fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    let decimals = (3 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn outcome(text: String, verdict: Verdict) -> Cell {
    let tone = match verdict {
        Verdict::Passed => Tone::Passed,
        Verdict::NotReproduced => Tone::NotReproduced,
        Verdict::Failed => Tone::Failed,
    };
    Cell { tone, ..Cell::plain(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduction::tests::sample;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn figures_and_gates_are_seen_at_one_glance() {
        let text = reproduction_terminal(&sample(), TerminalOptions { width: 100, colour: false });
        let glance: Vec<&str> = text.lines().take(5).collect();
        assert!(glance[2].contains("figure-3") && glance[2].contains("✔ passed all 2 gates hold"), "{text}");
        assert!(glance[3].contains("figure-4") && glance[3].contains("✘ FAILED 1 of 1 gates fail"), "{text}");
        assert!(glance[4].contains("figure-5") && glance[4].contains("– not reproduced 1 of 2 numbers are not the paper's"), "{text}");
        assert!(text.contains("not reproduced: cells of VC 2: the paper has at most 3 cells, ours is 7.5."), "{text}");
        assert_eq!(text.lines().last(), Some("3 figures: 1 passed, 1 not reproduced, 1 failed"));
        let gate = text.lines().find(|line| line.starts_with("cells of VC 0")).unwrap();
        assert!(gate.contains("10 20 cells") && gate.contains("✔ passed"), "{gate}");
        assert!(text.contains("at most 5 cells") && text.contains("9 ± 1 cells"), "{text}");
        assert!(text.contains("note: The paper gives no parameters."));
    }

    #[test]
    fn what_is_proven_is_beside_what_was_measured() {
        let text = reproduction_terminal(&sample(), TerminalOptions { width: 120, colour: false });
        let rows: Vec<&str> = text.lines().skip_while(|line| *line != BOUNDS).collect();
        assert!(rows[1].starts_with("run") && rows[1].contains("bound  largest delay  ratio  by"), "{text}");
        assert!(rows[3].contains("guaranteed, path 1 (worst of 4)") && rows[3].contains("1.650 ms") && rows[3].contains("0.70"), "{text}");
        assert!(rows[4].contains("TCP") && rows[4].contains("none") && rows[4].ends_with("source `tcp` is not limited"), "{text}");
        let mut reproduction = sample();
        let figures = &mut reproduction.experiments[0].figures;
        figures.iter_mut().flat_map(|figure| &mut figure.bounds).for_each(|row| row.run.clear());
        let text = reproduction_terminal(&reproduction, TerminalOptions { width: 120, colour: false });
        assert!(text.lines().any(|line| line.starts_with("guaranteed, path 1 (worst of 4)")), "{text}");
        reproduction.experiments[0].figures.iter_mut().for_each(|figure| figure.bounds.clear());
        assert!(!reproduction_terminal(&reproduction, TerminalOptions { width: 120, colour: false }).contains(BOUNDS));
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let mut reproduction = sample();
        reproduction.experiments[0].figures[0].notes = vec!["a long note ".repeat(40)];
        for width in [80, 120] {
            let text = reproduction_terminal(&reproduction, TerminalOptions { width, colour: false });
            assert!(text.lines().all(|line| line.width() <= usize::from(width)), "{text}");
        }
    }

    #[test]
    fn a_band_is_written_as_it_was_meant() {
        let written = |low: Vec<f64>, high: Vec<f64>| band("cells", Some(&low), Some(&high)).replace(NO_BREAK_SPACE, " ");
        assert_eq!(written(vec![49.0, 98.0], vec![51.0, 102.0]), "50 100 cells ± 2 %");
        assert_eq!(written(vec![49.0, 99.0], vec![51.0, 101.0]), "50 100 ± 1 cells");
        assert_eq!(written(vec![49.0, 0.0], vec![51.0, 5.0]), "49 0 to 51 5 cells");
        assert_eq!(written(vec![0.0, 7.0], vec![0.0, 7.0]), "0 7 cells");
    }

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        assert_eq!(
            [0.0, 401.0, 4.5, 24.923_076, 0.000_123_45, 33_687_675.0].map(number),
            ["0", "401", "4.5", "24.92", "0.0001234", "33687675"]
        );
    }
}
