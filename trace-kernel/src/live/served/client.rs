//! The recorder's end of a connection to the privileged helper.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use rustix::event::{poll, PollFd, PollFlags};
use trace_protocol::message::ClockSource;
use trace_protocol::socket::Socket;

use super::address::Server;
use super::message::{switch, Reply, Request, LOOK, MAX_PACKET};
use crate::live::error::LiveError;

/// The longest time for which the recorder waits for a message, in milliseconds. A command may ask
/// for a password before.
const TIMEOUT: i32 = 60_000;

/// The most CPUs: `CONFIG_NR_CPUS` of Linux is at most 8192.
const MAX_CPUS: usize = 8192;

/// A connection to the privileged helper, which keeps an instance for it.
#[derive(Debug)]
pub(in crate::live) struct Lease {
    /// `None` when it is dropped: the command ends after its connection.
    socket: Option<Socket>,
    command: Option<Child>,
    /// Whether the helper has been asked for a look and has not answered yet.
    is_looking: Cell<bool>,
    /// The events that this user may record, as `SYSTEM:NAME` on each line.
    pub(in crate::live) available: String,
}

/// What the privileged helper has prepared.
#[derive(Debug, Default)]
pub(in crate::live) struct Leased {
    /// The layout of pages.
    pub(in crate::live) header: String,
    /// The format of each event, as `SYSTEM/NAME`.
    pub(in crate::live) formats: Vec<(String, String)>,
    /// The name of the clock.
    pub(in crate::live) clock: String,
    /// The pages of each CPU.
    pub(in crate::live) pages: Vec<(u16, File)>,
}

impl Lease {
    /// Connects to the privileged helper.
    pub(in crate::live) fn new(server: &Server) -> Result<Self, LiveError> {
        let (socket, command) = connect(server).map_err(LiveError::Server)?;
        let mut lease = Self::of(socket, command);
        match lease.receive(&mut Vec::new())? {
            Reply::Events(available) => lease.available = available,
            other => return Err(unexpected(other)),
        }
        Ok(lease)
    }

    fn of(socket: Socket, command: Option<Child>) -> Self {
        let (socket, available) = (Some(socket), String::new());
        Self { socket, command, is_looking: Cell::new(false), available }
    }

    /// Asks for an instance. It is off.
    pub(in crate::live) fn request(
        &self,
        clock: ClockSource,
        buffer_size: u64,
        (threads, events): (&[u64], Vec<String>),
    ) -> Result<Leased, LiveError> {
        let request = Request { clock, buffer_size, threads: threads.to_vec(), events };
        self.send(&request.encode())?;
        let mut leased = Leased::default();
        loop {
            let mut descriptors = Vec::new();
            match self.receive(&mut descriptors)? {
                Reply::Header(text) => leased.header = text,
                Reply::Format { event, text } => leased.formats.push((event, text)),
                Reply::Clock(name) => leased.clock = name,
                Reply::Cpu(cpu) if leased.pages.len() < MAX_CPUS => {
                    let pages = descriptors.pop().ok_or_else(|| unexpected(Reply::Cpu(cpu)))?;
                    leased.pages.push((cpu, File::from(pages)));
                }
                Reply::Ready => return Ok(leased),
                other => return Err(unexpected(other)),
            }
        }
    }

    /// Starts or stops recording.
    pub(in crate::live) fn switch(&self, is_on: bool) -> Result<(), LiveError> {
        if self.is_looking.get() {
            self.answer()?;
        }
        self.send(switch(is_on))?;
        match self.receive(&mut Vec::new())? {
            Reply::Done => Ok(()),
            other => Err(unexpected(other)),
        }
    }

    /// Returns what another program has changed in the instance, which records, by the look before.
    /// A helper that does not answer delays nothing.
    pub(in crate::live) fn look(&self) -> Result<Option<String>, LiveError> {
        let has_answered = self.is_looking.get() && self.wait(0)?.contains(PollFlags::IN);
        let change = if has_answered { self.answer()? } else { None };
        self.ask()?;
        Ok(change)
    }

    /// Returns what another program has changed until now. Waits for the answer.
    pub(in crate::live) fn last_look(&self) -> Result<Option<String>, LiveError> {
        let before = if self.is_looking.get() { self.answer()? } else { None };
        self.ask()?;
        let change = self.answer()?;
        Ok(before.or(change))
    }

    fn ask(&self) -> Result<(), LiveError> {
        if !self.is_looking.replace(true) {
            self.send(LOOK)?;
        }
        Ok(())
    }

    fn answer(&self) -> Result<Option<String>, LiveError> {
        let reply = self.receive(&mut Vec::new())?;
        self.is_looking.set(false);
        match reply {
            Reply::Done => Ok(None),
            Reply::Changed(text) => Ok(Some(text)),
            other => Err(unexpected(other)),
        }
    }

