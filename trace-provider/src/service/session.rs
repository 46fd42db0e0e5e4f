//! A session of the manager. It begins when the manager sends the buffer.

use std::io::ErrorKind;
use std::ops::Range;
use std::os::fd::AsFd;
use std::time::Duration;

use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::buffer::omission::Omission;
use trace_protocol::buffer::producer::Streamed;
use trace_protocol::categories::CategorySet;
use trace_protocol::message::{BufferDisposition, DurationLimit, StartOptions};
use trace_protocol::packet::{Packet, PACKET_SIZE, PACKET_VERSION};
use trace_protocol::socket::Socket;

use crate::engine::categories::SelectedCategories;
use crate::engine::client::Client;
use crate::engine::Engine;
use crate::service::active::{Active, NAMES_INTERVAL};
use crate::service::alert_sender::{AlertSender, SendResult};
use crate::service::received::{check_conditions, check_patterns, Closed};
use crate::sys;

/// The time after which a full rolling buffer is checked again that a thread was still writing, at
/// the end of a recording.
const RETRY: Duration = Duration::from_millis(2);

/// The most packets that are read in a turn.
const PACKETS_AT_ONCE: usize = 64;

pub(crate) struct ManagerSession<'a> {
    engine: &'static Engine,
    pub(crate) active: Active<'a>,
    pub(crate) packets: Socket,
    categories: Vec<String>,
    alerts: AlertSender<'a>,
    /// The wrapped counts that the manager was requested to save, and has not saved.
    saving: Range<u32>,
    /// The last change of categories, until the manager has the reply.
    change: Option<Change>,
}

/// A change of categories without a reply yet.
#[derive(Clone, Copy)]
struct Change {
    sequence: u32,
    /// The first wrapped count whose rolling buffer has only later records, once it is known.
    until: Option<u32>,
}

impl<'a> ManagerSession<'a> {
    pub(crate) fn new(
        engine: &'static Engine,
        client: &'a dyn Client,
        active: Active<'a>,
        packets: Socket,
        categories: Vec<String>,
    ) -> Self {
        let alerts = AlertSender::new(engine, client);
        Self { engine, active, packets, categories, alerts, saving: 0..0, change: None }
    }

    /// Starts recording the categories that the session requests and the application allows.
    pub(crate) fn start(&mut self, options: &StartOptions, own: CategorySet) -> Result<(), Closed> {
        let patterns = options.add_to(&self.categories);
        check_patterns(&patterns)?;
        let categories = SelectedCategories::new(CategorySet::new(&patterns), own);
        if !self.active.is_started() {
            self.engine.categories.select(&categories)?;
            self.saving = 0..0;
        }
        self.engine.alerts.listen(true);
        let clear = options.disposition == BufferDisposition::ClearEntire;
        self.active.start(&categories, clear);
        self.send(Packet::Started { version: PACKET_VERSION })?;
        self.send_watched()
    }

    /// Records other categories from now on. The manager gets the reply after the earlier records.
    pub(crate) fn set_categories(
        &mut self,
        sequence: u32,
        patterns: Vec<String>,
        own: CategorySet,
    ) -> Result<(), Closed> {
        check_patterns(&patterns)?;
        self.categories = patterns;
        if self.active.is_started() {
            let categories = SelectedCategories::new(CategorySet::new(&self.categories), own);
            self.engine.categories.select(&categories)?;
            self.active.select(&categories);
            self.change = Some(Change { sequence, until: None });
        }
        Ok(())
    }

    /// Replaces the conditions that trace points compare, from the next start or change of
    /// categories on.
    pub(crate) fn set_conditions(&mut self, limits: &[DurationLimit]) -> Result<(), Closed> {
        check_conditions(limits)?;
        if let Some(table) = self.engine.table().as_mut() {
            table.watches().request(limits)?;
        }
        Ok(())
    }

    /// Returns the longest time until there may be work that no message requests, if any.
    pub(crate) fn pause(&self) -> Option<Duration> {
        let until_try = self.active.next_stream_try().unwrap_or(NAMES_INTERVAL);
        self.active.is_started().then_some(until_try.min(NAMES_INTERVAL))
    }

    /// Begins to stream into a circular buffer. The manager gets the reply before the requests to
    /// save its rolling buffers.
    pub(crate) fn stream(&mut self) {
        self.active.begin_streaming();
    }

    pub(crate) fn stop(&mut self) -> Result<(), Closed> {
        self.announce_stop()?;
        if !self.active.stop() {
            return Ok(());
        }
        // STOPPED is the reply to a change, too.
        self.change = None;
        self.send_last_alerts()?;
        self.send(Packet::Stopped)
    }

    /// Announces the end of the recording to observers, whose last records may need more space than
    /// the buffer has: full rolling buffers are saved until the observers have returned.
    fn announce_stop(&mut self) -> Result<(), Closed> {
        let mut result = Ok(());
        let announce = self.active.announce_stop();
        let is_oneshot = self.active.mode() == BufferingMode::Oneshot;
        let mut save = || {
            if result.is_err() {
                return NAMES_INTERVAL;
            }
            match self.save() {
                Ok(true) => Duration::ZERO,
                Ok(false) if self.active.has_full() => RETRY,
                Ok(false) => NAMES_INTERVAL,
                Err(closed) => {
                    result = Err(closed);
                    NAMES_INTERVAL
                }
            }
        };
        announce(if is_oneshot { None } else { Some(&mut save) });
        result
    }

