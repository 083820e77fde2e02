//! Figures 14 to 16 and the run with deadlines: a line card whose streams are always backlogged.

use super::workload::{CLOCK, Run, Workload, beside, unproven, windows};
use crate::figure::{Axis, Chart, Curve, Figure, Gate, Panel, numbers};
use crate::prose;
use tidegate_bounds::source::Unlimited;
use tidegate_core::dwcs::{Stream, Window};
use tidegate_rtl_model::{Architecture, Size};

/// A note of every figure.
fn note() -> String {
    let nanoseconds = Architecture::base(Size::Four).timeline(4).decision_time(CLOCK).picoseconds() as f64 / 1000.0;
    format!(
        "Time counts decisions, one per winner: at 23 MHz and three cycles each, one takes {nanoseconds:.1} ns. Bandwidth is the number of a \
         stream's packets since time 0 over the time. Packet n of every stream arrives at time n."
    )
}

/// Figure 14: equal shares.
pub(super) fn equal_shares(progress: &dyn Fn(f64)) -> Figure {
    const DECISIONS: u64 = 64_000;
    let run = Run::new(&Workload::backlogged(windows([(3, 4); 4]), DECISIONS), progress);
    let mut figure = prose::figure(prose::SHARESTREAMS, "figure-14");
    figure.bounds.push(unproven("a stream that is always backlogged", Unlimited::Greedy.reason()));
    figure.note(&[&note(), &beside()]);
    let curves = run.bandwidth(&settling(DECISIONS));
    let rounds = |curve: &Curve| -> Vec<f64> {
        let settled = curve.x.iter().zip(&curve.y).filter(|(instant, _)| **instant % 4.0 == 0.0);
        settled.map(|(_, bandwidth)| (bandwidth - 0.25).abs()).collect()
    };
    let unequal: Vec<f64> = curves.iter().map(|curve| rounds(curve).into_iter().fold(0.0, f64::max)).collect();
    figure.gates = vec![
        Gate::exactly("packets in 64,000 decisions", "packets", run.between(0, DECISIONS), &[16_000.0; 4]),
        Gate::exactly("farthest from a quarter, after every 4 decisions", "", unequal, &[0.0; 4]),
        Gate::exactly("fours of decisions other than 1 2 3 4", "fours", vec![run.disordered(&[0, 1, 2, 3])], &[0.0]),
        run.same_winners(),
    ];
    figure.charts.push(bandwidth_chart(vec![Panel::new("four streams of window 3/4", curves)]));
    figure
}

/// The run with deadlines alone.
pub(super) fn deadlines(progress: &dyn Fn(f64)) -> Figure {
    const DECISIONS: u64 = 63_996;
    let stream = |first| Stream { first_deadline: Some(first), ..Stream::windowed(Window::NONE, 4) };
    let run = Run::new(&Workload::backlogged([4, 3, 2, 1].map(stream).into(), DECISIONS), progress);
    let mut figure = prose::figure(prose::SHARESTREAMS, "deadlines");
    figure.bounds.push(unproven("a stream that is always backlogged", Unlimited::Greedy.reason()));
    figure.note(&[&note(), &beside()]);
    figure.gates = vec![
        Gate::exactly("packets in 63,996 decisions", "packets", run.between(0, DECISIONS), &[15_999.0; 4]),
        Gate::exactly("fours of decisions other than 4 3 2 1", "fours", vec![run.disordered(&[3, 2, 1, 0])], &[0.0]),
        run.same_winners(),
    ];
    let curves = run.bandwidth(&settling(DECISIONS));
    figure.charts.push(bandwidth_chart(vec![Panel::new("deadlines alone", curves)]));
    figure
}

