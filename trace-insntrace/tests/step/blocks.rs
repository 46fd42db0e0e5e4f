//! The block engine: the same traces as the step engine's.

use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{kill_process, Pid, Signal};
use trace_insntrace::flow::{FlowDecoder, Item};
use trace_insntrace::pt::Writer;
use trace_insntrace::recording::{SpaceId, ThreadEnd};
use trace_insntrace::step::{Engine, Options, TracedRange, Tracer};

use crate::stepped::{self, finish, options, program, Stepped, FIRST};
use crate::{end, spawn, status, trace_and_release, waiting};

fn by_blocks() -> Options {
    Options { engine: Engine::Block, ..options(Writer::new()) }
}

/// Returns the first instructions of a program that runs without random addresses.
fn instructions(arguments: &[&str], engine: Engine, budget: Option<u64>) -> Vec<u64> {
    let mut command = Command::new(program("fixed.c"));
    // At its start, a program reads the whole environment.
    command.args(arguments).env_clear();
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut tracer =
        Tracer::start(&mut command, Options { engine, budget, ..by_blocks() }).unwrap();
    let run = finish(&mut tracer);
    // This fails only if the program has ended.
    let _ = tracer.child_mut().unwrap().kill();
    tracer.wait().unwrap();
    let parts = run.parts(FIRST).into_iter().filter(|(space, _)| *space == SpaceId(1));
    let decode = |(space, packets): (SpaceId, &[u8])| {
        let mut flow = FlowDecoder::new(run.image(space));
        flow.push(packets);
        flow.end();
        let items = std::iter::from_fn(move || flow.next_item());
        items.map(Result::unwrap).collect::<Vec<_>>()
    };
    let ip = |item| match item {
        Item::Instruction(instruction) => Some(instruction.ip),
        Item::Event(_) => None,
    };
    parts.flat_map(decode).filter_map(ip).collect()
}

#[track_caller]
fn assert_same(arguments: &[&str], budget: Option<u64>, least: usize) {
    let stepped = instructions(arguments, Engine::Step, budget);
    let blocks = instructions(arguments, Engine::Block, budget);
    let first = stepped.iter().zip(&blocks).position(|(stepped, block)| stepped != block);
    assert_eq!(first, None, "{arguments:?}: of {} and {}", stepped.len(), blocks.len());
    // Iterations of `rep` are steps, and count for the budget.
    let is_cut = budget.is_some() && blocks.len() >= stepped.len();
    assert!(is_cut || stepped.len() == blocks.len(), "{} {}", stepped.len(), blocks.len());
    assert!(stepped.len() > least, "{}", stepped.len());
}

#[test]
fn programs_execute_the_same_instructions_as_in_single_steps() {
    let path = program("program.c");
    assert_same(&[path.to_str().unwrap()], None, 5_000);
    assert_same(&["/bin/ls", "/"], Some(60_000), 30_000);
}

