//! The sessions of a daemon that was killed.

use std::sync::Arc;
use std::{io, process};

use rustix::process::geteuid;
use trace_protocol::control::KeptSession;
use trace_protocol::socket::PeerCredentials;

use super::ControlLoop;
use crate::control_server::caller::Caller;
use crate::control_server::kept::{open_directory, KeptFile, KeptFolder};
use crate::control_server::machine::{Input, OpenRequest};
use crate::control_server::other;
use crate::foreign::{Closer, ForeignDescriptor};

impl ControlLoop {
    /// Starts the sessions again that a daemon with the same folder had when it was killed.
    pub(super) fn restore(&mut self) {
        let kept = self.shared.kept.as_ref().map(KeptFolder::read).unwrap_or_default();
        // The files stay for the next start.
        for (path, error) in kept.failures {
            log::error!("a session does not go on: cannot read {}: {error}", path.display());
        }
        for (file, session) in kept.sessions {
            let name = session.config.name.clone();
            if let Err(error) = self.restore_session(&file, session) {
                log::error!("the session {name} does not go on: {error}");
                file.remove_after(&error);
            }
        }
    }

    fn restore_session(&mut self, file: &KeptFile, session: KeptSession) -> io::Result<()> {
        session.config.check().map_err(other)?;
        let duration = file.rest_of(&session).ok_or_else(|| other("its duration is over"))?;
        let peer = PeerCredentials { pid: process::id(), uid: session.uid, gid: session.gid };
        let caller = Caller { peer, all_users: session.all_users };
        let descriptor = match session.uid == geteuid().as_raw() {
            // If this fails, the session of the configuration that has this name starts afresh.
            true => Some(ForeignDescriptor::new(open_directory(&session)?, &Closer::default())),
            // The session's thread opens it: the directory of another user may not answer.
            false => None,
        };
        let mut config = session.config.clone();
        config.duration = duration;
        let earlier = Some((file.clone(), session));
        let request = OpenRequest {
            config,
            descriptor,
            caller,
            queue: Arc::default(),
            earlier,
            is_own: true,
        };
        self.dispatch(Input::Restore(Box::new(request)));
        Ok(())
    }
}
