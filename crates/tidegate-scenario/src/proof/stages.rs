//! The order in which ports are solved: each after those that packets pass before it; the ports of a cycle together.

use super::bundles::Bundle;
use super::queues::Queues;
use tidegate_sim::LinkId;

/// The stages of a network.
pub(super) struct Stages {
    /// The links of each stage.
    pub links: Vec<Vec<LinkId>>,
    /// True of stages whose links are in cycles.
    pub is_cyclic: Vec<bool>,
    /// The stage of each link.
    pub of_link: Vec<usize>,
}

impl Stages {
    /// By the paths of bundles.
    pub(super) fn of(queues: &Queues<'_>, bundles: &[Bundle]) -> Stages {
        let count = queues.network.links.len();
        let mut after: Vec<Vec<usize>> = vec![Vec::new(); count];
        for pair in bundles.iter().flat_map(|bundle| bundle.links.windows(2)) {
            after[pair[0].0].push(pair[1].0);
        }
        for list in &mut after {
            list.sort_unstable();
            list.dedup();
        }
        let component = components(&after);
        let components = component.iter().max().map_or(0, |&last| last + 1);
        // Tarjan numbers components from the last one on.
        let (mut stage, mut size) = (vec![0; components], vec![0; components]);
        component.iter().for_each(|&of| size[of] += 1);
        for from in (0..components).rev() {
            for link in (0..count).filter(|&link| component[link] == from) {
                for &next in after[link].iter().filter(|&&next| component[next] != from) {
                    stage[component[next]] = stage[component[next]].max(stage[from] + 1);
                }
            }
        }
        // Components in cycles have stages of their own, so that what is in no cycle knows its arrivals.
        let key = |link: usize| (stage[component[link]], size[component[link]] > 1);
        let mut keys: Vec<(usize, bool)> = (0..count).map(key).collect();
        keys.sort_unstable();
        keys.dedup();
        let of_link: Vec<usize> = (0..count).map(|link| keys.binary_search(&key(link)).unwrap_or(0)).collect();
        let mut links = vec![Vec::new(); keys.len()];
        of_link.iter().enumerate().for_each(|(link, &stage)| links[stage].push(LinkId(link)));
        Stages { links, is_cyclic: keys.iter().map(|key| key.1).collect(), of_link }
    }
}

/// Strongly connected components, by Tarjan's algorithm without recursion: a component has a lower number than those before it.
fn components(after: &[Vec<usize>]) -> Vec<usize> {
    const NEW: usize = usize::MAX;
    let count = after.len();
    let (mut index, mut low, mut component) = (vec![NEW; count], vec![0; count], vec![NEW; count]);
    let (mut open, mut next_index, mut next_component) = (Vec::new(), 0, 0);
    for root in 0..count {
        let mut calls = if index[root] == NEW { vec![(root, 0)] } else { Vec::new() };
        while let Some(&mut (node, ref mut position)) = calls.last_mut() {
            if *position == 0 {
                (index[node], low[node]) = (next_index, next_index);
                next_index += 1;
                open.push(node);
            }
            if let Some(&next) = after[node].get(*position) {
                *position += 1;
                if index[next] == NEW {
                    calls.push((next, 0));
                } else if component[next] == NEW {
                    low[node] = low[node].min(index[next]);
                }
                // A node is opened once: its position is above 0 from here on.
                continue;
            }
            calls.pop();
            if let Some(&(parent, _)) = calls.last() {
                low[parent] = low[parent].min(low[node]);
            }
            if low[node] == index[node] {
                while let Some(member) = open.pop() {
                    component[member] = next_component;
                    if member == node {
                        break;
                    }
                }
                next_component += 1;
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_numbered_from_the_last() {
        // 0 -> 1 <-> 2 -> 3, and 4 alone.
        let found = components(&[vec![1], vec![2], vec![1, 3], vec![], vec![]]);
        assert_eq!(found[1], found[2]);
        assert!(found[3] < found[1] && found[1] < found[0] && found[4] > found[0]);
    }
}
