//! The wheel against a sorted map, and the bounds of its calls.

use super::*;
use crate::calendar::levels::{CHUNK, STEP};
use alloc::collections::BTreeMap;
use proptest::prelude::*;
use tidegate_core::sharing::SLOT;

/// The most connections.
const MOST: usize = 2500;

#[derive(Clone, Debug)]
enum Step {
    /// Some connections are added, each at a distance from the instant reached, which may be negative.
    Add(Vec<(usize, i64)>),
    Remove(Vec<usize>),
    /// Time advances; connections that are due are taken out, and all or none of them returned for this much later.
    Advance(u64, Option<u64>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let slot = SLOT as i64;
    // Few different keys and whole slots, so that there are ties; all levels; and overflow within a few slots.
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

fn empty() -> (SlotWheel, Pool) {
    let mut pool = Pool::new();
    pool.reserve(SlotWheel::chunks(MOST, 1));
    (SlotWheel::new(MOST), pool)
}

/// A wheel and the model it is compared with: keys relative to the start, then the order of insertion.
struct Both {
    wheel: SlotWheel,
    pool: Pool,
    start: u64,
    model: BTreeMap<(i128, u64), u32>,
    /// The key of each connection in the model.
    keys: Vec<Option<(i128, u64)>>,
    generations: Vec<u16>,
    insertions: u64,
}

impl Both {
    fn entry(&self, who: u32, key: i128) -> Entry {
        let connection = Connection { index: who, generation: self.generations[who as usize] };
        Entry::new(self.start.wrapping_add(key as u64), connection)
    }

    /// Adds a connection to the model; returns the wheel's entry.
    fn enter(&mut self, who: u32, key: i128) -> Entry {
        self.keys[who as usize] = Some((key, self.insertions));
        self.model.insert((key, self.insertions), who);
        self.insertions += 1;
        self.entry(who, key)
    }

    /// All connections that are due at `until` come out in order.
    fn advance(&mut self, until: i128, back: Option<u64>) -> Result<(), TestCaseError> {
        let mut put_back = Vec::new();
        let earliest = self.wheel.earliest().map(|earliest| i128::from(earliest.wrapping_sub(self.start) as i64));
        if let (Some(earliest), Some((&(first, _), _))) = (earliest, self.model.first_key_value()) {
            prop_assert!(earliest <= first, "{earliest} is not before {first}");
        }
        prop_assert!(earliest.is_some() || self.model.is_empty());
        self.wheel.open(self.start.wrapping_add(until as u64));
        while let Some(entry) = self.wheel.take(&mut self.pool, |_| (), |_| ()) {
            let key = i128::from(entry.key.wrapping_sub(self.start) as i64);
            prop_assert!(key <= until);
            let who = entry.connection().index();
            if entry.connection().generation != self.generations[who] {
                self.wheel.tombstone_taken();
                continue;
            }
            let ((expected, insertion), first) = self.model.pop_first().expect("the model has as many");
            prop_assert_eq!((key, who as u32), (expected, first));
            prop_assert_eq!(self.keys[who].take(), Some((key, insertion)));
            match back {
                // Immediately, for a later time, as the planner does.
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
            // Connections returned before `until` could make this loop very long.
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
        let (wheel, pool) = empty();
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
                            wheel.remove();
                            if wheel.tombstones() > SlotWheel::most_tombstones(MOST) {
                                wheel.sweep(pool, |entry| entry.connection().generation == generations[entry.connection().index()]);
                                prop_assert_eq!(wheel.tombstones(), 0);
                            }
                        }
                    }
                }
                Step::Advance(by, back) => {
                    now += i128::from(by);
                    both.advance(now, back)?;
                }
            }
            prop_assert_eq!(both.wheel.listed, both.model.len());
            prop_assert!(both.wheel.tombstones() <= SlotWheel::most_tombstones(MOST));
            prop_assert!(both.pool.chunks() <= SlotWheel::chunks(MOST, 1), "{} chunks", both.pool.chunks());
        }
        // Whatever is left, however far.
        while let Some((&(key, _), _)) = both.model.last_key_value() {
            now = now.max(key);
            both.advance(now, None)?;
        }
        prop_assert!(both.wheel.first().is_none_or(|entry| both.keys[entry.connection().index()].is_none()));
    }

    /// A bucket that is being moved down has its first part in one level and the rest in another; a sweep rewrites both.
    #[test]
    fn equals_keep_their_order_when_some_are_removed_while_others_are_moved_down(gone in 1..MOST - 600) {
        let (mut wheel, mut pool) = empty();
        let key = 1 << 32;
        // The first connection makes the wheel begin at 0.
        for who in 0..MOST as u32 {
            wheel.add(&mut pool, Entry::new(if who > 0 { key } else { 0 }, Connection { index: who, generation: 0 }));
        }
        wheel.open(key / 4);
        prop_assert_eq!(wheel.take(&mut pool, |_| (), |_| ()).map(|first| first.key), Some(0));
        wheel.dropped();
        prop_assert!(wheel.take(&mut pool, |_| (), |_| ()).is_none());
        for who in gone..gone + 600 {
            wheel.remove();
            if wheel.tombstones() > SlotWheel::most_tombstones(MOST) {
                wheel.sweep(&mut pool, |entry| !(gone..=who).contains(&entry.connection().index()));
            }
        }
        wheel.open(key);
        let mut order = Vec::new();
        while let Some(entry) = wheel.take(&mut pool, |_| (), |_| ()) {
            let who = entry.connection().index();
            if (gone..gone + 600).contains(&who) {
                wheel.tombstone_taken();
            } else {
                wheel.dropped();
                order.push(who);
            }
        }
        prop_assert_eq!(order, (1..MOST).filter(|who| !(gone..gone + 600).contains(who)).collect::<Vec<_>>());
    }

    /// A bucket of a level is moved a part at a time: no call moves more.
    #[test]
    fn no_call_does_more_than_its_share(slots in 4096u64..100_000, spread in 1u64..2000) {
        let (mut wheel, mut pool) = empty();
        for who in 0..MOST as u32 {
            let key = SLOT * (slots + u64::from(who) * 7919 % spread);
            wheel.add(&mut pool, Entry::new(key, Connection { index: who, generation: 0 }));
        }
        let mut came = 0;
        let (mut base, mut before) = (wheel.base, wheel.levels.words());
        for slot in 0..slots + spread {
            wheel.open(slot * SLOT);
            while wheel.take(&mut pool, |_| (), |_| ()).is_some() {
                came += 1;
            }
            if wheel.base == base {
                continue;
            }
            // At most a step of every level: what has left it is what it has lost, plus what has come from the one above.
            let after = wheel.levels.words();
            let mut from_above = 0;
            for (before, after) in before.iter().zip(&after).rev() {
                from_above = from_above + before - after;
                prop_assert!(from_above as usize <= STEP * CHUNK);
            }
            (base, before) = (wheel.base, after);
        }
        prop_assert_eq!(came, MOST);
    }
}
