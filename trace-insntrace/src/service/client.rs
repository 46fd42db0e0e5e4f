//! The client of a service.

use core::fmt;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use trace_protocol::socket::Socket;

use super::wire::{self, Request, Results, MAX_BYTES};
use crate::controller::{
    Allocation, BufferConfig, BufferDescriptor, BufferState, Call, SideData, Status, ThreadKoid,
};

/// Why a call failed.
#[derive(Debug)]
pub enum Error {
    /// The controller refused it.
    Status(Status),
    /// The service cannot be reached, or has ended.
    Io(io::Error),
}

impl Error {
    /// Returns the status, if the controller refused the call.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        match self {
            Self::Status(status) => Some(*status),
            Self::Io(_) => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "{status} ({})", status.name()),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

type Result<T> = core::result::Result<T, Error>;

/// A connection to a service, with a method for each call of the protocol. Calls wait for their
/// reply.
///
/// The errors of each call are in `docs/insntrace.md`. When the client is dropped or its process
/// ends, the service releases all threads and frees all buffers, unless it was created to outlive
/// its connections ([`Lifetime::Service`](super::Lifetime::Service)).
///
/// # Examples
///
/// ```no_run
/// use trace_insntrace::controller::{ctl, Allocation, BufferConfig, Mode, ThreadKoid};
/// use trace_insntrace::service::{socket_path, Client};
///
/// # fn main() -> Result<(), trace_insntrace::service::Error> {
/// let client = Client::connect(&socket_path("default"))?;
/// client.initialize(Allocation { mode: Mode::Thread, num_traces: 1 })?;
/// let buffer = client.allocate_buffer(BufferConfig {
///     num_chunks: 16,
///     chunk_order: 2,
///     is_circular: true,
///     ctl: ctl::DEFAULT,
///     address_space_match: 0,
///     address_ranges: [(0, 0); 2],
/// })?;
/// client.assign_thread_buffer(buffer, ThreadKoid(1234))?;
/// client.start()?;
/// client.stop()?;
/// let data = client.trace_data(buffer)?;
/// println!("{} bytes of packets", data.packets.len());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Client {
    connection: Socket,
}

impl Client {
    /// Connects to the service at `path`.
    ///
    /// # Errors
    ///
    /// `ALREADY_BOUND` if the service has another client, `ACCESS_DENIED` if it belongs to another
    /// user. An I/O error if there is no service, or its end does not follow the protocol.
    pub fn connect(path: &Path) -> Result<Self> {
        let socket = Socket::connect(path)?;
        let (mut packet, mut descriptors) = ([0; 8], Vec::new());
        let size = socket.recv_with_fds(&mut packet, &mut descriptors)?;
        let untrusted = packet.get(..size).unwrap_or_default();
        match wire::decode_status(untrusted).ok_or_else(malformed)? {
            Some(status) => Err(status.into()),
            None => {
                let connection = Socket::from_packets(only(descriptors)?)?;
                Ok(Self { connection })
            }
        }
    }

    /// Begins a trace.
    ///
    /// # Errors
    ///
    /// See [`Client`].
    pub fn initialize(&self, allocation: Allocation) -> Result<()> {
        self.call(Call::Initialize(allocation)).map(drop)
    }

    /// Stops tracing and frees all buffers.
    ///
    /// # Errors
    ///
    /// See [`Client`].
    pub fn terminate(&self) -> Result<()> {
        self.call(Call::Terminate).map(drop)
    }

    /// Returns the arguments of [`initialize`](Self::initialize), or `None` before it.
    ///
    /// # Errors
    ///
    /// See [`Client`].
    pub fn get_allocation(&self) -> Result<Option<Allocation>> {
        match self.call(Call::GetAllocation)? {
            (Results::Allocation(allocation), _) => Ok(allocation),
            _ => Err(malformed().into()),
        }
    }

    /// Allocates a buffer.
    ///
    /// # Errors
    ///
    /// See [`Client`].
    pub fn allocate_buffer(&self, config: BufferConfig) -> Result<BufferDescriptor> {
        match self.call(Call::AllocateBuffer(config))? {
            (Results::Descriptor(descriptor), _) => Ok(descriptor),
            _ => Err(malformed().into()),
        }
    }

    /// Assigns a buffer to a thread.
    ///
    /// # Errors
    ///
    /// See [`Client`].
    pub fn assign_thread_buffer(&self, buffer: BufferDescriptor, thread: ThreadKoid) -> Result<()> {
        self.call(Call::AssignThreadBuffer(buffer, thread)).map(drop)
    }

    /// Releases a buffer from its thread.
    ///
    /// # Errors
    ///
    /// See [`Client`].
    pub fn release_thread_buffer(
        &self,
        buffer: BufferDescriptor,
        thread: ThreadKoid,
    ) -> Result<()> {
        self.call(Call::ReleaseThreadBuffer(buffer, thread)).map(drop)
    }

