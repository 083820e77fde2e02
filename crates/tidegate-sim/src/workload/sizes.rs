//! Empirical distributions of sizes: points of a distribution function, linear between them.
//!
//! **Source.** The two published ones are those of Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010 (web search), and Greenberg et al., "VL2: a
//! scalable and flexible data center network", SIGCOMM 2009 (data mining). The points are not in the papers, which show figures. They are those of the
//! files `CDF_dctcp.txt` and `CDF_vl2.txt` of the HKUST-SING TrafficGenerator, in packets of 1460 bytes, which many later papers use.
//!
//! **Deviations.** Means are computed from the points: 1,140.98 packets for web search, 5,116.60 for data mining. Other files of the same names
//! have other points and means.

use crate::fault::Fault;
use crate::random::Stream;
use std::sync::Arc;

/// Bytes of a packet in the published files.
const PACKET: f64 = 1460.0;

const WEB_SEARCH: [(f64, f64); 12] = [
    (6.0, 0.0),
    (6.0, 0.15),
    (13.0, 0.2),
    (19.0, 0.3),
    (33.0, 0.4),
    (53.0, 0.53),
    (133.0, 0.6),
    (667.0, 0.7),
    (1333.0, 0.8),
    (3333.0, 0.9),
    (6667.0, 0.97),
    (20_000.0, 1.0),
];

const DATA_MINING: [(f64, f64); 9] =
    [(1.0, 0.0), (1.0, 0.5), (2.0, 0.6), (3.0, 0.7), (7.0, 0.8), (267.0, 0.9), (2107.0, 0.95), (66_667.0, 0.99), (666_667.0, 1.0)];

/// The parts into which a straight piece is cut where a mean has no closed form.
const STRATA: u32 = 4096;

/// The largest size in bytes.
const LARGEST: f64 = 1e15;

/// A distribution of sizes in bytes.
///
/// ```
/// use tidegate_sim::workload::Sizes;
/// // A tenth has 100 bytes, the others are spread evenly from there to 1100.
/// let sizes = Sizes::new(&[(100.0, 0.1), (1100.0, 1.0)]).unwrap();
/// assert_eq!(sizes.mean(), 0.1 * 100.0 + 0.9 * 600.0);
/// assert_eq!(sizes.quantile(0.05), 100);
/// assert_eq!(sizes.quantile(0.55), 600);
/// assert!(Sizes::new(&[(100.0, 0.5)]).is_err());
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Sizes {
    /// Sizes in bytes, and the probability of at most that.
    points: Arc<[(f64, f64)]>,
}

impl Sizes {
    /// From points: sizes in bytes, and the probability of at most that size. Both do not decrease; the last probability is 1. The first probability
    /// is that of exactly the first size.
    ///
    /// # Errors
    /// What is wrong with the points.
    pub fn new(points: &[(f64, f64)]) -> Result<Sizes, Fault> {
        let wrong = |problem: String, expected: &str| Err(Fault::new("sizes", problem, expected));
        let Some(&(_, last)) = points.last() else { return wrong("no point".into(), "at least one") };
        if let Some((bytes, part)) = points.iter().find(|(bytes, part)| !(1.0..=LARGEST).contains(bytes) || !(0.0..=1.0).contains(part)) {
            return wrong(format!("the point of {bytes} bytes and {part}"), "1 byte to 1 PB, and probabilities from 0 to 1");
        }
        if let Some(pair) = points.windows(2).find(|pair| pair[1].0 < pair[0].0 || pair[1].1 < pair[0].1) {
            let ((bytes, part), (before, less)) = (pair[1], pair[0]);
            return wrong(
                format!("{bytes} bytes and {part} after {before} bytes and {less}"),
                "sizes and probabilities that do not decrease",
            );
        }
        if (last - 1.0).abs() > 1e-9 {
            return wrong(format!("the last probability is {last}"), "1");
        }
        Ok(Sizes { points: points.into() })
    }

    /// All of one size.
    pub fn fixed(bytes: u64) -> Sizes {
        Sizes { points: [(bytes as f64, 1.0)].into() }
    }

