//! The tables of a port that sends cells, exactly as they are written; see [`super`].

use crate::choice::{BucketName, ConflictName, EncapsulationName, PrefetchName};
use crate::units::Ratio;
use crate::value::{At, Block, Whole};
use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_core::units::{Duration, Rate};

/// The cell scheduler of an ATM adapter. Frames wait in host memory, AAL5 makes cells of them, and each queue of a class is a connection with the
/// class's `contract`. In `tidegate run` and `tidegate replay`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellsTable {
    /// Which connection sends when several are due in one slot.
    #[schemars(extend("default" = "lazy"))]
    pub conflict: Option<At<ConflictName>>,
    /// The minimum shares of priorities 0, 1, ... in an overload. What they leave goes to the priorities in order.
    #[schemars(extend("default" = "none", "examples" = [["0 %", "0 %", "5 %"]]))]
    pub minimum_shares: Option<Block<Vec<At<Ratio>>>>,
    /// What AAL5 carries before each frame.
    #[schemars(extend("default" = "vc-multiplexed"))]
    pub encapsulation: Option<At<EncapsulationName>>,
    /// How cells come from host memory.
    #[schemars(extend("default" = "none: cells are on the adapter at once", "examples" = [{ "access_latency": "11 us", "bus_rate": "600 Mbit/s", "burst": 8, "buffer": 1024 }]))]
    pub transfer: Option<Block<TransferTable>>,
}

/// Transfers from host memory to the adapter, one after the other.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransferTable {
    /// When a connection's next cells are fetched.
    #[schemars(extend("default" = "just-in-time"))]
    pub prefetch: Option<At<PrefetchName>>,
    /// The longest time from a request to the first byte. Every transfer takes it.
    #[schemars(extend("examples" = ["11 us"]))]
    pub access_latency: At<Duration>,
    /// The rate of the bus, for the 48 bytes of each cell.
    #[schemars(extend("examples" = ["600 Mbit/s"]))]
    pub bus_rate: At<Rate>,
    /// The most cells of one transfer. A transfer never crosses the end of a frame.
    #[schemars(extend("default" = 8))]
    pub burst: Option<At<Whole<1, 65_535>>>,
    /// The cells that the adapter can hold.
    #[schemars(extend("examples" = [1024]))]
    pub buffer: At<Whole<1, 16_777_216>>,
}

/// The traffic contract of each connection of a class. Rates count cells of 53 bytes. Without a sustainable rate it is CBR, with one VBR.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellContractTable {
    /// PCR, at most the rate of the link.
    #[schemars(extend("examples" = ["15 Mbit/s"]))]
    pub peak_cell_rate: At<Rate>,
    /// SCR, at most the peak cell rate.
    #[schemars(extend("default" = "none: constant bit rate", "examples" = ["4 Mbit/s"]))]
    pub sustainable_cell_rate: Option<At<Rate>>,
    /// MBS: the most cells at the peak cell rate. Needed with a sustainable cell rate.
    #[schemars(extend("examples" = [100]))]
    pub maximum_burst_size: Option<At<Whole<1, 4_294_967_295>>>,
    /// CDVT: how late a cell may leave without delaying those after it. Below 65,536 cell slots.
    #[schemars(extend("default" = "the time of one cell on the link", "examples" = ["6 us"]))]
    pub cell_delay_variation_tolerance: Option<At<Duration>>,
    /// What follows a burst.
    #[schemars(extend("default" = "single"))]
    pub bucket: Option<At<BucketName>>,
    /// The priority in an overload, and under `conflict = "priority"` in every slot: 0 is served first.
    #[schemars(extend("default" = 0))]
    pub priority: Option<At<Whole<0, 7>>>,
}
