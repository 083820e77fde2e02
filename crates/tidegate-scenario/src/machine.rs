//! Machine files: a machine that forwards frames, the flows through it, and what is asked of both.
//!
//! ```
//! let text = r#"
//! [machine]
//! clock = "1 GHz"
//! bus = { kind = "pci" }
//! kernel = { kind = "polling", quota = 8 }
//! nic = [{ rate = "1 Gbit/s" }, { rate = "1 Gbit/s" }]
//! [[machine.stage]]
//! name = "forward"
//! cycles = 3000
//! level = "thread"
//! [[flow]]
//! name = "bulk"
//! input = "nic0"
//! output = "nic1"
//! source = { kind = "cbr", rate = "100 Mbit/s", packet = "512 B" }
//! "#;
//! let file = tidegate_scenario::machine::parse_str("router.toml", text).unwrap();
//! assert_eq!((file.machine.nics.len(), file.flows[0].output), (2, Some(1)));
//!
//! let problems = tidegate_scenario::machine::parse_str("router.toml", &text.replace("cycles", "cycle")).unwrap_err();
//! assert!(problems.to_string().contains("unknown key `cycle`"), "{problems}");
//! ```

use crate::capture::Captures;
use crate::diagnostic::{Diagnostic, Problems, Severity, Sources, Span, printable, suggest};
use crate::overrides::Override;
use crate::schema::schema_of;
use crate::source::source;
use crate::structure;
use crate::text::read_text;
use crate::value::Or;
use crate::value::{At, Block, Name, Percentile};
use document::{MachineFileTable, MachineFlowTable, MachinePromiseTable, MachineTable, QuestionTable};
use hardware::Builder;
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tables::Tables;
use tidegate_core::units::Duration;
use tidegate_router::capacity::Question;
use tidegate_router::{Invalid, Machine, RouterFlow, Trial};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

mod document;
mod hardware;
mod tables;
pub(crate) mod value;

/// A machine file, checked.
#[derive(Clone, Debug)]
pub struct MachineFile {
    /// The title; the file's name by default.
    pub title: String,
    /// The description of the expected results.
    pub description: Option<String>,
    /// The file's name as it was given.
    pub source: String,
    /// The machine.
    pub machine: Machine,
    /// The names of its interfaces.
    pub nics: Vec<String>,
    /// The flows; a file that describes a machine only has none.
    pub flows: Vec<RouterFlow>,
    /// What is asked.
    pub question: Question,
    /// What is promised.
    pub promise: Option<MachinePromise>,
    /// The other files that were read: another machine file, tables.
    pub files: Vec<PathBuf>,
    /// Warnings.
    pub warnings: Option<Problems>,
}

/// At this rate no more than this loss, and this percentile of packets within the delay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MachinePromise {
    /// Packets per second of all flows together.
    pub rate: u64,
    /// The flow that it is made to; `None` for all.
    pub flow: Option<usize>,
    /// The largest part of packets lost.
    pub loss: f64,
    /// The delay at the percentile.
    pub delay: Option<Duration>,
    /// The percentile of packets that `delay` refers to.
    pub percentile: Percentile,
}

/// The JSON Schema of machine files, as [`crate::schema()`] is that of scenarios.
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(schema_of::<MachineFileTable>)
}

/// Reads the machine file at `path` and applies `overrides` of the form `key=value` to it.
///
/// # Errors
/// Everything that is wrong with the file or with an override.
pub fn load(path: &Path, overrides: &[String]) -> Result<MachineFile, Problems> {
    let name = path.display().to_string();
    let text = read_text(path).map_err(Problems::of_file)?;
    Loader::new(&name, Tables::beside(path), Some(path)).file(&text, overrides)
}

/// Reads a text as [`load`] reads a file, without overrides and without access to other files. Never panics, whatever the text.
///
/// # Errors
/// Everything that is wrong with the text.
pub fn parse_str(name: &str, text: &str) -> Result<MachineFile, Problems> {
    Loader::new(name, Tables::default(), None).file(text, &[])
}

struct Loader<'a> {
    name: &'a str,
    tables: Tables,
    /// The file itself.
    path: Option<&'a Path>,
    findings: Vec<Diagnostic>,
    /// Findings of another file that this one names, which come first.
    elsewhere: Option<Problems>,
}

