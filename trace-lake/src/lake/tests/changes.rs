//! Additions, compactions and removals, and what is left of those that end early.

use std::time::Duration;

use super::super::cli::Limits;
use super::super::retain::{retain, Removed};
use super::super::{clean, compact};
use super::*;
use crate::archive::Archive;
use crate::input::Input;
use crate::store::state::tests::file;
use crate::store::state::{Change, FileEntry};
use crate::testing::complete;

const ROWS: &str = "SELECT count(*), sum(dur_ns), count(DISTINCT archive), count(DISTINCT id) \
    FROM spans";

#[test]
fn an_archive_is_added_once() {
    run(async {
        let place = Place::new();
        for host in ["a", "a", "b"] {
            place.add(&[complete("a", 1, 3)], &["--host", host]).await.unwrap();
        }
        assert_eq!(place.query(ROWS).await, ["1|2|1|1"]);
        assert_eq!(log::newest(&place.store).await.unwrap().number, 1);
        let objects = place.objects.all().await;
        assert_eq!(objects.len(), 1 + place.state().await.files.len(), "{objects:?}");
    });
}

#[test]
fn an_archive_that_changes_while_it_is_read_is_refused() {
    run(async {
        let place = Place::new();
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(&archive(&[complete("a", 1, 3)])).unwrap();
        let input = Input::new(file.path(), None).unwrap();
        file.write_all(&archive(&[complete("b", 1, 3)])).unwrap();
        let (archive, arguments) = (Arc::new(Archive::new(input)), arguments(&[]));
        let added = add::add_opened(&place.store, archive, &arguments).await;
        let error = added.unwrap_err().to_string();
        assert!(error.contains("changed while it was read"), "{error}");
        assert!(place.objects.all().await.is_empty());
    });
}

#[test]
fn writers_at_the_same_time_need_no_lock() {
    run(async {
        let place = Place::new();
        let archives: Vec<Vec<u8>> =
            (0..8).map(|number| archive(&[complete("a", 1, 3 + number)])).collect();
        // Each archive has two writers.
        let adds = archives.iter().chain(&archives).map(|bytes| place.add_bytes(bytes, &[]));
        for added in futures::future::join_all(adds).await {
            added.unwrap();
        }
        assert_eq!(place.query(ROWS).await, ["8|44|8|8"]);
        let objects = place.objects.all().await;
        assert_eq!(objects.len(), 8 + place.state().await.files.len(), "nothing else: {objects:?}");
    });
}

/// The storage fails after each possible number of writes, as for a killed writer.
#[test]
fn an_addition_that_ends_early_leaves_nothing_visible() {
    run(async {
        let before = Place::new();
        before.add(&[complete("old", 1, 3)], &[]).await.unwrap();
        let mut failures = 0;
        loop {
            let place = before.fork();
            place.objects.fail_after(failures);
            let added = place.add(&[complete("new", 1, 8)], &[]).await;
            let is_added = added.is_ok();
            place.objects.fail_after(i64::MAX);
            let rows = if is_added { "2|9|2|2" } else { "1|2|1|1" };
            assert_eq!(place.query(ROWS).await, [rows], "{failures}");
            let archives = if is_added { "2" } else { "1" };
            assert_eq!(place.query("SELECT count(*) FROM archives").await, [archives]);
            // The archive can be added again.
            place.add(&[complete("new", 1, 8)], &[]).await.unwrap();
            assert_eq!(place.query(ROWS).await, ["2|9|2|2"]);
            if is_added {
                assert!(failures > 3, "{failures} writes");
                return;
            }
            let error = added.unwrap_err().to_string();
            assert!(error.contains("cannot write mem://store/"), "{error}");
            assert!(error.contains("disk full"), "{error}");
            failures += 1;
        }
    });
}

#[test]
fn a_change_whose_answer_was_lost_is_there_once() {
    run(async {
        let place = Place::new();
        // The files of the archive are not created with a condition.
        place.objects.lose_answers(0);
        place.add(&[complete("a", 1, 3)], &[]).await.unwrap();
        place.objects.lose_answers(1);
        let change = log::commit(&place.store, |_| Ok(Some(Change::default()))).await.unwrap();
        assert_eq!(change, Some(2));
        assert_eq!(log::newest(&place.store).await.unwrap().number, 2);
    });
}

