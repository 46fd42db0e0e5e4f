//! One file for each sub-command. Each returns an exit code of [`crate::exit`].

mod categories;
mod check;
mod completions;
mod convert;
mod critical_path;
mod daemon;
mod diff;
mod doctor;
mod dump;
mod environment;
mod flamegraph;
mod follow;
mod guard;
mod info;
mod insn;
mod kernel_helper;
mod kernel_server;
mod list;
mod man;
mod merge;
mod pause;
mod query;
mod record;
mod recover;
mod slice;
mod snapshot;
mod start;
mod stats;
mod status;
mod stop;
mod symbolize;
mod timeline;
mod top;
mod view;
mod xray;

use anyhow::Result;

use crate::cli::Command;
use crate::input;

/// Runs a sub-command and returns the exit code.
pub(crate) fn run(command: &Command) -> Result<u8> {
    if let Some(map) = command.instr_map() {
        input::use_instr_map(map);
    }
    match command {
        Command::Record(args) => record::run(args),
        Command::Query(args) => query::run(args),
        Command::Lake(args) => query::lake(args),
        Command::Convert(args) => convert::run(args),
        Command::Dump(args) => dump::run(args),
        Command::Info(args) => info::run(args),
        Command::Check(args) => check::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Flamegraph(args) => flamegraph::run(args),
        Command::Top(args) => top::run(args),
        Command::CriticalPath(args) => critical_path::run(args),
        Command::Slice(args) => slice::run(args),
        Command::Merge(args) => merge::run(args),
        Command::Symbolize(args) => symbolize::run(args),
        Command::Timeline(args) => timeline::run(args),
        Command::Stats(args) => stats::run(args),
        Command::View(args) => view::run(args),
        Command::Xray(args) => xray::run(args),
        Command::Recover(args) => recover::run(args),
        Command::Insn(args) => insn::run(args),
        Command::Daemon(args) => daemon::run(args),
        Command::Start(args) => start::run(args),
        Command::Stop(args) => stop::run(args),
        Command::Abort(args) => stop::abort(args),
        Command::Pause(args) => pause::run(args),
        Command::Resume(args) => pause::resume(args),
        Command::Snapshot(args) => snapshot::run(args),
        Command::Categories(args) => categories::run(args),
        Command::Status(args) => status::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Follow(args) => follow::run(args),
        Command::List(args) => list::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
        Command::Environment => environment::run(),
        Command::Guard(args) => guard::run(args),
        Command::KernelHelper(args) => kernel_helper::run(args),
        Command::KernelServer(_) => kernel_server::run(),
    }
}
