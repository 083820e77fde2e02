//! Files and folders under temporary names, known here so that a signal can remove them.
//!
//! A destructor does not run when a signal ends the process. Every temporary name is listed from its creation to its renaming. The lock is held
//! over both, so a name on disk is always in the list.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn lock() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes everything that has a temporary name, and lets no further one come to be: for the end of a process that was told to end.
///
/// Returns the number of files and folders removed. A thread that creates or renames an output afterwards waits for ever.
pub fn remove_unfinished() -> usize {
    let names = lock();
    let removed = names.iter().filter(|path| remove(path).is_ok()).count();
    std::mem::forget(names);
    removed
}

/// Creates something with `create`, and lists the name that `name` finds in it.
pub(crate) fn create<T>(create: impl FnOnce() -> io::Result<T>, name: impl FnOnce(&T) -> &Path) -> io::Result<T> {
    let mut names = lock();
    let created = create()?;
    names.push(name(&created).to_owned());
    Ok(created)
}

/// Gives what lies under the temporary `name` another one with `rename`. After a failure the name stays in the list.
pub(crate) fn settle<T>(name: &Path, rename: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let mut names = lock();
    let settled = rename()?;
    names.retain(|known| known != name);
    Ok(settled)
}

/// Removes what lies under the temporary `name`.
pub(crate) fn discard(name: &Path) {
    // It is gone already after a success, and the error that led here is the one worth telling.
    let _gone = settle(name, || remove(name).or(Ok::<(), io::Error>(())));
}

fn remove(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }
}
