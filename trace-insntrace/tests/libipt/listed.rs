//! Programs that others wrote, against a list of their instructions that a stepper in C makes.
//!
//! Each program runs twice under the stepper, without random addresses, and in a fixed environment.
//! If both lists are equal outside of the vDSO, the program is deterministic: the traces of both
//! engines must have exactly this list, by our decoder and by libipt. Of a program with threads,
//! this holds until its threads wait for each other, and again for the work between two waits.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use trace_insntrace::recording::TraceId;
use trace_insntrace::step::Engine;

use crate::flow::theirs;
use crate::lists::{decoded, traced, Listed, SPACE};
use crate::programs;
use crate::stepped::Stepped;

/// A program, and what is compared.
struct Program<'a> {
    arguments: &'a [&'a str],
    threads: usize,
    /// The number of steps, or `None` for all.
    most: Option<u64>,
}

impl<'a> Program<'a> {
    fn new(arguments: &'a [&'a str]) -> Self {
        Self { arguments, threads: 1, most: None }
    }

    fn name(&self) -> String {
        self.arguments.join(" ")
    }

    /// Returns the list of the program's instructions, without those of the vDSO.
    #[track_caller]
    fn list(&self) -> Listed {
        let [mut one, other] = [0; 2].map(|_| Listed::new(self.arguments, self.most));
        let [mut first, mut second] = [&one, &other].map(Listed::outside_vdso);
        assert_eq!([first.len(), second.len()], [self.threads; 2], "{}: threads", self.name());
        for (thread, (first, second)) in first.iter_mut().zip(&mut second).enumerate() {
            if self.most.is_some() {
                // Steps in the vDSO count.
                let size = first.len().min(second.len());
                first.truncate(size);
                second.truncate(size);
            }
            self.assert_same(thread, first, second, "is not deterministic");
        }
        one.threads = first;
        one
    }

    #[track_caller]
    fn assert_same(&self, thread: usize, listed: &[u64], found: &[u64], message: &str) {
        let first = listed.iter().zip(found).position(|(listed, found)| listed != found);
        if self.threads > 1 {
            let same = first.unwrap_or(listed.len().min(found.len()));
            let (name, size) = (self.name(), listed.len());
            if same < size {
                println!("{name}: thread {thread}: {same} of {size} are equal: {message}");
            }
            return assert!(same >= size / 2, "{name} {message}: {same} of {size}, {thread}");
        }
        let (name, sizes) = (self.name(), (listed.len(), found.len()));
        assert_eq!((first, sizes.0), (None, sizes.1), "{name} {message}: {sizes:?}, {thread}");
    }

    /// Compares what a decoder has found, which has more instructions if the list is not of the
    /// whole program.
    #[track_caller]
    fn compare(&self, listed: &Listed, thread: usize, mut found: Vec<u64>, message: &str) {
        let list = &listed.threads[thread];
        found.retain(|ip| !listed.vdso.contains(ip));
        if self.most.is_some() {
            found.truncate(list.len());
        }
        self.assert_same(thread, list, &found, message);
    }

    /// Compares the traces of both engines with the list, by both decoders.
    #[track_caller]
    fn check(&self, least: usize) {
        let listed = self.list();
        let counts: Vec<_> = listed.threads.iter().map(Vec::len).collect();
        assert!(counts[0] > least, "{}: {counts:?} instructions", self.name());
        for engine in [Engine::Step, Engine::Block] {
            let run = traced(self.arguments, engine, self.most);
            assert_eq!(run.packets.len(), self.threads, "{}, {engine:?}", self.name());
            for (thread, trace) in (0..self.threads).zip((0..).map(TraceId)) {
                let found: Option<Vec<u64>> = decoded(&run, trace).into_iter().collect();
                let found = found.expect("the trace has no gap");
                self.compare(&listed, thread, found, &format!("by the {engine:?} engine"));
                let found = libipt(&run, trace);
                self.compare(&listed, thread, found, &format!("{engine:?}, by libipt"));
            }
        }
        println!("{}: {counts:?} instructions outside of the vDSO", self.name());
    }
}

fn libipt(run: &Stepped, trace: TraceId) -> Vec<u64> {
    let parts = run.parts(trace).into_iter().filter(|(space, _)| *space == SPACE);
    parts.flat_map(|(space, packets)| theirs(&run.image(space), packets)).collect()
}

fn path_of(program: &str) -> String {
    let folders = ["/usr/bin", "/bin"];
    let mut paths = folders.iter().map(|folder| format!("{folder}/{program}"));
    paths.find(|path| Path::new(path).exists()).expect("the program is installed")
}

