//! A trace of a program that we did not write.

use std::process::{Command, Stdio};

use trace_insntrace::flow::Image;
use trace_insntrace::pt::Writer;
use trace_insntrace::recording::{Note, SpaceId};
use trace_insntrace::step::{Options, Tracer};

use crate::stepped::{finish, options, Stepped, FIRST};

/// The number of lines that are sorted.
const LINES: u64 = 20_000;

/// The number of steps that are recorded. A step takes about ten microseconds.
const STEPS: u64 = 1_500_000;

/// Returns the code and the packets of `sort`.
pub(crate) fn run() -> (Image, Vec<u8>) {
    let input = tempfile::NamedTempFile::new().expect("a file");
    let line = |number: u64| format!("{}\n", number * 7919 % 1_000_003);
    std::fs::write(input.path(), (0..LINES).map(line).collect::<String>()).expect("lines");
    let mut command = Command::new("sort");
    command.args(["--parallel", "1"]).arg(input.path()).env("LC_ALL", "C").stdout(Stdio::null());
    let clock = trace_protocol::clock::ticks;
    let options = Options { budget: Some(STEPS), clock, ..options(Writer::new()) };
    let mut tracer = Tracer::start(&mut command, options).expect("a traced program");
    let run = finish(&mut tracer);
    tracer.wait().expect("the program continues");
    let (space, packets) = run.parts(FIRST).pop().expect("a trace");
    (image(&run, space), packets.to_vec())
}

/// Returns the code as it is mapped, and not only what was executed: libipt is slower with many
/// sections.
fn image(run: &Stepped, of: SpaceId) -> Image {
    let mut image = Image::new();
    for note in &run.notes {
        let Note::Mapping { space, mapping } = note else { continue };
        let file = std::fs::read(&mapping.path).unwrap_or_default();
        let code = file.get(mapping.offset as usize..).unwrap_or_default();
        if *space == of {
            image.insert(mapping.address, &code[..code.len().min(mapping.size as usize)]);
        }
    }
    for (address, code) in run.image(of).sections() {
        let mut mapped = vec![0; code.len()];
        let found = image.read(address, &mut mapped);
        if mapped.get(..found) != Some(code) {
            image.insert(address, code);
        }
    }
    image
}
