//! The flows of a run with what is proven of them, equal ones together: a row for each in the table, a bar for each in the chart.

use crate::bound::BoundResult;
use crate::model::{FlowResult, Run};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Flows of one group that have the same bound, or none for the same reason.
pub(crate) struct BoundedFlows<'a> {
    /// The flow with the largest delay.
    pub(crate) worst: &'a FlowResult,
    /// What is proven of it.
    pub(crate) bound: &'a BoundResult,
    /// How many there are.
    pub(crate) count: usize,
}

impl BoundedFlows<'_> {
    /// Such as "calls (worst of 120)".
    pub(crate) fn name(&self) -> String {
        match &self.worst.group {
            Some(group) if self.count > 1 => format!("{group} (worst of {})", self.count),
            _ => self.worst.name.clone(),
        }
    }

    fn measured(&self) -> u64 {
        self.bound.longest.map_or(0, |packet| packet.delay_ps)
    }

    /// The greatest are shown first: bounds that did not hold, then the largest ratios, then flows without a bound.
    fn rank(&self) -> (bool, bool, u64) {
        let ratio = self.bound.ratio.unwrap_or(0.0);
        // Ratios are not negative: their bits have their order.
        (self.bound.held == Some(false), self.bound.delay_ps.is_some(), ratio.to_bits())
    }
}

/// The flows of a run in the order of the scenario, at most `limit` rows, and the number of rows that are left out.
pub(crate) fn bounded_flows(run: &Run, limit: usize) -> (usize, Vec<BoundedFlows<'_>>) {
    let mut rows: Vec<BoundedFlows> = Vec::new();
    let mut row_of: HashMap<(&str, Option<u64>, Option<&str>), usize> = HashMap::new();
    for flow in &run.flows {
        let Some(bound) = &flow.bound else { continue };
        let row = BoundedFlows { worst: flow, bound, count: 1 };
        let name = flow.group.as_ref().unwrap_or(&flow.name);
        match row_of.get(&(name.as_str(), bound.delay_ps, bound.reason.as_deref())) {
            Some(&index) => {
                let known = &mut rows[index];
                let count = known.count + 1;
                if row.measured() > known.measured() {
                    *known = row;
                }
                known.count = count;
            }
            None => {
                row_of.insert((name.as_str(), bound.delay_ps, bound.reason.as_deref()), rows.len());
                rows.push(row);
            }
        }
    }
    let left_out = rows.len().saturating_sub(limit);
    if left_out > 0 {
        let mut chosen: Vec<usize> = (0..rows.len()).collect();
        chosen.sort_by_key(|&index| Reverse(rows[index].rank()));
        chosen.truncate(limit);
        let mut index = 0;
        rows.retain(|_| {
            index += 1;
            chosen.contains(&(index - 1))
        });
    }
    (left_out, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::PacketResult;
    use crate::sample::sample_report;

    fn flow(name: &str, group: Option<&str>, bound: Result<u64, &str>, delay_ps: u64) -> FlowResult {
        let packet = PacketResult { replication: 1, number: 1, came_ps: 0, left_ps: delay_ps, delay_ps };
        let bound = BoundResult::new(bound.map(|delay| (delay, "SFA")).map_err(str::to_owned), Some(packet));
        let template = sample_report().runs[0].flows[0].clone();
        FlowResult { name: name.into(), group: group.map(str::to_owned), bound: Some(bound), ..template }
    }

    fn names(run: &Run, limit: usize) -> (usize, Vec<String>) {
        let (left_out, rows) = bounded_flows(run, limit);
        (left_out, rows.iter().map(BoundedFlows::name).collect())
    }

    #[test]
    fn equal_flows_of_a_group_share_a_row_that_shows_the_worst() {
        let mut run = Run::new("run");
        run.flows = vec![
            flow("calls-1", Some("calls"), Ok(100), 50),
            flow("calls-2", Some("calls"), Ok(100), 70),
            flow("calls-3", Some("calls"), Ok(200), 60),
            flow("other", None, Ok(100), 10),
            flow("bulk-1", Some("bulk"), Err("a reason"), 10),
            flow("bulk-2", Some("bulk"), Err("a reason"), 5),
        ];
        let (_, rows) = bounded_flows(&run, 9);
        assert_eq!((rows[0].worst.name.as_str(), rows[0].count), ("calls-2", 2));
        assert_eq!(names(&run, 9), (0, ["calls (worst of 2)", "calls-3", "other", "bulk (worst of 2)"].map(String::from).into()));
        // The largest ratios stay, in the order of the scenario.
        assert_eq!(names(&run, 2), (2, ["calls (worst of 2)", "calls-3"].map(String::from).into()));
        run.flows.push(flow("late", None, Ok(9), 10));
        assert_eq!(names(&run, 1), (4, vec!["late".into()]));
        run.flows.iter_mut().for_each(|flow| flow.bound = None);
        assert_eq!(names(&run, 9), (0, vec![]));
    }
}