impl<'a> Loader<'a> {
    fn new(name: &'a str, tables: Tables, path: Option<&'a Path>) -> Loader<'a> {
        Loader { name, tables, path, findings: Vec::new(), elsewhere: None }
    }

    fn file(mut self, text: &str, overrides: &[String]) -> Result<MachineFile, Problems> {
        let mut sources = Sources::default();
        sources.add(self.name, text);
        let mut changes = Vec::new();
        for (index, change) in overrides.iter().enumerate() {
            let number = if overrides.len() == 1 { String::new() } else { format!(" {}", index + 1) };
            let base = sources.add(format!("--set{number}"), change.as_str());
            match Override::parse(change, base) {
                Ok(change) => changes.push(change),
                Err(finding) => self.findings.push(finding),
            }
        }
        let file = self.resolve(text, &changes);
        if let Some(elsewhere) = self.elsewhere {
            return Err(elsewhere);
        }
        let mut findings = self.findings;
        findings.sort_by_key(|finding| finding.span.as_ref().map_or(0, |span| span.start));
        let failed = findings.iter().any(|finding| finding.severity == Severity::Error);
        let problems = Problems { diagnostics: findings, sources: Arc::new(sources) };
        match file {
            Some(file) if !failed => {
                let warnings = (!problems.diagnostics.is_empty()).then_some(problems);
                Ok(MachineFile { warnings, files: self.tables.files.into_iter().collect(), ..file })
            }
            _ => Err(problems),
        }
    }

    fn has_errors(&self) -> bool {
        self.elsewhere.is_some() || self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }

    fn resolve<'i>(&mut self, text: &'i str, changes: &[Override<'i>]) -> Option<MachineFile> {
        let mut root = match DeTable::parse(text) {
            Ok(root) => root,
            Err(error) => {
                let span = error.span().unwrap_or(0..0);
                self.findings.push(Diagnostic::error(span, format!("this is not TOML: {}", error.message().trim_end())));
                return None;
            }
        };
        for change in changes {
            if let Err(finding) = change.apply(root.get_mut(), schema()) {
                self.findings.push(finding);
            }
        }
        if !self.has_errors() {
            structure::judge(&root, schema(), &mut self.findings);
        }
        if self.has_errors() {
            return None;
        }
        let table = match MachineFileTable::deserialize(toml::de::Deserializer::from(root.clone())) {
            Ok(table) => table,
            Err(error) => {
                self.findings.push(Diagnostic::error(error.span().unwrap_or(0..0), error.message().to_owned()));
                return None;
            }
        };
        let (machine, nics) = self.machine(&table.machine)?;
        let question = self.question(table.question.as_ref());
        let promise = table.question.as_ref().and_then(|question| question.promise.as_ref());
        let promise = promise.map(|promise| self.promise(promise, &question, &table.flow));
        let flows: Vec<RouterFlow> = table.flow.iter().filter_map(|flow| self.flow(flow, &nics)).collect();
        self.judge_names(&table.flow);
        if self.has_errors() {
            return None;
        }
        self.check(&machine, &flows, &root, &table);
        let question = Question { promised_rate: promise.map(|promise| promise.rate as f64), ..question };
        let stem = |path: &Path| printable(&path.file_stem().unwrap_or_default().to_string_lossy()).into_owned();
        Some(MachineFile {
            title: table.title.as_ref().map_or_else(|| stem(Path::new(self.name)), |title| title.0.clone()),
            description: table.description.as_ref().map(|description| description.0.trim().to_owned()),
            source: printable(self.name).into_owned(),
            machine,
            nics: nics.into_iter().map(|nic| nic.value.0).collect(),
            flows,
            question,
            promise,
            files: Vec::new(),
            warnings: None,
        })
    }

    /// The machine of the file, or of the file that it names.
    fn machine(&mut self, machine: &Block<Or<crate::value::Text, MachineTable>>) -> Option<(Machine, Vec<At<Name>>)> {
        match &machine.value {
            Or::Table(table) => Some(Builder { tables: &mut self.tables, findings: &mut self.findings }.machine(table)),
            Or::Value(name) => {
                let Some(directory) = &self.tables.directory else {
                    let problem = format!("the machine file {} is looked for beside this one, and this text has no file", name.0);
                    self.findings.push(machine.error(problem));
                    return None;
                };
                let path = directory.join(&name.0);
                if self.path.is_some_and(|own| same_file(own, &path)) {
                    self.findings
                        .push(machine.error("this file names itself as its machine").help("name the file that describes the machine"));
                    return None;
                }
                match load_described(&path) {
                    Ok(file) => {
                        self.tables.files.insert(path);
                        self.tables.files.extend(file.files);
                        let at = |name: String| At { value: Name(name), span: machine.span.clone() };
                        Some((file.machine, file.nics.into_iter().map(at).collect()))
                    }
                    Err(problems) if problems.is_unreadable() => {
                        self.findings.push(machine.error(problems.diagnostics[0].problem.clone()));
                        None
                    }
                    Err(problems) => {
                        self.elsewhere = Some(problems);
                        None
                    }
                }
            }
        }
    }

    fn question(&mut self, table: Option<&Block<QuestionTable>>) -> Question {
        let usual = Question {
            loads: vec![0.5, 0.8, 0.9, 0.95],
            quantiles: vec![0.5, 0.99, 0.999],
            loss: 1e-6,
            packets: Question::PACKETS,
            seed: 1,
            duration: None,
            promised_rate: None,
        };
        let Some(table) = table else { return usual };
        let numbers = |list: &Option<Block<Vec<At<crate::value::Decimal>>>>, usual: Vec<f64>| {
            list.as_ref().map_or(usual, |list| list.value.iter().map(|at| at.as_f64()).collect())
        };
        for at in table.loads.iter().flat_map(|list| &list.value).filter(|at| at.as_f64() > 10.0) {
            self.findings.push(
                at.error("a load of more than 10 times what is forwarded without loss").help("write a part, like 0.8, or 1.2 for overload"),
            );
        }
        for at in table.quantiles.iter().flat_map(|list| &list.value).filter(|at| at.as_f64() > 0.999_999) {
            self.findings.push(at.error("a quantile is below 1, at most 0.999999").help("write a part of the packets, like 0.999"));
        }
        if let Some(loss) = table.loss.as_ref().filter(|loss| loss.value.0 > 0.5) {
            self.findings.push(loss.error("more than half of the packets would count as no loss").help("write a small part, like 1e-6"));
        }
        if let Some(loss) = table.loss.as_ref().filter(|loss| (0.0..1e-9).contains(&loss.value.0) && loss.value.0 > 0.0) {
            self.findings.push(loss.error("a loss that only 10^9 packets or more could show").help("write 0, or a part of at least 1e-9"));
        }
        Question {
            loads: numbers(&table.loads, usual.loads),
            quantiles: numbers(&table.quantiles, usual.quantiles),
            loss: table.loss.as_ref().map_or(usual.loss, |at| at.value.0),
            packets: table.packets.as_ref().map_or(usual.packets, |at| at.value.0),
            seed: table.seed.as_ref().map_or(usual.seed, |at| at.value.0),
            duration: table.duration.as_ref().map(|at| at.value),
            promised_rate: None,
        }
    }

    fn promise(&mut self, table: &Block<MachinePromiseTable>, question: &Question, flows: &[Block<MachineFlowTable>]) -> MachinePromise {
        let flow = table.flow.as_ref().and_then(|name| {
            let found = flows.iter().position(|flow| flow.name.value == name.value);
            if found.is_none() {
                let finding = name.error(format!("there is no flow `{}`", name.0));
                self.findings.push(suggest(finding, &name.0, flows.iter().map(|flow| flow.name.0.as_str()), "the file has"));
            }
            found
        });
        if let (None, Some(percentile)) = (&table.delay, &table.percentile) {
            let finding = percentile.error("`percentile` promises nothing without `delay`");
            self.findings.push(finding.help("add the delay that this percentile of packets is to stay within"));
        }
        MachinePromise {
            rate: table.rate.value.0,
            flow,
            loss: table.loss.as_ref().map_or(question.loss, |at| at.value.0),
            delay: table.delay.as_ref().map(|at| at.value),
            percentile: table.percentile.as_ref().map_or(Percentile::NINETY_NINE, |at| at.value),
        }
    }

    fn flow(&mut self, table: &Block<MachineFlowTable>, nics: &[At<Name>]) -> Option<RouterFlow> {
        let mut nic = |name: &At<Name>| {
            let found = nics.iter().position(|nic| nic.value == name.value);
            if found.is_none() {
                let finding = name.error(format!("there is no interface `{}`", name.0));
                self.findings.push(suggest(finding, &name.0, nics.iter().map(|nic| nic.value.0.as_str()), "the machine has"));
            }
            found
        };
        let (input, output) = (nic(&table.input), table.output.as_ref().map(&mut nic));
        let mut captures = Captures::default();
        let mut ends = false;
        let built = source(
            &table.source,
            &mut |name, until_damage| {
                ends = true;
                captures.packets(name, until_damage)
            },
            &mut self.findings,
        );
        if ends {
            // The reader of captures has reported that this text has no file; what matters here is another reason.
            self.findings.pop();
            let finding = table.source.kind.error("a capture ends, and a trial needs packets without end");
            self.findings.push(finding.help("use cbr, poisson, on-off or frames"));
            return None;
        }
        let built = built?;
        if built.generator().is_none() {
            let problem = format!("a {} source sends as the network lets it, and there is no network here", table.source.kind.value.name());
            self.findings.push(table.source.kind.error(problem).help("use cbr, poisson, on-off or frames"));
            return None;
        }
        Some(RouterFlow {
            name: table.name.0.clone(),
            source: built,
            copies: table.copies.as_ref().map_or(1, |at| u32::try_from(at.value.0).unwrap_or(u32::MAX)),
            jitter: table.jitter.as_ref().map_or(0.0, |at| at.value.0),
            input: input?,
            output: match output {
                Some(output) => Some(output?),
                None => None,
            },
            weight: table.weight.as_ref().map_or(1, |at| u32::try_from(at.value.0).unwrap_or(u32::MAX)),
            channel: table.channel.as_ref().map(|at| u32::try_from(at.value.0).unwrap_or(u32::MAX)),
        })
    }

    fn judge_names(&mut self, flows: &[Block<MachineFlowTable>]) {
        for (index, flow) in flows.iter().enumerate() {
            if let Some(same) = flows[..index].iter().find(|other| other.name.value == flow.name.value) {
                let finding = flow.name.error(format!("two flows are called `{}`", flow.name.0));
                self.findings.push(finding.context(same.name.span.clone(), "the other one").help("give each a name of its own"));
            }
        }
    }

    /// Reports what the router refuses, at its place in the file.
    fn check(&mut self, machine: &Machine, flows: &[RouterFlow], root: &Spanned<DeTable<'_>>, table: &MachineFileTable) {
        let invalid = if flows.is_empty() {
            tidegate_router::check_machine(machine)
        } else {
            tidegate_router::check(machine, flows, &Trial::new(Duration::from_milliseconds(1), 0))
        };
        if let Err(invalid) = invalid {
            let span = place(root, &invalid, flows).unwrap_or(table.machine.span.clone());
            let Invalid { subject, key, problem, expected } = invalid;
            self.findings.push(Diagnostic::error(span, format!("{subject}: {key}: {problem}")).help(format!("expected {expected}")));
        }
    }
}

