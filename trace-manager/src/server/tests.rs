//! The event loop, one step at a time.

mod alerts;
mod conditions;
mod guarded;
mod paused;
mod retained;
mod streaming;
mod turns;
mod waiting;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;
use tempfile::TempDir;
use trace_protocol::message::{Decoder, Register, ToManager, ToProvider};
use trace_protocol::socket::{Listener, Socket};

use super::*;
use crate::config::SessionConfig;
use crate::error::ManagerError;
use crate::foreign::Closer;
use crate::ledger::Guard;
use crate::limits::{Bound, Limits};
use crate::machine::{ProviderId, SessionState, Timeouts, TraceeState, Trigger, TriggerAction};
use crate::machine_providers::MachineProviders;
use crate::notice::{Notice, NoticeReceiver, NoticeSender};
use crate::output::{ArchiveOutput, ArchiveTarget};
use crate::recording::EndedRecording;
use crate::snapshot_rotation::SnapshotLimits;
use crate::summary::Progress;

const LONG: Duration = Duration::from_secs(20);

type Started = (u64, Receiver<EndedRecording>, NoticeReceiver);

struct Scene {
    event_loop: EventLoop,
    mailbox: Mailbox,
    directory: TempDir,
}

/// A provider's connection, as the provider has it.
struct Peer {
    id: ProviderId,
    socket: Socket,
    decoder: Decoder<ToProvider>,
}

impl Scene {
    fn new(limits: Limits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = Listener::bind(&directory.path().join("manager.sock")).unwrap();
        let (mailbox, inbox) = Mailbox::new().unwrap();
        let providers = MachineProviders::default();
        let event_loop = EventLoop::new(listener, inbox, limits, providers).unwrap();
        Self { event_loop, mailbox, directory }
    }

    /// Starts a session. Returns its number, and the receiver of its end.
    fn start(&mut self) -> Result<(u64, Receiver<EndedRecording>), ManagerError> {
        self.start_with(&[], Timeouts::default()).map(|(number, ended, _)| (number, ended))
    }

    /// Starts a session with triggers and timeouts. Returns the receiver of notices, too.
    fn start_with(
        &mut self,
        triggers: &[(&str, TriggerAction)],
        timeouts: Timeouts,
    ) -> Result<Started, ManagerError> {
        let trigger = |(alert, action): &(&str, TriggerAction)| Trigger {
            alert: (*alert).to_owned(),
            action: *action,
        };
        let triggers = triggers.iter().map(trigger).collect();
        self.start_config(SessionConfig { triggers, timeouts, ..SessionConfig::default() })
    }

    /// Starts a session with this configuration and buffers of at most 64 KiB.
    fn start_config(&mut self, config: SessionConfig) -> Result<Started, ManagerError> {
        self.start_guarded(config, None)
    }

    fn start_guarded(
        &mut self,
        config: SessionConfig,
        guard: Option<Guard>,
    ) -> Result<Started, ManagerError> {
        let path = self.directory.path().join("out.fxt");
        let (reply, replies) = crossbeam_channel::bounded(1);
        let (done, ended) = crossbeam_channel::bounded(1);
        let (notices, notice_receiver) = NoticeSender::new();
        let request = StartRequest {
            config: SessionConfig {
                buffer_size: config.buffer_size.min(64 << 10),
                snapshots: SnapshotLimits { min_interval: Duration::ZERO, ..Default::default() },
                ..config
            },
            output: ArchiveOutput::open(ArchiveTarget::File(path.clone())).unwrap(),
            sinks: Vec::new(),
            guard,
            path,
            notices,
            discarded: Arc::default(),
            shared: Arc::new(SharedProgress::new(Progress::INITIAL)),
            reply,
            done,
        };
        self.command(Command::Start(Box::new(request)));
        replies.try_recv().unwrap().map(|number| (number, ended, notice_receiver))
    }

    fn command(&mut self, command: Command) {
        self.mailbox.send(command).unwrap();
        self.event_loop.run_commands();
    }

    fn connect(&mut self) -> Peer {
        let socket = Socket::connect(&self.directory.path().join("manager.sock")).unwrap();
        socket.set_nonblocking(true);
        self.event_loop.accept();
        Peer { id: self.event_loop.next_provider - 1, socket, decoder: Decoder::new() }
    }

    fn register(&mut self) -> Peer {
        self.register_as(rustix::process::geteuid().as_raw())
    }

    /// Registers a provider of this user.
    fn register_as(&mut self, uid: u32) -> Peer {
        let peer = self.connect();
        self.event_loop.connections.get_mut(&peer.id).unwrap().peer.uid = uid;
        peer.socket.send(&ToManager::Register(Register::default()).encode(), &[]).unwrap();
        self.event_loop.read_messages(peer.id);
        peer
    }

