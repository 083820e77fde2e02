//! The points of a sweep: values for several keys of a file, in a grid, side by side or drawn at random.
//!
//! An axis is a key as `--set` names it, and its values. `link.access.rate=5 Mbit/s, 10 Mbit/s` lists them. `1..10 Mbit/s/4` takes four from a range in
//! equal steps, and in equal ratios with ` log` at the end. Without a number of steps a range is drawn from. A Latin hypercube cuts every axis into
//! equal parts, one per point, and takes one value from each (M. McKay, R. Beckman, W. Conover, Technometrics 21(2), 1979).

pub use crate::choice::Design;
use crate::choice::DesignName;
use crate::diagnostic::Diagnostic;
use crate::value::{At, Block, Leaf, Scalar, Text, Whole};
use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_sim::random::Stream;

/// The most points of a sweep.
pub const MOST_POINTS: usize = 100_000;

/// The most axes of a sweep.
pub const MOST_AXES: usize = 16;

impl Design {
    /// True if its points are drawn, so that their number has to be given.
    pub fn is_drawn(self) -> bool {
        matches!(self, Design::LatinHypercube | Design::Random)
    }

    /// The design of this name in files.
    ///
    /// # Errors
    /// What would be right.
    pub fn named(name: &str) -> Result<Design, String> {
        DesignName::read(&Scalar::Text(name.into())).map(|name| name.0)
    }
}

/// A key and its values.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// The key, as `--set` names it.
    pub key: String,
    values: Values,
}

#[derive(Clone, PartialEq, Debug)]
enum Values {
    List(Vec<String>),
    Range(Range),
}

/// From one value to another; whole if both are and have no unit.
#[derive(Clone, PartialEq, Debug)]
struct Range {
    from: f64,
    to: f64,
    unit: String,
    is_logarithmic: bool,
    is_whole: bool,
    steps: Option<usize>,
}

impl Axis {
    /// Reads `KEY=VALUES`.
    ///
    /// # Errors
    /// One sentence.
    ///
    /// ```
    /// use tidegate_scenario::sweep::{Axis, Design, Sweep};
    /// let axes = vec![Axis::parse("link.access.rate = 1..4 Mbit/s/3 log").unwrap(), Axis::parse("policy.access.class.voice.weight=1,2").unwrap()];
    /// let points = Sweep { axes, design: Design::Grid, points: None }.points(1).unwrap();
    /// assert_eq!(points[2], ["2 Mbit/s", "1"]);
    /// ```
    pub fn parse(text: &str) -> Result<Axis, String> {
        let form = "write KEY=VALUE,VALUE,... or KEY=FROM..TO/STEPS, such as link.access.rate=5 Mbit/s,10 Mbit/s";
        let (key, values) = text.split_once('=').ok_or_else(|| format!("the axis `{text}` has no `=`: {form}"))?;
        let (key, values) = (key.trim().to_owned(), values.trim());
        if key.is_empty() || values.is_empty() {
            return Err(format!("the axis `{text}` has no {}: {form}", if key.is_empty() { "key" } else { "values" }));
        }
        let is_list = values.contains(',') || !values.contains("..");
        let values = if is_list {
            let list = separated(values);
            if list.iter().any(String::is_empty) {
                return Err(format!("the axis `{key}` has an empty value: {form}"));
            }
            Values::List(list)
        } else {
            Values::Range(Range::parse(values).map_err(|problem| format!("the axis `{key}`: {problem}"))?)
        };
        Ok(Axis { key, values })
    }

    /// Its values, one by one.
    fn listed(&self) -> Result<Vec<String>, String> {
        match &self.values {
            Values::List(list) => Ok(list.clone()),
            Values::Range(range) => {
                let steps =
                    range.steps.ok_or_else(|| format!("the range of axis `{}` has no number of steps: write FROM..TO/STEPS", self.key))?;
                Ok((0..steps).map(|step| range.at(step as f64 / (steps - 1) as f64)).collect())
            }
        }
    }

    /// The value at this part of the axis, from 0 to below 1.
    fn at(&self, part: f64) -> String {
        match &self.values {
            Values::List(list) => list[((part * list.len() as f64) as usize).min(list.len() - 1)].clone(),
            Values::Range(range) => range.at(part),
        }
    }
}

