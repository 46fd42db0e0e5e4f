//! Logs of ours in LLVM's tools.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use trace_xray::layout::{Action, Version};
use trace_xray::write::{Anchor, Buffer, Log, Stamp};
use trace_xray::{map, Format, FunctionId, Header};

use crate::common::items;
use crate::text;
use crate::tools::{dump, verify, xray, yaml, Work};

const NAMES: [&str; 3] = ["main", "server::poll", "<Queue<T> as Drop>::drop"];
const ROUNDS: u64 = 200;

type Output = Log<Vec<u8>>;

/// `main` calls `poll` 200 times, which calls `drop` twice: first with a call, then with a jump.
struct Thread {
    buffer: Buffer,
    tsc: u64,
    cpu: u16,
}

impl Thread {
    fn at(&mut self) -> Stamp {
        self.tsc += 3;
        Stamp { tsc: self.tsc, cpu: self.cpu }
    }

    fn function(&mut self, log: &mut Output, action: Action, number: u32) {
        let at = self.at();
        log.function(&mut self.buffer, at, action, id(number)).unwrap();
    }

    fn round(&mut self, log: &mut Output, number: u64, typed: bool) {
        let at = self.at();
        log.entry_with_arguments(&mut self.buffer, at, id(2), &[number, 1 << 63]).unwrap();
        self.function(log, Action::Entry, 3);
        self.function(log, Action::Exit, 3);
        let at = self.at();
        log.custom_event(&mut self.buffer, at, format!("round {number}").as_bytes()).unwrap();
        if typed {
            let at = self.at();
            log.typed_event(&mut self.buffer, at, 7, b"typed").unwrap();
        }
        self.function(log, Action::TailExit, 2);
        self.function(log, Action::Entry, 3);
        self.function(log, Action::Exit, 3);
        if number % 50 == 0 {
            // Another CPU, and a delta that 32 bits do not hold.
            self.cpu ^= 1;
            self.function(log, Action::Entry, 3);
            self.function(log, Action::Exit, 3);
            self.tsc += 1 << 33;
        }
    }
}

fn id(number: u32) -> FunctionId {
    FunctionId::new(number).unwrap()
}

pub(crate) fn written(version: Version, threads: i32, buffer_size: u64) -> Vec<u8> {
    let header = Header {
        format: Format::little(version),
        constant_tsc: true,
        nonstop_tsc: true,
        cycle_frequency: 1_000_000_000,
        buffer_size,
        map_id: 0,
    };
    let anchor = Anchor { tsc: 1 << 40, time: Duration::from_secs(1000) };
    let mut log = Log::new(Vec::new(), header, anchor).unwrap();
    // All threads start at the same time, else `account` refuses the log.
    let thread = |number| Thread { buffer: log.thread(4711, 4711 + number), tsc: 1 << 40, cpu: 0 };
    let mut threads: Vec<_> = (0..threads).map(thread).collect();
    threads.iter_mut().for_each(|thread| thread.function(&mut log, Action::Entry, 1));
    for number in 0..ROUNDS {
        for thread in &mut threads {
            thread.round(&mut log, number, version == Version::V5);
        }
    }
    for thread in &mut threads {
        thread.function(&mut log, Action::Exit, 1);
        log.write(&mut thread.buffer).unwrap();
    }
    log.into_inner()
}

/// The calls of each function on each thread.
const CALLS: [u64; 3] = [1, ROUNDS, 2 * ROUNDS + 4];

fn expected(threads: u64) -> BTreeMap<String, u64> {
    let counts = CALLS.iter().map(|calls| calls * threads);
    NAMES.iter().map(|name| (*name).to_owned()).zip(counts).collect()
}

