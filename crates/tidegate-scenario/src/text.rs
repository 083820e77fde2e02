//! Reads the text of a file.

use std::path::Path;

/// The text of the file at `path`.
///
/// # Errors
/// One sentence with the file's name: it cannot be read, or is not UTF-8 text.
pub(crate) fn read_text(path: &Path) -> Result<String, String> {
    let text = std::fs::read(path).map_err(|error| error.to_string()).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|error| format!("it is not UTF-8 text (byte {})", error.utf8_error().valid_up_to()))
    });
    text.map_err(|problem| format!("cannot read {}: {problem}", path.display()))
}
