//! The cell scheduler against a slow model: one pass over all connections per slot, instants as wide integers that never wrap.
//!
//! The model follows the rules (Schiller and Gunningberg, sections 3 to 4.5, and the deviations in the headers of `tidegate-cells`),
//! without heaps, relative clocks, plain cells or wrapping. Both send the same cell in every slot, and count the same late cells and
//! transfers, for:
//!
//! * the four conflict policies, all modes of contracts and all CDVTs, without sharing;
//! * shared overloads of one class (intervals stretched by demand over grant) and of several classes with minimum shares;
//! * transfers from host memory, each policy of prefetching, as long as buffers suffice.

use proptest::prelude::*;
use std::collections::VecDeque;
use tidegate_cells::{
    Adapter, CLASSES, CellContract, CellRate, CellScheduler, CellSetup, Conflict, Connection, HeapScheduler, Mode, NoSharing, Prefetch,
    RateScaling, SLOT, Sharing, Sustained, Ticks, TransferSetup,
};

/// A slot.
const ONE: i128 = SLOT as i128;
/// The rate of the link.
const LINK: u128 = 1 << 40;
/// How far the share clock may fall behind and catch up.
const CATCH_UP: i128 = 64 * ONE;

fn ceil_slot(instant: i128) -> i128 {
    -((-instant).div_euclid(ONE))
}

/// A connection of the model.
struct Vc {
    contract: CellContract,
    /// Planned time, share clock and full-bucket time on the clock of the class; `None` before the first frame.
    next: Option<i128>,
    share: i128,
    full: i128,
    /// How long the burst may still wait for tokens, because late cells took theirs late.
    slack: i128,
    state: State,
    /// Cells of each PDU that have not been sent, and those that have not been requested.
    pdus: VecDeque<u32>,
    unrequested: VecDeque<u32>,
    resident: u32,
    outstanding: u32,
    /// True from its first cell on the adapter to the last cell sent.
    is_active: bool,
    /// True if it was due without a cell on the adapter.
    is_starved: bool,
    /// When it was put on the ready list, and the slot it has booked there.
    inserted: u64,
    booked: i128,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Peak,
    Sustained,
    Refill,
}

impl Vc {
    fn sustained(&self) -> Option<Sustained> {
        self.contract.mode.sustained()
    }

    fn class(&self) -> usize {
        usize::from(self.contract.class)
    }

    /// The rate that it asks for, in 2^-40 cells per slot.
    fn demand(&self) -> u128 {
        let interval = match (self.is_active, self.state) {
            (false, _) | (true, State::Refill) => return 0,
            (true, State::Peak) => self.contract.peak_interval.0,
            (true, State::Sustained) => self.sustained().unwrap().interval.0,
        };
        (u128::from(SLOT) << 40) / u128::from(interval)
    }
}

/// How the model shares the link.
struct Share {
    is_on: bool,
    minimum: [u128; CLASSES],
    /// How far the clock of each class is behind, and when its next cell is expected by its grant; `None` while it is not stretched.
    delay: [i128; CLASSES],
    expected: [Option<i128>; CLASSES],
    /// When each class is owed its next guaranteed cell.
    owed: [i128; CLASSES],
    asked: [bool; CLASSES],
}

impl Share {
    /// By water-filling: minimum shares first, the rest by priority.
    fn grants(&self, demand: &[u128; CLASSES]) -> [u128; CLASSES] {
        let mut grants: [u128; CLASSES] = std::array::from_fn(|class| demand[class].min(self.minimum[class]));
        let mut left = LINK - grants.iter().sum::<u128>().min(LINK);
        for class in 0..CLASSES {
            let more = (demand[class] - grants[class]).min(left);
            grants[class] += more;
            left -= more;
        }
        grants
    }
}

/// A ratio above 1 with 32 fraction bits, rounded up, at most 256; 1 where nothing is granted.
fn stretch(of: u128, over: u128) -> u128 {
    if over == 0 || over >= of {
        return 1 << 32;
    }
    ((of << 32).div_ceil(over)).min(256 << 32)
}

fn stretched(interval: u64, stretch: u128) -> i128 {
    ((u128::from(interval) * stretch).div_ceil(1 << 32)).min(1 << 45) as i128
}

struct Model {
    vcs: Vec<Vc>,
    conflict: Conflict,
    share: Share,
    transfer: Option<TransferSetup>,
    engine_free: i128,
    under_way: VecDeque<(i128, usize, u32)>,
    insertions: u64,
    exceeded: u64,
    transfers: u64,
}

