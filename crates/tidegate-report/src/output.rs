//! One output file: a regular file is written beside its place and renamed, anything else is written into.
//!
//! | the path names | what happens |
//! |---|---|
//! | nothing | a new file under an unpredictable name in the same folder, renamed when it is complete |
//! | a regular file | as above; the new file keeps the permissions and, where the system allows it, the owner |
//! | a symbolic link | what it leads to counts; the link itself stays. A link that leads nowhere is refused |
//! | a FIFO, a device, a terminal | opened and written into, never replaced |
//! | a socket | connected to and written into |
//! | a folder | refused |
//! | a descriptor (`/dev/stdout`, `/dev/fd/3`) | written into, whatever is behind it |
//!
//! A reader never sees half a regular file, and after an error, a panic or a signal nothing unfinished is left
//! ([`remove_unfinished`](crate::remove_unfinished)).

use crate::error::{OutputError, shown};
use crate::unfinished;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, fchown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::{env, fs};
use tempfile::NamedTempFile;

/// How temporary names begin; the rest is random.
pub(crate) const PREFIX: &str = ".tidegate-";

/// The most links of a chain that are looked at, as in the kernel.
const LINKS: usize = 40;

/// An output file that is being written. Without [`OutputFile::finish`] a regular file stays what it was.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    /// A regular file under a temporary name, and the name it gets.
    Beside(Option<NamedTempFile>, PathBuf),
    /// A device, a FIFO or a descriptor.
    Into(File),
    Socket(UnixStream),
}

impl OutputFile {
    /// Opens what `path` names for writing. A FIFO waits for its reader here.
    ///
    /// # Errors
    /// The path names a folder or a dangling link, or the system refuses.
    pub fn create(path: &Path) -> Result<OutputFile, OutputError> {
        let refused = |error: io::Error| OutputError::system(path, "written", &error);
        let sink = match resolve(path)? {
            Place::New(place) => Sink::Beside(Some(beside(&place, None).map_err(refused)?), place),
            Place::Regular(place, metadata) => {
                // A rename asks for the rights of the folder only: a file that is protected against writing must not be replaced.
                OpenOptions::new().write(true).open(&place).map_err(refused)?;
                Sink::Beside(Some(beside(&place, Some(&metadata)).map_err(refused)?), place)
            }
            Place::Socket => Sink::Socket(UnixStream::connect(path).map_err(refused)?),
            Place::Descriptor => Sink::Into(OpenOptions::new().append(true).open(path).map_err(refused)?),
            Place::Special => {
                let file = OpenOptions::new().write(true).open(path).map_err(refused)?;
                if file.metadata().map_err(refused)?.is_file() {
                    return Err(OutputError::refused(path, "became a regular file while it was opened"));
                }
                Sink::Into(file)
            }
        };
        Ok(OutputFile { path: path.to_owned(), sink })
    }

    /// The path as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives a complete regular file its name.
    ///
    /// # Errors
    /// The system refuses; what was there before is still there.
    pub fn finish(mut self) -> Result<(), OutputError> {
        let refused = |error: io::Error| OutputError::system(&self.path, "written", &error);
        match &mut self.sink {
            Sink::Beside(file, place) => {
                let file = file.take().expect("a file is finished once").into_temp_path();
                let name = file.to_path_buf();
                unfinished::settle(&name, || file.persist(&*place).map_err(|error| error.error)).map_err(|error| {
                    unfinished::discard(&name);
                    refused(error)
                })
            }
            Sink::Into(file) => file.flush().map_err(refused),
            Sink::Socket(stream) => stream.flush().map_err(refused),
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Beside(Some(file), _) => file.write(bytes),
            Sink::Beside(None, _) => Err(io::Error::other("the file is finished")),
            Sink::Into(file) => file.write(bytes),
            Sink::Socket(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Beside(Some(file), _) => file.flush(),
            Sink::Beside(None, _) => Ok(()),
            Sink::Into(file) => file.flush(),
            Sink::Socket(stream) => stream.flush(),
        }
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Sink::Beside(Some(file), _) = &self.sink {
            unfinished::discard(file.path());
        }
    }
}

/// What a path leads to.
pub(crate) enum Place {
    /// Nothing is there: a file comes to be at this place.
    New(PathBuf),
    /// A regular file at this place, links followed.
    Regular(PathBuf, Metadata),
    Socket,
    /// A descriptor of a process.
    Descriptor,
    /// A FIFO or a device.
    Special,
}

pub(crate) fn resolve(path: &Path) -> Result<Place, OutputError> {
    if path.as_os_str().is_empty() {
        return Err(OutputError::refused(path, "an empty name is no file; name one"));
    }
    if is_descriptor(path) {
        return Ok(Place::Descriptor);
    }
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {
            let place = fs::canonicalize(path).map_err(|error| OutputError::system(path, "written", &error))?;
            Ok(Place::Regular(place, metadata))
        }
        Ok(metadata) if metadata.is_dir() => Err(OutputError::refused(path, "is a folder; name a file in it")),
        Ok(metadata) if metadata.file_type().is_socket() => Ok(Place::Socket),
        Ok(_) => Ok(Place::Special),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_link(path) {
            Ok(target) => {
                let problem = format!("is a symbolic link to {}, which does not exist; name that file itself", shown(&target));
                Err(OutputError::refused(path, problem))
            }
            Err(_) => match (path.file_name(), path.as_os_str().as_encoded_bytes().last()) {
                (Some(_), Some(last)) if *last != b'/' => Ok(Place::New(path.to_owned())),
                _ => Err(OutputError::refused(path, "is no name of a file; name one")),
            },
        },
        Err(error) => Err(OutputError::system(path, "written", &error)),
    }
}

