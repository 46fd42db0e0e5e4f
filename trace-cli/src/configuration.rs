//! What a daemon reports about its configuration.

use rustix::process::geteuid;
use trace_convert::visible;
use trace_manager::controller::{ConfigurationInfo, Controller, SessionInfo};

use crate::message::describe_text;
use crate::sessions::is_running;

/// Returns a line for each part of the daemon's configuration that is not in use. A daemon without
/// an answer has none.
pub(crate) fn problems(daemon: &mut Controller, sessions: &[SessionInfo]) -> Vec<String> {
    daemon.configuration().map(|info| lines(&info, sessions)).unwrap_or_default()
}

/// A session that failed may have been started by hand since. Sessions of other users, which root
/// sees, have names of their own.
pub(crate) fn lines(info: &ConfigurationInfo, sessions: &[SessionInfo]) -> Vec<String> {
    let own = geteuid().as_raw();
    let is_own = |it: &SessionInfo, name: &str| it.name == name && it.uid == own;
    let runs = |name: &str| sessions.iter().any(|it| is_own(it, name) && is_running(it));
    let failures = info.failures.iter().filter(|failure| !runs(&failure.session));
    let failures = failures.map(|failure| {
        let (name, reason) = (visible(&failure.session), describe_text(&failure.reason));
        format!("the session {name} of the configuration does not run: {reason}")
    });
    let refused = info.refused.iter().map(|reason| {
        format!("the configuration is not used as it is now: {}", describe_text(reason))
    });
    failures.chain(refused).collect()
}

#[cfg(test)]
mod tests {
    use trace_manager::controller::{ConfiguredFailure, SessionState};

    use super::*;

    #[test]
    fn configured_sessions_that_do_not_run_are_named() {
        let failure = |session: &str| ConfiguredFailure {
            session: session.to_owned(),
            reason: "cannot write a.fxt: No space left on device (os error 28)".to_owned(),
        };
        let info = ConfigurationInfo {
            is_complete: true,
            refused: Some("cannot use a.toml".to_owned()),
            failures: ["a", "b", "c"].map(failure).into(),
        };
        let uid = geteuid().as_raw();
        let session = |name: &str, uid, state| SessionInfo {
            name: name.to_owned(),
            uid,
            state,
            ..SessionInfo::default()
        };
        let sessions = [
            session("a", uid + 1, SessionState::Started),
            session("b", uid, SessionState::Stopped),
            session("c", uid, SessionState::Started),
        ];
        let does_not_run = |name: &str| {
            format!(
                "the session {name} of the configuration does not run: cannot write a.fxt: no \
                 space left on device"
            )
        };
        let refused = "the configuration is not used as it is now: cannot use a.toml".to_owned();
        let expected = [does_not_run("a"), does_not_run("b"), refused];
        assert_eq!(lines(&info, &sessions), expected);
        assert!(lines(&ConfigurationInfo::default(), &sessions).is_empty());
    }
}
