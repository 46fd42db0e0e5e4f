//! Runs the program.

use std::fs;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use trace_format::{Arguments, Event, EventKind, Thread, ThreadKoids, Writer};

/// Returns an archive of three spans.
fn archive() -> Vec<u8> {
    let spans = [("outer", 10, 100), ("inner", 20, 50), ("inner", 60, 65)];
    written(&spans.map(|(name, from, end)| (name, from, EventKind::DurationComplete { end })))
}

/// Returns an archive of events with these names, times and types.
fn written(events: &[(&str, u64, EventKind)]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    for (name, ticks, kind) in events.iter().copied() {
        let thread = Thread::Inline(ThreadKoids::new(12, 34));
        let (category, name, arguments) = ("cat".into(), name.into(), Arguments::NONE);
        let event = Event { ticks, thread, category, name, kind, arguments };
        writer.record(&event.into()).unwrap();
    }
    writer.into_inner()
}

/// A directory with the archive `a.fxt`.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::write(place.path().join("a.fxt"), archive()).unwrap();
        place
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn run_with(&self, arguments: &[&str], input: &[u8]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trace-query"));
        command.args(arguments).current_dir(self.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // The program may end without reading its input.
        let _ = child.stdin.take().unwrap().write_all(input);
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (status.code().unwrap(), text(stdout), text(stderr))
    }

    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        self.run_with(arguments, b"")
    }
}

const SQL: &str =
    "SELECT name, count(*) AS n, sum(dur_ns) AS ns FROM spans GROUP BY name ORDER BY ns";
const TABLE: &str = "name   n  ns\ninner  2  35\nouter  1  90\n";

fn ok(stdout: &str) -> (i32, String, String) {
    (0, stdout.to_owned(), String::new())
}

#[test]
fn a_query_is_an_argument_a_file_or_the_standard_input() {
    let place = Place::new();
    fs::write(place.path().join("q.sql"), format!("{SQL};\n-- the end\n")).unwrap();
    assert_eq!(place.run(&["a.fxt", SQL]), ok(TABLE));
    assert_eq!(place.run(&["a.fxt", "-f", "q.sql"]), ok(TABLE));
    assert_eq!(place.run_with(&["a.fxt"], SQL.as_bytes()), ok(TABLE));
    assert_eq!(place.run_with(&["a.fxt", "-f", "-"], SQL.as_bytes()), ok(TABLE));
    let (code, stdout, _) = place.run_with(&["a.fxt"], b".schema spans\n");
    assert_eq!((code, stdout.contains("dur_ns")), (0, true), "{stdout}");
}

#[test]
fn an_archive_is_read_from_standard_input_and_compressed() {
    let place = Place::new();
    assert_eq!(place.run_with(&["-", SQL], &archive()), ok(TABLE));
    let compressed = zstd::encode_all(&*archive(), 0).unwrap();
    assert_eq!(place.run_with(&["-", SQL], &compressed), ok(TABLE));
}

#[test]
fn statements_follow_each_other() {
    let sql = "CREATE VIEW long AS SELECT * FROM spans WHERE dur_ns > 20; \
        SELECT count(*) AS n FROM long; SELECT 1 AS one";
    assert_eq!(Place::new().run(&["a.fxt", sql]), ok("n\n2\none\n  1\n"));
}

#[test]
fn formats_are_written_to_files() {
    let place = Place::new();
    assert_eq!(place.run(&["a.fxt", SQL, "--format", "csv", "-o", "out.csv"]), ok(""));
    let csv = fs::read_to_string(place.path().join("out.csv")).unwrap();
    assert_eq!(csv, "name,n,ns\ninner,2,35\nouter,1,90\n");
    let (code, _, stderr) = place.run(&["a.fxt", SQL, "--format", "parquet"]);
    assert_eq!((code, stderr.contains("hint: use -o FILE.parquet")), (1, true), "{stderr}");
}

