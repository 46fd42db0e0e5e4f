//! Reports on the calls of a log.

mod common;

use std::io::Cursor;

use common::Made;
use trace_xray::layout::{Action, Version};
use trace_xray::map::{self, Map, Names};
use trace_xray::read::Ordered;
use trace_xray::report::{stacks_text, Account, Calls, Counts, Field, Graph, Label, Options};
use trace_xray::{Format, Record};

/// `main` calls `work` twice, and the second time `work` calls itself and is unwound; then it is
/// open on another thread.
fn log() -> Vec<u8> {
    let mut log = Made::new(Format::little(Version::V5), 4096);
    log.buffer(|log| {
        log.start(7, 8);
        log.function(Action::Exit, 2, 1);
        log.function(Action::Entry, 1, 1000);
        log.function(Action::Entry, 2, 1000);
        log.function(Action::Exit, 2, 500_000);
        log.function(Action::Entry, 2, 1000);
        log.function(Action::Entry, 2, 1000);
        log.function(Action::Exit, 1, 2_000_000);
    });
    log.buffer(|log| {
        log.start(7, 9);
        log.function(Action::Entry, 2, 1);
    });
    log.bytes
}

fn calls() -> Calls {
    let log = Ordered::new(Cursor::new(log())).unwrap();
    Calls::read(log, |error| panic!("{error}")).unwrap()
}

fn names() -> Names {
    Names::new(Map::parse(&map::write(&["main", "wo<rk>"], None).unwrap()).unwrap())
}

#[test]
fn times_of_functions() {
    let mut account = Account::new(&calls(), &mut names());
    // The exit of `main` closes both open calls of `work` at the same time.
    let expected = "\
Functions with latencies: 2
   funcid      count [      min,       med,       90p,       99p,       max]       sum  function
        1          1 [ 0.002503,  0.002503,  0.002503,  0.002503,  0.002503]  0.002503  main
        2          3 [ 0.000500,  0.002000,  0.002001,  0.002001,  0.002001]  0.004501  wo<rk>
";
    assert_eq!(account.text(), expected);
    account.sort(Field::Count, true, 1);
    let expected = "\
funcid,count,min,median,90%ile,99%ile,max,sum,debug,function
2,3,5.000000e-04,2.000000e-03,2.001000e-03,2.001000e-03,2.001000e-03,4.501000e-03,\"\",\"wo<rk>\"
";
    assert_eq!(account.csv(), expected);
}

/// The first log has 1 GHz, the second one 2 MHz.
#[test]
fn times_of_logs_with_other_rates() {
    let mut all = Vec::new();
    for (rate, ticks) in [(1_000_000_000, 1_000_000_000), (2_000_000, 4_000_000)] {
        let mut log = Made::new(Format::little(Version::V5), 4096);
        log.bytes[8..16].copy_from_slice(&u64::to_le_bytes(rate));
        log.buffer(|log| {
            log.start(7, 8);
            log.function(Action::Entry, 1, 1);
            log.function(Action::Exit, 1, ticks);
        });
        all.extend(log.bytes);
    }
    let calls = Calls::read(Ordered::new(Cursor::new(all)).unwrap(), |error| panic!("{error}"));
    let account = Account::new(&calls.unwrap(), &mut names());
    assert_eq!(account.rows()[0].count, 2);
    let line = account.text().lines().last().unwrap().to_owned();
    assert!(line.contains("[ 1.000000,") && line.contains(" 2.000000]  3.000000  main"), "{line}");
}

#[test]
fn calls_during_which_time_goes_back_are_counted() {
    let mut log = Made::new(Format::little(Version::V5), 4096);
    log.buffer(|log| {
        log.start(7, 8);
        log.function(Action::Entry, 1, 1);
        log.put(Record::TscWrap { tsc: 100 });
        log.function(Action::Exit, 1, 1);
    });
    let calls =
        Calls::read(Ordered::new(Cursor::new(log.bytes)).unwrap(), |error| panic!("{error}"));
    let counts = calls.unwrap().counts();
    assert_eq!(counts, Counts { backward: 1, ..Counts::default() });
}

