use super::*;
use std::ffi::OsString;
use std::fs;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::event::{poll, PollFd, PollFlags};

/// A directory of its own for each test, removed at its end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("trace-socket-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn exchange(path: &Path) {
    let listener = Listener::bind(path).unwrap();
    let client = Socket::connect(path).unwrap();
    let server = listener.accept().unwrap();
    client.send(b"hello", &[]).unwrap();
    let mut buffer = [0; 16];
    let received = server.recv(&mut buffer).unwrap();
    assert_eq!(&buffer[..received], b"hello");
}

#[test]
fn the_default_path_follows_the_environment() {
    let path = |variables: &[(&str, &str)]| {
        default_socket_path_from(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        })
    };
    assert_eq!(path(&[]), Path::new("/run/trace/manager.sock"));
    let runtime = ("XDG_RUNTIME_DIR", "/run/user/7");
    assert_eq!(path(&[runtime]), Path::new("/run/user/7/trace/manager.sock"));
    assert_eq!(path(&[runtime, ("TRACE_SOCKET", "/x/s")]), Path::new("/x/s"));
    assert_eq!(path(&[runtime, ("TRACE_SOCKET", "")]), Path::new("/run/user/7/trace/manager.sock"));
}

#[test]
fn a_path_may_be_longer_than_sun_path() {
    let directory = Directory::new("long");
    exchange(&directory.0.join("short.sock"));
    let mut path = directory.0.clone();
    for _ in 0..5 {
        path.push("d".repeat(100));
    }
    fs::create_dir_all(&path).unwrap();
    exchange(&path.join("manager.sock"));
    exchange(&directory.0.join("n".repeat(200)));
}

/// A provider that waits for the socket to appear, and then connects, is not refused.
#[test]
fn a_socket_listens_before_it_has_its_name() {
    let directory = Directory::new("named");
    let path = directory.0.join("manager.sock");
    std::thread::scope(|scope| {
        let provider = scope.spawn(|| loop {
            match Socket::connect(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                result => break result.map(drop),
            }
        });
        let _listener = Listener::bind(&path).unwrap();
        provider.join().unwrap().unwrap();
    });
    let left: Vec<_> = fs::read_dir(&directory.0).unwrap().collect();
    assert_eq!(left.len(), 0, "nothing is left behind: {left:?}");
}

#[test]
fn a_name_that_cannot_be_bound_is_an_error() {
    let directory = Directory::new("name");
    let error = Listener::bind(&directory.0.join("n".repeat(256))).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENAMETOOLONG));
    let error = Listener::bind(&directory.0.join("missing/sock")).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    let error = Socket::connect(&directory.0.join("nobody")).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn only_a_stale_socket_is_replaced() {
    let directory = Directory::new("stale");
    let path = directory.0.join("sock");
    let listener = Listener::bind(&path).unwrap();
    assert_eq!(Listener::bind(&path).unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
    let mut stale = listener;
    stale.keep_file();
    drop(stale);
    assert!(path.exists());
    // The forked child of another test has the listener, too, until it ends.
    let begin = std::time::Instant::now();
    let replaced = loop {
        match Listener::bind(&path) {
            Err(_) if begin.elapsed().as_secs() < 60 => std::thread::yield_now(),
            result => break result.unwrap(),
        }
    };
    drop(replaced);
    assert!(!path.exists());
    fs::write(&path, b"precious").unwrap();
    assert_eq!(Listener::bind(&path).unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
    assert_eq!(fs::read(&path).unwrap(), b"precious");
}

#[test]
fn a_nonblocking_listener_does_not_wait() {
    let directory = Directory::new("nonblocking");
    let path = directory.0.join("sock");
    let listener = Listener::bind(&path).unwrap();
    listener.set_nonblocking(true).unwrap();
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    assert_eq!(listener.path(), path);
    let _client = Socket::connect(&path).unwrap();
    listener.set_nonblocking(false).unwrap();
    assert!(listener.accept().is_ok());
}

#[test]
fn file_descriptors_are_sent_with_messages() {
    let (ours, theirs) = Socket::packet_pair().unwrap();
    let memory = MemoryFile::new("travels", 4096).unwrap();
    memory.write_at(b"in memory", 10).unwrap();
    ours.send(b"two", &[memory.as_fd(), ours.as_fd()]).unwrap();
    ours.send(b"none", &[]).unwrap();
    let (mut buffer, mut fds) = ([0; 16], Vec::<OwnedFd>::new());
    assert_eq!(theirs.recv_with_fds(&mut buffer, &mut fds).unwrap(), 3);
    assert_eq!(fds.len(), 2);
    assert_eq!(theirs.recv_with_fds(&mut buffer, &mut fds).unwrap(), 4);
    assert_eq!(fds.len(), 2);
    let mut file = File::from(fds.swap_remove(0));
    let mut content = [0; 9];
    file.seek(std::io::SeekFrom::Start(10)).unwrap();
    file.read_exact(&mut content).unwrap();
    assert_eq!(&content, b"in memory");
}

#[test]
fn unrequested_descriptors_are_closed() {
    let (ours, theirs) = Socket::packet_pair().unwrap();
    let five = [ours.as_fd(); MAX_FDS + 1];
    assert!(ours.send(b"x", &five).is_err());
    ours.send(b"x", &five[..MAX_FDS]).unwrap();
    let (reader, writer) = std::os::unix::net::UnixStream::pair().unwrap();
    ours.send(b"y", &[writer.as_fd()]).unwrap();
    drop(writer);
    let mut fds = Vec::new();
    theirs.recv_with_fds(&mut [0; 4], &mut fds).unwrap();
    assert_eq!(fds.len(), MAX_FDS);
    theirs.recv(&mut [0; 4]).unwrap();
    // Received without space for it, the descriptor is closed, so the other end reads an end of
    // file.
    assert_eq!((&reader).read(&mut [0; 4]).unwrap(), 0);
}

#[test]
fn descriptors_are_closed_on_exec() {
    let (ours, theirs) = Socket::packet_pair().unwrap();
    let memory = MemoryFile::new("exec", 4096).unwrap();
    ours.send(b"x", &[memory.as_fd()]).unwrap();
    let mut fds = Vec::new();
    theirs.recv_with_fds(&mut [0; 4], &mut fds).unwrap();
    for fd in [ours.as_fd(), theirs.as_fd(), memory.as_fd(), fds[0].as_fd()] {
        // SAFETY: F_GETFD takes no argument.
        let flags = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFD) };
        assert_eq!(flags & libc::FD_CLOEXEC, libc::FD_CLOEXEC);
    }
}

