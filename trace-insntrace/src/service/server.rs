//! The service: clients, and their calls of the controller.

use core::fmt;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{poll, PollFd, PollFlags};
use rustix::process::geteuid;
use trace_protocol::socket::{Listener, Socket};

use super::backend::{Settings, StepBackend};
use super::hardware::HardwareBackend;
use super::wire::{self, Request, Results, MAX_BYTES};
use crate::controller::{Backend, Call, Controller, Reply, Status};
use crate::hardware::Pmu;

/// How long a trace lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// As long as the connection of its client. There is one client at a time, as upstream.
    Connection,
    /// As long as the service, which several clients use. [`Client::close`](super::Client::close)
    /// ends the service.
    Service,
}

/// The most clients of a service that outlives its connections.
const MAX_CLIENTS: usize = 16;

/// The back end of a service.
type ServedBackend = Box<dyn Backend<Chunk = OwnedFd> + Send>;

/// A controller for the clients of a Unix socket.
#[derive(Debug)]
pub struct Service {
    listener: Listener,
    state: Arc<State>,
    /// Closed when the service ends.
    ended: UnixStream,
}

struct State {
    lifetime: Lifetime,
    /// `None` after the end of the service: no thread may be traced then.
    controller: Mutex<Option<Controller<ServedBackend>>>,
    clients: AtomicUsize,
    ender: Ender,
}

/// Ends a service from another thread.
#[derive(Debug, Clone)]
pub struct Ender(Arc<UnixStream>);

