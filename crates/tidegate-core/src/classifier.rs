//! The classifier's role: which flow does a packet belong to? It never changes a packet.
//!
//! Rules are tried in order, and the first that matches names the class. The last class is the default for packets that no rule matches, so
//! every packet has a class. A class has one queue or many. With many, a hash of the flow key spreads packets over them, so that packets of one
//! transport flow share a queue and stay in order. A class of L4S instead sorts packets into two queues by their ECN code points ([`Spread`]).
//!
//! **Law.** The class is that of the first matching rule in the order of classes and, within a class, of its rules. Packets that agree in
//! addresses, protocol and ports share a queue, and so do all fragments of one datagram; where code points sort, if those agree too.
//! **Source.** Tuple space search: V. Srinivasan, S. Suri and G. Varghese, "Packet classification using tuple space search", SIGCOMM 1999.
//! **State.** Per rule 32 bytes, and 64 to 104 for its values; 250 more for one with ranges, several code points or exceptions. Nothing per packet.
//! **Cost.** One hash probe per combination of masks that the rules use, cheapest where few combinations hold many rules. Rules that differ
//! only in ranges of ports or lengths, sets of code points or exceptions are scanned.
//! **RTL twin.** None yet.
//! **Deviations.** Ranges, sets of code points and exceptions stay outside the tuples instead of being expanded into prefixes.
//!
//! **Fragments.** Only the first fragment of a datagram has ports, so a rule with ports never matches the later ones. Where that matters, add a
//! rule without ports, or one for [`Rule::fragment`]. Every fragment, the first included, is spread over queues by addresses and protocol alone.
//! The fragments of a datagram thus stay in order if their class is the same.

mod flow_hash;
mod header;
mod pattern;
mod problem;
mod rule;
mod spread;
mod ternary;
mod tuple_space;

pub use header::{Header, Network, Transport};
pub use pattern::{CodePoints, FlagPattern, LengthRange, MacPattern, PortRange, Prefix};
pub use problem::RuleProblem;
pub use rule::Rule;
pub use spread::{FlowKey, Spread};

use crate::packet::Flow;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use flow_hash::FlowHash;
use tuple_space::TupleSpace;

/// Names the flow of every packet.
///
/// ```
/// use tidegate_core::classifier::{ClassRules, Classifier, CodePoints, Header, Network, Rule, Transport};
///
/// let voice = ClassRules {
///     name: "voice".into(),
///     queues: 1,
///     rules: vec![Rule { dscp: Some(CodePoints::one(46)), ..Rule::default() }],
/// };
/// let rest = ClassRules { name: "rest".into(), queues: 8, rules: vec![] };
/// let classifier = Classifier::new(vec![voice, rest], 1).unwrap();
///
/// let call = Transport { dscp: 46, protocol: 17, fragment: false, ports: Some((5004, 5004)), ..Transport::default() };
/// let call = Header { network: Network::V4 { source: 1, destination: 2, transport: call }, ..Header::default() };
/// assert_eq!(classifier.class_of(classifier.classify(&call)), 0);
/// assert_eq!(classifier.class_of(classifier.classify(&Header::default())), 1);
/// ```
///
/// Clones share its tables.
#[derive(Clone, Debug)]
pub struct Classifier {
    classes: Arc<[Class]>,
    class_of: Arc<[u32]>,
    rules: Arc<TupleSpace>,
    hash: FlowHash,
    /// True if a scheduler assigns the queues of a class.
    has_keys: bool,
}

impl Classifier {
    /// A classifier for `classes`, in order of precedence. `hash_seed` makes the spread over a class's queues unpredictable to outsiders.
    ///
    /// # Errors
    /// [`ClassifierError`] for a class without queues, a class or a rule that no packet can ever reach, or a rule with a value out of
    /// range.
    pub fn new(classes: Vec<ClassRules>, hash_seed: u64) -> Result<Classifier, ClassifierError> {
        Classifier::of(classes.into_iter(), hash_seed)
    }