#[test]
fn a_packet_is_not_merged_with_the_next() {
    let (ours, theirs) = Socket::packet_pair().unwrap();
    ours.send(&[1; 16], &[]).unwrap();
    ours.send(&[2; 16], &[]).unwrap();
    let mut buffer = [0; 64];
    assert_eq!(theirs.recv(&mut buffer).unwrap(), 16);
    drop(ours);
    assert_eq!(theirs.recv(&mut buffer).unwrap(), 16);
    assert_eq!(theirs.recv(&mut buffer).unwrap(), 0);
    let error = theirs.send(b"x", &[]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
}

#[test]
fn a_nonblocking_socket_does_not_wait() {
    let (ours, theirs) = Socket::packet_pair().unwrap();
    ours.set_nonblocking(true);
    let error = ours.recv(&mut [0; 16]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    let error = loop {
        if let Err(error) = ours.send(&[0; 16], &[]) {
            break error;
        }
    };
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    drop(theirs);
}

#[test]
fn the_kernel_names_the_peer() {
    let directory = Directory::new("peer");
    let listener = Listener::bind(&directory.0.join("sock")).unwrap();
    let client = Socket::connect(listener.path()).unwrap();
    let peer = listener.accept().unwrap().peer_credentials().unwrap();
    assert_eq!(peer.pid, std::process::id());
    assert_eq!(client.peer_credentials().unwrap(), peer);
}

#[test]
fn the_kernel_names_the_groups_of_the_peer() {
    let mut own: Vec<u32> = Vec::new();
    let status = fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("Groups:")).unwrap();
    own.extend(line.split_whitespace().map(|group| group.parse::<u32>().unwrap()));
    let (first, _second) = Socket::packet_pair().unwrap();
    assert_eq!(first.peer_groups().unwrap(), own);
}

/// Of a process with more groups than the first call has space for.
#[test]
fn the_groups_of_the_peer_may_be_many() {
    if !rustix::process::getuid().is_root() {
        return eprintln!("skipped: this test needs root");
    }
    let groups: Vec<String> = (100_000..101_000).map(|group: u32| group.to_string()).collect();
    let mut command = std::process::Command::new("setpriv");
    command.args(["--groups", &groups.join(",")]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "socket::tests::the_kernel_names_the_groups_of_the_peer"]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{output:?}");
}

#[test]
fn the_size_of_shared_memory_is_sealed() {
    let memory = MemoryFile::new("sealed", 8192).unwrap();
    assert!(MemoryFile::is_sealed(memory.as_fd()));
    assert!(!MemoryFile::is_sealed(tempfile::tempfile().unwrap().as_fd()));
    let file = File::from(memory.as_fd().try_clone_to_owned().unwrap());
    assert!(file.set_len(4096).is_err());
    assert!(file.set_len(16384).is_err());
    assert_eq!(file.metadata().unwrap().len(), memory.size());
    assert!((&file).write(b"x").is_ok());
    assert!(MemoryFile::new("huge", u64::MAX).is_err());
}

/// Whoever has such a file cannot keep its memory from being freed.
#[test]
fn memory_is_freed_whoever_holds_it() {
    let memory = MemoryFile::new("freed", 1 << 20).unwrap();
    let held = File::from(memory.as_fd().try_clone_to_owned().unwrap());
    let mapping = crate::buffer::memory::WriteMapping::map(held.as_fd(), 1 << 20).unwrap();
    held.write_all_at(&[7; 8192], 4096).unwrap();
    for seal in [libc::F_SEAL_WRITE, libc::F_SEAL_FUTURE_WRITE] {
        // SAFETY: F_ADD_SEALS takes an int, no pointer.
        let sealed = unsafe { libc::fcntl(held.as_raw_fd(), libc::F_ADD_SEALS, seal) };
        let error = std::io::Error::last_os_error();
        assert_eq!((sealed, error.raw_os_error()), (-1, Some(libc::EPERM)));
    }
    memory.free().unwrap();
    let metadata = held.metadata().unwrap();
    assert_eq!((metadata.blocks(), metadata.len()), (0, 1 << 20));
    let mut bytes = [1; 8192];
    held.read_exact_at(&mut bytes, 4096).unwrap();
    assert_eq!(bytes, [0; 8192]);
    drop(mapping);
}

#[test]
fn a_socket_has_its_mode_and_can_be_passed_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sock");
    let listener = Listener::bind_with_mode(&path, 0o660).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode;
    assert_eq!(mode(&std::fs::metadata(&path).unwrap().permissions()) & 0o777, 0o660);
    let fd = listener.as_fd().try_clone_to_owned().unwrap();
    let passed = Listener::from_bound(fd, path.clone()).unwrap();
    let client = Socket::connect(&path).unwrap();
    passed.accept().unwrap();
    drop(passed);
    assert!(path.exists(), "the file belongs to the first listener");
    assert!(Listener::from_bound(client.into(), path.clone()).is_err(), "it does not listen");
    let file = std::fs::File::open("/dev/null").unwrap();
    assert!(Listener::from_bound(file.into(), path).is_err());
}

