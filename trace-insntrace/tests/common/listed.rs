//! Lists of executed instructions that are made without our code: by a stepper in C, which decodes
//! nothing.
#![allow(dead_code)] // Not every test uses all of it.

use std::ops::Range;
use std::process::{Command, Stdio};

use trace_insntrace::flow::{Event, Item};
use trace_insntrace::pt::Writer;
use trace_insntrace::recording::{SpaceId, TraceDecoder, TraceId};
use trace_insntrace::step::{Engine, Options, Tracer};

use crate::stepped::{finish, options, program, Stepped};

/// The address space of the program. The first one is that of `fixed.c`.
pub(crate) const SPACE: SpaceId = SpaceId(1);

/// More than the instructions that `fixed.c` executes before the program.
const FIXED_STEPS: u64 = 100_000;

/// The instructions that a program executes.
pub(crate) struct Listed {
    /// The addresses of the vDSO.
    pub(crate) vdso: Range<u64>,
    /// The addresses by thread, in the order of their start.
    pub(crate) threads: Vec<Vec<u64>>,
}

impl Listed {
    /// Runs a program without random addresses for at most so many steps.
    #[track_caller]
    pub(crate) fn new(arguments: &[&str], most: Option<u64>) -> Self {
        let mut command = Command::new(program("bare.c"));
        command.arg("list").arg(most.unwrap_or(0).to_string()).args(arguments);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let mut lines = output.lines().map(|line| line.split_once(' ').unwrap());
        let (start, end) = lines.next().expect("the stepper starts the program");
        let mut listed = Self { vdso: hex(start)..hex(end), threads: Vec::new() };
        for (thread, ip) in lines {
            let thread: usize = thread.parse().unwrap();
            if listed.threads.len() <= thread {
                listed.threads.resize_with(thread + 1, Vec::new);
            }
            listed.threads[thread].push(hex(ip));
        }
        listed
    }

    /// Returns the instructions by thread outside of the vDSO, which repeats its work when the
    /// kernel changes the time meanwhile.
    pub(crate) fn outside_vdso(&self) -> Vec<Vec<u64>> {
        let outside = |ip: &u64| !self.vdso.contains(ip);
        let of_thread = |ips: &Vec<u64>| ips.iter().copied().filter(outside).collect();
        self.threads.iter().map(of_thread).collect()
    }
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap()
}

/// Traces a program as it is listed. With `most` steps, the trace has a few more.
pub(crate) fn traced(arguments: &[&str], engine: Engine, most: Option<u64>) -> Stepped {
    let mut command = Command::new(program("fixed.c"));
    // At its start, a program reads the whole environment.
    command.args(arguments).env_clear();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let budget = most.map(|most| most + FIXED_STEPS);
    let settings = Options { engine, budget, ..options(Writer::new()) };
    let mut tracer = Tracer::start(&mut command, settings).unwrap();
    let run = finish(&mut tracer);
    // This fails only if the program has ended.
    let _ = tracer.child_mut().unwrap().kill();
    tracer.wait().unwrap();
    run
}

/// Returns the addresses that our decoder finds in the trace of a thread, and `None` for each
/// reported gap.
pub(crate) fn decoded(run: &Stepped, trace: TraceId) -> Vec<Option<u64>> {
    let mut decoder = TraceDecoder::new(&run.notes, trace, &run.packets[&trace][..]);
    let mut found = Vec::new();
    while let Some(item) = decoder.next_item().unwrap() {
        if decoder.space() != Some(SPACE) {
            continue;
        }
        match item.unwrap() {
            Item::Instruction(instruction) => found.push(Some(instruction.ip)),
            Item::Event(Event::Overflow { .. }) => found.push(None),
            Item::Event(_) => {}
        }
    }
    found
}
