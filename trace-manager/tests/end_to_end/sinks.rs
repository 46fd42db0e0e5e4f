//! Sessions with several sinks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::archive::Archive;
use super::provider::{Provider, Session, CATEGORY};
use super::*;

use trace_format::encode::append;
use trace_format::layout::{record, RecordType};
use trace_format::record::{Arguments, Event, EventKind, Record, Text, Thread};
use trace_format::ThreadKoids;
use trace_manager::{
    ArchiveSink, Ending, Finish, ManagerError, Opening, Records, Sink, SinkRequest,
};
use trace_protocol::buffer::consumer::record_words;

pub(crate) const OTHER: &str = "other";

fn strings(patterns: &[&str]) -> Vec<String> {
    patterns.iter().map(|pattern| pattern.to_string()).collect()
}

fn archive(path: &Path, categories: &[&str]) -> SinkRequest {
    let sink = ArchiveSink::create(ArchiveTarget::File(path.to_owned())).unwrap();
    SinkRequest { categories: strings(categories), sink: Box::new(sink) }
}

fn start(stage: &Stage, config: SessionConfig, sinks: Vec<SinkRequest>) -> SessionHandle {
    let target = ArchiveTarget::File(stage.archive());
    stage.manager.start_with_sinks(config, target, None, sinks).unwrap()
}

/// Writes events of category "other" with these times. The category is alternately a reference and
/// inline.
fn record_others(tracing: &mut Session, ticks: impl IntoIterator<Item = u64>) {
    let mut words = Vec::new();
    append(&mut words, &Record::String { index: 3, value: OTHER.as_bytes() }).unwrap();
    let koids = ThreadKoids::new(1, 2);
    for ticks in ticks {
        let event = Event {
            ticks,
            thread: Thread::Inline(koids),
            category: if ticks % 2 == 0 { Text::Indexed(3) } else { OTHER.into() },
            name: Text::Indexed(2),
            kind: EventKind::Instant { scope: None },
            arguments: Arguments::NONE,
        };
        append(&mut words, &Record::from(event)).unwrap();
    }
    tracing.durable(&words);
}

#[test]
fn each_archive_has_its_own_categories() {
    const OTHERS: u64 = 1_000_000;
    let stage = Stage::new();
    let path = stage.directory.path().join("others.fxt");
    let all = stage.directory.path().join("all.fxt");
    let own =
        SessionConfig { categories: strings(&[CATEGORY]), ..config(BufferingMode::Streaming) };
    let sinks = vec![archive(&path, &["oth*"]), archive(&all, &[])];
    let session = start(&stage, own, sinks);
    let (mut provider, _) = Provider::register(stage.manager.path(), "both");
    let mut tracing = provider.enter();
    assert_eq!(tracing.categories, [""; 0], "an empty list selects all");
    record_others(&mut tracing, OTHERS..OTHERS + 3);
    let first = tracing.fill(0, 0);
    tracing.save(0);
    record_others(&mut tracing, OTHERS + 3..OTHERS + 6);
    let second = tracing.chunk(1, 0, first);
    session.stop();
    provider.leave(tracing);
    let summary = session.join().unwrap();
    let sizes = [&stage.archive(), &path, &all].map(|path| fs::metadata(path).unwrap().len());
    assert_eq!(*summary.archive.as_ref().unwrap(), sizes[0]);
    assert_eq!(summary.providers[0].bytes + 8, sizes[0], "without the magic number");
    let others: Vec<u64> = summary.sinks.into_iter().map(Result::unwrap).collect();
    assert_eq!(others, sizes[1..]);
    let events = |path: &Path| Archive::open(path).events_of("both").to_vec();
    assert_eq!(events(&stage.archive()), (0..first + second).collect::<Vec<u64>>());
    assert_eq!(events(&path), (OTHERS..OTHERS + 6).collect::<Vec<u64>>());
    let mut everything = events(&all);
    everything.sort_unstable();
    assert_eq!(everything, (0..first + second).chain(OTHERS..OTHERS + 6).collect::<Vec<u64>>());
}

/// The session's own archive has none of the events.
#[test]
fn an_archive_without_events_of_its_categories_does_not_replace_another() {
    let stage = Stage::new();
    let path = stage.directory.path().join("others.fxt");
    for archive in [&stage.archive(), &path] {
        fs::write(archive, "earlier").unwrap();
    }
    let own = SessionConfig { categories: strings(&["none"]), ..config(BufferingMode::Oneshot) };
    let session = start(&stage, own, vec![archive(&path, &[OTHER])]);
    let (mut provider, _) = Provider::register(stage.manager.path(), "both");
    let mut tracing = provider.enter();
    record_others(&mut tracing, [1000]);
    session.stop();
    provider.leave(tracing);
    let summary = session.join().unwrap();
    assert_eq!(summary.archive.unwrap(), 0);
    assert_eq!(fs::read_to_string(stage.archive()).unwrap(), "earlier");
    assert_eq!(Archive::open(&path).events_of("both"), [1000]);
    let old = path.with_extension("fxt.old");
    assert_eq!(fs::read_to_string(old).unwrap(), "earlier");
    assert_eq!(stage.files().len(), 3, "{:?}", stage.files());
}

