//! The queues of an ATM adapter: how long the cell scheduler delays a frame, from its last bit in to its last cell out.
//!
//! **Law.** Planned times of the cells of a connection are a peak interval `T` or more apart. Let `rho` be the sum of `1 / T` over `n` connections, and no
//! interval be stretched. Then no cell starts later than `W` slots after its planned time:
//! * earliest planned time first: `W = n` if `rho <= 1`. From the first slot of a period in which cells are due, `n + rho t` cells are planned in
//!   `t` slots.
//! * by tolerance: `n` after the tolerance of the cell, by the same sum over deadlines;
//! * by priority: `n / (1 - rho')` with `n` connections of this priority and higher ones, and `rho'` of the higher ones. Lower ones count for nothing;
//! * with minimum shares: `n / (1 - rho)`, in any order.
//!
//! Up to the tolerance `C`, lateness costs nothing. Each cell therefore leaves, but for `W`, no later than from a shaper of intervals `T + (W - C)+`. A
//! single bucket has the burst tolerance `BT - W - (Ts - T)`: a token may be taken late, and part of one is lost when a burst ends. A dual bucket counts as one
//! cell every `Ts + W`. A slot passes before the frame is seen and another while its last cell is sent.
//!
//! **Source.** Derived here from the laws of `tidegate_cells`; packet-level searches found no excess.

use super::{AT_ONCE, PortQueue, Traffic};
use crate::policy::Policy;
use tidegate_atm::adapter::{AdapterSetup, CELL, Encapsulation, slot_time};
use tidegate_bounds::curve::{Arrival, Service, TokenBucket};
use tidegate_bounds::network::Server;
use tidegate_bounds::quantity::{NoBound, Picoseconds, bits, down, plus, times, up};
use tidegate_bounds::service::{Row, shaping_delay};
use tidegate_cells::{CATCH_UP, CellContract, Conflict, Mode, SLOT, aal5_cells};

/// The bits of a cell.
const CELL_BITS: u64 = 8 * CELL as u64;

/// A part of the link, in `1 / WHOLE` of its slots.
const WHOLE: u128 = 1 << 60;

/// What each queue of each class is guaranteed.
pub(in crate::proof) fn adapter(policy: &Policy, setup: &AdapterSetup, traffic: &Traffic<'_>) -> Vec<Vec<PortQueue>> {
    let mut queues = Vec::new();
    for (class, of_class) in policy.classes.iter().enumerate() {
        queues.extend((0..of_class.queues).map(|queue| (class, queue)));
    }
    let in_use = |&(class, queue): &(usize, u32)| (traffic.number)(class, queue).is_some();
    let contracts: Vec<&CellContract> =
        queues.iter().zip(&setup.contracts).filter(|(queue, _)| in_use(queue)).map(|(_, own)| own).collect();
    let slot = Picoseconds::from(slot_time(policy.rate).picoseconds());
    let mut all: Vec<Vec<PortQueue>> = policy.classes.iter().map(|class| Vec::with_capacity(class.queues as usize)).collect();
    for (&(class, queue), own) in queues.iter().zip(&setup.contracts) {
        let delay = || {
            let late = lateness(own, &contracts, setup)?;
            let held = shaping_delay(&cells(class, queue, setup.encapsulation, traffic)?, &contract(own, late, slot)?)?;
            let slots = plus(late, 2 * i128::from(SLOT))?;
            plus(held, up(times(slots, slot)?, SLOT.into()))
        };
        let delay = delay();
        let reason = NoBound::Because("the cell scheduler serves by contracts, and in the order of planned times");
        let row = Row { guaranteed: Err(reason.clone()), strict: Err(reason), delay: Some(delay.clone()) };
        let server = delay.map(|delay| Server::fluid(Service::rate_latency(AT_ONCE, delay)));
        all[class].push(PortQueue { row, server, left: Vec::new() });
    }
    all
}