#[test]
fn a_file_has_the_result_of_one_statement() {
    let place = Place::new();
    let two = "CREATE TABLE made AS SELECT 1 AS one; SELECT one FROM made; SELECT 2 AS two";
    let (code, stdout, stderr) = place.run(&["a.fxt", two, "-o", "out"]);
    assert_eq!((code, &*stdout), (2, ""));
    assert!(stderr.contains("the results of 2 statements to one file, out\nhint: "), "{stderr}");
    assert!(!place.path().join("out").exists());
    let one = "CREATE VIEW made AS SELECT 1 AS one; SELECT one FROM made";
    assert_eq!(place.run(&["a.fxt", one, "-o", "out"]), ok(""));
    assert_eq!(fs::read_to_string(place.path().join("out")).unwrap(), "one\n  1\n");
}

#[test]
fn standard_input_is_the_archive_or_the_query() {
    let place = Place::new();
    for arguments in [&["-"][..], &["-", "-f", "-"]] {
        let (code, stdout, stderr) = place.run_with(arguments, &archive());
        assert_eq!((code, &*stdout), (2, ""));
        assert!(stderr.contains("cannot be both the archive and the query\nhint: "), "{stderr}");
    }
}

#[test]
fn the_archive_is_not_replaced() {
    let place = Place::new();
    symlink("a.fxt", place.path().join("link")).unwrap();
    for output in ["a.fxt", "./a.fxt", "link"] {
        let (code, _, stderr) = place.run(&["a.fxt", SQL, "-o", output]);
        assert_eq!(code, 1, "{stderr}");
        assert!(stderr.contains("hint: choose another name"), "{stderr}");
    }
    fs::create_dir(place.path().join("tables")).unwrap();
    fs::write(place.path().join("tables/spans.parquet"), archive()).unwrap();
    assert_eq!(place.run(&["tables/spans.parquet", "--export", "tables"]).0, 1);
    assert_eq!(fs::read(place.path().join("a.fxt")).unwrap(), archive());
    assert_eq!(fs::read(place.path().join("tables/spans.parquet")).unwrap(), archive());
}

#[test]
fn a_link_leads_to_the_output_and_a_pipe_is_written() {
    let place = Place::new();
    fs::write(place.path().join("old.csv"), "old").unwrap();
    symlink("old.csv", place.path().join("link")).unwrap();
    assert_eq!(place.run(&["a.fxt", SQL, "--format", "csv", "-o", "link"]), ok(""));
    let csv = "name,n,ns\ninner,2,35\nouter,1,90\n";
    assert_eq!(fs::read_to_string(place.path().join("old.csv")).unwrap(), csv);
    assert!(fs::symlink_metadata(place.path().join("link")).unwrap().is_symlink());
    let to_standard = place.run(&["a.fxt", SQL, "--format", "csv", "-o", "/dev/stdout"]);
    assert_eq!(to_standard, ok(csv));
    assert_eq!(place.run(&["a.fxt", SQL, "--format", "csv", "-o", "-"]), ok(csv));
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 3, "no other file is left");
}

#[test]
fn all_tables_are_exported() {
    let place = Place::new();
    assert_eq!(place.run(&["a.fxt", "--export", "tables"]), ok(""));
    let files = fs::read_dir(place.path().join("tables")).unwrap();
    let mut names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names.len(), trace_lake::tables::TABLES.len());
    assert!(names.contains(&"spans.parquet".into()));
    let sql = "SELECT name FROM 'tables/spans.parquet'";
    assert_ne!(place.run(&["a.fxt", sql]).0, 0, "files are no tables without a statement");
}

#[test]
fn ready_queries_are_listed_and_run() {
    let place = Place::new();
    let (code, list, _) = place.run(&["--list"]);
    assert_eq!((code, list.contains("@hottest")), (0, true));
    let (code, stdout, _) = place.run(&["a.fxt", "@hottest"]);
    assert_eq!((code, stdout.lines().count()), (0, 3), "{stdout}");
    let (code, _, stderr) = place.run(&["a.fxt", "@coldest"]);
    assert_eq!((code, stderr.contains("hint: the names are ")), (1, true), "{stderr}");
}

