//! The configuration file of `trace record`.

use std::path::Path;
use std::process::Stdio;

use crate::harness::{Place, Run};

/// Runs `trace` with `record.toml` as its configuration file.
fn run(place: &Place, text: &str, arguments: &[&str]) -> Run {
    place.put("record.toml", text.as_bytes());
    let mut command = place.command(arguments);
    command.env("TRACE_CONFIG", "record.toml").stdin(Stdio::null());
    Run::of(command.output().unwrap())
}

#[test]
fn settings_are_defaults_of_options() {
    let text = "[record]\noutput = 'mine.fxt'\nquiet = true\nbuffer-size = 65536\n\
                categories = ['net*', '-net.verbose']\njson = false\n";
    let place = Place::new();
    let quiet = run(&place, text, &["record", "--", "true"]);
    assert_eq!((quiet.code, &*quiet.stdout), (0, ""), "{quiet:?}");
    assert!(!quiet.stderr.contains("events in"), "{quiet:?}");
    assert_eq!(place.names(), ["mine.fxt", "record.toml"]);
    let help = run(&place, text, &["record", "--help"]);
    assert!(help.stdout.contains("[default: mine.fxt]"), "{help:?}");
    assert!(help.stdout.contains("[default: 65536]"), "{help:?}");
}

#[test]
fn the_command_line_wins() {
    let place = Place::new();
    let text = "[record]\noutput = 'mine.fxt'\ncategories = ['net']\n";
    let run = run(&place, text, &["record", "-o", "other.fxt", "-c", "disk", "--", "true"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(place.names(), ["other.fxt", "record.toml"]);
    assert!(!run.stderr.contains("net"), "{run:?}");
}

#[test]
fn mistakes_are_errors_of_the_command_line() {
    for (text, reason) in [
        ("[record", "TOML parse error"),
        ("record = 1", "'record' is not a table"),
        ("[stats]", "unknown table or key 'stats'"),
        ("[record]\nouput = 'x'", "'ouput' is not an option of trace record"),
        ("[record]\ncommand = 'ls'", "'command' is not an option"),
        ("[record]\nhelp = true", "'help' is not an option"),
        ("[record]\nmode = 'cirkular'", "invalid value 'cirkular' for '--mode <MODE>'"),
        ("[record]\nbuffer-size = '16Q'", "invalid value '16Q' for '--buffer-size <SIZE>'"),
        ("[record]\noutput = ['a', 'b']", "'--output <FILE>' cannot be used multiple times"),
        ("[record]\noutput = '%x'", "unknown '%x'"),
        ("[record]\nquiet = 'yes'", "'quiet' is not true or false: 'yes'"),
        ("[record]\nmode = { a = 1 }", "the value of 'mode' is not a text"),
    ] {
        let place = Place::new();
        let run = run(&place, text, &["record", "--", "true"]);
        assert_eq!(run.code, 2, "{text}: {run:?}");
        assert!(run.stderr.starts_with("trace: cannot use record.toml: "), "{text}: {run:?}");
        assert!(run.stderr.contains(reason), "{text}: {run:?}");
        assert_eq!(place.names(), ["record.toml"]);
    }
}

#[test]
fn the_file_is_found_and_is_optional() {
    let place = Place::new();
    let recorded = |variables: &[(&str, &Path)]| {
        let mut command = place.command(&["record", "--", "true"]);
        command.env_remove("TRACE_CONFIG").env_remove("XDG_CONFIG_HOME").stdin(Stdio::null());
        command.env("HOME", place.path("home"));
        command.envs(variables.iter().copied());
        Run::of(command.output().unwrap())
    };
    for directory in ["xdg/trace", "home/.config/trace"] {
        std::fs::create_dir_all(place.path(directory)).unwrap();
        let text = format!("[record]\noutput = '{}.fxt'\n", &directory[..3]);
        place.put(&format!("{directory}/config.toml"), text.as_bytes());
    }
    let xdg = place.path("xdg");
    assert_eq!(recorded(&[("XDG_CONFIG_HOME", &xdg)]).code, 0);
    assert_eq!(recorded(&[]).code, 0);
    assert_eq!(recorded(&[("TRACE_CONFIG", "".as_ref())]).code, 0);
    assert_eq!(place.names(), ["hom.fxt", "home", "trace.fxt", "xdg", "xdg.fxt"]);
    let missing = recorded(&[("TRACE_CONFIG", "missing.toml".as_ref())]);
    assert_eq!(missing.code, 2, "{missing:?}");
    assert!(missing.stderr.contains("cannot use missing.toml: no such file"), "{missing:?}");
    let nowhere = recorded(&[("HOME", "/nonexistent".as_ref())]);
    assert_eq!(nowhere.code, 0, "{nowhere:?}");
}

/// A mistake in the file has no effect on commands that do not read it.
#[test]
fn other_commands_do_not_read_the_file() {
    let place = Place::new();
    let run = run(&place, "[record", &["check", "--help"]);
    assert_eq!(run.code, 0, "{run:?}");
}
