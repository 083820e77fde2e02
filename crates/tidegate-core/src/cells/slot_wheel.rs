//! The ready list of one class: connections in the exact order of their planned times, filed by slots.
//!
//! **Law.** The first is that of the smallest key, and of equal keys the one that came first: in the future, in the past, across the wrap,
//! for keys that lie within 2^63 of each other. Every call takes bounded time, apart from those that skip slots and those that remove:
//! per 64 slots at most [`FULL`] entries are sorted, and a few chunks of every level moved.
//!
//! **Source.** Hashed and hierarchical timing wheels, Varghese and Lauck, SOSP 1987, where a bucket is a log that is sorted when its time
//! comes, as in a radix sort; the marks over the buckets are those of Saeed et al., "Eiffel", NSDI 2019.
//!
//! **State.** One word in a log for a connection whose time is near, two for one whose time is far: with the logs' chunks 20 bytes, 36 if all
//! eight classes are in use; 20 kB for run, table and levels.
//!
//! **Cost.** O(1): an entry is appended to the log of its 64 slots, which lie within reach for one and a half times as many slots as there are
//! connections, and sorted with it when they begin. One that is farther away is copied once more for every 16-fold distance.
//!
//! **RTL twin.** None yet.
//!
//! **Deviations.** A level's bucket is moved down while the level below still has a quarter of its span to go, a few entries per 64 slots
//! and not at once; until it is empty, what comes for it is appended to it, so that equals keep their order. Removed entries stay until they
//! come up, or until they are a 32nd of all: who calls knows them by what it keeps, so the list knows nothing. What finds no room
//! in the log or the table, or comes for a slot before them, goes to the [`Crowd`].

use super::Connection;
use super::crowd::{Crowd, Crowded};
use super::log::{CHUNK, Log, Pool, Reader};
use super::marks::Marks;
use super::slot_levels::{Entry, Levels};
use super::slot_run::{LONGEST_RUN, LOW, SlotRun};
use super::slot_table::SlotTable;
use crate::ready::is_before;
use alloc::vec;
use alloc::vec::Vec;

/// The ticks of a near bucket: 64 slots.
const BUCKET: u64 = 1 << BITS;
const BITS: u32 = 22;

/// The most entries in the log of a near bucket.
const FULL: u32 = LONGEST_RUN as u32;

/// The part of a wheel in which its first entry stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Run,
    Table,
    Crowd,
}

#[derive(Clone, Debug)]
pub(super) struct SlotWheel {
    /// The first tick of the 64 slots in the table.
    base: u64,
    /// So far from `base` begins what is filed by levels.
    reach: u64,
    /// What is left of the entries that their log held.
    run: SlotRun,
    /// Those that came since.
    table: SlotTable,
    is_crowded: bool,
    /// A log for each of the next buckets, going round, and marks for those that are not empty.
    near: Vec<Log>,
    marks: Marks,
    levels: Levels,
    crowd: Crowd,
    /// Entries that went to the crowd so far.
    ranked: u64,
    /// In the log of the next bucket, the connections to be fetched next.
    soon: Reader,
    /// Connections in the list, and entries of others.
    listed: usize,
    ghosts: usize,
    most_ghosts: usize,
}

impl SlotWheel {
    /// An empty list for so many connections.
    pub(super) fn new(connections: usize) -> SlotWheel {
        let buckets = SlotWheel::buckets(connections);
        SlotWheel {
            base: 0,
            reach: 0,
            run: SlotRun::new(),
            table: SlotTable::new(),
            is_crowded: false,
            near: vec![Log::default(); buckets],
            marks: Marks::new(buckets),
            levels: Levels::new((buckets as u64) << BITS),
            crowd: Crowd::new(),
            ranked: 0,
            soon: Reader::default(),
            listed: 0,
            ghosts: 0,
            most_ghosts: SlotWheel::most_ghosts(connections),
        }
    }

