//! The page to watch a bridge, in a real Chromium: light, dark and as wide as a telephone. Run it by `cargo test -p tidegate-cli --test watch_page`.

#[path = "../../tidegate-report/tests/browser/chromium.rs"]
mod chromium;

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

const PAGE: &str = include_str!("../src/live_pages/watch.html");
/// The width of a telephone in pixels.
const TELEPHONE: u32 = 390;

/// Shows the page in a frame of a given width until it has told of a change, and writes what there is in it into attributes of its own.
fn outer(width: u32) -> String {
    format!(
        "<!doctype html><html><head></head><body style=\"margin:0\"><iframe id=\"inner\" src=\"/\" style=\"width:{width}px;height:1600px;border:0\"></iframe><script>\
         const errors = [];\
         document.getElementById('inner').contentWindow.addEventListener('error', event => errors.push(event.message));\
         const timer = setInterval(() => {{\
           const page = document.getElementById('inner').contentDocument, body = page.body, root = page.documentElement;\
           if (!body?.innerText.includes('the policy changed')) return;\
           clearInterval(timer);\
           const set = (key, value) => document.body.setAttribute('probe-' + key, value);\
           set('drawn', body.dataset.drawn); set('errors', errors.join(' ')); set('overflow', root.scrollWidth - root.clientWidth);\
           set('text', body.innerText.replaceAll('\"', '')); set('page', getComputedStyle(body).backgroundColor);\
           set('points', page.querySelector('polyline').getAttribute('points').split(' ').length);\
           set('indent', [...page.querySelectorAll('td')].find(cell => cell.textContent === 'house 7')?.style.paddingLeft);\
           set('hacked', window.hacked ?? page.defaultView.hacked ?? 'no');\
         }}, 100);</script></body></html>"
    )
}

/// What a bridge answers; the `number`-th time.
fn answer(path: &str, number: u64) -> Value {
    let amount = |packets: u64| json!({ "packets": packets, "bytes": packets * 1000 });
    let evil = "<img src=x onerror=\"hacked=1\">";
    match path {
        "/status" => {
            let direction = |from: &str, to: &str| {
                json!({ "from": from, "to": to, "policy": "access", "rate_bps": 10_000_000, "classes": 3, "receiving": true, "sending": number < 3,
                    "received": amount(700 * number), "delivered": amount(600 * number), "queued": amount(40), "in_flight": amount(2),
                    "dropped": { "flow-limit": amount(100 * number) }, "ecn_marked": 30 * number, "lost_in_kernel": 0 })
            };
            json!({ "status": { "program": "0.1.0", "uptime_s": number as f64, "file": "a-file-with-a-name-that-is-longer-than-a-telephone-is-wide.toml",
                "warnings": [format!("warning: eth1 has an address of this host {evil}")], "edits": ["policy.access.class.rest.weight=3"], "reservations": [], "changes": number / 3,
                "directions": [direction("eth1", "eth2"), direction("eth2", "eth1")],
                "clients": { "connected": 1, "accepted": 1, "answered": 1, "refused": 0, "too_many": 0, "over_limit": 0, "idle": 0, "defects": 0 } } })
        }
        "/classes" => {
            let delay = json!({ "p50_s": 0.001, "p99_s": 0.0123, "max_s": 0.05 });
            let class = |name: &str, groups: &[&str], rate: f64| {
                json!({ "name": name, "present": true, "rate_bps": rate, "offered": amount(9), "sent": amount(8), "queued": amount(1), "dropped": {},
                    "recoloured": amount(0), "ecn_marked": 5, "groups": groups, "delay": delay, "delay_second": delay, "delay_minute": delay,
                    "guarantee": "none guaranteed, because of its weight" })
            };
            let classes = [class("house 7", &["street", "north"], 3e6), class(evil, &["street"], 1e6), class("rest", &[], 2e6)];
            let direction = |from: &str, to: &str| json!({ "from": from, "to": to, "classes": classes, "left_out": 12 });
            json!({ "classes": { "rates_over_s": 1.0, "directions": [direction("eth1", "eth2"), direction("eth2", "eth1")] } })
        }
        "/flows" => {
            let flow = json!({ "source": "2001:db8::7", "destination": "2001:db8::1", "protocol": 6, "source_port": 443, "destination_port": 50_000,
                "class": evil, "bytes": 1_000_000, "error_bytes": 2000, "rate_bps": 1.6e6 });
            let flows = json!([flow, { "ethernet_type": 0x0806, "class": "rest", "bytes": 60, "error_bytes": 0, "rate_bps": 96.0 }]);
            let direction = json!({ "from": "eth1", "to": "eth2", "over_s": 5.0, "bytes": 2_000_000, "error_bytes": 2000, "flows": flows });
            json!({ "flows": { "directions": [direction] } })
        }
        _ => Value::Null,
    }
}

/// Serves the page and its answers until the process ends.
fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(std::sync::atomic::AtomicU64::new(0));
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let asked = asked.clone();
            thread::spawn(move || respond(&stream, &asked));
        }
    });
    port
}

fn respond(mut stream: &TcpStream, asked: &std::sync::atomic::AtomicU64) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
    let path = first.split(' ').nth(1).unwrap_or("/").to_owned();
    let number = asked.fetch_add(u64::from(path == "/status"), std::sync::atomic::Ordering::Relaxed);
    let (kind, content) = match path.strip_prefix("/outer") {
        Some(width) => ("text/html", outer(width.parse().unwrap())),
        None if path == "/" => ("text/html", PAGE.to_owned()),
        None => ("application/json", answer(&path, number + 1).to_string()),
    };
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", content.len());
    let _gone = stream.write_all((head + &content).as_bytes());
}

fn attribute(dom: &str, key: &str) -> String {
    let found = dom.split(&format!(" probe-{key}=\"")).nth(1).unwrap_or_else(|| panic!("no `{key}`: {dom}"));
    found.split('"').next().unwrap_or_default().to_owned()
}

#[test]
fn the_page_is_drawn_light_and_dark_wide_and_narrow() {
    for (width, scheme, page) in [(1250, "1", "rgb(255, 255, 255)"), (1250, "0", "rgb(18, 23, 29)"), (TELEPHONE, "1", "rgb(255, 255, 255)")]
    {
        let port = serve();
        let shown = chromium::open(
            &format!("http://127.0.0.1:{port}/outer{width}"),
            &["--window-size=1280,1700", &format!("--blink-settings=preferredColorScheme={scheme}"), "--virtual-time-budget=30000"],
        );
        shown.expect_no_message();
        let of = |key: &str| attribute(&shown.dom, key);
        assert_eq!((of("drawn"), of("errors"), of("hacked")), ("true".into(), String::new(), "no".into()), "{}", shown.dom);
        assert_eq!(of("page"), page, "{scheme}");
        assert!(of("overflow").parse::<i32>().unwrap() <= 0, "the page is wider than {width} pixels: {}", of("overflow"));
        assert!(of("points").parse::<u32>().unwrap() >= 2, "the rate is a line");
        assert_eq!(of("indent"), "2.5rem", "a class is below its group and that below another");
        let text = of("text");
        for part in [
            "house 7",
            "street",
            "12.3 ms",
            "tcp [2001:db8::7]:443 → [2001:db8::1]:50000",
            "Ethernet type 0x0806",
            "and 12 more",
            "packets dropped",
            "packets marked",
            "differs from the file in 1",
            "eth2 is down",
            "warning: eth1 has an address of this host",
            "the policy changed",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
