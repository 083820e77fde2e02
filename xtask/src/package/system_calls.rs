//! The system calls of a bridge beside those that its unit allows: one that is refused would show only under systemd.

use crate::cargo::output;
use crate::failure::Failure;
use std::collections::BTreeSet;
use std::process::Command;

/// Compares a trace of strace, from the start of `program` on, with the filter of a unit.
///
/// # Errors
/// [`Failure::Check`] naming the calls that the unit refuses.
pub fn check(trace: &str, program: &str, unit: &str) -> Result<(), Failure> {
    let made = made(trace, program);
    let allowed = allowed(unit, &members)?;
    let refused: Vec<&&str> = made.iter().filter(|call| !allowed.contains(**call)).collect();
    println!("{} system calls of the bridge, {} allowed by the unit", made.len(), allowed.len());
    match (made.is_empty(), refused.is_empty()) {
        (true, _) => Err(Failure::Check("strace saw no system call of the bridge".to_owned())),
        (false, true) => Ok(()),
        (false, false) => Err(Failure::Check(format!("the unit refuses system calls that the bridge makes: {refused:?}"))),
    }
}

/// The names of the calls in lines such as `123 openat(AT_FDCWD, ...) = 3`, from that which starts the program on.
fn made<'a>(trace: &'a str, program: &str) -> BTreeSet<&'a str> {
    let start = |line: &&str| !(line.contains("execve(") && line.contains(program) && line.ends_with("= 0"));
    let call = |line: &'a str| {
        let (name, _) = line.split_whitespace().nth(1)?.split_once('(')?;
        name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_').then_some(name)
    };
    trace.lines().skip_while(start).skip(1).filter_map(call).collect()
}

/// The calls that the lines `SystemCallFilter=` of a unit leave: the first allows, and one with `~` takes away.
fn allowed(unit: &str, members: &impl Fn(&str) -> Result<Vec<String>, Failure>) -> Result<BTreeSet<String>, Failure> {
    let mut allowed = BTreeSet::new();
    for line in unit.lines().filter_map(|line| line.strip_prefix("SystemCallFilter=")) {
        let (takes_away, names) = line.strip_prefix('~').map_or((false, line), |names| (true, names));
        let calls = expanded(names.split_whitespace().map(str::to_owned).collect(), members)?;
        if takes_away {
            allowed = &allowed - &calls;
        } else {
            allowed.extend(calls);
        }
    }
    // What systemd allows in any case, so that a process can be started and can end.
    allowed.extend(expanded(vec!["@default".to_owned()], members)?);
    Ok(allowed)
}

/// Names of calls, with the members of groups in place of the groups.
fn expanded(mut names: Vec<String>, members: &impl Fn(&str) -> Result<Vec<String>, Failure>) -> Result<BTreeSet<String>, Failure> {
    let mut calls = BTreeSet::new();
    while let Some(name) = names.pop() {
        if name.starts_with('@') {
            names.extend(members(&name)?);
        } else {
            calls.insert(name);
        }
    }
    Ok(calls)
}

/// The members of a group, as systemd lists them.
fn members(group: &str) -> Result<Vec<String>, Failure> {
    let list = output(Command::new("systemd-analyze").args(["syscall-filter", "--no-pager", group]))?;
    let member = |line: &str| line.strip_prefix("    ").filter(|line| !line.starts_with('#')).map(str::to_owned);
    Ok(list.lines().filter_map(member).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_before_the_program_do_not_count() {
        let trace = "7 setresuid(1, 1, 1) = 0\n7 execve(\"/usr/bin/tidegate\", [...], 0x1) = 0\n7 brk(NULL) = 0x5\n8 poll( <unfinished ...>\n\
                     7 close(3) = 0\n8 <... poll resumed>) = 1\n8 --- SIGTERM {si_signo=SIGTERM} ---\n7 +++ exited with 0 +++\n";
        assert_eq!(made(trace, "/tidegate"), ["brk", "close", "poll"].into());
        assert!(made(trace, "/other").is_empty());
    }

    #[test]
    fn groups_are_expanded_and_taken_away_in_the_order_of_the_lines() {
        let members = |group: &str| {
            Ok(match group {
                "@all" => vec!["read".to_owned(), "write".to_owned(), "@times".to_owned()],
                "@times" => vec!["times".to_owned()],
                _ => vec!["exit".to_owned()],
            })
        };
        let unit = "[Service]\nSystemCallFilter=@all bpf\nSystemCallFilter=~@times write\n";
        let names: Vec<String> = allowed(unit, &members).ok().unwrap().into_iter().collect();
        assert_eq!(names, ["bpf", "exit", "read"]);
    }
}
