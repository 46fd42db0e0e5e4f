//! The engines, single steps by ptrace and nothing else, and programs that are not traced.

use std::process::{Command, Stdio};
use std::time::Instant;

use trace_insntrace::hardware::Pmu;
use trace_insntrace::pt::Writer;
use trace_insntrace::step::{Engine, Options, Tracer};

use crate::stepped::{options, program};
use crate::untraced::{self, Parts};

const ROUNDS: usize = 3;

/// The number of steps of a round.
const STEPS: u64 = 50_000;

/// Instructions a second, and bits an instruction.
type Rate = (f64, f64);

/// A program that is traced.
struct Traced<'a> {
    arguments: Vec<&'a str>,
    /// The same work in parts of known size, if there is any.
    parts: Option<Parts>,
}

/// Prints the rates for each program.
pub(crate) fn run() {
    println!(
        "{:>10} {:>9} {:>15} {:>9} {:>8} {:>10}",
        "program", "engine", "instructions/s", "of bare", "bits", "slow-down"
    );
    let ours = program("program.c");
    let ours = vec![ours.to_str().unwrap()];
    let programs = [
        Traced { arguments: ours, parts: None },
        Traced { arguments: vec!["/bin/ls", "-l", "/usr/bin"], parts: None },
        Traced { arguments: vec!["/bin/sh", "-c", "while :; do :; done"], parts: Some(sh) },
        Traced { arguments: vec!["/usr/bin/awk", "BEGIN { while (1) i++ }"], parts: Some(awk) },
    ];
    let pmu = Pmu::find();
    programs.iter().for_each(|program| measure(program, pmu.as_ref().ok()));
    if let Err(missing) = pmu {
        println!("hardware: not measured: no intel_pt here ({missing})");
    }
}

fn sh(parts: u64) -> Vec<String> {
    let script = format!("i={parts}; while :; do i=$((i - 1)); [ $i = 0 ] && exit; done");
    ["/bin/sh", "-c", &script].map(String::from).to_vec()
}

/// Its loop is shorter than that of the shell.
fn awk(parts: u64) -> Vec<String> {
    let script = format!("BEGIN {{ while (i < {}) i++ }}", 10 * parts);
    ["/usr/bin/awk", &script].map(String::from).to_vec()
}

fn measure(traced_program: &Traced<'_>, pmu: Option<&Pmu>) {
    let Traced { arguments, parts } = traced_program;
    let name = arguments[0].rsplit('/').next().unwrap();
    let instructions = parts.map(|parts| (parts, untraced::instructions(parts)));
    let full = instructions.map(|(parts, of_part)| {
        let seconds = untraced::seconds(parts, untraced::untraced);
        of_part / seconds
    });
    let bare = best(|| bare(arguments));
    let print = |engine: &str, (speed, bits): Rate| {
        let part = speed / bare.0;
        let slow_down = full.map_or("-".to_owned(), |full| format!("{:.2}", full / speed));
        println!("{name:>10} {engine:>9} {speed:>15.0} {part:>9.2} {bits:>8.2} {slow_down:>10}");
    };
    if let Some(full) = full {
        print("untraced", (full, 0.0));
    }
    print("bare", bare);
    print("step", best(|| traced(arguments, Engine::Step)));
    print("block", best(|| traced(arguments, Engine::Block)));
    if let (Some(pmu), Some((parts, of_part))) = (pmu, instructions) {
        let run = |command: &mut Command| untraced::by_hardware(pmu, command).expect("a trace");
        print("hardware", (of_part / untraced::seconds(parts, run), 0.0));
    }
}

fn best(measure: impl Fn() -> Rate) -> Rate {
    let rates = (0..ROUNDS).map(|_| measure());
    rates.max_by(|one, other| one.0.total_cmp(&other.0)).unwrap()
}

/// Steps without reading registers or code.
fn bare(arguments: &[&str]) -> Rate {
    let mut command = Command::new(program("bare.c"));
    command.arg("rate").arg(STEPS.to_string()).args(arguments).stderr(Stdio::null());
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
