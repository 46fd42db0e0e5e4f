//! SIGKILL at random moments: committed records are in the archive.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use crate::harness::{
    record, recover, subject, Archive, Event, Provider, Run, Session, Shape, MODES,
};

/// The published numbers of one thread of a killed process.
#[derive(Debug)]
struct Published {
    begun: u64,
    instants: u64,
    ended: u64,
}

/// Reads the published numbers of a process's threads. Empty if it was killed before it published
/// any.
fn published(directory: &Path, pid: u64) -> Vec<Published> {
    let bytes = std::fs::read(directory.join(format!("{pid}.numbers"))).unwrap_or_default();
    let numbers: Vec<u64> =
        bytes.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).collect();
    let published =
        |numbers: &[u64]| Published { begun: numbers[0], instants: numbers[1], ended: numbers[2] };
    numbers.chunks_exact(3).map(published).collect()
}

/// Returns the processes that were killed after they had published numbers.
fn killed(directory: &Path) -> Vec<u64> {
    let names = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| name.strip_suffix(".numbers")?.parse().ok()).collect()
}

/// Returns the numbers of `events`. Fails if one is repeated.
fn distinct<'a>(events: impl Iterator<Item = &'a Event>) -> BTreeSet<u64> {
    let mut numbers = BTreeSet::new();
    for event in events {
        assert!(numbers.insert(event.number()), "repeated in the archive: {event:?}");
    }
    numbers
}

/// Returns how many numbers below `end` are missing. With `newest_only`, numbers before the first
/// one are not expected.
fn missing(found: &BTreeSet<u64>, end: u64, newest_only: bool) -> u64 {
    let start = if newest_only { found.first().copied().unwrap_or(end).min(end) } else { 0 };
    (end - start) - found.range(start..end).count() as u64
}

/// A thread's numbered durations, complete and open.
#[derive(Debug, Default)]
struct Scopes {
    open: BTreeSet<u64>,
    closed: BTreeSet<u64>,
}

/// Pairs begins and ends: a duration that was open when its buffer was saved has a separate end
/// record.
fn scopes(events: &[&Event]) -> Scopes {
    let mut scopes = Scopes::default();
    let mut stack = Vec::new();
    for event in events.iter().filter(|event| event.name == "scope") {
        match (event.shape, event.numbers.get("number")) {
            (Shape::Begin, Some(number)) => stack.push(*number),
            (Shape::End, None) => scopes.closed.extend(stack.pop()),
            (Shape::Complete(_), Some(number)) => scopes.closed.extend([*number]),
            // Its begin was overwritten, with its arguments.
            (Shape::Complete(_), None) => {}
            _ => panic!("expected a begin, an end or both: {event:?}"),
        }
    }
    scopes.open.extend(stack);
    scopes
}

/// Checks the archive of one killed process. Returns the number of its events.
fn check(provider: &Provider, published: &[Published], mode: &str) -> usize {
    let missed: u64 = (0..)
        .zip(published)
        .map(|(thread, published)| check_thread(provider, thread, published, mode))
        .sum();
    assert!(
        missed <= provider.lost(),
        "{mode}: {missed} committed records are missing, {} reported as lost",
        provider.lost()
    );
    provider.events.len()
}

/// Checks one thread of a killed process. Returns the number of missing committed records.
fn check_thread(provider: &Provider, thread: u64, published: &Published, mode: &str) -> u64 {
    let said = |event: &&Event| event.numbers.get("thread") == Some(&thread);
    let Some(koid) = provider.events.iter().find(said).map(|event| event.thread) else {
        // The thread has no records, or all of them were overwritten.
        return if mode == "circular" { 0 } else { published.begun + published.instants };
    };
    let events: Vec<&Event> = provider.events.iter().filter(|event| event.thread == koid).collect();
    assert!(events
        .iter()
        .all(|event| event.numbers.get("thread").is_none_or(|said| *said == thread)));
    let named = |name| events.iter().copied().filter(move |event| event.name == name);
    let whole: Vec<Shape> = named("whole thread").map(|event| event.shape).collect();
    assert!(
        whole.iter().all(|shape| *shape == Shape::Begin),
        "it was open when the process was killed: {whole:?}"
    );
    let begun = distinct(named("scope").filter(|event| event.numbers.contains_key("number")));
    let instants = distinct(named("instant"));
    let Scopes { open, closed } = scopes(&events);
    assert!(
        open.iter().all(|number| *number >= published.ended) || provider.lost() > 0,
        "{open:?} had ended"
    );
    assert!(
        closed.iter().all(|number| *number <= published.instants),
        "{closed:?} can have ended: {published:?}"
    );
    let newest_only = mode == "circular";
    let missing = |found, end| missing(found, end, newest_only);
    let without_end =
        begun.range(..published.ended).filter(|number| !closed.contains(number)).count() as u64;
    let whole_missing = u64::from(!newest_only && whole.is_empty());
    missing(&begun, published.begun)
        + missing(&instants, published.instants)
        + without_end
        + whole_missing
}

