//! Lists every kind of value. The loader judges a scalar by the name of its leaf, so that all wrong values are reported at once.

use crate::choice::{
    Admission, AqmName, ArbiterName, ArrivalsName, BufferName, BusName, CallServiceName, ConformanceName, DeadlineName, EarlyName, Holding,
    KernelName, LateName, LevelName, MarksName, NodeReading, NoiseName, OutOfProfileName, PolicerName, PresetName, ReadingName,
    SchedulerName, ServiceClassName, SharesName, SourceKind, StampingName, TinsName, TraceFormatName, VariationName, ViolationName,
};
use crate::document::PolicyName;
use crate::header::{Dscp, DscpChange, EthernetType, PortRange, Prefix, Protocol};
use crate::machine::value::{Amount, Bandwidth, Frequency, PacketRate, Part, Wake};
use crate::overhead::Overhead;
use crate::rate_trace::StepRate;
use crate::service::name::ServiceName;
use crate::units::{Limit, Period, Ratio};
use crate::value::{AlphaFactor, Bytes, Decimal, Gain, LEAF, Leaf, Name, Packets, Percentile, Scalar, Text, Title, WHOLE, whole};
use serde_json::Value;
use tidegate_core::classifier::{FlagPattern, LengthRange, MacPattern};
use tidegate_core::units::{Duration, Rate};

macro_rules! leaves {
    ($($leaf:ty),*) => {
        /// Judges a scalar by the schema of its place: the leaf's name and, for integers, the range.
        pub fn check(schema: &Value, scalar: &Scalar<'_>) -> Result<(), String> {
            let name = schema[LEAF].as_str().unwrap_or_default();
            if name == WHOLE {
                return whole(scalar, schema["minimum"].as_u64().unwrap_or(0), schema["maximum"].as_u64().unwrap_or(u64::MAX)).map(drop);
            }
            $(if name == <$leaf as Leaf>::NAME {
                return <$leaf as Leaf>::read(scalar).map(drop);
            })*
            Ok(())
        }
    };
}

leaves! {
    Name, PolicyName, Title, Text, bool, Rate, Duration, Bytes, Limit, Packets, Period, Gain, Ratio, Percentile, Decimal, AlphaFactor, Dscp, Protocol, EthernetType,
    Prefix, PortRange, LengthRange, MacPattern, FlagPattern, DscpChange, Overhead, SchedulerName, BufferName, AqmName, PolicerName, ConformanceName, ViolationName, ReadingName, LateName,
    ServiceClassName, StampingName, OutOfProfileName, MarksName, DeadlineName, EarlyName, SharesName, Admission, CallServiceName, ArrivalsName, ServiceName, SourceKind, Holding,
    PresetName, TinsName, NodeReading, KernelName, BusName, ArbiterName, LevelName, NoiseName, VariationName, StepRate, TraceFormatName, Amount, Bandwidth, Frequency, PacketRate, Part, Wake
}