    /// Two slots and more per connection, a quarter of them for levels to be moved down: an interval of one and a half needs no level.
    fn buckets(connections: usize) -> usize {
        (2 * connections / 64).next_power_of_two().clamp(64, 1 << 17)
    }

    fn most_ghosts(connections: usize) -> usize {
        connections / 32 + 2 * FULL as usize
    }

    /// The most chunks that so many lists of together so many connections need.
    pub(super) fn chunks(connections: usize, lists: usize) -> usize {
        let entries = connections + lists * SlotWheel::most_ghosts(connections);
        let logs = lists * (SlotWheel::buckets(connections) + Levels::MOST_LOGS);
        // Every log but one entry, and all others of two words.
        logs.min(entries) + (2 * entries.saturating_sub(logs)).div_ceil(CHUNK)
    }

    /// What they take.
    #[cfg(test)]
    pub(super) fn bytes(connections: usize, lists: usize) -> usize {
        let own = size_of::<SlotWheel>() + SlotRun::BYTES + Levels::MOST_LOGS * size_of::<Log>();
        SlotWheel::chunks(connections, lists) * Pool::BYTES + lists * (SlotWheel::buckets(connections) * size_of::<Log>() + own)
    }

    /// Adds a connection that is not in the list.
    pub(super) fn add(&mut self, pool: &mut Pool, entry: Entry) {
        if self.listed == 0 && (self.ghosts > 0 || entry.key.wrapping_sub(self.base) >= self.reach) {
            self.begin_at(pool, entry.key);
        }
        self.listed += 1;
        self.insert(pool, entry);
    }

    /// Adds a connection that was taken out with [`SlotWheel::pop`] and not [`SlotWheel::dropped`].
    #[inline]
    pub(super) fn insert(&mut self, pool: &mut Pool, entry: Entry) {
        let ahead = entry.key.wrapping_sub(self.base);
        if ahead >= self.reach {
            return self.insert_apart(pool, entry);
        }
        if ahead >= BUCKET {
            return self.file_near(pool, entry);
        }
        if !self.table.insert(entry.key << LOW | entry.payload) {
            self.push_crowd(entry);
        }
    }

    /// The connection with the smallest key, and where it stands, if its slot is in the table or before it.
    #[inline]
    pub(super) fn first(&self) -> Option<(Entry, Part)> {
        if self.is_crowded {
            return self.first_of_all();
        }
        let (word, part) = self.first_of_two()?;
        Some((self.entry(word), part))
    }

    /// The first of run and table; equals came first in the run.
    #[inline]
    fn first_of_two(&self) -> Option<(u64, Part)> {
        match (self.run.first(), self.table.first()) {
            (Some(run), Some(tabled)) if tabled >> LOW < run >> LOW => Some((tabled, Part::Table)),
            (Some(run), _) => Some((run, Part::Run)),
            (None, tabled) => Some((tabled?, Part::Table)),
        }
    }

    /// The entry of a word in run or table.
    #[inline]
    const fn entry(&self, word: u64) -> Entry {
        Entry { key: self.base | word >> LOW, payload: word & ((1 << LOW) - 1) }
    }

    /// The first of all; equals in the crowd came last.
    #[cold]
    fn first_of_all(&self) -> Option<(Entry, Part)> {
        let first = self.first_of_two().map(|(word, part)| (self.entry(word), part));
        let crowded = self.crowd.first().map(|first| first.entry).filter(|first| is_before(first.key, self.base.wrapping_add(BUCKET)));
        match (first, crowded) {
            (Some((entry, _)), Some(crowded)) if !is_before(crowded.key, entry.key) => first,
            (first, crowded) => crowded.map(|crowded| (crowded, Part::Crowd)).or(first),
        }
    }

    /// Takes out what [`SlotWheel::first`] named.
    #[inline]
    pub(super) fn pop(&mut self, part: Part) {
        match part {
            Part::Run => self.run.pop(),
            Part::Table => self.table.pop(),
            Part::Crowd => {
                self.crowd.pop();
                self.is_crowded = !self.crowd.is_empty();
            }
        }
    }