/// `work` calls itself in the second call of it, and nothing else does.
#[test]
fn recursive_calls_only() {
    let log = Ordered::new(Cursor::new(log())).unwrap();
    let options = Options { recursive_only: true };
    let calls = Calls::read_with(log, options, |error| panic!("{error}")).unwrap();
    let account = Account::new(&calls, &mut names());
    let rows: Vec<_> = account.rows().iter().map(|row| (&*row.name, row.count)).collect();
    assert_eq!(rows, [("wo<rk>", 2)]);
}

#[test]
fn the_order_of_rows() {
    let order = |field, is_descending| {
        let mut account = Account::new(&calls(), &mut names());
        account.sort(field, is_descending, usize::MAX);
        account.rows().iter().map(|row| row.function.number()).collect::<Vec<_>>()
    };
    assert_eq!(order(Field::Id, true), [2, 1]);
    assert_eq!(order(Field::Name, false), [1, 2]);
    assert_eq!(order(Field::Name, true), [2, 1]);
    assert_eq!(order(Field::Min, false), [2, 1]);
    assert_eq!(order(Field::Sum, true), [2, 1]);
    assert_eq!(order(Field::Max, true), [1, 2]);
}

#[test]
fn callers_and_callees() {
    let calls = calls();
    let expected = "\
digraph xray {
node [shape=record];
F0 -> F1 [label=\"1\"];
F1 -> F2 [label=\"2\"];
F2 -> F2 [label=\"1\"];
F1 [label=\"{main|2.503000e-03}\"];
F2 [label=\"{wo\\<rk\\>|4.501000e-03}\"];
}
";
    assert_eq!(Graph::new(&calls, Label::Count, Label::Sum).dot(&mut names()), expected);
}

#[test]
fn stacks_of_calls() {
    let (calls, mut names) = (calls(), names());
    let lines = |is_count| {
        let mut lines = Vec::new();
        for (thread, stacks) in calls.stacks().by_thread() {
            lines.extend(
                stacks.iter().map(|stack| stack.folded(Some(thread), &mut names, is_count)),
            );
        }
        lines
    };
    let mut lines = lines;
    assert_eq!(
        lines(true),
        [
            "thread_8;main; 1",
            "thread_8;main;wo<rk>; 2",
            "thread_8;main;wo<rk>;wo<rk>; 1",
            "thread_9;wo<rk>; 0"
        ]
    );
    assert_eq!(lines(false)[1], "thread_8;main;wo<rk>; 2501000");
    let aggregated = calls.stacks().aggregated();
    let stacks: Vec<_> = aggregated.iter().collect();
    let text = stacks_text(&stacks, &mut self::names());
    assert!(text.starts_with("\nUnique Stacks: 2\nTop 10 Stacks by leaf sum:\n\nSum: 2000000\n"));
}

#[test]
fn incomplete_calls_are_counted() {
    let expected = Counts { unwound: 2, open: 1, no_entry: 1, ..Counts::default() };
    assert_eq!(calls().counts(), expected);
}

/// The frames of all stacks together would take 51 GB.
#[test]
fn deep_recursion() {
    const DEPTH: u32 = 1 << 16;
    let mut log = Made::new(Format::little(Version::V5), 1 << 20);
    log.buffer(|log| {
        log.start(7, 8);
        for _ in 0..DEPTH {
            log.function(Action::Entry, 1, 1);
        }
        for _ in 0..DEPTH {
            log.function(Action::Exit, 1, 1);
        }
    });
    let log = Ordered::new(Cursor::new(log.bytes)).unwrap();
    let calls = Calls::read(log, |error| panic!("{error}")).unwrap();
    let stacks = calls.stacks().by_thread();
    assert_eq!(stacks[&8].len(), DEPTH as usize);
    let text = stacks_text(&stacks[&8], &mut names());
    assert!(text.starts_with("\nUnique Stacks: 1\n"));
    assert_eq!(text.matches("\n#65535 ").count(), 2);
}