    /// The same for classes that are made one by one, so that thousands need no list.
    ///
    /// # Errors
    /// As [`Classifier::new`].
    pub fn of(classes: impl ExactSizeIterator<Item = ClassRules>, hash_seed: u64) -> Result<Classifier, ClassifierError> {
        let last = classes.len().checked_sub(1).ok_or(ClassifierError::NoClass)?;
        let mut class_of = Vec::new();
        let mut rules = TupleSpace::new(hash_seed);
        let mut built: Vec<Class> = Vec::with_capacity(classes.len());
        for (class, given) in classes.enumerate() {
            if given.queues == 0 {
                return Err(ClassifierError::NoQueues { class });
            }
            if given.rules.is_empty() && class != last {
                return Err(ClassifierError::NoRules { class });
            }
            let first_flow = Flow(class_of.len() as u32);
            if given.queues > MAX_FLOWS - first_flow.0 {
                return Err(ClassifierError::TooManyQueues { class });
            }
            for (index, rule) in given.rules.into_iter().enumerate() {
                rule.check().map_err(|problem| ClassifierError::Rule { class, rule: index, problem })?;
                if let Some((by_class, by_rule)) = rules.cover(&rule) {
                    return Err(ClassifierError::Shadowed { class, rule: index, by_class, by_rule });
                }
                rules.push(rule, class, index);
            }
            class_of.resize(class_of.len() + given.queues as usize, class as u32);
            built.push(Class { name: given.name.into(), first_flow, queues: given.queues, spread: Spread::Flow });
        }
        rules.seal();
        Ok(Classifier {
            classes: built.into(),
            class_of: class_of.into(),
            rules: Arc::new(rules),
            hash: FlowHash::new(hash_seed),
            has_keys: false,
        })
    }

    /// Spreads the packets of a class over its queues by `spread`, in place of by flow.
    ///
    /// # Errors
    /// [`ClassifierError::NotTwoQueues`] if code points are to sort into another number of queues.
    pub fn set_spread(&mut self, class: usize, spread: Spread) -> Result<(), ClassifierError> {
        if spread == Spread::CodePoint && self.classes[class].queues != 2 {
            return Err(ClassifierError::NotTwoQueues { class });
        }
        let before = core::mem::replace(&mut Arc::make_mut(&mut self.classes)[class].spread, spread);
        if before == Spread::Key || spread == Spread::Key {
            self.has_keys = spread == Spread::Key || self.classes.iter().any(|class| class.spread == Spread::Key);
        }
        Ok(())
    }

    /// True if the queue of a packet may depend on its code point of congestion notification.
    pub fn reads_ecn(&self) -> bool {
        self.classes.iter().any(|class| class.spread == Spread::CodePoint) || self.rules.rules().any(|(_, rule)| rule.reads_ecn())
    }

    /// The lengths at which the class of packets may change: the least of each range of lengths that packets of one header are treated alike in.
    /// Ascending; empty if no rule reads lengths.
    pub fn length_steps(&self) -> Vec<u32> {
        let ends = |range: LengthRange| [Some(range.first).filter(|&first| first > 0), range.last.checked_add(1)];
        let mut steps: Vec<u32> = self.rules.rules().flat_map(|(_, rule)| rule.lengths()).flat_map(ends).flatten().collect();
        steps.sort_unstable();
        steps.dedup();
        steps
    }

    /// Every class, in the order of the policy; the last is the default.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// The number of flows (queues) over all classes.
    pub fn flows(&self) -> usize {
        self.class_of.len()
    }

    /// The index of the class that a flow belongs to.
    #[inline]
    pub fn class_of(&self, flow: Flow) -> usize {
        self.class_of[flow.index()] as usize
    }

    /// The index of the class of each flow. The tables of others share it.
    pub fn classes_of_flows(&self) -> Arc<[u32]> {
        self.class_of.clone()
    }

    /// The first class that may get other packets from `other` than from this classifier: all classes before it are the same, with the same rules.
    pub fn first_difference(&self, other: &Classifier) -> usize {
        if self.hash != other.hash {
            return 0;
        }
        let alike = |one: &Class, other: &Class| (&one.name, one.queues, one.spread) == (&other.name, other.queues, other.spread);
        let classes = self.classes.iter().zip(other.classes.iter()).position(|(one, other)| !alike(one, other));
        let classes = classes.unwrap_or(self.classes.len().min(other.classes.len()));
        // The first rule that one of the two has and the other has not, or that is another.
        let (mut mine, mut others) = (self.rules.rules(), other.rules.rules());
        let rules = loop {
            match (mine.next(), others.next()) {
                (None, None) => break classes,
                (one, other) if one == other => {}
                (one, other) => break one.into_iter().chain(other).map(|(class, _)| class).min().unwrap_or(classes),
            }
        };
        // A default class takes what no rule matches: its packets differ if there is a class behind it.
        let default = if self.classes.len() == other.classes.len() { usize::MAX } else { self.classes.len().min(other.classes.len()) - 1 };
        classes.min(rules).min(default)
    }

    /// Every rule with the index of its class, in their order.
    pub fn rules(&self) -> impl Iterator<Item = (usize, Rule)> {
        self.rules.rules()
    }

