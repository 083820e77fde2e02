//! Builds a machine from its tables.

use super::document::{
    BusTable, DistributionTable, GuardTable, KernelTable, MachineTable, NicTable, NoiseTable, OverheadsTable, StageTable, VariationTable,
    WorkTable,
};
use super::tables::Tables;
use super::value::Wake as WakeValue;
use crate::choice::{BusKind, KernelKind, NoiseKind, VariationKind};
use crate::diagnostic::{Diagnostic, Span};
use crate::value::Or;
use crate::value::{At, Block, Given, Name, Text, Whole};
use tidegate_core::units::Duration;
use tidegate_router::{
    Arbiter, Bus, BusGuard, Distribution, Feedback, Kernel, Machine, MemorySystem, Nic, Noise, NoiseArrivals, Overheads, Pci, PcieLink,
    Stage, Variation, Wake, Work,
};

/// Builds a machine, and the name of each interface. What one value alone cannot show is left to [`tidegate_router::check_machine`].
pub(crate) struct Builder<'a> {
    pub tables: &'a mut Tables,
    pub findings: &'a mut Vec<Diagnostic>,
}

/// The value of a whole number that fits into 32 bits.
fn small<const MIN: u64, const MAX: u64>(at: &Option<At<Whole<MIN, MAX>>>, default: u32) -> u32 {
    at.as_ref().map_or(default, |at| u32::try_from(at.value.0).unwrap_or(u32::MAX))
}

fn time(at: &Option<At<Duration>>) -> Duration {
    at.as_ref().map_or(Duration::ZERO, |at| at.value)
}

fn work(table: &Option<Block<WorkTable>>) -> Work {
    let work = |table: &Block<WorkTable>| Work { cycles: table.cycles.as_ref().map_or(0.0, |at| at.value.0), memory: time(&table.memory) };
    table.as_ref().map_or(Work::NONE, work)
}

