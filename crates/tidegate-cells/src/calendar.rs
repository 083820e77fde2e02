//! The ready list of one class: connections in the order in which their next cells are due.

pub(crate) mod levels;
pub(crate) mod overflow_heap;
pub(crate) mod overflow_queue;
pub(crate) mod run;
pub(crate) mod table;
pub(crate) mod wheel;
