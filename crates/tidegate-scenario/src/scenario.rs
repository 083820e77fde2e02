//! Loads and checks a scenario with its variants.

use crate::added_flow::{add, added_flow};
use crate::budget;
use crate::capture::Captures;
use crate::change::{self, PolicyChange};
use crate::diagnostic::{Diagnostic, Problems, Severity, Sources, alternatives, closest, printable};
use crate::directions;
use crate::document::{Direction, File};
use crate::extent::judge_extent;
use crate::files::FileSet;
use crate::fragments::{self, Fragment};
use crate::generated;
use crate::lists;
use crate::loops;
use crate::overrides::Override;
use crate::policy::Policy;
use crate::preset;
use crate::rates::read_traces;
use crate::rows::RowEdit;
use crate::schema::schema;
use crate::simulation::{Simulation, report_duplicates};
use crate::sizes::read_sizes;
use crate::structure;
use crate::sweep::{Sweep, SweepTable};
use crate::templates;
use crate::text::read_text;
use crate::texts::{Lists, Texts};
use crate::units::print_duration;
use crate::value::Scalar;
use serde::Deserialize;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_core::units::Duration;
use tidegate_replay::Account;
use tidegate_sim::{Subject, check_changes};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The most variants of a file.
const MOST_VARIANTS: usize = 10_000;

/// A scenario or policy file, checked.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The title; the file's name by default.
    pub title: String,
    /// The description of the expected results.
    pub description: Option<String>,
    /// The file's name as it was given.
    pub source: String,
    /// The variants, in the order of the file: at least one. The promises of the first decide the exit code.
    pub variants: Vec<Variant>,
    /// The captures that sources were read from, and traces of rates.
    pub captures: Vec<PathBuf>,
    /// Warnings.
    pub warnings: Option<Problems>,
    /// The captures that its sources read, by name, and the records left out of each.
    pub accounts: Vec<(String, Account)>,
    /// What a sweep varies, if the file says so.
    pub sweep: Option<Sweep>,
}

impl Scenario {
    /// One sentence per kind of record that was left out of a capture or changed in it.
    pub fn capture_notes(&self) -> Vec<String> {
        let of =
            |(name, account): &(String, Account)| account.notes().into_iter().map(|note| format!("{name}: {note}")).collect::<Vec<_>>();
        self.accounts.iter().flat_map(of).collect()
    }
}

/// The file under one set of changes.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Its name; the scenario's title if the file has no variants.
    pub name: String,
    /// The policies, in the order of the file.
    pub policies: Vec<Policy>,
    /// The changes of policies while it runs, in the order of their instants.
    pub changes: Vec<PolicyChange>,
    /// The simulation; `None` for a policy file.
    pub simulation: Option<Simulation>,
}

impl Variant {
    /// The instant at which the next of the changes from this index on makes the policy another: what is printed of it holds until then.
    pub(crate) fn until(&self, policy: &Policy, from: usize) -> Option<Duration> {
        let next = self.changes[from..].iter().find(|change| change.policies.iter().any(|changed| changed.name == policy.name));
        next.map(|change| change.at)
    }
}

/// Reads the file at `path` and applies `overrides` of the form `key=value` to it.
///
/// # Errors
/// Everything that is wrong with the file or with an override.
pub fn load(path: &Path, overrides: &[String]) -> Result<Scenario, Problems> {
    load_with(path, overrides, Captures::beside(path))
}

/// Reads only the policies of the file at `path`: captures that its sources name are not opened, and its variants have no simulation.
///
/// # Errors
/// Everything else that is wrong with the file or with an override.
pub fn load_policies(path: &Path, overrides: &[String]) -> Result<Scenario, Problems> {
    let mut scenario = load_with(path, overrides, Captures::unopened_beside(path))?;
    scenario.variants.iter_mut().for_each(|variant| variant.simulation = None);
    Ok(scenario)
}

/// As [`load_policies`], with all texts that were read.
///
/// # Errors
/// As [`load_policies`].
pub fn read_policies(path: &Path, overrides: &[String]) -> Result<(Scenario, FileSet), Problems> {
    let mut draft = Draft::read(path, Captures::unopened_beside(path))?;
    let mut scenario = draft.load(overrides)?;
    scenario.variants.iter_mut().for_each(|variant| variant.simulation = None);
    Ok((scenario, draft.into_files()))
}

