//! Random scenarios as texts: paths of links, trees of schedulers, contracts, and sources that lean towards the worst case.

use std::fmt::Write;

/// Draws from a seed, which makes a failing case repeatable.
pub struct Lots(pub u64);

impl Lots {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

/// The schedulers that are drawn, those of groups first.
const SCHEDULERS: &[&str] =
    &["fifo", "strict-priority", "wrr", "drr", "wf2q+", "scfq", "qfq", "edf", "virtual-clock", "svc", "rate-controlled"];

/// The most classes of a policy, the one for the rest left out.
const CLASSES: u64 = 4;

/// A whole scenario.
pub fn scenario(seed: u64) -> String {
    let lots = &mut Lots(seed);
    let duration = lots.between(20, 120);
    let mut text = format!("[simulation]\nduration = \"{duration} ms\"\nseed = {}\n", lots.below(1_000));
    let links = lots.between(1, 4);
    let is_ring = links >= 3 && lots.one_in(6);
    let same = lots.one_in(3);
    let (mut rates, mut changes) = (Vec::new(), String::new());
    for link in 0..links {
        // Rates that picoseconds divide, and others.
        let least = if same && link > 0 { rates[0] } else { 3_000_000 };
        let rate = if lots.one_in(2) { least.max(10_000_000) } else { lots.between(least, 30_000_000) };
        let is_of_cells = lots.one_in(8);
        // Of an adapter no connection has the whole link.
        rates.push(if is_of_cells { rate / 5 } else { rate });
        if link == 0 || !same {
            let schedulers = if is_of_cells { cells(lots, &mut text, link, rate) } else { policy(lots, &mut text, link, rate) };
            for _ in 0..if !schedulers.is_empty() && lots.one_in(4) { lots.between(1, 2) } else { 0 } {
                change(lots, &mut changes, link, rate, &schedulers, duration);
            }
        }
        let named = if same { 0 } else { link };
        let to = if is_ring { (link + 1) % links } else { link + 1 };
        let delay = lots.below(3);
        let _ = write!(
            text,
            "[[link]]\nname = \"l{link}\"\nfrom = \"n{link}\"\nto = \"n{to}\"\npolicy = \"p{named}\"\ndelay = \"{delay} ms\"\n"
        );
        if same && link > 0 {
            let _ = writeln!(text, "rate = \"{rate} bit/s\"");
        }
        if lots.one_in(8) {
            let _ = writeln!(text, "loss = \"{} %\"", lots.between(1, 9));
        }
    }
    for flow in 0..lots.between(2, 7) {
        let first = lots.below(links);
        let hops = lots.between(1, if is_ring { links - 1 } else { links - first });
        let path: Vec<String> = (first..first + hops).map(|link| format!("\"l{}\"", link % links)).collect();
        let least = (first..first + hops).map(|link| rates[(link % links) as usize]).min().unwrap_or(rates[0]);
        if is_ring && lots.one_in(6) {
            // Acknowledgements take the rest of the ring.
            let back: Vec<String> = (first + hops..first + links).map(|link| format!("\"l{}\"", link % links)).collect();
            let port = 5_000 + lots.below(CLASSES + 1);
            let _ = write!(text, "[[flow]]\nname = \"f{flow}\"\npath = [{}]\nback = [{}]\n", path.join(", "), back.join(", "));
            let _ = writeln!(text, "source = {{ kind = \"tcp\", segment = \"900 B\" }}\nheader = {{ destination_port = {port} }}");
            continue;
        }
        source(lots, &mut text, flow, &path.join(", "), least);
    }
    text + &changes
}

/// The policy of an ATM adapter: contracts of all kinds, which fit at their peak rates as a rule. No scheduler is above its classes.
fn cells(lots: &mut Lots, text: &mut String, number: u64, rate: u64) -> Vec<&'static str> {
    let conflict = lots.one_of(&["lazy", "cdvt", "priority", "priority"]);
    let shares = if lots.one_in(5) { "minimum_shares = [\"0 %\", \"10 %\"]\n" } else { "" };
    let encapsulation = lots.one_of(&["llc-snap", "vc-multiplexed"]);
    let _ = write!(text, "[policy.p{number}]\nrate = \"{rate} bit/s\"\nbuffer = {{ limit = \"4 MB\" }}\n");
    let _ = write!(text, "[policy.p{number}.cells]\nconflict = \"{conflict}\"\nencapsulation = \"{encapsulation}\"\n{shares}");
    let classes = lots.between(2, CLASSES);
    for class in 0..=classes {
        let _ = writeln!(text, "[[policy.p{number}.class]]\nname = \"c{class}\"");
        if class < classes {
            let _ = writeln!(text, "match = [{{ destination_port = {} }}]", 5_000 + class);
        } else if lots.one_in(3) {
            // The rest has no contract.
            continue;
        }
        let peak = rate * lots.between(5, 20) / 20 / (classes + 1);
        let sustained = peak * lots.between(4, 10) / 10;
        let mode = match lots.below(3) {
            0 => String::new(),
            mode => {
                let bucket = if mode == 1 { "single" } else { "dual" };
                let burst = lots.between(1, 60);
                format!(", sustainable_cell_rate = \"{sustained} bit/s\", maximum_burst_size = {burst}, bucket = \"{bucket}\"")
            }
        };
        let (tolerance, priority) = (lots.between(0, 8) * 424_000_000 / rate, lots.below(3));
        let _ = writeln!(
            text,
            "contract = {{ peak_cell_rate = \"{peak} bit/s\"{mode}, cell_delay_variation_tolerance = \"{tolerance} us\", priority = {priority} }}"
        );
    }
    Vec::new()
}

