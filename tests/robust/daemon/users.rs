//! Several users of one daemon, and clients that misbehave.

use std::fs::{set_permissions, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::fs::{chown, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;
use trace_manager::controller::ControllerError;
use trace_protocol::control::{FollowRequest, Reply, Request, ToController, ToDaemon};
use trace_protocol::message::Decoder;
use trace_protocol::socket::Socket;

use super::*;
use crate::harness::{subject_path, Archive};

const USER: u32 = 12345;
const OTHER: u32 = 12346;
/// The group of the control socket.
const GROUP: u32 = 12347;

/// A daemon of root with copies of the programs that all users can run.
fn shared_daemon() -> Option<Daemon> {
    if !crate::is_root() {
        return None;
    }
    let daemon = Daemon::start();
    set_permissions(daemon.path(""), Permissions::from_mode(0o755)).unwrap();
    let programs =
        [(trace(&[]).get_program().to_owned(), "trace"), (subject_path().into(), "subject")];
    for (program, name) in programs {
        // Copied by another process, because a forked child of this one might keep the file open
        // for writing.
        assert!(Command::new("cp").arg(program).arg(daemon.path(name)).status().unwrap().success());
    }
    // The administrator gives the control socket to a group, and permits all users to connect.
    chown(daemon.path("control.sock"), None, Some(GROUP)).unwrap();
    set_permissions(daemon.path("control.sock"), Permissions::from_mode(0o666)).unwrap();
    for uid in [USER, OTHER] {
        let home = daemon.path(&uid.to_string());
        std::fs::create_dir(&home).unwrap();
        chown(&home, Some(uid), Some(uid)).unwrap();
    }
    Some(daemon)
}

/// Returns a command that runs a program as a user who is not in the group.
fn command_of(daemon: &Daemon, uid: u32, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(daemon.path(program));
    command.args(arguments).env_clear().env("TRACE_SOCKET", daemon.path("manager.sock"));
    command.uid(uid).gid(uid).current_dir(daemon.path(&uid.to_string()));
    command
}

fn run_as(daemon: &Daemon, uid: u32, arguments: &[&str]) -> Run {
    Run::of(&mut command_of(daemon, uid, "trace", arguments))
}

#[test]
fn users_see_and_record_only_their_own_programs() {
    let Some(daemon) = shared_daemon() else { return };
    let _of_root = daemon.program("chatter");
    let mut program = command_of(&daemon, USER, "subject", &["chatter"]);
    let of_user = Program::start(&mut program);
    daemon.wait_for_programs(2);

    let list = run_as(&daemon, USER, &["list", "providers", "--json"]);
    let list: Value = serde_json::from_str(&list.stdout()).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 1);
    assert_eq!(list[0]["pid"], of_user.pid());

    let run = run_as(&daemon, USER, &["start", "--name", "mine", "-o", "mine.fxt"]);
    assert_eq!(run.code(), 0, "{run:?}");
    daemon.wait_for_events("mine", 1);
    assert_eq!(run_as(&daemon, OTHER, &["status", "--json"]).stdout(), "[]\n");
    for command in ["stop", "abort"] {
        let run = run_as(&daemon, OTHER, &[command, "mine"]);
        assert_eq!(run.stderr(), "trace: there is no session 'mine'\n");
    }
    let run = run_as(&daemon, USER, &["stop", "mine"]);
    assert_eq!(run.code(), 0, "{run:?}");
    let path = daemon.path(&format!("{USER}/mine.fxt"));
    assert_eq!(Archive::read(&path).only().pid, of_user.pid());
    assert_eq!(std::fs::metadata(&path).unwrap().uid(), USER, "the archive is theirs");

    daemon.json(&["start", "--name", "all", "-o", "all.fxt"]);
    daemon.wait_for_events("all", 2);
    daemon.json(&["stop", "all"]);
    assert_eq!(Archive::read(&daemon.path("all.fxt")).providers.len(), 2, "root records all");
}

/// A member records the programs of all users, also after a kill of the daemon. Sessions of others
/// stay theirs.
#[test]
fn a_member_of_the_group_sees_and_records_the_programs_of_all_users() {
    let Some(mut daemon) = shared_daemon() else { return };
    set_permissions(daemon.path("control.sock"), Permissions::from_mode(0o660)).unwrap();
    let _of_root = daemon.program("chatter");
    let _of_other = Program::start(&mut command_of(&daemon, OTHER, "subject", &["chatter"]));
    daemon.wait_for_programs(2);
    daemon.json(&["start", "--name", "of-root", "-o", "of-root.fxt"]);

    let member = |arguments: &[&str]| Run::of(&mut member_command(&daemon, arguments));
    let list = member(&["list", "providers", "--json"]);
    let list: Value = serde_json::from_str(&list.stdout()).unwrap();
    let mut users: Vec<_> = list.as_array().unwrap().iter().map(|it| it["uid"].clone()).collect();
    users.sort_by_key(|uid| uid.as_u64());
    assert_eq!(users, [0, OTHER]);
    let run = member(&["start", "--name", "all", "--keep-alive", "-o", "all.fxt"]);
    assert_eq!(run.code(), 0, "{run:?}");
    let sessions = member(&["status", "--json"]);
    let sessions: Value = serde_json::from_str(&sessions.stdout()).unwrap();
    assert_eq!(sessions.as_array().unwrap().len(), 1, "root's session is root's: {sessions}");
    let run = member(&["stop", "of-root"]);
    assert_eq!(run.stderr(), "trace: there is no session 'of-root'\n");

    daemon.wait_for_events("all", 2);
    daemon.signal(Signal::Kill);
    assert_eq!(daemon.wait(), None);
    let directory = std::mem::replace(&mut daemon.directory, tempfile::tempdir().unwrap());
    let daemon = Daemon::start_in(directory, &[]);
    daemon.wait_for_programs(2);
    daemon.wait_for_events("all", 2);
    daemon.json(&["stop", "all"]);
    for part in ["all.fxt", "all.2.fxt"] {
        let archive = Archive::read(&daemon.path(&format!("{USER}/{part}")));
        let with_events = archive.providers.iter().filter(|it| it.count("word") > 0);
        assert_eq!(with_events.count(), 2, "{part}");
    }
}

/// Returns a command of `trace` as a user of whom the group is a supplementary one.
fn member_command(daemon: &Daemon, arguments: &[&str]) -> Command {
    let mut command = Command::new("setpriv");
    let (uid, group) = (USER.to_string(), GROUP.to_string());
    command.args(["--reuid", &uid, "--regid", &uid, "--groups", &group]);
    command.arg(daemon.path("trace")).args(arguments);
    command.env_clear().env("TRACE_SOCKET", daemon.path("manager.sock"));
    command.env("PATH", "/usr/bin:/bin").current_dir(daemon.path(&uid));
    command
}

/// Programs choose what they record, and when. A session that names a user heeds the programs of
/// this user, too.
#[test]
fn programs_of_other_users_cause_no_actions_of_triggers_unless_the_session_names_the_user() {
    let Some(daemon) = shared_daemon() else { return };
    let conditions =
        ["alert:alarm", "duration:web/request>50ms", "log:error", "counter:app/queue.depth>100"];
    let start = |name: &str, options: &[&str]| {
        let output = format!("{name}.fxt");
        let triggers = conditions.iter().flat_map(|condition| ["--trigger", condition]);
        let triggers: Vec<&str> = triggers.collect();
        daemon.json(&[&["start", "--name", name, "-o", &output], &*triggers, options].concat());
    };
    start("own", &[]);
    start("named", &["--trigger-user", &USER.to_string()]);
    for kind in ["alert:alarm", "scope", "log", "counter"] {
        let mut program = command_of(&daemon, USER, "subject", &["meet-condition", kind, "0"]);
        let run = Run::of(&mut program);
        assert_eq!(run.code(), 0, "{run:?}");
    }
    let [own, named] = ["own", "named"].map(|name| daemon.json(&["stop", name]));
    assert_eq!(named["alerts"]["alarm"], 1);
    let none = serde_json::json!({});
    assert_eq!((&own["alerts"], &own["conditions"]), (&none, &none));
    for condition in &conditions[1..] {
        assert_eq!(named["conditions"][condition], 1, "{condition}: {named}");
    }
    let snapshots = |results: &Value| results["snapshots"].as_array().unwrap().len();
    assert_eq!((snapshots(&own), snapshots(&named) > 0), (0, true));
}

/// The daemon of root writes nowhere where the user could not.
#[test]
fn a_user_gets_no_files_through_the_daemon() {
    let Some(daemon) = shared_daemon() else { return };
    let run = run_as(&daemon, USER, &["start", "-o", "../stolen.fxt"]);
    assert_eq!(run.code(), 1, "{run:?}");
    assert!(run.stderr().contains("does not belong to this user alone"), "{run:?}");
    assert!(!daemon.path("stolen.fxt").exists() && !daemon.path(".stolen.fxt.partial").exists());
    let arguments = ["start", "--trigger", "slow:snapshot", "-o", "a.fxt"];
    let run = run_as(&daemon, USER, &arguments);
    assert!(run.stderr().contains("a daemon of the same user"), "{run:?}");
}

#[test]
fn who_is_not_in_the_group_may_register_but_not_control() {
    let Some(daemon) = shared_daemon() else { return };
    set_permissions(daemon.path("control.sock"), Permissions::from_mode(0o660)).unwrap();
    let _program = Program::start(&mut command_of(&daemon, OTHER, "subject", &["chatter"]));
    daemon.wait_for_programs(1);
    let run = run_as(&daemon, OTHER, &["status"]);
    assert_eq!(run.code(), 1);
    assert!(run.stderr().contains("permission denied"), "{run:?}");
}

/// The socket of another user could get the descriptors that a controller sends.
#[test]
fn a_controller_trusts_only_its_user_and_root() {
    let Some(daemon) = shared_daemon() else { return };
    let home = daemon.path(&USER.to_string());
    let socket = home.join("control.sock");
    let mut impostor = command_of(&daemon, USER, "subject", &["listen", socket.to_str().unwrap()]);
    let _impostor = Program::start(&mut impostor);
    let run = Run::of(trace(&["status", "--socket"]).arg(home.join("manager.sock")));
    assert_eq!(run.code(), 1);
    let text = format!("the daemon runs as user {USER}, neither as root nor as this user");
    assert!(run.stderr().contains(&text), "{run:?}");
}

#[test]
fn a_client_that_floods_is_disconnected_and_others_are_served() {
    let daemon = Daemon::start();
    let mut socket = UnixStream::connect(daemon.path("control.sock")).unwrap();
    let mut sending = socket.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        let bytes = ToDaemon { id: 1, request: Request::GetGroups }.encode().repeat(100);
        while sending.write_all(&bytes).is_ok() {}
    });
    let (mut decoder, mut buffer) = (Decoder::<ToController>::new(), vec![0; 64 << 10]);
    let mut reason = None;
    // It ends with an error, because the daemon has not read all requests.
    while let Ok(read @ 1..) = socket.read(&mut buffer) {
        decoder.feed(&buffer[..read]);
        while let Some(Ok(message)) = decoder.next_message() {
            if let Reply::Closing(text) = message.reply {
                reason = Some(text);
            }
        }
    }
    sender.join().unwrap();
    assert_eq!(reason.as_deref(), Some("more than 1000 requests in a second"));
    // The quota is the user's, so that others wait for the next second.
    wait_until("the next second", || {
        Controller::connect(&daemon.path("control.sock")).is_ok_and(|mut it| it.groups().is_ok())
    });
}

