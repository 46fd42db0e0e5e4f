//! Programs that lock their memory: tracing adds the address space that the guide states.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::harness::{subject, Archive, Run, Session};

/// The default limit of locked memory for users.
const LIMIT_KIB: u64 = 8 << 10;
const BUFFER_KIB: u64 = 256;
/// Stacks and slots of threads, and memory of the C library.
const THREADS_KIB: u64 = 2 << 10;
/// The address space that glibc reserves for a thread that allocates memory, with alignment.
const ARENA_KIB: u64 = (64 << 10) + 16;

/// The recording of a program.
#[derive(Clone, Copy)]
enum Tracing<'a> {
    NoManager,
    Manager(&'a Session),
    /// An archive of the program, and the size of its buffer in KiB.
    Output(&'a Path, u64),
}

impl Tracing<'_> {
    /// Runs a role of the traced program.
    fn run(self, role: &[&str], has_one_arena: bool) -> Run {
        let mut program = subject(role);
        program.env_remove("MALLOC_ARENA_MAX");
        if has_one_arena {
            program.env("MALLOC_ARENA_MAX", "1");
        }
        match self {
            Self::NoManager => {}
            Self::Manager(session) => drop(program.env("TRACE_SOCKET", session.socket())),
            Self::Output(path, buffer) => {
                program.env("TRACE_OUTPUT", path).env("TRACE_BUFFER_SIZE", format!("{buffer}K"));
            }
        }
        Run::of(&mut program)
    }

    /// The size of the buffer in KiB.
    fn buffer(self) -> u64 {
        match self {
            Self::NoManager => 0,
            Self::Manager(_) => BUFFER_KIB,
            Self::Output(_, size) => size,
        }
    }
}

/// A program that locks its memory.
struct Program<'a> {
    /// When it does so, relative to `init()`.
    when: &'a str,
    /// KiB, or 0 for no limit.
    limit: u64,
    tracing: Tracing<'a>,
    /// Sets `MALLOC_ARENA_MAX=1`.
    has_one_arena: bool,
}

impl Program<'_> {
    fn run(&self) -> Run {
        let role = ["locked", self.when, &self.limit.to_string(), "100"];
        self.tracing.run(&role, self.has_one_arena)
    }

    /// Runs it, and returns the KiB of locked memory that tracing adds, beside the buffer.
    #[track_caller]
    fn added(&self) -> u64 {
        let run = self.run();
        assert_eq!(run.code(), 0, "{run:?}");
        if let Tracing::Output(output, _) = self.tracing {
            let archive = Archive::read(output);
            assert_eq!(archive.only().numbers("instant"), Vec::from_iter(0..100));
        }
        let added: u64 = run.stdout().trim().parse().unwrap();
        added.saturating_sub(self.tracing.buffer())
    }
}

/// A directory that all users can write to.
fn open_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
    directory
}

/// One thread of the runtime allocates memory, and none without a manager.
#[test]
fn tracing_adds_the_address_space_that_the_guide_states() {
    let directory = open_directory();
    let path = directory.path().join("out.fxt");
    let session = Session::start("streaming", BUFFER_KIB << 10);
    let output = Tracing::Output(&path, BUFFER_KIB);
    for (tracing, threads) in
        [(Tracing::NoManager, 0), (Tracing::Manager(&session), 1), (output, 1)]
    {
        for has_one_arena in [false, true] {
            let (when, limit) = ("after", 0);
            let added = Program { when, limit, tracing, has_one_arena }.added();
            let arenas = if has_one_arena { 0 } else { threads * ARENA_KIB };
            let most = THREADS_KIB + arenas;
            assert!(added <= most, "{threads}, {has_one_arena}: {added} KiB of {most}");
        }
    }
    let (archive, _) = session.end();
    let events = archive.providers.iter().map(|provider| provider.count("instant"));
    assert_eq!(Vec::from_iter(events), [100, 100]);
}

#[test]
fn a_program_that_locks_its_memory_first_can_be_traced() {
    let directory = open_directory();
    let path = directory.path().join("out.fxt");
    let output = Tracing::Output(&path, BUFFER_KIB);
    // The code of the program, which is not optimized, takes most of the limit: with a second
    // arena, the memory of both was used up now and then.
    for (tracing, has_one_arena) in [(Tracing::NoManager, false), (output, true)] {
        let (when, limit) = ("before", LIMIT_KIB);
        let added = Program { when, limit, tracing, has_one_arena }.added();
        assert!(added <= THREADS_KIB, "{added} KiB");
    }
}

#[test]
fn a_program_without_a_manager_can_lock_its_memory_later() {
    let (when, limit, tracing, has_one_arena) = ("after", LIMIT_KIB, Tracing::NoManager, false);
    let added = Program { when, limit, tracing, has_one_arena }.added();
    assert!(added <= THREADS_KIB, "{added} KiB");
}

#[test]
fn a_small_limit_is_enough_with_one_arena() {
    let directory = open_directory();
    let path = directory.path().join("out.fxt");
    let (when, limit, has_one_arena) = ("after", LIMIT_KIB, true);
    let tracing = Tracing::Output(&path, BUFFER_KIB);
    let added = Program { when, limit, tracing, has_one_arena }.added();
    assert!(added <= THREADS_KIB, "{added} KiB");
}

#[test]
fn a_buffer_beyond_the_limit_is_refused_with_the_reason() {
    let directory = open_directory();
    let output = directory.path().join("out.fxt");
    let tracing = Tracing::Output(&output, 16 << 10);
    let (when, limit, has_one_arena) = ("before", LIMIT_KIB, false);
    let run = Program { when, limit, tracing, has_one_arena }.run();
    assert_eq!(run.code(), 0, "the program continues: {run:?}");
    assert!(run.stderr().contains("RLIMIT_MEMLOCK"), "{run:?}");
    assert!(!output.exists());
}

/// No thread of the tracer uses half of its stack, also in a build without optimization. A guard
/// page is below each stack.
#[test]
fn the_tracer_has_stacks_of_sufficient_size() {
    let directory = open_directory();
    let path = directory.path().join("out.fxt");
    let session = Session::start("streaming", BUFFER_KIB << 10);
    let two = ["trace-listener", "trace-service"];
    for (tracing, expected) in [
        (Tracing::NoManager, &two[..]),
        (Tracing::Manager(&session), &two),
        (Tracing::Output(&path, BUFFER_KIB), &two[1..]),
    ] {
        let run = tracing.run(&["stacks", "10000"], false);
        assert_eq!(run.code(), 0, "{run:?}");
        let output = run.stdout();
        let stacks: Vec<Vec<&str>> =
            output.lines().map(|line| line.split_whitespace().collect()).collect();
        let mut names: Vec<&str> = stacks.iter().map(|stack| stack[0]).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{output}");
        for stack in stacks {
            let [size, resident, guard] = [1, 2, 3].map(|index| stack[index].parse().unwrap());
            let _: [u64; 3] = [size, resident, guard];
            assert!(0 < resident && resident <= size / 2 && guard >= 4, "{stack:?}");
        }
    }
    drop(session.end());
}
