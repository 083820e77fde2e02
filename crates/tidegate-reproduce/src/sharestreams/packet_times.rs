//! Sections 4 and 5: cycles per decision, and the clocks that decide within the time of a packet.

use super::workload::CLOCK;
use crate::figure::{Axis, Chart, Curve, Figure, Gate, Panel, Table};
use crate::prose;
use tidegate_core::units::Rate;
use tidegate_rtl_model::{Architecture, Size, Timeline};

/// The shortest frame, in bytes.
const SHORTEST: u32 = 64;
/// The longest frame, in bytes.
const LONGEST: u32 = 1500;

/// One Gbit/s, in bit/s.
const GIGABIT: u64 = 1_000_000_000;

/// The area of the paper's components, in slices: register block, decision block, control.
const AREA: [(&str, [u32; 3]); 2] = [("Virtex I", [150, 190, 22]), ("Virtex II", [148, 122, 22])];

/// A frame on a link.
#[derive(Clone, Copy)]
struct Packet {
    bytes: u32,
    rate: Rate,
}

impl Packet {
    fn new(bytes: u32, bits_per_second: u64) -> Packet {
        Packet { bytes, rate: Rate::new(bits_per_second).expect("the rate is within the range of the arithmetic") }
    }

    /// Its time on the link, in nanoseconds.
    fn nanoseconds(self) -> f64 {
        self.rate.time_per_byte().ceil(self.bytes).picoseconds() as f64 / 1000.0
    }
}

/// Both timelines of one size: base (and winner-only) and compute-ahead.
fn timelines(size: Size) -> [Timeline; 2] {
    [Architecture::base(size), Architecture::compute_ahead(size)].map(|architecture| architecture.timeline(size.ports()))
}

fn nanoseconds(timeline: Timeline) -> f64 {
    timeline.decision_time(CLOCK).picoseconds() as f64 / 1000.0
}

pub(super) fn run(_progress: &dyn Fn(f64)) -> Figure {
    let mut figure = prose::figure(prose::SHARESTREAMS, "packet-times");
    let sizes = Size::ALL;
    let periods = |ahead: usize| sizes.map(|size| timelines(size)[ahead].period() as f64).to_vec();
    let rates = timelines(Size::Four).map(|timeline| timeline.decisions_per_second(CLOCK) as f64 / 1e6);
    let clocks = |bytes| {
        let packet = Packet::new(bytes, 10 * GIGABIT);
        timelines(Size::ThirtyTwo).map(|timeline| timeline.least_clock(packet.bytes, packet.rate) as f64 / 1e6).to_vec()
    };
    let worst = timelines(Size::ThirtyTwo).map(nanoseconds);
    let spare = |packet: Packet| worst.map(|decision| packet.nanoseconds() - decision).to_vec();
    let tiled = Architecture::compute_ahead(Size::Eight).timeline(16).period() as f64;
    figure.gates = vec![
        Gate::exactly("cycles per decision among 4, 8, 16, 32: base", "cycles", periods(0), &[3.0, 4.0, 5.0, 6.0]),
        Gate::exactly("cycles per decision among 4, 8, 16, 32: compute-ahead", "cycles", periods(1), &[2.0, 3.0, 4.0, 5.0]),
        Gate::exactly("cycles until 16 streams on a network for 8 have a winner", "cycles", vec![tiled], &[7.0]),
        Gate::within("million decisions per second at 23 MHz, N=4: base, compute-ahead", "", rates.to_vec(), &[7.667, 11.5], 0.001),
        Gate::within("N=32, 64 bytes at 10 Gbit/s, slowest clock: base, compute-ahead", "MHz", clocks(SHORTEST), &[117.2, 97.7], 0.05),
        Gate::within("N=32, 1500 bytes at 10 Gbit/s, slowest clock: base, compute-ahead", "MHz", clocks(LONGEST), &[5.0, 4.17], 0.005),
        Gate::all_at_least("N=32 at 23 MHz: time to spare for 64 bytes at 1 Gbit/s", "ns", spare(Packet::new(SHORTEST, GIGABIT)), 0.0),
        Gate::all_at_least(
            "N=32 at 23 MHz: time to spare for 1500 bytes at 10 Gbit/s",
            "ns",
            spare(Packet::new(LONGEST, 10 * GIGABIT)),
            0.0,
        ),
    ];
    figure.charts.push(chart());
    figure.tables.push(decisions());
    figure.tables.push(tiles());
    figure.tables.push(areas());
    figure
}

