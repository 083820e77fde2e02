//! A design as a shared library that the lockstep bench loads: Verilator makes C++ of it, and that is compiled with `rtl/tb/bench.cpp`.
//!
//! Libraries are kept below `target/rtl` under the hash of everything that they are made of, so that only what has changed is made again.

use super::sources::needed;
use super::tools;
use crate::cargo::{output, root, target_directory};
use crate::failure::Failure;
use crate::tidy::files::has_extension;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// The program around a design, relative to the root.
const BENCH: &str = "rtl/tb/bench.cpp";

/// Registers without a reset and undefined values become random bits: neither may matter.
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

/// The parameter limits the search for the last write to a variable: by default it takes twice the time, and the program is not faster.
const COMPILER: &[&str] = &["-std=c++20", "-fPIC", "--param=sccvn-max-alias-queries-per-access=20"];

/// How much the compiler optimises.
#[derive(Clone, Copy, Debug, Hash)]
pub enum Effort {
    /// For a short simulation: compiled in half the time.
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
    pub name: String,
    pub top: String,
    /// Names and values, as Verilator takes them.
    pub parameters: Vec<(String, String)>,
    /// The texts of all files by their names without ending.
    pub sources: BTreeMap<String, String>,
    pub effort: Effort,
}

/// Makes the library, if it is not there.
///
/// # Errors
/// [`Failure::Check`] with the messages if it cannot be translated or compiled, [`Failure::Environment`] if a program or a file is missing.
pub fn library(design: &Design) -> Result<PathBuf, Failure> {
    let bench = std::fs::read_to_string(root().join(BENCH)).map_err(Failure::cannot("read", BENCH))?;
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

    // Libraries of older sources are not needed any more.
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(Failure::cannot("delete", &folder))?;
    }
    let texts = folder.join("src");
    std::fs::create_dir_all(&texts).map_err(Failure::cannot("make", &texts))?;
    let verilator = tools::program("verilator-cli")?;
    let mut translate = Command::new(&verilator);
    translate.args(VERILATOR).args(["--top-module", &design.top]).arg("--Mdir").arg(folder.join("cc"));
    translate.args(design.parameters.iter().map(|(name, value)| format!("-G{name}={value}")));
    for name in &files {
        let path = texts.join(format!("{name}.sv"));
        std::fs::write(&path, &design.sources[*name]).map_err(Failure::cannot("write", &path))?;
        translate.arg(path);
    }
    silently(&mut translate)?;

    let runtime = runtime(&verilator)?;
    let written = std::fs::read_dir(folder.join("cc")).map_err(Failure::cannot("read", &folder))?;
    let mut units: Vec<PathBuf> = written.flatten().map(|entry| entry.path()).filter(|path| has_extension(path, "cpp")).collect();
    units.sort();
    units.push(root().join(BENCH));
    // Half of the code runs once, before the first cycle.
    let (once, often): (Vec<PathBuf>, Vec<PathBuf>) = units.into_iter().partition(|path| path.to_string_lossy().ends_with("__Slow.cpp"));
    let mut objects = Vec::new();
    for (name, units, effort) in [("often", often, design.effort), ("once", once, Effort::Least)] {
        let unit = folder.join("cc").join(name).with_extension("cc");
        let text: String = units.iter().map(|path| format!("#include \"{}\"\n", path.display())).collect();
        std::fs::write(&unit, text).map_err(Failure::cannot("write", &unit))?;
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
    std::fs::rename(&unnamed, &library).map_err(Failure::cannot("name", &library))?;
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
    std::fs::create_dir_all(&folder).map_err(Failure::cannot("make", &folder))?;
    let objects = RUNTIME.iter().map(|part| folder.join(part).with_extension("o")).collect();
    let runtime = Runtime { include: Path::new(text.trim()).join("include"), folder, objects };
    let compiled = |options: &[&str], from: &Path, to: &Path| {
        if to.exists() {
            return Ok(());
        }
        let unnamed = runtime.folder.join("unnamed");
        let mut compile = Command::new("g++");
        silently(compile.args(COMPILER).args(options).arg("-I").arg(&runtime.include).arg("-o").arg(&unnamed).arg(from))?;
        std::fs::rename(&unnamed, to).map_err(Failure::cannot("name", to))
    };
    for (part, object) in RUNTIME.iter().zip(&runtime.objects) {
        compiled(&["-O2", "-c"], &runtime.include.join(part), object)?;
    }
    for effort in [Effort::Least, Effort::Some] {
        let header = runtime.header(effort);
        std::fs::write(&header, HEADER).map_err(Failure::cannot("write", &header))?;
        compiled(&[effort.option(), "-x", "c++-header"], &header, &header.with_extension("h.gch"))?;
    }
    Ok(runtime)
}

/// Runs a command; its output is kept for the error.
fn silently(command: &mut Command) -> Result<(), Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(Failure::cannot("start", &program))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Err(Failure::Check(format!("{program} ended with {}:\n{said}", output.status)))
}
