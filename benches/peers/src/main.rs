//! Compares the cost of trace points with other tracers: the same loops, in the same run.
//!
//! The program starts one child of itself per tracer, so that tracers do not affect each other. It
//! then takes one measurement from each child in turn, in many rounds, so that load on the machine
//! affects all tracers alike. A measurement is the CPU time of the traced thread over one loop,
//! divided by the number of iterations. The report on stdout is Markdown; ratios are minimum to
//! minimum against the raw clock read of the same run.
//!
//! ```text
//! cargo bench --manifest-path benches/peers/Cargo.toml [-- --reps 16 --count 20000 --scopes 1000000 --only NAME,NAME]
//! ```
//!
//! No result depends on a time limit.

mod child;
mod clock;
mod driver;
mod killed;
mod machine;
mod options;
mod peer;
mod peers;
mod report;
mod samples;

use std::process::ExitCode;

use options::Options;

fn main() -> ExitCode {
    let outcome = match options::parse(std::env::args().skip(1)) {
        Ok(Options::Child { peer }) => child::serve(&peer),
        Ok(Options::Compare(plan)) => driver::compare(&plan).map(|table| print!("{table}")),
        Err(message) => {
            eprintln!("peers: {message}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peers: {error}");
            ExitCode::FAILURE
        }
    }
}