    /// A connection that was taken out is not put back.
    #[inline]
    pub(super) fn dropped(&mut self) {
        self.listed -= 1;
    }

    /// What was taken out was no connection of the list any more.
    pub(super) fn ghost_gone(&mut self) {
        self.ghosts -= 1;
    }

    /// A connection is in the list no more, but its entry is. `is_there` tells which entries are still good.
    pub(super) fn remove(&mut self, pool: &mut Pool, is_there: impl Fn(Entry) -> bool) {
        self.listed -= 1;
        self.ghosts += 1;
        if self.ghosts > self.most_ghosts {
            self.sweep(pool, is_there);
        }
    }

    /// When [`SlotWheel::first`] names nobody: goes on to the next 64 slots that may have an entry. False if there are none up to the
    /// instant `until`.
    pub(super) fn advance(&mut self, pool: &mut Pool, until: u64) -> bool {
        if self.listed == 0 {
            return false;
        }
        let target = until & !(BUCKET - 1);
        while let Some(next) = self.next_bucket()
            && !is_before(target, next)
        {
            self.go_to(pool, next);
            if self.reach > 0 {
                self.load(pool);
                return true;
            }
        }
        if is_before(self.base, target) {
            self.go_to(pool, target);
        }
        false
    }

    /// An instant at or before the smallest key; `None` if nobody is in the list.
    pub(super) fn earliest(&self) -> Option<u64> {
        if self.listed == 0 {
            return None;
        }
        self.first().map(|(first, _)| first.key).or_else(|| self.next_bucket())
    }

    /// True for the first entry, and then twice as often as there are full chunks: time to ask for [`SlotWheel::soon`].
    #[inline]
    pub(super) const fn is_time_for_more(&self) -> bool {
        self.run.popped().is_multiple_of(CHUNK / 2)
    }

    /// Connections whose turn comes in the next 64 slots, every time some others: for fetching their state.
    #[inline]
    pub(super) fn soon(&mut self, pool: &Pool) -> impl Iterator<Item = usize> {
        pool.read(&mut self.soon).into_iter().flatten().map(|&word| Connection::unpack(word).index())
    }

    /// True if an entry that comes up may be one of a connection that is in the list no more.
    #[inline]
    pub(super) const fn has_ghosts(&self) -> bool {
        self.ghosts > 0
    }

    /// The first 64 slots, not before those of the table, for which there is an entry or a bucket of a level that is not empty.
    fn next_bucket(&self) -> Option<u64> {
        let ahead = self.marks.next((self.base >> BITS) as usize & (self.near.len() - 1)).map(|ahead| (ahead as u64) << BITS);
        if let Some(ahead) = ahead
            && ahead < self.reach
            && !self.is_crowded
        {
            return Some(self.base.wrapping_add(ahead));
        }
        let crowd = self.crowd.first().map(|first| first.entry.key.wrapping_sub(self.base)).filter(|&ahead| ahead < 1 << 63);
        let far = self.levels.first().map(|start| start.wrapping_sub(self.base));
        let ahead = [ahead, crowd, far].into_iter().flatten().min()?;
        Some(self.base.wrapping_add(ahead) & !(BUCKET - 1))
    }

    /// Goes to 64 slots before which nothing is filed.
    fn go_to(&mut self, pool: &mut Pool, base: u64) {
        if base != self.base {
            self.table.clear();
            self.run.clear();
        }
        self.base = base;
        if self.levels.may_settle(base) {
            let mut levels = core::mem::take(&mut self.levels);
            levels.settle(pool, base, |pool, entry| self.file_near(pool, entry));
            self.levels = levels;
        }
        self.reach = self.levels.start().wrapping_sub(base);
    }

