//! The ports of an engine, found by their names and held to the widths of the layout.

use crate::design::{Design, PortNumber};
use crate::layout;

/// Every port but the clock.
pub struct Ports {
    pub rst_ni: PortNumber,
    pub enable_i: PortNumber,
    pub outside_i: PortNumber,
    pub time_i: PortNumber,
    pub load_valid_i: PortNumber,
    pub load_ready_o: PortNumber,
    pub load_i: PortNumber,
    pub next_valid_i: PortNumber,
    pub next_arrival_i: PortNumber,
    pub pop_o: PortNumber,
    pub decision_valid_o: PortNumber,
    pub decision_ready_i: PortNumber,
    pub decision_o: PortNumber,
    pub update_o: PortNumber,
    pub served_o: PortNumber,
    pub winner_o: PortNumber,
    pub finish_o: PortNumber,
    pub now_o: PortNumber,
    pub take_o: Option<PortNumber>,
    pub home_o: Option<PortNumber>,
    pub status_o: PortNumber,
}

impl Ports {
    /// Finds every port, as wide as `layout` says.
    pub fn of(design: &Design, streams: usize) -> Result<Ports, String> {
        let sized = |name: &str, bits: usize| {
            let port = design.port(name)?;
            let bytes = design.bits(port).len();
            Some(if bytes == layout::bytes(bits) {
                Ok(port)
            } else {
                Err(format!("the port {name} has {bytes} bytes, but {bits} bits: rtl/tb/src/layout.rs differs from rtl/src/dwcs_pkg.sv"))
            })
        };
        let port = |name: &str, bits| sized(name, bits).unwrap_or_else(|| Err(format!("the design has no port {name}")));
        Ok(Ports {
            rst_ni: port("rst_ni", 1)?,
            enable_i: port("enable_i", 1)?,
            outside_i: port("outside_i", 1)?,
            time_i: port("time_i", 16)?,
            load_valid_i: port("load_valid_i", 1)?,
            load_ready_o: port("load_ready_o", 1)?,
            load_i: port("load_i", layout::LOAD)?,
            next_valid_i: port("next_valid_i", streams)?,
            next_arrival_i: port("next_arrival_i", 16 * streams)?,
            pop_o: port("pop_o", streams)?,
            decision_valid_o: port("decision_valid_o", 1)?,
            decision_ready_i: port("decision_ready_i", 1)?,
            decision_o: port("decision_o", layout::DECISION)?,
            update_o: port("update_o", 1)?,
            served_o: port("served_o", 1)?,
            winner_o: port("winner_o", 5)?,
            finish_o: port("finish_o", 16)?,
            now_o: port("now_o", 16)?,
            take_o: sized("take_o", streams).transpose()?,
            home_o: sized("home_o", layout::ATTRIBUTES * streams).transpose()?,
            status_o: port("status_o", layout::STATUS * streams)?,
        })
    }
}
