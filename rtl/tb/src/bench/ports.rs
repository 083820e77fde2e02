//! The ports of an engine, found by name and checked against the widths of the layout.

use crate::design::{Design, PortNumber};
use crate::layout;
use crate::trace::Line;

/// The ports with their widths in bits, for a number of streams: those that every engine has, then those that some have.
macro_rules! ports {
    ($streams:ident { $($port:ident: $bits:expr,)* } { $($some:ident: $some_bits:expr,)* }) => {
        /// Every port but the clock.
        pub struct Ports {
            $(pub $port: PortNumber,)*
            $(pub $some: Option<PortNumber>,)*
        }

        fn widths($streams: usize) -> Vec<(&'static str, usize)> {
            vec![$((stringify!($port), $bits),)* $((stringify!($some), $some_bits),)*]
        }

        fn found(design: &Design, $streams: usize) -> Result<Ports, String> {
            let some = |name, bits| sized(design, $streams, name, bits).transpose();
            let port = |name, bits| some(name, bits)?.ok_or_else(|| format!("the design has no port {name}"));
            Ok(Ports {
                $($port: port(stringify!($port), $bits)?,)*
                $($some: some(stringify!($some), $some_bits)?,)*
            })
        }
    };
}

ports! {
    streams {
        rst_ni: 1,
        enable_i: 1,
        outside_i: 1,
        time_i: 16,
        load_valid_i: 1,
        load_ready_o: 1,
        load_i: layout::LOAD,
        next_valid_i: streams,
        next_arrival_i: 16 * streams,
        pop_o: streams,
        decision_valid_o: 1,
        decision_ready_i: 1,
        decision_o: layout::DECISION,
        update_o: 1,
        served_o: 1,
        winner_o: 5,
        finish_o: 16,
        now_o: 16,
        status_o: layout::STATUS * streams,
    } {
        take_o: streams,
        home_o: layout::ATTRIBUTES * streams,
        query_valid_i: 1,
        query_ready_o: 1,
        query_id_i: 5,
        answer_valid_o: 1,
        answer_o: layout::STATUS,
    }
}

/// The port of this name, if the design has one; it has to be as wide as `layout` says.
fn sized(design: &Design, streams: usize, name: &str, bits: usize) -> Option<Result<PortNumber, String>> {
    let port = design.port(name)?;
    let bytes = design.bits(port).len();
    Some(if bytes == layout::bytes(bits) {
        Ok(port)
    } else {
        Err(format!(
            "the port {name} has {bytes} bytes, but {streams} streams make {bits} bits: the design is for another number of streams, or \
             rtl/tb/src/layout.rs differs from rtl/src/dwcs_pkg.sv"
        ))
    })
}

impl Ports {
    /// Finds every port, as wide as `layout` says.
    pub fn of(design: &Design, streams: usize) -> Result<Ports, String> {
        let ports = found(design, streams)?;
        match (ports.query_valid_i, ports.query()) {
            (Some(_), None) => Err("the design has only some of the ports for questions and answers".to_owned()),
            _ => Ok(ports),
        }
    }

    /// Questions and answers, if the design has them: valid, ready, the stream; valid, the answer.
    pub fn query(&self) -> Option<[PortNumber; 5]> {
        Some([self.query_valid_i?, self.query_ready_o?, self.query_id_i?, self.answer_valid_o?, self.answer_o?])
    }

    pub fn lines(design: &Design, streams: usize) -> Vec<Line> {
        let line = |(name, bits)| design.port(name).map(|port| Line { name, port, bits });
        widths(streams).into_iter().filter_map(line).collect()
    }
}
