//! The ports of an engine, found by name and checked against the widths of the layout.

use crate::design::{Design, PortNumber};
use crate::layout;
use crate::trace::Line;

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
    /// Questions and answers, if the design has them: valid, ready, the stream; valid, the answer.
    pub query: Option<[PortNumber; 5]>,
}

fn widths(streams: usize) -> [(&'static str, usize); 26] {
    [
        ("rst_ni", 1),
        ("enable_i", 1),
        ("outside_i", 1),
        ("time_i", 16),
        ("load_valid_i", 1),
        ("load_ready_o", 1),
        ("load_i", layout::LOAD),
        ("next_valid_i", streams),
        ("next_arrival_i", 16 * streams),
        ("pop_o", streams),
        ("decision_valid_o", 1),
        ("decision_ready_i", 1),
        ("decision_o", layout::DECISION),
        ("update_o", 1),
        ("served_o", 1),
        ("winner_o", 5),
        ("finish_o", 16),
        ("now_o", 16),
        ("take_o", streams),
        ("home_o", layout::ATTRIBUTES * streams),
        ("status_o", layout::STATUS * streams),
        ("query_valid_i", 1),
        ("query_ready_o", 1),
        ("query_id_i", 5),
        ("answer_valid_o", 1),
        ("answer_o", layout::STATUS),
    ]
}

impl Ports {
    /// Finds every port, as wide as `layout` says.
    pub fn of(design: &Design, streams: usize) -> Result<Ports, String> {
        let widths = widths(streams);
        let sized = |name: &str| {
            let port = design.port(name)?;
            let bits = widths.iter().find(|(known, _)| *known == name)?.1;
            let bytes = design.bits(port).len();
            Some(if bytes == layout::bytes(bits) {
                Ok(port)
            } else {
                Err(format!(
                    "the port {name} has {bytes} bytes, but {streams} streams make {bits} bits: the design is for another number of streams, or \
                     rtl/tb/src/layout.rs differs from rtl/src/dwcs_pkg.sv"
                ))
            })
        };
        let port = |name: &str| sized(name).unwrap_or_else(|| Err(format!("the design has no port {name}")));
        Ok(Ports {
            rst_ni: port("rst_ni")?,
            enable_i: port("enable_i")?,
            outside_i: port("outside_i")?,
            time_i: port("time_i")?,
            load_valid_i: port("load_valid_i")?,
            load_ready_o: port("load_ready_o")?,
            load_i: port("load_i")?,
            next_valid_i: port("next_valid_i")?,
            next_arrival_i: port("next_arrival_i")?,
            pop_o: port("pop_o")?,
            decision_valid_o: port("decision_valid_o")?,
            decision_ready_i: port("decision_ready_i")?,
            decision_o: port("decision_o")?,
            update_o: port("update_o")?,
            served_o: port("served_o")?,
            winner_o: port("winner_o")?,
            finish_o: port("finish_o")?,
            now_o: port("now_o")?,
            take_o: sized("take_o").transpose()?,
            home_o: sized("home_o").transpose()?,
            status_o: port("status_o")?,
            query: match sized("query_valid_i").transpose()? {
                Some(valid) => {
                    let [ready, id, answered, answer] = ["query_ready_o", "query_id_i", "answer_valid_o", "answer_o"];
                    Some([valid, port(ready)?, port(id)?, port(answered)?, port(answer)?])
                }
                None => None,
            },
        })
    }

    pub fn lines(design: &Design, streams: usize) -> Vec<Line> {
        let line = |(name, bits)| design.port(name).map(|port| Line { name, port, bits });
        widths(streams).into_iter().filter_map(line).collect()
    }
}
