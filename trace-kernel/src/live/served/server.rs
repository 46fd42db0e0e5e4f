//! The privileged helper: one connection.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags};
use rustix::io::Errno;
use trace_protocol::socket::Socket;

use super::message::{Reply, Request, LOOK, MAX_PACKET};
use super::permission::{check_threads, permitted_events, MAX_BUFFER};
use super::ServeError;
use crate::live::instance::{available_events, Instance};
use crate::live::scope::Scope;
use crate::live::setup::{check_thread_ids, open_pages, prepare, read_header, Prepared};
use crate::live::watch::Watch;

/// The longest time until the request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest time for which a message waits for the recorder.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// The time between two attempts to remove an instance whose pages the recorder still has.
const RETRY: Duration = Duration::from_millis(100);

/// Serves the recorder at the other end of a connection of packets, until that closes it. The
/// recorder's user is that of the process which made the connection.
///
/// # Errors
///
/// The recorder may not record what it asks for, or the kernel cannot be traced. It has been told.
pub fn serve(connection: OwnedFd) -> Result<(), ServeError> {
    let socket = Socket::from_packets(connection).map_err(ServeError::NoConnection)?;
    let uid = socket.peer_credentials().map_err(ServeError::Connection)?.uid;
    let served = serve_user(&socket, uid);
    if let Err(error) = &served {
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
        let text = format!("{error}{}", cause.unwrap_or_default());
        let _gone = send(&socket, &Reply::Error(text), None);
    }
    served
}

fn serve_user(socket: &Socket, uid: u32) -> Result<(), ServeError> {
    check_thread_ids()?;
    let permitted = permitted_events(&available_events()?);
    send(socket, &Reply::Events(permitted.clone()), None)?;
    let mut packet = vec![0; MAX_PACKET];
    if !wait(socket, PollFlags::IN, Some(REQUEST_TIMEOUT)).map_err(ServeError::Connection)? {
        return Err(ServeError::NoRequest);
    }
    let untrusted = receive(socket, &mut packet)?;
    if untrusted.is_empty() {
        return Ok(());
    }
    let request = Request::parse(untrusted).ok_or(ServeError::Malformed)?;
    check(&request, &permitted, uid)?;
    let removed = Removed(Some(Instance::create(Some(uid))?));
    let result = removed.instance().map_or(Ok(()), |it| record(socket, it, request, uid));
    drop(removed);
    result
}

/// Checks what a user may not record. Threads are checked again when they are in the list.
fn check(request: &Request, permitted: &str, uid: u32) -> Result<(), ServeError> {
    if request.buffer_size > MAX_BUFFER {
        return Err(ServeError::Buffer(MAX_BUFFER));
    }
    let is_permitted =
        |event: &String| permitted.lines().any(|line| line.replacen(':', "/", 1) == *event);
    if let Some(event) = request.events.iter().find(|event| !is_permitted(event)) {
        return Err(ServeError::Event(event.escape_default().to_string()));
    }
    check_threads(&request.threads, uid)
}

/// Prepares an instance, passes its pages, and switches it on and off.
fn record(
    socket: &Socket,
    instance: &Instance,
    request: Request,
    uid: u32,
) -> Result<(), ServeError> {
    let Request { clock, buffer_size, threads, events } = request;
    let scope = Scope::Threads(threads.clone());
    let Prepared { clock_name, .. } = prepare(instance, clock, buffer_size, &scope)?;
    check_threads(&threads, uid)?;
    let watch = Watch::new(clock_name, &events);
    send(socket, &Reply::Header(read_header(instance)?), None)?;
    for event in events {
        let text = instance.enable(&event)?;
        send(socket, &Reply::Format { event, text }, None)?;
    }
    send(socket, &Reply::Clock(clock_name.to_owned()), None)?;
    for (cpu, pages) in open_pages(instance)? {
        send(socket, &Reply::Cpu(cpu), Some(&pages))?;
    }
    send(socket, &Reply::Ready, None)?;
    let mut packet = vec![0; MAX_PACKET];
    loop {
        let is_on = match receive(socket, &mut packet)? {
            b"" => return Ok(()),
            b"on" => true,
            b"off" => false,
            LOOK => {
                let change = watch.look(instance)?;
                let change = change.map(|change| Reply::Changed(change.to_string()));
                send(socket, &change.unwrap_or(Reply::Done), None)?;
                continue;
            }
            _ => return Err(ServeError::Malformed),
        };
        instance.switch(is_on)?;
        send(socket, &Reply::Done, None)?;
    }
}

/// Sends a message, with the descriptor of pages.
fn send(socket: &Socket, reply: &Reply, pages: Option<&File>) -> Result<(), ServeError> {
    let bytes = reply.encode();
    let pages: Vec<_> = pages.map(AsFd::as_fd).into_iter().collect();
    socket.set_nonblocking(true);
    let sent = match socket.send(&bytes, &pages) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            let is_free = wait(socket, PollFlags::OUT, Some(SEND_TIMEOUT));
            is_free.and_then(|_| socket.send(&bytes, &pages))
        }
        sent => sent,
    };
    sent.map(drop).map_err(ServeError::Connection)
}

/// Waits for a packet. It is empty if the recorder has closed the connection. Its descriptors are
/// closed by the kernel.
fn receive<'a>(socket: &Socket, packet: &'a mut [u8]) -> Result<&'a [u8], ServeError> {
    let received = wait(socket, PollFlags::IN, None).and_then(|_| socket.recv(packet));
    match received {
        Ok(length) => Ok(packet.get(..length).unwrap_or_default()),
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(&[]),
        Err(error) => Err(ServeError::Connection(error)),
    }
}

/// Waits until the socket is ready. Returns false after the timeout.
fn wait(socket: &Socket, flags: PollFlags, timeout: Option<Duration>) -> io::Result<bool> {
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    loop {
        let rest = deadline.map(|it| it.saturating_duration_since(Instant::now()).as_millis());
        let rest = rest.map_or(-1, |rest| i32::try_from(rest).unwrap_or(i32::MAX));
        match poll(&mut [PollFd::new(socket, flags)], rest) {
            Err(Errno::INTR) => {}
            ready => return Ok(ready? > 0),
        }
    }
}

/// An instance that is removed when this is dropped, as soon as the recorder has closed its pages.
struct Removed(Option<Instance>);

impl Removed {
    fn instance(&self) -> Option<&Instance> {
        self.0.as_ref()
    }
}

impl Drop for Removed {
    fn drop(&mut self) {
        let Some(instance) = self.0.take() else { return };
        if instance.remove().is_ok() {
            return;
        }
        // The recorder has its pages after the end of its lease, and gets no more events.
        let _failed = instance.retire();
        while instance.remove().is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy) {
            thread::sleep(RETRY);
        }
    }
}
