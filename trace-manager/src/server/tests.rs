//! The event loop, one step at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;
use tempfile::TempDir;
use trace_protocol::message::{Decoder, Register, ToManager, ToProvider};
use trace_protocol::socket::{Listener, Socket};

use super::*;
use crate::archive::{ArchiveOutput, ArchiveTarget};
use crate::config::SessionConfig;
use crate::error::ManagerError;
use crate::limits::{Bound, Limits};
use crate::machine::{ProviderId, SessionState, TraceeState, Trigger, TriggerAction};
use crate::machine_providers::MachineProviders;
use crate::notice::{Notice, NoticeSender};
use crate::recording::EndedRecording;
use crate::summary::Progress;

const LONG: Duration = Duration::from_secs(20);

type Started = (u64, Receiver<EndedRecording>, Receiver<Notice>);

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
        self.start_with(&[]).map(|(number, ended, _)| (number, ended))
    }

    /// Starts a session with triggers. Returns the receiver of notices, too.
    fn start_with(&mut self, triggers: &[(&str, TriggerAction)]) -> Result<Started, ManagerError> {
        let trigger = |(alert, action): &(&str, TriggerAction)| Trigger {
            alert: (*alert).to_owned(),
            action: *action,
        };
        let triggers = triggers.iter().map(trigger).collect();
        let path = self.directory.path().join("out.fxt");
        let (reply, replies) = crossbeam_channel::bounded(1);
        let (done, ended) = crossbeam_channel::bounded(1);
        let (notices, notice_receiver) = NoticeSender::new();
        let request = StartRequest {
            config: SessionConfig { buffer_size: 64 << 10, triggers, ..SessionConfig::default() },
            output: ArchiveOutput::open(ArchiveTarget::File(path.clone())).unwrap(),
            sinks: Vec::new(),
            guard: None,
            path,
            notices,
            discarded: Arc::default(),
            shared: Arc::new(SharedProgress::new(no_progress())),
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
        let peer = self.connect();
        peer.socket.send(&ToManager::Register(Register::default()).encode(), &[]).unwrap();
        self.event_loop.read_messages(peer.id);
        peer
    }

    fn state(&self, peer: &Peer) -> TraceeState {
        self.event_loop.coordinator.tracee(peer.id).unwrap().state()
    }

    fn session_state(&self) -> Option<SessionState> {
        self.event_loop.active.as_ref().map(|active| active.state)
    }

    /// Runs the loop's housekeeping until `condition` holds.
    fn run_until(&mut self, condition: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + LONG;
        while !condition(self) {
            assert!(Instant::now() < deadline, "the condition does not occur");
            std::thread::sleep(Duration::from_millis(1));
            self.event_loop.housekeeping();
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

fn no_progress() -> Progress {
    Progress {
        state: SessionState::Initialized,
        elapsed: Duration::ZERO,
        providers: 0,
        joined: 0,
        events: 0,
        bytes: 0,
        lost: 0,
        archive_failure: None,
    }
}

/// Returns a session with two providers: the first has the memory of all buffers, which will be
/// released, and the second waits for it.
fn with_waiting_provider() -> (Scene, u64, Receiver<EndedRecording>, Peer, Peer) {
    let bound = 100 << 10;
    let buffers = Some(Bound { process: bound, user: bound, total: bound });
    let mut scene = Scene::new(Limits { buffers, ..Limits::default() });
    let (number, ended) = scene.start().unwrap();
    let first = scene.register();
    assert!(matches!(scene.state(&first), TraceeState::Starting { .. }));
    scene.event_loop.connections[&first.id].buffer.as_ref().unwrap().begin_release();
    let second = scene.register();
    assert_eq!(scene.state(&second), TraceeState::Initializing);
    scene.event_loop.housekeeping();
    assert_eq!(scene.event_loop.admission.pending.len(), 1, "the deadline has not passed");
    (scene, number, ended, first, second)
}

const REFUSAL: &str = "the limit of 102400 bytes of buffers for a process is reached";

#[test]
fn a_waiting_provider_is_refused_at_its_deadline() {
    let (mut scene, _, _, first, mut second) = with_waiting_provider();
    assert_eq!(second.refusals(), [] as [&str; 0]);
    scene.event_loop.admission.pending[0].deadline = Instant::now();
    scene.event_loop.serve_waiting();
    assert_eq!(second.refusals(), [REFUSAL]);
    assert_eq!(scene.state(&second), TraceeState::Registered);
    assert!(matches!(scene.state(&first), TraceeState::Starting { .. }));
    assert!(scene.event_loop.admission.pending.is_empty());
}

#[test]
fn a_waiting_provider_is_refused_when_the_session_stops() {
    let (mut scene, number, ended, first, mut second) = with_waiting_provider();
    scene.command(Command::Stop { session: number + 1 });
    scene.event_loop.housekeeping();
    assert_eq!(second.refusals(), [] as [&str; 0], "another session stops");
    scene.command(Command::Stop { session: number });
    scene.event_loop.housekeeping();
    assert_eq!(second.refusals(), [REFUSAL]);
    assert_eq!(scene.session_state(), Some(SessionState::Stopping));
    drop(first.socket);
    scene.event_loop.read_messages(first.id);
    scene.run_until(|scene| scene.event_loop.active.is_none());
    let ended = ended.try_recv().unwrap();
    assert_eq!((ended.providers.len(), ended.refusals), (1, 1));
    assert_eq!(ended.refused[0].reason, REFUSAL);
}

#[test]
fn a_waiting_provider_gets_released_memory() {
    let (mut scene, _, _, first, mut second) = with_waiting_provider();
    drop(first.socket);
    scene.event_loop.read_messages(first.id);
    scene.run_until(|scene| matches!(scene.state(&second), TraceeState::Starting { .. }));
    assert_eq!(second.refusals(), [] as [&str; 0]);
    assert!(scene.event_loop.admission.pending.is_empty());
}

#[test]
fn a_closed_connection_does_not_wait() {
    let (mut scene, _, _, _first, second) = with_waiting_provider();
    drop(second.socket);
    scene.event_loop.read_messages(second.id);
    scene.event_loop.housekeeping();
    assert!(scene.event_loop.admission.pending.is_empty());
}

/// As by `trace record --wait` that is interrupted before any program runs.
#[test]
fn a_session_without_providers_stops() {
    let mut scene = Scene::new(Limits::default());
    let (number, ended) = scene.start().unwrap();
    assert_eq!(scene.session_state(), Some(SessionState::Started));
    scene.command(Command::Stop { session: number });
    scene.event_loop.housekeeping();
    let ended = ended.try_recv().unwrap();
    assert!(ended.providers.is_empty());
    assert!(ended.archive.wait().unwrap() > 0);
    assert!(scene.directory.path().join("out.fxt").exists());
}

#[test]
fn one_session_runs_at_a_time() {
    let mut scene = Scene::new(Limits::default());
    let (number, _ended) = scene.start().unwrap();
    assert!(matches!(scene.start(), Err(ManagerError::SessionActive)));
    scene.command(Command::Stop { session: number });
    scene.event_loop.housekeeping();
    assert_eq!(scene.start().unwrap().0, number + 1);
    scene.command(Command::Quit);
    scene.event_loop.housekeeping();
    assert!(matches!(scene.start(), Err(ManagerError::SessionActive)), "the manager ends");
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
    assert_eq!(first.refusals(), ["too many connections that have not registered"]);
    assert_eq!((second.refusals().len(), third.refusals().len()), (0, 0));
    assert_eq!(scene.event_loop.connections.len(), 3);
}

#[test]
fn a_connection_is_closed_at_its_deadline_unless_it_has_registered() {
    let mut scene = Scene::new(Limits::default());
    let (mut idle, _registered) = (scene.connect(), scene.register());
    scene.event_loop.close_unregistered();
    assert_eq!(scene.event_loop.connections.len(), 2);
    for (deadline, _) in &mut scene.event_loop.admission.unregistered {
        *deadline = Instant::now();
    }
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
    scene.event_loop.housekeeping();
    assert!(scene.event_loop.accept_resumes_at.is_some(), "the pause has not ended");
    scene.event_loop.accept_resumes_at = Some(Instant::now());
    scene.event_loop.housekeeping();
    assert_eq!(scene.event_loop.accept_resumes_at, None);
    // The listener is watched again, so it cannot be added a second time.
    scene.event_loop.accept_resumes_at = Some(Instant::now());
    scene.event_loop.housekeeping();
    assert!(scene.event_loop.accept_resumes_at.is_some(), "a failure is retried");
}

#[test]
fn the_first_alert_stops_the_session() {
    let mut scene = Scene::new(Limits::default());
    let triggers = [("first", TriggerAction::Stop), ("second", TriggerAction::Stop)];
    let (_, ended, notices) = scene.start_with(&triggers).unwrap();
    for name in ["other", "first", "second"] {
        scene.event_loop.handle_alert(1, name);
    }
    scene.event_loop.housekeeping();
    let alert = |name: &str| Notice::Alert { name: name.to_owned(), pid: 0 };
    let stopping = Notice::Stopping { alert: "first".to_owned() };
    let expected = [alert("other"), alert("first"), stopping, alert("second")];
    assert_eq!(notices.try_iter().collect::<Vec<_>>(), expected);
    let ended = ended.try_recv().unwrap();
    assert_eq!((ended.stopped_by.as_deref(), ended.alerts.len()), (Some("first"), 3));
}

#[test]
fn an_alert_without_a_snapshot_at_the_end_is_reported() {
    let mut scene = Scene::new(Limits::default());
    let (number, ended, _notices) = scene.start_with(&[("slow", TriggerAction::Snapshot)]).unwrap();
    let triggers = &mut scene.event_loop.active.as_mut().unwrap().alerts.triggers;
    assert_eq!((triggers.alert("slow").len(), triggers.alert("slow").len()), (1, 0));
    scene.command(Command::Stop { session: number });
    scene.event_loop.housekeeping();
    let snapshots = ended.try_recv().unwrap().snapshots.join();
    assert_eq!(snapshots.len(), 1);
    assert_eq!(snapshots[0].path, scene.directory.path().join("out-snapshot-2.fxt"));
    assert!(matches!(snapshots[0].archive, Err(ManagerError::SessionEnded)));
}

#[test]
fn snapshots_of_alerts_follow_each_other() {
    let mut scene = Scene::new(Limits::default());
    let (_, _ended, notices) = scene.start_with(&[("slow", TriggerAction::Snapshot)]).unwrap();
    for _ in 0..3 {
        scene.event_loop.handle_alert(1, "slow");
    }
    let directory = scene.directory.path().to_owned();
    let path = |number: u32| directory.join(format!("out-snapshot-{number}.fxt"));
    scene.run_until(|_| path(1).exists() && path(2).exists());
    assert!(!path(3).exists(), "the last two alerts share a snapshot");
    assert_eq!(notices.try_iter().filter(|it| matches!(it, Notice::Alert { .. })).count(), 3);
}
