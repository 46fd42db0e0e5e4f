//! Live streams of a session.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};

use trace_manager::ManagerError;

use super::*;

fn streaming(categories: &[&str]) -> SessionConfig {
    config(BufferingMode::Streaming, categories)
}

/// Follows a session. Returns the thread that reads the stream.
fn follow(session: &Session, categories: &[&str]) -> JoinHandle<Archive> {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let categories = categories.iter().map(|category| category.to_string()).collect();
    session.handle.follow(theirs.into(), categories).unwrap();
    thread::spawn(move || Archive::read(ours))
}

/// Programs run when the stream begins, and join later.
#[test]
fn a_stream_has_the_events_that_are_collected_from_its_start_on() {
    let stage = Stage::new();
    let session = stage.start("out.fxt", streaming(&["a", "b"]));
    let first = Program::start(stage.manager.path(), "one");
    first.run(1000);
    let stream = follow(&session, &["a", "c"]);
    first.run(1000);
    first.end();
    let second = Program::start(stage.manager.path(), "two");
    second.run(1000);
    second.end();
    let (archive, _) = session.end();
    let stream = stream.join().unwrap();
    assert_eq!(stream.categories(), ["a"], "the session does not record the other");
    let (all, streamed) = (archive.numbers("a"), stream.numbers("a"));
    assert!(all.ends_with(&streamed), "{} of {}", streamed.len(), all.len());
    // Events that were in a buffer when the stream began are in it, too.
    assert!(streamed.len() >= 1900, "{}", streamed.len());
    assert!(!stream.has_note("records dropped"));
}

/// The stream has the records that the session has removed, too, and each once.
#[test]
fn a_shared_circular_session_can_be_followed() {
    let stage = Stage::new();
    let small = SessionConfig { buffer_size: 16 << 10, ..config(BufferingMode::Circular, &["a"]) };
    let session = stage.start("out.fxt", SessionConfig { shared: true, ..small });
    let stream = follow(&session, &["a"]);
    let program = Program::start(stage.manager.path(), "one");
    program.run(10_000);
    let recorded = program.end();
    let (archive, _) = session.end();
    assert_eq!(stream.join().unwrap().numbers("a"), recorded["a"]);
    assert!(recorded["a"].ends_with(&archive.numbers("a")));
    assert!(archive.numbers("a").len() < recorded["a"].len());
}

/// Providers are flushed, although their buffers are not full.
#[test]
fn events_are_streamed_soon() {
    let stage = Stage::new();
    let large = SessionConfig { buffer_size: 64 << 20, ..streaming(&[]) };
    let session = stage.start("out.fxt", large);
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    session.handle.follow(theirs.into(), Vec::new()).unwrap();
    let program = Program::start(stage.manager.path(), "one");
    ours.set_read_timeout(Some(LONG)).unwrap();
    let (mut bytes, mut block) = (0, [0; 4096]);
    while bytes < 100_000 {
        bytes += ours.read(&mut block).unwrap();
    }
    program.end();
}

#[test]
fn a_stream_that_is_not_read_delays_nothing() {
    let stage = Stage::new();
    let session = stage.start("out.fxt", streaming(&["a"]));
    let (_unread, theirs) = UnixStream::pair().unwrap();
    session.handle.follow(theirs.into(), Vec::new()).unwrap();
    let program = Program::start(stage.manager.path(), "one");
    program.run(10_000);
    let recorded = program.end();
    let (archive, summary) = session.end();
    assert_eq!(archive.numbers("a"), recorded["a"]);
    assert_eq!(summary.lost(), 0);
}

#[test]
fn only_streaming_sessions_can_be_followed_by_some() {
    let stage = Stage::new();
    let end = || UnixStream::pair().unwrap();
    let circular = stage.start("circular.fxt", config(BufferingMode::Circular, &[]));
    let error = circular.handle.follow(end().1.into(), Vec::new()).unwrap_err();
    assert!(matches!(error, ManagerError::FollowMode), "{error}");
    let session = stage.start("out.fxt", streaming(&[]));
    let mut streams: Vec<UnixStream> = Vec::new();
    let mut follow = || {
        let (ours, theirs) = end();
        streams.push(ours);
        session.handle.follow(theirs.into(), Vec::new())
    };
    (0..16).for_each(|_| follow().unwrap());
    assert!(matches!(follow(), Err(ManagerError::TooManyFollowers { limit: 16 })));
    streams.clear();
    wait_until("the streams end", || session.handle.follow(end().1.into(), Vec::new()).is_ok());
    let handle = &session.handle;
    handle.stop();
    handle.join().unwrap();
    let error = handle.follow(end().1.into(), Vec::new()).unwrap_err();
    assert!(matches!(error, ManagerError::SessionEnded), "{error}");
}
