//! The options of a summary.

use std::ffi::OsString;
use std::path::Path;

use super::kernel::KernelResult;
use crate::cli::RecordArgs;
use crate::insn_session;
use crate::logs::Logs;
use trace_manager::TriggerRule;

/// The options of a summary.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    /// The path of the archive.
    pub(crate) output: &'a Path,
    pub(crate) triggers: &'a [TriggerRule],
    /// The recorded command; empty if programs joined by themselves.
    pub(crate) command: &'a [OsString],
    /// Whether functions with sleds are recorded.
    pub(crate) xray: bool,
    /// The list of selected functions, if there is one.
    pub(crate) functions: Option<&'a str>,
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    /// The logs that were written instead of an archive.
    pub(crate) logs: Option<&'a Logs>,
    /// The result of recording the kernel's events, if they were selected.
    pub(crate) kernel: Option<KernelResult>,
}

impl<'a> From<&'a RecordArgs> for Report<'a> {
    fn from(args: &'a RecordArgs) -> Self {
        Self {
            output: &args.session.output,
            triggers: &args.session.triggers,
            command: insn_session::program(&args.command),
            xray: args.xray,
            functions: args.functions.as_deref(),
            json: args.json,
            quiet: args.quiet,
            logs: None,
            kernel: None,
        }
    }
}
