//! Headless Chromium, as tests of pages use it.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What Chromium made of a page.
pub struct Shown {
    pub dom: String,
    pub messages: Vec<String>,
}

impl Shown {
    pub fn expect_no_message(&self) {
        assert!(self.messages.is_empty(), "{:#?}", self.messages);
    }
}

/// Opens a page.
pub fn open(url: &str, arguments: &[&str]) -> Shown {
    let profile = Scratch::new("profile");
    let mut command = Command::new(chromium());
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--enable-logging=stderr",
            "--v=0",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.0.display()))
        .args(arguments)
        .arg(url);
    let output = finished(command);
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(dom.contains("</html>"), "Chromium showed no page:\n{log}");
    Shown { dom, messages: log.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect() }
}

/// Chromium is given two minutes, which is a hundred times what it takes.
fn finished(mut command: Command) -> Output {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = child.id();
    // Both pipes are emptied while Chromium runs, or a full one would stop it.
    let stdout = reader(child.stdout.take().unwrap());
    let stderr = reader(child.stderr.take().unwrap());
    let deadline = Instant::now() + Duration::from_secs(120);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("Chromium (process {id}) did not finish within two minutes");
        }
        thread::sleep(Duration::from_millis(20));
    };
    Output { status, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

fn reader(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).unwrap();
        bytes
    })
}

fn chromium() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .flat_map(|directory| ["chromium", "chromium-browser", "google-chrome"].map(|name| directory.join(name)))
        .find(|candidate| candidate.is_file())
        .unwrap_or_else(|| panic!("chromium is needed: apt-get install chromium"))
}

/// A new directory, removed at the end.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tidegate-browser-{}-{count}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
