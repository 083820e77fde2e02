//! The conformance suite of the buffer managers. Every registered manager keeps the laws of its role in a real port under random and hostile
//! traffic and follows its definition. Defective managers are caught.

use std::cell::RefCell;
use std::rc::Rc;
use tidegate_core::buffer::{
    Admission, Alpha, Arrival, BufferField, BufferManager, BufferParameters, Change, FlowLimit, Guarantee, Override, Partitioned, Reading,
    Reserve, Scaling, Victim,
};
use tidegate_core::classifier::{ClassRules, Classifier};
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet, Part};
use tidegate_core::port::{Port, PortSetup};
use tidegate_core::queue::{Backlog, Occupancy};
use tidegate_core::registry::{AnyScheduler, BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Duration, Overhead, Rate, Time};

const FLOWS: usize = 6;
const PACKETS: u32 = 40;

/// SplitMix64.
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (word ^ (word >> 31)) % limit
    }

    fn maybe<T>(&mut self, value: T) -> Option<T> {
        (self.below(2) == 0).then_some(value)
    }

    /// The next part of a flow's frames; `begun` says whether one is under way.
    fn part(&mut self, begun: &mut bool) -> Part {
        let (is_first, is_last) = (!*begun, self.below(3) == 0);
        *begun = !is_last;
        Part::of(is_first, is_last)
    }

    fn flow_limit(&mut self) -> FlowLimit {
        let (packets, bytes) = (1 + self.below(20) as u32, 1 + self.below(8_000) as u32);
        FlowLimit { packets: self.maybe(packets), bytes: self.maybe(bytes) }
    }
}

fn parameters(kind: BufferKind, random: &mut Random) -> BufferParameters {
    let bytes = 1 + random.below(20_000);
    let in_bytes = random.maybe(bytes);
    let packets = if in_bytes.is_none() { Some(1 + random.below(u64::from(PACKETS)) as u32) } else { random.maybe(PACKETS) };
    let unlimited = FlowLimit::default();
    let flow = random.flow_limit();
    let exponent = random.below(7) as i32 - 3;
    let first = random.below(FLOWS as u64 - 1) as u32;
    let exception =
        Override { first_flow: Flow(first), flows: 1 + random.below(FLOWS as u64 - u64::from(first)) as u32, limit: random.flow_limit() };
    BufferParameters {
        flows: FLOWS,
        packets,
        bytes: in_bytes,
        flow: random.maybe(flow).unwrap_or(unlimited),
        overrides: random.maybe(vec![exception]).unwrap_or_default(),
        alpha: Alpha::from_exponent(exponent).filter(|_| kind.accepts().contains(&BufferField::Alpha)),
        ..special_parameters(kind, in_bytes.or(packets.map(u64::from)).unwrap(), random)
    }
}

/// What some managers take besides, each with and without.
fn special_parameters(kind: BufferKind, size: u64, random: &mut Random) -> BufferParameters {
    let takes = |field| kind.accepts().contains(&field);
    let mut parameters = BufferParameters::default();
    if takes(BufferField::Threshold) {
        let threshold = random.below(size + 1);
        parameters.threshold = random.maybe(threshold);
    }
    if takes(BufferField::TaggedThreshold) {
        let lower = random.below(parameters.threshold.unwrap_or(size * 9 / 10) + 1);
        parameters.tagged_threshold = random.maybe(lower);
    }
    if takes(BufferField::Scaling) {
        let scaling = Scaling::new(random.below(11) as u32, 10).unwrap();
        parameters.scaling = random.maybe(scaling);
    }
    if takes(BufferField::Guarantees) {
        parameters.capacity = Some(rate());
        let each = random.below(rate().bits_per_second() / FLOWS as u64 - 1000) + 1000;
        let guarantee = Guarantee { first_flow: Flow(1), flows: 3, rate: Rate::new(each).unwrap() };
        parameters.guarantees = random.maybe(vec![guarantee]).unwrap_or_default();
    }
    if takes(BufferField::Reserve) {
        let [all, one] = [1 + random.below(size) as u32, random.below(3_000) as u32];
        parameters.reserve = random.maybe(all);
        parameters.reserves = random.maybe(vec![Reserve { first_flow: Flow(2), flows: 2, bytes: one }]).unwrap_or_default();
        let seed = random.below(u64::MAX);
        parameters.seed = random.maybe(seed);
    }
    if takes(BufferField::DepartureUpdating) {
        parameters.departure_updating = random.maybe(false);
    }
    if takes(BufferField::Batch) {
        let batch = [1, 3, 100][random.below(3) as usize];
        parameters.batch = random.maybe(batch);
    }
    if takes(BufferField::Reading) {
        parameters.reading = random.maybe(Reading::Prose);
    }
    parameters
}

