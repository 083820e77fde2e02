//! All replications together.

use super::estimate::average;
use super::{CoarseHistogram, Dropped, Estimate, FlowStatistics, Histogram, LongestDelay, PortStatistics, Tagged, TcpStatistics};
use super::{WorkloadOutcome, WorkloadStatistics};
use crate::calls::{CallStatistics, Calls, Refusals};
use crate::failure::FailureStatistics;
use crate::id::LinkId;
use crate::network::Network;
use crate::workload::Pattern;
use std::cmp::Reverse;
use tidegate_atm::adapter::CellRecord;
use tidegate_core::packet::DropReason;
use tidegate_core::port::{Switched, Volume};
use tidegate_core::units::Duration;
use tidegate_statistics::Buckets;

/// What an experiment found. Volumes are sums over the replications; estimates are means over them, with 95 % confidence intervals.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The time over which each replication measured: the duration less the warm-up.
    pub measured: Duration,
    /// The distance of the points of all series; `None` if there are no series.
    pub sample_interval: Option<Duration>,
    /// The flows, in the order of the network.
    pub flows: Vec<FlowOutcome>,
    /// The ports, one per link, in the order of the network.
    pub ports: Vec<PortOutcome>,
    /// The calls, in the order of the network.
    pub calls: Vec<CallOutcome>,
    /// The failures, in the order of the network.
    pub failures: Vec<FailureOutcome>,
    /// The workloads, in the order of the network.
    pub workloads: Vec<WorkloadOutcome>,
    /// What each replication measured by itself, in order.
    pub replications: Vec<Replication>,
}

/// What one replication measured.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Replication {
    /// The flows, in the order of the network.
    pub flows: Vec<FlowStatistics>,
    /// The ports, one per link, in the order of the network.
    pub ports: Vec<PortStatistics>,
    /// The calls, in the order of the network.
    pub calls: Vec<CallStatistics>,
    /// The failures, in the order of the network.
    pub failures: Vec<FailureStatistics>,
    /// The workloads, in the order of the network.
    pub workloads: Vec<WorkloadStatistics>,
    /// The slots in which the connections of workloads took turns. A slot has a connection, or waits for the last packets of one.
    pub connection_slots: u64,
    /// Events, warm-up included.
    pub events: u64,
    /// Packets transmitted, counted on each link, warm-up included.
    pub packet_hops: u64,
    /// What each change of ports did, in their order.
    pub changes: Vec<Switched>,
    /// A deadlock of pauses at the end, empty if there is none: the links and classes of a cycle in which each is paused because of packets that wait
    /// for the next. None of them is ever released.
    pub deadlock: Vec<(LinkId, usize)>,
}

/// One failure over all replications.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailureOutcome {
    /// Its name.
    pub name: String,
    /// When its links failed.
    pub at: Duration,
    /// When they recovered; `None`: never.
    pub until: Option<Duration>,
    /// What it took from all flows: sums over the replications, warm-up included.
    pub lost: FailureStatistics,
}

/// One flow over all replications.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowOutcome {
    /// Its name.
    pub name: String,
    /// The class of its header (for a capture, of its first packet) at each link of the path, by index.
    pub classes: Vec<(LinkId, usize)>,
    /// What the source emitted.
    pub offered: Volume,
    /// What reached the sink.
    pub delivered: Volume,
    /// What was under way at the end.
    pub in_network: Volume,
    /// What was lost where and why; only what occurred.
    pub drops: Vec<(LinkId, DropReason, Volume)>,
    /// What was lost on links after it had been transmitted; only what occurred.
    pub lost_on_links: Vec<(LinkId, Volume)>,
    /// What was lost where it set out, because no path was left.
    pub unrouted: Volume,
    /// What its two ends did, if it is a TCP connection.
    pub tcp: Option<TcpOutcome>,
    /// What its sender tagged, if it is one that tags.
    pub tagged: Option<TaggedOutcome>,
    /// Bits delivered per second.
    pub throughput_bps: Estimate,
    /// Packets lost per packet emitted, 0 to 1.
    pub loss: Estimate,
    /// Delays; `None` if nothing was delivered.
    pub delay: Option<DelayOutcome>,
    /// The replication, from 1, with the packet that has the largest delay of all, warm-ups included; the first of several. `None` without packets.
    pub longest: Option<(u32, LongestDelay)>,
    /// Bits per second delivered in each sample interval, averaged over the replications. The i-th lies between `i` and `i + 1` intervals
    /// from the start of the simulation.
    pub throughput_over_time_bps: Vec<f64>,
}

