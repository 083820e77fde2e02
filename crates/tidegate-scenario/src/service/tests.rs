//! Services are names or windows, and periods are whole slots.

use super::*;
use crate::value::{Leaf, Scalar};

fn read(text: &'static str) -> Result<ServiceName, String> {
    ServiceName::read(&Scalar::Text(text.into()))
}

#[test]
fn services_are_names_or_windows() {
    assert_eq!(read("edf"), Ok(ServiceName::EarliestDeadline));
    assert_eq!(read("window 2 of 8"), Ok(ServiceName::Window(Window::new(2, 8))));
    assert_eq!(read(" window  0 of  255 "), Ok(ServiceName::Window(Window::new(0, 255))));
    assert!(read("fair_share").unwrap_err().contains("did you mean `fair-share`?"));
    for wrong in ["window", "window 2", "window 2/8", "window 2 of", "window -1 of 2", "window 1 of 4294967296", "window 1of2"] {
        assert!(read(wrong).unwrap_err().contains("is written like"), "{wrong}");
    }
    assert!(read("window 3 of 2").unwrap_err().contains("cannot be missed"));
    assert!(read("window 0 of 0").unwrap_err().contains("at least 1 deadline"));
    assert!(read("wfq").unwrap_err().ends_with("or a window like `window 1 of 4`"));
}

#[test]
fn periods_in_time_are_rounded_down_to_slots() {
    let asked = |period| Asked { period: Some(At { value: period, span: 0..1 }), ..Asked::default() };
    let slot = Duration::from_microseconds(1214);
    let slots = |period| asked(period).request(1, 0, slot).map(|request| request.period);
    assert_eq!(slots(Period::Time(Duration::from_milliseconds(20))), Ok(16));
    assert_eq!(slots(Period::Time(slot)), Ok(1));
    assert_eq!(slots(Period::Slots(7)), Ok(7));
    let refused = slots(Period::Time(Duration::from_milliseconds(1))).unwrap_err();
    assert!(refused.problem.contains("1 ms is shorter than a slot of 1.214 ms"), "{}", refused.problem);
}