/// Reads a file and every text that it names, for [`parse_policies`]. What is wrong beyond the texts is not looked for.
///
/// # Errors
/// A text that cannot be read, or by which it is not known what the file names.
pub fn gather(path: &Path, overrides: &[String]) -> Result<FileSet, Problems> {
    let mut draft = Draft::read(path, Captures::unopened_beside(path))?;
    match draft.with_loader(overrides, |loader, text, fragments| loader.texts(text, fragments)) {
        (Some(()), _) => Ok(draft.into_files()),
        (None, problems) => Err(problems),
    }
}

/// As [`load_policies`], from texts. Reads no file.
///
/// # Errors
/// As [`load_policies`].
pub fn parse_policies(files: &FileSet, overrides: &[String]) -> Result<Scenario, Problems> {
    let captures = Captures::unopened_with(Texts::given(files.files.clone()));
    let mut draft = Draft { name: files.name.clone(), text: files.text.clone(), captures, flow: None, only: None };
    let mut scenario = draft.load(overrides)?;
    scenario.variants.iter_mut().for_each(|variant| variant.simulation = None);
    Ok(scenario)
}

fn load_with(path: &Path, overrides: &[String], captures: Captures) -> Result<Scenario, Problems> {
    Draft::read(path, captures)?.load(overrides)
}

/// Reads a text as [`load`] reads a file, without overrides and without access to other files. Never panics, whatever the text.
///
/// # Errors
/// Everything that is wrong with the text.
pub fn parse_str(name: &str, text: &str) -> Result<Scenario, Problems> {
    parse_text(name, text, &[])
}

/// As [`parse_str`], and applies `overrides` of the form `key=value`; an error may be in one of them.
pub fn parse_text(name: &str, text: &str, overrides: &[String]) -> Result<Scenario, Problems> {
    Draft { name: name.to_owned(), text: text.into(), captures: Captures::default(), flow: None, only: None }.load(overrides)
}

impl Scenario {
    /// The policy of this name in the first variant; without a name, the only one.
    ///
    /// # Errors
    /// One sentence: the file has no policy of this name, or has several and none was named.
    pub fn policy(&self, name: Option<&str>) -> Result<&Policy, String> {
        let policies = &self.variants[0].policies;
        let names = || alternatives(policies.iter().map(|policy| policy.name.as_str()));
        match name {
            Some(name) => policies.iter().find(|policy| policy.name == name).ok_or_else(|| {
                if let Some([down, up]) = self.directions(Some(name)) {
                    return format!("policy `{name}` of {} has two directions; name `{}` or `{}`", self.source, down.name, up.name);
                }
                let known = policies.iter().map(|policy| policy.name.as_str());
                match closest(name, known) {
                    Some(guess) => format!("{} has no policy `{name}`; did you mean `{guess}`?", self.source),
                    None => format!("{} has no policy `{name}`; it has {}", self.source, names().replace(" or ", " and ")),
                }
            }),
            None => match policies.as_slice() {
                [policy] => Ok(policy),
                _ => Err(format!("{} has several policies; name one of {}", self.source, names())),
            },
        }
    }
}

impl Scenario {
    /// The policies of both directions in the first variant, down and up: of the policy of this name, or of the only one. `None` if that has one direction.
    pub fn directions(&self, name: Option<&str>) -> Option<[&Policy; 2]> {
        let policies = &self.variants[0].policies;
        let [down, up] = match name {
            Some(name) => Direction::ALL.map(|direction| policies.iter().find(|policy| policy.name == direction.policy(name))),
            None => match policies.as_slice() {
                [down, up] if Direction::of(&down.name).is_some() => [Some(down), Some(up)],
                _ => [None, None],
            },
        };
        Some([down?, up?])
    }
}

/// A file as text, loaded under one set of changes after another. Captures are read once.
#[derive(Debug)]
pub(crate) struct Draft {
    pub name: String,
    pub text: Arc<str>,
    pub captures: Captures,
    /// A flow that is added to those of the file: the name of its own file, and the text.
    pub flow: Option<(String, String)>,
    /// The only variant to load; `None` for all.
    pub only: Option<String>,
}

