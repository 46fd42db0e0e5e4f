//! How much memory the commands take: no more for a long file than for a short
//! one.
//!
//! ```sh
//! MEMORY_MB=10,1000 cargo test --release -p trace-cli --test memory -- --nocapture
//! ```
//!
//! prints a table for archives of these sizes. JSON is of a quarter of the
//! archive, which makes it of about the same size.

mod archive;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use wait4::Wait4;

/// The sizes of the archives in MB, if nothing else is said.
const SIZES: [u64; 2] = [2, 24];

/// What is kept of every file until there is enough of it, in MB: events in
/// windows, durations to be sorted, a million operations and as many flows that
/// wait for their other half.
const BOUNDED: u64 = 256;

/// Commands that read the archive `IN`, a quarter of it as `QUARTER` and as
/// JSON `JSON`.
const COMMANDS: [&str; 20] = [
    "check IN",
    "dump IN",
    "stats IN",
    "stats --flows IN",
    "stats --counters IN",
    "diff IN QUARTER",
    "top IN",
    "top --flow IN",
    "slice IN -o OUT",
    "slice IN --from 1ms --process app -o OUT",
    "merge IN QUARTER -o OUT",
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

/// What a command took.
struct Cost {
    peak_bytes: u64,
    seconds: f64,
}

fn sizes() -> [u64; 2] {
    let Ok(given) = std::env::var("MEMORY_MB") else { return SIZES };
    let sizes: Vec<u64> = given.split(',').map(|size| size.parse().unwrap()).collect();
    sizes.try_into().expect("two sizes, as in MEMORY_MB=10,1000")
}

/// Makes the files of a size in a directory of its own; returns the number of
/// events.
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
    // Waiting for the output too would make this process larger, and a child
    // begins with the peak of its parent.
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
    // What holds all of a file, or all durations in it, takes more than that.
    let limit = BOUNDED.min((large - small) * 2 / 3) * 1_000_000;
    let mut failures = Vec::new();
    println!("{:44} {small:>4} MB {large:>9} MB", "peak memory in MB, and seconds");
    for line in COMMANDS {
        let [of_small, of_large] = directories.each_ref().map(|directory| run(directory, line));
        println!(
            "{line:44} {:7.1} {:12.1} {:7.1} s",
            of_small.peak_bytes as f64 / 1e6,
            of_large.peak_bytes as f64 / 1e6,
            of_large.seconds
        );
        if of_large.peak_bytes > of_small.peak_bytes + limit {
            failures.push(line);
        }
    }
    assert!(failures.is_empty(), "memory grows with the file: {failures:?}");
}

/// What is drawn is held: the help says how much of it.
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
