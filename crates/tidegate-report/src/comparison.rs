//! Two results side by side: what differs, and whether it can be chance. As text, JSON, a table and a page.

use std::path::PathBuf;

use serde::Serialize;

use crate::columnar::{Column, Values};
use crate::error::ReportError;
use crate::figure::Table;
use crate::folder::OutputFolder;
use crate::html::{self, escaped};
use crate::metrics::shown_figure;
use crate::plain::{plain, unbroken, wrapped};
use crate::plot::Plots;
use crate::quantity::{NO_BREAK_SPACE, format_count};
use crate::table::{TerminalOptions, heading, render};

/// Version of the layout of a comparison's `summary.json`.
const COMPARISON_SCHEMA: u32 = 1;

/// Differing figures that a terminal shows.
const SHOWN: usize = 40;

/// Whether a difference can be chance.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Likelihood {
    /// All replications are the same on both sides.
    Same,
    /// The difference can be chance.
    Chance,
    /// The difference is no chance, as far as the test goes.
    Differs,
    /// There is one replication: nothing can be said.
    Unknown,
}

impl Likelihood {
    fn words(self) -> &'static str {
        match self {
            Likelihood::Same => "the same",
            Likelihood::Chance => "can be chance",
            Likelihood::Differs => "differs",
            Likelihood::Unknown => "one replication tells nothing",
        }
    }
}

/// One figure of one flow or port on both sides.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ComparedFigure {
    /// The run, or the point of a sweep.
    pub run: String,
    /// `flow` or `port`.
    pub scope: String,
    /// The flow's or the port's name.
    pub name: String,
    /// The figure; the unit is in its name.
    pub metric: &'static str,
    /// The replications compared: pairs, or those of the smaller side.
    pub replications: usize,
    /// The mean of the first.
    pub first: f64,
    /// The mean of the second.
    pub second: f64,
    /// The second less the first.
    pub difference: f64,
    /// Half the width of its 95 % confidence interval.
    pub half_width: Option<f64>,
    /// The probability of such a difference by chance, for this figure alone.
    pub probability: Option<f64>,
    /// The same, adjusted for the number of figures.
    pub adjusted_probability: Option<f64>,
    /// The verdict.
    pub likelihood: Likelihood,
}

/// Two results.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// What the first is called.
    pub first: String,
    /// What the second is called.
    pub second: String,
    /// The test, one sentence.
    pub test: &'static str,
    /// What one side has alone, and other remarks, a sentence each.
    pub notes: Vec<String>,
    /// Every figure that both have.
    pub figures: Vec<ComparedFigure>,
}

impl Comparison {
    fn count(&self, likelihood: Likelihood) -> usize {
        self.figures.iter().filter(|figure| figure.likelihood == likelihood).count()
    }

    /// True if a figure differs by more than chance.
    pub fn differs(&self) -> bool {
        self.count(Likelihood::Differs) > 0
    }

    /// Such as "12 of 80 figures differ; 60 can be chance, 8 are the same".
    fn tally(&self) -> String {
        let count = |likelihood| format_count(self.count(likelihood) as u64);
        let unknown = match self.count(Likelihood::Unknown) {
            0 => String::new(),
            _ => format!(", {} come from one replication", count(Likelihood::Unknown)),
        };
        format!(
            "{} of {} figures differ, {} can be chance, {} are the same{unknown}",
            count(Likelihood::Differs),
            format_count(self.figures.len() as u64),
            count(Likelihood::Chance),
            count(Likelihood::Same),
        )
    }

