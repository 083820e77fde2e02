//! The sizes of connections: one size, a published distribution, or points of a CSV file.

use crate::diagnostic::Diagnostic;
use crate::document::{File, WorkloadTable};
use crate::texts::Texts;
use crate::units::{print_size, size};
use csv::ReaderBuilder;
use tidegate_sim::workload::Sizes;

/// Makes a distribution.
type Make = fn() -> Sizes;

/// The published distributions, by name.
const PUBLISHED: [(&str, Make); 2] = [("web-search", Sizes::web_search), ("data-mining", Sizes::data_mining)];

/// Reads the files of sizes that the workloads of a file name, each beside the file.
pub(crate) fn read_sizes(file: &mut File, texts: &mut Texts, findings: &mut Vec<Diagnostic>) {
    for table in &mut file.workload {
        if !table.sizes.0.to_ascii_lowercase().ends_with(".csv") {
            continue;
        }
        let points = texts
            .text("distribution of sizes", &table.sizes.0)
            .and_then(|text| points(&text).map_err(|problem| format!("the distribution {}: {problem}", table.sizes.0)));
        match points {
            Ok(points) => table.value.read = Some(points),
            Err(problem) => {
                findings.push(table.sizes.error(problem).help("write lines of bytes and cumulative probability, like 1460,0.15"))
            }
        }
    }
}

/// The points of a CSV file. A first line of names is left out.
fn points(text: &str) -> Result<Vec<(f64, f64)>, String> {
    let mut rows = ReaderBuilder::new().has_headers(false).flexible(true).comment(Some(b'#')).from_reader(text.as_bytes());
    let mut points = Vec::new();
    for (number, row) in rows.records().enumerate() {
        let row = row.map_err(|error| error.to_string())?;
        let line = row.position().map_or(number as u64 + 1, csv::Position::line);
        let fields: Vec<Option<f64>> = row.iter().map(|field| field.trim().parse().ok()).collect();
        match fields[..] {
            [Some(bytes), Some(part)] => points.push((bytes, part)),
            _ if points.is_empty() && number == 0 && fields.iter().all(Option::is_none) => {}
            _ => return Err(format!("line {line}: expected a size in bytes and a probability, not {:?}", row.iter().collect::<Vec<_>>())),
        }
    }
    Ok(points)
}

/// The distribution of a table whose file has been read.
pub(crate) fn sizes(table: &WorkloadTable) -> Result<Sizes, Diagnostic> {
    if let Some(points) = &table.read {
        let wrong = |fault: tidegate_sim::fault::Fault| {
            table.sizes.error(format!("{}: {}", table.sizes.0, fault.problem)).help(format!("expected {}", fault.expected))
        };
        return Sizes::new(points).map_err(wrong);
    }
    if let Some((_, published)) = PUBLISHED.iter().find(|(name, _)| *name == table.sizes.0) {
        return Ok(published());
    }
    match size(&table.sizes.0) {
        Ok(0) => Err(table.sizes.error("a connection carries at least one byte").help("write a size like \"100 kB\"")),
        Ok(bytes) => Ok(Sizes::fixed(bytes)),
        Err(problem) if table.sizes.0.starts_with(|first: char| first.is_ascii_digit() || first == '-') => Err(table.sizes.error(problem)),
        Err(_) => {
            let finding = table.sizes.error(format!("`{}` is no size, no known distribution and no CSV file", table.sizes.0));
            Err(finding.help("write \"100 kB\", \"web-search\", \"data-mining\", or the name of a file that ends in .csv"))
        }
    }
}

/// The distribution of a table in words.
pub(crate) fn describe(name: &str, sizes: &Sizes) -> String {
    let (least, most) = sizes.range();
    if least == most {
        return format!("{} each", print_size(least));
    }
    let mean = sizes.mean();
    let (unit, size) = [("MB", 1e6), ("kB", 1e3)].into_iter().find(|(_, size)| mean >= *size).unwrap_or(("B", 1.0));
    format!("sizes of {name}, {:.2} {unit} on average, {} to {}", mean / size, print_size(least), print_size(most))
}