/// Decision times at the prototype's clock beside packet times.
fn chart() -> Chart {
    let curve = |name: &str, nanoseconds: &dyn Fn(Size) -> f64| {
        let mut curve = Curve::new(name);
        Size::ALL.iter().for_each(|&size| curve.push(size.ports() as f64, nanoseconds(size)));
        curve
    };
    let packet = |name: &str, packet: Packet| curve(name, &|_| packet.nanoseconds());
    let curves = vec![
        curve("base, winner-only", &|size| nanoseconds(timelines(size)[0])),
        curve("compute-ahead", &|size| nanoseconds(timelines(size)[1])),
        packet("1500 bytes at 10 Gbit/s", Packet::new(LONGEST, 10 * GIGABIT)),
        packet("64 bytes at 1 Gbit/s", Packet::new(SHORTEST, GIGABIT)),
        packet("64 bytes at 10 Gbit/s", Packet::new(SHORTEST, 10 * GIGABIT)),
    ];
    Chart::new(
        "decision-time",
        "Time per decision at 23 MHz, and packet times",
        Axis::logarithmic("streams"),
        Axis::logarithmic("time (ns)"),
        vec![Panel::new("prototype's clock", curves)],
    )
}

fn decisions() -> Table {
    let packets = [Packet::new(SHORTEST, GIGABIT), Packet::new(LONGEST, 10 * GIGABIT), Packet::new(SHORTEST, 10 * GIGABIT)];
    let head = [
        "streams, architecture",
        "cycles",
        "decisions/s at 23 MHz",
        "each",
        "64 B at 1 Gbit/s",
        "1500 B at 10 Gbit/s",
        "64 B at 10 Gbit/s",
    ];
    let row = |size: Size, timeline: Timeline, name: &str| {
        let clock = |packet: Packet| format!("{:.2} MHz", timeline.least_clock(packet.bytes, packet.rate) as f64 / 1e6);
        let mut row = vec![
            format!("{}, {name}", size.ports()),
            timeline.period().to_string(),
            format!("{:.3} M", timeline.decisions_per_second(CLOCK) as f64 / 1e6),
            format!("{:.1} ns", nanoseconds(timeline)),
        ];
        row.extend(packets.map(clock));
        row
    };
    let rows = Size::ALL.iter().flat_map(|&size| {
        let [base, ahead] = timelines(size);
        [row(size, base, "base"), row(size, ahead, "compute-ahead")]
    });
    Table::new("Decisions, and the slowest clock for a packet time", &head, rows.collect())
}

fn tiles() -> Table {
    let head = ["streams on a network for", "cycles for the winner", "slowest clock for 1500 B at 10 Gbit/s"];
    let packet = Packet::new(LONGEST, 10 * GIGABIT);
    let row = |(streams, size): (usize, Size)| {
        let timeline = Architecture::base(size).timeline(streams);
        let clock = timeline.least_clock(packet.bytes, packet.rate) as f64 / 1e6;
        vec![
            format!("{streams} on {}", size.ports()),
            (timeline.schedule(0).end - timeline.schedule(0).start).to_string(),
            format!("{clock:.2} MHz"),
        ]
    };
    let rows = [(16, Size::Eight), (32, Size::Eight), (32, Size::Sixteen)].map(row);
    Table::new("Tiled streams, base architecture", &head, rows.into())
}

fn areas() -> Table {
    let head = ["streams", "Virtex I", "Virtex II"];
    let row = |size: &Size| {
        let streams = size.ports() as u32;
        let mut row = vec![streams.to_string()];
        row.extend(AREA.map(|(_, [block, decision, control])| format!("{} slices", streams * block + streams / 2 * decision + control)));
        row
    };
    Table::new("Area by the paper's components (not reproduced)", &head, Size::ALL.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_add_up_as_in_the_specification_of_eight_streams() {
        assert_eq!(areas().rows[1], ["8", "1982 slices", "1694 slices"]);
        assert_eq!(AREA.map(|(name, _)| name).as_slice(), &areas().head[1..]);
    }

    #[test]
    fn packet_times_are_those_of_the_links() {
        let times = [(SHORTEST, 10), (LONGEST, 10), (SHORTEST, 1)].map(|(bytes, rate)| Packet::new(bytes, rate * GIGABIT).nanoseconds());
        assert_eq!(times, [51.2, 1200.0, 512.0]);
    }
}
