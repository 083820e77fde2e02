//! The paper's figures about its designs, beside what is measured here.

use super::row::Row;
use std::fmt::Write;

/// The section about them.
pub fn published(page: &mut String, rows: &[Row]) {
    page.push_str(
        "\n## Beside the paper's figures 9 to 11\n\nR. Krishnamurthy, S. Yalamanchili, K. Schwan and R. West, *ShareStreams: A Scalable Architecture and Hardware Support for \
         High-Speed QoS Packet Schedulers*, draw area and clock for 4 to 32 streams and give few of the numbers in the text. Those that it gives:\n\n\
         | the paper | figure | there | here |\n|---|---|---|---|\n",
    );
    for claim in CLAIMS {
        let here = change(rows, claim.variant, claim.from, claim.to, claim.of);
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} |",
            claim.about(),
            claim.figure,
            claim.there,
            here.unwrap_or_else(|| "not measured".to_owned())
        );
    }
    let base = rows.iter().find(|row| row.variant.name == "base" && row.streams == 4);
    if let Some(base) = base {
        let _ = writeln!(
            page,
            "| clock and decision time at 4 streams, on the card | section 5.2 | 23 MHz, 3 cycles: 130.4 ns | {:.1} MHz, {} cycles: {:.1} ns |",
            base.median(),
            base.cycles(),
            base.period()
        );
    }
    page.push_str(&compute_ahead(rows));
    page.push_str(
        "\nWhat can be compared: how area and clock change from one size to the next, cycles per decision, and the order of the variants. What cannot: slices with LUT4s, and \
         megahertz with megahertz. The paper's devices are Virtex 1000 and Virtex-II 2000 with the vendor's tools of their time, ours is an ECP5 of its slowest speed grade with open tools; the 23 MHz \
         are what the card was set to, not a limit that was sought. Both leave out the memory interface. Our register blocks also hold five counters of 16 bits; \
         how many the paper's hold is not said.\n",
    );
}

/// Where blocks that compute ahead decide more often than the base architecture, and where they do not.
fn compute_ahead(rows: &[Row]) -> String {
    let rate = |variant: &str, streams: u32| {
        let row = rows.iter().find(|row| row.variant.name == variant && row.streams == streams)?;
        Some(row.rate(row.median()))
    };
    let mut words = Vec::new();
    for streams in [4, 8, 16, 32] {
        if let (Some(base), Some(ahead)) = (rate("base", streams), rate("compute-ahead", streams)) {
            let verdict = if ahead > base { "wins" } else { "loses" };
            words.push(format!("{verdict} with {streams} streams ({ahead:.2} against {base:.2})"));
        }
    }
    format!(
        "\nThe paper expects more decisions per second of blocks that compute ahead, as each decision takes a cycle less. Here the clock falls, too. In millions of decisions per second \
         at the median clock, computing ahead {}.\n",
        words.join(", ")
    )
}

/// A change from one size to another, as the paper gives it.
struct Claim {
    what: &'static str,
    of: fn(&Row) -> f64,
    figure: &'static str,
    variant: &'static str,
    from: u32,
    to: u32,
    there: &'static str,
}

impl Claim {
    /// Such as "clock of the base architecture, 4 to 8 streams".
    fn about(&self) -> String {
        let variant = match self.variant {
            "base" => "the base architecture",
            "winner-only" => "winner-only routing",
            other => other,
        };
        format!("{} of {variant}, {} to {} streams", self.what, self.from, self.to)
    }
}

const fn clock(figure: &'static str, variant: &'static str, from: u32, to: u32, there: &'static str) -> Claim {
    Claim { what: "clock", of: Row::median, figure, variant, from, to, there }
}

const CLAIMS: &[Claim] = &[
    clock("9 (Virtex-I)", "base", 4, 8, "falls by 20 %"),
    clock("9 (Virtex-I)", "base", 8, 32, "nearly the same"),
    clock("9 (Virtex-I)", "winner-only", 4, 8, "falls by 5 %"),
    clock("9 (Virtex-I)", "winner-only", 8, 32, "nearly maintained"),
    clock("10 (Virtex-II)", "base", 4, 8, "falls by more than 20 %"),
    clock("10 (Virtex-II)", "base", 16, 32, "falls by 30 %"),
    clock("10 (Virtex-II)", "winner-only", 4, 16, "steadier"),
    clock("10 (Virtex-II)", "winner-only", 16, 32, "falls by 15 %"),
    clock("11 (Virtex-II)", "compute-ahead", 4, 8, "falls by 20 %"),
    clock("11 (Virtex-II)", "compute-ahead", 8, 32, "stays"),
    Claim { what: "area", of: |row| row.outcome.area.lut4 as f64, ..clock("9 and 10", "base", 4, 32, "grows linearly") },
];

/// How a figure changes between two sizes of a variant.
fn change(rows: &[Row], variant: &str, from: u32, to: u32, of: fn(&Row) -> f64) -> Option<String> {
    let at = |streams: u32| rows.iter().find(|row| row.variant.name == variant && row.streams == streams).map(of);
    Some(in_words(at(to)? / at(from)?))
}

fn in_words(ratio: f64) -> String {
    let percent = (100.0 * (ratio - 1.0)).round();
    if ratio >= 2.0 {
        format!("{ratio:.1} times")
    } else if percent < 0.0 {
        format!("falls by {} %", -percent)
    } else if percent > 0.0 {
        format!("rises by {percent} %")
    } else {
        "stays".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;

    #[test]
    fn changes_are_put_into_words_by_what_they_are() {
        let rows = [row(4, &[50.0]), row(8, &[40.0]), row(16, &[40.0]), row(32, &[100.0])];
        let words = |from, to| change(&rows, "base", from, to, Row::median);
        assert_eq!(words(4, 8).as_deref(), Some("falls by 20 %"));
        assert_eq!(words(8, 16).as_deref(), Some("stays"));
        assert_eq!(words(16, 32).as_deref(), Some("2.5 times"));
        assert_eq!(change(&rows, "exact", 4, 8, Row::median), None);
    }
}