/// Every version, one thread and many, and thread buffers of even and odd sizes.
pub(crate) fn all() -> Vec<(Version, i32, u64)> {
    let versions = Version::ALL.into_iter();
    versions
        .flat_map(|version| [1, 5].map(|threads| (version, threads)))
        .flat_map(|(version, threads)| [512, 4096, 1013].map(|size| (version, threads, size)))
        .collect()
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn the_records_are_valid_and_the_same() {
    for (version, threads, size) in all() {
        let case = format!("{version:?}, {threads} threads, {size} bytes");
        let log = written(version, threads, size);
        verify(&log).unwrap_or_else(|error| panic!("{case}: {error}"));
        let (items, errors) = items(&log, 1000);
        assert_eq!(errors, [""; 0], "{case}");
        text::same_text(&text::dump(&items), &dump(&log).unwrap(), &case);
    }
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn the_events_have_the_same_times_threads_and_arguments() {
    for (version, threads, size) in all() {
        let log = written(version, threads, size);
        let (mut items, _) = items(&log, 1000);
        if version == Version::V2 {
            // LLVM takes the thread for the process in this version.
            items.iter_mut().for_each(|item| item.process = Some(item.thread));
        }
        let theirs = text::events_of_yaml(&yaml(&log).unwrap());
        text::same_lines(&text::events_of_items(&items), &theirs, &format!("{version:?}"));
    }
}

pub(crate) fn map() -> Vec<u8> {
    map::write(&NAMES, None).unwrap()
}

/// Runs a command of `llvm-xray` on a log with the names.
fn named(log: &[u8], command: &[&str]) -> String {
    let work = Work::new();
    let names = work.file("names", &map());
    let log = work.file("log", log);
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let mut arguments: Vec<_> = command.iter().map(|argument| (*argument).to_owned()).collect();
    arguments.extend(["-m".to_owned(), text(&names), text(&log)]);
    xray(&arguments).unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
}

pub(crate) fn for_each_log(check: impl Fn(&[u8], u64)) {
    for version in [Version::V1, Version::V5] {
        for threads in [1, 5] {
            check(&written(version, threads, 4096), threads as u64);
        }
    }
}

fn account(log: &[u8], threads: u64) {
    // Lines have: id, count, times, sum, ":0:0:" and the name.
    let output = named(log, &["account"]);
    let row = |line: &str| {
        let (numbers, name) = line.split_once(":0:0: ")?;
        let count = numbers.split_whitespace().nth(1)?.parse().ok()?;
        Some((name.to_owned(), count))
    };
    let rows: BTreeMap<String, u64> = output.lines().filter_map(row).collect();
    assert_eq!(rows, expected(threads), "{output}");
}

fn stack(log: &[u8], threads: u64) {
    let options = ["stack", "-all-stacks", "-stack-format=flame", "-aggregation-type=count"];
    let output = named(log, &[&options[..], &["-aggregate-threads"]].concat());
    let row = |line: &str| {
        let (stack, count) = line.rsplit_once("; ")?;
        Some((stack.to_owned(), count.parse().ok()?))
    };
    let rows: BTreeMap<String, u64> = output.lines().filter_map(row).collect();
    let [main, poll, drop] = NAMES;
    let expected = BTreeMap::from([
        (main.to_owned(), threads),
        (format!("{main};{poll}"), ROUNDS * threads),
        (format!("{main};{poll};{drop}"), ROUNDS * threads),
        // A function that is jumped to is a callee of the caller.
        (format!("{main};{drop}"), (ROUNDS + 4) * threads),
    ]);
    assert_eq!(rows, expected, "{output}");
}

fn graph(log: &[u8], threads: u64) {
    let output = named(log, &["graph", "-vertex-label=count", "-edge-label=count"]);
    for (name, count) in expected(threads) {
        let name = name.replace('<', "&lt;").replace('>', "&gt;");
        let vertex = output.lines().find(|line| line.contains(&name));
        let vertex = vertex.unwrap_or_else(|| panic!("{name} in {output}"));
        assert!(vertex.contains(&format!("|{count}}}")), "{vertex}");
    }
    let edge = format!("[label=\"{}\"", ROUNDS * threads);
    assert!(output.lines().any(|line| line.contains("F1 -> F2") && line.contains(&edge)));
}

fn trace_event(log: &[u8], threads: u64) {
    let output = named(log, &["convert", "-symbolize", "-f", "trace_event"]);
    let document: Value = serde_json::from_str(&output).unwrap();
    let of = |phase: &str| {
        let events = document["traceEvents"].as_array().unwrap().iter();
        let events = events.filter(|event| event["ph"] == phase);
        text::counted(events.map(|event| event["name"].as_str().unwrap().to_owned()))
    };
    assert_eq!((of("B"), of("E")), (expected(threads), expected(threads)));
}

/// Checks the names and counts in each tool that has them.
pub(crate) fn check_tools(log: &[u8], threads: u64) {
    for check in [account, stack, graph, trace_event] {
        check(log, threads);
    }
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn account_has_names_and_counts() {
    for_each_log(account);
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn stack_has_names_and_counts() {
    for_each_log(stack);
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn graph_has_names_and_counts() {
    for_each_log(graph);
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn trace_event_has_names_and_counts() {
    for_each_log(trace_event);
}
