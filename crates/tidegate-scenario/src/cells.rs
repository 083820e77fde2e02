//! Builds the cell scheduler of a policy from its tables: contracts, minimum shares and transfers.
//!
//! Rates become intervals in ticks, rounded up so that no contract is exceeded. Tolerances are rounded down for the same reason.

use crate::diagnostic::{Diagnostic, Span};
use crate::document::{CellContractTable, CellsTable, ClassTable, PolicyTable, TransferTable};
use crate::units::{Ratio, print_rate};
use crate::value::{At, Block};
use tidegate_atm::adapter::{AdapterSetup, Encapsulation, LONGEST_FRAME, slot_time};
use tidegate_cells::{CLASSES, CellContract, CellContractField, CellRate, Conflict, Mode, Prefetch, SLOT, Sustained, Ticks, TransferSetup};
use tidegate_core::buffer::BufferField;
use tidegate_core::packet::DropReason;
use tidegate_core::shaper::Bucket;
use tidegate_core::units::{Duration, Overhead, Rate};

/// The priority of a class without a contract, which gets what the others leave.
const LOWEST: u8 = CLASSES as u8 - 1;

/// The default number of cells per transfer.
const DEFAULT_TRANSFER_CELLS: u32 = 8;

/// Reports keys that have no effect: those of a packet scheduler beside `cells`, and those of cells without it.
pub(crate) fn judge(table: &PolicyTable, findings: &mut Vec<Diagnostic>) {
    let Some(cells) = &table.cells else {
        for contract in table.class.iter().filter_map(|class| class.contract.as_ref()) {
            let finding = contract.error("`contract` has no effect: the policy has no `cells`");
            findings.push(finding.help("add cells = { } to the policy, or use `shape`"));
        }
        return;
    };
    let mut unused = |span: &Span, key: &str, help: &str| {
        let finding = Diagnostic::error(span.clone(), format!("`{key}` has no effect: the cell scheduler serves all connections"));
        findings.push(finding.context(cells.span.clone(), "the cell scheduler").help(help));
    };
    if let Some(at) = &table.scheduler {
        unused(&at.span, "scheduler", "remove it, or remove `cells`");
    }
    if let Some(group) = table.group.first() {
        unused(&group.span, "group", "put the classes directly into the policy, with a `priority` in their contracts");
    }
    for class in &table.class {
        if let Some(shape) = &class.shape {
            unused(&shape.span, "shape", "write it as `contract`, which counts cells");
        }
        if let Some(at) = &class.queue_scheduler {
            unused(&at.span, "queue_scheduler", "remove it: every queue is a connection");
        }
    }
    if let Some(at) = table.overhead.as_ref().filter(|at| at.value.0 != Overhead::Aal5) {
        let finding = at.error("a link of cells has the overhead of AAL5");
        findings.push(finding.context(cells.span.clone(), "the cell scheduler").help("remove `overhead`, or remove `cells`"));
    }
    let buffers = table.buffer.iter().chain(table.class.iter().filter_map(|class| class.buffer.as_deref()));
    for at in buffers.filter_map(|buffer| buffer.manager.as_ref()) {
        let kind = at.value.0;
        if kind.drop_reasons().contains(&DropReason::PushedOut) || kind.accepts().contains(&BufferField::Threshold) {
            let problem = format!("{} cannot be used with `cells`: frames are not taken back, and come whole", kind.name());
            findings.push(at.error(problem).help("choose tail-drop or dynamic-threshold"));
        }
    }
}

