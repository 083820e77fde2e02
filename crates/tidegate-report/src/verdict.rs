//! Says in a few words whether the promises of a run were kept.

use crate::model::Run;

/// Such as "all 4 promises kept"; `None` if the run promised nothing.
pub(crate) fn verdict(run: &Run) -> Option<String> {
    let total = run.promises.len();
    let broken = run.promises.iter().filter(|promise| !promise.kept).count();
    Some(match (total, broken) {
        (0, _) => return None,
        (1, 0) => "its one promise kept".to_owned(),
        (1, _) => "its one promise broken".to_owned(),
        (2, 0) => "both promises kept".to_owned(),
        (2, 2) => "both promises broken".to_owned(),
        (_, 0) => format!("all {total} promises kept"),
        (_, _) if broken == total => format!("all {total} promises broken"),
        (_, _) => format!("{broken} of {total} promises broken"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PromiseResult;

    fn run(outcomes: &[bool]) -> Run {
        let mut run = Run::new("run");
        run.promises = outcomes
            .iter()
            .map(|&kept| PromiseResult { flow: "voice".into(), promise: "loss at most 1 %".into(), measured: "0 %".into(), kept })
            .collect();
        run
    }

    #[test]
    fn the_words_follow_the_counts() {
        let words = |outcomes: &[bool]| verdict(&run(outcomes));
        assert_eq!(words(&[]), None);
        assert_eq!(words(&[true]).unwrap(), "its one promise kept");
        assert_eq!(words(&[false]).unwrap(), "its one promise broken");
        assert_eq!(words(&[true, true]).unwrap(), "both promises kept");
        assert_eq!(words(&[false, true]).unwrap(), "1 of 2 promises broken");
        assert_eq!(words(&[false, false]).unwrap(), "both promises broken");
        assert_eq!(words(&[true; 3]).unwrap(), "all 3 promises kept");
        assert_eq!(words(&[false, true, false]).unwrap(), "2 of 3 promises broken");
        assert_eq!(words(&[false; 3]).unwrap(), "all 3 promises broken");
    }
}
