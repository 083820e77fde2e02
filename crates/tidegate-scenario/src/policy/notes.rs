//! What results say about a policy.

use super::{Class, Policy};
use crate::contract::Policing;
use crate::remark::tell_colours;
use crate::units::print_duration;

impl Class {
    /// True if its policer may change colours and leaving packets do not show them.
    pub fn keeps_marks_inside(&self) -> bool {
        self.police.as_deref().is_some_and(Policing::marks) && !tell_colours(&self.remarks)
    }
}

impl Policy {
    /// Notes for the results of a world in which one worker carries all.
    pub fn notes_of_one_worker(&self) -> Vec<String> {
        let mut notes = self.notes();
        notes.extend(self.workers.as_ref().map(|workers| {
            format!(
                "Policy {}: one worker has the whole link here. Between two interfaces it has {} workers, whose rates are set anew every {}.",
                self.name,
                workers.count,
                print_duration(workers.exchange_every)
            )
        }));
        notes
    }

    /// Notes for the results of a simulation, which models several workers.
    pub fn notes_of_simulation(&self) -> Vec<String> {
        let mut notes = self.notes();
        notes.extend(self.workers.as_ref().map(|workers| {
            format!(
                "Policy {}: {} workers share the link, whose rates are set anew every {}. A packet is on the link when its worker has sent it at its rate.",
                self.name,
                workers.count,
                print_duration(workers.exchange_every)
            )
        }));
        notes
    }

    /// Notes for results: the classes whose colours change nothing on the wire.
    pub fn notes(&self) -> Vec<String> {
        let inside = self.classes.iter().filter(|class| class.keeps_marks_inside());
        let names: Vec<String> = inside.map(|class| format!("`{}`", class.name)).collect();
        if names.is_empty() {
            return Vec::new();
        }
        vec![format!(
            "Policy {}: the colours that its policers give packets of {} change nothing on the wire, because no `set` says how.",
            self.name,
            names.join(", ")
        )]
    }
}
