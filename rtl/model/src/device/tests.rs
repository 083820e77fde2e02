//! Cycles, loading between decisions, limits of the registers and of the counters.

use super::*;
use crate::network::Size;
use tidegate_core::dwcs::Window;

fn equal(streams: usize) -> Vec<Stream> {
    alloc::vec![Stream::windowed(Window::new(3, 4), 1); streams]
}

/// SCHEDULE and PRIORITY_UPDATE cycles of the first decisions.
fn cycles(architecture: Architecture, streams: usize, decisions: u64) -> Vec<(Range<u64>, Option<u64>)> {
    let mut device = Device::new(architecture, Clock::Decisions, 0, &equal(streams)).unwrap();
    (0..streams as u32).for_each(|stream| device.activate(0, Flow(stream), 0));
    let mut seen = Vec::new();
    for arrival in 1..=decisions {
        let Choice::Serve(stream) = device.select(0) else { panic!("all streams are backlogged") };
        let schedule = device.schedule_cycles();
        device.served(stream, 0, Some(arrival));
        seen.push((schedule, None));
        device.select(0);
        seen.last_mut().unwrap().1 = device.update_cycle();
    }
    seen
}

/// Oracle S4.
#[test]
fn cycles_are_those_of_the_timeline() {
    let base = cycles(Architecture::base(Size::Eight), 8, 3);
    assert_eq!(base, [(1..4, Some(4)), (5..8, Some(8)), (9..12, Some(12))]);
    assert_eq!(cycles(Architecture::winner_only(Size::Eight), 8, 3), base);
    assert_eq!(cycles(Architecture::compute_ahead(Size::Eight), 8, 3), [(1..4, None), (4..7, None), (7..10, None)]);
    for size in Size::ALL {
        for architecture in [
            Architecture::base(size),
            Architecture::winner_only(size),
            Architecture::compute_ahead(size),
            Architecture { routing: Routing::Exact, ..Architecture::base(size) },
        ] {
            for streams in [1, size.ports(), 2 * size.ports(), 32] {
                let tiles = streams.div_ceil(size.ports());
                if streams > 32 || tiles > size.ports() || (tiles > 1 && architecture.routing == Routing::Exact) {
                    continue;
                }
                let timeline = architecture.timeline(streams);
                for (seen, number) in cycles(architecture, streams, 5).into_iter().zip(0..) {
                    assert_eq!(seen, (timeline.schedule(number), timeline.update(number)), "{architecture:?}, {streams} streams");
                }
            }
        }
    }
}

#[test]
fn a_question_that_is_asked_again_costs_no_cycles() {
    let mut device = Device::new(Architecture::base(Size::Four), Clock::Outside, 0, &equal(4)).unwrap();
    assert_eq!(device.select(0), Choice::Idle);
    device.activate(0, Flow(2), 0);
    assert_eq!(device.select(0), Choice::Serve(Flow(2)));
    let cycles = device.schedule_cycles();
    assert_eq!(device.select(0), Choice::Serve(Flow(2)));
    assert_eq!(device.schedule_cycles(), cycles);
    device.served(Flow(2), 1, None);
    assert_eq!(device.select(1), Choice::Idle);
}

#[test]
fn a_stream_that_is_loaded_anew_forgets_what_was() {
    let mut device = Device::new(Architecture::base(Size::Four), Clock::Outside, 0, &equal(3)).unwrap();
    (0..3).for_each(|stream| device.activate(0, Flow(stream), 0));
    assert_eq!(device.select(0), Choice::Serve(Flow(0)));
    device.served(Flow(0), 1, Some(1));
    assert_eq!(device.select(1), Choice::Serve(Flow(1)));
    let others = [0, 2].map(|stream| device.standing(Flow(stream)));
    let contract = Stream { first_deadline: Some(1), ..Stream::windowed(Window::new(0, 7), 9) };
    device.load(Flow(1), &contract).unwrap();
    let standing = device.standing(Flow(1));
    assert_eq!((standing.deadline, standing.tolerance, standing.tally), (1, Tolerance::of(contract.window), Tally::default()));
    // It has no packet, so the next one is served.
    assert_eq!(device.select(1), Choice::Serve(Flow(2)));
    assert_eq!([0, 2].map(|stream| device.standing(Flow(stream))), others);
    device.activate(1, Flow(1), 1);
    assert_eq!(device.standing(Flow(1)).deadline, 10);
    assert!(device.load(Flow(1), &Stream { penalty: 256, ..contract }).is_err());
    assert_eq!(device.standing(Flow(1)).deadline, 10);
}

#[test]
fn what_does_not_fit_is_refused() {
    let fits = Stream::windowed(Window::new(1, 2), 1);
    let refused = |architecture, start, streams: &[Stream]| Device::new(architecture, Clock::Outside, start, streams).unwrap_err();
    let base = Architecture::base(Size::Four);
    for (stream, word) in [
        (Stream { window: Window::new(1, 256), ..fits }, "255 deadlines"),
        (Stream { penalty: 256, ..fits }, "penalty"),
        (Stream { period: Some(16_385), ..fits }, "period"),
        (Stream { first_deadline: Some(16_485), ..fits }, "first deadline"),
        (Stream { window: Window::new(3, 2), ..fits }, "cannot tolerate"),
    ] {
        let error = refused(base, 100, &[fits, stream]);
        assert!(error.stream == Some(Flow(1)) && error.problem.contains(word), "{error}");
    }
    assert_eq!(refused(base, 0, &[fits; 17]).stream, Some(Flow(16)));
    assert_eq!(refused(Architecture::base(Size::ThirtyTwo), 0, &[fits; 33]).stream, Some(Flow(32)));
    assert_eq!(refused(Architecture { routing: Routing::Exact, ..base }, 0, &[fits; 5]).stream, Some(Flow(4)));
    let widest = Stream { window: Window::TIGHTEST, penalty: 255, period: Some(16_384), first_deadline: Some(16_484), ..fits };
    assert!(Device::new(base, Clock::Outside, 100, &[widest; 16]).is_ok());
}

#[test]
fn counters_of_sixteen_bits_add_up() {
    let mut device = Device::new(Architecture::base(Size::Four), Clock::Decisions, 0, &equal(2)).unwrap();
    (0..2).for_each(|stream| device.activate(0, Flow(stream), 0));
    for arrival in 1..=140_000 {
        let Choice::Serve(stream) = device.select(0) else { panic!("both are backlogged") };
        device.served(stream, 0, Some(arrival / 16));
    }
    let met = [0, 1].map(|stream| device.standing(Flow(stream)).tally.met);
    assert!(met[0] > 1 << 16 && met[0] + met[1] == 140_000, "{met:?}");
}
