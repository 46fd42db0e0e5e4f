//! A program in C under the step engine.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use trace_insntrace::flow::Image;
use trace_insntrace::pt::Writer;
use trace_insntrace::step::{StepEnd, Stepper};

/// The output of the program.
pub(crate) const OUTPUT: &str = "0 100 100 105 copied\n";

/// A run of the program.
pub(crate) struct Stepped {
    pub(crate) executed: Vec<u64>,
    pub(crate) packets: Vec<u8>,
    pub(crate) image: Image,
}

/// Runs the program to its end, and checks its output.
pub(crate) fn run(writer: Writer) -> Stepped {
    let mut command = Command::new(program());
    command.stdout(Stdio::piped());
    let mut stepper = Stepper::start(&mut command, writer, || 0).unwrap();
    let mut executed = Vec::new();
    while let Some(ip) = stepper.step().unwrap() {
        executed.push(ip);
    }
    let mut output = String::new();
    let stdout = stepper.child_mut().stdout.take();
    stdout.unwrap().read_to_string(&mut output).unwrap();
    assert_eq!(output, OUTPUT);
    assert_eq!(stepper.end(), Some(StepEnd::Exited(7)));
    Stepped { executed, packets: stepper.take_packets(), image: stepper.image().clone() }
}

/// Compiles the program once, statically if the system has the libraries: it then executes fewer
/// instructions.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let name = format!("{}-stepped", env!("CARGO_CRATE_NAME"));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/step/program.c");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let compile = |options: &[&str]| {
            let mut command = Command::new(&compiler);
            command.args(options).arg(source).arg("-o").arg(&path).status().unwrap().success()
        };
        assert!(compile(&["-O1", "-static"]) || compile(&["-O1"]));
        path
    })
}
