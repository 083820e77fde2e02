//! Other parameters for some classes of a running port, whose classes, rules and queues stay as they are.
//!
//! **Law.** The port goes on as if it had switched to the whole new policy ([`Port::switch`]). Contracts keep their tokens, and stamps that were made
//! stay. New parameters hold from the next head or arrival on. Two things may differ: the order of heads
//! whose priority becomes the same, and the rounding of deficits where the least weight of a node changes.
//! **Cost.** That of the members, classes and queues that change, whatever the number of the others.

use super::Port;
use crate::buffer::{BufferError, BufferManager, FlowShare};
use crate::packet::Flow;
use crate::registry::{AnyAqm, AnyPolicer, AnyScheduler};
use crate::remark::Remarks;
use crate::scheduler::{BuildError, FlowParameters, HierarchyError, Member, Scheduler};
use crate::units::Time;
use alloc::vec::Vec;
use core::fmt;
use core::mem::swap;

/// What differs between two policies of a port that have the same classes, rules, queues and nodes.
#[derive(Clone, Debug, Default)]
pub struct Amendment {
    /// Members of the scheduling tree, or flows of another scheduler, with their parameters and contracts. Those that claim less than before come
    /// first: then claims never sum up to more than the link has.
    pub members: Vec<(Member, FlowParameters)>,
    /// What queues may use of the buffer.
    pub shares: Vec<(Flow, FlowShare)>,
    /// The policers of classes, by the number of the class.
    pub policers: Vec<(usize, Option<AnyPolicer>)>,
    /// The AQMs of classes, by the number of the class.
    pub aqms: Vec<(usize, Option<AnyAqm>)>,
    /// The code points that packets leave with, if they are others.
    pub remarks: Option<Remarks>,
}

/// Why a port cannot be amended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AmendError {
    /// A node of the scheduling tree cannot change like this.
    Node(HierarchyError),
    /// A flow cannot change like this.
    Flow(BuildError),
    /// A queue cannot have this share of the buffer.
    Share(BufferError),
    /// No class has an AQM: the port has no room for the first.
    FirstAqm,
}

impl fmt::Display for AmendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AmendError::Node(error) => write!(f, "{error}"),
            AmendError::Flow(error) => write!(f, "{error}"),
            AmendError::Share(error) => write!(f, "{error}"),
            AmendError::FirstAqm => f.write_str("no class has an AQM: only a switch to the whole policy brings the first"),
        }
    }
}

impl core::error::Error for AmendError {}

impl<P, B: BufferManager> Port<P, AnyScheduler, B> {
    /// The port has these parameters from `now` on. Everything due before must have been polled ([`Port::advance`] does). Afterwards `amendment` holds the
    /// policers, AQMs and remarks that were replaced, for the caller to free where no packet waits.
    ///
    /// # Errors
    /// [`AmendError`]. What comes before the error in the amendment has changed; a switch to the whole policy brings the rest.
    pub fn amend(&mut self, now: Time, amendment: &mut Amendment) -> Result<(), AmendError> {
        self.refresh_if_due(now);
        self.clock = now;
        if !amendment.aqms.is_empty() && !self.datapath.aqms.are_used() {
            return Err(AmendError::FirstAqm);
        }
        for (member, parameters) in &amendment.members {
            match *member {
                Member::Node(node) => self.scheduler.change_node(now, node, parameters).map_err(AmendError::Node)?,
                // A vacant place stays so.
                Member::Leaf(flow) if self.is_vacant(flow) => {}
                Member::Leaf(flow) => self.scheduler.change(now, flow, parameters).map_err(AmendError::Flow)?,
            }
        }
        for (flow, share) in &amendment.shares {
            if !self.is_vacant(*flow) {
                self.change_share(*flow, share).map_err(AmendError::Share)?;
            }
        }
        for (class, policer) in &mut amendment.policers {
            let replaced = self.replace_policer(now, *class, policer.take());
            *policer = replaced;
        }
        for (class, aqm) in &mut amendment.aqms {
            let place = (*class, &self.classifier.classes()[*class]);
            *aqm = self.datapath.aqms.replace(now, place, aqm.take(), &self.datapath.queues);
        }
        if let Some(remarks) = &mut amendment.remarks {
            swap(&mut self.remarks, remarks);
        }
        debug_assert!(self.check().is_ok(), "{:?}", self.check());
        Ok(())
    }
}
