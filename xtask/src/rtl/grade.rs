//! Speed grades of the device.

/// A speed grade of the device: the same netlist, placed and routed by the delays of that grade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Grade {
    /// The slowest: clocks without a grade are of this one.
    #[value(name = "6")]
    Six,
    #[value(name = "8")]
    Eight,
}

impl Grade {
    /// As nextpnr takes it.
    pub const fn number(self) -> &'static str {
        match self {
            Grade::Six => "6",
            Grade::Eight => "8",
        }
    }

    /// The clock to expect where grade 6 has this one.
    pub const fn clock(self, megahertz: u32) -> u32 {
        match self {
            Grade::Six => megahertz,
            Grade::Eight => megahertz + megahertz / 4,
        }
    }
}