/// Another policy from some instant on: other rates, orders, schedulers, classes or buffers. `schedulers` are those above the classes.
fn change(lots: &mut Lots, text: &mut String, number: u64, rate: u64, schedulers: &[&str], duration: u64) {
    let at = lots.between(1, duration * 1_000 - 1);
    let _ = writeln!(text, "[[change]]\nat = \"{at} us\"");
    let class = lots.below(schedulers.len() as u64);
    let root = schedulers[schedulers.len() - 1];
    let alike: &[&[&str]] = &[&["wrr", "drr"], &["wf2q+", "scfq", "qfq", "virtual-clock"]];
    let family = alike.iter().find(|family| family.contains(&root));
    match (lots.below(8), schedulers[class as usize]) {
        (0..=1, "strict-priority" | "rate-controlled") => {
            let _ = writeln!(text, "set = {{ \"policy.p{number}.class.c{class}.priority\" = {} }}", lots.below(3));
        }
        (2, _) if class + 1 < schedulers.len() as u64 => {
            let _ = writeln!(text, "remove = [\"policy.p{number}.class.c{class}\"]");
        }
        (3, _) => {
            let keys = keys(lots, root, rate / 50, 1, 1);
            let matched = 5_000 + CLASSES;
            let _ = writeln!(
                text,
                "[[change.add.policy.p{number}.class]]\nname = \"n{at}\"\nmatch = [{{ destination_port = {matched} }}]\n{keys}"
            );
        }
        (4, _) if family.is_some() => {
            let _ = writeln!(text, "set = {{ \"policy.p{number}.scheduler\" = \"{}\" }}", lots.one_of(family.unwrap()));
        }
        (5, _) => {
            let _ = writeln!(text, "set = {{ \"policy.p{number}.buffer.limit\" = \"{} kB\" }}", lots.between(10, 100));
        }
        _ => {
            let rate = rate * lots.between(5, 20) / 10;
            let _ = writeln!(text, "set = {{ \"policy.p{number}.rate\" = \"{rate} bit/s\" }}");
        }
    }
}

