//! Waits for events and handles them.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, EventFlags, EventVec};
use trace_protocol::buffer::header::Layout;
use trace_protocol::packet::Packet;
use trace_protocol::slices;

use super::categories_query::CategoriesQuery;
use super::command::Command;
use super::connection::{Connection, Received, ReceivedPacket};
use super::source::Source;
use super::state::EventLoop;
use crate::collection::Collection;
use crate::foreign;
use crate::machine::{Input, ProviderId, Time, TraceeEvent, Violation};
use crate::wait::milliseconds;

/// The interval of updates of a session's progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// The longest time for which copies are checked in one turn.
const MOST_CHECKING: Duration = Duration::from_millis(1);

/// The pause of accepting connections after the file descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Connections that are accepted in one turn.
const ACCEPTS_PER_TURN: usize = 64;

/// The most packets that are read at the end of a provider, or of the wait for its reply. The
/// default buffer of a socket has fewer packets, and a provider cannot enlarge it beyond the
/// system's limit.
const LAST_PACKETS: usize = 64 * 64;

/// Why a connection is refused while too many descriptors of its user wait to be closed.
const DESCRIPTORS_WAIT: &str = "descriptors that programs of its user passed cannot be closed";

/// The kind of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handled {
    /// A request to save a rolling buffer.
    Save,
    /// Another packet.
    Other,
}

impl EventLoop {
    /// Runs until the caller sends [`Command::Quit`].
    pub(crate) fn run(mut self) -> io::Result<()> {
        // Providers fill their buffers while this thread waits for a processor.
        slices::ask_for_short();
        let mut events = EventVec::with_capacity(256);
        while !(self.quitting && self.active.is_empty()) {
            match epoll::wait(&self.epoll, &mut events, self.timeout()) {
                Ok(()) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let begin = Instant::now();
            for event in &events {
                self.handle_event(Source::from_data(event.data), event.flags);
            }
            self.housekeeping(begin.elapsed().min(MOST_CHECKING));
        }
        Ok(())
    }

    fn handle_event(&mut self, source: Source, flags: EventFlags) {
        match source {
            Source::Listener => self.accept(),
            Source::Inbox => self.run_commands(),
            Source::Messages(id) => {
                if flags.contains(EventFlags::OUT) {
                    self.flush(id);
                }
                if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
                    self.read_messages(id);
                }
            }
            Source::Packets(id) => self.read_packets(id),
            Source::Retained(id) => self.free_retained(id),
            Source::Process(id) => self.process_ended(id),
        }
    }

    /// Handles deadlines and collected records between two waits. Checks a part of a copy, and then
    /// others for the time `checking`.
    ///
    /// A provider that waits for its reply comes before a longer check. Many packets of some
    /// programs must not keep the loop from the records of the others, so `checking` is the time
    /// that the events of the turn took.
    pub(super) fn housekeeping(&mut self, checking: Duration) {
        self.resume_packets();
        self.end_waits(self.now());
        self.pass_parts_on(checking);
        self.report_checked();
        self.take_final();
        self.close_unregistered();
        self.reply_categories();
        self.serve_waiting();
        self.serve_streams();
        self.forget_late_ends();
        self.react_to_conditions();
        self.next_snapshots();
        self.copy_next_for_snapshots();
        self.rotate_archives();
        self.flush_followed();
        self.end_collected_sessions();
        if self.accept_resumes_at.is_some_and(|time| time <= Instant::now()) {
            self.resume_accepting();
        }
        self.publish_progress(PROGRESS_INTERVAL);
    }

    /// Returns the time to wait for events, in milliseconds for epoll_wait(2).
    pub(super) fn timeout(&self) -> i32 {
        let now = Instant::now();
        let must_check = self.collection.as_ref().is_some_and(Collection::has_waiting);
        if must_check || self.next_uncopied().is_some() {
            return 0;
        }
        let deadline = self.coordinator.deadline().map(|at| at.saturating_sub(self.now()));
        let progress = (!self.active.is_empty()).then_some(PROGRESS_INTERVAL);
        let accept = self.accept_resumes_at.map(|at| at.saturating_duration_since(now));
        let register = self.register_deadline().map(|at| at.saturating_duration_since(now));
        let buffer = self.admission.pending.front();
        let buffer = buffer.map(|waiting| waiting.deadline.saturating_duration_since(now));
        let query = self.category_queries.values().map(CategoriesQuery::deadline).min();
        let query = query.map(|at| at.saturating_duration_since(now));
        let closers = foreign::retry(self.closers.values());
        let paused = self.paused.first_end().map(|at| at.saturating_duration_since(now));
        let stream = self.admission.streams.front();
        let stream = stream.map(|waiting| waiting.deadline.saturating_duration_since(now));
        let waits = [deadline, progress, accept, register, buffer, stream, query, closers, paused];
        let shortest = waits.into_iter().flatten().min();
        milliseconds(shortest)
    }

