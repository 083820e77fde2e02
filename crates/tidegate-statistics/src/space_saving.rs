//! Which keys of a stream weigh most, in memory that does not grow with the number of keys.
//!
//! A table has a counter for each of a fixed number of keys. A key without a counter takes over the one with the least count, and inherits that count as
//! its error.
//!
//! **Law.** With `m` counters and a stream of weight `N`: `count - error <= true weight <= count`, `error <= N/m`, and every key of more than `N/m` has a
//! counter.
//! **Source.** A. Metwally, D. Agrawal, A. El Abbadi, "Efficient computation of frequent and top-k elements in data streams", ICDT 2005; weights: R.
//! Berinde, P. Indyk, G. Cormode, M. Strauss, "Space-optimal heavy hitters with strong error bounds", PODS 2009.
//! **State.** Per counter the key, the value and 32 bytes, in a heap 16 bytes, and 8 bytes of a hash table.
//! **Cost.** One probe of the hash table, and at most `log2 m` steps down the heap; few for a heavy key.
//! **RTL twin.** None.
//! **Deviations.** A heap in place of the lists of equal counts, because weights are not 1. Why not HeavyKeeper (Gong et al., ATC 2018): it knows no bound
//! for a single key.

/// No counter.
const FREE: u16 = u16::MAX;

/// The heaviest keys of a stream, each with a value of its latest packet.
///
/// ```
/// use tidegate_statistics::SpaceSaving;
/// let mut heaviest = SpaceSaving::new(2);
/// for (key, weight) in [("a", 10), ("b", 3), ("a", 10), ("c", 1)] {
///     heaviest.add(key, key.len() as u64 ^ u64::from(key.as_bytes()[0]), (), weight);
/// }
/// let found = heaviest.heaviest();
/// assert_eq!((found[0].key, found[0].count, found[0].error), ("a", 20, 0));
/// // "c" took the counter of "b": it weighs between 1 and 4.
/// assert_eq!((found[1].key, found[1].count, found[1].error), ("c", 4, 3));
/// ```
#[derive(Clone, Debug)]
pub struct SpaceSaving<K, V> {
    counters: Vec<Counter<K, V>>,
    /// The counts, the least first, each with its counter.
    heap: Vec<(u64, u16)>,
    /// Counters by hash: open addressing, a power of two long and at most a quarter full.
    slots: Vec<u16>,
    capacity: usize,
    total: u64,
    /// The most that a key may weigh that had no counter when tables were merged.
    absent: u64,
}

#[derive(Clone, Debug)]
struct Counter<K, V> {
    key: K,
    value: V,
    hash: u64,
    error: u64,
    /// Its place in the heap.
    place: u16,
}

/// A key and what it may weigh.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heavy<K, V> {
    /// The key.
    pub key: K,
    /// The value that came with it most recently.
    pub value: V,
    /// The most that it can weigh.
    pub count: u64,
    /// By how much it may weigh less.
    pub error: u64,
}

impl<K: Copy + Eq, V: Copy> SpaceSaving<K, V> {
    /// A table of this many counters, from 1 to 16,384.
    pub fn new(counters: usize) -> SpaceSaving<K, V> {
        let capacity = counters.clamp(1, 1 << 14);
        SpaceSaving {
            counters: Vec::with_capacity(capacity),
            heap: Vec::with_capacity(capacity),
            slots: vec![FREE; (4 * capacity).next_power_of_two()],
            capacity,
            total: 0,
            absent: 0,
        }
    }

    /// Adds `weight` to a key; equal keys have equal hashes.
    #[inline]
    pub fn add(&mut self, key: K, hash: u64, value: V, weight: u64) {
        self.total += weight;
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        while let Some(counter) = self.counters.get_mut(self.slots[slot] as usize) {
            if counter.hash == hash && counter.key == key {
                counter.value = value;
                let place = counter.place as usize;
                self.heap[place].0 += weight;
                return self.sink(place);
            }
            slot = (slot + 1) & mask;
        }
        self.enter(key, hash, value, weight, slot);
    }

