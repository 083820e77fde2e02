//! What a link does to packets behind its port: reads the keys that a policy's `link` and a simulated `[[link]]` have in common.

use crate::diagnostic::Diagnostic;
use crate::document::{GilbertElliottTable, LinkTable, PolicyLinkTable, ReorderTable};
use crate::rates::varying;
use crate::units::{Ratio, print_duration, print_ratio};
use crate::value::{At, Block};
use tidegate_core::units::{Duration, Rate};
use tidegate_link::{Disturbance, GilbertElliott, Link, Loss, LossModel};
use tidegate_sim::time::LONGEST_DURATION;

/// The link behind the port of a policy of this rate; what is wrong has been reported.
pub(crate) fn behind(table: &PolicyLinkTable, rate: Rate) -> Link {
    let seed = table.seed.as_ref().map_or(1, |at| at.value.0);
    Link {
        delay: table.delay.as_ref().map_or(Duration::ZERO, |at| at.value),
        loss: WrittenLoss::of_policy(table).loss(seed),
        rates: table.rates.as_ref().and_then(|rates| varying(rates, rate, &mut Vec::new())),
        disturbance: WrittenDisturbance::of_policy(table).disturbance(seed),
    }
}

/// The losses of a link as they are written: at most one of the two.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WrittenLoss<'a> {
    independent: Option<&'a At<Ratio>>,
    bursts: Option<&'a Block<GilbertElliottTable>>,
}

