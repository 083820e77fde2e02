//! The paper's node as the policy of a port: partitions with push-out, the scheduler, and code points that carry the marks.

use super::packets::{PACKET, address, dscp, mbps};
use tidegate_core::buffer::{BufferParameters, Reserve};
use tidegate_core::classifier::{ClassRules, Classifier, Prefix, Rule};
use tidegate_core::packet::{Colour, Flow};
use tidegate_core::port::PortSetup;
use tidegate_core::registry::{AnyBufferManager, AnyScheduler, BufferKind, PartitionSpec, SchedulerKind};
use tidegate_core::remark::{CodePoint, Remark, Remarks};
use tidegate_core::scheduler::{FlowParameters, IntServOptions, Marks, Profile, ServiceClass, Setup};
use tidegate_core::units::{Duration, Overhead};

/// The rate of the link in Mbit/s.
pub const LINK: f64 = 10.0;

/// What a node knows of a flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Member {
    pub service: ServiceClass,
    /// Its rate in Mbit/s, unless it is best effort.
    pub rate: f64,
    /// The packets that it has declared as its burst.
    pub burst: u32,
    /// The nodes before this one on its path.
    pub upstream: u64,
}

impl Member {
    pub const fn guaranteed(rate: f64, burst: u32, upstream: u64) -> Member {
        Member { service: ServiceClass::Guaranteed, rate, burst, upstream }
    }

    pub const fn controlled(rate: f64, upstream: u64) -> Member {
        Member { service: ServiceClass::ControlledLoad, rate, burst: 20, upstream }
    }

    pub const fn best_effort() -> Member {
        Member { service: ServiceClass::BestEffort, rate: 0.0, burst: 0, upstream: 0 }
    }
}

/// How early a packet may come and still be in profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tolerance {
    /// As many microseconds at every node; 0 in the paper.
    Constant(u64),
    /// The jitter of the nodes before: a packet's time at the flow's rate and one on the link, each.
    Jitter,
}

/// How a node differs from the paper's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    pub tolerance: Tolerance,
    pub scheduler: IntServOptions,
    /// Guaranteed packets beyond the flow's reserved buffer count as marked.
    pub enforces_reserve: bool,
    /// The manager of the partition of controlled load.
    pub controlled: BufferKind,
    /// The partitions in packets.
    pub partitions: [u32; 3],
    /// The rate of the link in Mbit/s, and the longest packet in bytes.
    pub link: f64,
    pub packet: u32,
}

impl Options {
    /// The rules as they are printed.
    pub fn literal() -> Options {
        Options {
            tolerance: Tolerance::Constant(0),
            scheduler: IntServOptions::default(),
            enforces_reserve: false,
            controlled: BufferKind::SelectivePushoutPlus,
            partitions: [500, 500, 1000],
            link: LINK,
            packet: PACKET,
        }
    }

    pub fn tolerant(microseconds: u64) -> Options {
        Options { tolerance: Tolerance::Constant(microseconds), ..Options::literal() }
    }

    /// Marks only what the declared token bucket, with 5 packets for jitter, has no tokens for.
    pub fn profile_marks() -> Options {
        Options::literal().with(|scheduler| scheduler.marks = Marks::Profile)
    }

    /// Packets out of profile per packets of best effort.
    pub fn weights(self, out_of_profile: u32, best_effort: u32) -> Options {
        self.with(|scheduler| (scheduler.out_of_profile_weight, scheduler.best_effort_weight) = (out_of_profile, best_effort))
    }

    fn with(mut self, change: impl FnOnce(&mut IntServOptions)) -> Options {
        change(&mut self.scheduler);
        self
    }
}

