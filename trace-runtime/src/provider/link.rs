//! A connection to a manager, from registering to its end.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use trace_protocol::buffer::header::{BufferingMode, Layout, HEADER_BYTES};
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::buffer::omission::Omission;
use trace_protocol::categories::CategorySet;
use trace_protocol::message::{
    BufferDisposition, CategoryInfo, ClockSource, Decoder, Initialize, Register, StartOptions,
    ToManager, ToProvider,
};
use trace_protocol::packet::{AlertName, Packet, PACKET_SIZE, PACKET_VERSION};
use trace_protocol::socket::Socket;

use super::active::Active;
use super::alerts::{Alerts, Answer};
use super::recording::durable_hint;
use super::service::{Service, NAMES_INTERVAL};
use super::wanted::Wanted;
use super::{fork, sys};
use crate::point::alert;
use crate::point::registry::site_categories;
use crate::point::site::categories;

/// The connection is of no use any more.
struct Closed;

/// A connection to a manager.
pub(super) struct Link<'a> {
    service: &'a Service,
    socket: Socket,
    decoder: Decoder<ToProvider>,
    descriptors: Vec<OwnedFd>,
    session: Option<Session>,
    /// There was a session.
    served: bool,
}

/// A session of the manager, in which this provider has a buffer.
struct Session {
    active: Active,
    packets: Socket,
    categories: Vec<String>,
    alerts: Alerts,
    /// The wrap that the manager has been asked to save.
    saving: Option<u32>,
}

impl<'a> Link<'a> {
    pub(super) fn new(service: &'a Service, socket: Socket) -> Self {
        fork::remember_descriptor(2, socket.as_fd().as_raw_fd());
        Self {
            service,
            socket,
            decoder: Decoder::new(),
            descriptors: Vec::new(),
            session: None,
            served: false,
        }
    }

    /// Serves until the manager hangs up, or the provider is to end. Returns whether there was a
    /// session.
    pub(super) fn serve(mut self) -> bool {
        let registered =
            self.socket.set_nonblocking(true).is_ok() && self.send(&self.register()).is_ok();
        while registered && !self.service.is_quitting() && self.serve_once().is_ok() {}
        self.end_session();
        fork::remember_descriptor(2, -1);
        self.served
    }

    fn serve_once(&mut self) -> Result<(), Closed> {
        let started = self.session.as_ref().is_some_and(|session| session.active.is_started());
        let packets = self.session.as_ref().map(|session| session.packets.as_fd());
        let mut ready = [
            sys::interest(Some(self.service.wake())),
            sys::interest(Some(self.socket.as_fd())),
            sys::interest(packets),
        ];
        sys::poll(&mut ready, started.then_some(NAMES_INTERVAL));
        self.service.drain_wake();
        let [_, socket, packets] = ready.map(|fd| fd.revents != 0);
        if packets {
            self.receive_packets();
        }
        if socket {
            self.receive_messages()?;
        }
        if let Some(session) = self.session.as_mut() {
            session.send_alerts()?;
            session.hand_over()?;
            session.active.name_threads();
        }
        Ok(())
    }

    fn register(&self) -> ToManager {
        let config = &self.service.config;
        let process_name = process_name();
        ToManager::Register(Register {
            name: config.name.clone().unwrap_or_else(|| process_name.clone()),
            process_name,
            clock: if self.service.cpu_counter {
                ClockSource::CpuCounter
            } else {
                ClockSource::Boottime
            },
            durable_hint: durable_hint(),
            categories: known_categories(),
        })
    }

