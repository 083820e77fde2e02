//! Thins out curves for the page without changing how they look: peaks of a series and steps of a tail survive.

/// The horizontal and the vertical coordinates of a curve's points.
pub(crate) type Points = (Vec<f64>, Vec<f64>);

/// At most about `limit` points of a series over time: the smallest and the largest value of each of `limit / 2`
/// equal stretches of time, in the order in which they occurred, with the first and the last point.
///
/// `times` never decreases and has as many values as `values`. A series of at most `limit` points is unchanged.
pub(crate) fn series(times: &[f64], values: &[f64], limit: usize) -> Points {
    if times.len() <= limit || limit < 4 {
        return (times.to_vec(), values.to_vec());
    }
    let last = times.len() - 1;
    let stretches = limit / 2 - 1;
    let span = times[last] - times[0];
    let stretch_of = |index: usize| {
        if span > 0.0 {
            (((times[index] - times[0]) / span * stretches as f64) as usize).min(stretches - 1)
        } else {
            index * stretches / times.len()
        }
    };
    let mut kept = vec![0];
    let mut start = 0;
    while start <= last {
        let stretch = stretch_of(start);
        let (mut low, mut high, mut end) = (start, start, start);
        while end <= last && stretch_of(end) == stretch {
            if values[end] < values[low] {
                low = end;
            }
            if values[end] > values[high] {
                high = end;
            }
            end += 1;
        }
        kept.extend([low.min(high), low.max(high)]);
        start = end;
    }
    kept.push(last);
    kept.dedup();
    (kept.iter().map(|&index| times[index]).collect(), kept.iter().map(|&index| values[index]).collect())
}

/// At most about `limit` points of a distribution's tail, spread evenly along the curve as it looks on logarithmic
/// axes, so that the rare long delays keep their steps. A tail of at most `limit` points is unchanged.
pub(crate) fn tail(delays: &[f64], ccdf: &[f64], limit: usize) -> Points {
    if delays.len() <= limit || limit < 4 {
        return (delays.to_vec(), ccdf.to_vec());
    }
    let (x, x_span) = log_positions(delays);
    let (y, y_span) = log_positions(ccdf);
    let position = |index: usize| x[index] / x_span - y[index] / y_span;
    let last = delays.len() - 1;
    // Both coordinates move one way only, so the whole curve is two units long: one for each axis.
    let step = 2.0 / (limit - 2) as f64;
    let mut kept = vec![0];
    let mut reached = position(0);
    for index in 1..last {
        if position(index) - reached >= step {
            kept.push(index);
            reached = position(index);
        }
    }
    kept.push(last);
    (kept.iter().map(|&index| delays[index]).collect(), kept.iter().map(|&index| ccdf[index]).collect())
}

/// Decimal logarithms and the distance between their ends; a zero counts as the smallest positive value.
fn log_positions(values: &[f64]) -> (Vec<f64>, f64) {
    let smallest = values.iter().copied().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
    let logs: Vec<f64> = values.iter().map(|value| value.max(smallest).log10()).collect();
    let span = (logs[logs.len() - 1] - logs[0]).abs();
    (logs, if span > 0.0 && span.is_finite() { span } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_curve_is_left_alone() {
        let (times, values) = series(&[0.0, 1.0], &[5.0, 6.0], 4);
        assert_eq!((times, values), (vec![0.0, 1.0], vec![5.0, 6.0]));
        let (delays, ccdf) = tail(&[1.0, 2.0], &[0.5, 0.0], 4);
        assert_eq!((delays, ccdf), (vec![1.0, 2.0], vec![0.5, 0.0]));
    }

    #[test]
    fn a_single_peak_and_a_single_dip_survive() {
        let times: Vec<f64> = (0..100_000).map(f64::from).collect();
        let mut values = vec![10.0; times.len()];
        values[77_777] = 99.0;
        values[33_333] = 1.0;
        let (times, values) = series(&times, &values, 500);
        assert!(times.len() <= 500, "{}", times.len());
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
        let at = |value: f64| times[values.iter().position(|found| *found == value).unwrap()];
        assert_eq!(at(99.0), 77_777.0);
        assert_eq!(at(1.0), 33_333.0);
        assert_eq!((times[0], times[times.len() - 1]), (0.0, 99_999.0));
    }

    #[test]
    fn gaps_in_time_and_a_standing_clock_are_survived() {
        let mut times: Vec<f64> = (0..1000).map(|index| f64::from(index) * 1e-3).collect();
        times.push(1e8);
        let values: Vec<f64> = times.clone();
        let (kept, _) = series(&times, &values, 100);
        assert_eq!(kept[kept.len() - 1], 1e8);
        let (kept, _) = series(&[3.0; 1000], &values[..1000], 100);
        assert!(kept.len() <= 100 && kept.len() >= 50, "{}", kept.len());
    }

    #[test]
    fn the_rare_end_of_a_tail_keeps_its_points() {
        // An exponential tail sampled a million times: the last decade of probability holds ten samples.
        let packets = 1_000_000;
        let ccdf: Vec<f64> = (1..=packets).map(|rank| f64::from(packets - rank) / f64::from(packets)).collect();
        let delays: Vec<f64> = (1..=packets).map(|rank| -(1.0 - (f64::from(rank) - 0.5) / f64::from(packets)).ln()).collect();
        let (x, y) = tail(&delays, &ccdf, 400);
        assert!(x.len() <= 400, "{}", x.len());
        assert!(y.iter().filter(|share| **share > 0.0 && **share < 1e-5).count() >= 5);
        assert!(y.iter().filter(|share| **share > 0.1).count() >= 50);
        assert_eq!(x[x.len() - 1], delays[delays.len() - 1]);
        assert_eq!(y[y.len() - 1], 0.0);
    }

    #[test]
    fn a_tail_of_zeros_is_survived() {
        let (x, y) = tail(&[0.0; 1000], &[0.0; 1000], 100);
        assert_eq!((x.len(), y.len()), (2, 2));
    }
}
