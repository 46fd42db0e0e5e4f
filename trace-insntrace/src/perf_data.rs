//! Recordings as files of perf, `perf.data`.
//!
//! [`write()`] exports a recording for `perf script --itrace=i1i`, and `read` imports what
//! `perf record -e intel_pt//u` has recorded on a processor with Intel PT. The format is described
//! in the kernel's `perf.data-file-format.txt`, `perf_event.h` and perf's `intel-pt.h`.

mod code;
mod code_directory;
mod layout;
#[cfg(target_os = "linux")]
mod read;
mod write;

pub use code_directory::CodeDirectory;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) use read::{divide, notes_of_buffer, Timeline};
#[cfg(target_os = "linux")]
pub use read::{read, ImportError, Imported};
pub use write::write;