impl Range {
    fn parse(text: &str) -> Result<Range, String> {
        let form = "write FROM..TO/STEPS, such as 1..10 Mbit/s/4, and ` log` behind it for equal ratios";
        let (is_logarithmic, text) = text.strip_suffix(" log").map_or((false, text), |rest| (true, rest.trim_end()));
        let (from, rest) = text.split_once("..").ok_or(form)?;
        // The unit of a rate has a slash itself.
        let (to, steps) = match rest.rsplit_once('/').map(|(to, steps)| (to, steps.trim().parse::<usize>())) {
            Some((to, Ok(steps))) => (to, Some(steps)),
            _ => (rest, None),
        };
        if steps.is_some_and(|steps| !(2..=MOST_POINTS).contains(&steps)) {
            return Err(format!("a range has from 2 to {MOST_POINTS} steps"));
        }
        let ((from, unit_of_from), (to, unit)) = (quantity(from).ok_or(form)?, quantity(to).ok_or(form)?);
        if !unit_of_from.is_empty() && unit_of_from != unit {
            return Err(format!("its ends have the units `{unit_of_from}` and `{unit}`; give both the same"));
        }
        if from >= to || (is_logarithmic && from <= 0.0) {
            return Err(format!("it goes from {from} to {to}; it has to rise{}", if is_logarithmic { " from above 0" } else { "" }));
        }
        let is_whole = unit.is_empty() && !text.replace("..", "").contains('.');
        Ok(Range { from, to, unit: unit.to_owned(), is_logarithmic, is_whole, steps })
    }

    fn at(&self, part: f64) -> String {
        let value =
            if self.is_logarithmic { self.from * (self.to / self.from).powf(part) } else { self.from + (self.to - self.from) * part };
        // Six digits are as much as a reader can take; some units take fewer.
        let number = if self.is_whole { value.round() } else { format!("{value:.5e}").parse().unwrap_or(value) };
        let number = whole_amounts(&self.unit).map_or(number, |amounts| (number * amounts).round() / amounts);
        format!("{number} {}", self.unit).trim_end().to_owned()
    }
}

/// How many bytes, bits per second, packets, or the like are in a unit of which a file takes whole ones only.
fn whole_amounts(unit: &str) -> Option<f64> {
    let of_binary = ["KiB", "MiB", "GiB"].iter().position(|known| *known == unit);
    if let Some(power) = of_binary {
        return Some(1024_f64.powi(power as i32 + 1));
    }
    let bases = ["B", "B/s", "bit/s", "pps"];
    let prefixed = |prefix: &str| unit.strip_prefix(prefix).is_some_and(|base| bases.contains(&base));
    match unit {
        "packets" | "packet" | "slots" | "slot" => Some(1.0),
        _ => [("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9)].iter().find(|(prefix, _)| prefixed(prefix)).map(|&(_, amounts)| amounts),
    }
}

/// A number and its unit.
fn quantity(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|character: char| !(character.is_ascii_digit() || ".-+".contains(character))).unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    number.is_finite().then(|| (number, text[end..].trim()))
}

/// Splits at commas outside quotes and brackets.
fn separated(text: &str) -> Vec<String> {
    let (mut parts, mut depth, mut is_quoted) = (vec![String::new()], 0_u32, false);
    for character in text.chars() {
        match character {
            '"' => is_quoted = !is_quoted,
            '[' | '{' if !is_quoted => depth += 1,
            ']' | '}' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if character == ',' && depth == 0 && !is_quoted {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(character);
        }
    }
    parts.into_iter().map(|part| part.trim().to_owned()).collect()
}

/// Axes and their design.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sweep {
    /// At least one.
    pub axes: Vec<Axis>,
    /// Which values belong together.
    pub design: Design,
    /// The number of points of a design that is drawn.
    pub points: Option<u32>,
}

impl Sweep {
    /// Its points: one value per axis. What is drawn depends on `seed` and on the key alone.
    ///
    /// # Errors
    /// One sentence: the axes and the design do not go together, or there are too many points.
    pub fn points(&self, seed: u64) -> Result<Vec<Vec<String>>, String> {
        for (index, axis) in self.axes.iter().enumerate() {
            if self.axes[..index].iter().any(|other| other.key == axis.key) {
                return Err(format!("two axes have the key `{}`; join their values", axis.key));
            }
        }
        if self.axes.is_empty() || self.axes.len() > MOST_AXES {
            return Err(format!("a sweep has from 1 to {MOST_AXES} axes"));
        }
        if self.design.is_drawn() {
            let count = self.points.ok_or("a design that is drawn needs its number of points")? as usize;
            let columns: Vec<Vec<String>> = self.axes.iter().map(|axis| self.drawn(axis, count, seed)).collect();
            return Ok((0..count).map(|point| columns.iter().map(|column| column[point].clone()).collect()).collect());
        }
        if self.points.is_some() {
            return Err("only a design that is drawn has a number of points: latin-hypercube or random".to_owned());
        }
        let lists = self.axes.iter().map(Axis::listed).collect::<Result<Vec<_>, String>>()?;
        if self.design == Design::Zipped {
            if let Some(other) = lists.iter().position(|list| list.len() != lists[0].len()) {
                let (first, other) = ((&self.axes[0].key, lists[0].len()), (&self.axes[other].key, lists[other].len()));
                return Err(format!(
                    "zipped axes have the same number of values, and `{}` has {}, `{}` has {}",
                    first.0, first.1, other.0, other.1
                ));
            }
            return Ok((0..lists[0].len()).map(|point| lists.iter().map(|list| list[point].clone()).collect()).collect());
        }
        let count = lists.iter().try_fold(1_usize, |count, list| count.checked_mul(list.len()).filter(|&count| count <= MOST_POINTS));
        let count = count.ok_or_else(|| format!("the grid has more than {MOST_POINTS} points"))?;
        let point = |mut number: usize| {
            let mut values: Vec<String> = Vec::with_capacity(lists.len());
            for list in lists.iter().rev() {
                values.push(list[number % list.len()].clone());
                number /= list.len();
            }
            values.reverse();
            values
        };
        Ok((0..count).map(point).collect())
    }

    /// The values of one axis at all points.
    fn drawn(&self, axis: &Axis, count: usize, seed: u64) -> Vec<String> {
        let mut stream = Stream::new(seed, 0, &format!("sweep {}", axis.key));
        if self.design == Design::Random {
            return (0..count).map(|_| axis.at(stream.uniform())).collect();
        }
        let mut parts: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            parts.swap(last, stream.below(last as u64 + 1) as usize);
        }
        parts.into_iter().map(|part| axis.at((part as f64 + stream.uniform()) / count as f64)).collect()
    }
}