    pub(super) fn accept(&mut self) {
        for _ in 0..ACCEPTS_PER_TURN {
            match self.listener.accept() {
                Ok(socket) => self.connect(socket),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => return self.pause_accepting(),
            }
        }
    }

    /// Stops accepting for a while. Without a free file descriptor, epoll would report the listener
    /// again and again.
    pub(super) fn pause_accepting(&mut self) {
        let _ = epoll::delete(&self.epoll, &self.listener);
        self.accept_resumes_at = Some(Instant::now() + ACCEPT_PAUSE);
    }

    /// Watches the listener again. If that fails because memory is short, starts another pause.
    fn resume_accepting(&mut self) {
        let data = Source::Listener.data();
        let added = epoll::add(&self.epoll, &self.listener, data, EventFlags::IN);
        self.accept_resumes_at = added.err().map(|_| Instant::now() + ACCEPT_PAUSE);
    }

    pub(super) fn connect(&mut self, socket: trace_protocol::socket::Socket) {
        let closers = &mut self.closers;
        // A user without connections needs none, unless descriptors wait.
        closers.retain(|_, closer| closer.is_used());
        let closer = |uid| closers.entry(uid).or_default().clone();
        // A connection that cannot be watched is closed.
        let Ok(connection) = Connection::new(socket, closer) else { return };
        if !connection.closer.accepts() {
            return self.refuse_connection(connection, DESCRIPTORS_WAIT.to_owned());
        }
        if !self.reserve_connection(connection.peer) {
            let reason = self.no_descriptor();
            return self.refuse_connection(connection, reason);
        }
        let id = self.next_provider;
        let data = Source::Messages(id).data();
        if epoll::add(&self.epoll, connection.socket.as_fd(), data, EventFlags::IN).is_ok() {
            self.next_provider += 1;
            self.watch_process(id, &connection);
            let uid = connection.peer.uid;
            self.connections.insert(id, connection);
            self.expect_registration(id, uid);
        }
    }

    /// Watches for the end of the process. If that fails (before Linux 5.3, or for another pid
    /// namespace), only the end of its sockets is detected.
    fn watch_process(&self, id: ProviderId, connection: &Connection) {
        if let Some(process) = &connection.process {
            let _ = epoll::add(&self.epoll, process, Source::Process(id).data(), EventFlags::IN);
        }
    }

    /// Handles the end of a process. Its last messages are read first. Forked children may keep its
    /// sockets open.
    fn process_ended(&mut self, id: ProviderId) {
        if self.awaited_process_ended(id) {
            return;
        }
        self.read_messages(id);
        if self.connections.contains_key(&id) {
            self.drain_packets(id);
            self.disconnect(id, TraceeEvent::Disconnected);
        }
    }

    /// Reads the last packets of a closed provider. What they leave in its buffer, another thread
    /// reads.
    pub(super) fn drain_packets(&mut self, id: ProviderId) {
        self.read_last(id, |_| false);
    }

    pub(super) fn run_commands(&mut self) {
        self.inbox.waker.clear();
        while let Ok(command) = self.inbox.commands.try_recv() {
            match command {
                Command::Start(request) => self.start(*request),
                Command::Stop { session } => self.dispatch(Input::Terminate(session)),
                Command::Pause { session } => self.dispatch(Input::Stop(session)),
                Command::StartAgain { session, disposition, categories, reply } => {
                    let _ =
                        reply.send(self.start_again(session, disposition, categories.as_deref()));
                }
                Command::Snapshot { session, path, reply } => {
                    self.caller_snapshot(session, path, reply);
                }
                Command::RequestSnapshot { session } => self.request_snapshot(session),
                Command::Hold { session, condition } => {
                    self.hold(session, &condition);
                    // A Stop may be the next command.
                    self.react_to_conditions();
                }
                // A reply fails if the caller no longer waits.
                Command::Providers { user, reply } => {
                    drop(reply.send(self.provider_infos(user)));
                }
                Command::KnownCategories { user, reply } => self.query_categories(user, reply),
                Command::Sessions { reply } => drop(reply.send(self.session_infos())),
                Command::Statistics { session, reply } => {
                    drop(reply.send(self.statistics(session)));
                }
                Command::Uncounted { session, reply } => drop(reply.send(self.uncounted(session))),
                Command::Flush { session } => self.dispatch(Input::Flush(session)),
                Command::SetCategories { session, patterns, reply } => {
                    let _ = reply.send(self.set_categories(session, &patterns));
                }
                Command::Follow { session, follower, categories, reply } => {
                    // Fails if the caller no longer waits.
                    let _ = reply.send(self.follow(session, *follower, &categories));
                }
                Command::Quit => {
                    self.quitting = true;
                    for session in self.active.keys().copied().collect::<Vec<_>>() {
                        self.dispatch(Input::Terminate(session));
                    }
                }
            }
        }
    }