/// The rate of the link.
fn rate() -> Rate {
    Rate::new(8_000_000).unwrap()
}

/// What a manager is asked and told, as the laws and its definition see it.
struct Judge {
    parameters: BufferParameters,
    definition: Option<BufferKind>,
    /// True if a packet has given way for the arrival that is being judged.
    has_pushed_out: bool,
    broken: Option<String>,
}

impl Judge {
    fn limit_of(&self, flow: Flow) -> FlowLimit {
        let exception = self.parameters.overrides.iter().find(|o| (o.first_flow.0..o.first_flow.0 + o.flows).contains(&flow.0));
        exception.map_or(self.parameters.flow, |o| o.limit)
    }

    fn fits_flow(&self, arrival: &Arrival, backlog: &impl Backlog) -> bool {
        let limit = self.limit_of(arrival.flow);
        limit.packets.is_none_or(|most| backlog.flow_packets(arrival.flow) < most)
            && limit.bytes.is_none_or(|most| backlog.flow_bytes(arrival.flow) + arrival.length <= most)
    }

    fn fits_buffer(&self, arrival: &Arrival, backlog: &impl Backlog) -> bool {
        self.parameters.packets.is_none_or(|most| backlog.packets() < most)
            && self.parameters.bytes.is_none_or(|most| backlog.bytes() + u64::from(arrival.length) <= most)
    }

    /// What the definition says of an arrival; `None` for the managers of frames and of marks, whose definitions are in tests of their own.
    fn expected(&self, kind: BufferKind, arrival: &Arrival, backlog: &impl Backlog) -> Option<Admission> {
        if !self.fits_flow(arrival, backlog) {
            return Some(Admission::Refuse(DropReason::FlowLimit));
        }
        let fits = self.fits_buffer(arrival, backlog);
        let expected = match kind {
            BufferKind::TailDrop if fits => Admission::Accept,
            BufferKind::TailDrop => Admission::Refuse(DropReason::SharedLimit),
            BufferKind::DynamicThreshold => {
                let (queue, free) = match (self.parameters.bytes, self.parameters.packets) {
                    (Some(size), _) => (u64::from(backlog.flow_bytes(arrival.flow)), size - backlog.bytes()),
                    (None, Some(size)) => (u64::from(backlog.flow_packets(arrival.flow)), u64::from(size - backlog.packets())),
                    (None, None) => unreachable!("a size is required"),
                };
                // QL < 2^k * (B - Q), as fractions.
                let exponent = self.parameters.alpha.unwrap_or_default().exponent();
                let (numerator, denominator) = if exponent < 0 { (1, 1 << -exponent) } else { (1 << exponent, 1) };
                match (fits, queue * denominator < numerator * free) {
                    (false, _) => Admission::Refuse(DropReason::SharedLimit),
                    (true, false) => Admission::Refuse(DropReason::Threshold),
                    (true, true) => Admission::Accept,
                }
            }
            BufferKind::LongestQueuePushOut if fits => Admission::Accept,
            BufferKind::LongestQueuePushOut => {
                let length = |flow: u32| backlog.flow_bytes(Flow(flow));
                let mut longest = 0;
                for flow in 1..FLOWS as u32 {
                    if length(flow) > length(longest) {
                        longest = flow;
                    }
                }
                let own = backlog.flow_bytes(arrival.flow) + arrival.length;
                let never_fits = self.parameters.bytes.is_some_and(|size| u64::from(arrival.length) > size);
                if !self.has_pushed_out && (own >= length(longest) || never_fits) {
                    Admission::Refuse(DropReason::SharedLimit)
                } else {
                    Admission::PushOut(Victim::Head(Flow(longest)))
                }
            }
            _ => return None,
        };
        Some(expected)
    }

