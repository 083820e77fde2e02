//! The tables of the members of a scheduling tree, classes and groups, exactly as they are written; see [`super`].

use super::{
    AqmTable, BufferTable, CellContractTable, DwcsTable, Ignored, IntServTable, PoliceTable, ProfileTable, PromiseTable, RuleTable,
    SetTable, ShapeTable, changes,
};
use crate::choice::{AqmName, HostFairnessName, LateName, SchedulerName, ServiceClassName, SpreadName};
use crate::service::name::ServiceName;
use crate::units::{Limit, Period};
use crate::value::{At, Block, Bytes, Name, Or, Whole};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use tidegate_core::units::{Duration, Rate};

/// The keys of a class or a group that the scheduler above it reads.
pub struct MemberKeys<'a> {
    pub name: &'a At<Name>,
    pub priority: &'a Option<At<Whole<0, 4_294_967_295>>>,
    pub weight: &'a Option<At<Whole<1, 4_294_967_295>>>,
    pub rate: &'a Option<At<Rate>>,
    pub delay: &'a Option<At<Duration>>,
    pub service: &'a Option<At<ServiceName>>,
    pub period: &'a Option<At<Period>>,
    pub late: &'a Option<At<LateName>>,
    pub penalty: &'a Option<At<Whole<0, 4_294_967_295>>>,
    pub service_class: &'a Option<At<ServiceClassName>>,
    pub tolerance: &'a Option<At<Duration>>,
    pub profile: &'a Option<Box<Block<ProfileTable>>>,
    pub shape: &'a Option<Block<ShapeTable>>,
}

fn name_of_template(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<At<Name>>()
}

