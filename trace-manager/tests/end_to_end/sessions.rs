//! Sessions with correct providers.

use super::archive::Archive;
use super::provider::Provider;
use super::*;

use trace_manager::{End, Notice, SessionHandle};
use trace_protocol::counter;

#[test]
fn a_session_writes_an_archive() {
    let stage = Stage::new();
    let (mut provider, started) = Provider::register(stage.manager.path(), "one");
    assert!(!started);
    let session = stage.start(config(BufferingMode::Oneshot));
    assert!(session.wait_provider(LONG));
    let tracing = provider.enter();
    assert!(session.wait_state(trace_manager::SessionState::Started, LONG));
    let written = tracing.fill(0, 1000);
    session.stop();
    provider.leave(tracing);
    let summary = session.join().unwrap();
    let [one] = &summary.providers[..] else { panic!("{summary:?}") };
    assert_eq!(one.pid, std::process::id());
    assert_eq!((one.name.as_str(), &one.end), ("one", &End::Terminated));
    assert_eq!((one.events, one.dropped), (written, 0));
    assert_eq!(one.categories.get("test"), Some(&written));
    assert!(one.answered_start && one.answered_stop);
    assert_eq!(one.known_categories, ["test"]);
    assert_eq!(stage.files(), ["out.fxt"]);
    let size = std::fs::metadata(stage.archive()).unwrap().len();
    assert_eq!(*summary.archive.as_ref().unwrap(), size);
    let archive = Archive::open(&stage.archive());
    let expected: Vec<u64> = (1000..1000 + written).collect();
    assert_eq!(archive.events_of("one"), expected);
    assert_eq!(archive.provider_events, 0);
    let [(koid, name, arguments)] = &archive.processes[..] else { panic!("{archive:?}") };
    assert_eq!((*koid, name.as_str()), (u64::from(std::process::id()), "tester"));
    assert_eq!(arguments["uid"], one.uid.to_string());
}

#[test]
fn anchors_and_rate_agree() {
    let stage = Stage::new();
    let (mut provider, _) = Provider::register(stage.manager.path(), "one");
    let session = stage.start(config(BufferingMode::Oneshot));
    let tracing = provider.enter();
    std::thread::sleep(Duration::from_millis(50));
    session.stop();
    provider.leave(tracing);
    session.join().unwrap();
    let archive = Archive::open(&stage.archive());
    let [first, last] = archive.named("clock anchor")[..] else { panic!("{archive:?}") };
    let number = |arguments: &std::collections::BTreeMap<String, String>, name: &str| {
        arguments[name].parse::<u64>().unwrap()
    };
    let between = |name| number(last, name) - number(first, name);
    assert!(between("monotonic_ns") >= 50_000_000);
    let by_anchors = between("ticks") as f64 * 1e9 / between("boottime_ns") as f64;
    let said = archive.rates["one"] as f64;
    assert!((by_anchors / said - 1.0).abs() < 1e-3, "{by_anchors} and {said} ticks per second");
    assert!(number(last, "ticks") <= counter::read().unwrap());
    assert!(number(first, "realtime_ns") > 1_500_000_000_000_000_000);
}

#[test]
fn a_late_provider_joins() {
    let stage = Stage::new();
    let session = stage.start(config(BufferingMode::Circular));
    assert!(!session.wait_provider(Duration::from_millis(10)));
    let (mut provider, started) = Provider::register(stage.manager.path(), "late");
    assert!(started);
    let tracing = provider.enter();
    let written = tracing.chunk(0, 0, 5);
    session.stop();
    provider.leave(tracing);
    let summary = session.join().unwrap();
    assert_eq!(summary.events(), written);
    assert_eq!(Archive::open(&stage.archive()).events_of("late").len() as u64, written);
}

/// It has not sent Supports, so it never gets SetCategories.
#[test]
fn a_provider_of_the_first_version_is_restarted_when_sessions_change() {
    let stage = Stage::new();
    let (mut provider, _) = Provider::register_first_version(stage.manager.path(), "old");
    let first = stage.start(config(BufferingMode::Streaming));
    let tracing = provider.enter();
    let path = stage.directory.path().join("second.fxt");
    let target = ArchiveTarget::File(path.clone());
    let second = stage.manager.start(config(BufferingMode::Streaming), target).unwrap();
    provider.leave(tracing);
    let notices = |session| std::iter::from_fn(move || SessionHandle::next_notice(session, LONG));
    let restart = Notice::Restart { name: "old".to_owned(), pid: std::process::id() };
    assert!(notices(&first).any(|notice| notice == restart));
    let tracing = provider.enter();
    let written = tracing.chunk(0, 0, counter::read().unwrap());
    second.stop();
    provider.leave(tracing);
    assert_eq!(second.join().unwrap().events(), written);
    assert!(notices(&second).any(|notice| notice == restart));
    let tracing = provider.enter();
    let later = tracing.chunk(0, 0, counter::read().unwrap());
    first.stop();
    provider.leave(tracing);
    assert_eq!(first.join().unwrap().events(), written + later);
    assert_eq!(Archive::open(&stage.archive()).named("recording interrupted").len(), 2);
}

#[test]
fn streaming_saves_everything_in_order() {
    let stage = Stage::new();
    let (mut provider, _) = Provider::register(stage.manager.path(), "stream");
    let session = stage.start(config(BufferingMode::Streaming));
    let tracing = provider.enter();
    let mut written = 0;
    for wrapped_count in 0..200 {
        written += tracing.fill(wrapped_count, written);
        tracing.save(wrapped_count);
    }
    written += tracing.chunk(200, 0, written);
    session.stop();
    provider.leave(tracing);
    let summary = session.join().unwrap();
    assert_eq!(summary.events(), written);
    let expected: Vec<u64> = (0..written).collect();
    assert_eq!(Archive::open(&stage.archive()).events_of("stream"), expected);
}