    fn judge(&mut self, arrival: &Arrival, backlog: &impl Backlog, said: Admission) -> Option<String> {
        let expected = self.definition.and_then(|kind| self.expected(kind, arrival, backlog));
        if let Some(expected) = expected.filter(|&expected| expected != said) {
            return Some(format!("by definition {expected:?}, but it said {said:?}"));
        }
        match said {
            Admission::Accept | Admission::AcceptAs(_) => {
                self.has_pushed_out = false;
                if !self.fits_flow(arrival, backlog) || !self.fits_buffer(arrival, backlog) {
                    return Some("accepted beyond a limit".into());
                }
            }
            Admission::Refuse(_) => {
                if std::mem::take(&mut self.has_pushed_out) {
                    return Some("pushed out in vain".into());
                }
            }
            Admission::PushOut(Victim::Head(flow) | Victim::Tail(flow) | Victim::Marked(flow)) => {
                self.has_pushed_out = true;
                // Every push-out takes a packet: one that never ends arrives here.
                if flow.index() >= FLOWS || backlog.flow_packets(flow) == 0 {
                    return Some("pushed out of an empty queue".into());
                }
            }
        }
        None
    }
}

/// A manager under observation. From the first broken law on it refuses everything, so that no defect can hang the port.
#[derive(Clone)]
struct Watched<B> {
    manager: B,
    judge: Rc<RefCell<Judge>>,
}

impl<B: BufferManager> BufferManager for Watched<B> {
    fn needs_marked_lists(&self) -> bool {
        self.manager.needs_marked_lists()
    }

    fn admit<O: Backlog>(&mut self, arrival: &Arrival, backlog: &O) -> Admission {
        let mut judge = self.judge.borrow_mut();
        if judge.broken.is_some() {
            return Admission::Refuse(DropReason::SharedLimit);
        }
        let said = self.manager.admit(arrival, backlog);
        judge.broken = judge.judge(arrival, backlog, said);
        if judge.broken.is_some() { Admission::Refuse(DropReason::SharedLimit) } else { said }
    }

    fn changed<O: Backlog>(&mut self, change: Change, backlog: &O) {
        self.manager.changed(change, backlog);
    }
}

/// Checks that each flow's packets leave in the order in which they came, and counts what the traffic has brought about.
#[derive(Default)]
struct Order {
    last_sent: [u64; 2 * FLOWS],
    is_broken: bool,
    accepted: u64,
    dropped: [u64; DropReason::ALL.len()],
}

impl Observer<u64> for Order {
    fn queued(&mut self, _now: Time, _packet: &Packet<()>, _occupancy: &Occupancy) {
        self.accepted += 1;
    }

    fn dropped(&mut self, _now: Time, packet: Packet<u64>, reason: DropReason, _occupancy: &Occupancy) {
        self.dropped[reason as usize] += 1;
        // A head that is pushed out counts as gone: nothing before it may follow. Marked packets give way from the middle of a queue, too.
        if reason == DropReason::PushedOut && packet.colour == Colour::Green {
            self.advance(packet.flow, packet.payload);
        }
    }

    fn sent(&mut self, _now: Time, packet: &Packet<u64>, _finish: Time, _occupancy: &Occupancy) {
        self.advance(packet.flow, packet.payload);
    }
}

impl Order {
    fn advance(&mut self, flow: Flow, number: u64) {
        self.is_broken |= number <= self.last_sent[flow.index()];
        self.last_sent[flow.index()] = number;
    }
}

/// Which packets come.
#[derive(Clone, Copy, Debug)]
enum Traffic {
    /// All flows alike, all lengths.
    Random,
    /// One flow fills the buffer, the others send single packets.
    Elephant,
    /// Long packets after many short ones, so that several have to give way.
    LongAfterShort,
    /// Packets of no length and packets larger than the buffer.
    Extremes,
    /// Every flow sends the same, so that ties decide.
    Equal,
}

const TRAFFIC: [Traffic; 5] = [Traffic::Random, Traffic::Elephant, Traffic::LongAfterShort, Traffic::Extremes, Traffic::Equal];

