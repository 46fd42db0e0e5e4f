//! The configuration of a session by the options of the command.

use trace_manager::{ManagerError, Rotation, SessionConfig, SnapshotLimits, Timeouts};

use super::kernel;
use crate::cli::{RecordArgs, RecordFormat, SessionArgs};

/// Returns the configuration of the session.
pub(super) fn config(args: &RecordArgs) -> SessionConfig {
    let mut config = SessionConfig {
        mode: args.session.mode.into(),
        timeouts: Timeouts {
            start: args.session.start_timeout,
            stop: args.session.stop_timeout,
            ..Timeouts::default()
        },
        rules: args.session.triggers.clone(),
        // That of a command is noticed by its exit status.
        program_deaths: args.command.is_empty(),
        snapshots: SnapshotLimits {
            keep: args.session.keep.unwrap_or(SnapshotLimits::default().keep),
            min_interval: args.session.min_interval,
            max_size: args.session.max_size.unwrap_or(u64::MAX),
        },
        rotation: rotation(&args.session),
        function_records: args.format == RecordFormat::Xray,
        shared: args.session.shared,
        ..SessionConfig::default()
    };
    kernel::select(&mut config, args);
    set_buffer_sizes(&mut config, &args.session);
    config
}

fn set_buffer_sizes(config: &mut SessionConfig, args: &SessionArgs) {
    config.buffer_size = args.buffer_size;
    for (name, size) in &args.provider_sizes {
        config.spec(name).buffer_size = Some(*size);
    }
}

/// Checks the options of a session. Its output may wait for a reader, so this precedes it.
pub(crate) fn check(args: &SessionArgs) -> Result<(), ManagerError> {
    let (mode, rotation) = (args.mode.into(), rotation(args));
    let mut config = SessionConfig { mode, rotation, ..SessionConfig::default() };
    set_buffer_sizes(&mut config, args);
    config.check_options()
}

/// Returns the limits of an archive's parts, or `None` if it is one file.
fn rotation(args: &SessionArgs) -> Option<Rotation> {
    let (size, interval) = args.part_limits();
    let is_cut = size.is_some() || interval.is_some();
    is_cut.then_some(Rotation { size, interval, keep: args.keep })
}