    /// The figures that are not the same, the surest first within their order.
    fn table(&self, shown: &[&ComparedFigure]) -> Table {
        let several = self.figures.iter().any(|figure| figure.run != self.figures[0].run);
        let mut head = vec!["of", "figure", "first", "second", "difference", "of the first", "by chance", "verdict"];
        if several {
            head.insert(0, "run");
        }
        let row = |figure: &&ComparedFigure| {
            let part = if figure.first == 0.0 { "–".to_owned() } else { signed(100.0 * figure.difference / figure.first.abs()) };
            let width = figure.half_width.map_or(String::new(), |width| format!(" ± {}", shown_figure(figure.metric, width)));
            let mut cells = vec![
                figure.name.clone(),
                figure.metric.to_owned(),
                shown_figure(figure.metric, figure.first),
                shown_figure(figure.metric, figure.second),
                format!("{}{width}", shown_figure(figure.metric, figure.difference)),
                part,
                figure.adjusted_probability.map_or("–".to_owned(), |chance| format!("{chance:.4}")),
                figure.likelihood.words().to_owned(),
            ];
            if several {
                cells.insert(0, figure.run.clone());
            }
            cells
        };
        Table::new("Differences", &head, shown.iter().map(row).collect())
    }
}

/// A percentage with its sign, which is that of other figures.
fn signed(percentage: f64) -> String {
    format!("{percentage:+.2} %").replace('-', "−")
}

/// The comparison as text that ends with a line feed: what differs, or with `all` every figure.
pub fn comparison_terminal(comparison: &Comparison, all: bool, options: TerminalOptions) -> String {
    let mut text = heading(&format!("{} and {}", comparison.first, comparison.second), options);
    comparison.notes.iter().for_each(|note| text.push_str(&wrapped(&format!("note: {note}"), options.width)));
    let limit = if all { usize::MAX } else { SHOWN };
    let chosen = comparison.figures.iter().filter(|figure| all || matches!(figure.likelihood, Likelihood::Differs | Likelihood::Unknown));
    let shown: Vec<_> = chosen.filter(|figure| all || figure.difference != 0.0).collect();
    if !shown.is_empty() {
        text.push('\n');
        text.push_str(&render(&plain(&comparison.table(&shown[..shown.len().min(limit)])), options));
        if shown.len() > limit {
            text.push_str(&format!("– {} more; --all shows them all\n", shown.len() - limit));
        }
        text.push('\n');
    }
    text.push_str(&wrapped(&format!("{}.", comparison.tally()), options.width));
    text.push_str(&wrapped(comparison.test, options.width));
    text.replace(NO_BREAK_SPACE, " ")
}

/// The comparison as JSON, ending with a line feed.
pub fn comparison_json(comparison: &Comparison) -> String {
    #[derive(Serialize)]
    struct Summary<'a> {
        schema: u32,
        tidegate_version: &'a str,
        first: &'a str,
        second: &'a str,
        differs: bool,
        test: &'a str,
        notes: &'a [String],
        figures: &'a [ComparedFigure],
    }
    let Comparison { first, second, test, notes, figures } = comparison;
    let (schema, tidegate_version, differs) = (COMPARISON_SCHEMA, env!("CARGO_PKG_VERSION"), comparison.differs());
    let summary = Summary { schema, tidegate_version, first, second, differs, test, notes, figures };
    let mut text = serde_json::to_string_pretty(&summary).expect("the summary has only string keys, and writing to a string does not fail");
    text.push('\n');
    text
}

/// Writes `summary.json`, `comparison.parquet` and `report.html` into `folder` and puts it in place. Returns their paths, the page last.
///
/// # Errors
/// The file system refuses.
pub fn write_comparison(comparison: &Comparison, mut folder: OutputFolder) -> Result<Vec<PathBuf>, ReportError> {
    folder.write("summary.json", comparison_json(comparison).as_bytes())?;
    folder.write_table("comparison.parquet", &columns(&comparison.figures))?;
    folder.write("report.html", page(comparison).as_bytes())?;
    Ok(folder.finish()?)
}

