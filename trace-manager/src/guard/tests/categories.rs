//! New category patterns for the guard.

use super::*;
use crate::guard::state::GuardState;
use crate::ledger::messages::{Message, Patterns};

/// Returns a session's handle, whose archive has the category `old`, and the guard's end.
fn begin(directory: &TempDir) -> (GuardHandle, Socket) {
    let path = directory.path().join("out.fxt");
    let mut output = ArchiveOutput::open(ArchiveTarget::File(path)).unwrap();
    output.keep();
    let (guard, theirs) = Guard::pair().unwrap();
    let handle = GuardHandle::begin(guard, &output, &["old".to_owned()]).unwrap();
    (handle, Socket::from(theirs))
}

/// Sends messages until the socket is full.
fn fill(handle: &GuardHandle) {
    while handle.link.send(&Message::Closed(1), &[]).is_ok() {}
}

/// Returns the patterns that the guard has after all messages.
fn categories(handle: GuardHandle, theirs: &Socket) -> Vec<String> {
    drop(handle);
    GuardState::receive_all(theirs).unwrap().categories
}

#[test]
fn a_busy_guard_gets_the_categories_later() {
    let directory = tempfile::tempdir().unwrap();
    let (handle, theirs) = begin(&directory);
    fill(&handle);
    handle.set_categories(&["new".to_owned()]);
    assert_eq!(handle.failure(), None);
    // The guard takes a part of the messages.
    let mut bytes = vec![0; 64];
    let mut session = vec![0; crate::ledger::messages::MAX_MESSAGE];
    let length = theirs.recv(&mut session).unwrap();
    assert!(matches!(Message::decode(&session[..length]), Some(Message::Session(_))));
    for _ in 0..100 {
        theirs.recv(&mut bytes).unwrap();
    }
    assert_eq!(handle.failure(), None);
    let is_sent = std::iter::from_fn(|| {
        theirs.set_nonblocking(true);
        let length = theirs.recv(&mut session).ok()?;
        Message::decode(&session[..length])
    });
    let new = Patterns { is_first: true, is_last: true, patterns: vec!["new".to_owned()] };
    let last = is_sent.last();
    assert!(matches!(&last, Some(Message::Categories(it)) if *it == new), "{last:?}");
}

/// The manager may be killed between two messages.
#[test]
fn a_part_of_the_categories_changes_nothing() {
    let part = |is_first, is_last, name: &str| {
        let patterns = vec![name.to_owned()];
        Message::Categories(Patterns { is_first, is_last, patterns })
    };
    let directory = tempfile::tempdir().unwrap();
    let (handle, theirs) = begin(&directory);
    handle.link.send(&part(true, false, "lost"), &[]).unwrap();
    assert_eq!(categories(handle, &theirs), ["old"]);
    let (handle, theirs) = begin(&directory);
    for message in [part(true, false, "lost"), part(true, false, "a"), part(false, true, "b")] {
        handle.link.send(&message, &[]).unwrap();
    }
    assert_eq!(categories(handle, &theirs), ["a", "b"]);
}
