//! Finding the first matching rule among thousands: one hash table per combination of masks.
//!
//! A header becomes a key of words. A rule requires values of some bits of the key, its mask. Rules with the same mask form a tuple and are found
//! by one probe with the masked key. What no mask expresses (ranges, sets of code points, exceptions) is checked one rule after the other among
//! those that share mask and values. Tuples are tried in the order of their first rule, and the search ends when no remaining tuple can hold an
//! earlier rule than the one found.
//!
//! Of a rule whose mask and values are all of it nothing else is kept.

use super::flow_hash::FlowHash;
use super::header::Header;
use super::rule::Rule;
use super::ternary::{Key, NARROW, WIDE, is_narrow, key_of, narrowed, rule_of, ternary, widened};
use alloc::vec::Vec;

/// Rules, searchable.
#[derive(Clone, Debug)]
pub(super) struct TupleSpace {
    hash: FlowHash,
    narrow: Vec<Tuple<NARROW>>,
    wide: Vec<Tuple<WIDE>>,
    places: Vec<Place>,
    /// The rules that their masks and values do not tell.
    written: Vec<Rule>,
}

/// All rules of one mask.
#[derive(Clone, Debug)]
struct Tuple<const N: usize> {
    mask: [u64; N],
    /// The earliest of its rules.
    first: u32,
    groups: Vec<Group<N>>,
    /// An open-addressed table of indices of `groups`, a power of two long and at most half full.
    slots: Vec<u32>,
}

/// The rules of one mask and the same values, in their order.
#[derive(Clone, Debug)]
struct Group<const N: usize> {
    values: [u64; N],
    first: u32,
    last: u32,
}

/// What a search needs of a rule.
#[derive(Clone, Copy, Debug)]
struct Place {
    class: u32,
    index: u32,
    /// The next rule of its group.
    next: u32,
    /// True if mask and values are all that packets are compared with.
    is_exact: bool,
    kept: Kept,
}

/// Where the whole of a rule is.
#[derive(Clone, Copy, Debug)]
enum Kept {
    /// In the mask of this narrow tuple, and the values of this group of it.
    Narrow(u32, u32),
    /// The same of a wide one.
    Wide(u32, u32),
    /// Here among the written ones.
    Written(u32),
}

const FREE_SLOT: u32 = u32::MAX;
const NO_RULE: u32 = u32::MAX;

impl TupleSpace {
    pub(super) fn new(seed: u64) -> TupleSpace {
        TupleSpace { hash: FlowHash::new(seed), narrow: Vec::new(), wide: Vec::new(), places: Vec::new(), written: Vec::new() }
    }

    /// Adds a rule after all others.
    pub(super) fn push(&mut self, rule: Rule, class: usize, index: usize) {
        let number = self.places.len() as u32;
        let (mask, values, is_exact) = ternary(&rule);
        let (before, mut kept) = match is_narrow(&mask) {
            true => {
                let (before, tuple, group) = insert(&mut self.narrow, &self.hash, narrowed(&mask), narrowed(&values), number);
                (before, Kept::Narrow(tuple, group))
            }
            false => {
                let (before, tuple, group) = insert(&mut self.wide, &self.hash, mask, values, number);
                (before, Kept::Wide(tuple, group))
            }
        };
        if !is_exact || rule_of(&mask, &values) != rule {
            kept = Kept::Written(self.written.len() as u32);
            self.written.push(rule);
        }
        self.places.push(Place { class: class as u32, index: index as u32, next: NO_RULE, is_exact, kept });
        if let Some(before) = before {
            self.places[before as usize].next = number;
        }
    }

    /// Makes the tables as small as they can be; no rule is added after this.
    pub(super) fn seal(&mut self) {
        self.narrow.shrink_to_fit();
        self.narrow.iter_mut().for_each(|tuple| tuple.groups.shrink_to_fit());
        self.wide.shrink_to_fit();
        self.wide.iter_mut().for_each(|tuple| tuple.groups.shrink_to_fit());
        self.written.shrink_to_fit();
        self.places.shrink_to_fit();
    }

    /// Every rule with its class, in their order.
    pub(super) fn rules(&self) -> impl Iterator<Item = (usize, Rule)> {
        self.places.iter().map(|place| (place.class as usize, self.whole(place)))
    }

    /// A rule by its number among all.
    pub(super) fn rule(&self, number: usize) -> Option<Rule> {
        self.places.get(number).map(|place| self.whole(place))
    }

    fn whole(&self, place: &Place) -> Rule {
        match place.kept {
            Kept::Written(at) => self.written[at as usize].clone(),
            Kept::Narrow(tuple, group) => {
                let tuple = &self.narrow[tuple as usize];
                let wide = |narrow: &Key| core::array::from_fn(|word| narrow.get(word).copied().unwrap_or(0));
                rule_of(&wide(&tuple.mask), &wide(&tuple.groups[group as usize].values))
            }
            Kept::Wide(tuple, group) => {
                let tuple = &self.wide[tuple as usize];
                rule_of(&tuple.mask, &tuple.groups[group as usize].values)
            }
        }
    }

    /// The first matching rule, as its number among all and its class.
    #[inline]
    pub(super) fn find(&self, header: &Header) -> Option<(u32, usize)> {
        if self.places.is_empty() {
            return None;
        }
        let key = key_of(header);
        let mut best = self.search(&self.narrow, &key, header, NO_RULE);
        if !self.wide.is_empty() {
            best = self.search(&self.wide, &widened(&key, header), header, best);
        }
        self.places.get(best as usize).map(|place| (best, place.class as usize))
    }

