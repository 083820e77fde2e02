//! Simulated flows differ in address and port.

use super::*;
use tidegate_core::classifier::Network;

#[test]
fn flows_differ_in_address_and_port() {
    let endpoint = Endpoint::resolve(None, false, 2, &mut Vec::new());
    let parts = |number, index| match endpoint.header(number, index).network {
        Network::V4 { source, transport, .. } => (Ipv4Addr::from_bits(source).to_string(), transport.ports),
        _ => panic!("IPv4 is the default"),
    };
    assert_eq!(parts(0, 0), ("10.0.0.1".to_owned(), Some((49_152, 5000))));
    assert_eq!(parts(256, 1), ("10.0.1.1".to_owned(), Some((49_153, 5000))));
}
