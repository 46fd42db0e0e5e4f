//! Records messages of the crate [`log`], as log records of the trace.
//!
//! ```
//! fn main() -> Result<(), log::SetLoggerError> {
//!     trace_log_bridge::init()?;
//!     let _trace = trace_runtime::init();
//!     log::info!(target: "net", "connected to {}", "::1");
//!     Ok(())
//! }
//! ```
//!
//! The category of a message is its target, by default the module. While the category is recorded,
//! each message becomes a log record `LEVEL target: message` of its thread, here `INFO net:
//! connected to ::1`. Messages are formatted only then, without allocation below 256 bytes, and cut
//! at 32,000 bytes. Fuchsia's tools and `trace dump` show log records; Perfetto does not.
//!
//! # Beside another logger
//!
//! A program has one logger. A [`Bridge`] replaces it, and forwards the messages that it would have
//! received:
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
//! trace_log_bridge::Bridge::new().wrap(Logger, log::LevelFilter::Info).init()
//! # }
//! ```
//!
//! With its default feature `tracing-log`, `tracing-subscriber` makes itself the logger, and
//! [`init`] after that returns an error. With the layer of `trace-tracing`, this crate is not
//! required: the layer records messages of `log`, at all levels. Otherwise disable the feature.
//!
//! # Levels
//!
//! `log` compares a message with `log::max_level()`, by one load. Outside of recordings, this is
//! the application's level, or that of [`Bridge::wrap`], or `Off` without another logger.
//! [`Bridge::init`] raises it to [`Bridge::level`] when a recording begins, and restores it when
//! the recording ends, unless the application has set it meanwhile, which then holds for both.
//! Messages above the application's level are recorded, and not forwarded.
//!
//! With the feature `ntrace` no messages are recorded, and the other logger receives its messages.
#![forbid(unsafe_code)]

mod bridge;
mod levels;

pub use bridge::{init, Bridge};