/// Builds the cell scheduler of a policy whose classes have this many queues each. `None` if it reports an error.
pub(crate) fn adapter(
    cells: &Block<CellsTable>,
    classes: &[Block<ClassTable>],
    queues: &[u32],
    link: &At<Rate>,
    longest_frame: u32,
    findings: &mut Vec<Diagnostic>,
) -> Option<AdapterSetup> {
    let before = findings.len();
    let encapsulation = cells.encapsulation.as_ref().map_or(Encapsulation::VcMultiplexed, |at| at.value.0);
    if longest_frame + encapsulation.header() > LONGEST_FRAME {
        let problem = format!("AAL5 carries frames up to {LONGEST_FRAME} B, the LLC/SNAP header included");
        findings.push(cells.error(problem).help("lower `longest_frame`"));
    }
    let mut contracts = Vec::new();
    for (index, &queues) in queues.iter().enumerate() {
        let contract = match classes.get(index).and_then(|class| class.contract.as_ref()) {
            Some(table) => contract(table, link, findings),
            None => Some(CellContract { class: LOWEST, ..CellContract::constant(Ticks(SLOT)) }),
        };
        contracts.extend(contract.into_iter().flat_map(|contract| (0..queues).map(move |_| contract)));
    }
    let setup = AdapterSetup {
        contracts,
        conflict: cells.conflict.as_ref().map_or(Conflict::Lazy, |at| at.value.0),
        minimum_shares: cells.minimum_shares.as_ref().map_or([CellRate::ZERO; CLASSES], |shares| minimum_shares(shares, findings)),
        transfer: cells.transfer.as_ref().and_then(|table| transfer(table, link.value, findings)),
        encapsulation,
    };
    if findings.len() > before {
        return None;
    }
    setup.check().map_err(|error| findings.push(cells.error(error.to_string()))).ok().map(|()| setup)
}

/// The minimum share of each priority. Their sum is at most the link.
fn minimum_shares(shares: &Block<Vec<At<Ratio>>>, findings: &mut Vec<Diagnostic>) -> [CellRate; CLASSES] {
    const WHOLE: u64 = 1_000_000_000;
    let mut minimum = [CellRate::ZERO; CLASSES];
    if shares.len() > CLASSES {
        let finding = shares.error(format!("{} minimum shares, but there are {CLASSES} priorities", shares.len()));
        findings.push(finding.help("write one share for each of priorities 0 to 7, the first for priority 0"));
    }
    let sum = shares.iter().fold(0u64, |sum, at| sum.saturating_add(at.value.billionths()));
    if sum > WHOLE {
        let finding = shares.error(format!("the minimum shares add up to {} %", sum as f64 / 1e7));
        findings.push(finding.help("write shares that add up to at most 100 %"));
        return minimum;
    }
    for (minimum, at) in minimum.iter_mut().zip(shares.iter()) {
        *minimum = CellRate::floor_of_ratio(at.value.billionths(), WHOLE).unwrap_or_default();
    }
    minimum
}

/// The transfer policy, in slots of this link.
fn transfer(table: &TransferTable, link: Rate, findings: &mut Vec<Diagnostic>) -> Option<TransferSetup> {
    /// Bytes of a cell on the bus and, below, on the link.
    const PAYLOAD: u128 = 48;
    const CELL: u128 = 53;
    let slot = slot_time(link).picoseconds();
    let latency = table.access_latency.value.picoseconds().div_ceil(slot);
    let ticks = (u128::from(link.bits_per_second()) * PAYLOAD * u128::from(SLOT))
        .div_ceil(u128::from(table.bus_rate.value.bits_per_second()) * CELL);
    let setup = TransferSetup {
        prefetch: table.prefetch.as_ref().map_or(Prefetch::JustInTime, |at| at.value.0),
        access_latency: u32::try_from(latency).unwrap_or(u32::MAX),
        cell_time: Ticks(u64::try_from(ticks).unwrap_or(u64::MAX)),
        burst: table.burst.as_ref().map_or(DEFAULT_TRANSFER_CELLS, |at| at.value.0 as u32),
        buffer: table.buffer.value.0 as u32,
    };
    let most = 1u64 << 20;
    if latency > most {
        let finding = table.access_latency.error(format!("an access latency of {latency} cell slots"));
        findings.push(finding.help(format!("at most {most} cell slots are possible")));
        return None;
    }
    if setup.cell_time.0 > most * SLOT {
        let finding = table.bus_rate.error(format!("a cell takes more than {most} cell slots on this bus"));
        findings.push(finding.help("raise the rate of the bus"));
        return None;
    }
    Some(setup)
}

