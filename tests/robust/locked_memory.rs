//! Programs that lock their memory: tracing adds the address space that the guide states.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::harness::{subject, Archive, Run};

/// The default limit of locked memory for users.
const LIMIT_KIB: u64 = 8 << 10;
const BUFFER_KIB: u64 = 256;
/// Stacks and slots of threads, and memory of the C library.
const THREADS_KIB: u64 = 2 << 10;
/// The address space that glibc reserves for a thread that allocates memory, with alignment.
const ARENA_KIB: u64 = (64 << 10) + 16;

/// A program that locks its memory.
struct Program<'a> {
    /// When it does so, relative to `init()`.
    when: &'a str,
    /// KiB, or 0 for no limit.
    limit: u64,
    /// KiB.
    buffer: u64,
    /// `None` if it finds no manager.
    output: Option<&'a Path>,
    /// Sets `MALLOC_ARENA_MAX=1`.
    has_one_arena: bool,
}

impl Program<'_> {
    fn run(&self) -> Run {
        let mut program = subject(&["locked", self.when, &self.limit.to_string(), "100"]);
        program.env_remove("MALLOC_ARENA_MAX");
        if self.has_one_arena {
            program.env("MALLOC_ARENA_MAX", "1");
        }
        if let Some(output) = self.output {
            program
                .env("TRACE_OUTPUT", output)
                .env("TRACE_BUFFER_SIZE", format!("{}K", self.buffer));
        }
        Run::of(&mut program)
    }

    /// Runs it, and returns the KiB of locked memory that tracing adds.
    #[track_caller]
    fn added(&self) -> u64 {
        let run = self.run();
        assert_eq!(run.code(), 0, "{run:?}");
        if let Some(output) = self.output {
            let archive = Archive::read(output);
            assert_eq!(archive.only().numbers("instant"), Vec::from_iter(0..100));
        }
        run.stdout().trim().parse().unwrap()
    }
}

/// A directory that all users can write to.
fn open_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
    directory
}

/// Two threads of the runtime allocate memory, and one with `TRACE_OUTPUT`.
#[test]
fn tracing_adds_the_address_space_that_the_guide_states() {
    for (has_output, threads) in [(false, 2), (true, 1)] {
        for has_one_arena in [false, true] {
            let directory = open_directory();
            let path = directory.path().join("out.fxt");
            let output = has_output.then_some(path.as_path());
            let (when, limit, buffer) = ("after", 0, BUFFER_KIB);
            let added = Program { when, limit, buffer, output, has_one_arena }.added();
            let buffer = if has_output { BUFFER_KIB } else { 0 };
            let arenas = if has_one_arena { 0 } else { threads * ARENA_KIB };
            let most = buffer + THREADS_KIB + arenas;
            assert!(added <= most, "{has_output}, {has_one_arena}: {added} KiB of {most}");
        }
    }
}

#[test]
fn a_program_that_locks_its_memory_first_can_be_traced() {
    let directory = open_directory();
    let path = directory.path().join("out.fxt");
    for output in [None, Some(path.as_path())] {
        let (when, limit, buffer, has_one_arena) = ("before", LIMIT_KIB, BUFFER_KIB, false);
        let added = Program { when, limit, buffer, output, has_one_arena }.added();
        assert!(added <= BUFFER_KIB + THREADS_KIB, "{added} KiB");
    }
}

#[test]
fn a_small_limit_is_enough_with_one_arena() {
    let directory = open_directory();
    let path = directory.path().join("out.fxt");
    for output in [None, Some(path.as_path())] {
        let (when, limit, buffer, has_one_arena) = ("after", LIMIT_KIB, BUFFER_KIB, true);
        let added = Program { when, limit, buffer, output, has_one_arena }.added();
        assert!(added <= BUFFER_KIB + THREADS_KIB, "{added} KiB");
    }
}

#[test]
fn a_buffer_beyond_the_limit_is_refused_with_the_reason() {
    let directory = open_directory();
    let output = directory.path().join("out.fxt");
    let (when, limit, buffer, has_one_arena) = ("before", LIMIT_KIB, 16 << 10, false);
    let run = Program { when, limit, buffer, output: Some(&output), has_one_arena }.run();
    assert_eq!(run.code(), 0, "the program continues: {run:?}");
    assert!(run.stderr().contains("RLIMIT_MEMLOCK"), "{run:?}");
    assert!(!output.exists());
}
