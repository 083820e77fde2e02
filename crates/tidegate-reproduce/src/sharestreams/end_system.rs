//! Figures 12 and 13: bandwidth and queueing delay of an end system.

use super::host::{BACKLOGGED, BURST, FRAMES, Host, Production, WINDOWS, WRITING, decisions};
use super::workload::{Run, beside, name, unproven};
use crate::figure::{Axis, Chart, Curve, Figure, Gate, Panel, Table, numbers};
use crate::prose;
use tidegate_bounds::quantity::NoBound;

/// The paper's bandwidths, in Mbyte/s.
const PUBLISHED: [f64; 4] = [47.15, 47.15, 95.3, 188.6];

/// Why nothing is proven of the delay of a frame.
const ALL_THERE: NoBound = NoBound::Because("all of its frames are there before the first is sent");

/// The pause that the paper states.
const ONE_MILLISECOND: Production = Production { pause: 1000.0, turn: 250 };

/// The same with producers that take turns ten times as often.
const SHORT_TURNS: Production = Production { turn: 25, ..ONE_MILLISECOND };

/// The pause that the paper's text calls "multi-ms": a sleep of 1 ms with clock ticks of 10 ms.
const TWO_TICKS: Production = Production { pause: 20_000.0, ..ONE_MILLISECOND };

/// The winners of the first 8 decisions, by the rules of Table 1. At the second decision between streams 1 and 2 both tolerate 7 of 8, and
/// rule 4 takes the lower numerator.
const FIRST: [u32; 8] = [4, 4, 3, 4, 1, 3, 4, 2];

/// The parameters that the paper does not give, a sentence each.
fn parameters() -> Vec<String> {
    vec![
        format!(
            "The paper gives windows, frame sizes, numbers of frames, a pause of 1 ms, the bus and the clock. Ours: sizes uniform from 64 to \
             1500 bytes from a seeded generator; a producer takes {WRITING} us for a frame, and the one processor turns to the next producer \
             after 250 frames."
        ),
        "Queues, engine and Transmission Engine are those of `tidegate live --end-system`, in virtual time, around the device model. All \
         arrival times cross the bus at 60 Mbyte/s before the first winner is taken; the device decides every three cycles at 23 MHz; \
         winners are taken 1024 at a time. The playout is as fast as the paper's four bandwidths together, 378.2 Mbyte/s: the sum is given, \
         the split is what is reproduced."
            .into(),
        "Arrival times count 32 frames per unit, so that 16 bits order all of them.".into(),
        beside(),
    ]
}

/// The end system takes the decisions of the device alone, and loses no frame.
fn same_as_the_device(host: &Host, run: &Run) -> Gate {
    let lost = if host.account.check().is_ok() { (host.account.offered.packets - host.account.sent.packets) as f64 } else { f64::NAN };
    Gate::exactly("end system: other winners, lost frames", "frames", vec![host.differing(run), lost], &[0.0; 2])
}

