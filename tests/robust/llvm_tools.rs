//! Logs of recordings in LLVM's tools.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// The calls of functions.
pub(crate) type Calls<'a> = BTreeMap<&'a str, u64>;

/// Returns the output of `llvm-xray-19`.
fn llvm(arguments: &[&str], log: &Path) -> String {
    let mut xray = Command::new("llvm-xray-19");
    let output = xray.args(arguments).arg(log).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns the records of a log as YAML, with the names of its map.
pub(crate) fn yaml(log: &Path) -> String {
    let map = log.with_extension("map");
    llvm(&["convert", "-f", "yaml", "-symbolize", "-m", map.to_str().unwrap()], log)
}

/// Returns the stacks of a log with the number of their calls: `OUTER;INNER; COUNT`.
pub(crate) fn stacks(log: &Path) -> Vec<String> {
    let map = log.with_extension("map");
    let options = ["-all-stacks", "-stack-format=flame", "-aggregation-type=count"];
    let start = ["stack", "-aggregate-threads", "-m", map.to_str().unwrap()];
    llvm(&[&start[..], &options].concat(), log).lines().map(str::to_owned).collect()
}

/// Checks that each tool has these calls of functions, with their names, and no other calls.
pub(crate) fn check_calls(log: &Path, calls: &Calls<'_>, case: &str) {
    let map = log.with_extension("map");
    let map = map.to_str().unwrap();
    assert!(llvm(&["fdr-dump", "-verify"], log).contains("Function Enter"), "{case}");
    let text = yaml(log);
    assert_eq!(&counted(text.lines().filter_map(entry_of_yaml)), calls, "yaml: {case}");
    let text = llvm(&["convert", "-symbolize", "-f", "trace_event", "-m", map], log);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    for phase in ["B", "E"] {
        let events = document["traceEvents"].as_array().unwrap().iter();
        let events = events.filter(|event| event["ph"] == phase);
        let names = events.filter_map(|event| event["name"].as_str()).map(|name| (name, 1));
        assert_eq!(&counted(names), calls, "trace_event {phase}: {case}");
    }
    let text = llvm(&["account", "-format=csv", "-m", map], log);
    assert_eq!(&counted(text.lines().skip(1).filter_map(row_of_account)), calls, "{case}");
    let stacks = stacks(log);
    let leaves = stacks.iter().filter_map(|stack| leaf_of_stack(stack));
    assert_eq!(&counted(leaves), calls, "stack: {case}");
    let text = llvm(&["graph", "-vertex-label=count", "-m", map], log);
    for (name, number) in calls {
        // Longer names are cut.
        let name: String = name.chars().take(40).collect();
        let name = name.replace('<', "&lt;").replace('>', "&gt;").replace(' ', "");
        let vertex = text.lines().map(|line| line.replace("\\ ", "").replace(' ', ""));
        let mut vertex = vertex.filter(|line| line.contains(&name));
        assert!(
            vertex.any(|line| line.contains(&format!("|{number}}}"))),
            "{name}, {number}: {text}"
        );
    }
}

fn counted<'a>(names: impl Iterator<Item = (&'a str, u64)>) -> Calls<'a> {
    let mut calls = Calls::new();
    names.for_each(|(name, number)| *calls.entry(name).or_default() += number);
    calls
}

/// Returns the exits and entries of each function: those of calls that have no exit, too. The
/// records that `fdr-dump` prints are as many, and so are the calls that `account` counts.
pub(crate) fn exits_and_entries<const N: usize>(log: &Path, functions: [&str; N]) -> [[u64; 2]; N] {
    let text = yaml(log);
    let all = ["exit", "enter"].map(|kind| {
        let lines = text.lines().filter(|line| line.contains(&format!("kind: function-{kind}")));
        counted(lines.filter_map(function_of_yaml).map(|name| (name, 1)))
    });
    let dump = llvm(&["fdr-dump", "-verify"], log);
    let records = ["<Function Exit: ", "<Function Enter: "].map(|it| dump.matches(it).count());
    let sums = all.each_ref().map(|calls| calls.values().sum::<u64>());
    assert_eq!(records.map(|number| number as u64), sums);
    let map = log.with_extension("map");
    let text = llvm(&["account", "-format=csv", "-m", map.to_str().unwrap()], log);
    assert_eq!(counted(text.lines().skip(1).filter_map(row_of_account)), all[0]);
    functions.map(|name| all.each_ref().map(|calls| calls.get(name).copied().unwrap_or(0)))
}

fn entry_of_yaml(line: &str) -> Option<(&str, u64)> {
    let is_entry = line.contains("kind: function-enter");
    Some((function_of_yaml(line).filter(|_| is_entry)?, 1))
}

/// Returns the function of a record `{ ..., function: 'NAME', ..., kind: function-enter, ...}`.
fn function_of_yaml(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("function: ")?;
    Some(match rest.strip_prefix('\'') {
        Some(rest) => rest.split_once('\'')?.0,
        None => rest.split_once(',')?.0,
    })
}

/// Returns the function and count of a row: `ID,COUNT,...,"NAME"`.
fn row_of_account(row: &str) -> Option<(&str, u64)> {
    let cells: Vec<_> = row.splitn(10, ',').collect();
    Some((cells.last()?.trim_matches('"'), cells.get(1)?.parse().ok()?))
}

/// Returns the innermost function and the count of a stack: `OUTER;INNER; COUNT`.
fn leaf_of_stack(line: &str) -> Option<(&str, u64)> {
    let (stack, count) = line.rsplit_once("; ")?;
    Some((stack.rsplit(';').next()?, count.parse().ok()?))
}
