//! `tidegate run --completions`: every complete connection of workloads as a table.

use crate::failure::Failure;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use tidegate_core::units::Time;
use tidegate_report::{CompletedConnection, CompletionLog, OutputFile};
use tidegate_sim::{Completion, CompletionSink, Network};

/// The file, and how many connections it has, or why it has no more.
type Sink<'a> = (CompletionLog<'a, BufWriter<OutputFile>>, io::Result<u64>);

/// A table of connections that is being written.
pub struct CompletionFile<'a> {
    path: PathBuf,
    network: &'a Network,
    sink: Mutex<Sink<'a>>,
    /// Becomes true if the file cannot be written: the simulation is to end.
    has_failed: &'a AtomicBool,
}

impl<'a> CompletionFile<'a> {
    /// Begins the file. `has_failed` becomes true if it cannot be written.
    pub fn begin(path: &Path, network: &'a Network, has_failed: &'a AtomicBool) -> Result<CompletionFile<'a>, Failure> {
        if network.workloads.is_empty() {
            return Err(Failure::BadInput("error: --completions: the file has no [[workload]], whose connections it would list".into()));
        }
        let file = BufWriter::new(OutputFile::create(path)?);
        let log = CompletionLog::new(file).map_err(|error| not_written(path, &error))?;
        Ok(CompletionFile { path: path.to_owned(), network, sink: Mutex::new((log, Ok(0))), has_failed })
    }

    /// Ends the file. Returns it, which is not in its place yet, and what the report says of it.
    pub fn end(self) -> Result<(OutputFile, String), Failure> {
        let failed = |error: io::Error| not_written(&self.path, &error);
        let (log, connections) = self.sink.into_inner().unwrap_or_else(PoisonError::into_inner);
        let connections = connections.map_err(failed)?;
        let file = log.finish().map_err(failed)?.into_inner().map_err(|error| failed(error.into_error()))?;
        Ok((file, format!("Completions: {connections} connections of all replications, warm-up included, are in {}.", self.path.display())))
    }
}

fn not_written(path: &Path, error: &io::Error) -> Failure {
    Failure::Environment(format!("error: {} cannot be written: {error}", path.display()))
}

impl CompletionSink for CompletionFile<'_> {
    fn complete(&self, completion: &Completion) {
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        let (log, connections) = &mut *sink;
        let Ok(count) = connections else { return };
        let written = log.add(CompletedConnection {
            replication: completion.replication + 1,
            workload: &self.network.workloads[completion.workload].name,
            connection: completion.number,
            round: completion.round,
            from: &self.network.nodes[completion.from.0],
            to: &self.network.nodes[completion.to.0],
            bytes: completion.bytes,
            began_ps: completion.began.since(Time::ZERO).picoseconds(),
            time_ps: completion.time.picoseconds(),
            ideal_ps: completion.ideal.picoseconds(),
        });
        match written {
            Ok(()) => *count += 1,
            Err(error) => {
                *connections = Err(error);
                self.has_failed.store(true, Ordering::Relaxed);
            }
        }
    }
}
