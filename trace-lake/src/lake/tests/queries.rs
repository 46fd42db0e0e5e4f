//! Queries of a store give what queries of its archives do.

use trace_format::layout::ObjectType;
use trace_format::{Argument, EventKind, Value};

use super::*;
use crate::testing::{complete, event, named, of_process, opened, query_in};

/// Times of a store are since 1970: those of an archive with this option are shifted by a day.
const AT: [&str; 2] = ["--time", "2026-11-29"];

#[test]
fn an_archive_keeps_its_rows_and_gets_times_since_1970() {
    run(async {
        let place = Place::new();
        let (time, name) = (realtime(DAY + 100), of_process());
        let records = [
            anchor(100, &time),
            complete("outer", 150, 450),
            complete("inner", 160, 170),
            named(ObjectType::PROCESS, 12, "app", &[]),
            named(ObjectType::THREAD, 34, "main", &name),
        ];
        place.add(&records, &["--host", "web 1", "--version", "1.2"]).await.unwrap();
        let sql = "SELECT name, start_ns - 1795910400000000000, dur_ns, self_ns, depth, process, \
            thread, day, host, service, version FROM spans ORDER BY start_ns";
        let labels = "app|main|2026-11-29|web 1|app|1.2";
        let expected =
            [format!("outer|150|300|290|0|{labels}"), format!("inner|160|10|10|1|{labels}")];
        assert_eq!(place.query(sql).await, expected);
        let sql = "SELECT trace_start(), trace_end() - trace_start(), to_realtime(5), \
            to_boottime(5), length(archive), schema_version FROM archives";
        assert_eq!(place.query(sql).await, [format!("{}|350|5||32|1", DAY + 100)]);
    });
}

/// Two archives with the same ids of threads, spans, operations and flows.
#[test]
fn ids_of_archives_differ_and_join_their_own_rows() {
    let url = [Argument::new("url", Value::String("/a".into()))];
    let records = |name: &'static str, more: u64| {
        let whole = EventKind::DurationComplete { end: 400 + more };
        vec![
            event(name, 100, whole, &url),
            complete("inner", 160, 170),
            event("f", 165, EventKind::FlowBegin { id: 3 }, &[]),
            event("request", 200, EventKind::AsyncBegin { id: 7 }, &url),
            event("request", 300, EventKind::AsyncEnd { id: 7 }, &[]),
            complete("last", 310, 320),
            event("f", 315, EventKind::FlowEnd { id: 3 }, &[]),
        ]
    };
    let queries = [
        "SELECT s.name, p.name FROM spans s JOIN spans p ON s.parent_id = p.id",
        "SELECT slice.name, thread.tid FROM slice JOIN thread_track t ON slice.track_id = t.id \
            JOIN thread USING (utid)",
        "SELECT o.name, i.name, i.ts - o.ts FROM flow JOIN slice o ON slice_out = o.id \
            JOIN slice i ON slice_in = i.id",
        "SELECT name, extract_arg(arg_set_id, 'url') FROM slice",
        "SELECT s.name, key, string_value FROM spans s JOIN arguments ON owner_id = s.id",
        "SELECT overlap_ns(a.start_ns, a.dur_ns, b.start_ns, b.dur_ns) FROM spans a \
            JOIN spans b ON a.archive = b.archive AND a.id < b.id",
    ];
    run(async {
        let (one, both) = (Place::new(), Place::new());
        one.add(&records("a", 0), &AT).await.unwrap();
        both.add(&records("a", 0), &AT).await.unwrap();
        both.add(&records("b", 1), &AT).await.unwrap();
        let (one, both) = (one.session().await, both.session().await);
        for sql in queries {
            let (of_one, of_both) = (query_in(&one, sql).await, query_in(&both, sql).await);
            let (of_one, of_both) = (of_one.unwrap(), of_both.unwrap());
            assert!(!of_one.is_empty(), "{sql}");
            assert_eq!(of_both.len(), 2 * of_one.len(), "{sql}: {of_both:?}");
            for row in of_one {
                assert!(of_both.contains(&row), "{sql}: {row}");
            }
        }
        let rows = [
            ("SELECT count(DISTINCT id), count(DISTINCT track_id) FROM slice", "8|4"),
            (
                "SELECT start_ts, end_ts FROM trace_bounds",
                "1795910400000000000|1795910400000000301",
            ),
            ("SELECT count(*), sum(dur) FROM thread_or_process_slice WHERE name = 'inner'", "2|20"),
            (
                "SELECT name FROM descendants((SELECT id FROM spans WHERE name = 'b')) \
                    ORDER BY name",
                "inner,last",
            ),
        ];
        for (sql, expected) in rows {
            let rows = query_in(&both, sql).await.unwrap();
            assert_eq!(rows.join(","), expected, "{sql}");
        }
    });
}

