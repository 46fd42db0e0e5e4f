//! Ten thousand threads of two hundred programs, in one session.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Instant;

use trace_format::{Reader, Record};

use crate::daemon::{events_and_lost, stop, Daemon};
use crate::process::Usage;
use crate::program::Program;

const PROGRAMS: usize = 200;
const THREADS: u64 = 50;
/// Events of a thread.
const EVENTS: u64 = 1_000;
const BUFFER: u64 = 4 << 20;

/// Prints the table.
pub(crate) fn print() {
    let daemon = Daemon::start();
    let role = format!("crowd {THREADS} {EVENTS}");
    let mut programs = Program::start_many(&daemon.socket(), &role, PROGRAMS);
    daemon.wait_for_programs(PROGRAMS);
    let mut controller = daemon.controller();
    daemon.record(&mut controller, BUFFER);
    let (begin, before) = (Instant::now(), Usage::of(daemon.pid()));
    programs.iter_mut().for_each(Program::go);
    let written: u64 = programs.iter_mut().map(|program| program.numbers()[0]).sum();
    let seconds = begin.elapsed().as_secs_f64();
    let cpu = Usage::of(daemon.pid()).since(before).cpu_nanos as f64 / 1e9;
    let stopping = Instant::now();
    let (_, lost) = events_and_lost(&stop(&mut controller));
    let stopped = stopping.elapsed().as_secs_f64() * 1e3;
    let archived = count(&daemon.archive());
    println!(
        "| programs | threads | events | in the archive | lost | time, s | daemon's CPU time, s | \
         stop, ms |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let threads = PROGRAMS as u64 * THREADS;
    println!(
        "| {PROGRAMS} | {threads} | {written} | {archived} | {lost} | {seconds:.1} | {cpu:.1} | \
         {stopped:.0} |\n"
    );
}

/// Counts the events of the programs in an archive.
fn count(archive: &Path) -> u64 {
    let mut reader = Reader::new(BufReader::new(File::open(archive).expect("an archive")));
    let mut events = 0;
    while let Some(item) = reader.next().expect("a well-formed archive") {
        if let Record::Event(event) = &item.record {
            events += u64::from(item.text(event.category) == "load");
        }
    }
    events
}
