//! Every command that reads files, with bad inputs and outputs.
//!
//! In all cases: no panic, no signal, a message that names the file, the documented exit status,
//! and no new file unless it is complete.

mod formats;
mod inputs;
mod json;
mod outputs;
mod permissions;
mod pipes;

use crate::harness::{everything, Place, Run};

/// The name of the bad input.
const WRONG: &str = "wrong.in";

/// The good archive beside it.
const GOOD: &str = "good.fxt";

/// A command; `IN` and `OUT` stand for its files.
struct Command {
    line: &'static str,
    /// The output's name; empty if it writes to standard output.
    output: &'static str,
}

const fn command(line: &'static str, output: &'static str) -> Command {
    Command { line, output }
}

/// All commands that read archives.
const COMMANDS: [Command; 33] = [
    command("info IN", ""),
    command("info --json IN", ""),
    command("check IN", ""),
    command("check --json IN", ""),
    command("dump IN", ""),
    command("stats IN", ""),
    command("stats --json IN", ""),
    command("stats --counters IN", ""),
    command("stats --flows --csv IN", ""),
    command("stats --slowest 3 IN", ""),
    command("diff IN good.fxt", ""),
    command("diff good.fxt IN --json", ""),
    command("top IN", ""),
    command("top --json IN", ""),
    command("critical-path IN", ""),
    command("critical-path --flow --json IN", ""),
    command("convert IN -o OUT", "out.json"),
    command("convert IN -o OUT", "out.json.gz"),
    command("convert IN -o OUT", "out.pftrace"),
    command("convert IN -o OUT", "out.folded"),
    command("convert IN -o OUT", "out.speedscope.json"),
    command("convert IN -o OUT", "out.csv"),
    command("convert -n * IN -o OUT", "out.json"),
    command("slice IN -o OUT", "out.fxt"),
    command("slice IN --from 1ns -o OUT", "out.fxt.zst"),
    command("merge IN -o OUT", "out.fxt"),
    command("merge good.fxt IN -o OUT", "out.fxt"),
    command("symbolize IN -o OUT", "out.fxt"),
    command("flamegraph IN -o OUT", "out.svg"),
    command("flamegraph -c * IN -o OUT", "out.svg"),
    command("flamegraph good.fxt --diff IN -o OUT", "out.svg"),
    command("timeline IN -o OUT", "out.html"),
    command("timeline IN -o OUT", "out.svg"),
];

/// The command that reads JSON.
const FROM_JSON: [Command; 2] =
    [command("convert IN -o OUT", "out.fxt"), command("convert --lenient IN -o OUT", "out.fxt.gz")];

/// The command that reads the buffer of a killed program.
const RECOVER: Command = command("recover IN", "");

impl Command {
    /// Returns the arguments for these files.
    fn with<'a>(&'a self, input: &'a str, output: &'a str) -> Vec<&'a str> {
        let word = |word: &'a str| match word {
            "IN" => input,
            "OUT" => output,
            word => word,
        };
        self.line.split(' ').map(word).collect()
    }

    fn run(&self, place: &Place, input: &str) -> Run {
        place.run(&self.with(input, self.output))
    }
}

/// Returns a place with a good archive.
fn place() -> Place {
    let place = Place::new();
    place.put(GOOD, &everything());
    place
}

/// Asserts that a command has failed with a message about `file`, and has not changed the files.
#[track_caller]
fn assert_failed(place: &Place, files: &[String], run: &Run, file: &str, what: &str) {
    assert_eq!(run.code, 1, "{what}: {run:?}");
    assert_sentence(run, what);
    assert!(run.stderr.contains(file), "{what}: it does not name {file}: {run:?}");
    assert_eq!(place.names(), files, "{what}: {run:?}");
}

/// Asserts that standard error has messages, and none of a panic.
#[track_caller]
fn assert_sentence(run: &Run, what: &str) {
    assert!(!run.stderr.is_empty(), "{what}: no message: {run:?}");
    for line in run.stderr.lines() {
        let is_known = line.starts_with("trace: ") || line.starts_with("hint: ");
        assert!(is_known, "{what}: {run:?}");
    }
    assert!(!run.stderr.contains("panicked"), "{what}: {run:?}");
}

/// Fails if a new command is missing in the table. Some commands read no files, and `view` has
/// tests of its own.
#[test]
fn every_command_is_in_the_table() {
    let help = Place::new().run(&["--help"]).stdout;
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    // A deeper indentation continues a line.
    let lines = commands.lines().filter(|line| !line.starts_with("   "));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    let tested = COMMANDS.iter().chain([&RECOVER]).map(|command| command.line);
    let tested: Vec<&str> = tested.filter_map(|line| line.split(' ').next()).collect();
    // `xray` and `insn` read other files, `follow` waits for more, and `query` runs another
    // program: they have their own tests.
    const READS_NOTHING: [&str; 22] = [
        "record",
        "view",
        "daemon",
        "kernel-server",
        "start",
        "stop",
        "abort",
        "pause",
        "resume",
        "categories",
        "snapshot",
        "status",
        "list",
        "completions",
        "man",
        "xray",
        "insn",
        "follow",
        "query",
        "lake",
        "doctor",
        "help",
    ];
    let mut known = 0;
    for name in names.filter(|name| !READS_NOTHING.contains(name)) {
        assert!(tested.contains(&name), "{name}");
        known += 1;
    }
    assert!(known >= 11, "{help}");
}
