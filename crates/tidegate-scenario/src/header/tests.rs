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

#[test]
fn lengths_have_units_and_run_forwards() {
    let range = |text: &'static str| LengthRange::read(&Scalar::Text(text.into()));
    assert_eq!(range("0-128 B"), Ok(LengthRange { first: 0, last: 128 }));
    assert_eq!(range("64 B"), Ok(LengthRange { first: 64, last: 64 }));
    assert_eq!(range("64 B - 1.5 kB"), Ok(LengthRange { first: 64, last: 1500 }));
    assert_eq!(range("1-2 kB"), Ok(LengthRange { first: 1000, last: 2000 }));
    assert!(range("128-0 B").unwrap_err().contains("\"0-128 B\""));
    assert!(range("0-128").unwrap_err().contains("unit") && LengthRange::read(&Scalar::Integer(64)).unwrap_err().contains("\"0-128 B\""));
    assert!(range("5 GB").unwrap_err().contains("no frame"));
    for wrong in ["-", "", "-5 B", "5- B", "a-b B", "1-2-3 B", "1 B-2"] {
        assert!(range(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn addresses_of_ethernet_have_prefixes_and_masks() {
    let mac = |text: &'static str| MacPattern::read(&Scalar::Text(text.into()));
    let one = mac("02:00:5e:10:00:0F").unwrap();
    assert_eq!((single_mac(one), print_mac_pattern(one).as_str()), (Some([2, 0, 0x5e, 0x10, 0, 0xf]), "02:00:5e:10:00:0f"));
    assert_eq!(mac("02:00:5e:00:00:00/24"), Ok(MacPattern { address: 0x0200_5e00_0000, mask: 0xffff_ff00_0000 }));
    assert_eq!(mac("01:00:00:00:00:00/01:00:00:00:00:00"), Ok(MacPattern { address: 1 << 40, mask: 1 << 40 }));
    assert_eq!(mac("02:00:5e:10:00:0f/48"), Ok(one));
    let beyond = mac("02:00:5e:10:00:01/24").unwrap_err();
    assert!(beyond.contains("\"02:00:5e:00:00:00/24\"") && beyond.contains("\"02:00:5e:10:00:01\""), "{beyond}");
    for wrong in
        ["", "02:00:5e:10:00", "02:00:5e:10:00:1", "02-00-5e-10-00-01", "02:00:5e:10:00:01/0", "02:00:5e:10:00:01/49", "+2:00:5e:10:00:01"]
    {
        assert!(mac(wrong).unwrap_err().contains("02:00:5e:00:00:00/24"), "{wrong}");
    }
}

#[test]
fn flags_are_set_or_clear() {
    let flags = |text: &'static str| FlagPattern::read(&Scalar::Text(text.into()));
    assert_eq!(flags("syn+!ack"), Ok(FlagPattern { set: 2, clear: 16 }));
    assert_eq!(flags(" fin + ! ae "), Ok(FlagPattern { set: 1, clear: 256 }));
    assert_eq!(print_flags(flags("!ack+syn+cwr").unwrap()), "syn+cwr+!ack");
    assert!(flags("sny").unwrap_err().contains("did you mean `syn`"));
    assert!(flags("syn+!syn").unwrap_err().contains("set and clear"));
    assert!(flags("").is_err() && flags("syn,ack").is_err() && flags("syn++ack").is_err());
}