/// A sender that tags, over all replications.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TaggedOutcome {
    /// What it tagged, and what arrived of that.
    pub tagged: Tagged,
    /// The same for what it did not tag.
    pub untagged: Tagged,
    /// Bits per second delivered of what it did not tag.
    pub untagged_bps: Estimate,
}

/// One TCP connection over all replications. Counts are sums over the replications.
#[derive(Clone, PartialEq, Debug)]
pub struct TcpOutcome {
    /// Bits of data per second that arrived, each once.
    pub goodput_bps: Estimate,
    /// Segments sent, again or for the first time.
    pub segments: u64,
    /// Of them, those sent again.
    pub retransmissions: u64,
    /// How often the retransmission timer fired.
    pub timeouts: u64,
    /// How often duplicate acknowledgements began a recovery.
    pub recoveries: u64,
    /// How often a congestion mark reduced the window.
    pub marks: u64,
    /// The mean round-trip time in seconds; `None` if none was measured.
    pub round_trip_s: Option<Estimate>,
    /// The mean congestion window in bytes; `None` if there are no series.
    pub cwnd_bytes: Option<Estimate>,
    /// Times of complete transfers: from the request, or from the first byte written, to the last byte delivered.
    pub completions: Histogram,
    /// The mean congestion window in bytes in each sample interval, averaged over the replications.
    pub cwnd_over_time_bytes: Vec<f64>,
}

/// Calls of one kind over all replications. Counts are sums over the replications.
#[derive(Clone, PartialEq, Debug)]
pub struct CallOutcome {
    /// Their name.
    pub name: String,
    /// Requests.
    pub requests: u64,
    /// Those that were admitted.
    pub admitted: u64,
    /// Those that a link refused, by what was short; only what occurred.
    pub refused: Vec<Refusals>,
    /// What to call the paths that refusals offer.
    pub alternatives: Vec<String>,
    /// Those that found no flow free.
    pub without_place: u64,
    /// The probability that a request is refused.
    pub blocking: Estimate,
    /// The mean number of calls that hold.
    pub mean_held: Estimate,
    /// The longest delay that a broker promised to one of them; `None` if none was promised.
    pub promised_delay: Option<Duration>,
    /// The longest delay of one of their packets in seconds; `None` if none arrived.
    pub longest_delay_s: Option<f64>,
}

impl CallOutcome {
    fn of(calls: &Calls, runs: &[&CallStatistics], flows: &[FlowOutcome]) -> CallOutcome {
        let longest = |&flow: &usize| flows[flow].delay.as_ref()?.histogram.maximum();
        let mut refused = Vec::new();
        runs.iter().flat_map(|run| &run.refused).for_each(|refusals| Refusals::add(&mut refused, refusals.clone()));
        refused.sort_by_key(|refused| refused.link.0);
        CallOutcome {
            name: calls.name.clone(),
            requests: runs.iter().map(|run| run.requests).sum(),
            admitted: runs.iter().map(|run| run.admitted).sum(),
            refused,
            alternatives: calls.brokered.iter().flat_map(|path| &path.alternatives).map(|(name, _)| name.clone()).collect(),
            without_place: runs.iter().map(|run| run.without_place).sum(),
            blocking: estimate(runs.iter().map(|run| run.blocking())).unwrap_or_default(),
            mean_held: estimate(runs.iter().map(|run| Some(run.mean_held))).unwrap_or_default(),
            promised_delay: runs.iter().filter_map(|run| run.promised_delay).max(),
            longest_delay_s: calls.flows.iter().filter_map(longest).reduce(f64::max),
        }
    }
}

