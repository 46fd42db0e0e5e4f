//! Arguments of the commands for instruction traces.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use trace_manager::{TriggerActions, TriggerRule};

use super::addresses::parse_addresses;
use super::insn_control::{InsnControl, InsnServiceArgs};

/// Record and print every executed instruction
///
/// Traces have the format of Intel PT. Programs execute one instruction at a time, on any
/// processor: 17,000 to 45,000 a second on the machines of docs/benchmarks.md. `--engine block`
/// executes 2.6 to 6.6 times as many.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  trace insn record -o DIR -- ./server       # until it ends
  trace insn record -o DIR --budget 500000 --attach 1234
  trace insn print DIR                       # calls and returns
  trace insn print DIR --format fxt -o calls.fxt && trace stats calls.fxt
  trace insn init && trace insn alloc --circular && trace insn assign 0 TID && trace insn start
  trace insn stop && trace insn dump -o DIR && trace insn reset")]
pub(crate) struct InsnArgs {
    #[command(subcommand)]
    pub(crate) command: InsnCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum InsnCommand {
    Record(InsnRecordArgs),
    Print(InsnPrintArgs),
    #[command(flatten)]
    Control(InsnControl),
    Service(InsnServiceArgs),
    /// The process that traces for `trace insn record`
    #[command(hide = true)]
    Engine(InsnEngineArgs),
}

#[derive(Debug, Args)]
pub(crate) struct InsnEngineArgs {
    /// The process with which this one ends
    #[arg(long, value_name = "PID")]
    pub(crate) parent: u32,

    /// The signals that the program ignores, as a set of bits
    #[arg(long, value_name = "SET", default_value_t = 0)]
    pub(crate) ignored: u64,

    #[command(flatten)]
    pub(crate) record: InsnRecordArgs,
}

/// Record the instructions of a program
///
/// Threads and processes that the program creates are recorded too. The program continues
/// untraced if this command is interrupted or killed, and after the last step of the budget.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Exit status:
  that of COMMAND, or 125 to 127 if recording or COMMAND failed: see `trace --help`

Examples:
  trace insn record -o DIR -- ls -l
  trace insn record -o DIR --engine block -- ./program
  trace insn record -o DIR --function parse_request --nth 3 -- ./server
  trace insn record -o DIR --in-scope web/request --nth 3 -- ./server
  trace insn record -o DIR --in-scope web/request --nth 3 --attach 1234
  trace insn record -o DIR --snapshot function:report_error -- ./server
  trace insn record -o DIR --snapshot 'duration:web/request>50ms' -- ./server
  trace insn record -o DIR --range parse_request --budget 1000000 -- ./server
  trace insn record -o DIR --range 0x401000..0x4013ff -- ./program")]
pub(crate) struct InsnRecordArgs {
    /// Unit of tracing
    #[arg(long, value_enum, default_value_t = InsnMode::Thread)]
    pub(crate) mode: InsnMode,

    /// How instructions are traced
    #[arg(long, value_enum, default_value_t = InsnEngine::Step)]
    pub(crate) engine: InsnEngine,

    /// Trace only the instructions from address A to address B, both included, or those of
    /// the function SYMBOL. Other instructions are executed as slowly [default: all]
    #[arg(long, value_name = "A..B|SYMBOL", value_parser = parse_range)]
    pub(crate) range: Option<InsnRange>,

    /// Trace only calls of the function SYMBOL, each up to its return. Between the calls, the
    /// program runs at full speed. With `--engine step` only [default: all instructions]
    #[arg(long, value_name = "SYMBOL", group = "part")]
    pub(crate) function: Option<String>,

