//! Performs the actions of the coordinator.

use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, EventFlags};
use trace_protocol::message::ToProvider;
use trace_protocol::socket::PeerCredentials;

use super::active::Active;
use super::connection::Connection;
use super::retained::RetainedBuffer;
use super::source::{unwatch, Source};
use super::state::EventLoop;
use crate::collection::Departure;
use crate::machine::{
    End, Input, Output, ProviderId, SessionState, TraceeAction, TraceeEvent, Violation,
};
use crate::notice::Notice;
use crate::recording::EndedRecording;
use crate::summary::Refusal;

impl EventLoop {
    pub(super) fn perform(&mut self, output: Output) {
        match output {
            Output::Join(id, session) => self.join(id, session),
            Output::Leave(id, session, leaving) => self.leave(id, session, leaving),
            Output::Stream(id) => self.prepare_stream(id),
            Output::Restart(id) => self.report_restart(id),
            Output::State(session, state) => {
                if let Some(active) = self.active.get_mut(&session) {
                    active.state = state;
                }
                self.publish_progress(Duration::ZERO);
                let active = self.active.get_mut(&session).into_iter();
                match state {
                    SessionState::Started => active.for_each(|it| it.note_start()),
                    SessionState::Stopped => {
                        active.for_each(Active::pause);
                        self.free_shares(session);
                    }
                    SessionState::Terminated => self.free_shares(session),
                    _ => {}
                }
            }
            Output::Provider(id, action) => self.perform_action(id, action),
        }
    }

    fn perform_action(&mut self, id: ProviderId, action: TraceeAction) {
        match action {
            TraceeAction::CreateBuffer => self.create_buffer(id),
            TraceeAction::Send(message) => self.send(id, &message),
            TraceeAction::Save(request) => self.save(id, request),
            TraceeAction::Streams { first, current } => self.stream(id, first, current),
            TraceeAction::Alert(name) => self.handle_alert(id, name.as_str()),
            TraceeAction::Watched(number) => self.watch(id, number),
            TraceeAction::Held { number, times } => self.hold_watched(id, number, times),
            TraceeAction::StartTimedOut => self.publish_progress(Duration::ZERO),
            TraceeAction::Finish(end) => {
                let departure = self.departure(id, end);
                self.finish(id, departure);
            }
            TraceeAction::CutOff(_) => self.remove_connection(id),
        }
    }

    /// Reports to a provider's sessions that their recording of it is interrupted.
    fn report_restart(&mut self, id: ProviderId) {
        let Some(connection) = self.connections.get(&id) else { return };
        let (name, peer) = (connection.name(), connection.peer);
        for session in self.coordinator.sessions_of(id) {
            if let Some(active) = self.active.get(&session) {
                let is_heeded = active.recording.config().may_trigger(peer.uid);
                let restart = Notice::Restart { name: name.clone(), pid: peer.pid };
                active.alerts.notices.send_of(is_heeded, restart);
            }
        }
    }

    /// Refuses a new connection. The reason is sent and kept for the summary.
    pub(super) fn refuse_connection(&mut self, mut connection: Connection, reason: String) {
        // The socket's buffer is empty, so a message fits.
        let _sent = connection.outbox.push(&ToProvider::Refused { reason: reason.clone() }, None);
        connection.outbox.flush(&connection.socket);
        self.record_refusal(connection.peer, None, connection.name(), reason);
    }

    /// Adds a refusal to the sessions that would record the provider.
    fn record_refusal(
        &mut self,
        peer: PeerCredentials,
        id: Option<ProviderId>,
        name: String,
        reason: String,
    ) {
        let sessions = self.active.values_mut();
        let records = |it: &&mut Active| it.recording.config().may_record(peer.uid, id, &name);
        for active in sessions.filter(records) {
            let (name, reason) = (name.clone(), reason.clone());
            active.recording.refuse(peer.uid, Refusal { pid: peer.pid, name, reason });
        }
    }

    pub(super) fn refuse(&mut self, id: ProviderId, reason: String) {
        let Some(connection) = self.connections.get(&id) else { return };
        self.record_refusal(connection.peer, Some(id), connection.name(), reason);
    }

