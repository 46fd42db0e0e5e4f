//! Logs as archives in the Fuchsia trace format (FXT), and archives as logs.
//!
//! | log | archive |
//! |---|---|
//! | header | provider `xray` with the rate of the counter |
//! | entry | begin of a duration of the thread, category `xray`; call arguments are `arg0`, `arg1`, … |
//! | exit | end of the duration |
//! | tail exit | end with the argument `tail_exit` |
//! | no exit, but a caller's exit | end at the caller's, with the argument `unwound` |
//! | custom event with the words of an FXT record | the record |
//! | other custom event | instant `custom event` with the payload, as text if it is UTF-8 |
//! | typed event | instant `typed event` with its type and payload |
//! | CPU | instant `CPU` with its number, unless it is unknown |
//! | first wall clock, unless it is 0 | instant `wall clock` with its nanoseconds |
//! | damage | instant `records dropped` of category `trace`, with the error as its reason |
//!
//! A payload that is too long for an argument is a blob with the same name and time. In the other
//! direction, all of these become what they were. Parts of a blob, into which a program has split a
//! payload, are joined.

mod arguments;
mod clock;
mod durations;
mod error;
mod export;
mod input;
mod marks;
mod merge;
mod monotonic;
mod parts;
mod payload;
mod payloads;
mod process;
mod records;
mod sorter;
mod threads;
mod translator;

pub use error::ExportError;
pub use export::{export, export_with, Archive, Exported, Options};
pub use input::{log_of_yaml, map_id, Fdr, FdrYaml};
pub use payload::record as record_of_payload;
pub use process::Process;
pub use translator::Translator;

/// The category of functions and events.
pub const CATEGORY: &str = "xray";
