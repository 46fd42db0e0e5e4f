//! Hidden archives: recordings in a directory that become XRay logs there.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The start of the names of hidden archives, before the recorder's process id.
const HIDDEN: &str = ".recording-";

/// The end of the name of the buffer of a process that traces itself into a hidden archive.
pub const HIDDEN_BUFFER: &str = ".fxt.buffer";

/// Returns the path of the hidden archive of the recorder `pid`.
pub fn hidden_archive(directory: &Path, pid: u32) -> PathBuf {
    directory.join(format!("{HIDDEN}{pid}.fxt"))
}

/// Returns the path of the hidden archive of the process `pid`, which traces itself since `time`.
///
/// In containers, each run may have the same process id. The archive of one stays until it is
/// recovered.
pub fn hidden_own_archive(directory: &Path, pid: u32, time: SystemTime) -> PathBuf {
    let nanos = time.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    directory.join(format!("{HIDDEN}{pid}-{nanos}.fxt"))
}

/// Returns the process id of the recorder of a hidden archive. `None` for that of a process that
/// traces itself.
pub fn recorder_of(archive: &Path) -> Option<u32> {
    let name = archive.file_name()?.to_str()?;
    name.strip_prefix(HIDDEN)?.strip_suffix(".fxt")?.parse().ok()
}

/// Returns whether a name begins as that of a hidden archive.
pub fn is_hidden_archive(name: &str) -> bool {
    name.starts_with(HIDDEN)
}
