use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use super::refusals::MAX_REFUSALS;
use super::*;
use crate::archive::ArchiveSink;
use crate::buffers::SharedBuffer;
use crate::collection::{Collection, Departure, FinalRecords, Finisher};
use crate::fixture::{buffer, collector, identity, layout, write_event};
use crate::machine::{End, Violation};
use crate::notice::NoticeSender;
use crate::output::ArchiveOutput;
use crate::records::Spares;
use crate::snapshot::Requester;
use crate::waker::Waker;
use crate::window::Window;
use trace_format::encode::append;
use trace_format::notes::Omission;
use trace_format::{Argument, Event, EventKind, Record, Thread, ThreadKoids, Value};
use trace_protocol::archive::Identity;
use trace_protocol::buffer::consumer::IdentityPolicy;
use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::message::BufferDisposition;

fn collection() -> Collection {
    Collection::new(Finisher::spawn(Waker::new().unwrap()).unwrap(), Spares::default())
}

fn recording(path: &Path, collection: &Collection) -> Recording {
    recording_with(SessionConfig::default(), path, collection)
}

fn recording_with(config: SessionConfig, path: &Path, collection: &Collection) -> Recording {
    let (waker, spares) = (Waker::new().unwrap(), collection.spares().clone());
    let output = ArchiveOutput::create_file(path).unwrap();
    let archive = ArchiveSink::begin(output, None, None, Arc::default(), spares.clone()).unwrap();
    let snapshots = Snapshots::spawn(waker, NoticeSender::new().0, Default::default(), 0).unwrap();
    let sinks = Sinks::new(archive, &SessionConfig::default(), Vec::new(), &spares);
    Recording::begin(1, config, sinks, snapshots, spares, &mut ClockSample::now())
}

/// Adds a provider with one event in its rolling buffer.
fn join(recording: &mut Recording, collection: &mut Collection, id: ProviderId) {
    let layout = layout(BufferingMode::Oneshot);
    let buffer = buffer(&layout);
    write_event(&buffer, &layout, 0, 100);
    join_with(recording, collection, id, (false, buffer));
}

/// Adds a provider with this buffer.
fn join_with(
    recording: &mut Recording,
    collection: &mut Collection,
    id: ProviderId,
    (is_helper, buffer): (bool, Arc<SharedBuffer>),
) {
    let layout = layout(BufferingMode::Oneshot);
    let identity = Identity { id: collection.next_id(), ..identity() };
    let (policy, collector) = (IdentityPolicy::Own(4711), collector(&buffer, layout));
    let known = Vec::new();
    let mut provider =
        ProviderData::new(identity, known, policy, collector, Arc::clone(&buffer), layout);
    let (joined, now) = (provider.joined(5, None, buffer.as_fd()), ClockSample::now());
    let opened = Opened { id, is_helper, joined, now, recorded: &[], late: None };
    recording.join(&opened, None);
    provider.open(1, Window::of_buffer(5, Duration::ZERO));
    collection.join(id, provider);
}

/// Passes the outstanding records on until all departed providers are collected.
fn take_final(recording: &mut Recording, collection: &mut Collection) {
    while recording.is_finishing() {
        std::thread::sleep(Duration::from_millis(1));
        while let Some(last) = collection.take_final() {
            let FinalRecords { provider, id, words, reported, mut sessions, .. } = last;
            let Some((_, last)) = sessions.pop() else { continue };
            let slots = Vec::new();
            let last = LastRecords { id, words, slots, reported, last };
            recording.take_outstanding(provider, last);
        }
    }
}

#[test]
fn only_the_first_refusals_and_alerts_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording = recording(&directory.path().join("a.fxt"), &collection());
    for pid in 1..=MAX_REFUSALS as u32 + 1 {
        recording.refuse(1, Refusal { pid, name: String::new(), reason: String::new() });
    }
    for number in (0..=MAX_ALERTS).chain(0..2).chain([0]) {
        recording.alert(&format!("{number:04}"));
    }
    let ended = recording.end();
    assert_eq!((ended.refusals, ended.refused.len()), (101, 100));
    assert_eq!(ended.refused.last().unwrap().pid, 100);
    assert_eq!((ended.alerts.len(), ended.alerts.contains_key("1000")), (1000, false));
    assert_eq!([ended.alerts["0000"], ended.alerts["0001"], ended.alerts["0002"]], [3, 2, 1]);
}

