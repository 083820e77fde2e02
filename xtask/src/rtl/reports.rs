//! `cargo xtask rtl-reports`: measures area and clock of the hardware designs, and writes the page.

use super::design::Design;
use super::designs;
use super::flow;
use super::grade::Grade;
use super::options::number;
use super::{page, tools};
use crate::cargo::root;
use crate::failure::Failure;
use std::sync::Mutex;
use std::time::Duration;

struct Options {
    only: Vec<String>,
    grades: &'static [Grade],
    seeds: u64,
    jobs: u64,
    /// For one placement.
    minutes: u64,
    is_rendered_only: bool,
}

/// Measures what has changed, then writes the page and its plots.
///
/// # Errors
/// [`Failure::Usage`] for what is not understood, [`Failure::Check`] if a tool fails, [`Failure::Environment`] if there is none.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let options = parse(arguments)?;
    if !options.is_rendered_only {
        tools::prepare()?;
        measure(&options)?;
    }
    for (name, text) in page::render()? {
        let path = root().join(&name);
        let write = || std::fs::create_dir_all(path.parent().unwrap_or(&path)).and_then(|()| std::fs::write(&path, text));
        write().map_err(|error| Failure::Environment(format!("cannot write {}: {error}", path.display())))?;
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

fn parse(arguments: &[String]) -> Result<Options, Failure> {
    let mut options = Options { only: Vec::new(), grades: &[Grade::Six], seeds: 5, jobs: 1, minutes: 240, is_rendered_only: false };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| Failure::Usage(format!("{word} needs a value")));
        match word.as_str() {
            "--only" => options.only.push(value()?.clone()),
            "--grade" => {
                options.grades = match value()?.as_str() {
                    "6" => &[Grade::Six],
                    "8" => &[Grade::Six, Grade::Eight],
                    other => return Err(Failure::Usage(format!("--grade is 6 or 8, not \"{other}\""))),
                }
            }
            "--seeds" => options.seeds = number(word, value()?)?,
            "--jobs" => options.jobs = number(word, value()?)?,
            "--minutes" => options.minutes = number(word, value()?)?,
            "--render" => options.is_rendered_only = true,
            other => {
                return Err(Failure::Usage(format!(
                    "unknown option \"{other}\"; rtl-reports takes --only NAME, --grade 8, --seeds N, --jobs N, --minutes N, --render"
                )));
            }
        }
    }
    selected(&options.only)?;
    Ok(options)
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
fn measure(options: &Options) -> Result<(), Failure> {
    let waiting = Mutex::new(selected(&options.only)?.into_iter());
    let failures = Mutex::new(Vec::new());
    let patience = Duration::from_secs(60 * options.minutes);
    let work = || {
        loop {
            let next = waiting.lock().expect("no job panics").next();
            let Some(design) = next else { return };
            if let Err(failure) = flow::measure(&design, options.grades, options.seeds, patience) {
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

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn options_are_read() {
        let options = parse(&words("--only base-4 --only exact --seeds 3 --jobs 2 --minutes 9")).ok().unwrap();
        assert_eq!((options.seeds, options.jobs, options.minutes, options.is_rendered_only), (3, 2, 9, false));
        let names: Vec<String> = selected(&options.only).ok().unwrap().into_iter().map(|design| design.name).collect();
        assert_eq!(names, ["base-4", "exact-4", "exact-8", "exact-16", "exact-32"]);
        assert_eq!(options.grades, [Grade::Six]);
        assert_eq!(parse(&words("--grade 8")).ok().unwrap().grades, [Grade::Six, Grade::Eight]);
        assert!(parse(&words("--render")).ok().unwrap().is_rendered_only);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for bad in ["--only", "--only base-5", "--seeds 0", "--jobs x", "--grade 7", "--fast"] {
            assert!(matches!(parse(&words(bad)), Err(Failure::Usage(_))), "{bad}");
        }
    }
}
