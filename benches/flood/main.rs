//! Ten million scopes from one thread at full speed, under a manager on the other core. Measures
//! lost records, the time of the end, and memory.
//!
//! ```text
//! cargo bench --bench flood
//! ```

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use trace_manager::{ArchiveTarget, Manager, SessionConfig, SessionState};
use trace_protocol::mode::BufferingMode;
use trace_runtime::trace_duration;

const SCOPES: u64 = 10_000_000;
const BUFFER: u64 = 16 << 20;
const SMALL_BUFFER: u64 = 1 << 20;
const CHILD: &str = "TRACE_BENCH_FLOOD";

fn main() {
    if std::env::var_os(CHILD).is_some() {
        return flood();
    }
    if !std::env::args().any(|argument| argument == "--bench") {
        // A benchmark, which `cargo test` must not run.
        return;
    }
    println!(
        "{SCOPES} scopes, buffer of {} and {} MiB, archive in memory (`/dev/shm`) and on disk\n",
        BUFFER >> 20,
        SMALL_BUFFER >> 20
    );
    println!("| mode, archive | ns a scope | lost | events | end, ms | program's memory, MiB |\n|---|---|---|---|---|---|");
    for _ in 0..3 {
        run("streaming, memory", BufferingMode::Streaming, BUFFER, Path::new("/dev/shm"));
    }
    let disk = std::env::temp_dir();
    run("streaming, disk", BufferingMode::Streaming, BUFFER, &disk);
    run("circular, disk", BufferingMode::Circular, BUFFER, &disk);
    run("oneshot, disk", BufferingMode::Oneshot, BUFFER, &disk);
    for _ in 0..3 {
        run("circular, 1 MiB", BufferingMode::Circular, SMALL_BUFFER, &disk);
    }
}

/// The traced program. Prints nanoseconds per scope.
fn flood() {
    let _trace = trace_runtime::init();
    let start = Instant::now();
    for _ in 0..SCOPES {
        trace_duration!("flood", "scope");
    }
    println!("{:.1}", start.elapsed().as_nanos() as f64 / SCOPES as f64);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    println!("{}", peak.trim().trim_end_matches(" kB"));
}

fn run(what: &str, mode: BufferingMode, buffer_size: u64, directory: &Path) {
    let directory = tempfile::tempdir_in(directory).expect("a directory for the archive");
    let manager = Manager::bind(&directory.path().join("socket")).expect("a socket");
    let config = SessionConfig { mode, buffer_size, ..SessionConfig::default() };
    let target = ArchiveTarget::File(directory.path().join("flood.fxt"));
    let session = manager.start(config, target).expect("a session");
    session.wait_state(SessionState::Started, Duration::from_secs(1));
    let program = std::env::current_exe().expect("this program");
    let output = Command::new(program)
        .env(CHILD, "1")
        .env("TRACE_SOCKET", manager.path())
        .output()
        .expect("the child runs");
    let end = Instant::now();
    session.stop();
    let summary = session.join().expect("a summary");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines = text.lines();
    let (nanos, peak) = (
        lines.next().unwrap_or("?"),
        lines.next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0),
    );
    let (lost, events) = (summary.lost(), summary.events());
    println!(
        "| {what} | {nanos} | {lost} | {events} | {:.1} | {} |",
        end.elapsed().as_secs_f64() * 1e3,
        peak >> 10
    );
}
