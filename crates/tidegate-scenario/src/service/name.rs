//! The names of the services that the scheduler `dwcs` gives.

use crate::choice::MEANINGS;
use crate::units::pattern;
use crate::value::{Leaf, Scalar, expect_text, one_of};
use serde_json::{Value, json};
use tidegate_core::dwcs::Window;

/// A service by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServiceName {
    /// Earliest deadline first.
    EarliestDeadline,
    /// Static priority.
    StaticPriority,
    /// A share by weight.
    FairShare,
    /// A window constraint.
    Window(Window),
}

pub(super) const NAMES: [(&str, ServiceName); 3] =
    [("edf", ServiceName::EarliestDeadline), ("static-priority", ServiceName::StaticPriority), ("fair-share", ServiceName::FairShare)];

impl ServiceName {
    /// The name in files, without the figures of a window.
    pub fn name(self) -> &'static str {
        match self {
            ServiceName::Window(_) => "window",
            named => NAMES.iter().find(|entry| entry.1 == named).map_or("fair-share", |entry| entry.0),
        }
    }

    /// The keys that it uses.
    pub(super) fn keys(self) -> &'static [&'static str] {
        match self {
            ServiceName::EarliestDeadline | ServiceName::Window(_) => &["period", "late", "penalty"],
            ServiceName::StaticPriority => &["priority"],
            ServiceName::FairShare => &["weight", "penalty"],
        }
    }
}

impl Leaf for ServiceName {
    const NAME: &'static str = "service";
    fn schema() -> Value {
        let meanings = json!({
            "edf": "earliest deadline first: one slot per `period`, and no missed deadline is tolerated",
            "static-priority": "before all other services, by `priority`",
            "fair-share": "a share, by `weight`, of what windows and deadlines leave over",
            "window 1 of 4": "one slot per `period`; of every 4 deadlines, counted window by window, at most 1 is missed",
        });
        let names = NAMES.map(|entry| entry.0);
        json!({ "anyOf": [{ "enum": names }, { "type": "string", "pattern": pattern::WINDOW }], MEANINGS: meanings })
    }
    fn read(scalar: &Scalar<'_>) -> Result<ServiceName, String> {
        let text = expect_text(scalar, "\"edf\", \"static-priority\", \"fair-share\" or a window like \"window 1 of 4\"")?;
        match text.trim().strip_prefix("window") {
            Some(figures) => window(figures).map(ServiceName::Window),
            None => one_of(scalar, "a service", &NAMES).map_err(|problem| problem + ", or a window like `window 1 of 4`"),
        }
    }
}

/// Reads the part "1 of 4" of a window.
fn window(figures: &str) -> Result<Window, String> {
    let figure = |text: &str| text.trim().parse::<u32>().ok();
    let read = figures.split_once(" of ").and_then(|(tolerated, deadlines)| figure(tolerated).zip(figure(deadlines)));
    match read {
        None => Err("a window is written like \"window 1 of 4\": of every 4 deadlines at most 1 is missed".to_owned()),
        Some((_, 0)) => Err("a window has at least 1 deadline, like \"window 0 of 1\"; for deadlines alone write \"edf\"".to_owned()),
        Some((tolerated, deadlines)) if tolerated > deadlines => {
            Err(format!("of {deadlines} deadlines {tolerated} cannot be missed; write \"window x of y\" with x at most y"))
        }
        Some((tolerated, deadlines)) => Ok(Window::new(tolerated, deadlines)),
    }
}
