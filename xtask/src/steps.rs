//! Steps in a fixed order, some of which may be picked by name, with one verdict for all.
//!
//! A step that fails does not stop the later ones, so that one run shows everything that is wrong. Only a machine that lacks something ends
//! the run at once.

use crate::failure::Failure;
use std::time::{Duration, Instant};

/// One step; `Options` is what a run passes to all of them.
pub struct Step<Options> {
    pub name: &'static str,
    pub proves: &'static str,
    pub run: fn(&Options) -> Result<(), Failure>,
}

/// The steps of these names in the order of the table, all if there are no names.
///
/// # Errors
/// [`Failure::Usage`] for a name that no step has.
pub fn selected<'a, Options>(steps: &'a [Step<Options>], names: &[String]) -> Result<Vec<&'a Step<Options>>, Failure> {
    if let Some(unknown) = names.iter().find(|name| !steps.iter().any(|step| step.name == *name)) {
        let all: Vec<&str> = steps.iter().map(|step| step.name).collect();
        return Err(Failure::Usage(format!("there is no step \"{unknown}\"; the steps are {}", all.join(", "))));
    }
    Ok(steps.iter().filter(|step| names.is_empty() || names.iter().any(|name| name == step.name)).collect())
}

/// Runs the steps.
///
/// # Errors
/// [`Failure::Check`] naming the steps that failed, or what else the last step ended with.
pub fn run<Options>(steps: &[&Step<Options>], options: &Options) -> Result<(), Failure> {
    let begun = Instant::now();
    let mut failed: Vec<&str> = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        println!("\n== {}/{} {}: {}", number + 1, steps.len(), step.name, step.proves);
        let started = Instant::now();
        match (step.run)(options) {
            Ok(()) => println!("== {}: passed, {}", step.name, shown(started.elapsed())),
            Err(Failure::Check(problem)) => {
                println!("error: {problem}\n== {}: FAILED, {}", step.name, shown(started.elapsed()));
                failed.push(step.name);
            }
            Err(other) => {
                let not_run = steps.len() - number - 1;
                println!("== {}: FAILED; {not_run} later steps not run", step.name);
                println!("\n{}", verdict(number - failed.len(), failed.len() + 1));
                return Err(other);
            }
        }
    }
    println!("\n{} steps, {}", steps.len(), shown(begun.elapsed()));
    if !failed.is_empty() {
        println!("failed: {}", failed.join(", "));
    }
    println!("{}", verdict(steps.len() - failed.len(), failed.len()));
    if failed.is_empty() { Ok(()) } else { Err(Failure::Check(format!("failed: {}", failed.join(", ")))) }
}

fn verdict(passed: usize, failed: usize) -> String {
    format!("{passed} passed, {failed} failed")
}

fn shown(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds < 60 { format!("{:.1} s", duration.as_secs_f64()) } else { format!("{} min {} s", seconds / 60, seconds % 60) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fine(_: &()) -> Result<(), Failure> {
        Ok(())
    }

    fn wrong(_: &()) -> Result<(), Failure> {
        Err(Failure::Check("wrong".to_owned()))
    }

    fn lacking(_: &()) -> Result<(), Failure> {
        Err(Failure::Environment("lacking".to_owned()))
    }

    fn step(name: &'static str, run: fn(&()) -> Result<(), Failure>) -> Step<()> {
        Step { name, proves: "", run }
    }

    #[test]
    fn a_failed_check_lets_the_others_run_and_is_named() {
        let steps = [step("one", wrong), step("two", fine), step("three", wrong)];
        let outcome = run(&steps.iter().collect::<Vec<_>>(), &());
        assert!(matches!(outcome, Err(Failure::Check(text)) if text == "failed: one, three"));
    }

    #[test]
    fn a_machine_that_lacks_something_ends_the_run() {
        let steps = [step("one", lacking), step("two", wrong)];
        let outcome = run(&steps.iter().collect::<Vec<_>>(), &());
        assert!(matches!(outcome, Err(Failure::Environment(text)) if text == "lacking"));
    }

    #[test]
    fn steps_are_selected_in_their_own_order() {
        let steps = [step("one", fine), step("two", fine), step("three", fine)];
        let wanted = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let names =
            |names: &[&str]| selected(&steps, &wanted(names)).ok().map(|found| found.iter().map(|step| step.name).collect::<Vec<_>>());
        assert_eq!(names(&["three", "one"]), Some(vec!["one", "three"]));
        assert_eq!(names(&[]), Some(vec!["one", "two", "three"]));
        assert_eq!(names(&["four"]), None);
    }

    #[test]
    fn the_verdict_has_the_form_that_scripts_read() {
        assert_eq!(verdict(8, 1), "8 passed, 1 failed");
    }
}
