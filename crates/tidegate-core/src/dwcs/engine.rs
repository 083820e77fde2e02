//! The engine that a port uses: whichever of the two is faster for the number of streams.

use super::{Choice, Cohorts, Dwcs, Order, Rules, Scan, Standing, Stream, StreamError};
use crate::packet::Flow;
use alloc::boxed::Box;

/// Up to so many streams, looking at all of them is faster than keeping them in order.
const FEW: usize = 12;

/// [`Scan`] for few streams, [`Cohorts`] for many; they decide the same.
#[derive(Clone, Debug)]
pub enum Engine {
    /// For up to 12 streams.
    Few(Scan),
    /// For more.
    Many(Box<Cohorts>),
}

impl Engine {
    /// An engine for these streams, none of them backlogged.
    ///
    /// # Errors
    /// [`StreamError`] names the first stream that cannot be served.
    pub fn new(rules: Rules, streams: &[Stream]) -> Result<Engine, StreamError> {
        if streams.len() <= FEW {
            Scan::new(rules, Order::default(), streams).map(Engine::Few)
        } else {
            Cohorts::new(rules, streams).map(|engine| Engine::Many(Box::new(engine)))
        }
    }
}

impl Dwcs for Engine {
    #[inline]
    fn activate(&mut self, now: u64, stream: Flow, arrival: u64) {
        match self {
            Engine::Few(engine) => engine.activate(now, stream, arrival),
            Engine::Many(engine) => engine.activate(now, stream, arrival),
        }
    }

    #[inline]
    fn select(&mut self, now: u64) -> Choice {
        match self {
            Engine::Few(engine) => engine.select(now),
            Engine::Many(engine) => engine.select(now),
        }
    }

    #[inline]
    fn served(&mut self, stream: Flow, finish: u64, next: Option<u64>) {
        match self {
            Engine::Few(engine) => engine.served(stream, finish, next),
            Engine::Many(engine) => engine.served(stream, finish, next),
        }
    }

    #[inline]
    fn lost(&mut self, stream: Flow, next: Option<u64>) {
        match self {
            Engine::Few(engine) => engine.lost(stream, next),
            Engine::Many(engine) => engine.lost(stream, next),
        }
    }

    fn standing(&self, stream: Flow) -> Standing {
        match self {
            Engine::Few(engine) => engine.standing(stream),
            Engine::Many(engine) => engine.standing(stream),
        }
    }
}
