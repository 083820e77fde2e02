//! Two PCs of 2002 that differ in their processor only: one is limited by it, the other by its bus.
//!
//! The costs are chosen, not measured: the thesis' parameters are not available. The path takes 13.3 us at 233 MHz and 4.55 us at 1 GHz. That is
//! about 2.2 times the Click router's on a 700 MHz Pentium III (Kohler et al., ACM TOCS 18(3), 2000).

use crate::machine::{
    Arbiter, Bus, BusGuard, Distribution, Kernel, Level, Machine, Nic, Noise, NoiseArrivals, Overheads, Pci, Stage, Variation, Wake, Work,
};
use tidegate_core::units::{Duration, Rate};

/// The seven functions of the path: name, cycles, nanoseconds in memory, level.
const PATH: [(&str, f64, u64, Level); 7] = [
    ("driver", 500.0, 600, Level::Interrupt),
    ("ether_input", 150.0, 100, Level::Interrupt),
    ("ip_input", 550.0, 350, Level::Soft),
    ("ip_forward", 300.0, 150, Level::Soft),
    ("ip_output", 450.0, 200, Level::Soft),
    ("ether_output", 300.0, 150, Level::Soft),
    ("if_start", 400.0, 350, Level::Soft),
];

const fn work(cycles: f64, nanoseconds: u64) -> Work {
    Work { cycles, memory: Duration::from_nanoseconds(nanoseconds) }
}

impl Overheads {
    /// Those of the two PCs.
    pub const PC_2002: Overheads = Overheads {
        interrupt: work(1200.0, 1600),
        soft: work(300.0, 200),
        reclaim: work(200.0, 250),
        stub: work(100.0, 100),
        poll: work(150.0, 50),
        switch: work(300.0, 100),
        classify: work(150.0, 100),
    };
}

impl Pci {
    /// 33 MHz and 32 bits, 8 clocks per grant, whole frames in turn: 132 MB/s.
    pub const PCI_32_33: Pci = Pci { clock_hz: 33_000_000, width: 4, overhead: 8, burst: None, arbiter: Arbiter::RoundRobin };
}

impl Kernel {
    /// Polling with a quota of 8, woken by interrupts.
    pub const POLLING: Kernel = Kernel::Polling { quota: Some(8), gated: false, feedback: None, wake: Wake::Interrupt };

    /// Processor shares in batches of 8, with a weight of 2 for input.
    pub const SHARES: Kernel = Kernel::Shares { batch: 8, input_weight: 2.0, estimate: Duration::from_microseconds(5) };
}

impl BusGuard {
    /// A guard for a forwarding router: a period of 200 us, half of the bus, a clamp of one share, 2 us and 1.5 us per flow.
    pub const FORWARDING: BusGuard = BusGuard {
        period: Duration::from_microseconds(200),
        clamp: Some(1),
        theta: 1.0,
        efficiency: 0.5,
        cost: Duration::from_microseconds(2),
        cost_per_flow: Duration::from_nanoseconds(1500),
    };
}

impl Machine {
    /// A PC of this clock with two interfaces of 1 Gbit/s on a PCI bus of 32 bits and 33 MHz, an interrupt-driven kernel and the noise of an idle
    /// system: clocks of 100 and 128 Hz, and 20 disturbances per second of 70 us on average.
    pub fn pc_2002(clock_hz: u64) -> Machine {
        let stage = |&(name, cycles, memory, level): &(&str, f64, u64, Level)| Stage {
            name: name.to_owned(),
            cycles,
            memory: Duration::from_nanoseconds(memory),
            per_byte: Duration::ZERO,
            per_route_bit: Duration::ZERO,
            level,
            queue: None,
        };
        let nic = Nic::ethernet(Rate::new(1_000_000_000).expect("1 Gbit/s is in range"));
        let constant = |cycles: f64, microseconds: u64| {
            let picoseconds = cycles * 1e12 / clock_hz as f64 + 1e6 * microseconds as f64;
            Distribution::Constant(Duration::from_picoseconds((picoseconds + 0.5) as u64))
        };
        let noise = |arrivals, cost| Noise { arrivals, cost, core: 0 };
        let disturbance = Distribution::Exponential { least: Duration::from_microseconds(30), beyond: Duration::from_microseconds(40) };
        Machine {
            cores: 1,
            clock_hz,
            memory_scale: 1.0,
            routes: 1,
            memory: None,
            imbalance: 1.0,
            bus: Bus::Pci(Pci::PCI_32_33),
            nics: vec![nic.clone(), nic],
            kernel: Kernel::Interrupt,
            overheads: Overheads::PC_2002,
            stages: PATH.iter().map(stage).collect(),
            variation: Variation::Lognormal { common: 0.15, own: 0.10, independent: false },
            noise: vec![
                noise(NoiseArrivals::Periodic(Duration::from_milliseconds(10)), constant(3000.0, 4)),
                noise(NoiseArrivals::Periodic(Duration::from_nanoseconds(7_812_500)), constant(1500.0, 2)),
                noise(NoiseArrivals::Poisson(Duration::from_milliseconds(50)), disturbance),
            ],
            guard: None,
        }
    }

    /// System one: 233 MHz. Its processor limits it, at about 60,000 packets per second.
    pub fn system_one() -> Machine {
        Machine::pc_2002(233_000_000)
    }

    /// System two: 1400 MHz. Its bus limits it, at 121,300 packets of 512 bytes per second.
    pub fn system_two() -> Machine {
        Machine::pc_2002(1_400_000_000)
    }
}
