//! A design as a shared library that the lockstep bench loads: Verilator makes C++ of it, and that is compiled with `rtl/tb/bench.cpp`.
//!
//! Libraries are kept below `target/rtl` under the hash of all that they are made of, so that only what has changed is made again.

use super::lint::{is_package, stem};
use super::tools;
use crate::Failure;
use crate::cargo::{output, root, target_directory};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The program around a design, relative to the root.
const BENCH: &str = "rtl/tb/bench.cpp";

/// Registers without a reset begin with random bits, what is undefined becomes random bits: neither may matter.
const VERILATOR: &[&str] = &[
    "--cc",
    "--prefix",
    "Vbench",
    "--x-initial",
    "unique",
    "--x-assign",
    "unique",
    "--no-timing",
    "-O3",
    "--output-split",
    "0",
    "-Wno-lint",
    "-Wno-style",
    "-Wno-fatal",
    "--quiet",
];

/// How far it looks for what was last written to a variable: with its usual patience it takes twice the time, and the program is not faster.
const COMPILER: &[&str] = &["-std=c++20", "-fPIC", "--param=sccvn-max-alias-queries-per-access=20"];

/// How well the compiler is to do.
#[derive(Clone, Copy, Debug, Hash)]
pub enum Effort {
    /// For a design that soon ends: compiled in half the time.
    Least,
    /// For many decisions: a million clock cycles per second.
    Some,
}

impl Effort {
    fn option(self) -> &'static str {
        match self {
            Effort::Least => "-O0",
            Effort::Some => "-O1",
        }
    }
}

/// Parts of Verilator's own library.
const RUNTIME: &[&str] = &["verilated.cpp", "verilated_threads.cpp"];

/// What all units of C++ begin with; it is compiled in advance.
const HEADER: &str = "#include <cstddef>\n#include <cstdint>\n#include <memory>\n#include \"verilated.h\"\n";

/// What is made into a library.
#[derive(Clone, Debug)]
pub struct Design {
    /// Its name, which no other one has.
    pub name: String,
    pub top: String,
    /// Names and values, as Verilator takes them.
    pub parameters: Vec<(String, String)>,
    /// The texts of all files by their names without ending.
    pub sources: BTreeMap<String, String>,
    pub effort: Effort,
}

/// The texts of the files below `rtl/src`, by their names without ending.
///
/// # Errors
/// [`Failure::Environment`] if a file cannot be read.
pub fn sources() -> Result<BTreeMap<String, String>, Failure> {
    let mut texts = BTreeMap::new();
    for path in super::lint::sources()? {
        let text = std::fs::read_to_string(root().join(&path)).map_err(|error| unusable("read", &path, &error))?;
        texts.insert(stem(&path), text);
    }
    Ok(texts)
}

/// Makes the library, if it is not there.
///
/// # Errors
/// [`Failure::Check`] with the messages if it cannot be translated or compiled, [`Failure::Environment`] if a program or a file is missing.
pub fn library(design: &Design) -> Result<PathBuf, Failure> {
    let bench = std::fs::read_to_string(root().join(BENCH)).map_err(|error| unusable("read", Path::new(BENCH), &error))?;
    let files = needed(&design.top, &design.sources);
    let mut hasher = DefaultHasher::new();
    (&bench, &design.top, &design.parameters, VERILATOR, COMPILER, design.effort, tools::versions()).hash(&mut hasher);
    files.iter().for_each(|name| design.sources[*name].hash(&mut hasher));
    let name = format!("{:016x}", hasher.finish());
    let folder = target_directory()?.join("rtl").join(&design.name);
    let library = folder.join(format!("{name}.so"));
    if library.exists() {
        return Ok(library);
    }

    // What was made of older sources is of no use any more.
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|error| unusable("delete", &folder, &error))?;
    }
    let texts = folder.join("src");
    std::fs::create_dir_all(&texts).map_err(|error| unusable("make", &texts, &error))?;
    let verilator = tools::program("verilator-cli")?;
    let mut translate = Command::new(&verilator);
    translate.args(VERILATOR).args(["--top-module", &design.top]).arg("--Mdir").arg(folder.join("cc"));
    translate.args(design.parameters.iter().map(|(name, value)| format!("-G{name}={value}")));
    for name in &files {
        let path = texts.join(format!("{name}.sv"));
        std::fs::write(&path, &design.sources[*name]).map_err(|error| unusable("write", &path, &error))?;
        translate.arg(path);
    }
    silently(&mut translate)?;

    let runtime = runtime(&verilator)?;
    let written = std::fs::read_dir(folder.join("cc")).map_err(|error| unusable("read", &folder, &error))?;
    let mut units: Vec<PathBuf> = written.flatten().map(|entry| entry.path()).filter(|path| has_extension(path, "cpp")).collect();
    units.sort();
    units.push(root().join(BENCH));
    // What runs once, before the first cycle, is as much as all the rest.
    let (once, often): (Vec<PathBuf>, Vec<PathBuf>) = units.into_iter().partition(|path| path.to_string_lossy().ends_with("__Slow.cpp"));
    let mut objects = Vec::new();
    for (name, units, effort) in [("often", often, design.effort), ("once", once, Effort::Least)] {
        let unit = folder.join("cc").join(name).with_extension("cc");
        let text: String = units.iter().map(|path| format!("#include \"{}\"\n", path.display())).collect();
        std::fs::write(&unit, text).map_err(|error| unusable("write", &unit, &error))?;
        let object = unit.with_extension("o");
        let mut compile = Command::new("g++");
        compile.args(COMPILER).arg(effort.option()).arg("-include").arg(runtime.header(effort)).arg("-I").arg(folder.join("cc"));
        silently(compile.arg("-I").arg(&runtime.include).arg("-c").arg(&unit).arg("-o").arg(&object))?;
        objects.push(object);
    }
    // The last step gives it its name, so that a library that is there is complete.
    let unnamed = folder.join("library");
    let mut link = Command::new("g++");
    link.arg("-shared").arg("-o").arg(&unnamed).args(&objects).args(&runtime.objects);
    silently(link.args(["-lpthread", "-latomic"]))?;
    std::fs::rename(&unnamed, &library).map_err(|error| unusable("name", &library, &error))?;
    Ok(library)
}

