//! The configuration, the sockets and the messages of the daemon.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

use trace_protocol::socket::Socket;

use super::*;
use crate::harness::Archive;

const CONFIG: &str = "[groups]\nwords = ['chatter']\n\n[session.flight]\nmode = 'circular'\n\
    buffer-size = '1M'\ncategories = ['#words']\n";

#[test]
fn a_flight_recorder_starts_with_the_daemon() {
    let daemon = Daemon::with_config(CONFIG);
    let _program = daemon.program("chatter");
    wait_until("the session records", || daemon.json(&["status"])[0]["providers"] == 1);
    let session = &daemon.json(&["status"])[0];
    assert_eq!((&session["mode"], &session["name"]), (&"circular".into(), &"flight".into()));
    assert_eq!(session["categories"], serde_json::json!(["chatter"]));
    wait_until("the snapshot has events", || {
        daemon.json(&["snapshot", "flight", "-o", "s.fxt"]);
        Archive::read(&daemon.path("s.fxt")).only().count("word") > 0
    });
    daemon.json(&["stop", "flight"]);
    assert!(Archive::read(&daemon.path("flight.fxt")).only().count("word") > 0);
}

#[test]
fn the_configuration_is_read_again() {
    let daemon = Daemon::with_config(CONFIG);
    assert_eq!(daemon.json(&["list", "groups"])[0]["name"], "words");
    std::fs::write(daemon.path("daemon.toml"), "[groups]\nweb = ['http*']\n").unwrap();
    daemon.signal(Signal::Hup);
    wait_until("the new group is there", || {
        daemon.json(&["list", "groups"])
            == serde_json::json!([{"name": "web", "categories": ["http*"]}])
    });
    assert_eq!(daemon.json(&["list", "sessions"])[0]["name"], "flight", "it continues");
    std::fs::write(daemon.path("daemon.toml"), "wrong").unwrap();
    daemon.signal(Signal::Hup);
    std::fs::write(daemon.path("daemon.toml"), "[session.second]\noutput = 'b.fxt'\n").unwrap();
    daemon.signal(Signal::Hup);
    wait_until("the second session runs", || {
        daemon.json(&["list", "sessions"]).as_array().unwrap().len() == 2
    });
}

/// The second session records all the same.
#[test]
fn configured_sessions_that_do_not_run_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let config = "[session.a]\noutput = 'missing/a.fxt'\n[session.b]\n";
    std::fs::write(path("daemon.toml"), config).unwrap();
    let at_socket = |arguments: &[&str]| {
        let mut command = trace(arguments);
        let command = command.arg("--socket").arg(path("manager.sock"));
        Run::of(command.current_dir(directory.path()))
    };
    let run = at_socket(&["daemon", "--background", "--dir", ".", "--config", "daemon.toml"]);
    let failure = "the session a of the configuration does not run: cannot write ";
    assert!(run.code() == 0 && run.stderr().contains(failure), "{run:?}");
    let daemon = run.stderr().lines().next().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    for command in ["status", "doctor"] {
        let run = at_socket(&[command]);
        let text = run.stderr() + &run.stdout();
        assert!(text.contains(failure) && text.contains("missing/a.fxt"), "{run:?}");
    }
    std::fs::write(path("daemon.toml"), "[sessions]\n").unwrap();
    kill_process(Pid::from_raw(daemon).unwrap(), Signal::Hup).unwrap();
    let refused = "the configuration is not used as it is now: cannot use daemon.toml: unknown";
    wait_until("the reload is refused", || at_socket(&["status"]).stderr().contains(refused));
    std::fs::write(path("daemon.toml"), "[session.b]\n").unwrap();
    kill_process(Pid::from_raw(daemon).unwrap(), Signal::Hup).unwrap();
    wait_until("all is in use", || at_socket(&["status"]).stderr().is_empty());
    assert_eq!(at_socket(&["daemon", "--stop"]).code(), 0);
}