/// Adds the keys that classes and groups share. They cannot be a flattened table, which would lose the places of keys.
macro_rules! member {
    ($(#[$meta:meta])* pub struct $table:ident { $($own:tt)* }) => {
        $(#[$meta])*
        pub struct $table {
            $($own)*
            /// Repeats the table for each value of its variables: a range with both ends, or a list. Texts have holes with a variable or arithmetic: `{i}`, `{i+1}`.
            #[serde(default, rename = "for")]
            #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
            #[schemars(schema_with = "changes", extend("default" = "none", "examples" = [{ "i": "1..8" }]))]
            pub repeat: Ignored,
            /// The template that it is filled from. Its own keys come on top.
            #[serde(default, rename = "use")]
            #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
            #[schemars(schema_with = "name_of_template", extend("default" = "none", "examples" = ["shop"]))]
            pub template: Ignored,
            /// The values of the holes of the template, by name.
            #[serde(default)]
            #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
            #[schemars(schema_with = "changes", extend("default" = "none", "examples" = [{ "rate": "5 Mbit/s" }]))]
            pub with: Ignored,
            /// The group it hangs below.
            #[schemars(extend("default" = "the link"))]
            pub parent: Option<At<Name>>,
            /// Rank under strict priority, and for `service = "static-priority"`: 0 is served first.
            pub priority: Option<At<Whole<0, 4_294_967_295>>>,
            /// Share relative to the classes and groups beside it; with `dwcs`, relative to the other fair shares.
            #[schemars(extend("examples" = [3]))]
            pub weight: Option<At<Whole<1, 4_294_967_295>>>,
            /// For `edf` and `window`: the time between two deadlines, in slots (the time of the longest packet, overhead included, at the rate
            /// that is shared) or as a duration, which is rounded down to whole slots.
            #[schemars(extend("default" = "1 slot for `window`; `edf` needs one", "examples" = ["4 slots"]))]
            pub period: Option<At<Period>>,
            /// For `edf` and `window`: the action on packets that have missed their deadline.
            #[schemars(extend("default" = "send"))]
            pub late: Option<At<LateName>>,
            /// For `edf`, `window` and `fair-share`: how much a missed deadline beyond the window raises the precedence, as an addition to the
            /// denominator of the window.
            #[schemars(extend("default" = "1; 0 for `fair-share`", "examples" = [1]))]
            pub penalty: Option<At<Whole<0, 4_294_967_295>>>,
            /// For `intserv`: the service that it gets.
            #[schemars(extend("default" = "best-effort"))]
            pub service_class: Option<At<ServiceClassName>>,
            /// For `svc` and `intserv`: how long before its virtual start a packet counts as in profile (CDVT). What upstream links may move it forward.
            #[schemars(extend("default" = "0 s", "examples" = ["1 ms"]))]
            pub tolerance: Option<At<Duration>>,
            /// For `intserv` with `marks = "profile"`: the traffic that it has declared.
            #[schemars(extend("default" = "none"))]
            pub profile: Option<Box<Block<ProfileTable>>>,
            /// A buffer of its own, a partition: nothing else may use it, and it may use no other. A class belongs to its own, or to that of the innermost
            /// group that has one.
            #[schemars(extend("default" = "that of the group above, or the policy's", "examples" = [{ "manager": "selective-pushout", "limit": "60 kB" }]))]
            pub buffer: Option<Box<Block<BufferTable>>>,
        }

        impl $table {
            /// The keys for the scheduler above.
            pub fn keys(&self) -> MemberKeys<'_> {
                let $table { name, priority, weight, rate, delay, service, period, late, penalty, service_class, tolerance, profile, shape, .. } = self;
                MemberKeys { name, priority, weight, rate, delay, service, period, late, penalty, service_class, tolerance, profile, shape }
            }
        }
    };
}

member! {
    /// A class of traffic: which packets, and how they are treated.
    #[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct ClassTable {
        /// A name that no other class or group of the policy has.
        #[schemars(extend("examples" = ["voice"]))]
        pub name: At<Name>,
        /// Which packets belong to it: those that one of these rules matches. A rule matches if all of its fields do.
        #[serde(rename = "match")]
        #[schemars(extend("default" = "what no rule of another class matched", "examples" = [[{ "dscp": "ef" }, { "protocol": "udp", "destination_port": "16384-32767" }]]))]
        pub rules: Option<Block<Vec<Block<RuleTable>>>>,
        /// The number of queues its packets are spread over, by a hash of addresses, protocol and ports, so that each transport flow stays
        /// in order and heavy ones do not hurt light ones.
        #[schemars(extend("default" = "1; 2 with `spread = \"code-point\"`", "examples" = [1024]))]
        pub queues: Option<At<Whole<1, 1_048_576>>>,
        /// For `intserv` above: the number of calls that the class has room for, in place of `queues`. Each has a queue of its own, which the scheduler
        /// above serves as a member by itself, with the service and the rate that admission gives the call. Places that no `calls` use get best effort.
        #[schemars(extend("default" = "none: the class is for no calls", "examples" = [16]))]
        pub places: Option<Box<At<Whole<1, 65_536>>>>,
        /// The time from arrival to the last bit sent that calls may use up here. A class with a budget is for `calls` alone: they are admitted
        /// while it is proven that no packet of any class with a budget waits longer. It has one queue directly below the link, under `fifo`,
        /// `strict-priority`, `edf`, `wf2q+`, `scfq`, `qfq`, `drr` or `wrr`, and a buffer in which no class without a budget is.
        #[schemars(extend("default" = "none: the class is for no calls", "examples" = ["5 ms"]))]
        pub budget: Option<Box<At<Duration>>>,
        /// The order of service among the queues of the class, if it has several.
        #[schemars(extend("default" = "drr; dual-queue with `spread = \"code-point\"`"))]
        pub queue_scheduler: Option<At<SchedulerName>>,
        /// What decides on the queue of a packet, if the class has several.
        #[schemars(extend("default" = "flow; code-point with the AQM `dualpi2`", "examples" = ["code-point"]))]
        pub spread: Option<At<SpreadName>>,
        /// For `queue_scheduler = "sparse-round-robin"` and `host-round-robin`: what a queue may send per turn, in bytes on the wire. A smaller one serves small packets sooner.
        #[schemars(extend("default" = "the longest frame, overhead included", "examples" = ["300 B"]))]
        pub quantum: Option<Box<At<Bytes>>>,
        /// The hosts that get equal shares, whatever the number of their flows. With `fq-codel` it chooses the `queue_scheduler`.
        #[schemars(extend("default" = "both with `queue_scheduler = \"host-round-robin\"`", "examples" = ["source"]))]
        pub host_fairness: Option<At<HostFairnessName>>,
        /// For `queue_scheduler = "dual-queue"`: what the classic queue gets while both are backlogged, in percent.
        #[schemars(extend("default" = 10))]
        pub classic_share: Option<Box<At<Whole<1, 50>>>>,
        /// Guaranteed rate on the wire, not above the shape of the class or of a group above it.
        #[schemars(extend("examples" = ["2 Mbit/s"]))]
        pub rate: Option<At<Rate>>,
        /// For `weighted-buffer-allocation`: the rate for which each queue of the class has its part of the buffer.
        #[schemars(extend("default" = "none", "examples" = ["2 Mbit/s"]))]
        pub minimum_rate: Option<Box<At<Rate>>>,
        /// The largest tolerable time from arrival to start of transmission, from which deadlines follow.
        #[schemars(extend("examples" = ["10 ms"]))]
        pub delay: Option<At<Duration>>,
        /// The service that the scheduler `dwcs` above is asked for: the class's, by the name of the discipline that gives it.
        #[schemars(extend("default" = "fair-share", "examples" = ["window 1 of 4"]))]
        pub service: Option<At<ServiceName>>,
        /// The most that each queue of the class may hold, in bytes of frames or in packets. The packet in transmission is not counted.
        #[schemars(extend("default" = "no limit of its own", "examples" = ["50 packets"]))]
        pub limit: Option<At<Limit>>,
        /// For `selective-pushout` and `selective-pushout-plus`: the bytes of the buffer that each queue of the class has to itself. A packet that would
        /// bring the queue beyond them counts as marked.
        #[schemars(extend("default" = "none: packets are marked by their colour alone", "examples" = ["30 kB"]))]
        pub reserve: Option<Box<At<Bytes>>>,
        /// What keeps its queues short (active queue management): the name of an algorithm, or a table with its parameters.
        #[schemars(extend("default" = "none: packets are dropped when the buffer is full", "examples" = ["fq-codel", { "kind": "codel", "target": "10 ms" }]))]
        pub aqm: Option<Block<Or<AqmName, AqmTable>>>,
        /// The partition of the policy that its packets are in, in place of a `buffer` of its own.
        #[schemars(extend("default" = "none", "examples" = ["voice"]))]
        pub partition: Option<At<Name>>,
        /// The contract that arriving packets are held to: what is outside is dropped or marked.
        #[schemars(extend("default" = "none"))]
        pub police: Option<Box<Block<PoliceTable>>>,
        /// The code points with which packets leave. Without it packets leave with those they came with, and the colours that policers give
        /// change nothing on the wire.
        #[schemars(extend("default" = "none", "examples" = [{ "dscp": "by-colour" }]))]
        pub set: Option<Box<Block<SetTable>>>,
        /// The contract that leaving packets are delayed to keep.
        #[schemars(extend("default" = "none"))]
        pub shape: Option<Block<ShapeTable>>,
        /// With `cells`: the contract of each of the class's connections, one per queue.
        #[schemars(extend("default" = "none: up to the rate of the link, in priority 7", "examples" = [{ "peak_cell_rate": "15 Mbit/s" }]))]
        pub contract: Option<Box<Block<CellContractTable>>>,
        /// What the class is promised at this port; reports say whether it was kept.
        #[schemars(extend("default" = "none", "examples" = [{ "delay": "20 ms", "loss": "0.1 %" }]))]
        pub promise: Option<Box<Block<PromiseTable>>>,
    }
}

