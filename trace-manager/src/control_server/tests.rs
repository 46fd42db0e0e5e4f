//! The control server with real sockets.

use std::fs::File;

use trace_protocol::control::{Output, TraceConfig};

use super::*;

/// A connection of the same process and user has no permission to run commands.
#[test]
fn only_the_servers_own_connection_selects_commands() {
    let directory = tempfile::tempdir().unwrap();
    let control = directory.path().join("control.sock");
    let settings = ControlSettings {
        groups: CategoryGroups::new(),
        limits: ControlLimits::default(),
        scratch: directory.path().to_owned(),
        guard: None,
        sessions: None,
        companions: None,
    };
    let manager = Manager::bind(&directory.path().join("manager.sock")).unwrap();
    let server =
        ControlServer::start(Listener::bind(&control).unwrap(), manager, settings).unwrap();
    let start = |controller: &mut Controller, name: &str| {
        let config = TraceConfig {
            name: name.to_owned(),
            rules: vec!["drop:run:true".to_owned()],
            output: Output::Beneath(format!("{name}.fxt")),
            buffer_size: 1 << 20,
            ..TraceConfig::default()
        };
        controller.initialize(&config, &File::open(directory.path()).unwrap())
    };
    let mut client = Controller::connect(&control).unwrap();
    let refused = start(&mut client, "client").unwrap_err().to_string();
    assert!(refused.contains("only for sessions of its own configuration"), "{refused}");
    assert_eq!(start(&mut server.connect().unwrap(), "own").unwrap(), "own");
}