/// The contract of one connection on this link.
fn contract(table: &CellContractTable, link: &At<Rate>, findings: &mut Vec<Diagnostic>) -> Option<CellContract> {
    let above = |at: &At<Rate>, what: &str, limit: Rate, limit_at: Span, limit_is: &str| {
        let problem = format!("a {what} of {} is above {limit_is} of {}", print_rate(at.value), print_rate(limit));
        at.error(problem).context(limit_at, limit_is.to_owned()).help(format!("lower it to at most {}", print_rate(limit)))
    };
    let peak = &table.peak_cell_rate;
    if peak.value > link.value {
        findings.push(above(peak, "peak cell rate", link.value, link.span.clone(), "the rate of the link"));
        return None;
    }
    let mode = match (&table.sustainable_cell_rate, &table.maximum_burst_size) {
        (None, None) => {
            if let Some(at) = &table.bucket {
                let finding = at.error("`bucket` has no effect without a sustainable cell rate");
                findings.push(finding.help("remove it, or add `sustainable_cell_rate` and `maximum_burst_size`"));
                return None;
            }
            Mode::Constant
        }
        (None, Some(at)) => {
            let finding = at.error("`maximum_burst_size` has no effect without a sustainable cell rate");
            findings.push(finding.help("remove it, or add `sustainable_cell_rate`"));
            return None;
        }
        (Some(at), None) => {
            let finding = at.error("a sustainable cell rate needs `maximum_burst_size`");
            findings.push(finding.help("add the most cells at the peak cell rate, like maximum_burst_size = 100"));
            return None;
        }
        (Some(at), Some(_)) if at.value > peak.value => {
            findings.push(above(at, "sustainable cell rate", peak.value, peak.span.clone(), "the peak cell rate"));
            return None;
        }
        (Some(at), Some(burst)) => {
            let sustained = Sustained { interval: Ticks::ceil_of_rate(at.value, link.value), maximum_burst_size: burst.value.0 as u32 };
            match table.bucket.as_ref().map_or(Bucket::Single, |at| at.value.0) {
                Bucket::Single => Mode::SingleBucket(sustained),
                Bucket::Dual => Mode::DualBucket(sustained),
            }
        }
    };
    let contract = CellContract {
        peak_interval: Ticks::ceil_of_rate(peak.value, link.value),
        delay_variation_tolerance: table
            .cell_delay_variation_tolerance
            .as_ref()
            .map_or(Ticks(SLOT), |at| floor_ticks(at.value, link.value)),
        mode,
        class: table.priority.as_ref().map_or(0, |at| at.value.0 as u8),
    };
    if let Err(error) = contract.check() {
        let span = match error.field {
            CellContractField::PeakInterval | CellContractField::Class => peak.span.clone(),
            CellContractField::DelayVariationTolerance => span(&table.cell_delay_variation_tolerance, peak),
            CellContractField::SustainedInterval => span(&table.sustainable_cell_rate, peak),
            CellContractField::MaximumBurstSize => span(&table.maximum_burst_size, peak),
        };
        findings.push(Diagnostic::error(span, error.to_string()));
        return None;
    }
    Some(contract)
}

fn span<T>(at: &Option<At<T>>, otherwise: &At<Rate>) -> Span {
    at.as_ref().map_or(otherwise.span.clone(), |at| at.span.clone())
}

/// A time in ticks of this link's slot, rounded down so that no tolerance is exceeded.
fn floor_ticks(time: Duration, link: Rate) -> Ticks {
    let ticks = u128::from(time.picoseconds()) * u128::from(SLOT) / u128::from(slot_time(link).picoseconds());
    Ticks(u64::try_from(ticks).unwrap_or(u64::MAX))
}