    /// Trace only the scopes of this category and name of a program that links `trace-runtime`,
    /// each from its begin to its end. The program is also recorded, in DIR/scopes.fxt; with
    /// --attach by the daemon. With `--engine step` only
    #[arg(
        long,
        value_name = "CATEGORY/NAME",
        group = "part",
        value_parser = parse_scope
    )]
    pub(crate) in_scope: Option<String>,

    /// Trace only the Nth call of the function or the Nth scope, of any thread, and release the
    /// program after it. Those inside of others count, too [default: all]
    #[arg(
        long,
        value_name = "N",
        requires = "part",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub(crate) nth: Option<u64>,

    /// Keep only the newest packets, and write them to DIR/snapshot-1, -2 and so on when a
    /// condition holds: `function:SYMBOL` at its first call, `request` when this process gets
    /// SIGUSR1, `alert:NAME` when the program raises it, `duration:CATEGORY/NAME>TIME` when a scope
    /// ends that took longer, such as web/request>50ms. For the last two, the program is also
    /// recorded, in DIR/scopes.fxt; with --attach by the daemon. Repeatable
    #[arg(
        long,
        value_name = "CONDITION",
        conflicts_with = "part",
        value_parser = InsnSnapshot::parse
    )]
    pub(crate) snapshot: Vec<InsnSnapshot>,

    /// Most packets that are kept of each thread, or with `--engine hardware` of each CPU, in KiB
    /// [default: 1024; with --engine hardware 65536]
    #[arg(long, value_name = "KIB", requires = "snapshot",
          value_parser = clap::value_parser!(u32).range(16..))]
    pub(crate) ring: Option<u32>,

    /// Release the program after N steps of all threads together. With `--engine block`, each
    /// instruction is a step [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) budget: Option<u64>,

    /// Directory of the recording; created if it is missing
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,

    /// Record a process that runs, until it ends or Ctrl-C
    #[arg(
        long,
        value_name = "PID",
        conflicts_with = "program",
        required_unless_present = "program"
    )]
    pub(crate) attach: Option<u32>,

    /// Program to run, and its arguments
    #[arg(id = "program", trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) program: Vec<OsString>,
}

impl InsnRecordArgs {
    /// Returns the size of a ring of packets in KiB. A processor writes many times more packets
    /// until a condition is seen than a program that is executed in steps.
    pub(crate) fn ring_kib(&self) -> u32 {
        self.ring.unwrap_or(match self.engine {
            InsnEngine::Step | InsnEngine::Block => 1 << 10,
            InsnEngine::Hardware => 64 << 10,
        })
    }
}

/// The unit of tracing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InsnMode {
    /// A trace for each thread
    Thread,
    /// All CPUs, with the threads of all processes. Requires `--engine hardware`
    Cpu,
}

/// How instructions are traced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InsnEngine {
    /// One instruction at a time, on any processor
    Step,
    /// Up to the next branch that depends on data, which has a breakpoint meanwhile. Several times
    /// faster, but the program would find the breakpoints in its own code, and if the tracing
    /// process is killed, a program that was attached to is killed too
    Block,
    /// By Intel PT of the processor, at nearly full speed: user space only. It has not been run on
    /// such a processor yet
    Hardware,
}

/// The traced addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InsnRange {
    Addresses(u64, u64),
    Symbol(String),
}

/// Parses `0x401000..0x4013ff` or the name of a function.
fn parse_range(text: &str) -> Result<InsnRange, String> {
    if !text.contains("..") {
        return Ok(InsnRange::Symbol(text.to_owned()));
    }
    parse_addresses(text).map(|(start, end)| InsnRange::Addresses(start, end))
}

/// What requests a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InsnSnapshot {
    /// The first call of a function.
    Function(String),
    /// A signal to this process.
    Request,
    /// The condition of a trigger of the session that records the program.
    Condition(TriggerRule),
}

impl InsnSnapshot {
    fn parse(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("function", "")) => Err("a function has a name".into()),
            Some(("function", name)) => Ok(Self::Function(name.into())),
            Some(("alert" | "duration", _)) => Self::parse_condition(text),
            _ if text == "request" => Ok(Self::Request),
            _ => {
                let all = "function:SYMBOL, request, alert:NAME or duration:CATEGORY/NAME>TIME";
                Err(format!("it is not {all}"))
            }
        }
    }

    fn parse_condition(text: &str) -> Result<Self, String> {
        let rule: TriggerRule = text.parse()?;
        let only_snapshot = TriggerActions { snapshot: true, ..TriggerActions::default() };
        match rule.actions == only_snapshot {
            true => Ok(Self::Condition(rule)),
            false => Err("the only action is a snapshot".into()),
        }
    }

    /// Returns the trigger of the session that records the program.
    pub(crate) fn trigger(&self) -> Option<&TriggerRule> {
        match self {
            Self::Condition(rule) => Some(rule),
            Self::Function(_) | Self::Request => None,
        }
    }

    /// Returns the function at whose first call a snapshot is taken.
    pub(crate) fn function(&self) -> Option<String> {
        match self {
            Self::Function(name) => Some(name.clone()),
            Self::Request | Self::Condition(_) => None,
        }
    }
}

