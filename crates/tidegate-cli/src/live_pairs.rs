//! The pairs of interfaces that `tidegate live` joins, and the policies of their directions.

use crate::changes::{self, Change};
use crate::check;
use crate::failure::Failure;
use clap::Args;
use std::collections::BTreeSet;
use std::str::FromStr;
use tidegate_core::registry::SchedulerKind;
use tidegate_live::{LiveConfig, PortChange};
use tidegate_scenario::policy::{Class, Policy};
use tidegate_scenario::{Scenario, units};

/// The arguments that name interfaces and policies.
#[derive(Args)]
pub struct PairArguments {
    /// One interface
    #[arg(long = "in", value_name = "INTERFACE", required_unless_present = "pairs", requires = "outside")]
    inside: Option<String>,
    /// The other interface
    #[arg(long = "out", value_name = "INTERFACE", requires = "inside")]
    outside: Option<String>,
    /// Two interfaces, in place of --in and --out, and the policies of the file for both ways if it has several: eth1,eth2=office, or eth1,eth2=up,down for
    /// packets from eth1 to eth2 and for the way back. May be given several times
    #[arg(long = "pair", value_name = "A,B[=POLICY[,POLICY]]", conflicts_with_all = ["inside", "outside", "name", "reverse_policy"])]
    pairs: Vec<PairArgument>,
    /// Which policy of the file, if it has several: for packets from --in to --out, and for the way back unless --reverse-policy is given. A policy of two
    /// directions holds up from --in to --out, and down on the way back
    #[arg(long = "policy", value_name = "NAME")]
    name: Option<String>,
    /// Which policy of the file for packets from --out to --in
    #[arg(long, value_name = "NAME")]
    reverse_policy: Option<String>,
}

/// A value of `--pair`.
#[derive(Clone, PartialEq, Eq, Debug)]
struct PairArgument {
    interfaces: [String; 2],
    policy: Option<String>,
    reverse_policy: Option<String>,
}

impl FromStr for PairArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<PairArgument, String> {
        let (interfaces, policies) = text.split_once('=').map_or((text, None), |(interfaces, policies)| (interfaces, Some(policies)));
        let (a, b) = interfaces
            .split_once(',')
            .filter(|(a, b)| !a.is_empty() && !b.is_empty() && !b.contains(','))
            .ok_or("a pair is two interfaces with a comma between, such as eth1,eth2")?;
        let (policy, reverse_policy) = match policies.map(|policies| policies.split_once(',').ok_or(policies)) {
            None => (None, None),
            Some(Ok((there, back))) => (Some(there), Some(back)),
            Some(Err(both)) => (Some(both), None),
        };
        if [policy, reverse_policy].into_iter().flatten().any(|name| name.is_empty() || name.contains(',')) {
            return Err("behind `=` comes the policy of both ways, or one for each with a comma between".to_owned());
        }
        let owned = |name: Option<&str>| name.map(str::to_owned);
        Ok(PairArgument { interfaces: [a, b].map(str::to_owned), policy: owned(policy), reverse_policy: owned(reverse_policy) })
    }
}

/// Two interfaces, and what holds between them.
pub struct Pair<'a> {
    pub interfaces: [String; 2],
    /// There, and back.
    pub policies: [&'a Policy; 2],
    /// The changes of these policies.
    pub changes: [Vec<Change<'a>>; 2],
}

impl PairArguments {
    /// The interfaces of each pair, as they are named.
    pub fn interfaces(&self) -> Vec<[String; 2]> {
        let single = self.inside.clone().zip(self.outside.clone()).map(|(inside, outside)| [inside, outside]);
        single.into_iter().chain(self.pairs.iter().map(|pair| pair.interfaces.clone())).collect()
    }

    /// The pairs with their policies of the file.
    ///
    /// # Errors
    /// [`Failure::BadInput`] if a name is unknown or given twice, or a policy does not suit an interface.
    pub fn pairs<'a>(&self, scenario: &'a Scenario, end_system: bool) -> Result<Vec<Pair<'a>>, Failure> {
        let single = self.inside.as_ref().zip(self.outside.as_ref()).map(|(inside, outside)| PairArgument {
            interfaces: [inside.clone(), outside.clone()],
            policy: self.name.clone(),
            reverse_policy: self.reverse_policy.clone(),
        });
        let mut seen = BTreeSet::new();
        let names = self.pairs.iter().flat_map(|pair| &pair.interfaces);
        if let Some(twice) = names.into_iter().find(|name| !seen.insert(name.as_str())) {
            return Err(Failure::BadInput(format!("error: {twice} is in two pairs\n  an interface belongs to one pair")));
        }
        single.iter().chain(&self.pairs).map(|pair| chosen(scenario, pair, self.pairs.is_empty(), end_system)).collect()
    }
}