#[test]
#[ignore = "needs libipt-dev"]
fn every_instruction_of_a_static_program_is_traced() {
    assert!(programs::is_static("busybox"), "busybox is dynamically linked: see .ci/insntrace");
    let (lines, busybox) = (programs::lines(), path_of("busybox"));
    let lines = lines.path().to_str().unwrap();
    for applet in ["sort", "md5sum"] {
        let arguments = [&busybox, applet, lines];
        Program::new(&arguments).check(10_000);
    }
}

#[test]
#[ignore = "needs libipt-dev"]
fn every_instruction_of_dynamic_programs_is_traced() {
    let (lines, folder) = (programs::lines(), concat!(env!("CARGO_MANIFEST_DIR"), "/tests/step"));
    let (ls, sort) = (path_of("ls"), path_of("sort"));
    let arguments = [&ls, "-l", folder];
    Program::new(&arguments).check(300_000);
    let arguments = [&sort, lines.path().to_str().unwrap()];
    Program::new(&arguments).check(100_000);
}

#[test]
#[ignore = "needs libipt-dev"]
fn every_instruction_at_the_start_of_a_python_interpreter_is_traced() {
    // With `-E` or `-I`, it ignores the fixed seed of hashes, and is not deterministic.
    let arguments = ["/usr/bin/python3", "-S", "-s", "-c", "print(sorted([3, 1, 2]))"];
    Program { most: Some(400_000), ..Program::new(&arguments) }.check(300_000);
}

/// How threads wait for each other differs from run to run. Up to there, at least half of each list
/// is compared.
#[test]
#[ignore = "needs libipt-dev"]
fn every_instruction_of_threads_is_traced_until_they_wait() {
    let (lines, zstd) = (programs::lines(), path_of("zstd"));
    let arguments = [&zstd, "-T2", "-1", "-q", "-c", lines.path().to_str().unwrap()];
    Program { threads: 3, ..Program::new(&arguments) }.check(100_000);
}

/// Compresses two blocks of 768 bytes, which `xz` decompresses in a thread each.
fn two_blocks(folder: &Path) -> String {
    let plain = folder.join("blocks");
    let lines = (0..1000_u32).map(|number| format!("line {}\n", number * 7919 % 1009));
    let text: String = lines.collect();
    std::fs::write(&plain, &text[..2 * 768]).unwrap();
    let mut compress = Command::new(path_of("xz"));
    compress.args(["-T2", "--block-size=768", "-0"]).arg(&plain);
    assert!(compress.status().unwrap().success());
    plain.with_extension("xz").to_str().unwrap().to_owned()
}

/// Between two waits, the work of a thread is the same in each run.
#[test]
#[ignore = "needs libipt-dev"]
fn every_instruction_of_the_work_of_threads_is_traced() {
    let (folder, xz) = (tempfile::tempdir().unwrap(), path_of("xz"));
    let blocks = two_blocks(folder.path());
    let arguments = [&*xz, "-d", "-T2", "-k", "-c", &blocks];
    let listed = Listed::new(&arguments, None);
    let lists = listed.outside_vdso();
    assert_eq!(lists.len(), 3);
    for engine in [Engine::Step, Engine::Block] {
        let run = traced(&arguments, engine, None);
        for (thread, list) in lists.iter().enumerate().skip(1) {
            let trace = TraceId(thread as u32);
            let ours: Option<Vec<u64>> = decoded(&run, trace).into_iter().collect();
            let found = [ours.expect("the trace has no gap"), libipt(&run, trace)];
            for (mut found, decoder) in found.into_iter().zip(["ours", "libipt"]) {
                found.retain(|ip| !listed.vdso.contains(ip));
                let (same, size) = (longest_part(list, &found), list.len());
                println!("xz: thread {thread}: {same} of {size}, {engine:?}, {decoder}");
                assert!(size > 50_000 && same >= size / 10 * 9, "{same} of {size}");
            }
        }
    }
}

/// Returns the size of the longest part that is in both lists.
fn longest_part(list: &[u64], found: &[u64]) -> usize {
    const WINDOW: usize = 32;
    const STEP: usize = 1000;
    let windows: HashMap<_, _> =
        found.windows(WINDOW).enumerate().map(|(at, window)| (window, at)).collect();
    let part = |(start, window): (usize, &[u64])| {
        let at = *windows.get(window)?;
        let (before, after) = list.split_at(start);
        let (found_before, found_after) = found.split_at(at);
        let back = equal(before.iter().rev(), found_before.iter().rev());
        Some(back + equal(after.iter(), found_after.iter()))
    };
    let starts = list.windows(WINDOW).enumerate().step_by(STEP);
    starts.filter_map(part).max().unwrap_or(0)
}

/// Returns how many first items are equal.
fn equal<'a>(one: impl Iterator<Item = &'a u64>, other: impl Iterator<Item = &'a u64>) -> usize {
    one.zip(other).take_while(|(one, other)| one == other).count()
}
