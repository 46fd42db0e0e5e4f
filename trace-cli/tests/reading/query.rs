//! `trace query` and `trace lake`, which run another program.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::harness::{Place, Run};

/// Prints each argument on a line.
const PROGRAM: &str = "#!/bin/sh\necho \"$0\"\nprintf '<%s>\\n' \"$@\"\nexit 7\n";

/// Makes a copy of the command without programs beside it, and an empty directory for `PATH`.
fn place() -> Place {
    let place = Place::new();
    fs::create_dir(place.path("bin")).unwrap();
    fs::create_dir(place.path("path")).unwrap();
    // A file that this process writes cannot be executed while a child of another test has it open.
    let copy = Command::new("cp").arg(env!("CARGO_BIN_EXE_trace")).arg(place.path("bin")).status();
    assert!(copy.unwrap().success());
    place
}

fn install(place: &Place, directory: &str) -> String {
    let name = format!("{directory}/trace-query");
    place.put(&name, PROGRAM.as_bytes());
    fs::set_permissions(place.path(&name), fs::Permissions::from_mode(0o755)).unwrap();
    place.path(&name).to_str().unwrap().to_owned()
}

fn run(place: &Place, arguments: &[&str]) -> Run {
    let mut command = Command::new(place.path("bin/trace"));
    command.args(arguments).env("PATH", place.path("path")).env("TRACE_CONFIG", "");
    Run::of(command.output().unwrap())
}

#[test]
fn without_the_program_the_hint_has_its_installation() {
    for command in ["query", "lake"] {
        let run = run(&place(), &[command, "app.fxt", "SELECT 1"]);
        assert_eq!((run.code, &*run.stdout), (2, ""));
        let start = format!("trace: `trace {command}` needs the program trace-query\n");
        assert!(run.stderr.starts_with(&start), "{}", run.stderr);
        assert!(run.stderr.contains("hint: install it with `cargo install"), "{}", run.stderr);
    }
}

#[test]
fn the_program_gets_all_arguments_and_its_status_is_kept() {
    let place = place();
    let found = install(&place, "path");
    let arguments = ["query", "app.fxt", "SELECT 1", "--format", "csv", "-o", "", "--help"];
    let first = run(&place, &arguments);
    assert_eq!((first.code, &*first.stderr), (7, ""));
    let expected = "<app.fxt>\n<SELECT 1>\n<--format>\n<csv>\n<-o>\n<>\n<--help>\n";
    assert_eq!(first.stdout, format!("{found}\n{expected}"));
    // The one beside the command comes first.
    let beside = install(&place, "bin");
    assert_eq!(run(&place, &arguments).stdout, format!("{beside}\n{expected}"));
}

#[test]
fn the_program_runs_the_commands_of_a_store() {
    let place = place();
    let found = install(&place, "path");
    let run = run(&place, &["lake", "add", "traces/", "app.fxt", "--version", "1.2", "--help"]);
    let expected = "<--lake>\n<add>\n<traces/>\n<app.fxt>\n<--version>\n<1.2>\n<--help>\n";
    assert_eq!((run.code, &*run.stdout), (7, &*format!("{found}\n{expected}")));
}

#[test]
fn the_program_writes_tables_for_a_conversion() {
    let place = place();
    let found = install(&place, "path");
    let all = run(&place, &["convert", "app.fxt", "-o", "app.parquet"]);
    let expected = "<--export>\n<app.parquet>\n<-->\n<app.fxt>\n";
    assert_eq!((all.code, &*all.stdout), (7, &*format!("{found}\n{expected}")));
    let named = run(&place, &["convert", "a.xray", "-o", "t", "--to", "parquet", "--instr-map=b"]);
    let expected = "<--export>\n<t>\n<--instr-map>\n<b>\n<-->\n<a.xray>\n";
    assert_eq!((named.code, &*named.stdout), (7, &*format!("{found}\n{expected}")));
    let some = run(&place, &["convert", "app.fxt", "-n", "query", "-o", "app.parquet"]);
    assert_eq!((some.code, &*some.stdout), (1, ""));
    assert!(some.stderr.contains("hint: they have all events"), "{}", some.stderr);
    for output in ["-", "app.parquet.gz"] {
        let run = run(&place, &["convert", "app.fxt", "-o", output, "--to", "parquet"]);
        assert_eq!((run.code, &*run.stdout), (1, ""));
        assert!(run.stderr.contains("tables are a folder of files"), "{}", run.stderr);
    }
}

#[test]
fn the_program_is_executable_and_not_in_the_current_directory() {
    let place = place();
    install(&place, ".");
    install(&place, "path");
    fs::create_dir(place.path("first")).unwrap();
    fs::write(place.path("first/trace-query"), PROGRAM).unwrap();
    let code = |path: Option<&str>| {
        let mut command = Command::new(place.path("bin/trace"));
        command.arg("query").current_dir(place.path("")).env_remove("PATH").env("TRACE_CONFIG", "");
        command.envs(path.map(|path| ("PATH", path)));
        command.output().unwrap().status.code()
    };
    assert_eq!([None, Some(""), Some(":")].map(code), [Some(2); 3]);
    let (first, path) = (place.path("first"), place.path("path"));
    let both = format!("{}:{}", first.display(), path.display());
    assert_eq!(code(Some(first.to_str().unwrap())), Some(2), "it is no program");
    assert_eq!(code(Some(&both)), Some(7));
}