/// Writes a policy. Returns the scheduler above each class; the last is the root.
fn policy(lots: &mut Lots, text: &mut String, number: u64, rate: u64) -> Vec<&'static str> {
    let overhead = lots.one_of(&["", "overhead = \"ethernet\"\n", "overhead = \"18 B\"\n", "overhead = \"aal5\"\n"]);
    let root = lots.one_of(SCHEDULERS);
    let longest = lots.between(1_000, 1_518);
    let _ =
        write!(text, "[policy.p{number}]\nrate = \"{rate} bit/s\"\nlongest_frame = \"{longest} B\"\n{overhead}scheduler = \"{root}\"\n");
    let _ = writeln!(text, "buffer = {{ limit = \"{} kB\" }}", if lots.one_in(4) { 20 } else { 4_000 });
    let classes = lots.between(1, CLASSES);
    // Packets that a policer marks go on in another class.
    let by_colour = lots.one_in(4);
    let groups = if lots.one_in(2) { lots.between(1, 2.min(classes)) } else { 0 };
    // The parent of each class, 0 for the link; each group has one.
    let members: Vec<u64> = (0..classes).map(|class| if class < groups { class + 1 } else { lots.below(groups + 1) }).collect();
    let shares = |lots: &mut Lots, count: u64| -> Vec<u64> { (0..count).map(|_| lots.between(1, 4)).collect() };
    let tops = shares(lots, groups + classes + 1);
    let sum: u64 = tops.iter().sum();
    let (mut schedulers, mut above) = (vec![root], Vec::new());
    let mut parts = vec![rate];
    for group in 1..=groups {
        let part = rate * 95 / 100 * tops[group as usize] / sum;
        schedulers.push(lots.one_of(SCHEDULERS));
        parts.push(part);
        let keys = keys(lots, root, part, group, tops[group as usize]);
        let name = schedulers[group as usize];
        let _ =
            writeln!(text, "[[policy.p{number}.group]]\nname = \"g{group}\"\nscheduler = \"{name}\"\n{keys}{}", shape(lots, root, part));
    }
    for class in 0..=classes {
        let is_rest = class == classes;
        let parent = if is_rest { 0 } else { members[class as usize] };
        let beside = members.iter().filter(|&&other| other == parent).count() as u64;
        let part = match parent {
            0 => rate * 95 / 100 * tops[(groups + class) as usize] / sum,
            group => parts[group as usize] * 95 / 100 / beside,
        };
        let _ = writeln!(text, "[[policy.p{number}.class]]\nname = \"c{class}\"");
        if class == 0 && by_colour {
            let _ = writeln!(text, "match = [{{ dscp = \"af12\" }}, {{ dscp = \"af13\" }}]");
        } else if !is_rest {
            let _ = writeln!(text, "match = [{{ destination_port = {} }}]", 5_000 + class);
        }
        if by_colour {
            let _ = writeln!(text, "set = {{ dscp = \"by-colour\" }}");
        }
        if parent > 0 {
            let _ = writeln!(text, "parent = \"g{parent}\"");
        }
        let scheduler = schedulers[parent as usize];
        above.push(scheduler);
        let _ = write!(text, "{}{}", keys(lots, scheduler, part, class, tops[(groups + class) as usize]), shape(lots, scheduler, part));
        if lots.one_in(5) {
            let _ =
                writeln!(text, "queues = {}\nqueue_scheduler = \"{}\"", lots.between(2, 4), lots.one_of(&["fifo", "drr", "wrr", "wf2q+"]));
        }
        if lots.one_in(4) {
            let violation = if lots.one_in(if by_colour { 2 } else { 5 }) { ", violation = \"yellow\"" } else { "" };
            let burst = lots.between(2 * longest + 200, 8 * longest);
            let rate = (part * lots.between(3, 9) / 10).max(1_000);
            let _ = writeln!(text, "police = {{ policer = \"gcra\", rate = \"{rate} bit/s\", burst = \"{burst} B\"{violation} }}");
        }
        if lots.one_in(6) {
            let _ = writeln!(text, "limit = \"{} packets\"", lots.between(2, 40));
        }
    }
    above
}

/// What the scheduler above needs of a child.
fn keys(lots: &mut Lots, scheduler: &str, part: u64, rank: u64, weight: u64) -> String {
    match scheduler {
        "strict-priority" | "rate-controlled" => format!("priority = {}\n", if lots.one_in(4) { 0 } else { rank }),
        "wrr" | "drr" => format!("weight = {weight}\n"),
        "wf2q+" | "scfq" | "qfq" | "virtual-clock" | "svc" => format!("rate = \"{} bit/s\"\n", part.max(1_000)),
        "edf" => format!("delay = \"{} us\"\n", lots.between(500, 20_000)),
        _ => String::new(),
    }
}

/// A shape, for rate control always.
fn shape(lots: &mut Lots, scheduler: &str, part: u64) -> String {
    if scheduler != "rate-controlled" && !lots.one_in(8) {
        return String::new();
    }
    let burst = if lots.one_in(2) { lots.between(2_000, 6_000) } else { lots.between(20_000, 90_000) };
    let bucket = if lots.one_in(4) { ", bucket = \"dual\"" } else { "" };
    let tolerance = if lots.one_in(3) { format!(", delay_variation_tolerance = \"{} us\"", lots.below(3_000)) } else { String::new() };
    let rate = (part * lots.between(10, 20) / 10).max(1_000);
    let peak = if lots.one_in(5) { format!(", peak_rate = \"{} bit/s\"", rate * 2) } else { String::new() };
    format!("shape = {{ rate = \"{rate} bit/s\", burst = \"{burst} B\"{peak}{bucket}{tolerance} }}\n")
}

