//! Which flow is next, and what each flow was promised: random, and the same in every run.

/// The generator of `benches/peers/harness.h` (xorshift64*), so that both sides see the same flows in the same order.
pub struct Random(u64);

impl Random {
    /// The stream that every benchmark starts with.
    pub fn new() -> Random {
        Random(0x9E37_79B9_7F4A_7C15)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let drawn = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D);
        (((drawn >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// The numbers below `count` in random order.
    pub fn shuffled(&mut self, count: u32) -> Vec<u32> {
        let mut order: Vec<u32> = (0..count).collect();
        for index in (1..count).rev() {
            order.swap(index as usize, self.below(index + 1) as usize);
        }
        order
    }
}
