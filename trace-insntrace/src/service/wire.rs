//! Messages between a client and the service: one packet each, in both directions.
//!
//! ```text
//!  0          4          8
//!  +----------+----------------------+
//!  |  method  |      arguments       |   request, little endian
//!  +----------+----------------------+
//!  |  method  |  status  |  results  |   reply; results only if the status is 0
//!  +----------+----------+-----------+
//! ```
//!
//! A packet has exactly the bytes of its fields, except that the reply of `GetBufferState` may end
//! behind its first one, as that of older services does. Replies of `GetChunkHandle` and
//! `GetSideData` have one descriptor beside them. Bytes of the other process are hostile.

use crate::controller::{
    Allocation, BufferConfig, BufferDescriptor, BufferState, Call, Losses, Mode, Status, ThreadKoid,
};

/// The longest packet in bytes: a request to allocate a buffer has 61.
pub(super) const MAX_BYTES: usize = 128;

/// A request of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    /// A method of the protocol.
    Call(Call),
    /// Ends the connection, and a service that outlives its connections. The reply comes when all
    /// buffers are free. It has the number of threads that could not be released in time.
    Close,
}

/// The results of a method, without descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Results {
    Nothing,
    Allocation(Option<Allocation>),
    Descriptor(BufferDescriptor),
    Config(BufferConfig),
    State(BufferState),
    /// Of `GetSideData`: the number of bytes that were written, and what is missing.
    Written(u64, Losses),
    /// Of `Close`: the number of threads that are not released yet.
    Leaving(u32),
}