    /// Ends the session. A manager that does not take the last packets has closed the connection.
    ///
    /// A provider about the machine reports that it has stopped: unlike a program that has ended,
    /// it lacks later events if it did not.
    pub(crate) fn end(mut self, reports_stop: bool) {
        let _announced = self.announce_stop();
        if self.active.stop() {
            let sent = self.send_last_alerts();
            if reports_stop {
                let _sent = sent.and_then(|()| self.send(Packet::Stopped));
            }
        }
        self.engine.alerts.listen(false);
    }

    /// Does the work that no message requests. Returns whether there is more.
    pub(crate) fn work(&mut self) -> Result<bool, Closed> {
        // Before alerts, which could fill the packet socket.
        let more = self.save()?;
        self.reply_to_change()?;
        self.send_watched()?;
        self.send_alerts()?;
        self.active.serve_threads();
        Ok(more)
    }

    /// Frees the saved rolling buffers, and hands over the full ones. Returns whether there may be
    /// more packets of the manager.
    fn save(&mut self) -> Result<bool, Closed> {
        let more = self.receive_packets()?;
        if let Some(Streamed { first, current }) = self.active.stream() {
            self.send(Packet::Streaming { first, current })?;
        }
        self.hand_over()?;
        Ok(more)
    }

    /// Handles packets of the manager. Returns whether there may be more of them.
    fn receive_packets(&mut self) -> Result<bool, Closed> {
        let mut buffer = [0; PACKET_SIZE + 1];
        for _ in 0..PACKETS_AT_ONCE {
            match self.packets.recv(&mut buffer) {
                // If the manager has closed the packet socket, a message ends the session.
                Ok(0) | Err(_) => return Ok(false),
                Ok(length) => self.handle_packet(buffer.get(..length).unwrap_or(&[]))?,
            }
        }
        Ok(true)
    }

    fn handle_packet(&mut self, untrusted: &[u8]) -> Result<(), Closed> {
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

    /// Hands over the full rolling buffers. If the packet socket is full, the others follow in a
    /// later turn.
    fn hand_over(&mut self) -> Result<(), Closed> {
        self.active.recycle();
        if self.active.mode() != BufferingMode::Streaming {
            return Ok(());
        }
        while let Some(wrapped_count) = self.active.next_full() {
            // The manager evaluates the conditions that it does not know to be watched.
            self.send_watched()?;
            // Its threads have their names before it: an archive may be cut behind it.
            self.active.name_threads();
            let durable_data_end = self.active.durable_end();
            let packet = Packet::SaveBuffer { wrapped_count, durable_data_end };
            match send(&self.packets, packet) {
                SendResult::Sent => self.active.hand_over(),
                SendResult::Full => return Ok(()),
                SendResult::Closed => return Err(Closed::BY_MANAGER),
            }
            let first = if self.saving.is_empty() { wrapped_count } else { self.saving.start };
            self.saving = first..wrapped_count + 1;
        }
        Ok(())
    }

    /// Replies to a change of categories once the earlier records are handed over.
    fn reply_to_change(&mut self) -> Result<(), Closed> {
        let Some(change) = &mut self.change else { return Ok(()) };
        if self.active.mode() == BufferingMode::Streaming {
            change.until = change.until.or_else(|| self.active.flush());
            let Some(until) = change.until else { return Ok(()) };
            self.hand_over()?;
            if !self.active.is_handed_over(until) {
                return Ok(());
            }
        }
        let Some(Change { sequence, .. }) = self.change.take() else { return Ok(()) };
        // A session that ends with the reply has these losses, too.
        self.active.report_slotless();
        self.send(Packet::CategoriesSet { sequence })
    }

    /// Informs the manager of the conditions that trace points compare from now on.
    fn send_watched(&self) -> Result<(), Closed> {
        if !self.engine.conditions.has_new() || !self.active.is_started() {
            return Ok(());
        }
        let numbers = self.engine.table().as_mut().map(|table| table.watches().take_new());
        let mut numbers = numbers.into_iter().flatten();
        numbers.try_for_each(|number| self.send(Packet::ConditionWatched { number }))
    }

    /// Sends the raised alerts, or as many of them as the manager takes now.
    fn send_alerts(&mut self) -> Result<(), Closed> {
        if !self.active.is_started() {
            return Ok(());
        }
        let packets = &self.packets;
        self.alerts.send(|packet| send(packets, packet)).ok_or(Closed::BY_MANAGER)
    }

    /// Sends the alerts that were raised before the end of the recording, and reports the unsent
    /// ones in the trace.
    fn send_last_alerts(&mut self) -> Result<(), Closed> {
        let packets = &self.packets;
        let unsent = self.alerts.send_last(|packet| send_patiently(packets, packet));
        self.active.report_omission(Omission::Alerts, unsent.ok_or(Closed::BY_MANAGER)?);
        Ok(())
    }

    /// Sends a packet. Fails if the manager does not read for a second.
    fn send(&self, packet: Packet) -> Result<(), Closed> {
        match send_patiently(&self.packets, packet) {
            SendResult::Sent => Ok(()),
            SendResult::Full | SendResult::Closed => Err(Closed::BY_MANAGER),
        }
    }
}

/// Sends a packet. Waits for a second at most if the socket is full.
fn send_patiently(packets: &Socket, packet: Packet) -> SendResult {
    match send(packets, packet) {
        SendResult::Full if sys::wait_until_writable(packets.as_fd()).is_ok() => {
            send(packets, packet)
        }
        result => result,
    }
}

fn send(packets: &Socket, packet: Packet) -> SendResult {
    match packets.send(&packet.encode(), &[]) {
        Ok(PACKET_SIZE) => SendResult::Sent,
        Err(error) if error.kind() == ErrorKind::WouldBlock => SendResult::Full,
        _ => SendResult::Closed,
    }
}