    fn state(&self, peer: &Peer) -> TraceeState {
        self.event_loop.coordinator.tracee(peer.id).unwrap().state()
    }

    fn session_state(&self) -> Option<SessionState> {
        self.event_loop.active.values().next().map(|active| active.state)
    }

    /// Runs the loop's housekeeping until `condition` holds.
    fn run_until(&mut self, condition: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + LONG;
        while !condition(self) {
            assert!(Instant::now() < deadline, "the condition does not occur");
            std::thread::sleep(Duration::from_millis(1));
            self.event_loop.housekeeping(Duration::ZERO);
        }
    }
}

impl Peer {
    /// Returns the reasons of the refusals so far.
    fn refusals(&mut self) -> Vec<String> {
        let (mut bytes, mut reasons) = ([0; 4096], Vec::new());
        while let Ok(length @ 1..) = self.socket.recv(&mut bytes) {
            self.decoder.feed(&bytes[..length]);
        }
        while let Some(message) = self.decoder.next_message() {
            if let ToProvider::Refused { reason } = message.unwrap() {
                reasons.push(reason);
            }
        }
        reasons
    }
}

/// As by `trace record --wait` that is interrupted before any program runs.
#[test]
fn a_session_without_providers_stops() {
    let mut scene = Scene::new(Limits::default());
    let (number, ended) = scene.start().unwrap();
    assert_eq!(scene.session_state(), Some(SessionState::Started));
    scene.command(Command::Stop { session: number });
    scene.event_loop.housekeeping(Duration::ZERO);
    let ended = ended.try_recv().unwrap();
    assert!(ended.providers.is_empty());
    assert!(ended.archive.wait().unwrap() > 0);
    assert!(scene.directory.path().join("out.fxt").exists());
}

#[test]
fn sessions_run_beside_each_other_until_the_manager_ends() {
    let mut scene = Scene::new(Limits::default());
    let (first, first_ended) = scene.start().unwrap();
    let (second, second_ended) = scene.start().unwrap();
    assert_eq!((second, scene.event_loop.active.len()), (first + 1, 2));
    scene.command(Command::Stop { session: first });
    scene.event_loop.housekeeping(Duration::ZERO);
    let first_summary = first_ended.try_recv().unwrap();
    assert!(second_ended.try_recv().is_err());
    scene.command(Command::Quit);
    scene.event_loop.housekeeping(Duration::ZERO);
    let second_summary = second_ended.try_recv().unwrap();
    assert!(scene.event_loop.collection.is_none(), "the threads end with the last session");
    // Threads complete the archives, and rename them.
    for summary in [first_summary, second_summary] {
        summary.archive.wait().unwrap();
    }
    let directory = scene.directory.path().to_owned();
    let files = || std::fs::read_dir(&directory).unwrap().count();
    let before = files();
    assert!(matches!(scene.start(), Err(ManagerError::Ended)), "the manager ends");
    assert_eq!(files(), before, "the refused archive is removed");
}

#[test]
fn a_snapshot_of_another_session_is_refused() {
    let mut scene = Scene::new(Limits::default());
    let (number, _ended) = scene.start().unwrap();
    for (session, is_refused) in [(number + 1, true), (number, false)] {
        let (reply, replies) = crossbeam_channel::bounded(1);
        let path = scene.directory.path().join("snapshot.fxt");
        scene.command(Command::Snapshot { session, path, reply });
        let result = replies.recv_timeout(LONG).unwrap();
        assert_eq!(matches!(result, Err(ManagerError::SessionEnded)), is_refused, "{result:?}");
    }
}

#[test]
fn the_oldest_unregistered_connection_is_closed_at_the_limit() {
    let mut scene = Scene::new(Limits { unregistered: 2, ..Limits::default() });
    let _registered = scene.register();
    let (mut first, mut second) = (scene.connect(), scene.connect());
    assert_eq!(scene.event_loop.connections.len(), 3);
    let mut third = scene.connect();
    assert_eq!(first.refusals(), ["more than 2 connections of its user have not registered"]);
    assert_eq!((second.refusals().len(), third.refusals().len()), (0, 0));
    assert_eq!(scene.event_loop.connections.len(), 3);
}

