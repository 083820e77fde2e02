//! Single edits of a file that runs: which list of which policy an element is in, or comes into.
//!
//! An edit is a change as `--set` takes it: `policy.access.class+={ name = "guests", ... }` or `policy.access.class-=guests`.

use crate::diagnostic::{alternatives, closest};
use crate::files::FileSet;
use crate::fragments::{self, Fragment};
use crate::overrides::Override;
use crate::schema::schema;
use crate::structure::name_of;
use toml::de::{DeTable, DeValue};

/// The lists of a policy that have elements with names.
const LISTS: [&str; 3] = ["class", "subscriber", "group"];

/// The edit that adds a table, in one line of TOML, to a list of a policy: to that of this name, or to the only one of a text with these changes. `before`
/// is the element that it comes before.
///
/// # Errors
/// One sentence: there is no such list or policy.
pub fn adding(
    files: &FileSet,
    set: &[String],
    policy: Option<&str>,
    (kind, table): (&str, &str),
    before: Option<&str>,
) -> Result<String, String> {
    if !LISTS.contains(&kind) {
        return Err(format!("a policy has no list `{kind}`; it has {}", alternatives(LISTS).replace(" or ", " and ")));
    }
    let fragments = fragments::of_files(files);
    let root = changed(&files.text, &fragments, set);
    let policy = chosen(&root, policy)?;
    let before = before.map_or(String::new(), |element| format!(".{element}"));
    Ok(format!("policy.{policy}.{kind}{before}+={}", table.trim()))
}

/// The edit that removes the class, group or subscriber of this name.
///
/// # Errors
/// One sentence: there is none, or no such policy.
pub fn removing(files: &FileSet, set: &[String], policy: Option<&str>, name: &str) -> Result<String, String> {
    let fragments = fragments::of_files(files);
    let root = changed(&files.text, &fragments, set);
    let policy = chosen(&root, policy)?;
    let mut present = Vec::new();
    for list in LISTS {
        let elements = Override::find(&format!("policy.{policy}.{list}"), &root).and_then(|list| list.as_array());
        for found in elements.into_iter().flatten().filter_map(name_of) {
            if found == name {
                return Ok(format!("policy.{policy}.{list}-={name}"));
            }
            present.push(found);
        }
    }
    Err(match closest(name, present.iter().copied()) {
        Some(guess) => format!("policy `{policy}` has no class, group or subscriber `{name}`; did you mean `{guess}`?"),
        None => format!("policy `{policy}` has no class, group or subscriber `{name}`"),
    })
}

/// The changes with one more. An element that was added and is removed leaves no trace, and a value that is set twice has the later one.
pub fn with(mut set: Vec<String>, change: &str) -> Vec<String> {
    let Some((key, value)) = change.split_once('=') else {
        set.push(change.to_owned());
        return set;
    };
    let key = key.trim();
    if let Some(list) = key.strip_suffix('-') {
        let (list, name) = (list.trim(), value.trim());
        let added = set.iter().position(|earlier| added(earlier).is_some_and(|(to, of)| of == name && (to == list || under(&to, list))));
        if let Some(added) = added {
            set.remove(added);
            let own = format!("{list}.{name}");
            set.retain(|earlier| !earlier.split('=').next().is_some_and(|key| under(key.trim(), &own)));
            return set;
        }
    } else if !key.ends_with('+') {
        set.retain(|earlier| earlier.split('=').next().unwrap_or_default().trim() != key);
    }
    set.push(change.to_owned());
    set
}

/// The list, or the element before which it came, and the name of the element that a change adds.
fn added(change: &str) -> Option<(String, String)> {
    let (key, _) = change.split_once('=')?;
    let list = key.trim().strip_suffix('+')?.trim();
    let table = DeValue::parse(change[key.len() + 1..].trim()).ok()?;
    Some((list.to_owned(), name_of(&table)?.to_owned()))
}

/// True if a key is below another.
fn under(key: &str, above: &str) -> bool {
    key.strip_prefix(above).is_some_and(|rest| rest.starts_with('.'))
}

/// The tree of a text with its fragments that was loaded with these changes.
fn changed<'i>(text: &'i str, fragments: &'i [Fragment], set: &'i [String]) -> DeTable<'i> {
    let mut root = fragments::merged(text, fragments, &mut Vec::new()).map(toml::Spanned::into_inner).unwrap_or_default();
    for change in set {
        // Both have been accepted before.
        let _accepted = Override::parse(change, 0).and_then(|change| change.apply(&mut root, schema()));
    }
    root
}