/// The quantiles of delays that have an interval.
pub const QUANTILES: [f64; 3] = [0.5, 0.99, 0.999];

/// Delays over all replications.
#[derive(Clone, PartialEq, Debug)]
pub struct DelayOutcome {
    /// The mean, in seconds.
    pub mean_s: Estimate,
    /// The mean absolute difference between the delays of consecutive deliveries, in seconds; `None` if there never were two.
    pub jitter_s: Option<Estimate>,
    /// The delays of all replications: quantiles, maximum and tail.
    pub histogram: Histogram,
    /// The quantiles of each replication for [`QUANTILES`], in seconds.
    pub quantiles_s: [Estimate; QUANTILES.len()],
    /// The absolute differences between the delays of consecutive deliveries, of all replications.
    pub jitter: CoarseHistogram,
}

/// One port over all replications.
#[derive(Clone, PartialEq, Debug)]
pub struct PortOutcome {
    /// The name of its link.
    pub name: String,
    /// The link's rate in bits per second.
    pub rate_bps: u64,
    /// What was offered, with what was queued when the warm-ups ended: `offered = sent + dropped + queued`.
    pub offered: Volume,
    /// What was transmitted.
    pub sent: Volume,
    /// What was dropped.
    pub dropped: Dropped,
    /// What was queued at the end.
    pub queued: Volume,
    /// The share of the time in which the link was transmitting.
    pub utilisation: Estimate,
    /// Mean queued bytes.
    pub occupancy_mean_bytes: Estimate,
    /// The most bytes ever queued.
    pub occupancy_max_bytes: u64,
    /// Mean queued bytes in each sample interval, averaged over the replications.
    pub occupancy_over_time_bytes: Vec<f64>,
    /// Packets dropped per second in each sample interval, averaged over the replications, for each reason that occurred.
    pub drops_over_time: Vec<(DropReason, Vec<f64>)>,
    /// The classes, in the order of the policy.
    pub classes: Vec<ClassOutcome>,
    /// The pauses of classes that the far end of the link may pause; empty if it pauses none.
    pub pauses: Vec<PauseOutcome>,
}

/// The pauses of one class of a port over all replications.
#[derive(Clone, PartialEq, Debug)]
pub struct PauseOutcome {
    /// The class.
    pub class: usize,
    /// How often it was paused.
    pub pauses: u64,
    /// The share of the time in which it was paused, 0 to 1.
    pub share: Estimate,
    /// The longest pause, in seconds.
    pub longest_s: f64,
    /// In how many replications it was paused at the end.
    pub paused_at_end: u32,
    /// In how many replications it was part of a [deadlock](Replication::deadlock) at the end.
    pub deadlocked: u32,
    /// The most bytes of the class that the node at the far end ever held.
    pub greatest_held_bytes: u64,
}

/// One class of a port over all replications.
#[derive(Clone, PartialEq, Debug)]
pub struct ClassOutcome {
    /// Its name.
    pub name: String,
    /// What was offered, with what was queued when the warm-ups ended.
    pub offered: Volume,
    /// What was transmitted.
    pub sent: Volume,
    /// What was dropped.
    pub dropped: Dropped,
    /// What was queued at the end.
    pub queued: Volume,
    /// What the policer gave another colour.
    pub marked: Volume,
    /// What an AQM, or the link's `mark_above`, marked as CE.
    pub ce_marked: Volume,
    /// Bits transmitted per second.
    pub throughput_bps: Estimate,
    /// Packets dropped per packet offered, 0 to 1.
    pub loss: Estimate,
    /// The mean time from arrival to the start of transmission, in seconds; `None` if nothing was transmitted.
    pub wait_s: Option<Estimate>,
    /// Times from arrival to the start of transmission, over all replications.
    pub sojourns: Histogram,
    /// Times from arrival to the last bit on the link, over all replications.
    pub delays: Histogram,
    /// Mean queued bytes.
    pub occupancy_mean_bytes: Estimate,
    /// The most bytes ever queued.
    pub occupancy_max_bytes: u64,
    /// Mean queued bytes in each sample interval, averaged over the replications.
    pub occupancy_over_time_bytes: Vec<f64>,
    /// What happened to its cells, if the port is that of an ATM adapter.
    pub cells: Option<CellRecord>,
}