impl Request {
    /// Returns the number of the method.
    pub(super) fn method(&self) -> u32 {
        let Self::Call(call) = self else { return 14 };
        match call {
            Call::Initialize(_) => 1,
            Call::Terminate => 2,
            Call::GetAllocation => 3,
            Call::AllocateBuffer(_) => 4,
            Call::AssignThreadBuffer(..) => 5,
            Call::ReleaseThreadBuffer(..) => 6,
            Call::GetBufferConfig(_) => 7,
            Call::GetBufferState(_) => 8,
            Call::GetChunkHandle(..) => 9,
            Call::FreeBuffer(_) => 10,
            Call::Start => 11,
            Call::Stop => 12,
            Call::GetSideData(_) => 13,
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(MAX_BYTES);
        self.method().write(&mut out);
        let Self::Call(call) = self else { return out };
        match call {
            Call::Initialize(allocation) => allocation.write(&mut out),
            Call::AllocateBuffer(config) => config.write(&mut out),
            Call::AssignThreadBuffer(buffer, thread)
            | Call::ReleaseThreadBuffer(buffer, thread) => {
                buffer.0.write(&mut out);
                thread.0.write(&mut out);
            }
            Call::GetChunkHandle(buffer, chunk) => {
                buffer.0.write(&mut out);
                chunk.write(&mut out);
            }
            Call::GetBufferConfig(buffer)
            | Call::GetBufferState(buffer)
            | Call::FreeBuffer(buffer)
            | Call::GetSideData(buffer) => buffer.0.write(&mut out),
            Call::Terminate | Call::GetAllocation | Call::Start | Call::Stop => {}
        }
        out
    }

    /// Decodes a packet. Returns `None` if it is too short, too long or unknown.
    pub(super) fn decode(untrusted: &[u8]) -> Option<Self> {
        let mut bytes = untrusted;
        let request = Self::read(&mut bytes)?;
        bytes.is_empty().then_some(request)
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let method = u32::read(bytes)?;
        let mut buffer = || u32::read(bytes).map(BufferDescriptor);
        Some(Self::Call(match method {
            1 => Call::Initialize(Field::read(bytes)?),
            2 => Call::Terminate,
            3 => Call::GetAllocation,
            4 => Call::AllocateBuffer(Field::read(bytes)?),
            5 => Call::AssignThreadBuffer(buffer()?, ThreadKoid(u64::read(bytes)?)),
            6 => Call::ReleaseThreadBuffer(buffer()?, ThreadKoid(u64::read(bytes)?)),
            7 => Call::GetBufferConfig(buffer()?),
            8 => Call::GetBufferState(buffer()?),
            9 => Call::GetChunkHandle(buffer()?, u32::read(bytes)?),
            10 => Call::FreeBuffer(buffer()?),
            11 => Call::Start,
            12 => Call::Stop,
            13 => Call::GetSideData(buffer()?),
            14 => return Some(Self::Close),
            _ => return None,
        }))
    }

    /// Encodes the reply to this request.
    pub(super) fn encode_reply(&self, results: Result<Results, Status>) -> Vec<u8> {
        let mut out = Vec::with_capacity(MAX_BYTES);
        self.method().write(&mut out);
        results.err().write(&mut out);
        match results {
            Err(_) | Ok(Results::Nothing) => {}
            Ok(Results::Allocation(allocation)) => {
                allocation.is_some().write(&mut out);
                allocation.into_iter().for_each(|allocation| allocation.write(&mut out));
            }
            Ok(Results::Descriptor(descriptor)) => descriptor.0.write(&mut out),
            Ok(Results::Config(config)) => config.write(&mut out),
            Ok(Results::State(state)) => state.write(&mut out),
            Ok(Results::Written(bytes, losses)) => {
                bytes.write(&mut out);
                losses.write(&mut out);
            }
            Ok(Results::Leaving(threads)) => threads.write(&mut out),
        }
        out
    }

    /// Decodes the reply to this request. Returns `None` if it is malformed.
    pub(super) fn decode_reply(&self, untrusted: &[u8]) -> Option<Result<Results, Status>> {
        let bytes = &mut &*untrusted;
        let method = u32::read(bytes)?;
        let results = match Option::<Status>::read(bytes)? {
            Some(status) => Err(status),
            None => Ok(self.read_results(bytes)?),
        };
        (bytes.is_empty() && method == self.method()).then_some(results)
    }

    fn read_results(&self, bytes: &mut &[u8]) -> Option<Results> {
        let Self::Call(call) = self else { return Some(Results::Leaving(u32::read(bytes)?)) };
        Some(match call {
            Call::GetAllocation => Results::Allocation(match bool::read(bytes)? {
                true => Some(Field::read(bytes)?),
                false => None,
            }),
            Call::AllocateBuffer(_) => Results::Descriptor(BufferDescriptor(u32::read(bytes)?)),
            Call::GetBufferConfig(_) => Results::Config(Field::read(bytes)?),
            Call::GetBufferState(_) => Results::State(Field::read(bytes)?),
            Call::GetSideData(_) => Results::Written(u64::read(bytes)?, Field::read(bytes)?),
            _ => Results::Nothing,
        })
    }
}

/// Encodes the status with which the service accepts or refuses a client.
pub(super) fn encode_status(status: Option<Status>) -> Vec<u8> {
    let mut out = Vec::new();
    status.write(&mut out);
    out
}

/// Decodes a packet of [`encode_status`]. Returns `None` if it is malformed.
pub(super) fn decode_status(untrusted: &[u8]) -> Option<Option<Status>> {
    let bytes = &mut &*untrusted;
    let status = Field::read(bytes)?;
    bytes.is_empty().then_some(status)
}

/// A value with one encoding.
trait Field: Sized {
    fn write(&self, out: &mut Vec<u8>);

