//! `trace start`

mod interruption;

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, SystemTime};

use anyhow::{anyhow, bail, Result};
use serde_json::json;
use trace_convert::visible;
use trace_manager::controller::{
    Controller, Output, ProviderFilter, ProviderSpec, ProviderStatistics, RotationOptions,
    SnapshotOptions, TraceConfig,
};
use trace_manager::TriggerRule;
use trace_protocol::file::Placeholders;

use super::record::kernel::SCHED;
use super::record::{categories, configuration};
use crate::cli::{RecordFormat, SessionArgs, StartArgs};
use crate::daemon_client::{connect, output, print_json, refuse_compressed};
use crate::exit;
use crate::message::{say, say_after, HINT};
use crate::recorders::PATIENCE;

/// A start that takes longer is reported.
const SOON: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &StartArgs) -> Result<u8> {
    check(args)?;
    // The output may be wrong, which needs no daemon to be noticed.
    let request = request(args, Path::new(""))?;
    let mut controller = connect(args.client.socket.as_deref())?;
    let name = initialize(&mut controller, &request)?;
    // Without a thread, a signal ends this process without a message.
    let _ = interruption::report(&name);
    let waits = say_after(SOON, format!("waiting for session {name} to record"));
    controller.start(&name)?;
    drop(waits);
    // The session records, whatever this one returns.
    controller.set_timeout(Some(PATIENCE));
    let programs = controller.statistics(&name).unwrap_or_default();
    programs.iter().filter_map(silent).for_each(|line| say(&line));
    if args.json {
        print_json(&json!({ "session": name }))?;
    } else {
        say(&format!("session {name} records; stop it with trace stop {name}"));
    }
    Ok(exit::OK)
}

/// Returns a message about a program that has not answered the start in time.
fn silent(program: &ProviderStatistics) -> Option<String> {
    let is_silent = !program.answered_start && program.end.is_none();
    let name = visible(&program.name);
    is_silent.then(|| {
        format!(
            "{name} ({}) did not answer the start in time: it records when it does",
            program.pid
        )
    })
}

/// Fails if the output is to be logs: a daemon writes archives.
fn check_format(args: &StartArgs) -> Result<()> {
    if args.format == RecordFormat::Xray {
        bail!(
            "--format xray cannot be used with a session of the daemon{HINT}record an archive, and \
             convert it with trace convert FILE.fxt -o FILE.xray, or use trace record --format xray"
        );
    }
    Ok(())
}

/// A session to start, and the descriptor of its output.
pub(crate) struct StartRequest {
    config: TraceConfig,
    output: OwnedFd,
    path: PathBuf,
}

/// Returns the request for these options. A relative output is below `directory`.
pub(crate) fn request(args: &StartArgs, directory: &Path) -> Result<StartRequest> {
    let options = &args.session;
    let name = args.name.clone().unwrap_or_default();
    let program = OsStr::new(if name.is_empty() { "trace" } else { &name });
    let values = Placeholders { pid: process::id(), program, time: SystemTime::now() };
    let path = values.expand(&options.output)?;
    let path = match path == Path::new(crate::input::STANDARD) {
        true => path,
        false => directory.join(path),
    };
    check_options(args)?;
    let (to, output) = output(&path)?;
    Ok(StartRequest { config: TraceConfig { output: to, ..config(args) }, output, path })
}

/// Checks the options of a session that no command accompanies, without its output and the daemon.
pub(crate) fn check(args: &StartArgs) -> Result<()> {
    check_triggers(args)?;
    check_format(args)?;
    check_options(args)
}

fn check_options(args: &StartArgs) -> Result<()> {
    refuse_compressed(&args.session.output)?;
    check_limits(&args.session)?;
    categories::check(&args.session.categories)?;
    configuration::check(&args.session)?;
    let options = TraceConfig { output: Output::Beneath("archive".to_owned()), ..config(args) };
    // A descriptor is required for a deferred transfer.
    let options = TraceConfig { defer_transfer: false, ..options };
    options.check().map_err(|reason| anyhow!(reason))
}

