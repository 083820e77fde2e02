//! The examples of the core as a library print what they are meant to show.

#[path = "../examples/own_scheduler.rs"]
mod own_scheduler;
#[path = "../examples/police.rs"]
mod police;
#[path = "../examples/port.rs"]
mod port;

#[test]
fn a_port_serves_calls_before_bulk_and_drops_what_exceeds_its_buffer() {
    assert_eq!(port::run(), "");
}

#[test]
fn a_policer_passes_a_burst_and_then_the_rate() {
    assert_eq!(police::run(), "");
}

#[test]
fn a_scheduler_outside_the_registry_drives_a_port() {
    assert_eq!(own_scheduler::run(), "");
}