impl Outcome {
    /// Brings the replications together. `names` are the classes of each link, `classes` those of each flow at each link of its path.
    pub(crate) fn of(
        network: &Network,
        names: &[Vec<String>],
        classes: Vec<Vec<(LinkId, usize)>>,
        measured: Duration,
        sample_interval: Option<Duration>,
        replications: Vec<Replication>,
    ) -> Outcome {
        let (span, sample) = (in_seconds(measured), sample_interval.map_or(1.0, in_seconds));
        let flows = network.flows.iter().zip(classes).enumerate().map(|(index, (flow, classes))| {
            let runs: Vec<&FlowStatistics> = replications.iter().map(|run| &run.flows[index]).collect();
            let tagged = flow.tagging.map(|_| TaggedOutcome::of(&runs, span));
            FlowOutcome { tagged, ..FlowOutcome::of(flow.name.clone(), classes, &runs, span, sample) }
        });
        let ports = network.links.iter().enumerate().map(|(index, link)| {
            let runs: Vec<&PortStatistics> = replications.iter().map(|run| &run.ports[index]).collect();
            let names = names[index].iter().cloned();
            let port = PortOutcome::of(link.name.clone(), link.port.rate.bits_per_second(), names, &runs, span, sample);
            let is_locked = |run: &Replication, class| run.deadlock.contains(&(LinkId(index), class));
            let deadlocked = |class| replications.iter().filter(|run| is_locked(run, class)).count() as u32;
            PortOutcome { pauses: PauseOutcome::of_each(&runs, measured, deadlocked), ..port }
        });
        let (flows, ports): (Vec<FlowOutcome>, _) = (flows.collect(), ports.collect());
        let calls = network.calls.iter().enumerate().map(|(index, calls)| {
            let runs: Vec<&CallStatistics> = replications.iter().map(|run| &run.calls[index]).collect();
            CallOutcome::of(calls, &runs, &flows)
        });
        let calls = calls.collect();
        let failures = network.failures.iter().enumerate().map(|(index, failure)| {
            let runs = replications.iter().map(|run| run.failures[index]);
            let lost = runs.fold(FailureStatistics::default(), FailureStatistics::plus);
            FailureOutcome { name: failure.name.clone(), at: failure.at, until: failure.until, lost }
        });
        let failures = failures.collect();
        let workloads = network.workloads.iter().enumerate().map(|(index, workload)| {
            let runs: Vec<&WorkloadStatistics> = replications.iter().map(|run| &run.workloads[index]).collect();
            WorkloadOutcome::of(workload.name.clone(), matches!(workload.pattern, Pattern::Incast { .. }), &runs, span)
        });
        let workloads = workloads.collect();
        Outcome { measured, sample_interval, flows, ports, calls, failures, workloads, replications }
    }

    /// Events of all replications, warm-up included.
    pub fn events(&self) -> u64 {
        self.replications.iter().map(|replication| replication.events).sum()
    }

    /// Packets transmitted over all links and replications, warm-up included.
    pub fn packet_hops(&self) -> u64 {
        self.replications.iter().map(|replication| replication.packet_hops).sum()
    }

    /// Jain's index of the goodputs of all TCP connections: the mean of each replication's. `None` with fewer than two connections, or if no data
    /// arrived. The index of the means would call connections fair that take turns from one replication to the next.
    pub fn tcp_fairness(&self) -> Option<Estimate> {
        let index = |run: &Replication| {
            let goodputs: Vec<f64> = run.flows.iter().filter_map(|flow| flow.tcp.as_ref()).map(|tcp| tcp.delivered as f64).collect();
            jain(&goodputs).filter(|_| goodputs.len() > 1)
        };
        estimate(self.replications.iter().map(index))
    }

