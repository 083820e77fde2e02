//! Linear programs whose value is proven: solved in floats, certified in fractions.
//!
//! **Law.** For `max c x` with `A x <= b` and free `x`, any `y >= 0` with `A' y = c` proves `c x <= b y` (weak duality). The float solver only
//! chooses which `y` are not 0; they are then computed exactly from `A' y = c`, and their signs are checked. Without that proof there is no value: a solver's
//! tolerance makes its optimum no bound.
//!
//! **Cost.** One solve of the dual by the simplex method, and one sparse elimination with fractions of any size.

use crate::quantity::NoBound;
use microlp::{ComparisonOp, OptimizationDirection, Problem};
use num_bigint::BigInt;
use num_rational::BigRational;
use std::collections::BTreeMap;

/// What the unknown of a column measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    /// Picoseconds.
    Time,
    /// Picobits.
    Data,
}

/// `sum of terms <= limit`. The limit is in picobits if the row has a term of data or a rate, and else in picoseconds.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Column and factor: 1 or -1, or a rate where a time stands for data.
    pub(super) terms: Vec<(usize, i128)>,
    pub(super) limit: i128,
    /// What both sides measure.
    pub(super) unit: Unit,
}

/// A program to maximise the unknown of one column with a factor of -1, over free unknowns.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub(super) columns: Vec<Unit>,
    pub(super) rows: Vec<Row>,
    /// The column of time that is minimised: the value is what it is below 0.
    pub(super) least: usize,
}

/// A multiplier below this is taken for 0.
const TOLERANCE: f64 = 1e-9;

impl Program {
    /// Appends a column.
    pub(super) fn column(&mut self, unit: Unit) -> usize {
        self.columns.push(unit);
        self.columns.len() - 1
    }

    /// Appends a row; terms of the same column are summed.
    pub(super) fn row(&mut self, unit: Unit, terms: impl IntoIterator<Item = (usize, i128)>, limit: i128) {
        let mut sums: BTreeMap<usize, i128> = BTreeMap::new();
        terms.into_iter().for_each(|(column, factor)| *sums.entry(column).or_default() += factor);
        let terms = sums.into_iter().filter(|term| term.1 != 0).collect();
        self.rows.push(Row { terms, limit, unit });
    }

    /// The largest value, proven, rounded up.
    ///
    /// # Errors
    /// The solver fails, or what it finds is not proven.
    pub(super) fn bound(&self) -> Result<i128, NoBound> {
        let multipliers = self.solve().ok_or(NoBound::Because("the solver found no optimum"))?;
        self.certify(&multipliers).ok_or(NoBound::Because("the optimum of the solver could not be proven"))
    }

    /// The largest rate, and the largest limit of a time: the units of the scaled program.
    fn units(&self) -> (f64, f64) {
        let rates = self.rows.iter().filter(|row| row.unit == Unit::Data).flat_map(|row| &row.terms);
        let rate = rates.filter(|term| self.columns[term.0] == Unit::Time).map(|term| term.1.unsigned_abs()).max();
        let time = self.rows.iter().filter(|row| row.unit == Unit::Time).map(|row| row.limit).max();
        (rate.unwrap_or(1).max(1) as f64, time.unwrap_or(1).max(1) as f64)
    }

    /// Solves the dual: a multiplier for each row, in scaled units.
    fn solve(&self) -> Option<Vec<f64>> {
        let (rate, time) = self.units();
        let mut dual = Problem::new(OptimizationDirection::Minimize);
        let mut equations: Vec<Vec<(microlp::Variable, f64)>> = vec![Vec::new(); self.columns.len()];
        let mut variables = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let scale = if row.unit == Unit::Data { rate * time } else { time };
            let variable = dual.add_var(row.limit as f64 / scale, (0.0, f64::INFINITY));
            variables.push(variable);
            for &(column, factor) in &row.terms {
                let unit = if self.columns[column] == Unit::Data { rate * time } else { time };
                equations[column].push((variable, factor as f64 * unit / scale));
            }
        }
        for (column, terms) in equations.iter().enumerate() {
            let aim = if column == self.least { -1.0 } else { 0.0 };
            dual.add_constraint(terms.as_slice(), ComparisonOp::Eq, aim);
        }
        let solution = dual.solve().ok()?.into_solution().ok()?;
        Some(variables.into_iter().map(|variable| solution.var_value(variable)).collect())
    }

    /// Computes the multipliers that are not 0 exactly, checks them, and returns the value they prove.
    fn certify(&self, multipliers: &[f64]) -> Option<i128> {
        let support: Vec<usize> = (0..self.rows.len()).filter(|&row| multipliers[row] > TOLERANCE).collect();
        // Rates have a common divisor; multipliers of data are scaled by it, which keeps the fractions small.
        let rates = self.rows.iter().filter(|row| row.unit == Unit::Data).flat_map(|row| &row.terms);
        let divisor = rates.filter(|term| self.columns[term.0] == Unit::Time).fold(0, |divisor, term| gcd(divisor, term.1.unsigned_abs()));
        let divisor = i128::try_from(divisor.max(1)).ok()?;
        let mut equations: Vec<Equation> = vec![Equation::default(); self.columns.len()];
        for (unknown, &row) in support.iter().enumerate() {
            for &(column, factor) in &self.rows[row].terms {
                let is_rate = self.rows[row].unit == Unit::Data && self.columns[column] == Unit::Time;
                let factor = if is_rate { factor / divisor } else { factor };
                equations[column].terms.insert(unknown, BigRational::from_integer(factor.into()));
            }
        }
        equations[self.least].aim = BigRational::from_integer((-1).into());
        let solution = eliminate(equations, support.len())?;
        if solution.iter().any(|multiplier| *multiplier < BigRational::from_integer(0.into())) {
            return None;
        }
        let mut value = BigRational::from_integer(0.into());
        for (&row, multiplier) in support.iter().zip(&solution) {
            let Row { limit, unit, .. } = &self.rows[row];
            let per = if *unit == Unit::Data { divisor } else { 1 };
            value += multiplier * BigRational::new((*limit).into(), per.into());
        }
        i128::try_from(value.ceil().to_integer()).ok()
    }
}