    /// Sorts the log of the 64 slots at `base` into the table.
    fn load(&mut self, pool: &mut Pool) {
        let at = (self.base >> BITS) as usize & (self.near.len() - 1);
        let mut log = core::mem::take(&mut self.near[at]);
        self.marks.clear(at);
        if log.words() == FULL {
            // Some of those that came later are in the crowd.
            self.table.shut();
        }
        self.run.clear();
        while let Some((words, count)) = pool.pop(&mut log) {
            self.run.append(&words, count);
        }
        self.run.sort();
        // The first chunk of the bucket after the next as well: its turn to be read comes at once when the next is loaded.
        let log = |ahead| &self.near[(at + ahead) & (self.near.len() - 1)];
        self.soon = pool.begin(log(1));
        pool.fetch(pool.begin(log(2)));
    }

    /// Appends to the log of the entry's 64 slots.
    #[inline]
    fn file_near(&mut self, pool: &mut Pool, entry: Entry) {
        let at = (entry.key >> BITS) as usize & (self.near.len() - 1);
        let log = &mut self.near[at];
        if log.is_at_edge() {
            if log.words() == FULL {
                return self.push_crowd(entry);
            }
            if log.words() == 0 {
                self.marks.set(at);
            }
            pool.extend(log);
        }
        pool.push(log, entry.key << LOW | entry.payload);
    }

    /// Files what is in reach of the near buckets no more or not yet.
    #[inline(never)]
    fn insert_apart(&mut self, pool: &mut Pool, entry: Entry) {
        if is_before(entry.key, self.base) {
            return self.push_crowd(entry);
        }
        self.levels.file(pool, entry);
    }

    #[cold]
    fn push_crowd(&mut self, entry: Entry) {
        self.crowd.push(Crowded { entry, rank: self.ranked });
        self.ranked += 1;
        self.is_crowded = true;
    }

    /// Begins anew, empty, at the 64 slots of `key`.
    fn begin_at(&mut self, pool: &mut Pool, key: u64) {
        if self.ghosts > 0 {
            self.sweep(pool, |_| false);
            self.ghosts = 0;
        }
        self.table.clear();
        self.run.clear();
        self.base = key & !(BUCKET - 1);
        self.levels.restart(self.base);
        self.go_to(pool, self.base);
    }

    /// Writes logs and crowd anew with the entries that are still good. Those of the table come up soon.
    #[cold]
    fn sweep(&mut self, pool: &mut Pool, is_there: impl Fn(Entry) -> bool) {
        let mut from = 0;
        while let Some(at) = self.marks.at_or_after(from) {
            from = at + 1;
            let mut log = core::mem::take(&mut self.near[at]);
            self.marks.clear(at);
            let ahead = (at as u64).wrapping_sub(self.base >> BITS) & (self.near.len() as u64 - 1);
            let start = self.base.wrapping_add(ahead << BITS);
            while let Some((words, count)) = pool.pop(&mut log) {
                for word in &words[..count] {
                    self.keep(Entry { key: start | word >> LOW, payload: word & ((1 << LOW) - 1) }, &is_there, |wheel, entry| {
                        wheel.file_near(pool, entry);
                    });
                }
            }
        }
        for mut log in self.levels.detach() {
            while let Some((words, count)) = pool.pop(&mut log) {
                for entry in Entry::of_words(&words[..count]) {
                    self.keep(entry, &is_there, |wheel, entry| wheel.levels.file(pool, entry));
                }
            }
        }
        let mut crowd = core::mem::replace(&mut self.crowd, Crowd::new());
        while let Some(crowded) = crowd.pop() {
            self.keep(crowded.entry, &is_there, |wheel, entry| {
                // There may be room in its log now, before those that come later.
                if (BUCKET..wheel.reach).contains(&entry.key.wrapping_sub(wheel.base)) {
                    wheel.file_near(pool, entry);
                } else {
                    wheel.crowd.push(crowded);
                }
            });
        }
        self.is_crowded = !self.crowd.is_empty();
        self.soon = Reader::default();
    }

