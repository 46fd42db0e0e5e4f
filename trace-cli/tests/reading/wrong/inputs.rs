//! Inputs that are no archives, or truncated or damaged ones.

use std::io::Read;
use std::os::unix::fs::symlink;

use trace_format::{encode, Arguments, Event, EventKind, Text, Thread};

use super::{assert_failed, assert_sentence, place, COMMANDS, FROM_JSON, GOOD, RECOVER, WRONG};
use crate::compressed::{gzip, zstd};
use crate::harness::{everything, Place};

/// Returns pseudo-random bytes, always the same.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1u64;
    let byte = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..length).map(byte).collect()
}

/// Inputs that are neither an archive nor JSON.
fn no_archives() -> Vec<(&'static str, Vec<u8>)> {
    let (gzip_of, zstd_of) = (gzip(&everything()), zstd(&everything()));
    let mut damaged = zstd_of.clone();
    damaged[12..20].fill(0xff);
    vec![
        ("empty", Vec::new()),
        ("3 bytes", b"abc".to_vec()),
        ("7 bytes of an archive", everything()[..7].to_vec()),
        ("zeros", vec![0; 1 << 16]),
        ("noise", noise(1 << 16)),
        ("text", b"a text of some length\n".repeat(100)),
        ("gzip, cut in its head", gzip_of[..5].to_vec()),
        ("gzip of no bytes", gzip(b"")),
        ("gzip of zeros", gzip(&[0; 100])),
        ("gzip of gzip", gzip(&gzip_of)),
        ("damaged gzip", [&gzip_of[..10], &[0xff; 40]].concat()),
        ("zstd, cut in its head", zstd_of[..5].to_vec()),
        ("zstd of no bytes", zstd(b"")),
        ("zstd of zeros", zstd(&[0; 100])),
        ("damaged zstd", damaged),
    ]
}

#[test]
fn other_files_are_refused() {
    let place = place();
    for (what, content) in no_archives() {
        place.put(WRONG, &content);
        let files = place.names();
        for command in COMMANDS.iter().chain(&FROM_JSON).chain([&RECOVER]) {
            let run = command.run(&place, WRONG);
            assert_failed(&place, &files, &run, WRONG, &format!("{} with {what}", command.line));
        }
    }
}

/// Only `trace view` reads them.
#[test]
fn traces_of_perfetto_are_refused() {
    let place = place();
    assert_eq!(place.run(&["convert", GOOD, "-o", "made.pftrace"]).code, 0);
    std::fs::rename(place.path("made.pftrace"), place.path(WRONG)).unwrap();
    let files = place.names();
    let hint =
        format!("hint: open it with trace view {WRONG}, or read the archive that it was converted");
    for command in COMMANDS.iter().chain(&FROM_JSON) {
        let run = command.run(&place, WRONG);
        assert_failed(&place, &files, &run, WRONG, command.line);
        let said = format!("trace: cannot read {WRONG}: it is a trace of Perfetto, a format");
        assert!(
            run.stderr.contains(&said) && run.stderr.contains(&hint),
            "{} {run:?}",
            command.line
        );
    }
    let pftrace = std::fs::read(place.path(WRONG)).unwrap();
    let piped = place.run_with(&["info", "-"], &pftrace);
    assert!(piped.code == 1 && piped.stderr.contains("it is a trace of Perfetto"), "{piped:?}");
}

#[test]
fn unreadable_files_are_refused() {
    let place = place();
    symlink("missing", place.path("dangling")).unwrap();
    symlink("loop", place.path("loop")).unwrap();
    // A file that can be opened, but not read.
    symlink("/proc/self/mem", place.path("unreadable")).unwrap();
    std::fs::create_dir(place.path("directory")).unwrap();
    let files = place.names();
    for input in ["missing", "dangling", "loop", "unreadable", "directory", "directory/missing"] {
        for command in COMMANDS.iter().chain(&FROM_JSON).chain([&RECOVER]) {
            let run = command.run(&place, input);
            assert_failed(&place, &files, &run, input, command.line);
        }
    }
}