/// `sum of terms = aim`.
#[derive(Clone, Debug)]
struct Equation {
    terms: BTreeMap<usize, BigRational>,
    aim: BigRational,
}

impl Default for Equation {
    fn default() -> Equation {
        Equation { terms: BTreeMap::new(), aim: BigRational::from_integer(0.into()) }
    }
}

impl Equation {
    /// Subtracts `factor` times another.
    fn subtract(&mut self, factor: &BigRational, other: &Equation) {
        let zero = BigRational::from_integer(BigInt::from(0));
        for (&unknown, value) in &other.terms {
            let entry = self.terms.entry(unknown).or_insert_with(|| zero.clone());
            *entry -= factor * value;
            if *entry == zero {
                self.terms.remove(&unknown);
            }
        }
        self.aim -= factor * &other.aim;
    }
}

/// Solves the equations; unknowns that they leave free are 0. `None` if they contradict each other.
fn eliminate(mut equations: Vec<Equation>, unknowns: usize) -> Option<Vec<BigRational>> {
    let zero = BigRational::from_integer(BigInt::from(0));
    let mut solved: Vec<(usize, Equation)> = Vec::new();
    while !equations.is_empty() {
        // The shortest equation first: it fills the others least.
        let shortest = (0..equations.len()).min_by_key(|&at| equations[at].terms.len())?;
        let mut pivot = equations.swap_remove(shortest);
        // Of its unknowns, the one that the fewest others have.
        let count = |unknown: usize| equations.iter().filter(|equation| equation.terms.contains_key(&unknown)).count();
        let Some(unknown) = pivot.terms.keys().copied().min_by_key(|&unknown| count(unknown)) else {
            if pivot.aim != zero {
                return None;
            }
            continue;
        };
        let lead = pivot.terms.remove(&unknown)?;
        pivot.terms.values_mut().for_each(|value| *value /= &lead);
        pivot.aim /= &lead;
        for equation in &mut equations {
            if let Some(factor) = equation.terms.remove(&unknown) {
                equation.subtract(&factor, &pivot);
            }
        }
        solved.push((unknown, pivot));
    }
    let mut solution = vec![zero; unknowns];
    for (unknown, equation) in solved.into_iter().rev() {
        let rest: BigRational = equation.terms.iter().map(|(&other, value)| value * &solution[other]).sum();
        solution[unknown] = equation.aim - rest;
    }
    Some(solution)
}

/// The greatest common divisor; of 0 and a number, the number.
fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// max -x with x >= -3 and x + y >= -5, y <= 1: 3, or 6 without the first.
    fn program(with_first: bool) -> Program {
        let mut program = Program::default();
        let (x, y) = (program.column(Unit::Time), program.column(Unit::Time));
        program.least = x;
        if with_first {
            program.row(Unit::Time, [(x, -1)], 3);
        }
        program.row(Unit::Time, [(x, -1), (y, -1)], 5);
        program.row(Unit::Time, [(y, 1)], 1);
        program
    }

    #[test]
    fn the_value_is_proven() {
        assert_eq!(program(true).bound(), Ok(3));
        assert_eq!(program(false).bound(), Ok(6));
    }

    #[test]
    fn what_is_not_proven_is_no_value() {
        let program = program(true);
        // Multipliers of the wrong rows, and of too few.
        assert_eq!(program.certify(&[0.0, 1.0, 0.0]), None);
        assert_eq!(program.certify(&[0.0, 0.0, 0.0]), None);
        // Any support that solves the equations proves its value, also a worse one.
        assert_eq!(program.certify(&[0.0, 1.0, 1.0]), Some(6));
        assert_eq!(program.certify(&[1.0, 0.0, 0.0]), Some(3));
        // Unbounded: no multipliers exist.
        let mut free = Program::default();
        free.least = free.column(Unit::Time);
        assert!(free.bound().is_err());
    }

    #[test]
    fn negative_multipliers_are_refused() {
        let mut program = Program::default();
        let x = program.column(Unit::Time);
        program.least = x;
        program.row(Unit::Time, [(x, 1)], 3);
        assert_eq!(program.certify(&[1.0]), None);
    }
}
