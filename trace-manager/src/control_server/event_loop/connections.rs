//! The connections of controllers.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use log::Level;
use rustix::event::epoll::{self, EventData, EventFlags};
use trace_protocol::control::{Reply, ToController, EVENT};
use trace_protocol::socket::{PeerCredentials, Socket};

use super::{ControlLoop, LISTENER};
use crate::control_server::caller::Caller;
use crate::control_server::client::{Client, Ended};
use crate::control_server::machine::{ClientId, Input};

/// Connections that are accepted in one turn.
const ACCEPTS_PER_TURN: usize = 16;

/// The pause of accepting connections after the file descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The time in which a controller reads why its connection is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

impl ControlLoop {
    pub(super) fn accept(&mut self) {
        for _ in 0..ACCEPTS_PER_TURN {
            match self.listener.accept() {
                Ok(socket) => self.connect(socket, false),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => return self.pause_accepting(),
            }
        }
    }

    /// Stops accepting for a while. Without a free file descriptor, epoll would report the listener
    /// again and again.
    fn pause_accepting(&mut self) {
        let _ = epoll::delete(&self.epoll, &self.listener);
        self.accept_resumes_at = Some(Instant::now() + ACCEPT_PAUSE);
    }

    pub(super) fn resume_accepting(&mut self) {
        let data = EventData::new_u64(LISTENER);
        let added = epoll::add(&self.epoll, &self.listener, data, EventFlags::IN);
        self.accept_resumes_at = added.err().map(|_| Instant::now() + ACCEPT_PAUSE);
    }

    /// Adds a connection, which may be that of the daemon itself. One that cannot be watched is
    /// closed.
    pub(super) fn connect(&mut self, socket: Socket, is_own: bool) {
        let closers = &mut self.closers;
        // A user without connections needs none, unless descriptors wait.
        closers.retain(|_, closer| closer.is_used());
        let closer = |uid| closers.entry(uid).or_default().clone();
        let Ok(client) = Client::new(socket, closer) else { return };
        let (id, data) = (self.next_client, EventData::new_u64(self.next_client));
        if epoll::add(&self.epoll, client.as_fd(), data, EventFlags::IN).is_err() {
            return;
        }
        self.next_client += 1;
        let (peer, is_member) = (client.peer, client.is_member(self.listener.path()));
        self.clients.insert(id, client);
        let all_users = peer.uid == 0 || is_member;
        if is_own {
            self.dispatch(Input::IsOwn(id));
        }
        self.dispatch(Input::Connected(id, Caller { peer, all_users }));
    }

    pub(super) fn receive(&mut self, id: ClientId) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        if client.closes_at.is_some() {
            // Only the end of the connection is reported for it.
            return self.disconnect(id);
        }
        match client.receive(&mut self.scratch) {
            Ok(requests) => {
                for (message, descriptor) in requests {
                    self.dispatch(Input::Request(id, Box::new(message), descriptor));
                }
            }
            Err(Ended::Closed) => self.disconnect(id),
            Err(Ended::Violation(reason)) => {
                let PeerCredentials { pid, uid, .. } = client.peer;
                self.shared.log(
                    Level::Warn,
                    Some(uid),
                    format_args!("the controller {pid} is disconnected: {reason}"),
                );
                let reply = Reply::Closing(reason.to_owned());
                self.send(id, &ToController { id: EVENT, reply });
                self.disconnect(id);
            }
        }
    }

    /// Ends a connection.
    pub(super) fn disconnect(&mut self, id: ClientId) {
        if let Some(client) = self.clients.remove(&id) {
            // Another handle of the socket is closed later.
            let _ = epoll::delete(&self.epoll, client.as_fd());
            drop(client);
            self.dispatch(Input::Disconnected(id));
        }
    }

    /// Sends a message. A controller that does not read is disconnected.
    pub(super) fn send(&mut self, id: ClientId, message: &ToController) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let (uid, unread) = (client.peer.uid, client.queue(message));
        if unread > self.limits.unread {
            return self.disconnect_unread(id);
        }
        self.flush(id);
        self.limit_unread(uid);
    }

    /// Disconnects the controller that has read the least if too many bytes wait for those of its
    /// user.
    fn limit_unread(&mut self, uid: u32) {
        let of_user = self.clients.iter().filter(|(_, client)| client.peer.uid == uid);
        let unread = of_user.map(|(id, client)| (client.unsent_bytes(), *id));
        let (sum, most) = unread.fold((0, (0, 0)), |(sum, most), it| (sum + it.0, most.max(it)));
        if sum > self.limits.unread_of_user {
            self.disconnect_unread(most.1);
        }
    }

    fn disconnect_unread(&mut self, id: ClientId) {
        let Some(client) = self.clients.get(&id) else { return };
        let PeerCredentials { pid, uid, .. } = client.peer;
        self.shared.log(
            Level::Warn,
            Some(uid),
            format_args!("the controller {pid} is disconnected: it does not read"),
        );
        self.disconnect(id);
    }

    pub(super) fn flush(&mut self, id: ClientId) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let flushed = client.flush();
        let writable = match flushed {
            Ok(true) if client.closes_at.is_some() => return self.disconnect(id),
            Ok(true) => EventFlags::empty(),
            Ok(false) => EventFlags::OUT,
            Err(_) => return self.disconnect(id),
        };
        let readable = match client.closes_at {
            None => EventFlags::IN,
            Some(_) => EventFlags::empty(),
        };
        let data = EventData::new_u64(id);
        // Fails only if the socket is not watched, and it is.
        let _ = epoll::modify(&self.epoll, client.as_fd(), data, readable | writable);
    }

    /// Closes a connection after its messages are sent. Its requests are not read any more.
    pub(super) fn close(&mut self, id: ClientId) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.close(Instant::now() + CLOSE_TIMEOUT);
            self.flush(id);
        }
    }

    /// Ends the connections of controllers that did not read the last messages in time.
    pub(super) fn disconnect_closing(&mut self) {
        let now = Instant::now();
        let is_over = |client: &Client| client.closes_at.is_some_and(|at| at <= now);
        let clients = self.clients.iter().filter(|(_, client)| is_over(client));
        let over: Vec<ClientId> = clients.map(|(id, _)| *id).collect();
        over.into_iter().for_each(|id| self.disconnect(id));
    }
}
