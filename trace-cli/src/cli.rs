//! The command line.

mod addresses;
mod analysis;
mod archives;
mod daemon;
mod insn;
mod insn_control;
mod pictures;
mod query;
mod recording;
mod selection;
mod setup;
mod xray;

use std::path::Path;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use trace_analyze::arguments::MAX_CONDITIONS;

use crate::exit;
pub(crate) use analysis::{CriticalPathArgs, DiffArgs, StatsArgs, TopArgs};
pub(crate) use archives::{
    CheckArgs, ConvertArgs, DumpArgs, InfoArgs, MergeArgs, SliceArgs, SymbolizeArgs,
};
pub(crate) use daemon::{
    AbortArgs, CategoriesArgs, ClientArgs, DaemonArgs, DoctorArgs, FollowArgs, FollowFormat, Items,
    ListArgs, PauseArgs, ResumeArgs, SnapshotArgs, StartArgs, StatusArgs, StopArgs,
};
pub(crate) use insn::{
    InsnArgs, InsnCommand, InsnEngine, InsnEngineArgs, InsnFormat, InsnMode, InsnPrintArgs,
    InsnRange, InsnRecordArgs, InsnSnapshot,
};
pub(crate) use insn_control::{
    InsnAllocArgs, InsnControl, InsnControlEngine, InsnControlMode, InsnDumpArgs, InsnInitArgs,
    InsnName, InsnServiceArgs, InsnSettings,
};
pub(crate) use pictures::{FlamegraphArgs, TimelineArgs, ViewArgs};
pub(crate) use query::{LakeArgs, QueryArgs};
pub(crate) use recording::{
    GuardArgs, KernelHelperArgs, KernelServerArgs, RecordArgs, RecordFormat, RecoverArgs,
    SessionArgs,
};
pub(crate) use selection::{Filter, Inputs, Selection, TimeRange};
pub(crate) use setup::{CompletionsArgs, ManArgs};
pub(crate) use xray::{
    AccountArgs, Aggregation, GraphArgs, LogArgs, MapArgs, Order, StackArgs, TableFormat, XrayArgs,
    XrayCommand,
};

/// The help of `--categories`, which many commands have.
const CATEGORIES: &str = "Select categories: names, `prefix*`, and `-name` or `-prefix*` to \
    exclude, which wins [default: all]";

