//! What the order of window constraints rests on: products of 8-bit numerators and denominators compare like ranks.
//!
//! Solvers are bad at multipliers, so `decision_order` is proved with arbitrary products, of which it is only assumed that x1 y2 and x2 y1 compare
//! like two numbers that belong to the fractions x1 / y1 and x2 / y2 alone. Here is one such number for every fraction, the integer part of
//! 2^16 x / y, and that is shown by trying all pairs: two different fractions with denominators below 2^8 are more than 2^-16 apart.

/// The rank of x / y, for x of at least 1 and at most y.
fn rank(numerator: u8, denominator: u8) -> u32 {
    (u32::from(numerator) << 16) / u32::from(denominator)
}

/// Compares all pairs of fractions x / y, 1 <= x <= y <= 255, in both ways: about 10^9.
///
/// # Errors
/// The first pair that compares otherwise.
pub fn compare_as_ranks() -> Result<(), String> {
    compare_by(rank)
}

fn compare_by(rank: impl Fn(u8, u8) -> u32) -> Result<(), String> {
    let fractions: Vec<(u8, u8, u32)> = (1..=255).flat_map(|y| (1..=y).map(move |x| (x, y))).map(|(x, y)| (x, y, rank(x, y))).collect();
    for &(x1, y1, rank1) in &fractions {
        for &(x2, y2, rank2) in &fractions {
            // The 16-bit products of decision_block.
            let (first, second) = (u16::from(x1) * u16::from(y2), u16::from(x2) * u16::from(y1));
            if (first < second) != (rank1 < rank2) || (first == second) != (rank1 == rank2) {
                return Err(format!("{x1}/{y1} and {x2}/{y2} compare otherwise than {rank1} and {rank2}"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_with_fewer_bits_is_refused() {
        assert!(compare_by(|x, y| (u32::from(x) << 15) / u32::from(y)).is_err());
        assert!(compare_by(|x, y| u32::from(x) * 255 + u32::from(y)).is_err());
    }
}