impl Model {
    fn demand(&self) -> [u128; CLASSES] {
        let mut demand = [0; CLASSES];
        self.vcs.iter().for_each(|vc| demand[vc.class()] += vc.demand());
        demand
    }

    /// The stretch of a class's intervals, and that of the link's slot at the class's grant.
    fn stretches(&self, class: usize) -> (u128, u128) {
        let demand = self.demand();
        if !self.share.is_on || demand.iter().sum::<u128>() <= LINK {
            return (1 << 32, 1 << 32);
        }
        let granted = self.share.grants(&demand)[class];
        (stretch(demand[class], granted), stretch(LINK, granted))
    }

    /// After a change of demand: a class that is not stretched forgets when its next cell was expected.
    fn demand_changed(&mut self, class: usize) {
        self.share.asked[class] = true;
        if !self.share.is_on {
            return;
        }
        let demand = self.demand();
        let grants = if demand.iter().sum::<u128>() > LINK { self.share.grants(&demand) } else { demand };
        // Without minimum shares only the first class that is granted too little is stretched: those after it are granted nothing.
        let are_several = self.share.minimum.iter().any(|&minimum| minimum > 0);
        let mut is_first = true;
        for class in 0..CLASSES {
            let is_short = grants[class] < demand[class];
            if !(is_short && (are_several || is_first)) {
                self.share.expected[class] = None;
            }
            is_first &= !is_short;
        }
    }

    fn insert(&mut self, index: usize, now: i128) {
        let slot = ceil_slot(self.due(index)).max(now);
        self.vcs[index].inserted = self.insertions;
        self.insertions += 1;
        let taken: Vec<i128> =
            self.vcs.iter().enumerate().filter(|(other, vc)| *other != index && self.listed(vc)).map(|(_, vc)| vc.booked).collect();
        self.vcs[index].booked = (slot..).find(|slot| !taken.contains(slot)).unwrap();
    }

    fn listed(&self, vc: &Vc) -> bool {
        vc.is_active && !vc.is_starved
    }

    fn due(&self, index: usize) -> i128 {
        let vc = &self.vcs[index];
        vc.next.unwrap() + self.share.delay[vc.class()]
    }

    fn post(&mut self, index: usize, cells: u32, now: i128) {
        let vc = &mut self.vcs[index];
        vc.pdus.push_back(cells);
        vc.unrequested.push_back(cells);
        if vc.next.is_none() {
            let instant = now * ONE - self.share.delay[vc.class()];
            (vc.next, vc.share, vc.full) = (Some(instant), instant, instant);
        }
        if self.transfer.is_some() {
            self.fetch(index, now);
        } else if !self.vcs[index].is_active {
            self.activate(index, now);
        }
    }

    fn activate(&mut self, index: usize, now: i128) {
        let instant = now * ONE - self.share.delay[self.vcs[index].class()];
        let vc = &mut self.vcs[index];
        vc.is_active = true;
        let next = vc.next.unwrap();
        if next < instant {
            (vc.next, vc.share, vc.slack, vc.state) = (Some(instant), instant, 0, State::Peak);
        } else {
            vc.share = vc.share.max(instant).min(next);
        }
        let class = vc.class();
        self.demand_changed(class);
        self.insert(index, now);
    }

    /// From a request of this many cells to the arrival of the last.
    fn duration(setup: &TransferSetup, cells: u32) -> i128 {
        i128::from(setup.access_latency) + i128::from((u64::from(cells) * setup.cell_time.0).div_ceil(SLOT))
    }

    fn fetch(&mut self, index: usize, now: i128) {
        let Some(setup) = self.transfer else { return };
        let burst = if setup.prefetch == Prefetch::WholePdu { u32::from(u16::MAX) } else { setup.burst };
        loop {
            let vc = &self.vcs[index];
            let ahead = vc.resident + vc.outstanding;
            let spacing = match (vc.state, vc.sustained()) {
                (State::Sustained, Some(sustained)) => sustained.interval.0,
                _ => vc.contract.peak_interval.0,
            };
            let spacing = stretched(spacing, self.stretches(vc.class()).0);
            let rounding = (-self.due(index)).rem_euclid(ONE);
            let is_time = match setup.prefetch {
                Prefetch::Demand => ahead == 0,
                Prefetch::WholePdu => true,
                Prefetch::JustInTime => ahead == 0 || i128::from(ahead) * spacing < Model::duration(&setup, burst) * ONE + rounding,
            };
            let Some(&left) = self.vcs[index].unrequested.front().filter(|_| is_time) else { return };
            let cells = left.min(burst);
            let vc = &mut self.vcs[index];
            vc.outstanding += cells;
            if left == cells {
                vc.unrequested.pop_front();
            } else {
                vc.unrequested[0] -= cells;
            }
            self.transfers += 1;
            self.engine_free = self.engine_free.max(now) + Model::duration(&setup, cells);
            self.under_way.push_back((self.engine_free, index, cells));
        }
    }

