//! The ports of the tiled engine.

use crate::beside::Checked;
use crate::design::{Design, PortNumber};
pub use crate::pins::{flag, get, set};

/// The ports that are used in every cycle.
pub struct Ports {
    pub rst: PortNumber,
    pub enable: PortNumber,
    pub outside: PortNumber,
    pub time: PortNumber,
    pub load: [PortNumber; 5],
    pub arrival: [PortNumber; 4],
    pub record: [PortNumber; 3],
    pub query: [PortNumber; 3],
    pub status: [PortNumber; 2],
    pub update: PortNumber,
    pub round: PortNumber,
    pub served: PortNumber,
    pub winner: PortNumber,
    pub finish: PortNumber,
    pub observed: PortNumber,
}

impl Ports {
    /// Those of this design.
    ///
    /// # Errors
    /// The name of one that it lacks.
    pub fn new(design: &Design) -> Checked<Ports> {
        let port = |name: &str| design.port(name).ok_or_else(|| format!("the design has no port {name}"));
        Ok(Ports {
            rst: port("rst_ni")?,
            enable: port("enable_i")?,
            outside: port("outside_i")?,
            time: port("time_i")?,
            load: [port("load_valid_i")?, port("load_ready_o")?, port("load_id_i")?, port("load_deadline_i")?, port("load_contract_i")?],
            arrival: [port("arrival_valid_i")?, port("arrival_ready_o")?, port("arrival_id_i")?, port("arrival_i")?],
            record: [port("record_valid_o")?, port("record_ready_i")?, port("record_o")?],
            query: [port("query_valid_i")?, port("query_ready_o")?, port("query_id_i")?],
            status: [port("status_valid_o")?, port("status_o")?],
            update: port("update_o")?,
            round: port("update_round_o")?,
            served: port("served_o")?,
            winner: port("winner_o")?,
            finish: port("finish_o")?,
            observed: port("observed_o")?,
        })
    }
}