impl Draft {
    /// The file at `path`, with captures from beside it.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn beside(path: &Path) -> Result<Draft, Problems> {
        Draft::read(path, Captures::beside(path))
    }

    fn read(path: &Path, captures: Captures) -> Result<Draft, Problems> {
        let text = read_text(path).map_err(Problems::of_file)?;
        Ok(Draft { name: path.display().to_string(), text: text.into(), captures, flow: None, only: None })
    }

    fn into_files(self) -> FileSet {
        FileSet { name: self.name, text: self.text, files: self.captures.texts.texts() }
    }

    /// The single value of a dotted key in the chosen variant under these overrides; `None` if the file gives it none.
    ///
    /// # Errors
    /// One sentence: the part of the key that does not exist.
    pub fn value(&mut self, key: &str, overrides: &[String]) -> Result<Option<Scalar<'static>>, String> {
        // The file has been loaded under the overrides before.
        let (mut sources, mut findings) = (Sources::default(), Vec::new());
        let fragments = self.sources(&mut sources, &mut findings);
        let Some(mut root) = fragments::merged(&self.text, &fragments, &mut findings) else { return Ok(None) };
        let variants = root.get_ref().get("variant").and_then(|variants| variants.get_ref().as_array());
        let named = |variant: &Spanned<DeValue<'_>>| structure::name_of(variant) == self.only.as_deref();
        let chosen = variants.and_then(|variants| variants.iter().position(named)).unwrap_or(0);
        let set = changes_of_variants(&root).into_iter().nth(chosen).unwrap_or_default();
        let own = overrides.iter().filter_map(|change| Override::parse(change, 0).ok());
        let said = |finding: Diagnostic| finding.help.map_or(finding.problem.clone(), |help| format!("{}; {help}", finding.problem));
        let (later, first): (Vec<_>, Vec<_>) = set.into_iter().chain(own).partition(generated::comes_later);
        first.iter().try_for_each(|change| change.apply(root.get_mut(), schema())).map_err(said)?;
        generated::expand(root.get_mut(), &mut self.captures.texts, &mut findings);
        later.iter().try_for_each(|change| change.apply(root.get_mut(), schema())).map_err(said)?;
        let found = Override::find(key, root.get_ref()).and_then(|value| match structure::scalar(value) {
            Scalar::Text(text) => Some(Scalar::Text(text.into_owned().into())),
            Scalar::Integer(integer) => Some(Scalar::Integer(integer)),
            _ => None,
        });
        if found.is_none() {
            let change = format!("{key}=0");
            Override::parse(&change, 0).and_then(|change| change.apply(&mut root.get_ref().clone(), schema())).map_err(said)?;
        }
        Ok(found)
    }

    /// Adds its text and those of its fragments to the sources.
    fn sources(&mut self, sources: &mut Sources, findings: &mut Vec<Diagnostic>) -> Vec<Fragment> {
        sources.add(&self.name, self.text.clone());
        fragments::included(&self.name, &self.text, &mut self.captures.texts, sources, findings)
    }

    /// Loads it under these overrides.
    ///
    /// # Errors
    /// Everything that is wrong with the file, the flow or an override.
    pub fn load(&mut self, overrides: &[String]) -> Result<Scenario, Problems> {
        let (scenario, problems) = self.with_loader(overrides, |loader, text, fragments| loader.scenario(text, fragments));
        let failed = problems.diagnostics.iter().any(|finding| finding.severity == Severity::Error);
        match scenario {
            Some(scenario) if !failed => {
                let warnings = (!problems.diagnostics.is_empty()).then_some(problems);
                Ok(Scenario { warnings, captures: self.captures.files(), accounts: self.captures.accounts(), ..scenario })
            }
            _ => Err(problems),
        }
    }

    /// Calls `run` with a loader under these overrides. Returns what it does, and all findings.
    fn with_loader<T>(
        &mut self,
        overrides: &[String],
        run: impl for<'a, 'i> FnOnce(Loader<'a, 'i>, &'i str, &'i [Fragment]) -> Option<T>,
    ) -> (Option<T>, Problems) {
        let mut sources = Sources::default();
        let mut findings = Vec::new();
        let fragments = self.sources(&mut sources, &mut findings);
        let mut command_line = Vec::new();
        for (index, change) in overrides.iter().enumerate() {
            let number = if overrides.len() == 1 { String::new() } else { (index + 1).to_string() };
            let base = sources.add(format!("--set {number}").trim_end(), change.as_str());
            match Override::parse(change, base) {
                Ok(change) => command_line.push(change),
                Err(finding) => findings.push(finding),
            }
        }
        let flow = self.flow.as_ref().map(|(name, text)| added_flow(text, sources.add(name, text.as_str()), &mut findings));
        let result = if matches!(flow, Some(None)) {
            None
        } else {
            let (name, only, captures) = (self.name.as_str(), self.only.as_deref(), &mut self.captures);
            let (flow, sources) = (flow.flatten(), &mut sources);
            let loader =
                Loader { name, only, flow, command_line: &command_line, rows: Vec::new(), captures, sources, findings: &mut findings };
            run(loader, &self.text, &fragments)
        };
        let mut seen = HashSet::new();
        findings.retain(|finding| seen.insert(directions::of_both(finding)));
        findings.sort_by_key(|finding| finding.span.as_ref().map_or(0, |span| span.start));
        (result, Problems { diagnostics: findings, sources: Arc::new(sources) })
    }
}