    fn arrive(&mut self, now: i128) {
        while let Some(&(done, index, cells)) = self.under_way.front().filter(|first| first.0 <= now) {
            let _ = done;
            self.under_way.pop_front();
            let delay = self.share.delay[self.vcs[index].class()];
            let vc = &mut self.vcs[index];
            vc.outstanding -= cells;
            vc.resident += cells;
            if !vc.is_active {
                self.activate(index, now);
            } else if vc.is_starved {
                vc.is_starved = false;
                vc.next = Some(vc.next.unwrap().max(now * ONE - delay));
                self.insert(index, now);
            }
        }
    }

    /// The first connection among those that are due.
    fn first(&self, now: i128) -> Option<usize> {
        let is_due = |index: &usize| self.listed(&self.vcs[*index]) && self.due(*index) <= now * ONE;
        let due: Vec<usize> = (0..self.vcs.len()).filter(is_due).collect();
        let planned = |index: usize| (self.due(index), self.vcs[index].inserted);
        let tolerant = |index: usize| (self.due(index) + i128::from(self.vcs[index].contract.delay_variation_tolerance.0), planned(index));
        match self.conflict {
            Conflict::Lazy => due.into_iter().min_by_key(|&index| (planned(index), index)),
            Conflict::NextFree => due.into_iter().find(|&index| self.vcs[index].booked <= now),
            Conflict::Tolerance | Conflict::Priority => {
                let is_owed = |&index: &usize| {
                    let class = self.vcs[index].class();
                    self.share.minimum[class] > 0 && self.share.owed[class] <= now * ONE
                };
                let owed = due.iter().copied().filter(is_owed).map(|index| self.vcs[index].class()).min();
                let of_class = due.into_iter().filter(|&index| owed.is_none_or(|class| self.vcs[index].class() == class));
                match self.conflict {
                    Conflict::Priority => of_class.min_by_key(|&index| (self.vcs[index].class(), planned(index))),
                    _ => of_class.min_by_key(|&index| tolerant(index)),
                }
            }
        }
    }

    fn send(&mut self, now: i128) -> Option<usize> {
        self.arrive(now);
        loop {
            let index = self.first(now)?;
            if self.transfer.is_some() && self.vcs[index].resident == 0 {
                self.vcs[index].is_starved = true;
                continue;
            }
            self.leave(index, now);
            return Some(index);
        }
    }

    fn leave(&mut self, index: usize, now: i128) {
        let t = now * ONE;
        let class = self.vcs[index].class();
        let late = t - self.due(index);
        self.exceeded += u64::from(late > i128::from(self.vcs[index].contract.delay_variation_tolerance.0));
        let before = self.share.delay[class];
        self.class_sent(class, self.vcs[index].next.unwrap(), t);
        // Lateness by which the clock of the class has just stood still does not count for the connection.
        let late = late - (self.share.delay[class] - before);
        if self.vcs[index].state == State::Refill {
            self.vcs[index].state = State::Peak;
            self.demand_changed(class);
        }
        let factor = self.stretches(class).0;
        let state = plan(&mut self.vcs[index], late, factor);
        if state != self.vcs[index].state {
            self.vcs[index].state = state;
            self.demand_changed(class);
        }
        let vc = &mut self.vcs[index];
        if self.transfer.is_some() {
            vc.resident -= 1;
        }
        vc.pdus[0] -= 1;
        if vc.pdus[0] == 0 {
            vc.pdus.pop_front();
        }
        if vc.pdus.is_empty() {
            vc.is_active = false;
            self.demand_changed(class);
        }
        self.fetch(index, now);
        if self.vcs[index].is_active {
            self.insert(index, now + 1);
        }
    }

