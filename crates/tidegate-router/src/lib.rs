//! A PC as a router: processor, bus, rings and kernel as a network of queues.
//!
//! A [`Machine`] describes the hardware and the forwarding path of its kernel. Frames arrive from the simulator's sources and cross a
//! receive FIFO, a bus, a ring of descriptors, the processor, and the same way out. Each flow is one class of customers.
//!
//! | module | holds |
//! |---|---|
//! | [`machine`] | what describes a machine and its flows |
//! | [`presets`] | two PCs of 2002 |
//! | [`traffic`] | packets by flow and length, and the same traffic at another rate |
//! | [`ceilings`] | what each resource alone lets through |
//! | [`capacity`](mod@capacity) | how much is forwarded without loss, and with which delays |
//! | [`vacations`] | a polling server in closed form |
//! | [`pcie`] | a PCI Express link in bytes per frame |
//! | [`check`](mod@check) | which machines can be run |
//! | [`outcome`] | one trial, and what it measured |
//! | [`direction`] | a model of a direction of `tidegate live`, driven by recorded arrivals |
//! | [`fit`] | from recordings to costs |
//! | [`compare`] | that model beside a measurement |
#![warn(missing_docs)]

mod agenda;
mod arrivals;
mod bus;
mod bus_timing;
pub mod capacity;
pub mod ceilings;
pub mod check;
pub mod compare;
mod cost;
mod cpu;
pub mod direction;
mod engine;
mod fair;
pub mod fit;
mod guarding;
mod kernel;
pub mod machine;
mod measure;
mod nic;
mod node;
mod noise;
pub mod outcome;
mod packet;
pub mod pcie;
pub mod presets;
mod ready_set;
mod single;
pub mod traffic;
pub mod vacations;

pub use check::{Invalid, check, check_machine};
pub use machine::{
    Arbiter, Bus, BusGuard, Distribution, Feedback, Kernel, Level, Machine, MemorySystem, Nic, Noise, NoiseArrivals, Overheads, Pci,
    PcieLink, RouterFlow, Stage, Variation, Wake, Work,
};
pub use outcome::{Account, Batches, CoreUse, Fidelity, FlowOutcome, GuardUse, Loss, Losses, RouterOutcome, Trial};

/// Runs one trial.
///
/// ```
/// use tidegate_core::units::{Duration, Rate};
/// use tidegate_router::{Kernel, Machine, RouterFlow, Trial, run};
/// use tidegate_sim::source::{Cbr, Source};
///
/// // 100,000 packets of 512 bytes per second are too many for a processor of 233 MHz.
/// let source = Source::Cbr(Cbr { rate: Rate::new(512 * 8 * 100_000).unwrap(), length: 512, random_phase: true });
/// let flow = RouterFlow { jitter: 0.05, ..RouterFlow::new("flow", source, 0, Some(1)) };
/// let trial = Trial::new(Duration::from_milliseconds(50), 1);
/// let forwarded = |machine| run(&machine, std::slice::from_ref(&flow), &trial).unwrap().flows[0].forwarded * 20;
/// // Interrupts take most of the processor's time for packets that are lost; polling does not.
/// assert!(forwarded(Machine::system_one()) < 20_000);
/// assert!(forwarded(Machine { kernel: Kernel::POLLING, ..Machine::system_one() }) > 65_000);
/// ```
///
/// # Errors
/// The first [`Invalid`] value.
pub fn run(machine: &Machine, flows: &[RouterFlow], trial: &Trial) -> Result<RouterOutcome, Invalid> {
    check(machine, flows, trial)?;
    match trial.fidelity {
        Fidelity::SingleQueue { entries } => Ok(single::run(machine, flows, trial, entries)),
        Fidelity::Function | Fidelity::Level => engine::run(machine, flows, trial),
    }
}
