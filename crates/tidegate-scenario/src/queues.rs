//! The queues of a class: their number, what spreads packets over them, and the scheduler that serves them.

use crate::choice::AqmChoice;
use crate::diagnostic::{Diagnostic, Span};
use crate::document::ClassTable;
use crate::policy::Resolution;
use crate::tree::{Given, Leaf};
use crate::units::print_size;
use crate::value::Block;
use tidegate_core::classifier::Spread;
use tidegate_core::registry::{AqmKind, SchedulerKind};
use tidegate_core::scheduler::{ClassicShare, Quantum, QueueOptions};

impl ClassTable {
    /// What decides on the queue of a packet.
    pub(crate) fn spread(&self) -> Spread {
        let has_keys = self.queue_scheduler.as_ref().is_some_and(|at| at.value.0 == SchedulerKind::HostRoundRobin);
        let has_queues = self.queues.as_ref().is_some_and(|at| at.value.0 > 1);
        match self.spread.as_ref().map_or(Spread::Flow, |at| at.value.0) {
            Spread::Flow if has_keys && has_queues => Spread::Key,
            spread => spread,
        }
    }

    /// True if its AQM manages two coupled queues.
    pub(crate) fn is_coupled(&self) -> bool {
        self.aqm.as_ref().is_some_and(|key| key.value.choice() == AqmChoice::Alone(AqmKind::DualPi2))
    }
}

impl Resolution<'_> {
    pub fn leaf(&mut self, table: &Block<ClassTable>, given: Given) -> Leaf {
        let queues = table.queues.as_ref().map_or(1, |at| at.value.0 as u32);
        let queue_scheduler = table.queue_scheduler.as_ref().map_or(SchedulerKind::DeficitRoundRobin, |at| at.value.0);
        if let Some(at) = &table.queue_scheduler {
            if queues == 1 {
                let finding = at.error(format!("`queue_scheduler` has no effect: class `{}` has one queue", given.name));
                self.findings.push(finding.help("remove it, or give the class several queues, like queues = 1024"));
            } else if let [parameter, ..] = queue_scheduler.requires() {
                let problem = format!(
                    "{} needs `{}` of every queue, and queues that packets are hashed into have none",
                    queue_scheduler.name(),
                    parameter.name()
                );
                self.findings.push(at.error(problem).help("choose drr, wrr, wf2q+, dwcs or fifo"));
            }
        }
        let places = table.places.as_ref().map(|at| at.value.0 as u32);
        if let (Some(at), Some(queues)) = (&table.places, &table.queues) {
            let finding = at.error(format!("class `{}` has both `places` and `queues`", given.name));
            self.findings.push(finding.context(queues.span.clone(), "its queues").help("keep one of them: a place has a queue of its own"));
        }
        self.judge_spread(table);
        let options = self.queue_options(table, queue_scheduler);
        Leaf { given, queues: places.unwrap_or(queues), queue_scheduler, places: places.is_some(), options, admits: None, marks: false }
    }

    /// Reports what does not fit the way in which packets are spread over the queues of a class.
    fn judge_spread(&mut self, table: &Block<ClassTable>) {
        let queues = table.queues.as_ref().map_or(1, |at| at.value.0);
        let Some(spread) = &table.spread else { return };
        let finding = match spread.value.0 {
            Spread::CodePoint if queues != 2 => {
                let problem = format!("code points sort packets into two queues, and class `{}` has {queues}", table.name.0);
                let span = table.queues.as_ref().map_or(&spread.span, |at| &at.span);
                Diagnostic::error(span.clone(), problem).help("remove `queues`, or the `spread` by code points")
            }
            Spread::Flow if table.is_coupled() => {
                let problem = "dualpi2 manages a queue for L4S and one for the rest, and a hash of flows mixes the two";
                spread.error(problem).help("remove `spread`, or choose another AQM")
            }
            _ if queues == 1 => {
                let finding = spread.error(format!("`spread` has no effect: class `{}` has one queue", table.name.0));
                finding.help("remove it, or give the class several queues, like queues = 1024")
            }
            _ => return,
        };
        self.findings.push(finding);
    }

    /// The options of the scheduler of a class's queues. Reports those that it does not use.
    fn queue_options(&mut self, table: &ClassTable, scheduler: SchedulerKind) -> QueueOptions {
        let mut options = QueueOptions::default();
        let has_queues = table.queues.as_ref().is_some_and(|at| at.value.0 > 1);
        let mut uses = |key: &str, span: &Span, users: &[SchedulerKind]| {
            let is_used = users.contains(&scheduler) && has_queues;
            if !is_used {
                let problem = format!("`{key}` has no effect: {} does not serve the queues of class `{}`", users[0].name(), table.name.0);
                let help = format!("remove it, or give the class several queues and queue_scheduler = \"{}\"", users[0].name());
                self.findings.push(Diagnostic::error(span.clone(), problem).help(help));
            }
            is_used
        };
        let turns = &[SchedulerKind::SparseRoundRobin, SchedulerKind::HostRoundRobin];
        let quantum = table.quantum.as_ref().filter(|at| uses("quantum", &at.span, turns));
        let share = table.classic_share.as_ref().filter(|at| uses("classic_share", &at.span, &[SchedulerKind::DualQueue]));
        let hosts = table.host_fairness.as_ref().filter(|at| uses("host_fairness", &at.span, &[SchedulerKind::HostRoundRobin]));
        if let Some(at) = hosts {
            options.hosts = at.value.0;
        }
        if let Some(at) = quantum {
            options.quantum = u32::try_from(at.value.0).ok().and_then(Quantum::new);
            if options.quantum.is_none() {
                let problem = format!("a quantum of {} is out of range", print_size(at.value.0));
                self.findings.push(at.error(problem).help(format!("write at least {} B: a turn must be worth its cost", Quantum::LEAST)));
            }
        }
        if let Some(at) = share {
            match ClassicShare::new(at.value.0 as u8) {
                Some(share) => options.classic_share = share,
                None => self.findings.push(at.error("the classic queue has from 1 % to 50 %")),
            }
        }
        options
    }
}
