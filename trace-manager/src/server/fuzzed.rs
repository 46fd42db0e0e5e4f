//! The event loop with hostile providers, one step at a time: messages, packets and shared memory.
//!
//! All of it is real, but for epoll: connections are socket pairs, and the steps are the calls that
//! the loop makes for an event. A sink keeps the records of each input, which the reader must
//! accept.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;
use trace_format::Reader;
use trace_protocol::archive;
use trace_protocol::buffer::header::{directory_entry, BufferingMode};
use trace_protocol::message::{Features, Register, ToManager};
use trace_protocol::packet::{AlertName, Packet, PACKET_VERSION};
use trace_protocol::socket::{Listener, Socket};
use trace_protocol::words::as_bytes;

use super::{Command, EventLoop, Mailbox, SharedProgress, StartRequest};
use crate::choices::Choices;
use crate::config::SessionConfig;
use crate::foreign::Closer;
use crate::limits::{Bound, Limits};
use crate::machine::ProviderId;
use crate::machine_providers::MachineProviders;
use crate::notice::{NoticeReceiver, NoticeSender};
use crate::output::{ArchiveOutput, ArchiveTarget};
use crate::recording::EndedRecording;
use crate::sink::{Ending, Finish, Opening, Sink, SinkRequest};
use crate::summary::Progress;

/// The inputs of a stage. Its sessions keep the results of each provider.
const INPUTS: u32 = 256;

/// The most connections of an input.
const MOST: usize = 3;

/// The time in which the threads of the loop have done what they have to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs an input.
///
/// # Panics
///
/// If the loop panics, keeps anything of providers that have gone, or passes on a record that the
/// reader refuses.
pub(crate) fn run(choices: &mut Choices<'_>) {
    let kind = choices.below(6);
    STAGES.with_borrow_mut(|stages| {
        // It is missing after a panic.
        let mut stage = stages.remove(&kind).unwrap_or_else(|| Stage::new(kind));
        stage.run(choices);
        match stage.inputs < INPUTS {
            true => drop(stages.insert(kind, stage)),
            false => stage.end(),
        }
    });
}

thread_local! {
    static STAGES: RefCell<BTreeMap<u8, Stage>> = const { RefCell::new(BTreeMap::new()) };
}

/// An event loop with sessions, for many inputs.
struct Stage {
    event_loop: EventLoop,
    mailbox: Mailbox,
    sessions: Vec<Session>,
    records: Arc<Mutex<Vec<u64>>>,
    inputs: u32,
}

struct Session {
    number: u64,
    ended: Receiver<EndedRecording>,
    /// Notices are read by nobody.
    _notices: NoticeReceiver,
}

/// A hostile provider.
struct Peer {
    id: ProviderId,
    socket: Socket,
    buffer: Option<File>,
    packets: Option<Socket>,
    /// The wrapped count of the next valid save.
    wraps: u32,
}

/// Keeps the records of all providers.
#[derive(Debug)]
struct Kept(Arc<Mutex<Vec<u64>>>);

impl Sink for Kept {
    fn open(&mut self, opening: &Opening<'_>) {
        let (identity, rate, now) = (opening.identity(), opening.ticks_per_second(), opening.now());
        archive::opening(&mut lock(&self.0), identity, rate, now);
    }

    fn take(&mut self, records: &crate::records::Records) {
        lock(&self.0).extend_from_slice(&records.words);
    }

    fn finish(self: Box<Self>, _: Ending) -> Finish {
        Finish::new(|| Ok(0))
    }
}

fn lock(words: &Mutex<Vec<u64>>) -> std::sync::MutexGuard<'_, Vec<u64>> {
    words.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a listener without a file.
