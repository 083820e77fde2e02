//! Tests of [`super`].

use super::*;
use std::thread;

fn empty(parts: usize) -> Vec<Mail> {
    (0..parts).map(|_| Mail { earliest: NEVER, ..Mail::default() }).collect()
}

/// Parts that run apart as far as they can read what was posted for the window, and nothing else, whichever thread plays them.
#[test]
fn every_part_reads_the_mail_of_its_window() {
    const WINDOWS: u64 = 2000;
    for (parts, threads) in [(3, 3), (3, 2), (5, 2), (4, 1)] {
        let exchange = Exchange::new(parts, threads);
        let play = |own: std::ops::Range<usize>| {
            let mut outs: Vec<Vec<Mail>> = own.clone().map(|_| empty(parts)).collect();
            for window in 0..WINDOWS {
                for (part, out) in own.clone().zip(&mut outs) {
                    let transfer = |to: usize| (to as u32, Transfer { end: window, began: part as u64 });
                    out.iter_mut().enumerate().filter(|(to, _)| *to != part).for_each(|(to, mail)| mail.transfers.push(transfer(to)));
                    exchange.post(part, window, 10 * window + part as u64, out);
                    assert!(out.iter().all(|mail| mail.transfers.is_empty()));
                }
                assert_eq!(exchange.meet(window).unwrap(), 10 * window);
                for part in own.clone() {
                    let read: Vec<_> = exchange.take(part, window).flat_map(|mail| mail.transfers.clone()).collect();
                    let expected = (0..parts).filter(|from| *from != part);
                    assert!(read.into_iter().eq(expected.map(|from| (part as u32, Transfer { end: window, began: from as u64 }))));
                }
            }
        };
        let play = &play;
        let own = |thread| thread * parts / threads..(thread + 1) * parts / threads;
        thread::scope(|scope| (0..threads).for_each(|thread| drop(scope.spawn(move || play(own(thread))))));
    }
}

#[test]
fn mail_counts_as_an_event_of_the_part_that_gets_it() {
    let exchange = Exchange::new(2, 2);
    let mut out = [Mail::default(), Mail { earliest: 7, ..Mail::default() }];
    exchange.post(0, 0, 20, &mut out);
    exchange.post(1, 0, NEVER, &mut empty(2));
    thread::scope(|scope| {
        let other = scope.spawn(|| exchange.meet(0).unwrap());
        assert_eq!((exchange.meet(0).unwrap(), other.join().unwrap()), (7, 7));
    });
}

#[test]
fn no_part_waits_for_one_that_has_failed() {
    let exchange = Exchange::new(3, 3);
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..2).map(|_| scope.spawn(|| exchange.meet(0).is_err())).collect();
        exchange.close();
        assert!(waiting.into_iter().all(|thread| thread.join().unwrap()));
    });
}
