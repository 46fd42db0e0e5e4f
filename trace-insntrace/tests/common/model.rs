//! What a controller should do: a model of another design, and random calls.

use trace_insntrace::controller::{
    ctl, Allocation, BufferConfig, BufferDescriptor, BufferState, Call, Capabilities, Losses, Mode,
    Reply, SideData, Status, ThreadKoid,
};

/// The trace as its history: the calls that are in effect.
#[derive(Debug)]
pub(crate) struct Model {
    back_end: Capabilities,
    pub(crate) allocation: Option<Allocation>,
    /// Descriptor, configuration, thread.
    pub(crate) buffers: Vec<(u32, BufferConfig, Option<u64>)>,
    pub(crate) active: bool,
}

pub(crate) type Answer = Result<Reply<(u32, u32)>, Status>;

impl Model {
    pub(crate) fn new(back_end: Capabilities) -> Self {
        Self { back_end, allocation: None, buffers: Vec::new(), active: false }
    }

    /// The connection is closed, or its client killed.
    pub(crate) fn close(&mut self) {
        *self = Self::new(self.back_end);
    }

    pub(crate) fn call(&mut self, call: Call) -> Answer {
        match (call, self.allocation) {
            (Call::GetAllocation, it) => Ok(Reply::Allocation(it)),
            (Call::Stop, _) => {
                self.active = false;
                Ok(Reply::Done)
            }
            (Call::Terminate, _) => self.terminate(),
            (Call::Initialize(it), _) if it.mode == Mode::Cpu && self.back_end.cpus == 0 => {
                Err(Status::NotSupported)
            }
            (Call::Initialize(it), None) => self.initialize(it),
            (Call::Initialize(_), _) | (_, None) => Err(Status::BadState),
            (Call::AllocateBuffer(config), Some(it)) => self.allocate(config, it.num_traces),
            (Call::Start, Some(it)) if it.mode == Mode::Cpu => self.start(it.num_traces),
            (Call::Start, Some(_)) => self.start(1),
            (call, Some(it)) if it.mode == Mode::Cpu => match call {
                Call::AssignThreadBuffer(..) | Call::ReleaseThreadBuffer(..) => {
                    Err(Status::BadState)
                }
                Call::GetBufferState(_) if self.active => Err(Status::BadState),
                call => self.of_buffer(call),
            },
            (call, Some(_)) => self.of_buffer(call),
        }
    }

    fn terminate(&mut self) -> Answer {
        if self.buffers.iter().any(|it| it.2.is_some()) {
            return Err(Status::BadState);
        }
        self.close();
        Ok(Reply::Done)
    }

    fn initialize(&mut self, it: Allocation) -> Answer {
        let right = match it.mode {
            Mode::Cpu => it.num_traces == self.back_end.cpus && it.num_traces <= 64,
            Mode::Thread => (1..=64).contains(&it.num_traces),
        };
        if !right {
            return Err(Status::InvalidArgs);
        }
        self.allocation = Some(it);
        Ok(Reply::Done)
    }

    fn allocate(&mut self, config: BufferConfig, most: u16) -> Answer {
        if !self.has_right_numbers(&config) {
            return Err(Status::InvalidArgs);
        }
        let number = (0..u32::from(most)).find(|number| self.at(*number).is_err());
        let number = number.ok_or(Status::NoResources)?;
        if !self.has_features(&config) {
            return Err(Status::NotSupported);
        }
        self.buffers.push((number, config, None));
        Ok(Reply::Descriptor(BufferDescriptor(number)))
    }

    /// The numbers of `docs/insntrace.md`.
    fn has_right_numbers(&self, config: &BufferConfig) -> bool {
        let pages = u128::from(config.num_chunks) << config.chunk_order.min(64);
        let is_small = config.num_chunks <= 4096 && config.chunk_order <= 8 && pages <= 65_536;
        let has_bits =
            (0..64).all(|bit| config.ctl & 1 << bit == 0 || self.back_end.ctl & 1 << bit != 0);
        let numbers = [
            (14, self.back_end.mtc_frequencies),
            (19, self.back_end.cycle_thresholds),
            (24, self.back_end.psb_frequencies),
        ];
        let has_numbers = numbers.iter().all(|(bit, allowed)| {
            let value = config.ctl >> bit & 15;
            value == 0 || allowed & 1 << value != 0
        });
        let [(first, last), (second_first, second_last)] = config.address_ranges;
        let is_space = config.address_space_match % 32 == 0 || !self.back_end.address_space_match;
        let is_used = config.num_chunks > 0 && first <= last && second_first <= second_last;
        is_small && has_bits && has_numbers && is_used && is_space
    }

