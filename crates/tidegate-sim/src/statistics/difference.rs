//! The difference of two means over replications: its confidence interval, and the probability that it is chance.
//!
//! Replications with the same seed and number have the same random streams on both sides. Their differences are taken one by one: Student's t for
//! paired samples. Without pairs the test is Welch's, with the degrees of freedom of Welch and Satterthwaite. Among many tests some succeed by
//! chance; [`adjusted`] corrects for that (S. Holm, "A simple sequentially rejective multiple test procedure", 1979).

use super::estimate::t_quantile;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The second mean less the first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Difference {
    /// The difference, in the unit of the means.
    pub mean: f64,
    /// Half the width of its 95 % confidence interval; `None` with fewer than two replications on a side.
    pub half_width: Option<f64>,
    /// The probability of a difference this far from 0, or farther, if the means were the same; `None` as above.
    pub probability: Option<f64>,
}

impl Difference {
    /// From pairs, one per replication: first, then second. `None` without any.
    ///
    /// ```
    /// use tidegate_sim::statistics::Difference;
    /// let difference = Difference::paired(&[(10.0, 11.0), (20.0, 22.0), (30.0, 33.0)]).unwrap();
    /// assert_eq!(difference.mean, 2.0);
    /// // t = 2 / (1 / sqrt(3)) with two degrees of freedom.
    /// assert!((difference.probability.unwrap() - 0.0742).abs() < 0.0001);
    /// ```
    pub fn paired(pairs: &[(f64, f64)]) -> Option<Difference> {
        let differences: Vec<f64> = pairs.iter().map(|(first, second)| second - first).collect();
        let (mean, variance) = moments(&differences)?;
        let n = differences.len() as f64;
        Some(Difference::of(mean, variance.map(|variance| variance / n), n - 1.0))
    }

    /// From values of replications that have nothing in common; `None` if a side has none.
    pub fn unpaired(first: &[f64], second: &[f64]) -> Option<Difference> {
        let ((mean_of_first, of_first), (mean_of_second, of_second)) = (moments(first)?, moments(second)?);
        let shares = of_first.zip(of_second).map(|(a, b)| (a / first.len() as f64, b / second.len() as f64));
        let variance = shares.map(|(a, b)| a + b);
        let degrees = shares
            .map_or(0.0, |(a, b)| (a + b).powi(2) / (a.powi(2) / (first.len() as f64 - 1.0) + b.powi(2) / (second.len() as f64 - 1.0)));
        Some(Difference::of(mean_of_second - mean_of_first, variance, degrees))
    }

    /// `variance` is that of the mean difference.
    fn of(mean: f64, variance: Option<f64>, degrees: f64) -> Difference {
        let error = variance.map(f64::sqrt);
        // Where nothing varies, a difference is certain.
        let half_width = error.map(|error| if error > 0.0 { t_quantile(degrees) * error } else { 0.0 });
        let probability = error.map(|error| match (error > 0.0, mean == 0.0) {
            (false, true) => 1.0,
            (false, false) => 0.0,
            (true, _) => StudentsT::new(0.0, 1.0, degrees).map_or(1.0, |t| 2.0 * t.cdf(-(mean / error).abs())),
        });
        Difference { mean, half_width, probability }
    }
}

/// Mean, and variance of a single value if there are two or more.
fn moments(values: &[f64]) -> Option<(f64, Option<f64>)> {
    let n = values.len() as f64;
    let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / n)?;
    let variance = (values.len() > 1).then(|| values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0));
    Some((mean, variance))
}

/// Probabilities of several tests, adjusted after Holm: where one is below 0.05, all of its kind together err in one case of twenty.
///
/// ```
/// assert_eq!(tidegate_sim::statistics::adjusted(&[0.03, 0.01, 0.5]), [0.06, 0.03, 0.5]);
/// ```
pub fn adjusted(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|&a, &b| probabilities[a].total_cmp(&probabilities[b]));
    let mut adjusted = vec![1.0; probabilities.len()];
    let mut least = 0.0_f64;
    for (rank, &index) in order.iter().enumerate() {
        least = least.max((probabilities[index] * (probabilities.len() - rank) as f64).min(1.0));
        adjusted[index] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn what_never_varies_is_certain() {
        assert_eq!(Difference::paired(&[(1.0, 1.0), (2.0, 2.0)]).unwrap().probability, Some(1.0));
        let certain = Difference::paired(&[(1.0, 3.0), (2.0, 4.0)]).unwrap();
        assert_eq!((certain.mean, certain.half_width, certain.probability), (2.0, Some(0.0), Some(0.0)));
        assert_eq!(Difference::paired(&[(1.0, 3.0)]).unwrap(), Difference { mean: 2.0, half_width: None, probability: None });
        assert_eq!(Difference::paired(&[]), None);
        assert_eq!(Difference::unpaired(&[1.0], &[]), None);
        assert_eq!(Difference::unpaired(&[1.0, 1.0], &[2.0, 2.0]).unwrap().probability, Some(0.0));
    }

    /// Welch's own formula, worked by hand: variances 1 and 4 over three and five values.
    #[test]
    fn without_pairs_the_test_is_welchs() {
        let (first, second) = ([1.0, 2.0, 3.0], [2.0, 3.0, 5.0, 7.0, 8.0]);
        let difference = Difference::unpaired(&first, &second).unwrap();
        let (a, b) = (1.0 / 3.0, 6.5 / 5.0);
        let degrees = (a + b) * (a + b) / (a * a / 2.0 + b * b / 4.0);
        assert_eq!(difference.mean, 3.0);
        assert!((difference.half_width.unwrap() - t_quantile(degrees) * (a + b).sqrt()).abs() < 1e-12);
    }

    /// A quantity that does not differ is found to differ in one case of twenty.
    #[test]
    fn the_probability_is_what_it_says() {
        let mut stream = Stream::new(1, 0, "chance");
        let found =
            |test: &mut dyn FnMut() -> Option<Difference>| (0..4000).filter(|_| test().unwrap().probability.unwrap() < 0.05).count();
        let paired = found(&mut || Difference::paired(&std::array::from_fn::<_, 5, _>(|_| (stream.normal(), stream.normal()))));
        assert!((150..=250).contains(&paired), "{paired} of 4000");
        let mut stream = Stream::new(2, 0, "chance");
        let unpaired = found(&mut || {
            let values = std::array::from_fn::<_, 8, _>(|_| stream.normal());
            Difference::unpaired(&values[..4], &values[4..])
        });
        assert!((130..=250).contains(&unpaired), "{unpaired} of 4000");
    }

    #[test]
    fn adjusted_probabilities_never_fall_and_keep_their_order() {
        assert_eq!(adjusted(&[]), [0.0; 0]);
        assert_eq!(adjusted(&[0.04]), [0.04]);
        assert_eq!(adjusted(&[0.02, 0.02, 0.9, 0.001]), [0.06, 0.06, 0.9, 0.004]);
        assert_eq!(adjusted(&[0.5, 0.6]), [1.0, 1.0]);
    }
}
