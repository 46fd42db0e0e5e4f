//! `trace check`

use trace_format::EventKind;

use crate::harness::{cut, events, good, lossy, Place, Run};

fn check(archive: &[u8]) -> Run {
    Place::new().run_with(&["check", "-"], archive)
}

#[test]
fn a_good_archive() {
    let stdout = "well-formed and complete\n\
                  168 bytes, 9 records, 1 event\n\
                  provider 1 \"app\": 8 records, 1 event, 0 dropped\n"
        .to_owned();
    assert_eq!(check(&good()), Run { code: 0, stdout, stderr: String::new() });
}

/// It is unknown whether the missing begins or ends were lost or never existed.
#[test]
fn unmatched_durations_are_reported() {
    for (kind, what) in [
        (EventKind::DurationBegin, "durations without an end: 3"),
        (EventKind::DurationEnd, "durations without a begin: 3"),
    ] {
        let run = check(&events(3, |_| kind));
        let said =
            "well-formed, no records dropped, but durations or operations lack a begin or an end\n";
        assert!(run.stdout.starts_with(said) && run.stdout.contains(what), "{run:?}");
        assert_eq!(run.code, 0);
    }
}

#[test]
fn unknown_arguments_are_counted() {
    let mut archive = good();
    // An instant with an argument of type 13.
    let words: [u64; 3] = [0x0000_0000_0010_0054, 7, 0];
    let words = words.into_iter().chain([0, 0x0000_001d]);
    archive.extend(words.flat_map(u64::to_le_bytes));
    let run = check(&archive);
    assert!(run.stdout.contains("\narguments of unknown types: 1\n"), "{run:?}");
    assert_eq!(run.code, 0);
}

#[test]
fn a_lossy_archive() {
    let run = check(&lossy());
    assert_eq!(
        run.stdout,
        "well-formed, but data is missing\n\
         344 bytes, 17 records, 3 events\n\
         provider 1 \"app\": 15 records, 3 events, 40 dropped\n\
         full buffers: 1\n\
         dropped records: 40\n  \
           provider 1, thread 12/34: 40, \"buffer full\"\n\
         durations without an end: 1\n  \
           thread 12/34 since 0.000008000s: \"net\" \"read\"\n"
    );
    assert_eq!((run.code, run.stderr.as_str()), (3, ""));
}

#[test]
fn a_malformed_archive() {
    let run = check(&cut());
    assert_eq!(
        run.stdout,
        "malformed\n\
         136 bytes, 8 records, 0 events\n\
         provider 1 \"app\": 7 records, 0 events, 0 dropped\n\
         error: the trace ends within the record at byte 136: 31 of 32 bytes\n"
    );
    assert_eq!(run.code, 1);
}

#[test]
fn the_report_as_json() {
    let run = Place::new().run_with(&["check", "--json", "-"], &lossy());
    assert_eq!(run.code, 3);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["verdict"], "lossy");
    assert_eq!(report["records_dropped"], 40);
    assert_eq!(report["dropped"][0]["reason"], "buffer full");
    assert_eq!(report["open_scopes"][0]["name"], "read");
    assert_eq!(report["providers"][0]["events"], 3);
}