#[test]
fn a_storage_that_replaces_objects_is_refused() {
    run(async {
        let place = Place::new();
        place.objects.ignore_conditions();
        let error = place.add(&[complete("a", 1, 3)], &[]).await.unwrap_err().to_string();
        assert!(error.contains("the storage replaces objects that exist\nhint: "), "{error}");
        assert_eq!(log::newest(&place.store).await.unwrap().number, 0);
    });
}

async fn commit_changes(place: &Place, count: usize) {
    for _ in 0..count {
        log::commit(&place.store, |_| Ok(Some(Change::default()))).await.unwrap();
    }
}

#[test]
fn changes_that_are_deleted_after_they_were_listed_are_not_missed() {
    run(async {
        let place = Place::new();
        commit_changes(&place, 40).await;
        let listing = place.objects.listing().await;
        commit_changes(&place, 30).await;
        clean::clean(&place.store, Duration::ZERO).await.unwrap();
        place.objects.list_once(listing);
        assert_eq!(log::newest(&place.store).await.unwrap().number, 70);
    });
}

/// Commits a change after 62 others, whose writer is stopped for so long that its number is free
/// again: a cleaner has deleted the change that had it.
async fn commit_late(place: &Place, others: usize) -> anyhow::Result<Option<u64>> {
    commit_changes(place, 62).await;
    let mut is_late = true;
    let change = Change { files: vec![file("spans/late", None)], ..Change::default() };
    let committed = log::commit(&place.store, |_| {
        if std::mem::take(&mut is_late) {
            futures::executor::block_on(async {
                commit_changes(place, others).await;
                clean::clean(&place.store, Duration::ZERO).await.unwrap();
            });
        }
        Ok(Some(change.clone()))
    });
    committed.await
}

#[test]
fn a_change_with_the_number_of_a_deleted_one_is_not_lost() {
    for others in [1, 2] {
        run(async {
            let place = Place::new();
            let newest = 62 + others as u64 + 1;
            assert_eq!(commit_late(&place, others).await.unwrap(), Some(newest));
            assert!(place.state().await.files.contains_key("spans/late"));
        });
    }
}

/// The change that would show it has been deleted, too.
#[test]
fn a_change_that_may_be_lost_is_reported() {
    run(async {
        let place = Place::new();
        let error = commit_late(&place, 40).await.unwrap_err().to_string();
        assert!(error.contains("this one may be ignored\nhint: run the command again"), "{error}");
    });
}

/// Writers and a cleaner that deletes all it may, on several threads.
#[test]
fn changes_are_not_lost_beside_a_cleaner() {
    let runtime = crate::session::runtime().unwrap();
    let place = Place::new();
    runtime.block_on(commit_changes(&place, 1));
    let write = |writer: usize| {
        let store = place.store.clone();
        async move {
            let mut written = Vec::new();
            for number in 0..40 {
                let path = format!("spans/{writer}-{number}");
                let change = Change { files: vec![file(&path, None)], ..Change::default() };
                let is_written = log::commit(&store, |_| Ok(Some(change.clone()))).await;
                // Only a change that is reported is known to be one of the store.
                written.extend(is_written.is_ok().then_some(path));
            }
            written
        }
    };
    let writers: Vec<_> = (0..4).map(|writer| runtime.spawn(write(writer))).collect();
    let store = place.store.clone();
    let cleaner = runtime.spawn(async move {
        for _ in 0..100 {
            // It may lose a race against another change, and leaves the rest to the next one.
            let _ = clean::clean(&store, Duration::ZERO).await;
        }
    });
    runtime.block_on(async {
        cleaner.await.unwrap();
        for writer in writers {
            let written = writer.await.unwrap();
            assert!(!written.is_empty());
            let state = place.state().await;
            let lost = written.into_iter().find(|file| !state.files.contains_key(file));
            assert_eq!(lost, None);
        }
    });
}