fn columns(figures: &[ComparedFigure]) -> Vec<Column<'_>> {
    let text = |name, value: fn(&ComparedFigure) -> &str| Column { name, values: Values::Text(figures.iter().map(value).collect()) };
    let number = |name, value: fn(&ComparedFigure) -> f64| Column { name, values: Values::Number(figures.iter().map(value).collect()) };
    let maybe = |name, value: fn(&ComparedFigure) -> Option<f64>| Column {
        name,
        values: Values::OptionalNumber(figures.iter().map(value).collect()),
    };
    vec![
        text("run", |figure| &figure.run),
        text("scope", |figure| &figure.scope),
        text("name", |figure| &figure.name),
        text("metric", |figure| figure.metric),
        Column { name: "replications", values: Values::Count(figures.iter().map(|figure| figure.replications as u64).collect()) },
        number("first", |figure| figure.first),
        number("second", |figure| figure.second),
        number("difference", |figure| figure.difference),
        maybe("half_width", |figure| figure.half_width),
        maybe("probability", |figure| figure.probability),
        maybe("adjusted_probability", |figure| figure.adjusted_probability),
        text("verdict", |figure| figure.likelihood.words()),
    ]
}

fn page(comparison: &Comparison) -> String {
    let title = format!("{} and {}", comparison.first, comparison.second);
    let mut body = format!("<header>\n<h1>{}</h1>\n<p class=\"verdict\">{}.</p>\n", escaped(&title), escaped(&comparison.tally()));
    let sentences = comparison.notes.iter().map(String::as_str).chain([comparison.test]);
    sentences.for_each(|note| body.push_str(&format!("<p class=\"note\">{}</p>\n", escaped(note))));
    body.push_str("</header>\n<section class=\"tables\">\n");
    let different: Vec<_> = comparison.figures.iter().filter(|figure| figure.likelihood != Likelihood::Same).collect();
    if !different.is_empty() {
        body.push_str(&html::table(&plain(&comparison.table(&different)), "Differences", &unbroken(&title)));
    }
    body.push_str("</section>\n");
    html::document(&title, &body, env!("CARGO_PKG_VERSION"), &Plots::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Comparison {
        let figure = |name: &str, difference: f64, likelihood| ComparedFigure {
            run: "<fair>".into(),
            scope: "flow".into(),
            name: name.into(),
            metric: "delay_p99_s",
            replications: 5,
            first: 0.01,
            second: 0.01 + difference,
            difference,
            half_width: Some(0.001),
            probability: Some(0.01),
            adjusted_probability: Some(0.03),
            likelihood,
        };
        let figures = vec![
            figure("voice", 0.002, Likelihood::Differs),
            figure("video", -0.0001, Likelihood::Chance),
            figure("bulk", 0.0, Likelihood::Same),
        ];
        Comparison { first: "a".into(), second: "b".into(), test: "Student's t.", notes: vec!["Flow x is in a alone.".into()], figures }
    }

    #[test]
    fn the_terminal_shows_what_differs_and_counts_the_rest() {
        let text = comparison_terminal(&sample(), false, TerminalOptions::default());
        assert!(
            text.contains("voice") && text.contains("delay_p99_s") && text.contains("2 ms ± 1 ms") && text.contains("+20.00 %"),
            "{text}"
        );
        assert!(!text.contains("video"), "{text}");
        assert!(text.contains("1 of 3 figures differ, 1 can be chance, 1 are the same"), "{text}");
        let all = comparison_terminal(&sample(), true, TerminalOptions::default());
        assert!(all.contains("bulk") && all.contains("−100 µs") && all.contains("−1.00 %"), "{all}");
    }

    #[test]
    fn the_folder_is_complete_and_its_page_safe() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = OutputFolder::create(&scratch.path().join("out")).unwrap();
        let paths = write_comparison(&sample(), folder).unwrap();
        assert_eq!(paths.len(), 3);
        let page = std::fs::read_to_string(&paths[2]).unwrap();
        assert!(page.contains("video"));
        assert!(!page.contains("<fair>") && !page.contains("https://"));
        let summary: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&paths[0]).unwrap()).unwrap();
        assert_eq!((&summary["differs"], &summary["figures"][1]["likelihood"]), (&true.into(), &"chance".into()));
    }
}