/// Checks that a text is a category and a name.
fn parse_scope(text: &str) -> Result<String, String> {
    match text.split_once('/') {
        Some((category, name)) if !category.is_empty() && !name.is_empty() => Ok(text.to_owned()),
        _ => Err("it is not CATEGORY/NAME, such as web/request".into()),
    }
}

/// Print a recording of instructions
#[derive(Debug, Args)]
#[command(after_long_help = "\
Exit status:
    3  packets and code do not agree: each place is reported with its offset. Or the recording is
       incomplete: it has failed, was killed, or still runs, or its files were cut

Examples:
  trace insn print DIR | less
  trace insn print DIR --format insns --thread 1234 | less
  trace insn print DIR --format folded -o calls.folded
  trace insn print DIR --format perf -o perf.data && perf script --itrace=i1i -i perf.data
  perf record -e intel_pt//u ./server; trace insn print perf.data
  trace insn print DIR --format fxt -o calls.fxt && trace merge app.fxt calls.fxt -o both.fxt")]
pub(crate) struct InsnPrintArgs {
    /// Directory of the recording, or a file of `perf record -e intel_pt//u`
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,

    /// Format to print
    #[arg(long, value_enum, default_value_t = InsnFormat::Calls)]
    pub(crate) format: InsnFormat,

    /// File to write; `-` for standard output
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub(crate) output: PathBuf,

    /// Select a thread by its id; repeatable [default: all]
    #[arg(short, long, value_name = "TID")]
    pub(crate) thread: Vec<u32>,

    /// Leave out inlined calls, and read no debug information
    #[arg(long)]
    pub(crate) no_inline: bool,
}

/// A format of `trace insn print`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InsnFormat {
    /// Time, address and kind of each instruction
    Raw,
    /// Packets with their offsets
    Packets,
    /// Disassembly of each instruction
    Insns,
    /// Calls and returns
    Calls,
    /// An archive, with a duration for each call
    Fxt,
    /// Chrome JSON, with a duration for each call
    Chrome,
    /// Stacks, with the number of their instructions
    Folded,
    /// A file for `perf script --itrace=i1i`; the directory OUT.code has code that no file has
    Perf,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_addresses_or_functions() {
        assert_eq!(parse_range("0x10..0x1f"), Ok(InsnRange::Addresses(16, 31)));
        assert_eq!(parse_range("16..31"), Ok(InsnRange::Addresses(16, 31)));
        assert_eq!(parse_range("a::b"), Ok(InsnRange::Symbol("a::b".into())));
        assert!(parse_range("2..1").is_err() && parse_range("x..1").is_err());
    }

    #[test]
    fn snapshots_have_conditions() {
        let parse = InsnSnapshot::parse;
        assert_eq!(parse("function:a::b"), Ok(InsnSnapshot::Function("a::b".into())));
        assert_eq!(parse("request"), Ok(InsnSnapshot::Request));
        assert!(parse("function:").is_err() && parse("slow").is_err());
        for condition in ["alert:slow", "duration:web/a request>50ms"] {
            let parsed = parse(condition).unwrap();
            assert_eq!(parsed.trigger().unwrap().condition.to_string(), condition);
            assert_eq!(parsed.function(), None);
        }
        for wrong in ["alert:", "duration:web>5ms", "alert:slow:stop", "alert:a:run:ls", "drop"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn scopes_have_a_category_and_a_name() {
        assert_eq!(parse_scope("web/a request/1").as_deref(), Ok("web/a request/1"));
        for wrong in ["", "web", "web/", "/request"] {
            assert!(parse_scope(wrong).is_err(), "{wrong}");
        }
    }
}
