//! Providers that exceed their limits.

use super::archive::Archive;
use super::provider::Provider;
use super::*;

use std::os::unix::fs::MetadataExt;

use trace_manager::{Bound, End, Limits};
use trace_protocol::message::{Register, ToManager, ToProvider};

const ONE: Bound = Bound { process: 1, user: 1, total: 1 };

fn stage(limits: Limits) -> Stage {
    let directory = tempfile::tempdir().unwrap();
    let manager = Manager::bind_with(&directory.path().join("manager.sock"), limits).unwrap();
    Stage { manager, directory }
}

/// Reads messages until the manager closes the connection. Returns the reasons of refusals.
fn refusals(provider: &mut Provider) -> Vec<String> {
    let reason = |message| match message {
        ToProvider::Refused { reason } => Some(reason),
        _ => None,
    };
    std::iter::from_fn(|| provider.next()).filter_map(reason).collect()
}

/// Registers with a hint for a large buffer.
fn register_with_hint(stage: &Stage, durable_hint: u64) -> Provider {
    let provider = Provider::connect(stage.manager.path());
    let register = Register { name: "greedy".to_owned(), durable_hint, ..Register::default() };
    provider.send(&ToManager::Register(register));
    provider
}

#[test]
fn a_connection_that_does_not_register_is_closed() {
    let stage = stage(Limits { register_timeout: Duration::from_millis(500), ..Limits::default() });
    let session = stage.start(config(BufferingMode::Oneshot));
    let (mut provider, _) = Provider::register(stage.manager.path(), "good");
    let tracing = provider.enter();
    let user = stage.manager.providers().unwrap()[0].uid;
    let of_another_user = SessionConfig { user: Some(user + 1), ..config(BufferingMode::Oneshot) };
    let target = ArchiveTarget::File(stage.directory.path().join("other.fxt"));
    let other = stage.manager.start(of_another_user, target).unwrap();
    let mut idle = Provider::connect(stage.manager.path());
    assert_eq!(refusals(&mut idle), ["it did not register in time"]);
    let written = tracing.fill(0, 0);
    session.stop();
    provider.leave(tracing);
    let summary = session.join().unwrap();
    assert_eq!((summary.events(), summary.refusals), (written, 1));
    assert_eq!(summary.refused[0].reason, "it did not register in time");
    assert_eq!(end(&other).refusals, 0, "a session of another user does not see it");
}

#[test]
fn a_thousand_idle_connections_do_not_exclude_a_provider() {
    let stage = Stage::new();
    let session = stage.start(config(BufferingMode::Oneshot));
    let idle: Vec<Provider> = (0..1000).map(|_| Provider::connect(stage.manager.path())).collect();
    let (mut provider, started) = Provider::register(stage.manager.path(), "good");
    assert!(started);
    let tracing = provider.enter();
    let written = tracing.fill(0, 0);
    session.stop();
    provider.leave(tracing);
    let summary = session.join().unwrap();
    assert_eq!(summary.events(), written);
    assert!(summary.refusals >= 1000 - Limits::default().unregistered);
    assert_eq!(summary.refused.len(), 100);
    drop(idle);
}

/// A circular session beside a streaming one retains records in the manager.
#[test]
fn retained_records_take_memory_of_the_quota() {
    for (bound, joins) in [(180 << 10, false), (1 << 20, true)] {
        let bound = Bound { process: bound, user: bound, total: bound };
        let stage = stage(Limits { buffers: Some(bound), ..Limits::default() });
        let streaming = stage.start(config(BufferingMode::Streaming));
        let (mut provider, _) = Provider::register(stage.manager.path(), "one");
        let tracing = provider.enter();
        assert!(tracing.layout.total_size() < 180 << 10);
        let target = ArchiveTarget::File(stage.directory.path().join("circular.fxt"));
        let circular =
            SessionConfig { buffer_size: 128 << 10, ..impatient(BufferingMode::Circular) };
        let circular = stage.manager.start(circular, target).unwrap();
        assert!(matches!(provider.next(), Some(ToProvider::SetCategories { .. })));
        let summary = end(&circular);
        assert_eq!((summary.providers.len(), summary.refusals), (joins.into(), (!joins).into()));
        streaming.stop();
        assert!(matches!(provider.next(), Some(ToProvider::SetCategories { .. })));
        provider.leave(tracing);
        assert_eq!(streaming.join().unwrap().providers.len(), 1);
    }
}

