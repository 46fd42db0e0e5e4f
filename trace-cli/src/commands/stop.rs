//! `trace stop` and `trace abort`

use std::path::Path;

use anyhow::{bail, Result};
use serde_json::json;
use trace_convert::visible;
use trace_manager::controller::Summary;
use trace_manager::SessionSummary;

use super::record::kernel::KernelResult;
use super::record::report::Report;
use super::record::summary;
use crate::cli::{AbortArgs, StopArgs};
use crate::daemon_client::print_json;
use crate::exit;
use crate::message::HINT;
use crate::sessions::find_session;

pub(crate) fn run(args: &StopArgs) -> Result<u8> {
    let mut found = find_session(args.client.socket.as_deref(), &args.session.name)?;
    let (results, kernel) = report(found.controller.stop(&found.name)?, args.json, args.quiet)?;
    Ok(match results.archive {
        Err(_) => exit::FAILURE,
        Ok(_) if args.strict && summary::is_incomplete(&results, kernel) => exit::INCOMPLETE,
        Ok(_) => exit::OK,
    })
}

/// Prints the results of a session of the daemon.
pub(crate) fn report(
    results: Summary,
    json: bool,
    quiet: bool,
) -> Result<(SessionSummary, Option<KernelResult>)> {
    let output = results.output.clone();
    let kernel = results.companion.map(KernelResult::from);
    let report = Report {
        output: Path::new(&output),
        triggers: &[],
        command: &[],
        xray: false,
        functions: None,
        json,
        quiet,
        logs: None,
        kernel,
    };
    let results = SessionSummary::from(results);
    summary::print(&report, &results)?;
    if let Some(reason) = &results.guard_failure {
        crate::say(&format!("the session had no guard: {}", visible(reason)));
    }
    if let Some(path) = results.backup.as_ref().filter(|_| !quiet) {
        crate::say(&format!("the earlier archive is now {}", path.display()));
    }
    Ok((results, kernel))
}

pub(crate) fn abort(args: &AbortArgs) -> Result<u8> {
    let mut found = find_session(args.client.socket.as_deref(), &args.session.name)?;
    let results = found.controller.abort(&found.name)?;
    if let Some(results) = results.as_ref().filter(|it| it.bytes != 0 && it.failure.is_none()) {
        bail!(
            "cannot abort session {}: it has ended{HINT}its archive is {}",
            visible(&results.session),
            visible(&results.output)
        );
    }
    let name = results.map_or(found.name, |results| results.session);
    match args.json {
        true => print_json(&json!({ "session": name }))?,
        false => crate::say(&format!("session {} is aborted", visible(&name))),
    }
    Ok(exit::OK)
}
