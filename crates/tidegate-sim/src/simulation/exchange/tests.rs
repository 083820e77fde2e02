//! Tests of [`super`].

use super::*;
use std::thread;

/// Parts that run apart as far as they can read what was posted for the window, and nothing else.
#[test]
fn every_part_reads_the_mail_of_its_window() {
    const PARTS: usize = 3;
    const WINDOWS: u64 = 2000;
    let exchange = Exchange::new(PARTS);
    let play = |part: usize| {
        let mut out: Vec<Mail> = (0..PARTS).map(|_| Mail { earliest: NEVER, ..Mail::default() }).collect();
        for window in 0..WINDOWS {
            let transfer = |to: usize| (to as u32, Transfer { end: window, began: part as u64 });
            out.iter_mut().enumerate().filter(|(to, _)| *to != part).for_each(|(to, mail)| mail.transfers.push(transfer(to)));
            let next = exchange.post(part, window, 10 * window + part as u64, &mut out).unwrap();
            assert_eq!(next, 10 * window);
            assert!(out.iter().all(|mail| mail.transfers.is_empty()));
            let read: Vec<_> = exchange.take(part, window).flat_map(|mail| mail.transfers.clone()).collect();
            let expected = (0..PARTS).filter(|from| *from != part);
            assert!(read.into_iter().eq(expected.map(|from| (part as u32, Transfer { end: window, began: from as u64 }))));
        }
    };
    thread::scope(|scope| (0..PARTS).for_each(|part| drop(scope.spawn(move || play(part)))));
}

#[test]
fn mail_counts_as_an_event_of_the_part_that_gets_it() {
    let exchange = Exchange::new(2);
    let mut out = [Mail::default(), Mail { earliest: 7, ..Mail::default() }];
    let other = || exchange.post(1, 0, NEVER, &mut [Mail { earliest: NEVER, ..Mail::default() }, Mail::default()]).unwrap();
    thread::scope(|scope| {
        let other = scope.spawn(other);
        assert_eq!(exchange.post(0, 0, 20, &mut out).unwrap(), 7);
        assert_eq!(other.join().unwrap(), 7);
    });
}

#[test]
fn no_part_waits_for_one_that_has_failed() {
    let exchange = Exchange::new(3);
    thread::scope(|scope| {
        let waits = |part: usize| exchange.post(part, 0, 0, &mut []).is_err();
        let waiting: Vec<_> = (0..2).map(|part| scope.spawn(move || waits(part))).collect();
        exchange.close();
        assert!(waiting.into_iter().all(|part| part.join().unwrap()));
    });
}
