//! Reports of `llvm-xray` and of ours, word by word.

use std::path::Path;

use trace_analyze::input::InputFormat;
use trace_format::{Event, EventKind, Reader, Thread, ThreadKoids, Writer};
use trace_xray::fxt::{export, Fdr};
use trace_xray::map::{Map, Names};
use trace_xray::read::Ordered;
use trace_xray::report::{Account, Calls, Graph, Label, Options};

use crate::account::sorted;
use crate::theirs::{recorded, subject, THRESHOLDS};
use crate::tools::{verify, xray, Work};

fn calls(log: &Path) -> Calls {
    let log = Ordered::new(std::fs::File::open(log).unwrap()).unwrap();
    Calls::read(log, |error| panic!("{error}")).unwrap()
}

fn recursive_calls(log: &Path) -> Calls {
    let log = Ordered::new(std::fs::File::open(log).unwrap()).unwrap();
    let options = Options { recursive_only: true };
    Calls::read_with(log, options, |error| panic!("{error}")).unwrap()
}

/// Returns the lines of a text in order, with their words. LLVM orders them by memory addresses.
fn words(text: &str) -> Vec<String> {
    let mut lines: Vec<_> =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    lines.retain(|line| !line.is_empty());
    lines.sort();
    lines
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn account_stack_graph_and_map_are_the_same() {
    let work = Work::new();
    let program = subject(&work);
    let map = Map::parse(&std::fs::read(&program).unwrap()).unwrap();
    let run = |options: &[&str], log: &Path| {
        let files = ["-m", program.to_str().unwrap(), log.to_str().unwrap()];
        xray(&[options, &files].concat()).unwrap()
    };
    let extracted = xray(&["extract", "-symbolize", program.to_str().unwrap()]).unwrap();
    assert_eq!(map.to_yaml(), extracted);
    let mut names = Names::new(map);
    for threshold in THRESHOLDS {
        let (_work, log) = recorded(&program, threshold);
        let yaml = sorted(&work, &log);
        let calls = calls(&log);
        // Without debug information LLVM has no place in a source file.
        let no_source = |text: String| text.replace("<invalid>:0:0: ", "");
        let account = Account::new(&calls, &mut names);
        let theirs = no_source(run(&["account", "-d"], &yaml));
        assert_eq!(words(&account.text()), words(&theirs), "threshold {threshold}");
        let theirs = run(&["account", "-d", "-format=csv"], &yaml).replace("<invalid>:0:0", "");
        assert_eq!(words(&account.csv()), words(&theirs), "threshold {threshold}");
        let theirs = no_source(run(&["account", "-d", "-recursive-calls-only"], &yaml));
        let account = Account::new(&recursive_calls(&log), &mut names);
        assert_eq!(words(&account.text()), words(&theirs), "threshold {threshold}");
        let options = ["graph", "-d", "-edge-label=count", "-vertex-label=sum"];
        let graph = Graph::new(&calls, Label::Count, Label::Sum);
        assert_eq!(words(&graph.dot(&mut names)), words(&run(&options, &yaml)));
        let options = ["graph", "-d", "-edge-label=90p", "-vertex-label=med"];
        let graph = Graph::new(&calls, Label::P90, Label::Median);
        assert_eq!(words(&graph.dot(&mut names)), words(&run(&options, &yaml)));
        stacks(&calls, &mut names, |options| run(options, &log));
    }
}

fn stacks(calls: &Calls, names: &mut Names, run: impl Fn(&[&str]) -> String) {
    let all = ["stack", "-k", "-all-stacks", "-stack-format=flame"];
    for (aggregation, is_count) in
        [("-aggregation-type=time", false), ("-aggregation-type=count", true)]
    {
        let mut ours = String::new();
        for (thread, stacks) in calls.stacks().by_thread() {
            for stack in &stacks {
                ours += &stack.folded(Some(thread), names, is_count);
                ours.push('\n');
            }
        }
        assert_eq!(words(&ours), words(&run(&[&all[..], &[aggregation]].concat())));
    }
    let mut ours = String::new();
    for stack in calls.stacks().aggregated().iter() {
        ours += &stack.folded(None, names, false);
        ours.push('\n');
    }
    let options = ["-aggregate-threads", "-aggregation-type=time"];
    assert_eq!(words(&ours), words(&run(&[&all[..], &options].concat())));
    // The heads and values; equal stacks are in any order.
    let threads = calls.stacks().by_thread().into_values().flatten().collect::<Vec<_>>();
    let heads = |text: &str| -> Vec<String> {
        let is_head = |line: &&str| !line.starts_with('#');
        words(&text.lines().filter(is_head).collect::<Vec<_>>().join("\n"))
    };
    let ours = trace_xray::report::stacks_text(&threads, names);
    assert_eq!(heads(&ours), heads(&run(&["stack", "-k"])));
}

/// A log of LLVM becomes an archive, and that becomes a log with a map of its own.
#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn an_archive_becomes_a_log_with_the_same_calls() {
    let work = Work::new();
    let program = subject(&work);
    let (_work, log) = recorded(&program, 0);
    let map = Map::parse(&std::fs::read(&program).unwrap()).unwrap();
    let archive = Fdr { map }.open(Box::new(std::fs::File::open(&log).unwrap())).unwrap();
    let mut bytes = Vec::new();
    let exported = export(Reader::new(archive), &mut bytes).unwrap();
    verify(&bytes).unwrap();
    let (back, map) = (work.file("back.xray", &bytes), work.file("back.map", &exported.map));
    let rows = |map: &Path, log: &Path| {
        let yaml = sorted(&work, log);
        let files = ["-m", map.to_str().unwrap(), yaml.to_str().unwrap()];
        let csv = xray(&[&["account", "-d", "-format=csv"][..], &files].concat()).unwrap();
        // Without the ids.
        let mut rows: Vec<_> = csv
            .lines()
            .filter_map(|row| row.split_once(',').map(|(_, row)| row.to_owned()))
            .collect();
        rows.sort();
        rows
    };
    assert_eq!(rows(&map, &back), rows(&program, &log));
    let files = ["-m", map.to_str().unwrap(), back.to_str().unwrap()];
    let stacks = xray(&[&["stack", "-k"][..], &files].concat()).unwrap();
    assert!(stacks.contains("catcher"), "{stacks}");
    let options = ["convert", "-symbolize", "-f", "trace_event"];
    let events = xray(&[&options[..], &files].concat()).unwrap();
    assert!(events.contains("with_argument"), "{events}");
}

