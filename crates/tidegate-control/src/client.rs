//! One connection of a client.

use crate::protocol::{Answer, Answered, Asked, Refusal, Request, VERSION};
use serde::Serialize;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;
use thiserror::Error;

/// Writes a line of JSON.
///
/// # Errors
/// As [`Write::write_all`].
pub fn write_line(stream: &mut UnixStream, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// A connection to a running bridge.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The socket cannot be reached, or the connection broke.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The server closed the connection before it answered.
    #[error("the connection was closed before an answer came")]
    Closed,
    /// The answer cannot be read.
    #[error("the answer cannot be read ({0}): another program may listen there, or another version of this one")]
    Unreadable(String),
    /// The server refuses.
    #[error("{}", .0.text)]
    Refused(Refusal),
}

impl Client {
    /// Connects; an answer may take up to `patience`.
    ///
    /// # Errors
    /// As [`UnixStream::connect`].
    pub fn connect(socket: &Path, patience: Duration) -> io::Result<Client> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        Ok(Client { stream: BufReader::new(stream) })
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn ask(&mut self, request: Request) -> Result<Answer, ClientError> {
        let mut line = serde_json::to_vec(&Asked::new(request)).map_err(|error| ClientError::Unreadable(error.to_string()))?;
        line.push(b'\n');
        // A server that refuses a connection says so and closes it, perhaps before it has read the line.
        let written = self.stream.get_mut().write_all(&line);
        let mut text = String::new();
        match self.stream.read_line(&mut text) {
            Ok(0) => return written.map_err(ClientError::Io).and(Err(ClientError::Closed)),
            Ok(_) => {}
            Err(error) => return Err(written.err().unwrap_or(error).into()),
        }
        let answered: Answered = serde_json::from_str(&text).map_err(|error| ClientError::Unreadable(error.to_string()))?;
        match answered {
            Answered { error: Some(refusal), .. } => Err(ClientError::Refused(refusal)),
            Answered { version: VERSION, answer: Some(answer), .. } => Ok(answer),
            Answered { version, .. } => Err(ClientError::Unreadable(format!("it is of version {version} of the protocol, not {VERSION}"))),
        }
    }
}
