//! The most that members of a node send, alone and together, and what a member goes without because of others that nothing limits.

use super::members::{Member, Tree, slot};
use crate::contract::Bursts;
use crate::guarantee::Ceiling;
use tidegate_bounds::curve::TokenBucket;
use tidegate_bounds::quantity::bits;
use tidegate_core::shaper::ShapingContract;

/// The most that several members send together.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    rate: u64,
    burst: i128,
    /// The first two that nothing limits.
    unlimited: Vec<usize>,
    /// The number of members that are limited on arrival only.
    on_arrival: usize,
}

impl Sum {
    /// Of the members at these positions.
    pub fn of(tree: &Tree, children: &[Member], positions: impl IntoIterator<Item = usize>) -> Sum {
        let mut sum = Sum::default();
        positions.into_iter().for_each(|position| sum.add(position, tree.ceiling(children[position])));
        sum
    }

    pub fn add(&mut self, position: usize, ceiling: Option<&Ceiling>) {
        match ceiling {
            Some(Ceiling { most, at_service }) => {
                self.rate = self.rate.saturating_add(most.rate);
                self.burst = self.burst.saturating_add(most.burst);
                self.on_arrival += usize::from(!at_service);
            }
            None if self.unlimited.len() < 2 => self.unlimited.push(position),
            None => {}
        }
    }

    /// The first member that nothing limits.
    pub fn unlimited(&self) -> Option<usize> {
        self.unlimited.first().copied()
    }

    /// The most that all of them send, or the first that is unlimited.
    pub fn all(&self) -> Result<Ceiling, usize> {
        match self.unlimited() {
            Some(other) => Err(other),
            None => Ok(Ceiling { most: TokenBucket { burst: self.burst, rate: self.rate }, at_service: self.on_arrival == 0 }),
        }
    }

    /// The most that all but the member at `position` send, or the first of them that is unlimited.
    pub fn without(&self, position: usize, own: Option<&Ceiling>) -> Result<Ceiling, usize> {
        if let Some(&other) = self.unlimited.iter().find(|&&other| other != position) {
            return Err(other);
        }
        let (rate, burst, on_arrival) = own.map_or((0, 0, 0), |own| (own.most.rate, own.most.burst, usize::from(!own.at_service)));
        let most = TokenBucket { burst: self.burst.saturating_sub(burst), rate: self.rate.saturating_sub(rate) };
        Ok(Ceiling { most, at_service: self.on_arrival == on_arrival })
    }
}

impl Ceiling {
    /// Of two, that of the lower rate.
    fn lower(one: Option<Ceiling>, other: Option<Ceiling>) -> Option<Ceiling> {
        match (one, other) {
            (Some(one), Some(other)) => Some(if other.most.rate < one.most.rate { other } else { one }),
            (one, other) => one.or(other),
        }
    }

    /// Of both together.
    pub(super) fn beside(self, other: Ceiling) -> Ceiling {
        let burst = self.most.burst.saturating_add(other.most.burst);
        let most = TokenBucket { burst, rate: self.most.rate.saturating_add(other.most.rate) };
        Ceiling { most, at_service: self.at_service && other.at_service }
    }

    fn of_shape(shape: &ShapingContract) -> Ceiling {
        let rate = shape.rate.bits_per_second();
        let early = i128::from(rate).saturating_mul(shape.tolerance.picoseconds().into());
        let burst = bits(8 * u64::from(Bursts::of_shape(shape).depth)).saturating_add(early);
        Ceiling { most: TokenBucket { burst, rate }, at_service: true }
    }
}

impl Tree {
    /// Computes the most that each group and class sends. To be called once, before rates are shared.
    pub(super) fn limit(&mut self) {
        let of_shape = |shape: &Option<ShapingContract>| shape.as_ref().map(Ceiling::of_shape);
        let of_policer = |admits: &Option<tidegate_bounds::curve::Arrival>| {
            admits.as_ref().map(|admits| Ceiling { most: admits.sustained(), at_service: false })
        };
        let of_class = self.classes.iter().map(|class| Ceiling::lower(of_shape(&class.given.shape), of_policer(&class.admits)));
        self.class_ceilings = of_class.collect();
        self.group_ceilings = vec![None; self.groups.len()];
        for &group in self.order.iter().rev() {
            let children = &self.children[slot(Some(group))];
            let together = Sum::of(self, children, 0..children.len()).all().ok();
            self.group_ceilings[group] = Ceiling::lower(of_shape(&self.groups[group].0.shape), together);
        }
    }

    pub(super) fn ceiling(&self, member: Member) -> Option<&Ceiling> {
        match member {
            Member::Group(group) => self.group_ceilings[group].as_ref(),
            Member::Class(class) => self.class_ceilings[class].as_ref(),
        }
    }

    /// That nothing limits a member, as a clause.
    pub(super) fn nothing_limits(&self, other: Member) -> String {
        match self.role_and_marks(other) {
            (role, true) => format!("the policer of {role} `{}` marks and discards nothing", self.given(other).name),
            (role, false) => format!("nothing limits {role} `{}`", self.given(other).name),
        }
    }

    /// That a member of higher priority goes first, as a clause.
    pub(super) fn goes_first(&self, other: Member) -> String {
        let (role, marks) = self.role_and_marks(other);
        let limit = if marks { "its policer marks and discards nothing" } else { "nothing limits it" };
        format!("{role} `{}` goes first, and {limit}", self.given(other).name)
    }

    fn role_and_marks(&self, other: Member) -> (&'static str, bool) {
        match other {
            Member::Group(_) => ("group", false),
            Member::Class(class) => ("class", self.classes[class].marks),
        }
    }
}