    /// A cell of a class, planned for `planned` on its clock, leaves at `t`: the clock stands still for what the class waits beyond its grant.
    fn class_sent(&mut self, class: usize, planned: i128, t: i128) {
        let (factor, pace) = self.stretches(class);
        let several = self.share.asked.iter().filter(|&&asked| asked).count() > 1;
        let share = &mut self.share;
        if several && factor > 1 << 32 {
            let due = share.expected[class].map_or(t, |expected| expected.max(planned + share.delay[class]));
            let latest = t - 2 * ONE;
            share.delay[class] += (latest - due).max(0);
            share.expected[class] = Some(due.max(latest).min(t + CATCH_UP) + stretched(SLOT, pace));
        }
        if let Some(interval) = (u128::from(SLOT) << 40).checked_div(share.minimum[class]) {
            let interval = interval as i128;
            share.owed[class] = (share.owed[class].max(t - 4 * interval) + interval).min(t + interval);
        }
    }
}

/// Plans the cell after one that leaves this late.
fn plan(vc: &mut Vc, late: i128, factor: u128) -> State {
    let (planned, tolerance) = (vc.next.unwrap(), i128::from(vc.contract.delay_variation_tolerance.0));
    let t = planned + late;
    let peak = vc.contract.peak_interval.0;
    // A cell that is late by no more than the CDVT does not delay those after it.
    let contract = planned.max(t - tolerance) + i128::from(peak);
    let last_share = if t - vc.share > CATCH_UP { vc.share.max(t - CATCH_UP.max(tolerance)) } else { vc.share };
    vc.share = last_share + stretched(peak, factor);
    let next = contract.max(vc.share);
    vc.next = Some(next);
    let Some(sustained) = vc.sustained() else { return State::Peak };
    if vc.full < t {
        let taken = vc.full.max(planned.max(t - tolerance));
        vc.slack = (vc.slack + t - taken).min(tolerance);
        vc.full = t;
    }
    vc.full += i128::from(sustained.interval.0);
    let token = vc.full - i128::from(vc.contract.burst_tolerance().0);
    if token <= next {
        return State::Peak;
    }
    if token - next <= vc.slack {
        vc.slack -= token - next;
        vc.next = Some(token);
        return State::Peak;
    }
    vc.slack = 0;
    if let Mode::DualBucket(_) = vc.contract.mode {
        vc.next = Some(next.max(vc.full));
        vc.share = vc.next.unwrap();
        return State::Refill;
    }
    vc.share = last_share + stretched(sustained.interval.0, factor);
    vc.next = Some(token.max(vc.share));
    State::Sustained
}

/// The host behind the core's scheduler: one transfer after the other.
#[derive(Default)]
struct Host {
    transfer: Option<TransferSetup>,
    engine_free: i128,
    under_way: VecDeque<(i128, Connection, u32)>,
}

impl Adapter for Host {
    fn transfer_requested(&mut self, now: u64, connection: Connection, cells: u32) {
        let Some(setup) = &self.transfer else { return };
        self.engine_free = self.engine_free.max(now.into()) + Model::duration(setup, cells);
        self.under_way.push_back((self.engine_free, connection, cells));
    }
}

/// A setting: contracts, and what is posted when.
#[derive(Clone, Debug)]
struct Setting {
    contracts: Vec<CellContract>,
    /// The slot, the connection and the cells of each PDU.
    posts: Vec<(u64, usize, u32)>,
}

fn settings(classes: u8, fastest: u64) -> impl Strategy<Value = Setting> {
    let peak = prop_oneof![(fastest..9).prop_map(|slots| slots * SLOT), fastest * SLOT..9 * SLOT];
    let tolerance = prop_oneof![Just(0), Just(SLOT), 0..20 * SLOT];
    let contract = (peak, tolerance, 0u64..30 * SLOT, 1u32..12, 0u8..3, 0..classes);
    let contract = contract.prop_map(|(peak, tolerance, gap, maximum_burst_size, mode, class)| {
        let sustained = Sustained { interval: Ticks(peak + gap), maximum_burst_size };
        let mode = [Mode::Constant, Mode::SingleBucket(sustained), Mode::DualBucket(sustained)][usize::from(mode)];
        CellContract { peak_interval: Ticks(peak), delay_variation_tolerance: Ticks(tolerance), mode, class }
    });
    let post = (0u64..300, 0usize..7, prop_oneof![1u32..4, 1u32..60]);
    (prop::collection::vec(contract, 1..8), prop::collection::vec(post, 1..24)).prop_map(|(contracts, posts)| {
        let mut posts: Vec<_> = posts.into_iter().map(|(slot, which, cells)| (slot, which % contracts.len(), cells)).collect();
        posts.sort_by_key(|post| post.0);
        Setting { contracts, posts }
    })
}

