//! The table.

use crate::code_size;
use crate::measure::{Base, Figure};

/// Prints the figures as a Markdown table, and the machine.
pub(crate) fn print(figures: &[Figure], recorded: bool) {
    assert!(recorded, "the archive has the measured events");
    let minimum = |what: &str| {
        figures.iter().find(|figure| figure.what == what).map_or(0.0, |figure| figure.minimum)
    };
    let (clock, empty, call) =
        (minimum("raw clock read"), minimum("empty loop"), minimum("function call"));
    println!("Machine: {}, {} cores, {}\n", cpu(), cores(), kernel());
    println!("| what | ns, minimum / median | against the raw clock |\n|---|---|---|");
    for figure in figures {
        let ratio = match figure.base {
            Base::Itself => "–".to_owned(),
            Base::Empty => format!("{:.2} ns beyond an empty loop", figure.minimum - empty),
            Base::Clocks(reads) => {
                format!("{:.2} × {reads} reads", figure.minimum / (reads * clock))
            }
            Base::Beyond(other) => {
                format!("{:.2} ns beyond the {other}", figure.minimum - minimum(other))
            }
            Base::Loop(other) => {
                format!("{:.2} × the {other}", figure.minimum / minimum(other))
            }
            Base::ClocksAndCall(reads) => {
                format!(
                    "{:.2} × {reads} reads, without the call",
                    (figure.minimum - call + empty) / (reads * clock)
                )
            }
        };
        println!("| {} | {:.2} / {:.2} | {ratio} |", figure.what, figure.minimum, figure.median);
    }
    println!();
    code_size::print();
}

fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, model)| model.to_owned())
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn kernel() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("Linux {}", release.trim())
}