impl Traffic {
    fn packet(self, number: u64, random: &mut Random) -> (Flow, u32) {
        let any = random.below(FLOWS as u64) as u32;
        match self {
            Traffic::Random => (Flow(any), random.below(1500) as u32),
            Traffic::Elephant => (Flow(if random.below(8) == 0 { any } else { 2 }), 1 + random.below(1500) as u32),
            Traffic::LongAfterShort => (Flow(any), if number % 50 < 45 { 40 } else { 4_000 + random.below(3_000) as u32 }),
            Traffic::Extremes => (Flow(any), [0, 1, 64, 1500, 20_000, 60_000][random.below(6) as usize]),
            Traffic::Equal => (Flow((number % FLOWS as u64) as u32), 500),
        }
    }
}

/// A manager under observation.
fn watched<B>(manager: B, definition: Option<BufferKind>, parameters: &BufferParameters) -> Watched<B> {
    let judge = Judge { parameters: parameters.clone(), definition, has_pushed_out: false, broken: None };
    Watched { manager, judge: Rc::new(RefCell::new(judge)) }
}

/// Runs traffic through a port with this manager.
fn check<B: BufferManager>(
    manager: B,
    definition: Option<BufferKind>,
    parameters: &BufferParameters,
    traffic: Traffic,
    random: &mut Random,
) -> Result<Order, String> {
    let buffer = watched(manager, definition, parameters);
    let judge = buffer.judge.clone();
    run(buffer, &[judge], traffic, random)
}

/// Runs traffic through a port with this buffer. It has as many partitions as there are judges, and their flows alternate.
fn run<M: BufferManager>(buffer: M, judges: &[Rc<RefCell<Judge>>], traffic: Traffic, random: &mut Random) -> Result<Order, String> {
    let partitions = judges.len() as u32;
    let queues = FLOWS as u32 * partitions;
    let classifier = Classifier::new(vec![ClassRules { name: "all".into(), queues, rules: vec![] }], 0).unwrap();
    let rate = rate();
    let flows = vec![FlowParameters::default(); queues as usize];
    let mut port: Port<u64, AnyScheduler, M> = Port::new(
        Time::ZERO,
        PortSetup {
            rate,
            overhead: Overhead::None,
            classifier,
            policers: vec![None],
            aqms: Vec::new(),
            seed: 0,
            buffer,
            scheduler: SchedulerKind::Fifo.build(&Setup::new(rate, 65_535), &flows).unwrap(),
            packet_limit: PACKETS * partitions,
            longest_frame: 65_535,
            remarks: Default::default(),
        },
    );
    let mut order = Order::default();
    let mut now = Time::ZERO;
    // Frames of some packets, and plain packets.
    let mut begun = [false; 2 * FLOWS];
    for number in 1..=400 {
        let (flow, length) = traffic.packet(number, random);
        let flow = Flow(flow.0 * partitions + random.below(u64::from(partitions)) as u32);
        let part = random.part(&mut begun[flow.index()]);
        let colour = [Colour::Green, Colour::Yellow][random.below(2) as usize];
        port.offer_packet(Packet { flow, length, arrival: now, colour, part, ecn: Ecn::NotEct, payload: number }, &mut order);
        port.check().map_err(|unbalanced| unbalanced.to_string())?;
        for judge in judges {
            let Judge { broken, parameters, .. } = &mut *judge.borrow_mut();
            if let Some(broken) = broken.take() {
                return Err(format!("packet {number} of {traffic:?}: {broken} under {parameters:?}"));
            }
        }
        // Mostly too little time for what has come, now and then enough to run empty.
        let pause = if random.below(60) == 0 { 1 << 36 } else { random.below(500) * 1_000_000 };
        now += Duration::from_picoseconds(pause);
        port.advance(now, &mut order, |_| {});
    }
    if order.is_broken {
        let parameters = &judges[0].borrow().parameters;
        return Err(format!("{traffic:?}: packets of a queue changed places under {parameters:?}"));
    }
    Ok(order)
}

#[test]
fn every_manager_keeps_the_laws_and_does_what_it_says() {
    for &kind in BufferKind::ALL {
        let mut seen = [0; DropReason::ALL.len()];
        for seed in 0..200 {
            let mut random = Random(seed);
            let parameters = parameters(kind, &mut random);
            let manager = kind.build(&parameters).unwrap();
            for traffic in TRAFFIC {
                let order = check(manager.clone(), Some(kind), &parameters, traffic, &mut random)
                    .unwrap_or_else(|broken| panic!("{}: {broken}", kind.name()));
                for (all, these) in seen.iter_mut().zip(order.dropped) {
                    *all += these;
                }
            }
        }
        // The traffic reaches every reason that the manager has to drop a packet, and no other.
        for &reason in DropReason::ALL {
            let is_limit = matches!(reason, DropReason::FlowLimit | DropReason::SharedLimit);
            let is_declared = is_limit || kind.drop_reasons().contains(&reason);
            let dropped = seen[reason as usize];
            assert!(if is_declared { dropped > 100 } else { dropped == 0 }, "{}: {reason}: {dropped} of {seen:?}", kind.name());
        }
    }
}