/// If the hinted size exceeds the limit, a provider gets a buffer of the default size, until the
/// limit is reached.
#[test]
fn large_hints_take_no_more_than_their_share() {
    let usual = config(BufferingMode::Oneshot).buffer_size;
    let bound = 1 << 20;
    let limits = Limits {
        buffers: Some(Bound { process: bound, user: bound, total: bound }),
        ..Limits::default()
    };
    let stage = stage(limits);
    let session = stage.start(config(BufferingMode::Oneshot));
    let mut greedy: Vec<Provider> = (0..40).map(|_| register_with_hint(&stage, 1 << 40)).collect();
    let last = greedy.last_mut().unwrap();
    assert_eq!(last.next(), Some(ToProvider::Registered { started: true }));
    assert!(matches!(last.next(), Some(ToProvider::Refused { .. })));
    drop(greedy);
    let summary = end(&session);
    assert!(!summary.refused.is_empty());
    let sizes: u64 = summary.providers.iter().map(|provider| provider.buffer_size).sum();
    assert!((bound - 2 * usual..=bound).contains(&sizes), "{sizes}");
    let reason = format!("the limit of {bound} bytes of buffers for a process is reached");
    assert!(summary.refused.iter().all(|refusal| refusal.reason == reason), "{summary:?}");
}

#[test]
fn a_refused_provider_gets_the_limit() {
    let stage = stage(Limits { providers: ONE, ..Limits::default() });
    let session = stage.start(config(BufferingMode::Oneshot));
    let kept = register_with_hint(&stage, 0);
    assert!(session.wait_provider(LONG));
    let reason = "the limit of 1 connections for a process is reached";
    let mut second = register_with_hint(&stage, 0);
    assert_eq!(refusals(&mut second), [reason]);
    drop(kept);
    let summary = end(&session);
    assert_eq!(summary.refused[0].reason, reason);
}

/// A provider that did not reply in time may still record, so its memory counts until it leaves.
#[test]
fn a_late_provider_gets_its_next_buffer() {
    let bound = 1 << 20;
    let buffers = Some(Bound { process: bound, user: bound, total: bound });
    let stage = stage(Limits { buffers, ..Limits::default() });
    let (mut late, _) = Provider::register(stage.manager.path(), "late");
    let one = || SessionConfig { buffer_size: 900 << 10, ..impatient(BufferingMode::Oneshot) };
    let session = stage.start(one());
    let tracing = late.enter();
    tracing.fill(0, 0);
    assert_eq!(end(&session).providers[0].end, End::TimedOut);
    let memory = tracing.memory.try_clone().unwrap();
    let blocks = || memory.metadata().unwrap().blocks();
    assert_ne!(blocks(), 0, "it may still record");
    while late.next() != Some(ToProvider::Terminate) {}
    drop(tracing);
    wait_until(|| blocks() == 0);
    let session = stage.start(one());
    let tracing = late.enter();
    let written = tracing.fill(0, 0);
    drop((late, tracing));
    wait_until(|| session.progress().events == written);
    let summary = end(&session);
    assert_eq!((summary.refusals, summary.events()), (0, written));
}

/// Incomplete messages take memory, too.
#[test]
fn memory_for_messages_is_bounded() {
    let bound = Bound { process: 5 << 19, user: 5 << 19, total: 5 << 19 };
    let stage = stage(Limits { messages: bound, ..Limits::default() });
    let session = stage.start(config(BufferingMode::Oneshot));
    let mut begun: Vec<Provider> = Vec::new();
    let half =
        ToManager::Register(Register { name: "x".repeat((1 << 20) - 100), ..Register::default() });
    let half = &half.encode()[..900 << 10];
    for _ in 0..4 {
        let provider = Provider::connect(stage.manager.path());
        provider.send_bytes(half);
        begun.push(provider);
    }
    let (mut good, _) = Provider::register(stage.manager.path(), "good");
    let tracing = good.enter();
    let written = tracing.fill(0, 0);
    session.stop();
    good.leave(tracing);
    let summary = session.join().unwrap();
    assert_eq!(Archive::open(&stage.archive()).events_of("good").len() as u64, written);
    let reason = "the limit of 2621440 bytes of messages and categories for a process is reached";
    assert!(summary.refused.iter().any(|refusal| refusal.reason == reason), "{summary:?}");
}