    /// Takes the value from the beginning of `bytes`. Returns `None` if it is malformed.
    fn read(bytes: &mut &[u8]) -> Option<Self>;
}

macro_rules! numbers {
    ($($type:ident),*) => {
        $(impl Field for $type {
            fn write(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn read(bytes: &mut &[u8]) -> Option<Self> {
                let (value, rest) = bytes.split_first_chunk()?;
                *bytes = rest;
                Some(Self::from_le_bytes(*value))
            }
        })*
    };
}

numbers!(u8, u16, u32, u64, i32);

impl Field for bool {
    fn write(&self, out: &mut Vec<u8>) {
        u8::from(*self).write(out);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        match u8::read(bytes)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

/// A status, or 0 for success.
impl Field for Option<Status> {
    fn write(&self, out: &mut Vec<u8>) {
        self.map_or(0, |status| status as i32).write(out);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        match i32::read(bytes)? {
            0 => Some(None),
            number => Status::ALL.into_iter().find(|status| *status as i32 == number).map(Some),
        }
    }
}

impl Field for Allocation {
    fn write(&self, out: &mut Vec<u8>) {
        (self.mode as u8).write(out);
        self.num_traces.write(out);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let mode = match u8::read(bytes)? {
            0 => Mode::Cpu,
            1 => Mode::Thread,
            _ => return None,
        };
        Some(Self { mode, num_traces: u16::read(bytes)? })
    }
}

impl Field for BufferState {
    fn write(&self, out: &mut Vec<u8>) {
        self.capture_end.write(out);
        self.is_full.write(out);
        self.losses.write(out);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let capture_end = u64::read(bytes)?;
        if bytes.is_empty() {
            // An older service, which may have been started before a new version was installed.
            return Some(Self { capture_end, is_full: false, losses: Losses::default() });
        }
        Some(Self { capture_end, is_full: bool::read(bytes)?, losses: Losses::read(bytes)? })
    }
}

impl Field for Losses {
    fn write(&self, out: &mut Vec<u8>) {
        self.truncated.write(out);
        self.gaps.write(out);
        self.records.write(out);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let (truncated, gaps) = (u64::read(bytes)?, u64::read(bytes)?);
        Some(Self { truncated, gaps, records: u64::read(bytes)? })
    }
}

impl Field for BufferConfig {
    fn write(&self, out: &mut Vec<u8>) {
        self.num_chunks.write(out);
        self.chunk_order.write(out);
        self.is_circular.write(out);
        self.ctl.write(out);
        self.address_space_match.write(out);
        for (start, end) in self.address_ranges {
            start.write(out);
            end.write(out);
        }
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        Some(Self {
            num_chunks: u32::read(bytes)?,
            chunk_order: u32::read(bytes)?,
            is_circular: bool::read(bytes)?,
            ctl: u64::read(bytes)?,
            address_space_match: u64::read(bytes)?,
            address_ranges: [
                (u64::read(bytes)?, u64::read(bytes)?),
                (u64::read(bytes)?, u64::read(bytes)?),
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::ctl;

    const BUFFER: BufferDescriptor = BufferDescriptor(0x0102_0304);
    const ALLOCATION: Allocation = Allocation { mode: Mode::Thread, num_traces: 64 };
    const CONFIG: BufferConfig = BufferConfig {
        num_chunks: 1,
        chunk_order: 2,
        is_circular: true,
        ctl: ctl::DEFAULT,
        address_space_match: 3,
        address_ranges: [(4, 5), (6, u64::MAX)],
    };

    /// The size of a reply with the state of a buffer.
    const STATE_BYTES: usize = 4 + 4 + 8 + 1 + 3 * 8;

    /// The same before it had more than the fill level.
    const OLD_STATE_BYTES: usize = 4 + 4 + 8;

    const LOSSES: Losses = Losses { truncated: 1, gaps: 2, records: 1 << 40 };

    /// Each request, with the results of a successful reply.
    const REQUESTS: [(Request, Results); 14] = [
        (Request::Call(Call::Initialize(ALLOCATION)), Results::Nothing),
        (Request::Call(Call::Terminate), Results::Nothing),
        (Request::Call(Call::GetAllocation), Results::Allocation(Some(ALLOCATION))),
        (Request::Call(Call::AllocateBuffer(CONFIG)), Results::Descriptor(BUFFER)),
        (Request::Call(Call::AssignThreadBuffer(BUFFER, ThreadKoid(9))), Results::Nothing),
        (Request::Call(Call::ReleaseThreadBuffer(BUFFER, ThreadKoid(9))), Results::Nothing),
        (Request::Call(Call::GetBufferConfig(BUFFER)), Results::Config(CONFIG)),
        (
            Request::Call(Call::GetBufferState(BUFFER)),
            Results::State(BufferState { capture_end: 1 << 40, is_full: true, losses: LOSSES }),
        ),
        (Request::Call(Call::GetChunkHandle(BUFFER, 7)), Results::Nothing),
        (Request::Call(Call::FreeBuffer(BUFFER)), Results::Nothing),
        (Request::Call(Call::Start), Results::Nothing),
        (Request::Call(Call::Stop), Results::Nothing),
        (Request::Call(Call::GetSideData(BUFFER)), Results::Written(u64::MAX, LOSSES)),
        (Request::Close, Results::Leaving(3)),
    ];

    /// Checks that only the bytes themselves are decoded, not fewer and not more. The reply of an
    /// older service has [`OLD_STATE_BYTES`].
    fn check<T: PartialEq + std::fmt::Debug>(
        bytes: &[u8],
        value: T,
        decode: impl Fn(&[u8]) -> Option<T>,
    ) {
        assert!(bytes.len() <= MAX_BYTES);
        let is_state = bytes.len() == STATE_BYTES;
        for end in (0..bytes.len()).filter(|end| !is_state || *end != OLD_STATE_BYTES) {
            assert_eq!(decode(&bytes[..end]), None, "{end} bytes of {value:?}");
        }
        let longer = [bytes, &[0]].concat();
        assert_eq!(decode(&longer), None, "{value:?}");
        assert_eq!(decode(bytes), Some(value));
    }

    #[test]
    fn messages_have_exactly_their_bytes() {
        for (number, (request, results)) in (1..).zip(REQUESTS) {
            assert_eq!(request.method(), number);
            check(&request.encode(), request, Request::decode);
            for reply in [Ok(results), Err(Status::BadState)] {
                let bytes = request.encode_reply(reply);
                check(&bytes, reply, |bytes| request.decode_reply(bytes));
            }
        }
        let none = Request::Call(Call::GetAllocation);
        let reply = Ok(Results::Allocation(None));
        assert_eq!(none.decode_reply(&none.encode_reply(reply)), Some(reply));
        for status in Status::ALL.map(Some).into_iter().chain([None]) {
            check(&encode_status(status), status, decode_status);
        }
        assert_eq!(Request::Call(Call::AllocateBuffer(CONFIG)).encode().len(), 61);
    }

    #[test]
    fn an_older_service_has_the_fill_level_of_a_buffer_only() {
        let request = Request::Call(Call::GetBufferState(BUFFER));
        let state = |is_full, losses| BufferState { capture_end: 1 << 40, is_full, losses };
        let reply = request.encode_reply(Ok(Results::State(state(true, LOSSES))));
        assert_eq!(reply.len(), STATE_BYTES);
        let expected = Ok(Results::State(state(false, Losses::default())));
        assert_eq!(request.decode_reply(&reply[..OLD_STATE_BYTES]), Some(expected));
    }

    #[test]
    fn unknown_values_are_refused() {
        for method in [0, 15, u32::MAX] {
            assert_eq!(Request::decode(&method.to_le_bytes()), None);
        }
        let mut initialize = REQUESTS[0].0.encode();
        initialize[4] = 2;
        assert_eq!(Request::decode(&initialize), None, "a mode");
        let mut allocate = REQUESTS[3].0.encode();
        allocate[12] = 2;
        assert_eq!(Request::decode(&allocate), None, "a flag");
        assert_eq!(decode_status(&1_i32.to_le_bytes()), None);
        let (start, stop) = (REQUESTS[10].0, REQUESTS[11].0);
        let reply = start.encode_reply(Ok(Results::Nothing));
        assert_eq!(stop.decode_reply(&reply), None, "of another method");
    }
}
