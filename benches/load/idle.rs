//! What an idle daemon and idle programs cost.

use std::time::Duration;

use crate::daemon::Daemon;
use crate::percentile;
use crate::process::{memory, Usage};
use crate::program::Program;

const TIME: Duration = Duration::from_secs(60);
const BUFFER: u64 = 1 << 20;

/// Prints the tables.
pub(crate) fn print() {
    let seconds = TIME.as_secs();
    println!(
        "| programs | session | daemon: CPU time in {seconds} s, ms | daemon: wake-ups a second | \
         a program: CPU time in {seconds} s, ms | a program: wake-ups a second |"
    );
    println!("|---|---|---|---|---|---|");
    measure(0, false);
    measure(50, false);
    measure(200, false);
    measure(50, true);
    print_memory();
}

fn measure(number: usize, records: bool) {
    let daemon = Daemon::start();
    let programs = Program::start_many(&daemon.socket(), "idle", number);
    daemon.wait_for_programs(number);
    let mut controller = daemon.controller();
    if records {
        daemon.record(&mut controller, BUFFER);
    }
    // What registration and start have left to do.
    std::thread::sleep(Duration::from_secs(2));
    let pids: Vec<u32> =
        [daemon.pid()].into_iter().chain(programs.iter().map(Program::pid)).collect();
    let usage = || pids.iter().map(|pid| Usage::of(*pid)).collect::<Vec<_>>();
    let before = usage();
    std::thread::sleep(TIME);
    let used: Vec<Usage> =
        usage().into_iter().zip(before).map(|(now, then)| now.since(then)).collect();
    let columns = |usages: &[Usage]| {
        let mean = |value: fn(&Usage) -> u64| {
            usages.iter().map(value).sum::<u64>() as f64 / usages.len().max(1) as f64
        };
        let milliseconds = mean(|it| it.cpu_nanos) / 1e6;
        format!("{milliseconds:.2} | {:.2}", mean(|it| it.switches) / TIME.as_secs_f64())
    };
    let of_programs = match number {
        0 => "– | –".to_owned(),
        _ => columns(&used[1..]),
    };
    let session = if records { "streaming" } else { "none" };
    println!("| {number} | {session} | {} | {of_programs} |", columns(&used[..1]));
}

/// Prints the memory of the same program with and without `init`.
fn print_memory() {
    let daemon = Daemon::start();
    println!("\n| program | resident, KiB | private, KiB |\n|---|---|---|");
    for (name, role) in [("without `init`", "plain"), ("registered, idle", "idle")] {
        let programs = Program::start_many(&daemon.socket(), role, 20);
        std::thread::sleep(Duration::from_secs(1));
        let memory: Vec<[u64; 2]> = programs.iter().map(|it| memory(it.pid())).collect();
        let median = |index: usize| {
            let mut values: Vec<u64> = memory.iter().map(|values| values[index]).collect();
            percentile(&mut values, 50)
        };
        println!("| {name} | {} | {} |", median(0), median(1));
    }
    println!();
}