/// The daemon keeps no connection of a client that reads nothing.
#[test]
fn a_client_that_never_reads_is_disconnected() {
    let daemon = Daemon::start();
    let mut socket = UnixStream::connect(daemon.path("control.sock")).unwrap();
    socket.set_write_timeout(Some(crate::harness::PATIENCE)).unwrap();
    let bytes = ToDaemon { id: 1, request: Request::GetGroups }.encode().repeat(100);
    let error = loop {
        if let Err(error) = socket.write_all(&bytes) {
            break error;
        }
    };
    let is_closed = [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset].contains(&error.kind());
    assert!(is_closed, "{error}");
}

#[test]
fn hostile_bytes_end_only_their_connection() {
    let daemon = Daemon::start();
    let mut controller = daemon.controller();
    for bytes in [&[0xff; 4096][..], b"\x04\0\0\0\x99\x09\x01\0abcd".repeat(40).as_slice()] {
        let socket = Socket::connect(&daemon.path("control.sock")).unwrap();
        let file = std::fs::File::open("/dev/null").unwrap();
        let fds = [std::os::fd::AsFd::as_fd(&file); 4];
        socket.send(bytes, &fds).unwrap();
        let (mut buffer, mut received) = (vec![0; 4096], 0);
        while let Ok(read @ 1..) = socket.recv(&mut buffer) {
            received += read;
        }
        assert!(received > 0, "the reason was sent");
    }
    assert!(controller.groups().unwrap().is_empty());
}

