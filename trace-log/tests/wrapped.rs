//! A bridge around another logger: each gets exactly the messages of its level, before, during and
//! after a recording.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

use std::cell::Cell;
use std::fmt;
use std::path::Path;
use std::sync::Mutex;

use log::{debug, info, log_enabled, trace, Level, LevelFilter};
use trace_format::record::Record;
use trace_format::Reader;

static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The application's own logger.
struct Own;

impl log::Log for Own {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target() != "ignored"
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            SEEN.lock().unwrap().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// Counts how often it is formatted.
struct Counted<'a>(&'a Cell<u32>);

impl fmt::Display for Counted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.set(self.0.get() + 1);
        f.write_str("counted")
    }
}

fn work(count: &Cell<u32>) {
    info!(target: "on", "information {}", Counted(count));
    debug!(target: "on", "details {}", Counted(count));
    trace!(target: "on", "more {}", Counted(count));
    debug!(target: "off", "not enabled {}", Counted(count));
    info!(target: "off", "not for the trace");
    info!(target: "ignored", "ignored by both");
}

fn seen() -> Vec<String> {
    std::mem::take(&mut SEEN.lock().unwrap())
}

/// One test, since a process has one logger.
#[test]
fn both_get_the_messages_of_their_level() {
    let directory = tempfile::tempdir().unwrap();
    let count = Cell::new(0);
    let own = ["information counted", "not for the trace"];
    trace_log_bridge::Bridge::new()
        .level(LevelFilter::Debug)
        .wrap(Own, LevelFilter::Info)
        .init()
        .unwrap();
    assert!(trace_log_bridge::init().is_err());
    assert_eq!(log::max_level(), LevelFilter::Info);
    work(&count);
    assert_eq!((seen(), count.take()), (own.map(str::to_owned).to_vec(), 1));

    for round in 0..2 {
        let path = directory.path().join(format!("log-{round}.fxt"));
        let recording = trace_runtime::builder().output(&path).categories(["on"]).init();
        assert_eq!(log::max_level(), LevelFilter::Debug);
        assert!(
            log_enabled!(target: "on", Level::Debug) && !log_enabled!(target: "off", Level::Debug)
        );
        assert!(
            log_enabled!(target: "off", Level::Info)
                && !log_enabled!(target: "ignored", Level::Info)
        );
        work(&count);
        info!(target: "on", "{}", "é".repeat(20_000));
        drop(recording);
        assert_eq!(log::max_level(), LevelFilter::Info);
        // Formatted once for the other logger, once for the trace, and once for the details.
        assert_eq!(count.take(), 3);
        assert_eq!(seen().len(), 3);
        let messages = messages(&path);
        assert_eq!(messages[..2], ["INFO on: information counted", "DEBUG on: details counted"]);
        assert_eq!((messages.len(), messages[2].len()), (3, 31_999));
    }

    // A level that the application sets during a recording is kept.
    let recording = trace_runtime::builder().output(directory.path().join("set.fxt")).init();
    log::set_max_level(LevelFilter::Warn);
    drop(recording);
    assert_eq!(log::max_level(), LevelFilter::Warn);
}

/// The messages of the log.
fn messages(path: &Path) -> Vec<String> {
    let mut reader = Reader::new(std::fs::File::open(path).unwrap());
    let mut messages = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        if let Record::Log(log) = &item.record {
            messages.push(String::from_utf8(log.message.to_vec()).unwrap());
        }
    }
    messages
}
