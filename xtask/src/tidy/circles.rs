//! Circles of files: within a crate, a file uses files below it only.
//!
//! A file uses the file that defines a name, wherever the name is re-exported on the way. Re-exporting is not using: a module may list
//! what its parts offer, and its parts may use it. Tests are left out.

use super::dead_files::Tree;
use super::source::is_for_tests;
use super::{Finding, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, File, Item, UseTree, Visibility};

/// Finds the circles of every crate whose root is among `roots`.
pub fn check(sources: &[Source], roots: &[(PathBuf, bool)], tree: &Tree) -> Vec<Finding> {
    let folders: BTreeSet<&Path> = roots.iter().filter(|(_, is_test)| !is_test).filter_map(|(root, _)| root.parent()).collect();
    let mut crates: BTreeMap<&Path, Vec<&Source>> = BTreeMap::new();
    for source in sources.iter().filter(|source| !tree.is_test(&source.path)) {
        if let Some(folder) = source.path.ancestors().skip(1).find(|folder| folders.contains(folder)) {
            crates.entry(folder).or_default().push(source);
        }
    }
    crates.iter().flat_map(|(folder, sources)| circles(folder, sources)).collect()
}

/// The circles among the files below `folder`, the crate's root.
fn circles(folder: &Path, sources: &[&Source]) -> Vec<Finding> {
    let mut modules = Modules::default();
    let mut findings = Vec::new();
    let mut files = Vec::new();
    for source in sources {
        let shown = source.path.clone();
        match &source.tree {
            Ok(file) => files.push((shown, module_of(folder, &source.path), file)),
            Err(error) => findings.push(Finding::new(shown, error.span().start().line, "cannot be parsed", error.to_string())),
        }
    }
    for (path, module, file) in &files {
        modules.add(path, module.clone(), &file.items);
    }
    let arrows: BTreeMap<PathBuf, Uses> =
        files.iter().map(|(path, module, file)| (path.clone(), modules.uses(path, module, file))).collect();
    findings.extend(shortest_circles(&arrows));
    findings
}

/// For each file that is used, the line and the name of one use.
type Uses = BTreeMap<PathBuf, (usize, String)>;

/// One finding per file that lies in circles, for the shortest of them, each circle once.
fn shortest_circles(arrows: &BTreeMap<PathBuf, Uses>) -> Vec<Finding> {
    let mut seen: BTreeSet<BTreeSet<PathBuf>> = BTreeSet::new();
    let mut findings = Vec::new();
    for start in arrows.keys() {
        let Some(circle) = way(arrows, start) else { continue };
        if !seen.insert(circle.iter().cloned().collect()) {
            continue;
        }
        let next = |index: usize| &circle[(index + 1) % circle.len()];
        let steps: Vec<String> = (0..circle.len())
            .map(|index| format!("{} uses {} of {}", name(&circle[index]), arrows[&circle[index]][next(index)].1, name(next(index))))
            .collect();
        let line = arrows[start][next(0)].0;
        findings.push(Finding::new(
            start,
            line,
            format!("a circle of files: {}", steps.join(", ")),
            "move what both need into a file below both",
        ));
    }
    findings
}

fn name(path: &Path) -> String {
    let shown = path.to_string_lossy();
    shown.split_once("/src/").map_or(shown.to_string(), |(_, inside)| inside.to_owned())
}

/// The shortest way from `start` back to itself.
fn way(arrows: &BTreeMap<PathBuf, Uses>, start: &Path) -> Option<Vec<PathBuf>> {
    let mut came_from: BTreeMap<&Path, &Path> = BTreeMap::new();
    let mut layer = vec![start];
    while !layer.is_empty() {
        let mut following = Vec::new();
        for from in layer {
            for to in arrows.get(from).into_iter().flat_map(BTreeMap::keys) {
                if to == start {
                    let mut back = vec![from.to_path_buf()];
                    let mut at = from;
                    while at != start {
                        at = came_from[at];
                        back.push(at.to_path_buf());
                    }
                    back.reverse();
                    return Some(back);
                }
                if !came_from.contains_key(to.as_path()) {
                    came_from.insert(to, from);
                    following.push(to.as_path());
                }
            }
        }
        layer = following;
    }
    None
}

