//! Streams and groups in the order of their deadlines: a ready list behind a place for the first.

use crate::packet::Flow;
use crate::ready::ReadyList;

/// Items are streams, and from the number of streams on groups.
#[derive(Clone, Debug)]
pub(super) struct WaitingItems<R> {
    /// An item that is not later than all of `list`, or none. A group that moves on is often the first again, and need not enter the list.
    first: Option<(u64, u32)>,
    list: R,
}

impl<R: ReadyList> WaitingItems<R> {
    pub fn new(items: usize) -> WaitingItems<R> {
        WaitingItems { first: None, list: R::new(items) }
    }

    #[inline]
    pub fn insert(&mut self, item: u32, deadline: u64) {
        let mut last = (deadline, item);
        match &mut self.first {
            first @ None => {
                if self.list.first().is_none_or(|(earliest, _)| deadline < earliest) {
                    *first = Some(last);
                    return;
                }
            }
            Some(first) => {
                if deadline < first.0 {
                    core::mem::swap(first, &mut last);
                }
            }
        }
        self.list.insert(Flow(last.1), last.0);
    }

    /// The earliest deadline.
    #[inline]
    pub fn earliest(&self) -> Option<u64> {
        match self.first {
            Some((deadline, _)) => Some(deadline),
            None => self.list.first().map(|(deadline, _)| deadline),
        }
    }

    /// Takes out an item with the earliest deadline.
    #[inline]
    pub fn pop(&mut self) -> Option<u32> {
        match self.first.take() {
            Some((_, item)) => Some(item),
            None => self.list.pop_first().map(|(_, flow)| flow.0),
        }
    }

    /// Takes out an item with this deadline, if it is the earliest.
    #[inline]
    pub fn pop_at(&mut self, deadline: u64) -> Option<u32> {
        if self.earliest() == Some(deadline) { self.pop() } else { None }
    }

    /// After [`WaitingItems::pop`], the item that follows.
    #[inline]
    pub fn following(&self) -> Option<u32> {
        self.list.first().map(|(_, flow)| flow.0)
    }

    /// Takes out a stream, which waits here.
    pub fn remove(&mut self, stream: Flow) {
        if self.first.is_some_and(|(_, item)| item == stream.0) {
            self.first = None;
        } else {
            self.list.remove(stream);
        }
    }
}
