//! Tests of [`super`].

use super::*;

/// Fills up to what it tries to keep, and says how many packets that took.
fn fill(source: &mut GreedyWindow) -> u32 {
    (0..).find(|_| !source.offers()).unwrap()
}

#[test]
fn the_window_is_kept_full() {
    let mut source = GreedyWindow::new(100, 2, 7);
    assert_eq!(fill(&mut source), 2);
    for _ in 0..9 {
        source.transmitted();
        assert_eq!(fill(&mut source), 1);
    }
    assert_eq!(source.retry_after(), None);
}

#[test]
fn after_a_loss_it_tries_for_more_once_per_window() {
    let mut source = GreedyWindow::new(100, 3, 7);
    assert_eq!(fill(&mut source), 3);
    source.lost();
    // Two are queued: each transmission is replaced, the third one brings one more.
    for more in [1, 1, 2] {
        assert_eq!(fill(&mut source), 0);
        source.transmitted();
        assert_eq!(fill(&mut source), more);
    }
}

#[test]
fn with_nothing_queued_the_timer_tells_it_to_go_on() {
    let mut source = GreedyWindow::new(100, 3, 7);
    assert!(source.offers());
    source.lost();
    assert_eq!((fill(&mut source), source.retry_after()), (0, Some(7)));
    source.retry();
    assert_eq!((fill(&mut source), source.retry_after()), (1, None));
}
