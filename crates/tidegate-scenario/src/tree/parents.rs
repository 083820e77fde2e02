//! Finds the parents of groups and classes by name.

use crate::diagnostic::{Diagnostic, alternatives, closest};
use crate::document::{ClassTable, GroupTable};
use crate::value::{At, Block, Name};
use std::collections::HashMap;

/// The parents of groups and classes, by index.
pub(crate) struct Parents {
    pub of_groups: Vec<Option<usize>>,
    pub of_classes: Vec<Option<usize>>,
}

/// Finds every parent by name. Reports unknown names and circles; `None` after a circle.
pub(crate) fn find_parents(groups: &[Block<GroupTable>], classes: &[Block<ClassTable>], findings: &mut Vec<Diagnostic>) -> Option<Parents> {
    // Of two groups of one name, the first; duplicates are reported elsewhere.
    let by_name: HashMap<&str, usize> = groups.iter().enumerate().rev().map(|(index, group)| (group.name.0.as_str(), index)).collect();
    let mut find = |parent: &Option<At<Name>>| {
        let parent = parent.as_ref()?;
        let found = by_name.get(parent.0.as_str()).copied();
        if found.is_none() {
            let finding = parent.error(format!("there is no group `{}`", parent.0));
            let names = groups.iter().map(|group| group.name.0.as_str());
            findings.push(match closest(&parent.0, names.clone()) {
                Some(name) => finding.help(format!("did you mean `{name}`?")),
                None if groups.is_empty() => {
                    finding.help("declare it with [[policy.NAME.group]], or remove `parent` to hang it below the link")
                }
                None => finding.help(format!("groups of this policy: {}", alternatives(names))),
            });
        }
        found
    };
    let of_groups: Vec<Option<usize>> = groups.iter().map(|group| find(&group.parent)).collect();
    let of_classes = classes.iter().map(|class| find(&class.parent)).collect();
    // Follows each group upwards to a group whose path is known to end at the link.
    let mut ends = vec![false; groups.len()];
    for start in 0..groups.len() {
        let mut path = Vec::new();
        let mut at = Some(start);
        while let Some(group) = at.filter(|&group| !ends[group]) {
            if path.contains(&group) {
                let place = groups[group].parent.as_ref().map_or(groups[group].span.clone(), |parent| parent.span.clone());
                let finding = Diagnostic::error(place, format!("group `{}` hangs below itself", groups[group].name.0));
                findings.push(finding.help("one of the groups in this circle has to hang below the link, without `parent`"));
                return None;
            }
            path.push(group);
            at = of_groups[group];
        }
        for group in path {
            ends[group] = true;
        }
    }
    Some(Parents { of_groups, of_classes })
}
