//! The times of a start and of a stop.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Instant;

use trace_format::{Reader, Record};

use crate::daemon::{stop, Daemon};
use crate::percentile;
use crate::program::{boottime, Program};

/// Sessions for each number of programs.
const SESSIONS: usize = 100;
const BUFFER: u64 = 1 << 20;

/// Prints the table.
pub(crate) fn print() {
    println!(
        "| programs | start to a program's first record, ms: median, p99 | start to the reply, ms: \
         median, p99 | stop to the complete archive, ms: median, p99 |"
    );
    println!("|---|---|---|---|");
    for programs in [1, 50, 200] {
        let mut times = measure(programs);
        let columns = times.iter_mut().map(|nanos| {
            let mut at = |percent| percentile(nanos, percent) as f64 / 1e6;
            format!("{:.2}, {:.2}", at(50), at(99))
        });
        println!("| {programs} | {} |", columns.collect::<Vec<_>>().join(" | "));
    }
    println!();
}

/// Returns nanoseconds of all sessions: from the request to start to the first record of each
/// program and to the reply, and from the request to stop to the reply.
fn measure(number: usize) -> [Vec<u64>; 3] {
    let daemon = Daemon::start();
    let _programs = Program::start_many(&daemon.socket(), "announce", number);
    daemon.wait_for_programs(number);
    let mut controller = daemon.controller();
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..SESSIONS {
        let begin = boottime();
        daemon.record(&mut controller, BUFFER);
        times[1].push(boottime() - begin);
        let stopping = Instant::now();
        let summary = stop(&mut controller);
        times[2].push(stopping.elapsed().as_nanos() as u64);
        let first = first_records(&daemon.archive());
        assert_eq!((summary.providers.len(), first.len()), (number, number));
        times[0].extend(first.iter().map(|ticks| ticks - begin));
    }
    times
}

/// Returns the times of the first record of each program.
fn first_records(archive: &Path) -> Vec<u64> {
    let mut reader = Reader::new(BufReader::new(File::open(archive).expect("an archive")));
    let mut ticks = Vec::new();
    while let Some(item) = reader.next().expect("a well-formed archive") {
        match &item.record {
            Record::Event(event) if item.text(event.name) == "first" => ticks.push(event.ticks),
            _ => {}
        }
    }
    ticks
}