/// What `tidegate sweep` varies. Other commands ignore it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SweepTable {
    /// The axes: a key as `--set` names it, and its values, listed (`KEY = VALUE, VALUE`) or from a range (`KEY = FROM..TO/STEPS`; with ` log` behind it
    /// in equal ratios; without steps for designs that are drawn).
    #[schemars(extend("examples" = [["link.access.rate = 5 Mbit/s, 10 Mbit/s", "policy.access.class.voice.weight = 1..9/5"]]))]
    pub axis: Vec<At<Text>>,
    /// Which values of the axes belong to one point.
    #[schemars(extend("default" = "grid"))]
    pub design: Option<At<DesignName>>,
    /// The number of points, for a design that is drawn.
    #[schemars(extend("examples" = [50]))]
    pub points: Option<At<Whole<1, 100_000>>>,
}

impl SweepTable {
    /// The sweep, without the axes that are wrong.
    pub(crate) fn read(table: &Block<SweepTable>, findings: &mut Vec<Diagnostic>) -> Sweep {
        let mut axes = Vec::new();
        for axis in &table.axis {
            match Axis::parse(&axis.0) {
                Ok(read) => axes.push(read),
                Err(problem) => findings.push(axis.error(problem)),
            }
        }
        let design = table.design.as_ref().map_or(Design::Grid, |design| design.0);
        let sweep = Sweep { axes, design, points: table.points.as_ref().map(|points| points.0 as u32) };
        if sweep.axes.len() == table.axis.len() {
            findings.extend(sweep.points(0).err().map(|problem| table.error(problem)));
        }
        sweep
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn points(axes: &[&str], design: Design, points: Option<u32>) -> Result<Vec<Vec<String>>, String> {
        let axes = axes.iter().map(|axis| Axis::parse(axis)).collect::<Result<_, _>>()?;
        Sweep { axes, design, points }.points(1)
    }

    #[test]
    fn a_grid_has_every_combination_and_the_last_axis_changes_first() {
        let grid = points(&["a.b=1,2", "c.d=x, y,\"p, q\""], Design::Grid, None).unwrap();
        let text: Vec<String> = grid.iter().map(|point| point.join(" ")).collect();
        assert_eq!(text, ["1 x", "1 y", "1 \"p, q\"", "2 x", "2 y", "2 \"p, q\""]);
        assert_eq!(points(&["a.b=1,2", "c.d=3,4"], Design::Zipped, None).unwrap(), [["1", "3"], ["2", "4"]]);
    }

    #[test]
    fn ranges_have_equal_steps_or_ratios() {
        let column = |axis| points(&[axis], Design::Grid, None).unwrap().into_iter().flatten().collect::<Vec<_>>();
        assert_eq!(column("a.b=1..2 ms/5"), ["1 ms", "1.25 ms", "1.5 ms", "1.75 ms", "2 ms"]);
        assert_eq!(column("a.b=1 Mbit/s..100 Mbit/s/3 log"), ["1 Mbit/s", "10 Mbit/s", "100 Mbit/s"]);
        assert_eq!(column("a.b=1..10/4"), ["1", "4", "7", "10"]);
        assert_eq!(column("a.b=1..4/3"), ["1", "3", "4"], "whole ends give whole values");
        assert_eq!(column("a.b=0.1..0.3/3"), ["0.1", "0.2", "0.3"]);
        assert_eq!(column("a.b=4..400 kB/4 log"), ["4 kB", "18.566 kB", "86.177 kB", "400 kB"], "a file takes whole bytes");
        assert_eq!(column("a.b=1..2 KiB/4")[1], "1.3330078125 KiB");
        assert_eq!(column("a.b=1..2 packets/4"), ["1 packets", "1 packets", "2 packets", "2 packets"]);
    }

    #[test]
    fn a_latin_hypercube_has_one_point_in_every_part_of_every_axis() {
        let drawn = points(&["a.b=0.0..1.0", "c.d=5,6"], Design::LatinHypercube, Some(40)).unwrap();
        let parts: HashSet<usize> = drawn.iter().map(|point| (point[0].parse::<f64>().unwrap() * 40.0 - 1e-4) as usize).collect();
        assert!(parts.len() >= 39, "{} of 40 parts have a point", parts.len());
        assert_eq!(drawn.iter().filter(|point| point[1] == "5").count(), 20);
        let sorted = |index: usize| drawn.windows(2).all(|pair| pair[0][index] <= pair[1][index]);
        assert!(!sorted(0) && !sorted(1), "axes are permuted independently");
        assert_eq!(drawn, points(&["a.b=0.0..1.0", "c.d=5,6"], Design::LatinHypercube, Some(40)).unwrap());
        assert_eq!(drawn[3][1], points(&["c.d=5,6"], Design::LatinHypercube, Some(40)).unwrap()[3][0], "an axis does not depend on others");
    }

    #[test]
    fn random_points_stay_in_their_range() {
        let drawn = points(&["a.b=2..8 ms log"], Design::Random, Some(400)).unwrap();
        let values: Vec<f64> = drawn.iter().map(|point| point[0].trim_end_matches(" ms").parse().unwrap()).collect();
        assert!(values.iter().all(|value| (2.0..=8.0).contains(value)));
        let below = values.iter().filter(|&&value| value < 4.0).count();
        assert!((160..=240).contains(&below), "{below} of 400 below the geometric middle");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let said = |axes: &[&str], design, count| points(axes, design, count).unwrap_err();
        assert!(said(&["a.b"], Design::Grid, None).contains("has no `=`"));
        assert!(said(&["a.b="], Design::Grid, None).contains("has no values"));
        assert!(said(&["a.b=1,,2"], Design::Grid, None).contains("empty value"));
        assert!(said(&["a.b=1..2"], Design::Grid, None).contains("no number of steps"));
        assert!(said(&["a.b=1 ms..2 s/3"], Design::Grid, None).contains("units `ms` and `s`"));
        assert!(said(&["a.b=2..1/3"], Design::Grid, None).contains("has to rise"));
        assert!(said(&["a.b=0..1/3 log"], Design::Grid, None).contains("above 0"));
        assert!(said(&["a.b=1..2/1"], Design::Grid, None).contains("from 2"));
        assert!(said(&[], Design::Grid, None).contains("from 1 to 16 axes"));
        assert!(said(&["a.b=1", "a.b=2"], Design::Grid, None).contains("two axes"));
        assert!(said(&["a.b=1,2", "c.d=1"], Design::Zipped, None).contains("`a.b` has 2, `c.d` has 1"));
        assert!(said(&["a.b=1..2"], Design::Random, None).contains("number of points"));
        assert!(said(&["a.b=1,2"], Design::Grid, Some(5)).contains("only a design that is drawn"));
        assert!(said(&["a.b=1..1000/1000", "c.d=1..1000/1000"], Design::Grid, None).contains("more than"));
    }
}
