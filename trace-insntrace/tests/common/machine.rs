//! A processor whose time is known, and its packets.

use trace_insntrace::pt::{Compression, ExecMode, Ip, Packet, Timing, Tnt};

use crate::random::Random;

/// The ticks between two frequencies of the core.
const FREQUENCY_TICKS: u64 = 200_000;

/// What the processor writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Features {
    pub(crate) timing: Timing,
    pub(crate) has_mtc: bool,
    pub(crate) has_cycles: bool,
    /// One of so many packets with CYC before it has none, or none if 0: there were few cycles.
    pub(crate) skips: u64,
    /// One of so many branches is behind a gap in the packets, or none if 0.
    pub(crate) gaps: u64,
}

/// Packets, and the time at each of their branches.
#[derive(Debug, Default)]
pub(crate) struct Timed {
    pub(crate) packets: Vec<Packet>,
    pub(crate) branches: Vec<u64>,
}

pub(crate) struct Machine {
    random: Random,
    features: Features,
    out: Timed,
    /// The time stamp counter, and where the frequency changes.
    now: u64,
    changes_at: u64,
    /// The ratio of the core's frequency to the bus clock.
    ratio: u8,
    /// Cycles, in parts of the nominal ratio.
    cycles: u64,
    /// The cycles at the last CYC packet.
    written: u64,
    /// The last MTC packet, in units of its period.
    period: u64,
}

/// The ratio of the highest frequency without turbo.
pub(crate) const NOMINAL: u8 = 30;

impl Machine {
    /// Executes so many branches.
    pub(crate) fn run(random: Random, features: Features, branches: u64) -> Timed {
        let now = 1 << 40;
        let mut machine = Self {
            random,
            features,
            out: Timed::default(),
            now,
            changes_at: now + FREQUENCY_TICKS,
            ratio: NOMINAL,
            cycles: 0,
            written: 0,
            period: 0,
        };
        machine.boundary();
        machine.put(Packet::ModeExec(ExecMode::LONG));
        machine.put(Packet::TipPge(Ip::new(Compression::Extend48, 0x1000)));
        for _ in 0..branches {
            machine.branch();
        }
        machine.out
    }

    fn put(&mut self, packet: Packet) {
        self.out.packets.push(packet);
    }

    /// Returns the ticks of the crystal clock at a time.
    fn crystal(&self, time: u64) -> u64 {
        let (counter, clock) = self.features.timing.crystal.unwrap_or((1, 1));
        time * u64::from(clock) / u64::from(counter)
    }

    /// Returns the first time at which the crystal clock has so many ticks.
    fn time_of(&self, crystal: u64) -> u64 {
        let (counter, clock) = self.features.timing.crystal.unwrap_or((1, 1));
        (crystal * u64::from(counter)).div_ceil(clock.into())
    }

    /// Passes time up to `until`.
    fn pass(&mut self, until: u64) {
        self.cycles += (until - self.now) * u64::from(self.ratio);
        self.now = until;
    }

    /// Executes for some time. MTC packets come when their bits change.
    fn wait(&mut self, ticks: u64) {
        let until = self.now + ticks;
        while self.features.has_mtc {
            let period = self.period + 1;
            let at = self.time_of(period << self.features.timing.mtc_period);
            if at > until {
                break;
            }
            self.pass(at);
            self.period = period;
            self.write_cycles();
            self.put(Packet::Mtc(period as u8));
        }
        self.pass(until);
    }

    fn write_cycles(&mut self) {
        let nominal = u64::from(NOMINAL);
        let cycles = self.cycles / nominal - self.written / nominal;
        let skips = self.features.skips;
        let is_skipped = skips != 0 && self.random.below(skips) == 0;
        if self.features.has_cycles && cycles > 0 && !is_skipped {
            self.put(Packet::Cyc(cycles));
            self.written = self.cycles;
        }
    }

    /// Writes a time stamp, and where it is on the crystal clock.
    fn time_stamp(&mut self) {
        self.put(Packet::Tsc(self.now));
        if self.features.has_mtc {
            let crystal = self.crystal(self.now);
            let fast_counter = self.now - self.time_of(crystal).min(self.now);
            self.put(Packet::Tma { ctc: crystal as u16, fast_counter: fast_counter as u16 });
            self.period = crystal >> self.features.timing.mtc_period;
        }
    }

    fn boundary(&mut self) {
        self.put(Packet::Psb);
        self.time_stamp();
        self.put(Packet::Cbr(self.ratio));
        self.put(Packet::PsbEnd);
    }

    fn change_frequency(&mut self) {
        self.changes_at = self.now + FREQUENCY_TICKS;
        self.ratio = 10 + self.random.below(50) as u8;
        self.write_cycles();
        self.put(Packet::Cbr(self.ratio));
    }

    /// Packets are lost, and time passes.
    fn gap(&mut self) {
        self.put(Packet::Ovf);
        self.put(Packet::Fup(Ip::new(Compression::Extend48, 0x2000)));
        let ticks = self.random.below(100_000);
        self.pass(self.now + ticks);
        self.written = self.cycles;
        self.time_stamp();
    }

    fn branch(&mut self) {
        let period = self.time_of(1 << self.features.timing.mtc_period);
        // Few branches take long: fewer periods than MTC packets can count.
        let ticks = match self.random.below(20) {
            0 => self.random.below(5 * period),
            _ => self.random.below(500),
        };
        self.wait(ticks);
        if self.features.gaps != 0 && self.random.below(self.features.gaps) == 0 {
            self.gap();
        }
        if self.now >= self.changes_at {
            self.change_frequency();
        }
        if self.random.below(200) == 0 {
            self.write_cycles();
            self.put(Packet::Psb);
            self.time_stamp();
            self.put(Packet::Cbr(self.ratio));
            self.put(Packet::ModeExec(ExecMode::LONG));
            self.put(Packet::Fup(Ip::new(Compression::Extend48, 0x1000)));
            self.put(Packet::PsbEnd);
        }
        if self.random.below(50) == 0 {
            self.write_cycles();
            self.time_stamp();
        }
        self.write_cycles();
        self.out.branches.push(self.now);
        let bit = self.random.below(2);
        match self.random.below(2) {
            0 => self.put(Packet::Tip(Ip::new(Compression::Extend48, 0x1000 + 16 * bit))),
            _ => self.put(Packet::Tnt(Tnt::new(bit, 1).expect("one branch"))),
        }
    }
}
