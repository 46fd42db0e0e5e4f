//! libipt's instruction decoder and ours find the executed instructions.

#[path = "../common/walk.rs"]
mod walk;

use std::path::Path;

use proptest::prelude::*;
use trace_insntrace::flow::{FlowDecoder, Image, Item};
use trace_insntrace::pt::Writer;
use walk::{Odds, Program, Walk, BASE};

use crate::random::Random;
use crate::Libipt;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use crate::{programs, stepped};

fn ours(image: Image, trace: &[u8]) -> Vec<u64> {
    let mut flow = FlowDecoder::new(image);
    flow.push(trace);
    flow.end();
    let mut ips = Vec::new();
    while let Some(item) = flow.next_item() {
        if let Item::Instruction(instruction) = item.unwrap() {
            ips.push(instruction.ip);
        }
    }
    ips
}

pub(crate) fn theirs(image: &Image, trace: &[u8]) -> Vec<u64> {
    let libipt = Libipt::new();
    let mut arguments = vec![libipt.file("trace", trace)];
    for (address, code) in image.sections() {
        let address = format!("{address:x}");
        arguments.push(libipt.file(&address, code));
        arguments.push(address.into());
    }
    let arguments: Vec<&Path> = arguments.iter().map(AsRef::as_ref).collect();
    let lines = libipt.run("insns", &arguments);
    let ip = |line: &str| u64::from_str_radix(line, 16).expect(line);
    lines.lines().map(ip).collect()
}

