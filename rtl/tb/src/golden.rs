//! The golden model of engines with queues inside: the device model for up to 32 streams, the scan for more.

use tidegate_core::dwcs::{Dwcs, Early, Missed, Order, Rules, Scan, Stream};
use tidegate_rtl_model::{Architecture, Clock, Device, Size};

/// The device model on the smallest network with this many ports, or the scan without any, for these streams; the clock begins at `start`.
///
/// # Errors
/// If there is no such network, or the model does not take a stream.
pub fn golden(ports: Option<usize>, streams: &[Stream], start: u64) -> Result<Box<dyn Dwcs>, String> {
    if let Some(ports) = ports {
        let size = Size::ALL.into_iter().find(|size| size.ports() >= ports).ok_or("no such network")?;
        let device = Device::new(Architecture::winner_only(size), Clock::Outside, start, streams);
        Ok(Box::new(device.map_err(|error| error.to_string())?))
    } else {
        let rules = Rules { missed: Missed::Complete, early: Early::Clamp };
        Ok(Box::new(Scan::new(rules, Order::DeadlineFirst, streams).map_err(|error| error.to_string())?))
    }
}
