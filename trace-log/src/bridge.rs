//! The logger.

use std::fmt;

use log::{LevelFilter, Log, Metadata, Record, SetLoggerError};
use trace_runtime::{trace_category_enabled, trace_enabled, trace_log};

use crate::levels;

/// Installs a [`Bridge`] without another logger.
///
/// # Errors
///
/// Fails if a logger is installed already. [`Bridge::wrap`] accepts a logger that is not installed
/// yet. For that of `tracing-subscriber`, see the [documentation of the
/// crate](crate#beside-another-logger).
pub fn init() -> Result<(), SetLoggerError> {
    Bridge::new().init()
}

/// A logger that records messages in the trace, and forwards them to another logger.
pub struct Bridge {
    level: LevelFilter,
    wrapped: Option<(Box<dyn Log>, LevelFilter)>,
}

impl Default for Bridge {
    fn default() -> Self {
        Self::new()
    }
}

impl Bridge {
    /// Returns a logger that records all levels, without another logger.
    #[must_use]
    pub fn new() -> Self {
        Self { level: LevelFilter::Trace, wrapped: None }
    }

    /// Sets the most verbose level that is recorded.
    #[must_use]
    pub fn level(mut self, level: LevelFilter) -> Self {
        self.level = level;
        self
    }

    /// Forwards all records up to `level` to `logger`, which may filter them further.
    #[must_use]
    pub fn wrap(mut self, logger: impl Log + 'static, level: LevelFilter) -> Self {
        self.wrapped = Some((Box::new(logger), level));
        self
    }

    /// Installs this as the logger of the program, and sets `log::max_level()`, now and whenever a
    /// recording begins or ends.
    ///
    /// # Errors
    ///
    /// Fails if a logger is installed already.
    pub fn init(self) -> Result<(), SetLoggerError> {
        let (level, max_level) =
            (self.level, self.wrapped.as_ref().map_or(LevelFilter::Off, |(_, level)| *level));
        log::set_boxed_logger(Box::new(self))?;
        log::set_max_level(max_level);
        levels::raise_while_recording(level);
        Ok(())
    }

    /// Returns the other logger, if it gets records of this level.
    fn wrapped(&self, metadata: &Metadata<'_>) -> Option<&dyn Log> {
        let (logger, _) = self.wrapped.as_ref()?;
        (metadata.level() <= levels::of_application()).then_some(logger.as_ref())
    }

    fn is_recorded(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= self.level
            && trace_enabled!()
            && trace_category_enabled!(metadata.target())
    }
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge").field("level", &self.level).finish_non_exhaustive()
    }
}

impl Log for Bridge {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.is_recorded(metadata)
            || self.wrapped(metadata).is_some_and(|logger| logger.enabled(metadata))
    }

    fn log(&self, record: &Record<'_>) {
        if record.level() <= self.level && trace_enabled!() {
            trace_log!(
                record.target(),
                "{} {}: {}",
                record.level(),
                record.target(),
                record.args()
            );
        }
        if let Some(logger) = self.wrapped(record.metadata()) {
            logger.log(record);
        }
    }

    fn flush(&self) {
        if let Some((logger, _)) = &self.wrapped {
            logger.flush();
        }
    }
}
