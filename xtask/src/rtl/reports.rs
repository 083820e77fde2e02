//! `cargo xtask rtl-reports`: measures area and clock of the hardware designs, and writes the page.

use super::design::Design;
use super::designs;
use super::flow;
use super::grade::Grade;
use super::{page, tools};
use crate::cargo::root;
use crate::failure::Failure;
use clap::Parser;
use std::sync::Mutex;
use std::time::Duration;

/// What `cargo xtask rtl-reports` is told.
#[derive(Parser)]
pub struct Options {
    /// Only this design, or all sizes of this architecture
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// The fastest speed grade: 8 measures it besides grade 6
    #[arg(long, default_value = "6")]
    grade: Grade,
    /// Placements of each design
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Designs at a time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    jobs: u64,
    /// The longest time of a placement
    #[arg(long, value_name = "N", default_value_t = 240, value_parser = clap::value_parser!(u64).range(1..))]
    minutes: u64,
    /// Only write the page, from the results that are there
    #[arg(long)]
    render: bool,
}

/// Measures what has changed, then writes the page and its plots.
///
/// # Errors
/// [`Failure::Usage`] for what is not understood, [`Failure::Check`] if a tool fails, [`Failure::Environment`] if there is none.
pub fn run(options: &Options) -> Result<(), Failure> {
    let designs = selected(&options.only)?;
    if !options.render {
        tools::prepare()?;
        measure(options, designs)?;
    }
    for (name, text) in page::render()? {
        let path = root().join(&name);
        let write = || std::fs::create_dir_all(path.parent().unwrap_or(&path)).and_then(|()| std::fs::write(&path, text));
        write().map_err(Failure::cannot("write", &path))?;
        println!("written: {name}");
    }
    let mut old = Vec::new();
    for design in designs::all() {
        if !flow::is_current(&design)? {
            old.push(design.name);
        }
    }
    if !old.is_empty() {
        println!("measured from other sources, with other tools or not at all: {}", old.join(", "));
    }
    Ok(())
}

/// The designs of these names; the name of an architecture means all its sizes.
fn selected(names: &[String]) -> Result<Vec<Design>, Failure> {
    let is_named =
        |design: &Design, name: &str| design.name == name || design.name.rsplit_once('-').is_some_and(|(variant, _)| variant == name);
    let all = designs::all();
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|design| is_named(design, name))) {
        let names: Vec<&str> = all.iter().map(|design| design.name.as_str()).collect();
        return Err(Failure::Usage(format!("no design is called \"{unknown}\"; there are {}", names.join(", "))));
    }
    Ok(all.into_iter().filter(|design| names.is_empty() || names.iter().any(|name| is_named(design, name))).collect())
}

/// Measures the designs, as many at a time as there are jobs. A design that fails does not stop the others.
fn measure(options: &Options, designs: Vec<Design>) -> Result<(), Failure> {
    let waiting = Mutex::new(designs.into_iter());
    let grades: &[Grade] = if options.grade == Grade::Eight { &[Grade::Six, Grade::Eight] } else { &[Grade::Six] };
    let failures = Mutex::new(Vec::new());
    let patience = Duration::from_secs(60 * options.minutes);
    let work = || {
        loop {
            let next = waiting.lock().expect("no job panics").next();
            let Some(design) = next else { return };
            if let Err(failure) = flow::measure(&design, grades, options.seeds, patience) {
                failures.lock().expect("no job panics").push((design.name, failure));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().expect("no job panics");
    let mut problems = Vec::new();
    for (name, failure) in failures {
        match failure {
            Failure::Check(problem) => problems.push(format!("{name}: {problem}")),
            other => return Err(other),
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Failure::Check(problems.join("\n"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> Option<Options> {
        Options::try_parse_from(["rtl-reports"].into_iter().chain(words.split_whitespace())).ok()
    }

    #[test]
    fn options_are_read() {
        let options = parsed("--only base-4 --only exact --seeds 3 --jobs 2 --minutes 9").unwrap();
        assert_eq!((options.seeds, options.jobs, options.minutes, options.render), (3, 2, 9, false));
        let names: Vec<String> = selected(&options.only).ok().unwrap().into_iter().map(|design| design.name).collect();
        assert_eq!(names, ["base-4", "exact-4", "exact-8", "exact-16", "exact-32"]);
        assert_eq!(options.grade, Grade::Six);
        assert_eq!(parsed("--grade 8").unwrap().grade, Grade::Eight);
        assert!(parsed("--render").unwrap().render);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for bad in ["--only", "--seeds 0", "--jobs x", "--grade 7", "--fast"] {
            assert!(parsed(bad).is_none(), "{bad}");
        }
        assert!(matches!(selected(&["base-5".to_owned()]), Err(Failure::Usage(_))));
    }
}