    /// Returns the configuration of a buffer.
    ///
    /// # Errors
    ///
    /// See [`Client`].
    pub fn get_buffer_config(&self, buffer: BufferDescriptor) -> Result<BufferConfig> {
        match self.call(Call::GetBufferConfig(buffer))? {
            (Results::Config(config), _) => Ok(config),
            _ => Err(malformed().into()),
        }
    }

    /// Returns the fill level of a buffer.
    ///
    /// # Errors
    ///
    /// See [`Client`].
    pub fn get_buffer_state(&self, buffer: BufferDescriptor) -> Result<BufferState> {
        match self.call(Call::GetBufferState(buffer))? {
            (Results::State(state), _) => Ok(state),
            _ => Err(malformed().into()),
        }
    }

    /// Returns a chunk of a buffer, for reading. The handle keeps its memory when the buffer is
    /// freed.
    ///
    /// # Errors
    ///
    /// See [`Client`].
    pub fn get_chunk_handle(&self, buffer: BufferDescriptor, chunk: u32) -> Result<File> {
        let (_, descriptors) = self.call(Call::GetChunkHandle(buffer, chunk))?;
        Ok(only(descriptors)?.into())
    }

    /// Frees a buffer.
    ///
    /// # Errors
    ///
    /// See [`Client`].
    pub fn free_buffer(&self, buffer: BufferDescriptor) -> Result<()> {
        self.call(Call::FreeBuffer(buffer)).map(drop)
    }

    /// Starts tracing.
    ///
    /// # Errors
    ///
    /// See [`Client`].
    pub fn start(&self) -> Result<()> {
        self.call(Call::Start).map(drop)
    }

    /// Stops tracing; ignored if it is not started.
    ///
    /// # Errors
    ///
    /// See [`Client`].
    pub fn stop(&self) -> Result<()> {
        self.call(Call::Stop).map(drop)
    }

    /// Returns the threads and the code of a buffer, as an archive.
    ///
    /// # Errors
    ///
    /// See [`Client`].
    pub fn get_side_data(&self, buffer: BufferDescriptor) -> Result<SideData<File>> {
        match self.call(Call::GetSideData(buffer))? {
            (Results::Written(written, losses), descriptors) => {
                Ok(SideData { written, losses, archive: only(descriptors)?.into() })
            }
            _ => Err(malformed().into()),
        }
    }

    /// Returns whether tracing is on. The protocol has no call for this: while tracing is on, a
    /// call for side data fails before its buffer is looked up.
    ///
    /// # Errors
    ///
    /// See [`Client`].
    pub fn is_active(&self) -> Result<bool> {
        let is_idle = self.get_allocation()?.is_none();
        match self.get_side_data(BufferDescriptor(u32::MAX)) {
            Err(Error::Status(Status::BadState)) => Ok(!is_idle),
            Err(Error::Status(_)) | Ok(_) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Closes the connection, and waits until all threads are released, but at most 2 s, and all
    /// buffers are free. A service that outlives its connections ends, too.
    ///
    /// Returns the number of threads that are not released yet. They are released when they stop,
    /// and the service ends afterwards.
    ///
    /// # Errors
    ///
    /// Fails if the service has ended.
    pub fn close(self) -> Result<u32> {
        match self.request(Request::Close)? {
            (Results::Leaving(threads), _) => Ok(threads),
            _ => Err(malformed().into()),
        }
    }

    fn call(&self, call: Call) -> Result<(Results, Vec<OwnedFd>)> {
        self.request(Request::Call(call))
    }

    fn request(&self, request: Request) -> Result<(Results, Vec<OwnedFd>)> {
        self.connection.send(&request.encode(), &[]).map_err(ended)?;
        let (mut packet, mut descriptors) = ([0; MAX_BYTES + 1], Vec::new());
        let size = self.connection.recv_with_fds(&mut packet, &mut descriptors).map_err(ended)?;
        let untrusted = packet.get(..size).unwrap_or_default();
        if untrusted.is_empty() {
            return Err(ended(io::ErrorKind::UnexpectedEof.into()).into());
        }
        let results = request.decode_reply(untrusted).ok_or_else(malformed)??;
        Ok((results, descriptors))
    }
}

/// Says that the service has ended, if that is the reason of the error.
fn ended(error: io::Error) -> io::Error {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, NotConnected, UnexpectedEof};
    match error.kind() {
        kind @ (BrokenPipe | ConnectionReset | NotConnected | UnexpectedEof) => {
            io::Error::new(kind, "the service has ended, or has closed the connection")
        }
        _ => error,
    }
}

pub(super) fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the service sent a malformed reply")
}

fn only(descriptors: Vec<OwnedFd>) -> io::Result<OwnedFd> {
    let [descriptor] = <[_; 1]>::try_from(descriptors).map_err(|_| malformed())?;
    Ok(descriptor)
}
