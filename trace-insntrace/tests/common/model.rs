//! What a controller should do: a model of another design, and random calls.

use trace_insntrace::controller::{
    Allocation, BufferConfig, BufferDescriptor, BufferState, Call, Losses, Mode, Reply, SideData,
    Status, ThreadKoid,
};

/// The trace as its history: the calls that are in effect.
#[derive(Debug)]
pub(crate) struct Model {
    /// The number of CPUs, or 0 if they cannot be traced.
    cpus: u16,
    pub(crate) allocation: Option<Allocation>,
    /// Descriptor, configuration, thread.
    pub(crate) buffers: Vec<(u32, BufferConfig, Option<u64>)>,
    pub(crate) active: bool,
}

pub(crate) type Answer = Result<Reply<(u32, u32)>, Status>;

impl Model {
    pub(crate) fn new(cpus: u16) -> Self {
        Self { cpus, allocation: None, buffers: Vec::new(), active: false }
    }

    pub(crate) fn call(&mut self, call: Call) -> Answer {
        match (call, self.allocation) {
            (Call::GetAllocation, it) => Ok(Reply::Allocation(it)),
            (Call::Stop, _) => {
                self.active = false;
                Ok(Reply::Done)
            }
            (Call::Terminate, _) => self.terminate(),
            (Call::Initialize(it), _) if it.mode == Mode::Cpu && self.cpus == 0 => {
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
        *self = Self::new(self.cpus);
        Ok(Reply::Done)
    }

    fn initialize(&mut self, it: Allocation) -> Answer {
        let right = match it.mode {
            Mode::Cpu => it.num_traces == self.cpus,
            Mode::Thread => (1..=64).contains(&it.num_traces),
        };
        if !right {
            return Err(Status::InvalidArgs);
        }
        self.allocation = Some(it);
        Ok(Reply::Done)
    }

    fn allocate(&mut self, config: BufferConfig, most: u16) -> Answer {
        if config.num_chunks == 0 {
            return Err(Status::InvalidArgs);
        }
        let number = (0..u32::from(most)).find(|number| self.at(*number).is_err());
        let number = number.ok_or(Status::NoResources)?;
        self.buffers.push((number, config, None));
        Ok(Reply::Descriptor(BufferDescriptor(number)))
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

/// Returns a call for a number, mostly one that may succeed.
pub(crate) fn call(number: u32, config: BufferConfig) -> Call {
    let [kind, a, b, _] = number.to_le_bytes();
    let buffer = BufferDescriptor(u32::from(a) % 4);
    let thread = ThreadKoid(u64::from(b) % 3);
    match kind % 16 {
        0 => Call::Initialize(Allocation { mode: Mode::Cpu, num_traces: u16::from(a) % 4 }),
        1 | 2 => Call::Initialize(Allocation { mode: Mode::Thread, num_traces: u16::from(a) % 4 }),
        3 => Call::Terminate,
        4 => Call::GetAllocation,
        5..=7 => Call::AllocateBuffer(BufferConfig { num_chunks: u32::from(b) % 4, ..config }),
        8 | 9 => Call::AssignThreadBuffer(buffer, thread),
        10 => Call::ReleaseThreadBuffer(buffer, thread),
        11 => Call::GetBufferConfig(buffer),
        12 => Call::GetBufferState(buffer),
        13 => Call::GetChunkHandle(buffer, u32::from(b) % 4),
        14 if a % 3 == 0 => Call::FreeBuffer(buffer),
        14 if a % 3 == 1 => Call::GetSideData(buffer),
        14 => Call::Stop,
        _ => Call::Start,
    }
}
