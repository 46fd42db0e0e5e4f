//! The privileged helper: it records the scheduling of a user's own threads, refuses others, and
//! leaves nothing behind.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::net::{
    accept_with, bind_unix, listen, socket_with, AddressFamily, SocketAddrUnix, SocketFlags,
    SocketType,
};
use trace_protocol::socket::Socket;

use super::harness::{wait_until, Run};
use super::helper::{has_ended, instances, kill};
use super::schedule::Step;
use super::sources::{can_run, runs, Place, NOBODY};
use super::truth::Recorded;
use super::{can_trace, TRACEFS};

/// A socket that starts a helper for each connection, as systemd does.
struct Service {
    place: Place,
    helpers: Arc<Mutex<Vec<Child>>>,
    _turn: MutexGuard<'static, ()>,
}

/// Held by the test that uses helpers: they limit the recordings of a user.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    // A test that has failed has no effect on the next one.
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Service {
    /// Reports if this process cannot be privileged.
    fn start() -> Option<Self> {
        if !can_trace() || !can_run(&NOBODY) {
            return None;
        }
        let _turn = turn();
        let place = Place::new();
        let flags = SocketFlags::CLOEXEC;
        let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
        let listener = listener.unwrap();
        let path = place.path("kernel.sock");
        bind_unix(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
        listen(&listener, 8).unwrap();
        let (helpers, program) = (Arc::default(), place.path("trace"));
        let started: Arc<Mutex<Vec<Child>>> = Arc::clone(&helpers);
        thread::spawn(move || {
            while let Ok(connection) = accept_with(&listener, flags) {
                let mut helper = Command::new(&program);
                helper.arg("kernel-server").stdin(Stdio::from(connection));
                let helper = helper.stderr(Stdio::null()).spawn().unwrap();
                started.lock().unwrap().push(helper);
            }
        });
        Some(Self { place, helpers, _turn })
    }

    fn socket(&self) -> PathBuf {
        self.place.path("kernel.sock")
    }

    fn option(&self) -> String {
        format!("--kernel-server={}", self.socket().display())
    }

    /// Returns the ids of the helpers that have been started.
    fn ids(&self) -> Vec<u64> {
        self.helpers.lock().unwrap().iter().map(|helper| u64::from(helper.id())).collect()
    }

    /// Asserts that the helpers end, and that their instances are removed.
    fn assert_clean(&self) {
        wait_until("the helpers have ended", || {
            self.helpers.lock().unwrap().iter_mut().all(|it| it.try_wait().unwrap().is_some())
        });
        for id in self.ids() {
            assert_eq!(instances(id), [""; 0]);
        }
    }

    /// Starts a recording of a program that runs until its standard input ends.
    fn start_idle(&self) -> Child {
        let mut command = Command::new(NOBODY[0]);
        command.args(&NOBODY[1..]).arg(self.place.path("trace")).args(["record", "--sched"]);
        command.args([&self.option(), "-o"]).arg(self.place.output()).arg("--");
        command.arg(self.place.path("subject")).arg("idle").env("TRACE_CONFIG", "");
        command.current_dir(self.place.directory.path()).env_remove("XDG_RUNTIME_DIR");
        let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut recorder = streams.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(recorder.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        assert_eq!(self.ids().iter().map(|id| instances(*id).len()).sum::<usize>(), 1);
        recorder
    }
}

/// Records with all switches and wake-ups, as root does.
fn assert_records_wakeups(place: &Place, option: &str) {
    let run = Run::of(&mut place.record(&NOBODY, &["-c", "*,kernel:sched", option]));
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(!run.stderr().contains("the kernel's source"), "{run:?}");
    let recorded = Recorded::read(&place.output());
    recorded.assert_counts();
    let subject = recorded.provider("subject").pid;
    let steps = recorded.steps.values().flatten().map(|(_, step)| step);
    assert!(steps.filter(|step| matches!(step, Step::Woken { .. })).count() > 100);
    assert!(recorded.provider("kernel").named("exec").any(|event| event.process == subject));
}

#[test]
fn users_record_wakeups_of_their_own_processes() {
    let Some(service) = Service::start() else { return };
    assert_records_wakeups(&service.place, &service.option());
    assert_eq!(service.ids().len(), 1);
    service.assert_clean();
}

/// System calls are recorded by root only.
#[test]
fn other_categories_are_reported() {
    let Some(service) = Service::start() else { return };
    let options = ["-c", "*,kernel:sched,kernel:syscall", &service.option()];
    let run = Run::of(&mut service.place.record(&NOBODY, &options));
    assert!(run.stderr().contains("kernel:syscall: not recorded without tracefs"), "{run:?}");
    Recorded::read(&service.place.output()).assert_counts();
    service.assert_clean();
}

#[test]
fn threads_of_other_users_are_refused() {
    let Some(service) = Service::start() else { return };
    let own = format!("--kernel-scope={}", std::process::id());
    let run = Run::of(&mut service.place.record(&NOBODY, &[&service.option(), &own]));
    assert!(run.stderr().contains("belongs to another user"), "{run:?}");
    service.assert_clean();
}

#[test]
fn the_machine_is_not_recorded() {
    let Some(service) = Service::start() else { return };
    let options = [&service.option(), "--kernel-scope=machine"];
    let run = Run::of(&mut service.place.record(&NOBODY, &options));
    assert!(run.stderr().contains("cannot trace all threads"), "{run:?}");
    assert_eq!((run.code(), service.ids().len()), (3, 0));
}

#[test]
fn the_helper_of_a_killed_recorder_removes_its_instance() {
    let Some(service) = Service::start() else { return };
    let mut recorder = service.start_idle();
    kill(u64::from(recorder.id()));
    recorder.wait().unwrap();
    service.assert_clean();
}

/// The recording reports it, and the next start removes the instance.
#[test]
fn a_killed_helper_is_reported() {
    let Some(service) = Service::start() else { return };
    let recorder = service.start_idle();
    let helper = service.ids()[0];
    kill(helper);
    wait_until("the helper has ended", || has_ended(helper));
    let run = Run::end_of(recorder);
    assert!(run.stderr().contains("events of the kernel are missing"), "{run:?}");
    super::record(&service.place.path("next.fxt"), &["--sched"], &["burst", "1"]);
    service.assert_clean();
}

#[test]
fn tracing_that_another_program_turns_off_is_reported() {
    let Some(service) = Service::start() else { return };
    let recorder = service.start_idle();
    let instance = Path::new(TRACEFS).join("instances").join(&instances(service.ids()[0])[0]);
    fs::write(instance.join("tracing_on"), "0").unwrap();
    let run = Run::end_of(recorder);
    assert!(run.stderr().contains("another program turned tracing off"), "{run:?}");
    service.assert_clean();
}

#[test]
fn a_helper_that_is_terminated_removes_its_instance() {
    let Some(service) = Service::start() else { return };
    let recorder = service.start_idle();
    let helper = rustix::process::Pid::from_raw(service.ids()[0] as i32).unwrap();
    rustix::process::kill_process(helper, rustix::process::Signal::Term).unwrap();
    let run = Run::end_of(recorder);
    assert!(run.stderr().contains("events of the kernel are missing"), "{run:?}");
    service.assert_clean();
}

fn receive(socket: &Socket, descriptors: &mut Vec<OwnedFd>) -> String {
    let mut packet = vec![0; 128 << 10];
    let length = socket.recv_with_fds(&mut packet, descriptors).unwrap_or(0);
    String::from_utf8_lossy(&packet[..length]).into_owned()
}

/// Sends a request after the helper's first message. Returns the answer.
fn answer(socket: &Path, request: &[u8]) -> String {
    let socket = Socket::connect_packets(socket).unwrap();
    let events = receive(&socket, &mut Vec::new());
    assert!(events.starts_with("events\n"), "{events}");
    assert!(!events.contains("sys_enter"), "{events}");
    socket.send(request, &[]).unwrap();
    receive(&socket, &mut Vec::new())
}

#[test]
fn hostile_requests_are_refused() {
    let Some(service) = Service::start() else { return };
    let own = std::process::id();
    let with = |buffer: u64, threads: &str, events: &str| {
        format!("trace-kernel 1\ncounter\n{buffer}\n{threads}\n{events}").into_bytes()
    };
    let random: Vec<u8> = (0..4096_u32).map(|number| (number * 7919 / 8) as u8).collect();
    let switch = "sched/sched_switch";
    for (request, expected) in [
        (random, "error\nthe request is malformed"),
        (vec![b'x'; 100_000], "error\nthe request is malformed"),
        (with(1 << 40, &own.to_string(), switch), "error\nthe kernel's buffer of a CPU may have"),
        (with(4096, "1 x", switch), "error\nthe request is malformed"),
        (with(4096, "4194305", switch), "error\nthread 4194305 has no user"),
        (with(4096, &own.to_string(), "../../../etc/passwd"), "error\nusers may not record"),
        (with(4096, &own.to_string(), "raw_syscalls/sys_enter"), "error\nusers may not record"),
        (with(4096, &own.to_string(), ""), "error\nusers may not record"),
    ] {
        let answer = answer(&service.socket(), &request);
        assert!(answer.starts_with(expected), "{expected}: {answer}");
    }
    // It closes the connection at once, or sends nothing that the helper knows.
    drop(Socket::connect_packets(&service.socket()).unwrap());
    service.assert_clean();
}

/// A connection with an instance. Returns the first message after the request.
fn lease(service: &Service) -> (Socket, String) {
    let socket = Socket::connect_packets(&service.socket()).unwrap();
    receive(&socket, &mut Vec::new());
    let own = std::process::id();
    let request = format!("trace-kernel 1\ncounter\n65536\n{own}\nsched/sched_switch");
    socket.send(request.as_bytes(), &[]).unwrap();
    let answer = receive(&socket, &mut Vec::new());
    (socket, answer)
}

#[test]
fn a_user_has_a_limited_number_of_instances() {
    let Some(service) = Service::start() else { return };
    let leases: Vec<_> = (0..5).map(|_| lease(&service)).collect();
    let refused = "error\na user may have at most 4 recordings at a time";
    assert!(leases.iter().any(|(_, answer)| answer.starts_with(refused)));
    drop(leases);
    service.assert_clean();
    wait_until("there is a place", || lease(&service).1.starts_with("header\n"));
    service.assert_clean();
}

/// Whoever keeps the pages after the connection gets no more events, and delays only its removal.
#[test]
fn kept_pages_delay_only_the_removal() {
    let Some(service) = Service::start() else { return };
    let socket = Socket::connect_packets(&service.socket()).unwrap();
    let mut pages = Vec::new();
    receive(&socket, &mut pages);
    let request =
        format!("trace-kernel 1\ncounter\n65536\n{}\nsched/sched_switch", std::process::id());
    socket.send(request.as_bytes(), &[]).unwrap();
    while receive(&socket, &mut pages) != "ready\n" {}
    assert!(!pages.is_empty());
    for page in &pages {
        let written = rustix::io::write(page, b"x");
        assert!(written.is_err(), "they are for reading only");
    }
    socket.send(b"on", &[]).unwrap();
    assert_eq!(receive(&socket, &mut Vec::new()), "done\n");
    let helper = service.ids()[0];
    let [instance] = &instances(helper)[..] else { panic!("it has an instance") };
    let file = |name: &str| {
        let path = Path::new(super::TRACEFS).join("instances").join(instance).join(name);
        fs::read_to_string(path).unwrap().trim().to_owned()
    };
    assert_eq!(file("tracing_on"), "1");
    drop(socket);
    wait_until("it is off", || file("tracing_on") == "0");
    assert!(!has_ended(helper));
    drop(pages);
    service.assert_clean();
}

/// A copy of the program with file capabilities runs nothing else.
#[test]
fn file_capabilities_make_a_helper() {
    if !can_trace() || !can_run(&NOBODY) {
        return;
    }
    let _turn = turn();
    let place = Place::new();
    let program = place.path("trace-kernel");
    fs::copy(place.path("trace"), &program).unwrap();
    let set = Command::new("setcap").arg("cap_dac_override+ep").arg(&program).status();
    if !set.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: file capabilities cannot be set");
    }
    let mut other = Command::new(NOBODY[0]);
    other.args(&NOBODY[1..]).arg(&program).args(["dump", "/etc/shadow"]);
    let run = Run::of(&mut other);
    if !run.stderr().contains("has privileges of its own") {
        let status = Command::new(NOBODY[0])
            .args(&NOBODY[1..])
            .args(["sh", "-c", "cat /proc/self/mounts"])
            .output()
            .unwrap();
        let mounts = String::from_utf8_lossy(&status.stdout).contains("nosuid");
        assert!(mounts, "{run:?}");
        return eprintln!("skipped: file capabilities are ignored: {run:?}");
    }
    assert_ne!(run.code(), 0);
    let option = format!("--kernel-server={} kernel-server", program.display());
    assert_records_wakeups(&place, &option);
}

#[test]
fn sudo_starts_a_helper() {
    if !can_trace() {
        return;
    }
    if !runs(&["setpriv", "--reuid=65534", "--clear-groups", "--", "sudo", "-n"]) {
        return eprintln!("skipped: the user nobody may not use sudo");
    }
    let _turn = turn();
    let place = Place::new();
    let option = format!("--kernel-server=sudo -n {} kernel-server", place.path("trace").display());
    assert_records_wakeups(&place, &option);
}

/// Without permission for tracefs, the helper reports it.
#[test]
fn a_helper_without_privileges_reports_it() {
    let Some(service) = Service::start() else { return };
    let option = format!("--kernel-server={} kernel-server", service.place.path("trace").display());
    let run = Run::of(&mut service.place.record(&NOBODY, &[&option]));
    let expected = "the privileged helper refuses: cannot trace the kernel: /sys/kernel/tracing";
    assert!(run.stderr().contains(expected), "{run:?}");
}
