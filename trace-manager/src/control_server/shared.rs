//! What the threads of the control server share.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crossbeam_channel::Sender;
use log::Level;
use trace_protocol::control::{ConfigurationInfo, ControlError, Reply};
use trace_protocol::socket::Socket;

use super::client_log::ClientLog;
use super::companion::StartCompanion;
use super::convert;
use super::event_queue::{EventQueue, Kind};
use super::kept::KeptFolder;
use super::limits::ControlLimits;
use super::machine::{Query, SessionEvent, SessionId, Ticket};
use super::outputs::Outputs;
use super::running::Running;
use super::triggers::AllCommands;
use super::{CategoryGroups, StartGuard};
use crate::manager::Manager;
use crate::notice::Notice;
use crate::query::EventCounts;
use crate::waker::Waker;

/// A message to the control thread.
#[derive(Debug)]
pub(super) enum Message {
    /// A session has started.
    Opened(SessionId, Box<Running>),
    Session(SessionId, SessionEvent),
    /// A snapshot of this user was written, or failed.
    SnapshotWritten(u32, Ticket, Result<u64, ControlError>),
    /// The reply to a request for a live stream.
    Following(Ticket, Box<Reply>),
    /// The categories of the providers of a user, or of all users.
    KnownCategories(Option<u32>, Box<Reply>),
    /// The events of the sessions of a query are counted.
    Counted(Ticket, Query, Vec<(SessionId, EventCounts)>),
    Groups(CategoryGroups),
    Configuration(Box<ConfigurationInfo>),
    /// The daemon itself connects with this socket.
    Connect(Socket),
    ShutDown,
}

impl Message {
    /// Returns an alert or a snapshot for those who watch the session, which is queued next.
    /// Returns `None` for other notices, if nobody watches, and if the queue is full. Some alerts
    /// wait until somebody watches.
    pub(super) fn announcing(id: SessionId, queue: &EventQueue, notice: &Notice) -> Option<Self> {
        let event = match notice {
            Notice::Alert { name, is_heeded, .. } if queue.keep(name, *is_heeded) => return None,
            Notice::Alert { name, .. } => SessionEvent::Alert(name.clone()),
            Notice::Snapshot { path, causes, result } if queue.is_watched() => {
                let info = convert::snapshot_info(path, causes, result.as_ref());
                SessionEvent::Snapshot(Box::new(info))
            }
            _ => return None,
        };
        let kind = match notice {
            Notice::Alert { is_heeded: true, .. } => Kind::Alert,
            Notice::Alert { .. } => Kind::UnheededAlert,
            _ => Kind::Snapshot,
        };
        queue.push(kind).then_some(Self::Session(id, event))
    }
}

/// The data of all threads.
pub(super) struct Shared {
    pub(super) manager: Arc<Manager>,
    pub(super) scratch: PathBuf,
    pub(super) limits: ControlLimits,
    pub(super) start_guard: Option<StartGuard>,
    pub(super) kept: Option<KeptFolder>,
    pub(super) companions: Option<Box<dyn StartCompanion>>,
    pub(super) commands: AllCommands,
    /// Messages that controllers cause.
    pub(super) client_log: ClientLog,
    /// The files that sessions write.
    pub(super) outputs: Outputs,
    pub(super) messages: Sender<Message>,
    pub(super) waker: Waker,
}

impl Shared {
    /// Logs a message that a controller or a program causes; see [`ClientLog::log`].
    pub(super) fn log(&self, level: Level, owner: Option<u32>, message: fmt::Arguments<'_>) {
        if self.client_log.log(level, owner, message) {
            // The control thread reports later that some are left out.
            self.waker.wake();
        }
    }

    /// Sends a message to the control thread.
    pub(super) fn send(&self, message: Message) {
        // Fails if the control thread has ended.
        let _ = self.messages.send(message);
        self.waker.wake();
    }

    /// Sends the last message of a thread, which does not keep the manager alive after it: the
    /// daemon may end then.
    pub(super) fn finish(self: Arc<Self>, message: Message) {
        let (messages, waker) = (self.messages.clone(), self.waker.clone());
        drop(self);
        // As in `send`.
        let _ = messages.send(message);
        waker.wake();
    }
}