    /// The points of all series in seconds: the ends of the sample intervals.
    pub fn sample_times_s(&self) -> Vec<f64> {
        let points = self.ports.first().map_or(0, |port| port.occupancy_over_time_bytes.len());
        let interval = self.sample_interval.map_or(0.0, in_seconds);
        (1..=points).map(|point| point as f64 * interval).collect()
    }
}

/// Jain's index of fairness of some rates, `(sum x)^2 / (n sum x^2)`: 1 if all are equal, 1/n if one has all. `None` without a rate
/// above 0. Source: Jain, Chiu and Hawe, DEC-TR-301, 1984.
///
/// ```
/// use tidegate_sim::statistics::jain;
/// assert_eq!(jain(&[3.0, 3.0]), Some(1.0));
/// assert_eq!(jain(&[3.0, 0.0, 0.0]), Some(1.0 / 3.0));
/// assert_eq!(jain(&[0.0]), None);
/// ```
pub fn jain(rates: &[f64]) -> Option<f64> {
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(sum, squares), rate| (sum + rate, squares + rate * rate));
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

impl FlowOutcome {
    fn of(name: String, classes: Vec<(LinkId, usize)>, runs: &[&FlowStatistics], span: f64, sample: f64) -> FlowOutcome {
        let dropped = runs.iter().flat_map(|run| &run.dropped).map(|&(link, reason, lost)| ((link, reason), lost));
        let drops = summed(&classes, dropped, |(link, reason)| (link, reason as usize));
        let lost_on_links = summed(&classes, runs.iter().flat_map(|run| &run.lost_on_links).copied(), |link| (link, 0));
        FlowOutcome {
            name,
            classes,
            offered: runs.iter().map(|run| run.offered).sum(),
            delivered: runs.iter().map(|run| run.delivered).sum(),
            in_network: runs.iter().map(|run| run.in_network).sum(),
            drops: drops.into_iter().map(|((link, reason), lost)| (link, reason, lost)).collect(),
            lost_on_links,
            unrouted: runs.iter().map(|run| run.unrouted).sum(),
            tcp: TcpOutcome::of(runs, span),
            tagged: None,
            throughput_bps: estimate(runs.iter().map(|run| Some(bits_per_second(run.delivered, span)))).unwrap_or_default(),
            loss: estimate(runs.iter().map(|run| run.loss())).unwrap_or_default(),
            delay: estimate(runs.iter().map(|run| run.delays.mean())).map(|mean_s| DelayOutcome {
                mean_s,
                jitter_s: estimate(runs.iter().map(|run| run.jitter.mean())),
                histogram: merged(runs.iter().map(|run| &run.delays)),
                quantiles_s: QUANTILES.map(|part| estimate(runs.iter().map(|run| run.delays.quantile(part))).unwrap_or_default()),
                jitter: merged(runs.iter().map(|run| &run.jitter)),
            }),
            longest: (1..)
                .zip(runs)
                .filter_map(|(number, run)| Some((number, run.longest?)))
                .max_by_key(|&(number, longest)| (longest.delay, Reverse(number))),
            throughput_over_time_bps: average(runs.iter().map(|run| run.delivered_bytes.iter().map(|&bytes| bytes as f64 * 8.0 / sample))),
        }
    }
}

impl TaggedOutcome {
    fn of(runs: &[&FlowStatistics], span: f64) -> TaggedOutcome {
        let tagged = Tagged {
            offered: runs.iter().map(|run| run.tagged.offered).sum(),
            delivered: runs.iter().map(|run| run.tagged.delivered).sum(),
        };
        let untagged = Tagged {
            offered: runs.iter().map(|run| run.offered_untagged()).sum(),
            delivered: runs.iter().map(|run| run.delivered_untagged()).sum(),
        };
        let untagged_bps = estimate(runs.iter().map(|run| Some(bits_per_second(run.delivered_untagged(), span))));
        TaggedOutcome { tagged, untagged, untagged_bps: untagged_bps.unwrap_or_default() }
    }
}