/// Figure 15: a stream of static priority joins fair shares.
pub(super) fn static_priority(progress: &dyn Fn(f64)) -> Figure {
    /// When the fourth stream gets its first packet, when the run ends, and where the plot begins.
    const JOINS: u64 = 63_810;
    const DECISIONS: u64 = 64_000;
    const PLOTTED: u64 = 63_700;
    let play = |penalty, from: f64| {
        let mut workload = Workload::backlogged(windows([(2, 4), (3, 4), (3, 4), (0, 255)]), DECISIONS);
        workload.enters[3] = JOINS;
        workload.streams.iter_mut().for_each(|stream| stream.penalty = penalty);
        Run::new(&workload, &|part| progress(from + part / 2.0))
    };
    let (gentle, penalised) = (play(0, 0.0), play(1, 0.5));
    let mut figure = prose::figure(prose::SHARESTREAMS, "figure-15");
    figure.bounds.push(unproven("a stream that is always backlogged", Unlimited::Greedy.reason()));
    figure.note(&[&note(), &beside()]);
    let before = numbers([31_905, 15_953, 15_952, 0]);
    for (run, words, after, first) in [(&gentle, "penalty 0", [0, 0, 0, 190], None), (&penalised, "penalty 1", [1, 0, 1, 188], Some(128.0))]
    {
        figure.gates.push(Gate::exactly(format!("{words}: packets before 63,810"), "packets", run.between(0, JOINS), &before));
        let rest = run.between(JOINS, DECISIONS);
        figure.gates.push(Gate::exactly(format!("{words}: packets from 63,810 to 64,000"), "packets", rest, &numbers(after)));
        if let Some(expected) = first {
            let others = run.counts[..3].iter().flat_map(|curve| curve.x.iter().find(|&&decision| decision >= JOINS as f64));
            let measured = others.map(|decision| decision - JOINS as f64).reduce(f64::min);
            let name = format!("{words}: decisions until another stream is served");
            figure.gates.push(Gate::exactly(name, "decisions", measured.into_iter().collect(), &[expected]));
        }
        figure.gates.push(Gate { name: format!("{words}: {}", run.same_winners().name), ..run.same_winners() });
    }
    let instants: Vec<u64> = (PLOTTED..=DECISIONS).collect();
    let shifted = |mut curves: Vec<Curve>| {
        curves.iter_mut().flat_map(|curve| &mut curve.x).for_each(|instant| *instant -= PLOTTED as f64);
        curves
    };
    let panels = |curves: &dyn Fn(&Run) -> Vec<Curve>| {
        [(&gentle, "no penalty"), (&penalised, "penalty 1")]
            .map(|(run, name)| Panel { name: name.into(), curves: shifted(curves(run)) })
            .into()
    };
    // A logarithmic axis has no 0.
    let bandwidth = |run: &Run| -> Vec<Curve> {
        let positive = |curve: Curve| {
            let none = curve.y.partition_point(|&bandwidth| bandwidth == 0.0);
            Curve { x: curve.x[none..].to_vec(), y: curve.y[none..].to_vec(), ..Curve::new(curve.name) }
        };
        run.bandwidth(&instants).into_iter().map(positive).collect()
    };
    figure.charts.push(
        Chart::new(
            "bandwidth",
            "Bandwidth since time 0, over the last 300 decisions",
            Axis::linear("time since 63,700 (decisions)"),
            Axis::logarithmic("packets per decision"),
            panels(&bandwidth),
        )
        .stepwise(),
    );
    let counted = |run: &Run| -> Vec<Curve> {
        let count = |counts: &Curve| {
            let mut curve = Curve::new(counts.name.clone());
            instants.iter().for_each(|&instant| curve.push(instant as f64, counts.between(PLOTTED as f64, instant as f64)));
            curve
        };
        run.counts.iter().map(count).collect()
    };
    figure.charts.push(
        Chart::new(
            "packets",
            "Packets since 63,700",
            Axis::linear("time since 63,700 (decisions)"),
            Axis::linear("packets"),
            panels(&counted),
        )
        .stepwise(),
    );
    figure
}

/// Figure 16: fair shares beside deadlines.
pub(super) fn shares_beside_deadlines(progress: &dyn Fn(f64)) -> Figure {
    const DECISIONS: u64 = 57_339;
    let mut streams = windows([(2, 3), (5, 6)]);
    streams.extend([2, 1].map(|first| Stream { first_deadline: Some(first), ..Stream::windowed(Window::TIGHTEST, 4) }));
    let run = Run::new(&Workload::backlogged(streams, DECISIONS), progress);
    let mut figure = prose::figure(prose::SHARESTREAMS, "figure-16");
    figure.bounds.push(unproven("a stream that is always backlogged", Unlimited::Greedy.reason()));
    figure.note(&[&note(), &beside()]);
    let counts = run.between(0, DECISIONS);
    figure.gates = vec![
        Gate::exactly("packets in 57,339 decisions", "packets", counts.clone(), &numbers([19_113, 9556, 14_335, 14_335])),
        Gate::near("packets of stream 1 over those of stream 2", "", vec![counts[0] / counts[1]], &[2.0], 0.001),
        Gate::exactly("fours of decisions that do not begin with 4 3", "fours", vec![run.disordered(&[3, 2])], &[0.0]),
        run.same_winners(),
    ];
    let curves = run.bandwidth(&settling(DECISIONS));
    figure.charts.push(bandwidth_chart(vec![Panel::new("shares 2:1 beside deadlines", curves)]));
    figure
}

fn bandwidth_chart(panels: Vec<Panel>) -> Chart {
    Chart::new("bandwidth", "Bandwidth since time 0", Axis::logarithmic("time (decisions)"), Axis::linear("packets per decision"), panels)
        .stepwise()
}

/// Instants from 1 to `end`, dense on a logarithmic axis: every one at first, then multiples of four.
fn settling(end: u64) -> Vec<u64> {
    let mut instants = Vec::new();
    let mut instant = 1;
    while instant < end {
        instants.push(instant);
        instant = if instant < 64 { instant + 1 } else { (instant + instant / 64).next_multiple_of(4) };
    }
    instants.push(end);
    instants
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_rise_and_end_with_the_run() {
        let instants = settling(57_339);
        assert!(instants.is_sorted_by(|a, b| a < b) && instants.len() < 1500);
        assert_eq!((instants[0], instants.last()), (1, Some(&57_339)));
    }

    #[test]
    fn without_the_tightest_window_the_gates_of_figure_16_would_fail() {
        let mut streams = windows([(2, 3), (5, 6)]);
        streams.extend([2, 1].map(|first| Stream { first_deadline: Some(first), ..Stream::windowed(Window::NONE, 4) }));
        let run = Run::new(&Workload::backlogged(streams, 57_339), &|_| {});
        assert_eq!(run.between(0, 57_339), numbers([19_113, 14_334, 9557, 14_335]));
        assert!(run.disordered(&[3, 2]) > 0.0);
    }
}
