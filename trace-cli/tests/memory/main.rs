//! The memory of the commands does not grow with the file.
//!
//! ```sh
//! MEMORY_MB=10,1000 cargo test --release -p trace-cli --test memory -- --nocapture
//! ```
//!
//! prints a table for archives of these sizes. The JSON is converted from a quarter of the archive,
//! so it has about the archive's size.

mod archive;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use wait4::Wait4;

/// The default sizes of the archives in MB.
const SIZES: [u64; 2] = [2, 24];

/// The limit of memory in MB that a command may use for any file: events in windows, durations to
/// sort, and a million open operations and flows.
const BOUNDED: u64 = 256;

/// Commands that read the archive `IN`, a quarter of it as `QUARTER` and as
/// JSON `JSON`.
const COMMANDS: [&str; 23] = [
    "check IN",
    "dump IN",
    "stats IN",
    "stats --flows IN",
    "stats --counters IN",
    "stats --slowest 3 IN",
    "diff IN QUARTER",
    "top IN",
    "critical-path IN",
    "critical-path --flow IN",
    "slice IN -o OUT",
    "slice IN --from 1ms --process app -o OUT",
    "merge IN QUARTER -o OUT",
    "symbolize IN -o OUT",
    "convert IN --to json -o OUT",
    "convert IN --to pftrace -o OUT",
    "convert IN --to csv -o OUT",
    "convert IN --to folded -o OUT",
    "convert IN --to speedscope -o OUT",
    "flamegraph IN -o OUT",
    "flamegraph IN --diff QUARTER -o OUT",
    "convert JSON --to fxt -o OUT",
    "convert JSON --to fxt --lenient -o OUT",
];

/// The cost of a command.
struct Cost {
    peak_bytes: u64,
    seconds: f64,
}

fn sizes() -> [u64; 2] {
    let Ok(value) = std::env::var("MEMORY_MB") else { return SIZES };
    let sizes: Vec<u64> = value.split(',').map(|size| size.parse().unwrap()).collect();
    sizes.try_into().expect("two sizes, as in MEMORY_MB=10,1000")
}

/// Creates the files of a size in a directory of their own. Returns the number of events.
fn make(directory: &Path, megabytes: u64) -> u64 {
    fs::create_dir(directory).unwrap();
    let events = archive::write(&directory.join("IN"), megabytes * 1_000_000).unwrap();
    archive::write(&directory.join("QUARTER"), megabytes * 250_000).unwrap();
    run(directory, "convert QUARTER --to json -o JSON");
    std::os::unix::fs::symlink("/dev/null", directory.join("OUT")).unwrap();
    events
}

fn run(directory: &Path, line: &str) -> Cost {
    let start = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_trace"));
    command.args(line.split(' ')).current_dir(directory);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Reading the output would make this process larger, and a child starts with the peak of its
    // parent.
    let used = command.spawn().unwrap().wait4().unwrap();
    assert!(used.status.success(), "{line}: {}", used.status);
    Cost { peak_bytes: used.rusage.maxrss, seconds: start.elapsed().as_secs_f64() }
}

#[test]
fn memory_does_not_grow_with_the_file() {
    let place = tempfile::tempdir().unwrap();
    let [small, large] = sizes();
    let directories = [place.path().join("small"), place.path().join("large")];
    make(&directories[0], small);
    make(&directories[1], large);
    // A command that keeps a whole file, or all of its durations, exceeds this.
    let limit = BOUNDED.min((large - small) * 2 / 3) * 1_000_000;
    println!("{:44} {small:>4} MB {large:>9} MB", "peak memory in MB, and seconds");
    let grows = |line: &&str| {
        let [of_small, of_large] = directories.each_ref().map(|directory| run(directory, line));
        println!(
            "{line:44} {:7.1} {:12.1} {:7.1} s",
            of_small.peak_bytes as f64 / 1e6,
            of_large.peak_bytes as f64 / 1e6,
            of_large.seconds
        );
        of_large.peak_bytes > of_small.peak_bytes + limit
    };
    // Times are measured alone.
    let at_once = if std::env::var_os("MEMORY_MB").is_some() { 1 } else { 2 };
    let failures: Vec<&str> = thread::scope(|scope| {
        let parts = COMMANDS.chunks(COMMANDS.len().div_ceil(at_once));
        let threads =
            parts.map(|part| scope.spawn(move || part.iter().copied().filter(grows).collect()));
        let threads: Vec<thread::ScopedJoinHandle<'_, Vec<&str>>> = threads.collect();
        threads.into_iter().flat_map(|it| it.join().unwrap()).collect()
    });
    assert!(failures.is_empty(), "memory grows with the file: {failures:?}");
}

