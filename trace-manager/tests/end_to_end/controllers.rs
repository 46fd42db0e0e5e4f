//! Sessions of a controller.

use std::fs::{self, DirBuilder, File};
use std::io::Read as _;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{channel, Receiver};
use std::time::Duration;

use trace_manager::controller::{Controller, Output, StartRequest, TraceConfig};
use trace_manager::{
    note_end, CategoryGroups, ControlLimits, ControlServer, ControlSettings, Manager,
};
use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::control::KeptItem;
use trace_protocol::message::{StartOptions, ToProvider};
use trace_protocol::packet::Packet;
use trace_protocol::socket::Listener;

use tempfile::TempDir;

use crate::provider::{Provider, Session};
use crate::wait_until;

/// The time in which a reply arrives that does not wait for a provider.
const SHORT: Duration = Duration::from_millis(300);

/// The time in which a start is replied to that does not wait any longer: less than the time-outs
/// of the session.
const BEFORE_TIMEOUT: Duration = Duration::from_secs(20);

/// The time-outs of the session.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A control server with a session, and a provider for it.
struct Scene {
    directory: TempDir,
    _server: ControlServer,
    provider: Provider,
    /// The connection with which the session ends until it has started.
    _controller: Controller,
}

/// Starts a server with its sockets in `directory`, and the files of its sessions in `sessions`.
fn serve(directory: &Path, sessions: PathBuf) -> ControlServer {
    let settings = ControlSettings {
        groups: CategoryGroups::new(),
        limits: ControlLimits::default(),
        scratch: directory.to_owned(),
        guard: None,
        sessions: Some(sessions),
        companions: None,
    };
    let manager = Manager::bind(&directory.join("manager.sock")).unwrap();
    let listener = Listener::bind(&directory.join("control.sock")).unwrap();
    ControlServer::start(listener, manager, settings).unwrap()
}

impl Scene {
    fn new() -> Self {
        Self::with(TraceConfig::default())
    }

    /// Initializes a session with the duration, mode, categories and `keep_alive` of `config`.
    fn with(config: TraceConfig) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let server = serve(directory.path(), directory.path().join("sessions"));
        let (provider, _) = Provider::register(&directory.path().join("manager.sock"), "late");
        let mut controller = Controller::connect(&directory.path().join("control.sock")).unwrap();
        let config = TraceConfig {
            name: "session".to_owned(),
            output: Output::Beneath("out.fxt".to_owned()),
            buffer_size: 64 << 10,
            start_timeout: TIMEOUT,
            stop_timeout: TIMEOUT,
            detached: true,
            ..config
        };
        let folder = File::open(directory.path()).unwrap();
        controller.initialize(&config, &folder).unwrap();
        Self { directory, _server: server, provider, _controller: controller }
    }

    /// Initializes a session that goes on after a kill of its server, and starts it. Its provider
    /// has not replied.
    fn kept(duration: Duration) -> (Self, Session, Receiver<()>) {
        let config = TraceConfig { duration, keep_alive: true, ..TraceConfig::default() };
        let mut scene = Self::with(config);
        let has_started = scene.start();
        let session = scene.initialize();
        (scene, session, has_started)
    }

    /// Returns the file by which the session goes on.
    fn kept_file(&self) -> PathBuf {
        let mut files = fs::read_dir(self.directory.path().join("sessions")).unwrap();
        files.next().unwrap().unwrap().path()
    }

    fn controller(&self) -> Controller {
        Controller::connect(&self.directory.path().join("control.sock")).unwrap()
    }

    /// Starts the session, perhaps again, on another thread. The receiver gets a message when it
    /// has started.
    fn start(&self) -> Receiver<()> {
        let (mut controller, (sender, has_started)) = (self.controller(), channel());
        std::thread::spawn(move || {
            let session = "session".to_owned();
            controller.start_with(StartRequest { session, ..StartRequest::default() }).unwrap();
            sender.send(()).unwrap();
        });
        has_started
    }

    /// Takes the buffer of the start, to which the provider does not reply yet.
    fn initialize(&mut self) -> Session {
        let session = self.provider.initialize();
        assert_eq!(self.provider.next(), Some(ToProvider::Start(StartOptions::default())));
        session
    }
}

/// A controller runs what it records once its session has started.
#[test]
fn a_session_has_started_when_its_providers_record() {
    let mut scene = Scene::new();
    let mut earlier = None;
    for is_again in [false, true] {
        let has_started = scene.start();
        if is_again {
            assert_eq!(scene.provider.next(), Some(ToProvider::Terminate));
            drop(earlier.take());
        }
        let session = scene.initialize();
        assert!(has_started.recv_timeout(SHORT).is_err(), "the provider does not record yet");
        session.send(Packet::Started { version: 1 });
        has_started.recv_timeout(BEFORE_TIMEOUT).unwrap();
        if !is_again {
            let mut controller = scene.controller();
            let pausing = std::thread::spawn(move || controller.pause("session").unwrap());
            scene.provider.stop(&session);
            pausing.join().unwrap();
        }
        earlier = Some(session);
    }
}

