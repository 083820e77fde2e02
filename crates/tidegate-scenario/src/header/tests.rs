//! Addresses, ports and code points are read.

use super::*;

fn prefix(text: &'static str) -> Result<Prefix, String> {
    Prefix::read(&Scalar::Text(text.into()))
}

#[test]
fn prefixes_of_both_families_are_read() {
    assert_eq!(prefix("10.0.0.0/8").unwrap().length, 8);
    assert_eq!(prefix("0.0.0.0/0").unwrap().length, 0);
    assert_eq!(prefix("::/0").unwrap().length, 0);
    assert!(prefix("10.1.2.3").unwrap().is_single());
    assert!(prefix("2001:db8::1").unwrap().is_single());
    assert_eq!(prefix("2001:db8::/32").unwrap().length, 32);
    assert!(prefix("10.0.0.1/8").unwrap_err().contains("\"10.0.0.0/8\""));
    assert!(prefix("2001:db8::1/32").unwrap_err().contains("\"2001:db8::/32\""));
    assert!(prefix("10.0.0.0/33").is_err() && prefix("10.0.0/8").is_err() && prefix("10.0.0.0/x").is_err());
}

#[test]
fn ranges_run_forwards() {
    let range = |text: &'static str| PortRange::read(&Scalar::Text(text.into()));
    assert_eq!(range("6000-6999"), Ok(PortRange { first: 6000, last: 6999 }));
    assert_eq!(range("53"), Ok(PortRange { first: 53, last: 53 }));
    assert!(range("9-8").unwrap_err().contains("\"8-9\""));
    assert!(range("70000").is_err() && PortRange::read(&Scalar::Integer(70000)).is_err());
}

#[test]
fn code_points_have_numbers_and_names() {
    assert_eq!(Dscp::read(&Scalar::Text("ef".into())), Ok(Dscp(46)));
    assert_eq!(Dscp::read(&Scalar::Integer(46)), Ok(Dscp(46)));
    assert!(Dscp::read(&Scalar::Integer(64)).is_err());
    assert!(Dscp::read(&Scalar::Text("af14".into())).unwrap_err().contains("did you mean"));
}
