//! Pages over HTTP, within limits: for metrics and a page to watch, and nothing else.
//!
//! One request per connection, GET alone. Requests of other origins are refused: a name in `Host` that is no address could be another site's.

use crate::protocol::PageCounts;
use crate::writing::write_within;
use httparse::{EMPTY_HEADER, Request, Status};
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Connections at a time.
const CONNECTIONS: u64 = 32;
/// The bytes of a request.
const REQUEST: usize = 8 << 10;
/// The time for a request to arrive, and for an answer to be read.
const PATIENCE: Duration = Duration::from_secs(5);

/// A page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// The kind of its content, as HTTP names it.
    pub content_type: &'static str,
    /// Its content.
    pub content: Vec<u8>,
}

/// What became of requests.
#[derive(Debug, Default)]
pub struct PageTally {
    connected: AtomicU64,
    served: AtomicU64,
    refused: AtomicU64,
    too_many: AtomicU64,
    over_limit: AtomicU64,
    broken: AtomicU64,
}

impl PageTally {
    /// The counts so far.
    pub fn counts(&self) -> PageCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        PageCounts {
            served: read(&self.served),
            refused: read(&self.refused),
            too_many: read(&self.too_many),
            over_limit: read(&self.over_limit),
            broken: read(&self.broken),
        }
    }

    /// Counts an answered request by its status.
    fn answered(&self, status: u16) {
        let counter = match status {
            200 => &self.served,
            408 | 431 => &self.over_limit,
            _ => &self.refused,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// A bound address.
#[derive(Debug)]
pub struct PageServer {
    listener: TcpListener,
    /// The token that a request has to bring.
    token: Option<String>,
}

impl PageServer {
    /// Binds an address. Without a token it has to be one of the loopback.
    ///
    /// # Errors
    /// As [`TcpListener::bind`]; [`io::ErrorKind::PermissionDenied`] for an address that others reach, without a token.
    pub fn bind(address: SocketAddr, token: Option<String>) -> io::Result<PageServer> {
        if token.is_none() && !address.ip().is_loopback() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "an address that others reach needs a token"));
        }
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(PageServer { listener, token })
    }

    /// The socket that another process has bound.
    pub fn inherited(listener: OwnedFd, token: Option<String>) -> PageServer {
        PageServer { listener: listener.into(), token }
    }

    /// The socket, for a process that goes on with it.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// The address, with the port that was chosen if it was 0.
    ///
    /// # Errors
    /// As [`TcpListener::local_addr`].
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until `stop` is set. `page` gives the page of a path, or `None`.
    pub fn serve(&self, tally: &PageTally, stop: &AtomicBool, page: impl Fn(&str) -> Option<Page> + Sync) {
        let page = &page;
        thread::scope(|scope| {
            while !stop.load(Ordering::Relaxed) {
                let Ok((stream, _)) = self.listener.accept() else {
                    thread::sleep(Duration::from_millis(10));
                    continue;
                };
                if tally.connected.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS {
                    tally.too_many.fetch_add(1, Ordering::Relaxed);
                    tally.connected.fetch_sub(1, Ordering::Relaxed);
                    continue;
                }
                let start = thread::Builder::new().name("tidegate-page".into()).stack_size(1 << 20).spawn_scoped(scope, move || {
                    match self.talk(stream, stop, page) {
                        Ok(status) => tally.answered(status),
                        Err(_) => _ = tally.broken.fetch_add(1, Ordering::Relaxed),
                    }
                    tally.connected.fetch_sub(1, Ordering::Relaxed);
                });
                if start.is_err() {
                    tally.too_many.fetch_add(1, Ordering::Relaxed);
                    tally.connected.fetch_sub(1, Ordering::Relaxed);
                }
            }
        });
    }

    /// Answers one request, and returns the status of the answer.
    fn talk(&self, mut stream: TcpStream, stop: &AtomicBool, page: &impl Fn(&str) -> Option<Page>) -> io::Result<u16> {
        stream.set_nonblocking(false)?;
        let deadline = Instant::now() + PATIENCE;
        let mut request = Vec::new();
        let answer = loop {
            if let Some(asked) = path_of(&request, self.token.as_deref()) {
                break asked.and_then(|path| answer(path, page));
            }
            if request.len() > REQUEST {
                break Err((431, "the request is too long"));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || stop.load(Ordering::Relaxed) {
                break Err((408, "the request came too slowly"));
            }
            stream.set_read_timeout(Some(left.min(Duration::from_millis(500))))?;
            let mut part = [0; 2048];
            match stream.read(&mut part) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => request.extend_from_slice(&part[..read]),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted) => {}
                Err(error) => return Err(error),
            }
        };
        let (status, page) = match answer {
            Ok(page) => (200, page),
            Err((status, text)) => (status, Page { content_type: "text/plain; charset=utf-8", content: format!("{text}\n").into_bytes() }),
        };
        let reason = match status {
            200 => "OK",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            431 => "Request Header Fields Too Large",
            500 => "Internal Server Error",
            _ => "Bad Request",
        };
        let Page { content_type, content } = page;
        let mut bytes = format!(
            "HTTP/1.1 {status} {reason}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nContent-Security-Policy: default-src 'self'; style-src 'unsafe-inline'; \
             script-src 'unsafe-inline'\r\n\r\n",
            content.len()
        )
        .into_bytes();
        bytes.extend_from_slice(&content);
        write_within(&mut stream, &bytes, PATIENCE, stop)?;
        Ok(status)
    }
}