/// True if both paths name one file.
fn same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Reads a file for its machine; that file describes the machine itself.
fn load_described(path: &Path) -> Result<MachineFile, Problems> {
    let file = read_text(path).map_err(Problems::of_file)?;
    let name = path.display().to_string();
    let mut loader = Loader::new(&name, Tables::beside(path), Some(path));
    if let Some(machine) = DeTable::parse(&file).ok().as_ref().and_then(|root| root.get_ref().get("machine"))
        && machine.get_ref().is_str()
    {
        loader
            .findings
            .push(Diagnostic::error(machine.span(), "this file names another for its machine").help("name that one in place of this"));
        let mut sources = Sources::default();
        sources.add(name.as_str(), file.as_str());
        return Err(Problems { diagnostics: loader.findings, sources: Arc::new(sources) });
    }
    loader.file(&file, &[])
}

/// The place of a value that the router refuses.
fn place(root: &Spanned<DeTable<'_>>, invalid: &Invalid, flows: &[RouterFlow]) -> Option<Span> {
    let mut words = invalid.subject.split(' ');
    let (first, second) = (words.next()?, words.next().unwrap_or_default());
    let number = second.parse::<usize>().unwrap_or(0);
    let element = |table: &'static str, index: usize| vec![("machine", None), (table, Some(index))];
    let path = match (first, second) {
        ("stage", _) => element("stage", number),
        ("nic", _) => element("nic", number),
        ("noise", _) => element("noise", number),
        ("flow", _) => {
            let name = invalid.subject.strip_prefix("flow ")?;
            vec![("flow", Some(flows.iter().position(|flow| flow.name == name)?))]
        }
        ("the", "bus" | "kernel" | "guard" | "variation") => {
            let table = ["bus", "kernel", "guard", "variation"].into_iter().find(|table| *table == second)?;
            vec![("machine", None), (table, None)]
        }
        _ => vec![("machine", None)],
    };
    let mut table = root.get_ref();
    let mut span = None;
    for (key, index) in path {
        let mut value = table.get(key)?;
        if let Some(index) = index {
            value = value.get_ref().as_array()?.get(index)?;
        }
        span = Some(value.span());
        table = value.get_ref().as_table()?;
    }
    // The key of a table within the table is named by its first word.
    table.get(invalid.key.split(' ').next()?).map(Spanned::<DeValue<'_>>::span).or(span)
}
