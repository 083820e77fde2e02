//! The ports of the tiled engine.

use crate::beside::Checked;
use crate::design::{Design, PortNumber};
use crate::pins::{Pins, named};
use std::ops::Deref;

/// The ports that are used in every cycle.
pub struct Ports {
    pins: Pins,
    pub round: PortNumber,
    pub served: PortNumber,
    pub winner: PortNumber,
}

impl Ports {
    /// Those of this design.
    ///
    /// # Errors
    /// The name of one that it lacks.
    pub fn new(design: &Design) -> Checked<Ports> {
        Ok(Ports {
            pins: Pins::new(design)?,
            round: named(design, "update_round_o")?,
            served: named(design, "served_o")?,
            winner: named(design, "winner_o")?,
        })
    }
}

impl Deref for Ports {
    type Target = Pins;

    fn deref(&self) -> &Pins {
        &self.pins
    }
}
