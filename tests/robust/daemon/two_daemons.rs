//! A program that finds the system's daemon and that of its user.

use super::*;

/// Waits until each daemon has its number of programs: the system's one, and that of the user, if
/// there is a number.
const SCRIPT: &str = r#"
set -e
mount -t tmpfs none /run
mkdir "$DIR/trace"
user="$DIR/trace/manager.sock"
count() { "$TRACE" list providers --json --socket "$1" 2>/dev/null | grep -c '"pid"' || true; }
expect() { while [ "$(count "$1")" != "$2" ]; do sleep 0.05; done; }
"$TRACE" daemon --dir "$DIR" --socket /run/trace/manager.sock & system=$!
expect /run/trace/manager.sock 0
while ! "$TRACE" status --socket /run/trace/manager.sock 2>/dev/null; do sleep 0.05; done
sleep 600 | XDG_RUNTIME_DIR="$DIR" "$SUBJECT" chatter & program=$!
expect /run/trace/manager.sock 1
echo 'the system has it'
"$TRACE" daemon --dir "$DIR" --socket "$user" & daemon=$!
expect "$user" 1
expect /run/trace/manager.sock 0
echo 'the user has it'
kill $daemon
expect /run/trace/manager.sock 1
echo 'the system has it again'
kill $system
"#;

/// A user's daemon comes first, also if it starts later.
#[test]
fn a_program_moves_to_the_daemon_of_its_user() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new("unshare");
    // The processes end with the script, because it is the first one of its namespace.
    command.args([
        "--mount",
        "--pid",
        "--fork",
        "--mount-proc",
        "--kill-child",
        "sh",
        "-c",
        SCRIPT,
    ]);
    command.env_remove("TRACE_SOCKET").env("DIR", directory.path()).env("TRACE_CONFIG", "");
    command.env("TRACE", trace(&[]).get_program()).env("SUBJECT", crate::harness::subject_path());
    let can_unshare = Command::new("unshare").args(["--mount", "true"]).output();
    if !can_unshare.is_ok_and(|output| output.status.success()) {
        return crate::lacks("root and unshare");
    }
    let run = Run::of(&mut command);
    let expected = ["the system has it", "the user has it", "the system has it again"];
    let stdout = run.stdout();
    let found: Vec<&str> = stdout.lines().filter(|line| line.starts_with("the ")).collect();
    assert_eq!((run.code(), found), (0, expected.to_vec()), "{run:?}");
}