    /// Fails if the helper has ended.
    pub(in crate::live) fn check(&self) -> Result<(), LiveError> {
        let ready = self.wait(0)?;
        let is_answer = self.is_looking.get() && !ready.contains(PollFlags::HUP);
        match ready.is_empty() || is_answer {
            true => Ok(()),
            // It sends nothing without a request.
            false => Err(LiveError::Server(io::ErrorKind::ConnectionReset.into())),
        }
    }

    fn socket(&self) -> Result<&Socket, LiveError> {
        self.socket.as_ref().ok_or_else(|| LiveError::Server(io::ErrorKind::NotConnected.into()))
    }

    fn send(&self, bytes: &[u8]) -> Result<(), LiveError> {
        if bytes.len() > MAX_PACKET {
            return Err(LiveError::Server(io::ErrorKind::InvalidInput.into()));
        }
        self.socket()?.send(bytes, &[]).map(drop).map_err(LiveError::Server)
    }

    fn receive(&self, descriptors: &mut Vec<OwnedFd>) -> Result<Reply, LiveError> {
        if self.wait(TIMEOUT)?.is_empty() {
            return Err(LiveError::Server(io::ErrorKind::TimedOut.into()));
        }
        let mut packet = vec![0; MAX_PACKET];
        let length = self.socket()?.recv_with_fds(&mut packet, descriptors);
        let length = length.map_err(LiveError::Server)?;
        if length == 0 {
            return Err(LiveError::Server(io::ErrorKind::ConnectionReset.into()));
        }
        let reply = Reply::parse(packet.get(..length).unwrap_or_default());
        reply.ok_or_else(|| LiveError::Server(io::ErrorKind::InvalidData.into()))
    }

    /// Returns what is ready; nothing after `timeout` milliseconds.
    fn wait(&self, timeout: i32) -> Result<PollFlags, LiveError> {
        let socket = &mut [PollFd::new(self.socket()?, PollFlags::IN)];
        poll(socket, timeout).map_err(|error| LiveError::Server(error.into()))?;
        Ok(socket.first().map_or(PollFlags::empty(), PollFd::revents))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        drop(self.socket.take());
        if let Some(command) = &mut self.command {
            // It removes the instance, whose pages have been closed.
            let _ended = command.wait();
        }
    }
}

fn connect(server: &Server) -> io::Result<(Socket, Option<Child>)> {
    match server {
        Server::Socket(path) => Ok((Socket::connect_packets(path)?, None)),
        Server::Command(words) => {
            let (own, other) = Socket::packet_pair()?;
            let mut words = words.iter();
            let program = words.next().ok_or(io::ErrorKind::InvalidInput)?;
            let mut command = Command::new(program);
            command.args(words).stdin(Stdio::from(OwnedFd::from(other))).stdout(Stdio::null());
            let child = command.spawn()?;
            Ok((own, Some(child)))
        }
    }
}

fn unexpected(reply: Reply) -> LiveError {
    match reply {
        Reply::Error(text) => LiveError::Refused(text),
        _ => LiveError::Server(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that is no helper.
    #[test]
    fn unknown_replies_are_errors() {
        let (own, other) = Socket::packet_pair().unwrap();
        let lease = Lease::of(own, None);
        for reply in [&b"done\n"[..], b"x", b"error\nno", b"cpu 1\n"] {
            other.send(reply, &[]).unwrap();
            let result = lease.request(ClockSource::Boottime, 0, (&[1], Vec::new()));
            assert!(
                matches!(result, Err(LiveError::Server(_) | LiveError::Refused(_))),
                "{reply:?}"
            );
        }
        lease.check().unwrap();
        drop(other);
        assert!(lease.check().is_err() && lease.switch(true).is_err());
    }

    #[test]
    fn looks_do_not_wait_for_the_helper() {
        let (own, helper) = Socket::packet_pair().unwrap();
        let lease = Lease::of(own, None);
        let mut question = [0; 64];
        for _ in 0..3 {
            assert_eq!(lease.look().unwrap(), None);
            lease.check().unwrap();
        }
        assert_eq!(helper.recv(&mut question).unwrap(), LOOK.len(), "one question");
        helper.send(&Reply::Changed("a".to_owned()).encode(), &[]).unwrap();
        lease.check().unwrap();
        assert_eq!(lease.look().unwrap().as_deref(), Some("a"));
        assert_eq!(helper.recv(&mut question).unwrap(), LOOK.len(), "the next question");
        for reply in [Reply::Done, Reply::Done] {
            helper.send(&reply.encode(), &[]).unwrap();
        }
        lease.switch(false).unwrap();
        drop(helper);
        assert!(lease.check().is_err());
    }
}