impl Builder<'_> {
    /// The machine, and the names of its interfaces.
    pub fn machine(&mut self, table: &MachineTable) -> (Machine, Vec<At<Name>>) {
        let kernel = self.kernel(&table.kernel, table.overheads.as_deref());
        let mut overheads = overheads(table.overheads.as_deref());
        if let Some(turn) = &table.kernel.turn {
            overheads.poll = Work { cycles: 0.0, memory: turn.value };
        }
        let is_busy = matches!(kernel, Kernel::Polling { wake: Wake::Busy, .. });
        let machine = Machine {
            cores: small(&table.cores, 1),
            clock_hz: table.clock.value.0,
            memory_scale: 1.0,
            routes: table.routes.as_ref().map_or(1, |at| at.value.0),
            memory: self.memory(table),
            imbalance: table.imbalance.as_ref().map_or(1.0, |at| at.as_f64()),
            bus: self.bus(&table.bus, is_busy),
            nics: table.nic.iter().map(|nic| nic_of(nic)).collect(),
            kernel,
            overheads,
            stages: table.stage.iter().map(|stage| stage_of(stage)).collect(),
            variation: self.variation(table.variation.as_ref(), table.stage.len()),
            noise: table.noise.iter().filter_map(|noise| self.noise(noise)).collect(),
            guard: table.guard.as_ref().map(|guard| self.guard(guard, table.bus.kind.0)),
        };
        (machine, self.nic_names(&table.nic))
    }

    fn nic_names(&mut self, nics: &[Block<NicTable>]) -> Vec<At<Name>> {
        let mut names: Vec<At<Name>> = Vec::new();
        for (index, nic) in nics.iter().enumerate() {
            let name = nic.name.clone().unwrap_or_else(|| At { value: Name(format!("nic{index}")), span: nic.span.clone() });
            if let Some(same) = names.iter().find(|known| known.value == name.value) {
                let finding = name.error(format!("two interfaces are called `{}`", name.0));
                self.findings.push(finding.context(same.span.clone(), "the other one").help("give each a `name` of its own"));
            }
            names.push(name);
        }
        names
    }

    fn memory(&mut self, table: &MachineTable) -> Option<MemorySystem> {
        let Some(bandwidth) = &table.memory_bandwidth else {
            let unused = [("ddio", table.ddio.place()), ("copies", table.copies.place()), ("missed_lines", table.missed_lines.place())];
            for (key, span) in unused {
                self.refuse(
                    span,
                    &format!("`{key}` has no effect without `memory_bandwidth`"),
                    "add memory_bandwidth = \"40 GB/s\", or remove it",
                );
            }
            return None;
        };
        Some(MemorySystem {
            bandwidth: bandwidth.value.0 as f64,
            ddio: table.ddio.as_ref().map_or(0.0, |at| at.value.0),
            copies: table.copies.as_ref().map_or(0.0, |at| at.value.0),
            missed_lines: table.missed_lines.as_ref().map_or(0.0, |at| at.value.0),
        })
    }

    /// Reports a key that is given and has no place here.
    fn refuse(&mut self, span: Option<Span>, problem: &str, help: &str) {
        if let Some(span) = span {
            self.findings.push(Diagnostic::error(span, problem).help(help));
        }
    }

    fn bus(&mut self, table: &Block<BusTable>, is_busy: bool) -> Bus {
        let pci = [
            ("clock", table.clock.place()),
            ("width", table.width.place()),
            ("overhead", table.overhead.place()),
            ("burst", table.burst.place()),
            ("arbiter", table.arbiter.place()),
        ];
        let pcie = [
            ("generation", table.generation.place()),
            ("lanes", table.lanes.place()),
            ("max_payload", table.max_payload.place()),
            ("max_read_request", table.max_read_request.place()),
            ("descriptor_batch", table.descriptor_batch.place()),
            ("write_back", table.write_back.place()),
            ("interrupts", table.interrupts.place()),
        ];
        match table.kind.0 {
            BusKind::Pci => {
                for (key, span) in pcie {
                    self.refuse(span, &format!("`{key}` is not used by a pci bus"), "remove it, or set kind = \"pcie\"");
                }
                let usual = Pci::PCI_32_33;
                let bytes = |at: &At<crate::value::Bytes>| u32::try_from(at.value.0).unwrap_or(u32::MAX);
                Bus::Pci(Pci {
                    clock_hz: table.clock.as_ref().map_or(usual.clock_hz, |at| at.value.0),
                    width: table.width.as_ref().map_or(usual.width, bytes),
                    overhead: small(&table.overhead, usual.overhead),
                    burst: table.burst.as_ref().map(bytes),
                    arbiter: table.arbiter.as_ref().map_or(Arbiter::RoundRobin, |at| at.0),
                })
            }
            BusKind::Pcie => {
                for (key, span) in pci {
                    self.refuse(span, &format!("`{key}` is not used by a pcie bus"), "remove it, or set kind = \"pci\"");
                }
                for (key, is_given) in [("generation", table.generation.is_some()), ("lanes", table.lanes.is_some())] {
                    if !is_given {
                        self.findings
                            .push(table.error(format!("a pcie bus lacks `{key}`")).help("add generation = 3 and lanes = 8, or yours"));
                    }
                }
                Bus::Pcie(PcieLink {
                    generation: small(&table.generation, 3),
                    lanes: small(&table.lanes, 1),
                    max_payload: small(&table.max_payload, 256),
                    max_read_request: small(&table.max_read_request, 512),
                    descriptor_batch: small(&table.descriptor_batch, 1),
                    write_back: small(&table.write_back, 1),
                    interrupts: table.interrupts.as_ref().map_or(!is_busy, |at| at.value),
                })
            }
        }
    }

    fn kernel(&mut self, table: &Block<KernelTable>, overheads: Option<&OverheadsTable>) -> Kernel {
        let kind = table.kind.0;
        let polling = KernelKind::Polling;
        let keys: [(&str, Option<Span>, &[KernelKind]); 7] = [
            ("quota", table.quota.place(), &[polling]),
            ("batch", table.batch.place(), &[polling, KernelKind::Shares]),
            ("loop", table.turn.place(), &[polling]),
            ("wake", table.wake.place(), &[polling]),
            ("feedback", table.feedback.place(), &[polling]),
            ("input_weight", table.input_weight.place(), &[KernelKind::Shares]),
            ("estimate", table.estimate.place(), &[KernelKind::Shares]),
        ];
        for (key, span, kinds) in keys {
            if !kinds.contains(&kind) {
                let help =
                    if kinds.contains(&polling) { "remove it, or set kind = \"polling\"" } else { "remove it, or set kind = \"shares\"" };
                self.refuse(span, &format!("`{key}` is not used by this kind of kernel"), help);
            }
        }
        if let (Some(turn), Some(_)) = (&table.turn, overheads.and_then(|overheads| overheads.poll.as_ref())) {
            self.findings.push(turn.error("`loop` and `poll` of `overheads` say the same thing twice").help("keep one of them"));
        }
        match kind {
            KernelKind::Interrupt => Kernel::Interrupt,
            KernelKind::Polling => {
                if let (Some(quota), Some(batch)) = (&table.quota, &table.batch) {
                    let finding = quota.error("`quota` and `batch` exclude each other").context(batch.span.clone(), "also given here");
                    self.findings.push(
                        finding.help("`batch` counts packets that are there when a turn begins, `quota` those that come meanwhile too"),
                    );
                }
                let limit = table.quota.place().map(|_| small(&table.quota, 1)).or(table.batch.place().map(|_| small(&table.batch, 1)));
                let feedback = table.feedback.as_ref().map(|table| Feedback {
                    high: u32::try_from(table.high.value.0).unwrap_or(u32::MAX),
                    low: u32::try_from(table.low.value.0).unwrap_or(u32::MAX),
                    timeout: table.timeout.value,
                });
                Kernel::Polling { quota: limit, gated: table.batch.is_some(), feedback, wake: self.wake(table) }
            }
            KernelKind::Shares => Kernel::Shares {
                batch: small(&table.batch, 8),
                input_weight: table.input_weight.as_ref().map_or(2.0, |at| at.as_f64()),
                estimate: table.estimate.as_ref().map_or(Duration::from_microseconds(5), |at| at.value),
            },
        }
    }

    fn wake(&mut self, table: &KernelTable) -> Wake {
        match table.wake.as_ref().map(|wake| (&wake.value, &wake.span)) {
            None | Some((Or::Value(WakeValue::Interrupt), _)) => Wake::Interrupt,
            Some((Or::Value(WakeValue::Busy), span)) => {
                let turn = table.turn.as_ref().map_or(Duration::ZERO, |at| at.value);
                if turn == Duration::ZERO {
                    let finding = Diagnostic::error(span.clone(), "a thread that is always busy needs the time of its turns");
                    self.findings.push(finding.help("add loop = \"80 ns\", or what a turn at one interface takes"));
                }
                Wake::Busy
            }
            Some((Or::Value(WakeValue::After(time)), _)) => Wake::After(Distribution::Constant(*time)),
            Some((Or::Table(table), span)) => Wake::After(self.distribution(table, span)),
        }
    }

    fn distribution(&mut self, table: &DistributionTable, span: &Span) -> Distribution {
        let exponential = Distribution::Exponential { least: time(&table.least), beyond: time(&table.beyond) };
        match &table.table {
            Some(name) => {
                let twice = table.least.place().or(table.beyond.place());
                self.refuse(twice, "`table` says all times; `least` and `beyond` have no place beside it", "remove it, or remove `table`");
                self.times(name).map_or(exponential, Distribution::Table)
            }
            None => {
                if table.least.is_none() && table.beyond.is_none() {
                    let finding = Diagnostic::error(span.clone(), "a distribution without a time");
                    self.findings.push(
                        finding
                            .help("write a time like \"50 us\", { least = \"30 us\", beyond = \"40 us\" }, or { table = \"times.txt\" }"),
                    );
                }
                exponential
            }
        }
    }

    fn times(&mut self, name: &At<Text>) -> Option<std::sync::Arc<[Duration]>> {
        let times = self.tables.times(&name.0);
        times.map_err(|problem| self.findings.push(name.error(problem).help("a table has a time per line, like `12.5 us`"))).ok()
    }

    fn variation(&mut self, table: Option<&Block<VariationTable>>, stages: usize) -> Variation {
        let Some(table) = table else { return Variation::None };
        match table.kind.0 {
            VariationKind::Lognormal => {
                let unused = table.table.place().or(table.woken.place());
                self.refuse(unused, "a lognormal variation has no table", "remove it, or set kind = \"rows\"");
                let [common, own] = [&table.common, &table.own].map(|at| at.as_ref().map_or(0.0, |at| at.value.0));
                Variation::Lognormal { common, own, independent: false }
            }
            VariationKind::Rows => {
                let unused = table.common.place().or(table.own.place());
                self.refuse(unused, "measured rows have no other variation", "remove it, or set kind = \"lognormal\"");
                let Some(name) = &table.table else {
                    self.findings
                        .push(table.error("rows lack `table`").help("add table = \"rows.txt\": a line per packet, a factor per stage"));
                    return Variation::None;
                };
                let mut rows = |name: &At<Text>| {
                    let rows = self.tables.rows(&name.0, stages);
                    rows.map_err(|problem| {
                        self.findings.push(name.error(problem).help("a table of rows has a factor per stage in each line"))
                    })
                    .ok()
                };
                let batched = rows(name).unwrap_or_default();
                let woken = table.woken.as_ref().and_then(&mut rows).unwrap_or_default();
                Variation::Rows { woken, batched }
            }
        }
    }

    fn guard(&mut self, table: &Block<GuardTable>, bus: BusKind) -> BusGuard {
        if table.efficiency.is_none() && bus == BusKind::Pcie {
            let finding = table.error("a guard of a pcie bus lacks `efficiency`");
            self.findings.push(finding.help("add the part of the link to the host that reception may take, like efficiency = 0.7"));
        }
        BusGuard {
            period: table.period.value,
            clamp: Some(small(&table.clamp, 1)),
            theta: table.theta.as_ref().map_or(1.0, |at| at.value.0),
            efficiency: table.efficiency.as_ref().map_or(0.5, |at| at.value.0),
            cost: time(&table.cost),
            cost_per_flow: time(&table.cost_per_flow),
        }
    }

    fn noise(&mut self, table: &Block<NoiseTable>) -> Option<Noise> {
        let interval = table.interval.value;
        if interval == Duration::ZERO {
            self.findings
                .push(table.interval.error("noise without an interval would never let go of the core").help("write a time above 0"));
            return None;
        }
        let arrivals = match table.kind.0 {
            NoiseKind::Periodic => NoiseArrivals::Periodic(interval),
            NoiseKind::Poisson => NoiseArrivals::Poisson(interval),
        };
        let cost = match &table.cost.value {
            Or::Value(time) => Distribution::Constant(*time),
            Or::Table(distribution) => self.distribution(distribution, &table.cost.span),
        };
        Some(Noise { arrivals, cost, core: small(&table.core, 0) })
    }
}