/// Returns the configuration of the session, without its output.
fn config(args: &StartArgs) -> TraceConfig {
    let options = &args.session;
    TraceConfig {
        name: args.name.clone().unwrap_or_default(),
        categories: categories(args),
        buffer_size: options.buffer_size,
        mode: options.mode.into(),
        providers: options.provider_sizes.iter().map(provider).collect(),
        only: ProviderFilter::default(),
        start_timeout: options.start_timeout,
        stop_timeout: options.stop_timeout,
        defer_transfer: args.defer_transfer,
        duration: options.duration.unwrap_or(Duration::ZERO),
        detached: true,
        triggers: Vec::new(),
        rules: options.triggers.iter().map(ToString::to_string).collect(),
        trigger_users: options.trigger_users.iter().map(ToString::to_string).collect(),
        snapshots: SnapshotOptions {
            keep: options.keep.unwrap_or(0),
            min_interval: options.min_interval,
            max_size: options.max_size.unwrap_or(0),
        },
        rotation: rotation(options),
        output: Output::Descriptor,
        keep_alive: args.keep_alive,
        shared: options.shared,
    }
}

impl StartRequest {
    /// Limits the session to some providers, and sets whether it continues without the connection.
    pub(crate) fn limit(&mut self, only: ProviderFilter, detached: bool) {
        (self.config.only, self.config.detached) = (only, detached);
    }

    /// Returns the path of the archive, if it is a file, which a guard completes if the daemon is
    /// killed.
    pub(crate) fn file(&self) -> Option<&Path> {
        matches!(self.config.output, Output::Beneath(_)).then_some(&self.path)
    }
}

/// Returns the category patterns of the session. Without inclusions all categories of programs are
/// selected, which those of the kernel must not restrict.
fn categories(args: &StartArgs) -> Vec<String> {
    let mut categories = args.session.categories.clone();
    if args.sched {
        let is_exclusion = |pattern: &String| pattern.starts_with('-');
        categories.extend(categories.iter().all(is_exclusion).then(|| "*".to_owned()));
        categories.extend(SCHED.map(str::to_owned));
    }
    categories
}

/// Fails if a limit is for files that the session does not write: its snapshots and parts.
fn check_limits(options: &SessionArgs) -> Result<()> {
    let has_snapshots = !options.triggers.is_empty();
    let (option, requires) = match (options.keep, options.max_size) {
        (_, Some(_)) if !has_snapshots => ("--max-size", "--trigger"),
        (Some(_), _) if !has_snapshots && options.rotate.is_empty() => {
            ("--keep", "--trigger or --rotate")
        }
        _ => return Ok(()),
    };
    bail!("{option} requires {requires}")
}

fn rotation(options: &SessionArgs) -> RotationOptions {
    let (size, interval) = options.part_limits();
    RotationOptions {
        size: size.unwrap_or(0),
        interval: interval.unwrap_or(Duration::ZERO),
        keep: options.keep.unwrap_or(0),
    }
}

/// Creates a session. Returns its name.
pub(crate) fn initialize(controller: &mut Controller, request: &StartRequest) -> Result<String> {
    Ok(controller.initialize(&request.config, &request.output)?)
}

/// Starts a session. Returns its name.
pub(crate) fn start(controller: &mut Controller, request: &StartRequest) -> Result<String> {
    let name = initialize(controller, request)?;
    controller.start(&name)?;
    Ok(name)
}

fn provider((name, buffer_size): &(String, u64)) -> ProviderSpec {
    ProviderSpec { name: name.clone(), buffer_size: *buffer_size, ..ProviderSpec::default() }
}

/// Checks that a session of the daemon can follow the triggers.
fn check_triggers(args: &StartArgs) -> Result<()> {
    args.session.triggers.iter().try_for_each(check_trigger)
}

fn check_trigger(trigger: &TriggerRule) -> Result<()> {
    let actions = &trigger.actions;
    if actions.exit.is_some() || actions.status.is_some() {
        bail!(
            "the trigger '{}' sets an exit status, which a session of the daemon has not{HINT}use \
             'stop', or trace record -- COMMAND",
            visible(&trigger.to_string())
        );
    }
    Ok(())
}
