//! The lemmas under the order of window constraints: products of 8-bit numerators and denominators compare like ranks.
//!
//! Solvers are slow with multipliers, so harnesses are proved with arbitrary products. They assume only that x1 y2 and x2 y1 compare like a
//! rank of x1 / y1 and one of x2 / y2. Such ranks exist, which trying all pairs shows:
//! * for `decision_order` the integer part of 2^16 x / y: two fractions with denominators below 2^8 are equal or more than 2^-16 apart;
//! * for `key_order` the difference of the logarithms of x and y - x, from the table in the design's source. It differs among equal
//!   fractions in the order of x, by which the design orders them anyway; so there x is compared, too.

use crate::cargo::root;

/// The file with the logarithms.
const LOGARITHMS: &str = "rtl/src/rank_pkg.sv";

/// Compares all pairs of fractions x / y, 1 <= x <= y <= 255: about 10^9, each in both orders.
///
/// # Errors
/// The first pair that compares otherwise.
pub fn compare_as_ranks() -> Result<(), String> {
    compare_by(|numerator, denominator| (u32::from(numerator) << 16) / u32::from(denominator), |_| 0)
}

/// The same for the differences of the design's logarithms.
///
/// # Errors
/// The first pair that compares otherwise, or that the table is not found.
pub fn compare_as_logarithms() -> Result<(), String> {
    let text = std::fs::read_to_string(root().join(LOGARITHMS)).map_err(|error| format!("cannot read {LOGARITHMS}: {error}"))?;
    let logarithms = logarithms(&list(&text, "Prime")?, &list(&text, "PrimeLog")?)?;
    let rank = |numerator: u8, denominator: u8| {
        let to_meet = denominator - numerator;
        // rank_pkg::worth: 20 bits, and of 0 the logarithm is taken for -2^18.
        let of_to_meet = if to_meet == 0 { -(1 << 18) } else { logarithms[usize::from(to_meet)] };
        u32::try_from((1 << 19) + logarithms[usize::from(numerator)] - of_to_meet).map_or(0, |rank| rank % (1 << 20))
    };
    compare_by(rank, u32::from)
}

/// The logarithms of 0 to 255, sums of those of prime factors.
fn logarithms(primes: &[i32], of_primes: &[i32]) -> Result<Vec<i32>, String> {
    if primes.len() != of_primes.len() || primes.iter().any(|prime| *prime < 2) {
        return Err(format!("{LOGARITHMS} has {} primes and {} logarithms", primes.len(), of_primes.len()));
    }
    let of = |number: i32| {
        let (mut rest, mut sum) = (number, 0);
        for (prime, logarithm) in primes.iter().zip(of_primes) {
            while rest > 0 && rest % prime == 0 {
                rest /= prime;
                sum += logarithm;
            }
        }
        sum
    };
    Ok((0..256).map(of).collect())
}

/// The numbers of an array constant.
fn list(text: &str, name: &str) -> Result<Vec<i32>, String> {
    let missing = || format!("{LOGARITHMS} has no list {name}");
    let (_, rest) = text.split_once(&format!(" {name}[Primes] = '{{")).ok_or_else(missing)?;
    let (numbers, _) = rest.split_once('}').ok_or_else(missing)?;
    numbers.split(',').map(|number| number.trim().parse().map_err(|_| missing())).collect()
}

/// `tie` is what decides where products, or ranks, are equal; below 2^8.
fn compare_by(rank: impl Fn(u8, u8) -> u32, tie: impl Fn(u8) -> u32) -> Result<(), String> {
    let fractions: Vec<(u32, u32, u32, u32)> = (1..=255u8)
        .flat_map(|y| (1..=y).map(move |x| (x, y)))
        .map(|(x, y)| (x.into(), y.into(), tie(x), rank(x, y) << 8 | tie(x)))
        .collect();
    for (index, &(x1, y1, tie1, rank1)) in fractions.iter().enumerate() {
        for &(x2, y2, tie2, rank2) in &fractions[index..] {
            // The products of decision_block, which 16 bits hold.
            let (first, second) = ((x1 * y2) << 8 | tie1, (x2 * y1) << 8 | tie2);
            if (first < second) != (rank1 < rank2) || (first == second) != (rank1 == rank2) {
                return Err(format!("{x1}/{y1} and {x2}/{y2} compare otherwise than {} and {}", rank1 >> 8, rank2 >> 8));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_read_and_summed() {
        let text = "localparam logic [7:0] Prime[Primes] = '{\n  2, 3\n};\nlocalparam log_t PrimeLog[Primes] = '{\n  100,\n  158\n};\n";
        let (primes, of_primes) = (list(text, "Prime").unwrap(), list(text, "PrimeLog").unwrap());
        assert_eq!((primes.as_slice(), of_primes.as_slice()), ([2, 3].as_slice(), [100, 158].as_slice()));
        let logarithms = logarithms(&primes, &of_primes).unwrap();
        assert_eq!([0, 1, 2, 3, 4, 12].map(|number| logarithms[number]), [0, 0, 100, 158, 200, 358]);
        assert!(list(text, "Log").is_err());
    }

    #[test]
    fn a_rank_with_fewer_bits_is_refused() {
        assert!(compare_by(|x, y| (u32::from(x) << 15) / u32::from(y), |_| 0).is_err());
        assert!(compare_by(|x, y| u32::from(x) * 255 + u32::from(y), u32::from).is_err());
    }
}