/// The names of the modules from the crate's root to a file.
fn module_of(folder: &Path, path: &Path) -> Vec<String> {
    let inside = path.strip_prefix(folder).unwrap_or(path).with_extension("");
    let mut names: Vec<String> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if names.last().is_some_and(|last| last == "mod") || names.len() == 1 && matches!(names[0].as_str(), "lib" | "main") {
        names.pop();
    }
    names
}

/// One name that a module takes from elsewhere.
struct Import {
    path: Vec<String>,
    /// The name under which the module has it; `None` for a glob.
    name: Option<String>,
    is_reexport: bool,
    line: usize,
}

#[derive(Default)]
struct Module {
    file: PathBuf,
    items: BTreeSet<String>,
    imports: Vec<Import>,
}

/// Every module of one crate, by its path from the root.
#[derive(Default)]
struct Modules(BTreeMap<Vec<String>, Module>);

impl Modules {
    fn add(&mut self, file: &Path, path: Vec<String>, items: &[Item]) {
        let mut module = Module { file: file.to_path_buf(), ..Module::default() };
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            match item {
                Item::Use(item) => {
                    let is_reexport = !matches!(item.vis, Visibility::Inherited);
                    let line = item.span().start().line;
                    leaves(&item.tree, &mut Vec::new(), &mut |path, name| {
                        module.imports.push(Import { path: path.to_vec(), name, is_reexport, line });
                    });
                }
                Item::Mod(item) => {
                    if let Some((_, inner)) = &item.content {
                        let mut below = path.clone();
                        below.push(item.ident.to_string());
                        self.add(file, below, inner);
                    }
                }
                other => module.items.extend(defined(other)),
            }
        }
        self.0.insert(path, module);
    }

    /// The other files of the crate that `file` uses.
    fn uses(&self, path: &Path, module: &[String], file: &File) -> Uses {
        let mut uses = Uses::new();
        let inside: Vec<&Vec<String>> = self.0.iter().filter(|(_, module)| module.file == path).map(|(path, _)| path).collect();
        for own in inside {
            for import in self.0[own].imports.iter().filter(|import| !import.is_reexport && import.name.is_some()) {
                self.note(&mut uses, path, own, &import.path, import.line);
            }
        }
        let mut paths = Paths::default();
        paths.visit_file(file);
        for (segments, line) in paths.0 {
            self.note(&mut uses, path, module, &segments, line);
        }
        uses
    }

    fn note(&self, uses: &mut Uses, path: &Path, module: &[String], segments: &[String], line: usize) {
        if let Some((file, name)) = self.definition(module, segments, 0)
            && file != path
        {
            uses.entry(file).or_insert((line, name));
        }
    }

    /// The file that defines what `segments` name, seen from `module`, and its name; `None` for a module, and for what is foreign.
    fn definition(&self, module: &[String], segments: &[String], depth: usize) -> Option<(PathBuf, String)> {
        let (mut at, mut rest) = (module.to_vec(), segments);
        let mut is_anchored = false;
        while let Some((first, tail)) = rest.split_first() {
            match first.as_str() {
                "crate" => at.clear(),
                "self" => {}
                "super" => drop(at.pop()),
                _ => break,
            }
            is_anchored = true;
            rest = tail;
        }
        loop {
            let (first, tail) = rest.split_first()?;
            let below: Vec<String> = at.iter().chain([first]).cloned().collect();
            if self.0.contains_key(&below) {
                (at, rest, is_anchored) = (below, tail, true);
                continue;
            }
            return self.item(&at, rest, is_anchored, depth);
        }
    }

    fn item(&self, at: &[String], rest: &[String], is_anchored: bool, depth: usize) -> Option<(PathBuf, String)> {
        let (module, first) = (self.0.get(at)?, &rest[0]);
        if module.items.contains(first) {
            return Some((module.file.clone(), first.clone()));
        }
        if depth > 8 {
            return None;
        }
        let named = module.imports.iter().find(|import| import.name.as_ref() == Some(first));
        if let Some(import) = named {
            let path: Vec<String> = import.path.iter().chain(&rest[1..]).cloned().collect();
            return self.definition(at, &path, depth + 1);
        }
        // A name that is neither defined nor imported here comes from a glob, or is foreign.
        let globs = module.imports.iter().filter(|import| import.name.is_none() && (is_anchored || !import.is_reexport));
        globs.filter_map(|glob| self.definition(at, &glob.path.iter().chain(rest).cloned().collect::<Vec<_>>(), depth + 1)).next()
    }
}

