//! Inputs that are no archives, with all commands that read one.

use crate::harness::{Place, Run};

/// Runs all commands on file `in` and returns what they say; all say the same.
fn said(content: &[u8]) -> String {
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

const EXPECTED: &str = "expected the bytes 10 00 04 46 78 54 16 00 at its start";

#[test]
fn short_files() {
    let expected =
        format!("trace: 'in' is no trace archive: it has less than 8 bytes; {EXPECTED}\n");
    assert_eq!(said(b""), expected);
    assert_eq!(said(b"abc"), expected);
}

#[test]
fn files_of_other_kinds() {
    let found = "00 00 00 00 00 00 00 00; give a file that `trace record` has written";
    let expected = format!("trace: 'in' is no trace archive: {EXPECTED}, found {found}\n");
    assert_eq!(said(&[0; 64]), expected);
}

#[test]
fn json_that_is_malformed() {
    let place = Place::new();
    place.put("in", b"{\"traceEvents\": 7}");
    let stderr = "trace: cannot read 'in' as JSON: line 1, column 17: expected the array \
                  `traceEvents`; trace convert --lenient leaves out what cannot be read\n";
    let expected = Run { code: 1, stdout: String::new(), stderr: stderr.to_owned() };
    for command in ["check", "stats", "top"] {
        assert_eq!(place.run(&[command, "in"]), expected);
    }
}

#[test]
fn big_endian_archives() {
    let expected = "trace: 'in' was written on a big-endian machine: expected a little-endian \
                    archive; convert it where it was recorded\n";
    assert_eq!(said(&0x0016_5478_4604_0010_u64.to_be_bytes()), expected);
}

#[test]
fn directories_and_missing_files() {
    let place = Place::new();
    for command in ["dump", "check", "stats"] {
        let run = place.run(&[command, "."]);
        let stderr =
            "trace: '.' is a directory: expected an archive, as `trace record` writes it\n"
                .to_owned();
        assert_eq!(run, Run { code: 1, stdout: String::new(), stderr });
        let run = place.run(&[command, "missing"]);
        let stderr =
            "trace: cannot open 'missing': No such file or directory (os error 2)\n".to_owned();
        assert_eq!(run, Run { code: 1, stdout: String::new(), stderr });
    }
}

#[test]
fn the_exit_codes_are_in_the_help() {
    let run = Place::new().run(&["--help"]);
    assert_eq!(run.code, 0);
    assert!(run.stdout.contains("\n    3  done, but not all is there"), "{}", run.stdout);
    assert_eq!(Place::new().run(&["no-such-command"]).code, 2);
}
