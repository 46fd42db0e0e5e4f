//! Companions: processes that write records about the machine for one session of the daemon.

use std::fmt;

use trace_protocol::control::{CompanionResult, ControlError, GeneralError, TraceConfig};
use trace_protocol::socket::PeerCredentials;

use super::output::is_deputy;
use crate::manager::Manager;

/// Why the categories of a session with a companion cannot change.
pub(super) const FIXED_CATEGORIES: &str =
    "the categories of a recording of the kernel cannot change";

/// Starts the companions of sessions.
pub trait StartCompanion: fmt::Debug + Send + Sync {
    /// Returns whether a session with these category patterns has a companion.
    fn is_required(&self, categories: &[String]) -> bool;

    /// Starts a process with [`Manager::spawn_companion`], and waits until it has registered.
    /// `session` is the session's name, for messages.
    ///
    /// # Errors
    ///
    /// A text for the user. The session does not start then.
    fn start(
        &self,
        manager: &Manager,
        session: &str,
        categories: &[String],
    ) -> Result<Box<dyn Companion>, String>;
}

/// The companion of a session. It ends when this is dropped.
pub trait Companion: fmt::Debug + Send {
    /// Returns its process id.
    fn id(&self) -> u32;

    /// Ends it, after the session. Returns its results.
    fn end(self: Box<Self>) -> CompanionResult;
}

/// Starts the companion of a session, if it has one. It has the permissions of the daemon, so that
/// other users cannot have one.
pub(super) fn start(
    starter: Option<&dyn StartCompanion>,
    manager: &Manager,
    config: &TraceConfig,
    peer: PeerCredentials,
) -> Result<Option<Box<dyn Companion>>, ControlError> {
    let is_required = |it: &&dyn StartCompanion| it.is_required(&config.categories);
    let Some(starter) = starter.filter(is_required) else { return Ok(None) };
    if is_deputy(peer) {
        let reason = "the kernel's events require a daemon of the same user\nhint: start a daemon \
                      of your own, or use trace record";
        return Err(ControlError::general(GeneralError::Unsupported, reason));
    }
    let started = starter.start(manager, &config.name, &config.categories);
    started.map(Some).map_err(|reason| ControlError::general(GeneralError::Failed, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requires a companion for the category `machine`, and cannot start it.
    #[derive(Debug)]
    struct Failing;

    impl StartCompanion for Failing {
        fn is_required(&self, categories: &[String]) -> bool {
            categories.iter().any(|category| category == "machine")
        }

        fn start(&self, _: &Manager, _: &str, _: &[String]) -> Result<Box<dyn Companion>, String> {
            Err("no permission".to_owned())
        }
    }

    #[test]
    fn only_users_of_the_daemon_have_companions() {
        let directory = tempfile::tempdir().unwrap();
        let manager = Manager::bind(&directory.path().join("socket")).unwrap();
        let own = rustix::process::geteuid().as_raw();
        let start = |category: &str, uid| {
            let categories = vec![category.to_owned()];
            let config = TraceConfig { categories, ..TraceConfig::default() };
            let peer = PeerCredentials { pid: 1, uid, gid: uid };
            let started = start(Some(&Failing), &manager, &config, peer);
            started.map(|companion| companion.is_some()).map_err(|error| error.to_string())
        };
        assert_eq!(start("app", own), Ok(false));
        assert_eq!(start("app", own + 1), Ok(false));
        assert!(start("machine", own).unwrap_err().contains("no permission"));
        assert!(start("machine", own + 1).unwrap_err().contains("a daemon of the same user"));
    }
}
