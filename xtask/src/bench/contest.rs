//! Programs that wait for their turn: started together, asked one after the other, in a new order every round.

use super::load::Load;
use crate::failure::Failure;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// One program that speaks the line protocol of `benches/peers/harness.h`.
pub struct Contestant {
    /// Its name in the table.
    pub name: String,
    /// True for Tidegate's side.
    pub is_ours: bool,
    pub command: Command,
}

/// What was measured of one contestant.
pub struct Measurement {
    /// `police` or `schedule`.
    pub group: String,
    /// The contestant's name.
    pub name: String,
    /// True for Tidegate's side.
    pub is_ours: bool,
    pub load: Load,
    /// ns per packet of every round, in ascending order; empty if the contestant could not take part.
    pub rounds: Vec<f64>,
    /// Memory allocations during all rounds; peers do not count theirs.
    pub allocations: u64,
    /// Its `ready` line, or why it could not take part.
    pub note: String,
}

impl Measurement {
    /// The middle round in ns per packet.
    pub fn median(&self) -> Option<f64> {
        let middle = self.rounds.len() / 2;
        match self.rounds.len() {
            0 => None,
            length if length % 2 == 1 => Some(self.rounds[middle]),
            _ => Some((self.rounds[middle - 1] + self.rounds[middle]) / 2.0),
        }
    }

    /// KiB on huge pages, as the contestant saw it.
    pub fn huge_kibibytes(&self) -> u64 {
        self.fact("huge_kib=").and_then(|value| value.parse().ok()).unwrap_or(0)
    }

    /// What its `ready` line says after this.
    pub fn fact(&self, name: &str) -> Option<&str> {
        self.note.split(',').find_map(|field| field.strip_prefix(name))
    }

    /// The name with the number of flows.
    pub fn label(&self) -> String {
        format!("{} {} with {}", self.group, self.name, self.load.text())
    }
}

/// Starts all, waits until all are set up, and gives each `rounds` turns.
///
/// # Errors
/// [`Failure::Environment`] if one of our own programs fails. A peer that cannot take part is noted and left out.
pub fn measure(group: &str, load: Load, contestants: &[Contestant], rounds: u32) -> Result<Vec<Measurement>, Failure> {
    let mut running = Vec::new();
    let mut measurements = Vec::new();
    for contestant in contestants {
        let (process, note) = match Process::start(&contestant.command) {
            Ok((process, note)) => (Some(process), note),
            Err(problem) if contestant.is_ours => return Err(Failure::Environment(format!("{}: {problem}", contestant.name))),
            Err(problem) => (None, problem),
        };
        running.push(process);
        measurements.push(Measurement {
            group: group.to_owned(),
            name: contestant.name.clone(),
            is_ours: contestant.is_ours,
            load,
            rounds: Vec::new(),
            allocations: 0,
            note,
        });
    }
    for round in 0..rounds as usize {
        for turn in 0..running.len() {
            // Each round begins with another one, so that none always runs after the same neighbour and its caches.
            let index = (turn + round) % running.len();
            let Some(process) = &mut running[index] else { continue };
            match process.round() {
                Ok((nanoseconds, allocations)) => {
                    measurements[index].rounds.push(nanoseconds);
                    measurements[index].allocations += allocations;
                }
                Err(problem) => return Err(Failure::Environment(format!("{}: {problem}", measurements[index].label()))),
            }
        }
    }
    for measurement in &mut measurements {
        measurement.rounds.sort_by(f64::total_cmp);
    }
    Ok(measurements)
}

struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    /// Starts a program and waits for its `ready` line, which is returned.
    fn start(command: &Command) -> Result<(Process, String), String> {
        let mut child = Command::new(command.get_program())
            .args(command.get_args())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot be started: {error}"))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("has no standard input or output".to_owned());
        };
        let mut process = Process { child, input, output: BufReader::new(output) };
        match process.line() {
            Some(line) if line.starts_with("ready") => Ok((process, line)),
            _ => Err(process.last_words()),
        }
    }

    /// One turn: ns per packet, and allocations where the program counts them.
    fn round(&mut self) -> Result<(f64, u64), String> {
        if self.input.write_all(b"\n").and_then(|()| self.input.flush()).is_err() {
            return Err(self.last_words());
        }
        let Some(line) = self.line() else { return Err(self.last_words()) };
        parse_answer(&line).ok_or(format!("answered \"{line}\""))
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.output.read_line(&mut line).ok().filter(|length| *length > 0)?;
        Some(line.trim_end().to_owned())
    }

    /// Why a program that stopped answering did so: the last line of its standard error.
    fn last_words(&mut self) -> String {
        let _ = self.child.kill();
        let lines = self.child.stderr.take().map(|errors| BufReader::new(errors).lines().map_while(Result::ok).collect::<Vec<_>>());
        lines.and_then(|lines| lines.last().cloned()).unwrap_or_else(|| "stopped without a word".to_owned())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It waits for nothing but input, so nothing is lost.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads `side,operation,flows,ns_per_packet[,allocations]`.
fn parse_answer(line: &str) -> Option<(f64, u64)> {
    let fields: Vec<&str> = line.split(',').collect();
    let allocations = match fields.get(4) {
        Some(count) => count.parse().ok()?,
        None => 0,
    };
    Some((fields.get(3)?.parse().ok()?, allocations))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: Load = Load { flows: 8, backlog: 1 };

    fn shell(name: &str, script: &str, is_ours: bool) -> Contestant {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Contestant { name: name.to_owned(), is_ours, command }
    }

    #[test]
    fn contestants_take_turns_and_medians_are_taken() {
        let counting = "echo ready,huge_kib=4096; n=0; while read line; do n=$((n+1)); echo a,b,8,$n.5,2; done";
        let measured = measure("police", LOAD, &[shell("x", counting, true), shell("y", counting, false)], 3).ok().unwrap();
        assert_eq!(measured[0].rounds, [1.5, 2.5, 3.5]);
        assert_eq!(measured[1].median(), Some(2.5));
        assert_eq!((measured[0].allocations, measured[0].huge_kibibytes()), (6, 4096));
    }

    #[test]
    fn a_peer_that_cannot_take_part_is_noted() {
        let measured = measure("police", LOAD, &[shell("y", "echo 'n/a: no memory' >&2; exit 3", false)], 3).ok().unwrap();
        assert_eq!((measured[0].median(), measured[0].note.as_str()), (None, "n/a: no memory"));
    }

    #[test]
    fn our_own_side_must_take_part() {
        assert!(measure("police", LOAD, &[shell("x", "exit 2", true)], 1).is_err());
        assert!(measure("police", LOAD, &[shell("x", "echo ready; read line; echo nonsense", true)], 1).is_err());
    }
}
