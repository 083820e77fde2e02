//! The option `--ack-filter` of `replay` and `live`.

use clap::ValueEnum;
use tidegate_wire::AckFilter;

/// Which queued acknowledgements are dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum AckFilterForm {
    /// Two of a connection stay
    Conservative,
    /// The newest stays
    Aggressive,
}

impl From<AckFilterForm> for AckFilter {
    fn from(form: AckFilterForm) -> AckFilter {
        match form {
            AckFilterForm::Conservative => AckFilter::Conservative,
            AckFilterForm::Aggressive => AckFilter::Aggressive,
        }
    }
}
