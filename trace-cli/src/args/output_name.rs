//! Names of recorded archives.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::SystemTime;

use clap::builder::{PathBufValueParser, TypedValueParser};
use trace_protocol::file::Placeholders;

/// Parses a path whose placeholders are known. They are replaced when recording starts.
pub(crate) fn output_name() -> impl TypedValueParser<Value = PathBuf> {
    let any = Placeholders { pid: 0, program: OsStr::new(""), time: SystemTime::UNIX_EPOCH };
    PathBufValueParser::new().try_map(move |path| any.expand(&path).map(|_| path))
}
