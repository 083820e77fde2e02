//! What subscribers have bought: their rates, by themselves or by their plans, and their sites.

use crate::diagnostic::{Diagnostic, suggest};
use crate::document::{Direction, PlanTable, SiteTable, SubscriberTable};
use crate::value::{At, Block, Name};
use std::collections::HashMap;
use tidegate_core::units::Rate;

/// The plans and sites of a policy, by name.
pub struct Offers<'a> {
    plans: HashMap<&'a str, &'a PlanTable>,
    sites: HashMap<&'a str, usize>,
}

/// What a subscriber has bought in one direction.
pub struct Bought<'a> {
    pub rate: &'a At<Rate>,
    /// The index of its site.
    pub site: Option<usize>,
}

impl<'a> Offers<'a> {
    pub fn new(plans: &'a [Block<PlanTable>], sites: &'a [Block<SiteTable>]) -> Offers<'a> {
        Offers {
            plans: plans.iter().map(|plan| (plan.name.0.as_str(), &plan.value)).collect(),
            sites: sites.iter().enumerate().map(|(index, site)| (site.name.0.as_str(), index)).collect(),
        }
    }

    /// What a subscriber has bought.
    ///
    /// # Errors
    /// It has a plan and rates, or neither, or its plan or its site is not there.
    pub fn of(&self, subscriber: &'a SubscriberTable, direction: Direction) -> Result<Bought<'a>, Diagnostic> {
        let SubscriberTable { name, down, up, plan, site, .. } = subscriber;
        let site = match site {
            None => None,
            Some(site) => Some(*self.sites.get(site.0.as_str()).ok_or_else(|| missing(site, "site", self.sites.keys().copied()))?),
        };
        let rate = match (down, up, plan) {
            (Some(down), Some(up), None) => direction.of_two(down, up),
            (None, None, Some(plan)) => {
                let plan = self.plans.get(plan.0.as_str()).ok_or_else(|| missing(plan, "plan", self.plans.keys().copied()))?;
                direction.of_two(&plan.down, &plan.up)
            }
            (_, _, Some(plan)) => {
                let rate = down.as_ref().or(up.as_ref()).map_or(name.span.clone(), |rate| rate.span.clone());
                let finding = Diagnostic::error(rate, format!("subscriber `{}` has a plan, and a rate of its own", name.0));
                return Err(finding.context(plan.span.clone(), "its plan").help("keep one of them"));
            }
            (Some(_), None, None) | (None, Some(_), None) => {
                let (has, lacks) = if down.is_some() { ("down", "up") } else { ("up", "down") };
                let finding = name.error(format!("subscriber `{}` has `{has}` and lacks `{lacks}`", name.0));
                return Err(finding.help("give it both rates, or a plan"));
            }
            (None, None, None) => {
                let finding = name.error(format!("subscriber `{}` has no rates", name.0));
                return Err(finding.help("give it `down` and `up`, or the name of a plan"));
            }
        };
        Ok(Bought { rate, site })
    }
}

fn missing<'a>(name: &At<Name>, what: &str, known: impl Iterator<Item = &'a str>) -> Diagnostic {
    let finding = name.error(format!("there is no {what} `{}`", name.0));
    let mut known: Vec<&str> = known.collect();
    known.sort_unstable();
    if known.is_empty() {
        return finding.help(format!("add it: [[policy.NAME.{what}]], with a name, `down` and `up`"));
    }
    suggest(finding, &name.0, known.into_iter(), &format!("{what}s"))
}