/// Else programs of other users would hide those of the session's user.
#[test]
fn refusals_of_programs_that_are_not_heeded_displace_no_others() {
    let directory = tempfile::tempdir().unwrap();
    let config = SessionConfig { trigger_users: Some(vec![1]), ..SessionConfig::default() };
    let mut recording = recording_with(config, &directory.path().join("a.fxt"), &collection());
    let refusal = |pid| Refusal { pid, name: String::new(), reason: String::new() };
    (0..200).for_each(|_| recording.refuse(2, refusal(2)));
    (0..200).for_each(|_| recording.refuse(1, refusal(1)));
    recording.refuse(2, refusal(2));
    assert_eq!(recording.refusals(), (401, Some(refusal(1))));
    let first: Vec<u32> = recording.end().refused.iter().map(|refusal| refusal.pid).collect();
    assert_eq!((&first[..25], &first[25..]), (&[2; 25][..], &[1; 75][..]));
}

/// Programs may connect and end all the time.
#[test]
fn connections_that_have_ended_take_no_memory() {
    let directory = tempfile::tempdir().unwrap();
    let collection = &mut collection();
    let mode = BufferingMode::Oneshot;
    let config = SessionConfig { mode, ..SessionConfig::default() };
    let mut recording = recording_with(config, &directory.path().join("a.fxt"), collection);
    let departure = || Departure {
        end: End::Disconnected,
        answered_start: true,
        answered_stop: false,
        elapsed: BTreeMap::new(),
    };
    for id in 1..=10_000 {
        join(&mut recording, collection, id);
        match id % 3 {
            0 => {
                recording.left(id, id, 5);
                let (mut words, provider) = (vec![0], collection.provider_mut(id).unwrap());
                let (last, reported) = provider.leave(1, &departure(), Some(&mut words)).unwrap();
                let slots = Vec::new();
                let _taken =
                    recording.take_last(id, LastRecords { id, words, slots, reported, last });
            }
            _ => recording.expect_last(id, id, 5),
        }
        collection.finish(id, departure());
        if id % 30 == 1 {
            take_final(&mut recording, collection);
        }
        recording.disconnected(id);
    }
    take_final(&mut recording, collection);
    let maps = [recording.ends.len(), recording.gaps.len(), recording.earlier.len()];
    assert_eq!((maps, recording.joined.len(), recording.retention.counted()), ([0; 3], 0, 0));
    assert_eq!(recording.programs(), 10_000);
}

/// A snapshot has the records of a provider that left before it, even if they are not collected
/// yet.
#[test]
fn a_snapshot_waits_for_departed_providers() {
    let directory = tempfile::tempdir().unwrap();
    let collection = &mut collection();
    let mut recording = recording(&directory.path().join("a.fxt"), collection);
    join(&mut recording, collection, 1);
    join(&mut recording, collection, 2);
    let departure = || Departure {
        end: End::Terminated,
        answered_start: true,
        answered_stop: true,
        elapsed: BTreeMap::new(),
    };
    recording.expect_last(1, 1, 5);
    collection.finish(1, departure());
    let (reply, replies) = crossbeam_channel::bounded(1);
    let path = directory.path().join("snapshot.fxt");
    recording.snapshot(collection, path.clone(), Requester::Caller(reply));
    recording.copy_for_snapshots(collection, 2);
    assert!(replies.recv_timeout(Duration::from_millis(20)).is_err() && !path.exists());
    take_final(&mut recording, collection);
    let size = replies.recv().unwrap().unwrap();
    assert_eq!(std::fs::read(&path).unwrap().len() as u64, size);
    let mut reader = trace_format::Reader::new(std::fs::File::open(&path).unwrap());
    let mut providers = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        if let trace_format::record::Record::Event(event) = &item.record {
            providers.extend((event.ticks == 100).then(|| item.provider.id()));
        }
    }
    assert_eq!(providers, [Some(1), Some(2)]);
    recording.expect_last(2, 2, 5);
    collection.finish(2, departure());
    take_final(&mut recording, collection);
    assert_eq!((recording.providers(collection), recording.programs()), (0, 2));
    assert_eq!(recording.events(collection), 2);
    let ended = recording.end();
    assert!(ended.providers.iter().all(|provider| provider.bytes > 0 && provider.events == 1));
    let bytes: u64 = ended.providers.iter().map(|provider| provider.bytes).sum();
    assert_eq!(ended.archive.wait().unwrap(), bytes + 8, "the magic record is of no provider");
}

/// Returns the omissions that an archive reports.
fn reported(path: &Path) -> Vec<(Omission, u64)> {
    let mut reader = trace_format::Reader::new(std::fs::File::open(path).unwrap());
    let mut reported = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        let trace_format::Record::Event(event) = &item.record else { continue };
        let number = event.arguments.iter().find_map(|it| match it.value {
            trace_format::Value::Uint64(number) => Some(number),
            _ => None,
        });
        let omission = Omission::of_event(&item.text(event.name));
        reported.extend(omission.map(|omission| (omission, number.unwrap())));
    }
    reported
}