impl TcpOutcome {
    /// `None` if the flow is no connection.
    fn of(runs: &[&FlowStatistics], span: f64) -> Option<TcpOutcome> {
        let runs: Vec<&TcpStatistics> = runs.iter().filter_map(|run| run.tcp.as_deref()).collect();
        let count = |of: fn(&TcpStatistics) -> u64| runs.iter().map(|run| of(run)).sum();
        let rate = |bytes: u64| bits_per_second(Volume { packets: 0, bytes }, span);
        Some(TcpOutcome {
            goodput_bps: estimate(runs.iter().map(|run| Some(rate(run.delivered))))?,
            segments: count(|run| run.segments),
            retransmissions: count(|run| run.retransmissions),
            timeouts: count(|run| run.timeouts),
            recoveries: count(|run| run.recoveries),
            marks: count(|run| run.marks),
            round_trip_s: estimate(runs.iter().map(|run| run.mean_round_trip())),
            cwnd_bytes: estimate(runs.iter().map(|run| run.cwnd_mean)),
            completions: merged(runs.iter().map(|run| &run.completions)),
            cwnd_over_time_bytes: average(runs.iter().map(|run| run.cwnd_over_time.iter().copied())),
        })
    }
}

/// The sums of what several replications lost, by key; in the order of the path.
fn summed<K: PartialEq + Copy>(
    path: &[(LinkId, usize)],
    losses: impl Iterator<Item = (K, Volume)>,
    link_and_kind: impl Fn(K) -> (LinkId, usize),
) -> Vec<(K, Volume)> {
    let mut all: Vec<(K, Volume)> = Vec::new();
    for (key, lost) in losses {
        match all.iter_mut().find(|known| known.0 == key) {
            Some(known) => known.1 += lost,
            None => all.push((key, lost)),
        }
    }
    let place = |link: LinkId| path.iter().position(|&(other, _)| other == link).unwrap_or(usize::MAX);
    all.sort_by_key(|&(key, _)| (place(link_and_kind(key).0), link_and_kind(key)));
    all
}

impl PortOutcome {
    fn of(
        name: String,
        rate_bps: u64,
        class_names: impl Iterator<Item = String>,
        runs: &[&PortStatistics],
        span: f64,
        sample: f64,
    ) -> PortOutcome {
        let dropped = all_dropped(runs.iter().map(|run| &run.dropped));
        let drops_over_time = DropReason::ALL.iter().copied().filter_map(|reason| {
            let series = average(runs.iter().map(|run| run.drops_over_time[reason as usize].iter().map(|&n| n as f64 / sample)));
            (!series.is_empty()).then_some((reason, series))
        });
        let classes: Vec<ClassOutcome> = class_names.enumerate().map(|(class, name)| ClassOutcome::of(name, class, runs, span)).collect();
        PortOutcome {
            name,
            rate_bps,
            offered: runs.iter().map(|run| run.offered).sum(),
            sent: runs.iter().map(|run| run.sent).sum(),
            dropped,
            queued: runs.iter().map(|run| run.queued).sum(),
            utilisation: estimate(runs.iter().map(|run| Some(run.utilisation))).unwrap_or_default(),
            occupancy_mean_bytes: estimate(runs.iter().map(|run| Some(run.occupancy_mean_bytes))).unwrap_or_default(),
            occupancy_max_bytes: runs.iter().map(|run| run.occupancy_max_bytes).max().unwrap_or(0),
            occupancy_over_time_bytes: total_over_time(&classes),
            drops_over_time: drops_over_time.collect(),
            classes,
            pauses: Vec::new(),
        }
    }
}

