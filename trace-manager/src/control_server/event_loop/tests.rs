use std::fs::{self, File};
use std::time::Duration;

use tempfile::TempDir;
use trace_protocol::control::{Output as ControlOutput, TraceConfig};
use trace_protocol::message::{Register, ToManager};
use trace_protocol::socket::Socket;

use super::*;
use crate::control_server::kept::keep;
use crate::control_server::machine::Query;
use crate::control_server::CategoryGroups;
use crate::query::EventCounts;

/// Returns a loop with sockets in this directory, which runs no turn by itself.
fn control_loop(directory: &TempDir) -> ControlLoop {
    let path = directory.path();
    let settings = ControlSettings {
        groups: CategoryGroups::new(),
        limits: ControlLimits::default(),
        scratch: path.to_owned(),
        guard: None,
        sessions: Some(path.join("sessions")),
        companions: None,
    };
    let manager = Arc::new(Manager::bind(&path.join("manager.sock")).unwrap());
    let listener = Listener::bind(&path.join("control.sock")).unwrap();
    let channel = crossbeam_channel::unbounded();
    ControlLoop::new(listener, manager, settings, channel, Waker::new().unwrap()).unwrap()
}

/// A reply that no query has.
const MARKED: Reply = Reply::Flushed;

/// Marks the last reply, which stays recent.
fn mark(control: &mut ControlLoop, subject: Subject) {
    control.recent.keep(subject, Instant::now() + Duration::from_secs(3600), &MARKED);
}

/// Returns the reply that the next query gets.
fn reply(control: &mut ControlLoop, subject: Subject) -> Reply {
    let ticket = Ticket { client: FIRST_CLIENT, id: 1 };
    let query = match subject {
        Subject::Providers(user) => Query::Providers(user),
        Subject::Statistics(session) => Query::Statistics(session),
        Subject::KnownCategories(_) => unreachable!("another thread replies"),
    };
    let begin = Instant::now();
    control.query(ticket, query);
    control.recent.get(subject, begin).unwrap_or(Reply::Started)
}

#[test]
fn queries_share_the_reply_about_a_session_until_its_state_changes() {
    let directory = tempfile::tempdir().unwrap();
    let mut control = control_loop(&directory);
    let subject = Subject::Statistics(1);
    let ticket = Ticket { client: FIRST_CLIENT, id: 1 };
    for change in 0..5 {
        mark(&mut control, subject);
        assert_eq!(reply(&mut control, subject), MARKED);
        match change {
            0 => control.counted(vec![(1, EventCounts::default())]),
            1 => control.perform(Output::Flush(1)),
            2 => control.perform(Output::SetCategories(1, ticket, Vec::new())),
            3 => control.perform(Output::StartAgain(1, ticket, Default::default(), None)),
            _ => control.recent.forget(1),
        }
        assert_ne!(reply(&mut control, subject), MARKED, "{change}");
    }
}

#[test]
fn queries_share_the_list_of_programs_until_one_registers_or_disconnects() {
    let directory = tempfile::tempdir().unwrap();
    let mut control = control_loop(&directory);
    let subject = Subject::Providers(None);
    let wait_for = |control: &ControlLoop, number| {
        while control.shared.manager.providers().unwrap().len() != number {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    mark(&mut control, subject);
    assert_eq!(reply(&mut control, subject), MARKED);
    let program = Socket::connect(&directory.path().join("manager.sock")).unwrap();
    program.send(&ToManager::Register(Register::default()).encode(), &[]).unwrap();
    wait_for(&control, 1);
    assert!(matches!(reply(&mut control, subject), Reply::Providers(list) if list.len() == 1));
    mark(&mut control, subject);
    assert_eq!(reply(&mut control, subject), MARKED);
    drop(program);
    wait_for(&control, 0);
    assert_eq!(reply(&mut control, subject), Reply::Providers(Vec::new()));
}

/// Else the session of the configuration would not start: one of its name would run already.
#[test]
fn a_session_whose_directory_is_missing_does_not_run() {
    let directory = tempfile::tempdir().unwrap();
    let mut control = control_loop(&directory);
    let output = directory.path().join("output");
    fs::create_dir(&output).unwrap();
    let mut config = TraceConfig {
        name: "web".to_owned(),
        output: ControlOutput::Beneath("a.fxt".to_owned()),
        buffer_size: 1 << 20,
        keep_alive: true,
        ..TraceConfig::default()
    };
    let peer = PeerCredentials { pid: 1, uid: geteuid().as_raw(), gid: getegid().as_raw() };
    let caller = Caller { peer, all_users: false };
    let opened = File::open(&output).unwrap().into();
    keep(control.shared.kept.as_ref(), &mut config, &opened, caller, None).unwrap();
    fs::remove_dir(&output).unwrap();
    control.restore();
    assert!(control.machine.is_empty());
    assert_eq!(fs::read_dir(directory.path().join("sessions")).unwrap().count(), 0);
}
