//! Where an end of a connection sends its packets: on one path, on one of several by a hash, or nowhere because no path is left.

use crate::route::Variant;
use crate::routing::choose_path;

pub(super) struct Starts {
    one: Variant,
    /// The paths, if there is not exactly one.
    several: Option<Box<Several>>,
}

struct Several {
    paths: Vec<Variant>,
    /// By which packets choose.
    hash: u64,
    /// The number of the first packet of the connection.
    before: u64,
}

impl Starts {
    pub(super) fn of_one(one: Variant) -> Starts {
        Starts { one, several: None }
    }

    /// The paths of a connection whose packets choose by this hash, and which has sent this number of packets before that are not its own.
    pub(super) fn new(paths: &[Variant], hash: u64, before: u64) -> Starts {
        let one = paths.first().copied().unwrap_or_default();
        let several = (paths.len() != 1).then(|| Box::new(Several { paths: paths.to_vec(), hash, before }));
        Starts { one, several }
    }

    /// Where the packet of this number starts; `None` if there is no path.
    #[inline]
    pub(super) fn of(&self, packet: u64) -> Option<Variant> {
        match self.several.as_deref() {
            None => Some(self.one),
            Some(Several { paths, hash, before }) => paths.get(choose_path(*hash, packet - before, paths.len() as u32) as usize).copied(),
        }
    }
}
