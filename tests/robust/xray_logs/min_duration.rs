//! `--min-duration` leaves out shorter calls, as the threshold of LLVM's runtime does.

use std::fs::File;
use std::path::Path;

use trace_xray::calls::{CallStacks, Step};
use trace_xray::read::Ordered;

use super::{logs, recorded, Log};

/// Returns the number of calls in a log, and the shortest one in nanoseconds.
fn calls(log: &Path) -> (u64, Option<u64>) {
    let mut reader = Ordered::new(File::open(log).unwrap()).unwrap();
    let (mut stacks, mut number, mut shortest) = (CallStacks::default(), 0, None);
    while let Some(item) = reader.next().unwrap() {
        let frequency = item.header.cycle_frequency;
        if let Some(Step::Left(ended)) = stacks.step(&item) {
            for call in ended {
                let nanos =
                    u128::from(call.left - call.entered) * 1_000_000_000 / u128::from(frequency);
                number += 1;
                shortest = shortest.into_iter().chain([nanos as u64]).min();
            }
        }
    }
    (number, shortest)
}

/// Each call is in the log, or was shorter.
#[test]
fn shorter_calls_are_left_out() {
    for (time, nanos) in [("1ns", 1), ("1us", 1000), ("1h", 3_600_000_000_000)] {
        let options = ["-m", "oneshot", "-b", "64M", "--min-duration", time];
        let (directory, run) = recorded(&options, &["call", "10000"]);
        let [path] = &logs(&directory.path().join("logs"))[..] else { panic!("{run:?}") };
        let (number, shortest) = calls(path);
        assert!(shortest.is_none_or(|shortest| shortest >= nanos - 1), "{time}: {shortest:?}");
        let text = run.stderr().replace(',', "");
        let short = text.split_once(" shorter").and_then(|(before, _)| before.rsplit(' ').next());
        let short: u64 = short.map_or(0, |number| number.parse().unwrap());
        assert_eq!(number + short, 20_000, "{time}: {text}");
        assert!(time != "1h" || number == 0, "{number} calls");
        assert!(time != "1ns" || number > 0, "{text}");
    }
}

/// LLVM's runtime removes a call only if its records are the last ones.
#[test]
fn shorter_calls_with_an_event_are_kept() {
    let (directory, run) = recorded(&["--min-duration", "1h"], &["crowd", "30", "4"]);
    let [path] = &logs(&directory.path().join("logs"))[..] else { panic!("{run:?}") };
    let log = Log::read(path);
    assert_eq!(log.calls, [("life".to_owned(), 30)].into());
    assert_eq!((log.instants["first"], log.instants["second"]), (30, 30));
}