#[test]
fn the_archive_reports_refused_connections() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.fxt");
    for refusals in [0, 3] {
        let mut recording = recording(&path, &collection());
        for pid in 0..refusals {
            recording.refuse(1, Refusal { pid, name: String::new(), reason: String::new() });
        }
        recording.end().archive.wait().unwrap();
        let expected = (refusals != 0).then_some((Omission::Connections, refusals.into()));
        assert_eq!(reported(&path), Vec::from_iter(expected));
    }
}

#[test]
fn the_archive_and_the_summary_report_providers_that_did_not_end_orderly() {
    let version = End::CutOff(Violation::PacketVersion(2));
    for (is_helper, end, expected) in [
        (false, End::Terminated, None),
        (false, End::Disconnected, None),
        (false, End::TimedOut, Some((Omission::Unfinished, 1))),
        (false, End::CutOff(Violation::Flood), Some((Omission::CutOff, 1))),
        (false, version, Some((Omission::CutOff, 1))),
        (true, End::Terminated, None),
        (true, End::Disconnected, Some((Omission::Helpers, 1))),
        (true, End::TimedOut, Some((Omission::Unfinished, 1))),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.fxt");
        let collection = &mut collection();
        let mut recording = recording(&path, collection);
        let layout = layout(BufferingMode::Oneshot);
        join_with(&mut recording, collection, 1, (is_helper, buffer(&layout)));
        recording.expect_last(1, 1, 5);
        let (answered_start, answered_stop, elapsed) = (true, false, BTreeMap::new());
        let departure = Departure { end: end.clone(), answered_start, answered_stop, elapsed };
        collection.finish(1, departure);
        take_final(&mut recording, collection);
        let ended = recording.end();
        ended.archive.wait().unwrap();
        assert_eq!(reported(&path), Vec::from_iter(expected), "{end}");
        assert_eq!(ended.providers[0].omitted, Vec::from_iter(expected), "{end}");
    }
}

/// The connection gets a new buffer while the session runs.
#[test]
fn the_summary_reports_an_interruption() {
    let directory = tempfile::tempdir().unwrap();
    let collection = &mut collection();
    let mut recording = recording(&directory.path().join("a.fxt"), collection);
    let leave = |recording: &mut Recording, collection: &mut Collection| {
        let archive_id = collection.provider(1).unwrap().id();
        recording.expect_last(1, archive_id, 5);
        let (end, elapsed) = (End::Terminated, BTreeMap::new());
        let departure = Departure { end, answered_start: true, answered_stop: true, elapsed };
        collection.finish(1, departure);
        take_final(recording, collection);
    };
    for _ in 0..2 {
        join(&mut recording, collection, 1);
        leave(&mut recording, collection);
    }
    let ended = recording.end();
    let omitted = ended.providers.iter().map(|provider| provider.omitted.clone());
    let expected = [vec![(Omission::Interruptions, 1)]];
    assert_eq!(omitted.collect::<Vec<_>>(), expected);
}

/// A helper that has stopped loses nothing if it ends, unless the session starts again.
#[test]
fn a_helper_that_ends_while_the_session_is_stopped_is_reported_if_that_starts_again() {
    for (is_helper, starts_again) in [(true, true), (true, false), (false, true)] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.fxt");
        let collection = &mut collection();
        let mut recording = recording(&path, collection);
        let layout = layout(BufferingMode::Oneshot);
        join_with(&mut recording, collection, 1, (is_helper, buffer(&layout)));
        recording.pause(ClockSample::now());
        recording.expect_last(1, 1, 5);
        let (end, elapsed) = (End::Terminated, BTreeMap::new());
        let departure = Departure { end, answered_start: true, answered_stop: true, elapsed };
        collection.finish(1, departure);
        recording.disconnected(1);
        if starts_again {
            recording.start_again(BufferDisposition::Retain, collection.of_session(1));
        }
        take_final(&mut recording, collection);
        let ended = recording.end();
        ended.archive.wait().unwrap();
        let expected = (is_helper && starts_again).then_some((Omission::Helpers, 1));
        assert_eq!(reported(&path), Vec::from_iter(expected));
        assert_eq!(ended.providers[0].omitted, Vec::from_iter(expected));
    }
}