struct Loader<'a, 'i> {
    name: &'a str,
    only: Option<&'a str>,
    flow: Option<Spanned<DeValue<'i>>>,
    command_line: &'a [Override<'i>],
    /// The changes of rows of lists that belong to the tree that was changed last.
    rows: Vec<RowEdit<'i>>,
    captures: &'a mut Captures,
    sources: &'a mut Sources,
    findings: &'a mut Vec<Diagnostic>,
}

impl<'i> Loader<'_, 'i> {
    /// Reads all texts that the file names; `None` if it cannot.
    fn texts(mut self, text: &'i str, fragments: &'i [Fragment]) -> Option<()> {
        let root = fragments::merged(text, fragments, self.findings)?;
        let variants = changes_of_variants(&root);
        for set in std::iter::once(Vec::new()).chain(variants) {
            let changed = self.changed(&root, &set)?;
            self.file(&changed, true)?;
        }
        Some(())
    }

    fn scenario(mut self, text: &'i str, fragments: &'i [Fragment]) -> Option<Scenario> {
        let root = fragments::merged(text, fragments, self.findings)?;
        if let Some(variants) = root.get_ref().get("variant")
            && let Some(count) = variants.get_ref().as_array().map(|array| array.len()).filter(|&count| count > MOST_VARIANTS)
        {
            let finding = Diagnostic::error(variants.span(), format!("the file has {count} variants"));
            self.findings.push(finding.help(format!("at most {MOST_VARIANTS} are possible")));
            return None;
        }
        let base = self.changed(&root, &[])?;
        if self.has_errors(0) {
            return None;
        }
        // Without them, each table of a policy is read once.
        let whole = ["link", "change", "variant"].iter().any(|key| base.get_ref().contains_key(*key));
        let mut file = self.file(&base, whole)?;
        judge_extent(&file, file.variant.len(), self.findings);
        if self.has_errors(0) {
            return None;
        }
        let title = file.title.as_ref().map_or_else(|| self.file_stem(), |title| title.0.clone());
        let description = file.description.as_ref().map(|description| description.0.trim().to_owned());
        let mut variants = Vec::new();
        if file.variant.is_empty() {
            variants.extend(self.variant(title.clone(), &mut file, &base, whole, true));
        }
        report_duplicates(file.variant.iter().map(|variant| &variant.name), "variant", self.findings);
        if let (Some(variant), None) = (file.variant.first(), &file.simulation) {
            let finding = variant.error("a variant without a simulation");
            self.findings.push(finding.help("add [simulation], links and flows, or remove the variants to make it a policy file"));
        }
        let mut found = Vec::new();
        let variants_of_file = changes_of_variants(&root);
        // A variant needs no variants: with them, n variants would be copied n times.
        let mut root = root;
        root.get_mut().remove("variant");
        for (index, (table, set)) in file.variant.iter().zip(variants_of_file).enumerate() {
            if self.only.is_some_and(|only| only != table.name.0) {
                continue;
            }
            let before = self.findings.len();
            let changed = self.changed(&root, &set).and_then(|changed| self.file(&changed, true).map(|file| (file, changed)));
            if let Some((mut changed, tree)) = changed {
                judge_extent(&changed, file.variant.len(), self.findings);
                if !self.has_errors(before) {
                    variants.extend(self.variant(table.name.0.clone(), &mut changed, &tree, true, index == 0));
                }
            }
            found.extend(self.findings.drain(before..).map(|finding| (index, finding)));
        }
        self.report_once(found, &file);
        let source = printable(self.name).into_owned();
        (!variants.is_empty()).then_some(Scenario {
            title,
            description,
            source,
            variants,
            captures: Vec::new(),
            warnings: None,
            accounts: Vec::new(),
            sweep: file.sweep.as_ref().map(|table| SweepTable::read(table, self.findings)),
        })
    }

    /// The tree after the changes of a variant and then those of the command line.
    fn changed(&mut self, root: &Spanned<DeTable<'i>>, set: &[Override<'i>]) -> Option<Spanned<DeTable<'i>>> {
        let mut changed = root.clone();
        if let Some(flow) = &self.flow {
            add(changed.get_mut(), flow.clone());
        }
        let before = self.findings.len();
        self.rows.clear();
        let (later, first): (Vec<_>, Vec<_>) = set.iter().chain(self.command_line).partition(|change| generated::comes_later(change));
        for change in first {
            match change.of_row(changed.get_ref()) {
                Some(edit) => self.rows.push(edit),
                None => self.findings.extend(change.apply(changed.get_mut(), schema()).err()),
            }
        }
        generated::expand(changed.get_mut(), &mut self.captures.texts, self.findings);
        later.iter().for_each(|change| self.findings.extend(change.apply(changed.get_mut(), schema()).err()));
        (!self.has_errors(before)).then_some(changed)
    }

    /// The tables of a tree, judged, with templates, lists, directions and presets written out; unless `whole`, those of subscribers are not.
    fn file(&mut self, root: &Spanned<DeTable<'i>>, whole: bool) -> Option<File> {
        let first = self.findings.len();
        let mut root = root.clone();
        loops::expand(root.get_mut(), self.findings);
        templates::expand(root.get_mut(), self.findings);
        lists::expand(root.get_mut(), self.findings);
        structure::judge(&root, schema(), self.findings);
        directions::judge(root.get_ref(), schema(), self.findings);
        if self.has_errors(first) {
            return None;
        }
        directions::expand(root.get_mut());
        match File::deserialize(toml::de::Deserializer::from(root)) {
            Ok(mut file) => {
                let before = self.findings.len();
                let (mut lists, findings) = self.lists();
                preset::expand(&mut file, whole, &mut lists, findings);
                read_traces(&mut file, &mut self.captures.texts, self.findings);
                read_sizes(&mut file, &mut self.captures.texts, self.findings);
                (!self.has_errors(before)).then_some(file)
            }
            Err(error) => {
                self.findings.push(Diagnostic::error(error.span().unwrap_or(0..0), error.message().to_owned()));
                None
            }
        }
    }

    fn lists(&mut self) -> (Lists<'_>, &mut Vec<Diagnostic>) {
        let folder = Path::new(self.name).parent().unwrap_or(Path::new(""));
        (Lists { texts: &mut self.captures.texts, sources: self.sources, folder, edits: &self.rows }, self.findings)
    }

    fn variant(&mut self, name: String, file: &mut File, tree: &Spanned<DeTable<'i>>, whole: bool, is_first: bool) -> Option<Variant> {
        let before = self.findings.len();
        if file.policy.0.is_empty() {
            self.findings.push(Diagnostic::error(0..0, "the file has no policy").help("add one: [policy.NAME] with a `rate`, and classes"));
        }
        let mut policies = Vec::with_capacity(file.policy.0.len());
        for (name, table) in &mut file.policy.0 {
            let complete = self.findings.len();
            if !whole && preset::has_subscribers(table) {
                let (mut lists, findings) = self.lists();
                preset::complete(name, table, &mut lists, findings);
            }
            if self.has_errors(complete) {
                continue;
            }
            let policy = Policy::resolve(name, table, None, self.findings);
            policy.iter().for_each(|policy| budget::judge(table, policy, self.findings));
            if !whole {
                (table.value.class, table.value.group) = (Vec::new(), Vec::new());
            }
            policies.push(policy);
        }
        let file = &*file;
        let captures = &mut *self.captures;
        let simulation =
            Simulation::resolve(file, &policies, &mut |name, until_damage| captures.packets(name, until_damage), self.findings);
        if self.has_errors(before) {
            return None;
        }
        // Later variants are for comparison only.
        if is_first {
            let is_used = |policy: &&Policy| file.link.is_empty() || file.link.iter().any(|link| link.policy.0 == policy.name);
            let starvation = policies.iter().flatten().filter(is_used).flat_map(|policy| &policy.starvation);
            self.findings.extend(starvation.cloned());
        }
        let policies: Vec<Policy> = policies.into_iter().flatten().collect();
        let changes = self.changes(file, tree, &policies, simulation.as_ref())?;
        Some(Variant { name, policies, changes, simulation })
    }

    /// The file's changes, each of them judged with all before it.
    fn changes(
        &mut self,
        file: &File,
        tree: &Spanned<DeTable<'i>>,
        policies: &[Policy],
        simulation: Option<&Simulation>,
    ) -> Option<Vec<PolicyChange>> {
        if file.change.is_empty() {
            return Some(Vec::new());
        }
        let mut tree = tree.clone();
        let mut before = policies.to_vec();
        let mut changes = Vec::new();
        let first = self.findings.len();
        let written = change::written(tree.get_ref(), file, self.findings);
        if self.has_errors(first) {
            return None;
        }
        tree.get_mut().remove("change");
        for change in written {
            let found = self.findings.len();
            if let Some(simulation) = simulation
                && change.at >= simulation.experiment.duration
            {
                self.findings.push(Diagnostic::warning(change.span.clone(), "this change comes after the end of the simulation"));
            }
            change.apply(tree.get_mut(), schema(), &mut self.rows, self.findings);
            let judged = self.file(&tree, true);
            let resolved = judged.filter(|_| !self.has_errors(found)).and_then(|file| {
                let after = change::changed_policies(&change, &before, &file, self.findings)?;
                let ports =
                    if simulation.is_some() { change::changed_ports(&change, &before, &after, &file, self.findings) } else { Vec::new() };
                Some((after, ports))
            });
            let since = print_duration(change.at);
            for finding in &mut self.findings[found..] {
                if finding.context.is_some() || finding.span.as_ref() == Some(&change.span) {
                    finding.problem += &format!(", from {since} on");
                } else {
                    finding.context = Some(Box::new((change.span.clone(), format!("in the policies from {since} on"))));
                }
            }
            let (after, ports) = resolved?;
            let changed = after.iter().filter(|policy| change.policies.contains(&policy.name)).cloned().collect();
            changes.push(PolicyChange { at: change.at, what: change.what.clone(), policies: changed, ports });
            before = after;
            let of_network: Vec<_> = changes.iter().map(PolicyChange::of_network).collect();
            if let Some(Err(problem)) = simulation.map(|simulation| check_changes(&simulation.network, &of_network)) {
                let what = if let Subject::Workload(_) = problem.subject { "workload" } else { "link" };
                let finding = Diagnostic::error(change.span.clone(), format!("{what} `{}`: {}", problem.name, problem.problem));
                self.findings.push(finding.help(format!("expected {}", problem.expected)));
                return None;
            }
        }
        (!self.has_errors(first)).then_some(changes)
    }

    fn has_errors(&self, since: usize) -> bool {
        self.findings[since..].iter().any(|finding| finding.severity == Severity::Error)
    }

    /// Reports findings of all variants once, and findings of some with the name of the variant.
    fn report_once(&mut self, found: Vec<(usize, Diagnostic)>, file: &File) {
        let mut variants_with: HashMap<&Diagnostic, HashSet<usize>> = HashMap::new();
        for (index, finding) in &found {
            variants_with.entry(finding).or_default().insert(*index);
        }
        for (index, finding) in &found {
            // Equal findings share one entry.
            let Some(variants) = variants_with.remove(finding) else { continue };
            let mut finding = finding.clone();
            if finding.context.is_none() && variants.len() < file.variant.len() {
                let name = &file.variant[*index].name;
                finding = finding.context(name.span.clone(), format!("in variant `{}`", name.0));
            }
            self.findings.push(finding);
        }
    }

    fn file_stem(&self) -> String {
        Path::new(self.name)
            .file_stem()
            .map_or_else(|| printable(self.name).into_owned(), |stem| printable(&stem.to_string_lossy()).into_owned())
    }
}

/// The changes of each variant.
fn changes_of_variants<'i>(root: &Spanned<DeTable<'i>>) -> Vec<Vec<Override<'i>>> {
    let variants = root.get_ref().get("variant").and_then(|variants| variants.get_ref().as_array());
    let table = |variant: &Spanned<DeValue<'i>>| variant.get_ref().get("set")?.get_ref().as_table().map(Override::of_table);
    let changes = |variant| table(variant).unwrap_or_default();
    variants.into_iter().flatten().map(changes).collect()
}