    fn enter(&mut self, key: K, hash: u64, value: V, weight: u64, slot: usize) {
        if self.counters.len() < self.capacity {
            let number = self.counters.len() as u16;
            self.slots[slot] = number;
            self.counters.push(Counter { key, value, hash, error: 0, place: number });
            self.heap.push((weight, number));
            return self.rise(number as usize);
        }
        let (least, number) = self.heap[0];
        self.vacate(self.counters[number as usize].hash, number);
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        while self.slots[slot] != FREE {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = number;
        self.counters[number as usize] = Counter { key, value, hash, error: least, place: 0 };
        self.heap[0].0 = least + weight;
        self.sink(0);
    }

    /// Removes a counter from the hash table, and moves those behind it up.
    fn vacate(&mut self, hash: u64, number: u16) {
        let mask = self.slots.len() - 1;
        let mut hole = hash as usize & mask;
        while self.slots[hole] != number {
            hole = (hole + 1) & mask;
        }
        let mut next = (hole + 1) & mask;
        while let Some(counter) = self.counters.get(self.slots[next] as usize) {
            let home = counter.hash as usize & mask;
            // It may move up if its home is not between the hole and its place.
            if next.wrapping_sub(home) & mask >= next.wrapping_sub(hole) & mask {
                self.slots[hole] = self.slots[next];
                hole = next;
            }
            next = (next + 1) & mask;
        }
        self.slots[hole] = FREE;
    }

    fn put(&mut self, place: usize, entry: (u64, u16)) {
        self.heap[place] = entry;
        self.counters[entry.1 as usize].place = place as u16;
    }

    fn sink(&mut self, mut place: usize) {
        let entry = self.heap[place];
        loop {
            let left = 2 * place + 1;
            let Some(&one) = self.heap.get(left) else { break };
            let (child, least) = match self.heap.get(left + 1) {
                Some(&other) if other.0 < one.0 => (left + 1, other),
                _ => (left, one),
            };
            if entry.0 <= least.0 {
                break;
            }
            self.put(place, least);
            place = child;
        }
        self.put(place, entry);
    }

    fn rise(&mut self, mut place: usize) {
        let entry = self.heap[place];
        while place > 0 && self.heap[(place - 1) / 2].0 > entry.0 {
            self.put(place, self.heap[(place - 1) / 2]);
            place = (place - 1) / 2;
        }
        self.put(place, entry);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.counters.clear();
        self.heap.clear();
        self.slots.fill(FREE);
        self.total = 0;
    }

    /// The weight of the whole stream.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The largest possible error, and the most that a key without a counter weighs: at most the whole divided by the number of counters.
    pub fn error(&self) -> u64 {
        let is_merged = self.absent > 0;
        if is_merged || self.counters.len() < self.capacity { self.absent } else { self.heap[0].0 }
    }

    /// The keys of several streams, which have counters in these tables. No key is lost, and the bounds of the law add up.
    ///
    /// Source: P. Agarwal et al., "Mergeable summaries", PODS 2012. `hash` is that of a key.
    #[must_use]
    pub fn merged(tables: &[&SpaceSaving<K, V>], hash: impl Fn(&K) -> u64) -> SpaceSaving<K, V> {
        let mut all = SpaceSaving::new(tables.iter().map(|table| table.capacity).sum());
        for table in tables {
            for heavy in table.heaviest() {
                all.add(heavy.key, hash(&heavy.key), heavy.value, heavy.count);
            }
        }
        all.total = tables.iter().map(|table| table.total).sum();
        all.absent = tables.iter().map(|table| table.error()).sum();
        // A key without a counter in a table may weigh as much there as the table errs.
        for place in 0..all.heap.len() {
            let counter = &mut all.counters[all.heap[place].1 as usize];
            for table in tables {
                match table.heap.iter().find(|(_, number)| table.counters[*number as usize].key == counter.key) {
                    Some((_, number)) => counter.error += table.counters[*number as usize].error,
                    None => {
                        counter.error += table.error();
                        all.heap[place].0 += table.error();
                    }
                }
            }
        }
        all
    }

    /// All keys that have a counter, the heaviest first.
    pub fn heaviest(&self) -> Vec<Heavy<K, V>> {
        let mut found: Vec<Heavy<K, V>> = self
            .heap
            .iter()
            .map(|&(count, number)| {
                let Counter { key, value, error, .. } = self.counters[number as usize];
                Heavy { key, value, count, error }
            })
            .collect();
        found.sort_by_key(|heavy| std::cmp::Reverse(heavy.count));
        found
    }
}

#[cfg(test)]
mod tests;
