//! Archives in parts: `trace record --rotate`, and the daemon's sessions.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;

use crate::daemon::Daemon;
use crate::harness::{record, subject, trace, wait_until, Archive, Run};

/// Returns the numbers of an event in the parts of `NAME.fxt`. Fails if one is repeated, or a part
/// does not decode by itself.
fn numbers(directory: &Path, name: &str, event: &str) -> (usize, BTreeSet<u64>) {
    let (mut parts, mut numbers) = (0, BTreeSet::new());
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap();
        if !file.starts_with(&format!("{name}.")) || !file.ends_with(".fxt") {
            continue;
        }
        parts += 1;
        let archive = Archive::read(&path);
        // On a busy machine, the first part may be complete before the program records.
        for provider in &archive.providers {
            let has_names = !provider.thread_names.is_empty();
            assert!(
                !provider.name.is_empty() && (has_names || provider.events.is_empty()),
                "{path:?}"
            );
            for found in provider.events.iter().filter(|found| found.name == event) {
                assert!(numbers.insert(found.number()), "{path:?}: {found:?} is repeated");
            }
        }
    }
    (parts, numbers)
}

fn is_contiguous(numbers: &BTreeSet<u64>) -> bool {
    numbers.iter().copied().eq(0..numbers.len() as u64)
}

#[test]
fn a_recording_is_cut_by_size() {
    let directory = tempfile::tempdir().unwrap();
    let options = ["--rotate", "128K", "-b", "1M", "--json"];
    let role = ["instruments", "40000"];
    let run = Run::of(&mut record(&options, &directory.path().join("out.fxt"), &role));
    assert_eq!(run.code(), 0, "{run:?}");
    let json: serde_json::Value = serde_json::from_str(&run.stdout()).unwrap();
    let (parts, numbers) = numbers(directory.path(), "out", "flood");
    assert!(parts > 1, "{run:?}");
    assert_eq!(json["parts"].as_array().unwrap().len(), parts);
    assert_eq!(json["providers"][0]["categories"]["flood"], numbers.len());
    // On a busy machine, the program may be faster than the recorder.
    let lost = json["lost"].as_u64().unwrap();
    assert!(numbers.len() as u64 + lost >= 40_000, "no loss is hidden: {run:?}");
}

#[test]
fn a_killed_recording_has_all_parts() {
    let directory = tempfile::tempdir().unwrap();
    let options = ["--rotate", "100ms,128K", "-b", "512K"];
    let mut command = record(&options, &directory.path().join("out.fxt"), &["chatter"]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    wait_until("the third part is complete", || directory.path().join("out.3.fxt").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the guard completes the last part", || {
        let mut names = std::fs::read_dir(directory.path()).unwrap();
        !names.any(|entry| entry.unwrap().file_name().to_str().unwrap().ends_with(".partial"))
    });
    let (parts, numbers) = numbers(directory.path(), "out", "word");
    assert!(parts > 3 && is_contiguous(&numbers) && !numbers.is_empty(), "{numbers:?}");
}

#[test]
fn a_session_of_the_configuration_is_cut_by_time() {
    let daemon = Daemon::with_config("[session.flight]\nrotate = '100ms'\nkeep = 2\n");
    let _program = daemon.program("chatter");
    wait_until("old parts are removed", || daemon.path("flight.4.fxt").exists());
    let summary = daemon.json(&["stop", "flight"]);
    let parts = summary["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 2, "{summary}");
    assert!(summary["parts_removed"].as_u64().unwrap() > 1, "{summary}");
    for part in parts {
        Archive::read(Path::new(part.as_str().unwrap())).only();
    }
}

/// A circular session collects the buffers of programs that have ended: without parts, it would
/// grow with each.
#[test]
fn a_flight_recorder_keeps_the_last_of_the_programs_that_have_ended() {
    const PROGRAMS: usize = 24;
    let daemon = Daemon::with_config(
        "[session.flight]\nmode = 'circular'\nbuffer-size = '256K'\nrotate = '256K'\nkeep = 2\n",
    );
    let lasting = daemon.program("chatter");
    daemon.wait_for_programs(1);
    daemon.wait_for_events("flight", 1);
    for _ in 0..PROGRAMS {
        let mut program = subject(&["instruments", "3000"]);
        Run::of(program.env("TRACE_SOCKET", daemon.path("manager.sock")));
    }
    wait_until("the first parts are removed", || {
        (4..=PROGRAMS).any(|part| daemon.path(&format!("flight.{part}.fxt")).exists())
    });
    daemon.json(&["snapshot", "flight", "-o", "now.fxt"]);
    let pids = |path: &Path| -> BTreeSet<u64> {
        let archive = Archive::read(path);
        let recorded = archive.providers.iter().filter(|it| !it.events.is_empty());
        recorded.map(|provider| provider.pid).collect()
    };
    let snapshot = pids(&daemon.path("now.fxt"));
    assert!(snapshot.contains(&lasting.pid()), "a program that runs");
    assert!((2..PROGRAMS).contains(&snapshot.len()), "{snapshot:?}");
    let summary = daemon.json(&["stop", "flight"]);
    assert!(summary["parts_removed"].as_u64().unwrap() > 1, "{summary}");
    let parts = summary["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 2, "{summary}");
    let last = Path::new(parts[1].as_str().unwrap());
    assert!(pids(last).contains(&lasting.pid()), "its last records");
    let (_, words) = numbers(&daemon.path(""), "flight", "word");
    let first = words.first().copied().unwrap();
    assert!(words.iter().copied().eq(first..first + words.len() as u64), "none is repeated");
}

#[test]
fn impossible_rotations_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let daemon = Daemon::start();
    for (output, option, reason) in [
        ("a.fxt", "--mode=oneshot", "rotation requires streaming or circular mode"),
        ("a.fxt.gz", "--mode=streaming", "compress"),
        ("/dev/null", "--mode=streaming", "rotat"),
    ] {
        let options = ["--rotate=1M", option, "-o", output];
        let recorded =
            trace(&["record", "-d", "1ms"]).args(options).current_dir(&directory).output();
        let recorded = String::from_utf8(recorded.unwrap().stderr).unwrap();
        let started = daemon.run(&[&["start"], &options[..]].concat());
        assert!(recorded.contains(reason), "{output} {option}: {recorded}");
        assert_eq!(started.code(), 1, "{started:?}");
        assert!(started.stderr().contains(reason), "{started:?}");
    }
}