fn defined(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    };
    Some(name.to_string())
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Calls `found` with the path and the name of each thing that a `use` brings in.
fn leaves(tree: &UseTree, path: &mut Vec<String>, found: &mut impl FnMut(&[String], Option<String>)) {
    match tree {
        UseTree::Path(part) => {
            path.push(part.ident.to_string());
            leaves(&part.tree, path, found);
            path.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, path, found)),
        UseTree::Glob(_) => found(path, None),
        UseTree::Name(name) if name.ident == "self" => found(path, path.last().cloned()),
        UseTree::Name(name) => found(&with(path, &name.ident), Some(name.ident.to_string())),
        UseTree::Rename(rename) if rename.ident == "self" => found(path, Some(rename.rename.to_string())),
        UseTree::Rename(rename) => found(&with(path, &rename.ident), Some(rename.rename.to_string())),
    }
}

fn with(path: &[String], last: &syn::Ident) -> Vec<String> {
    path.iter().cloned().chain([last.to_string()]).collect()
}

/// Every path outside `use` and outside tests, with its line.
#[derive(Default)]
struct Paths(Vec<(Vec<String>, usize)>);

impl<'ast> Visit<'ast> for Paths {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        // A name alone was imported or is defined here.
        if segments.len() > 1 && path.leading_colon.is_none() {
            self.0.push((segments, path.span().start().line));
        }
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> = files.iter().map(|(path, text)| Source::new(format!("crates/a/src/{path}"), text)).collect();
        let roots = [(PathBuf::from("crates/a/src/lib.rs"), false)];
        let tree = Tree::new(&sources, &roots);
        check(&sources, &roots, &tree).iter().map(|finding| finding.problem.clone()).collect()
    }

    const ROOT: (&str, &str) = ("lib.rs", "mod a;\nmod b;\n");

    #[test]
    fn two_files_that_use_each_other_are_found() {
        let circle = found(&[ROOT, ("a.rs", "use crate::b::B;\npub struct A(B);"), ("b.rs", "pub struct B;\nfn f(_: &super::a::A) {}")]);
        assert_eq!(circle, ["a circle of files: a.rs uses B of b.rs, b.rs uses A of a.rs"]);
    }

    #[test]
    fn a_file_uses_the_one_that_defines_a_name_not_the_one_that_reexports_it() {
        let reexported = [
            ("lib.rs", "mod a;\nmod b;\npub use a::A;\npub use b::B;"),
            ("a.rs", "pub struct A;"),
            ("b.rs", "use crate::A;\npub struct B(A);"),
        ];
        assert_eq!(found(&reexported), [""; 0]);
        let back = [reexported[0], ("a.rs", "pub struct A;\nimpl A { fn b(_: crate::B) {} }"), reexported[2]];
        assert_eq!(found(&back).len(), 1);
    }

    #[test]
    fn a_part_that_uses_its_module_is_a_circle_if_the_module_uses_the_part() {
        let part = ("a/part.rs", "use super::Base;\npub struct Part(Base);");
        let root = ("lib.rs", "mod a;");
        assert_eq!(found(&[root, ("a.rs", "mod part;\npub use part::Part;\npub struct Base;"), part]), [""; 0]);
        let user = found(&[root, ("a.rs", "mod part;\nuse part::Part;\npub struct Base;\nfn f(_: Part) {}"), part]);
        assert_eq!(user, ["a circle of files: a/part.rs uses Base of a.rs, a.rs uses Part of a/part.rs"]);
    }

    #[test]
    fn longer_circles_are_found_once() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\nmod c;"),
            ("a.rs", "use crate::b;\npub fn a() { b::b() }"),
            ("b.rs", "use crate::c::*;\npub fn b() { c::<u8>() }\nfn d() { crate::c::c::<u8>() }"),
            ("c.rs", "pub fn c<T>() { crate::a::a() }"),
        ];
        assert_eq!(found(&files), ["a circle of files: a.rs uses b of b.rs, b.rs uses c of c.rs, c.rs uses a of a.rs"]);
    }

    #[test]
    fn tests_are_left_out() {
        let a = ("a.rs", "use crate::b::B;\npub struct A(B);");
        let tested = found(&[ROOT, a, ("b.rs", "pub struct B;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n    fn f(_: A) {}\n}")]);
        assert_eq!(tested, [""; 0]);
        let imported = found(&[ROOT, a, ("b.rs", "#[cfg(test)]\nuse crate::a::A;\npub struct B;")]);
        assert_eq!(imported, [""; 0]);
    }
}
