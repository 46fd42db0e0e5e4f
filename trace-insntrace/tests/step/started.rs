//! What a program that is started under trace inherits.

use std::io::Read;
use std::process::{Command, Stdio};

use trace_insntrace::pt::Writer;
use trace_insntrace::recording::ThreadEnd;
use trace_insntrace::step::{IgnoredSignals, Options, Tracer};

use crate::stepped::{finish, options};

/// Returns the ignored signals of a program that is traced.
fn ignored_with(signals: IgnoredSignals) -> u64 {
    let mut command = Command::new("/bin/grep");
    command.args(["SigIgn:", "/proc/self/status"]).stdout(Stdio::piped());
    signals.pass_to(&mut command);
    let settings = Options { budget: Some(100), ..options(Writer::new()) };
    let mut tracer = Tracer::start(&mut command, settings).unwrap();
    finish(&mut tracer);
    let mut output = String::new();
    let stdout = tracer.child_mut().unwrap().stdout.take();
    stdout.unwrap().read_to_string(&mut output).unwrap();
    assert_eq!(tracer.wait().unwrap(), ThreadEnd::Exited(0));
    u64::from_str_radix(output.trim_start_matches("SigIgn:").trim(), 16).unwrap()
}

#[test]
fn a_program_ignores_the_signals_of_the_library_that_its_caller_ignores() {
    let of_others = ignored_with(IgnoredSignals::default());
    for set in [0, 1 << 31, 1 << 32, 3 << 31] {
        // SIGSEGV is none of them.
        let signals = IgnoredSignals::from_bits(set | 1 << 10);
        assert_eq!(signals.bits(), set);
        assert_eq!(ignored_with(signals), of_others | set);
    }
    assert_eq!(of_others & (3 << 31), 0);
}
