//! Requests and their replies on the socket of a controller.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags};
use trace_protocol::control::{Event, Reply, Request, ToController, ToDaemon, EVENT};
use trace_protocol::error::ProtocolError;

use super::{Controller, ControllerError, Result, SessionEvent};
use crate::summary::SnapshotSummary;

impl Controller {
    /// Sends a request without a descriptor, and waits for its reply.
    pub(super) fn call(&mut self, request: Request) -> Result<Reply> {
        self.call_with(request, None)
    }

    /// Sends a request, and waits for its reply. Events that arrive before are kept.
    pub(super) fn call_with(
        &mut self,
        request: Request,
        output: Option<BorrowedFd<'_>>,
    ) -> Result<Reply> {
        let id = self.request(request, output)?;
        loop {
            let (of, reply) = self.next_reply()?;
            if of == id {
                return result(reply);
            }
        }
    }

    /// Sends requests, and calls `requested` when the daemon has them, or does not take them. Waits
    /// for their replies. Returns the results of the first ones if the connection ends before.
    pub(super) fn call_all(
        &mut self,
        requests: impl Iterator<Item = Request>,
        requested: impl FnOnce(),
    ) -> VecDeque<Result<Reply>> {
        let ids: Result<Vec<u32>> = requests.map(|it| self.request(it, None)).collect();
        // Requests are handled in order, and this one has its reply at once.
        let last = ids.and_then(|ids| Ok((ids, self.request(Request::GetGroups, None)?)));
        let Ok((ids, last)) = last else {
            requested();
            return VecDeque::new();
        };
        let (mut replies, mut requested) = (BTreeMap::new(), Some(requested));
        while replies.len() <= ids.len() {
            let reply = self.next_reply();
            let is_result = matches!(&reply, Ok((of, _)) if *of != last);
            if let Some(requested) = requested.take_if(|_| !is_result) {
                requested();
                // The results may take any time.
                self.timeout = None;
            }
            match reply {
                Ok((of, reply)) => drop(replies.insert(of, result(reply))),
                Err(error) if is_timeout(&error) => {}
                Err(_) => break,
            }
        }
        let closed = || Err(ControllerError::Closed(None));
        ids.iter().map(|id| replies.remove(id).unwrap_or_else(closed)).collect()
    }

    /// Sends a request. Returns its number.
    fn request(&mut self, request: Request, output: Option<BorrowedFd<'_>>) -> Result<u32> {
        self.last = self.last.wrapping_add(1).max(EVENT + 1);
        self.send(&ToDaemon { id: self.last, request }.encode(), output)?;
        Ok(self.last)
    }

    /// Waits for the next reply. Events that arrive before are kept.
    fn next_reply(&mut self) -> Result<(u32, Reply)> {
        loop {
            while let Some(message) = self.next_message() {
                if let Some(reply) = self.take(message?)? {
                    return Ok(reply);
                }
            }
            self.receive()?;
        }
    }

    fn send(&mut self, bytes: &[u8], output: Option<BorrowedFd<'_>>) -> Result<()> {
        let (mut rest, mut descriptors) = (bytes, output.as_slice());
        while !rest.is_empty() {
            match self.socket.send(rest, descriptors) {
                Ok(sent) => (rest, descriptors) = (rest.get(sent..).unwrap_or_default(), &[]),
                // The daemon has closed the connection. It may have sent the reason.
                Err(error) if is_closed(&error) => return self.receive(),
                Err(error) => return Err(ControllerError::Io(error)),
            }
        }
        Ok(())
    }

    /// Receives bytes. Waits for them.
    pub(super) fn receive(&mut self) -> Result<()> {
        if self.timeout.is_some_and(|timeout| !self.wait(timeout)) {
            return Err(ControllerError::NoAnswer { pid: self.daemon.pid });
        }
        let mut buffer = vec![0; 64 << 10];
        match self.socket.recv(&mut buffer) {
            Ok(0) => Err(ControllerError::Closed(None)),
            Ok(read) => {
                self.decoder.feed(buffer.get(..read).unwrap_or_default());
                Ok(())
            }
            Err(error) => Err(ControllerError::Io(error)),
        }
    }

