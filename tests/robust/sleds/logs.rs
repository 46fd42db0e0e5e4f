//! Logs of programs that are built with sleds.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;

use tempfile::TempDir;
use trace_xray::layout::Action;
use trace_xray::map::{Map, Names};
use trace_xray::read::Ordered;
use trace_xray::Record;

use super::built;
use crate::harness::building::products;
use crate::harness::{trace, Run, MODES};
use crate::llvm_tools;

/// Records the functions of the program into a log.
#[track_caller]
fn recorded(options: &[&str], functions: &[&str], role: &[&str]) -> (TempDir, PathBuf) {
    products();
    let directory = tempfile::tempdir().unwrap();
    let mut record = trace(&["record", "--xray", "--format", "xray"]);
    record.args(options).args(["--functions", &functions.join(",")]);
    record.args(["-o".as_ref(), directory.path(), "--".as_ref(), &*built().program]);
    let run = Run::of(record.args(role));
    assert_eq!(run.code(), 0, "{run:?}");
    let mut paths = fs::read_dir(directory.path()).unwrap().map(|it| it.unwrap().path());
    let log = paths.find(|path| path.extension().is_some_and(|it| it == "xray")).unwrap();
    (directory, log)
}

/// The functions whose calls are counted: `forward` ends with a jump to `last`.
const VALUES: [(&str, u64); 4] =
    [("main::fibonacci", 1973), ("main::mixed", 10), ("main::forward", 10), ("main::last", 10)];

/// A tail exit has the id of the function that jumps.
#[test]
fn tail_exits_are_tail_exits_in_logs() {
    for mode in MODES {
        let (_directory, path) =
            recorded(&["-m", mode], &VALUES.map(|(name, _)| name), &["values"]);
        let map = fs::read(path.with_extension("map")).unwrap();
        let mut names = Names::new(Map::parse(&map).unwrap());
        let mut log = Ordered::new(File::open(path).unwrap()).unwrap();
        let mut ends: BTreeMap<(String, bool), u64> = BTreeMap::new();
        while let Some(item) = log.next().unwrap() {
            let Record::Function(record) = item.record else { continue };
            if !record.action.is_entry() {
                let name = names.get(record.function).into_owned();
                *ends.entry((name, record.action == Action::TailExit)).or_default() += 1;
            }
        }
        let expected =
            VALUES.map(|(name, number)| ((name.to_owned(), name == "main::forward"), number));
        assert_eq!(ends, expected.into(), "{mode}");
    }
}

/// LLVM's tools read them so, too: the function that is jumped to is a callee of the caller.
#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn llvm_has_the_tail_exits() {
    let functions = ["main::values", "main::forward", "main::last"];
    let (_directory, log) = recorded(&[], &functions, &["values"]);
    let text = llvm_tools::yaml(&log);
    let tail_exits = text.lines().filter(|line| line.contains("kind: function-tail-exit"));
    let tail_exits: Vec<_> = tail_exits.collect();
    assert_eq!(tail_exits.len(), 10, "{text}");
    assert!(tail_exits.iter().all(|line| line.contains("function: 'main::forward'")), "{text}");
    let stacks = llvm_tools::stacks(&log);
    let count = |stack: &str| stacks.iter().filter(|it| it.contains(stack)).count();
    assert_eq!((count("main::forward;main::last"), count("main::last; 10")), (0, 1), "{stacks:?}");
}

/// Logs of recordings: in each buffering mode, of one thread and of several.
#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn llvm_has_the_same_counts() {
    let threads = [("main::repeated", 4), ("main::target", 20_000)];
    for (mode, version) in MODES.into_iter().flat_map(|mode| ["1", "5"].map(|it| (mode, it))) {
        for (role, calls) in [(&["values"][..], &VALUES[..]), (&["threads", "5000"], &threads)] {
            let names: Vec<_> = calls.iter().map(|(name, _)| *name).collect();
            let options = ["-m", mode, "--log-version", version];
            let (_directory, log) = recorded(&options, &names, role);
            let case = format!("{mode}, version {version}, {role:?}");
            llvm_tools::check_calls(&log, &calls.iter().copied().collect(), &case);
        }
    }
}
