//! Measures the compile time of trace points: a crate with 1,000 scopes and one with 500
//! attributes, with this tracer, with others, and without.
//!
//! ```text
//! cargo bench --bench compile
//! ```
//!
//! Each line is a package in a scratch directory; cargo fetches the newest versions of the other
//! tracers. "All" is the first build, with all dependencies. "Crate" is a rebuild of the crate
//! alone, the fastest of three.

mod package;
mod subjects;

use std::time::Duration;

use package::Package;
use subjects::{Subject, ATTRIBUTES, SCOPES};

/// The number of rebuilds of the crate.
const ROUNDS: usize = 3;

fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        // A benchmark, which `cargo test` must not run.
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
        let rebuild: Result<Vec<Duration>, String> =
            (0..ROUNDS).map(|_| package.rebuild(release)).collect();
        let rebuild = rebuild?.into_iter().min().unwrap_or_default();
        columns.extend([seconds(all), seconds(rebuild)]);
    }
    columns.push(format!("{}", package.program_size() >> 10));
    Ok(columns.join(" | "))
}

fn seconds(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64())
}
