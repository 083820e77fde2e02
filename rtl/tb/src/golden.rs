//! The golden model of an engine for many streams: the device model as far as that goes, then the scan.

use tidegate_core::dwcs::{Dwcs, Early, Missed, Order, Rules, Scan, Stream};
use tidegate_rtl_model::{Architecture, Clock, Device, Size};

/// The device model on the smallest network with so many ports, or the scan, for these streams; its clock stands at `start`.
///
/// # Errors
/// If there is no such network, or the model does not take a stream.
pub fn golden(is_device: bool, ports: usize, streams: &[Stream], start: u64) -> Result<Box<dyn Dwcs>, String> {
    if is_device {
        let size = Size::ALL.into_iter().find(|size| size.ports() >= ports).ok_or("no such network")?;
        let device = Device::new(Architecture::winner_only(size), Clock::Outside, start, streams);
        Ok(Box::new(device.map_err(|error| error.to_string())?))
    } else {
        let rules = Rules { missed: Missed::Complete, early: Early::Clamp };
        Ok(Box::new(Scan::new(rules, Order::DeadlineFirst, streams).map_err(|error| error.to_string())?))
    }
}