#[test]
fn an_error_of_sql_has_its_place() {
    let place = Place::new();
    let (code, stdout, stderr) = place.run(&["a.fxt", "SELECT name,\n  duration FROM spans"]);
    assert_eq!((code, &*stdout), (1, ""));
    assert!(stderr.contains("\n2 |   duration FROM spans\n  |   ^^^^^^^^\n"), "{stderr}");
    assert!(stderr.contains("dur_ns"), "the columns are listed: {stderr}");
    let replaced = [
        ("SELECT name,\n iif(duration > 1, 1, 0)\nFROM spans", " iif(duration > 1, 1, 0)", 5, 8),
        ("SELECT id FROM spans\nWHERE nme GLOB 'a*'", "WHERE nme GLOB 'a*'", 6, 3),
        ("SELECT 1,\n  group_concat(nme) FROM spans", "  group_concat(nme) FROM spans", 15, 3),
    ];
    for (sql, line, before, length) in replaced {
        let (code, _, stderr) = place.run(&["a.fxt", sql]);
        let mark = format!("{}{}\n", " ".repeat(before), "^".repeat(length));
        let place = format!("\n2 | {line}\n  | {mark}");
        assert_eq!((code, stderr.contains(&place)), (1, true), "{stderr}");
    }
    let (code, _, stderr) = place.run(&["a.fxt", "SELECT FROM WHERE"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("1 | SELECT FROM WHERE\n"), "{stderr}");
}

#[test]
fn what_cannot_be_read_is_reported() {
    let place = Place::new();
    fs::write(place.path().join("text"), "hello world, no archive").unwrap();
    let (code, _, stderr) = place.run(&["text", SQL]);
    assert_eq!(code, 1);
    assert!(stderr.contains("cannot read text: not a trace archive\nhint: it is none of FXT"));
    let (code, _, stderr) = place.run(&["missing.fxt", SQL]);
    assert_eq!(code, 1);
    assert!(stderr.contains("missing.fxt: no such file or directory"), "{stderr}");
    fs::write(place.path().join("cut.fxt"), &archive()[..archive().len() - 8]).unwrap();
    let (code, stdout, stderr) = place.run(&["cut.fxt", "SELECT count(*) AS n FROM spans"]);
    assert_eq!((code, &*stdout), (3, "n\n2\n"));
    assert!(stderr.contains("the records before it are used"), "{stderr}");
    assert_eq!(place.run(&[]).0, 2);
}

#[test]
fn a_critical_path_of_a_cut_archive_is_reported() {
    let place = Place::new();
    let (begin, end) = (EventKind::AsyncBegin { id: 7 }, EventKind::AsyncEnd { id: 7 });
    let bytes = written(&[("request", 10, begin), ("request", 20, end), ("cut", 30, begin)]);
    fs::write(place.path().join("cut.fxt"), &bytes[..bytes.len() - 8]).unwrap();
    let sql = "SELECT count(*) > 0 AS has_rows FROM critical_path(7)";
    let (code, stdout, stderr) = place.run(&["cut.fxt", sql]);
    assert_eq!((code, &*stdout), (3, "has_rows\ntrue\n"));
    assert!(stderr.contains("the records before it are used"), "{stderr}");
}

#[test]
fn the_first_malformed_record_is_reported() {
    let place = Place::new();
    // An event with a time, but without a thread.
    let malformed = [(4u64 | 2 << 4).to_le_bytes(), [0; 8]].concat();
    fs::write(place.path().join("a.fxt"), [archive(), malformed].concat()).unwrap();
    let (code, _, stderr) = place.run(&["a.fxt", "SELECT count(*) FROM spans"]);
    assert_eq!(code, 3, "{stderr}");
    assert!(stderr.contains("malformed records, skipped: 1\n"), "{stderr}");
    assert!(stderr.contains("first malformed record: "), "{stderr}");
}

/// The reader of the output has closed it.
#[test]
fn a_closed_output_is_no_panic() {
    let place = Place::new();
    for arguments in [&["--list"][..], &["a.fxt", ".schema"], &["--lake", "add", "store", "a.fxt"]]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trace-query"));
        command.args(arguments).current_dir(place.path());
        let (closed, _) = UnixStream::pair().unwrap();
        let output = command.stdout(OwnedFd::from(closed)).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), text.as_str()), (Some(0), ""), "{arguments:?}");
    }
}
