use std::os::fd::AsFd;
use std::path::Path;

use super::*;
use crate::archive::{ArchiveOutput, ArchiveSink};
use crate::collection::Finisher;
use crate::fixture::{buffer, collector, identity, layout, write_event};
use crate::machine::End;
use crate::notice::NoticeSender;
use crate::records::Spares;
use crate::snapshot::Requester;
use crate::waker::Waker;
use trace_protocol::buffer::header::BufferingMode;

fn recording(path: &Path) -> Recording {
    let (waker, spares) = (Waker::new().unwrap(), Spares::default());
    let output = ArchiveOutput::create_file(path).unwrap();
    let archive = ArchiveSink::begin(output, None, None, Arc::default(), spares.clone()).unwrap();
    let snapshots =
        Snapshots::spawn(waker.clone(), NoticeSender::new().0, Default::default()).unwrap();
    let collection = Collection::new(Finisher::spawn(waker).unwrap(), spares.clone());
    let sinks = Sinks::new(archive, &[], Vec::new(), &spares);
    let config = SessionConfig::default();
    Recording::begin(config, collection, sinks, snapshots, &mut ClockSample::now())
}

/// Adds a provider with one event in its rolling buffer.
fn join(recording: &mut Recording, id: ProviderId) {
    let layout = layout(BufferingMode::Streaming);
    let buffer = buffer(&layout);
    write_event(&buffer, &layout, 0, 100);
    let new = NewProvider {
        identity: Identity { id: recording.next_id(), ..identity() },
        known_categories: Vec::new(),
        policy: IdentityPolicy::Own(4711),
        collector: collector(&buffer, layout),
        layout,
        buffer: &buffer,
        packets: buffer.as_fd(),
    };
    recording.join(id, new);
}

#[test]
fn only_the_first_refusals_and_alerts_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording = recording(&directory.path().join("a.fxt"));
    for pid in 1..=MAX_REFUSALS as u32 + 1 {
        recording.refuse(Refusal { pid, name: String::new(), reason: String::new() });
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

/// A snapshot has the records of a provider that left before it, even if they are not collected
/// yet.
#[test]
fn a_snapshot_waits_for_departed_providers() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording = recording(&directory.path().join("a.fxt"));
    join(&mut recording, 1);
    join(&mut recording, 2);
    let departure = || Departure {
        end: End::Terminated,
        answered_start: true,
        answered_stop: true,
        after: Duration::ZERO,
    };
    recording.finish(1, departure());
    let (reply, replies) = crossbeam_channel::bounded(1);
    let path = directory.path().join("snapshot.fxt");
    recording.snapshot(path.clone(), Requester::Caller(reply));
    assert!(replies.recv_timeout(Duration::from_millis(20)).is_err() && !path.exists());
    while recording.is_finishing() {
        std::thread::sleep(Duration::from_millis(1));
        recording.take_final();
    }
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
    recording.finish(2, departure());
    while recording.is_finishing() {
        std::thread::sleep(Duration::from_millis(1));
        recording.take_final();
    }
    assert_eq!((recording.providers(), recording.events()), ((0, 2), 2));
    let ended = recording.end();
    assert!(ended.providers.iter().all(|provider| provider.bytes > 0 && provider.events == 1));
    let bytes: u64 = ended.providers.iter().map(|provider| provider.bytes).sum();
    assert_eq!(ended.archive.wait().unwrap(), bytes + 8, "the magic record is of no provider");
}
