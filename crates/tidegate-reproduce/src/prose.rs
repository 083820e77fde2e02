//! The words of the figures: titles, sources, what the paper says, and notes. They are documents, one per experiment.

use crate::figure::Figure;

/// Guaranteed frame rate.
pub const GFR: &str = include_str!("../figures/gfr.md");
/// The cell-level scheduler.
pub const SCHILLER: &str = include_str!("../figures/schiller.md");
/// Packet schedulers in hardware.
pub const SHARESTREAMS: &str = include_str!("../figures/sharestreams.md");

/// A figure without content but what its section of the document says.
///
/// # Panics
/// If there is no section of this id, or it has no source.
pub fn figure(document: &'static str, id: &'static str) -> Figure {
    let section = document.split("\n## ").find_map(|section| section.strip_prefix(id)?.strip_prefix(": "));
    let mut parts = section.expect("every figure has its section").split("\n\n");
    let (title, source) = parts.next().and_then(|head| head.split_once('\n')).expect("a section begins with a title and a source");
    let mut figure = Figure::new(id, title, source.trim_end());
    for (heading, sentences) in parts.filter_map(|part| part.split_once("\n* ")) {
        let list = if heading == "The paper:" { &mut figure.paper } else { &mut figure.notes };
        list.extend(sentences.split("\n* ").map(|sentence| sentence.split_whitespace().collect::<Vec<_>>().join(" ")));
    }
    figure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_told_apart_and_sentences_are_joined() {
        let document =
            "# Figures\n\n## a: One: two\nFigure 1\n\nThe paper:\n* It is\n  so.\n* And so.\n\nNotes:\n* Ours\n\n## b: Three\nnone\n";
        let first = figure(document, "a");
        assert_eq!((first.title.as_str(), first.source), ("One: two", "Figure 1"));
        assert_eq!((first.paper, first.notes), (vec!["It is so.".to_owned(), "And so.".into()], vec!["Ours".to_owned()]));
        assert_eq!(figure(document, "b").source, "none");
    }
}