#[test]
fn a_store_with_one_archive_gives_the_results_of_the_archive() {
    let url = [Argument::new("url", Value::String("/a".into()))];
    let count = [Argument::new("n", Value::Int64(5))];
    let records = [
        event("a", 100, EventKind::DurationComplete { end: 400 }, &url),
        complete("b", 160, 170),
        event("c", 170, EventKind::Counter { id: 1 }, &count),
        event("i", 180, EventKind::Instant { scope: None }, &url),
        event("request", 200, EventKind::AsyncBegin { id: 7 }, &url),
        event("request", 300, EventKind::AsyncEnd { id: 7 }, &[]),
    ];
    let queries = [
        "SELECT name, start_ns - trace_start(), dur_ns, args, is_open FROM spans ORDER BY 2",
        "SELECT name, series, value, counter_id, time_ns - trace_start() FROM counters",
        "SELECT name, scope, depth, args['url'] FROM instants",
        "SELECT name, operation_id, dur_ns FROM operations",
        "SELECT owner, key, text FROM arguments ORDER BY owner",
        "SELECT tid, pid, process, name FROM threads",
        "SELECT name, ts - trace_start(), dur, depth FROM slice ORDER BY 2",
        "SELECT name, value_type, display_value FROM args JOIN slice ON args.id = slice.id \
            ORDER BY name",
        "SELECT name FROM process_track",
        "SELECT name, value FROM counter JOIN counter_track t ON t.id = track_id",
        "SELECT providers, records, events, is_complete FROM archives",
    ];
    let bytes = archive(&records);
    let (_file, opened) = opened(&bytes).unwrap();
    run(async {
        let of_archive = session::session(&Subject::Archive(opened), DEFAULT_MEMORY).await.unwrap();
        let place = Place::new();
        place.add_bytes(&bytes, &AT).await.unwrap();
        let session = place.session().await;
        for sql in queries {
            let expected = query_in(&of_archive, sql).await.unwrap();
            assert!(!expected.is_empty(), "{sql}");
            assert_eq!(query_in(&session, sql).await.unwrap(), expected, "{sql}");
        }
    });
}

#[test]
fn a_saturated_time_changes_no_other_time() {
    run(async {
        let place = Place::new();
        let records = [complete("a", 5, 9), complete("broken", u64::MAX - 3, u64::MAX)];
        place.add(&records, &AT).await.unwrap();
        let sql = "SELECT name, start_ns FROM spans ORDER BY start_ns";
        let rows = [format!("a|{DAY}"), format!("broken|{}", i64::MAX)];
        assert_eq!(place.query(sql).await, rows);
        assert_eq!(place.query("SELECT trace_end()").await, [(DAY + 4).to_string()]);
    });
}

/// The end of the store is not that of the interval's archive.
#[test]
fn the_overlap_of_an_open_interval_is_unknown_in_a_store() {
    run(async {
        let place = Place::new();
        place.add(&[complete("a", 1, 20)], &AT).await.unwrap();
        let sql = "SELECT overlap_ns(3, NULL, 0, 8), overlaps(3, 9, 5, -1), overlap_ns(0, 9, 5, 9)";
        assert_eq!(place.query(sql).await, ["||4"]);
    });
}