/// Compares each thread of a run, which has so many gaps at most, with libipt.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[track_caller]
fn assert_libipt_agrees(run: &stepped::Stepped, most_gaps: usize) {
    let gaps = run.check_with_gaps();
    assert!(gaps <= most_gaps, "{gaps} gaps");
    for trace in run.packets.keys() {
        let parts = run.parts(*trace).into_iter();
        let found: Vec<u64> =
            parts.flat_map(|(space, packets)| theirs(&run.image(space), packets)).collect();
        let executed = run.executed_by(*trace);
        let first = found.iter().zip(&executed).position(|(found, it)| found != it);
        assert_eq!((first, found.len()), (None, executed.len()), "{trace:?}");
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
#[ignore = "needs libipt-dev"]
fn libipt_finds_the_instructions_of_a_real_program() {
    for compress in [false, true] {
        assert_libipt_agrees(&stepped::run(Writer::new().compress_returns(compress)), 0);
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
#[ignore = "needs libipt-dev"]
fn libipt_finds_the_instructions_of_threads_children_and_other_programs() {
    let mut threads = std::process::Command::new(stepped::program("threads.c"));
    let mut list = std::process::Command::new("/bin/ls");
    let mut pipe = std::process::Command::new("/bin/sh");
    pipe.args(["-c", "printf 'b\\na\\n' | cat"]);
    for command in [&mut threads, list.arg("/"), &mut pipe] {
        let command = command.stdout(std::process::Stdio::null());
        let (run, end) = stepped::trace(command, stepped::options(Writer::new()));
        assert_eq!(end, trace_insntrace::recording::ThreadEnd::Exited(0));
        assert_libipt_agrees(&run, 0);
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
#[ignore = "needs libipt-dev"]
fn libipt_finds_the_instructions_of_blocks() {
    use std::process::{Command, Stdio};

    use trace_insntrace::step::{Engine, Options};

    let program = |name: &str| Command::new(stepped::program(name));
    let with = |mut command: Command, arguments: &[&str]| {
        command.args(arguments).stdout(Stdio::null());
        command
    };
    let script = "printf 'b\\na\\n' | sort; trap 'exit 5' USR1; (kill -USR1 $$); sleep 9";
    let commands = [
        (with(program("program.c"), &[]), None),
        (with(program("threads.c"), &[]), None),
        (with(program("hostile.c"), &["sums"]), None),
        (with(program("hostile.c"), &["signals"]), None),
        (with(program("hostile.c"), &["children"]), None),
        (with(program("hostile.c"), &["restartable"]), None),
        (with(Command::new("/bin/ls"), &["-l", "/"]), None),
        (with(Command::new("/bin/sh"), &["-c", script]), None),
        (with(Command::new("python3"), &["-c", "print(1)"]), Some(1_000_000)),
    ];
    for (mut command, budget) in commands {
        let settings = Options { engine: Engine::Block, budget, ..stepped::options(Writer::new()) };
        let (run, _) = stepped::trace(&mut command, settings);
        assert!(run.executed.len() > 1000, "{command:?}");
        // The kernel aborts its restartable sequences.
        let is_restartable = command.get_args().any(|it| it == "restartable");
        assert_libipt_agrees(&run, if is_restartable { 50 } else { 0 });
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
#[ignore = "needs libipt-dev"]
fn libipt_finds_the_rounds_of_direct_jumps_and_parts_of_a_program() {
    use trace_insntrace::step::{Engine, Options, Traced, TracedCalls, Tracer};

    let circles = stepped::program("circles.c");
    for engine in [Engine::Step, Engine::Block] {
        for circle in ["two", "four", "several", "inside", "call"] {
            let settings = Options { engine, ..stepped::options(Writer::new()) };
            let mut command = std::process::Command::new(&circles);
            let (run, _) = stepped::trace(command.args([circle, "alarms"]), settings);
            assert_libipt_agrees(&run, 0);
        }
    }
    let mut command = std::process::Command::new(stepped::program("parts.c"));
    let mut tracer = Tracer::start(&mut command, stepped::options(Writer::new())).unwrap();
    let of = Traced::Function("left".into());
    tracer.trace_calls(TracedCalls { of, nth: None, has_breakpoints: true });
    assert_libipt_agrees(&stepped::finish(&mut tracer), 0);
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
#[ignore = "needs libipt-dev, and a server"]
fn libipt_finds_the_instructions_of_an_async_server_whole_and_in_rings() {
    let both = programs::async_server(|| 0);
    assert_libipt_agrees(&both.whole, 0);
    assert_libipt_agrees(&both.ring, 0);
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
#[ignore = "needs libipt-dev"]
fn libipt_finds_the_instructions_of_published_programs_whole_and_in_rings() {
    for (name, both) in programs::stepped(|| 0) {
        println!("{name}: {} of {}", both.ring.executed.len(), both.whole.executed.len());
        assert_libipt_agrees(&both.whole, 0);
        assert_libipt_agrees(&both.ring, 0);
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
#[ignore = "needs libipt-dev"]
fn libipt_finds_the_instructions_of_a_script() {
    assert_libipt_agrees(&programs::script(|| 0), 0);
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
#[ignore = "needs libipt-dev"]
fn libipt_finds_the_instructions_of_threads_signals_and_children_in_rings() {
    use trace_insntrace::step::Engine;

    for engine in [Engine::Step, Engine::Block] {
        let both = programs::attached(|| 0, engine);
        assert_libipt_agrees(&both.whole, 0);
        assert_libipt_agrees(&both.ring, 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    #[ignore = "needs libipt-dev"]
    fn libipt_finds_the_instructions_that_we_find(
        seed in any::<u64>(),
        blocks in 2usize..60,
        compress in any::<bool>(),
        long in any::<bool>(),
    ) {
        let random = &mut Random(seed);
        let program = Program::new(random, blocks);
        let writer = Writer::new().compress_returns(compress).long_tnt(long);
        let odds = Odds { interrupt: 50, pause: 30, psb: 70, time: 20, overflow: 40 };
        let walk = Walk::new(&program, random, writer, 3000, odds);
        let mut image = Image::new();
        image.insert(BASE, &program.code);
        prop_assert_eq!(theirs(&image, &walk.trace), &walk.executed[..]);
        prop_assert_eq!(ours(image, &walk.trace), &walk.executed[..]);
    }
}