#[test]
fn a_wrong_configuration_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("daemon.toml");
    std::fs::write(&path, "[session.a]\nmode = 'round'\n").unwrap();
    let mut daemon = trace(&["daemon", "--config"]);
    let run = Run::of(daemon.arg(&path).current_dir(&directory));
    assert_eq!(run.code(), 1);
    let text = format!("cannot use {}: session 'a': invalid value 'round'", path.display());
    assert!(run.stderr().contains(&text), "{run:?}");
}

/// As when a terminal is stopped.
#[test]
fn a_log_that_nobody_reads_keeps_the_daemon_from_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (_reader, log) = full_socket();
    let mut daemon = trace(&["daemon", "--socket"]);
    daemon.arg(directory.path().join("manager.sock")).arg("--dir").arg(directory.path());
    let child = daemon.stderr(OwnedFd::from(log)).spawn().unwrap();
    let mut daemon = Daemon { directory, child };
    let control = daemon.path("control.sock");
    wait_until("the daemon answers", || Controller::connect(&control).is_ok());
    for _ in 0..5000 {
        wait_until("it is accepted", || {
            let socket = Socket::connect(&control);
            socket.is_ok_and(|it| it.send(&[0xff; 64], &[]).is_ok())
        });
    }
    assert!(daemon.controller().groups().unwrap().is_empty());
    daemon.signal(Signal::Term);
    assert_eq!(daemon.wait(), Some(0));
}

/// Returns a socket that takes no more bytes, and its reader.
fn full_socket() -> (UnixStream, UnixStream) {
    let (reader, mut writer) = UnixStream::pair().unwrap();
    writer.set_nonblocking(true).unwrap();
    while writer.write(&[b'x'; 4096]).is_ok() {}
    writer.set_nonblocking(false).unwrap();
    (reader, writer)
}

#[test]
fn the_sockets_have_the_permissions_of_their_users() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("trace/manager.sock");
    let mut child = trace(&["daemon", "--socket"])
        .arg(&socket)
        .arg("--dir")
        .arg(directory.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("it listens", || socket.with_file_name("control.sock").exists());
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let found = [
        mode(socket.parent().unwrap()),
        mode(&socket),
        mode(&socket.with_file_name("control.sock")),
    ];
    child.kill().unwrap();
    child.wait().unwrap();
    let expected = match rustix::process::getuid().is_root() {
        true => [0o711, 0o666, 0o660],
        false => [0o700, 0o600, 0o600],
    };
    assert_eq!(found, expected);
}

/// Its programs would not find the daemon, and nobody would notice.
#[test]
fn a_system_daemon_warns_about_a_folder_that_others_cannot_enter() {
    if !crate::is_root() {
        return;
    }
    for (mode, is_closed) in [(0o700, true), (0o711, false)] {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path();
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).unwrap();
        let mut command = trace(&["daemon", "--background", "--dir", ".", "--socket"]);
        command.arg(folder.join("manager.sock")).current_dir(folder);
        let run = Run::of(&mut command);
        assert_eq!(run.code(), 0, "{run:?}");
        let mut stop = trace(&["daemon", "--stop", "--socket"]);
        assert_eq!(Run::of(stop.arg(folder.join("manager.sock"))).code(), 0);
        let found = std::fs::metadata(folder).unwrap().permissions().mode();
        assert_eq!(found & 0o777, mode, "an administrator's folder is not changed");
        let log = std::fs::read_to_string(folder.join("trace-daemon.log")).unwrap();
        let hint = format!("programs are not recorded\nhint: chmod 711 {}\n", folder.display());
        assert_eq!(log.contains(&hint), is_closed, "{log}");
    }
}