#[test]
fn arguments_of_a_store_are_within_the_memory_of_the_session() {
    run(async {
        let place = Place::new();
        let url = [Argument::new("url", Value::String("/a".into()))];
        let kind = |end| EventKind::DurationComplete { end };
        let records: Vec<_> = (0..5000).map(|at| event("a", at, kind(at + 1), &url)).collect();
        place.add(&records, &AT).await.unwrap();
        let snapshot = Snapshot::newest(place.store.clone()).await.unwrap();
        let subject = Subject::Store(Arc::new(snapshot));
        let sql = "SELECT count(extract_arg(id, 'url')) FROM spans";
        assert_eq!(query_of(&subject, sql).await.unwrap(), ["5000"]);
        let session = session::session(&subject, 50_000).await.unwrap();
        let error = query_in(&session, sql).await.unwrap_err();
        let text = crate::message::describe(error.as_ref());
        assert!(text.contains("hint: select from the table arguments"), "{text}");
    });
}

#[test]
fn a_critical_path_needs_the_archive() {
    run(async {
        let place = Place::new();
        place.add(&[complete("a", 1, 2)], &AT).await.unwrap();
        let error = place.try_query("SELECT * FROM critical_path(7)").await.unwrap_err();
        assert!(error.to_string().contains("query the archive itself"), "{error}");
    });
}

const SECOND: u64 = 1_000_000_000;

/// Returns a number that does not compress, by SplitMix64.
fn random(number: u64) -> u64 {
    let mut random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    random = (random ^ random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    random = (random ^ random >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    random ^ random >> 31
}

/// Returns the length of a span.
fn length(number: u64) -> u64 {
    random(number) & 0xf_ffff
}

/// A day of spans, one every two seconds.
fn day() -> Vec<u8> {
    let names = ["read", "write", "flush"];
    let span = |number: u64| {
        // The first one begins with the day.
        let from = 2 * number * SECOND + random(number) % SECOND * u64::from(number > 0);
        complete(names[number as usize % 3], from, from + length(number))
    };
    archive(&(0..43_200).map(span).collect::<Vec<_>>())
}

#[test]
fn a_query_of_a_minute_reads_few_bytes() {
    run(async {
        let place = Place::new();
        place.add_bytes(&day(), &["--time", "2026-11-29", "--host", "a"]).await.unwrap();
        place.add(&[complete("a", 1, 2)], &["--time", "2026-11-28", "--host", "b"]).await.unwrap();
        let total: u64 = place.state().await.files.values().map(|file| file.bytes).sum();
        let count = "SELECT count(*), sum(dur_ns), min(start_ns) > 0 FROM spans";
        let minute =
            format!("start_ns >= {} AND start_ns < {}", DAY + 3600 * SECOND, DAY + 3660 * SECOND);
        let read = async |sql: &str| {
            let snapshot = Snapshot::newest(place.store.clone()).await.unwrap();
            place.objects.take_bytes_read();
            let rows = query_of(&Subject::Store(Arc::new(snapshot)), sql).await.unwrap();
            (rows, place.objects.take_bytes_read())
        };
        let (rows, all) = read(count).await;
        assert!(rows[0].starts_with("43201|"), "{rows:?}");
        let (rows, bytes) = read(&format!("{count} WHERE {minute}")).await;
        let sum: u64 = (1800..1830).map(length).sum();
        assert_eq!(rows, [format!("30|{sum}|true")]);
        println!("{bytes} bytes of a minute, {all} of the two columns, {total} of the store");
        // The last 32 KiB of a file are read at once, whether they are needed or not.
        assert!(bytes < all / 4 && bytes < 80_000, "{bytes} of {all}");
        let (rows, bytes) = read(&format!("{count} WHERE day = '2026-11-27'")).await;
        assert_eq!((rows, bytes), (vec!["0||".to_owned()], 0));
        let (rows, bytes) = read(&format!("{count} WHERE host = 'b'")).await;
        assert!(rows == ["1|1|true"] && bytes < 32 << 10, "{rows:?} {bytes}");
    });
}