/// The parameters of a flow for the scheduler.
pub fn parameters(member: &Member, options: &Options) -> FlowParameters {
    let is_rated = member.service != ServiceClass::BestEffort;
    let tolerance = match options.tolerance {
        Tolerance::Constant(microseconds) => microseconds * 1_000_000,
        Tolerance::Jitter => {
            let packet = |rate: f64| f64::from(options.packet) * 8.0 / rate * 1e6;
            member.upstream * (packet(member.rate) + packet(options.link)).ceil() as u64
        }
    };
    // Controlled load declares 1000 packets per second, whatever rate it is given here.
    let declared = if member.service == ServiceClass::ControlledLoad { 1.0 } else { member.rate };
    let profile = || Profile { rate: mbps(declared), burst: (member.burst + 5) * options.packet };
    FlowParameters {
        class: Some(member.service),
        rate: is_rated.then(|| mbps(member.rate)),
        tolerance: is_rated.then(|| Duration::from_picoseconds(tolerance)),
        profile: (is_rated && options.scheduler.marks == Marks::Profile).then(profile),
        ..FlowParameters::default()
    }
}

/// The port of a node. Flows are classes in the order of `members`; a flow that does not pass here is `None` and has a place without traffic.
pub fn node(members: &[Option<Member>], options: &Options) -> PortSetup {
    let buffer = buffer(members, options);
    let members: Vec<Member> = members.iter().map(|member| member.unwrap_or(Member::best_effort())).collect();
    let class = |(flow, _): (usize, &Member)| {
        let rule = Rule { source: Some(Prefix::V4 { address: address(flow), length: 32 }), ..Rule::default() };
        let is_last = flow + 1 == members.len();
        ClassRules { name: format!("flow {flow}"), queues: 1, rules: if is_last { vec![] } else { vec![rule] } }
    };
    let setup = Setup { intserv: options.scheduler, ..Setup::new(mbps(options.link), options.packet) };
    let flows: Vec<FlowParameters> = members.iter().map(|member| parameters(member, options)).collect();
    let scheduler: AnyScheduler = SchedulerKind::IntegratedServices.build(&setup, &flows).expect("rates are given");
    let remarks = members.iter().map(|member| {
        [Colour::Green, Colour::Yellow, Colour::Red].map(|colour| {
            let dscp = CodePoint::Set(dscp(member.service, colour != Colour::Green));
            Remark { dscp, ..Remark::KEEP }
        })
    });
    PortSetup {
        rate: mbps(options.link),
        overhead: Overhead::None,
        classifier: Classifier::new(members.iter().enumerate().map(class).collect(), 1).expect("one rule per flow"),
        policers: vec![None; members.len()],
        aqms: Vec::new(),
        seed: 0,
        buffer,
        scheduler,
        packet_limit: options.partitions.iter().sum(),
        longest_frame: options.packet,
        remarks: Remarks::new(remarks.collect()),
    }
}

/// A partition for each service, and nothing shared between them.
fn buffer(members: &[Option<Member>], options: &Options) -> AnyBufferManager {
    let services = [ServiceClass::Guaranteed, ServiceClass::ControlledLoad, ServiceClass::BestEffort];
    let kinds = [BufferKind::SelectivePushout, options.controlled, BufferKind::DynamicThreshold];
    let partition_of: Vec<Option<u32>> = members
        .iter()
        .map(|member| member.and_then(|member| services.iter().position(|&service| service == member.service)).map(|place| place as u32))
        .collect();
    let spec = |(place, kind): (usize, BufferKind)| {
        let flows: Vec<&Member> = members.iter().flatten().filter(|member| member.service == services[place]).collect();
        let reserve =
            |(flow, member): (usize, &&Member)| Reserve { first_flow: Flow(flow as u32), flows: 1, bytes: member.burst * options.packet };
        let enforces = options.enforces_reserve && services[place] == ServiceClass::Guaranteed;
        let parameters = BufferParameters {
            flows: flows.len().max(1),
            packets: Some(options.partitions[place]),
            reserves: if enforces { flows.iter().enumerate().map(reserve).collect() } else { Vec::new() },
            ..BufferParameters::default()
        };
        PartitionSpec { kind, parameters }
    };
    let specs: Vec<PartitionSpec> = kinds.into_iter().enumerate().map(spec).collect();
    AnyBufferManager::partitioned(&specs, &partition_of).expect("every flow has a partition")
}
