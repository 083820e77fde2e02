//! The ready list of one class: connections in the order of the slot in which their next cells are due.

pub(crate) mod crowd;
pub(crate) mod crowd_heap;
pub(crate) mod levels;
pub(crate) mod log;
pub(crate) mod marks;
pub(crate) mod run;
pub(crate) mod table;
pub(crate) mod wheel;
