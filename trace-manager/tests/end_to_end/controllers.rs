//! Sessions of a controller.

use std::fs::File;
use std::sync::mpsc::channel;
use std::time::Duration;

use trace_manager::controller::{Controller, Output, TraceConfig};
use trace_manager::{CategoryGroups, ControlLimits, ControlServer, ControlSettings, Manager};
use trace_protocol::message::{StartOptions, ToProvider};
use trace_protocol::packet::Packet;
use trace_protocol::socket::Listener;

use crate::provider::Provider;
use crate::LONG;

/// A controller runs what it records once its session has started.
#[test]
fn a_session_has_started_when_its_providers_record() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let settings = ControlSettings {
        groups: CategoryGroups::new(),
        limits: ControlLimits::default(),
        scratch: directory.path().to_owned(),
        guard: None,
        sessions: None,
    };
    let manager = Manager::bind(&path("manager.sock")).unwrap();
    let listener = Listener::bind(&path("control.sock")).unwrap();
    let _server = ControlServer::start(listener, manager, settings).unwrap();
    let (mut provider, _) = Provider::register(&path("manager.sock"), "late");
    let mut controller = Controller::connect(&path("control.sock")).unwrap();
    let config = TraceConfig {
        name: "session".to_owned(),
        output: Output::Beneath("out.fxt".to_owned()),
        buffer_size: 64 << 10,
        start_timeout: Duration::from_secs(60),
        ..TraceConfig::default()
    };
    controller.initialize(&config, &File::open(directory.path()).unwrap()).unwrap();
    let (sender, has_started) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            controller.start("session").unwrap();
            sender.send(()).unwrap();
        });
        let session = provider.initialize();
        assert_eq!(provider.next(), Some(ToProvider::Start(StartOptions::default())));
        // A reply that does not wait for the provider arrives in this time.
        let early = has_started.recv_timeout(Duration::from_millis(300));
        assert!(early.is_err(), "the provider does not record yet");
        session.send(Packet::Started { version: 1 });
        has_started.recv_timeout(LONG).unwrap();
    });
    drop(provider);
}
