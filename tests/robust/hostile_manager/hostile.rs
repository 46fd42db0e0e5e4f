//! A manager that a test controls.

use std::io::{BufRead, BufReader, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, Stdio};

use tempfile::TempDir;
use trace_protocol::message::{Decoder, ToManager, ToProvider};
use trace_protocol::socket::{Listener, Socket};

use super::{initialize, start};
use crate::harness::{happens, subject, wait_until, Run};

/// A manager that the test controls, with a program that traces continuously.
pub(super) struct Hostile {
    _directory: TempDir,
    child: Child,
    socket: Socket,
    decoder: Decoder<ToManager>,
}

impl Hostile {
    /// Accepts a program that traces continuously, which registers.
    pub(super) fn new() -> Self {
        Self::of("chatter")
    }

    /// Accepts a program with this role, which registers.
    pub(super) fn of(role: &str) -> Self {
        Self::with_session(role, false)
    }

    /// Accepts a program that registers and waits in vain for a session that has started.
    pub(super) fn slow() -> Self {
        Self::with_session("chatter", true)
    }

    fn with_session(role: &str, started: bool) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = Listener::bind(&directory.path().join("sock")).unwrap();
        let mut program = subject(&[role]);
        program.env("TRACE_SOCKET", listener.path());
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = program.spawn().unwrap();
        let socket = listener.accept().unwrap();
        socket.set_nonblocking(true);
        let mut this = Self { _directory: directory, child, socket, decoder: Decoder::new() };
        wait_until("the program registers", || {
            matches!(this.receive(), Some(ToManager::Register(_)))
        });
        this.send(&ToProvider::Registered { started }, &[]);
        let mut line = String::new();
        BufReader::new(this.child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        this
    }

    /// Sends a message, unless the program has disconnected.
    pub(super) fn send(&self, message: &ToProvider, handles: &[BorrowedFd<'_>]) {
        self.send_bytes(&message.encode(), handles);
    }

    pub(super) fn send_bytes(&self, bytes: &[u8], handles: &[BorrowedFd<'_>]) {
        let (mut rest, mut handles) = (bytes, handles);
        while !rest.is_empty() {
            match self.socket.send(rest, handles) {
                Ok(sent) => (rest, handles) = (&rest[sent..], &[]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
                Err(_) => return,
            }
        }
    }

    /// Returns the next message, if one has arrived.
    pub(super) fn receive(&mut self) -> Option<ToManager> {
        let mut bytes = [0; 4096];
        if let Ok(length) = self.socket.recv(&mut bytes) {
            self.decoder.feed(&bytes[..length]);
        }
        self.decoder.next_message().map(Result::unwrap)
    }

    /// Waits until the program disconnects.
    pub(super) fn is_refused(&self) -> bool {
        let mut bytes = [0; 4096];
        happens(|| match self.socket.recv(&mut bytes) {
            Ok(length) => length == 0,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        })
    }

    /// Opens a session with a buffer.
    pub(super) fn open(&self, buffer: &impl AsFd, packets: &impl AsFd) {
        self.send(&initialize(&[]), &[buffer.as_fd(), packets.as_fd()]);
        self.send(&start(), &[]);
    }

    /// Checks that the program continues and exits normally, and returns its messages.
    #[track_caller]
    pub(super) fn end(self, case: &str) -> String {
        // The program is still running, and traces for a while.
        std::thread::sleep(std::time::Duration::from_millis(20));
        let run = Run::end_of(self.child);
        assert_eq!(run.0.status.code(), Some(0), "{case}: {run:?}");
        run.stderr()
    }
}