impl PauseOutcome {
    /// Those of a port; `deadlocked` says in how many replications a class was part of a deadlock.
    fn of_each(runs: &[&PortStatistics], measured: Duration, deadlocked: impl Fn(usize) -> u32) -> Vec<PauseOutcome> {
        let classes = runs.first().map_or(0, |run| run.pauses.len());
        let of_place = |place: usize| {
            let runs = || runs.iter().map(|run| run.pauses[place]);
            let class = runs().next()?.class;
            let share = |time: u64| (measured > Duration::ZERO).then(|| time as f64 / measured.picoseconds() as f64);
            Some(PauseOutcome {
                class,
                pauses: runs().map(|run| run.pauses).sum(),
                share: estimate(runs().map(|run| share(run.time))).unwrap_or_default(),
                longest_s: runs().map(|run| run.longest).max().unwrap_or(0) as f64 / 1e12,
                paused_at_end: runs().filter(|run| run.is_paused).count() as u32,
                deadlocked: deadlocked(class),
                greatest_held_bytes: runs().map(|run| run.greatest_held).max().unwrap_or(0),
            })
        };
        (0..classes).filter_map(of_place).collect()
    }
}

impl ClassOutcome {
    fn of(name: String, class: usize, runs: &[&PortStatistics], span: f64) -> ClassOutcome {
        let cells = runs.iter().filter_map(|run| run.cells.get(class).copied()).reduce(CellRecord::plus);
        let runs: Vec<_> = runs.iter().map(|run| &run.classes[class]).collect();
        let loss = runs.iter().map(|run| {
            let lost: u64 = run.dropped.iter().map(|volume| volume.packets).sum();
            (run.offered.packets > 0).then(|| lost as f64 / run.offered.packets as f64)
        });
        ClassOutcome {
            name,
            offered: runs.iter().map(|run| run.offered).sum(),
            sent: runs.iter().map(|run| run.sent).sum(),
            dropped: all_dropped(runs.iter().map(|run| &run.dropped)),
            queued: runs.iter().map(|run| run.queued).sum(),
            marked: runs.iter().map(|run| run.marked).sum(),
            ce_marked: runs.iter().map(|run| run.ce_marked).sum(),
            throughput_bps: estimate(runs.iter().map(|run| Some(bits_per_second(run.sent, span)))).unwrap_or_default(),
            loss: estimate(loss).unwrap_or_default(),
            wait_s: estimate(runs.iter().map(|run| run.sojourns.mean())),
            sojourns: merged(runs.iter().map(|run| &run.sojourns)),
            delays: merged(runs.iter().map(|run| &run.delays)),
            occupancy_mean_bytes: estimate(runs.iter().map(|run| Some(run.occupancy.mean()))).unwrap_or_default(),
            occupancy_max_bytes: runs.iter().map(|run| run.occupancy.maximum()).max().unwrap_or(0),
            occupancy_over_time_bytes: average(runs.iter().map(|run| run.occupancy.samples().iter().copied())),
            cells,
        }
    }
}

fn in_seconds(duration: Duration) -> f64 {
    duration.picoseconds() as f64 / 1e12
}

fn bits_per_second(volume: Volume, span: f64) -> f64 {
    if span > 0.0 { volume.bytes as f64 * 8.0 / span } else { 0.0 }
}

/// What all classes together hold over time.
fn total_over_time(classes: &[ClassOutcome]) -> Vec<f64> {
    let points = classes.first().map_or(0, |class| class.occupancy_over_time_bytes.len());
    (0..points).map(|point| classes.iter().map(|class| class.occupancy_over_time_bytes[point]).sum()).collect()
}

/// The estimate from the replications that have a value; `None` if none has.
fn estimate(values: impl Iterator<Item = Option<f64>>) -> Option<Estimate> {
    Estimate::of(&values.flatten().collect::<Vec<f64>>())
}

fn all_dropped<'a>(runs: impl Iterator<Item = &'a Dropped>) -> Dropped {
    runs.fold(Dropped::default(), |all, run| std::array::from_fn(|reason| all[reason] + run[reason]))
}

fn merged<'a, const FINE: u32>(histograms: impl Iterator<Item = &'a Buckets<FINE>>) -> Buckets<FINE> {
    let mut all = Buckets::default();
    histograms.for_each(|histogram| all.merge(histogram));
    all
}

#[cfg(test)]
mod tests;
