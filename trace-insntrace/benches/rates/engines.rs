//! The engines that trace without hardware, and single steps by ptrace and nothing else.

use std::process::{Command, Stdio};
use std::time::Instant;

use trace_insntrace::hardware::Pmu;
use trace_insntrace::pt::Writer;
use trace_insntrace::step::{Engine, Options, Tracer};

use crate::stepped::{options, program};

const ROUNDS: usize = 3;

/// The number of steps of a round.
const STEPS: u64 = 50_000;

/// Instructions a second, and bits an instruction.
type Rate = (f64, f64);

/// Prints the rates for each program.
pub(crate) fn run() {
    println!("{:>24} {:>8} {:>14} {:>8} {:>8}", "", "", "instructions/s", "of bare", "bits");
    let (ours, list) = (program("program.c"), ["/bin/ls", "-l", "/usr/bin"]);
    let ours = [ours.to_str().unwrap()];
    for arguments in [&ours[..], &list, &["/bin/sh", "-c", "while :; do :; done"]] {
        let bare = best(|| bare(arguments));
        for (name, rate) in [
            ("bare", bare),
            ("step", best(|| traced(arguments, Engine::Step))),
            ("block", best(|| traced(arguments, Engine::Block))),
        ] {
            let part = rate.0 / bare.0;
            let (speed, bits) = rate;
            let program = arguments[0].rsplit('/').next().unwrap();
            println!("{program:>24} {name:>8} {speed:>14.0} {part:>8.2} {bits:>8.2}");
        }
    }
    match Pmu::find() {
        Ok(_) => println!("the hardware engine is not measured"),
        Err(missing) => println!("the hardware engine is not measured: {missing}"),
    }
}

fn best(measure: impl Fn() -> Rate) -> Rate {
    let rates = (0..ROUNDS).map(|_| measure());
    rates.max_by(|one, other| one.0.total_cmp(&other.0)).unwrap()
}

/// Steps without reading registers or code.
fn bare(arguments: &[&str]) -> Rate {
    let mut command = Command::new(program("bare.c"));
    command.arg(STEPS.to_string()).args(arguments).stderr(Stdio::null());
    let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let mut numbers = output.split_ascii_whitespace().map(|number| number.parse().unwrap());
    let (steps, nanos): (f64, f64) = (numbers.next().unwrap(), numbers.next().unwrap());
    (steps / nanos * 1e9, 0.0)
}

fn traced(arguments: &[&str], engine: Engine) -> Rate {
    let mut command = Command::new(arguments[0]);
    command.args(&arguments[1..]).stdout(Stdio::null());
    let settings = Options { engine, budget: Some(STEPS), ..options(Writer::new()) };
    let begin = Instant::now();
    let mut tracer = Tracer::start(&mut command, settings).unwrap();
    let (mut instructions, mut bytes) = (0_u64, 0);
    while tracer.step().unwrap().is_some() {
        instructions += 1;
    }
    let seconds = begin.elapsed().as_secs_f64();
    for (_, packets) in tracer.take_packets() {
        bytes += packets.len();
    }
    // This fails only if the program has ended.
    let _ = tracer.child_mut().unwrap().kill();
    tracer.wait().unwrap();
    (instructions as f64 / seconds, bytes as f64 * 8.0 / instructions as f64)
}