/// `critical-path` holds the name of an operation that ran beside the slowest one. `diff` has rows
/// for the names with the most time.
#[test]
fn names_take_little_memory() {
    let place = tempfile::tempdir().unwrap();
    let archives = [50_000, 250_000].map(|number| {
        let directory = place.path().join(number.to_string());
        fs::create_dir(&directory).unwrap();
        archive::write_names(&directory.join("IN"), number).unwrap();
        (number, directory)
    });
    for (line, limit) in [("critical-path IN", 450), ("diff IN IN", 250)] {
        let [small, large] = archives.each_ref().map(|(_, place)| run(place, line).peak_bytes);
        let each = large.saturating_sub(small) / (archives[1].0 - archives[0].0);
        println!("{line}: {each} bytes for a name");
        assert!(each <= limit, "{line}: {each} bytes for a name");
    }
}

/// `stats` and `top` have rows for at most 262,144 names, and report how many have none.
#[test]
fn names_beyond_the_rows_take_little_memory() {
    let place = tempfile::tempdir().unwrap();
    let archives = [280_000, 480_000].map(|number| {
        let directory = place.path().join(number.to_string());
        fs::create_dir(&directory).unwrap();
        archive::write_handler(&directory.join("IN"), number).unwrap();
        (number, directory)
    });
    for line in ["top IN", "stats --limit 3 IN"] {
        let [small, large] = archives.each_ref().map(|(_, place)| run(place, line).peak_bytes);
        let each = large.saturating_sub(small) / (archives[1].0 - archives[0].0);
        println!("{line}: {each} bytes for a name");
        assert!(each <= 400, "{line}: {each} bytes for a name");
        let mut command = Command::new(env!("CARGO_BIN_EXE_trace"));
        let output = command.args(line.split(' ')).current_dir(&archives[0].1).output().unwrap();
        let messages = String::from_utf8(output.stderr).unwrap();
        assert!(messages.contains("names without a row, too many: 131072"), "{messages}");
    }
}

/// Half of the first 65,536 names are joined.
#[test]
fn names_that_are_not_compared_are_reported() {
    let place = tempfile::tempdir().unwrap();
    archive::write_names(&place.path().join("IN"), 70_000).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_trace"));
    let output = command.args(["diff", "IN", "IN"]).current_dir(place.path()).output().unwrap();
    let messages = String::from_utf8(output.stderr).unwrap();
    let message = "IN: too many names, not compared: 32768";
    assert_eq!(messages.matches(message).count(), 2, "{messages}");
}

/// A name that takes most of its time after it was joined is unclear. The other names fill the
/// table and the window in which events are sorted.
#[test]
fn names_with_much_time_are_unclear() {
    let place = tempfile::tempdir().unwrap();
    archive::write_handler(&place.path().join("IN"), 90_000).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_trace"));
    let line = ["diff", "IN", "IN", "--all", "--fail-on-unclear", "-n", "handler"];
    let output = command.args(line).current_dir(place.path()).output().unwrap();
    let messages = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(5), "{messages}");
    assert_eq!(messages.matches("names with much time, not compared: 1, ").count(), 2);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("unclear  app:handler"), "{table}");
}

/// What an archive makes a command keep for each provider and blob is bounded.
#[test]
fn many_providers_and_blobs_take_little_memory() {
    let place = tempfile::tempdir().unwrap();
    archive::write_providers(&place.path().join("PROVIDERS"), 20_000).unwrap();
    archive::write_parts(&place.path().join("PARTS"), 20_000).unwrap();
    let lines = [
        "slice PROVIDERS -o out.fxt",
        "merge PROVIDERS -o out.fxt",
        "convert PARTS --to json -o out.json",
        "convert PARTS --to pftrace -o out.pftrace",
    ];
    for line in lines {
        let peak = run(place.path(), line).peak_bytes / 1_000_000;
        println!("{line}: {peak} MB");
        assert!(peak <= BOUNDED, "{line}: {peak} MB");
    }
}

/// The timeline keeps all drawn events. The limit is in its help.
#[test]
fn a_timeline_takes_a_hundred_bytes_for_an_event() {
    let place = tempfile::tempdir().unwrap();
    let [small, large] = [("small", 1), ("large", 11)].map(|(name, megabytes)| {
        let directory = place.path().join(name);
        let events = make(&directory, megabytes);
        (events, run(&directory, "timeline IN -o out.html").peak_bytes)
    });
    let each = (large.1 - small.1) / (large.0 - small.0);
    assert!((20..=100).contains(&each), "{each} bytes for an event");
}
