//! Programs that lock their memory: tracing works if its buffer fits the limit, and adds little
//! beyond the buffer.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::harness::{subject, Archive, Run};

/// The default limit of locked memory for users.
const LIMIT_KIB: u64 = 8 << 10;
const BUFFER_KIB: u64 = 256;
/// The service thread's stack, slots for threads, and memory of the C library.
const MORE_KIB: u64 = 3 << 10;

/// Runs a program that locks its memory `when`, with a buffer of `buffer` KiB.
fn run(when: &str, limit: u64, buffer: u64, output: &Path) -> Run {
    let mut program = subject(&["locked", when, &limit.to_string(), "100"]);
    program
        .env("TRACE_OUTPUT", output)
        .env("TRACE_BUFFER_SIZE", format!("{buffer}K"))
        // glibc reserves 64 MiB of address space for each thread that allocates, which counts.
        .env("MALLOC_ARENA_MAX", "1");
    Run::of(&mut program)
}

/// A directory that all users can write to.
fn open_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
    directory
}

#[test]
fn locked_memory_grows_by_the_buffer_and_little_more() {
    for when in ["before", "after"] {
        for limit in [LIMIT_KIB, 0] {
            let directory = open_directory();
            let output = directory.path().join("out.fxt");
            let run = run(when, limit, BUFFER_KIB, &output);
            assert_eq!(run.code(), 0, "{when}, {limit}: {run:?}");
            let archive = Archive::read(&output);
            assert_eq!(archive.only().numbers("instant"), Vec::from_iter(0..100));
            let added: u64 = run.stdout().trim().parse().unwrap();
            assert!(added <= BUFFER_KIB + MORE_KIB, "{when}, {limit}: {added} KiB");
        }
    }
}

#[test]
fn a_buffer_beyond_the_limit_is_refused_with_the_reason() {
    let directory = open_directory();
    let output = directory.path().join("out.fxt");
    let run = run("before", LIMIT_KIB, 16 << 10, &output);
    assert_eq!(run.code(), 0, "the program continues: {run:?}");
    assert!(run.stderr().contains("RLIMIT_MEMLOCK"), "{run:?}");
    assert!(!output.exists());
}
