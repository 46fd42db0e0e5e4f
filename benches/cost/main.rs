//! Measures the cost of trace points, as ratios to one read of the raw clock in the same run.
//!
//! ```text
//! cargo bench --bench cost
//! trace record -m circular --format xray -o DIR -- target/release/deps/cost-HASH --bench
//! ```
//!
//! Each figure is the minimum over interleaved repetitions of the traced thread's CPU time: other
//! load on the machine makes times longer, never shorter. "Two threads" runs one on each of two
//! cores.

mod code_size;
mod measure;
mod more;
mod points;
mod report;

fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        // A benchmark, which `cargo test` must not run.
        return;
    }
    if std::env::var_os("TRACE_SOCKET").is_some() {
        // Of `trace record`, which chooses the format.
        let trace = trace_runtime::builder().categories(["*", "-off"]).init();
        let figures = measure::figures();
        drop(trace);
        report::print(&figures, true);
        return;
    }
    let path = std::env::temp_dir().join(format!("trace-cost-{}.fxt", std::process::id()));
    let trace = trace_runtime::builder()
        .output(&path)
        .buffer_size(64 << 20)
        .circular()
        .categories(["*", "-off"])
        .init();
    let figures = measure::figures();
    drop(trace);
    let archive = std::fs::metadata(&path).map(|metadata| metadata.len());
    let _removed = std::fs::remove_file(&path);
    report::print(&figures, archive.is_ok_and(|length| length > 1 << 20));
}