    fn register(&mut self, id: ProviderId) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let Connection { peer, accepted, .. } = *connection;
        connection.is_helper = self.machine_providers.is_helper(peer, accepted);
        let registration =
            connection.registration(self.machine_providers.is_companion(peer, accepted));
        self.inbox.provider_changes.fetch_add(1, Relaxed);
        self.dispatch(Input::Registered(id, registration));
    }

    pub(super) fn read_messages(&mut self, id: ProviderId) {
        let mut scratch = std::mem::take(&mut self.scratch);
        let received = self.connections.get_mut(&id).map(|it| it.receive(&mut scratch));
        self.scratch = scratch;
        match received {
            Some(Ok(Received::Messages { registered, categories })) => {
                if registered {
                    self.admission.unregistered.remove(id);
                }
                if self.count_messages(id) && registered && self.admit(id) {
                    self.register(id);
                }
                if categories {
                    self.categories_received(id);
                }
            }
            Some(Ok(Received::Closed)) => {
                self.drain_packets(id);
                self.disconnect(id, TraceeEvent::Disconnected);
            }
            Some(Err(violation)) => self.disconnect(id, TraceeEvent::Violation(violation)),
            None => {}
        }
    }

    /// Reads packets of a provider, up to the first request for a save: other providers do not wait
    /// for all copies of one that fills its buffers all the time, nor for the checks of its copies,
    /// for which its packets wait.
    pub(super) fn read_packets(&mut self, id: ProviderId) {
        if self.collection.as_ref().is_some_and(|collection| collection.is_behind(id)) {
            return;
        }
        for _ in 0..Connection::packets_per_turn() {
            if self.read_packet(id) != Some(Handled::Other) {
                return;
            }
        }
    }

    /// Ends the waits for the replies of providers whose time is over at the time `now`. A reply
    /// may wait in the socket behind requests to save: those packets are read first.
    fn end_waits(&mut self, now: Time) {
        let overdue = self.coordinator.overdue(now);
        if !overdue.is_empty() {
            overdue.into_iter().for_each(|id| self.read_overdue(id, now));
            self.dispatch_at(Input::Tick, now);
        }
    }

    /// Reads packets of a provider until it is not overdue.
    fn read_overdue(&mut self, id: ProviderId, now: Time) {
        self.read_last(id, |it| !it.coordinator.is_overdue(id, now));
    }

    /// Reads packets of a provider until `ends`. Its rolling buffers are all that can wait before a
    /// reply or its end. A request to save one more is from after the reply, or is wrong. They are
    /// few, so that the limit of the user does not hold for them.
    fn read_last(&mut self, id: ProviderId, ends: impl Fn(&Self) -> bool) {
        let mut saves = 0;
        for _ in 0..LAST_PACKETS {
            if saves > Layout::MAX_ROLLING_BUFFERS || ends(self) {
                return;
            }
            let received = self.connections.get_mut(&id).map(Connection::receive_packet);
            match received.and_then(|received| self.handle_packet(id, received)) {
                Some(Handled::Save) => saves += 1,
                Some(Handled::Other) => {}
                None => return,
            }
        }
    }

    /// Handles the next packet of a provider within the limit of its user. Returns `None` if there
    /// is none, or was the end.
    fn read_packet(&mut self, id: ProviderId) -> Option<Handled> {
        let connection = self.connections.get_mut(&id)?;
        let uid = connection.peer.uid;
        if self.paused.contains(uid, id) {
            return None;
        }
        let received = match connection.receive_packet() {
            Ok(packet @ ReceivedPacket::Packet(_)) if !self.admission.count_packet(uid) => {
                self.limit_packets(id).map(|()| packet)
            }
            received => received,
        };
        self.handle_packet(id, received)
    }

    /// Handles what was received. Returns `None` if there is no packet, or it was the end.
    fn handle_packet(
        &mut self,
        id: ProviderId,
        received: Result<ReceivedPacket, Violation>,
    ) -> Option<Handled> {
        let (event, handled) = match received {
            Ok(ReceivedPacket::Packet(packet)) => {
                let is_save = matches!(packet, Packet::SaveBuffer { .. });
                let handled = if is_save { Handled::Save } else { Handled::Other };
                (TraceeEvent::Packet(packet), Some(handled))
            }
            Ok(ReceivedPacket::Closed) => (TraceeEvent::PacketsClosed, None),
            Ok(ReceivedPacket::Nothing) => return None,
            Err(violation) => (TraceeEvent::Violation(violation), None),
        };
        self.provider_event(id, event);
        handled
    }

    pub(super) fn provider_event(&mut self, id: ProviderId, event: TraceeEvent) {
        match event {
            TraceeEvent::Packet(Packet::Stopped) => self.note_stop(id),
            TraceeEvent::PacketsClosed => self.note_packets_end(id),
            _ => {}
        }
        self.dispatch(Input::Provider(id, event));
    }

    /// Passes an event to the coordinator, and performs the returned actions.
    pub(super) fn dispatch(&mut self, input: Input) {
        self.dispatch_at(input, self.now());
    }

    fn dispatch_at(&mut self, input: Input, now: Time) {
        let outputs = self.coordinator.on(input, now);
        for output in outputs {
            self.perform(output);
        }
    }
}
