//! What a recording leaves of an earlier archive of its name.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::harness::{record, recover, subject, trace, wait_until, Archive, Run};

/// Records a role into `output`, by `trace record` or by the program itself.
fn run(output: &Path, is_alone: bool, role: &[&str]) -> Run {
    let mut command = match is_alone {
        true => subject(role),
        false => record(&[], output, role),
    };
    if is_alone {
        command.env("TRACE_OUTPUT", output);
    }
    let run = Run::of(&mut command);
    assert_eq!(run.code(), 0, "{run:?}");
    run
}

fn directory() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    (directory, output)
}

/// Returns the names of all files, in order.
fn files(directory: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(directory.path()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn an_earlier_archive_is_kept_as_old() {
    for is_alone in [false, true] {
        let (directory, output) = directory();
        let old = directory.path().join("out.fxt.old");
        run(&output, is_alone, &["end", "return"]);
        assert_eq!(files(&directory), ["out.fxt"], "alone: {is_alone}");
        for _ in 0..2 {
            let earlier = fs::read(&output).unwrap();
            let run = run(&output, is_alone, &["end", "return"]);
            assert!(fs::read(&old).unwrap() == earlier, "alone: {is_alone}");
            assert!(fs::read(&output).unwrap() != earlier, "alone: {is_alone}");
            assert_eq!(files(&directory), ["out.fxt", "out.fxt.old"]);
            let reports = run.stderr().contains("the earlier archive is now ");
            assert_eq!(reports, !is_alone, "{run:?}");
        }
    }
}

#[test]
fn the_new_name_of_the_earlier_archive_is_reported() {
    for is_directory in [false, true] {
        let (directory, output) = directory();
        run(&output, false, &["end", "return"]);
        let earlier = fs::read(&output).unwrap();
        if is_directory {
            fs::create_dir(directory.path().join("out.fxt.old")).unwrap();
        }
        let run = run(&output, false, &["end", "return"]);
        let stderr = run.stderr();
        let (_, report) = stderr.split_once("the earlier archive is now ").unwrap();
        let name = report.lines().next().unwrap();
        assert!(fs::read(name).is_ok_and(|kept| kept == earlier), "{run:?}");
    }
}

#[test]
fn a_recording_without_records_does_not_replace_an_archive() {
    for is_alone in [false, true] {
        let (directory, output) = directory();
        run(&output, is_alone, &["end", "return"]);
        let earlier = fs::read(&output).unwrap();
        let mut command = match is_alone {
            true => subject(&["end", "return"]),
            false => record(&["-c", "nobody"], &output, &["end", "return"]),
        };
        command.env("TRACE_OUTPUT", &output).env("TRACE_CATEGORIES", "nobody");
        let run = Run::of(&mut command);
        assert_eq!(run.code(), 0, "{run:?}");
        assert!(fs::read(&output).unwrap() == earlier, "alone: {is_alone}: {run:?}");
        assert_eq!(files(&directory), ["out.fxt"], "alone: {is_alone}");
    }
}

#[test]
fn the_archive_that_stays_is_reported() {
    let (_directory, output) = directory();
    let untraced = |options| Run::of(&mut record(options, &output, &["untraced"]));
    let first = untraced(&["--json"]);
    assert!(first.stdout().contains("\"written\": true"), "{first:?}");
    assert!(output.exists(), "an archive without events replaces nothing, and is written");
    let earlier = fs::read(&output).unwrap();
    let second = untraced(&["--json"]);
    assert!(second.stdout().contains("\"written\": false"), "{second:?}");
    for options in [&[][..], &["--quiet"], &["--json"]] {
        let third = untraced(options);
        assert!(third.stderr().contains("out.fxt is unchanged"), "{third:?}");
    }
    assert!(fs::read(&output).unwrap() == earlier);
}

/// An empty file, as of `mktemp`, is no archive to keep.
#[test]
fn an_empty_file_is_replaced() {
    for is_alone in [false, true] {
        for role in [&["end", "return"][..], &["untraced"]] {
            let (directory, output) = directory();
            fs::write(&output, "").unwrap();
            run(&output, is_alone, role);
            assert_eq!(files(&directory), ["out.fxt"]);
            let is_written = fs::metadata(&output).unwrap().len() > 0;
            assert_eq!(is_written, role[0] == "end" || !is_alone);
        }
    }
}

#[test]
fn a_compressed_archive_is_kept_and_not_compressed_again() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt.gz");
    run(&output, false, &["end", "return"]);
    let earlier = fs::read(&output).unwrap();
    run(&output, false, &["untraced"]);
    assert!(fs::read(&output).unwrap() == earlier);
    run(&output, false, &["end", "return"]);
    assert!(fs::read(directory.path().join("out.fxt.gz.old")).unwrap() == earlier);
    assert_eq!(fs::read(&output).unwrap()[..2], [0x1f, 0x8b]);
    assert_eq!(files(&directory), ["out.fxt.gz", "out.fxt.gz.old"]);
}

#[test]
fn a_killed_recorder_keeps_the_earlier_archive() {
    for is_replaced in [true, false] {
        let (directory, output) = directory();
        run(&output, false, &["end", "return"]);
        let earlier = fs::read(&output).unwrap();
        let mut command = match is_replaced {
            true => record(&[], &output, &["alert-chatter"]),
            false => {
                let mut trace = trace(&["record", "-o"]);
                trace.arg(&output).args(["--", "sh", "-c", "echo ready; exec cat"]);
                trace
            }
        };
        // The program ends with its standard input, which this process holds.
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut ready = [0; 6];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let is_partial = |name: &String| name.ends_with(".partial");
        wait_until("the guard is done", || !files(&directory).iter().any(is_partial));
        let kept = if is_replaced { directory.path().join("out.fxt.old") } else { output.clone() };
        assert!(fs::read(kept).unwrap() == earlier, "{:?}", files(&directory));
        if is_replaced {
            assert_eq!(Archive::read(&output).providers.len(), 1);
        }
    }
}

#[test]
fn recover_keeps_the_earlier_archive() {
    let (directory, output) = directory();
    run(&output, true, &["end", "return"]);
    let earlier = fs::read(&output).unwrap();
    Run::of(subject(&["end", "abort"]).env("TRACE_OUTPUT", &output));
    recover(&output);
    assert_eq!(Archive::read(&output).only().events.len(), 2);
    assert!(fs::read(directory.path().join("out.fxt.old")).unwrap() == earlier);
}

#[test]
fn names_have_the_process_the_program_and_the_time() {
    for is_alone in [false, true] {
        let (directory, _) = directory();
        let output = directory.path().join("%n,%p,%t,%%.fxt");
        let mut command = match is_alone {
            true => subject(&["end", "return"]),
            false => record(&[], &output, &["end", "return"]),
        };
        if is_alone {
            command.env("TRACE_OUTPUT", &output);
        }
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let pid = child.id().to_string();
        let run = Run::end_of(child);
        assert_eq!(run.code(), 0, "{run:?}");
        let names = files(&directory);
        let [name] = names.as_slice() else { panic!("one archive: {names:?}") };
        let parts: Vec<&str> = name.strip_suffix(".fxt").unwrap().split(',').collect();
        let [program, process, time, percent] = parts.as_slice() else { panic!("{name}") };
        assert_eq!((*program, *process, *percent), ("subject", &*pid, "%"), "alone: {is_alone}");
        let shape = time.replace(|letter: char| letter.is_ascii_digit(), "0");
        assert_eq!(shape, "00000000T000000.000Z");
        assert_eq!(Archive::read(&directory.path().join(name)).only().events.len(), 2);
    }
}

/// A parent and its children inherit the variable, and each has an archive.
#[test]
fn processes_with_one_output_pattern_replace_nothing() {
    let (directory, _) = directory();
    let output = directory.path().join("%p.fxt");
    let run = Run::of(subject(&["parent"]).env("TRACE_OUTPUT", output));
    assert_eq!(run.code(), 0, "{run:?}");
    assert_eq!(files(&directory).len(), 2, "{:?}", files(&directory));
}

#[test]
fn unknown_letters_of_names_are_errors() {
    let directory = tempfile::tempdir().unwrap();
    for (name, reason) in [
        ("a-%x.fxt", "unknown '%x'"),
        ("100%.fxt", "unknown '%.'"),
        ("a.fxt%", "'%' at the end"),
        ("%é.fxt", "unknown '%é'"),
    ] {
        let output = directory.path().join(name);
        let run = Run::of(&mut record(&[], &output, &["end", "return"]));
        assert_eq!(run.code(), 2, "{run:?}");
        assert!(run.stderr().contains(reason) && run.stderr().contains("%%"), "{run:?}");
        let mut alone: Command = subject(&["end", "return"]);
        let run = Run::of(alone.env("TRACE_OUTPUT", &output));
        assert_eq!(run.code(), 0, "the program runs: {run:?}");
        assert!(run.stderr().contains(reason), "{run:?}");
    }
    assert_eq!(files(&directory), [""; 0]);
}