/// Figure 12: bandwidth.
pub(super) fn bandwidth(progress: &dyn Fn(f64)) -> Figure {
    let run = &decisions(progress);
    let host = Host::new(ONE_MILLISECOND);
    let mut figure = prose::figure(prose::SHARESTREAMS, "figure-12");
    figure.bounds.push(unproven("a stream", ALL_THERE));
    figure.notes.splice(0..0, parameters());
    let ideal = [1.0, 1.0, 2.0, 4.0].map(|weight| weight / 8.0);
    let unequal = (1..=BACKLOGGED / 16).map(|round| {
        let counts = run.between(0, 16 * round);
        counts.iter().zip(ideal).map(|(count, share)| (count - share * 16.0 * round as f64).abs()).fold(0.0, f64::max)
    });
    let unequal = unequal.fold(0.0, f64::max);
    let curves = host.accrued();
    let settled: Vec<f64> = curves.iter().filter_map(|curve| curve.y.last().copied()).collect();
    let total: f64 = settled.iter().sum();
    let shares = settled.iter().map(|rate| 100.0 * rate / total).collect();
    let first = run.winners[..8].iter().map(|&winner| (winner + 1) as f64).collect();
    figure.gates = vec![
        Gate::exactly("frames in 64,000 decisions", "frames", run.between(0, FRAMES), &numbers([8000, 8000, 16_000, 32_000])),
        Gate::exactly("frames while all are backlogged", "frames", run.between(0, BACKLOGGED), &numbers([16_000, 16_000, 32_000, 64_000])),
        Gate::exactly("farthest from 1:1:2:4 after every 16 decisions", "frames", vec![unequal], &[0.0]),
        Gate::exactly("frames in all", "frames", run.between(0, 4 * FRAMES), &[FRAMES as f64; 4]),
        Gate::near("shares of the bytes", "%", shares, &ideal.map(|share| 100.0 * share), 0.02),
        Gate::near("settled bandwidth, the paper's within 2 %", "Mbyte/s", settled.clone(), &PUBLISHED, 0.02),
        Gate::exactly("the first 8 winners", "", first, &numbers(FIRST)),
        same_as_the_device(&host, run),
        run.same_winners(),
    ];
    let time = Axis::linear("time since the first transmission (ms)");
    let rate = Axis::linear("bandwidth (Mbyte/s)");
    let row = |stream: usize| {
        let [ours, paper] = [settled[stream], PUBLISHED[stream]];
        vec![
            name(stream),
            WINDOWS[stream].0.to_string() + "/" + &WINDOWS[stream].1.to_string(),
            format!("{paper} Mbyte/s"),
            format!("{ours:.2} Mbyte/s"),
            format!("{:.3}", paper / PUBLISHED[0]),
            format!("{:.3}", ours / settled[0]),
        ]
    };
    let head = ["stream", "window", "the paper's", "ours", "the paper's over its first", "ours over our first"];
    let rows = (0..4).map(row).collect();
    figure.tables.push(Table::new("Settled bandwidth", &head, rows));
    figure.charts.push(Chart::new(
        "bandwidth",
        "Bytes sent over time, while all streams are backlogged",
        time.clone(),
        rate.clone(),
        vec![Panel::new("since the first transmission", curves)],
    ));
    figure.charts.push(
        Chart::new(
            "windows",
            "Bandwidth in windows of 10 ms, until all frames are sent",
            time,
            rate,
            vec![Panel { name: "each window by itself".into(), curves: host.windowed() }],
        )
        .stepwise(),
    );
    figure
}

/// Figure 13 with one way of production.
struct Delays {
    curves: Vec<Curve>,
    /// The number of frame numbers at which the delays are not in the order 4 < 3 < 1 and 2.
    disordered: f64,
    means: Vec<f64>,
    /// The delay of frame 4000 less that of frame 4001, in milliseconds.
    drop: Vec<f64>,
    /// The least delay of the first 4000 frames less the largest of the others, in milliseconds.
    apart: Vec<f64>,
    /// The mean delay of the first 4000 frames less that of the others, in milliseconds.
    mean_apart: Vec<f64>,
    /// The mean rise from the first to the last frame of a turn, in milliseconds.
    rise: Vec<f64>,
    /// The number of turns before which the delay falls.
    falls: Vec<f64>,
    turns: usize,
}

impl Delays {
    fn new(host: &Host, production: Production) -> Delays {
        let curves = host.delays();
        let number = |frame: usize| [0, 1, 2, 3].map(|stream: usize| curves[stream].y[frame]);
        let disordered = (0..FRAMES as usize).filter(|&frame| {
            let [first, second, third, fourth] = number(frame);
            !(fourth < third && third < first && third < second)
        });
        let disordered = disordered.count() as f64;
        let mean = |delays: &[f64]| delays.iter().sum::<f64>() / delays.len() as f64;
        let (burst, turn) = (BURST as usize, production.turn as usize);
        let turns = FRAMES as usize / turn;
        let each = |of: &dyn Fn(&[f64]) -> f64| curves.iter().map(|curve| of(&curve.y)).collect::<Vec<f64>>();
        Delays {
            disordered,
            means: each(&mean),
            drop: each(&|delays| delays[burst - 1] - delays[burst]),
            apart: each(&|delays| {
                let (first, rest) = delays.split_at(burst);
                first.iter().copied().fold(f64::MAX, f64::min) - rest.iter().copied().fold(f64::MIN, f64::max)
            }),
            mean_apart: each(&|delays| mean(&delays[..burst]) - mean(&delays[burst..])),
            rise: each(&|delays| delays.chunks(turn).map(|turn| turn[turn.len() - 1] - turn[0]).sum::<f64>() / turns as f64),
            falls: each(&|delays| (1..turns).filter(|number| delays[number * turn] < delays[number * turn - 1]).count() as f64),
            curves,
            turns,
        }
    }
}

