//! Many events a second: system calls, with an event at the begin and at the end of each.

use std::fs::File;
use std::time::{Duration, Instant};

use trace_format::{EventKind, Reader, Record};

use crate::process::{self, cpu_nanos};
use crate::raw::{RawTrace, CALLS};
use crate::recording::Recording;

const TIME: Duration = Duration::from_secs(10);

/// The time after which the program continues with its next system calls.
const STEP: Duration = Duration::from_millis(1);

/// Calls getppid(2), so that there are this many events a second. Prints the number of calls, and
/// the time in nanoseconds.
pub(crate) fn run(rate: u64) {
    let (start, mut calls) = (Instant::now(), 0);
    loop {
        let elapsed = start.elapsed().min(TIME);
        let due = (rate as f64 / 2.0 * elapsed.as_secs_f64()) as u64;
        while calls < due {
            std::hint::black_box(rustix::process::getppid());
            calls += 1;
        }
        if elapsed == TIME {
            break;
        }
        std::thread::sleep(STEP);
    }
    println!("{calls} {} {}", start.elapsed().as_nanos(), cpu_nanos());
}

/// Prints the table.
pub(crate) fn print() {
    println!("## System calls, {} s\n", TIME.as_secs());
    println!(
        "| events a second | events | missing | dropped by the kernel | lost by the helper | \
         helper's CPU, % | an event, ns | program's time, s | raw reader's CPU, % |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for rate in [0, 100_000, 300_000, 1_000_000] {
        measure(rate);
    }
    println!();
}

fn measure(rate: u64) {
    let raw = RawTrace::start(&CALLS);
    let numbers = process::numbers(&format!("calls {rate}"));
    let raw = raw.end() as f64 / numbers[1] as f64 * 100.0;
    let recording = Recording::start("kernel:syscall");
    let numbers = process::numbers(&format!("calls {rate}"));
    let &[calls, nanos, _] = &numbers[..] else { panic!("{numbers:?}") };
    let recorded = recording.end();
    let missing = calls - count(&File::open(&recorded.archive).expect("the archive"));
    let share = recorded.cpu_nanos as f64 / nanos as f64 * 100.0;
    let each = recorded.cpu_nanos as f64 / (calls * 2).max(1) as f64;
    println!(
        "| {rate} | {} | {} | {} | {} | {share:.2} | {each:.0} | {:.2} | {raw:.2} |",
        calls * 2,
        missing * 2,
        recorded.dropped,
        recorded.lost,
        nanos as f64 / 1e9
    );
}

/// Returns the number of calls of getppid(2) with begin and end in an archive.
fn count(archive: &File) -> u64 {
    let mut reader = Reader::new(std::io::BufReader::with_capacity(1 << 20, archive));
    let mut number = 0;
    while let Some(item) = reader.next().expect("the archive is well-formed") {
        let Record::Event(event) = &item.record else { continue };
        let is_complete = matches!(event.kind, EventKind::DurationComplete { .. });
        number += u64::from(is_complete && item.text(event.name) == "getppid");
    }
    number
}