/// The provider replies to neither.
#[test]
fn a_stop_ends_the_wait_of_a_start() {
    let mut scene = Scene::new();
    let has_started = scene.start();
    let session = scene.initialize();
    let mut controller = scene.controller();
    let stopping = std::thread::spawn(move || controller.stop("session").unwrap());
    has_started.recv_timeout(BEFORE_TIMEOUT).unwrap();
    assert_eq!(scene.provider.next(), Some(ToProvider::Stop));
    session.send(Packet::Started { version: 1 });
    session.send(Packet::Stopped);
    assert_eq!(scene.provider.next(), Some(ToProvider::Terminate));
    drop(session);
    assert_eq!(stopping.join().unwrap().providers.len(), 1);
}

/// A server that continues the session after a kill needs the begin.
#[test]
fn the_begin_of_a_duration_is_noted_when_the_providers_record() {
    let (scene, session, has_started) = Scene::kept(Duration::from_secs(3600));
    let has_begun = || {
        let items = KeptItem::decode_all(&fs::read(scene.kept_file()).unwrap());
        items.iter().any(|item| matches!(item, KeptItem::Began(_)))
    };
    assert!(!has_begun());
    session.send(Packet::Started { version: 1 });
    has_started.recv_timeout(BEFORE_TIMEOUT).unwrap();
    assert!(has_begun());
}

/// It has waited for longer than its duration, which has not begun. The file is what a killed
/// server leaves.
#[test]
fn a_session_that_waits_for_its_providers_goes_on_after_a_kill() {
    let (scene, _session, _has_started) = Scene::kept(Duration::from_nanos(1));
    let next = tempfile::tempdir().unwrap();
    let sessions = next.path().join("sessions");
    DirBuilder::new().mode(0o700).create(&sessions).unwrap();
    let left = sessions.join(scene.kept_file().file_name().unwrap());
    fs::copy(scene.kept_file(), &left).unwrap();
    note_end(&left).unwrap();
    let _server = serve(next.path(), sessions);
    let part = scene.directory.path().join("out.2.fxt");
    wait_until(|| part.exists());
}

/// Makes each request that a session accepts while a start waits for its providers.
fn request_all(scene: &Scene) {
    let mut controller = scene.controller();
    let folder = File::open(scene.directory.path()).unwrap();
    let snapshot = Output::Beneath("snapshot.fxt".to_owned());
    assert!(controller.snapshot("session", snapshot, &folder).unwrap() > 0);
    controller.flush("session").unwrap();
    let (mut reader, writer) = UnixStream::pair().unwrap();
    controller.follow("session", &[], &writer).unwrap();
    reader.read_exact(&mut [0; 8]).unwrap();
    let categories = controller.change_categories("session", &["more".to_owned()], &[]).unwrap();
    assert!(categories.contains(&"more".to_owned()), "{categories:?}");
}

/// Starts a session again with two providers, of which the second does not record yet. Makes the
/// requests before it has left its earlier buffer, or else while it does not reply to the start.
fn request_during_restart(has_left: bool) {
    let config = TraceConfig {
        mode: BufferingMode::Streaming,
        categories: vec!["some".to_owned()],
        ..TraceConfig::default()
    };
    let mut scene = Scene::with(config);
    let registration = scene.directory.path().join("manager.sock");
    let (mut late, _) = Provider::register(&registration, "later");
    let has_started = scene.start();
    let (first, second) = (scene.provider.enter(), late.enter());
    has_started.recv_timeout(BEFORE_TIMEOUT).unwrap();
    let mut controller = scene.controller();
    let pausing = std::thread::spawn(move || controller.pause("session").unwrap());
    scene.provider.stop(&first);
    late.stop(&second);
    pausing.join().unwrap();

    let has_started = scene.start();
    assert_eq!(scene.provider.next(), Some(ToProvider::Terminate));
    assert_eq!(late.next(), Some(ToProvider::Terminate));
    drop(first);
    let _first = scene.provider.enter();
    if !has_left {
        return request_all(&scene);
    }
    drop(second);
    let second = late.initialize();
    request_all(&scene);
    assert!(has_started.try_recv().is_err(), "the start still waits");
    second.send(Packet::Started { version: 1 });
    has_started.recv_timeout(BEFORE_TIMEOUT).unwrap();
}

#[test]
fn a_session_that_starts_again_accepts_requests_while_it_waits_for_a_provider() {
    for has_left in [false, true] {
        request_during_restart(has_left);
    }
}