#[test]
fn the_rest_is_read_without_a_save() {
    let stage = Stage::new();
    let (mut provider, _) = Provider::register(stage.manager.path(), "stream");
    let session = stage.start(config(BufferingMode::Streaming));
    let tracing = provider.enter();
    let first = tracing.fill(0, 0);
    let second = tracing.chunk(1, 0, first);
    session.stop();
    provider.leave(tracing);
    session.join().unwrap();
    let expected: Vec<u64> = (0..first + second).collect();
    assert_eq!(Archive::open(&stage.archive()).events_of("stream"), expected);
}

#[test]
fn many_providers_share_an_archive() {
    let stage = Stage::new();
    let session = stage.start(SessionConfig { buffer_size: 1, ..config(BufferingMode::Streaming) });
    let mut providers = Vec::new();
    for number in 0..100 {
        let (mut provider, _) = Provider::register(stage.manager.path(), &format!("p{number}"));
        let tracing = provider.enter();
        providers.push((provider, tracing));
    }
    let mut written = 0;
    for wrapped_count in 0..4 {
        for (_, tracing) in &providers {
            written = tracing.fill(wrapped_count, u64::from(wrapped_count) * 1_000_000);
            tracing.save(wrapped_count);
        }
    }
    session.stop();
    for (provider, tracing) in &mut providers {
        provider.stop(tracing);
    }
    drop(providers);
    let summary = session.join().unwrap();
    assert_eq!(summary.providers.len(), 100);
    let archive = Archive::open(&stage.archive());
    for number in 0..100 {
        assert_eq!(archive.events_of(&format!("p{number}")).len() as u64, 4 * written);
    }
}

#[test]
fn a_thousand_sessions_follow_each_other() {
    let stage = Stage::new();
    let (mut provider, _) = Provider::register(stage.manager.path(), "again");
    for round in 0..1000 {
        let session = stage.start(config(BufferingMode::Oneshot));
        let tracing = provider.enter();
        let written = tracing.chunk(0, 0, round);
        session.stop();
        provider.leave(tracing);
        assert_eq!(session.join().unwrap().events(), written);
    }
    let mut files = stage.files();
    files.sort();
    assert_eq!(files, ["out.fxt", "out.fxt.old"]);
}

#[test]
fn losses_are_reported() {
    let stage = Stage::new();
    let (mut provider, _) = Provider::register(stage.manager.path(), "lossy");
    let session = stage.start(config(BufferingMode::Oneshot));
    let tracing = provider.enter();
    tracing.lose(6, 1 << 32 | 77, 3, 10, 20);
    tracing.lose(7, 3 << 32 | 77, 4, 15, 15);
    // This number is not a reason.
    tracing.lose(8, 99 << 32 | 77, 5, 15, 15);
    wait_until(|| session.progress().lost == 7);
    session.stop();
    provider.leave(tracing);
    assert_eq!(session.join().unwrap().lost(), 7);
    let archive = Archive::open(&stage.archive());
    assert_eq!(archive.provider_events, 1);
    let losses = archive.named("records dropped");
    let texts = |key: &str| losses.iter().map(|loss| loss[key].clone()).collect::<Vec<_>>();
    assert_eq!(texts("reason"), ["buffer full", "record larger than the buffer"]);
    assert_eq!(
        [texts("number"), texts("from"), texts("to")],
        [["3", "4"], ["10", "15"], ["20", "15"]]
    );
}

#[test]
fn categories_reach_the_provider_and_the_summary() {
    let stage = Stage::new();
    let (mut provider, _) = Provider::register(stage.manager.path(), "one");
    let categories = vec!["test".to_owned(), "absent*".to_owned(), "-x".to_owned()];
    let session = stage
        .start(SessionConfig { categories: categories.clone(), ..config(BufferingMode::Oneshot) });
    let tracing = provider.enter();
    assert_eq!(tracing.categories, categories);
    tracing.chunk(0, 0, 0);
    session.stop();
    provider.leave(tracing);
    assert_eq!(session.join().unwrap().categories_without_events(), ["absent*"]);
}

#[test]
fn a_dropped_handle_stops_its_session() {
    let stage = Stage::new();
    drop(stage.start(config(BufferingMode::Oneshot)));
    wait_until(|| stage.archive().exists());
    wait_until(|| {
        let target = ArchiveTarget::File(stage.archive());
        stage.manager.start(config(BufferingMode::Oneshot), target).is_ok()
    });
}

#[test]
fn a_dropped_manager_ends_its_session() {
    let stage = Stage::new();
    let (mut provider, _) = Provider::register(stage.manager.path(), "one");
    let session = stage.start(config(BufferingMode::Oneshot));
    let tracing = provider.enter();
    let written = tracing.chunk(0, 0, 0);
    let Stage { manager, directory } = stage;
    let ending = std::thread::spawn(move || drop(manager));
    provider.leave(tracing);
    ending.join().unwrap();
    assert_eq!(session.join().unwrap().events(), written);
    assert_eq!(provider.next(), None, "the connection is closed");
    assert!(!directory.path().join("manager.sock").exists());
    Manager::bind(&directory.path().join("manager.sock")).unwrap();
}
