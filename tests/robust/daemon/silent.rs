//! A daemon and programs that do not answer.

use super::*;

#[test]
fn commands_do_not_wait_for_a_daemon_that_does_not_answer() {
    let daemon = Daemon::start();
    daemon.freeze();
    let pid = daemon.child.id();
    let start = |arguments: &[&str]| {
        let mut command = trace(arguments);
        command.arg("--socket").arg(daemon.path("manager.sock")).current_dir(&daemon.directory);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let commands =
        [&["status"][..], &["status", "web"], &["list", "sessions"], &["list", "groups"]];
    let refused = commands.map(start);
    let doctor = start(&["doctor"]);
    let expected = format!(
        "the daemon, process {pid}, does not answer\nhint: if it is stopped, continue it with \
         kill -CONT {pid}\n"
    );
    for child in refused {
        let run = Run::end_of(child);
        assert!(run.code() == 1 && run.stderr().ends_with(&expected), "{run:?}");
    }
    let run = Run::end_of(doctor);
    let text = run.stdout();
    assert!(text.contains(&format!("the daemon, process {pid}, does not answer")), "{run:?}");
    assert!(text.contains("kill -CONT") && text.contains("free space"), "{run:?}");
}

#[test]
fn the_command_that_stops_a_daemon_names_the_process_that_it_waits_for() {
    let mut daemon = Daemon::start();
    daemon.freeze();
    let mut stop = trace(&["daemon", "--stop", "--socket"]);
    stop.arg(daemon.path("manager.sock"));
    let messages = std::fs::File::create(daemon.path("messages")).unwrap();
    let mut stop = stop.stderr(messages).spawn().unwrap();
    let waits = format!("waiting for the daemon, process {}, to end\n", daemon.child.id());
    let text = || std::fs::read_to_string(daemon.path("messages")).unwrap();
    wait_until("it says so", || text().contains(&waits));
    daemon.signal(Signal::Cont);
    assert_eq!(daemon.wait(), Some(0));
    assert!(stop.wait().unwrap().success());
}

/// It may be in a debugger.
#[test]
fn a_start_names_the_programs_that_have_not_answered() {
    let daemon = Daemon::start();
    let program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    let pid = Pid::from_raw(program.pid() as i32).unwrap();
    kill_process(pid, Signal::Stop).unwrap();
    let run = daemon.run(&["start", "--name", "web", "--start-timeout", "1s", "-o", "out.fxt"]);
    let silent = format!("subject ({}) did not answer the start in time", program.pid());
    assert!(run.code() == 0 && run.stderr().contains(&silent), "{run:?}");
    assert_eq!(daemon.json(&["status", "web"])[0]["answered_start"], false);
    kill_process(pid, Signal::Cont).unwrap();
    daemon.wait_for_events("web", 1);
    daemon.json(&["stop", "web"]);
}

/// Another session records it already.
#[test]
fn a_start_names_a_silent_program_that_it_shares() {
    let daemon = Daemon::start();
    let program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    daemon.json(&["start", "--name", "a", "-m", "streaming", "-o", "a.fxt"]);
    daemon.wait_for_events("a", 1);
    let pid = Pid::from_raw(program.pid() as i32).unwrap();
    kill_process(pid, Signal::Stop).unwrap();
    let options = ["-m", "streaming", "--start-timeout", "1s", "-o", "b.fxt"];
    let run = daemon.run(&[&["start", "--name", "b"], &options[..]].concat());
    let silent = format!("subject ({}) did not answer the start in time", program.pid());
    assert!(run.code() == 0 && run.stderr().contains(&silent), "{run:?}");
    kill_process(pid, Signal::Cont).unwrap();
    daemon.wait_for_events("b", 1);
    daemon.json(&["stop", "b"]);
    daemon.json(&["stop", "a"]);
}

#[test]
fn a_start_that_is_interrupted_reports_that_the_session_goes_on() {
    let daemon = Daemon::start();
    let program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    let pid = Pid::from_raw(program.pid() as i32).unwrap();
    kill_process(pid, Signal::Stop).unwrap();
    let mut start = trace(&["start", "--name", "web", "--start-timeout", "60s", "--socket"]);
    start.arg(daemon.path("manager.sock")).arg("-o").arg(daemon.path("out.fxt"));
    let start = start.stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the session starts", || {
        std::thread::sleep(BETWEEN_REQUESTS);
        daemon.json(&["status"])[0]["state"] == "starting"
    });
    // The caller of the tests may ignore SIGINT.
    kill_process(Pid::from_child(&start), Signal::Term).unwrap();
    let run = Run::end_of(start);
    let hint = "session web goes on\nhint: end it with trace stop web\n";
    assert!(run.stderr().ends_with(hint), "{run:?}");
    assert_eq!(daemon.json(&["status"])[0]["name"], "web");
    kill_process(pid, Signal::Cont).unwrap();
    daemon.json(&["stop", "web"]);
}