member! {
    /// An inner node of the scheduling tree: it shares what it is given among the classes and groups below it.
    #[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct GroupTable {
        /// A name that no other class or group of the policy has.
        #[schemars(extend("examples" = ["business"]))]
        pub name: At<Name>,
        /// The order of service among its children.
        #[schemars(extend("default" = "fifo"))]
        pub scheduler: Option<At<SchedulerName>>,
        /// For `scheduler = "dwcs"`: what holds for all that it serves.
        #[schemars(extend("default" = { "deadline": "complete", "early": "allow", "shares": "bytes", "admission": "warn" }))]
        pub dwcs: Option<Block<DwcsTable>>,
        /// For `scheduler = "intserv"` and `scheduler = "svc"`: what holds for all that it serves.
        #[schemars(extend("default" = { "stamp": "keep", "out_of_profile": "refund", "marks": "early" }))]
        pub intserv: Option<Block<IntServTable>>,
        /// Guaranteed rate on the wire, which its children share and their guarantees may not exceed in sum. Not above the shape of the group or of one
        /// above it.
        #[schemars(extend("default" = "what the scheduler above and the shape give it"))]
        pub rate: Option<At<Rate>>,
        /// The largest tolerable time from arrival to start of transmission.
        pub delay: Option<At<Duration>>,
        /// The service that the scheduler `dwcs` above is asked for: the group's, by the name of the discipline that gives it.
        #[schemars(extend("default" = "fair-share", "examples" = ["window 1 of 4"]))]
        pub service: Option<At<ServiceName>>,
        /// The contract that all packets below it together are delayed to keep.
        #[schemars(extend("default" = "none"))]
        pub shape: Option<Block<ShapeTable>>,
    }
}
