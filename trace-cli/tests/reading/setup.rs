//! Completions, man pages and the help on environment variables.

use std::process::{Command, Stdio};

use crate::harness::{Place, Run};

/// Returns whether a shell is installed.
fn has(shell: &str) -> bool {
    let run = Command::new(shell).args(["-c", ":"]).stderr(Stdio::null()).status();
    let is_there = run.is_ok_and(|status| status.success());
    if !is_there {
        eprintln!("skipped in part: {shell} is not installed");
    }
    is_there
}

#[test]
fn completions_are_scripts_of_the_shell() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let run = place.run(&["completions", shell]);
        assert_eq!((run.code, &*run.stderr), (0, ""), "{shell}");
        assert!(run.stdout.contains("--min-interval") || shell == "fish", "{shell}");
        assert!(run.stdout.contains("min-interval"), "{shell}");
        assert!(!run.stdout.contains("guard"), "{shell}: a hidden command");
        place.put("script", run.stdout.as_bytes());
        if has(shell) {
            let parsed = Command::new(shell).arg("-n").arg(place.path("script")).status().unwrap();
            assert!(parsed.success(), "{shell}");
        }
    }
    assert_eq!(place.run(&["completions", "tcsh"]).code, 2);
}

#[test]
fn bash_completes_commands_and_options() {
    if !has("bash") {
        return;
    }
    let place = Place::new();
    let complete = |words: &str| {
        let script = format!(
            "source <(\"$0\" completions bash); COMP_WORDS=({words}); \
             COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _trace trace \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        let mut bash = Command::new("bash");
        bash.args(["-c", &script, env!("CARGO_BIN_EXE_trace")]).current_dir(place.path("."));
        String::from_utf8(bash.output().unwrap().stdout).unwrap()
    };
    assert_eq!(complete("trace rec"), "record recover\n");
    assert_eq!(complete("trace record --min-i"), "--min-interval\n");
    assert_eq!(complete("trace record --mode c"), "circular\n");
    assert_eq!(complete("trace list prov"), "providers\n");
    // Bash completes files where the function has no words.
    assert_eq!(complete("trace stats \"\""), "\n");
    assert!(complete("trace list \"\"").contains("providers"));
}

#[test]
fn each_command_has_a_man_page() {
    let place = Place::new();
    let run = place.run(&["man", "--dir", "share/man1"]);
    assert_eq!((run.code, &*run.stderr), (0, ""));
    for page in ["trace.1", "trace-record.1", "trace-diff.1", "trace-man.1"] {
        let text = place.text(&format!("share/man1/{page}"));
        assert!(text.contains(".TH ") && text.contains(".SH "), "{page}");
    }
    let record = place.text("share/man1/trace-record.1");
    assert!(record.contains("min\\-interval") && record.contains("Examples"), "{record}");
    assert!(!place.path("share/man1/trace-guard.1").exists());
    place.put("file", b"");
    let run = place.run(&["man", "--dir", "file/man1"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("cannot write man pages to file/man1"), "{run:?}");
}

/// The guide has a table of the variables.
#[test]
fn the_help_lists_the_variables_of_the_guide() {
    let guide = include_str!("../../../trace-runtime/src/guide.md");
    let variables = guide.lines().filter_map(|line| line.strip_prefix("| `TRACE_"));
    let variables: Vec<String> =
        variables.map(|rest| format!("TRACE_{}", rest.split('`').next().unwrap())).collect();
    assert!(variables.len() > 5, "{variables:?}");
    let place = Place::new();
    let help = place.run(&["help", "environment"]);
    assert_eq!(help.code, 0, "{help:?}");
    for name in variables.iter().map(String::as_str).chain(["TRACE_CONFIG"]) {
        assert!(help.stdout.contains(&format!("\n  {name} ")), "{name}: {}", help.stdout);
    }
    assert_eq!(place.run(&["environment"]).stdout, help.stdout);
    let list = place.run(&["--help"]).stdout;
    let (_, topics) = list.split_once("\nTopics:\n").unwrap();
    assert!(topics.contains("\n  trace help environment  "), "{topics}");
    for topic in ["topics", "environments"] {
        let unknown = place.run(&["help", topic]);
        let hint = "hint: topics are environment, and the commands that trace --help lists\n";
        assert!(unknown.code == 2 && unknown.stderr.ends_with(hint), "{unknown:?}");
    }
    assert!(!place.run(&["topics"]).stderr.contains("hint: topics"));
}

#[test]
fn a_snapshot_of_nothing_names_both_kinds_of_recorders() {
    let place = Place::new();
    let mut command = place.command(&["snapshot", "-o", "now.fxt"]);
    command.env("XDG_RUNTIME_DIR", place.path("")).env("TMPDIR", place.path(""));
    command.env("TRACE_SOCKET", place.path("absent.sock"));
    let run = Run::of(command.output().unwrap());
    let said = "trace: nothing records: no trace record of this user runs, and no daemon: ";
    assert!(run.code == 1 && run.stderr.starts_with(said), "{run:?}");
    assert!(run.stderr.contains("\nhint: "), "{run:?}");
}