#[test]
fn readiness_is_reported_when_the_socket_answers() {
    let directory = tempfile::tempdir().unwrap();
    let (socket, notify) = (directory.path().join("manager.sock"), directory.path().join("notify"));
    let receiver = UnixDatagram::bind(&notify).unwrap();
    receiver.set_read_timeout(Some(crate::harness::PATIENCE)).unwrap();
    let mut child = trace(&["daemon", "--socket"])
        .arg(&socket)
        .arg("--dir")
        .arg(directory.path())
        .env("NOTIFY_SOCKET", &notify)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut message = [0; 32];
    let mut receive = || {
        let length = receiver.recv(&mut message).unwrap();
        String::from_utf8(message[..length].to_vec()).unwrap()
    };
    assert_eq!(receive(), "READY=1");
    let mut controller = Controller::connect(&socket.with_file_name("control.sock")).unwrap();
    assert!(controller.groups().unwrap().is_empty());
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::Term).unwrap();
    assert_eq!(receive(), "STOPPING=1");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_daemon_in_the_background_answers_when_the_command_returns() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("manager.sock");
    let mut command = trace(&["daemon", "--background", "--socket"]);
    let run = Run::of(command.arg(&socket).arg("--dir").arg(directory.path()));
    assert_eq!(run.code(), 0, "{run:?}");
    let pid = run.stderr().trim_end().rsplit(' ').next().unwrap().parse().unwrap();
    let status = Run::of(trace(&["status", "--json", "--socket"]).arg(&socket));
    kill_process(Pid::from_raw(pid).unwrap(), Signal::Term).unwrap();
    assert_eq!((status.code(), status.stdout().as_str()), (0, "[]\n"));
    wait_until("the daemon ends", || !socket.exists());
    let log = std::fs::read_to_string(directory.path().join("trace-daemon.log")).unwrap();
    assert!(log.contains("programs register at "), "{log}");
    let run = Run::of(
        trace(&["daemon", "--background", "--socket", "/dev/null/x", "--dir"])
            .arg(directory.path()),
    );
    assert_eq!(run.code(), 1, "{run:?}");
    assert!(run.stderr().contains("the daemon ended"), "{run:?}");
}

#[test]
fn a_daemon_is_stopped_by_a_command() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("manager.sock");
    let at_socket = |arguments: &[&str]| {
        let mut command = trace(arguments);
        Run::of(command.arg("--socket").arg(&socket).current_dir(directory.path()))
    };
    assert_eq!(at_socket(&["daemon", "--background", "--dir", "."]).code(), 0);
    assert_eq!(at_socket(&["start", "--name", "web", "-o", "web.fxt"]).code(), 0);
    let run = at_socket(&["daemon", "--stop"]);
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr().contains(" has ended\n") && !socket.exists(), "{run:?}");
    assert_eq!(Run::of(trace(&["check"]).arg(directory.path().join("web.fxt"))).code(), 0);
    let run = at_socket(&["daemon", "--stop"]);
    assert_eq!(run.code(), 1, "{run:?}");
}

/// This process has created the socket, as a service manager does.
#[test]
fn a_process_that_is_no_daemon_is_not_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let _listener = UnixListener::bind(directory.path().join("control.sock")).unwrap();
    let socket = directory.path().join("manager.sock");
    let run = Run::of(trace(&["daemon", "--stop", "--socket"]).arg(socket));
    assert_eq!(run.code(), 1, "{run:?}");
    assert!(run.stderr().contains("is not `trace daemon`"), "{run:?}");
}

/// The new daemon ends, because its socket is in use.
#[test]
fn a_daemon_in_the_background_is_not_taken_for_another_one() {
    let daemon = Daemon::start();
    let run = daemon.run(&["daemon", "--background", "--dir", "."]);
    assert_eq!(run.code(), 1, "{run:?}");
    assert!(run.stderr().starts_with("trace: the daemon ended (exit status: 1): "), "{run:?}");
    assert!(run.stderr().contains("in use"), "the reason: {run:?}");
}

/// Opening a pipe waits for its reader.
#[test]
fn options_that_no_session_can_have_are_refused_before_a_pipe_is_opened() {
    let daemon = Daemon::start();
    assert!(Command::new("mkfifo").arg(daemon.path("pipe")).status().unwrap().success());
    let wrong = ["-m", "oneshot", "--rotate", "64M", "-o", "pipe"];
    for command in [&["start"][..], &["record", "--attach", "all"], &["record"]] {
        let run = daemon.run(&[command, &wrong].concat());
        assert_eq!(run.code(), 1, "{run:?}");
        assert!(run.stderr().contains("oneshot"), "{run:?}");
    }
    assert_eq!(daemon.run(&["start", "--name", "", "-o", "a.fxt"]).code(), 2, "no name");
}

