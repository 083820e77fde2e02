//! A link with a scheduler and its queues, and nothing else: what the tests of guarantees drive. Independent of the port on purpose.

use std::collections::VecDeque;
use tidegate_core::packet::{Colour, Flow, Head};
use tidegate_core::scheduler::{Decision, Scheduler};
use tidegate_core::units::{Rate, Time};

/// A packet that comes.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Picoseconds.
    pub time: u64,
    pub flow: usize,
    /// Bytes.
    pub length: u32,
}

/// A packet that has gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure {
    pub flow: usize,
    pub length: u32,
    /// Which of the arrivals it was.
    pub index: usize,
    pub arrival: u64,
    pub finish: u64,
}

/// Puts arrivals, in any order, into that of time; what comes at one instant keeps its order.
pub fn in_order(mut arrivals: Vec<Arrival>) -> Vec<Arrival> {
    arrivals.sort_by_key(|arrival| arrival.time);
    arrivals
}

/// Sends `arrivals`, which are in order of time, over a link. Arrivals at one instant are all seen before the next packet is chosen;
/// a packet chosen at the instant of an arrival is chosen before it.
pub fn run(scheduler: &mut impl Scheduler, rate: Rate, flows: usize, arrivals: &[Arrival]) -> Vec<Departure> {
    let link = rate.time_per_byte();
    let mut queues: Vec<VecDeque<(Head, usize)>> = vec![VecDeque::new(); flows];
    let mut departures = Vec::new();
    let mut now = Time::from_picoseconds(arrivals.first().map_or(0, |first| first.time));
    scheduler.start(now);
    let mut coming = arrivals.iter().enumerate().peekable();
    loop {
        // All that can start before the next arrival, or at its instant.
        let horizon = coming.peek().map(|(_, arrival)| Time::from_picoseconds(arrival.time));
        while horizon.is_none_or(|horizon| !now.is_after(horizon)) {
            match scheduler.select(now) {
                Decision::Serve(flow) | Decision::ServeAs(flow, _) => {
                    assert_eq!(scheduler.select(now), Decision::Serve(flow), "asking twice changes nothing");
                    let queue = &mut queues[flow.index()];
                    let (head, index) = queue.pop_front().expect("only backlogged flows are named");
                    scheduler.served(now, flow, queue.front().map(|next| next.0));
                    let finish = now + link.ceil(head.length);
                    departures.push(Departure {
                        flow: flow.index(),
                        length: head.length,
                        index,
                        arrival: head.arrival.picoseconds(),
                        finish: finish.picoseconds(),
                    });
                    now = finish;
                }
                Decision::WaitUntil(time) => {
                    assert!(time.is_after(now), "a wait ends in the future");
                    if horizon.is_some_and(|horizon| time.is_after(horizon)) {
                        break;
                    }
                    now = time;
                }
                Decision::Idle => {
                    assert!(queues.iter().all(VecDeque::is_empty), "idle while something is queued");
                    break;
                }
                Decision::Discard(flow) => panic!("{flow:?} is late, and none of these schedulers drops"),
            }
        }
        let Some(horizon) = horizon else { break };
        now = now.later(horizon);
        while let Some((index, arrival)) = coming.next_if(|(_, arrival)| arrival.time == horizon.picoseconds()) {
            let arrived = Time::from_picoseconds(arrival.time);
            let head = Head { length: arrival.length, number: index as u32, arrival: arrived, colour: Colour::Green };
            queues[arrival.flow].push_back((head, index));
            if queues[arrival.flow].len() == 1 {
                scheduler.activate(arrived, Flow(arrival.flow as u32), head);
            }
        }
    }
    assert_eq!(departures.len(), arrivals.len(), "everything leaves in the end");
    for flow in 0..flows {
        assert!(departures.iter().filter(|sent| sent.flow == flow).map(|sent| sent.index).is_sorted(), "in order within a flow");
    }
    departures
}
