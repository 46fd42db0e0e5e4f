//! Sessions of a controller.

use std::fs::File;
use std::sync::mpsc::{channel, Receiver};
use std::time::Duration;

use trace_manager::controller::{Controller, Output, StartRequest, TraceConfig};
use trace_manager::{CategoryGroups, ControlLimits, ControlServer, ControlSettings, Manager};
use trace_protocol::message::{StartOptions, ToProvider};
use trace_protocol::packet::Packet;
use trace_protocol::socket::Listener;

use tempfile::TempDir;

use crate::provider::{Provider, Session};

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
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let settings = ControlSettings {
            groups: CategoryGroups::new(),
            limits: ControlLimits::default(),
            scratch: directory.path().to_owned(),
            guard: None,
            sessions: None,
            companions: None,
        };
        let manager = Manager::bind(&path("manager.sock")).unwrap();
        let listener = Listener::bind(&path("control.sock")).unwrap();
        let server = ControlServer::start(listener, manager, settings).unwrap();
        let (provider, _) = Provider::register(&path("manager.sock"), "late");
        let scene = Self { directory, _server: server, provider };
        let config = TraceConfig {
            name: "session".to_owned(),
            output: Output::Beneath("out.fxt".to_owned()),
            buffer_size: 64 << 10,
            start_timeout: TIMEOUT,
            stop_timeout: TIMEOUT,
            detached: true,
            ..TraceConfig::default()
        };
        let folder = File::open(scene.directory.path()).unwrap();
        scene.controller().initialize(&config, &folder).unwrap();
        scene
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
