//! Figures of a sweep by name: `NAME.METRIC`, and the interval of one that ends the replications of a point.

use tidegate_report::{METRICS, RowScope, Run};
use tidegate_sim::Estimate;

/// What figures can be asked of.
pub struct Names<'a> {
    pub flows: Vec<&'a str>,
    pub workloads: Vec<&'a str>,
    pub ports: Vec<&'a str>,
}

impl Names<'_> {
    /// Reads `NAME.METRIC`.
    pub fn figure(&self, text: &str) -> Result<(String, usize), String> {
        let (name, metric) = text.rsplit_once('.').ok_or_else(|| format!("`{text}` is no NAME.METRIC, such as voice.delay_p99_s"))?;
        let metric = index_of(metric).ok_or_else(|| format!("there is no metric `{metric}`; there is {}", METRICS.join(", ")))?;
        let scopes = [(RowScope::Flow, &self.flows), (RowScope::Workload, &self.workloads), (RowScope::Port, &self.ports)];
        let named: Vec<RowScope> = scopes.iter().filter(|(_, names)| names.contains(&name)).map(|(scope, _)| *scope).collect();
        if named.iter().any(|scope| scope.has(metric)) {
            return Ok((name.to_owned(), metric));
        }
        if let Some(scope) = named.first() {
            let has: Vec<&str> = (0..METRICS.len()).filter(|&metric| scope.has(metric)).map(|metric| METRICS[metric]).collect();
            return Err(format!("the {} `{name}` has no {}; it has {}", scope.name(), METRICS[metric], has.join(", ")));
        }
        let known: Vec<&str> = scopes.iter().flat_map(|(_, names)| *names).take(20).copied().collect();
        Err(format!("there is no flow, no workload and no link `{name}`; there is {}", known.join(", ")))
    }
}

/// The index of a metric.
pub fn index_of(metric: &str) -> Option<usize> {
    METRICS.iter().position(|known| *known == metric)
}

/// When the replications of a point are enough.
#[derive(Clone, PartialEq, Debug)]
pub struct Until {
    pub name: String,
    pub metric: usize,
    pub part: f64,
}

impl Until {
    /// Reads `NAME.METRIC=PART%`.
    pub fn parse(text: &str, names: &Names<'_>) -> Result<Until, String> {
        let form = "write NAME.METRIC=PART, such as voice.delay_p99_s=5%";
        let (figure, part) = text.rsplit_once('=').ok_or(form)?;
        let (name, metric) = names.figure(figure.trim())?;
        let percent = part.trim().strip_suffix('%').ok_or(form)?;
        let percent: f64 = percent.trim().parse().map_err(|_| form)?;
        if !(percent > 0.0 && percent < 100.0) {
            return Err(format!("{percent} % is no part; give more than 0 % and less than 100 %"));
        }
        Ok(Until { name, metric, part: percent / 100.0 })
    }

    /// True if the interval of the figure is small enough. A flow comes before a workload of its name, and both before a link, if they can have the figure.
    pub fn is_reached(&self, run: &Run) -> bool {
        let rows_of = |scope: RowScope| run.replications.iter().filter(move |row| row.name == self.name && row.scope == scope);
        let mut able = [RowScope::Flow, RowScope::Workload].into_iter().filter(|scope| scope.has(self.metric));
        let first = able.find(|&scope| rows_of(scope).next().is_some());
        let rows = rows_of(first.unwrap_or(RowScope::Port));
        let values: Vec<f64> = rows.filter_map(|row| row.figures()[self.metric]).collect();
        Estimate::of(&values).is_some_and(|estimate| estimate.half_width.is_some_and(|width| width <= self.part * estimate.mean.abs()))
    }
}