    /// Flows of web search.
    pub fn web_search() -> Sizes {
        Sizes::of_packets(&WEB_SEARCH)
    }

    /// Flows of data mining.
    pub fn data_mining() -> Sizes {
        Sizes::of_packets(&DATA_MINING)
    }

    fn of_packets(points: &[(f64, f64)]) -> Sizes {
        Sizes { points: points.iter().map(|&(packets, part)| (packets * PACKET, part)).collect() }
    }

    /// The size that this part of the connections does not exceed, to the nearest byte.
    pub fn quantile(&self, part: f64) -> u64 {
        let at = self.points.partition_point(|point| point.1 < part).min(self.points.len() - 1);
        let (bytes, end) = self.points[at];
        let size = match at.checked_sub(1).map(|before| self.points[before]) {
            Some((least, begin)) if end > begin => least + (bytes - least) * ((part - begin) / (end - begin)).clamp(0.0, 1.0),
            _ => bytes,
        };
        (size + 0.5) as u64
    }

    pub(crate) fn draw(&self, stream: &mut Stream) -> u64 {
        if self.points.len() == 1 { self.points[0].0 as u64 } else { self.quantile(stream.uniform()) }
    }

    /// The mean in bytes.
    pub fn mean(&self) -> f64 {
        self.pieces().map(|(least, most, part)| part * (least + most) / 2.0).sum()
    }

    /// The mean of a function of the size, to about one in ten thousand.
    pub fn mean_of(&self, value: impl Fn(u64) -> f64) -> f64 {
        let of_piece = |(least, most, part): (f64, f64, f64)| {
            if least == most {
                return part * value((least + 0.5) as u64);
            }
            let at = |stratum: u32| least + (most - least) * (f64::from(stratum) + 0.5) / f64::from(STRATA);
            part * (0..STRATA).map(|stratum| value((at(stratum) + 0.5) as u64)).sum::<f64>() / f64::from(STRATA)
        };
        self.pieces().map(of_piece).sum()
    }

    /// The least and the largest size.
    pub fn range(&self) -> (u64, u64) {
        (self.quantile(0.0), self.quantile(1.0))
    }

    /// The straight pieces of positive probability: least and largest size, and the probability.
    fn pieces(&self) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
        let first = (self.points[0].0, self.points[0].0, self.points[0].1);
        let others = self.points.windows(2).map(|pair| (pair[0].0, pair[1].0, pair[1].1 - pair[0].1));
        std::iter::once(first).chain(others).filter(|piece| piece.2 > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_means_follow_from_the_points() {
        assert!((Sizes::web_search().mean() / PACKET - 1140.98).abs() < 0.01);
        assert!((Sizes::data_mining().mean() / PACKET - 5116.60).abs() < 0.01);
        assert_eq!(Sizes::web_search().range(), (8760, 29_200_000));
    }

    #[test]
    fn draws_have_the_distribution() {
        let mut stream = Stream::new(1, 0, "sizes");
        for sizes in [
            Sizes::web_search(),
            Sizes::data_mining(),
            Sizes::new(&[(10_000.0, 0.25), (20_000.0, 0.5), (20_000.0, 0.75), (40_000.0, 1.0)]).unwrap(),
        ] {
            let draws = 200_000;
            let mut drawn: Vec<u64> = (0..draws).map(|_| sizes.draw(&mut stream)).collect();
            drawn.sort_unstable();
            for &(bytes, part) in sizes.points.iter() {
                let upto = drawn.partition_point(|&size| size as f64 <= bytes + 0.5) as f64 / f64::from(draws);
                // Five standard deviations, and at a jump all of it.
                let jump = sizes.points.iter().filter(|point| point.0 == bytes).map(|point| point.1).fold(part, f64::max);
                assert!((upto - jump).abs() < 0.006, "{bytes}: {upto} {jump}");
            }
        }
    }

    #[test]
    fn means_of_functions_agree_with_the_mean() {
        for sizes in [Sizes::web_search(), Sizes::data_mining(), Sizes::fixed(1000)] {
            assert!((sizes.mean_of(|bytes| bytes as f64) / sizes.mean() - 1.0).abs() < 1e-6);
        }
    }
}