/// Returns an archive of two threads with this number of calls each, in pairs inside of `main`.
fn archive_of_calls(number: u64) -> Vec<u8> {
    let mut archive = Writer::new(Vec::new()).unwrap();
    archive.initialization(1_000_000_000).unwrap();
    for thread in [71, 72] {
        let mut call = |ticks, name: &str, end| {
            let (category, name, arguments) = ("xray".into(), name.into(), (&[][..]).into());
            let thread = Thread::Inline(ThreadKoids::new(70, thread));
            let kind = EventKind::DurationComplete { end };
            archive
                .record(&Event { ticks, thread, category, name, kind, arguments }.into())
                .unwrap();
        };
        call(1000, "main", 2000 + 10 * number);
        for pair in 0..number / 2 {
            let begin = 1000 + 20 * pair;
            call(begin, "outer", begin + 15);
            call(begin + 5, "inner", begin + 10);
        }
    }
    archive.into_inner()
}

/// LLVM's tools lose the order of more than 16 thread buffers of a thread.
#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn many_calls_of_a_thread_keep_their_order() {
    const CALLS: u64 = 600_000;
    let work = Work::new();
    let mut log = Vec::new();
    let exported = export(Reader::new(&archive_of_calls(CALLS)[..]), &mut log).unwrap();
    assert_eq!(exported.calls, 2 * (CALLS + 1));
    verify(&log).unwrap();
    let (log, map) = (work.file("log", &log), work.file("map", &exported.map));
    let files = ["-m", map.to_str().unwrap(), log.to_str().unwrap()];
    let csv = xray(&[&["account", "-format=csv"][..], &files].concat()).unwrap();
    let mut counts: Vec<_> = csv
        .lines()
        .skip(1)
        .map(|row| row.splitn(10, ',').collect::<Vec<_>>())
        .map(|cells| (cells[9].trim_matches('"').to_owned(), cells[1].parse::<u64>().unwrap()))
        .collect();
    counts.sort();
    let expected = [("inner", CALLS), ("main", 2), ("outer", CALLS)];
    assert_eq!(counts, expected.map(|(name, count)| (name.to_owned(), count)));
    let options = ["stack", "-all-stacks", "-stack-format=flame", "-aggregation-type=count"];
    let stacks = xray(&[&options[..], &["-aggregate-threads"], &files].concat()).unwrap();
    let expected = [
        "main; 2".to_owned(),
        format!("main;outer; {CALLS}"),
        format!("main;outer;inner; {CALLS}"),
    ];
    assert_eq!(words(&stacks), expected);
}