#[test]
fn every_manager_keeps_the_laws_in_a_partition() {
    for (&kind, &other) in BufferKind::ALL.iter().zip(BufferKind::ALL.iter().cycle().skip(1)) {
        for seed in 0..40 {
            let mut random = Random(seed);
            let mut part = |kind: BufferKind| {
                let parameters = parameters(kind, &mut random);
                watched(kind.build(&parameters).unwrap(), Some(kind), &parameters)
            };
            let parts = [part(kind), part(other)];
            for traffic in TRAFFIC {
                let judges = parts.each_ref().map(|part| part.judge.clone());
                let managers = parts.iter().map(|part| (part.clone(), FLOWS)).collect();
                let partition_of: Vec<_> = (0..2 * FLOWS as u32).map(|flow| Some(flow % 2)).collect();
                let buffer = Partitioned::new(managers, &partition_of).unwrap();
                run(buffer, &judges, traffic, &mut random)
                    .unwrap_or_else(|broken| panic!("{} and {}: {broken}", kind.name(), other.name()));
            }
        }
    }
}

#[test]
fn parameters_are_checked_field_by_field() {
    for &kind in BufferKind::ALL {
        let capacity = Some(rate());
        let sound = BufferParameters { flows: 4, packets: Some(10), bytes: Some(1000), capacity, ..BufferParameters::default() };
        assert!(kind.build(&sound).is_ok());
        let field = |change: &dyn Fn(&mut BufferParameters)| {
            let mut parameters = sound.clone();
            change(&mut parameters);
            kind.build(&parameters).err().map(|error| error.field)
        };
        let exception =
            |first, flows, packets| Override { first_flow: Flow(first), flows, limit: FlowLimit { packets: Some(packets), bytes: None } };
        assert_eq!(field(&|p| p.packets = Some(0)), Some(BufferField::Limit));
        assert_eq!(field(&|p| p.bytes = Some(0)), Some(BufferField::Limit));
        assert_eq!(field(&|p| p.flow.bytes = Some(0)), Some(BufferField::FlowLimit));
        assert_eq!(field(&|p| p.overrides = vec![exception(0, 2, 1), exception(2, 2, 1)]), None);
        assert_eq!(field(&|p| p.overrides = vec![exception(0, 2, 0)]), Some(BufferField::Overrides));
        assert_eq!(field(&|p| p.overrides = vec![exception(0, 2, 1), exception(1, 2, 1)]), Some(BufferField::Overrides));
        assert_eq!(field(&|p| p.overrides = vec![exception(3, 2, 1)]), Some(BufferField::Overrides));
        assert_eq!(field(&|p| p.overrides = vec![exception(u32::MAX, u32::MAX, 1)]), Some(BufferField::Overrides));
        let guarantee = Guarantee { first_flow: Flow(3), flows: 1, rate: Rate::MIN };
        for &special in BufferField::SPECIAL {
            let refused = field(&|p| match special {
                BufferField::Alpha => p.alpha = Alpha::from_exponent(1),
                BufferField::Threshold => p.threshold = Some(500),
                BufferField::TaggedThreshold => p.tagged_threshold = Some(500),
                BufferField::Scaling => p.scaling = Scaling::new(1, 2),
                BufferField::Guarantees => p.guarantees = vec![guarantee],
                BufferField::Reading => p.reading = Some(Reading::Prose),
                BufferField::Reserve => p.reserve = Some(1000),
                BufferField::DepartureUpdating => p.departure_updating = Some(false),
                BufferField::Seed => p.seed = Some(2),
                BufferField::Batch => p.batch = Some(8),
                other => panic!("{other:?} is not special"),
            });
            assert_eq!(refused, (!kind.accepts().contains(&special)).then_some(special), "{}", kind.name());
        }
        assert_eq!(BufferKind::from_name(kind.name()), Some(kind));
    }
    assert_eq!(BufferKind::from_name("red"), None);
}

