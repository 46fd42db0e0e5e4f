//! Measures instruction traces: the engines, and the decoders and the encoder.
//!
//! ```text
//! cargo bench -p trace-insntrace [-- FOLDER [ROUNDS]]
//! ```
//!
//! The engines are compared with the same programs untraced, and with single steps by ptrace and
//! nothing else: instructions a second, and bits of packets an instruction. Where the processor has
//! Intel PT, it traces them, too.
//!
//! The decoders and the encoder are compared with libipt's, if its headers are installed (Debian:
//! `libipt-dev`). There are three traces: a walk through a random program, and a run of `sort`
//! under the step engine, as it is and without the time stamps of its calls, which hardware does
//! not write. With a folder, the traces are kept there and used again, for programs that count
//! instructions.

mod clock;
mod decoders;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod engines;
mod libipt;
#[path = "../../tests/common/random.rs"]
mod random;
mod sample;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod sort;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../../tests/common/stepped.rs"]
mod stepped;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod untraced;
#[path = "../../tests/common/walk.rs"]
mod walk;

use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test` only compiles it.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let mut others = arguments.iter().filter(|argument| *argument != "--bench");
    let folder = others.next().map(Path::new);
    let rounds = others.next().map(|rounds| rounds.parse().expect("a number"));
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    if !folder.is_some_and(Path::exists) {
        engines::run();
    }
    decoders::run(folder, rounds);
}
