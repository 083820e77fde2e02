//! The engine of a port: the faster of [`Scan`] and [`GroupedDwcs`] for the number of streams.

use crate::dwcs::grouped::GroupedDwcs;
use crate::dwcs::interface::{Changing, Choice, Dwcs, Saved, Standing};
use crate::dwcs::rules::{Order, Rules};
use crate::dwcs::scan::Scan;
use crate::dwcs::stream::{Stream, StreamError};
use crate::packet::Flow;
use alloc::boxed::Box;

/// The most streams for which looking at all of them is faster than keeping them in order.
const SCAN_LIMIT: usize = 12;

/// [`Scan`] or [`GroupedDwcs`], which take the same decisions.
#[derive(Clone, Debug)]
pub enum Engine {
    /// For up to 12 streams.
    Scan(Scan),
    /// For more.
    Grouped(Box<GroupedDwcs>),
}

impl Engine {
    /// An engine for these streams, none of them backlogged.
    ///
    /// # Errors
    /// [`StreamError`] names the first stream that cannot be served.
    pub fn new(rules: Rules, streams: &[Stream]) -> Result<Engine, StreamError> {
        if streams.len() <= SCAN_LIMIT {
            Scan::new(rules, Order::default(), streams).map(Engine::Scan)
        } else {
            GroupedDwcs::new(rules, streams).map(|engine| Engine::Grouped(Box::new(engine)))
        }
    }
}

/// The same call of whichever engine it is.
macro_rules! either {
    ($self:ident, $engine:ident => $call:expr) => {
        match $self {
            Engine::Scan($engine) => $call,
            Engine::Grouped($engine) => $call,
        }
    };
}

impl Dwcs for Engine {
    #[inline]
    fn activate(&mut self, now: u64, stream: Flow, arrival: u64) {
        either!(self, engine => engine.activate(now, stream, arrival))
    }

    #[inline]
    fn select(&mut self, now: u64) -> Choice {
        either!(self, engine => engine.select(now))
    }

    #[inline]
    fn served(&mut self, stream: Flow, finish: u64, next: Option<u64>) {
        either!(self, engine => engine.served(stream, finish, next))
    }

    #[inline]
    fn lost(&mut self, stream: Flow, next: Option<u64>) {
        either!(self, engine => engine.lost(stream, next))
    }

    #[inline]
    fn soon(&self) -> Option<Flow> {
        either!(self, engine => engine.soon())
    }

    fn standing(&self, stream: Flow) -> Standing {
        either!(self, engine => engine.standing(stream))
    }
}

impl Changing for Engine {
    fn change(&mut self, stream: Flow, attributes: &Stream) -> Result<(), StreamError> {
        either!(self, engine => engine.change(stream, attributes))
    }

    fn forget(&mut self, stream: Flow) {
        either!(self, engine => engine.forget(stream));
    }

    fn save(&self, stream: Flow) -> Saved {
        either!(self, engine => engine.save(stream))
    }

    fn restore(&mut self, now: u64, stream: Flow, saved: &Saved, head: Option<u64>) {
        either!(self, engine => engine.restore(now, stream, saved, head));
    }
}