#[test]
fn a_daemon_survives_the_end_of_its_journal() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("manager.sock");
    let mut command = trace(&["daemon", "--socket"]);
    command.arg(&socket).arg("--dir").arg(directory.path()).env("JOURNAL_STREAM", "8:1");
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    wait_until("the daemon answers or ends", || {
        let controller = Controller::connect(&directory.path().join("control.sock"));
        controller.is_ok_and(|mut controller| controller.groups().is_ok())
            || child.try_wait().unwrap().is_some()
    });
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::Term).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// A service manager that binds the sockets, and runs the daemon with them.
const ACTIVATE: &str = "\
import os, socket, sys
for number, path in enumerate(sys.argv[1:3]):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen()
    os.dup2(listener.fileno(), 20 + number)
for number in range(2):
    os.dup2(20 + number, 3 + number, inheritable=True)
    os.close(20 + number)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='2')
os.execv(sys.argv[3], sys.argv[3:])
";

#[test]
fn the_daemon_takes_the_sockets_of_systemd() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let daemon = trace(&[]);
    let mut python = Command::new("python3");
    python.args(["-c", ACTIVATE]).args([path("control.sock"), path("manager.sock")]);
    python.arg(daemon.get_program()).args(["daemon", "--dir"]).arg(directory.path());
    let Ok(mut child) = python.stderr(Stdio::null()).spawn() else {
        return crate::lacks("python3");
    };
    wait_until("the sockets exist", || path("manager.sock").exists());
    let socket = path("manager.sock");
    let _program = Program::start(subject(&["chatter"]).env("TRACE_SOCKET", &socket));
    wait_until("the program registers", || {
        let controller = Controller::connect(&path("control.sock"));
        controller.is_ok_and(|mut it| it.providers().is_ok_and(|found| found.len() == 1))
    });
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::Term).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(path("manager.sock").exists(), "the sockets belong to systemd");
}

#[test]
fn the_units_of_systemd_are_valid() {
    let units = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("trace-cli/systemd");
    for kind in ["system", "user"] {
        let directory = tempfile::tempdir().unwrap();
        let mut verify = Command::new("systemd-analyze");
        verify.args([&format!("--{kind}"), "verify", "--man=no"]);
        verify.env("XDG_RUNTIME_DIR", directory.path());
        let daemon = ["trace.service", "trace.socket", "trace-control.socket"].as_slice();
        let of_kernel = ["trace-kernel.socket", "trace-kernel@.service"].as_slice();
        let of_kernel = if kind == "system" { of_kernel } else { &[] };
        for name in daemon.iter().chain(of_kernel) {
            let unit = std::fs::read_to_string(units.join(kind).join(name)).unwrap();
            // The command is not installed.
            let unit = unit.replace("/usr/bin/trace ", "/bin/true ");
            std::fs::write(directory.path().join(name), unit).unwrap();
            verify.arg(directory.path().join(name));
        }
        let Ok(output) = verify.output() else {
            return crate::lacks("systemd-analyze");
        };
        assert!(output.status.success() && output.stderr.is_empty(), "{kind}: {output:?}");
    }
}

#[test]
fn the_doctor_finds_the_daemon() {
    let daemon = Daemon::start();
    let findings = daemon.json(&["doctor"]);
    let findings = findings.as_array().unwrap();
    let of = |subject: &str| findings.iter().find(|it| it["subject"] == subject).unwrap();
    assert_eq!((&of("daemon")["status"], &of("memory")["status"]), (&"ok".into(), &"ok".into()));
    assert!(of("daemon")["hint"].is_null() && of("clock")["detail"].is_string());
    let missing = trace(&["doctor", "--socket"]).arg(daemon.path("none/manager.sock")).output();
    let text = String::from_utf8(missing.unwrap().stdout).unwrap();
    assert!(text.contains("hint: trace daemon --background --dir DIR"), "{text}");
}
