//! Providers that die or hang, and archives that cannot be written.

use std::io::{ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use super::archive::Archive;
use super::provider::Provider;
use super::*;

use trace_manager::{End, ManagerError};
use trace_protocol::message::ToProvider;
use trace_protocol::packet::Packet;

#[test]
fn a_dead_provider_is_salvaged_at_once() {
    for mode in [BufferingMode::Oneshot, BufferingMode::Circular, BufferingMode::Streaming] {
        let stage = Stage::new();
        let session = stage.start(config(mode));
        let (mut provider, _) = Provider::register(stage.manager.path(), "victim");
        let tracing = provider.enter();
        let written = tracing.fill(0, 0);
        drop((provider, tracing));
        wait_until(|| session.progress().events == written);
        assert_eq!(session.progress().providers, 0);
        let summary = end(&session);
        assert_eq!(summary.providers[0].end, End::Disconnected);
        let archive = Archive::open(&stage.archive());
        assert_eq!(archive.events_of("victim").len() as u64, written, "{mode:?}");
    }
}

/// The provider does not reply to SetCategories, and continues for the other session.
#[test]
fn a_session_that_leaves_a_hanging_provider_has_its_current_records() {
    let stage = Stage::new();
    let (mut provider, _) = Provider::register(stage.manager.path(), "hanging");
    let first = stage.start(impatient(BufferingMode::Streaming));
    let tracing = provider.enter();
    let target = ArchiveTarget::File(stage.directory.path().join("second.fxt"));
    let second = stage.manager.start(config(BufferingMode::Streaming), target).unwrap();
    let saved = tracing.fill(0, 0);
    tracing.save(0);
    let written = saved + tracing.fill(1, saved);
    first.stop();
    let summary = first.join().unwrap();
    let [one] = &summary.providers[..] else { panic!("{summary:?}") };
    assert_eq!((&one.end, one.events), (&End::TimedOut, written));
    let all: Vec<u64> = (0..written).collect();
    assert_eq!(Archive::open(&stage.archive()).events_of("hanging"), all);
    tracing.save(1);
    second.stop();
    for message in ["SetCategories for the second session", "and without the first one"] {
        let next = provider.next();
        assert!(matches!(next, Some(ToProvider::SetCategories { .. })), "{message}: {next:?}");
    }
    provider.leave(tracing);
    assert_eq!(second.join().unwrap().providers[0].end, End::Terminated);
}

#[test]
fn a_session_ends_although_providers_hang() {
    let stage = Stage::new();
    let (mut hanging, _) = Provider::register(stage.manager.path(), "hanging");
    let (mut other, _) = Provider::register(stage.manager.path(), "other");
    let session = stage.start(impatient(BufferingMode::Streaming));
    let tracing = hanging.enter();
    let written = tracing.fill(0, 0);
    let (mut mute, _) = Provider::register(stage.manager.path(), "mute");
    let others = other.enter();
    for wrapped_count in 0..10 {
        others.fill(wrapped_count, 0);
        others.save(wrapped_count);
    }
    session.stop();
    other.leave(others);
    let summary = session.join().unwrap();
    let ends: Vec<(&str, &End, bool, bool)> = summary
        .providers
        .iter()
        .map(|it| (it.name.as_str(), &it.end, it.answered_start, it.answered_stop))
        .collect();
    assert_eq!(
        ends,
        [
            ("hanging", &End::TimedOut, true, false),
            ("other", &End::Terminated, true, true),
            ("mute", &End::TimedOut, false, false)
        ]
    );
    let archive = Archive::open(&stage.archive());
    assert_eq!(archive.events_of("hanging").len() as u64, written);
    // The provider continues, and joins the next session.
    drop(tracing);
    while !matches!(hanging.next(), Some(ToProvider::Terminate)) {}
    drop(mute.initialize());
    let session = stage.start(impatient(BufferingMode::Oneshot));
    let tracing = hanging.enter();
    session.stop();
    hanging.leave(tracing);
    assert_eq!(session.join().unwrap().providers[0].end, End::Terminated);
}

#[test]
fn a_slow_reader_of_the_archive_delays_no_save() {
    let stage = Stage::new();
    let (mut client, ours) = UnixStream::pair().unwrap();
    let config = SessionConfig { buffer_size: 4 << 20, ..config(BufferingMode::Streaming) };
    let target = ArchiveTarget::Stream(OwnedFd::from(ours));
    let session = stage.manager.start(config, target).unwrap();
    let (mut provider, _) = Provider::register(stage.manager.path(), "fast");
    let tracing = provider.enter();
    let mut written = 0;
    for wrapped_count in 0..5 {
        written += tracing.fill(wrapped_count, written);
        tracing.save(wrapped_count);
    }
    session.stop();
    provider.leave(tracing);
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        client.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let summary = session.join().unwrap();
    let bytes = reader.join().unwrap();
    assert_eq!(summary.archive.unwrap(), bytes.len() as u64);
    let archive = Archive::read(&bytes[..]);
    assert_eq!(archive.events_of("fast").len() as u64, written);
    assert!(archive.rates["fast"] > 1_000_000, "an estimate, since a stream cannot be patched");
}

#[test]
fn a_closed_reader_ends_the_archive_only() {
    let stage = Stage::new();
    let (client, ours) = UnixStream::pair().unwrap();
    drop(client);
    let target = ArchiveTarget::Stream(OwnedFd::from(ours));
    let session = stage.manager.start(config(BufferingMode::Streaming), target).unwrap();
    let (mut provider, _) = Provider::register(stage.manager.path(), "one");
    let tracing = provider.enter();
    wait_until(|| session.progress().archive_failure.is_some());
    let mut written = 0;
    for wrapped_count in 0..5 {
        written += tracing.fill(wrapped_count, 0);
        tracing.save(wrapped_count);
    }
    session.stop();
    provider.leave(tracing);
    let summary = session.join().unwrap();
    assert_eq!(summary.events(), written);
    assert_eq!(summary.archive.unwrap_err().source.kind(), ErrorKind::BrokenPipe);
}

#[test]
fn a_full_disk_is_reported() {
    let stage = Stage::new();
    let target = ArchiveTarget::File(PathBuf::from("/dev/full"));
    let session = stage.manager.start(config(BufferingMode::Oneshot), target).unwrap();
    let error = end(&session).archive.unwrap_err();
    assert_eq!(error.source.kind(), ErrorKind::StorageFull);
    assert!(error.to_string().contains("No space left"), "{error}");
}

#[test]
fn a_session_requires_an_archive() {
    let stage = Stage::new();
    for path in ["missing/out.fxt", "."] {
        let target = ArchiveTarget::File(stage.directory.path().join(path));
        let refused = stage.manager.start(config(BufferingMode::Oneshot), target);
        assert!(matches!(refused, Err(ManagerError::CreateArchive { .. })), "{refused:?}");
    }
    end(&stage.start(config(BufferingMode::Oneshot)));
}

#[test]
fn an_older_archive_stays_until_the_new_one_is_complete() {
    let stage = Stage::new();
    std::fs::write(stage.archive(), b"older").unwrap();
    let session = stage.start(config(BufferingMode::Oneshot));
    let (mut provider, _) = Provider::register(stage.manager.path(), "one");
    let tracing = provider.enter();
    tracing.chunk(0, 0, 0);
    assert_eq!(std::fs::read(stage.archive()).unwrap(), b"older");
    session.stop();
    provider.leave(tracing);
    session.join().unwrap();
    Archive::open(&stage.archive());
    assert_eq!(std::fs::read(stage.archive().with_extension("fxt.old")).unwrap(), b"older");
}

#[test]
fn an_older_archive_stays_if_the_new_one_is_empty() {
    let stage = Stage::new();
    std::fs::write(stage.archive(), b"older").unwrap();
    let summary = end(&stage.start(config(BufferingMode::Oneshot)));
    assert_eq!(summary.archive.unwrap(), 0);
    assert_eq!(std::fs::read(stage.archive()).unwrap(), b"older");
    assert_eq!(stage.files(), ["out.fxt"]);
}

#[test]
fn impossible_buffers_are_refused() {
    let stage = Stage::new();
    for (size, part) in [(0, "buffer size is 0"), (1 << 60, "available memory")] {
        let config = SessionConfig { buffer_size: size, ..SessionConfig::default() };
        let refused = stage.manager.start(config, ArchiveTarget::File(stage.archive()));
        let message = refused.err().unwrap().to_string();
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(stage.files(), [""; 0]);
}

#[test]
fn buffers_of_odd_sizes_work() {
    for size in [1, 4097, 12_345, 100_001] {
        let stage = Stage::new();
        let config = SessionConfig { buffer_size: size, ..config(BufferingMode::Circular) };
        let session = stage.start(config);
        let (mut provider, _) = Provider::register(stage.manager.path(), "small");
        let tracing = provider.enter();
        let written = tracing.fill(0, 0);
        session.stop();
        provider.leave(tracing);
        assert_eq!(session.join().unwrap().events(), written, "{size}");
    }
}

#[test]
fn only_the_last_directory_of_the_socket_is_created() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace/manager.sock");
    drop(Manager::bind(&path).unwrap());
    let path = directory.path().join("a/b/manager.sock");
    let message = Manager::bind(&path).unwrap_err().to_string();
    assert!(message.contains("create it"), "{message}");
    let first = Manager::bind(&directory.path().join("sock")).unwrap();
    let message = Manager::bind(first.path()).unwrap_err().to_string();
    assert!(message.contains("another manager"), "{message}");
}

#[test]
fn packets_after_the_end_are_ignored() {
    let stage = Stage::new();
    let (mut provider, _) = Provider::register(stage.manager.path(), "one");
    let session = stage.start(impatient(BufferingMode::Streaming));
    let tracing = provider.enter();
    session.stop();
    let summary = session.join().unwrap();
    assert_eq!(summary.providers[0].end, End::TimedOut);
    tracing.packets.set_nonblocking(true);
    while tracing.packets.send(&Packet::Stopped.encode(), &[]).is_ok() {}
    while provider.next() != Some(ToProvider::Terminate) {}
    drop(tracing);
    let session = stage.start(config(BufferingMode::Oneshot));
    let tracing = provider.enter();
    session.stop();
    provider.leave(tracing);
    assert_eq!(session.join().unwrap().providers[0].end, End::Terminated);
}
