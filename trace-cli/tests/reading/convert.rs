//! `trace convert`

use std::fs;
use std::io::Read;
use std::os::unix::fs::{symlink, PermissionsExt};
use std::process::Stdio;

use crate::harness::{cut, good, lossy, Place, Run};

const GOOD: &str = r#"{"displayTimeUnit":"ns","traceEvents":[
{"ph":"M","pid":12,"tid":12,"name":"process_name","args":{"name":"./app"}},
{"ph":"X","pid":12,"tid":34,"cat":"net","name":"poll","ts":5.000,"dur":2.000,"args":{"bytes":64}}
],"otherData":{"source":"FXT","records":9,"records dropped":0,"buffers full":0,"bad records":0,"unknown records":0,"unknown strings":0,"unknown threads":0,"counter values left out":0,"reversed durations":0,"cut":false}}
"#;

#[test]
fn a_file_to_a_file() {
    let place = Place::new();
    place.put("in.fxt", &good());
    let run = place.run(&["convert", "in.fxt", "-o", "out.json"]);
    let stderr = "trace: 9 records converted to 2 entries\n".to_owned();
    assert_eq!(run, Run { code: 0, stdout: String::new(), stderr });
    assert_eq!(place.text("out.json"), GOOD);
    assert_eq!(place.names(), ["in.fxt", "out.json"]);
}

#[test]
fn standard_input_to_standard_output() {
    let run = Place::new().run_with(&["convert", "-", "-o", "-"], &good());
    assert_eq!((run.code, run.stdout.as_str()), (0, GOOD));
}

#[test]
fn losses_are_reported() {
    let place = Place::new();
    place.put("in.fxt", &lossy());
    let run = place.run(&["convert", "in.fxt", "-o", "out.json"]);
    assert_eq!(
        run.stderr,
        "trace: 17 records converted to 5 entries\n\
         trace: in.fxt: records dropped during recording: 40\n\
         trace: in.fxt: buffers that became full during recording: 1\n"
    );
    assert_eq!(run.code, 0);
}

#[test]
fn a_truncated_archive_is_converted_up_to_its_end() {
    let place = Place::new();
    place.put("in.fxt", &cut());
    let run = place.run(&["convert", "in.fxt", "-o", "out.json"]);
    assert_eq!(run.code, 3);
    assert_eq!(
        run.stderr,
        "trace: 8 records converted to 1 entry\n\
         trace: in.fxt: the trace ends within the record at byte 136: 31 of 32 bytes; \
         the records before it are used\n"
    );
    let json: serde_json::Value = serde_json::from_str(&place.text("out.json")).unwrap();
    assert_eq!(json["traceEvents"].as_array().unwrap().len(), 1);
    assert_eq!(
        json["otherData"]["cut"],
        "the trace ends within the record at byte 136: 31 of 32 bytes"
    );
}

#[test]
fn an_old_output_stays_if_the_input_is_malformed() {
    let place = Place::new();
    place.put("in.fxt", b"not a trace");
    place.put("out.json", b"of before");
    let run = place.run(&["convert", "in.fxt", "-o", "out.json"]);
    assert_eq!(run.code, 1);
    assert_eq!(place.text("out.json"), "of before");
    assert_eq!(place.names(), ["in.fxt", "out.json"]);
}

#[test]
fn the_archive_is_not_replaced() {
    let place = Place::new();
    place.put("in.fxt", &good());
    let run = place.run(&["convert", "in.fxt", "-o", "./in.fxt"]);
    let stderr =
        "trace: in.fxt is both input and output\nhint: choose another name for -o\n".to_owned();
    assert_eq!(run, Run { code: 1, stdout: String::new(), stderr });
    assert_eq!(fs::read(place.path("in.fxt")).unwrap(), good());
}

#[test]
fn a_link_stays_a_link_and_a_mode_a_mode() {
    let place = Place::new();
    place.put("in.fxt", &good());
    place.put("real.json", b"");
    fs::set_permissions(place.path("real.json"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real.json", place.path("link.json")).unwrap();
    assert_eq!(place.run(&["convert", "in.fxt", "-o", "link.json"]).code, 0);
    assert_eq!(place.text("real.json"), GOOD);
    let mode = fs::metadata(place.path("real.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn outputs_that_cannot_be_written() {
    let place = Place::new();
    place.put("in.fxt", &good());
    let stderr = |output: &str| {
        let run = place.run(&["convert", "in.fxt", "-o", output]);
        assert_eq!(run.code, 1, "{run:?}");
        run.stderr
    };
    let missing = stderr("missing/out.json");
    let expected = "trace: cannot write missing/out.json: its directory 'missing' does not exist";
    assert!(missing.starts_with(expected), "{missing}");
    assert_eq!(stderr("."), "trace: cannot write .: is a directory\n");
    assert_eq!(stderr("/dev/full"), "trace: cannot write /dev/full: no space left on device\n");
}

#[test]
fn standard_output_that_is_full() {
    let place = Place::new();
    place.put("in.fxt", &good());
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = place.command(&["convert", "in.fxt", "-o", "-"]);
    let run = Run::of(command.stdout(full).stderr(Stdio::piped()).output().unwrap());
    assert_eq!(run.code, 1);
    assert_eq!(run.stderr, "trace: cannot write -: no space left on device\n");
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let place = Place::new();
    let large = crate::dump::large();
    place.put("in.fxt", &large);
    let mut command = place.command(&["convert", "in.fxt", "-o", "-"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut start = [0; 19];
    child.stdout.take().unwrap().read_exact(&mut start).unwrap();
    assert_eq!(&start, br#"{"displayTimeUnit":"#);
    let run = Run::of(child.wait_with_output().unwrap());
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}

#[test]
fn an_output_is_required() {
    let run = Place::new().run(&["convert", "in.fxt"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--output <OUT>"), "{}", run.stderr);
}

/// A name that implies another format, or an unknown one, is refused.
#[test]
fn names_that_imply_another_format_are_refused() {
    let place = Place::new();
    place.put("in.fxt", &good());
    place.put("in.json", b"[]");
    let files = place.names();
    for line in [
        "convert in.json -o a.html",
        "convert in.fxt -o a.svg",
        "convert in.fxt -o a.txt",
        "convert in.fxt -o a.json.xz",
        "convert in.fxt -o a.json.xz --to json",
        "slice in.fxt -o a.json",
        "slice in.fxt -o a.fxt.xz",
        "merge in.fxt in.fxt -o a.html",
        "flamegraph in.fxt -o a.html",
        "timeline in.fxt -o a.fxt",
        "record -o a.json -- true",
    ] {
        let run = place.run(&line.split(' ').collect::<Vec<_>>());
        assert!(
            matches!(run.code, 1 | 125) && run.stderr.starts_with("trace: "),
            "{line}: {run:?}"
        );
        assert_eq!(place.names(), files, "{line}");
    }
    assert_eq!(place.run(&["convert", "in.fxt", "-o", "a.txt", "--to", "json"]).code, 0);
    assert!(place.text("a.txt").starts_with('{'));
    assert_eq!(place.run(&["convert", "in.fxt", "-o", "A.JSON.GZ"]).code, 0);
    let gzip = std::fs::read(place.path("A.JSON.GZ")).unwrap();
    assert_eq!(gzip[..2], [0x1f, 0x8b]);
    assert_eq!(place.run(&["timeline", "in.fxt", "-o", "T.HTML.zst"]).code, 0);
}