    /// Sends a message whole. A manager that does not read has a second to do so, and then is done
    /// with.
    fn send(&self, message: &ToManager) -> Result<(), Closed> {
        let bytes = message.encode();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            match self.socket.send(rest, &[]) {
                Ok(sent) => rest = rest.get(sent..).unwrap_or(&[]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    sys::wait_until_writable(self.socket.as_fd()).map_err(|_| Closed)?;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Closed),
            }
        }
        Ok(())
    }

    fn receive_messages(&mut self) -> Result<(), Closed> {
        let mut buffer = [0; 4096];
        match self.socket.recv_with_fds(&mut buffer, &mut self.descriptors) {
            Ok(0) => return Err(Closed),
            Ok(received) => self.decoder.feed(buffer.get(..received).unwrap_or(&[])),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return Err(Closed),
        }
        while let Some(message) = self.decoder.next_message() {
            match message {
                Ok(message) => self.handle(message)?,
                Err(error) if error.is_fatal() => return Err(Closed),
                // A younger manager may know more messages.
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn handle(&mut self, message: ToProvider) -> Result<(), Closed> {
        match message {
            ToProvider::Registered { started: false } => self.service.settle(),
            ToProvider::Registered { started: true } => {}
            ToProvider::Initialize(initialize) => self.initialize(initialize)?,
            ToProvider::Start(options) => {
                self.start(&options)?;
                self.service.settle();
            }
            ToProvider::Stop => self.stop()?,
            ToProvider::Terminate => self.end_session(),
            ToProvider::GetKnownCategories => {
                self.send(&ToManager::KnownCategories(known_categories()))?
            }
            ToProvider::Flush => {
                if let Some(session) = &self.session {
                    session.active.flush();
                }
            }
        }
        Ok(())
    }

    fn initialize(&mut self, initialize: Initialize) -> Result<(), Closed> {
        let mut descriptors = std::mem::take(&mut self.descriptors).into_iter();
        let (Some(memory), Some(packets)) = (descriptors.next(), descriptors.next()) else {
            return Err(Closed);
        };
        if self.session.is_some() {
            // One session at a time: the second one's buffer is not ours.
            return Ok(());
        }
        let (mapping, layout) = map_buffer(memory).ok_or(Closed)?;
        let packets = Socket::from(packets);
        packets.set_nonblocking(true).map_err(|_| Closed)?;
        fork::remember_descriptor(3, packets.as_fd().as_raw_fd());
        self.served = true;
        self.session = Some(Session {
            active: Active::new(mapping, layout),
            packets,
            categories: initialize.categories,
            alerts: Alerts::new(),
            saving: None,
        });
        Ok(())
    }

    fn start(&mut self, options: &StartOptions) -> Result<(), Closed> {
        let own = self.service.config.category_set();
        let Some(session) = self.session.as_mut() else { return Ok(()) };
        let mut patterns = session.categories.clone();
        if patterns.iter().any(|pattern| !pattern.starts_with('-')) {
            // Where none is asked for, all are wanted; more cannot be asked for.
            patterns.extend(options.additional_categories.iter().cloned());
        }
        let categories = Wanted::new(CategorySet::new(&patterns), own);
        if !session.active.is_started() {
            session.saving = None;
        }
        alert::listen(true);
        session.active.start(&categories, options.disposition == BufferDisposition::ClearEntire);
        session.send(Packet::Started { version: PACKET_VERSION })
    }

    fn stop(&mut self) -> Result<(), Closed> {
        let Some(session) = self.session.as_mut() else { return Ok(()) };
        match session.active.stop() {
            true => {
                session.send_last_alerts()?;
                session.send(Packet::Stopped)
            }
            false => Ok(()),
        }
    }

    fn end_session(&mut self) {
        if let Some(mut session) = self.session.take() {
            if session.active.stop() {
                // The manager has gone if it does not take them.
                let _sent = session.send_last_alerts();
            }
            alert::listen(false);
            fork::remember_descriptor(3, -1);
        }
    }

    fn receive_packets(&mut self) {
        let Some(session) = self.session.as_mut() else { return };
        let mut buffer = [0; PACKET_SIZE];
        while let Ok(PACKET_SIZE) = session.packets.recv(&mut buffer) {
            if let Ok(Packet::BufferSaved { wrapped_count, .. }) = Packet::decode(&buffer) {
                if session.saving == Some(wrapped_count) {
                    session.saving = None;
                    session.active.mark_saved(wrapped_count);
                }
            }
        }
    }
}

impl Session {
    /// Hands over the rolling buffers that are full: one at a time to a manager that streams.
    fn hand_over(&mut self) -> Result<(), Closed> {
        self.active.recycle();
        if self.active.mode() != BufferingMode::Streaming || self.saving.is_some() {
            return Ok(());
        }
        let Some(wrapped_count) = self.active.next_full() else { return Ok(()) };
        self.saving = Some(wrapped_count);
        self.send(Packet::SaveBuffer { wrapped_count, durable_data_end: self.active.durable_end() })
    }

    /// Sends the alerts that were raised, or as many of them as the manager takes now.
    fn send_alerts(&mut self) -> Result<(), Closed> {
        if !self.active.is_started() {
            return Ok(());
        }
        let packets = &self.packets;
        self.alerts.send(|alert| send_alert(packets, alert)).ok_or(Closed)
    }

    /// Sends what was raised up to the end of the recording, and says in the trace how many are not
    /// sent.
    fn send_last_alerts(&mut self) -> Result<(), Closed> {
        let packets = &self.packets;
        let unsent = self.alerts.send_last(|alert| match send_alert(packets, alert) {
            Answer::Later if sys::wait_until_writable(packets.as_fd()).is_ok() => {
                send_alert(packets, alert)
            }
            answer => answer,
        });
        self.active.tell(Omission::Alerts, unsent.ok_or(Closed)?);
        Ok(())
    }

    fn send(&self, packet: Packet) -> Result<(), Closed> {
        let bytes = packet.encode();
        match self.packets.send(&bytes, &[]) {
            Ok(sent) if sent == bytes.len() => Ok(()),
            _ => Err(Closed),
        }
    }
}

fn send_alert(packets: &Socket, alert: AlertName) -> Answer {
    match packets.send(&Packet::Alert(alert).encode(), &[]) {
        Ok(PACKET_SIZE) => Answer::Sent,
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Answer::Later,
        _ => Answer::Closed,
    }
}

/// Maps the manager's buffer, if its header describes one.
fn map_buffer(memory: OwnedFd) -> Option<(WriteMapping, Layout)> {
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::from(memory);
    let size = usize::try_from(file.metadata().ok()?.len()).ok()?;
    let mut bytes = [0; HEADER_BYTES];
    file.read_exact_at(&mut bytes, 0).ok()?;
    let layout = Layout::from_header_bytes(&bytes, size).ok()?;
    Some((WriteMapping::map(file.as_fd(), size).ok()?, layout))
}

/// The name of this process, as `ps` shows it.
pub(super) fn process_name() -> String {
    let name = std::fs::read("/proc/self/comm").unwrap_or_default();
    String::from_utf8_lossy(name.trim_ascii_end()).into_owned()
}

/// The categories of the program: those of its trace points, with the descriptions of those that
/// are declared.
fn known_categories() -> Vec<CategoryInfo> {
    let mut known: BTreeMap<String, &str> =
        site_categories().into_iter().map(|name| (name, "")).collect();
    known.extend(
        categories().iter().map(|category| (category.name().to_owned(), category.description())),
    );
    known
        .into_iter()
        .map(|(name, description)| CategoryInfo { name, description: description.to_owned() })
        .collect()
}
