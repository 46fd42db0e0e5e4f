//! What recording the kernel's events costs, and what it loses. Requires root and tracefs.
//!
//! ```text
//! cargo bench --bench kernel
//! ```

mod calls;
mod helper;
mod perf;
mod process;
mod raw;
mod recording;
mod switches;

use std::env;

/// The role of a process that the benchmark starts, with arguments.
const ROLE: &str = "TRACE_BENCH_KERNEL";

fn main() {
    if let Ok(role) = env::var(ROLE) {
        let words: Vec<&str> = role.split(' ').collect();
        return match words[..] {
            ["helper", categories, buffer, thread] => helper::run(categories, buffer, thread),
            ["calls", rate] => calls::run(process::number(rate)),
            ["switches", count] => switches::run(process::number(count)),
            _ => panic!("unknown role {role}"),
        };
    }
    if !env::args().any(|argument| argument == "--bench") {
        // A benchmark, which `cargo test` must not run.
        return;
    }
    if !rustix::process::geteuid().is_root() || !raw::is_mounted() {
        println!("skipped: requires root and tracefs");
        return;
    }
    calls::print();
    switches::print();
}