/// The gap of a provider does not begin when the last one stops.
#[test]
fn each_provider_has_recorded_until_it_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let collection = &mut collection();
    let mut recording = recording(&directory.path().join("a.fxt"), collection);
    join(&mut recording, collection, 1);
    join(&mut recording, collection, 2);
    recording.stopped(1, 200);
    let (all_stopped, clock) = (ClockSample::now(), identity().clock);
    recording.pause(all_stopped);
    let check = |recording: &Recording| {
        let until = |provider| recording.recorded_until(provider, clock, &ClockSample::now());
        assert_eq!([until(1), until(2)], [200, all_stopped.ticks(clock)]);
    };
    check(&recording);
    recording.start_again(BufferDisposition::Retain, collection.of_session(1));
    recording.stopped(2, u64::MAX);
    check(&recording);
}

/// A string and an event in a buffer that is not collected when the session starts again.
#[test]
fn a_start_keeps_clears_or_reduces_the_records_in_a_buffer() {
    use trace_protocol::message::BufferDisposition as D;
    let directory = tempfile::tempdir().unwrap();
    let string = vec![0x0000_0003_0001_0022, 0x0063_6261];
    let event = vec![0x0001_0001_0100_0034, 100, 0];
    let section = vec![0x0000_0000_0120_0010];
    let words = [&section[..], &string, &event].concat();
    let cases = [
        (D::Retain, words.clone()),
        (D::ClearEntire, section.clone()),
        (D::ClearNondurable, [&section[..], &string].concat()),
    ];
    for (disposition, expected) in cases {
        let collection = &mut collection();
        let mut recording = recording(&directory.path().join("a.fxt"), collection);
        join(&mut recording, collection, 1);
        recording.start_again(disposition, collection.of_session(1));
        assert_eq!(recording.clear_last(1, words.clone()), (words.clone(), None), "it records");
        let stopped = ClockSample::now();
        let clock = identity().clock;
        recording.pause(stopped);
        recording.start_again(disposition, collection.of_session(1));
        let later = ClockSample::now();
        assert_eq!(recording.recorded_until(1, clock, &later), stopped.ticks(clock));
        assert_eq!(recording.recorded_until(2, clock, &later), later.ticks(clock));
        recording.pause(later);
        recording.start_again(D::ClearEntire, collection.of_session(1));
        assert_eq!(recording.recorded_until(1, clock, &later), stopped.ticks(clock));
        let (kept, counts) = recording.clear_last(1, words.clone());
        assert_eq!(kept, expected, "{disposition:?}");
        assert_eq!(counts.is_some(), disposition != D::Retain);
        assert_eq!(recording.clear_last(1, words.clone()).0, words, "once");
    }
}

/// Returns a session whose provider 1 recorded, at 100 ticks, a value over the limit of a
/// condition.
fn with_counter(path: &Path, collection: &mut Collection) -> Recording {
    let rules = vec!["counter:app/queue.depth>100 for 10s:stop".parse().unwrap()];
    let config = SessionConfig { rules, ..SessionConfig::default() };
    let mut recording = recording_with(config, path, collection);
    join_with(&mut recording, collection, 1, (false, buffer(&layout(BufferingMode::Oneshot))));
    let (mut words, depth) = (Vec::new(), [Argument::new("depth", Value::Double(150.0))]);
    let value = Event {
        ticks: 100,
        thread: Thread::Inline(ThreadKoids::new(4711, 4712)),
        category: "app".into(),
        name: "queue".into(),
        kind: EventKind::Counter { id: 0 },
        arguments: (&depth).into(),
    };
    append(&mut words, &Record::Event(value)).unwrap();
    recording.conditions.records(1, &words);
    recording
}

#[test]
fn the_time_of_conditions_does_not_pass_while_the_session_is_stopped() {
    let directory = tempfile::tempdir().unwrap();
    for (is_stopped, held) in [(true, 0), (false, 1)] {
        let collection = &mut collection();
        let mut recording = with_counter(&directory.path().join("a.fxt"), collection);
        if is_stopped {
            recording.stopped(1, 200);
            recording.pause(ClockSample::now());
        }
        assert_eq!(recording.last_conditions(collection).len(), held);
    }
}

/// The next buffer of the provider comes before the last records of this one.
#[test]
fn the_time_of_conditions_ends_when_the_provider_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let now = ClockSample::now().ticks(identity().clock);
    for (until, held) in [(200, 0), (now, 1)] {
        let collection = &mut collection();
        let mut recording = with_counter(&directory.path().join("a.fxt"), collection);
        recording.expect_last(1, 1, until);
        let (end, elapsed) = (End::Terminated, BTreeMap::new());
        let departure = Departure { end, answered_start: true, answered_stop: true, elapsed };
        collection.finish(1, departure);
        join(&mut recording, collection, 1);
        take_final(&mut recording, collection);
        assert_eq!(recording.take_conditions().len(), held, "until {until}");
    }
}