/// True if the path, or a link on the way, is an open descriptor of a process: replacing what is behind it would leave the descriptor with
/// the old file.
fn is_descriptor(path: &Path) -> bool {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let Ok(target) = fs::read_link(&path) else { return false };
        let folder = folder_of(&path);
        if fs::canonicalize(&folder).is_ok_and(|folder| folder.starts_with("/proc")) {
            return true;
        }
        path = folder.join(target);
    }
    false
}

/// The folder in which the last part of `path` lies.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// A new file in the folder of `place`, under an unpredictable name, with the permissions of the file that it replaces.
fn beside(place: &Path, replaced: Option<&Metadata>) -> io::Result<NamedTempFile> {
    let folder = env::current_dir()?.join(folder_of(place));
    // The process' umask is taken from it.
    let fresh = fs::Permissions::from_mode(0o666);
    let make = || tempfile::Builder::new().prefix(PREFIX).permissions(fresh).tempfile_in(folder);
    let file = unfinished::create(make, NamedTempFile::path)?;
    if let Some(replaced) = replaced {
        use std::os::unix::fs::MetadataExt;
        // Only root may give a file away; any other user who replaces a file becomes its owner. The owner first: changing it clears set-id bits.
        let _owner_kept = fchown(file.as_file(), Some(replaced.uid()), Some(replaced.gid()));
        file.as_file().set_permissions(replaced.permissions()).inspect_err(|_| unfinished::discard(file.path()))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};
    use std::os::unix::net::UnixListener;
    use tempfile::TempDir;

    fn names(folder: &TempDir) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn write(path: &Path, text: &str) -> Result<(), OutputError> {
        let mut output = OutputFile::create(path)?;
        output.write_all(text.as_bytes()).unwrap();
        output.finish()
    }

    #[test]
    fn a_regular_file_changes_at_the_end_and_at_once() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let before = fs::metadata(&path).unwrap().ino();
        let mut output = OutputFile::create(&path).unwrap();
        output.write_all(b"new").unwrap();
        output.flush().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(&folder).len(), 2);
        output.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        let after = fs::metadata(&path).unwrap();
        assert_eq!(after.permissions().mode() & 0o777, 0o640);
        assert_ne!(after.ino(), before);
        assert_eq!(names(&folder), ["a"]);
    }

    #[test]
    fn what_is_not_finished_leaves_nothing() {
        let folder = TempDir::new().unwrap();
        drop(OutputFile::create(&folder.path().join("a")).unwrap());
        assert!(names(&folder).is_empty());
    }

    #[test]
    fn a_link_stays_and_its_target_is_replaced() {
        let folder = TempDir::new().unwrap();
        let (link, target) = (folder.path().join("link"), folder.path().join("target"));
        fs::write(&target, "old").unwrap();
        symlink("target", &link).unwrap();
        write(&link, "new").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        fs::remove_file(&target).unwrap();
        let error = write(&link, "new").unwrap_err().to_string();
        assert!(error.contains("symbolic link to target, which does not exist"), "{error}");
    }

    #[test]
    fn a_socket_is_written_into_and_a_folder_refused() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        write(&path, "sent").unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        assert_eq!(io::read_to_string(&mut stream).unwrap(), "sent");
        assert!(fs::metadata(&path).unwrap().file_type().is_socket());
        assert!(write(folder.path(), "x").unwrap_err().to_string().contains("is a folder"));
    }

    #[test]
    fn a_fifo_is_written_into() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let reading = std::thread::spawn({
            let path = path.clone();
            move || fs::read_to_string(path).unwrap()
        });
        write(&path, "through").unwrap();
        assert_eq!(reading.join().unwrap(), "through");
        assert!(fs::metadata(&path).unwrap().file_type().is_fifo());
    }

    #[test]
    fn a_descriptor_is_written_into() {
        use std::os::fd::AsRawFd;
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a");
        let file = File::create(&path).unwrap();
        let before = file.metadata().unwrap().ino();
        write(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())), "text").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().ino(), before);
        assert_eq!(fs::read_to_string(&path).unwrap(), "text");
    }
}