/// The policy of this name, or the only one.
fn chosen(root: &DeTable<'_>, policy: Option<&str>) -> Result<String, String> {
    let policies = root.get("policy").and_then(|policies| policies.get_ref().as_table());
    let names: Vec<&str> = policies.into_iter().flat_map(|policies| policies.keys()).map(|key| key.get_ref().as_ref()).collect();
    match (policy, names.as_slice()) {
        (Some(name), names) if names.contains(&name) => Ok(name.to_owned()),
        (Some(name), names) => Err(format!("there is no policy `{name}`; there is {}", alternatives(names.to_vec()))),
        (None, [only]) => Ok((*only).to_owned()),
        (None, names) => Err(format!("there are several policies: name one of {}", alternatives(names.to_vec()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[policy.access]\nrate = \"5 Mbit/s\"\nscheduler = \"drr\"\nclass = [\n{ name = \"video\", match = [{ dscp = \"af41\" }], weight = 3 },\n{ name = \"rest\" },\n]\n";

    fn file(text: &str) -> FileSet {
        FileSet { name: "access.toml".to_owned(), text: text.into(), files: std::collections::BTreeMap::new() }
    }

    fn names(set: &[String]) -> Vec<String> {
        let scenario = crate::parse_policies(&file(TEXT), set).unwrap_or_else(|problems| panic!("{}", problems.render(false)));
        scenario.variants[0].policies[0].classes.iter().map(|class| class.name.clone()).collect()
    }

    #[test]
    fn elements_come_and_go() {
        let guests = "{ name = \"guests\", match = [{ source = \"10.9.0.0/16\" }] }";
        let set = with(Vec::new(), &adding(&file(TEXT), &[], None, ("class", guests), None).unwrap());
        assert_eq!(names(&set), ["video", "guests", "rest"], "before the class that takes the rest");
        let first = guests.replace("guests", "first").replace("10.9", "10.8");
        let added = adding(&file(TEXT), &set, Some("access"), ("class", &first), Some("video")).unwrap();
        let set = with(set, &added);
        assert_eq!(names(&set), ["first", "video", "guests", "rest"]);
        let set = with(set, "policy.access.class.guests.weight=9");
        let without = with(set.clone(), &removing(&file(TEXT), &set, None, "video").unwrap());
        assert_eq!(names(&without), ["first", "guests", "rest"]);
        let set = with(without, &removing(&file(TEXT), &set, None, "guests").unwrap());
        assert_eq!(names(&set), ["first", "rest"]);
        assert_eq!(set.len(), 2, "what was added and removed leaves no trace: {set:?}");
        let set = with(set.clone(), &removing(&file(TEXT), &set, None, "first").unwrap());
        assert_eq!(set, ["policy.access.class-=video"]);
    }

    #[test]
    fn subscribers_come_and_go_in_both_directions() {
        let text = "[policy.street]\nkind = \"subscribers\"\ndown = \"1 Gbit/s\"\nup = \"1 Gbit/s\"\n[[policy.street.subscriber]]\nname = \"house 1\"\n\
                    addresses = [\"192.0.2.1\"]\ndown = \"100 Mbit/s\"\nup = \"20 Mbit/s\"\n";
        let house = "{ name = \"house 2\", addresses = [\"192.0.2.2\"], down = \"50 Mbit/s\", up = \"10 Mbit/s\" }";
        let classes = |set: &[String]| {
            let scenario = crate::parse_policies(&file(text), set).unwrap_or_else(|problems| panic!("{}", problems.render(false)));
            let has = |policy: &crate::Policy| policy.classes.iter().any(|class| class.name == "house 2");
            scenario.variants[0].policies.iter().map(has).collect::<Vec<_>>()
        };
        let set = with(Vec::new(), &adding(&file(text), &[], None, ("subscriber", house), None).unwrap());
        assert_eq!((classes(&[]), classes(&set)), (vec![false, false], vec![true, true]));
        let set = with(set.clone(), &removing(&file(text), &set, None, "house 2").unwrap());
        assert_eq!(set, [""; 0]);
    }

    #[test]
    fn mistakes_are_named() {
        let wrong = |set: &str| crate::parse_policies(&file(TEXT), &[set.to_owned()]).unwrap_err().to_string();
        for (set, part) in [
            ("policy.access.class+={ name = \"video\" }", "`policy.access.class.video` is there already"),
            ("policy.access.class+={ weight = 3 }", "a table with a name"),
            ("policy.access.class+={ name = ", "this is not TOML"),
            ("policy.access.class+={ name = \"x\", matsch = [] }", "did you mean `match`?"),
            ("policy.axess.class+={ name = \"x\" }", "did you mean `access`?"),
            ("policy.access.class.vidoe+={ name = \"x\" }", "did you mean `video`?"),
            ("policy.access.class-=vidoe", "did you mean `video`?"),
            ("policy.access.rate+={ name = \"x\" }", "`rate` is no list"),
        ] {
            let found = wrong(set);
            assert!(found.contains(part), "{set}: {found}");
        }
        assert!(removing(&file(TEXT), &[], None, "vidoe").unwrap_err().contains("did you mean `video`?"));
        assert!(adding(&file(TEXT), &[], Some("x"), ("class", "{}"), None).unwrap_err().contains("no policy `x`"));
        assert!(adding(&file(TEXT), &[], None, ("klass", "{}"), None).unwrap_err().contains("`class`, `subscriber` and `group`"));
    }
}
