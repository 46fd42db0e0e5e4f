//! Records what a program says through the crate [`log`], as log records of the trace.
//!
//! ```
//! fn main() -> Result<(), log::SetLoggerError> {
//!     trace_log::init()?;
//!     let _trace = trace_runtime::init();
//!     log::info!(target: "net", "connected to {}", "::1");
//!     Ok(())
//! }
//! ```
//!
//! The category of a record is its target: the module, unless the program says otherwise. While
//! that is recorded, the trace gets a log record `LEVEL target: message`, here `INFO net: connected
//! to ::1`, of the thread that said it. Messages are formatted only then, and without allocating if
//! they are shorter than 256 bytes; up to 32,000 bytes are recorded. Fuchsia's tools show log
//! records, and so does `trace dump`; Perfetto leaves them out.
//!
//! # Beside another logger
//!
//! There is one logger in a program. A [`Bridge`] takes the place of the one there was, and hands
//! it all that it would have got:
//!
//! ```
//! # struct Logger;
//! # impl log::Log for Logger {
//! #     fn enabled(&self, _: &log::Metadata<'_>) -> bool { true }
//! #     fn log(&self, _: &log::Record<'_>) {}
//! #     fn flush(&self) {}
//! # }
//! # fn main() -> Result<(), log::SetLoggerError> {
//! // With env_logger: `let logger = env_logger::Builder::from_default_env().build();`, and its `logger.filter()` is the level.
//! trace_log::Bridge::new().wrap(Logger, log::LevelFilter::Info).init()
//! # }
//! ```
//!
//! With its default feature `tracing-log`, `tracing-subscriber` makes itself the logger, and
//! [`init`] after that returns an error. If the program has the layer of `trace-tracing`, nothing
//! is to do: that records what is said through `log`, at all levels. Else leave that feature out.
//!
//! # Levels
//!
//! `log::max_level()` is what one load decides by whether anybody wants a record. It stays what the
//! application wants, or becomes what [`Bridge::wrap`] is told, `Off` without another logger.
//! [`Bridge::init`] has it raised to [`Bridge::level`] when a recording begins, and set back when
//! that ends, unless the application has set it meanwhile, which then holds for both. What is more
//! verbose than the application wants goes to the trace alone.
//!
//! With the feature `ntrace` nothing is recorded, and the other logger gets what it got.
#![forbid(unsafe_code)]

mod bridge;
mod levels;

pub use bridge::{init, Bridge};