#[test]
fn the_state_is_that_of_all_changes_beyond_those_that_are_whole() {
    run(async {
        let place = Place::new();
        for number in 0..70 {
            let files = vec![file(&format!("spans/{number}"), None)];
            let change = Change { files, ..Change::default() };
            log::commit(&place.store, |_| Ok(Some(change.clone()))).await.unwrap();
        }
        let newest = log::newest(&place.store).await.unwrap();
        assert_eq!((newest.number, newest.state.files.len()), (70, 70));
        clean::clean(&place.store, Duration::ZERO).await.unwrap();
        let objects = place.objects.all().await;
        let changes = objects.iter().filter(|(path, _)| path.starts_with("log/")).count();
        assert_eq!(changes, 7, "from the 64th on");
        assert_eq!(log::newest(&place.store).await.unwrap().state, newest.state);
    });
}

async fn six_archives(place: &Place) {
    for number in 0..6 {
        let time = ["--time", ["2026-11-27", "2026-11-28", "2026-11-29"][number as usize % 3]];
        place.add(&[complete("a", 1, 3 + number)], &time).await.unwrap();
    }
}

const SIX: &str = "6|27|6|6";

#[test]
fn a_compaction_keeps_rows_and_partitions() {
    run(async {
        let place = Place::new();
        six_archives(&place).await;
        let files = "SELECT day, count(*), min(dur_ns) FROM spans GROUP BY day ORDER BY day";
        let rows = place.query(files).await;
        let before = place.state().await.files.len();
        let done = place.compact().await;
        assert_eq!((done.before, done.after), (before, before / 2));
        assert_eq!((place.query(ROWS).await, place.query(files).await), (vec![SIX.into()], rows));
        assert_eq!(place.compact().await.before, 0, "there is nothing left to do");
        let count = place.objects.all().await.len();
        clean::clean(&place.store, Duration::from_secs(3600)).await.unwrap();
        assert_eq!(place.objects.all().await.len(), count, "queries may read the old files");
        clean::clean(&place.store, Duration::ZERO).await.unwrap();
        assert_eq!(place.query(ROWS).await, [SIX]);
        let objects = place.objects.all().await;
        let data = objects.iter().filter(|(path, _)| !path.starts_with("log/")).count();
        assert_eq!(data, before / 2, "{objects:?}");
    });
}

#[test]
fn a_query_sees_the_files_of_its_begin() {
    run(async {
        let place = Place::new();
        six_archives(&place).await;
        let snapshot = Snapshot::newest(place.store.clone()).await.unwrap();
        let subject = Subject::Store(Arc::new(snapshot));
        place.compact().await;
        place.add(&[complete("b", 1, 100)], &[]).await.unwrap();
        clean::clean(&place.store, Duration::from_secs(3600)).await.unwrap();
        assert_eq!(query_of(&subject, ROWS).await.unwrap(), [SIX]);
        clean::clean(&place.store, Duration::ZERO).await.unwrap();
        let error = query_of(&subject, ROWS).await.unwrap_err().to_string();
        assert!(error.contains("cannot read mem://store/spans/day="), "{error}");
    });
}

#[test]
fn a_compaction_that_ends_early_leaves_the_rows_once() {
    run(async {
        let before = Place::new();
        for end in [3, 4] {
            before.add(&[complete("a", 1, end)], &["--time", "2026-11-29"]).await.unwrap();
        }
        let rows = ["2|5|2|2"];
        let mut failures = 0;
        loop {
            let place = before.fork();
            place.objects.fail_after(failures);
            let store = &place.store;
            let done = super::super::compact::compact(store, 128 << 20, DEFAULT_MEMORY).await;
            let cleaned = clean::clean(store, Duration::ZERO).await;
            let is_complete = !place.objects.has_failed();
            assert!(is_complete || done.is_ok_and(|it| it.failed > 0) || cleaned.is_err());
            place.objects.fail_after(i64::MAX);
            assert_eq!(place.query(ROWS).await, rows, "{failures}");
            place.compact().await;
            clean::clean(store, Duration::ZERO).await.unwrap();
            let state = place.state().await;
            let files = state.files.values().filter(|file| file.table == "spans").count();
            assert_eq!((files, state.removed.len()), (1, 0));
            if is_complete {
                assert!(failures > 8, "{failures} changes");
                return;
            }
            failures += 1;
        }
    });
}

