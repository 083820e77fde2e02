//! Sorts up to 255 items in linear time: they are counted into bins, and ties and neighbours of one bin are put in order by insertion.
//!
//! **Law.** The sort is stable: items of equal keys keep their order.
//!
//! **Source.** Counting sort, Seward, 1954 (Knuth, The Art of Computer Programming 3, 5.2), and straight insertion, 5.2.1.

/// The most items, such that a byte counts them.
pub const MOST: usize = 255;

/// Room for the items, such that a byte is always a place.
pub const ROOM: usize = MOST + 1;

/// A one in every byte.
const ONES: u64 = u64::MAX / 0xff;

/// Copies at most [`MOST`] items to `places`, ordered by `bin`, stable. `next` has a zero for every bin, and a multiple of eight bins.
#[inline(always)]
pub fn distribute<T: Copy>(items: &[T], places: &mut [T; ROOM], next: &mut [u8], bin: impl Fn(&T) -> usize) {
    for item in items {
        next[bin(item)] += 1;
    }
    // From the number of items in each bin to the place of its next item. Eight bins at a time: the product with a one in every byte
    // sums the counts of the bins before.
    let mut before = 0;
    for group in next.as_chunks_mut().0 {
        let counts = u64::from_le_bytes(*group);
        *group = ((counts << 8) + before).wrapping_mul(ONES).to_le_bytes();
        before += counts.wrapping_mul(ONES) >> 56;
    }
    for item in items {
        let next = &mut next[bin(item)];
        places[usize::from(*next)] = *item;
        *next += 1;
    }
}

/// Puts items in order that almost are, stable. Gives up with false after more than `most_moves` of them.
#[inline(always)]
pub fn insertion_sort<T: Copy>(items: &mut [T], most_moves: usize, is_before: impl Fn(&T, &T) -> bool) -> bool {
    let (mut at, mut moves) = (0, 0);
    while let Some(ahead) = items[at..].windows(2).position(|pair| is_before(&pair[1], &pair[0])) {
        at += ahead + 1;
        let item = items[at];
        let mut place = at;
        while place > 0 && is_before(&item, &items[place - 1]) {
            items[place] = items[place - 1];
            place -= 1;
        }
        items[place] = item;
        moves += at - place;
        if moves > most_moves {
            return false;
        }
    }
    true
}
