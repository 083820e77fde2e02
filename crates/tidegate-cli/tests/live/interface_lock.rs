//! One process per interface: the second is refused, `--force` overrides, and the lock ends with its process.

use crate::command::{Live, notes, pings_pass};
use crate::topology::{Place, Topology};

#[test]
fn a_second_process_on_an_interface_is_refused_unless_forced_until_the_first_has_ended() {
    let topology = Topology::new();
    topology.within(Place::Middle, "ip link add tgx type veth peer name tgy");
    let first = Live::start(&topology, "--in tgb --out tgc");
    pings_pass(&topology);
    // Both interfaces, in the other order; and either of them beside a free one.
    for interfaces in ["--in tgc --out tgb", "--in tgx --out tgc", "--in tgb --out tgx"] {
        let refused = Live::start(&topology, interfaces).wait();
        assert_eq!((refused.code, refused.output.as_str()), (Some(3), ""), "{interfaces}: {refused:?}");
        let said = format!("error: process {} already carries packets on", first.id());
        assert!(refused.log.contains(&said) && refused.log.contains("--force"), "{interfaces}: {refused:?}");
    }
    let forced = Live::start_with(&topology, "--in tgx --out tgc --for 500ms --force --json", &[]).wait();
    assert_eq!(forced.code, Some(0), "{forced:?}");
    let warning = format!("warning: process {} already carries packets on `tgc`", first.id());
    assert!(notes(&forced.report()).contains(&warning) && forced.log.contains(&warning), "{forced:?}");
    // An interface that no process carries packets on is free all the while.
    let apart = Live::start(&topology, "--in tgx --out tgy --for 500ms").wait();
    assert_eq!(apart.code, Some(0), "{apart:?}");

    // However the first one ends, its lock is free at once.
    first.signal(libc::SIGKILL);
    assert_eq!(first.wait().code, None);
    let next = Live::start(&topology, "--in tgb --out tgc --for 500ms").wait();
    assert_eq!(next.code, Some(0), "{next:?}");
}
