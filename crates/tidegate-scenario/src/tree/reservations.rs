//! Reports guarantees that cannot be kept: above the shared rate, or above a shape.

use super::members::{Tree, slot};
use crate::diagnostic::Diagnostic;
use crate::units::print_rate;
use tidegate_core::units::Rate;

impl Tree {
    /// Reports guarantees below `node` that exceed its rate, and those above the shape of the member or of a group above it.
    pub(super) fn judge_reservations(&self, node: Option<usize>, findings: &mut Vec<Diagnostic>) {
        let shared = &self.shared[slot(node)];
        let mut sum = 0u64;
        for &child in &self.children[slot(node)] {
            let given = self.given(child);
            let Some(rate) = &given.rate else { continue };
            let above = std::iter::successors(given.parent, |&group| self.groups[group].0.parent).map(|group| &self.groups[group].0);
            let shaped = std::iter::once(given).chain(above).find(|shaped| shaped.shape.is_some_and(|shape| shape.rate < rate.value));
            if let Some((shaped, contract)) = shaped.and_then(|shaped| Some((shaped, shaped.shape?))) {
                let (wanted, most) = (print_rate(rate.value), print_rate(contract.rate));
                let problem = format!("a guarantee of {wanted} is above the {most} that `{}` is shaped to", shaped.name);
                let at = shaped.shape_at.clone().unwrap_or(shaped.at.clone());
                let finding = rate.error(problem).context(at, format!("shaped to {most}"));
                findings.push(finding.help(format!("lower the guarantee to {most} or less, or raise the shape")));
                continue;
            }
            sum = sum.saturating_add(rate.value.bits_per_second());
            if sum <= shared.value.bits_per_second() {
                continue;
            }
            let total = Rate::new(sum).map_or_else(|_| "more than 400 Gbit/s".to_owned(), print_rate);
            let (name, limit) = (self.name(node), print_rate(shared.value));
            let problem = if rate.value > shared.value {
                format!("a guarantee of {} is above the {limit} of {name}", print_rate(rate.value))
            } else {
                format!("the guarantees below {name} add up to {total}, more than its {limit}")
            };
            let finding = rate.error(problem).context(shared.span.clone(), format!("{limit} to share"));
            findings.push(finding.help("lower the guarantees, or raise what they are part of"));
            return;
        }
    }
}
