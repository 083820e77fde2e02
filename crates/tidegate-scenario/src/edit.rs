//! Single edits of a file that runs: which list of which policy an element is in, or comes into.
//!
//! An edit is a change as `--set` takes it: `policy.access.class+={ name = "guests", ... }` or `policy.access.class-=guests`. A subscriber may also be a row of
//! the list of its policy, which stays as it is.

use crate::diagnostic::{alternatives, closest};
use crate::files::FileSet;
use crate::fragments::{self, Fragment};
use crate::overrides::Override;
use crate::preset::names_of_list;
use crate::rows::{RowEdit, RowVerb};
use crate::schema::schema;
use crate::structure::name_of;
use std::collections::HashSet;
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
    let (root, rows) = changed(&files.text, &fragments, set);
    let policy = chosen(&root, policy)?;
    // Subscribers of the file come before the rows of the list.
    let before = before.filter(|name| kind != "subscriber" || !listed(files, &root, &policy, &rows).iter().any(|row| row == name));
    let before = before.map_or(String::new(), |element| format!(".{element}"));
    Ok(format!("policy.{policy}.{kind}{before}+={}", table.trim()))
}

/// The edit that removes the class, group or subscriber of this name.
///
/// # Errors
/// One sentence: there is none, or no such policy.
pub fn removing(files: &FileSet, set: &[String], policy: Option<&str>, name: &str) -> Result<String, String> {
    let fragments = fragments::of_files(files);
    let (root, rows) = changed(&files.text, &fragments, set);
    let policy = chosen(&root, policy)?;
    let listed = listed(files, &root, &policy, &rows);
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
    if listed.iter().any(|row| row == name) {
        return Ok(format!("policy.{policy}.subscriber-={name}"));
    }
    Err(match closest(name, present.into_iter().chain(listed.iter().map(String::as_str))) {
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
        let own = format!("{list}.{name}");
        set.retain(|earlier| !earlier.split('=').next().is_some_and(|key| under(key.trim(), &own)));
        let added = set.iter().position(|earlier| added(earlier).is_some_and(|(to, of)| of == name && (to == list || under(&to, list))));
        if let Some(added) = added {
            set.remove(added);
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

/// The tree of a text with its fragments that was loaded with these changes, and those of them that change rows of lists.
fn changed<'i>(text: &'i str, fragments: &'i [Fragment], set: &'i [String]) -> (DeTable<'i>, Vec<RowEdit<'i>>) {
    let mut root = fragments::merged(text, fragments, &mut Vec::new()).map(toml::Spanned::into_inner).unwrap_or_default();
    let mut rows = Vec::new();
    // All have been accepted before.
    for change in set.iter().filter_map(|change| Override::parse(change, 0).ok()) {
        match change.of_row(&root) {
            Some(edit) => rows.push(edit),
            None => _ = change.apply(&mut root, schema()),
        }
    }
    (root, rows)
}

/// The names in the list of a policy, without rows that are removed.
fn listed(files: &FileSet, root: &DeTable<'_>, policy: &str, edits: &[RowEdit<'_>]) -> Vec<String> {
    let list = Override::find(&format!("policy.{policy}.subscribers"), root).and_then(|name| name.as_str());
    let mut names = list.and_then(|name| files.files.get(name)).map_or_else(Vec::new, |text| names_of_list(text));
    let removed = edits.iter().filter(|edit| edit.policy == policy && matches!(edit.verb, RowVerb::Remove));
    let removed: HashSet<&str> = removed.map(|edit| edit.name.as_str()).collect();
    names.retain(|name| !removed.contains(name.as_str()));
    names
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
    fn rows_of_a_list_are_changed_and_removed() {
        let text = "[policy.street]\nkind = \"subscribers\"\ndown = \"1 Gbit/s\"\nup = \"1 Gbit/s\"\nsubscribers = \"list.csv\"\n\
                    [[policy.street.plan]]\nname = \"gold\"\ndown = \"70 Mbit/s\"\nup = \"7 Mbit/s\"\n";
        let list =
            "id,addresses,down,up,plan\nhouse 1,192.0.2.1,50 Mbit/s,10 Mbit/s,\nhouse 2,192.0.2.2,,,gold\nhouse 3,192.0.2.3,,,gold\n";
        let files = FileSet { files: [("list.csv".to_owned(), list.into())].into(), ..file(text) };
        let load = |set: &[String]| crate::parse_policies(&files, set);
        // What is seen of a subscriber in both directions: its rate and its rules.
        let seen = |set: &[String], name: &str| {
            let scenario = load(set).unwrap_or_else(|problems| panic!("{}", problems.render(false)));
            let of = |policy: &crate::Policy| {
                let class = policy.classes.iter().find(|class| class.name == name)?;
                Some(format!("{} {}", class.shape.as_ref()?.rate.bits_per_second() / 1_000_000, class.rules))
            };
            let [down, up] = [0, 1].map(|index: usize| of(&scenario.variants[0].policies[index]));
            down.zip(up).map(|(down, up)| format!("{down}, {up}"))
        };
        let edit = |changes: &[&str]| changes.iter().fold(Vec::new(), |set, change| with(set, change));
        assert_eq!(seen(&[], "house 1").as_deref(), Some("50 1, 10 1"));
        let set = edit(&[
            "policy.street.subscriber.house 1.up=\"20 Mbit/s\"",
            "policy.street.subscriber.house 1.addresses=[\"192.0.2.8\", \"192.0.2.9\"]",
        ]);
        assert_eq!(seen(&set, "house 1").as_deref(), Some("50 2, 20 2"));
        assert_eq!(seen(&set, "house 2").as_deref(), Some("70 1, 7 1"));
        let own = ["plan=\"\"", "down=\"60 Mbit/s\"", "up=6 Mbit/s"].map(|change| format!("policy.street.subscriber.house 2.{change}"));
        assert_eq!(seen(&own, "house 2").as_deref(), Some("60 1, 6 1"), "rates of its own in place of a plan");

        // Removed, added by another, changed, and as at first again.
        let removed = with(set, &removing(&files, &[], None, "house 1").unwrap());
        assert_eq!((removed.as_slice(), seen(&removed, "house 1")), (&["policy.street.subscriber-=house 1".to_owned()][..], None));
        assert!(removing(&files, &removed, None, "house 1").unwrap_err().contains("no class, group or subscriber `house 1`"));
        assert!(removing(&files, &[], None, "hause 1").unwrap_err().contains("did you mean `house 1`?"));
        let other = "{ name = \"house 1\", addresses = [\"192.0.2.77\"], plan = \"gold\" }";
        let added = with(removed, &adding(&files, &[], None, ("subscriber", other), Some("house 3")).unwrap());
        assert_eq!(seen(&added, "house 1").as_deref(), Some("70 1, 7 1"));
        let again = with(added.clone(), &removing(&files, &added, None, "house 1").unwrap());
        assert_eq!(again, ["policy.street.subscriber-=house 1"]);

        let late = edit(&["policy.street.subscriber-=house 3", "policy.street.subscriber.house 3.plan=gold"]);
        assert!(load(&late).unwrap_err().to_string().contains("an earlier change has removed the subscriber `house 3`"));

        // Changes at an instant come on top of each other.
        let changes = "[[change]]\nat = \"1 s\"\nset = { \"policy.street.subscriber.house 1.up\" = \"30 Mbit/s\" }\n\
                       [[change]]\nat = \"2 s\"\nremove = [\"policy.street.subscriber.house 3\"]\n";
        let later = FileSet { text: format!("{text}{changes}").into(), ..files.clone() };
        let scenario = crate::parse_policies(&later, &[]).unwrap_or_else(|problems| panic!("{}", problems.render(false)));
        let variant = &scenario.variants[0];
        let ups = [&variant.policies[1], &variant.changes[0].policies[1], &variant.changes[1].policies[1]];
        let seen = ups.map(|policy| {
            let rate = |class: &crate::policy::Class| Some(class.shape.as_ref()?.rate.bits_per_second() / 1_000_000);
            policy.classes.iter().filter_map(rate).collect::<Vec<_>>()
        });
        assert_eq!(seen, [vec![10, 7, 7], vec![30, 7, 7], vec![30, 7]]);

        let wrong = |set: &str| load(&[set.to_owned()]).unwrap_err().render(false);
        for (set, part) in [
            ("policy.street.subscriber.house 4.up=1 Mbit/s", "there is no subscriber `house 4` in the file or in list.csv"),
            ("policy.street.subscriber-=hause 3", "did you mean `house 3`?"),
            ("policy.street.subscriber.house 3.upp=1 Mbit/s", "did you mean `up`?"),
            ("policy.street.subscriber.house 3.up=1 Mbut/s", "unknown unit `Mbut/s`"),
            ("policy.street.subscriber.house 3.plan=silver", "there is no plan `silver`"),
            ("policy.street.subscriber.house 3.addresses=[\"192.0.2.300\"]", "192.0.2.300"),
            ("policy.street.subscriber.house 3.addresses=[]", "the subscriber has no address"),
            (
                "policy.street.subscriber+={ name = \"house 3\", addresses = [\"192.0.2.9\"], plan = \"gold\" }",
                "another subscriber is named `house 3` already",
            ),
        ] {
            let found = wrong(set);
            assert!(found.contains(part) && found.matches("error:").count() == 1, "{set}: {found}");
        }
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