impl Ender {
    /// Makes [`Service::run`] return, as soon as all threads are released.
    pub fn end(&self) {
        // It fails only if the service has ended already.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

impl Service {
    /// Listens at `path`, for clients of this user.
    ///
    /// # Errors
    ///
    /// `AddrInUse` if another service listens there. `NotFound` if the folder is missing.
    pub fn bind(path: &Path, lifetime: Lifetime, settings: Settings) -> io::Result<Self> {
        Self::bind_backend(path, lifetime, StepBackend::new(settings))
    }

    /// Listens as [`bind`](Self::bind) does. The processor traces, with at most so many bytes of
    /// all buffers together.
    ///
    /// # Errors
    ///
    /// See [`bind`](Self::bind).
    pub fn bind_hardware(
        path: &Path,
        lifetime: Lifetime,
        pmu: Pmu,
        bytes: u64,
    ) -> io::Result<Self> {
        Self::bind_backend(path, lifetime, HardwareBackend::new(pmu, bytes))
    }

    /// Listens as [`bind`](Self::bind) does. This back end traces.
    ///
    /// # Errors
    ///
    /// See [`bind`](Self::bind).
    pub fn bind_backend(
        path: &Path,
        lifetime: Lifetime,
        backend: impl Backend<Chunk = OwnedFd> + Send + 'static,
    ) -> io::Result<Self> {
        let backend: ServedBackend = Box::new(backend);
        let listener = Listener::bind_with_mode(path, 0o600)?;
        listener.set_nonblocking(true)?;
        let (ender, ended) = UnixStream::pair()?;
        let state = State {
            lifetime,
            controller: Mutex::new(Some(Controller::new(backend))),
            clients: AtomicUsize::new(0),
            ender: Ender(Arc::new(ender)),
        };
        Ok(Self { listener, state: Arc::new(state), ended })
    }

    /// Returns a handle that ends the service.
    #[must_use]
    pub fn ender(&self) -> Ender {
        self.state.ender.clone()
    }

    /// Accepts clients until the service is ended. Releases all threads before it returns.
    ///
    /// # Errors
    ///
    /// Fails if a system call fails, or if a call of a client has panicked. All threads are
    /// released then, too.
    pub fn run(self) -> io::Result<()> {
        let result = self.accept_all();
        let locked = self.state.controller.lock();
        let has_panicked = locked.is_err();
        let controller = locked.unwrap_or_else(PoisonError::into_inner).take();
        // The state of a controller after a panic is not known. It is dropped in any case.
        let closed = catch_unwind(AssertUnwindSafe(|| controller.map(release_all)));
        match has_panicked || closed.is_err() {
            true => Err(io::Error::other("a call has panicked")),
            false => result,
        }
    }

    fn accept_all(&self) -> io::Result<()> {
        while self.wait()? {
            match self.listener.accept() {
                Ok(client) => self.accept(&client),
                // Another client may have ended its attempt, or its connection later frees a
                // descriptor.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
        }
        Ok(())
    }

    /// Waits for a client. Returns whether the service continues.
    fn wait(&self) -> io::Result<bool> {
        let mut polled =
            [PollFd::new(&self.listener, PollFlags::IN), PollFd::new(&self.ended, PollFlags::IN)];
        match poll(&mut polled, -1) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [_, ended] = polled;
        Ok(ended.revents().is_empty())
    }

    /// Accepts or refuses a client. If it has ended already, sending to it fails, which is no error
    /// of the service.
    fn accept(&self, client: &Socket) {
        client.set_nonblocking(true);
        let _ = match self.connect(client) {
            Ok(theirs) => client.send(&wire::encode_status(None), &[theirs.as_fd()]),
            Err(status) => client.send(&wire::encode_status(Some(status)), &[]),
        };
    }

    /// Starts a thread for a client. Returns the client's end of the connection.
    fn connect(&self, client: &Socket) -> Result<Socket, Status> {
        let peer = client.peer_credentials().map_err(|_| Status::Internal)?;
        if peer.uid != geteuid().as_raw() {
            return Err(Status::AccessDenied);
        }
        let place = Place::reserve(&self.state)?;
        let (ours, theirs) = Socket::packet_pair().map_err(|_| Status::NoMemory)?;
        let serving = thread::Builder::new().name("trace-insn-call".into());
        let spawned = serving.spawn(move || place.serve(&ours));
        spawned.map(|_| theirs).map_err(|_| Status::NoMemory)
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("lifetime", &self.lifetime).finish_non_exhaustive()
    }
}

impl State {
    /// Locks the controller. If a call has panicked, the state of the controller is not known:
    /// returns `None`, and the service ends.
    fn controller(&self) -> Option<MutexGuard<'_, Option<Controller<ServedBackend>>>> {
        let locked = self.controller.lock();
        if locked.is_err() {
            self.ender.end();
        }
        locked.ok()
    }

    /// Frees everything. Returns the number of threads that are not released yet.
    fn close(&self) -> u32 {
        let mut locked = self.controller();
        let Some(controller) = locked.as_deref_mut().and_then(Option::as_mut) else { return 0 };
        controller.close();
        controller.backend().leaving()
    }
}

/// Closes a controller, and waits until its threads are released.
fn release_all(mut controller: Controller<ServedBackend>) {
    controller.close();
    controller.backend_mut().wait_released();
}

/// The place of a client. It is free again when this is dropped, also if freeing what the client
/// has left panics.
struct Place {
    state: Arc<State>,
    _counted: Counted,
}

/// A client that is counted until this is dropped.
struct Counted(Arc<State>);

impl Place {
    fn reserve(state: &Arc<State>) -> Result<Self, Status> {
        let (most, status) = match state.lifetime {
            Lifetime::Connection => (1, Status::AlreadyBound),
            Lifetime::Service => (MAX_CLIENTS, Status::NoResources),
        };
        let reserve = |clients| (clients < most).then_some(clients + 1);
        let clients = &state.clients;
        let reserved = clients.fetch_update(Ordering::AcqRel, Ordering::Acquire, reserve);
        reserved.map_err(|_| status)?;
        Ok(Self { state: state.clone(), _counted: Counted(state.clone()) })
    }

    /// Executes the calls of a client until it closes its connection, or sends a packet that is not
    /// a call.
    fn serve(self, client: &Socket) {
        // One byte more, so that longer packets are detected.
        let mut packet = [0; MAX_BYTES + 1];
        while let Ok(size) = client.recv(&mut packet) {
            let untrusted = packet.get(..size).unwrap_or_default();
            let Some(request) = Request::decode(untrusted) else { break };
            let Request::Call(call) = request else { return self.close(client) };
            let Some((results, descriptor)) = self.call(call) else { break };
            let descriptors: Vec<_> = descriptor.iter().map(AsFd::as_fd).collect();
            if client.send(&request.encode_reply(results), &descriptors).is_err() {
                break;
            }
        }
    }

    /// Frees everything, and confirms it.
    fn close(self, client: &Socket) {
        let leaving = self.state.close();
        let ender = (self.state.lifetime == Lifetime::Service).then(|| self.state.ender.clone());
        drop(self);
        let reply = Request::Close.encode_reply(Ok(Results::Leaving(leaving)));
        // Without a client, there is nothing to confirm.
        let _ = client.send(&reply, &[]);
        if let Some(ender) = ender {
            ender.end();
        }
    }

    /// Executes a call. Returns its results and a descriptor, or `None` after the service's end.
    fn call(&self, call: Call) -> Option<(Result<Results, Status>, Option<OwnedFd>)> {
        let reply = self.state.controller()?.as_mut()?.call(call);
        Some(match reply {
            Err(status) => (Err(status), None),
            Ok(Reply::Done) => (Ok(Results::Nothing), None),
            Ok(Reply::Allocation(allocation)) => (Ok(Results::Allocation(allocation)), None),
            Ok(Reply::Descriptor(descriptor)) => (Ok(Results::Descriptor(descriptor)), None),
            Ok(Reply::Config(config)) => (Ok(Results::Config(config)), None),
            Ok(Reply::State(state)) => (Ok(Results::State(state)), None),
            Ok(Reply::Chunk(chunk)) => (Ok(Results::Nothing), Some(chunk)),
            Ok(Reply::SideData(data)) => {
                (Ok(Results::Written(data.written, data.losses)), Some(data.archive))
            }
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.state.lifetime == Lifetime::Connection {
            self.state.close();
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if thread::panicking() {
            // No other client may come that would find the lock poisoned.
            self.0.ender.end();
        }
        self.0.clients.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use std::thread::JoinHandle;
    use std::time::Instant;

    use super::*;
    use crate::controller::{Allocation, Mode};
    use crate::service::Client;

    /// Waits until the service has ended, which fails.
    #[track_caller]
    fn assert_fails(running: JoinHandle<io::Result<()>>) {
        let begin = Instant::now();
        while !running.is_finished() {
            assert!(begin.elapsed() < Duration::from_secs(600), "the service does not end");
            thread::sleep(Duration::from_millis(10));
        }
        running.join().unwrap().unwrap_err();
    }

    #[test]
    fn a_call_that_panics_ends_the_service() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        for lifetime in [Lifetime::Connection, Lifetime::Service] {
            let service = Service::bind(&path, lifetime, Settings::default()).unwrap();
            let state = service.state.clone();
            let running = thread::spawn(|| service.run());
            let client = Client::connect(&path).unwrap();
            client.initialize(Allocation { mode: Mode::Thread, num_traces: 1 }).unwrap();
            let call = thread::spawn(move || {
                let _controller = state.controller();
                panic!("in a call");
            });
            call.join().unwrap_err();
            client.get_allocation().unwrap_err();
            assert_fails(running);
        }
    }

    #[test]
    fn a_client_whose_call_panics_ends_the_service_without_another_client() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        for lifetime in [Lifetime::Connection, Lifetime::Service] {
            let service = Service::bind(&path, lifetime, Settings::default()).unwrap();
            let place = Place::reserve(&service.state).unwrap();
            let running = thread::spawn(|| service.run());
            let call = thread::spawn(move || {
                let _controller = place.state.controller();
                panic!("in a call");
            });
            call.join().unwrap_err();
            assert_fails(running);
        }
    }
}
