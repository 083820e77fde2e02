//! The table of a class's remarks, exactly as it is written; see [`super`].

use crate::header::DscpChange;
use crate::value::{At, Block, Whole};
use schemars::JsonSchema;
use serde::Deserialize;

/// The code points with which packets of the class leave. What is not given stays, and so does everything in a packet that has no such field.
/// The tables `green`, `yellow` and `red` hold for packets of their colour, and come before what stands beside them.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SetTable {
    /// The differentiated services code point of IPv4 and IPv6, 0 to 63 or a name, or `by-colour`: AFx1, AFx2 or AFx3 for a green, yellow or
    /// red packet that comes with any of them (RFC 2597); others stay.
    #[schemars(extend("default" = "it stays", "examples" = ["by-colour"]))]
    pub dscp: Option<At<DscpChange>>,
    /// The priority code point of the outermost VLAN tag.
    #[schemars(extend("default" = "it stays", "examples" = [5]))]
    pub pcp: Option<At<Whole<0, 7>>>,
    /// The drop eligible indicator of the outermost VLAN tag.
    #[schemars(extend("default" = "it stays", "examples" = [false]))]
    pub dei: Option<At<bool>>,
    /// For packets that leave green.
    #[schemars(extend("default" = "what holds for all", "examples" = [{ "dscp": "af11" }]))]
    pub green: Option<Block<ColourSetTable>>,
    /// For packets that leave yellow.
    #[schemars(extend("default" = "what holds for all", "examples" = [{ "dscp": "af12", "dei": true }]))]
    pub yellow: Option<Block<ColourSetTable>>,
    /// For packets that leave red.
    #[schemars(extend("default" = "what holds for all", "examples" = [{ "dscp": "default", "pcp": 1 }]))]
    pub red: Option<Block<ColourSetTable>>,
}

/// The code points with which packets of one colour leave.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ColourSetTable {
    /// The differentiated services code point, as in `set`.
    #[schemars(extend("default" = "that of `set`", "examples" = ["af12"]))]
    pub dscp: Option<At<DscpChange>>,
    /// The priority code point of the outermost VLAN tag.
    #[schemars(extend("default" = "that of `set`", "examples" = [1]))]
    pub pcp: Option<At<Whole<0, 7>>>,
    /// The drop eligible indicator of the outermost VLAN tag.
    #[schemars(extend("default" = "that of `set`", "examples" = [true]))]
    pub dei: Option<At<bool>>,
}