#[test]
fn a_damaged_file_does_not_end_a_compaction() {
    run(async {
        let place = Place::new();
        six_archives(&place).await;
        let before = place.state().await;
        let damaged = before.files.values().find(|file| file.table == "spans").unwrap();
        place.objects.replace(&damaged.path, vec![b'x'; damaged.bytes as usize]).await;
        let done = place.compact().await;
        let groups = before.files.len() / 2;
        assert_eq!((done.failed, done.after), (1, groups - 1));
        assert!(place.state().await.files.contains_key(&damaged.path));
    });
}

/// A cleaner may have deleted its file meanwhile: a change that names it would lose the rows.
#[test]
fn a_compaction_that_takes_too_long_changes_nothing() {
    run(async {
        let place = Place::new();
        six_archives(&place).await;
        let state = place.state().await;
        let of_day = |file: &&FileEntry| file.partition.day == "2026-11-27";
        let files: Vec<_> = state.of_table("spans").filter(of_day).cloned().collect();
        assert_eq!(files.len(), 2);
        let objects = place.objects.all().await;
        let begin = clean::Begin::long_ago();
        let replaced = compact::replace(&place.store, files, DEFAULT_MEMORY, &begin).await;
        let text = replaced.unwrap_err().to_string();
        assert!(text.contains("may be deleted as abandoned"), "{text}");
        assert_eq!((place.state().await, place.objects.all().await), (state, objects));
    });
}

#[test]
fn compactions_at_the_same_time_keep_the_rows_once() {
    run(async {
        let place = Place::new();
        six_archives(&place).await;
        let both = futures::future::join(place.compact(), place.compact()).await;
        assert!(both.0.after + both.1.after >= place.state().await.files.len());
        assert_eq!(place.query(ROWS).await, [SIX]);
        clean::clean(&place.store, Duration::ZERO).await.unwrap();
        assert_eq!(place.query(ROWS).await, [SIX]);
        let objects = place.objects.all().await;
        let data = objects.iter().filter(|(path, _)| !path.starts_with("log/")).count();
        assert_eq!(data, place.state().await.files.len());
    });
}

fn limits(older_than: Option<u64>, keep_bytes: Option<u64>) -> Limits {
    Limits { older_than: older_than.map(Duration::from_secs), keep_bytes }
}

#[test]
fn archives_are_removed_by_age() {
    run(async {
        let place = Place::new();
        six_archives(&place).await;
        let noon = i64::try_from(DAY).unwrap() + 12 * 3600 * 1_000_000_000;
        let day = 86_400;
        let old = retain(&place.store, &limits(Some(3 * day), None), noon).await.unwrap();
        assert_eq!(old, Removed::default());
        let old = retain(&place.store, &limits(Some(2 * day), None), noon).await.unwrap();
        assert_eq!(old.archives, 2);
        let days = "SELECT DISTINCT day FROM spans ORDER BY day";
        assert_eq!(place.query(days).await, ["2026-11-28", "2026-11-29"]);
        clean::clean(&place.store, Duration::ZERO).await.unwrap();
        let objects = place.objects.all().await;
        assert!(!objects.iter().any(|(path, _)| path.contains("2026-11-27")), "{objects:?}");
        assert_eq!(place.query("SELECT count(*) FROM archives").await, ["4"]);
    });
}

#[test]
fn the_oldest_archives_are_removed_until_the_rest_fits() {
    run(async {
        let place = Place::new();
        six_archives(&place).await;
        let total: u64 = place.state().await.files.values().map(|file| file.bytes).sum();
        let kept = retain(&place.store, &limits(None, Some(total)), 0).await.unwrap();
        assert_eq!(kept.archives, 0);
        retain(&place.store, &limits(None, Some(total - 1)), 0).await.unwrap();
        let days = "SELECT DISTINCT day FROM spans ORDER BY day";
        assert_eq!(place.query(days).await, ["2026-11-28", "2026-11-29"]);
        retain(&place.store, &limits(None, Some(0)), 0).await.unwrap();
        assert_eq!(place.query(ROWS).await, ["0||0|0"]);
        assert_eq!(place.query("SELECT trace_dur() IS NULL").await, ["true"]);
    });
}