fn listener() -> Listener {
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let name = format!("trace-fuzz-{}-{number}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("a short name");
    let socket = UnixListener::bind_addr(&address).expect("nobody else has this name");
    Listener::from_bound(OwnedFd::from(socket), PathBuf::from(name)).expect("it listens")
}

impl Stage {
    /// The first bits of `kind` are the mode; another one is for function records, or a second
    /// session.
    fn new(kind: u8) -> Self {
        let (mailbox, inbox) = Mailbox::new().expect("descriptors are left");
        let providers = MachineProviders::default();
        // A provider may request gigabytes.
        let buffers = Some(Bound { process: 512 << 10, user: 1 << 20, total: 1 << 20 });
        let limits = Limits { buffers, ..Limits::default() };
        let event_loop = EventLoop::new(listener(), inbox, limits, providers);
        let event_loop = event_loop.expect("descriptors are left");
        let (sessions, records) = (Vec::new(), Arc::default());
        let mut stage = Self { event_loop, mailbox, sessions, records, inputs: 0 };
        let mode = BufferingMode::from_u8(kind % 3).expect("one of three modes");
        let is_second = kind >= 3;
        let config = SessionConfig { mode, buffer_size: 64 << 10, ..SessionConfig::default() };
        stage.start(SessionConfig { function_records: is_second, ..config.clone() }, true);
        if is_second && mode == BufferingMode::Streaming {
            let categories = vec!["trace".to_owned()];
            stage.start(SessionConfig { categories, ..config }, false);
        }
        stage
    }

    fn start(&mut self, config: SessionConfig, keeps_records: bool) {
        let null = File::options().write(true).open("/dev/null").expect("every system has it");
        let output = ArchiveOutput::open(ArchiveTarget::Stream(null.into())).expect("it is open");
        let sink = Box::new(Kept(Arc::clone(&self.records)));
        let sink = SinkRequest { categories: Vec::new(), sink };
        let (reply, replies) = crossbeam_channel::bounded(1);
        let (done, ended) = crossbeam_channel::bounded(1);
        let (notices, receiver) = NoticeSender::new();
        let request = StartRequest {
            config,
            output,
            sinks: keeps_records.then_some(sink).into_iter().collect(),
            guard: None,
            path: PathBuf::from("/dev/null"),
            notices,
            discarded: Arc::default(),
            shared: Arc::new(SharedProgress::new(Progress::INITIAL)),
            reply,
            done,
        };
        self.command(Command::Start(Box::new(request)));
        let number = replies.try_recv().expect("it replies").expect("threads are left");
        self.sessions.push(Session { number, ended, _notices: receiver });
    }

    fn command(&mut self, command: Command) {
        self.mailbox.send(command).expect("the loop exists");
        self.event_loop.run_commands();
    }

    fn run(&mut self, choices: &mut Choices<'_>) {
        self.inputs += 1;
        lock(&self.records).clear();
        archive::magic(&mut lock(&self.records));
        let mut peers = vec![self.connect()];
        while !choices.is_empty() {
            if peers.len() < MOST && choices.one_in(16) {
                peers.push(self.connect());
            }
            let index = usize::from(choices.byte()) % peers.len();
            self.step(&mut peers[index], choices);
        }
        self.disconnect(peers);
        self.check();
    }

    fn connect(&mut self) -> Peer {
        let (ours, theirs) = UnixStream::pair().expect("descriptors are left");
        let socket = Socket::from(OwnedFd::from(theirs));
        socket.set_nonblocking(true);
        // A connection is refused while sockets of earlier ones wait for a thread.
        while !self.event_loop.closers.values().all(Closer::accepts) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let id = self.event_loop.next_provider;
        self.event_loop.connect(OwnedFd::from(ours).into());
        assert!(self.event_loop.connections.contains_key(&id), "the loop refuses a connection");
        Peer { id, socket, buffer: None, packets: None, wraps: 0 }
    }

    fn step(&mut self, peer: &mut Peer, choices: &mut Choices<'_>) {
        match choices.below(16) {
            0..=2 => peer.register(choices),
            3 => peer.send(&bytes(choices)),
            4..=6 => peer.write(choices),
            7..=9 => peer.send_packet(choices),
            10 => peer.send_bytes_as_packet(choices),
            11 if choices.one_in(8) => peer.packets = None,
            12 if choices.one_in(8) => {
                let session = self.sessions[0].number;
                self.command(Command::Flush { session });
            }
            _ => {}
        }
        self.event_loop.read_messages(peer.id);
        peer.receive();
        self.event_loop.read_packets(peer.id);
        self.event_loop.housekeeping(Duration::ZERO);
    }

    /// Closes all connections, and waits until the loop has noticed that and collected what they
    /// left.
    fn disconnect(&mut self, peers: Vec<Peer>) {
        let ids = Vec::from_iter(peers.iter().map(|peer| peer.id));
        drop(peers);
        let deadline = Instant::now() + PATIENCE;
        while let Some(left) = self.left() {
            assert!(Instant::now() < deadline, "there are still {left}");
            ids.iter().for_each(|id| self.event_loop.read_messages(*id));
            self.event_loop.housekeeping(Duration::ZERO);
            std::thread::yield_now();
        }
    }

    /// Returns what the loop still has of programs.
    fn left(&self) -> Option<&'static str> {
        let EventLoop { connections, admission, collection, .. } = &self.event_loop;
        let outstanding = collection.as_ref().map_or(0, |it| it.outstanding());
        match (connections.len(), admission.pending.len(), outstanding) {
            (0, 0, 0) => None,
            (0, 0, _) => Some("records to collect"),
            (0, ..) => Some("programs that wait for memory"),
            _ => Some("connections"),
        }
    }

    fn check(&self) {
        let EventLoop { admission, collection, coordinator, .. } = &self.event_loop;
        assert_eq!((admission.providers.total(), admission.messages.total()), (0, 0));
        for Session { number, .. } in &self.sessions {
            let providers = collection.iter().flat_map(|it| it.of_session(*number));
            assert_eq!(providers.count() + coordinator.participants(*number).count(), 0);
        }
        let records = lock(&self.records);
        let mut reader = Reader::new(as_bytes(&records));
        while reader.next().expect("the loop let it through").is_some() {}
        let stats = reader.stats();
        assert_eq!((stats.bad_records, stats.unknown_records), (0, 0));
    }

    /// Ends the sessions, and with them the threads of the loop.
    fn end(mut self) {
        for Session { number, ended, .. } in std::mem::take(&mut self.sessions) {
            self.command(Command::Stop { session: number });
            self.event_loop.housekeeping(Duration::ZERO);
            let ended = ended.try_recv().expect("no provider delays it");
            ended.archive.wait().expect("/dev/null is never full");
        }
        assert!(self.event_loop.collection.is_none());
    }
}