impl<'a> WrittenLoss<'a> {
    pub(crate) fn of_policy(table: &'a PolicyLinkTable) -> WrittenLoss<'a> {
        WrittenLoss { independent: table.loss.as_ref(), bursts: table.gilbert_elliott.as_ref() }
    }

    pub(crate) fn of_link(table: &'a LinkTable) -> WrittenLoss<'a> {
        WrittenLoss { independent: table.loss.as_ref(), bursts: table.gilbert_elliott.as_ref() }
    }

    /// These, or `others` if nothing is written here.
    pub(crate) fn or(self, others: Option<WrittenLoss<'a>>) -> WrittenLoss<'a> {
        if self.is_absent() { others.unwrap_or_default() } else { self }
    }

    pub(crate) fn is_absent(self) -> bool {
        self.independent.is_none() && self.bursts.is_none()
    }

    /// The losses, if there are any; what is wrong has been reported.
    pub(crate) fn loss(self, seed: u64) -> Option<Loss> {
        let loss = match (self.independent, self.bursts) {
            (_, Some(table)) => Loss::in_bursts(chances(table), seed),
            (Some(share), None) => Loss::new(share.billionths(), seed),
            (None, None) => None,
        };
        loss.filter(|loss| loss.probability() > 0.0)
    }

    /// Reports losses that are written twice, and states without an end.
    pub(crate) fn judge(self, findings: &mut Vec<Diagnostic>) {
        let Some(table) = self.bursts else { return };
        if let Some(independent) = self.independent {
            let finding = independent.error("`loss` and `gilbert_elliott` are two models of the losses of one link");
            findings.push(finding.context(table.span.clone(), "the other").help("remove one of them"));
        }
        for (key, chance, state) in [("good_to_bad", &table.good_to_bad, "good"), ("bad_to_good", &table.bad_to_good, "bad")] {
            if chance.billionths() == 0 {
                let finding = chance.error(format!("with `{key}` of 0 % the {state} state would never end"));
                findings.push(finding.help("write a chance of more than 0 %; losses without bursts are `loss`"));
            }
        }
    }

    /// Reports a simulated link that loses every packet.
    pub(crate) fn judge_total(self, link: &str, findings: &mut Vec<Diagnostic>) {
        if self.loss(0).is_some_and(|loss| loss.probability() >= 1.0) {
            let problem = format!("link `{link}` would lose every packet");
            let finding = match (self.independent, self.bursts) {
                (_, Some(table)) => table.error(problem),
                (Some(share), None) => share.error(problem),
                (None, None) => return,
            };
            findings.push(finding.help("write less than 100 %, or remove the link"));
        }
    }
}

fn chances(table: &GilbertElliottTable) -> GilbertElliott {
    let chance = |key: &Option<At<Ratio>>, usual| key.as_ref().map_or(usual, |at| at.billionths());
    GilbertElliott {
        good_to_bad: table.good_to_bad.billionths(),
        bad_to_good: table.bad_to_good.billionths(),
        loss_in_good: chance(&table.loss_in_good, 0),
        loss_in_bad: chance(&table.loss_in_bad, 1_000_000_000),
    }
}

/// The reordering and duplication of a link as they are written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WrittenDisturbance<'a> {
    reorder: Option<&'a Block<ReorderTable>>,
    duplicate: Option<&'a At<Ratio>>,
}

impl<'a> WrittenDisturbance<'a> {
    pub(crate) fn of_policy(table: &'a PolicyLinkTable) -> WrittenDisturbance<'a> {
        WrittenDisturbance { reorder: table.reorder.as_ref(), duplicate: table.duplicate.as_ref() }
    }

    pub(crate) fn of_link(table: &'a LinkTable) -> WrittenDisturbance<'a> {
        WrittenDisturbance { reorder: table.reorder.as_ref(), duplicate: table.duplicate.as_ref() }
    }

    /// These, and from `others` what is not written here.
    pub(crate) fn or(self, others: Option<WrittenDisturbance<'a>>) -> WrittenDisturbance<'a> {
        let others = others.unwrap_or_default();
        WrittenDisturbance { reorder: self.reorder.or(others.reorder), duplicate: self.duplicate.or(others.duplicate) }
    }

    pub(crate) fn is_absent(self) -> bool {
        self.reorder.is_none() && self.duplicate.is_none()
    }

    /// The time by which packets are late.
    pub(crate) fn late_by(self) -> Option<&'a At<Duration>> {
        self.reorder.map(|reorder| &reorder.by)
    }

    /// What comes late and twice, if anything does; what is wrong has been reported.
    pub(crate) fn disturbance(self, seed: u64) -> Option<Disturbance> {
        let (late, extra) = self.reorder.map_or((0, Duration::ZERO), |reorder| (reorder.share.billionths(), reorder.by.value));
        let twice = self.duplicate.map_or(0, |share| share.billionths());
        (late > 0 || twice > 0).then(|| Disturbance::new(late, extra, twice, seed))?
    }

    /// Reports times that mean nothing, and both keys where cells are sent.
    pub(crate) fn judge(self, sends_cells: bool, findings: &mut Vec<Diagnostic>) {
        if let Some(by) = self.late_by() {
            if by.value == Duration::ZERO {
                findings.push(
                    by.error("packets that are late by nothing overtake nothing").help("write a time like \"5 ms\", or remove `reorder`"),
                );
            } else if by.value > LONGEST_DURATION {
                findings.push(by.error("a delay of more than 26 days cannot be followed").help("write a shorter time"));
            }
        }
        let problem = |key| format!("cells keep their order, and none comes twice: `{key}` is for links that carry packets");
        let finding = match (self.reorder, self.duplicate) {
            (Some(reorder), _) => reorder.error(problem("reorder")),
            (None, Some(duplicate)) => duplicate.error(problem("duplicate")),
            (None, None) => return,
        };
        if sends_cells {
            findings.push(finding.help("remove it, or `cells`"));
        }
    }
}

/// What comes late and twice, in words.
pub(crate) fn describe_disturbance(written: &Disturbance) -> String {
    let share = |billionths| Ratio::from_billionths(billionths).map(print_ratio).unwrap_or_default();
    let late = written.reorders().then(|| format!("{} late by {}", share(written.late()), print_duration(written.extra())));
    let twice = (written.twice() > 0).then(|| format!("{} twice", share(written.twice())));
    let both = [late, twice].into_iter().flatten().collect::<Vec<_>>().join(", ");
    format!("{both}, seed {}", written.seed())
}

/// The losses in words.
pub(crate) fn describe_loss(loss: &Loss) -> String {
    let share = |billionths| Ratio::from_billionths(billionths).map(print_ratio).unwrap_or_default();
    let what = match loss.model() {
        LossModel::Independent(billionths) => format!("random loss of {}", share(billionths)),
        LossModel::GilbertElliott(GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad }) => format!(
            "losses in bursts (Gilbert-Elliott): {:.3} % in all, good to bad {}, bad to good {}, lost in bad {}, in good {}",
            100.0 * loss.probability(),
            share(good_to_bad),
            share(bad_to_good),
            share(loss_in_bad),
            share(loss_in_good)
        ),
    };
    format!("{what}, seed {}", loss.seed())
}