/// Runs all commands on a part of an archive. They use its data and exit with 3, or report that it
/// has no data for them.
fn assert_partial(place: &Place, what: &str) {
    let files = place.names();
    for command in &COMMANDS {
        let what = format!("{} with {what}", command.line);
        let run = command.run(place, WRONG);
        if run.code == 1 && run.stdout.is_empty() {
            assert_failed(place, &files, &run, WRONG, &what);
            continue;
        }
        let code = if command.line.starts_with("check") { 1 } else { 3 };
        assert_eq!(run.code, code, "{what}: {run:?}");
        if command.output.is_empty() {
            assert!(!run.stdout.is_empty(), "{what}: {run:?}");
        } else {
            assert_sentence(&run, &what);
            assert_whole(place, command.output);
            std::fs::remove_file(place.path(command.output)).unwrap();
        }
        assert_eq!(place.names(), files, "{what}");
    }
}

/// Asserts that an output is well-formed, although its input is not.
fn assert_whole(place: &Place, name: &str) {
    let bytes = std::fs::read(place.path(name)).unwrap();
    let text = || String::from_utf8(bytes.clone()).unwrap();
    match name.rsplit_once('.').unwrap().1 {
        "json" => assert!(serde_json::from_slice::<serde_json::Value>(&bytes).is_ok(), "{name}"),
        "fxt" | "zst" => {
            let check = place.run(&["check", name]);
            // Unresolved references of the input remain.
            let leads_nowhere = check.stdout.contains("unknown");
            assert!(matches!((check.code, leads_nowhere), (0 | 3, false) | (1, true)), "{check:?}");
        }
        "svg" => assert!(text().trim_end().ends_with("</svg>")),
        "html" => assert!(text().trim_end().ends_with("</html>")),
        "csv" | "folded" => assert!(text().is_empty() || text().ends_with('\n')),
        "gz" => {
            let mut text = String::new();
            flate2::read::GzDecoder::new(&*bytes).read_to_string(&mut text).unwrap();
            assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{name}");
        }
        // A sequence of packets, or none.
        "pftrace" => {}
        other => panic!("{other}"),
    }
}

#[test]
fn cut_archives() {
    let (place, whole) = (place(), everything());
    // Also within the header of a record.
    for left in [17, 41, 70, 141, whole.len() / 2, whole.len() - 8, whole.len() - 1] {
        place.put(WRONG, &whole[..left]);
        assert_partial(&place, &format!("{left} of {} bytes", whole.len()));
    }
}

#[test]
fn unresolved_references() {
    let event = Event {
        ticks: 85,
        thread: Thread::Indexed(200),
        category: "net".into(),
        name: Text::Indexed(7777),
        kind: EventKind::Instant { scope: None },
        arguments: Arguments::NONE,
    };
    let mut words = Vec::new();
    encode::append(&mut words, &event.into()).unwrap();
    let place = place();
    place.put(WRONG, &[everything(), encode::to_bytes(&words)].concat());
    assert_partial(&place, "unresolved references");
    for command in COMMANDS.iter().filter(|command| command.output.is_empty()) {
        let run = command.run(&place, WRONG);
        let output = run.stderr + &run.stdout;
        for what in ["strings", "threads"] {
            let is_reported = output.contains(&format!("references to unknown {what}: 1"));
            assert!(is_reported || command.line == "check --json IN", "{}: {output}", command.line);
        }
    }
}

#[test]
fn cut_compressed_archives() {
    let place = place();
    for (what, whole) in [("gzip", gzip(&everything())), ("zstd", zstd(&everything()))] {
        for left in [20, whole.len() / 2, whole.len() - 5, whole.len() - 1] {
            place.put(WRONG, &whole[..left]);
            assert_partial(&place, &format!("{left} of {} bytes of {what}", whole.len()));
        }
    }
}

#[test]
fn archives_with_damage_in_the_middle() {
    let (place, whole) = (place(), everything());
    let words = whole.len() / 8;
    for word in (4..words).step_by(5) {
        let mut damaged = whole.clone();
        damaged[8 * word..8 * word + 8].fill(0xff);
        place.put(WRONG, &damaged);
        let files = place.names();
        for command in COMMANDS.iter().filter(|command| !command.output.ends_with("z")) {
            let run = command.run(&place, WRONG);
            let what = format!("{} with word {word} damaged", command.line);
            assert!(matches!(run.code, 0 | 1 | 3), "{what}: {run:?}");
            if run.code != 0 && !command.line.starts_with("check") {
                assert_sentence(&run, &what);
                assert!(run.stderr.contains(WRONG), "{what}: {run:?}");
            }
            assert!(!run.stderr.contains("panicked"), "{what}: {run:?}");
            let _ = std::fs::remove_file(place.path(command.output));
            assert_eq!(place.names(), files, "{what}");
        }
    }
}