/// What is wrong with a [`Defective`] manager.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    /// None: the skeleton pushes out of the longest queue, soundly.
    None,
    /// It accepts whatever comes.
    AcceptsAll,
    /// One byte more than the limit is let in.
    OffByOne,
    /// It makes one packet give way and then refuses.
    InVain,
    /// It pushes out of the queue that is about to be joined, empty or not.
    EmptyQueue,
    /// It never has enough.
    NeverEnds,
}

#[derive(Clone)]
struct Defective {
    defect: Defect,
    size: u64,
    has_pushed_out: bool,
}

impl BufferManager for Defective {
    fn admit<O: Backlog>(&mut self, arrival: &Arrival, backlog: &O) -> Admission {
        let size = self.size + u64::from(self.defect == Defect::OffByOne);
        let fits = backlog.bytes() + u64::from(arrival.length) <= size;
        let longest = (0..FLOWS as u32).map(Flow).max_by_key(|&flow| backlog.flow_bytes(flow)).unwrap();
        let is_hopeless = u64::from(arrival.length) > size;
        match self.defect {
            Defect::AcceptsAll => Admission::Accept,
            Defect::InVain if self.has_pushed_out => {
                self.has_pushed_out = false;
                Admission::Refuse(DropReason::SharedLimit)
            }
            Defect::NeverEnds if backlog.packets() > 3 || self.has_pushed_out => {
                self.has_pushed_out = true;
                Admission::PushOut(Victim::Tail(longest))
            }
            _ if fits => Admission::Accept,
            _ if is_hopeless => Admission::Refuse(DropReason::SharedLimit),
            Defect::EmptyQueue => Admission::PushOut(Victim::Tail(arrival.flow)),
            _ => {
                self.has_pushed_out = true;
                Admission::PushOut(Victim::Head(longest))
            }
        }
    }
}

#[test]
fn defective_managers_are_caught() {
    let run = |defect| {
        let mut broken = Vec::new();
        for seed in 0..20 {
            for traffic in TRAFFIC {
                let parameters = BufferParameters { flows: FLOWS, bytes: Some(6_000), ..BufferParameters::default() };
                let manager = Defective { defect, size: 6_000, has_pushed_out: false };
                broken.extend(check(manager, None, &parameters, traffic, &mut Random(seed)).err());
            }
        }
        broken
    };
    assert_eq!(run(Defect::None), [""; 0], "the skeleton itself has to pass, or catching its variants means nothing");
    for (defect, law) in [
        (Defect::AcceptsAll, "beyond a limit"),
        (Defect::OffByOne, "beyond a limit"),
        (Defect::InVain, "in vain"),
        (Defect::EmptyQueue, "empty queue"),
        (Defect::NeverEnds, "empty queue"),
    ] {
        assert!(run(defect).iter().any(|broken| broken.contains(law)), "{defect:?} was not caught by '{law}'");
    }
}

/// A manager that is never told of changes.
struct Deaf<B>(B);

impl<B: BufferManager> BufferManager for Deaf<B> {
    fn needs_marked_lists(&self) -> bool {
        self.0.needs_marked_lists()
    }

    fn admit<O: Backlog>(&mut self, arrival: &Arrival, backlog: &O) -> Admission {
        self.0.admit(arrival, backlog)
    }
}

#[test]
fn managers_that_miss_their_definition_are_caught() {
    fn broken(kind: BufferKind, manager: impl BufferManager, parameters: &BufferParameters) -> String {
        check(manager, Some(kind), parameters, Traffic::Elephant, &mut Random(3)).err().unwrap_or_default()
    }
    let parameters = BufferParameters { flows: FLOWS, bytes: Some(6_000), ..BufferParameters::default() };
    let doubled = BufferParameters { alpha: Alpha::from_exponent(1), ..parameters.clone() };
    let doubled = BufferKind::DynamicThreshold.build(&doubled).unwrap();
    assert!(broken(BufferKind::DynamicThreshold, doubled, &parameters).contains("by definition"));
    let deaf = Deaf(BufferKind::LongestQueuePushOut.build(&parameters).unwrap());
    assert!(broken(BufferKind::LongestQueuePushOut, deaf, &parameters).contains("by definition"));
}