    pub(super) fn send(&mut self, id: ProviderId, message: &ToProvider) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let handles = match message {
            ToProvider::Initialize(_) => connection.handles.take(),
            _ => None,
        };
        match connection.outbox.push(message, handles) {
            Ok(()) => self.flush(id),
            Err(violation) => self.disconnect(id, TraceeEvent::Violation(violation)),
        }
    }

    /// Sends messages until the socket is full. The rest is sent when the socket is writable.
    pub(super) fn flush(&mut self, id: ProviderId) {
        let Some(Connection { outbox, socket, .. }) = self.connections.get_mut(&id) else { return };
        outbox.flush(socket);
        let writable = if outbox.is_empty() { EventFlags::empty() } else { EventFlags::OUT };
        let data = Source::Messages(id).data();
        // Fails only if the socket is not watched, and it is.
        let _ = epoll::modify(&self.epoll, socket.as_fd(), data, EventFlags::IN | writable);
    }

    fn finish(&mut self, id: ProviderId, departure: Departure) {
        if let Some(connection) = self.connections.get_mut(&id) {
            // Handles that are still here were not sent.
            connection.handles = None;
            connection.shares.clear();
            self.paused.remove(id);
            match (connection.buffer.take(), connection.packets.take()) {
                // A provider that did not reply may still record into its buffer.
                (Some(buffer), Some(packets)) if departure.end == End::TimedOut => {
                    connection.retained.push(RetainedBuffer::new(&self.epoll, id, buffer, packets));
                }
                (buffer, packets) => {
                    unwatch(&self.epoll, packets);
                    buffer.iter().for_each(|buffer| buffer.begin_release());
                }
            }
        }
        self.collect_last(id, departure);
        self.publish_progress(Duration::ZERO);
    }

    /// Passes the end of a connection to the coordinator, and closes it.
    pub(super) fn disconnect(&mut self, id: ProviderId, event: TraceeEvent) {
        let registered = self.connections.get(&id).is_some_and(|it| it.register.is_some());
        match &event {
            TraceeEvent::Violation(violation) if !registered => {
                self.refuse(id, Violation::to_string(violation));
            }
            _ => {}
        }
        if event == TraceeEvent::Disconnected {
            self.expect_end(id);
        }
        self.provider_event(id, event);
        self.remove_connection(id);
    }

    fn remove_connection(&mut self, id: ProviderId) {
        if let Some(connection) = self.connections.remove(&id) {
            // Another thread may close it later.
            let _ = epoll::delete(&self.epoll, &connection.socket);
            self.admission.unregistered.remove(id);
            self.paused.remove(id);
            self.inbox.provider_changes.fetch_add(1, Relaxed);
            self.release(&connection);
            unwatch(&self.epoll, connection.packets);
            self.free_buffers(connection.retained);
            self.active.values_mut().for_each(|it| it.recording.disconnected(id));
        }
    }

    /// Ends the sessions that have terminated and whose providers are completely collected.
    pub(super) fn end_collected_sessions(&mut self) {
        let Some(collection) = &self.collection else { return };
        let is_collected = |active: &Active| {
            let is_finishing = active.recording.is_finishing() && collection.outstanding() != 0;
            active.state == SessionState::Terminated && !is_finishing
        };
        let ended = self.active.iter().filter(|(_, active)| is_collected(active));
        let ended: Vec<_> = ended.map(|(number, _)| *number).collect();
        ended.iter().for_each(|session| self.react_to_last_conditions(*session));
        let Some(collection) = &self.collection else { return };
        for mut active in ended.into_iter().filter_map(|number| self.active.remove(&number)) {
            active.end_alerts();
            active.check_guard();
            let progress = active.progress(collection, 0);
            let guard_failure = active.guard_failure.take();
            let ended = EndedRecording { guard_failure, ..active.recording.end() };
            // If the caller does not wait for it, the archive is written all the same.
            let _ = active.done.send(ended);
            active.shared.set(progress);
        }
        self.close_collection();
    }

    /// Updates the callers' progress if the last update is older than `interval`.
    pub(super) fn publish_progress(&mut self, interval: Duration) {
        let Some(collection) = &self.collection else { return };
        for active in self.active.values_mut() {
            if active.published_at.elapsed() >= interval {
                active.check_guard();
                active.report_refusals();
                let providers = self.coordinator.participants(active.number);
                let is_helper =
                    |id: &ProviderId| self.connections.get(id).is_some_and(|it| it.is_helper);
                let programs = providers.filter(|id| !is_helper(id));
                let recorded = programs.filter(|id| !active.recording.lacks_memory(*id));
                active.shared.set(active.progress(collection, recorded.count()));
                active.published_at = Instant::now();
            }
        }
    }

    /// Frees the retained buffers that a provider has left.
    pub(super) fn free_retained(&mut self, id: ProviderId) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let retained = std::mem::take(&mut connection.retained);
        let (left, retained) = retained.into_iter().partition(RetainedBuffer::is_left);
        connection.retained = retained;
        let has_left = !left.is_empty() && connection.retained.is_empty();
        self.free_buffers(left);
        if has_left {
            self.dispatch(Input::BuffersLeft(id));
        }
    }

    /// Frees retained buffers on another thread, because it takes long.
    pub(super) fn free_buffers(&self, retained: Vec<RetainedBuffer>) {
        let buffers: Vec<_> =
            retained.into_iter().map(|buffer| buffer.close(&self.epoll)).collect();
        if !buffers.is_empty() {
            // If no thread can be started, they are freed here.
            let _freed =
                thread::Builder::new().name("trace-free".to_owned()).spawn(|| drop(buffers));
        }
    }
}