/// How long after its planned time a cell of a connection starts, in ticks, beside these connections, which include it.
fn lateness(own: &CellContract, all: &[&CellContract], setup: &AdapterSetup) -> Result<i128, NoBound> {
    let because = |reason| Err(NoBound::Because(reason));
    if setup.transfer.is_some() {
        return because("its cells are fetched over a bus, and may come late");
    }
    let has_shares = setup.minimum_shares.iter().any(|share| share.0 > 0);
    let by_priority = setup.conflict == Conflict::Priority && !has_shares;
    let counts = |other: &&&CellContract| !by_priority || other.class <= own.class;
    let part = |contract: &CellContract| (WHOLE * u128::from(SLOT)).div_ceil(contract.peak_interval.0.into());
    let count = all.iter().filter(counts).count() as u128;
    let load: u128 = all.iter().filter(counts).map(|contract| part(contract)).sum();
    if load > WHOLE {
        return because("the peak rates of the contracts together exceed the link, which stretches their intervals");
    }
    let first: u128 = match setup.conflict {
        _ if has_shares => load,
        Conflict::Priority => all.iter().filter(|other| other.class < own.class).map(|contract| part(contract)).sum(),
        Conflict::Lazy | Conflict::Tolerance => 0,
        Conflict::NextFree => return because("cells book slots in the order in which they are planned, and not of their planned times"),
    };
    if first == WHOLE {
        return because("the connections that may go first have the whole link");
    }
    let late = (count * u128::from(SLOT) * WHOLE).div_ceil(WHOLE - first);
    let tolerance = if setup.conflict == Conflict::Tolerance && !has_shares { own.delay_variation_tolerance.0 } else { 0 };
    i128::try_from(late).ok().and_then(|late| late.checked_add(tolerance.into())).ok_or(NoBound::OutOfRange)
}

/// What a connection surely is granted whose cells are late by up to `late` ticks; in bits on the link, with slots of `slot` ps.
fn contract(own: &CellContract, late: i128, slot: Picoseconds) -> Result<Arrival, NoBound> {
    let peak = i128::from(own.peak_interval.0);
    let stretched = peak + (late - i128::from(own.delay_variation_tolerance.0)).max(0);
    // Cells at an interval, and the burst that a tolerance gives.
    let bucket = |interval: i128, tolerance: i128| {
        let per_second = down(times(bits(CELL_BITS), SLOT.into())?, times(interval, slot)?);
        let burst = plus(bits(CELL_BITS), down(times(bits(CELL_BITS), tolerance)?, interval))?;
        Ok(TokenBucket { burst, rate: u64::try_from(per_second).map_err(|_| NoBound::OutOfRange)? })
    };
    let mut buckets = vec![bucket(stretched, 0)?];
    let tolerance = i128::from(own.burst_tolerance().0);
    match own.mode {
        Mode::Constant => {}
        Mode::SingleBucket(sustained) => {
            let interval = (i128::from(sustained.interval.0) + (late - i128::from(CATCH_UP)).max(0)).max(stretched);
            let left = tolerance - late - (interval - peak);
            buckets.push(bucket(interval + (-left).max(0), left.max(0))?);
        }
        Mode::DualBucket(sustained) => buckets.push(bucket((i128::from(sustained.interval.0) + late).max(stretched), 0)?),
    }
    Ok(Arrival::new(buckets))
}

/// What comes to a queue, in bits of whole cells, the header before every frame included.
fn cells(class: usize, queue: u32, encapsulation: Encapsulation, traffic: &Traffic<'_>) -> Result<Arrival, NoBound> {
    let arrival = (traffic.arrival)(class, queue)?;
    let Some((least, most)) = (traffic.lengths)(class, queue).filter(|_| encapsulation.header() > 0) else { return Ok(arrival) };
    let ratio = |length: u32| (i128::from(encapsulation.cells_of(length)), i128::from(aal5_cells(length)));
    let largest = (least..=most).map(ratio).max_by(|one, other| (one.0 * other.1).cmp(&(other.0 * one.1)));
    let (more, less) = largest.unwrap_or((1, 1));
    let mut buckets = Vec::with_capacity(arrival.buckets().len());
    for TokenBucket { burst, rate } in arrival.buckets() {
        let rate = u64::try_from(up(times((*rate).into(), more)?, less)).map_err(|_| NoBound::OutOfRange)?;
        buckets.push(TokenBucket { burst: up(times(*burst, more)?, less), rate });
    }
    Ok(Arrival::new(buckets))
}