#[test]
fn a_program_is_refused_with_a_reason_while_descriptors_of_its_user_wait() {
    let mut scene = Scene::new(Limits::default());
    let (_number, ended) = scene.start().unwrap();
    scene.event_loop.closers.insert(rustix::process::geteuid().as_raw(), Closer::full());
    let mut refused = scene.connect();
    let reason = "descriptors that programs of its user passed cannot be closed";
    assert_eq!(refused.refusals(), [reason]);
    scene.command(Command::Quit);
    scene.event_loop.housekeeping(Duration::ZERO);
    let refused = ended.try_recv().unwrap().refused;
    assert_eq!(refused.iter().map(|it| it.reason.as_str()).collect::<Vec<_>>(), [reason]);
}

/// As after a restart of the daemon, when all programs connect at once.
#[test]
fn many_programs_register_at_once() {
    let mut scene = Scene::new(Limits { unregistered: 2, ..Limits::default() });
    let mut peers: Vec<Peer> = (0..5)
        .map(|_| {
            let peer = scene.connect();
            peer.socket.send(&ToManager::Register(Register::default()).encode(), &[]).unwrap();
            peer
        })
        .collect();
    let registered = scene.event_loop.connections.values().filter(|it| it.register.is_some());
    assert!(registered.count() >= 3, "those whose connections would be closed");
    assert_eq!(peers.iter_mut().flat_map(Peer::refusals).count(), 0);
    let late = scene.connect();
    late.socket.send(&ToManager::Register(Register::default()).encode(), &[]).unwrap();
    scene.event_loop.admission.unregistered.expire();
    scene.event_loop.close_unregistered();
    assert_eq!(scene.event_loop.connections.len(), 6, "their messages have arrived in time");
}

#[test]
fn a_connection_is_closed_at_its_deadline_unless_it_has_registered() {
    let mut scene = Scene::new(Limits::default());
    let (mut idle, _registered) = (scene.connect(), scene.register());
    scene.event_loop.close_unregistered();
    assert_eq!(scene.event_loop.connections.len(), 2);
    scene.event_loop.admission.unregistered.expire();
    scene.event_loop.close_unregistered();
    assert_eq!(idle.refusals(), ["it did not register in time"]);
    assert_eq!(scene.event_loop.connections.len(), 1);
    assert_eq!(scene.event_loop.register_deadline(), None);
}

#[test]
fn the_memory_of_messages_is_released_with_the_connection() {
    let mut scene = Scene::new(Limits::default());
    let peer = scene.register();
    assert_eq!(scene.event_loop.admission.providers.total(), 1);
    peer.socket.send(&[0x10, 0, 0, 0, 1, 0, 1, 0], &[]).unwrap();
    scene.event_loop.read_messages(peer.id);
    assert_ne!(scene.event_loop.admission.messages.total(), 0, "an incomplete message");
    drop(peer.socket);
    scene.event_loop.read_messages(peer.id);
    assert_eq!(scene.event_loop.admission.messages.total(), 0);
    assert_eq!(scene.event_loop.admission.providers.total(), 0);
}

#[test]
fn the_loop_waits_for_the_next_deadline() {
    let mut scene = Scene::new(Limits::default());
    assert_eq!(scene.event_loop.timeout(), -1, "no deadline");
    scene.event_loop.accept_resumes_at = Some(Instant::now() + Duration::from_secs(60));
    assert!((50_000..=60_001).contains(&scene.event_loop.timeout()));
    let _idle = scene.connect();
    assert!((1..=5_001).contains(&scene.event_loop.timeout()), "it has 5 s to register");
    scene.start().unwrap();
    assert!((1..=101).contains(&scene.event_loop.timeout()), "progress is due");
    scene.event_loop.accept_resumes_at = Some(Instant::now());
    assert_eq!(scene.event_loop.timeout(), 1, "rounded up");
}

#[test]
fn accepting_resumes_after_a_pause() {
    let mut scene = Scene::new(Limits::default());
    scene.event_loop.pause_accepting();
    let resumes_at = scene.event_loop.accept_resumes_at.unwrap();
    assert!(resumes_at > Instant::now() - Duration::from_millis(1));
    scene.event_loop.accept_resumes_at = Some(Instant::now() + LONG);
    scene.event_loop.housekeeping(Duration::ZERO);
    assert!(scene.event_loop.accept_resumes_at.is_some(), "the pause has not ended");
    scene.event_loop.accept_resumes_at = Some(Instant::now());
    scene.event_loop.housekeeping(Duration::ZERO);
    assert_eq!(scene.event_loop.accept_resumes_at, None);
    // The listener is watched again, so it cannot be added a second time.
    scene.event_loop.accept_resumes_at = Some(Instant::now());
    scene.event_loop.housekeeping(Duration::ZERO);
    assert!(scene.event_loop.accept_resumes_at.is_some(), "a failure is retried");
}
