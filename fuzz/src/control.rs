//! Target: a line of the control socket. What can be read is written back as a line and must be read again as the same kind of request.

use tidegate_control::{Asked, ErrorKind, Request};

/// Reads one line; true if it is a request.
pub fn run(line: &[u8]) -> bool {
    match Request::read(line) {
        Ok(request) => {
            let written = serde_json::to_vec(&Asked::new(request.clone())).expect("a request has no map with keys that are no text");
            let again = Request::read(&written).expect("what was written is a request");
            // Numbers with a point may differ in their last bit.
            assert_eq!(std::mem::discriminant(&again), std::mem::discriminant(&request), "{}", String::from_utf8_lossy(&written));
            true
        }
        Err(refusal) => {
            assert!(matches!(refusal.kind, ErrorKind::BadInput | ErrorKind::Version) && refusal.text.starts_with("error: "), "{refusal:?}");
            false
        }
    }
}
