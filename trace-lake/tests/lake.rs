//! Runs the commands of stores, and queries of them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use trace_format::{Arguments, Event, EventKind, Thread, ThreadKoids, Writer};

/// Returns an archive of a span of this length.
fn archive(nanos: u64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    let thread = Thread::Inline(ThreadKoids::new(12, 34));
    let (category, name, arguments) = ("cat".into(), "work".into(), Arguments::NONE);
    let kind = EventKind::DurationComplete { end: 10 + nanos };
    writer.record(&Event { ticks: 10, thread, category, name, kind, arguments }.into()).unwrap();
    writer.into_inner()
}

struct Place(TempDir);

impl Place {
    /// Creates a directory with the archives `1.fxt` and `2.fxt`.
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        for nanos in [1, 2] {
            fs::write(place.path().join(format!("{nanos}.fxt")), archive(nanos)).unwrap();
        }
        place
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs the program. Returns the exit status, and what it prints.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trace-query"));
        let run = command.args(arguments).current_dir(self.path()).stdin(Stdio::null()).output();
        let run = run.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (run.status.code().unwrap(), text(run.stdout), text(run.stderr))
    }

    /// Returns the number of spans of the store.
    fn count(&self) -> String {
        let sql = "SELECT count(*) AS n FROM spans";
        let (code, stdout, stderr) = self.run(&["store", sql, "--format", "csv"]);
        assert_eq!((code, &*stderr), (0, ""));
        stdout.trim_start_matches("n\n").trim_end().to_owned()
    }

    /// Runs a command of stores that succeeds. Returns what it prints.
    fn lake(&self, arguments: &[&str]) -> String {
        let (code, stdout, stderr) = self.run(&[&["--lake"], arguments].concat());
        assert_eq!((code, &*stderr), (0, ""), "{arguments:?}");
        stdout
    }
}

const SUM: &str = "SELECT host, count(*) AS n, sum(dur_ns) AS ns FROM spans GROUP BY host";

#[test]
fn archives_are_added_queried_compacted_and_removed() {
    let place = Place::new();
    let at = ["--host", "a b", "--time", "2026-11-29T10:00:00Z"];
    let added = place.lake(&[&["add", "store", "1.fxt", "2.fxt"], &at[..]].concat());
    assert_eq!(added.lines().count(), 2, "{added}");
    assert!(added.contains("  1.fxt: ") && added.contains("host a b, service app"), "{added}");
    let again = place.lake(&[&["add", "store", "2.fxt"], &at[..]].concat());
    assert!(again.contains("2.fxt: already in store"), "{again}");
    let expected = (0, "host  n  ns\na b   2   3\n".to_owned(), String::new());
    assert_eq!(place.run(&["store", SUM]), expected);
    let list = place.lake(&["list", "store"]);
    assert!(list.starts_with("DAY         HOST  SERVICE  ARCHIVES  FILES  ROWS  SIZE\n"), "{list}");
    assert!(list.contains("2026-11-29  a b   app      2         "), "{list}");
    let files = place.lake(&["list", "store", "--files"]);
    assert!(files.contains("store/spans/day=2026-11-29/host=a%20b/service=app/"), "{files}");
    let compacted = place.lake(&["compact", "store", "--delete-after", "0s"]);
    assert!(compacted.contains(" files are now "), "{compacted}");
    assert_eq!(place.run(&["store", SUM]), expected);
    for line in place.lake(&["list", "store", "--files"]).lines() {
        let file = fs::metadata(place.path().join(line)).unwrap();
        assert!(file.len() > 0 && !files.contains(line), "{line}");
    }
    let json = place.lake(&["list", "store", "--archives", "--json"]);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&json).unwrap().as_array().unwrap().len(),
        2
    );
    place.lake(&["report", "store", "-o", "page.html"]);
    assert!(fs::read_to_string(place.path().join("page.html")).unwrap().contains("cat:work"));
    let removed = place.lake(&["retain", "store", "--keep-bytes", "0", "--delete-after", "0s"]);
    assert!(removed.starts_with("2 archives with "), "{removed}");
    assert!(!place.path().join("store/spans").exists());
    assert_eq!(place.count(), "0");
}

#[test]
fn what_is_wrong_is_reported() {
    let place = Place::new();
    let archives = ["1.fxt", "missing.fxt", "2.fxt"];
    let (code, _, stderr) = place.run(&[&["--lake", "add", "store"], &archives[..]].concat());
    assert_eq!((code, stderr.contains("missing.fxt: no such file or directory")), (1, true));
    assert!(place.run(&["store", SUM]).1.contains("unknown  2   3"), "the others are added");
    fs::create_dir(place.path().join("empty")).unwrap();
    let (code, _, stderr) = place.run(&["--lake", "list", "empty"]);
    assert_eq!((code, stderr.contains("empty is not a store\nhint: ")), (1, true), "{stderr}");
    let (code, _, stderr) = place.run(&["empty", SUM]);
    assert_eq!((code, stderr.contains("empty is a directory\nhint: ")), (1, true), "{stderr}");
    let (code, _, stderr) = place.run(&["ftp://host/store", SUM]);
    assert_eq!((code, stderr.contains("no storage has this URL\nhint: ")), (1, true), "{stderr}");
    assert_eq!(place.run(&["--lake", "retain", "store"]).0, 2, "without a limit");
    assert_eq!(place.run(&["--lake", "retain", "store", "--older-than", "30"]).0, 2);
    fs::write(place.path().join("cut.fxt"), &archive(3)[..archive(3).len() - 8]).unwrap();
    let (code, _, stderr) = place.run(&["--lake", "add", "store", "cut.fxt"]);
    assert_eq!((code, stderr.contains("the records before it are used")), (3, true), "{stderr}");
    let (code, _, stderr) = place.run(&["store", "SELECT nme FROM spans"]);
    assert_eq!((code, stderr.contains("\n  |        ^^^\n")), (1, true), "{stderr}");
}

#[test]
fn a_killed_writer_leaves_nothing_visible() {
    let place = Place::new();
    place.lake(&["add", "store", "1.fxt"]);
    let mut large = Writer::new(Vec::new()).unwrap();
    for ticks in 0..20_000 {
        let thread = Thread::Inline(ThreadKoids::new(12, 34));
        let (category, name, arguments) = ("cat".into(), "work".into(), Arguments::NONE);
        let kind = EventKind::DurationComplete { end: ticks + 5 };
        large.record(&Event { ticks, thread, category, name, kind, arguments }.into()).unwrap();
    }
    fs::write(place.path().join("large.fxt"), large.into_inner()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_trace-query"));
    command.args(["--lake", "add", "store", "large.fxt"]).current_dir(place.path());
    let mut writer = command.stdout(Stdio::null()).spawn().unwrap();
    // The first file of the archive, complete or not.
    let files = || walk(&place.path().join("store/spans")) > 1;
    while !files() && writer.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    writer.kill().unwrap();
    let has_ended = writer.wait().unwrap().success();
    let count = place.count();
    assert_eq!(count, if has_ended { "20001" } else { "1" });
    place.lake(&["add", "store", "large.fxt"]);
    assert_eq!(place.count(), "20001");
}

/// Returns the number of files in a folder, at any depth.
fn walk(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = |entry: fs::DirEntry| match entry.path().is_dir() {
        true => walk(&entry.path()),
        false => 1,
    };
    entries.map(files).sum()
}