#[test]
fn a_snapshot_has_the_categories_of_the_sessions_archive() {
    let stage = Stage::new();
    let path = stage.directory.path().join("others.fxt");
    let own = SessionConfig { categories: strings(&[CATEGORY]), ..config(BufferingMode::Oneshot) };
    let session = start(&stage, own, vec![archive(&path, &[OTHER])]);
    let (mut provider, _) = Provider::register(stage.manager.path(), "both");
    let mut tracing = provider.enter();
    assert_eq!(tracing.categories, [CATEGORY, OTHER]);
    record_others(&mut tracing, [1000, 1001]);
    let events = tracing.fill(0, 0);
    let snapshot = stage.directory.path().join("snapshot.fxt");
    session.snapshot(&snapshot).unwrap();
    session.stop();
    provider.leave(tracing);
    session.join().unwrap();
    for path in [&snapshot, &stage.archive()] {
        assert_eq!(Archive::open(path).events_of("both"), (0..events).collect::<Vec<u64>>());
    }
    assert_eq!(Archive::open(&path).events_of("both"), [1000, 1001]);
}

#[test]
fn a_session_that_is_discarded_or_refused_leaves_no_archive() {
    let stage = Stage::new();
    let paths = ["one", "two"].map(|name| stage.directory.path().join(name));
    let session = start(&stage, config(BufferingMode::Oneshot), vec![archive(&paths[0], &[])]);
    let target = ArchiveTarget::File(stage.directory.path().join("missing/second.fxt"));
    let config = SessionConfig::default();
    let second = archive(&paths[1], &[]);
    let refused = stage.manager.start_with_sinks(config, target, None, vec![second]);
    assert!(matches!(refused, Err(ManagerError::CreateArchive { .. })), "{refused:?}");
    drop(archive(&stage.directory.path().join("unused"), &[]));
    session.discard();
    assert_eq!(
        session.join().unwrap().sinks.into_iter().map(Result::unwrap).collect::<Vec<_>>(),
        [0]
    );
    wait_until(|| stage.files().is_empty());
}

/// A sink that counts the events of each process in its own text file.
#[derive(Debug)]
struct CountFiles {
    directory: PathBuf,
    providers: BTreeMap<u32, (u32, u64)>,
}

impl Sink for CountFiles {
    fn open(&mut self, opening: &Opening<'_>) {
        let identity = opening.identity();
        assert!(opening.ticks_per_second() > 0);
        self.providers.insert(identity.id, (identity.pid, 0));
    }

    fn take(&mut self, records: &Records) {
        let (pid, events) = self.providers.get_mut(&records.provider()).unwrap();
        let mut words = records.words();
        while let [header, ..] = words {
            *events += u64::from(record::Type::get(*header) == RecordType::Event.bits());
            words = &words[record_words(*header).unwrap()..];
        }
        if records.is_last() {
            let name = format!("{}-{pid}.txt", records.provider());
            fs::write(self.directory.join(name), format!("{events} events\n")).unwrap();
        }
    }

    fn finish(self: Box<Self>, ending: Ending) -> Finish {
        assert!(ending.counter_rate > 0 && !ending.is_discarded);
        let files = self.providers.len() as u64;
        Finish::new(move || Ok(files))
    }
}

#[test]
fn a_sink_writes_a_file_of_its_own_format_for_each_process() {
    let stage = Stage::new();
    let directory = tempfile::tempdir().unwrap();
    let sink = CountFiles { directory: directory.path().to_owned(), providers: BTreeMap::new() };
    let request = SinkRequest { categories: strings(&[CATEGORY]), sink: Box::new(sink) };
    let session = start(&stage, config(BufferingMode::Oneshot), vec![request]);
    let mut written = Vec::new();
    for name in ["one", "two"] {
        let (mut provider, _) = Provider::register(stage.manager.path(), name);
        let mut tracing = provider.enter();
        record_others(&mut tracing, [1, 2, 3]);
        written.push(tracing.fill(0, 0));
    }
    wait_until(|| session.progress().providers == 0);
    let summary = end(&session);
    assert_eq!(*summary.sinks[0].as_ref().unwrap(), 2);
    for (provider, written) in summary.providers.iter().zip(written) {
        assert_eq!(provider.events, written + 3, "the session's archive has all categories");
        let name = format!("{}-{}.txt", provider.id, provider.pid);
        let text = fs::read_to_string(directory.path().join(name)).unwrap();
        // The event of the final clock anchor is included.
        assert_eq!(text, format!("{} events\n", written + 1));
    }
}