    fn has_features(&self, config: &BufferConfig) -> bool {
        let [first, second] = config.address_ranges.map(|range| range != (0, 0));
        let has_ranges = match self.back_end.address_ranges {
            0 => !first && !second,
            1 => !second,
            _ => true,
        };
        has_ranges && (config.address_space_match == 0 || self.back_end.address_space_match)
    }

    fn start(&mut self, least: u16) -> Answer {
        if self.active || self.buffers.len() < usize::from(least) {
            return Err(Status::BadState);
        }
        self.active = true;
        Ok(Reply::Done)
    }

    fn of_buffer(&mut self, call: Call) -> Answer {
        match call {
            Call::AssignThreadBuffer(buffer, thread) => self.assign(buffer.0, thread.0),
            Call::ReleaseThreadBuffer(buffer, thread) => self.release(buffer.0, thread.0),
            Call::FreeBuffer(buffer) => self.free(buffer.0),
            Call::GetBufferConfig(buffer) => Ok(Reply::Config(self.buffers[self.at(buffer.0)?].1)),
            Call::GetBufferState(buffer) => {
                self.at(buffer.0)?;
                let capture_end = u64::from(buffer.0) + 100;
                Ok(Reply::State(BufferState { capture_end, ..BufferState::default() }))
            }
            Call::GetChunkHandle(buffer, chunk) => {
                let count = self.buffers[self.at(buffer.0)?].1.num_chunks;
                let chunk = Some((buffer.0, chunk)).filter(|chunk| chunk.1 < count);
                chunk.map(Reply::Chunk).ok_or(Status::InvalidArgs)
            }
            Call::GetSideData(_) if self.active => Err(Status::BadState),
            Call::GetSideData(buffer) => {
                self.at(buffer.0)?;
                let archive = (buffer.0, u32::MAX);
                Ok(Reply::SideData(SideData { written: 100, losses: Losses::default(), archive }))
            }
            other => panic!("{other:?} has no buffer"),
        }
    }

    fn assign(&mut self, number: u32, thread: u64) -> Answer {
        let at = self.at(number)?;
        if self.buffers[at].2.is_some() || self.buffers.iter().any(|it| it.2 == Some(thread)) {
            return Err(Status::BadState);
        }
        self.buffers[at].2 = Some(thread);
        Ok(Reply::Done)
    }

    fn release(&mut self, number: u32, thread: u64) -> Answer {
        let at = self.at(number)?;
        match self.buffers[at].2 {
            None => return Err(Status::BadState),
            Some(owner) if owner != thread => return Err(Status::InvalidArgs),
            Some(_) => self.buffers[at].2 = None,
        }
        Ok(Reply::Done)
    }

    fn free(&mut self, number: u32) -> Answer {
        if self.active {
            return Err(Status::BadState);
        }
        let at = self.at(number)?;
        if self.buffers[at].2.is_some() {
            return Err(Status::BadState);
        }
        self.buffers.remove(at);
        Ok(Reply::Done)
    }

    fn at(&self, number: u32) -> Result<usize, Status> {
        let at = self.buffers.iter().position(|it| it.0 == number);
        at.ok_or(Status::InvalidArgs)
    }
}

/// Values of which one may be a limit, each with its neighbours.
fn pick<T: Copy>(values: &[T], random: u8) -> T {
    values[usize::from(random) % values.len()]
}

const TRACES: [u16; 12] = [2, 2, 2, 2, 1, 3, 0, 4, 63, 64, 65, u16::MAX];

const BUFFERS: [u32; 16] = [0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 63, 64, 1 << 31, u32::MAX];

