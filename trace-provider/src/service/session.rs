//! A session of the manager, in which this provider has a buffer.

use std::io::ErrorKind;
use std::ops::Range;
use std::os::fd::AsFd;

use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::buffer::omission::Omission;
use trace_protocol::categories::CategorySet;
use trace_protocol::message::{BufferDisposition, StartOptions};
use trace_protocol::packet::{Packet, PACKET_SIZE, PACKET_VERSION};
use trace_protocol::socket::Socket;

use crate::engine::categories::Wanted;
use crate::engine::client::Client;
use crate::engine::Engine;
use crate::service::active::Active;
use crate::service::alert_sender::{AlertSender, Answer};
use crate::service::received::{check_patterns, Closed};
use crate::sys;

/// Packets that are read in a turn.
const PACKETS_AT_ONCE: usize = 64;

pub(crate) struct Session<'a> {
    engine: &'static Engine,
    pub(crate) active: Active<'a>,
    pub(crate) packets: Socket,
    categories: Vec<String>,
    alerts: AlertSender<'a>,
    /// The wraps that the manager has been asked to save, and has not.
    saving: Range<u32>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(
        engine: &'static Engine,
        client: &'a dyn Client,
        active: Active<'a>,
        packets: Socket,
        categories: Vec<String>,
    ) -> Self {
        let alerts = AlertSender::new(engine, client);
        Self { engine, active, packets, categories, alerts, saving: 0..0 }
    }

    /// Starts to record the categories that the session and the application both choose.
    pub(crate) fn start(&mut self, options: &StartOptions, own: CategorySet) -> Result<(), Closed> {
        let mut patterns = self.categories.clone();
        if patterns.iter().any(|pattern| !pattern.starts_with('-')) {
            // Where none is asked for, all are wanted; more cannot be asked for.
            patterns.extend(options.additional_categories.iter().cloned());
        }
        check_patterns(&patterns)?;
        let categories = Wanted::new(CategorySet::new(&patterns), own);
        if !self.active.is_started() {
            self.engine.categories.remember(&categories)?;
            self.saving = 0..0;
        }
        self.engine.alerts.listen(true);
        let clear = options.disposition == BufferDisposition::ClearEntire;
        self.active.start(&categories, clear);
        self.send(Packet::Started { version: PACKET_VERSION })
    }

    pub(crate) fn stop(&mut self) -> Result<(), Closed> {
        if !self.active.stop() {
            return Ok(());
        }
        self.send_last_alerts()?;
        self.send(Packet::Stopped)
    }

    /// Ends the session. The manager has gone if it does not take what is left.
    pub(crate) fn end(mut self) {
        if self.active.stop() {
            let _sent = self.send_last_alerts();
        }
        self.engine.alerts.listen(false);
    }

    /// Does what there is to do without a message. Returns whether there is more.
    pub(crate) fn work(&mut self) -> Result<bool, Closed> {
        let more = self.receive_packets()?;
        // Before alerts, which could fill the packet socket.
        self.hand_over()?;
        self.send_alerts()?;
        self.active.serve_threads();
        Ok(more)
    }

    /// Takes packets of the manager. Returns whether there may be more of them.
    fn receive_packets(&mut self) -> Result<bool, Closed> {
        let mut buffer = [0; PACKET_SIZE + 1];
        for _ in 0..PACKETS_AT_ONCE {
            match self.packets.recv(&mut buffer) {
                // A manager that has closed the packet socket ends the session by a message.
                Ok(0) | Err(_) => return Ok(false),
                Ok(length) => self.take_packet(buffer.get(..length).unwrap_or(&[]))?,
            }
        }
        Ok(true)
    }

    fn take_packet(&mut self, untrusted: &[u8]) -> Result<(), Closed> {
        if untrusted.len() != PACKET_SIZE {
            return Err(Closed::because("a packet has the wrong length"));
        }
        if let Ok(Packet::BufferSaved { wrapped_count, .. }) = Packet::decode(untrusted) {
            if !self.saving.is_empty() && self.saving.start == wrapped_count {
                self.saving.start += 1;
                self.active.mark_saved(wrapped_count);
            }
        }
        Ok(())
    }

    /// Hands over the rolling buffers that are full. Those that the packet socket has no room for
    /// are handed over at a later turn.
    fn hand_over(&mut self) -> Result<(), Closed> {
        self.active.recycle();
        if self.active.mode() != BufferingMode::Streaming {
            return Ok(());
        }
        while let Some(wrapped_count) = self.active.next_full() {
            let durable_data_end = self.active.durable_end();
            let packet = Packet::SaveBuffer { wrapped_count, durable_data_end };
            match send(&self.packets, packet) {
                Answer::Sent => self.active.hand_over(),
                Answer::Later => return Ok(()),
                Answer::Closed => return Err(Closed::GONE),
            }
            let first = if self.saving.is_empty() { wrapped_count } else { self.saving.start };
            self.saving = first..wrapped_count + 1;
        }
        Ok(())
    }

    /// Sends the alerts that were raised, or as many of them as the manager takes now.
    fn send_alerts(&mut self) -> Result<(), Closed> {
        if !self.active.is_started() {
            return Ok(());
        }
        let packets = &self.packets;
        self.alerts.send(|alert| send(packets, Packet::Alert(alert))).ok_or(Closed::GONE)
    }

    /// Sends what was raised up to the end of the recording, and says in the trace how many are not
    /// sent.
    fn send_last_alerts(&mut self) -> Result<(), Closed> {
        let packets = &self.packets;
        let unsent = self.alerts.send_last(|alert| send_patiently(packets, Packet::Alert(alert)));
        self.active.tell(Omission::Alerts, unsent.ok_or(Closed::GONE)?);
        Ok(())
    }

    /// Sends a packet. A manager that does not read has a second to do so, and then is done with.
    fn send(&self, packet: Packet) -> Result<(), Closed> {
        match send_patiently(&self.packets, packet) {
            Answer::Sent => Ok(()),
            Answer::Later | Answer::Closed => Err(Closed::GONE),
        }
    }
}

/// Sends a packet, and waits for a second at most if the socket is full.
fn send_patiently(packets: &Socket, packet: Packet) -> Answer {
    match send(packets, packet) {
        Answer::Later if sys::wait_until_writable(packets.as_fd()).is_ok() => send(packets, packet),
        answer => answer,
    }
}

fn send(packets: &Socket, packet: Packet) -> Answer {
    match packets.send(&packet.encode(), &[]) {
        Ok(PACKET_SIZE) => Answer::Sent,
        Err(error) if error.kind() == ErrorKind::WouldBlock => Answer::Later,
        _ => Answer::Closed,
    }
}
