//! A recording on disk, and its calls as an archive.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use trace_format::{EventKind, Reader, Record};
use trace_insntrace::print::{self, Format};
use trace_insntrace::pt;
use trace_insntrace::recording::{Clock, Recording, Writer};
use trace_insntrace::step::{Engine, Options, Tracer};
use trace_insntrace::symbols::Symbols;

use crate::stepped::{compile_to, options, program};

/// A clock that differs at each reading.
pub(crate) fn clock() -> u64 {
    static TICKS: AtomicU64 = AtomicU64::new(1);
    TICKS.fetch_add(1, Ordering::Relaxed)
}

/// Records a program to its end.
pub(crate) fn record(tracer: &mut Tracer, directory: &Path) -> Recording {
    let settings = Clock { now: clock, ticks_per_second: 1_000_000 };
    let mut writer = Writer::create(directory, settings, "").unwrap();
    while tracer.step().unwrap().is_some() {}
    tracer.take_notes().iter().for_each(|note| writer.note(note).unwrap());
    for (trace, packets) in tracer.take_packets() {
        writer.packets(trace, &packets).unwrap();
    }
    writer.flush().unwrap();
    Recording::open(directory).unwrap()
}

#[test]
fn calls_are_durations_of_their_threads() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(program("threads.c"));
    command.stdout(Stdio::null());
    let options = Options { clock, ..options(pt::Writer::new()) };
    let mut tracer = Tracer::start(&mut command, options).unwrap();
    let recording = record(&mut tracer, directory.path());
    let (traces, mut archive) = (recording.traces(), Vec::new());
    assert_eq!(traces.len(), 4);
    let mut symbols = Symbols::new(recording.notes());
    let summary =
        print::write(&recording, &traces, Format::Fxt, &mut symbols, &mut archive).unwrap();
    assert_eq!((summary.traces, summary.errors), (4, 0));

    let stacks = stacks(&archive);
    let square = ["work".to_owned(), "square".to_owned()];
    assert_eq!(stacks.iter().filter(|(_, stack)| stack.ends_with(&square)).count(), 40);
    // The handler interrupts the system call of `raise`.
    let handled: Vec<_> =
        stacks.iter().filter(|(_, stack)| stack.last().unwrap() == "handler").collect();
    assert_eq!(handled.len(), 2);
    assert!(handled.iter().all(|(_, stack)| stack.contains(&"work".to_owned())));
    let main = u64::from(traces[0].tid);
    assert!(stacks
        .iter()
        .any(|(thread, stack)| *thread == main && stack.last().unwrap() == "main"));
}

#[test]
fn code_has_the_names_of_the_library_that_was_mapped() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    assert!(compile_to(&path("replaces"), "replaces.c", &["-ldl"]));
    let names = ["first_name", "other_name"];
    for name in names {
        let options = ["-shared", "-fPIC", "-Wl,--build-id", &format!("-DNAME={name}")];
        assert!(compile_to(&path(name), "library.c", &options));
    }
    let called = [names[0], names[1], names[0]];
    for engine in [Engine::Step, Engine::Block] {
        let mut command = Command::new(path("replaces"));
        for name in called {
            command.arg(path(name)).arg(name);
        }
        let options = Options { engine, clock, ..options(pt::Writer::new()) };
        let mut tracer = Tracer::start(command.stdout(Stdio::piped()), options).unwrap();
        let recording = record(&mut tracer, &path(&format!("{engine:?}")));
        let mut addresses = String::new();
        let output = tracer.child_mut().unwrap().stdout.take();
        output.unwrap().read_to_string(&mut addresses).unwrap();
        let mut lines = addresses.lines();
        assert!(lines.next().is_some_and(|first| lines.all(|line| line == first)), "{addresses}");

        let (mut symbols, mut printed) = (Symbols::new(recording.notes()), Vec::new());
        let traces = recording.traces();
        print::write(&recording, &traces, Format::Calls, &mut symbols, &mut printed).unwrap();
        let printed = String::from_utf8(printed).unwrap();
        let found = printed.lines().filter_map(|line| line.split(' ').next_back());
        let found: Vec<_> = found.filter(|name| names.contains(name)).collect();
        assert_eq!(found, called, "{engine:?}");
    }
}

/// Prints the only trace of a recording.
pub(crate) fn printed(recording: &Recording, format: Format, symbols: Symbols<'_>) -> Vec<u8> {
    let (mut symbols, mut printed) = (symbols, Vec::new());
    print::write(recording, &recording.traces(), format, &mut symbols, &mut printed).unwrap();
    printed
}

#[test]
fn inlined_calls_are_in_the_function_that_has_their_code() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(program("inlined.c"));
    let options = Options { clock, ..options(pt::Writer::new()) };
    let mut tracer = Tracer::start(&mut command, options).unwrap();
    let recording = record(&mut tracer, directory.path());
    let archive = printed(&recording, Format::Fxt, Symbols::new(recording.notes()));
    let calls = stacks(&archive).into_iter().filter_map(|(_, stack)| {
        let outer = stack.iter().position(|name| name == "outer")?;
        (stack.last()? == "leaf").then(|| stack[outer..].join(" "))
    });
    let round = [
        "outer inlined innermost leaf",
        "outer inlined leaf",
        "outer added leaf",
        "outer added leaf",
        "outer leaf",
    ];
    assert_eq!(calls.collect::<Vec<_>>(), round.repeat(3));

    let text = |format| {
        let symbols = Symbols::new(recording.notes());
        String::from_utf8(printed(&recording, format, symbols)).unwrap()
    };
    assert!(text(Format::Calls).contains("  inlined (inlined)\n"));
    assert!(text(Format::Folded).contains("outer;inlined (inlined);innermost (inlined);leaf "));
    let without = Symbols::new(recording.notes()).without_inlined();
    let without = printed(&recording, Format::Calls, without);
    assert!(!String::from_utf8(without).unwrap().contains("(inlined)"));
}

