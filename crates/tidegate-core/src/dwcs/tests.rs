//! Both engines against published schedules and against each other.

mod differential;
mod schedules;
