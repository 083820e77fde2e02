//! A reproduction as one self-contained page: verdicts first, then each figure with its plots, gates and tables.

use super::terminal::{BOUNDS, departures, gates, verdict};
use super::{ExperimentResult, Reproduction};
use crate::figure::{Figure, Verdict};
use crate::grid::flow_bounds;
use crate::html::{self, escaped};
use crate::plain::plain;
use crate::plot::{Legend, Plots, line_chart};

/// The whole page as text.
pub fn reproduction_html(reproduction: &Reproduction) -> String {
    let mut charts = Plots::default();
    let mut body = String::from("<header>\n<h1>Published experiments, run again</h1>\n<ul class=\"verdicts\">\n");
    for (experiment, figure) in reproduction.figures() {
        let (name, words) = (format!("{}/{}", experiment.id, figure.id), format!("{}: {}", figure.title, verdict(figure)));
        let (good, mark) = match figure.verdict() {
            Verdict::Passed => (Some(true), ""),
            Verdict::NotReproduced => (None, "not reproduced: "),
            Verdict::Failed => (Some(false), ""),
        };
        body.push_str(&html::verdict_item(good, &name, &format!("{mark}{words}")));
    }
    body.push_str("</ul>\n</header>\n");
    for experiment in &reproduction.experiments {
        body.push_str(&format!(
            "<section>\n<h2>{}</h2>\n<p class=\"explanation\">{}</p>\n</section>\n",
            escaped(&experiment.title),
            escaped(&experiment.source)
        ));
        for figure in &experiment.figures {
            body.push_str(&figure_section(experiment, figure, &mut charts));
        }
    }
    body.push_str(&format!("<footer><p class=\"verdict\">{}</p></footer>\n", reproduction.tally()));
    html::document("Published experiments", &body, &reproduction.tidegate_version, &charts)
}

fn figure_section(experiment: &ExperimentResult, figure: &Figure, charts: &mut Plots) -> String {
    let paragraphs = |open: &str, sentences: &[String]| -> String {
        sentences.iter().map(|sentence| format!("{open}{}</p>\n", escaped(sentence))).collect()
    };
    let mut html = format!(
        "<section>\n<h2>{}: {}</h2>\n<p class=\"explanation\">{}</p>\n",
        escaped(figure.id),
        escaped(&figure.title),
        escaped(figure.source)
    );
    html.push_str(&paragraphs("<p><strong>The paper:</strong> ", &figure.paper));
    html.push_str("</section>\n");
    let mut legend = Legend::default();
    for chart in &figure.charts {
        let id = format!("{}-{}-{}", experiment.id, figure.id, chart.id);
        html.push_str(&html::section(&escaped(&id), &escaped(&chart.title), ""));
        charts.lines.push(line_chart(id, chart, &mut legend));
    }
    html.push_str("<section class=\"tables\">\n");
    if !figure.gates.is_empty() {
        html.push_str(&html::table(&gates(figure), "Gates", figure.id));
    }
    html.push_str(&paragraphs("<p class=\"note\">", &departures(figure).collect::<Vec<_>>()));
    if let Some(bounds) = flow_bounds(&figure.bounds) {
        html.push_str(&html::table(&bounds, BOUNDS, figure.id));
    }
    for table in &figure.tables {
        html.push_str(&html::table(&plain(table), &table.title, figure.id));
    }
    html.push_str(&paragraphs("<p class=\"note\">", &figure.notes));
    html.push_str("</section>\n");
    html
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduction::tests::sample;

    #[test]
    fn the_page_asks_for_nothing_from_outside_and_names_cannot_break_out() {
        let page = reproduction_html(&sample());
        for forbidden in ["http://", "https://", "src=", "@import", "url(", "fetch("] {
            assert!(!page.replace("http://www.w3.org/2000/svg", "").contains(forbidden), "{forbidden}");
        }
        assert_eq!(page.matches("</script>").count(), 2);
        assert!(!page.contains("Connections <on>") && !page.contains("as <printed>"));
    }

    #[test]
    fn verdicts_come_first_and_every_figure_has_plot_gates_and_notes() {
        let page = reproduction_html(&sample());
        let place = |mark: &str| page.find(mark).unwrap_or_else(|| panic!("{mark}"));
        let places = [
            place("class=\"verdicts\""),
            place("figure-3: Connections"),
            place("id=\"schiller-figure-3-cells\""),
            place("cells of VC 0"),
            place("guaranteed, path 1 (worst of 4)"),
            place("The paper gives no parameters."),
            place("id=\"schiller-figure-4-cells\""),
            place("id=\"report-data\""),
        ];
        assert!(places.is_sorted(), "{places:?}");
        assert!(page.contains("passed") && page.contains("failed"));
        let stated = place("not reproduced: cells of VC 2: the paper has at most 3");
        assert!(stated < place("1 not reproduced, 1 failed</p>") && page.contains("not reproduced</small>"));
    }
}