/// Returns up to 64 bytes.
fn bytes(choices: &mut Choices<'_>) -> Vec<u8> {
    (0..choices.below(65)).map(|_| choices.byte()).collect()
}

impl Peer {
    fn send(&self, bytes: &[u8]) {
        // Fails if the loop has closed it.
        let _ = self.socket.send(bytes, &[]);
    }

    /// Registers, perhaps again, with any bytes as its strings.
    fn register(&self, choices: &mut Choices<'_>) {
        let text =
            |choices: &mut Choices<'_>| String::from_utf8_lossy(&bytes(choices)).into_owned();
        let message = match choices.below(4) {
            0 => ToManager::Supports(Features::from_bits(u32::from(choices.byte()))),
            _ => {
                let name = if choices.one_in(4) { text(choices) } else { "fuzz".to_owned() };
                let durable_hint = 1 << choices.below(64);
                ToManager::Register(Register { name, durable_hint, ..Register::default() })
            }
        };
        let mut encoded = message.encode();
        if choices.one_in(4) {
            let index = usize::from(choices.byte()) % encoded.len();
            encoded[index] ^= choices.byte();
        }
        self.send(&encoded);
    }

    /// Takes the buffer and the packet socket, if they have arrived.
    fn receive(&mut self) {
        let (mut scratch, mut descriptors) = ([0; 4096], Vec::new());
        while let Ok(1..) = self.socket.recv_with_fds(&mut scratch, &mut descriptors) {}
        if let (Some(packets), Some(buffer)) = (descriptors.pop(), descriptors.pop()) {
            let packets = Socket::from(packets);
            packets.set_nonblocking(true);
            (self.packets, self.buffer, self.wraps) = (Some(packets), Some(buffer.into()), 0);
        }
    }

    /// Writes into the shared buffer: words anywhere, or a chunk where one can be.
    fn write(&self, choices: &mut Choices<'_>) {
        let Some(buffer) = &self.buffer else { return };
        let size = buffer.metadata().map_or(0, |it| it.len());
        let place = u64::from(choices.byte()) << 8 | u64::from(choices.byte());
        let mut place = match choices.below(4) {
            // The header, and the loss table behind it.
            0 => place % 8192,
            _ => place * 8 % size.max(1),
        };
        if choices.one_in(2) {
            let entry = directory_entry(self.wraps, u32::from(choices.below(8)));
            let _ = buffer.write_all_at(as_bytes(&[entry]), place / 8 * 8);
            place += 256;
        }
        // Beyond the end it would grow, which its seals forbid. It may not shrink, either.
        let _ = buffer.write_all_at(&bytes(choices), place / 8 * 8);
        if choices.one_in(16) {
            assert!(buffer.set_len(size / 2).is_err(), "it is sealed");
        }
    }

    fn send_packet(&mut self, choices: &mut Choices<'_>) {
        let packet = match choices.below(8) {
            0..=1 => Packet::Started { version: PACKET_VERSION },
            2..=4 => {
                self.wraps += 1;
                let durable_data_end = u64::from(choices.byte()) * 8;
                Packet::SaveBuffer { wrapped_count: self.wraps - 1, durable_data_end }
            }
            5 => Packet::Stopped,
            6 => Packet::CategoriesSet { sequence: u32::from(choices.below(4)) },
            _ => Packet::Alert(AlertName::new("alert").expect("it is short")),
        };
        self.send_as_packet(&packet.encode());
    }

    fn send_bytes_as_packet(&self, choices: &mut Choices<'_>) {
        self.send_as_packet(&bytes(choices));
    }

    fn send_as_packet(&self, bytes: &[u8]) {
        // Fails if the loop has closed it.
        self.packets.iter().for_each(|packets| drop(packets.send(bytes, &[])));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The choices of many seeds. Those of a fuzzer find more: `fuzz/fuzz_targets/server.rs`.
    #[test]
    fn hostile_providers_leave_nothing_and_write_nothing_that_is_refused() {
        (0..600).for_each(|seed| run(&mut Choices::Seed(seed, 300)));
    }
}
