//! The examples of the core as a library print what they are meant to show.

#[path = "../examples/own_scheduler.rs"]
mod own_scheduler;
#[path = "../examples/police.rs"]
mod police;
#[path = "../examples/port.rs"]
mod port;

#[test]
fn a_port_serves_calls_before_bulk_and_drops_what_exceeds_its_buffer() {
    assert_eq!(
        port::run().lines().collect::<Vec<_>>(),
        [
            "     0 us  sent     bulk 1",
            "     0 us  dropped  call 3 (SharedLimit)",
            " 12000 us  sent     call 1",
            " 13600 us  sent     call 2",
            " 15200 us  sent     bulk 2",
            " 27200 us  sent     bulk 3",
        ]
    );
}

#[test]
fn a_policer_passes_a_burst_and_then_the_rate() {
    assert_eq!(
        police::run().lines().collect::<Vec<_>>(),
        [
            "  0 ms  packet 0 conforms",
            "  2 ms  packet 1 conforms",
            "  4 ms  packet 2 conforms",
            "  6 ms  packet 3 is marked red",
            "  8 ms  packet 4 conforms",
            " 10 ms  packet 5 is marked red",
            " 12 ms  packet 6 is marked red",
            " 14 ms  packet 7 is marked red",
            " 16 ms  packet 8 conforms",
            " 18 ms  packet 9 is marked red",
        ]
    );
}

#[test]
fn a_scheduler_outside_the_registry_drives_a_port() {
    assert_eq!(
        own_scheduler::run().lines().collect::<Vec<_>>(),
        [
            "     0 us  flow 2 sends 1500 bytes",
            " 12000 us  flow 1 sends 700 bytes",
            " 17600 us  flow 1 sends 700 bytes",
            " 23200 us  flow 0 sends 100 bytes",
            " 24000 us  flow 0 sends 1200 bytes",
        ]
    );
}
