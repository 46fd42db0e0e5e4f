//! Kernels without `membarrier` and machines without a reliable counter: slower, but correct.

use std::collections::BTreeMap;

use crate::harness::{subject, Archive, Run, Session, MODES};

const WITHOUT: [&str; 3] = ["membarrier", "cpu counter", "membarrier, cpu counter"];

#[test]
fn a_burst_is_recorded_or_counted_as_lost_without_membarrier_and_counter() {
    for without in WITHOUT {
        for mode in MODES {
            let session = Session::start(mode, 256 << 10);
            assert_eq!(
                Run::of(session.subject(&["burst", "50000"]).env("WITHOUT", without)).code(),
                0
            );
            let (archive, _) = session.end();
            let numbers = archive.only().numbers("instant");
            assert!(numbers.is_sorted_by(|a, b| a < b), "in order, none repeated");
            let (found, lost) = (numbers.len() as u64, archive.only().lost());
            match mode {
                "circular" => assert!(
                    50_000 - numbers[0] <= found + lost,
                    "{without}: the newest are in the archive, or reported as lost"
                ),
                _ => assert_eq!(found + lost, 50_000, "{without}, {mode}"),
            }
        }
    }
}

#[test]
fn times_are_ordered_without_the_counter_and_events_are_kept_without_membarrier() {
    let directory = tempfile::tempdir().unwrap();
    for without in WITHOUT {
        let output = directory.path().join("out.fxt");
        let mut crowd = subject(&["crowd", "300", "8"]);
        let run = Run::of(crowd.env("WITHOUT", without).env("TRACE_OUTPUT", &output));
        assert_eq!(run.code(), 0, "{run:?}");
        let archive = Archive::read(&output);
        let crowd = archive.only();
        assert_eq!((crowd.count("first"), crowd.count("second"), crowd.lost()), (300, 300, 0));
        assert!(crowd
            .events
            .iter()
            .all(|event| event.numbers.get("thread").is_none_or(|it| *it == event.thread)));
        let times = |name| -> BTreeMap<u64, u64> {
            crowd.named(name).map(|event| (event.number(), event.ticks)).collect()
        };
        let (first, second) = (times("first"), times("second"));
        assert!(first.iter().all(|(number, ticks)| *ticks > 0 && *ticks <= second[number]));
    }
}
