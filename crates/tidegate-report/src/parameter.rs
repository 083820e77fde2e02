//! What one axis of a sweep is at every point: texts as they were given, and numbers with a unit where all are of one kind.

use crate::columnar::{Column, Values};

/// One axis of a sweep.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// The key that the axis changes.
    pub key: String,
    /// The values as they were given, one per point.
    pub values: Vec<String>,
    /// The values as numbers, if all are of one kind.
    pub numbers: Option<Numbers>,
}

/// The values of an axis as numbers of one unit.
#[derive(Clone, PartialEq, Debug)]
pub struct Numbers {
    /// The name of their column: the key, and behind it the unit.
    pub column: String,
    /// `bps`, `s`, `bytes` or `share`; empty for plain numbers.
    pub unit: &'static str,
    /// One per point.
    pub values: Vec<f64>,
}

impl Parameter {
    /// An axis with these values, one per point, which are these numbers of this unit.
    pub fn new(key: String, values: Vec<String>, numbers: Option<(&'static str, Vec<f64>)>) -> Parameter {
        let numbers = numbers.map(|(unit, values)| {
            let column = if unit.is_empty() { key.clone() } else { format!("{key}_{unit}") };
            Numbers { column, unit, values }
        });
        Parameter { key, values, numbers }
    }

    /// Its columns in a table with one row per item of `points`, each the index of a point: plain numbers alone, or else the texts and behind them
    /// the numbers.
    pub(crate) fn columns<'a>(&'a self, points: impl Iterator<Item = usize> + Clone) -> Vec<Column<'a>> {
        let texts = Column { name: &self.key, values: Values::Text(points.clone().map(|point| self.values[point].as_str()).collect()) };
        let Some(numbers) = &self.numbers else { return vec![texts] };
        let values = Values::Number(points.map(|point| numbers.values[point]).collect());
        let numbers = Column { name: &numbers.column, values };
        if numbers.name == self.key { vec![numbers] } else { vec![texts, numbers] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_units_have_a_column_of_numbers_beside_them() {
        let values = |texts: [&str; 2]| texts.map(str::to_owned).to_vec();
        let rate = Parameter::new("link.a.rate".into(), values(["1 Mbit/s", "2 Mbit/s"]), Some(("bps", vec![1e6, 2e6])));
        let weight = Parameter::new("weight".into(), values(["1", "2"]), Some(("", vec![1.0, 2.0])));
        let kind = Parameter::new("kind".into(), values(["fifo", "drr"]), None);
        let names = |parameter: &Parameter| {
            parameter.columns([1, 0, 1].into_iter()).iter().map(|column| column.name.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&rate), ["link.a.rate", "link.a.rate_bps"]);
        assert_eq!((names(&weight), names(&kind)), (vec!["weight".to_owned()], vec!["kind".to_owned()]));
        let columns = rate.columns([1, 0, 1].into_iter());
        assert!(matches!(&columns[1].values, Values::Number(values) if values == &[2e6, 1e6, 2e6]));
    }
}