    /// Waits for bytes. Returns false if there are none after `timeout`.
    fn wait(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        loop {
            let rest = deadline.saturating_duration_since(Instant::now());
            let millis = i32::try_from(rest.as_millis()).unwrap_or(i32::MAX);
            match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], millis) {
                Ok(0) => return false,
                Err(rustix::io::Errno::INTR) => {}
                // An error is that of the next call.
                Ok(_) | Err(_) => return true,
            }
        }
    }

    /// Returns the next message that has arrived, without events that only later versions know.
    pub(super) fn next_message(
        &mut self,
    ) -> Option<std::result::Result<ToController, ProtocolError>> {
        let is_known = |message: &_| !matches!(message, Err(ProtocolError::UnknownEvent(_)));
        std::iter::from_fn(|| self.decoder.next_message()).find(is_known)
    }

    /// Keeps an event. Returns a reply with the number of its request.
    pub(super) fn take(&mut self, message: ToController) -> Result<Option<(u32, Reply)>> {
        let Some(message) = self.parts.join(message)? else { return Ok(None) };
        let event = match message.reply {
            Reply::StateChanged(Event { session, state }) => SessionEvent::State { session, state },
            Reply::Alert((Event { session, .. }, alert)) => SessionEvent::Alert { session, alert },
            Reply::SnapshotTaken((Event { session, .. }, snapshot)) => {
                let SnapshotSummary { path, causes, archive } = snapshot.into();
                let result = archive.map_err(|error| error.to_string());
                SessionEvent::Snapshot { session, path, causes, result }
            }
            Reply::Closing(reason) => return Err(ControllerError::Closed(Some(reason))),
            reply => return Ok(Some((message.id, reply))),
        };
        self.events.push_back(event);
        Ok(None)
    }
}

fn is_timeout(error: &ControllerError) -> bool {
    matches!(error, ControllerError::NoAnswer { .. })
}

/// Returns the result of a request.
fn result(reply: Reply) -> Result<Reply> {
    match reply {
        Reply::Failed(error) => Err(ControllerError::Refused(error)),
        reply => Ok(reply),
    }
}

/// Returns whether the peer has closed the socket.
fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use trace_protocol::control::{ControlError, GeneralError, Summary};
    use trace_protocol::socket::Socket;

    use super::*;

    /// They may arrive in any order. The daemon ends before the last one.
    #[test]
    fn requests_that_are_made_at_once_have_their_own_results() {
        let (ours, theirs) = Socket::packet_pair().unwrap();
        let daemon = thread::spawn(move || {
            (0..4).for_each(|_| assert!(theirs.recv(&mut [0; 1024]).unwrap() > 0));
            let refused = Reply::Failed(ControlError::general(GeneralError::NoSession, "none"));
            let stopped = Reply::Stopped(Summary { bytes: 8, ..Summary::default() });
            for (id, reply) in [(3, stopped), (4, Reply::Groups(Vec::new())), (1, refused)] {
                let bytes = ToController { id: EVENT + id, reply }.encode();
                assert_eq!(theirs.send(&bytes, &[]).unwrap(), bytes.len());
            }
        });
        let (mut controller, mut requested) = (Controller::of_socket(ours).unwrap(), 0);
        let results = controller.stop_all(&["a", "b", "c"].map(str::to_owned), || requested += 1);
        assert_eq!(requested, 1);
        let [a, b, c] = results.try_into().unwrap();
        assert!(matches!(a, Err(ControllerError::Refused(_))), "{a:?}");
        assert!(matches!(b, Err(ControllerError::Closed(None))), "{b:?}");
        assert_eq!(c.unwrap().bytes, 8);
        daemon.join().unwrap();
    }

    #[test]
    fn events_of_later_daemons_are_ignored() {
        let (ours, theirs) = Socket::packet_pair().unwrap();
        let daemon = thread::spawn(move || {
            theirs.recv(&mut [0; 1024]).unwrap();
            // Kind 0x3ee of version 1, with the number of an event.
            let unknown = [6, 0, 0, 0, 0xee, 3, 1, 0, 0, 0, 0, 0, 9, 9];
            let reply = ToController { id: EVENT + 1, reply: Reply::Groups(Vec::new()) };
            for bytes in [&unknown[..], &reply.encode(), &unknown] {
                assert_eq!(theirs.send(bytes, &[]).unwrap(), bytes.len());
            }
            theirs
        });
        let mut controller = Controller::of_socket(ours).unwrap();
        assert_eq!(controller.groups().unwrap(), []);
        assert_eq!(controller.next_event(Duration::ZERO).unwrap(), None);
        drop(daemon.join().unwrap());
    }
}
