//! The sockets on which `tidegate live` listens: for control, and for metrics.

use crate::failure::Failure;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;
use tidegate_control::Server;
use tidegate_control::http::PageServer;

/// The control socket, made before rights are given up: its folder may be another user's.
pub fn listen(path: &Path, is_shared: bool) -> Result<Server, Failure> {
    let shared = |server: Server| if is_shared { server.share_with_group().map(|()| server) } else { Ok(server) };
    Server::bind(path).and_then(shared).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse | ErrorKind::AlreadyExists => {
            Failure::BadInput(format!("error: {}: {error}\n  name another control socket", path.display()))
        }
        _ => Failure::file(path, "made as a control socket", &error),
    })
}

/// The token that requests for metrics have to bring.
pub fn metrics_token(path: Option<&Path>) -> Result<Option<String>, Failure> {
    let token = path.map(|path| std::fs::read_to_string(path).map_err(|error| Failure::file(path, "read", &error))).transpose()?;
    let token = token.map(|text| text.trim().to_owned());
    if token.as_ref().is_some_and(|token| token.len() < 16) {
        return Err(Failure::BadInput(
            "error: the token for metrics has fewer than 16 characters\n  make one with `openssl rand -hex 16`".to_owned(),
        ));
    }
    Ok(token)
}

/// The server of metrics and of the page to watch.
pub fn page_server(address: SocketAddr, token: Option<String>) -> Result<PageServer, Failure> {
    PageServer::bind(address, token).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied if !address.ip().is_loopback() => Failure::BadInput(format!(
            "error: --metrics {address}: {error}\n  give one with --metrics-token FILE, or use 127.0.0.1:{}",
            address.port()
        )),
        _ => Failure::Environment(format!("error: --metrics {address}: cannot listen there: {error}")),
    })
}
