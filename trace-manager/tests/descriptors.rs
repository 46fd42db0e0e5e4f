//! A manager with few file descriptors. The test sets the limit of its process, so it has its own
//! file.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::net::{connect_unix, socket, AddressFamily, SocketAddrUnix, SocketType};
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use trace_manager::{ArchiveTarget, Manager, SessionConfig};
use trace_protocol::message::{Register, ToManager};
use trace_protocol::socket::Socket;

fn limit(descriptors: Option<u64>) {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: descriptors.or(maximum), maximum }).unwrap();
}

/// Returns the processor time of this process.
fn busy() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn connect(socket: &OwnedFd, path: &Path) {
    connect_unix(socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
}

/// Idle connections do not use up the descriptors for providers.
#[test]
fn idle_connections_leave_descriptors_for_a_provider() {
    let directory = tempfile::tempdir().unwrap();
    let manager = Manager::bind(&directory.path().join("sock")).unwrap();
    let target = ArchiveTarget::File(directory.path().join("out.fxt"));
    let session = manager.start(SessionConfig::default(), target).unwrap();
    let make = || socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    let clients: Vec<OwnedFd> = (0..20).map(|_| make()).collect();
    let provider = make();
    let open = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
    limit(Some(open + 5));
    for client in clients.iter().chain([&provider]) {
        connect(client, manager.path());
    }
    let provider = Socket::from(provider);
    let register = Register { name: "patient".to_owned(), ..Register::default() };
    provider.send(&ToManager::Register(register).encode(), &[]).unwrap();
    assert!(session.wait_provider(Duration::from_secs(600)));
    let (begin, before) = (Instant::now(), busy());
    std::thread::sleep(Duration::from_millis(500));
    assert!(busy() - before < begin.elapsed() / 2, "the manager does not spin");
    session.stop();
    drop(provider);
    let summary = session.join().unwrap();
    assert_eq!(summary.providers[0].name, "patient");
    let reason = "no file descriptor is left for it: the limit is ";
    let mut refused = summary.refused.iter();
    assert!(refused.any(|refusal| refusal.reason.starts_with(reason)), "{summary:?}");
    drop(clients);
    limit(None);
}