#[test]
#[ignore = "takes a minute"]
fn large_programs_execute_the_same_instructions_as_in_single_steps() {
    // Neither the clock nor the links of `/proc` (one a process), which differ from run to run.
    assert_same(
        &["/bin/ls", "-isR", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/step")],
        None,
        50_000,
    );
    assert_same(&["/usr/bin/sort", "/etc/passwd"], None, 20_000);
    let python = ["/usr/bin/python3", "-I", "-S", "-c", "print(sorted([3, 1, 2]))"];
    // Before it uses its random seed of hashes, which differs from run to run.
    assert_same(&python, Some(150_000), 100_000);
}

#[test]
fn every_kind_of_branch_is_traced() {
    let mut command = Command::new(program("program.c"));
    command.stdout(Stdio::piped());
    let mut tracer = Tracer::start(&mut command, by_blocks()).unwrap();
    let run = finish(&mut tracer);
    assert_eq!(output(&mut tracer), stepped::OUTPUT);
    assert_eq!(tracer.wait().unwrap(), ThreadEnd::Exited(7));
    run.check();
}

fn output(tracer: &mut Tracer) -> String {
    let mut output = String::new();
    let stdout = tracer.child_mut().unwrap().stdout.take();
    stdout.unwrap().read_to_string(&mut output).unwrap();
    output
}

#[test]
fn threads_children_and_changed_code_are_traced() {
    let mut command = Command::new(program("threads.c"));
    command.stdout(Stdio::piped());
    let mut tracer = Tracer::start(&mut command, by_blocks()).unwrap();
    let run = finish(&mut tracer);
    assert_eq!(output(&mut tracer), "42 43 44 2 1 0 5\n");
    assert_eq!(tracer.wait().unwrap(), ThreadEnd::Exited(0));
    assert_eq!(run.packets.len(), 4, "two more threads and a child");
    run.check();
}

#[test]
fn shells_that_execute_programs_and_kill_themselves_are_traced() {
    let mut command = Command::new("/bin/sh");
    let script = "/bin/sh -c 'exec /bin/sh -c \"exit 3\"'; [ $? = 3 ] && kill -TERM $$";
    let (run, end) = stepped::trace(command.args(["-c", script]), by_blocks());
    assert_eq!(end, ThreadEnd::Killed(15));
    assert_eq!(run.packets.len(), 2);
    run.check();
}

#[test]
fn the_budget_holds() {
    for budget in (1..30).chain([1001]) {
        let mut command = Command::new(program("program.c"));
        command.stdout(Stdio::piped());
        let settings = Options { budget: Some(budget), ..by_blocks() };
        let mut tracer = Tracer::start(&mut command, settings).unwrap();
        let run = finish(&mut tracer);
        assert_eq!(tracer.steps(), budget);
        assert_eq!(tracer.wait().unwrap(), ThreadEnd::Exited(7));
        assert_eq!(output(&mut tracer), stepped::OUTPUT);
        run.check();
        assert_eq!(run.notes.iter().find_map(end), Some((FIRST, ThreadEnd::Detached)));
    }
}

#[test]
fn only_the_instructions_of_a_range_are_traced() {
    let mut child = waiting();
    let ranges = vec![TracedRange::Symbol("add".into())];
    let settings = Options { ranges, budget: Some(2000), ..by_blocks() };
    let mut tracer = Tracer::attach(child.id(), settings).unwrap();
    let run = finish(&mut tracer);
    drop(tracer);
    child.kill().unwrap();
    child.wait().unwrap();
    run.check();
    let first = run.executed.iter().min_by_key(|it| it.ip).unwrap().ip;
    assert!(run.executed.len() > 100 && run.executed.len() < 2000, "{}", run.executed.len());
    assert!(run.executed.iter().all(|it| it.ip < first + 64));
}

/// Checks that the code of a process is that of its files.
#[track_caller]
fn assert_no_breakpoints(child: &Child) {
    let memory = std::fs::File::open(format!("/proc/{}/mem", child.id())).unwrap();
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", child.id())).unwrap();
    let mut compared = 0;
    for line in maps.lines() {
        let columns: Vec<_> = line.split_ascii_whitespace().collect();
        let &[addresses, "r-xp", offset, _, _, path] = &columns[..] else { continue };
        let Ok(file) = std::fs::File::open(path) else { continue };
        let hex = |text| u64::from_str_radix(text, 16).unwrap();
        let (start, end) = addresses.split_once('-').unwrap();
        let (mut found, mut expected) = (vec![0; (hex(end) - hex(start)) as usize], Vec::new());
        memory.read_exact_at(&mut found, hex(start)).unwrap();
        expected.resize(found.len(), 0);
        let size = file.read_at(&mut expected, hex(offset)).unwrap();
        assert!(found[..size] == expected[..size], "{line}");
        compared += size;
    }
    assert!(compared > 1000);
}

#[test]
fn a_process_that_runs_is_traced_and_released() {
    let child = waiting();
    let tracer = Tracer::attach(child.id(), by_blocks()).unwrap();
    trace_and_release(child, tracer, 500);
}

#[test]
fn no_breakpoint_stays_wherever_tracing_ends() {
    let mut child = spawn(Command::new(program("hostile.c")).arg("endless"));
    for round in 0..40 {
        let budget = (round % 2 == 0).then_some(50 + round * 97);
        let mut tracer = Tracer::attach(child.id(), Options { budget, ..by_blocks() }).unwrap();
        for _ in 0..200 + round * 31 {
            if tracer.step().unwrap().is_none() {
                break;
            }
        }
        if round % 3 == 0 {
            drop(tracer);
        } else {
            tracer.stop().unwrap();
            let mut run = Stepped::default();
            run.drain(&mut tracer);
        }
        assert_eq!(status(&child, "TracerPid:"), "0");
        assert_no_breakpoints(&child);
    }
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

#[test]
fn a_process_that_is_stopped_and_continued_is_traced() {
    let mut child = spawn(Command::new(program("hostile.c")).arg("endless"));
    let pid = Pid::from_child(&child);
    let mut tracer = Tracer::attach(child.id(), by_blocks()).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let run = std::thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..3 {
                for signal in [Signal::Stop, Signal::Cont] {
                    std::thread::sleep(Duration::from_millis(20));
                    kill_process(pid, signal).unwrap();
                }
            }
            stdin.write_all(b"x").unwrap();
        });
        finish(&mut tracer)
    });
    // The tracer, its parent too, has waited for it.
    child.wait().unwrap_err();
    run.check();
    let mut ends = run.notes.iter().filter_map(end);
    assert!(ends.any(|(_, end)| end == ThreadEnd::Exited(3)));
}

#[test]
fn one_thread_of_a_process_is_not_traced_by_blocks() {
    let error = Tracer::attach_thread(std::process::id(), by_blocks()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
}
