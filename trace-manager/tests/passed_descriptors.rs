//! Descriptors that programs send to the manager. The test counts those of its process, so it has
//! its own file.

use std::fs::File;
use std::os::fd::AsFd;
use std::time::Duration;

use trace_manager::{ArchiveTarget, Manager, SessionConfig};
use trace_protocol::message::{Register, ToManager};
use trace_protocol::socket::{Socket, MAX_FDS};

fn open() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// The manager keeps none of them, whether they come with a message, before one or in the middle.
#[test]
fn descriptors_that_programs_pass_are_closed() {
    let directory = tempfile::tempdir().unwrap();
    let manager = Manager::bind(&directory.path().join("sock")).unwrap();
    let target = ArchiveTarget::File(directory.path().join("out.fxt"));
    let session = manager.start(SessionConfig::default(), target).unwrap();
    let file = File::open("/dev/null").unwrap();
    let fds = [file.as_fd(); MAX_FDS];
    let register = ToManager::Register(Register::default()).encode();
    let before = open();
    for at in [0, 3, register.len() - 1] {
        for _ in 0..100 {
            let program = Socket::connect(manager.path()).unwrap();
            let (first, second) = register.split_at(at);
            // Both fail if the manager has refused the connection, because descriptors still wait.
            if !first.is_empty() {
                let _sent = program.send(first, &[]);
            }
            let _sent = program.send(second, &fds);
            // The manager ends the connection. Its reply may be lost then.
            while program.recv(&mut [0; 64]).is_ok_and(|read| read != 0) {}
        }
    }
    let begin = std::time::Instant::now();
    while open() > before {
        assert!(begin.elapsed() < Duration::from_secs(600), "{} are open, not {before}", open());
        std::thread::sleep(Duration::from_millis(1));
    }
    session.stop();
    session.join().unwrap();
    assert!(manager.providers().unwrap().is_empty());
}