    /// The first matching rule of these tuples if it comes before `best`, which is another's.
    #[inline]
    fn search<const N: usize>(&self, tuples: &[Tuple<N>], key: &[u64; N], header: &Header, mut best: u32) -> u32 {
        for tuple in tuples {
            if tuple.first > best {
                break;
            }
            let Some(group) = tuple.find(&self.hash, key) else { continue };
            let mut number = group.first;
            while number < best {
                let place = &self.places[number as usize];
                if place.is_exact || self.residue_matches(place, header) {
                    best = number;
                }
                number = place.next;
            }
        }
        best
    }

    /// Checks what [`ternary`] leaves out of a rule, which is written.
    fn residue_matches(&self, place: &Place, header: &Header) -> bool {
        let Kept::Written(at) = place.kept else { unreachable!("a rule that its tuple does not say in full is kept as it is written") };
        let rule = &self.written[at as usize];
        let transport = header.transport();
        let ports = transport.and_then(|transport| transport.ports);
        rule.length.is_none_or(|range| range.contains(header.length))
            && rule.dscp.is_none_or(|set| transport.is_some_and(|transport| set.contains(transport.dscp)))
            && rule.source_port.is_none_or(|range| ports.is_some_and(|(source, _)| range.contains(source)))
            && rule.destination_port.is_none_or(|range| ports.is_some_and(|(_, destination)| range.contains(destination)))
            && !rule.not.iter().any(|exception| exception.matches(header))
    }

    /// The first rule, as class and index, that matches whatever `rule` matches.
    pub(super) fn cover(&self, rule: &Rule) -> Option<(usize, usize)> {
        let (mask, values, _) = ternary(rule);
        let best = self.cover_among(&self.narrow, rule, &narrowed(&mask), &narrowed(&values), NO_RULE);
        let best = self.cover_among(&self.wide, rule, &mask, &values, best);
        self.places.get(best as usize).map(|place| (place.class as usize, place.index as usize))
    }

    fn cover_among<const N: usize>(&self, tuples: &[Tuple<N>], rule: &Rule, mask: &[u64; N], values: &[u64; N], mut best: u32) -> u32 {
        for tuple in tuples {
            // Only a mask that asks for no more bits than the rule's can belong to a covering rule.
            if tuple.first > best || tuple.mask.iter().zip(mask).any(|(wanted, given)| wanted & !given != 0) {
                continue;
            }
            let mut number = tuple.find(&self.hash, values).map_or(NO_RULE, |group| group.first);
            while number < best {
                if self.whole(&self.places[number as usize]).covers(rule) {
                    best = number;
                }
                number = self.places[number as usize].next;
            }
        }
        best
    }
}

/// Adds a rule to the tuple of its mask. Returns the rule of the same values before it, if there is one, and the numbers of its tuple and its group.
fn insert<const N: usize>(
    tuples: &mut Vec<Tuple<N>>,
    hash: &FlowHash,
    mask: [u64; N],
    values: [u64; N],
    number: u32,
) -> (Option<u32>, u32, u32) {
    let at = tuples.iter().position(|tuple| tuple.mask == mask).unwrap_or_else(|| {
        tuples.push(Tuple { mask, first: number, groups: Vec::new(), slots: alloc::vec![FREE_SLOT; 4] });
        tuples.len() - 1
    });
    let (before, group) = tuples[at].insert(hash, values, number);
    (before, at as u32, group)
}

impl<const N: usize> Tuple<N> {
    #[inline]
    fn find(&self, hash: &FlowHash, key: &[u64; N]) -> Option<&Group<N>> {
        let masked: [u64; N] = core::array::from_fn(|i| key[i] & self.mask[i]);
        let last = self.slots.len() - 1;
        let mut at = hash.of_words(&masked) as usize & last;
        loop {
            let group = self.groups.get(self.slots[at] as usize)?;
            if group.values == masked {
                return Some(group);
            }
            at = (at + 1) & last;
        }
    }

    fn insert(&mut self, hash: &FlowHash, values: [u64; N], number: u32) -> (Option<u32>, u32) {
        let last = self.slots.len() - 1;
        let mut at = hash.of_words(&values) as usize & last;
        while let Some(group) = self.groups.get_mut(self.slots[at] as usize) {
            if group.values == values {
                return (Some(core::mem::replace(&mut group.last, number)), self.slots[at]);
            }
            at = (at + 1) & last;
        }
        self.slots[at] = self.groups.len() as u32;
        self.groups.push(Group { values, first: number, last: number });
        if self.groups.len() * 2 > self.slots.len() {
            self.grow(hash);
        }
        (None, self.groups.len() as u32 - 1)
    }

    fn grow(&mut self, hash: &FlowHash) {
        let last = self.slots.len() * 2 - 1;
        self.slots.clear();
        self.slots.resize(last + 1, FREE_SLOT);
        for (index, group) in self.groups.iter().enumerate() {
            let mut at = hash.of_words(&group.values) as usize & last;
            while self.slots[at] != FREE_SLOT {
                at = (at + 1) & last;
            }
            self.slots[at] = index as u32;
        }
    }
}