fn overheads(table: Option<&OverheadsTable>) -> Overheads {
    table.map_or(Overheads::default(), |table| Overheads {
        interrupt: work(&table.interrupt),
        soft: work(&table.soft),
        reclaim: work(&table.reclaim),
        stub: work(&table.stub),
        poll: work(&table.poll),
        switch: work(&table.switch),
        classify: work(&table.classify),
    })
}

fn nic_of(table: &NicTable) -> Nic {
    let usual = Nic::ethernet(table.rate.value);
    Nic {
        rate: table.rate.value,
        frame_overhead: table.frame_overhead.as_ref().map_or(usual.frame_overhead, |at| u32::try_from(at.value.0).unwrap_or(u32::MAX)),
        receive_fifo: table.receive_fifo.as_ref().map_or(usual.receive_fifo, |at| at.value.0),
        ring: small(&table.ring, usual.ring),
        channels: small(&table.channels, usual.channels),
        transmit_ring: small(&table.transmit_ring, usual.transmit_ring),
        transmit_queue: small(&table.transmit_queue, usual.transmit_queue),
        transmit_fifo: table.transmit_fifo.as_ref().map_or(usual.transmit_fifo, |at| at.value.0),
        coalescing: small(&table.coalescing, usual.coalescing),
    }
}

fn stage_of(table: &StageTable) -> Stage {
    Stage {
        name: table.name.0.clone(),
        cycles: table.cycles.as_ref().map_or(0.0, |at| at.value.0),
        memory: time(&table.memory),
        per_byte: time(&table.per_byte),
        per_route_bit: time(&table.per_route_bit),
        level: table.level.0,
        queue: table.queue.as_ref().map(|_| small(&table.queue, 1)),
    }
}