/// What all designs share.
struct Runtime {
    /// Verilator's own headers.
    include: PathBuf,
    folder: PathBuf,
    /// Verilator's own library.
    objects: Vec<PathBuf>,
}

impl Runtime {
    /// The header for units that are compiled with this effort; beside it is what the compiler made of it.
    fn header(&self, effort: Effort) -> PathBuf {
        self.folder.join(format!("header{}.h", effort.option()))
    }
}

/// What all designs share, compiled once.
fn runtime(verilator: &Path) -> Result<Runtime, Failure> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock();
    let text = output(Command::new(verilator).args(["--getenv", "VERILATOR_ROOT"]))?;
    let mut hasher = DefaultHasher::new();
    (tools::versions(), COMPILER, HEADER).hash(&mut hasher);
    let folder = target_directory()?.join("rtl/runtime").join(format!("{:016x}", hasher.finish()));
    std::fs::create_dir_all(&folder).map_err(|error| unusable("make", &folder, &error))?;
    let objects = RUNTIME.iter().map(|part| folder.join(part).with_extension("o")).collect();
    let runtime = Runtime { include: Path::new(text.trim()).join("include"), folder, objects };
    let compiled = |options: &[&str], from: &Path, to: &Path| {
        if to.exists() {
            return Ok(());
        }
        let unnamed = runtime.folder.join("unnamed");
        let mut compile = Command::new("g++");
        silently(compile.args(COMPILER).args(options).arg("-I").arg(&runtime.include).arg("-o").arg(&unnamed).arg(from))?;
        std::fs::rename(&unnamed, to).map_err(|error| unusable("name", to, &error))
    };
    for (part, object) in RUNTIME.iter().zip(&runtime.objects) {
        compiled(&["-O2", "-c"], &runtime.include.join(part), object)?;
    }
    for effort in [Effort::Least, Effort::Some] {
        let header = runtime.header(effort);
        std::fs::write(&header, HEADER).map_err(|error| unusable("write", &header, &error))?;
        compiled(&[effort.option(), "-x", "c++-header"], &header, &header.with_extension("h.gch"))?;
    }
    Ok(runtime)
}

/// The files that `top` is made of, packages first: those whose names it says, and so on.
pub fn needed<'a>(top: &str, sources: &'a BTreeMap<String, String>) -> Vec<&'a str> {
    let says = |text: &str, name: &str| text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).any(|word| word == name);
    let mut found: Vec<&str> = sources.keys().map(String::as_str).filter(|name| *name == top).collect();
    let mut next = 0;
    while let Some(&name) = found.get(next) {
        next += 1;
        for other in sources.keys().map(String::as_str) {
            if !found.contains(&other) && says(&sources[name], other) {
                found.push(other);
            }
        }
    }
    found.sort_by_key(|name| (!is_package(Path::new(&format!("{name}.sv"))), *name));
    found
}

/// Runs `job` on every item, as many at a time as there are cores, and gives the answers in order.
pub fn at_once<Item: Sync, Answer: Send>(items: &[Item], job: impl Fn(&Item) -> Answer + Sync) -> Vec<Answer> {
    let next = AtomicUsize::new(0);
    let answers = Mutex::new(Vec::new());
    let work = || {
        while let Some((number, item)) = items.iter().enumerate().nth(next.fetch_add(1, Ordering::Relaxed)) {
            let answer = job(item);
            answers.lock().expect("no job panics").push((number, answer));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut answers = answers.into_inner().expect("no job panics");
    answers.sort_by_key(|(number, _)| *number);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// Runs a command; what it says is said only if it fails.
fn silently(command: &mut Command) -> Result<(), Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| Failure::Environment(format!("cannot start {program}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Err(Failure::Check(format!("{program} ended with {}:\n{said}", output.status)))
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

fn unusable(verb: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::Environment(format!("cannot {verb} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_design_needs_what_it_names() {
        let text = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let sources = BTreeMap::from([
            text("a_pkg", ""),
            text("b", "import a_pkg::*; c u_c();"),
            text("c", "b2"),
            text("d", "b"),
            text("z_top", "b u_b ();"),
        ]);
        assert_eq!(needed("z_top", &sources), ["a_pkg", "b", "c", "z_top"]);
        assert_eq!(needed("none", &sources), [""; 0]);
    }

    #[test]
    fn answers_come_in_the_order_of_the_questions() {
        let items: Vec<u32> = (0..50).collect();
        assert_eq!(at_once(&items, |item| item * 2), items.iter().map(|item| item * 2).collect::<Vec<_>>());
    }
}
