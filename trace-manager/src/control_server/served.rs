//! A session that the process has started itself, for controllers.

use std::fmt;
use std::sync::Arc;

use trace_protocol::control::TraceConfig;
use trace_protocol::socket::Listener;

use super::machine::{SessionEvent, SERVED};
use super::shared::Message;
use super::{convert, ControlServer, ControlSettings};
use crate::error::ManagerError;
use crate::manager::{Manager, SessionHandle};
use crate::notice::Notice;
use crate::summary::SessionSummary;

/// A session for [`ControlServer::serve`].
pub struct ServedSession {
    /// Its name and its options, as controllers see them. The output and the triggers have no
    /// effect.
    pub config: TraceConfig,
    /// The session.
    pub handle: Arc<SessionHandle>,
    /// Its output, for people.
    pub output: String,
    /// Why controllers cannot change its categories, if they cannot.
    pub fixed_categories: Option<String>,
    /// Why controllers cannot stop it without its results, to start it again, if they cannot.
    pub no_pause: Option<String>,
    /// Called when a controller stops the session. The caller then stops it, and passes the results
    /// to [`ControlServer::ended`].
    pub on_stop: Box<dyn Fn() + Send>,
}

impl ControlServer {
    /// Serves one session, which the caller has started and will stop, to controllers of this user
    /// and of root that connect to `listener`. They can start no further ones, and not abort this
    /// one.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn serve(
        listener: Listener,
        manager: Arc<Manager>,
        settings: ControlSettings,
        session: ServedSession,
    ) -> Result<Self, ManagerError> {
        Self::spawn(listener, manager, settings, Some(session)).map_err(ManagerError::EventLoop)
    }

    /// Forwards a notice of the served session: its watchers get alerts, snapshots and states, and
    /// requests for a stop without results or a further start get their replies. The caller passes
    /// all notices.
    pub fn forward(&self, notice: &Notice) {
        if let Some(message) = Message::announcing(SERVED, &self.queue, notice) {
            self.send(message);
        }
        match notice {
            Notice::Stopped => self.send(Message::Session(SERVED, SessionEvent::Paused)),
            Notice::Started => self.send(Message::Session(SERVED, SessionEvent::Recording)),
            _ => {}
        }
    }

    /// Notifies the watchers of the served session that it ends. It cannot stop
    /// without its results any more.
    pub fn stopping(&self) {
        self.send(Message::Session(SERVED, SessionEvent::Stopping));
    }

    /// Passes the results of the served session to the controllers that wait for its end, and ends
    /// the server.
    pub fn ended(self, summary: &SessionSummary, output: String) {
        let summary = Box::new(convert::summary(summary, output));
        self.send(Message::Session(SERVED, SessionEvent::Ended(summary)));
    }
}

impl fmt::Debug for ServedSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { config, handle, output, fixed_categories, no_pause, on_stop: _ } = self;
        f.debug_struct("ServedSession")
            .field("config", config)
            .field("handle", handle)
            .field("output", output)
            .field("fixed_categories", fixed_categories)
            .field("no_pause", no_pause)
            .finish_non_exhaustive()
    }
}