const CHUNKS: [u32; 8] = [0, 1, 2, 3, 4, 4095, 4096, u32::MAX];

/// Bits and numbers of the control register.
const BITS: [u64; 16] = [
    0,
    0,
    0,
    1,
    1 << 1,
    1 << 6,
    1 << 9,
    ctl::MtcFrequency::make(3),
    ctl::MtcFrequency::make(2),
    ctl::CycleThreshold::make(2),
    ctl::CycleThreshold::make(3),
    ctl::PsbFrequency::make(5),
    ctl::PsbFrequency::make(15),
    1 << 40,
    1 << 63,
    ctl::DisableReturnCompression::make(1),
];

/// The number of chunks and their order: small ones, and wrong ones.
const SIZES: [(u32, u32); 16] = [
    (1, 0),
    (2, 0),
    (3, 2),
    (4, 2),
    (3, 0),
    (0, 0),
    (0, 8),
    (1, 9),
    (2, 64),
    (1, u32::MAX),
    (4097, 0),
    (257, 8),
    (4096, 5),
    (2049, 5),
    (u32::MAX, 0),
    (4097, 8),
];

/// Sizes that are allowed, but not for each machine.
const LARGE_SIZES: [(u32, u32); 6] = [(4096, 0), (4095, 4), (4096, 4), (256, 8), (1, 8), (2048, 5)];

const RANGES: [(u64, u64); 8] =
    [(0, 0), (0, 0), (0, 0), (0, 0), (5, 5), (5, 4), (0, u64::MAX), (1, 0)];

const SPACES: [u64; 8] = [0, 0, 0, 0, 0x10, 0x20, 0x1f, 0x1000];

/// Returns a configuration for a number: `base` with one thing changed, mostly.
fn config(number: u32, base: BufferConfig, is_large: bool) -> BufferConfig {
    let [kind, a, b, _] = number.to_le_bytes();
    let mut config = BufferConfig { num_chunks: 1 + u32::from(b) % 4, ..base };
    if kind & 1 != 0 {
        let sizes = if is_large && a & 0x80 != 0 { &LARGE_SIZES[..] } else { &SIZES };
        (config.num_chunks, config.chunk_order) = pick(sizes, a & 0x7f);
    }
    if kind & 6 == 6 {
        config.ctl |= pick(&BITS, b);
    }
    if kind & 24 == 24 {
        config.address_ranges = [pick(&RANGES, a), pick(&RANGES, b)];
    }
    if kind & 96 == 96 {
        config.address_space_match = pick(&SPACES, b);
    }
    BufferConfig { is_circular: kind & 128 != 0, ..config }
}

/// Returns a call for two numbers, mostly one that may succeed. Only with `is_large`, there are
/// buffers that not each machine has.
pub(crate) fn call((number, more): (u32, u32), base: BufferConfig, is_large: bool) -> Call {
    let [kind, a, b, c] = number.to_le_bytes();
    let buffer = BufferDescriptor(pick(&BUFFERS, a));
    let thread = ThreadKoid(u64::from(b) % 3);
    match kind % 16 {
        0 => Call::Initialize(Allocation { mode: Mode::Cpu, num_traces: pick(&TRACES, a) }),
        1 | 2 => Call::Initialize(Allocation { mode: Mode::Thread, num_traces: pick(&TRACES, a) }),
        3 if c % 2 == 0 => Call::Terminate,
        3 | 4 => Call::GetAllocation,
        5..=7 => Call::AllocateBuffer(config(more, base, is_large)),
        8 | 9 => Call::AssignThreadBuffer(buffer, thread),
        10 => Call::ReleaseThreadBuffer(buffer, thread),
        11 => Call::GetBufferConfig(buffer),
        12 => Call::GetBufferState(buffer),
        13 => Call::GetChunkHandle(buffer, pick(&CHUNKS, b)),
        14 if a % 3 == 0 => Call::FreeBuffer(buffer),
        14 if a % 3 == 1 => Call::GetSideData(buffer),
        14 => Call::Stop,
        _ => Call::Start,
    }
}