fn check_all(archive: &Archive, directory: &Path, mode: &str) -> usize {
    archive
        .providers
        .iter()
        .map(|provider| check(provider, &published(directory, provider.pid), mode))
        .sum()
}

/// Records sixty processes that are killed, and checks their committed records.
fn kill_under_record(mode: &str, size: &str, without: &str) {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("archive.fxt");
    let place = directory.path().to_str().unwrap();
    let role = ["count-and-be-killed", "60", place, "88172645463325252"];
    let run = Run::of(record(&["-m", mode, "-b", size], &output, &role).env("WITHOUT", without));
    assert_eq!(run.code(), 0, "{run:?}");
    let found = check_all(&Archive::read(&output), directory.path(), mode);
    assert!(found > 1000, "{mode}: the test must have events to check, not only {found}");
}

#[test]
fn committed_records_of_a_killed_program_are_in_the_archive_of_trace_record() {
    for (mode, size) in MODES.into_iter().zip(["1M", "64K", "4M"]) {
        kill_under_record(mode, size, "");
    }
}

#[test]
fn committed_records_survive_a_kill_without_membarrier_and_counter() {
    for (mode, size) in MODES.into_iter().zip(["256K", "16K", "4M"]) {
        kill_under_record(mode, size, "membarrier, cpu counter");
    }
}

#[test]
fn committed_records_are_recovered_from_a_killed_programs_file() {
    for (mode, size) in MODES.into_iter().zip(["256K", "64K", "4M"]) {
        let directory = tempfile::tempdir().unwrap();
        let mut slayer = subject(&[
            "count-and-be-killed",
            "40",
            directory.path().to_str().unwrap(),
            "362436069",
        ]);
        slayer
            .env("TRACE_BUFFERING_MODE", mode)
            .env("TRACE_BUFFER_SIZE", size)
            .env("SELF_TRACING", "1");
        assert_eq!(Run::of(&mut slayer).code(), 0);
        let mut found = 0;
        for pid in killed(directory.path()) {
            let output = directory.path().join(format!("{pid}.fxt"));
            let committed = published(directory.path(), pid).iter().map(|it| it.begun).sum::<u64>();
            // A program that was killed before its first record may have no data to recover.
            if committed > 0 {
                recover(&output);
                found += check_all(&Archive::read(&output), directory.path(), mode);
            }
        }
        assert!(found > 1000, "{mode}: the test must have events to check, not only {found}");
    }
}

/// The poll of a killed process is open, and is marked so.
#[test]
fn a_kill_in_a_poll_shows_the_poll() {
    for mode in MODES {
        let session = Session::start(mode, 1 << 20);
        let run = Run::of(&mut session.subject(&["poll-and-be-killed"]));
        assert_eq!(run.0.status.signal(), Some(libc::SIGKILL), "{run:?}");
        let (archive, _) = session.end();
        let events: Vec<_> = archive.only().named("future").collect();
        let shapes: Vec<_> = events.iter().map(|event| event.shape).collect();
        let [Shape::AsyncBegin(id), Shape::Complete(_), Shape::FlowBegin(_), Shape::Begin] =
            shapes[..]
        else {
            panic!("{shapes:?}")
        };
        assert_eq!(events[3].numbers["task"], id);
        assert_eq!(events[3].numbers["poll-count"], 2);
        assert_eq!(events[3].texts["poll-state"], "running");
    }
}