/// Figure 13: queueing delay.
pub(super) fn delay(progress: &dyn Fn(f64)) -> Figure {
    let run = &decisions(progress);
    let host = Host::new(ONE_MILLISECOND);
    let stated = Delays::new(&host, ONE_MILLISECOND);
    let [short, long] = [SHORT_TURNS, TWO_TICKS].map(|production| Delays::new(&Host::new(production), production));
    let mut figure = prose::figure(prose::SHARESTREAMS, "figure-13");
    figure.bounds.push(unproven("a stream", ALL_THERE));
    figure.notes.splice(0..0, parameters());
    let all = |turns: usize| [turns as f64 - 1.0; 4];
    // If the pause ends before the turns of the other three do, frame 4001 waits for its turn.
    let turns_of_others = 3.0 * ONE_MILLISECOND.turn as f64 * WRITING / 1000.0;
    figure.gates = vec![
        Gate::exactly("frame numbers at which not 4 < 3 < 1 and 2", "frames", vec![stated.disordered], &[0.0]),
        Gate::near("mean delay of stream 1 over that of stream 2", "", vec![stated.means[0] / stated.means[1]], &[1.0], 0.01),
        Gate::all_at_least("the first 4000 wait longer on average by", "ms", stated.mean_apart.clone(), 100.0),
        Gate::within("1 ms: frame 4001 waits less by the others' turns", "ms", stated.drop.clone(), &[turns_of_others; 4], 0.1),
        Gate::within("1 ms, short turns: frame 4001 waits less by the pause", "ms", short.drop.clone(), &[1.0; 4], 0.1),
        Gate::within("20 ms: frame 4001 waits less by the pause", "ms", long.drop.clone(), &[20.0; 4], 0.1),
        Gate::all_at_least("1 ms: the first 4000 wait longer than any later by", "ms", stated.apart.clone(), 0.0).not_reproduced(
            &[-11.6, -11.6, 0.4, 2.4],
            &[-10.6, -10.6, 1.4, 3.4],
            "With a pause of 1 ms this holds of streams 3 and 4 only: the delay of streams 1 and 2 rises by more while stream 4 is served.",
        ),
        Gate::all_at_least("20 ms: the first 4000 wait longer than any later by", "ms", long.apart.clone(), 0.0),
        Gate::all_at_least("zig-zag: mean rise within a turn", "ms", stated.rise.clone(), 0.0),
        Gate::exactly("zig-zag: turns before which the delay falls", "turns", stated.falls.clone(), &all(stated.turns)),
        same_as_the_device(&host, run),
        run.same_winners(),
    ];
    let row = |(words, delays): (&str, &Delays)| {
        let list = |values: &[f64]| values.iter().map(|value| format!("{value:.1}")).collect::<Vec<_>>().join(", ");
        let holds = if delays.apart.iter().all(|&apart| apart > 0.0) { "all" } else { "3 and 4" };
        vec![words.to_owned(), list(&delays.drop), list(&delays.mean_apart), list(&delays.apart), holds.to_owned()]
    };
    let head = [
        "pause, frames per turn",
        "frame 4000 over 4001 (ms)",
        "first 4000 over the rest, mean (ms)",
        "least of the first 4000 over the most of the rest (ms)",
        "streams in which the first 4000 wait longest",
    ];
    let rows = [("1 ms, 250", &stated), ("1 ms, 25", &short), ("20 ms, 250", &long)].map(row).into();
    figure.tables.push(Table::new("What the pause does, streams 1 to 4", &head, rows));
    let start = |curve: &Curve| Curve {
        x: curve.x[..2 * BURST as usize].to_vec(),
        y: curve.y[..2 * BURST as usize].iter().map(|delay| delay - curve.y[0]).collect(),
        ..Curve::new(curve.name.clone())
    };
    let first = |name: &str, delays: &Delays| Panel { name: name.into(), curves: delays.curves.iter().map(start).collect() };
    figure.charts.push(Chart::new(
        "first-burst",
        "The first burst and the next 4000 frames, less the delay of the first frame",
        Axis::linear("frame"),
        Axis::linear("change of the delay (ms)"),
        vec![first("a pause of 1 ms", &stated), first("a pause of 20 ms", &long)],
    ));
    figure.charts.insert(
        0,
        Chart {
            id: "delay",
            title: "Queueing delay by number of the frame, with a pause of 1 ms".into(),
            x: Axis::linear("frame"),
            y: Axis::linear("queueing delay (ms)"),
            steps: false,
            panels: vec![Panel::new("all frames", stated.curves)],
        },
    );
    figure
}
