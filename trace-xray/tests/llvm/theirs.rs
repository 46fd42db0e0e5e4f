//! Logs of LLVM's runtime in our reader.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use trace_xray::calls::{CallStacks, End, Step};
use trace_xray::layout::MetadataKind;
use trace_xray::map::{Map, Program};
use trace_xray::read::Reader;
use trace_xray::FunctionId;

use crate::common::{items, OwnedItem};
use crate::text;
use crate::tools::{compile, dump, source, xray, yaml, Work};

/// Runs the program with a threshold in microseconds; returns its log.
pub(crate) fn recorded(program: &Path, threshold: u32) -> (Work, PathBuf) {
    let work = Work::new();
    let output = Command::new(program)
        .arg(threshold.to_string())
        .current_dir(work.path())
        .env("XRAY_OPTIONS", "patch_premain=false")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut files = std::fs::read_dir(work.path()).unwrap();
    let log = files.next().unwrap().unwrap().path();
    (work, log)
}

const NO_ID: &str = "-Wl,--build-id=none";

pub(crate) fn subject(work: &Work) -> PathBuf {
    compile(work, &source("subject.cpp"), "subject", &["-Wl,--build-id"])
}

/// Thresholds that remove no call, some, and all that can be removed.
pub(crate) const THRESHOLDS: [u32; 3] = [0, 3, 60_000_000];

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn the_records_are_the_same() {
    let work = Work::new();
    let program = subject(&work);
    for threshold in THRESHOLDS {
        let (_work, path) = recorded(&program, threshold);
        let log = std::fs::read(path).unwrap();
        let (items, errors) = items(&log, 1000);
        assert_eq!(errors, [""; 0]);
        text::same_text(&text::dump(&items), &dump(&log).unwrap(), "records");
        let theirs = text::events_of_yaml(&yaml(&log).unwrap());
        text::same_lines(&text::events_of_items(&items), &theirs, "events");
        let kinds = text::counted(items.iter().map(|item| format!("{:?}", item.record.kind())));
        let has = |kind: MetadataKind| kinds.contains_key(&format!("{:?}", Some(kind)));
        for kind in [MetadataKind::CallArgument, MetadataKind::CustomEvent, MetadataKind::Pid] {
            assert!(has(kind), "the log has a {kind} record");
        }
    }
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn short_calls_are_removed() {
    let work = Work::new();
    let program = subject(&work);
    let counted = |threshold| {
        let (_work, path) = recorded(&program, threshold);
        let (items, errors) = items(&std::fs::read(path).unwrap(), 1000);
        assert_eq!(errors, [""; 0]);
        items.iter().filter(|item| item.record.kind().is_none()).count()
    };
    let (all, long) = (counted(0), counted(60_000_000));
    assert!(long < all / 2, "{long} of {all}");
}

/// Counts calls by thread and path of names, without those that are open at the end.
fn calls(items: &[OwnedItem], map: &Map) -> BTreeMap<(i32, String), u64> {
    let name = |id: FunctionId| map.function(id).and_then(|function| function.name()).unwrap();
    let mut stacks: HashMap<i32, trace_xray::calls::CallStack> = HashMap::new();
    let mut counts = BTreeMap::new();
    for item in items {
        let trace_xray::Record::Function(record) = item.record else { continue };
        let stack = stacks.entry(item.thread).or_default();
        let path: Vec<_> = stack.frames().iter().map(|frame| name(frame.function)).collect();
        if let Step::Left(ended) = stack.step(item.tsc, record) {
            for call in ended {
                let path = path[..=call.depth].join(";");
                *counts.entry((item.thread, path)).or_default() += 1;
            }
        }
    }
    counts
}

/// Exceptions leave entries without exits; `never_returns` has an entry only.
#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn the_call_stacks_are_the_same() {
    let work = Work::new();
    let program = subject(&work);
    let map = Map::parse(&std::fs::read(&program).unwrap()).unwrap();
    for threshold in THRESHOLDS {
        let (_work, path) = recorded(&program, threshold);
        let options =
            ["stack", "-k", "-all-stacks", "-stack-format=flame", "-aggregation-type=count"];
        let files = ["-m", program.to_str().unwrap(), path.to_str().unwrap()];
        let output = xray(&[&options[..], &files].concat()).unwrap();
        let row = |line: &str| {
            let (stack, count) = line.strip_prefix("thread_")?.rsplit_once("; ")?;
            let (thread, stack) = stack.split_once(';')?;
            Some(((thread.parse().ok()?, stack.to_owned()), count.parse().ok()?))
        };
        let mut theirs: BTreeMap<(i32, String), u64> = output.lines().filter_map(row).collect();
        // LLVM also lists calls that are open at the end, with count 0.
        theirs.retain(|_, count| *count > 0);
        let (items, _) = items(&std::fs::read(&path).unwrap(), 1000);
        assert_eq!(calls(&items, &map), theirs, "threshold {threshold}");
    }
}

/// `tail_caller` ends with a jump: its record has its own id, as the specification says.
#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn a_tail_exit_has_the_id_of_the_function_that_ends() {
    let work = Work::new();
    let program = subject(&work);
    let map = Map::parse(&std::fs::read(&program).unwrap()).unwrap();
    let (_work, path) = recorded(&program, 0);
    let log = std::fs::read(path).unwrap();
    let mut stacks = CallStacks::default();
    let mut reader = Reader::new(&log[..]);
    let mut ends = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        if let Some(Step::Left(calls)) = stacks.step(&item) {
            let name = |id| map.function(id).and_then(|function| function.name()).unwrap();
            ends.extend(calls.map(|call| (name(call.function), format!("{:?}", call.end))));
        }
    }
    let ends = text::counted(ends);
    let count = |name: &str, end: End| {
        ends.get(&(name.to_owned(), format!("{end:?}"))).copied().unwrap_or(0)
    };
    assert_eq!(count("tail_caller", End::TailExit), 50);
    assert_eq!(count("tail_caller", End::Exit), 0);
    assert_eq!(count("tail_target", End::Exit), 50);
    assert_eq!(count("thrower", End::Missing), 150);
    let open: Vec<_> = stacks.threads().flat_map(|(_, _, stack)| stack.finish()).collect();
    assert!(open.iter().all(|call| call.end == End::Open), "{open:?}");
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn a_map_fits_its_program_only() {
    let work = Work::new();
    let (file, build_id) = (source("subject.cpp"), "-Wl,--build-id");
    let read =
        |name: &str, options: &[&str]| std::fs::read(compile(&work, &file, name, options)).unwrap();
    let [first, second] = [read("a", &[build_id]), read("b", &[build_id, "-DOTHER", "-O1"])];
    let [third, fourth] = [read("c", &[NO_ID]), read("d", &[NO_ID, "-O1"])];
    let fits = |map: &[u8], program: &[u8]| {
        let (map, program) = (Map::parse(map).unwrap(), Program::parse(program).unwrap());
        map.check(&program).map_err(|error| error.to_string())
    };
    assert_eq!(fits(&first, &first), Ok(()));
    assert_eq!(fits(&third, &third), Ok(()));
    let error = fits(&first, &second).unwrap_err();
    assert!(error.starts_with("the map is of build id "), "{error}");
    let error = fits(&third, &fourth).unwrap_err();
    assert!(error.starts_with("function #"), "{error}");
}