fn source(lots: &mut Lots, text: &mut String, flow: u64, path: &str, rate: u64) {
    let port = 5_000 + lots.below(CLASSES + 1);
    let count = if lots.one_in(4) { lots.between(2, 4) } else { 1 };
    let _ = writeln!(
        text,
        "[[flow]]\nname = \"f{flow}\"\npath = [{path}]\nheader = {{ destination_port = {port}, dscp = \"af11\" }}\ncount = {count}"
    );
    if lots.one_in(6) {
        let _ = writeln!(text, "tag = {{ policer = \"gcra\", rate = \"{} bit/s\", burst = \"3 kB\" }}", rate / 50);
    }
    let own = (rate * lots.between(1, 14) / 100 / count).max(20_000);
    let packet = if lots.one_in(2) { lots.between(60, 1_000) } else { 1_000 };
    let phase = lots.one_in(2);
    let source = match lots.below(12) {
        0..=3 => format!("kind = \"cbr\", rate = \"{own} bit/s\", packet = \"{packet} B\", random_phase = {phase}"),
        4..=6 => {
            // All of a burst at once.
            let sizes: Vec<String> = (0..lots.between(1, 3)).map(|_| format!("\"{} B\"", lots.between(100, 12_000))).collect();
            let interval = sizes.len() as u64 * 6_000 * 8_000_000 / own / sizes.len() as u64;
            let sizes = sizes.join(", ");
            format!("kind = \"frames\", sizes = [{sizes}], interval = \"{interval} us\", packet = \"{packet} B\", random_phase = {phase}")
        }
        7..=9 => {
            let (on, off) = (lots.between(1, 12), lots.between(1, 12));
            let peak = own * (on + off) / on;
            let holding = if lots.one_in(3) { "exponential" } else { "constant" };
            format!(
                "kind = \"on-off\", peak = \"{peak} bit/s\", packet = \"{packet} B\", on = \"{on} ms\", off = \"{off} ms\", holding = \"{holding}\""
            )
        }
        10 => format!("kind = \"poisson\", rate = \"{own} bit/s\", packet = \"{packet} B\""),
        _ => format!("kind = \"greedy\", packet = \"{packet} B\", window = \"{} packets\"", lots.between(1, 20)),
    };
    let _ = writeln!(text, "source = {{ {source} }}");
    if !source.contains("greedy") && lots.one_in(8) {
        let _ = writeln!(text, "shape = {{ rate = \"{} bit/s\", burst = \"{} B\" }}", own * 12 / 10, lots.between(2_000, 9_000));
    }
    if lots.one_in(4) {
        let _ = writeln!(text, "start = \"{} us\"", lots.below(5_000));
    }
}

/// One port whose scheduler takes turns: sparse packets meet turns that have just ended.
pub fn turns(seed: u64) -> String {
    let lots = &mut Lots(seed);
    let scheduler = lots.one_of(&["wrr", "drr", "strict-priority", "scfq", "wf2q+", "qfq"]);
    let rate = lots.between(8_000_000, 12_000_000);
    let mut text = format!(
        "[simulation]\nduration = \"60 ms\"\n[policy.p]\nrate = \"{rate} bit/s\"\nlongest_frame = \"1000 B\"\nscheduler = \"{scheduler}\"\nbuffer = {{ limit = \"1 MB\" }}\n"
    );
    let classes = lots.between(2, 4);
    for class in 0..classes {
        let key = match scheduler {
            "strict-priority" => "priority = 0".to_owned(),
            "wrr" | "drr" => format!("weight = {}", lots.between(1, 3)),
            _ => format!("rate = \"{} bit/s\"", rate * lots.between(1, 9) / 10 / classes),
        };
        let matches = if class + 1 == classes { String::new() } else { format!("match = [{{ destination_port = {} }}]\n", 5_000 + class) };
        let _ = write!(text, "[[policy.p.class]]\nname = \"c{class}\"\n{matches}{key}\n");
    }
    text += "[[link]]\nname = \"l0\"\nfrom = \"a\"\nto = \"b\"\npolicy = \"p\"\n";
    for class in 0..classes {
        let head = format!("path = [\"l0\"]\nheader = {{ destination_port = {} }}", 5_000 + class);
        if class + 1 == classes {
            let (packet, rate) = (lots.between(40, 300), lots.between(20_000, 90_000));
            let source = format!("kind = \"cbr\", rate = \"{rate} bit/s\", packet = \"{packet} B\"");
            let _ = write!(text, "[[flow]]\nname = \"f{class}\"\ncount = {}\n{head}\nsource = {{ {source} }}\n", lots.between(1, 3));
        } else {
            for part in 0..lots.between(1, 3) {
                let packet = if lots.one_in(2) { 1_000 } else { lots.between(300, 1_000) };
                let source = format!("kind = \"greedy\", packet = \"{packet} B\", window = \"{} packets\"", lots.between(1, 6));
                let _ = write!(text, "[[flow]]\nname = \"f{class}-{part}\"\n{head}\nsource = {{ {source} }}\n");
            }
        }
    }
    text
}
