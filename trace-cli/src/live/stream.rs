//! The stream of a session's records.

use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context, Result};
use trace_format::notes;
use trace_manager::controller::{ControllerError, SessionInfo};

use crate::message::{counted, HINT};
use crate::recorders::PATIENCE;
use crate::sessions::{find_session, is_named, place, Found};

/// The stream of a session, and the connection to the process that records it.
pub(super) struct Stream {
    pub(super) socket: UnixStream,
    server: Found,
    /// The path of the session's archive, if it is a file.
    archive: Option<String>,
}

impl Stream {
    pub(super) fn open(
        session: &str,
        categories: &[String],
        socket: Option<&Path>,
    ) -> Result<Self> {
        let (ours, theirs) = UnixStream::pair().context("cannot create a socket")?;
        let mut server = find_session(socket, session)?;
        let archive = archive(&server.controller.sessions()?, &server.name);
        server.controller.follow(&server.name, categories, &theirs)?;
        Ok(Self { socket: ours, server, archive })
    }

    /// Returns whether the process that records the session has ended. Then the stream may end
    /// anywhere, which is no damage of the archive.
    pub(super) fn is_gone(&mut self) -> bool {
        let controller = &mut self.server.controller;
        controller.set_timeout(Some(PATIENCE));
        matches!(controller.sessions(), Err(ControllerError::Closed(_) | ControllerError::Io(_)))
    }

    /// Returns a message about the end of a stream that lacks the last records of programs.
    pub(super) fn early_end(&mut self, programs: u64) -> String {
        if !self.is_gone() {
            return format!("{}: {programs}", notes::ENDS_EARLY);
        }
        let lost = match programs {
            0 => String::new(),
            _ => {
                let programs = counted(programs, "program", "programs");
                format!(", and the last records of {programs} are missing here")
            }
        };
        let place = self.archive.as_deref().map(|path| HINT.to_owned() + &place(Path::new(path)));
        format!("the daemon has closed the connection{lost}{}", place.unwrap_or_default())
    }
}

/// Returns the path of the archive of the session that a name means, if there is one.
fn archive(sessions: &[SessionInfo], name: &str) -> Option<String> {
    let mut named = sessions.iter().filter(|session| is_named(session, name));
    let path = named.next().map(|session| session.output.clone())?;
    (named.next().is_none() && Path::new(&path).is_absolute()).then_some(path)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixListener;
    use std::time::Duration;

    use trace_format::Decoder;
    use trace_manager::controller::{Controller, SessionState};

    use super::super::completeness::{tests::complete_archive, Completeness};
    use super::super::{Input, Source, State, BLOCK};
    use super::*;

    /// As one that is killed while it writes.
    #[test]
    fn the_end_of_the_daemon_within_a_record_is_no_damage_of_the_archive() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("control.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let controller = Controller::connect(&path).unwrap();
        drop(listener);
        let (socket, mut theirs) = UnixStream::pair().unwrap();
        let bytes = complete_archive();
        theirs.write_all(&bytes[..bytes.len() - 1]).unwrap();
        drop(theirs);
        let server = Found { controller, name: "a".to_owned() };
        let stream = Stream { socket, server, archive: Some("/x/a.fxt".to_owned()) };
        let mut source = Source {
            input: Input::Stream(Box::new(stream)),
            block: vec![0; BLOCK],
            completeness: Completeness::default(),
            is_cut: false,
        };
        let mut decoder = Decoder::default();
        while source.read(&mut decoder, Duration::ZERO).unwrap() == State::Open {
            assert!(source.drain(&mut decoder, |_| Ok(())).unwrap().is_none());
        }
        assert!(source.drain(&mut decoder, |_| Ok(())).unwrap().is_none());
        let message = source.early_end().unwrap();
        assert!(message.starts_with("the daemon has closed the connection"), "{message}");
        assert!(message.ends_with("is in /x/a.fxt, if the session had a guard"), "{message}");
    }

    #[test]
    fn the_archive_is_that_of_the_only_session_that_is_meant() {
        let session = |name: &str, output: &str, state| SessionInfo {
            name: name.to_owned(),
            output: output.to_owned(),
            state,
            ..SessionInfo::default()
        };
        let mut sessions = vec![
            session("a", "/x/a.fxt", SessionState::Started),
            session("b", "/x/b.fxt", SessionState::Stopped),
        ];
        let found = |sessions: &[SessionInfo], name| archive(sessions, name);
        assert_eq!(found(&sessions, "").as_deref(), Some("/x/a.fxt"));
        assert_eq!(found(&sessions, "b").as_deref(), Some("/x/b.fxt"));
        sessions.push(session("c", "a pipe", SessionState::Started));
        assert_eq!([found(&sessions, ""), found(&sessions, "c")], [None, None]);
    }
}