    /// A rule by its number among all.
    pub fn rule(&self, number: usize) -> Option<Rule> {
        self.rules.rule(number)
    }

    /// The key of a packet of this flow, if the scheduler assigns its queue.
    #[inline]
    pub fn key(&self, header: &Header, flow: Flow) -> Option<FlowKey> {
        if !self.has_keys || self.classes[self.class_of(flow)].spread != Spread::Key {
            return None;
        }
        Some(self.hash.key(header))
    }

    /// True if a scheduler assigns the queues of the class that both flows are in.
    pub(crate) fn keeps_queue(&self, one: Flow, other: Flow) -> bool {
        let class = self.class_of(one);
        self.has_keys && class == self.class_of(other) && self.classes[class].spread == Spread::Key
    }

    /// The flow of a packet.
    #[inline]
    pub fn classify(&self, header: &Header) -> Flow {
        self.classify_by(header).0
    }

    /// The flow of a packet, and the number of the rule that names its class among [`Classifier::rules`]; `None` if no rule matches.
    #[inline]
    pub fn classify_by(&self, header: &Header) -> (Flow, Option<u32>) {
        let found = self.rules.find(header);
        let class = &self.classes[found.map_or(self.classes.len() - 1, |(_, class)| class)];
        (self.queue(class, header), found.map(|(rule, _)| rule))
    }

    #[inline]
    fn queue(&self, class: &Class, header: &Header) -> Flow {
        if class.queues == 1 {
            return class.first_flow;
        }
        let queue = match class.spread {
            Spread::Flow | Spread::Key => self.hash.spread(header, class.queues),
            Spread::CodePoint => u32::from(header.network.ecn().is_l4s()),
        };
        Flow(class.first_flow.0 + queue)
    }
}

/// The most flows over all classes: 2^30.
pub const MAX_FLOWS: u32 = 1 << 30;

/// One class as the operator states it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClassRules {
    /// The operator's name for it.
    pub name: String,
    /// The number of its queues, at least 1. Packets are spread over them by flow.
    pub queues: u32,
    /// A packet that matches any of them, and no rule of an earlier class, belongs to the class. The last class needs none.
    pub rules: Vec<Rule>,
}

/// Why a classifier cannot be built. Classes and rules are counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClassifierError {
    /// There is no class at all.
    NoClass,
    /// The class has no queue.
    NoQueues {
        /// The class.
        class: usize,
    },
    /// There are more than [`MAX_FLOWS`] queues up to and with this class.
    TooManyQueues {
        /// The class.
        class: usize,
    },
    /// Code points sort into two queues, and the class has another number.
    NotTwoQueues {
        /// The class.
        class: usize,
    },
    /// The class has no rule and is not the last: no packet can belong to it.
    NoRules {
        /// The class.
        class: usize,
    },
    /// The rule has a value out of range, or contradicts itself.
    Rule {
        /// The class.
        class: usize,
        /// The rule within the class.
        rule: usize,
        /// What is wrong with it.
        problem: RuleProblem,
    },
    /// Whatever the rule matches, an earlier one matches already: it can be removed, or has to come first.
    Shadowed {
        /// The class of the rule that can never match.
        class: usize,
        /// That rule within its class.
        rule: usize,
        /// The class of the earlier rule.
        by_class: usize,
        /// The earlier rule within its class.
        by_rule: usize,
    },
}

impl fmt::Display for ClassifierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ClassifierError::NoClass => f.write_str("there is no class; at least the default one is needed"),
            ClassifierError::NoQueues { class } => write!(f, "class {class} has no queue; it needs at least one"),
            ClassifierError::TooManyQueues { class } => write!(f, "with class {class} there are more than {MAX_FLOWS} queues"),
            ClassifierError::NotTwoQueues { class } => write!(f, "class {class}: code points sort packets into two queues"),
            ClassifierError::NoRules { class } => write!(f, "class {class} has no rule and is not the last, so no packet can belong to it"),
            ClassifierError::Rule { class, rule, problem } => write!(f, "class {class}, rule {rule}: {problem}"),
            ClassifierError::Shadowed { class, rule, by_class, by_rule } => {
                write!(f, "class {class}, rule {rule} can never match: rule {by_rule} of class {by_class} comes first and takes all of it")
            }
        }
    }
}

impl core::error::Error for ClassifierError {}

/// One class of a port: a name and its queues.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Class {
    /// The operator's name for it.
    pub name: Arc<str>,
    /// Its first queue; a class's queues are numbered consecutively.
    pub first_flow: Flow,
    /// The number of its queues, at least 1.
    pub queues: u32,
    /// What decides on the queue of a packet.
    pub spread: Spread,
}
