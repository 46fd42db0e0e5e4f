//! What trace points cost to compile: a crate with 1,000 scopes and one with 500 attributes, with
//! this tracer, with others, and without.
//!
//! ```text
//! cargo bench --bench compile
//! ```
//!
//! Each line is a package of its own in a scratch directory; cargo fetches the others' newest
//! versions. "All" is the first build, with everything it depends on; "crate" is the crate alone,
//! built again, the least of three times.

mod package;
mod subjects;

use std::time::Duration;

use package::Package;
use subjects::{Subject, ATTRIBUTES, SCOPES};

/// How often the crate is built again.
const ROUNDS: usize = 3;

fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        // Run as a test, which it is not.
        return;
    }
    let scratch = tempfile::tempdir().expect("a directory for the packages");
    report("1,000 scopes", SCOPES, scratch.path());
    report("500 attributes", ATTRIBUTES, scratch.path());
}

fn report(title: &str, subjects: &[Subject], scratch: &std::path::Path) {
    println!("\n{title}: seconds\n");
    println!("| | debug, all | debug, crate | release, all | release, crate | program, KiB |");
    println!("|---|---|---|---|---|---|");
    for subject in subjects {
        match measure(subject, scratch) {
            Ok(line) => println!("| {} | {line} |", subject.name),
            Err(error) => println!("| {} | not built: {error} | | | | |", subject.name),
        }
    }
}

fn measure(subject: &Subject, scratch: &std::path::Path) -> Result<String, String> {
    let package = Package::create(scratch, subject).map_err(|error| error.to_string())?;
    package.fetch()?;
    let mut columns = Vec::new();
    for release in [false, true] {
        let all = package.build(release)?;
        let again: Result<Vec<Duration>, String> =
            (0..ROUNDS).map(|_| package.build_again(release)).collect();
        let again = again?.into_iter().min().unwrap_or_default();
        columns.extend([seconds(all), seconds(again)]);
    }
    columns.push(format!("{}", package.program_size() >> 10));
    Ok(columns.join(" | "))
}

fn seconds(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64())
}