fn compare<S: Sharing>(
    setting: &Setting,
    conflict: Conflict,
    sharing: S,
    minimum: Option<[u128; CLASSES]>,
    transfer: Option<TransferSetup>,
) -> Result<(), TestCaseError> {
    let setup = CellSetup { connections: setting.contracts.len() as u32, pdus: 64, transfer };
    let mut scheduler = HeapScheduler::new(&setup, conflict, sharing);
    let names: Vec<Connection> = setting.contracts.iter().map(|contract| scheduler.add(contract).unwrap()).collect();
    let mut host = Host { transfer, ..Host::default() };
    let vc = |&contract: &CellContract| Vc {
        contract,
        next: None,
        share: 0,
        full: 0,
        slack: 0,
        state: State::Peak,
        pdus: VecDeque::new(),
        unrequested: VecDeque::new(),
        resident: 0,
        outstanding: 0,
        is_active: false,
        is_starved: false,
        inserted: 0,
        booked: 0,
    };
    let share = Share {
        is_on: minimum.is_some(),
        minimum: minimum.unwrap_or_default(),
        delay: [0; CLASSES],
        expected: [None; CLASSES],
        owed: [0; CLASSES],
        asked: [false; CLASSES],
    };
    let mut model = Model {
        vcs: setting.contracts.iter().map(vc).collect(),
        conflict,
        share,
        transfer,
        engine_free: 0,
        under_way: VecDeque::new(),
        insertions: 0,
        exceeded: 0,
        transfers: 0,
    };
    let mut posts = setting.posts.iter().copied().peekable();
    for slot in 0..3000u64 {
        while let Some((_, which, cells)) = posts.next_if(|post| post.0 == slot) {
            scheduler.post(names[which], cells, slot, &mut host).unwrap();
            model.post(which, cells, slot.into());
        }
        while let Some((_, connection, cells)) = host.under_way.front().copied().filter(|first| first.0 <= slot.into()) {
            host.under_way.pop_front();
            scheduler.arrived(connection, cells, slot, &mut host);
        }
        let found = scheduler.send(slot, &mut host).map(|sent| sent.index());
        prop_assert_eq!(found, model.send(slot.into()), "slot {} under {:?}", slot, conflict);
        prop_assert_eq!(scheduler.counts().beyond_tolerance, model.exceeded, "late cells, slot {}", slot);
        prop_assert_eq!(scheduler.counts().transfers, model.transfers, "transfers, slot {}", slot);
    }
    Ok(())
}

fn conflicts() -> impl Strategy<Value = Conflict> {
    prop::sample::select(Conflict::ALL.to_vec())
}

fn transfers() -> impl Strategy<Value = TransferSetup> {
    let prefetch = prop_oneof![Just(Prefetch::JustInTime), Just(Prefetch::Demand), Just(Prefetch::WholePdu)];
    (prefetch, 0u32..6, 0u64..SLOT, 1u32..12).prop_map(|(prefetch, access_latency, cell_time, burst)| TransferSetup {
        prefetch,
        access_latency,
        cell_time: Ticks(cell_time),
        burst,
        buffer: 1 << 20,
    })
}

proptest! {
    #[test]
    fn conflicts_and_contracts(setting in settings(3, 1), conflict in conflicts()) {
        compare(&setting, conflict, NoSharing, None, None)?;
    }

    #[test]
    fn a_shared_overload_of_one_class(setting in settings(1, 1), conflict in conflicts()) {
        compare(&setting, conflict, RateScaling::strict(), Some([0; CLASSES]), None)?;
    }

    #[test]
    fn classes_with_minimum_shares(
        setting in settings(3, 1), conflict in prop::sample::select(vec![Conflict::Tolerance, Conflict::Priority]),
        second in prop_oneof![Just(0), 0u64..40], third in prop_oneof![Just(0), 0u64..40],
    ) {
        let mut minimum = [CellRate::ZERO; CLASSES];
        (minimum[1], minimum[2]) = (CellRate::floor_of_ratio(second, 100).unwrap(), CellRate::floor_of_ratio(third, 100).unwrap());
        let sharing = RateScaling::new(minimum).unwrap();
        compare(&setting, conflict, sharing, Some(minimum.map(|share| share.0.into())), None)?;
    }

    #[test]
    fn transfers_from_host_memory(setting in settings(3, 2), conflict in conflicts(), transfer in transfers()) {
        compare(&setting, conflict, NoSharing, None, Some(transfer))?;
    }
}
