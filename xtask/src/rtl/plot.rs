//! A line chart as SVG: numbers of streams along the bottom, doubling from mark to mark, and a linear or logarithmic height.

use std::fmt::Write;

/// How the vertical axis runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Linear,
    /// From a power of ten to a power of ten.
    Logarithmic,
}

/// A line with its name.
pub struct Curve {
    pub name: String,
    /// Streams, a power of two, and a value above zero.
    pub points: Vec<(u32, f64)>,
}

/// A value to compare with, drawn as a broken line across.
pub struct Mark {
    pub name: String,
    pub value: f64,
}

pub struct Chart {
    pub title: String,
    /// The quantity and its unit.
    pub measure: String,
    pub scale: Scale,
    pub curves: Vec<Curve>,
    pub marks: Vec<Mark>,
}

/// The width of the picture, in units of the SVG.
const WIDTH: f64 = 760.0;
/// Its height.
const HEIGHT: f64 = 400.0;
/// The margin for numbers.
const LEFT: f64 = 70.0;
/// The margin for the names of the curves.
const RIGHT: f64 = 210.0;
/// The margin for the title.
const TOP: f64 = 46.0;
/// The margin for the numbers of streams.
const BOTTOM: f64 = 48.0;

/// Colours that the colour-blind can tell apart, too.
const COLOURS: &[&str] = &["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b6b6b", "#8c510a"];

impl Chart {
    /// The chart as an SVG document; `None` if no curve has a point.
    pub fn svg(&self) -> Option<String> {
        let streams: Vec<u32> = self.curves.iter().flat_map(|curve| curve.points.iter().map(|(streams, _)| *streams)).collect();
        let (first, last) = (*streams.iter().min()?, *streams.iter().max()?);
        let axis = Axis::over(self.scale, self.curves.iter().flat_map(|curve| curve.points.iter().map(|(_, value)| *value)), &self.marks);
        let doublings = f64::from((last / first).max(1)).log2().max(1.0);
        let x = |streams: u32| LEFT + 24.0 + (WIDTH - LEFT - RIGHT - 48.0) * (f64::from(streams) / f64::from(first)).log2() / doublings;
        let y = |value: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * axis.height(value);
        let right = WIDTH - RIGHT;

        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n\
             <text x=\"{LEFT}\" y=\"22\" font-size=\"15\" font-weight=\"bold\">{}</text>\n\
             <text x=\"{LEFT}\" y=\"38\" fill=\"#444444\">{}</text>\n",
            escaped(&self.title),
            escaped(&self.measure)
        );
        for tick in &axis.ticks {
            let at = y(*tick);
            line(&mut svg, (LEFT, at), (right, at), "#dddddd", "");
            text(&mut svg, (LEFT - 6.0, at + 4.0), "end", "#222222", &number(*tick));
        }
        let mut marked = streams.clone();
        marked.sort_unstable();
        marked.dedup();
        for streams in marked {
            line(&mut svg, (x(streams), HEIGHT - BOTTOM), (x(streams), HEIGHT - BOTTOM + 5.0), "#222222", "");
            text(&mut svg, (x(streams), HEIGHT - BOTTOM + 20.0), "middle", "#222222", &number(f64::from(streams)));
        }
        text(&mut svg, ((LEFT + right) / 2.0, HEIGHT - 10.0), "middle", "#222222", "streams");
        line(&mut svg, (LEFT, HEIGHT - BOTTOM), (right, HEIGHT - BOTTOM), "#222222", "");
        // Names are at the height of their curves, moved apart where they would overlap.
        let mut names: Vec<(f64, &str, String)> = Vec::new();
        for mark in &self.marks {
            line(&mut svg, (LEFT, y(mark.value)), (right, y(mark.value)), "#444444", " stroke-dasharray=\"5 4\"");
            names.push((y(mark.value), "#444444", mark.name.clone()));
        }
        for (index, curve) in self.curves.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let points: Vec<String> = curve.points.iter().map(|&(streams, value)| format!("{:.1},{:.1}", x(streams), y(value))).collect();
            let _ = writeln!(svg, "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>", points.join(" "));
            for &(streams, value) in &curve.points {
                let _ = writeln!(svg, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\" fill=\"{colour}\"/>", x(streams), y(value));
            }
            if let Some(&(_, value)) = curve.points.last() {
                names.push((y(value), colour, curve.name.clone()));
            }
        }
        for (at, colour, name) in apart(names) {
            text(&mut svg, (right + 8.0, at + 4.0), "start", colour, &name);
        }
        svg.push_str("</svg>\n");
        Some(svg)
    }
}

struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Axis {
    fn over(scale: Scale, values: impl Iterator<Item = f64> + Clone, marks: &[Mark]) -> Axis {
        let all = values.chain(marks.iter().map(|mark| mark.value));
        let most = all.clone().fold(f64::MIN_POSITIVE, f64::max);
        let least = all.fold(most, f64::min);
        match scale {
            Scale::Linear => {
                let step = round_step(most / 6.0);
                let count = (most / step).ceil().max(1.0);
                let ticks = (0..=count as u32).map(|index| f64::from(index) * step).collect();
                Axis { scale, low: 0.0, high: count * step, ticks }
            }
            Scale::Logarithmic => {
                let (low, high) = (least.log10().floor() as i32, most.log10().ceil() as i32);
                let high = high.max(low + 1);
                // Between powers of ten the 2 and the 5 too.
                let inner = (low..high).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)));
                Axis { scale, low: 10_f64.powi(low), high: 10_f64.powi(high), ticks: inner.chain([10_f64.powi(high)]).collect() }
            }
        }
    }

    /// 0 at the bottom, 1 at the top.
    fn height(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => (value / self.low).ln() / (self.high / self.low).ln(),
        }
    }
}

/// The next larger of 1, 2, 2.5 and 5 times a power of ten.
fn round_step(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [1.0, 2.0, 2.5, 5.0, 10.0].map(|digit| digit * power).into_iter().find(|step| *step >= value * 0.999).unwrap_or(power * 10.0)
}

/// Moves names down until there are 15 units between two.
fn apart(mut names: Vec<(f64, &str, String)>) -> Vec<(f64, &str, String)> {
    names.sort_by(|a, b| a.0.total_cmp(&b.0));
    for index in 1..names.len() {
        names[index].0 = names[index].0.max(names[index - 1].0 + 15.0);
    }
    // Those that were moved out of the picture push the others up.
    let mut limit = HEIGHT - 12.0;
    for name in names.iter_mut().rev() {
        name.0 = name.0.min(limit);
        limit = name.0 - 15.0;
    }
    names
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), colour: &str, more: &str) {
    let _ =
        writeln!(svg, "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\"{more}/>", from.0, from.1, to.0, to.1);
}

fn text(svg: &mut String, at: (f64, f64), anchor: &str, colour: &str, words: &str) {
    let words = escaped(words);
    let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{words}</text>", at.0, at.1);
}

/// A number with up to three decimals below 1,000, and with commas from there on.
fn number(value: f64) -> String {
    if value < 1000.0 {
        return format!("{}", (value * 1000.0).round() / 1000.0);
    }
    grouped(value.round() as u64)
}

/// A number with a comma between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(scale: Scale, curves: &[(&str, &[(u32, f64)])]) -> Chart {
        let curves = curves.iter().map(|(name, points)| Curve { name: (*name).to_owned(), points: points.to_vec() }).collect();
        Chart { title: "A < B".to_owned(), measure: "ns".to_owned(), scale, curves, marks: Vec::new() }
    }

    #[test]
    fn every_point_is_drawn_and_text_is_escaped() {
        let svg = chart(Scale::Linear, &[("a", &[(4, 10.0), (8, 20.0)]), ("b", &[(4, 5.0)])]).svg().unwrap();
        assert_eq!(svg.matches("<circle").count(), 3);
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains("A &lt; B") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn larger_values_are_higher_in_either_scale() {
        for scale in [Scale::Linear, Scale::Logarithmic] {
            let axis = Axis::over(scale, [30.0, 170.0].into_iter(), &[]);
            assert!(0.0 <= axis.height(30.0) && axis.height(30.0) < axis.height(170.0) && axis.height(170.0) <= 1.0, "{scale:?}");
        }
        let axis = Axis::over(Scale::Logarithmic, [30.0, 170.0].into_iter(), &[]);
        assert_eq!((axis.low, axis.high), (10.0, 1000.0));
        let linear = Axis::over(Scale::Linear, [13_400.0].into_iter(), &[]);
        assert_eq!((linear.low, linear.high), (0.0, 15_000.0));
    }

    #[test]
    fn names_do_not_lie_on_each_other() {
        let names =
            apart(vec![(100.0, "", "a".to_owned()), (101.0, "", "b".to_owned()), (390.0, "", "c".to_owned()), (391.0, "", "d".to_owned())]);
        assert!(names.windows(2).all(|pair| pair[1].0 - pair[0].0 >= 15.0 - 1e-9), "{names:?}");
        assert!(names.iter().all(|(at, _, _)| *at <= HEIGHT - 12.0));
    }

    #[test]
    fn a_chart_without_points_is_none() {
        assert_eq!(chart(Scale::Linear, &[("a", &[])]).svg(), None);
    }
}