#[test]
fn the_systems_daemon_comes_second_unless_a_socket_is_named() {
    let paths = |variables: &[(&str, &str)]| {
        let lookup = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| OsString::from(value))
        };
        default_socket_paths_from(lookup)
    };
    let system = PathBuf::from("/run/trace/manager.sock");
    let user = PathBuf::from("/run/user/7/trace/manager.sock");
    assert_eq!(paths(&[]), (system.clone(), None));
    assert_eq!(paths(&[("XDG_RUNTIME_DIR", "/run/user/7")]), (user, Some(system)));
    let named = paths(&[("TRACE_SOCKET", "/s"), ("XDG_RUNTIME_DIR", "/run/user/7")]);
    assert_eq!(named, (PathBuf::from("/s"), None));
}

/// The part of the test below that runs in another process: connects, leaves the connection to a
/// child process, and ends.
#[test]
fn connects_for_a_child_process() {
    let Some(path) = std::env::var_os("CONNECT_TO") else { return };
    let socket = OwnedFd::from(Socket::connect(Path::new(&path)).unwrap());
    #[expect(clippy::zombie_processes, reason = "this process ends before it")]
    let _reader = std::process::Command::new("cat").stdin(socket).spawn().unwrap();
}

/// Its pid may belong to another process then.
#[test]
fn the_end_of_the_process_that_connected_is_noticed() {
    let directory = Directory::new("process");
    let listener = Listener::bind(&directory.0.join("sock")).unwrap();
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "socket::tests::connects_for_a_child_process"]);
    command.env("CONNECT_TO", listener.path()).stdout(std::process::Stdio::null());
    assert!(command.status().unwrap().success());
    let socket = listener.accept().unwrap();
    // `cat` still has the other end.
    socket.set_nonblocking(true);
    assert_eq!(socket.recv(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    match socket.peer_process() {
        Err(error) => assert_eq!(error.kind(), ErrorKind::NotConnected),
        Ok(None) => eprintln!("skipped: the kernel has no descriptors of processes"),
        Ok(Some(process)) => {
            let mut polled = [PollFd::new(&process, PollFlags::IN)];
            assert_eq!(poll(&mut polled, 0), Ok(1), "the process has ended");
        }
    }
    let (ours, _theirs) = Socket::packet_pair().unwrap();
    assert!(ours.peer_process().is_ok(), "this process runs");
}