fn chosen<'a>(
    scenario: &'a Scenario,
    PairArgument { interfaces, policy: name, reverse_policy }: &PairArgument,
    is_single: bool,
    end_system: bool,
) -> Result<Pair<'a>, Failure> {
    let [option, reverse_option] = if is_single { ["--policy", "--reverse-policy"] } else { ["--pair", "--pair"] };
    let both = scenario.directions(name.as_deref());
    let there = match both {
        Some([_, up]) => up,
        None => check::choose(scenario, name.as_deref(), option)?,
    };
    let back = match (reverse_policy, both) {
        (Some(name), _) => check::choose(scenario, Some(name), reverse_option)?,
        (None, Some([down, _])) => down,
        (None, None) => there,
    };
    let changes = [there, back].map(|policy| changes::of_policy(scenario, &policy.name));
    let pair = Pair { interfaces: interfaces.clone(), policies: [there, back], changes };
    pair.check(end_system)?;
    Ok(pair)
}

impl Pair<'_> {
    /// Whether these policies can be carried out between interfaces.
    fn check(&self, end_system: bool) -> Result<(), Failure> {
        if let Some(policy) = self.policies.into_iter().find(|policy| policy.adapter.is_some()) {
            let name = &policy.name;
            return Err(Failure::BadInput(format!(
                "error: policy `{name}` sends cells, and a network interface sends frames\n  use `cells` in `tidegate run` and `tidegate replay`; \
                 scheduler = \"rate-controlled\" shapes and shares frames by the same rules"
            )));
        }
        let is_keyed = |class: &&Class| class.queues > 1 && class.queue_scheduler == SchedulerKind::HostRoundRobin;
        let keyed = self.policies.into_iter().find_map(|policy| Some((policy, policy.classes.iter().find(is_keyed)?)));
        if let Some((policy, class)) = keyed.filter(|_| end_system) {
            return Err(Failure::BadInput(format!(
                "error: the scheduler of class `{}` of policy `{}` assigns queues by hosts, and an end system knows them by their hash alone\n  choose \
                 queue_scheduler = \"sparse-round-robin\", or remove --end-system",
                class.name, policy.name
            )));
        }
        if let Some(policy) = self.policies.into_iter().find(|policy| end_system && policy.workers.is_some()) {
            return Err(Failure::BadInput(format!(
                "error: policy `{}` has several workers, and an end system decides in one thread\n  remove `workers`, or --end-system",
                policy.name
            )));
        }
        let all = self.policies.into_iter().zip(&self.changes);
        for (policy, change) in all.flat_map(|(policy, changes)| changes.iter().map(move |change| (policy, change))) {
            let at = units::print_duration(change.at);
            if end_system {
                return Err(Failure::BadInput(format!(
                    "error: policy `{}` changes ({at} after the start), and an end system cannot follow\n  remove [[change]], or --end-system",
                    policy.name
                )));
            }
            if change.setup.longest_frame > policy.longest_frame {
                return Err(Failure::BadInput(format!(
                    "error: the longest_frame of policy `{}` grows ({at} after the start), and memory for frames is set aside at the start\n  give the \
                     policy the longer one from the start",
                    policy.name
                )));
            }
        }
        Ok(())
    }

    /// The configuration of a bridge of these interfaces.
    pub fn config(&self) -> LiveConfig {
        let ([a, b], [there, back]) = (&self.interfaces, self.policies);
        let mut config = LiveConfig::new(a, b, there.setup(), back.setup());
        config.links = [there.link.clone(), back.link.clone()];
        let change = |change: &Change<'_>| PortChange { after: change.at, setup: change.setup.clone() };
        config.changes = self.changes.each_ref().map(|changes| changes.iter().map(change).collect());
        let workers = self.policies.map(|policy| policy.workers.as_deref().cloned());
        if workers.iter().any(Option::is_some) { config.with_workers(workers) } else { config }
    }

    /// True if one of its directions has several workers.
    pub fn has_workers(&self) -> bool {
        self.policies.iter().any(|policy| policy.workers.is_some())
    }

    /// The memory that its policies need: packets, and the longest frame in bytes.
    pub fn needs(&self) -> (u32, u32) {
        (self.held(), self.policies.into_iter().map(|policy| policy.longest_frame).max().unwrap_or(0))
    }

    /// The most packets that one of its policies may hold.
    pub fn held(&self) -> u32 {
        self.policies.into_iter().map(|policy| policy.packet_limit).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_with_and_without_policies() {
        let read = |text: &str| text.parse::<PairArgument>().map(|pair| (pair.interfaces, pair.policy, pair.reverse_policy));
        let named = |name: &str| Some(name.to_owned());
        let interfaces = ["eth1".to_owned(), "eth2.7".to_owned()];
        assert_eq!(read("eth1,eth2.7"), Ok((interfaces.clone(), None, None)));
        assert_eq!(read("eth1,eth2.7=office"), Ok((interfaces.clone(), named("office"), None)));
        assert_eq!(read("eth1,eth2.7=up,down"), Ok((interfaces, named("up"), named("down"))));
        for wrong in ["", "eth1", "eth1,", ",eth2", "eth1,eth2,eth3", "eth1,eth2=", "eth1,eth2=up,", "eth1,eth2=up,down,more"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