#[test]
fn a_user_has_a_limited_number_of_sessions() {
    let daemon = Daemon::start();
    let mut controller = daemon.controller();
    let file = std::fs::File::create("/dev/null").unwrap();
    for _ in 0..16 {
        controller.initialize(&streaming(""), &file).unwrap();
    }
    let refused = controller.initialize(&streaming(""), &file);
    let Err(ControllerError::Refused(error)) = refused else { panic!("{refused:?}") };
    assert!(error.to_string().contains("has 16 sessions, the limit"), "{error}");
    drop(controller);
    wait_until("they end with their client", || daemon.controller().sessions().unwrap().is_empty());
}

/// Returns a socket whose last close(2) waits for its other end.
fn lingering() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let theirs = listener.accept().unwrap().0;
    set_socket_linger(&ours, Some(Duration::from_secs(3600))).unwrap();
    ours.set_nonblocking(true).unwrap();
    while ours.write(&[0; 1 << 16]).is_ok() {}
    (ours, theirs)
}

/// As one of a file system that does not answer.
#[test]
fn a_descriptor_that_cannot_be_closed_keeps_the_daemon_from_nothing() {
    let daemon = Daemon::start();
    let hostile = Socket::connect(&daemon.path("control.sock")).unwrap();
    let without_output = TraceConfig { name: "/".to_owned(), ..TraceConfig::default() };
    let follow = FollowRequest { session: "none".to_owned(), categories: Vec::new() };
    let mut others = Vec::new();
    for (id, request) in (1..).zip([
        Request::GetProviders,
        Request::Initialize(without_output),
        Request::Follow(follow),
        Request::Initialize(TraceConfig::default()),
    ]) {
        let (descriptor, other) = lingering();
        hostile.send(&ToDaemon { id, request }.encode(), &[descriptor.as_fd()]).unwrap();
        // The daemon's is the last one then.
        drop(descriptor);
        others.push(other);
        let mut controller = daemon.controller();
        controller.set_timeout(Some(crate::harness::PATIENCE));
        controller.sessions().unwrap();
    }
    drop(hostile);
    wait_until("the session of the connection has ended", || {
        let mut controller = daemon.controller();
        controller.set_timeout(Some(crate::harness::PATIENCE));
        controller.sessions().unwrap().is_empty()
    });
}
