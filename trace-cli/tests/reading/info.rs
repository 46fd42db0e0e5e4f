//! `trace info`

use crate::harness::{everything, good, Place};

#[test]
fn names_arguments_and_threads_are_listed() {
    let place = Place::new();
    place.put("in.fxt", &good());
    let run = place.run(&["info", "in.fxt"]);
    let expected = "events from 0.000005000s, for 0ns\n\
                    1 duration\n\
                    1 thread of 1 process\n\
                    no scheduling records (record with --sched)\n\
                    no samples of call stacks (record with --samples)\n\
                    \n\
                    EVENTS  CATEGORY  NAME\n     \
                    1  net       poll\n\
                    \n\
                    COUNT  ARGUMENT  OF        EXAMPLE\n    \
                    1  bytes     net:poll  64\n\
                    \n\
                    EVENTS  THREAD  ID  PROCESS\n     \
                    1          34  ./app (12)\n";
    assert_eq!((run.code, &*run.stdout, &*run.stderr), (0, expected, ""));
    place.put("all.fxt", &everything());
    let run = place.run(&["info", "all.fxt", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json["names"].as_array().unwrap().len(), 7, "{json}");
    let kinds = ["durations", "operations", "flows", "instants", "counters"];
    assert_eq!(kinds.map(|kind| json["kinds"][kind].as_u64()), [3, 1, 1, 1, 1].map(Some));
    // What is listed can be asked for.
    for argument in json["arguments"].as_array().unwrap() {
        let by = format!("arg:{}", argument["key"].as_str().unwrap());
        let name = argument["name"].as_str().unwrap();
        let run = place.run(&["stats", "all.fxt", "--json", "--by", &by, "-n", name]);
        assert_eq!(run.code, 0, "{run:?}");
    }
}

#[test]
fn an_archive_without_events_has_no_tables() {
    let place = Place::new();
    let empty = trace_format::Writer::new(Vec::new()).unwrap().into_inner();
    assert_eq!(place.run_with(&["info", "-"], &empty).stdout, "no events\n");
}
