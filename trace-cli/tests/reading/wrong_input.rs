//! Inputs that are no archives, with all commands that read archives.

use crate::harness::{cut, cut_between_records, good, Place, Run};

/// Runs all commands on the file `in`, and returns their message, which must be the same.
fn message(content: &[u8]) -> String {
    let place = Place::new();
    place.put("in", content);
    let convert = place.run(&["convert", "in", "-o", "out"]);
    assert_eq!((convert.code, convert.stdout.as_str()), (1, ""));
    for command in ["dump", "stats"] {
        assert_eq!(place.run(&[command, "in"]), convert);
    }
    assert_eq!(place.names(), ["in"]);
    let check = place.run(&["check", "in"]);
    assert_eq!((check.code, &check.stderr), (1, &convert.stderr));
    assert!(check.stdout.starts_with("malformed\n"), "{check:?}");
    convert.stderr
}

const WRONG: &str = "trace: cannot read in: not a trace archive\nhint: ";

#[test]
fn short_files() {
    let expected = format!("{WRONG}an archive has at least 8 bytes\n");
    assert_eq!(message(b""), expected);
    assert_eq!(message(b"abc"), expected);
}

#[test]
fn files_of_other_kinds() {
    let expected = format!(
        "{WRONG}it is none of FXT, trace.dat, perf.data, XRay FDR, XRay YAML, JSON, ftrace text; \
         an FXT archive starts with the bytes 10 00 04 46 78 54 16 00\n"
    );
    assert_eq!(message(&[0; 64]), expected);
}

#[test]
fn json_that_is_malformed() {
    let place = Place::new();
    place.put("in", b"{\"traceEvents\": 7}");
    let stderr = "trace: cannot read in as JSON: line 1, column 17: expected the array \
                  `traceEvents`\nhint: trace convert --lenient leaves out what cannot be read\n";
    let expected = Run { code: 1, stdout: String::new(), stderr: stderr.to_owned() };
    for command in ["check", "stats", "top", "critical-path"] {
        assert_eq!(place.run(&[command, "in"]), expected);
    }
}

#[test]
fn directories_and_missing_files() {
    let place = Place::new();
    for command in ["dump", "check", "stats"] {
        let run = place.run(&[command, "."]);
        let stderr = "trace: cannot read .: is a directory\n".to_owned();
        assert_eq!(run, Run { code: 1, stdout: String::new(), stderr });
        let run = place.run(&[command, "missing"]);
        let stderr = "trace: cannot open missing: no such file or directory\n".to_owned();
        assert_eq!(run, Run { code: 1, stdout: String::new(), stderr });
    }
}

#[test]
fn the_exit_codes_are_in_the_help() {
    let run = Place::new().run(&["--help"]);
    assert_eq!(run.code, 0);
    assert!(run.stdout.contains("\n    3  the data is incomplete"), "{}", run.stdout);
    assert_eq!(Place::new().run(&["no-such-command"]).code, 2);
}

#[test]
fn a_misspelt_file_has_a_hint() {
    let place = Place::new();
    place.put("shop-today-1.fxt", &good());
    place.put("shop-today-12.fxt", &good());
    std::fs::create_dir(place.path("shop-todya-1.fx")).unwrap();
    let stderr = |command: &[&str]| {
        let run = place.run(command);
        assert_eq!(run.code, 1, "{run:?}");
        run.stderr
    };
    let missing = |name: &str| format!("trace: cannot open {name}: no such file or directory\n");
    let hint = "hint: did you mean shop-today-1.fxt?\n";
    assert_eq!(stderr(&["stats", "shop-todya-1.fxt"]), missing("shop-todya-1.fxt") + hint);
    assert_eq!(
        stderr(&["dump", "./shop-today-1.fx"]),
        missing("./shop-today-1.fx") + "hint: did you mean ./shop-today-1.fxt?\n"
    );
    assert_eq!(stderr(&["stats", "requests.fxt"]), missing("requests.fxt"));
}

/// An archive that was cut is incomplete, within a record or between two.
#[test]
fn cut_archives_have_one_exit_code() {
    let early = "the archive ends early: providers whose last records may be missing: 1";
    let within = "the trace ends within the record at byte 136: 31 of 32 bytes";
    let within = format!("{within}; the records before it are used");
    for (archive, message) in [(cut_between_records(), early), (cut(), &*within)] {
        let place = Place::new();
        place.put("in.fxt", &archive);
        for line in [
            &["stats", "in.fxt"][..],
            &["stats", "in.fxt", "--slowest", "1"],
            &["stats", "in.fxt", "-t", "34"],
            &["info", "in.fxt"],
            &["dump", "in.fxt"],
            &["slice", "in.fxt", "-o", "out.fxt"],
            &["convert", "in.fxt", "-o", "out.json"],
            &["merge", "in.fxt", "-o", "out.fxt"],
        ] {
            if archive.len() % 8 != 0 && line.contains(&"34") {
                continue; // The record that is cut is the only one of the thread.
            }
            let run = place.run(line);
            assert_eq!(run.code, 3, "{run:?}");
            assert!(run.stderr.contains(&format!("trace: in.fxt: {message}\n")), "{run:?}");
        }
    }
    let place = Place::new();
    place.put("in.fxt", &cut_between_records());
    assert_eq!(place.run(&["top", "in.fxt"]).code, 3);
    assert_eq!(place.run(&["diff", "in.fxt", "in.fxt"]).code, 3);
}

#[test]
fn an_archive_needs_no_recovery() {
    let place = Place::new();
    place.put("cut.fxt", &cut());
    let run = place.run(&["recover", "cut.fxt"]);
    let stderr = "trace: cannot recover cut.fxt: it is an archive, and no program left a buffer\n\
                  hint: all commands read it; trace slice cut.fxt -o NEW keeps its readable part, \
                  if it is damaged or not complete\n";
    assert_eq!(run, Run { code: 1, stdout: String::new(), stderr: stderr.to_owned() });
    assert_eq!(place.run(&["slice", "cut.fxt", "-o", "kept.fxt"]).code, 3);
    assert_eq!(place.run(&["check", "kept.fxt"]).code, 0);
    // Its recorder was killed, and so was its guard.
    place.put(".killed.fxt.partial", &cut());
    for name in ["killed.fxt", ".killed.fxt.partial"] {
        let run = place.run(&["recover", name]);
        let reason = "cannot recover .killed.fxt.partial: it is an archive, and no program left a";
        assert!(run.code == 1 && run.stderr.contains(reason), "{run:?}");
    }
    let missing = place.run(&["recover", "missing.fxt"]);
    assert!(missing.stderr.contains("missing.fxt.buffer"), "{missing:?}");
}