/// Tools that make a package of the files of the compiler.
const PACKERS: [&str; 3] = ["dwp", "llvm-dwp", "llvm-dwp-19"];

/// The variable with which tests fail if there is no such tool.
const REQUIRED: &str = "TRACE_DWP_REQUIRED";

/// Compiles `inlined.c` with these options, into a folder of its own.
fn inlined(folder: &Path, options: &[&str]) -> PathBuf {
    let path = folder.join("inlined");
    assert!(compile_to(&path, "inlined.c", &[&["-O1", "-Wl,--build-id"], options].concat()));
    path
}

/// Returns the printed calls of a program, and the files whose inlined calls are missing.
fn calls_of(program: &Path) -> (String, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { clock, ..options(pt::Writer::new()) };
    let mut tracer = Tracer::start(&mut Command::new(program), options).unwrap();
    let recording = record(&mut tracer, directory.path());
    let (mut symbols, mut printed) = (Symbols::new(recording.notes()), Vec::new());
    let traces = recording.traces();
    print::write(&recording, &traces, Format::Calls, &mut symbols, &mut printed).unwrap();
    let missing = symbols.without_inlined_calls();
    let missing = missing.into_iter().map(|(file, reason)| format!("{file} {reason}"));
    (String::from_utf8(printed).unwrap(), missing.collect())
}

#[test]
fn calls_that_are_inlined_on_one_line_are_separate() {
    let folder = tempfile::tempdir().unwrap();
    let (printed, _) = calls_of(&inlined(folder.path(), &[]));
    // Two calls on one line, in each of three rounds. A compiler may move code of the caller
    // between the instructions of a call.
    assert!(printed.matches(" added (inlined)\n").count() >= 6, "{printed}");
}

#[test]
fn inlined_calls_are_read_from_the_files_of_the_compiler() {
    let folder = tempfile::tempdir().unwrap();
    // Of DWARF 5, `dwp` of binutils 2.40 crashes, and that of LLVM 19 does not end.
    let program = inlined(folder.path(), &["-gsplit-dwarf", "-gdwarf-4"]);
    let is_part = |path: &Path| path.extension().is_some_and(|extension| extension == "dwo");
    let files = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
    let [part] = &files.filter(|path| is_part(path)).collect::<Vec<_>>()[..] else { panic!() };
    let names = |(printed, missing): (String, Vec<String>)| {
        (
            ["innermost", "inlined", "added"]
                .map(|name| printed.matches(&format!(" {name} (inlined)\n")).count()),
            missing,
        )
    };
    let expected = names(calls_of(&program));
    // A compiler may move code of the caller between the instructions of a call.
    let has_all = expected.0.iter().zip([3, 3, 6]).all(|(found, least)| *found >= least);
    assert!(has_all && expected.1.is_empty(), "{expected:?}");

    // A package beside the program has it, too.
    let mut package = program.clone().into_os_string();
    package.push(".dwp");
    let pack = |tool: &&str| {
        let status = Command::new(tool).arg("-e").arg(&program).arg("-o").arg(&package).status();
        status.is_ok_and(|status| status.success())
    };
    let is_made = PACKERS.iter().any(pack);
    let moved = folder.path().join("moved");
    std::fs::rename(part, &moved).unwrap();
    if is_made {
        assert_eq!(names(calls_of(&program)), expected);
        std::fs::remove_file(&package).unwrap();
    } else {
        assert!(std::env::var_os(REQUIRED).is_none(), "one of {PACKERS:?} is required");
        eprintln!("skipped: each of {PACKERS:?} is missing");
    }

    let missing = "has debug information in other files (.dwo, .dwp), which are missing";
    let missing = vec![format!("{} {missing}", program.display())];
    assert_eq!(names(calls_of(&program)), ([0, 0, 0], missing));

    // A part of another program is not used.
    let other = tempfile::tempdir().unwrap();
    inlined(other.path(), &["-gsplit-dwarf", "-DOTHER"]);
    let mut files = std::fs::read_dir(other.path()).unwrap().map(|file| file.unwrap().path());
    std::fs::copy(files.find(|path| is_part(path)).unwrap(), part).unwrap();
    assert_eq!(names(calls_of(&program)).0, [0, 0, 0]);
}

/// Returns the thread and the stack of each duration of an archive. Durations are closed, times do
/// not go back, and a call takes time.
fn stacks(archive: &[u8]) -> Vec<(u64, Vec<String>)> {
    let mut reader = Reader::new(archive);
    let mut threads: HashMap<u64, Open> = HashMap::new();
    let mut found = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        let Record::Event(event) = &item.record else { continue };
        let thread = item.thread(event.thread).thread;
        let open = threads.entry(thread).or_default();
        assert!(open.last <= event.ticks);
        open.last = event.ticks;
        match event.kind {
            EventKind::DurationBegin => {
                open.stack.push(item.text(event.name).into_owned());
                open.begins.push(event.ticks);
                found.push((thread, open.stack.clone()));
            }
            EventKind::DurationEnd => {
                let (name, begin) = (open.stack.pop().unwrap(), open.begins.pop().unwrap());
                assert!(name != "square" || begin < event.ticks);
            }
            _ => {}
        }
    }
    assert!(threads.values().all(|open| open.stack.is_empty()));
    found
}

/// The open durations of a thread.
#[derive(Default)]
struct Open {
    last: u64,
    stack: Vec<String>,
    begins: Vec<u64>,
}
