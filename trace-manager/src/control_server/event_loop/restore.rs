//! The sessions of a daemon that was killed.

use std::process;
use std::sync::Arc;

use trace_protocol::control::KeptSession;
use trace_protocol::socket::PeerCredentials;

use super::ControlLoop;
use crate::control_server::caller::Caller;
use crate::control_server::kept::{open_directory, KeptFile, KeptFolder};
use crate::control_server::machine::{Input, OpenRequest};
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
            if let Err(reason) = self.restore_session(&file, session) {
                log::error!("the session {name} does not go on: {reason}");
                file.remove();
            }
        }
    }

    fn restore_session(&mut self, file: &KeptFile, session: KeptSession) -> Result<(), String> {
        session.config.check()?;
        let duration = file.rest_of(&session).ok_or("its duration is over")?;
        let descriptor = open_directory(&session).map_err(|error| error.to_string())?;
        let descriptor = ForeignDescriptor::new(descriptor, &Closer::default());
        let peer = PeerCredentials { pid: process::id(), uid: session.uid, gid: session.gid };
        let caller = Caller { peer, all_users: session.all_users };
        let mut config = session.config.clone();
        config.duration = duration;
        let earlier = Some((file.clone(), session));
        let request = OpenRequest { config, descriptor, caller, queue: Arc::default(), earlier };
        self.dispatch(Input::Restore(Box::new(request)));
        Ok(())
    }
}