    /// One entry of a sweep.
    fn keep(&mut self, entry: Entry, is_there: impl Fn(Entry) -> bool, put_back: impl FnOnce(&mut SlotWheel, Entry)) {
        if is_there(entry) {
            put_back(self, entry);
        } else {
            self.ghosts -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::SLOT;
    use super::super::slot_levels::STEP;
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    const MOST: usize = 1500;

    #[derive(Clone, Debug)]
    enum Step {
        /// Some connections are added, each so far after the instant reached, or before it.
        Add(Vec<(usize, i64)>),
        Remove(Vec<usize>),
        /// Time goes on; what is due then is taken out, and all or none of it put back so much later.
        Advance(u64, Option<u64>),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let slot = SLOT as i64;
        // Few different keys and whole slots, so that there are ties; all levels; and crowds within a few slots.
        let near = prop_oneof![0..4 * slot, (0i64..200).prop_map(move |slots| slots * slot), -100 * slot..0];
        let far = (0u32..46, 0i64..8).prop_map(|(bits, part)| (part << bits).min(1 << 60));
        let distance = prop_oneof![3 => near, 2 => far];
        let add = prop_oneof![
            6 => prop::collection::vec((0..MOST, distance.clone()), 1..20),
            1 => (prop::collection::vec(0..MOST, 600..1200), distance, 1i64..100).prop_map(|(who, from, few)| {
                who.into_iter().map(|who| (who, from + who as i64 % few * 20_011)).collect()
            }),
        ];
        let later = (0u32..50, 1u64..8).prop_map(|(bits, part)| part << bits);
        let step = prop_oneof![
            4 => add.prop_map(Step::Add),
            2 => prop::collection::vec(0..MOST, 1..300).prop_map(Step::Remove),
            4 => (prop_oneof![0..3 * BUCKET, later.clone()], prop::option::of(later)).prop_map(|(by, back)| Step::Advance(by, back)),
        ];
        prop::collection::vec(step, 1..40)
    }

    /// A wheel and the model it is compared with: keys relative to the start, then the order of insertion.
    struct Both {
        wheel: SlotWheel,
        pool: Pool,
        start: u64,
        model: BTreeMap<(i128, u64), u32>,
        /// Where each connection stands in the model.
        keys: Vec<Option<(i128, u64)>>,
        generations: Vec<u16>,
        insertions: u64,
    }

    impl Both {
        fn entry(&self, who: u32, key: i128) -> Entry {
            let connection = Connection { index: who, generation: self.generations[who as usize] };
            Entry::new(self.start.wrapping_add(key as u64), connection)
        }

        /// Stands in the model from now on; the wheel's entry.
        fn enter(&mut self, who: u32, key: i128) -> Entry {
            self.keys[who as usize] = Some((key, self.insertions));
            self.model.insert((key, self.insertions), who);
            self.insertions += 1;
            self.entry(who, key)
        }

        /// All that is due at `until` comes out in order.
        fn advance(&mut self, until: i128, back: Option<u64>) -> Result<(), TestCaseError> {
            let mut put_back = Vec::new();
            let earliest = self.wheel.earliest().map(|earliest| i128::from(earliest.wrapping_sub(self.start) as i64));
            if let (Some(earliest), Some((&(first, _), _))) = (earliest, self.model.first_key_value()) {
                prop_assert!(earliest <= first, "{earliest} is not before {first}");
            }
            prop_assert!(earliest.is_some() || self.model.is_empty());
            loop {
                let Some((entry, part)) = self.wheel.first() else {
                    if self.wheel.advance(&mut self.pool, self.start.wrapping_add(until as u64)) { continue } else { break }
                };
                let key = i128::from(entry.key.wrapping_sub(self.start) as i64);
                if key > until {
                    break;
                }
                self.wheel.pop(part);
                let who = entry.connection().index();
                if entry.connection().generation != self.generations[who] {
                    self.wheel.ghost_gone();
                    continue;
                }
                let ((expected, insertion), first) = self.model.pop_first().expect("the model has as many");
                prop_assert_eq!((key, who as u32), (expected, first));
                prop_assert_eq!(self.keys[who].take(), Some((key, insertion)));
                match back {
                    // At once, for a later time, as the planner does.
                    Some(back) if !self.insertions.is_multiple_of(3) => {
                        let entry = self.enter(who as u32, key + i128::from(back.max(SLOT)));
                        self.wheel.insert(&mut self.pool, entry);
                    }
                    Some(back) => put_back.push((who as u32, back)),
                    None => {}
                }
                if self.keys[who].is_none() {
                    self.wheel.dropped();
                }
                // What is put back before `until` could keep this going for long.
                if self.insertions > 100_000 {
                    break;
                }
            }
            prop_assert!(self.insertions > 100_000 || self.model.first_key_value().is_none_or(|(&(key, _), _)| key > until));
            for (who, back) in put_back {
                let entry = self.enter(who, until + i128::from(back));
                self.wheel.add(&mut self.pool, entry);
            }
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn the_wheel_is_a_sorted_map(start: u64, steps in steps()) {
            let (wheel, pool) = (SlotWheel::new(MOST), Pool::new());
            let (keys, generations) = (vec![None; MOST], vec![0; MOST]);
            let mut both = Both { wheel, pool, start, model: BTreeMap::new(), keys, generations, insertions: 0 };
            let mut now = 0;
            for step in steps {
                match step {
                    Step::Add(entries) => {
                        for (who, distance) in entries {
                            if both.keys[who].is_none() {
                                let entry = both.enter(who as u32, now + i128::from(distance));
                                both.wheel.add(&mut both.pool, entry);
                            }
                        }
                    }
                    Step::Remove(some) => {
                        for who in some {
                            if let Some(key) = both.keys[who].take() {
                                both.model.remove(&key);
                                both.generations[who] += 1;
                                let Both { wheel, pool, generations, .. } = &mut both;
                                wheel.remove(pool, |entry| {
                                    entry.connection().generation == generations[entry.connection().index()]
                                });
                            }
                        }
                    }
                    Step::Advance(by, back) => {
                        now += i128::from(by);
                        both.advance(now, back)?;
                    }
                }
                prop_assert_eq!(both.wheel.listed, both.model.len());
                prop_assert!(both.wheel.ghosts <= both.wheel.most_ghosts);
                prop_assert!(both.pool.chunks() <= SlotWheel::chunks(MOST, 1), "{} chunks", both.pool.chunks());
            }
            // Whatever is left, however far.
            while let Some((&(key, _), _)) = both.model.last_key_value() {
                now = now.max(key);
                both.advance(now, None)?;
            }
            prop_assert!(both.wheel.first().is_none_or(|(entry, _)| both.keys[entry.connection().index()].is_none()));
        }

        /// A bucket of a level is moved a part at a time: no call moves more.
        #[test]
        fn no_call_does_more_than_its_share(slots in 4096u64..100_000, spread in 1u64..2000) {
            let (mut wheel, mut pool) = (SlotWheel::new(MOST), Pool::new());
            for who in 0..MOST as u32 {
                let key = SLOT * (slots + u64::from(who) * 7919 % spread);
                wheel.add(&mut pool, Entry::new(key, Connection { index: who, generation: 0 }));
            }
            let mut came = 0;
            for slot in 0..slots + spread {
                loop {
                    while let Some((_, part)) = wheel.first().filter(|(first, _)| first.key <= slot * SLOT) {
                        wheel.pop(part);
                        came += 1;
                    }
                    let before = pool.pops();
                    if wheel.first().is_some() || !wheel.advance(&mut pool, slot * SLOT) {
                        break;
                    }
                    // A bucket of 64 slots, and a step of every level.
                    prop_assert!(pool.pops() - before <= u64::from(FULL) / CHUNK as u64 + (Levels::MOST_LOGS / 64 * STEP) as u64);
                }
            }
            prop_assert_eq!(came, MOST);
        }
    }
}
