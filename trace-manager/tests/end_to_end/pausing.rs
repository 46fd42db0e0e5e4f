//! The times between the recordings of a session that stops and starts again.

use super::archive::Archive;
use super::provider::{Provider, Session};
use super::*;

use trace_manager::SessionState;
use trace_protocol::archive::ClockSample;
use trace_protocol::buffer::header::field;
use trace_protocol::message::{BufferDisposition, ClockSource, ToProvider};
use trace_protocol::packet::Packet;

fn now() -> u64 {
    ClockSample::now().ticks(ClockSource::CpuCounter)
}

/// Returns the only gap of the archive.
fn gap(archive: &Archive) -> (u64, u64) {
    let gaps = archive.named("recording interrupted");
    let [arguments] = gaps[..] else { panic!("{gaps:?}") };
    (arguments["from"].parse().unwrap(), arguments["to"].parse().unwrap())
}

/// Pauses a session, starts it again, and ends it, with a provider that stops with `stop`. Returns
/// the gap.
fn gap_of(stop: impl Fn(&Session)) -> (u64, u64) {
    times_and_gap_of(stop).1
}

/// As [`gap_of`], with the times of the events before.
fn times_and_gap_of(stop: impl Fn(&Session)) -> (Vec<u64>, (u64, u64)) {
    let stage = Stage::new();
    let session = stage.start(config(BufferingMode::Oneshot));
    let (mut provider, _) = Provider::register(stage.manager.path(), "one");
    let tracing = provider.enter();
    tracing.chunk(0, 0, now());
    session.pause();
    assert_eq!(provider.next(), Some(ToProvider::Stop));
    stop(&tracing);
    tracing.send(Packet::Stopped);
    wait_until(|| session.progress().state == SessionState::Stopped);
    session.start_again(BufferDisposition::Retain, None).unwrap();
    assert_eq!(provider.next(), Some(ToProvider::Terminate));
    drop(tracing);
    let tracing = provider.enter();
    session.stop();
    provider.leave(tracing);
    session.join().unwrap();
    let archive = Archive::open(&stage.archive());
    (archive.events_of("one").to_vec(), gap(&archive))
}

/// The manager may read the reply long after the stop.
#[test]
fn a_gap_begins_when_the_provider_reports_that_it_stopped() {
    let stopped = std::cell::Cell::new(0);
    let (from, to) = gap_of(|tracing| {
        stopped.set(now());
        tracing.write(&[stopped.get()], field::STOPPED_AT * 8);
        std::thread::sleep(Duration::from_millis(5));
    });
    assert!(from == stopped.get() && from < to, "{from}, {to}");
}

/// As a record that was begun before the stop, or a report of omissions at it.
#[test]
fn a_gap_begins_after_the_last_record_of_the_buffer() {
    let (times, (from, to)) = times_and_gap_of(|tracing| {
        let stopped = now();
        tracing.write(&[stopped], field::STOPPED_AT * 8);
        tracing.chunk(0, 1, stopped);
        std::thread::sleep(Duration::from_millis(5));
    });
    assert!(times.iter().all(|at| *at < from) && from < to, "{from}..{to}: {times:?}");
}

/// A time before the recording or in the future, and none: as of a provider of an earlier version.
#[test]
fn a_gap_with_a_wrong_begin_begins_when_the_reply_is_read() {
    for claim in [0, 1, u64::MAX] {
        let before = std::cell::Cell::new(0);
        let (from, to) = gap_of(|tracing| {
            tracing.write(&[claim], field::STOPPED_AT * 8);
            before.set(now());
        });
        assert!(before.get() <= from && from < to, "{claim}: {from}, {to}");
    }
}