/// The path that a request asks for; a status and its reason if it is refused; `None` while a part of it is missing. With a token, the request has to bring it.
pub fn path_of<'a>(request: &'a [u8], token: Option<&str>) -> Option<Result<&'a str, (u16, &'static str)>> {
    let mut headers = [EMPTY_HEADER; 64];
    let mut parsed = Request::new(&mut headers);
    match parsed.parse(request) {
        Ok(Status::Complete(_)) => {}
        Ok(Status::Partial) => return None,
        Err(_) => return Some(Err((400, "this is no HTTP request"))),
    }
    let count = |name: &str| parsed.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name)).count();
    let of = |name: &str| {
        let header = parsed.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(header.value).ok()
    };
    if parsed.method != Some("GET") {
        return Some(Err((405, "only GET is answered")));
    }
    if count("Origin") > 0
        || of("Sec-Fetch-Site").is_some_and(|site| !matches!(site, "none" | "same-origin"))
        || count("Host") != 1
        || !of("Host").is_some_and(is_address)
    {
        return Some(Err((403, "requests of other sites are refused; use the address itself")));
    }
    if let Some(token) = token {
        let given = of("Authorization").and_then(|value| value.strip_prefix("Bearer "));
        if !given.is_some_and(|given| is_same(given.as_bytes(), token.as_bytes())) {
            return Some(Err((401, "a token is needed: Authorization: Bearer TOKEN")));
        }
    }
    Some(Ok(parsed.path.unwrap_or("/")))
}

fn answer(path: &str, page: &impl Fn(&str) -> Option<Page>) -> Result<Page, (u16, &'static str)> {
    // A panic is a defect, which must not end the bridge; the hook has printed it.
    catch_unwind(AssertUnwindSafe(|| page(path)))
        .map_err(|_| (500, "a defect of tidegate; its log says where"))
        .and_then(|found| found.ok_or((404, "there is no such page")))
}

/// True for an address or `localhost`, with or without a port.
fn is_address(host: &str) -> bool {
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|digit| digit.is_ascii_digit())).map_or(host, |(name, _)| name);
    name.eq_ignore_ascii_case("localhost") || name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok()
}

/// Compares without telling by the time it takes where the first difference is.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |difference, (one, other)| difference | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_addresses() {
        for (host, is) in [
            ("127.0.0.1:9100", true),
            ("127.0.0.1", true),
            ("[::1]:9100", true),
            ("localhost:1", true),
            ("evil.example", false),
            ("127.0.0.1.evil.example:80", false),
            ("", false),
        ] {
            assert_eq!(is_address(host), is, "{host}");
        }
    }

    fn asked(server: &PageServer, request: &str) -> String {
        let stop = AtomicBool::new(false);
        let tally = PageTally::default();
        let page = |path: &str| match path {
            "/" => Some(Page { content_type: "text/plain", content: b"hello".to_vec() }),
            "/defect" => panic!("a defect"),
            _ => None,
        };
        thread::scope(|scope| {
            scope.spawn(|| server.serve(&tally, &stop, page));
            let mut stream = TcpStream::connect(server.address().unwrap()).unwrap();
            std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
            let mut text = String::new();
            let _reset = stream.read_to_string(&mut text);
            stop.store(true, Ordering::Relaxed);
            text
        })
    }

    #[test]
    fn pages_are_served_to_those_who_may_see_them() {
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let open = PageServer::bind(loopback, None).unwrap();
        let closed = PageServer::bind(loopback, Some("secret".into())).unwrap();
        for (server, request, status) in [
            (&open, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "200"),
            (&open, "GET /none HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "404"),
            (&open, "GET /defect HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "500"),
            (&open, "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "405"),
            (&open, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403"),
            (&open, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://evil.example\r\n\r\n", "403"),
            (&open, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nSec-Fetch-Site: cross-site\r\n\r\n", "403"),
            (&open, "\0\0\0\r\n\r\n", "400"),
            (&closed, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "401"),
            (&closed, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer secreT\r\n\r\n", "401"),
            (&closed, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer secret\r\n\r\n", "200"),
        ] {
            let answer = asked(server, request);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {answer}");
        }
        let long = format!("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: {}", "a".repeat(9000));
        let answer = asked(&open, &long);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    }

    #[test]
    fn what_others_reach_needs_a_token() {
        let everywhere = SocketAddr::from(([0, 0, 0, 0], 0));
        assert_eq!(PageServer::bind(everywhere, None).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert!(PageServer::bind(everywhere, Some("secret".into())).is_ok());
    }
}
