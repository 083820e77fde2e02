//! Runs of random traffic, seed after seed.

/// Runs until so many decisions have been made, and adds up what the runs have done: first their decisions. A run is told its seed, and how many
/// decisions are left.
///
/// # Errors
/// The seed of the first run that fails, and what it says.
pub fn until(
    decisions: u64,
    first: u64,
    mut run: impl FnMut(u64, u64) -> Result<(u64, u64, u64), String>,
) -> Result<(u64, u64, u64), String> {
    let mut done = (0, 0, 0);
    let mut seed = first;
    while done.0 < decisions {
        let more = run(seed, decisions - done.0).map_err(|problem| format!("seed {seed}: {problem}"))?;
        done = (done.0 + more.0.max(1), done.1 + more.1, done.2 + more.2);
        seed += 1;
    }
    Ok(done)
}