/// Returns the times of the events of a provider that does not reply to Stop and records on, and
/// the gap. It writes events from `late` on before its buffer is read, and perhaps those of
/// `leaving`, with which it leaves the buffer.
fn silent(late: fn() -> u64, leaving: impl Fn(&Session)) -> (Vec<u64>, (u64, u64)) {
    let stage = Stage::new();
    let session = stage.start(impatient(BufferingMode::Oneshot));
    let (mut provider, _) = Provider::register(stage.manager.path(), "silent");
    let tracing = provider.enter();
    tracing.chunk(0, 0, now());
    session.pause();
    wait_until(|| session.progress().state == SessionState::Stopped);
    tracing.chunk(0, 1, late());
    session.start_again(BufferDisposition::Retain, None).unwrap();
    while provider.next() != Some(ToProvider::Terminate) {}
    leaving(&tracing);
    drop(tracing);
    let tracing = provider.enter();
    end(&session);
    drop(tracing);
    let archive = Archive::open(&stage.archive());
    (archive.events_of("silent").to_vec(), gap(&archive))
}

/// It records until its buffer is read, when the session starts again.
#[test]
fn the_gap_of_a_silent_provider_has_no_records() {
    let (times, (from, to)) = silent(now, |_| {});
    assert!(times.iter().all(|at| *at < from) && from < to, "{from}..{to}: {times:?}");
}

/// It has left its buffer when that is read.
#[test]
fn the_gap_of_a_silent_provider_that_leaves_at_once_has_no_records() {
    let (times, (from, to)) = silent(now, |tracing| {
        tracing.chunk(0, 2, now());
    });
    assert!(times.iter().all(|at| *at < from) && from <= to, "{from}..{to}: {times:?}");
}

/// The gap is reported all the same.
#[test]
fn events_in_the_future_do_not_move_the_gap_of_a_silent_provider() {
    let before = now();
    let (times, (from, to)) = silent(|| now() + (1 << 40), |_| {});
    assert!(before < from && from < to && times.last() > Some(&to), "{from}..{to}: {times:?}");
}

/// Returns the losses that an archive reports, of which `summary` has the sum.
fn reported_losses(path: &std::path::Path, summary: &SessionSummary) -> Vec<u64> {
    let archive = Archive::open(path);
    let reports = archive.named(trace_format::notes::RECORDS_DROPPED);
    let numbers: Vec<u64> = reports.iter().map(|it| it["number"].parse().unwrap()).collect();
    assert_eq!(numbers.iter().sum::<u64>(), summary.lost(), "{numbers:?}");
    numbers
}

/// The program reports a loss when it has space again. The first session has reported it when it
/// left, and the third has joined after it.
#[test]
fn a_session_that_joins_again_or_late_reports_each_loss_once() {
    const THREAD: u64 = 5;
    const ENTRY: u64 = 1 << 32 | THREAD;
    let stage = Stage::new();
    let (mut provider, _) = Provider::register(stage.manager.path(), "one");
    let path = |name: &str| stage.directory.path().join(name);
    let start = |name: &str| {
        let target = ArchiveTarget::File(path(name));
        stage.manager.start(config(BufferingMode::Streaming), target).unwrap()
    };
    let first = start("1.fxt");
    let mut tracing = provider.enter();
    tracing.loss_strings();
    let second = start("2.fxt");
    provider.change(&tracing);
    tracing.lose(0, ENTRY, 5, 1, 2);
    first.pause();
    provider.change(&tracing);
    wait_until(|| first.progress().state == SessionState::Stopped);
    tracing.lose(0, ENTRY, 8, 1, 3);
    first.start_again(BufferDisposition::Retain, None).unwrap();
    provider.change(&tracing);
    let third = start("3.fxt");
    provider.change(&tracing);
    for session in [&first, &third] {
        assert!(session.wait_state(SessionState::Started, LONG));
    }
    tracing.lose_reported(0, ENTRY, (10, 10), 1, now());
    tracing.report_losses(0, 0, THREAD, 10);
    tracing.save(0);
    for session in [&first, &third] {
        session.stop();
        provider.change(&tracing);
    }
    let [first, third] = [first, third].map(|it| it.join().unwrap());
    second.stop();
    provider.leave(tracing);
    let second = second.join().unwrap();
    assert_eq!(reported_losses(&path("1.fxt"), &first), [5, 2], "not those of its pause");
    assert_eq!(reported_losses(&path("2.fxt"), &second), [10]);
    assert_eq!(reported_losses(&path("3.fxt"), &third), [2]);
}
