//! Warns of legal but unlikely trees: rounds of seconds, deadlines that one packet breaks, members that may starve.

use super::kept::Lack;
use super::members::{Member, Starvation, Tree, slot};
use crate::diagnostic::{Diagnostic, Severity};
use crate::units::{print_duration, print_size, print_time};
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::Parameter;
use tidegate_core::units::PICOSECONDS_PER_SECOND;

/// Rounds of at least this time get a warning ...
const LONG_ROUND: u128 = PICOSECONDS_PER_SECOND as u128;
/// ... if they are this many times as long as with equal weights: on a slow link the longest frames alone may take that long.
const UNEQUAL: u128 = 10;

impl Tree {
    /// The greatest common factor of the weights below `node`. `wrr` divides weights by it: same shares, shorter rounds.
    pub(super) fn common_factor(&self, node: Option<usize>) -> u32 {
        let weights = self.children[slot(node)].iter().map(|&child| self.given(child).weight.as_ref().map_or(1, |weight| weight.value));
        weights.fold(0, greatest_common_divisor).max(1)
    }

    /// Warns of a round that takes long because weights are far apart.
    pub(super) fn remark_on_rounds(&self, node: Option<usize>, findings: &mut Vec<Diagnostic>) {
        let kind = self.scheduler(node).kind;
        let children = &self.children[slot(node)];
        let weight = |child: &Member| self.given(*child).weight.as_ref().map_or(1, |weight| weight.value);
        let (Some(least), Some(most)) =
            (children.iter().min_by_key(|child| weight(child)), children.iter().max_by_key(|child| weight(child)))
        else {
            return;
        };
        let sum: u128 = children.iter().map(|child| u128::from(weight(child))).sum();
        let packets = match kind {
            SchedulerKind::DeficitRoundRobin => sum.div_ceil(weight(least).into()),
            SchedulerKind::WeightedRoundRobin => sum / u128::from(self.common_factors[slot(node)]),
            _ => return,
        };
        let time = packets * u128::from(self.slot_time(node).picoseconds());
        if time < LONG_ROUND || packets < UNEQUAL * children.len() as u128 {
            return;
        }
        let at = [least, most].into_iter().find_map(|member| self.given(*member).span(Parameter::Weight));
        let (name, round) = (self.name(node), print_time(time));
        let problem = format!("a round of {} below {name} takes up to {round}: {packets} of the longest frames", kind.name());
        let finding = Diagnostic::warning(at.unwrap_or(self.rate.span.clone()), problem);
        findings.push(finding.help(
            "weights are shares, not rates: write them closer together, like 2 and 1; rates that are guaranteed go with scheduler = \"wf2q+\" and `rate`",
        ));
    }

    /// Warns of delays shorter than the transmission of one longest frame.
    pub(super) fn remark_on_delays(&self, node: Option<usize>, findings: &mut Vec<Diagnostic>) {
        if self.scheduler(node).kind != SchedulerKind::EarliestDeadlineFirst || self.children[slot(node)].len() < 2 {
            return;
        }
        let longest = self.rate.value.time_per_byte().ceil(self.longest);
        for &child in &self.children[slot(node)] {
            let given = self.given(child);
            if let Some(delay) = given.delay.as_ref().filter(|delay| delay.value < longest && !given.is_added) {
                let (wanted, longest) = (print_duration(delay.value), print_time(longest.picoseconds().into()));
                let problem = format!("a delay of {wanted} is less than the {longest} that one of the longest frames takes on the link");
                let finding = delay.warning(problem);
                findings.push(
                    finding.help("no packet that is being sent is interrupted: allow more, lower `longest_frame`, or raise the rate"),
                );
            }
        }
    }

    /// Warns of the first shape whose burst or tolerance is too small to wait for a turn, with the number of the others.
    pub(super) fn remark_on_bursts(&self, findings: &mut Vec<Diagnostic>) {
        if findings.iter().any(|finding| finding.severity == Severity::Error) {
            return;
        }
        let remedy = |&(member, lack): &(Member, Lack)| {
            let given = self.given(member);
            let (shape, at) = (given.shape.as_ref()?, given.shape_at.clone()?);
            let help = match lack {
                Lack::Burst(enough) if shape.peak.is_none() => {
                    format!("add burst = \"{}\" to its shape, or more", print_size(enough.div_ceil(8)))
                }
                Lack::Burst(_) => "raise `burst` or `maximum_burst` of its shape".to_owned(),
                Lack::Tolerance(enough) => {
                    format!("add delay_variation_tolerance = \"{}\" to its shape, or more", print_time(enough.unsigned_abs()))
                }
                Lack::Unbounded | Lack::Dual(_) => return None,
            };
            let (role, guarantee) = match member {
                Member::Group(group) => ("group", &self.group_guarantees[group]),
                Member::Class(class) => ("class", &self.class_guarantees[class]),
            };
            let most = guarantee.rate().map_or("no rate".to_owned(), |rate| format!("{rate} and no more"));
            let because = lack.because(shape, self.scheduler(given.parent).kind.name());
            Some((at, format!("{role} `{}` is guaranteed {most}, because {because}", given.name), help))
        };
        let mut all = self.lacks.iter().filter_map(remedy);
        if let Some((at, problem, help)) = all.next() {
            findings.push(Diagnostic::warning(at, problem + &in_other_places(all.count())).help(help));
        }
    }

    /// Warns of the first member that may starve, with the number of the others.
    pub fn remark_on_starvation(&self) -> Option<Diagnostic> {
        let role = |member: Member| if matches!(member, Member::Group(_)) { "group" } else { "class" };
        let Starvation { first, starved } = *self.starvations.first()?;
        let (above, below) = (self.given(first), self.given(starved));
        let others = in_other_places(self.starvations.len() - 1);
        let problem = format!(
            "{} `{}` goes before {} `{}`, and nothing limits it: while it sends, nothing is left{others}",
            role(first),
            above.name,
            role(starved),
            below.name
        );
        let at = above.span(Parameter::Priority).unwrap_or(above.at.clone());
        let help = "limit what goes first to less than there is: shape it, or police it and discard, as in \
                    police = { policer = \"gcra\", rate = \"2 Mbit/s\", burst = \"10 kB\" }";
        Some(Diagnostic::warning(at, problem).help(help))
    }
}

/// The end of a warning that holds for this many others.
fn in_other_places(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => "; so it is in one other place".to_owned(),
        others => format!("; so it is in {others} other places"),
    }
}

fn greatest_common_divisor(mut a: u32, mut b: u32) -> u32 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