/// Record, analyze and view traces
#[derive(Debug, Parser)]
#[command(name = "trace", version, after_long_help = exit::HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Fails if there are more conditions on arguments than an analysis distinguishes.
    pub(crate) fn check(self) -> Result<Self, clap::Error> {
        let conditions = match &self.command {
            Command::Stats(args) => args.arg.len(),
            Command::CriticalPath(args) => args.arg.len(),
            Command::Dump(args) => args.arg.len(),
            _ => 0,
        };
        if conditions > MAX_CONDITIONS {
            let message = format!("--arg is given {conditions} times, at most {MAX_CONDITIONS}");
            return Err(Self::command().error(ErrorKind::TooManyValues, message));
        }
        if let Command::Diff(DiffArgs { files, .. }) = &self.command {
            if files.len() > 2 {
                let message = format!(
                    "{} archives are given, and not which are from before the \
                    change\n\nhint: trace diff --before A1 A2 A3 --after B1 B2 B3",
                    files.len()
                );
                return Err(Self::command().error(ErrorKind::TooManyValues, message));
            }
        }
        Ok(self)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Record(RecordArgs),
    View(ViewArgs),
    Info(InfoArgs),
    Stats(StatsArgs),
    Top(TopArgs),
    CriticalPath(CriticalPathArgs),
    Diff(DiffArgs),
    Query(QueryArgs),
    Lake(LakeArgs),
    Timeline(TimelineArgs),
    Flamegraph(FlamegraphArgs),
    Convert(ConvertArgs),
    Slice(SliceArgs),
    Merge(MergeArgs),
    Symbolize(SymbolizeArgs),
    Check(CheckArgs),
    Dump(DumpArgs),
    Xray(XrayArgs),
    Recover(RecoverArgs),
    Insn(InsnArgs),
    Daemon(DaemonArgs),
    Start(StartArgs),
    Stop(StopArgs),
    Abort(AbortArgs),
    Pause(PauseArgs),
    Resume(ResumeArgs),
    Snapshot(SnapshotArgs),
    Categories(CategoriesArgs),
    Status(StatusArgs),
    List(ListArgs),
    Follow(FollowArgs),
    Doctor(DoctorArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
    /// Environment variables of traced programs and of this command
    #[command(hide = true, after_long_help = setup::ENVIRONMENT, help_template = "{about}{after-help}\n")]
    Environment,
    #[command(hide = true)]
    Guard(GuardArgs),
    KernelServer(KernelServerArgs),
    #[command(hide = true)]
    KernelHelper(KernelHelperArgs),
}

impl Command {
    /// Returns the program or map that names the functions of XRay logs.
    pub(crate) fn instr_map(&self) -> Option<&Path> {
        let inputs = match self {
            Self::View(args) => &args.inputs,
            Self::Info(args) => &args.report.inputs,
            Self::Stats(args) => &args.inputs,
            Self::Top(args) => &args.inputs,
            Self::CriticalPath(args) => &args.inputs,
            Self::Diff(args) => &args.inputs,
            Self::Timeline(args) => &args.inputs,
            Self::Flamegraph(args) => &args.inputs,
            Self::Convert(args) => &args.inputs,
            Self::Slice(args) => &args.inputs,
            Self::Merge(args) => &args.inputs,
            Self::Symbolize(args) => &args.inputs,
            Self::Check(args) => &args.report.inputs,
            Self::Dump(args) => &args.inputs,
            Self::Xray(args) => return args.command.instr_map(),
            _ => return None,
        };
        inputs.instr_map.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use clap::CommandFactory;

    use super::*;
    use crate::args::Mode;

    fn record(line: &[&str]) -> RecordArgs {
        let cli = Cli::try_parse_from(["trace", "record"].iter().chain(line)).unwrap();
        let Command::Record(args) = cli.command else { panic!("{cli:?}") };
        args
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_an_example() {
        let cli = Cli::command();
        for command in cli.get_subcommands().filter(|command| !command.is_hide_set()) {
            let help = command.get_after_long_help().map(ToString::to_string);
            let example = format!("  trace {}", command.get_name());
            assert!(help.is_some_and(|help| help.contains(&example)), "{}", command.get_name());
        }
    }

    /// Longer lines of texts that are printed as they are would be wrapped.
    #[test]
    fn lines_of_help_fit() {
        let cli = Cli::command();
        for command in cli.get_subcommands() {
            let help = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
            for line in help.lines() {
                assert!(line.chars().count() < 100, "{}: {line}", command.get_name());
            }
        }
    }

    #[test]
    fn record_has_defaults() {
        let args = record(&[]);
        assert_eq!(args.session.output, PathBuf::from("trace.fxt"));
        assert_eq!((args.session.buffer_size, args.session.mode), (16 << 20, Mode::Streaming));
        assert!(args.session.categories.is_empty() && args.command.is_empty());
        assert_eq!(args.session.duration, None);
        assert!(!args.wait && !args.json && !args.strict && args.session.triggers.is_empty());
    }

    #[test]
    fn categories_are_lists_and_repeatable() {
        let args = record(&["-c", "net,disk*", "-c", "-disk.cache", "--", "ls", "-c", "x"]);
        assert_eq!(args.session.categories, ["net", "disk*", "-disk.cache"]);
        assert_eq!(args.command, ["ls", "-c", "x"]);
    }

    #[test]
    fn an_unknown_option_is_no_command() {
        let parse = |line: &[&str]| Cli::try_parse_from(["trace", "record"].iter().chain(line));
        let error = parse(&["--ouput", "x.fxt", "--", "ls"]).unwrap_err().to_string();
        assert!(error.contains("'--ouput'") && error.contains("'--output'"), "{error}");
        assert_eq!(record(&["ls", "--ouput", "-x"]).command, ["ls", "--ouput", "-x"]);
        assert_eq!(record(&["--", "--ouput"]).command, ["--ouput"]);
    }

    #[test]
    fn triggers_are_repeated() {
        let args = record(&["--trigger", "slow:snapshot", "--trigger=done:exit", "--", "ls"]);
        let rules = args.session.triggers.iter();
        let causes: Vec<String> = rules.map(|rule| rule.cause().to_string()).collect();
        assert_eq!(causes, ["alert:slow", "alert:done"]);
        let wrong = ["trace", "record", "--trigger", "slow"];
        assert!(Cli::try_parse_from(wrong).unwrap_err().to_string().contains("CONDITION:ACTION"));
    }

    #[test]
    fn mode_size_and_duration() {
        let args = record(&["-m", "oneshot", "-b", "64K", "-d", "1.5s", "--socket", "/s"]);
        assert_eq!((args.session.mode, args.session.buffer_size), (Mode::Oneshot, 65536));
        assert_eq!(args.session.duration, Some(Duration::from_millis(1500)));
        assert_eq!(args.socket, Some(PathBuf::from("/s")));
    }
}
